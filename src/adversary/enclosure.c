/* enclosure.c: products with D and bounds on their errors; see enclosure.h. */
#include "adversary/enclosure.h"

#include "linalg/distributed.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

enum { BLOCK = 64 }; /* columns of D that are solved for at once */

double nadir_up_norm_1(const nadir_context *context, int64_t count, const double *x)
{
    const double total = (double)nadir_whole_count(context, count);
    return nadir_whole_norm_1(context, count, x) * (1 + (total + 4) * UNIT);
}

double nadir_up_norm_2(const nadir_context *context, int64_t count, const double *x)
{
    const double largest = nadir_whole_largest(context, count, x);
    if (!(largest > 0) || isinf(largest)) {
        return largest;
    }
    double sums[4] = {0};
    for (int64_t i = 0; i < count; i++) {
        const double r = x[i] / largest;
        sums[i % 4] += r * r;
    }
    const double sum = nadir_join_sum(context, (sums[0] + sums[1]) + (sums[2] + sums[3]));
    return largest * sqrt(sum) * (1 + ((double)nadir_whole_count(context, count) + 12) * UNIT);
}

nadir_enclosure nadir_enclosure_make(const nadir_context *context, const nadir_problem *problem)
{
    const nadir_average *average = nadir_occupancy_average(problem->occupancy);
    const int64_t *state_rows = problem->model->state_rows;
    int64_t actions = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const int64_t here = state_rows[s + 1] - state_rows[s];
        actions = here > actions ? here : actions;
    }
    actions = (int64_t)nadir_join_maximum(context, (double)actions);
    nadir_enclosure known = {.averaging = UNIT * (double)(actions + 2)};
    /* the norm is a sum of as many terms as a row has */
    const double terms = nadir_join_maximum(context, (double)nadir_matrix_row_length(&average->matrix));
    known.size = problem->gamma * average->norm * (1 + (terms + 8) * UNIT + 2 * known.averaging);
    known.gap = 1 - known.size > 4 * UNIT ? (1 - known.size) - 4 * UNIT : 0;
    return known;
}

double nadir_enclosure_error(const nadir_enclosure *known, double residual)
{
    return known->gap > 0 ? residual / known->gap * (1 + 4 * UNIT) : residual == 0 ? 0 : INFINITY;
}

static nadir_status solve(nadir_context *context, const nadir_problem *problem, bool transposed,
                          int64_t count, const double *b, double *x, nadir_accuracy *accuracy)
{
    return transposed ? nadir_occupancy_solve_transposed(context, problem->occupancy, count, b, x, accuracy)
                      : nadir_occupancy_solve(context, problem->occupancy, count, b, x, accuracy);
}

/* From the residual of the solve, and enclosed->b_error. */
static void assess(const nadir_context *context, const nadir_enclosure *known, bool transposed, int64_t n,
                   const double *x, double residual, nadir_enclosed *enclosed)
{
    enclosed->largest = transposed ? nadir_up_norm_1(context, n, x) : nadir_whole_largest(context, n, x);
    enclosed->residual =
        (residual + known->averaging * known->size * enclosed->largest + enclosed->b_error) * (1 + 8 * UNIT);
    enclosed->error = nadir_enclosure_error(known, enclosed->residual);
}

nadir_status nadir_enclosure_solve(nadir_context *context, const nadir_problem *problem,
                                   const nadir_enclosure *known, bool transposed, const double *b,
                                   double b_error, double *x, nadir_enclosed *enclosed)
{
    nadir_status status = NADIR_OK;
    nadir_accuracy accuracy;
    NADIR_CHECK(solve(context, problem, transposed, 1, b, x, &accuracy));
    enclosed->b_error = b_error;
    assess(context, known, transposed, problem->states, x, accuracy.residual, enclosed);
cleanup:
    return status;
}

nadir_status nadir_enclosure_improve(nadir_context *context, const nadir_problem *problem,
                                     const nadir_enclosure *known, bool transposed, const double *b,
                                     double b_error, double tolerance, double *x, nadir_enclosed *enclosed)
{
    nadir_status status = NADIR_OK;
    nadir_accuracy accuracy;
    NADIR_CHECK(
        nadir_occupancy_improve(context, problem->occupancy, transposed, 1, b, tolerance, x, &accuracy));
    enclosed->b_error = b_error;
    assess(context, known, transposed, problem->states, x, accuracy.residual, enclosed);
cleanup:
    return status;
}

static void multiply(int64_t count, double factor, double *x)
{
    for (int64_t i = 0; i < count; i++) {
        x[i] *= factor;
    }
}

/* A solve tells the residual of its worst column. Columns brought to size one, by a power of two, have
 * residuals that are alike; theirs is that over the power. Zero is solved by zero. */
nadir_status nadir_enclosure_solve_many(nadir_context *context, const nadir_problem *problem,
                                        const nadir_enclosure *known, bool transposed, int64_t count,
                                        double *b, const double *const *guesses, double *x,
                                        nadir_enclosed *enclosed)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    nadir_accuracy accuracy;
    double *scales = NULL;
    NADIR_NEW(context, scales, count);
    for (int64_t j = 0; j < count; j++) {
        const double largest = nadir_whole_largest(context, n, b + j * n);
        scales[j] = largest == 0 ? INFINITY : count > 1 ? nadir_scale_for(largest) : 1;
        multiply(scales[j] == 1 || largest == 0 ? 0 : n, scales[j], b + j * n);
        for (int64_t s = 0; s < n && guesses != NULL; s++) {
            x[j * n + s] = guesses[j] != NULL && largest > 0 ? scales[j] * guesses[j][s] : 0;
        }
    }
    NADIR_CHECK(guesses == NULL ? solve(context, problem, transposed, count, b, x, &accuracy)
                                : nadir_occupancy_improve(context, problem->occupancy, transposed, count, b,
                                                          0, x, &accuracy));
    for (int64_t j = 0; j < count; j++) {
        const double back = 1 / scales[j];
        multiply(back == 1 ? 0 : n, back, x + j * n);
        assess(context, known, transposed, n, x + j * n, accuracy.residual * back, &enclosed[j]);
    }
cleanup:
    nadir_release(context, scales);
    return status;
}

nadir_status nadir_enclosure_columns(nadir_context *context, const nadir_problem *problem,
                                     const nadir_enclosure *known, int64_t count, const int64_t *which,
                                     double *D, double *residual)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const int64_t own = nadir_model_first(problem->model);
    double *sides = NULL;
    *residual = 0;
    NADIR_NEW(context, sides, n * (count < BLOCK ? count : BLOCK));
    for (int64_t first = 0; first < count; first += BLOCK) {
        const int64_t many = first + BLOCK < count ? BLOCK : count - first;
        nadir_accuracy accuracy;
        NADIR_CHECK(nadir_progress(context, "solving for columns", (double)first / (double)count));
        memset(sides, 0, (size_t)(n * many) * sizeof *sides);
        for (int64_t j = 0; j < many; j++) {
            const int64_t place = (which != NULL ? which[first + j] : first + j) - own;
            if (place >= 0 && place < n) {
                sides[j * n + place] = 1;
            }
        }
        NADIR_CHECK(
            nadir_occupancy_solve(context, problem->occupancy, many, sides, D + first * n, &accuracy));
        const double largest = nadir_whole_largest(context, n * many, D + first * n);
        const double found = accuracy.residual + known->averaging * known->size * largest;
        *residual = fmax(*residual, found * (1 + 8 * UNIT));
    }
cleanup:
    nadir_release(context, sides);
    return status;
}

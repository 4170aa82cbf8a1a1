/* verified_solve.c: solves with bounds on their errors; see verified_solve.h. */
#include "proof/verified_solve.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/low_rank_basis.h"

#include <math.h>
#include <string.h>

/* A right-hand side with a smaller remainder counts as a combination of others. */
#define SPAN_TOLERANCE nadir_round_error(32)

enum { BLOCK = 64 }; /* columns of D that are solved for at once */

double nadir_up_norm_1(const nadir_context *context, int64_t count, const double *x)
{
    const double total = (double)nadir_global_count(context, count);
    return nadir_round_up(nadir_global_norm_1(context, count, x), total + 4);
}

double nadir_up_norm_2(const nadir_context *context, int64_t count, const double *x)
{
    const double members = (double)context->communication->members;
    return nadir_round_up(nadir_global_norm_2(context, count, x), 48 + members);
}

nadir_verified_solver nadir_verified_solver_make(const nadir_context *context, const nadir_problem *problem)
{
    const nadir_average *average = nadir_occupancy_average(problem->occupancy);
    const int64_t *state_rows = problem->model->state_rows;
    int64_t actions = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const int64_t here = state_rows[s + 1] - state_rows[s];
        actions = here > actions ? here : actions;
    }
    actions = (int64_t)nadir_allreduce_maximum(context, (double)actions);
    nadir_verified_solver solver = {.averaging = nadir_round_error((double)(actions + 2))};
    /* the norm is a sum of as many terms as a row has */
    const double terms = nadir_allreduce_maximum(context, (double)nadir_average_row_length(average));
    solver.size = problem->gamma * average->norm * (1 + nadir_round_error(terms + 8) + 2 * solver.averaging);
    solver.gap = 1 - solver.size > nadir_round_error(4) ? (1 - solver.size) - nadir_round_error(4) : 0;
    return solver;
}

double nadir_verified_solve_error(const nadir_verified_solver *solver, double residual)
{
    return solver->gap > 0 ? nadir_round_up(residual / solver->gap, 4) : residual == 0 ? 0 : INFINITY;
}

static nadir_status solve(nadir_context *context, const nadir_problem *problem, bool transposed,
                          int64_t count, const double *b, double *x, nadir_accuracy *accuracy)
{
    return transposed ? nadir_occupancy_solve_transposed(context, problem->occupancy, count, b, x, accuracy)
                      : nadir_occupancy_solve(context, problem->occupancy, count, b, x, accuracy);
}

/* The norm in which residuals are measured. */
static double norm_of(const nadir_context *context, bool transposed, int64_t n, const double *x)
{
    return transposed ? nadir_up_norm_1(context, n, x) : nadir_global_largest(context, n, x);
}

/* From the residual of the solve, and error->b_error. */
static void assess(const nadir_context *context, const nadir_verified_solver *solver, bool transposed,
                   int64_t n, const double *x, double residual, nadir_solve_error *error)
{
    error->largest = norm_of(context, transposed, n, x);
    error->residual =
        nadir_round_up(residual + solver->averaging * solver->size * error->largest + error->b_error, 8);
    error->error = nadir_verified_solve_error(solver, error->residual);
}

nadir_status nadir_verified_solve(nadir_context *context, const nadir_problem *problem,
                                  const nadir_verified_solver *solver, bool transposed, const double *b,
                                  double b_error, double *x, nadir_solve_error *error)
{
    nadir_status status = NADIR_OK;
    nadir_accuracy accuracy;
    NADIR_CHECK(solve(context, problem, transposed, 1, b, x, &accuracy));
    error->b_error = b_error;
    assess(context, solver, transposed, problem->states, x, accuracy.residual, error);
cleanup:
    return status;
}

nadir_status nadir_verified_solve_from(nadir_context *context, const nadir_problem *problem,
                                       const nadir_verified_solver *solver, bool transposed, const double *b,
                                       double b_error, double tolerance, double *x, nadir_solve_error *error)
{
    nadir_status status = NADIR_OK;
    nadir_accuracy accuracy;
    NADIR_CHECK(
        nadir_occupancy_improve(context, problem->occupancy, transposed, 1, b, tolerance, x, &accuracy));
    error->b_error = b_error;
    assess(context, solver, transposed, problem->states, x, accuracy.residual, error);
cleanup:
    return status;
}

static void multiply(int64_t count, double factor, double *x)
{
    for (int64_t i = 0; i < count; i++) {
        x[i] *= factor;
    }
}

/* Right-hand sides as combinations of a few vectors: B = Q T + remainder. */
typedef struct low_rank {
    int limit, rank;
    double *Q;       /* [states * limit] */
    double *T;       /* [limit * count] */
    double *Q_norms; /* [limit], and of the products with D */
    double *Y_norms;
    double *sizes; /* [count] */
} low_rank;

/*
 * For B = Q T + F and A Y = Q up to `residual` the product x = Y t has, column by column,
 *
 *     |b - A x| <= |F| + sum of |t_k| residual + |A| |rounding of Y t|.
 *
 * F is in x: [states]; returns the bound.
 */
static double bound_remainder(const nadir_context *context, const low_rank *basis,
                              const nadir_verified_solver *solver, bool transposed, int64_t n,
                              const double *t, double residual, const double *x)
{
    const double F = norm_of(context, transposed, n, x);
    const double rounding = nadir_low_rank_basis_rounding(basis->rank);
    double sum = 0;
    double of_Q = F;
    double of_Y = 0;
    for (int k = 0; k < basis->rank; k++) {
        sum += fabs(t[k]);
        of_Q += fabs(t[k]) * basis->Q_norms[k];
        of_Y += fabs(t[k]) * basis->Y_norms[k];
    }
    return nadir_round_up(F + sum * residual + rounding * of_Q + rounding * (1 + solver->size) * of_Y,
                          basis->rank + 8);
}

/* X = D B by solving for a basis of B, where that is small: *done is false otherwise. residuals: [count] of
 * the columns of X. Columns of B are of size one, or zero. */
static nadir_status solve_low_rank(nadir_context *context, const nadir_problem *problem,
                                   const nadir_verified_solver *solver, bool transposed, int64_t count,
                                   const double *b, double *x, double *residuals, bool *done)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const int limit = nadir_low_rank_basis_limit(context, count);
    nadir_accuracy accuracy = {0};
    low_rank basis = {.limit = limit};
    *done = false;
    if (limit == 0) {
        return NADIR_OK;
    }
    NADIR_NEW(context, basis.Q, n * limit + limit * (count + 2) + count);
    basis.T = basis.Q + n * limit;
    basis.Q_norms = basis.T + limit * count;
    basis.Y_norms = basis.Q_norms + limit;
    basis.sizes = basis.Y_norms + limit;
    memcpy(x, b, (size_t)(n * count) * sizeof *x);
    basis.rank = nadir_low_rank_basis_split(context, n, count, limit, SPAN_TOLERANCE, x, basis.Q, basis.T,
                                            basis.sizes);
    if (basis.rank <= 0) {
        goto cleanup;
    }
    for (int k = 0; k < basis.rank; k++) {
        basis.Q_norms[k] = norm_of(context, transposed, n, basis.Q + k * n);
    }
    NADIR_CHECK(solve(context, problem, transposed, basis.rank, basis.Q, basis.Q, &accuracy));
    for (int k = 0; k < basis.rank; k++) {
        basis.Y_norms[k] = norm_of(context, transposed, n, basis.Q + k * n);
    }
    for (int64_t j = 0; j < count; j++) {
        residuals[j] = bound_remainder(context, &basis, solver, transposed, n, basis.T + j * limit,
                                       accuracy.residual, x + j * n);
    }
    nadir_low_rank_basis_combine(context, n, count, limit, basis.rank, basis.Q, basis.T, x);
    *done = true;
cleanup:
    nadir_release(context, basis.Q);
    return status;
}

/* A solve reports the residual of its worst column only. So columns are scaled to size one, by powers of two,
 * which makes their residuals alike. Zero is solved by zero. */
nadir_status nadir_verified_solve_many(nadir_context *context, const nadir_problem *problem,
                                       const nadir_verified_solver *solver, bool transposed, int64_t count,
                                       double *b, const double *const *guesses, double *x,
                                       nadir_solve_error *errors)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    nadir_accuracy accuracy;
    double *scales = NULL;
    bool done = false;
    NADIR_NEW(context, scales, 2 * count);
    double *residuals = scales + count;
    for (int64_t j = 0; j < count; j++) {
        const double largest = nadir_global_largest(context, n, b + j * n);
        scales[j] = largest == 0 ? INFINITY : count > 1 ? nadir_scale_for(largest) : 1;
        multiply(scales[j] == 1 || largest == 0 ? 0 : n, scales[j], b + j * n);
        for (int64_t s = 0; s < n && guesses != NULL; s++) {
            x[j * n + s] = guesses[j] != NULL && largest > 0 ? scales[j] * guesses[j][s] : 0;
        }
    }
    if (guesses == NULL) {
        NADIR_CHECK(solve_low_rank(context, problem, solver, transposed, count, b, x, residuals, &done));
    }
    if (!done) {
        NADIR_CHECK(guesses == NULL ? solve(context, problem, transposed, count, b, x, &accuracy)
                                    : nadir_occupancy_improve(context, problem->occupancy, transposed, count,
                                                              b, 0, x, &accuracy));
    }
    for (int64_t j = 0; j < count; j++) {
        const double back = 1 / scales[j];
        multiply(back == 1 ? 0 : n, back, x + j * n);
        assess(context, solver, transposed, n, x + j * n, (done ? residuals[j] : accuracy.residual) * back,
               &errors[j]);
    }
cleanup:
    nadir_release(context, scales);
    return status;
}

nadir_status nadir_verified_solve_columns(nadir_context *context, const nadir_problem *problem,
                                          const nadir_verified_solver *solver, int64_t count,
                                          const int64_t *which, double *D, double *residual)
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
        const double largest = nadir_global_largest(context, n * many, D + first * n);
        const double found = accuracy.residual + solver->averaging * solver->size * largest;
        *residual = fmax(*residual, nadir_round_up(found, 8));
    }
cleanup:
    nadir_release(context, sides);
    return status;
}

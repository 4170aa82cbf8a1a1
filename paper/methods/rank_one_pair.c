/* rank_one_pair.c: kernels Phat - b k^T with any b; see rank_one_pair.h. */
#include "methods/rank_one_pair.h"

#include <float.h>
#include <math.h>

void nadir_rank_one_pair_average(const nadir_problem *problem, const double *b, double *b_pi)
{
    const double *pi = problem->policy->probabilities;
    const int64_t *state_rows = problem->model->state_rows;
    for (int64_t s = 0; s < problem->states; s++) {
        b_pi[s] = 0;
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            b_pi[s] += pi[row] * b[row];
        }
    }
}

double nadir_rank_one_pair_centre(int64_t count, double *x)
{
    const double mean = nadir_vector_sum(count, x) / (double)count;
    double square = 0;
    for (int64_t i = 0; i < count; i++) {
        x[i] -= mean;
        square += x[i] * x[i];
    }
    return sqrt(square);
}

double nadir_rank_one_pair_size(const nadir_problem *problem, const double *b)
{
    double square = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        const double scale = nadir_uncertainty_scale(problem->uncertainty, row);
        const double own = scale > 0 ? b[row] / scale : 0;
        square += own * own;
    }
    return sqrt(square);
}

static void multiply(int64_t count, double factor, double *x)
{
    for (int64_t i = 0; i < count; i++) {
        x[i] *= factor;
    }
}

void nadir_rank_one_pair_draw(const nadir_problem *problem, double beta, nadir_random *random, double *b,
                              double *k)
{
    for (int64_t row = 0; row < problem->rows; row++) {
        b[row] = nadir_uncertainty_scale(problem->uncertainty, row) * fabs(nadir_random_normal(random));
    }
    const double size = nadir_rank_one_pair_size(problem, b);
    multiply(problem->rows, size > 0 ? beta / size : 0, b);
    for (int64_t s = 0; s < problem->states; s++) {
        k[s] = nadir_random_normal(random);
    }
    const double length = nadir_rank_one_pair_centre(problem->states, k);
    multiply(problem->states, length > 0 ? 1 / length : 0, k);
}

double nadir_rank_one_pair_penalty(const nadir_problem *problem, const double *b_pi, const double *k,
                                   const double *g)
{
    double strength = 0;
    double loss = 0;
    double feedback = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        strength += problem->d[s] * b_pi[s];
        loss += k[s] * problem->v[s];
        feedback += k[s] * g[s];
    }
    return problem->gamma * strength * loss / (1 + problem->gamma * feedback);
}

nadir_status nadir_rank_one_pair_attack(nadir_context *context, const nadir_problem *problem, double beta,
                                        double *b, double *k, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    double *b_pi = NULL;
    const int64_t n = problem->states;
    const double size = nadir_rank_one_pair_size(problem, b);
    const double length = nadir_rank_one_pair_centre(n, k);
    NADIR_NEW(context, b_pi, 2 * n);
    if (size > beta) {
        multiply(problem->rows, beta / size * (1 - 4 * DBL_EPSILON), b);
    }
    if (length > 1) {
        multiply(n, (1 - 4 * DBL_EPSILON) / length, k);
    }
    nadir_rank_one_pair_average(problem, b, b_pi);
    NADIR_CHECK(nadir_occupancy_solve(context, problem->occupancy, 1, b_pi, b_pi + n, NULL));
    candidate->lambda = nadir_rank_one_pair_penalty(problem, b_pi, k, b_pi + n);
    candidate->J = problem->J - candidate->lambda;
    status = nadir_blocks_are_zero(context, problem->rows, b) || nadir_blocks_are_zero(context, n, k)
                 ? nadir_kernel_create(context, problem->model, &candidate->kernel)
                 : nadir_kernel_create_rank_one(context, problem->model, b, k, &candidate->kernel);
cleanup:
    nadir_release(context, b_pi);
    return status;
}

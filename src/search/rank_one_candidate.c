/*
 * rank_one_candidate.c: from a pair (c, k) to the kernel Phat - b k^T and its penalty; see
 * rank_one_candidate.h.
 *
 * Sherman-Morrison with b^pi = W c and g = D W c:
 *
 *     J_P = J - lambda,    lambda = gamma (d . W c) (k . v) / (1 + gamma k . g)
 *
 * Of v only differences count, as k sums to zero: its mean is taken off first, so that large values that
 * differ little keep their digits.
 */
#include "search/free_search.h"

#include "core/round.h"
#include "linalg/blocks.h"
#include "linalg/distributed.h"
#include "linalg/norm.h"
#include "proof/rank_one_states.h"

#include <math.h>
#include <string.h>

/* x <- x times *factor <= 1 so that |x|_p <= limit, rounding included. */
static nadir_status shrink(nadir_context *context, int64_t count, double p, double limit, double *x,
                           double *factor)
{
    nadir_status status = NADIR_OK;
    double norm;
    if (p == 2) {
        norm = nadir_global_norm_2(context, count, x);
    } else {
        status = nadir_norm_p(context, count, x, p, &norm);
    }
    *factor = 1;
    if (status == NADIR_OK && norm > limit) {
        *factor = nadir_round_down(limit / norm, 4);
        for (int64_t i = 0; i < count; i++) {
            x[i] *= *factor;
        }
    }
    return status;
}

static void subtract_mean(const nadir_context *context, int64_t count, double *x)
{
    const double mean = nadir_global_sum(context, count, x) / (double)nadir_global_count(context, count);
    for (int64_t i = 0; i < count; i++) {
        x[i] -= mean;
    }
}

/* The products in the formula of Sherman and Morrison. */
typedef struct sherman_morrison {
    double strength; /* d . W c */
    double loss;     /* k . v */
    double feedback; /* k . g */
} sherman_morrison;

static sherman_morrison multiply(const nadir_context *context, const nadir_problem *problem, const double *c,
                                 const double *k, const double *g)
{
    const double *W = problem->uncertainty->W;
    const double mean =
        nadir_global_sum(context, problem->states, problem->v) / (double)nadir_model_total(problem->model);
    const double centre = isfinite(mean) ? mean : 0;
    sherman_morrison made = {0};
    for (int64_t s = 0; s < problem->states; s++) {
        made.strength += problem->d[s] * (W[s] * c[s]);
        made.loss += k[s] * (problem->v[s] - centre);
        made.feedback += k[s] * g[s];
    }
    return (sherman_morrison){
        .strength = nadir_allreduce_sum(context, made.strength),
        .loss = nadir_allreduce_sum(context, made.loss),
        .feedback = nadir_allreduce_sum(context, made.feedback),
    };
}

nadir_status nadir_rank_one_candidate_kernel(nadir_context *context, const nadir_problem *problem,
                                             nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    double *b = NULL;
    if (candidate->kernel != NULL) {
        return NADIR_OK;
    }
    if (nadir_blocks_are_zero(context, problem->states, candidate->c) ||
        nadir_blocks_are_zero(context, problem->states, candidate->k)) {
        return nadir_kernel_create(context, problem->model, &candidate->kernel);
    }
    NADIR_NEW(context, b, problem->rows);
    nadir_rank_one_states_expand(problem, candidate->c, b);
    NADIR_CHECK(nadir_kernel_create_rank_one(context, problem->model, b, candidate->k, &candidate->kernel));
cleanup:
    nadir_release(context, b);
    return status;
}

nadir_status nadir_rank_one_candidate_known(nadir_context *context, const nadir_problem *problem, double beta,
                                            const double *c, const double *k, const double *g,
                                            nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const double p = problem->uncertainty->p;
    nadir_candidate made = {0};
    double shrunk;
    double ignored;
    NADIR_NEW(context, made.c, n);
    NADIR_NEW(context, made.k, n);
    memcpy(made.c, c, (size_t)n * sizeof *c);
    memcpy(made.k, k, (size_t)n * sizeof *k);
    NADIR_CHECK(shrink(context, n, p, beta, made.c, &shrunk));
    subtract_mean(context, n, made.k);
    NADIR_CHECK(shrink(context, n, p, 1, made.k, &ignored));
    const sherman_morrison sums = multiply(context, problem, made.c, made.k, g);
    const double denominator = 1 + problem->gamma * sums.feedback * shrunk;
    if (!(denominator > 0)) {
        status = nadir_fail(context, NADIR_ERROR_ILL_POSED,
                            "the radius %.10g is at or past breakdown: a kernel of the ball makes "
                            "I - gamma P singular (denominator %g); choose a smaller radius",
                            beta, denominator);
        goto cleanup;
    }
    made.lambda = problem->gamma * sums.strength / denominator * sums.loss;
    made.J = problem->J - made.lambda;
    if (nadir_occupancy_iterates(problem->occupancy)) {
        NADIR_NEW(context, made.g, n);
        memcpy(made.g, g, (size_t)n * sizeof *g);
    }
    candidate->g = made.g;
    candidate->J = made.J;
    candidate->c = made.c;
    candidate->k = made.k;
    candidate->lambda = made.lambda;
    made = (nadir_candidate){0};
cleanup:
    nadir_candidate_clear(context, &made);
    return status;
}

nadir_status nadir_rank_one_candidate(nadir_context *context, const nadir_problem *problem, double beta,
                                      const double *c, const double *k, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    double *g = NULL;
    NADIR_NEW(context, g, problem->states);
    for (int64_t s = 0; s < problem->states; s++) {
        g[s] = problem->uncertainty->W[s] * c[s];
    }
    NADIR_CHECK(nadir_occupancy_solve(context, problem->occupancy, 1, g, g, NULL));
    NADIR_CHECK(nadir_rank_one_candidate_known(context, problem, beta, c, k, g, candidate));
    NADIR_CHECK(nadir_rank_one_candidate_kernel(context, problem, candidate));
cleanup:
    if (status != NADIR_OK) {
        nadir_candidate_clear(context, candidate);
    }
    nadir_release(context, g);
    return status;
}

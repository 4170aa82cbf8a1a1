/* breakdown.c: how large a ball of the free domain may be before a kernel of it is singular; see breakdown.h.
 */
#include "adversary/free/breakdown_parts.h"

#include "linalg/distributed.h"
#include "linalg/lanczos.h"
#include "linalg/norm.h"

#include <float.h>
#include <math.h>

#define UNIT (DBL_EPSILON / 2)

/* Of the Lanczos iterations behind the exact radius. */
#define SOLVE_TOLERANCE    1e-12
#define RESIDUAL_TOLERANCE 1e-10
#define AGREEMENT          1e-9
#define PRODUCTS_LIMIT     4000

static void clear(nadir_context *context, nadir_breakdown *of)
{
    nadir_release(context, of->W);
}

static nadir_status begin(nadir_context *context, const nadir_problem *problem, nadir_breakdown *of)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    double *shape = NULL;
    *of = (nadir_breakdown){.problem = problem, .known = nadir_enclosure_make(context, problem)};
    NADIR_NEW(context, of->W, problem->states);
    NADIR_NEW(context, shape, problem->rows);
    for (int64_t s = 0; s < problem->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t actions = model->state_rows[s + 1] - first;
        for (int64_t a = 0; a < actions; a++) {
            shape[a] = nadir_uncertainty_scale(problem->uncertainty, first + a) *
                       problem->policy->probabilities[first + a];
        }
        of->W[s] = nadir_norm_short(actions, shape, 2) * (1 + ((double)actions + 8) * UNIT);
    }
    of->W_largest = nadir_whole_largest(context, problem->states, of->W);
cleanup:
    nadir_release(context, shape);
    return status;
}

/* Whether no kernel of any ball is singular: Phi D W = 0. */
static bool never(const nadir_breakdown *of)
{
    return nadir_model_total(of->problem->model) == 1 || of->problem->gamma == 0 || of->W_largest == 0;
}

nadir_status nadir_breakdown_low(nadir_context *context, const nadir_problem *problem,
                                 nadir_breakdown_proof proof, double beta, double *radius)
{
    nadir_status status = NADIR_OK;
    nadir_breakdown of;
    double norm = INFINITY;
    NADIR_CHECK(begin(context, problem, &of));
    *radius = INFINITY;
    if (never(&of)) {
        goto cleanup;
    }
    NADIR_CHECK(nadir_breakdown_by_products(context, &of, &norm));
    if (proof != NADIR_BREAKDOWN_PRODUCTS) {
        NADIR_CHECK(nadir_breakdown_by_columns(context, &of, proof == NADIR_BREAKDOWN_CHOLESKY, beta, &norm));
    }
    *radius = 1 / (problem->gamma * norm) * (1 - 4 * UNIT);
cleanup:
    clear(context, &of);
    return status;
}

nadir_status nadir_breakdown_low_thoroughly(nadir_context *context, const nadir_problem *problem,
                                            double *radius)
{
    nadir_status status = NADIR_OK;
    nadir_breakdown of;
    double norm = INFINITY;
    NADIR_CHECK(begin(context, problem, &of));
    of.thorough = true;
    *radius = INFINITY;
    if (!never(&of)) {
        NADIR_CHECK(nadir_breakdown_by_products(context, &of, &norm));
        *radius = 1 / (problem->gamma * norm) * (1 - 4 * UNIT);
    }
cleanup:
    clear(context, &of);
    return status;
}

static void subtract_mean(const nadir_context *context, int64_t count, double *x)
{
    const double mean = nadir_whole_sum(context, count, x) / (double)nadir_whole_count(context, count);
    for (int64_t i = 0; i < count; i++) {
        x[i] -= mean;
    }
}

/* Phi D W */
typedef struct loop {
    const nadir_breakdown *of;
    double *work; /* [states] */
} loop;

static nadir_status apply(nadir_context *context, void *user, const double *x, double *y)
{
    const loop *at = user;
    const nadir_problem *problem = at->of->problem;
    for (int64_t s = 0; s < problem->states; s++) {
        at->work[s] = at->of->W[s] * x[s];
    }
    const nadir_status status =
        nadir_occupancy_solve_roughly(context, problem->occupancy, false, 1, at->work, SOLVE_TOLERANCE, y);
    subtract_mean(context, problem->states, y);
    return status;
}

static nadir_status apply_transposed(nadir_context *context, void *user, const double *x, double *y)
{
    const loop *at = user;
    const nadir_problem *problem = at->of->problem;
    for (int64_t s = 0; s < problem->states; s++) {
        at->work[s] = x[s];
    }
    subtract_mean(context, problem->states, at->work);
    const nadir_status status =
        nadir_occupancy_solve_roughly(context, problem->occupancy, true, 1, at->work, SOLVE_TOLERANCE, y);
    for (int64_t s = 0; s < problem->states; s++) {
        y[s] *= at->of->W[s];
    }
    return status;
}

nadir_status nadir_breakdown_exact(nadir_context *context, const nadir_problem *problem, double *radius,
                                   bool *converged)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    nadir_breakdown of;
    double *vectors = NULL;
    nadir_triple found[2];
    nadir_random random = context->random;
    NADIR_CHECK(begin(context, problem, &of));
    *radius = INFINITY;
    *converged = true;
    if (never(&of)) {
        goto cleanup;
    }
    NADIR_NEW(context, vectors, 3 * n);
    loop user = {&of, vectors + 2 * n};
    const nadir_operator centred = {n, n, apply, apply_transposed, &user};
    for (int i = 0; i < 2; i++) {
        NADIR_CHECK(nadir_lanczos_top(context, &centred, NULL, &random, RESIDUAL_TOLERANCE, PRODUCTS_LIMIT,
                                      vectors, vectors + n, &found[i]));
    }
    const double norm = fmax(found[0].sigma, found[1].sigma);
    *radius = 1 / (problem->gamma * norm);
    *converged =
        found[0].converged && found[1].converged && fabs(found[0].sigma - found[1].sigma) <= AGREEMENT * norm;
cleanup:
    nadir_release(context, vectors);
    clear(context, &of);
    return status;
}

double nadir_breakdown_for_norm(const nadir_problem *problem, double radius)
{
    const nadir_uncertainty *set = problem->uncertainty;
    if (set->p <= 2) {
        return radius;
    }
    const double exponent = isinf(set->p) ? 0.5 : 0.5 - 1 / set->p;
    return radius / pow((double)set->entries, exponent) * (1 - 8 * UNIT);
}

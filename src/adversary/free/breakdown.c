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
/* Vectors of fewer states are worked on here in the time that it takes to ask a device. */
#define LEAST_STATES 16384

static void clear(nadir_context *context, nadir_breakdown *of)
{
    nadir_release(context, of->W);
}

static nadir_status begin(nadir_context *context, const nadir_problem *problem, nadir_breakdown *of)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    double *shape = NULL;
    *of = (nadir_breakdown){.problem = problem, .known = nadir_verified_solver_make(context, problem)};
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
    of->W_largest = nadir_global_largest(context, problem->states, of->W);
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

/* Phi D W, all vectors of one place. */
typedef struct loop {
    nadir_vec place;
    nadir_occupancy *occupancy;
    int64_t states;
    double *W;    /* [states] */
    double *ones; /* [states] */
    double *work; /* [states] */
} loop;

/* x <- Phi x */
static nadir_status subtract_mean(const loop *at, double *x)
{
    nadir_status status = NADIR_OK;
    double sum;
    NADIR_CHECK(nadir_vec_dot(&at->place, at->states, at->ones, x, &sum));
    const double mean = sum / (double)nadir_global_count(at->place.context, at->states);
    NADIR_CHECK(nadir_vec_add(&at->place, at->states, -mean, at->ones, x));
cleanup:
    return status;
}

static nadir_status apply(nadir_context *context, void *user, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const loop *at = user;
    (void)context;
    NADIR_CHECK(nadir_vec_multiply(&at->place, at->states, at->W, x, at->work));
    NADIR_CHECK(nadir_occupancy_solve_vec(&at->place, at->occupancy, false, at->work, SOLVE_TOLERANCE, y));
    NADIR_CHECK(subtract_mean(at, y));
cleanup:
    return status;
}

static nadir_status apply_transposed(nadir_context *context, void *user, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const loop *at = user;
    (void)context;
    NADIR_CHECK(nadir_vec_copy(&at->place, at->states, x, at->work));
    NADIR_CHECK(subtract_mean(at, at->work));
    NADIR_CHECK(nadir_occupancy_solve_vec(&at->place, at->occupancy, true, at->work, SOLVE_TOLERANCE, y));
    NADIR_CHECK(nadir_vec_multiply(&at->place, at->states, at->W, y, y));
cleanup:
    return status;
}

/* |Phi D W|_2 from two starts, with all vectors of the iterations in a place. */
static nadir_status search(const nadir_breakdown *of, nadir_vec place, nadir_singular_triple found[2])
{
    nadir_status status = NADIR_OK;
    nadir_context *context = place.context;
    const int64_t n = of->problem->states;
    nadir_random random = context->random;
    double *vectors = NULL;
    double *room = NULL;
    NADIR_NEW(context, vectors, 2 * n);
    NADIR_CHECK(nadir_vec_allocate(&place, 3 * n, &room));
    loop user = {place, of->problem->occupancy, n, room, room + n, room + 2 * n};
    const nadir_linear_map centred = {n, n, apply, apply_transposed, &user};
    NADIR_CHECK(nadir_vec_copy(&place, n, of->W, user.W));
    for (int64_t s = 0; s < n; s++) {
        vectors[s] = 1;
    }
    NADIR_CHECK(nadir_vec_copy(&place, n, vectors, user.ones));
    for (int i = 0; i < 2; i++) {
        NADIR_CHECK(nadir_lanczos_top(&place, &centred, NULL, &random, RESIDUAL_TOLERANCE, PRODUCTS_LIMIT,
                                      vectors, vectors + n, &found[i]));
    }
cleanup:
    nadir_vec_release(&place, 3 * n, room);
    nadir_release(context, vectors);
    return status;
}

nadir_status nadir_breakdown_estimate(nadir_context *context, const nadir_problem *problem, double *radius,
                                      bool *converged)
{
    nadir_status status = NADIR_OK;
    nadir_breakdown of;
    nadir_singular_triple found[2];
    NADIR_CHECK(begin(context, problem, &of));
    *radius = INFINITY;
    *converged = true;
    if (never(&of)) {
        goto cleanup;
    }
    const nadir_vec here = nadir_vec_host(context);
    const nadir_vec place =
        problem->states >= LEAST_STATES ? nadir_occupancy_vec(context, problem->occupancy) : here;
    status = search(&of, place, found);
    if (status == NADIR_ERROR_MEMORY && place.device != NULL) {
        status = search(&of, here, found);
    }
    NADIR_CHECK(status);
    const double norm = fmax(found[0].sigma, found[1].sigma);
    *radius = 1 / (problem->gamma * norm);
    *converged =
        found[0].converged && found[1].converged && fabs(found[0].sigma - found[1].sigma) <= AGREEMENT * norm;
cleanup:
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

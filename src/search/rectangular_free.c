/*
 * rectangular_free.c: the worst kernel of s- and sa-rectangular balls on the free domain; see free_search.h.
 *
 * The fixed point of T satisfies v_U = v - gamma sigma_q(v_U) v_b, for T v = v reads (I - gamma Phat^pi) v =
 * R^pi - gamma sigma_q(v) b^pi: along that line x = sigma_q(v_U) is the only unknown. Radii times a factor
 * are b^pi and v_b times the factor, so that one solve serves any number of factors.
 */
#include "search/free_search.h"

#include "linalg/distributed.h"
#include "linalg/gstd.h"
#include "proof/rank_one_states.h"
#include "search/free_search.h"

#include <math.h>
#include <string.h>

typedef struct rectangle {
    nadir_context *context;
    const nadir_problem *problem;
    double mass;  /* mu . v_b = d . b^pi */
    double *b;    /* [rows] at factor 1 */
    double *v_b;  /* [states] at factor 1 */
    double *rows; /* [rows] work */
    double *k;    /* [states] work */
    double *line; /* [states] work */
} rectangle;

/* b(s, a), and b^pi into v_b. */
static void fill_change(const rectangle *self)
{
    const nadir_problem *problem = self->problem;
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_model *model = problem->model;
    const double *pi = problem->policy->probabilities;
    if (set->set == NADIR_SET_S) {
        for (int64_t s = 0; s < problem->states; s++) {
            self->line[s] = nadir_uncertainty_radius(set, s, model->state_rows[s]);
        }
        nadir_rank_one_states_expand(problem, self->line, self->b);
    }
    for (int64_t s = 0; s < problem->states; s++) {
        double sum = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            if (set->set != NADIR_SET_S) {
                self->b[row] = nadir_uncertainty_scale(set, row) * nadir_uncertainty_radius(set, s, row);
            }
            sum += pi[row] * self->b[row];
        }
        self->v_b[s] = sum;
    }
}

static nadir_status prepare(rectangle *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    double rounding;
    NADIR_NEW(context, self->b, problem->rows);
    NADIR_NEW(context, self->rows, problem->rows);
    NADIR_NEW(context, self->v_b, n);
    NADIR_NEW(context, self->k, n);
    NADIR_NEW(context, self->line, n);
    fill_change(self);
    NADIR_CHECK(nadir_occupancy_solve(context, problem->occupancy, 1, self->v_b, self->v_b, NULL));
    self->mass = nadir_global_dot(context, n, problem->mu, self->v_b, &rounding);
cleanup:
    return status;
}

/* gamma sigma_q(v_b) < 1 at each factor. */
static nadir_status check_factors(const rectangle *self, int64_t count, const double *factors)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    nadir_gstd gstd;
    NADIR_CHECK(nadir_gstd_compute(self->context, nadir_model_first(problem->model), problem->states,
                                   self->v_b, problem->uncertainty->q, self->line, NULL, &gstd));
    const double slope = problem->gamma * gstd.sigma;
    for (int64_t i = 0; i < count; i++) {
        if (!(factors[i] * slope < 1)) {
            status = nadir_fail(self->context, NADIR_ERROR_ILL_POSED,
                                "the radii times %.10g are past breakdown: the robust Bellman equation has a "
                                "solution only below %.10g times the radii given",
                                factors[i], 1 / slope);
            goto cleanup;
        }
    }
cleanup:
    return status;
}

static nadir_status attack_at(const rectangle *self, double factor, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const double reach = problem->gamma * factor;
    const nadir_scalar_newton equation = {
        .first = nadir_model_first(problem->model),
        .count = n,
        .a = problem->v,
        .b = self->v_b,
        .s = 1,
        .t = reach,
        .q = problem->uncertainty->q,
        .centred = true,
    };
    nadir_candidate made = {
        .method = "equation", .stop_reason = "tolerance", .converged = true, .iterations = 1};
    double x;
    NADIR_CHECK(nadir_scalar_newton_solve(context, &equation, 0, self->line, self->k, &x));
    NADIR_NEW(context, made.k, n);
    NADIR_NEW(context, made.v, n);
    memcpy(made.k, self->k, (size_t)n * sizeof *made.k);
    for (int64_t s = 0; s < n; s++) {
        made.v[s] = problem->v[s] - reach * x * self->v_b[s];
    }
    for (int64_t row = 0; row < problem->rows; row++) {
        self->rows[row] = factor * self->b[row];
    }
    made.lambda = reach * x * self->mass;
    made.J = problem->J - made.lambda;
    NADIR_CHECK(nadir_kernel_create_rank_one(context, problem->model, self->rows, made.k, &made.kernel));
    *candidate = made;
    made = (nadir_candidate){0};
cleanup:
    nadir_candidate_clear(context, &made);
    return status;
}

nadir_status nadir_rectangular_free_solve(nadir_context *context, const nadir_problem *problem, int64_t count,
                                          const double *factors, nadir_candidate *candidates)
{
    nadir_status status = NADIR_OK;
    rectangle self = {.context = context, .problem = problem};
    NADIR_CHECK(prepare(&self));
    NADIR_CHECK(check_factors(&self, count, factors));
    for (int64_t i = 0; i < count; i++) {
        NADIR_CHECK(nadir_progress(context, "searching worst kernels", (double)i / (double)count));
        NADIR_CHECK(attack_at(&self, factors[i], &candidates[i]));
    }
cleanup:
    nadir_release(context, self.b);
    nadir_release(context, self.rows);
    nadir_release(context, self.v_b);
    nadir_release(context, self.k);
    nadir_release(context, self.line);
    return status;
}

/*
 * conservative_valid.c: method conservative on the domains simplex and support, where nadir_lmo_solve_all
 * minimises the linearised return; see conservative.h.
 */
#include "methods/conservative.h"

#include <float.h>
#include <math.h>

typedef struct iteration {
    const nadir_problem *problem;
    double beta;
    nadir_kernel_solver operator;
    nadir_kernel *current;
    nadir_kernel *target;    /* X */
    nadir_value_order order; /* of v */
    nadir_lmo rows;
    nadir_lmo_solution *answers; /* [rows] */
    nadir_lmo_budget budget;
    double *weights; /* [rows] gamma d pi */
    double *own;     /* [rows] P_r . x */
    double *nominal; /* [rows] Phat_r . x */
    double *v;       /* [states] */
    double *d;       /* [states] */
    double J;
    double gap;
} iteration;

static nadir_status start(nadir_context *context, iteration *self)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const nadir_uncertainty *set = problem->uncertainty;
    self->operator=(nadir_kernel_solver){.problem = problem};
    self->rows = (nadir_lmo){.model = problem->model,
                             .order = &self->order,
                             .scales = set->scales,
                             .domain = set->domain,
                             .p = set->p,
                             .q = set->q};
    NADIR_NEW_ZERO(context, self->answers, problem->rows);
    NADIR_NEW(context, self->weights, problem->rows);
    NADIR_NEW(context, self->own, problem->rows);
    NADIR_NEW(context, self->nominal, problem->rows);
    NADIR_NEW(context, self->v, problem->states);
    NADIR_NEW(context, self->d, problem->states);
    NADIR_CHECK(nadir_kernel_create(context, problem->model, &self->current));
cleanup:
    return status;
}

static void finish(nadir_context *context, iteration *self)
{
    nadir_kernel_solver_clear(context, &self->operator);
    nadir_kernel_free(self->current);
    nadir_kernel_free(self->target);
    nadir_value_order_clear(context, &self->order);
    nadir_release(context, self->answers);
    nadir_release(context, self->weights);
    nadir_release(context, self->own);
    nadir_release(context, self->nominal);
    nadir_release(context, self->v);
    nadir_release(context, self->d);
}

/* J, v and d at the current kernel; the minimiser of the linearised return there, and its gap. */
static nadir_status linearize(nadir_context *context, iteration *self)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const int64_t *state_rows = problem->model->state_rows;
    NADIR_CHECK(nadir_kernel_solver_set(context, &self->operator, self->current));
    NADIR_CHECK(nadir_kernel_solver_value(context, &self->operator, self->v, self->d));
    self->J = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        self->J += problem->mu[s] * self->v[s];
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            self->weights[row] = problem->gamma * fmax(0, self->d[s]) * problem->policy->probabilities[row];
        }
    }
    NADIR_CHECK(nadir_value_order_make(context, problem->states, self->v, &self->order));
    NADIR_CHECK(
        nadir_lmo_solve_all(context, &self->rows, self->weights, self->beta, self->answers, &self->budget));
    nadir_kernel_multiply(context, self->current, self->order.x, self->own);
    nadir_kernel_multiply(context, problem->kernel, self->order.x, self->nominal);
    double gap = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        const double decrease = (self->own[row] - self->nominal[row]) * self->order.range;
        gap += self->weights[row] * (decrease + self->answers[row].gain);
    }
    self->gap = fmax(0, gap);
cleanup:
    return status;
}

static nadir_status step(nadir_context *context, iteration *self, double t)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *mixed = NULL;
    NADIR_CHECK(nadir_lmo_kernel(context, &self->rows, self->answers, &self->target));
    NADIR_CHECK(nadir_kernel_mix(context, self->problem->model, self->current, self->target, t, &mixed));
    nadir_kernel_free(self->current);
    self->current = mixed;
cleanup:
    return status;
}

nadir_status nadir_conservative_valid(nadir_context *context, const nadir_problem *problem, double beta,
                                      nadir_trajectory *trajectory, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    iteration self = {.problem = problem, .beta = beta};
    const double range = nadir_conservative_range(problem);
    const double rounding = DBL_EPSILON * nadir_vector_largest(problem->states, problem->v);
    NADIR_CHECK(start(context, &self));
    NADIR_CHECK(linearize(context, &self));
    while ((candidate->stop = nadir_trajectory_stop(trajectory)) == NADIR_STOP_NONE) {
        if (self.gap <= fmax(trajectory->budget.tolerance * (problem->J - self.J), rounding)) {
            candidate->stop = NADIR_STOP_TOLERANCE;
            candidate->converged = true;
            break;
        }
        NADIR_CHECK(step(context, &self, nadir_conservative_step(problem, range, self.gap)));
        NADIR_CHECK(linearize(context, &self));
        NADIR_CHECK(
            nadir_trajectory_record(context, trajectory, trajectory->samples + 1, problem->J - self.J));
    }
    candidate->kernel = self.current;
    candidate->v = self.v;
    candidate->d = self.d;
    candidate->tau = self.budget.tau;
    candidate->J = self.J;
    candidate->lambda = problem->J - self.J;
    candidate->iterations = trajectory->samples;
    candidate->gap = self.gap;
    self.current = NULL;
    self.v = NULL;
    self.d = NULL;
cleanup:
    finish(context, &self);
    return status;
}

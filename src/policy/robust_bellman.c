/* robust_bellman.c: the robust Bellman operator of a rectangular set; see rectangular_optimum.h. */
#include "policy/rectangular_optimum.h"

#include "linalg/gstd.h"
#include "linalg/root.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "solve/value.h"

#include <float.h>
#include <math.h>
#include <omp.h>

/* ----------------------------------------------------------------------------------------- one state */

/*
 * The best mixture of the actions of one state against one budget for all of them. With q_a the value of
 * action a, and gain_a(r) what the adversary takes from it within radius r, concave,
 *
 *     max over pi of min over |r|_p <= beta of  sum_a pi_a (q_a - gamma gain_a(r_a))
 *         = the least x to which every action can be brought:  |c(x)|_p <= beta,
 *
 * c_a(x) the radius that brings q_a down to x. There pi_a is proportional to the derivative of c_a(x)^p:
 * c_a^(p-1) over the slope of the gain. Actions with q_a <= x have probability zero. With p = infinity, and
 * in set sa, every action has a budget of its own, and the best one is taken.
 *
 * The gains lie below their tangents. With tangents in place of gains x solves a scalar equation, whose root
 * lies at or below the true x; its radii are within the budget, so the largest value to which they really
 * bring the actions lies at or above it. The gains there give new tangents, and so on: Newton's method, both
 * values meet after a few rounds. x is at least what the best action keeps when all of beta is spent on it.
 */

enum { ROUNDS = 100, ROOT_STEPS = 200 };

#define ROUNDING (4 * DBL_EPSILON)
#define CLOSE    1e-9 /* relative: closer values of x may be stopped by rounding */

/* What the adversary takes from an action within a radius. */
typedef struct loss {
    double gain;  /* 0 or more */
    double slope; /* of the gain in the radius; 0: more radius gains nothing */
    double norm;  /* the radius used, at most the one given */
} loss;

struct nadir_srect_action {
    loss most; /* within beta */
    loss now;
    loss tangent; /* the last with a slope; the gain lies below its tangent there */
};

typedef struct state_update {
    nadir_robust_bellman *bellman;
    int64_t first, count; /* rows */
    const double *q;      /* [count] */
    double gamma;
    double beta;
    double p; /* of the common budget; infinity: every action has its own */
    double *work;
    nadir_srect_action *actions; /* [count] */
} state_update;

/* Neighbouring rows have similar solutions: a cold row starts from that of the row before. */
static loss respond(const state_update *self, int64_t action, double radius)
{
    const nadir_robust_bellman *bellman = self->bellman;
    const nadir_lmo *rows = &bellman->rows;
    const int64_t row = self->first + action;
    const double alpha = nadir_uncertainty_scale(bellman->set, row);
    const double weight = 1;
    nadir_lmo_solution *solution = &bellman->solutions[row];
    nadir_lmo_budget budget;
    if (bellman->set->domain == NADIR_DOMAIN_FREE) {
        const double slope = alpha * (bellman->sigmas != NULL ? bellman->sigmas[row] : bellman->sigma);
        return (loss){radius * slope, slope, slope > 0 ? radius : 0};
    }
    if (action > 0 && !(solution->step > 0)) {
        *solution = solution[-1];
    }
    nadir_lmo_solve(rows, row, row + 1, &weight, radius, self->work, solution, &budget);
    if (!(solution->gain > 0) || isinf(self->p)) { /* the slope is not needed */
        return (loss){.gain = solution->gain};
    }
    const nadir_lmo_row_bound bound = nadir_lmo_bound(rows, row, solution, self->work);
    return (loss){solution->gain, isinf(solution->step) ? 0 : alpha * bound.slope, solution->norm};
}

static void query(const state_update *update, int64_t action, double radius)
{
    nadir_srect_action *self = &update->actions[action];
    self->now = respond(update, action, radius);
    self->tangent = self->now.slope > 0 ? self->now : self->tangent;
}

/* A tangent closer to radius 0, for a gain so small that the tangent reaches it there: at the chord from 0 to
 * the touching point, which lies below the gain. */
static void probe(const state_update *update, int64_t action, double wanted)
{
    const loss *tangent = &update->actions[action].tangent;
    query(update, action, tangent->norm * (wanted / tangent->gain));
}

/* Whether bringing an action down to x takes all of beta, up to rounding. */
static bool takes_all(const state_update *self, int64_t action, double x)
{
    const double rounding = ROUNDING * (fabs(self->q[action]) + fabs(x));
    return self->q[action] - x >= self->gamma * self->actions[action].most.gain - rounding;
}

/* c_a(x) by the tangents, and -gamma times its derivative. */
static double radius_at(const state_update *update, int64_t action, double x, double *derivative)
{
    const nadir_srect_action *self = &update->actions[action];
    const double wanted = (update->q[action] - x) / update->gamma;
    double radius = 0;
    *derivative = 0;
    if (!(wanted > 0)) {
        return 0;
    }
    if (self->tangent.slope > 0) {
        radius = fmax(self->tangent.norm + (wanted - self->tangent.gain) / self->tangent.slope, 0);
        *derivative = radius > 0 ? 1 / self->tangent.slope : 0;
    }
    if (takes_all(update, action, x)) {
        radius = fmax(radius, self->most.norm);
    }
    return radius;
}

/* |c(x)|_p by the tangents, and -gamma times its derivative. */
static double spend(const state_update *self, double x, double *derivative)
{
    double largest = 0;
    double sum = 0;
    double slope = 0;
    double part;
    for (int64_t a = 0; a < self->count; a++) {
        largest = fmax(largest, radius_at(self, a, x, &part));
    }
    for (int64_t a = 0; a < self->count && largest > 0; a++) {
        const double share = radius_at(self, a, x, &part) / largest;
        if (share > 0) {
            const double power = nadir_power(share, self->p - 1);
            sum += power * share;
            slope += power * part;
        }
    }
    *derivative = largest > 0 ? slope * nadir_power(sum, 1 / self->p - 1) : 0;
    return largest > 0 ? largest * nadir_power(sum, 1 / self->p) : 0;
}

/* The least x >= low at which the tangents spend beta; at `high` they spend nothing. */
static double solve_tangents(const state_update *self, double low, double high)
{
    nadir_bracket bracket = {low, high};
    double x = low;
    for (int i = 0; i < ROOT_STEPS; i++) {
        double derivative;
        const double over = spend(self, x, &derivative) - self->beta;
        if ((x == bracket.low && over <= ROUNDING * self->beta) || fabs(over) <= DBL_EPSILON * self->beta) {
            break;
        }
        nadir_bracket_narrow(&bracket, x, over > 0);
        if (!nadir_bracket_step(&bracket, x + self->gamma * over / derivative, &x)) {
            return bracket.high; /* within the budget */
        }
    }
    return x;
}

/* pi_a proportional to the derivative of c_a^p; false: all are zero. */
static bool mix(const state_update *self, double *pi)
{
    double largest = 0;
    double sum = 0;
    double least = INFINITY; /* scales the inverses, which may overflow */
    for (int64_t a = 0; a < self->count; a++) {
        const loss *now = &self->actions[a].now;
        largest = fmax(largest, now->norm);
        least = now->slope > 0 && now->norm > 0 ? fmin(least, now->slope) : least;
    }
    for (int64_t a = 0; a < self->count; a++) {
        const loss *now = &self->actions[a].now;
        pi[a] = now->slope > 0 && now->norm > 0
                    ? nadir_power(now->norm / largest, self->p - 1) * (least / now->slope)
                    : 0;
        sum += pi[a];
    }
    for (int64_t a = 0; a < self->count; a++) {
        pi[a] = sum > 0 ? pi[a] / sum : 0;
    }
    return sum > 0;
}

/* Evaluates the gain of an action at the radius of the tangents; returns what the action is worth then. */
static double evaluate_action(const state_update *self, int64_t action, double x)
{
    double derivative;
    const double radius = radius_at(self, action, x, &derivative);
    query(self, action, radius > 0 && takes_all(self, action, x) ? self->beta : radius);
    const double worth = self->q[action] - self->gamma * self->actions[action].now.gain;
    if (radius == 0 && worth > x && self->actions[action].tangent.slope > 0) {
        probe(self, action, (self->q[action] - x) / self->gamma);
    }
    return worth;
}

/* Scales the radii back into the budget, should rounding have left it. */
static void stay_within(const state_update *self)
{
    double largest = 0;
    double sum = 0;
    for (int64_t a = 0; a < self->count; a++) {
        largest = fmax(largest, self->actions[a].now.norm);
    }
    for (int64_t a = 0; a < self->count && largest > 0; a++) {
        sum += nadir_power(self->actions[a].now.norm / largest, self->p);
    }
    const double spent = largest * nadir_power(sum, 1 / self->p);
    for (int64_t a = 0; a < self->count && spent > self->beta * (1 + ROUNDING); a++) {
        query(self, a, self->actions[a].now.norm * (self->beta / spent));
    }
}

/* x >= low, what the best action keeps in any case. Rounding keeps the two values from meeting: it stops when
 * they are close and no longer approach each other. */
static double solve_mixture(const state_update *self, double low, double high)
{
    double size = fabs(low) + fabs(high);
    double before = INFINITY;
    double x = low;
    for (int64_t a = 0; a < self->count; a++) {
        const loss *most = &self->actions[a].most;
        size = fmax(size, fabs(self->q[a]) + self->gamma * most->gain);
        if (self->q[a] > low &&
            !(self->actions[a].tangent.slope > 0)) { /* beta is more than it takes: slope 0 there */
            query(self, a, most->norm / 2);
        }
    }
    for (int i = 0; i < ROUNDS; i++) {
        double reached = low;
        x = solve_tangents(self, x, high);
        for (int64_t a = 0; a < self->count; a++) {
            reached = fmax(reached, evaluate_action(self, a, x));
        }
        const double apart = reached - x;
        if (apart <= ROUNDING * size || (apart <= CLOSE * size && apart >= before / 2)) {
            break;
        }
        before = apart;
    }
    stay_within(self);
    return x;
}

/* x; pi: [count]. */
static double solve_state(const state_update *self, int64_t state, double *pi)
{
    int64_t best = 0;
    double low = -INFINITY;
    double high = -INFINITY;
    for (int64_t a = 0; a < self->count; a++) {
        self->actions[a].tangent = (loss){0};
        query(self, a, nadir_uncertainty_radius(self->bellman->set, state, self->first + a));
        self->actions[a].most = self->actions[a].now;
        const double left = self->q[a] - self->gamma * self->actions[a].now.gain;
        best = left > low ? a : best;
        low = fmax(low, left);
        high = fmax(high, self->q[a]);
        pi[a] = 0;
    }
    double x = low;
    if (isfinite(self->p) && self->gamma > 0) {
        x = solve_mixture(self, low, high);
    } else if (isfinite(self->p)) {
        for (int64_t a = 0; a < self->count; a++) {
            query(self, a, 0);
        }
    }
    if (!(x > low) || !mix(self, pi)) {
        pi[best] = 1;
    }
    return x;
}

/* ------------------------------------------------------------------------------------------ set-up */

static void measure(nadir_robust_bellman *bellman)
{
    const nadir_model *model = bellman->model;
    bellman->actions_each = nadir_model_most_actions(model);
    bellman->work_each = 1;
    for (int64_t row = 0; bellman->set->domain != NADIR_DOMAIN_FREE && row < model->rows; row++) {
        const int64_t size = nadir_lmo_work_size(&bellman->rows, row, row + 1);
        bellman->work_each = size > bellman->work_each ? size : bellman->work_each;
    }
}

nadir_status nadir_robust_bellman_make(nadir_context *context, nadir_model *model, const nadir_kernel *kernel,
                                       const nadir_uncertainty *set, nadir_robust_bellman *bellman)
{
    nadir_status status = NADIR_OK;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    *bellman = (nadir_robust_bellman){
        .kernel = kernel, .set = set, .model = model, .gamma = nadir_landing_discount(model)};
    bellman->rows = nadir_lmo_make(model, &bellman->order, set, nadir_landing_factor(model));
    bellman->order.exchange = model->exchange;
    bellman->order.unsorted = model->exchange != NULL && !isinf(set->p);
    measure(bellman);
    bellman->threads = nadir_threads_for(context, 4 * entries);
    NADIR_NEW_ZERO(context, bellman->solutions, model->rows);
    if (set->domain == NADIR_DOMAIN_FREE && nadir_landing_is_general(model)) {
        NADIR_NEW(context, bellman->sigmas, model->rows);
    }
    NADIR_NEW(context, bellman->q, model->rows);
    NADIR_NEW(context, bellman->policy, model->rows);
    NADIR_NEW(context, bellman->value, model->states);
    NADIR_NEW(context, bellman->work, bellman->threads * bellman->work_each);
    NADIR_NEW(context, bellman->actions, bellman->threads * bellman->actions_each);
cleanup:
    if (status != NADIR_OK) {
        nadir_robust_bellman_clear(context, bellman);
    }
    return status;
}

void nadir_robust_bellman_clear(nadir_context *context, nadir_robust_bellman *bellman)
{
    nadir_value_order_clear(context, &bellman->order);
    nadir_release(context, bellman->solutions);
    nadir_release(context, bellman->sigmas);
    nadir_release(context, bellman->q);
    nadir_release(context, bellman->policy);
    nadir_release(context, bellman->value);
    nadir_release(context, bellman->work);
    nadir_release(context, bellman->actions);
    *bellman = (nadir_robust_bellman){0};
}

/* ------------------------------------------------------------------------------------- the operator */

/* Domain free: sigma_q of the costs of all rows, or of each. */
static nadir_status measure_costs(nadir_context *context, nadir_robust_bellman *bellman, const double *v)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = bellman->model;
    double *costs = NULL;
    nadir_gstd gstd;
    NADIR_CHECK(nadir_gstd_compute(context, nadir_model_first(model), model->states, v, bellman->set->q,
                                   bellman->value, NULL, &gstd));
    bellman->sigma = gstd.sigma;
    if (bellman->sigmas == NULL) {
        return NADIR_OK;
    }
    NADIR_NEW(context, costs, model->states);
    for (int64_t row = 0; row < model->rows; row++) {
        nadir_landing_costs(model, row, nadir_landing_factor(model), v, costs);
        NADIR_CHECK(nadir_gstd_compute(context, 0, model->states, costs, bellman->set->q, bellman->value,
                                       NULL, &gstd));
        bellman->sigmas[row] = gstd.sigma;
    }
cleanup:
    nadir_release(context, costs);
    return status;
}

nadir_status nadir_robust_bellman_apply(nadir_context *context, nadir_robust_bellman *bellman,
                                        const double *v)
{
    nadir_status status = NADIR_OK;
    const int64_t states = bellman->model->states;
    const int64_t *bounds = bellman->model->state_rows;
    nadir_value_q(context, bellman->kernel, bellman->gamma, v, bellman->q);
    if (bellman->set->domain == NADIR_DOMAIN_FREE) {
        NADIR_TRY(measure_costs(context, bellman, v));
    } else {
        NADIR_TRY(nadir_value_order_make(context, states, v, &bellman->order));
    }
#pragma omp parallel num_threads(bellman->threads)
    {
        state_update update = {
            .bellman = bellman,
            .gamma = bellman->gamma,
            .p = bellman->set->set == NADIR_SET_S ? bellman->set->p : INFINITY,
            .work = bellman->work + bellman->work_each * omp_get_thread_num(),
            .actions = bellman->actions + bellman->actions_each * omp_get_thread_num(),
        };
#pragma omp for schedule(dynamic)
        for (int64_t s = 0; s < states; s++) {
            if (nadir_progress_team(context, "robust policy iteration", -1, &status)) {
                update.first = bounds[s];
                update.count = bounds[s + 1] - bounds[s];
                update.q = bellman->q + update.first;
                update.beta = nadir_uncertainty_radius(bellman->set, s, update.first);
                bellman->value[s] = solve_state(&update, s, bellman->policy + update.first);
            }
        }
    }
    return status;
}

/*
 * union_optimum.c: the best stationary policy against a union of balls, max over pi of min over members k of J_k(pi), J_k
 * the worst return over ball k.
 *
 * Bounds: no policy guarantees more than the best one against a member alone, nor more than a mixture of kernels, one
 * of each member (proof/mixture_bound.h), allows. Below is the evaluation of the policy found.
 *
 * Search: from the best policies against the members, and mixtures of these, along the gradient of the soft minimum
 *
 *     F(pi) = -tau log sum_k exp(-J_k / tau),    w_k = exp((F - J_k) / tau),
 *     pi(a|s) <- pi(a|s) exp(eta sum_k w_k d_k(s) (Q_k(s, a) - v_k(s)) / sum_k w_k d_k(s)), normalised,
 *
 * with steps that are halved until F grows, for tau that falls. J is not concave in pi: it may end in a local maximum.
 */
#include "core/context.h"
#include "core/round.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "model/policy.h"
#include "policy/checkpoint.h"
#include "policy/minmax.h"
#include "proof/mixture_bound.h"
#include "robust/union.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Softness of the first and the last minimum, relative to the returns, and how it falls. */
#define SOFTEST 0.03
#define HARDEST 1e-8
#define HARDEN  0.2
/* Share of the uniform policy in the policies that a search starts from: it cannot leave probabilities of 0. */
#define UNIFORM 0.1
/* Steps of one softness, and halvings of a step. */
enum { STEPS = 40, HALVINGS = 12 };
/* Members whose best policies are starts; evaluations that are left for the end. */
enum { STARTS = 8, SPARE = 20 };
/* Tolerance of worst kernels. */
#define TOLERANCE 1e-9
/* Most states with a bound by mixtures, its most steps, and what these may cost: members times states squared each. */
enum { MIXED_STATES = 200, MIXED_STEPS = 2000 };
#define MIXED_WORK 4e7

/* A policy with the worst kernels that were found for it. */
typedef struct point {
    nadir_policy *policy;      /* of the first model; NULL: none */
    nadir_response *responses; /* [count] */
    double *J;                 /* [count] as the models have it */
    double least;
} point;

typedef struct optimization {
    nadir_context *context;
    int64_t count, states, rows;
    nadir_model *const *models;
    const nadir_ball *balls;
    nadir_robust_optimum_settings settings;
    nadir_minmax *minmax; /* [count] */
    double begun;
    double upper;
    int64_t mixed;
    double nominal_optimum, initial;
    int64_t evaluations, iterations;
    nadir_stop stop;
    point best;
    nadir_policy **starts; /* [count + 1] best against each member; the user's, or NULL */
    double *alone;         /* [count] what no policy exceeds against a member */
    nadir_worst **worst;   /* [count] of the policy found */
} optimization;

static const nadir_ball *ball_of(const optimization *self, int64_t member)
{
    return self->balls != NULL ? &self->balls[member] : NULL;
}

static void point_clear(const optimization *self, point *at)
{
    for (int64_t k = 0; at->responses != NULL && k < self->count; k++) {
        nadir_response_clear(self->context, &at->responses[k]);
    }
    nadir_release(self->context, at->responses);
    nadir_release(self->context, at->J);
    nadir_policy_free(at->policy);
    *at = (point){0};
}

static double scale_of(const optimization *self)
{
    return fmax(fabs(self->nominal_optimum), fabs(self->best.policy != NULL ? self->best.least : 0));
}

static bool is_done(const optimization *self)
{
    return self->stop != NADIR_STOP_NONE ||
           (self->best.policy != NULL &&
            self->upper - self->best.least <= 0.5 * self->settings.gap * scale_of(self));
}

static nadir_status report(optimization *self)
{
    const double seconds = nadir_clock_seconds() - self->begun;
    const nadir_robust_optimum_step step = {.size = sizeof step,
                                            .iteration = self->iterations,
                                            .evaluations = self->evaluations,
                                            .robust_return = self->best.least,
                                            .gap = (self->upper - self->best.least) / scale_of(self),
                                            .seconds = seconds};
    if (self->settings.watch != NULL && self->settings.watch(self->settings.watch_user, &step) != 0) {
        self->stop = NADIR_STOP_INTERRUPTED;
        return nadir_fail(self->context, NADIR_ERROR_INTERRUPTED, "interrupted");
    }
    self->stop = seconds > self->settings.time_limit                     ? NADIR_STOP_TIME
                 : self->evaluations >= self->settings.evaluations_limit ? NADIR_STOP_EVALUATIONS
                                                                         : self->stop;
    return NADIR_OK;
}

/* The worst kernels of a policy; near: of a similar one, or NULL. */
static nadir_status respond(optimization *self, const double *pi, const point *near, point *made)
{
    nadir_status status = NADIR_OK;
    nadir_policy *own = NULL;
    *made = (point){.least = INFINITY};
    NADIR_CHECK(nadir_policy_create(self->context, self->models[0], pi, &made->policy));
    NADIR_NEW_ZERO(self->context, made->responses, self->count);
    NADIR_NEW(self->context, made->J, self->count);
    self->evaluations++;
    for (int64_t k = 0; k < self->count; k++) {
        const nadir_response *warm = near != NULL ? &near->responses[k] : NULL;
        NADIR_CHECK(nadir_policy_share(self->context, self->models[k], made->policy, &own));
        status = nadir_response_find(self->context, &self->minmax[k], own, warm != NULL ? warm->v : NULL,
                                     warm != NULL ? warm->d : NULL, TOLERANCE, &made->responses[k]);
        status = status == NADIR_OK ? status : nadir_union_name(self->context, status, k, self->count);
        NADIR_CHECK(status);
        nadir_policy_free(own);
        own = NULL;
        made->J[k] = nadir_landing_return(self->models[k], made->responses[k].J);
        made->least = fmin(made->least, made->J[k]);
    }
cleanup:
    nadir_policy_free(own);
    if (status != NADIR_OK) {
        point_clear(self, made);
    }
    return status;
}

/* Keeps the better policy; takes the point. */
static void offer(optimization *self, point *made)
{
    if (self->best.policy == NULL || made->least > self->best.least) {
        const point before = self->best;
        self->best = *made;
        *made = before;
    }
    point_clear(self, made);
}

/* The soft minimum; weights: [count]. */
static double soften(const optimization *self, const point *at, double tau, double *weights)
{
    double sum = 0;
    for (int64_t k = 0; k < self->count; k++) {
        weights[k] = exp(-(at->J[k] - at->least) / tau);
        sum += weights[k];
    }
    for (int64_t k = 0; k < self->count; k++) {
        weights[k] /= sum;
    }
    return at->least - tau * log(fmax(sum, 1));
}

/* direction: [rows]; returns its largest entry. */
static double find_direction(const optimization *self, const point *at, const double *weights,
                             double *direction)
{
    const nadir_model *model = self->models[0];
    const double *pi = at->policy->probabilities;
    double largest = 0;
    for (int64_t s = 0; s < self->states; s++) {
        double visits = 0;
        memset(direction + model->state_rows[s], 0,
               (size_t)(model->state_rows[s + 1] - model->state_rows[s]) * sizeof *direction);
        for (int64_t k = 0; k < self->count; k++) {
            const nadir_response *response = &at->responses[k];
            const double weight = weights[k] * response->d[s];
            double mean = 0;
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                mean += pi[row] * response->q[row];
            }
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                direction[row] += weight * (response->q[row] - mean);
            }
            visits += weight;
        }
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            direction[row] = visits > 0 ? direction[row] / visits : 0;
            largest = pi[row] > 0 ? fmax(largest, fabs(direction[row])) : largest;
        }
    }
    return largest;
}

static void take_step(const optimization *self, const double *pi, const double *direction, double eta,
                      double *next)
{
    const nadir_model *model = self->models[0];
    for (int64_t s = 0; s < self->states; s++) {
        double highest = -INFINITY;
        double sum = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            highest = pi[row] > 0 ? fmax(highest, direction[row]) : highest;
        }
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            next[row] = pi[row] > 0 ? pi[row] * exp(eta * (direction[row] - highest)) : 0;
            sum += next[row];
        }
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            next[row] /= sum;
        }
    }
}

/* One search of so many evaluations at most. at: where it starts, taken. */
static nadir_status ascend(optimization *self, int64_t most, point *at, double *work)
{
    const int64_t last = self->evaluations + most;
    nadir_status status = NADIR_OK;
    double *direction = work;
    double *next = work + self->rows;
    double *weights = work + 2 * self->rows;
    point tried = {0};
    const double size = fmax(scale_of(self), fabs(at->least));
    double eta = 1;
    double tau = SOFTEST;
    while (tau >= HARDEST && tau * size >= DBL_MIN && self->evaluations < last && !is_done(self)) {
        double gain = INFINITY;
        for (int step = 0;
             step < STEPS && gain > 0.01 * tau * size && self->evaluations < last && !is_done(self); step++) {
            const double F = soften(self, at, tau * size, weights);
            const double largest = find_direction(self, at, weights, direction);
            gain = 0;
            for (int i = 0; i < HALVINGS && isfinite(eta / largest) && gain == 0 && !is_done(self); i++) {
                take_step(self, at->policy->probabilities, direction, eta / largest, next);
                NADIR_CHECK(respond(self, next, at, &tried));
                const double reached = soften(self, &tried, tau * size, weights);
                if (reached > F) {
                    const point before = *at;
                    gain = reached - F;
                    *at = tried;
                    tried = before;
                }
                point_clear(self, &tried);
                eta *= gain > 0 ? 2 : 0.4;
                NADIR_CHECK(report(self));
            }
            self->iterations++;
            eta = fmin(fmax(eta, 1e-6), 1e4);
        }
        tau *= HARDEN;
    }
cleanup:
    point_clear(self, &tried);
    if (status == NADIR_OK || at->policy != NULL) {
        offer(self, at);
    }
    return status;
}

/* Probabilities below a threshold become 0, where that loses nothing. */
static nadir_status round_best(optimization *self, double *next)
{
    static const double thresholds[] = {0.49, 0.02, 1e-4, 1e-7};
    const nadir_model *model = self->models[0];
    for (int i = 0; i < 4 && self->best.policy != NULL; i++) {
        const double *pi = self->best.policy->probabilities;
        bool changed = false;
        for (int64_t s = 0; s < self->states; s++) {
            double highest = 0;
            double sum = 0;
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                highest = fmax(highest, pi[row]);
            }
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                next[row] = pi[row] >= fmin(thresholds[i], highest) ? pi[row] : 0;
                changed |= next[row] != pi[row];
                sum += next[row];
            }
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                next[row] /= sum;
            }
        }
        point tried;
        if (!changed) {
            return NADIR_OK;
        }
        NADIR_TRY(respond(self, next, &self->best, &tried));
        if (tried.least >= self->best.least - 1e-12 * scale_of(self)) {
            self->best.least = -INFINITY; /* fewer random states count more than rounding */
        }
        offer(self, &tried);
    }
    return NADIR_OK;
}

/* The best policies against each member alone, with the bounds that they give. */
static nadir_status solve_members(optimization *self)
{
    nadir_robust_optimum_settings use = self->settings;
    use.certify = NADIR_CERTIFY_OFF;
    use.checkpoint = use.resume = NULL;
    use.start = NULL;
    use.watch = NULL;
    for (int64_t k = 0; k < self->count; k++) {
        nadir_robust_optimum_result found = {.size = sizeof found};
        use.time_limit = fmax(0, self->settings.time_limit - (nadir_clock_seconds() - self->begun));
        const nadir_checkpoint_store none = {0};
        nadir_status status = nadir_robust_optimum_run(self->context, self->models[k], ball_of(self, k), &use,
                                                       &none, &self->starts[k], &found, NULL, NULL);
        if (status == NADIR_ERROR_NOT_CONVERGED && self->starts[k] != NULL) {
            status = NADIR_OK;
        }
        if (status != NADIR_OK) {
            self->stop = status == NADIR_ERROR_INTERRUPTED ? NADIR_STOP_INTERRUPTED : self->stop;
            return nadir_union_name(self->context, status, k, self->count);
        }
        self->alone[k] = found.optimality_upper_bound;
        self->upper = fmin(self->upper, self->alone[k]);
        self->nominal_optimum = k == 0 ? found.nominal_optimum : self->nominal_optimum;
    }
    return NADIR_OK;
}

/* pi <- (1 - UNIFORM) pi + UNIFORM / actions */
static void blur(const nadir_model *model, double *pi)
{
    for (int64_t s = 0; s < model->states; s++) {
        const double each = UNIFORM / (double)(model->state_rows[s + 1] - model->state_rows[s]);
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            pi[row] = (1 - UNIFORM) * pi[row] + each;
        }
    }
}

/* Up to STARTS members, those that bind most first, and the user's policy, if any; places: [STARTS + 1]. */
static int choose_starts(const optimization *self, int64_t *places)
{
    int found = 0;
    while (found < STARTS && found < self->count) {
        int64_t least = -1;
        for (int64_t k = 0; k < self->count; k++) {
            bool taken = false;
            for (int i = 0; i < found; i++) {
                taken |= places[i] == k;
            }
            least = !taken && (least < 0 || self->alone[k] < self->alone[least]) ? k : least;
        }
        places[found++] = least;
    }
    if (self->starts[self->count] != NULL) {
        places[found++] = self->count;
    }
    return found;
}

/* All starts as they are; then searches from the mean of the best policies of all members, and from each start. */
static nadir_status search(optimization *self)
{
    nadir_status status = NADIR_OK;
    double *work = NULL;
    double *pi;
    int64_t places[STARTS + 1];
    const int count = choose_starts(self, places);
    point made = {0};
    NADIR_NEW(self->context, work, 3 * self->rows + self->count);
    pi = work + 2 * self->rows + self->count;
    for (int i = 0; i < count; i++) {
        NADIR_CHECK(respond(self, self->starts[places[i]]->probabilities, NULL, &made));
        self->initial = i == 0 || places[i] == self->count ? made.least : self->initial;
        offer(self, &made);
        NADIR_CHECK(report(self));
    }
    for (int i = -1; i < count && !is_done(self); i++) {
        const int64_t first = i < 0 ? 0 : places[i];
        const int64_t last = i < 0 ? self->count : places[i] + 1;
        memset(pi, 0, (size_t)self->rows * sizeof *pi);
        for (int64_t k = first; k < last; k++) {
            for (int64_t row = 0; row < self->rows; row++) {
                pi[row] += self->starts[k]->probabilities[row] / (double)(last - first);
            }
        }
        blur(self->models[0], pi);
        NADIR_CHECK(respond(self, pi, NULL, &made));
        NADIR_CHECK(ascend(self, self->settings.evaluations_limit / (count + 2), &made, work));
    }
    if (!is_done(self)) { /* what is left of the evaluations, from the best */
        memcpy(pi, self->best.policy->probabilities, (size_t)self->rows * sizeof *pi);
        NADIR_CHECK(respond(self, pi, NULL, &made));
        NADIR_CHECK(ascend(self, self->settings.evaluations_limit - self->evaluations - SPARE, &made, work));
    }
    NADIR_CHECK(round_best(self, pi));
    self->stop = self->stop == NADIR_STOP_NONE ? NADIR_STOP_STATIONARY : self->stop;
cleanup:
    point_clear(self, &made);
    nadir_release(self->context, work);
    return status;
}

/* ---------------------------------------------------------------------------------------- the upper bound */

/* Subgradient steps on weights and costs, of the length that would reach the policy found (Polyak). */
static nadir_status improve_mixture(optimization *self, const nadir_mixture *mixture)
{
    nadir_status status = NADIR_OK;
    const int64_t count = mixture->count;
    const int64_t rows = mixture->rows;
    const double wanted = 0.25 * self->settings.gap * scale_of(self);
    double *visits = NULL; /* [count * rows], as costs and slopes */
    double *costs = NULL;
    double *weights = NULL; /* [3 count]: weights, their slopes, room */
    int64_t *best = NULL;
    bool *chosen = NULL;
    double damp = 1;
    double least = INFINITY;
    int since = 0;
    NADIR_NEW(self->context, visits, count * rows);
    NADIR_NEW_ZERO(self->context, costs, count * rows);
    NADIR_NEW(self->context, weights, 3 * count);
    NADIR_NEW(self->context, best, mixture->states);
    NADIR_NEW(self->context, chosen, rows);
    for (int64_t k = 0; k < count; k++) {
        weights[k] = 1.0 / (double)count;
    }
    const double most = MIXED_WORK / ((double)(count * mixture->states) * (double)mixture->states);
    for (int step = 0;
         step < fmin(MIXED_STEPS, most) && nadir_clock_seconds() - self->begun < self->settings.time_limit;
         step++) {
        double upper;
        double square = 0;
        NADIR_CHECK(nadir_progress(self->context, "mixing members", -1));
        NADIR_CHECK(nadir_mixture_bound(self->context, mixture, weights, costs, &upper, visits, best));
        if (upper < self->upper) {
            self->upper = upper;
            self->mixed = 0;
            for (int64_t k = 0; k < count; k++) {
                self->mixed += weights[k] > 0;
            }
        }
        since = upper < least ? 0 : since + 1;
        least = fmin(least, upper);
        if (since == 100) { /* it jumps about */
            damp *= 0.7;
            since = 0;
        }
        if (self->upper - self->best.least <= wanted) {
            break;
        }
        memset(chosen, 0, (size_t)rows * sizeof *chosen);
        for (int64_t s = 0; s < mixture->states; s++) {
            chosen[best[s]] = true;
        }
        for (int64_t k = 0; k < count; k++) { /* slopes, in place of visits */
            double *slope = visits + k * rows;
            weights[count + k] = 0;
            for (int64_t s = 0; s < mixture->states; s++) {
                for (int64_t row = self->models[0]->state_rows[s]; row < self->models[0]->state_rows[s + 1];
                     row++) {
                    const double *range = costs[k * rows + row] > 0 ? mixture->high : mixture->low;
                    weights[count + k] += slope[row] * mixture->rewards[k][row];
                    slope[row] = (chosen[row] ? range[k * mixture->states + s] : 0) - slope[row];
                    square += slope[row] * slope[row];
                }
            }
        }
        double mean = 0; /* weights keep their sum */
        for (int64_t k = 0; k < count; k++) {
            mean += weights[count + k] / (double)count;
        }
        for (int64_t k = 0; k < count; k++) {
            weights[count + k] -= mean;
            square += weights[count + k] * weights[count + k];
        }
        if (!(square > 0)) {
            break;
        }
        const double length = damp * (upper - self->best.least) / square;
        for (int64_t i = 0; i < count * rows; i++) {
            costs[i] -= length * visits[i];
        }
        for (int64_t k = 0; k < count; k++) {
            weights[k] -= length * weights[count + k];
        }
        nadir_simplex_project(count, weights, weights + 2 * count);
    }
cleanup:
    NADIR_RELEASE(self->context, visits, costs, weights, best, chosen);
    return status;
}

/* The mixture of the worst kernels of the policy found, which its evaluation checked to be in their balls. */
static nadir_status bound(optimization *self, const nadir_robust *members)
{
    nadir_status status = NADIR_OK;
    nadir_model **kernels = NULL;
    nadir_mixture mixture = {0};
    bool usable = self->models[0]->discount < 1 && self->states <= MIXED_STATES && self->count > 1 &&
                  self->upper - self->best.least > 0.5 * self->settings.gap * scale_of(self);
    for (int64_t k = 0; k < self->count; k++) {
        usable = usable && self->worst[k] != NULL && members[k].kernel_valid &&
                 members[k].kernel_minimum >= 0 && isfinite(members[k].upper_bound);
    }
    if (!usable) {
        return NADIR_OK;
    }
    NADIR_NEW_ZERO(self->context, kernels, self->count); /* NOLINT(bugprone-sizeof-expression) */
    for (int64_t k = 0; k < self->count; k++) {
        NADIR_CHECK(nadir_worst_model(self->context, self->worst[k], &kernels[k]));
    }
    NADIR_CHECK(nadir_mixture_make(self->context, self->count, kernels, &mixture));
    NADIR_CHECK(improve_mixture(self, &mixture));
cleanup:
    nadir_mixture_clear(self->context, &mixture);
    for (int64_t k = 0; kernels != NULL && k < self->count; k++) {
        nadir_model_free(kernels[k]);
    }
    nadir_release(self->context, kernels);
    return status;
}

/* ----------------------------------------------------------------------------------------------- the call */

static nadir_status check(optimization *self)
{
    const nadir_robust_optimum_settings *use = &self->settings;
    if ((use->method != NULL && strcmp(use->method, "auto") != 0) || use->step != 0 ||
        use->checkpoint != NULL || use->resume != NULL) {
        return nadir_fail(self->context, NADIR_ERROR_UNSUPPORTED,
                          "optimisation against a union has one method, and no checkpoints");
    }
    if (!(use->gap > 0) || use->evaluations_limit < 1 || !(use->time_limit >= 0)) {
        return nadir_fail(self->context, NADIR_ERROR_ARGUMENT,
                          "the gap is %g, the limit of evaluations %lld and that of time %g; expected more "
                          "than 0",
                          use->gap, (long long)use->evaluations_limit, use->time_limit);
    }
    NADIR_TRY(nadir_union_check(self->context, self->count, self->models));
    for (int64_t k = 0; k < self->count; k++) {
        const nadir_ball *ball = ball_of(self, k);
        const nadir_domain asked = ball != NULL ? ball->domain : NADIR_DOMAIN_UNSAID;
        if (asked == NADIR_DOMAIN_FREE ||
            (asked == NADIR_DOMAIN_UNSAID && self->models[k]->domain == NADIR_DOMAIN_FREE)) {
            return nadir_fail(
                self->context, NADIR_ERROR_UNSUPPORTED,
                "policies are optimised against unions on the domains simplex, support and box");
        }
    }
    return NADIR_OK;
}

static nadir_status run(optimization *self, nadir_robust *members, nadir_robust *evaluation, int64_t *which,
                        double *seconds)
{
    nadir_status status = NADIR_OK;
    nadir_robust_settings use;
    nadir_solver_settings solver;
    NADIR_CHECK(check(self));
    NADIR_NEW_ZERO(self->context, self->starts, self->count + 1); /* NOLINT(bugprone-sizeof-expression) */
    NADIR_NEW(self->context, self->alone, self->count);
    NADIR_NEW_ZERO(self->context, self->minmax, self->count);
    NADIR_NEW_ZERO(self->context, self->worst, self->count); /* NOLINT(bugprone-sizeof-expression) */
    for (int64_t k = 0; k < self->count; k++) {
        self->minmax[k] = (nadir_minmax){.model = self->models[k],
                                         .ball = ball_of(self, k),
                                         .backend = self->settings.backend,
                                         .iterations_limit = 10000};
    }
    if (self->settings.start != NULL) {
        NADIR_CHECK(nadir_policy_share(self->context, self->models[0], self->settings.start,
                                       &self->starts[self->count]));
    }
    NADIR_CHECK(solve_members(self));
    NADIR_CHECK(search(self));
    *seconds = nadir_clock_seconds();
    nadir_robust_settings_default(&use);
    use.certify = self->settings.certify;
    use.time_limit = self->settings.proof_time_limit;
    nadir_solver_settings_default(&solver);
    solver.backend = self->settings.backend;
    status = nadir_union_worst(self->context, self->count, self->models, self->balls, self->best.policy,
                               &solver, &use, members, evaluation, which, self->worst);
    status = status == NADIR_ERROR_NOT_CONVERGED ? NADIR_OK : status; /* the bounds hold nevertheless */
    NADIR_CHECK(status);
    self->best.least = evaluation->robust_return;
    NADIR_CHECK(bound(self, members));
cleanup:
    return status;
}

static nadir_robust_optimum_result conclude(const optimization *self, const nadir_robust *evaluation,
                                            double searched)
{
    const nadir_model *model = self->models[0];
    const double upper = fmax(self->upper, evaluation->robust_return);
    const double gap = upper - evaluation->lower_bound;
    const double allowed = self->settings.gap * scale_of(self) * (1 + 1e-9);
    const bool met = upper - evaluation->robust_return <= allowed;
    const bool limited = self->stop == NADIR_STOP_EVALUATIONS || self->stop == NADIR_STOP_TIME;
    nadir_robust_optimum_result made = {.size = sizeof made,
                                        .nominal_optimum = self->nominal_optimum,
                                        .initial_robust_return = self->initial,
                                        .robust_return = evaluation->robust_return,
                                        .nominal_return = evaluation->nominal_return,
                                        .lower_bound = evaluation->lower_bound,
                                        .optimality_upper_bound = upper,
                                        .optimality_gap = gap,
                                        .certified = evaluation->certified && gap <= allowed,
                                        .certificate = evaluation->certificate,
                                        .method = "soft-minimum",
                                        .stop_reason = nadir_stop_name(met       ? NADIR_STOP_GAP
                                                                       : limited ? self->stop
                                                                                 : NADIR_STOP_STATIONARY),
                                        .iterations = self->iterations,
                                        .evaluations = self->evaluations,
                                        .mixed_kernels = self->mixed,
                                        .seconds_search = searched - self->begun,
                                        .seconds_certify = nadir_clock_seconds() - searched};
    for (int64_t s = 0; s < self->states; s++) {
        int64_t chosen = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            chosen += self->best.policy->probabilities[row] > 0;
        }
        made.stochastic_states += chosen > 1;
    }
    return made;
}

nadir_status nadir_union_optimum(nadir_context *context, int64_t count, nadir_model *const *models,
                                 const nadir_ball *balls, const nadir_robust_optimum_settings *settings,
                                 nadir_policy **policy, nadir_robust_optimum_result *result,
                                 nadir_robust *members, nadir_robust *evaluation, int64_t *which,
                                 nadir_worst **worst)
{
    optimization self = {.context = context,
                         .count = count,
                         .states = count > 0 ? models[0]->states : 0,
                         .rows = count > 0 ? models[0]->rows : 0,
                         .models = models,
                         .balls = balls,
                         .begun = nadir_clock_seconds(),
                         .upper = INFINITY,
                         .mixed = 1};
    nadir_robust found = {.size = sizeof found};
    double searched = self.begun;
    *policy = NULL;
    nadir_robust_optimum_settings_default(&self.settings);
    const bool sized =
        settings == NULL || nadir_settings_copy(&self.settings, sizeof self.settings, settings);
    nadir_status status =
        sized ? run(&self, members, &found, which, &searched)
              : nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the settings is not set");
    if (status == NADIR_OK) {
        const nadir_robust_optimum_result made = conclude(&self, &found, searched);
        if (!nadir_result_copy(result, &made, sizeof made) ||
            (evaluation != NULL && !nadir_result_copy(evaluation, &found, sizeof found))) {
            status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of a result is not set");
        } else {
            *policy = nadir_policy_retain(self.best.policy);
            if (strcmp(made.stop_reason, nadir_stop_name(NADIR_STOP_EVALUATIONS)) == 0 ||
                strcmp(made.stop_reason, nadir_stop_name(NADIR_STOP_TIME)) == 0) {
                status = nadir_fail(
                    context, NADIR_ERROR_NOT_CONVERGED,
                    "the search for the robust policy stopped at its limit of %s before the gap of "
                    "%g was reached; the best policy so far is reported, with bounds that hold for it",
                    made.stop_reason, self.settings.gap);
            }
        }
    }
    if (worst != NULL && *policy != NULL) {
        *worst = self.worst[*which];
        self.worst[*which] = NULL;
    }
    point_clear(&self, &self.best);
    for (int64_t k = 0; k < count; k++) {
        if (self.starts != NULL) {
            nadir_policy_free(self.starts[k]);
        }
        if (self.minmax != NULL) {
            nadir_minmax_clear(context, &self.minmax[k]);
        }
        if (self.worst != NULL) {
            nadir_worst_free(self.worst[k]);
        }
    }
    if (self.starts != NULL) {
        nadir_policy_free(self.starts[count]);
    }
    nadir_release(context, self.starts);
    nadir_release(context, self.alone);
    nadir_release(context, self.minmax);
    nadir_release(context, self.worst);
    return status;
}

/*
 * radius.c: the largest ball whose worst return still meets a target.
 *
 * The worst return falls as the ball grows. The root of
 *
 *     g(beta) = J_attained(beta) - target
 *
 * is found by secants, kept between radii where g has different signs; g(0) is known. That proves nothing: a
 * radius a little smaller is evaluated with proofs until a lower bound meets the target, and a larger one
 * until the return of its kernel, which is checked too, does not. Where bounds are apart the first is a search of
 * its own, on the bounds.
 */
#include "core/context.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "robust/robust.h"
#include "robust/strategy.h"
#include "sets/uncertainty.h"
#include "solve/solver.h"

#include <float.h>
#include <math.h>

typedef struct inverse {
    nadir_context *context;
    nadir_solver *solver;
    const nadir_ball *ball;
    nadir_robust_settings settings;
    nadir_certify certify;
    double tolerance;
    double sign;   /* -1: best case */
    double target; /* times the sign, as all returns here */
    double unit;   /* the radius of factor 1 */
    double whole;  /* factor at which the ball holds all of the domain; infinity: there is none */
    double low;    /* factor of the largest ball that meets the target, as far as searches tell */
    double high;   /* of the smallest that does not; infinity: not known */
    bool refused;  /* that one is past breakdown */
    bool converged;
    nadir_stop stop;
    nadir_radius made;
} inverse;

/* One evaluation; *refused: past breakdown. Bounds and returns with the sign turned. The root is sought with
 * a smaller tolerance; what is reported can be evaluated again as it was asked. */
static nadir_status evaluate(inverse *self, double factor, nadir_certify certify, double tolerance,
                             nadir_robust *robust, bool *refused)
{
    nadir_robust_settings settings = self->settings;
    settings.certify = certify;
    settings.tolerance = tolerance;
    *robust = (nadir_robust){.size = sizeof *robust};
    *refused = false;
    nadir_status status =
        nadir_solver_robust_many(self->context, self->solver, self->ball, &settings, 1, &factor, robust);
    if (status == NADIR_ERROR_NOT_CONVERGED && robust->stop_reason != NULL) {
        self->converged = false;
        status = NADIR_OK;
    }
    if (status == NADIR_ERROR_ILL_POSED) {
        *refused = true;
        return NADIR_OK;
    }
    NADIR_TRY(status);
    self->made.evaluations++;
    self->made.seconds_robust += robust->seconds_robust;
    self->made.seconds_certify += robust->seconds_certify;
    self->made.seconds_nominal = robust->seconds_nominal;
    self->made.solves = robust->solves;
    self->made.backend = robust->backend;
    self->made.valid_radius = robust->valid_radius;
    self->made.breakdown_radius =
        fmax(self->made.breakdown_radius, robust->breakdown_radius); /* either may be NaN */
    const double lower = robust->lower_bound;
    robust->robust_return *= self->sign;
    robust->lower_bound = self->sign > 0 ? lower : -robust->upper_bound;
    robust->upper_bound = self->sign > 0 ? robust->upper_bound : -lower;
    return NADIR_OK;
}

/* ------------------------------------------------------------------------------------------- root */

/* The least weight of a row that is not 0. */
static double least_weight(const nadir_model *model, const nadir_uncertainty *set, int64_t row)
{
    double least = 1;
    if (set->weights != NULL) {
        const int64_t start = nadir_landing_entry(model, row);
        const int64_t count = nadir_model_row(model, row).count;
        for (int64_t i = start; i < start + count; i++) {
            least = set->weights[i] > 0 ? fmin(least, set->weights[i]) : least;
        }
    }
    return least;
}

/* The factor at which every group of rows can be anything that the domain allows: |Delta_sa|_p is at most
 * 2^(1/p). */
static double whole_domain(const nadir_model *model, const nadir_uncertainty *set)
{
    const double row = isinf(set->p) ? 1 : nadir_power(2, 1 / set->p);
    double largest = 0;
    double sum = 0;
    if (set->domain == NADIR_DOMAIN_FREE) {
        return INFINITY;
    }
    for (int64_t s = 0; s < model->states; s++) {
        double state = 0;
        for (int64_t r = model->state_rows[s]; r < model->state_rows[s + 1]; r++) {
            const double alpha = nadir_uncertainty_scale(set, r);
            const double radius = nadir_uncertainty_radius(set, s, r);
            const double far =
                alpha > 0 && radius > 0 ? row / (alpha * least_weight(model, set, r) * radius) : 0;
            largest = fmax(largest, far);
            state += isinf(set->p) ? 0 : nadir_power(far, set->p);
        }
        sum = set->set == NADIR_SET_S ? fmax(sum, state) : sum + state;
    }
    return set->set == NADIR_SET_SA || isinf(set->p) ? largest : nadir_power(sum, 1 / set->p);
}

/* The next factor to try, from the last two points of g. */
static double next_factor(const inverse *self, const double x[2], const double g[2], int step)
{
    const double limit = fmin(self->whole, NADIR_RADIUS_LARGE / self->unit);
    const double secant = x[1] - g[1] * (x[1] - x[0]) / (g[1] - g[0]);
    if (isinf(self->high)) {
        const double most = fmin(NADIR_RADIUS_GROWTH * fmax(x[1], self->low), limit);
        return secant > self->low && secant < most ? secant : most;
    }
    const bool inside = secant > self->low && secant < self->high;
    return inside && step % 4 != 3 ? secant : self->low + (self->high - self->low) / 2;
}

/* Whether the root is known well enough, or there is none; the reason is noted. */
static bool is_done(inverse *self, double g, double need)
{
    const double limit = fmin(self->whole, NADIR_RADIUS_LARGE / self->unit);
    const bool close = fabs(g) <= 0.1 * self->tolerance * need;
    if (close || (isfinite(self->high) && self->high - self->low <= 0.1 * self->tolerance * self->high)) {
        self->stop = self->refused && !close ? NADIR_STOP_BREAKDOWN : NADIR_STOP_TOLERANCE;
        return true;
    }
    if (self->low >= limit) {
        self->stop = NADIR_STOP_DOMAIN;
        return true;
    }
    return false;
}

/* made.radius: the root as a factor, or infinity; *slope: about dJ/dfactor there. */
static nadir_status find_root(inverse *self, double need, double *slope)
{
    nadir_robust robust;
    bool refused;
    double x[2] = {0, 0};
    double g[2] = {need, need};
    double factor = fmin(NADIR_RADIUS_FIRST / self->unit, self->whole);
    self->stop = NADIR_STOP_ITERATIONS;
    for (int step = 0; step < NADIR_RADIUS_STEPS; step++) {
        NADIR_TRY(nadir_progress(self->context, "largest radius", -1));
        NADIR_TRY(evaluate(self, factor, NADIR_CERTIFY_OFF, 0.1 * self->tolerance, &robust, &refused));
        if (refused) {
            self->high = factor;
            self->refused = true;
        } else {
            x[0] = x[1];
            g[0] = g[1];
            x[1] = factor;
            g[1] = robust.robust_return - self->target;
            self->low = g[1] >= 0 ? fmax(self->low, factor) : self->low;
            self->refused = g[1] < 0 && factor < self->high ? false : self->refused;
            self->high = g[1] < 0 ? fmin(self->high, factor) : self->high;
        }
        if (is_done(self, g[1], need)) {
            break;
        }
        factor = next_factor(self, x, g, step);
    }
    self->made.radius = self->stop == NADIR_STOP_TOLERANCE       ? x[1]
                        : isfinite(self->high) && !self->refused ? self->low + (self->high - self->low) / 2
                                                                 : INFINITY;
    *slope = x[1] != x[0] ? fabs((g[1] - g[0]) / (x[1] - x[0])) : 0;
    return NADIR_OK;
}

/* ---------------------------------------------------------------------------------------- bounds */

/* The largest factor with a lower bound that meets the target: made.radius_lower, 0 if there is none. Next to the
 * root what the bound lacks and the slope of the attained return tell how far to go down. Where bounds are apart the
 * bound has a slope of its own: regula falsi on it, between 0, where it exceeds the target by `need`, and the root; an
 * end that stays has its value halved (Illinois), and every fourth step halves the interval. */
static nadir_status prove_lower(inverse *self, double from, double slope, double need)
{
    nadir_robust robust;
    bool refused;
    double good = 0;
    double bad = from;
    double above = need;     /* the bound less the target at `good`, */
    double below = INFINITY; /* and the target less the bound at `bad` */
    int last = 0;
    double factor = isfinite(self->made.radius) ? from * (1 - 0.25 * self->tolerance) : from;
    self->made.certificate = "none";
    for (int i = 0;
         i < NADIR_RADIUS_PROOFS && self->certify != NADIR_CERTIFY_OFF && (i == 0 || factor > good); i++) {
        NADIR_TRY(evaluate(self, factor, self->certify, self->tolerance, &robust, &refused));
        const double lacks = refused ? INFINITY : self->target - robust.lower_bound;
        const int side = lacks <= 0 ? 1 : -1;
        if (side > 0) {
            good = factor;
            above = -lacks;
            below /= last == side ? 2 : 1;
            self->made.certificate = robust.certificate;
            if (bad - good <= NADIR_RADIUS_COARSE * bad) {
                break;
            }
        } else {
            bad = factor;
            below = lacks;
            above /= last == side ? 2 : 1;
        }
        last = side;
        const double closer = bad - 1.5 * lacks / slope;
        const double share = isfinite(below) && i % 4 != 3 ? above / (above + below) : 0.5;
        factor = i == 0 && lacks > 0 && closer > good ? closer : good + share * (bad - good);
    }
    self->made.radius_lower = good;
    return NADIR_OK;
}

/* A factor above the root at which a kernel that was checked misses the target. */
static nadir_status prove_upper(inverse *self, double from, double slope)
{
    nadir_robust robust;
    bool refused = false;
    double beyond = 0.25 * self->tolerance * from;
    self->made.radius_upper = INFINITY;
    for (int i = 0; i < NADIR_RADIUS_PROOFS && !refused && isinf(self->made.radius_upper); i++) {
        const double factor = from + beyond;
        NADIR_TRY(evaluate(self, factor, NADIR_CERTIFY_OFF, self->tolerance, &robust, &refused));
        if (!refused && robust.upper_bound < self->target) {
            self->made.radius_upper = factor;
        }
        const double lacks = robust.upper_bound - self->target;
        beyond = fmax(4 * beyond, slope > 0 && isfinite(lacks) ? beyond + 1.5 * lacks / slope : 0);
    }
    return NADIR_OK;
}

static nadir_status answer(inverse *self, double need)
{
    nadir_radius *made = &self->made;
    double slope;
    NADIR_TRY(find_root(self, need, &slope));
    made->stop_reason = nadir_stop_name(self->stop);
    const bool bounded = isfinite(made->radius);
    NADIR_TRY(prove_lower(self, bounded ? made->radius : self->low, slope, need));
    made->radius_upper = INFINITY;
    if (bounded) {
        NADIR_TRY(prove_upper(self, made->radius, slope));
    } else if (made->radius_lower >= self->whole) { /* no ball holds more */
        made->radius_lower = INFINITY;
    }
    made->certified = bounded ? made->radius_upper - made->radius_lower <= self->settings.width * made->radius
                              : isinf(made->radius_lower);
    made->radius *= self->unit;
    made->radius_lower *= self->unit * (1 - 4 * DBL_EPSILON);
    made->radius_upper *= self->unit * (1 + 4 * DBL_EPSILON);
    return NADIR_OK;
}

/* The settings of the search, and what they say of the question. */
static nadir_status settle(inverse *self, const nadir_robust_settings *settings, double target)
{
    nadir_robust_settings_default(&self->settings);
    if (settings != NULL && !nadir_settings_copy(&self->settings, sizeof self->settings, settings)) {
        return nadir_fail(self->context, NADIR_ERROR_ARGUMENT, "the size of the robust settings is not set");
    }
    if (!(self->settings.tolerance > 0) || !isfinite(target)) {
        return nadir_fail(self->context, NADIR_ERROR_ARGUMENT,
                          "the tolerance is %g and the target %g; expected more than 0, and a number",
                          self->settings.tolerance, target);
    }
    const char *name = self->settings.method;
    const nadir_method *method = name != NULL ? nadir_method_find(name) : NULL;
    if (name != NULL && (method == NULL || method->evaluate != NULL)) {
        return nadir_fail(self->context, NADIR_ERROR_ARGUMENT,
                          "there is no method %s; expected auto, newton, bisect or best-response", name);
    }
    self->certify = self->settings.certify;
    self->tolerance = fmax(self->settings.tolerance, 64 * DBL_EPSILON);
    self->sign = self->settings.optimistic ? -1 : 1;
    self->target = self->sign * target;
    return NADIR_OK;
}

nadir_status nadir_solver_radius(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                                 const nadir_robust_settings *settings, double target, nadir_radius *result)
{
    nadir_status status = NADIR_OK;
    static const double one = 1;
    nadir_uncertainty set = {0};
    nadir_ball use;
    inverse run = {.context = context, .solver = solver, .ball = &use, .high = INFINITY, .converged = true};
    nadir_ball_default(&use);
    NADIR_CHECK(nadir_model_check_one_process(context, solver->model, "the largest radius for a target"));
    NADIR_CHECK(settle(&run, settings, target));
    if (ball != NULL && !nadir_settings_copy(&use, sizeof use, ball)) {
        status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the ball is not set");
        goto cleanup;
    }
    if (use.radius == NULL && solver->model->radius == NULL) {
        use.radius = &one;
        use.radius_count = 1;
    }
    NADIR_CHECK(nadir_uncertainty_make(context, solver->model, solver->policy, &use, &set));
    NADIR_CHECK(nadir_solver_solve(context, solver));
    const double nominal = nadir_landing_return(solver->model, solver->value.J);
    run.unit = set.idle ? 1 : set.radius; /* idle: nothing moves, whatever the factor */
    run.whole = set.idle ? 0 : whole_domain(solver->model, &set);
    run.made = (nadir_radius){.size = sizeof run.made,
                              .target = target,
                              .nominal_return = nominal,
                              .set = set.asked,
                              .domain = set.asked_domain,
                              .norm = nadir_uncertainty_norm(&set),
                              .breakdown_radius = NAN};
    const double need = run.sign * nominal - run.target;
    if (need < 0) {
        status = nadir_fail(context, NADIR_ERROR_ILL_POSED,
                            "the target is %g, but the nominal kernel alone returns %.6g: no ball meets it",
                            target, nominal);
        goto cleanup;
    }
    NADIR_CHECK(answer(&run, need));
    if (!nadir_result_copy(result, &run.made, sizeof run.made)) {
        status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the radius result is not set");
    } else if (!run.converged || run.stop == NADIR_STOP_ITERATIONS) {
        status =
            nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                       "the radius was not found to the tolerance of %g; the best so far is reported, with "
                       "bounds that hold for it",
                       run.tolerance);
    }
cleanup:
    nadir_uncertainty_clear(context, &set);
    return status;
}

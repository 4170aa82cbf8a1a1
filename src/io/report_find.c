/*
 * report_find.c: what a page about one problem shows; see report.h.
 *
 * The marked radius comes first, then rectangular sets, then the curves, then the best policies of the other radii.
 * Each step has a share of the time; what it cannot do by then is left out.
 */
#include "io/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* The radius where nobody names one, and the number of radii. */
#define EXAMPLE_RADIUS 0.1
enum { RADII = 11, RADII_LIMIT = 101 };

/* The caller's progress function, and when the step at hand ends. */
typedef struct clockwork {
    nadir_progress_function inner;
    void *user;
    double end;         /* of the whole */
    double until;       /* of the step */
    double first, last; /* its part of the bar */
    bool late;          /* it was stopped */
} clockwork;

static int watch(void *user, const char *task, double share)
{
    clockwork *self = user;
    const double done = self->first + (share > 0 ? fmin(share, 1) : 0) * (self->last - self->first);
    if (self->inner != NULL && self->inner(self->user, task, done) != 0) {
        return 1;
    }
    self->late = nadir_clock_seconds() >= self->until;
    return self->late;
}

/* The next step may use this share of the time that is left. */
static void start_step(clockwork *self, double share)
{
    const double now = nadir_clock_seconds();
    self->first = self->last;
    self->last = self->first + share * (1 - self->first);
    self->until = share < 1 ? now + share * fmax(self->end - now, 0) : self->end;
    self->late = false;
}

static void leave_out(nadir_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void leave_out(nadir_report *report, const char *format, ...)
{
    if (report->missing_count < NADIR_REPORT_MISSING) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(report->missing[report->missing_count++], sizeof report->missing[0], format,
                        arguments);
        va_end(arguments);
    }
}

/* Whether a step has its answer, or at least a partial one. One without is told and left out: the status is then
 * NADIR_OK, and the result false. */
static bool settle(nadir_report *report, const clockwork *time, const char *stop_reason, const char *what,
                   nadir_status *status)
{
    const bool late = *status == NADIR_ERROR_INTERRUPTED && time->late;
    if (*status == NADIR_OK || (*status == NADIR_ERROR_NOT_CONVERGED && stop_reason != NULL)) {
        *status = NADIR_OK;
        return true;
    }
    if (late || *status == NADIR_ERROR_ILL_POSED || *status == NADIR_ERROR_UNSUPPORTED ||
        *status == NADIR_ERROR_NOT_CONVERGED) {
        report->time_ran_out = report->time_ran_out || late;
        leave_out(report, "%s: %.90s", what, late ? "the time was up" : nadir_context_error(report->context));
        *status = NADIR_OK;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------ question */

/* All radii of the ball, as they compare with each other, with this one as their largest. */
static void set_radius(nadir_report *report, double radius)
{
    double largest = 0;
    for (int64_t i = 0; i < report->ball.radius_count; i++) {
        largest = fmax(largest, report->shape[i]);
    }
    for (int64_t i = 0; i < report->ball.radius_count; i++) {
        report->radius[i] = largest > 0 ? report->shape[i] / largest * radius : radius;
    }
}

/* The radii of the curve, and the marked one among them. */
static nadir_status make_points(nadir_report *report, double mark)
{
    nadir_status status = NADIR_OK;
    nadir_report_settings *settings = &report->settings;
    if (settings->radii_count == 0) {
        settings->radii_count = mark > 0 ? RADII : 1;
        settings->radii_first = 0;
        settings->radii_last = 2 * mark;
    }
    const int64_t count = settings->radii_count;
    const double first = settings->radii_first;
    const double last = settings->radii_last;
    NADIR_NEW_ZERO(report->context, report->points, count + 1);
    report->mark = -1;
    for (int64_t i = 0; i < count; i++) {
        const double share = count > 1 ? (double)i / (double)(count - 1) : 1;
        const double step = i == count - 1 ? last : first + share * (last - first);
        const bool marked = fabs(step - mark) <= 1e-9 * mark;
        if (report->mark < 0 && (marked || step > mark)) {
            report->mark = report->count;
        }
        if (report->mark == report->count && !marked) {
            report->points[report->count++] = (nadir_report_point){.radius = mark, .step = NAN};
        }
        report->points[report->count++] = (nadir_report_point){.radius = marked ? mark : step, .step = step};
    }
    if (report->mark < 0) {
        report->mark = report->count;
        report->points[report->count++] = (nadir_report_point){.radius = mark, .step = NAN};
    }
    for (int64_t i = 0; i < report->count; i++) {
        nadir_report_point *point = &report->points[i];
        point->policy.robust.size = point->best.robust.size = point->kept.size = sizeof(nadir_robust);
        point->optimum.size = sizeof point->optimum;
    }
cleanup:
    return status;
}

nadir_domain nadir_report_usual_domain(const nadir_report *report)
{
    return report->view.lower != NULL ? NADIR_DOMAIN_BOX : NADIR_DOMAIN_SIMPLEX;
}

static nadir_status prepare(nadir_report *report)
{
    nadir_status status = NADIR_OK;
    nadir_model_data_default(&report->view);
    nadir_model_view(report->model, &report->view);
    nadir_ball *ball = &report->ball;
    const nadir_report_settings *settings = &report->settings;
    if (settings->radii_count < 0 || settings->radii_count > RADII_LIMIT ||
        (settings->radii_count > 0 &&
         !(settings->radii_first >= 0 && settings->radii_last >= settings->radii_first &&
           isfinite(settings->radii_last))) ||
        !(settings->time_limit >= 0)) {
        return nadir_fail(report->context, NADIR_ERROR_ARGUMENT,
                          "a report has at most %d radii, rising and finite, and a time of 0 or more",
                          RADII_LIMIT);
    }
    report->own = EXAMPLE_RADIUS;
    report->example = ball->radius == NULL && report->view.radius_count == 0;
    report->shape = ball->radius != NULL ? ball->radius
                    : report->example    ? &report->own
                                         : report->view.radius;
    ball->radius_count = ball->radius != NULL ? ball->radius_count
                         : report->example    ? 1
                                              : report->view.radius_count;
    double mark = 0;
    for (int64_t i = 0; i < ball->radius_count; i++) {
        mark = fmax(mark, report->shape[i]);
    }
    NADIR_NEW(report->context, report->radius, ball->radius_count);
    ball->radius = report->radius;
    ball->set = ball->set != NADIR_SET_UNSAID ? ball->set : report->view.set;
    ball->set = ball->set != NADIR_SET_UNSAID ? ball->set : NADIR_SET_NONRECT;
    ball->domain = ball->domain != NADIR_DOMAIN_UNSAID ? ball->domain : report->view.domain;
    ball->domain = ball->domain != NADIR_DOMAIN_UNSAID ? ball->domain : nadir_report_usual_domain(report);
    ball->norm = !isnan(ball->norm) ? ball->norm : !isnan(report->view.norm) ? report->view.norm : 2;
    ball->scales = ball->scales != NULL ? ball->scales : report->view.scales;
    set_radius(report, mark);
    for (int i = 0; i < 6; i++) {
        report->sets[i / 3][i % 3].size = sizeof(nadir_robust);
    }
    NADIR_CHECK(make_points(report, mark));
cleanup:
    return status;
}

/* -------------------------------------------------------------------------------------------- answers */

static nadir_status explain(nadir_report *report, const nadir_worst *worst, nadir_report_case *into)
{
    double penalty;
    for (int i = 0; i < NADIR_REPORT_ATTACKS; i++) {
        into->attacks[i].size = sizeof into->attacks[i];
    }
    return nadir_worst_explain(report->context, worst, NADIR_REPORT_ATTACKS, into->attacks, &into->listed,
                               &into->changed, &penalty);
}

/* The worst case over the ball at hand, with who does the damage. */
static nadir_status evaluate(nadir_report *report, nadir_solver *solver, nadir_certify certify,
                             nadir_robust *robust, nadir_report_case *into)
{
    nadir_worst *worst = NULL;
    nadir_robust_settings settings;
    nadir_robust_settings_default(&settings);
    settings.certify = certify;
    nadir_status status = nadir_solver_robust(report->context, solver, &report->ball, &settings, robust,
                                              into != NULL ? &worst : NULL);
    if (worst != NULL && (status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED)) {
        const nadir_status explained = explain(report, worst, into);
        status = explained != NADIR_OK ? explained : status;
    }
    nadir_worst_free(worst);
    return status;
}

/* The policy against the marked ball: searched, which is quick, then proven. */
static nadir_status find_policy(nadir_report *report, clockwork *time, nadir_solver *solver)
{
    nadir_status status = NADIR_OK;
    nadir_report_case *into = &report->points[report->mark].policy;
    nadir_report_case proven = {.robust.size = sizeof proven.robust};
    start_step(time, 0.6);
    status = evaluate(report, solver, NADIR_CERTIFY_OFF, &into->robust, into);
    if (status == NADIR_ERROR_INTERRUPTED && time->late && into->robust.stop_reason != NULL) {
        report->time_ran_out = true;
        leave_out(report, "who does the damage: the time was up");
        status = NADIR_OK;
    }
    if (status == NADIR_ERROR_ILL_POSED ||
        !settle(report, time, into->robust.stop_reason, "the worst case", &status)) {
        return status;
    }
    start_step(time, 0.4);
    status = evaluate(report, solver, NADIR_CERTIFY_AUTO, &proven.robust, &proven);
    if (settle(report, time, proven.robust.stop_reason, "a proof of the worst case", &status)) {
        *into = proven;
    }
    return status;
}

/* The best policy of one radius. */
static nadir_status find_best(nadir_report *report, clockwork *time, nadir_report_point *point)
{
    nadir_worst *worst = NULL;
    nadir_robust_optimum_settings settings;
    char what[80];
    nadir_robust_optimum_settings_default(&settings);
    settings.time_limit = fmax(time->until - nadir_clock_seconds(), 0);
    set_radius(report, point->radius);
    nadir_status status =
        nadir_robust_optimum(report->context, report->model, &report->ball, &settings, &point->best_policy,
                             &point->optimum, &point->best.robust, &worst);
    if (status == NADIR_ERROR_NOT_CONVERGED && point->optimum.stop_reason != NULL &&
        strcmp(point->optimum.stop_reason, "time") == 0) {
        report->time_ran_out = true;
        leave_out(report, "a better policy at radius %.3g: the time was up, this is the best so far",
                  point->radius);
    }
    (void)snprintf(what, sizeof what, "the best policy at radius %.3g", point->radius);
    const bool known = settle(report, time, point->best.robust.stop_reason, what, &status);
    if (known && worst != NULL) {
        status = explain(report, worst, &point->best);
        (void)settle(report, time, NULL, "who harms the best policy", &status);
    }
    if (!known) { /* what an interrupted search leaves is not shown */
        nadir_policy_free(point->best_policy);
        point->best_policy = NULL;
        point->best.robust.stop_reason = NULL;
    }
    nadir_worst_free(worst);
    return status;
}

/* Both policies against the sets that were not asked for. */
static nadir_status find_sets(nadir_report *report, clockwork *time, nadir_solver *const solvers[2])
{
    nadir_status status = NADIR_OK;
    const nadir_ball asked = report->ball;
    const nadir_report_point *mark = &report->points[report->mark];
    report->sets[0][asked.set - NADIR_SET_NONRECT] = mark->policy.robust;
    report->sets[1][asked.set - NADIR_SET_NONRECT] = mark->best.robust;
    if (asked.radius_count > 1 || report->settings.data != NULL) {
        return NADIR_OK; /* radii of states or rows fit one set; data have radii for each */
    }
    start_step(time, 0.3);
    set_radius(report, mark->radius);
    for (int i = 0; i < 6 && status == NADIR_OK; i++) {
        nadir_robust *into = &report->sets[i / 3][i % 3];
        report->ball.set = (nadir_set)(NADIR_SET_NONRECT + i % 3);
        if (report->ball.set != asked.set && solvers[i / 3] != NULL) {
            char what[80];
            (void)snprintf(what, sizeof what, "the set %s", nadir_set_name(report->ball.set));
            status = evaluate(report, solvers[i / 3], NADIR_CERTIFY_AUTO, into, NULL);
            if (!settle(report, time, into->stop_reason, what, &status)) {
                into->stop_reason = NULL;
            }
        }
    }
    report->ball.set = asked.set;
    return status;
}

/* The curve of one policy, as nadir sweep finds it; results: [count], of the points in order. */
static nadir_status follow(nadir_report *report, clockwork *time, nadir_solver *solver, const char *what,
                           nadir_robust *results)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = report->context;
    double *factors = NULL;
    nadir_robust *found = NULL;
    int64_t count = 0;
    int64_t known = 0;
    const double last = report->settings.radii_last;
    nadir_robust_settings settings;
    nadir_robust_settings_default(&settings);
    NADIR_NEW(context, factors, report->count);
    NADIR_NEW_ZERO(context, found, report->count);
    for (int64_t i = 0; i < report->count; i++) {
        results[i] = (nadir_robust){.size = sizeof results[i]};
        found[i] = results[i];
        if (!isnan(report->points[i].step)) {
            factors[count++] = last > 0 ? report->points[i].step / last : 1;
        }
    }
    set_radius(report, last);
    status = nadir_solver_robust_many(context, solver, &report->ball, &settings, count, factors, found);
    while (known < count && found[known].stop_reason != NULL && !isnan(found[known].robust_return)) {
        known++;
    }
    if (status == NADIR_ERROR_ILL_POSED && known == 0) { /* a large radius without an answer fails all */
        for (status = NADIR_OK; status == NADIR_OK && known < count; known += status == NADIR_OK) {
            set_radius(report, factors[known] * last);
            status = evaluate(report, solver, NADIR_CERTIFY_AUTO, &found[known], NULL);
        }
        status = status == NADIR_ERROR_ILL_POSED ? NADIR_OK : status;
    }
    if (settle(report, time, "", what, &status) && known < count) {
        leave_out(report, "%s: no finite answer from radius %.3g on", what, factors[known] * last);
    }
    for (int64_t i = 0, at = 0; i < report->count; i++) {
        if (!isnan(report->points[i].step) && at++ < known) {
            results[i] = found[at - 1];
            results[i].radius = report->points[i].radius;
        }
    }
cleanup:
    NADIR_RELEASE(context, factors, found);
    return status;
}

/* Who does the damage at one radius; and a proof, as nadir evaluate finds it, where the sweep found none. */
static nadir_status look_closer(nadir_report *report, clockwork *time, nadir_solver *const solvers[2],
                                nadir_report_point *point)
{
    nadir_status status = NADIR_OK;
    set_radius(report, point->radius);
    for (int which = 0; which < 2 && status == NADIR_OK; which++) {
        nadir_robust *known = which == 0 ? &point->policy.robust : &point->kept;
        nadir_robust found = {.size = sizeof found};
        if (known->stop_reason == NULL || (which == 1 && known->certified)) {
            continue;
        }
        status = evaluate(report, solvers[which], known->certified ? NADIR_CERTIFY_OFF : NADIR_CERTIFY_AUTO,
                          &found, which == 0 ? &point->policy : NULL);
        if (settle(report, time, found.stop_reason, "who does the damage, and proofs, at all radii",
                   &status) &&
            found.certified) {
            *known = found;
        }
    }
    return status;
}

/* The worst returns of both policies at all radii, and how the adversary strikes the first. */
static nadir_status find_curves(nadir_report *report, clockwork *time, nadir_solver *const solvers[2])
{
    nadir_status status = NADIR_OK;
    nadir_robust *results = NULL;
    NADIR_NEW(report->context, results, report->count);
    start_step(time, 0.5);
    NADIR_CHECK(follow(report, time, solvers[0], "the curve of the policy", results));
    for (int64_t i = 0; i < report->count; i++) {
        if (i != report->mark) {
            report->points[i].policy.robust = results[i];
        }
    }
    if (solvers[1] != NULL) {
        start_step(time, 0.5);
        NADIR_CHECK(follow(report, time, solvers[1], "the curve of the best policy", results));
        for (int64_t i = 0; i < report->count; i++) {
            report->points[i].kept = i == report->mark ? report->points[i].best.robust : results[i];
        }
    }
    start_step(time, 0.5);
    for (int64_t i = 0; i < report->count && !time->late; i++) {
        if (i != report->mark && report->points[i].radius > 0) {
            NADIR_CHECK(look_closer(report, time, solvers, &report->points[i]));
        }
    }
cleanup:
    nadir_release(report->context, results);
    return status;
}

/* Of the nominal process: its return, and where it is. */
static nadir_status find_nominal(nadir_report *report, nadir_solver *solver)
{
    nadir_status status = NADIR_OK;
    const int64_t n = report->view.states;
    double sum = 0;
    report->nominal.size = sizeof report->nominal;
    NADIR_NEW(report->context, report->visits, n);
    NADIR_CHECK(nadir_solver_nominal(report->context, solver, &report->nominal));
    NADIR_CHECK(nadir_solver_occupancy(report->context, solver, report->visits));
    for (int64_t s = 0; s < n; s++) {
        sum += report->visits[s];
    }
    for (int64_t s = 0; s < n; s++) {
        report->visits[s] /= sum > 0 ? sum : 1;
    }
cleanup:
    return status;
}

static nadir_status find_all(nadir_report *report, clockwork *time)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = report->context;
    nadir_solver *solvers[2] = {NULL, NULL};
    report->policy = report->settings.policy;
    if (report->policy == NULL) {
        report->optimum.size = sizeof report->optimum;
        NADIR_CHECK(nadir_optimum(context, report->model, NULL, &report->made, &report->optimum));
        report->policy = report->made;
    }
    NADIR_CHECK(nadir_solver_create(context, report->model, report->policy, NULL, &solvers[0]));
    NADIR_CHECK(find_nominal(report, solvers[0]));
    NADIR_CHECK(find_policy(report, time, solvers[0]));
    nadir_report_point *mark = &report->points[report->mark];
    start_step(time, 0.4);
    NADIR_CHECK(find_best(report, time, mark));
    if (mark->best_policy != NULL) {
        NADIR_CHECK(nadir_solver_create(context, report->model, mark->best_policy, NULL, &solvers[1]));
    }
    NADIR_CHECK(find_sets(report, time, solvers));
    NADIR_CHECK(find_curves(report, time, solvers));
    for (int64_t i = 0; i < report->count && mark->best_policy != NULL; i++) {
        if (i == report->mark || report->points[i].policy.robust.stop_reason == NULL) {
            continue;
        }
        start_step(time, 1 / (double)(report->count - i));
        time->until = time->end;
        NADIR_CHECK(find_best(report, time, &report->points[i]));
        if (report->points[i].best_policy == NULL && time->late) {
            leave_out(report, "the best policies of larger radii: the time was up");
            break;
        }
    }
cleanup:
    nadir_solver_free(solvers[0]);
    nadir_solver_free(solvers[1]);
    return status;
}

nadir_status nadir_report_find(nadir_report *report)
{
    nadir_context *context = report->context;
    NADIR_TRY(prepare(report));
    clockwork time = {.inner = context->progress,
                      .user = context->progress_user,
                      .end = nadir_clock_seconds() + report->settings.time_limit,
                      .until = INFINITY};
    context->progress = watch;
    context->progress_user = &time;
    const nadir_status status = find_all(report, &time);
    context->progress = time.inner;
    context->progress_user = time.user;
    return status;
}

void nadir_report_clear(nadir_report *report)
{
    for (int64_t i = 0; i < report->count; i++) {
        nadir_policy_free(report->points[i].best_policy);
    }
    nadir_policy_free(report->made);
    NADIR_RELEASE(report->context, report->points, report->radius, report->visits);
}

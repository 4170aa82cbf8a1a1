/*
 * optimize_frontier.c: robust policies of growing radius; see optimize.h.
 *
 * Each search starts from the policy of the radius before. The nominal optimum, which is the robust policy of
 * radius 0, is evaluated at all radii at once.
 */
#include "optimize.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Radii where none are named: as many, from 0 to that of the ball. */
enum { RADII = 11 };

/* What all searches share. */
typedef struct search {
    cli_run *run;
    nadir_model *model;
    nadir_ball ball;     /* with `radius` below */
    const double *shape; /* [ball.radius_count] radii as they were asked for */
    double largest;      /* of those */
    double *radius;      /* [ball.radius_count] owned: of the ball at hand */
    nadir_robust_optimum_settings settings;
    cli_watch watch;
    nadir_policy *policy; /* owned: of the radius before; NULL: none */
    double deadline;      /* cli_clock */
} search;

/* All radii of the ball, as they compare with each other, with this one as their largest. */
static void set_radius(search *self, double radius)
{
    for (int64_t i = 0; i < self->ball.radius_count; i++) {
        self->radius[i] = self->largest > 0 ? self->shape[i] / self->largest * radius : radius;
    }
}

static nadir_status open_search(search *self, const nadir_ball *ball)
{
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(self->model, &view);
    self->ball = *ball;
    self->shape = ball->radius != NULL ? ball->radius : view.radius;
    self->ball.radius_count = ball->radius != NULL ? ball->radius_count : view.radius_count;
    self->radius = calloc((size_t)self->ball.radius_count, sizeof *self->radius);
    self->ball.radius = self->radius;
    return self->radius != NULL ? NADIR_OK : NADIR_ERROR_MEMORY;
}

nadir_status cli_optimum_returns(cli_run *run, nadir_model *model, const nadir_ball *ball,
                                 const char *backend, int64_t count, const double *factors, double *returns)
{
    nadir_context *context = run->context;
    nadir_robust_settings settings;
    nadir_solver_settings solving;
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    nadir_robust_settings_default(&settings);
    settings.certify = NADIR_CERTIFY_OFF;
    nadir_solver_settings_default(&solving);
    solving.backend = backend;
    nadir_robust *results = calloc((size_t)count, sizeof *results);
    nadir_status status = results != NULL ? NADIR_OK : NADIR_ERROR_MEMORY;
    for (int64_t i = 0; status == NADIR_OK && i < count; i++) {
        results[i] = (nadir_robust){.size = sizeof results[i], .robust_return = NAN};
    }
    if (status == NADIR_OK) {
        status = cli_policy_get(run, model, "optimal", backend, &policy);
    }
    if (status == NADIR_OK) {
        status = nadir_solver_create(context, model, policy, &solving, &solver);
    }
    if (status == NADIR_OK) {
        status = nadir_solver_robust_many(context, solver, ball, &settings, count, factors, results);
    }
    if (status == NADIR_ERROR_NOT_CONVERGED || status == NADIR_ERROR_ILL_POSED) {
        status = NADIR_OK; /* no proof needed; breakdown is an error */
    }
    for (int64_t i = 0; status == NADIR_OK && i < count; i++) {
        returns[i] = results[i].stop_reason != NULL ? results[i].robust_return : NAN;
    }
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    free(results);
    return status;
}

/* The nominal optimum at all radii. */
static nadir_status follow_optimum(search *self, cli_frontier *frontier)
{
    const cli_radii *radii = &frontier->radii;
    double *factors = calloc((size_t)radii->count, sizeof *factors);
    double *returns = calloc((size_t)radii->count, sizeof *returns);
    nadir_status status = factors != NULL && returns != NULL ? NADIR_OK : NADIR_ERROR_MEMORY;
    for (int64_t i = 0; status == NADIR_OK && i < radii->count; i++) {
        factors[i] = radii->last > 0 ? cli_radii_get(radii, i) / radii->last : 1;
    }
    set_radius(self, radii->last);
    if (status == NADIR_OK) {
        status = cli_optimum_returns(self->run, self->model, &self->ball, self->settings.backend,
                                     radii->count, factors, returns);
    }
    for (int64_t i = 0; status == NADIR_OK && i < radii->count; i++) {
        frontier->points[i].optimum_robust_return = returns[i];
    }
    free(factors);
    free(returns);
    return status;
}

static void keep(const nadir_robust_optimum_result *result, double radius, cli_frontier_point *point)
{
    point->radius = radius;
    point->nominal_return = result->nominal_return;
    point->robust_return = result->robust_return;
    point->lower_bound = result->lower_bound;
    point->optimality_upper_bound = result->optimality_upper_bound;
    point->certified = result->certified;
    point->evaluations = result->evaluations;
}

/* The robust policy of one radius, found from that of the radius before. point->radius: NaN if there is none.
 */
static nadir_status find_point(search *self, double radius, cli_frontier_point *point)
{
    nadir_robust_optimum_result result = {.size = sizeof result};
    nadir_policy *policy = NULL;
    point->radius = NAN;
    self->settings.time_limit = self->deadline - cli_clock();
    if (self->settings.time_limit <= 0) {
        return NADIR_ERROR_NOT_CONVERGED;
    }
    self->watch.time_limit = self->settings.time_limit;
    self->settings.start = self->policy;
    set_radius(self, radius);
    const nadir_status status = nadir_robust_optimum(self->run->context, self->model, &self->ball,
                                                     &self->settings, &policy, &result, NULL, NULL);
    if (policy != NULL) {
        nadir_policy_free(self->policy);
        self->policy = policy;
        keep(&result, radius, point);
    }
    return status;
}

/* Warns which radii have no result, and why. */
static void warn_of_rest(const search *self, nadir_status status, const cli_frontier *frontier)
{
    const int64_t rest = frontier->radii.count - frontier->count;
    const char *reason = status == NADIR_ERROR_INTERRUPTED     ? "interrupted"
                         : status == NADIR_ERROR_NOT_CONVERGED ? "the time is up"
                                                               : nadir_context_error(self->run->context);
    cli_warn(self->run, "frontier: %" PRId64 " of %" PRId64 " radii, from %.3g on, are left out: %s", rest,
             frontier->radii.count, cli_radii_get(&frontier->radii, frontier->count), reason);
}

/* The radius of the command has its result already. */
static nadir_status find_points(search *self, const nadir_robust_optimum_result *result,
                                cli_frontier *frontier)
{
    const int64_t count = frontier->radii.count;
    nadir_status status = NADIR_OK;
    bool converged = true;
    while (frontier->count < count && status == NADIR_OK) {
        cli_frontier_point *point = &frontier->points[frontier->count];
        const double radius = cli_radii_get(&frontier->radii, frontier->count);
        (void)snprintf(self->watch.prefix, sizeof self->watch.prefix,
                       "radius %.3g (%" PRId64 " of %" PRId64 "): ", radius, frontier->count + 1, count);
        self->watch.first_gap = 0;
        self->watch.first = 0.2 + 0.8 * (double)frontier->count / (double)count; /* after the policy itself */
        self->watch.last = 0.2 + 0.8 * (double)(frontier->count + 1) / (double)count;
        if (radius == self->largest) {
            keep(result, radius, point);
        } else {
            status = find_point(self, radius, point);
        }
        if (status == NADIR_ERROR_NOT_CONVERGED && !isnan(point->radius)) { /* a partial result */
            converged = false;
            status = NADIR_OK;
        }
        frontier->count += status == NADIR_OK;
    }
    if (frontier->count < count) {
        warn_of_rest(self, status, frontier);
    }
    if (status == NADIR_ERROR_ILL_POSED && frontier->count > 0) { /* past breakdown, as in a sweep */
        status = NADIR_OK;
    }
    if (status == NADIR_ERROR_NOT_CONVERGED || (status == NADIR_OK && !converged)) {
        return cli_fail(self->run, NADIR_ERROR_NOT_CONVERGED,
                        "the limits were reached before the frontier was complete");
    }
    return status;
}

nadir_status cli_frontier_find(cli_run *run, nadir_model *model, const nadir_ball *ball,
                               const nadir_robust_optimum_settings *settings, const cli_watch *watch,
                               const nadir_robust_optimum_result *result, double radius,
                               cli_frontier *frontier)
{
    const double begun = cli_clock();
    search work = {.run = run,
                   .model = model,
                   .settings = *settings,
                   .watch = *watch,
                   .largest = radius,
                   .deadline = begun + settings->time_limit};
    work.settings.watch_user = &work.watch;
    work.settings.checkpoint = NULL;
    work.settings.resume = NULL;
    if (frontier->radii.count == 0) {
        frontier->radii = (cli_radii){radius > 0 ? 0 : radius, radius, radius > 0 ? RADII : 1};
    }
    frontier->nominal_optimum = result->nominal_optimum;
    frontier->points = calloc((size_t)frontier->radii.count, sizeof *frontier->points);
    nadir_status status = frontier->points != NULL ? open_search(&work, ball) : NADIR_ERROR_MEMORY;
    if (status == NADIR_OK) {
        status = follow_optimum(&work, frontier);
    }
    if (status == NADIR_OK) {
        status = find_points(&work, result, frontier);
    }
    frontier->seconds = cli_clock() - begun;
    nadir_policy_free(work.policy);
    free(work.radius);
    return status;
}

void cli_frontier_clear(cli_frontier *frontier)
{
    free(frontier->points);
    frontier->points = NULL;
}

void cli_frontier_text(const cli_run *run, const cli_frontier *frontier)
{
    const char *(*print)(double, char *) = run->verbose ? cli_number : cli_short;
    printf("  %-12s  %18s  %18s  %18s\n", "radius", "nominal return", "worst case", "nominal optimum's");
    for (int64_t i = 0; i < frontier->count; i++) {
        const cli_frontier_point *point = &frontier->points[i];
        char number[4][32];
        printf("  %-12s  %18s  %18s  %18s  %s\n", print(point->radius, number[3]),
               print(point->nominal_return, number[0]), print(point->robust_return, number[1]),
               isnan(point->optimum_robust_return) ? "breakdown"
                                                   : print(point->optimum_robust_return, number[2]),
               point->certified ? "proven" : "not proven");
    }
}

void cli_frontier_json(cli_json *json, const cli_frontier *frontier)
{
    cli_json_array(json, "frontier");
    for (int64_t i = 0; i < frontier->count; i++) {
        const cli_frontier_point *point = &frontier->points[i];
        cli_json_object(json, NULL);
        cli_json_double(json, "radius", point->radius);
        cli_json_double(json, "nominal_return", point->nominal_return);
        cli_json_double(json, "robust_return", point->robust_return);
        cli_json_double(json, "lower_bound", point->lower_bound);
        cli_json_double(json, "optimality_upper_bound", point->optimality_upper_bound);
        cli_json_bool(json, "certified", point->certified);
        cli_json_integer(json, "evaluations", point->evaluations);
        cli_json_double(json, "optimum_robust_return", point->optimum_robust_return);
        cli_json_object_end(json);
    }
    cli_json_array_end(json);
}

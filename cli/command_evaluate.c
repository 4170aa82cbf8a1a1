/* command_evaluate.c: nadir evaluate: what a policy is worth when the kernel may be any of a ball. */
#include "explain.h"
#include "files.h"
#include "gnuplot.h"
#include "horizon.h"
#include "input.h"
#include "robust.h"
#include "union.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char about[] =
    "The return of a policy when the kernel may be any of a ball around the nominal one: the worst kernel,\n"
    "what it does to the return, and bounds that nothing in the ball escapes. Radius 0 is the nominal "
    "kernel\n"
    "alone.\n"
    "\n"
    "robust_return is attained by the kernel found; the worst case lies between the bounds, whatever the\n"
    "rounding. It is certified when both bounds were made anew by other code than the search, and are\n"
    "closer than a millionth of the penalty.\n"
    "\n"
    "Several policies (--policy given again) are compared in a table, each with the worst kernel for it;\n"
    "--difference asks for the kernel that is worst for the return of the first less that of the second.\n"
    "\n"
    "Examples:\n"
    "  nadir evaluate model.npz --policy uniform --radius 0.1\n"
    "  nadir evaluate model.npz --policy new.csv --policy old.csv --radius 0.1 --difference\n"
    "  nadir evaluate model.npz --policy best.csv --radius 0.1 --domain support --kernel worst.npz\n"
    "  nadir evaluate model.npz --policy optimal --radius radii.csv --set sa --norm 1 --json\n"
    "  nadir evaluate model.npz --policy uniform --radius 0.1 --horizon 50 --discount 1";

typedef struct evaluate_report {
    cli_input input; /* its policy is the first */
    const char *kernel_path;
    const char *kernel_model_path;
    const char *witness_path;
    cli_explain explain;
    cli_explain most; /* of the damage: the first rows; empty: not known */
    double smaller;   /* a radius at which it is proven, where it is not; NaN: none is known */
    int64_t horizon;  /* -1: none */
    int count;        /* of policies */
    cli_evaluated evaluated[CLI_LIST_LENGTH];
    bool compares;               /* --difference */
    nadir_difference difference; /* stop_reason NULL: there is none */
    bool interrupted;            /* the bounds of the last policy are those so far */
    cli_union members;           /* of --union */
    nadir_reward_ball rewards;   /* of --reward-radius; a radius of NaN: not given */
} evaluate_report;

static void print_json(const cli_run *run, const nadir_model *model, const evaluate_report *report,
                       bool optimistic)
{
    const nadir_robust *robust = &report->evaluated[0].robust;
    cli_json json;
    cli_input_json_start(&json, &report->input);
    cli_robust_json(&json, robust);
    cli_json_bool(&json, "optimistic", optimistic);
    if (!isnan(report->rewards.radius)) {
        cli_json_double(&json, "reward_radius", report->rewards.radius);
        cli_json_norm(&json, "reward_norm", report->rewards.norm);
    }
    if (report->members.count > 0) {
        cli_union_json(&json, &report->members, report->input.model_path);
    }
    if (report->horizon > 0) {
        cli_json_integer(&json, "horizon", report->horizon);
    }
    cli_input_json(&json, &report->input);
    if (report->count > 1) {
        cli_policies_json(&json, report->count, report->evaluated);
    }
    if (report->difference.stop_reason != NULL) {
        cli_difference_json(&json, &report->difference);
    }
    cli_input_seconds(&json, &report->input, robust->seconds_nominal, robust->seconds_robust,
                      robust->seconds_certify);
    if (report->explain.wanted && report->explain.damages != NULL) {
        cli_explain_json(&json, model, &report->explain);
    }
    cli_json_close(run, &json);
}

static const char *explain_bounds(const nadir_robust *robust)
{
    if (robust->certified) {
        return robust->certificate[0] == 'r' ? "yes, by a proof that includes all rounding"
                                             : "yes, resting on converged iterations";
    }
    return isinf(robust->lower_bound) || isinf(robust->upper_bound) ? "no: nothing is known on one side"
                                                                    : "no: the bounds are apart";
}

/* All digits, bounds, method and times. */
static void print_details(const nadir_robust *robust, bool optimistic)
{
    char number[32];
    printf("  ball             %s, norm %s, domain %s, radius ", nadir_set_name(robust->set),
           cli_norm(robust->norm, number), nadir_domain_name(robust->domain));
    printf("%s\n", cli_number(robust->radius, number));
    printf("  nominal return   %s\n", cli_number(robust->nominal_return, number));
    printf("  %-16s %s\n", optimistic ? "best return" : "worst return",
           cli_number(robust->robust_return, number));
    printf("  lower bound      %s\n", cli_number(robust->lower_bound, number));
    printf("  upper bound      %s\n", cli_number(robust->upper_bound, number));
    printf("  certified        %s\n", explain_bounds(robust));
    if (!isnan(robust->breakdown_radius)) {
        printf("  breakdown        beyond radius %s\n", cli_number(robust->breakdown_radius, number));
    }
    if (!isnan(robust->duration)) {
        printf("  duration         %s", cli_number(robust->duration, number));
        printf("; no kernel of the ball lasts longer than %s\n", cli_number(robust->duration_bound, number));
    }
    if (!isnan(robust->trap_radius_low)) {
        printf("  trap             beyond radius %s", cli_number(robust->trap_radius_low, number));
        printf(", at %s or less some kernel never ends\n", cli_number(robust->trap_radius_high, number));
    }
    printf("  smallest entry   %s%s\n", cli_number(robust->kernel_minimum, number),
           robust->kernel_valid ? "" : ": no probability; see --domain");
    printf("  method           %s, %" PRId64 " iterations, %s; %s, %" PRId64 " solves\n", robust->method,
           robust->iterations, robust->stop_reason, robust->backend, robust->solves);
    printf("  seconds          nominal %.3g, robust %.3g, proof %.3g\n", robust->seconds_nominal,
           robust->seconds_robust, robust->seconds_certify);
}

/* A penalty below this share of the returns is rounding: nothing does it. */
#define NOISE 1e-11

static void print_text(const cli_run *run, const nadir_model *model, const evaluate_report *report,
                       const nadir_robust_settings *settings)
{
    const nadir_robust *robust = &report->evaluated[0].robust;
    char text[160];
    char number[32];
    cli_verdict_robust(robust, settings, report->smaller);
    if (fabs(robust->penalty) > NOISE * fmax(fabs(robust->nominal_return), fabs(robust->robust_return))) {
        cli_explain_most(model, &report->most);
    }
    cli_explain_assumed(model, &report->input.rewards, &report->most);
    cli_promise_text(&report->input.view, robust->radius, 1);
    const bool endless = robust->domain == NADIR_DOMAIN_FREE && !isnan(robust->duration); /* no optimize */
    if (!settings->optimistic && robust->penalty > 0 && !(report->horizon > 0) && !endless &&
        report->members.count == 0 && isnan(report->rewards.radius)) {
        cli_next(run, "optimize", report->input.model_path, true, "");
    }
    cli_block_line("policy", "%s", report->evaluated[0].policy);
    cli_input_start(&report->input);
    cli_block_line("ball", "%s",
                   cli_ball_words(robust->radius, robust->norm, robust->set, robust->domain, text));
    if (report->horizon > 0) {
        cli_block_line("horizon", "%" PRId64 " steps, one kernel for all of them", report->horizon);
    }
    cli_rewards_text(&report->input.rewards, robust->domain, "rewards   ");
    if (!robust->kernel_valid) {
        cli_block_line("kernel", "has negative entries, down to %s; --domain simplex allows none",
                       cli_short(robust->kernel_minimum, number));
    }
    if (!isnan(report->rewards.radius)) {
        char words[2][32];
        cli_block_line("rewards", "radius %s, norm %s, over pairs of a state and an action",
                       cli_short(report->rewards.radius, words[0]),
                       cli_short(report->rewards.norm, words[1]));
    }
    if (report->members.count > 0) {
        cli_union_text(&report->members, report->input.model_path);
    }
    if (run->verbose) {
        putchar('\n');
        print_details(robust, settings->optimistic);
    }
}

static nadir_status write_kernel_model(cli_run *run, const char *path, const nadir_worst *worst)
{
    nadir_model *model = NULL;
    nadir_status status = nadir_worst_model(run->context, worst, &model);
    if (status == NADIR_OK) {
        status = nadir_model_write(run->context, model, path, NULL);
    }
    nadir_model_free(model);
    return status;
}

static nadir_status write_files(cli_run *run, const evaluate_report *report, nadir_worst *worst)
{
    nadir_status status = cli_worst_write(
        run, worst, cli_union_member(&report->members, report->input.model_path, report->members.which),
        cli_policy_file(report->evaluated[0].policy), report->kernel_path, report->witness_path);
    if (status == NADIR_OK && report->kernel_model_path != NULL) {
        status = write_kernel_model(run, report->kernel_model_path, worst);
    }
    return status;
}

/* What can be told of the files to write before the work is done: endings that name no format, and files that
 * are needed otherwise. */
static nadir_status check_files(cli_run *run, const nadir_read_settings *reading, const cli_ball *ball,
                                const evaluate_report *report)
{
    cli_files files = {0};
    cli_files_read_model(&files, report->input.model_path, reading);
    for (int i = 0; i < report->count; i++) {
        cli_files_read(&files, cli_policy_file(report->evaluated[i].policy));
    }
    cli_files_read_ball(&files, ball);
    for (int i = 0; i < report->members.files.count; i++) {
        cli_files_read(&files, report->members.files.values[i]);
    }
    cli_files_write(&files, report->kernel_path);
    cli_files_write(&files, report->witness_path);
    cli_files_write(&files, report->kernel_model_path);
    cli_files_write(&files, report->explain.plot_path);
    nadir_status status = cli_files_check(run, &files);
    if (status == NADIR_OK) {
        status = cli_files_check_format(run, report->kernel_path);
    }
    if (status == NADIR_OK) {
        status = cli_files_check_format(run, report->kernel_model_path);
    }
    if (status == NADIR_OK) {
        status = cli_gnuplot_check(run, report->explain.plot_path);
    }
    return status;
}

/* A radius below that of the ball at which the worst case is proven, where it is quickly found. */
static double find_smaller(const cli_run *run, nadir_solver *solver, const nadir_ball *ball,
                           const nadir_robust_settings *settings, const evaluate_report *report)
{
    enum { STATES = 500, SOLVES = 10000, TRIES = 3 };
    const double factors[TRIES] = {0.125, 0.25, 0.5};
    nadir_robust tried[TRIES] = {{.size = sizeof *tried}, {.size = sizeof *tried}, {.size = sizeof *tried}};
    double found = NAN;
    const nadir_robust *robust = &report->evaluated[0].robust;
    if (run->json || report->count > 1 || robust->certified || settings->certify == NADIR_CERTIFY_OFF ||
        report->input.view.states > STATES || robust->solves > SOLVES ||
        nadir_solver_robust_many(run->context, solver, ball, settings, TRIES, factors, tried) != NADIR_OK) {
        return NAN;
    }
    for (int i = 0; i < TRIES; i++) {
        found = tried[i].certified ? tried[i].radius : found;
    }
    return found;
}

static nadir_status explain(cli_run *run, nadir_model *model, const nadir_worst *worst, const char *backend,
                            evaluate_report *report)
{
    nadir_status status = NADIR_OK;
    cli_explain *made = &report->explain;
    if ((report->count == 1 && cli_explain_names(run, &report->input)) &&
        cli_explain_get(run, worst, CLI_EXPLAIN_FIRST, &report->most) != NADIR_OK) {
        cli_explain_clear(&report->most); /* the verdict goes without */
    }
    if (made->wanted || made->plot_path != NULL) {
        status = cli_explain_get(run, worst, report->input.view.rows, made);
    }
    if (status == NADIR_OK && made->plot_path != NULL) {
        const cli_explain_view view = {model, report->input.model_path, report->evaluated[0].policy, backend,
                                       &report->evaluated[0].robust};
        status = cli_explain_draw(run, &view, made);
    }
    return status;
}

/* Whether there is a result to show, also a partial one. */
static bool answered(nadir_status status, const char *stop_reason)
{
    return status == NADIR_OK || (status == NADIR_ERROR_NOT_CONVERGED && stop_reason != NULL);
}

/* One policy over the steps of a horizon, and the file where it is the only one. */
static nadir_status solve_horizon(cli_run *run, nadir_model *model, const cli_setup *setup,
                                  const nadir_ball *ball, const evaluate_report *report, cli_evaluated *one)
{
    const double whole = 1;
    nadir_model *worst = NULL;
    nadir_status status =
        cli_horizon_robust(run, model, report->horizon, one->policy, one->digest, ball, &setup->robust, 1,
                           &whole, &one->robust, report->kernel_model_path != NULL ? &worst : NULL);
    if (worst != NULL && answered(status, one->robust.stop_reason)) {
        const nadir_status written = nadir_model_write(run->context, worst, report->kernel_model_path, NULL);
        status = status != NADIR_OK ? status : written;
    }
    nadir_model_free(worst);
    return status;
}

/* One policy, and the files where it is the only one. *solver: for further questions. */
static nadir_status solve_one(cli_run *run, nadir_model *model, const cli_setup *setup,
                              const nadir_ball *ball, evaluate_report *report, cli_evaluated *one,
                              nadir_solver **solver)
{
    const bool keep = (report->count == 1 && cli_explain_names(run, &report->input)) ||
                      (report->count == 1 && (report->kernel_path != NULL || report->witness_path != NULL ||
                                              report->kernel_model_path != NULL || report->explain.wanted ||
                                              report->explain.plot_path != NULL));
    nadir_worst *worst = NULL;
    const bool steps = report->horizon > 0;
    nadir_status status =
        steps ? solve_horizon(run, model, setup, ball, report, one)
              : cli_input_solver(run, model, one->policy, &setup->solver, one->digest, solver);
    if (status == NADIR_OK && !steps) {
        status = nadir_solver_robust(run->context, *solver, ball, &setup->robust, &one->robust,
                                     keep ? &worst : NULL);
    }
    if (status == NADIR_ERROR_INTERRUPTED && one->robust.stop_reason != NULL) { /* the bounds so far */
        cli_obey_interrupt();
        report->interrupted = true;
        (void)cli_fail(run, status, "%s", nadir_context_error(run->context));
        status = NADIR_OK;
    }
    if (worst != NULL && answered(status, one->robust.stop_reason)) {
        nadir_status written = write_files(run, report, worst);
        if (written == NADIR_OK) {
            written = explain(run, model, worst, setup->solver.backend, report);
        }
        status = status != NADIR_OK ? status : written;
    }
    if (status == NADIR_OK && !steps && !report->interrupted) {
        report->smaller = find_smaller(run, *solver, ball, &setup->robust, report);
    }
    if (report->count > 1 && status != NADIR_OK) {
        char reason[400];
        (void)snprintf(reason, sizeof reason, "%s", nadir_context_error(run->context));
        (void)cli_fail(run, status, "policy %s: %s", one->policy, reason);
    }
    nadir_worst_free(worst);
    return status;
}

/* The policy against each member, and the files of the worst. */
static nadir_status solve_union(cli_run *run, nadir_model *model, const cli_setup *setup,
                                evaluate_report *report)
{
    cli_evaluated *one = &report->evaluated[0];
    cli_union *members = &report->members;
    const bool keep =
        report->kernel_path != NULL || report->witness_path != NULL || report->kernel_model_path != NULL;
    nadir_policy *policy = NULL;
    nadir_worst *worst = NULL;
    nadir_status status = cli_union_read(run, &setup->reading, model, &setup->ball, members);
    if (status == NADIR_OK) {
        status = cli_input_policy(run, model, one->policy, setup->solver.backend, one->digest, &policy);
    }
    if (status == NADIR_OK) {
        status = nadir_union_robust(run->context, members->count, members->models, members->balls, policy,
                                    &setup->solver, &setup->robust, members->results, &one->robust,
                                    &members->which, keep ? &worst : NULL);
    }
    if (worst != NULL && answered(status, one->robust.stop_reason)) {
        const nadir_status written = write_files(run, report, worst);
        status = status != NADIR_OK ? status : written;
    }
    memcpy(report->input.policy_digest, one->digest, sizeof report->input.policy_digest);
    nadir_worst_free(worst);
    nadir_policy_free(policy);
    return status;
}

/* The policy against kernel and rewards. */
static nadir_status solve_rewards(cli_run *run, nadir_model *model, const cli_setup *setup,
                                  const nadir_ball *ball, evaluate_report *report)
{
    cli_evaluated *one = &report->evaluated[0];
    nadir_policy *policy = NULL;
    nadir_worst *worst = NULL;
    nadir_status status =
        cli_input_policy(run, model, one->policy, setup->solver.backend, one->digest, &policy);
    if (status == NADIR_OK) {
        status = nadir_rewards_robust(run->context, model, policy, ball, &report->rewards, &setup->solver,
                                      &setup->robust, &one->robust, NULL, &worst);
    }
    if (status == NADIR_OK && report->kernel_model_path != NULL) {
        status = write_kernel_model(run, report->kernel_model_path, worst);
    }
    memcpy(report->input.policy_digest, one->digest, sizeof report->input.policy_digest);
    nadir_worst_free(worst);
    nadir_policy_free(policy);
    return status;
}

static nadir_status solve_difference(cli_run *run, nadir_solver *const solvers[2], const nadir_ball *ball,
                                     const nadir_robust_settings *robust, evaluate_report *report)
{
    nadir_worst *worst = NULL;
    nadir_status status =
        nadir_solver_difference(run->context, solvers[0], solvers[1], ball, robust, &report->difference,
                                report->kernel_path != NULL || report->explain.wanted ? &worst : NULL);
    if (worst != NULL && answered(status, report->difference.stop_reason)) {
        nadir_status written = write_files(run, report, worst);
        if (written == NADIR_OK && report->explain.wanted) {
            report->explain.difference = true;
            written = cli_explain_get(run, worst, report->input.view.rows, &report->explain);
        }
        status = status != NADIR_OK ? status : written;
    }
    if (status != NADIR_OK) {
        (void)cli_fail(run, status, "%s", nadir_context_error(run->context));
    }
    nadir_worst_free(worst);
    return status;
}

/* All policies, one after another; the first failure that leaves something to show is told at the end. */
static nadir_status solve(cli_run *run, nadir_model *model, const cli_setup *setup, const nadir_ball *ball,
                          evaluate_report *report)
{
    nadir_solver *solvers[2] = {NULL, NULL};
    nadir_status told = NADIR_OK;
    nadir_status status = NADIR_OK;
    for (int i = 0; i < report->count && answered(status, "") && !report->interrupted; i++) {
        cli_evaluated *one = &report->evaluated[i];
        nadir_solver *solver = NULL;
        status = solve_one(run, model, setup, ball, report, one, &solver);
        told = told != NADIR_OK ? told : status;
        if (report->compares && i < 2) {
            solvers[i] = solver;
        } else {
            nadir_solver_free(solver);
        }
    }
    if (answered(status, "") && report->compares && !report->interrupted) {
        status = solve_difference(run, solvers, ball, &setup->robust, report);
    }
    nadir_solver_free(solvers[0]);
    nadir_solver_free(solvers[1]);
    memcpy(report->input.policy_digest, report->evaluated[0].digest, sizeof report->input.policy_digest);
    return status != NADIR_OK ? status : told;
}

static void print(cli_run *run, const nadir_model *model, const evaluate_report *report,
                  const nadir_robust_settings *settings)
{
    const bool optimistic = settings->optimistic;
    if (cli_starts_json(run)) {
        print_json(run, model, report, optimistic);
    } else if (report->count == 1) {
        print_text(run, model, report, settings);
    } else {
        cli_policies_text(run, report->count, report->evaluated, &report->input, settings,
                          !report->compares && !(report->horizon > 0));
    }
    if (!run->json && report->difference.stop_reason != NULL) {
        cli_difference_text(run, &report->difference, report->evaluated, optimistic);
    }
    if (!run->json && report->explain.wanted && report->explain.damages != NULL) {
        cli_explain_text(model, &report->explain);
    }
}

static nadir_status evaluate(cli_run *run, cli_setup *setup, evaluate_report *report)
{
    nadir_model *model = NULL;
    nadir_ball ball;
    nadir_read_settings reading = setup->reading;
    reading.total = !(report->horizon > 0);
    nadir_status status = cli_input_read(run, &reading, &report->input, &model);
    if (status == NADIR_OK) {
        status = cli_ball_get(run, model, &setup->ball, &ball);
    }
    if (status == NADIR_OK) {
        status = report->members.files.count > 0  ? solve_union(run, model, setup, report)
                 : !isnan(report->rewards.radius) ? solve_rewards(run, model, setup, &ball, report)
                                                  : solve(run, model, setup, &ball, report);
    }
    bool all = true;
    for (int i = 0; i < report->count; i++) {
        all = all && report->evaluated[i].robust.stop_reason != NULL;
    }
    if (all && answered(status, "")) { /* a partial result is shown */
        cli_input_end(&report->input);
        cli_input_warn(run, &report->input, report->evaluated[0].robust.domain);
        print(run, model, report, &setup->robust);
    }
    cli_explain_clear(&report->explain);
    cli_explain_clear(&report->most);
    cli_ball_clear(run, &setup->ball);
    cli_union_clear(run, &report->members);
    cli_input_close(&report->input, model);
    return status == NADIR_OK && report->interrupted ? NADIR_ERROR_INTERRUPTED : status;
}

/* The policies that were named; complains if there is something that is not for so many. */
static bool take_policies(const cli_run *run, const cli_list *policies, evaluate_report *report)
{
    const char *wrong = NULL;
    for (int i = 0; i < policies->count; i++) {
        report->evaluated[i] = (cli_evaluated){policies->values[i], "", {.size = sizeof(nadir_robust)}};
    }
    report->count = policies->count;
    report->input.policy_name = policies->values[0];
    if (report->compares && report->count != 2) {
        wrong = "--difference compares exactly two policies: give --policy twice";
    } else if (report->witness_path != NULL && report->count > 1) {
        wrong = "--witness is for one policy: evaluate them one after another";
    } else if (report->kernel_path != NULL && report->count > 1 && !report->compares) {
        wrong = "--kernel is for one policy, or for --difference: evaluate them one after another";
    }
    if (wrong == NULL && report->count > 1) {
        wrong = report->explain.wanted && !report->compares
                    ? "--explain is for one policy, or for --difference: evaluate them one after another"
                : report->explain.plot_path != NULL
                    ? "--explain-plot is for one policy: evaluate them one after another"
                : report->kernel_model_path != NULL
                    ? "--kernel-model is for one policy: evaluate them one after another"
                    : NULL;
    }
    return wrong == NULL || cli_wrong(run, wrong);
}

static bool check_horizon(const cli_run *run, const cli_setup *setup, const evaluate_report *report)
{
    static const char *const names[] = {
        "--difference",   "--kernel", "--witness", "--explain", "--explain-rows",
        "--explain-plot", "--method", "--backend", "--engine",  NULL};
    const bool used[] = {report->compares,
                         report->kernel_path != NULL,
                         report->witness_path != NULL,
                         report->explain.wanted,
                         report->explain.limit >= 0,
                         report->explain.plot_path != NULL,
                         setup->robust.method != NULL,
                         setup->solver.backend != NULL,
                         run->engine_name != NULL};
    return cli_horizon_check(run, report->horizon, names, used);
}

/* What is for one ball of kernels alone. */
static bool check_sets(const cli_run *run, const cli_setup *setup, const evaluate_report *report)
{
    static const char *const names[] = {"--difference",   "a second --policy", "--explain", "--explain-rows",
                                        "--explain-plot", "--horizon",         "--engine",  "--union",
                                        "--optimistic",   "--kernel",          "--witness", NULL};
    enum { OF_UNION = 7 };
    const bool rewards = !isnan(report->rewards.radius);
    if (!rewards && !isnan(report->rewards.norm)) {
        return cli_wrong(run, "--reward-norm is for --reward-radius");
    }
    bool used[] = {report->compares,
                   report->count > 1,
                   report->explain.wanted,
                   report->explain.limit >= 0,
                   report->explain.plot_path != NULL,
                   report->horizon >= 0,
                   run->engine_name != NULL,
                   report->members.files.count > 0,
                   setup->robust.optimistic,
                   report->kernel_path != NULL,
                   report->witness_path != NULL};
    char reason[200];
    for (int i = 0; rewards && names[i] != NULL; i++) {
        if (used[i]) {
            (void)snprintf(reason, sizeof reason, "--reward-radius and %s cannot both be given%s", names[i],
                           i > OF_UNION + 1 ? ": --kernel-model writes the kernel with its rewards" : "");
            return cli_wrong(run, reason);
        }
    }
    memset(used + OF_UNION, 0, sizeof used - OF_UNION * sizeof *used);
    return cli_union_check(run, &report->members, names, used);
}

static int evaluate_main(cli_run *run, int argc, char **argv)
{
    cli_setup setup = {0};
    cli_setup_default(&setup);
    cli_list policies = {0};
    evaluate_report report = {.difference.size = sizeof report.difference,
                              .explain.limit = -1,
                              .most.limit = 1,
                              .smaller = NAN,
                              .horizon = -1};
    nadir_reward_ball_default(&report.rewards);
    report.rewards.radius = NAN;
    report.rewards.norm = NAN;
    cli_methods methods;
    const cli_option own[] = {
        cli_policies_option(&policies),
        {"--difference", CLI_FLAG, NULL, NULL, &report.compares,
         "of two policies: the worst case, over the ball, of the return of the first\n"
         "less that of the second under the same kernel"},
        cli_horizon_option(&report.horizon),
        cli_union_option(&report.members),
        {"--reward-radius", CLI_NUMBER, "RHO", NULL, &report.rewards.radius,
         "how far rewards of pairs of a state and an action may be off as well, in the\n"
         "norm of all of them"},
        {"--explain", CLI_FLAG, NULL, NULL, &report.explain.wanted,
         "who does the damage: the rows that carry the most of the penalty, or of what\n"
         "--difference moves, how much probability moves in them, from where to where"},
        {"--explain-rows", CLI_INTEGER, "N", NULL, &report.explain.limit,
         "how many of them, at most (default: 10; with --json: all)"},
        {"--explain-plot", CLI_TEXT, "FILE", NULL, &report.explain.plot_path,
         "draw them, .svg or .png: bars, or a map where the states are cells of a\n"
         "grid (names r3c4)"},
        {"--kernel", CLI_TEXT, "FILE", NULL, &report.kernel_path,
         "write the kernel found: .npz, for nadir verify; other endings: as\n"
         "--kernel-model"},
        {"--kernel-model", CLI_TEXT, "FILE", NULL, &report.kernel_model_path,
         "write the whole model with the kernel found instead of its own, in the\n"
         "format that the ending names (nadir convert --help)"},
        {"--witness", CLI_TEXT, "FILE", NULL, &report.witness_path,
         "write the numbers that prove the bounds, as JSON"},
        {"--certify", CLI_CHOICE, NULL, "off|auto|strict", &setup.certify,
         "how much work the proof may cost: none, in proportion, or all there is,\n"
         "with the kernel factored anew and breakdown exactly (default: auto)"},
        {"--optimistic", CLI_FLAG, NULL, NULL, &setup.robust.optimistic,
         "the best case instead of the worst"},
        CLI_RARE,
        {"--reward-norm", CLI_NUMBER, "P", NULL, &report.rewards.norm,
         "the distance of rewards is the L_P norm, 1 to inf (default 2)"},
        cli_method_option(&methods, &setup.robust.method),
        {"--time", CLI_NUMBER, "SECONDS", NULL, &setup.robust.time_limit,
         "seconds that the proof may take with --certify strict; then, and at Ctrl-C,\n"
         "the best bounds so far stay (default 10; inf: until it is proven)"},
        {"--tolerance", CLI_NUMBER, "EPS", NULL, &setup.robust.tolerance,
         "of the robust return, relative to the penalty (default 1e-9)"},
        cli_backend_option(&setup.solver.backend),
        cli_engine_option(run),
        cli_engine_options_option(run),
        {0},
    };
    int exit;
    if (!cli_setup_parse(run, &cli_command_evaluate, argc, argv, own, about, &setup, &report.input, &exit)) {
        return exit;
    }
    report.explain.wanted = report.explain.wanted || report.explain.limit >= 0;
    if (!cli_needed(run, "--policy FILE|uniform|optimal", policies.count > 0) ||
        !take_policies(run, &policies, &report) || !check_horizon(run, &setup, &report) ||
        !check_sets(run, &setup, &report)) {
        return CLI_EXIT_USAGE;
    }
    report.most.optimistic = setup.robust.optimistic;
    report.explain.optimistic = setup.robust.optimistic;
    report.rewards.norm = isnan(report.rewards.norm) ? 2 : report.rewards.norm;
    nadir_status status = cli_open(run);
    if (status == NADIR_OK) {
        status = check_files(run, &setup.reading, &setup.ball, &report);
    }
    if (status == NADIR_OK) {
        status = evaluate(run, &setup, &report);
    }
    return cli_close(run, status);
}

const cli_command cli_command_evaluate = {
    .name = "evaluate",
    .arguments = "MODEL",
    .summary = "what a policy is worth in the worst case of a ball of kernels, with bounds",
    .main = evaluate_main,
};

/* command_radius.c: nadir radius: how large a ball may be before the worst case misses a target. */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char about[] =
    "The inverse question: the largest radius at which the worst return over the ball is still the target "
    "or\n"
    "more. Everything is as for nadir evaluate, but --radius: it is what is asked for, and only a file is\n"
    "taken, which says how the radii of states or rows compare.\n"
    "\n"
    "Every kernel of the ball of radius_lower meets the target, and some kernel of the ball of radius_upper\n"
    "misses it, both with proof. radius itself is where the return of the worst kernel found is the target.\n"
    "\n"
    "Examples:\n"
    "  nadir radius model.npz --policy uniform --target 500\n"
    "  nadir radius model.npz --policy best.csv --target 0.9 --set sa --norm 1 --json";

typedef struct radius_report {
    const char *model_path;
    const char *policy_name;
    bool optimistic;
    nadir_model_data view;
    nadir_radius radius;
    char model_digest[65];
    char policy_digest[65];
    double load_seconds;
    double total_seconds;
} radius_report;

/* What is to be said where there is no largest radius; NULL: there is one. */
static const char *explain_reason(const nadir_radius *radius)
{
    if (strcmp(radius->stop_reason, "domain") == 0) {
        return "no ball is large enough to miss the target";
    }
    return strcmp(radius->stop_reason, "breakdown") == 0 && isinf(radius->radius)
               ? "every ball below breakdown meets the target"
               : NULL;
}

static void print_json(const cli_run *run, const radius_report *report)
{
    const nadir_radius *radius = &report->radius;
    cli_json json;
    cli_json_start(&json, stdout);
    cli_json_text(&json, "model", report->model_path);
    cli_json_text(&json, "policy", report->policy_name);
    cli_json_double(&json, "target", radius->target);
    cli_json_double(&json, "radius", radius->radius);
    cli_json_double(&json, "radius_lower", radius->radius_lower);
    cli_json_double(&json, "radius_upper", radius->radius_upper);
    cli_json_text(&json, "explanation", explain_reason(radius));
    cli_json_bool(&json, "certified", radius->certified);
    cli_json_text(&json, "certificate", radius->certificate);
    cli_json_text(&json, "stop_reason", radius->stop_reason);
    cli_json_double(&json, "nominal_return", radius->nominal_return);
    cli_json_text(&json, "set", nadir_set_name(radius->set));
    if (isinf(radius->norm)) {
        cli_json_text(&json, "norm", "inf");
    } else {
        cli_json_double(&json, "norm", radius->norm);
    }
    cli_json_text(&json, "domain", nadir_domain_name(radius->domain));
    cli_json_bool(&json, "optimistic", report->optimistic);
    cli_json_double(&json, "breakdown_radius", radius->breakdown_radius);
    cli_json_double(&json, "valid_radius", radius->valid_radius);
    cli_json_integer(&json, "evaluations", radius->evaluations);
    cli_json_integer(&json, "solves", radius->solves);
    cli_json_text(&json, "backend", radius->backend);
    cli_json_integer(&json, "states", report->view.states);
    cli_json_integer(&json, "rows", report->view.rows);
    cli_json_integer(&json, "nonzeros", report->view.nonzeros);
    cli_json_double(&json, "discount", report->view.discount);
    cli_json_text(&json, "model_sha256", report->model_digest);
    cli_json_text(&json, "policy_sha256", report->policy_digest);
    cli_json_object(&json, "seconds");
    cli_json_double(&json, "load", report->load_seconds);
    cli_json_double(&json, "nominal", radius->seconds_nominal);
    cli_json_double(&json, "robust", radius->seconds_robust);
    cli_json_double(&json, "certify", radius->seconds_certify);
    cli_json_double(&json, "total", report->total_seconds);
    cli_json_object_end(&json);
    cli_json_warnings(run, &json);
    cli_json_end(&json);
}

static void print_text(const radius_report *report)
{
    const nadir_radius *radius = &report->radius;
    const char *reason = explain_reason(radius);
    char number[32];
    printf("%s, policy %s: the largest ball whose %s return is still %s\n", report->model_path,
           report->policy_name, report->optimistic ? "best" : "worst", cli_number(radius->target, number));
    printf("  ball             %s, norm %s, domain %s\n", nadir_set_name(radius->set),
           cli_number(radius->norm, number), nadir_domain_name(radius->domain));
    printf("  nominal return   %s\n", cli_number(radius->nominal_return, number));
    if (reason != NULL) {
        printf("  radius           none: %s\n", reason);
    } else {
        printf("  radius           %s\n", cli_number(radius->radius, number));
    }
    printf("  proven to hold   up to radius %s\n", cli_number(radius->radius_lower, number));
    if (isfinite(radius->radius_upper)) {
        printf("  proven to fail   at radius %s\n", cli_number(radius->radius_upper, number));
    }
    printf("  certified        %s\n", radius->certified ? "yes" : "no: the two are apart");
    if (!isnan(radius->breakdown_radius)) {
        printf("  breakdown        beyond radius %s\n", cli_number(radius->breakdown_radius, number));
    }
    printf("  evaluations      %" PRId64 ", %s\n", radius->evaluations, radius->stop_reason);
    printf("  seconds          nominal %.3g, robust %.3g, proof %.3g\n", radius->seconds_nominal,
           radius->seconds_robust, radius->seconds_certify);
}

static nadir_status solve(cli_run *run, nadir_model *model, const nadir_solver_settings *settings,
                          const nadir_ball *ball, const nadir_robust_settings *robust, double target,
                          radius_report *report)
{
    nadir_context *context = run->context;
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    nadir_status status = nadir_model_digest(context, model, report->model_digest);
    if (status == NADIR_OK) {
        status = cli_policy_get(run, model, report->policy_name, settings->backend, &policy);
    }
    if (status == NADIR_OK) {
        status = nadir_policy_digest(context, policy, report->policy_digest);
    }
    if (status == NADIR_OK) {
        status = nadir_solver_create(context, model, policy, settings, &solver);
    }
    if (status == NADIR_OK) {
        status = nadir_solver_radius(context, solver, ball, robust, target, &report->radius);
    }
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    return status;
}

/* A file with the shape of the radii, or nothing. */
static nadir_status check_radius(cli_run *run, cli_ball *asked)
{
    if (asked->radius_text == NULL) {
        asked->radius_text = "1";
        return NADIR_OK;
    }
    double number;
    return cli_options_number(asked->radius_text, &number)
               ? cli_fail(run, NADIR_ERROR_ARGUMENT,
                          "--radius: '%s' given, but the radius is what is asked for; expected a file with "
                          "the radii of states or rows, which are enlarged together, or nothing",
                          asked->radius_text)
               : NADIR_OK;
}

static nadir_status find(cli_run *run, const nadir_read_settings *reading,
                         const nadir_solver_settings *settings, cli_ball *asked,
                         const nadir_robust_settings *robust, double target, radius_report *report)
{
    const double begun = cli_clock();
    nadir_model *model = NULL;
    nadir_ball ball;
    nadir_status status = nadir_model_read(run->context, report->model_path, reading, &model);
    report->load_seconds = cli_clock() - begun;
    if (status == NADIR_OK) {
        nadir_model_view(model, &report->view);
        status = cli_ball_get(run, model, asked, &ball);
    }
    if (status == NADIR_OK) {
        status = solve(run, model, settings, &ball, robust, target, report);
    }
    if (status == NADIR_OK || report->radius.stop_reason != NULL) { /* the best so far is shown, too */
        report->total_seconds = cli_clock() - begun;
        cli_progress_clear(run);
        if (run->json) {
            print_json(run, report);
            run->answered = true;
        } else {
            print_text(report);
        }
    }
    cli_ball_clear(run, asked);
    nadir_model_free(model);
    return status;
}

static int radius_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS];
    nadir_read_settings reading;
    nadir_solver_settings settings;
    nadir_robust_settings robust;
    nadir_read_settings_default(&reading);
    nadir_solver_settings_default(&settings);
    nadir_robust_settings_default(&robust);
    int backend = 0;
    int certify = NADIR_CERTIFY_AUTO;
    double target = NAN;
    cli_ball ball;
    radius_report report = {.radius.size = sizeof report.radius};
    nadir_model_data_default(&report.view);
    const cli_option own[] = {
        cli_policy_option(&report.policy_name),
        {"--target", CLI_NUMBER, "J", NULL, &target, "the return that is still to be met"},
        {"--optimistic", CLI_FLAG, NULL, NULL, &robust.optimistic,
         "the largest radius whose best return is still the target or less"},
        {"--certify", CLI_CHOICE, NULL, "off|auto|strict", &certify,
         "how much work the proof may cost: none, in proportion, or all there is\n"
         "(default: auto)"},
        {"--tolerance", CLI_NUMBER, "EPS", NULL, &robust.tolerance, "of the radius, relative (default 1e-9)"},
        cli_backend_option(&backend),
        {0},
    };
    int exit;
    if (!cli_parse_model_command(run, &cli_command_radius, argc, argv, own, &ball, 1, positionals, about,
                                 &reading, &exit)) {
        return exit;
    }
    if (!cli_needed(run, "--policy FILE|uniform|optimal", report.policy_name != NULL) ||
        !cli_needed(run, "--target J", !isnan(target))) {
        return CLI_EXIT_USAGE;
    }
    settings.backend = cli_backend_name(backend);
    robust.certify = (nadir_certify)certify;
    report.optimistic = robust.optimistic;
    report.model_path = positionals[0];
    nadir_status status = check_radius(run, &ball);
    if (status == NADIR_OK) {
        status = cli_open(run);
    }
    if (status == NADIR_OK) {
        status = find(run, &reading, &settings, &ball, &robust, target, &report);
    }
    return cli_close(run, status);
}

const cli_command cli_command_radius = {
    .name = "radius",
    .arguments = "MODEL",
    .summary = "how large the ball may be before the worst case misses a target",
    .main = radius_main,
};

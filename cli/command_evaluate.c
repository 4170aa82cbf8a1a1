/* command_evaluate.c: nadir evaluate: what a policy is worth. */
#include "cli.h"

#include <inttypes.h>
#include <math.h>

static const char about[] =
    "The return of a policy when the kernel may be any of a ball around the nominal one: norm, set and "
    "domain\n"
    "name the ball, RADIUS its size. This version answers radius 0, the nominal kernel alone.\n"
    "\n"
    "The return lies between the bounds, whatever the rounding. It is certified when the bounds were made "
    "anew\n"
    "from the rows of the kernel, apart from the solver that found the value, and are close.\n"
    "\n"
    "Example:\n"
    "  nadir evaluate model.npz --policy uniform --radius 0";

/* The ball; what was not said is NaN or -1. */
typedef struct evaluate_ball {
    double radius;
    double norm;
    int set;
    int domain;
} evaluate_ball;

typedef struct evaluate_report {
    const char *model_path;
    const char *policy_name;
    nadir_model_data view;
    nadir_set set;
    nadir_domain domain;
    double norm;
    double valid_radius;
    nadir_nominal nominal;
    char model_digest[65];
    char policy_digest[65];
    double load_seconds;
    double total_seconds;
} evaluate_report;

/* Option, else the model's own, else the default. */
static nadir_status settle_ball(cli_run *run, const evaluate_ball *ball, evaluate_report *report)
{
    const nadir_model_data *view = &report->view;
    const nadir_set set = view->set != NADIR_SET_UNSAID ? view->set : NADIR_SET_NONRECT;
    const nadir_domain domain = view->domain != NADIR_DOMAIN_UNSAID ? view->domain : NADIR_DOMAIN_SIMPLEX;
    const double norm = isnan(view->norm) ? 2 : view->norm;
    report->set = ball->set >= 0 ? (nadir_set)(NADIR_SET_NONRECT + ball->set) : set;
    report->domain = ball->domain >= 0 ? (nadir_domain)(NADIR_DOMAIN_SIMPLEX + ball->domain) : domain;
    report->norm = isnan(ball->norm) ? norm : ball->norm;
    double radius = ball->radius;
    for (int64_t i = 0; i < view->radius_count && isnan(ball->radius); i++) {
        radius = fmax(radius, view->radius[i]); /* fmax passes over NaN */
    }
    if (isnan(radius)) {
        return cli_fail(run, NADIR_ERROR_ARGUMENT, "--radius is needed: the model has none of its own");
    }
    if (radius != 0) {
        char text[32];
        return cli_fail(run, radius > 0 ? NADIR_ERROR_UNSUPPORTED : NADIR_ERROR_ARGUMENT,
                        radius > 0
                            ? "the radius is %s; this version evaluates at radius 0, the nominal kernel alone"
                            : "the radius is %s; expected 0 or more",
                        cli_number(radius, text));
    }
    return NADIR_OK;
}

static void print_norm(cli_json *json, double norm)
{
    if (isinf(norm)) {
        cli_json_text(json, "norm", "inf");
    } else {
        cli_json_double(json, "norm", norm);
    }
}

static void print_json(const cli_run *run, const evaluate_report *report)
{
    const nadir_nominal *nominal = &report->nominal;
    cli_json json;
    cli_json_start(&json, stdout);
    cli_json_text(&json, "model", report->model_path);
    cli_json_text(&json, "policy", report->policy_name);
    cli_json_double(&json, "nominal_return", nominal->nominal_return);
    cli_json_double(&json, "robust_return", nominal->nominal_return);
    cli_json_double(&json, "penalty", 0);
    cli_json_double(&json, "lower_bound", nominal->lower_bound);
    cli_json_double(&json, "upper_bound", nominal->upper_bound);
    cli_json_double(&json, "gap", nominal->upper_bound - nominal->lower_bound);
    cli_json_bool(&json, "certified", nominal->certified);
    cli_json_text(&json, "certificate", nominal->certified ? "rigorous" : "none");
    cli_json_double(&json, "kappa", NAN);
    cli_json_text(&json, "set", nadir_set_name(report->set));
    print_norm(&json, report->norm);
    cli_json_double(&json, "radius", 0);
    cli_json_text(&json, "domain", nadir_domain_name(report->domain));
    cli_json_text(&json, "method", "nominal");
    cli_json_text(&json, "stop_reason", "solved");
    cli_json_integer(&json, "iterations", nominal->iterations);
    cli_json_integer(&json, "solves", nominal->solves);
    cli_json_double(&json, "breakdown_radius", NAN);
    cli_json_double(&json, "valid_radius", report->valid_radius);
    cli_json_double(&json, "kernel_min", nominal->kernel_minimum);
    cli_json_bool(&json, "kernel_valid", nominal->kernel_minimum >= 0);
    cli_json_double(&json, "residual", nominal->residual);
    cli_json_double(&json, "return_difference", nominal->return_difference);
    cli_json_text(&json, "backend", nominal->backend);
    cli_json_integer(&json, "backend_bytes", nominal->memory);
    cli_json_integer(&json, "states", report->view.states);
    cli_json_integer(&json, "rows", report->view.rows);
    cli_json_integer(&json, "nonzeros", report->view.nonzeros);
    cli_json_double(&json, "discount", report->view.discount);
    cli_json_text(&json, "model_sha256", report->model_digest);
    cli_json_text(&json, "policy_sha256", report->policy_digest);
    cli_json_object(&json, "seconds");
    cli_json_double(&json, "load", report->load_seconds);
    cli_json_double(&json, "nominal", nominal->seconds_factor + nominal->seconds_solve);
    cli_json_double(&json, "robust", 0);
    cli_json_double(&json, "certify", nominal->seconds_check);
    cli_json_double(&json, "total", report->total_seconds);
    cli_json_object_end(&json);
    cli_json_warnings(run, &json);
    cli_json_end(&json);
}

static void print_text(const evaluate_report *report)
{
    const nadir_nominal *nominal = &report->nominal;
    char number[32];
    printf("%s, policy %s, radius 0: the nominal kernel\n", report->model_path, report->policy_name);
    printf("  return         %s\n", cli_number(nominal->nominal_return, number));
    printf("  lower bound    %s\n", cli_number(nominal->lower_bound, number));
    printf("  upper bound    %s\n", cli_number(nominal->upper_bound, number));
    printf("  certified      %s\n", nominal->certified ? "yes, from the rows of the kernel" : "no");
    printf("  ball           %s, norm %s, domain %s\n", nadir_set_name(report->set),
           cli_number(report->norm, number), nadir_domain_name(report->domain));
    printf("  backend        %s, %" PRId64 " solves\n", nominal->backend, nominal->solves);
    printf("  seconds        %.3g\n",
           nominal->seconds_factor + nominal->seconds_solve + nominal->seconds_check);
}

static nadir_status solve(cli_run *run, nadir_model *model, const nadir_solver_settings *settings,
                          evaluate_report *report)
{
    nadir_context *context = run->context;
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    nadir_status status = nadir_model_valid_radius(context, model, report->norm, &report->valid_radius);
    if (status == NADIR_OK) {
        status = nadir_model_digest(context, model, report->model_digest);
    }
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
        status = nadir_solver_nominal(context, solver, &report->nominal);
    }
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    return status;
}

static nadir_status evaluate(cli_run *run, const nadir_read_settings *reading,
                             const nadir_solver_settings *settings, const evaluate_ball *ball,
                             evaluate_report *report)
{
    const double begun = cli_clock();
    nadir_model *model = NULL;
    nadir_status status = nadir_model_read(run->context, report->model_path, reading, &model);
    report->load_seconds = cli_clock() - begun;
    if (status == NADIR_OK) {
        nadir_model_view(model, &report->view);
        status = settle_ball(run, ball, report);
    }
    if (status == NADIR_OK) {
        status = solve(run, model, settings, report);
    }
    if (status == NADIR_OK) {
        report->total_seconds = cli_clock() - begun;
        cli_progress_clear(run);
        if (run->json) {
            print_json(run, report);
        } else {
            print_text(report);
        }
    }
    nadir_model_free(model);
    return status;
}

static int evaluate_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS];
    nadir_read_settings reading;
    nadir_solver_settings settings;
    nadir_read_settings_default(&reading);
    nadir_solver_settings_default(&settings);
    int backend = 0;
    evaluate_ball ball = {NAN, NAN, -1, -1};
    evaluate_report report = {.nominal.size = sizeof report.nominal};
    nadir_model_data_default(&report.view);
    const cli_option own[] = {
        cli_policy_option(&report.policy_name),
        {"--radius", CLI_NUMBER, "RADIUS", NULL, &ball.radius,
         "of the ball; only 0 in this version (default: the model's own)"},
        {"--norm", CLI_NUMBER, "P", NULL, &ball.norm, "of the ball, 1 to inf (default: the model's, else 2)"},
        {"--set", CLI_CHOICE, NULL, "nonrect|s|sa", &ball.set,
         "one ball for all, one for each state, or one for each row\n"
         "(default: the model's, else nonrect)"},
        {"--domain", CLI_CHOICE, NULL, "simplex|support|free", &ball.domain,
         "kernels P >= 0; moreover no new successors; or any sign\n"
         "(default: the model's, else simplex)"},
        cli_backend_option(&backend),
        {"--tolerance", CLI_NUMBER, "EPS", NULL, &settings.tolerance,
         "accuracy asked of krylov, relative to the largest value (default 1e-12);\n"
         "the others are as accurate as rounding allows"},
        {0},
    };
    int exit;
    if (!cli_parse_model_command(run, &cli_command_evaluate, argc, argv, own, 1, positionals, about, &reading,
                                 &exit)) {
        return exit;
    }
    if (!cli_needed(run, "--policy FILE|uniform|optimal", report.policy_name != NULL)) {
        return CLI_EXIT_USAGE;
    }
    settings.backend = cli_backend_name(backend);
    report.model_path = positionals[0];
    nadir_status status = cli_open(run);
    if (status == NADIR_OK) {
        status = evaluate(run, &reading, &settings, &ball, &report);
    }
    return cli_close(run, status);
}

const cli_command cli_command_evaluate = {
    .name = "evaluate",
    .arguments = "MODEL",
    .summary = "what a policy is worth, with bounds (radius 0 in this version)",
    .main = evaluate_main,
};

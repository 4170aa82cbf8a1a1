/* command_radius.c: nadir radius: how large a ball may be before the worst case misses a target. */
#include "input.h"
#include "verdict.h"

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
    cli_input input;
    bool optimistic;
    nadir_radius radius;
} radius_report;

/* The sentence for the case that there is no largest radius; NULL: there is one. */
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
    cli_input_json_start(&json, &report->input);
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
    cli_json_norm(&json, "norm", radius->norm);
    cli_json_text(&json, "domain", nadir_domain_name(radius->domain));
    cli_json_bool(&json, "optimistic", report->optimistic);
    cli_json_double(&json, "breakdown_radius", radius->breakdown_radius);
    cli_json_double(&json, "valid_radius", radius->valid_radius);
    cli_json_integer(&json, "evaluations", radius->evaluations);
    cli_json_integer(&json, "solves", radius->solves);
    cli_json_text(&json, "backend", radius->backend);
    cli_input_json(&json, &report->input);
    cli_input_seconds(&json, &report->input, radius->seconds_nominal, radius->seconds_robust,
                      radius->seconds_certify);
    cli_json_close(run, &json);
}

/* What may prove more. */
static void print_advice(const nadir_radius *radius, const nadir_robust_settings *settings)
{
    const char *support = radius->domain == NADIR_DOMAIN_SIMPLEX ? ", or --domain support" : "";
    if (settings->certify != NADIR_CERTIFY_STRICT) {
        cli_verdict_line("Try", "--certify %s%s", settings->certify == NADIR_CERTIFY_OFF ? "auto" : "strict",
                         support);
    } else {
        cli_verdict_line("Try", "--time %g: seconds that each proof may take%s", cli_more_time(settings),
                         support);
    }
}

/* The largest radius: proven, or first up to where it is guaranteed, then where it was found. */
static void print_verdict(const radius_report *report, const nadir_robust_settings *settings)
{
    const nadir_radius *radius = &report->radius;
    const char *kind = report->optimistic ? "best" : "worst";
    const char *side = report->optimistic ? "at most" : "at least";
    const char *reason = explain_reason(radius);
    char number[4][32];
    char proven[96];
    (void)cli_short(radius->target, number[1]);
    (void)cli_proven(radius->certified, radius->certificate, proven);
    if (reason != NULL) {
        cli_verdict_line("Radius", "any: %s   %s", reason, proven);
    } else if (radius->certified) {
        cli_verdict_line("Radius", "%s%s%s   up to there the %s case is %s %s   %s",
                         cli_emphasis_start(CLI_BOLD), cli_short_down(radius->radius, number[0]),
                         cli_emphasis_start(CLI_PLAIN), kind, side, number[1], proven);
    } else {
        cli_verdict_line("Guaranteed", "up to radius %s%s%s the %s case is %s %s",
                         cli_emphasis_start(CLI_BOLD), cli_short_down(radius->radius_lower, number[0]),
                         cli_emphasis_start(CLI_PLAIN), kind, side, number[1]);
        cli_verdict_line("Found", "radius %s: just beyond, a kernel misses it   %s that none does before",
                         cli_short(radius->radius, number[2]), proven);
        print_advice(radius, settings);
    }
}

static void print_text(const cli_run *run, const radius_report *report, const nadir_robust_settings *settings)
{
    const nadir_radius *radius = &report->radius;
    char number[32];
    print_verdict(report, settings);
    cli_block_line("policy", "%s, nominal %s", report->input.policy_name,
                   cli_short(radius->nominal_return, number));
    cli_input_start(&report->input);
    cli_block_line("ball", "norm %s; %s; %s", cli_norm(radius->norm, number), cli_set_words(radius->set),
                   cli_domain_words(radius->domain));
    cli_rewards_text(&report->input.rewards, radius->domain, "rewards   ");
    if (!run->verbose) {
        return;
    }
    putchar('\n');
    printf("  nominal return   %s\n", cli_number(radius->nominal_return, number));
    printf("  radius           %s\n",
           explain_reason(radius) != NULL ? "any" : cli_number(radius->radius, number));
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

/* A file with the shape of the radii, or nothing: then the model's own, where they differ. */
static nadir_status check_radius(cli_run *run, const cli_ball *asked)
{
    double number;
    return asked->radius_text != NULL && cli_options_number(asked->radius_text, &number)
               ? cli_fail(run, NADIR_ERROR_ARGUMENT,
                          "--radius: '%s' given, but the radius is what is asked for; expected a file with "
                          "the radii of states or rows, which are enlarged together, or nothing",
                          asked->radius_text)
               : NADIR_OK;
}

/* Whether the model has a radius for each state or row of the set. */
static bool has_own_radii(const nadir_model_data *view, const cli_ball *asked)
{
    const nadir_set set = asked->set >= 0 ? (nadir_set)(NADIR_SET_NONRECT + asked->set) : view->set;
    return view->radius_count > 1 && ((set == NADIR_SET_S && view->radius_count == view->states) ||
                                      (set == NADIR_SET_SA && view->radius_count == view->rows));
}

static nadir_status solve(cli_run *run, nadir_model *model, cli_setup *setup, double target,
                          radius_report *report)
{
    cli_ball *asked = &setup->ball;
    cli_input *input = &report->input;
    nadir_solver *solver = NULL;
    nadir_ball ball;
    if (asked->radius_text == NULL && !has_own_radii(&input->view, asked)) {
        asked->radius_text = "1";
    }
    nadir_status status = cli_ball_get(run, model, asked, &ball);
    if (status == NADIR_OK) {
        status =
            cli_input_solver(run, model, input->policy_name, &setup->solver, input->policy_digest, &solver);
    }
    if (status == NADIR_OK) {
        status = nadir_solver_radius(run->context, solver, &ball, &setup->robust, target, &report->radius);
    }
    nadir_solver_free(solver);
    cli_ball_clear(run, asked);
    return status;
}

static nadir_status find(cli_run *run, cli_setup *setup, double target, radius_report *report)
{
    nadir_model *model = NULL;
    nadir_status status = cli_input_read(run, &setup->reading, &report->input, &model);
    if (status == NADIR_OK) {
        status = solve(run, model, setup, target, report);
    }
    if (status == NADIR_OK || report->radius.stop_reason != NULL) { /* a partial result is shown */
        cli_input_end(&report->input);
        cli_input_warn(run, &report->input, report->radius.domain);
        if (cli_starts_json(run)) {
            print_json(run, report);
        } else {
            print_text(run, report, &setup->robust);
        }
    }
    cli_input_close(&report->input, model);
    return status;
}

static int radius_main(cli_run *run, int argc, char **argv)
{
    double target = NAN;
    cli_setup setup = {.ball.radius_value = "FILE",
                       .ball.radius_help =
                           "one number for each state (set s) or row (set sa), .csv or .npy: how\n"
                           "their radii compare (default: as the model's own do, else all are\n"
                           "the same); the largest of them is what is asked for"};
    cli_setup_default(&setup);
    radius_report report = {.radius.size = sizeof report.radius};
    const cli_option own[] = {
        cli_policy_option(&report.input.policy_name),
        {"--target", CLI_NUMBER, "J", NULL, &target, "the return that is still to be met"},
        {"--optimistic", CLI_FLAG, NULL, NULL, &setup.robust.optimistic,
         "the largest radius whose best return is still the target or less"},
        {"--certify", CLI_CHOICE, NULL, "off|auto|strict", &setup.certify,
         "how much work the proof may cost: none, in proportion, or all there is\n"
         "(default: auto)"},
        CLI_RARE,
        {"--time", CLI_NUMBER, "SECONDS", NULL, &setup.robust.time_limit,
         "seconds that each proof may take with --certify strict, where it could go\n"
         "on (default 10; inf: until it is proven)"},
        {"--tolerance", CLI_NUMBER, "EPS", NULL, &setup.robust.tolerance,
         "of the radius, relative (default 1e-9)"},
        cli_backend_option(&setup.solver.backend),
        {0},
    };
    int exit;
    if (!cli_setup_parse(run, &cli_command_radius, argc, argv, own, about, &setup, &report.input, &exit)) {
        return exit;
    }
    if (!cli_needed(run, "--policy FILE|uniform|optimal", report.input.policy_name != NULL) ||
        !cli_needed(run, "--target J", !isnan(target))) {
        return CLI_EXIT_USAGE;
    }
    report.optimistic = setup.robust.optimistic;
    nadir_status status = check_radius(run, &setup.ball);
    if (status == NADIR_OK) {
        status = cli_open(run);
    }
    if (status == NADIR_OK) {
        status = find(run, &setup, target, &report);
    }
    return cli_close(run, status);
}

const cli_command cli_command_radius = {
    .name = "radius",
    .arguments = "MODEL",
    .summary = "how large the ball may be before the worst case misses a target",
    .main = radius_main,
};

/* command_optimize.c: nadir optimize: the policy that does best in the worst case. */
#include "files.h"
#include "gnuplot.h"
#include "optimize.h"
#include "robust.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char about[] =
    "The policy whose worst return over a ball of kernels is the best, with the proof of how good it is:\n"
    "no policy at all is sure of more than optimality_upper_bound, and this one is sure of lower_bound.\n"
    "What it gives up on the nominal kernel, and what that buys in the worst case, is told beside it.\n"
    "\n"
    "The policy may have to randomise. It is written as CSV, or as .npy if its name ends so.\n"
    "\n"
    "Long work can be cut short: at a limit (--time-limit, --max-evaluations; exit status 5) or by Ctrl-C\n"
    "(exit status 7) the best policy so far is written, and bounds that hold for it are printed. With\n"
    "--checkpoint nothing is lost even if the machine stops; --resume goes on from there.\n"
    "\n"
    "--plot draws what robustness costs and buys: the nominal against the worst return of the robust\n"
    "policies for balls of growing radius, beside those of the nominal optimum.\n"
    "\n"
    "Examples:\n"
    "  nadir optimize model.npz --radius 0.1 --out robust.csv\n"
    "  nadir optimize model.npz --radius 0.1 --domain support --out robust.npy --plot frontier.svg\n"
    "  nadir optimize model.npz --radius 0.1 --out robust.csv --checkpoint run.ckpt --time-limit 3600\n"
    "  nadir optimize model.npz --radius 0.1 --out robust.csv --checkpoint run.ckpt --resume run.ckpt";

typedef struct optimize_report {
    cli_subject subject; /* its policy is the file to write */
    const char *start;   /* the policy that the search begins with; NULL: the nominal optimum */
    const char *kernel_path;
    const char *witness_path;
    nadir_robust_optimum_settings settings;
    bool evaluations_given; /* their limit is not the default */
    nadir_robust_optimum_result result;
    nadir_robust evaluation;
    double optimum_return; /* the worst return of the nominal optimum; NaN: not known */
    bool draws;            /* the frontier is wanted */
    cli_frontier frontier;
} optimize_report;

/* The line that stands on a terminal, and whether the user asked to stop. */
static int watch_step(void *user, const nadir_robust_optimum_step *step)
{
    const cli_watch *watch = user;
    cli_run *run = watch->run;
    double left = watch->time_limit - step->seconds;
    if (watch->evaluations_limit > 0 && step->evaluations > 0) {
        const double each = step->seconds / (double)step->evaluations;
        left = fmin(left, each * (double)(watch->evaluations_limit - step->evaluations));
    }
    const bool limited = isfinite(left);
    (void)snprintf(run->headline, sizeof run->headline,
                   "%sstep %" PRId64 ": worst return %.8g, gap %.1e, %" PRId64 " evaluations, %.3g s%s",
                   watch->prefix, step->iteration, step->robust_return, step->gap, step->evaluations,
                   limited ? fmax(left, 0) : step->seconds, limited ? " left" : "");
    return cli_progress(run, "improving the policy", -1);
}

/* ------------------------------------------------------------------------------------------ answer */

/* The keys of nadir evaluate are about the policy found; how it was found, and how good it is, replaces what
 * the evaluation alone says of that. */
static void print_json(const cli_run *run, const optimize_report *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const nadir_robust *evaluation = &report->evaluation;
    nadir_robust shown = *evaluation;
    shown.certified = result->certified;
    shown.certificate = result->certificate;
    shown.method = result->method;
    shown.stop_reason = result->stop_reason;
    shown.iterations = result->iterations;
    cli_json json;
    cli_json_start(&json, stdout);
    cli_json_text(&json, "model", report->subject.model_path);
    cli_json_text(&json, "policy", report->subject.policy_name);
    cli_json_double(&json, "nominal_optimum", result->nominal_optimum);
    cli_json_double(&json, "optimum_robust_return", report->optimum_return);
    cli_json_double(&json, "initial_robust_return", result->initial_robust_return);
    cli_json_double(&json, "optimality_upper_bound", result->optimality_upper_bound);
    cli_json_double(&json, "optimality_gap", result->optimality_gap);
    cli_json_integer(&json, "evaluations", result->evaluations);
    cli_json_integer(&json, "stochastic_states", result->stochastic_states);
    cli_json_integer(&json, "mixed_kernels", result->mixed_kernels);
    cli_robust_json(&json, &shown);
    cli_json_object(&json, "evaluation");
    cli_json_bool(&json, "certified", evaluation->certified);
    cli_json_text(&json, "certificate", evaluation->certificate);
    cli_json_text(&json, "method", evaluation->method);
    cli_json_text(&json, "stop_reason", evaluation->stop_reason);
    cli_json_integer(&json, "iterations", evaluation->iterations);
    cli_json_object_end(&json);
    cli_subject_json(&json, &report->subject);
    if (report->draws) {
        cli_frontier_json(&json, &report->frontier);
    }
    cli_subject_seconds(&json, &report->subject, result->seconds_nominal, result->seconds_search,
                        result->seconds_certify);
    cli_json_warnings(run, &json);
    cli_json_end(&json);
}

/* What the gap is measured by. */
static double scale_of(const nadir_robust_optimum_result *result)
{
    return fmax(fabs(result->nominal_optimum), fabs(result->robust_return));
}

/* How sure it is, in words. */
static const char *explain_bounds(const optimize_report *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const double above = result->optimality_upper_bound - result->robust_return;
    if (result->certified) {
        return result->certificate[0] == 'r' ? "yes, by proofs that include all rounding"
                                             : "yes, resting on converged iterations";
    }
    if (above <= report->settings.gap * scale_of(result)) {
        return "no: a kernel that is worse than the worst one found is not ruled out";
    }
    return isfinite(result->optimality_gap) ? "no: the bounds are apart" : "no: nothing is known on one side";
}

/* Why it ended, in words. */
static const char *explain_stop(const char *stop_reason)
{
    static const char *const reasons[][2] = {
        {"gap", "no policy is better by more than the gap"},
        {"stationary", "nothing is left to improve"},
        {"evaluations", "all evaluations are spent: the best policy so far"},
        {"time", "the time is up: the best policy so far"},
        {"interrupted", "interrupted: the best policy so far"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (strcmp(stop_reason, reasons[i][0]) == 0) {
            return reasons[i][1];
        }
    }
    return stop_reason;
}

/* What the policy costs on the nominal kernel and what it buys in the worst case, beside the nominal optimum.
 * Differences that are rounding, or the tolerance of an evaluation, are none. */
static void print_trade(const optimize_report *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const double taken = result->nominal_optimum - report->optimum_return;
    double price = result->nominal_optimum - result->nominal_return;
    double gain = result->robust_return - report->optimum_return;
    char number[2][32];
    price = fabs(price) <= 1e-12 * fabs(result->nominal_optimum) ? 0 : price;
    gain = fabs(gain) <= 1e-7 * taken ? 0 : gain;
    printf("  %-18s %-20s %s\n", "", "nominal return", "worst return");
    printf("  %-18s %-20s %s\n", "nominal optimum", cli_number(result->nominal_optimum, number[0]),
           isnan(report->optimum_return) ? "?" : cli_number(report->optimum_return, number[1]));
    printf("  %-18s %-20s %s\n", "robust policy",
           isnan(result->nominal_return) ? "?" : cli_number(result->nominal_return, number[0]),
           cli_number(result->robust_return, number[1]));
    if (!isnan(price)) {
        printf("  price              %.6g on the nominal kernel (%.3g %% of the optimum)\n", price,
               price != 0 ? 100 * price / fabs(result->nominal_optimum) : 0);
    }
    if (!isnan(gain)) {
        printf("  gain               %.6g in the worst case (%.3g %% of what the adversary takes)\n", gain,
               taken > 0 ? 100 * gain / taken : 0);
    }
}

static void print_bounds(const optimize_report *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const double scale = scale_of(result);
    char number[32];
    if (isfinite(result->lower_bound)) {
        printf("  lower bound        %s: it earns this with every kernel of the ball\n",
               cli_number(result->lower_bound, number));
    } else {
        printf("  lower bound        none was proven\n");
    }
    printf("  upper bound        %s: no policy is sure of more\n",
           cli_number(result->optimality_upper_bound, number));
    if (isfinite(result->optimality_gap)) {
        printf("  gap                %.3g (%.2g of the return)\n", result->optimality_gap,
               scale > 0 ? result->optimality_gap / scale : 0);
    }
}

static void print_text(const optimize_report *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const nadir_robust *evaluation = &report->evaluation;
    char number[32];
    printf("%s: the %s against the ball of radius %s, written to %s\n", report->subject.model_path,
           result->certified ? "best policy" : "best policy found", cli_number(evaluation->radius, number),
           report->subject.policy_name);
    printf("  ball               %s, norm %s, domain %s\n", nadir_set_name(evaluation->set),
           cli_number(evaluation->norm, number), nadir_domain_name(evaluation->domain));
    print_trade(report);
    print_bounds(report);
    printf("  certified          %s\n", explain_bounds(report));
    printf("  randomises         in %" PRId64 " of %" PRId64 " states\n", result->stochastic_states,
           report->subject.view.states);
    printf("  search             %s, %" PRId64 " steps, %" PRId64 " evaluations; %s\n", result->method,
           result->iterations, result->evaluations, explain_stop(result->stop_reason));
    printf("  seconds            nominal %.3g, search %.3g, proof %.3g\n", result->seconds_nominal,
           result->seconds_search, result->seconds_certify);
    if (report->draws && report->frontier.count > 0) {
        printf("  frontier           %.3g s\n", report->frontier.seconds);
        cli_frontier_text(&report->frontier);
    }
}

/* -------------------------------------------------------------------------------------------- work */

/* What was found, to its files: the policy first, whose bytes the witness names. */
static nadir_status write_files(cli_run *run, const nadir_model *model, const nadir_policy *policy,
                                nadir_worst *worst, const optimize_report *report)
{
    const char *path = report->subject.policy_name;
    const bool wanted = report->kernel_path != NULL || report->witness_path != NULL;
    nadir_status status = nadir_policy_write(run->context, model, policy, path);
    if (status == NADIR_OK && worst != NULL) {
        status = cli_worst_write(run, worst, report->subject.model_path, path, report->kernel_path,
                                 report->witness_path);
    } else if (status == NADIR_OK && wanted) {
        cli_warn(run, "no kernel is written: the search ended before there was one");
    }
    return status;
}

/* The frontier, in what is left of the time, and its picture. */
static nadir_status draw_frontier(cli_run *run, nadir_model *model, const nadir_ball *ball,
                                  const cli_watch *watch, double begun, optimize_report *report)
{
    nadir_robust_optimum_settings settings = report->settings;
    cli_frontier *frontier = &report->frontier;
    settings.time_limit -= cli_clock() - begun;
    const nadir_status status = cli_frontier_find(run, model, ball, &settings, watch, &report->result,
                                                  report->evaluation.radius, frontier);
    nadir_status drawn = NADIR_OK;
    if (frontier->plot_path != NULL && frontier->count > 0) {
        cli_obey_interrupt();
        drawn = cli_frontier_draw(run, frontier);
    }
    return status != NADIR_OK ? status : drawn;
}

/* What can be said of a policy whose evaluation was cut off: which ball, and what the search knows. */
static void fill_evaluation(const nadir_ball *ball, const nadir_model_data *view, optimize_report *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    nadir_robust *made = &report->evaluation;
    const double *radius = ball->radius != NULL ? ball->radius : view->radius;
    const int64_t count = ball->radius != NULL ? ball->radius_count : view->radius_count;
    const nadir_set set = ball->set != NADIR_SET_UNSAID ? ball->set : view->set;
    const nadir_domain domain = ball->domain != NADIR_DOMAIN_UNSAID ? ball->domain : view->domain;
    const double norm = isnan(ball->norm) ? view->norm : ball->norm;
    *made = (nadir_robust){
        .size = sizeof *made,
        .nominal_return = result->nominal_return,
        .robust_return = result->robust_return,
        .penalty = result->nominal_return - result->robust_return,
        .lower_bound = result->lower_bound,
        .upper_bound = result->robust_return,
        .certificate = "none",
        .kappa = NAN,
        .stationarity_gap = NAN,
        .set = set != NADIR_SET_UNSAID ? set : NADIR_SET_NONRECT,
        .domain = domain != NADIR_DOMAIN_UNSAID ? domain : NADIR_DOMAIN_SIMPLEX,
        .norm = isnan(norm) ? 2 : norm,
        .breakdown_radius = NAN,
        .valid_radius = NAN,
        .kernel_minimum = NAN,
        .residual = NAN,
        .return_difference = NAN,
    };
    for (int64_t i = 0; i < count; i++) {
        made->radius = fmax(made->radius, radius[i]);
    }
}

static void print(cli_run *run, optimize_report *report)
{
    cli_subject_end(&report->subject);
    cli_progress_clear(run);
    if (run->json) {
        print_json(run, report);
        run->answered = true;
    } else {
        print_text(report);
    }
}

/* What to do with a policy, the best or the best so far. What was found is printed even if a file fails. */
static nadir_status report_result(cli_run *run, nadir_model *model, const nadir_ball *ball,
                                  const nadir_policy *policy, nadir_worst *worst, const cli_watch *watch,
                                  double begun, optimize_report *report)
{
    nadir_status status = nadir_policy_digest(run->context, policy, report->subject.policy_digest);
    if (status == NADIR_OK) {
        status = write_files(run, model, policy, worst, report);
    }
    if (status == NADIR_OK && strcmp(report->result.stop_reason, "interrupted") != 0) {
        status = cli_optimum_returns(run, model, ball, report->settings.backend, 1, (const double[]){1},
                                     &report->optimum_return);
    }
    if (status == NADIR_OK && report->draws) {
        status = draw_frontier(run, model, ball, watch, begun, report);
    }
    print(run, report);
    return status;
}

static nadir_status optimize(cli_run *run, nadir_model *model, const nadir_ball *ball,
                             optimize_report *report)
{
    const double begun = cli_clock();
    nadir_robust_optimum_settings *settings = &report->settings;
    cli_watch watch = {run, settings->time_limit, report->evaluations_given ? settings->evaluations_limit : 0,
                       ""};
    nadir_policy *start = NULL;
    nadir_policy *policy = NULL;
    nadir_worst *worst = NULL;
    nadir_status status = NADIR_OK;
    if (report->start != NULL) {
        status = cli_policy_get(run, model, report->start, settings->backend, &start);
    }
    settings->start = start;
    settings->watch = watch_step;
    settings->watch_user = &watch;
    if (status == NADIR_OK) {
        status = nadir_robust_optimum(run->context, model, ball, settings, &policy, &report->result,
                                      &report->evaluation, &worst);
    }
    run->headline[0] = '\0';
    if (policy != NULL) { /* the best so far, too */
        char reached[512];
        (void)snprintf(reached, sizeof reached, "%s", nadir_context_error(run->context));
        if (report->evaluation.stop_reason == NULL) {
            fill_evaluation(ball, &report->subject.view, report);
        }
        report->optimum_return = NAN;
        if (status == NADIR_ERROR_INTERRUPTED) {
            cli_obey_interrupt();
            report->result.stop_reason = "interrupted";
            if (report->draws) {
                cli_warn(run, "interrupted: there is no frontier");
            }
            report->draws = false;
        }
        const nadir_status told = report_result(run, model, ball, policy, worst, &watch, begun, report);
        if (told != NADIR_OK) {
            status = told;
        } else if (status != NADIR_OK) {
            (void)cli_fail(run, status, "%s", reached);
        }
    }
    nadir_worst_free(worst);
    nadir_policy_free(policy);
    nadir_policy_free(start);
    return status;
}

/* ---------------------------------------------------------------------------------------- question */

/* What can be told of the files before the work is done. A checkpoint may be kept where it was read from. */
static nadir_status check_files(cli_run *run, const nadir_read_settings *reading, const cli_ball *ball,
                                const optimize_report *report)
{
    const nadir_robust_optimum_settings *settings = &report->settings;
    const char *const written[] = {report->subject.policy_name, report->kernel_path, report->witness_path,
                                   report->frontier.plot_path, settings->checkpoint};
    enum { WRITTEN = sizeof written / sizeof written[0] };
    cli_files files = {0};
    cli_files checkpoints = {0};
    const char *format;
    cli_files_read_model(&files, report->subject.model_path, reading);
    cli_files_read(&files, ball->radius_text);
    cli_files_read(&files, ball->scales_path);
    cli_files_read(&files, report->start != NULL ? cli_policy_file(report->start) : NULL);
    cli_files_read(&checkpoints, settings->resume);
    for (int i = 0; i < WRITTEN; i++) {
        cli_files_write(&files, written[i]);
        cli_files_write(&checkpoints, i < WRITTEN - 1 ? written[i] : NULL);
    }
    nadir_status status = cli_files_check(run, &files);
    if (status == NADIR_OK) {
        status = cli_files_check(run, &checkpoints);
    }
    if (status == NADIR_OK) {
        status = cli_files_check_folders(run, &files);
    }
    if (status == NADIR_OK && report->kernel_path != NULL) {
        status = nadir_write_format(run->context, report->kernel_path, &format);
    }
    if (status == NADIR_OK && report->frontier.plot_path != NULL) {
        status = cli_gnuplot_check(run, report->frontier.plot_path);
    }
    return status;
}

static nadir_status run_all(cli_run *run, const nadir_read_settings *reading, cli_ball *asked,
                            optimize_report *report)
{
    nadir_model *model = NULL;
    nadir_ball ball;
    nadir_status status = check_files(run, reading, asked, report);
    if (status == NADIR_OK && report->frontier.radii_text != NULL) {
        status = cli_radii_parse(run, "--radii", report->frontier.radii_text, &report->frontier.radii);
    }
    if (status == NADIR_OK) {
        status = cli_subject_read(run, reading, &report->subject, &model);
    }
    if (status == NADIR_OK) {
        status = cli_ball_get(run, model, asked, &ball);
    }
    if (status == NADIR_OK) {
        status = optimize(run, model, &ball, report);
    }
    cli_frontier_clear(&report->frontier);
    cli_ball_clear(run, asked);
    nadir_model_free(model);
    return status;
}

static int optimize_main(cli_run *run, int argc, char **argv)
{
    static const char *const methods[] = {"auto", "quasi-newton", "spectral", "paper", "bellman"};
    const char *positionals[CLI_POSITIONALS];
    nadir_read_settings reading;
    nadir_read_settings_default(&reading);
    int backend = 0;
    int method = 0;
    int certify = NADIR_CERTIFY_AUTO;
    int64_t evaluations = -1;
    cli_ball ball = {0};
    optimize_report report = {.result.size = sizeof report.result,
                              .evaluation.size = sizeof report.evaluation};
    nadir_robust_optimum_settings *settings = &report.settings;
    nadir_robust_optimum_settings_default(settings);
    const cli_option own[] = {
        {"--out", CLI_TEXT, "POLICY", NULL, &report.subject.policy_name,
         "where to write the policy (needed)"},
        {"--gap", CLI_NUMBER, "EPS", NULL, &settings->gap,
         "how close the bounds are to be, relative to the return (default 1e-6)"},
        {"--max-evaluations", CLI_INTEGER, "N", NULL, &evaluations,
         "policies whose worst kernel may be looked for (default 1000)"},
        {"--time-limit", CLI_NUMBER, "SECONDS", NULL, &settings->time_limit,
         "how long it may take, frontier included"},
        {"--checkpoint", CLI_TEXT, "FILE", NULL, &settings->checkpoint,
         "keep what it takes to go on in this file, whole at every moment"},
        {"--checkpoint-interval", CLI_NUMBER, "SECONDS", NULL, &settings->checkpoint_seconds,
         "at least so long between two checkpoints, 0: after every step (default 1)"},
        {"--resume", CLI_TEXT, "FILE", NULL, &settings->resume,
         "go on from a checkpoint of the same model, ball and method"},
        {"--plot", CLI_TEXT, "FILE", NULL, &report.frontier.plot_path,
         "draw the nominal against the worst return of the robust policies of many\n"
         "radii, .svg or .png (by gnuplot)"},
        {"--radii", CLI_TEXT, "LO:HI:N", NULL, &report.frontier.radii_text,
         "these radii; without --plot as a table (default of --plot: 11, from 0 to\n"
         "that of the ball)"},
        {"--kernel", CLI_TEXT, "FILE", NULL, &report.kernel_path,
         "write the worst kernel for the policy: .npz, for nadir verify"},
        {"--witness", CLI_TEXT, "FILE", NULL, &report.witness_path,
         "write the numbers that prove the bounds of its worst return, as JSON"},
        {"--method", CLI_CHOICE, NULL, "auto|quasi-newton|spectral|paper|bellman", &method,
         "how the policy is improved: see docs/policy.md (default: auto)"},
        {"--step", CLI_NUMBER, "ALPHA", NULL, &settings->step,
         "of method paper: the size of its steps\n"
         "(default: (1 - discount) / range of the rewards)"},
        {"--start", CLI_TEXT, "POLICY", NULL, &report.start,
         "the policy to begin with: a file, uniform or optimal (default: optimal,\n"
         "the best one for the nominal kernel)"},
        {"--certify", CLI_CHOICE, NULL, "off|auto|strict", &certify,
         "how much work the proof may cost: none, in proportion, or all there is\n"
         "(default: auto)"},
        cli_backend_option(&backend),
        {0},
    };
    int exit;
    if (!cli_parse_model_command(run, &cli_command_optimize, argc, argv, own, &ball, 1, positionals, about,
                                 &reading, &exit)) {
        return exit;
    }
    if (!cli_needed(run, "--out POLICY", report.subject.policy_name != NULL)) {
        return CLI_EXIT_USAGE;
    }
    report.subject.model_path = positionals[0];
    report.evaluations_given = evaluations >= 0;
    report.draws = report.frontier.plot_path != NULL || report.frontier.radii_text != NULL;
    settings->evaluations_limit = evaluations >= 0 ? evaluations : settings->evaluations_limit;
    settings->method = methods[method];
    settings->backend = cli_backend_name(backend);
    settings->certify = (nadir_certify)certify;
    nadir_status status = cli_open(run);
    if (status == NADIR_OK) {
        status = run_all(run, &reading, &ball, &report);
    }
    return cli_close(run, status);
}

const cli_command cli_command_optimize = {
    .name = "optimize",
    .arguments = "MODEL",
    .summary = "the policy that does best in the worst case of a ball of kernels, with its optimality gap",
    .main = optimize_main,
};

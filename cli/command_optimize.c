/* command_optimize.c: nadir optimize: the policy that does best in the worst case. */
#include "files.h"
#include "gnuplot.h"
#include "optimize.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "The policy whose worst return over a ball of kernels is the best, with the proof of how good it is:\n"
    "no policy guarantees more than optimality_upper_bound, and this one guarantees lower_bound.\n"
    "What it gives up on the nominal kernel, and what that buys in the worst case, is printed beside it.\n"
    "\n"
    "--policy sets a policy of yours beside it: what that guarantees in the same ball, and in how many\n"
    "states the two differ.\n"
    "\n"
    "The policy may have to randomise. --out writes it as CSV, or as .npy if the name ends so.\n"
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
    "  nadir optimize model.npz --radius 0.1 --policy mine.csv\n"
    "  nadir optimize model.npz --radius 0.1 --domain support --out robust.npy --plot frontier.svg\n"
    "  nadir optimize model.npz --radius 0.1 --out robust.csv --checkpoint run.ckpt --time-limit 3600\n"
    "  nadir optimize model.npz --radius 0.1 --out robust.csv --checkpoint run.ckpt --resume run.ckpt";

/* Shows the progress line; nonzero if the user wants to stop. */
static int watch_step(void *user, const nadir_robust_optimum_step *step)
{
    cli_watch *watch = user;
    cli_run *run = watch->run;
    double left = watch->time_limit - step->seconds;
    if (watch->evaluations_limit > 0 && step->evaluations > 0) {
        const double each = step->seconds / (double)step->evaluations;
        left = fmin(left, each * (double)(watch->evaluations_limit - step->evaluations));
    }
    const bool limited = isfinite(left);
    double share = limited && left + step->seconds > 0 ? step->seconds / (left + step->seconds) : 0;
    if (isfinite(step->gap) && step->gap > 0) { /* gaps shrink by factors */
        watch->first_gap = watch->first_gap > 0 ? watch->first_gap : step->gap;
        const double all = log(watch->first_gap / watch->gap);
        share = fmax(share, all > 0 ? log(watch->first_gap / step->gap) / all : 0);
    }
    const double reached = watch->first + fmin(share, 1) * (watch->last - watch->first);
    cli_progress_part(run, reached, reached);
    (void)snprintf(run->headline, sizeof run->headline, "%sstep %" PRId64 ", worst return %.6g, gap %.1e",
                   watch->prefix, step->iteration, step->robust_return, step->gap);
    return cli_progress(run, "improving the policy", -1);
}

/* -------------------------------------------------------------------------------------------- work */

/* Writes the results: the policy first, since the witness holds its digest. */
static nadir_status write_files(cli_run *run, const nadir_model *model, const nadir_policy *policy,
                                nadir_worst *worst, const cli_optimize *report)
{
    const char *path = report->input.policy_name;
    const bool wanted = report->kernel_path != NULL || report->witness_path != NULL;
    nadir_status status = path != NULL ? nadir_policy_write(run->context, model, policy, path) : NADIR_OK;
    if (status == NADIR_OK && worst != NULL) {
        status = cli_worst_write(
            run, worst, cli_union_member(&report->members, report->input.model_path, report->members.which),
            path, report->kernel_path, report->witness_path);
    } else if (status == NADIR_OK && wanted) {
        cli_warn(run, "no kernel is written: the search ended before there was one");
    }
    return status;
}

/* The frontier, in what is left of the time, and its picture. */
static nadir_status draw_frontier(cli_run *run, nadir_model *model, const nadir_ball *ball, double begun,
                                  cli_optimize *report)
{
    nadir_robust_optimum_settings settings = report->settings;
    cli_frontier *frontier = &report->frontier;
    settings.time_limit -= cli_clock() - begun;
    const nadir_status status = cli_frontier_find(run, model, ball, &settings, &report->watch,
                                                  &report->result, report->evaluation.radius, frontier);
    nadir_status drawn = NADIR_OK;
    if (frontier->plot_path != NULL && frontier->count > 0) {
        drawn = cli_frontier_draw(run, &report->input, &report->evaluation, frontier);
    }
    return status != NADIR_OK ? status : drawn;
}

/* Fills the evaluation of an interrupted search: the ball, and what the search found. */
static void fill_evaluation(const nadir_ball *ball, const nadir_model_data *view, cli_optimize *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    nadir_robust *made = &report->evaluation;
    const double *radius = ball->radius != NULL ? ball->radius : view->radius;
    const int64_t count = ball->radius != NULL ? ball->radius_count : view->radius_count;
    const nadir_set set = ball->set != NADIR_SET_UNSAID ? ball->set : view->set;
    const nadir_domain domain = ball->domain != NADIR_DOMAIN_UNSAID ? ball->domain : cli_domain_of(view);
    const double norm = isnan(ball->norm) ? view->norm : ball->norm;
    *made = (nadir_robust){
        .size = sizeof *made,
        .nominal_return = result->nominal_return,
        .robust_return = result->robust_return,
        .penalty = result->nominal_return - result->robust_return,
        .lower_bound = result->lower_bound,
        .upper_bound = NAN, /* the search proves nothing */
        .certificate = "none",
        .kappa = NAN,
        .stationarity_gap = NAN,
        .set = set != NADIR_SET_UNSAID ? set : NADIR_SET_NONRECT,
        .domain = norm == NADIR_NORM_CHI2 ? NADIR_DOMAIN_SUPPORT : domain,
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

static void print(cli_run *run, const nadir_model *model, const nadir_policy *policy, cli_optimize *report)
{
    cli_input_end(&report->input);
    cli_input_warn(run, &report->input, report->evaluation.domain);
    if (cli_starts_json(run)) {
        cli_optimize_json(run, report);
    } else {
        cli_optimize_text(run, model, policy, report);
    }
}

/* States whose actions have other probabilities, by more than rounding; -1: not known. */
static int64_t count_differing(const cli_run *run, const nadir_model_data *view, const nadir_policy *one,
                               const nadir_policy *other)
{
    const double least = 1e-3; /* as in the page of nadir report */
    const double *first = nadir_policy_probabilities(one);
    const double *second = nadir_policy_probabilities(other);
    int64_t count = 0;
    if (run->engine != NULL) { /* a process may not have all rows */
        return -1;
    }
    for (int64_t s = 0; s < view->states; s++) {
        double distance = 0;
        for (int64_t row = view->state_rows[s]; row < view->state_rows[s + 1]; row++) {
            distance += fabs(first[row] - second[row]) / 2;
        }
        count += distance > least;
    }
    return count;
}

/* What the user's policy guarantees in the same ball, or balls. */
static nadir_status compare(cli_run *run, nadir_model *model, const nadir_ball *ball,
                            const nadir_policy *policy, nadir_policy *mine, cli_optimize *report)
{
    const nadir_robust_optimum_settings *settings = &report->settings;
    nadir_robust_settings proving;
    nadir_robust_settings_default(&proving);
    proving.certify = settings->certify;
    proving.time_limit = settings->proof_time_limit;
    nadir_solver_settings solving;
    nadir_solver_settings_default(&solving);
    solving.backend = settings->backend;
    const cli_union *members = &report->members;
    nadir_robust *results = NULL; /* [members] */
    int64_t which;
    nadir_solver *solver = NULL;
    nadir_status status = cli_policy_digest(run, mine, report->compared.digest);
    report->differing = count_differing(run, &report->input.view, policy, mine);
    if (status == NADIR_OK && members->count > 0) {
        results = calloc((size_t)members->count, sizeof *results);
        status = results != NULL ? NADIR_OK : cli_fail(run, NADIR_ERROR_MEMORY, "out of memory");
        for (int64_t k = 0; results != NULL && k < members->count; k++) {
            results[k].size = sizeof results[k];
        }
    } else if (status == NADIR_OK) {
        status = nadir_solver_create(run->context, model, mine, &solving, &solver);
    }
    if (status == NADIR_OK) {
        status =
            results != NULL
                ? nadir_union_robust(run->context, members->count, members->models, members->balls, mine,
                                     &solving, &proving, results, &report->compared.robust, &which, NULL)
                : nadir_solver_robust(run->context, solver, ball, &proving, &report->compared.robust, NULL);
    }
    free(results);
    nadir_solver_free(solver);
    if (status != NADIR_OK && status != NADIR_ERROR_INTERRUPTED) {
        char reason[400];
        (void)snprintf(reason, sizeof reason, "%s", nadir_context_error(run->context));
        (void)cli_fail(run, status, "policy %s: %s", report->compared.policy, reason);
    }
    return status;
}

/* Writes and prints the result, also a partial one. It is printed even if a file cannot be written. */
static nadir_status report_result(cli_run *run, nadir_model *model, const nadir_ball *ball,
                                  const nadir_policy *policy, nadir_policy *mine, nadir_worst *worst,
                                  double begun, cli_optimize *report)
{
    nadir_status compared = NADIR_OK;
    nadir_status status = cli_policy_digest(run, policy, report->input.policy_digest);
    if (status == NADIR_OK) {
        status = write_files(run, model, policy, worst, report);
    }
    const bool single = report->members.count == 0;
    if (worst != NULL && single && cli_explain_names(run, &report->input) &&
        cli_explain_get(run, worst, CLI_EXPLAIN_FIRST, &report->damage) != NADIR_OK) {
        cli_explain_clear(&report->damage); /* the verdict goes without */
    }
    if (!single) {
        report->optimum_return = NAN;
    } else if (status == NADIR_OK && strcmp(report->result.stop_reason, "interrupted") != 0) {
        status = cli_optimum_returns(run, model, ball, report->settings.backend, 1, (const double[]){1},
                                     &report->optimum_return);
    }
    if (status == NADIR_OK && mine != NULL && strcmp(report->result.stop_reason, "interrupted") != 0) {
        compared = compare(run, model, ball, policy, mine, report);
        status = compared == NADIR_ERROR_INTERRUPTED ? compared : status;
    }
    if (status == NADIR_ERROR_INTERRUPTED) { /* the policy is found, the comparison is not */
        report->result.stop_reason = "interrupted";
    }
    if (status == NADIR_OK && report->draws) {
        status = draw_frontier(run, model, ball, begun, report);
    }
    print(run, model, policy, report);
    return status != NADIR_OK ? status : compared;
}

static nadir_status optimize(cli_run *run, const nadir_read_settings *reading, nadir_model *model,
                             const cli_ball *asked, const nadir_ball *ball, cli_optimize *report)
{
    cli_union *members = &report->members;
    const double begun = cli_clock();
    nadir_robust_optimum_settings *settings = &report->settings;
    nadir_policy *start = NULL;
    nadir_policy *mine = NULL;
    nadir_policy *policy = NULL;
    nadir_worst *worst = NULL;
    nadir_status status = NADIR_OK;
    if (report->start != NULL) {
        status = cli_policy_get(run, model, report->start, settings->backend, &start);
    }
    settings->start = start;
    if (status == NADIR_OK && report->compared.policy != NULL) {
        status = cli_policy_get(run, model, report->compared.policy, settings->backend, &mine);
    }
    if (status == NADIR_OK && members->files.count > 0) {
        status = cli_union_read(run, reading, model, asked, members);
        if (status == NADIR_OK) {
            status = nadir_union_optimum(run->context, members->count, members->models, members->balls,
                                         settings, &policy, &report->result, members->results,
                                         &report->evaluation, &members->which, &worst);
        }
    } else if (status == NADIR_OK) {
        status = nadir_robust_optimum(run->context, model, ball, settings, &policy, &report->result,
                                      &report->evaluation, &worst);
    }
    run->headline[0] = '\0';
    if (policy != NULL) { /* also a partial result */
        char reached[512];
        (void)snprintf(reached, sizeof reached, "%s", nadir_context_error(run->context));
        if (report->evaluation.stop_reason == NULL) {
            fill_evaluation(ball, &report->input.view, report);
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
        const nadir_status told = report_result(run, model, ball, policy, mine, worst, begun, report);
        if (told != NADIR_OK) {
            status = told;
        } else if (status == NADIR_ERROR_INTERRUPTED) {
            const char *kept = settings->checkpoint;
            (void)cli_fail(run, status, "interrupted: this is the best policy so far; %s%s%s",
                           kept != NULL ? "the same command with --resume " : "with --checkpoint FILE",
                           kept != NULL ? kept : "", kept != NULL ? " goes on" : " a search can go on later");
        } else if (status != NADIR_OK) {
            (void)cli_fail(run, status, "%s", reached);
        }
    }
    nadir_worst_free(worst);
    nadir_policy_free(policy);
    nadir_policy_free(mine);
    nadir_policy_free(start);
    settings->start = NULL;
    return status;
}

/* ---------------------------------------------------------------------------------------- question */

/* Checks the file names before the work. A checkpoint may overwrite the one that was read. */
static nadir_status check_files(cli_run *run, const nadir_read_settings *reading, const cli_ball *ball,
                                const cli_optimize *report)
{
    const nadir_robust_optimum_settings *settings = &report->settings;
    const char *const written[] = {report->input.policy_name, report->kernel_path, report->witness_path,
                                   report->frontier.plot_path, settings->checkpoint};
    enum { WRITTEN = sizeof written / sizeof written[0] };
    cli_files files = {0};
    cli_files checkpoints = {0};
    cli_files_read_model(&files, report->input.model_path, reading);
    cli_files_read_ball(&files, ball);
    for (int i = 0; i < report->members.files.count; i++) {
        cli_files_read(&files, report->members.files.values[i]);
    }
    cli_files_read(&files, report->start != NULL ? cli_policy_file(report->start) : NULL);
    cli_files_read(&files, report->compared.policy != NULL ? cli_policy_file(report->compared.policy) : NULL);
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
    if (status == NADIR_OK) {
        status = cli_files_check_format(run, report->kernel_path);
    }
    if (status == NADIR_OK) {
        status = cli_gnuplot_check(run, report->frontier.plot_path);
    }
    return status;
}

static nadir_status run_all(cli_run *run, const nadir_read_settings *reading, cli_ball *asked,
                            cli_optimize *report)
{
    nadir_model *model = NULL;
    nadir_ball ball;
    nadir_status status = check_files(run, reading, asked, report);
    if (status == NADIR_OK && report->frontier.radii_text != NULL) {
        status = cli_radii_parse(run, "--radii", report->frontier.radii_text, &report->frontier.radii);
    }
    if (status == NADIR_OK) {
        status = cli_input_read(run, reading, &report->input, &model);
    }
    if (status == NADIR_OK) {
        status = cli_ball_get(run, model, asked, &ball);
    }
    if (status == NADIR_OK) {
        status = optimize(run, reading, model, asked, &ball, report);
    }
    cli_frontier_clear(&report->frontier);
    cli_explain_clear(&report->damage);
    cli_ball_clear(run, asked);
    cli_union_clear(run, &report->members);
    cli_input_close(&report->input, model);
    return status;
}

static int optimize_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS];
    nadir_read_settings reading;
    nadir_read_settings_default(&reading);
    int certify = NADIR_CERTIFY_AUTO;
    int64_t evaluations = -1;
    cli_ball ball = {0};
    cli_optimize report = {.result.size = sizeof report.result,
                           .evaluation.size = sizeof report.evaluation,
                           .compared.robust.size = sizeof report.compared.robust};
    nadir_robust_optimum_settings *settings = &report.settings;
    nadir_robust_optimum_settings_default(settings);
    const cli_option own[] = {
        {"--out", CLI_TEXT, "POLICY", NULL, &report.input.policy_name,
         "where to write the policy (default: the first states are printed)"},
        {"--policy", CLI_TEXT, "POLICY", NULL, &report.compared.policy,
         "a policy to set beside the robust one: a file, uniform or optimal"},
        {"--plot", CLI_TEXT, "FILE", NULL, &report.frontier.plot_path,
         "draw the nominal against the worst return of the robust policies of many\n"
         "radii, .svg or .png (by gnuplot)"},
        {"--radii", CLI_TEXT, "LO:HI:N", NULL, &report.frontier.radii_text,
         "these radii; without --plot as a table (default of --plot: 11, from 0 to\n"
         "that of the ball)"},
        cli_union_option(&report.members),
        {"--gap", CLI_NUMBER, "EPS", NULL, &settings->gap,
         "how close the bounds are to be, relative to the return (default 1e-6)"},
        {"--time-limit", CLI_NUMBER, "SECONDS", NULL, &settings->time_limit,
         "how long it may take, frontier included"},
        {"--checkpoint", CLI_TEXT, "FILE", NULL, &settings->checkpoint,
         "keep what it takes to go on in this file, whole at every moment"},
        {"--resume", CLI_TEXT, "FILE", NULL, &settings->resume,
         "go on from a checkpoint of the same model, ball and method"},
        {"--kernel", CLI_TEXT, "FILE", NULL, &report.kernel_path,
         "write the worst kernel for the policy: .npz, for nadir verify"},
        {"--witness", CLI_TEXT, "FILE", NULL, &report.witness_path,
         "write the numbers that prove the bounds of its worst return, as JSON"},
        {"--certify", CLI_CHOICE, NULL, "off|auto|strict", &certify,
         "how much work the proof may cost: none, in proportion, or all there is\n"
         "(default: auto)"},
        CLI_RARE,
        {"--time", CLI_NUMBER, "SECONDS", NULL, &settings->proof_time_limit,
         "how long the proof of the policy's worst return may take with\n"
         "--certify strict (default 10; inf: until it is proven)"},
        {"--start", CLI_TEXT, "POLICY", NULL, &report.start,
         "the policy to begin with: a file, uniform or optimal (default: optimal,\n"
         "the best one for the nominal kernel)"},
        {"--max-evaluations", CLI_INTEGER, "N", NULL, &evaluations,
         "policies whose worst kernel may be looked for (default 1000)"},
        {"--checkpoint-interval", CLI_NUMBER, "SECONDS", NULL, &settings->checkpoint_seconds,
         "at least so long between two checkpoints, 0: after every step (default 1)"},
        {"--method", CLI_NAME, NULL, "auto|quasi-newton|spectral|paper|bellman", &settings->method,
         "how the policy is improved: see docs/policy.md (default: auto)"},
        {"--step", CLI_NUMBER, "ALPHA", NULL, &settings->step,
         "of method paper: the size of its steps\n"
         "(default: (1 - discount) / range of the rewards)"},
        cli_backend_option(&settings->backend),
        cli_engine_option(run),
        cli_engine_options_option(run),
        {0},
    };
    int exit;
    if (!cli_parse_model_command(run, &cli_command_optimize, argc, argv, own, &ball, 1, positionals, about,
                                 &reading, &exit)) {
        return exit;
    }
    static const char *const single[] = {"--plot",   "--radii", "--checkpoint", "--resume",
                                         "--method", "--step",  "--engine",     NULL};
    const bool used[] = {report.frontier.plot_path != NULL, report.frontier.radii_text != NULL,
                         settings->checkpoint != NULL,      settings->resume != NULL,
                         settings->method != NULL,          settings->step > 0,
                         run->engine_name != NULL};
    if (!cli_union_check(run, &report.members, single, used)) {
        return CLI_EXIT_USAGE;
    }
    report.input.model_path = positionals[0];
    report.watch =
        (cli_watch){run,
                    settings->time_limit,
                    evaluations >= 0 ? evaluations : 0,
                    "",
                    settings->gap,
                    0,
                    0,
                    report.frontier.plot_path != NULL || report.frontier.radii_text != NULL ? 0.2 : 0.9};
    report.draws = report.frontier.plot_path != NULL || report.frontier.radii_text != NULL;
    settings->evaluations_limit = evaluations >= 0 ? evaluations : settings->evaluations_limit;
    settings->certify = (nadir_certify)certify;
    settings->watch = watch_step;
    settings->watch_user = &report.watch;
    nadir_status status = cli_open(run);
    cli_progress_part(run, 0, 0);
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

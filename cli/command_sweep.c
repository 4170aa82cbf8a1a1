/* command_sweep.c: nadir sweep: what a policy is worth as the ball of kernels grows. */
#include "files.h"
#include "gnuplot.h"
#include "horizon.h"
#include "sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "The risk curve of a policy: its worst return over balls of growing radius, from one factorisation, "
    "with\n"
    "bounds. Everything is as for nadir evaluate, but that --radius takes the first radius, the last one "
    "and\n"
    "how many there are.\n"
    "\n"
    "A model that brings a ball with it, as nadir fit writes them, needs no --radius.\n"
    "\n"
    "Ctrl-C prints the radii that are finished. With --checkpoint they are kept, even if the machine stops,\n"
    "and --resume goes on.\n"
    "\n"
    "On the free domain radii at or past breakdown are left out, with a warning.\n"
    "\n"
    "Examples:\n"
    "  nadir sweep model.npz --policy uniform --radius 0:0.5:50 --plot risk.svg\n"
    "  nadir sweep model.npz --policy optimal --policy robust.csv --radius 0:0.5:21 --plot risk.svg\n"
    "  nadir sweep model.npz --policy best.csv --radius 0.01:0.2:20 --sets nonrect,s,sa --csv risk.csv\n"
    "  nadir sweep model.npz --policy optimal --radius 0:1:50 --domains simplex,support --plot risk.png";

const nadir_robust *cli_sweep_any_answer(const cli_sweep *sweep)
{
    int place = 0;
    while (place + 1 < sweep->curves_count && sweep->curves[place].count == 0) {
        place++;
    }
    return sweep->curves[place].results;
}

const char *cli_curve_name(const cli_curve *curve, char name[96])
{
    (void)snprintf(name, 96, "%.60s, %s, %s", curve->policy, nadir_set_name(curve->set),
                   nadir_domain_name(curve->domain));
    return name;
}

/* ---------------------------------------------------------------------------------------- question */

/* The places of the words of "a,b" among `names`, each once; returns how many, -1: something else is there.
 */
static int parse_list(const char *text, const char *const names[3], int places[3])
{
    int count = 0;
    for (const char *self = text; self != NULL;) {
        const char *comma = strchr(self, ',');
        const size_t length = comma != NULL ? (size_t)(comma - self) : strlen(self);
        int place = 0;
        while (place < 3 && (strlen(names[place]) != length || strncmp(names[place], self, length) != 0)) {
            place++;
        }
        for (int i = 0; i < count; i++) {
            place = places[i] == place ? 3 : place;
        }
        if (place == 3) {
            return -1;
        }
        places[count++] = place;
        self = comma != NULL ? comma + 1 : NULL;
    }
    return count;
}

/* What a list says, or else the one choice, which is -1 where that is the model's. */
static nadir_status choose(cli_run *run, const char *option, const char *list, const char *const names[3],
                           int choice, int places[3], int *count)
{
    places[0] = choice;
    *count = 1;
    if (list == NULL) {
        return NADIR_OK;
    }
    if (choice >= 0) {
        return cli_fail(run, NADIR_ERROR_ARGUMENT, "--%s and --%ss cannot both be given", option, option);
    }
    *count = parse_list(list, names, places);
    return *count > 0
               ? NADIR_OK
               : cli_fail(run, NADIR_ERROR_ARGUMENT,
                          "--%ss: '%s' given, expected some of %s, %s and %s, with commas between them",
                          option, list, names[0], names[1], names[2]);
}

/* The curves that were asked for: every policy with every set on every domain. */
static nadir_status list_curves(cli_run *run, const cli_ball *ball, const char *sets, const char *domains,
                                cli_sweep *sweep)
{
    static const char *const set_names[3] = {"nonrect", "s", "sa"};
    static const char *const domain_names[3] = {"simplex", "support", "free"};
    int set_places[3];
    int domain_places[3];
    int set_count;
    int domain_count;
    nadir_status status = choose(run, "set", sets, set_names, ball->set, set_places, &set_count);
    if (status == NADIR_OK) {
        status = choose(run, "domain", domains, domain_names, ball->domain, domain_places, &domain_count);
    }
    for (int i = 0; status == NADIR_OK && i < sweep->policies.count * set_count * domain_count; i++) {
        cli_curve *curve = &sweep->curves[sweep->curves_count++];
        const int set = set_places[i / domain_count % set_count];
        curve->policy = sweep->policies.values[i / domain_count / set_count];
        const int domain = domain_places[i % domain_count];
        curve->set = set >= 0 ? (nadir_set)(NADIR_SET_NONRECT + set) : NADIR_SET_UNSAID;
        curve->domain = domain >= 0 ? (nadir_domain)(NADIR_DOMAIN_SIMPLEX + domain) : NADIR_DOMAIN_UNSAID;
    }
    return status;
}

/* Set and domain that the model provides. */
static void settle_curves(cli_sweep *sweep)
{
    for (int c = 0; c < sweep->curves_count; c++) {
        cli_curve *curve = &sweep->curves[c];
        if (curve->set == NADIR_SET_UNSAID) {
            curve->set =
                sweep->input.view.set != NADIR_SET_UNSAID ? sweep->input.view.set : NADIR_SET_NONRECT;
        }
        if (curve->domain == NADIR_DOMAIN_UNSAID) {
            curve->domain = cli_domain_of(&sweep->input.view);
        }
    }
}

/* ------------------------------------------------------------------------------------------ answer */

/* How many radii of the curve have a result; warns if not all. */
static void look_at_curve(cli_run *run, const cli_sweep *sweep, cli_curve *curve)
{
    char name[96];
    char number[2][32];
    const nadir_robust *last = &curve->results[sweep->radii.count - 1];
    while (curve->count < sweep->radii.count && curve->results[curve->count].stop_reason != NULL &&
           !isnan(curve->results[curve->count].robust_return)) {
        curve->count++;
    }
    curve->breakdown = sweep->interrupted ? NAN : last->breakdown_radius;
    if (curve->count < sweep->radii.count && !sweep->interrupted) {
        cli_warn(
            run, "%s: %lld of %lld radii, from %s on, are left out: at or past breakdown, which is at %s%s",
            cli_curve_name(curve, name), (long long)(sweep->radii.count - curve->count),
            (long long)sweep->radii.count, cli_number(cli_radii_get(&sweep->radii, curve->count), number[0]),
            curve->set == NADIR_SET_NONRECT && last->norm == 2 ? "" : "or below ",
            cli_number(curve->breakdown, number[1]));
    }
}

/* One curve; an empty one where no radius has a result on the free domain. */
static nadir_status find_curve(cli_run *run, nadir_model *model, nadir_solver *solver, const nadir_ball *ball,
                               const nadir_robust_settings *settings, cli_sweep *sweep, const double *factors,
                               cli_curve *curve)
{
    nadir_ball own = *ball;
    own.set = curve->set;
    own.domain = curve->domain;
    const int64_t done = curve->count; /* from a checkpoint */
    char other[65];
    char *digest = curve == sweep->curves ? sweep->input.policy_digest : other;
    const nadir_status status =
        done == sweep->radii.count ? NADIR_OK
        : sweep->horizon > 0
            ? cli_horizon_robust(run, model, sweep->horizon, curve->policy, digest, &own, settings,
                                 sweep->radii.count - done, factors + done, curve->results + done, NULL)
            : nadir_solver_robust_many(run->context, solver, &own, settings, sweep->radii.count - done,
                                       factors + done, curve->results + done);
    if (status == NADIR_ERROR_INTERRUPTED) {
        sweep->interrupted = true;
        cli_obey_interrupt();
    }
    if (status == NADIR_OK || sweep->interrupted ||
        (status == NADIR_ERROR_NOT_CONVERGED && curve->results[0].stop_reason != NULL)) {
        look_at_curve(run, sweep, curve);
    }
    if (status == NADIR_ERROR_ILL_POSED && sweep->curves_count > 1) {
        char name[96];
        curve->breakdown = NAN;
        cli_warn(run, "%s: no radius has an answer: %s", cli_curve_name(curve, name),
                 nadir_context_error(run->context));
        return NADIR_OK;
    }
    return status;
}

/* What cli_run calls during the work. */
static void tell_finished(cli_run *run, void *user)
{
    cli_sweep *sweep = user;
    (void)snprintf(run->headline, sizeof run->headline, "%" PRId64 " of %" PRId64 " radii finished",
                   cli_sweep_finished(sweep), sweep->radii.count * sweep->curves_count);
    if (sweep->checkpoint_path != NULL) {
        cli_sweep_keep_some(run, sweep);
    }
}

/* Room for all results, and those of a checkpoint. */
static nadir_status make_room(cli_run *run, cli_sweep *sweep)
{
    for (int c = 0; c < sweep->curves_count; c++) {
        cli_curve *curve = &sweep->curves[c];
        curve->results = calloc((size_t)sweep->radii.count, sizeof *curve->results);
        if (curve->results == NULL) {
            return NADIR_ERROR_MEMORY;
        }
        for (int64_t i = 0; i < sweep->radii.count; i++) {
            curve->results[i].size = sizeof *curve->results;
        }
    }
    cli_digest_wait(&sweep->input.model_digest);
    const nadir_status status = cli_sweep_digest_policies(run, sweep);
    return status == NADIR_OK && sweep->resume_path != NULL ? cli_sweep_resume(run, sweep) : status;
}

/* The solver of the policy of a curve: that of the curve before, if it is the same. */
static nadir_status find_solver(cli_run *run, nadir_model *model, const cli_setup *setup, cli_sweep *sweep,
                                int c, nadir_solver **solver)
{
    char *digest = sweep->input.policy_digest;
    char other[65];
    if (sweep->horizon > 0 || (c > 0 && sweep->curves[c].policy == sweep->curves[c - 1].policy)) {
        return NADIR_OK;
    }
    nadir_solver_free(*solver);
    *solver = NULL;
    return cli_input_solver(run, model, sweep->curves[c].policy, &setup->solver, c == 0 ? digest : other,
                            solver);
}

/* All curves; NADIR_ERROR_NOT_CONVERGED when one of them is not. */
static nadir_status find_curves(cli_run *run, nadir_model *model, const nadir_ball *ball,
                                const cli_setup *setup, const double *factors, cli_sweep *sweep)
{
    nadir_status status = NADIR_OK;
    nadir_solver *solver = NULL;
    bool converged = true;
    int64_t found = 0;
    for (int c = 0; c < sweep->curves_count && status == NADIR_OK; c++) {
        cli_curve *curve = &sweep->curves[c];
        status = find_solver(run, model, setup, sweep, c, &solver);
        if (status == NADIR_OK && c == 0) {
            status = make_room(run, sweep);
            run->meanwhile = tell_finished;
            run->meanwhile_user = sweep;
        }
        const double done = (double)curve->count / (double)sweep->radii.count; /* by an earlier run */
        cli_progress_part(run, (c + done) / sweep->curves_count, (double)(c + 1) / sweep->curves_count);
        if (status == NADIR_OK) {
            status = find_curve(run, model, solver, ball, &setup->robust, sweep, factors, curve);
        }
        if (status == NADIR_ERROR_NOT_CONVERGED && curve->count > 0) {
            converged = false;
            status = NADIR_OK;
        }
        found += curve->count;
        for (int64_t i = 0; i < curve->count; i++) {
            curve->results[i].radius =
                cli_radii_get(&sweep->radii, i); /* the exact radius, not a product with a factor */
        }
        if (status == NADIR_OK && sweep->checkpoint_path != NULL) {
            status = cli_sweep_keep(run, sweep);
        }
    }
    run->meanwhile = NULL;
    run->headline[0] = '\0';
    nadir_solver_free(solver);
    if (status == NADIR_OK && found == 0) {
        return NADIR_ERROR_ILL_POSED;
    }
    return status == NADIR_OK && !converged ? NADIR_ERROR_NOT_CONVERGED : status;
}

/* Those of the option; where there is none, from 0 to the model's own. */
static nadir_status settle_radii(cli_run *run, cli_ball *asked, cli_sweep *sweep, char last[32])
{
    enum { RADII = 21 };
    const nadir_model_data *view = &sweep->input.view;
    if (asked->radius_text != NULL) {
        asked->radius_text = cli_number(sweep->radii.last, last);
        return NADIR_OK;
    }
    if (view->radius_count == 0) {
        return cli_fail(run, NADIR_ERROR_ARGUMENT,
                        "--radius LO:HI:N is needed: the model has none of its own");
    }
    sweep->radii = (cli_radii){.count = RADII};
    for (int64_t i = 0; i < view->radius_count; i++) {
        sweep->radii.last = fmax(sweep->radii.last, view->radius[i]);
    }
    return NADIR_OK;
}

static nadir_status solve(cli_run *run, nadir_model *model, cli_setup *setup, cli_sweep *sweep)
{
    nadir_ball ball;
    char last[32];
    settle_curves(sweep);
    nadir_status status = settle_radii(run, &setup->ball, sweep, last);
    if (status == NADIR_OK) {
        status = cli_ball_get(run, model, &setup->ball, &ball);
    }
    double *factors = status == NADIR_OK ? calloc((size_t)sweep->radii.count, sizeof *factors) : NULL;
    if (status == NADIR_OK && factors == NULL) {
        status = NADIR_ERROR_MEMORY;
    }
    for (int64_t i = 0; status == NADIR_OK && i < sweep->radii.count; i++) {
        factors[i] = sweep->radii.last > 0 ? cli_radii_get(&sweep->radii, i) / sweep->radii.last : 1;
    }
    if (status == NADIR_OK) {
        status = find_curves(run, model, &ball, setup, factors, sweep);
    }
    free(factors);
    cli_ball_clear(run, &setup->ball);
    return status;
}

/* Writes the files first, then prints; results are printed even if a file cannot be written. */
static nadir_status report(cli_run *run, cli_sweep *sweep)
{
    nadir_status status = NADIR_OK;
    if (sweep->csv_path != NULL) {
        status = cli_sweep_write_csv(run, sweep);
        sweep->csv_path = status == NADIR_OK ? sweep->csv_path : NULL;
    }
    if (sweep->plot_path != NULL && !sweep->interrupted) {
        const nadir_status drawn = status == NADIR_OK ? cli_sweep_draw(run, sweep) : status;
        sweep->plot_path = drawn == NADIR_OK ? sweep->plot_path : NULL;
        status = drawn;
    }
    if (cli_starts_json(run)) {
        cli_sweep_print_json(run, sweep);
    } else {
        cli_sweep_print_text(run, sweep);
    }
    return status;
}

/* The radii that are finished, and how to go on. */
static nadir_status report_interrupted(cli_run *run, cli_sweep *sweep)
{
    int64_t finished = 0;
    for (int c = 0; c < sweep->curves_count; c++) {
        finished += sweep->curves[c].count;
    }
    if (finished == 0) {
        return cli_fail(run, NADIR_ERROR_INTERRUPTED, "interrupted before the first radius was finished");
    }
    nadir_status status = report(run, sweep);
    if (status == NADIR_OK && sweep->checkpoint_path != NULL) {
        status = cli_sweep_keep(run, sweep);
    }
    return status != NADIR_OK ? status
           : sweep->checkpoint_path != NULL
               ? cli_fail(run, NADIR_ERROR_INTERRUPTED,
                          "interrupted: %lld of %lld radii are finished; the same command with --resume %s "
                          "goes on",
                          (long long)finished, (long long)sweep->radii.count * sweep->curves_count,
                          sweep->checkpoint_path)
               : cli_fail(run, NADIR_ERROR_INTERRUPTED,
                          "interrupted: %lld of %lld radii are finished; --checkpoint FILE keeps them",
                          (long long)finished, (long long)sweep->radii.count * sweep->curves_count);
}

static nadir_status find_and_report(cli_run *run, cli_setup *setup, cli_sweep *sweep)
{
    nadir_model *model = NULL;
    nadir_read_settings reading = setup->reading;
    reading.total = !(sweep->horizon > 0);
    nadir_status status = cli_input_read(run, &reading, &sweep->input, &model);
    if (status == NADIR_OK) {
        status = solve(run, model, setup, sweep);
        cli_input_end(&sweep->input);
    }
    if (sweep->interrupted) {
        status = report_interrupted(run, sweep);
    } else if (status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED) {
        const nadir_robust *any = cli_sweep_any_answer(sweep);
        cli_input_warn(run, &sweep->input, any != NULL ? any->domain : NADIR_DOMAIN_SUPPORT);
        const nadir_status reported = report(run, sweep);
        status = reported != NADIR_OK ? reported : status;
    }
    for (int c = 0; c < sweep->curves_count; c++) {
        free(sweep->curves[c].results);
    }
    free(sweep->kept);
    free(sweep->policy_digests);
    cli_input_close(&sweep->input, model);
    return status;
}

static nadir_status check_files(cli_run *run, const nadir_read_settings *reading, const cli_ball *ball,
                                const cli_sweep *sweep)
{
    cli_files files = {0};
    cli_files_read_model(&files, sweep->input.model_path, reading);
    for (int i = 0; i < sweep->policies.count; i++) {
        cli_files_read(&files, cli_policy_file(sweep->policies.values[i]));
    }
    cli_files_read(&files, ball->scales_path);
    cli_files_write(&files, sweep->csv_path);
    cli_files_write(&files, sweep->plot_path);
    cli_files_write(&files, sweep->checkpoint_path); /* it may be the file to go on from */
    return cli_files_check(run, &files);
}

static int sweep_main(cli_run *run, int argc, char **argv)
{
    const char *sets = NULL;
    const char *domains = NULL;
    cli_setup setup = {.ball.radius_value = "LO:HI:N",
                       .ball.radius_help = "the first radius, the last one, and how many there are\n"
                                           "(default: 21 from 0 to the model's own)"};
    cli_setup_default(&setup);
    cli_sweep sweep = {.horizon = -1};
    const cli_option own[] = {
        cli_policies_option(&sweep.policies),
        {"--plot", CLI_TEXT, "FILE", NULL, &sweep.plot_path, "draw the curves: .svg or .png (by gnuplot)"},
        {"--csv", CLI_TEXT, "FILE", NULL, &sweep.csv_path, "write the curves as a table"},
        {"--checkpoint", CLI_TEXT, "FILE", NULL, &sweep.checkpoint_path,
         "keep the radii that are finished in this file, whole at every moment"},
        {"--resume", CLI_TEXT, "FILE", NULL, &sweep.resume_path,
         "go on from there; everything else as it was given"},
        {"--sets", CLI_TEXT, "LIST", NULL, &sets, "several sets at once: some of nonrect,s,sa"},
        {"--domains", CLI_TEXT, "LIST", NULL, &domains,
         "several domains at once: some of simplex,support,free"},
        {"--optimistic", CLI_FLAG, NULL, NULL, &setup.robust.optimistic,
         "the best case instead of the worst"},
        cli_horizon_option(&sweep.horizon),
        {"--certify", CLI_CHOICE, NULL, "off|auto|strict", &setup.certify,
         "how much work the proofs may cost: none, in proportion, or all there is\n"
         "(default: auto)"},
        CLI_RARE,
        {"--time", CLI_NUMBER, "SECONDS", NULL, &setup.robust.time_limit,
         "seconds that each proof may take with --certify strict, where it could go\n"
         "on (default 10; inf: until it is proven)"},
        {"--tolerance", CLI_NUMBER, "EPS", NULL, &setup.robust.tolerance,
         "of the robust returns, relative to the penalty (default 1e-9)"},
        cli_backend_option(&setup.solver.backend),
        cli_engine_option(run),
        cli_engine_options_option(run),
        {0},
    };
    int exit;
    if (!cli_setup_parse(run, &cli_command_sweep, argc, argv, own, about, &setup, &sweep.input, &exit)) {
        return exit;
    }
    if (!cli_needed(run, "--policy FILE|uniform|optimal", sweep.policies.count > 0)) {
        return CLI_EXIT_USAGE;
    }
    static const char *const infinite[] = {"--backend", "--engine", NULL};
    const bool used[] = {setup.solver.backend != NULL, run->engine_name != NULL};
    if (!cli_horizon_check(run, sweep.horizon, infinite, used)) {
        return CLI_EXIT_USAGE;
    }
    if (sweep.policies.count > CLI_SWEEP_POLICIES) {
        (void)cli_wrong(run, "--policy: at most 8 policies in one sweep");
        return CLI_EXIT_USAGE;
    }
    sweep.input.policy_name = sweep.policies.values[0];
    sweep.optimistic = setup.robust.optimistic;
    sweep.certify = setup.certify;
    run->digests = sweep.checkpoint_path != NULL || sweep.resume_path != NULL;
    cli_progress_part(run, 0, 0);
    nadir_status status = setup.ball.radius_text != NULL
                              ? cli_radii_parse(run, "--radius", setup.ball.radius_text, &sweep.radii)
                              : NADIR_OK;
    if (status == NADIR_OK) {
        status = list_curves(run, &setup.ball, sets, domains, &sweep);
    }
    if (status == NADIR_OK) {
        status = cli_gnuplot_check(run, sweep.plot_path);
    }
    if (status == NADIR_OK) {
        status = check_files(run, &setup.reading, &setup.ball, &sweep);
    }
    if (status == NADIR_OK) {
        status = cli_open(run);
    }
    if (status == NADIR_OK) {
        status = find_and_report(run, &setup, &sweep);
    }
    return cli_close(run, status);
}

const cli_command cli_command_sweep = {
    .name = "sweep",
    .arguments = "MODEL",
    .summary = "the worst case as the ball grows: risk curves, as numbers and as a picture",
    .main = sweep_main,
};

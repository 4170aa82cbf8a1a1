/* command_fit.c: nadir fit: from logged data to a model whose ball holds the true kernel. */
#include "files.h"
#include "fit.h"
#include "gnuplot.h"
#include "input.h"

#include <math.h>
#include <string.h>

static const char about[] =
    "A model from logged data: the nominal kernel, rewards, and a ball around it that holds the true kernel\n"
    "with the confidence asked for. It is written with all that evaluate, sweep and optimize need to know.\n"
    "\n"
    "DATA is a CSV table, or .npy with named fields; its columns tell what it holds:\n"
    "  transitions    idstatefrom,idaction,idstateto[,reward]    (or state,action,next_state,reward)\n"
    "  counts         the same, and count\n"
    "  trajectories   episode,step,state,action,next_state[,reward]\n"
    "  samples        idoutcome,idstatefrom,idaction,idstateto,probability[,reward]: of a posterior\n"
    "'-' is standard input. docs/fit.md tells what the confidence means, docs/tutorial.md shows an example.\n"
    "\n"
    "For a policy the guarantee of the ball stands beside those of the s- and sa-rectangular sets of the "
    "same\n"
    "confidence.\n"
    "\n"
    "Examples:\n"
    "  nadir fit log.csv --discount 0.95 --out model.npz\n"
    "  nadir fit log.csv --discount 0.95 --policy mine.csv --out model.npz --plot guarantees.svg\n"
    "  nadir optimize model.npz --out robust.csv";

bool cli_fit_has_guarantees(const cli_fit *fit)
{
    return !isnan(fit->result.nominal_return);
}

/* What was assumed of rows without data. */
static void tell_unvisited(cli_run *run, const cli_fit *fit)
{
    const nadir_fit_result *result = &fit->result;
    const char *how = fit->settings.unvisited != NULL ? fit->settings.unvisited : "uniform";
    const long long missing = (long long)(result->rows - result->rows_visited);
    if (missing > 0 && strcmp(result->data, "samples") != 0) {
        cli_warn(run, "%lld of %lld rows were never visited: %s%s (--unvisited %s)", missing,
                 (long long)result->rows,
                 strcmp(how, "uniform") == 0 ? "any distribution may be theirs"
                 : strcmp(how, "pin") == 0   ? "they are taken to be uniform, as if that were known"
                                             : "they are taken to stay where they are for ever",
                 fit->view.rewards != NULL ? ", at the lowest reward seen" : "", how);
    }
    if (fit->view.rewards == NULL) {
        cli_warn(run, "the data have no rewards, and so has the model: no policy can be evaluated");
    } else if (isnan(fit->view.discount)) {
        cli_warn(run, "without --discount no policy can be evaluated: no guarantees, and scales deviation");
    }
}

/* Scales and guarantees of the policy, and the model. */
static nadir_status find_ball(cli_run *run, nadir_fit *data, cli_fit *fit, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_policy *policy = NULL;
    nadir_model_data nominal;
    nadir_model_data_default(&nominal);
    nadir_model_view(nadir_fit_nominal(data), &nominal);
    if (nominal.rewards != NULL && !isnan(nominal.discount)) {
        status = cli_policy_get(run, nadir_fit_nominal(data), fit->policy_name, NULL, &policy);
    }
    if (status == NADIR_OK) {
        status = nadir_fit_model(run->context, data, policy, &fit->result, model);
    }
    nadir_policy_free(policy);
    return status;
}

/* Write the model first, then print that it was written. */
static nadir_status report(cli_run *run, const nadir_model *model, cli_fit *fit)
{
    nadir_model_data_default(&fit->view);
    nadir_model_view(model, &fit->view);
    fit->rewards = cli_rewards_get(model);
    tell_unvisited(run, fit);
    nadir_status status = cli_model_digest(run, model, fit->model_digest);
    if (status == NADIR_OK) {
        status = nadir_model_write(run->context, model, fit->model_path, NULL);
    }
    if (status != NADIR_OK) {
        return status;
    }
    if (fit->plot_path != NULL && !cli_fit_has_guarantees(fit)) {
        cli_warn(run, "%s is not drawn: there are no guarantees to show", fit->plot_path);
        fit->plot_path = NULL;
    }
    if (fit->plot_path != NULL) {
        status = cli_fit_draw(run, fit);
        fit->plot_path = status == NADIR_OK ? fit->plot_path : NULL;
    }
    if (cli_starts_json(run)) {
        cli_fit_json(run, fit);
    } else {
        cli_fit_text(fit);
    }
    return status;
}

static nadir_status find_and_report(cli_run *run, cli_fit *fit)
{
    nadir_fit *data = NULL;
    nadir_model *model = NULL;
    const double begun = cli_clock();
    nadir_status status = nadir_fit_read(run->context, fit->data_path, &fit->settings, &data);
    fit->load_seconds = cli_clock() - begun;
    if (status == NADIR_OK) {
        status = find_ball(run, data, fit, &model);
    }
    fit->total_seconds = cli_clock() - begun;
    if (status == NADIR_OK) {
        status = report(run, model, fit);
    }
    nadir_model_free(model);
    nadir_fit_free(data);
    return status;
}

static nadir_status check(cli_run *run, const cli_fit *fit)
{
    nadir_status status = NADIR_OK;
    const char *format;
    cli_files files = {0};
    cli_files_read(&files, fit->data_path);
    cli_files_read(&files, cli_policy_file(fit->policy_name));
    cli_files_read(&files, fit->settings.successors);
    cli_files_read(&files, fit->settings.initial);
    cli_files_write(&files, fit->model_path);
    cli_files_write(&files, fit->plot_path);
    if (!isnan(fit->settings.discount) && !(fit->settings.discount >= 0 && fit->settings.discount < 1)) {
        return cli_fail(run, NADIR_ERROR_ILL_POSED, "the discount is %g; expected at least 0 and less than 1",
                        fit->settings.discount);
    }
    status = cli_files_check(run, &files);
    if (status == NADIR_OK) {
        status = cli_files_check_folders(run, &files);
    }
    if (status == NADIR_OK) {
        status = cli_gnuplot_check(run, fit->plot_path);
    }
    if (status == NADIR_OK) {
        status = cli_open(run);
    }
    if (status == NADIR_OK) {
        status = nadir_write_format(run->context, fit->model_path, &format);
    }
    if (status == NADIR_OK && strcmp(format, "npz") != 0) {
        status = cli_fail(run, NADIR_ERROR_UNSUPPORTED,
                          "%s: the model is written as .npz, which alone holds a ball", fit->model_path);
    }
    return status;
}

static int fit_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS];
    cli_fit fit = {.policy_name = "optimal", .result.size = sizeof fit.result};
    nadir_fit_settings *settings = &fit.settings;
    nadir_fit_settings_default(settings);
    int set = 0;
    const char *unseen = NULL;
    cli_option of_rewards[CLI_REWARDS_OPTIONS];
    cli_rewards_options(&settings->frozen_rewards, &unseen, of_rewards);
    const cli_option own[] = {
        {"--out", CLI_TEXT, "MODEL", NULL, &fit.model_path, "where to write the model, .npz (needed)"},
        {"--confidence", CLI_NUMBER, "C", NULL, &settings->confidence,
         "that the true kernel is in the ball, 0 < C < 1 (default 0.95)"},
        cli_policy_option(&fit.policy_name),
        {"--plot", CLI_TEXT, "FILE", NULL, &fit.plot_path,
         "draw the guarantees of the three sets: .svg or .png (by gnuplot)"},
        {0},
    };
    const cli_option of_data[] = {
        {"--discount", CLI_NUMBER, "GAMMA", NULL, &settings->discount,
         "discount factor of the model, 0 <= GAMMA < 1; none: no guarantees"},
        {"--initial", CLI_TEXT, "MU", NULL, &settings->initial,
         "initial distribution: uniform, a state's number, or a file\n"
         "(default: how the episodes of the data began, else uniform)"},
        {"--costs", CLI_FLAG, NULL, NULL, &settings->costs, "the rewards are costs: negate them"},
        {"--states", CLI_INTEGER, "N", NULL, &settings->states,
         "states 0 to N-1 (default: up to the largest in the data)"},
        {"--actions", CLI_INTEGER, "N", NULL, &settings->actions,
         "actions 0 to N-1 in every state (default: up to the largest in the data)"},
        {"--ragged", CLI_FLAG, NULL, NULL, &settings->ragged,
         "each state has the actions up to the largest seen there"},
        {"--successors", CLI_TEXT, "all|seen|FILE", NULL, &settings->successors,
         "which are possible: all states (domain simplex), or those alone that\n"
         "were seen, or that a file of transitions lists (domain support)\n"
         "(default: all; for posterior samples: seen)"},
        {"--unvisited", CLI_TEXT, "uniform|pin|absorb", NULL, &settings->unvisited,
         "rows without data: anything may be true; uniform as if known; or they\n"
         "stay for ever at the lowest reward (default: uniform)"},
        of_rewards[0],
        of_rewards[1],
        {0},
    };
    const cli_option of_ball[] = {
        {"--method", CLI_TEXT, "posterior|bootstrap|distribution-free", NULL, &settings->method,
         "where the radius comes from: kernels drawn from the posterior, estimates\n"
         "from simulated data, or a bound for every kernel (default: posterior)"},
        {"--prior", CLI_NUMBER, "W", NULL, &settings->prior,
         "weight of the Dirichlet prior of a row, in observations (default 2;\n"
         "distribution-free: 0)"},
        {"--concentration", CLI_NUMBER, "A", NULL, &settings->concentration,
         "instead: weight of each possible successor, Dirichlet(A, ..., A)"},
        {"--scales", CLI_TEXT, "ones|deviation|occupancy|sensitivity|auto", NULL, &settings->scales,
         "how the ball is shared by the rows (default: auto, the one with the best\n"
         "guarantee for the policy)"},
        {"--norm", CLI_NUMBER, "P", NULL, &settings->norm,
         "the distance is the L_P norm, 1 to inf (default 2)"},
        {"--set", CLI_CHOICE, NULL, "nonrect|s|sa", &set, "the set that is written (default: nonrect)"},
        {"--samples", CLI_INTEGER, "N", NULL, &settings->samples,
         "kernels to draw (default 10000; for large models down to 1000)"},
        {0},
    };
    cli_option common[CLI_COMMON_OPTIONS];
    const cli_option_group groups[] = {
        {.title = "Options", .options = own},
        {.title = "The data", .options = of_data},
        {.title = "The ball", .options = of_ball},
        cli_common_options(run, common),
        {0},
    };
    int exit;
    if (!cli_parse(run, &cli_command_fit, argc, argv, groups, 1, positionals, about, &exit)) {
        return exit;
    }
    if (!cli_needed(run, "--out MODEL", fit.model_path != NULL) ||
        !cli_unseen_parse(run, settings->frozen_rewards, unseen, &settings->unseen,
                          &settings->unseen_value)) {
        return CLI_EXIT_USAGE;
    }
    settings->set = (nadir_set)(NADIR_SET_NONRECT + set);
    fit.data_path = positionals[0];
    nadir_status status = check(run, &fit);
    if (status == NADIR_OK) {
        status = find_and_report(run, &fit);
    }
    return cli_close(run, status);
}

const cli_command cli_command_fit = {
    .name = "fit",
    .arguments = "DATA",
    .summary = "from logged data to a model whose ball holds the true kernel",
    .main = fit_main,
};

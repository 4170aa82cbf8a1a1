/* command_fit.c: nadir fit: from logged data to a model whose ball holds the true kernel. */
#include "files.h"
#include "fit.h"
#include "gnuplot.h"
#include "input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char about[] =
    "What logged data promise of the return of one policy, or a model whose ball holds the true kernel.\n"
    "\n"
    "DATA is a CSV table, or .npy with named fields; its columns, in any order, tell what it holds:\n"
    "  transitions    state,action,next_state[,reward][,done][,truncated]    (or "
    "idstatefrom,idaction,idstateto)\n"
    "  counts         the same, and count\n"
    "  trajectories   episode[,step|time],state,action[,next_state][,reward][,done][,truncated]\n"
    "  samples        idoutcome,idstatefrom,idaction,idstateto,probability[,reward]: of a posterior\n"
    "States and actions are numbers from 0 or names. done: the line leads to one terminal state. truncated: "
    "the\n"
    "episode was cut off. --columns tells what other columns are called. Tables may be packed (.gz, .xz);\n"
    "'-' is standard input. docs/tutorial.md has examples, docs/fit.md the grounds of what is promised.\n"
    "\n"
    "Which --guarantee? return for a policy that you will run, kernel for policies that you do not have "
    "yet,\n"
    "posterior if you take the prior for true.\n"
    "  return (default)  of a policy chosen on the data: first order, measured in simulations, no theorem; "
    "with\n"
    "                    --policy FILE, made elsewhere: holds if the prior is right. Several --policy are "
    "compared\n"
    "                    under the same draws: a bound for each, and for the difference to the first.\n"
    "  kernel            a ball that holds the true kernel, and so bounds any policy: holds if the prior is "
    "right;\n"
    "                    --method distribution-free: proven for every true kernel\n"
    "  posterior         of any policy, also one chosen on the data: holds if the prior is right\n"
    "\n"
    "Examples:\n"
    "  nadir fit log.csv --discount 0.95 --policy-out policy.csv\n"
    "  nadir fit log.csv --discount 0.95 --policy mine.csv --out explain.npz\n"
    "  nadir fit log.csv --discount 0.95 --policy a.csv --policy b.csv --plot returns.svg\n"
    "  nadir fit log.csv --discount 0.95 --more 1000\n"
    "  nadir fit log.csv --discount 0.95 --guarantee kernel --out model.npz --plot guarantees.svg";

bool cli_fit_has_guarantees(const cli_fit *fit)
{
    return !isnan(fit->result.nominal_return);
}

/* The rows without data, and whether one of the policies takes any where the process goes. */
static nadir_status find_untried(cli_run *run, cli_fit *fit, int count, nadir_policy *const *policies)
{
    const nadir_fit_result *result = &fit->result;
    const double *unobserved = fit->view.unobserved;
    if (unobserved == NULL || result->rows - result->rows_visited - (result->terminal ? 1 : 0) == 0) {
        return NADIR_OK;
    }
    fit->untried = calloc((size_t)result->rows, 1);
    if (fit->untried == NULL) {
        return cli_fail(run, NADIR_ERROR_MEMORY, "no memory for %lld rows", (long long)result->rows);
    }
    for (int64_t row = 0; row < result->rows; row++) {
        fit->untried[row] = unobserved[row] >= 1;
        for (int i = 0; i < count && fit->untried[row]; i++) {
            fit->untried_taken |= nadir_policy_probabilities(policies[i])[row] > 0;
        }
    }
    return NADIR_OK;
}

/* What was assumed of rows without data, unless no policy takes them. */
static void tell_unvisited(cli_run *run, const cli_fit *fit)
{
    const nadir_fit_result *result = &fit->result;
    const char *how = fit->settings.unvisited != NULL        ? fit->settings.unvisited
                      : strcmp(fit->promised, "kernel") == 0 ? "uniform"
                                                             : "absorb";
    const bool matters = strcmp(fit->promised, "kernel") == 0 || fit->untried_taken;
    if (fit->untried != NULL && matters) {
        char list[CLI_FIT_LIST];
        cli_warn(run, "%lld of %lld rows were never visited (%s): %s%s (--unvisited %s)",
                 (long long)(result->rows - result->rows_visited - (result->terminal ? 1 : 0)),
                 (long long)(result->rows - (result->terminal ? 1 : 0)),
                 cli_fit_row_list(fit, fit->untried, list),
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

/* A policy file may call its columns as the data do. */
static nadir_status get_policy(cli_run *run, nadir_fit *data, const cli_fit *fit, const char *name,
                               nadir_policy **policy)
{
    nadir_model *model = nadir_fit_nominal(data);
    return cli_policy_file(name) != NULL && access(name, F_OK) == 0
               ? nadir_policy_read_columns(run->context, model, name, fit->settings.columns, policy)
               : cli_policy_get(run, model, name, NULL, policy);
}

/* Scales and guarantees of the policy, and the model. */
static nadir_status find_ball(cli_run *run, nadir_fit *data, cli_fit *fit, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_policy *policy = NULL;
    nadir_model_data nominal;
    if (fit->policies.count > 1) {
        return cli_fail(run, NADIR_ERROR_UNSUPPORTED,
                        "several policies are compared by --guarantee return; with --guarantee kernel write "
                        "the model, then nadir evaluate MODEL --policy A --policy B --difference");
    }
    nadir_model_data_default(&nominal);
    nadir_model_view(nadir_fit_nominal(data), &nominal);
    if (fit->model_path == NULL) {
        return cli_fail(run, NADIR_ERROR_ARGUMENT, "%s--out MODEL is needed for a guarantee of the kernel",
                        nominal.rewards == NULL ? "the data have no rewards, and promise no return; "
                        : isnan(nominal.discount)
                            ? "--discount GAMMA is needed for a guarantee of the return; "
                            : "");
    }
    fit->policy_name = fit->policy_name != NULL ? fit->policy_name : "optimal";
    if (nominal.rewards != NULL && !isnan(nominal.discount)) {
        status = get_policy(run, data, fit, fit->policy_name, &policy);
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
    fit->nominal = model;
    fit->rewards = cli_rewards_get(model);
    nadir_status status = find_untried(run, fit, 0, NULL);
    if (status == NADIR_OK) {
        tell_unvisited(run, fit);
        status = cli_model_digest(run, model, fit->model_digest);
    }
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
        cli_fit_text(run, fit);
    }
    return status;
}

/* ---- A guarantee of the return ---- */

static nadir_status find_more(cli_run *run, nadir_fit *data, const nadir_policy *policy, cli_fit *fit)
{
    if (isnan(fit->more) && isnan(fit->target_penalty)) {
        return NADIR_OK;
    }
    fit->more_visits = calloc((size_t)fit->result.rows, sizeof(double));
    fit->more_share = calloc((size_t)fit->result.rows, sizeof(double));
    if (fit->more_visits == NULL || fit->more_share == NULL) {
        return cli_fail(run, NADIR_ERROR_MEMORY, "no memory for %lld rows", (long long)fit->result.rows);
    }
    return nadir_fit_more(run->context, data, policy, &fit->found, fit->more, fit->target_penalty,
                          &fit->more_found, fit->more_visits, fit->more_share);
}

static nadir_status write_results(cli_run *run, nadir_fit *data, const nadir_policy *policy,
                                  const nadir_model *model, cli_fit *fit)
{
    nadir_status status = NADIR_OK;
    if (fit->policy_out != NULL) {
        status = nadir_policy_write(run->context, nadir_fit_nominal(data), policy, fit->policy_out);
    }
    if (status == NADIR_OK && model != NULL) {
        status = cli_model_digest(run, model, fit->model_digest);
    }
    return status == NADIR_OK && model != NULL ? nadir_model_write(run->context, model, fit->model_path, NULL)
                                               : status;
}

/* The returns of the policies over the posterior, and bounds on them and their differences. */
static nadir_status compare(cli_run *run, nadir_fit *data, cli_fit *fit, int count,
                            nadir_policy *const *policies)
{
    fit->draws = nadir_fit_draws(data, count);
    fit->returns = malloc((size_t)count * (size_t)fit->draws * sizeof *fit->returns);
    if (fit->returns == NULL) {
        return cli_fail(run, NADIR_ERROR_MEMORY, "no memory for %d times %lld returns", count,
                        (long long)fit->draws);
    }
    return nadir_fit_compare(run->context, data, count, (const nadir_policy *const *)policies, &fit->compared,
                             fit->bounds.nominal, fit->bounds.guaranteed, fit->bounds.together,
                             fit->bounds.lead, fit->bounds.lower, fit->returns);
}

/* One policy: *chosen, given or not. */
static nadir_status find_one(cli_run *run, nadir_fit *data, cli_fit *fit, const nadir_policy *given,
                             nadir_policy **chosen)
{
    nadir_model *model = NULL;
    nadir_status status = nadir_fit_return(run->context, data, given, &fit->found, chosen,
                                           fit->model_path != NULL ? &model : NULL);
    if (status == NADIR_OK) {
        status = find_more(run, data, *chosen, fit);
    }
    if (status == NADIR_OK && fit->found.ties > 0) {
        fit->tied = calloc((size_t)fit->result.rows, 1);
        status =
            fit->tied == NULL
                ? cli_fail(run, NADIR_ERROR_MEMORY, "no memory for %lld rows", (long long)fit->result.rows)
                : nadir_fit_ties(run->context, data, *chosen, fit->found.weight, fit->tied);
    }
    if (status == NADIR_OK && fit->plot_path != NULL) {
        status = compare(run, data, fit, 1, chosen);
    }
    if (status == NADIR_OK) {
        status = write_results(run, data, *chosen, model, fit);
    }
    nadir_model_free(model);
    return status;
}

/* Whether the options go with these policies. */
static nadir_status check_policies(cli_run *run, const cli_fit *fit)
{
    const bool one = fit->model_path != NULL || fit->policy_out != NULL || !isnan(fit->more) ||
                     !isnan(fit->target_penalty);
    for (int i = 0; i < fit->policies.count; i++) {
        if (strcmp(fit->policies.values[i], "optimal") == 0 && strcmp(fit->promised, "return") == 0) {
            return cli_fail(
                run, NADIR_ERROR_UNSUPPORTED,
                "--policy optimal is made from the same data: leave it out, and a policy is chosen and its "
                "choice paid for, or take --guarantee posterior or kernel");
        }
    }
    return fit->policies.count > 1 && one
               ? cli_fail(run, NADIR_ERROR_UNSUPPORTED,
                          "--out, --policy-out, --more and --target-penalty are for one --policy, not for %d",
                          fit->policies.count)
               : NADIR_OK;
}

static nadir_status find_returns(cli_run *run, nadir_fit *data, cli_fit *fit, nadir_policy **policies,
                                 double begun)
{
    const int count = fit->policies.count;
    nadir_policy *given = NULL;
    nadir_status status = check_policies(run, fit);
    for (int i = 0; i < count && status == NADIR_OK; i++) {
        status = get_policy(run, data, fit, fit->policies.values[i], &policies[i]);
    }
    if (status == NADIR_OK && count > 1) {
        status = compare(run, data, fit, count, policies);
    } else if (status == NADIR_OK) {
        given = policies[0];
        policies[0] = NULL;
        status = find_one(run, data, fit, given, &policies[0]);
        nadir_policy_free(given);
    }
    if (status == NADIR_OK) {
        fit->policy = policies[0];
        status = find_untried(run, fit, count > 0 ? count : 1, policies);
    }
    if (status == NADIR_OK && fit->plot_path != NULL) {
        status = cli_fit_draw_returns(run, fit);
    }
    fit->total_seconds = cli_clock() - begun;
    if (status == NADIR_OK) {
        tell_unvisited(run, fit);
        if (count > 1) {
            cli_starts_json(run) ? cli_fit_compare_json(run, fit) : cli_fit_compare_text(run, fit);
        } else {
            cli_starts_json(run) ? cli_fit_return_json(run, fit) : cli_fit_return_text(run, fit);
        }
    }
    return status;
}

static nadir_status find_return(cli_run *run, nadir_fit *data, cli_fit *fit, double begun)
{
    nadir_policy *policies[CLI_LIST_LENGTH] = {NULL};
    nadir_status status = nadir_fit_describe(run->context, data, &fit->result);
    fit->nominal = nadir_fit_nominal(data);
    nadir_model_data_default(&fit->view);
    nadir_model_view(fit->nominal, &fit->view);
    fit->rewards = cli_rewards_get(fit->nominal);
    if (status == NADIR_OK) {
        status = find_returns(run, data, fit, policies, begun);
    }
    for (int i = 0; i < CLI_LIST_LENGTH; i++) {
        nadir_policy_free(policies[i]);
    }
    free(fit->more_visits);
    free(fit->more_share);
    free(fit->tied);
    free(fit->returns);
    return status;
}

/* Why the promise is of the kernel, and what to change. */
static const char *why_kernel(const cli_fit *fit)
{
    const nadir_fit_settings *settings = &fit->settings;
    return settings->guarantee != NULL         ? "leave out --guarantee kernel"
           : settings->method != NULL          ? "leave out --method"
           : settings->scales != NULL          ? "leave out --scales"
           : settings->set > NADIR_SET_NONRECT ? "leave out --set"
           : isnan(settings->discount)         ? "give --discount"
                                               : "it needs logged transitions with rewards";
}

static nadir_status find_and_report(cli_run *run, cli_fit *fit)
{
    nadir_fit *data = NULL;
    nadir_model *model = NULL;
    const double begun = cli_clock();
    nadir_status status = nadir_fit_read(run->context, fit->data_path, &fit->settings, &data);
    fit->load_seconds = cli_clock() - begun;
    fit->promised = status == NADIR_OK ? nadir_fit_promised(data) : NULL;
    if (status == NADIR_OK && strcmp(fit->promised, "kernel") != 0) {
        status = find_return(run, data, fit, begun);
    } else if (status == NADIR_OK &&
               (fit->policy_out != NULL || !isnan(fit->more) || !isnan(fit->target_penalty))) {
        status = cli_fail(run, NADIR_ERROR_UNSUPPORTED, "%s belongs to a guarantee of the return; %s",
                          fit->policy_out != NULL ? "--policy-out"
                          : !isnan(fit->more)     ? "--more"
                                                  : "--target-penalty",
                          why_kernel(fit));
    } else if (status == NADIR_OK) {
        status = find_ball(run, data, fit, &model);
        fit->total_seconds = cli_clock() - begun;
        status = status == NADIR_OK ? report(run, model, fit) : status;
    }
    free(fit->untried);
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
    for (int i = 0; i < fit->policies.count; i++) {
        cli_files_read(&files, cli_policy_file(fit->policies.values[i]));
    }
    cli_files_read(&files, fit->settings.successors);
    cli_files_read(&files, fit->settings.initial);
    cli_files_write(&files, fit->model_path);
    cli_files_write(&files, fit->plot_path);
    cli_files_write(&files, fit->policy_out);
    if (!isnan(fit->more) && !isnan(fit->target_penalty)) {
        return cli_fail(run, NADIR_ERROR_ARGUMENT, "--more and --target-penalty cannot both be given");
    }
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
    if (status == NADIR_OK && fit->model_path != NULL) {
        status = nadir_write_format(run->context, fit->model_path, &format);
    }
    if (status == NADIR_OK && fit->model_path != NULL && strcmp(format, "npz") != 0) {
        status = cli_fail(run, NADIR_ERROR_UNSUPPORTED,
                          "%s: the model is written as .npz, which alone holds a ball", fit->model_path);
    }
    return status;
}

static int fit_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS];
    cli_fit fit = {.result.size = sizeof fit.result,
                   .found.size = sizeof fit.found,
                   .more_found.size = sizeof fit.more_found,
                   .compared.size = sizeof fit.compared,
                   .more = NAN,
                   .target_penalty = NAN};
    nadir_fit_settings *settings = &fit.settings;
    nadir_fit_settings_default(settings);
    int set = 0;
    const char *unseen = NULL;
    cli_option of_rewards[CLI_REWARDS_OPTIONS];
    cli_rewards_options(&settings->frozen_rewards, &unseen, of_rewards);
    const cli_option own[] = {
        {"--guarantee", CLI_TEXT, "return|kernel|posterior", NULL, &settings->guarantee,
         "return for a policy that you will run, kernel for policies that you do not have\n"
         "yet, posterior if you take the prior for true (default: return; kernel where\n"
         "--method, --scales or --set is given, for samples, and without rewards or\n"
         "--discount)"},
        {"--confidence", CLI_NUMBER, "C", NULL, &settings->confidence,
         "of the promise, 0 < C < 1 (default 0.95)"},
        {"--policy", CLI_LIST, "POLICY", NULL, &fit.policies,
         "one made elsewhere: a file (.csv or .npy), or uniform; kernel and posterior:\n"
         "or optimal (default: chosen on the data; kernel: optimal). Given again: bounds\n"
         "for each, and for the difference of each to the first"},
        {"--policy-out", CLI_TEXT, "FILE", NULL, &fit.policy_out,
         "where to write the policy that the guarantee speaks of: .csv or .npy"},
        {"--more", CLI_NUMBER, "N", NULL, &fit.more,
         "where N more visits help the guarantee most, and what they are predicted to do"},
        {"--target-penalty", CLI_NUMBER, "X", NULL, &fit.target_penalty,
         "how many visits, and where, until return less guarantee is X"},
        {"--out", CLI_TEXT, "MODEL", NULL, &fit.model_path,
         "where to write the model with its ball, .npz; needed for kernel"},
        {"--plot", CLI_TEXT, "FILE", NULL, &fit.plot_path,
         "draw the returns over the posterior with the guarantee, or (kernel) the\n"
         "guarantees of the three sets: .svg or .png (by gnuplot)"},
        {0},
    };
    const cli_option of_data[] = {
        {"--discount", CLI_NUMBER, "GAMMA", NULL, &settings->discount,
         "discount factor of the model, 0 <= GAMMA < 1; none: no guarantees"},
        {"--initial", CLI_TEXT, "MU", NULL, &settings->initial,
         "initial distribution: uniform, a state's number, or a file\n"
         "(default: how the episodes of the data began, else uniform)"},
        {"--columns", CLI_TEXT, "state=NAME,...", NULL, &settings->columns,
         "what columns are called, of the data and of policy files: state, action, reward,\n"
         "next_state, done, truncated, episode, time, step, count; others are not used"},
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
         "rows without data: anything may be true (kernel alone); uniform as if known; or\n"
         "they stay for ever at the lowest reward (default: absorb; kernel: uniform)"},
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
    if (!cli_unseen_parse(run, settings->frozen_rewards, unseen, &settings->unseen,
                          &settings->unseen_value)) {
        return CLI_EXIT_USAGE;
    }
    settings->set = (nadir_set)(NADIR_SET_NONRECT + set);
    fit.data_path = positionals[0];
    fit.policy_name = fit.policies.values[0];
    nadir_status status = check(run, &fit);
    if (status == NADIR_OK) {
        status = find_and_report(run, &fit);
    }
    return cli_close(run, status);
}

const cli_command cli_command_fit = {
    .name = "fit",
    .arguments = "DATA",
    .summary = "from logged data to a policy and what its return is at least",
    .main = fit_main,
};

/* fit_print.c: what nadir fit prints; see fit.h. */
#include "fit.h"

#include "explain.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void guarantee_json(cli_json *json, const nadir_fit_guarantee *guarantee, double nominal)
{
    cli_json_object(json, NULL);
    cli_json_text(json, "set", nadir_set_name(guarantee->set));
    if (guarantee->set == NADIR_SET_NONRECT) {
        cli_json_text(json, "scales", guarantee->scales);
    }
    cli_json_double(json, "radius", guarantee->radius);
    cli_json_double(json, "robust_return", guarantee->robust_return);
    cli_json_double(json, "lower_bound", guarantee->lower_bound);
    cli_json_double(json, "penalty", nominal - guarantee->lower_bound);
    cli_json_bool(json, "certified", guarantee->certified);
    cli_json_object_end(json);
}

/* ---- The data ---- */

static int64_t state_of(const cli_fit *fit, int64_t row)
{
    int64_t low = 0;
    int64_t high = fit->view.states;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        low = fit->view.state_rows[middle] <= row ? middle : low;
        high = fit->view.state_rows[middle] <= row ? high : middle;
    }
    return low;
}

const char *cli_fit_row_label(const cli_fit *fit, int64_t row, char text[CLI_FIT_LABEL])
{
    const int64_t state = state_of(fit, row);
    const nadir_damage place = {.row = row, .action = row - fit->view.state_rows[state]};
    char name[CLI_FIT_LABEL / 2 - 1];
    char action[CLI_FIT_LABEL / 2 - 1];
    (void)snprintf(text, CLI_FIT_LABEL, "%s, %s", cli_explain_state(fit->nominal, state, sizeof name, name),
                   cli_explain_action(fit->nominal, &place, sizeof action, action));
    return text;
}

const char *cli_fit_row_list(const cli_fit *fit, const unsigned char *marked, char text[CLI_FIT_LIST])
{
    enum { NAMED = 4 };
    int64_t count = 0;
    text[0] = '\0';
    for (int64_t row = 0; row < fit->view.rows; row++) {
        char label[CLI_FIT_LABEL];
        const size_t used = strlen(text);
        if (marked[row] && count < NAMED) {
            (void)snprintf(text + used, CLI_FIT_LIST - used, "%s%s", count > 0 ? "; " : "",
                           cli_fit_row_label(fit, row, label));
        }
        count += marked[row] ? 1 : 0;
    }
    if (count > NAMED) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, CLI_FIT_LIST - used, "; and %" PRId64 " more", count - NAMED);
    }
    return text;
}

void cli_fit_row_json(cli_json *json, const cli_fit *fit, int64_t row)
{
    const int64_t state = state_of(fit, row);
    const char *name = nadir_model_state_name(fit->nominal, state);
    const char *action = nadir_model_action_name(fit->nominal, row);
    cli_json_integer(json, "state", state);
    cli_json_integer(json, "action", row - fit->view.state_rows[state]);
    if (name != NULL) {
        cli_json_text(json, "state_name", name);
    }
    if (action != NULL) {
        cli_json_text(json, "action_name", action);
    }
}

/* Where episodes start: states with their probability; null where it is uniform over all. */
static void start_json(cli_json *json, const cli_fit *fit)
{
    if (cli_start_is_uniform(&fit->view)) {
        cli_json_text(json, "start", "uniform");
        return;
    }
    cli_json_array(json, "start");
    for (int64_t state = 0; state < fit->view.states; state++) {
        if (fit->view.initial[state] > 0) {
            const char *name = nadir_model_state_name(fit->nominal, state);
            cli_json_object(json, NULL);
            cli_json_integer(json, "state", state);
            if (name != NULL) {
                cli_json_text(json, "state_name", name);
            }
            cli_json_double(json, "probability", fit->view.initial[state]);
            cli_json_object_end(json);
        }
    }
    cli_json_array_end(json);
}

void cli_fit_data_json(cli_json *json, const cli_fit *fit)
{
    const nadir_fit_result *result = &fit->result;
    cli_json_text(json, "data", fit->data_path);
    cli_json_text(json, "data_kind", result->data);
    cli_json_integer(json, "observations", result->observations);
    cli_json_double(json, "total_count", result->total);
    cli_json_integer(json, "dropped", result->dropped);
    cli_json_integer(json, "episodes", result->episodes);
    cli_json_bool(json, "terminal", result->terminal);
    cli_json_integer(json, "states", result->states);
    cli_json_integer(json, "rows", result->rows);
    cli_json_integer(json, "rows_visited", result->rows_visited);
    cli_json_integer(json, "rows_unvisited",
                     result->rows - result->rows_visited - (result->terminal ? 1 : 0));
    cli_json_integer(json, "rows_known", result->rows_known);
    cli_json_double(json, "visits_min", result->visits_min);
    cli_json_double(json, "visits_median", result->visits_median);
    start_json(json, fit);
}

/* ---- JSON ---- */

void cli_fit_json(const cli_run *run, const cli_fit *fit)
{
    const nadir_fit_result *result = &fit->result;
    const nadir_fit_guarantee *written = &result->sets[fit->settings.set - NADIR_SET_NONRECT];
    cli_json json;
    cli_json_start(&json, stdout);
    cli_fit_data_json(&json, fit);
    cli_json_text(&json, "guarantee", fit->promised);
    cli_json_text(&json, "grounds", cli_fit_grounds(fit));
    cli_json_text(&json, "model", fit->model_path);
    cli_json_text(&json, "method", result->method);
    cli_json_double(&json, "confidence", result->confidence);
    cli_json_double(&json, "prior", result->prior);
    cli_json_integer(&json, "samples", result->samples);
    cli_json_text(&json, "set", nadir_set_name(fit->settings.set));
    cli_json_norm(&json, "norm", result->norm);
    cli_json_text(&json, "domain", nadir_domain_name(result->domain));
    cli_json_text(&json, "scales", result->candidates[result->chosen].scales);
    cli_json_double(&json, "radius", written->radius);
    cli_json_text(&json, "policy", cli_fit_has_guarantees(fit) ? fit->policy_name : NULL);
    cli_json_double(&json, "nominal_return", result->nominal_return);
    cli_json_double(&json, "lower_bound", written->lower_bound);
    cli_json_array(&json, "guarantees");
    for (int i = 0; i < 3; i++) {
        guarantee_json(&json, &result->sets[i], result->nominal_return);
    }
    cli_json_array_end(&json);
    cli_json_array(&json, "candidates");
    for (int64_t i = 0; i < result->candidates_count; i++) {
        guarantee_json(&json, &result->candidates[i], result->nominal_return);
    }
    cli_json_array_end(&json);
    cli_json_integer(&json, "nonzeros", fit->view.nonzeros);
    cli_json_double(&json, "discount", fit->view.discount);
    cli_rewards_json(&json, &fit->rewards);
    cli_json_text(&json, "model_sha256", fit->model_digest);
    cli_json_text(&json, "plot", fit->plot_path);
    cli_json_object(&json, "seconds");
    cli_json_double(&json, "load", fit->load_seconds);
    cli_json_double(&json, "radii", result->seconds_radii);
    cli_json_double(&json, "guarantees", result->seconds_guarantees);
    cli_json_double(&json, "total", fit->total_seconds);
    cli_json_object_end(&json);
    cli_json_close(run, &json);
}

/* ---- Text ---- */

void cli_fit_data_text(const cli_fit *fit)
{
    const nadir_fit_result *result = &fit->result;
    char list[CLI_FIT_LIST];
    char number[2][32];
    if (strcmp(result->data, "samples") == 0) {
        cli_block_line("data", "%" PRId64 " kernels of a posterior", result->samples);
    } else {
        char episodes[48] = "";
        if (result->episodes > 0) {
            (void)snprintf(episodes, sizeof episodes, " in %" PRId64 " episodes", result->episodes);
        }
        cli_block_line("data", "%s transitions%s; a row has %s of them (median), at least %s",
                       cli_number(result->total, (char[32]){0}), episodes,
                       cli_short(result->visits_median, number[0]), cli_short(result->visits_min, number[1]));
    }
    cli_block_line("rows", "%" PRId64 " of %" PRId64 " visited, %" PRId64 " states%s", result->rows_visited,
                   result->rows - (result->terminal ? 1 : 0), result->states,
                   result->terminal ? " with one for all that is done" : "");
    if (fit->untried != NULL) {
        cli_block_line("no data", "%s%s", cli_fit_row_list(fit, fit->untried, list),
                       strcmp(fit->promised, "kernel") == 0 ? ""
                       : fit->untried_taken                 ? ": taken by the policy all the same"
                                                            : ": not taken");
    }
    if (result->dropped > 0) {
        cli_block_line("dropped", "%" PRId64 " lines whose next state is not known", result->dropped);
    }
    char start[CLI_START_LENGTH];
    cli_block_line("start", "%s%s", cli_start_words(fit->nominal, start),
                   fit->settings.initial == NULL && result->episodes > 0 ? ", as the episodes of the data"
                                                                         : "");
}

static void print_method(const cli_fit *fit)
{
    const nadir_fit_result *result = &fit->result;
    const nadir_fit_guarantee *written = &result->sets[fit->settings.set - NADIR_SET_NONRECT];
    char number[32];
    char text[160];
    cli_rewards_text(&fit->rewards, result->domain, "rewards   ");
    cli_block_line("ball", "%s%s, written to %s",
                   cli_ball_words(written->radius, result->norm, fit->settings.set, result->domain, text),
                   fit->settings.set == NADIR_SET_NONRECT ? "" : " (the largest radius)", fit->model_path);
    if (fit->settings.set == NADIR_SET_NONRECT) {
        cli_block_line("scales", "%s", result->candidates[result->chosen].scales);
    }
    printf("  confidence %s that it holds the true kernel, by ", cli_number(result->confidence, number));
    if (strcmp(result->data, "samples") == 0) {
        printf("the kernels given\n");
    } else if (strcmp(result->method, "distribution-free") == 0) {
        printf("a bound for every kernel\n");
    } else {
        printf("%" PRId64 " %s\n", result->samples,
               strcmp(result->method, "bootstrap") == 0 ? "bootstrap data sets" : "kernels of the posterior");
    }
}

static void print_guarantees(const cli_fit *fit)
{
    static const char *const names[] = {"one ball", "s-rectangular", "sa-rectangular"};
    const nadir_fit_result *result = &fit->result;
    char number[3][32];
    cli_block_line("policy", "%s", fit->policy_name);
    if (fit->policies.count > 0 && result->candidates_count > 1) {
        cli_block_line(
            "", "scales made to measure for it: to compare policies in this ball, take --scales deviation");
    }
    printf("\n  %-16s %-13s %-13s %-12s %s\n", "set", "worst return", "guaranteed", "penalty", "certified");
    for (int i = 0; i < 3; i++) {
        const nadir_fit_guarantee *guarantee = &result->sets[i];
        printf("  %-16s %-13s %-13s %-12s %s\n", names[i], cli_short(guarantee->robust_return, number[0]),
               cli_short_down(guarantee->lower_bound, number[1]),
               cli_short_up(result->nominal_return - guarantee->lower_bound, number[2]),
               guarantee->certified ? "yes" : "no");
    }
    if (result->candidates_count > 1) {
        printf("\n  %-16s %-13s %s\n", "scales", "radius", "guaranteed");
        for (int64_t i = 0; i < result->candidates_count; i++) {
            const nadir_fit_guarantee *guarantee = &result->candidates[i];
            printf("  %-16s %-13s %s%s\n", guarantee->scales, cli_short(guarantee->radius, number[0]),
                   cli_short_down(guarantee->lower_bound, number[1]), i == result->chosen ? "   chosen" : "");
        }
    }
}

/* What the ball that is written promises of the policy, or that it holds the true kernel. */
static void print_verdict(const cli_fit *fit)
{
    const nadir_fit_result *result = &fit->result;
    const nadir_fit_guarantee *written = &result->sets[fit->settings.set - NADIR_SET_NONRECT];
    char number[3][32];
    (void)cli_number(result->confidence, number[1]);
    if (cli_fit_has_guarantees(fit)) {
        cli_verdict_line("Guaranteed", "%s with confidence %s   estimated %s",
                         cli_short_down(written->lower_bound, number[0]), number[1],
                         cli_short(result->nominal_return, number[2]));
    } else {
        cli_verdict_line("Ball", "of radius %s holds the true kernel with confidence %s",
                         cli_short(written->radius, number[0]), number[1]);
    }
    cli_verdict_line("Grounds", "%s", cli_fit_grounds(fit));
}

void cli_fit_text(const cli_run *run, const cli_fit *fit)
{
    print_verdict(fit);
    if (cli_fit_has_guarantees(fit)) {
        cli_next(run, "optimize", fit->model_path, false, " --out robust.csv");
    }
    cli_fit_data_text(fit);
    print_method(fit);
    if (cli_fit_has_guarantees(fit)) {
        print_guarantees(fit);
    }
}

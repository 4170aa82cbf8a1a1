/* fit_return_print.c: what nadir fit prints of a guarantee of the return; see fit.h. */
#include "fit.h"

#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the table of more data. */
enum { SHOWN = 10 };

const char *cli_fit_grounds(const cli_fit *fit)
{
    if (strcmp(fit->promised, "kernel") == 0) {
        return strcmp(fit->result.data, "samples") == 0
                   ? "of any policy: holds if the kernels given are drawn from the posterior"
               : strcmp(fit->result.method, "distribution-free") == 0
                   ? "of any policy: proven for every true kernel"
               : strcmp(fit->result.method, "bootstrap") == 0
                   ? "of any policy: holds if the estimate is off by as much as those from simulated data, "
                     "no theorem"
                   : "of any policy: holds if the prior is right (rows independent, Dirichlet)";
    }
    return strcmp(fit->promised, "posterior") == 0
               ? "of any policy: holds if the prior is right (rows independent, Dirichlet)"
           : fit->policies.count > 0
               ? "of a policy made elsewhere: holds if the prior is right (rows independent, Dirichlet)"
               : "of a policy chosen on these data: first order, measured in simulations, no theorem";
}

/* The rows by what they shall get, most first. */
static const double *sorting;

static int by_visits(const void *a, const void *b)
{
    const double x = sorting[*(const int64_t *)a];
    const double y = sorting[*(const int64_t *)b];
    return x > y ? -1 : x < y ? 1 : *(const int64_t *)a < *(const int64_t *)b ? -1 : 1;
}

/* Which rows get any; to be freed. */
static int64_t *list_rows(const cli_fit *fit, int64_t *count)
{
    int64_t *rows = malloc((size_t)fit->result.rows * sizeof *rows);
    *count = 0;
    for (int64_t row = 0; rows != NULL && row < fit->result.rows; row++) {
        if (fit->more_visits[row] > 0) {
            rows[(*count)++] = row;
        }
    }
    sorting = fit->more_visits;
    if (rows != NULL) {
        qsort(rows, (size_t)*count, sizeof *rows, by_visits);
    }
    return rows;
}

static void more_json(cli_json *json, const cli_fit *fit)
{
    const nadir_fit_more_result *more = &fit->more_found;
    int64_t count;
    int64_t *rows = list_rows(fit, &count);
    cli_json_object(json, "more");
    cli_json_double(json, "visits", more->visits);
    cli_json_double(json, "penalty", more->penalty);
    cli_json_double(json, "penalty_told", more->penalty_told);
    cli_json_double(json, "penalty_even", more->penalty_even);
    cli_json_double(json, "penalty_as_before", more->penalty_as_before);
    cli_json_array(json, "rows");
    for (int64_t i = 0; i < count; i++) {
        cli_json_object(json, NULL);
        cli_fit_row_json(json, fit, rows[i]);
        cli_json_double(json, "visits", fit->more_visits[rows[i]]);
        cli_json_double(json, "share", fit->more_share[rows[i]]);
        cli_json_object_end(json);
    }
    cli_json_array_end(json);
    cli_json_object_end(json);
    free(rows);
}

/* What every promise of a return has. */
static void start_json(cli_json *json, const cli_fit *fit)
{
    cli_json_start(json, stdout);
    cli_fit_data_json(json, fit);
    cli_json_text(json, "guarantee", fit->promised);
    cli_json_text(json, "grounds", cli_fit_grounds(fit));
    cli_json_double(json, "prior", fit->result.prior);
    cli_json_integer(json, "nonzeros", fit->view.nonzeros);
    cli_json_double(json, "discount", fit->view.discount);
    cli_rewards_json(json, &fit->rewards);
    cli_json_text(json, "plot", fit->plot_path);
    if (fit->more_visits != NULL) {
        more_json(json, fit);
    }
}

static void ties_json(cli_json *json, const cli_fit *fit)
{
    cli_json_array(json, "tied_rows");
    for (int64_t row = 0; fit->tied != NULL && row < fit->result.rows; row++) {
        if (fit->tied[row]) {
            cli_json_object(json, NULL);
            cli_fit_row_json(json, fit, row);
            cli_json_object_end(json);
        }
    }
    cli_json_array_end(json);
}

void cli_fit_return_json(const cli_run *run, const cli_fit *fit)
{
    const nadir_fit_return_result *found = &fit->found;
    cli_json json;
    start_json(&json, fit);
    cli_json_double(&json, "confidence", found->confidence);
    cli_json_double(&json, "guaranteed", found->guaranteed);
    cli_json_double(&json, "posterior_bound", found->posterior_bound);
    cli_json_double(&json, "nominal_return", found->nominal_return);
    cli_json_double(&json, "penalty", found->nominal_return - found->guaranteed);
    cli_json_double(&json, "deviation", found->deviation);
    cli_json_double(&json, "behaviour_return", found->behaviour_return);
    cli_json_double(&json, "level_used", found->level_used);
    cli_json_double(&json, "weight", found->weight);
    cli_json_integer(&json, "ties", found->ties);
    ties_json(&json, fit);
    cli_json_integer(&json, "draws", found->draws);
    cli_json_double(&json, "monte_carlo_confidence", found->monte_carlo_confidence);
    cli_json_integer(&json, "rows_barred", found->rows_barred);
    cli_json_double(&json, "reward_deviation", found->reward_deviation);
    cli_json_text(&json, "policy", fit->policy_name);
    cli_json_text(&json, "policy_out", fit->policy_out);
    cli_json_text(&json, "model", fit->model_path);
    cli_json_norm(&json, "norm", fit->result.norm);
    cli_json_text(&json, "domain", nadir_domain_name(fit->result.domain));
    cli_json_double(&json, "radius", found->radius);
    cli_json_double(&json, "lower_bound", found->radius_lower_bound);
    cli_json_bool(&json, "certified", found->radius_certified);
    cli_json_text(&json, "model_sha256", fit->model_path != NULL ? fit->model_digest : NULL);
    cli_json_object(&json, "seconds");
    cli_json_double(&json, "load", fit->load_seconds);
    cli_json_double(&json, "policy", found->seconds_policy);
    cli_json_double(&json, "draws", found->seconds_draws);
    cli_json_double(&json, "radius", found->seconds_radius);
    cli_json_double(&json, "total", fit->total_seconds);
    cli_json_object_end(&json);
    cli_json_close(run, &json);
}

void cli_fit_compare_json(const cli_run *run, const cli_fit *fit)
{
    const nadir_fit_comparison *compared = &fit->compared;
    const int count = fit->policies.count;
    cli_json json;
    start_json(&json, fit);
    cli_json_double(&json, "confidence", compared->confidence);
    cli_json_text(&json, "best", fit->policies.values[compared->best]);
    cli_json_bool(&json, "decided", compared->decided);
    cli_json_array(&json, "policies");
    for (int i = 0; i < count; i++) {
        cli_json_object(&json, NULL);
        cli_json_text(&json, "policy", fit->policies.values[i]);
        cli_json_double(&json, "nominal_return", fit->bounds.nominal[i]);
        cli_json_double(&json, "guaranteed", fit->bounds.guaranteed[i]);
        cli_json_double(&json, "guaranteed_together", fit->bounds.together[i]);
        cli_json_double(&json, "difference", fit->bounds.nominal[i] - fit->bounds.nominal[0]);
        cli_json_double(&json, "difference_lower", fit->bounds.lower[i * count]);
        cli_json_double(&json, "difference_upper", 0 - fit->bounds.lower[i]);
        cli_json_double(&json, "best_lead", fit->bounds.lead[i]);
        cli_json_object_end(&json);
    }
    cli_json_array_end(&json);
    cli_json_double(&json, "behaviour_return", compared->behaviour_return);
    cli_json_double(&json, "reward_deviation", compared->reward_deviation);
    cli_json_integer(&json, "draws", compared->draws);
    cli_json_double(&json, "monte_carlo_confidence", compared->monte_carlo_confidence);
    cli_json_object(&json, "seconds");
    cli_json_double(&json, "load", fit->load_seconds);
    cli_json_double(&json, "draws", compared->seconds_draws);
    cli_json_double(&json, "total", fit->total_seconds);
    cli_json_object_end(&json);
    cli_json_close(run, &json);
}

/* Whole visits that add up to the whole of `more`, rounded up: the largest remainders get one more. rows: [count], in
 * the order of what they get. To be freed. */
static double *round_visits(const cli_fit *fit, const int64_t *rows, int64_t count)
{
    double *whole = calloc((size_t)count + 1, sizeof *whole);
    double left = ceil(fit->more_found.visits - 1e-6);
    for (int64_t i = 0; whole != NULL && i < count; i++) {
        whole[i] = floor(fit->more_visits[rows[i]] + 1e-6);
        left -= whole[i];
    }
    while (whole != NULL && left >= 1 && count > 0) {
        int64_t most = 0;
        for (int64_t i = 1; i < count; i++) {
            most =
                fit->more_visits[rows[i]] - whole[i] > fit->more_visits[rows[most]] - whole[most] ? i : most;
        }
        whole[most] += 1;
        left -= 1;
    }
    return whole;
}

static void print_more(const cli_fit *fit)
{
    const nadir_fit_more_result *more = &fit->more_found;
    int64_t count;
    if (!(more->visits > 1e-6)) {
        char penalty[32];
        printf("\nno visits more: the penalty is %s\n", cli_short(more->penalty, penalty));
        return;
    }
    int64_t *rows = list_rows(fit, &count);
    double *visits = rows != NULL ? round_visits(fit, rows, count) : NULL;
    double rest = ceil(more->visits - 1e-6);
    char number[4][32];
    printf("\n%.0f visits more: predicted penalty %s where they help most, %s evenly, %s as before; now %s\n",
           rest, cli_short(more->penalty_told, number[0]), cli_short(more->penalty_even, number[1]),
           cli_short(more->penalty_as_before, number[2]), cli_short(more->penalty, number[3]));
    printf("    %10s  %16s  state, action\n", "more", "of the variance");
    for (int64_t i = 0; visits != NULL && i < count && i < SHOWN; i++) {
        char label[CLI_FIT_LABEL];
        printf("    %10.0f  %14.1f %%  %s\n", visits[i], 100 * fit->more_share[rows[i]],
               cli_fit_row_label(fit, rows[i], label));
        rest -= visits[i];
    }
    if (count > SHOWN) {
        printf("    %10.0f  %16s  %" PRId64 " others (--json lists them)\n", rest, "", count - SHOWN);
    }
    free(rows);
    free(visits);
}

/* ---- Text ---- */

static void print_draws(int64_t draws, double confidence)
{
    cli_block_line("draws",
                   "%" PRId64 " kernels of the posterior; each bound allows for chance in them (%g %%)",
                   draws, 100 * confidence);
}

static void print_behaviour(double behaviour, double deviation)
{
    char number[32];
    cli_block_line("behaviour", "%s, the return of the policy that made the data: the line to beat",
                   cli_short(behaviour, number));
    if (deviation > 0) {
        cli_block_line("rewards", "vary by %s: their means are drawn too", cli_short(deviation, number));
    }
}

static void print_choice(const cli_fit *fit)
{
    const nadir_fit_return_result *found = &fit->found;
    char number[2][32];
    if (found->guaranteed < found->posterior_bound) {
        cli_block_line("posterior", "%s if the prior is right and the choice is not paid for",
                       cli_short_down(found->posterior_bound, number[0]));
    }
    if (found->ties > 0) {
        char list[CLI_FIT_LIST];
        cli_block_line("choosing", "%" PRId64 " %s not told apart from those taken: %s", found->ties,
                       found->ties == 1 ? "row is" : "rows are", cli_fit_row_list(fit, fit->tied, list));
    }
    if (found->level_used < 1 - found->confidence) {
        cli_block_line("caution", "%s of the posterior is below the guarantee, in place of %s",
                       cli_percent(found->level_used, number[0]),
                       cli_percent(1 - found->confidence, number[1]));
    } else if (found->ties > 0) {
        cli_block_line("", "choosing among them costs nothing here");
    }
}

static void print_ball(const cli_fit *fit)
{
    const nadir_fit_return_result *found = &fit->found;
    char number[2][32];
    if (fit->model_path != NULL && !isnan(found->radius)) {
        cli_block_line("ball",
                       "radius %s, worst return %s, written to %s:", cli_short(found->radius, number[0]),
                       cli_short_down(found->radius_lower_bound, number[1]), fit->model_path);
        cli_block_line("", "explains the guarantee of this policy; does not hold the kernel");
    } else if (fit->model_path != NULL) {
        cli_block_line("ball", "none: no kernel of the domain returns as little; the model is %s",
                       fit->model_path);
    }
}

static void print_details(const cli_fit *fit)
{
    const nadir_fit_return_result *found = &fit->found;
    char number[32];
    printf("\n  guaranteed       %s\n", cli_number(found->guaranteed, number));
    printf("  posterior bound  %s\n", cli_number(found->posterior_bound, number));
    printf("  estimated        %s\n", cli_number(found->nominal_return, number));
    printf("  deviation        %s\n", cli_number(found->deviation, number));
    printf("  behaviour        %s\n", cli_number(found->behaviour_return, number));
    printf("  seconds          policy %.3g, draws %.3g, radius %.3g\n", found->seconds_policy,
           found->seconds_draws, found->seconds_radius);
}

void cli_fit_return_text(const cli_run *run, const cli_fit *fit)
{
    const nadir_fit_return_result *found = &fit->found;
    char number[2][32];
    cli_verdict_line(
        "Guaranteed", "%s with confidence %s   estimated %s", cli_short_down(found->guaranteed, number[0]),
        cli_number(found->confidence, (char[32]){0}), cli_short(found->nominal_return, number[1]));
    cli_verdict_line("Grounds", "%s", cli_fit_grounds(fit));
    cli_block_line("policy", "%s%s%s", fit->policies.count > 0 ? fit->policy_name : "chosen on these data",
                   fit->policy_out != NULL ? ", written to " : "",
                   fit->policy_out != NULL ? fit->policy_out : "");
    print_choice(fit);
    print_behaviour(found->behaviour_return, found->reward_deviation);
    cli_fit_data_text(fit);
    cli_rewards_text(&fit->rewards, NADIR_DOMAIN_UNSAID, "rewards   ");
    print_draws(found->draws, found->monte_carlo_confidence);
    print_ball(fit);
    if (fit->policies.count == 0 && fit->policy_out == NULL && fit->view.states <= SHOWN) {
        putchar('\n');
        cli_policy_head(fit->nominal, fit->policy);
    }
    if (fit->more_visits != NULL) {
        print_more(fit);
    }
    if (run->verbose) {
        print_details(fit);
    }
}

/* ---- Several policies ---- */

/* Which policy to run: the best one, and those that are not shown to be worse. */
static void print_decision(const cli_fit *fit)
{
    const nadir_fit_comparison *compared = &fit->compared;
    const int count = fit->policies.count;
    const char *best = fit->policies.values[compared->best];
    char number[32];
    char confidence[32];
    (void)cli_number(compared->confidence, confidence);
    if (compared->decided && count == 2) {
        cli_verdict_line("Better", "%s: it earns more than %s with confidence %s", best,
                         fit->policies.values[1 - compared->best], confidence);
    } else if (compared->decided) {
        cli_verdict_line("Better", "%s: it earns more than each of the others with confidence %s", best,
                         confidence);
    } else {
        char list[CLI_FIT_LIST] = "";
        for (int i = 0; i < count; i++) {
            const size_t used = strlen(list);
            if (i != compared->best && !(fit->bounds.lead[i] > 0)) {
                (void)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "",
                               fit->policies.values[i]);
            }
        }
        cli_verdict_line("Undecided", "the data do not tell %s from %s with confidence %s", best, list,
                         confidence);
    }
    cli_verdict_line("Guaranteed", "%s of %s, picked among %d, with confidence %s",
                     cli_short_down(fit->bounds.together[compared->best], number), best, count, confidence);
}

static void print_compare_details(const cli_fit *fit)
{
    const int count = fit->policies.count;
    for (int i = 0; i < count; i++) {
        char number[5][32];
        printf("\n  %s\n  guaranteed       %s; together %s\n", fit->policies.values[i],
               cli_number(fit->bounds.guaranteed[i], number[0]),
               cli_number(fit->bounds.together[i], number[1]));
        printf("  estimated        %s\n", cli_number(fit->bounds.nominal[i], number[2]));
        printf("  difference       %s to %s\n", cli_number(fit->bounds.lower[(int64_t)i * count], number[3]),
               cli_number(0 - fit->bounds.lower[i], number[4]));
    }
}

void cli_fit_compare_text(const cli_run *run, const cli_fit *fit)
{
    const int count = fit->policies.count;
    int width = 6;
    char number[5][32];
    for (int i = 0; i < count; i++) {
        const int length = (int)strlen(fit->policies.values[i]);
        width = length > width ? length : width;
    }
    print_decision(fit);
    printf("\n  %-*s  %10s  %10s  %10s  %10s  %10s\n", width, "policy", "estimated", "guaranteed",
           "difference", "at least", "at most");
    for (int i = 0; i < count; i++) {
        printf("  %-*s  %10s  %10s", width, fit->policies.values[i],
               cli_short(fit->bounds.nominal[i], number[0]),
               cli_short_down(fit->bounds.guaranteed[i], number[1]));
        if (i > 0 && fit->bounds.lower[(int64_t)i * count] == 0 && fit->bounds.lower[i] == 0) {
            printf("  the same policy as %s", fit->policies.values[0]);
        } else if (i > 0) {
            printf("  %10s  %10s  %10s",
                   cli_short(fit->bounds.nominal[i] - fit->bounds.nominal[0], number[2]),
                   cli_short_down(fit->bounds.lower[(int64_t)i * count], number[3]),
                   cli_short_up(-fit->bounds.lower[i], number[4]));
        }
        putchar('\n');
    }
    putchar('\n');
    cli_block_line("difference", "return less that of %s, under the same kernels", fit->policies.values[0]);
    cli_block_line("bounds", "each of the table holds with confidence %s on its own;",
                   cli_number(fit->compared.confidence, number[0]));
    cli_block_line("", "what stands above the table holds after looking at all of them (union bound)");
    cli_block_line("grounds",
                   "of policies made elsewhere: holds if the prior is right (rows independent, Dirichlet)");
    print_behaviour(fit->compared.behaviour_return, fit->compared.reward_deviation);
    cli_fit_data_text(fit);
    cli_rewards_text(&fit->rewards, NADIR_DOMAIN_UNSAID, "rewards   ");
    print_draws(fit->compared.draws, fit->compared.monte_carlo_confidence);
    if (run->verbose) {
        print_compare_details(fit);
    }
}

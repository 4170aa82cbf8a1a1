/* fit_return_print.c: what nadir fit prints of a guarantee of the return; see fit.h. */
#include "fit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the table of more data. */
enum { SHOWN = 10 };

const char *cli_fit_grounds(const cli_fit *fit)
{
    return strcmp(fit->promised, "posterior") == 0 ? "if the prior is right: rows independent, Dirichlet"
           : isnan(fit->found.weight)
               ? "of a policy made elsewhere: if the prior is right; measured for fixed truths"
               : "of a policy chosen on these data: first order, measured, no theorem";
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

static int64_t state_of(const cli_fit *fit, int64_t row)
{
    int64_t state = 0;
    while (fit->view.state_rows[state + 1] <= row) {
        state++;
    }
    return state;
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
        const int64_t state = state_of(fit, rows[i]);
        const char *name = nadir_model_state_name(fit->nominal, state);
        const char *action = nadir_model_action_name(fit->nominal, rows[i]);
        cli_json_object(json, NULL);
        cli_json_integer(json, "state", state);
        cli_json_integer(json, "action", rows[i] - fit->view.state_rows[state]);
        if (name != NULL) {
            cli_json_text(json, "state_name", name);
        }
        if (action != NULL) {
            cli_json_text(json, "action_name", action);
        }
        cli_json_double(json, "visits", fit->more_visits[rows[i]]);
        cli_json_double(json, "share", fit->more_share[rows[i]]);
        cli_json_object_end(json);
    }
    cli_json_array_end(json);
    cli_json_object_end(json);
    free(rows);
}

void cli_fit_return_json(const cli_run *run, const cli_fit *fit)
{
    const nadir_fit_return_result *found = &fit->found;
    cli_json json;
    cli_json_start(&json, stdout);
    cli_fit_data_json(&json, fit);
    cli_json_text(&json, "guarantee", fit->promised);
    cli_json_double(&json, "confidence", found->confidence);
    cli_json_double(&json, "guaranteed", found->guaranteed);
    cli_json_text(&json, "grounds", cli_fit_grounds(fit));
    cli_json_double(&json, "posterior_bound", found->posterior_bound);
    cli_json_double(&json, "nominal_return", found->nominal_return);
    cli_json_double(&json, "penalty", found->nominal_return - found->guaranteed);
    cli_json_double(&json, "deviation", found->deviation);
    cli_json_double(&json, "behaviour_return", found->behaviour_return);
    cli_json_double(&json, "level_used", found->level_used);
    cli_json_double(&json, "weight", found->weight);
    cli_json_integer(&json, "ties", found->ties);
    cli_json_integer(&json, "draws", found->draws);
    cli_json_double(&json, "monte_carlo_confidence", found->monte_carlo_confidence);
    cli_json_integer(&json, "rows_barred", found->rows_barred);
    cli_json_double(&json, "reward_deviation", found->reward_deviation);
    cli_json_text(&json, "policy", fit->policy_name);
    cli_json_text(&json, "policy_out", fit->policy_out);
    cli_json_text(&json, "model", fit->model_path);
    cli_json_double(&json, "prior", fit->result.prior);
    cli_json_norm(&json, "norm", fit->result.norm);
    cli_json_text(&json, "domain", nadir_domain_name(fit->result.domain));
    cli_json_double(&json, "radius", found->radius);
    cli_json_double(&json, "lower_bound", found->radius_lower_bound);
    cli_json_bool(&json, "certified", found->radius_certified);
    cli_json_integer(&json, "nonzeros", fit->view.nonzeros);
    cli_json_double(&json, "discount", fit->view.discount);
    cli_rewards_json(&json, &fit->rewards);
    cli_json_text(&json, "model_sha256", fit->model_path != NULL ? fit->model_digest : NULL);
    if (fit->more_visits != NULL) {
        more_json(&json, fit);
    }
    cli_json_object(&json, "seconds");
    cli_json_double(&json, "load", fit->load_seconds);
    cli_json_double(&json, "policy", found->seconds_policy);
    cli_json_double(&json, "draws", found->seconds_draws);
    cli_json_double(&json, "radius", found->seconds_radius);
    cli_json_double(&json, "total", fit->total_seconds);
    cli_json_object_end(&json);
    cli_json_close(run, &json);
}

static void print_more(const cli_fit *fit)
{
    const nadir_fit_more_result *more = &fit->more_found;
    int64_t count;
    int64_t *rows = list_rows(fit, &count);
    printf(
        "\n  %.0f visits more: predicted penalty %.6g where they help most, %.6g evenly, %.6g as before; now "
        "%.6g\n",
        ceil(more->visits - 1e-6), more->penalty_told, more->penalty_even, more->penalty_as_before,
        more->penalty);
    printf("    %10s  %16s  state, action\n", "more", "of the variance");
    for (int64_t i = 0; i < count && i < SHOWN; i++) {
        const int64_t state = state_of(fit, rows[i]);
        const int64_t action = rows[i] - fit->view.state_rows[state];
        const char *name = nadir_model_state_name(fit->nominal, state);
        const char *action_name = nadir_model_action_name(fit->nominal, rows[i]);
        printf("    %10.0f  %14.1f %%  ", ceil(fit->more_visits[rows[i]] - 1e-6),
               100 * fit->more_share[rows[i]]);
        name != NULL ? printf("%s", name) : printf("state %" PRId64, state);
        action_name != NULL ? printf(", %s\n", action_name) : printf(", action %" PRId64 "\n", action);
    }
    if (count > SHOWN) {
        printf("    and %" PRId64 " rows more (--json lists them)\n", count - SHOWN);
    }
    free(rows);
}

static void print_choice(const cli_fit *fit)
{
    const nadir_fit_return_result *found = &fit->found;
    printf("  policy         %s", isnan(found->weight) ? fit->policy_name : "chosen on these data");
    if (fit->policy_out != NULL) {
        printf(", written to %s", fit->policy_out);
    }
    printf("; return %.8g on the posterior mean\n", found->nominal_return);
    printf("  behaviour      %.8g, the return of the policy that made the data: the line to beat\n",
           found->behaviour_return);
    if (found->rows_barred > 0) {
        printf("                 %" PRId64 " rows without data are not taken: their states have others\n",
               found->rows_barred);
    }
    if (found->reward_deviation > 0) {
        printf("  rewards        vary by %.4g: their means are drawn too\n", found->reward_deviation);
    }
}

void cli_fit_return_text(const cli_fit *fit)
{
    const nadir_fit_return_result *found = &fit->found;
    char number[32];
    printf("%s: the return of one policy, from %s\n", fit->data_path, fit->result.data);
    cli_fit_data_text(fit);
    cli_rewards_text(&fit->rewards, "rewards       ");
    print_choice(fit);
    printf("  guaranteed     %.8g with confidence %s\n", found->guaranteed,
           cli_number(found->confidence, number));
    printf("                 %s\n", cli_fit_grounds(fit));
    printf("  posterior      %.8g, if the prior is right (rows independent, Dirichlet)\n",
           found->posterior_bound);
    if (found->ties > 0) {
        printf("  choosing       %" PRId64
               " rows are not told apart from those taken: level %.3g in place of %.3g\n",
               found->ties, found->level_used, 1 - found->confidence);
    }
    printf("  draws          %" PRId64 "; bounds hold against chance in them with probability %g\n",
           found->draws, found->monte_carlo_confidence);
    if (fit->model_path != NULL && !isnan(found->radius)) {
        printf("  ball           radius %.6g, worst return %.8g, written to %s:\n"
               "                 explains the guarantee; does not hold the kernel\n",
               found->radius, found->radius_lower_bound, fit->model_path);
    } else if (fit->model_path != NULL) {
        printf("  ball           none: no kernel of the domain returns as little; the model is %s\n",
               fit->model_path);
    }
    if (fit->more_visits != NULL) {
        print_more(fit);
    }
}

/* explain.c: which rows do the damage, as a table and as JSON; see explain.h. */
#include "explain.h"

#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 96, SHOWN = 10 };
/* Less than this share of what a row moves is not worth a line. */
#define LEAST_ASSUMED 1e-3

bool cli_explain_names(const cli_run *run, const cli_input *input)
{
    enum { NONZEROS = 10000000 };
    return !run->json && run->engine == NULL && input->view.nonzeros <= NONZEROS;
}

nadir_status cli_explain_get(cli_run *run, const nadir_worst *worst, int64_t count, cli_explain *explain)
{
    explain->damages = calloc((size_t)count, sizeof *explain->damages);
    if (explain->damages == NULL) {
        return cli_fail(run, NADIR_ERROR_MEMORY, "out of memory");
    }
    for (int64_t i = 0; i < count; i++) {
        explain->damages[i].size = sizeof *explain->damages;
    }
    return nadir_worst_explain(run->context, worst, count, explain->damages, &explain->shown,
                               &explain->changed, &explain->penalty);
}

void cli_explain_clear(cli_explain *explain)
{
    free(explain->damages);
    explain->damages = NULL;
}

const char *cli_explain_state(const nadir_model *model, int64_t state, size_t size, char *text)
{
    const char *name = state < 0 ? "" : nadir_model_state_name(model, state);
    if (name != NULL) {
        (void)snprintf(text, size, "%s", name);
    } else {
        (void)snprintf(text, size, "state %" PRId64, state);
    }
    return text;
}

const char *cli_explain_action(const nadir_model *model, const nadir_damage *damage, size_t size, char *text)
{
    const char *name = nadir_model_action_name(model, damage->row);
    if (name != NULL) {
        (void)snprintf(text, size, "%s", name);
    } else {
        (void)snprintf(text, size, "action %" PRId64, damage->action);
    }
    return text;
}

bool cli_explain_never_observed(const nadir_model *model, const nadir_damage *damage)
{
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    if (view.unobserved == NULL || damage->to < 0) {
        return false;
    }
    double p = view.dense != NULL ? view.dense[damage->row * view.states + damage->to] : 0;
    for (int64_t i = view.dense == NULL ? view.row_starts[damage->row] : 0;
         view.dense == NULL && i < view.row_starts[damage->row + 1]; i++) {
        p = view.columns[i] == damage->to ? view.probabilities[i] : p;
    }
    return p <= view.unobserved[damage->row];
}

/* What is left after the first `shown` rows. */
static nadir_damage sum_rest(const cli_explain *explain, int64_t shown)
{
    nadir_damage rest = {0};
    for (int64_t i = explain->changed - 1; i >= shown; i--) { /* the smallest first */
        rest.penalty += explain->damages[i].penalty;
        rest.share += explain->damages[i].share;
        rest.mass += explain->damages[i].mass;
    }
    return rest;
}

static int64_t count_shown(const cli_explain *explain, int64_t standard)
{
    const int64_t limit = explain->limit >= 0 ? explain->limit : standard;
    return limit < explain->changed ? limit : explain->changed;
}

static void print_line(const cli_explain *explain, const nadir_damage *damage, const char *place,
                       const char *way)
{
    printf("  %6.1f %%  %12.6g  %10.3g  %s%s%s\n", 100 * damage->share,
           explain->optimistic ? -damage->penalty : damage->penalty, damage->mass, place,
           *way != '\0' ? ": " : "", way);
}

/* " and 3 other moves": what the row does besides its largest move. */
static const char *say_more(const nadir_damage *damage, size_t size, char *text)
{
    const int64_t others = damage->moves - 1;
    text[0] = '\0';
    if (others > 0) {
        (void)snprintf(text, size, " and %" PRId64 " other move%s", others, others > 1 ? "s" : "");
    }
    return text;
}

/* Whether the successor that gains most is one that the row did not have, or was never seen to have. */
static const char *say_new(const nadir_model *model, const nadir_damage *damage)
{
    return damage->is_new != 0                         ? " (not in the model)"
           : cli_explain_never_observed(model, damage) ? " (never observed)"
                                                       : "";
}

void cli_explain_most(const nadir_model *model, const cli_explain *explain)
{
    char state[LABEL];
    char action[LABEL];
    char from[LABEL];
    char to[LABEL];
    char share[32];
    char more[LABEL];
    if (explain->damages == NULL || explain->changed == 0) {
        return;
    }
    const nadir_damage *damage = &explain->damages[0];
    cli_verdict_line(explain->optimistic ? "Most gain" : "Most damage", "%s, %s: %s → %s%s%s, %s of the %s",
                     cli_explain_state(model, damage->state, LABEL, state),
                     cli_explain_action(model, damage, LABEL, action),
                     cli_explain_state(model, damage->from, LABEL, from),
                     cli_explain_state(model, damage->to, LABEL, to), say_new(model, damage),
                     say_more(damage, LABEL, more), cli_percent(damage->share, share),
                     explain->optimistic ? "gain" : "loss");
}

void cli_explain_assumed(const nadir_model *model, const cli_rewards *rewards, const cli_explain *explain)
{
    const nadir_damage *largest = NULL;
    const nadir_damage *ends[2] = {NULL, NULL}; /* the least and the most that landing there pays */
    char state[LABEL];
    char action[LABEL];
    char to[LABEL];
    char number[3][32];
    for (int64_t i = 0; explain->damages != NULL && i < explain->shown; i++) {
        const nadir_damage *damage = &explain->damages[i];
        if (!(damage->assumed > LEAST_ASSUMED * damage->mass)) {
            continue;
        }
        largest = largest != NULL ? largest : damage;
        if (damage->assumed_to == largest->assumed_to) {
            const double paid = damage->assumed_reward;
            ends[0] = ends[0] == NULL || paid < ends[0]->assumed_reward ? damage : ends[0];
            ends[1] = ends[1] == NULL || paid > ends[1]->assumed_reward ? damage : ends[1];
        }
    }
    if (largest == NULL || !(rewards->error > 0)) {
        return;
    }
    (void)cli_short(ends[0]->assumed_reward, number[0]);
    (void)cli_short(ends[1]->assumed_reward, number[1]);
    (void)cli_explain_state(model, largest->assumed_to, LABEL, to);
    if (strcmp(number[0], number[1]) == 0) {
        cli_verdict_line("Assumed", "%s, %s → %s pays %s: a fit, up to %s off rewards that are given;",
                         cli_explain_state(model, largest->state, LABEL, state),
                         cli_explain_action(model, largest, LABEL, action), to, number[0],
                         cli_short_up(rewards->error, number[2]));
    } else {
        cli_verdict_line("Assumed",
                         "new transitions to %s pay %s to %s: a fit, up to %s off rewards that are given;",
                         to, number[0], number[1], cli_short_up(rewards->error, number[2]));
    }
    cli_verdict_line("", "lines of probability 0 say what they pay, or --unseen (docs/rewards.md)");
}

void cli_explain_text(const nadir_model *model, const cli_explain *explain)
{
    const int64_t shown = count_shown(explain, SHOWN);
    if (explain->changed == 0) {
        printf("\nNo row changes.\n");
        return;
    }
    if (explain->difference) {
        printf("\nWhat moves the difference (%" PRId64 " rows change; shares add up to %s):\n",
               explain->changed, explain->optimistic ? "best less nominal" : "nominal less worst");
    } else {
        printf("\nWho %s (%" PRId64 " rows change; shares add up to the whole %s):\n",
               explain->optimistic ? "brings the gain" : "does the damage", explain->changed,
               explain->optimistic ? "gain" : "loss");
    }
    printf("     share  %12s  mass moved  state, action: largest move\n",
           explain->difference   ? (explain->optimistic ? "up by" : "down by")
           : explain->optimistic ? "gain"
                                 : "penalty");
    for (int64_t i = 0; i < shown; i++) {
        const nadir_damage *damage = &explain->damages[i];
        char state[LABEL];
        char action[LABEL];
        char from[LABEL];
        char to[LABEL];
        char place[2 * LABEL + 4];
        char more[LABEL];
        char way[3 * LABEL + 32];
        (void)snprintf(place, sizeof place, "%s, %s", cli_explain_state(model, damage->state, LABEL, state),
                       cli_explain_action(model, damage, LABEL, action));
        (void)snprintf(way, sizeof way, "%s → %s%s %.3g%s",
                       cli_explain_state(model, damage->from, LABEL, from),
                       cli_explain_state(model, damage->to, LABEL, to), say_new(model, damage), damage->moved,
                       say_more(damage, LABEL, more));
        print_line(explain, damage, place, way);
    }
    if (shown < explain->changed) {
        const nadir_damage rest = sum_rest(explain, shown);
        char place[64];
        (void)snprintf(place, sizeof place, "%" PRId64 " other row%s", explain->changed - shown,
                       explain->changed - shown > 1 ? "s" : "");
        print_line(explain, &rest, place, "");
    }
}

static void print_row(cli_json *json, const nadir_model *model, const nadir_damage *damage)
{
    cli_json_object(json, NULL);
    cli_json_integer(json, "state", damage->state);
    cli_json_integer(json, "action", damage->action);
    cli_json_text(json, "state_name", nadir_model_state_name(model, damage->state));
    cli_json_text(json, "action_name", nadir_model_action_name(model, damage->row));
    cli_json_double(json, "share", damage->share);
    cli_json_double(json, "penalty", damage->penalty);
    cli_json_double(json, "mass", damage->mass);
    cli_json_integer(json, "from", damage->from);
    cli_json_integer(json, "to", damage->to);
    cli_json_text(json, "from_name", nadir_model_state_name(model, damage->from));
    cli_json_text(json, "to_name", nadir_model_state_name(model, damage->to));
    cli_json_bool(json, "never_observed", cli_explain_never_observed(model, damage));
    cli_json_double(json, "lost", damage->lost);
    cli_json_double(json, "gained", damage->gained);
    cli_json_double(json, "moved", damage->moved);
    cli_json_integer(json, "moves", damage->moves);
    cli_json_bool(json, "new", damage->is_new != 0);
    if (damage->assumed > 0) {
        cli_json_double(json, "assumed", damage->assumed);
        cli_json_integer(json, "assumed_to", damage->assumed_to);
        cli_json_text(json, "assumed_to_name", nadir_model_state_name(model, damage->assumed_to));
        cli_json_double(json, "assumed_reward", damage->assumed_reward);
    }
    cli_json_object_end(json);
}

void cli_explain_json(cli_json *json, const nadir_model *model, const cli_explain *explain)
{
    const int64_t shown = count_shown(explain, explain->changed);
    const nadir_damage rest = sum_rest(explain, shown);
    cli_json_array(json, "explain");
    for (int64_t i = 0; i < shown; i++) {
        print_row(json, model, &explain->damages[i]);
    }
    cli_json_array_end(json);
    cli_json_object(json, "explain_rest");
    cli_json_integer(json, "rows", explain->changed - shown);
    cli_json_double(json, "share", rest.share);
    cli_json_double(json, "penalty", rest.penalty);
    cli_json_double(json, "mass", rest.mass);
    cli_json_object_end(json);
}

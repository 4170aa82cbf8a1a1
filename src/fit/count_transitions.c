/*
 * count_transitions.c: rows of a data file, checked and added up; see data.h.
 *
 * Step t of an episode says (s_t, a_t, r_t); the transition it belongs to ends in s_{t+1}, which is the
 * state of the next row, or the next state of its own. A step is therefore kept until the next one comes.
 * The last step of an episode needs no action; if it has one and no next state, it is dropped, unless it is done:
 * then it leads to the terminal state.
 */
#include "core/number.h"
#include "fit/data.h"
#include "model/model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Rows of a file ---------------------------------------------------------------------------------- */

const char *nadir_data_kind_name(nadir_data_kind kind)
{
    static const char *const names[] = {"transitions", "counts", "trajectories", "samples"};
    return names[kind];
}

void nadir_data_clear(nadir_context *context, nadir_data *data)
{
    nadir_counts_free(context, data->counts);
    nadir_samples_free(context, data->samples);
    for (int k = 0; k < 2; k++) {
        nadir_names_clear(context->memory, &data->names[k]);
    }
    *data = (nadir_data){0};
}

nadir_status nadir_data_collector_start(nadir_context *context, const char *path,
                                        const nadir_data_settings *settings, nadir_data_collector *collector)
{
    *collector = (nadir_data_collector){.context = context, .path = path};
    if (settings != NULL) {
        collector->settings = *settings;
    }
    const int64_t states = collector->settings.states;
    const int64_t actions = collector->settings.actions;
    if (states < 0 || states > NADIR_STATES_LIMIT || actions < 0 || actions > INT32_MAX) {
        return nadir_fail(
            context, NADIR_ERROR_ARGUMENT,
            "%lld states and %lld actions: expected numbers from 1 to %d, or 0 for those in the data",
            (long long)states, (long long)actions, NADIR_STATES_LIMIT);
    }
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < collector->settings.names_count[k]; i++) {
            const char *name = collector->settings.names[k][i];
            int64_t number;
            NADIR_TRY(nadir_words_number(context, &collector->words[k], name, strlen(name), &number));
        }
    }
    const nadir_data *alike = collector->settings.alike;
    for (int k = 0; k < 2 && alike != NULL; k++) {
        int64_t number;
        for (int64_t i = 0; i < alike->names[k].count; i++) {
            const char *name = nadir_names_get(&alike->names[k], i);
            NADIR_TRY(nadir_words_number(context, &collector->words[k], name, strlen(name), &number));
        }
        collector->words[k].closed = true;
        collector->words[k].named = alike->names[k].count > 0;
        collector->terminal = alike->counts->terminal;
    }
    return NADIR_OK;
}

void nadir_data_collector_clear(nadir_data_collector *collector)
{
    if (collector->context != NULL) {
        nadir_data_table_clear(collector->context, &collector->table);
        nadir_data_table_clear(collector->context, &collector->starts);
        nadir_release(collector->context, collector->samples);
        for (int k = 0; k < NADIR_WORDS; k++) {
            nadir_words_clear(collector->context, &collector->words[k]);
        }
    }
    *collector = (nadir_data_collector){0};
}

nadir_status nadir_data_fail(const nadir_data_collector *collector, int64_t line, const char *format, ...)
{
    char sentence[640];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return nadir_fail(collector->context, NADIR_ERROR_FORMAT,
                      collector->records ? "%s: record %lld: %s" : "%s:%lld: %s", collector->path,
                      (long long)line, sentence);
}

const char *nadir_data_label(const nadir_data_collector *collector, int which, int64_t number,
                             char text[NADIR_DATA_LABEL_LENGTH])
{
    const nadir_names *names = &collector->words[which].names;
    (void)(number >= 0 && number < names->count
               ? snprintf(text, NADIR_DATA_LABEL_LENGTH, "`%.60s`", nadir_names_get(names, number))
               : snprintf(text, NADIR_DATA_LABEL_LENGTH, "%lld", (long long)number));
    return text;
}

/* Numbers from 0 to given - 1, or to the largest where given is 0; *seen is one more than the largest of
 * them. */
static nadir_status check_number(const nadir_data_collector *collector, int64_t line, const char *name,
                                 int64_t number, int64_t given, int64_t *seen)
{
    const int64_t limit = given > 0 ? given : NADIR_STATES_LIMIT;
    if (number < 0 || number >= limit) {
        return nadir_data_fail(collector, line, "%s %lld; expected numbers from 0 to %lld%s", name,
                               (long long)number, (long long)limit - 1,
                               given > 0 ? ", as asked for or as the data have" : "");
    }
    *seen = number >= *seen ? number + 1 : *seen;
    return NADIR_OK;
}

static nadir_status check_state(nadir_data_collector *collector, int64_t line, const char *name,
                                int64_t state)
{
    return check_number(collector, line, name, state, collector->settings.states, &collector->states);
}

/* *index: the number of the transition in the table. */
static nadir_status find_transition(nadir_data_collector *collector, const nadir_data_row *row,
                                    int64_t successor, int64_t *index)
{
    NADIR_TRY(check_state(collector, row->line, "state", row->state));
    if (successor != NADIR_DATA_TERMINAL) {
        NADIR_TRY(check_state(collector, row->line, "next state", successor));
    }
    NADIR_TRY(check_number(collector, row->line, "action", row->action, collector->settings.actions,
                           &collector->actions));
    return nadir_data_table_find(collector->context, &collector->table, (int32_t)row->state,
                                 (int32_t)row->action, (int32_t)successor, index);
}

static nadir_status number_fail(const nadir_data_collector *collector, const nadir_data_row *row,
                                const char *name, double value, const char *expected)
{
    char text[NADIR_NUMBER_LENGTH];
    nadir_format_double(value, text);
    return nadir_data_fail(collector, row->line, "%s %s; expected %s", name, text, expected);
}

/* Welford's update of the sum of squares about the mean. */
static void add_reward(nadir_data_entry *entry, double count, double reward)
{
    if (count > 0) {
        const double before = entry->count > 0 ? reward - entry->reward / entry->count : 0;
        entry->count += count;
        entry->reward += count * reward;
        entry->square += count * before * (reward - entry->reward / entry->count);
    }
}

/* Adds the transition of a row; a count of 0 only says that its states and its action are there. */
static nadir_status add_transition(nadir_data_collector *collector, const nadir_data_row *row,
                                   int64_t successor)
{
    const double count = NADIR_DATA_HAS(row->there, NADIR_DATA_COUNT) ? row->count : 1;
    const double reward = NADIR_DATA_HAS(row->there, NADIR_DATA_REWARD) ? row->reward : 0;
    int64_t index;
    if (!(count >= 0) || !isfinite(count)) {
        return number_fail(collector, row, "count", count, "a finite number, 0 or more");
    }
    if (!isfinite(reward)) {
        return number_fail(collector, row, "reward", reward, "a finite number");
    }
    NADIR_TRY(find_transition(collector, row, successor, &index));
    collector->done += successor == NADIR_DATA_TERMINAL ? 1 : 0;
    add_reward(&collector->table.entries[index], count, reward);
    collector->observations++;
    return NADIR_OK;
}

/* ---- Steps of episodes ------------------------------------------------------------------------------- */

/* A column that only the last step of an episode may leave out. */
static nadir_status check_there(const nadir_data_collector *collector, const nadir_data_row *row, int which,
                                const char *name)
{
    if (NADIR_DATA_HAS(collector->columns, which) && !NADIR_DATA_HAS(row->there, which)) {
        return nadir_data_fail(collector, row->line,
                               "no %s; only the last step of an episode may leave it out", name);
    }
    return NADIR_OK;
}

/* The transition of a step of an episode. */
static nadir_status add_step(nadir_data_collector *collector, const nadir_data_row *row, int64_t successor)
{
    NADIR_TRY(check_there(collector, row, NADIR_DATA_ACTION, "action"));
    NADIR_TRY(check_there(collector, row, NADIR_DATA_REWARD, "reward"));
    return add_transition(collector, row, successor);
}

static bool is_last(const nadir_data_row *row)
{
    return row->done != 0 || row->truncated != 0;
}

/* Without a next state of its own the last step of an episode leads nowhere. */
static void end_episode(nadir_data_collector *collector)
{
    const nadir_data_row *last = &collector->last;
    if (collector->episodes > 0 && last->done == 0 && !NADIR_DATA_HAS(last->there, NADIR_DATA_SUCCESSOR) &&
        NADIR_DATA_HAS(last->there, NADIR_DATA_ACTION)) {
        collector->dropped++;
    }
}

static nadir_status begin_episode(nadir_data_collector *collector, const nadir_data_row *row)
{
    char own[NADIR_DATA_LABEL_LENGTH];
    char before[NADIR_DATA_LABEL_LENGTH];
    int64_t index;
    nadir_data_label(collector, NADIR_WORDS_EPISODE, row->episode, own);
    if (collector->episodes > 0 && row->episode < collector->last.episode) {
        return nadir_data_fail(
            collector, row->line,
            "episode %s after episode %s: out of order; sort the data by episode and step", own,
            nadir_data_label(collector, NADIR_WORDS_EPISODE, collector->last.episode, before));
    }
    if (NADIR_DATA_HAS(collector->columns, NADIR_DATA_STEP) && row->step != 0 && row->step != 1) {
        return nadir_data_fail(collector, row->line, "episode %s begins with step %lld; expected step 0 or 1",
                               own, (long long)row->step);
    }
    end_episode(collector);
    NADIR_TRY(
        nadir_data_table_find(collector->context, &collector->starts, (int32_t)row->state, 0, 0, &index));
    collector->starts.entries[index].count += 1;
    collector->episodes++;
    return NADIR_OK;
}

/* Whether a step can come after collector->last in the same episode. */
static nadir_status check_order(const nadir_data_collector *collector, const nadir_data_row *row)
{
    const nadir_data_row *last = &collector->last;
    char episode[NADIR_DATA_LABEL_LENGTH];
    nadir_data_label(collector, NADIR_WORDS_EPISODE, row->episode, episode);
    if (is_last(last)) {
        return nadir_data_fail(
            collector, row->line,
            "episode %s goes on, but the line before is `%s`; give what follows an episode of its own",
            episode, last->done != 0 ? "done" : "truncated");
    }
    if (NADIR_DATA_HAS(collector->columns, NADIR_DATA_STEP) && row->step != last->step + 1) {
        return nadir_data_fail(
            collector, row->line, "step %lld of episode %s follows step %lld; expected %lld",
            (long long)row->step, episode, (long long)last->step, (long long)last->step + 1);
    }
    if (NADIR_DATA_HAS(collector->columns, NADIR_DATA_TIME) && !(row->time > last->time)) {
        return row->time == last->time
                   ? nadir_data_fail(
                         collector, row->line,
                         "two steps of episode %s have the same time; where the lines are in order, leave "
                         "the time out",
                         episode)
               : collector->dates
                   ? nadir_data_fail(
                         collector, row->line,
                         "the time of a step of episode %s is before that of the last; sort the data by "
                         "episode and time",
                         episode)
                   : nadir_data_fail(
                         collector, row->line,
                         "time %.9g of episode %s follows time %.9g; sort the data by episode and time",
                         row->time, episode, last->time);
    }
    return NADIR_OK;
}

/* The step after collector->last in the same episode. */
static nadir_status follow(nadir_data_collector *collector, const nadir_data_row *row)
{
    const nadir_data_row *last = &collector->last;
    char own[NADIR_DATA_LABEL_LENGTH];
    char said[NADIR_DATA_LABEL_LENGTH];
    NADIR_TRY(check_order(collector, row));
    if (!NADIR_DATA_HAS(collector->columns, NADIR_DATA_SUCCESSOR)) {
        return add_step(collector, last, row->state);
    }
    NADIR_TRY(check_there(collector, last, NADIR_DATA_SUCCESSOR, "next state"));
    if (row->state != last->successor) {
        return nadir_data_fail(collector, row->line,
                               "state %s, but the step before says that the next state is %s",
                               nadir_data_label(collector, NADIR_WORDS_STATE, row->state, own),
                               nadir_data_label(collector, NADIR_WORDS_STATE, last->successor, said));
    }
    return NADIR_OK;
}

static nadir_status check_flag(const nadir_data_collector *collector, const nadir_data_row *row,
                               const char *name, int64_t flag)
{
    return flag == 0 || flag == 1
               ? NADIR_OK
               : nadir_data_fail(collector, row->line, "%s %lld; expected 0 or 1", name, (long long)flag);
}

/* Without a column of episodes they end with what is done or truncated. */
static int64_t episode_of(const nadir_data_collector *collector, const nadir_data_row *row)
{
    return NADIR_DATA_HAS(collector->columns, NADIR_DATA_EPISODE)
               ? row->episode
               : collector->last.episode + (is_last(&collector->last) ? 1 : 0);
}

static nadir_status collect_step(nadir_data_collector *collector, const nadir_data_row *given)
{
    nadir_data_row row = *given;
    row.episode = episode_of(collector, given);
    NADIR_TRY(check_state(collector, row.line, "state", row.state));
    if (NADIR_DATA_HAS(row.there, NADIR_DATA_ACTION)) { /* also of a last step, where it is not used */
        NADIR_TRY(check_number(collector, row.line, "action", row.action, collector->settings.actions,
                               &collector->actions));
    }
    if (NADIR_DATA_HAS(row.there, NADIR_DATA_REWARD) && !isfinite(row.reward)) {
        return number_fail(collector, &row, "reward", row.reward, "a finite number");
    }
    if (NADIR_DATA_HAS(collector->columns, NADIR_DATA_TIME) && !isfinite(row.time)) {
        return number_fail(collector, &row, "time", row.time, "a finite number");
    }
    NADIR_TRY(collector->episodes > 0 && row.episode == collector->last.episode
                  ? follow(collector, &row)
                  : begin_episode(collector, &row));
    if (row.done != 0) {
        NADIR_TRY(add_step(collector, &row, NADIR_DATA_TERMINAL));
    } else if (NADIR_DATA_HAS(row.there, NADIR_DATA_SUCCESSOR)) {
        NADIR_TRY(add_step(collector, &row, row.successor));
    }
    collector->last = row;
    return NADIR_OK;
}

/* A line with its next state. */
static nadir_status collect_transition(nadir_data_collector *collector, const nadir_data_row *row)
{
    if (row->done != 0) {
        return add_transition(collector, row, NADIR_DATA_TERMINAL);
    }
    if (NADIR_DATA_HAS(row->there, NADIR_DATA_SUCCESSOR)) {
        return add_transition(collector, row, row->successor);
    }
    if (row->truncated != 0) { /* state and action are there, whatever came of them */
        collector->dropped++;
        NADIR_TRY(check_state(collector, row->line, "state", row->state));
        return check_number(collector, row->line, "action", row->action, collector->settings.actions,
                            &collector->actions);
    }
    return nadir_data_fail(collector, row->line,
                           "no next state; only a line that is done or truncated may leave it out");
}

static nadir_status collect_sample(nadir_data_collector *collector, const nadir_data_row *row)
{
    nadir_status status = NADIR_OK;
    const bool rewards = NADIR_DATA_HAS(row->there, NADIR_DATA_REWARD);
    int64_t index;
    if (!(row->probability >= 0 && row->probability <= 1 + NADIR_SUM_TOLERANCE)) {
        return number_fail(collector, row, "probability", row->probability, "a number from 0 to 1");
    }
    if (rewards && !isfinite(row->reward)) {
        return number_fail(collector, row, "reward", row->reward, "a finite number");
    }
    NADIR_CHECK(check_number(collector, row->line, "outcome", row->outcome, 0, &collector->outcomes));
    NADIR_CHECK(find_transition(collector, row, row->successor, &index));
    NADIR_RESERVE(collector->context, collector->samples, collector->sample_count + 1,
                  collector->sample_capacity);
    collector->samples[collector->sample_count++] = (nadir_data_sample){
        .entry = index,
        .outcome = (int32_t)row->outcome,
        .line = row->line > UINT32_MAX ? UINT32_MAX : (uint32_t)row->line,
        .probability = row->probability,
        .reward = rewards ? row->reward : 0,
    };
    collector->table.entries[index].count += row->probability;
    collector->observations++;
cleanup:
    return status;
}

nadir_status nadir_data_collect(nadir_data_collector *collector, const nadir_data_row *row)
{
    NADIR_TRY(check_flag(collector, row, "done", row->done));
    NADIR_TRY(check_flag(collector, row, "truncated", row->truncated));
    switch (collector->kind) {
    case NADIR_DATA_TRAJECTORIES:
        return collect_step(collector, row);
    case NADIR_DATA_SAMPLES:
        return collect_sample(collector, row);
    default:
        return collect_transition(collector, row);
    }
}

/* The terminal state is the last one. */
static nadir_status settle_terminal(nadir_data_collector *collector)
{
    const nadir_data_settings *settings = &collector->settings;
    const bool alike = settings->alike != NULL;
    if (alike && collector->done > 0 && !collector->terminal) {
        return nadir_fail(collector->context, NADIR_ERROR_FORMAT,
                          "%s has lines that are done; the data have none", collector->path);
    }
    const int64_t named = alike ? 0 : collector->words[NADIR_WORDS_STATE].names.count;
    collector->states = settings->states > 0        ? settings->states
                        : named > collector->states ? named
                                                    : collector->states;
    const int64_t actions = alike ? 0 : collector->words[NADIR_WORDS_ACTION].names.count;
    collector->actions = actions > collector->actions ? actions : collector->actions;
    collector->states += !alike && collector->done > 0 ? 1 : 0;
    collector->terminal = collector->terminal || collector->done > 0;
    if (collector->states > NADIR_STATES_LIMIT) {
        return nadir_fail(collector->context, NADIR_ERROR_FORMAT,
                          "%s: no number is left for the terminal state", collector->path);
    }
    for (int64_t i = 0; i < collector->table.count; i++) {
        nadir_data_entry *entry = &collector->table.entries[i];
        entry->successor =
            entry->successor == NADIR_DATA_TERMINAL ? (int32_t)(collector->states - 1) : entry->successor;
        if (collector->terminal && entry->state == collector->states - 1) {
            return nadir_fail(collector->context, NADIR_ERROR_FORMAT,
                              "%s: state %lld is terminal, and has transitions here; leave them out",
                              collector->path, (long long)entry->state);
        }
    }
    return NADIR_OK;
}

nadir_status nadir_data_collect_end(nadir_data_collector *collector)
{
    if (collector->kind == NADIR_DATA_TRAJECTORIES) {
        end_episode(collector);
    }
    NADIR_TRY(settle_terminal(collector));
    nadir_data_table_close(collector->context, &collector->table);
    if (collector->observations == 0) {
        return nadir_fail(collector->context, NADIR_ERROR_FORMAT, "%s: no transitions; expected at least one",
                          collector->path);
    }
    if (collector->dropped > 0) {
        nadir_log(collector->context, NADIR_LOG_NOTICE,
                  "%s: %lld line%s an episode with an action whose next state is not said: not counted",
                  collector->path, (long long)collector->dropped,
                  collector->dropped == 1 ? " ends" : "s end");
    }
    return NADIR_OK;
}

nadir_status nadir_data_check_gaps(const nadir_data_collector *collector, const char *name, int64_t largest,
                                   int64_t count, int64_t states)
{
    if (count <= 65536 + 16 * (collector->table.count + states)) {
        return NADIR_OK;
    }
    return nadir_fail(
        collector->context, NADIR_ERROR_FORMAT,
        "%s: %s %lld, but only %lld different transitions; numbers begin at 0 and have no large "
        "gaps, unless the number of %ss is given",
        collector->path, name, (long long)largest, (long long)collector->table.count, name);
}

/*
 * count_transitions.c: rows of a data file, checked and added up; see data.h.
 *
 * Step t of an episode says (s_t, a_t, r_t); the transition it belongs to ends in s_{t+1}, which is the
 * state of the next row, or the next state of its own. A step is therefore kept until the next one comes.
 * The last step of an episode needs no action; if it has one, it is not counted.
 */
#include "core/number.h"
#include "core/random.h"
#include "fit/data.h"
#include "model/model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- Transition table -------------------------------------------------------------------------------- */

#define FIRST_SLOTS ((size_t)1 << 10)

/* A product of 128 bits folded to 64 mixes both halves of the key into every bit; where only one number
 * varies it is still an arithmetic progression, which the second product breaks up. */
static uint32_t mark_of(int32_t state, int32_t action, int32_t successor)
{
    const uint64_t row = (uint64_t)(uint32_t)state << 32 | (uint32_t)action;
    const uint64_t a = row + 0x2545F4914F6CDD1DU;
    const uint64_t b = (uint32_t)successor * 0x9E3779B97F4A7C15U ^ 0xD6E8FEB86659FD93U;
    uint64_t low;
    const uint64_t high = nadir_multiply_wide(a, b, &low);
    const uint64_t folded = high ^ low;
    return (uint32_t)((folded ^ folded >> 29) * 0xBF58476D1CE4E5B9U >> 32);
}

/* Where an entry with this mark is looked for first. With more than 2^32 slots (100 GB) runs would get
 * longer, nothing else. */
static size_t first_slot(uint32_t mark, size_t slot_count)
{
    return (size_t)mark & (slot_count - 1);
}

static nadir_status grow(nadir_context *context, nadir_data_table *table)
{
    nadir_status status = NADIR_OK;
    int64_t *slots = NULL;
    const size_t slot_count = table->slot_count > 0 ? 2 * table->slot_count : FIRST_SLOTS;
    NADIR_NEW(context, slots, slot_count);
    for (size_t i = 0; i < slot_count; i++) {
        slots[i] = -1;
    }
    for (int64_t i = 0; i < table->count; i++) {
        size_t slot = first_slot(table->entries[i].mark, slot_count);
        while (slots[slot] >= 0) {
            slot = (slot + 1) & (slot_count - 1);
        }
        slots[slot] = i;
    }
    nadir_release(context, table->slots);
    table->slots = slots;
    table->slot_count = slot_count;
cleanup:
    return status;
}

nadir_status nadir_data_table_find(nadir_context *context, nadir_data_table *table, int32_t state,
                                   int32_t action, int32_t successor, int64_t *index)
{
    nadir_status status = NADIR_OK;
    const uint32_t mark = mark_of(state, action, successor);
    if (2 * (size_t)table->count >= table->slot_count) {
        NADIR_CHECK(grow(context, table));
    }
    size_t slot = first_slot(mark, table->slot_count);
    for (; table->slots[slot] >= 0; slot = (slot + 1) & (table->slot_count - 1)) {
        const nadir_data_entry *entry = &table->entries[table->slots[slot]];
        if (entry->mark == mark && entry->state == state && entry->action == action &&
            entry->successor == successor) {
            *index = table->slots[slot];
            return NADIR_OK;
        }
    }
    NADIR_RESERVE(context, table->entries, table->count + 1, table->capacity);
    table->entries[table->count] = (nadir_data_entry){state, action, successor, mark, 0, 0, 0};
    table->slots[slot] = table->count;
    *index = table->count++;
cleanup:
    return status;
}

void nadir_data_table_expect(const nadir_data_table *table, int64_t state, int64_t action, int64_t successor,
                             bool near)
{
    if (table->slot_count == 0) {
        return;
    }
    const uint32_t mark = mark_of((int32_t)state, (int32_t)action, (int32_t)successor);
    const int64_t *slot = &table->slots[first_slot(mark, table->slot_count)];
    if (!near) {
        __builtin_prefetch(slot);
    } else if (*slot >= 0) {
        __builtin_prefetch(&table->entries[*slot]);
    }
}

void nadir_data_table_close(nadir_context *context, nadir_data_table *table)
{
    nadir_release(context, table->slots);
    table->slots = NULL;
    table->slot_count = 0;
}

void nadir_data_table_clear(nadir_context *context, nadir_data_table *table)
{
    NADIR_RELEASE(context, table->entries, table->slots);
    *table = (nadir_data_table){0};
}

/* starts[i + 1] has the number of items with key i; turned into where the items of each key begin. */
static void add_up(int64_t count, int64_t *starts)
{
    for (int64_t i = 0; i < count; i++) {
        starts[i + 1] += starts[i];
    }
}

nadir_status nadir_data_table_order(nadir_context *context, const nadir_data_table *table, int64_t states,
                                    int64_t rows, const int64_t *entry_rows, int64_t *order,
                                    int64_t *row_starts)
{
    nadir_status status = NADIR_OK;
    int64_t *starts = NULL;
    int64_t *by_successor = NULL;
    NADIR_NEW_ZERO(context, starts, (states > rows ? states : rows) + 1);
    NADIR_NEW(context, by_successor, table->count);
    for (int64_t i = 0; i < table->count; i++) {
        starts[table->entries[i].successor + 1] += table->entries[i].count > 0;
    }
    add_up(states, starts);
    const int64_t count = starts[states];
    for (int64_t i = 0; i < table->count; i++) {
        if (table->entries[i].count > 0) {
            by_successor[starts[table->entries[i].successor]++] = i;
        }
    }
    for (int64_t i = 0; i <= rows; i++) {
        starts[i] = 0;
    }
    for (int64_t i = 0; i < count; i++) {
        starts[entry_rows[by_successor[i]] + 1]++;
    }
    add_up(rows, starts);
    for (int64_t i = 0; i <= rows; i++) {
        row_starts[i] = starts[i];
    }
    for (int64_t i = 0; i < count; i++) { /* stable, so that successors stay in order within a row */
        order[starts[entry_rows[by_successor[i]]]++] = by_successor[i];
    }
cleanup:
    NADIR_RELEASE(context, starts, by_successor);
    return status;
}

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
    return NADIR_OK;
}

void nadir_data_collector_clear(nadir_data_collector *collector)
{
    if (collector->context != NULL) {
        nadir_data_table_clear(collector->context, &collector->table);
        nadir_data_table_clear(collector->context, &collector->starts);
        nadir_release(collector->context, collector->samples);
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
    NADIR_TRY(check_state(collector, row->line, "next state", successor));
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
    add_reward(&collector->table.entries[index], count, reward);
    collector->observations++;
    return NADIR_OK;
}

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

/* Without a next state of its own the last step of an episode leads nowhere. */
static void end_episode(nadir_data_collector *collector)
{
    const nadir_data_row *last = &collector->last;
    if (collector->episodes > 0 && !NADIR_DATA_HAS(last->there, NADIR_DATA_SUCCESSOR) &&
        NADIR_DATA_HAS(last->there, NADIR_DATA_ACTION)) {
        collector->open_ends++;
    }
}

static nadir_status begin_episode(nadir_data_collector *collector, const nadir_data_row *row)
{
    int64_t index;
    if (collector->episodes > 0 && row->episode < collector->last.episode) {
        return nadir_data_fail(
            collector, row->line,
            "episode %lld after episode %lld: out of order; sort the data by episode and step",
            (long long)row->episode, (long long)collector->last.episode);
    }
    if (row->step != 0 && row->step != 1) {
        return nadir_data_fail(collector, row->line,
                               "episode %lld begins with step %lld; expected step 0 or 1",
                               (long long)row->episode, (long long)row->step);
    }
    end_episode(collector);
    NADIR_TRY(
        nadir_data_table_find(collector->context, &collector->starts, (int32_t)row->state, 0, 0, &index));
    collector->starts.entries[index].count += 1;
    collector->episodes++;
    return NADIR_OK;
}

/* The step after collector->last in the same episode. */
static nadir_status follow(nadir_data_collector *collector, const nadir_data_row *row)
{
    const nadir_data_row *last = &collector->last;
    if (row->step != last->step + 1) {
        return nadir_data_fail(
            collector, row->line, "step %lld of episode %lld follows step %lld; expected %lld",
            (long long)row->step, (long long)row->episode, (long long)last->step, (long long)last->step + 1);
    }
    if (!NADIR_DATA_HAS(collector->columns, NADIR_DATA_SUCCESSOR)) {
        return add_step(collector, last, row->state);
    }
    NADIR_TRY(check_there(collector, last, NADIR_DATA_SUCCESSOR, "next state"));
    if (row->state != last->successor) {
        return nadir_data_fail(collector, row->line,
                               "state %lld, but the step before says that the next state is %lld",
                               (long long)row->state, (long long)last->successor);
    }
    return NADIR_OK;
}

static nadir_status collect_step(nadir_data_collector *collector, const nadir_data_row *row)
{
    NADIR_TRY(check_state(collector, row->line, "state", row->state));
    if (NADIR_DATA_HAS(row->there, NADIR_DATA_ACTION)) { /* also of a last step, where it is not used */
        NADIR_TRY(check_number(collector, row->line, "action", row->action, collector->settings.actions,
                               &collector->actions));
    }
    if (NADIR_DATA_HAS(row->there, NADIR_DATA_REWARD) && !isfinite(row->reward)) {
        return number_fail(collector, row, "reward", row->reward, "a finite number");
    }
    NADIR_TRY(collector->episodes > 0 && row->episode == collector->last.episode
                  ? follow(collector, row)
                  : begin_episode(collector, row));
    if (NADIR_DATA_HAS(row->there, NADIR_DATA_SUCCESSOR)) {
        NADIR_TRY(add_step(collector, row, row->successor));
    }
    collector->last = *row;
    return NADIR_OK;
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
    switch (collector->kind) {
    case NADIR_DATA_TRAJECTORIES:
        return collect_step(collector, row);
    case NADIR_DATA_SAMPLES:
        return collect_sample(collector, row);
    default:
        return add_transition(collector, row, row->successor);
    }
}

nadir_status nadir_data_collect_end(nadir_data_collector *collector)
{
    end_episode(collector);
    nadir_data_table_close(collector->context, &collector->table);
    if (collector->observations == 0) {
        return nadir_fail(collector->context, NADIR_ERROR_FORMAT, "%s: no transitions; expected at least one",
                          collector->path);
    }
    if (collector->open_ends > 0) {
        nadir_log(collector->context, NADIR_LOG_NOTICE,
                  "%s: %lld of %lld episodes end with an action whose outcome is not said; it is not counted",
                  collector->path, (long long)collector->open_ends, (long long)collector->episodes);
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

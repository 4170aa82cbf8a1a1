/*
 * csv.c: models as craam CSV.
 *
 *     idstatefrom,idaction,idstateto,probability,reward
 *     0,0,1,0.5,2.25
 *
 * One line for each transition, in any order; states and actions are numbered from 0, or have names, which are numbered
 * as they appear; columns in any order, the grammar of the table is that of csv_cells.h. Transitions given twice add up. A state that only occurs
 * as a successor, or whose number is skipped, has no actions: it is terminal. The reward is that of the
 * transition; a line of probability 0 gives that of a successor which a kernel may reach. A table with a column `idoutcome` holds several models: one of them is read, or their mean.
 */
#include "io/csv_cells.h"
#include "io/format.h"
#include "model/model_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { STATE_FROM, ACTION, STATE_TO, PROBABILITY, REWARD, OUTCOME, COLUMNS };

static const nadir_csv_column columns[COLUMNS] = {
    [STATE_FROM] = {.names = {"state", "idstatefrom", "from", "s"}},
    [ACTION] = {.names = {"action", "idaction", "a"}},
    [STATE_TO] = {.names = {"next_state", "idstateto", "next", "to", "s_next"}},
    [PROBABILITY] = {.names = {"probability", "prob", "p"}},
    [REWARD] = {.names = {"reward", "r"}},
    [OUTCOME] = {.names = {"idoutcome"}, .optional = true},
};

/* Whether a line contains the name of the first column, whatever the separator: a table with semicolons is
 * then recognised, and refused with a clear message. */
static bool names_states(nadir_cursor line)
{
    static const char name[] = "idstatefrom";
    const size_t length = strlen(name);
    for (; (size_t)(line.end - line.at) >= length; line.at++) {
        if (strncasecmp(line.at, name, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool recognises(const char *head, size_t length)
{
    nadir_cursor rest = {head, head + length};
    nadir_cursor line;
    return nadir_cursor_take_content(&rest, "#", &line) && names_states(line);
}

/* Which lines of a table with outcomes are read. */
typedef struct chosen_outcome {
    bool any;        /* all lines count */
    int64_t id;      /* otherwise those of this one */
    double share;    /* of each line */
    int64_t *places; /* [count] one number for each line, by state and action; odd: the line counts */
    size_t count, capacity;
} chosen_outcome;

static int compare_numbers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static nadir_status read_outcome(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                                 int64_t *id)
{
    NADIR_TRY(nadir_csv_integer(text, header, cells, OUTCOME, id));
    return *id >= 0 ? NADIR_OK
                    : nadir_text_fail(text, "outcome %lld; expected a number from 0 on", (long long)*id);
}

/* Notes where a line belongs, and whether it counts. */
static nadir_status note_place(nadir_context *context, nadir_text *text, const nadir_csv_header *header,
                               const nadir_cursor *cells, int64_t state, int64_t action,
                               chosen_outcome *outcome, bool *counts)
{
    nadir_status status = NADIR_OK;
    int64_t id = 0;
    NADIR_CHECK(read_outcome(text, header, cells, &id));
    *counts = outcome->any || id == outcome->id;
    if (state < 0 || state > INT32_MAX || action < 0 || action > INT32_MAX) {
        return nadir_text_fail(text, "state %lld, action %lld; expected numbers from 0 to 2147483647",
                               (long long)state, (long long)action);
    }
    NADIR_RESERVE(context, outcome->places, outcome->count + 1, outcome->capacity);
    outcome->places[outcome->count++] =
        (int64_t)(((uint64_t)state << 31 | (uint64_t)action) << 1 | (uint64_t)*counts);
cleanup:
    return status;
}

/* Every row of the table has lines of the outcome. */
static nadir_status check_places(nadir_text *text, chosen_outcome *outcome)
{
    if (outcome->count > 0) {
        qsort(outcome->places, outcome->count, sizeof *outcome->places, compare_numbers);
    }
    for (size_t i = 0; i < outcome->count; i++) {
        const int64_t place = outcome->places[i] >> 1;
        const bool last = i + 1 == outcome->count || outcome->places[i + 1] >> 1 != place;
        if (last && (outcome->places[i] & 1) == 0) {
            return nadir_text_fail(text,
                                   "state %lld, action %lld: no lines of outcome %lld; expected lines of "
                                   "every outcome for every state and action",
                                   (long long)(place >> 31), (long long)(place & INT32_MAX),
                                   (long long)outcome->id);
        }
    }
    return NADIR_OK;
}

/* The rows of the table, given to the builder. outcome: NULL: there are none. */
static nadir_status read_transitions(nadir_text *text, const nadir_csv_header *header, nadir_words *states,
                                     nadir_words *actions, chosen_outcome *outcome, nadir_builder *builder)
{
    nadir_status status = NADIR_OK;
    nadir_cursor cells[NADIR_CSV_COLUMNS];
    const double share = outcome != NULL ? outcome->share : 1;
    bool more;
    NADIR_CHECK(nadir_csv_read_row(text, header, cells, &more));
    while (more) {
        int64_t state;
        int64_t action;
        int64_t successor;
        double probability;
        double reward;
        bool counts = true;
        NADIR_CHECK(nadir_csv_label(text, header, cells, STATE_FROM, states, &state));
        NADIR_CHECK(nadir_csv_label(text, header, cells, ACTION, actions, &action));
        NADIR_CHECK(nadir_csv_label(text, header, cells, STATE_TO, states, &successor));
        NADIR_CHECK(nadir_csv_double(text, header, cells, PROBABILITY, &probability));
        NADIR_CHECK(nadir_csv_double(text, header, cells, REWARD, &reward));
        if (outcome != NULL) {
            NADIR_CHECK(note_place(builder->context, text, header, cells, state, action, outcome, &counts));
            const int64_t largest = state > successor ? state : successor; /* all outcomes have all states */
            builder->states = largest >= builder->states ? largest + 1 : builder->states;
        }
        if (counts) {
            NADIR_CHECK(nadir_builder_add(builder, state, action, successor, share * probability, reward,
                                          text->line));
        }
        NADIR_CHECK(nadir_csv_read_row(text, header, cells, &more));
    }
    if (builder->count == 0) {
        status = outcome == NULL || outcome->any
                     ? nadir_text_fail(text, "no transitions follow the header")
                     : nadir_text_fail(text, "no lines of outcome %lld", (long long)outcome->id);
    } else if (outcome != NULL) {
        status = check_places(text, outcome);
    }
cleanup:
    return status;
}

nadir_status nadir_csv_outcomes(nadir_context *context, const char *path, int64_t *count, int64_t **ids)
{
    nadir_status status = NADIR_OK;
    nadir_text text = {0};
    nadir_csv_header header;
    nadir_cursor cells[NADIR_CSV_COLUMNS];
    const char *format;
    int64_t *found = NULL;
    size_t capacity = 0;
    size_t used = 0;
    bool more = true;
    *count = 0;
    *ids = NULL;
    NADIR_CHECK(nadir_file_format(context, path, &format));
    if (strcmp(format, "csv") != 0) {
        goto cleanup;
    }
    NADIR_CHECK(nadir_text_open(context, path, &text));
    NADIR_CHECK(nadir_csv_read_header(&text, COLUMNS, columns, false, &header));
    while (header.positions[OUTCOME] >= 0 && more) {
        NADIR_CHECK(nadir_csv_read_row(&text, &header, cells, &more));
        if (more) {
            int64_t id;
            NADIR_CHECK(read_outcome(&text, &header, cells, &id));
            if (used > 0 && found[used - 1] == id) {
                continue;
            }
            NADIR_RESERVE(context, found, used + 1, capacity);
            found[used++] = id;
        }
    }
    if (used > 0) {
        qsort(found, used, sizeof *found, compare_numbers);
    }
    for (size_t i = 0; i < used; i++) {
        if (i == 0 || found[i] != found[i - 1]) {
            found[(*count)++] = found[i];
        }
    }
    *ids = found;
    found = NULL;
cleanup:
    nadir_release(context, found);
    nadir_text_close(&text);
    return status;
}

/* Which lines are asked for. */
static nadir_status choose_outcome(nadir_context *context, nadir_text *text, const char *path,
                                   const nadir_read_settings *settings, bool there, chosen_outcome *outcome)
{
    nadir_status status = NADIR_OK;
    int64_t count = 0;
    int64_t *ids = NULL;
    *outcome = (chosen_outcome){.share = 1};
    if (settings->outcome == NULL) {
        return there ? nadir_text_fail(text,
                                       "a column `idoutcome`: this table holds several models, one for each "
                                       "outcome; --outcome reads one of them or their mean, --union all, and "
                                       "`nadir fit` makes one model with a ball")
                     : NADIR_OK;
    }
    const nadir_cursor word = {settings->outcome, settings->outcome + strlen(settings->outcome)};
    outcome->any = nadir_cursor_equals(word, "mean");
    if (!there) {
        return nadir_text_fail(text, "--outcome is for tables with a column `idoutcome`");
    }
    if (!outcome->any && !(nadir_cursor_is_integer(word, &outcome->id) && outcome->id >= 0)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "--outcome: '%.64s' given, expected mean or a number", settings->outcome);
    }
    if (outcome->any) {
        NADIR_CHECK(nadir_csv_outcomes(context, path, &count, &ids));
        outcome->share = count > 0 ? 1 / (double)count : 1;
    }
cleanup:
    nadir_release(context, ids);
    return status;
}

static nadir_status read_csv(nadir_context *context, const char *path, const nadir_read_settings *settings,
                             nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_text text = {0};
    nadir_builder builder = {0};
    nadir_csv_header header;
    nadir_words states = {0};
    nadir_words actions = {0};
    chosen_outcome outcome = {0};
    NADIR_CHECK(nadir_text_open(context, path, &text));
    NADIR_CHECK(nadir_csv_read_header(&text, COLUMNS, columns, false, &header));
    const bool several = header.positions[OUTCOME] >= 0;
    NADIR_CHECK(choose_outcome(context, &text, path, settings, several, &outcome));
    NADIR_CHECK(nadir_builder_start(context, path, &builder));
    NADIR_CHECK(read_transitions(&text, &header, &states, &actions, several ? &outcome : NULL, &builder));
    nadir_text_close(&text);
    NADIR_CHECK(nadir_model_add_names(context, &states.names, &actions.names, builder.model));
    NADIR_CHECK(nadir_builder_finish(&builder, settings, model));
cleanup:
    nadir_release(context, outcome.places);
    nadir_words_clear(context, &states);
    nadir_words_clear(context, &actions);
    nadir_builder_clear(&builder);
    nadir_text_close(&text);
    return status;
}

/* What the table says about states that have no line of their own. */
typedef struct written_states {
    int64_t largest;     /* number of a state, or of a successor, outside of terminal states */
    int64_t transitions; /* outside of terminal states */
    int64_t terminal;
} written_states;

/* Whether all rows of a state stay there, known exactly and without reward: nobody needs them. */
static bool is_end(const nadir_model *model, int64_t state)
{
    for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        const bool paid = model->rewards != NULL && model->rewards[row] != 0;
        const bool stays = entries.columns == NULL ? entries.values[state] == 1
                                                   : entries.count == 1 && entries.columns[0] == state;
        if (!stays || paid || !nadir_model_is_pinned(model, row)) {
            return false;
        }
    }
    return true;
}

static written_states look_over(const nadir_model *model)
{
    written_states found = {.largest = -1};
    for (int64_t s = 0; s < model->states; s++) {
        if (is_end(model, s)) {
            found.terminal++;
            continue;
        }
        found.largest = s > found.largest ? s : found.largest;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            for (int64_t i = 0; i < entries.count; i++) {
                if (entries.values[i] > 0) {
                    const int64_t successor = nadir_row_column(&entries, i);
                    found.largest = successor > found.largest ? successor : found.largest;
                    found.transitions++;
                }
            }
        }
    }
    return found;
}

/* A terminal state is left out, which says that it is terminal. From this state on they are written as
 * self-loops all the same: the last one if nothing else tells how many states there are, and all of them if
 * the reader would take their absence for a mistake in numbering. */
static int64_t first_written_terminal(nadir_context *context, const nadir_model *model, const char *path)
{
    const written_states found = look_over(model);
    if (found.terminal == 0) {
        return model->states;
    }
    int64_t first = found.largest == model->states - 1 ? model->states : model->states - 1;
    const int64_t transitions = found.transitions + (first < model->states);
    if (model->states > nadir_builder_states_limit(transitions)) {
        first = 0;
    }
    if (first < model->states) {
        nadir_log(context, NADIR_LOG_WARNING,
                  "%s: %lld of %lld terminal states written as a row that stays; as read back, this row is "
                  "not known exactly",
                  path, (long long)(first == 0 ? found.terminal : 1), (long long)found.terminal);
    }
    return first;
}

static void write_row(nadir_output *output, const nadir_model *model, int64_t state, int64_t row)
{
    const int64_t action = nadir_model_row_action(model, state, row);
    const double row_reward = model->rewards != NULL ? model->rewards[row] : 0;
    const nadir_row entries = nadir_model_row(model, row);
    for (int64_t i = 0; i < entries.count; i++) {
        if (!(entries.values[i] > 0) && (entries.rewards == NULL || isnan(entries.rewards[i]))) {
            continue;
        }
        nadir_output_integer(output, state);
        nadir_output_write(output, ",", 1);
        nadir_output_integer(output, action);
        nadir_output_write(output, ",", 1);
        nadir_output_integer(output, nadir_row_column(&entries, i));
        nadir_output_write(output, ",", 1);
        nadir_output_double(output, entries.values[i]);
        nadir_output_write(output, ",", 1);
        nadir_output_double(output, entries.rewards != NULL ? entries.rewards[i] : row_reward);
        nadir_output_write(output, "\n", 1);
    }
}

static nadir_status write_csv(nadir_context *context, const nadir_model *model, const char *path,
                              const nadir_write_settings *settings)
{
    (void)settings;
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    NADIR_CHECK(nadir_output_open(context, path, &output));
    if (model->rewards == NULL) {
        nadir_log(context, NADIR_LOG_WARNING, "%s: the model has no rewards; written as 0", path);
    }
    const int64_t written_terminal = first_written_terminal(context, model, path);
    nadir_output_text(&output, "idstatefrom,idaction,idstateto,probability,reward\n");
    for (int64_t s = 0; s < model->states; s++) {
        if (s < written_terminal && is_end(model, s)) {
            continue;
        }
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            write_row(&output, model, s, row);
            NADIR_CHECK(nadir_progress(context, "writing", (double)row / (double)model->rows));
        }
    }
    NADIR_CHECK(nadir_output_commit(context, &output));
cleanup:
    nadir_output_close(context, &output);
    return status;
}

const nadir_format nadir_format_csv = {
    .name = "csv",
    .endings = " .csv ",
    .title = "craam CSV",
    .holds = NADIR_HOLDS_REWARDS | NADIR_HOLDS_TRANSITION_REWARDS | NADIR_HOLDS_ZERO_REWARDS |
             NADIR_HOLDS_ACTION_NUMBERS | NADIR_HOLDS_RAGGED | NADIR_HOLDS_TERMINAL,
    .takes = NADIR_TAKES_OUTCOME,
    .recognises = recognises,
    .read = read_csv,
    .write = write_csv,
};

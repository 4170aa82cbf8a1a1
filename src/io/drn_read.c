/*
 * drn_read.c: the DRN files of Storm, one file with everything.
 *
 *     // comment                    on a line of its own
 *     @type: MDP                    or DTMC: one action in each state
 *     @value_type: double           or rational: quotients such as 1/3; may be missing. double-interval,
 *                                   rational-interval: probabilities as intervals, [0.1, 0.3]
 *     @parameters                   sections whose value is on the next line; this one is empty here
 *
 *     @reward_models
 *     steps energy
 *     @nr_states
 *     2
 *     @nr_choices                   may be missing
 *     2
 *     @model
 *     state 0 [0, 1.5] init         rewards, one of each model, if any; labels, perhaps quoted
 *         action left [1, 0]        rewards as before
 *             0 : 0.5               successor : probability, or its interval
 *             1 : 0.5
 *     state 1                       without actions: terminal
 *
 * States are 0, 1, 2, ... in this order. Where a state has a single action, its line may be missing. The
 * rewards of state and action add up. Labels other than init are not kept.
 */

#include "io/format.h"
#include "io/labels.h"

#include <stdio.h>
#include <string.h>

/* A .drn file while it is read. */
typedef struct drn_reader {
    nadir_text text;
    nadir_builder builder;
    nadir_action_labels labels;
    const nadir_read_settings *settings;

    /* what stands before @model */
    unsigned seen;      /* sections, one bit each */
    bool chain;         /* a Markov chain: one action in each state */
    int64_t states;     /* as declared */
    int64_t choices;    /* as declared, -1: not said */
    nadir_names models; /* reward models */
    int64_t chosen;     /* the reward model that is read, -1: none */

    /* the state and the action that lines belong to now */
    int64_t state;  /* -1: before the first */
    int64_t choice; /* of the state, -1: before the first */
    bool implicit;  /* transitions stand under the state itself */
    double state_reward;
    double action_reward;
    int64_t action_line;
    int64_t transitions; /* of the action */

    int64_t choices_found;
    int64_t unearned; /* states without actions but with a reward */
} drn_reader;

/* ---- Sections before the model ----------------------------------------------------------------------- */

/* No state is shorter: "state 0\n". */
#define STATE_BYTES 8

/* A section `@name: value` or `@name` and its value on the next line. */
typedef struct section {
    const char *name;
    bool next_line;
    nadir_status (*read)(drn_reader *reader, nadir_cursor value);
} section;

static nadir_status read_type(drn_reader *reader, nadir_cursor value)
{
    nadir_cursor type;
    if (!nadir_cursor_take_word(&value, "", &type)) {
        return nadir_text_fail(&reader->text, "no type of model; expected MDP or DTMC");
    }
    reader->chain = nadir_cursor_equals_nocase(type, "DTMC");
    if (!reader->chain && !nadir_cursor_equals_nocase(type, "MDP")) {
        return nadir_text_fail(&reader->text,
                               "a model of type %.*s; only MDPs and Markov chains (DTMC) can be read",
                               NADIR_WORD(type));
    }
    return NADIR_OK;
}

static nadir_status read_value_type(drn_reader *reader, nadir_cursor value)
{
    nadir_cursor type;
    if (!nadir_cursor_take_word(&value, "", &type) ||
        (!nadir_cursor_equals(type, "double") && !nadir_cursor_equals(type, "rational") &&
         !nadir_cursor_equals(type, "double-interval") && !nadir_cursor_equals(type, "rational-interval"))) {
        return nadir_text_fail(
            &reader->text,
            "values of type %.*s; only double and rational can be read, their intervals, and "
            "no parameters",
            NADIR_WORD(type));
    }
    return NADIR_OK;
}

static nadir_status read_parameters(drn_reader *reader, nadir_cursor value)
{
    if (nadir_cursor_skip_blanks(&value)) {
        return nadir_text_fail(
            &reader->text,
            "the model has the parameters %.*s; give them values in the program that wrote "
            "the file, and write it again",
            NADIR_WORD(value));
    }
    return NADIR_OK;
}

static nadir_status read_placeholders(drn_reader *reader, nadir_cursor value)
{
    (void)value;
    return nadir_text_fail(&reader->text, "placeholders stand for parametric values, which cannot be read");
}

/* "a, b, c" of all names into text, cut where it is full; returns text. */
static const char *list_names(const nadir_names *names, size_t size, char text[])
{
    size_t used = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < names->count && used < size; i++) {
        const int length =
            snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", nadir_names_get(names, i));
        used += length > 0 ? (size_t)length : 0;
    }
    return text;
}

/* The model that was asked for, else the only one. */
static nadir_status choose_reward_model(drn_reader *reader)
{
    const nadir_names *models = &reader->models;
    const char *asked = reader->settings->reward_model;
    char list[256];
    for (int64_t i = 0; i < models->count && asked != NULL; i++) {
        if (strcmp(nadir_names_get(models, i), asked) == 0) {
            reader->chosen = i;
            return NADIR_OK;
        }
    }
    if (asked != NULL && models->count == 0) {
        return nadir_text_fail(&reader->text, "reward model %.60s was asked for; the file has none", asked);
    }
    if (asked != NULL) {
        return nadir_text_fail(&reader->text,
                               "no reward model %.60s; the file has %s: take one with --reward-model NAME",
                               asked, list_names(models, sizeof list, list));
    }
    if (models->count > 1) {
        return nadir_text_fail(&reader->text, "%lld reward models, %s: take one with --reward-model NAME",
                               (long long)models->count, list_names(models, sizeof list, list));
    }
    reader->chosen = models->count - 1;
    return NADIR_OK;
}

static nadir_status read_reward_models(drn_reader *reader, nadir_cursor value)
{
    nadir_cursor name;
    while (nadir_cursor_take_word(&value, "", &name)) {
        NADIR_TRY(
            nadir_names_add(reader->text.context, &reader->models, name.at, (size_t)(name.end - name.at)));
    }
    return choose_reward_model(reader);
}

static nadir_status read_states(drn_reader *reader, nadir_cursor value)
{
    const int64_t bytes = reader->text.input.bytes;
    if (!nadir_cursor_is_integer(value, &reader->states) || reader->states < 1 ||
        reader->states > NADIR_STATES_LIMIT) {
        return nadir_text_fail(&reader->text, "found %.*s; expected the number of states, 1 to %d",
                               NADIR_WORD(value), NADIR_STATES_LIMIT);
    }
    if (reader->states > bytes / STATE_BYTES) {
        return nadir_text_fail(&reader->text,
                               "%lld states declared; a file of %lld bytes cannot hold so many",
                               (long long)reader->states, (long long)bytes);
    }
    return NADIR_OK;
}

static nadir_status read_choices(drn_reader *reader, nadir_cursor value)
{
    if (!nadir_cursor_is_integer(value, &reader->choices) || reader->choices < 0) {
        return nadir_text_fail(&reader->text, "found %.*s; expected the number of choices",
                               NADIR_WORD(value));
    }
    return NADIR_OK;
}

enum { TYPE, VALUE_TYPE, PARAMETERS, PLACEHOLDERS, REWARD_MODELS, STATES, CHOICES, SECTIONS };

static const section sections[SECTIONS] = {
    [TYPE] = {"@type:", false, read_type},
    [VALUE_TYPE] = {"@value_type:", false, read_value_type},
    [PARAMETERS] = {"@parameters", true, read_parameters},
    [PLACEHOLDERS] = {"@placeholders", false, read_placeholders},
    [REWARD_MODELS] = {"@reward_models", true, read_reward_models},
    [STATES] = {"@nr_states", true, read_states},
    [CHOICES] = {"@nr_choices", true, read_choices},
};

static nadir_status read_section(drn_reader *reader, nadir_cursor line)
{
    int which = 0;
    while (which < SECTIONS && !nadir_cursor_starts(line, sections[which].name)) {
        which++;
    }
    if (which == SECTIONS) {
        return nadir_text_fail(&reader->text,
                               "found %.*s; expected a section such as @type: or @nr_states, or @model",
                               NADIR_WORD(line));
    }
    if (reader->seen & (1U << which)) {
        return nadir_text_fail(&reader->text, "a second %s", sections[which].name);
    }
    reader->seen |= 1U << which;
    nadir_cursor value = {line.at + strlen(sections[which].name), line.end};
    if (sections[which].next_line) {
        bool more;
        NADIR_TRY(nadir_text_line(&reader->text, &value, &more));
        if (!more) {
            return nadir_text_fail(&reader->text, "the file ends after %s", sections[which].name);
        }
    }
    return sections[which].read(reader, value);
}

/* Whether the line begins with the word; then it is taken. */
static bool take_keyword(nadir_cursor *line, const char *keyword)
{
    nadir_cursor rest = *line;
    nadir_cursor word;
    if (nadir_cursor_take_word(&rest, "", &word) && nadir_cursor_equals(word, keyword)) {
        *line = rest;
        return true;
    }
    return false;
}

static nadir_status read_header(drn_reader *reader)
{
    nadir_cursor line;
    bool more;
    reader->choices = -1;
    reader->chosen = -1;
    NADIR_TRY(nadir_text_content(&reader->text, "//", &line, &more));
    while (more && !take_keyword(&line, "@model")) {
        NADIR_TRY(read_section(reader, line));
        NADIR_TRY(nadir_text_content(&reader->text, "//", &line, &more));
    }
    if (!more) {
        return nadir_text_fail(&reader->text, "the file ends before @model");
    }
    const unsigned needed = 1U << TYPE | 1U << STATES;
    if ((reader->seen & needed) != needed) {
        return nadir_text_fail(&reader->text, "no %s before @model",
                               reader->seen & (1U << TYPE) ? "@nr_states" : "@type:");
    }
    if (!(reader->seen & (1U << REWARD_MODELS))) {
        NADIR_TRY(choose_reward_model(reader));
    }
    return NADIR_OK;
}

/* ---- States, actions and transitions ----------------------------------------------------------------- */

/* Rewards in brackets; that of the chosen model goes to *reward. */
static nadir_status read_row_rewards(drn_reader *reader, nadir_cursor *line, double *reward)
{
    const nadir_cursor start = *line;
    int64_t count = 0;
    *reward = 0;
    if (!nadir_cursor_take_char(line, '[')) {
        return NADIR_OK;
    }
    bool closed = nadir_cursor_take_char(line, ']');
    while (!closed) {
        double value;
        if (!nadir_cursor_take_ratio(line, &value)) {
            return nadir_text_fail(&reader->text, "found %.*s; expected rewards in brackets",
                                   NADIR_WORD(start));
        }
        *reward = count == reader->chosen ? value : *reward;
        count++;
        closed = nadir_cursor_take_char(line, ']');
        if (!closed && !nadir_cursor_take_char(line, ',')) {
            return nadir_text_fail(&reader->text, "found %.*s; expected rewards in brackets, with commas",
                                   NADIR_WORD(start));
        }
    }
    if (count != reader->models.count) {
        return nadir_text_fail(&reader->text, "%lld rewards; @reward_models names %lld models",
                               (long long)count, (long long)reader->models.count);
    }
    return NADIR_OK;
}

/* Labels of a state: init, and what --goal and the like ask for. */
static nadir_status read_labels(drn_reader *reader, nadir_cursor *line, int64_t state, bool *initial)
{
    *initial = false;
    while (nadir_cursor_skip_blanks(line)) {
        nadir_cursor label;
        if (nadir_cursor_take_char(line, '"')) {
            const char *quote = memchr(line->at, '"', (size_t)(line->end - line->at));
            if (quote == NULL) {
                return nadir_text_fail(&reader->text, "a label without its closing quotation mark");
            }
            label = (nadir_cursor){line->at, quote};
            line->at = quote + 1;
        } else {
            (void)nadir_cursor_take_word(line, "\"", &label);
        }
        *initial = *initial || nadir_cursor_equals(label, "init");
        NADIR_TRY(nadir_terminal_mark(&reader->builder, reader->states, reader->settings, state, label));
    }
    return NADIR_OK;
}

/* An action without transitions is no distribution. */
static nadir_status end_action(drn_reader *reader)
{
    if (reader->choice >= 0 && reader->transitions == 0) {
        return nadir_fail(reader->text.context, NADIR_ERROR_FORMAT,
                          "%s:%lld: an action of state %lld without transitions", reader->text.path,
                          (long long)reader->action_line, (long long)reader->state);
    }
    return NADIR_OK;
}

static nadir_status end_state(drn_reader *reader)
{
    reader->unearned += reader->state >= 0 && reader->choice < 0 && reader->state_reward != 0;
    return end_action(reader);
}

static nadir_status read_state(drn_reader *reader, nadir_cursor line)
{
    int64_t state;
    bool initial;
    NADIR_TRY(end_state(reader));
    const int64_t expected = reader->state + 1;
    if (!nadir_cursor_take_integer(&line, &state) || state != expected) {
        return nadir_text_fail(&reader->text, "expected state %lld here, found %.*s", (long long)expected,
                               NADIR_WORD(line));
    }
    if (state >= reader->states) {
        return nadir_text_fail(&reader->text, "state %lld, but @nr_states is %lld", (long long)state,
                               (long long)reader->states);
    }
    if (nadir_cursor_skip_blanks(&line) && (*line.at == '!' || *line.at == '{')) {
        return nadir_text_fail(&reader->text, "found %.*s; an MDP has no %s", NADIR_WORD(line),
                               *line.at == '!' ? "exit rates" : "observations");
    }
    NADIR_TRY(read_row_rewards(reader, &line, &reader->state_reward));
    NADIR_TRY(read_labels(reader, &line, state, &initial));
    reader->state = state;
    reader->choice = -1;
    reader->implicit = false;
    if (initial) {
        reader->builder.model->initial[state] = 1;
    }
    return NADIR_OK;
}

/* The next action of the state. */
static nadir_status start_action(drn_reader *reader, nadir_cursor name)
{
    reader->choice++;
    reader->choices_found++;
    reader->action_reward = 0;
    reader->action_line = reader->text.line;
    reader->transitions = 0;
    return nadir_action_labels_add(&reader->text, &reader->labels, reader->state, reader->choice, name);
}

static nadir_status read_action(drn_reader *reader, nadir_cursor line)
{
    nadir_cursor name;
    NADIR_TRY(end_action(reader));
    if (reader->state < 0 || reader->implicit || !nadir_cursor_take_word(&line, "", &name)) {
        return nadir_text_fail(&reader->text, "an action %s",
                               reader->state < 0  ? "before the first state"
                               : reader->implicit ? "after transitions that stand under the state itself"
                                                  : "without a name or number");
    }
    if (reader->chain && reader->choice >= 0) {
        return nadir_text_fail(&reader->text, "a second action of state %lld in a Markov chain",
                               (long long)reader->state);
    }
    NADIR_TRY(start_action(reader, name));
    NADIR_TRY(read_row_rewards(reader, &line, &reader->action_reward));
    if (nadir_cursor_skip_blanks(&line)) {
        return nadir_text_fail(&reader->text, "found %.*s after an action", NADIR_WORD(line));
    }
    return NADIR_OK;
}

static nadir_status read_transition(drn_reader *reader, nadir_cursor line)
{
    const nadir_cursor start = line;
    int64_t successor;
    double probability;
    double upper;
    bool found = nadir_cursor_take_integer(&line, &successor) && nadir_cursor_take_char(&line, ':');
    const bool interval = found && nadir_cursor_take_interval(&line, &probability, &upper);
    found = found && (interval || nadir_cursor_take_ratio(&line, &probability));
    if (!found || nadir_cursor_skip_blanks(&line)) {
        return nadir_text_fail(
            &reader->text, "found %.*s; expected `successor : probability` or `successor : [lower, upper]`",
            NADIR_WORD(start));
    }
    if (reader->state < 0) {
        return nadir_text_fail(&reader->text, "a transition before the first state");
    }
    if (successor < 0 || successor >= reader->states) {
        return nadir_text_fail(&reader->text, "successor %lld is not a state; states are 0 to %lld",
                               (long long)successor, (long long)reader->states - 1);
    }
    if (reader->choice < 0) {
        static const char zero[] = "0";
        reader->implicit = true;
        NADIR_TRY(start_action(reader, (nadir_cursor){zero, zero + 1}));
    }
    reader->transitions++;
    if (interval) {
        return nadir_builder_add_interval(&reader->builder, reader->state, reader->choice, successor,
                                          probability, upper, reader->state_reward + reader->action_reward,
                                          reader->text.line);
    }
    return nadir_builder_add(&reader->builder, reader->state, reader->choice, successor, probability,
                             reader->state_reward + reader->action_reward, reader->text.line);
}

static nadir_status read_line(drn_reader *reader, nadir_cursor line)
{
    if (take_keyword(&line, "state")) {
        return read_state(reader, line);
    }
    if (take_keyword(&line, "action")) {
        return read_action(reader, line);
    }
    return read_transition(reader, line);
}

static nadir_status read_body(drn_reader *reader)
{
    nadir_cursor line;
    bool more;
    NADIR_TRY(nadir_text_content(&reader->text, "//", &line, &more));
    while (more) {
        NADIR_TRY(read_line(reader, line));
        NADIR_TRY(nadir_text_content(&reader->text, "//", &line, &more));
    }
    NADIR_TRY(end_state(reader));
    if (reader->state + 1 != reader->states) {
        return nadir_text_fail(&reader->text, "@nr_states is %lld, the file has %lld states",
                               (long long)reader->states, (long long)reader->state + 1);
    }
    if (reader->choices >= 0 && reader->choices != reader->choices_found) {
        return nadir_text_fail(&reader->text, "@nr_choices is %lld, the file has %lld actions",
                               (long long)reader->choices, (long long)reader->choices_found);
    }
    reader->builder.states = reader->states;
    return NADIR_OK;
}

static nadir_status read_model(nadir_context *context, const char *path, const nadir_read_settings *settings,
                               nadir_model **model)
{
    nadir_status status = NADIR_OK;
    drn_reader reader = {.settings = settings, .state = -1, .choice = -1};
    nadir_builder *builder = &reader.builder;
    NADIR_CHECK(nadir_text_open(context, path, &reader.text));
    NADIR_CHECK(nadir_builder_start(context, path, builder));
    NADIR_CHECK(read_header(&reader));
    NADIR_NEW_ZERO(context, builder->model->initial, reader.states);
    NADIR_CHECK(read_body(&reader));
    NADIR_CHECK(nadir_action_labels_apply(&reader.labels, builder));
    nadir_initial_states_spread(builder, path);
    if (reader.unearned > 0) {
        nadir_log(context, NADIR_LOG_WARNING,
                  "%s: the rewards of %lld state%s without actions are never earned", path,
                  (long long)reader.unearned, reader.unearned == 1 ? "" : "s");
    }
    builder->no_rewards = reader.chosen < 0;
    NADIR_CHECK(nadir_builder_finish(builder, settings, model));
cleanup:
    nadir_text_close(&reader.text);
    nadir_builder_clear(builder);
    nadir_action_labels_clear(context, &reader.labels);
    nadir_names_clear(context->memory, &reader.models);
    return status;
}

/* After comments a section begins. */
static bool recognises(const char *head, size_t length)
{
    nadir_cursor rest = {head, head + length};
    nadir_cursor line;
    const bool found = nadir_cursor_take_content(&rest, "//", &line);
    for (int i = 0; found && i < SECTIONS; i++) {
        if (i != PLACEHOLDERS && i != CHOICES && nadir_cursor_starts(line, sections[i].name)) {
            return true;
        }
    }
    return false;
}

const nadir_format nadir_format_drn = {
    .name = "drn",
    .endings = " .drn ",
    .title = "Storm DRN",
    .holds = NADIR_HOLDS_REWARDS | NADIR_HOLDS_INITIAL | NADIR_HOLDS_ACTION_NAMES |
             NADIR_HOLDS_ACTION_NUMBERS | NADIR_HOLDS_RAGGED | NADIR_HOLDS_TERMINAL | NADIR_HOLDS_BOX,
    .takes = NADIR_TAKES_REWARD_MODEL,
    .recognises = recognises,
    .read = read_model,
    .write = nadir_drn_write,
};

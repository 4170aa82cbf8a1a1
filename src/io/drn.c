/*
 * drn.c: the DRN files of Storm, one file with everything.
 *
 *     // comment                    on a line of its own
 *     @type: MDP                    or DTMC: one action in each state
 *     @value_type: double           or rational: quotients such as 1/3; may be missing
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
 *             0 : 0.5               successor : probability
 *             1 : 0.5
 *     state 1                       without actions: terminal
 *
 * States are 0, 1, 2, ... in this order. Where a state has a single action, its line may be missing. The
 * rewards of state and action add up. Labels other than init are not kept.
 */
#include "io/drn.h"

#include <string.h>

/* Rewards in brackets; that of the chosen model goes to *reward. */
static nadir_status read_rewards(nadir_drn_reader *reader, nadir_cursor *line, double *reward)
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

/* Labels of a state, of which only init matters. */
static nadir_status read_labels(nadir_drn_reader *reader, nadir_cursor *line, bool *initial)
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
    }
    return NADIR_OK;
}

/* An action without transitions is no distribution. */
static nadir_status end_action(nadir_drn_reader *reader)
{
    if (reader->choice >= 0 && reader->transitions == 0) {
        return nadir_fail(reader->text.context, NADIR_ERROR_FORMAT,
                          "%s:%lld: an action of state %lld without transitions", reader->text.path,
                          (long long)reader->action_line, (long long)reader->state);
    }
    return NADIR_OK;
}

static nadir_status end_state(nadir_drn_reader *reader)
{
    reader->unearned += reader->state >= 0 && reader->choice < 0 && reader->state_reward != 0;
    return end_action(reader);
}

static nadir_status read_state(nadir_drn_reader *reader, nadir_cursor line)
{
    nadir_status status = NADIR_OK;
    int64_t state;
    bool initial;
    NADIR_CHECK(end_state(reader));
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
    NADIR_CHECK(read_rewards(reader, &line, &reader->state_reward));
    NADIR_CHECK(read_labels(reader, &line, &initial));
    reader->state = state;
    reader->choice = -1;
    reader->implicit = false;
    if (initial) {
        NADIR_CHECK(nadir_initial_states_add(reader->text.context, &reader->initial, state));
    }
cleanup:
    return status;
}

/* The next action of the state. */
static nadir_status start_action(nadir_drn_reader *reader, nadir_cursor name)
{
    reader->choice++;
    reader->choices_found++;
    reader->action_reward = 0;
    reader->action_line = reader->text.line;
    reader->transitions = 0;
    return nadir_action_labels_add(&reader->text, &reader->labels, reader->state, reader->choice, name);
}

static nadir_status read_action(nadir_drn_reader *reader, nadir_cursor line)
{
    nadir_status status = NADIR_OK;
    nadir_cursor name;
    NADIR_CHECK(end_action(reader));
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
    NADIR_CHECK(start_action(reader, name));
    NADIR_CHECK(read_rewards(reader, &line, &reader->action_reward));
    if (nadir_cursor_skip_blanks(&line)) {
        return nadir_text_fail(&reader->text, "found %.*s after an action", NADIR_WORD(line));
    }
cleanup:
    return status;
}

static nadir_status read_transition(nadir_drn_reader *reader, nadir_cursor line)
{
    nadir_status status = NADIR_OK;
    const nadir_cursor start = line;
    int64_t successor;
    double probability;
    if (!nadir_cursor_take_integer(&line, &successor) || !nadir_cursor_take_char(&line, ':') ||
        !nadir_cursor_take_ratio(&line, &probability) || nadir_cursor_skip_blanks(&line)) {
        const bool interval = nadir_cursor_skip_blanks(&line) && *line.at == '[';
        return nadir_text_fail(&reader->text, "found %.*s; expected `successor : probability`%s",
                               NADIR_WORD(start), interval ? "; intervals cannot be read" : "");
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
        NADIR_CHECK(start_action(reader, (nadir_cursor){zero, zero + 1}));
    }
    reader->transitions++;
    NADIR_CHECK(nadir_builder_add(&reader->builder, reader->state, reader->choice, successor, probability,
                                  reader->state_reward + reader->action_reward, reader->text.line));
cleanup:
    return status;
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

static nadir_status read_line(nadir_drn_reader *reader, nadir_cursor line)
{
    if (!nadir_cursor_skip_blanks(&line) || nadir_cursor_starts(line, "//")) {
        return NADIR_OK;
    }
    if (take_keyword(&line, "state")) {
        return read_state(reader, line);
    }
    if (take_keyword(&line, "action")) {
        return read_action(reader, line);
    }
    return read_transition(reader, line);
}

static nadir_status read_body(nadir_drn_reader *reader)
{
    nadir_status status = NADIR_OK;
    nadir_cursor line;
    bool more;
    NADIR_CHECK(nadir_text_line(&reader->text, &line, &more));
    while (more) {
        NADIR_CHECK(read_line(reader, line));
        NADIR_CHECK(nadir_text_line(&reader->text, &line, &more));
    }
    NADIR_CHECK(end_state(reader));
    if (reader->state + 1 != reader->states) {
        return nadir_text_fail(&reader->text, "@nr_states is %lld, the file has %lld states",
                               (long long)reader->states, (long long)reader->state + 1);
    }
    if (reader->choices >= 0 && reader->choices != reader->choices_found) {
        return nadir_text_fail(&reader->text, "@nr_choices is %lld, the file has %lld actions",
                               (long long)reader->choices, (long long)reader->choices_found);
    }
    reader->builder.states = reader->states;
cleanup:
    return status;
}

static nadir_status read_model(nadir_context *context, const char *path, const nadir_read_settings *settings,
                               nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_drn_reader reader = {.settings = settings, .state = -1, .choice = -1};
    nadir_builder *builder = &reader.builder;
    NADIR_CHECK(nadir_text_open(context, path, &reader.text));
    NADIR_CHECK(nadir_builder_start(context, path, builder));
    NADIR_CHECK(nadir_drn_read_header(&reader));
    NADIR_CHECK(read_body(&reader));
    NADIR_CHECK(nadir_action_labels_apply(&reader.labels, builder));
    NADIR_CHECK(nadir_initial_states_apply(&reader.initial, path, builder));
    if (reader.unearned > 0) {
        nadir_log(context, NADIR_LOG_WARNING,
                  "%s: the rewards of %lld state%s without actions are never earned", path,
                  (long long)reader.unearned, reader.unearned == 1 ? "" : "s");
    }
    builder->no_rewards = reader.chosen < 0;
    NADIR_CHECK(nadir_builder_finish(builder, settings->keep_transition_rewards, model));
cleanup:
    nadir_text_close(&reader.text);
    nadir_builder_clear(builder);
    nadir_action_labels_clear(context, &reader.labels);
    nadir_initial_states_clear(context, &reader.initial);
    nadir_names_clear(context->memory, &reader.models);
    return status;
}

/* After comments a section begins. */
static bool recognises(const char *head, size_t length)
{
    static const char *const sections[] = {"@type:", "@value_type:", "@parameters", "@reward_models",
                                           "@nr_states"};
    nadir_cursor rest = {head, head + length};
    if (nadir_cursor_starts(rest, "\xEF\xBB\xBF")) {
        rest.at += 3;
    }
    while (rest.at < rest.end) {
        const char *newline = memchr(rest.at, '\n', (size_t)(rest.end - rest.at));
        nadir_cursor word;
        nadir_cursor line = {rest.at, newline != NULL ? newline : rest.end};
        rest.at = newline != NULL ? newline + 1 : rest.end;
        if (!nadir_cursor_take_word(&line, "\r", &word) || nadir_cursor_starts(word, "//")) {
            continue;
        }
        for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
            if (nadir_cursor_starts(word, sections[i])) {
                return true;
            }
        }
        return false;
    }
    return false;
}

const nadir_format nadir_format_drn = {
    .name = "drn",
    .endings = " .drn ",
    .title = "Storm DRN",
    .holds = NADIR_HOLDS_REWARDS | NADIR_HOLDS_INITIAL | NADIR_HOLDS_ACTION_NAMES |
             NADIR_HOLDS_ACTION_NUMBERS | NADIR_HOLDS_RAGGED | NADIR_HOLDS_TERMINAL,
    .takes = NADIR_TAKES_REWARD_MODEL,
    .recognises = recognises,
    .read = read_model,
    .write = nadir_drn_write,
};

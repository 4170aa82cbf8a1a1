/*
 * prism.c: the explicit files of PRISM, and those that Storm reads under the same name.
 *
 * A .tra file lists the transitions. PRISM begins it with the numbers of states, choices and transitions (for
 * a Markov chain: of states and transitions), Storm with the word mdp or dtmc alone. Then, one a line,
 *
 *     state choice successor probability [action]       of a Markov decision process
 *     state successor probability [action]              of a Markov chain: an MDP with one action
 *
 * all numbers from 0, probabilities as decimals or quotients (1/3), in any order. Lines that begin with # are
 * comments; newer PRISM names the type of model in the first, "# Transitions (MDP)". Rewards and labels are
 * in companion files: prism_rewards.c, prism_labels.c. A state without choices is terminal.
 */
#include "io/prism.h"

#include "io/labels.h"

#include <string.h>

/* No line of a transition is shorter: "0 0 1\n" of a chain. */
#define TRANSITION_BYTES 6

/* A .tra file while it is read. */
typedef struct tra_reader {
    nadir_text text;
    nadir_builder builder;
    nadir_action_labels labels;
    bool chain;                           /* no column for the choice */
    bool counted;                         /* the file declares counts: */
    int64_t states, choices, transitions; /* of a chain without choices */
} tra_reader;

nadir_status nadir_prism_line(nadir_text *text, nadir_cursor *line, bool *more)
{
    nadir_status status = NADIR_OK;
    bool content = false;
    do {
        NADIR_CHECK(nadir_text_line(text, line, more));
        content = *more && nadir_cursor_skip_blanks(line) && *line->at != '#';
    } while (*more && !content);
cleanup:
    return status;
}

static bool is_supported(nadir_cursor type)
{
    return nadir_cursor_equals_nocase(type, "mdp") || nadir_cursor_equals_nocase(type, "dtmc");
}

static nadir_status fail_type(nadir_text *text, nadir_cursor type)
{
    return nadir_text_fail(text, "a model of type %.*s; only MDPs and Markov chains (dtmc) can be read",
                           NADIR_WORD(type));
}

/* The first line with content. Comments before it may name the type. */
static nadir_status read_first_line(tra_reader *reader, nadir_cursor *line, bool *more)
{
    nadir_status status = NADIR_OK;
    bool content = false;
    do {
        NADIR_CHECK(nadir_text_line(&reader->text, line, more));
        content = *more && nadir_cursor_skip_blanks(line) && *line->at != '#';
        if (*more && !content && nadir_cursor_starts(*line, "# Transitions (")) {
            nadir_cursor type = {line->at + strlen("# Transitions ("), line->end};
            nadir_cursor word;
            if (nadir_cursor_take_word(&type, ")", &word) && !is_supported(word)) {
                return fail_type(&reader->text, word);
            }
        }
    } while (*more && !content);
cleanup:
    return status;
}

/* Up to `room` integers that make up the whole line; -1 when it has anything else. */
static int take_integers(nadir_cursor line, int room, int64_t values[])
{
    int count = 0;
    while (nadir_cursor_skip_blanks(&line)) {
        if (count == room || !nadir_cursor_take_integer(&line, &values[count])) {
            return -1;
        }
        count++;
    }
    return count;
}

/* The counts are accepted only as far as the size of the file allows; the states without transitions are
 * checked by the builder. */
static nadir_status check_header(tra_reader *reader)
{
    const int64_t bytes = reader->text.input.bytes;
    if (reader->states < 1 || reader->states > NADIR_STATES_LIMIT || reader->choices < 0 ||
        reader->transitions < 0) {
        return nadir_text_fail(
            &reader->text, "%lld states, %lld choices, %lld transitions declared; expected 1 to %d states",
            (long long)reader->states, (long long)reader->choices, (long long)reader->transitions,
            NADIR_STATES_LIMIT);
    }
    if (reader->transitions > bytes / TRANSITION_BYTES + 1) {
        return nadir_text_fail(&reader->text,
                               "%lld transitions declared; a file of %lld bytes cannot hold so many",
                               (long long)reader->transitions, (long long)bytes);
    }
    return NADIR_OK;
}

static nadir_status read_header(tra_reader *reader)
{
    nadir_status status = NADIR_OK;
    nadir_cursor line;
    bool more;
    NADIR_CHECK(read_first_line(reader, &line, &more));
    if (!more) {
        return nadir_text_fail(&reader->text, "the file is empty; expected a list of transitions");
    }
    int64_t numbers[4];
    const int count = take_integers(line, 4, numbers);
    nadir_cursor rest = line;
    nadir_cursor word;
    (void)nadir_cursor_take_word(&rest, "", &word);
    if (count == 2 || count == 3) {
        reader->counted = true;
        reader->chain = count == 2;
        reader->states = numbers[0];
        reader->choices = count == 3 ? numbers[1] : 0;
        reader->transitions = numbers[count - 1];
        return check_header(reader);
    }
    if (is_supported(word) && !nadir_cursor_skip_blanks(&rest)) {
        reader->chain = nadir_cursor_equals_nocase(word, "dtmc");
        return NADIR_OK;
    }
    const char first = *word.at;
    if ((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z')) {
        return fail_type(&reader->text, word);
    }
    return nadir_text_fail(
        &reader->text,
        "found %.*s; expected the numbers of states, choices and transitions (for a Markov "
        "chain: of states and transitions), or the word mdp or dtmc%s",
        NADIR_WORD(line), count == 4 ? "; four numbers begin a POMDP, which cannot be read" : "");
cleanup:
    return status;
}

/* What a line that is no transition might be instead. */
static nadir_status fail_line(tra_reader *reader, nadir_cursor line)
{
    const size_t length = (size_t)(line.end - line.at);
    const char *hint = "";
    if (memchr(line.at, ':', length) != NULL) {
        hint = "; this is PRISM's row form: export one transition a line instead";
    } else if (memchr(line.at, '[', length) != NULL) {
        hint = "; intervals of probabilities cannot be read";
    }
    return nadir_text_fail(
        &reader->text, "found %.*s; expected `%s`%s", NADIR_WORD(line),
        reader->chain ? "state successor probability" : "state choice successor probability [action]", hint);
}

static nadir_status read_transition(tra_reader *reader, nadir_cursor line)
{
    nadir_status status = NADIR_OK;
    int64_t state;
    int64_t choice = 0;
    int64_t successor;
    double probability;
    nadir_cursor rest = line;
    nadir_cursor label;
    const bool found = nadir_cursor_take_integer(&rest, &state) &&
                       (reader->chain || nadir_cursor_take_integer(&rest, &choice)) &&
                       nadir_cursor_take_integer(&rest, &successor) &&
                       nadir_cursor_take_ratio(&rest, &probability);
    /* A label stands apart: 0.5[ and 1/0 are no numbers. */
    if (!found || (rest.at < rest.end && *rest.at != ' ' && *rest.at != '\t')) {
        return fail_line(reader, line);
    }
    const bool labelled = nadir_cursor_take_word(&rest, "", &label);
    if (nadir_cursor_skip_blanks(&rest)) {
        return fail_line(reader, line);
    }
    const int64_t largest = state > successor ? state : successor;
    if (reader->counted && largest >= reader->states) {
        return nadir_text_fail(&reader->text, "state %lld, but %lld states are declared, 0 to %lld",
                               (long long)largest, (long long)reader->states, (long long)reader->states - 1);
    }
    NADIR_CHECK(
        nadir_builder_add(&reader->builder, state, choice, successor, probability, 0, reader->text.line));
    if (labelled && !reader->chain) { /* in a chain they say nothing about choices */
        NADIR_CHECK(nadir_action_labels_add(&reader->text, &reader->labels, state, choice, label));
    }
cleanup:
    return status;
}

static nadir_status read_transitions(tra_reader *reader)
{
    nadir_status status = NADIR_OK;
    nadir_cursor line;
    bool more;
    NADIR_CHECK(nadir_prism_line(&reader->text, &line, &more));
    while (more) {
        NADIR_CHECK(read_transition(reader, line));
        NADIR_CHECK(nadir_prism_line(&reader->text, &line, &more));
    }
    if (reader->builder.count == 0 && !reader->counted) {
        return nadir_text_fail(&reader->text, "the file ends without a transition");
    }
    if (reader->counted) {
        reader->builder.states = reader->states;
    }
cleanup:
    return status;
}

/* Needs the builder sorted. */
static int64_t count_choices(const nadir_builder *builder)
{
    int64_t choices = 0;
    for (size_t i = 0; i < builder->count; i++) {
        const nadir_transition *self = &builder->transitions[i];
        choices += i == 0 || self->state != self[-1].state || self->action != self[-1].action;
    }
    return choices;
}

static nadir_status check_counts(tra_reader *reader, int64_t choices)
{
    const int64_t transitions = (int64_t)reader->builder.count;
    if (reader->counted && transitions != reader->transitions) {
        return nadir_text_fail(&reader->text, "%lld transitions are declared, the file has %lld",
                               (long long)reader->transitions, (long long)transitions);
    }
    if (reader->counted && !reader->chain && choices != reader->choices) {
        return nadir_text_fail(&reader->text, "%lld choices are declared, the file has %lld",
                               (long long)reader->choices, (long long)choices);
    }
    return NADIR_OK;
}

static nadir_status read_model(nadir_context *context, const char *path, const nadir_read_settings *settings,
                               nadir_model **model)
{
    nadir_status status = NADIR_OK;
    tra_reader reader = {0};
    nadir_builder *builder = &reader.builder;
    NADIR_CHECK(nadir_text_open(context, path, &reader.text));
    NADIR_CHECK(nadir_builder_start(context, path, builder));
    NADIR_CHECK(read_header(&reader));
    NADIR_CHECK(read_transitions(&reader));
    NADIR_CHECK(nadir_builder_sort(builder));
    const int64_t choices = count_choices(builder);
    NADIR_CHECK(check_counts(&reader, choices));
    builder->no_rewards = settings->rewards == NULL;
    if (settings->rewards != NULL) {
        NADIR_CHECK(nadir_prism_read_rewards(settings->rewards, reader.chain, choices, builder));
    }
    if (settings->labels != NULL) {
        NADIR_CHECK(nadir_prism_read_labels(settings->labels, builder));
    }
    NADIR_CHECK(nadir_action_labels_apply(&reader.labels, builder));
    NADIR_CHECK(nadir_builder_finish(builder, settings->keep_transition_rewards, model));
cleanup:
    nadir_text_close(&reader.text);
    nadir_action_labels_clear(context, &reader.labels);
    nadir_builder_clear(builder);
    return status;
}

/* The next line of the head that has content, complete or not; false if there is none. */
static bool next_line(nadir_cursor *head, nadir_cursor *line)
{
    while (head->at < head->end) {
        const char *newline = memchr(head->at, '\n', (size_t)(head->end - head->at));
        *line = (nadir_cursor){head->at, newline != NULL ? newline : head->end};
        head->at = newline != NULL ? newline + 1 : head->end;
        if (line->end > line->at && line->end[-1] == '\r') {
            line->end--;
        }
        if (nadir_cursor_skip_blanks(line) && *line->at != '#') {
            return true;
        }
    }
    return false;
}

/* Whether a line could follow a line of `counts` numbers: as many indices (of a POMDP three), then more. */
static bool could_be_transition(nadir_cursor line, int counts)
{
    int64_t index;
    for (int i = 0; i < counts && i < 3; i++) {
        if (!nadir_cursor_take_integer(&line, &index)) {
            return false;
        }
    }
    return nadir_cursor_skip_blanks(&line);
}

/* A line of counts and a transition, or a type of model alone on a line; those that cannot be read are known
 * here too, so that they are refused by their name. */
static bool recognises(const char *head, size_t length)
{
    static const char *const types[] = {"mdp",   "dtmc", "ctmc",  "ctmdp", "ma",
                                        "pomdp", "imdp", "idtmc", "lts"};
    nadir_cursor rest = {head, head + length};
    nadir_cursor line;
    int64_t numbers[4];
    if (nadir_cursor_starts(rest, "\xEF\xBB\xBF")) {
        rest.at += 3;
    }
    if (!next_line(&rest, &line)) {
        return false;
    }
    const int counts = take_integers(line, 4, numbers);
    if (counts >= 2) {
        return !next_line(&rest, &line) || could_be_transition(line, counts);
    }
    nadir_cursor word;
    (void)nadir_cursor_take_word(&line, "", &word);
    for (size_t i = 0; i < sizeof types / sizeof *types && !nadir_cursor_skip_blanks(&line); i++) {
        if (nadir_cursor_equals_nocase(word, types[i])) {
            return true;
        }
    }
    return false;
}

const nadir_format nadir_format_prism = {
    .name = "prism",
    .endings = " .tra ",
    .title = "PRISM explicit",
    .holds = NADIR_HOLDS_REWARDS | NADIR_HOLDS_TRANSITION_REWARDS | NADIR_HOLDS_INITIAL |
             NADIR_HOLDS_ACTION_NAMES | NADIR_HOLDS_RAGGED | NADIR_HOLDS_TERMINAL,
    .takes = NADIR_TAKES_REWARDS | NADIR_TAKES_LABELS,
    .recognises = recognises,
    .read = read_model,
    .write = nadir_prism_write,
};

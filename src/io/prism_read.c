/*
 * prism_read.c: the explicit files of PRISM, and those that Storm reads under the same name.
 *
 * A .tra file lists the transitions. PRISM begins it with the numbers of states, choices and transitions (for
 * a Markov chain: of states and transitions), Storm with the word mdp or dtmc alone. Then, one a line,
 *
 *     state choice successor probability [action]       of a Markov decision process
 *     state successor probability [action]              of a Markov chain: an MDP with one action
 *
 * all numbers from 0, probabilities as decimals, quotients (1/3) or intervals of both ([0.1,0.2]), in any order.
 * Lines that begin with # are comments; newer PRISM names the type of model in the first, "# Transitions (MDP)". Rewards and labels are
 * in companion files. A state without choices is terminal.
 */

#include "io/format.h"
#include "io/labels.h"
#include "model/model_builder.h"

#include <stdio.h>
#include <string.h>

/* ---- Labels ------------------------------------------------------------------------------------------ */

/*
 * The companion file with labels of the PRISM format. `init` gives the initial
 * distribution, uniform over the states that have it; others are what --goal and the like may name.
 *
 *     PRISM                            Storm
 *     0="init" 1="deadlock"            #DECLARATION
 *     0: 0                             init deadlock
 *     7: 1                             #END
 *                                      0 init
 *                                      7 deadlock
 *
 * Other lines of PRISM's that begin with # are comments.
 */

typedef struct label_reader {
    nadir_text text;
    nadir_builder *builder;
    bool numbered;   /* PRISM's style: labels are numbers */
    int64_t init;    /* the number of init, -1: not declared */
    int64_t largest; /* number of a label, -1: none */
    const nadir_read_settings *settings;
    nadir_names names; /* by number, PRISM's style */
} label_reader;

/* 0="init" 1="deadlock" */
static nadir_status declare_numbered(label_reader *reader, nadir_cursor line)
{
    reader->numbered = true;
    while (nadir_cursor_skip_blanks(&line)) {
        int64_t number;
        const nadir_cursor start = line;
        const bool begun = nadir_cursor_take_integer(&line, &number) && number >= 0 &&
                           nadir_cursor_take_char(&line, '=') && nadir_cursor_take_char(&line, '"');
        const char *quote = begun ? memchr(line.at, '"', (size_t)(line.end - line.at)) : NULL;
        if (quote == NULL) {
            return nadir_text_fail(
                &reader->text,
                "found %.*s; expected names of labels such as 0=\"init\" 1=\"deadlock\", or "
                "#DECLARATION",
                NADIR_WORD(start));
        }
        const nadir_cursor name = {line.at, quote};
        reader->init = nadir_cursor_equals(name, "init") ? number : reader->init;
        reader->largest = number > reader->largest ? number : reader->largest;
        if (number == reader->names.count) { /* PRISM numbers them in order */
            NADIR_TRY(
                nadir_names_add(reader->text.context, &reader->names, name.at, (size_t)(name.end - name.at)));
        }
        line.at = quote + 1;
    }
    return NADIR_OK;
}

/* Of names, the words from #DECLARATION to #END, which may stand on any line. */
static nadir_status read_declaration(label_reader *reader)
{
    nadir_status status = NADIR_OK;
    nadir_cursor line;
    bool named = false;
    bool more;
    do {
        nadir_cursor word;
        NADIR_CHECK(nadir_text_line(&reader->text, &line, &more));
        nadir_cursor rest = line;
        while (more && nadir_cursor_take_word(&rest, "", &word)) {
            if (named && nadir_cursor_equals(word, "#END")) {
                return NADIR_OK;
            }
            if (!named && *word.at != '#') {
                return declare_numbered(reader, line);
            }
            named = named || nadir_cursor_equals(word, "#DECLARATION");
            if (!named) { /* a comment */
                break;
            }
        }
    } while (more);
    status = nadir_text_fail(&reader->text, named ? "the file ends before #END"
                                                  : "the file is empty; expected labels of states");
cleanup:
    return status;
}

/* The labels of one state; *initial when init is among them. */
static nadir_status read_labels_of_state(label_reader *reader, nadir_cursor line, int64_t *state,
                                         bool *initial)
{
    nadir_cursor rest = line;
    nadir_cursor word;
    *initial = false;
    if (!nadir_cursor_take_integer(&rest, state) ||
        (reader->numbered && !nadir_cursor_take_char(&rest, ':'))) {
        return nadir_text_fail(&reader->text, "found %.*s; expected a state%s and its labels",
                               NADIR_WORD(line), reader->numbered ? ", a colon" : "");
    }
    while (nadir_cursor_take_word(&rest, "", &word)) {
        int64_t number;
        nadir_cursor name = word;
        if (!reader->numbered) {
            *initial = *initial || nadir_cursor_equals(word, "init");
        } else if (!nadir_cursor_is_integer(word, &number) || number < 0 || number > reader->largest) {
            return nadir_text_fail(&reader->text, "state %lld: %.*s is not the number of a label",
                                   (long long)*state, NADIR_WORD(word));
        } else {
            *initial = *initial || number == reader->init;
            name.at = nadir_names_get(&reader->names, number);
            name.end = name.at != NULL ? name.at + strlen(name.at) : NULL;
        }
        if (name.at != NULL && *state >= 0 && *state < reader->builder->states) {
            NADIR_TRY(nadir_terminal_mark(reader->builder, reader->builder->states, reader->settings, *state,
                                          name));
        }
    }
    return NADIR_OK;
}

static nadir_status read_labels(label_reader *reader)
{
    const int64_t states = reader->builder->states;
    nadir_cursor line;
    bool more;
    NADIR_TRY(nadir_text_content(&reader->text, "#", &line, &more));
    while (more) {
        int64_t state;
        bool initial;
        NADIR_TRY(read_labels_of_state(reader, line, &state, &initial));
        if (state < 0 || state >= states) {
            return nadir_text_fail(&reader->text, "labels of state %lld; the model has the states 0 to %lld",
                                   (long long)state, (long long)states - 1);
        }
        if (initial) {
            reader->builder->model->initial[state] = 1;
        }
        NADIR_TRY(nadir_text_content(&reader->text, "#", &line, &more));
    }
    return NADIR_OK;
}

static nadir_status read_label_file(const char *path, const nadir_read_settings *settings,
                                    nadir_builder *builder)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = builder->context;
    label_reader reader = {.builder = builder, .init = -1, .largest = -1, .settings = settings};
    NADIR_CHECK(nadir_text_open(context, path, &reader.text));
    NADIR_CHECK(read_declaration(&reader));
    NADIR_NEW_ZERO(context, builder->model->initial, builder->states);
    NADIR_CHECK(read_labels(&reader));
    nadir_initial_states_spread(builder, path);
cleanup:
    nadir_text_close(&reader.text);
    nadir_names_clear(context->memory, &reader.names);
    return status;
}

/* ---- Rewards ----------------------------------------------------------------------------------------- */

/*
 * The companion files with rewards of the PRISM format.
 *
 * Rewards of transitions (.trew, .trans.rew) have the columns of a transition with the reward in the place of
 * the probability; rewards of states (.srew) are lines `state reward`, earned on every transition of the
 * state. PRISM puts a line of counts before them: states, choices and number of rewards (for a Markov chain:
 * states and number of rewards), or states and number of rewards; Storm does not. Transitions and states that
 * are not listed have reward 0.
 *
 * The number of columns tells the two kinds and the counts apart. Only `states number` and `state reward`
 * look the same; but a state is less than the number of states, so that number comes first in counts alone.
 */

#define COLUMNS 4

typedef struct reward_reader {
    nadir_text text;
    nadir_builder *builder;
    bool chain;
    int64_t choices;  /* of the model */
    int64_t declared; /* number of rewards, -1: not said */
    int64_t found;    /* lines with a reward so far */
    int columns;      /* of those lines, 0: none so far */
    double *states;   /* [states] rewards of states; NULL until there is one */
    bool *given;      /* [states], or [transitions]: has its reward */
    int64_t first[2]; /* the first line if it gives a state and an integer as its reward, else -1, -1 */
    int64_t largest;  /* state of the lines after it */
} reward_reader;

/* One line: integers, then a number. */
typedef struct reward_line {
    nadir_cursor text;
    int columns; /* one more than COLUMNS: too many */
    nadir_cursor words[COLUMNS];
} reward_line;

static reward_line split(nadir_cursor line)
{
    reward_line cut = {.text = line};
    nadir_cursor word;
    while (cut.columns <= COLUMNS && nadir_cursor_take_word(&line, "", &word)) {
        if (cut.columns < COLUMNS) {
            cut.words[cut.columns] = word;
        }
        cut.columns++;
    }
    return cut;
}

static bool take_indices(const reward_line *line, int count, int64_t indices[])
{
    for (int i = 0; i < count; i++) {
        if (!nadir_cursor_is_integer(line->words[i], &indices[i])) {
            return false;
        }
    }
    return true;
}

static bool take_reward(const reward_line *line, double *reward)
{
    nadir_cursor word = line->words[line->columns - 1];
    return nadir_cursor_take_ratio(&word, reward) && word.at == word.end;
}

static nadir_status fail_reward_line(reward_reader *reader, const reward_line *line)
{
    return nadir_text_fail(&reader->text, "found %.*s; expected `%s` or `state reward`%s",
                           NADIR_WORD(line->text),
                           reader->chain ? "state successor reward" : "state choice successor reward",
                           reader->found > 0 ? ", the same as in the lines before" : "");
}

/* Whether the first line gives counts; then they are checked against the model. */
static nadir_status read_counts(reward_reader *reader, const reward_line *line, bool *counts)
{
    const int64_t states = reader->builder->states;
    int64_t values[3] = {0};
    const int columns = line->columns;
    *counts = (columns == 2 && take_indices(line, 2, values) && values[0] == states) ||
              (columns == 3 && !reader->chain);
    if (!*counts) {
        return NADIR_OK;
    }
    if (!take_indices(line, columns, values)) {
        return fail_reward_line(reader, line);
    }
    if (values[0] != states || (columns == 3 && values[1] != reader->choices)) {
        return nadir_text_fail(
            &reader->text, "rewards for %lld states and %lld choices; the model has %lld and %lld",
            (long long)values[0], (long long)values[1], (long long)states, (long long)reader->choices);
    }
    reader->declared = values[columns - 1];
    return NADIR_OK;
}

/* For check_reward_counts. */
static void record_state_reward(reward_reader *reader, int64_t state, nadir_cursor reward)
{
    int64_t count;
    if (reader->found > 0) {
        reader->largest = state > reader->largest ? state : reader->largest;
    } else if (reader->declared < 0 && nadir_cursor_is_integer(reward, &count)) {
        reader->first[0] = state;
        reader->first[1] = count;
    }
}

static nadir_status read_reward(reward_reader *reader, const reward_line *line)
{
    nadir_status status = NADIR_OK;
    nadir_builder *builder = reader->builder;
    const bool of_state = line->columns == 2;
    const size_t places = of_state ? (size_t)builder->states : builder->count;
    int64_t indices[3] = {0};
    double reward;
    if (!take_indices(line, line->columns - 1, indices) || !take_reward(line, &reward)) {
        return fail_reward_line(reader, line);
    }
    const int64_t state = indices[0];
    const int64_t choice = reader->chain ? 0 : indices[1];
    const int64_t successor = indices[line->columns - 2];
    if (of_state && (state < 0 || state >= builder->states)) {
        return nadir_text_fail(&reader->text, "a reward for state %lld; the model has the states 0 to %lld",
                               (long long)state, (long long)builder->states - 1);
    }
    const int64_t place = of_state ? state : nadir_builder_find(builder, state, choice, successor);
    if (place < 0) {
        return nadir_text_fail(
            &reader->text,
            "a reward for state %lld, choice %lld, successor %lld; there is no such transition",
            (long long)state, (long long)choice, (long long)successor);
    }
    if (reader->given == NULL) {
        NADIR_NEW_ZERO(builder->context, reader->given, places);
    }
    if (reader->given[place]) { /* also keeps the work in bounds where transitions are given often */
        char transition[64] = "";
        if (!of_state) {
            (void)snprintf(transition, sizeof transition, ", choice %lld, successor %lld", (long long)choice,
                           (long long)successor);
        }
        return nadir_text_fail(&reader->text, "a second reward for state %lld%s", (long long)state,
                               transition);
    }
    reader->given[place] = true;
    if (!of_state) {
        nadir_builder_add_reward(builder, place, reward);
        return NADIR_OK;
    }
    if (reader->states == NULL) {
        NADIR_NEW_ZERO(builder->context, reader->states, places);
    }
    reader->states[state] = reward;
    record_state_reward(reader, state, line->words[1]);
cleanup:
    return status;
}

static nadir_status read_reward_lines(reward_reader *reader)
{
    nadir_cursor text;
    bool more;
    bool first = true;
    const int width = reader->chain ? 3 : 4;
    NADIR_TRY(nadir_text_content(&reader->text, "#", &text, &more));
    for (; more; first = false) {
        const reward_line line = split(text);
        bool counts = false;
        if (first) {
            NADIR_TRY(read_counts(reader, &line, &counts));
        }
        if (!counts) {
            if ((line.columns != 2 && line.columns != width) ||
                (reader->columns != 0 && line.columns != reader->columns)) {
                return fail_reward_line(reader, &line);
            }
            reader->columns = line.columns;
            NADIR_TRY(read_reward(reader, &line));
            reader->found++;
        }
        NADIR_TRY(nadir_text_content(&reader->text, "#", &text, &more));
    }
    if (first) {
        return nadir_text_fail(&reader->text, "the file is empty; expected rewards");
    }
    return NADIR_OK;
}

static nadir_status check_reward_counts(reward_reader *reader)
{
    if (reader->declared >= 0 && reader->declared != reader->found) {
        return nadir_text_fail(&reader->text, "%lld rewards are declared, the file has %lld",
                               (long long)reader->declared, (long long)reader->found);
    }
    /* Read as counts, the first line would fit the rest: it was meant for another model. */
    if (reader->found > 1 && reader->first[1] == reader->found - 1 && reader->largest < reader->first[0]) {
        return nadir_text_fail(&reader->text, "rewards for %lld states; the model has %lld",
                               (long long)reader->first[0], (long long)reader->builder->states);
    }
    return NADIR_OK;
}

/* The rewards of states without transitions are never earned. */
static void warn_unearned(reward_reader *reader)
{
    int64_t unearned = 0;
    for (size_t i = 0; i < reader->builder->count; i++) {
        reader->states[reader->builder->transitions[i].state] = 0;
    }
    for (int64_t s = 0; s < reader->builder->states; s++) {
        unearned += reader->states[s] != 0;
    }
    if (unearned > 0) {
        nadir_log(reader->text.context, NADIR_LOG_WARNING,
                  "%s: the rewards of %lld state%s without choices are never earned", reader->text.path,
                  (long long)unearned, unearned == 1 ? "" : "s");
    }
}

static nadir_status read_reward_file(const char *path, bool chain, int64_t choices, nadir_builder *builder)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = builder->context;
    reward_reader reader = {
        .builder = builder, .chain = chain, .choices = choices, .declared = -1, .first = {-1, -1}};
    NADIR_CHECK(nadir_text_open(context, path, &reader.text));
    NADIR_CHECK(read_reward_lines(&reader));
    NADIR_CHECK(check_reward_counts(&reader));
    if (reader.states != NULL) {
        nadir_builder_add_state_rewards(builder, builder->states, reader.states);
        warn_unearned(&reader);
    }
cleanup:
    nadir_text_close(&reader.text);
    NADIR_RELEASE(context, reader.states, reader.given);
    return status;
}

/* ---- Transitions ------------------------------------------------------------------------------------- */

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

static bool is_supported(nadir_cursor type)
{
    return nadir_cursor_equals_nocase(type, "mdp") || nadir_cursor_equals_nocase(type, "dtmc") ||
           nadir_cursor_equals_nocase(type, "imdp") || nadir_cursor_equals_nocase(type, "idtmc");
}

static nadir_status fail_type(nadir_text *text, nadir_cursor type)
{
    return nadir_text_fail(text, "a model of type %.*s; only MDPs and Markov chains (dtmc) can be read",
                           NADIR_WORD(type));
}

/* The first line with content. Comments before it may name the type. */
static nadir_status read_first_line(tra_reader *reader, nadir_cursor *line, bool *more)
{
    bool content = false;
    do {
        NADIR_TRY(nadir_text_line(&reader->text, line, more));
        content = *more && nadir_cursor_skip_blanks(line) && *line->at != '#';
        if (*more && !content && nadir_cursor_starts(*line, "# Transitions (")) {
            nadir_cursor type = {line->at + strlen("# Transitions ("), line->end};
            nadir_cursor word;
            if (nadir_cursor_take_word(&type, ")", &word) && !is_supported(word)) {
                return fail_type(&reader->text, word);
            }
        }
    } while (*more && !content);
    return NADIR_OK;
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
    nadir_cursor line;
    bool more;
    NADIR_TRY(read_first_line(reader, &line, &more));
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
        reader->chain = nadir_cursor_equals_nocase(word, "dtmc") || nadir_cursor_equals_nocase(word, "idtmc");
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
    return NADIR_OK;
}

/* What a line that is no transition might be instead. */
static nadir_status fail_line(tra_reader *reader, nadir_cursor line)
{
    const size_t length = (size_t)(line.end - line.at);
    const char *hint = "";
    if (memchr(line.at, ':', length) != NULL) {
        hint = "; this is PRISM's row form: export one transition a line instead";
    }
    return nadir_text_fail(
        &reader->text, "found %.*s; expected `%s`%s", NADIR_WORD(line),
        reader->chain ? "state successor probability" : "state choice successor probability [action]", hint);
}

static nadir_status read_transition(tra_reader *reader, nadir_cursor line)
{
    int64_t state;
    int64_t choice = 0;
    int64_t successor;
    double probability;
    double upper;
    nadir_cursor rest = line;
    nadir_cursor label;
    bool found = nadir_cursor_take_integer(&rest, &state) &&
                 (reader->chain || nadir_cursor_take_integer(&rest, &choice)) &&
                 nadir_cursor_take_integer(&rest, &successor);
    const bool interval = found && nadir_cursor_take_interval(&rest, &probability, &upper);
    found = found && (interval || nadir_cursor_take_ratio(&rest, &probability));
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
    NADIR_TRY(interval ? nadir_builder_add_interval(&reader->builder, state, choice, successor, probability,
                                                    upper, 0, reader->text.line)
                       : nadir_builder_add(&reader->builder, state, choice, successor, probability, 0,
                                           reader->text.line));
    if (labelled && !reader->chain) { /* in a chain they say nothing about choices */
        NADIR_TRY(nadir_action_labels_add(&reader->text, &reader->labels, state, choice, label));
    }
    return NADIR_OK;
}

static nadir_status read_transitions(tra_reader *reader)
{
    nadir_cursor line;
    bool more;
    NADIR_TRY(nadir_text_content(&reader->text, "#", &line, &more));
    while (more) {
        NADIR_TRY(read_transition(reader, line));
        NADIR_TRY(nadir_text_content(&reader->text, "#", &line, &more));
    }
    if (reader->builder.count == 0 && !reader->counted) {
        return nadir_text_fail(&reader->text, "the file ends without a transition");
    }
    if (reader->counted) {
        reader->builder.states = reader->states;
    }
    return NADIR_OK;
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
    const int64_t choices = nadir_count_choices(builder);
    NADIR_CHECK(check_counts(&reader, choices));
    builder->no_rewards = settings->rewards == NULL;
    if (settings->rewards != NULL) {
        NADIR_CHECK(read_reward_file(settings->rewards, reader.chain, choices, builder));
    }
    if (settings->labels != NULL) {
        NADIR_CHECK(read_label_file(settings->labels, settings, builder));
    }
    NADIR_CHECK(nadir_action_labels_apply(&reader.labels, builder));
    NADIR_CHECK(nadir_builder_finish(builder, settings, model));
cleanup:
    nadir_text_close(&reader.text);
    nadir_action_labels_clear(context, &reader.labels);
    nadir_builder_clear(builder);
    return status;
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
    if (!nadir_cursor_take_content(&rest, "#", &line)) {
        return false;
    }
    const int counts = take_integers(line, 4, numbers);
    if (counts >= 2) {
        return !nadir_cursor_take_content(&rest, "#", &line) || could_be_transition(line, counts);
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
             NADIR_HOLDS_ACTION_NAMES | NADIR_HOLDS_RAGGED | NADIR_HOLDS_TERMINAL | NADIR_HOLDS_BOX,
    .takes = NADIR_TAKES_REWARDS | NADIR_TAKES_LABELS,
    .recognises = recognises,
    .read = read_model,
    .write = nadir_prism_write,
};

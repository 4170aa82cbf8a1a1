/*
 * prism_rewards.c: the companion files with rewards of the PRISM format.
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
#include "io/prism.h"

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

static nadir_status fail_line(reward_reader *reader, const reward_line *line)
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
        return fail_line(reader, line);
    }
    if (values[0] != states || (columns == 3 && values[1] != reader->choices)) {
        return nadir_text_fail(
            &reader->text, "rewards for %lld states and %lld choices; the model has %lld and %lld",
            (long long)values[0], (long long)values[1], (long long)states, (long long)reader->choices);
    }
    reader->declared = values[columns - 1];
    return NADIR_OK;
}

static nadir_status read_state_reward(reward_reader *reader, const reward_line *line)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = reader->text.context;
    const int64_t states = reader->builder->states;
    int64_t state;
    double reward;
    if (!take_indices(line, 1, &state) || !take_reward(line, &reward)) {
        return fail_line(reader, line);
    }
    if (state < 0 || state >= states) {
        return nadir_text_fail(&reader->text, "a reward for state %lld; the model has the states 0 to %lld",
                               (long long)state, (long long)states - 1);
    }
    if (reader->states == NULL) {
        NADIR_NEW_ZERO(context, reader->states, states);
        NADIR_NEW_ZERO(context, reader->given, states);
    }
    if (reader->given[state]) {
        return nadir_text_fail(&reader->text, "a second reward for state %lld", (long long)state);
    }
    reader->given[state] = true;
    reader->states[state] = reward;
    int64_t count;
    if (reader->found > 0) {
        reader->largest = state > reader->largest ? state : reader->largest;
    } else if (reader->declared < 0 && nadir_cursor_is_integer(line->words[1], &count)) {
        reader->first[0] = state;
        reader->first[1] = count;
    }
cleanup:
    return status;
}

static nadir_status read_transition_reward(reward_reader *reader, const reward_line *line)
{
    nadir_status status = NADIR_OK;
    nadir_builder *builder = reader->builder;
    int64_t indices[3];
    double reward;
    if (!take_indices(line, line->columns - 1, indices) || !take_reward(line, &reward)) {
        return fail_line(reader, line);
    }
    const int64_t state = indices[0];
    const int64_t choice = reader->chain ? 0 : indices[1];
    const int64_t successor = indices[line->columns - 2];
    const int64_t found = nadir_builder_find(builder, state, choice, successor);
    if (found < 0) {
        return nadir_text_fail(
            &reader->text,
            "a reward for state %lld, choice %lld, successor %lld; there is no such transition",
            (long long)state, (long long)choice, (long long)successor);
    }
    if (reader->given == NULL) {
        NADIR_NEW_ZERO(reader->text.context, reader->given, builder->count);
    }
    if (reader->given[found]) { /* also keeps the work in bounds where transitions are given often */
        return nadir_text_fail(&reader->text, "a second reward for state %lld, choice %lld, successor %lld",
                               (long long)state, (long long)choice, (long long)successor);
    }
    reader->given[found] = true;
    (void)nadir_builder_add_reward(builder, state, choice, successor, reward);
cleanup:
    return status;
}

static nadir_status read_lines(reward_reader *reader)
{
    nadir_status status = NADIR_OK;
    nadir_cursor text;
    bool more;
    bool first = true;
    const int width = reader->chain ? 3 : 4;
    NADIR_CHECK(nadir_prism_line(&reader->text, &text, &more));
    for (; more; first = false) {
        const reward_line line = split(text);
        bool counts = false;
        if (first) {
            NADIR_CHECK(read_counts(reader, &line, &counts));
        }
        if (!counts) {
            if ((line.columns != 2 && line.columns != width) ||
                (reader->columns != 0 && line.columns != reader->columns)) {
                return fail_line(reader, &line);
            }
            reader->columns = line.columns;
            NADIR_CHECK(line.columns == 2 ? read_state_reward(reader, &line)
                                          : read_transition_reward(reader, &line));
            reader->found++;
        }
        NADIR_CHECK(nadir_prism_line(&reader->text, &text, &more));
    }
    if (first) {
        return nadir_text_fail(&reader->text, "the file is empty; expected rewards");
    }
cleanup:
    return status;
}

static nadir_status check_counts(reward_reader *reader)
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

nadir_status nadir_prism_read_rewards(const char *path, bool chain, int64_t choices, nadir_builder *builder)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = builder->context;
    reward_reader reader = {
        .builder = builder, .chain = chain, .choices = choices, .declared = -1, .first = {-1, -1}};
    NADIR_CHECK(nadir_text_open(context, path, &reader.text));
    NADIR_CHECK(read_lines(&reader));
    NADIR_CHECK(check_counts(&reader));
    if (reader.states != NULL) {
        nadir_builder_add_state_rewards(builder, builder->states, reader.states);
        warn_unearned(&reader);
    }
cleanup:
    nadir_text_close(&reader.text);
    nadir_release(context, reader.states);
    nadir_release(context, reader.given);
    return status;
}

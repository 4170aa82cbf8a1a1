/*
 * cassandra_statements.c: the statements T:, O: and R: of a Cassandra file, as rules; see cassandra.c.
 *
 * A row or matrix of numbers becomes one base of zeros and a rule for each number that is not zero: later
 * rules override earlier ones, so this says the same. Observations are read and forgotten.
 */
#include "io/cassandra.h"

#include <stdio.h>

/* What follows T:, O: or R: up to the numbers. */
typedef struct statement {
    int64_t line;
    int count;         /* how many of the places were given */
    int32_t places[4]; /* action, state, then end or observation */
} statement;

/* The keyword and `: place` up to most times. lists[i]: what place i is one of. */
static nadir_status take_statement(nadir_cassandra_problem *problem, int most,
                                   const nadir_cassandra_list *const lists[], statement *taken)
{
    nadir_status status = NADIR_OK;
    nadir_cassandra_lexer *lexer = &problem->lexer;
    const char keyword[] = {nadir_cassandra_current(lexer)->text[0], '\0'};
    *taken = (statement){.line = nadir_cassandra_current(lexer)->line};
    if (problem->states.line == 0 || problem->actions.line == 0) {
        return nadir_text_fail(nadir_cassandra_here(lexer), "%s: before %s:", keyword,
                               problem->states.line == 0 ? "states" : "actions");
    }
    NADIR_CHECK(nadir_cassandra_advance(lexer));
    do {
        NADIR_CHECK(nadir_cassandra_take_colon(lexer, keyword));
        NADIR_CHECK(
            nadir_cassandra_take_member(problem, lists[taken->count], true, &taken->places[taken->count]));
        taken->count++;
    } while (nadir_cassandra_current(lexer)->kind == NADIR_CASSANDRA_COLON && taken->count < most);
    if (nadir_cassandra_current(lexer)->kind == NADIR_CASSANDRA_COLON) {
        return nadir_text_fail(nadir_cassandra_here(lexer), "more than %d places in a statement %s:", most,
                               keyword);
    }
cleanup:
    return status;
}

static nadir_status add_rule(nadir_cassandra_problem *problem, nadir_cassandra_book *book,
                             const statement *from, int32_t state, int32_t end, double value)
{
    return nadir_cassandra_add(problem->context, book,
                               (nadir_cassandra_rule){
                                   .state = state,
                                   .action = from->places[0],
                                   .end = end,
                                   .line = from->line > UINT32_MAX ? UINT32_MAX : (uint32_t)from->line,
                                   .value = value,
                               });
}

/* One number of a row or matrix; messages say which. */
static nadir_status take_value(nadir_cassandra_problem *problem, int64_t row, int64_t row_count,
                               int64_t column, int64_t column_count, double *value)
{
    const nadir_cassandra_token *token = nadir_cassandra_current(&problem->lexer);
    const nadir_cursor word = {token->text, token->text + token->length};
    if (token->kind == NADIR_CASSANDRA_WORD && nadir_cursor_is_double(word, value)) {
        return nadir_cassandra_advance(&problem->lexer);
    }
    char what[128];
    (void)snprintf(what, sizeof what, "number %lld of %lld in row %lld of %lld", (long long)column + 1,
                   (long long)column_count, (long long)row + 1, (long long)row_count);
    return nadir_cassandra_take_number(&problem->lexer, what, value); /* says what is wrong */
}

/* row_count rows of S numbers: a base of zeros for all of them, then the nonzeros. The rows are those of the
 * states 0, 1, ... if there are several, otherwise that of the statement's own state. */
static nadir_status take_matrix(nadir_cassandra_problem *problem, nadir_cassandra_book *book,
                                const statement *from, int64_t row_count)
{
    nadir_status status = NADIR_OK;
    const int64_t columns = problem->states.count;
    const bool whole = from->count == 1;
    const int32_t state = whole ? NADIR_CASSANDRA_ANY : from->places[1];
    NADIR_CHECK(add_rule(problem, book, from, state, NADIR_CASSANDRA_ANY, 0));
    for (int64_t row = 0; row < row_count; row++) {
        for (int64_t column = 0; column < columns; column++) {
            double value;
            NADIR_CHECK(take_value(problem, row, row_count, column, columns, &value));
            if (value != 0) {
                NADIR_CHECK(
                    add_rule(problem, book, from, whole ? (int32_t)row : state, (int32_t)column, value));
            }
        }
    }
cleanup:
    return status;
}

/* T: a : s : e p, or T: a [: s] followed by uniform, identity, reset or numbers. */
static nadir_status read_transitions(nadir_cassandra_problem *problem)
{
    nadir_status status = NADIR_OK;
    nadir_cassandra_lexer *lexer = &problem->lexer;
    const nadir_cassandra_list *const lists[] = {&problem->actions, &problem->states, &problem->states};
    nadir_cassandra_book *book = &problem->transitions;
    statement taken;
    double value;
    NADIR_CHECK(take_statement(problem, 3, lists, &taken));
    if (taken.count == 3) {
        NADIR_CHECK(nadir_cassandra_take_number(lexer, "a probability", &value));
        return add_rule(problem, book, &taken, taken.places[1], taken.places[2], value);
    }
    const int32_t state = taken.count == 2 ? taken.places[1] : NADIR_CASSANDRA_ANY;
    const nadir_cassandra_token *token = nadir_cassandra_current(lexer);
    int32_t end;
    value = 1;
    if (nadir_cassandra_is(token, "uniform")) {
        end = NADIR_CASSANDRA_ANY;
        value = 1.0 / (double)problem->states.count;
    } else if (nadir_cassandra_is(token, "identity")) {
        end = NADIR_CASSANDRA_IDENTITY;
    } else if (nadir_cassandra_is(token, "reset")) {
        end = NADIR_CASSANDRA_RESET;
    } else {
        return take_matrix(problem, book, &taken, taken.count == 2 ? 1 : problem->states.count);
    }
    NADIR_CHECK(nadir_cassandra_advance(lexer));
    NADIR_CHECK(add_rule(problem, book, &taken, state, end, value));
cleanup:
    return status;
}

/* O: a : e : o p, or O: a [: e] followed by uniform, identity or numbers; all of it skipped. */
static nadir_status skip_observations(nadir_cassandra_problem *problem)
{
    nadir_status status = NADIR_OK;
    nadir_cassandra_lexer *lexer = &problem->lexer;
    const nadir_cassandra_list *const lists[] = {&problem->actions, &problem->states, &problem->observations};
    statement taken;
    double value;
    if (problem->observations.line == 0) {
        return nadir_text_fail(nadir_cassandra_here(lexer), "O: in a file without observations:");
    }
    NADIR_CHECK(take_statement(problem, 3, lists, &taken));
    if (taken.count == 3) {
        return nadir_cassandra_take_number(lexer, "a probability", &value);
    }
    const nadir_cassandra_token *token = nadir_cassandra_current(lexer);
    if (nadir_cassandra_is(token, "uniform") || nadir_cassandra_is(token, "identity")) {
        return nadir_cassandra_advance(lexer);
    }
    const int64_t rows = taken.count == 2 ? 1 : problem->states.count;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t column = 0; column < problem->observations.count; column++) {
            NADIR_CHECK(take_value(problem, row, rows, column, problem->observations.count, &value));
        }
    }
cleanup:
    return status;
}

/* ---- Rewards ------------------------------------------------------------------------------------------ */

static nadir_status depends_on_observation(nadir_cassandra_problem *problem, int64_t line)
{
    return nadir_text_fail(
        nadir_cassandra_at(&problem->lexer, line),
        "the reward depends on the observation, and an MDP has none; expected the same reward "
        "for every observation, such as R: action : state : end : * reward");
}

/* The rewards for all observations, which must be one and the same. */
static nadir_status take_same_values(nadir_cassandra_problem *problem, int64_t row, int64_t row_count,
                                     double *value)
{
    nadir_status status = NADIR_OK;
    const int64_t columns = problem->observations.count;
    NADIR_CHECK(take_value(problem, row, row_count, 0, columns, value));
    for (int64_t column = 1; column < columns; column++) {
        const int64_t line = nadir_cassandra_current(&problem->lexer)->line;
        double other;
        NADIR_CHECK(take_value(problem, row, row_count, column, columns, &other));
        if (other != *value) {
            return depends_on_observation(problem, line);
        }
    }
cleanup:
    return status;
}

/* R: a : s : e : o r for one observation: the next statements must say the same for all the others, in
 * order. The first of them is taken but for its number. */
static nadir_status take_each_observation(nadir_cassandra_problem *problem,
                                          const nadir_cassandra_list *const lists[], const statement *first)
{
    nadir_status status = NADIR_OK;
    nadir_cassandra_lexer *lexer = &problem->lexer;
    double value;
    NADIR_CHECK(nadir_cassandra_take_number(lexer, "a reward", &value));
    bool same = first->places[3] == 0;
    for (int32_t o = 1; same && o < problem->observations.count; o++) {
        statement next;
        double other = 0;
        same = nadir_cassandra_is(nadir_cassandra_current(lexer), "R");
        if (same) {
            NADIR_CHECK(take_statement(problem, 4, lists, &next));
            same = next.count == 4 && next.places[0] == first->places[0] &&
                   next.places[1] == first->places[1] && next.places[2] == first->places[2] &&
                   next.places[3] == o;
        }
        if (same) {
            NADIR_CHECK(nadir_cassandra_take_number(lexer, "a reward", &other));
            same = other == value;
        }
    }
    if (!same) {
        return depends_on_observation(problem, first->line);
    }
    NADIR_CHECK(add_rule(problem, &problem->rewards, first, first->places[1], first->places[2], value));
cleanup:
    return status;
}

/* R: a : s followed by a row of rewards over observations for each end. */
static nadir_status take_observed_matrix(nadir_cassandra_problem *problem, const statement *from)
{
    nadir_status status = NADIR_OK;
    const int32_t state = from->places[1];
    NADIR_CHECK(add_rule(problem, &problem->rewards, from, state, NADIR_CASSANDRA_ANY, 0));
    for (int64_t end = 0; end < problem->states.count; end++) {
        double value;
        NADIR_CHECK(take_same_values(problem, end, problem->states.count, &value));
        if (value != 0) {
            NADIR_CHECK(add_rule(problem, &problem->rewards, from, state, (int32_t)end, value));
        }
    }
cleanup:
    return status;
}

/* R: a : s : e : o r, and less of it followed by the numbers for what is left out. */
static nadir_status read_rewards(nadir_cassandra_problem *problem)
{
    nadir_status status = NADIR_OK;
    const nadir_cassandra_list *const lists[] = {&problem->actions, &problem->states, &problem->states,
                                                 &problem->observations};
    const bool observed = problem->observations.line > 0;
    statement taken;
    double value;
    NADIR_CHECK(take_statement(problem, 4, lists, &taken));
    if (observed && taken.count == 1) {
        return nadir_text_fail(nadir_cassandra_at(&problem->lexer, taken.line),
                               "R: with an action alone; expected R: action : state followed by rewards");
    }
    if (taken.count == 4 && taken.places[3] >= 0) {
        return take_each_observation(problem, lists, &taken);
    }
    if (taken.count < 3) {
        return observed ? take_observed_matrix(problem, &taken)
                        : take_matrix(problem, &problem->rewards, &taken,
                                      taken.count == 2 ? 1 : problem->states.count);
    }
    if (observed && taken.count == 3) {
        NADIR_CHECK(take_same_values(problem, 0, 1, &value));
    } else {
        NADIR_CHECK(nadir_cassandra_take_number(&problem->lexer, "a reward", &value));
    }
    NADIR_CHECK(add_rule(problem, &problem->rewards, &taken, taken.places[1], taken.places[2], value));
cleanup:
    return status;
}

nadir_status nadir_cassandra_statements(nadir_cassandra_problem *problem)
{
    nadir_status status = NADIR_OK;
    nadir_cassandra_lexer *lexer = &problem->lexer;
    const nadir_cassandra_token *token;
    while ((token = nadir_cassandra_current(lexer))->kind != NADIR_CASSANDRA_END) {
        bool known = false;
        if (!nadir_cassandra_is_statement(lexer)) {
            return nadir_text_fail(
                nadir_cassandra_here(lexer),
                "'%.60s' begins no statement; expected T:, O:, R: or a line of the preamble", token->text);
        }
        if (nadir_cassandra_is(token, "T")) {
            NADIR_CHECK(read_transitions(problem));
        } else if (nadir_cassandra_is(token, "R")) {
            NADIR_CHECK(read_rewards(problem));
        } else if (nadir_cassandra_is(token, "O")) {
            NADIR_CHECK(skip_observations(problem));
        } else {
            NADIR_CHECK(nadir_cassandra_preamble(problem, &known));
            if (!known) {
                return nadir_text_fail(nadir_cassandra_here(lexer),
                                       "no statement is called '%.60s'; expected T, O, R, discount, values, "
                                       "states, actions, observations or start",
                                       token->text);
            }
        }
    }
    const bool no_states = problem->states.line == 0;
    if (no_states || problem->actions.line == 0) {
        return nadir_text_fail(nadir_cassandra_here(lexer),
                               "the file has no %s:", no_states ? "states" : "actions");
    }
cleanup:
    return status;
}

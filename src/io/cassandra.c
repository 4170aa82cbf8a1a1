/*
 * cassandra.c: Cassandra's file format for decision processes, .MDP and .pomdp: the MDP in it.
 *
 *     discount: 0.95                      in any order; a POMDP has observations too
 *     values: reward | cost
 *     states: 3 | names                   and so actions: and observations:
 *     start: p0 p1 ... | uniform | state
 *     start include: states               uniform over these; start exclude: over the others
 *     T: action : state : end p           also T: action : state followed by a row of numbers,
 *                                         uniform, identity or reset (to the start), and T: action
 *                                         followed by a matrix or the same words
 *     O: action : end : observation p     and shorter with more numbers, like T; read and forgotten
 *     R: action : state : end : observation r
 *                                         and shorter with more numbers; in a file without observations
 *                                         the last place is left out or *
 *
 * States, actions and observations are given by name or by number from 0 on, or by * for all of them. Later
 * statements override earlier ones, entry by entry; what no statement gives is 0. Words may be spread over
 * lines at will; # begins a comment. The reward may not depend on the observation, which an MDP has not.
 *
 * Sizes: a number of states or actions is accepted only as far as rows follow. A file may stand for 2^22
 * transitions, and 256 more for each of its bytes; beyond this its wildcards are refused with
 * NADIR_ERROR_FORMAT before anything is expanded. Within it the memory limit of the context holds.
 */
#include "io/cassandra.h"

#include "io/format.h"

#include <math.h>
#include <string.h>

/* Whether the first word of the file begins a statement of the preamble. */
static bool recognises(const char *head, size_t length)
{
    static const char *const words[] = {"discount", "values", "states", "actions", "observations"};
    nadir_cursor cursor = {head, head + length};
    if (nadir_cursor_starts(cursor, "\xEF\xBB\xBF")) {
        cursor.at += 3;
    }
    while (nadir_cursor_skip_blanks(&cursor) &&
           (*cursor.at == '#' || *cursor.at == '\r' || *cursor.at == '\n')) {
        if (*cursor.at == '#') {
            const char *newline = memchr(cursor.at, '\n', (size_t)(cursor.end - cursor.at));
            cursor.at = newline != NULL ? newline : cursor.end - 1;
        }
        cursor.at++;
    }
    nadir_cursor word;
    if (!nadir_cursor_take_word(&cursor, ":\r\n", &word) || !nadir_cursor_take_char(&cursor, ':')) {
        return false;
    }
    bool known = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        known = known || nadir_cursor_equals(word, words[i]);
    }
    return known;
}

static void clear_list(nadir_context *context, nadir_cassandra_list *list)
{
    nadir_names_clear(context->memory, &list->names);
    nadir_name_index_clear(context, &list->index);
}

static void clear_problem(nadir_context *context, nadir_cassandra_problem *problem)
{
    clear_list(context, &problem->states);
    clear_list(context, &problem->actions);
    clear_list(context, &problem->observations);
    nadir_cassandra_clear(context, &problem->transitions);
    nadir_cassandra_clear(context, &problem->rewards);
    nadir_release(context, problem->shares);
    nadir_cassandra_close(&problem->lexer);
}

static nadir_status read_model(nadir_context *context, const char *path, const nadir_read_settings *settings,
                               nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_cassandra_problem problem = {
        .context = context,
        .path = path,
        .discount = NAN,
        .states.what = "state",
        .actions.what = "action",
        .observations.what = "observation",
    };
    NADIR_CHECK(nadir_cassandra_open(context, path, &problem.lexer));
    NADIR_CHECK(nadir_cassandra_statements(&problem));
    NADIR_CHECK(nadir_cassandra_expand(&problem, settings->keep_transition_rewards, model));
cleanup:
    clear_problem(context, &problem);
    return status;
}

const nadir_format nadir_format_cassandra = {
    .name = "cassandra",
    .endings = " .mdp .pomdp ",
    .title = "Cassandra MDP",
    .holds = NADIR_HOLDS_REWARDS | NADIR_HOLDS_TRANSITION_REWARDS | NADIR_HOLDS_DISCOUNT |
             NADIR_HOLDS_INITIAL | NADIR_HOLDS_NAMES,
    .recognises = recognises,
    .read = read_model,
    .write = nadir_cassandra_write,
};

/* cassandra_preamble.c: discount, values, states, actions, observations and start; see cassandra.c. */
#include "io/cassandra.h"

/* ---- Lists -------------------------------------------------------------------------------------------- */

static nadir_cursor word_of(const nadir_cassandra_token *token)
{
    return (nadir_cursor){token->text, token->text + token->length};
}

/* Whether a word cannot be a name. "inf" and "nan" can. */
static bool is_number(nadir_cursor word)
{
    double value;
    const char first = *word.at;
    const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
    return !letter && nadir_cursor_is_double(word, &value);
}

/* How many there are, without names. */
static nadir_status read_count(nadir_cassandra_problem *problem, nadir_cassandra_list *list)
{
    nadir_cassandra_lexer *lexer = &problem->lexer;
    const nadir_cassandra_token *token = nadir_cassandra_current(lexer);
    if (!nadir_cursor_is_integer(word_of(token), &list->count) || list->count < 1 ||
        list->count > NADIR_STATES_LIMIT) {
        return nadir_text_fail(nadir_cassandra_here(lexer),
                               "%ss: '%.60s'; expected a number from 1 to %d, or names", list->what,
                               token->text, NADIR_STATES_LIMIT);
    }
    return nadir_cassandra_advance(lexer);
}

/* Adds the current token to the names; each name stands once. */
static nadir_status read_name(nadir_cassandra_problem *problem, nadir_cassandra_list *list)
{
    nadir_status status = NADIR_OK;
    nadir_cassandra_lexer *lexer = &problem->lexer;
    const nadir_cassandra_token *token = nadir_cassandra_current(lexer);
    if (token->kind != NADIR_CASSANDRA_WORD) {
        return nadir_text_fail(nadir_cassandra_here(lexer), "expected the name of %s, found '%s'", list->what,
                               token->text);
    }
    if (list->count == NADIR_STATES_LIMIT) {
        return nadir_text_fail(nadir_cassandra_here(lexer), "more than %d names", NADIR_STATES_LIMIT);
    }
    int64_t existing;
    NADIR_CHECK(nadir_names_add(problem->context, &list->names, token->text, token->length));
    NADIR_CHECK(nadir_name_index_add(problem->context, &list->index, &list->names, list->count, &existing));
    if (existing >= 0) {
        return nadir_text_fail(nadir_cassandra_here(lexer), "'%.60s' names %s %lld and %s %lld", token->text,
                               list->what, (long long)existing, list->what, (long long)list->count);
    }
    list->count++;
    NADIR_CHECK(nadir_cassandra_advance(lexer));
cleanup:
    return status;
}

/* A number of them, a list of names, or the numbers from 0 on, which say no more than how many there are. */
static nadir_status read_list(nadir_cassandra_problem *problem, nadir_cassandra_list *list)
{
    nadir_status status = NADIR_OK;
    nadir_cassandra_lexer *lexer = &problem->lexer;
    const nadir_cassandra_token *token = nadir_cassandra_current(lexer);
    if (problem->transitions.count > 0 || problem->rewards.count > 0) {
        return nadir_text_fail(nadir_cassandra_at(lexer, list->line),
                               "%ss: must come before T:, O: and R:", list->what);
    }
    if (nadir_cassandra_is_statement(lexer)) {
        return nadir_text_fail(nadir_cassandra_at(lexer, list->line), "%ss: without a number or names",
                               list->what);
    }
    const bool from_zero = nadir_cassandra_is(token, "0");
    if (token->kind == NADIR_CASSANDRA_WORD && is_number(word_of(token)) && !from_zero) {
        return read_count(problem, list);
    }
    while (!nadir_cassandra_is_statement(lexer)) {
        int64_t number;
        token = nadir_cassandra_current(lexer);
        const bool in_order = nadir_cursor_is_integer(word_of(token), &number) && number == list->count;
        if (from_zero ? !in_order : is_number(word_of(token))) {
            return nadir_text_fail(
                nadir_cassandra_here(lexer),
                "'%.60s' cannot be %s %lld; expected names that begin with a letter, or the "
                "numbers from 0 on",
                token->text, list->what, (long long)list->count);
        }
        NADIR_CHECK(read_name(problem, list));
    }
    if (from_zero && list->count == 1) {
        return nadir_text_fail(nadir_cassandra_at(lexer, list->line), "%ss: 0; expected at least one",
                               list->what);
    }
    if (from_zero) {
        nadir_names_clear(problem->context->memory, &list->names);
        nadir_name_index_clear(problem->context, &list->index);
    }
cleanup:
    return status;
}

nadir_status nadir_cassandra_take_member(nadir_cassandra_problem *problem, const nadir_cassandra_list *list,
                                         bool star, int32_t *member)
{
    nadir_cassandra_lexer *lexer = &problem->lexer;
    const nadir_cassandra_token *token = nadir_cassandra_current(lexer);
    if (star && token->kind == NADIR_CASSANDRA_STAR) {
        *member = NADIR_CASSANDRA_ANY;
        return nadir_cassandra_advance(lexer);
    }
    if (token->kind != NADIR_CASSANDRA_WORD) {
        return nadir_text_fail(nadir_cassandra_here(lexer), "expected the %s, found '%s'", list->what,
                               token->text);
    }
    if (list->count == 0) {
        return nadir_text_fail(nadir_cassandra_here(lexer), "%s '%.60s' in a file without %ss:", list->what,
                               token->text, list->what);
    }
    int64_t number;
    if (!nadir_cursor_is_integer(word_of(token), &number)) {
        number = nadir_name_index_find(&list->index, &list->names, token->text, token->length);
        if (number < 0) {
            return nadir_text_fail(nadir_cassandra_here(lexer), "'%.60s' is not the name of any %s",
                                   token->text, list->what);
        }
    } else if (number < 0 || number >= list->count) {
        return nadir_text_fail(nadir_cassandra_here(lexer), "there is no %s %lld; %ss are 0 to %lld",
                               list->what, (long long)number, list->what, (long long)list->count - 1);
    }
    *member = (int32_t)number;
    return nadir_cassandra_advance(lexer);
}

/* ---- Start -------------------------------------------------------------------------------------------- */

static nadir_status add_share(nadir_cassandra_problem *problem, int32_t state, double probability)
{
    nadir_status status = NADIR_OK;
    NADIR_RESERVE(problem->context, problem->shares, problem->share_count + 1, problem->share_capacity);
    problem->shares[problem->share_count++] = (nadir_cassandra_share){state, probability};
cleanup:
    return status;
}

/* A state included or excluded. */
static nadir_status read_start_state(nadir_cassandra_problem *problem)
{
    nadir_status status = NADIR_OK;
    int32_t state = 0;
    NADIR_CHECK(nadir_cassandra_take_member(problem, &problem->states, false, &state));
    NADIR_CHECK(add_share(problem, state, 0));
cleanup:
    return status;
}

static nadir_status read_start_states(nadir_cassandra_problem *problem)
{
    nadir_status status = NADIR_OK;
    do {
        NADIR_CHECK(read_start_state(problem));
    } while (!nadir_cassandra_is_statement(&problem->lexer));
cleanup:
    return status;
}

/* One number alone is a state, or the probability of the only state; otherwise there are as many
 * probabilities as states. */
static nadir_status read_start_numbers(nadir_cassandra_problem *problem)
{
    nadir_status status = NADIR_OK;
    nadir_cassandra_lexer *lexer = &problem->lexer;
    const nadir_cassandra_token first = *nadir_cassandra_current(lexer);
    double value;
    NADIR_CHECK(nadir_cassandra_take_number(lexer, "of the start", &value));
    if (nadir_cassandra_is_statement(lexer) && !(problem->states.count == 1 && value == 1)) {
        int64_t number;
        if (!nadir_cursor_is_integer(word_of(&first), &number) || number < 0 ||
            number >= problem->states.count) {
            return nadir_text_fail(nadir_cassandra_at(lexer, first.line),
                                   "start: '%.60s' is neither one of %lld states nor as many probabilities",
                                   first.text, (long long)problem->states.count);
        }
        problem->start = NADIR_CASSANDRA_START_INCLUDE;
        return add_share(problem, (int32_t)number, 0);
    }
    problem->start = NADIR_CASSANDRA_START_VECTOR;
    for (int64_t s = 0;;) {
        if (value != 0) {
            NADIR_CHECK(add_share(problem, (int32_t)s, value));
        }
        if (++s == problem->states.count) {
            break;
        }
        NADIR_CHECK(nadir_cassandra_take_number(lexer, "a start probability for each state", &value));
    }
cleanup:
    return status;
}

/* The forms of start: and the lists of start include: and start exclude:. */
static nadir_status read_start(nadir_cassandra_problem *problem, nadir_cassandra_start form)
{
    nadir_cassandra_lexer *lexer = &problem->lexer;
    const nadir_cassandra_token *token = nadir_cassandra_current(lexer);
    problem->start = form;
    if (form == NADIR_CASSANDRA_START_UNIFORM && nadir_cassandra_is(token, "uniform")) {
        return nadir_cassandra_advance(lexer);
    }
    if (problem->states.line == 0) {
        return nadir_text_fail(nadir_cassandra_here(lexer), "start: must come after states:");
    }
    if (form != NADIR_CASSANDRA_START_UNIFORM) {
        return read_start_states(problem);
    }
    if (token->kind == NADIR_CASSANDRA_WORD && is_number(word_of(token))) {
        return read_start_numbers(problem);
    }
    problem->start = NADIR_CASSANDRA_START_INCLUDE;
    return read_start_state(problem);
}

/* ---- Statements --------------------------------------------------------------------------------------- */

static nadir_status read_values(nadir_cassandra_problem *problem)
{
    nadir_cassandra_lexer *lexer = &problem->lexer;
    const nadir_cassandra_token *token = nadir_cassandra_current(lexer);
    problem->costs = nadir_cassandra_is(token, "cost") || nadir_cassandra_is(token, "costs");
    if (!problem->costs && !nadir_cassandra_is(token, "reward") && !nadir_cassandra_is(token, "rewards")) {
        return nadir_text_fail(nadir_cassandra_here(lexer), "values: '%.60s'; expected reward or cost",
                               token->text);
    }
    return nadir_cassandra_advance(lexer);
}

/* What a word of the preamble begins. */
typedef struct beginning {
    const char *word;
    int64_t *line;              /* where it stood before, or 0 */
    nadir_cassandra_list *list; /* of a list statement */
} beginning;

/* The form of start, told by the word after it, which is taken; the colon is next. */
static nadir_status take_start_form(nadir_cassandra_lexer *lexer, nadir_cassandra_start *form)
{
    const nadir_cassandra_token *token = nadir_cassandra_current(lexer);
    *form = NADIR_CASSANDRA_START_UNIFORM;
    if (token->kind != NADIR_CASSANDRA_WORD) {
        return NADIR_OK;
    }
    *form =
        nadir_cassandra_is(token, "include") ? NADIR_CASSANDRA_START_INCLUDE : NADIR_CASSANDRA_START_EXCLUDE;
    return nadir_cassandra_advance(lexer);
}

static nadir_status read_beginning(nadir_cassandra_problem *problem, const beginning *begun)
{
    nadir_status status = NADIR_OK;
    nadir_cassandra_lexer *lexer = &problem->lexer;
    const int64_t line = nadir_cassandra_current(lexer)->line;
    nadir_cassandra_start form = NADIR_CASSANDRA_START_UNIFORM;
    if (*begun->line > 0) {
        return nadir_text_fail(nadir_cassandra_at(lexer, line), "%s: again; it stands in line %lld already",
                               begun->word, (long long)*begun->line);
    }
    NADIR_CHECK(nadir_cassandra_advance(lexer));
    if (begun->line == &problem->start_line) {
        NADIR_CHECK(take_start_form(lexer, &form));
    }
    NADIR_CHECK(nadir_cassandra_take_colon(lexer, begun->word));
    *begun->line = line;
    if (begun->list != NULL) {
        NADIR_CHECK(read_list(problem, begun->list));
    } else if (begun->line == &problem->start_line) {
        NADIR_CHECK(read_start(problem, form));
    } else if (begun->line == &problem->values_line) {
        NADIR_CHECK(read_values(problem));
    } else {
        NADIR_CHECK(nadir_cassandra_take_number(lexer, "the discount", &problem->discount));
    }
cleanup:
    return status;
}

nadir_status nadir_cassandra_preamble(nadir_cassandra_problem *problem, bool *known)
{
    const beginning beginnings[] = {
        {"discount", &problem->discount_line, NULL},
        {"values", &problem->values_line, NULL},
        {"start", &problem->start_line, NULL},
        {"states", &problem->states.line, &problem->states},
        {"actions", &problem->actions.line, &problem->actions},
        {"observations", &problem->observations.line, &problem->observations},
    };
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        if (nadir_cassandra_is(nadir_cassandra_current(&problem->lexer), beginnings[i].word)) {
            *known = true;
            return read_beginning(problem, &beginnings[i]);
        }
    }
    *known = false;
    return NADIR_OK;
}

/*
 * cassandra_parse.c: Cassandra's file format for decision processes, .MDP and .pomdp: the MDP in it.
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
 * statements override earlier ones, entry by entry; what no statement gives is 0, but for the reward of a
 * successor of probability 0, which then has none. Words may be spread over lines at will; # begins a comment. The reward may not depend on the observation, which an MDP has not.
 *
 * Sizes: a number of states or actions is accepted only as far as rows follow. A file may stand for 2^22
 * transitions, and 256 more for each of its bytes; beyond this its wildcards are refused with
 * NADIR_ERROR_FORMAT before anything is expanded. Within it the memory limit of the context holds.
 */
#include "io/cassandra.h"
#include "io/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The statements; the first three are the lists of the problem. */
enum {
    STATES = NADIR_CASSANDRA_STATES,
    ACTIONS = NADIR_CASSANDRA_ACTIONS,
    OBSERVATIONS = NADIR_CASSANDRA_OBSERVATIONS,
    DISCOUNT,
    VALUES,
    START,
    T,
    O,
    R,
    STATEMENTS
};

typedef enum token_kind { END, COLON, STAR, WORD } token_kind; /* WORD: a name or a number */

typedef struct token {
    token_kind kind;
    int64_t line;
    size_t length;
    char text[NADIR_CASSANDRA_WORD_LENGTH + 1]; /* for messages too, whatever the kind */
} token;

typedef struct parser {
    nadir_cassandra_problem *problem;
    nadir_text text;
    nadir_cursor rest; /* of the line that is being cut into tokens */
    bool at_end;
    token *current, *next; /* the two of these: */
    token tokens[2];
    int64_t lines[STATEMENTS]; /* where a statement of the preamble is; 0: not given yet */
} parser;

/* ---- Tokens ------------------------------------------------------------------------------------------- */

/* For nadir_text_fail: the file, at a line or at the line of the current token. */
static nadir_text *text_at_line(parser *parse, int64_t line)
{
    parse->text.line = line;
    return &parse->text;
}

static nadir_text *text_at_token(parser *parse)
{
    return text_at_line(parse, parse->current->line);
}

static nadir_status read_token(parser *parse, token *into)
{
    nadir_cursor *rest = &parse->rest;
    while (!parse->at_end && (!nadir_cursor_skip_blanks(rest) || *rest->at == '#')) {
        bool more;
        NADIR_TRY(nadir_text_line(&parse->text, rest, &more));
        parse->at_end = !more;
    }
    into->line = parse->text.line > 0 ? parse->text.line : 1;
    nadir_cursor word = {"end of file", NULL};
    if (parse->at_end) {
        into->kind = END;
        word.end = word.at + strlen(word.at);
    } else if (*rest->at == ':' || *rest->at == '*') {
        into->kind = *rest->at == ':' ? COLON : STAR;
        word = (nadir_cursor){rest->at, rest->at + 1};
        rest->at++;
    } else {
        into->kind = WORD;
        (void)nadir_cursor_take_word(rest, ":*#", &word);
    }
    into->length = (size_t)(word.end - word.at);
    if (into->length > NADIR_CASSANDRA_WORD_LENGTH) {
        return nadir_text_fail(&parse->text, "'%.*s...' is longer than any name or number (%d bytes)",
                               NADIR_WORD(word), NADIR_CASSANDRA_WORD_LENGTH);
    }
    memcpy(into->text, word.at, into->length);
    into->text[into->length] = '\0';
    return NADIR_OK;
}

static nadir_status advance(parser *parse)
{
    token *passed = parse->current;
    parse->current = parse->next;
    parse->next = passed;
    return read_token(parse, passed);
}

static bool is_word(const token *word, const char *text)
{
    return word->kind == WORD && strcmp(word->text, text) == 0;
}

static nadir_cursor cursor_of(const token *word)
{
    return (nadir_cursor){word->text, word->text + word->length};
}

static bool is_letter(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

/* Whether a word cannot be a name. "inf" and "nan" can. */
static bool is_number(const token *word)
{
    double value = 0;
    return !is_letter(word->text[0]) && nadir_cursor_is_double(cursor_of(word), &value);
}

/* Whether a list ends here: at the end of the file or where a statement begins (a word and a colon). */
static bool is_statement(const parser *parse)
{
    const token *word = parse->current;
    if (word->kind != WORD) {
        return word->kind == END;
    }
    const bool digit = word->text[0] >= '0' && word->text[0] <= '9'; /* a number is never one */
    return (parse->next->kind == COLON && !digit) ||
           (is_word(word, "start") && (is_word(parse->next, "include") || is_word(parse->next, "exclude")));
}

static nadir_status take_colon(parser *parse, const char *after)
{
    if (parse->current->kind != COLON) {
        return nadir_text_fail(text_at_token(parse), "expected ':' after '%.60s', found '%.60s'", after,
                               parse->current->text);
    }
    return advance(parse);
}

static nadir_status take_number(parser *parse, const char *what, double *value)
{
    if (parse->current->kind != WORD || !nadir_cursor_is_double(cursor_of(parse->current), value)) {
        return nadir_text_fail(text_at_token(parse), "expected a number (%s), found '%.60s'", what,
                               parse->current->text);
    }
    return advance(parse);
}

/* ---- Lists -------------------------------------------------------------------------------------------- */

static const char *const list_names[] = {"state", "action", "observation"};

/* Adds the current token to the names; each name stands once. */
static nadir_status read_name(parser *parse, int which)
{
    nadir_context *context = parse->problem->context;
    nadir_cassandra_list *list = &parse->problem->lists[which];
    const token *word = parse->current;
    const char *what = list_names[which];
    if (word->kind != WORD) {
        return nadir_text_fail(text_at_token(parse), "expected the name of %s, found '%s'", what, word->text);
    }
    if (list->count == NADIR_STATES_LIMIT) {
        return nadir_text_fail(text_at_token(parse), "more than %d names", NADIR_STATES_LIMIT);
    }
    int64_t existing;
    NADIR_TRY(nadir_names_add(context, &list->names, word->text, word->length));
    NADIR_TRY(nadir_name_index_add(context, &list->index, &list->names, list->count, &existing));
    if (existing >= 0) {
        return nadir_text_fail(text_at_token(parse), "'%.60s' names %s %lld and %s %lld", word->text, what,
                               (long long)existing, what, (long long)list->count);
    }
    list->count++;
    return advance(parse);
}

static void clear_names(nadir_context *context, nadir_cassandra_list *list)
{
    nadir_names_clear(context->memory, &list->names);
    nadir_name_index_clear(context, &list->index);
}

/* A number of them, a list of names, or the numbers from 0 on, which say no more than how many there are. */
static nadir_status read_list(parser *parse, int which)
{
    nadir_cassandra_problem *problem = parse->problem;
    nadir_cassandra_list *list = &problem->lists[which];
    const char *what = list_names[which];
    if (problem->transitions.count > 0 || problem->rewards.count > 0) {
        return nadir_text_fail(text_at_line(parse, parse->lines[which]),
                               "%ss: must come before T:, O: and R:", what);
    }
    if (is_statement(parse)) {
        return nadir_text_fail(text_at_line(parse, parse->lines[which]), "%ss: without a number or names",
                               what);
    }
    const bool from_zero = is_word(parse->current, "0");
    if (parse->current->kind == WORD && is_number(parse->current) && !from_zero) {
        if (!nadir_cursor_is_integer(cursor_of(parse->current), &list->count) || list->count < 1 ||
            list->count > NADIR_STATES_LIMIT) {
            return nadir_text_fail(text_at_token(parse),
                                   "%ss: '%.60s'; expected a number from 1 to %d, or names", what,
                                   parse->current->text, NADIR_STATES_LIMIT);
        }
        return advance(parse);
    }
    while (!is_statement(parse)) {
        int64_t number;
        const bool in_order =
            nadir_cursor_is_integer(cursor_of(parse->current), &number) && number == list->count;
        if (from_zero ? !in_order : is_number(parse->current)) {
            return nadir_text_fail(
                text_at_token(parse),
                "'%.60s' cannot be %s %lld; expected names that begin with a letter, or the "
                "numbers from 0 on",
                parse->current->text, what, (long long)list->count);
        }
        NADIR_TRY(read_name(parse, which));
    }
    if (from_zero && list->count == 1) {
        return nadir_text_fail(text_at_line(parse, parse->lines[which]), "%ss: 0; expected at least one",
                               what);
    }
    if (from_zero) {
        clear_names(problem->context, list);
    }
    return NADIR_OK;
}

/* Takes a name, a number or (if allowed) a star as one of the list; a star is NADIR_CASSANDRA_ANY. */
static nadir_status take_member(parser *parse, int which, bool star, int32_t *member)
{
    const nadir_cassandra_list *list = &parse->problem->lists[which];
    const token *word = parse->current;
    const char *what = list_names[which];
    if (star && word->kind == STAR) {
        *member = NADIR_CASSANDRA_ANY;
        return advance(parse);
    }
    if (word->kind != WORD) {
        return nadir_text_fail(text_at_token(parse), "expected the %s, found '%s'", what, word->text);
    }
    if (list->count == 0) {
        return nadir_text_fail(text_at_token(parse), "%s '%.60s' in a file without %ss:", what, word->text,
                               what);
    }
    int64_t number;
    if (!nadir_cursor_is_integer(cursor_of(word), &number)) {
        number = nadir_name_index_find(&list->index, &list->names, word->text, word->length);
        if (number < 0) {
            return nadir_text_fail(text_at_token(parse), "'%.60s' is not the name of any %s", word->text,
                                   what);
        }
    } else if (number < 0 || number >= list->count) {
        return nadir_text_fail(text_at_token(parse), "there is no %s %lld; %ss are 0 to %lld", what,
                               (long long)number, what, (long long)list->count - 1);
    }
    *member = (int32_t)number;
    return advance(parse);
}

/* ---- Discount, values, start -------------------------------------------------------------------------- */

static nadir_status read_discount(parser *parse, int which)
{
    (void)which;
    return take_number(parse, "the discount", &parse->problem->discount);
}

static nadir_status read_values(parser *parse, int which)
{
    (void)which;
    const token *word = parse->current;
    const bool costs = is_word(word, "cost") || is_word(word, "costs");
    if (!costs && !is_word(word, "reward") && !is_word(word, "rewards")) {
        return nadir_text_fail(text_at_token(parse), "values: '%.60s'; expected reward or cost", word->text);
    }
    parse->problem->costs = costs;
    return advance(parse);
}

static nadir_status add_share(nadir_cassandra_problem *problem, int32_t state, double probability)
{
    nadir_status status = NADIR_OK;
    NADIR_RESERVE(problem->context, problem->shares, problem->share_count + 1, problem->share_capacity);
    problem->shares[problem->share_count++] = (nadir_cassandra_share){state, probability};
cleanup:
    return status;
}

/* States included or excluded: all up to the next statement, or one. */
static nadir_status read_start_states(parser *parse, bool all)
{
    do {
        int32_t state = 0;
        NADIR_TRY(take_member(parse, STATES, false, &state));
        NADIR_TRY(add_share(parse->problem, state, 0));
    } while (all && !is_statement(parse));
    return NADIR_OK;
}

/* One number alone is a state, or the probability of the only state; otherwise there are as many
 * probabilities as states. */
static nadir_status read_start_numbers(parser *parse)
{
    nadir_cassandra_problem *problem = parse->problem;
    const int64_t states = problem->lists[STATES].count;
    const token first = *parse->current;
    double value = 0;
    NADIR_TRY(take_number(parse, "of the start", &value));
    if (is_statement(parse) && !(states == 1 && value == 1)) {
        int64_t number;
        if (!nadir_cursor_is_integer(cursor_of(&first), &number) || number < 0 || number >= states) {
            return nadir_text_fail(text_at_line(parse, first.line),
                                   "start: '%.60s' is neither one of %lld states nor as many probabilities",
                                   first.text, (long long)states);
        }
        problem->start = NADIR_CASSANDRA_START_INCLUDE;
        return add_share(problem, (int32_t)number, 0);
    }
    problem->start = NADIR_CASSANDRA_START_VECTOR;
    for (int64_t s = 0;;) {
        if (value != 0) {
            NADIR_TRY(add_share(problem, (int32_t)s, value));
        }
        if (++s == states) {
            break;
        }
        NADIR_TRY(take_number(parse, "a start probability for each state", &value));
    }
    return NADIR_OK;
}

/* problem->start says which form it is: uniform stands for all forms of "start:". */
static nadir_status read_start(parser *parse, int which)
{
    nadir_cassandra_problem *problem = parse->problem;
    problem->start_line = parse->lines[which];
    const bool listed = problem->start != NADIR_CASSANDRA_START_UNIFORM;
    if (!listed && is_word(parse->current, "uniform")) {
        return advance(parse);
    }
    if (parse->lines[STATES] == 0) {
        return nadir_text_fail(text_at_token(parse), "start: must come after states:");
    }
    if (!listed && parse->current->kind == WORD && is_number(parse->current)) {
        return read_start_numbers(parse);
    }
    problem->start = listed ? problem->start : NADIR_CASSANDRA_START_INCLUDE;
    return read_start_states(parse, listed);
}

/* ---- T, O and R --------------------------------------------------------------------------------------- */

/* What follows T:, O: or R: up to the numbers. */
typedef struct statement {
    int64_t line;
    int count;         /* how many of the places were given */
    int32_t places[4]; /* action, state, then end or observation; any, where not given */
} statement;

/* At most so many places, and what each is one of. */
static const struct {
    int most;
    int lists[4];
} forms[STATEMENTS] = {
    [T] = {3, {ACTIONS, STATES, STATES}},
    [O] = {3, {ACTIONS, STATES, OBSERVATIONS}},
    [R] = {4, {ACTIONS, STATES, STATES, OBSERVATIONS}},
};

/* The keyword and its places. */
static nadir_status take_statement(parser *parse, int which, statement *taken)
{
    const char keyword[] = {parse->current->text[0], '\0'};
    *taken = (statement){.line = parse->current->line, .places = {-1, -1, -1, -1}};
    if (parse->lines[STATES] == 0 || parse->lines[ACTIONS] == 0) {
        return nadir_text_fail(text_at_token(parse), "%s: before %s:", keyword,
                               parse->lines[STATES] == 0 ? "states" : "actions");
    }
    NADIR_TRY(advance(parse));
    do {
        NADIR_TRY(take_colon(parse, keyword));
        NADIR_TRY(take_member(parse, forms[which].lists[taken->count], true, &taken->places[taken->count]));
        taken->count++;
    } while (parse->current->kind == COLON && taken->count < forms[which].most);
    if (parse->current->kind == COLON) {
        return nadir_text_fail(text_at_token(parse),
                               "more than %d places in a statement %s:", forms[which].most, keyword);
    }
    return NADIR_OK;
}

/* rules NULL: it is forgotten. */
static nadir_status add_rule(const parser *parse, nadir_cassandra_rules *rules, const statement *from,
                             int32_t state, int32_t end, double value)
{
    const nadir_cassandra_rule rule = {
        .state = state,
        .action = from->places[0],
        .end = end,
        .line = from->line > UINT32_MAX ? UINT32_MAX : (uint32_t)from->line,
        .value = value,
    };
    return rules != NULL ? nadir_cassandra_add(parse->problem->context, rules, rule) : NADIR_OK;
}

/* One number of a row or matrix; messages say which. */
static nadir_status take_entry(parser *parse, int64_t row, int64_t row_count, int64_t column,
                               int64_t column_count, double *value)
{
    char what[128] = "";
    if (parse->current->kind != WORD || !nadir_cursor_is_double(cursor_of(parse->current), value)) {
        (void)snprintf(what, sizeof what, "number %lld of %lld in row %lld of %lld", (long long)column + 1,
                       (long long)column_count, (long long)row + 1, (long long)row_count);
    }
    return what[0] == '\0' ? advance(parse) : take_number(parse, what, value); /* says what is wrong */
}

static nadir_status depends_on_observation(parser *parse, int64_t line)
{
    return nadir_text_fail(
        text_at_line(parse, line),
        "the reward depends on the observation, and an MDP has none; expected the same reward "
        "for every observation, such as R: action : state : end : * reward");
}

/* The rewards for all observations, which must be one and the same. */
static nadir_status take_same_values(parser *parse, int64_t row, int64_t row_count, double *value)
{
    const int64_t columns = parse->problem->lists[OBSERVATIONS].count;
    NADIR_TRY(take_entry(parse, row, row_count, 0, columns, value));
    for (int64_t column = 1; column < columns; column++) {
        const int64_t line = parse->current->line;
        double other = 0;
        NADIR_TRY(take_entry(parse, row, row_count, column, columns, &other));
        if (other != *value) {
            return depends_on_observation(parse, line);
        }
    }
    return NADIR_OK;
}

/* Rows of numbers: a base of zeros for all of them, then a rule for each number that is not zero: later rules
 * override earlier ones. The rows are those of the states 0, 1, ... if the statement gives no state, else its
 * own. observed: in place of each number stands a row with one for each observation. */
static nadir_status take_matrix(parser *parse, nadir_cassandra_rules *rules, const statement *from,
                                int64_t columns, bool observed)
{
    const bool whole = from->count == 1;
    const int64_t rows = whole ? parse->problem->lists[STATES].count : 1;
    NADIR_TRY(add_rule(parse, rules, from, from->places[1], NADIR_CASSANDRA_ANY, 0));
    for (int64_t row = 0; row < rows; row++) {
        const int32_t state = whole ? (int32_t)row : from->places[1];
        for (int64_t column = 0; column < columns; column++) {
            double value = 0;
            NADIR_TRY(observed ? take_same_values(parse, column, columns, &value)
                               : take_entry(parse, row, rows, column, columns, &value));
            if (value != 0) {
                NADIR_TRY(add_rule(parse, rules, from, state, (int32_t)column, value));
            }
        }
    }
    return NADIR_OK;
}

/* T: a : s : e p, or T: a [: s] followed by uniform, identity, reset or numbers. O the same without reset;
 * it is read and forgotten. */
static nadir_status read_probabilities(parser *parse, int which)
{
    static const struct {
        const char *word;
        int32_t end;
    } words[] = {{"uniform", NADIR_CASSANDRA_ANY},
                 {"identity", NADIR_CASSANDRA_IDENTITY},
                 {"reset", NADIR_CASSANDRA_RESET}};
    nadir_cassandra_rules *rules = which == T ? &parse->problem->transitions : NULL;
    statement taken;
    double value = 0;
    if (which == O && parse->lines[OBSERVATIONS] == 0) {
        return nadir_text_fail(text_at_token(parse), "O: in a file without observations:");
    }
    NADIR_TRY(take_statement(parse, which, &taken));
    if (taken.count == 3) {
        NADIR_TRY(take_number(parse, "a probability", &value));
        return add_rule(parse, rules, &taken, taken.places[1], taken.places[2], value);
    }
    for (int i = 0; i < (which == T ? 3 : 2); i++) {
        if (is_word(parse->current, words[i].word)) {
            NADIR_TRY(advance(parse));
            value = i == 0 ? 1.0 / (double)parse->problem->lists[STATES].count : 1;
            return add_rule(parse, rules, &taken, taken.places[1], words[i].end, value);
        }
    }
    return take_matrix(parse, rules, &taken, parse->problem->lists[forms[which].lists[2]].count, false);
}

/* R: a : s : e : o r for one observation: the next statements must say the same for all the others, in
 * order. The first of them is taken but for its number. */
static nadir_status take_each_observation(parser *parse, const statement *first, double *value)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(take_number(parse, "a reward", value));
    bool same = first->places[3] == 0;
    for (int32_t o = 1; same && o < parse->problem->lists[OBSERVATIONS].count; o++) {
        statement next;
        double other = 0;
        same = is_word(parse->current, "R");
        if (same) {
            NADIR_CHECK(take_statement(parse, R, &next));
            same = next.count == 4 && memcmp(next.places, first->places, 3 * sizeof *next.places) == 0 &&
                   next.places[3] == o;
        }
        if (same) {
            NADIR_CHECK(take_number(parse, "a reward", &other));
            same = other == *value;
        }
    }
    status = same ? NADIR_OK : depends_on_observation(parse, first->line);
cleanup:
    return status;
}

/* R: a : s : e : o r, and less of it followed by the numbers for what is left out. */
static nadir_status read_rewards(parser *parse, int which)
{
    nadir_cassandra_rules *rules = &parse->problem->rewards;
    const bool observed = parse->lines[OBSERVATIONS] > 0;
    statement taken;
    double value = 0;
    NADIR_TRY(take_statement(parse, which, &taken));
    if (observed && taken.count == 1) {
        return nadir_text_fail(text_at_line(parse, taken.line),
                               "R: with an action alone; expected R: action : state followed by rewards");
    }
    if (taken.count < 3) {
        return take_matrix(parse, rules, &taken, parse->problem->lists[STATES].count, observed);
    }
    if (taken.count == 4 && taken.places[3] >= 0) {
        NADIR_TRY(take_each_observation(parse, &taken, &value));
    } else if (observed && taken.count == 3) {
        NADIR_TRY(take_same_values(parse, 0, 1, &value));
    } else {
        NADIR_TRY(take_number(parse, "a reward", &value));
    }
    return add_rule(parse, rules, &taken, taken.places[1], taken.places[2], value);
}

/* ---- The file ----------------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    nadir_status (*read)(parser *parse, int which); /* of the preamble: after the colon */
} statements[STATEMENTS] = {
    [STATES] = {"states", read_list},
    [ACTIONS] = {"actions", read_list},
    [OBSERVATIONS] = {"observations", read_list},
    [DISCOUNT] = {"discount", read_discount},
    [VALUES] = {"values", read_values},
    [START] = {"start", read_start},
    [T] = {"T", read_probabilities},
    [O] = {"O", read_probabilities},
    [R] = {"R", read_rewards},
};

static nadir_status read_preamble(parser *parse, int which)
{
    const int64_t line = parse->current->line;
    if (parse->lines[which] > 0) {
        return nadir_text_fail(text_at_line(parse, line), "%s: again; it stands in line %lld already",
                               statements[which].word, (long long)parse->lines[which]);
    }
    NADIR_TRY(advance(parse));
    if (which == START && parse->current->kind == WORD) {
        parse->problem->start = is_word(parse->current, "include") ? NADIR_CASSANDRA_START_INCLUDE
                                                                   : NADIR_CASSANDRA_START_EXCLUDE;
        NADIR_TRY(advance(parse));
    }
    NADIR_TRY(take_colon(parse, statements[which].word));
    parse->lines[which] = line;
    return statements[which].read(parse, which);
}

static nadir_status read_statement(parser *parse)
{
    const token *word = parse->current;
    int which = 0;
    if (!is_statement(parse)) {
        return nadir_text_fail(text_at_token(parse),
                               "'%.60s' begins no statement; expected T:, O:, R: or a line of the preamble",
                               word->text);
    }
    while (which < STATEMENTS && strcmp(word->text, statements[which].word) != 0) {
        which++;
    }
    if (which == STATEMENTS) {
        return nadir_text_fail(text_at_token(parse),
                               "no statement is called '%.60s'; expected T, O, R, discount, values, "
                               "states, actions, observations or start",
                               word->text);
    }
    return which < T ? read_preamble(parse, which) : statements[which].read(parse, which);
}

static nadir_status parse_file(nadir_cassandra_problem *problem)
{
    nadir_status status = NADIR_OK;
    parser parse = {.problem = problem, .rest = {problem->path, problem->path}};
    parse.current = &parse.tokens[0];
    parse.next = &parse.tokens[1];
    NADIR_CHECK(nadir_text_open(problem->context, problem->path, &parse.text));
    problem->bytes = parse.text.input.bytes;
    NADIR_CHECK(read_token(&parse, parse.current));
    NADIR_CHECK(read_token(&parse, parse.next));
    while (parse.current->kind != END) {
        NADIR_CHECK(read_statement(&parse));
    }
    if (parse.lines[STATES] == 0 || parse.lines[ACTIONS] == 0) {
        status = nadir_text_fail(text_at_token(&parse),
                                 "the file has no %s:", parse.lines[STATES] == 0 ? "states" : "actions");
    }
cleanup:
    nadir_text_close(&parse.text);
    return status;
}

static nadir_status read_model(nadir_context *context, const char *path, const nadir_read_settings *settings,
                               nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_cassandra_problem problem = {.context = context, .path = path, .discount = NAN};
    NADIR_CHECK(parse_file(&problem));
    NADIR_CHECK(nadir_cassandra_expand(&problem, settings, model));
cleanup:
    for (int i = 0; i < NADIR_CASSANDRA_LISTS; i++) {
        clear_names(context, &problem.lists[i]);
    }
    nadir_cassandra_clear(context, &problem.transitions);
    nadir_cassandra_clear(context, &problem.rewards);
    nadir_release(context, problem.shares);
    return status;
}

/* Whether the first word of the file begins a statement of the preamble other than start. */
static bool recognises(const char *head, size_t length)
{
    nadir_cursor rest = {head, head + length};
    nadir_cursor line;
    nadir_cursor word;
    const bool named = nadir_cursor_take_content(&rest, "#", &line) &&
                       nadir_cursor_take_word(&line, ":", &word) && nadir_cursor_take_char(&line, ':');
    for (int i = 0; named && i < START; i++) {
        if (nadir_cursor_equals(word, statements[i].word)) {
            return true;
        }
    }
    return false;
}

const nadir_format nadir_format_cassandra = {
    .name = "cassandra",
    .endings = " .mdp .pomdp ",
    .title = "Cassandra MDP",
    .holds = NADIR_HOLDS_REWARDS | NADIR_HOLDS_TRANSITION_REWARDS | NADIR_HOLDS_DISCOUNT |
             NADIR_HOLDS_ZERO_REWARDS | NADIR_HOLDS_INITIAL | NADIR_HOLDS_NAMES,
    .recognises = recognises,
    .read = read_model,
    .write = nadir_cassandra_write,
};

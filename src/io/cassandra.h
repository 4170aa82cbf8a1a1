/*
 * cassandra.h: what the files cassandra*.c share: tokens, rules and the problem a file states.
 *
 * Reading goes through three stages. Tokens (cassandra_lexer.c) become statements (cassandra_preamble.c,
 * cassandra_statements.c), each statement becomes a few rules (cassandra_rules.c), and the rules are expanded
 * row by row (cassandra_expand.c). A rule says "P(end | state, action) = value" with wildcards, and a later
 * rule overrides an earlier one, entry by entry.
 */
#ifndef NADIR_IO_CASSANDRA_H
#define NADIR_IO_CASSANDRA_H

#include "io/text_reader.h"
#include "model/model.h"

/* ---- Tokens ------------------------------------------------------------------------------------------- */

typedef enum nadir_cassandra_kind {
    NADIR_CASSANDRA_END,
    NADIR_CASSANDRA_COLON,
    NADIR_CASSANDRA_STAR,
    NADIR_CASSANDRA_WORD /* a name or a number */
} nadir_cassandra_kind;

/* Longer words are refused. */
#define NADIR_CASSANDRA_WORD_LENGTH 255

typedef struct nadir_cassandra_token {
    nadir_cassandra_kind kind;
    int64_t line;
    size_t length;
    char text[NADIR_CASSANDRA_WORD_LENGTH + 1]; /* for messages too, whatever the kind */
} nadir_cassandra_token;

/* A file as tokens, two of them in sight. Comments and line ends are gone. */
typedef struct nadir_cassandra_lexer {
    nadir_text text;
    nadir_cursor rest; /* of the line that is being cut */
    bool at_end;
    int64_t bytes; /* of the file */
    int current;   /* which of the two is the current token; the other is the next */
    nadir_cassandra_token tokens[2];
} nadir_cassandra_lexer;

/* A struct of zeros is closed; closing it is legal. */
nadir_status nadir_cassandra_open(nadir_context *context, const char *path, nadir_cassandra_lexer *lexer);
void nadir_cassandra_close(nadir_cassandra_lexer *lexer);

const nadir_cassandra_token *nadir_cassandra_current(const nadir_cassandra_lexer *lexer);
nadir_status nadir_cassandra_advance(nadir_cassandra_lexer *lexer);

/* For nadir_text_fail: the file, at the line of the current token or at a given line. */
nadir_text *nadir_cassandra_here(nadir_cassandra_lexer *lexer);
nadir_text *nadir_cassandra_at(nadir_cassandra_lexer *lexer, int64_t line);

bool nadir_cassandra_is(const nadir_cassandra_token *token, const char *word);
/* Whether a list ends here: at the end of the file or where a statement begins (a word and a colon). */
bool nadir_cassandra_is_statement(const nadir_cassandra_lexer *lexer);

/* Takes the current token; an error that says what was expected if it is none. */
nadir_status nadir_cassandra_take_colon(nadir_cassandra_lexer *lexer, const char *after);
nadir_status nadir_cassandra_take_number(nadir_cassandra_lexer *lexer, const char *what, double *value);

/* ---- Rules -------------------------------------------------------------------------------------------- */

/* In the place of a state, action or end. The last two stand for a whole row and are ends only. */
enum { NADIR_CASSANDRA_ANY = -1, NADIR_CASSANDRA_IDENTITY = -2, NADIR_CASSANDRA_RESET = -3 };

/* Rules whose end is negative are *bases*: they set every entry of a row. */
typedef struct nadir_cassandra_rule {
    int32_t state;
    int32_t action;
    int32_t end;
    uint32_t line;
    double value;
    int64_t order; /* of two rules for an entry the one of higher order holds */
} nadir_cassandra_rule;

/* The rules with the same state and action: at most one base, which comes first, then by rising end. */
typedef struct nadir_cassandra_group {
    int32_t state;
    int32_t action;
    size_t first;
    int64_t newest; /* the highest order among them */
} nadir_cassandra_group;

typedef struct nadir_cassandra_book {
    nadir_cassandra_rule *rules;
    size_t count, capacity;
    bool unsorted;
    bool has_entries;              /* a rule for one end */
    nadir_cassandra_group *groups; /* [group_count + 1] by rising state, then action; the last closes them */
    size_t group_count, group_capacity;
} nadir_cassandra_book;

/* A struct of zeros is an empty book. */
nadir_status nadir_cassandra_add(nadir_context *context, nadir_cassandra_book *book,
                                 nadir_cassandra_rule rule);
/* Sorts the rules into groups and drops those that a later one of the same group overrides. */
nadir_status nadir_cassandra_settle(nadir_context *context, nadir_cassandra_book *book);
void nadir_cassandra_clear(nadir_context *context, nadir_cassandra_book *book);

/* The groups that bear on one row: (s, a), (s, *), (*, a) and (*, *), as far as there are any. */
typedef struct nadir_cassandra_row {
    int32_t count;
    struct {
        const nadir_cassandra_rule *entries; /* rising ends */
        size_t count;
        int64_t newest;
    } parts[4];
    const nadir_cassandra_rule *base; /* the latest of the row, or NULL */
} nadir_cassandra_row;

/* A walk over a settled book, for rows in rising order; a walk of zeros but for the book is at its start. */
typedef struct nadir_cassandra_walk {
    const nadir_cassandra_book *book;
    size_t of_state; /* first group of the state, its (s, *) passed */
    size_t of_any;   /* first group (*, a) not yet passed by the actions of this state */
    const nadir_cassandra_group *state_any;
    const nadir_cassandra_group *any_any;
} nadir_cassandra_walk;

nadir_cassandra_walk nadir_cassandra_walk_start(const nadir_cassandra_book *book);
/* Actions of a state are asked for in order from 0; states rise. */
void nadir_cassandra_walk_row(nadir_cassandra_walk *walk, int32_t state, int32_t action,
                              nadir_cassandra_row *row);

/* ---- The problem -------------------------------------------------------------------------------------- */

/* States, actions or observations. */
typedef struct nadir_cassandra_list {
    const char *what; /* "state" */
    int64_t line;     /* where it was given; 0: not yet */
    int64_t count;
    nadir_names names; /* empty when only a number was given */
    nadir_name_index index;
} nadir_cassandra_list;

typedef enum nadir_cassandra_start {
    NADIR_CASSANDRA_START_UNIFORM,
    NADIR_CASSANDRA_START_VECTOR,
    NADIR_CASSANDRA_START_INCLUDE,
    NADIR_CASSANDRA_START_EXCLUDE
} nadir_cassandra_start;

typedef struct nadir_cassandra_share {
    int32_t state;
    double probability; /* of a vector */
} nadir_cassandra_share;

typedef struct nadir_cassandra_problem {
    nadir_context *context;
    const char *path;
    nadir_cassandra_lexer lexer;
    int64_t discount_line, values_line, start_line; /* 0: not given yet */
    double discount;
    bool costs;
    nadir_cassandra_list states, actions, observations;
    nadir_cassandra_start start;
    nadir_cassandra_share *shares; /* nonzeros of a start vector, or the states included or excluded */
    size_t share_count, share_capacity;
    nadir_cassandra_book transitions, rewards;
} nadir_cassandra_problem;

/* One statement of the preamble; *known is false when the current token begins none. */
nadir_status nadir_cassandra_preamble(nadir_cassandra_problem *problem, bool *known);

/* Takes a name, a number or (if allowed) a star as one of the list; a star is NADIR_CASSANDRA_ANY. */
nadir_status nadir_cassandra_take_member(nadir_cassandra_problem *problem, const nadir_cassandra_list *list,
                                         bool star, int32_t *member);

/* All statements of the open file. */
nadir_status nadir_cassandra_statements(nadir_cassandra_problem *problem);

/* The model that the statements make; takes the names out of the problem. */
nadir_status nadir_cassandra_expand(nadir_cassandra_problem *problem, bool keep_transition_rewards,
                                    nadir_model **model);

/* ---- Writing ------------------------------------------------------------------------------------------ */

nadir_status nadir_cassandra_write(nadir_context *context, const nadir_model *model, const char *path,
                                   const nadir_write_settings *settings);

#endif

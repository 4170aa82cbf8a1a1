/*
 * cassandra.h: what the files cassandra_*.c share: rules, and the problem that a file states.
 *
 * Reading has two stages. cassandra_parse.c turns tokens into statements and each statement into a few rules.
 * cassandra_expand.c expands the rules row by row. A rule says "P(end | state, action) = value" with
 * wildcards; a later rule overrides an earlier one, entry by entry.
 */
#ifndef NADIR_IO_CASSANDRA_H
#define NADIR_IO_CASSANDRA_H

#include "io/text_reader.h"
#include "model/model.h"

/* Longer words are refused. */
#define NADIR_CASSANDRA_WORD_LENGTH 255

/* Instead of a state, action or end. The last two stand for a whole row and are ends only. */
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

/* The rules with the same state and action. */
typedef struct nadir_cassandra_group {
    int32_t state;
    int32_t action;
    const nadir_cassandra_rule *base;    /* NULL: none */
    const nadir_cassandra_rule *entries; /* [count] by rising end, all later than the base */
    size_t count;
    int64_t newest; /* the highest order among them */
} nadir_cassandra_group;

/* All rules for transitions, or all for rewards. A struct of zeros has none. */
typedef struct nadir_cassandra_rules {
    nadir_cassandra_rule *rules;
    size_t count, capacity;
    bool unsorted;
    nadir_cassandra_group *groups; /* [group_count] by rising state, then action */
    size_t group_count, group_capacity;
} nadir_cassandra_rules;

/* Sets the order of the rule. */
nadir_status nadir_cassandra_add(nadir_context *context, nadir_cassandra_rules *rules,
                                 nadir_cassandra_rule rule);
void nadir_cassandra_clear(nadir_context *context, nadir_cassandra_rules *rules);

enum { NADIR_CASSANDRA_STATES, NADIR_CASSANDRA_ACTIONS, NADIR_CASSANDRA_OBSERVATIONS, NADIR_CASSANDRA_LISTS };

typedef struct nadir_cassandra_list {
    int64_t count;     /* 0: not given */
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
    int64_t bytes; /* of the file */
    double discount;
    bool costs;
    nadir_cassandra_list lists[NADIR_CASSANDRA_LISTS];
    nadir_cassandra_start start;
    int64_t start_line;
    nadir_cassandra_share *shares; /* nonzeros of a start vector, or the states included or excluded */
    size_t share_count, share_capacity;
    nadir_cassandra_rules transitions, rewards;
} nadir_cassandra_problem;

/* The model that the statements make; takes the names out of the problem. */
nadir_status nadir_cassandra_expand(nadir_cassandra_problem *problem, const nadir_read_settings *settings,
                                    nadir_model **model);

nadir_status nadir_cassandra_write(nadir_context *context, const nadir_model *model, const char *path,
                                   const nadir_write_settings *settings);

#endif

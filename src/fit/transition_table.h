/*
 * transition_table.h: sums over transitions, found by (state, action, successor).
 *
 * The transitions stand in the order in which they first came, 32 bytes each; beside them an open-addressing
 * table of their numbers, at most half full, so that a look-up takes two memory accesses.
 */
#ifndef NADIR_FIT_TRANSITION_TABLE_H
#define NADIR_FIT_TRANSITION_TABLE_H

#include "core/context.h"

typedef struct nadir_data_entry {
    int32_t state, action, successor;
    uint32_t mark; /* part of the hash: rejects most other entries, and gives the slot when the table grows */
    double count;
    double reward; /* sum of count * reward */
} nadir_data_entry;

/* All zero is empty. */
typedef struct nadir_data_table {
    nadir_data_entry *entries; /* [count] */
    int64_t count;
    size_t capacity; /* of entries */
    int64_t *slots;  /* [slot_count], a power of two: number of an entry, -1: none */
    size_t slot_count;
} nadir_data_table;

/* *at: the number of the transition, which is new, with sums of 0, if it was not there. */
nadir_status nadir_data_table_find(nadir_context *context, nadir_data_table *table, int32_t state,
                                   int32_t action, int32_t successor, int64_t *self);
/* Prefetches the memory of a transition that will be looked up soon: a table larger than the cache is then
 * several times as fast. Call it far ahead with `near` false, then half as far ahead with true. */
void nadir_data_table_expect(const nadir_data_table *table, int64_t state, int64_t action, int64_t successor,
                             bool near);
/* After the last look-up: releases the slots, keeps the entries. */
void nadir_data_table_close(nadir_context *context, nadir_data_table *table);
void nadir_data_table_clear(nadir_context *context, nadir_data_table *table);

/* The numbers of the entries in the order of their rows and, within a row, of their successors, by two
 * counting sorts. entry_rows: [count] the row of each entry, below `rows`; successors are below `states`.
 * Entries whose count is 0 are left out. Fills row_starts, [rows + 1], and order, [row_starts[rows]]. */
nadir_status nadir_data_table_order(nadir_context *context, const nadir_data_table *table, int64_t states,
                                    int64_t rows, const int64_t *entry_rows, int64_t *order,
                                    int64_t *row_starts);

#endif

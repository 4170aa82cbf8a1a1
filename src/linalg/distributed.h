/*
 * distributed.h: sums and extremes over a vector that is distributed over threads and processes.
 *
 * A process holds `count` of the entries, the first of them at global place `first`. Threads take contiguous
 * shares whose results are joined in order, then the communication table joins the processes: the same
 * number of threads and processes gives the same bits.
 */
#ifndef NADIR_LINALG_DISTRIBUTED_H
#define NADIR_LINALG_DISTRIBUTED_H

#include "core/context.h"

/* How many sums are made at once, at most. */
enum { NADIR_SUMS_LIMIT = 8 };

/* Adds the terms of the entries [first, end) of this process to sums[kinds]. `data` is the caller's; several
 * threads call at once, for different entries. */
typedef void nadir_sum_terms(void *data, int64_t first, int64_t end, double *sums);

/* totals[kinds] <- the sums over all entries of all processes. Terms are added plainly within short blocks
 * and with compensation beyond: off by a few dozen roundings of the sum of the sizes at most, whatever the
 * count. `cost`: how many multiplications an entry is worth. */
nadir_status nadir_sums(nadir_context *context, int64_t count, int64_t cost, nadir_sum_terms *terms,
                        void *data, int kinds, double *totals);

/* A number of each process joined with those of all others: sum, largest, smallest; whether it holds for all
 * of them. A NaN stays one. Without other processes the number itself. */
double nadir_allreduce_sum(const nadir_context *context, double own);
double nadir_allreduce_maximum(const nadir_context *context, double own);
double nadir_allreduce_minimum(const nadir_context *context, double own);
bool nadir_allreduce_and(const nadir_context *context, bool own);

/* The functions of vector.h of like names over all entries of all processes, of which this one has `count`.
 * The error of a product includes what joining rounds away. */
int64_t nadir_global_count(const nadir_context *context, int64_t count);
double nadir_global_sum(const nadir_context *context, int64_t count, const double *x);
double nadir_global_largest(const nadir_context *context, int64_t count, const double *x);
double nadir_global_dot(const nadir_context *context, int64_t count, const double *x, const double *y,
                        double *error);
double nadir_global_norm_1(const nadir_context *context, int64_t count, const double *x);

/* How many entries the processes before this one have. */
int64_t nadir_global_first(const nadir_context *context, int64_t count);

/* With the places where they stand, the lowest among equals. Of no entries: -infinity and infinity. */
typedef struct nadir_extremes {
    nadir_indexed largest;
    nadir_indexed smallest;
} nadir_extremes;

/* Over all entries of all processes; NADIR_ERROR_ARGUMENT, on every process, when one is not finite. */
nadir_status nadir_extremes_find(nadir_context *context, int64_t first, int64_t count, const double *x,
                                 nadir_extremes *extremes);

/* The largest size of all entries, 0 of none. */
double nadir_extremes_size(const nadir_extremes *extremes);

/* A power of two that brings numbers of this size to about 1 without rounding those that matter; the products
 * with it and with its inverse neither overflow nor vanish. */
double nadir_scale_for(double size);

/*
 * Vectors over states that are distributed over processes, and what a process needs of the
 * others'.
 *
 * A process owns `count` entries of a vector, the first of them at global place `first`, and its rows of a
 * matrix have entries in columns of its own and in some of other processes: its ghosts. Columns are numbered
 * own ones first, then ghosts by rising place. A product with rows fetches the ghosts of x; a transposed
 * product sends what it makes of ghosts home. Where one process owns everything there is no exchange (NULL),
 * and a vector is its own extension.
 */

typedef struct nadir_exchange {
    nadir_memory *memory;
    const nadir_communication *table;
    void *plan;
    int64_t first, count, ghosts;
    int64_t total;   /* of all processes */
    int64_t *places; /* [ghosts] rising */
    bool whole;      /* every state of the others is a ghost */
    double *buffer;  /* [count + ghosts] one vector at a time; NULL: the plan has one */
} nadir_exchange;

/* places: [ghosts] rising, owned by other processes; copied. Every process of the context calls at once. */
nadir_status nadir_exchange_create(nadir_context *context, int64_t first, int64_t count, int64_t ghosts,
                                   const int64_t *places, nadir_exchange **exchange);
void nadir_exchange_free(nadir_exchange *exchange);

/* x: [count] with its ghosts behind it: [count + ghosts], valid until the next call. */
const double *nadir_exchange_extend(const nadir_exchange *exchange, const double *x);
/* The same without a copy where the others' memory can be read: x and its ghosts one after another in pieces,
 * valid until the next call. Returns how many. */
enum { NADIR_EXCHANGE_PIECES = 3 };
typedef struct nadir_exchange_piece {
    int64_t count;
    const double *values;
} nadir_exchange_piece;
int nadir_exchange_pieces(const nadir_exchange *exchange, const double *x,
                          nadir_exchange_piece pieces[NADIR_EXCHANGE_PIECES]);
/* The same in place: x: [count + ghosts], of which the first `count` are given. */
void nadir_exchange_fill(const nadir_exchange *exchange, double *x);

/* A place for a vector of [count + ghosts], until the next exchange: sums that go home from here by `add` are
 * not copied. */
double *nadir_exchange_buffer(const nadir_exchange *exchange);

/* The global place of a column. */
static inline int64_t nadir_exchange_index(const nadir_exchange *exchange, int64_t column)
{
    return exchange == NULL           ? column
           : column < exchange->count ? exchange->first + column
                                      : exchange->places[column - exchange->count];
}

/* The column that stands for a global place; -1: none does here. O(log ghosts). */
int64_t nadir_exchange_column(const nadir_exchange *exchange, int64_t place);

#endif

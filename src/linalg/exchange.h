/*
 * exchange.h: vectors over states that are distributed over processes, and what a process needs of the
 * others'.
 *
 * A process owns `count` entries of a vector, the first of them at global place `first`, and its rows of a
 * matrix have entries in columns of its own and in some of other processes: its ghosts. Columns are numbered
 * own ones first, then ghosts by rising place. A product with rows fetches the ghosts of x; a transposed
 * product sends what it makes of ghosts home. Where one process owns everything there is no exchange (NULL),
 * and a vector is its own extension.
 */
#ifndef NADIR_LINALG_EXCHANGE_H
#define NADIR_LINALG_EXCHANGE_H

#include "core/context.h"

typedef struct nadir_exchange {
    nadir_memory *memory;
    const nadir_communication *table;
    void *plan;
    int64_t first, count, ghosts;
    int64_t total;   /* of all processes */
    int64_t largest; /* `count` of the process that owns most */
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

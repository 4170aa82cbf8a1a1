/*
 * communication.h: everything that is global over states goes through this table.
 *
 * An algorithm holds the rows of the states it owns, [first, first + count) of S, and asks the table for
 * whatever concerns all of them. On one machine a process owns every state and the table is trivial; an
 * engine that distributes states over many processes brings its own. Every process makes the same calls in
 * the same order, and gets the same bits where the answer is the same for all: whoever decides something by
 * it decides as all others do. `self` is the table's own data; `context` receives errors and lends memory.
 */
#ifndef NADIR_CORE_COMMUNICATION_H
#define NADIR_CORE_COMMUNICATION_H

#include "nadir.h"

typedef enum nadir_reduction { NADIR_REDUCE_SUM, NADIR_REDUCE_MINIMUM, NADIR_REDUCE_MAXIMUM } nadir_reduction;

/* A number and the (global) place where it stands. */
typedef struct nadir_indexed {
    double value;
    int64_t place;
} nadir_indexed;

/* How many numbers reduce_few takes, at most. */
enum { NADIR_REDUCE_FEW = 16 };

typedef struct nadir_communication {
    const char *name;
    int32_t rank;    /* of this process */
    int32_t members; /* number of processes */
    bool shares;     /* they may read each other's vectors: `publish` and `buffer` are worth a try */
    void *self;

    /* values[i] <- the sum of values[i] over all processes. */
    nadir_status (*sum)(void *self, nadir_context *context, int64_t count, double *values);

    /* values[i] <- operations[i] of values[i] over all processes: several reductions in one message. */
    nadir_status (*reduce)(void *self, nadir_context *context, int64_t count,
                           const nadir_reduction *operations, double *values);

    /* The same for up to NADIR_REDUCE_FEW numbers, without memory and without failure. A NaN stays one. */
    void (*reduce_few)(void *self, int count, const nadir_reduction *operations, double *values);

    /* values[i] <- the largest over all processes with its place; the lowest place among equals. */
    nadir_status (*maximum)(void *self, nadir_context *context, int64_t count, nadir_indexed *values);

    /* values[i] <- the sum of values[i] over the processes before this one. */
    nadir_status (*scan)(void *self, nadir_context *context, int64_t count, double *values);

    /* results[j] <- the element of rank ranks[j] (0: smallest) among the `count` values of every process
     * together. `values` may be reordered. */
    nadir_status (*order_statistics)(void *self, nadir_context *context, int64_t count, double *values,
                                     int64_t wanted, const int64_t *ranks, double *results);

    /* results <- the `wanted` largest of all processes, largest first, lower place first among equals;
     * *found is `wanted` or the number there are. `values` may be reordered. */
    nadir_status (*top)(void *self, nadir_context *context, int64_t count, nadir_indexed *values,
                        int64_t wanted, nadir_indexed *results, int64_t *found);

    /* all <- the values of every process, in order of rank. */
    nadir_status (*gather)(void *self, nadir_context *context, int64_t count, const double *values,
                           double *all);

    /* The same on process 0 alone; `all` is not used elsewhere. */
    nadir_status (*collect)(void *self, nadir_context *context, int64_t count, const double *values,
                            double *all);

    /* Values at places of others, which rise, again and again; the `count` own ones begin at global place
     * `first`. *plan is to be released. fetch: ghosts[i] <- the value at places[i]. add: each value gains what all processes have for it among
     * their ghosts, in order of rank. */
    nadir_status (*plan)(void *self, nadir_context *context, int64_t first, int64_t count, int64_t wanted,
                         const int64_t *places, void **plan);
    void (*fetch)(void *self, void *plan, const double *values, double *ghosts);
    void (*add)(void *self, void *plan, const double *ghosts, double *values);
    /* fetch without a copy: what all processes have, by place, to be read until the next fetch, publish or
     * add of the plan. NULL, for all of them: this plan cannot, and nothing was done. */
    const double *(*publish)(void *self, void *plan, const double *values);
    /* [count + wanted] in whose end the ghosts of the next `add` may stand, who then makes no copy of them.
     * Free to use until then; NULL: there is no such place. */
    double *(*buffer)(void *self, void *plan);
    void (*release)(void *self, void *plan);
} nadir_communication;

/* One process that owns everything. */
extern const nadir_communication nadir_communication_alone;

#endif

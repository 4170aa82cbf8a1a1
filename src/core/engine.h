/*
 * engine.h: what an engine, a shared object that is loaded on request, and the library know of each other.
 *
 * An engine brings a communication table for many processes and may bring a linear solver for matrices that
 * are spread over them; or it brings a device (device.h) for one process. It exports one symbol,
 * `nadir_engine_entry`, and uses none of the library: what it needs is in the host table. Anything here may
 * change with NADIR_ENGINE_VERSION.
 */
#ifndef NADIR_CORE_ENGINE_H
#define NADIR_CORE_ENGINE_H

#include "core/communication.h"
#include "core/device.h"

#define NADIR_ENGINE_VERSION 9
#define NADIR_ENGINE_SYMBOL  "nadir_engine_entry"

/* What the library lends to an engine. */
typedef struct nadir_engine_host {
    nadir_status (*fail)(nadir_context *context, nadir_status status, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    const nadir_communication *alone; /* order statistics and the like of what one process has */
    /* As the library calls it in its own loops: rarely does anything, and says when to stop. */
    nadir_status (*progress)(nadir_context *context, const char *task, double share);
} nadir_engine_host;

/* The rows that a process owns of a square CSR matrix M. Columns below `count` are its own places, the others
 * stand for ghosts[column - count]. */
typedef struct nadir_engine_matrix {
    int64_t first, count, total;
    const int64_t *starts;  /* [count + 1] */
    const int32_t *columns; /* [starts[count]] */
    const double *values;   /* [starts[count]] */
    int64_t ghosts_count;
    const int64_t *ghosts; /* [ghosts_count] global places, rising */
} nadir_engine_matrix;

typedef struct nadir_engine_table {
    int version; /* NADIR_ENGINE_VERSION; nothing else is looked at if it is another */
    const char *name;

    /* options: the engine's own, as the user wrote them, or "". *table lives until `finish`. */
    nadir_status (*start)(const nadir_engine_host *host, nadir_context *context, const char *options,
                          const nadir_communication **table, void **self);
    /* How many processes share this machine. */
    int32_t (*neighbours)(const void *self);
    /*
     * The end of the process is near, with this exit status. Returns when all processes have come here; where
     * this one fails and others do not come within a few seconds, says why and ends them all: they wait for
     * an answer that will not be given.
     */
    void (*finish)(void *self, int exit_status, const char *sentence);

    /* A linear solver for I - gamma M and its transpose: setup copies nothing of the matrix that it can use
     * as it is; `matrix` and its arrays outlive *solver. The three below are NULL where there is none. */
    nadir_status (*setup)(void *self, nadir_context *context, const nadir_engine_matrix *matrix, double gamma,
                          void **solver);
    /* x: [count] in: a guess, out: with a residual of at most `residual` in the maximum norm (1-norm if
     * transposed) as far as the solver can tell. *products: how many it took. */
    nadir_status (*solve)(void *solver, nadir_context *context, bool transposed, const double *b,
                          double residual, double *x, int64_t *products);
    void (*destroy)(void *solver);

    /* NULL: the engine spreads models over processes. Otherwise models are whole, and *table of `start` is
     * the host's `alone`. */
    const nadir_device *device;
} nadir_engine_table;

#endif

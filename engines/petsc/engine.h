/* engine.h: the engine of a process, and what files of this folder share. */
#ifndef NADIR_ENGINES_PETSC_ENGINE_H
#define NADIR_ENGINES_PETSC_ENGINE_H

#include "core/engine.h"

#include <mpi.h>
#include <stdbool.h>

/* The engine of a process; MPI knows but one. */
typedef struct petsc_engine {
    const nadir_engine_host *host;
    MPI_Comm work;       /* for the table */
    MPI_Comm solvers;    /* for PETSc */
    MPI_Comm machine;    /* all processes, where they share a machine; else MPI_COMM_NULL */
    MPI_Comm shutdown;   /* for the end: messages of the others cannot be taken for those */
    MPI_Datatype tagged; /* a number and what is done with it */
    MPI_Op join;
    MPI_Datatype placed;
    MPI_Op largest;
    int neighbours;     /* processes on this machine */
    MPI_Comm watch;     /* MPI_COMM_NULL: calls are not compared */
    int64_t reductions; /* so far */
    int64_t exchanges;  /* of ghosts, either way */
    int64_t exchanged;  /* numbers that this process has sent in them */
    double waited;      /* seconds for the others */
    double polled;      /* of those, seconds of the processor: MPI asks again and again */
    nadir_communication table;
} petsc_engine;

/* Counts calls. With NADIR_ENGINE_WATCH set, compares what all processes are about to do: the job ends, and
 * says where each of them is, as soon as they differ. count: -1: may differ. */
void petsc_check_call(petsc_engine *engine, const char *call, int64_t count);

/* Around calls that wait for other processes, to be counted. */
typedef struct petsc_moment {
    double clock, processor;
} petsc_moment;
petsc_moment petsc_wait_begin(void);
void petsc_wait_end(petsc_engine *engine, petsc_moment begun);

/* mpi_reduce.c: makes and frees the types and operations; fills in sum, reduce, reduce_few, maximum, scan. */
void petsc_reductions_start(petsc_engine *engine);
void petsc_reductions_end(petsc_engine *engine);

/* mpi_gather.c: fills in order_statistics, top, gather, collect. */
void petsc_gathers_start(petsc_engine *engine);

/*
 * mpi_shared.c: vectors that processes read where they stand. NULL when they do not share a machine, or there
 * is no memory for it, for all of them alike. first, count: of the own values among `total`; wanted: ghosts.
 */
typedef struct petsc_shared petsc_shared;
petsc_shared *petsc_shared_make(petsc_engine *engine, int64_t first, int64_t count, int64_t total,
                                int64_t wanted);
void petsc_shared_free(petsc_shared *shared);
/* The values of all, to be read until the next call of this or of petsc_shared_send. */
const double *petsc_shared_publish(petsc_shared *shared, const double *values);
/* Own room, [count + wanted], of the next petsc_shared_send. */
double *petsc_shared_room(const petsc_shared *shared, int rank);
/* Lets the others read the own ghosts, [wanted], which stand behind `count` others in the own room or are
 * copied to there. Returns which of the two rooms of each process is to be read. */
int petsc_shared_send(petsc_shared *shared, int rank, const double *ghosts);
/* The room of a process. */
const double *petsc_shared_sent(const petsc_shared *shared, int rank, int turn);

/* mpi_plan.c: fills in plan, fetch, add, publish, room, release. */
void petsc_plans_start(petsc_engine *engine);

/* solver.c */
nadir_status petsc_solver_setup(void *self, nadir_context *context, const nadir_engine_matrix *matrix,
                                double gamma, void **made);
nadir_status petsc_solver_solve(void *made, nadir_context *context, bool transposed, const double *b,
                                double residual, double *x, int64_t *products);
void petsc_solver_destroy(void *made);

#endif

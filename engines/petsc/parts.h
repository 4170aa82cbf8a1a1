/* parts.h: of what the engine is made. For this folder alone. */
#ifndef NADIR_ENGINES_PETSC_PARTS_H
#define NADIR_ENGINES_PETSC_PARTS_H

#include "base/engine.h"

#include <mpi.h>
#include <stdbool.h>

/* The engine of a process; MPI knows but one. */
typedef struct petsc_engine {
    const nadir_engine_host *host;
    MPI_Comm work;       /* for the table */
    MPI_Comm solvers;    /* for PETSc */
    MPI_Comm farewell;   /* for the end: messages of the others cannot be taken for those */
    MPI_Datatype tagged; /* a number and what is done with it */
    MPI_Op join;
    MPI_Datatype placed;
    MPI_Op largest;
    MPI_Comm watch;     /* MPI_COMM_NULL: calls are not compared */
    int64_t reductions; /* so far */
    int64_t exchanges;  /* of ghosts, either way */
    int64_t exchanged;  /* numbers that this process has sent in them */
    nadir_communication table;
} petsc_engine;

/* Counts calls. With NADIR_ENGINE_WATCH set, compares what all processes are about to do: the job ends, and
 * says where each of them is, as soon as they differ. count: -1: may differ. */
void petsc_meet(petsc_engine *engine, const char *call, int64_t count);

/* mpi_reduce.c: makes and frees the types and operations; fills in sum, reduce, reduce_few, maximum, scan. */
void petsc_reductions_start(petsc_engine *engine);
void petsc_reductions_end(petsc_engine *engine);

/* mpi_gather.c: fills in order_statistics, top, gather, collect. */
void petsc_gathers_start(petsc_engine *engine);

/* mpi_plan.c: fills in halo, plan, fetch, add, release. */
void petsc_plans_start(petsc_engine *engine);

/* solver.c */
nadir_status petsc_solver_setup(void *self, nadir_context *context, const nadir_engine_matrix *matrix,
                                double gamma, void **made);
nadir_status petsc_solver_solve(void *made, nadir_context *context, bool transposed, const double *b,
                                double residual, double *x, int64_t *products);
void petsc_solver_destroy(void *made);

#endif

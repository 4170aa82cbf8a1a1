/*
 * iterative.h: Krylov solvers for a linear system that is known by its products alone.
 *
 * GMRES is for systems that a preconditioner brings close to the identity, where a few products are enough
 * and each is expensive. BiCGSTAB makes two products a step and needs six vectors whatever the number of
 * steps; it may stagnate or break down, and then leaves what it has to the caller (solve/krylov.c).
 */
#ifndef NADIR_LINALG_ITERATIVE_H
#define NADIR_LINALG_ITERATIVE_H

#include "linalg/matrix.h"

/* A x = b. */
typedef struct nadir_linear_system {
    int64_t size;  /* n, of this process */
    int64_t first; /* the global index of its first entry */

    /* Y = A X, or A^T X, for `count` vectors one after another; x and y do not overlap. A failure, such as an
     * interruption, ends the solve that asked. */
    nadir_status (*apply)(nadir_context *context, void *user, bool transposed, int64_t count, const double *x,
                          double *y);

    /* Z = K^-1 R, or K^-T R, for some K close to A; NULL: none. It need not be exact, nor the same each time.
     */
    nadir_status (*precondition)(nadir_context *context, void *user, bool transposed, int64_t count,
                                 const double *r, double *z);
    void *user;
} nadir_linear_system;

/* The norm in which the residual of A x = b, or A^T x = b, is measured: see backend.h. */
static inline nadir_norm nadir_residual_norm(bool transposed)
{
    return transposed ? NADIR_NORM_ONE : NADIR_NORM_MAXIMUM;
}

/* Reports the progress of a residual that fell from `start` to `now` on its way to `goal`. */
nadir_status nadir_residual_progress(nadir_context *context, double start, double now, double goal);

/* Restarted GMRES, preconditioned from the right, for one right-hand side after another. */

/* Products between restarts. */
#define NADIR_GMRES_RESTART 24

typedef struct nadir_gmres {
    bool transposed;
    double residual; /* goal for the residual of each column: maximum norm, 1-norm if transposed */
    int64_t limit;   /* products that a column may take; 0: 40 restarts */
    double *work;    /* [nadir_gmres_work(system)] */
} nadir_gmres;

/* How many numbers of work space it needs. */
int64_t nadir_gmres_work(const nadir_linear_system *system);

/*
 * A X = B or A^T X = B; x: [n * count] in: a guess (zeros will do), out: the best found; b: [n * count], does
 * not overlap x. *products: how many products with A were made, each column counted.
 *
 * The residual that counts is always b - A x computed anew. Where rounding keeps it from falling further, up
 * to ten times the goal is accepted; more, or the limit, is NADIR_ERROR_NOT_CONVERGED. A number that is not
 * finite is too.
 */
nadir_status nadir_gmres_solve(nadir_context *context, const nadir_linear_system *system,
                               const nadir_gmres *settings, int64_t count, const double *b, double *x,
                               int64_t *products);

/* One run of BiCGSTAB for several right-hand sides. */

/* The most right-hand sides of a run, and the vectors of work space for each. */
#define NADIR_BICGSTAB_COLUMNS 8
#define NADIR_BICGSTAB_VECTORS 6

/* One right-hand side of a run. */
typedef struct nadir_bicgstab_column {
    double residual;  /* in: the norm of r, positive */
    double goal;      /* in: stop when the recurrence says that the norm is at most this */
    int64_t limit;    /* in: products it may take */
    int64_t products; /* out: how many it took */
    int64_t slot;     /* out: where its correction is */
} nadir_bicgstab_column;

/*
 * Corrections X, where A X = R or A^T X = R, approximately. work: [NADIR_BICGSTAB_VECTORS * n * count]; its
 * first n * count numbers are R on entry; on return the correction of column j is columns[j].residual times
 * the vector at work + columns[j].slot * n. Stops a column at its goal or limit, and earlier when it makes no
 * headway; numbers that are not finite are then possible.
 */
nadir_status nadir_bicgstab_run(nadir_context *context, const nadir_linear_system *system, bool transposed,
                                int64_t count, nadir_bicgstab_column *columns, double *work);

#endif

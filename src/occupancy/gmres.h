/*
 * gmres.h: restarted GMRES for several right-hand sides, preconditioned from the right.
 *
 * For operators that a preconditioner brings close to the identity, where a few products are enough and each
 * is dear. Without a preconditioner that good, use the krylov backend.
 */
#ifndef NADIR_OCCUPANCY_GMRES_H
#define NADIR_OCCUPANCY_GMRES_H

#include "occupancy/operator.h"

/* Products between restarts, and right-hand sides done together; more of them are done in turn. */
#define NADIR_GMRES_RESTART 24
#define NADIR_GMRES_COLUMNS 8

typedef struct nadir_gmres {
    bool transposed;
    double residual; /* goal for the residual of each column: maximum norm, 1-norm if transposed */
    int64_t limit;   /* products that a column may take; 0: 40 restarts */
    double *work;    /* [nadir_gmres_work(system, count)] */
} nadir_gmres;

/* How many numbers of work space `count` right-hand sides need. */
int64_t nadir_gmres_work(const nadir_operator *system, int64_t count);

/*
 * A X = B or A^T X = B; x: [n * count] in: a guess (zeros will do), out: the best found; b: [n * count], does
 * not overlap x. *products: how many products with A were made, each column counted.
 *
 * The residual that counts is always b - A x computed anew. Where rounding keeps it from falling further, up
 * to ten times the goal is accepted; more, or the limit, is NADIR_ERROR_NOT_CONVERGED. A number that is not
 * finite is too.
 */
nadir_status nadir_gmres_solve(nadir_context *context, const nadir_operator *system,
                               const nadir_gmres *settings, int64_t count, const double *b, double *x,
                               int64_t *products);

#endif

/*
 * bicgstab.h: one run of BiCGSTAB for several right-hand sides.
 *
 * Two products a step, and six vectors whatever the number of steps. It may stagnate or break down: it then
 * leaves what it has, and the caller decides (krylov.c).
 */
#ifndef NADIR_OCCUPANCY_BICGSTAB_H
#define NADIR_OCCUPANCY_BICGSTAB_H

#include "occupancy/operator.h"

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
nadir_status nadir_bicgstab_run(nadir_context *context, const nadir_operator *system, bool transposed,
                                int64_t count, nadir_bicgstab_column *columns, double *work);

#endif

/*
 * membership.h: whether a kernel lies in the set, from its rows alone: distance, row sums, signs, successors.
 */
#ifndef NADIR_PROOF_MEMBERSHIP_H
#define NADIR_PROOF_MEMBERSHIP_H

#include "model/kernel.h"
#include "sets/uncertainty.h"

/* A row may be off by this much in sum and in distance: numbers are stored with a rounding each. */
#define NADIR_MEMBERSHIP_ROUNDING (64 * 2.220446049250313e-16)
/* An entry may leave a box by this much: rows are scaled to sum to one. */
#define NADIR_MEMBERSHIP_OUTSIDE 1e-12

typedef struct nadir_membership {
    double distance; /* non-rectangular: the scaled p-norm of P - Phat; otherwise the largest of a group */
    double excess;   /* the largest share by which a group is outside its ball, rounding forgiven; 0: none */
    int64_t excess_row;  /* a row of that group; -1: none */
    double row_sum;      /* largest |sum of a row - 1| */
    double minimum;      /* smallest entry */
    int64_t minimum_row; /* where it is */
    double off_support;  /* largest entry that the nominal kernel does not have */
    double outside;      /* the most by which an entry leaves the box; 0: there is no box */
    int64_t outside_row; /* where it is */
} nadir_membership;

/* Against the set with all radii times `factor`. O(entries of the kernel); O(rows * states) for b k^T. */
nadir_status nadir_membership_measure(nadir_context *context, const nadir_kernel *kernel,
                                      const nadir_uncertainty *uncertainty, double factor,
                                      nadir_membership *membership);

/* NADIR_ERROR_VERIFICATION, with the place, when the kernel that was measured is not in the set. */
nadir_status nadir_membership_check(nadir_context *context, const nadir_model *model,
                                    const nadir_uncertainty *uncertainty, const nadir_membership *membership);

#endif

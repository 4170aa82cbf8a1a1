/*
 * kernel_solver.h: value and occupancy under one kernel after another, all of them near the nominal one.
 *
 * A direct backend's factors of the nominal system precondition the others; an iterative backend gets an
 * operator of its own for the kernel at hand, which is cheaper than iterating inside an iteration.
 */
#ifndef NADIR_SEARCH_KERNEL_SOLVER_H
#define NADIR_SEARCH_KERNEL_SOLVER_H

#include "model/kernel.h"
#include "sets/uncertainty.h"

/* Nothing but the problem set: empty. */
typedef struct nadir_kernel_solver {
    const nadir_problem *problem;
    nadir_occupancy *occupancy; /* of the last kernel */
    const nadir_kernel *kernel; /* that one, for comparison alone */
    /* [2 * states] owned: where rewards on landing are not separable, R_P^pi of that kernel, and what that is
     * more than R^pi; NULL otherwise */
    double *R;
} nadir_kernel_solver;

/* The kernel need not outlive the call. */
nadir_status nadir_kernel_solver_set(nadir_context *context, nadir_kernel_solver *solver,
                                     const nadir_kernel *kernel);
void nadir_kernel_solver_clear(nadir_context *context, nadir_kernel_solver *solver);

/* R_P^pi of that kernel: [states]. */
static inline const double *nadir_kernel_solver_rewards(const nadir_kernel_solver *solver)
{
    return solver->R != NULL ? solver->R : solver->problem->R;
}

/* v = D R_P^pi and, unless d is NULL, d = D^T mu of that kernel; [states] each. */
nadir_status nadir_kernel_solver_value(nadir_context *context, nadir_kernel_solver *solver, double *v,
                                       double *d);

/* The same from an initial guess in v and d, [states] each: the better it is, the cheaper. */
nadir_status nadir_kernel_solver_improve(nadir_context *context, nadir_kernel_solver *solver, double *v,
                                         double *d);

/* A few steps of an iteration from v and d, [states] each; *J: the return, whose error is the product of
 * theirs. For searches whose later steps correct v and d. */
nadir_status nadir_kernel_solver_approach(nadir_context *context, nadir_kernel_solver *solver, double *v,
                                          double *d, double *J);

/* ----------------------------------------------------------- convex combinations of two kernels */

/* (1 - t) from + t to, both of this model, 0 <= t <= 1; every row that differs from the nominal one is written
 * out. */
nadir_status nadir_kernel_mix(nadir_context *context, nadir_model *model, const nadir_kernel *from,
                              const nadir_kernel *to, double t, nadir_kernel **mixed);

#endif

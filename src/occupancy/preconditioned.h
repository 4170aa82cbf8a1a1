/*
 * preconditioned.h: solving with the average of a kernel through the solves of another, nearby one.
 *
 * With A = I - gamma P^pi and A0 = I - gamma Phat^pi, A A0^-1 = I - gamma (P^pi - Phat^pi) D is near the
 * identity when P is near Phat, and a few Krylov steps on it do. The rank-one term of the average is part of
 * A.
 */
#ifndef NADIR_OCCUPANCY_PRECONDITIONED_H
#define NADIR_OCCUPANCY_PRECONDITIONED_H

#include "kernel/average.h"

typedef struct nadir_preconditioned nadir_preconditioned;

/* X <- about A0^-1 B, or A0^-T B; residual: for iterative ones. */
typedef nadir_status (*nadir_precondition)(nadir_context *context, void *user, bool transposed, int64_t count,
                                           const double *b, double residual, double *x);

/* `average` and `user` outlive it. */
nadir_status nadir_preconditioned_create(nadir_context *context, nadir_average *average, double gamma,
                                         nadir_precondition base, void *user, nadir_preconditioned **solver);
void nadir_preconditioned_free(nadir_context *context, nadir_preconditioned *solver);

/* As nadir_backend.solve of an iterative backend, on A; x need not be set. */
nadir_status nadir_preconditioned_solve(nadir_context *context, nadir_preconditioned *solver, bool transposed,
                                        int64_t count, const double *b, double residual, double *x);

#endif

/* kernel_internal.h: of what an occupancy operator is made. For this folder alone. */
#ifndef NADIR_OCCUPANCY_OCCUPANCY_INTERNAL_H
#define NADIR_OCCUPANCY_OCCUPANCY_INTERNAL_H

#include "occupancy/occupancy.h"
#include "occupancy/occupancy_internal.h"

struct nadir_occupancy {
    nadir_average average;
    double gamma;
    double tolerance;
    bool automatic;               /* the backend was our choice */
    bool long_tail;               /* and krylov, since the average has tails that are too long to factor */
    bool ready;                   /* false: an update failed */
    const nadir_backend *backend; /* NULL: solves go through base */
    void *self;
    nadir_backend_statistics spent; /* by backends that are gone */
    nadir_occupancy *base;
    int64_t updates;                      /* so far; with a base: those of the base when this one was made */
    nadir_preconditioned *preconditioned; /* through base where the difference is not of rank one; or NULL */
    nadir_sherman_morrison update;        /* b NULL: none */
    double *work;                         /* [capacity] residuals and corrections */
    size_t capacity;
    double *norms; /* [norms_capacity] of residuals, right-hand sides and solutions */
    size_t norms_capacity;
    double roundings[2]; /* nadir_average_roundings, plain and transposed; 0: not known yet */
};

/* The one whose backend does the work. */
static inline const nadir_occupancy *nadir_occupancy_root(const nadir_occupancy *occupancy)
{
    return occupancy->base != NULL ? occupancy->base : occupancy;
}

/* Whether solves need no iteration. */
static inline bool nadir_occupancy_is_direct(const nadir_occupancy *occupancy)
{
    return occupancy->preconditioned == NULL &&
           nadir_backend_has(nadir_occupancy_root(occupancy)->backend, NADIR_BACKEND_DIRECT);
}

/* An error where the operator has no products: an update failed, or its base was updated since. */
nadir_status nadir_occupancy_check_ready(nadir_context *context, const nadir_occupancy *occupancy);

/* X <- about A^-1 B, or A^-T B; residual as for nadir_backend.solve. */
nadir_status nadir_occupancy_solve_once(nadir_context *context, nadir_occupancy *occupancy, bool transposed,
                                        int64_t count, const double *b, double residual, double *x);

/* Gives a perturbed operator whose kernel is too far from its base's a backend of its own. */
nadir_status nadir_occupancy_own_backend(nadir_context *context, nadir_occupancy *occupancy);

/* X <- A^-1 B, or A^-T B, to the accuracy of the operator; see refinement.c. x may be b. */
nadir_status nadir_refinement_solve(nadir_context *context, nadir_occupancy *occupancy, bool transposed,
                                    int64_t count, const double *b, double *x, nadir_accuracy *accuracy);
/* The same from a guess in x, which is not b; columns where it is worse than zero start from that. */
nadir_status nadir_refinement_improve(nadir_context *context, nadir_occupancy *occupancy, bool transposed,
                                      int64_t count, const double *b, double *x, nadir_accuracy *accuracy);

/* The first of these for one right-hand side where b and x lie on the device; x is not b. Nothing is done
 * with their numbers here. Only where it is possible. */
bool nadir_refinement_is_on_device(const nadir_occupancy *occupancy);
nadir_status nadir_refinement_solve_device(nadir_context *context, nadir_occupancy *occupancy,
                                           bool transposed, const double *b, double *x);

#endif

/* occupancy_internal.h: the parts of an occupancy operator. For this folder alone. */
#ifndef NADIR_SOLVE_OCCUPANCY_INTERNAL_H
#define NADIR_SOLVE_OCCUPANCY_INTERNAL_H

#include "solve/occupancy.h"

/*
 * Preconditioned: solving with the average of a kernel through the solves of another, nearby one.
 *
 * With A = I - gamma P^pi and A0 = I - gamma Phat^pi, A A0^-1 = I - gamma (P^pi - Phat^pi) D is near the
 * identity when P is near Phat, and a few Krylov steps on it do. The rank-one term of the average is part of
 * A.
 */

/*
 * Sherman-Morrison: solving with A + gamma b k^T through solves with A.
 *
 *     (A + gamma b k^T)^-1 y = x - z gamma (k . x) / den,     x = A^-1 y,  z = A^-1 b,  den = 1 + gamma k . z
 *     and transposed:          x - w gamma (b . x) / den,     x = A^-T y,  w = A^-T k
 *
 * This is the only place in nadir where these formulas stand.
 */

/* den over what its terms add up to without their signs; below this the system is singular to working
 * precision. */
#define NADIR_DENOMINATOR_LIMIT 1e-12

typedef struct nadir_sherman_morrison {
    int64_t states;
    double gamma;
    const double *b, *k; /* [states] of the average */
    double *z, *w;       /* [states] owned */
    double denominator;
} nadir_sherman_morrison;

struct nadir_occupancy {
    nadir_average average;
    double gamma;
    double tolerance;
    bool automatic;               /* the backend was our choice */
    bool long_tail;               /* and krylov, since the average has tails that are too long to factor */
    bool ready;                   /* false: an update failed */
    nadir_occupancy *root;        /* whose backend does the work: the operator itself, or its base */
    const nadir_backend *backend; /* NULL: solves go through the root */
    void *self;
    nadir_backend_statistics spent;     /* by backends that are gone */
    nadir_occupancy *counted_by;        /* gets the statistics of a backend of its own at the end; or NULL */
    nadir_backend_statistics inherited; /* of the base, in `spent` */
    int64_t updates;                    /* so far; with a base: those of the base when this one was made */
    bool preconditioned;                /* by base: the difference to its kernel is not of rank one */
    double *gmres_work;                 /* [gmres_capacity] */
    size_t gmres_capacity;
    nadir_sherman_morrison update; /* b NULL: none */
    double *work;                  /* [capacity] residuals and corrections */
    size_t capacity;
    double *norms; /* [norms_capacity] of residuals, right-hand sides and solutions */
    size_t norms_capacity;
    double duration;     /* gamma = 1: at least max D 1; 0: not known yet */
    double roundings[2]; /* nadir_average_roundings, plain and transposed; 0: not known yet */
};

/* An error where the operator has no products: an update failed, or its base was updated since. */
nadir_status nadir_occupancy_check_ready(nadir_context *context, const nadir_occupancy *occupancy);

/* Gives a perturbed operator whose kernel is too far from its base's a backend of its own. */
nadir_status nadir_occupancy_own_backend(nadir_context *context, nadir_occupancy *occupancy);

#endif

/*
 * problem.h: what the adversary knows: one policy on one model, its nominal solution, and the set.
 *
 * The adversary makes the return as small as it can. For the best case instead of the worst all rewards, and
 * with them values and returns, are negated here; whoever reports results turns them back.
 */
#ifndef NADIR_SETS_PROBLEM_H
#define NADIR_SETS_PROBLEM_H

#include "sets/uncertainty.h"
#include "solve/occupancy.h"

/* Where the search for the worst kernel may start: what an earlier search of a similar problem found. */
typedef struct nadir_warm_start {
    const double *v, *d; /* [states] about its value and occupancy; NULL: not known */
    const struct nadir_frank_wolfe
        *search; /* whose row solutions are about those of the worst kernel; or NULL */
} nadir_warm_start;

typedef struct nadir_problem {
    nadir_model *model;
    const nadir_kernel *kernel; /* nominal */
    const nadir_policy *policy;
    nadir_occupancy *occupancy; /* D of the nominal kernel */
    const nadir_uncertainty *uncertainty;
    int64_t states, rows;
    double gamma;
    double sign;           /* 1, or -1 when rewards and values are negated */
    const double *rewards; /* [rows] R(s, a) */
    const double *R;       /* [states] R^pi */
    const double *mu;      /* [states] */
    const double *v;       /* [states] D R^pi */
    const double *d;       /* [states] D^T mu */
    double J;              /* mu . v */
    double v_error;        /* of v, maximum norm */
    double d_error;        /* of d, 1-norm */
    double J_error;
    double largest; /* of |v| and the rewards, all states */

    nadir_warm_start warm_start;
} nadir_problem;

#endif

/*
 * lagrangian_search.h: the search for the multiplier tau, and v_tau, of the Lagrangian bound
 * (proof/bellman_bound.h): v_tau = T v_tau by policy iteration for one tau, the tau of the best bound, and
 * the tau that holds kernels of a low return closest.
 */
#ifndef NADIR_SEARCH_LAGRANGIAN_TAU_H
#define NADIR_SEARCH_LAGRANGIAN_TAU_H

#include "model/kernel.h"
#include "search/kernel_solver.h"
#include "sets/lmo_by_state.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_lagrangian {
    double tau;
    double value;         /* mu . v - tau beta^p as computed; not a proven bound */
    double used;          /* sum over s of d_tau(s) / d_bar(s) x_s: the part of beta^p in use */
    double *v;            /* [states] owned: v_tau */
    nadir_kernel *kernel; /* owned: the rows that attain it, as answers to the v before the last step */
    double *answered;     /* [states] owned: that v */
    double distance;      /* scaled p-norm of that kernel less the nominal one, which may leave the ball */
    int64_t evaluations;  /* of the call that filled this */
    int64_t iterations;   /* of policies, in all of them */
} nadir_lagrangian;

void nadir_lagrangian_clear(nadir_context *context, nadir_lagrangian *lagrangian);

/* v_tau for one tau >= 0, by policy iteration from the nominal value (or from lagrangian->v, if there). */
nadir_status nadir_lagrangian_solve(nadir_context *context, const nadir_problem *problem, double beta,
                                    const double *d_bar, double tau, nadir_lagrangian *lagrangian);

/* The best tau, from tau_start (0: unknown): `value` is concave in tau with slope used - beta^p. */
nadir_status nadir_lagrangian_tau_best(nadir_context *context, const nadir_problem *problem, double beta,
                                       const double *d_bar, double tau_start, int64_t evaluations_limit,
                                       nadir_lagrangian *lagrangian);

/* The tau with the smallest sublevel radius (bellman_bound.h) around lagrangian->kernel for returns below
 * `level`: about where that kernel's own return is the level. tau_start > 0. */
nadir_status nadir_lagrangian_tau_for_level(nadir_context *context, const nadir_problem *problem, double beta,
                                            const double *d_bar, double level, double tau_start,
                                            int64_t evaluations_limit, nadir_lagrangian *lagrangian);

/* The kernel moved towards the nominal one until it lies in the ball: a start for Frank-Wolfe whose rows are
 * changed in states that the nominal kernel does not visit, too. */
nadir_status nadir_lagrangian_kernel_in_ball(nadir_context *context, const nadir_problem *problem,
                                             double beta, const nadir_lagrangian *lagrangian,
                                             nadir_kernel **start);

#endif

/*
 * two_sided_search.h: the search for the multipliers tau, zeta and k, and for v, of the two-sided Lagrangian bound
 * (proof/bellman_bound.h).
 *
 * For fixed multipliers v = Tv is the value of a decision process whose actions are rows and ends of occupancies. The
 * bound is the least, over its policies, of affine functions of the multipliers: jointly concave. Policies met at one
 * state, for one end or in one box are kept: each gives a cut for every other.
 */
#ifndef NADIR_SEARCH_TWO_SIDED_SEARCH_H
#define NADIR_SEARCH_TWO_SIDED_SEARCH_H

#include "proof/bellman_bound.h"
#include "search/cutting_planes.h"
#include "search/kernel_solver.h"
#include "sets/lmo_by_state.h"

/* Places of multipliers in a vector of NADIR_MULTIPLIERS + states numbers: tau, zeta, then k. */
enum { NADIR_AT_TAU, NADIR_AT_ZETA, NADIR_MULTIPLIERS };

/* A struct of zeros holds nothing; it must stay where it is. */
typedef struct nadir_two_sided_search {
    const nadir_problem *problem;
    const nadir_occupancy_bounds *box; /* that of now */
    double beta, power;                /* beta^p */
    double level;                      /* of returns */
    double *owned;
    /* The process of one vector of multipliers. */
    nadir_lmo_penalized high, low, mixed; /* rows at either end, and at the end that is used */
    nadir_kernel_solver solver;
    nadir_kernel *kernel;
    double *least, *most;                   /* [states] a little more than the box */
    double *low_end, *end, *charged, *work; /* [states] */
    double *v;                              /* [states] v = Tv */
    double *d, *x;                          /* [states] occupancy and x_s of its policy */
    double paid;                            /* d . R of it */
    int64_t solves;                         /* of processes */
    double until;                           /* nadir_clock_seconds: no more of them then */
    /* Policies that were met: d, x and paid of each. */
    double *pool;
    int64_t pool_count, pool_next;
    /* The cuts of one search. */
    nadir_cutting_planes planes;
    double *cuts;                   /* [NADIR_CUTS_MOST * (1 + multipliers)] value at zero, and slopes */
    double *centre, *trial, *scale; /* [multipliers] */
    int64_t *variables;             /* those that may change */
    int64_t variables_count;
} nadir_two_sided_search;

/* What is to be bounded below: zeta (J_P - level) + theta d_P(t), or J_P - level with theta = 0, zeta = 1. */
typedef struct nadir_two_sided_goal {
    int64_t t;
    double theta;
    double accuracy; /* of the bound */
    double enough;   /* a bound of this will do */
    int64_t limit;   /* of processes solved */
} nadir_two_sided_goal;

/* problem, box: must outlive it; box may change between calls. */
nadir_status nadir_two_sided_search_make(nadir_context *context, const nadir_problem *problem, double beta,
                                         const nadir_occupancy_bounds *box, nadir_two_sided_search *self);
void nadir_two_sided_search_clear(nadir_context *context, nadir_two_sided_search *self);

/* Looks for the best multipliers from those in `multipliers`, tau > 0, which it replaces; *best: the bound as computed,
 * for v: [states], about the fixed point, where it starts too. */
nadir_status nadir_two_sided_maximise(nadir_context *context, nadir_two_sided_search *self,
                                      const nadir_two_sided_goal *goal, double *multipliers, double *v,
                                      double *best);

/* What the bound that was maximised last gains at most, about, by moving one end of the range of a state to `about`:
 * gains: [2 states] of low ends, then of high ones. */
void nadir_two_sided_gains(const nadir_two_sided_search *self, const double *multipliers, const double *about,
                           double *gains);

/* Where the box is best split, for returns at these multipliers: the state whose range costs the bound most. v: as above.
 * *cost: what it does. */
nadir_status nadir_two_sided_widest(nadir_context *context, nadir_two_sided_search *self,
                                    const double *multipliers, const double *v, int64_t *state, double *cost);
/* The state whose part of the ball makes the most of a difference to returns, after nadir_two_sided_widest; *at: the middle of its
 * range, or 0: there is none. least: [2 states], of the box. */
nadir_status nadir_two_sided_dearest(nadir_context *context, nadir_two_sided_search *self,
                                     const double *least, int64_t *state, double *at);

#endif

/*
 * occupancy_bounds.h: bounds low <= d_P <= high on the occupancies of many kernels P at once: of all kernels
 * of the set, or of those whose return is below a level.
 *
 * If all of them satisfy sum over s of m_s |P_s - X_s|^2 <= radius^2 for an expansion point X (norms over 1 /
 * alpha) and some h >= 0 has d_P(s) <= h(s) m_s, then by Cauchy and Schwarz
 *
 *     d_P(t) <= d_X(t) + gamma radius sqrt(max sum_s y_s h(s) k(s, t)^2),    low <= y <= high, sum y = T,
 *
 * a fractional knapsack, since y = d_P is feasible; the lower bound has the k of -De_t. With m = 1 that is h
 * = high. Every pass follows from the bounds before it, so that any number of passes gives valid bounds.
 */
#ifndef NADIR_PROOF_OCCUPANCY_BOUNDS_H
#define NADIR_PROOF_OCCUPANCY_BOUNDS_H

#include "proof/perturbable_rows.h"
#include "proof/verified_solve.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_occupancy_bounds {
    int64_t states;
    double total;       /* T: at least sum d_P */
    double longest;     /* at least max D_P 1: T, but without a discount */
    double *high, *low; /* [states] */
    double *
        least; /* [2 states] at least x_s (lmo_by_state.h) of their rows, then at most x_s^(1/p); NULL: 0 and beta */
    bool empty; /* there is no such kernel: low > high somewhere */
} nadir_occupancy_bounds;

/* 0 <= d_P <= T, and 0 in states that no kernel of the set reaches. */
nadir_status nadir_occupancy_bounds_make(nadir_context *context, const nadir_problem *problem,
                                         nadir_occupancy_bounds *bounds);
void nadir_occupancy_bounds_clear(nadir_context *context, nadir_occupancy_bounds *bounds);
nadir_status nadir_occupancy_bounds_copy(nadir_context *context, const nadir_occupancy_bounds *from,
                                         nadir_occupancy_bounds *to);
/* Parts of the ball for each state, from 0 to all of it, unless there are some. */
nadir_status nadir_occupancy_bounds_share(nadir_context *context, double beta,
                                          nadir_occupancy_bounds *bounds);

/*
 * Bounds without columns. Since d_P - d_X = gamma d_X^T (P - X)^pi D_P and 0 <= D_P 1 <= T (`longest`),
 *
 *     |d_P(t) - d_X(t)| <= gamma T sum_s d_X(s) sum_a pi mass_sa <= gamma T radius |d_X alpha pi c|_2,
 *
 * for all kernels of the set with |P - X| <= radius: a change of a row moves a mass of at most
 * c |P_sa - X_sa|_2, c = sqrt(m) / 2 for m allowed successors, and c = sqrt(m) for m successors of X.
 */
/* X is the nominal kernel. */
void nadir_occupancy_bounds_limit(const nadir_context *context, const nadir_problem *problem, double radius,
                                  nadir_occupancy_bounds *bounds);
/* X is a centre that has d and off. */
void nadir_occupancy_bounds_limit_around(const nadir_context *context, const nadir_expansion_point *point,
                                         double radius, nadir_occupancy_bounds *bounds);

/* One pass around a point that has its columns, all bounds rounded outwards. up, down: [states * states] k^2
 * there; down NULL: as up. h: [states]; NULL: m_s = 1. slope: [states] or NULL; with h NULL,
 * |d_P(t) - d_X(t)| <= slope_t |P - X| + off_t. *moved: the largest change of a bound, as a share of T. */
nadir_status nadir_occupancy_bounds_narrow(nadir_context *context, nadir_occupancy_bounds *bounds,
                                           const nadir_expansion_point *point, const double *up,
                                           const double *down, const double *h, double radius, double *slope,
                                           double *moved);

/* Further passes, or changes below this, do not improve proofs. */
enum { NADIR_OCCUPANCY_PASSES = 24 };
#define NADIR_OCCUPANCY_SETTLED 1e-6

/* At most `passes` around the nominal kernel, for all kernels of the L_2 ball of this radius, until no bound
 * moves by more than `settled`, as a share of T. *done: how many there were. */
nadir_status nadir_occupancy_bounds_pass(nadir_context *context, const nadir_problem *problem,
                                         const nadir_perturbable_rows *perturbable, double radius,
                                         int64_t passes, double settled, nadir_occupancy_bounds *bounds,
                                         int64_t *done);

/* The same around a point, whose columns are made here, as nadir_occupancy_bounds_narrow does it. */
nadir_status nadir_occupancy_bounds_pass_around(nadir_context *context, nadir_expansion_point *point,
                                                const double *h, double radius, int64_t passes,
                                                double settled, nadir_occupancy_bounds *bounds,
                                                int64_t *done);

/* *most: at least max sum_s y_s value_s over low <= y <= high, sum y <= T; value: [states] >= 0. */
nadir_status nadir_occupancy_bounds_most(nadir_context *context, const nadir_occupancy_bounds *bounds,
                                         const double *value, double *most);

/*
 * How fast the chain of a policy forgets its start: a bound on |Phi D|_2, Phi x = x -
 * mean(x), from the entries of P^pi alone.
 */

/* Work: O(states^2), 1/3 states^3 more, or 2/3 states^3 for the sharpest bound. */
typedef enum nadir_ergodicity_effort {
    NADIR_ERGODICITY_EASY,
    NADIR_ERGODICITY_FAIR,
    NADIR_ERGODICITY_HARD
} nadir_ergodicity_effort;

/* *bound >= |Phi D|_2 for the D of the problem's operator, rounding included; infinity: nothing is known. */
nadir_status nadir_ergodicity_bound(nadir_context *context, const nadir_problem *problem,
                                    const nadir_verified_solver *known, nadir_ergodicity_effort effort,
                                    double *bound);

#endif

/*
 * occupancy_range.h: between which numbers the occupancies of a policy stay, whatever kernel of the set there
 * is; domains simplex and support.
 *
 * A row moves a value x by at most |Delta_sa|_p sigma_sa(x), sigma_sa the generalised standard deviation of x
 * over the successors that the row may have; the rows of a state together by |Delta_s / alpha|_p pull(s, x),
 *
 *     pull(s, x) = |alpha_sa pi(a|s) sigma_sa(x)|_q over a    (set sa: sum_a pi alpha beta_sa sigma_sa, no
 * radius)
 *
 * With d_P(t) - d(t) = gamma sum_s d_P(s) Delta^pi_s . D e_t, d_P <= high and sum d_P = T = 1 / (1 - gamma):
 *
 *     |d_P(t) - d(t)| <= gamma max over 0 <= y <= high, sum y <= T, of  beta |y_s pull(s, De_t)|_q (nonrect)
 *                                                                  or sum_s beta_s y_s pull(s, De_t)
 *
 * which is a fractional knapsack, y_s^q <= y_s high_s^(q-1). Every pass makes `high` smaller, and may be the
 * last.
 */
#ifndef NADIR_ADVERSARY_OCCUPANCY_RANGE_H
#define NADIR_ADVERSARY_OCCUPANCY_RANGE_H

#include "adversary/problem.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_occupancy_range {
    double *low, *high; /* [states] */
    double total;       /* at least T */
} nadir_occupancy_range;

/* D is formed: O(states) solves and states * states numbers. */
nadir_status nadir_occupancy_range_make(nadir_context *context, const nadir_problem *problem,
                                        nadir_occupancy_range *range);
void nadir_occupancy_range_clear(nadir_context *context, nadir_occupancy_range *range);

/* pull(s, x) for every s, rounded up, where x is known to `error`. work: [3 * states]; pull: [states]. */
nadir_status nadir_pull(nadir_context *context, const nadir_problem *problem, const double *x, double error,
                        double *work, double *pull);

/* What changes of the set do at most: beta |weight_s pull_s|_q, or sum_s beta_s weight_s pull_s; rounded up.
 * work: [states] */
double nadir_pull_total(const nadir_problem *problem, const double *weight, const double *pull, double *work);

/* pull(s, D e_t) of all columns at [t * states + s], where `occupancy` is that of any kernel of the set:
 * [states * states]. */
nadir_status nadir_pull_columns(nadir_context *context, const nadir_problem *problem,
                                nadir_occupancy *occupancy, double *pulls);

/* At least |d_P(t) - d(t)| of every kernel of the set: [states]. */
void nadir_occupancy_range_width(const nadir_problem *problem, const nadir_occupancy_range *range,
                                 double *width);

#endif

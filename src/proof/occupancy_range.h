/*
 * occupancy_range.h: bounds low <= d_P <= high on the occupancies of a policy over all kernels of the set;
 * every set and norm, domains simplex and support.
 *
 * A row changes the mean of x by at most |Delta_sa|_p sigma_sa(x), sigma_sa the generalised standard
 * deviation of x over the allowed successors of the row. The rows of a state together change it by at most
 * |Delta_s / alpha|_p response(s, x), where
 *
 *     response(s, x) = |alpha_sa pi(a|s) sigma_sa(x)|_q over a
 *                      (set sa: sum_a pi alpha beta_sa sigma_sa, the radius included).
 *
 * With d_P(t) - d(t) = gamma sum_s d_P(s) Delta^pi_s . D e_t, d_P <= high and sum d_P = T = 1 / (1 - gamma):
 *
 *     |d_P(t) - d(t)| <= gamma max over 0 <= y <= high, sum y <= T, of
 *                        beta |y_s response(s, De_t)|_q           (non-rectangular), or
 *                        sum_s beta_s y_s response(s, De_t)       (rectangular),
 *
 * which is a fractional knapsack, since y_s^q <= y_s high_s^(q-1). Every pass lowers `high`, and may be the
 * last.
 */
#ifndef NADIR_PROOF_OCCUPANCY_RANGE_H
#define NADIR_PROOF_OCCUPANCY_RANGE_H

#include "sets/uncertainty.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_occupancy_range {
    double *low, *high; /* [states] */
    double total;       /* at least T */
} nadir_occupancy_range;

/* Forms D: O(states) solves and states * states numbers. */
nadir_status nadir_occupancy_range_make(nadir_context *context, const nadir_problem *problem,
                                        nadir_occupancy_range *range);
void nadir_occupancy_range_clear(nadir_context *context, nadir_occupancy_range *range);

/* At least |d_P(t) - d(t)| of every kernel of the set: [states]. */
void nadir_occupancy_range_width(const nadir_problem *problem, const nadir_occupancy_range *range,
                                 double *width);

/* response(s, x) for every s, rounded up, where x is known to `error`. work: [3 * states]; response:
 * [states]. */
nadir_status nadir_row_response(nadir_context *context, const nadir_problem *problem, const double *x,
                                double error, double *work, double *response);

/* At least beta |weight_s response_s|_q, or sum_s beta_s weight_s response_s: the most that kernels of the
 * set change a sum with these weights. work: [states] */
double nadir_row_response_total(const nadir_problem *problem, const double *weight, const double *response,
                                double *work);

/* response(s, D e_t) of all columns at [t * states + s], where `occupancy` is that of any kernel of the set;
 * responses: [states * states]. */
nadir_status nadir_row_response_columns(nadir_context *context, const nadir_problem *problem,
                                        nadir_occupancy *occupancy, double *responses);

#endif

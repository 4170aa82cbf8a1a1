/*
 * mixture_bound.h: what no stationary policy exceeds under each of several kernels at once.
 *
 * For any weights w >= 0 that sum to one, the least of the returns J_k is at most sum_k w_k J_k. With x_k(s, a) =
 * d_k(s) pi(a|s), the discounted number of times that the policy takes (s, a) under kernel k, J_k = sum x_k r_k. For any costs c,
 * and any bounds low_k <= d_k <= high_k that hold for all policies,
 *
 *     sum_k w_k J_k  =  sum_k sum x_k (w_k r_k - c_k)  +  sum_s sum_a pi(a|s) sum_k d_k(s) c_k(s, a)
 *                   <=  sum_k V*_k(w_k r_k - c_k)      +  sum_s max_a sum_k max(low_k(s) c_k(s, a), high_k(s) c_k(s, a)),
 *
 * V*_k(r) being the optimum of kernel k with the rewards r. The costs tie the policies of the kernels together: with c = 0
 * each kernel has a policy of its own.
 */
#ifndef NADIR_PROOF_MIXTURE_BOUND_H
#define NADIR_PROOF_MIXTURE_BOUND_H

#include "model/model.h"

typedef struct nadir_mixture {
    int64_t count, states, rows;
    nadir_model *const *models; /* [count] the kernels, with a discount below 1 */
    const double **rewards;     /* [count] rewards of rows */
    double *low, *high;         /* [count * states] occupancies under any policy */
    double *slack;              /* [count] of sum x_k r_k: rounding of rewards of transitions */
} nadir_mixture;

/* Finds low and high, by 2 count states optima. The models must outlive it. */
nadir_status nadir_mixture_make(nadir_context *context, int64_t count, nadir_model *const *models,
                                nadir_mixture *mixture);
void nadir_mixture_clear(nadir_context *context, nadir_mixture *mixture);

/* *upper: the bound for these weights, [count], not negative and summing to one up to rounding, and costs, [count * rows];
 * rounding included. visits: [count * rows] x_k of the optimal policies, or NULL; best: [states] rows of the maxima, or NULL. */
nadir_status nadir_mixture_bound(nadir_context *context, const nadir_mixture *mixture, const double *weights,
                                 const double *costs, double *upper, double *visits, int64_t *best);

#endif

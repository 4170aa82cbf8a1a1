/*
 * nominal_optimum.h: the best that any policy can do on a kernel with P >= 0:
 *
 *     V* = T V*,    (Tv)(s) = max_a q(s, a).
 *
 * Policy iteration in Newton's form: with pi greedy for v,
 *
 *     v <- v + D^pi (Tv - v)
 *
 * is the value of pi when the solve is exact (direct backends) and close enough when it is not (krylov: each
 * correction needs a few digits only, since the next one starts from there). What Tv - v
 * has in common in all states is solved by hand, D^pi 1 = 1 / (1 - gamma).
 *
 * Any v proves (MacQueen), with low = min_s (Tv - v)(s), high = max_s (Tv - v)(s) and rows summing to rho,
 *
 *     Tv + gamma rho low / (1 - gamma rho)  <=  V^pi  <=  V*  <=  Tv + gamma rho high / (1 - gamma rho)
 *
 * in every state, and the iteration ends when both sides meet. What is lost to rounding is added to high and
 * taken from low.
 */
#ifndef NADIR_SOLVE_NOMINAL_OPTIMUM_H
#define NADIR_SOLVE_NOMINAL_OPTIMUM_H

#include "solve/occupancy.h"

/*
 * As nadir_optimum, for any kernel and discount. start: [states] about what V* will be, or NULL. value:
 * [states] V* to within the bounds, or NULL; it may be start. A kernel with a negative entry is
 * NADIR_ERROR_ARGUMENT: it is no decision process, and its T no monotone operator.
 *
 * base: the operator of a near kernel and policy, through whose solves this goes, so that nothing is factored;
 * NULL: none is near. known: [rows] at least q of each row at `start`, up to its rounding: rows that cannot be
 * the best are skipped; NULL: nothing is known.
 */
nadir_status nadir_optimum_warm_started(nadir_context *context, const nadir_kernel *kernel, double gamma,
                                        const nadir_optimum_settings *settings, nadir_occupancy *base,
                                        const double *start, const double *known, double *value,
                                        nadir_policy **policy, nadir_optimum_result *result);

/* The same without a discount, gamma = 1 (proper_optimum.c). */
nadir_status nadir_proper_optimum(nadir_context *context, const nadir_kernel *kernel,
                                  const nadir_optimum_settings *settings, double *value,
                                  nadir_policy **policy, nadir_optimum_result *result);

/* *upper falls to a bound on the largest probability mu . V* to reach a goal under the kernel, over all policies, if v: [states], the
 * value of the policy of `occupancy`, shows one (probability_bound.c). */
nadir_status nadir_probability_bound(nadir_context *context, const nadir_kernel *kernel,
                                     nadir_occupancy *occupancy, const double *v, double *upper);

/* As nadir_optimum; *occupancy: the operator of the policy, owned by the caller from then on, where a direct
 * backend has made it anyway; NULL otherwise. */
nadir_status nadir_optimum_with_operator(nadir_context *context, nadir_model *model,
                                         const nadir_optimum_settings *settings, nadir_policy **policy,
                                         nadir_optimum_result *result, nadir_occupancy **occupancy);

#endif

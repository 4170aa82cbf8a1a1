/*
 * rectangular_free.h: s- and sa-rectangular balls on the free domain: one solve and a scalar equation.
 *
 *     b^pi(s) = sum_a pi alpha_sa beta_sa (sa),  beta_s W_s (s);    v_b = D b^pi
 *     x = sigma_q(v_U) is the root of sigma_q(v - gamma x v_b) = x;    J_U = J - gamma x (d . b^pi)
 *
 * the fixed point of the robust Bellman operator T v = R^pi + gamma Phat^pi v - gamma b^pi sigma_q(v). It is
 * what the kernel Phat - b k^T attains, b(s, a) = alpha_sa beta_sa (sa) or of the shape of rank_one_states.h with c =
 * beta_s (s), k = u_q(v_U).
 */
#ifndef NADIR_SEARCH_RECTANGULAR_FREE_H
#define NADIR_SEARCH_RECTANGULAR_FREE_H

#include "adversary/search/rank_one_candidate.h"

/* All radii of the set times factors[i], i < count. NADIR_ERROR_ILL_POSED when gamma sigma_q(v_b) >= 1, with
 * the largest factor that has an answer. attacks: [count] of zeros; filled with kernel, J, k, v (the fixed
 * point), lambda and the rest but c, which stays NULL: b has other shapes than that of rank_one_states.h. */
nadir_status nadir_rectangular_free_solve(nadir_context *context, const nadir_problem *problem, int64_t count,
                                          const double *factors, nadir_attack *attacks);

#endif

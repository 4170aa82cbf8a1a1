/*
 * kappa_cholesky.h: the number kappa that decides whether a stationary kernel is the worst one, proven by a
 * Cholesky factorisation.
 *
 * For all kernels P within the bounds on occupancies, with delta = P - P* in the norm of the displacement and
 * Delta, d, n, w as in kkt.h and displacement.h,
 *
 *     sum over t of |d_P(t) / d(t) - 1| <Delta_t, delta_t>  <=  kappa |delta|^2,
 *
 * so that J_P >= J* - error + 2 tau (1/2 - kappa) |delta|^2: kappa <= 1/2 proves J_U >= J* - error. See
 * kappa_cholesky.c for the quadratic form.
 */
#ifndef NADIR_PROOF_KAPPA_CHOLESKY_H
#define NADIR_PROOF_KAPPA_CHOLESKY_H

#include "proof/kappa_matrix.h"

/* For theta: kappa is bounded by the norm of G alone (`shared`, all states visited). */
#define NADIR_KAPPA_BY_NORM (-1.0)

/* Proves kappa <= k by one Cholesky factorisation, rounding included: the matrix of kappa_cholesky.c is
 * positive definite for these numbers. theta and theta_unvisited are 0 exactly where matrix->spread_norm and
 * unvisited_norm are. Where it holds for a smaller k than before, matrix->proven becomes k. */
bool nadir_kappa_cholesky_holds(const nadir_context *context, nadir_kappa_matrix *matrix, double k,
                                double theta, double theta_unvisited);

#endif

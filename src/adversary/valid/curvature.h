/*
 * curvature.h: the number kappa that decides whether a stationary kernel is the worst one.
 *
 * On all kernels within the visits, with delta = P - P* in the norm of a pull and Delta, d, n, w as in
 * standing.h,
 *
 *     sum over t of |d_P(t) / d(t) - 1| <Delta_t, delta_t>  <=  kappa |delta|^2,
 *
 * so that J_P >= J* - error + 2 tau (1/2 - kappa) |delta|^2: kappa <= 1/2 proves that nothing is worse than
 * J* - error. See curvature.c for the quadratic form.
 */
#ifndef NADIR_ADVERSARY_CURVATURE_H
#define NADIR_ADVERSARY_CURVATURE_H

#include "adversary/proof/kkt.h"

/* *kappa: proven, rounding included: at most 1/2 if that can be; if `sharp`, as small as can be proven, to a
 * percent. inverse: as the pull was made with. shared: all rows allow all states and inverse is NULL; another
 * kappa, which makes use of the one sum that all occupancies have. */
nadir_status nadir_kappa_cholesky_find(nadir_context *context, const nadir_kkt *standing,
                                       const nadir_occupancy_bounds *visits, const nadir_pull *pull,
                                       const double *inverse, bool shared, bool sharp, double *kappa);

#endif

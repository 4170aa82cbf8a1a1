/*
 * rectangular_check.h: a lower bound on the return of every kernel of an s- or sa-rectangular ball on the
 * domains simplex and support (and of the non-rectangular ball of p = infinity), from any v. With
 *
 *     (Tv)(s) = R^pi(s) + gamma min over the rows of s, within ball and domain, of sum_a pi(a|s) P_sa . v,
 *
 * a contraction, J_U >= mu . v - max (v - Tv)_+ / (1 - gamma).
 */
#ifndef NADIR_PROOF_RECTANGULAR_CHECK_H
#define NADIR_PROOF_RECTANGULAR_CHECK_H

#include "sets/uncertainty.h"

/* v: [states]; all radii times `factor`. Every minimum is replaced by a lower bound on it by weak duality, so
 * that no solution of a row problem is trusted. */
nadir_status nadir_rectangular_check(nadir_context *context, const nadir_problem *problem, double factor,
                                     const double *v, double *lower);

#endif

/*
 * norm.h: p-norms of distributed vectors, p in [1, infinity], and the vectors where Hölder's inequality is an
 * equality.
 *
 * A process holds `count` of the entries, the first at global place `first`; every process makes the same
 * call. Sizes from the smallest to the largest double are safe; a norm beyond the largest is infinity. An
 * exponent below 1 or an entry that is not finite is NADIR_ERROR_ARGUMENT.
 */
#ifndef NADIR_LINALG_NORM_H
#define NADIR_LINALG_NORM_H

#include "core/context.h"
#include "linalg/formulas.h"

/* The q with 1/p + 1/q = 1: infinity at 1, 2 at 2, 1 at infinity, NaN where p is not in [1, infinity]. */
double nadir_holder_conjugate(double p);

/* |x|_p. x[count] */
nadir_status nadir_norm_p(nadir_context *context, int64_t count, const double *x, double p, double *norm);

/* |x|_p of a short vector that this process holds alone, such as the actions of a state; p >= 1 and finite
 * entries. x[count] */
double nadir_norm_short(int64_t count, const double *x, double p);

/* norm = |x|_q and u with |u|_p = 1, u . x = |x|_q: u = sign(x) (|x| / |x|_q)^(q - 1); signs at q = 1, where
 * a zero stays zero; at q = infinity all weight on one largest entry, the lowest place among equals. Zero
 * vectors give u = 0, norm 0. x[count]; u[count], which may be x. */
nadir_status nadir_norm_dual(nadir_context *context, int64_t first, int64_t count, const double *x, double q,
                             double *u, double *norm);

#endif

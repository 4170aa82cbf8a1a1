/*
 * gstd.h: the generalised standard deviation of a distributed vector x of S entries, q in [1, infinity]:
 *
 *     sigma_q(x) = min over omega of |x - omega 1|_q = max of u . x over zero-sum u with |u|_p = 1
 *
 * with 1/p + 1/q = 1. A process holds `count` of the entries, the first at global place `first`; every
 * process makes the same call.
 */
#ifndef NADIR_LINALG_GSTD_H
#define NADIR_LINALG_GSTD_H

#include "core/context.h"

typedef struct nadir_gstd {
    double sigma; /* infinity where it is beyond the largest double */
    double omega; /* the minimiser; q = 1 and even S: the middle of the interval of minimisers */
} nadir_gstd;

/*
 * sigma_q(x), omega_q(x) and, unless u is NULL, the direction u_q(x): zero-sum, |u|_p = 1, u . x =
 * sigma_q(x).
 *
 *     q = 1         1 and -1 above and below the median, equally many of each; as many entries that equal the
 *                   median as that takes, those at the lowest places, the others 0; sums to zero exactly
 *     q = infinity  1/2 at a largest entry and -1/2 at a smallest, the lowest places among equals
 *     otherwise     sign(x - omega) |x - omega|^(q - 1) / sigma^(q - 1), corrected to sum to zero
 *
 * Equal entries, and S = 1: sigma = 0, u = 0, omega the entry. Entries of any size are safe. sigma has a
 * relative error of a few roundings, also where the entries differ little from each other; omega an error of
 * a few roundings of the largest entry. u is the direction of a vector within a few roundings of the range of
 * x: that makes it q roundings for large q, and for q near 1 leaves the entries next to omega open.
 *
 * NADIR_ERROR_ARGUMENT when q is below 1 or an entry is not finite. x[count]; work[count] when q < 2, unused
 * otherwise, it may be u; u[count], not x, NULL on every process or on none.
 */
nadir_status nadir_gstd_compute(nadir_context *context, int64_t first, int64_t count, const double *x,
                                double q, double *work, double *u, nadir_gstd *gstd);

#endif

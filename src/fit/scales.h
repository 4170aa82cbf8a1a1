/*
 * scales.h: how much each row may move: the row scales alpha of a ball.
 *
 * A ball of radius beta(alpha), a quantile of (sum of (|dP_sa|_p / alpha_sa)^p)^(1/p), costs a policy about
 * gamma beta(alpha) |alpha x|_q at first order, x_sa = d(s) pi(a|s) sigma_sa(v) the return lost for each unit
 * that the row moves. With dev_sa^p = E|dP_sa|_p^p the mean of beta^p is the sum of (dev/alpha)^p, and by
 * Hölder |dev/alpha|_p |alpha x|_q >= sum of dev x, with equality where (dev/alpha)^p ~ (alpha x)^q, that is
 *
 *     alpha = dev^(1/q) x^(-1/p)          (p = 2: the fourth root of the variance over the root of x).
 *
 * "deviation" takes x = 1, "occupancy" d(s) pi(a|s), "sensitivity" all of it; "ones" is alpha = 1.
 */
#ifndef NADIR_FIT_SCALES_H
#define NADIR_FIT_SCALES_H

#include "fit/evidence.h"

/* The order in which they are tried. */
typedef enum nadir_scales_choice {
    NADIR_SCALES_ONES,
    NADIR_SCALES_DEVIATION,
    NADIR_SCALES_OCCUPANCY,
    NADIR_SCALES_SENSITIVITY,
    NADIR_SCALES_COUNT
} nadir_scales_choice;

/* dev of every row: [rows]; 0 where the row is known. Exact for norm 2; for others that of normal entries of
 * the same variances: it decides how good a ball is, not whether it holds. */
void nadir_scales_deviation(const nadir_evidence *evidence, double norm, double *deviation);

/* alpha: [rows], of mean 1 over the rows that are not known, 0 for the others. x: [rows], 0 or more; NULL: 1
 * everywhere. */
void nadir_scales_make(const nadir_evidence *evidence, double norm, const double *deviation, const double *x,
                       double *alpha);

/* x of every row, [rows], under the policy of a solver: its occupancy d(s) pi(a|s), times, if `spread`,
 * sigma_q of the value over the successors that were seen. */
nadir_status nadir_scales_exposure(nadir_context *context, const nadir_evidence *evidence,
                                   nadir_solver *solver, const nadir_policy *policy, double norm, bool spread,
                                   double *x);

#endif

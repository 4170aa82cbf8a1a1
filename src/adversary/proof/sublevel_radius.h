/*
 * sublevel_radius.h: how far kernels can be from the answer to the Lagrangian bound, if their return is below a level.
 *
 * Row problems of the bound are strongly convex: with X and v of it (any numbers will do), every P of the set
 *
 *     J_P + tau beta^2 >= mu . v - sum_s d_P(s) f_s + tau sum_s d_P(s) / high(s) |P_s - X_s|^2,
 *     f_s = v(s) - [R^pi(s) + gamma sum_a pi X_sa . v + tau / high(s) |X_s - Phat_s|^2] + e_s,
 *
 * e_s = sum_a [h . X - min h], h = gamma pi v + 2 tau / high(s) (X - Phat) / alpha^2, norms over 1 / alpha.
 * So J_P < level has sum_s d_P(s) / high(s) |P_s - X_s|^2 <= (level + tau beta^2 - mu . v + max d_P . f) /
 * tau.
 */
#ifndef NADIR_PROOF_SUBLEVEL_RADIUS_H
#define NADIR_PROOF_SUBLEVEL_RADIUS_H

#include "adversary/proof/occupancy_bounds.h"

/* *radius: at least the root of that; negative: no kernel within the visits is below the level. p = 2, tau >
 * 0; v: [states]. */
nadir_status nadir_sublevel_radius(nadir_context *context, const nadir_expansion_point *point,
                                   const nadir_occupancy_bounds *bounds, double beta, double tau,
                                   const double *v, double level, double *radius);

#endif

/*
 * displacement.h: the displacement Delta = P* - Phat of a candidate, state by state, as other kernels feel
 * it.
 *
 * In J_P - J* (kkt.h) it occurs in <Delta_s, delta_s> alone, delta_s with rows that sum to zero: only the
 * part of each row that is centred counts. With weights omega >= 1 on the entries, |delta|^2 = sum omega
 * (delta / alpha)^2, that is n_s |delta_s| at most with
 *
 *     n_s^2 = sum over rows and entries of (Delta / alpha - c)^2 / omega, c = mean of the row for 1 / omega.
 */
#ifndef NADIR_PROOF_DISPLACEMENT_H
#define NADIR_PROOF_DISPLACEMENT_H

#include "proof/kkt.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_displacement {
    double *n;         /* [states] at least n_s */
    double *w;         /* [states] at least n_s / d(s); of unvisited states kkt->w_unvisited */
    double *direction; /* [entries] (Delta / alpha - c) / omega / n_s */
    bool norms_alone;  /* in: directions are not needed and stay NULL */
} nadir_displacement;

/* inverse: [entries] 1 / omega; NULL for all one. Computed anew in place. */
nadir_status nadir_displacement_make(nadir_context *context, const nadir_kkt *kkt, const double *inverse,
                                     nadir_displacement *displacement);
void nadir_displacement_clear(nadir_context *context, nadir_displacement *displacement);

/* At least |delta|, in the norm with weights, of every kernel P within the bounds on occupancies that has J_P
 * < J* - error: 2 |(max |rho_s - 1| n_s)_s|, rho_s = d_P(s) / d(s). */
double nadir_displacement_radius(const nadir_context *context, const nadir_kkt *kkt,
                                 const nadir_displacement *displacement,
                                 const nadir_occupancy_bounds *bounds);

#endif

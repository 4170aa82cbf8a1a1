/*
 * radii_by_draws.h: the radii that hold the asked share of random kernels: those of non-rectangular balls with several
 * choices of row scales, of one s-rectangular and of one sa-rectangular set, from the same kernels.
 *
 * A non-rectangular radius is a quantile of (sum over rows of (|P_sa - m_sa|_p / alpha_sa)^p)^(1/p). Of a
 * rectangular set every row (state) first gets the quantile that the union bound would ask for, as far as
 * there are draws enough to tell; then all of them are multiplied by the quantile of the largest ratio of a
 * distance to its radius, so that they hold together, no more and no less.
 */
#ifndef NADIR_FIT_RADII_BY_DRAWS_H
#define NADIR_FIT_RADII_BY_DRAWS_H

#include "fit/radii.h"

enum { NADIR_DRAW_RADII_CANDIDATES = 4 };

/* A radius may miss the quantile, for want of draws, with this probability. */
#define NADIR_DRAW_RADII_RISK 1e-3

typedef struct nadir_draw_radii {
    double confidence;
    int candidates;
    const double *scales[NADIR_DRAW_RADII_CANDIDATES]; /* [rows] alpha of each candidate; 0: pinned */
    const double *state_scales;                        /* [rows] alpha inside the s-rectangular set */
    double radii[NADIR_DRAW_RADII_CANDIDATES];         /* out: of the non-rectangular balls */
    double *state_radii;                               /* [states] out; NULL: not wanted */
    double *row_radii;                                 /* [rows] out; NULL: not wanted */
} nadir_draw_radii;

/* NADIR_ERROR_ARGUMENT: too few draws for this confidence. The same bits with any number of threads. */
nadir_status nadir_draw_radii_compute(nadir_context *context, const nadir_posterior_draws *draws,
                                      nadir_draw_radii *tally);

#endif

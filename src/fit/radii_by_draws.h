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

#include "fit/posterior_draws.h"

enum { NADIR_TALLY_MOST = 4 };

/* A radius may miss the quantile, for want of draws, with this probability. */
#define NADIR_TALLY_RISK 1e-3

typedef struct nadir_tally {
    double confidence;
    int candidates;
    const double *scales[NADIR_TALLY_MOST]; /* [rows] alpha of each candidate; 0: pinned */
    const double *state_scales;             /* [rows] alpha inside the s-rectangular set */
    double radii[NADIR_TALLY_MOST];         /* out: of the non-rectangular balls */
    double *state_radii;                    /* [states] out; NULL: not wanted */
    double *row_radii;                      /* [rows] out; NULL: not wanted */
} nadir_tally;

/* NADIR_ERROR_ARGUMENT: too few draws for this confidence. The same bits with any number of threads. */
nadir_status nadir_tally_find(nadir_context *context, const nadir_draws *draws, nadir_tally *tally);

#endif

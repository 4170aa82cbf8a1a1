/*
 * kappa_path_search.h: the witness of a proof for one of many radii (proof/kappa_path.h): vectors y that
 * majorize b + A y.
 */
#ifndef NADIR_SEARCH_KAPPA_PATH_SEARCH_H
#define NADIR_SEARCH_KAPPA_PATH_SEARCH_H

#include "proof/kappa_path.h"

/* y: [states] so that |d_P(t) - d(t)| <= y_t |P - P*| + what columns are off by, for all kernels P of the
 * largest ball and occupancies d of a P* there with |P*_s - Phat_s| <= change_s, norms over 1 / alpha.
 * *found: false if there is none, or it is not found. */
nadir_status nadir_kappa_path_slopes(nadir_context *context, const nadir_kappa_path *kappa_path,
                                     const double *change, double *y, bool *found);

/* As nadir_valid_prove, for an attack of tau > 0 at a radius up to the largest; proves much less: lower may
 * be -infinity. */
nadir_status nadir_kappa_path_search(nadir_context *context, const nadir_kappa_path *kappa_path, double beta,
                                     const nadir_candidate *candidate, nadir_certificate *proof);

#endif

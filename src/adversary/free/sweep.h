/*
 * sweep.h: the worst kernels of many L_2 balls on the free domain, found and proven by coefficients.
 *
 * All of them are combinations of the few vectors that one subspace (subspace.h) ends up with, so that
 * nothing but their smallest entries takes work on every state for every radius.
 */
#ifndef NADIR_ADVERSARY_SWEEP_H
#define NADIR_ADVERSARY_SWEEP_H

#include "adversary/search/penalty_bounds.h"
#include "adversary/search/spectral.h"

/* How many vectors the subspace may have. */
enum { NADIR_SWEEP_SIZE = 16 };

/* A radius: what the search knows. */
typedef struct nadir_sweep_point {
    double beta;
    bool done;
    nadir_spectral_subspace_point at; /* on the subspace as it is in the end */
    int64_t rounds;                   /* until it was done */
} nadir_sweep_point;

/* Grows the subspace, which is not idle and of dimension 0, until the penalties of all points are known to
 * the tolerance, or it gets too large: some are not done then. images: [NADIR_SWEEP_SIZE + 1] of NULL <-
 * [states] each, the caller's to release: about D^T v_hat and D^T z_j, as far as they were made; NULL: not
 * wanted. */
nadir_status nadir_sweep_search(const nadir_spectral *run, int64_t count, nadir_sweep_point *points,
                                double **images);

/* Whether to try: enough radii, one process, and no kernels to be factored. */
bool nadir_sweep_pays(const nadir_context *context, const nadir_problem *problem,
                      const nadir_robust_settings *settings, int64_t count);

typedef struct nadir_sweep_result {
    int64_t settled; /* how many have a verdict */
    double found;    /* the clock between search and proof */
} nadir_sweep_result;

/* The verdicts of those radii that can be settled so, with bounds as good as `settings` ask; others stay as
 * they are, of zeros: their method is NULL. radii, verdicts: [count], below breakdown. */
nadir_status nadir_sweep_evaluate(nadir_context *context, const nadir_problem *problem,
                                  const nadir_robust_settings *settings, double breakdown_low, int64_t count,
                                  const double *radii, nadir_verdict *verdicts, nadir_sweep_result *result);

#endif

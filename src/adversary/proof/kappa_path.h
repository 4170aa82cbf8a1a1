/*
 * kappa_path.h: proofs for many radii of one problem that share all that is expensive, p = 2.
 *
 * What a change of a row can do to an occupancy is known from the columns of the nominal D, whatever kernel
 * it is a change of: see kappa_path.c. They serve all radii up to the largest one, for which occupancies are
 * bounded.
 */
#ifndef NADIR_PROOF_KAPPA_PATH_H
#define NADIR_PROOF_KAPPA_PATH_H

#include "adversary/proof/certificate.h"
#include "adversary/proof/occupancy_bounds.h"

typedef struct nadir_kappa_path nadir_kappa_path;

/* beta: the largest radius. */
nadir_status nadir_kappa_path_create(nadir_context *context, const nadir_problem *problem, double beta,
                                     nadir_kappa_path **kappa_path);
void nadir_kappa_path_free(nadir_context *context, nadir_kappa_path *kappa_path);

/* As nadir_valid_prove, for an attack of tau > 0 at a radius up to the largest; proves much less: lower may
 * be -infinity. */
nadir_status nadir_kappa_path_prove(nadir_context *context, nadir_kappa_path *kappa_path, double beta,
                                    const nadir_attack *attack, nadir_certificate *proof);

/* y: [states] so that |d_P(t) - d(t)| <= y_t |P - P*| + what columns are off by, for all kernels P of the
 * largest ball and occupancies d of a P* there with |P*_s - Phat_s| <= change_s, norms over 1 / alpha.
 * *found: false if there is none. */
nadir_status nadir_kappa_path_slopes(nadir_context *context, const nadir_kappa_path *kappa_path,
                                     const double *change, double *y, bool *found);

/* Of all kernels of the largest ball. */
const nadir_occupancy_bounds *nadir_kappa_path_bounds(const nadir_kappa_path *kappa_path);

#endif

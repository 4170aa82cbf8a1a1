/*
 * series.h: proofs for many radii of one problem that share all that is expensive, p = 2.
 *
 * What a change of a row can do to an occupancy is known from the columns of the nominal D, whatever kernel
 * it is a change of: see series.c. They serve all radii up to the largest one, for which occupancies are
 * bounded.
 */
#ifndef NADIR_ADVERSARY_SERIES_H
#define NADIR_ADVERSARY_SERIES_H

#include "adversary/valid/proof.h"

typedef struct nadir_series nadir_series;

/* beta: the largest radius. */
nadir_status nadir_series_create(nadir_context *context, const nadir_problem *problem, double beta,
                                 nadir_series **series);
void nadir_series_free(nadir_context *context, nadir_series *series);

/* As nadir_valid_prove, for an attack of tau > 0 at a radius up to the largest; proves much less: lower may
 * be -infinity. */
nadir_status nadir_series_prove(nadir_context *context, nadir_series *series, double beta,
                                const nadir_attack *attack, nadir_valid_proof *proof);

/* y: [states] so that |d_P(t) - d(t)| <= y_t |P - P*| + what columns are off by, for all kernels P of the
 * largest ball and occupancies d of a P* there with |P*_s - Phat_s| <= change_s, norms over 1 / alpha.
 * *found: false if there is none. */
nadir_status nadir_series_slopes(nadir_context *context, const nadir_series *series, const double *change,
                                 double *y, bool *found);

/* Of all kernels of the largest ball. */
const nadir_visits *nadir_series_visits(const nadir_series *series);

#endif

/*
 * kappa_path_search.c: y >= b + A y by y <- 1.01 (b + A y), from y = b; see kappa_path_search.h.
 */
#include "search/second_order_search.h"

#include <math.h>
#include <string.h>

#define ABOVE 1.01 /* how far above its fixed point y is looked for */

enum { STEPS = 40 }; /* towards y, at most */

/* change, b, y: [states]; work: [2 * states]. */
static bool majorize(const nadir_context *context, const nadir_kappa_path *kappa_path, const double *change,
                     const double *b, double *y, double *work)
{
    const int64_t n = kappa_path->perturbable.states;
    bool found = false;
    memcpy(y, b, (size_t)n * sizeof *y);
    for (int step = 0; step < STEPS && !found; step++) {
        found = nadir_kappa_path_majorizes(context, kappa_path, change, b, y, work);
        for (int64_t t = 0; t < n && !found; t++) {
            y[t] = ABOVE * work[n + t];
        }
    }
    return found;
}

nadir_status nadir_kappa_path_slopes(nadir_context *context, const nadir_kappa_path *kappa_path,
                                     const double *change, double *y, bool *found)
{
    nadir_status status = NADIR_OK;
    double *work = NULL;
    NADIR_NEW(context, work, 2 * kappa_path->perturbable.states);
    *found = majorize(context, kappa_path, change, kappa_path->slope, y, work);
cleanup:
    nadir_release(context, work);
    return status;
}

nadir_status nadir_kappa_path_search(nadir_context *context, const nadir_kappa_path *kappa_path, double beta,
                                     const nadir_candidate *candidate, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    const int64_t n = kappa_path->perturbable.states;
    nadir_stationary_point star = {0};
    double *work = NULL;
    NADIR_CHECK(nadir_certificate_make(context, n, proof));
    memcpy(proof->d_bar, kappa_path->bounds.high, (size_t)n * sizeof *proof->d_bar);
    NADIR_NEW(context, work, 4 * n);
    NADIR_CHECK(nadir_stationary_point_make(context, kappa_path->problem, &kappa_path->perturbable, candidate,
                                            NADIR_OCCUPANCY_NEAR, &star));
    NADIR_CHECK(nadir_stationary_point_kkt(context, &kappa_path->bounds, beta, candidate->tau, &star));
    double *y = work + 2 * n;
    double *y_off = work + 3 * n;
    const double *change = star.displacement.n;
    if (majorize(context, kappa_path, change, kappa_path->slope, y, work) &&
        majorize(context, kappa_path, change, kappa_path->off, y_off, work)) {
        NADIR_CHECK(nadir_kappa_path_prove(context, kappa_path, beta, &star, y, y_off, proof));
    }
cleanup:
    nadir_stationary_point_clear(context, &star);
    nadir_release(context, work);
    if (status != NADIR_OK) {
        nadir_certificate_clear(context, proof);
    }
    return status;
}

/*
 * kappa_path.c: proofs for many radii from the columns of one kernel; see kappa_path.h.
 *
 * For the columns De_t of the nominal D, any P of the set and P* = Phat + Delta,
 *
 *     d_P(t) - d(t) = gamma sum_s [d_P(s) sum_a pi delta_sa + (d_P - d)(s) sum_a pi Delta_sa] . De_t,
 *
 * delta = P - P*, d the occupancy of P*. With k(s, t) of the rows (sensitivity.h) and the slope g_t of a pass
 * over occupancies (occupancy_bounds.h), |d_P - d| =: e obeys
 *
 *     e <= |delta| g + A e,     A_ts = gamma k(s, t) |Delta_s|,
 *
 * and so e <= |delta| y for every y >= g + A y, y > 0 (at the largest e / y). Hence kappa <= |(y_t w_t)_t| as
 * in derivation.c. delta may lead out of zeros of P* into any direction: rows that allow all states count as
 * positive everywhere. The error of the columns, for both kernels, grows by A likewise and is subtracted.
 */
#include "proof/second_order.h"

#include "core/round.h"
#include "linalg/threads.h"
#include "proof/kkt.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

void nadir_kappa_path_free(nadir_context *context, nadir_kappa_path *kappa_path)
{
    if (kappa_path == NULL) {
        return;
    }
    nadir_perturbable_rows_clear(context, &kappa_path->perturbable);
    nadir_occupancy_bounds_clear(context, &kappa_path->bounds);
    nadir_release(context, kappa_path->root);
    nadir_release(context, kappa_path->slope);
    nadir_release(context, kappa_path->off);
    nadir_release(context, kappa_path);
}

/* k^2 for both signs around the nominal kernel. */
static nadir_status fill_table(nadir_context *context, const nadir_kappa_path *kappa_path,
                               const nadir_expansion_point *point, double *table)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *perturbable = &kappa_path->perturbable;
    nadir_sensitivity sensitivity = {0};
    if (perturbable->columns == NULL) {
        nadir_sensitivity_coarse(perturbable, perturbable->states, point->D, table);
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_sensitivity_make(context, perturbable, point->X, &sensitivity));
    NADIR_CHECK(nadir_sensitivity_tables(context, &sensitivity, perturbable->states, point->D, table, NULL));
cleanup:
    nadir_sensitivity_clear(context, &sensitivity);
    return status;
}

static nadir_status fill(nadir_context *context, nadir_kappa_path *kappa_path)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = kappa_path->problem;
    const int64_t n = problem->states;
    nadir_expansion_point point = {0};
    double moved;
    int64_t passes;
    NADIR_CHECK(nadir_perturbable_rows_make(context, problem, &kappa_path->perturbable));
    NADIR_CHECK(nadir_occupancy_bounds_make(context, problem, &kappa_path->bounds));
    NADIR_CHECK(nadir_occupancy_bounds_pass(context, problem, &kappa_path->perturbable, kappa_path->beta,
                                            NADIR_OCCUPANCY_PASSES, NADIR_OCCUPANCY_SETTLED,
                                            &kappa_path->bounds, &passes));
    NADIR_CHECK(nadir_expansion_point_make(context, problem, &kappa_path->perturbable, NULL, NULL, &point));
    NADIR_CHECK(nadir_expansion_point_columns(context, &point));
    NADIR_NEW(context, kappa_path->root, n * n);
    NADIR_NEW(context, kappa_path->slope, n);
    NADIR_NEW(context, kappa_path->off, n);
    NADIR_CHECK(fill_table(context, kappa_path, &point, kappa_path->root));
    NADIR_CHECK(nadir_occupancy_bounds_narrow(context, &kappa_path->bounds, &point, kappa_path->root, NULL,
                                              NULL, kappa_path->beta, kappa_path->slope, &moved));
    for (int64_t i = 0; i < n * n; i++) {
        /* a square root and a product */
        kappa_path->root[i] = nadir_round_up(problem->gamma * sqrt(kappa_path->root[i]), 4);
    }
    for (int64_t t = 0; t < n; t++) {
        kappa_path->off[t] = 2 * point.off[t];
    }
cleanup:
    nadir_expansion_point_clear(context, &point);
    return status;
}

nadir_status nadir_kappa_path_create(nadir_context *context, const nadir_problem *problem, double beta,
                                     nadir_kappa_path **kappa_path)
{
    nadir_status status = NADIR_OK;
    nadir_kappa_path *made = NULL;
    NADIR_NEW_ZERO(context, made, 1);
    made->problem = problem;
    made->beta = beta;
    NADIR_CHECK(fill(context, made));
    *kappa_path = made;
    made = NULL;
cleanup:
    nadir_kappa_path_free(context, made);
    return status;
}

bool nadir_kappa_path_majorizes(const nadir_context *context, const nadir_kappa_path *kappa_path,
                                const double *change, const double *b, const double *y, double *work)
{
    const int64_t n = kappa_path->perturbable.states;
    double *moved = work;
    double *next = work + n;
    bool below = true;
    for (int64_t s = 0; s < n; s++) {
        moved[s] = change[s] * y[s];
    }
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n));
    cblas_dgemv(CblasColMajor, CblasTrans, (blasint)n, (blasint)n, 1, kappa_path->root, (blasint)n, moved, 1,
                0, next, 1);
    nadir_blas_restore(before);
    for (int64_t t = 0; t < n; t++) { /* a sum over n states, and b */
        next[t] = nadir_round_up(b[t] + next[t], 2 * (double)(n + 16));
        below = below && next[t] <= y[t];
    }
    return below;
}

/* |(y_t w_t)_t|, rounded up. */
static double weigh(const nadir_stationary_point *star, const double *y)
{
    double sum = 0;
    for (int64_t t = 0; t < star->kkt.perturbable->states; t++) {
        const double part = y[t] * star->displacement.w[t];
        sum += part * part;
    }
    /* a norm over all states */
    return nadir_round_up(sqrt(sum), NADIR_PROOF_ROUNDINGS);
}

nadir_status nadir_kappa_path_prove(nadir_context *context, const nadir_kappa_path *kappa_path, double beta,
                                    const nadir_stationary_point *star, const double *y, const double *y_off,
                                    nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    const double *change = star->displacement.n;
    double *work = NULL;
    NADIR_NEW(context, work, 2 * kappa_path->perturbable.states);
    const double kappa = weigh(star, y);
    if (!(kappa <= 0.5) ||
        !nadir_kappa_path_majorizes(context, kappa_path, change, kappa_path->slope, y, work) ||
        !nadir_kappa_path_majorizes(context, kappa_path, change, kappa_path->off, y_off, work)) {
        goto cleanup;
    }
    /* the error of the columns: 2 tau sum y_off w |delta|, |delta| <= 2 beta */
    const double drift = nadir_round_up(4 * star->kkt.tau * beta * weigh(star, y_off), NADIR_PROOF_ROUNDINGS);
    /* the differences are rounded down */
    const double level =
        nadir_round_below(star->kkt.J - star->kkt.error - drift, fabs(star->kkt.J) + drift, 2);
    proof->kappa = kappa;
    nadir_certificate_offer(proof, level, NADIR_PROOF_RIGOROUS, "second-order");
cleanup:
    nadir_release(context, work);
    return status;
}

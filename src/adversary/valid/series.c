/*
 * series.c: proofs for many radii from the columns of one kernel; see series.h.
 *
 * For the columns De_t of the nominal D, any P of the set and P* = Phat + Delta,
 *
 *     d_P(t) - d(t) = gamma sum_s [d_P(s) sum_a pi delta_sa + (d_P - d)(s) sum_a pi Delta_sa] . De_t,
 *
 * delta = P - P*, d the occupancy of P*. With k(s, t) of the rows (sensitivity.h) and the slope g_t of a pass
 * over occupancies (visits.h), |d_P - d| =: e obeys
 *
 *     e <= |delta| g + A e,     A_ts = gamma k(s, t) |Delta_s|,
 *
 * and so e <= |delta| y for every y >= g + A y, y > 0 (look where e / y is largest). Hence kappa <= |(y_t
 * w_t)_t| as in second_order.c. delta may lead out of zeros of P* into any direction: rows that allow all
 * states count as positive everywhere. What the columns are off by, for both kernels, grows by A likewise and
 * is paid for.
 */
#include "adversary/search/kappa_path_search.h"

#include "adversary/proof/kkt.h"
#include "linalg/threads.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT      (DBL_EPSILON / 2)
#define UNVISITED 1e-12 /* a share of all visits below which a state counts as not visited */
#define ABOVE     1.01  /* how far above its fixed point y is looked for */

enum { STEPS = 40 }; /* towards y, at most */

struct nadir_kappa_path {
    const nadir_problem *problem;
    double beta;
    nadir_perturbable_rows live;
    nadir_occupancy_bounds visits;
    double *root;  /* [states * states] at least gamma k(s, t), t after t */
    double *slope; /* [states] g */
    double *off;   /* [states] what columns are off by, twice */
};

void nadir_kappa_path_free(nadir_context *context, nadir_kappa_path *series)
{
    if (series == NULL) {
        return;
    }
    nadir_perturbable_rows_clear(context, &series->live);
    nadir_occupancy_bounds_clear(context, &series->visits);
    nadir_release(context, series->root);
    nadir_release(context, series->slope);
    nadir_release(context, series->off);
    nadir_release(context, series);
}

/* k^2 for both signs around the nominal kernel. */
static nadir_status fill_table(nadir_context *context, const nadir_kappa_path *series,
                               const nadir_expansion_point *centre, double *table)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *live = &series->live;
    nadir_sensitivity sensitivity = {0};
    if (live->columns == NULL) {
        nadir_sensitivity_coarse(live, live->states, centre->D, table);
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_sensitivity_make(context, live, centre->X, &sensitivity));
    NADIR_CHECK(nadir_sensitivity_tables(context, &sensitivity, live->states, centre->D, table, NULL));
cleanup:
    nadir_sensitivity_clear(context, &sensitivity);
    return status;
}

static nadir_status fill(nadir_context *context, nadir_kappa_path *series)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = series->problem;
    const int64_t n = problem->states;
    nadir_expansion_point centre = {0};
    double moved;
    NADIR_CHECK(nadir_perturbable_rows_make(context, problem, &series->live));
    NADIR_CHECK(nadir_occupancy_bounds_make(context, problem, &series->visits));
    NADIR_CHECK(nadir_occupancy_bounds_bound(context, problem, &series->live, series->beta, &series->visits));
    NADIR_CHECK(nadir_expansion_point_make(context, problem, &series->live, NULL, NULL, &centre));
    NADIR_CHECK(nadir_expansion_point_columns(context, &centre));
    NADIR_NEW(context, series->root, n * n);
    NADIR_NEW(context, series->slope, n);
    NADIR_NEW(context, series->off, n);
    NADIR_CHECK(fill_table(context, series, &centre, series->root));
    NADIR_CHECK(nadir_occupancy_bounds_narrow(context, &series->visits, &centre, series->root, NULL, NULL,
                                              series->beta, series->slope, &moved));
    for (int64_t i = 0; i < n * n; i++) {
        series->root[i] = problem->gamma * sqrt(series->root[i]) * (1 + 4 * UNIT);
    }
    for (int64_t t = 0; t < n; t++) {
        series->off[t] = 2 * centre.off[t];
    }
cleanup:
    nadir_expansion_point_clear(context, &centre);
    return status;
}

nadir_status nadir_kappa_path_create(nadir_context *context, const nadir_problem *problem, double beta,
                                     nadir_kappa_path **series)
{
    nadir_status status = NADIR_OK;
    nadir_kappa_path *made = NULL;
    NADIR_NEW_ZERO(context, made, 1);
    made->problem = problem;
    made->beta = beta;
    NADIR_CHECK(fill(context, made));
    *series = made;
    made = NULL;
cleanup:
    nadir_kappa_path_free(context, made);
    return status;
}

const nadir_occupancy_bounds *nadir_kappa_path_visits(const nadir_kappa_path *series)
{
    return &series->visits;
}

/* next = b + A y; whether it is nowhere above y. moved: [states] work space. */
static bool apply(const nadir_kappa_path *series, const double *change, const double *b, const double *y,
                  double *moved, double *next)
{
    const int64_t n = series->live.states;
    bool below = true;
    for (int64_t s = 0; s < n; s++) {
        moved[s] = change[s] * y[s];
    }
    cblas_dgemv(CblasColMajor, CblasTrans, (blasint)n, (blasint)n, 1, series->root, (blasint)n, moved, 1, 0,
                next, 1);
    for (int64_t t = 0; t < n; t++) {
        next[t] = (b[t] + next[t]) * (1 + 2 * UNIT * (double)(n + 16));
        below = below && next[t] <= y[t];
    }
    return below;
}

/* y >= b + A y; false: there is none, or it is not found. change: [states] |Delta_s|; y: [states]; work:
 * [2 * states]. */
static bool majorise(const nadir_context *context, const nadir_kappa_path *series, const double *change,
                     const double *b, double *y, double *work)
{
    const int64_t n = series->live.states;
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n));
    bool found = false;
    memcpy(y, b, (size_t)n * sizeof *y);
    for (int step = 0; step < STEPS && !found; step++) {
        found = apply(series, change, b, y, work, work + n);
        for (int64_t t = 0; t < n && !found; t++) {
            y[t] = ABOVE * work[n + t];
        }
    }
    nadir_blas_restore(before);
    return found;
}

nadir_status nadir_kappa_path_slopes(nadir_context *context, const nadir_kappa_path *series,
                                     const double *change, double *y, bool *found)
{
    nadir_status status = NADIR_OK;
    double *work = NULL;
    NADIR_NEW(context, work, 2 * series->live.states);
    *found = majorise(context, series, change, series->slope, y, work);
cleanup:
    nadir_release(context, work);
    return status;
}

/* How P* stands, with its own occupancy but without columns. */
typedef struct star {
    nadir_expansion_point centre;
    nadir_sensitivity sensitivity;
    nadir_kkt standing;
    nadir_pull pull;
    bool *unvisited; /* [states] */
} star;

static void clear_star(nadir_context *context, star *at)
{
    nadir_sensitivity_clear(context, &at->sensitivity);
    nadir_kkt_clear(context, &at->standing);
    nadir_displacement_clear(context, &at->pull);
    nadir_expansion_point_clear(context, &at->centre);
    nadir_release(context, at->unvisited);
}

static nadir_status make_star(nadir_context *context, const nadir_kappa_path *series, double beta,
                              const nadir_attack *attack, star *at)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *live = &series->live;
    NADIR_NEW(context, at->unvisited, live->states);
    for (int64_t s = 0; s < live->states; s++) {
        at->unvisited[s] = !(attack->d[s] > UNVISITED * series->visits.total);
    }
    NADIR_CHECK(
        nadir_expansion_point_make_near(context, series->problem, live, attack, at->unvisited, &at->centre));
    NADIR_CHECK(nadir_expansion_point_occupancy(context, &at->centre));
    NADIR_CHECK(nadir_sensitivity_make(context, live, at->centre.X, &at->sensitivity));
    NADIR_CHECK(nadir_kkt_make(context, &at->centre, &at->sensitivity, &series->visits, beta, attack->tau,
                               at->unvisited, &at->standing));
    NADIR_CHECK(nadir_displacement_make(context, &at->standing, NULL, &at->pull));
cleanup:
    return status;
}

/* |(y_t w_t)_t|, rounded up. */
static double weigh(const star *at, const double *y)
{
    double sum = 0;
    for (int64_t t = 0; t < at->standing.live->states; t++) {
        const double part = y[t] * at->pull.w[t];
        sum += part * part;
    }
    return sqrt(sum) * (1 + 1e-12);
}

nadir_status nadir_kappa_path_search(nadir_context *context, nadir_kappa_path *series, double beta,
                                     const nadir_attack *attack, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    const int64_t n = series->live.states;
    star at = {0};
    double *y = NULL;
    bool found;
    *proof = (nadir_certificate){.lower = -INFINITY, .bound = "none", .kappa = NAN};
    NADIR_NEW(context, proof->d_bar, n);
    memcpy(proof->d_bar, series->visits.high, (size_t)n * sizeof *proof->d_bar);
    NADIR_NEW(context, y, 3 * n);
    NADIR_CHECK(make_star(context, series, beta, attack, &at));
    NADIR_CHECK(nadir_kappa_path_slopes(context, series, at.pull.n, y, &found));
    const double kappa = found ? weigh(&at, y) : INFINITY;
    if (kappa > 0.5 || !majorise(context, series, at.pull.n, series->off, y, y + n)) {
        goto cleanup;
    }
    const double drift = 4 * attack->tau * beta * weigh(&at, y) * (1 + 1e-12);
    const double level =
        at.standing.J - at.standing.error - drift - DBL_EPSILON * (fabs(at.standing.J) + drift);
    proof->kappa = kappa;
    nadir_certificate_offer(proof, level, NADIR_PROOF_RIGOROUS, "second-order");
cleanup:
    clear_star(context, &at);
    nadir_release(context, y);
    if (status != NADIR_OK) {
        nadir_certificate_clear(context, proof);
    }
    return status;
}

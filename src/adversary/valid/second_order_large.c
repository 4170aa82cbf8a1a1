/*
 * second_order_large.c: the proof of second_order.h where columns of D cannot be had.
 *
 * Occupancies are bounded by the mass that can be moved (nadir_occupancy_bounds_limit), and kappa(y) is the norm of
 *
 *     (K_y delta)_t = w_t gamma sum_i y alpha_i pi_i delta_i . De_t,     delta_i centred in row i, y = high,
 *
 * whose square is the largest eigenvalue of W D^T B D W, B z = sum_i (gamma y alpha pi)^2 (z centred in row
 * i): two solves a product, which may be rough, since kappa need not be known well.
 *
 * Those bounds are far too wide, but kappa makes its own: e = d_P - d has w e = K_y delta for y = d_P. Let y
 * = d + c / w with c = radius k, and kappa(y) < k. If some P had a = max w |e| > c, then d_P <= d + a / w <=
 * (a / c) y, so that a <= |K delta| <= (a / c) kappa(y) radius < a: there is none, every d_P is at most y,
 * and kappa is at most k. Norm and bound need the same w: it is raised where it is small.
 *
 * Lanczos bounds kappa but for an unlucky start: a proof by it is `numerical`. What the radius alone proves
 * (nadir_displacement_radius) is rigorous.
 */
#include "adversary/search/second_order_search.h"

#include "adversary/proof/kkt.h"
#include "adversary/rows/lmo_device.h"
#include "linalg/distributed.h"
#include "linalg/lanczos.h"
#include "linalg/prefetch.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LIMITS = 20, PRODUCTS = 40 };
#define ROUGH     2e-2 /* relative error of the solves in a product */
#define SAFETY    1.02 /* kappa above what Lanczos says, for that */
#define TOLERANCE 0.1  /* of kappa^2, where it is of use */
#define HOPELESS  1.0  /* kappa above this proves nothing that the radius alone does not */
#define CLOSED    0.45 /* k above */
#define LEAST_W   4    /* w is raised to this many times its mean, where that is not above the largest */

typedef struct large {
    const nadir_problem *problem;
    const nadir_perturbable_rows *live;
    double beta;
    nadir_occupancy_bounds visits;
    nadir_expansion_point star;
    nadir_kkt standing;
    nadir_pull pull;
    double radius;
    double *spread; /* [states] and ghosts; several processes */
    nadir_lmo_device remote;
    nadir_vec place; /* of the vectors of products */
    const double *y; /* [states] that rows of K are weighted by */
    const double *w; /* [states] */
    double *work;    /* [2 * states] */
} large;

static void clear(nadir_context *context, large *of)
{
    nadir_occupancy_bounds_clear(context, &of->visits);
    nadir_kkt_clear(context, &of->standing);
    nadir_displacement_clear(context, &of->pull);
    nadir_expansion_point_clear(context, &of->star);
    nadir_release(context, of->spread);
    nadir_lmo_device_close(&of->remote);
}

static nadir_status start(nadir_context *context, const nadir_occupancy_bounds *visits,
                          const nadir_attack *attack, large *of)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->live->states;
    nadir_sensitivity at_star = {0};
    bool *unvisited = NULL;
    NADIR_NEW(context, unvisited, n);
    NADIR_NEW(context, of->spread, of->live->exchange != NULL ? nadir_model_width(of->problem->model) : 0);
    NADIR_CHECK(nadir_occupancy_bounds_copy(context, visits, &of->visits));
    NADIR_CHECK(nadir_expansion_point_unvisited(context, of->problem, attack->kernel, attack->d, unvisited));
    NADIR_CHECK(
        nadir_expansion_point_make(context, of->problem, of->live, attack->kernel, unvisited, &of->star));
    NADIR_CHECK(nadir_expansion_point_occupancy(context, &of->star));
    nadir_expansion_point_shift(&of->star);
    NADIR_CHECK(nadir_sensitivity_make(context, of->live, of->star.X, &at_star));
    NADIR_CHECK(nadir_kkt_make_brief(context, &of->star, &at_star, visits, of->beta, attack->tau, unvisited,
                                     &of->standing, &of->pull));
    of->radius = 2 * of->beta * (1 + 1e-12);
    const nadir_uncertainty *set = of->problem->uncertainty;
    const nadir_lmo rows = {
        .model = of->problem->model, .scales = set->scales, .domain = set->domain, .p = set->p, .q = set->q};
    if (of->problem->model->dense == NULL && set->domain == NADIR_DOMAIN_SUPPORT) {
        NADIR_CHECK(nadir_lmo_device_open(context, &rows, NADIR_DEVICE_ALL_ROWS, of->problem->gamma,
                                          of->problem->policy->probabilities, &of->remote));
    }
cleanup:
    nadir_sensitivity_clear(context, &at_star);
    nadir_release(context, unvisited);
    return status;
}

/* Radius and visits in turn. */
static void tighten(const nadir_context *context, large *of)
{
    for (int i = 0; i < LIMITS && !of->visits.empty; i++) {
        const double before = of->radius;
        nadir_occupancy_bounds_limit_around(context, &of->star, of->radius, &of->visits);
        of->radius =
            fmin(of->radius, nadir_displacement_radius(context, &of->standing, &of->pull, &of->visits));
        if (of->radius > 0.99 * before) {
            break;
        }
    }
}

/* sums <- B z, both: [states] and ghosts. */
static void add_rows(const large *of, const double *z, double *sums)
{
    const nadir_perturbable_rows *live = of->live;
    const int64_t ahead = nadir_prefetch_entries(live->states, live->columns != NULL ? live->entries : 0);
    memset(sums, 0, (size_t)nadir_model_width(of->problem->model) * sizeof *sums);
    for (int64_t s = 0; s < live->states; s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            const double q =
                of->problem->gamma * of->y[s] * nadir_perturbable_rows_alpha(live, i) * live->pi[i];
            const int64_t length = nadir_perturbable_rows_length(live, i);
            double mean = 0;
            if (live->columns != NULL) {
                nadir_prefetch(z, live->columns, live->starts[i], live->starts[i + 1], ahead);
                nadir_prefetch(sums, live->columns, live->starts[i], live->starts[i + 1], ahead);
            }
            for (int64_t j = 0; j < length; j++) {
                mean += z[nadir_perturbable_rows_column(live, i, j)];
            }
            mean /= (double)length;
            for (int64_t j = 0; j < length; j++) {
                const int64_t t = nadir_perturbable_rows_column(live, i, j);
                sums[t] += q * q * (z[t] - mean);
            }
        }
    }
}

/* y = B z, z and y: [states]; what rows bring to states of other processes goes home. */
static nadir_status apply_rows(nadir_context *context, const large *of, const double *z, double *y)
{
    const nadir_exchange *exchange = of->live->exchange;
    if (of->remote.step != NULL) {
        return nadir_lmo_device_centred(context, &of->remote, of->y, z, y);
    }
    if (exchange == NULL) {
        add_rows(of, z, y);
        return NADIR_OK;
    }
    const int64_t n = of->live->states;
    add_rows(of, nadir_exchange_extend(exchange, z), of->spread);
    memcpy(y, of->spread, (size_t)n * sizeof *y);
    exchange->table->add(exchange->table->self, exchange->plan, of->spread + n, y);
    return NADIR_OK;
}

/* y = W D^T B D W x. */
static nadir_status apply(nadir_context *context, void *user, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const large *of = user;
    nadir_occupancy *occupancy = of->star.problem.occupancy;
    const int64_t n = of->live->states;
    double *z = of->work;
    double *r = of->work + n;
    NADIR_CHECK(nadir_vec_multiply(&of->place, n, of->w, x, r));
    NADIR_CHECK(nadir_occupancy_solve_vec(&of->place, occupancy, false, r, ROUGH, z));
    NADIR_CHECK(apply_rows(context, of, z, r));
    NADIR_CHECK(nadir_occupancy_solve_vec(&of->place, occupancy, true, r, ROUGH, y));
    NADIR_CHECK(nadir_vec_multiply(&of->place, n, of->w, y, y));
cleanup:
    return status;
}

/* The largest eigenvalue, with all vectors in of->place. */
static nadir_status search(nadir_context *context, large *of, const double *y, const double *w, double enough,
                           nadir_largest *square)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->live->states;
    const bool there = of->place.device != NULL;
    const int64_t numbers = (there ? 4 : 2) * n;
    nadir_random random = context->random;
    double *room = NULL;
    NADIR_CHECK(nadir_vec_allocate(&of->place, numbers, &room));
    of->work = room;
    of->y = y;
    of->w = w;
    if (there) {
        NADIR_CHECK(nadir_vec_copy(&of->place, n, y, room + 2 * n));
        NADIR_CHECK(nadir_vec_copy(&of->place, n, w, room + 3 * n));
        of->y = room + 2 * n;
        of->w = room + 3 * n;
    }
    NADIR_CHECK(nadir_lanczos_largest(&of->place, n, apply, of, &random, enough, HOPELESS * HOPELESS,
                                      TOLERANCE, PRODUCTS, square));
cleanup:
    nadir_vec_release(&of->place, numbers, room);
    return status;
}

/* At least the norm of K, but for an unlucky start; at most `enough` is not told apart from it. Infinity: too
 * large to be of use. */
static nadir_status bound_norm(nadir_context *context, large *of, const double *y, const double *w,
                               double enough, double *kappa)
{
    nadir_status status = NADIR_OK;
    const double share = enough / SAFETY;
    nadir_largest square;
    of->place = of->remote.step != NULL ? nadir_occupancy_vec(context, of->star.problem.occupancy)
                                        : nadir_vec_host(context);
    status = search(context, of, y, w, share * share, &square);
    if (status == NADIR_ERROR_MEMORY && of->place.device != NULL) {
        of->place = nadir_vec_host(context);
        status = search(context, of, y, w, share * share, &square);
    }
    NADIR_CHECK(status);
    *kappa = square.value > HOPELESS * HOPELESS ? INFINITY : sqrt(square.upper) * SAFETY;
cleanup:
    return status;
}

/* kappa by the bounds that it makes itself; at most CLOSED: that is a proof, and `high` are those bounds. */
static nadir_status close_on_itself(nadir_context *context, large *of, double *kappa)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->live->states;
    const double mean =
        nadir_global_sum(context, n, of->pull.w) / (double)nadir_model_total(of->problem->model);
    const double least = fmin(LEAST_W * mean, nadir_global_largest(context, n, of->pull.w));
    double *y = NULL;
    double *w = NULL;
    NADIR_NEW(context, y, n);
    NADIR_NEW(context, w, n);
    for (int64_t t = 0; t < n; t++) {
        w[t] = fmax(of->pull.w[t], least);
        y[t] = fmin(of->visits.high[t], of->star.d[t] + of->star.off[t] + of->radius * CLOSED / w[t]);
    }
    NADIR_CHECK(bound_norm(context, of, y, w, CLOSED * (1 - 1e-9), kappa));
    if (*kappa < CLOSED) {
        memcpy(of->visits.high, y, (size_t)n * sizeof *y);
    }
cleanup:
    nadir_release(context, y);
    nadir_release(context, w);
    return status;
}

nadir_status nadir_second_order_prove_large(nadir_context *context, const nadir_problem *problem,
                                            const nadir_perturbable_rows *live,
                                            const nadir_occupancy_bounds *visits, double beta,
                                            const nadir_attack *attack, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    large of = {.problem = problem, .live = live, .beta = beta};
    double kappa;
    NADIR_CHECK(start(context, visits, attack, &of));
    tighten(context, &of);
    const double level = of.standing.J - of.standing.error - DBL_EPSILON * fabs(of.standing.J);
    const double far = nadir_displacement_radius(context, &of.standing, &of.pull, &of.visits);
    const double loss = of.visits.empty ? 0 : of.standing.tau * far * far / 4 * (1 + 1e-12);
    nadir_certificate_offer(proof, level - loss, NADIR_PROOF_RIGOROUS, "second-order");
    if (of.visits.empty || !(level - loss < level)) {
        goto cleanup;
    }
    NADIR_CHECK(close_on_itself(context, &of, &kappa));
    if (kappa >= CLOSED && isfinite(kappa)) {
        NADIR_CHECK(bound_norm(context, &of, of.visits.high, of.pull.w, 0.5, &kappa));
    }
    if (isfinite(kappa)) {
        const double lost = kappa <= 0.5 ? 0 : 2 * of.standing.tau * (kappa - 0.5) * of.radius * of.radius;
        proof->kappa = kappa;
        nadir_certificate_offer(proof, level - lost, NADIR_PROOF_NUMERICAL, "second-order");
    }
cleanup:
    clear(context, &of);
    return status;
}

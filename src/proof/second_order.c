/*
 * second_order.c: proofs that a stationary kernel is the worst one (docs/theory.md, "Kernels that are
 * kernels"), by Lanczos iterations, and for many radii; see second_order.h and kkt.h. First where columns of D
 * are too many to compute.
 *
 * Occupancies are bounded by the mass that can be moved (nadir_occupancy_bounds_limit), and kappa(y) is the
 * norm of
 *
 *     (K_y delta)_t = w_t gamma sum_i y alpha_i pi_i delta_i . De_t,     delta_i centred in row i, y = high,
 *
 * whose square is the largest eigenvalue of W D^T B D W, B z = sum_i (gamma y alpha pi)^2 (z centred in row
 * i): two solves a product, with low accuracy, since kappa need not be known well.
 *
 * Those bounds are far too wide, but kappa gives better ones: e = d_P - d has w e = K_y delta for y = d_P.
 * Let y = d + c / w with c = radius k, and kappa(y) < k. If some P had a = max w |e| > c, then d_P <= d + a /
 * w <= (a / c) y, so that a <= |K delta| <= (a / c) kappa(y) radius < a, a contradiction. So every d_P is at
 * most y, and kappa is at most k. Norm and bound need the same w: it is raised where it is small.
 *
 * Where all rows allow all states, that is too wide: any number of rows may lead to one state. There d_P - d = gamma D^T m
 * with m = sum_s d_P(s) sum_a pi delta, whose entries sum to zero and whose norm is at most K |delta|, K = |h d_P|,
 * h_s^2 = sum_a (alpha pi)^2. So K <= |h d| + radius gamma |Phi D h| K, Phi x = x - mean(x), which bounds K, and
 * kappa <= gamma |Phi D w| K. Both norms are of the operator above: B = |gamma h y|^2 Phi.
 *
 * Lanczos iterations bound kappa unless the start is unlucky: a proof by them is `numerical`. What the radius
 * alone proves (nadir_displacement_radius) is rigorous.
 */
#include "proof/second_order.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/lanczos.h"
#include "linalg/threads.h"
#include "proof/kkt.h"
#include "proof/occupancy_bounds.h"
#include "sets/lmo.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { LIMITS = 20, PRODUCTS = 40 };
#define ROUGH     2e-2 /* relative error of the solves in a product */
#define SAFETY    1.02 /* factor on kappa for that */
#define TOLERANCE 0.1  /* of kappa^2, where it is of use */
#define HOPELESS  1.0  /* kappa above this proves nothing that the radius alone does not */
#define CLOSED    0.45 /* k above */
#define ENOUGH    0.1  /* radius gamma |Phi D h| need not be known better */
#define LEAST_W   4    /* w is raised to at least this many times its mean, or to its largest entry */

typedef struct large {
    const nadir_problem *problem;
    const nadir_perturbable_rows *perturbable;
    double beta;
    nadir_occupancy_bounds bounds;
    nadir_stationary_point star; /* P* */
    double radius;
    double *spread; /* [states] and ghosts; several processes */
    nadir_lmo_device device_rows;
    nadir_vec vectors_on; /* host or device */
    const double *y;      /* [states] that rows of K are weighted by */
    const double *w;      /* [states] */
    double *work;         /* [2 * states] */
} large;

static void clear(nadir_context *context, large *self)
{
    nadir_occupancy_bounds_clear(context, &self->bounds);
    nadir_stationary_point_clear(context, &self->star);
    nadir_release(context, self->spread);
    nadir_lmo_device_close(&self->device_rows);
}

static nadir_status start(nadir_context *context, const nadir_occupancy_bounds *bounds,
                          const nadir_candidate *candidate, double **point, large *self)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(context, self->spread,
              self->perturbable->exchange != NULL ? nadir_model_width(self->problem->model) : 0);
    NADIR_CHECK(nadir_occupancy_bounds_copy(context, bounds, &self->bounds));
    NADIR_CHECK(nadir_stationary_point_make(context, self->problem, self->perturbable, candidate,
                                            NADIR_OCCUPANCY_OWN, &self->star));
    NADIR_CHECK(nadir_stationary_point_kkt(context, bounds, self->beta, candidate->tau, point, &self->star));
    nadir_sensitivity_clear(context, &self->star.sensitivity);
    self->radius = nadir_kkt_diameter(&self->star.kkt);
    const nadir_uncertainty *set = self->problem->uncertainty;
    const nadir_lmo rows = {.model = self->problem->model,
                            .scales = set->scales,
                            .domain = set->domain,
                            .weights = set->weights,
                            .p = set->p,
                            .q = set->q};
    if (self->problem->model->dense == NULL && set->domain == NADIR_DOMAIN_SUPPORT) {
        NADIR_CHECK(nadir_lmo_device_open(context, &rows, NADIR_DEVICE_ALL_ROWS, self->problem->gamma,
                                          self->problem->policy->probabilities, &self->device_rows));
    }
cleanup:
    return status;
}

/* Radius and visits in turn. */
static void tighten(const nadir_context *context, large *self)
{
    for (int i = 0; i < LIMITS && !self->bounds.empty; i++) {
        const double before = self->radius;
        nadir_occupancy_bounds_limit_around(context, &self->star.point, self->radius, &self->bounds);
        self->radius = fmin(self->radius, nadir_displacement_radius(context, &self->star.kkt,
                                                                    &self->star.displacement, &self->bounds));
        if (self->radius > 0.99 * before) {
            break;
        }
    }
}

static bool allows_all(const nadir_perturbable_rows *perturbable)
{
    return perturbable->open || perturbable->columns == NULL;
}

/* y = B z where all rows allow all states: one sum of (gamma y alpha pi)^2 for all. */
static void apply_rows_to_all(const large *self, const double *z, double *y)
{
    const nadir_perturbable_rows *perturbable = self->perturbable;
    double all = 0;
    double mean = 0;
    for (int64_t s = 0; s < perturbable->states; s++) {
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            const double q = self->problem->gamma * self->y[s] *
                             nadir_perturbable_rows_alpha(perturbable, i) * perturbable->pi[i];
            all += q * q;
        }
        mean += z[s];
    }
    mean /= (double)perturbable->states;
    for (int64_t t = 0; t < perturbable->states; t++) {
        y[t] = all * (z[t] - mean);
    }
}

/* sums <- B z, both: [states] and ghosts. */
static void add_rows(const large *self, const double *z, double *sums)
{
    const nadir_perturbable_rows *perturbable = self->perturbable;
    const int64_t ahead =
        nadir_prefetch_entries(perturbable->states, perturbable->columns != NULL ? perturbable->entries : 0);
    memset(sums, 0, (size_t)nadir_model_width(self->problem->model) * sizeof *sums);
    for (int64_t s = 0; s < perturbable->states; s++) {
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            const double q = self->problem->gamma * self->y[s] *
                             nadir_perturbable_rows_alpha(perturbable, i) * perturbable->pi[i];
            const int64_t length = nadir_perturbable_rows_length(perturbable, i);
            double mean = 0;
            double mass = 0;
            if (perturbable->columns != NULL) {
                nadir_prefetch(z, perturbable->columns, perturbable->starts[i], perturbable->starts[i + 1],
                               ahead);
                nadir_prefetch(sums, perturbable->columns, perturbable->starts[i], perturbable->starts[i + 1],
                               ahead);
            }
            for (int64_t j = 0; j < length; j++) {
                const double square = nadir_perturbable_rows_square(perturbable, perturbable->starts[i] + j);
                mean += square * z[nadir_perturbable_rows_column(perturbable, i, j)];
                mass += square;
            }
            mean /= mass;
            for (int64_t j = 0; j < length; j++) {
                const int64_t t = nadir_perturbable_rows_column(perturbable, i, j);
                const double square = nadir_perturbable_rows_square(perturbable, perturbable->starts[i] + j);
                sums[t] += q * q * square * (z[t] - mean);
            }
        }
    }
}

/* y = B z, z and y: [states]; contributions to states of other processes are sent there. */
static nadir_status apply_rows(nadir_context *context, const large *self, const double *z, double *y)
{
    const nadir_exchange *exchange = self->perturbable->exchange;
    if (self->device_rows.step != NULL) {
        return nadir_lmo_device_centred(context, &self->device_rows, self->y, z, y);
    }
    if (allows_all(self->perturbable)) {
        apply_rows_to_all(self, z, y);
        return NADIR_OK;
    }
    if (exchange == NULL) {
        add_rows(self, z, y);
        return NADIR_OK;
    }
    const int64_t n = self->perturbable->states;
    add_rows(self, nadir_exchange_extend(exchange, z), self->spread);
    memcpy(y, self->spread, (size_t)n * sizeof *y);
    exchange->table->add(exchange->table->self, exchange->plan, self->spread + n, y);
    return NADIR_OK;
}

/* y = W D^T B D W x. */
static nadir_status apply(nadir_context *context, void *user, const double *x, double *y)
{
    const large *self = user;
    nadir_occupancy *occupancy = self->star.point.problem.occupancy;
    const int64_t n = self->perturbable->states;
    double *z = self->work;
    double *r = self->work + n;
    NADIR_TRY(nadir_vec_multiply(&self->vectors_on, n, self->w, x, r));
    NADIR_TRY(nadir_occupancy_solve_vec(&self->vectors_on, occupancy, false, r, ROUGH, z));
    NADIR_TRY(apply_rows(context, self, z, r));
    NADIR_TRY(nadir_occupancy_solve_vec(&self->vectors_on, occupancy, true, r, ROUGH, y));
    return nadir_vec_multiply(&self->vectors_on, n, self->w, y, y);
}

/* The largest eigenvalue, with all vectors in self->vectors_on. */
static nadir_status search(nadir_context *context, large *self, const double *y, const double *w,
                           double enough, nadir_largest *square)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->perturbable->states;
    const bool on_device = self->vectors_on.device != NULL;
    const int64_t numbers = (on_device ? 4 : 2) * n;
    nadir_random random = context->random;
    double *room = NULL;
    NADIR_CHECK(nadir_vec_allocate(&self->vectors_on, numbers, &room));
    self->work = room;
    self->y = y;
    self->w = w;
    if (on_device) {
        NADIR_CHECK(nadir_vec_copy(&self->vectors_on, n, y, room + 2 * n));
        NADIR_CHECK(nadir_vec_copy(&self->vectors_on, n, w, room + 3 * n));
        self->y = room + 2 * n;
        self->w = room + 3 * n;
    }
    NADIR_CHECK(nadir_lanczos_largest(&self->vectors_on, n, apply, self, &random, enough, HOPELESS * HOPELESS,
                                      TOLERANCE, PRODUCTS, square));
cleanup:
    nadir_vec_release(&self->vectors_on, numbers, room);
    return status;
}

/* At least the norm of K unless the start is unlucky; the iteration ends once it is below `enough`. Infinity:
 * too large to be of use. */
static nadir_status bound_norm(nadir_context *context, large *self, const double *y, const double *w,
                               double enough, double *kappa)
{
    const double share = enough / SAFETY;
    nadir_largest square;
    self->vectors_on = self->device_rows.step != NULL
                           ? nadir_occupancy_vec(context, self->star.point.problem.occupancy)
                           : nadir_vec_host(context);
    nadir_status status = search(context, self, y, w, share * share, &square);
    if (status == NADIR_ERROR_MEMORY && self->vectors_on.device != NULL) {
        self->vectors_on = nadir_vec_host(context);
        status = search(context, self, y, w, share * share, &square);
    }
    NADIR_TRY(status);
    *kappa = square.value > HOPELESS * HOPELESS ? INFINITY : sqrt(square.upper) * SAFETY;
    return NADIR_OK;
}

/* kappa by the bounds on occupancies that follow from it; below CLOSED it is proven, and `high` are those
 * bounds. */
static nadir_status close_on_itself(nadir_context *context, large *self, double *kappa)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->perturbable->states;
    const double mean = nadir_global_sum(context, n, self->star.displacement.w) /
                        (double)nadir_model_total(self->problem->model);
    const double least = fmin(LEAST_W * mean, nadir_global_largest(context, n, self->star.displacement.w));
    double *y = NULL;
    double *w = NULL;
    NADIR_NEW(context, y, n);
    NADIR_NEW(context, w, n);
    for (int64_t t = 0; t < n; t++) {
        w[t] = fmax(self->star.displacement.w[t], least);
        y[t] = fmin(self->bounds.high[t],
                    self->star.point.d[t] + self->star.point.off[t] + self->radius * CLOSED / w[t]);
    }
    NADIR_CHECK(bound_norm(context, self, y, w, CLOSED * (1 - 1e-9), kappa));
    if (*kappa < CLOSED) {
        memcpy(self->bounds.high, y, (size_t)n * sizeof *y);
    }
cleanup:
    nadir_release(context, y);
    nadir_release(context, w);
    return status;
}

/* kappa where all rows allow all states (at the head of this file). */
static nadir_status close_by_norms(nadir_context *context, large *self, double *kappa)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *perturbable = self->perturbable;
    const int64_t n = perturbable->states;
    double *y = NULL;
    double *h = NULL;
    double sum = 0;
    double share;
    *kappa = INFINITY;
    NADIR_NEW(context, y, n);
    NADIR_NEW(context, h, n);
    for (int64_t s = 0; s < n; s++) {
        double square = 0;
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            const double part = nadir_perturbable_rows_alpha(perturbable, i) * perturbable->pi[i];
            square += part * part;
        }
        h[s] = sqrt(square);
        y[s] = self->star.point.d[s] + self->star.point.off[s];
        sum += h[s] * y[s] * h[s] * y[s];
    }
    const double norm = sqrt(sum);
    if (!(norm > 0)) {
        *kappa = 0;
        goto cleanup;
    }
    for (int64_t s = 0; s < n; s++) {
        y[s] *= self->radius / norm;
    }
    NADIR_CHECK(bound_norm(context, self, y, h, ENOUGH, &share)); /* radius gamma |Phi D* h| */
    if (share < 1) {
        for (int64_t s = 0; s < n; s++) {
            y[s] *= norm / self->radius / (1 - share);
        }
        NADIR_CHECK(bound_norm(context, self, y, self->star.displacement.w, CLOSED, kappa));
    }
cleanup:
    nadir_release(context, y);
    nadir_release(context, h);
    return status;
}

nadir_status nadir_second_order_prove_large(nadir_context *context, const nadir_problem *problem,
                                            const nadir_perturbable_rows *perturbable,
                                            const nadir_occupancy_bounds *bounds, double beta,
                                            const nadir_candidate *candidate, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    large self = {.problem = problem, .perturbable = perturbable, .beta = beta};
    double kappa = INFINITY;
    NADIR_CHECK(start(context, bounds, candidate, &proof->point, &self));
    tighten(context, &self);
    const double level = nadir_stationary_point_level(&self.star);
    const double far =
        nadir_displacement_radius(context, &self.star.kkt, &self.star.displacement, &self.bounds);
    const double loss = self.bounds.empty ? 0 : nadir_kkt_loss_by_radius(&self.star.kkt, far);
    nadir_certificate_offer(proof, level - loss, NADIR_PROOF_RIGOROUS, NADIR_BOUND_SECOND_ORDER);
    if (self.bounds.empty || !(level - loss < level)) {
        goto cleanup;
    }
    if (allows_all(perturbable)) {
        NADIR_CHECK(close_by_norms(context, &self, &kappa));
    }
    if (!(kappa < 0.5)) {
        NADIR_CHECK(close_on_itself(context, &self, &kappa));
        if (kappa >= CLOSED && isfinite(kappa)) {
            NADIR_CHECK(bound_norm(context, &self, self.bounds.high, self.star.displacement.w, 0.5, &kappa));
        }
    }
    if (isfinite(kappa)) {
        const double lost = nadir_kkt_loss_by_kappa(&self.star.kkt, kappa, self.radius);
        proof->kappa = kappa;
        nadir_certificate_offer(proof, level - lost, NADIR_PROOF_NUMERICAL, NADIR_BOUND_SECOND_ORDER);
    }
cleanup:
    clear(context, &self);
    return status;
}

/*
 * Proofs for many radii from the columns of one kernel.
 *
 * For the columns De_t of the nominal D, any P of the set and P* = Phat + Delta,
 *
 *     d_P(t) - d(t) = gamma sum_s [d_P(s) sum_a pi delta_sa + (d_P - d)(s) sum_a pi Delta_sa] . De_t,
 *
 * delta = P - P*, d the occupancy of P*. With k(s, t) of the rows (perturbable_rows.h) and the slope g_t of a
 * pass over occupancies (occupancy_bounds.h), |d_P - d| =: e obeys
 *
 *     e <= |delta| g + A e,     A_ts = gamma k(s, t) |Delta_s|,
 *
 * and so e <= |delta| y for every y >= g + A y, y > 0 (at the largest e / y). Hence kappa <= |(y_t w_t)_t| as
 * in derivation.c. delta may lead out of zeros of P* into any direction: rows that allow all states count as
 * positive everywhere. The error of the columns, for both kernels, grows by A likewise and is subtracted.
 */

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
    NADIR_CHECK(nadir_sensitivity_make(context, perturbable, perturbable->columns != NULL ? point->X : NULL,
                                       &sensitivity));
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
    NADIR_CHECK(
        nadir_expansion_point_make(context, problem, &kappa_path->perturbable, NULL, NULL, NULL, &point));
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
static double norm_of_products(const nadir_stationary_point *star, const double *y)
{
    double sum = 0;
    for (int64_t t = 0; t < star->kkt.perturbable->states; t++) {
        const double part = y[t] * star->displacement.w[t];
        sum += part * part;
    }
    /* a norm over all states */
    return nadir_round_up(sqrt(sum), NADIR_PROOF_ROUNDINGS);
}

nadir_status nadir_kappa_path_prove(nadir_context *context, const nadir_kappa_path *kappa_path,
                                    const nadir_stationary_point *star, const double *y, const double *y_off,
                                    nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    const double *change = star->displacement.n;
    double *work = NULL;
    NADIR_NEW(context, work, 2 * kappa_path->perturbable.states);
    const double kappa = norm_of_products(star, y);
    if (!(kappa <= 0.5) ||
        !nadir_kappa_path_majorizes(context, kappa_path, change, kappa_path->slope, y, work) ||
        !nadir_kappa_path_majorizes(context, kappa_path, change, kappa_path->off, y_off, work)) {
        goto cleanup;
    }
    /* the error of the columns: 2 tau sum y_off w |delta| */
    const double drift =
        nadir_round_up(2 * star->kkt.tau * nadir_kkt_diameter(&star->kkt) * norm_of_products(star, y_off),
                       NADIR_PROOF_ROUNDINGS);
    /* the differences are rounded down */
    const double level =
        nadir_round_below(star->kkt.J - star->kkt.error - drift, fabs(star->kkt.J) + drift, 2);
    proof->kappa = kappa;
    nadir_certificate_offer(proof, level, NADIR_PROOF_RIGOROUS, NADIR_BOUND_SECOND_ORDER);
cleanup:
    nadir_release(context, work);
    return status;
}

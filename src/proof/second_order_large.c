/*
 * second_order_large.c: the proof of second_order.h where columns of D are too many to compute.
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
 * Lanczos iterations bound kappa unless the start is unlucky: a proof by them is `numerical`. What the radius
 * alone proves (nadir_displacement_radius) is rigorous.
 */
#include "proof/second_order.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/lanczos.h"
#include "linalg/threads.h"
#include "proof/kkt.h"
#include "sets/lmo.h"

#include <math.h>
#include <string.h>

enum { LIMITS = 20, PRODUCTS = 40 };
#define ROUGH     2e-2 /* relative error of the solves in a product */
#define SAFETY    1.02 /* factor on kappa for that */
#define TOLERANCE 0.1  /* of kappa^2, where it is of use */
#define HOPELESS  1.0  /* kappa above this proves nothing that the radius alone does not */
#define CLOSED    0.45 /* k above */
#define LEAST_W   4    /* w is raised to at least this many times its mean, or to its largest entry */

typedef struct large {
    const nadir_problem *problem;
    const nadir_perturbable_rows *perturbable;
    double beta;
    nadir_occupancy_bounds bounds;
    nadir_stationary_point star; /* P* */
    double radius;
    double *spread; /* [states] and ghosts; several processes */
    nadir_lmo_device remote;
    nadir_vec place; /* of the vectors of products */
    const double *y; /* [states] that rows of K are weighted by */
    const double *w; /* [states] */
    double *work;    /* [2 * states] */
} large;

static void clear(nadir_context *context, large *self)
{
    nadir_occupancy_bounds_clear(context, &self->bounds);
    nadir_stationary_point_clear(context, &self->star);
    nadir_release(context, self->spread);
    nadir_lmo_device_close(&self->remote);
}

static nadir_status start(nadir_context *context, const nadir_occupancy_bounds *bounds,
                          const nadir_candidate *candidate, large *self)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(context, self->spread,
              self->perturbable->exchange != NULL ? nadir_model_width(self->problem->model) : 0);
    NADIR_CHECK(nadir_occupancy_bounds_copy(context, bounds, &self->bounds));
    NADIR_CHECK(nadir_stationary_point_make(context, self->problem, self->perturbable, candidate,
                                            NADIR_OCCUPANCY_OWN, &self->star));
    nadir_expansion_point_shift(&self->star.point);
    NADIR_CHECK(nadir_kkt_make_brief(context, &self->star.point, &self->star.sensitivity, bounds, self->beta,
                                     candidate->tau, self->star.unvisited, &self->star.kkt,
                                     &self->star.displacement));
    nadir_sensitivity_clear(context, &self->star.sensitivity);
    /* two kernels of the ball, each in it up to rounding */
    self->radius = nadir_round_up(2 * self->beta, NADIR_PROOF_ROUNDINGS);
    const nadir_uncertainty *set = self->problem->uncertainty;
    const nadir_lmo rows = {.model = self->problem->model,
                            .scales = set->scales,
                            .domain = set->domain,
                            .p = set->p,
                            .q = set->q};
    if (self->problem->model->dense == NULL && set->domain == NADIR_DOMAIN_SUPPORT) {
        NADIR_CHECK(nadir_lmo_device_open(context, &rows, NADIR_DEVICE_ALL_ROWS, self->problem->gamma,
                                          self->problem->policy->probabilities, &self->remote));
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
            if (perturbable->columns != NULL) {
                nadir_prefetch(z, perturbable->columns, perturbable->starts[i], perturbable->starts[i + 1],
                               ahead);
                nadir_prefetch(sums, perturbable->columns, perturbable->starts[i], perturbable->starts[i + 1],
                               ahead);
            }
            for (int64_t j = 0; j < length; j++) {
                mean += z[nadir_perturbable_rows_column(perturbable, i, j)];
            }
            mean /= (double)length;
            for (int64_t j = 0; j < length; j++) {
                const int64_t t = nadir_perturbable_rows_column(perturbable, i, j);
                sums[t] += q * q * (z[t] - mean);
            }
        }
    }
}

/* y = B z, z and y: [states]; contributions to states of other processes are sent there. */
static nadir_status apply_rows(nadir_context *context, const large *self, const double *z, double *y)
{
    const nadir_exchange *exchange = self->perturbable->exchange;
    if (self->remote.step != NULL) {
        return nadir_lmo_device_centred(context, &self->remote, self->y, z, y);
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
    nadir_status status = NADIR_OK;
    const large *self = user;
    nadir_occupancy *occupancy = self->star.point.problem.occupancy;
    const int64_t n = self->perturbable->states;
    double *z = self->work;
    double *r = self->work + n;
    NADIR_CHECK(nadir_vec_multiply(&self->place, n, self->w, x, r));
    NADIR_CHECK(nadir_occupancy_solve_vec(&self->place, occupancy, false, r, ROUGH, z));
    NADIR_CHECK(apply_rows(context, self, z, r));
    NADIR_CHECK(nadir_occupancy_solve_vec(&self->place, occupancy, true, r, ROUGH, y));
    NADIR_CHECK(nadir_vec_multiply(&self->place, n, self->w, y, y));
cleanup:
    return status;
}

/* The largest eigenvalue, with all vectors in self->place. */
static nadir_status search(nadir_context *context, large *self, const double *y, const double *w,
                           double enough, nadir_largest *square)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->perturbable->states;
    const bool there = self->place.device != NULL;
    const int64_t numbers = (there ? 4 : 2) * n;
    nadir_random random = context->random;
    double *room = NULL;
    NADIR_CHECK(nadir_vec_allocate(&self->place, numbers, &room));
    self->work = room;
    self->y = y;
    self->w = w;
    if (there) {
        NADIR_CHECK(nadir_vec_copy(&self->place, n, y, room + 2 * n));
        NADIR_CHECK(nadir_vec_copy(&self->place, n, w, room + 3 * n));
        self->y = room + 2 * n;
        self->w = room + 3 * n;
    }
    NADIR_CHECK(nadir_lanczos_largest(&self->place, n, apply, self, &random, enough, HOPELESS * HOPELESS,
                                      TOLERANCE, PRODUCTS, square));
cleanup:
    nadir_vec_release(&self->place, numbers, room);
    return status;
}

/* At least the norm of K unless the start is unlucky; the iteration ends once it is below `enough`. Infinity:
 * too large to be of use. */
static nadir_status bound_norm(nadir_context *context, large *self, const double *y, const double *w,
                               double enough, double *kappa)
{
    nadir_status status = NADIR_OK;
    const double share = enough / SAFETY;
    nadir_largest square;
    self->place = self->remote.step != NULL ? nadir_occupancy_vec(context, self->star.point.problem.occupancy)
                                            : nadir_vec_host(context);
    status = search(context, self, y, w, share * share, &square);
    if (status == NADIR_ERROR_MEMORY && self->place.device != NULL) {
        self->place = nadir_vec_host(context);
        status = search(context, self, y, w, share * share, &square);
    }
    NADIR_CHECK(status);
    *kappa = square.value > HOPELESS * HOPELESS ? INFINITY : sqrt(square.upper) * SAFETY;
cleanup:
    return status;
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

nadir_status nadir_second_order_prove_large(nadir_context *context, const nadir_problem *problem,
                                            const nadir_perturbable_rows *perturbable,
                                            const nadir_occupancy_bounds *bounds, double beta,
                                            const nadir_candidate *candidate, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    large self = {.problem = problem, .perturbable = perturbable, .beta = beta};
    double kappa;
    NADIR_CHECK(start(context, bounds, candidate, &self));
    tighten(context, &self);
    const double level = nadir_stationary_point_level(&self.star);
    const double far =
        nadir_displacement_radius(context, &self.star.kkt, &self.star.displacement, &self.bounds);
    const double loss =
        self.bounds.empty ? 0 : nadir_round_up(self.star.kkt.tau * far * far / 4, NADIR_PROOF_ROUNDINGS);
    nadir_certificate_offer(proof, level - loss, NADIR_PROOF_RIGOROUS, "second-order");
    if (self.bounds.empty || !(level - loss < level)) {
        goto cleanup;
    }
    NADIR_CHECK(close_on_itself(context, &self, &kappa));
    if (kappa >= CLOSED && isfinite(kappa)) {
        NADIR_CHECK(bound_norm(context, &self, self.bounds.high, self.star.displacement.w, 0.5, &kappa));
    }
    if (isfinite(kappa)) {
        const double lost =
            kappa <= 0.5 ? 0 : 2 * self.star.kkt.tau * (kappa - 0.5) * self.radius * self.radius;
        proof->kappa = kappa;
        nadir_certificate_offer(proof, level - lost, NADIR_PROOF_NUMERICAL, "second-order");
    }
cleanup:
    clear(context, &self);
    return status;
}

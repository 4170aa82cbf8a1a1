/*
 * derivation.c: lower bounds inferred step by step (docs/theory.md, "Kernels that are kernels"), their
 * record, and the same steps taken again from a record; see derivation.h.
 */
#include "proof/derivation.h"

#include "core/round.h"
#include "proof/bellman_bound.h"
#include "proof/second_order.h"
#include "sets/lmo_by_state.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { PASSES_AROUND = 3 }; /* around a kernel that is not P* */

void nadir_derivation_clear(nadir_context *context, nadir_derivation *self)
{
    nadir_kappa_matrix_clear(context, &self->matrix);
    nadir_occupancy_bounds_clear(context, &self->below);
    nadir_displacement_clear(context, &self->displacement);
    nadir_stationary_point_clear(context, &self->star);
    nadir_occupancy_bounds_clear(context, &self->set);
    nadir_perturbable_rows_clear(context, &self->perturbable);
    nadir_release(context, self->slope);
    nadir_release(context, self->up);
    nadir_release(context, self->down);
    nadir_release(context, self->inverse_weights);
    nadir_release(context, self->up_weighted);
    nadir_release(context, self->down_weighted);
    *self = (nadir_derivation){0};
}

static nadir_status append(nadir_context *context, nadir_certificate *certificate, int64_t count,
                           const double *numbers)
{
    nadir_status status = NADIR_OK;
    NADIR_RESERVE(context, certificate->steps, certificate->steps_count + count, certificate->steps_capacity);
    if (count > 0) {
        memcpy(certificate->steps + certificate->steps_count, numbers, (size_t)count * sizeof *numbers);
    }
    certificate->steps_count += count;
cleanup:
    return status;
}

/* Appends a step with its first `count` numbers, and a vector of it. */
static nadir_status record(nadir_context *context, nadir_derivation *self, nadir_step step, int64_t count,
                           const double *numbers)
{
    NADIR_TRY(append(context, self->certificate, 1, (double[]){(double)step}));
    return append(context, self->certificate, count, numbers);
}

static nadir_status record_vector(nadir_context *context, nadir_derivation *self, const double *vector)
{
    return append(context, self->certificate, self->problem->states, vector);
}

/* The radius of an L_2 ball that holds the L_p ball: beta for p <= 2, else beta n^(1/2 - 1/p) with n the
 * number of entries that can change. */
static double radius_2(const nadir_problem *problem, double beta)
{
    const double p = problem->uncertainty->p;
    const double n = (double)problem->uncertainty->entries;
    /* a power and two products */
    return p <= 2 ? beta : nadir_round_up(beta * pow(n, 0.5 - 1 / p), NADIR_PROOF_ROUNDINGS);
}

/* d_bar of the certificate: d_P <= high for all kernels of the set. */
static void take_set(nadir_derivation *self)
{
    memcpy(self->certificate->d_bar, self->set.high, (size_t)self->set.states * sizeof *self->set.high);
}

nadir_status nadir_derivation_make(nadir_context *context, const nadir_problem *problem, double beta,
                                   const nadir_candidate *candidate, const nadir_occupancy_bounds *known,
                                   nadir_certificate *certificate, nadir_derivation *self)
{
    nadir_status status = NADIR_OK;
    *self = (nadir_derivation){.problem = problem,
                               .candidate = candidate,
                               .beta = beta,
                               .certificate = certificate,
                               .kappa = INFINITY};
    NADIR_CHECK(nadir_certificate_make(context, problem->states, certificate));
    NADIR_CHECK(known != NULL ? nadir_occupancy_bounds_copy(context, known, &self->set)
                              : nadir_occupancy_bounds_make(context, problem, &self->set));
    nadir_occupancy_bounds_limit(context, problem, radius_2(problem, beta), &self->set);
    take_set(self);
cleanup:
    if (status != NADIR_OK) {
        nadir_derivation_clear(context, self);
        nadir_certificate_clear(context, certificate);
    }
    return status;
}

static nadir_status make_rows(nadir_context *context, nadir_derivation *self)
{
    if (!self->has_rows) {
        NADIR_TRY(nadir_perturbable_rows_make(context, self->problem, &self->perturbable));
        self->has_rows = true;
    }
    return NADIR_OK;
}

nadir_status nadir_derivation_set_passes(nadir_context *context, nadir_derivation *self, int64_t passes,
                                         double settled)
{
    int64_t done;
    NADIR_TRY(make_rows(context, self));
    NADIR_TRY(nadir_occupancy_bounds_pass(context, self->problem, &self->perturbable,
                                          radius_2(self->problem, self->beta), passes, settled, &self->set,
                                          &done));
    take_set(self);
    return record(context, self, NADIR_STEP_SET_PASSES, 1, (double[]){(double)done});
}

/* Offers a Lagrangian bound and keeps its v and tau if it is better than what there is. */
static nadir_status offer_lagrangian(nadir_context *context, nadir_derivation *self, double tau,
                                     const double *v, double lower)
{
    nadir_status status = NADIR_OK;
    nadir_certificate *certificate = self->certificate;
    const int64_t n = self->problem->states;
    if (lower > certificate->lower) {
        if (certificate->v_tau == NULL) {
            NADIR_NEW(context, certificate->v_tau, n);
        }
        memcpy(certificate->v_tau, v, (size_t)n * sizeof *v);
        certificate->tau = tau;
        nadir_certificate_offer(certificate, lower, NADIR_PROOF_RIGOROUS, NADIR_BOUND_LAGRANGIAN);
    }
cleanup:
    return status;
}

nadir_status nadir_derivation_lagrangian(nadir_context *context, nadir_derivation *self, double tau,
                                         const double *v)
{
    double lower;
    NADIR_TRY(
        nadir_lagrangian_bound(context, self->problem, self->beta, self->certificate->d_bar, tau, v, &lower));
    NADIR_TRY(offer_lagrangian(context, self, tau, v, lower));
    NADIR_TRY(record(context, self, NADIR_STEP_LAGRANGIAN, 1, &tau));
    return record_vector(context, self, v);
}

/* v and d of P*, once a step has taken any: in front of that step. */
static nadir_status record_point(nadir_context *context, nadir_derivation *self)
{
    const double *point = self->certificate->point;
    if (point == NULL || self->has_point) {
        return NADIR_OK;
    }
    self->has_point = true;
    NADIR_TRY(record(context, self, NADIR_STEP_POINT, 0, NULL));
    NADIR_TRY(record_vector(context, self, point));
    return record_vector(context, self, point + self->problem->states);
}

/* Those of a record, v: [2 states]. *known: d is an occupancy. */
static nadir_status take_point(nadir_context *context, nadir_derivation *self, const double *v, bool *known)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    for (int64_t i = 0; i < 2 * n; i++) {
        *known = *known && isfinite(v[i]) && (i < n || v[i] >= 0);
    }
    if (*known) {
        NADIR_NEW(context, self->certificate->point, 2 * n);
        memcpy(self->certificate->point, v, (size_t)(2 * n) * sizeof *v);
        NADIR_CHECK(record_point(context, self));
    }
cleanup:
    return status;
}

nadir_status nadir_derivation_by_norms(nadir_context *context, nadir_derivation *self)
{
    NADIR_TRY(make_rows(context, self));
    NADIR_TRY(nadir_kappa_by_norms_prove(context, self->problem, &self->perturbable, &self->set, self->beta,
                                         self->candidate, self->certificate));
    NADIR_TRY(record_point(context, self));
    return record(context, self, NADIR_STEP_BY_NORMS, 0, NULL);
}

nadir_status nadir_derivation_large(nadir_context *context, nadir_derivation *self)
{
    NADIR_TRY(make_rows(context, self));
    NADIR_TRY(nadir_second_order_prove_large(context, self->problem, &self->perturbable, &self->set,
                                             self->beta, self->candidate, self->certificate));
    nadir_perturbable_rows_clear(context, &self->perturbable);
    self->has_rows = false;
    NADIR_TRY(record_point(context, self));
    return record(context, self, NADIR_STEP_LARGE, 0, NULL);
}

nadir_status nadir_derivation_expand(nadir_context *context, nadir_derivation *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    NADIR_CHECK(make_rows(context, self));
    NADIR_NEW(context, self->slope, n);
    NADIR_CHECK(nadir_stationary_point_make(context, self->problem, &self->perturbable, self->candidate,
                                            NADIR_OCCUPANCY_COLUMNS, &self->star));
    NADIR_NEW(context, self->up, n * n);
    NADIR_CHECK(record(context, self, NADIR_STEP_EXPAND, 0, NULL));
cleanup:
    return status;
}

nadir_status nadir_derivation_tabulate(nadir_context *context, nadir_derivation *self, bool coarse)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    nadir_sensitivity all = {0}; /* all entries count as positive */
    if (coarse) {
        NADIR_CHECK(nadir_sensitivity_make(context, &self->perturbable, NULL, &all));
    } else if (!self->star.sensitivity.symmetric && self->down == NULL) {
        NADIR_NEW(context, self->down, n * n);
    }
    NADIR_CHECK(nadir_sensitivity_tables(context, coarse ? &all : &self->star.sensitivity, n,
                                         self->star.point.D, self->up, coarse ? NULL : self->down));
    self->tabulated = true;
    NADIR_CHECK(record(context, self, NADIR_STEP_TABULATE, 1, (double[]){coarse ? 1 : 0}));
cleanup:
    nadir_sensitivity_clear(context, &all);
    return status;
}

nadir_status nadir_derivation_use_weights(nadir_context *context, nadir_derivation *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    NADIR_NEW(context, self->inverse_weights, self->perturbable.entries);
    NADIR_NEW(context, self->up_weighted, n * n);
    if (self->down != NULL) {
        NADIR_NEW(context, self->down_weighted, n * n);
    }
    self->weighted = true;
    self->measured = false;
    NADIR_CHECK(record(context, self, NADIR_STEP_USE_WEIGHTS, 0, NULL));
cleanup:
    return status;
}

nadir_status nadir_derivation_begin(nadir_context *context, nadir_derivation *self)
{
    nadir_kappa_matrix_clear(context, &self->matrix);
    nadir_occupancy_bounds_clear(context, &self->below);
    self->begun = false;
    self->measured = false;
    NADIR_TRY(nadir_occupancy_bounds_copy(context, &self->set, &self->below));
    NADIR_TRY(nadir_stationary_point_kkt(context, &self->set, self->beta, self->candidate->tau,
                                         &self->certificate->point, &self->star));
    self->level = nadir_stationary_point_level(&self->star);
    self->radius = nadir_kkt_diameter(self->beta);
    self->lift = INFINITY;
    self->kappa = INFINITY;
    self->begun = true;
    NADIR_TRY(record_point(context, self));
    return record(context, self, NADIR_STEP_BEGIN, 0, NULL);
}

nadir_status nadir_derivation_measure(nadir_context *context, nadir_derivation *self)
{
    nadir_kappa_matrix_clear(context, &self->matrix); /* it is of other weights */
    if (self->weighted) {
        /* tau Z + slack <= 2 tau H sqrt(Z) <= tau (H^2 + Z), kappa.c */
        const double twice =
            nadir_displacement_radius(context, &self->star.kkt, &self->star.displacement, &self->below);
        self->lift = fmin(self->lift, nadir_round_up(twice * twice / 4, 4));
        nadir_kkt_weigh(&self->star.kkt, &self->below, self->radius, self->lift, self->inverse_weights);
    }
    NADIR_TRY(nadir_displacement_make(context, &self->star.kkt, self->inverse_weights, &self->displacement));
    self->radius_weighted =
        nadir_displacement_radius(context, &self->star.kkt, &self->displacement, &self->below);
    /* the same with weights: Z + slack / tau <= 4 H^2 */
    self->lift = fmin(self->lift, nadir_round_up(self->radius_weighted * self->radius_weighted, 4));
    /* weights are 1 up to rounding, or more */
    self->radius = fmin(self->radius, nadir_round_up(self->radius_weighted, NADIR_PROOF_ROUNDINGS));
    self->measured = true;
    self->fresh = false;
    return record(context, self, NADIR_STEP_MEASURE, 0, NULL);
}

/* k^2 with weights: at most that without them. */
static nadir_status weigh_tables(nadir_context *context, nadir_derivation *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    if (self->down != NULL && self->down_weighted == NULL) { /* tabulated after the weights */
        NADIR_NEW(context, self->down_weighted, n * n);
    }
    NADIR_CHECK(nadir_sensitivity_weighted(context, &self->perturbable, self->inverse_weights, n,
                                           self->star.point.D, self->up_weighted));
    for (int64_t i = 0; i < n * n && self->down != NULL; i++) {
        self->down_weighted[i] = fmin(self->down[i], self->up_weighted[i]);
    }
    for (int64_t i = 0; i < n * n; i++) {
        self->up_weighted[i] = fmin(self->up[i], self->up_weighted[i]);
    }
    self->fresh = true;
cleanup:
    return status;
}

/* |d_P(t) - d(t)| <= slope_t |delta| gives kappa <= |(slope_t w_t)_t|, in the norm of the displacement. */
static void use_slopes(nadir_derivation *self, const nadir_displacement *displacement)
{
    double square = 0;
    for (int64_t t = 0; t < self->problem->states; t++) {
        const double part = self->slope[t] * displacement->w[t];
        square += part * part;
    }
    /* a norm over all states */
    self->kappa = fmin(self->kappa, nadir_round_up(sqrt(square), NADIR_PROOF_ROUNDINGS));
}

nadir_status nadir_derivation_pass(nadir_context *context, nadir_derivation *self)
{
    double moved = 0;
    if (self->weighted && !self->fresh) {
        NADIR_TRY(weigh_tables(context, self));
    }
    NADIR_TRY(nadir_occupancy_bounds_narrow(context, &self->below, &self->star.point, self->up, self->down,
                                            NULL, self->radius, self->slope, &moved));
    self->moved_most = moved;
    use_slopes(self, &self->star.displacement);
    if (self->weighted && self->radius_weighted < 8 * self->beta) {
        NADIR_TRY(nadir_occupancy_bounds_narrow(context, &self->below, &self->star.point, self->up_weighted,
                                                self->down_weighted, NULL, self->radius_weighted, self->slope,
                                                &moved));
        self->moved_most = fmax(self->moved_most, moved);
        use_slopes(self, &self->displacement);
    }
    self->moved = moved;
    return record(context, self, NADIR_STEP_PASS, 0, NULL);
}

nadir_status nadir_derivation_lagrangian_below(nadir_context *context, nadir_derivation *self, double tau,
                                               const double *v)
{
    double lower;
    NADIR_TRY(nadir_lagrangian_bound(context, self->problem, self->beta, self->below.high, tau, v, &lower));
    if (lower >= self->level) { /* none of them exists */
        self->below.empty = true;
    } else {
        NADIR_TRY(offer_lagrangian(context, self, tau, v, lower));
    }
    NADIR_TRY(record(context, self, NADIR_STEP_LAGRANGIAN_BELOW, 1, &tau));
    return record_vector(context, self, v);
}

nadir_status nadir_derivation_pass_around(nadir_context *context, nadir_derivation *self,
                                          const nadir_kernel *kernel, double tau, const double *v,
                                          const double *answered)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    nadir_expansion_point point = {0};
    double *high = NULL;
    double radius;
    int64_t done;
    NADIR_NEW(context, high, n);
    NADIR_CHECK(
        nadir_expansion_point_make(context, self->problem, &self->perturbable, kernel, NULL, NULL, &point));
    NADIR_CHECK(
        nadir_sublevel_radius(context, &point, &self->below, self->beta, tau, v, self->level, &radius));
    self->below.empty = self->below.empty || radius < 0;
    /* kernels P below the level have sum_s d_P(s) / high(s) |P_s - X_s|^2 <= radius^2 */
    memcpy(high, self->below.high, (size_t)n * sizeof *high);
    NADIR_CHECK(nadir_occupancy_bounds_pass_around(context, &point, high, radius, PASSES_AROUND, -1,
                                                   &self->below, &done));
    NADIR_CHECK(record(context, self, NADIR_STEP_PASS_AROUND, 1, &tau));
    NADIR_CHECK(record_vector(context, self, v));
    NADIR_CHECK(record_vector(context, self, answered));
cleanup:
    nadir_expansion_point_clear(context, &point);
    nadir_release(context, high);
    return status;
}

nadir_status nadir_derivation_conclude(nadir_context *context, nadir_derivation *self)
{
    nadir_certificate *certificate = self->certificate;
    if (self->below.empty || self->kappa <= 0.5) {
        certificate->kappa = self->below.empty ? certificate->kappa : self->kappa;
        nadir_certificate_offer(certificate, self->level, NADIR_PROOF_RIGOROUS, NADIR_BOUND_SECOND_ORDER);
    }
    return record(context, self, NADIR_STEP_CONCLUDE, 0, NULL);
}

/* 2 H of the norm that a matrix is of. */
static double radius_of(const nadir_context *context, const nadir_derivation *self, bool shared)
{
    return shared
               ? nadir_displacement_radius(context, &self->star.kkt, &self->star.displacement, &self->below)
               : self->radius_weighted;
}

nadir_status nadir_derivation_matrix(nadir_context *context, nadir_derivation *self, bool shared)
{
    const nadir_kkt *kkt = &self->star.kkt;
    nadir_kappa_matrix_clear(context, &self->matrix);
    NADIR_TRY(nadir_kappa_matrix_make(context, kkt, &self->below,
                                      shared ? &self->star.displacement : &self->displacement,
                                      shared ? NULL : self->inverse_weights, shared, &self->matrix));
    const double twice = radius_of(context, self, shared);
    self->matrix.reach = nadir_round_up(twice * twice / 4 + kkt->error / (2 * kkt->tau), 8);
    return record(context, self, NADIR_STEP_MATRIX, 1, (double[]){shared ? 1 : 0});
}

nadir_status nadir_derivation_conclude_kappa(nadir_context *context, nadir_derivation *self)
{
    nadir_certificate *certificate = self->certificate;
    const nadir_kappa_matrix *matrix = &self->matrix;
    const double kappa = matrix->proven;
    const nadir_kkt *kkt = &self->star.kkt;
    const double f = kkt->error / (2 * kkt->tau);
    const double radius = radius_of(context, self, matrix->shared);
    const double size = matrix->radial > 0 || !matrix->shared ? radius : self->radius;
    const double radial =
        matrix->radial > 0 ? nadir_round_up(2 * kkt->tau * matrix->radial * f * f, NADIR_PROOF_ROUNDINGS) : 0;
    const double by_kappa = nadir_round_up(nadir_kkt_loss_by_kappa(kkt, kappa, size) + radial, 1);
    const double loss = fmin(by_kappa, nadir_kkt_loss_by_radius(kkt, radius));
    const double numbers[] = {isfinite(kappa) ? matrix->k : 0, matrix->theta, matrix->theta_unvisited,
                              matrix->radial};
    certificate->kappa = isnan(certificate->kappa) ? kappa : fmin(certificate->kappa, kappa);
    nadir_certificate_offer(certificate, self->level - loss, NADIR_PROOF_RIGOROUS, NADIR_BOUND_SECOND_ORDER);
    return matrix->radial > 0 ? record(context, self, NADIR_STEP_CONCLUDE_TANGENT, 4, numbers)
                              : record(context, self, NADIR_STEP_CONCLUDE_KAPPA, 3, numbers);
}

/*
 * Steps of a derivation written down, and taken again from what was written.
 *
 * What is read is believed in nothing: a step that the ones before do not allow ends it.
 */

enum { PASSES_MOST = 1000 }; /* around the nominal kernel */

/* A record that is being read. */
typedef struct reader {
    nadir_context *context;
    nadir_derivation *self;
    const double *next;
    int64_t left;
} reader;

/* The next `count` numbers; NULL: there are not as many. */
static const double *take(reader *from, int64_t count)
{
    const double *taken = from->next;
    if (from->left < count) {
        return NULL;
    }
    from->next += count;
    from->left -= count;
    return taken;
}

/* Around the kernel that is the answer of the rows to `answered` with the penalty tau / high; see
 * lmo_by_state.h. */
static nadir_status pass_around(nadir_context *context, nadir_derivation *self, double tau, const double *v,
                                const double *answered)
{
    nadir_status status = NADIR_OK;
    nadir_lmo_penalized lmo = {0};
    nadir_kernel *kernel = NULL;
    NADIR_CHECK(nadir_lmo_penalized_make(context, self->problem, self->beta, self->below.high, &lmo));
    NADIR_CHECK(nadir_lmo_penalized_solve(context, &lmo, tau, answered));
    NADIR_CHECK(nadir_lmo_penalized_kernel(context, &lmo, tau, &kernel));
    NADIR_CHECK(nadir_derivation_pass_around(context, self, kernel, tau, v, answered));
cleanup:
    nadir_lmo_penalized_clear(context, &lmo);
    nadir_kernel_free(kernel);
    return status;
}

/* Whether a step can be taken now. */
static bool is_allowed(const nadir_derivation *self, int step)
{
    const nadir_uncertainty *set = self->problem->uncertainty;
    const double tau = self->candidate->tau;
    const bool two = set->p == 2 && tau > 0 && tau <= DBL_MAX;
    const bool whole = self->problem->model->exchange == NULL;
    switch (step) {
    case NADIR_STEP_SET_PASSES:
        return whole;
    case NADIR_STEP_LAGRANGIAN:
        return whole && pow(self->beta, set->p) > 0;
    case NADIR_STEP_BY_NORMS:
    case NADIR_STEP_LARGE:
        return two && self->up == NULL; /* which has rows that `large` gives back */
    case NADIR_STEP_EXPAND:
        return two && whole && self->up == NULL;
    case NADIR_STEP_TABULATE:
        return self->up != NULL;
    case NADIR_STEP_USE_WEIGHTS:
        return self->tabulated && self->begun && !self->weighted;
    case NADIR_STEP_BEGIN:
        return self->tabulated || self->up != NULL;
    case NADIR_STEP_MEASURE:
    case NADIR_STEP_LAGRANGIAN_BELOW:
    case NADIR_STEP_PASS_AROUND:
    case NADIR_STEP_CONCLUDE:
        return self->begun;
    case NADIR_STEP_PASS:
        return self->begun && self->measured && self->tabulated;
    case NADIR_STEP_MATRIX:
        return self->begun && self->measured;
    case NADIR_STEP_CONCLUDE_KAPPA:
    case NADIR_STEP_CONCLUDE_TANGENT:
        return self->begun && self->matrix.states > 0;
    case NADIR_STEP_POINT:
        return self->certificate->point == NULL;
    default:
        return false;
    }
}

/* How many numbers and vectors a step comes with. */
static const struct {
    int64_t numbers, vectors;
} step_sizes[] = {
    [NADIR_STEP_SET_PASSES] = {1, 0},       [NADIR_STEP_LAGRANGIAN] = {1, 1},
    [NADIR_STEP_TABULATE] = {1, 0},         [NADIR_STEP_LAGRANGIAN_BELOW] = {1, 1},
    [NADIR_STEP_PASS_AROUND] = {1, 2},      [NADIR_STEP_MATRIX] = {1, 0},
    [NADIR_STEP_CONCLUDE_KAPPA] = {3, 0},   [NADIR_STEP_POINT] = {0, 2},
    [NADIR_STEP_CONCLUDE_TANGENT] = {4, 0},
};

/* Whether x may be the first number of a step. */
static bool is_number_of(const nadir_derivation *self, int step, double x)
{
    const bool open = self->perturbable.columns == NULL; /* all rows allow all states */
    switch (step) {
    case NADIR_STEP_SET_PASSES:
        return x >= 0 && x <= PASSES_MOST;
    case NADIR_STEP_TABULATE:
    case NADIR_STEP_MATRIX:
        return x == 0 || open;
    case NADIR_STEP_LAGRANGIAN:
    case NADIR_STEP_LAGRANGIAN_BELOW:
        return x >= 0 && x <= DBL_MAX;
    case NADIR_STEP_PASS_AROUND:
        return x > 0 && x <= DBL_MAX;
    default:
        return true;
    }
}

/* *known: false where it is no step, or none that can be taken now, or its numbers are wrong. */
static nadir_status take_step(reader *from, int step, bool *known)
{
    nadir_context *context = from->context;
    nadir_derivation *self = from->self;
    const int64_t n = self->problem->states;
    *known = is_allowed(self, step);
    if (!*known) {
        return NADIR_OK;
    }
    const double *x = take(from, step_sizes[step].numbers);
    const double *v = take(from, step_sizes[step].vectors * n);
    *known = x != NULL && v != NULL && (step_sizes[step].numbers == 0 || is_number_of(self, step, x[0]));
    switch (*known ? step : 0) {
    case NADIR_STEP_SET_PASSES:
        return nadir_derivation_set_passes(context, self, (int64_t)x[0], -1);
    case NADIR_STEP_LAGRANGIAN:
        return nadir_derivation_lagrangian(context, self, x[0], v);
    case NADIR_STEP_BY_NORMS:
        return nadir_derivation_by_norms(context, self);
    case NADIR_STEP_LARGE:
        return nadir_derivation_large(context, self);
    case NADIR_STEP_EXPAND:
        return nadir_derivation_expand(context, self);
    case NADIR_STEP_TABULATE:
        return nadir_derivation_tabulate(context, self, x[0] != 0);
    case NADIR_STEP_USE_WEIGHTS:
        return nadir_derivation_use_weights(context, self);
    case NADIR_STEP_BEGIN:
        return nadir_derivation_begin(context, self);
    case NADIR_STEP_MEASURE:
        return nadir_derivation_measure(context, self);
    case NADIR_STEP_PASS:
        return nadir_derivation_pass(context, self);
    case NADIR_STEP_LAGRANGIAN_BELOW:
        return nadir_derivation_lagrangian_below(context, self, x[0], v);
    case NADIR_STEP_PASS_AROUND:
        return pass_around(context, self, x[0], v, v + n);
    case NADIR_STEP_CONCLUDE:
        return nadir_derivation_conclude(context, self);
    case NADIR_STEP_MATRIX:
        return nadir_derivation_matrix(context, self, x[0] != 0);
    case NADIR_STEP_CONCLUDE_KAPPA:
    case NADIR_STEP_CONCLUDE_TANGENT:
        if (x[0] > 0) {
            const double radial = step == NADIR_STEP_CONCLUDE_TANGENT ? x[3] : 0;
            (void)nadir_kappa_cholesky_holds(context, &self->matrix, x[0], radial, x[1], x[2]);
        }
        return nadir_derivation_conclude_kappa(context, self);
    case NADIR_STEP_POINT:
        return take_point(context, self, v, known);
    default:
        return NADIR_OK;
    }
}

nadir_status nadir_derivation_replay(nadir_context *context, nadir_derivation *self, int64_t count,
                                     const double *steps)
{
    reader from = {.context = context, .self = self, .next = steps, .left = count};
    while (from.left > 0) {
        const double code = *take(&from, 1);
        const int64_t place = count - from.left - 1;
        bool known = false;
        NADIR_TRY(nadir_progress(context, "steps of the proof", (double)place / (double)count));
        if (code >= NADIR_STEP_SET_PASSES && code <= NADIR_STEP_CONCLUDE_TANGENT) {
            NADIR_TRY(take_step(&from, (int)code, &known));
        }
        if (!known) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "number %lld of the steps, %g, is no step of a proof here", (long long)place,
                              code);
        }
    }
    return NADIR_OK;
}

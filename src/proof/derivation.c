/*
 * derivation.c: lower bounds inferred step by step (docs/theory.md, "Kernels that are kernels"), and their
 * record; see derivation.h.
 */
#include "proof/derivation.h"

#include "core/round.h"
#include "linalg/vector.h"
#include "proof/free_bounds.h"
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
    nadir_release(context, self->open);
    nadir_uncertainty_clear(context, &self->two);
    nadir_candidate_clear(context, &self->inner);
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

/* |x|_2 <= |x|_p for p < 2, and n^(1/2 - 1/p) |x|_p otherwise. Rows of a change sum to zero, so that p = 1 has |x|_2^2 <= (|x|_1^2 + off^2) / 2 in each, `off` what the
 * nominal row lacks of summing to one. */
nadir_status nadir_derivation_enclosing(nadir_context *context, const nadir_problem *problem, double beta,
                                        nadir_uncertainty *two, nadir_problem *enclosing, double *radius)
{
    nadir_status status = NADIR_OK;
    nadir_kernel_size size;
    double wider;
    double sum = 0;
    NADIR_CHECK(nadir_free_enclosing_ball(context, problem, two, enclosing, &wider));
    nadir_kernel_measure(context, problem->kernel, &size);
    const double off = fmax(fabs(1 - size.sum_low), fabs(size.sum_high - 1));
    for (int64_t row = 0; row < problem->rows; row++) {
        const double alpha = nadir_uncertainty_scale(problem->uncertainty, row);
        sum += alpha > 0 ? off / alpha * (off / alpha) : 0;
    }
    /* a sum over all rows */
    const double half = nadir_round_up(sqrt((beta * beta + sum) / 2), (double)problem->rows + 8);
    const double p = problem->uncertainty->p;
    *radius = p == 1 ? fmin(half, beta) : p < 2 ? beta : nadir_round_up(wider * beta, 2);
cleanup:
    return status;
}

nadir_status nadir_derivation_answer(nadir_context *context, const nadir_problem *problem, double beta,
                                     const double *high, double tau, const double *v, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    nadir_lmo_penalized lmo = {0};
    NADIR_CHECK(nadir_lmo_penalized_make(context, problem, beta, high, &lmo));
    NADIR_CHECK(nadir_lmo_penalized_solve(context, &lmo, tau, v));
    NADIR_CHECK(nadir_lmo_penalized_kernel(context, &lmo, tau, kernel));
cleanup:
    nadir_lmo_penalized_clear(context, &lmo);
    return status;
}

nadir_status nadir_derivation_enclose(nadir_context *context, nadir_derivation *self, double tau,
                                      const double *v, const double *d)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    nadir_candidate *inner = &self->inner;
    double radius;
    double error;
    NADIR_CHECK(nadir_derivation_enclosing(context, self->problem, self->beta, &self->two, &self->enclosing,
                                           &radius));
    NADIR_NEW(context, inner->v, n);
    NADIR_NEW(context, inner->d, n);
    memcpy(inner->v, v, (size_t)n * sizeof *v);
    memcpy(inner->d, d, (size_t)n * sizeof *d);
    NADIR_CHECK(
        nadir_derivation_answer(context, &self->enclosing, radius, inner->d, tau, inner->v, &inner->kernel));
    inner->tau = tau;
    inner->J = nadir_vector_dot(n, self->problem->mu, v, &error); /* for searches */
    self->problem = &self->enclosing;
    self->candidate = inner;
    self->beta = radius;
    self->encloses = true;
    self->begun = false; /* what is known of kernels below a level is known of the smaller ball */
    NADIR_CHECK(record(context, self, NADIR_STEP_ENCLOSE, 1, &tau));
    NADIR_CHECK(record_vector(context, self, v));
    NADIR_CHECK(record_vector(context, self, d));
cleanup:
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

nadir_status nadir_derivation_set_point(nadir_context *context, nadir_derivation *self, const double *point)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    NADIR_NEW(context, self->certificate->point, 2 * n);
    memcpy(self->certificate->point, point, (size_t)(2 * n) * sizeof *point);
    NADIR_CHECK(record_point(context, self));
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
    if (nadir_perturbable_rows_must_be_open(self->problem)) {
        nadir_perturbable_rows_clear(context, &self->perturbable);
        self->has_rows = false;
        NADIR_TRY(nadir_perturbable_rows_make_open(context, self->problem, self->candidate->kernel,
                                                   &self->perturbable));
    } else {
        NADIR_TRY(make_rows(context, self));
    }
    const nadir_status status =
        nadir_second_order_prove_large(context, self->problem, &self->perturbable, &self->set, self->beta,
                                       self->candidate, self->certificate);
    nadir_perturbable_rows_clear(context, &self->perturbable);
    self->has_rows = false;
    NADIR_TRY(status);
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

/* Nothing is known of the kernels in this box but their occupancies. */
static void begin_box(nadir_context *context, nadir_derivation *self)
{
    nadir_kappa_matrix_clear(context, &self->matrix);
    self->radius = self->has_kkt ? nadir_kkt_diameter(&self->star.kkt) : INFINITY;
    self->lift = INFINITY;
    self->kappa = INFINITY;
    self->box_kappa = INFINITY;
    self->measured = false;
}

/* There is one box. */
static void begin_tree(nadir_derivation *self)
{
    self->split = false;
    self->open_count = 0;
    self->box_lower = -INFINITY;
    self->tree_lower = INFINITY;
    self->tree_kappa = -INFINITY;
}

/* All kernels below the level return at least this: those of a box, or all of them. */
static void settle(nadir_derivation *self, double lower, nadir_bound bound)
{
    self->box_lower = fmax(self->box_lower, lower);
    if (!self->split) {
        /* a NaN stays one, and is no bound */
        nadir_certificate_offer(self->certificate, lower > self->level ? self->level : lower,
                                NADIR_PROOF_RIGOROUS, bound);
    }
}

nadir_status nadir_derivation_begin(nadir_context *context, nadir_derivation *self, double most)
{
    nadir_occupancy_bounds_clear(context, &self->below);
    self->begun = false;
    NADIR_TRY(nadir_occupancy_bounds_copy(context, &self->set, &self->below));
    NADIR_TRY(nadir_stationary_point_kkt(context, &self->set, self->beta, self->candidate->tau,
                                         &self->certificate->point, &self->star));
    const double level = nadir_stationary_point_level(&self->star);
    self->level = isfinite(level) ? fmin(level, most) : -INFINITY; /* nothing is below what is no number */
    self->has_kkt = true;
    begin_box(context, self);
    begin_tree(self);
    self->begun = true;
    NADIR_TRY(record_point(context, self));
    return record(context, self, NADIR_STEP_BEGIN, 1, (double[]){fmax(self->level, -DBL_MAX)});
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
    } else if (self->split) {
        settle(self, lower, NADIR_BOUND_LAGRANGIAN);
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

/* kappa of a box, or of all kernels below the level: that of one box of several says nothing of P*. */
static void take_kappa(nadir_derivation *self, double kappa)
{
    nadir_certificate *certificate = self->certificate;
    self->box_kappa = fmin(self->box_kappa, kappa);
    if (!self->split) {
        certificate->kappa = fmin(certificate->kappa, kappa); /* NaN: none yet */
    }
}

nadir_status nadir_derivation_conclude(nadir_context *context, nadir_derivation *self)
{
    if (self->below.empty || self->kappa <= 0.5) {
        if (!self->below.empty) {
            take_kappa(self, self->kappa);
        }
        settle(self, self->level, self->has_kkt ? NADIR_BOUND_SECOND_ORDER : NADIR_BOUND_LAGRANGIAN);
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

nadir_status nadir_derivation_matrix(nadir_context *context, nadir_derivation *self, bool shared,
                                     double reach)
{
    const nadir_kkt *kkt = &self->star.kkt;
    nadir_kappa_matrix_clear(context, &self->matrix);
    NADIR_TRY(nadir_kappa_matrix_make(context, kkt, &self->below,
                                      shared ? &self->star.displacement : &self->displacement,
                                      shared ? NULL : self->inverse_weights, shared, &self->matrix));
    const double twice = radius_of(context, self, shared);
    const double square = nadir_round_up(twice * twice / 4, 4);
    const double f = nadir_round_up(kkt->error / (2 * kkt->tau), 4);
    self->matrix.reach = fmax(nadir_round_up(square + f, 4), reach > 0 ? reach : 1.01 * square + 2 * f);
    return record(context, self, NADIR_STEP_MATRIX, 2, (double[]){shared ? 1 : 0, self->matrix.reach});
}

nadir_status nadir_derivation_conclude_kappa(nadir_context *context, nadir_derivation *self)
{
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
    take_kappa(self, kappa);
    settle(self, self->level - loss, NADIR_BOUND_SECOND_ORDER);
    return matrix->radial > 0 ? record(context, self, NADIR_STEP_CONCLUDE_TANGENT, 4, numbers)
                              : record(context, self, NADIR_STEP_CONCLUDE_KAPPA, 3, numbers);
}

/* ------------------------------------------------------------------------------ boxes of occupancies */

#define ROOM 1e-9 /* of an end that is not given, relative */
#define ROOM_TOTAL                                                                                           \
    1e-14 /* and as a share of the total occupancy: about 100 roundings of what it follows from */

nadir_status nadir_derivation_forget(nadir_context *context, nadir_derivation *self)
{
    self->begun = false;
    return record(context, self, NADIR_STEP_FORGET, 0, NULL);
}

nadir_status nadir_derivation_set_level(nadir_context *context, nadir_derivation *self, double level)
{
    if (self->begun) {
        self->level = fmin(self->level, level);
    } else {
        nadir_occupancy_bounds_clear(context, &self->below);
        NADIR_TRY(nadir_occupancy_bounds_copy(context, &self->set, &self->below));
        self->level = level;
        self->has_kkt = false;
        begin_box(context, self);
        begin_tree(self);
        self->begun = true;
    }
    return record(context, self, NADIR_STEP_LEVEL, 1, &level);
}

nadir_status nadir_derivation_box(nadir_context *context, nadir_derivation *self, const double *box)
{
    nadir_occupancy_bounds *below = &self->below;
    const int64_t n = below->states;
    const double room = ROOM_TOTAL * below->total + 4 * self->problem->d_error;
    for (int64_t s = 0; s < n; s++) {
        const double low = box != NULL ? box[s] : fmax(below->low[s] * (1 - ROOM) - room, 0);
        const double high = box != NULL ? box[n + s] : below->high[s] * (1 + ROOM) + room;
        below->low[s] = fmin(below->low[s], low);
        below->high[s] = fmax(below->high[s], high);
    }
    NADIR_TRY(record(context, self, NADIR_STEP_BOX, 0, NULL));
    NADIR_TRY(record_vector(context, self, below->low));
    return record_vector(context, self, below->high);
}

/* zeta J_P + theta d_P(t) >= lower with J_P < level: d_P(t) is at most this for theta < 0, and at least for theta > 0. */
static double end_of(const nadir_derivation *self, const nadir_two_sided *by, double lower)
{
    const double most = by->zeta * self->level;
    const double size = fabs(most) + fabs(lower);
    /* a product, a difference and a quotient */
    const double above =
        by->theta < 0 ? nadir_round_above(most - lower, size, 4) : nadir_round_below(lower - most, size, 4);
    const double end = above / fabs(by->theta);
    return by->theta < 0 ? nadir_round_above(end, fabs(end), 2) : nadir_round_below(end, fabs(end), 2);
}

nadir_status nadir_derivation_narrow(nadir_context *context, nadir_derivation *self,
                                     const nadir_two_sided *by, double end)
{
    nadir_occupancy_bounds *below = &self->below;
    const double room = ROOM_TOTAL * below->total;
    double lower;
    NADIR_TRY(nadir_two_sided_bound(context, self->problem, self->beta, below, by, &lower));
    const double proven = by->theta != 0 ? end_of(self, by, lower) : lower;
    const bool is_high = by->theta < 0;
    double taken = 0;
    if (by->theta == 0) {
        if (!(by->zeta == 1 && lower > self->box_lower)) {
            return NADIR_OK;
        }
        below->empty = below->empty || lower >= self->level;
        settle(self, lower, NADIR_BOUND_LAGRANGIAN);
    } else {
        const double far = is_high ? proven * (1 + ROOM) + room : proven * (1 - ROOM) - room;
        const double given = isnan(end) ? far : end;
        taken = is_high ? fmax(proven, given) : fmin(proven, given);
        if (isnan(proven) || !(is_high ? taken < below->high[by->t] : taken > below->low[by->t])) {
            return NADIR_OK;
        }
        *(is_high ? &below->high[by->t] : &below->low[by->t]) = taken;
        below->empty = below->empty || below->low[by->t] > below->high[by->t];
    }
    const double numbers[] = {(double)by->t, by->theta, by->zeta, by->tau, taken};
    NADIR_TRY(record(context, self, NADIR_STEP_NARROW, 5, numbers));
    NADIR_TRY(record_vector(context, self, by->k));
    return record_vector(context, self, by->v);
}

/* The box as it is, among those to come; *later: its numbers. */
static nadir_status keep_box(nadir_context *context, nadir_derivation *self, double **later)
{
    nadir_status status = NADIR_OK;
    const size_t n = (size_t)self->problem->states;
    const int64_t size = 4 * (int64_t)n + 1;
    NADIR_CHECK(nadir_occupancy_bounds_share(context, self->beta, &self->below));
    NADIR_RESERVE(context, self->open, (self->open_count + 1) * size, self->open_capacity);
    *later = self->open + self->open_count++ * size;
    memcpy(*later, self->below.low, n * sizeof **later);
    memcpy(*later + n, self->below.high, n * sizeof **later);
    memcpy(*later + 2 * n, self->below.least, 2 * n * sizeof **later);
    (*later)[4 * n] = self->box_lower;
    self->split = true;
cleanup:
    return status;
}

nadir_status nadir_derivation_split(nadir_context *context, nadir_derivation *self, int64_t s, double at)
{
    double *later;
    NADIR_TRY(keep_box(context, self, &later));
    later[s] = at;
    self->below.high[s] = at;
    begin_box(context, self);
    return record(context, self, NADIR_STEP_SPLIT, 2, (double[]){(double)s, at});
}

void nadir_derivation_part(const nadir_derivation *self, int64_t s, double at, bool above, double *least)
{
    const int64_t n = self->problem->states;
    const double p = self->problem->uncertainty->p;
    double *caps = least + n;
    if (!above) {
        caps[s] = fmin(caps[s], nadir_round_up(pow(at, 1 / p), 8));
        return;
    }
    const double power = nadir_round_up(pow(self->beta, p), 8);
    least[s] = fmax(least[s], at);
    const double sum = nadir_vector_sum(n, least);
    for (int64_t t = 0; t < n; t++) {
        /* a power, a sum of n terms and two differences */
        const double left = nadir_round_above(power - (sum - least[t]), power + sum, (double)(2 * n + 16));
        caps[t] = fmin(caps[t], nadir_round_up(pow(fmax(left, DBL_MIN), 1 / p), 8));
    }
}

nadir_status nadir_derivation_divide(nadir_context *context, nadir_derivation *self, int64_t s, double at)
{
    double *later;
    NADIR_TRY(keep_box(context, self, &later));
    nadir_derivation_part(self, s, at, true, later + 2 * self->problem->states);
    nadir_derivation_part(self, s, at, false, self->below.least);
    begin_box(context, self);
    return record(context, self, NADIR_STEP_DIVIDE, 2, (double[]){(double)s, at});
}

nadir_status nadir_derivation_next(nadir_context *context, nadir_derivation *self)
{
    const int64_t n = self->problem->states;
    self->tree_lower = fmin(self->tree_lower, self->below.empty ? self->level : self->box_lower);
    if (!self->below.empty) { /* infinite where something else was shown of it */
        self->tree_kappa = fmax(self->tree_kappa, self->box_kappa);
    }
    if (self->open_count > 0) {
        const double *later = self->open + --self->open_count * (4 * n + 1);
        memcpy(self->below.low, later, (size_t)n * sizeof *later);
        memcpy(self->below.high, later + n, (size_t)n * sizeof *later);
        memcpy(self->below.least, later + 2 * n, (size_t)(2 * n) * sizeof *later);
        self->box_lower = later[4 * n];
        self->below.empty = false;
        begin_box(context, self);
    } else {
        self->split = false;
        self->begun = false; /* what is left is one box of many */
        if (isfinite(self->tree_kappa)) {
            take_kappa(self, self->tree_kappa);
        }
        settle(self, self->tree_lower, self->has_kkt ? NADIR_BOUND_SECOND_ORDER : NADIR_BOUND_LAGRANGIAN);
    }
    return record(context, self, NADIR_STEP_NEXT, 0, NULL);
}

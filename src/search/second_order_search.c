/*
 * second_order_search.c: the steps that prove a kernel to be the worst one; see second_order_search.h.
 *
 * Suppose that some P of the set has J_P < J* - error. For all such P, |delta| <= r
 * (nadir_displacement_radius), so that their occupancies are near those of P* (occupancy_bounds.h), which
 * makes r smaller, and so on. Where kappa does not come to 1/2 by that, the Lagrangian bound for such P alone
 * is one on its own, and holds them near its answer (bellman_bound.h): their occupancies are bounded
 * around that, and all of it is done again.
 *
 * Most proofs end with kappa by the slopes of a pass, before any matrix is formed. They start from what
 * little is known without the nominal kernel's columns, and compute those only if that does not do.
 */
#include "search/second_order_search.h"

#include "linalg/vector.h"
#include "proof/occupancy_bounds.h"
#include "proof/second_order.h"
#include "search/lagrangian_search.h"

#include <math.h>
#include <string.h>

enum { TIGHTENINGS = 12, PASSES = 3, EVALUATIONS = 12, ROUNDS = 4, ROUNDS_STRICT = 8 };
#define SETTLED 1e-5  /* bounds that move by less, as a share of all visits, stay */
#define MANY    0.125 /* of all entries that are zero: worth weights */
#define WORTH   0.01  /* the largest bound must fall by this for another round */
#define HOPE    2.0   /* a kappa by slopes from which the matrix may still come to 1/2 */

typedef struct search {
    nadir_derivation *derivation;
    bool half_suffices; /* any kappa of 1/2 at most will do */
    bool nominal;       /* occupancies have been bounded around the nominal kernel */
    double before[2];   /* kappa by slopes, two passes ago and one */
} search;

static nadir_status begin(nadir_context *context, search *self)
{
    self->before[0] = INFINITY;
    self->before[1] = INFINITY;
    return nadir_derivation_begin(context, self->derivation, INFINITY);
}

/* Whether at least this share of the entries, and one of them, are zero in P* and have slack. */
static bool has_zeros(const nadir_derivation *derivation, double share)
{
    const int64_t entries = derivation->perturbable.entries;
    int64_t count = 0;
    for (int64_t e = 0; e < entries; e++) {
        count += derivation->star.kkt.slack[e] > 0;
    }
    return (double)count >= share * (double)entries && count > 0;
}

/* Whether slopes show all that is needed. */
static bool is_proven(const search *self)
{
    return self->half_suffices && self->derivation->kappa <= 0.5;
}

/* Whether passes around P* alone do not come to it: while they cannot make the radius smaller, kappa falls
 * about as a geometric series does. */
static bool is_stuck(const search *self)
{
    const nadir_derivation *derivation = self->derivation;
    const double first = self->before[1] - self->before[0];
    const double second = derivation->kappa - self->before[1];
    if (self->nominal || !self->half_suffices || !isfinite(self->before[0]) ||
        derivation->radius < 1.99 * derivation->beta) {
        return false;
    }
    return !(second < 0) || derivation->kappa - second * second / (second - first) > 0.5;
}

/* A few passes around P*. */
static nadir_status pass(nadir_context *context, search *self, double *most)
{
    nadir_derivation *derivation = self->derivation;
    *most = 0;
    for (int i = 0; i < PASSES && !is_proven(self) && !is_stuck(self); i++) {
        self->before[0] = self->before[1];
        self->before[1] = derivation->kappa;
        NADIR_TRY(nadir_derivation_pass(context, derivation));
        *most = fmax(*most, derivation->moved_most);
        if (derivation->moved < SETTLED) {
            break;
        }
    }
    return NADIR_OK;
}

/* Radius and occupancies in turn, until they stay. */
static nadir_status tighten(nadir_context *context, search *self)
{
    nadir_derivation *derivation = self->derivation;
    for (int i = 0;
         i < TIGHTENINGS && !derivation->below.empty && !is_proven(self) && !nadir_time_is_up(context); i++) {
        const double before = derivation->radius;
        double moved;
        NADIR_TRY(nadir_progress(context, "occupancies of worse kernels", -1));
        NADIR_TRY(nadir_derivation_measure(context, derivation));
        NADIR_TRY(pass(context, self, &moved));
        if ((derivation->radius > 0.99 * before && moved < SETTLED) || is_stuck(self)) {
            break;
        }
    }
    return nadir_derivation_measure(context, derivation);
}

/* The least kappa of a matrix. */
static nadir_status try_matrix(nadir_context *context, search *self, bool shared, double *kappa)
{
    nadir_derivation *derivation = self->derivation;
    NADIR_TRY(nadir_derivation_matrix(context, derivation, shared, 0));
    nadir_kappa_bisect(context, &derivation->matrix, !self->half_suffices);
    NADIR_TRY(nadir_derivation_conclude_kappa(context, derivation));
    *kappa = derivation->matrix.proven;
    nadir_kappa_matrix_clear(context, &derivation->matrix);
    return NADIR_OK;
}

static nadir_status conclude(nadir_context *context, search *self)
{
    const nadir_derivation *derivation = self->derivation;
    double kappa;
    if (derivation->below.empty || is_proven(self)) {
        return nadir_derivation_conclude(context, self->derivation);
    }
    NADIR_TRY(try_matrix(context, self, false, &kappa));
    return !nadir_time_is_up(context) && kappa > 0.5 && derivation->perturbable.columns == NULL
               ? try_matrix(context, self, true, &kappa)
               : NADIR_OK;
}

/* v and tau of the Lagrangian bound of the kernels below the level. Occupancies that are mostly the error of a solve
 * are other numbers to another backend: v is that of larger ones, and so proves as much with any that are less. */
static nadir_status look_for_tau(nadir_context *context, const nadir_derivation *derivation,
                                 nadir_lagrangian *found)
{
    nadir_status status = NADIR_OK;
    double *high = NULL;
    NADIR_NEW(context, high, derivation->below.states);
    for (int64_t s = 0; s < derivation->below.states; s++) {
        const double most = derivation->below.high[s];
        high[s] = most > 0 ? most + 2 * derivation->star.point.off[s] : 0;
    }
    NADIR_CHECK(nadir_lagrangian_tau_best(context, derivation->problem, derivation->beta, high,
                                          derivation->star.kkt.tau, EVALUATIONS, found));
cleanup:
    nadir_release(context, high);
    return status;
}

/* The Lagrangian bound of the kernels below the level, and passes around its answer for the tau that holds
 * them best. */
static nadir_status bound_by_lagrangian(nadir_context *context, search *self, nadir_lagrangian *found)
{
    nadir_derivation *derivation = self->derivation;
    const nadir_problem *problem = derivation->problem;
    const double beta = derivation->beta;
    const double *high = derivation->below.high;
    NADIR_TRY(look_for_tau(context, derivation, found));
    NADIR_TRY(nadir_derivation_lagrangian_below(context, derivation, found->tau, found->v));
    if (derivation->below.empty) {
        return NADIR_OK;
    }
    const double tau = fmax(found->tau, derivation->star.kkt.tau);
    NADIR_TRY(nadir_lagrangian_tau_for_level(context, problem, beta, high, derivation->level, tau,
                                             EVALUATIONS, found));
    return found->tau > 0 ? nadir_derivation_pass_around(context, derivation, found->kernel, found->tau,
                                                         found->v, found->answered)
                          : NADIR_OK;
}

static double largest_high(const nadir_occupancy_bounds *bounds)
{
    return nadir_vector_largest(bounds->states, bounds->high);
}

/* One round: Lagrangian bound, passes, radius, kappa. found: of the round before, or zeros. *again: it is worth
 * another. */
static nadir_status run_round(nadir_context *context, search *self, nadir_lagrangian *found, bool *again)
{
    const nadir_occupancy_bounds *below = &self->derivation->below;
    const double before = largest_high(below);
    NADIR_TRY(bound_by_lagrangian(context, self, found));
    NADIR_TRY(tighten(context, self));
    NADIR_TRY(conclude(context, self));
    *again = !below->empty && largest_high(below) < (1 - WORTH) * before;
    return NADIR_OK;
}

/* Asks for kappa only where it may well be at most 1/2. */
static nadir_status tighten_and_conclude(nadir_context *context, search *self)
{
    NADIR_TRY(tighten(context, self));
    return self->derivation->below.empty || self->derivation->kappa < HOPE ? conclude(context, self)
                                                                           : NADIR_OK;
}

/* With as little as may do: first, where the tables are expensive, with coarse ones. */
static nadir_status prove_briefly(nadir_context *context, search *self, double wanted)
{
    nadir_derivation *derivation = self->derivation;
    NADIR_TRY(begin(context, self));
    if (derivation->perturbable.columns == NULL && !derivation->star.sensitivity.symmetric) {
        NADIR_TRY(nadir_derivation_tabulate(context, derivation, true));
        NADIR_TRY(tighten_and_conclude(context, self));
        if (derivation->certificate->lower >= wanted) {
            return NADIR_OK;
        }
        NADIR_TRY(begin(context, self));
    }
    NADIR_TRY(nadir_derivation_tabulate(context, derivation, false));
    if (has_zeros(derivation, MANY)) {
        NADIR_TRY(nadir_derivation_use_weights(context, derivation));
    }
    return tighten_and_conclude(context, self);
}

/* With all there is. */
static nadir_status prove_fully(nadir_context *context, search *self, int rounds, double wanted)
{
    nadir_status status = NADIR_OK;
    nadir_derivation *derivation = self->derivation;
    const nadir_certificate *certificate = derivation->certificate;
    nadir_lagrangian found = {0};
    bool again = true;
    NADIR_CHECK(
        nadir_derivation_set_passes(context, derivation, NADIR_OCCUPANCY_PASSES, NADIR_OCCUPANCY_SETTLED));
    self->nominal = true;
    NADIR_CHECK(begin(context, self));
    if (!derivation->weighted && has_zeros(derivation, MANY)) {
        NADIR_CHECK(nadir_derivation_use_weights(context, derivation));
    }
    NADIR_CHECK(tighten(context, self));
    NADIR_CHECK(conclude(context, self));
    if (!derivation->weighted && has_zeros(derivation, 0) && certificate->lower < wanted &&
        !nadir_time_is_up(context)) {
        NADIR_CHECK(nadir_derivation_use_weights(context, derivation));
        NADIR_CHECK(tighten(context, self));
        NADIR_CHECK(conclude(context, self));
    }
    for (int i = 0; i < rounds && again && certificate->lower < wanted && !nadir_time_is_up(context); i++) {
        NADIR_CHECK(run_round(context, self, &found, &again));
    }
cleanup:
    nadir_lagrangian_clear(context, &found);
    return status;
}

nadir_status nadir_second_order_search(nadir_context *context, nadir_derivation *derivation,
                                       nadir_certify effort, double wanted)
{
    const bool strict = effort == NADIR_CERTIFY_STRICT;
    const nadir_certificate *certificate = derivation->certificate;
    search self = {.derivation = derivation, .half_suffices = !strict};
    NADIR_TRY(nadir_derivation_expand(context, derivation));
    NADIR_TRY(strict ? nadir_derivation_tabulate(context, derivation, false)
                     : prove_briefly(context, &self, wanted));
    return certificate->lower < wanted ? prove_fully(context, &self, strict ? ROUNDS_STRICT : ROUNDS, wanted)
                                       : NADIR_OK;
}

nadir_status nadir_second_order_continue(nadir_context *context, nadir_derivation *derivation)
{
    search self = {
        .derivation = derivation, .half_suffices = true, .nominal = true, .before = {INFINITY, INFINITY}};
    if (!derivation->weighted && has_zeros(derivation, 0)) {
        NADIR_TRY(nadir_derivation_use_weights(context, derivation));
    }
    NADIR_TRY(tighten(context, &self));
    return conclude(context, &self);
}

/* ------------------------------------------------------------------------- least kappa by Cholesky
 *
 * The least kappa that a Cholesky factorisation proves.
 *
 * kappa is doubled from 1/2 until the inequality of kappa.c holds for some theta, and then bisected. Where 1/2 does not do,
 * the radial term is tried first.
 */

enum { TRIALS = 4, TRIALS_UNVISITED = 3, TRIALS_RADIAL = 3, HALVINGS = 7, HALVINGS_FEW = 3, DOUBLINGS = 40 };

/* Shares of a norm that theta is tried at. */
static const double shares[TRIALS] = {0.35, 0.5, 0.25, 0.15};
static const double shares_unvisited[TRIALS_UNVISITED] = {0.5, 0.25, 0.8};
/* Shares of kappa that the radial term takes. */
static const double shares_radial[TRIALS_RADIAL] = {0.1, 0.3, 0.03};

typedef struct bisection {
    const nadir_context *context;
    nadir_kappa_matrix *matrix;
    int theta, theta_unvisited; /* the shares that did last */
} bisection;

/* For any of the shares; radial: that of the radial term. */
static bool holds(bisection *self, double kappa, double radial)
{
    nadir_kappa_matrix *matrix = self->matrix;
    const bool spread = matrix->spread_norm > 0;
    const bool unvisited = matrix->unvisited_norm > 0;
    const double k = (1 - radial) * kappa;
    /* a little less, so that k + r reach is kappa at most */
    const double r = radial > 0 ? (1 - 1e-12) * radial * kappa / matrix->reach : 0;
    if (radial == 0 && matrix->shared && matrix->unvisited == NULL &&
        nadir_kappa_cholesky_holds(self->context, matrix, k, 0, NADIR_KAPPA_BY_NORM, 0)) {
        return true;
    }
    for (int a = 0; a < (spread ? TRIALS : 1); a++) {
        for (int b = 0; b < (unvisited ? TRIALS_UNVISITED : 1); b++) {
            const int first = (a + self->theta) % TRIALS;
            const int second = (b + self->theta_unvisited) % TRIALS_UNVISITED;
            const double theta = spread ? fmin(matrix->spread_norm * shares[first], 0.9 * k) : 0;
            const double other = unvisited ? matrix->unvisited_norm * shares_unvisited[second] : 0;
            if (nadir_kappa_cholesky_holds(self->context, matrix, k, r, theta, other)) {
                self->theta = first;
                self->theta_unvisited = second;
                return true;
            }
        }
    }
    return false;
}

/* kappa <= 1/2 with a part of it from the radial term, where that has more than the identity to give. */
static bool holds_on_tangent(bisection *self)
{
    const nadir_kappa_matrix *matrix = self->matrix;
    const double size = nadir_up_norm_2(self->context, matrix->states, matrix->n);
    bool found = false;
    for (int i = 0; i < TRIALS_RADIAL && matrix->reach < size * size && !found; i++) {
        found = holds(self, 0.5, shares_radial[i]);
    }
    return found;
}

/* Where it is at most 1/2, a rough number does unless a sharp one is asked for. */
void nadir_kappa_bisect(const nadir_context *context, nadir_kappa_matrix *matrix, bool sharp)
{
    bisection self = {.context = context, .matrix = matrix};
    double high = 0.5;
    bool found = holds(&self, high, 0);
    if (!found && holds_on_tangent(&self)) {
        return;
    }
    for (int step = 0; !found; step++) {
        if (step == DOUBLINGS) {
            return;
        }
        high *= 2;
        found = holds(&self, high, 0);
    }
    double low = high > 0.5 ? high / 2 : 0;
    const int halvings = sharp || high > 0.5 ? HALVINGS : HALVINGS_FEW;
    for (int step = 0; step < halvings; step++) {
        const double k = (low + high) / 2;
        if (holds(&self, k, 0)) {
            high = k;
        } else {
            low = k;
        }
    }
}

/* ------------------------------------------------------------------------ hope for kappa <= 1/2 */

/* |Delta| = beta and w = |Delta_s| / d*(s): max w is beta / |d*| at least. */
nadir_status nadir_kappa_foresee(nadir_context *context, const nadir_problem *problem, double beta,
                                 const nadir_candidate *candidate, bool *hopeless)
{
    const nadir_verified_solver known = nadir_verified_solver_make(context, problem);
    const nadir_model *model = problem->model;
    double mixing;
    double nominal = 0;
    double star = 0;
    double most = 0;
    *hopeless = false;
    if (problem->uncertainty->p != 2 || candidate->d == NULL || !(candidate->tau > 0)) {
        return NADIR_OK;
    }
    NADIR_TRY(nadir_ergodicity_bound(context, problem, &known, NADIR_ERGODICITY_EASY, &mixing));
    if (isinf(mixing)) {
        return NADIR_OK;
    }
    for (int64_t s = 0; s < problem->states; s++) {
        double f = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double x =
                nadir_uncertainty_scale(problem->uncertainty, row) * problem->policy->probabilities[row];
            f += x * x;
        }
        nominal += f * problem->d[s] * problem->d[s];
        star += candidate->d[s] * candidate->d[s];
        most = fmax(most, f);
    }
    const double left = 1 - problem->gamma * sqrt(most) * beta;
    *hopeless = !(left > 0) || problem->gamma * sqrt(nominal / star) * beta > NADIR_KAPPA_HOPELESS * left;
    return NADIR_OK;
}

/* ---------------------------------------------------------------- witness for one of many radii */

#define ABOVE 1.01 /* how far above its fixed point y is looked for */

enum { STEPS = 40 }; /* towards y, at most */

/* y so that |d_P(t) - d(t)| <= y_t |P - P*| + what columns are off by, for all kernels P of the largest ball and
 * occupancies d of a P* there with |P*_s - Phat_s| <= change_s, norms over 1 / alpha. False: not found. change, b,
 * y: [states]; work: [2 * states]. */
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
    NADIR_CHECK(nadir_stationary_point_kkt(context, &kappa_path->bounds, beta, candidate->tau, NULL, &star));
    double *y = work + 2 * n;
    double *y_off = work + 3 * n;
    const double *change = star.displacement.n;
    if (majorize(context, kappa_path, change, kappa_path->slope, y, work) &&
        majorize(context, kappa_path, change, kappa_path->off, y_off, work)) {
        NADIR_CHECK(nadir_kappa_path_prove(context, kappa_path, &star, y, y_off, proof));
    }
cleanup:
    nadir_stationary_point_clear(context, &star);
    nadir_release(context, work);
    if (status != NADIR_OK) {
        nadir_certificate_clear(context, proof);
    }
    return status;
}

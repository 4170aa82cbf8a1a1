/*
 * kappa_by_norms.c: the proof that a kernel is the worst one, from norms; see second_order.h and kkt.h.
 *
 * For kernels P and X let m = sum over s of d_P(s) sum_a pi (P - X), whose entries sum to zero. Then
 *
 *     d_P - d_X = gamma D_X^T m,    |m|_2 <= K |P - X|,
 *     K^2 = sum_s f_s d_P(s)^2,     f_s = sum_a (alpha pi)^2,
 *
 * so that |d_P - d_X|_2 <= gamma G K |P - X|, G = |Phi D_X|_2 (ergodicity_bound.h). This bounds all
 * occupancies at once; bounds on each of them add up to sqrt(states) times as much. K itself is at most
 * |sqrt(f) d_X| + F |d_P - d_X| with F^2 = max f. No kernel of the set is farther than beta from the nominal
 * kernel, hence
 *
 *     K <= |sqrt(f) d| / (1 - gamma F G beta).
 *
 * Around P* the sum of |rho_t - 1| |Delta_t| |delta_t| is at most |w (d_P - d*)| |delta| <= kappa |delta|^2,
 *
 *     kappa = gamma K |Phi D* W|_2 <= gamma K G* max w,       W = diag(w).
 */
#include "proof/second_order.h"

#include "core/round.h"
#include "linalg/vector.h"
#include "proof/kkt.h"
#include "proof/occupancy_bounds.h"

#include <math.h>

typedef struct norms {
    nadir_context *context;
    const nadir_problem *problem;
    const nadir_perturbable_rows *perturbable;
    double beta;
    nadir_verified_solver known; /* of the nominal kernel */
    double K;                    /* |sqrt(f) d| of the nominal kernel, at least */
    double F;
    double G_nominal, G_star;    /* G of both kernels */
    nadir_stationary_point star; /* P* */
    double w_most;               /* max w */
} norms;

/* K and F of the nominal kernel, rounded up, with the error of d and what rows of the model lack of a sum of
 * one. */
static void weigh(const nadir_context *context, norms *self)
{
    const nadir_perturbable_rows *perturbable = self->perturbable;
    const nadir_problem *problem = self->problem;
    const nadir_row_limits *limits = &problem->model->limits;
    double square = 0;
    double most = 0;
    for (int64_t s = 0; s < perturbable->states; s++) {
        double f = 0;
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            f += nadir_perturbable_rows_alpha(perturbable, i) * nadir_perturbable_rows_alpha(perturbable, i) *
                 perturbable->pi[i] * perturbable->pi[i];
        }
        square += f * problem->d[s] * problem->d[s];
        most = fmax(most, f);
    }
    const double roundings = (double)(perturbable->states + perturbable->count + 16);
    const double total = nadir_expansion_point_total(context, problem);
    const double sum_off = fmax(fabs(1 - limits->sum_low), fabs(limits->sum_high - 1));
    /* sums over the rows of a state and over states */
    self->F = nadir_round_up(sqrt(most), roundings);
    self->K =
        nadir_round_up(nadir_round_up(sqrt(square), roundings) +
                           self->F * (problem->d_error + problem->gamma * total * sum_off / self->known.gap),
                       8);
}

/* kappa, if the norms of both D are as given. */
static double kappa_of(const norms *self, double G_nominal, double G_star)
{
    /* kappa rounded up: gamma and the quotient up, the denominator down */
    const double gamma = nadir_round_up(self->problem->gamma, 4);
    const double left =
        1 - nadir_round_up(gamma * self->F * G_nominal * self->beta, 8) - nadir_round_error(2);
    return left > 0 ? nadir_round_up(gamma * self->K / left * G_star * self->w_most, 16) : INFINITY;
}

/* P* with all that is known of it without columns. */
static nadir_status find_kkt(norms *self, const nadir_occupancy_bounds *bounds,
                             const nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(nadir_stationary_point_make(self->context, self->problem, self->perturbable, candidate,
                                            NADIR_OCCUPANCY_NEAR, &self->star));
    nadir_expansion_point_shift(&self->star.point);
    NADIR_CHECK(nadir_stationary_point_kkt(self->context, bounds, self->beta, candidate->tau, &self->star));
    self->w_most = nadir_vector_largest(self->perturbable->states, self->star.displacement.w);
cleanup:
    return status;
}

/* The norms of both D with ever more work, as long as kappa is too large; that of the nominal one is known
 * with the least. */
static nadir_status measure(norms *self)
{
    nadir_status status = NADIR_OK;
    for (int effort = NADIR_ERGODICITY_EASY;
         effort <= NADIR_ERGODICITY_HARD && !(kappa_of(self, self->G_nominal, self->G_star) <= 0.5);
         effort++) {
        double found;
        if (effort > NADIR_ERGODICITY_EASY) {
            NADIR_CHECK(nadir_ergodicity_bound(self->context, self->problem, &self->known,
                                               (nadir_ergodicity_effort)effort, &found));
            self->G_nominal = fmin(self->G_nominal, found);
        }
        NADIR_CHECK(nadir_ergodicity_bound(self->context, &self->star.point.problem, &self->star.point.known,
                                           (nadir_ergodicity_effort)effort, &found));
        self->G_star = fmin(self->G_star, found);
    }
cleanup:
    return status;
}

static void conclude(const norms *self, double kappa, nadir_certificate *proof)
{
    const double level = nadir_stationary_point_level(&self->star);
    proof->kappa = isnan(proof->kappa) ? kappa : fmin(proof->kappa, kappa);
    nadir_certificate_offer(proof, level, NADIR_PROOF_RIGOROUS, "second-order");
}

nadir_status nadir_kappa_by_norms_prove(nadir_context *context, const nadir_problem *problem,
                                        const nadir_perturbable_rows *perturbable,
                                        const nadir_occupancy_bounds *bounds, double beta,
                                        const nadir_candidate *candidate, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    norms self = {.context = context,
                  .problem = problem,
                  .perturbable = perturbable,
                  .beta = beta,
                  .known = nadir_verified_solver_make(context, problem),
                  .G_star = INFINITY};
    NADIR_CHECK(
        nadir_ergodicity_bound(context, problem, &self.known, NADIR_ERGODICITY_EASY, &self.G_nominal));
    if (isinf(self.G_nominal)) {
        goto cleanup;
    }
    weigh(context, &self);
    if (!(problem->gamma * self.F * beta < 1)) { /* |Phi D| is 1 at least */
        proof->hopeless = true;
        goto cleanup;
    }
    NADIR_CHECK(find_kkt(&self, bounds, candidate));
    const double least = kappa_of(&self, 1, 1);
    proof->hopeless = least > NADIR_KAPPA_HOPELESS;
    if (!(least <= 0.5)) {
        goto cleanup;
    }
    NADIR_CHECK(measure(&self));
    const double kappa = kappa_of(&self, self.G_nominal, self.G_star);
    if (kappa <= 0.5) {
        conclude(&self, kappa, proof);
    }
cleanup:
    nadir_stationary_point_clear(context, &self.star);
    return status;
}

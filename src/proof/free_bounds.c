/*
 * free_bounds.c: lower bounds on the return over balls of the free domain (docs/theory.md, "The free set:
 * rank one is enough"); see free_bounds.h.
 */
#include "proof/free_bounds.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/gstd.h"
#include "linalg/vector.h"
#include "proof/bellman_bound.h"
#include "solve/bellman.h"
#include "solve/value.h"

#include <math.h>

/* The largest product of values and occupancies. */
#define PRODUCT_MOST 1e290

/* |v d^T W| <= (largest reward) (max W) / (1 - gamma)^2. */
double nadir_free_reward_most(const nadir_context *context, const nadir_problem *problem)
{
    const double gap = 1 - problem->gamma;
    const double W = nadir_global_largest(context, problem->states, problem->uncertainty->W);
    return PRODUCT_MOST * gap * gap / fmax(1, W);
}

bool nadir_free_rewards_fit(const nadir_context *context, const nadir_problem *problem)
{
    return !nadir_rewards_underflow(context, problem) &&
           nadir_global_largest(context, problem->rows, problem->rewards) <=
               nadir_free_reward_most(context, problem);
}

double nadir_free_lower(const nadir_problem *problem, double lambda_high)
{
    return nadir_round_below(problem->J - problem->J_error - lambda_high,
                             fabs(problem->J) + fabs(lambda_high), 4);
}

nadir_status nadir_free_enclosing_ball(nadir_context *context, const nadir_problem *problem,
                                       nadir_uncertainty *two, nadir_problem *enclosing, double *wider)
{
    const nadir_uncertainty *own = problem->uncertainty;
    const nadir_ball ball = {
        .size = sizeof ball,
        .set = NADIR_SET_NONRECT,
        .domain = own->domain,
        .norm = 2,
        .radius = &own->radius,
        .radius_count = 1,
        .scales = own->scales,
    };
    const nadir_status status = nadir_uncertainty_make(context, problem->model, problem->policy, &ball, two);
    *enclosing = *problem;
    enclosing->uncertainty = two;
    const double factor = own->p > 2 ? pow((double)own->entries, 0.5 - 1 / own->p) : 1;
    *wider = nadir_round_up(factor, 8);
    return status;
}

nadir_status nadir_penalty_bound(nadir_context *context, const nadir_problem *problem, nadir_certify certify,
                                 const nadir_spectral_question *question, double wanted,
                                 nadir_known_breakdown *known, double *lambda_high, nadir_proof *proof)
{
    nadir_status status = NADIR_OK;
    const nadir_breakdown_proof last = nadir_breakdown_may_form_columns(problem, certify)
                                           ? NADIR_BREAKDOWN_CHOLESKY
                                           : NADIR_BREAKDOWN_PRODUCTS;
    double high;
    *proof = NADIR_PROOF_RIGOROUS;
    NADIR_CHECK(nadir_spectral_check(context, problem, question, known->low, lambda_high));
    while (*lambda_high > wanted && known->proof < last) {
        NADIR_CHECK(nadir_breakdown_prove(context, problem, known->proof + 1, question->beta, known));
        NADIR_CHECK(nadir_spectral_check(context, problem, question, known->low, &high));
        *lambda_high = fmin(*lambda_high, high);
    }
    if (*lambda_high > wanted) {
        NADIR_CHECK(nadir_breakdown_estimate_once(context, problem, known));
        const double limit = NADIR_BREAKDOWN_CLOSE * known->estimate; /* NaN: there is none */
        if (question->beta < limit) {
            NADIR_CHECK(nadir_spectral_check(context, problem, question, limit, &high));
            *proof = high < *lambda_high ? NADIR_PROOF_NUMERICAL : *proof;
            *lambda_high = fmin(*lambda_high, high);
        }
    }
cleanup:
    return status;
}

/*
 * Lower bounds on the return over s- and sa-rectangular balls of the free domain;
 for both bounds. They rest on the rows, the nominal solution with its error bounds,
 * and one solve.
 *
 * For every change delta of the set, with zero-sum rows, Hoelder gives |sum_a pi delta_sa . w| <= b^pi(s)
 * sigma_q(w). Hence T_P >= T, and P^pi(s, t) >= Phat^pi(s, t) - b^pi(s) sigma_q(e_t), which is what both
 * bounds use. Rounding goes the safe way everywhere: b^pi, sigma_q and v_b are taken too large by their
 * relative errors, and what products lose is added to the residual.
 */

/* Relative error of sigma_q, of q-norms (sums are compensated: a few roundings, and those of powers), and of
 * what the rounding of q itself does to them, which is log(S) / q roundings. */
#define NORM_SLACK 2e-14

typedef struct rectangular_proof {
    nadir_context *context;
    const nadir_problem *problem;
    double factor;
    const double *v; /* [states] */
    nadir_kernel_size size;
    int64_t actions;        /* at most, in a state */
    double pi_low, pi_high; /* sum over a of pi(a|s) */
    double mu_low, mu_high; /* sum over s of mu(s) */
    double *b;              /* [states] b^pi at factor 1, rounded up */
    double *work;           /* [rows + states and ghosts] */
} rectangular_proof;

/* The range of sums of `count` numbers of 0 or more, rounding included. */
static void add_sum(int64_t count, const double *x, double *low, double *high)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += x[i];
    }
    const double rounding = nadir_round_error((double)(count + 2)) * sum;
    *low = fmin(*low, sum - rounding);
    *high = fmax(*high, sum + rounding);
}

static void measure(rectangular_proof *self)
{
    const nadir_problem *problem = self->problem;
    const nadir_context *context = self->context;
    const int64_t *state_rows = problem->model->state_rows;
    self->pi_low = INFINITY;
    self->mu_low = INFINITY;
    for (int64_t s = 0; s < problem->states; s++) {
        const int64_t actions = state_rows[s + 1] - state_rows[s];
        self->actions = actions > self->actions ? actions : self->actions;
        add_sum(actions, problem->policy->probabilities + state_rows[s], &self->pi_low, &self->pi_high);
    }
    add_sum(problem->states, problem->mu, &self->mu_low, &self->mu_high);
    self->actions = (int64_t)nadir_allreduce_maximum(context, (double)self->actions);
    self->pi_low = nadir_allreduce_minimum(context, self->pi_low);
    self->pi_high = nadir_allreduce_maximum(context, self->pi_high);
    /* sums of the processes: one more rounding for each of them */
    const double slack = nadir_round_error((double)context->communication->members);
    self->mu_low = nadir_allreduce_sum(context, self->mu_low) * (1 - slack);
    self->mu_high = nadir_allreduce_sum(context, self->mu_high) * (1 + slack);
    nadir_kernel_measure(self->context, problem->kernel, &self->size);
}

/* b^pi(s), too large by the relative error of a sum over the actions or of W_s. */
static void fill_change(const rectangular_proof *self)
{
    const nadir_problem *problem = self->problem;
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t *state_rows = problem->model->state_rows;
    const double slack = 1 + NORM_SLACK + nadir_round_error((double)(2 * self->actions));
    for (int64_t s = 0; s < problem->states; s++) {
        double sum = 0;
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            sum += problem->policy->probabilities[row] * nadir_uncertainty_scale(set, row) *
                   nadir_uncertainty_radius(set, s, row);
        }
        if (set->set == NADIR_SET_S) {
            sum = set->W[s] * nadir_uncertainty_radius(set, s, state_rows[s]);
        }
        self->b[s] = sum * slack;
    }
}

/* Whether Phat^pi(s, t) >= least for all t. work: [states and ghosts] */
static bool row_is_above(const rectangular_proof *self, int64_t s, double least, double *work)
{
    const nadir_problem *problem = self->problem;
    const int64_t n = nadir_model_width(problem->model);
    int64_t entries = 0;
    for (int64_t t = 0; t < n; t++) {
        work[t] = 0;
    }
    for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
        const double pi = problem->policy->probabilities[row];
        const nadir_row entries_of_row = nadir_model_row(problem->model, row);
        for (int64_t i = 0; pi > 0 && i < entries_of_row.count; i++) {
            work[nadir_row_column(&entries_of_row, i)] += pi * entries_of_row.values[i];
        }
        entries += pi > 0 ? entries_of_row.count : 0;
    }
    bool above = n == nadir_model_total(problem->model) && entries >= n;
    for (int64_t t = 0; above && t < n; t++) {
        above = work[t] >= least;
    }
    return above;
}

/* Whether every average of a kernel of the set is 0 or more. */
static bool set_is_valid(const rectangular_proof *self)
{
    const nadir_problem *problem = self->problem;
    const double unit =
        nadir_gstd_unit(nadir_model_total(problem->model), problem->uncertainty->p) * (1 + NORM_SLACK);
    /* entries of the average are sums over the actions */
    const double slack = 1 + nadir_round_error((double)(self->actions + 8));
    bool valid = true;
    for (int64_t s = 0; valid && s < problem->states; s++) {
        const double least = self->factor * self->b[s] * unit * slack;
        valid = least == 0 || row_is_above(self, s, least, self->work);
    }
    return nadir_allreduce_and(self->context, valid);
}

/* mu . v - c for c (1 - gamma) = max (v - Tv)_+ */
static nadir_status bound_by_residual(const rectangular_proof *self, double *lower)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const int64_t *state_rows = problem->model->state_rows;
    const double *pi = problem->policy->probabilities;
    double *products = self->work;
    nadir_gstd gstd;
    double rounding;
    NADIR_CHECK(nadir_gstd_compute(context, nadir_model_first(problem->model), n, self->v,
                                   problem->uncertainty->q, self->work + problem->rows, NULL, &gstd));
    const double take = problem->gamma * self->factor * gstd.sigma * (1 + NORM_SLACK + nadir_round_error(8));
    nadir_kernel_multiply(context, problem->kernel, self->v, products);
    double worst = 0;
    double taken = 0;
    for (int64_t s = 0; s < n; s++) {
        double sum = 0;
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            sum += pi[row] * (problem->rewards[row] + problem->gamma * products[row]);
        }
        worst = fmax(worst, self->v[s] - (sum - take * self->b[s]));
        taken = fmax(taken, take * self->b[s]);
    }
    worst = nadir_allreduce_maximum(context, worst);
    taken = nadir_allreduce_maximum(context, taken);
    worst += nadir_bellman_rounding(&self->size, problem->gamma, self->actions,
                                    nadir_global_largest(context, problem->rows, problem->rewards),
                                    nadir_global_largest(context, n, self->v)) +
             nadir_round_error(4) * taken;
    const double offset = nadir_check_offset(worst, problem->gamma, self->pi_low * self->size.sum_low,
                                             self->pi_high * self->size.sum_high);
    const double mean = nadir_global_dot(context, n, problem->mu, self->v, &rounding);
    const double loss = offset * self->mu_high + rounding;
    *lower = nadir_round_below(mean - loss, fabs(mean) + loss, 4);
cleanup:
    return status;
}

/* *mass >= mu . v_b and *norm >= |v_b|_q at factor 1. */
static nadir_status bound_change(const rectangular_proof *self, double *mass, double *norm)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const double gap = 1 - problem->gamma * nadir_occupancy_average(problem->occupancy)->norm;
    double *v_b = self->work;
    nadir_accuracy accuracy;
    double rounding;
    NADIR_CHECK(nadir_occupancy_solve(self->context, problem->occupancy, 1, self->b, v_b, &accuracy));
    /* the solve, and the rounding of the average that was solved with */
    const double averaging = gap > 0 ? nadir_round_error((double)(self->actions + 4)) *
                                           nadir_global_largest(self->context, n, v_b) / gap
                                     : INFINITY;
    const double error = accuracy.error_bound + averaging;
    if (!isfinite(error)) {
        *mass = INFINITY;
        *norm = INFINITY;
        return NADIR_OK;
    }
    for (int64_t s = 0; s < n; s++) {
        v_b[s] = fmax(0, v_b[s]) + error;
    }
    *mass = nadir_global_dot(self->context, n, problem->mu, v_b, &rounding);
    *mass += rounding;
    NADIR_CHECK(nadir_norm_p(self->context, n, v_b, problem->uncertainty->q, norm));
    *norm *= 1 + NORM_SLACK;
cleanup:
    return status;
}

/* J - gamma (d . b^pi) sigma_q(v) / (1 - gamma |v_b|_q) */
static nadir_status bound_by_contraction(const rectangular_proof *self, double mass, double norm,
                                         double *lower)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const double reach = nadir_round_up(problem->gamma * self->factor, 4);
    const double denominator = nadir_round_below(1 - reach * norm, 1, 4);
    nadir_gstd gstd;
    NADIR_CHECK(nadir_gstd_compute(self->context, nadir_model_first(problem->model), n, problem->v,
                                   problem->uncertainty->q, self->work, NULL, &gstd));
    const double sigma = (gstd.sigma + problem->v_error * pow((double)nadir_model_total(problem->model),
                                                              1 / problem->uncertainty->q)) *
                         (1 + NORM_SLACK);
    const double penalty = reach * mass == 0 ? 0 : reach * mass * sigma / denominator;
    *lower = nadir_round_below(problem->J - (problem->J_error + penalty),
                               fabs(problem->J) + problem->J_error + penalty, 8);
    if (!(denominator > 0) || !isfinite(*lower)) {
        *lower = -INFINITY;
    }
cleanup:
    return status;
}

nadir_status nadir_rectangular_free_bound(nadir_context *context, const nadir_problem *problem, double factor,
                                          const double *v, bool *exact, double *lower, double *breakdown)
{
    nadir_status status = NADIR_OK;
    rectangular_proof self = {.context = context, .problem = problem, .factor = factor, .v = v};
    double mass;
    double norm;
    double weaker;
    NADIR_NEW(context, self.b, problem->states);
    NADIR_NEW(context, self.work, problem->rows + nadir_model_width(problem->model));
    measure(&self);
    fill_change(&self);
    NADIR_CHECK(bound_change(&self, &mass, &norm));
    NADIR_CHECK(bound_by_contraction(&self, mass, norm, &weaker));
    *lower = weaker;
    *breakdown = nadir_round_down(1 / (problem->gamma * norm), 4);
    *exact = set_is_valid(&self);
    if (*exact) {
        NADIR_CHECK(bound_by_residual(&self, lower));
        *lower = fmax(*lower, weaker);
        *breakdown = fmax(*breakdown, factor);
    }
cleanup:
    nadir_release(context, self.b);
    nadir_release(context, self.work);
    return status;
}

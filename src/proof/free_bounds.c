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
#include "proof/difference_bound.h"

#include <math.h>

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
    const nadir_status status =
        nadir_uncertainty_make_unweighted(context, problem->model, problem->policy, &ball, two);
    *enclosing = *problem;
    enclosing->uncertainty = two;
    /* p = 1: zero-sum rows have |x|_2 <= |x|_1 / sqrt(2) */
    const double factor = own->p > 2    ? pow((double)own->entries, 0.5 - 1 / own->p)
                          : own->p == 1 ? sqrt(0.5)
                                        : 1;
    *wider = nadir_round_up(factor, 8);
    return status;
}

nadir_status nadir_penalty_bound(nadir_context *context, const nadir_problem *problem, nadir_certify certify,
                                 const nadir_spectral_question *question, double wanted,
                                 nadir_known_breakdown *known, double *lambda_high, nadir_proof *proof)
{
    const nadir_breakdown_proof last = nadir_breakdown_may_form_columns(problem, certify)
                                           ? NADIR_BREAKDOWN_CHOLESKY
                                           : NADIR_BREAKDOWN_PRODUCTS;
    double high;
    *proof = NADIR_PROOF_RIGOROUS;
    NADIR_TRY(nadir_spectral_check(context, problem, question, known->low, lambda_high));
    while (*lambda_high > wanted && known->proof < last) {
        NADIR_TRY(nadir_breakdown_prove(context, problem, known->proof + 1, question->beta, known));
        NADIR_TRY(nadir_spectral_check(context, problem, question, known->low, &high));
        *lambda_high = fmin(*lambda_high, high);
    }
    if (*lambda_high > wanted) {
        NADIR_TRY(nadir_breakdown_estimate_once(context, problem, known));
        const double limit = NADIR_BREAKDOWN_CLOSE * known->estimate; /* NaN: there is none */
        if (question->beta < limit) {
            NADIR_TRY(nadir_spectral_check(context, problem, question, limit, &high));
            *proof = high < *lambda_high ? NADIR_PROOF_NUMERICAL : *proof;
            *lambda_high = fmin(*lambda_high, high);
        }
    }
    return NADIR_OK;
}

/*
 * Lower bounds on the return over s- and sa-rectangular balls of the free domain. They rest on the rows, the
 * nominal solution with its error bounds, and one solve.
 *
 * For every change delta of the set, with zero-sum rows, Hoelder gives |sum_a pi delta_sa . w| <= b^pi(s)
 * sigma_q(w). Hence T_P >= T, and P^pi(s, t) >= Phat^pi(s, t) - b^pi(s) sigma_q(e_t), which is what both
 * bounds use. Rounding goes the safe way everywhere: b^pi, sigma_q and v_b are taken too large by their
 * relative errors.
 */

/* Relative error of sigma_q, of q-norms (sums are compensated: a few roundings, and those of powers), and of
 * what the rounding of q itself does to them, which is log(S) / q roundings. */
#define NORM_SLACK 2e-14

/* b: [states] b^pi at factor 1, too large by the relative error of a sum over the actions or of W_s. */
static void fill_change(const nadir_problem *problem, const nadir_verified_solver *solver, double *b)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t *state_rows = problem->model->state_rows;
    const double slack = 1 + NORM_SLACK + 2 * solver->averaging;
    for (int64_t s = 0; s < problem->states; s++) {
        double sum = 0;
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            sum += problem->policy->probabilities[row] * nadir_uncertainty_scale(set, row) *
                   nadir_uncertainty_radius(set, s, row);
        }
        if (set->set == NADIR_SET_S) {
            sum = set->W[s] * nadir_uncertainty_radius(set, s, state_rows[s]);
        }
        b[s] = sum * slack;
    }
}

/* *mass >= d . b, *norm >= |D b|_q for b: [states], 0 or more. */
static nadir_status measure_change(nadir_context *context, const nadir_problem *problem, const double *b,
                                   double *mass, double *norm)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const nadir_verified_solver solver = nadir_verified_solver_make(context, problem);
    nadir_solve_error error;
    double *v_b = NULL;
    double rounding;
    NADIR_NEW(context, v_b, n);
    NADIR_CHECK(nadir_verified_solve(context, problem, &solver, false, b, 0, NULL, 0, v_b, &error));
    *mass = INFINITY;
    *norm = INFINITY;
    if (isfinite(error.error)) {
        for (int64_t s = 0; s < n; s++) {
            v_b[s] = fmax(0, v_b[s]) + error.error;
        }
        *mass = nadir_global_dot(context, n, problem->mu, v_b, &rounding);
        *mass += rounding;
        NADIR_CHECK(nadir_norm_p(context, n, v_b, problem->uncertainty->q, norm));
        *norm *= 1 + NORM_SLACK;
    }
cleanup:
    nadir_release(context, v_b);
    return status;
}

nadir_status nadir_rectangular_reach(nadir_context *context, const nadir_problem *problem, double *b,
                                     double *mass, double *norm)
{
    const nadir_verified_solver solver = nadir_verified_solver_make(context, problem);
    fill_change(problem, &solver, b);
    return measure_change(context, problem, b, mass, norm);
}

/* At least sigma_q(x); work: [states] */
static nadir_status bound_sigma(nadir_context *context, const nadir_problem *problem, const double *x,
                                double *work, double *sigma)
{
    nadir_gstd gstd;
    NADIR_TRY(nadir_gstd_compute(context, nadir_model_first(problem->model), problem->states, x,
                                 problem->uncertainty->q, work, NULL, &gstd));
    *sigma = gstd.sigma * (1 + NORM_SLACK);
    return NADIR_OK;
}

/* Whether Phat^pi(s, t) >= least for all t. work: [states and ghosts] */
static bool row_is_above(const nadir_problem *problem, int64_t s, double least, double *work)
{
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

/* Whether every average of a kernel of the set times `factor` is 0 or more. */
static bool set_is_valid(nadir_context *context, const nadir_problem *problem, double factor, const double *b,
                         double *work)
{
    const nadir_verified_solver solver = nadir_verified_solver_make(context, problem);
    const double unit =
        nadir_gstd_unit(nadir_model_total(problem->model), problem->uncertainty->p) * (1 + NORM_SLACK);
    /* entries of the average are sums over the actions */
    const double slack = 1 + solver.averaging + nadir_round_error(8);
    bool valid = true;
    for (int64_t s = 0; valid && s < problem->states; s++) {
        const double least = factor * b[s] * unit * slack;
        valid = least == 0 || row_is_above(problem, s, least, work);
    }
    return nadir_allreduce_and(context, valid);
}

nadir_status nadir_free_taken(nadir_context *context, const nadir_problem *problem, double factor,
                              const double *v, double v_error, double *taken)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    double *work = NULL;
    NADIR_NEW(context, work, 3 * problem->states);
    NADIR_CHECK(nadir_row_response(context, problem, problem->landing, v, v_error, work, taken));
    for (int64_t s = 0; s < problem->states; s++) {
        const double radius =
            set->set == NADIR_SET_S ? nadir_uncertainty_radius(set, s, problem->model->state_rows[s]) : 1;
        taken[s] = nadir_round_up(problem->gamma * factor * radius * taken[s], 8);
    }
cleanup:
    nadir_release(context, work);
    return status;
}

/* mu . v - c for c (1 - gamma) = max (v - Tv)_+; b: [states] <- what rows take. */
static nadir_status bound_by_residual(nadir_context *context, const nadir_problem *problem, double factor,
                                      const double *v, double *b, double *work, double *lower)
{
    double sigma;
    if (problem->landing != 0) {
        NADIR_TRY(nadir_free_taken(context, problem, factor, v, 0, b));
    } else {
        NADIR_TRY(bound_sigma(context, problem, v, work, &sigma));
        for (int64_t s = 0; s < problem->states; s++) {
            b[s] = nadir_round_up(problem->gamma * factor * sigma * b[s], 8);
        }
    }
    return nadir_bellman_bound(context, problem, v, b, lower);
}

/* d . B + gamma (d . b^pi) |D B|_q / (1 - gamma |v_b|_q), B what rows take from the nominal v: v - v_P = D y with
 * |y| <= B + gamma sigma_q(v_P - v) b^pi. */
static nadir_status bound_by_rows(nadir_context *context, const nadir_problem *problem, double factor,
                                  double reach_mass, double denominator, double *penalty)
{
    nadir_status status = NADIR_OK;
    double *B = NULL;
    double mass;
    double norm;
    NADIR_NEW(context, B, problem->states);
    NADIR_CHECK(nadir_free_taken(context, problem, factor, problem->v, problem->v_error, B));
    NADIR_CHECK(measure_change(context, problem, B, &mass, &norm));
    *penalty = nadir_round_up(mass + reach_mass * norm / denominator, 4);
cleanup:
    nadir_release(context, B);
    return status;
}

/* J - gamma (d . b^pi) sigma_q(v) / (1 - gamma |v_b|_q) */
static nadir_status bound_by_contraction(nadir_context *context, const nadir_problem *problem, double factor,
                                         double mass, double norm, double *work, double *lower)
{
    const double total = (double)nadir_model_total(problem->model);
    const double reach = nadir_round_up(problem->gamma * factor, 4);
    const double denominator = nadir_round_below(1 - reach * norm, 1, 4);
    double sigma;
    NADIR_TRY(bound_sigma(context, problem, problem->v, work, &sigma));
    sigma += problem->v_error * pow(total, 1 / problem->uncertainty->q) * (1 + NORM_SLACK);
    double penalty = reach * mass == 0 ? 0 : reach * mass * sigma / denominator;
    if (problem->landing != 0 && denominator > 0) {
        NADIR_TRY(bound_by_rows(context, problem, factor, reach * mass, denominator, &penalty));
    }
    *lower = nadir_round_below(problem->J - (problem->J_error + penalty),
                               fabs(problem->J) + problem->J_error + penalty, 8);
    if (!(denominator > 0) || !isfinite(*lower)) {
        *lower = -INFINITY;
    }
    return NADIR_OK;
}

nadir_status nadir_rectangular_free_bound(nadir_context *context, const nadir_problem *problem, double factor,
                                          const double *v, bool *exact, double *lower, double *breakdown)
{
    nadir_status status = NADIR_OK;
    double *b = NULL;
    double *work = NULL;
    double mass;
    double norm;
    double sharper;
    NADIR_NEW(context, b, problem->states);
    NADIR_NEW(context, work, nadir_model_width(problem->model));
    NADIR_CHECK(nadir_rectangular_reach(context, problem, b, &mass, &norm));
    NADIR_CHECK(bound_by_contraction(context, problem, factor, mass, norm, work, lower));
    *breakdown = nadir_round_down(1 / (problem->gamma * norm), 4);
    *exact = set_is_valid(context, problem, factor, b, work);
    if (*exact) {
        NADIR_CHECK(bound_by_residual(context, problem, factor, v, b, work, &sharper));
        *lower = fmax(*lower, sharper);
        *breakdown = fmax(*breakdown, factor);
    }
cleanup:
    nadir_release(context, b);
    nadir_release(context, work);
    return status;
}

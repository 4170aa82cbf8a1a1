/*
 * difference.c: the worst case of the difference between two policies under the same kernel: searches,
 * bounds, and the result.
 *
 * f(P) = J^A_P - J^B_P is not what one policy earns, and no Bellman operator has it for a fixed point, not
 * even on rectangular sets: both policies walk through one kernel at different states. Bounds on its minimum:
 *
 *     decoupled      min J^A - max J^B, both certified apart: always valid
 *     first-order    J^A - J^B + min <G, Delta> - remainders: J_P is linear in Delta but for gamma sum_s (d_P
 * - d) Delta^pi_s . v = J_P - J - <G_pi, Delta>, bounded by influence.h on every domain or, on simplex and
 * support, by the range of d_P (occupancy_range.h) second-order   around the kernel found (second_order.h), p
 * = 2 and the non-rectangular ball
 *
 * The first has the error of both policies' disagreement at first order in the radius, the second at second
 * order, the last none where it holds.
 */
#include "adversary/check/membership.h"
#include "adversary/difference/second_order.h"
#include "adversary/robust.h"
#include "adversary/valid/kernel_mix.h"
#include "adversary/valid/proof.h"
#include "adversary/verdict.h"
#include "adversary/worst.h"
#include "base/context.h"
#include "linalg/distributed.h"
#include "linalg/norm.h"
#include "linalg/vector.h"
#include "nominal/solver.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

/* Searches from random kernels, and rows times states up to which they are made. */
#define RANDOM_STARTS  6
#define RANDOM_ENTRIES 20000

/* One comparison: A and B in the order in which their difference is made small. */
typedef struct comparison {
    nadir_context *context;
    nadir_solver *solver[2];
    nadir_robust_settings settings;
    nadir_uncertainty set[2];
    nadir_problem problem[2];
    double *R[2];
    nadir_robust apart[2]; /* the worst of A, the best of B */
    nadir_worst *apart_kernel[2];
    nadir_pair pair;
    nadir_pair_found found;
    nadir_pair_facts facts;
    double decoupled, lower, upper, kappa, minimum;
    nadir_proof proof;
    const char *bound;
} comparison;

static void clear(comparison *run)
{
    nadir_context *context = run->context;
    nadir_pair_clear(context, &run->pair);
    nadir_pair_point_clear(context, &run->found.point);
    for (int i = 0; i < 2; i++) {
        nadir_uncertainty_clear(context, &run->set[i]);
        nadir_release(context, run->R[i]);
        nadir_worst_free(run->apart_kernel[i]);
        nadir_occupancy_range_clear(context, &run->facts.range[i]);
    }
}

/* ---------------------------------------------------------------------------------------- problem */

static nadir_status pose(comparison *run, const nadir_ball *ball, int i)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = run->context;
    nadir_solver *solver = run->solver[i];
    nadir_model *model = solver->model;
    NADIR_CHECK(nadir_uncertainty_make(context, model, solver->policy, ball, &run->set[i]));
    NADIR_CHECK(nadir_solver_solve(context, solver));
    NADIR_NEW(context, run->R[i], model->states);
    nadir_average_rewards(model, solver->policy, run->R[i]);
    run->problem[i] = (nadir_problem){
        .model = model,
        .kernel = solver->kernel,
        .policy = solver->policy,
        .occupancy = solver->occupancy,
        .uncertainty = &run->set[i],
        .states = model->states,
        .rows = model->rows,
        .gamma = model->discount,
        .sign = 1,
        .rewards = model->rewards,
        .R = run->R[i],
        .mu = model->initial,
        .v = solver->value.v,
        .d = solver->value.d,
        .J = solver->value.J,
        .v_error = solver->value.v_error,
        .d_error = solver->value.d_error,
        .J_error = solver->value.J_error,
        .largest = fmax(nadir_global_largest(context, model->states, solver->value.v),
                        nadir_global_largest(context, model->rows, model->rewards)),
    };
cleanup:
    return status;
}

/* Whether both policies are the same: then f is 0 under every kernel. */
static bool identical(const comparison *run)
{
    const nadir_policy *a = run->solver[0]->policy;
    const nadir_policy *b = run->solver[1]->policy;
    return memcmp(a->probabilities, b->probabilities,
                  (size_t)run->problem[0].rows * sizeof *a->probabilities) == 0;
}

/* Both policies by themselves: a bound, and kernels to start from. */
static nadir_status evaluate_apart(comparison *run, const nadir_ball *ball)
{
    for (int i = 0; i < 2; i++) {
        nadir_robust_settings settings = run->settings;
        settings.method = NULL;
        settings.optimistic = i == 1;
        run->apart[i].size = sizeof run->apart[i];
        const nadir_status status = nadir_robust_run(run->context, run->solver[i], ball, &settings, NULL,
                                                     &run->apart[i], &run->apart_kernel[i]);
        if (status != NADIR_OK &&
            !(status == NADIR_ERROR_NOT_CONVERGED && run->apart[i].stop_reason != NULL)) {
            return status;
        }
    }
    return NADIR_OK;
}

/* ----------------------------------------------------------------------------------------- search */

/* From one more kernel; keeps the better one. */
static nadir_status search_from(comparison *run, const nadir_kernel *start)
{
    nadir_status status = NADIR_OK;
    const nadir_robust_settings *settings = &run->settings;
    nadir_pair_found other = {0};
    NADIR_CHECK(nadir_pair_search(run->context, &run->pair, start, settings->tolerance,
                                  settings->iterations_limit, &other));
    const int64_t iterations = run->found.iterations + other.iterations;
    const double penalty = fabs(run->problem[0].J - run->problem[1].J - run->found.point.f);
    if (run->found.point.kernel == NULL ||
        other.point.f < run->found.point.f - settings->tolerance * penalty) {
        const nadir_pair_found kept = run->found;
        run->found = other;
        other = kept;
    }
    run->found.iterations = iterations;
cleanup:
    nadir_pair_point_clear(run->context, &other.point);
    return status;
}

/* From answers to random values: f has several minima where the ball is large. */
static nadir_status search_at_random(comparison *run, nadir_random *random)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = run->context;
    nadir_lmo_row_costs *costs = &run->pair.costs;
    const nadir_problem *problem = run->problem;
    const int64_t n = problem[0].states;
    nadir_kernel *start = NULL;
    double *numbers = NULL;
    NADIR_NEW(context, numbers, 4 * n);
    for (int64_t i = 0; i < 4 * n; i++) {
        numbers[i] = i < 2 * n ? nadir_random_normal(random) : 1;
    }
    NADIR_CHECK(nadir_lmo_row_costs_set(context, costs, 1, numbers + 2 * n, problem[0].policy->probabilities,
                                        numbers, numbers + 3 * n, problem[1].policy->probabilities,
                                        numbers + n));
    NADIR_CHECK(nadir_lmo_row_costs_solve(context, costs));
    NADIR_CHECK(nadir_kernel_create_changed(context, problem[0].model, &costs->changed, &start));
    NADIR_CHECK(search_from(run, start));
cleanup:
    nadir_kernel_free(start);
    nadir_release(context, numbers);
    return status;
}

/* From the nominal kernel, the worst of A, the best of B, and the one between these: what is bad for A in
 * states that the nominal kernel does not visit, and good for B, is known there. */
static nadir_status search(comparison *run)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *between = NULL;
    nadir_random random = run->context->random;
    const int more = run->problem[0].rows <= RANDOM_ENTRIES / run->problem[0].states ? RANDOM_STARTS : 0;
    const nadir_kernel *const apart[2] = {nadir_worst_kernel(run->apart_kernel[0]),
                                          nadir_worst_kernel(run->apart_kernel[1])};
    NADIR_CHECK(search_from(run, NULL));
    NADIR_CHECK(search_from(run, apart[0]));
    NADIR_CHECK(search_from(run, apart[1]));
    NADIR_CHECK(nadir_kernel_mix(run->context, run->problem[0].model, apart[0], apart[1], 0.5, &between));
    NADIR_CHECK(search_from(run, between));
    for (int i = 0; i < more; i++) {
        NADIR_CHECK(search_at_random(run, &random));
    }
cleanup:
    nadir_kernel_free(between);
    return status;
}

/* Where signs are free the rows of the kernel may not tell how far v is off, but norms do, or D at the
 * kernel. */
static nadir_status repair_check(comparison *run, int i)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = &run->problem[i];
    nadir_value_check *check = &run->facts.check[i];
    const bool small = problem->states <= NADIR_PROOF_STATES;
    run->facts.inverse[i] = INFINITY;
    if (isfinite(check->lower) && isfinite(check->upper)) {
        return NADIR_OK;
    }
    if (small || run->settings.certify == NADIR_CERTIFY_STRICT) {
        NADIR_CHECK(nadir_influence_inverse(run->context, problem, run->pair.operators[i].occupancy,
                                            &run->facts.inverse[i]));
    }
    const double error = run->facts.inverse[i] * check->residual * (1 + 4 * UNIT);
    const double J = run->found.point.J[i];
    const double of_J =
        fmin(error, nadir_influence_error(run->context, problem, &run->facts.influence[i], check->residual)) +
        8 * UNIT * (double)(problem->states + 8) *
            nadir_vector_largest(problem->states, run->found.point.v[i]);
    check->high = error;
    check->low = -error;
    check->lower = J - of_J;
    check->upper = J + of_J;
cleanup:
    return status;
}

/* The kernel lies in the set, and f there lies between bounds made from its rows. */
static nadir_status check_found(comparison *run)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = run->context;
    const nadir_pair_point *point = &run->found.point;
    nadir_membership membership;
    NADIR_CHECK(nadir_membership_check(context, point->kernel, &run->set[0], 1, &membership));
    for (int i = 0; i < 2; i++) {
        NADIR_CHECK(nadir_value_check_rows(context, point->kernel, run->problem[i].policy,
                                           run->problem[i].gamma, point->v[i], &run->facts.check[i]));
        NADIR_CHECK(repair_check(run, i));
    }
    run->facts.distance = membership.distance;
    run->facts.row_sum = membership.row_sum + 4 * UNIT * (double)(run->problem[0].states + 16);
    run->minimum = membership.minimum;
    const double high = run->facts.check[0].upper;
    const double low = run->facts.check[1].lower;
    run->upper = high - low + 4 * UNIT * (fabs(high) + fabs(low));
cleanup:
    return status;
}

/* ----------------------------------------------------------------------------------------- bounds */

static void take(comparison *run, double lower, nadir_proof proof, const char *bound)
{
    if (lower > run->lower) {
        run->lower = lower;
        run->proof = proof;
        run->bound = bound;
    }
}

static nadir_proof proof_of(const char *certificate)
{
    return certificate[0] == 'r'                            ? NADIR_PROOF_RIGOROUS
           : certificate[0] == 'n' && certificate[1] == 'u' ? NADIR_PROOF_NUMERICAL
                                                            : NADIR_PROOF_NONE;
}

static void bound_decoupled(comparison *run)
{
    const double low = run->apart[0].lower_bound;
    const double high = run->apart[1].upper_bound;
    const nadir_proof a = proof_of(run->apart[0].certificate);
    const nadir_proof b = proof_of(run->apart[1].certificate);
    run->decoupled = low - high - 2 * UNIT * (fabs(low) + fabs(high));
    take(run, run->decoupled, a < b ? a : b, "decoupled");
}

/* At least |J_P - J - gamma d . Delta^pi v| of one policy. */
static nadir_status remainder_of(comparison *run, int i, double *most)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = run->context;
    const nadir_problem *problem = &run->problem[i];
    double *work = NULL;
    *most = nadir_influence_remainder(&run->facts.influence[i]);
    if (run->facts.range[i].high != NULL) {
        const int64_t n = problem->states;
        NADIR_NEW(context, work, 5 * n);
        double *width = work + 3 * n;
        double *pull = work + 4 * n;
        nadir_occupancy_range_width(problem, &run->facts.range[i], width);
        NADIR_CHECK(nadir_pull(context, problem, problem->v, problem->v_error, work, pull));
        *most = fmin(*most, problem->gamma * nadir_pull_total(problem, width, pull, work) * (1 + 4 * UNIT));
    }
cleanup:
    nadir_release(context, work);
    return status;
}

/* What errors of v and d can hide in <G, Delta>: |Delta^pi_s . x| <= |Delta_sa|_1 max |x|, where |Delta_sa|_1
 * is at most 2, or S^(1/q) alpha beta on the free domain. */
static double hidden_in_slope(const comparison *run, int i)
{
    const nadir_problem *problem = &run->problem[i];
    const nadir_uncertainty *set = &run->set[i];
    double widest = 0;
    double mass = problem->d_error;
    for (int64_t row = 0; row < problem->rows; row++) {
        widest = fmax(widest, nadir_uncertainty_scale(set, row));
    }
    widest *= set->radius * pow((double)problem->states, 1 / set->q) * (1 + 16 * UNIT);
    widest = set->domain == NADIR_DOMAIN_FREE ? widest : fmin(widest, 2);
    for (int64_t s = 0; s < problem->states; s++) {
        mass += fabs(problem->d[s]);
    }
    const double largest = nadir_vector_largest(problem->states, problem->v) + problem->v_error;
    return problem->gamma * widest * (problem->d_error * largest + mass * problem->v_error) *
           (1 + 8 * UNIT * (double)(problem->states + 16));
}

static nadir_status bound_first_order(comparison *run)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = run->context;
    const nadir_problem *problem = run->problem;
    double gain;
    double lost = 0;
    NADIR_CHECK(nadir_lmo_row_costs_set(context, &run->pair.costs, problem[0].gamma, problem[0].d,
                                        problem[0].policy->probabilities, problem[0].v, problem[1].d,
                                        problem[1].policy->probabilities, problem[1].v));
    NADIR_CHECK(nadir_lmo_row_costs_solve(context, &run->pair.costs));
    NADIR_CHECK(nadir_lmo_row_costs_bound(context, &run->pair.costs, &gain));
    for (int i = 0; i < 2; i++) {
        double most;
        NADIR_CHECK(remainder_of(run, i, &most));
        lost += most + hidden_in_slope(run, i) + problem[i].J_error;
    }
    lost = (lost + gain) * (1 + 16 * UNIT);
    const double rounding = 4 * UNIT * (fabs(problem[0].J) + fabs(problem[1].J) + lost);
    take(run, problem[0].J - problem[1].J - lost - rounding, NADIR_PROOF_RIGOROUS, "first-order");
cleanup:
    return status;
}

/* Both policies under the same kernels. */
static nadir_status bound_together(comparison *run)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = run->context;
    const nadir_uncertainty *set = &run->set[0];
    const bool small = run->problem[0].states <= NADIR_PROOF_STATES;
    double lower;
    for (int i = 0; i < 2; i++) {
        if (set->domain != NADIR_DOMAIN_FREE && (small || run->settings.certify == NADIR_CERTIFY_STRICT)) {
            NADIR_CHECK(nadir_occupancy_range_make(context, &run->problem[i], &run->facts.range[i]));
        }
    }
    NADIR_CHECK(bound_first_order(run));
    if (set->set == NADIR_SET_NONRECT && set->p == 2) {
        NADIR_CHECK(
            nadir_pair_second_order(context, &run->pair, &run->found, &run->facts, &lower, &run->kappa));
        take(run, lower, NADIR_PROOF_RIGOROUS, "second-order");
    }
cleanup:
    return status;
}

static nadir_status bound(comparison *run)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = run->context;
    const nadir_uncertainty *set = &run->set[0];
    bound_decoupled(run);
    if (!nadir_rewards_underflow(context, &run->problem[0])) {
        NADIR_CHECK(bound_together(run));
    }
    if (isinf(run->lower)) {
        status = nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                            "nothing finite can be proven of the difference of these policies on set %s, "
                            "domain %s, at radius %g; take a smaller radius, or domain simplex or support",
                            nadir_set_name(set->asked), nadir_domain_name(set->domain), set->radius);
    }
cleanup:
    return status;
}

/* ---------------------------------------------------------------------------------------- results */

static nadir_status give_result(const comparison *run, bool turned, double searched, double proven,
                                nadir_difference *result)
{
    static const char *const names[] = {"none", "numerical", "rigorous"};
    const nadir_pair_found *found = &run->found;
    const double nominal = run->problem[0].J - run->problem[1].J;
    /* moved to where it can be, if rounding has it outside */
    const double f =
        run->lower <= run->upper ? fmin(fmax(found->point.f, run->lower), run->upper) : found->point.f;
    const double penalty = fabs(nominal - f);
    const double rounding = 8 * (run->problem[0].J_error + run->problem[1].J_error) +
                            64 * DBL_EPSILON * (fabs(run->problem[0].J) + fabs(run->problem[1].J));
    const double allowed = penalty > rounding ? run->settings.width * penalty : 4 * rounding;
    const double lower = fmin(run->lower, f);
    const double upper = fmax(run->upper, f);
    const double sign = turned ? -1 : 1;
    const nadir_difference made = {
        .size = sizeof made,
        .nominal = sign * nominal,
        .worst = sign * f,
        .lower_bound = turned ? -upper : lower,
        .upper_bound = turned ? -lower : upper,
        .certified = run->proof != NADIR_PROOF_NONE && upper - lower <= allowed,
        .certificate = names[run->proof],
        .bound = run->bound,
        .decoupled_bound = sign * run->decoupled,
        .kappa = run->kappa,
        .stationarity_gap = found->gap,
        .method = "conditional-gradient",
        .stop_reason = found->stop_reason,
        .iterations = found->iterations,
        .kernel_minimum = run->minimum,
        .seconds_search = searched,
        .seconds_certify = proven,
    };
    if (!nadir_result_copy(result, &made, sizeof made)) {
        return nadir_fail(run->context, NADIR_ERROR_ARGUMENT, "the size of the difference is not set");
    }
    if (!found->converged) {
        return nadir_fail(run->context, NADIR_ERROR_NOT_CONVERGED,
                          "the search for the worst kernel of the difference stopped at its limit before the "
                          "tolerance of %g was reached; the best kernel so far is reported, with bounds that "
                          "hold for it",
                          run->settings.tolerance);
    }
    return NADIR_OK;
}

/* No kernel but the nominal one, or no difference: nothing to search. */
static nadir_status settle_trivial(comparison *run)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = run->context;
    const bool same = identical(run);
    NADIR_CHECK(nadir_pair_point_make(context, &run->pair, &run->found.point));
    NADIR_CHECK(nadir_kernel_create(context, run->problem[0].model, &run->found.point.kernel));
    NADIR_CHECK(nadir_pair_evaluate(context, &run->pair, &run->found.point));
    NADIR_CHECK(check_found(run));
    run->lower = run->facts.check[0].lower - run->facts.check[1].upper;
    if (same) {
        run->found.point.f = run->lower = run->upper = 0;
    }
    run->found.converged = true;
    run->found.stop_reason = "solved";
    run->proof = NADIR_PROOF_RIGOROUS;
    run->bound = same ? "identical" : "nominal";
    run->decoupled = same ? 0 : run->lower;
cleanup:
    return status;
}

static nadir_status compare(comparison *run, const nadir_ball *ball, double *searched, double *proven)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = run->context;
    NADIR_CHECK(pose(run, ball, 0));
    NADIR_CHECK(pose(run, ball, 1));
    NADIR_CHECK(nadir_pair_make(context, &run->problem[0], &run->problem[1], &run->pair));
    const double begun = nadir_clock_seconds();
    if (run->set[0].idle || identical(run)) {
        NADIR_CHECK(settle_trivial(run));
        goto cleanup;
    }
    NADIR_CHECK(evaluate_apart(run, ball));
    const double apart = run->apart[0].seconds_certify + run->apart[1].seconds_certify;
    NADIR_CHECK(search(run));
    for (int i = 0; i < 2; i++) {
        NADIR_CHECK(
            nadir_influence_make(context, &run->problem[i], run->settings.certify, &run->facts.influence[i]));
    }
    const double penalty = fabs(run->problem[0].J - run->problem[1].J - run->found.point.f);
    NADIR_CHECK(nadir_pair_polish(context, &run->pair, 1e-2 * run->settings.width * penalty, &run->found));
    const double found = nadir_clock_seconds();
    NADIR_CHECK(check_found(run));
    if (run->settings.certify != NADIR_CERTIFY_OFF) {
        NADIR_CHECK(bound(run));
    }
    *searched = found - begun - apart;
    *proven = nadir_clock_seconds() - found + apart;
cleanup:
    return status;
}

static nadir_status hand_over(comparison *run, bool turned, nadir_worst **worst)
{
    nadir_verdict verdict = {.kappa = NAN, .minimum = run->minimum};
    nadir_problem problem = run->problem[turned ? 1 : 0];
    problem.sign = turned ? -1 : 1;
    verdict.attack.kernel = run->found.point.kernel;
    run->found.point.kernel = NULL;
    const nadir_status status = nadir_worst_make(run->context, &problem, NULL, &verdict, worst);
    nadir_verdict_clear(run->context, &verdict);
    return status;
}

nadir_status nadir_solver_difference(nadir_context *context, nadir_solver *a, nadir_solver *b,
                                     const nadir_ball *ball, const nadir_robust_settings *settings,
                                     nadir_difference *result, nadir_worst **worst)
{
    nadir_status status = NADIR_OK;
    comparison run = {
        .context = context, .lower = -INFINITY, .decoupled = -INFINITY, .kappa = NAN, .bound = "none"};
    double searched = 0;
    double proven = 0;
    nadir_robust_settings_default(&run.settings);
    if (settings != NULL && !nadir_settings_copy(&run.settings, sizeof run.settings, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the robust settings is not set");
    }
    if (a->model != b->model) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the solvers are of two models; the difference is that of two policies on one");
    }
    NADIR_CHECK(nadir_model_check_one_process(context, a->model, "the difference of two policies"));
    const bool turned = run.settings.optimistic; /* the largest A - B is the smallest B - A */
    run.solver[0] = turned ? b : a;
    run.solver[1] = turned ? a : b;
    NADIR_CHECK(compare(&run, ball, &searched, &proven));
    status = give_result(&run, turned, searched, proven, result);
    if (worst != NULL && (status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED)) {
        const nadir_status made = hand_over(&run, turned, worst);
        status = made != NADIR_OK ? made : status;
    }
cleanup:
    clear(&run);
    return status;
}

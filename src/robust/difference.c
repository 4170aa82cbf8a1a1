/*
 * difference.c: the worst case of the difference between two policies under the same kernel: set-up, search,
 * bounds and result.
 *
 * f(P) = J^A_P - J^B_P is not the return of one policy, and no Bellman operator has it for a fixed point, not
 * even on rectangular sets: both policies visit different states of one kernel. Bounds on its minimum:
 *
 *     decoupled      min J^A - max J^B, each certified by itself: always valid
 *     first-order    around the nominal kernel (proof/difference_bound.h)
 *     second-order   around the kernel found, p = 2 and the non-rectangular ball (the same file)
 *
 * The error of the first is of first order in the radius, that of the second of second order. The last has no
 * error where C <= tau.
 */
#include "core/context.h"
#include "core/round.h"
#include "model/landing.h"
#include "model/terminal.h"
#include "proof/certificate.h"
#include "proof/difference_bound.h"
#include "proof/trap.h"
#include "robust/robust.h"
#include "robust/strategy.h"
#include "search/difference_search.h"

#include <math.h>
#include <string.h>

/* One comparison: A and B in the order in which their difference is made small. */
typedef struct comparison {
    nadir_context *context;
    nadir_solver *solver[2];
    nadir_robust_settings settings;
    nadir_setup setup[2];
    nadir_problem problem[2]; /* of `setup` */
    nadir_robust alone[2];    /* the worst of A, the best of B */
    nadir_worst *alone_kernel[2];
    nadir_difference_search search;
    nadir_difference_found found;
    nadir_difference_facts facts;
    double decoupled, lower, upper, kappa;
    nadir_proof proof;
    const char *bound;
} comparison;

static void clear(comparison *run)
{
    nadir_context *context = run->context;
    nadir_difference_search_clear(context, &run->search);
    nadir_difference_point_clear(context, &run->found.point);
    for (int i = 0; i < 2; i++) {
        nadir_setup_clear(context, &run->setup[i]);
        nadir_worst_free(run->alone_kernel[i]);
        nadir_occupancy_bounds_clear(context, &run->facts.range[i]);
    }
}

/* Whether both policies are the same: then f is 0 under every kernel. */
static bool identical(const comparison *run)
{
    const nadir_policy *a = run->solver[0]->policy;
    const nadir_policy *b = run->solver[1]->policy;
    return memcmp(a->probabilities, b->probabilities,
                  (size_t)run->problem[0].rows * sizeof *a->probabilities) == 0;
}

/* The worst of A and the best of B: a bound, and kernels to start from. */
static nadir_status evaluate_alone(comparison *run, const nadir_ball *ball)
{
    for (int i = 0; i < 2; i++) {
        nadir_robust_settings settings = run->settings;
        settings.method = NULL;
        settings.optimistic = i == 1;
        run->alone[i].size = sizeof run->alone[i];
        const nadir_status status = nadir_solver_robust(run->context, run->solver[i], ball, &settings,
                                                        &run->alone[i], &run->alone_kernel[i]);
        if (status != NADIR_OK &&
            !(status == NADIR_ERROR_NOT_CONVERGED && run->alone[i].stop_reason != NULL)) {
            return status;
        }
    }
    return NADIR_OK;
}

/* The kernel found, as the proofs take it. */
static nadir_difference_witness witness_of(const comparison *run)
{
    const nadir_difference_point *point = &run->found.point;
    return (nadir_difference_witness){
        .kernel = point->kernel,
        .occupancy = {run->search.operators[0].occupancy, run->search.operators[1].occupancy},
        .v = {point->v[0], point->v[1]},
        .J = {point->J[0], point->J[1]},
        .tau = run->found.tau,
    };
}

/* Whether D may be formed. */
static bool forms_columns(const comparison *run)
{
    return run->problem[0].states <= NADIR_PROOF_STATES || run->settings.certify == NADIR_CERTIFY_STRICT;
}

/* The last kernel that the search evaluated may be another one: both operators are set to the kernel
 * found. */
static nadir_status check_found(comparison *run)
{
    for (int i = 0; i < 2; i++) {
        NADIR_TRY(nadir_kernel_solver_set(run->context, &run->search.operators[i], run->found.point.kernel));
    }
    const nadir_difference_witness witness = witness_of(run);
    NADIR_TRY(nadir_difference_check(run->context, run->problem, &witness, forms_columns(run), &run->facts));
    run->upper = run->facts.upper;
    return NADIR_OK;
}

/* ----------------------------------------------------------------------------------------- bounds */

/* Keeps the larger lower bound. */
static void offer_lower(comparison *run, double lower, nadir_proof proof, const char *bound)
{
    if (lower > run->lower) {
        run->lower = lower;
        run->proof = proof;
        run->bound = bound;
    }
}

static void bound_decoupled(comparison *run)
{
    const double low = run->alone[0].lower_bound;
    const double high = run->alone[1].upper_bound;
    const nadir_proof a = run->alone_kernel[0]->evaluation.proof;
    const nadir_proof b = run->alone_kernel[1]->evaluation.proof;
    run->decoupled = nadir_round_below(low - high, fabs(low) + fabs(high), 2);
    offer_lower(run, run->decoupled, a < b ? a : b, "decoupled");
}

/* The solution of the linear step around the nominal kernel is the witness. */
static nadir_status bound_first_order(comparison *run)
{
    nadir_context *context = run->context;
    const nadir_problem *problem = run->problem;
    nadir_lmo_row_costs *costs = &run->search.costs;
    double lower;
    NADIR_TRY(nadir_lmo_row_costs_set(context, costs, problem[0].gamma, problem[0].landing, problem[0].d,
                                      problem[0].policy->probabilities, problem[0].v, problem[1].d,
                                      problem[1].policy->probabilities, problem[1].v));
    NADIR_TRY(nadir_lmo_row_costs_solve(context, costs));
    NADIR_TRY(nadir_difference_first_order(context, problem, &run->facts, costs, &lower));
    offer_lower(run, lower, NADIR_PROOF_RIGOROUS, "first-order");
    return NADIR_OK;
}

/* Both policies under the same kernels. */
static nadir_status bound_together(comparison *run)
{
    nadir_context *context = run->context;
    const nadir_uncertainty *set = &run->setup[0].uncertainty;
    double lower;
    for (int i = 0; i < 2; i++) {
        if (set->domain != NADIR_DOMAIN_FREE && forms_columns(run)) {
            NADIR_TRY(nadir_occupancy_range_make(context, &run->problem[i], &run->facts.range[i]));
        }
    }
    NADIR_TRY(bound_first_order(run));
    if (set->set == NADIR_SET_NONRECT && set->p == 2) {
        const nadir_difference_witness witness = witness_of(run);
        NADIR_TRY(nadir_difference_second_order(context, run->problem, &witness, &run->facts,
                                                &run->search.costs, &lower, &run->kappa));
        offer_lower(run, lower, NADIR_PROOF_RIGOROUS, "second-order");
    }
    return NADIR_OK;
}

static nadir_status bound(comparison *run)
{
    nadir_context *context = run->context;
    const nadir_uncertainty *set = &run->setup[0].uncertainty;
    bound_decoupled(run);
    if (!nadir_rewards_underflow(context, &run->problem[0])) {
        NADIR_TRY(bound_together(run));
    }
    if (isinf(run->lower)) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "nothing finite can be proven of the difference of these policies on set %s, "
                          "domain %s, at radius %g; take a smaller radius, or domain simplex or support",
                          nadir_set_name(set->asked), nadir_domain_name(set->asked_domain), set->radius);
    }
    return NADIR_OK;
}

/* ---------------------------------------------------------------------------------------- results */

/* What errors of shaped returns must be little beside: values and rewards of the model. */
static double largest_value(const comparison *run)
{
    const nadir_model *model = run->problem[0].model;
    double largest = nadir_global_largest(run->context, model->rows, model->rewards);
    for (int i = 0; i < 2; i++) {
        largest = fmax(largest, nadir_landing_value_size(run->context, model, run->solver[i]->value.v, 0));
    }
    return largest;
}

/* Without a discount errors of shaped rewards add up for as long as kernels last. */
static double drift_of(const comparison *run)
{
    double drift = 0;
    for (int i = 0; i < 2 && run->problem[i].gamma == 1 && run->problem[i].gap > 0; i++) {
        drift += nadir_landing_drift(run->problem[i].model, nadir_round_up(1 / run->problem[i].gap, 4));
    }
    return drift;
}

static nadir_status give_result(const comparison *run, bool turned, double searched, double proven,
                                nadir_difference *result)
{
    const nadir_difference_found *found = &run->found;
    const double nominal = run->problem[0].J - run->problem[1].J;
    /* within its bounds, also where rounding has it outside */
    const double f =
        run->lower <= run->upper ? fmin(fmax(found->point.f, run->lower), run->upper) : found->point.f;
    const double penalty = fabs(nominal - f);
    const double lower = fmin(run->lower, f);
    const double upper = fmax(run->upper, f);
    /* shifts of shaped returns cancel, their errors (model/landing.h) do not */
    const double errors = identical(run) ? 0 : 2 * run->problem[0].model->landing.slack + drift_of(run);
    const double slack = errors > 0 ? nadir_round_above(errors, fabs(lower) + fabs(upper), 1) : 0;
    const double rounding = 8 * (run->problem[0].J_error + run->problem[1].J_error) + slack +
                            nadir_round_error(128) * (fabs(run->problem[0].J) + fabs(run->problem[1].J));
    const double allowed = penalty > rounding ? run->settings.width * penalty
                           : slack > 0        ? fmin(4 * rounding, run->settings.width * largest_value(run))
                                              : 4 * rounding;
    const double sign = turned ? -1 : 1;
    const nadir_difference made = {
        .size = sizeof made,
        .nominal = sign * nominal,
        .worst = sign * f,
        .lower_bound = (turned ? -upper : lower) - slack,
        .upper_bound = (turned ? -lower : upper) + slack,
        .certified = run->proof != NADIR_PROOF_NONE && upper - lower + 2 * slack <= allowed,
        .certificate = nadir_proof_name(run->proof),
        .bound = run->bound,
        .decoupled_bound = sign * run->decoupled,
        .kappa = run->kappa,
        .stationarity_gap = found->gap,
        .method = "conditional-gradient",
        .stop_reason = nadir_stop_name(found->stop),
        .iterations = found->iterations,
        .kernel_minimum = run->facts.minimum,
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

/* Radius 0, or twice the same policy: nothing to search. */
static nadir_status compare_trivial(comparison *run)
{
    nadir_context *context = run->context;
    const bool same = identical(run);
    NADIR_TRY(nadir_difference_point_make(context, &run->search, &run->found.point));
    NADIR_TRY(nadir_kernel_create(context, run->problem[0].model, &run->found.point.kernel));
    NADIR_TRY(nadir_difference_point_evaluate(context, &run->search, &run->found.point));
    NADIR_TRY(check_found(run));
    run->lower = run->facts.lower;
    if (same) {
        run->found.point.f = run->lower = run->upper = 0;
    }
    run->found.converged = true;
    run->found.stop = NADIR_STOP_SOLVED;
    run->proof = NADIR_PROOF_RIGOROUS;
    run->bound = same ? "identical" : "nominal";
    run->decoupled = same ? 0 : run->lower;
    return NADIR_OK;
}

/* Without a discount: all kernels must end under both policies. */
static nadir_status check_ends(const comparison *run, int i)
{
    const nadir_problem *problem = &run->problem[i];
    char text[512];
    if (problem->gamma != 1 || problem->gap > 0 || problem->uncertainty->idle) {
        return NADIR_OK;
    }
    if (problem->uncertainty->domain == NADIR_DOMAIN_FREE) {
        return nadir_terminal_refuse(run->context, problem->model, "differences on domain free");
    }
    NADIR_TRY(nadir_trap_describe(run->context, problem, 1, text, sizeof text));
    return nadir_fail(run->context, NADIR_ERROR_ILL_POSED,
                      "%s, under one of the policies; take a smaller radius, or a discount below 1", text);
}

static nadir_status compare(comparison *run, const nadir_ball *ball, double *searched, double *proven)
{
    nadir_context *context = run->context;
    for (int i = 0; i < 2; i++) {
        NADIR_TRY(nadir_setup_make(context, run->solver[i], ball, false, &run->setup[i]));
        run->problem[i] = run->setup[i].problem;
        if (run->setup[i].uncertainty.weights != NULL) {
            return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                              "the difference of two policies is not there for norm chi2 and for weights of "
                              "entries: take norm 2 and a model without weights");
        }
        NADIR_TRY(check_ends(run, i));
    }
    NADIR_TRY(nadir_difference_search_make(context, &run->problem[0], &run->problem[1], &run->search));
    const double begun = nadir_clock_seconds();
    if (run->setup[0].uncertainty.idle || identical(run)) {
        return compare_trivial(run);
    }
    NADIR_TRY(evaluate_alone(run, ball));
    const double alone = run->alone[0].seconds_certify + run->alone[1].seconds_certify;
    NADIR_TRY(nadir_difference_search_run(context, &run->search, nadir_worst_kernel(run->alone_kernel[0]),
                                          nadir_worst_kernel(run->alone_kernel[1]), run->settings.tolerance,
                                          run->settings.iterations_limit, &run->found));
    for (int i = 0; i < 2; i++) {
        NADIR_TRY(nadir_perturbation_bound_make(context, &run->problem[i], run->settings.certify,
                                                &run->facts.perturbation[i]));
    }
    const double penalty = fabs(run->problem[0].J - run->problem[1].J - run->found.point.f);
    NADIR_TRY(nadir_difference_polish(context, &run->search,
                                      NADIR_DIFFERENCE_SLACK * run->settings.width * penalty, &run->found));
    const double found = nadir_clock_seconds();
    NADIR_TRY(check_found(run));
    if (run->settings.certify != NADIR_CERTIFY_OFF) {
        NADIR_TRY(bound(run));
    }
    *searched = found - begun - alone;
    *proven = nadir_clock_seconds() - found + alone;
    return NADIR_OK;
}

/* What an explanation needs of the second policy. */
static nadir_status share_other(nadir_context *context, const nadir_problem *problem, nadir_worst *worst)
{
    nadir_status status = nadir_policy_share(context, problem->model, problem->policy, &worst->other);
    if (status == NADIR_OK) {
        NADIR_NEW(context, worst->other_d, problem->states);
        memcpy(worst->other_d, problem->d, (size_t)problem->states * sizeof *worst->other_d);
    }
cleanup:
    return status;
}

static nadir_status make_worst(comparison *run, bool turned, nadir_worst **worst)
{
    nadir_evaluation evaluation = {.kappa = NAN, .minimum = run->facts.minimum};
    nadir_problem problem = run->problem[turned ? 1 : 0];
    problem.sign = turned ? -1 : 1;
    evaluation.candidate.kernel = run->found.point.kernel;
    run->found.point.kernel = NULL;
    nadir_worst *made = NULL;
    nadir_status status = nadir_worst_make(run->context, &problem, NULL, &evaluation, &made);
    nadir_evaluation_clear(run->context, &evaluation);
    if (status == NADIR_OK) {
        status = share_other(run->context, &run->problem[turned ? 0 : 1], made);
    }
    if (status != NADIR_OK) {
        nadir_worst_free(made);
        made = NULL;
    }
    *worst = made;
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
        const nadir_status made = make_worst(&run, turned, worst);
        status = made != NADIR_OK ? made : status;
    }
cleanup:
    clear(&run);
    return status;
}

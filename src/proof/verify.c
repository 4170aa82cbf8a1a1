/*
 * verify.c: a kernel and its witness verified: poses the problem anew and asks the checks one after another.
 * What does not hold is noted, and the rest is looked at all the same.
 */
#include "proof/verify.h"

#include "linalg/vector.h"
#include "model/landing.h"
#include "proof/bellman_bound.h"
#include "proof/breakdown.h"
#include "proof/free_bounds.h"
#include "proof/free_landing.h"
#include "proof/membership.h"
#include "proof/rank_one_check.h"
#include "solve/value.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Solves are as good as rounding allows: the evaluation may have had a backend that knows more than the one
 * here does at the accuracy of evaluations. */
#define TOLERANCE DBL_MIN

void nadir_verification_free(nadir_verification *verification)
{
    if (verification != NULL) {
        nadir_memory *memory = verification->memory;
        nadir_memory_release(memory, verification);
        nadir_memory_free(memory);
    }
}

const nadir_verify_check *nadir_verification_check(const nadir_verification *verification, int64_t index)
{
    return index >= 0 && index < verification->count ? &verification->checks[index] : NULL;
}

void nadir_verify_add(nadir_verify_run *run, const char *name, bool holds, const char *format, ...)
{
    nadir_verification *list = run->list;
    if (list->count < NADIR_VERIFY_CHECKS) {
        char *detail = list->details[list->count];
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(detail, NADIR_VERIFY_DETAIL, format, arguments);
        va_end(arguments);
        list->checks[list->count++] = (nadir_verify_check){name, holds, detail};
    }
    list->failed += !holds;
}

/* 1 - gamma or, without a discount, 1 over the nominal duration, once that is known. */
static double rest_of(const nadir_verify_run *run)
{
    const double rest = run->asked.problem.rest;
    return run->model->discount < 1 ? 1 - run->model->discount : rest > 0 ? rest : 1;
}

/* Whether a failure speaks about what was verified, not about the machine: it is then a check that fails, and
 * its sentence the detail. */
static bool is_finding(nadir_status status)
{
    return status == NADIR_ERROR_VERIFICATION || status == NADIR_ERROR_ILL_POSED ||
           status == NADIR_ERROR_NOT_CONVERGED || status == NADIR_ERROR_ARGUMENT ||
           status == NADIR_ERROR_UNSUPPORTED;
}

nadir_status nadir_verify_solve(nadir_verify_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy *occupancy = NULL;
    if (run->value.v != NULL) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_occupancy_create(run->context, run->kernel, run->policy, run->model->discount,
                                       run->backend, TOLERANCE, &occupancy));
    NADIR_CHECK(nadir_value_solve(run->context, run->kernel, run->policy, occupancy, &run->value));
cleanup:
    nadir_occupancy_free(run->context, occupancy);
    return status;
}

/* The problem with the ball of the kernel file, or of the witness where that does not say. *posed: there is
 * one. */
static nadir_status pose(nadir_verify_run *run, bool *posed)
{
    const nadir_kernel_parameters *said = &run->ball;
    const nadir_witness *witness = run->has_witness ? &run->witness : NULL;
    const nadir_solver_settings solving = {
        .size = sizeof solving, .backend = run->backend, .tolerance = TOLERANCE};
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.set = said->set == NADIR_SET_UNSAID && witness != NULL ? witness->set : said->set;
    ball.domain = said->domain == NADIR_DOMAIN_UNSAID && witness != NULL ? witness->domain : said->domain;
    ball.norm = isnan(said->norm) && witness != NULL ? witness->norm : said->norm;
    ball.radius = said->radius;
    ball.radius_count = said->radius_count;
    if (said->radius == NULL && witness != NULL) {
        ball.radius = witness->radius;
        ball.radius_count = witness->radius_count;
    }
    ball.scales = said->scales;
    *posed = false;
    NADIR_TRY(nadir_solver_create(run->context, run->model, run->policy, &solving, &run->solver));
    const bool optimistic = witness != NULL ? witness->optimistic : said->optimistic;
    const nadir_status status = nadir_setup_make(run->context, run->solver, &ball, optimistic, &run->asked);
    if (status == NADIR_ERROR_ARGUMENT) {
        nadir_verify_add(run, "ball", false, "%s", nadir_context_error(run->context));
        return NADIR_OK;
    }
    NADIR_TRY(status);
    run->scale = fmax(nadir_vector_largest(run->model->states, run->asked.problem.v), 1e-300);
    *posed = true;
    return NADIR_OK;
}

static double drift_of(const nadir_verify_run *run)
{
    return nadir_landing_drift(run->model, 1 / run->asked.problem.gap);
}

/* Bounds on the return of the kernel, or one on that of all kernels, as the user counts: signs turned back, and
 * rewards as the model has them. */
static double low_of(const nadir_verify_run *run)
{
    const bool best = run->asked.problem.model != NULL && run->asked.problem.sign < 0;
    return nadir_landing_lower(run->model, (best ? -run->high : run->low) - drift_of(run));
}

static double high_of(const nadir_verify_run *run)
{
    const bool best = run->asked.problem.model != NULL && run->asked.problem.sign < 0;
    return nadir_landing_upper(run->model, (best ? -run->low : run->high) + drift_of(run));
}

static double proven_of(const nadir_verify_run *run)
{
    return run->asked.problem.sign > 0 ? nadir_landing_lower(run->model, run->lower - drift_of(run))
                                       : nadir_landing_upper(run->model, drift_of(run) - run->lower);
}

/* A number of the witness, as the problem has signs and rewards. */
static double claim_of(const nadir_verify_run *run, double number)
{
    return run->asked.problem.sign * nadir_landing_shaped_return(run->model, number);
}

static nadir_verify_result make_result(const nadir_verify_run *run)
{
    const nadir_uncertainty *set = &run->asked.uncertainty;
    const nadir_problem *problem = &run->asked.problem;
    const bool posed = problem->model != NULL;
    const double sign = posed ? problem->sign : 1;
    return (nadir_verify_result){
        .size = sizeof(nadir_verify_result),
        .verified = run->list->failed == 0,
        .checks_count = run->list->count,
        .set = set->asked,
        .domain = set->asked_domain,
        .norm = posed ? nadir_uncertainty_norm(set) : NAN,
        .radius = posed ? set->radius : NAN,
        .optimistic = sign < 0,
        .scaled = posed && set->asked_scales != NULL,
        .nominal_return = posed ? nadir_landing_return(run->model, sign * problem->J) : NAN,
        .return_low = low_of(run),
        .return_high = high_of(run),
        .bound_proven = isinf(run->lower) ? NAN : proven_of(run),
        .certificate = run->certificate,
    };
}

void nadir_verify_clear(nadir_verify_run *run)
{
    nadir_value_clear(run->context, &run->value);
    nadir_setup_clear(run->context, &run->asked);
    nadir_solver_free(run->solver);
    if (run->has_witness) {
        nadir_witness_clear(run->context, &run->witness);
    }
    if (run->kernel != NULL) {
        nadir_kernel_free(run->kernel);
        nadir_kernel_parameters_clear(run->context, &run->ball);
    }
    nadir_release(run->context, run->d_bar);
    nadir_verification_free(run->list);
}

/* The first thing that does not hold. */
static nadir_status refuse(nadir_context *context, const nadir_verification *list)
{
    int64_t first = 0;
    while (list->checks[first].holds) {
        first++;
    }
    return nadir_fail(context, NADIR_ERROR_VERIFICATION, "%lld of %lld checks failed; the first: %s",
                      (long long)list->failed, (long long)list->count, list->checks[first].detail);
}

nadir_status nadir_verify_start(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                                const char *backend, nadir_verify_run *run)
{
    nadir_status status = NADIR_OK;
    *run = (nadir_verify_run){.context = context,
                              .model = model,
                              .policy = policy,
                              .backend = backend,
                              .low = -INFINITY,
                              .high = INFINITY,
                              .lower = -INFINITY,
                              .kappa = NAN};
    NADIR_CHECK(nadir_model_check_one_process(context, model, "verification"));
    NADIR_NEW_ZERO(context, run->list, 1);
    run->list->memory = nadir_memory_retain(context->memory);
cleanup:
    return status;
}

nadir_status nadir_verify_conclude(nadir_verify_run *run, nadir_verify_result *result,
                                   nadir_verification **verification)
{
    const nadir_verify_result made = make_result(run);
    if (!nadir_result_copy(result, &made, sizeof made)) {
        return nadir_fail(run->context, NADIR_ERROR_ARGUMENT, "the size of the result is not set");
    }
    const nadir_status status = run->list->failed > 0 ? refuse(run->context, run->list) : NADIR_OK;
    *verification = run->list;
    run->list = NULL;
    return status;
}

/* Numbers that are no bounds must agree to this share of the largest value; bounds closer than that are the
 * same. */
#define AGREEMENT 1e-9

/*
 * What a witness says besides bounds, made anew: the breakdown radius, by the proof that it
 * names; kappa and the bounds of occupancies, which the proof of the lower bound has found. See verify.h.
 */

/* Proofs from the same numbers differ by rounding; kappa is found by halving, and may miss a step by it. */
#define OCCUPANCIES 1e-6
#define ESTIMATE    1e-6       /* of Lanczos iterations */
#define KAPPA_STEP  (1.0 / 64) /* of kappa, and half of it more */

/* ------------------------------------------------------------------------------------- breakdown */

/* By a proof at p = 2, or by the estimate. What products show hangs on the backend, which may have been
 * another one in the evaluation. */
static nadir_status find_by_norm(nadir_verify_run *run, nadir_breakdown_proof how, double claimed,
                                 double *found)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = &run->asked.problem;
    const double radius = problem->uncertainty->radius;
    nadir_uncertainty two = {0};
    nadir_problem enclosing;
    double wider;
    double low = 0;
    bool converged = false;
    NADIR_CHECK(nadir_free_enclosing_ball(run->context, problem, &two, &enclosing, &wider));
    if (how >= NADIR_BREAKDOWN_PRODUCTS && how <= NADIR_BREAKDOWN_CHOLESKY) {
        NADIR_CHECK(nadir_breakdown_low(run->context, &enclosing, how, false, wider * radius, &low));
    } else if (how == NADIR_BREAKDOWN_LANCZOS) {
        NADIR_CHECK(nadir_breakdown_estimate(run->context, &enclosing, &low, &converged));
        low = converged ? low * (1 + ESTIMATE) : 0;
    }
    *found = nadir_breakdown_for_norm(problem, low);
    if (how == NADIR_BREAKDOWN_PRODUCTS && *found < claimed * (1 - AGREEMENT)) {
        NADIR_CHECK(nadir_breakdown_low(run->context, &enclosing, NADIR_BREAKDOWN_PRODUCTS, true, 0, &low));
        *found = fmax(*found, nadir_breakdown_for_norm(problem, low));
    }
cleanup:
    nadir_uncertainty_clear(run->context, &two);
    return status;
}

static nadir_status find_breakdown(nadir_verify_run *run, nadir_breakdown_proof how, double claimed,
                                   double *found)
{
    const nadir_problem *problem = &run->asked.problem;
    const nadir_uncertainty *set = problem->uncertainty;
    bool exact;
    double lower;
    *found = 0;
    if (set->domain != NADIR_DOMAIN_FREE) {
        return NADIR_OK; /* there is none */
    }
    if (set->set != NADIR_SET_NONRECT) {
        if (how == NADIR_BREAKDOWN_CONTRACTION && run->witness.v != NULL) {
            NADIR_TRY(nadir_rectangular_free_bound(run->context, problem, 1, run->witness.v, &exact, &lower,
                                                   found));
            *found *= set->radius;
        }
    } else if (how == NADIR_BREAKDOWN_ENUMERATION) {
        NADIR_TRY(set->p == 1 ? nadir_l1_breakdown_low(run->context, problem, claimed, found) : NADIR_OK);
    } else {
        NADIR_TRY(find_by_norm(run, how, claimed, found));
    }
    return NADIR_OK;
}

/* What the witness says besides (verify.c): of the breakdown radius, and of kappa and occupancies,
 * which the proof of the lower bound has made anew. */
static nadir_status check_breakdown(nadir_verify_run *run)
{
    const double claimed = run->witness.breakdown_low;
    const char *how = run->witness.breakdown_proof != NULL ? run->witness.breakdown_proof : "none";
    double found = 0;
    if (isnan(claimed)) {
        return NADIR_OK;
    }
    const nadir_status status = find_breakdown(run, nadir_breakdown_proof_find(how), claimed, &found);
    if (status != NADIR_OK && !is_finding(status)) {
        return status;
    }
    const bool holds = status == NADIR_OK && found >= claimed * (1 - AGREEMENT);
    nadir_verify_add(run, "breakdown_low", holds,
                     "breakdown is claimed to be beyond radius %.17g (%s); found %.17g", claimed, how, found);
    return NADIR_OK;
}

/* ----------------------------------------------------------------------------------- occupancies */

static bool has_kappa(const nadir_verify_run *run)
{
    const double claimed = run->witness.kappa;
    return isnan(claimed) || run->kappa <= claimed + KAPPA_STEP * (fabs(claimed) + 0.5);
}

/* The first state whose occupancy may be larger than is claimed; `states`: there is none. */
static int64_t find_larger(const nadir_verify_run *run)
{
    const double most = 1 / rest_of(run); /* visits of all states */
    int64_t s = 0;
    while (s < run->model->states && run->d_bar != NULL &&
           run->d_bar[s] <= run->witness.d_bar[s] * (1 + OCCUPANCIES) + AGREEMENT * most) {
        s++;
    }
    return s;
}

static void check_occupancies(nadir_verify_run *run)
{
    if (!isnan(run->witness.kappa)) {
        nadir_verify_add(run, "kappa", has_kappa(run), "kappa is claimed to be %.6g; found %.6g",
                         run->witness.kappa, run->kappa);
    }
    if (run->witness.d_bar != NULL) {
        const int64_t s = find_larger(run);
        const bool holds = s == run->model->states;
        nadir_verify_add(run, "d_bar", holds,
                         holds ? "no kernel of the ball visits a state more often than is claimed"
                               : "state %lld may be visited more often than is claimed",
                         (long long)s);
    }
}

/*
 * The kernel of the file: whether it lies in the set, and bounds on its return; and what the
 * witness claims of them. See verify.h.
 */

/* A bound is as good as another if it is further from the return by no more than this share. */
#define SAME 1e-6
/* A kernel lies in its ball if it is outside by no more than this share. */
#define EXCESS 1e-9

/* What a kernel of the domain `free` is measured by: it may have as many entries as rows times states. */
static void take_rank_one(const nadir_rank_one_check *check, nadir_membership *membership)
{
    *membership = (nadir_membership){
        .distance = check->norm,
        .excess = check->excess,
        .excess_row = -1,
        .row_sum = check->row_sum,
        .minimum = check->minimum,
        .minimum_row = -1,
    };
}

static void judge_domain(nadir_verify_run *run, const nadir_membership *found)
{
    const nadir_domain domain = run->asked.uncertainty.domain;
    char place[NADIR_LABEL_LENGTH];
    if (domain == NADIR_DOMAIN_FREE) {
        nadir_verify_add(run, "domain", true,
                         "the domain is free: entries may be negative (the smallest is %g)", found->minimum);
    } else if (found->minimum < 0) {
        const int64_t row = found->minimum_row;
        nadir_verify_add(run, "domain", false, "the kernel has the negative entry %g in %s", found->minimum,
                         nadir_model_label(run->model, nadir_model_row_state(run->model, row), row, place));
    } else if (domain == NADIR_DOMAIN_SUPPORT && found->off_support > 0) {
        nadir_verify_add(run, "domain", false,
                         "the kernel has a successor of probability %g that the nominal one does not have",
                         found->off_support);
    } else if (found->outside > NADIR_MEMBERSHIP_OUTSIDE) {
        const int64_t row = found->outside_row;
        nadir_verify_add(run, "domain", false, "the kernel leaves its box in %s",
                         nadir_model_label(run->model, nadir_model_row_state(run->model, row), row, place));
    } else {
        nadir_verify_add(run, "domain", true, "no entry of the kernel is negative%s",
                         run->asked.uncertainty.lower != NULL ? ", and all lie in the box"
                         : domain == NADIR_DOMAIN_SUPPORT     ? ", and no successor is new"
                                                              : "");
    }
}

static void judge_membership(nadir_verify_run *run, const nadir_membership *found)
{
    const nadir_uncertainty *set = &run->asked.uncertainty;
    /* entries of rows that sum to one are as large as their negative ones, or at most one */
    const double size = fmax(1, -found->minimum);
    const bool sums = found->row_sum <= (double)run->model->states * NADIR_MEMBERSHIP_ROUNDING * size;
    char place[NADIR_LABEL_LENGTH] = "";
    nadir_verify_add(run, "row_sums", sums, "every row of the kernel sums to 1 within %.2g%s", found->row_sum,
                     sums ? "" : ", which is more than rounding");
    judge_domain(run, found);
    if (found->excess <= EXCESS) {
        nadir_verify_add(run, "distance", true,
                         "the kernel lies in the ball: at distance %.17g, radius %.17g", found->distance,
                         set->radius);
        return;
    }
    const int64_t row = found->excess_row;
    if (row >= 0) {
        (void)nadir_model_label(run->model, nadir_model_row_state(run->model, row), row, place);
    }
    nadir_verify_add(run, "distance", false, "the kernel lies outside the ball by a share of %g%s%s",
                     found->excess, row >= 0 ? ": " : "", place);
}

/* Numbers closer than this are the same; what underflows is in every bound of the return. */
static double agreement(const nadir_verify_run *run)
{
    return AGREEMENT * run->scale + 64 * DBL_MIN / rest_of(run);
}

/* Whatever its rows, a kernel of distributions returns what the rewards allow. */
static void narrow_by_rewards(nadir_verify_run *run, const nadir_membership *found)
{
    double low;
    double high;
    if (run->asked.uncertainty.domain != NADIR_DOMAIN_FREE && found->minimum >= 0) {
        /* row_sum is off by the rounding of the sums themselves */
        const double stray = found->row_sum + (double)run->model->states * DBL_EPSILON;
        nadir_reward_bounds(run->context, &run->asked.problem, stray, &low, &high);
        run->low = fmax(run->low, low);
        run->high = fmin(run->high, high);
    }
}

/* What the rows say with v: [states], whoever computed it. */
static nadir_status narrow_by_rows(nadir_verify_run *run, const double *v)
{
    nadir_value_check check;
    const double gamma = run->model->discount;
    NADIR_TRY(nadir_value_check_rows(run->context, run->kernel, run->policy, gamma, v, &check));
    NADIR_TRY(
        nadir_value_check_return(run->context, run->kernel, run->policy, gamma, v, run->value.d, &check));
    run->low = fmax(run->low, run->asked.problem.sign > 0 ? check.lower : -check.upper);
    run->high = fmin(run->high, run->asked.problem.sign > 0 ? check.upper : -check.lower);
    return NADIR_OK;
}

/* The return of any kernel, from its rows. Next to gamma = 1 the rounding of one v leaves bounds that another
 * one misses: that of the witness is tried, too. */
static nadir_status enclose_by_rows(nadir_verify_run *run)
{
    nadir_status status = NADIR_OK;
    const int64_t states = run->model->states;
    double *v = NULL;
    NADIR_CHECK(nadir_verify_solve(run));
    NADIR_CHECK(narrow_by_rows(run, run->value.v));
    if (run->witness.v != NULL) {
        NADIR_NEW(run->context, v, states);
        for (int64_t s = 0; s < states; s++) { /* with the signs of the model's rewards */
            v[s] = run->asked.problem.sign * run->witness.v[s];
        }
        NADIR_CHECK(narrow_by_rows(run, v));
    }
cleanup:
    nadir_release(run->context, v);
    return status;
}

static nadir_status measure(nadir_verify_run *run, nadir_membership *found)
{
    const nadir_problem *problem = &run->asked.problem;
    const double *b;
    const double *k;
    const bool landing = problem->landing != 0; /* which that check knows nothing of */
    const bool rank_one = !landing && nadir_kernel_rank_one(run->kernel, &b, &k);
    const nadir_rank_one_question question = {.kernel = run->kernel, .factor = 1};
    nadir_rank_one_check check;
    if (rank_one) {
        NADIR_TRY(nadir_rank_one_check_kernel(run->context, problem, &question, &check));
        run->low = check.lower;
        run->high = check.upper;
        take_rank_one(&check, found);
    } else {
        NADIR_TRY(enclose_by_rows(run));
    }
    if (landing && problem->uncertainty->domain == NADIR_DOMAIN_FREE && !problem->uncertainty->idle) {
        nadir_landing_answer answer; /* rows say nothing of kernels with negative entries */
        NADIR_TRY(nadir_landing_check(run->context, problem, NADIR_CERTIFY_AUTO, run->kernel, run->value.v, 0,
                                      &answer));
        run->low = fmax(run->low, answer.lower);
        run->high = fmin(run->high, answer.upper);
    }
    if (!rank_one || problem->uncertainty->domain != NADIR_DOMAIN_FREE) {
        NADIR_TRY(nadir_membership_measure(run->context, run->kernel, problem->uncertainty, 1, found));
    }
    narrow_by_rewards(run, found);
    return NADIR_OK;
}

/* The kernel lies in the set; its return. */
static nadir_status check_kernel(nadir_verify_run *run)
{
    nadir_membership found;
    const nadir_status status = measure(run, &found);
    if (is_finding(status)) {
        nadir_verify_add(run, "kernel", false, "%s", nadir_context_error(run->context));
        return NADIR_OK;
    }
    if (status == NADIR_OK) {
        judge_membership(run, &found);
        const bool known = isfinite(run->low) && isfinite(run->high);
        nadir_verify_add(run, "return", known, "the return of the kernel is %.17g to %.17g%s", low_of(run),
                         high_of(run), known ? "" : ": not enough is known of it");
    }
    return status;
}

/* ----------------------------------------------------------------------------------------- claims */

/* A number that is no bound. NaN: not claimed. Next to breakdown returns are far larger than the values of the nominal
 * kernel, and two solves agree to a share of what they find. */
static void compare_number(nadir_verify_run *run, const char *name, const char *what, double claimed,
                           double low, double high)
{
    const double slack = agreement(run) + AGREEMENT * fmin(fabs(low), fabs(high));
    if (!isnan(claimed)) {
        const bool holds = claimed >= low - slack && claimed <= high + slack && isfinite(high - low);
        nadir_verify_add(run, name, holds, "the %s is claimed to be %.17g; found %.17g to %.17g", what,
                         claimed, low, high);
    }
}

/* The return of the kernel, or of the nominal one, which lies in every set, is not above what is claimed. */
static void check_upper(nadir_verify_run *run, double number)
{
    const double sign = run->asked.problem.sign;
    const double claimed = claim_of(run, number);
    const bool sharp = run->high - run->low <= agreement(run);
    if (!isnan(claimed)) {
        const double nominal = run->asked.problem.J + run->asked.problem.J_error +
                               64 * DBL_MIN / rest_of(run); /* what underflows */
        const bool holds = claimed >= fmin(run->high, nominal) || (sharp && claimed >= run->low);
        nadir_verify_add(run, sign > 0 ? "upper_bound" : "lower_bound", holds,
                         "the kernel %s the bound %.17g%s%s",
                         holds                 ? "attains"
                         : claimed >= run->low ? "is not known to attain"
                                               : "does not attain",
                         number, sign > 0 ? " from above" : " from below",
                         holds || claimed < run->low ? "" : ": its return is not known well enough");
    }
}

/* How good a certificate is; those that there are not are better than any. */
static int rank(const char *certificate)
{
    static const char *const names[] = {"none", "numerical", "rigorous"};
    int place = 0;
    while (certificate != NULL && place < 3 && strcmp(certificate, names[place]) != 0) {
        place++;
    }
    return place;
}

static nadir_status check_lower(nadir_verify_run *run, double number)
{
    const double claimed = claim_of(run, number);
    static const char *const names[] = {"none", "numerical", "rigorous"};
    const nadir_problem *problem = &run->asked.problem;
    const char *name = problem->sign > 0 ? "lower_bound" : "upper_bound";
    const char *bound = run->witness.bound != NULL ? run->witness.bound : "none";
    const char *reason = "";
    nadir_proof proof = NADIR_PROOF_NONE;
    if (isnan(claimed)) {
        const bool none = rank(run->witness.certificate) == 0;
        nadir_verify_add(run, "certificate", none,
                         none ? "no bound on the other side is claimed"
                              : "a certificate is claimed, but no bound");
        return NADIR_OK;
    }
    /* Proofs from the same numbers differ by rounding, and those that are made anew from the kernel by what
     * their iterations leave: next to nothing of bounds that are far from it. */
    const double slack = AGREEMENT * fabs(problem->J - run->low) + SAME * fabs(run->low - claimed) +
                         64 * DBL_EPSILON * run->scale;
    const double enough = claimed - (isfinite(slack) ? slack : 0);
    const nadir_status status = nadir_verify_lower(run, claimed, enough, &run->lower, &proof, &reason);
    if (is_finding(status)) {
        run->lower = -INFINITY;
        reason = nadir_context_error(run->context);
    } else {
        NADIR_TRY(status);
    }
    const bool holds = run->lower >= enough;
    run->certificate = names[proof];
    if (isinf(run->lower)) {
        nadir_verify_add(run, name, false, "the bound %.17g (%s) could not be proven: %s", number, bound,
                         reason);
    } else {
        nadir_verify_add(run, name, holds, "the bound %.17g (%s): %.17g was proven again", number, bound,
                         proven_of(run));
    }
    const bool known = rank(run->witness.certificate) <= (int)proof;
    nadir_verify_add(run, "certificate", known, "the certificate is claimed to be %s, and is %s",
                     run->witness.certificate != NULL ? run->witness.certificate : "none", names[proof]);
    return NADIR_OK;
}

/* What the witness claims. */
static nadir_status check_claims(nadir_verify_run *run)
{
    const nadir_witness *witness = &run->witness;
    const nadir_problem *problem = &run->asked.problem;
    const bool worst = problem->sign > 0;
    const double J = problem->sign * problem->J;
    compare_number(run, "nominal_return", "nominal return", witness->nominal_return,
                   nadir_landing_lower(run->model, J - problem->J_error - drift_of(run)),
                   nadir_landing_upper(run->model, J + problem->J_error + drift_of(run)));
    compare_number(run, "robust_return", "return of the kernel", witness->robust_return, low_of(run),
                   high_of(run));
    compare_number(run, "lambda", "penalty of the kernel", witness->lambda,
                   problem->J - problem->J_error - run->high, problem->J + problem->J_error - run->low);
    check_upper(run, worst ? witness->upper_bound : witness->lower_bound);
    NADIR_TRY(check_lower(run, worst ? witness->lower_bound : witness->upper_bound));
    check_occupancies(run);
    return check_breakdown(run);
}

nadir_status nadir_verify_prove(nadir_verify_run *run)
{
    bool posed;
    NADIR_TRY(pose(run, &posed));
    if (posed) {
        NADIR_TRY(check_kernel(run));
        if (run->has_witness) {
            NADIR_TRY(check_claims(run));
        }
    }
    return NADIR_OK;
}

/*
 * verify_kernel.c: the kernel of the file: whether it lies in the set, and bounds on its return; and what the
 * witness claims of them. See verify.h.
 */
#include "proof/breakdown.h"
#include "proof/verify.h"

#include "proof/membership.h"
#include "proof/rank_one_check.h"
#include "solve/value.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Numbers that are no bounds must agree to this share of the largest value; bounds closer than that are the
 * same. */
#define AGREEMENT 1e-9
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
    } else {
        nadir_verify_add(run, "domain", true, "no entry of the kernel is negative%s",
                         domain == NADIR_DOMAIN_SUPPORT ? ", and no successor is new" : "");
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
    return AGREEMENT * run->scale + 64 * DBL_MIN / (1 - run->model->discount);
}

/* Whatever its rows, a kernel of distributions returns what the rewards allow. */
static void narrow_by_rewards(nadir_verify_run *run, const nadir_membership *found)
{
    double low;
    double high;
    if (run->asked.uncertainty.domain != NADIR_DOMAIN_FREE && found->minimum >= 0) {
        /* row_sum is off by the rounding of the sums themselves */
        const double stray = found->row_sum + (double)run->model->states * DBL_EPSILON;
        nadir_verify_rewards(&run->asked.problem, stray, &low, &high);
        run->low = fmax(run->low, low);
        run->high = fmin(run->high, high);
    }
}

/* What the rows say with v: [states], whoever computed it. */
static nadir_status narrow_by_rows(nadir_verify_run *run, const double *v)
{
    nadir_status status = NADIR_OK;
    nadir_value_check check;
    NADIR_CHECK(
        nadir_value_check_rows(run->context, run->kernel, run->policy, run->model->discount, v, &check));
    run->low = fmax(run->low, run->asked.problem.sign > 0 ? check.lower : -check.upper);
    run->high = fmin(run->high, run->asked.problem.sign > 0 ? check.upper : -check.lower);
cleanup:
    return status;
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
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = &run->asked.problem;
    const double *b;
    const double *k;
    const bool rank_one = nadir_kernel_rank_one(run->kernel, &b, &k);
    const bool whole = run->model->states <= NADIR_COLUMNS_STATES;
    nadir_rank_one_check check;
    if (rank_one) {
        NADIR_CHECK(nadir_rank_one_check_kernel(run->context, problem, 1, run->kernel, whole, &check));
        if (whole && !(isfinite(check.lower) && isfinite(check.upper))) { /* the evaluation may know more */
            NADIR_CHECK(nadir_rank_one_check_kernel(run->context, problem, 1, run->kernel, false, &check));
        }
        run->low = check.lower;
        run->high = check.upper;
        take_rank_one(&check, found);
    } else {
        NADIR_CHECK(enclose_by_rows(run));
    }
    if (!rank_one || problem->uncertainty->domain != NADIR_DOMAIN_FREE) {
        NADIR_CHECK(nadir_membership_measure(run->context, run->kernel, problem->uncertainty, 1, found));
    }
    narrow_by_rewards(run, found);
cleanup:
    return status;
}

nadir_status nadir_verify_kernel(nadir_verify_run *run)
{
    nadir_membership found;
    const nadir_status status = measure(run, &found);
    if (nadir_verify_is_finding(status)) {
        nadir_verify_add(run, "kernel", false, "%s", nadir_context_error(run->context));
        return NADIR_OK;
    }
    if (status == NADIR_OK) {
        judge_membership(run, &found);
        const bool known = isfinite(run->low) && isfinite(run->high);
        const bool best = run->asked.problem.sign < 0;
        nadir_verify_add(run, "return", known, "the return of the kernel is %.17g to %.17g%s",
                         best ? -run->high : run->low, best ? -run->low : run->high,
                         known ? "" : ": not enough is known of it");
    }
    return status;
}

/* ----------------------------------------------------------------------------------------- claims */

/* A number that is no bound. NaN: not claimed. */
static void compare_number(nadir_verify_run *run, const char *name, const char *what, double claimed,
                           double low, double high)
{
    const double slack = agreement(run);
    if (!isnan(claimed)) {
        const bool holds = claimed >= low - slack && claimed <= high + slack && isfinite(high - low);
        nadir_verify_add(run, name, holds, "the %s is claimed to be %.17g; found %.17g to %.17g", what,
                         claimed, low, high);
    }
}

/* The return of the kernel is not above what is claimed. */
static void check_upper(nadir_verify_run *run, double claimed)
{
    const double sign = run->asked.problem.sign;
    const bool sharp = run->high - run->low <= agreement(run);
    if (!isnan(claimed)) {
        const bool holds = claimed >= run->high || (sharp && claimed >= run->low);
        nadir_verify_add(run, sign > 0 ? "upper_bound" : "lower_bound", holds,
                         "the kernel %s the bound %.17g%s%s",
                         holds                 ? "attains"
                         : claimed >= run->low ? "is not known to attain"
                                               : "does not attain",
                         sign * claimed, sign > 0 ? " from above" : " from below",
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

static nadir_status check_lower(nadir_verify_run *run, double claimed)
{
    nadir_status status = NADIR_OK;
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
    status = nadir_verify_lower(run, claimed, enough, &run->lower, &proof, &reason);
    if (nadir_verify_is_finding(status)) {
        run->lower = -INFINITY;
        reason = nadir_context_error(run->context);
        status = NADIR_OK;
    }
    NADIR_CHECK(status);
    const bool holds = run->lower >= enough;
    run->certificate = names[proof];
    if (isinf(run->lower)) {
        nadir_verify_add(run, name, false, "the bound %.17g (%s) could not be proven: %s",
                         problem->sign * claimed, bound, reason);
    } else {
        nadir_verify_add(run, name, holds, "the bound %.17g (%s): %.17g was proven again",
                         problem->sign * claimed, bound, problem->sign * run->lower);
    }
    const bool known = rank(run->witness.certificate) <= (int)proof;
    nadir_verify_add(run, "certificate", known, "the certificate is claimed to be %s, and is %s",
                     run->witness.certificate != NULL ? run->witness.certificate : "none", names[proof]);
cleanup:
    return status;
}

nadir_status nadir_verify_claims(nadir_verify_run *run)
{
    nadir_status status = NADIR_OK;
    const nadir_witness *witness = &run->witness;
    const nadir_problem *problem = &run->asked.problem;
    const bool worst = problem->sign > 0;
    const double J = problem->sign * problem->J;
    compare_number(run, "nominal_return", "nominal return", witness->nominal_return, J - problem->J_error,
                   J + problem->J_error);
    compare_number(run, "robust_return", "return of the kernel", witness->robust_return,
                   worst ? run->low : -run->high, worst ? run->high : -run->low);
    compare_number(run, "lambda", "penalty of the kernel", witness->lambda,
                   problem->J - problem->J_error - run->high, problem->J + problem->J_error - run->low);
    check_upper(run, worst ? witness->upper_bound : -witness->lower_bound);
    NADIR_CHECK(check_lower(run, worst ? witness->lower_bound : -witness->upper_bound));
    nadir_verify_occupancies(run);
    NADIR_CHECK(nadir_verify_breakdown(run));
cleanup:
    return status;
}

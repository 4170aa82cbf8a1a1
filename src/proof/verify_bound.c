/*
 * verify_bound.c: the bound below which no kernel of the set falls, proven again from the numbers of the
 * witness, by the check of the name that the witness gives; see verify.h and docs/robust.md.
 */
#include "proof/bellman_bound.h"
#include "proof/derivation.h"
#include "proof/free_bounds.h"
#include "proof/free_landing.h"
#include "proof/rank_one_check.h"
#include "proof/verify.h"
#include "solve/value.h"

#include <float.h>
#include <math.h>

/* What a proof has to go by, and what comes of it. */
typedef struct bound {
    nadir_verify_run *run;
    const nadir_problem *problem;
    double claimed;
    double enough; /* a bound this good will do: `claimed` but for rounding */
    double lower;  /* -infinity so far */
    nadir_proof proof;
    const char *reason;
} bound;

static nadir_status lack(bound *self, const char *reason)
{
    self->reason = reason;
    return NADIR_OK;
}

/* The penalty that a bound leaves open. */
static double penalty_of(const bound *self, double lower)
{
    return self->problem->J - self->problem->J_error - lower;
}

/* One that leaves `enough` once it is turned into a bound, rounding and all. */
static double wanted_penalty(const bound *self)
{
    const nadir_problem *problem = self->problem;
    const double penalty = penalty_of(self, self->enough);
    return penalty - 8 * DBL_EPSILON * (fabs(problem->J) + problem->J_error + fabs(penalty));
}

/* D may be formed where the evaluation did it, whatever the size. */
static bool may_form_columns(const bound *self)
{
    return nadir_breakdown_proof_find(self->run->witness.breakdown_proof) > NADIR_BREAKDOWN_PRODUCTS;
}

static nadir_status prove_nothing(bound *self)
{
    return lack(self, "there is no proof of this name");
}

static nadir_status prove_nominal(bound *self)
{
    nadir_value_check check;
    const nadir_problem *problem = self->problem;
    if (!problem->uncertainty->idle) {
        return lack(self, "the ball holds more than the nominal kernel");
    }
    const nadir_value *value = &self->run->solver->value;
    NADIR_TRY(nadir_value_check_rows(self->run->context, problem->kernel, problem->policy, problem->gamma,
                                     value->v, &check));
    NADIR_TRY(nadir_value_check_return(self->run->context, problem->kernel, problem->policy, problem->gamma,
                                       value->v, value->d, &check));
    self->lower = problem->sign > 0 ? check.lower : -check.upper;
    self->proof = NADIR_PROOF_RIGOROUS;
    return NADIR_OK;
}

static nadir_status prove_rewards(bound *self)
{
    if (self->problem->uncertainty->domain == NADIR_DOMAIN_FREE) {
        return lack(self, "it is one of the domains simplex and support");
    }
    double upper;
    nadir_reward_bounds(self->run->context, self->problem, 0, &self->lower, &upper);
    self->proof = NADIR_PROOF_RIGOROUS;
    return lack(self, "the rewards over 1 - gamma do not show it");
}

/* Proofs by kernels of rank one: rows that pay on landing answer each in its own way. */
static const char needs_separable[] = "it is one of rewards that are paid for each row, or are separable";

/* The L_2 ball of radius beta, from a pair. */
static nadir_status prove_by_pair(bound *self, const nadir_problem *problem, double beta, const double *c,
                                  const double *k)
{
    nadir_context *context = self->run->context;
    const nadir_certify effort = may_form_columns(self) ? NADIR_CERTIFY_STRICT : NADIR_CERTIFY_AUTO;
    const nadir_spectral_question question = {.beta = beta, .c = c, .k = k};
    nadir_known_breakdown known;
    double lambda_high;
    bool inside;
    if (problem->landing != 0) {
        return lack(self, needs_separable);
    }
    if (c == NULL || k == NULL) {
        return lack(self, "the witness does not have the pair that it takes");
    }
    NADIR_TRY(nadir_breakdown_settle(context, problem, NADIR_CERTIFY_AUTO, beta, &known, &inside));
    NADIR_TRY(nadir_penalty_bound(context, problem, effort, &question, wanted_penalty(self), &known,
                                  &lambda_high, &self->proof));
    self->lower = nadir_free_lower(problem, lambda_high);
    self->reason = "the ball is not shown to end before breakdown";
    return NADIR_OK;
}

static nadir_status prove_spectral(bound *self)
{
    const nadir_uncertainty *set = self->problem->uncertainty;
    if (set->set != NADIR_SET_NONRECT || set->p != 2) {
        return lack(self, "it is one of the non-rectangular ball of norm 2");
    }
    return prove_by_pair(self, self->problem, set->radius, self->run->witness.c, self->run->witness.k);
}

static nadir_status prove_enclosing(bound *self)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = self->problem->uncertainty;
    nadir_uncertainty two = {0};
    nadir_problem enclosing;
    double wider;
    if (set->set != NADIR_SET_NONRECT) {
        return lack(self, "it is one of the non-rectangular ball");
    }
    NADIR_CHECK(nadir_free_enclosing_ball(self->run->context, self->problem, &two, &enclosing, &wider));
    NADIR_CHECK(
        prove_by_pair(self, &enclosing, wider * set->radius, self->run->witness.c2, self->run->witness.k2));
cleanup:
    nadir_uncertainty_clear(self->run->context, &two);
    return status;
}

static nadir_status prove_enumeration(bound *self)
{
    const nadir_uncertainty *set = self->problem->uncertainty;
    double lambda_high;
    if (set->set != NADIR_SET_NONRECT || set->p != 1) {
        return lack(self, "it is one of the non-rectangular ball of norm 1");
    }
    if (self->problem->landing != 0) {
        return lack(self, needs_separable);
    }
    NADIR_TRY(nadir_l1_bound(self->run->context, self->problem, set->radius,
                             fmax(0, penalty_of(self, self->claimed)), &lambda_high));
    self->lower = nadir_free_lower(self->problem, lambda_high);
    if (self->lower < self->enough && isfinite(self->run->witness.lambda)) { /* as the evaluation began */
        NADIR_TRY(nadir_l1_bound(self->run->context, self->problem, set->radius,
                                 fmax(0, self->run->witness.lambda), &lambda_high));
        self->lower = fmax(self->lower, nadir_free_lower(self->problem, lambda_high));
    }
    self->proof = NADIR_PROOF_RIGOROUS;
    self->reason = "the ball is not shown to end before breakdown";
    return NADIR_OK;
}

/* Valid kernels are kernels of the free domain. */
static nadir_status prove_free(bound *self)
{
    const nadir_uncertainty *set = self->problem->uncertainty;
    if (set->p == 1) {
        return prove_enumeration(self);
    }
    if (set->set != NADIR_SET_NONRECT || set->p != 2) {
        return lack(self, "it is one of the non-rectangular ball of norm 1 or 2");
    }
    return prove_by_pair(self, self->problem, set->radius, self->run->witness.c2, self->run->witness.k2);
}

/* "contraction", "shaped" and "second-order" of the non-rectangular ball on the free domain, where rewards on landing
 * are not separable (free_landing.h). */
static nadir_status prove_landing(bound *self)
{
    nadir_verify_run *run = self->run;
    const nadir_witness *witness = &run->witness;
    const nadir_uncertainty *set = self->problem->uncertainty;
    const nadir_bound kind = nadir_bound_find(witness->bound);
    const nadir_certify effort = may_form_columns(self) ? NADIR_CERTIFY_STRICT : NADIR_CERTIFY_AUTO;
    nadir_landing_answer found;
    if (self->problem->landing == 0 || set->set != NADIR_SET_NONRECT || set->domain != NADIR_DOMAIN_FREE) {
        return lack(self, "it is one of the non-rectangular ball on the free domain, for rewards on landing");
    }
    if (kind == NADIR_BOUND_SHAPED) {
        NADIR_TRY(nadir_landing_shaped_bound(run->context, self->problem, witness->tau, witness->c2,
                                             witness->k2, effort, &self->lower));
    } else if (kind == NADIR_BOUND_CONTRACTION) {
        NADIR_TRY(nadir_landing_closed_bound(run->context, self->problem, effort, &self->lower));
    } else {
        NADIR_TRY(nadir_verify_solve(run));
        NADIR_TRY(nadir_landing_check(run->context, self->problem, effort, run->kernel, run->value.v,
                                      witness->tau, &found));
        self->lower = found.bound;
        run->kappa = found.kappa;
    }
    self->proof = NADIR_PROOF_RIGOROUS;
    self->reason = "the ball is not shown to end before breakdown, or the witness lacks tau or the pair";
    return NADIR_OK;
}

/* "bellman", and "contraction", which is what is left of it on the free domain. */
static nadir_status prove_rectangular(bound *self)
{
    nadir_context *context = self->run->context;
    const double *v = self->run->witness.v;
    bool exact = true;
    double breakdown;
    if (self->problem->uncertainty->set == NADIR_SET_NONRECT && self->problem->landing != 0) {
        return prove_landing(self);
    }
    if (self->problem->uncertainty->set == NADIR_SET_NONRECT || v == NULL) {
        return lack(self, v == NULL ? "the witness has no v" : "it is one of rectangular balls");
    }
    if (self->problem->uncertainty->domain == NADIR_DOMAIN_FREE) {
        NADIR_TRY(
            nadir_rectangular_free_bound(context, self->problem, 1, v, &exact, &self->lower, &breakdown));
    } else {
        NADIR_TRY(nadir_rectangular_check(context, self->problem, 1, v, &self->lower));
    }
    self->proof = exact ? NADIR_PROOF_RIGOROUS : NADIR_PROOF_NONE;
    self->reason = "v does not show it";
    return NADIR_OK;
}

/* "second-order" and "lagrangian": the steps of the witness, taken again from the kernel and its multiplier.
 * */
static nadir_status prove_valid(bound *self)
{
    nadir_status status = NADIR_OK;
    nadir_verify_run *run = self->run;
    const nadir_uncertainty *set = self->problem->uncertainty;
    nadir_candidate candidate = {.kernel = run->kernel, .gap = NAN, .tau = run->witness.tau};
    nadir_certificate proof = {0};
    nadir_derivation derivation = {0};
    if (set->domain == NADIR_DOMAIN_FREE && self->problem->landing != 0) {
        return prove_landing(self);
    }
    if (set->set != NADIR_SET_NONRECT || set->domain == NADIR_DOMAIN_FREE) {
        return lack(self, "it is one of the non-rectangular ball, domains simplex and support");
    }
    if (nadir_rewards_underflow(run->context, self->problem)) {
        return lack(self, "the rewards are too small for a proof");
    }
    if (!(run->witness.tau >= 0) || run->witness.steps == NULL) {
        return lack(self, "the witness has no tau or no steps");
    }
    NADIR_CHECK(nadir_verify_solve(run));
    candidate.v = run->value.v;
    candidate.d = run->value.d;
    candidate.J = self->problem->sign * run->value.J;
    NADIR_CHECK(nadir_derivation_make(run->context, self->problem, set->radius, &candidate, NULL, &proof,
                                      &derivation));
    NADIR_CHECK(
        nadir_derivation_replay(run->context, &derivation, run->witness.steps_count, run->witness.steps));
    self->lower = proof.lower;
    self->proof = proof.proof;
    self->reason = "its steps show nothing of this kernel";
    run->kappa = derivation.encloses ? NAN : proof.kappa; /* that of another kernel */
    nadir_release(run->context, run->d_bar);
    run->d_bar = proof.d_bar;
    proof.d_bar = NULL;
cleanup:
    nadir_derivation_clear(run->context, &derivation);
    nadir_certificate_clear(run->context, &proof);
    return status;
}

nadir_status nadir_verify_lower(nadir_verify_run *run, double claimed, double enough, double *lower,
                                nadir_proof *proof, const char **reason)
{
    static const struct {
        nadir_status (*prove)(bound *self);
        bool free; /* of the free domain, whichever it is */
    } kinds[] = {
        [NADIR_BOUND_NONE] = {prove_nothing, false},
        [NADIR_BOUND_NOMINAL] = {prove_nominal, false},
        [NADIR_BOUND_REWARDS] = {prove_rewards, false},
        [NADIR_BOUND_SPECTRAL] = {prove_spectral, true},
        [NADIR_BOUND_ENUMERATION] = {prove_enumeration, true},
        [NADIR_BOUND_ENCLOSING_BALL] = {prove_enclosing, true},
        [NADIR_BOUND_FREE_DOMAIN] = {prove_free, true},
        [NADIR_BOUND_BELLMAN] = {prove_rectangular, false},
        [NADIR_BOUND_CONTRACTION] = {prove_rectangular, false},
        [NADIR_BOUND_LAGRANGIAN] = {prove_valid, false},
        [NADIR_BOUND_SHAPED] = {prove_landing, false},
        [NADIR_BOUND_SECOND_ORDER] = {prove_valid, false},
    };
    const nadir_bound kind = nadir_bound_find(run->witness.bound);
    nadir_uncertainty set = run->asked.uncertainty;
    nadir_problem problem = run->asked.problem;
    bound self = {.run = run, .problem = &problem, .claimed = claimed, .enough = enough, .lower = -INFINITY};
    problem.uncertainty = &set;
    if (kinds[kind].free) {
        nadir_uncertainty_free(&set);
    }
    const bool room =
        set.idle || set.domain != NADIR_DOMAIN_FREE || nadir_free_rewards_fit(run->context, &problem);
    const nadir_status status =
        room ? kinds[kind].prove(&self) : lack(&self, "the rewards leave no room for a proof");
    *lower = self.lower;
    *proof = isinf(self.lower) ? NADIR_PROOF_NONE : self.proof;
    *reason = self.reason;
    return status;
}

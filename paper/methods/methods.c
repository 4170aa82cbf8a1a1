/* methods.c: the methods of this folder by name, and robust evaluation with one of them; see methods.h. */
#include "methods/methods.h"

#include <math.h>
#include <string.h>

/* Iterations of the library's own search, from which the lower bound is proven. */
#define SEARCH_LIMIT 10000

static const nadir_search_method searches[] = {
    {{"paper", "Algorithms 1 and 2 of the paper as printed: rows x rows matrices, b >= 0",
      nadir_search_method_evaluate},
     nadir_search_paper,
     false,
     false},
    {{"paper-reduced", "the same on states x states matrices, the score squared",
      nadir_search_method_evaluate},
     nadir_search_paper_reduced,
     false,
     false},
    {{"slsqp", "sequential quadratic programming over (b, k) from one start", nadir_search_method_evaluate},
     nadir_search_slsqp,
     false,
     false},
    {{"slsqp-scaled", "the same over (b / beta, k)", nadir_search_method_evaluate},
     nadir_search_slsqp_scaled,
     false,
     false},
    {{"random-rank-one", "the best of random kernels P - b k^T", nadir_search_method_evaluate},
     nadir_search_random_rank_one,
     false,
     false},
    {{"random-kernel", "the best of random kernels on the sphere", nadir_search_method_evaluate},
     nadir_search_random_kernel,
     false,
     false},
    {{"random-kernel-projected", "the same, rows projected onto the simplex", nadir_search_method_evaluate},
     nadir_search_random_kernel_projected,
     true,
     false},
    {{"conservative", "kernel iteration: short steps towards the linear step", nadir_search_method_evaluate},
     nadir_search_conservative,
     true,
     true},
};

enum { SEARCHES = sizeof searches / sizeof *searches };

_Static_assert(SEARCHES == 8, "nadir_further_methods lists them all");

const nadir_method *const nadir_further_methods[] = {
    &searches[0].method, &searches[1].method, &searches[2].method,
    &searches[3].method, &searches[4].method, &searches[5].method,
    &searches[6].method, &searches[7].method, NULL,
};

const nadir_search_method *nadir_search_method_find(const char *name)
{
    for (int i = 0; i < SEARCHES; i++) {
        if (strcmp(searches[i].method.name, name) == 0) {
            return &searches[i];
        }
    }
    return NULL;
}

nadir_status nadir_search_method_check(nadir_context *context, const nadir_search_method *method,
                                       const nadir_problem *problem)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const bool domain = set->domain == NADIR_DOMAIN_FREE ||
                        (set->domain == NADIR_DOMAIN_SIMPLEX ? method->simplex : method->support);
    if (problem->landing != 0) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "method %s is for rewards of the form R(s, a) + g(s'), and those of the model are not: "
            "leave the method to auto, or take --frozen-rewards",
            method->method.name);
    }
    if (domain && set->set == NADIR_SET_NONRECT && set->p == 2) {
        return NADIR_OK;
    }
    return nadir_fail(
        context, NADIR_ERROR_UNSUPPORTED,
        "method %s is for the non-rectangular ball with norm 2 on the domain free%s%s; the ball "
        "asked for is %s with norm %g on the domain %s",
        method->method.name, method->simplex ? " or simplex" : "", method->support ? " or support" : "",
        nadir_set_name(set->asked), set->p, nadir_domain_name(set->domain));
}

/* Recomputes the kernel that was found: checks that it lies in the set, and bounds its return. */
static nadir_status check_kernel(nadir_context *context, const nadir_problem *problem, double factor,
                                 nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    nadir_rank_one_check check;
    if (evaluation->candidate.v != NULL) {
        return nadir_evaluation_check_valid(context, problem, factor, evaluation);
    }
    const nadir_rank_one_question question = {.kernel = evaluation->candidate.kernel, .factor = factor};
    NADIR_CHECK(nadir_rank_one_check_kernel(context, problem, &question, &check));
    evaluation->upper = check.upper;
    evaluation->minimum = check.minimum;
cleanup:
    return status;
}

/* The spectral bound is proven from the pair (c, k) of the library's kernel, which the method's kernel is
 * about to replace. Keeps the pair as that of an enclosing ball, so that the bound can be verified. */
static nadir_status keep_proof_pair(nadir_context *context, const nadir_problem *problem,
                                    nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const nadir_candidate *candidate = &evaluation->candidate;
    if (evaluation->bound == NADIR_BOUND_SPECTRAL && evaluation->enclosing == NULL) {
        NADIR_NEW(context, evaluation->enclosing, 2 * n);
        memcpy(evaluation->enclosing, candidate->c, (size_t)n * sizeof *candidate->c);
        memcpy(evaluation->enclosing + n, candidate->k, (size_t)n * sizeof *candidate->k);
        evaluation->bound = NADIR_BOUND_ENCLOSING_BALL;
    }
cleanup:
    return status;
}

/* Proves the lower bound again from the method's kernel. The bound before was proven from the library's
 * kernel, which is not kept; `verify` could not check it. */
static nadir_status prove_again(nadir_context *context, const nadir_problem *problem,
                                const nadir_robust_settings *settings, double factor,
                                nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    nadir_certificate proof = {0};
    const double J = evaluation->candidate.J;
    NADIR_CHECK(nadir_valid_prove(context, problem, factor * problem->uncertainty->radius,
                                  &evaluation->candidate, settings->certify,
                                  J - 0.5 * settings->width * (problem->J - J), &proof));
    evaluation->lower = proof.lower;
    evaluation->proof = proof.proof;
    evaluation->bound = proof.bound;
    nadir_evaluation_take_certificate(context, &proof, evaluation);
cleanup:
    nadir_certificate_clear(context, &proof);
    return status;
}

/* Replaces the kernel of the library's search by the one that the method finds. */
static nadir_status replace_kernel(nadir_context *context, const nadir_problem *problem,
                                   const nadir_search_method *method, const nadir_robust_settings *settings,
                                   double factor, nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    nadir_trajectory trajectory = {0};
    nadir_candidate candidate = {.gap = NAN, .tau = evaluation->candidate.tau};
    const nadir_budget budget = {INFINITY, settings->iterations_limit, settings->tolerance};
    evaluation->certify_time += evaluation->robust_time;
    nadir_trajectory_start(NADIR_SEARCH_TASK, &budget, &trajectory);
    NADIR_CHECK(
        method->search(context, problem, factor * problem->uncertainty->radius, &trajectory, &candidate));
    evaluation->robust_time = nadir_trajectory_seconds(&trajectory);
    nadir_candidate_clear(context, &evaluation->candidate);
    evaluation->candidate = candidate;
    evaluation->candidate.method = method->method.name;
    candidate = (nadir_candidate){0};
cleanup:
    nadir_candidate_clear(context, &candidate);
    nadir_trajectory_clear(context, &trajectory);
    return status;
}

/* Upper bound from the kernel found. Lower bound: the one proven before, or a new one where that depended on
 * the kernel before. */
static nadir_status certify(nadir_context *context, const nadir_problem *problem,
                            const nadir_robust_settings *settings, double factor,
                            nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    const double begun = nadir_clock_seconds();
    const nadir_evaluation before = *evaluation;
    const bool from_kernel =
        before.bound == NADIR_BOUND_SECOND_ORDER || before.bound == NADIR_BOUND_LAGRANGIAN;
    NADIR_CHECK(check_kernel(context, problem, factor, evaluation));
    evaluation->lower = before.lower;
    evaluation->proof = before.proof;
    evaluation->bound = before.bound;
    if (from_kernel) {
        NADIR_CHECK(prove_again(context, problem, settings, factor, evaluation));
    }
    if (!nadir_evaluation_is_close(problem, settings, evaluation)) {
        evaluation->proof = NADIR_PROOF_NONE;
    }
    evaluation->certify_time += nadir_clock_seconds() - begun;
cleanup:
    return status;
}

nadir_status nadir_search_method_evaluate(nadir_context *context, const nadir_problem *problem,
                                          const nadir_robust_settings *settings, int64_t count,
                                          const double *factors, nadir_evaluation *evaluations)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_search_method *method = nadir_search_method_find(settings->method);
    nadir_robust_settings usual = *settings;
    usual.method = NULL;
    usual.iterations_limit = SEARCH_LIMIT;
    NADIR_CHECK(nadir_search_method_check(context, method, problem));
    NADIR_CHECK(nadir_sweep(context, problem, &usual, count, factors, evaluations));
    for (int64_t i = 0; i < count; i++) {
        if (set->idle || factors[i] == 0 || evaluations[i].refused) {
            continue;
        }
        NADIR_CHECK(keep_proof_pair(context, problem, &evaluations[i]));
        NADIR_CHECK(replace_kernel(context, problem, method, settings, factors[i], &evaluations[i]));
        NADIR_CHECK(certify(context, problem, settings, factors[i], &evaluations[i]));
    }
cleanup:
    return status;
}

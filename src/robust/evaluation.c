/* evaluation.c: the answer for one radius, and the worst kernel as the user holds it. */
#include "robust/evaluation.h"
#include "linalg/distributed.h"
#include "model/landing.h"
#include "proof/bellman_bound.h"
#include "proof/membership.h"
#include "robust/strategy.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char *nadir_proof_name(nadir_proof proof)
{
    static const char *const names[] = {"none", "numerical", "rigorous"};
    return names[proof];
}

void nadir_evaluation_clear(nadir_context *context, nadir_evaluation *evaluation)
{
    nadir_candidate_clear(context, &evaluation->candidate);
    nadir_release(context, evaluation->enclosing);
    nadir_release(context, evaluation->d_bar);
    nadir_release(context, evaluation->steps);
    *evaluation = (nadir_evaluation){0};
}

void nadir_evaluations_clear(nadir_context *context, int64_t count, nadir_evaluation *evaluations)
{
    for (int64_t i = 0; evaluations != NULL && i < count; i++) {
        nadir_evaluation_clear(context, &evaluations[i]);
    }
}

nadir_status nadir_evaluation_keep_pair(nadir_context *context, int64_t states, const double *c,
                                        const double *k, nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(context, evaluation->enclosing, 2 * states);
    memcpy(evaluation->enclosing, c, (size_t)states * sizeof *c);
    memcpy(evaluation->enclosing + states, k, (size_t)states * sizeof *k);
cleanup:
    return status;
}

void nadir_evaluation_take_certificate(nadir_context *context, nadir_certificate *certificate,
                                       nadir_evaluation *evaluation)
{
    nadir_release(context, evaluation->d_bar);
    nadir_release(context, evaluation->steps);
    evaluation->kappa = certificate->kappa;
    evaluation->d_bar = certificate->d_bar;
    evaluation->steps = certificate->steps;
    evaluation->steps_count = certificate->steps_count;
    certificate->d_bar = NULL;
    certificate->steps = NULL;
}

/* By the occupancy of the candidate, which small models are solved for where the search did not. */
static nadir_status narrow_return(nadir_context *context, const nadir_problem *problem,
                                  const nadir_evaluation *evaluation, const double *v,
                                  nadir_value_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_candidate *candidate = &evaluation->candidate;
    nadir_occupancy *occupancy = NULL;
    double *d = NULL;
    if (candidate->d == NULL && problem->states <= NADIR_PROOF_STATES && problem->model->exchange == NULL) {
        NADIR_NEW(context, d, problem->states);
        NADIR_CHECK(nadir_occupancy_perturb(context, problem->occupancy, candidate->kernel, problem->policy,
                                            &occupancy));
        NADIR_CHECK(nadir_occupancy_solve_transposed(context, occupancy, 1, problem->mu, d, NULL));
    }
    if (candidate->d != NULL || d != NULL) {
        NADIR_CHECK(nadir_value_check_return(context, candidate->kernel, problem->policy, problem->gamma, v,
                                             d != NULL ? d : candidate->d, check));
    }
cleanup:
    nadir_occupancy_free(context, occupancy);
    nadir_release(context, d);
    return status;
}

/* J - J_P = d . (Phat^pi - P^pi) (gamma v_P + e) (explain.c): nothing cancels, however large the returns are. work:
 * [2 states] and ghosts. */
static double difference_of(const nadir_context *context, const nadir_problem *problem,
                            const nadir_candidate *candidate, double *work)
{
    const int64_t n = problem->states;
    double ignored;
    double *more = work + nadir_model_width(problem->model);
    const double visits = nadir_global_sum(context, n, problem->d);
    const double mean = nadir_global_dot(context, n, problem->d, candidate->v, &ignored) / visits;
    for (int64_t s = 0; s < n; s++) {
        work[s] = candidate->v[s] - mean;
    }
    const double moved = nadir_kernel_difference_product(context, problem->kernel, candidate->kernel,
                                                         problem->d, problem->policy->probabilities, work);
    nadir_kernel_landings(context, candidate->kernel, problem->policy, problem->sign, more);
    const double paid = problem->landing != 0 ? nadir_global_dot(context, n, problem->d, more, &ignored) : 0;
    return 0 - (problem->gamma * moved + paid);
}

/* A difference of returns below this share of them has lost digits. */
#define CANCELLED 1e-3

double nadir_evaluation_penalty(const nadir_problem *problem, const nadir_evaluation *evaluation)
{
    const nadir_candidate *candidate = &evaluation->candidate;
    const double difference = problem->J - candidate->J;
    const double open = fmax(0, evaluation->upper - candidate->J);
    const double rounding = 8 * problem->J_error + 64 * DBL_EPSILON * fabs(problem->J) + open;
    const bool cancels = fabs(difference) <= CANCELLED * fabs(problem->J);
    return cancels && fabs(candidate->lambda - difference) <= rounding ? candidate->lambda : difference;
}

nadir_status nadir_evaluation_check_valid(nadir_context *context, const nadir_problem *problem, double factor,
                                          nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    const nadir_kernel *kernel = evaluation->candidate.kernel;
    const double sign = problem->sign;
    nadir_membership membership;
    nadir_value_check check;
    double *v = NULL; /* with the signs of the model's rewards */
    NADIR_NEW(context, v, 2 * nadir_model_width(problem->model));
    evaluation->candidate.lambda = difference_of(context, problem, &evaluation->candidate, v);
    for (int64_t s = 0; s < problem->states; s++) {
        v[s] = sign * evaluation->candidate.v[s];
    }
    NADIR_CHECK(nadir_membership_measure(context, kernel, problem->uncertainty, factor, &membership));
    NADIR_CHECK(nadir_membership_check(context, problem->model, problem->uncertainty, &membership));
    NADIR_CHECK(nadir_value_check_rows(context, kernel, problem->policy, problem->gamma, v, &check));
    NADIR_CHECK(narrow_return(context, problem, evaluation, v, &check));
    nadir_reward_bounds(context, problem, 0, &evaluation->lower, &evaluation->upper);
    const double low = sign > 0 ? check.lower : -check.upper;
    const double high = sign > 0 ? check.upper : -check.lower;
    const bool distributions = check.minimum >= 0; /* searches of the free domain come here, too */
    nadir_evaluation_clamp_return(evaluation, distributions ? fmax(low, evaluation->lower) : low,
                                  distributions ? fmin(high, evaluation->upper) : high);
    if (membership.distance == 0) { /* the nominal kernel, whatever an iteration made of its return */
        evaluation->candidate.J = problem->J;
        evaluation->candidate.lambda = 0;
    }
    evaluation->upper = fmin(evaluation->upper, high);
    evaluation->minimum = membership.minimum;
    evaluation->proof = NADIR_PROOF_NONE;
    evaluation->bound = isfinite(evaluation->lower) ? NADIR_BOUND_REWARDS : NADIR_BOUND_NONE;
cleanup:
    nadir_release(context, v);
    return status;
}

void nadir_evaluation_clamp_return(nadir_evaluation *evaluation, double low, double high)
{
    if (low <= high && isfinite(evaluation->candidate.J)) { /* else it is refused */
        evaluation->candidate.J = fmin(fmax(evaluation->candidate.J, low), high);
    }
}

bool nadir_evaluation_is_narrow(const nadir_problem *problem, const nadir_robust_settings *settings,
                                const nadir_evaluation *evaluation, double slack, double width)
{
    const double penalty = fabs(nadir_evaluation_penalty(problem, evaluation));
    const double rounding = 8 * problem->J_error + 64 * DBL_EPSILON * fabs(problem->J) + slack;
    /* what underflows is in every bound */
    const double little = settings->width * problem->at_stake + 64 * DBL_MIN / problem->rest;
    return width <= settings->width * penalty || (penalty <= rounding && width <= fmin(4 * rounding, little));
}

bool nadir_evaluation_is_close(const nadir_problem *problem, const nadir_robust_settings *settings,
                               const nadir_evaluation *evaluation)
{
    return !evaluation->vague && nadir_evaluation_is_narrow(problem, settings, evaluation, 0,
                                                            evaluation->upper - evaluation->lower);
}

void nadir_evaluation_take_bound(nadir_evaluation *evaluation, double lower, nadir_proof proof,
                                 nadir_bound bound)
{
    if (lower > evaluation->lower) {
        evaluation->lower = lower;
        evaluation->proof = proof;
        evaluation->bound = bound;
    } else if (proof != NADIR_PROOF_NONE && evaluation->bound == NADIR_BOUND_REWARDS) {
        evaluation->proof = NADIR_PROOF_RIGOROUS; /* as good as proofs get: rewards that hardly differ */
    }
}

nadir_status nadir_evaluation_check_nominal(nadir_context *context, const nadir_problem *problem,
                                            nadir_value_check *check)
{
    nadir_status status = NADIR_OK;
    double *v = NULL; /* with the signs of the model's rewards */
    NADIR_NEW(context, v, problem->states);
    for (int64_t s = 0; s < problem->states; s++) {
        v[s] = problem->sign * problem->v[s];
    }
    NADIR_CHECK(nadir_value_check_rows(context, problem->kernel, problem->policy, problem->gamma, v, check));
    NADIR_CHECK(nadir_value_check_return(context, problem->kernel, problem->policy, problem->gamma, v,
                                         problem->d, check));
cleanup:
    nadir_release(context, v);
    return status;
}

/* ----------------------------------------------------------------------------------- worst kernel */

void nadir_worst_free(nadir_worst *worst)
{
    if (worst == NULL) {
        return;
    }
    nadir_memory *memory = worst->memory;
    /* The context it was created with may be gone; to free takes nothing but its memory. */
    nadir_context context = {.memory = memory};
    nadir_evaluation_clear(&context, &worst->evaluation);
    nadir_uncertainty_clear(&context, &worst->uncertainty);
    nadir_release(&context, worst->d);
    nadir_release(&context, worst->other_d);
    nadir_policy_free(worst->policy);
    nadir_policy_free(worst->other);
    nadir_model_free(worst->model);
    nadir_memory_release(memory, worst);
    nadir_memory_free(memory);
}

nadir_status nadir_worst_make(nadir_context *context, const nadir_problem *problem,
                              const nadir_robust *result, nadir_evaluation *evaluation, nadir_worst **worst)
{
    nadir_status status = NADIR_OK;
    nadir_worst *made = NULL;
    NADIR_NEW_ZERO(context, made, 1);
    made->memory = nadir_memory_retain(context->memory);
    made->model = nadir_model_retain(problem->model);
    NADIR_CHECK(nadir_policy_share(context, problem->model, problem->policy, &made->policy));
    NADIR_CHECK(nadir_uncertainty_copy(context, problem->uncertainty, &made->uncertainty));
    NADIR_NEW(context, made->d, problem->states);
    memcpy(made->d, problem->d, (size_t)problem->states * sizeof *made->d);
    if (result != NULL) {
        made->result = *result;
    }
    made->optimistic = problem->sign < 0;
    made->evaluation = *evaluation;
    *evaluation = (nadir_evaluation){0};
    *worst = made;
    made = NULL;
cleanup:
    nadir_worst_free(made);
    return status;
}

/* Of all processes. */
static int64_t radius_count(const nadir_context *context, const nadir_worst *worst)
{
    const nadir_uncertainty *set = &worst->uncertainty;
    if (set->radii == NULL) {
        return 1;
    }
    return set->set == NADIR_SET_S ? nadir_model_total(worst->model)
                                   : nadir_global_count(context, worst->model->rows);
}

static const double *radius_of(const nadir_worst *worst)
{
    const nadir_uncertainty *set = &worst->uncertainty;
    return set->radii != NULL ? set->radii : &set->radius;
}

nadir_status nadir_worst_parameters(nadir_context *context, const nadir_worst *worst,
                                    nadir_kernel_parameters *parameters)
{
    *parameters = (nadir_kernel_parameters){
        .set = worst->uncertainty.asked,
        .domain = worst->uncertainty.asked_domain,
        .norm = nadir_uncertainty_norm(&worst->uncertainty),
        .radius = radius_of(worst),
        .radius_count = radius_count(context, worst),
        .scales = worst->uncertainty.asked_scales,
        .gamma = worst->model->discount,
        .optimistic = worst->optimistic,
    };
    NADIR_TRY(nadir_model_digest(context, worst->model, parameters->model_sha256));
    NADIR_TRY(nadir_policy_digest(context, worst->policy, parameters->policy_sha256));
    memcpy(parameters->model_file_sha256, worst->model_file_sha256, sizeof worst->model_file_sha256);
    memcpy(parameters->policy_file_sha256, worst->policy_file_sha256, sizeof worst->policy_file_sha256);
    return NADIR_OK;
}

/* What the proof of the bound goes by, and nothing else: whatever a witness says is checked. */
static void set_proof(const nadir_worst *worst, nadir_witness *witness)
{
    const nadir_evaluation *evaluation = &worst->evaluation;
    const nadir_candidate *candidate = &evaluation->candidate;
    const nadir_uncertainty *set = &worst->uncertainty;
    const bool rectangular = set->set != NADIR_SET_NONRECT;
    const bool second_order = evaluation->bound == NADIR_BOUND_SECOND_ORDER;
    if (set->domain == NADIR_DOMAIN_FREE) {
        witness->tau = second_order || evaluation->bound == NADIR_BOUND_SHAPED ? candidate->tau : NAN;
        witness->kappa = second_order ? evaluation->kappa : NAN;
        witness->lambda = candidate->lambda;
        witness->breakdown_low = evaluation->breakdown;
        witness->breakdown_proof = nadir_breakdown_proof_name(evaluation->breakdown_proof);
    } else if (second_order || evaluation->bound == NADIR_BOUND_LAGRANGIAN) {
        witness->tau = candidate->tau;
        witness->d_bar = evaluation->d_bar;
        witness->steps = evaluation->steps;
        witness->steps_count = evaluation->steps_count;
        witness->kappa = second_order ? evaluation->kappa : NAN;
    }
    if (evaluation->bound == NADIR_BOUND_SPECTRAL) {
        witness->c = candidate->c;
        witness->k = candidate->k;
    }
    witness->c2 = evaluation->enclosing;
    witness->k2 = evaluation->enclosing != NULL ? evaluation->enclosing + worst->model->states : NULL;
    witness->v = rectangular ? candidate->v : NULL;
}

nadir_status nadir_worst_witness(nadir_context *context, const nadir_worst *worst, nadir_witness *witness)
{
    if (worst->result.size == 0) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the kernel is that of the difference of two policies, which has no witness");
    }
    nadir_witness_default(witness);
    NADIR_TRY(nadir_model_check_one_process(context, worst->model, "witnesses"));
    NADIR_TRY(nadir_model_digest(context, worst->model, witness->model_sha256));
    NADIR_TRY(nadir_policy_digest(context, worst->policy, witness->policy_sha256));
    memcpy(witness->model_file_sha256, worst->model_file_sha256, sizeof worst->model_file_sha256);
    memcpy(witness->policy_file_sha256, worst->policy_file_sha256, sizeof worst->policy_file_sha256);
    memcpy(witness->kernel_sha256, worst->kernel_sha256, sizeof worst->kernel_sha256);
    witness->set = worst->uncertainty.asked;
    witness->domain = worst->uncertainty.asked_domain;
    witness->norm = nadir_uncertainty_norm(&worst->uncertainty);
    witness->radius = radius_of(worst);
    witness->radius_count = radius_count(context, worst);
    witness->optimistic = worst->optimistic;
    witness->nominal_return = worst->result.nominal_return;
    witness->robust_return = worst->result.robust_return;
    witness->lower_bound = worst->result.lower_bound;
    witness->upper_bound = worst->result.upper_bound;
    witness->certificate = worst->result.certificate;
    witness->bound = worst->result.bound;
    set_proof(worst, witness);
    return NADIR_OK;
}

const nadir_kernel *nadir_worst_kernel(const nadir_worst *worst)
{
    return worst->evaluation.candidate.kernel;
}

void nadir_worst_multiply(nadir_context *context, const nadir_worst *worst, const double *x, double *y)
{
    nadir_kernel_multiply(context, worst->evaluation.candidate.kernel, x, y);
}

nadir_status nadir_worst_model(nadir_context *context, const nadir_worst *worst, nadir_model **model)
{
    const nadir_status status =
        nadir_model_check_one_process(context, worst->model, "models with the worst kernel");
    return status != NADIR_OK ? status
                              : nadir_kernel_to_model(context, worst->evaluation.candidate.kernel, model);
}

/* evaluation.c: the answer for one radius. */
#include "robust/evaluation.h"
#include "linalg/distributed.h"
#include "proof/bellman_bound.h"
#include "proof/membership.h"

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

nadir_status nadir_evaluation_check_valid(nadir_context *context, const nadir_problem *problem, double factor,
                                          nadir_evaluation *evaluation)
{
    nadir_status status = NADIR_OK;
    const nadir_kernel *kernel = evaluation->candidate.kernel;
    const double sign = problem->sign;
    nadir_membership membership;
    nadir_value_check check;
    double *v = NULL; /* with the signs of the model's rewards */
    NADIR_NEW(context, v, problem->states);
    for (int64_t s = 0; s < problem->states; s++) {
        v[s] = sign * evaluation->candidate.v[s];
    }
    NADIR_CHECK(nadir_membership_measure(context, kernel, problem->uncertainty, factor, &membership));
    NADIR_CHECK(nadir_membership_check(context, problem->model, problem->uncertainty, &membership));
    NADIR_CHECK(nadir_value_check_rows(context, kernel, problem->policy, problem->gamma, v, &check));
    nadir_reward_bounds(context, problem, 0, &evaluation->lower, &evaluation->upper);
    const double low = sign > 0 ? check.lower : -check.upper;
    const double high = sign > 0 ? check.upper : -check.lower;
    const bool distributions = check.minimum >= 0; /* searches of the free domain come here, too */
    nadir_evaluation_clamp_return(evaluation, distributions ? fmax(low, evaluation->lower) : low,
                                  distributions ? fmin(high, evaluation->upper) : high);
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

/* A penalty that is lost in the rounding of the return is as good as none; the bounds then need not be closer
 * than rounding allows, as long as that is little beside the values. */
double nadir_evaluation_allowed_width(const nadir_problem *problem, const nadir_robust_settings *settings,
                                      const nadir_evaluation *evaluation)
{
    const double penalty = fabs(problem->J - evaluation->candidate.J);
    const double rounding = 8 * problem->J_error + 64 * DBL_EPSILON * fabs(problem->J);
    /* what underflows is in every bound */
    const double little = settings->width * problem->largest + 64 * DBL_MIN / (1 - problem->gamma);
    return evaluation->scale > 0 ? settings->width * evaluation->scale
           : penalty > rounding  ? settings->width * penalty
                                 : fmin(4 * rounding, little);
}

bool nadir_evaluation_is_close(const nadir_problem *problem, const nadir_robust_settings *settings,
                               const nadir_evaluation *evaluation)
{
    return !evaluation->vague && evaluation->upper - evaluation->lower <=
                                     nadir_evaluation_allowed_width(problem, settings, evaluation);
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
cleanup:
    nadir_release(context, v);
    return status;
}

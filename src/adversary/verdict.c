/* verdict.c: the answer for one radius. */
#include "adversary/verdict.h"
#include "adversary/check/membership.h"
#include "adversary/check/reward_bound.h"
#include "linalg/distributed.h"
#include "nominal/value_check.h"

#include <float.h>
#include <math.h>
#include <string.h>

void nadir_verdict_clear(nadir_context *context, nadir_verdict *verdict)
{
    nadir_attack_clear(context, &verdict->attack);
    nadir_release(context, verdict->enclosing);
    nadir_release(context, verdict->d_bar);
    nadir_release(context, verdict->steps);
    *verdict = (nadir_verdict){0};
}

nadir_status nadir_verdict_keep_pair(nadir_context *context, int64_t states, const double *c, const double *k,
                                     nadir_verdict *verdict)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(context, verdict->enclosing, 2 * states);
    memcpy(verdict->enclosing, c, (size_t)states * sizeof *c);
    memcpy(verdict->enclosing + states, k, (size_t)states * sizeof *k);
cleanup:
    return status;
}

bool nadir_rewards_underflow(const nadir_context *context, const nadir_problem *problem)
{
    const double largest = nadir_global_largest(context, problem->rows, problem->rewards);
    return largest > 0 && largest < NADIR_REWARD_LEAST;
}

nadir_status nadir_verdict_check_valid(nadir_context *context, const nadir_problem *problem, double factor,
                                       nadir_verdict *verdict)
{
    nadir_status status = NADIR_OK;
    const nadir_kernel *kernel = verdict->attack.kernel;
    const double sign = problem->sign;
    nadir_membership membership;
    nadir_value_check check;
    double *v = NULL; /* with the signs of the model's rewards */
    NADIR_NEW(context, v, problem->states);
    for (int64_t s = 0; s < problem->states; s++) {
        v[s] = sign * verdict->attack.v[s];
    }
    NADIR_CHECK(nadir_membership_check(context, kernel, problem->uncertainty, factor, &membership));
    NADIR_CHECK(nadir_value_check_rows(context, kernel, problem->policy, problem->gamma, v, &check));
    nadir_reward_bounds(context, problem, &verdict->lower, &verdict->upper);
    const double low = sign > 0 ? check.lower : -check.upper;
    const double high = sign > 0 ? check.upper : -check.lower;
    const bool distributions = check.minimum >= 0; /* searches of the free domain come here, too */
    nadir_verdict_place(verdict, distributions ? fmax(low, verdict->lower) : low,
                        distributions ? fmin(high, verdict->upper) : high);
    verdict->upper = fmin(verdict->upper, high);
    verdict->minimum = membership.minimum;
    verdict->proof = NADIR_PROOF_NONE;
    verdict->bound = isfinite(verdict->lower) ? "rewards" : "none";
cleanup:
    nadir_release(context, v);
    return status;
}

void nadir_verdict_place(nadir_verdict *verdict, double low, double high)
{
    if (low <= high && isfinite(verdict->attack.J)) { /* else it is refused */
        verdict->attack.J = fmin(fmax(verdict->attack.J, low), high);
    }
}

/* A penalty that is lost in the rounding of the return is as good as none; the bounds then need not be closer
 * than rounding allows, as long as that is little beside the values. */
double nadir_verdict_allowed(const nadir_problem *problem, const nadir_robust_settings *settings,
                             const nadir_verdict *verdict)
{
    const double penalty = fabs(problem->J - verdict->attack.J);
    const double rounding = 8 * problem->J_error + 64 * DBL_EPSILON * fabs(problem->J);
    /* what underflows is in every bound */
    const double little = settings->width * problem->largest + 64 * DBL_MIN / (1 - problem->gamma);
    return verdict->scale > 0   ? settings->width * verdict->scale
           : penalty > rounding ? settings->width * penalty
                                : fmin(4 * rounding, little);
}

bool nadir_verdict_is_close(const nadir_problem *problem, const nadir_robust_settings *settings,
                            const nadir_verdict *verdict)
{
    return !verdict->vague &&
           verdict->upper - verdict->lower <= nadir_verdict_allowed(problem, settings, verdict);
}

void nadir_verdict_take_bound(nadir_verdict *verdict, double lower, nadir_proof proof, const char *bound)
{
    if (lower > verdict->lower) {
        verdict->lower = lower;
        verdict->proof = proof;
        verdict->bound = bound;
    } else if (proof != NADIR_PROOF_NONE && strcmp(verdict->bound, "rewards") == 0) {
        verdict->proof = NADIR_PROOF_RIGOROUS; /* as good as proofs get: rewards that hardly differ */
    }
}

nadir_status nadir_verdict_take_nominal(nadir_context *context, const nadir_problem *problem,
                                        nadir_verdict *verdict)
{
    nadir_status status = NADIR_OK;
    nadir_value_check check;
    double *v = NULL; /* with the signs of the model's rewards */
    NADIR_NEW(context, v, problem->states);
    for (int64_t s = 0; s < problem->states; s++) {
        v[s] = problem->sign * problem->v[s];
    }
    NADIR_CHECK(nadir_value_check_rows(context, problem->kernel, problem->policy, problem->gamma, v, &check));
    verdict->upper = problem->sign > 0 ? check.upper : -check.lower;
cleanup:
    nadir_release(context, v);
    return status;
}

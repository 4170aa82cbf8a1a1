/* policy.c: policies: making, sharing, checking; see policy.h. */
#include "model/policy.h"

#include "linalg/vector.h"

#include <math.h>
#include <string.h>

nadir_status nadir_policy_create_blank(nadir_context *context, const nadir_model *model,
                                       nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    nadir_policy *made = NULL;
    NADIR_NEW_ZERO(context, made, 1);
    NADIR_NEW_ZERO(context, made->probabilities, model->rows);
    made->memory = nadir_memory_retain(context->memory);
    atomic_init(&made->references, 1);
    made->states = model->states;
    made->rows = model->rows;
    *policy = made;
    return NADIR_OK;
cleanup:
    nadir_release(context, made);
    return status;
}

void nadir_policy_free(nadir_policy *policy)
{
    if (policy != NULL && atomic_fetch_sub(&policy->references, 1) == 1) {
        nadir_memory *memory = policy->memory;
        NADIR_MEMORY_RELEASE(memory, policy->probabilities, policy);
        nadir_memory_free(memory);
    }
}

nadir_policy *nadir_policy_retain(nadir_policy *policy)
{
    atomic_fetch_add(&policy->references, 1);
    return policy;
}

/* Whether a policy, of as many states and rows, is one of this model and need not be normalised. */
static bool is_policy_of(const nadir_model *model, const nadir_policy *policy)
{
    bool is = true;
    for (int64_t s = 0; s < model->states && is; s++) {
        const int64_t first = model->state_rows[s];
        const double sum = nadir_vector_sum(model->state_rows[s + 1] - first, policy->probabilities + first);
        is = fabs(sum - 1) <= NADIR_SUM_ROUNDING;
    }
    return is;
}

nadir_status nadir_policy_share(nadir_context *context, const nadir_model *model, const nadir_policy *policy,
                                nadir_policy **shared)
{
    if (policy->memory != context->memory || !is_policy_of(model, policy)) {
        return nadir_policy_create(context, model, policy->probabilities, shared);
    }
    *shared = nadir_policy_retain((nadir_policy *)(uintptr_t)policy); /* the count is not what is constant */
    return NADIR_OK;
}

const double *nadir_policy_probabilities(const nadir_policy *policy)
{
    return policy->probabilities;
}

/* Checks and normalises the probabilities of one state. */
static nadir_status check_state(nadir_context *context, const nadir_model *model, const char *name,
                                int64_t state, double *probabilities, nadir_sum_report *report)
{
    char place[NADIR_LABEL_LENGTH];
    const int64_t first = model->state_rows[state];
    const int64_t end = model->state_rows[state + 1];
    for (int64_t row = first; row < end; row++) {
        if (!(probabilities[row] >= 0) || !isfinite(probabilities[row])) {
            return nadir_fail(context, NADIR_ERROR_POLICY,
                              "%s: %s: the probability is %g; expected a number from 0 to 1", name,
                              nadir_model_label(model, state, row, place), probabilities[row]);
        }
    }
    double sum;
    if (!nadir_normalise(end - first, probabilities + first, state, report, &sum)) {
        return nadir_fail(context, NADIR_ERROR_POLICY,
                          "%s: %s: the probabilities of the actions sum to %.10g; expected 1 (within 1e-5)",
                          name, nadir_model_label(model, state, -1, place), sum);
    }
    return NADIR_OK;
}

nadir_status nadir_policy_settle(nadir_context *context, const nadir_model *model, const char *name,
                                 double *probabilities, nadir_sum_report *report)
{
    for (int64_t s = 0; s < model->states; s++) {
        NADIR_TRY(check_state(context, model, name, s, probabilities, report));
    }
    return NADIR_OK;
}

nadir_status nadir_policy_create(nadir_context *context, const nadir_model *model,
                                 const double *probabilities, nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    nadir_policy *made = NULL;
    nadir_sum_report report = {0};
    NADIR_CHECK(nadir_policy_create_blank(context, model, &made));
    memcpy(made->probabilities, probabilities, (size_t)model->rows * sizeof *probabilities);
    NADIR_CHECK(nadir_policy_settle(context, model, "policy", made->probabilities, &report));
    if (report.repaired > 0) {
        char place[NADIR_LABEL_LENGTH];
        nadir_log(context, NADIR_LOG_WARNING,
                  "policy: %lld state%s normalised; the farthest from 1: %s, sum %.15g",
                  (long long)report.repaired, report.repaired == 1 ? " was" : "s were",
                  nadir_model_label(model, report.worst, -1, place), report.worst_sum);
    }
    *policy = made;
    made = NULL;
cleanup:
    nadir_policy_free(made);
    return status;
}

nadir_status nadir_policy_create_uniform(nadir_context *context, const nadir_model *model,
                                         nadir_policy **policy)
{
    NADIR_TRY(nadir_policy_create_blank(context, model, policy));
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t actions = model->state_rows[s + 1] - model->state_rows[s];
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            (*policy)->probabilities[row] = 1.0 / (double)actions;
        }
    }
    return NADIR_OK;
}

nadir_status nadir_policy_create_deterministic(nadir_context *context, const nadir_model *model,
                                               const int64_t *actions, nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    nadir_policy *made = NULL;
    NADIR_CHECK(nadir_policy_create_blank(context, model, &made));
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t row = nadir_model_find_row(model, s, actions[s]);
        if (row < 0) {
            char place[NADIR_LABEL_LENGTH];
            NADIR_CHECK(nadir_fail(context, NADIR_ERROR_POLICY, "policy: %s: there is no action %lld",
                                   nadir_model_label(model, s, -1, place), (long long)actions[s]));
        }
        made->probabilities[row] = 1;
    }
    *policy = made;
    made = NULL;
cleanup:
    nadir_policy_free(made);
    return status;
}

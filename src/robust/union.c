/* union.c: robust evaluation over a union of balls: each member alone, and the worst of them. */
#include "robust/union.h"
#include "core/context.h"
#include "model/policy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Why a model cannot be a member beside the first; "": it can. */
static void compare(const nadir_model *first, const nadir_model *other, char *text, size_t size)
{
    *text = '\0';
    if (other->states != first->states) {
        (void)snprintf(text, size, "%lld states, and the first model %lld", (long long)other->states,
                       (long long)first->states);
        return;
    }
    if (!(other->discount == first->discount)) {
        (void)snprintf(text, size, "the discount %.17g, and the first model %.17g: give --discount for all",
                       other->discount, first->discount);
        return;
    }
    for (int64_t s = 0; s < first->states; s++) {
        const char *const names[] = {nadir_model_state_name(first, s), nadir_model_state_name(other, s)};
        const int64_t rows = first->state_rows[s + 1] - first->state_rows[s];
        if (names[0] != NULL && names[1] != NULL && strcmp(names[0], names[1]) != 0) {
            (void)snprintf(text, size, "the name %s for state %lld, and the first model %s", names[1],
                           (long long)s, names[0]);
            return;
        }
        bool same = other->state_rows[s + 1] - other->state_rows[s] == rows;
        for (int64_t i = 0; same && i < rows; i++) {
            const int64_t a = first->state_rows[s] + i;
            const int64_t b = other->state_rows[s] + i;
            const char *const called[] = {nadir_model_action_name(first, a),
                                          nadir_model_action_name(other, b)};
            same = nadir_model_row_action(first, s, a) == nadir_model_row_action(other, s, b) &&
                   (called[0] == NULL || called[1] == NULL || strcmp(called[0], called[1]) == 0);
        }
        if (!same) {
            (void)snprintf(text, size, "other actions in state %lld than the first model", (long long)s);
            return;
        }
    }
}

nadir_status nadir_union_check(nadir_context *context, int64_t count, nadir_model *const *models)
{
    char text[300];
    if (count < 1) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "a union of %lld models; expected 1 or more",
                          (long long)count);
    }
    for (int64_t i = 0; i < count; i++) {
        NADIR_TRY(nadir_model_check_one_process(context, models[i], "unions"));
        compare(models[0], models[i], text, sizeof text);
        if (*text != '\0') {
            return nadir_fail(context, NADIR_ERROR_MODEL,
                              "member %lld of the union has %s; expected models with the same states, "
                              "actions and discount",
                              (long long)i + 1, text);
        }
    }
    return NADIR_OK;
}

nadir_status nadir_union_name(nadir_context *context, nadir_status status, int64_t member, int64_t count)
{
    char text[900];
    (void)snprintf(text, sizeof text, "%s", nadir_context_error(context));
    return count > 1
               ? nadir_fail(context, status, "member %lld of the union: %s", (long long)member + 1, text)
               : status;
}

/* The weaker of two grounds. */
static const char *weaker(const char *a, const char *b)
{
    static const char *const order[] = {"none", "numerical", "rigorous"};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (strcmp(a, order[i]) == 0 || strcmp(b, order[i]) == 0) {
            return order[i];
        }
    }
    return order[0];
}

/* The worst member, by what was found; the result that it, and all together, give. */
static int64_t conclude(int64_t count, const nadir_robust *members, bool optimistic, nadir_robust *result)
{
    const double sign = optimistic ? -1 : 1;
    int64_t found = 0;
    int64_t proven = 0; /* whose bound is that of the union */
    for (int64_t i = 1; i < count; i++) {
        const double own = optimistic ? -members[i].upper_bound : members[i].lower_bound;
        const double least = optimistic ? -members[proven].upper_bound : members[proven].lower_bound;
        found = sign * members[i].robust_return < sign * members[found].robust_return ? i : found;
        proven = own < least ? i : proven;
    }
    *result = members[found];
    result->nominal_return = members[0].nominal_return;
    result->penalty = result->nominal_return - result->robust_return;
    result->certified = members[proven].certified;
    result->certificate = members[proven].certificate;
    result->bound = members[proven].bound;
    result->solves = 0;
    result->iterations = 0;
    result->seconds_nominal = 0;
    result->seconds_robust = 0;
    result->seconds_certify = 0;
    for (int64_t i = 0; i < count; i++) {
        const nadir_robust *each = &members[i];
        result->lower_bound = optimistic ? fmax(result->lower_bound, each->lower_bound)
                                         : fmin(result->lower_bound, each->lower_bound);
        result->upper_bound = optimistic ? fmax(result->upper_bound, each->upper_bound)
                                         : fmin(result->upper_bound, each->upper_bound);
        result->certificate = weaker(result->certificate, each->certificate);
        result->time_ran_out |= each->time_ran_out;
        result->solves += each->solves;
        result->iterations += each->iterations;
        result->seconds_nominal += each->seconds_nominal;
        result->seconds_robust += each->seconds_robust;
        result->seconds_certify += each->seconds_certify;
    }
    result->certified = result->certified && strcmp(result->certificate, "none") != 0;
    return found;
}

/* One member with its kernel. */
static nadir_status evaluate(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                             const nadir_policy *policy, const nadir_solver_settings *settings,
                             const nadir_robust_settings *robust, nadir_robust *result, nadir_worst **worst)
{
    nadir_status status = NADIR_OK;
    nadir_policy *own = NULL;
    nadir_solver *solver = NULL;
    NADIR_CHECK(nadir_policy_share(context, model, policy, &own));
    NADIR_CHECK(nadir_solver_create(context, model, own, settings, &solver));
    NADIR_CHECK(nadir_solver_robust(context, solver, ball, robust, result, worst));
cleanup:
    nadir_solver_free(solver);
    nadir_policy_free(own);
    return status;
}

nadir_status nadir_union_worst(nadir_context *context, int64_t count, nadir_model *const *models,
                               const nadir_ball *balls, const nadir_policy *policy,
                               const nadir_solver_settings *solver, const nadir_robust_settings *settings,
                               nadir_robust *members, nadir_robust *result, int64_t *which,
                               nadir_worst **worst)
{
    nadir_status told = NADIR_OK;
    nadir_robust made = {.size = sizeof made};
    for (int64_t i = 0; i < count; i++) {
        nadir_robust own = {.size = sizeof own};
        const nadir_status status = evaluate(context, models[i], balls != NULL ? &balls[i] : NULL, policy,
                                             solver, settings, &own, worst != NULL ? &worst[i] : NULL);
        if (status != NADIR_OK && !(status == NADIR_ERROR_NOT_CONVERGED && own.stop_reason != NULL)) {
            return nadir_union_name(context, status, i, count);
        }
        told = told != NADIR_OK ? told : status;
        if (!nadir_result_copy(&members[i], &own, sizeof own)) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of a member's result is not set");
        }
    }
    *which = conclude(count, members, settings != NULL && settings->optimistic, &made);
    if (!nadir_result_copy(result, &made, sizeof made)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the robust result is not set");
    }
    return told;
}

nadir_status nadir_union_robust(nadir_context *context, int64_t count, nadir_model *const *models,
                                const nadir_ball *balls, const nadir_policy *policy,
                                const nadir_solver_settings *solver, const nadir_robust_settings *settings,
                                nadir_robust *members, nadir_robust *result, int64_t *which,
                                nadir_worst **worst)
{
    nadir_worst **all = NULL;
    nadir_status status = nadir_union_check(context, count, models);
    if (status == NADIR_OK && worst != NULL) {
        *worst = NULL;
        NADIR_NEW_ZERO(context, all, count); /* NOLINT(bugprone-sizeof-expression) */
    }
    NADIR_CHECK(status);
    status = nadir_union_worst(context, count, models, balls, policy, solver, settings, members, result,
                               which, all);
    if (worst != NULL && (status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED)) {
        *worst = all[*which];
        all[*which] = NULL;
    }
cleanup:
    for (int64_t i = 0; all != NULL && i < count; i++) {
        nadir_worst_free(all[i]);
    }
    nadir_release(context, all);
    return status;
}

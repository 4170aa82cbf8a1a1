/*
 * verify.c: a kernel and its witness verified: poses the problem anew and asks the checks one after another.
 * What does not hold is noted, and the rest is looked at all the same.
 */
#include "proof/verify.h"

#include "linalg/vector.h"

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

bool nadir_verify_is_finding(nadir_status status)
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
    nadir_status status = NADIR_OK;
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
    NADIR_CHECK(nadir_solver_create(run->context, run->model, run->policy, &solving, &run->solver));
    const bool optimistic = witness != NULL ? witness->optimistic : said->optimistic;
    status = nadir_setup_make(run->context, run->solver, &ball, optimistic, &run->asked);
    if (status == NADIR_ERROR_ARGUMENT) {
        nadir_verify_add(run, "ball", false, "%s", nadir_context_error(run->context));
        status = NADIR_OK;
        goto cleanup;
    }
    NADIR_CHECK(status);
    run->scale = fmax(nadir_vector_largest(run->model->states, run->asked.problem.v), 1e-300);
    *posed = true;
cleanup:
    return status;
}

nadir_status nadir_verify_prove(nadir_verify_run *run)
{
    nadir_status status = NADIR_OK;
    bool posed;
    NADIR_CHECK(pose(run, &posed));
    if (posed) {
        NADIR_CHECK(nadir_verify_kernel(run));
        if (run->has_witness) {
            NADIR_CHECK(nadir_verify_claims(run));
        }
    }
cleanup:
    return status;
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
        .domain = set->domain,
        .norm = posed ? set->p : NAN,
        .radius = posed ? set->radius : NAN,
        .optimistic = sign < 0,
        .scaled = posed && set->scales != NULL,
        .nominal_return = posed ? sign * problem->J : NAN,
        .return_low = sign > 0 ? run->low : -run->high,
        .return_high = sign > 0 ? run->high : -run->low,
        .bound_proven = isinf(run->lower) ? NAN : sign * run->lower,
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

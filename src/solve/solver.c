/* solver.c: the public solver of one policy: keeps the factored system and what was found with it. */
#include "solve/solver.h"
#include "core/context.h"
#include "linalg/distributed.h"
#include "model/landing.h"
#include "model/terminal.h"
#include "solve/value.h"

#include <math.h>
#include <string.h>

/* Bounds this close, relative to the largest value, are called certified. */
#define CERTIFIED_WIDTH 1e-6

void nadir_solver_settings_fill(nadir_solver_settings *settings, size_t size)
{
    const nadir_solver_settings made = {.tolerance = 1e-12};
    nadir_settings_give(settings, size, &made, sizeof made);
}

nadir_status nadir_solver_settings_take(nadir_context *context, const nadir_solver_settings *settings,
                                        nadir_solver_settings *taken)
{
    nadir_solver_settings_default(taken);
    if (settings != NULL && !nadir_settings_copy(taken, sizeof *taken, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the solver settings is not set");
    }
    if (!(taken->tolerance > 0)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the tolerance is %g; expected more than 0",
                          taken->tolerance);
    }
    return NADIR_OK;
}

void nadir_solver_free(nadir_solver *solver)
{
    if (solver == NULL) {
        return;
    }
    nadir_memory *memory = solver->memory;
    /* The context it was created with may be gone; to free takes nothing but its memory. */
    nadir_context context = {.memory = memory};
    nadir_value_clear(&context, &solver->value);
    nadir_occupancy_free(&context, solver->occupancy);
    nadir_policy_free(solver->policy);
    nadir_kernel_free(solver->kernel);
    nadir_model_free(solver->model);
    nadir_memory_release(memory, solver);
    nadir_memory_free(memory);
}

nadir_status nadir_solver_create(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                                 const nadir_solver_settings *settings, nadir_solver **solver)
{
    nadir_occupancy *none = NULL;
    return nadir_solver_create_from(context, model, policy, settings, &none, solver);
}

nadir_status nadir_solver_create_from(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                                      const nadir_solver_settings *settings, nadir_occupancy **occupancy,
                                      nadir_solver **solver)
{
    nadir_status status = NADIR_OK;
    nadir_solver *made = NULL;
    nadir_solver_settings use;
    NADIR_CHECK(nadir_solver_settings_take(context, settings, &use));
    if (policy->states != model->states || policy->rows != model->rows) {
        return nadir_fail(context, NADIR_ERROR_POLICY,
                          "the policy is for %lld states and %lld rows; the model has %lld and %lld",
                          (long long)policy->states, (long long)policy->rows, (long long)model->states,
                          (long long)model->rows);
    }
    NADIR_CHECK(nadir_value_check_model(context, model));
    NADIR_CHECK(nadir_terminal_check_policy(context, model, policy->probabilities));
    NADIR_NEW_ZERO(context, made, 1);
    made->memory = nadir_memory_retain(context->memory);
    made->model = nadir_model_retain(model);
    NADIR_CHECK(nadir_policy_share(context, model, policy, &made->policy));
    NADIR_CHECK(nadir_kernel_create(context, model, &made->kernel));
    const double begun = nadir_clock_seconds();
    if (*occupancy != NULL) {
        made->occupancy = *occupancy;
        *occupancy = NULL;
    } else {
        NADIR_CHECK(nadir_occupancy_create(context, made->kernel, made->policy, model->discount, use.backend,
                                           use.tolerance, &made->occupancy));
    }
    made->factor_seconds = nadir_clock_seconds() - begun;
    *solver = made;
    made = NULL;
cleanup:
    nadir_solver_free(made);
    return status;
}

/* Visits of states that do not end. */
static double duration_of(const nadir_solver *solver)
{
    const nadir_model *model = solver->model;
    double sum = model->terminal != NULL ? 0 : NAN;
    for (int64_t s = 0; model->terminal != NULL && s < model->states; s++) {
        sum += nadir_model_ends(model, s) ? 0 : solver->value.d[s];
    }
    return sum;
}

/* Bounds from the rows, apart from the factored system; the solver's own estimate must lie inside its own
 * error of them. */
static nadir_status certify(nadir_context *context, nadir_solver *solver)
{
    const nadir_value *value = &solver->value;
    nadir_nominal *nominal = &solver->nominal;
    nadir_value_check check;
    const double begun = nadir_clock_seconds();
    NADIR_TRY(nadir_value_check_rows(context, solver->kernel, solver->policy, solver->model->discount,
                                     value->v, &check));
    const double scale = nadir_global_largest(context, solver->model->states, value->v);
    if (value->J + value->J_error < check.lower || value->J - value->J_error > check.upper) {
        return nadir_fail(context, NADIR_ERROR_VERIFICATION,
                          "the return is %.17g according to backend %s, but between %.17g and %.17g "
                          "according to the rows of the kernel",
                          value->J, nadir_occupancy_backend(solver->occupancy), check.lower, check.upper);
    }
    nominal->nominal_return = nadir_landing_return(solver->model, value->J);
    const double drift = nadir_landing_drift(solver->model, 1 / check.gap);
    nominal->lower_bound = nadir_landing_lower(solver->model, fmin(check.lower, value->J) - drift);
    nominal->upper_bound = nadir_landing_upper(solver->model, fmax(check.upper, value->J) + drift);
    nominal->certified = nominal->upper_bound - nominal->lower_bound <= CERTIFIED_WIDTH * scale;
    nominal->residual = check.residual;
    nominal->return_difference = fabs(value->J - value->J_dual);
    nominal->kernel_minimum = check.minimum;
    nominal->duration = duration_of(solver);
    nominal->seconds_check = nadir_clock_seconds() - begun;
    return NADIR_OK;
}

nadir_status nadir_solver_solve(nadir_context *context, nadir_solver *solver)
{
    if (context->memory != solver->memory) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the solver was created with another context");
    }
    if (solver->value.v != NULL) {
        return NADIR_OK;
    }
    const double begun = nadir_clock_seconds();
    const nadir_status status =
        nadir_value_solve(context, solver->kernel, solver->policy, solver->occupancy, &solver->value);
    solver->nominal.seconds_solve = nadir_clock_seconds() - begun;
    return status;
}

static nadir_status solve_and_check(nadir_context *context, nadir_solver *solver)
{
    NADIR_TRY(nadir_solver_solve(context, solver));
    if (solver->nominal.size != 0) {
        return NADIR_OK;
    }
    NADIR_TRY(certify(context, solver));
    solver->nominal.size = sizeof solver->nominal;
    return NADIR_OK;
}

nadir_status nadir_solver_nominal(nadir_context *context, nadir_solver *solver, nadir_nominal *result)
{
    nadir_status status = NADIR_OK;
    nadir_nominal *nominal = &solver->nominal;
    nadir_backend_statistics statistics;
    NADIR_CHECK(solve_and_check(context, solver));
    nadir_occupancy_statistics(solver->occupancy, &statistics);
    nominal->backend = nadir_occupancy_backend(solver->occupancy);
    nominal->solves = statistics.solves;
    nominal->iterations = statistics.iterations;
    nominal->memory = statistics.bytes;
    nominal->seconds_factor = solver->factor_seconds;
    if (!nadir_result_copy(result, nominal, sizeof *nominal)) {
        status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the nominal result is not set");
    }
cleanup:
    return status;
}

nadir_status nadir_solver_value(nadir_context *context, nadir_solver *solver, double *value)
{
    const nadir_status status = solve_and_check(context, solver);
    if (status == NADIR_OK) {
        memcpy(value, solver->value.v, (size_t)solver->model->states * sizeof *value);
        nadir_landing_value(solver->model, value);
    }
    return status;
}

nadir_status nadir_solver_occupancy(nadir_context *context, nadir_solver *solver, double *occupancy)
{
    const nadir_status status = solve_and_check(context, solver);
    if (status == NADIR_OK) {
        memcpy(occupancy, solver->value.d, (size_t)solver->model->states * sizeof *occupancy);
    }
    return status;
}

nadir_status nadir_solver_q(nadir_context *context, nadir_solver *solver, double *q)
{
    const nadir_status status = solve_and_check(context, solver);
    if (status == NADIR_OK) {
        nadir_value_q(context, solver->kernel, solver->model->discount, solver->value.v, q);
        nadir_landing_q(solver->model, q);
    }
    return status;
}

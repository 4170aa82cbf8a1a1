/* direct_solver.c: which systems and sizes the direct backends refuse; see direct_solver.h. */
#include "solve/direct_solver.h"

#include <float.h>
#include <math.h>

/* A reciprocal condition number below states * DBL_EPSILON leaves no digit of a solution. */
static double least_condition(int64_t states)
{
    return (double)states * DBL_EPSILON;
}

void nadir_dominance_add(nadir_dominance *dominance, int64_t state, double diagonal, double sum)
{
    const double slack = 2 * diagonal - sum;
    if (!isfinite(sum)) {
        dominance->broken = state < dominance->broken ? state : dominance->broken;
        return;
    }
    dominance->norm = sum > dominance->norm ? sum : dominance->norm;
    dominance->slack = slack < dominance->slack ? slack : dominance->slack;
}

void nadir_dominance_join(nadir_dominance *dominance, const nadir_dominance *other)
{
    dominance->norm = fmax(dominance->norm, other->norm);
    dominance->slack = fmin(dominance->slack, other->slack);
    dominance->broken = other->broken < dominance->broken ? other->broken : dominance->broken;
}

nadir_status nadir_dominance_check(nadir_context *context, const nadir_dominance *dominance)
{
    if (dominance->broken == INT64_MAX) {
        return NADIR_OK;
    }
    return nadir_fail(context, NADIR_ERROR_ILL_POSED,
                      "I - gamma P has a number that is not finite in the row of state %lld",
                      (long long)dominance->broken);
}

bool nadir_dominance_suffices(const nadir_dominance *dominance, int64_t states)
{
    /* slack and norm are sums of up to `states` terms: rounding may hide as much as the threshold itself */
    return dominance->slack > 4 * least_condition(states) * dominance->norm;
}

nadir_status nadir_direct_check_condition(nadir_context *context, int64_t states, double reciprocal)
{
    if (reciprocal >= least_condition(states)) { /* false for NaN */
        return NADIR_OK;
    }
    return nadir_fail(context, NADIR_ERROR_ILL_POSED,
                      "I - gamma P is singular to working precision: its reciprocal condition number is "
                      "about %.2g, below %.2g no digit is left",
                      reciprocal, least_condition(states));
}

nadir_status nadir_direct_singular(nadir_context *context, int64_t state)
{
    return nadir_fail(context, NADIR_ERROR_ILL_POSED,
                      "I - gamma P is singular: the row of state %lld depends on other rows",
                      (long long)state);
}

nadir_status nadir_direct_check_memory(nadir_context *context, const char *backend, double bytes)
{
    const double gibibyte = 1024.0 * 1024 * 1024;
    const double limit = (double)nadir_memory_limit(context->memory);
    const double left = limit - (double)nadir_memory_used(context->memory);
    if (bytes <= left) {
        return NADIR_OK;
    }
    return nadir_fail(context, NADIR_ERROR_MEMORY,
                      "backend %s needs %.3g GiB for its factors and %.3g GiB are left of the memory limit; "
                      "backend krylov needs no factors",
                      backend, bytes / gibibyte, fmax(left, 0) / gibibyte);
}

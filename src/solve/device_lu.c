/*
 * device_lu.c: backend device-lu, dense LU with partial pivoting on the device of an engine; see backend.h
 * and core/device.h.
 *
 * Which systems are refused as singular is decided as for the other direct backends: by the dominance of the
 * rows or, where that does not suffice, by an estimate of |A^-1|_inf with a few solves (Higham 1988, as
 * LAPACK has it).
 */
#include "core/context.h"
#include "solve/backend.h"
#include "solve/device_matrix.h"
#include "solve/direct_solver.h"

#include <lapack.h>

/* At this size the factors take 32 GiB. */
#define STATES_LIMIT 65536

typedef struct device_lu {
    nadir_average *average;
    double gamma;
    nadir_device_matrix on;
    void *factors; /* NULL: the last factorisation failed */
    nadir_backend_statistics statistics;
} device_lu;

static void destroy(nadir_context *context, void *backend)
{
    device_lu *lu = backend;
    if (lu != NULL) {
        if (lu->factors != NULL) {
            lu->on.device->lu_free(lu->factors);
        }
        nadir_device_matrix_clear(&lu->on);
        nadir_release(context, lu);
    }
}

/* |A^-1|_inf is the 1-norm of A^-T. */
static nadir_status estimate_condition(nadir_context *context, const device_lu *lu, double norm)
{
    nadir_status status = NADIR_OK;
    const lapack_int n = (lapack_int)lu->average->states;
    double *numbers = NULL; /* v, x and the solution */
    lapack_int *signs = NULL;
    lapack_int stage = 0;
    lapack_int kept[3] = {0};
    double inverse = 0;
    NADIR_NEW(context, numbers, 3 * (int64_t)n);
    NADIR_NEW(context, signs, n);
    double *x = numbers + n;
    do {
        LAPACK_dlacn2(&n, numbers, x, signs, &inverse, &stage, kept);
        if (stage != 0) {
            NADIR_CHECK(
                lu->on.device->lu_solve(lu->factors, context, stage == 1, 1, x, numbers + 2 * (int64_t)n));
            for (lapack_int i = 0; i < n; i++) {
                x[i] = numbers[2 * (int64_t)n + i];
            }
        }
    } while (stage != 0);
    NADIR_CHECK(nadir_direct_check_condition(context, n, 1 / (inverse * norm)));
cleanup:
    nadir_release(context, numbers);
    nadir_release(context, signs);
    return status;
}

static nadir_status factor(nadir_context *context, device_lu *lu)
{
    nadir_status status = NADIR_OK;
    const int64_t n = lu->average->states;
    nadir_device_dominance found;
    int64_t bytes;
    NADIR_CHECK(lu->on.device->lu_factor(lu->on.matrix, context, lu->gamma, &lu->factors, &found, &bytes));
    const nadir_dominance dominance = {found.norm, found.slack, found.broken};
    NADIR_CHECK(nadir_dominance_check(context, &dominance));
    if (found.singular >= 0) {
        NADIR_CHECK(nadir_direct_singular(context, found.singular));
    }
    if (!nadir_dominance_suffices(&dominance, n)) {
        NADIR_CHECK(estimate_condition(context, lu, found.norm));
    }
    lu->statistics.bytes = bytes + (lu->on.owned ? lu->on.facts.bytes : 0);
    lu->statistics.factorings++;
cleanup:
    if (status != NADIR_OK && lu->factors != NULL) {
        lu->on.device->lu_free(lu->factors);
        lu->factors = NULL;
    }
    return status;
}

static nadir_status setup(nadir_context *context, nadir_average *average, double gamma, void **backend)
{
    nadir_status status = NADIR_OK;
    device_lu *lu = NULL;
    const double begun = nadir_clock_seconds();
    if (average->states > STATES_LIMIT) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "backend device-lu takes at most %d states, this model has %lld; choose "
                          "device-krylov",
                          STATES_LIMIT, (long long)average->states);
    }
    NADIR_NEW_ZERO(context, lu, 1);
    lu->average = average;
    lu->gamma = gamma;
    NADIR_CHECK(nadir_device_matrix_make(context, "device-lu", average, &lu->on));
    NADIR_CHECK(factor(context, lu));
    lu->statistics.factor_seconds += nadir_clock_seconds() - begun;
    *backend = lu;
    lu = NULL;
cleanup:
    destroy(context, lu);
    return status;
}

static nadir_status solve(nadir_context *context, void *backend, bool transposed, int64_t count,
                          const double *b, double residual, double *x)
{
    (void)residual;
    device_lu *lu = backend;
    lu->statistics.solves += count;
    return lu->on.device->lu_solve(lu->factors, context, transposed, count, b, x);
}

static void statistics(const void *backend, nadir_backend_statistics *result)
{
    const device_lu *lu = backend;
    *result = lu->statistics;
}

const nadir_backend nadir_backend_device_lu = {
    .name = "device-lu",
    .capabilities = NADIR_BACKEND_DENSE | NADIR_BACKEND_SPARSE | NADIR_BACKEND_DIRECT | NADIR_BACKEND_DEVICE,
    .setup = setup,
    .solve = solve,
    .statistics = statistics,
    .destroy = destroy,
};

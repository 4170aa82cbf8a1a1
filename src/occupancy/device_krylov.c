/*
 * device_krylov.c: backend device-krylov, iterations on the device of an engine; see backend.h and
 * base/device.h. What an iteration is and when it stops is what krylov.c says; the vectors of a run stay on
 * the device.
 */
#include "base/clock.h"
#include "occupancy/backend.h"
#include "occupancy/device.h"

#include <float.h>
#include <math.h>

#define NEAR_ENOUGH 10 /* times the residual wanted, where rounding allows no better */

typedef struct device_krylov {
    nadir_average *average;
    double gamma;
    nadir_device_matrix on;
    nadir_backend_statistics statistics;
} device_krylov;

static void destroy(nadir_context *context, void *backend)
{
    device_krylov *self = backend;
    if (self != NULL) {
        nadir_device_matrix_clear(&self->on);
        nadir_release(context, self);
    }
}

static nadir_status setup(nadir_context *context, nadir_average *average, double gamma, void **backend)
{
    nadir_status status = NADIR_OK;
    device_krylov *self = NULL;
    const double begun = nadir_clock_seconds();
    NADIR_NEW_ZERO(context, self, 1);
    self->average = average;
    self->gamma = gamma;
    NADIR_CHECK(nadir_device_matrix_make(context, "device-krylov", average, &self->on));
    self->statistics.bytes = self->on.owned ? self->on.facts.bytes : 0;
    self->statistics.factorings = 1;
    self->statistics.factor_seconds = nadir_clock_seconds() - begun;
    *backend = self;
    self = NULL;
cleanup:
    destroy(context, self);
    return status;
}

/* One column, whose index is for the message. */
static nadir_status solve_one(nadir_context *context, device_krylov *self, const nadir_device_system *system,
                              int64_t index, const double *b, double *x)
{
    nadir_status status = NADIR_OK;
    nadir_device_outcome outcome;
    NADIR_CHECK(self->on.device->iterate(self->on.matrix, context, system, b, x, &outcome));
    self->statistics.iterations += outcome.products;
    self->statistics.solves++;
    if (!(outcome.residual <= NEAR_ENOUGH * system->residual)) {
        status = nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                            "device-krylov: the residual of right-hand side %lld stays at %.3g; %.3g was "
                            "wanted",
                            (long long)index, outcome.residual, system->residual);
    }
cleanup:
    return status;
}

static nadir_device_system system_of(const device_krylov *self, bool transposed)
{
    return (nadir_device_system){
        .gamma = self->gamma,
        .rate = self->gamma * self->on.facts.norm,
        .rounding = DBL_EPSILON * (2 + sqrt((double)self->on.facts.longest)),
        .least = NADIR_REFINED_ROUNDING,
        .transposed = transposed,
    };
}

static nadir_status refine(nadir_context *context, void *backend, bool transposed, const double *b,
                           double relative, double *x, double norms[3])
{
    nadir_status status = NADIR_OK;
    device_krylov *self = backend;
    nadir_device_system system = system_of(self, transposed);
    nadir_device_outcome outcome;
    system.relative = relative;
    NADIR_CHECK(nadir_progress(context, "solving", -1));
    NADIR_CHECK(self->on.device->iterate(self->on.matrix, context, &system, b, x, &outcome));
    self->statistics.iterations += outcome.products;
    self->statistics.solves++;
    norms[0] = outcome.b_norm;
    norms[1] = outcome.x_norm;
    norms[2] = outcome.residual;
cleanup:
    return status;
}

static nadir_status solve(nadir_context *context, void *backend, bool transposed, int64_t count,
                          const double *b, double residual, double *x)
{
    nadir_status status = NADIR_OK;
    nadir_status kept = NADIR_OK;
    device_krylov *self = backend;
    const int64_t n = self->average->states;
    nadir_device_system system = system_of(self, transposed);
    system.residual = residual > 0 ? residual : DBL_MIN;
    for (int64_t j = 0; j < count; j++) {
        NADIR_CHECK(nadir_progress(context, "solving", -1));
        status = solve_one(context, self, &system, j, b + j * n, x + j * n);
        if (status != NADIR_OK && status != NADIR_ERROR_NOT_CONVERGED) {
            goto cleanup;
        }
        kept = status != NADIR_OK ? status : kept;
    }
    status = kept;
cleanup:
    return status;
}

static void statistics(const void *backend, nadir_backend_statistics *result)
{
    const device_krylov *self = backend;
    *result = self->statistics;
}

const nadir_backend nadir_backend_device_krylov = {
    .name = "device-krylov",
    .capabilities = NADIR_BACKEND_DENSE | NADIR_BACKEND_SPARSE | NADIR_BACKEND_DEVICE,
    .setup = setup,
    .solve = solve,
    .refine = refine,
    .statistics = statistics,
    .destroy = destroy,
};

/* device_backends.c: the backends that solve on the device of an engine; see core/device.h. */
#include "core/context.h"
#include "model/average.h"
#include "solve/backend.h"
#include "solve/direct_solver.h"

#include <float.h>
#include <lapack.h>
#include <math.h>

/* M on the device: the average's own, or a copy of an average that was made here. */
typedef struct device_matrix {
    const nadir_device *device;
    void *matrix;
    bool owned;
    nadir_device_facts facts;
} device_matrix;

/* NADIR_ERROR_UNSUPPORTED without a device. backend: its name. */
static nadir_status device_matrix_make(nadir_context *context, const char *backend,
                                       const nadir_average *average, device_matrix *made)
{
    const nadir_matrix *matrix = &average->matrix;
    *made = (device_matrix){.device = context->device};
    if (context->device == NULL) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the backend %s is part of an engine with a device (--engine cuda)", backend);
    }
    if (average->device_matrix != NULL) {
        made->matrix = average->device_matrix;
        made->facts = average->facts;
        return NADIR_OK;
    }
    const nadir_device_rows rows = {
        .states = matrix->size,
        .rows = matrix->size,
        .dense = matrix->dense,
        .starts = matrix->starts,
        .columns = matrix->columns,
        .values = matrix->values,
    };
    made->owned = true;
    return context->device->matrix_upload(context->device_self, context, &rows, &made->matrix, &made->facts);
}

static void device_matrix_clear(device_matrix *made)
{
    if (made->owned && made->matrix != NULL) {
        made->device->matrix_free(made->matrix);
    }
    *made = (device_matrix){0};
}

/*
 * device-krylov: iterations on the device. What an iteration is and when it stops is what krylov.c says; the
 * vectors of a run stay on the device.
 *
 * A dense matrix whose iterations have cost as much as its factors would is factored: from then on every
 * solve starts from that of the factors. So it never costs more than twice the better of both.
 */

#define FACTORED_STATES 32768 /* factors of 8 GiB */

#define NEAR_ENOUGH 10 /* times the residual wanted, where rounding allows no better */

typedef struct device_krylov {
    nadir_average *average;
    double gamma;
    device_matrix on;
    void *factors; /* NULL: none */
    bool iterates; /* for good: the matrix is sparse, or cannot be factored */
    nadir_backend_statistics statistics;
} device_krylov;

static void krylov_destroy(nadir_context *context, void *backend)
{
    device_krylov *self = backend;
    if (self != NULL) {
        if (self->factors != NULL) {
            self->on.device->lu_free(self->factors);
        }
        device_matrix_clear(&self->on);
        nadir_release(context, self);
    }
}

static nadir_status krylov_setup(nadir_context *context, nadir_average *average, double gamma, void **backend)
{
    nadir_status status = NADIR_OK;
    device_krylov *self = NULL;
    const double begun = nadir_clock_seconds();
    NADIR_NEW_ZERO(context, self, 1);
    self->average = average;
    self->gamma = gamma;
    NADIR_CHECK(device_matrix_make(context, "device-krylov", average, &self->on));
    self->iterates = !nadir_average_is_dense(average) || average->states > FACTORED_STATES;
    self->statistics.bytes = self->on.facts.bytes;
    self->statistics.factorings = 1;
    self->statistics.factor_seconds = nadir_clock_seconds() - begun;
    *backend = self;
    self = NULL;
cleanup:
    krylov_destroy(context, self);
    return status;
}

/* Products that take as long as factors: 2/3 S^3 operations at 10 Tflop/s, 8 S^2 bytes at 4 TB/s, S=8192: 35
 * ms and 0.13 ms; some more where launches cost more than the work. */
static int64_t products_allowed(const device_krylov *self)
{
    return self->average->states / 32 + 64;
}

/* Where that cannot be, for want of memory or since A is singular, iterations go on. */
static void make_factors(nadir_context *context, device_krylov *self)
{
    nadir_device_dominance found;
    int64_t bytes = 0;
    const double begun = nadir_clock_seconds();
    const nadir_status status =
        self->on.device->lu_factor(self->on.matrix, context, self->gamma, &self->factors, &found, &bytes);
    self->iterates = status != NADIR_OK || self->factors == NULL;
    self->statistics.bytes += self->iterates ? 0 : bytes;
    self->statistics.factorings += !self->iterates;
    self->statistics.factor_seconds += nadir_clock_seconds() - begun;
}

/* x from the guess in it, or from the factors if there are any; makes them when iterations have cost enough.
 * `system` is left with the limit of the last run. */
static nadir_status iterate(nadir_context *context, device_krylov *self, nadir_device_system *system,
                            const double *b, double *x, nadir_device_solve_result *outcome)
{
    nadir_status status = NADIR_OK;
    const int64_t left = products_allowed(self) - self->statistics.iterations;
    system->limit = self->iterates || self->factors != NULL ? 0 : left > 1 ? left : 1;
    if (self->factors == NULL) {
        NADIR_CHECK(self->on.device->bicgstab_solve(self->on.matrix, context, system, b, x, outcome));
        self->statistics.iterations += outcome->products;
        if (system->limit == 0 || outcome->products < system->limit) {
            goto cleanup;
        }
        make_factors(context, self);
        system->limit = 0;
    }
    if (self->factors != NULL) {
        NADIR_CHECK(self->on.device->lu_solve(self->factors, context, system->transposed, 1, b, x));
    }
    system->fresh = false;
    NADIR_CHECK(self->on.device->bicgstab_solve(self->on.matrix, context, system, b, x, outcome));
    self->statistics.iterations += outcome->products;
cleanup:
    self->statistics.solves++;
    return status;
}

static nadir_device_system system_of(const device_krylov *self, bool transposed)
{
    const double length =
        (double)self->on.facts.longest + nadir_offsupport_tail_roundings(&self->average->tail, transposed);
    return (nadir_device_system){
        .gamma = self->gamma,
        .rate = self->gamma * self->on.facts.norm,
        .rounding = DBL_EPSILON * (2 + sqrt(length)),
        .least = NADIR_REFINED_ROUNDING,
        .transposed = transposed,
    };
}

/* Residuals that are small enough, as the device judges them. */
static bool is_near(const nadir_device_system *system, const nadir_device_solve_result *outcome)
{
    const double least = system->least * (outcome->b_norm + 2 * outcome->x_norm);
    const double wanted = system->residual > 0 ? system->residual : system->relative * outcome->x_norm;
    return outcome->residual <= wanted || (system->residual <= 0 && outcome->residual <= least);
}

/* All columns at once, as far as that goes, from the guesses or the factors; a product with all of them
 * counts as one: what takes the time is to read M. */
static nadir_status approach(nadir_context *context, device_krylov *self, nadir_device_system *system,
                             int64_t count, const double *b, double *x, nadir_device_solve_result *outcomes)
{
    nadir_status status = NADIR_OK;
    const nadir_device *device = self->on.device;
    const int64_t left = products_allowed(self) - self->statistics.iterations;
    system->limit = self->iterates || self->factors != NULL ? 0 : left > 1 ? left : 1;
    if (self->factors == NULL) {
        const int64_t before = self->statistics.iterations;
        bool near = true;
        NADIR_CHECK(device->bicgstab_solve_many(self->on.matrix, context, system, count, b, x, outcomes));
        for (int64_t j = 0; j < count; j++) {
            near = near && is_near(system, &outcomes[j]);
            self->statistics.iterations += outcomes[j].products;
        }
        if (near || system->limit == 0 || self->statistics.iterations - before < system->limit) {
            goto cleanup;
        }
        make_factors(context, self);
        system->limit = 0;
    }
    if (self->factors != NULL) {
        NADIR_CHECK(device->lu_solve(self->factors, context, system->transposed, count, b, x));
    }
    NADIR_CHECK(device->bicgstab_solve_many(self->on.matrix, context, system, count, b, x, outcomes));
    for (int64_t j = 0; j < count; j++) {
        self->statistics.iterations += outcomes[j].products;
    }
cleanup:
    return status;
}

/* Columns that all together did not settle are iterated alone. */
static nadir_status settle(nadir_context *context, device_krylov *self, nadir_device_system *system,
                           int64_t count, const double *b, double *x, nadir_device_solve_result *outcomes)
{
    const int64_t n = self->average->states;
    const bool together = count > 1;
    if (together) {
        NADIR_TRY(approach(context, self, system, count, b, x, outcomes));
    }
    for (int64_t j = 0; j < count; j++) {
        if (together && is_near(system, &outcomes[j])) {
            self->statistics.solves++;
            continue;
        }
        NADIR_TRY(nadir_progress(context, "solving", -1));
        NADIR_TRY(iterate(context, self, system, b + j * n, x + j * n, &outcomes[j]));
    }
    return NADIR_OK;
}

static nadir_status refine(nadir_context *context, void *backend, bool transposed, int64_t count,
                           const double *b, double relative, double *x, double *norms)
{
    nadir_status status = NADIR_OK;
    device_krylov *self = backend;
    nadir_device_system system = system_of(self, transposed);
    nadir_device_solve_result *outcomes = NULL;
    system.relative = relative;
    NADIR_NEW(context, outcomes, count);
    NADIR_CHECK(settle(context, self, &system, count, b, x, outcomes));
    for (int64_t j = 0; j < count; j++) {
        norms[3 * j] = outcomes[j].b_norm;
        norms[3 * j + 1] = outcomes[j].x_norm;
        norms[3 * j + 2] = outcomes[j].residual;
    }
cleanup:
    nadir_release(context, outcomes);
    return status;
}

static nadir_status refine_device(nadir_context *context, void *backend, bool transposed, const double *b,
                                  double relative, double *x, double *norms)
{
    device_krylov *self = backend;
    nadir_device_system system = system_of(self, transposed);
    nadir_device_solve_result outcome;
    system.relative = relative;
    system.fresh = true;
    NADIR_TRY(iterate(context, self, &system, b, x, &outcome));
    norms[0] = outcome.b_norm;
    norms[1] = outcome.x_norm;
    norms[2] = outcome.residual;
    return NADIR_OK;
}

static nadir_status krylov_solve(nadir_context *context, void *backend, bool transposed, int64_t count,
                                 const double *b, double residual, double *x)
{
    nadir_status status = NADIR_OK;
    device_krylov *self = backend;
    nadir_device_system system = system_of(self, transposed);
    nadir_device_solve_result *outcomes = NULL;
    system.residual = residual > 0 ? residual : DBL_MIN;
    NADIR_NEW(context, outcomes, count);
    NADIR_CHECK(settle(context, self, &system, count, b, x, outcomes));
    for (int64_t j = 0; j < count && status == NADIR_OK; j++) {
        if (!(outcomes[j].residual <= NEAR_ENOUGH * system.residual)) {
            status = nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                                "device-krylov: the residual of right-hand side %lld stays at %.3g; %.3g was "
                                "wanted",
                                (long long)j, outcomes[j].residual, system.residual);
        }
    }
cleanup:
    nadir_release(context, outcomes);
    return status;
}

static void krylov_statistics(const void *backend, nadir_backend_statistics *result)
{
    const device_krylov *self = backend;
    *result = self->statistics;
}

const nadir_backend nadir_backend_device_krylov = {
    .name = "device-krylov",
    .capabilities =
        NADIR_BACKEND_DENSE | NADIR_BACKEND_SPARSE | NADIR_BACKEND_DEVICE | NADIR_BACKEND_FACTORS_DENSE,
    .setup = krylov_setup,
    .solve = krylov_solve,
    .refine = refine,
    .refine_device = refine_device,
    .statistics = krylov_statistics,
    .destroy = krylov_destroy,
};

/*
 * Backend device-lu, dense LU with partial pivoting on the device of an engine; see backend.h
 * and core/device.h.
 *
 * Which systems are refused as singular is decided as for the other direct backends: by the dominance of the
 * rows or, where that does not suffice, by an estimate of |A^-1|_inf with a few solves (Higham 1988, as
 * LAPACK has it).
 */

/* At this size the factors take 32 GiB. */
#define STATES_LIMIT 65536

typedef struct device_lu {
    nadir_average *average;
    double gamma;
    device_matrix on;
    void *factors; /* NULL: the last factorisation failed */
    nadir_backend_statistics statistics;
} device_lu;

static void lu_destroy(nadir_context *context, void *backend)
{
    device_lu *lu = backend;
    if (lu != NULL) {
        if (lu->factors != NULL) {
            lu->on.device->lu_free(lu->factors);
        }
        device_matrix_clear(&lu->on);
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
    NADIR_RELEASE(context, numbers, signs);
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

static nadir_status lu_setup(nadir_context *context, nadir_average *average, double gamma, void **backend)
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
    NADIR_CHECK(device_matrix_make(context, "device-lu", average, &lu->on));
    NADIR_CHECK(factor(context, lu));
    lu->statistics.factor_seconds += nadir_clock_seconds() - begun;
    *backend = lu;
    lu = NULL;
cleanup:
    lu_destroy(context, lu);
    return status;
}

static nadir_status lu_solve(nadir_context *context, void *backend, bool transposed, int64_t count,
                             const double *b, double residual, double *x)
{
    (void)residual;
    device_lu *lu = backend;
    lu->statistics.solves += count;
    return lu->on.device->lu_solve(lu->factors, context, transposed, count, b, x);
}

static void lu_statistics(const void *backend, nadir_backend_statistics *result)
{
    const device_lu *lu = backend;
    *result = lu->statistics;
}

const nadir_backend nadir_backend_device_lu = {
    .name = "device-lu",
    .capabilities = NADIR_BACKEND_DENSE | NADIR_BACKEND_SPARSE | NADIR_BACKEND_DIRECT | NADIR_BACKEND_DEVICE,
    .setup = lu_setup,
    .solve = lu_solve,
    .statistics = lu_statistics,
    .destroy = lu_destroy,
};

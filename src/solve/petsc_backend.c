/*
 * petsc_backend.c: the linear solver of the engine petsc as a backend; see backend.h and core/engine.h.
 *
 * Tails of a perturbed kernel are not entries of a matrix: an average that has any is not for this backend.
 */
#include "solve/backend.h"

#include "core/context.h"
#include "core/engine.h"

typedef struct petsc {
    const nadir_engine_table *engine;
    nadir_average *average;
    double gamma;
    void *solver;
    nadir_backend_statistics statistics;
} petsc;

static void destroy(nadir_context *context, void *backend)
{
    petsc *self = backend;
    if (self != NULL) {
        if (self->solver != NULL) {
            self->engine->destroy(self->solver);
        }
        nadir_release(context, self);
    }
}

/* Hands the matrix to the engine. */
static nadir_status hand_over(nadir_context *context, petsc *self)
{
    const nadir_average *average = self->average;
    const nadir_exchange *exchange = average->exchange;
    const nadir_engine_matrix matrix = {
        .first = exchange->first,
        .count = average->states,
        .total = exchange->total,
        .starts = average->matrix.starts,
        .columns = average->matrix.columns,
        .values = average->matrix.values,
        .ghosts_count = exchange->ghosts,
        .ghosts = exchange->places,
    };
    const double begun = nadir_clock_seconds();
    const nadir_status status =
        self->engine->setup(context->engine_self, context, &matrix, self->gamma, &self->solver);
    self->statistics.factor_seconds += nadir_clock_seconds() - begun;
    self->statistics.factorings++;
    return status;
}

static nadir_status setup(nadir_context *context, nadir_average *average, double gamma, void **backend)
{
    nadir_status status = NADIR_OK;
    petsc *self = NULL;
    if (context->engine == NULL || context->engine->setup == NULL || average->exchange == NULL) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the backend petsc is part of the engine petsc (--engine petsc)");
    }
    if (average->tail.states > 0) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the backend petsc does not take kernels with new successors; krylov does");
    }
    NADIR_NEW_ZERO(context, self, 1);
    self->engine = context->engine;
    self->average = average;
    self->gamma = gamma;
    NADIR_CHECK(hand_over(context, self));
    *backend = self;
    self = NULL;
cleanup:
    destroy(context, self);
    return status;
}

static nadir_status refactor(nadir_context *context, void *backend)
{
    petsc *self = backend;
    self->engine->destroy(self->solver);
    self->solver = NULL;
    return hand_over(context, self);
}

static nadir_status solve(nadir_context *context, void *backend, bool transposed, int64_t count,
                          const double *b, double residual, double *x)
{
    petsc *self = backend;
    const int64_t n = self->average->states;
    nadir_status status = NADIR_OK;
    for (int64_t j = 0; j < count && (status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED); j++) {
        int64_t products = 0;
        const nadir_status one =
            self->engine->solve(self->solver, context, transposed, b + j * n, residual, x + j * n, &products);
        status = one != NADIR_OK ? one : status;
        self->statistics.iterations += products;
        self->statistics.solves++;
        if (status == NADIR_OK) {
            status = nadir_progress(context, "solving", -1);
        }
    }
    return status;
}

static void statistics(const void *backend, nadir_backend_statistics *result)
{
    const petsc *self = backend;
    *result = self->statistics;
    /* the assembled matrix, as long as the average with wider columns */
    result->bytes = (int64_t)sizeof *self +
                    self->average->matrix.starts[self->average->states] * (int64_t)(2 * sizeof(double));
}

const nadir_backend nadir_backend_petsc = {
    .name = "petsc",
    .capabilities = NADIR_BACKEND_SPARSE | NADIR_BACKEND_DISTRIBUTED,
    .setup = setup,
    .refactor = refactor,
    .solve = solve,
    .statistics = statistics,
    .destroy = destroy,
};

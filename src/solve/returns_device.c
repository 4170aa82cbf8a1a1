/*
 * returns_device.c: the returns of many policies of a model of few states on the device of an engine.
 *
 * The device averages, factors and solves thousands of policies at a time, and looks at each v with the rows
 * of the kernel; bounds on the errors are made of that here. What is left in doubt, since a system is
 * next to singular or a number is not finite, is evaluated here.
 */
#include "solve/returns.h"

#include "core/round.h"
#include "linalg/threads.h"
#include "model/kernel_device.h"

#include <float.h>
#include <string.h>

/* Larger models fill the device by themselves. */
#define STATES_LIMIT 512

/* Probabilities that go to the device with a call. */
#define NUMBERS_AT_ONCE ((int64_t)1 << 24)

/* Of the largest value: an error that leaves less than this to be known is looked into. */
#define DOUBTFUL 1e-6

bool nadir_returns_are_on_device(const nadir_context *context, const nadir_returns_request *self)
{
    const char *name = self->settings->backend;
    const bool automatic = name == NULL || strcmp(name, "auto") == 0;
    const nadir_backend *backend = automatic ? &nadir_backend_device_lu : nadir_backend_find(name);
    return context->device != NULL && self->model->states <= STATES_LIMIT && backend != NULL &&
           nadir_backend_has(backend, NADIR_BACKEND_DEVICE) &&
           nadir_backend_has(backend, NADIR_BACKEND_DIRECT);
}

/* A run of policies while the device has it. */
typedef struct block {
    int64_t first, count;
    const double *probabilities; /* [count * rows] normalised */
    nadir_device_return *found;  /* [count] */
    double *normalised;          /* [count * rows], NULL: policies are as they are given */
    bool *doubtful;              /* [count] */
} block;

/* Normalises the policies of a block. */
static void load(const nadir_context *context, const nadir_returns_request *own, block *self)
{
    const int64_t rows = own->model->rows;
    const double *given = own->probabilities + self->first * rows;
    self->probabilities = self->normalised != NULL ? self->normalised : given;
    if (self->normalised == NULL) {
        return;
    }
#pragma omp parallel for num_threads(nadir_threads_for(context, self->count *rows)) schedule(static)
    for (int64_t i = 0; i < self->count; i++) {
        nadir_returns_normalise(own->model, given + i * rows, self->normalised + i * rows);
    }
}

/* Returns and errors of a block. mu . v is a sum of S products in any order. */
static void conclude(const nadir_context *context, const nadir_returns_request *own, const block *self)
{
    const nadir_model *model = own->model;
    const double terms = (double)model->states + 4;
#pragma omp parallel for num_threads(nadir_threads_for(context, self->count * model->rows)) schedule(static)
    for (int64_t i = 0; i < self->count; i++) {
        const nadir_device_return *found = &self->found[i];
        const nadir_value_residual seen = {
            .lowest = found->lowest,
            .highest = found->highest,
            .largest = found->largest,
            .mean = found->mean,
            .rounding = terms * NADIR_ROUND_UNIT * own->terms.mass * found->largest +
                        (found->largest > 0 ? DBL_MIN : 0),
        };
        const double error =
            nadir_returns_record(context, own, self->probabilities + i * model->rows, &seen, self->first + i);
        self->doubtful[i] = !(error <= DOUBTFUL * found->largest); /* also where a number is not finite */
    }
}

/* Those that are doubtful, here. */
static nadir_status settle(nadir_context *context, const nadir_returns_request *own, const block *self,
                           nadir_returns_worker *member)
{
    nadir_status status = NADIR_OK;
    for (int64_t i = self->first; i < self->first + self->count; i++) {
        if (!self->doubtful[i - self->first]) {
            continue;
        }
        NADIR_CHECK(nadir_progress(context, NADIR_RETURNS_TASK, (double)i / (double)own->count));
        if (nadir_returns_evaluate(own, member, i) != NADIR_OK) {
            status = nadir_returns_fail(context, member);
            goto cleanup;
        }
    }
cleanup:
    return status;
}

static nadir_status evaluate_block(nadir_context *context, const nadir_returns_request *own, void *rows,
                                   block *self, nadir_returns_worker *member)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = own->model;
    const nadir_device_returns asked = {
        .gamma = model->discount, .rewards = model->rewards, .initial = model->initial};
    load(context, own, self);
    NADIR_CHECK(context->device->policy_returns(rows, context, &asked, self->count, self->probabilities,
                                                self->found));
    conclude(context, own, self);
    NADIR_CHECK(settle(context, own, self, member));
cleanup:
    return status;
}

nadir_status nadir_returns_on_device(nadir_context *context, const nadir_returns_request *self)
{
    nadir_status status = NADIR_OK;
    const int64_t fit = NUMBERS_AT_ONCE / self->model->rows + 1;
    const int64_t most = self->count < fit ? self->count : fit;
    nadir_solver_settings here = *self->settings; /* what is done here is not for a backend of the device */
    nadir_returns_request asked = *self;
    nadir_returns_worker *member = NULL;
    block run = {0};
    void *rows;
    here.backend = NULL;
    asked.settings = &here;
    NADIR_NEW_ZERO(context, member, 1);
    NADIR_CHECK(nadir_returns_worker_make(context, self, false, member));
    NADIR_NEW(context, run.found, most);
    NADIR_NEW(context, run.doubtful, most);
    if (!self->exact) {
        NADIR_NEW(context, run.normalised, most * self->model->rows);
    }
    NADIR_CHECK(nadir_kernel_device_rows(context, self->model, &rows));
    for (int64_t first = 0; first < self->count; first += most) {
        NADIR_CHECK(nadir_progress(context, NADIR_RETURNS_TASK, (double)first / (double)self->count));
        run.first = first;
        run.count = self->count - first < most ? self->count - first : most;
        NADIR_CHECK(evaluate_block(context, &asked, rows, &run, member));
    }
cleanup:
    if (member != NULL) {
        nadir_returns_worker_clear(member);
    }
    nadir_release(context, member);
    nadir_release(context, run.found);
    nadir_release(context, run.doubtful);
    nadir_release(context, run.normalised);
    return status;
}

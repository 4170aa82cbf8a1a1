/* frank_wolfe_lmo.c: the linear problem of a Frank-Wolfe step, solved here or by a device. */
#include "search/frank_wolfe.h"

#include <string.h>

/* Allocates answers and weights of all rows. Warm start from the answers of another search if there is
 * one. */
static nadir_status make_room(nadir_context *context, nadir_frank_wolfe *self)
{
    nadir_status status = NADIR_OK;
    const int64_t rows = self->problem->rows;
    const nadir_frank_wolfe *warm_start = self->warm_start;
    if (self->answers == NULL) {
        NADIR_NEW_ZERO(context, self->answers, rows);
        if (warm_start != NULL && warm_start->answers != NULL) {
            memcpy(self->answers, warm_start->answers, (size_t)rows * sizeof *self->answers);
        }
    }
    if (self->weights == NULL) {
        NADIR_NEW(context, self->weights, rows);
    }
cleanup:
    return status;
}

/* Row by row, from the last answer of each. */
static nadir_status lmo_each_row(nadir_context *context, nadir_frank_wolfe *self,
                                 const nadir_lmo_weights *weights)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->problem->model;
    NADIR_CHECK(make_room(context, self));
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            self->weights[row] = nadir_lmo_weight(weights, s, row);
        }
    }
    NADIR_CHECK(
        nadir_lmo_solve_all(context, &self->rows, self->weights, self->beta, self->answers, &self->budget));
cleanup:
    return status;
}

static nadir_status lmo_here(nadir_context *context, nadir_frank_wolfe *self)
{
    nadir_status status = NADIR_OK;
    const nadir_lmo_weights weights = nadir_frank_wolfe_weights(self);
    self->on_device = false;
    self->stepped = false;
    if (self->remote.step != NULL && self->remote.off_support &&
        self->order.unsorted) { /* from now on sorted */
        nadir_value_order_clear(context, &self->order);
        NADIR_CHECK(nadir_value_order_make(context, self->problem->states, self->current.v, &self->order));
    }
    if (nadir_lmo_streamed_applies(&self->rows)) {
        NADIR_CHECK(nadir_lmo_streamed_solve(context, &self->rows, &weights, self->beta, self->budget.step,
                                             &self->step, &self->budget, &self->stepped));
    }
    if (!self->stepped) {
        NADIR_CHECK(lmo_each_row(context, self, &weights));
    }
cleanup:
    return status;
}

/* The smallest value is subtracted from all, so that their common part costs the gap no digits. */
nadir_status nadir_frank_wolfe_lmo(nadir_context *context, nadir_frank_wolfe *self)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(nadir_value_order_make(context, self->problem->states, self->current.v, &self->order));
    self->on_device = false;
    self->stepped = false;
    if (self->remote.step != NULL) {
        NADIR_CHECK(nadir_lmo_device_solve(context, &self->remote, &self->order, self->current.d, self->beta,
                                           &self->budget, &self->on_device));
    }
    if (!self->on_device) {
        NADIR_CHECK(lmo_here(context, self));
    }
cleanup:
    return status;
}

/* Where the device has no memory for the kernel, the problem is solved again here. */
nadir_status nadir_frank_wolfe_write(nadir_context *context, nadir_frank_wolfe *self, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_lmo_weights weights = nadir_frank_wolfe_weights(self);
    if (self->on_device) {
        status = nadir_lmo_device_kernel(context, &self->remote, kernel);
        if (status != NADIR_ERROR_MEMORY) {
            return status;
        }
        NADIR_CHECK(lmo_here(context, self));
    }
    NADIR_CHECK(self->stepped ? nadir_lmo_streamed_kernel(context, &self->rows, &weights, &self->step, kernel)
                              : nadir_lmo_kernel(context, &self->rows, self->answers, kernel));
cleanup:
    return status;
}

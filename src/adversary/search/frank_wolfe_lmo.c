/* frank_wolfe_lmo.c: the linear step from a point of a descent, made here or by a device. */
#include "adversary/search/frank_wolfe_internal.h"

#include <string.h>

/* Answers and weights of all rows. */
static nadir_status make_room(nadir_context *context, nadir_frank_wolfe *self)
{
    nadir_status status = NADIR_OK;
    const int64_t rows = self->problem->rows;
    const nadir_frank_wolfe *near = self->problem->near;
    if (self->answers == NULL) {
        NADIR_NEW_ZERO(context, self->answers, rows);
        if (near != NULL && near->answers != NULL) {
            memcpy(self->answers, near->answers, (size_t)rows * sizeof *self->answers);
        }
    }
    if (self->weights == NULL) {
        NADIR_NEW(context, self->weights, rows);
    }
cleanup:
    return status;
}

/* Row by row, with all that is known of each. */
static nadir_status answer_each(nadir_context *context, nadir_frank_wolfe *self,
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

static nadir_status answer_here(nadir_context *context, nadir_frank_wolfe *self)
{
    nadir_status status = NADIR_OK;
    const nadir_lmo_weights weights = nadir_frank_wolfe_weights(self);
    self->remotely = false;
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
        NADIR_CHECK(answer_each(context, self, &weights));
    }
cleanup:
    return status;
}

/* The linear step from here: answers and budget. Values are taken from their smallest on, so that nothing of
 * the gap is lost to their common part. */
nadir_status nadir_frank_wolfe_answer(nadir_context *context, nadir_frank_wolfe *self)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(nadir_value_order_make(context, self->problem->states, self->current.v, &self->order));
    self->remotely = false;
    self->stepped = false;
    if (self->remote.step != NULL) {
        NADIR_CHECK(nadir_lmo_device_solve(context, &self->remote, &self->order, self->current.d, self->beta,
                                           &self->budget, &self->remotely));
    }
    if (!self->remotely) {
        NADIR_CHECK(answer_here(context, self));
    }
cleanup:
    return status;
}

/* Where the device has no room for the kernel the step is made once more, here. */
nadir_status nadir_frank_wolfe_write(nadir_context *context, nadir_frank_wolfe *self, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_lmo_weights weights = nadir_frank_wolfe_weights(self);
    if (self->remotely) {
        status = nadir_lmo_device_kernel(context, &self->remote, kernel);
        if (status != NADIR_ERROR_MEMORY) {
            return status;
        }
        NADIR_CHECK(answer_here(context, self));
    }
    NADIR_CHECK(self->stepped ? nadir_lmo_streamed_kernel(context, &self->rows, &weights, &self->step, kernel)
                              : nadir_lmo_kernel(context, &self->rows, self->answers, kernel));
cleanup:
    return status;
}

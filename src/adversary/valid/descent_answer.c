/* descent_answer.c: the linear step from a point of a descent, made here or by a device. */
#include "adversary/search/frank_wolfe_internal.h"

#include <string.h>

/* Answers and weights of all rows. */
static nadir_status make_room(nadir_context *context, nadir_frank_wolfe *find)
{
    nadir_status status = NADIR_OK;
    const int64_t rows = find->problem->rows;
    const nadir_frank_wolfe *near = find->problem->near;
    if (find->answers == NULL) {
        NADIR_NEW_ZERO(context, find->answers, rows);
        if (near != NULL && near->answers != NULL) {
            memcpy(find->answers, near->answers, (size_t)rows * sizeof *find->answers);
        }
    }
    if (find->weights == NULL) {
        NADIR_NEW(context, find->weights, rows);
    }
cleanup:
    return status;
}

/* Row by row, with all that is known of each. */
static nadir_status answer_each(nadir_context *context, nadir_frank_wolfe *find,
                                const nadir_lmo_weights *weights)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = find->problem->model;
    NADIR_CHECK(make_room(context, find));
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            find->weights[row] = nadir_lmo_weight(weights, s, row);
        }
    }
    NADIR_CHECK(
        nadir_lmo_solve_all(context, &find->rows, find->weights, find->beta, find->answers, &find->budget));
cleanup:
    return status;
}

static nadir_status answer_here(nadir_context *context, nadir_frank_wolfe *find)
{
    nadir_status status = NADIR_OK;
    const nadir_lmo_weights weights = nadir_frank_wolfe_weights(find);
    find->remotely = false;
    find->stepped = false;
    if (find->remote.step != NULL && find->remote.off_support &&
        find->order.unsorted) { /* from now on sorted */
        nadir_value_order_clear(context, &find->order);
        NADIR_CHECK(nadir_value_order_make(context, find->problem->states, find->here.v, &find->order));
    }
    if (nadir_lmo_streamed_applies(&find->rows)) {
        NADIR_CHECK(nadir_lmo_streamed_solve(context, &find->rows, &weights, find->beta, find->budget.step,
                                             &find->step, &find->budget, &find->stepped));
    }
    if (!find->stepped) {
        NADIR_CHECK(answer_each(context, find, &weights));
    }
cleanup:
    return status;
}

/* The linear step from here: answers and budget. Values are taken from their smallest on, so that nothing of
 * the gap is lost to their common part. */
nadir_status nadir_frank_wolfe_answer(nadir_context *context, nadir_frank_wolfe *find)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(nadir_value_order_make(context, find->problem->states, find->here.v, &find->order));
    find->remotely = false;
    find->stepped = false;
    if (find->remote.step != NULL) {
        NADIR_CHECK(nadir_lmo_device_solve(context, &find->remote, &find->order, find->here.d, find->beta,
                                           &find->budget, &find->remotely));
    }
    if (!find->remotely) {
        NADIR_CHECK(answer_here(context, find));
    }
cleanup:
    return status;
}

/* Where the device has no room for the kernel the step is made once more, here. */
nadir_status nadir_frank_wolfe_write(nadir_context *context, nadir_frank_wolfe *find, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_lmo_weights weights = nadir_frank_wolfe_weights(find);
    if (find->remotely) {
        status = nadir_lmo_device_kernel(context, &find->remote, kernel);
        if (status != NADIR_ERROR_MEMORY) {
            return status;
        }
        NADIR_CHECK(answer_here(context, find));
    }
    NADIR_CHECK(find->stepped ? nadir_lmo_streamed_kernel(context, &find->rows, &weights, &find->step, kernel)
                              : nadir_lmo_kernel(context, &find->rows, find->answers, kernel));
cleanup:
    return status;
}

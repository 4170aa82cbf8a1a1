/* descent_answer.c: the linear step from a point of a descent, made here or by a device. */
#include "adversary/valid/descent_parts.h"

nadir_status nadir_descent_make_room(nadir_context *context, nadir_descent *find)
{
    nadir_status status = NADIR_OK;
    const int64_t rows = find->problem->rows;
    if (find->answers == NULL) {
        NADIR_NEW_ZERO(context, find->answers, rows);
    }
    if (find->weights == NULL) {
        NADIR_NEW(context, find->weights, rows);
    }
    if (find->product == NULL) {
        NADIR_NEW(context, find->product, 2 * rows);
    }
cleanup:
    return status;
}

nadir_status nadir_descent_weigh(nadir_context *context, nadir_descent *find)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = find->problem;
    const nadir_model *model = problem->model;
    NADIR_CHECK(nadir_descent_make_room(context, find));
    for (int64_t s = 0; s < problem->states; s++) {
        const double d = find->here.d[s] > 0 ? find->here.d[s] : 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            find->weights[row] = problem->gamma * d * problem->policy->probabilities[row];
        }
    }
cleanup:
    return status;
}

static nadir_status answer_here(nadir_context *context, nadir_descent *find)
{
    nadir_status status = NADIR_OK;
    find->remotely = false;
    NADIR_CHECK(nadir_descent_weigh(context, find));
    NADIR_CHECK(
        nadir_rows_share_all(context, &find->rows, find->weights, find->beta, find->answers, &find->budget));
cleanup:
    return status;
}

/* The linear step from here: answers and budget. Values are taken from their smallest on, so that nothing of
 * the gap is lost to their common part. */
nadir_status nadir_descent_answer(nadir_context *context, nadir_descent *find)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(nadir_order_make(context, find->problem->states, find->here.v, &find->order));
    find->remotely = false;
    if (find->remote.step != NULL) {
        NADIR_CHECK(nadir_rows_remote_answer(context, &find->remote, &find->order, find->here.d, find->beta,
                                             &find->budget, &find->remotely));
    }
    if (!find->remotely) {
        NADIR_CHECK(answer_here(context, find));
    }
cleanup:
    return status;
}

/* Where the device has no room for the kernel the step is made once more, here. */
nadir_status nadir_descent_write(nadir_context *context, nadir_descent *find, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    if (find->remotely) {
        status = nadir_rows_remote_kernel(context, &find->remote, kernel);
        if (status != NADIR_ERROR_MEMORY) {
            return status;
        }
        NADIR_CHECK(answer_here(context, find));
    }
    NADIR_CHECK(nadir_rows_kernel(context, &find->rows, find->answers, kernel));
cleanup:
    return status;
}

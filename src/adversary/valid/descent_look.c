/*
 * descent_look.c: the linear step from a point of a descent, and what it promises; see descent_parts.h.
 *
 * With a device that makes the step (rows/remote.h) answers stay there: the gap, sum over rows of w_r (P_r -
 * X_r) . v, is then sum over s of gamma d(s) (P^pi - Phat^pi) v, by products with averages, and the sum of
 * what the answers gain.
 */
#include "adversary/valid/descent_parts.h"

#include "kernel/remote.h"
#include "linalg/distributed.h"

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
        NADIR_CHECK(nadir_descent_weigh(context, find));
        NADIR_CHECK(nadir_rows_share_all(context, &find->rows, find->weights, find->beta, find->answers,
                                         &find->budget));
    }
cleanup:
    return status;
}

nadir_status nadir_descent_write(nadir_context *context, nadir_descent *find, nadir_kernel **kernel)
{
    return find->remotely ? nadir_rows_remote_kernel(context, &find->remote, kernel)
                          : nadir_rows_kernel(context, &find->rows, find->answers, kernel);
}

/* The gap by products with averages, sum over s of gamma d(s) (P^pi - Phat^pi) v, and what the answer gains.
 * *done: false where the operator is of another kernel than here. */
static nadir_status look_by_averages(nadir_context *context, nadir_descent *find, bool *done)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = find->problem;
    const int64_t n = problem->states;
    const bool start = nadir_kernel_is_remote(context, find->here.kernel); /* nominal */
    double *own = find->averages;
    double *nominal = find->averages + n;
    double moved = 0;
    *done = find->remotely && (start || find->operator.kernel == find->here.kernel);
    if (*done && !start) {
        NADIR_CHECK(nadir_average_combine(context, nadir_occupancy_average(find->operator.occupancy), false,
                                          1, 0, 1, find->order.x, own));
        NADIR_CHECK(nadir_average_combine(context, nadir_occupancy_average(problem->occupancy), false, 1, 0,
                                          1, find->order.x, nominal));
        for (int64_t s = 0; s < n; s++) {
            moved += (find->here.d[s] > 0 ? find->here.d[s] : 0) * (own[s] - nominal[s]);
        }
    }
    const double gap = problem->gamma * moved * find->order.range + find->budget.gain;
    find->gap = gap > 0 ? gap : 0;
cleanup:
    return status;
}

/* That, and the gap. */
nadir_status nadir_descent_look_down(nadir_context *context, nadir_descent *find)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = find->problem;
    bool done = false;
    NADIR_CHECK(nadir_descent_answer(context, find));
    if (find->remotely) {
        NADIR_CHECK(look_by_averages(context, find, &done));
        if (done) {
            goto cleanup;
        }
        NADIR_CHECK(nadir_descent_weigh(context, find));
        NADIR_CHECK(nadir_remote_bring(context, find->here.kernel));
    }
    double *own = find->product;
    double *nominal = find->product + problem->rows;
    nadir_kernel_multiply_where(context, find->here.kernel, find->weights, find->order.x, own);
    nadir_kernel_multiply_where(context, problem->kernel, find->weights, find->order.x, nominal);
    double gap = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        const double moved = (own[row] - nominal[row]) * find->order.range;
        gap += find->weights[row] * (moved + (find->remotely ? 0 : find->answers[row].gain));
    }
    gap = nadir_join_sum(context, gap) + (find->remotely ? find->budget.gain : 0);
    find->gap = gap > 0 ? gap : 0;
cleanup:
    return status;
}

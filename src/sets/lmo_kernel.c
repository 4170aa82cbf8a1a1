/*
 * lmo_kernel.c: the solutions of all rows as a kernel; see lmo.h. Support values and a tail where what a row
 * gives to other states is affine in x, explicit rows otherwise.
 */
#include "sets/lmo_internal.h"

#include "linalg/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void nadir_lmo_kernel_fill(const nadir_lmo *lmo, int64_t row, const nadir_lmo_solution *solution,
                           nadir_perturbed *perturbed)
{
    const bool nominal = !(solution->step > 0) || !(nadir_lmo_scale(lmo, row) > 0);
    if (nominal && perturbed->nominal[row]) {
        return;
    }
    perturbed->nominal[row] = nominal;
    nadir_lmo_tail tail = {.extra = -1};
    if (!nominal) {
        tail =
            nadir_lmo_write_row(lmo, row, solution, perturbed->values + nadir_lmo_row_start(lmo->model, row));
    }
    if (perturbed->x != NULL) {
        perturbed->omega[row] = tail.omega;
        perturbed->slope[row] = tail.slope;
        perturbed->length[row] = tail.length;
        perturbed->extra[row] = tail.extra;
        perturbed->amount[row] = tail.amount;
    }
}

nadir_status nadir_lmo_kernel_blank(nadir_context *context, const nadir_lmo *lmo, nadir_kernel **kernel,
                                    nadir_perturbed **perturbed)
{
    nadir_status status = NADIR_OK;
    const size_t states = (size_t)lmo->model->states;
    nadir_kernel *made = NULL;
    *perturbed = *kernel != NULL ? nadir_kernel_perturbed(*kernel) : NULL;
    if (*perturbed == NULL || ((*perturbed)->x != NULL) != nadir_lmo_has_tail(lmo)) {
        NADIR_CHECK(nadir_kernel_create_blank(context, lmo->model, nadir_lmo_has_tail(lmo), &made));
        nadir_kernel_free(*kernel);
        *kernel = made;
        *perturbed = nadir_kernel_perturbed(made);
    }
    if ((*perturbed)->x != NULL) {
        memcpy((*perturbed)->x, lmo->order->x, states * sizeof *(*perturbed)->x);
        memcpy((*perturbed)->order, lmo->order->order, states * sizeof *(*perturbed)->order);
    }
cleanup:
    return status;
}

static nadir_status make_perturbed(nadir_context *context, const nadir_lmo *lmo,
                                   const nadir_lmo_solution *solutions, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = lmo->model;
    nadir_perturbed *perturbed;
    NADIR_CHECK(nadir_lmo_kernel_blank(context, lmo, kernel, &perturbed));
    const int threads = nadir_threads_for(context, nadir_lmo_row_start(model, model->rows));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < model->rows; row++) {
        nadir_lmo_kernel_fill(lmo, row, &solutions[row], perturbed);
    }
cleanup:
    return status;
}

/* An entry of an explicit row. */
typedef struct entry {
    int32_t column;
    double value;
} entry;

static int compare_columns(const void *a, const void *b)
{
    const int32_t i = ((const entry *)a)->column;
    const int32_t j = ((const entry *)b)->column;
    return i < j ? -1 : i > j;
}

/* The entries of X in rising order into list[states]; returns how many. taken: [states] all false before and
 * after. values: [entries of the row]. */
static int64_t list_row(const nadir_lmo *lmo, int64_t row, const nadir_lmo_solution *solution, double *values,
                        bool *taken, entry *list)
{
    const nadir_row raw = nadir_model_row(lmo->model, row);
    const nadir_lmo_tail tail = nadir_lmo_write_row(lmo, row, solution, values);
    const int64_t reached = nadir_lmo_tail_count(lmo, row, solution, &tail);
    int64_t count = 0;
    for (int64_t i = 0; i < raw.count; i++) {
        taken[raw.columns[i]] = true;
        list[count++] = (entry){raw.columns[i], values[i]};
    }
    for (int64_t i = 0; i < reached; i++) {
        const int32_t state = lmo->order->order[i];
        if (!taken[state]) {
            list[count++] = (entry){state, nadir_lmo_tail_value(lmo, row, solution, &tail, i)};
        }
    }
    for (int64_t i = 0; i < raw.count; i++) {
        taken[raw.columns[i]] = false;
    }
    qsort(list, (size_t)count, sizeof *list, compare_columns);
    return count;
}

/* A growing list of explicit rows. */
typedef struct row_list {
    nadir_changed_rows made;
    int64_t *rows, *starts;
    int32_t *columns;
    double *values;
    size_t columns_capacity, values_capacity;
} row_list;

static nadir_status append(nadir_context *context, row_list *to, int64_t row, int64_t count,
                           const entry *list)
{
    nadir_status status = NADIR_OK;
    const int64_t start = to->starts[to->made.count];
    NADIR_RESERVE(context, to->columns, start + count, to->columns_capacity);
    NADIR_RESERVE(context, to->values, start + count, to->values_capacity);
    for (int64_t i = 0; i < count; i++) {
        to->columns[start + i] = list[i].column;
        to->values[start + i] = list[i].value;
    }
    to->rows[to->made.count++] = row;
    to->starts[to->made.count] = start + count;
cleanup:
    return status;
}

static nadir_status make_explicit(nadir_context *context, const nadir_lmo *lmo,
                                  const nadir_lmo_solution *solutions, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = lmo->model;
    row_list to = {0};
    double *values = NULL;
    entry *list = NULL;
    bool *taken = NULL;
    nadir_kernel *made = NULL;
    NADIR_NEW(context, to.rows, model->rows);
    NADIR_NEW_ZERO(context, to.starts, model->rows + 1);
    to.columns_capacity = (size_t)model->nonzeros;
    to.values_capacity = to.columns_capacity;
    NADIR_NEW(context, to.columns, to.columns_capacity);
    NADIR_NEW(context, to.values, to.values_capacity);
    NADIR_NEW(context, values, nadir_lmo_longest_row(model, 0, model->rows));
    NADIR_NEW(context, list, model->states);
    NADIR_NEW_ZERO(context, taken, model->states);
    for (int64_t row = 0; row < model->rows; row++) {
        if (solutions[row].step > 0 && nadir_lmo_scale(lmo, row) > 0) {
            const int64_t count = list_row(lmo, row, &solutions[row], values, taken, list);
            NADIR_CHECK(append(context, &to, row, count, list));
        }
    }
    to.made.rows = to.rows;
    to.made.starts = to.starts;
    to.made.columns = to.columns;
    to.made.values = to.values;
    NADIR_CHECK(nadir_kernel_create_changed(context, lmo->model, &to.made, &made));
    nadir_kernel_free(*kernel);
    *kernel = made;
cleanup:
    nadir_release(context, to.rows);
    nadir_release(context, to.starts);
    nadir_release(context, to.columns);
    nadir_release(context, to.values);
    nadir_release(context, values);
    nadir_release(context, list);
    nadir_release(context, taken);
    return status;
}

nadir_status nadir_lmo_kernel(nadir_context *context, const nadir_lmo *lmo,
                              const nadir_lmo_solution *solutions, nadir_kernel **kernel)
{
    const bool affine = lmo->p == 1 || lmo->p == 2 || isinf(lmo->p);
    return affine || !nadir_lmo_has_tail(lmo) ? make_perturbed(context, lmo, solutions, kernel)
                                              : make_explicit(context, lmo, solutions, kernel);
}

/*
 * kernel.c: the answers of all row problems as a kernel; see rows.h. Tilted where what a row gives to states
 * that it does not have is a line in x, with explicit rows otherwise.
 */
#include "adversary/rows/lmo_internal.h"

#include "linalg/threads.h"

#include <math.h>
#include <string.h>

static int64_t row_start(const nadir_model *model, int64_t row)
{
    return model->dense != NULL ? row * model->states : model->row_starts[row];
}

static int64_t longest_row(const nadir_model *model)
{
    int64_t longest = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const int64_t length = row_start(model, row + 1) - row_start(model, row);
        longest = length > longest ? length : longest;
    }
    return longest;
}

static bool spreads(const nadir_lmo *rows)
{
    return rows->model->dense == NULL && rows->domain == NADIR_DOMAIN_SIMPLEX;
}

void nadir_lmo_kernel_fill(const nadir_lmo *rows, int64_t row, const nadir_lmo_solution *answer,
                           nadir_perturbed *perturbed)
{
    const bool nominal = !(answer->step > 0) || !(nadir_lmo_scale(rows, row) > 0);
    if (nominal && perturbed->nominal[row]) {
        return;
    }
    perturbed->nominal[row] = nominal;
    nadir_lmo_tail rest = {.extra = -1};
    if (!nominal) {
        rest = nadir_lmo_write_row(rows, row, answer, perturbed->values + row_start(rows->model, row));
    }
    if (perturbed->x != NULL) {
        perturbed->omega[row] = rest.omega;
        perturbed->slope[row] = rest.slope;
        perturbed->length[row] = rest.length;
        perturbed->extra[row] = rest.extra;
        perturbed->amount[row] = rest.amount;
    }
}

nadir_status nadir_lmo_kernel_blank(nadir_context *context, const nadir_lmo *rows, nadir_kernel **kernel,
                                    nadir_perturbed **perturbed)
{
    nadir_status status = NADIR_OK;
    const size_t states = (size_t)rows->model->states;
    nadir_kernel *made = NULL;
    *perturbed = *kernel != NULL ? nadir_kernel_perturbed(*kernel) : NULL;
    if (*perturbed == NULL || ((*perturbed)->x != NULL) != spreads(rows)) {
        NADIR_CHECK(nadir_kernel_create_blank(context, rows->model, spreads(rows), &made));
        nadir_kernel_free(*kernel);
        *kernel = made;
        *perturbed = nadir_kernel_perturbed(made);
    }
    if ((*perturbed)->x != NULL) {
        memcpy((*perturbed)->x, rows->order->x, states * sizeof *(*perturbed)->x);
        memcpy((*perturbed)->order, rows->order->order, states * sizeof *(*perturbed)->order);
    }
cleanup:
    return status;
}

static nadir_status make_perturbed(nadir_context *context, const nadir_lmo *rows,
                                   const nadir_lmo_solution *answers, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = rows->model;
    nadir_perturbed *perturbed;
    NADIR_CHECK(nadir_lmo_kernel_blank(context, rows, kernel, &perturbed));
    const int threads = nadir_threads_for(context, row_start(model, model->rows));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < model->rows; row++) {
        nadir_lmo_kernel_fill(rows, row, &answers[row], perturbed);
    }
cleanup:
    return status;
}

/* An entry of an explicit row. */
typedef struct entry {
    int32_t column;
    double value;
} entry;

/* Restores the heap under place i of list[count], largest column first. */
static void sift(int64_t count, entry *list, int64_t i)
{
    for (;;) {
        int64_t largest = i;
        for (int64_t child = 2 * i + 1; child <= 2 * i + 2 && child < count; child++) {
            largest = list[child].column > list[largest].column ? child : largest;
        }
        if (largest == i) {
            return;
        }
        const entry swap = list[i];
        list[i] = list[largest];
        list[largest] = swap;
        i = largest;
    }
}

static void sort(int64_t count, entry *list)
{
    for (int64_t i = count / 2 - 1; i >= 0; i--) {
        sift(count, list, i);
    }
    for (int64_t end = count - 1; end > 0; end--) {
        const entry swap = list[0];
        list[0] = list[end];
        list[end] = swap;
        sift(end, list, 0);
    }
}

/* The entries of X in rising order into list[states]; returns how many. taken: [states] all false before and
 * after. values: [entries of the row]. */
static int64_t list_row(const nadir_lmo *rows, int64_t row, const nadir_lmo_solution *answer, double *values,
                        bool *taken, entry *list)
{
    const nadir_row raw = nadir_model_row(rows->model, row);
    const nadir_lmo_tail rest = nadir_lmo_write_row(rows, row, answer, values);
    const int64_t elsewhere = nadir_lmo_tail_count(rows, row, answer, &rest);
    int64_t count = 0;
    for (int64_t i = 0; i < raw.count; i++) {
        taken[raw.columns[i]] = true;
        list[count++] = (entry){raw.columns[i], values[i]};
    }
    for (int64_t i = 0; i < elsewhere; i++) {
        const int32_t state = rows->order->order[i];
        if (!taken[state]) {
            list[count++] = (entry){state, nadir_lmo_tail_value(rows, row, answer, &rest, i)};
        }
    }
    for (int64_t i = 0; i < raw.count; i++) {
        taken[raw.columns[i]] = false;
    }
    sort(count, list);
    return count;
}

/* Explicit rows as they grow. */
typedef struct growing {
    nadir_changed_rows made;
    int64_t *rows, *starts;
    int32_t *columns;
    double *values;
    size_t columns_room, values_room;
} growing;

static nadir_status append(nadir_context *context, growing *to, int64_t row, int64_t count, const entry *list)
{
    nadir_status status = NADIR_OK;
    const int64_t start = to->starts[to->made.count];
    NADIR_RESERVE(context, to->columns, start + count, to->columns_room);
    NADIR_RESERVE(context, to->values, start + count, to->values_room);
    for (int64_t i = 0; i < count; i++) {
        to->columns[start + i] = list[i].column;
        to->values[start + i] = list[i].value;
    }
    to->rows[to->made.count++] = row;
    to->starts[to->made.count] = start + count;
cleanup:
    return status;
}

static nadir_status make_explicit(nadir_context *context, const nadir_lmo *rows,
                                  const nadir_lmo_solution *answers, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = rows->model;
    growing to = {0};
    double *values = NULL;
    entry *list = NULL;
    bool *taken = NULL;
    nadir_kernel *made = NULL;
    NADIR_NEW(context, to.rows, model->rows);
    NADIR_NEW_ZERO(context, to.starts, model->rows + 1);
    to.columns_room = (size_t)model->nonzeros;
    to.values_room = to.columns_room;
    NADIR_NEW(context, to.columns, to.columns_room);
    NADIR_NEW(context, to.values, to.values_room);
    NADIR_NEW(context, values, longest_row(model));
    NADIR_NEW(context, list, model->states);
    NADIR_NEW_ZERO(context, taken, model->states);
    for (int64_t row = 0; row < model->rows; row++) {
        if (answers[row].step > 0 && nadir_lmo_scale(rows, row) > 0) {
            const int64_t count = list_row(rows, row, &answers[row], values, taken, list);
            NADIR_CHECK(append(context, &to, row, count, list));
        }
    }
    to.made.rows = to.rows;
    to.made.starts = to.starts;
    to.made.columns = to.columns;
    to.made.values = to.values;
    NADIR_CHECK(nadir_kernel_create_changed(context, rows->model, &to.made, &made));
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

nadir_status nadir_lmo_kernel(nadir_context *context, const nadir_lmo *rows,
                              const nadir_lmo_solution *answers, nadir_kernel **kernel)
{
    const bool line = rows->p == 1 || rows->p == 2 || isinf(rows->p);
    return line || !spreads(rows) ? make_perturbed(context, rows, answers, kernel)
                                  : make_explicit(context, rows, answers, kernel);
}

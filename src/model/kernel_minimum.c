/*
 * kernel_minimum.c: the smallest entry of a kernel; see kernel.h.
 *
 * Where P - b k^T has no stored entry it is -b k(t), smallest at the largest k(t) for b > 0 and at the
 * smallest for b < 0. So each row needs the first state in the order of k that it does not store, and a few
 * dozen states at each end of that order do for all rows but very long ones.
 */
#include "model/kernel_internal.h"

#include "linalg/distributed.h"
#include "linalg/threads.h"

#include <math.h>

#define ENDS 64

/* The states where sign * k is largest, falling. */
typedef struct end_states {
    double sign;
    int64_t count;
    int32_t states[ENDS];
} end_states;

static void find_end(int64_t states, const double *k, end_states *end)
{
    for (int64_t t = 0; t < states; t++) {
        const double value = end->sign * k[t];
        if (end->count == ENDS && value <= end->sign * k[end->states[ENDS - 1]]) {
            continue;
        }
        int64_t to = end->count < ENDS ? end->count++ : ENDS - 1;
        for (; to > 0 && end->sign * k[end->states[to - 1]] < value; to--) {
            end->states[to] = end->states[to - 1];
        }
        end->states[to] = (int32_t)t;
    }
}

/* The smallest of count numbers; in lanes, as the processor compares several at once. A NaN counts as large.
 */
static double smallest_of(int64_t count, const double *values)
{
    enum { LANES = 8 };
    double lanes[LANES];
    int64_t i = 0;
    for (int lane = 0; lane < LANES; lane++) {
        lanes[lane] = INFINITY;
    }
    for (; i + LANES <= count; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            lanes[lane] = values[i + lane] < lanes[lane] ? values[i + lane] : lanes[lane];
        }
    }
    double smallest = INFINITY;
    for (; i < count; i++) {
        smallest = fmin(smallest, values[i]);
    }
    for (int lane = 0; lane < LANES; lane++) {
        smallest = fmin(smallest, lanes[lane]);
    }
    return smallest;
}

/* The smallest of values - b k. */
static double smallest_difference(int64_t count, const double *values, double b, const double *k)
{
    enum { BLOCK = 256 };
    double differences[BLOCK];
    double smallest = INFINITY;
    for (int64_t first = 0; first < count; first += BLOCK) {
        const int64_t length = count - first < BLOCK ? count - first : BLOCK;
        for (int64_t i = 0; i < length; i++) {
            differences[i] = values[first + i] - b * k[first + i];
        }
        smallest = fmin(smallest, smallest_of(length, differences));
    }
    return smallest;
}

/* -b k(t) at the first t that the row does not store, in the order in which it rises; infinity: it stores
 * all. */
static double smallest_missing(const nadir_kernel *kernel, const nadir_row *part, double b,
                               const end_states *end)
{
    const int64_t states = kernel->model->states;
    for (int64_t i = 0; i < end->count; i++) {
        if (!nadir_row_has(part, end->states[i])) {
            return 0 - b * kernel->k[end->states[i]];
        }
    }
    double smallest = INFINITY;
    int64_t next = 0;
    for (int64_t t = 0; t < states && part->count < states; t++) {
        const bool stored = next < part->count && part->columns[next] == t;
        next += stored;
        smallest = stored ? smallest : fmin(smallest, 0 - b * kernel->k[t]);
    }
    return smallest;
}

/* Of a row of a kernel P - b k^T. */
static double rank_one_minimum(const nadir_kernel *kernel, int64_t row, const end_states ends[2])
{
    const nadir_row part = nadir_kernel_row(kernel, row);
    const double b = kernel->b[row];
    if (part.columns == NULL) {
        return smallest_difference(part.count, part.values, b, kernel->k);
    }
    double smallest = smallest_missing(kernel, &part, b, &ends[b < 0]);
    for (int64_t i = 0; i < part.count; i++) {
        smallest = fmin(smallest, part.values[i] - b * kernel->k[part.columns[i]]);
    }
    return smallest;
}

static double stored_minimum(const nadir_kernel *kernel, int64_t row)
{
    const nadir_row part = nadir_kernel_row(kernel, row);
    const double smallest = smallest_of(part.count, part.values);
    return part.count < nadir_model_total(kernel->model) ? fmin(smallest, 0) : smallest;
}

double nadir_kernel_minimum(const nadir_context *context, const nadir_kernel *kernel)
{
    const nadir_model *model = kernel->model;
    const int64_t work = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    const int threads = nadir_threads_for(context, work);
    end_states ends[2] = {{.sign = 1}, {.sign = -1}};
    double smallest = INFINITY;
    if (kernel->kind == NADIR_KERNEL_RANK_ONE && model->exchange != NULL) {
        return -INFINITY; /* the order of k is not here; nadir_rank_one_minimum knows */
    }
    if (kernel->kind == NADIR_KERNEL_RANK_ONE && model->dense == NULL) {
        find_end(model->states, kernel->k, &ends[0]);
        find_end(model->states, kernel->k, &ends[1]);
    }
    if (nadir_kernel_has_tail(kernel)) {
        nadir_perturbed_update(kernel);
    }
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : smallest) if (threads > 1)
    for (int64_t row = 0; row < model->rows; row++) {
        const double one = nadir_kernel_is_nominal(kernel, row)    ? nadir_model_row_minimum(model, row)
                           : kernel->kind == NADIR_KERNEL_RANK_ONE ? rank_one_minimum(kernel, row, ends)
                           : nadir_kernel_has_tail(kernel)         ? nadir_perturbed_minimum(kernel, row)
                                                                   : stored_minimum(kernel, row);
        smallest = one < smallest ? one : smallest;
    }
    return nadir_allreduce_minimum(context, smallest);
}

/* reference.c: the objects of the engine computed naively; see reference.h. */
#include "support/support.h"

#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void *test_new(int64_t count, size_t size)
{
    void *block = calloc(count > 0 ? (size_t)count : 1, size);
    assert_non_null(block);
    return block;
}

double test_long_unit(void)
{
    volatile long double unit = 1;
    volatile long double sum = 2;
    while (sum > 1) {
        unit /= 2;
        sum = 1 + unit;
    }
    return (double)unit;
}

double test_kernel_minimum(nadir_context *context, const nadir_kernel *kernel)
{
    double minimum;
    assert_ok(context, nadir_kernel_minimum(context, kernel, &minimum));
    return minimum;
}

double *test_dense_kernel(const nadir_model *model)
{
    const nadir_model_data view = test_view(model);
    double *kernel = test_new(view.rows * view.states, sizeof *kernel);
    for (int64_t row = 0; row < view.rows; row++) {
        for (int64_t t = 0; t < view.states; t++) {
            kernel[row * view.states + t] = test_probability(model, row, t);
        }
    }
    return kernel;
}

long double *test_dense_average(const nadir_model *model, const double *kernel, const double *policy)
{
    const nadir_model_data view = test_view(model);
    const int64_t n = view.states;
    long double *average = test_new(n * n, sizeof *average);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            for (int64_t t = 0; t < n; t++) {
                average[s * n + t] += (long double)policy[row] * kernel[row * n + t];
            }
        }
    }
    return average;
}

/* Adds the tail of an average, and its extra states, to numbers: [states * states]. */
static void add_tail(const nadir_offsupport_tail *tail, long double *numbers)
{
    const int64_t n = tail->states;
    const double *x = tail->sorted.x;
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = tail->last.starts[s]; i < tail->last.starts[s + 1]; i++) {
            const int64_t end = tail->last.columns[i];
            for (int64_t j = 0; j <= end; j++) {
                numbers[s * n + tail->sorted.order[j]] +=
                    tail->last.values[i] + tail->slope[i] * ((long double)x[end] - x[j]);
            }
        }
        for (int64_t i = tail->extra.starts[s]; i < tail->extra.starts[s + 1]; i++) {
            numbers[s * n + tail->extra.columns[i]] += tail->extra.values[i];
        }
    }
}

/* M on a device, as a dense matrix or CSR; to be freed by `forget`. */
static nadir_matrix fetched(const nadir_average *average)
{
    const int64_t n = average->states;
    nadir_context *context = test_context();
    double *dense = average->sparse ? NULL : test_new(n * n, sizeof *dense);
    int64_t *starts = average->sparse ? test_new(n + 1, sizeof *starts) : NULL;
    int32_t *columns = average->sparse ? test_new(average->facts.entries, sizeof *columns) : NULL;
    double *values = average->sparse ? test_new(average->facts.entries, sizeof *values) : NULL;
    assert_ok(context, average->device->matrix_download(average->device_matrix, context, dense, starts,
                                                        columns, values));
    nadir_context_free(context);
    return (nadir_matrix){n, dense, starts, columns, values, 0};
}

static void forget(const nadir_matrix *matrix)
{
    const void *const arrays[] = {matrix->dense, matrix->starts, matrix->columns, matrix->values};
    for (int i = 0; i < 4; i++) {
        free((void *)(uintptr_t)arrays[i]);
    }
}

long double *test_average_numbers(const nadir_average *average)
{
    const int64_t n = average->states;
    const bool remote = average->device_matrix != NULL;
    const nadir_matrix of = remote ? fetched(average) : average->matrix;
    const nadir_matrix *matrix = &of;
    const bool sparse = matrix->starts != NULL;
    const double *values = sparse ? matrix->values : matrix->dense;
    long double *numbers = test_new(n * n, sizeof *numbers);
    assert_int_equal(matrix->size, n);
    assert_true(sparse != (matrix->dense != NULL));
    for (int64_t s = 0; s < n; s++) {
        const int64_t start = sparse ? matrix->starts[s] : s * n;
        const int64_t end = sparse ? matrix->starts[s + 1] : start + n;
        for (int64_t i = start; i < end && values != NULL; i++) {
            const int64_t t = sparse ? matrix->columns[i] : i - start;
            assert_that(!sparse || i == start || matrix->columns[i - 1] < t,
                        "the columns of state %lld do not rise", (long long)s);
            numbers[s * n + t] = values[i];
        }
        for (int64_t t = 0; t < n && average->b != NULL; t++) {
            numbers[s * n + t] -= (long double)average->b[s] * average->k[t];
        }
    }
    add_tail(&average->tail, numbers);
    if (remote) {
        forget(&of);
    }
    return numbers;
}

static void swap_rows(int64_t n, long double *matrix, int64_t one, int64_t other)
{
    for (int64_t j = 0; j < n; j++) {
        const long double kept = matrix[one * n + j];
        matrix[one * n + j] = matrix[other * n + j];
        matrix[other * n + j] = kept;
    }
}

static void eliminate(test_system *system)
{
    const int64_t n = system->size;
    long double *a = system->factor;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++) {
            pivot = fabsl(a[i * n + k]) > fabsl(a[pivot * n + k]) ? i : pivot;
        }
        system->swaps[k] = pivot;
        swap_rows(n, a, k, pivot);
        if (a[k * n + k] == 0) {
            system->singular = true;
            return;
        }
        for (int64_t i = k + 1; i < n; i++) {
            const long double factor = a[i * n + k] / a[k * n + k];
            a[i * n + k] = factor;
            for (int64_t j = k + 1; j < n; j++) {
                a[i * n + j] -= factor * a[k * n + j];
            }
        }
    }
}

test_system test_system_make(int64_t size, const long double *average, double gamma)
{
    test_system system = {.size = size};
    system.matrix = test_new(size * size, sizeof *system.matrix);
    system.factor = test_new(size * size, sizeof *system.factor);
    system.swaps = test_new(size, sizeof *system.swaps);
    for (int64_t i = 0; i < size * size; i++) {
        system.matrix[i] = (i % (size + 1) == 0) - (long double)gamma * average[i];
    }
    memcpy(system.factor, system.matrix, (size_t)(size * size) * sizeof *system.factor);
    eliminate(&system);
    return system;
}

void test_system_clear(test_system *system)
{
    free(system->matrix);
    free(system->factor);
    free(system->swaps);
    *system = (test_system){0};
}

static void swap_entries(long double *x, int64_t one, int64_t other)
{
    const long double kept = x[one];
    x[one] = x[other];
    x[other] = kept;
}

/* All swaps come first: row i of L has moved along with later swaps. */
static void solve_plain(const test_system *system, long double *x)
{
    const int64_t n = system->size;
    const long double *a = system->factor;
    for (int64_t i = 0; i < n; i++) {
        swap_entries(x, i, system->swaps[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            x[i] -= a[i * n + j] * x[j];
        }
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < n; j++) {
            x[i] -= a[i * n + j] * x[j];
        }
        x[i] /= a[i * n + i];
    }
}

static void solve_transposed(const test_system *system, long double *x)
{
    const int64_t n = system->size;
    const long double *a = system->factor;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            x[i] -= a[j * n + i] * x[j];
        }
        x[i] /= a[i * n + i];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < n; j++) {
            x[i] -= a[j * n + i] * x[j];
        }
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        swap_entries(x, i, system->swaps[i]);
    }
}

void test_system_solve(const test_system *system, bool transposed, const double *b, long double *x)
{
    assert_false(system->singular);
    for (int64_t i = 0; i < system->size; i++) {
        x[i] = b[i];
    }
    if (transposed) {
        solve_transposed(system, x);
    } else {
        solve_plain(system, x);
    }
}

long double test_system_residual(const test_system *system, bool transposed, const double *b,
                                 const long double *x)
{
    const int64_t n = system->size;
    long double largest = 0;
    long double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        long double rest = b[i];
        for (int64_t j = 0; j < n; j++) {
            rest -= (transposed ? system->matrix[j * n + i] : system->matrix[i * n + j]) * x[j];
        }
        largest = fmaxl(largest, fabsl(rest));
        sum += fabsl(rest);
    }
    return transposed ? sum : largest;
}

double test_system_condition(const test_system *system)
{
    const int64_t n = system->size;
    double *unit = test_new(n, sizeof *unit);
    long double *column = test_new(n, sizeof *column);
    long double *sums = test_new(n, sizeof *sums);
    long double inverse = 0;
    long double norm = 0;
    for (int64_t t = 0; t < n; t++) {
        unit[t] = 1;
        test_system_solve(system, false, unit, column);
        unit[t] = 0;
        for (int64_t s = 0; s < n; s++) {
            sums[s] += fabsl(column[s]);
        }
    }
    for (int64_t s = 0; s < n; s++) {
        long double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            sum += fabsl(system->matrix[s * n + t]);
        }
        norm = fmaxl(norm, sum);
        inverse = fmaxl(inverse, sums[s]);
    }
    free(unit);
    free(column);
    free(sums);
    return (double)(norm * inverse);
}

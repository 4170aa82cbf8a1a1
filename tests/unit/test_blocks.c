/* test_blocks.c: threaded kernels on vectors, and products with CSR matrices. */
#include "support/support.h"

#include "core/random.h"
#include "linalg/matrix.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 8191

static double *random_vector(int64_t count)
{
    double *x = test_new(count, sizeof *x);
    nadir_random random = test_random(SEED);
    for (int64_t i = 0; i < count; i++) {
        x[i] = nadir_random_normal(&random);
    }
    return x;
}

static const int64_t lengths[] = {0, 1, 7, 8, 31, 32, 33, 2047, 2048, 2049, 5000, 200001};

static void sums_are_right_at_every_length(void **state)
{
    (void)state;
    nadir_context *context = test_context_threads(3);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        const int64_t n = lengths[k];
        double *x = random_vector(n);
        double *y = random_vector(n);
        long double dot = 0;
        long double one = 0;
        double most = 0;
        for (int64_t i = 0; i < n; i++) {
            y[i] += 0.5;
            dot += (long double)x[i] * y[i];
            one += fabs(x[i]);
            most = fmax(most, fabs(x[i]));
        }
        assert_close(nadir_blocks_dot(context, n, x, y), (double)dot, 1e-13);
        assert_close(nadir_blocks_norm(context, NADIR_NORM_ONE, n, x), (double)one, 1e-13);
        assert_true(nadir_blocks_norm(context, NADIR_NORM_MAXIMUM, n, x) == most);
        free(x);
        free(y);
    }
    nadir_context_free(context);
}

static void updates_touch_every_entry(void **state)
{
    (void)state;
    nadir_context *context = test_context_threads(3);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        const int64_t n = lengths[k];
        double *x = random_vector(n);
        double *y = test_new(n, sizeof *y);
        double *z = test_new(n, sizeof *z);
        const double *const vectors[] = {x, y, x, x};
        const double factors[] = {1, 5, 2, -0.5};
        double dots[4];
        nadir_blocks_scale(context, n, 3, x, y);
        nadir_blocks_add(context, n, -1, x, y);
        const double norm = nadir_blocks_subtract_from(context, NADIR_NORM_MAXIMUM, n, x, y);
        const double squares = nadir_blocks_add_many(context, n, 4, vectors, factors, z);
        nadir_blocks_dots(context, n, 4, vectors, x, dots);
        double most = 0;
        long double sum = 0;
        long double dot = 0;
        for (int64_t i = 0; i < n; i++) {
            assert_close(y[i], -x[i], 1e-15);
            assert_close(z[i], -2.5 * x[i], 1e-14);
            most = fmax(most, fabs(y[i]));
            sum += (long double)z[i] * z[i];
            dot += (long double)x[i] * x[i];
        }
        assert_true(norm == most);
        assert_close(squares, (double)sum, 1e-13);
        assert_close(dots[0], (double)dot, 1e-13);
        assert_close(dots[1], -(double)dot, 1e-13);
        assert_true(dots[2] == dots[0] && dots[3] == dots[0]);
        free(x);
        free(y);
        free(z);
    }
    nadir_context_free(context);
}

static void a_nan_is_not_lost(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    nadir_context *context = test_context_threads(1);
    for (int64_t at = 0; at < COUNT; at += 37) {
        double *x = random_vector(COUNT);
        x[at] = NAN;
        assert_true(isnan(nadir_blocks_norm(context, NADIR_NORM_ONE, COUNT, x)));
        assert_true(isnan(nadir_blocks_norm(context, NADIR_NORM_MAXIMUM, COUNT, x)));
        x[at] = -INFINITY;
        assert_true(isinf(nadir_blocks_norm(context, NADIR_NORM_ONE, COUNT, x)));
        assert_true(isinf(nadir_blocks_norm(context, NADIR_NORM_MAXIMUM, COUNT, x)));
        free(x);
    }
    nadir_context_free(context);
}

static void threads_do_not_show(void **state)
{
    (void)state;
    enum { COUNT = 300007 };
    double *x = random_vector(COUNT);
    nadir_context *alone = test_context_threads(1);
    nadir_context *together = test_context_threads(4);
    assert_true(nadir_blocks_dot(alone, COUNT, x, x) == nadir_blocks_dot(together, COUNT, x, x));
    assert_true(nadir_blocks_norm(alone, NADIR_NORM_ONE, COUNT, x) ==
                nadir_blocks_norm(together, NADIR_NORM_ONE, COUNT, x));
    nadir_context_free(alone);
    nadir_context_free(together);
    free(x);
}

/* Row s has s % 5 entries that reach `reach` states to the right, round the end; rows 3, 8, ... are longer.
 */
typedef struct csr {
    int64_t *starts;
    int32_t *columns;
    double *values;
    nadir_matrix view;
} csr;

static csr make_csr(int64_t size, int64_t reach)
{
    csr made = {test_new(size + 1, sizeof *made.starts),
                test_new(5 * size, sizeof *made.columns),
                test_new(5 * size, sizeof *made.values),
                {.size = size}};
    nadir_random random = test_random(SEED);
    for (int64_t s = 0; s < size; s++) {
        int64_t to = made.starts[s];
        const int64_t first = s + reach < size ? s : size - reach;
        for (int64_t k = 0; k < s % 5; k++) {
            made.columns[to] = (int32_t)(first + k * (reach - 1) / 4);
            made.values[to++] = nadir_random_normal(&random);
        }
        made.starts[s + 1] = to;
    }
    made.view.starts = made.starts;
    made.view.columns = made.columns;
    made.view.values = made.values;
    return made;
}

static void free_csr(csr *made)
{
    free(made->starts);
    free(made->columns);
    free(made->values);
}

/* Whatever the width of a pass: sizes below and above the limits within which several columns are done. */
static void check_columns(int64_t size, int64_t reach)
{
    enum { COUNT = 7 };
    nadir_context *alone = test_context_threads(1);
    nadir_context *together = test_context_threads(3);
    csr matrix = make_csr(size, reach);
    double *x = random_vector(COUNT * size);
    double *y = test_new(COUNT * size, sizeof *y);
    double *single = test_new(size, sizeof *single);
    nadir_matrix_combine(together, &matrix.view, COUNT, 0, 1, x, y);
    for (int64_t j = 0; j < COUNT; j++) {
        nadir_matrix_combine(alone, &matrix.view, 1, 0, 1, x + j * size, single);
        assert_memory_equal(single, y + j * size, (size_t)size * sizeof *y);
    }
    double row = 0;
    const int64_t s = size - 2;
    for (int64_t i = matrix.starts[s]; i < matrix.starts[s + 1]; i++) {
        row += matrix.values[i] * x[matrix.columns[i]];
    }
    assert_close(y[s], row, 1e-15);
    nadir_matrix_combine(together, &matrix.view, COUNT, 2, -3, x, y);
    for (int64_t i = 0; i < size; i += size / 20 + 1) { /* single is the last column */
        assert_close(y[6 * size + i], 2 * x[6 * size + i] - 3 * single[i], 1e-14);
    }
    free_csr(&matrix);
    free(x);
    free(y);
    free(single);
    nadir_context_free(alone);
    nadir_context_free(together);
}

static void several_columns_are_as_one(void **state)
{
    (void)state;
    check_columns(1000, 1000);
    check_columns(140000, 140000);
    check_columns(270000, 270000);
    check_columns(270000, 300);
}

static void the_transpose_is_right(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 5, 1000, 60000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        nadir_context *context = test_context_threads(3);
        csr matrix = make_csr(sizes[k], sizes[k]);
        const int64_t n = sizes[k];
        nadir_entries transpose = {0};
        assert_ok(context, nadir_matrix_transpose(context, &matrix.view, &transpose));
        assert_int_equal(transpose.starts[n], matrix.starts[n]);
        double *x = random_vector(n);
        double *y = random_vector(n);
        double *mx = test_new(n, sizeof *mx);
        double *my = test_new(n, sizeof *my);
        const nadir_matrix other = {n, NULL, transpose.starts, transpose.columns, transpose.values, 0};
        for (int64_t t = 0; t < n; t++) {
            y[t] += 1;
            for (int64_t i = transpose.starts[t] + 1; i < transpose.starts[t + 1]; i++) {
                assert_true(transpose.columns[i] > transpose.columns[i - 1]);
            }
        }
        nadir_matrix_combine(context, &matrix.view, 1, 0, 1, x, mx);
        nadir_matrix_combine(context, &other, 1, 0, 1, y, my);
        assert_close(nadir_blocks_dot(context, n, y, mx), nadir_blocks_dot(context, n, my, x), 1e-11);
        memset(my, 0, (size_t)n * sizeof *my); /* M x from M^T, in two parts: the same bits */
        nadir_matrix_scatter(&other, 0, n / 3, x, my);
        nadir_matrix_scatter(&other, n / 3, n - n / 3, x + n / 3, my);
        assert_memory_equal(my, mx, (size_t)n * sizeof *my);
        nadir_entries_clear(context, &transpose);
        free_csr(&matrix);
        free(x);
        free(y);
        free(mx);
        free(my);
        nadir_context_free(context);
    }
}

static void the_norm_is_the_largest_row_sum(void **state)
{
    (void)state;
    nadir_context *context = test_context_threads(2);
    csr matrix = make_csr(100000, 500);
    double most = 0;
    for (int64_t s = 0; s < matrix.view.size; s++) {
        double sum = 0;
        for (int64_t i = matrix.starts[s]; i < matrix.starts[s + 1]; i++) {
            sum += fabs(matrix.values[i]);
        }
        most = fmax(most, sum);
    }
    assert_close(nadir_matrix_norm(context, &matrix.view), most, 1e-15);
    const double dense[] = {1, -2, 0, 0.5, 0.5, -3, 0, 0, 0};
    const nadir_matrix full = {.size = 3, .dense = dense};
    assert_close(nadir_matrix_norm(context, &full), 4, 1e-15);
    free_csr(&matrix);
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_right_at_every_length),
        cmocka_unit_test(updates_touch_every_entry),
        cmocka_unit_test(a_nan_is_not_lost),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(several_columns_are_as_one),
        cmocka_unit_test(the_transpose_is_right),
        cmocka_unit_test(the_norm_is_the_largest_row_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

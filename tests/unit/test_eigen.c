/* test_eigen.c: eigenpairs of symmetric matrices: residuals, orthogonality, how many and which. */
#include "support/support.h"

#include "cone/cone.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 777, SIZE = 40 };

/* A symmetric matrix; kind 0: random, 1: the identity, 2: three values in clusters, 3: zero, 4: random / 1e8.
 */
static void make(int kind, double *matrix)
{
    double u[SIZE];
    nadir_random random = test_random(SEED);
    for (int i = 0; i < SIZE; i++) {
        u[i] = nadir_random_normal(&random);
    }
    const double length = sqrt(SIZE);
    for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j <= i; j++) {
            const double normal = nadir_random_normal(&random);
            const double clusters = (i == j ? 1 + i % 3 : 0) + 1e-15 * u[i] * u[j] / length;
            const double kinds[] = {normal, i == j, clusters, 0, 1e-8 * normal};
            matrix[i * SIZE + j] = matrix[j * SIZE + i] = kinds[kind];
        }
    }
}

/* |M v - lambda v| and V^T V - I are rounding, values fall. */
static void check(const double *matrix, const nadir_spectrum *spectrum, double scale)
{
    for (int64_t k = 0; k < spectrum->count; k++) {
        const double *v = spectrum->vectors + k * SIZE;
        assert_true(k == 0 || spectrum->values[k] <= spectrum->values[k - 1]);
        for (int64_t i = 0; i < SIZE; i++) {
            double sum = -spectrum->values[k] * v[i];
            for (int64_t j = 0; j < SIZE; j++) {
                sum += matrix[i * SIZE + j] * v[j];
            }
            assert_that(fabs(sum) <= 1e-13 * scale, "pair %d is off by %g", (int)k, sum);
        }
        for (int64_t l = 0; l <= k; l++) {
            double sum = l == k ? -1 : 0;
            for (int64_t i = 0; i < SIZE; i++) {
                sum += v[i] * spectrum->vectors[l * SIZE + i];
            }
            assert_that(fabs(sum) <= 1e-13, "vectors %d and %d: %g", (int)k, (int)l, sum);
        }
    }
}

static void test_parts(void **state)
{
    nadir_context *context = *state;
    double *matrix = test_new((int64_t)SIZE * SIZE, sizeof *matrix);
    double *copy = test_new((int64_t)SIZE * SIZE, sizeof *copy);
    const size_t bytes = (size_t)SIZE * SIZE * sizeof *copy;
    for (int kind = 0; kind < 5; kind++) {
        nadir_spectrum all = {0};
        nadir_spectrum part = {0};
        test_note("kind %d, seed %d", kind, SEED);
        make(kind, matrix);
        memcpy(copy, matrix, bytes);
        assert_ok(context, nadir_spectrum_find(context, SIZE, copy, SIZE, 0, &all));
        const double scale = fmax(fabs(all.values[0]), fabs(all.values[SIZE - 1]));
        assert_int_equal(all.count, SIZE);
        check(matrix, &all, scale);
        for (int64_t count = 1; count <= SIZE; count += 13) {
            memcpy(copy, matrix, bytes);
            assert_ok(context, nadir_spectrum_find(context, SIZE, copy, count, 0, &part));
            assert_int_equal(part.count, count);
            check(matrix, &part, scale);
            for (int64_t i = 0; i < count; i++) {
                assert_true(fabs(part.values[i] - all.values[i]) <= 1e-13 * scale);
            }
        }
        const double threshold = 0.3 * scale;
        int64_t above = 0;
        while (above < SIZE && all.values[above] > threshold) {
            above++;
        }
        memcpy(copy, matrix, bytes);
        assert_ok(context, nadir_spectrum_find(context, SIZE, copy, 0, threshold, &part));
        assert_int_equal(part.count, kind == 3 ? 0 : above);
        check(matrix, &part, scale);
        memcpy(copy, matrix, bytes);
        assert_ok(context, nadir_spectrum_find(context, SIZE, copy, 0, 2 * scale + 1, &part));
        assert_int_equal(part.count, 0);
        nadir_spectrum_close(context, &all);
        nadir_spectrum_close(context, &part);
    }
    test_note_clear();
    free(matrix);
    free(copy);
}

static void test_one(void **state)
{
    nadir_context *context = *state;
    nadir_spectrum spectrum = {0};
    double matrix[] = {-2};
    assert_ok(context, nadir_spectrum_find(context, 1, matrix, 1, 0, &spectrum));
    assert_true(spectrum.values[0] == -2 && fabs(spectrum.vectors[0]) == 1);
    nadir_spectrum_close(context, &spectrum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(test_parts), test_with_context(test_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

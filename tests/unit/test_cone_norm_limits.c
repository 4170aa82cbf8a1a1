/* test_cone_norm_limits.c: max |A x| over x >= 0, |x| <= 1: odd matrices, scales, files, refusals. */
#include "support/support.h"

#include "cone/cone.h"
#include "support/cone.h"
#include "support/numpy.h"
#include "support/scarce.h"
#include "support/spectral.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SEED = 20250 };

static void test_degenerate(void **state)
{
    nadir_context *context = *state;
    static const double zero[12] = {0};
    static const double vertex[] = {1, -1, 0, -1, 3, -1, 0, -1, 2}; /* only one entry at a time pays */
    static const double negative[] = {-1, -2, -3, -4, -5, -6};
    static const double identity[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const double same[] = {1, 1, 1, 1, 2, 2, 2, 2};
    static const double opposite[] = {1, -1, 0, 0, 2, -2, 0, 0};
    static const double tiny[] = {1, 1e-200, 1e-200, 1e-300};
    for (int i = 0; i < TEST_CONE_ORDERS; i++) {
        double x[4];
        test_note("order %s", test_cone_orders[i]);
        nadir_cone_norm_result result = test_cone_find(context, 3, 4, zero, test_cone_orders[i], true, x);
        assert_true(result.value == 0 && result.upper_bound == 0 && result.dual_bound == 0);
        test_cone_check_point(3, 4, zero, x, 0);
        result = test_cone_find(context, 1, 1, negative + 2, test_cone_orders[i], true, x);
        assert_relative(result.value, 3, 1e-15);
        assert_relative(result.upper_bound, 3, 1e-7);
        result = test_cone_find(context, 6, 1, negative, test_cone_orders[i], true, x);
        assert_relative(result.value, sqrt(91), 1e-15);
        result = test_cone_find(context, 1, 6, negative, test_cone_orders[i], true, NULL);
        assert_relative(result.value, sqrt(91), 1e-14);
        assert_relative(result.upper_bound, sqrt(91), 1e-6);
        result = test_cone_find(context, 2, 4, same, test_cone_orders[i], true, x);
        assert_relative(result.value, sqrt(20), 1e-14);
        result = test_cone_find(context, 2, 4, opposite, test_cone_orders[i], true, x);
        assert_relative(result.value, sqrt(5), 1e-14);
        test_cone_check(context, 2, 3, negative, test_cone_brute(2, 3, negative));
        test_cone_check(context, 3, 3, vertex, test_cone_brute(3, 3, vertex));
        test_cone_check(context, 3, 3, identity, 1);
        test_cone_check(context, 2, 2, tiny, 1);
    }
    test_note_clear();
    const double column = test_cone_brute(3, 3, vertex);
    assert_relative(test_cone_value(context, 3, 3, vertex, NULL), column, 1e-14);
    assert_relative(column, sqrt(11), 1e-14);
}

/* Powers of two change nothing but the exponent; other scales nothing but rounding. */
static void test_scales(void **state)
{
    static const double scales[] = {0x1p500, 0x1p-500, 1e150, 1e-150, 0x1p-1040};
    nadir_context *context = *state;
    double A[35];
    double scaled[35];
    nadir_random random = test_random(SEED + 4000);
    test_cone_fill(&random, 35, A);
    for (int i = 0; i < TEST_CONE_ORDERS; i++) {
        const nadir_cone_norm_result plain =
            test_cone_find(context, 5, 7, A, test_cone_orders[i], true, NULL);
        for (int k = 0; k < 5; k++) {
            for (int j = 0; j < 35; j++) {
                scaled[j] = A[j] * scales[k];
            }
            test_note("order %s, scale %g", test_cone_orders[i], scales[k]);
            const nadir_cone_norm_result result =
                test_cone_find(context, 5, 7, scaled, test_cone_orders[i], true, NULL);
            const double tolerance = k == 4 ? 1e-9 : 1e-12; /* the last has fewer digits */
            assert_relative(result.value / scales[k], plain.value, k < 2 ? 0 : tolerance);
            assert_relative(result.first_bound / scales[k], plain.first_bound, k < 2 ? 0 : tolerance);
            assert_true(result.upper_bound >= result.value);
        }
    }
    test_note_clear();
    for (int j = 0; j < 35; j++) {
        scaled[j] = 1.7e308;
    }
    nadir_cone_norm_result result = {.size = sizeof result};
    assert_fails(context, nadir_cone_norm(context, 5, 7, scaled, NULL, NULL, &result), NADIR_ERROR_ILL_POSED,
                 "beyond the largest double");
}

static void test_wrong(void **state)
{
    nadir_context *context = *state;
    double A[] = {1, 2, 3, NAN};
    nadir_cone_norm_result result = {.size = sizeof result};
    nadir_cone_norm_settings settings;
    nadir_cone_norm_settings_default(&settings);
    assert_fails(context, nadir_cone_norm(context, 2, 2, A, NULL, NULL, &result), NADIR_ERROR_ARGUMENT,
                 "row 1, column 1 of the matrix is nan");
    A[3] = INFINITY;
    assert_fails(context, nadir_cone_norm(context, 2, 2, A, NULL, NULL, &result), NADIR_ERROR_ARGUMENT,
                 "expected finite");
    A[3] = 4;
    assert_fails(context, nadir_cone_norm(context, 0, 2, A, NULL, NULL, &result), NADIR_ERROR_ARGUMENT,
                 "0 rows");
    assert_fails(context, nadir_cone_norm(context, 1, 30001, A, NULL, NULL, &result), NADIR_ERROR_ARGUMENT,
                 "no more than 30000 columns");
    settings.order = "4";
    assert_fails(context, nadir_cone_norm(context, 2, 2, A, &settings, NULL, &result), NADIR_ERROR_ARGUMENT,
                 "order '4'; expected 0, 1, 2, 3, paper, power, random or slsqp");
    settings.order = NULL;
    settings.tolerance = 0;
    assert_fails(context, nadir_cone_norm(context, 2, 2, A, &settings, NULL, &result), NADIR_ERROR_ARGUMENT,
                 "the tolerance is 0");
    settings.size = 0;
    assert_fails(context, nadir_cone_norm(context, 2, 2, A, &settings, NULL, &result), NADIR_ERROR_ARGUMENT,
                 "settings is not set");
    result.size = 0;
    assert_fails(context, nadir_cone_norm(context, 2, 2, A, NULL, NULL, &result), NADIR_ERROR_ARGUMENT,
                 "result is not set");
}

static void test_files(void **state)
{
    static const double items[] = {1, 2, 3, 4, 5, 6};
    static const double wrong[] = {1, 2, INFINITY, 4};
    nadir_context *context = *state;
    double *A = NULL;
    int64_t m;
    int64_t n;
    test_write_npy("good.npy", &(test_array)TEST_ARRAY("", "=f8", "(3, 2)", items));
    test_write_npy("fortran.npy", &(test_array)TEST_FORTRAN("", "=f8", "(2, 3)", items));
    test_write_npy("list.npy", &(test_array)TEST_ARRAY("", "=f8", "(6,)", items));
    test_write_npy("wrong.npy", &(test_array)TEST_ARRAY("", "=f8", "(2, 2)", wrong));
    test_write_npy_header("empty.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }\n", items,
                          0);
    test_write_npy_header("huge.npy",
                          "{'descr': '<f8', 'fortran_order': False, 'shape': (3037000500, 3037000500), }\n",
                          items, sizeof items);
    test_write_file("text.npy", "1 2\n3 4\n");
    assert_ok(context, nadir_numbers_read_matrix(context, "good.npy", &A, &m, &n));
    assert_true(m == 3 && n == 2);
    assert_memory_equal(A, items, sizeof items);
    nadir_numbers_free(context, A);
    assert_ok(context, nadir_numbers_read_matrix(context, "fortran.npy", &A, &m, &n));
    assert_true(m == 2 && n == 3 && A[1] == 3 && A[3] == 2);
    nadir_numbers_free(context, A);
    assert_fails(context, nadir_numbers_read_matrix(context, "list.npy", &A, &m, &n), NADIR_ERROR_FORMAT,
                 "list.npy: the array has shape (6,); expected a matrix");
    assert_fails(context, nadir_numbers_read_matrix(context, "empty.npy", &A, &m, &n), NADIR_ERROR_FORMAT,
                 "(0, 3)");
    assert_fails(context, nadir_numbers_read_matrix(context, "huge.npy", &A, &m, &n), NADIR_ERROR_FORMAT,
                 "huge.npy");
    assert_fails(context, nadir_numbers_read_matrix(context, "wrong.npy", &A, &m, &n), NADIR_ERROR_FORMAT,
                 "wrong.npy: row 1, column 0 is inf");
    assert_fails(context, nadir_numbers_read_matrix(context, "text.npy", &A, &m, &n), NADIR_ERROR_FORMAT,
                 "no NumPy array");
    assert_fails(context, nadir_numbers_read_matrix(context, "none.npy", &A, &m, &n), NADIR_ERROR_FILE,
                 "none.npy");
}

static nadir_status attempt(nadir_context *context, const void *of)
{
    static const double A[] = {1, -2, 3, 4, 5, -6, 7, 8, 10, 1, -1, 2};
    nadir_cone_norm_settings settings;
    nadir_cone_norm_result result = {.size = sizeof result};
    nadir_cone_norm_settings_default(&settings);
    settings.order = of;
    settings.bounds = true;
    return nadir_cone_norm(context, 3, 4, A, &settings, NULL, &result);
}

static nadir_status attempt_scored(nadir_context *context, const void *of)
{
    static const double A[] = {1, -2, 3, 4};
    double x[2];
    double found;
    (void)of;
    return nadir_cone_norm_scored(context, 2, 2, A, NADIR_CONE_SCORE_PRINTED, x, &found);
}

static nadir_status attempt_read(nadir_context *context, const void *of)
{
    double *A = NULL;
    int64_t m;
    int64_t n;
    const nadir_status status = nadir_numbers_read_matrix(context, of, &A, &m, &n);
    nadir_numbers_free(context, A);
    return status;
}

static void test_scarce_memory(void **state)
{
    (void)state;
    static const double items[] = {1, 2, 3, 4};
    for (int i = 0; i < TEST_CONE_ORDERS; i++) {
        test_run_out(attempt, test_cone_orders[i], NULL, test_cone_orders[i]);
    }
    test_run_out(attempt_scored, NULL, NULL, "scored");
    test_write_npy("small.npy", &(test_array)TEST_ARRAY("", "=f8", "(2, 2)", items));
    test_run_out(attempt_read, "small.npy", NULL, "matrix");
}

static int stop(void *user, const char *task, double share)
{
    (void)share;
    return strcmp(task, user) == 0;
}

static void test_interrupted(void **state)
{
    (void)state;
    static const char *const tasks[] = {"order 3", "power iterations", "dual bound"};
    double A[100 * 100];
    nadir_random random = test_random(SEED + 5000);
    test_cone_fill(&random, 100 * 100, A);
    for (int i = 0; i < 3; i++) {
        char task[32];
        nadir_cone_norm_settings settings;
        nadir_cone_norm_result result = {.size = sizeof result};
        (void)snprintf(task, sizeof task, "%s", tasks[i]);
        nadir_context *context = test_context_progress(stop, task);
        nadir_cone_norm_settings_default(&settings);
        settings.order = i == 0 ? "3" : "power";
        settings.bounds = true;
        settings.tolerance = 1e-14;
        settings.iterations_limit = 100000;
        test_note("%s", tasks[i]);
        const nadir_status status = nadir_cone_norm(context, 100, 100, A, &settings, NULL, &result);
        /* progress is asked for every tenth of a second: short tasks may end before */
        assert_true(status == NADIR_ERROR_INTERRUPTED || (status == NADIR_OK && i < 2));
        nadir_context_free(context);
    }
    test_note_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_degenerate),   test_with_context(test_scales),
        test_with_context(test_wrong),        test_with_context(test_files),
        cmocka_unit_test(test_scarce_memory), cmocka_unit_test(test_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

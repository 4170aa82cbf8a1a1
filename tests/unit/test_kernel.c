/* test_kernel.c: kernels as objects: products with their rows, smallest entry, what they refuse. */
#include "support/support.h"

#include "model/kernel.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 20240311

/* One kernel of a family against naive sums. */
static void check_kernel(const test_family *family, test_change change)
{
    nadir_context *context = test_context();
    nadir_random random = test_random(SEED);
    nadir_model *model = family->make(context, &random);
    double *dense = NULL;
    nadir_kernel *kernel = test_kernel(context, model, change, 0.9, &random, &dense);
    assert_ptr_equal(nadir_kernel_model(kernel), model);
    const nadir_model_data view = test_view(model);
    double *x = test_new(view.states, sizeof *x);
    double *y = test_new(view.rows, sizeof *y);
    double smallest = INFINITY;
    for (int64_t t = 0; t < view.states; t++) {
        x[t] = nadir_random_normal(&random);
    }
    nadir_kernel_multiply(context, kernel, x, y);
    for (int64_t row = 0; row < view.rows; row++) {
        long double sum = 0;
        for (int64_t t = 0; t < view.states; t++) {
            sum += (long double)dense[row * view.states + t] * x[t];
            smallest = fmin(smallest, dense[row * view.states + t]);
        }
        assert_close(y[row], (double)sum, 1e-14);
    }
    assert_close(test_kernel_minimum(context, kernel), smallest, 1e-16);
    nadir_kernel_free(kernel);
    free(x);
    free(y);
    free(dense);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void products_and_minimum_are_those_of_the_numbers(void **state)
{
    (void)state;
    for (int family = 0; family < TEST_FAMILIES; family++) {
        for (int change = 0; change < TEST_CHANGES; change++) {
            test_note("%s, %s, seed %d", test_families[family].name, test_change_names[change], SEED);
            check_kernel(&test_families[family], (test_change)change);
        }
    }
    test_note_clear();
}

static void a_missing_entry_is_zero_for_the_minimum(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_kernel *kernel = NULL;
    /* Row 1 of the model goes to state 1 for sure: its other entries are 0 - b k. */
    const double b[7] = {0, -0.5, 0, 0, 0, 0, 0};
    const double k[4] = {-0.75, 0, 0.25, 0.5};
    assert_ok(context, nadir_kernel_create_rank_one(context, model, b, k, &kernel));
    assert_true(test_kernel_minimum(context, kernel) == -0.375);
    nadir_kernel_free(kernel);
    assert_ok(context, nadir_kernel_create(context, model, &kernel));
    assert_true(test_kernel_minimum(context, kernel) == 0);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
}

static void a_kernel_keeps_its_model_and_copies_its_arrays(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    double b[7] = {1, 0, 0, 0, 0, 0, 0};
    double k[4] = {1, 0, 0, -1};
    int64_t rows[2] = {2, 4};
    int64_t starts[3] = {0, 1, 3};
    int32_t columns[3] = {3, 0, 2};
    double values[3] = {1, 0.5, 0.25};
    nadir_changed_rows changed = {2, rows, starts, columns, values};
    nadir_kernel *rank_one = NULL;
    nadir_kernel *other = NULL;
    assert_ok(context, nadir_kernel_create_rank_one(context, model, b, k, &rank_one));
    assert_ok(context, nadir_kernel_create_changed(context, model, &changed, &other));
    nadir_model_free(model);
    memset(b, 0xff, sizeof b);
    memset(k, 0xff, sizeof k);
    memset(rows, 0xff, sizeof rows);
    memset(starts, 0xff, sizeof starts);
    memset(columns, 0xff, sizeof columns);
    memset(values, 0xff, sizeof values);
    const double x[4] = {1, 10, 100, 1000};
    double y[7];
    nadir_kernel_multiply(context, rank_one, x, y);
    assert_close(y[0], 0.1 * 1 + 0.9 * 1000 - (1 - 1000), 1e-15); /* row 0: 0.1 at state 0, 0.9 at state 3 */
    assert_close(y[1], 10, 1e-15);
    nadir_kernel_multiply(context, other, x, y);
    assert_close(y[1], 10, 1e-15);
    assert_close(y[2], 1000, 1e-15);
    assert_close(y[4], 0.5 * 1 + 0.25 * 100, 1e-15);
    nadir_kernel_free(rank_one);
    nadir_kernel_free(other);
    nadir_kernel_free(NULL);
}

static void a_kernel_outlives_its_context(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    nadir_model *model = test_rich_model(context);
    nadir_kernel *kernel = NULL;
    assert_ok(context, nadir_kernel_create(context, model, &kernel));
    nadir_model_free(model);
    nadir_context_free(context);
    context = test_context();
    assert_true(test_kernel_minimum(context, kernel) == 0);
    nadir_kernel_free(kernel);
    nadir_context_free(context);
}

static void rank_one_terms_that_are_not_finite_are_refused(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_kernel *kernel = NULL;
    double b[7] = {0, 0, 0, 0, NAN, 0, 0};
    double k[4] = {0};
    assert_fails(context, nadir_kernel_create_rank_one(context, model, b, k, &kernel), NADIR_ERROR_ARGUMENT,
                 "entry 4 of b is nan");
    b[4] = 0;
    k[3] = -INFINITY;
    assert_fails(context, nadir_kernel_create_rank_one(context, model, b, k, &kernel), NADIR_ERROR_ARGUMENT,
                 "entry 3 of k is -inf");
    assert_null(kernel);
    nadir_model_free(model);
}

/* Rows changed in a way that must be refused with these words. */
static void assert_refused(int64_t count, const int64_t *rows, const int64_t *starts, const int32_t *columns,
                           const double *values, const char *words)
{
    nadir_context *context = test_context();
    nadir_model *model = test_rich_model(context);
    nadir_kernel *kernel = NULL;
    const nadir_changed_rows changed = {count, rows, starts, columns, values};
    assert_fails(context, nadir_kernel_create_changed(context, model, &changed, &kernel),
                 NADIR_ERROR_ARGUMENT, words);
    assert_null(kernel);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void changed_rows_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    const int64_t rows[] = {1, 3};
    const int64_t falling[] = {3, 1};
    const int64_t twice[] = {3, 3};
    const int64_t negative[] = {-1, 3};
    const int64_t beyond[] = {1, 7};
    const int64_t starts[] = {0, 1, 3};
    const int64_t late[] = {1, 1, 3};
    const int64_t turning[] = {0, 3, 1};
    const int32_t columns[] = {2, 0, 3};
    const int32_t column_twice[] = {2, 3, 3};
    const int32_t column_beyond[] = {2, 0, 4};
    const int32_t column_negative[] = {-1, 0, 3};
    const double values[] = {1, 0.5, 0.5};
    const double not_finite[] = {1, 0.5, INFINITY};
    assert_refused(2, falling, starts, columns, values, "changed row 1 is row 1 of 7");
    assert_refused(2, twice, starts, columns, values, "changed row 1 is row 3 of 7");
    assert_refused(2, negative, starts, columns, values, "changed row 0 is row -1 of 7");
    assert_refused(2, beyond, starts, columns, values, "changed row 1 is row 7 of 7");
    assert_refused(2, rows, late, columns, values, "changed row 0 is row 1 of 7; expected rising rows");
    assert_refused(2, rows, turning, columns, values, "expected rising rows and starts");
    assert_refused(2, rows, starts, column_twice, values, "row 3: entry 0.5 at 3");
    assert_refused(2, rows, starts, column_beyond, values, "row 3: entry 0.5 at 4");
    assert_refused(2, rows, starts, column_negative, values, "row 1: entry 1 at -1");
    assert_refused(2, rows, starts, columns, not_finite, "row 3: entry inf at 3; expected a finite number");
}

static void no_changed_row_is_the_nominal_kernel(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_kernel *kernel = NULL;
    nadir_kernel *nominal = NULL;
    const nadir_changed_rows nothing = {0};
    assert_ok(context, nadir_kernel_create_changed(context, model, &nothing, &kernel));
    assert_ok(context, nadir_kernel_create(context, model, &nominal));
    const double x[4] = {3, -5, 0.25, 7};
    double y[7];
    double z[7];
    nadir_kernel_multiply(context, kernel, x, y);
    nadir_kernel_multiply(context, nominal, x, z);
    assert_memory_equal(y, z, sizeof y);
    nadir_kernel_free(kernel);
    nadir_kernel_free(nominal);
    nadir_model_free(model);
}

/* Large enough that products are shared among threads. */
static void assert_threads_agree(const char *kind, int64_t states, int64_t branch)
{
    nadir_generate_settings settings = test_generate_settings();
    settings.states = states;
    settings.actions = 4;
    settings.branch = branch;
    settings.seed = SEED;
    double *results[3];
    for (int run = 0; run < 3; run++) {
        nadir_context *context = test_context_threads(run == 0 ? 1 : 2);
        nadir_random random = test_random(SEED);
        nadir_model *model = test_generate(context, kind, &settings);
        nadir_kernel *kernel = NULL;
        double *b = test_new(4 * states, sizeof *b);
        double *k = test_new(states, sizeof *k);
        for (int64_t row = 0; row < 4 * states; row++) {
            b[row] = nadir_random_normal(&random);
            k[row / 4] = nadir_random_normal(&random);
        }
        assert_ok(context, nadir_kernel_create_rank_one(context, model, b, k, &kernel));
        results[run] = test_new(4 * states, sizeof **results);
        nadir_kernel_multiply(context, kernel, k, results[run]);
        nadir_kernel_free(kernel);
        nadir_model_free(model);
        nadir_context_free(context);
        free(b);
        free(k);
    }
    for (int64_t row = 0; row < 4 * states; row++) {
        assert_close(results[1][row], results[0][row], 1e-12);
    }
    assert_memory_equal(results[1], results[2], (size_t)(4 * states) * sizeof(double));
    for (int run = 0; run < 3; run++) {
        free(results[run]);
    }
}

static void threads_change_nothing_but_rounding(void **state)
{
    (void)state;
    assert_threads_agree("garnet", 20000, 5);
    assert_threads_agree("random", 150, 0);
}

static void memory_that_runs_out_is_said(void **state)
{
    (void)state;
    test_scarce scarce;
    nadir_context *context = test_scarce_context(&scarce);
    nadir_model *model = test_rich_model(context);
    const int64_t blocks = scarce.blocks;
    const double b[7] = {0};
    const double k[4] = {0};
    const int64_t row = 2;
    const int64_t starts[2] = {0, 1};
    const int32_t column = 3;
    const double value = 1;
    const nadir_changed_rows changed = {1, &row, starts, &column, &value};
    for (int kind = 0; kind < 3; kind++) {
        nadir_status status = NADIR_ERROR_MEMORY;
        while (test_scarce_again(&scarce, status)) {
            nadir_kernel *kernel = NULL;
            status = kind == 0   ? nadir_kernel_create(context, model, &kernel)
                     : kind == 1 ? nadir_kernel_create_rank_one(context, model, b, k, &kernel)
                                 : nadir_kernel_create_changed(context, model, &changed, &kernel);
            assert_true((kernel != NULL) == (status == NADIR_OK));
            nadir_kernel_free(kernel);
            assert_int_equal(scarce.blocks, blocks);
        }
    }
    nadir_model_free(model);
    test_scarce_end(&scarce, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_and_minimum_are_those_of_the_numbers),
        test_with_context(a_missing_entry_is_zero_for_the_minimum),
        test_with_context(a_kernel_keeps_its_model_and_copies_its_arrays),
        cmocka_unit_test(a_kernel_outlives_its_context),
        test_with_context(rank_one_terms_that_are_not_finite_are_refused),
        cmocka_unit_test(changed_rows_that_make_no_sense_are_refused),
        test_with_context(no_changed_row_is_the_nominal_kernel),
        cmocka_unit_test(threads_change_nothing_but_rounding),
        cmocka_unit_test(memory_that_runs_out_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_kernel_model.c: kernels turned into models, and the smallest entries that decide whether they can be.
 */
#include "support/support.h"

#include "model/kernel.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/setting.h"

#include <math.h>
#include <stdlib.h>

#define SEED 99173

/* The model of every kernel that is one has its numbers; the others are refused. */
static void check_model(const test_family *family, test_change change, uint64_t seed)
{
    nadir_context *context = test_context();
    nadir_random random = test_random(seed);
    nadir_model *model = family->make(context, &random);
    double *dense = NULL;
    nadir_kernel *kernel = test_kernel(context, model, change, 0.9, &random, &dense);
    nadir_model *made = NULL;
    const int64_t n = test_view(model).states;
    double smallest = 0;
    for (int64_t i = 0; i < test_view(model).rows * n; i++) {
        smallest = fmin(smallest, dense[i]);
    }
    if (smallest < -1e-13) {
        assert_fails(context, nadir_kernel_to_model(context, kernel, &made), NADIR_ERROR_UNSUPPORTED,
                     "the kernel has an entry of -");
        assert_null(made);
    } else {
        assert_ok(context, nadir_kernel_to_model(context, kernel, &made));
        assert_int_equal(test_view(made).rows, test_view(model).rows);
        for (int64_t i = 0; i < test_view(model).rows * n; i++) {
            assert_close(test_probability(made, i / n, i % n), dense[i], 1e-14);
            assert_true(test_probability(made, i / n, i % n) >= 0);
        }
    }
    if (change == TEST_NOMINAL) {
        assert_models_equal(made, model, 0);
    }
    nadir_kernel_free(kernel);
    nadir_model_free(made);
    nadir_model_free(model);
    free(dense);
    nadir_context_free(context);
}

static void the_model_has_the_numbers_of_the_kernel(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_FAMILIES * TEST_CHANGES; i++) {
        const test_family *family = &test_families[i / TEST_CHANGES];
        const test_change change = (test_change)(i % TEST_CHANGES);
        test_note("%s, %s, seed %d", family->name, test_change_names[change], SEED + i);
        check_model(family, change, (uint64_t)(SEED + i));
    }
    test_note_clear();
}

static void everything_else_is_kept(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_kernel *kernel = NULL;
    nadir_model *made = NULL;
    assert_ok(context, nadir_kernel_create(context, model, &kernel));
    assert_ok(context, nadir_kernel_to_model(context, kernel, &made));
    assert_models_equal(made, model, 0);
    assert_non_null(test_view(made).transition_rewards);
    nadir_model_free(made);
    nadir_kernel_free(kernel);
    /* row 3 goes to state 3 for sure; a quarter moves to state 1 */
    const double b[7] = {0, 0, 0, 1, 0, 0, 0};
    const double k[4] = {0, -0.25, 0, 0.25};
    assert_ok(context, nadir_kernel_create_rank_one(context, model, b, k, &kernel));
    assert_ok(context, nadir_kernel_to_model(context, kernel, &made));
    assert_true(test_probability(made, 3, 1) == 0.25 && test_probability(made, 3, 3) == 0.75);
    for (int64_t row = 0; row < 7; row++) {
        assert_true(row == 3 || test_view(made).rewards[row] == test_view(model).rewards[row]);
        for (int64_t t = 0; t < 4 && row != 3; t++) {
            assert_true(test_probability(made, row, t) == test_probability(model, row, t));
        }
    }
    nadir_model_free(made);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
}

/* Row 3 of the rich model with `entry` at state 0 and the rest at state 3. */
static nadir_status with_entry(nadir_context *context, nadir_model *model, double entry, nadir_model **made)
{
    const int64_t row = 3;
    const int64_t starts[2] = {0, 2};
    const int32_t columns[2] = {0, 3};
    const double values[2] = {entry, 1 - entry};
    const nadir_changed_rows changed = {1, &row, starts, columns, values};
    nadir_kernel *kernel = NULL;
    assert_ok(context, nadir_kernel_create_changed(context, model, &changed, &kernel));
    const nadir_status status = nadir_kernel_to_model(context, kernel, made);
    nadir_kernel_free(kernel);
    return status;
}

static void what_is_negative_by_rounding_becomes_zero(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_model *made = NULL;
    assert_ok(context, with_entry(context, model, -1e-17, &made));
    assert_true(test_probability(made, 3, 0) == 0 && test_probability(made, 3, 3) == 1);
    nadir_model_free(made);
    assert_ok(context, with_entry(context, model, -5e-15, &made));
    assert_true(test_probability(made, 3, 0) == 0 && test_probability(made, 3, 3) == 1);
    nadir_model_free(made);
    made = NULL;
    assert_fails(context, with_entry(context, model, -2e-14, &made), NADIR_ERROR_UNSUPPORTED,
                 "the kernel has an entry of -2e-14");
    assert_null(made);
    nadir_model_free(model);
}

/* State 0: all states but the last few; states 1 and 2: half of them; the others stay. */
static int64_t long_row(int64_t states, int64_t state, int32_t *columns)
{
    int64_t count = 0;
    for (int64_t t = 0; t < states - 5; t++) {
        if (state == 0 || (state < 3 && t % 2 == state % 2) || t == state) {
            columns[count++] = (int32_t)t;
        }
    }
    columns[0] = count > 0 ? columns[0] : (int32_t)state;
    return count > 0 ? count : 1;
}

/* Rows that store all states where k is largest, or smallest. */
static void the_smallest_entry_is_found_beside_long_rows(void **state)
{
    enum { STATES = 400 };
    nadir_context *context = *state;
    nadir_model *model = test_sparse_model(context, STATES, long_row);
    assert_null(test_view(model).dense);
    nadir_random random = test_random(SEED);
    double *dense = test_dense_kernel(model);
    double b[STATES];
    double k[STATES];
    for (int round = 0; round < 16; round++) {
        const double size = round < 8 ? 1e-3 : 1e-6; /* so small that only what is not stored falls below 0 */
        for (int64_t s = 0; s < STATES; s++) {
            const bool some = round < 8 && nadir_random_below(&random, 20) == 0;
            b[s] = some ? nadir_random_normal(&random) : 0;
            k[s] =
                (round % 2 == 0 ? STATES - (double)s : 1 + (double)(s % 7)) * (round % 4 < 2 ? size : -size);
        }
        b[0] = round % 8 < 4 ? 1 : -1;
        double smallest = INFINITY;
        for (int64_t i = 0; i < STATES * STATES; i++) {
            smallest = fmin(smallest, dense[i] - b[i / STATES] * k[i % STATES]);
        }
        nadir_kernel *kernel = NULL;
        assert_ok(context, nadir_kernel_create_rank_one(context, model, b, k, &kernel));
        assert_true(test_kernel_minimum(context, kernel) == smallest);
        nadir_kernel_free(kernel);
    }
    free(dense);
    nadir_model_free(model);
}

static void memory_that_runs_out_is_said(void **state)
{
    (void)state;
    static const test_change changes[] = {TEST_NOMINAL, TEST_ALL_ROWS, TEST_SPREAD};
    for (int i = 0; i < 6; i++) {
        test_scarce scarce;
        nadir_context *context = test_scarce_context(&scarce);
        nadir_random random = test_random(SEED);
        nadir_model *model = i < 3 ? test_rich_model(context) : test_families[1].make(context, &random);
        nadir_kernel *kernel = test_kernel(context, model, changes[i % 3], 0.9, &random, NULL);
        const int64_t blocks = scarce.blocks;
        nadir_status status = NADIR_ERROR_MEMORY;
        while (test_scarce_again(&scarce, status)) {
            nadir_model *made = NULL;
            status = nadir_kernel_to_model(context, kernel, &made);
            assert_true((made != NULL) == (status == NADIR_OK));
            nadir_model_free(made);
            assert_int_equal(scarce.blocks, blocks);
        }
        nadir_kernel_free(kernel);
        nadir_model_free(model);
        test_scarce_end(&scarce, context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_has_the_numbers_of_the_kernel),
        test_with_context(everything_else_is_kept),
        test_with_context(what_is_negative_by_rounding_becomes_zero),
        test_with_context(the_smallest_entry_is_found_beside_long_rows),
        cmocka_unit_test(memory_that_runs_out_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

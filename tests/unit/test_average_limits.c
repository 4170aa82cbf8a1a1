/* test_average_limits.c: averages large enough for several threads, and averages for which memory runs out.
 */
#include "support/support.h"

#include "model/average.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/scarce.h"

#include <stdlib.h>

#define SEED  7741
#define GAMMA 0.9

/* Products of a large average, plain and then transposed, under so many threads: [4 * states]. */
static double *large_products(const char *kind, int64_t states, int64_t branch, int32_t threads)
{
    nadir_context *context = test_context_threads(threads);
    nadir_generate_settings shape = test_generate_settings();
    shape.states = states;
    shape.actions = 4;
    shape.branch = branch;
    shape.seed = SEED;
    nadir_random random = test_random(SEED);
    nadir_model *model = test_generate(context, kind, &shape);
    double *b = test_new(4 * states, sizeof *b);
    double *x = test_new(2 * states, sizeof *x);
    for (int64_t i = 0; i < 4 * states; i++) {
        b[i] = nadir_random_normal(&random);
        x[i / 2] = nadir_random_normal(&random);
    }
    nadir_kernel *kernel = NULL;
    assert_ok(context, nadir_kernel_create_rank_one(context, model, b, x, &kernel));
    nadir_policy *policy = test_policy(context, model, TEST_RANDOM, &random);
    nadir_average average = {0};
    bool same = false;
    assert_ok(context, nadir_average_make(context, kernel, policy, &average));
    assert_ok(context, nadir_average_remake(context, kernel, policy, &average, &same));
    assert_true(same);
    double *y = test_new(4 * states, sizeof *y);
    nadir_average_multiply(context, &average, 2, x, y);
    assert_ok(context, nadir_average_multiply_transposed(context, &average, 2, x, y + 2 * states));
    nadir_average_clear(context, &average);
    nadir_policy_free(policy);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
    nadir_context_free(context);
    free(b);
    free(x);
    return y;
}

static void assert_threads_agree(const char *kind, int64_t states, int64_t branch)
{
    double *one = large_products(kind, states, branch, 1);
    double *two = large_products(kind, states, branch, 2);
    double *again = large_products(kind, states, branch, 2);
    double *many = large_products(kind, states, branch, 7);
    for (int64_t i = 0; i < 4 * states; i++) {
        assert_close(two[i], one[i], 1e-10);
        assert_close(many[i], one[i], 1e-10);
    }
    assert_memory_equal(two, again, (size_t)(4 * states) * sizeof *two);
    free(one);
    free(two);
    free(again);
    free(many);
}

static void threads_change_nothing_but_rounding(void **state)
{
    (void)state;
    assert_threads_agree("garnet", 20000, 5);
    assert_threads_agree("random", 300, 0);
}

/* Fails the k-th allocation of `make` and `remake` for k = 1, 2, ...; what failed is as good as cleared. */
static void starve(int family, test_change change)
{
    test_scarce scarce;
    nadir_context *context = test_scarce_context(&scarce);
    nadir_random random = test_random(SEED);
    nadir_model *model = test_families[family].make(context, &random);
    nadir_kernel *nominal = test_kernel(context, model, TEST_NOMINAL, GAMMA, &random, NULL);
    nadir_kernel *kernel = test_kernel(context, model, change, GAMMA, &random, NULL);
    nadir_policy *policy = test_policy(context, model, TEST_RANDOM, &random);
    nadir_policy *other = test_policy(context, model, TEST_RANDOM, &random);
    const int64_t states = test_view(model).states;
    double *x = test_new(states, sizeof *x);
    double *y = test_new(states, sizeof *y);
    const int64_t blocks = scarce.blocks;
    nadir_status status = NADIR_ERROR_MEMORY;
    for (int64_t allowed = 0; status != NADIR_OK; allowed++) {
        nadir_average average = {0};
        bool same = false;
        scarce.left = INT64_MAX;
        assert_ok(context, nadir_average_make(context, nominal, policy, &average));
        scarce.left = allowed;
        status = nadir_average_remake(context, kernel, other, &average, &same);
        if (status == NADIR_OK) {
            status = nadir_average_multiply_transposed(context, &average, 1, x, y);
            assert_int_equal(average.states, states);
        } else {
            assert_null(average.matrix.dense);
            assert_null(average.matrix.starts);
        }
        assert_true(status == NADIR_OK || status == NADIR_ERROR_MEMORY);
        nadir_average_clear(context, &average);
        assert_int_equal(scarce.blocks, blocks);
    }
    scarce.left = INT64_MAX;
    free(x);
    free(y);
    nadir_policy_free(policy);
    nadir_policy_free(other);
    nadir_kernel_free(nominal);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
    test_scarce_end(&scarce, context);
}

static void memory_that_runs_out_leaves_an_empty_average(void **state)
{
    (void)state;
    starve(0, TEST_RANK_ONE);
    starve(0, TEST_FEW_ROWS);
    starve(1, TEST_RANK_ONE);
    starve(1, TEST_ALL_ROWS);
    starve(1, TEST_SPREAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_nothing_but_rounding),
        cmocka_unit_test(memory_that_runs_out_leaves_an_empty_average),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

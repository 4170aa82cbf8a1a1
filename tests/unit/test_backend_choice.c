/* test_backend_choice.c: backends by name, and the one that suits best. */
#include "support/support.h"

#include "solve/backend.h"
#include "support/scarce.h"
#include "support/setting.h"

#include <string.h>

static void test_find(void **state)
{
    (void)state;
    assert_ptr_equal(nadir_backend_find("lapack"), &nadir_backend_lapack);
    assert_ptr_equal(nadir_backend_find("klu"), &nadir_backend_klu);
    assert_ptr_equal(nadir_backend_find("krylov"), &nadir_backend_krylov);
    assert_null(nadir_backend_find("umfpack"));
    assert_null(nadir_backend_find(""));
}

/* Frees the model. */
static void check_choice(nadir_context *context, nadir_model *model, const char *expected)
{
    test_setting made = test_setting_make(context, model);
    const nadir_backend *backend = NULL;
    assert_ok(context, nadir_backend_choose(context, &made.average, &backend));
    if (strcmp(backend->name, expected) != 0) {
        print_error("%lld states: chose %s, expected %s\n", (long long)made.average.states, backend->name,
                    expected);
        fail();
    }
    test_setting_clear(&made);
}

static void test_choice(void **state)
{
    nadir_context *context = *state;
    check_choice(context, test_generate_states(context, "random", 1), "lapack");
    check_choice(context, test_generate_states(context, "random", 50), "lapack");
    check_choice(context, test_generate_states(context, "garnet", 100), "lapack");
    check_choice(context, test_generate_states(context, "garnet", 1000), "lapack");
    check_choice(context, test_generate_states(context, "garnet", 6000), "krylov");
    check_choice(context, test_generate_states(context, "riverswim", 1000), "klu");
    check_choice(context, test_generate_states(context, "riverswim", 30000), "klu");
    check_choice(context, test_generate_states(context, "gridworld", 30), "klu");
    check_choice(context, test_generate_states(context, "gridworld", 100), "klu");
    check_choice(context, test_sparse_model(context, 5000, test_row_hub), "klu");
    check_choice(context, test_sparse_model(context, 20000, test_row_layered), "klu");
    /* only sizes are looked at */
    const double number = 0;
    const nadir_backend *backend = NULL;
    nadir_average huge = {.states = 20000, .matrix = {.size = 20000, .dense = &number}};
    assert_ok(context, nadir_backend_choose(context, &huge, &backend));
    assert_ptr_equal(backend, &nadir_backend_krylov);
}

static void test_choice_minds_the_memory(void **state)
{
    (void)state;
    nadir_context *context = test_context_memory(1 << 20);
    check_choice(context, test_generate_states(context, "random", 100), "lapack");
    check_choice(context, test_generate_states(context, "garnet", 300), "krylov");
    nadir_context_free(context);
}

static void test_choice_memory_runs_out(void **state)
{
    (void)state;
    test_scarce scarce;
    nadir_context *context = test_scarce_context(&scarce);
    test_setting made = test_setting_make(context, test_generate_states(context, "riverswim", 3000));
    const int64_t blocks = scarce.blocks;
    const nadir_backend *backend = NULL;
    nadir_status status = NADIR_ERROR_MEMORY;
    while (test_scarce_again(&scarce, status)) {
        status = nadir_backend_choose(context, &made.average, &backend);
        assert_int_equal(scarce.blocks, blocks);
    }
    assert_true(scarce.tries > 4);
    assert_ptr_equal(backend, &nadir_backend_klu);
    test_setting_clear(&made);
    test_scarce_end(&scarce, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        test_with_context(test_choice),
        cmocka_unit_test(test_choice_minds_the_memory),
        cmocka_unit_test(test_choice_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

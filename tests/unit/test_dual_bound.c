/* test_dual_bound.c: upper bounds on the worst return of every policy: of one kernel, of mixtures, of kernels
 * that are none. */
#include "support/support.h"

#include "policy/minmax.h"
#include "support/problem.h"

#include <math.h>

/*
 * State 0 chooses between two actions to state 1, which earns 1 for ever; from there on nothing changes.
 * Kernel `which` sends a tenth of that row to state 2 instead, which earns nothing.
 */
static nadir_model *make_model(nadir_context *context)
{
    static const int64_t state_rows[] = {0, 2, 3, 4};
    static const double dense[] = {0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1};
    static const double rewards[] = {0, 0, 1, 0};
    static const double initial[] = {1, 0, 0};
    nadir_model_data data = test_model_data();
    data.states = 3;
    data.rows = 4;
    data.discount = 0.9;
    data.state_rows = state_rows;
    data.dense = dense;
    data.rewards = rewards;
    data.initial = initial;
    nadir_model *model = test_create_model(context, &data);
    return model;
}

static nadir_kernel *make_kernel(nadir_context *context, nadir_model *model, int64_t which, double moved)
{
    const int64_t starts[] = {0, 2};
    const int32_t columns[] = {1, 2};
    const double values[] = {1 - moved, moved};
    const nadir_changed_rows changed = {1, &which, starts, columns, values};
    nadir_kernel *kernel = NULL;
    assert_ok(context, nadir_kernel_create_changed(context, model, &changed, &kernel));
    return kernel;
}

/* Either kernel alone leaves the other action as it was: 0.9 * 10. Half of each takes a twentieth of both. */
static void test_mixture(void **state)
{
    static const double v[] = {9, 10, 0};
    const double radius = 0.1 * sqrt(2); /* |(-0.1, 0.1)|_2 */
    nadir_context *context = *state;
    nadir_model *model = make_model(context);
    nadir_uncertainty set;
    nadir_dual_bound dual_bound = {.model = model, .tolerance = 1e-12, .upper = INFINITY};
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_uncertainty_make(context, model, policy, &ball, &set));
    for (int which = 0; which < 2; which++) {
        nadir_kernel *kernel = make_kernel(context, model, which, 0.1);
        assert_ok(context, nadir_dual_bound_add_kernel(context, &dual_bound, &kernel, v, NULL));
        assert_null(kernel);
        assert_close(dual_bound.upper, 9, 1e-11);
        assert_true(dual_bound.upper >= 9);
        assert_int_equal(dual_bound.mixed, 1);
    }
    assert_ok(context, nadir_dual_bound_mix_kernels(context, &dual_bound, 1e-9));
    assert_close(dual_bound.upper, 9 * 0.95, 1e-5);
    assert_true(dual_bound.upper >= 9 * 0.95 && dual_bound.mixed > 1);
    assert_ok(context, nadir_dual_bound_check_kernel(context, &dual_bound, &set));
    assert_close(dual_bound.upper, 9 * 0.95, 1e-5);
    nadir_dual_bound_clear(context, &dual_bound);
    nadir_uncertainty_clear(context, &set);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* A kernel outside the ball bounds nothing, nor does one with a negative entry. */
static void test_no_bound(void **state)
{
    static const double v[] = {9, 10, 0};
    const double radius = 0.1;
    nadir_context *context = *state;
    nadir_model *model = make_model(context);
    nadir_uncertainty set;
    nadir_dual_bound dual_bound = {.model = model, .tolerance = 1e-12, .upper = INFINITY};
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_uncertainty_make(context, model, policy, &ball, &set));
    nadir_kernel *kernel = make_kernel(context, model, 0, -0.01);
    assert_ok(context, nadir_dual_bound_add_kernel(context, &dual_bound, &kernel, v, NULL));
    assert_true(kernel == NULL && dual_bound.kernel == NULL && isinf(dual_bound.upper));
    assert_ok(context, nadir_dual_bound_check_kernel(context, &dual_bound, &set));
    kernel = make_kernel(context, model, 2, 0.1);
    assert_ok(context, nadir_dual_bound_add_kernel(context, &dual_bound, &kernel, v, NULL));
    assert_true(dual_bound.upper < 9);
    assert_ok(context, nadir_dual_bound_check_kernel(context, &dual_bound, &set));
    assert_true(isinf(dual_bound.upper));
    nadir_dual_bound_clear(context, &dual_bound);
    nadir_uncertainty_clear(context, &set);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_mixture),
        test_with_context(test_no_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

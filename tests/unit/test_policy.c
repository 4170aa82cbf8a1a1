/* test_policy.c: policies as objects. */
#include "support/support.h"

#include "model/policy.h"

#include <math.h>
#include <string.h>

static void test_uniform(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_policy *policy = test_uniform_policy(context, model);
    const double *p = nadir_policy_probabilities(policy);
    assert_true(p[0] == 0.5 && p[1] == 0.5 && p[2] == 1 && p[3] == 1.0 / 3 && p[6] == 1);
    nadir_policy_free(policy);
    nadir_policy_free(NULL);
    nadir_model_free(model);
}

static void test_deterministic(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_policy *policy = NULL;
    const int64_t actions[] = {3, 1, 4, 2};
    assert_ok(context, nadir_policy_create_deterministic(context, model, actions, &policy));
    const double expected[] = {0, 1, 1, 0, 0, 1, 1};
    assert_memory_equal(nadir_policy_probabilities(policy), expected, sizeof expected);
    nadir_policy_free(policy);
    policy = NULL;
    const int64_t wrong[] = {3, 1, 3, 2};
    assert_fails(context, nadir_policy_create_deterministic(context, model, wrong, &policy),
                 NADIR_ERROR_POLICY, "state 2 (lab): there is no action 3");
    assert_null(policy);
    nadir_model_free(model);
}

static void test_probabilities(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_policy *policy = NULL;
    double p[] = {0.25, 0.75, 1, 0.2, 0.3, 0.5, 1};
    assert_ok(context, nadir_policy_create(context, model, p, &policy));
    assert_memory_equal(nadir_policy_probabilities(policy), p, sizeof p);
    char one[65];
    char other[65];
    assert_ok(context, nadir_policy_digest(context, policy, one));
    nadir_policy_free(policy);
    p[0] = 0.250001;
    assert_ok(context, nadir_policy_create(context, model, p, &policy));
    assert_close(nadir_policy_probabilities(policy)[0], 0.250001 / 1.000001, 1e-15);
    assert_non_null(strstr(test_messages(), "policy: 1 state was normalised"));
    assert_ok(context, nadir_policy_digest(context, policy, other));
    assert_string_not_equal(one, other);
    nadir_policy_free(policy);
    p[0] = 0.3;
    assert_fails(context, nadir_policy_create(context, model, p, &policy), NADIR_ERROR_POLICY,
                 "state 0 (start): the probabilities of the actions sum to 1.05");
    p[0] = NAN;
    assert_fails(context, nadir_policy_create(context, model, p, &policy), NADIR_ERROR_POLICY,
                 "state 0 (start), action 0 (stay): the probability is nan");
    p[0] = -0.25;
    p[1] = 1.25;
    assert_fails(context, nadir_policy_create(context, model, p, &policy), NADIR_ERROR_POLICY,
                 "state 0 (start), action 0 (stay): the probability is -0.25");
    nadir_model_free(model);
}

/* A policy is shared where it is one as it is, and copied where it is not. */
static void test_share(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    nadir_context *other = test_context();
    nadir_model *model = test_rich_model(context);
    nadir_policy *shared = NULL;
    nadir_policy *copy = NULL;
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_policy_share(context, model, policy, &shared));
    assert_ptr_equal(shared, policy);
    assert_ok(other, nadir_policy_share(other, model, policy, &copy));
    assert_true(copy != policy);
    assert_memory_equal(copy->probabilities, policy->probabilities,
                        (size_t)model->rows * sizeof *copy->probabilities);
    nadir_policy_free(policy); /* once for each who has it */
    assert_true(shared->probabilities[0] == 0.5);
    shared->probabilities[0] = 0.500001; /* as of another model */
    nadir_policy_free(copy);
    assert_ok(context, nadir_policy_share(context, model, shared, &copy));
    assert_true(copy != shared);
    assert_close(copy->probabilities[0], 0.500001 / 1.000001, 1e-15);
    shared->probabilities[0] = 0.6;
    nadir_policy_free(copy);
    copy = NULL;
    assert_fails(context, nadir_policy_share(context, model, shared, &copy), NADIR_ERROR_POLICY,
                 "sum to 1.1");
    assert_null(copy);
    nadir_policy_free(shared);
    nadir_model_free(model);
    nadir_context_free(other);
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_uniform),
        test_with_context(test_deterministic),
        test_with_context(test_probabilities),
        cmocka_unit_test(test_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

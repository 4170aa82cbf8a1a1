/*
 * test_verify_bytes.c: every byte of the kernel, the witness, the policy and the model counts: thousands of
 * them are changed, one at a time, and no change goes unnoticed.
 */
#include "support/numpy.h"

#include "support/robust.h"

#include "core/random.h"

#include <stdlib.h>
#include <string.h>

#define SEED 161803

typedef struct files {
    const char *model, *policy, *kernel, *witness;
    double discount; /* of formats that have none */
} files;

/* As nadir evaluate does it. */
static void evaluate(const files *of, const nadir_ball *ball, bool witness)
{
    nadir_context *context = test_context();
    nadir_read_settings reading;
    nadir_read_settings_default(&reading);
    reading.discount = of->discount;
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_worst *worst = NULL;
    assert_ok(context, nadir_model_read(context, of->model, &reading, &model));
    assert_ok(context, nadir_policy_read(context, model, of->policy, &policy));
    nadir_solver *solver = test_solver(context, model, policy);
    (void)test_robust(context, solver, ball, NULL, &worst);
    assert_ok(context, nadir_worst_set_files(context, worst, of->model, of->policy, NULL));
    assert_ok(context, nadir_worst_write(context, worst, of->kernel));
    assert_ok(context, nadir_worst_set_files(context, worst, NULL, NULL, of->kernel));
    if (witness) {
        assert_ok(context, nadir_worst_write_witness(context, worst, of->witness));
    }
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_context_free(context);
}

/* As nadir verify does it. */
static nadir_status verify(nadir_context *context, const files *of)
{
    nadir_read_settings reading;
    nadir_verify_settings settings;
    nadir_read_settings_default(&reading);
    nadir_verify_settings_default(&settings);
    reading.discount = of->discount;
    settings.kernel = of->kernel;
    settings.witness = of->witness;
    settings.model_file = of->model;
    settings.policy_file = of->policy;
    nadir_verify_result result = {.size = sizeof result};
    nadir_verification *made = NULL;
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_status status = nadir_model_read(context, of->model, &reading, &model);
    if (status == NADIR_OK) {
        status = nadir_policy_read(context, model, of->policy, &policy);
    }
    if (status == NADIR_OK) {
        status = nadir_verify(context, model, policy, &settings, &result, &made);
    }
    nadir_verification_free(made);
    nadir_policy_free(policy);
    nadir_model_free(model);
    return status;
}

/* Changes every `step`-th byte of a file to another one at random; returns how many. */
static int change_bytes(nadir_context *context, const files *of, const char *path, size_t step,
                        nadir_random *random)
{
    step *= test_memcheck() ? 5 : 1;
    size_t count;
    int changes = 0;
    unsigned char *bytes = test_read_bytes(path, &count);
    const size_t first = (size_t)nadir_random_below(random, step);
    for (size_t at = first; at < count; at += step, changes++) {
        const unsigned char kept = bytes[at];
        bytes[at] ^= (unsigned char)(1 + nadir_random_below(random, 255));
        test_write_bytes(path, bytes, count);
        const nadir_status status = verify(context, of);
        assert_that(status / 10 == 8 || status / 10 == 3, "%s, byte %zu of %zu, %d to %d: %s", path, at,
                    count, kept, bytes[at], nadir_status_name(status));
        bytes[at] = kept;
    }
    test_write_bytes(path, bytes, count);
    free(bytes);
    return changes;
}

/* Bytes all over the files, of one set after another. */
static void no_changed_byte_verifies(void **state)
{
    (void)state;
    static const struct {
        nadir_set set;
        nadir_domain domain;
        const char *model;
        bool witness;
    } cases[] = {
        {NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, "model.npz", true},
        {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, "model.csv", true},
        {NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, "model.MDP", true},
        {NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, "model.drn", false},
        {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, "model.npz", false},
    };
    const double radius = 0.01;
    int changes = 0;
    nadir_random random = test_random(SEED);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nadir_context *context = test_context();
        const files of = {cases[i].model, "policy.csv", "worst.npz", cases[i].witness ? "worst.json" : NULL,
                          0.9};
        const nadir_ball ball = test_ball(cases[i].set, cases[i].domain, 2, &radius, NULL);
        nadir_generate_settings settings = test_generate_settings();
        settings.states = 4;
        nadir_model *model = NULL;
        nadir_policy *policy = NULL;
        assert_ok(context, nadir_model_generate(context, "riverswim", &settings, &model));
        assert_ok(context, nadir_model_write(context, model, of.model, NULL));
        assert_ok(context, nadir_policy_create_uniform(context, model, &policy));
        assert_ok(context, nadir_policy_write(context, model, policy, of.policy));
        nadir_policy_free(policy);
        nadir_model_free(model);
        test_note("%s, model %s%s", test_ball_name(&ball), of.model, cases[i].witness ? "" : ", no witness");
        evaluate(&of, &ball, cases[i].witness);
        assert_ok(context, verify(context, &of));
        changes += change_bytes(context, &of, of.model, 13, &random);
        changes += change_bytes(context, &of, of.policy, 5, &random);
        changes += change_bytes(context, &of, of.kernel, 9, &random);
        changes += cases[i].witness ? change_bytes(context, &of, of.witness, 5, &random) : 0;
        assert_ok(context, verify(context, &of)); /* all is as it was */
        nadir_context_free(context);
    }
    test_note_clear();
    print_message("%d bytes were changed\n", changes);
    assert_true(changes > (test_memcheck() ? 500 : 2500));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_changed_byte_verifies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_verify.c: what evaluations write verifies, and nothing else does: kernels that are not in the ball,
 * files of other models. False claims are in test_verify_claims.c, that every byte counts is in
 * test_verify_bytes.c.
 */
#include "support/numpy.h"

#include "support/golden.h"
#include "support/robust.h"
#include "support/scarce.h"
#include "support/verified.h"

#include "io/result_files.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Everything holds, and the numbers are those of the evaluation. */
static void assert_verified(const test_instance *here, const nadir_robust *robust)
{
    nadir_verify_result result;
    nadir_verification *made = NULL;
    assert_ok(here->context, test_verified_verify(here, "worst.npz", "worst.json", &result, &made));
    assert_true(result.verified);
    assert_null(nadir_verification_check(made, result.checks_count));
    for (int64_t i = 0; i < result.checks_count; i++) {
        const nadir_verify_check *check = nadir_verification_check(made, i);
        assert_that(check->holds && *check->detail != '\0', "%s: %s", check->name, check->detail);
    }
    assert_int_equal(result.set, robust->set);
    assert_int_equal(result.domain, robust->domain);
    assert_true(result.norm == robust->norm && result.radius == robust->radius);
    assert_close(result.nominal_return, robust->nominal_return, 1e-12);
    assert_close(result.return_low, robust->robust_return, 1e-9);
    assert_close(result.return_high, robust->robust_return, 1e-9);
    assert_true(result.return_low <= result.return_high);
    const double claimed = result.optimistic ? robust->upper_bound : robust->lower_bound;
    assert_true((isinf(claimed) != 0) == (isnan(result.bound_proven) != 0));
    if (!isinf(claimed)) {
        const double better = (result.optimistic ? -1 : 1) * (result.bound_proven - claimed);
        const double close = 1e-6 * fmax(1, fabs(claimed));
        /* bounds are reported with room: what is proven may be better */
        assert_that(better >= -close && better <= close + 2e-5 * fabs(robust->robust_return - claimed),
                    "%.17g was proven, %.17g claimed", result.bound_proven, claimed);
    }
    nadir_verification_free(made);
    made = NULL;
    assert_ok(here->context,
              test_verified_verify(here, "worst.npz", NULL, &result, &made)); /* the kernel alone */
    assert_true(isnan(result.bound_proven));
    nadir_verification_free(made);
}

static void evaluations_verify(void **state)
{
    (void)state;
    static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
    static const nadir_domain domains[] = {NADIR_DOMAIN_FREE, NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT};
    static const double norms[] = {1, 1.5, 2, 3, INFINITY};
    for (int g = 0; g < TEST_GOLDEN; g += 2) {
        test_instance here = test_instance_make(g);
        for (int i = 0; i < 3 * 3 * 5 * 2; i += g == 0 ? 1 : 4) {
            const double large = domains[i / 3 % 3] == NADIR_DOMAIN_FREE ? 0.12 : 0.4;
            const double radius = g == 0 && i % 4 == 0 ? large : 0.02;
            const nadir_ball ball =
                test_ball(sets[i % 3], domains[i / 3 % 3], norms[i / 9 % 5], &radius, NULL);
            nadir_robust_settings settings = test_robust_settings();
            settings.optimistic = i >= 45;
            settings.certify = (nadir_certify)(i % 7 == 0 ? NADIR_CERTIFY_STRICT : NADIR_CERTIFY_AUTO);
            test_note("%s, %s%s", test_goldens[g].name, test_ball_name(&ball),
                      settings.optimistic ? ", best case" : "");
            const nadir_robust robust = test_verified_evaluate(&here, &ball, &settings);
            assert_verified(&here, &robust);
        }
        test_note_clear();
        test_instance_clear(&here);
    }
}

/* Radius 0, scales, pinned rows, one radius for each row. */
static void unusual_balls_verify(void **state)
{
    (void)state;
    test_instance here = test_instance_make(2);
    double radii[120];
    double scales[120];
    for (int i = 0; i < 120; i++) {
        radii[i] = 0.001 * (i % 7);
        scales[i] = 0.25 * (i % 5);
    }
    const double zero = 0;
    nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &zero, NULL);
    nadir_robust robust = test_verified_evaluate(&here, &ball, NULL);
    assert_verified(&here, &robust);
    for (int domain = NADIR_DOMAIN_SIMPLEX; domain <= NADIR_DOMAIN_FREE; domain++) {
        ball = test_ball(NADIR_SET_SA, (nadir_domain)domain, 2, radii, scales);
        ball.radius_count = 120;
        robust = test_verified_evaluate(&here, &ball, NULL);
        assert_verified(&here, &robust);
        ball = test_ball(NADIR_SET_NONRECT, (nadir_domain)domain, 2, &radii[3], scales);
        robust = test_verified_evaluate(&here, &ball, NULL);
        assert_verified(&here, &robust);
    }
    test_instance_clear(&here);
}

/* Writes a kernel with one row of its own and what is said of the ball, digest and all. */
static void write_kernel(const test_instance *here, nadir_domain domain, const double *values, int64_t count,
                         const int32_t *columns)
{
    const double radius = 0.05;
    const int64_t row = 0;
    const int64_t starts[2] = {0, count};
    const nadir_changed_rows changed = {1, &row, starts, columns, values};
    nadir_kernel_parameters parameters = {.set = NADIR_SET_NONRECT,
                                          .domain = domain,
                                          .norm = 2,
                                          .radius = &radius,
                                          .radius_count = 1,
                                          .gamma = 0.9};
    nadir_kernel *kernel = NULL;
    assert_ok(here->context, nadir_model_digest(here->context, here->model, parameters.model_sha256));
    assert_ok(here->context, nadir_policy_digest(here->context, here->policy, parameters.policy_sha256));
    assert_ok(here->context, nadir_kernel_create_changed(here->context, here->model, &changed, &kernel));
    assert_ok(here->context, nadir_kernel_file_write(here->context, kernel, &parameters, "made.npz"));
    nadir_kernel_free(kernel);
}

static void kernels_outside_the_set_fail(void **state)
{
    (void)state;
    test_instance here =
        test_instance_make(2); /* row 0 of sparse(30,4) has the successors 0, 1, 5, 10, 15, 20, 25 */
    enum { MOST = 30 };
    int32_t columns[MOST];
    double nominal[MOST];
    double values[MOST];
    int64_t count = 0;
    for (int32_t t = 0; t < 30; t++) {
        const double p = test_probability(here.model, 0, t);
        if (p > 0) {
            columns[count] = t;
            nominal[count++] = p;
        }
    }
    nadir_verify_result result;
    nadir_verification *made = NULL;
    write_kernel(&here, NADIR_DOMAIN_SUPPORT, nominal, count, columns);
    assert_ok(here.context, test_verified_verify(&here, "made.npz", NULL, &result, &made));
    nadir_verification_free(made);
    memcpy(values, nominal, sizeof values);
    values[0] += 1e-6; /* sums */
    write_kernel(&here, NADIR_DOMAIN_SUPPORT, values, count, columns);
    assert_check_fails(&here, "made.npz", NULL, "row_sums");
    memcpy(values, nominal, sizeof values); /* too far: 0.05 / sqrt(2) would do */
    values[0] += 0.03536;
    values[1] -= 0.03536;
    write_kernel(&here, NADIR_DOMAIN_SUPPORT, values, count, columns);
    assert_check_fails(&here, "made.npz", NULL, "distance");
    memcpy(values, nominal, sizeof values); /* a negative entry */
    columns[count] = 29;
    values[count] = -1e-12;
    values[0] += 1e-12;
    write_kernel(&here, NADIR_DOMAIN_SIMPLEX, values, count + 1, columns);
    assert_check_fails(&here, "made.npz", NULL, "domain");
    memcpy(values, nominal, sizeof values); /* a new successor */
    values[count] = 1e-12;
    values[0] -= 1e-12;
    write_kernel(&here, NADIR_DOMAIN_SUPPORT, values, count + 1, columns);
    assert_check_fails(&here, "made.npz", NULL, "domain");
    write_kernel(&here, NADIR_DOMAIN_SIMPLEX, values, count + 1, columns);
    assert_ok(here.context, test_verified_verify(&here, "made.npz", NULL, &result, &made));
    nadir_verification_free(made);
    test_instance_clear(&here);
}

/* Rank-one kernels that are too long, and whose rows do not sum to one. */
static void rank_one_kernels_outside_the_set_fail(void **state)
{
    (void)state;
    test_instance here = test_instance_make(0);
    const double radius = 0.05;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    nadir_kernel *kernel = NULL;
    nadir_kernel *changed = NULL;
    nadir_kernel_parameters said;
    double b[24];
    double k[8];
    const double *of_b;
    const double *of_k;
    (void)test_verified_evaluate(&here, &ball, NULL);
    assert_ok(here.context, nadir_kernel_file_read(here.context, here.model, "worst.npz", &kernel, &said));
    assert_true(nadir_kernel_rank_one(kernel, &of_b, &of_k));
    for (int i = 0; i < 2; i++) {
        memcpy(b, of_b, sizeof b);
        memcpy(k, of_k, sizeof k);
        for (int row = 0; row < 24; row++) {
            b[row] *= i == 0 ? 1 + 1e-8 : 0.5;
        }
        k[0] += i == 0 ? 0 : 1e-9;
        assert_ok(here.context, nadir_kernel_create_rank_one(here.context, here.model, b, k, &changed));
        assert_ok(here.context, nadir_kernel_file_write(here.context, changed, &said, "made.npz"));
        nadir_kernel_free(changed);
        assert_check_fails(&here, "made.npz", NULL, i == 0 ? "kernel" : "row_sums");
    }
    nadir_kernel_parameters_clear(here.context, &said);
    nadir_kernel_free(kernel);
    test_instance_clear(&here);
}

/* A kernel that another program wrote stores no digest, and says only what it likes. */
static void kernels_by_others(void **state)
{
    (void)state;
    test_instance here = test_instance_make(0);
    static const double b[24] = {0.02};
    static const double k[8] = {0.5, -0.5};
    static const double radius[] = {0.05};
    const test_array arrays[] = {
        TEST_ARRAY("b.npy", "=f8", "(24,)", b),
        TEST_ARRAY("k.npy", "=f8", "(8,)", k),
        TEST_ARRAY("radius.npy", "=f8", "()", radius),
    };
    nadir_verify_result result;
    nadir_verification *made = NULL;
    test_write_npz("theirs.npz", arrays, true);
    assert_ok(here.context, test_verified_verify(&here, "theirs.npz", NULL, &result, &made));
    assert_int_equal(result.set, NADIR_SET_NONRECT);
    assert_int_equal(result.domain, NADIR_DOMAIN_SIMPLEX);
    nadir_verification_free(made);
    made = NULL;
    test_write_npz_count("theirs.npz", 2, arrays, false); /* no radius */
    assert_check_fails(&here, "theirs.npz", NULL, "ball");
    assert_fails(here.context, test_verified_verify(&here, "missing.npz", NULL, &result, &made),
                 NADIR_ERROR_FILE, "missing.npz");
    assert_fails(here.context, test_verified_verify(&here, NULL, NULL, &result, &made), NADIR_ERROR_ARGUMENT,
                 "kernel file");
    assert_null(made);
    test_instance_clear(&here);
}

/* The files of another model and another policy. */
static void other_models_fail(void **state)
{
    (void)state;
    test_instance here = test_instance_make(0);
    const double radius = 0.05;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    (void)test_verified_evaluate(&here, &ball, NULL);
    nadir_policy_free(here.policy);
    assert_ok(here.context, nadir_policy_create_uniform(here.context, here.model, &here.policy));
    assert_check_fails(&here, "worst.npz", "worst.json", "policy");
    assert_check_fails(&here, "worst.npz", NULL, "policy");
    test_instance_clear(&here);
    here = test_instance_make(2); /* of another size */
    nadir_verify_result result;
    nadir_verification *made = NULL;
    assert_fails(here.context, test_verified_verify(&here, "worst.npz", NULL, &result, &made),
                 NADIR_ERROR_FORMAT, "worst.npz");
    test_instance_clear(&here);
}

static nadir_status verify_scarcely(nadir_context *context, const void *of)
{
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_verify_settings settings;
    nadir_verify_settings_default(&settings);
    settings.kernel = "scarce.npz";
    settings.witness = "scarce.json";
    nadir_verify_result result = {.size = sizeof result};
    nadir_verification *made = NULL;
    (void)of;
    nadir_status status = nadir_model_generate(context, "riverswim", NULL, &model);
    if (status == NADIR_OK) {
        status = nadir_policy_create_uniform(context, model, &policy);
    }
    if (status == NADIR_OK) {
        status = nadir_verify(context, model, policy, &settings, &result, &made);
    }
    nadir_verification_free(made);
    nadir_policy_free(policy);
    nadir_model_free(model);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    test_instance here = {.context = context};
    const double radius = 0.01;
    assert_ok(context, nadir_model_generate(context, "riverswim", NULL, &here.model));
    assert_ok(context, nadir_policy_create_uniform(context, here.model, &here.policy));
    here.solver = test_solver(context, here.model, here.policy);
    for (int i = 0; i < 5; i++) {
        const nadir_ball ball =
            test_ball(i % 3 == 1 ? NADIR_SET_SA : NADIR_SET_NONRECT,
                      i >= 2 ? NADIR_DOMAIN_FREE : NADIR_DOMAIN_SUPPORT, i == 3 ? 1 : 2, &radius, NULL);
        (void)test_verified_evaluate(&here, &ball, NULL);
        assert_int_equal(rename("worst.npz", "scarce.npz"), 0);
        assert_int_equal(rename("worst.json", "scarce.json"), 0);
        test_run_out(verify_scarcely, NULL, NULL, test_ball_name(&ball));
    }
    test_instance_clear(&here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluations_verify),
        cmocka_unit_test(unusual_balls_verify),
        cmocka_unit_test(kernels_outside_the_set_fail),
        cmocka_unit_test(rank_one_kernels_outside_the_set_fail),
        cmocka_unit_test(kernels_by_others),
        cmocka_unit_test(other_models_fail),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

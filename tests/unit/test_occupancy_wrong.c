/*
 * test_occupancy_wrong.c: requests to the occupancy operator that it refuses, right-hand sides of all sizes,
 * updates that fail, memory that runs out.
 */
#include "support/support.h"

#include "solve/occupancy.h"
#include "support/engine.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void an_unknown_backend_is_refused(void **state)
{
    (void)state;
    test_engine f = test_engine_make(test_context(), TEST_DENSE);
    nadir_occupancy *occupancy = NULL;
    assert_null(nadir_backend_find("superduper"));
    assert_fails(f.context,
                 nadir_occupancy_create(f.context, f.kernel, f.policy, 0.9, "superduper", 0, &occupancy),
                 NADIR_ERROR_ARGUMENT, "no backend 'superduper'; there are lapack, klu, krylov, petsc");
    assert_null(occupancy);
    test_engine_clear(&f);
}

static void a_backend_that_cannot_take_the_kernel_is_refused(void **state)
{
    (void)state;
    int refused = 0;
    for (size_t i = 0; i < 2 * TEST_BACKENDS; i++) {
        const char *backend = test_backends[i / 2];
        const int family = i % 2 == 0 ? TEST_DENSE : TEST_GARNET;
        if (strncmp(backend, "device", 6) != 0 && !test_backend_takes(backend, family)) {
            test_engine f = test_engine_make(test_context(), family);
            nadir_occupancy *occupancy = NULL;
            test_note("backend %s, family %s", backend, test_families[family].name);
            assert_fails(f.context,
                         nadir_occupancy_create(f.context, f.kernel, f.policy, 0.9, backend, 0, &occupancy),
                         NADIR_ERROR_UNSUPPORTED, family == TEST_DENSE ? "dense" : "sparse");
            assert_non_null(strstr(nadir_context_error(f.context), backend));
            assert_null(occupancy);
            test_engine_clear(&f);
            refused++;
        }
    }
    test_note_clear();
    assert_true(refused > 0 && !test_backend_takes("klu", TEST_DENSE));
}

static void a_device_is_asked_for_where_there_is_none(void **state)
{
    (void)state;
    static const char *const names[] = {"device-lu", "device-krylov"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        test_engine f = test_engine_make(test_context(), TEST_GARNET);
        nadir_occupancy *occupancy = NULL;
        f.context->device = NULL;
        assert_fails(f.context,
                     nadir_occupancy_create(f.context, f.kernel, f.policy, 0.9, names[i], 0, &occupancy),
                     NADIR_ERROR_UNSUPPORTED, names[i]);
        assert_non_null(strstr(nadir_context_error(f.context), "--engine"));
        test_engine_clear(&f);
    }
}

static void a_discount_outside_its_range_is_refused(void **state)
{
    (void)state;
    const double wrong[] = {-0.1, 1.5, NAN, INFINITY};
    test_engine f = test_engine_make(test_context(), TEST_DENSE);
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        nadir_occupancy *occupancy = NULL;
        assert_fails(f.context,
                     nadir_occupancy_create(f.context, f.kernel, f.policy, wrong[i], NULL, 0, &occupancy),
                     NADIR_ERROR_ILL_POSED, "discount");
        assert_null(occupancy);
    }
    nadir_occupancy *endless = NULL; /* no state ends: I - P is singular */
    assert_fails(f.context, nadir_occupancy_create(f.context, f.kernel, f.policy, 1, NULL, 0, &endless),
                 NADIR_ERROR_ILL_POSED, "singular");
    assert_null(endless);
    test_engine_clear(&f);
}

static void refuse_right_hand_sides(const char *backend, int family)
{
    const double wrong[] = {NAN, INFINITY, -INFINITY};
    test_engine f = test_engine_make(test_context(), family);
    nadir_occupancy *occupancy = NULL;
    assert_ok(f.context, nadir_occupancy_create(f.context, f.kernel, f.policy, 0.9, backend, 0, &occupancy));
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        const double kept = f.b[f.states / 2];
        f.b[f.states / 2] = wrong[i];
        assert_fails(f.context, nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL),
                     NADIR_ERROR_ARGUMENT, "right-hand side 0 is not finite");
        assert_fails(f.context, nadir_occupancy_solve_transposed(f.context, occupancy, 1, f.b, f.x, NULL),
                     NADIR_ERROR_ARGUMENT, "right-hand side 0 is not finite");
        f.b[f.states / 2] = kept;
    }
    assert_ok(f.context, nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL));
    nadir_occupancy_free(f.context, occupancy);
    test_engine_clear(&f);
}

static void right_hand_sides_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    test_each_backend(refuse_right_hand_sides);
}

/* Right-hand sides of all scales in one call have the solutions of their unscaled selves. */
static void scale(const char *backend, int family)
{
    const double scales[] = {1, 1e150, 1e-150, 1e300, 1e-290, 0};
    test_engine f = test_engine_make(test_context(), family);
    const int64_t n = f.states;
    nadir_occupancy *occupancy = NULL;
    double *b = test_new(n * (int64_t)LENGTH(scales), sizeof *b);
    nadir_accuracy accuracy;
    assert_ok(f.context, nadir_occupancy_create(f.context, f.kernel, f.policy, 0.99, backend, 0, &occupancy));
    for (int transposed = 0; transposed < 2; transposed++) {
        for (int64_t i = 0; i < n * (int64_t)LENGTH(scales); i++) {
            b[i] = f.b[i % n] * scales[i / n];
        }
        nadir_status (*solve)(nadir_context *, nadir_occupancy *, int64_t, const double *, double *,
                              nadir_accuracy *) =
            transposed ? nadir_occupancy_solve_transposed : nadir_occupancy_solve;
        assert_ok(f.context, solve(f.context, occupancy, (int64_t)LENGTH(scales), b, b, &accuracy));
        assert_that(isfinite(accuracy.error_bound), "the bound is %g", accuracy.error_bound);
        double size = 0;
        for (int64_t i = 0; i < n; i++) {
            size = fmax(size, fabs(b[i]));
        }
        for (int64_t i = 0; i < n * (int64_t)LENGTH(scales); i++) {
            const double expected = b[i % n] * scales[i / n];
            assert_that(fabs(b[i] - expected) <= 1e-10 * size * scales[i / n], "%g is %g at scale %g",
                        expected, b[i], scales[i / n]);
        }
        assert_ok(f.context, solve(f.context, occupancy, 1, b + 5 * n, f.x, &accuracy));
        assert_true(f.x[0] == 0 && accuracy.error_bound == 0);
        assert_ok(f.context, solve(f.context, occupancy, 0, b, b, &accuracy));
    }
    free(b);
    nadir_occupancy_free(f.context, occupancy);
    test_engine_clear(&f);
}

static void the_scale_of_a_right_hand_side_does_not_matter(void **state)
{
    (void)state;
    test_each_backend(scale);
}

static void a_perturbed_operator_is_no_base(void **state)
{
    (void)state;
    test_engine f = test_engine_make(test_context(), TEST_GARNET);
    nadir_occupancy *base = NULL;
    nadir_occupancy *first = NULL;
    nadir_occupancy *second = NULL;
    nadir_kernel *kernel = test_kernel(f.context, f.model, TEST_RANK_ONE, 0.9, &f.random, NULL);
    assert_ok(f.context, nadir_occupancy_create(f.context, f.kernel, f.policy, 0.9, NULL, 0, &base));
    assert_ok(f.context, nadir_occupancy_perturb(f.context, base, kernel, f.policy, &first));
    assert_fails(f.context, nadir_occupancy_perturb(f.context, first, kernel, f.policy, &second),
                 NADIR_ERROR_UNSUPPORTED, "base of a perturbed operator");
    assert_fails(f.context, nadir_occupancy_update(f.context, first, kernel, f.policy),
                 NADIR_ERROR_UNSUPPORTED, "perturbed operator cannot be updated");
    assert_null(second);
    nadir_occupancy_free(f.context, first);
    nadir_occupancy_free(f.context, base);
    nadir_occupancy_free(f.context, NULL);
    nadir_kernel_free(kernel);
    test_engine_clear(&f);
}

/* The matrix that a perturbed operator borrows is gone when its base is updated. */
static void a_perturbed_operator_ends_with_an_update(void **state)
{
    (void)state;
    test_engine f = test_engine_make(test_context(), TEST_GARNET);
    nadir_occupancy *base = NULL;
    nadir_occupancy *perturbed = NULL;
    nadir_kernel *kernel = test_kernel(f.context, f.model, TEST_RANK_ONE, 0.9, &f.random, NULL);
    assert_ok(f.context, nadir_occupancy_create(f.context, f.kernel, f.policy, 0.9, NULL, 0, &base));
    assert_ok(f.context, nadir_occupancy_perturb(f.context, base, kernel, f.policy, &perturbed));
    assert_ok(f.context, nadir_occupancy_solve(f.context, perturbed, 1, f.b, f.x, NULL));
    assert_ok(f.context, nadir_occupancy_update(f.context, base, f.kernel, f.policy));
    assert_fails(f.context, nadir_occupancy_solve(f.context, perturbed, 1, f.b, f.x, NULL),
                 NADIR_ERROR_ARGUMENT, "was updated since");
    assert_fails(f.context, nadir_occupancy_solve_transposed(f.context, perturbed, 1, f.b, f.x, NULL),
                 NADIR_ERROR_ARGUMENT, "was updated since");
    nadir_occupancy_free(f.context, perturbed);
    assert_ok(f.context, nadir_occupancy_perturb(f.context, base, kernel, f.policy, &perturbed));
    assert_ok(f.context, nadir_occupancy_solve(f.context, perturbed, 1, f.b, f.x, NULL));
    nadir_occupancy_free(f.context, perturbed);
    nadir_occupancy_free(f.context, base);
    nadir_kernel_free(kernel);
    test_engine_clear(&f);
}

/* An update that fails leaves an operator that says so, or works; a later update can mend it. */
static void fail_an_update(const char *backend, int family)
{
    test_engine f = test_engine_make(test_context(), family);
    double *row = test_new(f.states, sizeof *row);
    row[3] = 2;
    nadir_kernel *singular = test_engine_with_state(&f, 3, row);
    nadir_occupancy *occupancy = NULL;
    assert_ok(f.context, nadir_occupancy_create(f.context, f.kernel, f.policy, 0.5, backend, 0, &occupancy));
    assert_ok(f.context, nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL));
    const double expected = f.x[0];
    for (int i = 0; i < 2; i++) {
        nadir_status status = nadir_occupancy_update(f.context, occupancy, singular, f.policy);
        if (status == NADIR_OK) {
            status = nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL);
        } else {
            nadir_backend_statistics statistics;
            nadir_occupancy_statistics(occupancy, &statistics);
            assert_that(nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL) != NADIR_OK,
                        "a number got out after an update that failed");
        }
        assert_that(status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED, "%s",
                    nadir_status_name(status));
        assert_ok(f.context, nadir_occupancy_update(f.context, occupancy, f.kernel, f.policy));
        assert_ok(f.context, nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL));
        assert_close(f.x[0], expected, 1e-12);
    }
    nadir_occupancy_free(f.context, occupancy);
    nadir_kernel_free(singular);
    free(row);
    test_engine_clear(&f);
}

static void an_update_that_failed_can_be_mended(void **state)
{
    (void)state;
    test_each_backend(fail_an_update);
}

/* Everything once: create, solve both ways, perturb, update. */
static nadir_status use_everything(test_engine *f, const char *backend, const nadir_kernel *kernel,
                                   const nadir_policy *other)
{
    nadir_context *context = f->context;
    nadir_occupancy *base = NULL;
    nadir_occupancy *near = NULL;
    nadir_status status = NADIR_OK;
    NADIR_CHECK(nadir_occupancy_create(context, f->kernel, f->policy, 0.9, backend, 0, &base));
    NADIR_CHECK(nadir_occupancy_solve(context, base, 1, f->b, f->x, NULL));
    NADIR_CHECK(nadir_occupancy_perturb(context, base, kernel, f->policy, &near));
    NADIR_CHECK(nadir_occupancy_solve(context, near, 1, f->b, f->x, NULL));
    NADIR_CHECK(nadir_occupancy_solve_transposed(context, near, 1, f->x, f->x, NULL));
    nadir_occupancy_free(context, near);
    near = NULL;
    status = nadir_occupancy_update(context, base, kernel, other);
    if (status != NADIR_OK) {
        assert_that(nadir_occupancy_solve(context, base, 1, f->b, f->x, NULL) != NADIR_OK,
                    "a number got out after an update without memory");
        goto cleanup;
    }
    NADIR_CHECK(nadir_occupancy_solve_transposed(context, base, 1, f->b, f->x, NULL));
cleanup:
    nadir_occupancy_free(context, near);
    nadir_occupancy_free(context, base);
    return status;
}

static void run_out(const char *backend, int family)
{
    static const test_change changes[] = {TEST_RANK_ONE, TEST_ALL_ROWS, TEST_SPREAD};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        test_scarce scarce;
        test_engine f = test_engine_make(test_scarce_context(&scarce), family);
        nadir_kernel *kernel = test_kernel(f.context, f.model, changes[i], 0.9, &f.random, NULL);
        nadir_policy *other = test_policy(f.context, f.model, TEST_RANDOM, &f.random);
        const int64_t blocks = scarce.blocks;
        nadir_status status = NADIR_ERROR_MEMORY;
        for (int64_t allowed = 0; status != NADIR_OK; allowed++) {
            scarce.left = allowed;
            status = use_everything(&f, backend, kernel, other);
            assert_that(status == NADIR_OK || status == NADIR_ERROR_MEMORY, "%s after %lld allocations: %s",
                        nadir_status_name(status), (long long)allowed, nadir_context_error(f.context));
            assert_that(scarce.blocks == blocks, "%lld blocks leaked after %lld allocations",
                        (long long)(scarce.blocks - blocks), (long long)allowed);
        }
        nadir_kernel_free(kernel);
        nadir_policy_free(other);
        test_engine_clear(&f);
        assert_true(scarce.blocks == 0);
    }
}

static void memory_that_runs_out_is_said(void **state)
{
    (void)state;
    test_each_backend(run_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_backend_is_refused),
        cmocka_unit_test(a_backend_that_cannot_take_the_kernel_is_refused),
        cmocka_unit_test(a_device_is_asked_for_where_there_is_none),
        cmocka_unit_test(a_discount_outside_its_range_is_refused),
        cmocka_unit_test(right_hand_sides_that_are_not_finite_are_refused),
        cmocka_unit_test(the_scale_of_a_right_hand_side_does_not_matter),
        cmocka_unit_test(a_perturbed_operator_is_no_base),
        cmocka_unit_test(a_perturbed_operator_ends_with_an_update),
        cmocka_unit_test(an_update_that_failed_can_be_mended),
        cmocka_unit_test(memory_that_runs_out_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

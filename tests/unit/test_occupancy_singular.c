/*
 * test_occupancy_singular.c: systems that have no solution, or hardly one. A singular or non-finite system
 * never gets out as a number.
 */
#include "support/support.h"

#include "solve/occupancy.h"
#include "support/engine.h"
#include "support/generated.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_refused(const test_engine *f, nadir_status status, const nadir_occupancy *occupancy)
{
    assert_that(status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED,
                "a singular system was taken: %s", nadir_status_name(status));
    assert_true(strlen(nadir_context_error(f->context)) > 20);
    assert_null(occupancy);
}

/* No operator comes into being, so that not even a right-hand side that a singular system has solutions for
 * gets an answer: neither directly nor through the nominal operator. */
static void assert_no_number(test_engine *f, const char *backend, double gamma, const nadir_kernel *kernel)
{
    nadir_occupancy *occupancy = NULL;
    nadir_occupancy *base = NULL;
    assert_refused(f, nadir_occupancy_create(f->context, kernel, f->policy, gamma, backend, 0, &occupancy),
                   occupancy);
    assert_ok(f->context, nadir_occupancy_create(f->context, f->kernel, f->policy, gamma, backend, 0, &base));
    assert_refused(f, nadir_occupancy_perturb(f->context, base, kernel, f->policy, &occupancy), occupancy);
    nadir_occupancy_free(f->context, base);
}

/* gamma = 1/2 and P(s, s) = 2: a row of zeros, exactly. */
static void make_a_row_zero(const char *backend, int family)
{
    test_engine f = test_engine_make(test_context(), family);
    double *row = test_new(f.states, sizeof *row);
    row[3] = 2;
    nadir_kernel *kernel = test_engine_with_state(&f, 3, row);
    assert_no_number(&f, backend, 0.5, kernel);
    nadir_kernel_free(kernel);
    free(row);
    test_engine_clear(&f);
}

static void an_exactly_singular_system_is_no_number(void **state)
{
    (void)state;
    test_each_backend(make_a_row_zero);
}

/* Row 3 of I - gamma P the sum of rows 4 and 5, up to rounding: P3 = (e3 - e4 - e5)/gamma + P4 + P5. */
static void make_rows_dependent(const char *backend, int family)
{
    const double gamma = 0.9;
    test_engine f = test_engine_make(test_context(), family);
    double *dense = test_dense_kernel(f.model);
    long double *average = test_dense_average(f.model, dense, nadir_policy_probabilities(f.policy));
    double *row = test_new(f.states, sizeof *row);
    for (int64_t t = 0; t < f.states; t++) {
        row[t] = (double)((((t == 3) - (t == 4) - (t == 5)) / (long double)gamma) +
                          average[4 * f.states + t] + average[5 * f.states + t]);
    }
    nadir_kernel *kernel = test_engine_with_state(&f, 3, row);
    assert_no_number(&f, backend, gamma, kernel);
    nadir_kernel_free(kernel);
    free(row);
    free(average);
    free(dense);
    test_engine_clear(&f);
}

static void a_system_singular_to_rounding_is_no_number(void **state)
{
    (void)state;
    test_each_backend(make_rows_dependent);
}

/* Entries so large that products overflow. */
static void overflow(const char *backend, int family)
{
    test_engine f = test_engine_make(test_context(), family);
    double *row = test_new(f.states, sizeof *row);
    for (int64_t t = 0; t < f.states; t++) {
        row[t] = t % 2 == 0 ? 1.7e308 : -1.7e308;
    }
    nadir_kernel *kernel = test_engine_with_state(&f, 2, row);
    nadir_occupancy *occupancy = NULL;
    nadir_status status = nadir_occupancy_create(f.context, kernel, f.policy, 0.9, backend, 0, &occupancy);
    if (status == NADIR_OK) {
        status = nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL);
    }
    for (int64_t s = 0; s < f.states && status == NADIR_OK; s++) {
        assert_that(isfinite(f.x[s]), "entry %lld is %g", (long long)s, f.x[s]);
    }
    assert_that(status == NADIR_OK || status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED,
                "%s", nadir_status_name(status));
    nadir_occupancy_free(f.context, occupancy);
    nadir_kernel_free(kernel);
    free(row);
    test_engine_clear(&f);
}

static void a_system_that_overflows_is_no_number(void **state)
{
    (void)state;
    test_each_backend(overflow);
}

/* b and k with 1 + gamma k.Db = rest, k of sum zero; [rows] and [states]. */
static void near_breakdown(test_engine *f, double gamma, double rest, double *b, double *k)
{
    const nadir_model_data view = test_view(f->model);
    const double *policy = nadir_policy_probabilities(f->policy);
    double *dense = test_dense_kernel(f->model);
    long double *average = test_dense_average(f->model, dense, policy);
    test_system system = test_system_make(f->states, average, gamma);
    double *mean = test_new(f->states, sizeof *mean);
    long double *z = test_new(f->states, sizeof *z);
    long double dot = 0;
    k[0] = 1;
    k[f->states - 1] = -1;
    for (int64_t s = 0; s < f->states; s++) {
        const double size = 0.1 + nadir_random_uniform(&f->random) + (s < f->states / 2);
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            b[row] = size;
            mean[s] += policy[row] * size;
        }
    }
    test_system_solve(&system, false, mean, z);
    for (int64_t s = 0; s < f->states; s++) {
        dot += k[s] * z[s];
    }
    for (int64_t row = 0; row < f->rows; row++) {
        b[row] = (double)(b[row] * (rest - 1) / (gamma * dot));
    }
    free(dense);
    free(average);
    free(mean);
    free(z);
    test_system_clear(&system);
}

static void break_down(const char *backend, int family)
{
    const double gamma = 0.9;
    test_engine f = test_engine_make(test_context(), family);
    double *b = test_new(f.rows, sizeof *b);
    double *k = test_new(f.states, sizeof *k);
    nadir_kernel *kernel = NULL;
    near_breakdown(&f, gamma, 0, b, k);
    assert_ok(f.context, nadir_kernel_create_rank_one(f.context, f.model, b, k, &kernel));
    assert_no_number(&f, backend, gamma, kernel);
    nadir_kernel_free(kernel);
    free(b);
    free(k);
    test_engine_clear(&f);
}

static void a_denominator_of_zero_is_no_number(void **state)
{
    (void)state;
    test_each_backend(break_down);
}

/* Close to breakdown a number may come out if it is right. */
static void come_close(const char *backend, int family)
{
    const double gamma = 0.9;
    for (int digits = 1; digits <= 17; digits++) {
        const double rest = pow(10, -digits);
        test_engine f = test_engine_make(test_context(), family);
        double *b = test_new(f.rows, sizeof *b);
        double *k = test_new(f.states, sizeof *k);
        nadir_kernel *kernel = NULL;
        nadir_occupancy *occupancy = NULL;
        near_breakdown(&f, gamma, rest, b, k);
        assert_ok(f.context, nadir_kernel_create_rank_one(f.context, f.model, b, k, &kernel));
        nadir_status status =
            nadir_occupancy_create(f.context, kernel, f.policy, gamma, backend, 1e-14, &occupancy);
        if (status == NADIR_OK) {
            status = nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL);
        }
        assert_that(status == NADIR_OK || status == NADIR_ERROR_ILL_POSED ||
                        (status == NADIR_ERROR_NOT_CONVERGED && rest < 1e-6),
                    "denominator %g: %s: %s", rest, nadir_status_name(status),
                    nadir_context_error(f.context));
        assert_that(status == NADIR_OK || rest < 1e-10, "refused already at a denominator of %g", rest);
        if (status == NADIR_OK) {
            long double *average = test_average_numbers(nadir_occupancy_average(occupancy));
            test_system system = test_system_make(f.states, average, gamma);
            long double *exact = test_new(f.states, sizeof *exact);
            test_system_solve(&system, false, f.b, exact);
            double scale = 0;
            double error = 0;
            for (int64_t s = 0; s < f.states; s++) {
                scale = fmax(scale, (double)fabsl(exact[s]));
                error = fmax(error, (double)fabsl(f.x[s] - exact[s]));
            }
            const double limit = (1e-14 + 1000 * test_long_unit()) * scale / rest;
            assert_that(error <= limit, "denominator %g: off by %g at a scale of %g", rest, error, scale);
            test_system_clear(&system);
            free(average);
            free(exact);
        }
        nadir_occupancy_free(f.context, occupancy);
        nadir_kernel_free(kernel);
        free(b);
        free(k);
        test_engine_clear(&f);
    }
}

static void a_tiny_denominator_is_right_or_refused(void **state)
{
    (void)state;
    test_each_backend(come_close);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exactly_singular_system_is_no_number),
        cmocka_unit_test(a_system_singular_to_rounding_is_no_number),
        cmocka_unit_test(a_system_that_overflows_is_no_number),
        cmocka_unit_test(a_denominator_of_zero_is_no_number),
        cmocka_unit_test(a_tiny_denominator_is_right_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

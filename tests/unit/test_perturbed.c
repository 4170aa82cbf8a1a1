/*
 * test_perturbed.c: kernels with lines: sums along an order, numbers of any sign. The suites of kernels,
 * averages and operators run on those that are distributions.
 */
#include "support/support.h"

#include "model/average.h"
#include "model/kernel_internal.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/perturbed.h"
#include "support/reference.h"
#include "support/scarce.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define SEED 60217

/* Sums along an order of n states against their definition, and the transpose against the sums. */
static void check_along(int64_t n, uint64_t seed)
{
    nadir_context *context = test_context();
    nadir_random random = test_random(seed);
    nadir_sorted_states along = {0};
    int32_t *order = test_new(n, sizeof *order);
    double *x = test_new(n, sizeof *x);
    double *y = test_new(n, sizeof *y);
    double *z = test_new(n, sizeof *z);
    nadir_prefix_sum *sums = test_new(n, sizeof *sums);
    nadir_prefix_sum *back = test_new(n, sizeof *back);
    for (int64_t i = 0; i < n; i++) { /* any order will do: x rises along it */
        order[i] = (int32_t)((i * 7919) % n);
        x[order[i]] = 1e3 + floor(sqrt((double)i));
        y[i] = nadir_random_normal(&random);
        back[i].plain = nadir_random_normal(&random);
        back[i].weighted = nadir_random_normal(&random);
    }
    assert_ok(context, nadir_sorted_states_reserve(context, n, &along));
    nadir_sorted_states_fill(&along, order, x);
    nadir_prefix_sums_compute(context, &along, y, sums);
    const double unit = DBL_EPSILON / 2 * nadir_prefix_sums_roundings(n);
    long double plain = 0;
    long double weighted = 0;
    long double plain_size = 0;
    long double weighted_size = 0;
    long double left = 0;
    long double size = 0;
    for (int64_t i = 0; i < n; i++) {
        const long double step = i > 0 ? (long double)x[order[i]] - x[order[i - 1]] : 0;
        weighted += step * plain;
        weighted_size += step * plain_size;
        plain += y[order[i]];
        plain_size += fabs(y[order[i]]);
        assert_that(fabsl(sums[i].plain - plain) <= unit * plain_size, "sum %lld", (long long)i);
        assert_that(fabsl(sums[i].weighted - weighted) <= unit * weighted_size, "moment %lld", (long long)i);
        left += back[i].plain * plain + back[i].weighted * weighted;
        size += fabs(back[i].plain) * plain_size + fabs(back[i].weighted) * weighted_size;
    }
    nadir_prefix_sums_transposed(context, &along, back, z);
    long double right = 0;
    for (int64_t t = 0; t < n; t++) {
        right += (long double)z[t] * y[t];
    }
    assert_that(fabsl(left - right) <= 2 * unit * size, "%.20Lg and %.20Lg", left, right);
    nadir_sorted_states_release(context->memory, &along);
    void *const arrays[] = {order, x, y, z, sums, back};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
    nadir_context_free(context);
}

static void sums_along_an_order_are_those_of_the_definition(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 2, 3, 1023, 1024, 1025, 2048, 3000, 65535, 65537, 130001};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        test_note("%lld states", (long long)lengths[i]);
        check_along(lengths[i], SEED + i);
    }
    test_note_clear();
}

/* One row, whose product with x is y; the size of the kernel and of the row hold for it. Returns its smallest
 * entry. */
static double check_row(const test_perturbed *f, int64_t row, const double *x, double y,
                        const nadir_kernel_size *size)
{
    const double *numbers = f->dense + row * f->view.states;
    long double sum = 0;
    long double all = 0;
    long double product = 0;
    double least = INFINITY;
    for (int64_t t = 0; t < f->view.states; t++) {
        sum += numbers[t];
        all += fabs(numbers[t]);
        product += (long double)numbers[t] * x[t];
        least = fmin(least, numbers[t]);
    }
    const double slack = DBL_EPSILON * (double)all; /* of the numbers themselves */
    const double off = fabs((double)product - y);
    assert_true(size->sum_low <= (double)sum + slack && (double)sum - slack <= size->sum_high);
    assert_true((double)all <= size->largest + slack);
    assert_true(off <= size->rounding + slack);
    if (f->view.dense == NULL) {
        const nadir_row_size one = nadir_perturbed_measure(f->kernel, row);
        assert_true(fabs(one.sum - (double)sum) <= one.rounding + slack);
        assert_true((double)all <= one.largest + one.rounding + slack);
        assert_true(least < 0 || one.largest <= (double)all + one.rounding + slack);
        assert_true(one.largest <= one.terms + one.rounding);
        assert_true(off <= one.rounding + slack);
        assert_close(nadir_perturbed_minimum(f->kernel, row), least, 1e-15);
    }
    return least;
}

/* The average, whose products with x are as near as is said. */
static void check_average(const test_perturbed *f, const double *x)
{
    const int64_t n = f->view.states;
    long double *truth = test_dense_average(f->model, f->dense, nadir_policy_probabilities(f->policy));
    nadir_average average = {0};
    assert_ok(f->context, nadir_average_make(f->context, f->kernel, f->policy, &average));
    double *y = test_new(2 * n, sizeof *y);
    nadir_average_multiply(f->context, &average, 1, x, y);
    assert_ok(f->context, nadir_average_multiply_transposed(f->context, &average, 1, x, y + n));
    const double unit = DBL_EPSILON / 2 * nadir_average_terms(&average);
    const double limit = unit * (nadir_average_roundings(f->context, &average, false) + 8);
    const double limit_transposed =
        unit * (nadir_average_roundings(f->context, &average, true) + 8) * (double)n;
    double off = 0;
    for (int64_t s = 0; s < n; s++) {
        long double plain = 0;
        long double transposed = 0;
        double norm = 0;
        for (int64_t t = 0; t < n; t++) {
            plain += truth[s * n + t] * x[t];
            transposed += truth[t * n + s] * x[t];
            norm += (double)fabsl(truth[s * n + t]);
        }
        assert_true(norm <= average.norm * (1 + 1e-13));
        assert_true(average.norm <= nadir_average_terms(&average) * (1 + 1e-13));
        assert_that(fabs((double)plain - y[s]) <= limit, "off by %g", fabs((double)plain - y[s]));
        off += fabs((double)transposed - y[n + s]);
    }
    assert_that(off <= limit_transposed, "transposed: off by %g, at most %g", off, limit_transposed);
    nadir_average_clear(f->context, &average);
    free(truth);
    free(y);
}

static void check_signs(int family, uint64_t seed)
{
    test_perturbed f = test_perturbed_make(test_context(), family, true, seed);
    double *x = test_new(f.view.states, sizeof *x);
    double *y = test_new(f.view.rows, sizeof *y);
    double smallest = INFINITY;
    nadir_kernel_size size;
    for (int64_t t = 0; t < f.view.states; t++) {
        x[t] = 2 * nadir_random_uniform(&f.random) - 1;
    }
    nadir_kernel_multiply(f.context, f.kernel, x, y);
    nadir_kernel_measure(f.context, f.kernel, &size); /* and leaves the sums for rows */
    for (int64_t row = 0; row < f.view.rows; row++) {
        smallest = fmin(smallest, check_row(&f, row, x, y[row], &size));
    }
    assert_close(test_kernel_minimum(f.context, f.kernel), smallest, 1e-15);
    check_average(&f, x);
    free(x);
    free(y);
    test_perturbed_clear(&f);
}

static void numbers_of_any_sign_are_those_of_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < 8 * TEST_FAMILIES; i++) {
        test_note("%s, seed %d", test_families[i % TEST_FAMILIES].name, SEED + i);
        check_signs(i % TEST_FAMILIES, (uint64_t)(SEED + i));
    }
    test_note_clear();
}

static void the_arrays_of_a_perturbed_kernel_begin_with_the_nominal_kernel(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_FAMILIES; i++) {
        test_perturbed f = test_perturbed_make(test_context(), i, false, SEED);
        nadir_kernel *kernels[3] = {NULL};
        double *x = test_new(f.view.states, sizeof *x);
        double *y[3];
        assert_ok(f.context, nadir_kernel_create(f.context, f.model, &kernels[0]));
        assert_ok(f.context, test_perturbed_create(f.context, f.model, false, &kernels[1]));
        assert_ok(f.context, test_perturbed_create(f.context, f.model, true, &kernels[2]));
        assert_null(nadir_kernel_perturbed(kernels[0]));
        assert_null(nadir_kernel_perturbed(kernels[1])->x);
        assert_true((nadir_kernel_perturbed(kernels[2])->x != NULL) == (f.view.dense == NULL));
        for (int64_t t = 0; t < f.view.states; t++) {
            x[t] = nadir_random_normal(&f.random);
        }
        for (int j = 0; j < 3; j++) {
            y[j] = test_new(f.view.rows, sizeof *y[j]);
            nadir_kernel_multiply(f.context, kernels[j], x, y[j]);
            assert_memory_equal(y[j], y[0], (size_t)f.view.rows * sizeof *y[j]);
            nadir_kernel_free(kernels[j]);
        }
        for (int j = 0; j < 3; j++) {
            free(y[j]);
        }
        free(x);
        test_perturbed_clear(&f);
    }
}

static void memory_that_runs_out_is_said(void **state)
{
    (void)state;
    for (int family = 0; family < 2; family++) {
        test_scarce scarce;
        nadir_context *context = test_scarce_context(&scarce);
        nadir_random random = test_random(SEED);
        nadir_model *model = test_families[family].make(context, &random);
        const int64_t blocks = scarce.blocks;
        nadir_status status = NADIR_ERROR_MEMORY;
        while (test_scarce_again(&scarce, status)) {
            nadir_kernel *kernel = NULL;
            status = test_perturbed_create(context, model, true, &kernel);
            assert_true((kernel != NULL) == (status == NADIR_OK));
            nadir_kernel_free(kernel);
            assert_int_equal(scarce.blocks, blocks);
        }
        nadir_model_free(model);
        test_scarce_end(&scarce, context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_along_an_order_are_those_of_the_definition),
        cmocka_unit_test(numbers_of_any_sign_are_those_of_the_definition),
        cmocka_unit_test(the_arrays_of_a_perturbed_kernel_begin_with_the_nominal_kernel),
        cmocka_unit_test(memory_that_runs_out_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_tilt.c: kernels with lines: signs of any kind, models of many states, refilling, and how the occupancy
 * operator takes them. The suites of kernels, averages and operators run on valid ones, too.
 */
#include "support/support.h"

#include "kernel/parts.h"
#include "occupancy/occupancy.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/setting.h"
#include "support/tilted.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED  60217
#define GAMMA 0.9

/* Sums along an order of n states against their definition, and the transpose against the sums. */
static void check_along(int64_t n, uint64_t seed)
{
    nadir_context *context = test_context();
    nadir_random random;
    nadir_random_seed(&random, seed);
    nadir_along along = {0};
    int32_t *order = test_new(n, sizeof *order);
    double *x = test_new(n, sizeof *x);
    double *y = test_new(n, sizeof *y);
    double *z = test_new(n, sizeof *z);
    nadir_along_sum *sums = test_new(n, sizeof *sums);
    nadir_along_sum *back = test_new(n, sizeof *back);
    for (int64_t i = 0; i < n; i++) { /* any order will do: x rises along it */
        order[i] = (int32_t)((i * 7919) % n);
        x[order[i]] = 1e3 + floor(sqrt((double)i));
        y[i] = nadir_random_normal(&random);
        back[i].plain = nadir_random_normal(&random);
        back[i].weighted = nadir_random_normal(&random);
    }
    assert_ok(context, nadir_along_reserve(context, n, &along));
    nadir_along_fill(&along, order, x);
    nadir_along_sums(context, &along, y, sums);
    const double unit = DBL_EPSILON / 2 * nadir_along_roundings(n);
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
    nadir_along_spread(context, &along, back, z);
    long double right = 0;
    for (int64_t t = 0; t < n; t++) {
        right += (long double)z[t] * y[t];
    }
    assert_that(fabsl(left - right) <= 2 * unit * size, "%.20Lg and %.20Lg", left, right);
    nadir_along_release(context->memory, &along);
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

/* A spread kernel of any signs, and its numbers. */
typedef struct tilted {
    nadir_context *context;
    nadir_random random;
    nadir_model *model;
    nadir_kernel *kernel;
    nadir_policy *policy;
    nadir_model_data view;
    double *dense;
} tilted;

static tilted make(nadir_context *context, int family, bool signs, uint64_t seed)
{
    tilted made = {.context = context};
    nadir_random_seed(&made.random, seed);
    made.model = test_families[family].make(context, &made.random);
    made.view = test_view(made.model);
    made.policy = test_policy(context, made.model, TEST_RANDOM, &made.random);
    assert_ok(context, nadir_kernel_create_tilted(context, made.model, true, &made.kernel));
    test_tilt_fill(made.model, signs, &made.random, nadir_kernel_tilt(made.kernel));
    made.dense = test_tilt_numbers(made.model, nadir_kernel_tilt(made.kernel));
    return made;
}

static void clear(tilted *made)
{
    free(made->dense);
    nadir_policy_free(made->policy);
    nadir_kernel_free(made->kernel);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
}

static void check_signs(int family, uint64_t seed)
{
    tilted f = make(test_context(), family, true, seed);
    const int64_t n = f.view.states;
    double *x = test_new(n, sizeof *x);
    double *y = test_new(f.view.rows, sizeof *y);
    double smallest = INFINITY;
    nadir_kernel_size size;
    for (int64_t t = 0; t < n; t++) {
        x[t] = 2 * nadir_random_uniform(&f.random) - 1;
    }
    nadir_kernel_multiply(f.context, f.kernel, x, y);
    nadir_kernel_measure(f.context, f.kernel, &size);
    for (int64_t row = 0; row < f.view.rows; row++) {
        long double sum = 0;
        long double all = 0;
        long double product = 0;
        double least = INFINITY;
        for (int64_t t = 0; t < n; t++) {
            sum += f.dense[row * n + t];
            all += fabs(f.dense[row * n + t]);
            product += (long double)f.dense[row * n + t] * x[t];
            least = fmin(least, f.dense[row * n + t]);
        }
        smallest = fmin(smallest, least);
        const double slack = DBL_EPSILON * (double)all; /* of the numbers themselves */
        assert_true(size.sum_low <= (double)sum + slack && (double)sum - slack <= size.sum_high);
        assert_true((double)all <= size.largest + slack);
        assert_true(fabs((double)product - y[row]) <= size.rounding + slack);
        if (f.view.dense == NULL) { /* and so for each row */
            const nadir_row_size one = nadir_tilt_measure(f.kernel, row);
            assert_true(fabs(one.sum - (double)sum) <= one.rounding + slack);
            assert_that((double)all <= one.largest + one.rounding + slack, "%g, at most %g", (double)all,
                        one.largest);
            assert_that(one.largest <= one.terms + one.rounding, "%.17g of %.17g", one.largest, one.terms);
            assert_true(least < 0 || one.largest <= (double)all + one.rounding + slack);
            assert_true(fabs((double)product - y[row]) <= one.rounding + slack);
            assert_close(nadir_tilt_minimum(f.kernel, row), least, 1e-15);
        }
    }
    assert_close(nadir_kernel_minimum(f.context, f.kernel), smallest, 1e-15);
    long double *truth = test_dense_average(f.model, f.dense, nadir_policy_probabilities(f.policy));
    nadir_average average = {0};
    assert_ok(f.context, nadir_average_make(f.context, f.kernel, f.policy, &average));
    double *z = test_new(2 * n, sizeof *z);
    nadir_average_multiply(f.context, &average, 1, x, z);
    assert_ok(f.context, nadir_average_multiply_transposed(f.context, &average, 1, x, z + n));
    const double unit = DBL_EPSILON / 2 * nadir_average_terms(&average);
    const double limit = unit * (nadir_average_roundings(&average, false) + 8);
    const double limit_transposed = unit * (nadir_average_roundings(&average, true) + 8) * (double)n;
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
        assert_true(norm <= average.norm * (1 + 1e-13) && average.norm <= nadir_average_terms(&average));
        assert_that(fabs((double)plain - z[s]) <= limit, "off by %g", fabs((double)plain - z[s]));
        off += fabs((double)transposed - z[n + s]);
    }
    assert_that(off <= limit_transposed, "transposed: off by %g, at most %g", off, limit_transposed);
    nadir_average_clear(f.context, &average);
    free(truth);
    free(x);
    free(y);
    free(z);
    clear(&f);
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

/* x = D b and D^T b through `occupancy` against elimination: 1e-10 of the largest entry. */
static void check_solves(tilted *f, nadir_occupancy *occupancy)
{
    const int64_t n = f->view.states;
    double *b = test_new(n, sizeof *b);
    double *x = test_new(n, sizeof *x);
    long double *exact = test_new(n, sizeof *exact);
    long double *average = test_dense_average(f->model, f->dense, nadir_policy_probabilities(f->policy));
    test_system system = test_system_make(n, average, GAMMA);
    for (int64_t s = 0; s < n; s++) {
        b[s] = nadir_random_normal(&f->random);
    }
    for (int transposed = 0; transposed < 2; transposed++) {
        nadir_accuracy accuracy;
        assert_ok(f->context,
                  transposed ? nadir_occupancy_solve_transposed(f->context, occupancy, 1, b, x, &accuracy)
                             : nadir_occupancy_solve(f->context, occupancy, 1, b, x, &accuracy));
        test_system_solve(&system, transposed, b, exact);
        double scale = 0;
        double error = 0;
        for (int64_t s = 0; s < n; s++) {
            scale = fmax(scale, (double)fabsl(exact[s]));
            error = fmax(error, (double)fabsl(x[s] - exact[s]));
        }
        assert_that(error <= 1e-10 * scale, "off by %g at a scale of %g", error, scale);
    }
    test_system_clear(&system);
    free(average);
    free(exact);
    free(b);
    free(x);
}

/* A tilt filled again and again, each time with an operator through the same nominal one. */
static void refill(const char *backend, int family)
{
    tilted f = make(test_context(), family, false, SEED);
    nadir_kernel *nominal = NULL;
    nadir_occupancy *base = NULL;
    nadir_occupancy *updated = NULL;
    assert_ok(f.context, nadir_kernel_create(f.context, f.model, &nominal));
    assert_ok(f.context, nadir_occupancy_create(f.context, nominal, f.policy, GAMMA, backend, 0, &base));
    assert_ok(f.context, nadir_occupancy_create(f.context, nominal, f.policy, GAMMA, backend, 0, &updated));
    for (int round = 0; round < 5; round++) {
        nadir_occupancy *near = NULL;
        test_tilt_fill(f.model, false, &f.random, nadir_kernel_tilt(f.kernel));
        free(f.dense);
        f.dense = test_tilt_numbers(f.model, nadir_kernel_tilt(f.kernel));
        assert_ok(f.context, nadir_occupancy_perturb(f.context, base, f.kernel, f.policy, &near));
        check_solves(&f, near);
        nadir_occupancy_free(f.context, near);
        assert_ok(f.context, nadir_occupancy_update(f.context, updated, f.kernel, f.policy));
        check_solves(&f, updated);
    }
    /* and back */
    assert_ok(f.context, nadir_occupancy_update(f.context, updated, nominal, f.policy));
    free(f.dense);
    f.dense = test_dense_kernel(f.model);
    check_solves(&f, updated);
    check_solves(&f, base);
    nadir_occupancy_free(f.context, base);
    nadir_occupancy_free(f.context, updated);
    nadir_kernel_free(nominal);
    clear(&f);
}

static void a_tilt_can_be_filled_again_and_again(void **state)
{
    (void)state;
    static const char *const backends[] = {"lapack", "klu", "krylov", NULL};
    for (int family = 0; family < TEST_FAMILIES; family++) {
        for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
            const bool dense = family == 0 || family == TEST_FAMILIES - 1;
            if (dense && backends[i] != NULL && strcmp(backends[i], "klu") == 0) {
                continue;
            }
            test_note("%s, %s, seed %d", test_families[family].name,
                      backends[i] != NULL ? backends[i] : "auto", SEED);
            refill(backends[i], family);
        }
    }
    test_note_clear();
}

static nadir_context *context_with(int32_t threads, size_t memory)
{
    nadir_context_settings settings;
    nadir_context_settings_default(&settings);
    settings.threads = threads;
    settings.memory_limit = memory;
    nadir_context *context = NULL;
    assert_int_equal(nadir_context_create(&settings, &context), NADIR_OK);
    return context;
}

/* A garnet tilted by lines of these lengths: `length` in every row, or any if it is negative; 0.2 of each row
 * moves there. */
static nadir_kernel *tilted_garnet(nadir_context *context, int64_t states, int64_t length,
                                   nadir_model **model)
{
    nadir_generate_settings shape = test_generate_settings();
    shape.states = states;
    shape.actions = 2;
    shape.branch = 4;
    shape.seed = SEED;
    *model = test_generate(context, "garnet", &shape);
    const nadir_model_data view = test_view(*model);
    nadir_random random;
    nadir_kernel *kernel = NULL;
    nadir_random_seed(&random, SEED);
    assert_ok(context, nadir_kernel_create_tilted(context, *model, true, &kernel));
    nadir_tilt *tilt = nadir_kernel_tilt(kernel);
    for (int64_t i = 0; i < states; i++) {
        tilt->order[i] = (int32_t)((i * 7919 + 5) % states);
        tilt->x[tilt->order[i]] = floor((double)i / 3); /* ties */
    }
    for (int64_t i = 0; i < view.nonzeros; i++) {
        tilt->values[i] *= 0.8;
    }
    for (int64_t row = 0; row < view.rows; row++) {
        const int64_t any = 1 + (int64_t)nadir_random_below(&random, (uint64_t)states);
        tilt->length[row] = (int32_t)(length < 0 ? any : length);
        tilt->omega[row] = 0.2 / tilt->length[row]; /* roughly: entries on the line get nothing of it */
        tilt->slope[row] = tilt->omega[row] / (2 * (double)states);
    }
    return kernel;
}

/* Products of rows, of the average and of the operator: [rows + 4 * states]. */
static double *products(int64_t states, int32_t threads)
{
    nadir_context *context = context_with(threads, 0);
    nadir_model *model = NULL;
    nadir_kernel *kernel = tilted_garnet(context, states, -1, &model);
    const int64_t rows = test_view(model).rows;
    nadir_policy *policy = NULL;
    nadir_occupancy *occupancy = NULL;
    assert_ok(context, nadir_policy_create_uniform(context, model, &policy));
    assert_ok(context, nadir_occupancy_create(context, kernel, policy, 0.5, "krylov", 0, &occupancy));
    nadir_average *average = nadir_occupancy_average(occupancy);
    double *x = test_new(states, sizeof *x);
    double *y = test_new(rows + 4 * states, sizeof *y);
    for (int64_t s = 0; s < states; s++) {
        x[s] = sin((double)s);
    }
    double *to = y + rows;
    nadir_kernel_multiply(context, kernel, x, y);
    nadir_average_multiply(context, average, 1, x, to);
    assert_ok(context, nadir_average_multiply_transposed(context, average, 1, x, to + states));
    assert_ok(context, nadir_occupancy_solve(context, occupancy, 1, x, to + 2 * states, NULL));
    assert_ok(context, nadir_occupancy_solve_transposed(context, occupancy, 1, x, to + 3 * states, NULL));
    free(x);
    nadir_occupancy_free(context, occupancy);
    nadir_policy_free(policy);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
    nadir_context_free(context);
    return y;
}

static void threads_give_the_same_bits(void **state)
{
    (void)state;
    enum { STATES = 60000 };
    double *one = products(STATES, 1);
    double *two = products(STATES, 2);
    double *many = products(STATES, 7);
    assert_memory_equal(one, two, (2 + 4) * STATES * sizeof *one);
    assert_memory_equal(one, many, (2 + 4) * STATES * sizeof *one);
    free(one);
    free(two);
    free(many);
}

/* The name of the backend that an operator of lines of this length gets, within this memory. */
static const char *chosen(int64_t states, int64_t length, const char *backend, size_t memory, bool *has_lines)
{
    nadir_context *context = context_with(1, memory);
    nadir_model *model = NULL;
    nadir_kernel *kernel = tilted_garnet(context, states, length, &model);
    nadir_policy *policy = NULL;
    nadir_occupancy *occupancy = NULL;
    assert_ok(context, nadir_policy_create_uniform(context, model, &policy));
    assert_ok(context, nadir_occupancy_create(context, kernel, policy, 0.9, backend, 0, &occupancy));
    const char *name = nadir_occupancy_backend(occupancy);
    *has_lines = nadir_occupancy_average(occupancy)->lines.states > 0;
    if (backend == NULL && *has_lines) { /* the choice is made anew for a kernel without lines */
        nadir_kernel *nominal = NULL;
        assert_ok(context, nadir_kernel_create(context, model, &nominal));
        assert_ok(context, nadir_occupancy_update(context, occupancy, nominal, policy));
        assert_true(states > 1000 || strcmp(nadir_occupancy_backend(occupancy), "krylov") != 0);
        nadir_kernel_free(nominal);
    }
    nadir_occupancy_free(context, occupancy);
    nadir_policy_free(policy);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
    nadir_context_free(context);
    return name;
}

static void lines_are_written_out_when_short_or_asked_for(void **state)
{
    (void)state;
    bool lines = false;
    assert_string_not_equal(chosen(300, 5, NULL, 0, &lines), "krylov");
    assert_false(lines);
    assert_string_equal(chosen(300, 300, NULL, 0, &lines), "krylov");
    assert_true(lines);
    assert_string_equal(chosen(300, 300, "lapack", 0, &lines), "lapack");
    assert_false(lines);
    assert_string_equal(chosen(300, 300, "klu", 0, &lines), "klu");
    assert_false(lines);
    assert_string_equal(chosen(300, 5, "krylov", 0, &lines), "krylov");
    assert_true(lines);
    /* 20000 states: their matrix would take 3.2 GB */
    assert_string_equal(chosen(20000, 20000, NULL, (size_t)64 << 20, &lines), "krylov");
    assert_true(lines);
}

static void the_arrays_of_a_tilt_begin_with_the_nominal_kernel(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_FAMILIES; i++) {
        tilted f = make(test_context(), i, false, SEED);
        nadir_kernel *kernels[3] = {NULL};
        double *x = test_new(f.view.states, sizeof *x);
        double *y[3];
        assert_ok(f.context, nadir_kernel_create(f.context, f.model, &kernels[0]));
        assert_ok(f.context, nadir_kernel_create_tilted(f.context, f.model, false, &kernels[1]));
        assert_ok(f.context, nadir_kernel_create_tilted(f.context, f.model, true, &kernels[2]));
        assert_null(nadir_kernel_tilt(kernels[0]));
        assert_null(nadir_kernel_tilt(kernels[1])->x);
        assert_true((nadir_kernel_tilt(kernels[2])->x != NULL) == (f.view.dense == NULL));
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
        clear(&f);
    }
}

static void memory_that_runs_out_is_said(void **state)
{
    (void)state;
    for (int family = 0; family < 2; family++) {
        test_scarce scarce;
        nadir_context *context = test_scarce_context(&scarce);
        nadir_random random;
        nadir_random_seed(&random, SEED);
        nadir_model *model = test_families[family].make(context, &random);
        const int64_t blocks = scarce.blocks;
        nadir_status status = NADIR_ERROR_MEMORY;
        for (int64_t allowed = 0; status != NADIR_OK; allowed++) {
            nadir_kernel *kernel = NULL;
            scarce.left = allowed;
            status = nadir_kernel_create_tilted(context, model, true, &kernel);
            assert_true(status == NADIR_OK || status == NADIR_ERROR_MEMORY);
            assert_true((kernel != NULL) == (status == NADIR_OK));
            nadir_kernel_free(kernel);
            assert_int_equal(scarce.blocks, blocks);
        }
        nadir_model_free(model);
        nadir_context_free(context);
        assert_int_equal(scarce.blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_along_an_order_are_those_of_the_definition),
        cmocka_unit_test(numbers_of_any_sign_are_those_of_the_definition),
        cmocka_unit_test(a_tilt_can_be_filled_again_and_again),
        cmocka_unit_test(threads_give_the_same_bits),
        cmocka_unit_test(lines_are_written_out_when_short_or_asked_for),
        cmocka_unit_test(the_arrays_of_a_tilt_begin_with_the_nominal_kernel),
        cmocka_unit_test(memory_that_runs_out_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

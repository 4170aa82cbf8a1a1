/* test_krylov.c: the matrix-free backend solves what it is given. */
#include "support/support.h"

#include "support/generated.h"
#include "support/krylov.h"
#include "support/reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const nadir_backend *const krylov = &nadir_backend_krylov;

static void check_shape(const test_shape *shape, double gamma, bool transposed)
{
    nadir_context *context = test_context();
    test_krylov f;
    test_krylov_make(&f, context, shape->make(context), gamma, TEST_KRYLOV_SIDES);
    const double wanted = 1e-13 + DBL_EPSILON / (1 - gamma);
    for (int64_t j = 0; j < TEST_KRYLOV_SIDES; j++) {
        double *bj = f.b + j * f.states;
        double *xj = f.x + j * f.states;
        const double size = test_krylov_norm(transposed, f.states, bj);
        assert_ok(context, krylov->solve(context, f.self, transposed, 1, bj, wanted * size, xj));
        const double residual = test_krylov_residual(&f, gamma, transposed, bj, xj);
        const double rounding = 16 * DBL_EPSILON * test_krylov_norm(transposed, f.states, xj);
        assert_that(residual <= wanted * size + rounding, "%s, gamma %g, transposed %d: residual %g",
                    shape->name, gamma, transposed, residual);
        if (j == 0) {
            test_krylov_assert_near(&f, shape->name, gamma, transposed, bj, xj);
        }
    }
    test_krylov_clear(&f);
}

static void every_shape_is_solved(void **state)
{
    (void)state;
    static const double gammas[] = {0, 0.5, 0.99, 0.9999};
    for (int i = 0; i < TEST_SHAPES; i++) {
        for (size_t k = 0; k < sizeof gammas / sizeof *gammas; k++) {
            check_shape(&test_shapes[i], gammas[k], false);
            check_shape(&test_shapes[i], gammas[k], true);
        }
    }
}

/* More columns than are done at once, of different difficulty, give the bits that each gives alone. */
static void check_many(bool transposed)
{
    enum { COUNT = 11 };
    const double gamma = 0.99;
    nadir_context *context = test_context();
    test_krylov f;
    test_krylov_make(&f, context, test_shape_make(context, "garnet"), gamma, COUNT);
    double *alone = test_new(f.states, sizeof *alone);
    memset(f.b + 5 * f.states, 0, (size_t)f.states * sizeof *f.b);
    assert_ok(context, krylov->solve(context, f.self, transposed, COUNT, f.b, 1e-10, f.x));
    for (int64_t j = 0; j < COUNT; j++) {
        memset(alone, 0, (size_t)f.states * sizeof *alone);
        assert_ok(context, krylov->solve(context, f.self, transposed, 1, f.b + j * f.states, 1e-10, alone));
        assert_memory_equal(alone, f.x + j * f.states, (size_t)f.states * sizeof *alone);
    }
    nadir_backend_statistics statistics;
    krylov->statistics(f.self, &statistics);
    assert_int_equal(statistics.solves, 2 * COUNT);
    free(alone);
    test_krylov_clear(&f);
}

static void many_columns_are_as_one(void **state)
{
    (void)state;
    check_many(false);
    check_many(true);
}

static void a_guess_that_is_right_takes_one_product(void **state)
{
    (void)state;
    const double gamma = 0.99;
    nadir_context *context = test_context();
    test_krylov f;
    test_krylov_make(&f, context, test_shape_make(context, "river"), gamma, 1);
    for (int transposed = 0; transposed < 2; transposed++) {
        memset(f.x, 0, (size_t)f.states * sizeof *f.x);
        assert_ok(context, krylov->solve(context, f.self, transposed, 1, f.b, 1e-9, f.x));
        const int64_t before = test_krylov_products(&f);
        assert_true(before > 1);
        assert_ok(context, krylov->solve(context, f.self, transposed, 1, f.b, 1e-9, f.x));
        assert_int_equal(test_krylov_products(&f), before + 1);
    }
    test_krylov_clear(&f);
}

static void a_bad_guess_does_no_harm(void **state)
{
    (void)state;
    const double gamma = 0.9;
    static const double guesses[] = {NAN, INFINITY, 1e300};
    nadir_context *context = test_context();
    test_krylov f;
    test_krylov_make(&f, context, test_shape_make(context, "garnet"), gamma, 1);
    double *clean = test_new(f.states, sizeof *clean);
    assert_ok(context, krylov->solve(context, f.self, false, 1, f.b, 1e-12, clean));
    for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++) {
        memset(f.x, 0, (size_t)f.states * sizeof *f.x);
        f.x[7] = guesses[i];
        assert_ok(context, krylov->solve(context, f.self, false, 1, f.b, 1e-12, f.x));
        assert_memory_equal(f.x, clean, (size_t)f.states * sizeof *f.x);
    }
    free(clean);
    test_krylov_clear(&f);
}

/* On a long cycle a point mass defeats BiCGSTAB; the contraction sees to it that the solve ends. The solution
 * is x(s) = gamma^k / (1 - gamma^S), k steps from the point. */
static void a_long_cycle_ends_in_time(void **state)
{
    (void)state;
    enum { STATES = 3000 };
    const double gamma = 0.999;
    nadir_context *context = test_context();
    test_krylov f;
    test_krylov_make(&f, context, test_sparse_model(context, STATES, test_row_cycle), gamma, 1);
    double *b = test_new(STATES, sizeof *b);
    double *x = test_new(STATES, sizeof *x);
    b[0] = 1;
    assert_ok(context, test_krylov_solve(&f, true, 1, b, 1e-9, x));
    const double alone = log(1e-9) / log(gamma); /* products of the contraction */
    assert_true((double)test_krylov_products(&f) < 5 * alone);
    assert_true(test_krylov_products(&f) > STATES);
    for (int64_t s = 0; s < STATES; s++) {
        assert_close(x[s], pow(gamma, (double)s) / (1 - pow(gamma, STATES)), 1e-6);
    }
    free(b);
    free(x);
    test_krylov_clear(&f);
}

/* Multiplying b and the residual by a power of two multiplies x by it, to the bit. */
static void check_scale(int exponent, bool transposed)
{
    const double gamma = 0.999;
    const double factor = ldexp(1, exponent);
    nadir_context *context = test_context();
    test_krylov f;
    test_krylov_make(&f, context, test_shape_make(context, "garnet"), gamma, 1);
    double *scaled = test_new(f.states, sizeof *scaled);
    assert_ok(context, krylov->solve(context, f.self, transposed, 1, f.b, 1e-11, f.x));
    for (int64_t i = 0; i < f.states; i++) {
        f.b[i] *= factor;
        f.x[i] *= factor;
    }
    assert_ok(context, krylov->solve(context, f.self, transposed, 1, f.b, factor * 1e-11, scaled));
    assert_memory_equal(scaled, f.x, (size_t)f.states * sizeof *f.x);
    free(scaled);
    test_krylov_clear(&f);
}

static void scales_do_not_matter(void **state)
{
    (void)state;
    static const int exponents[] = {-900, -500, 500, 990};
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
        check_scale(exponents[i], false);
        check_scale(exponents[i], true);
    }
}

static void zero_needs_no_product(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    test_krylov f;
    test_krylov_make(&f, context, test_shape_make(context, "garnet"), 0.9, 1);
    double *b = test_new(f.states, sizeof *b);
    double *x = test_new(f.states, sizeof *x);
    assert_ok(context, krylov->solve(context, f.self, false, 1, b, 0, x));
    assert_int_equal(test_krylov_products(&f), 0);
    /* a guess is worse than nothing here */
    x[3] = 1;
    assert_ok(context, krylov->solve(context, f.self, true, 1, b, 0, x));
    for (int64_t i = 0; i < f.states; i++) {
        assert_true(x[i] == 0);
    }
    free(b);
    free(x);
    test_krylov_clear(&f);
}

static void threads_do_not_show(void **state)
{
    (void)state;
    enum { STATES = 60000, COUNT = 3 };
    double *b = test_krylov_sides(STATES, COUNT);
    for (int transposed = 0; transposed < 2; transposed++) {
        double *results[3];
        for (int32_t run = 0; run < 3; run++) {
            test_messages_clear();
            nadir_context *context = test_context_threads(run == 0 ? 1 : run == 1 ? 2 : 5);
            test_krylov f;
            test_krylov_make(&f, context, test_generate_states(context, "garnet", STATES), 0.99, 1);
            results[run] = test_new(COUNT * STATES, sizeof(double));
            assert_ok(context, krylov->solve(context, f.self, transposed, COUNT, b, 1e-8, results[run]));
            test_krylov_clear(&f);
        }
        assert_memory_equal(results[0], results[1], (size_t)(COUNT * STATES) * sizeof(double));
        assert_memory_equal(results[0], results[2], (size_t)(COUNT * STATES) * sizeof(double));
        for (int run = 0; run < 3; run++) {
            free(results[run]);
        }
    }
    free(b);
}

static void new_numbers_need_no_setup(void **state)
{
    (void)state;
    const double gamma = 0.95;
    nadir_context *context = test_context();
    if (context->device != NULL) { /* averages are made anew there */
        nadir_context_free(context);
        skip();
    }
    test_krylov f;
    test_krylov_make(&f, context, test_shape_make(context, "garnet"), gamma, 1);
    assert_ok(context, krylov->solve(context, f.self, true, 1, f.b, 1e-12, f.x));
    const int64_t rows = f.setting.policy->rows;
    double *probabilities = test_new(rows, sizeof *probabilities);
    const int64_t *state_rows = f.setting.model->state_rows;
    for (int64_t s = 0; s < f.states; s++) {
        const double actions = (double)(state_rows[s + 1] - state_rows[s]);
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            const double place = (double)(row - state_rows[s]);
            probabilities[row] = 2 * (place + 1) / (actions * (actions + 1));
        }
    }
    nadir_policy *policy = NULL;
    bool same;
    assert_ok(context, nadir_policy_create(context, f.setting.model, probabilities, &policy));
    assert_ok(context, nadir_average_remake(context, f.setting.kernel, policy, &f.setting.average, &same));
    assert_true(same);
    assert_ok(context, krylov->refactor(context, f.self));
    for (int transposed = 0; transposed < 2; transposed++) {
        memset(f.x, 0, (size_t)f.states * sizeof *f.x);
        assert_ok(context, krylov->solve(context, f.self, transposed, 1, f.b, 1e-12, f.x));
        test_krylov_assert_near(&f, "refactored", gamma, transposed, f.b, f.x);
    }
    nadir_policy_free(policy);
    free(probabilities);
    test_krylov_clear(&f);
}

/* The explicit part alone is solved with, whatever is taken from it. */
static void a_rank_one_term_is_not_its_business(void **state)
{
    (void)state;
    const double gamma = 0.9;
    nadir_context *context = test_context();
    test_krylov f;
    test_krylov_make(&f, context, test_shape_make(context, "garnet"), gamma, 1);
    double *plain = test_new(f.states, sizeof *plain);
    test_krylov_set_up(&f, gamma);
    assert_ok(context, krylov->solve(context, f.self, false, 1, f.b, 1e-12, plain));
    f.setting.average.b = f.b;
    f.setting.average.k = f.b;
    f.setting.average.norm = 100;
    test_krylov_set_up(&f, gamma);
    assert_ok(context, krylov->solve(context, f.self, false, 1, f.b, 1e-12, f.x));
    assert_memory_equal(f.x, plain, (size_t)f.states * sizeof *f.x);
    f.setting.average.b = NULL;
    f.setting.average.k = NULL;
    free(plain);
    test_krylov_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_is_solved),
        cmocka_unit_test(many_columns_are_as_one),
        cmocka_unit_test(a_guess_that_is_right_takes_one_product),
        cmocka_unit_test(a_bad_guess_does_no_harm),
        cmocka_unit_test(a_long_cycle_ends_in_time),
        cmocka_unit_test(scales_do_not_matter),
        cmocka_unit_test(zero_needs_no_product),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(new_numbers_need_no_setup),
        cmocka_unit_test(a_rank_one_term_is_not_its_business),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

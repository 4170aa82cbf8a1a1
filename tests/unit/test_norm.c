/* test_norm.c: p-norms and their dual vectors, against long double, on one process and on several. */
#include "support/support.h"

#include "core/random.h"
#include "linalg/vector.h"
#include "support/norms.h"
#include "support/thread_processes.h"

#include <float.h>
#include <math.h>

static void test_conjugates(void **state)
{
    (void)state;
    assert_true(nadir_holder_conjugate(1) == INFINITY);
    assert_true(nadir_holder_conjugate(2) == 2);
    assert_true(nadir_holder_conjugate(INFINITY) == 1);
    assert_true(nadir_holder_conjugate(3) == 1.5 && nadir_holder_conjugate(1.5) == 3);
    assert_true(nadir_holder_conjugate(1e300) == 1);
    assert_true(isnan(nadir_holder_conjugate(0.999)) && isnan(nadir_holder_conjugate(NAN)));
    static const double more[] = {1 + DBL_EPSILON, 1.7, 2 + 1e-9, 5, 12345.678, 1e15, 1e17, DBL_MAX};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        const double found = nadir_holder_conjugate(more[i]);
        test_note("p = %.17g", more[i]);
        assert_precise(fabsl(found / test_conjugate(more[i]) - 1) <= DBL_EPSILON, "%.17g", found);
    }
}

/* Entries of both signs from 1e-6 to 1 times the scale, one zero, and two of one large size. */
static void fill(int64_t count, double scale, uint64_t seed, double *x)
{
    nadir_random random = test_random(seed);
    for (int64_t i = 0; i < count; i++) {
        const double sign = nadir_random_uniform(&random) < 0.5 ? -1 : 1;
        x[i] = sign * scale * exp(-14 * nadir_random_uniform(&random));
    }
    if (count > 4) {
        x[1] = 0;
        x[2] = -scale;
        x[3] = scale;
    }
}

/* Fails unless u is dual to x and `norm` its q-norm, to 1e-13. */
static void check_dual(int64_t count, const double *x, double q, const double *u, double norm)
{
    const long double right = test_norm(count, x, 0, q);
    const long double product = test_dot(count, x, 0, u);
    const long double size = test_norm(count, u, 0, test_conjugate(q));
    assert_precise(fabsl(norm - right) <= 1e-13L * right + DBL_TRUE_MIN, "norm %.17g, not %.17Lg", norm,
                   right);
    assert_precise(fabsl(product - right) <= 1e-13L * right + DBL_TRUE_MIN, "u . x = %.17Lg", product);
    assert_precise(fabsl(size - 1) <= 1e-13L, "|u|_p = %.17Lg", size);
}

static void test_norms_of_every_size(void **state)
{
    enum { LONGEST = 1000 };
    static const int64_t counts[] = {1, 2, 5, 127, 128, 129, LONGEST};
    static const double scales[] = {1, 1e-150, 1e150, 1e-300, 1e300, 1e-310, 5e-324};
    double x[LONGEST];
    double u[LONGEST];
    nadir_context *context = *state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
            fill(counts[c], scales[s], c, x);
            x[0] = scales[s];
            for (int e = 0; e < TEST_EXPONENTS; e++) {
                double norm;
                double alone;
                test_note("seed %zu, count %lld, scale %g, q = %.17g", c, (long long)counts[c], scales[s],
                          test_exponents[e]);
                assert_ok(context, nadir_norm_dual(context, 0, counts[c], x, test_exponents[e], u, &norm));
                check_dual(counts[c], x, test_exponents[e], u, norm);
                assert_ok(context, nadir_norm_p(context, counts[c], x, test_exponents[e], &alone));
                assert_that(fabs(alone - norm) <= 1e-13 * norm, "alone %.17g, with u %.17g", alone, norm);
            }
        }
    }
}

static void test_overflow_is_infinite(void **state)
{
    const double x[] = {DBL_MAX, -DBL_MAX, DBL_MAX};
    double u[3];
    double norm;
    nadir_context *context = *state;
    for (int e = 0; e < TEST_EXPONENTS; e++) {
        const double q = test_exponents[e];
        assert_ok(context, nadir_norm_dual(context, 0, 3, x, q, u, &norm));
        assert_true(norm == (q < 1e16 ? INFINITY : DBL_MAX));
        assert_precise(fabsl(test_norm(3, u, 0, test_conjugate(q)) - 1) <= 1e-14L, "|u|_p");
    }
}

static void test_closed_ends(void **state)
{
    const double x[] = {0, 2, -3, 3, -0.0, -3};
    const double signs[] = {0, 1, -1, 1, 0, -1};
    double u[6];
    double norm;
    nadir_context *context = *state;
    assert_ok(context, nadir_norm_dual(context, 0, 6, x, 1, u, &norm));
    assert_true(norm == 11);
    for (int i = 0; i < 6; i++) {
        assert_true(u[i] == signs[i]);
    }
    assert_ok(context, nadir_norm_dual(context, 40, 6, x, INFINITY, u, &norm));
    assert_true(norm == 3);
    for (int i = 0; i < 6; i++) { /* the lowest place among equals */
        assert_true(u[i] == (i == 2 ? -1 : 0));
    }
    assert_ok(context, nadir_norm_p(context, 6, x, 2, &norm));
    assert_true(norm == sqrt(31));
}

static void test_nothing_and_zeros(void **state)
{
    nadir_context *context = *state;
    for (int e = 0; e < TEST_EXPONENTS; e++) {
        double x[3] = {0, -0.0, 0};
        double norm = 7;
        assert_ok(context, nadir_norm_dual(context, 0, 3, x, test_exponents[e], x, &norm)); /* u may be x */
        assert_true(norm == 0 && x[0] == 0 && x[1] == 0 && x[2] == 0);
        assert_ok(context, nadir_norm_p(context, 0, NULL, test_exponents[e], &norm));
        assert_true(norm == 0);
        assert_ok(context, nadir_norm_dual(context, 0, 0, NULL, test_exponents[e], NULL, &norm));
        assert_true(norm == 0);
    }
}

static void test_wrong_arguments(void **state)
{
    double x[3] = {1, 2, 3};
    double norm;
    nadir_context *context = *state;
    assert_fails(context, nadir_norm_p(context, 3, x, 0.5, &norm), NADIR_ERROR_ARGUMENT, "expected 1 to inf");
    assert_fails(context, nadir_norm_p(context, 3, x, NAN, &norm), NADIR_ERROR_ARGUMENT, "the norm is");
    assert_fails(context, nadir_norm_dual(context, 0, 3, x, -1, x, &norm), NADIR_ERROR_ARGUMENT, "is -1");
    static const double wrong[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        x[1] = wrong[i];
        assert_fails(context, nadir_norm_p(context, 3, x, 2, &norm), NADIR_ERROR_ARGUMENT, "entry 1 of");
        assert_fails(context, nadir_norm_dual(context, 10, 3, x, 1, x, &norm), NADIR_ERROR_ARGUMENT,
                     "entry 11 of");
    }
}

/* A vector on three members, the second of which owns nothing. */
enum { MEMBERS = 3, SPREAD = 500 };

typedef struct spread {
    const double *x;
    double q;
    double u[SPREAD];
    double norms[MEMBERS];
    nadir_status statuses[MEMBERS];
} spread;

static void work_on_part(nadir_context *context, void *user)
{
    static const int64_t starts[MEMBERS + 1] = {0, 123, 123, SPREAD};
    spread *on = user;
    const int32_t rank = context->communication->rank;
    const int64_t first = starts[rank];
    on->statuses[rank] = nadir_norm_dual(context, first, starts[rank + 1] - first, on->x + first, on->q,
                                         on->u + first, &on->norms[rank]);
}

static void test_several_processes(void **state)
{
    (void)state;
    double x[SPREAD];
    fill(SPREAD, 1e3, 8, x);
    x[300] = 1e3; /* ties across members */
    for (int e = 0; e < TEST_EXPONENTS; e++) {
        spread on = {.x = x, .q = test_exponents[e]};
        test_note("q = %.17g", on.q);
        (void)test_processes_run(MEMBERS, work_on_part, &on);
        for (int rank = 0; rank < MEMBERS; rank++) {
            assert_int_equal(on.statuses[rank], NADIR_OK);
            check_dual(SPREAD, x, on.q, on.u, on.norms[rank]);
        }
        assert_true(!isinf(on.q) || on.u[2] == -1);
    }
    x[400] = NAN;
    spread on = {.x = x, .q = 2};
    (void)test_processes_run(MEMBERS, work_on_part, &on);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(on.statuses[rank], NADIR_ERROR_ARGUMENT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conjugates),
        test_with_context(test_norms_of_every_size),
        test_with_context(test_overflow_is_infinite),
        test_with_context(test_closed_ends),
        test_with_context(test_nothing_and_zeros),
        test_with_context(test_wrong_arguments),
        cmocka_unit_test(test_several_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

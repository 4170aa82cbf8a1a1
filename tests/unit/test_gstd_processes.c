/* test_gstd_processes.c: the generalised standard deviation over threads and processes, and how it fails. */
#include "support/support.h"

#include "support/gstd.h"
#include "support/norms.h"
#include "support/thread_processes.h"

#include <math.h>
#include <stdlib.h>

/* Long vectors take several threads; the same number of them gives the same bits. */
static void test_long_vectors(void **state)
{
    (void)state;
    enum { COUNT = 100001, BRIEF = 10001 };
    const int64_t count = test_norms_precise() ? COUNT : BRIEF; /* valgrind takes its time */
    double *x = malloc(COUNT * sizeof *x);
    double *u = malloc(COUNT * sizeof *u);
    double *again = malloc(COUNT * sizeof *again);
    assert_true(x != NULL && u != NULL && again != NULL);
    nadir_context *context = test_context();
    for (int shape = 0; shape < TEST_SHAPES; shape++) {
        test_gstd_fill(shape, count, 14, x);
        for (int e = shape % 3; e < TEST_EXPONENTS; e += 3) {
            const double q = test_exponents[e];
            context->threads = 3;
            const nadir_gstd found = test_gstd_compute(context, count, x, q, u);
            test_note("shape %d, q = %.17g", shape, q);
            test_gstd_check(count, x, q, u, found.sigma);
            const long double attained = test_norms_precise() ? test_norm(count, x, found.omega, q) : NAN;
            assert_precise(fabsl(found.sigma / attained - 1) <= TEST_TOLERANCE, "sigma %.17g, not %.17Lg",
                           found.sigma, attained);
            const nadir_gstd same = test_gstd_compute(context, count, x, q, again);
            assert_memory_equal(u, again, (size_t)count * sizeof *u);
            assert_true(found.sigma == same.sigma && found.omega == same.omega);
            context->threads = 1;
            assert_close(test_gstd_compute(context, count, x, q, again).sigma / found.sigma, 1, 1e-14);
        }
    }
    nadir_context_free(context);
    free(x);
    free(u);
    free(again);
}

/* A vector on three members, the second of which owns nothing. */
enum { MEMBERS = 3, SPREAD = 301 };

typedef struct spread {
    const double *x;
    double q;
    double u[SPREAD];
    nadir_gstd found[MEMBERS];
    nadir_status statuses[MEMBERS];
} spread;

static void work_on_part(nadir_context *context, void *user)
{
    static const int64_t starts[MEMBERS + 1] = {0, 123, 123, SPREAD};
    spread *on = user;
    const int32_t rank = context->communication->rank;
    const int64_t first = starts[rank];
    double *u = on->u + first; /* and the work space */
    on->statuses[rank] = nadir_gstd_compute(context, first, starts[rank + 1] - first, on->x + first, on->q, u,
                                            u, &on->found[rank]);
}

/* Whatever is global goes through the table: parts give what the whole gives. */
static void test_several_processes(void **state)
{
    double x[SPREAD];
    double u[SPREAD];
    nadir_context *context = *state;
    for (int shape = 0; shape < TEST_SHAPES; shape++) {
        test_gstd_fill(shape, SPREAD, 15, x);
        for (int e = 0; e < TEST_EXPONENTS; e++) {
            spread on = {.x = x, .q = test_exponents[e]};
            test_note("shape %d, q = %.17g", shape, on.q);
            assert_true(test_processes_run(MEMBERS, work_on_part, &on) > 0);
            const nadir_gstd whole = test_gstd_compute(context, SPREAD, x, on.q, u);
            for (int rank = 0; rank < MEMBERS; rank++) {
                assert_int_equal(on.statuses[rank], NADIR_OK);
                assert_close(on.found[rank].sigma / whole.sigma, 1, 1e-14);
                assert_memory_equal(&on.found[rank], &on.found[0], sizeof whole);
            }
            test_gstd_check(SPREAD, x, on.q, on.u, whole.sigma);
            if (on.q == 1 || isinf(on.q)) { /* ties broken by global place */
                assert_memory_equal(on.u, u, sizeof u);
            }
        }
    }
    x[200] = -INFINITY;
    spread on = {.x = x, .q = 3};
    (void)test_processes_run(MEMBERS, work_on_part, &on);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(on.statuses[rank], NADIR_ERROR_ARGUMENT);
    }
}

static void test_wrong_arguments(void **state)
{
    double x[4] = {1, 2, 3, 4};
    double work[4];
    nadir_gstd found;
    nadir_context *context = *state;
    static const double exponents[] = {0.99, -1, NAN, -INFINITY};
    for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
        assert_fails(context, nadir_gstd_compute(context, 0, 4, x, exponents[e], work, NULL, &found),
                     NADIR_ERROR_ARGUMENT, "expected 1 to infinity");
    }
    static const double wrong[] = {NAN, INFINITY, -INFINITY};
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        x[2] = wrong[w];
        for (int e = 0; e < TEST_EXPONENTS; e++) {
            assert_fails(context, nadir_gstd_compute(context, 5, 4, x, test_exponents[e], work, NULL, &found),
                         NADIR_ERROR_ARGUMENT, "entry 7 of a vector is not a finite number");
        }
    }
}

/* A table that fails from a given call on. */
static int calls_left;

static nadir_status use_call(void)
{
    return calls_left-- > 0 ? NADIR_OK : NADIR_ERROR_INTERRUPTED;
}

static nadir_status failing_sum(void *self, nadir_context *context, int64_t count, double *values)
{
    (void)self, (void)context, (void)count, (void)values;
    return use_call();
}

static nadir_status failing_reduce(void *self, nadir_context *context, int64_t count,
                                   const nadir_reduction *operations, double *values)
{
    (void)self, (void)context, (void)count, (void)operations, (void)values;
    return use_call();
}

static nadir_status failing_maximum(void *self, nadir_context *context, int64_t count, nadir_indexed *values)
{
    (void)self, (void)context, (void)count, (void)values;
    return use_call();
}

static nadir_status failing_scan(void *self, nadir_context *context, int64_t count, double *values)
{
    (void)nadir_communication_alone.scan(self, context, count, values);
    return use_call();
}

static nadir_status failing_order_statistics(void *self, nadir_context *context, int64_t count,
                                             double *values, int64_t wanted, const int64_t *ranks,
                                             double *results)
{
    (void)nadir_communication_alone.order_statistics(self, context, count, values, wanted, ranks, results);
    return use_call();
}

/* Each failure of the table comes back; nothing is computed without it. */
static void test_failures_of_the_table(void **state)
{
    enum { COUNT = 21 };
    nadir_communication table = nadir_communication_alone;
    table.sum = failing_sum;
    table.reduce = failing_reduce;
    table.maximum = failing_maximum;
    table.scan = failing_scan;
    table.order_statistics = failing_order_statistics;
    double x[COUNT];
    double u[COUNT];
    nadir_context *context = *state;
    context->communication = &table;
    test_gstd_fill(TEST_MOSTLY_ZERO, COUNT, 16, x);
    for (int e = 0; e < TEST_EXPONENTS; e++) {
        nadir_gstd found;
        nadir_status status = NADIR_ERROR_INTERRUPTED;
        int calls = 0;
        for (; status != NADIR_OK && calls < 1000; calls++) {
            calls_left = calls;
            status = nadir_gstd_compute(context, 0, COUNT, x, test_exponents[e], u, u, &found);
            assert_true(status == NADIR_OK || status == NADIR_ERROR_INTERRUPTED);
        }
        test_note("q = %.17g", test_exponents[e]);
        assert_int_equal(calls_left, 0);
        assert_that(calls - 1 >= (isinf(test_exponents[e]) ? 1 : 2), "%d calls", calls - 1);
        test_gstd_check(COUNT, x, test_exponents[e], u, found.sigma);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_vectors),
        test_with_context(test_several_processes),
        test_with_context(test_wrong_arguments),
        test_with_context(test_failures_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

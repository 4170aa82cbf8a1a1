/* Generalised standard deviations of long vectors by a device against those made here. */
#include "support/support.h"

#include "core/context.h"
#include "core/random.h"
#include "linalg/gstd.h"
#include "support/device_counts.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 77, COUNT = 1000003 };

/* Vectors with ties, of numbers that differ little, and of very different sizes. */
static void fill(int kind, double *x)
{
    nadir_random random = test_random(SEED);
    for (int64_t i = 0; i < COUNT; i++) {
        const double normal = nadir_random_normal(&random);
        x[i] = kind == 0   ? normal
               : kind == 1 ? 1e6 + 1e-4 * normal
               : kind == 2 ? floor(2 * normal)
                           : pow(normal, 7);
    }
}

static void compare(nadir_context *here, nadir_context *there, test_device_counts *watch, const double *x,
                    double q, double *work)
{
    nadir_gstd wanted;
    nadir_gstd found;
    double *u = work;
    double *v = work + COUNT;
    double largest = 0;
    double off = 0;
    assert_ok(here, nadir_gstd_compute(here, 0, COUNT, x, q, u, u, &wanted));
    *watch = (test_device_counts){0};
    assert_ok(there, nadir_gstd_compute(there, 0, COUNT, x, q, v, v, &found));
    assert_int_equal(watch->vectors, 1);
    assert_true(q == 1 ? watch->ranks > 0 : watch->powers > 0);
    assert_close(found.sigma / wanted.sigma, 1, 1e-12);
    assert_that(fabs(found.omega - wanted.omega) <= 1e-12 * (fabs(wanted.omega) + wanted.sigma),
                "omega %.17g, not %.17g", found.omega, wanted.omega);
    const double near = 1e-9 * wanted.sigma / pow(COUNT, 1 / q); /* for q near 1 entries at omega are open */
    for (int64_t i = 0; i < COUNT; i++) {
        largest = fmax(largest, fabs(u[i]));
        off = fabs(x[i] - wanted.omega) > near ? fmax(off, fabs(u[i] - v[i])) : off;
    }
    assert_that(off <= 1e-10 * largest, "u is off by %.3g of %.3g", off, largest);
}

static void test_gstd(void **state)
{
    static const double norms[] = {1, 1.01, 1.5, 3, 7};
    (void)state;
    if (getenv("NADIR_TEST_ENGINE") == NULL) {
        print_message("skipped: NADIR_TEST_ENGINE names no engine with a device\n");
        skip();
    }
    nadir_context *here = NULL;
    nadir_context *there = test_context();
    double *x = test_new(3 * COUNT, sizeof *x);
    assert_int_equal(nadir_context_create(NULL, &here), NADIR_OK);
    test_device_counts *watch = test_device_counts_start(there);
    for (int kind = 0; kind < 4; kind++) {
        fill(kind, x);
        for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
            test_note("vector %d, seed %d, q %g", kind, SEED, norms[i]);
            compare(here, there, watch, x, norms[i], x + COUNT);
        }
    }
    test_note_clear();
    free(x);
    nadir_context_free(there);
    nadir_context_free(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gstd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

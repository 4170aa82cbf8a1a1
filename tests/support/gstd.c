/* gstd.c: vectors to try the GSTD on; see gstd.h. */
#include "support/support.h"

#include "core/random.h"
#include "support/gstd.h"
#include "support/norms.h"

#include <math.h>
#include <stdlib.h>

void test_gstd_fill(int shape, int64_t count, uint64_t seed, double *x)
{
    nadir_random random = test_random(seed);
    for (int64_t i = 0; i < count; i++) {
        const double uniform = nadir_random_uniform(&random);
        const double normal = nadir_random_normal(&random);
        x[i] = shape == TEST_UNIFORM       ? uniform - 0.5
               : shape == TEST_HEAVY       ? normal * normal * normal
               : shape == TEST_TIES        ? floor(4 * uniform)
               : shape == TEST_MOSTLY_ZERO ? (uniform < 0.7 ? 0 : normal)
               : shape == TEST_OUTLIER     ? 1e-10 * normal
               : shape == TEST_WIDE        ? exp(40 * (uniform - 0.5))
                                           : copysign(exp(-300 * uniform), normal);
    }
    x[count - 1] = 1;
    x[0] = count > 1 ? -0.25 : 1;
}

long double test_smallest(int64_t count, const double *x)
{
    long double smallest = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        smallest = fminl(smallest, x[i]);
    }
    return smallest;
}

void test_gstd_check(int64_t count, const double *x, double q, const double *u, double sigma)
{
    if (!test_norms_precise()) {
        return;
    }
    long double sum = 0;
    long double sizes = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += u[i];
        sizes += fabs(u[i]);
    }
    /* a common shift changes nothing, but for what the roundings of u make of it */
    const long double product = test_dot(count, x, test_smallest(count, x), u);
    const long double norm = test_norm(count, u, 0, test_conjugate(q));
    assert_that(fabsl(sum) <= 1e-13L * sizes, "the sum of u is %.3Lg of %.3Lg", sum, sizes);
    assert_that(fabsl(norm - 1) <= TEST_TOLERANCE, "|u|_p = 1 + %.3Lg", norm - 1);
    assert_that(fabsl(product - sigma) <= TEST_TOLERANCE * sigma, "u . x is off sigma by %.3Lg of itself",
                product / sigma - 1);
}

nadir_gstd test_gstd_compute(nadir_context *context, int64_t count, const double *x, double q, double *u)
{
    double *work = malloc((size_t)count * sizeof *work);
    nadir_gstd found;
    assert_non_null(work);
    assert_ok(context, nadir_gstd_compute(context, 0, count, x, q, q < 2 ? work : NULL, u, &found));
    free(work);
    return found;
}

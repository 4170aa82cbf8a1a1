/* norms.c: norms by their definition; see norms.h. */
#include "support/support.h"

#include "support/norms.h"
#include "support/reference.h"

#include <math.h>

bool test_norms_precise(void)
{
    return test_long_unit() < 1e-17;
}

const double test_exponents[TEST_EXPONENTS] = {
    1, 1 + 1e-15, 1 + 1e-12, 1 + 1e-6, 1.01, 1.1, 1.5, 2 - 1e-9, 2, 3, 10, 100, 1e4, 1e9, 1e300, INFINITY,
};

long double test_conjugate(long double p)
{
    return isinf(p) ? 1 : p / (p - 1);
}

long double test_norm(int64_t count, const double *x, long double centre, long double p)
{
    long double largest = 0;
    long double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmaxl(largest, fabsl(x[i] - centre));
    }
    for (int64_t i = 0; i < count && largest > 0 && !isinf(p); i++) {
        sum += powl(fabsl(x[i] - centre) / largest, p);
    }
    return isinf(p) || largest == 0 ? largest : largest * powl(sum, 1 / p);
}

long double test_dot(int64_t count, const double *x, long double centre, const double *y)
{
    long double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += (x[i] - centre) * (long double)y[i];
    }
    return sum;
}

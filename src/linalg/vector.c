/* vector.c: kernels on plain vectors; see vector.h. */
#include "linalg/vector.h"

#include <math.h>

double nadir_vector_sum(int64_t count, const double *x)
{
    double sum = 0;
    double lost = 0;
    for (int64_t i = 0; i < count; i++) {
        const double next = sum + x[i];
        lost += fabs(sum) >= fabs(x[i]) ? (sum - next) + x[i] : (x[i] - next) + sum;
        sum = next;
    }
    /* An overflow makes the compensation a NaN; the plain sum says more. */
    return isfinite(sum) ? sum + lost : sum;
}

void nadir_vector_divide(int64_t count, double divisor, double *x)
{
    for (int64_t i = 0; i < count; i++) {
        x[i] /= divisor;
    }
}

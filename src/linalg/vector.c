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

double nadir_vector_norm_1(int64_t count, const double *x)
{
    enum { LANES = 8 }; /* sums that do not wait for each other, as the processor adds several at once */
    double sums[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            sums[lane] += fabs(x[i + lane]);
        }
    }
    double norm = 0;
    for (; i < count; i++) {
        norm += fabs(x[i]);
    }
    for (int lane = 0; lane < LANES; lane++) {
        norm += sums[lane];
    }
    return norm;
}

void nadir_vector_divide(int64_t count, double divisor, double *x)
{
    for (int64_t i = 0; i < count; i++) {
        x[i] /= divisor;
    }
}

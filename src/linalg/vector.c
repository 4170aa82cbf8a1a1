/* vector.c: kernels on plain vectors; see vector.h. */
#include "linalg/vector.h"

#include <float.h>
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

double nadir_vector_largest(int64_t count, const double *x)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        const double size = fabs(x[i]);
        largest = size <= largest ? largest : size;
        if (isnan(size)) {
            return size;
        }
    }
    return largest;
}

double nadir_vector_dot(int64_t count, const double *x, const double *y, double *error)
{
    const double unit = DBL_EPSILON / 2;
    const double n = (double)count;
    double sum = 0;
    double lost = 0;
    double size = 0;
    for (int64_t i = 0; i < count; i++) {
        const double term = x[i] * y[i];
        const double next = sum + term;
        lost += fabs(sum) >= fabs(term) ? (sum - next) + term : (term - next) + sum;
        sum = next;
        size += fabs(term);
    }
    /* the products and the last addition; what the compensation loses; the sum of the sizes itself */
    *error = unit * (4 + unit * n * n) * size * (1 + n * unit);
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

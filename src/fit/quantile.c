/*
 * quantile.c: quantiles of a distribution that is known by draws alone; see quantile.h.
 *
 * The k-th smallest of M draws is below the quantile of level c only if k draws are, which has the
 * probability P(Bin(M, c) >= k), whatever the distribution: the rank is the least k that makes this small.
 */
#include "fit/radii.h"

#include <math.h>

static void swap(double *a, double *b)
{
    const double kept = *a;
    *a = *b;
    *b = kept;
}

double nadir_order_statistic(int64_t count, double *values, int64_t k)
{
    int64_t first = 0;
    int64_t last = count - 1;
    const int64_t wanted = k - 1;
    while (first < last) { /* Hoare's selection: what is wanted stays in first .. last */
        const double pivot = values[first + (last - first) / 2];
        int64_t low = first;
        int64_t high = last;
        while (low <= high) {
            while (values[low] < pivot) {
                low++;
            }
            while (values[high] > pivot) {
                high--;
            }
            if (low <= high) {
                swap(&values[low++], &values[high--]);
            }
        }
        if (wanted <= high) {
            last = high;
        } else if (wanted >= low) {
            first = low;
        } else {
            return values[wanted];
        }
    }
    return values[wanted];
}

int64_t nadir_quantile_rank(int64_t count, double level, double risk)
{
    const double n = (double)count;
    double tail = 0; /* P(Bin >= k) */
    int64_t k = count + 1;
    while (k > 1) {
        const double next = (double)(k - 1);
        tail += exp(lgamma(n + 1) - lgamma(next + 1) - lgamma(n - next + 1) + next * log(level) +
                    (n - next) * log1p(-level));
        if (tail > risk) {
            break;
        }
        k--;
    }
    return k;
}

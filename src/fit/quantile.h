/* quantile.h: quantiles of a distribution that is known by draws alone. */
#ifndef NADIR_FIT_QUANTILE_H
#define NADIR_FIT_QUANTILE_H

#include <stdint.h>

/* The k-th smallest of the values, 1 <= k <= count; puts them in another order. */
double nadir_order_statistic(int64_t count, double *values, int64_t k);

/* The least k such that the k-th smallest of `count` independent draws is below the quantile of `level` with
 * a probability of at most `risk`; count + 1: none is. */
int64_t nadir_quantile_rank(int64_t count, double level, double risk);

#endif

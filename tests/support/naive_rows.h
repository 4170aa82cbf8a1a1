/*
 * naive_rows.h: the best gain of rows that share a budget, by bisections and sorting in long double. Include
 * support/support.h first.
 */
#ifndef NADIR_TESTS_NAIVE_ROWS_H
#define NADIR_TESTS_NAIVE_ROWS_H

#include "nadir.h"

typedef struct test_naive_rows {
    int64_t count, states;
    const double *phat;           /* [count * states] */
    const double *v;              /* [states] */
    const double *e;              /* [count * states] added to v, or NULL */
    const double *alpha, *weight; /* [count] */
    bool support;
    double p, beta;
} test_naive_rows;

/* The largest sum of w_r (Phat_r - X_r) . (v + e_r) with sum (|X_r - Phat_r|_p / alpha_r)^p <= beta^p. */
double test_naive_gain(const test_naive_rows *rows);

#endif

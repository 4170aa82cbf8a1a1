/*
 * singular.h: singular values by one-sided Jacobi rotations, and the operators of the free domain written out
 * by their definition, in long double. Include support/support.h first.
 */
#ifndef NADIR_TESTS_SINGULAR_H
#define NADIR_TESTS_SINGULAR_H

#include "sets/uncertainty.h"

/* A matrix of rows by columns, column after column, with all its triples: values falling, y_i and x_i the
 * columns of left [rows * columns] and right [columns * columns]. */
typedef struct test_singular {
    int64_t rows, columns;
    long double *values;
    long double *left;
    long double *right;
} test_singular;

test_singular test_singular_make(int64_t rows, int64_t columns, const long double *matrix);
void test_singular_clear(test_singular *made);

/* All that a problem of p = 2 has, from the model and the policy alone. */
typedef struct test_l2 {
    int64_t states;
    long double gamma;
    long double *D; /* [states * states] column after column */
    long double *W; /* [states] |alpha_s pi_s|_2 */
    long double *v, *d;
    long double J;
} test_l2;

test_l2 test_l2_make(const nadir_problem *problem);
void test_l2_clear(test_l2 *made);

/* gamma Phi (v d^T - lambda D) W; loop: Phi D W instead. To be freed. */
long double *test_l2_operator(const test_l2 *of, bool loop, long double lambda);

/* 1 / (gamma |Phi D W|_2), beyond every double where that is 0. */
long double test_l2_breakdown(const test_l2 *of);

/* The penalty: the root of beta sigma_max(E_lambda) = lambda by Newton's method; c and k: [states] the pair,
 * |c|_2 = beta, |k|_2 = 1; may be NULL. */
long double test_l2_penalty(const test_l2 *of, long double beta, double *c, double *k);

#endif

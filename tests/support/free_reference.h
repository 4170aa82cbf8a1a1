/*
 * free_reference.h: the L_2 ball on the free domain by brute force, dense and in long double, and what a
 * kernel found by a search really is. Include support/support.h first.
 */
#ifndef NADIR_TESTS_FREE_REFERENCE_H
#define NADIR_TESTS_FREE_REFERENCE_H

#include "sets/uncertainty.h"

/* max over c of |c| = 1 of |Phi (v d^T - lambda D) W c| and what it takes. */
typedef struct test_free {
    int64_t states;
    double gamma;
    long double *DW; /* [states * states] Phi D W, row after row */
    long double *v;  /* [states] Phi v */
    long double *Wd; /* [states] */
} test_free;

test_free test_free_make(const nadir_problem *problem);
void test_free_clear(test_free *made);

/* sigma_max(E_lambda), by Jacobi's method on E^T E. */
long double test_free_top(const test_free *made, long double lambda);
/* The root of beta sigma_max(E_lambda) = lambda, in a bracket. */
double test_free_penalty(const test_free *made, double beta);
/* 1 / (gamma |Phi D W|) */
double test_free_breakdown(const test_free *made);

/* A kernel written out: its return under the problem's policy and rewards, from a solve of its own; how far
 * it is from the nominal one, scaled p-norm over all rows; the largest |row sum - 1|. */
typedef struct test_found {
    double J;
    double norm;
    double row_sum;
} test_found;

test_found test_found_measure(nadir_context *context, const nadir_problem *problem,
                              const nadir_kernel *kernel);

#endif

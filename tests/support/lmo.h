/*
 * lmo.h: small random problems of every shape for the oracle, and rows and norms computed naively. Include
 * support/support.h first.
 */
#ifndef NADIR_TESTS_LMO_H
#define NADIR_TESTS_LMO_H

#include "core/random.h"
#include "sets/lmo.h"

enum { TEST_ROWS_STATES = 40, TEST_ROWS_NORMS = 9, TEST_ROWS_VALUES = 7, TEST_ROWS_LANDINGS = 6 };

/* 1, 2, infinity, and others between and next to them. */
extern const double test_rows_norms[TEST_ROWS_NORMS];

/* The model with random rewards of its transitions instead of its own, which takes its place. */
nadir_model *test_add_landing(nadir_context *context, nadir_random *random, nadir_model *model);

typedef struct test_rows {
    nadir_context *context; /* not owned */
    nadir_model *model;
    nadir_value_order order;
    nadir_lmo rows;
    int64_t states, count;       /* count: of rows */
    double *v;                   /* [states] */
    double *scales;              /* [count] some zero */
    double *weights;             /* [count] some zero */
    double *phat;                /* [count * states] */
    double *e;                   /* [count * states] landing times e; zeros without rewards on landing */
    double *room;                /* for all rows at once */
    double *X;                   /* [count * states] work space */
    nadir_lmo_solution *answers; /* [count] zeros */
    nadir_lmo_row_bound *bounds; /* [count] */
} test_rows;

/* values: how v looks, 0 .. TEST_ROWS_VALUES - 1: normal, few different ones, constant, close together, of
 * 1e150 and 1e-150 in size, all alike but one. */
test_rows test_rows_make(nadir_context *context, nadir_random *random, double p, nadir_domain domain,
                         int values);
/* The same with rewards on landing; kind: how they look, 0 .. TEST_ROWS_LANDINGS - 1: normal, few different
 * ones, of 1e6 and 1e-6 in size, one for each row and zeros, given for every state that can be stored. */
test_rows test_rows_make_landing(nadir_context *context, nadir_random *random, double p, nadir_domain domain,
                                 int values, int kind);
void test_rows_clear(test_rows *made);

/* Another v for the same rows. */
void test_rows_set(test_rows *made, nadir_random *random, int values);

/* made->X <- the rows of the kernel of made->answers. */
void test_rows_write(test_rows *made);

/* |Delta|_p / alpha of a row X: [states]. */
double test_rows_norm(const test_rows *made, int64_t row, const double *X);
/* (sum of norms^p)^(1/p) over rows first .. end - 1 of X: [rows * states]. */
double test_rows_total(const test_rows *made, int64_t first, int64_t end, const double *X);
/* What a row answers to in a state: v - min v + landing e. */
long double test_rows_cost(const test_rows *made, int64_t row, int64_t t);
/* Phat . c - X . c, c being these costs. */
double test_rows_gain(const test_rows *made, int64_t row, const double *X);
/* A random row of the domain with |Delta|_p / alpha at most `norm`, often right there. */
void test_rows_random(const test_rows *made, nadir_random *random, int64_t row, double norm, double *X);

#endif

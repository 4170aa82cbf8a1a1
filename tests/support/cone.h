/*
 * cone.h: the norm over the nonnegative cone, asked for and checked. Include support/support.h first.
 */
#ifndef NADIR_TESTS_CONE_H
#define NADIR_TESTS_CONE_H

#include "core/random.h"
#include "nadir.h"

enum { TEST_CONE_ORDERS = 6, TEST_CONE_LARGEST = 6 };
extern const char *const test_cone_orders[TEST_CONE_ORDERS];

/* A: [m * n] row after row, here and below; x: [n] or NULL. */
nadir_cone_norm_result test_cone_find(nadir_context *context, int64_t m, int64_t n, const double *A,
                                      const char *order, bool bounds, double *x);
double test_cone_value(nadir_context *context, int64_t m, int64_t n, const double *A, const char *order);

/* The maximum: over all supports, of the largest singular value whose right vector has one sign. n at most
 * TEST_CONE_LARGEST, m twice that. */
double test_cone_brute(int64_t m, int64_t n, const double *A);

/* x is of unit length, nonnegative, and has the value. */
void test_cone_check_point(int64_t m, int64_t n, const double *A, const double *x, double expected);

/* All orders against the truth, and at least half of it (squared); bounds above it. */
void test_cone_check(nadir_context *context, int64_t m, int64_t n, const double *A, double truth);

/* What was known when rises to the value of the result. */
void test_cone_check_points(const nadir_cone_norm_result *result);

/* With a record: memory may run out anywhere; nothing is left where the search is interrupted at `task`. */
void test_cone_run_out(const nadir_cone_norm_settings *settings);
void test_cone_interrupt(int64_t m, int64_t n, const double *A, const nadir_cone_norm_settings *settings,
                         const char *task);

/* Normal variates. */
void test_cone_fill(nadir_random *random, int64_t count, double *A);

#endif

/*
 * tiny.h: tiny random problems of the adversary, and what can be said of them by brute force. Include
 * support/support.h first.
 */
#ifndef NADIR_TESTS_TINY_H
#define NADIR_TESTS_TINY_H

#include "core/random.h"
#include "support/problem.h"

/* Ragged, 1 to 3 actions a state; each successor is there with the chance `density`, one at least. Rewards
 * are normal, mu is random with zeros. To be freed. */
nadir_model *test_tiny_model(nadir_context *context, nadir_random *random, int64_t states, double discount,
                             double density);

/* Random scales, [rows], some of them zero. To be freed with free(). */
double *test_tiny_scales(nadir_random *random, const nadir_model *model);

/* All entries of a kernel, [rows * states]. To be freed with free(). */
double *test_kernel_entries(nadir_context *context, const nadir_kernel *kernel);

/* The return of the problem's policy under a kernel [rows * states], with the problem's signs. */
long double test_return(const nadir_problem *problem, const double *kernel);

/* Fails unless the rows of a kernel sum to one and it lies in the set with all radii times `factor`. */
void test_assert_in_set(const nadir_problem *problem, const double *kernel, double factor);

/* A random kernel on the surface of the set with all radii times `factor`, signs free: [rows * states]. */
void test_random_kernel(const nadir_problem *problem, nadir_random *random, double factor, double *kernel);

#endif

/* spectral.h: problems and solutions of the L_2 ball on the free domain. Include support/support.h first. */
#ifndef NADIR_TESTS_SPECTRAL_H
#define NADIR_TESTS_SPECTRAL_H

#include "core/random.h"
#include "search/free_search.h"
#include "support/problem.h"

#define TEST_SPECTRAL_SEED      20240
#define TEST_SPECTRAL_TOLERANCE 1e-11
#define TEST_SPECTRAL_LIMIT     20000

#define TEST_SPECTRAL_METHODS 3
extern const nadir_spectral_method test_spectral_methods[TEST_SPECTRAL_METHODS];
extern const char *const test_spectral_names[TEST_SPECTRAL_METHODS];

/* Takes model and policy; see test_problem_make. */
test_problem test_spectral_problem(nadir_context *context, nadir_model *model, nadir_policy *policy,
                                   const double *scales, const char *backend, double sign);
/* A family with a random policy. */
test_problem test_spectral_family(nadir_context *context, int family, nadir_random *random,
                                  const double *scales, double sign);

/* The attack at one radius, which converged; and its penalty alone. */
nadir_candidate test_spectral_solve(nadir_context *context, const nadir_problem *problem,
                                    nadir_spectral_method method, double beta);
double test_spectral_penalty(nadir_context *context, const nadir_problem *problem,
                             nadir_spectral_method method, double beta);

/* What an attack says about itself is so. */
void test_spectral_check(nadir_context *context, const nadir_problem *problem, double beta,
                         const nadir_candidate *attack);

/* |a - b| <= tolerance |b| */
#define assert_relative(a, b, tolerance) test_assert_relative(a, b, tolerance, #a, __FILE__, __LINE__)
void test_assert_relative(double a, double b, double tolerance, const char *what, const char *file, int line);

#endif

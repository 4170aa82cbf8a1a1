/*
 * robust.h: robust evaluation through the public header, with what every result must satisfy. Include
 * support/support.h first.
 */
#ifndef NADIR_TESTS_ROBUST_H
#define NADIR_TESTS_ROBUST_H

#include "nadir.h"
#include "support/problem.h"

/* "nonrect, free, norm 2, radius 0.1", for notes; valid until the next call. */
const char *test_ball_name(const nadir_ball *ball);

nadir_solver *test_solver(nadir_context *context, nadir_model *model, const nadir_policy *policy);

/* For test_run_out: makes a model of the generator, the uniform policy and its solver, and asks it. shape:
 * NULL for the default. */
typedef nadir_status (*test_ask)(nadir_context *context, nadir_solver *solver, const void *of);
nadir_status test_generate_and_ask(nadir_context *context, const char *kind,
                                   const nadir_generate_settings *shape, test_ask ask, const void *of);

/* The result, which must be OK, once these hold: the penalty is the difference of the returns, the bounds
 * stand on their sides of each other and of the return, and what is called certified is narrow and proven.
 * settings may be NULL; worst may be NULL. */
nadir_robust test_robust(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                         const nadir_robust_settings *settings, nadir_worst **worst);

/* The same where the search may stop at its limit, with bounds that hold all the same (p = 1 on large balls). */
nadir_robust test_robust_limited(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                                 const nadir_robust_settings *settings, nadir_worst **worst, bool *stopped);

/* robust_return of one evaluation with the default settings, all made for the purpose. */
double test_robust_return(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                          const nadir_ball *ball);

/* The kernel found, entry by entry through nadir_worst_multiply: [rows * states]. To be freed. */
double *test_worst_kernel(nadir_context *context, const nadir_model *model, const nadir_worst *worst);

/* What rounding is measured against: the largest reward over 1 - gamma, or the return if that is more. */
double test_robust_scale(const nadir_model *model, const nadir_robust *result);

#endif

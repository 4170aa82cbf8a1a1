/*
 * problem.h: a problem of the adversary with everything it points to, for unit tests. Include support.h
 * first.
 */
#ifndef NADIR_TESTS_PROBLEM_H
#define NADIR_TESTS_PROBLEM_H

#include "sets/uncertainty.h"
#include "solve/value.h"

typedef struct test_problem {
    nadir_context *context; /* not owned */
    nadir_model *model;
    nadir_policy *policy;
    nadir_kernel *kernel;
    nadir_occupancy *occupancy;
    nadir_value value;
    nadir_uncertainty uncertainty;
    double *numbers; /* [rows + 2 * states] the problem's rewards, R and v */
    nadir_problem problem;
} test_problem;

/* Takes model and policy; the discount is the model's. backend: NULL for the one that suits. sign: 1, or -1
 * to negate all rewards and values, for the best case. `problem` points into the struct's own arrays alone,
 * but for `uncertainty`: call test_problem_view. */
test_problem test_problem_make(nadir_context *context, nadir_model *model, nadir_policy *policy,
                               const nadir_ball *ball, const char *backend, double sign);
void test_problem_clear(test_problem *made);

/* The problem of a struct that stays where it is. */
const nadir_problem *test_problem_view(test_problem *made);

/* A ball with one radius, which must outlive it; scales: [rows] or NULL. */
nadir_ball test_ball(nadir_set set, nadir_domain domain, double p, const double *radius,
                     const double *scales);

#endif

/*
 * box.h: small random models with intervals, and their worst returns by interval value iteration: cheapest successors
 * first. It shares no code with the library. Include support/support.h first.
 */
#ifndef NADIR_TESTS_BOX_H
#define NADIR_TESTS_BOX_H

#include "core/random.h"
#include "nadir.h"

enum { TEST_BOX_STATES = 640 }; /* at most */

typedef struct test_box {
    int64_t states, actions, rows;
    double gamma;    /* 1: until a goal is reached, or what is to be avoided */
    double *ends;    /* [states] 1 in goals, 0 in other ends; -1 elsewhere */
    double *nominal; /* [rows * states] */
    double *lower, *upper;
    double *rewards; /* [rows] */
    double *mu;      /* [states] */
    double *pi;      /* [rows] a random policy */
    nadir_model *model;
    nadir_policy *policy;
} test_box;

/* reach: gamma is 1, state 0 is the goal and state 1 to be avoided, and all rows lead to these with some probability
 * at least. To be cleared. */
test_box test_box_make(nadir_context *context, nadir_random *random, bool reach);
/* The same numbers of a model with a box and the uniform policy; goal: [states], or NULL for its own discount. The
 * model stays the caller's. */
test_box test_box_of(nadir_context *context, nadir_model *model, const bool *goal);
void test_box_clear(test_box *box);

/* The fixed point of the worst case (best: of the best) over the intervals: mu . v. optimal: of the best policy. */
double test_box_iterate(const test_box *box, bool best, bool optimal);

/* mu . v of a kernel, [rows * states], by elimination. */
double test_box_return(const test_box *box, const double *kernel);

/* X <- the row of the box nearest to what is in X; [states]. */
void test_box_project(const test_box *box, int64_t row, double *X);

#endif

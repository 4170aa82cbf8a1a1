/*
 * ending.h: small random processes that end, without a discount, and attacks on them by chance: what they return and how long they
 * last under kernels of a ball, by elimination.
 */
#ifndef TEST_SUPPORT_ENDING_H
#define TEST_SUPPORT_ENDING_H

#include "core/random.h"
#include "nadir.h"

enum { TEST_ENDING_STATES = 6, TEST_ENDING_ROWS = 2 * TEST_ENDING_STATES };

typedef enum test_ending_kind { TEST_ENDING_TOTAL, TEST_ENDING_LANDING, TEST_ENDING_REACH } test_ending_kind;

/* States 0 .. m - 1 have one or two actions; the others end, the last of them is the goal. */
typedef struct test_ending {
    int n, m, rows;
    test_ending_kind kind;
    int64_t first[TEST_ENDING_STATES + 1];
    double P[TEST_ENDING_ROWS][TEST_ENDING_STATES], R[TEST_ENDING_ROWS],
        r[TEST_ENDING_ROWS][TEST_ENDING_STATES], alpha[TEST_ENDING_ROWS], pi[TEST_ENDING_ROWS],
        mu[TEST_ENDING_STATES];
    bool reached[TEST_ENDING_STATES]; /* by some kernel: others may stay there for ever */
    nadir_set set;
    nadir_domain domain;
    double norm, radius;
} test_ending;

/* What the library makes of it. */
typedef struct test_ending_asked {
    nadir_model *model;
    nadir_policy *policy;
    nadir_solver *solver;
    nadir_ball ball;
} test_ending_asked;

/* Who is reached by some kernel, once domain and mu are set. */
void test_ending_find_reached(test_ending *of);
/* Every set, norm and domain, radii up to 1.2. */
void test_ending_draw(nadir_random *random, test_ending_kind of, test_ending *made);
/* mu . x for (I - P^pi) x = b, b what P pays or, with steps, 1; false: it has no solution >= 0 for b = 1. */
bool test_ending_solve(const test_ending *of, double P[TEST_ENDING_ROWS][TEST_ENDING_STATES], bool steps,
                       double *mean);
/* The share of its ball that a kernel uses, at most 1 in the set. */
double test_ending_share(const test_ending *of, double P[TEST_ENDING_ROWS][TEST_ENDING_STATES]);
/* Another kernel of the ball. */
void test_ending_mutate(nadir_random *random, const test_ending *of,
                        double P[TEST_ENDING_ROWS][TEST_ENDING_STATES]);
/* The least return, or with steps the longest duration, that chance finds; *ends: false where a kernel never does. */
double test_ending_attack(nadir_random *random, const test_ending *of, bool steps, bool *ends);
/* Its model, policy, solver and ball, which points into `made`. */
void test_ending_ask(nadir_context *context, const test_ending *made, test_ending_asked *to);
void test_ending_forget(test_ending_asked *made);

#endif

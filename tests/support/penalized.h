/*
 * penalized.h: tiny problems with a bound on occupancies, and the Lagrangian of a non-rectangular ball from its
 * definition. Include support/support.h first.
 */
#ifndef NADIR_TESTS_PENALIZED_H
#define NADIR_TESTS_PENALIZED_H

#include "core/random.h"
#include "support/oracle.h"
#include "support/problem.h"

typedef struct test_penalized {
    nadir_context *context; /* not owned */
    test_problem made;
    nadir_ball ball;
    double radius;
    double *d_bar; /* [states] at least what any kernel of the set visits */
    char name[192];
} test_penalized;

/* 1 <= p < infinity. A miniature with at most `states_most` states; domain, radius and sign are drawn. d_bar
 * is 1 / (1 - gamma), 0 where no kernel of the set comes. */
test_penalized test_penalized_make(nadir_context *context, nadir_random *random, double p,
                                   int64_t states_most);
void test_penalized_clear(test_penalized *penalized);

/* What `ball` points to is the struct's own: the struct must stay where it is. */
const nadir_problem *test_penalized_view(test_penalized *penalized);

/* J_P + tau sum over s of d_P(s) / d_bar(s) sum over a of (|P_sa - Phat_sa|_p / alpha_sa)^p, and d_P unless
 * NULL; kernel: [rows * states]. */
long double test_penalized_return(test_penalized *penalized, double tau, const double *kernel, double *d);

/* (Tv)(s) of lagrangian.h, with rows minimised by brute force. v: [states]. */
double test_penalized_bellman(test_penalized *penalized, double tau, const double *v, int64_t s);

#endif

/*
 * golden.h: closed-form instances whose values are known from elsewhere. Include support.h first.
 *
 * On integers s, a, t from 0, t being the successor:
 *
 *     w(s, a, t) = 1 + (7 s + 11 a + 13 t) mod 17         P(t|s, a) = w / (sum over t of w)
 *     sparse: only where (s + 2 a + 3 t) mod 5 = 0 or t = (s + 1) mod S
 *     R(s, a) = ((5 s + 3 a) mod 11) / 10                 mu uniform
 *     pi(a|s) proportional to 1 + (s + 2 a) mod 5
 */
#ifndef NADIR_TESTS_GOLDEN_H
#define NADIR_TESTS_GOLDEN_H

#include "nadir.h"

typedef struct test_golden {
    const char *name;
    int64_t states, actions;
    double discount;
    bool sparse;
    double nominal_return; /* of the policy above */
    double nominal_optimum;
} test_golden;

/* dense(8,3), dense(40,5), sparse(30,4). */
enum { TEST_GOLDEN = 3 };
extern const test_golden test_goldens[TEST_GOLDEN];

/* csr: rows stored as lists of transitions, also where all are positive. To be freed. */
nadir_model *test_golden_model(nadir_context *context, const test_golden *golden, bool csr);
nadir_policy *test_golden_policy(nadir_context *context, const nadir_model *model);

#endif

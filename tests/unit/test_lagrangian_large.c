/*
 * The Lagrangian bound of models of more than 20000 states, whose steps go by rough solves: the bound itself
 * does not hang on who solves, and how well. At the fixed point it is the value but for the residual of v,
 * over 1 - gamma, which must be far below the 1e-10 of the return that two backends may differ by.
 */
#include "support/support.h"

#include "proof/bellman_bound.h"
#include "search/lagrangian_search.h"
#include "support/generated.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 5, ROUNDS = 3 };

/* memcheck is slow, and sees as much in a smaller model */
static int64_t states_count(void)
{
    return test_memcheck() ? 500 : 20001;
}

static nadir_model *make_model(nadir_context *context)
{
    nadir_generate_settings shape = test_generate_settings();
    shape.states = states_count();
    shape.actions = 1;
    shape.branch = 2;
    shape.seed = SEED;
    return test_generate(context, "garnet", &shape);
}

static void residuals_are_small(nadir_domain domain, double norm, double radius)
{
    nadir_context *context = test_context();
    nadir_model *model = make_model(context);
    nadir_lagrangian found = {0};
    double lower;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, norm, &radius, NULL);
    nadir_policy *policy = test_uniform_policy(context, model);
    test_problem made = test_problem_make(context, model, policy, &ball, "krylov", 1);
    const nadir_problem *problem = test_problem_view(&made);
    double *d_bar = test_new(problem->states, sizeof *d_bar);
    for (int64_t s = 0; s < problem->states; s++) {
        d_bar[s] = 1 / (1 - problem->gamma);
    }
    test_note("%s", test_ball_name(&ball));
    const double tau = 1 / pow(radius, norm - 1);
    for (int round = 0; round < ROUNDS; round++) { /* each goes on from where the last one ended */
        assert_ok(context, nadir_lagrangian_solve(context, problem, radius, d_bar, tau, &found));
    }
    assert_ok(context, nadir_lagrangian_bound(context, problem, radius, d_bar, tau, found.v, &lower));
    const double off = (found.value - lower) / fabs(problem->J);
    assert_that(problem->J - found.value > 1e-8, "the penalty %g is none", problem->J - found.value);
    assert_that(off >= 0 && off <= 2e-11, "%.3g of the return is lost", off);
    test_note_clear();
    nadir_lagrangian_clear(context, &found);
    test_problem_clear(&made);
    free(d_bar);
    nadir_context_free(context);
}

static void test_support(void **state)
{
    (void)state;
    residuals_are_small(NADIR_DOMAIN_SUPPORT, 1.5, 0.1);
    residuals_are_small(NADIR_DOMAIN_SUPPORT, 3, 0.1);
}

static void test_simplex(void **state)
{
    (void)state;
    residuals_are_small(NADIR_DOMAIN_SIMPLEX, 3, 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_support),
        cmocka_unit_test(test_simplex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

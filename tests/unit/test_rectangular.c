/* Worst kernels of rectangular sets on the domains simplex and support. */
#include "support/support.h"

#include "adversary/rectangular/rectangular.h"
#include "linalg/norm.h"
#include "support/golden.h"
#include "support/problem.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

#define TOLERANCE 1e-12

/* Reference values of sets sa, every radius alike. */
typedef struct golden_row {
    int instance; /* of test_goldens */
    nadir_domain domain;
    double radius, p, value;
} golden_row;

static const golden_row golden_rows[] = {
    {0, NADIR_DOMAIN_SIMPLEX, 0.01925, 1, 5.27242333713},
    {0, NADIR_DOMAIN_SUPPORT, 0.01925, 1, 5.27242333713},
    {0, NADIR_DOMAIN_SIMPLEX, 0.01925, 2, 5.24680021111},
    {0, NADIR_DOMAIN_SUPPORT, 0.01925, 2, 5.24680021111},
    {0, NADIR_DOMAIN_SIMPLEX, 0.01925, INFINITY, 5.16212391637},
    {0, NADIR_DOMAIN_SUPPORT, 0.01925, INFINITY, 5.16212391637},
    {1, NADIR_DOMAIN_SIMPLEX, 0.02475, 1, 9.90426295711},
    {1, NADIR_DOMAIN_SUPPORT, 0.02475, 1, 9.90426295711},
    {1, NADIR_DOMAIN_SIMPLEX, 0.02475, 2, 9.69173868421},
    {1, NADIR_DOMAIN_SUPPORT, 0.02475, 2, 9.69173868421},
    {1, NADIR_DOMAIN_SIMPLEX, 0.02475, INFINITY, 8.5416583551},
    {1, NADIR_DOMAIN_SUPPORT, 0.02475, INFINITY, 8.5416583551},
    {2, NADIR_DOMAIN_SIMPLEX, 0.01975, 1, 4.94739101239},
    {2, NADIR_DOMAIN_SUPPORT, 0.01975, 1, 4.95181435423},
    {2, NADIR_DOMAIN_SIMPLEX, 0.01975, 2, 4.91251826728},
    {2, NADIR_DOMAIN_SUPPORT, 0.01975, 2, 4.93199339521},
    {2, NADIR_DOMAIN_SIMPLEX, 0.01975, INFINITY, 4.7976450558},
    {2, NADIR_DOMAIN_SUPPORT, 0.01975, INFINITY, 4.87987481382},
};

static test_problem golden_problem(nadir_context *context, int instance, bool csr, const nadir_ball *ball)
{
    nadir_model *model = test_golden_model(context, &test_goldens[instance], csr);
    return test_problem_make(context, model, test_golden_policy(context, model), ball, NULL, 1);
}

static void test_golden_values(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    for (size_t i = 0; i < sizeof golden_rows / sizeof *golden_rows; i++) {
        for (int csr = 0; csr < 2; csr++) {
            const golden_row *row = &golden_rows[i];
            test_note("%s, domain %d, p %g, csr %d", test_goldens[row->instance].name, (int)row->domain,
                      row->p, csr);
            const nadir_ball ball = test_ball(NADIR_SET_SA, row->domain, row->p, &row->radius, NULL);
            test_problem made = golden_problem(context, row->instance, csr, &ball);
            const nadir_problem *problem = test_problem_view(&made);
            nadir_attack attack = {0};
            double lower;
            assert_ok(context, nadir_rectangular_solve(context, problem, 1, TOLERANCE, 50, &attack));
            assert_close(attack.J / row->value, 1, 1e-11);
            assert_true(attack.converged);
            assert_that(attack.iterations <= 6, "%d iterations", (int)attack.iterations);
            assert_ok(context, nadir_rectangular_check(context, problem, 1, attack.v, &lower));
            assert_that(lower <= attack.J && lower >= attack.J - 1e-11 * fabs(attack.J),
                        "lower bound %.17g of %.17g", lower, attack.J);
            nadir_attack_clear(context, &attack);
            test_problem_clear(&made);
        }
    }
    test_note_clear();
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

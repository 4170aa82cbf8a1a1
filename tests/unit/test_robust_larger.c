/*
 * test_robust_larger.c: robust evaluation of models with thousands of row problems, where what goes wrong in
 * one of a thousand shows: the library's own check of the kernel against its set must pass for every ball,
 * and everything that can be exact is certified.
 */
#include "support/support.h"

#include "support/robust.h"

#include <math.h>

static nadir_model *make_model(nadir_context *context, const char *kind, int64_t states)
{
    nadir_model *model = NULL;
    nadir_generate_settings shape = test_generate_settings();
    shape.states = states;
    shape.actions = 6;
    shape.branch = kind[0] == 'g' ? 7 : 0;
    shape.discount = 0.9;
    shape.seed = 5;
    assert_ok(context, nadir_model_generate(context, kind, &shape, &model));
    return model;
}

static void evaluate_all(const char *kind, nadir_set set, const double *radii, int count)
{
    static const double norms[] = {1, 1.5, 2, 4, INFINITY};
    nadir_context *context = test_context();
    nadir_model *model = make_model(context, kind, test_memcheck() ? 12 : 90);
    nadir_policy *policy = test_uniform_policy(context, model);
    nadir_solver *solver = test_solver(context, model, policy);
    for (int i = 0; i < test_often(count); i++) {
        /* p = 1 is quick, and has most to go wrong at the edges of its budget */
        for (size_t j = 0; j < (i % 3 == 0 ? sizeof norms / sizeof *norms : 1); j++) {
            for (int domain = NADIR_DOMAIN_SIMPLEX; domain <= NADIR_DOMAIN_SUPPORT; domain++) {
                const nadir_ball ball = test_ball(set, (nadir_domain)domain, norms[j], &radii[i], NULL);
                const nadir_robust result = test_robust(context, solver, &ball, NULL, NULL);
                assert_that(result.kernel_valid, "%s, %s: smallest entry %g", kind, test_ball_name(&ball),
                            result.kernel_minimum);
                assert_that(set == NADIR_SET_NONRECT || result.certified, "%s, %s: not certified", kind,
                            test_ball_name(&ball));
            }
        }
    }
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_context_free(context);
}

static const double radii[] = {0.001, 0.003, 0.0071, 0.01, 0.02, 0.05, 0.13};
enum { RADII = sizeof radii / sizeof *radii };

static void test_rows_dense(void **state)
{
    (void)state;
    evaluate_all("random", NADIR_SET_SA, radii, RADII);
}

static void test_rows_sparse(void **state)
{
    (void)state;
    evaluate_all("garnet", NADIR_SET_SA, radii, RADII);
}

static void test_states(void **state)
{
    (void)state;
    evaluate_all("random", NADIR_SET_S, radii, RADII);
    evaluate_all("garnet", NADIR_SET_S, radii, RADII);
}

static void test_whole_kernel(void **state)
{
    (void)state;
    evaluate_all("random", NADIR_SET_NONRECT, radii + 3, RADII - 3);
    evaluate_all("garnet", NADIR_SET_NONRECT, radii + 3, RADII - 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_dense),
        cmocka_unit_test(test_rows_sparse),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_whole_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

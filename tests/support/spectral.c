/* spectral.c: problems and solutions of the L_2 ball on the free domain; see spectral.h. */
#include "search/free_search.h"
#include "support/support.h"

#include "linalg/vector.h"
#include "support/families.h"
#include "support/free_reference.h"
#include "support/spectral.h"

#include <math.h>

const nadir_spectral_method test_spectral_methods[TEST_SPECTRAL_METHODS] = {
    NADIR_SPECTRAL_NEWTON, NADIR_SPECTRAL_BISECT, NADIR_SPECTRAL_BEST_RESPONSE};
const char *const test_spectral_names[TEST_SPECTRAL_METHODS] = {"newton", "bisect", "best-response"};

test_problem test_spectral_problem(nadir_context *context, nadir_model *model, nadir_policy *policy,
                                   const double *scales, const char *backend, double sign)
{
    const double radius = 1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, scales);
    return test_problem_make(context, model, policy, &ball, backend, sign);
}

test_problem test_spectral_family(nadir_context *context, int family, nadir_random *random,
                                  const double *scales, double sign)
{
    nadir_model *model = test_families[family].make(context, random);
    return test_spectral_problem(context, model, test_policy(context, model, TEST_RANDOM, random), scales,
                                 NULL, sign);
}

nadir_candidate test_spectral_solve(nadir_context *context, const nadir_problem *problem,
                                    nadir_spectral_method method, double beta)
{
    nadir_candidate attack = {0};
    assert_ok(context, nadir_spectral_solve(context, problem, method, TEST_SPECTRAL_TOLERANCE,
                                            TEST_SPECTRAL_LIMIT, 1, &beta, &attack));
    assert_true(attack.converged);
    assert_string_equal(attack.method, test_spectral_names[method]);
    return attack;
}

double test_spectral_penalty(nadir_context *context, const nadir_problem *problem,
                             nadir_spectral_method method, double beta)
{
    nadir_candidate attack = test_spectral_solve(context, problem, method, beta);
    const double lambda = attack.lambda;
    nadir_candidate_clear(context, &attack);
    return lambda;
}

void test_assert_relative(double a, double b, double tolerance, const char *what, const char *file, int line)
{
    if (!(fabs(a - b) <= tolerance * fabs(b))) {
        test_fail(file, line, "%s is %.17g, expected %.17g (%g off)", what, a, b, fabs(a - b) / fabs(b));
    }
}

void test_spectral_check(nadir_context *context, const nadir_problem *problem, double beta,
                         const nadir_candidate *attack)
{
    const test_found found = test_found_measure(context, problem, attack->kernel);
    const double size = nadir_vector_largest(problem->states, problem->v) + fabs(attack->lambda);
    assert_that(fabs(found.J - attack->J) <= 1e-11 * size, "J %.17g, of the kernel %.17g", attack->J,
                found.J);
    assert_that(found.norm <= beta * (1 + 1e-13) + 1e-14, "norm %.17g of radius %.17g", found.norm, beta);
    assert_that(found.row_sum <= 1e-13 * (1 + beta), "row sum off by %g", found.row_sum);
    assert_true(attack->J == problem->J - attack->lambda);
}

/*
 * test_robust_optimum_attack.c: thousands of policies of hundreds of tiny models against optima that are
 * called certified: none may have a worst return above the upper bound, and the kernel found for the best
 * policy must do to it what is said.
 */
#include "support/support.h"

#include "support/miniature.h"
#include "support/oracle.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED test_attack_seed(811)
enum { CASES = 1000, POLICIES = 16 };

/* A policy somewhere: anywhere, a deterministic one, or near the best. */
static nadir_policy *draw(nadir_context *context, const nadir_model *model, const nadir_policy *best,
                          nadir_random *random, int i)
{
    nadir_policy *policy = NULL;
    nadir_model_data data = test_model_data();
    nadir_model_view(model, &data);
    double *chances = calloc((size_t)data.rows, sizeof *chances);
    const double near = i % 3 == 0 ? 1 : i % 3 == 1 ? 0.1 : 0.001;
    for (int64_t s = 0; s < data.states; s++) {
        const int64_t first = data.state_rows[s];
        const int64_t count = data.state_rows[s + 1] - first;
        const int64_t chosen = (int64_t)nadir_random_below(random, (uint64_t)count);
        double sum = 0;
        for (int64_t a = 0; a < count; a++) {
            chances[first + a] = i % 6 < 3 ? a == chosen : nadir_random_uniform(random);
            sum += chances[first + a];
        }
        for (int64_t a = 0; a < count; a++) {
            const double other = nadir_policy_probabilities(best)[first + a];
            chances[first + a] = (1 - near) * other + near * chances[first + a] / sum;
        }
    }
    assert_ok(context, nadir_policy_create(context, model, chances, &policy));
    free(chances);
    return policy;
}

/* By elimination in long double: the return of the best policy under the kernel found. */
static void check_kernel(nadir_context *context, const nadir_model *model, const nadir_policy *policy,
                         const nadir_ball *ball, const nadir_worst *worst, double wanted, double scale)
{
    test_oracle oracle = test_oracle_make(model, policy, ball);
    double *kernel = test_worst_kernel(context, model, worst);
    const double J = test_oracle_return(&oracle, kernel, NULL);
    assert_that(fabs(J - wanted) <= 1e-9 * scale, "the kernel returns %.17g, not %.17g", J, wanted);
    assert_that(test_oracle_excess(&oracle, kernel) <= 1e-9, "the kernel is not in the ball");
    free(kernel);
    test_oracle_clear(&oracle);
}

static void fight(nadir_context *context, nadir_random *random, int i, int *certified, int *unfinished)
{
    static const double radii[] = {0.02, 0.1, 0.3, 0.8};
    static const nadir_domain domains[] = {NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT, NADIR_DOMAIN_FREE};
    const nadir_domain domain = domains[i % 3];
    const nadir_set set = i % 10 == 7 ? NADIR_SET_S : i % 10 == 8 ? NADIR_SET_SA : NADIR_SET_NONRECT;
    const double radius = radii[nadir_random_below(random, 4)] * (domain == NADIR_DOMAIN_FREE ? 0.1 : 1);
    const double norm = i % 7 == 5 ? 1 : i % 7 == 6 ? 3 : 2;
    const nadir_ball ball = test_ball(set, domain, norm, &radius, NULL);
    test_miniature tiny = test_miniature_make(context, random, 4);
    nadir_policy *best = NULL;
    nadir_worst *worst = NULL;
    nadir_robust_optimum_result result = {.size = sizeof result};
    nadir_robust evaluation = {.size = sizeof evaluation};
    test_note("seed %d, case %d, %s, %s", SEED, i, tiny.name, test_ball_name(&ball));
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    settings.method = i % 2 == 0 ? "auto" : "quasi-newton";
    nadir_status status =
        nadir_robust_optimum(context, tiny.model, &ball, &settings, &best, &result, &evaluation, &worst);
    if (status == NADIR_ERROR_NOT_CONVERGED) {      /* what is reported must hold all the same */
        *unfinished += domain != NADIR_DOMAIN_FREE; /* where steps can be short, near breakdown */
        status = NADIR_OK;
    }
    if (status == NADIR_ERROR_ILL_POSED) { /* all that was tried breaks down */
        assert_int_equal(domain, NADIR_DOMAIN_FREE);
    } else {
        assert_ok(context, status);
        const double scale = test_robust_scale(tiny.model, &evaluation);
        check_kernel(context, tiny.model, best, &ball, worst, result.robust_return, scale);
        *certified += result.certified;
        for (int j = 0; j < POLICIES; j++) {
            nadir_policy *other = draw(context, tiny.model, best, random, j);
            nadir_solver *solver = test_solver(context, tiny.model, other);
            nadir_robust found = {.size = sizeof found};
            const nadir_status judged = nadir_solver_robust(context, solver, &ball, NULL, &found, NULL);
            if (judged == NADIR_OK) {
                assert_that(found.lower_bound <= result.optimality_upper_bound + 1e-12 * scale,
                            "a policy has %.17g or more; the bound is %.17g", found.lower_bound,
                            result.optimality_upper_bound);
                assert_that(!result.certified || found.robust_return <= result.robust_return + 3e-6 * scale,
                            "a policy has %.17g; the optimum is said to be %.17g", found.robust_return,
                            result.robust_return);
            }
            nadir_solver_free(solver);
            nadir_policy_free(other);
        }
    }
    nadir_worst_free(worst);
    nadir_policy_free(best);
    test_miniature_clear(&tiny);
}

static void test_policies(void **state)
{
    nadir_context *context = *state;
    int certified = 0;
    int unfinished = 0;
    const int cases = test_attack_count(CASES);
    nadir_random random = test_random((uint64_t)SEED);
    for (int i = 0; i < cases; i++) {
        fight(context, &random, i, &certified, &unfinished);
    }
    assert_that(certified >= cases / 3, "only %d of %d are certified", certified, cases);
    assert_that(1000 * unfinished <= cases, "%d of %d did not converge", unfinished, cases);
    print_message("%d of %d certified, %d not converged\n", certified, cases, unfinished);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_policies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

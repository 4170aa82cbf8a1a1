/* Kernels that look like the worst and are not: each has a rule of its own, without which it would be proven.
 */
#include "support/support.h"

#include "proof/kappa.h"
#include "search/frank_wolfe.h"
#include "support/generated.h"
#include "support/valid.h"

#include <math.h>
#include <string.h>

static test_problem plain_problem(nadir_context *context, int64_t states, double discount, const double *P,
                                  const double *rewards, nadir_domain domain, const double *radius)
{
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, radius, NULL);
    nadir_model *model = test_plain_model(context, states, discount, P, rewards, NULL);
    nadir_policy *policy = test_uniform_policy(context, model);
    return test_problem_make(context, model, policy, &ball, NULL, 1);
}

/* Four states, of which the nominal kernel visits one, with the worst return known by search. */
static const double four_states[16] = {1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0};
static const double four_rewards[4] = {-0.09, -3, -0.05, -0.05};

typedef struct known_value {
    double radius, value;
} known_value;

/* The descent from the nominal kernel stops at once, at -9: states that are not visited have no gradient. No
 * bound may be above what is attained elsewhere. */
static void test_unvisited_states(void **state)
{
    static const known_value known[] = {{0.3, -40.22}, {0.6, -73.24}, {1, -121.46}};
    nadir_context *context = *state;
    for (int i = 0; i < 3; i++) {
        test_problem made = plain_problem(context, 4, 0.99, four_states, four_rewards, NADIR_DOMAIN_SIMPLEX,
                                          &known[i].radius);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attack = {0};
        test_note("radius %g", known[i].radius);
        assert_ok(context, nadir_kernel_create(context, made.model, &attack.kernel));
        attack.J = problem->J;
        assert_close(attack.J, -9, 1e-12);
        for (int effort = 0; effort < 2; effort++) {
            nadir_certificate proof = test_prove(context, problem, known[i].radius, &attack,
                                                 effort == 0 ? NADIR_CERTIFY_AUTO : NADIR_CERTIFY_STRICT);
            assert_that(proof.lower <= known[i].value + 0.01, "lower bound %g (%s)", proof.lower,
                        nadir_bound_name(proof.bound));
            assert_true(proof.lower > -400);
            nadir_certificate_clear(context, &proof);
        }
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

/* The same kernel lies inside the ball, stationary, with tau = 0: that it is stationary proves nothing, and a
 * multiplier made up for it does not either. */
static void test_inactive_ball(void **state)
{
    const double radius = 0.6;
    nadir_context *context = *state;
    test_problem made =
        plain_problem(context, 4, 0.99, four_states, four_rewards, NADIR_DOMAIN_SIMPLEX, &radius);
    const nadir_problem *problem = test_problem_view(&made);
    nadir_candidate attack = {0};
    assert_ok(context, nadir_kernel_create(context, made.model, &attack.kernel));
    attack.J = problem->J;
    static const double taus[] = {0, 1e-12, 1e-3, 1, 1e3, 1e9, 1e150};
    for (size_t i = 0; i < sizeof taus / sizeof *taus; i++) {
        attack.tau = taus[i];
        test_note("tau %g", taus[i]);
        nadir_certificate proof = test_prove(context, problem, radius, &attack, NADIR_CERTIFY_AUTO);
        assert_that(proof.lower <= -73.23, "lower bound %g (%s, kappa %g)", proof.lower,
                    nadir_bound_name(proof.bound), proof.kappa);
        nadir_certificate_clear(context, &proof);
    }
    test_note_clear();
    nadir_candidate_clear(context, &attack);
    test_problem_clear(&made);
}

/* kappa of an attack on the whole set. naive: states of d = 0 count for nothing. */
static double find_kappa(nadir_context *context, const nadir_problem *problem, double beta,
                         const nadir_candidate *attack, const bool *unvisited, bool naive)
{
    test_stage stage;
    nadir_displacement displacement = {0};
    double kappa;
    test_stage_make(context, problem, beta, attack, &stage);
    assert_memory_equal(stage.star.unvisited, unvisited, (size_t)problem->states * sizeof *unvisited);
    assert_close(stage.star.kkt.J, attack->J, 1e-12);
    if (naive) {
        memset(stage.star.kkt.w_unvisited, 0, (size_t)problem->states * sizeof *stage.star.kkt.w_unvisited);
    }
    assert_ok(context, nadir_displacement_make(context, &stage.star.kkt, NULL, &displacement));
    kappa = test_find_kappa(context, &stage.star.kkt, &stage.bounds, &displacement, NULL, false);
    nadir_displacement_clear(context, &displacement);
    test_stage_clear(context, &stage);
    return kappa;
}

/* From a kernel that never goes from state 0 to state 1 the descent does not either: by (x, -0.1, y) in the
 * row of state 0, x + y = 0.1, of length beta. */
static nadir_candidate avoid_state_1(nadir_context *context, const nadir_problem *problem, double beta)
{
    const double y = (0.1 + sqrt(2 * (beta * beta - 0.01) - 0.01)) / 2;
    const int64_t rows[] = {0};
    const int64_t starts[] = {0, 2};
    const int32_t columns[] = {0, 4};
    const double values[] = {0.7 - y, 0.3 + y};
    const nadir_changed_rows changed = {1, rows, starts, columns, values};
    nadir_kernel *start = NULL;
    nadir_candidate attack = {0};
    assert_ok(context, nadir_kernel_create_changed(context, problem->model, &changed, &start));
    assert_ok(context, nadir_frank_wolfe_run(context, problem, beta, start, 1e-13, 100, &attack));
    nadir_kernel_free(start);
    return attack;
}

/* A stationary kernel on the surface of the ball that leaves the way to something worse at zero: if states
 * without visits counted for nothing, kappa would be far below 1/2. */
static void test_zero_occupancy(void **state)
{
    static const double P[25] = {0.6, 0.1, 0, 0, 0.3, 0, 0, 0.55, 0.45, 0, 0, 0, 1,
                                 0,   0,   0, 0, 0,   1, 0, 1,    0,    0, 0, 0};
    static const double rewards[5] = {0, 0, 50, -50, -0.1};
    static const known_value known[] = {{0.2, -1.035884}, {0.25, -1.592}, {0.3, -2.238}, {0.4, -3.786}};
    nadir_context *context = *state;
    for (int i = 0; i < 4; i++) {
        test_problem made =
            plain_problem(context, 5, 0.5, P, rewards, NADIR_DOMAIN_SUPPORT, &known[i].radius);
        const nadir_problem *problem = test_problem_view(&made);
        test_note("radius %g", known[i].radius);
        const bool unvisited[5] = {false, true, true, true, false};
        nadir_candidate fooled = avoid_state_1(context, problem, known[i].radius);
        assert_that(fooled.J > known[i].value + 0.9, "found %g", fooled.J);
        assert_that(fooled.gap < 1e-12 && fooled.tau > 0, "gap %g, tau %g", fooled.gap, fooled.tau);
        assert_true(find_kappa(context, problem, known[i].radius, &fooled, unvisited, true) < 0.5);
        assert_true(find_kappa(context, problem, known[i].radius, &fooled, unvisited, false) > 1);
        nadir_certificate proof =
            test_prove(context, problem, known[i].radius, &fooled, NADIR_CERTIFY_STRICT);
        assert_that(proof.lower <= known[i].value + 1e-3, "lower bound %g (%s, kappa %g)", proof.lower,
                    nadir_bound_name(proof.bound), proof.kappa);
        nadir_certificate_clear(context, &proof);
        nadir_candidate_clear(context, &fooled);
        test_problem_clear(&made);
    }
}

/* One step of the descent is not there yet, by 0.05 %: kappa is small, and what rows lack of optimality must
 * be in the bound. */
static void test_inexact(void **state)
{
    const double radius = 0.1;
    const double worst = 468.1674739771301;
    nadir_context *context = *state;
    const nadir_generate_settings settings = test_generate_settings();
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
    nadir_model *model = test_frozen(context, test_generate(context, "riverswim", &settings));
    nadir_policy *policy = test_uniform_policy(context, model);
    test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    for (int steps = 1; steps < 6; steps++) {
        nadir_candidate attack = {0};
        test_note("%d steps", steps);
        assert_ok(context, nadir_frank_wolfe_run(context, problem, radius, NULL, 1e-13, steps, &attack));
        nadir_certificate proof = test_prove(context, problem, radius, &attack, NADIR_CERTIFY_AUTO);
        assert_true(proof.kappa < 0.5);
        assert_that(steps > 1 || attack.J > worst + 0.1, "found %.10g", attack.J);
        assert_that(proof.lower <= worst, "lower bound %.15g of %.15g", proof.lower, worst);
        nadir_certificate_clear(context, &proof);
        nadir_candidate_clear(context, &attack);
    }
    test_note_clear();
    test_problem_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_unvisited_states),
        test_with_context(test_inactive_ball),
        test_with_context(test_zero_occupancy),
        test_with_context(test_inexact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

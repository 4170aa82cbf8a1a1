/*
 * What must hold between robust evaluations, whatever the numbers are: limits in the norm, order in the
 * radius, among sets and among domains, units of rewards, scales against radii. Degenerate cases are in
 * test_robust_degenerate.c.
 */
#include "support/support.h"

#include "support/generated.h"
#include "support/golden.h"
#include "support/miniature.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>

#define SEED 27182

static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
static const nadir_domain domains[] = {NADIR_DOMAIN_FREE, NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT};
static const double norms[] = {1, 1.5, 2, 3, INFINITY};
enum { SETS = 3, DOMAINS = 3, NORMS = sizeof norms / sizeof *norms };

/* A model with a policy; all kernels near it are valid up to half the valid radius. */
typedef struct place {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_solver *solver;
} place;

static place place_make(void)
{
    place made = {.context = test_context()};
    made.model = test_golden_model(made.context, &test_goldens[0], false);
    made.policy = test_golden_policy(made.context, made.model);
    made.solver = test_solver(made.context, made.model, made.policy);
    return made;
}

static void place_clear(place *made)
{
    nadir_solver_free(made->solver);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
}

static nadir_robust evaluate(const place *here, nadir_set set, nadir_domain domain, double norm,
                             double radius)
{
    const nadir_ball ball = test_ball(set, domain, norm, &radius, NULL);
    test_note("%s", test_ball_name(&ball));
    const nadir_robust result = test_robust(here->context, here->solver, &ball, NULL, NULL);
    test_note_clear();
    return result;
}

/*
 * Norms next to 1, 2 and infinity. With n entries n^|1/p - 1/r| bounds how far the balls of p and r differ,
 * which is 1 + 6e-6 for p = 1 + 1e-6 against 1, and for 1e6 against infinity; 1 + 2e-9 next to 2.
 */
static void test_norm_limits(void **state)
{
    (void)state;
    static const struct {
        double near, limit, tolerance;
    } pairs[] = {{1 + 1e-6, 1, 2e-5}, {2 - 1e-9, 2, 1e-8}, {2 + 1e-9, 2, 1e-8}, {1e6, INFINITY, 2e-5}};
    place here = place_make();
    double radius;
    assert_ok(here.context, nadir_model_valid_radius(here.context, here.model, INFINITY, &radius));
    for (int i = 0; i < SETS * DOMAINS * 4; i++) {
        const double norm = pairs[i / 9].limit;
        const nadir_robust near =
            evaluate(&here, sets[i % 3], domains[i / 3 % 3], pairs[i / 9].near, radius / 2);
        const nadir_robust limit = evaluate(&here, sets[i % 3], domains[i / 3 % 3], norm, radius / 2);
        test_note("%s, %s, norm %.10g", nadir_set_name(sets[i % 3]), nadir_domain_name(domains[i / 3 % 3]),
                  pairs[i / 9].near);
        assert_that(fabs(near.penalty / limit.penalty - 1) <= pairs[i / 9].tolerance,
                    "the penalty is %.12g; in the limit %.12g", near.penalty, limit.penalty);
    }
    place_clear(&here);
}

/* Where every kernel of the ball is valid, the domains are one. */
static void test_domains_agree(void **state)
{
    (void)state;
    place here = place_make();
    for (int i = 0; i < SETS * NORMS; i++) {
        double radius;
        const nadir_set set = sets[i % 3];
        assert_ok(here.context, nadir_model_valid_radius(here.context, here.model, norms[i / 3], &radius));
        const nadir_robust wide = evaluate(&here, set, NADIR_DOMAIN_FREE, norms[i / 3], 0.99 * radius);
        const nadir_robust valid = evaluate(&here, set, NADIR_DOMAIN_SIMPLEX, norms[i / 3], 0.99 * radius);
        const nadir_robust narrow = evaluate(&here, set, NADIR_DOMAIN_SUPPORT, norms[i / 3], 0.99 * radius);
        test_note("%s, norm %g", nadir_set_name(set), norms[i / 3]);
        assert_true(wide.kernel_valid && valid.kernel_valid && narrow.kernel_valid);
        assert_that(fabs(valid.penalty / wide.penalty - 1) <= 1e-8, "simplex %.12g, free %.12g",
                    valid.penalty, wide.penalty);
        assert_that(fabs(narrow.penalty / wide.penalty - 1) <= 1e-8, "support %.12g, free %.12g",
                    narrow.penalty, wide.penalty);
        assert_close(wide.valid_radius, radius, 1e-13);
    }
    place_clear(&here);
}

/* More room, no better return; and many radii at once give what they give one by one. */
static void test_radius_order(void **state)
{
    (void)state;
    static const double factors[] = {0, 0.1, 0.5, 1, 2, 5};
    enum { FACTORS = sizeof factors / sizeof *factors };
    place here = place_make();
    for (int i = 0; i < SETS * DOMAINS * NORMS; i++) {
        const nadir_set set = sets[i % 3];
        const nadir_domain domain = domains[i / 3 % 3];
        const double radius = 0.01;
        const nadir_ball ball = test_ball(set, domain, norms[i / 9], &radius, NULL);
        nadir_robust *results = test_new(FACTORS, sizeof *results);
        double last = INFINITY;
        for (int j = 0; j < FACTORS; j++) {
            results[j] = (nadir_robust){.size = sizeof results[j]};
        }
        test_note("%s", test_ball_name(&ball));
        assert_ok(here.context, nadir_solver_robust_many(here.context, here.solver, &ball, NULL, FACTORS,
                                                         factors, results));
        for (int j = 0; j < FACTORS; j++) {
            const nadir_robust one = evaluate(&here, set, domain, norms[i / 9], factors[j] * radius);
            test_note("%s, %s, norm %g, radius %g", nadir_set_name(set), nadir_domain_name(domain),
                      norms[i / 9], factors[j] * radius);
            assert_close(results[j].robust_return, one.robust_return, 1e-9);
            assert_close(results[j].radius, factors[j] * radius, 1e-15);
            assert_that(one.robust_return < last, "%.15g is no worse than %.15g before", one.robust_return,
                        last);
            assert_true(results[j].lower_bound <= one.upper_bound &&
                        one.lower_bound <= results[j].upper_bound);
            last = one.robust_return;
        }
        free(results);
    }
    test_note_clear();
    place_clear(&here);
}

/* |x|_p */
static double sum_of(int64_t count, const double *x, double p)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum = isinf(p) ? fmax(sum, x[i]) : sum + pow(x[i], p);
    }
    return isinf(p) ? sum : pow(sum, 1 / p);
}

/*
 * Radii b_sa of rows, |b_s|_p of states and |b|_p of all: the balls lie in each other, so that the returns
 * fall. The worst kernel of the smallest is one of the largest: no lower bound of the largest is above it.
 */
static void check_nested(nadir_context *context, const test_miniature *tiny, nadir_domain domain, double norm,
                         double size, nadir_random *random)
{
    const nadir_model_data view = test_view(tiny->model);
    nadir_solver *solver = test_solver(context, tiny->model, tiny->policy);
    double *rows = test_new(view.rows, sizeof *rows);
    double *states = test_new(view.states, sizeof *states);
    for (int64_t s = 0; s < view.states; s++) {
        const int64_t first = view.state_rows[s];
        for (int64_t row = first; row < view.state_rows[s + 1]; row++) {
            rows[row] = size * nadir_random_uniform(random);
        }
        states[s] = sum_of(view.state_rows[s + 1] - first, rows + first, norm);
    }
    const double all = sum_of(view.states, states, norm);
    nadir_ball balls[SETS] = {test_ball(NADIR_SET_SA, domain, norm, rows, NULL),
                              test_ball(NADIR_SET_S, domain, norm, states, NULL),
                              test_ball(NADIR_SET_NONRECT, domain, norm, &all, NULL)};
    balls[0].radius_count = view.rows;
    balls[1].radius_count = view.states;
    nadir_robust *results = test_new(SETS, sizeof *results);
    for (int i = 0; i < SETS; i++) {
        test_note("seed %d, %s, %s", SEED, tiny->name, test_ball_name(&balls[i]));
        results[i] = test_robust(context, solver, &balls[i], NULL, NULL);
        const double slack = 1e-11 * test_robust_scale(tiny->model, &results[i]);
        for (int j = 0; j < i; j++) {
            assert_that(results[i].lower_bound <= results[j].robust_return + slack,
                        "the lower bound %.15g of set %s is above %.15g of set %s", results[i].lower_bound,
                        nadir_set_name(results[i].set), results[j].robust_return,
                        nadir_set_name(results[j].set));
            assert_that(results[i].robust_return <=
                            results[j].robust_return + 1e-8 * fabs(results[j].penalty) + slack,
                        "%.15g of set %s is above %.15g of set %s", results[i].robust_return,
                        nadir_set_name(results[i].set), results[j].robust_return,
                        nadir_set_name(results[j].set));
        }
    }
    free(results);
    free(rows);
    free(states);
    nadir_solver_free(solver);
}

static void test_sets_nested(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < test_often(80); i++) {
        test_miniature tiny = test_miniature_make(context, &random, 5);
        for (int j = 1; j < DOMAINS; j++) {
            check_nested(context, &tiny, domains[j], norms[i % NORMS], 0.2, &random);
        }
        test_miniature_clear(&tiny);
    }
    /* On the free domain the rectangular value is the worst only where the occupancies stay 0 or more. */
    test_miniature dense = {.name = "dense(8,3)"};
    dense.model = test_golden_model(context, &test_goldens[0], false);
    dense.policy = test_golden_policy(context, dense.model);
    for (int i = 0; i < NORMS; i++) {
        check_nested(context, &dense, NADIR_DOMAIN_FREE, norms[i], 0.005, &random);
    }
    test_miniature_clear(&dense);
}

/* free, simplex, support: less and less room. On the free domain alone where the value is the worst there is.
 */
static void test_domains_ordered(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    for (int i = 0; i < test_often(120); i++) {
        test_miniature tiny = test_miniature_make(context, &random, 5);
        nadir_solver *solver = test_solver(context, tiny.model, tiny.policy);
        const double radius = 2e-4; /* below breakdown for all of them */
        nadir_robust last = {.robust_return = INFINITY};
        for (int j = DOMAINS - 1; j >= 0; j--) {
            const nadir_ball ball = test_ball(sets[i % 3], domains[j], norms[i / 3 % NORMS], &radius, NULL);
            const bool exact = j > 0 || (ball.set == NADIR_SET_NONRECT && (ball.norm == 1 || ball.norm == 2));
            test_note("seed %d, %s, %s", SEED, tiny.name, test_ball_name(&ball));
            const nadir_robust result = test_robust(context, solver, &ball, NULL, NULL);
            const double slack = 1e-11 * test_robust_scale(tiny.model, &result);
            assert_that(result.lower_bound <= last.robust_return + slack,
                        "lower bound %.15g, but %.15g on a narrower domain", result.lower_bound,
                        last.robust_return);
            assert_that(!exact ||
                            result.robust_return <= last.robust_return + 1e-8 * fabs(last.penalty) + slack,
                        "%.15g, but %.15g on a narrower domain", result.robust_return, last.robust_return);
            last = result;
        }
        nadir_solver_free(solver);
        test_miniature_clear(&tiny);
    }
}

/* Rewards a R + c, a > 0: the return is a J + c / (1 - gamma). */
static void test_rewards_scaled(void **state)
{
    (void)state;
    static const double factors[] = {3, 1e9, 1e-9, 1, 0.5};
    static const double offsets[] = {0, 0, 0, 7, -40};
    place here = place_make();
    const double radius = 0.02;
    for (int i = 0; i < SETS * DOMAINS * NORMS; i++) {
        const double factor = factors[i % 5];
        const double offset = offsets[i % 5];
        nadir_model *model = test_model_rewarded(here.context, here.model, factor, offset);
        const nadir_ball ball = test_ball(sets[i % 3], domains[i / 3 % 3], norms[i / 9], &radius, NULL);
        const nadir_robust plain = evaluate(&here, ball.set, ball.domain, ball.norm, radius);
        test_note("%s, rewards times %g plus %g", test_ball_name(&ball), factor, offset);
        const double found = test_robust_return(here.context, model, here.policy, &ball);
        const double expected = factor * plain.robust_return + offset / (1 - test_view(model).discount);
        assert_that(fabs(found / expected - 1) <= 1e-10, "found %.15g, expected %.15g", found, expected);
        nadir_model_free(model);
    }
    test_note_clear();
    place_clear(&here);
}

/* Scales of rows are radii of rows for set sa; and one ball of p = infinity is one for each row. */
static void test_scales_and_infinity(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 2);
    for (int i = 0; i < 60; i++) {
        test_miniature tiny = test_miniature_make(context, &random, 5);
        const nadir_model_data view = test_view(tiny.model);
        double *radii = test_new(3 * view.rows, sizeof *radii);
        double *scales = radii + view.rows;
        double *ones = radii + 2 * view.rows;
        const double radius = 2e-4;
        for (int64_t row = 0; row < view.rows; row++) {
            scales[row] = nadir_random_below(&random, 4) == 0 ? 0 : nadir_random_uniform(&random);
            radii[row] = radius * scales[row];
            ones[row] = 1;
        }
        nadir_ball ball = test_ball(NADIR_SET_SA, domains[i % 3], norms[i / 3 % NORMS], &radius, NULL);
        test_note("seed %d, %s, %s", SEED + 2, tiny.name, test_ball_name(&ball));
        ball.scales = scales;
        const double scaled = test_robust_return(context, tiny.model, tiny.policy, &ball);
        ball.scales = ones;
        ball.radius = radii;
        ball.radius_count = view.rows;
        assert_close(test_robust_return(context, tiny.model, tiny.policy, &ball), scaled, 1e-11);
        ball = test_ball(NADIR_SET_SA, domains[i % 3], INFINITY, &radius, NULL);
        const double each = test_robust_return(context, tiny.model, tiny.policy, &ball);
        ball.set = NADIR_SET_NONRECT;
        assert_close(test_robust_return(context, tiny.model, tiny.policy, &ball), each, 1e-12);
        ball.set = NADIR_SET_S;
        assert_close(test_robust_return(context, tiny.model, tiny.policy, &ball), each, 1e-10);
        free(radii);
        test_miniature_clear(&tiny);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norm_limits),          cmocka_unit_test(test_domains_agree),
        cmocka_unit_test(test_radius_order),         test_with_context(test_sets_nested),
        test_with_context(test_domains_ordered),     cmocka_unit_test(test_rewards_scaled),
        test_with_context(test_scales_and_infinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

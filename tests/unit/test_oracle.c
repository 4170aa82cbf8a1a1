/* The oracle against itself and against numbers known from elsewhere: what it says must be worth believing.
 */
#include "support/support.h"

#include "support/golden.h"
#include "support/miniature.h"
#include "support/oracle.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 1618

static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
static const nadir_domain domains[] = {NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT, NADIR_DOMAIN_FREE};
static const double norms[] = {1, 1.5, 2, 3, INFINITY};

static nadir_ball make_ball(int64_t number, const double *radius)
{
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.set = sets[number % 3];
    ball.domain = domains[number / 3 % 3];
    ball.norm = norms[number / 9 % 5];
    ball.radius = radius;
    ball.radius_count = 1;
    return ball;
}

/* Runs `test` on tiny models with every set, each of them once under memcheck. */
static void each_oracle(int count, void (*test)(const test_oracle *oracle, nadir_random *random))
{
    nadir_context *context = test_context();
    nadir_random random = test_random(SEED);
    count = test_memcheck() ? 45 : count;
    for (int i = 0; i < count; i++) {
        const double radius = 0.01 + 0.2 * nadir_random_uniform(&random);
        const nadir_ball ball = make_ball(i, &radius);
        test_miniature tiny = test_miniature_make(context, &random, 6);
        test_note("seed %d, case %d, %s, set %s, domain %s, norm %g", SEED, i, tiny.name,
                  nadir_set_name(ball.set), nadir_domain_name(ball.domain), ball.norm);
        test_oracle oracle = test_oracle_make(tiny.model, tiny.policy, &ball);
        test(&oracle, &random);
        test_oracle_clear(&oracle);
        test_miniature_clear(&tiny);
    }
    test_note_clear();
    nadir_context_free(context);
}

static void check_gradient(const test_oracle *oracle, nadir_random *random)
{
    const int64_t entries = oracle->rows * oracle->states;
    double *kernel = test_new(2 * entries, sizeof *kernel);
    double *gradient = kernel + entries;
    test_oracle_random(oracle, random, kernel);
    const double found = test_oracle_gradient(oracle, kernel, gradient);
    if (!isnan(found)) { /* a free kernel may be past breakdown */
        assert_close(found, test_oracle_return(oracle, kernel, NULL), 1e-14);
    }
    for (int64_t i = 0; i < entries && !isnan(found); i++) {
        const double step = 1e-6;
        const double at = kernel[i];
        kernel[i] = at + step;
        const double above = test_oracle_return(oracle, kernel, NULL);
        kernel[i] = at - step;
        const double below = test_oracle_return(oracle, kernel, NULL);
        kernel[i] = at;
        assert_close(gradient[i], (above - below) / (2 * step), 2e-6);
    }
    free(kernel);
}

static void test_gradient(void **state)
{
    (void)state;
    each_oracle(test_often(90), check_gradient);
}

/* Kernels drawn are inside; a little further, or with an entry spoiled, they are not. */
static void check_random(const test_oracle *oracle, nadir_random *random)
{
    const int64_t n = oracle->states;
    const int64_t entries = oracle->rows * n;
    double *kernel = test_new(entries, sizeof *kernel);
    for (int i = 0; i < 50; i++) {
        test_oracle_random(oracle, random, kernel);
        const double excess = test_oracle_excess(oracle, kernel);
        assert_that(excess <= 1e-13, "kernel %d is outside by %g", i, excess);
        const int64_t place = (int64_t)nadir_random_below(random, (uint64_t)entries);
        const double at = kernel[place];
        kernel[place] = at + 1e-6;
        assert_that(test_oracle_excess(oracle, kernel) > 0.9e-6, "a row sum is not looked at");
        kernel[place / n * n + (place + 1) % n] -= 1e-6;
        const int64_t ball = oracle->row_balls[place / n];
        kernel[place] = at + (ball >= 0 ? 4 * oracle->scales[place / n] * oracle->radii[ball] : 1e-3);
        kernel[place / n * n + (place + 1) % n] -= kernel[place] - at - 1e-6;
        assert_that(test_oracle_excess(oracle, kernel) > 1e-4, "%g at %d is called inside", kernel[place],
                    (int)place);
        test_oracle_pull(oracle, kernel);
        assert_that(test_oracle_excess(oracle, kernel) <= 1e-13, "not pulled inside");
    }
    free(kernel);
}

static void test_random_problems(void **state)
{
    (void)state;
    each_oracle(test_often(180), check_random);
}

/* p = 1, one ball, free signs: the worst kernel moves all it can in one row, from one state to another. */
static double worst_strike(const test_oracle *oracle, double *kernel)
{
    const int64_t n = oracle->states;
    double worst = INFINITY;
    memcpy(kernel, oracle->nominal, (size_t)(oracle->rows * n) * sizeof *kernel);
    for (int64_t i = 0; i < oracle->rows * n * n; i++) {
        const int64_t row = i / (n * n);
        const int64_t from = row * n + i / n % n;
        const int64_t to = row * n + i % n;
        const double moved = oracle->row_balls[row] < 0 ? 0 : oracle->scales[row] * oracle->radii[0] / 2;
        kernel[from] -= moved;
        kernel[to] += moved;
        const double found = test_oracle_return(oracle, kernel, NULL);
        worst = isnan(found) || found < worst ? found : worst; /* once NaN, always NaN */
        kernel[from] = oracle->nominal[from];
        kernel[to] = oracle->nominal[to];
    }
    return worst;
}

/* The search finds at least what hundreds of random kernels find, and lies in the set. */
static void check_search(const test_oracle *oracle, nadir_random *random)
{
    const int64_t entries = oracle->rows * oracle->states;
    double *kernel = test_new(2 * entries, sizeof *kernel);
    const double worst = test_oracle_worst(oracle, random, 3, kernel);
    assert_that(test_oracle_excess(oracle, kernel) <= 1e-12, "the worst kernel is outside by %g",
                test_oracle_excess(oracle, kernel));
    for (int i = 0; i < 200; i++) {
        test_oracle_random(oracle, random, kernel + entries);
        const double found = test_oracle_return(oracle, kernel + entries, NULL);
        if (isnan(found)) {
            break; /* past breakdown there is no worst */
        }
        assert_that(found >= worst - 1e-7 * fabs(worst), "a random kernel does %.12g, the search %.12g",
                    found, worst);
    }
    if (oracle->p == 1 && oracle->balls == 1 && oracle->domain == NADIR_DOMAIN_FREE) {
        const double strike = worst_strike(oracle, kernel);
        if (!isnan(strike)) {
            assert_close(worst, strike, 1e-9);
        }
    }
    free(kernel);
}

static void test_search(void **state)
{
    (void)state;
    each_oracle(test_often(90), check_search);
}

/* Numbers from elsewhere: see golden.h. */
static void test_golden_numbers(void **state)
{
    if (test_memcheck()) {
        skip(); /* 192 variables take minutes there */
    }
    static const struct {
        nadir_set set;
        nadir_domain domain;
        double norm, radius, value;
    } rows[] = {
        {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.46, 4.95783325532},
        {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1.5, 0.077, 5.28095011946},
        {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 3, 0.077, 5.18953703421},
        {NADIR_SET_S, NADIR_DOMAIN_FREE, 2, 0.01925, 5.26960337329},
        {NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 0.46, 4.96086135669},
    };
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    nadir_model *model = test_golden_model(context, &test_goldens[0], false);
    nadir_policy *policy = test_golden_policy(context, model);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        nadir_ball ball;
        nadir_ball_default(&ball);
        ball.set = rows[i].set;
        ball.domain = rows[i].domain;
        ball.norm = rows[i].norm;
        ball.radius = &rows[i].radius;
        ball.radius_count = 1;
        test_oracle oracle = test_oracle_make(model, policy, &ball);
        double *kernel = test_new(oracle.rows * oracle.states, sizeof *kernel);
        test_note("row %d of the table", (int)i);
        const double found = test_oracle_worst(&oracle, &random, 1, kernel);
        assert_close(found, rows[i].value, 1e-8);
        assert_that(found > rows[i].value - 1e-10, "%.12g is below the worst, %.12g", found, rows[i].value);
        free(kernel);
        test_oracle_clear(&oracle);
    }
    test_note_clear();
    nadir_policy_free(policy);
    nadir_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_random_problems),
        cmocka_unit_test(test_search),
        test_with_context(test_golden_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

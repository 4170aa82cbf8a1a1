/* test_fit_returns.c: what data promise of a return: the slope of the objective against differences, draws against
 * exact distributions and against other ways to solve, ranks and prices against their definitions, predictions of more
 * data against simulations. */
#include "support/support.h"

#include "fit/kernel_draws.h"
#include "fit/radii.h"
#include "fit/returns.h"
#include "model/policy.h"
#include "support/generated.h"
#include "support/scarce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t seed = 20261118;

/* ---- Data ---- */

/* Each row has `branch` successors, one in `lone` of them only itself, and is visited about `visits` times. */
typedef struct shape {
    int64_t states, actions, branch, visits, isolated;
    bool landing; /* rewards depend on the successor */
    double noise; /* of rewards */
    const char *successors;
    double discount;
} shape;

static nadir_fit *make_fit(nadir_context *context, const shape *asked, uint64_t number)
{
    nadir_random random = test_random(seed + number);
    nadir_data_collector collector;
    nadir_fit_settings settings;
    nadir_data data = {.kind = NADIR_DATA_COUNTS};
    nadir_data listed = {0};
    nadir_fit *fit = NULL;
    const nadir_data_settings sizes = {.states = asked->states + asked->isolated, .actions = asked->actions};
    assert_ok(context, nadir_data_collector_start(context, "made", &sizes, &collector));
    collector.kind = NADIR_DATA_COUNTS;
    collector.columns = 1U << NADIR_DATA_REWARD;
    for (int64_t s = 0; s < asked->states + asked->isolated; s++) {
        for (int64_t a = 0; a < asked->actions; a++) {
            const double base = nadir_random_normal(&random);
            for (int64_t k = 0; k < (s < asked->states ? asked->branch : 1); k++) {
                const int64_t times = 1 + (int64_t)nadir_random_below(&random, (uint64_t)(2 * asked->visits));
                const int64_t to = s < asked->states ? (s + k * k + a * k + 1) % asked->states
                                                     : s; /* the isolated ones stay */
                for (int64_t i = 0; i < (asked->noise > 0 ? times : 1); i++) {
                    const nadir_data_row row = {
                        .there =
                            1U << NADIR_DATA_SUCCESSOR | 1U << NADIR_DATA_REWARD | 1U << NADIR_DATA_COUNT,
                        .state = s,
                        .action = a,
                        .successor = to,
                        .reward = base + (asked->landing ? 0.3 * (double)(to % 5) * base : 0) +
                                  asked->noise * nadir_random_normal(&random),
                        .count = asked->noise > 0 ? 1 : (double)times};
                    assert_ok(context, nadir_data_collect(&collector, &row));
                }
            }
        }
    }
    assert_ok(context, nadir_data_collect_end(&collector));
    assert_ok(context, nadir_counts_make(&collector, &data.counts));
    nadir_data_collector_clear(&collector);
    nadir_fit_settings_default(&settings);
    settings.discount = asked->discount > 0 ? asked->discount : 0.9;
    settings.successors = asked->successors != NULL ? asked->successors : "seen";
    settings.frozen_rewards = !asked->landing;
    assert_ok(context, nadir_fit_create(context, &data, &listed, &settings, &fit));
    for (int64_t s = 0; s < asked->states + asked->isolated; s++) {
        nadir_fit_nominal(fit)->initial[s] = s < asked->states ? 1 / (double)asked->states : 0;
    }
    return fit;
}

/* A policy that takes every row. */
static nadir_policy *mixed(nadir_context *context, const nadir_model *model, nadir_random *random)
{
    nadir_policy *policy = NULL;
    assert_ok(context, nadir_policy_create_blank(context, model, &policy));
    for (int64_t s = 0; s < model->states; s++) {
        double sum = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            policy->probabilities[row] = 0.2 + nadir_random_uniform(random);
            sum += policy->probabilities[row];
        }
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            policy->probabilities[row] /= sum;
        }
    }
    return policy;
}

/* ---- The objective ---- */

/* Along a direction that keeps sums, by central differences: 1e-6 of the slope. */
static void test_slope(void **state)
{
    static const shape shapes[] = {
        {.states = 7, .actions = 3, .branch = 3, .visits = 8},
        {.states = 6, .actions = 2, .branch = 3, .visits = 5, .landing = true, .noise = 1},
        {.states = 5, .actions = 3, .branch = 2, .visits = 4, .successors = "all"}};
    nadir_context *context = *state;
    nadir_random random = test_random(seed);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        nadir_fit *fit = make_fit(context, &shapes[i], i);
        nadir_return_problem problem;
        nadir_return_measure measure;
        assert_ok(context, nadir_return_problem_make(context, fit, &problem));
        assert_ok(context, nadir_return_measure_make(context, &problem, &measure));
        const nadir_model *model = problem.model;
        nadir_policy *policy = mixed(context, model, &random);
        nadir_policy *other = mixed(context, model, &random);
        nadir_policy *moved = mixed(context, model, &random);
        double *slope = calloc((size_t)model->rows, sizeof *slope);
        for (int k = 0; k < 3; k++) {
            const double z = 1.3 * k;
            const double h = 1e-5;
            double sides[2];
            double predicted = 0;
            assert_ok(context, nadir_return_measure_take(context, &problem, policy, &measure));
            assert_ok(context, nadir_return_slope(context, &problem, policy, &measure, z, slope));
            for (int64_t row = 0; row < model->rows; row++) {
                predicted += slope[row] * (other->probabilities[row] - policy->probabilities[row]);
            }
            for (int side = 0; side < 2; side++) {
                for (int64_t row = 0; row < model->rows; row++) {
                    moved->probabilities[row] =
                        policy->probabilities[row] +
                        (side == 0 ? -h : h) * (other->probabilities[row] - policy->probabilities[row]);
                }
                assert_ok(context, nadir_return_measure_take(context, &problem, moved, &measure));
                sides[side] = measure.J - z * sqrt(measure.f);
            }
            const double found = (sides[1] - sides[0]) / (2 * h);
            assert_that(fabs(found - predicted) <= 1e-6 * fabs(found) + 1e-8,
                        "shape %zu, z %g: %.12g is %.12g", i, z, predicted, found);
        }
        free(slope);
        nadir_policy_free(policy);
        nadir_policy_free(other);
        nadir_policy_free(moved);
        nadir_return_measure_clear(context, &measure);
        nadir_return_problem_clear(context, &problem);
        nadir_fit_free(fit);
    }
}

/* No policy that differs in one state by one row, or by a mixture, is better. */
static void test_ascent(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(seed);
    nadir_fit *fit = make_fit(context, &(shape){.states = 8, .actions = 3, .branch = 3, .visits = 6}, 11);
    nadir_return_problem problem;
    nadir_return_measure measure;
    nadir_policy *policy = NULL;
    assert_ok(context, nadir_return_problem_make(context, fit, &problem));
    assert_ok(context, nadir_return_measure_make(context, &problem, &measure));
    assert_ok(context, nadir_return_nominal(context, &problem, &policy));
    for (double z = 0; z < 3; z += 1.5) {
        assert_ok(context, nadir_return_ascend(context, &problem, z, policy));
        assert_ok(context, nadir_return_measure_take(context, &problem, policy, &measure));
        const double best = measure.J - z * sqrt(measure.f);
        nadir_policy *other = mixed(context, problem.model, &random);
        for (int k = 0; k < 200; k++) {
            memcpy(other->probabilities, policy->probabilities, (size_t)policy->rows * sizeof(double));
            const int64_t s = (int64_t)nadir_random_below(&random, 8);
            const int64_t a = (int64_t)nadir_random_below(&random, 3);
            const double share = k % 2 == 0 ? 1 : nadir_random_uniform(&random);
            for (int64_t row = 3 * s; row < 3 * s + 3; row++) {
                other->probabilities[row] *= 1 - share;
            }
            other->probabilities[3 * s + a] += share;
            assert_ok(context, nadir_return_measure_take(context, &problem, other, &measure));
            assert_that(measure.J - z * sqrt(measure.f) <= best + 1e-4 * sqrt(measure.f),
                        "z %g: %.12g above %.12g", z, measure.J - z * sqrt(measure.f), best);
        }
        nadir_policy_free(other);
    }
    nadir_policy_free(policy);
    nadir_return_measure_clear(context, &measure);
    nadir_return_problem_clear(context, &problem);
    nadir_fit_free(fit);
}

/* ---- Draws ---- */

typedef struct drawn {
    nadir_return_problem problem;
    nadir_return_measure measure;
    nadir_policy *policy;
} drawn;

static drawn start_draws(nadir_context *context, const nadir_fit *fit)
{
    drawn made = {.policy = NULL};
    assert_ok(context, nadir_return_problem_make(context, fit, &made.problem));
    assert_ok(context, nadir_return_measure_make(context, &made.problem, &made.measure));
    assert_ok(context, nadir_return_nominal(context, &made.problem, &made.policy));
    assert_ok(context, nadir_return_measure_take(context, &made.problem, made.policy, &made.measure));
    return made;
}

static void end_draws(nadir_context *context, drawn *made, nadir_fit *fit)
{
    nadir_policy_free(made->policy);
    nadir_return_measure_clear(context, &made->measure);
    nadir_return_problem_clear(context, &made->problem);
    nadir_fit_free(fit);
}

static double *take(nadir_context *context, const drawn *from, int64_t count, const int32_t *worst_of,
                    double tolerance)
{
    double *returns = calloc((size_t)count, sizeof *returns);
    const nadir_return_draws draws = {
        .count = count, .seed = 5, .worst_of = worst_of, .tolerance = tolerance};
    assert_ok(context,
              nadir_return_draw(context, &from->problem, from->policy, &from->measure, &draws, returns));
    return returns;
}

/* One state that stays with probability p or goes to one that pays 0 for ever: J = 1 / (1 - gamma p), and the
 * posterior of p is a beta distribution: with prior weight 1 + 2 visits of 4, Beta(3, 3), whose distribution function
 * is 10 p^3 - 15 p^4 + 6 p^5. Cautious draws of the one row have half a visit more: Beta(2, 2.5), 1 - q^2.5 (3.5 - 2.5 q),
 * q = 1 - p, and the worse of two of them. */
static void test_exact_distribution(void **state)
{
    nadir_context *context = *state;
    const int count = test_often(20000);
    nadir_fit *fit = NULL;
    nadir_fit_settings settings;
    nadir_fit_settings_default(&settings);
    settings.discount = 0.9;
    settings.successors = "seen";
    settings.initial = "0";
    test_write_file("two.csv",
                    "state,action,next_state,reward\n0,0,0,1\n0,0,1,1\n0,0,0,1\n0,0,1,1\n1,0,1,0\n");
    assert_ok(context, nadir_fit_read(context, "two.csv", &settings, &fit));
    drawn from = start_draws(context, fit);
    static const int32_t ones[] = {1, 1};
    static const int32_t twos[] = {2, 2};
    static const int32_t *const worst_of[] = {NULL, ones, twos};
    for (int how = 0; how < 3; how++) {
        double *returns = take(context, &from, count, worst_of[how], 1e-6);
        for (int i = 1; i < 10; i++) {
            int below = 0;
            for (int k = 0; k < count; k++) {
                below += (1 - 1 / returns[k]) / 0.9 < 0.1 * i ? 1 : 0;
            }
            const double p = 0.1 * i;
            const double single =
                how == 0 ? p * p * p * (10 - 15 * p + 6 * p * p) : 1 - pow(1 - p, 2.5) * (1 + 2.5 * p);
            const double exact = how == 2 ? 1 - (1 - single) * (1 - single) : single;
            assert_that(fabs(below / (double)count - exact) < 5 * sqrt(0.25 / count),
                        "kind %d, below %g: %d of %d, not %g", how, p, below, count, exact);
        }
        free(returns);
    }
    end_draws(context, &from, fit);
}

/* Two states as above that begin as often: each has half of the variance. The largest of two normal variates has the
 * variance 1 - 1/pi, that of three 1 + sqrt(3)/(2 pi) - 9/(4 pi). */
static void test_caution(void **state)
{
    const double variances[] = {1, 1 - 1 / M_PI, 1 + sqrt(3) / (2 * M_PI) - 9 / (4 * M_PI)};
    nadir_context *context = *state;
    nadir_fit *fit = NULL;
    nadir_fit_settings settings;
    nadir_fit_settings_default(&settings);
    settings.discount = 0.9;
    settings.successors = "seen";
    test_write_file("pair.csv",
                    "state,action,next_state,reward\n0,0,0,1\n0,0,2,1\n0,0,0,1\n1,0,1,1\n1,0,2,1\n1,0,1,1\n"
                    "2,0,2,0\n");
    assert_ok(context, nadir_fit_read(context, "pair.csv", &settings, &fit));
    drawn from = start_draws(context, fit);
    for (int32_t k = 1; k <= 3; k++) {
        const int32_t worst_of[] = {k, k, 1};
        const nadir_return_draws draws = {.count = 8, .worst_of = worst_of, .tolerance = 1e-3};
        nadir_draw_plan plan = {
            .context = context, .problem = &from.problem, .measure = &from.measure, .draws = &draws};
        assert_ok(context, nadir_draw_plan_make(from.policy->probabilities, &plan));
        for (int64_t i = 0; i < 2; i++) {
            const int64_t first = plan.rows[i].first;
            const double v = variances[k - 1];
            assert_that(plan.columns[first + 1] == 2 && plan.shapes[first] == 2, "entries of row %lld",
                        (long long)i);
            assert_close(plan.shapes[first + 1], 1 + 0.5 * (1 - v + 0.5 * v), 1e-9);
        }
        nadir_draw_plan_clear(context, &plan);
    }
    end_draws(context, &from, fit);
}

/* The distribution function of Beta(2, 2.5), outside of [0, 1] too. */
static double beta_below(double p)
{
    return p <= 0 ? 0 : p >= 1 ? 1 : 1 - pow(1 - p, 2.5) * (1 + 2.5 * p);
}

/* A state as in test_exact_distribution with three rows, of 4, 4 and 400 visits. The first is taken: it is as lucky as the
 * luckier of two, and luckier than the third, whose deviation is a small share of its own. */
static void test_better_known_rivals(void **state)
{
    enum { STEPS = 4000 };
    nadir_context *context = *state;
    const int count = test_often(20000);
    const int32_t three[] = {3, 1};
    const bool tied[] = {true, true, true, true};
    nadir_fit *fit = NULL;
    nadir_fit_settings settings;
    nadir_fit_settings_default(&settings);
    settings.discount = 0.9;
    settings.successors = "seen";
    settings.initial = "0";
    settings.ragged = true;
    test_write_file("three.csv",
                    "state,action,next_state,count,reward\n0,0,0,2,1\n0,0,1,2,1\n0,1,0,2,1\n0,1,1,2,1\n"
                    "0,2,0,200,1\n0,2,1,200,1\n1,0,1,1,0\n");
    assert_ok(context, nadir_fit_read(context, "three.csv", &settings, &fit));
    drawn from = start_draws(context, fit);
    for (int64_t row = 0; row < 3; row++) {
        from.policy->probabilities[row] = row == 0 ? 1 : 0;
    }
    assert_ok(context, nadir_return_measure_take(context, &from.problem, from.policy, &from.measure));
    const double ratio = sqrt(from.measure.U[2] / from.measure.U[0]);
    const nadir_return_draws draws = {
        .count = count, .seed = 5, .worst_of = three, .tied = tied, .tolerance = 1e-6};
    double *returns = calloc((size_t)count, sizeof *returns);
    assert_ok(context,
              nadir_return_draw(context, &from.problem, from.policy, &from.measure, &draws, returns));
    const double mean = 2 / 4.5;
    double exact[STEPS + 1] = {0};
    for (int i = 0; i < STEPS; i++) { /* the worse of two at p, times that the third was less lucky */
        const double p = (i + 0.5) / STEPS;
        const double density = p * pow(1 - p, 1.5) * (1 - beta_below(p));
        exact[i + 1] = exact[i] + density * (1 - beta_below(mean - (mean - p) / ratio));
    }
    assert_that(ratio > 0.05 && ratio < 0.2, "ratio %g", ratio);
    for (int i = 1; i < 10; i++) {
        int below = 0;
        for (int k = 0; k < count; k++) {
            below += (1 - 1 / returns[k]) / 0.9 < 0.1 * i ? 1 : 0;
        }
        const double share = exact[STEPS / 10 * i] / exact[STEPS];
        assert_that(fabs(below / (double)count - share) < 5 * sqrt(0.25 / count) + 1e-3,
                    "below %g: %d of %d, not %g", 0.1 * i, below, count, share);
    }
    free(returns);
    end_draws(context, &from, fit);
}

/* A reward that varies, of a state that stays: its mean is drawn from Student's distribution. */
static void test_noise(void **state)
{
    nadir_context *context = *state;
    const int count = test_often(20000);
    nadir_fit *fit = NULL;
    nadir_fit_settings settings;
    nadir_fit_settings_default(&settings);
    settings.discount = 0.5;
    settings.successors = "seen";
    /* mean 2, sum of squares 10 with 4 degrees of freedom: with 4 of the prior 20 of 8, so that the variance of the
     * mean is 20 / 5 / (8 - 2) */
    test_write_file("one.csv",
                    "state,action,next_state,reward\n0,0,0,0\n0,0,0,1\n0,0,0,2\n0,0,0,3\n0,0,0,4\n");
    assert_ok(context, nadir_fit_read(context, "one.csv", &settings, &fit));
    drawn from = start_draws(context, fit);
    double *returns = take(context, &from, count, NULL, 1e-6);
    double mean = 0;
    double square = 0;
    for (int k = 0; k < count; k++) {
        mean += returns[k] / 2 / count;
        square += (returns[k] / 2 - 2) * (returns[k] / 2 - 2) / count;
    }
    const double variance = 20.0 / 5 / 6;
    assert_that(fabs(mean - 2) < 6 * sqrt(variance / count), "mean %g", mean);
    assert_that(fabs(square - variance) < 8 * variance * sqrt(3.5 / count), "variance %g, not %g", square,
                variance);
    assert_that(fabs(from.measure.f - 4 * variance) < 1e-9, "f %g", from.measure.f);
    free(returns);
    end_draws(context, &from, fit);
}

/* Elimination, iteration and the library's solver give the same returns; threads change no bit. Two successors a row mix
 * too slowly for sweeps. */
static void check_solvers(nadir_context *context, int64_t branch, const int32_t *worst_of)
{
    nadir_context *threads = test_context_threads(2);
    const int count = 67;
    const shape shapes[2] = {
        {.states = 46, .actions = 2, .branch = branch, .visits = 6, .landing = true, .discount = 0.99},
        {.states = 46,
         .actions = 2,
         .branch = branch,
         .visits = 6,
         .landing = true,
         .isolated = 4,
         .discount = 0.99}};
    double *returns[4];
    double deviation = 0;
    for (int i = 0; i < 4; i++) {
        nadir_context *use = i == 3 ? threads : context;
        nadir_fit *fit = make_fit(use, &shapes[i > 0 ? 1 : 0], 3);
        drawn from = start_draws(use, fit);
        deviation = sqrt(from.measure.f);
        returns[i] =
            take(use, &from, count, worst_of, i == 2 ? 0 : 1e-6); /* none is within 0: all by the library */
        end_draws(use, &from, fit);
    }
    for (int k = 0; k < count; k++) {
        assert_that(fabs(returns[0][k] - returns[1][k]) <= 2e-6 * deviation, "draw %d: %.12g and %.12g", k,
                    returns[0][k], returns[1][k]);
        assert_that(fabs(returns[2][k] - returns[1][k]) <= 2e-6 * deviation, "draw %d: %.12g and %.12g", k,
                    returns[2][k], returns[1][k]);
        assert_that(returns[3][k] == returns[1][k], "draw %d: threads %.17g and %.17g", k, returns[3][k],
                    returns[1][k]);
    }
    for (int i = 0; i < 4; i++) {
        free(returns[i]);
    }
    nadir_context_free(threads);
}

static void test_solvers(void **state)
{
    int32_t worst_of[50];
    for (int i = 0; i < 50; i++) {
        worst_of[i] = 1 + i % 3;
    }
    check_solvers(*state, 3, NULL);
    check_solvers(*state, 4, worst_of);
    check_solvers(*state, 2, NULL);
}

/* With much data the draws have mean J and deviation sqrt(f); where all states are possible too. */
static void test_first_order(void **state)
{
    static const shape shapes[] = {
        {.states = 12, .actions = 2, .branch = 3, .visits = 400},
        {.states = 60, .actions = 2, .branch = 4, .visits = 4000, .successors = "all"}};
    nadir_context *context = *state;
    for (int i = 0; i < (test_memcheck() ? 1 : 2); i++) {
        const int count = test_often(4000);
        nadir_fit *fit = make_fit(context, &shapes[i], 21);
        drawn from = start_draws(context, fit);
        for (int cautious = 0; cautious < (i == 0 ? 2 : 1); cautious++) {
            const int32_t ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
            double *returns = take(context, &from, count, cautious == 1 ? ones : NULL, 1e-6);
            double mean = 0;
            double square = 0;
            for (int k = 0; k < count; k++) {
                mean += (returns[k] - from.measure.J) / count;
                square += (returns[k] - from.measure.J) * (returns[k] - from.measure.J) / count;
            }
            const double deviation = sqrt(from.measure.f);
            assert_that(fabs(mean) < (cautious == 1 ? 0.5 : 0.1) * deviation, "mean off by %g of %g", mean,
                        deviation);
            assert_that(fabs(sqrt(square - mean * mean) / deviation - 1) < 5 / sqrt(2.0 * count) + 0.02,
                        "deviation %g, not %g", sqrt(square - mean * mean), deviation);
            free(returns);
        }
        end_draws(context, &from, fit);
    }
}

/* ---- Ranks, tails, prices ---- */

static void test_ranks(void **state)
{
    (void)state;
    assert_that(nadir_return_rank(10000, 0.05, 0.01) == 450, "rank %lld",
                (long long)nadir_return_rank(10000, 0.05, 0.01));
    for (int count = 1; count < 60; count++) {
        double term = pow(0.8, count); /* P(Bin = 0) */
        double below = 0;
        int64_t rank = 0;
        for (int k = 0; k < count && below + term <= 0.01; k++) {
            below += term;
            rank = k + 1;
            term *= (double)(count - k) / (k + 1) * 0.25;
        }
        assert_that(nadir_return_rank(count, 0.2, 0.01) == rank, "of %d: %lld, not %lld", count,
                    (long long)nadir_return_rank(count, 0.2, 0.01), (long long)rank);
    }
    assert_that(fabs(nadir_normal_quantile(0.05) - 1.6448536269514722) < 1e-12, "z");
    assert_that(fabs(nadir_normal_quantile(1e-20) - 9.262340089798408) < 1e-10, "far z");
    assert_that(fabs(nadir_normal_tail(2) - 0.022750131948179195) < 1e-15, "tail");
}

/* Forty states with two rows each: far apart, at the limit of three deviations of the difference, barred. */
static void test_ties(void **state)
{
    nadir_context *context = *state;
    nadir_fit *fit = make_fit(context, &(shape){.states = 40, .actions = 2, .branch = 2, .visits = 8}, 31);
    drawn from = start_draws(context, fit);
    int32_t tied[40];
    bool rivals[80];
    for (int64_t row = 0; row < 80; row++) {
        from.measure.U[row] = row % 2 == 0 ? 9 : 16;
        from.policy->probabilities[row] = row % 2 == 0 ? 1 : 0;
        from.measure.d[row / 2] = 2;
    }
    for (int near = 0; near < 2; near++) {
        for (int64_t row = 0; row < 80; row++) {
            from.measure.Q[row] = row % 2 == 0 ? 0 : near == 1 ? -14.9 : -15.1;
        }
        const int64_t ties = nadir_return_ties(&from.problem, from.policy, &from.measure, 0, tied, rivals);
        assert_that(ties == 40 * near && tied[0] == 1 + near && tied[39] == 1 + near, "%lld ties",
                    (long long)ties);
        assert_that(rivals[78] && rivals[79] == (near == 1), "rivals of %d", near);
    }
    from.problem.taken[1] = false;
    assert_int_equal(nadir_return_ties(&from.problem, from.policy, &from.measure, 0, tied, rivals), 39);
    /* with z the scores are Q - z d U / (2 sqrt(f)): 7 deviations less for the other row at sqrt(f) = 2, z = 2 */
    from.problem.taken[1] = true;
    from.measure.f = 4;
    assert_int_equal(nadir_return_ties(&from.problem, from.policy, &from.measure, 2, tied, rivals), 0);
    /* both taken: they are tied, whatever their worth; evenly, nothing was chosen */
    from.policy->probabilities[0] = from.policy->probabilities[1] = 0.5;
    from.policy->probabilities[2] = 0.6;
    from.policy->probabilities[3] = 0.4;
    from.measure.Q[1] = from.measure.Q[3] = -1e9;
    assert_int_equal(nadir_return_ties(&from.problem, from.policy, &from.measure, 2, tied, rivals), 2);
    assert_that(tied[0] == 1 && tied[1] == 2 && tied[2] == 1, "%d, %d, %d", tied[0], tied[1], tied[2]);
    end_draws(context, &from, fit);
}

/* ---- Several policies ---- */

enum { COMPARED = 4 };

/* The bound from its definition: the largest value that is above the quantile of the draws with a probability of at most
 * the risk; at most what returns may be off apart. */
static void check_bound(int64_t draws, const double *x, const double *y, int64_t statements, double error,
                        double bound)
{
    double *values = malloc((size_t)draws * sizeof *values);
    assert_non_null(values);
    for (int64_t k = 0; k < draws; k++) {
        values[k] = x[k] - (y != NULL ? y[k] : 0);
    }
    const double level = 0.05 / (double)statements;
    const int64_t rank = nadir_return_rank(draws, level, 0.01 / (double)statements);
    const double quantile = nadir_order_statistic(draws, values, rank);
    assert_that(bound <= quantile && bound >= quantile - error, "%g for %g", bound, quantile);
    free(values);
}

/* Each policy as if it were alone, on the same draws; differences from these; equal policies do not differ; what is called
 * the best. */
static void test_compare(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(seed + 61);
    nadir_fit *fit = make_fit(context, &(shape){.states = 9, .actions = 3, .branch = 3, .visits = 12}, 61);
    nadir_policy *policies[COMPARED];
    nadir_fit_return_result alone[COMPARED];
    nadir_fit_comparison found = {.size = sizeof found};
    double nominal[COMPARED], guaranteed[COMPARED], together[COMPARED], lead[COMPARED];
    double lower[COMPARED * COMPARED];
    const nadir_random before = context->random;
    double error = 0;
    for (int i = 0; i < COMPARED; i++) {
        policies[i] = mixed(context, nadir_fit_nominal(fit), &random);
    }
    memcpy(policies[3]->probabilities, policies[1]->probabilities, 27 * sizeof(double));
    for (int i = 0; i < COMPARED; i++) {
        alone[i] = (nadir_fit_return_result){.size = sizeof alone[i]};
        context->random = before;
        assert_ok(context, nadir_fit_return(context, fit, policies[i], &alone[i], NULL, NULL));
        error = fmax(error, 2.001e-3 * alone[i].deviation);
    }
    const int64_t draws = nadir_fit_draws(fit, COMPARED);
    double *returns = malloc(COMPARED * (size_t)draws * sizeof *returns);
    assert_non_null(returns);
    context->random = before;
    assert_ok(context, nadir_fit_compare(context, fit, COMPARED, (const nadir_policy *const *)policies,
                                         &found, nominal, guaranteed, together, lead, lower, returns));
    assert_that(found.draws == draws && draws == alone[0].draws, "%lld draws", (long long)draws);
    for (int i = 0; i < COMPARED; i++) {
        const double *x = returns + i * draws;
        assert_that(guaranteed[i] == alone[i].guaranteed && nominal[i] == alone[i].nominal_return,
                    "policy %d: %g, alone %g", i, guaranteed[i], alone[i].guaranteed);
        check_bound(draws, x, NULL, COMPARED, error, together[i]);
        for (int j = 0; j < COMPARED; j++) {
            const bool same = i == j || i % 2 + j % 2 == 2;
            if (same) {
                assert_that(lower[i * COMPARED + j] == 0, "%d less %d: %g", i, j, lower[i * COMPARED + j]);
            } else {
                check_bound(draws, x, returns + j * draws, 1, error, lower[i * COMPARED + j]);
                assert_that(lower[i * COMPARED + j] <= -lower[j * COMPARED + i], "%d, %d", i, j);
            }
        }
        assert_that(nominal[found.best] >= nominal[i], "%d is better than the best", i);
    }
    bool decided = true;
    for (int i = 0; i < COMPARED; i++) {
        const bool same = i == found.best || i % 2 + found.best % 2 == 2;
        if (!same) {
            check_bound(draws, returns + found.best * draws, returns + i * draws, COMPARED - 1, error,
                        lead[i]);
        }
        decided = decided && (i == found.best || lead[i] > 0);
    }
    assert_that(decided == found.decided, "decided: %d", found.decided);
    free(returns);
    for (int i = 0; i < COMPARED; i++) {
        nadir_policy_free(policies[i]);
    }
    assert_int_equal(nadir_fit_compare(context, fit, 0, NULL, &found, NULL, NULL, NULL, NULL, NULL, NULL),
                     NADIR_ERROR_ARGUMENT);
    nadir_fit_free(fit);
}

/* ---- The whole ---- */

static void test_statement(void **state)
{
    nadir_context *context = *state;
    const shape asked = {.states = 9, .actions = 3, .branch = 3, .visits = 12};
    nadir_fit *fit = make_fit(context, &asked, 41);
    nadir_fit_return_result found = {.size = sizeof found};
    nadir_fit_return_result given = {.size = sizeof given};
    nadir_policy *policy = NULL;
    nadir_model *model = NULL;
    nadir_model_data view;
    assert_ok(context, nadir_fit_return(context, fit, NULL, &found, &policy, &model));
    assert_that(found.guaranteed <= found.posterior_bound && found.posterior_bound < found.nominal_return,
                "%g, %g, %g", found.guaranteed, found.posterior_bound, found.nominal_return);
    assert_that(found.level_used <= 0.05 && found.level_used > 0, "level %g", found.level_used);
    assert_that(found.radius > 0 && fabs(found.radius_lower_bound - found.guaranteed) <=
                                        1e-4 * (found.nominal_return - found.guaranteed),
                "radius %g: %g, not %g", found.radius, found.radius_lower_bound, found.guaranteed);
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    assert_that(view.radius_count == 1 && view.radius[0] == found.radius, "the model has the radius");
    assert_that(view.promise == NADIR_BALL_OF_RETURN && view.confidence == 0.95 && view.unobserved != NULL,
                "the model says what its ball is for");
    /* the rows that are tied are as many as were counted, and none is the one that its state takes most */
    unsigned char tied[27];
    int64_t ties = 0;
    assert_ok(context, nadir_fit_ties(context, fit, policy, found.weight, tied));
    for (int64_t row = 0; row < 27; row++) {
        ties += tied[row];
        assert_that(!tied[row] || policy->probabilities[row] <= 0.5, "row %lld", (long long)row);
    }
    assert_int_equal(ties, found.ties);
    /* the same policy from elsewhere: no price, and so no less */
    assert_ok(context, nadir_fit_return(context, fit, policy, &given, NULL, NULL));
    assert_that(given.guaranteed == given.posterior_bound && given.ties == 0 && isnan(given.weight), "given");
    assert_that(given.guaranteed >= found.guaranteed - 0.1 * found.deviation, "%g below %g", given.guaranteed,
                found.guaranteed);
    assert_that(fabs(given.nominal_return - found.nominal_return) < 1e-12 * fabs(found.nominal_return),
                "return");
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_fit_free(fit);
}

/* Rows without data are not taken where others are, and stay at the lowest reward where none is. */
static void test_unvisited(void **state)
{
    nadir_context *context = *state;
    nadir_fit *fit = NULL;
    nadir_fit_settings settings;
    nadir_fit_return_result found = {.size = sizeof found};
    nadir_policy *policy = NULL;
    nadir_fit_settings_default(&settings);
    settings.discount = 0.9;
    settings.states = 3;
    settings.actions = 2;
    test_write_file("few.csv", "state,action,next_state,reward\n0,0,0,-1\n0,0,1,-1\n1,1,0,2\n1,1,1,2\n");
    assert_ok(context, nadir_fit_read(context, "few.csv", &settings, &fit));
    assert_ok(context, nadir_fit_return(context, fit, NULL, &found, &policy, NULL));
    assert_that(policy->probabilities[0] == 1 && policy->probabilities[3] == 1,
                "an unvisited row was chosen");
    assert_that(found.rows_barred == 2, "%lld barred", (long long)found.rows_barred);
    assert_that(nadir_fit_nominal(fit)->rewards[4] == -1 && found.guaranteed >= -10, "rewards, %g",
                found.guaranteed);
    nadir_policy_free(policy);
    nadir_fit_free(fit);
}

/* Data of twice the size: visits as told lower the penalty as predicted, and more than even ones. */
static void test_more(void **state)
{
    nadir_context *context = *state;
    const shape asked = {.states = 10, .actions = 2, .branch = 3, .visits = 40};
    nadir_fit *fit = make_fit(context, &asked, 51);
    nadir_fit_return_result found = {.size = sizeof found};
    nadir_fit_more_result more = {.size = sizeof more};
    nadir_fit_more_result target = {.size = sizeof target};
    nadir_policy *policy = NULL;
    double visits[20];
    double again[20];
    double share[20];
    double sum = 0;
    assert_ok(context, nadir_fit_return(context, fit, NULL, &found, &policy, NULL));
    assert_ok(context, nadir_fit_more(context, fit, policy, &found, 500, NAN, &more, visits, share));
    for (int row = 0; row < 20; row++) {
        sum += share[row];
        assert_that(visits[row] >= 0, "row %d: %g", row, visits[row]);
    }
    assert_that(fabs(sum - 1) < 1e-9 && fabs(more.visits - 500) < 1e-6, "shares %g, visits %g", sum,
                more.visits);
    assert_that(more.penalty_told <= more.penalty_even && more.penalty_told <= more.penalty_as_before,
                "order");
    assert_ok(context,
              nadir_fit_more(context, fit, policy, &found, NAN, more.penalty_told, &target, again, share));
    assert_that(fabs(target.visits - 500) < 1e-3, "%g visits", target.visits);
    assert_int_equal(nadir_fit_more(context, fit, policy, &found, -1, NAN, &target, again, share),
                     NADIR_ERROR_ARGUMENT);
    nadir_policy_free(policy);
    nadir_fit_free(fit);
}

/* Adds `visits` of each row of the truth, drawn, to the counts. counts: [nonzeros] */
static void simulate(const nadir_model *truth, const double *visits, nadir_random *random, double *counts)
{
    int64_t first = 0;
    for (int64_t row = 0; row < truth->rows; row++) {
        const nadir_row entries = nadir_model_row(truth, row);
        for (int64_t k = 0; k < (int64_t)(visits[row] + 0.5); k++) {
            double left = nadir_random_uniform(random);
            int64_t i = 0;
            while (i + 1 < entries.count && (left -= entries.values[i]) >= 0) {
                i++;
            }
            counts[first + i]++;
        }
        first += entries.count;
    }
}

static nadir_fit *fit_counts(nadir_context *context, const nadir_model *truth, const double *counts)
{
    nadir_fit *fit = NULL;
    nadir_fit_settings settings;
    FILE *file = fopen("counts.csv", "w");
    FILE *list = fopen("list.csv", "w");
    int64_t first = 0;
    assert_true(file != NULL && list != NULL);
    (void)fprintf(file, "state,action,next_state,reward,count\n");
    (void)fprintf(list, "state,action,next_state\n");
    for (int64_t row = 0; row < truth->rows; row++) {
        const nadir_row entries = nadir_model_row(truth, row);
        const int64_t state = nadir_model_row_state(truth, row);
        for (int64_t i = 0; i < entries.count; i++) {
            if (entries.values[i] > 0) {
                const long long action = (long long)(row - truth->state_rows[state]);
                const long long to = (long long)nadir_row_column(&entries, i);
                (void)fprintf(file, "%lld,%lld,%lld,%.17g,%.17g\n", (long long)state, action, to,
                              truth->rewards[row], counts[first + i]);
                (void)fprintf(list, "%lld,%lld,%lld\n", (long long)state, action, to);
            }
        }
        first += entries.count;
    }
    (void)fclose(file);
    (void)fclose(list);
    nadir_fit_settings_default(&settings);
    settings.discount = truth->discount;
    settings.frozen_rewards = true;
    settings.samples = 4000;
    settings.successors = "list.csv";
    assert_ok(context, nadir_fit_read(context, "counts.csv", &settings, &fit));
    return fit;
}

/* The penalty of a policy after visits beside those of `before`; means of several draws. */
static double penalty_after(nadir_context *context, const nadir_model *truth, const nadir_policy *policy,
                            const double *before, const double *visits, nadir_random *random)
{
    double counts[128];
    nadir_fit_return_result found = {.size = sizeof found};
    assert_true(truth->rows * truth->states <= 128);
    memcpy(counts, before, sizeof counts);
    simulate(truth, visits, random, counts);
    nadir_fit *fit = fit_counts(context, truth, counts);
    assert_ok(context, nadir_fit_return(context, fit, policy, &found, NULL, NULL));
    nadir_fit_free(fit);
    return found.nominal_return - found.posterior_bound;
}

/* RiverSwim, 100 visits of every row, half as many again: the policy held, what is left of the penalty is within 0.05 of
 * the prediction, and at most 0.75 times that of even sampling. */
static void test_more_simulated(void **state)
{
    enum { ROWS = 12, SETS = 12 };
    nadir_context *context = *state;
    nadir_random random = test_random(seed + 77);
    nadir_model *truth = NULL;
    nadir_generate_settings settings;
    double told = 0;
    double predicted = 0;
    double even = 0;
    nadir_generate_settings_default(&settings);
    truth = test_generate(context, "riverswim", &settings);
    assert_int_equal(truth->rows, ROWS);
    for (int set = 0; set < SETS; set++) {
        double counts[128] = {0};
        double visits[ROWS];
        double share[ROWS];
        nadir_fit_return_result found = {.size = sizeof found};
        nadir_fit_more_result more = {.size = sizeof more};
        nadir_policy *policy = NULL;
        for (int row = 0; row < ROWS; row++) {
            visits[row] = 100;
        }
        simulate(truth, visits, &random, counts);
        nadir_fit *fit = fit_counts(context, truth, counts);
        assert_ok(context, nadir_fit_return(context, fit, NULL, &found, &policy, NULL));
        assert_ok(context,
                  nadir_fit_more(context, fit, policy, &found, 50 * ROWS, NAN, &more, visits, share));
        const double now = found.nominal_return - found.posterior_bound;
        predicted += more.penalty_told / more.penalty / SETS;
        told += penalty_after(context, truth, policy, counts, visits, &random) / now / SETS;
        for (int row = 0; row < ROWS; row++) {
            visits[row] = 50;
        }
        even += penalty_after(context, truth, policy, counts, visits, &random) / now / SETS;
        nadir_policy_free(policy);
        nadir_fit_free(fit);
    }
    print_message("left of the penalty: %.3f as told, %.3f predicted, %.3f evenly (seed %llu)\n", told,
                  predicted, even, (unsigned long long)seed + 77);
    assert_that(fabs(told - predicted) <= 0.05 && told <= 0.75 * even, "told %g, predicted %g, even %g", told,
                predicted, even);
    nadir_model_free(truth);
}

static nadir_status attempt(nadir_context *context, const void *user)
{
    nadir_fit_return_result found = {.size = sizeof found};
    nadir_policy *policy = NULL;
    nadir_fit *fit = NULL;
    nadir_status status = nadir_fit_read(context, "few.csv", user, &fit);
    if (status == NADIR_OK) {
        status = nadir_fit_return(context, fit, NULL, &found, &policy, NULL);
    }
    nadir_policy_free(policy);
    nadir_fit_free(fit);
    return status;
}

static void test_scarce_memory(void **state)
{
    nadir_fit_settings settings;
    (void)state;
    nadir_fit_settings_default(&settings);
    settings.discount = 0.9;
    settings.samples = 200;
    test_write_file("few.csv",
                    "state,action,next_state,reward\n0,0,0,-1\n0,0,1,-1\n1,1,0,2\n1,1,1,3\n1,1,1,2\n");
    test_run_out(attempt, &settings, NULL, "fit of the return");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_slope),
        test_with_context(test_ascent),
        test_with_context(test_exact_distribution),
        test_with_context(test_caution),
        test_with_context(test_better_known_rivals),
        test_with_context(test_noise),
        test_with_context(test_solvers),
        test_with_context(test_first_order),
        cmocka_unit_test(test_ranks),
        test_with_context(test_ties),
        test_with_context(test_compare),
        test_with_context(test_statement),
        test_with_context(test_unvisited),
        test_with_context(test_more),
        test_with_context(test_more_simulated),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

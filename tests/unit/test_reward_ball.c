/* test_reward_ball.c: uncertain rewards beside an uncertain kernel, against kernels of the ball that are drawn and improved by
 * hand: no return below the bound, none below what is attained, and the closed forms. */
#include "support/support.h"

#include "core/random.h"
#include "support/problem.h"

#include <math.h>
#include <string.h>

enum { STATES = 3, ACTIONS = 2, ROWS = STATES * ACTIONS, ENTRIES = ROWS * STATES };
#define GAMMA 0.8

typedef struct instance {
    double P[ENTRIES], r[ENTRIES], pi[ROWS];
    bool landing;
    nadir_model *model;
    nadir_policy *policy;
} instance;

static void make(nadir_context *context, nadir_random *random, bool landing, instance *made)
{
    static const int64_t state_rows[] = {0, 2, 4, 6};
    double rewards[ROWS];
    made->landing = landing;
    for (int row = 0; row < ROWS; row++) {
        double sum = 0;
        rewards[row] = nadir_random_uniform(random);
        for (int t = 0; t < STATES; t++) {
            const double u = nadir_random_uniform(random);
            made->P[row * STATES + t] = u < 0.25 && t != row % STATES ? 0 : u + 0.01;
            made->r[row * STATES + t] = landing ? nadir_random_uniform(random) : rewards[row];
            sum += made->P[row * STATES + t];
        }
        for (int t = 0; t < STATES; t++) {
            made->P[row * STATES + t] /= sum;
        }
    }
    for (int s = 0; s < STATES; s++) {
        const double u = nadir_random_uniform(random);
        made->pi[2 * s] = u < 0.3 ? 1 : u;
        made->pi[2 * s + 1] = 1 - made->pi[2 * s];
    }
    nadir_model_data data = test_model_data();
    data.states = STATES;
    data.rows = ROWS;
    data.discount = GAMMA;
    data.state_rows = state_rows;
    data.dense = made->P;
    data.rewards = landing ? NULL : rewards;
    data.transition_rewards = landing ? made->r : NULL;
    made->model = test_create_model(context, &data);
    assert_ok(context, nadir_policy_create(context, made->model, made->pi, &made->policy));
}

/* J_P - rho |x_P|_q by iteration; x: [ROWS]. */
static double value_of(const instance *self, const double *P, double rho, double q, double *x)
{
    double d[STATES];
    double J = 0;
    double sum = 0;
    for (int s = 0; s < STATES; s++) {
        d[s] = 1.0 / STATES;
    }
    for (int i = 0; i < 200; i++) {
        double next[STATES] = {1.0 / STATES, 1.0 / STATES, 1.0 / STATES};
        for (int row = 0; row < ROWS; row++) {
            for (int t = 0; t < STATES; t++) {
                next[t] += GAMMA * d[row / ACTIONS] * self->pi[row] * P[row * STATES + t];
            }
        }
        memcpy(d, next, sizeof d);
    }
    for (int row = 0; row < ROWS; row++) {
        x[row] = d[row / ACTIONS] * self->pi[row];
        for (int t = 0; t < STATES; t++) {
            J += x[row] * P[row * STATES + t] * self->r[row * STATES + t];
        }
        sum = isinf(q) ? fmax(sum, x[row]) : sum + pow(x[row], q);
    }
    return J - rho * (isinf(q) ? sum : pow(sum, 1 / q));
}

/* A kernel of the L_2 ball on the support, from `from` by a random step. */
static void draw(const instance *self, nadir_random *random, const double *from, double beta, double step,
                 double *P)
{
    double square = 0;
    double shrink = 1;
    double change[ENTRIES];
    for (int row = 0; row < ROWS; row++) {
        double mean = 0;
        int count = 0;
        for (int t = 0; t < STATES; t++) {
            const int i = row * STATES + t;
            change[i] = self->P[i] > 0 ? step * nadir_random_normal(random) : 0;
            mean += change[i];
            count += self->P[i] > 0;
        }
        for (int t = 0; t < STATES; t++) {
            const int i = row * STATES + t;
            change[i] += self->P[i] > 0 ? from[i] - self->P[i] - mean / count : 0;
            square += change[i] * change[i];
        }
    }
    if (square > beta * beta) {
        shrink = beta / sqrt(square);
    }
    for (int i = 0; i < ENTRIES; i++) {
        if (shrink * change[i] < -self->P[i]) {
            shrink = -self->P[i] / change[i];
        }
    }
    for (int i = 0; i < ENTRIES; i++) {
        P[i] = self->P[i] + (1 - 1e-12) * shrink * change[i];
    }
}

static void test_attack(void **state)
{
    enum { TRIALS = 120 };
    static const double norms[] = {2, INFINITY, 1, 1.5, 4};
    nadir_context *context = *state;
    nadir_random random;
    double open = 0;
    int certified = 0;
    nadir_random_seed(&random, 501);
    for (int trial = 0; trial < TRIALS; trial++) {
        instance one;
        make(context, &random, trial % 3 == 2, &one);
        const double beta = trial % 4 == 0 ? 0 : 0.3 * nadir_random_uniform(&random);
        const double p = norms[trial % 5];
        const double q = isinf(p) ? 1 : p == 1 ? INFINITY : p / (p - 1);
        nadir_reward_ball rewards;
        nadir_reward_ball_default(&rewards);
        rewards.radius = 0.3 * nadir_random_uniform(&random);
        rewards.norm = p;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &beta, NULL);
        nadir_robust result = {.size = sizeof result};
        double change[ROWS];
        double x[ROWS];
        nadir_worst *worst = NULL;
        nadir_model *kernel = NULL;
        assert_ok(context, nadir_rewards_robust(context, one.model, one.policy, &ball, &rewards, NULL, NULL,
                                                &result, change, &worst));
        const double room = 1e-9 * fmax(result.penalty, 1e-3);
        assert_true(result.lower_bound <= result.upper_bound &&
                    result.lower_bound <= result.robust_return + room &&
                    result.robust_return <= result.upper_bound + room);
        /* attained: the kernel with these rewards, which are in their ball */
        double size = 0;
        for (int row = 0; row < ROWS; row++) {
            size = isinf(p) ? fmax(size, fabs(change[row])) : size + pow(fabs(change[row]), p);
        }
        size = isinf(p) ? size : pow(size, 1 / p);
        assert_true(size <= rewards.radius * (1 + 1e-14));
        double value;
        assert_ok(context, nadir_worst_model(context, worst, &kernel));
        assert_ok(context, nadir_returns(context, kernel, 1, nadir_policy_probabilities(one.policy), NULL,
                                         &value, NULL));
        assert_close(value, result.robust_return, 1e-10);
        /* kernels of the ball, each with its worst rewards */
        double best[ENTRIES];
        memcpy(best, one.P, sizeof best);
        double least = value_of(&one, best, rewards.radius, q, x);
        assert_true(least >= result.lower_bound - 1e-12);
        for (int i = 0; i < 3000 && beta > 0; i++) {
            double tried[ENTRIES];
            const bool anew = i % 3 == 0;
            draw(&one, &random, anew ? one.P : best, beta, anew ? beta : 0.3 * beta * exp(-0.002 * i), tried);
            const double found = value_of(&one, tried, rewards.radius, q, x);
            assert_true(found >= result.lower_bound - 1e-12);
            if (found < least) {
                least = found;
                memcpy(best, tried, sizeof best);
            }
        }
        assert_true(result.robust_return <= least + 1e-6 * fabs(least));
        if (beta == 0) {
            assert_close(result.robust_return, least, 1e-10);
        }
        if (beta == 0 || p == 1 || isinf(p)) {
            assert_true(result.certified);
        }
        certified += result.certified;
        open = fmax(open, (result.upper_bound - result.lower_bound) / result.penalty);
        nadir_model_free(kernel);
        nadir_worst_free(worst);
        nadir_policy_free(one.policy);
        nadir_model_free(one.model);
    }
    print_message("reward balls: %d of %d certified, else at most %.2g of the penalty apart\n", certified,
                  TRIALS, open);
}

static void test_refused(void **state)
{
    nadir_context *context = *state;
    nadir_random random;
    nadir_random_seed(&random, 502);
    for (int i = 0; i < 5; i++) {
        instance one;
        make(context, &random, i == 3, &one);
        const double beta = 0.1;
        nadir_robust result = {.size = sizeof result};
        nadir_reward_ball rewards;
        nadir_robust_settings settings;
        nadir_reward_ball_default(&rewards);
        nadir_robust_settings_default(&settings);
        rewards.radius = i == 0 ? -1 : 0.1;
        rewards.norm = i == 1 ? 0.5 : 2;
        settings.optimistic = i == 4;
        const nadir_ball ball =
            test_ball(NADIR_SET_NONRECT, i == 2 ? NADIR_DOMAIN_FREE : NADIR_DOMAIN_SIMPLEX, 2, &beta, NULL);
        assert_int_equal(nadir_rewards_robust(context, one.model, one.policy, &ball, &rewards, NULL,
                                              &settings, &result, NULL, NULL),
                         i < 2 ? NADIR_ERROR_ARGUMENT : NADIR_ERROR_UNSUPPORTED);
        nadir_policy_free(one.policy);
        nadir_model_free(one.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_attack),
        test_with_context(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

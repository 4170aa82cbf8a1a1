/*
 * Bounds on the return of H steps under one kernel, attacked: random models of every shape, rewards of rows and
 * rewards paid on landing, discounts from 0 to 1, all sets and norms, domains simplex and support, one policy or one
 * for each step, worst and best case. Kernels of the set are looked for that return less than the lower bound: random
 * ones, mixtures, and transfers of mass that are pulled back into the set. There is none; and the kernel reported has
 * the return reported. Returns are those of the definition, forward in time, in long double.
 *
 * Results cut bounds off at what is attained. So proofs are attacked by themselves, too: with any multiplier, and around
 * kernels that are not the worst, their bounds hold, and no kernel visits a state more often than they say.
 *
 * Sums of many steps, whose exact values are known, are within the errors stated, to the last digit.
 *
 * NADIR_ATTACKS=10 attacks 10 times as many problems.
 */
#include "support/support.h"

#include "model/policy.h"
#include "proof/horizon_bound.h"
#include "support/families.h"
#include "support/miniature.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 57721

static const double norms[] = {2, 1, 2, 1.5, 2, 3, INFINITY};
enum { NORMS = sizeof norms / sizeof *norms, PROBLEMS = 300, STEPS_MOST = 12, TRIES = 400 };

typedef struct fight {
    nadir_context *context;
    nadir_random *random;
    test_miniature tiny;
    nadir_model *model; /* the same with a discount of its own */
    int64_t steps, count;
    nadir_policy *policies[STEPS_MOST];
    nadir_ball ball;
    double radii[64];
    bool optimistic;
    test_oracle oracle;
} fight;

typedef struct tally {
    int problems, certified, second, lagrangian, missed;
} tally;

/* sum_n gamma^n d_n . R_P, times -1 for the best case. */
static double return_of(const fight *made, const double *kernel)
{
    const test_oracle *oracle = &made->oracle;
    const int64_t n = oracle->states;
    long double d[16];
    long double next[16];
    long double sum = 0;
    long double discount = 1;
    for (int64_t s = 0; s < n; s++) {
        d[s] = oracle->mu[s];
    }
    for (int64_t step = 0; step < made->steps; step++) {
        const double *pi = made->policies[made->count == 1 ? 0 : step]->probabilities;
        memset(next, 0, sizeof next);
        for (int64_t row = 0; row < oracle->rows; row++) {
            const long double share = d[oracle->row_states[row]] * pi[row];
            for (int64_t t = 0; t < n; t++) {
                const double P = kernel[row * n + t];
                sum += oracle->paid != NULL && P != 0 ? discount * share * P * oracle->paid[row * n + t] : 0;
                next[t] += share * P;
            }
            sum += oracle->paid == NULL ? discount * share * oracle->rewards[row] : 0;
        }
        memcpy(d, next, sizeof d);
        discount *= oracle->gamma;
    }
    return (double)(made->optimistic ? -sum : sum);
}

static void draw_policies(fight *made)
{
    const bool by_step = nadir_random_below(made->random, 3) == 0;
    made->count = by_step ? made->steps : 1;
    made->policies[0] = nadir_policy_retain(made->tiny.policy);
    for (int64_t step = 1; step < made->count; step++) {
        made->policies[step] =
            test_policy(made->context, made->model,
                        (test_choice)nadir_random_below(made->random, TEST_CHOICES), made->random);
    }
}

static void fight_make(fight *made, int number)
{
    static const double sizes[] = {0.003, 0.03, 0.15, 0.5, 2};
    static const double discounts[] = {1, 1, 0.9, 0.5, 0};
    nadir_model_data data;
    made->tiny = test_miniature_make(made->context, made->random, 5);
    if (number % 3 == 1) {
        test_miniature_land(made->context, made->random, number / 3, &made->tiny);
    }
    nadir_model_data_default(&data);
    nadir_model_view(made->tiny.model, &data);
    data.discount = discounts[nadir_random_below(made->random, 5)];
    data.discount = number % 3 == 1 ? fmax(data.discount, 0.5) : data.discount;
    assert_ok(made->context, nadir_model_create(made->context, &data, &made->model));
    made->steps = 1 + (int64_t)nadir_random_below(made->random, STEPS_MOST);
    made->optimistic = nadir_random_below(made->random, 4) == 0;
    draw_policies(made);
    const nadir_set set = number % 5 == 3 ? NADIR_SET_S : number % 5 == 4 ? NADIR_SET_SA : NADIR_SET_NONRECT;
    made->ball = test_ball(set, number % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT,
                           norms[number % NORMS], made->radii, NULL);
    test_draw_radii(made->random, made->model, sizes[nadir_random_below(made->random, 5)], &made->ball,
                    made->radii);
    made->oracle = test_oracle_make(made->model, made->policies[0], &made->ball);
    test_note("seed %d, number %d, %s; %s; %d steps, discount %g, %s policy, %s", SEED, number,
              made->tiny.name, test_ball_name(&made->ball), (int)made->steps, data.discount,
              made->count == 1 ? "one" : "changing", made->optimistic ? "best" : "worst");
}

static void fight_clear(fight *made)
{
    test_oracle_clear(&made->oracle);
    for (int64_t step = 0; step < made->count; step++) {
        nadir_policy_free(made->policies[step]);
    }
    nadir_model_free(made->model);
    test_miniature_clear(&made->tiny);
}

/* best + a little mass from one successor to another, or most of the way to a kernel drawn anew. */
static void draw_next(const fight *made, const double *best, double *kernel)
{
    const test_oracle *oracle = &made->oracle;
    const int64_t n = oracle->states;
    const int64_t entries = oracle->rows * n;
    if (nadir_random_below(made->random, 4) == 0) {
        const double share = pow(nadir_random_uniform(made->random), 3);
        test_oracle_random(oracle, made->random, kernel);
        for (int64_t i = 0; i < entries; i++) {
            kernel[i] = best[i] + share * (kernel[i] - best[i]);
        }
        return;
    }
    const double amount = pow(10, -5 * nadir_random_uniform(made->random));
    memcpy(kernel, best, (size_t)entries * sizeof *kernel);
    for (int k = 0; k < 3; k++) {
        const int64_t row = (int64_t)nadir_random_below(made->random, (uint64_t)oracle->rows);
        const int64_t from = (int64_t)nadir_random_below(made->random, (uint64_t)n);
        const int64_t to = (int64_t)nadir_random_below(made->random, (uint64_t)n);
        const bool allowed = oracle->domain != NADIR_DOMAIN_SUPPORT || oracle->nominal[row * n + to] > 0;
        const double moved = fmin(kernel[row * n + from], amount * nadir_random_uniform(made->random));
        if (oracle->row_balls[row] >= 0 && allowed) {
            kernel[row * n + from] -= moved;
            kernel[row * n + to] += moved;
        }
    }
    test_oracle_pull(oracle, kernel);
}

/* The lowest return found, from the nominal kernel, the one reported and random ones. */
static double attack(const fight *made, const double *reported)
{
    const test_oracle *oracle = &made->oracle;
    const int64_t entries = oracle->rows * oracle->states;
    double *best = test_new(entries, sizeof *best);
    double *kernel = test_new(entries, sizeof *kernel);
    double all = INFINITY;
    for (int start = 0; start < 4; start++) {
        memcpy(best, start == 0 ? reported : oracle->nominal, (size_t)entries * sizeof *best);
        if (start > 1) {
            test_oracle_random(oracle, made->random, best);
        }
        double lowest = return_of(made, best);
        for (int i = 0; i < TRIES; i++) {
            draw_next(made, best, kernel);
            const double found = return_of(made, kernel);
            if (found < lowest && test_oracle_excess(oracle, kernel) <= 1e-12) {
                lowest = found;
                memcpy(best, kernel, (size_t)entries * sizeof *best);
            }
        }
        all = fmin(all, lowest);
    }
    free(best);
    free(kernel);
    return all;
}

/* ------------------------------------------------------------------------------------------ proofs */

/* A kernel of the oracle, [rows * states], as one of the proofs; with values and occupancies. */
static void take_kernel(const fight *made, const nadir_horizon *horizon, const double *kernel,
                        nadir_horizon_point *point)
{
    double lower;
    double upper;
    double minimum;
    nadir_kernel *checked = NULL;
    for (int64_t row = 0; row < horizon->rows; row++) {
        for (int64_t i = horizon->starts[row]; i < horizon->starts[row + 1]; i++) {
            point->P[i] = kernel[row * horizon->states + horizon->columns[i]];
        }
    }
    assert_ok(made->context,
              nadir_horizon_check(made->context, horizon, point, &lower, &upper, &minimum, &checked));
    const double J = return_of(made, kernel);
    assert_that(lower <= J && J <= upper, "the return %.17g is not between %.17g and %.17g", J, lower, upper);
    nadir_kernel_free(checked);
}

/* No kernel of the set visits a state more often in a step. */
static void attack_occupancies(const fight *made, const nadir_horizon *horizon,
                               const nadir_horizon_bounds *bounds, nadir_horizon_point *point, double *kernel)
{
    for (int k = 0; k < 20; k++) {
        double discount = 1;
        test_oracle_random(&made->oracle, made->random, kernel);
        take_kernel(made, horizon, kernel, point);
        for (int64_t i = 0; i < made->steps * horizon->states; i++) {
            discount *= i > 0 && i % horizon->states == 0 ? horizon->gamma : 1;
            assert_that(point->d[i] <= discount * bounds->high[i] * (1 + 1e-14),
                        "step %d, state %d: %.17g visits, at most %.17g", (int)(i / horizon->states),
                        (int)(i % horizon->states), point->d[i] / discount, bounds->high[i]);
        }
    }
}

/* |J_P - J_Q - <G_Q, P - Q>| <= curvature |P - Q|^2 for kernels P of the set, norms over 1 / alpha. kernel: Q; other: work */
static void attack_curvature(const fight *made, const nadir_horizon *horizon,
                             const nadir_horizon_point *point, double curvature, const double *kernel,
                             double scale, double *other)
{
    const test_oracle *oracle = &made->oracle;
    double *G = test_new(horizon->entries, sizeof *G);
    nadir_horizon_gradient(horizon, point, false, G);
    for (int k = 0; k < 20; k++) {
        double slope = 0;
        double square = 0;
        test_oracle_random(oracle, made->random, other);
        for (int64_t row = 0; row < horizon->rows; row++) {
            for (int64_t i = horizon->starts[row];
                 i < horizon->starts[row + 1] && oracle->row_balls[row] >= 0; i++) {
                const int64_t j = row * horizon->states + horizon->columns[i];
                const double change = (other[j] - kernel[j]) / oracle->scales[row];
                slope += G[i] * (other[j] - kernel[j]);
                square += change * change;
            }
        }
        const double rest = fabs(return_of(made, other) - return_of(made, kernel) - slope);
        assert_that(rest <= curvature * square + 1e-12 * scale, "of second order is %g, at most %g", rest,
                    curvature * square);
    }
    free(G);
}

/* lowest: a return that a kernel of the set has. */
static void attack_proofs(const fight *made, const double *reported, double lowest, double scale)
{
    const test_oracle *oracle = &made->oracle;
    const bool second = oracle->p == 2 && made->ball.set == NADIR_SET_NONRECT;
    nadir_context *context = made->context;
    nadir_uncertainty set = {0};
    nadir_horizon horizon = {0};
    nadir_horizon_bounds bounds = {0};
    nadir_horizon_point point = {0};
    double *kernel = test_new(oracle->rows * oracle->states, sizeof *kernel);
    double *other = test_new(oracle->rows * oracle->states, sizeof *other);
    const double size = return_of(made, oracle->nominal) - lowest;
    assert_ok(context, nadir_uncertainty_make(context, made->model, made->policies[0], &made->ball, &set));
    assert_ok(context,
              nadir_horizon_make(context, made->model, &set, made->steps, made->count,
                                 (const nadir_policy *const *)made->policies, made->optimistic, &horizon));
    assert_ok(context, nadir_horizon_point_make(context, &horizon, &point));
    assert_ok(context, nadir_horizon_bounds_make(context, &horizon, &bounds));
    for (int k = 0; k < 4; k++) {
        double curvature;
        double lower;
        const double tau = k == 0
                               ? 0
                               : (size + 1e-3 * scale) * pow(10, 2 * nadir_random_uniform(made->random) - 1) /
                                     pow(fmin(set.radius, 1), isinf(set.p) ? 1 : set.p);
        memcpy(kernel, k == 0 ? oracle->nominal : reported,
               (size_t)(oracle->rows * oracle->states) * sizeof *kernel);
        if (k > 1) {
            test_oracle_random(oracle, made->random, kernel);
        }
        take_kernel(made, &horizon, kernel, &point);
        assert_ok(context, nadir_horizon_bounds_tighten(context, &horizon, &point, k == 0, &bounds,
                                                        second ? &curvature : NULL));
        assert_ok(context, nadir_horizon_bellman(context, &horizon, bounds.d_bar, tau, &lower));
        assert_that(lower <= lowest + 1e-15 * scale,
                    "the programme proves %.15g of tau %g, but %.15g is attained", lower, tau, lowest);
        if (second) {
            assert_ok(context, nadir_horizon_second_order(context, &horizon, &point, tau, curvature, &lower));
            assert_that(lower <= lowest + 1e-15 * scale,
                        "second order proves %.15g of tau %g, curvature %g, but %.15g is attained", lower,
                        tau, curvature, lowest);
            attack_curvature(made, &horizon, &point, curvature, kernel, scale, other);
        }
        attack_occupancies(made, &horizon, &bounds, &point, kernel);
    }
    free(kernel);
    free(other);
    nadir_horizon_bounds_clear(context, &bounds);
    nadir_horizon_point_clear(context, &point);
    nadir_horizon_clear(context, &horizon);
    nadir_uncertainty_clear(context, &set);
}

static void fight_one(const fight *made, tally *seen)
{
    const double whole = 1;
    nadir_model *worst = NULL;
    nadir_robust result = {.size = sizeof result};
    nadir_robust_settings settings = test_robust_settings();
    settings.optimistic = made->optimistic;
    const nadir_status status = nadir_horizon_robust(made->context, made->model, made->steps, made->count,
                                                     (const nadir_policy *const *)made->policies, &made->ball,
                                                     &settings, 1, &whole, &result, &worst);
    assert_that(status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED, "%s",
                nadir_context_error(made->context));
    double *kernel = test_dense_kernel(worst);
    const double nominal = return_of(made, made->oracle.nominal);
    const double sign = made->optimistic ? -1 : 1;
    const double lower = made->optimistic ? -result.upper_bound : result.lower_bound;
    const double upper = made->optimistic ? -result.lower_bound : result.upper_bound;
    const double J = sign * result.robust_return;
    double largest = fabs(nominal);
    for (int64_t i = 0; i < made->oracle.rows * made->oracle.states; i++) {
        largest = fmax(largest, made->oracle.paid != NULL && !isnan(made->oracle.paid[i])
                                    ? fabs(made->oracle.paid[i])
                                    : fabs(made->oracle.rewards[i / made->oracle.states]));
    }
    const double scale = fmax(largest, 1e-280) * (double)made->steps;
    assert_that(test_oracle_excess(&made->oracle, kernel) <= 1e-10, "the kernel is outside of the set");
    assert_close(sign * result.nominal_return / scale, nominal / scale, 1e-12);
    assert_close(J / scale, return_of(made, kernel) / scale, 1e-12);
    assert_that(lower <= J && J <= upper && J <= nominal + 1e-12 * scale, "%.17g: bounds %.17g and %.17g", J,
                lower, upper);
    assert_that(upper - J <= 1e-10 * scale, "the upper bound is %g above", upper - J);
    const double lowest = attack(made, kernel);
    assert_that(lowest >= lower - 1e-15 * scale, "%.15g is below the lower bound %.15g (%s, kappa %g)",
                lowest, lower, result.bound, result.kappa);
    attack_proofs(made, kernel, lowest, scale);
    seen->problems++;
    seen->certified += result.certified;
    seen->second += strcmp(result.bound, "second-order") == 0;
    seen->lagrangian += strcmp(result.bound, "lagrangian") == 0;
    if (J > lowest + 1e-6 * (nominal - lowest) + 1e-12 * scale) {
        seen->missed++;
        print_message("missed: %s %s: %.12g, but %.12g is attained\n", made->tiny.name,
                      test_ball_name(&made->ball), J, lowest);
    }
    if (made->steps == 1 && made->ball.set == NADIR_SET_NONRECT) {
        assert_that(result.certified || upper - lower <= 1e-12 * scale,
                    "one step is linear, but the bounds are %.17g and %.17g", lower, upper);
    }
    free(kernel);
    nadir_model_free(worst);
}

static void test_attack(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    tally seen = {0};
    for (int i = 0; i < test_attack_count(PROBLEMS); i++) {
        fight made = {.context = context, .random = &random};
        fight_make(&made, i);
        fight_one(&made, &seen);
        fight_clear(&made);
    }
    test_note_clear();
    print_message("%d problems: %d certified, %d second-order, %d lagrangian, %d missed\n", seen.problems,
                  seen.certified, seen.second, seen.lagrangian, seen.missed);
    assert_that(20 * seen.missed <= seen.problems, "the worst kernel was missed %d times of %d", seen.missed,
                seen.problems);
    assert_that(seen.problems < 100 || 5 * seen.certified >= seen.problems, "only %d of %d are certified",
                seen.certified, seen.problems);
}

/* Rewards of +-0.1 at every step, whose sums in double precision drift to one side by far more than their last digit. No row
 * can change, and the return is known. */
static void long_sums_are_within_their_errors(void **state)
{
    enum { STEPS = 100000 };
    static const int64_t state_rows[] = {0, 1, 2};
    static const double P[] = {0, 1, 1, 0}, initial[] = {1, 0};
    static const double radius = 0.1;
    nadir_context *context = *state;
    for (int sign = -1; sign <= 1; sign += 2) {
        const double rewards[] = {0.1 * sign, 0.3 * sign};
        const long double J = (long double)STEPS / 2 * ((long double)rewards[0] + rewards[1]);
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
        nadir_model *model = NULL;
        nadir_model_data data;
        nadir_uncertainty set = {0};
        nadir_horizon horizon = {0};
        nadir_horizon_bounds bounds = {0};
        nadir_horizon_point point = {0};
        nadir_kernel *kernel = NULL;
        double low;
        double high;
        double minimum;
        nadir_model_data_default(&data);
        data.states = 2;
        data.rows = 2;
        data.discount = 1;
        data.state_rows = state_rows;
        data.dense = P;
        data.rewards = rewards;
        data.initial = initial;
        assert_ok(context, nadir_model_create(context, &data, &model));
        nadir_policy *policy = test_uniform_policy(context, model);
        assert_ok(context, nadir_uncertainty_make(context, model, policy, &ball, &set));
        assert_ok(context, nadir_horizon_make(context, model, &set, STEPS, 1,
                                              (const nadir_policy *const *)&policy, false, &horizon));
        assert_ok(context, nadir_horizon_point_make(context, &horizon, &point));
        assert_ok(context, nadir_horizon_check(context, &horizon, &point, &low, &high, &minimum, &kernel));
        assert_true(fabsl(point.J - J) > 1e-13L * fabsl(J)); /* there is something to be seen */
        assert_that(low <= J && J <= high, "the return %.20Lg is not between %.17g and %.17g", J, low, high);
        assert_ok(context, nadir_horizon_bounds_make(context, &horizon, &bounds));
        assert_ok(context, nadir_horizon_bellman(context, &horizon, bounds.d_bar, 0, &low));
        assert_that(low <= J, "the programme proves %.17g of %.20Lg", low, J);
        nadir_kernel_free(kernel);
        nadir_horizon_bounds_clear(context, &bounds);
        nadir_horizon_point_clear(context, &point);
        nadir_horizon_clear(context, &horizon);
        nadir_uncertainty_clear(context, &set);
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(test_attack),
                                       test_with_context(long_sums_are_within_their_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_union.c: unions of balls and finite sets: the worst member, the best policy against all, bounds that no policy
 * and no kernel escapes. */
#include "support/support.h"

#include "core/random.h"
#include "proof/mixture_bound.h"
#include "support/problem.h"

#include <math.h>

enum { MEMBERS = 3, STATES = 4, ACTIONS = 2, ROWS = STATES * ACTIONS };

/* Models that share states, actions and discount; landing: rewards of transitions. */
static void make_models(nadir_context *context, nadir_random *random, double discount, bool landing,
                        nadir_model *models[MEMBERS])
{
    static const int64_t state_rows[] = {0, 2, 4, 6, 8};
    double rewards[ROWS * STATES];
    double initial[STATES] = {1, 0, 0, 0};
    for (int i = 0; i < ROWS * STATES; i++) {
        rewards[i] = nadir_random_uniform(random);
    }
    for (int k = 0; k < MEMBERS; k++) {
        double dense[ROWS * STATES];
        for (int row = 0; row < ROWS; row++) {
            double sum = 0;
            for (int t = 0; t < STATES; t++) {
                const double u = nadir_random_uniform(random);
                dense[row * STATES + t] = u < 0.3 ? 0 : pow(u, 4);
                sum += dense[row * STATES + t];
            }
            dense[row * STATES + row % STATES] += sum > 0 ? 0 : 1;
            sum = sum > 0 ? sum : 1;
            for (int t = 0; t < STATES; t++) {
                dense[row * STATES + t] /= sum;
            }
        }
        nadir_model_data data = test_model_data();
        data.states = STATES;
        data.rows = ROWS;
        data.discount = discount;
        data.state_rows = state_rows;
        data.dense = dense;
        data.initial = initial;
        data.rewards = landing ? NULL : rewards;
        data.transition_rewards = landing ? rewards : NULL;
        models[k] = test_create_model(context, &data);
    }
}

static void free_models(nadir_model *models[MEMBERS])
{
    for (int k = 0; k < MEMBERS; k++) {
        nadir_model_free(models[k]);
    }
}

static void make_policy(nadir_context *context, nadir_random *random, nadir_model *model, bool deterministic,
                        nadir_policy **policy)
{
    double pi[ROWS];
    for (int s = 0; s < STATES; s++) {
        const double u = nadir_random_uniform(random);
        pi[2 * s] = deterministic ? (double)(u < 0.5) : u;
        pi[2 * s + 1] = 1 - pi[2 * s];
    }
    assert_ok(context, nadir_policy_create(context, model, pi, policy));
}

/* The least nominal return over the models. */
static double least_return(nadir_context *context, nadir_model *models[MEMBERS], const nadir_policy *policy)
{
    double least = INFINITY;
    for (int k = 0; k < MEMBERS; k++) {
        double value;
        assert_ok(context, nadir_returns(context, models[k], 1, nadir_policy_probabilities(policy), NULL,
                                         &value, NULL));
        least = fmin(least, value);
    }
    return least;
}

/* Members as they are evaluated alone, to the bit. */
static void test_minimum(void **state)
{
    nadir_context *context = *state;
    nadir_random random;
    nadir_random_seed(&random, 301);
    for (int trial = 0; trial < 40; trial++) {
        nadir_model *models[MEMBERS];
        nadir_policy *policy = NULL;
        nadir_worst *worst = NULL;
        double radii[MEMBERS];
        nadir_ball balls[MEMBERS];
        nadir_robust members[MEMBERS];
        nadir_robust whole = {.size = sizeof whole};
        nadir_robust_settings settings;
        int64_t which = -1;
        double found = INFINITY;
        double lower = INFINITY;
        double upper = INFINITY;
        nadir_robust_settings_default(&settings);
        settings.optimistic = trial % 4 == 3;
        settings.certify = trial % 8 == 6 ? NADIR_CERTIFY_OFF : NADIR_CERTIFY_AUTO;
        const double sign = settings.optimistic ? -1 : 1;
        make_models(context, &random, 0.9, trial % 2 == 1, models);
        make_policy(context, &random, models[0], false, &policy);
        for (int k = 0; k < MEMBERS; k++) {
            radii[k] = trial % 3 == 0 ? 0 : 0.2 * nadir_random_uniform(&random);
            balls[k] =
                test_ball(trial % 5 == 4 ? NADIR_SET_SA : NADIR_SET_NONRECT,
                          trial % 2 == 0 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX, 2, &radii[k], NULL);
            members[k] = (nadir_robust){.size = sizeof members[k]};
        }
        assert_ok(context, nadir_union_robust(context, MEMBERS, models, balls, policy, NULL, &settings,
                                              members, &whole, &which, &worst));
        for (int k = 0; k < MEMBERS; k++) {
            nadir_solver *solver = NULL;
            nadir_robust alone = {.size = sizeof alone};
            assert_ok(context, nadir_solver_create(context, models[k], policy, NULL, &solver));
            assert_ok(context, nadir_solver_robust(context, solver, &balls[k], &settings, &alone, NULL));
            assert_true(alone.robust_return == members[k].robust_return);
            assert_true(alone.lower_bound == members[k].lower_bound &&
                        alone.upper_bound == members[k].upper_bound);
            found = fmin(found, sign * alone.robust_return);
            lower = fmin(lower, sign > 0 ? alone.lower_bound : -alone.upper_bound);
            upper = fmin(upper, sign > 0 ? alone.upper_bound : -alone.lower_bound);
            nadir_solver_free(solver);
        }
        assert_true(which >= 0 && which < MEMBERS && worst != NULL);
        assert_true(sign * whole.robust_return == found);
        assert_true((sign > 0 ? whole.lower_bound : -whole.upper_bound) == lower);
        assert_true((sign > 0 ? whole.upper_bound : -whole.lower_bound) == upper);
        assert_true(whole.robust_return == members[which].robust_return);
        assert_true(whole.nominal_return == members[0].nominal_return);
        assert_true(settings.certify != NADIR_CERTIFY_OFF || !whole.certified);
        assert_true(!whole.certified || upper - lower <= 1e-5 * fabs(whole.robust_return) + 1e-9);
        nadir_worst_free(worst);
        nadir_policy_free(policy);
        free_models(models);
    }
}

/* Against all deterministic policies and many random ones, on finite sets and unions of balls. */
static void test_optimum(void **state)
{
    enum { TRIALS = 60, RANDOM = 300 };
    nadir_context *context = *state;
    nadir_random random;
    int behind = 0;
    int closed = 0;
    int improved = 0;
    double open = 0; /* relative gaps */
    nadir_random_seed(&random, 302);
    for (int trial = 0; trial < TRIALS; trial++) {
        nadir_model *models[MEMBERS];
        nadir_policy *policy = NULL;
        nadir_ball balls[MEMBERS];
        const double radius = trial % 3 == 2 ? 0.1 : 0;
        nadir_robust members[MEMBERS];
        nadir_robust evaluation = {.size = sizeof evaluation};
        nadir_robust_optimum_result result = {.size = sizeof result};
        int64_t which;
        double single = INFINITY;
        make_models(context, &random, trial % 2 == 0 ? 0.8 : 0.95, trial % 4 >= 2, models);
        for (int k = 0; k < MEMBERS; k++) {
            nadir_robust_optimum_result alone = {.size = sizeof alone};
            nadir_policy *own = NULL;
            members[k] = (nadir_robust){.size = sizeof members[k]};
            balls[k] = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
            assert_ok(context,
                      nadir_robust_optimum(context, models[k], &balls[k], NULL, &own, &alone, NULL, NULL));
            single = fmin(single, alone.optimality_upper_bound);
            nadir_policy_free(own);
        }
        assert_ok(context, nadir_union_optimum(context, MEMBERS, models, balls, NULL, &policy, &result,
                                               members, &evaluation, &which, NULL));
        const double scale = fabs(result.robust_return);
        assert_true(result.lower_bound <= result.robust_return + 1e-9 * scale);
        assert_true(result.robust_return <= result.optimality_upper_bound);
        assert_true(result.optimality_upper_bound <= single + 1e-6 * scale);
        assert_true(radius > 0 ||
                    fabs(least_return(context, models, policy) - result.robust_return) <= 1e-9 * scale);
        closed += result.certified;
        open += result.certified ? 0 : result.optimality_gap / scale;
        improved += result.optimality_upper_bound < single - 1e-6 * scale;
        double best = -INFINITY;
        for (int i = 0; i < (1 << STATES) + RANDOM; i++) {
            nadir_policy *other = NULL;
            double pi[ROWS];
            for (int s = 0; s < STATES; s++) {
                const double u = nadir_random_uniform(&random);
                pi[2 * s] = i < 1 << STATES ? (double)((i >> s) & 1) : u;
                pi[2 * s + 1] = 1 - pi[2 * s];
            }
            assert_ok(context, nadir_policy_create(context, models[0], pi, &other));
            double reached = INFINITY;
            if (radius == 0) {
                reached = least_return(context, models, other);
            } else if (i % 8 == 0) {
                nadir_robust each[MEMBERS];
                nadir_robust whole = {.size = sizeof whole};
                for (int k = 0; k < MEMBERS; k++) {
                    each[k] = (nadir_robust){.size = sizeof each[k]};
                }
                assert_ok(context, nadir_union_robust(context, MEMBERS, models, balls, other, NULL, NULL,
                                                      each, &whole, &which, NULL));
                reached = whole.lower_bound;
            }
            if (isfinite(reached)) {
                assert_true(reached <= result.optimality_upper_bound); /* trial of seed 302 */
                best = fmax(best, reached);
            }
            nadir_policy_free(other);
        }
        behind += result.robust_return < best - 1e-6 * scale;
        nadir_policy_free(policy);
        free_models(models);
    }
    print_message("unions: %d of %d closed, %.2g %% apart else, mixtures help %d, %d behind other policies\n",
                  closed, TRIALS, 100 * open / (TRIALS - closed), improved, behind);
    assert_true(behind == 0 && closed >= TRIALS / 4 && improved > 0);
}

/* The range of occupancies holds those of all deterministic policies, the extreme ones among them. */
static void check_range(nadir_context *context, nadir_model *models[MEMBERS], const nadir_mixture *mixture)
{
    for (int i = 0; i < MEMBERS << STATES; i++) {
        const int k = i % MEMBERS;
        double pi[ROWS];
        double d[STATES];
        nadir_policy *policy = NULL;
        nadir_solver *solver = NULL;
        for (int s = 0; s < STATES; s++) {
            pi[2 * s] = (double)((i / MEMBERS >> s) & 1);
            pi[2 * s + 1] = 1 - pi[2 * s];
        }
        assert_ok(context, nadir_policy_create(context, models[k], pi, &policy));
        assert_ok(context, nadir_solver_create(context, models[k], policy, NULL, &solver));
        assert_ok(context, nadir_solver_occupancy(context, solver, d));
        for (int s = 0; s < STATES; s++) {
            assert_true(mixture->low[k * STATES + s] <= d[s] * (1 + 1e-12));
            assert_true(mixture->high[k * STATES + s] >= d[s] * (1 - 1e-12));
        }
        nadir_solver_free(solver);
        nadir_policy_free(policy);
    }
}

/* Any weights and costs bound the weighted return of every policy. */
static void test_mixtures(void **state)
{
    nadir_context *context = *state;
    nadir_random random;
    nadir_random_seed(&random, 303);
    for (int trial = 0; trial < 20; trial++) {
        nadir_model *models[MEMBERS];
        nadir_mixture mixture = {0};
        make_models(context, &random, 0.9, trial % 2 == 1, models);
        assert_ok(context, nadir_mixture_make(context, MEMBERS, models, &mixture));
        check_range(context, models, &mixture);
        for (int draw = 0; draw < 10; draw++) {
            double weights[MEMBERS];
            double costs[MEMBERS * ROWS];
            double visits[MEMBERS * ROWS];
            double upper;
            double sum = 0;
            for (int k = 0; k < MEMBERS; k++) {
                weights[k] = nadir_random_uniform(&random);
                sum += weights[k];
            }
            for (int i = 0; i < MEMBERS * ROWS; i++) {
                costs[i] = (draw % 3) * 0.3 * (nadir_random_uniform(&random) - 0.5);
            }
            for (int k = 0; k < MEMBERS; k++) {
                weights[k] /= sum;
            }
            assert_ok(context, nadir_mixture_bound(context, &mixture, weights, costs, &upper, visits, NULL));
            for (int i = 0; i < 50; i++) {
                nadir_policy *policy = NULL;
                double mixed = 0;
                make_policy(context, &random, models[0], i % 2 == 0, &policy);
                for (int k = 0; k < MEMBERS; k++) {
                    double value;
                    assert_ok(context, nadir_returns(context, models[k], 1,
                                                     nadir_policy_probabilities(policy), NULL, &value, NULL));
                    mixed += weights[k] * value;
                }
                assert_true(mixed <= upper);
                nadir_policy_free(policy);
            }
        }
        nadir_mixture_clear(context, &mixture);
        free_models(models);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_minimum),
        test_with_context(test_optimum),
        test_with_context(test_mixtures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

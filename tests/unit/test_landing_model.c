/*
 * Rewards paid on landing as R(s, a) + g(s') + e(s, a, s') (model/landing.h): the parts against the rewards they
 * were made from and against least squares by dense normal equations, and what kernels pay and return against
 * the definition, r filled in and solved for in long double.
 */
#include "support/support.h"

#include "core/round.h"
#include "model/landing.h"
#include "support/families.h"
#include "support/landing.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 16180

static double largest_of(const test_landing *draft)
{
    double largest = 0;
    for (int64_t i = 0; i < draft->rows * draft->states; i++) {
        largest = isnan(draft->paid[i]) ? largest : fmax(largest, fabs(draft->paid[i]));
    }
    return largest;
}

/* What the model pays with a successor: the reward given, or R + g. */
static double model_pays(const nadir_model *model, int64_t row, int64_t t)
{
    const nadir_row entries = nadir_model_row(model, row);
    for (int64_t i = 0; i < entries.count; i++) {
        if (nadir_row_column(&entries, i) == t && !isnan(entries.rewards[i])) {
            return entries.rewards[i];
        }
    }
    return model->landing.base[row] + model->landing.g[t];
}

static test_landing_random draw_one(nadir_context *context, nadir_random *random, test_rewards kind,
                                    int number)
{
    *random = test_random(SEED + (uint64_t)number);
    test_landing_random drawn = test_landing_draw(context, random, 7, kind);
    test_note("seed %d, model %d: %s", SEED, number, drawn.name);
    return drawn;
}

/* ------------------------------------------------------------------------------------- decomposition */

/* R + g of random numbers, of all shapes: nothing is left over, but for rounding. */
static void test_separable(void **state)
{
    nadir_context *context = *state;
    int dropped = 0;
    for (int i = 0; i < 300; i++) {
        nadir_random random;
        test_landing_random drawn = draw_one(context, &random, TEST_REWARDS_SEPARABLE, i);
        const nadir_model *model = drawn.model;
        const int64_t n = model->states;
        dropped += model->transition_rewards == NULL;
        for (int64_t j = 0; j < model->rows * n && model->transition_rewards != NULL; j++) {
            const double sum = model->landing.base[j / n] + model->landing.g[j % n];
            assert_that(drawn.draft.kernel[j] == 0 || drawn.draft.scales[j / n] == 0 ||
                            fabs(sum - drawn.draft.paid[j]) <= 1e-14 * largest_of(&drawn.draft),
                        "R + g is %.17g, r is %.17g", sum, drawn.draft.paid[j]);
        }
        /* rows that are pinned say nothing of g, and may leave something over */
        bool pinned = false;
        for (int64_t row = 0; row < model->rows; row++) {
            pinned = pinned || drawn.draft.scales[row] == 0;
        }
        assert_that(!model->landing.general || pinned, "e is up to %g", nadir_landing_largest(model));
        test_landing_random_clear(&drawn);
    }
    assert_true(dropped < 100);
}

/* Rewards that belong to states are paid by all rows that reach them, whether or not the model says so. */
static void test_states_pay(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < 200; i++) {
        nadir_random random = test_random(SEED + (uint64_t)i);
        const int64_t n = 3 + (int64_t)nadir_random_below(&random, 10);
        test_landing draft = test_landing_start(n, 2, 0.9);
        double *g = test_new(n, sizeof *g);
        for (int64_t s = 0; s < n; s++) {
            g[s] = nadir_random_normal(&random);
        }
        for (int64_t row = 0; row < draft.rows; row++) { /* a ring, and one more: one component */
            const int64_t next = (row / 2 + 1) % n;
            const int64_t other = (int64_t)nadir_random_below(&random, (uint64_t)n);
            draft.kernel[row * n + row / 2] += 0.25;
            draft.kernel[row * n + next] += 0.5;
            draft.kernel[row * n + other] += 0.25;
            draft.paid[row * n + row / 2] = g[row / 2];
            draft.paid[row * n + next] = g[next];
            draft.paid[row * n + other] = g[other];
        }
        for (int sparse = 0; sparse < 2; sparse++) {
            nadir_model *model = test_landing_model(context, &draft, sparse == 1, NADIR_UNSEEN_ADDITIVE, 0);
            test_note("seed %d, model %d, sparse %d", SEED, i, sparse);
            assert_false(model->landing.general);
            for (int64_t j = 0; j < draft.rows * n; j++) {
                assert_close(model_pays(model, j / n, j % n), g[j % n], 1e-13);
            }
            nadir_model_free(model);
        }
        free(g);
        test_landing_clear(&draft);
    }
}

/* All kinds of rewards: what any row pays for any successor against normal equations. */
static void test_least_squares(void **state)
{
    nadir_context *context = *state;
    int compared = 0;
    for (int i = 0; i < 600; i++) {
        nadir_random random;
        test_landing_random drawn = draw_one(context, &random, (test_rewards)(i % TEST_REWARD_KINDS), i);
        const int64_t n = drawn.draft.states;
        const double largest = largest_of(&drawn.draft);
        double *paid = test_new(drawn.draft.rows * n, sizeof *paid);
        test_landing_extend(&drawn.draft, NADIR_UNSEEN_ADDITIVE, 0, paid);
        for (int64_t j = 0; j < drawn.draft.rows * n && drawn.model->transition_rewards != NULL; j++) {
            const double pays = model_pays(drawn.model, j / n, j % n);
            const bool moves = drawn.draft.scales[j / n] > 0;
            compared += moves && isnan(drawn.draft.paid[j]);
            assert_that(!moves || fabs(pays - paid[j]) <= 1e-11 * largest,
                        "row %d pays %.15g for %d, expected %.15g", (int)(j / n), pays, (int)(j % n),
                        paid[j]);
        }
        free(paid);
        test_landing_random_clear(&drawn);
    }
    assert_that(compared > 1000, "only %d successors are unseen", compared);
}

/* States that no row reaches, and rows of one successor, say nothing of g: it is 0 there, and R is all. */
static void test_isolated(void **state)
{
    nadir_context *context = *state;
    test_landing draft = test_landing_start(4, 1, 0.5);
    static const double r[4] = {3, 5, 7, 9};
    draft.kernel[0 * 4 + 1] = 0.5; /* 0 to 1 and 2: g differs by 4 */
    draft.kernel[0 * 4 + 2] = 0.5;
    draft.kernel[1 * 4 + 3] = 1;
    draft.kernel[2 * 4 + 2] = 1;
    draft.kernel[3 * 4 + 3] = 1;
    draft.paid[0 * 4 + 1] = 3;
    draft.paid[0 * 4 + 2] = 7;
    for (int64_t s = 1; s < 4; s++) {
        draft.paid[s * 4 + (s == 2 ? 2 : 3)] = r[s];
    }
    nadir_model *model = test_landing_model(context, &draft, true, NADIR_UNSEEN_ADDITIVE, 0);
    static const double g[4] = {0, -2, 2, 0};
    static const double base[4] = {5, 5, 5, 9};
    assert_false(model->landing.general);
    for (int64_t s = 0; s < 4; s++) {
        assert_close(model->landing.g[s], g[s], 1e-15);
        assert_close(model->landing.base[s], base[s], 1e-15);
    }
    assert_close(model->landing.shift, 0.25 * (-2 + 2) / 0.5, 1e-15);
    nadir_model_free(model);
    test_landing_clear(&draft);
}

/* Pinned rows do not say what others pay: their own rewards are averaged. */
static void test_pinned(void **state)
{
    nadir_context *context = *state;
    test_landing draft = test_landing_start(3, 1, 0.5);
    for (int64_t i = 0; i < 9; i++) {
        draft.kernel[i] = i % 3 == 2 ? 0.5 : 0.25;
        draft.paid[i] = (double)(i % 3);
    }
    draft.paid[3] = 100;
    draft.scales[1] = 0;
    nadir_model *model = test_landing_model(context, &draft, false, NADIR_UNSEEN_ADDITIVE, 0);
    for (int64_t s = 0; s < 3; s++) { /* up to a constant, which R takes away */
        assert_close(model->landing.g[s] - model->landing.g[0], (double)s, 1e-14);
    }
    /* 0.25 * 100 + 0.25 * 1 + 0.5 * 2 less 1.25, the mean of g */
    assert_close(model->landing.base[1] + model->landing.g[0], 25, 1e-14);
    assert_close(model->rewards[1], 26.25, 1e-14);
    nadir_model_free(model);
    test_landing_clear(&draft);
}

/* Chains of thousands of differences, two actions for each link: rounding adds up, and stays rounding. far: g goes
 * up along the chain, and R down, so that g is large where r is not. noise: nothing worse than that is left over.
 */
static void check_chain(nadir_context *context, int64_t n, bool far, double noise)
{
    nadir_random random = test_random(SEED);
    nadir_model_data data = test_model_data();
    int64_t *starts = test_new(2 * n + 1, sizeof *starts);
    int64_t *state_rows = test_new(n + 1, sizeof *state_rows);
    int32_t *columns = test_new(4 * n, sizeof *columns);
    double *probabilities = test_new(4 * n, sizeof *probabilities);
    double *paid = test_new(4 * n, sizeof *paid);
    double *g = test_new(n, sizeof *g);
    for (int64_t s = 0; s < n; s++) {
        g[s] = far ? (s > 0 ? g[s - 1] : 0) + nadir_random_uniform(&random) : nadir_random_normal(&random);
        state_rows[s + 1] = 2 * (s + 1);
    }
    for (int64_t row = 0; row < 2 * n; row++) {
        const int64_t s = row / 2 < n - 1 ? row / 2 : n - 2;
        starts[row + 1] = 2 * (row + 1);
        for (int64_t i = 2 * row; i < 2 * (row + 1); i++) {
            const int64_t t = s + i % 2;
            columns[i] = (int32_t)t;
            probabilities[i] = 0.5;
            paid[i] = (far ? -g[s] : 0.1 * (double)(row % 7)) + g[t] +
                      noise * (2 * nadir_random_uniform(&random) - 1);
        }
    }
    data.states = n;
    data.rows = 2 * n;
    data.discount = 0.9;
    data.state_rows = state_rows;
    data.row_starts = starts;
    data.columns = columns;
    data.probabilities = probabilities;
    data.transition_rewards = paid;
    nadir_model *model = test_create_model(context, &data);
    test_note("chain of %d, far %d, noise %g", (int)n, far, noise);
    const double scale = far ? g[n - 1] : 4;
    assert_that(model->landing.general == (noise > 0), "e is up to %g", nadir_landing_largest(model));
    assert_that(nadir_landing_largest(model) <= 2 * noise + 1e-13 * scale, "e is up to %g",
                nadir_landing_largest(model));
    for (int64_t s = 0; s < n; s++) {
        const double difference = model->landing.g[s] - model->landing.g[0];
        assert_that(fabs(difference - (g[s] - g[0])) <= 1e-13 * scale + 2 * noise * (double)n,
                    "g(%d) - g(0) is %.15g, not %.15g", (int)s, difference, g[s] - g[0]);
    }
    nadir_model_free(model);
    void *const arrays[] = {starts, state_rows, columns, probabilities, paid, g};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
}

static void test_chains(void **state)
{
    for (int far = 0; far < 2; far++) {
        check_chain(*state, 3000, far == 1, 0);
        check_chain(*state, 100000, far == 1, 0);
        check_chain(*state, 3000, far == 1, 1e-3);
    }
}

/* ---------------------------------------------------------------------------------- frozen and unseen */

/* Rewards that are the same for all successors of a row are rewards of rows: no g, and the same bits. */
static void test_frozen(void **state)
{
    nadir_context *context = *state;
    static const double radius = 0.2;
    for (int i = 0; i < 60; i++) {
        nadir_random random;
        test_landing_random drawn = draw_one(context, &random, TEST_REWARDS_GENERAL, i);
        const int64_t n = drawn.draft.states;
        double *rewards = test_new(drawn.draft.rows, sizeof *rewards);
        for (int64_t j = 0; j < drawn.draft.rows * n; j++) {
            rewards[j / n] = 0.1 * (double)(j / n) - 0.3;
            drawn.draft.paid[j] = rewards[j / n];
        }
        nadir_model *constant = test_landing_model(context, &drawn.draft, false, NADIR_UNSEEN_ADDITIVE, 0);
        nadir_model_data data = test_view(constant);
        data.rewards = rewards;
        nadir_model *plain = test_create_model(context, &data);
        const nadir_model *const both[] = {constant, plain};
        double found[2][2];
        for (int j = 0; j < 2; j++) {
            assert_null(both[j]->transition_rewards);
            assert_null(both[j]->landing.g);
            assert_false(both[j]->landing.general);
            assert_true(both[j]->shaped == both[j]->rewards);
            assert_true(both[j]->landing.shift == 0 && both[j]->landing.slack == 0);
            assert_memory_equal(both[j]->rewards, rewards, (size_t)data.rows * sizeof *rewards);
            const nadir_ball ball = test_ball((nadir_set)(i % 3 + 1), NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
            nadir_solver *solver = test_solver(context, (nadir_model *)both[j], drawn.policy);
            const nadir_robust result = test_robust(context, solver, &ball, NULL, NULL);
            found[j][0] = result.robust_return;
            found[j][1] = result.lower_bound;
            nadir_solver_free(solver);
        }
        assert_memory_equal(found[0], found[1], sizeof found[0]);
        nadir_model_free(constant);
        nadir_model_free(plain);
        free(rewards);
        test_landing_random_clear(&drawn);
    }
}

/* The four ways with unseen successors, each as its definition has it. */
static void test_unseen(void **state)
{
    nadir_context *context = *state;
    int compared = 0;
    for (int i = 0; i < 400; i++) {
        nadir_random random;
        test_landing_random drawn = draw_one(context, &random, (test_rewards)(i % TEST_REWARD_KINDS), i);
        const int64_t n = drawn.draft.states;
        const nadir_unseen unseen = (nadir_unseen)(NADIR_UNSEEN_ADDITIVE + i % 4);
        double *paid = test_new(drawn.draft.rows * n, sizeof *paid);
        for (int64_t j = 0; j < drawn.draft.rows * n; j++) {
            drawn.draft.paid[j] = drawn.draft.kernel[j] > 0 ? drawn.draft.paid[j] : NAN;
        }
        nadir_model *model = test_landing_model(context, &drawn.draft, i % 8 < 4, unseen, -1.5);
        test_landing_extend(&drawn.draft, unseen, -1.5, paid);
        test_note("seed %d, model %d: %s, unseen %s", SEED, i, drawn.name, nadir_unseen_name(unseen));
        for (int64_t j = 0; j < model->rows * n && model->transition_rewards != NULL; j++) {
            compared += drawn.draft.kernel[j] == 0;
            assert_that(drawn.draft.scales[j / n] == 0 || fabs(model_pays(model, j / n, j % n) - paid[j]) <=
                                                              1e-11 * (1.5 + largest_of(&drawn.draft)),
                        "row %d pays %.15g for %d, expected %.15g", (int)(j / n),
                        model_pays(model, j / n, j % n), (int)(j % n), paid[j]);
        }
        nadir_model_free(model);
        free(paid);
        test_landing_random_clear(&drawn);
    }
    assert_that(compared > 1000, "only %d successors are unseen", compared);
}

/* ----------------------------------------------------------------------------------- what kernels pay */

/* P . r of a row, and |P| . |r|. */
static long double row_pays(const double *kernel, const double *paid, int64_t n, long double *size)
{
    long double sum = 0;
    *size = 0;
    for (int64_t t = 0; t < n; t++) {
        sum += (long double)kernel[t] * paid[t];
        *size += fabsl((long double)kernel[t] * paid[t]);
    }
    return sum;
}

/* R_P(s, a) = P . r - P . g + g(s) / gamma, for kernels of all kinds. */
static void check_rows(const nadir_model *model, const nadir_kernel *kernel, const double *dense,
                       const double *paid)
{
    const int64_t n = model->states;
    const double *g = model->landing.g;
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            long double size;
            long double expected = row_pays(dense + row * n, paid + row * n, n, &size);
            long double shaping = fabs(g[s]) > 0 ? g[s] / model->discount : 0;
            for (int64_t t = 0; t < n; t++) {
                expected -= (long double)dense[row * n + t] * g[t];
                size += fabsl((long double)dense[row * n + t] * g[t]);
            }
            expected += shaping - model->landing.offset;
            size += fabsl(shaping) + nadir_landing_largest(model);
            assert_that(fabsl(nadir_kernel_reward(kernel, row) - expected) <= 1e-12L * (size + 1e-300L),
                        "row %d pays %.17g, expected %.17Lg", (int)row, nadir_kernel_reward(kernel, row),
                        expected);
        }
    }
}

/* mu . v in long double of the policy's rewards [states] under a kernel [rows * states]. */
static long double return_of(const nadir_model *model, const nadir_policy *policy, const double *dense,
                             const double *R, long double *v)
{
    long double *average = test_dense_average(model, dense, nadir_policy_probabilities(policy));
    test_system system = test_system_make(model->states, average, model->discount);
    long double J = 0;
    test_system_solve(&system, false, R, v);
    for (int64_t s = 0; s < model->states; s++) {
        J += (long double)model->initial[s] * v[s];
    }
    free(average);
    test_system_clear(&system);
    return J;
}

/* The shaped return less the shift is the return, both solved for here; the slack covers what is between. */
static void check_return(nadir_context *context, const nadir_model *model, const nadir_policy *policy,
                         const nadir_kernel *kernel, const double *dense, const double *paid)
{
    const int64_t n = model->states;
    double *R = test_new(3 * n, sizeof *R);
    double *shaped = R + n;
    double *negated = R + 2 * n;
    long double *v = test_new(n, sizeof *v);
    double *y = test_new(n, sizeof *y);
    double largest = 0; /* of what is paid, and of values */
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            long double size;
            (void)row_pays(dense + row * n, paid + row * n, n, &size);
            largest = fmax(largest, (double)size);
            R[s] += nadir_policy_probabilities(policy)[row] *
                    (double)row_pays(dense + row * n, paid + row * n, n, &size);
        }
    }
    nadir_kernel_rewards(context, kernel, policy, 1, shaped);
    nadir_kernel_rewards(context, kernel, policy, -1, negated);
    const long double y_return = return_of(model, policy, dense, shaped, v);
    for (int64_t s = 0; s < n; s++) {
        assert_true(negated[s] == -shaped[s]);
        y[s] = (double)v[s];
        largest = fmax(largest, fabs(y[s]));
    }
    nadir_landing_value(model, y);
    const long double J = return_of(model, policy, dense, R, v);
    for (int64_t s = 0; s < n; s++) {
        largest = fmax(largest, fabs((double)v[s]));
    }
    assert_that(fabs(nadir_landing_return(model, (double)y_return) - (double)J) <= 1e-12 * largest,
                "the return is %.17Lg, the shaped one %.17Lg less %.17g", J, y_return, model->landing.shift);
    for (int64_t s = 0; s < n; s++) {
        assert_that(fabs(y[s] - (double)v[s]) <= 1e-12 * largest, "the value of %d is %.17g, not %.17Lg",
                    (int)s, y[s], v[s]);
    }
    /* one rounding of y_return as a double, and of R of each state, which are not the model's */
    const double own = 4 * NADIR_ROUND_UNIT * largest + NADIR_ROUND_UNIT * (double)(n + 4) * largest;
    assert_that(nadir_landing_lower(model, (double)y_return) <= (double)J + own &&
                    nadir_landing_upper(model, (double)y_return) >= (double)J - own,
                "the slack %g is too small for %.17g and %.17Lg", model->landing.slack,
                nadir_landing_return(model, (double)y_return), J);
    free(R);
    free(v);
    free(y);
}

/* For kernels that change all rows: none is pinned, and all have rewards for all successors if one has. */
static void free_rows(test_landing *draft)
{
    bool full = false;
    for (int64_t i = 0; i < draft->rows * draft->states; i++) {
        full = full || (draft->kernel[i] == 0 && !isnan(draft->paid[i]));
    }
    for (int64_t i = 0; i < draft->rows * draft->states; i++) {
        draft->scales[i / draft->states] = 1;
        draft->paid[i] = full && isnan(draft->paid[i]) ? (double)(i % 3) : draft->paid[i];
    }
}

/* All kernels of all changes at four discounts, all ways with unseen successors. */
static void test_kernels(void **state)
{
    nadir_context *context = *state;
    static const double discounts[] = {0, 1e-9, 0.3, 0.999};
    int general = 0;
    for (int i = 0; i < test_often(600); i++) {
        nadir_random random;
        test_landing_random drawn = draw_one(context, &random, (test_rewards)(i % TEST_REWARD_KINDS), i);
        const int64_t n = drawn.draft.states;
        const double gamma = discounts[i % 4];
        const nadir_unseen unseen = (nadir_unseen)(NADIR_UNSEEN_ADDITIVE + i / 4 % 4);
        const test_change change = (test_change)(i / 16 % TEST_CHANGES);
        double *paid = test_new(drawn.draft.rows * n, sizeof *paid);
        double *dense = NULL;
        drawn.draft.discount = gamma;
        free_rows(&drawn.draft);
        nadir_model *model = test_landing_model(context, &drawn.draft, i % 32 < 16, unseen, 2.5 * drawn.size);
        test_note("seed %d, model %d: %s; unseen %s, discount %g, kernel %s", SEED, i, drawn.name,
                  nadir_unseen_name(unseen), gamma, test_change_names[change]);
        /* next to 0 there is no g / gamma, and unseen successors pay the mean of their row */
        const bool unshaped = gamma < 1e-6 && unseen == NADIR_UNSEEN_ADDITIVE;
        if (model->transition_rewards != NULL) {
            const bool dropped = i % 32 < 16 || model->dense == NULL;
            for (int64_t j = 0; j < drawn.draft.rows * n && dropped; j++) {
                drawn.draft.paid[j] = drawn.draft.kernel[j] > 0 ? drawn.draft.paid[j] : NAN;
            }
            test_landing_extend(&drawn.draft, unshaped ? NADIR_UNSEEN_ROW : unseen, 2.5 * drawn.size, paid);
            assert_true(!unshaped || model->landing.unshaped);
            nadir_kernel *kernel = test_kernel(context, model, change, gamma, &random, &dense);
            check_rows(model, kernel, dense, paid);
            if (change != TEST_RANK_ONE_STRONG) {
                check_return(context, model, drawn.policy, kernel, dense, paid);
            }
            general += model->landing.general;
            nadir_kernel_free(kernel);
            free(dense);
        }
        nadir_model_free(model);
        free(paid);
        test_landing_random_clear(&drawn);
    }
    assert_true(general > test_often(600) / 4);
}

/* Return, values and Q of the nominal kernel as the public header has them. */
static void test_nominal(void **state)
{
    nadir_context *context = *state;
    static const double discounts[] = {0, 1e-9, 0.3, 0.999};
    for (int i = 0; i < 200; i++) {
        nadir_random random;
        test_landing_random drawn = draw_one(context, &random, (test_rewards)(i % TEST_REWARD_KINDS), i);
        const int64_t n = drawn.draft.states;
        drawn.draft.discount = discounts[i % 4];
        nadir_model *model = test_landing_model(context, &drawn.draft, i % 8 < 4, NADIR_UNSEEN_ADDITIVE, 0);
        nadir_solver *solver = test_solver(context, model, drawn.policy);
        nadir_nominal nominal = {.size = sizeof nominal};
        double *numbers = test_new(2 * n + model->rows, sizeof *numbers);
        double *value = numbers + n;
        double *q = numbers + 2 * n;
        long double *v = test_new(n, sizeof *v);
        for (int64_t s = 0; s < n; s++) {
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                numbers[s] += nadir_policy_probabilities(drawn.policy)[row] * model->rewards[row];
            }
        }
        const double J = (double)return_of(model, drawn.policy, drawn.draft.kernel, numbers, v);
        const double scale = largest_of(&drawn.draft) / (1 - model->discount);
        assert_ok(context, nadir_solver_nominal(context, solver, &nominal));
        assert_ok(context, nadir_solver_value(context, solver, value));
        assert_ok(context, nadir_solver_q(context, solver, q));
        assert_that(fabs(nominal.nominal_return - J) <= 1e-12 * scale, "%.17g is not %.17g",
                    nominal.nominal_return, J);
        assert_that(nominal.lower_bound <= J + 1e-15 * scale && nominal.upper_bound >= J - 1e-15 * scale,
                    "%.17g is not between %.17g and %.17g", J, nominal.lower_bound, nominal.upper_bound);
        for (int64_t s = 0; s < n; s++) {
            assert_true(fabs(value[s] - (double)v[s]) <= 1e-12 * scale);
        }
        for (int64_t row = 0; row < model->rows; row++) {
            long double expected = model->rewards[row];
            for (int64_t t = 0; t < n; t++) {
                expected += (long double)model->discount * drawn.draft.kernel[row * n + t] * v[t];
            }
            assert_true(fabs(q[row] - (double)expected) <= 1e-12 * scale);
        }
        nadir_solver_free(solver);
        nadir_model_free(model);
        free(numbers);
        free(v);
        test_landing_random_clear(&drawn);
    }
}

/* The best case of r is the worst case of -r, with bounds that change places. */
static void test_optimistic(void **state)
{
    nadir_context *context = *state;
    static const double radius = 0.15;
    for (int i = 0; i < test_often(90); i++) {
        nadir_random random;
        test_landing_random drawn = draw_one(context, &random, (test_rewards)(i % TEST_REWARD_KINDS), i);
        const nadir_ball ball =
            test_ball((nadir_set)(i % 3 + 1), (nadir_domain)(1 + i / 3 % 2), i / 9 % 2 + 1, &radius, NULL);
        for (int64_t j = 0; j < drawn.draft.rows * drawn.draft.states; j++) {
            drawn.draft.paid[j] = -drawn.draft.paid[j];
        }
        nadir_model *negated =
            test_landing_model(context, &drawn.draft, drawn.model->dense == NULL, NADIR_UNSEEN_ADDITIVE, 0);
        nadir_solver *own = test_solver(context, drawn.model, drawn.policy);
        nadir_solver *other = test_solver(context, negated, drawn.policy);
        nadir_robust_settings settings = test_robust_settings();
        settings.optimistic = true;
        const nadir_robust best = test_robust(context, own, &ball, &settings, NULL);
        const nadir_robust worst = test_robust(context, other, &ball, NULL, NULL);
        const double scale = largest_of(&drawn.draft) / (1 - drawn.draft.discount);
        assert_that(fabs(best.robust_return + worst.robust_return) <= 1e-11 * scale, "%.15g and %.15g",
                    best.robust_return, worst.robust_return);
        assert_that(fabs(best.upper_bound + worst.lower_bound) <= 1e-9 * scale, "bounds %.15g and %.15g",
                    best.upper_bound, worst.lower_bound);
        nadir_solver_free(own);
        nadir_solver_free(other);
        nadir_model_free(negated);
        test_landing_random_clear(&drawn);
    }
}

/* A ball may have scales of its own. A row that the model pins may then move, and pays what was given for it: -97,
 * not 0.1; or it is refused. */
static void test_unpinned_by_the_ball(void **state)
{
    nadir_context *context = *state;
    static const double P[9] = {0, 0.5, 0.5, 0, 1, 0, 0, 0, 1};
    static const double r[9] = {0, 1, 0, 0, 0, -100, 0, 0, 0};
    static const double ones[3] = {1, 1, 1};
    static const double radius = 0.4;
    for (int domain = NADIR_DOMAIN_SIMPLEX; domain <= NADIR_DOMAIN_SUPPORT; domain++) {
        double found[2];
        for (int pinned = 0; pinned < 2; pinned++) {
            test_landing draft = test_landing_start(3, 1, 0.9);
            for (int64_t i = 0; i < 9; i++) {
                draft.kernel[i] = P[i];
                draft.paid[i] = r[i];
                draft.mu[i / 3] = i / 3 == 0;
                draft.scales[i / 3] = pinned == 1 && i / 3 > 0 ? 0 : 1;
            }
            nadir_model *model = test_landing_model(context, &draft, false, NADIR_UNSEEN_ADDITIVE, 0);
            nadir_policy *policy = test_uniform_policy(context, model);
            nadir_solver *solver = test_solver(context, model, policy);
            const nadir_ball ball = test_ball(NADIR_SET_SA, (nadir_domain)domain, 1, &radius, ones);
            nadir_robust result = {.size = sizeof result};
            const nadir_status status = nadir_solver_robust(context, solver, &ball, NULL, &result, NULL);
            if (pinned == 1 && domain == NADIR_DOMAIN_SIMPLEX && status != NADIR_OK) {
                assert_fails(context, status, NADIR_ERROR_UNSUPPORTED, "the model itself pins");
                found[1] = found[0];
            } else {
                assert_ok(context, status);
                found[pinned] = result.robust_return;
            }
            nadir_solver_free(solver);
            nadir_policy_free(policy);
            nadir_model_free(model);
            test_landing_clear(&draft);
        }
        assert_close(found[1], found[0], 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_separable),     test_with_context(test_states_pay),
        test_with_context(test_least_squares), test_with_context(test_isolated),
        test_with_context(test_pinned),        test_with_context(test_chains),
        test_with_context(test_frozen),        test_with_context(test_unseen),
        test_with_context(test_kernels),       test_with_context(test_nominal),
        test_with_context(test_optimistic),    test_with_context(test_unpinned_by_the_ball),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

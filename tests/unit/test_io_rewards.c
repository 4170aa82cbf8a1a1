/* test_io_rewards.c: rewards of transitions: through every format and back, of successors of probability 0, in digests,
 * and in models made of kernels. */
#include "support/support.h"

#include "model/kernel.h"
#include "model/landing.h"
#include "support/robust.h"
#include "support/setting.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { S = 9, A = 2, ROWS = S * A };

/* Row (s, a) goes to s, s + 1 + a and s + 4: 3 of 9, so that any form of storage may stay. */
static int32_t successor(int row, int i)
{
    const int s = row / A;
    return (int32_t)((i == 0 ? s : i == 1 ? s + 1 + row % A : s + 4) % S);
}

/* r = R(s, a) + g(s'), and more of it that belongs to neither. */
static double reward(int row, int t, double general)
{
    return 0.25 * row - 3 + (t * t % 7) + general * ((row * 5 + t * 3) % 4);
}

/* zeros: successor s + 7 of rows 3 and 4 has a reward, and probability 0; 1e6: far from R + g, 0: as it. */
static nadir_model *make_model(nadir_context *context, double general, bool zeros, double far, bool dense)
{
    int64_t state_rows[S + 1];
    int64_t row_starts[ROWS + 1] = {0};
    int32_t columns[4 * ROWS];
    double probabilities[4 * ROWS];
    double rewards[4 * ROWS];
    double P[ROWS * S] = {0};
    double r[ROWS * S];
    int64_t count = 0;
    for (int row = 0; row < ROWS; row++) {
        for (int t = 0; t < S; t++) {
            r[row * S + t] = NAN;
        }
        for (int i = 0; i < 4; i++) {
            const bool zero = i == 3;
            const int t = zero ? (row / A + 7) % S : successor(row, i);
            if (zero && (!zeros || (row != 3 && row != 4))) {
                continue;
            }
            columns[count] = t;
            probabilities[count] = zero ? 0 : i == 0 ? 0.5 : 0.25;
            rewards[count] = reward(row, t, general) + (zero ? far : 0);
            P[row * S + t] = probabilities[count];
            r[row * S + t] = rewards[count++];
        }
        row_starts[row + 1] = count;
        state_rows[row / A] = row - row % A;
    }
    state_rows[S] = ROWS;
    nadir_model_data data = test_model_data();
    data.states = S;
    data.rows = ROWS;
    data.discount = 0.9;
    data.state_rows = state_rows;
    data.dense = dense ? P : NULL;
    data.row_starts = dense ? NULL : row_starts;
    data.columns = dense ? NULL : columns;
    data.probabilities = dense ? NULL : probabilities;
    data.transition_rewards = dense ? r : rewards;
    return test_create_model(context, &data);
}

/* NaN: not given. */
static double given(const nadir_model *model, int64_t row, int64_t t)
{
    const nadir_row entries = nadir_model_row(model, row);
    for (int64_t i = 0; entries.rewards != NULL && i < entries.count; i++) {
        if (nadir_row_column(&entries, i) == t) {
            return entries.rewards[i];
        }
    }
    return NAN;
}

static void assert_rewards_equal(const nadir_model *a, const nadir_model *b, bool zeros)
{
    for (int64_t i = 0; i < a->rows * a->states; i++) {
        const int64_t row = i / a->states;
        const int64_t t = i % a->states;
        if (zeros || test_probability(a, row, t) > 0) {
            const double left = given(a, row, t);
            const double right = given(b, row, t);
            assert_that(left == right || (isnan(left) && isnan(right)), "row %lld, successor %lld: %g, %g",
                        (long long)row, (long long)t, left, right);
        }
    }
}

static void assert_same_digest(nadir_context *context, const nadir_model *a, const nadir_model *b, bool same)
{
    char left[65];
    char right[65];
    assert_ok(context, nadir_model_digest(context, a, left));
    assert_ok(context, nadir_model_digest(context, b, right));
    assert_int_equal(strcmp(left, right) == 0, same);
}

static nadir_model *read_back(nadir_context *context, const char *path)
{
    nadir_read_settings settings;
    nadir_model *model = NULL;
    nadir_read_settings_default(&settings);
    settings.discount = 0.9;
    settings.rewards = strcmp(path, "out.tra") == 0 ? "out.trew" : NULL;
    assert_ok(context, nadir_model_read(context, path, &settings, &model));
    return model;
}

static void every_format_has_them(void **state)
{
    static const struct {
        const char *path;
        bool zeros; /* holds those of probability 0 */
    } formats[] = {{"out.npz", true}, {"out.csv", true}, {"out.MDP", true}, {"out.tra", false}};
    nadir_context *context = *state;
    for (int kind = 0; kind < 8; kind++) {
        const bool zeros = (kind & 2) != 0;
        nadir_model *model = make_model(context, kind & 1, zeros, 1e6, (kind & 4) != 0);
        assert_int_equal(nadir_landing_is_general(model), kind & 1 ? true : zeros);
        assert_true(!zeros || given(model, 3, 8) == reward(3, 8, kind & 1) + 1e6);
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
            test_note("%s, kind %d", formats[i].path, kind);
            test_messages_clear();
            assert_ok(context, nadir_model_write(context, model, formats[i].path, NULL));
            assert_int_equal(strstr(test_messages(), "rewards of successors of probability 0") != NULL,
                             zeros && !formats[i].zeros);
            nadir_model *back = read_back(context, formats[i].path);
            assert_rewards_equal(model, back, formats[i].zeros);
            assert_same_digest(context, model, back, formats[i].zeros || !zeros);
            nadir_model_free(back);
        }
        assert_ok(context, nadir_model_write(context, model, "out.drn", NULL));
        assert_non_null(strstr(test_messages(), "their mean is kept: as read back, they are frozen"));
        nadir_model *back = read_back(context, "out.drn");
        assert_null(back->transition_rewards);
        for (int row = 0; row < ROWS; row++) {
            assert_true(back->rewards[row] == model->rewards[row]);
        }
        nadir_model_free(back);
        nadir_model_free(model);
    }
    test_note_clear();
}

/* Zeros that R + g gives back say nothing, but with another assumption they do. */
static void zeros_count(void **state)
{
    nadir_context *context = *state;
    for (int dense = 0; dense < 2; dense++) {
        nadir_model *plain = make_model(context, 0, false, 0, false);
        nadir_model *back = make_model(context, 0, true, 0, dense);
        nadir_model *other = make_model(context, 0, true, 2, dense);
        assert_true(isnan(given(back, 3, 8)) && !isnan(given(other, 3, 8)));
        assert_same_digest(context, plain, back, true);
        assert_same_digest(context, plain, other, false);
        assert_false(nadir_landing_is_general(back));
        assert_true(nadir_landing_is_general(other));
        const int64_t start = nadir_landing_entry(other, 3);
        assert_close(nadir_landing_e(other, 3, start + 8, 8) - nadir_landing_e(other, 3, start + 1, 1), 2,
                     1e-9);
        nadir_model_free(plain);
        nadir_model_free(back);
        nadir_model_free(other);
    }
    static const char text[] = "idstatefrom,idaction,idstateto,probability,reward\n"
                               "0,0,0,0.5,0\n0,0,1,0.5,1\n0,0,2,0,0\n1,0,2,0.5,0\n1,0,1,0.5,1\n2,0,0,1,0\n";
    for (int unseen = NADIR_UNSEEN_ADDITIVE; unseen <= NADIR_UNSEEN_VALUE; unseen++) {
        nadir_read_settings settings;
        nadir_model *model = NULL;
        nadir_read_settings_default(&settings);
        settings.unseen = (nadir_unseen)unseen;
        settings.unseen_value = -4;
        settings.discount = 0.5;
        test_write_file("model.csv", text);
        assert_ok(context, nadir_model_read(context, "model.csv", &settings, &model));
        nadir_model_facts facts;
        nadir_model_facts_default(&facts);
        assert_ok(context, nadir_model_facts_compute(context, model, &facts));
        assert_true(facts.unseen == settings.unseen && facts.reward_min == 0 && facts.reward_max == 1);
        assert_true(unseen < NADIR_UNSEEN_MIN ? isnan(facts.unseen_value)
                                              : facts.unseen_value == (unseen == NADIR_UNSEEN_MIN ? 0 : -4));
        assert_int_equal(facts.reward_kind,
                         unseen == NADIR_UNSEEN_ADDITIVE ? NADIR_REWARDS_SEPARABLE : NADIR_REWARDS_LANDING);
        assert_int_equal(isnan(given(model, 0, 2)), unseen == NADIR_UNSEEN_ADDITIVE);
        nadir_model_free(model);
    }
}

/* Too many pairs of a row and a state for a dense model: a warning says what is not used. */
static void zeros_of_large_models(void **state)
{
    enum { STATES = 8200 }; /* squared: more than 2^26 */
    nadir_context *context = *state;
    FILE *file = fopen("long.csv", "w");
    assert_non_null(file);
    (void)fprintf(file, "idstatefrom,idaction,idstateto,probability,reward\n0,0,7,0,%d\n", 100);
    for (int s = 0; s < STATES; s++) {
        (void)fprintf(file, "%d,0,%d,0.5,1\n%d,0,%d,0.5,0\n", s, s, s, (s + 1) % STATES);
    }
    assert_int_equal(fclose(file), 0);
    nadir_model *model = read_back(context, "long.csv");
    assert_non_null(strstr(test_messages(), "rewards of successors of probability 0 are not used"));
    assert_true(model->dense == NULL && model->nonzeros == 2 * STATES && isnan(given(model, 0, 7)));
    nadir_model_free(model);
}

/* Where all rewards of a row are the same, those of probability 0 too, they are the row's. */
static void rewards_of_rows(void **state)
{
    nadir_context *context = *state;
    nadir_read_settings settings;
    nadir_model *model = NULL;
    nadir_read_settings_default(&settings);
    test_write_file("model.csv", "idstatefrom,idaction,idstateto,probability,reward\n"
                                 "0,0,0,0.5,2\n0,0,1,0.5,2\n0,0,2,0,2\n1,0,2,1,5\n2,0,0,1,0\n");
    assert_ok(context, nadir_model_read(context, "model.csv", &settings, &model));
    assert_null(model->transition_rewards);
    assert_int_equal(nadir_model_rewards(model, &settings.unseen, &settings.unseen_value), NADIR_REWARDS_ROW);
    nadir_model_free(model);
    test_write_file("model.csv", "idstatefrom,idaction,idstateto,probability,reward\n"
                                 "0,0,0,0.5,2\n0,0,1,0.5,2\n0,0,2,0,3\n1,0,2,1,5\n2,0,0,1,0\n");
    assert_ok(context, nadir_model_read(context, "model.csv", &settings, &model));
    assert_true(given(model, 0, 2) == 3 && given(model, 0, 0) == 2);
    nadir_model_free(model);
    settings.frozen_rewards = true;
    assert_ok(context, nadir_model_read(context, "model.csv", &settings, &model));
    assert_null(model->transition_rewards);
    nadir_model_free(model);
}

/* Statements give rewards, also by wildcards, and also where the probability is 0; what none gives is 0 where one can
 * land, and nothing elsewhere. */
static void cassandra_wildcards(void **state)
{
    static const char head[] = "discount: 0.9\nvalues: reward\nstates: 3\nactions: 1\n"
                               "T: 0 : 0 : 0 0.5\nT: 0 : 0 : 1 0.5\nT: 0 : 1 : 0 1.0\nT: 0 : 2 : 2 1.0\n";
    static const struct {
        const char *statements;
        double expected[9]; /* r(s, s') */
    } cases[] = {
        {"R: * : 0 : 1 4.0\n", {0, 4, NAN, 0, NAN, NAN, NAN, NAN, 0}},
        {"R: * : * : * 1.0\nR: 0 : 1 : 2 4.0\n", {1, 1, 1, 1, 1, 4, 1, 1, 1}},
        {"R: * : * : 2 3.0\n", {0, 0, 3, 0, NAN, 3, NAN, NAN, 3}},
        {"R: 0 : 0 1.0 2.0 5.0\n", {1, 2, 5, 0, NAN, NAN, NAN, NAN, 0}},
    };
    nadir_context *context = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "%s%s", head, cases[i].statements);
        test_write_file("model.MDP", text);
        nadir_model *model = read_back(context, "model.MDP");
        for (int place = 0; place < 9; place++) {
            test_note("case %zu, r(%d, %d)", i, place / 3, place % 3);
            const double found = given(model, place / 3, place % 3);
            assert_true(found == cases[i].expected[place] ||
                        (isnan(found) && isnan(cases[i].expected[place])));
        }
        nadir_model_free(model);
    }
    test_note_clear();
}

static void digests_cover_them(void **state)
{
    nadir_context *context = *state;
    nadir_read_settings settings;
    nadir_model *models[5];
    nadir_model *model = make_model(context, 1, false, 0, false);
    assert_ok(context, nadir_model_write(context, model, "model.npz", NULL));
    nadir_read_settings_default(&settings);
    for (int i = 0; i < 5; i++) {
        settings.frozen_rewards = i == 4;
        settings.unseen = (nadir_unseen)(i % 4);
        settings.unseen_value = 3;
        assert_ok(context, nadir_model_read(context, "model.npz", &settings, &models[i]));
        for (int j = 0; j < i; j++) {
            assert_same_digest(context, models[i], models[j], false);
        }
    }
    assert_same_digest(context, model, models[0], true);
    nadir_model_free(model);
    for (int i = 0; i < 5; i++) {
        nadir_model_free(models[i]);
    }
}

/* mu . v of a kernel, whose rows pay `reward` where the model gives none, by iteration. */
static double plain_return(const nadir_model *model, const double *P, double assumed)
{
    double v[S] = {0};
    double J = 0;
    for (int step = 0; step < 2000; step++) {
        double next[S] = {0};
        for (int row = 0; row < ROWS; row++) {
            for (int t = 0; t < S; t++) {
                const double own = given(model, row, t);
                next[row / A] += P[row * S + t] / A * ((isnan(own) ? assumed : own) + model->discount * v[t]);
            }
        }
        memcpy(v, next, sizeof v);
    }
    for (int s = 0; s < S; s++) {
        J += v[s] / S;
    }
    return J;
}

/* The model of a kernel pays what the kernel does. Row 3 moves to a successor that it did not have. */
static void models_of_kernels(void **state)
{
    nadir_context *context = *state;
    for (int unseen = NADIR_UNSEEN_ADDITIVE; unseen <= NADIR_UNSEEN_VALUE; unseen++) {
        nadir_model *model = make_model(context, unseen == NADIR_UNSEEN_ADDITIVE ? 0 : 1, false, 0, false);
        nadir_kernel *kernel = NULL;
        nadir_model *made = NULL;
        double P[ROWS * S];
        for (int i = 0; i < ROWS * S; i++) {
            P[i] = test_probability(model, i / S, i % S);
        }
        P[3 * S + successor(3, 0)] = 0;
        P[3 * S + 8] = 0.5;
        model->unseen = (nadir_unseen)unseen;
        model->unseen_value = 11;
        assert_ok(context, nadir_landing_make(context, model, "model"));
        const double assumed = unseen == NADIR_UNSEEN_ADDITIVE ? reward(3, 8, 0)
                               : unseen == NADIR_UNSEEN_ROW    ? model->rewards[3]
                               : unseen == NADIR_UNSEEN_MIN    ? -3
                                                               : 11;
        const int64_t changed_row = 3;
        const int64_t starts[2] = {0, S};
        int32_t columns[S];
        for (int t = 0; t < S; t++) {
            columns[t] = t;
        }
        const nadir_changed_rows changed = {1, &changed_row, starts, columns, P + 3 * S};
        assert_ok(context, nadir_kernel_create_changed(context, model, &changed, &kernel));
        assert_ok(context, nadir_kernel_to_model(context, kernel, &made));
        assert_close(given(made, 3, 8), assumed, 1e-13);
        nadir_policy *policy = test_uniform_policy(context, made);
        double J;
        assert_ok(context, nadir_returns(context, made, 1, policy->probabilities, NULL, &J, NULL));
        assert_close(J, plain_return(model, P, assumed), 1e-12);
        nadir_policy_free(policy);
        nadir_model_free(made);
        nadir_kernel_free(kernel);
        nadir_model_free(model);
    }
}

/* R + g gives back what landing on state 3 pays, but for less than rounding of the largest reward, which is that of a state
 * nobody visits. Bounds know of it. */
static void zeros_nearly_given_back(void **state)
{
    nadir_context *context = *state;
    static const int64_t state_rows[] = {0, 1, 2, 3, 4, 5};
    static const double kernel[] = {0, 0.5, 0.5, 0, 0,   0,   0.4, 0.3, 0.3, 0, 0, 0.5, 0.5,
                                    0, 0,   0,   0, 0.5, 0.5, 0,   0,   0,   0, 0, 1};
    static const double initial[] = {1, 0, 0, 0, 0};
    static const double radii[] = {2, 0, 0, 0, 0};
    static const double g[] = {0, 1, 2, -1, 0};
    double rewards[25];
    for (int i = 0; i < 25; i++) {
        rewards[i] = kernel[i] == 0 ? NAN : i == 24 ? 1e12 : g[i % 5];
    }
    rewards[3] = -1.09;
    nadir_model_data data = test_model_data();
    data.states = 5;
    data.rows = 5;
    data.discount = 0.5;
    data.state_rows = state_rows;
    data.dense = kernel;
    data.transition_rewards = rewards;
    data.initial = initial;
    nadir_model *model = test_create_model(context, &data);
    assert_false(nadir_landing_is_general(model));
    nadir_policy *policy = test_uniform_policy(context, model);
    nadir_solver *solver = test_solver(context, model, policy);
    nadir_ball ball;
    nadir_robust result = {.size = sizeof result};
    nadir_ball_default(&ball);
    ball.set = NADIR_SET_SA;
    ball.radius = radii;
    ball.radius_count = 5;
    assert_ok(context, nadir_solver_robust(context, solver, &ball, NULL, &result, NULL));
    /* -1.09 + 0.5 v(3), all of row 0 on state 3 */
    assert_that(result.lower_bound <= -0.3324242424242424, "%.17g", result.lower_bound);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* A ball may let a row change that the model pins. Rewards of its successors of probability 0 are not kept; where they
 * were other than assumed, the answer would be for another model. */
static void balls_that_unpin(void **state)
{
    nadir_context *context = *state;
    static const int64_t state_rows[] = {0, 1, 2, 3};
    static const double kernel[] = {0.5, 0.5, 0, 0.3, 0.7, 0, 0.2, 0.3, 0.5};
    static const double pinning[] = {0, 1, 1};
    static const double ones[] = {1, 1, 1};
    double rewards[] = {0, 1, -50, 0, 1, 2, 0, 1, 2};
    for (int kind = 0; kind < 4; kind++) { /* as R + g has it, or far from that; kept or pinned */
        rewards[2] = kind & 1 ? -50 : 2;
        nadir_model_data data = test_model_data();
        data.states = 3;
        data.rows = 3;
        data.discount = 0.9;
        data.state_rows = state_rows;
        data.dense = kernel;
        data.transition_rewards = rewards;
        data.scales = kind & 2 ? pinning : NULL;
        nadir_model *model = test_create_model(context, &data);
        nadir_policy *policy = test_uniform_policy(context, model);
        nadir_solver *solver = test_solver(context, model, policy);
        const double radius = 0.1;
        nadir_ball ball;
        nadir_robust result = {.size = sizeof result};
        nadir_ball_default(&ball);
        ball.radius = &radius;
        ball.radius_count = 1;
        ball.scales = ones;
        if (kind < 3) {
            assert_ok(context, nadir_solver_robust(context, solver, &ball, NULL, &result, NULL));
            assert_true(result.certified);
            assert_that(kind == 1 ? result.robust_return < -7 : result.robust_return > 5, "kind %d: %g", kind,
                        result.robust_return);
        } else {
            assert_fails(context, nadir_solver_robust(context, solver, &ball, NULL, &result, NULL),
                         NADIR_ERROR_UNSUPPORTED, "pins state 0, action 0, and its rewards");
            ball.domain = NADIR_DOMAIN_SUPPORT;
            assert_ok(context, nadir_solver_robust(context, solver, &ball, NULL, &result, NULL));
        }
        nadir_solver_free(solver);
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
}

static void wrong_settings(void **state)
{
    nadir_context *context = *state;
    nadir_read_settings settings;
    nadir_model *model = NULL;
    test_write_file("model.csv", "idstatefrom,idaction,idstateto,probability,reward\n0,0,0,1,2\n");
    nadir_read_settings_default(&settings);
    settings.unseen = NADIR_UNSEEN_VALUE;
    settings.unseen_value = INFINITY;
    assert_fails(context, nadir_model_read(context, "model.csv", &settings, &model), NADIR_ERROR_ARGUMENT,
                 "expected one of nadir_unseen, and a finite number");
    settings.unseen = (nadir_unseen)(NADIR_UNSEEN_VALUE + 1);
    assert_fails(context, nadir_model_read(context, "model.csv", &settings, &model), NADIR_ERROR_ARGUMENT,
                 "expected one of nadir_unseen");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(every_format_has_them), test_with_context(zeros_count),
        test_with_context(zeros_of_large_models), test_with_context(rewards_of_rows),
        test_with_context(cassandra_wildcards),   test_with_context(digests_cover_them),
        test_with_context(models_of_kernels),     test_with_context(balls_that_unpin),
        test_with_context(wrong_settings),        test_with_context(zeros_nearly_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_io_checker_write.c: writing the formats of the model checkers PRISM and Storm, and reading back. */
#include "support/support.h"

#include "core/random.h"
#include "model/model_builder.h"
#include "support/formats.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What neither format holds. */
#define NEVER_HELD (TEST_IGNORE_DISCOUNT | TEST_IGNORE_SCALES | TEST_IGNORE_BALL)

static bool exists(const char *name)
{
    return access(name, F_OK) == 0;
}

static char *contents(const char *name)
{
    static char text[1 << 14];
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

static nadir_read_settings prism_settings(void)
{
    nadir_read_settings settings = test_read_settings();
    settings.rewards = exists("out.trew") ? "out.trew" : NULL;
    settings.labels = exists("out.lab") ? "out.lab" : NULL;
    return settings;
}

static nadir_status read_prism(nadir_context *context, nadir_model **model)
{
    const nadir_read_settings settings = prism_settings();
    return test_format_read(context, &nadir_format_prism, "out.tra", &settings, model);
}

static nadir_status read_drn(nadir_context *context, nadir_model **model)
{
    return test_format_read(context, &nadir_format_drn, "out.drn", NULL, model);
}

static void clean(void)
{
    (void)unlink("out.tra");
    (void)unlink("out.trew");
    (void)unlink("out.lab");
    (void)unlink("out.drn");
}

/* Writes the model in both formats and reads it back. */
static void round_trip(nadir_context *context, const nadir_model *model, unsigned prism, unsigned drn)
{
    nadir_model *again;
    clean();
    assert_ok(context, nadir_format_prism.write(context, model, "out.tra", NULL));
    assert_ok(context, read_prism(context, &again));
    assert_models_equal(model, again, NEVER_HELD | prism);
    nadir_model_free(again);
    assert_ok(context, nadir_format_drn.write(context, model, "out.drn", NULL));
    assert_ok(context, read_drn(context, &again));
    assert_models_equal(model, again, NEVER_HELD | drn);
    nadir_model_free(again);
}

/* Rewards by transition, rows in state order; builder->model may be changed before the end. */
static void start(nadir_context *context, nadir_builder *builder)
{
    assert_ok(context, nadir_builder_start(context, "made", builder));
}

static void add(nadir_builder *builder, int64_t state, int64_t action, int64_t successor, double probability,
                double reward)
{
    assert_ok(builder->context, nadir_builder_add(builder, state, action, successor, probability, reward, 0));
}

static nadir_model *finish(nadir_builder *builder)
{
    nadir_context *context = builder->context;
    nadir_model *model = NULL;
    assert_ok(context, nadir_builder_finish(builder, NULL, &model));
    return model;
}

static void name_action(nadir_builder *builder, const char *name)
{
    assert_ok(builder->context,
              nadir_names_add(builder->context, &builder->model->action_names, name, strlen(name)));
}

static void set_initial(nadir_builder *builder, int64_t count, const double initial[])
{
    builder->model->initial = nadir_allocate(builder->context, (size_t)count, sizeof *initial);
    assert_non_null(builder->model->initial);
    memcpy(builder->model->initial, initial, (size_t)count * sizeof *initial);
}

/* Two named actions, a terminal state 1, rewards, two initial states. */
static nadir_model *small_model(nadir_context *context)
{
    const double initial[] = {0, 0.5, 0.5};
    nadir_builder builder;
    start(context, &builder);
    add(&builder, 0, 0, 0, 0.25, 0);
    add(&builder, 0, 0, 2, 0.75, 2);
    add(&builder, 0, 1, 1, 1, 0);
    add(&builder, 2, 0, 2, 1, -1e-9);
    name_action(&builder, "go");
    name_action(&builder, "stay");
    set_initial(&builder, 3, initial);
    nadir_model *model = finish(&builder);
    test_messages_clear();
    clean();
    return model;
}

static void test_text_of_prism(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = small_model(context);
    assert_ok(context, nadir_format_prism.write(context, model, "out.tra", NULL));
    assert_string_equal(contents("out.tra"),
                        "3 3 4\n0 0 0 0.25 go\n0 0 2 0.75 go\n0 1 1 1 stay\n2 0 2 1 go\n");
    assert_string_equal(contents("out.trew"), "3 3 2\n0 0 2 2\n2 0 2 -1e-9\n");
    assert_string_equal(contents("out.lab"), "0=\"init\"\n1: 0\n2: 0\n");
    assert_string_equal(
        test_messages(),
        "out.tra: only a part of the model; read it with --rewards out.trew --labels out.lab\n");
    nadir_model_free(model);
}

static void test_text_of_drn(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = small_model(context);
    assert_ok(context, nadir_format_drn.write(context, model, "out.drn", NULL));
    assert_string_equal(
        contents("out.drn"),
        "// Written by nadir\n@type: MDP\n@value_type: double\n@parameters\n\n@reward_models\nreward\n"
        "@nr_states\n3\n@nr_choices\n3\n@model\n"
        "state 0 [0]\n\taction go [1.5]\n\t\t0 : 0.25\n\t\t2 : 0.75\n"
        "\taction stay [0]\n\t\t1 : 1\n"
        "state 1 [0] init\n"
        "state 2 [0] init\n\taction go [-1e-9]\n\t\t2 : 1\n");
    assert_string_equal(test_messages(), "");
    nadir_model_free(model);
}

static void test_small_model_comes_back(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = small_model(context);
    round_trip(context, model, 0, TEST_IGNORE_TRANSITION_REWARDS);
    nadir_model_free(model);
}

/* Names in another order than their numbers, and a distribution that labels cannot say. */
static void test_model_that_loses_much(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    const unsigned lost = TEST_IGNORE_INITIAL | TEST_IGNORE_NAMES | TEST_IGNORE_ACTION_NUMBERS;
    test_messages_clear();
    round_trip(context, model, lost, lost | TEST_IGNORE_TRANSITION_REWARDS);
    assert_non_null(strstr(test_messages(), "out.tra: the initial distribution is lost"));
    assert_non_null(strstr(test_messages(), "out.drn: the initial distribution is lost"));
    assert_non_null(strstr(test_messages(), "out.drn: the numbers of actions are lost"));
    assert_false(exists("out.lab"));
    nadir_model *prism;
    nadir_model *drn;
    assert_ok(context, read_prism(context, &prism));
    assert_ok(context, read_drn(context, &drn));
    for (int64_t row = 0; row < model->rows; row++) {
        assert_string_equal(nadir_model_action_name(prism, row), nadir_model_action_name(model, row));
        assert_string_equal(nadir_model_action_name(drn, row), nadir_model_action_name(model, row));
    }
    nadir_model_free(prism);
    nadir_model_free(drn);
    nadir_model_free(model);
}

/* A model of random shape with weights of all sizes. Row sums are one up to rounding. */
static nadir_model *random_model(nadir_context *context, nadir_random *random, bool *gaps)
{
    nadir_builder builder;
    start(context, &builder);
    const int64_t states = 1 + (int64_t)nadir_random_below(random, 12);
    builder.no_rewards = nadir_random_below(random, 8) == 0;
    *gaps = nadir_random_below(random, 2) == 0;
    const int64_t step = *gaps ? 3 : 1;
    for (int64_t s = 0; s < states; s++) {
        const int64_t actions = (int64_t)nadir_random_below(random, 4); /* 0: terminal */
        for (int64_t a = 0; a < actions; a++) {
            double weights[12];
            double sum = 0;
            for (int64_t t = 0; t < states; t++) {
                const bool absent = t != s && nadir_random_below(random, 2) == 0;
                weights[t] = absent ? 0 : nadir_random_uniform(random) + 1e-12;
                sum += weights[t];
            }
            for (int64_t t = 0; t < states; t++) {
                const double reward = nadir_random_uniform(random) * 1e6 - 5e5;
                add(&builder, s, step * a, t, weights[t] / sum, reward);
            }
        }
    }
    builder.states = states;
    return finish(&builder);
}

static void test_random_models(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        nadir_context *context = test_context();
        nadir_random random = test_random(seed);
        print_message("seed %llu\n", (unsigned long long)seed);
        bool gaps;
        nadir_model *model = random_model(context, &random, &gaps);
        round_trip(context, model, gaps ? TEST_IGNORE_ACTION_NUMBERS : 0, TEST_IGNORE_TRANSITION_REWARDS);
        nadir_model_free(model);
        nadir_context_free(context);
    }
}

static void test_uniform_initial_distributions(void **state)
{
    nadir_context *context = *state;
    for (int64_t support = 1; support <= 7; support++) {
        double initial[7] = {0};
        nadir_builder builder;
        start(context, &builder);
        for (int64_t s = 0; s < 7; s++) {
            add(&builder, s, 0, (s + 1) % 7, 1, 0);
            initial[s] = s < support ? 1.0 / (double)support : 0;
        }
        set_initial(&builder, 7, initial);
        nadir_model *model = finish(&builder);
        round_trip(context, model, 0, 0);
        assert_true(exists("out.lab") == (support < 7)); /* over all states is what is read without */
        nadir_model_free(model);
    }
}

/* The first probability is what three equal ones would be. */
static void test_uneven_initial_distribution(void **state)
{
    const double initial[] = {1.0 / 3, 0.5, 1.0 / 6};
    nadir_context *context = *state;
    nadir_builder builder;
    start(context, &builder);
    for (int64_t s = 0; s < 3; s++) {
        add(&builder, s, 0, s, 1, 0);
    }
    set_initial(&builder, 3, initial);
    nadir_model *model = finish(&builder);
    round_trip(context, model, TEST_IGNORE_INITIAL, TEST_IGNORE_INITIAL);
    assert_non_null(strstr(test_messages(), "out.tra: the initial distribution is lost"));
    assert_non_null(strstr(test_messages(), "out.drn: the initial distribution is lost"));
    nadir_model_free(model);
}

static void test_only_terminal_states(void **state)
{
    nadir_context *context = *state;
    nadir_builder builder;
    start(context, &builder);
    builder.states = 3;
    nadir_model *model = finish(&builder);
    round_trip(context, model, 0, 0);
    assert_string_equal(contents("out.tra"), "3 0 0\n");
    nadir_model_free(model);
}

static void test_names_that_are_no_labels(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"go left", "go right"}, {"a", ""}, {"a", "a"}, {"a", "b\n"}, {"1", "0"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        nadir_context *context = test_context();
        nadir_builder builder;
        start(context, &builder);
        add(&builder, 0, 0, 0, 1, 1);
        add(&builder, 0, 1, 0, 1, 2);
        name_action(&builder, names[i][0]);
        name_action(&builder, names[i][1]);
        nadir_model *model = finish(&builder);
        test_messages_clear();
        round_trip(context, model, TEST_IGNORE_NAMES, TEST_IGNORE_NAMES);
        assert_non_null(strstr(test_messages(), "out.tra: the names of actions are lost"));
        assert_non_null(strstr(test_messages(), "out.drn: the names of actions are lost"));
        assert_string_equal(contents("out.tra"), "1 2 2\n0 0 0 1\n0 1 0 1\n");
        nadir_model_free(model);
        nadir_context_free(context);
    }
}

/* Choices without a label have none when they are written again. */
static void test_missing_labels_stay_missing(void **state)
{
    nadir_context *context = *state;
    nadir_model *model;
    clean();
    test_write_file("out.tra", "2 3 3\n0 0 1 1 go\n1 0 0 1\n1 1 1 1 stay\n");
    assert_ok(context, read_prism(context, &model));
    round_trip(context, model, 0, TEST_IGNORE_ACTION_NUMBERS);
    assert_string_equal(contents("out.tra"), "2 3 3\n0 0 1 1 go\n1 0 1 1 stay\n1 1 0 1\n");
    nadir_model_free(model);
}

static void test_nothing_is_left_of_a_failed_write(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = small_model(context);
    assert_int_equal(mkdir("sub", 0777), 0);
    assert_int_equal(mkdir("sub/out.lab", 0777), 0);
    assert_fails(context, nadir_format_prism.write(context, model, "sub/out.tra", NULL), NADIR_ERROR_IO,
                 "sub/out.lab: cannot write the file: a directory");
    assert_int_equal(rmdir("sub/out.lab"), 0);
    assert_int_equal(rmdir("sub"), 0); /* it is empty */
    assert_fails(context, nadir_format_drn.write(context, model, "sub/out.drn", NULL), NADIR_ERROR_IO,
                 "sub/out.drn: cannot write");
    nadir_model_free(model);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    nadir_model *model = small_model(context);
    assert_ok(context, nadir_format_prism.write(context, model, "out.tra", NULL));
    assert_ok(context, nadir_format_drn.write(context, model, "out.drn", NULL));
    nadir_model_free(model);
    nadir_context_free(context);
    const nadir_read_settings settings = prism_settings();
    assert_true(test_format_run_out(&nadir_format_drn, "out.drn", NULL, "scarce.drn", 1) > 20);
    assert_int_equal(unlink("scarce.drn"), 0);
    assert_true(test_format_run_out(&nadir_format_prism, "out.tra", &settings, "scarce.tra", 3) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_text_of_prism),
        test_with_context(test_text_of_drn),
        test_with_context(test_small_model_comes_back),
        test_with_context(test_model_that_loses_much),
        cmocka_unit_test(test_random_models),
        test_with_context(test_uniform_initial_distributions),
        test_with_context(test_uneven_initial_distribution),
        test_with_context(test_only_terminal_states),
        cmocka_unit_test(test_names_that_are_no_labels),
        test_with_context(test_missing_labels_stay_missing),
        test_with_context(test_nothing_is_left_of_a_failed_write),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_io_cassandra_write.c: models written as Cassandra files and read back. */
#include "support/support.h"

#include "support/formats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static nadir_context *context;

static int setup(void **state)
{
    (void)state;
    context = test_context();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    nadir_context_free(context);
    return 0;
}

#define THIRD (1.0 / 3)

static const int64_t state_rows[] = {0, 2, 4, 6};
static const int64_t row_starts[] = {0, 2, 3, 6, 7, 9, 10};
static const int32_t columns[] = {0, 2, 1, 0, 1, 2, 1, 1, 2, 0};
static const double probabilities[] = {0.1, 0.9, 1, THIRD, THIRD, THIRD, 1, 0.7, 0.3, 1};
static const double transition_rewards[] = {1e9, -1e-9, 0.1, 1, 0, 3, -7.25, 0, THIRD, 5e-324};
static const double row_rewards[] = {1e300, -0.1, 0, 2 * THIRD, 5, 0};
static const double initial[] = {0.1, 0.2, 0.7};
static const char *const state_names[] = {"home", "way_2", "work-place"};
static const char *const action_names[] = {"stay", "go"};

/* 3 states with 2 actions each and numbers that need all digits. */
static nadir_model_data small_data(void)
{
    nadir_model_data data = test_model_data();
    data.states = 3;
    data.rows = 6;
    data.discount = 0.95;
    data.state_rows = state_rows;
    data.row_starts = row_starts;
    data.columns = columns;
    data.probabilities = probabilities;
    data.transition_rewards = transition_rewards;
    data.initial = initial;
    data.state_names = state_names;
    data.action_names = action_names;
    data.action_names_count = 2;
    return data;
}

static nadir_model *read_back(const char *path)
{
    nadir_model *model;
    assert_ok(context, test_format_read(context, &nadir_format_cassandra, path, NULL, &model));
    return model;
}

static void assert_round_trip(const nadir_model_data *data, const char *path, unsigned ignore)
{
    nadir_model *model = test_create_model(context, data);
    assert_ok(context, nadir_format_cassandra.write(context, model, path, NULL));
    nadir_model *back = read_back(path);
    assert_models_equal(model, back, ignore);
    nadir_model_free(model);
    nadir_model_free(back);
}

static void assert_file_holds(const char *path, const char *words)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    if (strstr(text, words) == NULL) {
        print_error("\"%s\" is not in\n%s", words, text);
        fail();
    }
}

static void test_mdp_with_everything(void **state)
{
    (void)state;
    const nadir_model_data data = small_data();
    assert_round_trip(&data, "model.mdp", 0);
    assert_file_holds("model.mdp", "discount: 0.95\nvalues: reward\nstates: home way_2 work-place\n"
                                   "actions: stay go\nstart: 0.1 0.2 0.7\nT: stay : home : home 0.1\n");
    assert_file_holds("model.mdp", "\nT: go : home : way_2 1.0\n");
    assert_file_holds("model.mdp", "\nR: stay : home : work-place : * -1.0e-9\n");
    assert_string_equal(test_messages(), "");
}

static void test_pomdp_observes_the_state(void **state)
{
    (void)state;
    const nadir_model_data data = small_data();
    assert_round_trip(&data, "model.POMDP", 0);
    assert_file_holds("model.POMDP", "\nobservations: 3\n");
    assert_file_holds("model.POMDP", "\nO: * : work-place : 2 1.0\n");
}

static void test_rewards_of_rows(void **state)
{
    (void)state;
    nadir_model_data data = small_data();
    data.transition_rewards = NULL;
    data.rewards = row_rewards;
    assert_round_trip(&data, "rows.mdp", 0);
    assert_file_holds("rows.mdp", "\nR: stay : work-place : * : * 5.0\n");
}

static void test_no_rewards_stay_none_and_zeros_stay_zeros(void **state)
{
    (void)state;
    static const double zeros[6] = {0};
    nadir_model_data data = small_data();
    data.transition_rewards = NULL;
    assert_round_trip(&data, "none.mdp", 0);
    data.rewards = zeros;
    assert_round_trip(&data, "zeros.mdp", 0);
}

static void test_numbers_and_uniform_start(void **state)
{
    (void)state;
    nadir_model_data data = small_data();
    data.state_names = NULL;
    data.action_names = NULL;
    data.initial = NULL;
    assert_round_trip(&data, "numbers.mdp", 0);
    assert_file_holds("numbers.mdp", "states: 3\nactions: 2\nstart: uniform\nT: 0 : 0 : 0 0.1\n");
}

static void test_dense_model(void **state)
{
    (void)state;
    static const double dense[] = {0.5, 0.5, 0, 0.25, 0.5, 0.25, 0, 0.5, 0.5, 1, 0, 0, 0.5, 0.5, 0, 0, 0, 1};
    nadir_model_data data = small_data();
    data.row_starts = NULL;
    data.columns = NULL;
    data.probabilities = NULL;
    data.dense = dense;
    data.transition_rewards = dense;
    assert_round_trip(&data, "dense.mdp", 0);
}

static void test_long_lists_run_over_lines(void **state)
{
    (void)state;
    const int64_t states = 2500;
    test_write_file("long.mdp", "discount: 0.5\nstates: 2500\nactions: 1\nT: 0 identity\nstart exclude: 7\n");
    nadir_model *model = read_back("long.mdp");
    assert_ok(context, nadir_format_cassandra.write(context, model, "copy.mdp", NULL));
    nadir_model *back = read_back("copy.mdp");
    assert_int_equal(back->states, states);
    for (int64_t s = 0; s < states; s++) {
        assert_true(back->initial[s] == model->initial[s]);
    }
    nadir_model_free(model);
    nadir_model_free(back);
}

static void test_names_that_the_format_has_not_are_lost_with_a_warning(void **state)
{
    (void)state;
    static const char *const lists[][3] = {{"a b", "c", "d"},     {"1st", "c", "d"}, {"start", "c", "d"},
                                           {"same", "same", "d"}, {"", "c", "d"},    {"a:b", "c", "d"}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        nadir_model_data data = small_data();
        data.state_names = lists[i];
        test_messages_clear();
        nadir_model *model = test_create_model(context, &data);
        assert_ok(context, nadir_format_cassandra.write(context, model, "lost.mdp", NULL));
        assert_non_null(strstr(test_messages(), "lost.mdp: the names of states are lost"));
        assert_null(strstr(test_messages(), "actions"));
        nadir_model *back = read_back("lost.mdp");
        assert_models_equal(model, back, TEST_IGNORE_NAMES);
        assert_null(nadir_model_state_name(back, 0));
        assert_string_equal(nadir_model_action_name(back, 1), "go");
        nadir_model_free(model);
        nadir_model_free(back);
    }
}

static void test_model_without_discount_is_refused(void **state)
{
    (void)state;
    nadir_model_data data = small_data();
    data.discount = NAN;
    nadir_model *model = test_create_model(context, &data);
    const nadir_status status = nadir_format_cassandra.write(context, model, "refused.mdp", NULL);
    assert_fails(context, status, NADIR_ERROR_UNSUPPORTED, "give --discount");
    assert_int_equal(access("refused.mdp", F_OK), -1);
    nadir_model_free(model);
}

static void test_folder_that_is_not_there(void **state)
{
    (void)state;
    const nadir_model_data data = small_data();
    nadir_model *model = test_create_model(context, &data);
    const nadir_status status = nadir_format_cassandra.write(context, model, "nowhere/model.mdp", NULL);
    assert_true(status == NADIR_ERROR_FILE || status == NADIR_ERROR_IO);
    nadir_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mdp_with_everything),
        cmocka_unit_test(test_pomdp_observes_the_state),
        cmocka_unit_test(test_rewards_of_rows),
        cmocka_unit_test(test_no_rewards_stay_none_and_zeros_stay_zeros),
        cmocka_unit_test(test_numbers_and_uniform_start),
        cmocka_unit_test(test_dense_model),
        cmocka_unit_test(test_long_lists_run_over_lines),
        cmocka_unit_test(test_names_that_the_format_has_not_are_lost_with_a_warning),
        cmocka_unit_test(test_model_without_discount_is_refused),
        cmocka_unit_test(test_folder_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* test_io_csv_write.c: writing models as craam CSV. */
#include "support/support.h"

#include "support/formats.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEADER "idstatefrom,idaction,idstateto,probability,reward\n"

/* What a CSV file does not hold. */
#define NOT_HELD                                                                                             \
    (TEST_IGNORE_DISCOUNT | TEST_IGNORE_INITIAL | TEST_IGNORE_SCALES | TEST_IGNORE_NAMES | TEST_IGNORE_BALL)

static nadir_model *read_text(nadir_context *context, const char *text)
{
    return test_format_read_text(context, &nadir_format_csv, "model.csv", text);
}

static void write_model(nadir_context *context, const nadir_model *model, const char *path)
{
    assert_ok(context, test_format_write(context, &nadir_format_csv, model, path));
}

static void assert_file_is(const char *path, const char *expected)
{
    char text[4096] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, expected);
}

static const char plain[] = HEADER "0,0,0,0.25,1\n"
                                   "0,0,1,0.75,5\n"
                                   "0,1,1,1,-2.5\n"
                                   "1,0,0,1,0.125\n";

static void test_writes(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_text(context, plain);
    write_model(context, model, "out.csv");
    assert_file_is("out.csv", plain);
    nadir_model_free(model);
}

static void test_round_trip(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_model *copy;
    write_model(context, model, "rich.csv");
    assert_ok(context, test_format_read(context, &nadir_format_csv, "rich.csv", NULL, &copy));
    assert_models_equal(copy, model, NOT_HELD);
    nadir_model_free(copy);
    nadir_model_free(model);
}

/* The reward of a row, written with each of its transitions, comes back with the same bits. */
static void test_round_trip_of_row_rewards(void **state)
{
    static const int64_t state_rows[] = {0, 1, 2};
    const double dense[] = {1.0 / 3, 2.0 / 3, 0.1, 0.9};
    const double rewards[] = {1.0 / 3, -1e-300 / 7};
    nadir_context *context = *state;
    nadir_model_data data = test_model_data();
    data.states = 2;
    data.rows = 2;
    data.state_rows = state_rows;
    data.dense = dense;
    data.rewards = rewards;
    nadir_model *model;
    nadir_model *copy;
    assert_ok(context, nadir_model_create(context, &data, &model));
    write_model(context, model, "rewards.csv");
    assert_ok(context, test_format_read(context, &nadir_format_csv, "rewards.csv", NULL, &copy));
    assert_models_equal(copy, model, 0);
    nadir_model_free(copy);
    nadir_model_free(model);
}

/* Terminal states that something else implies are left out and come back terminal. */
static void test_terminal_states_are_left_out(void **state)
{
    static const char text[] = HEADER "0,0,2,1,1\n2,0,3,1,1\n";
    nadir_context *context = *state;
    nadir_model *model = read_text(context, text);
    nadir_model *copy;
    test_messages_clear();
    write_model(context, model, "terminal.csv");
    assert_string_equal(test_messages(), "");
    assert_file_is("terminal.csv", text);
    assert_ok(context, test_format_read(context, &nadir_format_csv, "terminal.csv", NULL, &copy));
    assert_models_equal(copy, model, 0);
    nadir_model_free(copy);
    nadir_model_free(model);
}

#define MANY 5000

/* A model whose states from `first` on are terminal and never reached. */
static nadir_model *unreached_model(nadir_context *context, int64_t states, int64_t first, bool with_rewards)
{
    static int64_t row_starts[MANY + 1];
    static int32_t columns[MANY];
    static double ones[MANY];
    static double scales[MANY];
    static double rewards[MANY];
    for (int64_t s = 0; s < states; s++) {
        row_starts[s + 1] = s + 1;
        columns[s] = (int32_t)s;
        ones[s] = 1;
        scales[s] = s < first ? 1 : 0;
    }
    nadir_model_data data = test_model_data();
    data.states = states;
    data.rows = states;
    data.state_rows = row_starts;
    data.row_starts = row_starts;
    data.columns = columns;
    data.probabilities = ones;
    data.rewards = with_rewards ? rewards : NULL;
    data.scales = scales;
    nadir_model *model = test_create_model(context, &data);
    return model;
}

static void test_last_terminal_state_is_written_if_nothing_implies_it(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = unreached_model(context, 4, 1, true);
    nadir_model *copy;
    write_model(context, model, "last.csv");
    assert_file_is("last.csv", HEADER "0,0,0,1,0\n3,0,3,1,0\n");
    assert_non_null(strstr(test_messages(), "last.csv: 1 of 3 terminal states written as a row that stays"));
    assert_ok(context, test_format_read(context, &nadir_format_csv, "last.csv", NULL, &copy));
    assert_models_equal(copy, model, TEST_IGNORE_SCALES);
    assert_true(nadir_model_is_terminal(copy, 2));
    nadir_model_free(copy);
    nadir_model_free(model);
}

/* The reader takes large gaps between numbers for mistakes, so the writer leaves none. */
static void test_many_terminal_states_are_written(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = unreached_model(context, MANY, 2, true);
    nadir_model *copy;
    write_model(context, model, "many.csv");
    assert_non_null(strstr(test_messages(), "4998 of 4998 terminal states written"));
    assert_ok(context, test_format_read(context, &nadir_format_csv, "many.csv", NULL, &copy));
    assert_int_equal(test_view(copy).states, MANY);
    assert_int_equal(test_view(copy).nonzeros, MANY);
    nadir_model_free(copy);
    nadir_model_free(model);
}

static void test_model_without_rewards(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = unreached_model(context, 2, 2, false);
    write_model(context, model, "none.csv");
    assert_file_is("none.csv", HEADER "0,0,0,1,0\n1,0,1,1,0\n");
    assert_string_equal(test_messages(), "none.csv: the model has no rewards; written as 0\n");
    nadir_model_free(model);
}

static void test_write_fails_cleanly(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_text(context, plain);
    assert_fails(context, test_format_write(context, &nadir_format_csv, model, "nowhere/out.csv"),
                 NADIR_ERROR_IO, "nowhere/out.csv: cannot write the file");
    nadir_model_free(model);
}

/* Fails the k-th allocation of reading and writing, for k = 1, 2, ... until all succeed. */
static void test_out_of_memory(void **state)
{
    (void)state;
    test_write_file("model.csv", HEADER "1,0,2,1,1\n0,1,0,0.5,3\n0,1,2,0.25,1\n0,1,2,0.25,2\n");
    (void)test_format_run_out(&nadir_format_csv, "model.csv", NULL, "scarce.csv", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_writes),
        test_with_context(test_round_trip),
        test_with_context(test_round_trip_of_row_rewards),
        test_with_context(test_terminal_states_are_left_out),
        test_with_context(test_last_terminal_state_is_written_if_nothing_implies_it),
        test_with_context(test_many_terminal_states_are_written),
        test_with_context(test_model_without_rewards),
        test_with_context(test_write_fails_cleanly),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("CSV writing", tests, NULL, NULL);
}

/* test_registry.c: what surrounds reading and writing in all formats: which one it is, what is lost, what the
 * settings change. */
#include "support/support.h"

#include "support/small_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEADER "idstatefrom,idaction,idstateto,probability,reward\n"

/* Writes the small model and compares all that was said, apart from what the format itself says of `path`. */
static void expect_losses(const test_small_model *small, const char *path, const char *said)
{
    nadir_context *context = test_context();
    nadir_model *model = test_small_accept(context, small);
    test_messages_clear();
    assert_ok(context, nadir_model_write(context, model, path, NULL));
    char heard[1024] = "";
    for (const char *at = test_messages(); *at != '\0'; at = strchr(at, '\n') + 1) {
        if (strncmp(at, path, strlen(path)) != 0) {
            (void)strncat(heard, at, (size_t)(strchr(at, '\n') - at));
        }
    }
    char expected[1024] = "";
    if (*said != '\0') {
        (void)snprintf(expected, sizeof expected, "written to %s without: %s (.npz keeps all)", path, said);
    }
    assert_string_equal(heard, expected);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void test_what_is_lost_is_said(void **state)
{
    (void)state;
    static const double radius[] = {0.5};
    test_small_model small;
    test_small_set(&small);
    expect_losses(&small, "plain.npz", "");
    expect_losses(&small, "plain.csv", "the discount");
    small.data.discount = NAN;
    expect_losses(&small, "plain.csv", "");
    small.initial[0] = 0.25;
    small.initial[1] = 0.75;
    expect_losses(&small, "initial.csv", "the initial distribution");
    expect_losses(&small, "initial.npz", "");
    test_small_set(&small);
    small.data.discount = NAN;
    small.scales[1] = 2;
    expect_losses(&small, "scales.csv", "row scales");
    expect_losses(&small, "scales.npz", "");
    small.scales[1] = 1;
    small.data.radius = radius;
    small.data.radius_count = 1;
    expect_losses(&small, "ball.csv", "radius, norm, set and domain");
    test_small_set(&small);
    small.data.discount = NAN;
    small.data.transition_rewards = small.probabilities;
    expect_losses(&small, "each.csv", "");
    expect_losses(&small, "each.bin",
                  "rewards of single transitions (their mean is kept: as read back, they "
                  "are frozen)");
}

/* That a terminal state is known exactly is a matter of its own, not one of scales. */
static void test_terminal_states_and_scales(void **state)
{
    (void)state;
    test_small_model small;
    test_small_set(&small);
    small.data.discount = NAN;
    small.probabilities[2] = 0;
    small.probabilities[3] = 1;
    small.rewards[1] = 0;
    small.scales[1] = 0;
    expect_losses(&small, "terminal.csv", "");
    expect_losses(&small, "terminal.npz", "");
    expect_losses(&small, "terminal.bin", "that terminal rows are known exactly");
    small.rewards[1] = 1; /* pinned, but not terminal */
    expect_losses(&small, "pinned.csv", "row scales");
}

static void test_costs_are_negated(void **state)
{
    nadir_context *context = *state;
    nadir_read_settings settings;
    nadir_read_settings_default(&settings);
    settings.costs = true;
    test_write_file("costs.csv", HEADER "0,0,0,0.5,3\n0,0,1,0.5,0\n1,0,1,1,0\n");
    nadir_model *model = NULL;
    assert_ok(context, nadir_model_read(context, "costs.csv", &settings, &model));
    const nadir_model_data view = test_view(model);
    assert_true(view.rewards[0] == -1.5);
    assert_true(view.rewards[1] == 0 && !signbit(view.rewards[1]));
    assert_non_null(view.transition_rewards);
    assert_true(view.transition_rewards[0] == -3);
    assert_true(view.transition_rewards[1] == 0 && !signbit(view.transition_rewards[1]));
    nadir_model_free(model);
}

static void test_formats_of_files(void **state)
{
    nadir_context *context = *state;
    const char *name = NULL;
    nadir_model *model = NULL;
    /* Content before ending. */
    test_write_file("table.npz", HEADER "0,0,0,1,0\n");
    assert_ok(context, nadir_file_format(context, "table.npz", &name));
    assert_string_equal(name, "csv");
    assert_ok(context, nadir_model_read(context, "table.npz", NULL, &model));
    /* The ending where the content says nothing, in any case of letters. */
    test_write_file("table.CSV", "state,next\n0,0\n");
    assert_ok(context, nadir_file_format(context, "table.CSV", &name));
    assert_string_equal(name, "csv");
    test_write_file("folder.csv.txt", "state,next\n0,0\n");
    assert_fails(context, nadir_file_format(context, "folder.csv.txt", &name), NADIR_ERROR_FORMAT,
                 "folder.csv.txt: the content is of no known model format, nor is the ending; known are");
    assert_ok(context, nadir_model_write(context, model, "out.Npz", NULL));
    assert_ok(context, nadir_file_format(context, "out.Npz", &name));
    assert_string_equal(name, "npz");
    static const char *const no_endings[] = {"out", "out.", "out.csv ", "out.xyz", "a.csv/out", ""};
    for (size_t i = 0; i < sizeof no_endings / sizeof *no_endings; i++) {
        assert_fails(context, nadir_model_write(context, model, no_endings[i], NULL), NADIR_ERROR_UNSUPPORTED,
                     "the ending does not tell the format to write");
    }
    nadir_model_free(model);
}

static void test_settings_that_are_wrong(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = NULL;
    nadir_read_settings reading;
    nadir_write_settings writing;
    test_write_file("model.csv", HEADER "0,0,0,1,0\n");
    nadir_read_settings_default(&reading);
    reading.size = 0;
    assert_fails(context, nadir_model_read(context, "model.csv", &reading, &model), NADIR_ERROR_ARGUMENT,
                 "size of the read settings");
    const double wrong[] = {1.5, -0.5, INFINITY, 2};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        nadir_read_settings_default(&reading);
        reading.discount = wrong[i];
        assert_fails(context, nadir_model_read(context, "model.csv", &reading, &model), NADIR_ERROR_ILL_POSED,
                     "expected 0 <= discount <= 1");
    }
    assert_null(model);
    assert_ok(context, nadir_model_read(context, "model.csv", NULL, &model));
    nadir_write_settings_default(&writing);
    writing.size = 1000;
    assert_fails(context, nadir_model_write(context, model, "out.csv", &writing), NADIR_ERROR_ARGUMENT,
                 "size of the write settings");
    nadir_write_settings_default(&writing);
    writing.compress = true;
    assert_fails(context, nadir_model_write(context, model, "out.csv", &writing), NADIR_ERROR_ARGUMENT,
                 "out.csv is craam CSV, which has no use for --compress");
    assert_int_not_equal(access("out.csv", F_OK), 0);
    assert_ok(context, nadir_model_write(context, model, "out.npz", &writing));
    nadir_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_lost_is_said),     cmocka_unit_test(test_terminal_states_and_scales),
        test_with_context(test_costs_are_negated),       test_with_context(test_formats_of_files),
        test_with_context(test_settings_that_are_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_io_npz_write.c: models written to NumPy archives and read back. */
#include "support/numpy.h"

#include "support/formats.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static nadir_status write_model(nadir_context *context, const nadir_model *model, const char *path,
                                bool compress)
{
    const nadir_write_settings settings = {.size = sizeof settings, .compress = compress};
    return nadir_format_npz.write(context, model, path, &settings);
}

/* Writes the model, reads it back, and both are the same; so are the bytes of a second writing. */
static void round_trip(nadir_context *context, const nadir_model *model)
{
    for (int compress = 0; compress < 2; compress++) {
        nadir_model *back;
        assert_ok(context, write_model(context, model, "out.npz", compress != 0));
        assert_ok(context, test_format_read(context, &nadir_format_npz, "out.npz", NULL, &back));
        assert_models_equal(model, back, 0);
        assert_ok(context, write_model(context, back, "again.npz", compress != 0));
        nadir_model_free(back);
        size_t first_size;
        size_t second_size;
        unsigned char *first = test_read_bytes("out.npz", &first_size);
        unsigned char *second = test_read_bytes("again.npz", &second_size);
        assert_int_equal(first_size, second_size);
        assert_memory_equal(first, second, first_size);
        free(first);
        free(second);
    }
}

static void rich_model_comes_back(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    round_trip(context, model);
    nadir_model_free(model);
}

/* A dense model of `states` states; rows of state s: state_rows[s] .. state_rows[s + 1] - 1. */
static nadir_model *dense_model(nadir_context *context, int64_t states, const int64_t *state_rows,
                                const int32_t *row_actions)
{
    const int64_t rows = state_rows[states];
    double *dense = calloc((size_t)(rows * states), sizeof *dense);
    double *each = calloc((size_t)(rows * states), sizeof *each);
    for (int64_t i = 0; i < rows * states; i++) {
        dense[i] = 1.0 / (double)states;
        each[i] = (double)(i % 7) / 3;
    }
    dense[0] = 2.0 / (double)states;
    dense[1] = 0;
    const double radius = 0.125;
    nadir_model_data made = test_model_data();
    made.states = states;
    made.rows = rows;
    made.state_rows = state_rows;
    made.row_actions = row_actions;
    made.dense = dense;
    made.transition_rewards = each;
    made.radius = &radius;
    made.radius_count = 1;
    made.norm = 1.5;
    made.set = NADIR_SET_NONRECT;
    made.domain = NADIR_DOMAIN_SIMPLEX;
    nadir_model *model = NULL;
    assert_ok(context, nadir_model_create(context, &made, &model));
    free(dense);
    free(each);
    return model;
}

static void dense_models_come_back(void **state)
{
    static const int64_t regular[] = {0, 2, 4, 6};
    static const int64_t as_square[] = {0, 3, 6, 9};
    static const int64_t ragged[] = {0, 2, 3, 6}; /* as many rows as if each state had two */
    static const int32_t gaps[] = {0, 2, 0, 2, 1, 7};
    const struct {
        const int64_t *state_rows;
        const int32_t *row_actions;
    } cases[] = {{regular, NULL}, {as_square, NULL}, {ragged, NULL}, {regular, gaps}};
    nadir_context *context = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nadir_model *model = dense_model(context, 3, cases[i].state_rows, cases[i].row_actions);
        assert_non_null(test_view(model).dense);
        round_trip(context, model);
        nadir_model_free(model);
    }
}

static void names_that_are_no_utf8_are_repaired(void **state)
{
    nadir_context *context = *state;
    nadir_model *model;
    static const char *const names[] = {"caf\xE9", "x"};
    nadir_model_data made = test_model_data();
    made.states = 2;
    made.rows = 2;
    made.state_rows = (const int64_t[]){0, 1, 2};
    made.dense = (const double[]){0.5, 0.5, 0.5, 0.5};
    made.state_names = names;
    assert_ok(context, nadir_model_create(context, &made, &model));
    assert_ok(context, write_model(context, model, "names.npz", false));
    assert_non_null(strstr(test_messages(), "state_names: what was no UTF-8 was replaced"));
    nadir_model_free(model);
    assert_ok(context, test_format_read(context, &nadir_format_npz, "names.npz", NULL, &model));
    assert_string_equal(nadir_model_state_name(model, 0), "caf\xEF\xBF\xBD");
    nadir_model_free(model);
}

/* Entries are converted in pieces: the model is all that is held. */
static void memory_stays_near_the_model(void **state)
{
    (void)state;
    enum { LARGE = 60000, BRANCH = 4 };
    nadir_context *context = test_context();
    int64_t *state_rows = malloc((LARGE + 1) * sizeof *state_rows);
    int64_t *row_starts = malloc((LARGE + 1) * sizeof *row_starts);
    int32_t *columns = malloc(LARGE * BRANCH * sizeof *columns);
    double *probabilities = malloc(LARGE * BRANCH * sizeof *probabilities);
    for (int64_t row = 0; row <= LARGE; row++) {
        state_rows[row] = row;
        row_starts[row] = row * BRANCH;
    }
    for (int64_t i = 0; i < LARGE * BRANCH; i++) {
        columns[i] = (int32_t)(i % BRANCH * (LARGE / BRANCH) + i / BRANCH % (LARGE / BRANCH));
        probabilities[i] = 1.0 / BRANCH;
    }
    nadir_model_data made = test_model_data();
    made.states = LARGE;
    made.rows = LARGE;
    made.state_rows = state_rows;
    made.row_starts = row_starts;
    made.columns = columns;
    made.probabilities = probabilities;
    nadir_model *model;
    assert_ok(context, nadir_model_create(context, &made, &model));
    assert_ok(context, write_model(context, model, "large.npz", true));
    nadir_model_free(model);
    nadir_context_free(context);
    context = test_context();
    assert_ok(context, test_format_read(context, &nadir_format_npz, "large.npz", NULL, &model));
    const double peak = (double)nadir_context_memory_peak(context);
    assert_true(peak < 1.3 * (double)nadir_context_memory(context));
    nadir_model_free(model);
    nadir_context_free(context);
    free(state_rows);
    free(row_starts);
    free(columns);
    free(probabilities);
}

static int stop_at_once(void *user, const char *task, double share)
{
    (void)user;
    (void)share;
    return strcmp(task, "writing") == 0;
}

static void writing_whole_or_not_at_all(void **state)
{
    (void)state;
    nadir_context *context = test_context_progress(stop_at_once, NULL);
    nadir_model *model = test_rich_model(context);
    assert_fails(context, write_model(context, model, "no/folder.npz", false), NADIR_ERROR_IO,
                 "no/folder.npz");
    test_write_file("kept.npz", "before");
    context->progress_time = -INFINITY; /* do not wait for the next call */
    assert_fails(context, write_model(context, model, "kept.npz", true), NADIR_ERROR_INTERRUPTED,
                 "interrupted while writing");
    size_t size;
    unsigned char *bytes = test_read_bytes("kept.npz", &size);
    assert_int_equal(size, 6);
    free(bytes);
    nadir_model_free(model);
    nadir_context_free(context);
    /* no temporary file is left */
    int files = 0;
    DIR *folder = opendir(".");
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        files += strncmp(entry->d_name, "kept", 4) == 0;
    }
    assert_int_equal(closedir(folder), 0);
    assert_int_equal(files, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(rich_model_comes_back),
        test_with_context(dense_models_come_back),
        test_with_context(names_that_are_no_utf8_are_repaired),
        cmocka_unit_test(memory_stays_near_the_model),
        cmocka_unit_test(writing_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_io_petsc_write.c: writing models as PETSc binary matrices. */
#include "support/support.h"

#include "support/bytes.h"
#include "support/formats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MATRIX 1211216

static nadir_status read_file(nadir_context *context, const char *path, const char *rewards,
                              nadir_model **model)
{
    const nadir_read_settings settings = {.size = sizeof settings, .rewards = rewards, .discount = NAN};
    return test_format_read(context, &nadir_format_petsc, path, &settings, model);
}

static nadir_status write_file(nadir_context *context, const nadir_model *model, const char *path)
{
    return test_format_write(context, &nadir_format_petsc, model, path);
}

/* A model of two states and two actions, with numbers that need all bits. */
static nadir_model *make_model(nadir_context *context, bool with_rewards)
{
    static const int64_t state_rows[] = {0, 2, 4};
    const double dense[] = {1.0 / 3, 2.0 / 3, 0, 1, 0.1, 0.9, 1, 0};
    const double rewards[] = {1.0 / 3, -0.0, 1e-300, -1e300 / 7};
    nadir_model_data data = test_model_data();
    data.states = 2;
    data.rows = 4;
    data.state_rows = state_rows;
    data.dense = dense;
    data.rewards = with_rewards ? rewards : NULL;
    nadir_model *model = test_create_model(context, &data);
    return model;
}

static void test_round_trip(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = make_model(context, true);
    nadir_model *copy;
    assert_ok(context, write_file(context, model, "out.P.bin"));
    assert_string_equal(test_messages(), "out.P.bin: the rewards are in out.g.bin; read both with --rewards "
                                         "out.g.bin\n");
    assert_ok(context, read_file(context, "out.P.bin", "out.g.bin", &copy));
    assert_models_equal(copy, model, 0);
    assert_memory_equal(test_view(copy).rewards, test_view(model).rewards, 4 * sizeof(double));
    nadir_model_free(copy);
    nadir_model_free(model);
}

static void assert_file_is(const char *path, const test_bytes *expected)
{
    unsigned char bytes[4096];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), expected->count);
    assert_int_equal(fclose(file), 0);
    assert_memory_equal(bytes, expected->bytes, expected->count);
}

/* The bytes that PETSc itself would write, without stored zeros in the kernel. */
static void test_bytes_written(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = make_model(context, true);
    test_bytes kernel = {.width = 4};
    PUT_INTEGERS(&kernel, MATRIX, 4, 2, 6, 2, 1, 2, 1, 0, 1, 1, 0, 1, 0);
    PUT_DOUBLES(&kernel, 1.0 / 3, 2.0 / 3, 1, 0.1, 0.9, 1);
    test_bytes rewards = {.width = 4};
    PUT_INTEGERS(&rewards, MATRIX, 2, 2, 4, 2, 2, 0, 1, 0, 1);
    PUT_DOUBLES(&rewards, 1.0 / 3, -0.0, 1e-300, -1e300 / 7);
    assert_ok(context, write_file(context, model, "m.bin"));
    assert_file_is("m.bin", &kernel);
    assert_file_is("m.g.bin", &rewards);
    nadir_model_free(model);
}

static void test_write_without_rewards(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = make_model(context, false);
    nadir_model *copy;
    assert_ok(context, write_file(context, model, "bare.P.bin"));
    assert_string_equal(test_messages(), "");
    assert_int_not_equal(access("bare.g.bin", F_OK), 0);
    assert_ok(context, read_file(context, "bare.P.bin", NULL, &copy));
    assert_models_equal(copy, model, 0);
    nadir_model_free(copy);
    nadir_model_free(model);
}

static void test_both_files_or_neither(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = make_model(context, true);
    assert_int_equal(mkdir("half.g.bin", 0777), 0);
    assert_fails(context, write_file(context, model, "half.P.bin"), NADIR_ERROR_IO,
                 "half.g.bin: cannot write the file: a directory stands there");
    assert_int_not_equal(access("half.P.bin", F_OK), 0);
    nadir_model_free(model);
}

/* Puts a folder where the rewards should go, once they are being written. Progress is reported ten times a
 * second at most, hence the wait. */
static int block_rewards(void *user, const char *task, double share)
{
    (void)user;
    (void)share;
    if (strcmp(task, "writing the rewards") == 0) {
        (void)mkdir("late.g.bin", 0777);
    } else {
        (void)usleep(110000);
    }
    return 0;
}

static void test_kernel_is_removed_if_the_rewards_fail_last(void **state)
{
    (void)state;
    nadir_context *context = test_context_progress(block_rewards, NULL);
    nadir_model *model = make_model(context, true);
    assert_fails(context, write_file(context, model, "late.P.bin"), NADIR_ERROR_IO,
                 "late.g.bin: writing failed");
    assert_int_not_equal(access("late.P.bin", F_OK), 0);
    nadir_model_free(model);
    nadir_context_free(context);
}

/* Fails the k-th allocation of reading and writing, for k = 1, 2, ... until all succeed. */
static void test_out_of_memory(void **state)
{
    (void)state;
    nadir_context *abundant = test_context();
    nadir_model *made = make_model(abundant, true);
    assert_ok(abundant, write_file(abundant, made, "P.bin"));
    nadir_model_free(made);
    nadir_context_free(abundant);
    const nadir_read_settings settings = {.size = sizeof settings, .rewards = "P.g.bin", .discount = NAN};
    (void)test_format_run_out(&nadir_format_petsc, "P.bin", &settings, "scarce.P.bin", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_round_trip),
        test_with_context(test_bytes_written),
        test_with_context(test_write_without_rewards),
        test_with_context(test_both_files_or_neither),
        cmocka_unit_test(test_kernel_is_removed_if_the_rewards_fail_last),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("PETSc writing", tests, NULL, NULL);
}

/* test_io_petsc.c: reading models from PETSc binary matrices. */
#include "support/support.h"

#include "support/bytes.h"
#include "support/formats.h"

#include <math.h>
#include <sys/stat.h>

#define MATRIX 1211216
#define VECTOR 1211214

/* Two states with two actions each, and one stored zero:
 *     (0, 0): 0.25 0.75    (0, 1): 0 1    (1, 0): 1 -    (1, 1): 0.5 0.5 */
static test_bytes sparse_kernel(size_t width)
{
    test_bytes file = {.width = width};
    PUT_INTEGERS(&file, MATRIX, 4, 2, 7, 2, 2, 1, 2, 0, 1, 0, 1, 0, 0, 1);
    PUT_DOUBLES(&file, 0.25, 0.75, 0, 1, 1, 0.5, 0.5);
    return file;
}

static test_bytes dense_kernel(size_t width)
{
    test_bytes file = {.width = width};
    PUT_INTEGERS(&file, MATRIX, 4, 2, -1);
    PUT_DOUBLES(&file, 0.25, 0.75, 0, 1, 1, 0, 0.5, 0.5);
    return file;
}

/* Rewards 1, 0 (not stored), -3, 1/3. */
static test_bytes sparse_rewards(size_t width)
{
    test_bytes file = {.width = width};
    PUT_INTEGERS(&file, MATRIX, 2, 2, 3, 1, 2, 0, 0, 1);
    PUT_DOUBLES(&file, 1, -3, 1.0 / 3);
    return file;
}

static nadir_status read_file(nadir_context *context, const char *path, const char *rewards,
                              nadir_model **model)
{
    const nadir_read_settings settings = {.size = sizeof settings, .rewards = rewards, .discount = NAN};
    return test_format_read(context, &nadir_format_petsc, path, &settings, model);
}

static void assert_kernel(const test_bytes *kernel)
{
    static const double expected[] = {0.25, 0.75, 0, 1, 1, 0, 0.5, 0.5};
    nadir_context *context = test_context();
    nadir_model *model;
    test_bytes_save("P.bin", kernel);
    assert_ok(context, read_file(context, "P.bin", NULL, &model));
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.states, 2);
    assert_int_equal(view.rows, 4);
    assert_int_equal(view.nonzeros, 6);
    assert_int_equal(view.state_rows[1], 2);
    for (int64_t i = 0; i < 8; i++) {
        assert_true(test_probability(model, i / 2, i % 2) == expected[i]);
    }
    assert_null(view.rewards);
    assert_string_equal(test_messages(), "P.bin: a kernel without rewards; --rewards FILE gives them\n");
    nadir_model_free(model);
    nadir_context_free(context);
}

static void test_sparse_kernel(void **state)
{
    (void)state;
    const test_bytes narrow = sparse_kernel(4);
    const test_bytes wide = sparse_kernel(8);
    assert_kernel(&narrow);
    assert_kernel(&wide);
}

static void test_dense_kernel(void **state)
{
    (void)state;
    const test_bytes narrow = dense_kernel(4);
    const test_bytes wide = dense_kernel(8);
    assert_kernel(&narrow);
    assert_kernel(&wide);
}

static void assert_rewards(const test_bytes *rewards)
{
    const double expected[] = {1, 0, -3, 1.0 / 3};
    nadir_context *context = test_context();
    nadir_model *model;
    const test_bytes kernel = sparse_kernel(4);
    test_bytes_save("P.bin", &kernel);
    test_bytes_save("g.bin", rewards);
    assert_ok(context, read_file(context, "P.bin", "g.bin", &model));
    assert_memory_equal(test_view(model).rewards, expected, sizeof expected);
    assert_string_equal(test_messages(), "");
    nadir_model_free(model);
    nadir_context_free(context);
}

static void test_sparse_rewards(void **state)
{
    (void)state;
    const test_bytes narrow = sparse_rewards(4);
    const test_bytes wide = sparse_rewards(8);
    assert_rewards(&narrow);
    assert_rewards(&wide);
}

static void test_dense_rewards(void **state)
{
    (void)state;
    test_bytes file = {.width = 4};
    PUT_INTEGERS(&file, MATRIX, 2, 2, -1);
    PUT_DOUBLES(&file, 1, 0, -3, 1.0 / 3);
    assert_rewards(&file);
}

static void test_vector_of_rewards(void **state)
{
    (void)state;
    test_bytes narrow = {.width = 4};
    PUT_INTEGERS(&narrow, VECTOR, 4);
    PUT_DOUBLES(&narrow, 1, 0, -3, 1.0 / 3);
    assert_rewards(&narrow);
    test_bytes wide = {.width = 8};
    PUT_INTEGERS(&wide, VECTOR, 4);
    PUT_DOUBLES(&wide, 1, 0, -3, 1.0 / 3);
    assert_rewards(&wide);
}

static void test_column_of_rewards(void **state)
{
    (void)state;
    test_bytes file = {.width = 4};
    PUT_INTEGERS(&file, MATRIX, 4, 1, 3, 1, 0, 1, 1, 0, 0, 0);
    PUT_DOUBLES(&file, 1, -3, 1.0 / 3);
    assert_rewards(&file);
}

static bool recognised(const test_bytes *file)
{
    return nadir_format_petsc.recognises((const char *)file->bytes, file->count);
}

static void test_recognises(void **state)
{
    (void)state;
    test_bytes file = sparse_kernel(4);
    assert_true(recognised(&file));
    file.bytes[3]++;
    assert_false(recognised(&file));
    file = sparse_kernel(8);
    assert_true(recognised(&file));
    file.bytes[2]++;
    assert_false(recognised(&file));
    file.bytes[2]--;
    file.count = 7;
    assert_false(recognised(&file));
    file = (test_bytes){.width = 4};
    PUT_INTEGERS(&file, VECTOR, 0);
    assert_true(recognised(&file));
}

/* The kernel is refused before anything large is allocated. */
static void refuse(const test_bytes *kernel, nadir_status expected, const char *words)
{
    test_bytes_save("bad.bin", kernel);
    test_format_refuse(&nadir_format_petsc, "bad.bin", NULL, expected, words);
}

static void test_truncated(void **state)
{
    (void)state;
    const test_bytes whole = sparse_kernel(4);
    for (size_t count = 0; count < whole.count; count++) {
        test_bytes part = whole;
        part.count = count;
        refuse(&part, NADIR_ERROR_FORMAT,
               count < 16 ? "bad.bin: the file ends in the middle of the header" : "it is cut off");
    }
}

static void test_something_after_the_matrix(void **state)
{
    (void)state;
    test_bytes file = sparse_kernel(4);
    test_put(&file, 1, 0);
    refuse(&file, NADIR_ERROR_FORMAT,
           "bad.bin: the header announces 4 x 2 numbers, with 7 nonzeros; that does not take the 117 bytes "
           "the file has");
    file = dense_kernel(4);
    test_put(&file, 8, 0);
    refuse(&file, NADIR_ERROR_FORMAT, "the header announces 4 x 2 numbers, dense");
}

static void test_not_petsc(void **state)
{
    (void)state;
    test_bytes file = {.width = 4};
    PUT_INTEGERS(&file, MATRIX + 1, 4, 2, 7);
    refuse(&file, NADIR_ERROR_FORMAT,
           "not a PETSc binary file; expected it to begin with the number 1211216");
}

static void test_huge_sizes(void **state)
{
    (void)state;
    static const int64_t headers[][3] = {
        {INT64_MAX, INT64_MAX, INT64_MAX},
        {INT64_MAX, INT64_MAX, -1},
        {INT64_MAX, 1, 0},
        {1, 1, INT64_MAX},
        {1, INT64_MAX, -1},
        {(int64_t)1 << 61, 8, -1},
        {0, 0, (int64_t)1 << 60},
        {INT32_MAX, INT32_MAX, 0},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        test_bytes file = {.width = 8};
        PUT_INTEGERS(&file, MATRIX);
        test_put_integers(&file, 3, headers[i]);
        refuse(&file, NADIR_ERROR_FORMAT, "bad.bin: the header announces");
    }
}

static void test_negative_sizes(void **state)
{
    (void)state;
    static const int64_t headers[][3] = {{-1, 2, 0}, {1, -2, 0}, {1, 2, -2}, {-1, -1, -1}};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        test_bytes file = {.width = 4};
        PUT_INTEGERS(&file, MATRIX);
        test_put_integers(&file, 3, headers[i]);
        refuse(&file, NADIR_ERROR_FORMAT, "bad.bin: the header announces");
    }
}

static void test_shape(void **state)
{
    (void)state;
    test_bytes file = {.width = 4};
    PUT_INTEGERS(&file, MATRIX, 3, 2, -1);
    PUT_DOUBLES(&file, 1, 0, 1, 0, 1, 0);
    refuse(&file, NADIR_ERROR_FORMAT, "a matrix of 3 x 2; expected the rows to be a multiple of the columns");
    file = (test_bytes){.width = 4};
    PUT_INTEGERS(&file, MATRIX, 0, 0, 0);
    refuse(&file, NADIR_ERROR_FORMAT, "a matrix of 0 x 0");
    file = (test_bytes){.width = 4};
    PUT_INTEGERS(&file, MATRIX, 2, 0, 0, 0, 0);
    refuse(&file, NADIR_ERROR_FORMAT, "a matrix of 2 x 0");
    file = (test_bytes){.width = 4};
    PUT_INTEGERS(&file, VECTOR, 1);
    PUT_DOUBLES(&file, 1);
    refuse(&file, NADIR_ERROR_FORMAT, "a PETSc vector; expected the matrix of transition probabilities");
}

/* A kernel of two states and one action, with these lengths of rows and columns. */
static test_bytes kernel_with(size_t width, int64_t length0, int64_t length1, int64_t column0,
                              int64_t column1)
{
    test_bytes file = {.width = width};
    PUT_INTEGERS(&file, MATRIX, 2, 2, 2, length0, length1, column0, column1);
    PUT_DOUBLES(&file, 1, 1);
    return file;
}

static void test_row_lengths(void **state)
{
    (void)state;
    test_bytes file = kernel_with(4, -1, 3, 0, 0);
    refuse(&file, NADIR_ERROR_FORMAT, "bad.bin: row 0 has -1 entries; expected 0 to 2");
    file = kernel_with(4, 1, 3, 0, 0);
    refuse(&file, NADIR_ERROR_FORMAT, "bad.bin: row 1 has 3 entries; expected 0 to 2");
    file = kernel_with(4, 1, 2, 0, 0);
    refuse(&file, NADIR_ERROR_FORMAT, "the rows up to row 1 have more entries than the header announces (2)");
    file = kernel_with(4, 1, 0, 0, 0);
    refuse(&file, NADIR_ERROR_FORMAT, "the rows have 1 entries, the header announces 2");
    file = kernel_with(4, 2, 0, 0, 1);
    refuse(&file, NADIR_ERROR_MODEL, "state 0, action 0: probabilities sum to 2");
}

static void test_columns_out_of_range(void **state)
{
    (void)state;
    test_bytes file = kernel_with(4, 1, 1, 0, 2);
    refuse(&file, NADIR_ERROR_FORMAT, "bad.bin: row 1 has an entry in column 2; columns are 0 to 1");
    file = kernel_with(4, 1, 1, -1, 0);
    refuse(&file, NADIR_ERROR_FORMAT, "bad.bin: row 0 has an entry in column -1");
    file = kernel_with(8, 1, 1, 0, (int64_t)1 << 32);
    refuse(&file, NADIR_ERROR_FORMAT, "bad.bin: row 1 has an entry in column 4294967296");
}

static void test_bad_probabilities(void **state)
{
    (void)state;
    static const struct {
        double first, second;
        const char *words;
    } cases[] = {
        {-0.5, 1.5, "bad.bin: state 1, action 0: the probability of successor 0 is -0.5"},
        {NAN, 1, "the probability of successor 0 is nan"},
        {1, INFINITY, "the probability of successor 1 is inf"},
        {0.5, 0.25, "bad.bin: state 1, action 0: probabilities sum to 0.75; expected 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_bytes file = {.width = 4};
        PUT_INTEGERS(&file, MATRIX, 2, 2, -1);
        PUT_DOUBLES(&file, 1, 0, cases[i].first, cases[i].second);
        refuse(&file, NADIR_ERROR_MODEL, cases[i].words);
    }
}

static void refuse_rewards(const test_bytes *rewards, nadir_status expected, const char *words)
{
    const test_bytes kernel = sparse_kernel(4);
    const nadir_read_settings settings = {.size = sizeof settings, .rewards = "bad.bin", .discount = NAN};
    test_bytes_save("P.bin", &kernel);
    test_bytes_save("bad.bin", rewards);
    test_format_refuse(&nadir_format_petsc, "P.bin", &settings, expected, words);
}

static void test_bad_rewards(void **state)
{
    (void)state;
    test_bytes file = {.width = 4};
    PUT_INTEGERS(&file, VECTOR, 2);
    PUT_DOUBLES(&file, 1, 2);
    refuse_rewards(&file, NADIR_ERROR_FORMAT,
                   "bad.bin: rewards of 2 x 1; expected 2 x 2 (states x actions), or 4 in one column");
    file = sparse_rewards(4);
    file.count--;
    refuse_rewards(&file, NADIR_ERROR_FORMAT, "bad.bin: the header announces 2 x 2");
    file = sparse_rewards(4);
    file.bytes[27] = 2; /* the column of the first entry */
    refuse_rewards(&file, NADIR_ERROR_FORMAT, "bad.bin: row 0 has an entry in column 2");
    file = (test_bytes){.width = 4};
    PUT_INTEGERS(&file, VECTOR, 4);
    PUT_DOUBLES(&file, 1, 2, NAN, 4);
    refuse_rewards(&file, NADIR_ERROR_MODEL, "state 1, action 0: the reward is nan");
}

static void test_files_that_cannot_be_opened(void **state)
{
    nadir_context *context = *state;
    nadir_model *model;
    const test_bytes kernel = sparse_kernel(4);
    test_bytes_save("P.bin", &kernel);
    assert_fails(context, read_file(context, "none.bin", NULL, &model), NADIR_ERROR_FILE, "none.bin");
    assert_fails(context, read_file(context, "P.bin", "none.bin", &model), NADIR_ERROR_FILE, "none.bin");
    assert_int_equal(mkdir("folder.bin", 0777), 0);
    assert_fails(context, read_file(context, "folder.bin", NULL, &model), NADIR_ERROR_FILE, "a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sparse_kernel),
        cmocka_unit_test(test_dense_kernel),
        cmocka_unit_test(test_sparse_rewards),
        cmocka_unit_test(test_dense_rewards),
        cmocka_unit_test(test_vector_of_rewards),
        cmocka_unit_test(test_column_of_rewards),
        cmocka_unit_test(test_recognises),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_something_after_the_matrix),
        cmocka_unit_test(test_not_petsc),
        cmocka_unit_test(test_huge_sizes),
        cmocka_unit_test(test_negative_sizes),
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_row_lengths),
        cmocka_unit_test(test_columns_out_of_range),
        cmocka_unit_test(test_bad_probabilities),
        cmocka_unit_test(test_bad_rewards),
        test_with_context(test_files_that_cannot_be_opened),
    };
    return cmocka_run_group_tests_name("PETSc", tests, NULL, NULL);
}

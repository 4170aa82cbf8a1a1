/* test_numbers_file.c: numbers for states and rows of a model in files, right and wrong. */
#include "support/numpy.h"

#include "support/scarce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rich model has the actions {0, 3}, {1}, {0, 1, 4}, {2}; see support.c. Its states are called start,
 * hall, lab, exit; its actions stay, left, right, jump, sleep. */
static const double by_state[] = {0.1, 0, 5e-324, 0x1.fffffffffffffp+1023};
static const double by_row[] = {0.1, 0.2, 0.30000000000000004, 0, 1e-300, 7, 1.7976931348623157e308};

static void check_file(const char *path, int64_t count, const double *expected)
{
    nadir_context *context = test_context();
    nadir_model *model = test_rich_model(context);
    double *numbers = NULL;
    int64_t found = 0;
    assert_ok(context, nadir_numbers_read(context, model, path, &numbers, &found));
    assert_int_equal(found, count);
    assert_memory_equal(numbers, expected, (size_t)count * sizeof *expected);
    nadir_numbers_free(context, numbers);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void check_text(const char *text, int64_t count, const double *expected)
{
    test_write_file("numbers.csv", text);
    check_file("numbers.csv", count, expected);
}

static void tables_as_they_should_be(void **state)
{
    (void)state;
    check_text("idstate,value\n0,0.1\n1,0\n2,5e-324\n3,1.7976931348623157e308\n", 4, by_state);
    check_text("idstate,idaction,value\n0,0,0.1\n0,3,0.2\n1,1,0.30000000000000004\n2,0,0\n2,1,1e-300\n"
               "2,4,7\n3,2,1.7976931348623157e+308\n",
               7, by_row);
}

static void tables_in_other_dialects(void **state)
{
    (void)state;
    /* other order, names, quotes, CRLF, comments, blanks, other names of the column, further columns */
    check_text("# radii\r\n\"Radius\" , comment,\"IDSTATE\"\r\n5e-324,x,2.0\r\n\r\n0.1,,start\r\n"
               "1.7976931348623157e308,,exit\r\n 0e5 ,,\"hall\"",
               4, by_state);
    check_text("idaction,scale,idstate\nsleep,7,lab\n0,.1,0\njump,2e-1,start\n1,0.30000000000000004,1\n"
               "0,0,2\n1,1e-300,2\n2,1.7976931348623157e308,3\n",
               7, by_row);
}

static void refuse_file(const char *path, nadir_status status, const char *words)
{
    nadir_context *context = test_context();
    nadir_model *model = test_rich_model(context);
    double *numbers = NULL;
    int64_t count = -5;
    const size_t before = nadir_context_memory(context);
    assert_fails(context, nadir_numbers_read(context, model, path, &numbers, &count), status, words);
    assert_fails(context, status, status, path);
    assert_null(numbers);
    assert_int_equal(count, -5);
    assert_int_equal(nadir_context_memory(context), before);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void refuse_text(const char *text, const char *words)
{
    test_write_file("numbers.csv", text);
    refuse_file("numbers.csv", NADIR_ERROR_FORMAT, words);
}

static void tables_that_are_wrong(void **state)
{
    (void)state;
    refuse_file("missing.csv", NADIR_ERROR_FILE, "cannot open");
    refuse_file(".", NADIR_ERROR_FILE, "a directory");
    refuse_text("", "no lines");
    refuse_text("idstate,idaction\n0,1\n", "missing column `value`");
    refuse_text("idaction,value\n0,1\n", "missing column `state`");
    refuse_text("idstate,value,radius\n0,1,1\n", "numbers.csv:1: the header names column `value` twice");
    refuse_text("idstate,value\n0\n", "numbers.csv:2: 1 cell; expected 2");
    refuse_text("idstate,value\n0,much\n", "numbers.csv:2: `value` is `much`; expected a number");
    refuse_text("idstate,value\nkitchen,1\n", "numbers.csv:2: `idstate` is `kitchen`");
    refuse_text("idstate,idaction,value\n0,fly,1\n", "numbers.csv:2: `idaction` is `fly`");
    refuse_text("idstate,value\n0,1\n4,1\n", "numbers.csv:3: state 4 is not in the model; states are 0 to 3");
    refuse_text("idstate,value\n-1,1\n", "numbers.csv:2: state -1 is not in the model");
    refuse_text("idstate,idaction,value\n0,1,1\n", "numbers.csv:2: state 0 (start): there is no action 1");
    refuse_text("idstate,value\n1,1\n0,2\n1,1\n",
                "numbers.csv:4: state 1 (hall): was given already in line 2");
    refuse_text("idstate,idaction,value\n0,0,1\n0,3,1\n0,0,1\n",
                "numbers.csv:4: state 0 (start), action 0 (stay): was given already in line 2");
}

static void tables_that_are_incomplete(void **state)
{
    (void)state;
    refuse_text("idstate,value\n0,1\n3,1\n",
                "numbers.csv: state 1 (hall): is not in the file, like 2 of 4 states; expected each once");
    refuse_text("idstate,idaction,value\n0,0,1\n1,1,1\n2,0,1\n2,1,1\n2,4,1\n3,2,1\n",
                "numbers.csv: state 0 (start), action 3 (jump): is not in the file, like 1 of 7 rows");
    refuse_text("idstate,value\n", "state 0 (start): is not in the file, like 4 of 4 states");
}

static void numbers_that_are_wrong(void **state)
{
    (void)state;
    refuse_text("idstate,value\n2,1\n1,-1e-300\n0,0\n3,0\n",
                "numbers.csv:3: state 1 (hall): the number is -1e-300; expected a finite one, 0 or more");
    refuse_text("idstate,value\n0,nan\n1,0\n2,0\n3,0\n", "numbers.csv:2: state 0 (start): the number is nan");
    refuse_text("idstate,idaction,value\n0,0,1\n0,3,inf\n1,1,1\n2,0,1\n2,1,1\n2,4,1\n3,2,1\n",
                "numbers.csv:3: state 0 (start), action 3 (jump): the number is inf");
    refuse_text("idstate,value\n0,1e400\n1,0\n2,0\n3,0\n", "the number is inf");
    const double below[] = {1, 1, 1, 1, -2, 1, 1};
    test_write_npy("numbers.npy", &(test_array)TEST_ARRAY("", "=f8", "(7,)", below));
    refuse_file("numbers.npy", NADIR_ERROR_FORMAT,
                "numbers.npy: state 2 (lab), action 1 (left): the number is -2");
    const double infinite[] = {1, 1, 1, INFINITY};
    test_write_npy("numbers.npy", &(test_array)TEST_ARRAY("", "=f8", "(4,)", infinite));
    refuse_file("numbers.npy", NADIR_ERROR_FORMAT, "numbers.npy: state 3 (exit): the number is inf");
    const double nothing[] = {NAN};
    test_write_npy("numbers.npy", &(test_array)TEST_ARRAY("", "=f8", "()", nothing));
    refuse_file("numbers.npy", NADIR_ERROR_FORMAT, "numbers.npy: its one number: the number is nan");
}

static void arrays_as_they_should_be(void **state)
{
    (void)state;
    const float single[] = {0.5F};
    const double half = 0.5;
    const int16_t whole[] = {3, 0, 2, 1};
    test_write_npy("numbers.npy", &(test_array)TEST_ARRAY("", "=f8", "(4,)", by_state));
    check_file("numbers.npy", 4, by_state);
    test_write_npy("numbers.csv",
                   &(test_array)TEST_ARRAY("", "=f8", "(7,)", by_row)); /* the content counts */
    check_file("numbers.csv", 7, by_row);
    test_write_npy("numbers.npy", &(test_array)TEST_ARRAY("", "=f4", "()", single));
    check_file("numbers.npy", 1, &half);
    test_write_npy("numbers.npy", &(test_array)TEST_ARRAY("", "=f4", "(1, 1)", single));
    check_file("numbers.npy", 1, &half);
    test_write_npy("numbers.npy",
                   &(test_array)TEST_ARRAY("", "~i2", "(4,)", ((int16_t[]){0x300, 0, 0x200, 0x100})));
    check_file("numbers.npy", 4, (const double[]){whole[0], whole[1], whole[2], whole[3]});
}

static void tables_of_regular_models(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = NULL;
    double *numbers = NULL;
    int64_t count;
    const double table[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const double by_state_of_six[6] = {0};
    const double turned[12] = {0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11};
    assert_ok(context, nadir_model_generate(context, "riverswim", NULL, &model));
    test_write_npy("numbers.npy", &(test_array)TEST_FORTRAN("", "=f8", "(6, 2)", turned));
    assert_ok(context, nadir_numbers_read(context, model, "numbers.npy", &numbers, &count));
    assert_int_equal(count, 12);
    assert_memory_equal(numbers, table, sizeof table);
    nadir_numbers_free(context, numbers);
    test_write_npy("numbers.npy", &(test_array)TEST_ARRAY("", "=f8", "(2, 6)", table));
    assert_fails(context, nadir_numbers_read(context, model, "numbers.npy", &numbers, &count),
                 NADIR_ERROR_FORMAT,
                 "numbers.npy: the array has shape (2, 6); expected one number, (6,) for the states, or "
                 "(12,) or (6, 2) for the rows");
    test_write_npy("numbers.npy", &(test_array)TEST_ARRAY("", "=f8", "(6, 1)", by_state_of_six));
    assert_fails(context, nadir_numbers_read(context, model, "numbers.npy", &numbers, &count),
                 NADIR_ERROR_FORMAT, "the array has shape (6, 1)");
    nadir_numbers_free(context, NULL);
    nadir_model_free(model);
}

static void arrays_that_are_wrong(void **state)
{
    (void)state;
    const double table[20] = {0};
    test_write_npy("numbers.npy", &(test_array)TEST_ARRAY("", "=f8", "(4, 5)", table));
    refuse_file("numbers.npy", NADIR_ERROR_FORMAT,
                "the array has shape (4, 5); expected one number, (4,) for the states, or (7,) for the rows");
    test_write_npy("numbers.npy", &(test_array){"", "=f8", "(0,)", NULL, 0, false});
    refuse_file("numbers.npy", NADIR_ERROR_FORMAT, "the array has shape (0,)");
    test_write_npy("numbers.npy", &(test_array)TEST_ARRAY("", "=f8", "(4,)", by_row));
    refuse_file("numbers.npy", NADIR_ERROR_FORMAT, "does not fit the 56 bytes that are there");
    test_write_npy("numbers.npy", &(test_array){"", "=U1", "(4,)", table, 16, false});
    refuse_file("numbers.npy", NADIR_ERROR_FORMAT, "numbers.npy");
}

/* Every bit comes back, of numbers of either sign as the file says them. */
static void numbers_are_written(void **state)
{
    const double mixed[] = {-0.1, 0x1.fffffffffffffp+1023, 0.30000000000000004, 0, -5e-324, 7, 1};
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    size_t length;
    assert_ok(context, nadir_numbers_write(context, model, "value", by_row, "written.csv"));
    check_file("written.csv", 7, by_row);
    assert_ok(context, nadir_numbers_write(context, model, "value", by_row, "written.NPY"));
    check_file("written.NPY", 7, by_row);
    assert_ok(context, nadir_numbers_write(context, model, "gradient", mixed, "written.csv"));
    char *text = (char *)test_read_bytes("written.csv", &length);
    const char expected[] = "idstate,idaction,gradient\n0,0,-0.1\n0,3,1.7976931348623157e308\n"
                            "1,1,0.30000000000000004\n2,0,0\n2,1,-4.94065645841247e-324\n2,4,7\n3,2,1\n";
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(text, expected, length);
    free(text);
    assert_fails(context, nadir_numbers_write(context, model, "value", by_row, "missing/written.csv"),
                 NADIR_ERROR_IO, "missing/written.csv");
    nadir_model_free(model);
}

static nadir_status read_numbers(nadir_context *context, const void *of)
{
    double *numbers = NULL;
    int64_t count;
    nadir_model *model = NULL;
    nadir_status status = nadir_model_generate(context, "riverswim", NULL, &model);
    if (status == NADIR_OK) {
        status = nadir_numbers_read(context, model, of, &numbers, &count);
    }
    nadir_numbers_free(context, numbers);
    nadir_model_free(model);
    return status;
}

static nadir_status write_numbers(nadir_context *context, const void *of)
{
    const double numbers[12] = {0};
    nadir_model *model = NULL;
    nadir_status status = nadir_model_generate(context, "riverswim", NULL, &model);
    if (status == NADIR_OK) {
        status = nadir_numbers_write(context, model, "value", numbers, of);
    }
    nadir_model_free(model);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    test_write_file("numbers.csv", "idstate,value\n0,1\n1,2\n2,3\n3,4\n4,5\n5,6\n");
    test_write_npy("numbers.npy", &(test_array)TEST_ARRAY("", "=f4", "(6,)", ((float[6]){1, 2})));
    test_run_out(read_numbers, "numbers.csv", NULL, "CSV");
    test_run_out(read_numbers, "numbers.npy", NULL, "npy");
    test_run_out(write_numbers, "new.csv", "new.", "writing CSV");
    (void)remove("new.csv");
    test_run_out(write_numbers, "new.npy", "new.", "writing npy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_as_they_should_be),  cmocka_unit_test(tables_in_other_dialects),
        cmocka_unit_test(tables_that_are_wrong),     cmocka_unit_test(tables_that_are_incomplete),
        cmocka_unit_test(numbers_that_are_wrong),    cmocka_unit_test(arrays_as_they_should_be),
        test_with_context(tables_of_regular_models), cmocka_unit_test(arrays_that_are_wrong),
        test_with_context(numbers_are_written),      cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

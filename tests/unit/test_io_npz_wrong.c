/* test_io_npz_wrong.c: NumPy archives that are wrong, and what is said about them. */
#include "support/numpy.h"

#include "support/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double kernel[] = {0.1, 0.9, 1, 0, 0.5, 0.5, 0.25, 0.75, 0, 1, 0.3, 0.7};
static const double data[] = {0.1, 0.9, 1, 0.5, 0.5, 0.25, 0.75, 1, 0.3, 0.7};
static const int32_t indices[] = {0, 1, 0, 0, 1, 0, 1, 1, 0, 1};
static const int64_t indptr[] = {0, 2, 3, 5, 7, 8, 10};
static const double mu[] = {0.25, 0.75};
static const double rewards[] = {1, 2, 3, 4, 5, 6};

#define KERNEL  TEST_ARRAY("P.npy", "=f8", "(2, 3, 2)", kernel)
#define DATA    TEST_ARRAY("P_data.npy", "=f8", "(10,)", data)
#define INDICES TEST_ARRAY("P_indices.npy", "=i4", "(10,)", indices)
#define INDPTR  TEST_ARRAY("P_indptr.npy", "=i8", "(7,)", indptr)
#define MU      TEST_ARRAY("mu.npy", "=f8", "(2,)", mu)
#define CSR     DATA, INDICES, INDPTR

static const nadir_read_settings settings = {.size = sizeof settings, .discount = NAN};

/* Reading the file fails with this status and these words, and with the name of the file. Memory for a
 * megabyte must be enough: nothing is allocated for sizes that are wrong. */
static void refuse_file(const char *path, nadir_status expected, const char *words)
{
    nadir_context *context = test_context_memory((size_t)1 << 20);
    nadir_model *model = NULL;
    const size_t before = nadir_context_memory(context);
    const nadir_status status = nadir_format_npz.read(context, path, &settings, &model);
    assert_fails(context, status, expected, words);
    assert_fails(context, status, expected, path);
    assert_null(model);
    assert_int_equal(nadir_context_memory(context), before);
    nadir_context_free(context);
}

#define REFUSE(status, words, ...)                                                                           \
    do {                                                                                                     \
        const test_array arrays[] = {__VA_ARGS__};                                                           \
        test_write_npz("wrong.npz", arrays, false);                                                          \
        refuse_file("wrong.npz", status, words);                                                             \
    } while (0)

static void files_that_are_no_archives(void **state)
{
    (void)state;
    test_write_file("empty.npz", "");
    refuse_file("empty.npz", NADIR_ERROR_FORMAT, "is no zip archive");
    test_write_file("text.npz", "idstatefrom,idaction\n");
    refuse_file("text.npz", NADIR_ERROR_FORMAT, "is no zip archive");
    refuse_file(".", NADIR_ERROR_FILE, "a directory");
    refuse_file("missing.npz", NADIR_ERROR_FILE, "cannot open");
}

static void kernels_that_are_missing(void **state)
{
    (void)state;
    REFUSE(NADIR_ERROR_FORMAT, "no kernel; expected either an array P, or P_data", MU);
    REFUSE(NADIR_ERROR_FORMAT, "more than one kernel", KERNEL, CSR);
    REFUSE(NADIR_ERROR_FORMAT, "array P_indices is missing", DATA, INDPTR);
    REFUSE(NADIR_ERROR_FORMAT, "array P_indptr is missing", DATA, INDICES);
    REFUSE(NADIR_ERROR_FORMAT, "the array P is there twice", KERNEL,
           TEST_ARRAY("P", "=f8", "(2, 3, 2)", kernel));
    REFUSE(NADIR_ERROR_FORMAT, "array format is \"csc\"; expected csr",
           TEST_ARRAY("data", "=f8", "(10,)", data), {"format", "|S3", "()", "csc", 3, false});
}

static void shapes_that_do_not_fit(void **state)
{
    (void)state;
    REFUSE(NADIR_ERROR_FORMAT, "array P has shape (12,); expected (S, A, S) or (A, S, S)",
           TEST_ARRAY("P.npy", "=f8", "(12,)", kernel));
    REFUSE(NADIR_ERROR_FORMAT, "(2, 2, 3); expected (S, A, S) or (A, S, S)",
           TEST_ARRAY("P.npy", "=f8", "(2, 2, 3)", kernel));
    REFUSE(NADIR_ERROR_FORMAT, "(2, 0, 2); expected", {"P.npy", "=f8", "(2, 0, 2)", kernel, 0, false});
    REFUSE(NADIR_ERROR_FORMAT, "array P_data has shape (2, 5); expected one dimension",
           TEST_ARRAY("P_data.npy", "=f8", "(2, 5)", data), INDICES, INDPTR);
    REFUSE(NADIR_ERROR_FORMAT, "array P_indices has shape (9,); expected as many as P_data: 10", DATA, INDPTR,
           {"P_indices.npy", "=i4", "(9,)", indices, 36, false});
    REFUSE(NADIR_ERROR_FORMAT, "array P_indptr has shape (1,)", DATA, INDICES,
           {"P_indptr.npy", "=i8", "(1,)", indptr, 8, false});
    REFUSE(NADIR_ERROR_FORMAT, "array R has shape (3, 2); expected (2, 3), or one number for each of 6 rows",
           KERNEL, TEST_ARRAY("R.npy", "=f8", "(3, 2)", rewards));
    REFUSE(NADIR_ERROR_FORMAT, "array R has shape (5,)", CSR, MU,
           {"R.npy", "=f8", "(5,)", rewards, 40, false});
    REFUSE(NADIR_ERROR_FORMAT, "array scales has shape (5,)", CSR, MU,
           {"scales.npy", "=f8", "(5,)", rewards, 40, false});
    REFUSE(NADIR_ERROR_FORMAT, "array radius has shape (5,)", CSR, MU,
           {"radius.npy", "=f8", "(5,)", rewards, 40, false});
    REFUSE(NADIR_ERROR_FORMAT, "array gamma has shape (2,); expected one number", KERNEL,
           TEST_ARRAY("gamma.npy", "=f8", "(2,)", mu));
    REFUSE(NADIR_ERROR_FORMAT, "array row_action has shape (10,); expected one number for each of 6 rows",
           CSR, MU, TEST_ARRAY("row_action.npy", "=i4", "(10,)", indices));
    REFUSE(NADIR_ERROR_FORMAT, "array mu has shape (2, 1)", CSR, TEST_ARRAY("mu.npy", "=f8", "(2, 1)", mu));
    REFUSE(NADIR_ERROR_FORMAT, "array state_names has shape (3,); expected one name for each of 2 states",
           KERNEL, {"state_names.npy", "|S1", "(3,)", "abc", 3, false});
    REFUSE(NADIR_ERROR_FORMAT, "array row_state goes with CSR rows", KERNEL,
           TEST_ARRAY("row_state.npy", "=i4", "(10,)", indices));
}

static void numbers_of_states_that_disagree(void **state)
{
    (void)state;
    const int64_t three = 3;
    const int64_t huge = INT64_MAX;
    const int64_t four = 4;
    const int64_t matrix[] = {7, 2};
    REFUSE(NADIR_ERROR_FORMAT, "array P makes 2 states, array mu makes 6", KERNEL,
           TEST_ARRAY("mu.npy", "=f8", "(6,)", rewards));
    REFUSE(NADIR_ERROR_FORMAT, "array states makes 3 states, array mu makes 2", CSR, MU,
           {"states.npy", "=i8", "()", &three, 8, false});
    REFUSE(NADIR_ERROR_FORMAT, "states of 6 rows; expected 1 to 6 states", CSR,
           {"states.npy", "=i8", "()", &huge, 8, false});
    REFUSE(NADIR_ERROR_FORMAT, "6 rows are no multiple of 4 states (from array states)", CSR,
           {"states.npy", "=i8", "()", &four, 8, false});
    REFUSE(NADIR_ERROR_FORMAT, "array P_shape makes 7 rows, array P_indptr makes 6", CSR,
           TEST_ARRAY("P_shape.npy", "=i8", "(2,)", matrix));
}

static void row_states_that_are_wrong(void **state)
{
    (void)state;
    static const int32_t falling[] = {0, 0, 1, 0, 1, 1};
    static const int32_t skipping[] = {0, 0, 2, 2, 2, 2};
    static const int32_t late[] = {1, 1, 1, 1, 1, 1};
    static const int32_t negative[] = {-1, 0, 0, 0, 0, 0};
    static const int32_t lowest[] = {INT32_MIN, 0, 0, 0, 0, 0};
    static const int32_t highest[] = {0, INT32_MAX, 0, 0, 0, 0};
    static const struct {
        const int32_t *states;
        const char *words;
    } cases[] = {
        {falling, "row 3 is of state 0 after state 1"},  {skipping, "row 2 is of state 2 after state 0"},
        {late, "row 0 is of state 1 after state -1"},    {negative, "row 0 is of state -1"},
        {lowest, "row 0 is of state -2147483648 after"}, {highest, "row 1 is of state 2147483647"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        REFUSE(NADIR_ERROR_FORMAT, cases[i].words, CSR,
               {"row_state.npy", "=i4", "(6,)", cases[i].states, 24, false});
    }
    REFUSE(NADIR_ERROR_FORMAT, "array row_state has shape (2,)", CSR,
           {"row_state.npy", "=i4", "(2,)", falling, 8, false});
}

static void transitions_that_are_wrong(void **state)
{
    (void)state;
    double bad_data[10];
    int32_t bad_indices[10];
    int64_t bad_indptr[7];
    int64_t long_indices[10] = {0};
    float float_indices[10] = {0};
    memcpy(bad_data, data, sizeof data);
    memcpy(bad_indices, indices, sizeof indices);
    memcpy(bad_indptr, indptr, sizeof indptr);
    bad_data[3] = -0.5;
    REFUSE(NADIR_ERROR_MODEL, "state 0, action 2: the probability of successor 0 is -0.5", INDICES, INDPTR,
           MU, TEST_ARRAY("P_data.npy", "=f8", "(10,)", bad_data));
    bad_data[3] = NAN;
    REFUSE(NADIR_ERROR_MODEL, "state 0, action 2: the probability of successor 0 is nan", INDICES, INDPTR, MU,
           TEST_ARRAY("P_data.npy", "=f8", "(10,)", bad_data));
    bad_data[3] = 0.6;
    REFUSE(NADIR_ERROR_MODEL, "state 0, action 2: probabilities sum to 1.1", INDICES, INDPTR, MU,
           TEST_ARRAY("P_data.npy", "=f8", "(10,)", bad_data));
    bad_indices[4] = 2;
    REFUSE(NADIR_ERROR_MODEL, "state 0, action 2: successor 2 is not a state", DATA, INDPTR, MU,
           TEST_ARRAY("P_indices.npy", "=i4", "(10,)", bad_indices));
    bad_indices[4] = -1;
    REFUSE(NADIR_ERROR_MODEL, "successor -1 is not a state", DATA, INDPTR, MU,
           TEST_ARRAY("P_indices.npy", "=i4", "(10,)", bad_indices));
    REFUSE(NADIR_ERROR_MODEL, "successor -1 is not a state", DATA, INDPTR,
           TEST_ARRAY("P_indices.npy", "=i4", "(10,)", bad_indices), /* states are guessed */
           TEST_ARRAY("R.npy", "=f8", "(6,)", rewards));
    long_indices[7] = (int64_t)INT32_MAX + 1;
    REFUSE(NADIR_ERROR_FORMAT, "array P_indices: item 7 is out of range", DATA, INDPTR, MU,
           TEST_ARRAY("P_indices.npy", "=i8", "(10,)", long_indices));
    float_indices[7] = 0.5F;
    REFUSE(NADIR_ERROR_FORMAT, "array P_indices: item 7 is no whole number", DATA, INDPTR, MU,
           TEST_ARRAY("P_indices.npy", "=f4", "(10,)", float_indices));
    float_indices[7] = NAN;
    REFUSE(NADIR_ERROR_FORMAT, "array P_indices: item 7 is no whole number", DATA, INDPTR, MU,
           TEST_ARRAY("P_indices.npy", "=f4", "(10,)", float_indices));
    float_indices[7] = 1e30F;
    REFUSE(NADIR_ERROR_FORMAT, "array P_indices: item 7 is out of range", DATA, INDPTR, MU,
           TEST_ARRAY("P_indices.npy", "=f4", "(10,)", float_indices));
    bad_indptr[3] = 1;
    REFUSE(NADIR_ERROR_MODEL, "row 2 ends before it starts", DATA, INDICES, MU,
           TEST_ARRAY("P_indptr.npy", "=i8", "(7,)", bad_indptr));
    bad_indptr[3] = 1000;
    REFUSE(NADIR_ERROR_MODEL, "row 3 ends before it starts", DATA, INDICES, MU,
           TEST_ARRAY("P_indptr.npy", "=i8", "(7,)", bad_indptr));
    bad_indptr[3] = 5;
    bad_indptr[0] = 1;
    REFUSE(NADIR_ERROR_MODEL, "the first row starts at transition 1", DATA, INDICES, MU,
           TEST_ARRAY("P_indptr.npy", "=i8", "(7,)", bad_indptr));
    bad_indptr[0] = 0;
    bad_indptr[6] = 9;
    REFUSE(NADIR_ERROR_FORMAT, "array P_indptr ends with 9; expected the number of transitions, 10", DATA,
           INDICES, MU, TEST_ARRAY("P_indptr.npy", "=i8", "(7,)", bad_indptr));
}

static void other_numbers_and_words_that_are_wrong(void **state)
{
    (void)state;
    const double one = 1;
    const double half = 0.5;
    const double heavy[] = {0.25, 0.8};
    const double scales[] = {1, 1, -1, 1, 1, 1};
    const int32_t actions[] = {0, 1, 1, 0, 1, 2};
    REFUSE(NADIR_ERROR_FORMAT, "array norm is 0.5", KERNEL, {"norm.npy", "=f8", "()", &half, 8, false});
    REFUSE(NADIR_ERROR_MODEL, "the initial distribution sums to 1.05", KERNEL,
           TEST_ARRAY("mu.npy", "=f8", "(2,)", heavy));
    REFUSE(NADIR_ERROR_MODEL, "state 0, action 2: the scale is -1", KERNEL,
           TEST_ARRAY("scales.npy", "=f8", "(6,)", scales));
    REFUSE(NADIR_ERROR_MODEL, "action numbers must be 0 or more and rise", KERNEL,
           TEST_ARRAY("row_action.npy", "=i4", "(6,)", actions));
    REFUSE(NADIR_ERROR_FORMAT, "array set is \"x\"; expected nonrect, s, sa", KERNEL,
           {"set.npy", "|S1", "()", "x", 1, false});
    REFUSE(NADIR_ERROR_FORMAT, "array domain is \"simple\"; expected simplex, support, free", KERNEL,
           {"domain.npy", "|S6", "()", "simple", 6, false});
    REFUSE(NADIR_ERROR_FORMAT, "array set: holds numbers; expected text", KERNEL,
           {"set.npy", "=f8", "()", &one, 8, false});
    REFUSE(NADIR_ERROR_FORMAT, "array gamma: holds text; expected numbers", KERNEL,
           {"gamma.npy", "|S3", "()", "0.9", 3, false});
    REFUSE(NADIR_ERROR_FORMAT, "array set has shape (2,); expected one word", KERNEL,
           {"set.npy", "|S1", "(2,)", "ss", 2, false});
}

static void names_that_are_wrong(void **state)
{
    (void)state;
    const uint32_t surrogate[] = {'a', 0xD800, 'b', 0};
    const uint32_t beyond[] = {'a', 'b', 0x110000, 'b'};
    const uint32_t inside[] = {0, 'b', 'a', 'b'};
    REFUSE(NADIR_ERROR_FORMAT, "array state_names: text 0 holds something that is no character", KERNEL,
           TEST_ARRAY("state_names.npy", "=U2", "(2,)", surrogate));
    REFUSE(NADIR_ERROR_FORMAT, "array state_names: text 1 holds something", KERNEL,
           TEST_ARRAY("state_names.npy", "=U2", "(2,)", beyond));
    REFUSE(NADIR_ERROR_FORMAT, "array state_names: text 0 holds something", KERNEL,
           TEST_ARRAY("state_names.npy", "=U2", "(2,)", inside));
    REFUSE(NADIR_ERROR_FORMAT, "array state_names: text 1 is not UTF-8", KERNEL,
           {"state_names.npy", "|S2", "(2,)", "ab\xE9z", 4, false});
}

/* The last central record of the archive (the one of its last entry), or its local header. */
static unsigned char *find_record(unsigned char *bytes, size_t count, const char *signature)
{
    for (size_t i = count - 4;; i--) {
        assert_true(i > 0 || memcmp(bytes, signature, 4) == 0);
        if (memcmp(bytes + i, signature, 4) == 0) {
            return bytes + i;
        }
    }
}

static void put(unsigned char *at, uint32_t value, int size)
{
    for (int i = 0; i < size; i++) {
        at[i] = (unsigned char)(value >> 8 * i);
    }
}

/* An archive with one field of the last central record (that of array P) changed. */
static void refuse_record(bool deflate, size_t offset, uint32_t value, int size, const char *words)
{
    const test_array arrays[] = {MU, KERNEL};
    size_t count;
    test_write_npz("record.npz", arrays, deflate);
    unsigned char *bytes = test_read_bytes("record.npz", &count);
    put(find_record(bytes, count, "PK\1\2") + offset, value, size);
    test_write_bytes("record.npz", bytes, count);
    free(bytes);
    refuse_file("record.npz", NADIR_ERROR_FORMAT, words);
}

static void archives_that_lie(void **state)
{
    (void)state;
    refuse_record(false, 16, 12345, 4, "array P: is damaged: the checksum is wrong");
    refuse_record(true, 16, 12345, 4, "array P: is damaged: the checksum is wrong");
    refuse_record(false, 8, 1, 2, "array P: is encrypted");
    refuse_record(false, 10, 12, 2, "array P: is compressed by method 12");
    refuse_record(true, 24, 4000000000U, 4,
                  "array P: declares 4000000000 bytes, more than the file can hold");
    refuse_record(false, 24, 4000000000U, 4, "array P: declares 4000000000 bytes");
    refuse_record(true, 20, 4000000000U, 4, "more than the file can hold");
    refuse_record(true, 24, 170, 4, "array P: the shape (2, 3, 2) with items of 8 bytes does not fit");
    refuse_record(true, 24, 20, 4, "array P: ");
    refuse_record(false, 42, 4000000000U, 4, "array P: ");
}

static void data_that_are_damaged(void **state)
{
    (void)state;
    const test_array arrays[] = {MU, KERNEL};
    size_t count;
    test_write_npz("damaged.npz", arrays, false);
    unsigned char *bytes = test_read_bytes("damaged.npz", &count);
    unsigned char *items = memmem(bytes, count, kernel, sizeof kernel);
    assert_non_null(items);
    items[0] ^= 1; /* 0.1 by one rounding more or less */
    test_write_bytes("damaged.npz", bytes, count);
    refuse_file("damaged.npz", NADIR_ERROR_FORMAT, "array P: is damaged: the checksum is wrong");
    free(bytes);
}

static void truncated_archives(void **state)
{
    (void)state;
    const test_array arrays[] = {MU, KERNEL};
    size_t count;
    test_write_npz("whole.npz", arrays, true);
    unsigned char *bytes = test_read_bytes("whole.npz", &count);
    for (size_t kept = 0; kept < count; kept++) {
        test_write_bytes("cut.npz", bytes, kept);
        refuse_file("cut.npz", NADIR_ERROR_FORMAT, "cut.npz: ");
    }
    free(bytes);
}

static void huge_shapes_allocate_nothing(void **state)
{
    (void)state;
    REFUSE(NADIR_ERROR_FORMAT, "array P: the shape (100000, 10, 100000) with items of 8 bytes does not fit",
           TEST_ARRAY("P.npy", "=f8", "(100000, 10, 100000)", kernel));
    REFUSE(NADIR_ERROR_FORMAT, "array P_data: the shape (4000000000,)", INDICES, INDPTR, MU,
           TEST_ARRAY("P_data.npy", "=f8", "(4000000000,)", data));
    REFUSE(NADIR_ERROR_FORMAT, "array action_names: the shape (4000000000,)", KERNEL,
           {"action_names.npy", "|S2", "(4000000000,)", "ab", 2, false});
}

static void memory_that_gives_out(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    assert_ok(context, test_format_write(context, &nadir_format_npz, model, "rich.npz"));
    (void)test_format_run_out(&nadir_format_npz, "rich.npz", &settings, "scarce.npz", 1);
    nadir_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_no_archives),
        cmocka_unit_test(kernels_that_are_missing),
        cmocka_unit_test(shapes_that_do_not_fit),
        cmocka_unit_test(numbers_of_states_that_disagree),
        cmocka_unit_test(row_states_that_are_wrong),
        cmocka_unit_test(transitions_that_are_wrong),
        cmocka_unit_test(other_numbers_and_words_that_are_wrong),
        cmocka_unit_test(names_that_are_wrong),
        cmocka_unit_test(archives_that_lie),
        cmocka_unit_test(data_that_are_damaged),
        cmocka_unit_test(truncated_archives),
        cmocka_unit_test(huge_shapes_allocate_nothing),
        test_with_context(memory_that_gives_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_io_npy.c: .npy files: types, orders, headers, and every way they can be wrong. */
#include "support/numpy.h"

#include "io/npy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Items turned round, for the other byte order. */
static void swap(void *items, size_t count, size_t size)
{
    unsigned char *bytes = items;
    for (size_t i = 0; i < count; i++) {
        for (size_t low = 0; low < size / 2; low++) {
            const unsigned char kept = bytes[i * size + low];
            bytes[i * size + low] = bytes[i * size + size - 1 - low];
            bytes[i * size + size - 1 - low] = kept;
        }
    }
}

/* Writes the items and reads them back as doubles; they must be `expected`. */
static void check_items(const test_array *array, bool integer, size_t count, const double *expected)
{
    nadir_context *context = test_context();
    nadir_array read = {0};
    const size_t before = nadir_context_memory(context);
    test_write_npy("items.npy", array);
    assert_ok(context, nadir_npy_read(context, "items.npy", &read));
    assert_int_equal(read.count, count);
    assert_int_equal(read.integer, integer);
    assert_memory_equal(read.values, expected, count * sizeof *expected);
    nadir_release(context, read.values);
    assert_int_equal(nadir_context_memory(context), before);
    nadir_context_free(context);
}

static void floats_of_both_sizes_and_orders(void **state)
{
    (void)state;
    double wide[] = {0.1, -1e300, INFINITY, -0.0};
    const double wide_expected[] = {0.1, -1e300, INFINITY, -0.0};
    float narrow[] = {0.5F, -3.25F, 1e-30F};
    const double narrow_expected[] = {0.5, -3.25, (double)1e-30F};
    check_items(&(test_array)TEST_ARRAY("", "=f8", "(4,)", wide), false, 4, wide_expected);
    check_items(&(test_array)TEST_ARRAY("", "=f4", "(3,)", narrow), false, 3, narrow_expected);
    swap(wide, 4, 8);
    swap(narrow, 3, 4);
    check_items(&(test_array)TEST_ARRAY("", "~f8", "(4,)", wide), false, 4, wide_expected);
    check_items(&(test_array)TEST_ARRAY("", "~f4", "(3,)", narrow), false, 3, narrow_expected);
}

static void integers_of_all_sizes_and_orders(void **state)
{
    (void)state;
    const int8_t i1[] = {-128, 127};
    const uint8_t u1[] = {0, 255};
    const bool b1[] = {true, false};
    int16_t i2[] = {-32768, 258};
    uint16_t u2[] = {65535, 258};
    int32_t i4[] = {INT32_MIN, 66051};
    uint32_t u4[] = {UINT32_MAX, 66051};
    int64_t i8[] = {-1099511627776, 3};
    uint64_t u8[] = {1099511627776, 3};
    check_items(&(test_array)TEST_ARRAY("", "|i1", "(2,)", i1), true, 2, (double[]){-128, 127});
    check_items(&(test_array)TEST_ARRAY("", "|u1", "(2,)", u1), true, 2, (double[]){0, 255});
    check_items(&(test_array)TEST_ARRAY("", "|b1", "(2,)", b1), true, 2, (double[]){1, 0});
    const struct {
        const char *type;
        void *items;
        size_t size;
        double expected[2];
    } cases[] = {
        {"i2", i2, 2, {-32768, 258}},         {"u2", u2, 2, {65535, 258}},
        {"i4", i4, 4, {INT32_MIN, 66051}},    {"u4", u4, 4, {UINT32_MAX, 66051}},
        {"i8", i8, 8, {-1099511627776.0, 3}}, {"u8", u8, 8, {1099511627776.0, 3}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char descr[] = {'=', cases[i].type[0], cases[i].type[1], '\0'};
        check_items(&(test_array){"", descr, "(2,)", cases[i].items, 2 * cases[i].size, false}, true, 2,
                    cases[i].expected);
        swap(cases[i].items, 2, cases[i].size);
        descr[0] = '~';
        check_items(&(test_array){"", descr, "(2,)", cases[i].items, 2 * cases[i].size, false}, true, 2,
                    cases[i].expected);
    }
}

static void fortran_order_becomes_c_order(void **state)
{
    (void)state;
    const double items[] = {0, 3, 1, 4, 2, 5};
    const double deep[] = {0, 4, 2, 6, 1, 5, 3, 7};
    check_items(&(test_array)TEST_FORTRAN("", "=f8", "(2, 3)", items), false, 6,
                (double[]){0, 1, 2, 3, 4, 5});
    check_items(&(test_array)TEST_FORTRAN("", "=f8", "(2, 2, 2)", deep), false, 8,
                (double[]){0, 1, 2, 3, 4, 5, 6, 7});
}

static void more_than_one_piece(void **state)
{
    enum { ROWS = 301, COLUMNS = 67 };
    nadir_context *context = *state;
    static float items[ROWS * COLUMNS]; /* column after column */
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        items[i] = (float)i;
    }
    char header[NADIR_NPY_HEADER_LENGTH] = {0};
    const size_t length = nadir_npy_header_bytes("f4", 2, (const int64_t[]){ROWS, COLUMNS}, header);
    memcpy(strstr(header + 10, "False"), "True ", 5);
    unsigned char *all = malloc(length + sizeof items);
    memcpy(all, header, length);
    memcpy(all + length, items, sizeof items);
    test_write_bytes("large.npy", all, length + sizeof items);
    nadir_array read = {0};
    assert_ok(context, nadir_npy_read(context, "large.npy", &read));
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            assert_true(read.values[i * COLUMNS + j] == (double)(j * ROWS + i));
        }
    }
    nadir_release(context, read.values);
    free(all);
}

static void shapes_from_none_to_four_dimensions(void **state)
{
    nadir_context *context = *state;
    const double items[] = {1, 2, 3, 4};
    const struct {
        const char *shape;
        size_t count;
        int dimensions;
    } cases[] = {{"()", 1, 0}, {"(4,)", 4, 1}, {"(4, 1)", 4, 2}, {"(1,2,2,1)", 4, 4}, {"(0, 7)", 0, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nadir_array read = {0};
        test_write_npy("shape.npy",
                       &(test_array){"", "=f8", cases[i].shape, items, 8 * cases[i].count, false});
        assert_ok(context, nadir_npy_read(context, "shape.npy", &read));
        assert_int_equal(read.dimensions, cases[i].dimensions);
        assert_int_equal(read.count, cases[i].count);
        nadir_release(context, read.values);
    }
}

static void versions_two_and_three(void **state)
{
    nadir_context *context = *state;
    const char header[] = "{\"shape\":(1,),'fortran_order':False , 'descr':'|u1'}";
    unsigned char bytes[256] = "\x93NUMPY\x02\x00";
    for (unsigned char version = 2; version <= 3; version++) {
        nadir_array read = {0};
        bytes[6] = version;
        bytes[8] = sizeof header - 1;
        memcpy(bytes + 12, header, sizeof header - 1);
        bytes[12 + sizeof header - 1] = 42;
        test_write_bytes("version.npy", bytes, 12 + sizeof header);
        assert_ok(context, nadir_npy_read(context, "version.npy", &read));
        assert_true(read.values[0] == 42);
        nadir_release(context, read.values);
    }
    bytes[6] = 4;
    test_write_bytes("version.npy", bytes, 64);
    nadir_array read = {0};
    assert_fails(context, nadir_npy_read(context, "version.npy", &read), NADIR_ERROR_FORMAT,
                 "version 4.0 is not known");
}

/* A header that must be refused with these words. */
static void refuse(const char *header, const char *words)
{
    nadir_context *context = test_context();
    nadir_array read = {0};
    const double items[2] = {0};
    test_write_npy_header("wrong.npy", header, items, sizeof items);
    assert_fails(context, nadir_npy_read(context, "wrong.npy", &read), NADIR_ERROR_FORMAT, words);
    assert_fails(context, NADIR_ERROR_FORMAT, NADIR_ERROR_FORMAT, "wrong.npy: ");
    assert_null(read.values);
    nadir_context_free(context);
}

static void headers_that_are_wrong(void **state)
{
    (void)state;
    refuse("", "it is no dictionary");
    refuse("[1]", "it is no dictionary");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)", "it is no dictionary");
    refuse("{'descr': '<f8' 'fortran_order': False, 'shape': (2,)}", "it is no dictionary");
    refuse("{'descr': '<f8', 'fortran_order': False}", "each once");
    refuse("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", "each once");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'x': 1}", "each once");
    refuse("{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}", "neither True nor False");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} 1", "something follows");
    refuse("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,)}", "holds records");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': 2}", "no tuple");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (2)}", "no tuple");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (,)}", "no tuple");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}", "no tuple");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (1 2)}", "no tuple");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (2,", "no tuple");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,2)}", "more than 4 dimensions");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "can be counted");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296)}",
           "can be counted");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,)}", "does not fit");
}

static void types_that_are_not_read(void **state)
{
    (void)state;
    static const char *const types[] = {"|O",  "<f2", "<f16", "<c16", "<M8", "<i3",  "|f8",  "=f8",
                                        "<U0", "<b2", "f8",   "<f",   "",    "<f+8", "<f8x", "<U9999999999"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char header[128];
        (void)snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2,)}",
                       types[i]);
        refuse(header, "are not read; expected truth values");
    }
    refuse("{'descr': '<U2', 'fortran_order': False, 'shape': (2,)}", "holds text; expected numbers");
    refuse("{'descr': '|S8', 'fortran_order': False, 'shape': (2,)}", "holds text; expected numbers");
}

static void shape_and_file_disagree(void **state)
{
    (void)state;
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}",
           "the shape (3,) with items of 8 bytes does not fit the 16 bytes");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", "does not fit");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000000)}", "does not fit");
}

static void files_that_are_wrong(void **state)
{
    nadir_context *context = *state;
    nadir_array read = {0};
    test_write_file("empty.npy", "");
    assert_fails(context, nadir_npy_read(context, "empty.npy", &read), NADIR_ERROR_FORMAT,
                 "empty.npy: ends in the middle of the NumPy header");
    test_write_bytes("short.npy", "\x93NUMPY\x01\x00\x76\x00{'descr'", 18);
    assert_fails(context, nadir_npy_read(context, "short.npy", &read), NADIR_ERROR_FORMAT,
                 "ends in the middle of the NumPy header");
    test_write_bytes("long.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'", 20);
    assert_fails(context, nadir_npy_read(context, "long.npy", &read), NADIR_ERROR_FORMAT,
                 "longer than 10000 bytes");
    test_write_file("text.npy", "0.1,0.2,0.3\n");
    assert_fails(context, nadir_npy_read(context, "text.npy", &read), NADIR_ERROR_FORMAT, "no NumPy array");
    assert_fails(context, nadir_npy_read(context, ".", &read), NADIR_ERROR_FILE, "a directory");
    assert_fails(context, nadir_npy_read(context, "none.npy", &read), NADIR_ERROR_FILE, "none.npy");
    assert_null(read.values);
}

static void unsigned_beyond_the_range_is_refused(void **state)
{
    nadir_context *context = *state;
    nadir_array read = {0};
    const uint64_t items[] = {1, (uint64_t)INT64_MAX + 1};
    test_write_npy("u8.npy", &(test_array)TEST_ARRAY("", "=u8", "(2,)", items));
    assert_fails(context, nadir_npy_read(context, "u8.npy", &read), NADIR_ERROR_FORMAT,
                 "u8.npy: item 1 is out of range");
}

static void written_arrays_are_read_back(void **state)
{
    nadir_context *context = *state;
    const double values[] = {0.1, -0.0, 1e-320, INFINITY, 5, 6};
    const int64_t shape[] = {2, 3};
    nadir_array read = {0};
    assert_ok(context, nadir_npy_write(context, "out.npy", 2, shape, values));
    assert_ok(context, nadir_npy_read(context, "out.npy", &read));
    assert_int_equal(read.dimensions, 2);
    assert_int_equal(read.shape[0], 2);
    assert_int_equal(read.shape[1], 3);
    assert_false(read.integer);
    assert_memory_equal(read.values, values, sizeof values);
    nadir_release(context, read.values);
    size_t size;
    unsigned char *bytes = test_read_bytes("out.npy", &size);
    assert_int_equal((size - sizeof values) % 64, 0);
    assert_int_equal(bytes[size - sizeof values - 1], '\n');
    free(bytes);
    assert_fails(context, nadir_npy_write(context, "no/folder.npy", 2, shape, values), NADIR_ERROR_IO,
                 "no/folder.npy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_of_both_sizes_and_orders),
        cmocka_unit_test(integers_of_all_sizes_and_orders),
        cmocka_unit_test(fortran_order_becomes_c_order),
        test_with_context(more_than_one_piece),
        test_with_context(shapes_from_none_to_four_dimensions),
        test_with_context(versions_two_and_three),
        cmocka_unit_test(headers_that_are_wrong),
        cmocka_unit_test(types_that_are_not_read),
        cmocka_unit_test(shape_and_file_disagree),
        test_with_context(files_that_are_wrong),
        test_with_context(unsigned_beyond_the_range_is_refused),
        test_with_context(written_arrays_are_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* numpy.c: NumPy files made by the tests themselves; see numpy.h. */
#include "support/numpy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#define ENTRY_BYTES ((size_t)1 << 16)

static size_t put_header(const char *text, unsigned char *into)
{
    const size_t length = strlen(text);
    memcpy(into, "\x93NUMPY\x01\x00", 8);
    into[8] = (unsigned char)(length & 0xFF);
    into[9] = (unsigned char)(length >> 8);
    memcpy(into + 10, text, length);
    return 10 + length;
}

size_t test_npy_bytes(const test_array *array, unsigned char *into, size_t capacity)
{
    char header[512];
    const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    char order = array->descr[0];
    if (order == '=' || order == '~') {
        order = (order == '=') == big ? '>' : '<';
    }
    (void)snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': %s, 'shape': %s, }\n", order,
                   array->descr + 1, array->fortran ? "True" : "False", array->shape);
    assert_true(strlen(header) + 10 + array->bytes <= capacity);
    const size_t used = put_header(header, into);
    if (array->bytes > 0) {
        memcpy(into + used, array->items, array->bytes);
    }
    return used + array->bytes;
}

void test_write_npy(const char *path, const test_array *array)
{
    unsigned char bytes[ENTRY_BYTES];
    test_write_bytes(path, bytes, test_npy_bytes(array, bytes, sizeof bytes));
}

void test_write_npy_header(const char *path, const char *header, const void *items, size_t bytes)
{
    unsigned char all[ENTRY_BYTES];
    assert_true(strlen(header) + 10 + bytes <= sizeof all);
    const size_t used = put_header(header, all);
    memcpy(all + used, items, bytes);
    test_write_bytes(path, all, used + bytes);
}

void test_write_npz_count(const char *path, size_t count, const test_array *arrays, bool deflate)
{
    int code;
    unsigned char *room = malloc(count * ENTRY_BYTES); /* until the archive is closed */
    assert_non_null(room);
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    assert_non_null(zip);
    for (size_t i = 0; i < count; i++) {
        unsigned char *bytes = room + i * ENTRY_BYTES;
        const size_t size = test_npy_bytes(&arrays[i], bytes, ENTRY_BYTES);
        zip_source_t *source = zip_source_buffer(zip, bytes, size, 0);
        assert_non_null(source);
        const zip_int64_t index = zip_file_add(zip, arrays[i].name, source, 0);
        assert_true(index >= 0);
        const zip_int32_t method = deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
        assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)index, method, 0), 0);
    }
    assert_int_equal(zip_close(zip), 0);
    free(room);
}

unsigned char *test_read_bytes(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    unsigned char *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    *count = fread(bytes, 1, (size_t)size, file);
    assert_int_equal(*count, size);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

/* bytes.c: binary files made by hand; see bytes.h. */
#include "support/support.h"

#include "support/bytes.h"

#include <string.h>

void test_put(test_bytes *file, size_t width, uint64_t bits)
{
    assert_true(file->count + width <= sizeof file->bytes);
    for (size_t i = width; i > 0; i--) {
        file->bytes[file->count++] = (unsigned char)(bits >> (8 * (i - 1)));
    }
}

void test_put_integers(test_bytes *file, size_t count, const int64_t *values)
{
    for (size_t i = 0; i < count; i++) {
        test_put(file, file->width, (uint64_t)values[i]);
    }
}

void test_put_doubles(test_bytes *file, size_t count, const double *values)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        test_put(file, 8, bits);
    }
}

void test_bytes_save(const char *name, const test_bytes *file)
{
    test_write_bytes(name, file->bytes, file->count);
}

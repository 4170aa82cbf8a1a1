/*
 * bytes.h: binary files made by hand, big-endian. Include support/support.h first.
 */
#ifndef NADIR_TESTS_BYTES_H
#define NADIR_TESTS_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* A binary file in the making. */
typedef struct test_bytes {
    unsigned char bytes[4096];
    size_t count;
    size_t width; /* of integers */
} test_bytes;

/* The last `width` bytes of `bits`. */
void test_put(test_bytes *file, size_t width, uint64_t bits);
void test_put_integers(test_bytes *file, size_t count, const int64_t *values);
void test_put_doubles(test_bytes *file, size_t count, const double *values);

/* The same for numbers in a list. */
#define PUT_INTEGERS(file, ...)                                                                              \
    test_put_integers(file, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})
#define PUT_DOUBLES(file, ...)                                                                               \
    test_put_doubles(file, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

/* Makes the file in the working directory. */
void test_bytes_save(const char *name, const test_bytes *file);

#endif

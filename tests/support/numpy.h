/* numpy.h: NumPy files made by the tests themselves, right or wrong, without the library. */
#ifndef NADIR_TESTS_NUMPY_H
#define NADIR_TESTS_NUMPY_H

#include "support/support.h"

typedef struct test_array {
    const char *name;  /* of the entry: "P.npy" */
    const char *descr; /* "=f8": '=' stands for this machine's byte order, '~' for the other */
    const char *shape; /* "(2, 3)" */
    const void *items;
    size_t bytes;
    bool fortran;
} test_array;

/* An array from a C array of items. */
#define TEST_ARRAY(name, descr, shape, items)                                                                \
    {                                                                                                        \
        name, descr, shape, items, sizeof(items), false                                                      \
    }
#define TEST_FORTRAN(name, descr, shape, items)                                                              \
    {                                                                                                        \
        name, descr, shape, items, sizeof(items), true                                                       \
    }

/* The bytes of a .npy file; into has the capacity for them. Returns how many. */
size_t test_npy_bytes(const test_array *array, unsigned char *into, size_t capacity);
void test_write_npy(const char *path, const test_array *array);
/* The same from a header given as text and any items. */
void test_write_npy_header(const char *path, const char *header, const void *items, size_t bytes);

#define test_write_npz(path, arrays, deflate)                                                                \
    test_write_npz_count(path, sizeof(arrays) / sizeof *(arrays), arrays, deflate)
void test_write_npz_count(const char *path, size_t count, const test_array *arrays, bool deflate);

/* The whole file; to be freed. */
unsigned char *test_read_bytes(const char *path, size_t *count);

#endif

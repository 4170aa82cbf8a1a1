/* npz_arrays.c: the arrays of a NumPy archive, or slices of them; see npz.h. */
#include "io/npz.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef enum target { TO_DOUBLES, TO_INT64S, TO_INT32S, TO_NAMES } target;

static nadir_status read_items(nadir_npy *npy, target to, const nadir_npy_slice *slice,
                               const int64_t *strides, void *into)
{
    nadir_status status = NADIR_OK;
    const int64_t count = slice != NULL ? slice->count : npy->header.count;
    switch (to) {
    case TO_DOUBLES:
        return nadir_npy_place(npy, slice, strides, into);
    case TO_INT64S:
    case TO_INT32S:
        NADIR_CHECK(nadir_npy_skip(npy, slice != NULL ? slice->first : 0));
        return to == TO_INT64S ? nadir_npy_int64s(npy, count, into) : nadir_npy_int32s(npy, count, into);
    case TO_NAMES:
        break;
    }
    status = nadir_npy_names(npy, into);
cleanup:
    return status;
}

/* Space was made for what the header said when the archive was opened. */
static bool is_unchanged(const nadir_npy_header *now, const nadir_npy_header *then)
{
    return now->count == then->count && now->dimensions == then->dimensions &&
           now->fortran == then->fortran && memcmp(now->shape, then->shape, sizeof now->shape) == 0;
}

static nadir_status read_array(nadir_npz *npz, nadir_npz_which which, target to, const nadir_npy_slice *slice,
                               const int64_t *strides, void *into)
{
    nadir_status status = NADIR_OK;
    nadir_npz_array array = {0};
    NADIR_CHECK(nadir_npz_array_open(npz, which, &array));
    if (!is_unchanged(&array.npy.header, &npz->headers[which])) {
        status = nadir_fail(npz->context, NADIR_ERROR_IO, "%s: changed while it was read", array.name);
        goto cleanup;
    }
    NADIR_CHECK(read_items(&array.npy, to, slice, strides, into));
    if (array.npy.taken == array.npy.header.count) {
        NADIR_CHECK(nadir_npy_finish(&array.npy));
    }
cleanup:
    nadir_npz_array_close(&array);
    return status;
}

nadir_status nadir_npz_doubles(nadir_npz *npz, nadir_npz_which which, const nadir_npy_slice *slice,
                               const int64_t *strides, double *into)
{
    return read_array(npz, which, TO_DOUBLES, slice, strides, into);
}

nadir_status nadir_npz_int64s(nadir_npz *npz, nadir_npz_which which, const nadir_npy_slice *slice,
                              int64_t *into)
{
    return read_array(npz, which, TO_INT64S, slice, NULL, into);
}

nadir_status nadir_npz_int32s(nadir_npz *npz, nadir_npz_which which, const nadir_npy_slice *slice,
                              int32_t *into)
{
    return read_array(npz, which, TO_INT32S, slice, NULL, into);
}

nadir_status nadir_npz_names(nadir_npz *npz, nadir_npz_which which, nadir_names *into)
{
    return read_array(npz, which, TO_NAMES, NULL, NULL, into);
}

nadir_status nadir_npz_number(nadir_npz *npz, nadir_npz_which which, double *into)
{
    const int64_t strides[NADIR_NPY_DIMENSIONS] = {1, 1, 1, 1};
    if (!nadir_npz_has(npz, which)) {
        return NADIR_OK;
    }
    if (npz->headers[which].count != 1) {
        return nadir_npz_shape_fail(npz, which, "one number");
    }
    return nadir_npz_doubles(npz, which, NULL, strides, into);
}

nadir_status nadir_npz_word(nadir_npz *npz, nadir_npz_which which, int count, const char *const *words,
                            int *found)
{
    nadir_status status = NADIR_OK;
    nadir_names names = {0};
    *found = 0;
    if (!nadir_npz_has(npz, which)) {
        return NADIR_OK;
    }
    if (npz->headers[which].count != 1) {
        return nadir_npz_shape_fail(npz, which, "one word");
    }
    NADIR_CHECK(nadir_npz_names(npz, which, &names));
    const char *word = nadir_names_get(&names, 0);
    while (*found < count && strcmp(words[*found], word) != 0) {
        (*found)++;
    }
    if (*found == count) {
        status =
            nadir_fail(npz->context, NADIR_ERROR_FORMAT, "%s: array %s is \"%.40s\"; expected %s%s%s%s%s",
                       npz->path, nadir_npz_name(which), word, words[1], count > 2 ? ", " : "",
                       count > 2 ? words[2] : "", count > 3 ? ", " : "", count > 3 ? words[3] : "");
    }
cleanup:
    nadir_names_clear(npz->context->memory, &names);
    return status;
}

nadir_status nadir_npz_shape_fail(const nadir_npz *npz, nadir_npz_which which, const char *format, ...)
{
    char expected[256];
    char shape[NADIR_NPY_SHAPE_LENGTH];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    const nadir_npy_header *header = &npz->headers[which];
    return nadir_fail(npz->context, NADIR_ERROR_FORMAT, "%s: array %s has shape %s; expected %s", npz->path,
                      nadir_npz_name(which), nadir_npy_shape_text(header->dimensions, header->shape, shape),
                      expected);
}

/*
 * npy.h: NumPy arrays, whole files (.npy) or entries of an archive (.npz).
 *
 *     array  = "\x93NUMPY" major minor length header items
 *     length = 2 bytes in version 1, 4 bytes in versions 2 and 3, the lowest first
 *     header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }" blanks newline
 *
 * Items may be truth values, integers of 1 to 8 bytes, floats of 4 or 8 bytes, or text, in either byte
 * order, or records of such numbers. They are handed out in the order of the file and converted in pieces
 * to what the caller wants; where file and caller agree they are read straight into the caller's array.
 */
#ifndef NADIR_IO_NPY_H
#define NADIR_IO_NPY_H

#include "core/context.h"
#include "core/file.h"
#include "model/model.h"

#define NADIR_NPY_DIMENSIONS 4
/* Room for a shape as text, and for a header as bytes. */
#define NADIR_NPY_SHAPE_LENGTH  96
#define NADIR_NPY_HEADER_LENGTH 256

/* Where the bytes of an array come from. */
typedef struct nadir_npy_source {
    const char *name; /* how messages call it: "policy.npy", "model.npz: array P"; kept, not copied */
    int64_t bytes;    /* how many there are, header and items together */
    /* Up to `size` bytes; *got less than that only at the end. Sets the error of the context. */
    nadir_status (*read)(void *user, void *buffer, size_t size, size_t *got);
    void *user;
    /* Passes over so many bytes; false: it cannot, and has not moved. NULL: never can. */
    bool (*skip)(void *user, int64_t bytes);
} nadir_npy_source;

typedef enum nadir_npy_kind {
    NADIR_NPY_BOOL,
    NADIR_NPY_SIGNED,
    NADIR_NPY_UNSIGNED,
    NADIR_NPY_FLOAT,
    NADIR_NPY_TEXT,  /* UTF-32, padded with zeros */
    NADIR_NPY_BYTES, /* UTF-8, padded with zeros */
    NADIR_NPY_RECORD /* of fields that have names; see nadir_npy_open */
} nadir_npy_kind;

typedef struct nadir_npy_type {
    nadir_npy_kind kind;
    int64_t item_bytes;
    bool swapped; /* the bytes of an item stand in the other order than on this machine */
} nadir_npy_type;

typedef struct nadir_npy_header {
    nadir_npy_type type;
    bool fortran; /* the first index runs fastest, not the last */
    int dimensions;
    int64_t shape[NADIR_NPY_DIMENSIONS];
    int64_t count; /* product of the shape */
} nadir_npy_header;

/* The items whose index along one axis lies in [first, first + count), which is within the shape. */
typedef struct nadir_npy_slice {
    int axis;
    int64_t first, count;
} nadir_npy_slice;

/* More fields than any reader asks for, and room for a name; longer ones are cut. */
#define NADIR_NPY_FIELDS      16
#define NADIR_NPY_NAME_LENGTH 32

/* A number of every record. */
typedef struct nadir_npy_field {
    char name[NADIR_NPY_NAME_LENGTH];
    nadir_npy_type type;
    int64_t offset; /* within the record */
} nadir_npy_field;

typedef struct nadir_npy_records {
    int count; /* 0: the array holds plain items */
    nadir_npy_field fields[NADIR_NPY_FIELDS];
} nadir_npy_records;

/* An array being read. */
typedef struct nadir_npy {
    nadir_context *context;
    nadir_npy_source source;
    nadir_npy_header header;
    nadir_npy_records *records;    /* NULL: an array of records is refused */
    int64_t header_bytes;          /* of the source before the items */
    int64_t taken;                 /* items handed out */
    struct nadir_npy_piece *piece; /* room for items on their way; NULL until it is needed */
} nadir_npy;

/* Reads the header; NADIR_ERROR_FORMAT unless the source holds exactly the items that the header promises.
 * nadir_npy_close is legal afterwards in any case. With `records`, which npy keeps and does not copy, the array may
 * also hold records: "[('state', '<i4'), ('reward', '<f8')]". */
nadir_status nadir_npy_open(nadir_context *context, const nadir_npy_source *source,
                            nadir_npy_records *records, nadir_npy *npy);
void nadir_npy_close(nadir_npy *npy);

/* "(3, 4)" into text; returns text. */
const char *nadir_npy_shape_text(int dimensions, const int64_t *shape, char text[NADIR_NPY_SHAPE_LENGTH]);
static inline bool nadir_npy_is_integer(const nadir_npy_header *header)
{
    return header->type.kind <= NADIR_NPY_UNSIGNED;
}

/* The next `count` items, which must be there. Values that do not fit are NADIR_ERROR_FORMAT, so are
 * floats that are not whole. */
nadir_status nadir_npy_int64s(nadir_npy *npy, int64_t count, int64_t *into);
nadir_status nadir_npy_int32s(nadir_npy *npy, int64_t count, int32_t *into);
/* Passes over the next `count` items, which must be there; does not read many, if the source can skip. */
nadir_status nadir_npy_skip(nadir_npy *npy, int64_t count);
/* The items of a slice, NULL: all of them; item (i, j, ...) of it into into[i * strides[0] + j * strides[1] +
 * ...]. strides NULL: side by side, in C order. No item was taken before. */
nadir_status nadir_npy_place(nadir_npy *npy, const nadir_npy_slice *slice, const int64_t *strides,
                             double *into);
/* All items, which must be text, appended to `names`. */
nadir_status nadir_npy_names(nadir_npy *npy, nadir_names *names);

/* One field, which must hold numbers, of `count` records, whose bytes the caller has read, as doubles or as
 * integers; the other array is NULL. items points to the field of the first record, stride is the distance to the
 * next. Errors name the record, counted from `first`, and the field. */
#define NADIR_NPY_PIECE 8192
nadir_status nadir_npy_field_numbers(nadir_npy *npy, const nadir_npy_field *field, int64_t first,
                                     int64_t count, const unsigned char *items, int64_t stride,
                                     double *doubles, int64_t *integers);

/* Once all items are taken: makes sure that the source ends there. Archives check their sums at the end. */
nadir_status nadir_npy_finish(nadir_npy *npy);

/* Writes a header of version 1 for items in C order and this machine's byte order; `type` is the descr
 * without its first character: "f8", "i4", "U12". Returns its length, a multiple of 64. */
size_t nadir_npy_header_bytes(const char *type, int dimensions, const int64_t *shape,
                              char bytes[NADIR_NPY_HEADER_LENGTH]);

/* A numeric array in memory, in C order. */
typedef struct nadir_array {
    int dimensions;
    int64_t shape[NADIR_NPY_DIMENSIONS];
    int64_t count;
    double *values; /* [count] */
    bool integer;   /* the file holds integers or truth values */
} nadir_array;

/* A .npy file as a source; it must stay where it is in memory. */
typedef struct nadir_npy_file {
    nadir_context *context;
    nadir_input input; /* to be closed with nadir_input_close */
    int64_t done;
} nadir_npy_file;

nadir_status nadir_npy_file_open(nadir_context *context, const char *path, nadir_npy_file *file,
                                 nadir_npy_source *source);

/* Whether a path ends in .npy. */
bool nadir_npy_is_name(const char *path);
/* Whether a file begins as a NumPy array does. */
nadir_status nadir_npy_recognises(nadir_context *context, const char *path, bool *is_npy);
/* A whole .npy file of numbers; the values are to be released with nadir_release. */
nadir_status nadir_npy_read(nadir_context *context, const char *path, nadir_array *array);
/* values: [product of shape] */
nadir_status nadir_npy_write(nadir_context *context, const char *path, int dimensions, const int64_t *shape,
                             const double *values);

#endif

/*
 * npz_source.h: where libzip reads from and writes to: our own files.
 *
 * Left to itself it goes through streams of the C library, which give up when a signal cuts a call short,
 * and writes to a temporary file of its own, which is left behind when the process is killed.
 */
#ifndef NADIR_IO_NUMPY_NPZ_SOURCE_H
#define NADIR_IO_NUMPY_NPZ_SOURCE_H

#include "base/file.h"

#include <zip.h>

typedef struct nadir_npz_source {
    nadir_context *context;
    nadir_input *input; /* one of the two is NULL */
    nadir_output *output;
    int64_t at;
    nadir_status status; /* of reading, once it has failed; the context says more */
} nadir_npz_source;

/* An archive in one of the two files, both of which, as the source, stay where they are until it is closed or
 * discarded. NULL: `error` says why. */
zip_t *nadir_npz_source_open(nadir_npz_source *source, zip_error_t *error);

#endif

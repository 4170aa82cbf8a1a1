/* npy_file.c: whole .npy files of numbers, read and written; see npy.h. */
#include "io/npy.h"

#include <string.h>
#include <strings.h>

static nadir_status read_file(void *user, void *buffer, size_t size, size_t *got)
{
    nadir_status status = NADIR_OK;
    nadir_npy_file *file = user;
    NADIR_CHECK(nadir_input_read(file->context, &file->input, buffer, size, got));
    file->done += (int64_t)*got;
    NADIR_CHECK(
        nadir_progress(file->context, "reading", (double)file->done / (double)(file->input.bytes + 1)));
cleanup:
    return status;
}

static bool skip_file(void *user, int64_t bytes)
{
    nadir_npy_file *file = user;
    file->done += bytes;
    return nadir_input_seek(file->context, &file->input, file->done) == NADIR_OK;
}

nadir_status nadir_npy_file_open(nadir_context *context, const char *path, nadir_npy_file *file,
                                 nadir_npy_source *source)
{
    *file = (nadir_npy_file){.context = context, .input = NADIR_INPUT_CLOSED};
    const nadir_status status = nadir_input_open(context, path, &file->input);
    *source = (nadir_npy_source){path, file->input.bytes, read_file, file, skip_file};
    return status;
}

bool nadir_npy_is_name(const char *path)
{
    const size_t length = strlen(path);
    return length >= 4 && strcasecmp(path + length - 4, ".npy") == 0;
}

nadir_status nadir_npy_recognises(nadir_context *context, const char *path, bool *is_npy)
{
    nadir_status status = NADIR_OK;
    nadir_input input = NADIR_INPUT_CLOSED;
    char head[6];
    size_t got;
    NADIR_CHECK(nadir_input_open(context, path, &input));
    NADIR_CHECK(nadir_input_read(context, &input, head, sizeof head, &got));
    *is_npy = got == sizeof head && memcmp(head, "\x93NUMPY", sizeof head) == 0;
cleanup:
    nadir_input_close(&input);
    return status;
}

nadir_status nadir_npy_read(nadir_context *context, const char *path, nadir_array *array)
{
    nadir_status status = NADIR_OK;
    nadir_npy npy = {0};
    double *values = NULL;
    nadir_npy_file file;
    nadir_npy_source source;
    NADIR_CHECK(nadir_npy_file_open(context, path, &file, &source));
    NADIR_CHECK(nadir_npy_open(context, &source, &npy));
    const nadir_npy_header *header = &npy.header;
    NADIR_NEW(context, values, header->count);
    int64_t strides[NADIR_NPY_DIMENSIONS] = {1, 1, 1, 1};
    for (int i = header->dimensions - 2; i >= 0; i--) {
        strides[i] = strides[i + 1] * header->shape[i + 1];
    }
    NADIR_CHECK(nadir_npy_place(&npy, NULL, strides, values));
    NADIR_CHECK(nadir_npy_finish(&npy));
    *array = (nadir_array){.dimensions = header->dimensions,
                           .count = header->count,
                           .values = values,
                           .integer = nadir_npy_is_integer(header)};
    for (int i = 0; i < NADIR_NPY_DIMENSIONS; i++) {
        array->shape[i] = header->shape[i];
    }
    values = NULL;
cleanup:
    nadir_release(context, values);
    nadir_npy_close(&npy);
    nadir_input_close(&file.input);
    return status;
}

nadir_status nadir_npy_write(nadir_context *context, const char *path, int dimensions, const int64_t *shape,
                             const double *values)
{
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    char header[NADIR_NPY_HEADER_LENGTH];
    size_t bytes = sizeof *values;
    for (int i = 0; i < dimensions; i++) {
        bytes *= (size_t)shape[i];
    }
    NADIR_CHECK(nadir_output_open(context, path, &output));
    nadir_output_write(&output, header, nadir_npy_header_bytes("f8", dimensions, shape, header));
    nadir_output_write(&output, values, bytes);
    NADIR_CHECK(nadir_output_commit(context, &output));
cleanup:
    nadir_output_close(context, &output);
    return status;
}

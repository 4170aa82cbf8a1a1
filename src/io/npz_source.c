/* npz_source.c: where libzip reads from and writes to; see npz.h. */
#include "io/npz.h"

#include <string.h>

static int64_t size_of(const nadir_npz_source *source)
{
    return source->input != NULL ? source->input->bytes : source->output->written;
}

static zip_int64_t read_bytes(nadir_npz_source *source, void *into, size_t size)
{
    size_t got;
    const nadir_status status =
        nadir_input_read_at(source->context, source->input, source->at, into, size, &got);
    if (status != NADIR_OK) {
        source->status = status;
        return -1;
    }
    source->at += (int64_t)got;
    return (zip_int64_t)got;
}

static zip_int64_t write_bytes(nadir_npz_source *source, const void *from, size_t size)
{
    nadir_output_write_at(source->output, source->at, from, size);
    if (source->output->failed) {
        return -1;
    }
    source->at += (int64_t)size;
    return (zip_int64_t)size;
}

static zip_int64_t seek(nadir_npz_source *source, void *data, zip_uint64_t length)
{
    const zip_int64_t to = zip_source_seek_compute_offset((zip_uint64_t)source->at,
                                                          (zip_uint64_t)size_of(source), data, length, NULL);
    if (to < 0) {
        return -1;
    }
    source->at = to;
    return 0;
}

static zip_int64_t describe(const nadir_npz_source *source, void *data)
{
    zip_stat_t facts;
    zip_stat_init(&facts);
    facts.valid = ZIP_STAT_SIZE;
    facts.size = (zip_uint64_t)size_of(source);
    memcpy(data, &facts, sizeof facts);
    return (zip_int64_t)sizeof facts;
}

static zip_int64_t tell_error(const nadir_npz_source *source, void *data)
{
    const int codes[] = {source->input != NULL ? ZIP_ER_READ : ZIP_ER_WRITE, 0};
    memcpy(data, codes, sizeof codes);
    return (zip_int64_t)sizeof codes;
}

static zip_int64_t tell_commands(const nadir_npz_source *source)
{
    const zip_int64_t reading = zip_source_make_command_bitmap(
        ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
        ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
    const zip_int64_t writing = zip_source_make_command_bitmap(
        ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE, ZIP_SOURCE_WRITE,
        ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_REMOVE, -1);
    return source->output != NULL ? reading | writing : reading;
}

/* What libzip asks of a source: a zip_source_callback. */
static zip_int64_t serve(void *user, void *data, zip_uint64_t length, zip_source_cmd_t command)
{
    nadir_npz_source *source = user;
    switch (command) {
    case ZIP_SOURCE_OPEN:
    case ZIP_SOURCE_BEGIN_WRITE:
        source->at = 0;
        return 0;
    case ZIP_SOURCE_READ:
        return source->input != NULL ? read_bytes(source, data, length) : -1;
    case ZIP_SOURCE_WRITE:
        return write_bytes(source, data, length);
    case ZIP_SOURCE_SEEK:
    case ZIP_SOURCE_SEEK_WRITE:
        return seek(source, data, length);
    case ZIP_SOURCE_TELL:
    case ZIP_SOURCE_TELL_WRITE:
        return source->at;
    case ZIP_SOURCE_STAT:
        return describe(source, data);
    case ZIP_SOURCE_ERROR:
        return tell_error(source, data);
    case ZIP_SOURCE_SUPPORTS:
        return tell_commands(source);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
    case ZIP_SOURCE_COMMIT_WRITE: /* these three: who opened the file decides what becomes of it */
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_REMOVE:
        return 0;
    default:
        return -1;
    }
}

zip_t *nadir_npz_source_open(nadir_npz_source *source, zip_error_t *error)
{
    zip_source_t *made = zip_source_function_create(serve, source, error);
    if (made == NULL) {
        return NULL;
    }
    zip_t *zip = zip_open_from_source(made, source->input != NULL ? ZIP_RDONLY : ZIP_TRUNCATE, error);
    if (zip == NULL) {
        zip_source_free(made);
    }
    return zip;
}

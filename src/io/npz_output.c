/* npz_output.c: NumPy archives being written, through libzip; see npz.h. */
#include "io/npz.h"

#include <stdio.h>
#include <string.h>

#define DEFLATE_LEVEL 1    /* on such numbers as small as the higher ones, and several times faster */
#define DOS_DATE      0x21 /* 1 January 1980, the first there is */
#define DOS_TIME      0

static nadir_status zip_fail(const nadir_npz_output *output, zip_error_t *error)
{
    if (output->stopped != NADIR_OK) {
        return output->stopped;
    }
    const bool memory = zip_error_code_zip(error) == ZIP_ER_MEMORY;
    return nadir_fail(output->context, memory ? NADIR_ERROR_MEMORY : NADIR_ERROR_IO, "%s: writing failed: %s",
                      output->path,
                      output->file.failed ? strerror(output->file.error) : zip_error_strerror(error));
}

nadir_status nadir_npz_output_open(nadir_context *context, const char *path, bool compress,
                                   nadir_npz_output *output)
{
    nadir_status status = NADIR_OK;
    zip_error_t error;
    zip_error_init(&error);
    output->context = context;
    output->path = path;
    output->file = (nadir_output)NADIR_OUTPUT_CLOSED;
    output->zip = NULL;
    output->compress = compress;
    output->stores_digest = false;
    output->stopped = NADIR_OK;
    NADIR_CHECK(nadir_output_open(context, path, &output->file));
    output->source = (nadir_npz_source){.context = context, .output = &output->file};
    output->zip = nadir_npz_source_open(&output->source, &error);
    if (output->zip == NULL) {
        status = zip_fail(output, &error);
    }
cleanup:
    zip_error_fini(&error);
    return status;
}

void nadir_npz_output_close(nadir_npz_output *output)
{
    if (output->zip != NULL) {
        zip_discard(output->zip);
        output->zip = NULL;
    }
    nadir_output_close(output->context, &output->file);
}

/* Makes the source an entry; it is libzip's afterwards, also on failure. */
static nadir_status add_source(nadir_npz_output *output, nadir_npz_which which, zip_source_t *source)
{
    if (source == NULL) {
        return zip_fail(output, zip_get_error(output->zip));
    }
    char name[32];
    (void)snprintf(name, sizeof name, "%s.npy", nadir_npz_name(which));
    const zip_int64_t index = zip_file_add(output->zip, name, source, 0);
    if (index < 0) {
        zip_source_free(source);
        return zip_fail(output, zip_get_error(output->zip));
    }
    const zip_int32_t method = output->compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
    const zip_uint32_t level = output->compress ? DEFLATE_LEVEL : 0;
    if (zip_set_file_compression(output->zip, (zip_uint64_t)index, method, level) != 0 ||
        zip_file_set_dostime(output->zip, (zip_uint64_t)index, DOS_TIME, DOS_DATE, 0) != 0) {
        return zip_fail(output, zip_get_error(output->zip));
    }
    return NADIR_OK;
}

nadir_status nadir_npz_add(nadir_npz_output *output, nadir_npz_which which, const char *type, int dimensions,
                           const int64_t *shape, const void *items, size_t item_bytes)
{
    size_t bytes = item_bytes;
    for (int i = 0; i < dimensions; i++) {
        bytes *= (size_t)shape[i];
    }
    char *header = output->headers[which];
    const size_t header_bytes = nadir_npy_header_bytes(type, dimensions, shape, header);
    /* libzip only reads from these; its type lacks the const. */
    const zip_buffer_fragment_t parts[] = {{(zip_uint8_t *)header, header_bytes},
                                           {(zip_uint8_t *)items, bytes}};
    return add_source(output, which, zip_source_buffer_fragment(output->zip, parts, 2, 0));
}

nadir_status nadir_npz_add_number(nadir_npz_output *output, nadir_npz_which which, const double *number)
{
    return nadir_npz_add(output, which, "f8", 0, NULL, number, sizeof *number);
}

nadir_status nadir_npz_add_word(nadir_npz_output *output, nadir_npz_which which, const char *word)
{
    char type[32];
    const size_t length = strnlen(word, NADIR_NPZ_WORD_LENGTH);
    for (size_t i = 0; i < length; i++) {
        output->words[which][i] = (unsigned char)word[i];
    }
    (void)snprintf(type, sizeof type, "U%zu", length);
    return nadir_npz_add(output, which, type, 0, NULL, output->words[which], length * sizeof(uint32_t));
}

static void restart(nadir_npz_stream *stream)
{
    stream->restart(stream->user);
    stream->block = stream->header;
    stream->block_left = stream->header_bytes;
    stream->left = stream->bytes;
}

static zip_int64_t read_stream(nadir_npz_stream *stream, char *buffer, size_t size)
{
    size_t got = 0;
    while (got < size && stream->left > 0) {
        if (stream->block_left == 0) {
            const void *block = NULL;
            stream->block_left = stream->next(stream->user, &block);
            stream->block = block;
            if (stream->block_left == 0) {
                return -1;
            }
        }
        const size_t room = size - got;
        const size_t part = stream->block_left < room ? stream->block_left : room;
        memcpy(buffer + got, stream->block, part);
        stream->block += part;
        stream->block_left -= part;
        stream->left -= (int64_t)part;
        got += part;
    }
    return (zip_int64_t)got;
}

static zip_int64_t describe_stream(const nadir_npz_stream *stream, void *data)
{
    zip_stat_t facts;
    zip_stat_init(&facts);
    facts.valid = ZIP_STAT_SIZE;
    facts.size = (zip_uint64_t)stream->bytes;
    memcpy(data, &facts, sizeof facts);
    return (zip_int64_t)sizeof facts;
}

/* What libzip asks of a source: a zip_source_callback. */
static zip_int64_t serve_stream(void *user, void *data, zip_uint64_t length, zip_source_cmd_t command)
{
    nadir_npz_stream *stream = user;
    switch (command) {
    case ZIP_SOURCE_OPEN:
        restart(stream);
        return 0;
    case ZIP_SOURCE_READ:
        return read_stream(stream, data, length);
    case ZIP_SOURCE_STAT:
        return describe_stream(stream, data);
    case ZIP_SOURCE_ERROR: {
        const int codes[] = {ZIP_ER_INTERNAL, 0};
        memcpy(data, codes, sizeof codes);
        return (zip_int64_t)sizeof codes;
    }
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                              ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
    default: /* close, free: nothing is held */
        return 0;
    }
}

nadir_status nadir_npz_add_stream(nadir_npz_output *output, nadir_npz_which which, const char *type,
                                  int64_t count, size_t item_bytes, nadir_npz_stream *stream)
{
    stream->header = output->headers[which];
    stream->header_bytes = nadir_npy_header_bytes(type, 1, &count, output->headers[which]);
    stream->bytes = (int64_t)stream->header_bytes + count * (int64_t)item_bytes;
    return add_source(output, which, zip_source_function(output->zip, serve_stream, stream));
}

static void show_progress(zip_t *zip, double share, void *user)
{
    (void)zip;
    nadir_npz_output *output = user;
    if (output->stopped == NADIR_OK) {
        output->stopped = nadir_progress(output->context, "writing", share);
    }
}

static int is_stopped(zip_t *zip, void *user)
{
    (void)zip;
    const nadir_npz_output *output = user;
    return output->stopped != NADIR_OK;
}

#define DIGEST_LABEL "nadir sha256 "

const nadir_file_digest_form nadir_npz_digest_form = {.before = DIGEST_LABEL, .after = ""};

nadir_status nadir_npz_output_store_digest(nadir_npz_output *output)
{
    static const char comment[] = DIGEST_LABEL NADIR_FILE_DIGEST_BLANK;
    if (zip_set_archive_comment(output->zip, comment, sizeof comment - 1) != 0) {
        return zip_fail(output, zip_get_error(output->zip));
    }
    output->stores_digest = true;
    return NADIR_OK;
}

nadir_status nadir_npz_output_commit(nadir_npz_output *output)
{
    nadir_status status = NADIR_OK;
    (void)zip_register_progress_callback_with_state(output->zip, 0.001, show_progress, NULL, output);
    (void)zip_register_cancel_callback_with_state(output->zip, is_stopped, NULL, output);
    if (zip_close(output->zip) != 0) {
        return zip_fail(output, zip_get_error(output->zip));
    }
    output->zip = NULL;
    if (output->stores_digest) {
        nadir_output_flush(&output->file);
        NADIR_CHECK(nadir_file_digest_store(output->context, output->file.temporary, &nadir_npz_digest_form));
    }
    NADIR_CHECK(nadir_output_commit(output->context, &output->file));
cleanup:
    return status;
}

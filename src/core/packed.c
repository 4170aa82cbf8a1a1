/* packed.c: gzip by zlib, xz by liblzma; see packed.h. */
#include "core/packed.h"

#include "core/context.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

enum { CHUNK = 1 << 16, MAGIC = 6 };

/* xz files say how much memory their dictionary takes; `xz -9` needs 65 MiB. More than this is refused. */
#define DICTIONARY_BYTES ((uint64_t)1 << 29)

/* What a step of the decoder ended in. */
typedef enum outcome { MORE, END, DAMAGED, TOO_LARGE, NO_MEMORY } outcome;

/* A decoder or encoder of either kind; a struct of zeros, with its kind, is not started. */
typedef struct decoder {
    nadir_packing kind;
    z_stream gzip;
    lzma_stream xz;
    bool between; /* gzip: a member has ended; another may follow */
} decoder;

static nadir_packing packing_of(const unsigned char head[MAGIC], size_t length)
{
    static const unsigned char xz[MAGIC] = {0xFD, '7', 'z', 'X', 'Z', 0};
    if (length >= 3 && head[0] == 0x1F && head[1] == 0x8B && head[2] == 8) {
        return NADIR_PACKING_GZIP;
    }
    return length == MAGIC && memcmp(head, xz, MAGIC) == 0 ? NADIR_PACKING_XZ : NADIR_PACKING_NONE;
}

static bool start(decoder *self)
{
    if (self->kind == NADIR_PACKING_GZIP) {
        return inflateInit2(&self->gzip, 15 + 16) == Z_OK; /* 16: with the header of gzip */
    }
    self->xz = (lzma_stream)LZMA_STREAM_INIT;
    return lzma_stream_decoder(&self->xz, DICTIONARY_BYTES, LZMA_CONCATENATED) == LZMA_OK;
}

static void stop(decoder *self)
{
    if (self->kind == NADIR_PACKING_GZIP) {
        (void)inflateEnd(&self->gzip);
    } else {
        lzma_end(&self->xz);
    }
}

/* Decodes from *next, [*left] bytes, into out[CHUNK]; last: nothing follows them. *made: bytes written. */
static outcome step_gzip(decoder *self, const unsigned char **next, size_t *left, bool last,
                         unsigned char *out, size_t *made)
{
    *made = 0;
    if (self->between) {
        if (*left == 0) {
            return last ? END : MORE;
        }
        (void)inflateReset(&self->gzip);
        self->between = false;
    }
    self->gzip.next_in = (unsigned char *)(uintptr_t)*next; /* zlib does not write there */
    self->gzip.avail_in = (unsigned)*left;
    self->gzip.next_out = out;
    self->gzip.avail_out = CHUNK;
    const int result = inflate(&self->gzip, Z_NO_FLUSH);
    *next += *left - self->gzip.avail_in;
    *left = self->gzip.avail_in;
    *made = CHUNK - self->gzip.avail_out;
    self->between = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR) {
        return NO_MEMORY;
    }
    if (result == Z_BUF_ERROR && last) {
        return DAMAGED; /* it ends in the middle */
    }
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR ? MORE : DAMAGED;
}

static outcome step_xz(decoder *self, const unsigned char **next, size_t *left, bool last, unsigned char *out,
                       size_t *made)
{
    self->xz.next_in = *next;
    self->xz.avail_in = *left;
    self->xz.next_out = out;
    self->xz.avail_out = CHUNK;
    const lzma_ret result = lzma_code(&self->xz, last ? LZMA_FINISH : LZMA_RUN);
    *next = self->xz.next_in;
    *left = self->xz.avail_in;
    *made = CHUNK - self->xz.avail_out;
    switch (result) {
    case LZMA_OK:
        return MORE;
    case LZMA_STREAM_END:
        return END;
    case LZMA_MEMLIMIT_ERROR:
        return TOO_LARGE;
    case LZMA_MEM_ERROR:
        return NO_MEMORY;
    default:
        return result == LZMA_BUF_ERROR && !last ? MORE : DAMAGED;
    }
}

/* A file without a name, in the folder for temporary files; -1: errno tells. */
static int open_unnamed(void)
{
    const char *given = getenv("TMPDIR");
    const char *folder = given != NULL && given[0] != '\0' ? given : "/tmp";
    const int descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) {
        return descriptor;
    }
    char name[4096]; /* a file system without unnamed files */
    const int length = snprintf(name, sizeof name, "%s/nadir-XXXXXX", folder);
    if (length < 0 || (size_t)length >= sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int named = mkostemp(name, O_CLOEXEC);
    if (named >= 0) {
        (void)unlink(name);
    }
    return named;
}

static nadir_status fail(nadir_context *context, const char *path, const decoder *self, outcome result)
{
    const char *name = self->kind == NADIR_PACKING_GZIP ? "gzip" : "xz";
    if (result == NO_MEMORY) {
        return nadir_fail(context, NADIR_ERROR_MEMORY, "%s: out of memory while unpacking", path);
    }
    return result == TOO_LARGE
               ? nadir_fail(context, NADIR_ERROR_FORMAT,
                            "%s: unpacking asks for a dictionary of more than %d MiB; pack it with a smaller "
                            "one, xz -9 or less",
                            path, (int)(DICTIONARY_BYTES >> 20))
               : nadir_fail(context, NADIR_ERROR_FORMAT,
                            "%s: the %s data are damaged, or cut off; test it with '%s -t'", path, name,
                            name);
}

/* All bytes into the descriptor. */
static nadir_status put(nadir_context *context, const char *path, int descriptor, const unsigned char *bytes,
                        size_t count)
{
    while (count > 0) {
        const ssize_t written = write(descriptor, bytes, count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return nadir_fail(context, NADIR_ERROR_IO,
                              "%s: writing a temporary file failed: %s; TMPDIR names another folder", path,
                              strerror(written < 0 ? errno : ENOSPC));
        }
        bytes += written;
        count -= (size_t)written;
    }
    return NADIR_OK;
}

/* buffer: [2 CHUNK] */
static nadir_status unpack(nadir_context *context, nadir_input *input, decoder *self, int descriptor,
                           unsigned char *buffer, int64_t *bytes)
{
    const int64_t limit = (int64_t)(nadir_memory_limit(context->memory) / 2 < INT64_MAX / 4
                                        ? nadir_memory_limit(context->memory)
                                        : INT64_MAX / 2);
    unsigned char *const out = buffer + CHUNK;
    const unsigned char *next = buffer;
    size_t left = 0;
    size_t made;
    bool last = false;
    outcome result = MORE;
    *bytes = 0;
    while (result == MORE) {
        if (left == 0 && !last) {
            next = buffer;
            NADIR_TRY(nadir_input_read(context, input, buffer, CHUNK, &left));
            last = left < CHUNK;
        }
        result = self->kind == NADIR_PACKING_GZIP ? step_gzip(self, &next, &left, last, out, &made)
                                                  : step_xz(self, &next, &left, last, out, &made);
        *bytes += (int64_t)made;
        if (*bytes > limit) {
            return nadir_fail(context, NADIR_ERROR_FORMAT,
                              "%s: unpacks to more than %lld bytes, all the memory that may be used",
                              input->path, (long long)limit);
        }
        NADIR_TRY(put(context, input->path, descriptor, out, made));
        NADIR_TRY(nadir_progress(context, "unpacking", (double)input->position / (double)(input->bytes + 1)));
    }
    return result == END ? NADIR_OK : fail(context, input->path, self, result);
}

nadir_status nadir_unpack(nadir_context *context, nadir_input *input)
{
    nadir_status status = NADIR_OK;
    unsigned char head[MAGIC];
    unsigned char *buffer = NULL;
    int descriptor = -1;
    size_t length;
    int64_t bytes;
    NADIR_TRY(nadir_input_read_at(context, input, 0, head, sizeof head, &length));
    decoder self = {.kind = packing_of(head, length)};
    if (self.kind == NADIR_PACKING_NONE) {
        return NADIR_OK;
    }
    if (!start(&self)) {
        status = fail(context, input->path, &self, NO_MEMORY);
        goto cleanup;
    }
    NADIR_NEW(context, buffer, 2 * CHUNK);
    descriptor = open_unnamed();
    if (descriptor < 0) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_IO,
                               "%s: cannot make a temporary file to unpack into: %s; TMPDIR names another "
                               "folder",
                               input->path, strerror(errno)));
    }
    NADIR_CHECK(unpack(context, input, &self, descriptor, buffer, &bytes));
    const nadir_input unpacked = {input->path, descriptor, bytes, 0};
    descriptor = -1;
    nadir_input_close(input);
    *input = unpacked;
    status = nadir_input_seek(context, input, 0);
cleanup:
    stop(&self);
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    nadir_release(context, buffer);
    return status;
}

/* ---- Packing ----------------------------------------------------------------------------------------- */

nadir_packing nadir_packing_of_name(const char *path)
{
    const size_t length = strlen(path);
    const char *ending = length > 3 ? path + length - 3 : "";
    return strcasecmp(ending, ".gz") == 0   ? NADIR_PACKING_GZIP
           : strcasecmp(ending, ".xz") == 0 ? NADIR_PACKING_XZ
                                            : NADIR_PACKING_NONE;
}

/* Packs next[left], the last bytes or not, as far as out[CHUNK] has room; END: all is out. */
static outcome pack_gzip(decoder *self, const unsigned char **next, size_t *left, bool last,
                         unsigned char *out, size_t *made)
{
    self->gzip.next_in = (unsigned char *)(uintptr_t)*next; /* zlib does not write there */
    self->gzip.avail_in = (unsigned)*left;
    self->gzip.next_out = out;
    self->gzip.avail_out = CHUNK;
    const int result = deflate(&self->gzip, last ? Z_FINISH : Z_NO_FLUSH);
    *next += *left - self->gzip.avail_in;
    *left = self->gzip.avail_in;
    *made = CHUNK - self->gzip.avail_out;
    return result == Z_STREAM_END ? END : MORE;
}

nadir_status nadir_pack(nadir_context *context, nadir_packing packing, const char *path, int from, int into)
{
    nadir_status status = NADIR_OK;
    nadir_input input = {path, from, 0, 0}; /* a size of 0 is never fallen short of */
    decoder self = {.kind = packing, .xz = LZMA_STREAM_INIT};
    unsigned char *buffer = NULL;
    const unsigned char *next = NULL;
    size_t left = 0;
    size_t made;
    bool last = false;
    outcome result = MORE;
    const bool started = packing == NADIR_PACKING_GZIP
                             ? deflateInit2(&self.gzip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK
                             : lzma_easy_encoder(&self.xz, 6, LZMA_CHECK_CRC64) == LZMA_OK;
    if (!started) {
        status = nadir_fail(context, NADIR_ERROR_MEMORY, "%s: out of memory while packing", path);
        goto cleanup;
    }
    NADIR_NEW(context, buffer, 2 * CHUNK);
    while (result == MORE) {
        if (left == 0 && !last) {
            next = buffer;
            NADIR_CHECK(nadir_input_read(context, &input, buffer, CHUNK, &left));
            last = left < CHUNK;
        }
        result = packing == NADIR_PACKING_GZIP ? pack_gzip(&self, &next, &left, last, buffer + CHUNK, &made)
                                               : step_xz(&self, &next, &left, last, buffer + CHUNK, &made);
        NADIR_CHECK(put(context, path, into, buffer + CHUNK, made));
        NADIR_CHECK(nadir_progress(context, "packing", -1));
    }
    if (result != END) {
        status = nadir_fail(context, NADIR_ERROR_MEMORY, "%s: out of memory while packing", path);
    }
cleanup:
    if (packing == NADIR_PACKING_GZIP) {
        (void)deflateEnd(&self.gzip);
    } else {
        lzma_end(&self.xz);
    }
    nadir_release(context, buffer);
    return status;
}

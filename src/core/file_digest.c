/* file_digest.c: digests of files, and files that store the digest of their other bytes; see file_digest.h. */
#include "core/file.h"

#include "core/context.h"
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { DIGITS = 2 * NADIR_SHA256_BYTES, SIDE = 32, BUFFER = 1 << 16 };

/* Results of one pass over a file. */
typedef struct scan {
    int64_t digits;                 /* where they begin; -1: the file is too short to have any */
    char end[SIDE + DIGITS + SIDE]; /* the last bytes, from `end_start` on */
    int64_t end_start;
    nadir_sha256 whole, rest; /* all bytes, and all but the digits */
    char whole_text[DIGITS + 1], rest_text[DIGITS + 1];
} scan;

static void finish(nadir_sha256 *hash, char text[DIGITS + 1])
{
    unsigned char bytes[NADIR_SHA256_BYTES];
    nadir_sha256_finish(hash, bytes);
    nadir_sha256_hex(bytes, text);
}

nadir_status nadir_file_digest(nadir_context *context, const char *path, char digest[65])
{
    nadir_status status = NADIR_OK;
    nadir_input input = NADIR_INPUT_CLOSED;
    char *buffer = NULL;
    NADIR_CHECK(nadir_input_open(context, path, &input));
    NADIR_NEW(context, buffer, BUFFER);
    nadir_sha256 hash;
    nadir_sha256_start(&hash);
    size_t got;
    int64_t done = 0;
    do {
        NADIR_CHECK(nadir_input_read(context, &input, buffer, BUFFER, &got));
        nadir_sha256_update(&hash, buffer, got);
        done += (int64_t)got;
        NADIR_CHECK(nadir_progress(context, "hashing", (double)done / (double)(input.bytes + 1)));
    } while (got == BUFFER);
    finish(&hash, digest);
cleanup:
    nadir_release(context, buffer);
    nadir_input_close(&input);
    return status;
}

/* Hashes those of bytes[count], which stand at `start` of the file, that are not among the digits. */
static void hash_rest(scan *self, int64_t start, const char *bytes, int64_t count)
{
    const int64_t end = start + count;
    const int64_t before = self->digits < start ? start : self->digits > end ? end : self->digits;
    const int64_t over = self->digits + DIGITS;
    const int64_t after = over < start ? start : over > end ? end : over;
    nadir_sha256_update(&self->rest, bytes, (size_t)(before - start));
    nadir_sha256_update(&self->rest, bytes + (after - start), (size_t)(end - after));
}

/* Keeps those of bytes[count], which stand at `start` of the file, that belong to its end. */
static void keep_end(scan *self, int64_t start, const char *bytes, int64_t count)
{
    const int64_t first = start > self->end_start ? start : self->end_start;
    if (start + count > first) {
        memcpy(self->end + (first - self->end_start), bytes + (first - start),
               (size_t)(start + count - first));
    }
}

static nadir_status scan_file(nadir_context *context, const char *path, const nadir_file_digest_form *form,
                              scan *self)
{
    nadir_status status = NADIR_OK;
    nadir_input input = NADIR_INPUT_CLOSED;
    char *buffer = NULL;
    const int64_t before = (int64_t)strlen(form->before);
    const int64_t after = (int64_t)strlen(form->after);
    NADIR_CHECK(nadir_input_open(context, path, &input));
    NADIR_NEW(context, buffer, BUFFER);
    const bool fits = input.bytes >= before + DIGITS + after;
    self->digits = fits ? input.bytes - after - DIGITS : -1;
    self->end_start = fits ? self->digits - before : input.bytes;
    nadir_sha256_start(&self->whole);
    nadir_sha256_start(&self->rest);
    for (int64_t done = 0; done < input.bytes;) {
        const int64_t left = input.bytes - done;
        const int64_t part = left < BUFFER ? left : BUFFER;
        NADIR_CHECK(nadir_input_read_all(context, &input, buffer, (size_t)part, "its bytes"));
        nadir_sha256_update(&self->whole, buffer, (size_t)part);
        if (fits) {
            hash_rest(self, done, buffer, part);
            keep_end(self, done, buffer, part);
        }
        done += part;
        NADIR_CHECK(nadir_progress(context, "hashing", (double)done / (double)input.bytes));
    }
    finish(&self->whole, self->whole_text);
    finish(&self->rest, self->rest_text);
cleanup:
    nadir_input_close(&input);
    nadir_release(context, buffer);
    return status;
}

/* Whether the file ends in the form of a stored digest. */
static bool has_form(const nadir_file_digest_form *form, const scan *self)
{
    const size_t before = strlen(form->before);
    return self->digits >= 0 && memcmp(self->end, form->before, before) == 0 &&
           memcmp(self->end + before + DIGITS, form->after, strlen(form->after)) == 0;
}

nadir_status nadir_file_digest_store(nadir_context *context, const char *path,
                                     const nadir_file_digest_form *form)
{
    nadir_status status = NADIR_OK;
    scan found;
    NADIR_CHECK(scan_file(context, path, form, &found));
    if (!has_form(form, &found)) {
        return nadir_fail(context, NADIR_ERROR_IO, "%s: there is no place for its digest", path);
    }
    const int descriptor = nadir_file_open(path, O_WRONLY | O_CLOEXEC);
    int error = descriptor < 0 ? errno : nadir_file_write(descriptor, found.digits, found.rest_text, DIGITS);
    if (descriptor >= 0) {
        const int closed = nadir_file_close(descriptor);
        error = error != 0 ? error : closed;
    }
    if (error != 0) {
        status = nadir_fail(context, NADIR_ERROR_IO, "%s: writing failed: %s", path, strerror(error));
    }
cleanup:
    return status;
}

nadir_status nadir_file_digest_check(nadir_context *context, const char *path,
                                     const nadir_file_digest_form *form, nadir_stored_digest *stored)
{
    nadir_status status = NADIR_OK;
    scan found;
    NADIR_CHECK(scan_file(context, path, form, &found));
    stored->found = has_form(form, &found);
    stored->holds = stored->found && memcmp(found.end + strlen(form->before), found.rest_text, DIGITS) == 0;
    memcpy(stored->file_digest, found.whole_text, sizeof stored->file_digest);
cleanup:
    return status;
}

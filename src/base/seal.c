/* seal.c: files that hold the SHA-256 of all their other bytes; see seal.h. */
#include "base/seal.h"

#include "base/context.h"
#include "base/file.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { DIGITS = 2 * NADIR_SHA256_BYTES, SIDE = 32, BUFFER = 1 << 16 };

/* What one pass over a file tells. */
typedef struct reading {
    int64_t digits;                 /* where they begin; -1: the file is too short to have any */
    char end[SIDE + DIGITS + SIDE]; /* the last bytes, from `end_start` on */
    int64_t end_start;
    nadir_sha256 whole, rest; /* all bytes, and all but the digits */
    char whole_text[DIGITS + 1], rest_text[DIGITS + 1];
} reading;

static void finish(nadir_sha256 *hash, char text[DIGITS + 1])
{
    unsigned char bytes[NADIR_SHA256_BYTES];
    nadir_sha256_finish(hash, bytes);
    nadir_sha256_hex(bytes, text);
}

/* The bytes from `at` on that are not among the digits. */
static void add_rest(reading *of, int64_t at, const char *bytes, int64_t count)
{
    const int64_t end = at + count;
    const int64_t before = of->digits < at ? at : of->digits > end ? end : of->digits;
    const int64_t over = of->digits + DIGITS;
    const int64_t after = over < at ? at : over > end ? end : over;
    nadir_sha256_update(&of->rest, bytes, (size_t)(before - at));
    nadir_sha256_update(&of->rest, bytes + (after - at), (size_t)(end - after));
}

/* Keeps what belongs to the end of the file. */
static void add_end(reading *of, int64_t at, const char *bytes, int64_t count)
{
    const int64_t first = at > of->end_start ? at : of->end_start;
    if (at + count > first) {
        memcpy(of->end + (first - of->end_start), bytes + (first - at), (size_t)(at + count - first));
    }
}

static nadir_status read_file(nadir_context *context, const char *path, const nadir_seal_form *form,
                              reading *of)
{
    nadir_status status = NADIR_OK;
    nadir_input input = NADIR_INPUT_CLOSED;
    char *buffer = NULL;
    const int64_t before = (int64_t)strlen(form->before);
    const int64_t after = (int64_t)strlen(form->after);
    NADIR_NEW(context, buffer, BUFFER);
    NADIR_CHECK(nadir_input_open(context, path, &input));
    const bool fits = input.bytes >= before + DIGITS + after;
    of->digits = fits ? input.bytes - after - DIGITS : -1;
    of->end_start = fits ? of->digits - before : input.bytes;
    nadir_sha256_start(&of->whole);
    nadir_sha256_start(&of->rest);
    for (int64_t at = 0; at < input.bytes;) {
        const int64_t left = input.bytes - at;
        const int64_t part = left < BUFFER ? left : BUFFER;
        NADIR_CHECK(nadir_input_read_all(context, &input, buffer, (size_t)part, "its bytes"));
        nadir_sha256_update(&of->whole, buffer, (size_t)part);
        if (fits) {
            add_rest(of, at, buffer, part);
            add_end(of, at, buffer, part);
        }
        at += part;
        NADIR_CHECK(nadir_progress(context, "hashing", (double)at / (double)input.bytes));
    }
    finish(&of->whole, of->whole_text);
    finish(&of->rest, of->rest_text);
cleanup:
    nadir_input_close(&input);
    nadir_release(context, buffer);
    return status;
}

/* Whether something that looks like a seal ends the file. */
static bool has_seal(const nadir_seal_form *form, const reading *of)
{
    const size_t before = strlen(form->before);
    return of->digits >= 0 && memcmp(of->end, form->before, before) == 0 &&
           memcmp(of->end + before + DIGITS, form->after, strlen(form->after)) == 0;
}

nadir_status nadir_seal_close(nadir_context *context, const char *path, const nadir_seal_form *form)
{
    nadir_status status = NADIR_OK;
    reading of;
    NADIR_CHECK(read_file(context, path, form, &of));
    if (!has_seal(form, &of)) {
        return nadir_fail(context, NADIR_ERROR_IO, "%s: there is no place for its digest", path);
    }
    const int descriptor = nadir_file_open(path, O_WRONLY | O_CLOEXEC);
    int error = descriptor < 0 ? errno : nadir_file_write(descriptor, of.digits, of.rest_text, DIGITS);
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

nadir_status nadir_seal_check(nadir_context *context, const char *path, const nadir_seal_form *form,
                              nadir_seal *seal)
{
    nadir_status status = NADIR_OK;
    reading of;
    NADIR_CHECK(read_file(context, path, form, &of));
    seal->found = has_seal(form, &of);
    seal->holds = seal->found && memcmp(of.end + strlen(form->before), of.rest_text, DIGITS) == 0;
    memcpy(seal->digest, of.whole_text, sizeof seal->digest);
cleanup:
    return status;
}

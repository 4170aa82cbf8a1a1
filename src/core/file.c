/* file.c: reading without trust, writing whole or not at all; see file.h. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "core/file.h"

#include "core/context.h"
#include "core/number.h"
#include "core/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)1 << 16)

/* open(2), again where a signal cut it short. */
static int open_file(const char *path, int flags)
{
    int descriptor;
    do {
        descriptor = open(path, flags, 0666);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

/* All bytes, at `index` or, index < 0, at the current position. Returns errno, 0: done. */
static int write_all(int descriptor, int64_t index, const void *data, size_t size)
{
    const char *from = data;
    while (size > 0) {
        const ssize_t count =
            index < 0 ? write(descriptor, from, size) : pwrite(descriptor, from, size, (off_t)index);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return count < 0 ? errno : ENOSPC;
        }
        from += count;
        size -= (size_t)count;
        index += index < 0 ? 0 : (int64_t)count;
    }
    return 0;
}

/* close(2); returns errno. Linux has closed the descriptor when a signal cuts the call short: it may belong to
 * another thread by now, and is not closed again. */
static int close_file(int descriptor)
{
    return close(descriptor) != 0 && errno != EINTR ? errno : 0;
}

nadir_status nadir_input_open_packed(nadir_context *context, const char *path, nadir_input *input)
{
    *input = (nadir_input)NADIR_INPUT_CLOSED;
    /* O_NONBLOCK: a pipe must not make us wait for its writer. */
    const int descriptor = open_file(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return nadir_fail(context, NADIR_ERROR_FILE, "%s: cannot open the file: %s", path, strerror(errno));
    }
    struct stat facts = {0};
    if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        const bool folder = S_ISDIR(facts.st_mode);
        close(descriptor);
        return nadir_fail(context, NADIR_ERROR_FILE, "%s: expected a regular file, this is %s", path,
                          folder ? "a directory" : "something else (pipe, socket or device)");
    }
    input->path = path;
    input->descriptor = descriptor;
    input->bytes = (int64_t)facts.st_size;
    return NADIR_OK;
}

nadir_status nadir_input_open(nadir_context *context, const char *path, nadir_input *input)
{
    nadir_status status = nadir_input_open_packed(context, path, input);
    if (status == NADIR_OK) {
        status = nadir_unpack(context, input);
    }
    if (status != NADIR_OK) {
        nadir_input_close(input);
    }
    return status;
}

nadir_status nadir_input_standard(nadir_context *context, nadir_input *input)
{
    *input = (nadir_input)NADIR_INPUT_CLOSED;
    const int descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0); /* closing it leaves the caller's open */
    if (descriptor < 0) {
        return nadir_fail(context, NADIR_ERROR_FILE, "cannot read standard input: %s", strerror(errno));
    }
    input->path = "standard input";
    input->descriptor = descriptor;
    return NADIR_OK;
}

void nadir_input_close(nadir_input *input)
{
    if (input->descriptor >= 0) {
        close(input->descriptor);
    }
    *input = (nadir_input)NADIR_INPUT_CLOSED;
}

/* A pipe tells no size, and has none to fall short of. */
static nadir_status check_end(nadir_context *context, const nadir_input *input, int64_t end)
{
    return end >= input->bytes
               ? NADIR_OK
               : nadir_fail(context, NADIR_ERROR_IO,
                            "%s: reading failed: the file ends after %lld bytes, and had %lld when it was "
                            "opened; it must not change meanwhile",
                            input->path, (long long)end, (long long)input->bytes);
}

/* index < 0: from the current position. */
nadir_status nadir_input_read_at(nadir_context *context, nadir_input *input, int64_t index, void *buffer,
                                 size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        char *into = (char *)buffer + *got;
        const size_t left = size - *got;
        const ssize_t count = index < 0
                                  ? read(input->descriptor, into, left)
                                  : pread(input->descriptor, into, left, (off_t)(index + (int64_t)*got));
        if (count < 0 && errno == EINTR) { /* the signal may be a wish to stop */
            const nadir_status status = nadir_progress(context, "reading", -1);
            if (status != NADIR_OK) {
                return status;
            }
            continue;
        }
        if (count < 0) {
            return nadir_fail(context, NADIR_ERROR_IO, "%s: reading failed: %s", input->path,
                              strerror(errno));
        }
        if (count == 0) {
            return check_end(context, input, (index < 0 ? input->position : index) + (int64_t)*got);
        }
        *got += (size_t)count;
    }
    return NADIR_OK;
}

nadir_status nadir_input_read(nadir_context *context, nadir_input *input, void *buffer, size_t size,
                              size_t *got)
{
    const nadir_status status = nadir_input_read_at(context, input, -1, buffer, size, got);
    input->position += (int64_t)*got;
    return status;
}

nadir_status nadir_input_seek(nadir_context *context, nadir_input *input, int64_t offset)
{
    if (lseek(input->descriptor, (off_t)offset, SEEK_SET) < 0) {
        return nadir_fail(context, NADIR_ERROR_IO, "%s: reading failed: %s", input->path, strerror(errno));
    }
    input->position = offset;
    return NADIR_OK;
}

nadir_status nadir_input_read_all(nadir_context *context, nadir_input *input, void *buffer, size_t size,
                                  const char *what)
{
    size_t got;
    const nadir_status status = nadir_input_read(context, input, buffer, size, &got);
    if (status == NADIR_OK && got < size) {
        return nadir_fail(context, NADIR_ERROR_FORMAT, "%s: the file ends in the middle of %s", input->path,
                          what);
    }
    return status;
}

/* Creates the temporary file as any new file is created, so that the user's permission mask holds. */
static int create_temporary(char *temporary, size_t capacity, const char *path)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        (void)snprintf(temporary, capacity, "%s.%ld-%d.tmp", path, (long)getpid(), attempt);
        const int descriptor = open_file(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
        if (descriptor >= 0 || errno != EEXIST) {
            return descriptor;
        }
    }
    return -1;
}

nadir_status nadir_output_open(nadir_context *context, const char *path, nadir_output *output)
{
    nadir_status status = NADIR_OK;
    char *temporary = NULL;
    const size_t length = strlen(path);
    const size_t capacity = length + 64;
    *output = (nadir_output)NADIR_OUTPUT_CLOSED;
    NADIR_NEW(context, output->buffer, BUFFER_BYTES);
    NADIR_NEW(context, output->path, length + 1);
    memcpy(output->path, path, length + 1);
    NADIR_NEW(context, temporary, capacity);
    struct stat facts;
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_IO, "%s: cannot write the file: %s stands there", path,
                               S_ISDIR(facts.st_mode) ? "a directory" : "something that is no regular file"));
    }
    output->descriptor = create_temporary(temporary, capacity, path);
    if (output->descriptor < 0) {
        NADIR_CHECK(
            nadir_fail(context, NADIR_ERROR_IO, "%s: cannot write the file: %s", path, strerror(errno)));
    }
    output->temporary = temporary;
    output->packing = nadir_packing_of_name(path);
    return NADIR_OK;
cleanup:
    nadir_release(context, temporary);
    nadir_output_close(context, output);
    return status;
}

static void write_through(nadir_output *output, int64_t index, const void *data, size_t size)
{
    const int error = output->failed ? 0 : write_all(output->descriptor, index, data, size);
    if (error != 0) {
        output->failed = true;
        output->error = error;
    }
}

void nadir_output_flush(nadir_output *output)
{
    write_through(output, -1, output->buffer, output->used);
    output->used = 0;
}

void nadir_output_write(nadir_output *output, const void *data, size_t size)
{
    output->written += (int64_t)size;
    if (size > BUFFER_BYTES - output->used) {
        nadir_output_flush(output);
    }
    if (size > BUFFER_BYTES) {
        write_through(output, -1, data, size);
    } else {
        memcpy(output->buffer + output->used, data, size);
        output->used += size;
    }
}

void nadir_output_write_at(nadir_output *output, int64_t index, const void *data, size_t size)
{
    const int64_t left = output->written - index;
    const size_t over = left < (int64_t)size ? (size_t)left : size;
    if (over > 0) {
        nadir_output_flush(output);
        write_through(output, index, data, over);
    }
    nadir_output_write(output, (const char *)data + over, size - over);
}

void nadir_output_text(nadir_output *output, const char *text)
{
    nadir_output_write(output, text, strlen(text));
}

void nadir_output_format(nadir_output *output, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text) {
        output->failed = true;
        output->error = EOVERFLOW;
        return;
    }
    nadir_output_write(output, text, (size_t)length);
}

void nadir_output_integer(nadir_output *output, int64_t value)
{
    char digits[20];
    size_t index = sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--index] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (value < 0) {
        digits[--index] = '-';
    }
    nadir_output_write(output, digits + index, sizeof digits - index);
}

void nadir_output_double(nadir_output *output, double value)
{
    char text[NADIR_NUMBER_LENGTH];
    const int length = nadir_format_double(value, text);
    nadir_output_write(output, text, (size_t)length);
}

/* The new name is on the disk only when its folder is. Some file systems refuse to sync a folder; the file
 * itself is safe then, so that is no failure. */
static void sync_folder(char *path)
{
    char *slash = strrchr(path, '/');
    int descriptor;
    if (slash == NULL) {
        descriptor = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } else {
        const char kept = slash[1];
        slash[1] = '\0';
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        slash[1] = kept;
    }
    if (descriptor >= 0) {
        (void)fsync(descriptor);
        close(descriptor);
    }
}

/* To the disk, and closed: some file systems tell only then that something was lost. Returns errno. */
static int sync_and_close(nadir_output *output)
{
    int result;
    do {
        result = fsync(output->descriptor);
    } while (result != 0 && errno == EINTR);
    const int synced = result != 0 ? errno : 0;
    const int closed = close_file(output->descriptor);
    output->descriptor = -1;
    return synced != 0 ? synced : closed;
}

/* Replaces the temporary file by a packed one. */
static nadir_status pack_output(nadir_context *context, nadir_output *output)
{
    nadir_status status = NADIR_OK;
    const size_t capacity = strlen(output->path) + 64;
    char *packed = NULL;
    int into = -1;
    const int from = open_file(output->temporary, O_RDONLY | O_CLOEXEC);
    NADIR_NEW(context, packed, capacity);
    into = from >= 0 ? create_temporary(packed, capacity, output->path) : -1;
    if (into < 0) {
        NADIR_CHECK(
            nadir_fail(context, NADIR_ERROR_IO, "%s: writing failed: %s", output->path, strerror(errno)));
    }
    status = nadir_pack(context, output->packing, output->path, from, into);
    if (status != NADIR_OK) {
        (void)unlink(packed);
        goto cleanup;
    }
    (void)unlink(output->temporary);
    (void)close_file(output->descriptor);
    nadir_release(context, output->temporary);
    output->temporary = packed;
    output->descriptor = into;
    packed = NULL;
    into = -1;
cleanup:
    if (from >= 0) {
        (void)close_file(from);
    }
    if (into >= 0) {
        (void)close_file(into);
    }
    nadir_release(context, packed);
    return status;
}

nadir_status nadir_output_commit(nadir_context *context, nadir_output *output)
{
    nadir_output_flush(output);
    if (!output->failed && output->packing != NADIR_PACKING_NONE) {
        NADIR_TRY(pack_output(context, output));
    }
    int error = output->failed ? output->error : sync_and_close(output);
    if (error == 0 && rename(output->temporary, output->path) != 0) {
        error = errno;
    }
    if (error != 0) {
        return nadir_fail(context, NADIR_ERROR_IO, "%s: writing failed: %s", output->path, strerror(error));
    }
    sync_folder(output->path);
    nadir_release(context, output->temporary);
    output->temporary = NULL;
    return NADIR_OK;
}

void nadir_output_close(nadir_context *context, nadir_output *output)
{
    if (output->descriptor >= 0) {
        close(output->descriptor);
    }
    if (output->temporary != NULL) {
        (void)unlink(output->temporary);
    }
    NADIR_RELEASE(context, output->temporary, output->path, output->buffer);
    *output = (nadir_output)NADIR_OUTPUT_CLOSED;
}

/*
 * SHA-256 by libcrypto.
 *
 * libcrypto calls the functions used here deprecated in favour of EVP_Digest*. Those set up the whole library
 * on first use: 6 million instructions, a third of `nadir evaluate` on six states, some thousand allocations
 * outside the context's memory, and /etc/ssl/openssl.cnf. These neither allocate nor fail, and run the same
 * code with the SHA instructions of the processor.
 */

_Static_assert(NADIR_SHA256_BYTES == SHA256_DIGEST_LENGTH, "a digest has 32 bytes");

void nadir_sha256_start(nadir_sha256 *sha)
{
    (void)SHA256_Init(sha);
}

void nadir_sha256_update(nadir_sha256 *sha, const void *data, size_t size)
{
    (void)SHA256_Update(sha, data, size);
}

void nadir_sha256_finish(nadir_sha256 *sha, unsigned char digest[NADIR_SHA256_BYTES])
{
    (void)SHA256_Final(digest, sha);
}

void nadir_sha256_hex(const unsigned char digest[NADIR_SHA256_BYTES], char text[2 * NADIR_SHA256_BYTES + 1])
{
    static const char figures[] = "0123456789abcdef";
    for (int k = 0; k < NADIR_SHA256_BYTES; ++k) {
        text[2 * k] = figures[digest[k] >> 4];
        text[2 * k + 1] = figures[digest[k] & 15];
    }
    text[2 * NADIR_SHA256_BYTES] = '\0';
}

/* Digests of files. */

enum { DIGITS = 2 * NADIR_SHA256_BYTES, SIDE = 32, BUFFER = 1 << 16 };

/* Results of one pass over a file. */
typedef struct scan {
    int64_t digits;                 /* where they begin */
    char end[SIDE + DIGITS + SIDE]; /* the last bytes: before, digits, after */
    bool has_form;                  /* the file ends in the form of a stored digest */
    char whole_text[DIGITS + 1];    /* digest of all bytes, */
    char rest_text[DIGITS + 1];     /* and of all but the digits */
} scan;

static void finish(nadir_sha256 *hash, char text[DIGITS + 1])
{
    unsigned char bytes[NADIR_SHA256_BYTES];
    nadir_sha256_finish(hash, bytes);
    nadir_sha256_hex(bytes, text);
}

/* Hashes the next bytes of a file up to place `end`. buffer: [BUFFER] */
static nadir_status hash_until(nadir_context *context, nadir_input *input, int64_t end, char *buffer,
                               nadir_sha256 *hash)
{
    size_t got = 1;
    while (input->position < end && got > 0) {
        const int64_t left = end - input->position;
        NADIR_TRY(nadir_input_read(context, input, buffer, left < BUFFER ? (size_t)left : BUFFER, &got));
        nadir_sha256_update(hash, buffer, got);
        NADIR_TRY(nadir_progress(context, "hashing", (double)input->position / (double)(input->bytes + 1)));
    }
    return NADIR_OK;
}

static nadir_status scan_file(nadir_context *context, const char *path, const nadir_file_digest_form *form,
                              scan *self)
{
    nadir_status status = NADIR_OK;
    nadir_input input = NADIR_INPUT_CLOSED;
    char *buffer = NULL;
    nadir_sha256 whole;
    const int64_t before = (int64_t)strlen(form->before);
    const int64_t after = (int64_t)strlen(form->after);
    size_t got = 0;
    nadir_sha256_start(&whole);
    NADIR_CHECK(nadir_input_open_packed(context, path, &input));
    NADIR_NEW(context, buffer, BUFFER);
    self->digits = input.bytes - after - DIGITS;
    if (self->digits >= before) {
        NADIR_CHECK(nadir_input_read_at(context, &input, self->digits - before, self->end,
                                        (size_t)(before + DIGITS + after), &got));
    }
    self->has_form = got > 0 && memcmp(self->end, form->before, (size_t)before) == 0 &&
                     memcmp(self->end + before + DIGITS, form->after, (size_t)after) == 0;
    NADIR_CHECK(hash_until(context, &input, self->digits, buffer, &whole));
    nadir_sha256 rest = whole;
    NADIR_CHECK(hash_until(context, &input, input.bytes, buffer, &whole));
    nadir_sha256_update(&rest, form->after, (size_t)after);
    finish(&whole, self->whole_text);
    finish(&rest, self->rest_text);
cleanup:
    nadir_input_close(&input);
    nadir_release(context, buffer);
    return status;
}

nadir_status nadir_file_digest(nadir_context *context, const char *path, char digest[65])
{
    static const nadir_file_digest_form none = {.before = "", .after = ""};
    scan found;
    const nadir_status status = scan_file(context, path, &none, &found);
    if (status == NADIR_OK) {
        memcpy(digest, found.whole_text, sizeof found.whole_text);
    }
    return status;
}

nadir_status nadir_file_digest_store(nadir_context *context, const char *path,
                                     const nadir_file_digest_form *form)
{
    nadir_status status = NADIR_OK;
    scan found;
    NADIR_CHECK(scan_file(context, path, form, &found));
    if (!found.has_form) {
        return nadir_fail(context, NADIR_ERROR_IO, "%s: there is no place for its digest", path);
    }
    const int descriptor = open_file(path, O_WRONLY | O_CLOEXEC);
    int error = descriptor < 0 ? errno : write_all(descriptor, found.digits, found.rest_text, DIGITS);
    if (descriptor >= 0) {
        const int closed = close_file(descriptor);
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
    scan found;
    NADIR_TRY(scan_file(context, path, form, &found));
    stored->found = found.has_form;
    stored->holds = stored->found && memcmp(found.end + strlen(form->before), found.rest_text, DIGITS) == 0;
    memcpy(stored->file_digest, found.whole_text, sizeof stored->file_digest);
    return NADIR_OK;
}

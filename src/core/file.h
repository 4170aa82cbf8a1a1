/*
 * file.h: files that are read without trust and written whole or not at all.
 *
 * Reading never maps a file into memory: a file that shrinks meanwhile is then an error, not a signal.
 * Writing goes to a temporary name in the same folder; only a commit, after everything is on the disk,
 * gives it the final name.
 */
#ifndef NADIR_CORE_FILE_H
#define NADIR_CORE_FILE_H

#include "nadir.h"

#include <openssl/sha.h>
#include <stddef.h>
#include <stdio.h>

/* An open regular file. */
typedef struct nadir_input {
    const char *path; /* as given; the caller keeps it alive */
    int descriptor;   /* -1: closed */
    int64_t bytes;    /* size when it was opened; a file that is now shorter is NADIR_ERROR_IO to read */
    int64_t position; /* of what is read next */
} nadir_input;

#define NADIR_INPUT_CLOSED                                                                                   \
    {                                                                                                        \
        NULL, -1, 0, 0                                                                                       \
    }

/* NADIR_ERROR_FILE when there is no such file, no permission, or it is a directory, pipe or device. A file packed by
 * gzip or xz is unpacked first (packed.h): what is read, and `bytes`, is its content. */
nadir_status nadir_input_open(nadir_context *context, const char *path, nadir_input *input);
/* The same without unpacking: the bytes as they are on the disk. */
nadir_status nadir_input_open_packed(nadir_context *context, const char *path, nadir_input *input);
/* Standard input, which may also be a pipe; `bytes` is 0 and the path is "standard input". */
nadir_status nadir_input_standard(nadir_context *context, nadir_input *input);
void nadir_input_close(nadir_input *input);

/* Up to `size` bytes from the current position; *got less than `size` only at the end of the file. */
nadir_status nadir_input_read(nadir_context *context, nadir_input *input, void *buffer, size_t size,
                              size_t *got);

/* The same from any place of a regular file; the current position stays where it is. */
nadir_status nadir_input_read_at(nadir_context *context, nadir_input *input, int64_t index, void *buffer,
                                 size_t size, size_t *got);

/* The next bytes are those at `offset`. */
nadir_status nadir_input_seek(nadir_context *context, nadir_input *input, int64_t offset);

/* Exactly `size` bytes; NADIR_ERROR_FORMAT "ends in the middle of `what`" when the file is shorter. */
nadir_status nadir_input_read_all(nadir_context *context, nadir_input *input, void *buffer, size_t size,
                                  const char *what);

typedef enum nadir_packing { NADIR_PACKING_NONE, NADIR_PACKING_GZIP, NADIR_PACKING_XZ } nadir_packing;

/* A file being written. */
typedef struct nadir_output {
    char *path;      /* the final name */
    char *temporary; /* the name meanwhile; NULL: not open */
    int descriptor;  /* of the temporary file; -1: closed */
    char *buffer;
    size_t used;
    int64_t written;       /* bytes so far */
    bool failed;           /* an earlier write failed; commit will say so */
    int error;             /* errno of it */
    nadir_packing packing; /* what a commit does first; chosen by the ending of the final name */
} nadir_output;

#define NADIR_OUTPUT_CLOSED                                                                                  \
    {                                                                                                        \
        NULL, NULL, -1, NULL, 0, 0, false, 0, NADIR_PACKING_NONE                                             \
    }

/* A name that ends in .gz or .xz: the file is packed when it is committed. */
nadir_status nadir_output_open(nadir_context *context, const char *path, nadir_output *output);

/* Errors are kept until the commit, so that writers need not check every line. */
void nadir_output_write(nadir_output *output, const void *data, size_t size);
void nadir_output_text(nadir_output *output, const char *text);
void nadir_output_format(nadir_output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nadir_output_integer(nadir_output *output, int64_t value);
/* As nadir_format_double. */
void nadir_output_double(nadir_output *output, double value);

/* Overwrites what was written, or goes on at its end; at <= written. */
void nadir_output_write_at(nadir_output *output, int64_t index, const void *data, size_t size);

/* What was written so far is in the temporary file, for those who look at it by its name. */
void nadir_output_flush(nadir_output *output);

/* Everything to the disk, then the final name; on any failure there is no file and NADIR_ERROR_IO. */
nadir_status nadir_output_commit(nadir_context *context, nadir_output *output);
/* Removes the temporary file unless it was committed; frees the rest. Always call it. */
void nadir_output_close(nadir_context *context, nadir_output *output);

/*
 * The SHA-256 digest (FIPS 180-4) of data that arrives in pieces, by libcrypto.
 *
 * It names files in results, so that a number can be traced to the very bytes it came from.
 */

#define NADIR_SHA256_BYTES 32

typedef SHA256_CTX nadir_sha256;

void nadir_sha256_start(nadir_sha256 *sha);

/* Appends data[size]. */
void nadir_sha256_update(nadir_sha256 *sha, const void *data, size_t size);

/* Ends the message and writes digest[32]; sha must be started again before it is used again. */
void nadir_sha256_finish(nadir_sha256 *sha, unsigned char digest[NADIR_SHA256_BYTES]);

/* Writes digest[32] as 64 lower-case hexadecimal digits and a terminating zero to text[65]. */
void nadir_sha256_hex(const unsigned char digest[NADIR_SHA256_BYTES], char text[2 * NADIR_SHA256_BYTES + 1]);

/*
 * Files that store the SHA-256 of all their other bytes, so that any changed byte shows.
 *
 * The 64 hexadecimal digits follow the bytes `before` and are followed by the bytes `after`, which end the
 * file. nadir_file_digest of nadir.h is the SHA-256 of all bytes.
 */

typedef struct nadir_file_digest_form {
    const char *before; /* at most 32 bytes */
    const char *after;  /* at most 32 bytes */
} nadir_file_digest_form;

/* Stands where the digits will be. */
#define NADIR_FILE_DIGEST_BLANK "0000000000000000000000000000000000000000000000000000000000000000"

/* Writes the digits over the blank ones of a file that is complete but for them. */
nadir_status nadir_file_digest_store(nadir_context *context, const char *path,
                                     const nadir_file_digest_form *form);

typedef struct nadir_stored_digest {
    bool found;           /* the file stores one */
    bool holds;           /* and it is that of the other bytes */
    char file_digest[65]; /* SHA-256 of the whole file */
} nadir_stored_digest;

nadir_status nadir_file_digest_check(nadir_context *context, const char *path,
                                     const nadir_file_digest_form *form, nadir_stored_digest *stored);

#endif

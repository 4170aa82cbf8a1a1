/*
 * file_digest.h: files that store the SHA-256 of all their other bytes, so that any changed byte shows.
 *
 * The 64 hexadecimal digits follow the bytes `before` and are followed by the bytes `after`, which end the
 * file. nadir_file_digest of nadir.h is the SHA-256 of all bytes.
 */
#ifndef NADIR_CORE_FILE_DIGEST_H
#define NADIR_CORE_FILE_DIGEST_H

#include "nadir.h"

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

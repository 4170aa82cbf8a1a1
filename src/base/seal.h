/*
 * seal.h: files that hold the SHA-256 of all their other bytes, so that any changed byte shows.
 *
 * The 64 hexadecimal digits follow the bytes `before` and are followed by the bytes `after`, which end the
 * file.
 */
#ifndef NADIR_BASE_SEAL_H
#define NADIR_BASE_SEAL_H

#include "nadir.h"

typedef struct nadir_seal_form {
    const char *before; /* at most 32 bytes */
    const char *after;  /* likewise */
} nadir_seal_form;

/* Stands where the digits will be. */
#define NADIR_SEAL_BLANK "0000000000000000000000000000000000000000000000000000000000000000"

/* Puts the digits in their place, in a file that is complete but for them. */
nadir_status nadir_seal_close(nadir_context *context, const char *path, const nadir_seal_form *form);

typedef struct nadir_seal {
    bool found;      /* there is one */
    bool holds;      /* and it is right */
    char digest[65]; /* SHA-256 of the whole file */
} nadir_seal;

nadir_status nadir_seal_check(nadir_context *context, const char *path, const nadir_seal_form *form,
                              nadir_seal *seal);

#endif

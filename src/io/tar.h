/*
 * tar.h: files in a tar archive (POSIX ustar), found and read in place, and written.
 *
 * Nothing is ever unpacked to the disk, so names in the archive are names and no paths: "../x" harms nobody.
 */
#ifndef NADIR_IO_TAR_H
#define NADIR_IO_TAR_H

#include "core/file.h"

enum {
    NADIR_TAR_BLOCK = 512,
    NADIR_TAR_NAME = 257,    /* of a name, its end included */
    NADIR_TAR_ENTRIES = 4096 /* more is an error */
};

typedef struct nadir_tar_entry {
    char name[NADIR_TAR_NAME]; /* without a leading "./" */
    int64_t start, bytes;      /* where it stands in the archive: both lie inside */
} nadir_tar_entry;

typedef struct nadir_tar {
    nadir_context *context;
    nadir_input input;
    nadir_tar_entry *entries; /* regular files alone, no name twice */
    int64_t count;
    size_t capacity;
} nadir_tar;

/* Whether a file that begins with these bytes is a tar archive. */
bool nadir_tar_recognises(const char *head, size_t length);

/* Opens an archive, which may be packed (core/packed.h), and lists its files. path is kept, not copied. A struct of
 * zeros is closed; nadir_tar_close is legal in any case. */
nadir_status nadir_tar_open(nadir_context *context, const char *path, nadir_tar *tar);
void nadir_tar_close(nadir_tar *tar);

/* NULL: there is no such file. */
const nadir_tar_entry *nadir_tar_find(const nadir_tar *tar, const char *name);

/* [size] bytes of a file, from `offset` on; they lie within it. */
nadir_status nadir_tar_read(nadir_tar *tar, const nadir_tar_entry *entry, int64_t offset, void *into,
                            size_t size);

/* Writes the header of a file of `bytes` bytes; they follow, and then nadir_tar_write_end. The name has at most 99 bytes. */
void nadir_tar_write_header(nadir_output *output, const char *name, int64_t bytes);
void nadir_tar_write_end(nadir_output *output, int64_t bytes);
/* What closes an archive. */
void nadir_tar_write_close(nadir_output *output);

#endif

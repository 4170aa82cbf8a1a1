/*
 * archive.h: NumPy archives from bytes of a fuzzer, which would never find the checksums by itself.
 *
 *     input  = entry ...
 *     entry  = array type dimensions size ... length items
 *     array  = a byte: which of the arrays that nadir knows, or one that it does not
 *     type   = a byte: the type of the items; from 128 on the items are the whole .npy file, header and all
 *     length = two bytes, the lower one first: how many bytes the items take
 *
 * Sizes are a byte each. The archive is stored, not compressed, and whole whatever the entries are.
 */
#ifndef NADIR_FUZZ_ARCHIVE_H
#define NADIR_FUZZ_ARCHIVE_H

#include "fuzz.h"

/* The archive as a file, for one ending; see fuzz_file. stores_digest: as its comment, and it is right.
 */
const char *fuzz_archive(nadir_context *context, const uint8_t *bytes, size_t size, bool stores_digest);

#endif

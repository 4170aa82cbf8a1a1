/*
 * packed.h: files packed by gzip or xz, read and written as if they were not packed.
 *
 * What is read goes to a temporary file without a name: readers can then seek in it, and judge the sizes that a
 * file announces by the bytes that it has. It takes no more bytes than the context may use memory.
 */
#ifndef NADIR_CORE_PACKED_H
#define NADIR_CORE_PACKED_H

#include "core/file.h"

/* Replaces an input at its first byte, where it is packed, by its content: descriptor, bytes. Others stay as they are.
 * NADIR_ERROR_FORMAT: damaged, or more than the limit. On failure the input is to be closed by the caller. */
nadir_status nadir_unpack(nadir_context *context, nadir_input *input);

/* How a file of this name is to be packed: by its ending, .gz or .xz. */
nadir_packing nadir_packing_of_name(const char *path);

/* Packs all bytes of one open file into another. path: for messages. */
nadir_status nadir_pack(nadir_context *context, nadir_packing packing, const char *path, int from, int into);

#endif

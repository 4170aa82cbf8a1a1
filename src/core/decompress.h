/*
 * decompress.h: files packed by gzip or xz, read as if they were not packed.
 *
 * The content goes to a temporary file without a name: readers can then seek in it, and judge the sizes that a
 * file announces by the bytes that it has. It takes no more bytes than the context may use memory.
 */
#ifndef NADIR_CORE_DECOMPRESS_H
#define NADIR_CORE_DECOMPRESS_H

#include "core/file.h"

/* Replaces an input at its first byte, where it is packed, by its content: descriptor, bytes. Others stay as they are.
 * NADIR_ERROR_FORMAT: damaged, or more than the limit. On failure the input is to be closed by the caller. */
nadir_status nadir_decompress(nadir_context *context, nadir_input *input);

#endif

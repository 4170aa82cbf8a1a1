/*
 * sha256.h: the SHA-256 digest (FIPS 180-4) of data that arrives in pieces.
 *
 * It names files in results, so that a number can be traced to the very bytes it came from.
 */
#ifndef NADIR_BASE_SHA256_H
#define NADIR_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NADIR_SHA256_BYTES 32
#define NADIR_SHA256_BLOCK 64

typedef struct nadir_sha256 {
    uint32_t state[8];
    uint64_t length;                         /* bytes seen so far */
    unsigned char block[NADIR_SHA256_BLOCK]; /* the length mod 64 bytes that do not fill a block yet */
    bool accelerated;                        /* the processor has instructions for it; may be cleared */
} nadir_sha256;

void nadir_sha256_start(nadir_sha256 *sha);

/* Appends data[size]. */
void nadir_sha256_update(nadir_sha256 *sha, const void *data, size_t size);

/* Ends the message and writes digest[32]; sha must be started again before it is used again. */
void nadir_sha256_finish(nadir_sha256 *sha, unsigned char digest[NADIR_SHA256_BYTES]);

/* Writes digest[32] as 64 lower-case hexadecimal digits and a terminating zero to text[65]. */
void nadir_sha256_hex(const unsigned char digest[NADIR_SHA256_BYTES], char text[2 * NADIR_SHA256_BYTES + 1]);

#endif

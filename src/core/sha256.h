/*
 * sha256.h: the SHA-256 digest (FIPS 180-4) of data that arrives in pieces, by libcrypto.
 *
 * It names files in results, so that a number can be traced to the very bytes it came from.
 */
#ifndef NADIR_CORE_SHA256_H
#define NADIR_CORE_SHA256_H

#include <openssl/sha.h>
#include <stddef.h>

#define NADIR_SHA256_BYTES 32

typedef SHA256_CTX nadir_sha256;

void nadir_sha256_start(nadir_sha256 *sha);

/* Appends data[size]. */
void nadir_sha256_update(nadir_sha256 *sha, const void *data, size_t size);

/* Ends the message and writes digest[32]; sha must be started again before it is used again. */
void nadir_sha256_finish(nadir_sha256 *sha, unsigned char digest[NADIR_SHA256_BYTES]);

/* Writes digest[32] as 64 lower-case hexadecimal digits and a terminating zero to text[65]. */
void nadir_sha256_hex(const unsigned char digest[NADIR_SHA256_BYTES], char text[2 * NADIR_SHA256_BYTES + 1]);

#endif

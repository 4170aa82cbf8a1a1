/*
 * sha256.c: SHA-256 by libcrypto.
 *
 * libcrypto calls the functions used here deprecated in favour of EVP_Digest*. Those set up the whole library
 * on first use: 6 million instructions, a third of `nadir evaluate` on six states, some thousand allocations
 * outside the context's memory, and /etc/ssl/openssl.cnf. These neither allocate nor fail, and run the same
 * code with the SHA instructions of the processor.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "core/file.h"

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

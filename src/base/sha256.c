/*
 * sha256.c: SHA-256 in portable C, and with the SHA instructions of x86-64 processors that have them.
 */
#include "base/sha256.h"

#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t x, int bits)
{
    return x >> bits | x << (32 - bits);
}

static uint32_t load_big_endian(const unsigned char bytes[4])
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* w[t] = σ₁(w[t − 2]) + w[t − 7] + σ₀(w[t − 15]) + w[t − 16] */
static void expand_message(const unsigned char block[NADIR_SHA256_BLOCK], uint32_t w[64])
{
    for (int t = 0; t < 16; ++t) {
        w[t] = load_big_endian(block + 4 * t);
    }
    for (int t = 16; t < 64; ++t) {
        uint32_t old = w[t - 15], recent = w[t - 2];
        uint32_t sigma0 = rotate_right(old, 7) ^ rotate_right(old, 18) ^ old >> 3;
        uint32_t sigma1 = rotate_right(recent, 17) ^ rotate_right(recent, 19) ^ recent >> 10;
        w[t] = sigma1 + w[t - 7] + sigma0 + w[t - 16];
    }
}

/* One block, with the names a, …, h of the standard. */
static void compress(uint32_t state[8], const unsigned char block[NADIR_SHA256_BLOCK])
{
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

    expand_message(block, w);
    for (int t = 0; t < 64; ++t) {
        uint32_t sum1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        uint32_t sum0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + round_constants[t] + w[t];
        uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

#ifdef __x86_64__

static bool processor_has_sha(void)
{
    unsigned a, b, c, d;
    const unsigned leaf1_needed = 1U << 19 | 1U << 9; /* SSE4.1, SSSE3 */

    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & leaf1_needed) != leaf1_needed) {
        return false;
    }
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & 1U << 29) != 0;
}

/* The instructions keep the state as (a, b, e, f) and (c, d, g, h), highest word first, and do four rounds
 * with a pair of sha256rnds2; w[t mod 16] is kept four words to a register. */
__attribute__((target("sha,sse4.1"))) static void
compress_accelerated(uint32_t state[8], const unsigned char *data, size_t blocks)
{
    const __m128i swap_bytes = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i dcba = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0x1b);
    __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    __m128i abef = _mm_unpackhi_epi64(hgfe, dcba);
    __m128i cdgh = _mm_unpacklo_epi64(hgfe, dcba);

    for (; blocks > 0; --blocks, data += NADIR_SHA256_BLOCK) {
        const __m128i old_abef = abef, old_cdgh = cdgh;
        __m128i w[4];
#pragma GCC unroll 16
        for (int t = 0; t < 16; ++t) {
            __m128i *now = &w[t % 4];
            __m128i sum;
            if (t < 4) {
                *now = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)data + t), swap_bytes);
            } else {
                __m128i last = w[(t + 3) % 4], before = w[(t + 2) % 4];
                __m128i partial = _mm_sha256msg1_epu32(*now, w[(t + 1) % 4]);
                partial = _mm_add_epi32(partial, _mm_alignr_epi8(last, before, 4));
                *now = _mm_sha256msg2_epu32(partial, last);
            }
            sum = _mm_add_epi32(*now, _mm_loadu_si128((const __m128i *)round_constants + t));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        }
        abef = _mm_add_epi32(abef, old_abef);
        cdgh = _mm_add_epi32(cdgh, old_cdgh);
    }
    dcba = _mm_unpackhi_epi64(cdgh, abef);
    hgfe = _mm_unpacklo_epi64(cdgh, abef);
    _mm_storeu_si128((__m128i *)state, _mm_shuffle_epi32(dcba, 0x1b));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_shuffle_epi32(hgfe, 0x1b));
}

#else

static bool processor_has_sha(void)
{
    return false;
}

#endif

/* Digests data[64 × blocks]. */
static void digest_blocks(nadir_sha256 *sha, const unsigned char *data, size_t blocks)
{
#ifdef __x86_64__
    if (sha->accelerated) {
        compress_accelerated(sha->state, data, blocks);
        return;
    }
#endif
    for (; blocks > 0; --blocks, data += NADIR_SHA256_BLOCK) {
        compress(sha->state, data);
    }
}

void nadir_sha256_start(nadir_sha256 *sha)
{
    /* The first 32 bits of the fractional parts of the square roots of the first 8 primes. */
    static const uint32_t initial[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    memcpy(sha->state, initial, sizeof initial);
    sha->length = 0;
    sha->accelerated = processor_has_sha();
}

void nadir_sha256_update(nadir_sha256 *sha, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    size_t filled = (size_t)(sha->length % NADIR_SHA256_BLOCK);

    if (size == 0) {
        return;
    }
    sha->length += size;
    if (filled > 0) {
        size_t room = NADIR_SHA256_BLOCK - filled;
        size_t taken = size < room ? size : room;
        memcpy(sha->block + filled, bytes, taken);
        bytes += taken;
        size -= taken;
        if (taken < room) {
            return;
        }
        digest_blocks(sha, sha->block, 1);
    }
    digest_blocks(sha, bytes, size / NADIR_SHA256_BLOCK);
    bytes += size - size % NADIR_SHA256_BLOCK;
    memcpy(sha->block, bytes, size % NADIR_SHA256_BLOCK);
}

void nadir_sha256_finish(nadir_sha256 *sha, unsigned char digest[NADIR_SHA256_BYTES])
{
    /* The message ends with a one bit, zeros, and its length in bits as the last 8 bytes of a block. */
    static const unsigned char padding[NADIR_SHA256_BLOCK] = {0x80};
    uint64_t bits = 8 * sha->length;
    size_t filled = (size_t)(sha->length % NADIR_SHA256_BLOCK);
    unsigned char length[8];

    for (int k = 0; k < 8; ++k) {
        length[k] = (unsigned char)(bits >> (56 - 8 * k));
    }
    nadir_sha256_update(sha, padding, filled < 56 ? 56 - filled : 120 - filled);
    nadir_sha256_update(sha, length, sizeof length);
    for (int k = 0; k < NADIR_SHA256_BYTES; ++k) {
        digest[k] = (unsigned char)(sha->state[k / 4] >> (24 - 8 * (k % 4)));
    }
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

/*
 * number_power.c: powers of ten to 128 bits from two small tables: 10^q = 10^(27 i) 10^j with 0 ≤ j < 27.
 *
 * 5^26 < 2⁶⁴, so the factor 10^j is exact (up to a power of two), and 10^(27 i) is kept to 192 bits. The
 * error of the product is below 2⁻¹⁹⁰ of it; that the leading 128 bits are those of 10^q for every q in range
 * was checked once against exact integers, and tests/unit/test_number.c keeps a digest of them.
 */
#include "base/number_parts.h"
#include "base/wide.h"

#define STEP 27

/* Leading 192 bits of 10^(27 i), i = −13, …, 12, most significant word first. */
static const uint64_t coarse_powers[26][3] = {
    {0x8049a4ac0c5811aeU, 0x205b896d777d6278U, 0xac261e9f5141430bU},
    {0xcf42894a5dce35eaU, 0x52064cac828675b9U, 0x475f2b7d7df1ad7aU},
    {0xa76c582338ed2621U, 0xaf2af2b80af6f24eU, 0x657c8f4d43323a36U},
    {0x873e4f75e2224e68U, 0x5a7744a6e804a291U, 0xcc35eddfcf0996d7U},
    {0xda7f5bf590966848U, 0xaf39a475506a899eU, 0xa30294cc2934e662U},
    {0xb080392cc4349decU, 0xbd8d794d96aacfb3U, 0xfe13a5c86af64418U},
    {0x8e938662882af53eU, 0x547eb47b7282ee9cU, 0x41b0230e1421487dU},
    {0xe65829b3046b0afaU, 0x0cb4a5a3112a5112U, 0xa3b561b1cb208396U},
    {0xba121a4650e4ddebU, 0x92f34d62616ce413U, 0x21a0183e10583cd3U},
    {0x964e858c91ba2655U, 0x3a6a07f8d510f86fU, 0xe9082f25e9c5e9ecU},
    {0xf2d56790ab41c2a2U, 0xfae27299423fb9c3U, 0x3695dad7e8858901U},
    {0xc428d05aa4751e4cU, 0xaa97e14c3c26b886U, 0x96842dc95323f5a8U},
    {0x9e74d1b791e07e48U, 0x775ea264cf55347dU, 0xca49f1c05120c9c7U},
    {0x8000000000000000U, 0x0000000000000000U, 0x0000000000000000U},
    {0xcecb8f27f4200f3aU, 0x0000000000000000U, 0x0000000000000000U},
    {0xa70c3c40a64e6c51U, 0x999090b65f67d924U, 0x0000000000000000U},
    {0x86f0ac99b4e8dafdU, 0x69a028bb3ded71a3U, 0xdf9f915627c04e28U},
    {0xda01ee641a708de9U, 0xe80e6f4820cc9495U, 0xd74baad03bc1d8d3U},
    {0xb01ae745b101e9e4U, 0x5ec05dcff72e7f8fU, 0xc04c79ffe324301fU},
    {0x8e41ade9fbebc27dU, 0x14588f13be847307U, 0x23bd6a2059c002f5U},
    {0xe5d3ef282a242e81U, 0x8f1668c8a86da5faU, 0xf0b5ccf5176ecc7cU},
    {0xb9a74a0637ce2ee1U, 0x6d953e2bd7173692U, 0x88efb0037ac08bdeU},
    {0x95f83d0a1fb69cd9U, 0x4abdaf101564f98eU, 0x0d5a4af7b3a98e47U},
    {0xf24a01a73cf2dccfU, 0xbc633b39673c8cecU, 0x3d9c44cd2f36917cU},
    {0xc3b8358109e84f07U, 0x0a862f80ec4700c8U, 0x02606ea01029dc37U},
    {0x9e19db92b4e31ba9U, 0x6c07a2c26a8346d1U, 0x4944d9f52cd0dec2U},
};

/* 5^j, j = 0, …, 26, shifted up until the top bit is set. */
static const uint64_t fine_powers[STEP] = {
    0x8000000000000000U, 0xa000000000000000U, 0xc800000000000000U, 0xfa00000000000000U, 0x9c40000000000000U,
    0xc350000000000000U, 0xf424000000000000U, 0x9896800000000000U, 0xbebc200000000000U, 0xee6b280000000000U,
    0x9502f90000000000U, 0xba43b74000000000U, 0xe8d4a51000000000U, 0x9184e72a00000000U, 0xb5e620f480000000U,
    0xe35fa931a0000000U, 0x8e1bc9bf04000000U, 0xb1a2bc2ec5000000U, 0xde0b6b3a76400000U, 0x8ac7230489e80000U,
    0xad78ebc5ac620000U, 0xd8d726b7177a8000U, 0x878678326eac9000U, 0xa968163f0a57b400U, 0xd3c21bcecceda100U,
    0x84595161401484a0U, 0xa56fa5b99019a5c8U,
};

nadir_number_wide nadir_number_power(int q)
{
    const uint64_t *coarse = coarse_powers[(q - NADIR_NUMBER_SMALLEST) / STEP];
    uint64_t fine = fine_powers[(q - NADIR_NUMBER_SMALLEST) % STEP];
    uint64_t word0, word1, word2, word3;

    /* coarse × fine = (word3, word2, word1, …), school multiplication from the lowest word up. */
    uint64_t carry = nadir_wide_multiply(coarse[2], fine, &word0);
    uint64_t carry1 = nadir_wide_multiply(coarse[1], fine, &word1);
    word3 = nadir_wide_multiply(coarse[0], fine, &word2);
    word1 += carry;
    carry1 += word1 < carry;
    word2 += carry1;
    word3 += word2 < carry1;

    if (word3 >> 63 == 0) {
        word3 = word3 << 1 | word2 >> 63;
        word2 = word2 << 1 | word1 >> 63;
    }
    return (nadir_number_wide){word3, word2};
}

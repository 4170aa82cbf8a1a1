/* test_sha256.c: SHA-256 against the examples of FIPS 180-4, in one piece and in many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/file.h"

static void assert_digest(nadir_sha256 *sha, const char *expected)
{
    unsigned char digest[NADIR_SHA256_BYTES];
    char text[2 * NADIR_SHA256_BYTES + 1];
    nadir_sha256_finish(sha, digest);
    nadir_sha256_hex(digest, text);
    assert_string_equal(text, expected);
}

static void published_examples(void **state)
{
    static const char *const examples[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmno"
         "pqrs"
         "tnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof examples / sizeof examples[0]; ++k) {
        nadir_sha256 sha;
        nadir_sha256_start(&sha);
        nadir_sha256_update(&sha, examples[k][0], strlen(examples[k][0]));
        assert_digest(&sha, examples[k][1]);
    }
}

static void million_letters(void **state)
{
    enum { SIZE = 1000000 };
    char *text = malloc(SIZE);
    (void)state;
    assert_non_null(text);
    memset(text, 'a', SIZE);
    nadir_sha256 sha;
    nadir_sha256_start(&sha);
    nadir_sha256_update(&sha, text, SIZE);
    assert_digest(&sha, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    nadir_sha256_start(&sha);
    for (size_t at = 0, piece = 0; at < SIZE; at += piece) {
        piece = 1 + at % 200 < SIZE - at ? 1 + at % 200 : SIZE - at;
        nadir_sha256_update(&sha, text + at, piece);
    }
    assert_digest(&sha, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(text);
}

/* Every length up to three blocks (so every padding), split at every place into blocks of the exact size. */
static void any_split_gives_the_same_digest(void **state)
{
    unsigned char message[200];
    (void)state;
    for (size_t k = 0; k < sizeof message; ++k) {
        message[k] = (unsigned char)(7 * k + 3);
    }
    for (size_t size = 0; size <= sizeof message; ++size) {
        unsigned char expected[NADIR_SHA256_BYTES], digest[NADIR_SHA256_BYTES];
        nadir_sha256 sha;
        nadir_sha256_start(&sha);
        nadir_sha256_update(&sha, message, size);
        nadir_sha256_finish(&sha, expected);
        for (size_t split = 0; split <= size; ++split) {
            unsigned char *first = malloc(split + 1), *second = malloc(size - split + 1);
            assert_true(first != NULL && second != NULL);
            memcpy(first + 1, message, split);
            memcpy(second + 1, message + split, size - split);
            nadir_sha256_start(&sha);
            nadir_sha256_update(&sha, first + 1, split);
            nadir_sha256_update(&sha, NULL, 0);
            nadir_sha256_update(&sha, second + 1, size - split);
            nadir_sha256_finish(&sha, digest);
            free(first);
            free(second);
            assert_memory_equal(digest, expected, sizeof digest);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_examples),
        cmocka_unit_test(million_letters),
        cmocka_unit_test(any_split_gives_the_same_digest),
    };
    return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}

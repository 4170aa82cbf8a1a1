/* test_file_digest.c: files that hold the digest of their other bytes. */
#include "support/numpy.h"

#include "core/file.h"

#include <stdlib.h>
#include <string.h>

static const nadir_file_digest_form form = {.before = "seal ", .after = "\n."};

static nadir_stored_digest check(nadir_context *context, const char *path)
{
    nadir_stored_digest stored;
    assert_ok(context, nadir_file_digest_check(context, path, &form, &stored));
    return stored;
}

/* The digest of "abc" + "seal " + "\n.", as any tool computes it. */
static void the_digest_is_that_of_the_other_bytes(void **state)
{
    nadir_context *context = *state;
    char expected[65];
    char whole[65];
    size_t count;
    test_write_file("rest", "abcseal \n.");
    assert_ok(context, nadir_file_digest(context, "rest", expected));
    test_write_file("sealed", "abcseal " NADIR_FILE_DIGEST_BLANK "\n.");
    assert_false(check(context, "sealed").holds);
    assert_ok(context, nadir_file_digest_store(context, "sealed", &form));
    unsigned char *bytes = test_read_bytes("sealed", &count);
    assert_int_equal(count, 10 + 64);
    assert_memory_equal(bytes, "abcseal ", 8);
    assert_memory_equal(bytes + 8, expected, 64);
    assert_memory_equal(bytes + 72, "\n.", 2);
    free(bytes);
    const nadir_stored_digest stored = check(context, "sealed");
    assert_true(stored.found && stored.holds);
    assert_ok(context, nadir_file_digest(context, "sealed", whole));
    assert_string_equal(stored.file_digest, whole);
}

/* Sizes around those of the buffer, and every byte. */
static void every_byte_counts(void **state)
{
    nadir_context *context = *state;
    static const size_t sizes[] = {0, 1, 63, 65536 - 71, 65536 - 70, 65536 - 3, 65536, 65536 + 1, 131072};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t count = sizes[i] + 71;
        unsigned char *bytes = malloc(count);
        assert_non_null(bytes);
        memset(bytes, 'x', sizes[i]);
        memcpy(bytes + sizes[i], "seal " NADIR_FILE_DIGEST_BLANK "\n.", 71);
        test_write_bytes("sealed", bytes, count);
        free(bytes);
        assert_ok(context, nadir_file_digest_store(context, "sealed", &form));
        assert_true(check(context, "sealed").holds);
        bytes = test_read_bytes("sealed", &count);
        const size_t step = count > 1000 ? 997 : 1;
        for (size_t at = 0; at < count; at += at + 80 < count || step == 1 ? step : 13) {
            bytes[at] ^= 1;
            test_write_bytes("changed", bytes, count);
            bytes[at] ^= 1;
            test_note("%zu bytes, byte %zu changed", count, at);
            assert_that(!check(context, "changed").holds, "the digest holds");
        }
        test_write_bytes("changed", bytes, count - 1);
        assert_false(check(context, "changed").found);
        free(bytes);
    }
}

static void files_without_a_digest(void **state)
{
    nadir_context *context = *state;
    nadir_stored_digest stored;
    test_write_file("plain", "nothing");
    assert_false(check(context, "plain").found);
    test_write_file("empty", "");
    assert_false(check(context, "empty").found);
    assert_fails(context, nadir_file_digest_store(context, "plain", &form), NADIR_ERROR_IO,
                 "no place for its digest");
    assert_fails(context, nadir_file_digest_check(context, "missing", &form, &stored), NADIR_ERROR_FILE,
                 "missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(the_digest_is_that_of_the_other_bytes),
        test_with_context(every_byte_counts),
        test_with_context(files_without_a_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_utf.c: characters as UTF-8. */
#include "support/support.h"

#include "io/text_reader.h"

#include <string.h>

static void every_character_comes_back(void **state)
{
    (void)state;
    for (uint32_t character = 0; character < 0x110100; character++) {
        char text[4];
        uint32_t back = 0;
        const bool none =
            character == 0 || (character >= 0xD800 && character <= 0xDFFF) || character > 0x10FFFF;
        const size_t length = nadir_utf8_encode(character, text);
        assert_int_equal(length == 0, none);
        if (!none) {
            assert_int_equal(nadir_utf8_decode(text, length, &back), length);
            assert_int_equal(back, character);
            assert_int_equal(nadir_utf8_decode(text, length - 1, &back), 0);
        }
    }
}

static void what_is_no_utf8_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "\x80",         "a\xFF",        "\xC0\x80",         "\xC1\xBF",
        "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80",
        "\xF8\x88\x80", "\xE2\x82",     "\xE2z\x82"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(nadir_utf8_is_valid(wrong[i], strlen(wrong[i])));
    }
    assert_false(nadir_utf8_is_valid("a\0b", 3));
    assert_true(nadir_utf8_is_valid("", 0));
    assert_true(nadir_utf8_is_valid("a\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80", 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_comes_back),
        cmocka_unit_test(what_is_no_utf8_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_json.c: JSON files read member by member, right and wrong. */
#include "support/support.h"

#include "io/json.h"

#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes every member as a string, number, array of at most three numbers, ... whatever it looks like. */
static nadir_status take_all(nadir_context *context, const char *path)
{
    nadir_status status = NADIR_OK;
    nadir_json json;
    NADIR_CHECK(nadir_json_open(context, path, 4096, &json));
    for (;;) {
        bool more;
        bool flag;
        double numbers[3];
        int64_t count;
        char text[16];
        NADIR_CHECK(nadir_json_next(&json, &more));
        if (!more) {
            break;
        }
        const nadir_json_kind kind = nadir_json_peek(&json);
        NADIR_CHECK(strcmp(json.name, "skip") == 0 ? nadir_json_skip(&json)
                    : kind == NADIR_JSON_NULL      ? nadir_json_null(&json)
                    : kind == NADIR_JSON_BOOL      ? nadir_json_bool(&json, &flag)
                    : kind == NADIR_JSON_STRING    ? nadir_json_string(&json, sizeof text, text)
                    : kind == NADIR_JSON_ARRAY     ? nadir_json_numbers(&json, 3, numbers, &count)
                                                   : nadir_json_number(&json, numbers));
    }
cleanup:
    nadir_json_close(&json);
    return status;
}

static void refuse_bytes(const char *bytes, size_t count, const char *words)
{
    nadir_context *context = test_context();
    const size_t before = nadir_context_memory(context);
    test_note("%s", bytes);
    test_write_bytes("file.json", bytes, count);
    assert_fails(context, take_all(context, "file.json"), NADIR_ERROR_FORMAT, words);
    assert_fails(context, NADIR_ERROR_FORMAT, NADIR_ERROR_FORMAT, "file.json:");
    assert_int_equal(nadir_context_memory(context), before);
    nadir_context_free(context);
}

static void refuse(const char *text, const char *words)
{
    refuse_bytes(text, strlen(text), words);
}

static void accept(const char *text)
{
    nadir_context *context = test_context();
    test_note("%s", text);
    test_write_file("file.json", text);
    assert_ok(context, take_all(context, "file.json"));
    nadir_context_free(context);
}

static void objects(void **state)
{
    (void)state;
    accept("{}");
    accept(" \t\r\n{ } \n");
    accept("{\"a\":1}");
    accept("{ \"a\" : null , \"b\":true,\"c\":false,\"\":\"x\" }");
    refuse("", "file.json:1: the file ends here; expected a JSON object");
    refuse("[]", "found `[]`; expected a JSON object");
    refuse("\xEF\xBB\xBF{}", "expected a JSON object");
    refuse("{", "file.json:1: the file ends here; expected the name of a member");
    refuse("{\n\n\"a\"", "file.json:3: the file ends here; expected `:`");
    refuse("{\"a\" 1}", "found `1}`; expected `:`");
    refuse("{\"a\":}", "member `a`: found `}`; expected a number");
    refuse("{\"a\":1,}", "found `}`; expected the name of a member");
    refuse("{,}", "expected the name of a member");
    refuse("{\"a\":1 \"b\":2}", "found `\"b\":2}`; expected `,` or `}`");
    refuse("{\"a\":1", "the file ends here; expected `,` or `}`");
    refuse("{\"a\":1}x", "found `x`; expected nothing after the object");
    refuse("{\"a\":1}{}", "expected nothing after the object");
    refuse("{a:1}", "expected the name of a member, in quotes");
    refuse("{\"a\":1/*2*/}", "found `/*2*/}`");
    refuse_bytes("{\"a\":1}\0", 8, "expected nothing after the object");
    refuse("{\"a\":nul}", "member `a`: found `nul}`; expected null");
    refuse("{\"a\":tru}", "expected true or false");
    refuse("{\"a\":True}", "expected a number");
    refuse("{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":1}",
           "a string is longer than 63 bytes");
}

static void numbers(void **state)
{
    (void)state;
    accept("{\"a\":-0,\"b\":0.5,\"c\":1e5,\"d\":-12.25E-7,\"e\":1E+2,\"f\":1e-400}");
    static const char *const wrong[] = {"+1",  ".5",  "5.",   "-",        "1e",   "1e+", "-a",  "NaN",
                                        "inf", "0x1", "01",   "Infinity", "--1",  "1_0", "1,5", "\xC2\xBD",
                                        "- 1", "-.5", "1.e5", "1e5.0",    "-inf", "nan"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "{\"a\":%s}", wrong[i]);
        refuse(text, "expected");
        (void)snprintf(text, sizeof text, "{\"a\":[1,%s]}", wrong[i]);
        if (strcmp(wrong[i], "1,5") != 0) {
            refuse(text, "expected");
        }
        (void)snprintf(text, sizeof text, "{\"skip\":[1,%s]}", wrong[i]);
        if (strcmp(wrong[i], "1,5") != 0) {
            refuse(text, "expected");
        }
    }
    refuse("{\"a\":1e309}", "member `a`: found `1e309}`; expected a number that a double can hold");
    refuse("{\"a\":[-1e999]}", "expected a number that a double can hold");
}

static void arrays(void **state)
{
    (void)state;
    accept("{\"a\":[],\"b\":[1],\"c\":[ 1 , 2,3 ]}");
    refuse("{\"a\":[1,2,3,4]}", "member `a`: the array has more than 3 numbers");
    refuse("{\"a\":[1,]}", "found `]}`; expected a number");
    refuse("{\"a\":[1 2]}", "expected `,` or `]` after a number");
    refuse("{\"a\":[1", "the file ends here; expected `,` or `]`");
    refuse("{\"a\":[null]}", "expected a number");
    refuse("{\"a\":[[1]]}", "found `[1]]}`; expected a number");
    refuse("{\"a\":{\"b\":1}}", "expected a number");
}

static void check_string(const char *quoted, const char *expected)
{
    nadir_context *context = test_context();
    nadir_json json;
    bool more;
    char text[64];
    char found[16];
    (void)snprintf(text, sizeof text, "{\"a\":%s}", quoted);
    test_note("%s", text);
    test_write_file("file.json", text);
    assert_ok(context, nadir_json_open(context, "file.json", 4096, &json));
    assert_ok(context, nadir_json_next(&json, &more));
    assert_ok(context, nadir_json_string(&json, sizeof found, found));
    assert_string_equal(found, expected);
    nadir_json_close(&json);
    nadir_context_free(context);
}

static void strings(void **state)
{
    (void)state;
    check_string("\"\"", "");
    check_string("\"fifteen letters\"", "fifteen letters");
    check_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
    check_string("\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\"", "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    check_string("\"\xC3\xA9\"", "\xC3\xA9");
    refuse("{\"a\":\"sixteen letters!\"}", "member `a`: a string is longer than 15 bytes");
    refuse("{\"a\":\"x}", "the file ends here; expected a character of a string");
    refuse("{\"a\":\"x\ny\"}", "expected a character of a string, in UTF-8, or its end");
    refuse("{\"a\":\"\xFF\"}", "expected a character of a string, in UTF-8");
    refuse("{\"a\":\"\xED\xA0\x80\"}", "in UTF-8");
    refuse_bytes("{\"a\":\"\0\"}", 9, "expected a character");
    static const char *const wrong[] = {"\\x",
                                        "\\u12",
                                        "\\u12g4",
                                        "\\u0000",
                                        "\\ud83d",
                                        "\\ud83d\\n",
                                        "\\ud83d\\u0041",
                                        "\\ude00",
                                        "\\u\x10\x10\x10\x10",
                                        "\\ud83d\\ud83d",
                                        "\\"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "{\"a\":\"%s\"}", wrong[i]);
        refuse(text, i + 1 < sizeof wrong / sizeof *wrong ? "a backslash that begins no character" : "ends");
    }
    refuse("{\"a\":\"\\", "a backslash");
}

static void other_values_are_skipped(void **state)
{
    (void)state;
    accept("{\"skip\":{\"a\":[1,[],{},\"\\u0041 and much more than sixteen bytes\"],\"b\":null},\"c\":true}");
    refuse("{\"skip\":[1,]}", "member `skip`: found `]}`; expected a value");
    refuse("{\"skip\":{\"a\"}}", "expected `:`");
    refuse("{\"skip\":{1:2}}", "expected the name of a member");
    refuse("{\"skip\":[1}", "expected `,` or the end of the array or object");
    refuse("{\"skip\":{\"a\":1]", "expected `,` or the end of the array or object");
    char deep[256] = "{\"skip\":";
    memset(deep + 8, '[', 32);
    memset(deep + 40, ']', 32);
    memcpy(deep + 72, "}", 2);
    accept(deep);
    memset(deep + 8, '[', 33);
    memset(deep + 41, ']', 33);
    memcpy(deep + 74, "}", 2);
    refuse(deep, "arrays and objects are nested more than 32 deep");
    memset(deep + 8, '[', 200);
    deep[208] = '\0';
    refuse(deep, "nested more than 32 deep");
}

static void files(void **state)
{
    nadir_context *context = *state;
    nadir_json json;
    test_write_file("file.json", "{\"a\":1}");
    assert_ok(context, nadir_json_open(context, "file.json", 7, &json));
    nadir_json_close(&json);
    assert_fails(context, nadir_json_open(context, "file.json", 6, &json), NADIR_ERROR_FORMAT,
                 "file.json: has 7 bytes; expected at most 6");
    nadir_json_close(&json);
    assert_fails(context, nadir_json_open(context, "missing.json", 6, &json), NADIR_ERROR_FILE,
                 "missing.json");
    nadir_json_close(&json);
}

/* In whatever locale and rounding mode. */
static void numbers_are_exact(void **state)
{
    static const double expected[] = {-0.0, 0.1, 1.7976931348623157e308};
    static const char *const locales[] = {"C", "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"};
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    nadir_context *context = *state;
    test_write_file("file.json", "{\"a\":[-0,0.1000000000000000055,1.7976931348623157e+308]}");
    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++) {
        for (size_t j = 0; j < sizeof modes / sizeof *modes; j++) {
            nadir_json json;
            bool more;
            double found[3];
            int64_t count;
            (void)setlocale(LC_ALL, locales[i]); /* where there is one */
            assert_int_equal(fesetround(modes[j]), 0);
            assert_ok(context, nadir_json_open(context, "file.json", 4096, &json));
            assert_ok(context, nadir_json_next(&json, &more));
            assert_ok(context, nadir_json_numbers(&json, 3, found, &count));
            (void)fesetround(FE_TONEAREST);
            assert_int_equal(count, 3);
            assert_memory_equal(found, expected, sizeof expected);
            nadir_json_close(&json);
        }
    }
    (void)setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects),
        cmocka_unit_test(numbers),
        cmocka_unit_test(arrays),
        cmocka_unit_test(strings),
        cmocka_unit_test(other_values_are_skipped),
        test_with_context(files),
        test_with_context(numbers_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

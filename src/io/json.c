/* json.c: JSON files that hold one object; see json.h. */
#include "io/json.h"

#include "core/file.h"
#include "core/number.h"
#include "io/text_reader.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define DEPTH_LIMIT 32 /* of arrays and objects within a value that is skipped */

/* Of what comes next, for messages. */
#define EXCERPT(json) (int)((json)->end - (json)->at > 20 ? 20 : (json)->end - (json)->at), (json)->at

nadir_status nadir_json_fail(const nadir_json *json, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    int64_t line = 1;
    for (const char *self = json->text; self < json->at; self++) {
        line += *self == '\n';
    }
    const bool named = json->name[0] != '\0';
    return nadir_fail(json->context, NADIR_ERROR_FORMAT, "%s:%lld: %s%s%s%s", json->path, (long long)line,
                      named ? "member `" : "", json->name, named ? "`: " : "", sentence);
}

static nadir_status expect_fail(const nadir_json *json, const char *what)
{
    if (json->at == json->end) {
        return nadir_json_fail(json, "the file ends here; expected %s", what);
    }
    return nadir_json_fail(json, "found `%.*s`; expected %s", EXCERPT(json), what);
}

static void skip_blanks(nadir_json *json)
{
    while (json->at < json->end &&
           (*json->at == ' ' || *json->at == '\n' || *json->at == '\r' || *json->at == '\t')) {
        json->at++;
    }
}

/* Takes a character, after blanks, if it is next. */
static bool take(nadir_json *json, char character)
{
    skip_blanks(json);
    const bool is_next = json->at < json->end && *json->at == character;
    json->at += is_next;
    return is_next;
}

static bool take_word(nadir_json *json, const char *word)
{
    const size_t length = strlen(word);
    skip_blanks(json);
    const bool is_next = (size_t)(json->end - json->at) >= length && memcmp(json->at, word, length) == 0;
    json->at += is_next ? length : 0;
    return is_next;
}

nadir_status nadir_json_open(nadir_context *context, const char *path, int64_t limit, nadir_json *json)
{
    nadir_status status = NADIR_OK;
    nadir_input input = NADIR_INPUT_CLOSED;
    char *text = NULL;
    *json = (nadir_json){.context = context, .path = path};
    NADIR_CHECK(nadir_input_open(context, path, &input));
    if (input.bytes > limit) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_FORMAT, "%s: has %lld bytes; expected at most %lld", path,
                               (long long)input.bytes, (long long)limit));
    }
    NADIR_NEW(context, text, input.bytes);
    status = nadir_input_read_all(context, &input, text, (size_t)input.bytes, "the object");
    if (status == NADIR_OK) {
        status = nadir_json_open_text(context, path, text, input.bytes, json);
    } else {
        nadir_release(context, text);
    }
cleanup:
    nadir_input_close(&input);
    return status;
}

nadir_status nadir_json_open_text(nadir_context *context, const char *path, char *text, int64_t length,
                                  nadir_json *json)
{
    *json = (nadir_json){
        .context = context, .path = path, .text = text, .at = text, .end = text + length, .fresh = true};
    return take(json, '{') ? NADIR_OK : expect_fail(json, "a JSON object");
}

void nadir_json_close(nadir_json *json)
{
    if (json->context != NULL) {
        nadir_release(json->context, json->text);
    }
    *json = (nadir_json){0};
}

/* Four hexadecimal digits. */
static bool take_hex(nadir_json *json, uint32_t *value)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    *value = 0;
    for (int i = 0; i < 4; i++, json->at++) {
        const char *digit = json->at < json->end && *json->at != '\0' ? strchr(digits, *json->at) : NULL;
        if (digit == NULL) {
            return false;
        }
        const uint32_t place = (uint32_t)(digit - digits);
        *value = *value * 16 + (place < 16 ? place : place - 6);
    }
    return true;
}

/* What stands for a character after a backslash, as UTF-8; returns its length, 0 when it is none. */
static size_t take_escape(nadir_json *json, char text[4])
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    uint32_t character;
    uint32_t low;
    if (json->at == json->end || *json->at == '\0') {
        return 0;
    }
    const char letter = *json->at++;
    const char *place = strchr(letters, letter);
    if (place != NULL) {
        text[0] = meanings[place - letters];
        return 1;
    }
    if (letter != 'u' || !take_hex(json, &character)) {
        return 0;
    }
    if (character >= 0xD800 && character < 0xDC00) { /* the first of a pair */
        if (json->end - json->at < 2 || json->at[0] != '\\' || json->at[1] != 'u') {
            return 0;
        }
        json->at += 2;
        if (!take_hex(json, &low) || low < 0xDC00 || low >= 0xE000) {
            return 0;
        }
        character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
    }
    return nadir_utf8_encode(character, text);
}

/* into NULL: a string of any length, dropped. */
static nadir_status take_string(nadir_json *json, size_t capacity, char *into, const char *expected)
{
    size_t used = 0;
    if (!take(json, '"')) {
        return expect_fail(json, expected);
    }
    for (;;) {
        char text[4];
        uint32_t character;
        size_t length = json->at < json->end
                            ? nadir_utf8_decode(json->at, (size_t)(json->end - json->at), &character)
                            : 0;
        if (length == 0 || character < ' ') {
            return expect_fail(json, "a character of a string, in UTF-8, or its end");
        }
        memcpy(text, json->at, length);
        json->at += length;
        if (character == '"') {
            break;
        }
        if (character == '\\') {
            length = take_escape(json, text);
            if (length == 0) {
                return nadir_json_fail(json, "a string holds a backslash that begins no character");
            }
        }
        if (into != NULL) {
            if (capacity - used <= length) {
                return nadir_json_fail(json, "a string is longer than %zu bytes", capacity - 1);
            }
            memcpy(into + used, text, length);
        }
        used += length;
    }
    if (into != NULL) {
        into[used] = '\0';
    }
    return NADIR_OK;
}

nadir_status nadir_json_next(nadir_json *json, bool *more)
{
    json->name[0] = '\0';
    *more = !take(json, '}');
    if (!*more) {
        json->fresh = false;
        skip_blanks(json);
        return json->depth-- == 0 && json->at < json->end ? expect_fail(json, "nothing after the object")
                                                          : NADIR_OK;
    }
    if (!json->fresh && !take(json, ',')) {
        return expect_fail(json, "`,` or `}` after a member");
    }
    json->fresh = false;
    json->members++;
    char name[NADIR_JSON_NAME_LENGTH];
    NADIR_TRY(take_string(json, sizeof name, name, "the name of a member, in quotes"));
    if (!take(json, ':')) {
        return expect_fail(json, "`:` after the name of a member");
    }
    memcpy(json->name, name, sizeof name);
    return NADIR_OK;
}

nadir_json_kind nadir_json_peek(nadir_json *json)
{
    skip_blanks(json);
    static const char first[] = "ntf\"[{-0123456789";
    static const nadir_json_kind kinds[] = {NADIR_JSON_NULL,   NADIR_JSON_BOOL,  NADIR_JSON_BOOL,
                                            NADIR_JSON_STRING, NADIR_JSON_ARRAY, NADIR_JSON_OBJECT};
    const char *place = json->at < json->end && *json->at != '\0' ? strchr(first, *json->at) : NULL;
    return place == NULL ? NADIR_JSON_NOTHING : place - first < 6 ? kinds[place - first] : NADIR_JSON_NUMBER;
}

nadir_status nadir_json_null(nadir_json *json)
{
    return take_word(json, "null") ? NADIR_OK : expect_fail(json, "null");
}

nadir_status nadir_json_bool(nadir_json *json, bool *value)
{
    *value = take_word(json, "true");
    return *value || take_word(json, "false") ? NADIR_OK : expect_fail(json, "true or false");
}

nadir_status nadir_json_string(nadir_json *json, size_t capacity, char *into)
{
    return take_string(json, capacity, into, "a string");
}

static const char *skip_digits(const char *self, const char *end)
{
    while (self < end && *self >= '0' && *self <= '9') {
        self++;
    }
    return self;
}

/* The end of the longest number of JSON's grammar; NULL where there is none. It is narrower than number.h's:
 * -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? */
static const char *find_number_end(const char *self, const char *end)
{
    self += self < end && *self == '-';
    const char *whole = skip_digits(self, end);
    if (whole == self) {
        return NULL;
    }
    self = *self == '0' ? self + 1 : whole;
    if (self < end && *self == '.') {
        const char *fraction = skip_digits(self + 1, end);
        if (fraction == self + 1) {
            return NULL;
        }
        self = fraction;
    }
    if (self < end && (*self == 'e' || *self == 'E')) {
        self++;
        self += self < end && (*self == '+' || *self == '-');
        const char *exponent = skip_digits(self, end);
        return exponent == self ? NULL : exponent;
    }
    return self;
}

nadir_status nadir_json_number(nadir_json *json, double *value)
{
    skip_blanks(json);
    const char *end = find_number_end(json->at, json->end);
    if (end == NULL || nadir_number_parse_double(json->at, end, value) != end) {
        return expect_fail(json, "a number");
    }
    if (!isfinite(*value)) {
        return expect_fail(json, "a number that a double can hold");
    }
    json->at = end;
    return NADIR_OK;
}

nadir_status nadir_json_numbers(nadir_json *json, int64_t capacity, double *into, int64_t *count)
{
    *count = 0;
    if (!take(json, '[')) {
        return expect_fail(json, "an array of numbers");
    }
    if (take(json, ']')) {
        return NADIR_OK;
    }
    do {
        if (*count == capacity) {
            return nadir_json_fail(json, "the array has more than %lld numbers", (long long)capacity);
        }
        NADIR_TRY(nadir_json_number(json, &into[*count]));
        ++*count;
    } while (take(json, ','));
    if (!take(json, ']')) {
        return expect_fail(json, "`,` or `]` after a number");
    }
    return NADIR_OK;
}

nadir_status nadir_json_enter(nadir_json *json)
{
    if (!take(json, '{')) {
        return expect_fail(json, "an object");
    }
    json->depth++;
    json->fresh = true;
    return NADIR_OK;
}

nadir_status nadir_json_words(nadir_json *json, int count, const char *const words[], unsigned *bits)
{
    char word[NADIR_JSON_NAME_LENGTH];
    *bits = 0;
    if (!take(json, '[')) {
        return expect_fail(json, "an array of strings");
    }
    if (take(json, ']')) {
        return NADIR_OK;
    }
    do {
        NADIR_TRY(nadir_json_string(json, sizeof word, word));
        for (int i = 0; i < count; i++) {
            *bits |= strcmp(word, words[i]) == 0 ? 1U << i : 0;
        }
    } while (take(json, ','));
    return take(json, ']') ? NADIR_OK : expect_fail(json, "`,` or `]` after a string");
}

static nadir_status skip_value(nadir_json *json, int depth);

/* What follows the bracket of an array or object. */
static nadir_status skip_inside(nadir_json *json, bool object, int depth)
{
    const char close = object ? '}' : ']';
    if (depth >= DEPTH_LIMIT) {
        return nadir_json_fail(json, "arrays and objects are nested more than %d deep", DEPTH_LIMIT);
    }
    if (take(json, close)) {
        return NADIR_OK;
    }
    do {
        if (object) {
            NADIR_TRY(take_string(json, 0, NULL, "the name of a member, in quotes"));
            if (!take(json, ':')) {
                return expect_fail(json, "`:` after the name of a member");
            }
        }
        NADIR_TRY(skip_value(json, depth + 1));
    } while (take(json, ','));
    if (!take(json, close)) {
        return expect_fail(json, "`,` or the end of the array or object");
    }
    return NADIR_OK;
}

static nadir_status skip_value(nadir_json *json, int depth)
{
    double number;
    bool flag;
    const nadir_json_kind kind = nadir_json_peek(json);
    if (kind == NADIR_JSON_ARRAY || kind == NADIR_JSON_OBJECT) {
        return skip_inside(json, *json->at++ == '{', depth);
    }
    return kind == NADIR_JSON_NULL     ? nadir_json_null(json)
           : kind == NADIR_JSON_BOOL   ? nadir_json_bool(json, &flag)
           : kind == NADIR_JSON_NUMBER ? nadir_json_number(json, &number)
           : kind == NADIR_JSON_STRING ? take_string(json, 0, NULL, "a string")
                                       : expect_fail(json, "a value");
}

nadir_status nadir_json_skip(nadir_json *json)
{
    return skip_value(json, 0);
}

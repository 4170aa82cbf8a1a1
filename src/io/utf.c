/* utf.c: characters as UTF-8; see utf.h. */
#include "io/text_reader.h"

static bool is_character(uint32_t value)
{
    return value != 0 && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
}

size_t nadir_utf8_encode(uint32_t character, char text[4])
{
    if (!is_character(character)) {
        return 0;
    }
    if (character < 0x80) {
        text[0] = (char)character;
        return 1;
    }
    const size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--) {
        text[i] = (char)(0x80 | (character & 0x3F));
        character >>= 6;
    }
    text[0] = (char)((0xF00U >> length & 0xFF) | character); /* as many ones as bytes, then a zero */
    return length;
}

size_t nadir_utf8_decode(const char *text, size_t length, uint32_t *character)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (length == 0) {
        return 0;
    }
    if (bytes[0] < 0x80) {
        *character = bytes[0];
        return is_character(*character) ? 1 : 0;
    }
    const size_t size = bytes[0] >= 0xF0 ? 4 : bytes[0] >= 0xE0 ? 3 : 2;
    if (bytes[0] < 0xC0 || bytes[0] >= 0xF8 || size > length) {
        return 0;
    }
    uint32_t value = bytes[0] & (0x7FU >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
            return 0;
        }
        value = value << 6 | (bytes[i] & 0x3F);
    }
    char shortest[4];
    if (nadir_utf8_encode(value, shortest) != size) { /* longer than need be, or no character */
        return 0;
    }
    *character = value;
    return size;
}

bool nadir_utf8_is_valid(const char *text, size_t length)
{
    uint32_t character;
    for (size_t index = 0; index < length;) {
        const size_t size = nadir_utf8_decode(text + index, length - index, &character);
        if (size == 0) {
            return false;
        }
        index += size;
    }
    return true;
}

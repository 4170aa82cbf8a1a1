/* utf.h: characters as UTF-8, strictly: neither zeros, nor surrogates, nor anything above U+10FFFF. */
#ifndef NADIR_IO_UTF_H
#define NADIR_IO_UTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes a character and returns its length, 1 to 4; 0 when it is none. */
size_t nadir_utf8_encode(uint32_t character, char text[4]);

/* Takes the character at text[0 .. length) and returns its length; 0 when there is none. */
size_t nadir_utf8_decode(const char *text, size_t length, uint32_t *character);

/* Whether all of text[0 .. length) is made of characters. */
bool nadir_utf8_is_valid(const char *text, size_t length);

#endif

/*
 * npy_text.c: NumPy arrays of text; see npy.h.
 *
 * Items have a fixed length and are padded with zeros: characters of four bytes (UTF-32), or bytes, which
 * must then be UTF-8. Names come out as UTF-8, strictly: no surrogates, nothing above U+10FFFF, no zeros
 * inside.
 */
#include "io/npy.h"
#include "io/text_reader.h"

#include <string.h>

static nadir_status text_fail(const nadir_npy *npy, const char *what)
{
    return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: text %lld %s", npy->source.name,
                      (long long)npy->taken, what);
}

static uint32_t load_character(const nadir_npy *npy, const unsigned char *raw)
{
    uint32_t character;
    memcpy(&character, raw, sizeof character);
    return npy->header.swapped ? __builtin_bswap32(character) : character;
}

/* The characters of an item, without the padding. */
static size_t text_length(const nadir_npy *npy, const unsigned char *raw, size_t width)
{
    size_t length = (size_t)npy->header.item_bytes / width;
    while (length > 0) {
        const unsigned char *last = raw + (length - 1) * width;
        if (width == 1 ? *last != 0 : load_character(npy, last) != 0) {
            break;
        }
        length--;
    }
    return length;
}

/* One item of UTF-32 to UTF-8 in text, which has as many bytes; *used is its length. */
static nadir_status encode(const nadir_npy *npy, const unsigned char *raw, char *text, size_t *used)
{
    const size_t length = text_length(npy, raw, 4);
    *used = 0;
    for (size_t i = 0; i < length; i++) {
        const size_t bytes = nadir_utf8_encode(load_character(npy, raw + 4 * i), text + *used);
        if (bytes == 0) {
            return text_fail(npy, "holds something that is no character");
        }
        *used += bytes;
    }
    return NADIR_OK;
}

nadir_status nadir_npy_names(nadir_npy *npy, nadir_names *names)
{
    nadir_status status = NADIR_OK;
    unsigned char *raw = NULL;
    char *text = NULL;
    const size_t size = (size_t)npy->header.item_bytes;
    if (npy->header.kind < NADIR_NPY_TEXT) {
        return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: holds numbers; expected text",
                          npy->source.name);
    }
    NADIR_NEW(npy->context, raw, size);
    NADIR_NEW(npy->context, text, size);
    for (npy->taken = 0; npy->taken < npy->header.count; npy->taken++) {
        size_t used;
        NADIR_CHECK(npy->source.read(npy->source.user, raw, size, &used));
        if (used < size) {
            status = text_fail(npy, "is missing: the data end there");
            goto cleanup;
        }
        if (npy->header.kind == NADIR_NPY_TEXT) {
            NADIR_CHECK(encode(npy, raw, text, &used));
        } else {
            used = text_length(npy, raw, 1);
            memcpy(text, raw, used);
        }
        if (!nadir_utf8_is_valid(text, used)) {
            status = text_fail(npy, "is not UTF-8, or has a zero inside");
            goto cleanup;
        }
        NADIR_CHECK(nadir_names_add(npy->context, names, text, used));
    }
cleanup:
    nadir_release(npy->context, raw);
    nadir_release(npy->context, text);
    return status;
}

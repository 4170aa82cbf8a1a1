/* test_packed.c: files packed by gzip and xz are read as their content, and written; damaged ones are refused. */
#include "support/support.h"

#include "core/context.h"
#include "core/file.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { LENGTH = 200000, ROOM = 300000 };

/* Text that packs, but not to nothing. */
static void fill(char text[LENGTH])
{
    uint32_t seed = 7;
    for (int i = 0; i < LENGTH; i++) {
        seed = seed * 1664525u + 1013904223u;
        text[i] = (char)('a' + (seed >> 28));
    }
}

static size_t pack_gzip(const char *text, size_t length, unsigned char packed[ROOM])
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (unsigned char *)(uintptr_t)text;
    stream.avail_in = (unsigned)length;
    stream.next_out = packed;
    stream.avail_out = ROOM;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    const size_t made = ROOM - stream.avail_out;
    deflateEnd(&stream);
    return made;
}

static size_t pack_xz(const char *text, size_t length, unsigned char packed[ROOM])
{
    size_t made = 0;
    assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text, length, packed,
                                             &made, ROOM),
                     LZMA_OK);
    return made;
}

static void write_bytes(const char *name, const unsigned char *bytes, size_t count)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void assert_content(nadir_context *context, const char *name, const char *text, size_t length)
{
    static char found[2 * LENGTH + 1];
    nadir_input input;
    size_t got;
    assert_ok(context, nadir_input_open(context, name, &input));
    assert_int_equal(input.bytes, length);
    assert_ok(context, nadir_input_read(context, &input, found, sizeof found, &got));
    assert_int_equal(got, length);
    assert_memory_equal(found, text, length);
    assert_ok(context, nadir_input_seek(context, &input, (int64_t)length / 2));
    assert_ok(context, nadir_input_read(context, &input, found, 10, &got));
    assert_memory_equal(found, text + length / 2, 10);
    nadir_input_close(&input);
}

typedef size_t (*packer)(const char *text, size_t length, unsigned char packed[ROOM]);
static const packer packers[] = {pack_gzip, pack_xz};

static void test_content_is_read(void **state)
{
    static char text[2 * LENGTH];
    static unsigned char packed[2 * ROOM];
    fill(text);
    memcpy(text + LENGTH, text, LENGTH);
    for (size_t i = 0; i < 2; i++) {
        const size_t count = packers[i](text, LENGTH, packed);
        write_bytes("packed", packed, count);
        assert_content(*state, "packed", text, LENGTH);
        memmove(packed + count, packed, count); /* as `cat` joins them */
        write_bytes("packed", packed, 2 * count);
        assert_content(*state, "packed", text, 2 * LENGTH);
    }
    assert_int_equal(unlink("packed"), 0);
}

/* No prefix of a packed file is taken for the whole, and no flipped byte of the data. */
static void test_damage_is_seen(void **state)
{
    nadir_context *context = *state;
    static char text[LENGTH];
    static unsigned char packed[ROOM];
    nadir_input input;
    fill(text);
    for (size_t i = 0; i < 2; i++) {
        const char *words = i == 0 ? "the gzip data are damaged" : "the xz data are damaged";
        const size_t count = packers[i](text, 300, packed);
        for (size_t cut = 6; cut < count; cut++) {
            write_bytes("packed", packed, cut);
            assert_fails(context, nadir_input_open(context, "packed", &input), NADIR_ERROR_FORMAT, words);
        }
        for (size_t place = count / 2; place < count / 2 + 20; place++) {
            packed[place] ^= 0x10;
            write_bytes("packed", packed, count);
            assert_fails(context, nadir_input_open(context, "packed", &input), NADIR_ERROR_FORMAT, words);
            packed[place] ^= 0x10;
        }
    }
    assert_int_equal(unlink("packed"), 0);
}

/* A small file that unpacks to much is refused before it has taken more than the memory that may be used. */
static void test_bombs(void **state)
{
    (void)state;
    static char zeros[64 * LENGTH];
    static unsigned char packed[ROOM];
    nadir_context *context = test_context_memory(4 << 20);
    nadir_input input;
    for (size_t i = 0; i < 2; i++) {
        write_bytes("packed", packed, packers[i](zeros, sizeof zeros, packed));
        assert_fails(context, nadir_input_open(context, "packed", &input), NADIR_ERROR_FORMAT,
                     "unpacks to more than 4194304 bytes");
    }
    nadir_context_free(context);
    assert_int_equal(unlink("packed"), 0);
}

static void test_no_temporary_folder(void **state)
{
    nadir_context *context = *state;
    static unsigned char packed[ROOM];
    nadir_input input;
    write_bytes("packed", packed, pack_gzip("text", 4, packed));
    assert_int_equal(setenv("TMPDIR", "/nowhere", 1), 0);
    assert_fails(context, nadir_input_open(context, "packed", &input), NADIR_ERROR_IO,
                 "cannot make a temporary file");
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_ok(context, nadir_input_open(context, "packed", &input));
    assert_int_equal(input.bytes, 4);
    nadir_input_close(&input);
    assert_int_equal(unlink("packed"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_content_is_read),
        test_with_context(test_damage_is_seen),
        cmocka_unit_test(test_bombs),
        test_with_context(test_no_temporary_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

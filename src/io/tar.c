/* tar.c: files in a tar archive; see tar.h. */
#include "io/tar.h"

#include "core/context.h"

#include <string.h>

/* Where the fields of a header stand. */
enum { NAME = 0, NAME_LENGTH = 100, SIZE = 124, SIZE_LENGTH = 12, SUM = 148, SUM_LENGTH = 8, TYPE = 156 };
enum { MAGIC = 257, PREFIX = 345, PREFIX_LENGTH = 155 };

bool nadir_tar_recognises(const char *head, size_t length)
{
    return length >= NADIR_TAR_BLOCK && memcmp(head + MAGIC, "ustar", 5) == 0;
}

/* A number in octal digits, or in 8 bytes behind a first byte of 0x80; -1: none. */
static int64_t number_of(const unsigned char *field, size_t length)
{
    uint64_t value = 0;
    size_t i = 0;
    if (field[0] == 0x80) {
        for (i = length - 8; i < length; i++) {
            value = value << 8 | field[i];
        }
        return value <= INT64_MAX ? (int64_t)value : -1;
    }
    while (i < length && field[i] == ' ') {
        i++;
    }
    const size_t first = i;
    while (i < length && field[i] >= '0' && field[i] <= '7') {
        value = value << 3 | (uint64_t)(field[i++] - '0');
    }
    const bool ends = i == length || field[i] == ' ' || field[i] == '\0';
    return i > first && ends ? (int64_t)value : -1;
}

/* The sum of all bytes, those of the sum itself taken as blanks. */
static int64_t sum_of(const unsigned char header[NADIR_TAR_BLOCK])
{
    int64_t sum = 0;
    for (int i = 0; i < NADIR_TAR_BLOCK; i++) {
        sum += i >= SUM && i < SUM + SUM_LENGTH ? ' ' : header[i];
    }
    return sum;
}

static void copy_name(const unsigned char header[NADIR_TAR_BLOCK], char name[NADIR_TAR_NAME])
{
    const size_t prefix = strnlen((const char *)header + PREFIX, PREFIX_LENGTH);
    const size_t length = strnlen((const char *)header + NAME, NAME_LENGTH);
    char whole[NADIR_TAR_NAME];
    memcpy(whole, header + PREFIX, prefix);
    whole[prefix] = '/';
    const size_t start = prefix > 0 ? prefix + 1 : 0;
    memcpy(whole + start, header + NAME, length);
    whole[start + length] = '\0';
    const char *from = strncmp(whole, "./", 2) == 0 ? whole + 2 : whole;
    memcpy(name, from, strlen(from) + 1);
}

/* Lists the file whose header stands at `place`; *next: where the next one stands. */
static nadir_status list_entry(nadir_tar *tar, const unsigned char header[NADIR_TAR_BLOCK], int64_t place,
                               int64_t *next)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = tar->context;
    const char *path = tar->input.path;
    const int64_t left = tar->input.bytes - place - NADIR_TAR_BLOCK;
    nadir_tar_entry made = {.start = place + NADIR_TAR_BLOCK, .bytes = number_of(header + SIZE, SIZE_LENGTH)};
    if (memcmp(header + MAGIC, "ustar", 5) != 0 || number_of(header + SUM, SUM_LENGTH) != sum_of(header)) {
        return nadir_fail(context, NADIR_ERROR_FORMAT,
                          "%s: byte %lld begins no file of a tar archive: it is damaged", path,
                          (long long)place);
    }
    copy_name(header, made.name);
    if (made.bytes < 0 || made.bytes > left) {
        return nadir_fail(context, NADIR_ERROR_FORMAT,
                          "%s: file %s of the archive has %lld bytes; only %lld are left: it is cut off",
                          path, made.name, (long long)made.bytes, (long long)(left > 0 ? left : 0));
    }
    *next = made.start + (made.bytes + NADIR_TAR_BLOCK - 1) / NADIR_TAR_BLOCK * NADIR_TAR_BLOCK;
    if (header[TYPE] != '0' && header[TYPE] != '\0') {
        return NADIR_OK; /* a folder, a link, or what is told about the next file */
    }
    if (tar->count == NADIR_TAR_ENTRIES || nadir_tar_find(tar, made.name) != NULL) {
        return nadir_fail(context, NADIR_ERROR_FORMAT, "%s: %s%s", path,
                          tar->count == NADIR_TAR_ENTRIES ? "too many files in the archive, at "
                                                          : "the archive has two files named ",
                          made.name);
    }
    NADIR_RESERVE(context, tar->entries, tar->count + 1, tar->capacity);
    tar->entries[tar->count++] = made;
cleanup:
    return status;
}

nadir_status nadir_tar_open(nadir_context *context, const char *path, nadir_tar *tar)
{
    nadir_status status = NADIR_OK;
    unsigned char header[NADIR_TAR_BLOCK];
    static const unsigned char zeros[NADIR_TAR_BLOCK];
    size_t got;
    int64_t place = 0;
    *tar = (nadir_tar){.context = context, .input = NADIR_INPUT_CLOSED};
    NADIR_CHECK(nadir_input_open(context, path, &tar->input));
    for (;;) {
        NADIR_CHECK(nadir_input_read_at(context, &tar->input, place, header, sizeof header, &got));
        if (got < sizeof header) {
            NADIR_CHECK(nadir_fail(context, NADIR_ERROR_FORMAT,
                                   "%s: the archive ends without the zeros that close one: it is cut off",
                                   path));
        }
        if (memcmp(header, zeros, sizeof header) == 0) {
            break;
        }
        NADIR_CHECK(list_entry(tar, header, place, &place));
    }
cleanup:
    return status;
}

void nadir_tar_close(nadir_tar *tar)
{
    if (tar->context != NULL) {
        nadir_input_close(&tar->input);
        nadir_release(tar->context, tar->entries);
    }
    *tar = (nadir_tar){0};
}

const nadir_tar_entry *nadir_tar_find(const nadir_tar *tar, const char *name)
{
    for (int64_t i = 0; i < tar->count; i++) {
        if (strcmp(tar->entries[i].name, name) == 0) {
            return &tar->entries[i];
        }
    }
    return NULL;
}

nadir_status nadir_tar_read(nadir_tar *tar, const nadir_tar_entry *entry, int64_t offset, void *into,
                            size_t size)
{
    size_t got;
    return nadir_input_read_at(tar->context, &tar->input, entry->start + offset, into, size, &got);
}

static void put_octal(unsigned char *field, int digits, uint64_t value)
{
    for (int i = digits - 1; i >= 0; i--, value >>= 3) {
        field[i] = (unsigned char)('0' + (value & 7));
    }
}

void nadir_tar_write_header(nadir_output *output, const char *name, int64_t bytes)
{
    unsigned char header[NADIR_TAR_BLOCK] = {0};
    memcpy(header + NAME, name, strnlen(name, NAME_LENGTH - 1));
    put_octal(header + 100, 7, 0644); /* mode, owner, group */
    put_octal(header + 108, 7, 0);
    put_octal(header + 116, 7, 0);
    if (bytes < (int64_t)1 << 33) {
        put_octal(header + SIZE, SIZE_LENGTH - 1, (uint64_t)bytes);
    } else { /* as GNU tar and its readers have it */
        header[SIZE] = 0x80;
        for (int i = 0; i < 8; i++) {
            header[SIZE + SIZE_LENGTH - 1 - i] = (unsigned char)((uint64_t)bytes >> 8 * i);
        }
    }
    put_octal(header + 136, SIZE_LENGTH - 1, 0); /* time: the same model makes the same bytes */
    header[TYPE] = '0';
    memcpy(header + MAGIC,
           "ustar\0"
           "00",
           8);
    put_octal(header + SUM, 6, (uint64_t)sum_of(header));
    header[SUM + 7] = ' ';
    nadir_output_write(output, header, sizeof header);
}

void nadir_tar_write_end(nadir_output *output, int64_t bytes)
{
    static const char zeros[NADIR_TAR_BLOCK];
    nadir_output_write(output, zeros,
                       (size_t)((NADIR_TAR_BLOCK - bytes % NADIR_TAR_BLOCK) % NADIR_TAR_BLOCK));
}

void nadir_tar_write_close(nadir_output *output)
{
    static const char zeros[2 * NADIR_TAR_BLOCK];
    nadir_output_write(output, zeros, sizeof zeros);
}

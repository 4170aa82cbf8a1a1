/* archive.c: NumPy archives from bytes of a fuzzer; see archive.h. */
#include "archive.h"

#include "io/npz.h"

#include <string.h>

enum { ENTRIES = 32, HEAD = 46, LARGEST = 1 << 20 };

static const char *const types[] = {"f8", "i8", "i4", "f4", "b1", "u1", "i2", "u8", "U4", "S6", "U64", "c16"};
enum { TYPES = sizeof types / sizeof types[0] };

/* A zip file being made; the central directory is kept apart until the end. */
typedef struct archive {
    uint8_t bytes[LARGEST];
    size_t size;
    uint8_t directory[ENTRIES * (HEAD + 64)];
    size_t directory_size;
    unsigned entries;
} archive;

static uint32_t checksum(const uint8_t *bytes, size_t size)
{
    uint32_t sum = ~UINT32_C(0);
    for (size_t i = 0; i < size; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            sum = sum >> 1 ^ (UINT32_C(0xEDB88320) & (0 - (sum & 1)));
        }
    }
    return ~sum;
}

static uint8_t *put(uint8_t *at, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        *at++ = (uint8_t)(value >> 8 * i);
    }
    return at;
}

/* Version to extract, flags, method, time and date, checksum, both sizes, lengths of the name and of more. */
static uint8_t *put_common(uint8_t *at, uint32_t sum, size_t size, size_t name)
{
    at = put(at, 20, 2);
    at = put(at, 0, 4);
    at = put(at, 0x00210000, 4);
    at = put(at, sum, 4);
    at = put(at, (uint32_t)size, 4);
    at = put(at, (uint32_t)size, 4);
    at = put(at, (uint32_t)name, 2);
    return put(at, 0, 2);
}

static void add(archive *made, const char *name, const uint8_t *bytes, size_t size)
{
    const size_t length = strlen(name);
    if (made->entries == ENTRIES || made->size + size + sizeof made->directory + 512 > sizeof made->bytes) {
        return;
    }
    const uint32_t sum = checksum(bytes, size);
    const size_t offset = made->size;
    uint8_t *at = put(made->bytes + offset, 0x04034B50, 4);
    at = put_common(at, sum, size, length);
    memcpy(at, name, length);
    memcpy(at + length, bytes, size);
    made->size = (size_t)(at - made->bytes) + length + size;
    at = put(made->directory + made->directory_size, 0x02014B50, 4);
    at = put(at, 20, 2);
    at = put_common(at, sum, size, length);
    at = put(at, 0, 2);                /* of a comment */
    at = put(at, 0, 4);                /* disk, attributes */
    at = put(at, 0, 4);                /* more attributes */
    at = put(at, (uint32_t)offset, 4); /* where the entry stands */
    memcpy(at, name, length);
    made->directory_size = (size_t)(at - made->directory) + length;
    made->entries++;
}

static void finish(archive *made, size_t comment)
{
    const size_t offset = made->size;
    memcpy(made->bytes + made->size, made->directory, made->directory_size);
    made->size += made->directory_size;
    uint8_t *at = put(made->bytes + made->size, 0x06054B50, 4);
    at = put(at, 0, 4);
    at = put(at, made->entries, 2);
    at = put(at, made->entries, 2);
    at = put(at, (uint32_t)made->directory_size, 4);
    at = put(at, (uint32_t)offset, 4);
    at = put(at, (uint32_t)comment, 2);
    made->size = (size_t)(at - made->bytes);
}

/* The next entry; returns how many bytes it took, 0: there are no more. */
static size_t take(archive *made, const uint8_t *bytes, size_t size)
{
    static uint8_t item[NADIR_NPY_HEADER_LENGTH + 65536];
    char name[64];
    int64_t shape[NADIR_NPY_DIMENSIONS];
    if (size < 3) {
        return 0;
    }
    const int which = bytes[0] % (NADIR_NPZ_ARRAYS + 1);
    const int dimensions = bytes[2] % (NADIR_NPY_DIMENSIONS + 1);
    const size_t head = 3 + (size_t)dimensions + 2;
    if (size < head) {
        return 0;
    }
    for (int i = 0; i < dimensions; i++) {
        shape[i] = bytes[3 + i];
    }
    const size_t said = bytes[head - 2] + 256U * bytes[head - 1];
    const size_t length = said < size - head ? said : size - head;
    char header[NADIR_NPY_HEADER_LENGTH];
    const size_t before =
        bytes[1] >= 128 ? 0 : nadir_npy_header_bytes(types[bytes[1] % TYPES], dimensions, shape, header);
    memcpy(item, header, before);
    memcpy(item + before, bytes + head, length);
    snprintf(name, sizeof name, "%s.npy",
             which == NADIR_NPZ_ARRAYS ? "other" : nadir_npz_name((nadir_npz_which)which));
    add(made, name, item, before + length);
    return head + length;
}

const char *fuzz_archive(nadir_context *context, const uint8_t *bytes, size_t size, bool stores_digest)
{
    static archive made; /* too large to be cleared for each input */
    made.size = 0;
    made.directory_size = 0;
    made.entries = 0;
    for (size_t taken = take(&made, bytes, size); taken > 0; taken = take(&made, bytes, size)) {
        bytes += taken;
        size -= taken;
    }
    char comment[160];
    snprintf(comment, sizeof comment, "%s%s%s", nadir_npz_digest_form.before, NADIR_FILE_DIGEST_BLANK,
             nadir_npz_digest_form.after);
    finish(&made, stores_digest ? strlen(comment) : 0);
    if (stores_digest) {
        memcpy(made.bytes + made.size, comment, strlen(comment));
        made.size += strlen(comment);
    }
    const char *path = fuzz_file(".archive.npz", made.bytes, made.size);
    if (stores_digest) {
        fuzz_require(nadir_file_digest_store(context, path, &nadir_npz_digest_form) == NADIR_OK,
                     "a file can store its digest");
    }
    return path;
}

/*
 * checkpoint.c: a search as a file; see checkpoint.h.
 *
 *     file   = head part ... part digest
 *     head   = magic, identity, the sizes of the first part and of those that are always there, the number of
 *              pairs
 *     digest = SHA-256 of all bytes before it
 *
 * in this machine's byte order. The sizes are compared with those expected before anything is read.
 */
#include "policy/checkpoint.h"

#include "base/file.h"
#include "base/sha256.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

#define MAGIC "nadir checkpoint 2\n"

typedef struct head {
    char magic[24];
    char identity[72];
    int64_t first_bytes, fixed_bytes, pairs;
} head;

static int64_t count_bytes(const nadir_checkpoint *checkpoint, int count)
{
    int64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        bytes += (int64_t)checkpoint->parts[i].size;
    }
    return bytes;
}

static int count_parts(const nadir_checkpoint *checkpoint)
{
    return checkpoint->fixed + 2 * (int)checkpoint->pairs;
}

static head make_head(const nadir_checkpoint *checkpoint)
{
    head made;
    memset(&made, 0, sizeof made);
    memcpy(made.magic, MAGIC, sizeof MAGIC);
    memcpy(made.identity, checkpoint->identity, strlen(checkpoint->identity) + 1);
    made.first_bytes = (int64_t)checkpoint->parts[0].size;
    made.fixed_bytes = count_bytes(checkpoint, checkpoint->fixed);
    made.pairs = checkpoint->pairs;
    return made;
}

nadir_status nadir_checkpoint_write(nadir_context *context, const nadir_checkpoint *checkpoint,
                                    const char *path)
{
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    nadir_sha256 hash;
    unsigned char digest[NADIR_SHA256_BYTES];
    const head top = make_head(checkpoint);
    nadir_sha256_start(&hash);
    NADIR_CHECK(nadir_output_open(context, path, &output));
    nadir_output_write(&output, &top, sizeof top);
    nadir_sha256_update(&hash, &top, sizeof top);
    for (int i = 0; i < count_parts(checkpoint); i++) {
        nadir_output_write(&output, checkpoint->parts[i].bytes, checkpoint->parts[i].size);
        nadir_sha256_update(&hash, checkpoint->parts[i].bytes, checkpoint->parts[i].size);
    }
    nadir_sha256_finish(&hash, digest);
    nadir_output_write(&output, digest, sizeof digest);
    NADIR_CHECK(nadir_output_commit(context, &output));
cleanup:
    nadir_output_close(context, &output);
    return status;
}

static nadir_status misfit(nadir_context *context, const char *path, const char *what)
{
    return nadir_fail(context, NADIR_ERROR_FORMAT, "%s: %s", path, what);
}

/* Takes the number of pairs, too. */
static nadir_status check_head(nadir_context *context, nadir_checkpoint *checkpoint, const char *path,
                               const head *found, int64_t bytes)
{
    const head wanted = make_head(checkpoint);
    if (memcmp(found->magic, wanted.magic, sizeof wanted.magic) != 0) {
        return misfit(context, path, "not a checkpoint of this version of nadir");
    }
    if (memcmp(found->identity, wanted.identity, sizeof wanted.identity) != 0) {
        return misfit(
            context, path,
            "the checkpoint is of another model, ball or method; expected that of the same command");
    }
    if (found->first_bytes != wanted.first_bytes || found->fixed_bytes != wanted.fixed_bytes) {
        return misfit(context, path, "not a checkpoint of this version of nadir");
    }
    if (found->pairs < 0 || found->pairs > checkpoint->pairs_most) {
        return misfit(context, path, "the checkpoint is damaged");
    }
    checkpoint->pairs = found->pairs;
    const int64_t size =
        (int64_t)sizeof wanted + count_bytes(checkpoint, count_parts(checkpoint)) + NADIR_SHA256_BYTES;
    return size == bytes ? NADIR_OK : misfit(context, path, "the checkpoint is cut off or too long");
}

nadir_status nadir_checkpoint_read(nadir_context *context, nadir_checkpoint *checkpoint, const char *path)
{
    nadir_status status = NADIR_OK;
    nadir_input input = NADIR_INPUT_CLOSED;
    nadir_sha256 hash;
    unsigned char digest[NADIR_SHA256_BYTES];
    unsigned char stored[NADIR_SHA256_BYTES];
    head top;
    nadir_sha256_start(&hash);
    NADIR_CHECK(nadir_input_open(context, path, &input));
    NADIR_CHECK(nadir_input_read_all(context, &input, &top, sizeof top, "the head of a checkpoint"));
    NADIR_CHECK(check_head(context, checkpoint, path, &top, input.bytes));
    nadir_sha256_update(&hash, &top, sizeof top);
    for (int i = 0; i < count_parts(checkpoint); i++) {
        const nadir_checkpoint_part *part = &checkpoint->parts[i];
        NADIR_CHECK(nadir_input_read_all(context, &input, part->bytes, part->size, "a checkpoint"));
        nadir_sha256_update(&hash, part->bytes, part->size);
    }
    NADIR_CHECK(nadir_input_read_all(context, &input, stored, sizeof stored, "a checkpoint"));
    nadir_sha256_finish(&hash, digest);
    if (memcmp(digest, stored, sizeof digest) != 0) {
        status = misfit(context, path, "the checkpoint is damaged: its digest is another");
    }
cleanup:
    nadir_input_close(&input);
    return status;
}

bool nadir_checkpoint_is_count(int64_t number)
{
    return number >= 0 && number < INT64_C(1) << 53;
}

bool nadir_checkpoint_are_finite(int64_t count, const double *numbers)
{
    return isfinite(nadir_vector_largest(count, numbers));
}

nadir_status nadir_checkpoint_refuse(nadir_context *context, const char *path)
{
    return misfit(context, path, "the checkpoint holds numbers that no search has; begin without it");
}

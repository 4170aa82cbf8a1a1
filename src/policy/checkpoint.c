/*
 * checkpoint.c: an ascent as a file; see checkpoint.h.
 *
 *     file   = head state policy near_v near_d best { s y } digest
 *     head   = magic, identity, sizes and the number of pairs
 *     digest = SHA-256 of all bytes before it
 *
 * in this machine's byte order. The sizes are compared with those of the model before anything is read.
 */
#include "policy/checkpoint.h"

#include "base/file.h"
#include "base/sha256.h"

#include <math.h>
#include <string.h>

#define MAGIC "nadir checkpoint 1\n"

typedef struct head {
    char magic[24];
    char identity[72];
    int64_t states, rows, pairs, state_bytes;
} head;

/* An array of the file. */
typedef struct part {
    void *bytes;
    size_t size;
} part;

/* Policy, responses, best policy and pairs. */
enum { PARTS = 5 + 2 * NADIR_SECANTS_MOST };

static int list_parts(const nadir_ascent *ascent, double *policy, int pairs, part parts[PARTS])
{
    const size_t states = (size_t)ascent->duel.model->states * sizeof(double);
    const size_t rows = (size_t)ascent->duel.model->rows * sizeof(double);
    int count = 0;
    parts[count++] = (part){(void *)&ascent->state, sizeof ascent->state};
    parts[count++] = (part){policy, rows};
    parts[count++] = (part){ascent->near_v, states};
    parts[count++] = (part){ascent->near_d, states};
    parts[count++] = (part){ascent->best, rows};
    for (int i = 0; i < pairs; i++) {
        parts[count++] = (part){ascent->secants.s[i], rows};
        parts[count++] = (part){ascent->secants.y[i], rows};
    }
    return count;
}

static head make_head(const nadir_ascent *ascent)
{
    head made;
    memset(&made, 0, sizeof made);
    memcpy(made.magic, MAGIC, sizeof MAGIC);
    memcpy(made.identity, ascent->identity, sizeof ascent->identity);
    made.states = ascent->duel.model->states;
    made.rows = ascent->duel.model->rows;
    made.pairs = ascent->secants.count;
    made.state_bytes = (int64_t)sizeof ascent->state;
    return made;
}

nadir_status nadir_checkpoint_write(nadir_context *context, const nadir_ascent *ascent, const char *path)
{
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    nadir_sha256 hash;
    unsigned char digest[NADIR_SHA256_BYTES];
    part parts[PARTS];
    const head top = make_head(ascent);
    const int count = list_parts(ascent, ascent->here->policy->probabilities, ascent->secants.count, parts);
    nadir_sha256_start(&hash);
    NADIR_CHECK(nadir_output_open(context, path, &output));
    nadir_output_write(&output, &top, sizeof top);
    nadir_sha256_update(&hash, &top, sizeof top);
    for (int i = 0; i < count; i++) {
        nadir_output_write(&output, parts[i].bytes, parts[i].size);
        nadir_sha256_update(&hash, parts[i].bytes, parts[i].size);
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

static nadir_status check_head(nadir_context *context, const nadir_ascent *ascent, const char *path,
                               const head *found, int64_t bytes)
{
    const head wanted = make_head(ascent);
    if (memcmp(found->magic, wanted.magic, sizeof wanted.magic) != 0 ||
        found->state_bytes != wanted.state_bytes) {
        return misfit(context, path, "not a checkpoint of this version of nadir");
    }
    if (memcmp(found->identity, wanted.identity, sizeof wanted.identity) != 0 ||
        found->states != wanted.states || found->rows != wanted.rows) {
        return misfit(
            context, path,
            "the checkpoint is of another model, ball or method; expected that of the same command");
    }
    if (found->pairs < 0 || found->pairs > ascent->secants.most) {
        return misfit(context, path, "the checkpoint is damaged");
    }
    part parts[PARTS];
    int64_t size = (int64_t)sizeof wanted + NADIR_SHA256_BYTES;
    const int count = list_parts(ascent, ascent->direction, (int)found->pairs, parts);
    for (int i = 0; i < count; i++) {
        size += (int64_t)parts[i].size;
    }
    return size == bytes ? NADIR_OK : misfit(context, path, "the checkpoint is cut off or too long");
}

nadir_status nadir_checkpoint_read(nadir_context *context, nadir_ascent *ascent, const char *path)
{
    nadir_status status = NADIR_OK;
    nadir_input input = NADIR_INPUT_CLOSED;
    nadir_sha256 hash;
    unsigned char digest[NADIR_SHA256_BYTES];
    unsigned char stored[NADIR_SHA256_BYTES];
    part parts[PARTS];
    head top;
    nadir_sha256_start(&hash);
    NADIR_CHECK(nadir_input_open(context, path, &input));
    NADIR_CHECK(nadir_input_read_all(context, &input, &top, sizeof top, "the head of a checkpoint"));
    NADIR_CHECK(check_head(context, ascent, path, &top, input.bytes));
    nadir_sha256_update(&hash, &top, sizeof top);
    const int count = list_parts(ascent, ascent->direction, (int)top.pairs, parts);
    for (int i = 0; i < count; i++) {
        NADIR_CHECK(nadir_input_read_all(context, &input, parts[i].bytes, parts[i].size, "a checkpoint"));
        nadir_sha256_update(&hash, parts[i].bytes, parts[i].size);
    }
    NADIR_CHECK(nadir_input_read_all(context, &input, stored, sizeof stored, "a checkpoint"));
    nadir_sha256_finish(&hash, digest);
    ascent->secants.count = (int)top.pairs;
    if (memcmp(digest, stored, sizeof digest) != 0) {
        status = misfit(context, path, "the checkpoint is damaged: its digest is another");
    }
cleanup:
    nadir_input_close(&input);
    return status;
}

/*
 * checkpoint_file.c: the robust optimum with its checkpoints in files. Written whole or not at all; a changed
 * byte shows.
 *
 *     file   = head part ... part digest
 *     head   = magic, identity, the sizes of the first part and of those that are always there, the number of
 *              pairs
 *     digest = SHA-256 of all bytes before it
 *
 * in this machine's byte order. The sizes are compared with those expected before anything is read.
 *
 * Where states are spread over processes the file is the same: process 0 collects each part and writes it,
 * and every process reads all of the file and keeps what is its own. The first part is the same for all of
 * them.
 */
#include "policy/checkpoint.h"

#include "core/file.h"
#include "linalg/distributed.h"

#include <string.h>

#define MAGIC "nadir checkpoint 2\n"

typedef struct head {
    char magic[24];
    char identity[72];
    int64_t first_bytes, fixed_bytes, pairs;
} head;

/* A part in the file: all of it, and where the own share of it begins. */
typedef struct extent {
    int64_t whole, own;
} extent;

enum { PARTS = NADIR_CHECKPOINT_FIXED + 2 * NADIR_LBFGS_PAIRS };

/* Of the parts that may be. Every process calls at once. */
static void measure(const nadir_context *context, const nadir_checkpoint *checkpoint, extent extents[PARTS])
{
    const int64_t most =
        checkpoint->pairs > checkpoint->pairs_most ? checkpoint->pairs : checkpoint->pairs_most;
    for (int i = 0; i < checkpoint->fixed + 2 * (int)most; i++) {
        const int64_t size = (int64_t)checkpoint->parts[i].size;
        const int64_t numbers = size / (int64_t)sizeof(double);
        extents[i] = (extent){size, 0};
        if (i > 0 && context->communication->members > 1) {
            extents[i].whole = nadir_global_count(context, numbers) * (int64_t)sizeof(double);
            extents[i].own = nadir_global_first(context, numbers) * (int64_t)sizeof(double);
        }
    }
}

static int64_t count_bytes(const extent *extents, int count)
{
    int64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        bytes += extents[i].whole;
    }
    return bytes;
}

static int count_parts(const nadir_checkpoint *checkpoint)
{
    return checkpoint->fixed + 2 * (int)checkpoint->pairs;
}

static head make_head(const nadir_checkpoint *checkpoint, const extent *extents)
{
    head made;
    memset(&made, 0, sizeof made);
    memcpy(made.magic, MAGIC, sizeof MAGIC);
    memcpy(made.identity, checkpoint->identity, strlen(checkpoint->identity) + 1);
    made.first_bytes = (int64_t)checkpoint->parts[0].size;
    made.fixed_bytes = count_bytes(extents, checkpoint->fixed);
    made.pairs = checkpoint->pairs;
    return made;
}

/* *bytes <- all of a part, on process 0; room: [its size] where there are several processes. */
static nadir_status collect(nadir_context *context, const nadir_checkpoint_part *part, bool first,
                            double *room, const void **bytes)
{
    const nadir_communication *table = context->communication;
    *bytes = first || table->members == 1 ? part->bytes : room;
    return *bytes == part->bytes ? NADIR_OK
                                 : table->collect(table->self, context, (int64_t)(part->size / sizeof *room),
                                                  part->bytes, room);
}

/* The parts into the output, which only process 0 has. */
static nadir_status write_parts(nadir_context *context, const nadir_checkpoint *checkpoint,
                                const extent *extents, nadir_output *output, nadir_sha256 *hash)
{
    nadir_status status = NADIR_OK;
    const nadir_communication *table = context->communication;
    int64_t longest = 0;
    double *room = NULL;
    for (int i = 1; i < count_parts(checkpoint); i++) {
        longest = extents[i].whole > longest ? extents[i].whole : longest;
    }
    const bool gathers = table->members > 1 && table->rank == 0;
    NADIR_NEW(context, room, gathers ? longest / (int64_t)sizeof *room : 0);
    for (int i = 0; i < count_parts(checkpoint); i++) {
        const void *bytes;
        NADIR_CHECK(collect(context, &checkpoint->parts[i], i == 0, room, &bytes));
        if (table->rank == 0) {
            nadir_output_write(output, bytes, (size_t)extents[i].whole);
            nadir_sha256_update(hash, bytes, (size_t)extents[i].whole);
        }
    }
cleanup:
    nadir_release(context, room);
    return status;
}

/* user: the settings, which name the file. */
static nadir_status write_checkpoint(void *user, nadir_context *context, const nadir_checkpoint *checkpoint)
{
    nadir_status status = NADIR_OK;
    const char *path = ((const nadir_robust_optimum_settings *)user)->checkpoint;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    nadir_sha256 hash;
    unsigned char digest[NADIR_SHA256_BYTES];
    extent extents[PARTS] = {{0}};
    const bool writes = context->communication->rank == 0;
    measure(context, checkpoint, extents);
    const head top = make_head(checkpoint, extents);
    nadir_sha256_start(&hash);
    if (writes) {
        NADIR_CHECK(nadir_output_open(context, path, &output));
        nadir_output_write(&output, &top, sizeof top);
        nadir_sha256_update(&hash, &top, sizeof top);
    }
    NADIR_CHECK(write_parts(context, checkpoint, extents, &output, &hash));
    if (writes) {
        nadir_sha256_finish(&hash, digest);
        nadir_output_write(&output, digest, sizeof digest);
        NADIR_CHECK(nadir_output_commit(context, &output));
    }
cleanup:
    nadir_output_close(context, &output);
    return status;
}

static nadir_status misfit(nadir_context *context, const char *path, const char *what)
{
    return nadir_fail(context, NADIR_ERROR_FORMAT, "%s: %s", path, what);
}

/* Takes the number of pairs, too. */
static nadir_status check_head(nadir_context *context, nadir_checkpoint *checkpoint, const extent *extents,
                               const char *path, const head *found, int64_t bytes)
{
    const head wanted = make_head(checkpoint, extents);
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
        (int64_t)sizeof wanted + count_bytes(extents, count_parts(checkpoint)) + NADIR_SHA256_BYTES;
    return size == bytes ? NADIR_OK : misfit(context, path, "the checkpoint is cut off or too long");
}

/* The next part: the own share of it is kept. */
static nadir_status read_part(nadir_context *context, nadir_input *input, const nadir_checkpoint_part *part,
                              extent run, nadir_sha256 *hash)
{
    char others[8192] = {0};
    const int64_t end = run.own + (int64_t)part->size;
    for (int64_t done = 0; done < run.whole;) {
        const bool own = done >= run.own && done < end;
        const int64_t until = own ? end : done < run.own ? run.own : run.whole;
        const int64_t piece =
            own || until - done < (int64_t)sizeof others ? until - done : (int64_t)sizeof others;
        char *to = own ? (char *)part->bytes + (done - run.own) : others;
        NADIR_TRY(nadir_input_read_all(context, input, to, (size_t)piece, "a checkpoint"));
        nadir_sha256_update(hash, to, (size_t)piece);
        done += piece;
    }
    return NADIR_OK;
}

static nadir_status read_checkpoint(void *user, nadir_context *context, nadir_checkpoint *checkpoint)
{
    nadir_status status = NADIR_OK;
    const char *path = ((const nadir_robust_optimum_settings *)user)->resume;
    nadir_input input = NADIR_INPUT_CLOSED;
    nadir_sha256 hash;
    unsigned char digest[NADIR_SHA256_BYTES];
    unsigned char stored[NADIR_SHA256_BYTES];
    head top;
    extent extents[PARTS] = {{0}};
    measure(context, checkpoint, extents);
    nadir_sha256_start(&hash);
    NADIR_CHECK(nadir_input_open(context, path, &input));
    NADIR_CHECK(nadir_input_read_all(context, &input, &top, sizeof top, "the head of a checkpoint"));
    NADIR_CHECK(check_head(context, checkpoint, extents, path, &top, input.bytes));
    nadir_sha256_update(&hash, &top, sizeof top);
    for (int i = 0; i < count_parts(checkpoint); i++) {
        NADIR_CHECK(read_part(context, &input, &checkpoint->parts[i], extents[i], &hash));
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

nadir_status nadir_robust_optimum(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                  const nadir_robust_optimum_settings *settings, nadir_policy **policy,
                                  nadir_robust_optimum_result *result, nadir_robust *evaluation,
                                  nadir_worst **worst)
{
    nadir_robust_optimum_settings use;
    nadir_robust_optimum_settings_default(&use);
    *policy = NULL;
    if (settings != NULL && !nadir_settings_copy(&use, sizeof use, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the size of the settings of the robust optimum is not set");
    }
    const nadir_checkpoint_store store = {.write = use.checkpoint != NULL ? write_checkpoint : NULL,
                                          .read = use.resume != NULL ? read_checkpoint : NULL,
                                          .user = &use,
                                          .name = use.resume};
    return nadir_robust_optimum_run(context, model, ball, &use, &store, policy, result, evaluation, worst);
}

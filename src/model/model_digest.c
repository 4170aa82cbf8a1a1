/*
 * model_digest.c: SHA-256 of what a model or a policy says, whichever way it is stored.
 *
 * Hashed, in this order, integers and doubles as 8 bytes little-endian, -0 as 0: a tag; states, rows; for
 * each state the number of its rows and mu; for each row its number of nonzeros, their successors and
 * probabilities, its reward, its scale; the discount. An unknown number is hashed as one fixed NaN.
 */
#include "core/file.h"
#include "model/policy.h"

#include <endian.h>
#include <math.h>
#include <string.h>

enum { BUFFER_WORDS = 4096 };

typedef struct digest_state {
    nadir_sha256 hash;
    uint64_t buffer[BUFFER_WORDS]; /* little-endian; [used] are not hashed yet */
    size_t used;
} digest_state;

static inline void add_bits(digest_state *digester, uint64_t bits)
{
    if (digester->used == BUFFER_WORDS) {
        nadir_sha256_update(&digester->hash, digester->buffer, sizeof digester->buffer);
        digester->used = 0;
    }
    digester->buffer[digester->used++] = htole64(bits);
}

static inline void add_integer(digest_state *digester, int64_t value)
{
    add_bits(digester, (uint64_t)value);
}

static inline void add_double(digest_state *digester, double value)
{
    const double plain = isnan(value) ? (double)NAN : value + 0.0; /* -0 + 0 = 0 */
    uint64_t bits;
    memcpy(&bits, &plain, sizeof bits);
    add_bits(digester, bits);
}

static void start(digest_state *digester, uint64_t tag)
{
    nadir_sha256_start(&digester->hash);
    digester->used = 0;
    add_bits(digester, tag);
}

static void finish(digest_state *digester, char text[65])
{
    unsigned char bytes[NADIR_SHA256_BYTES];
    nadir_sha256_update(&digester->hash, digester->buffer, digester->used * sizeof *digester->buffer);
    nadir_sha256_finish(&digester->hash, bytes);
    nadir_sha256_hex(bytes, text);
}

static int64_t count_nonzeros(const nadir_row *entries)
{
    int64_t count = 0;
    for (int64_t i = 0; i < entries->count; i++) {
        count += entries->values[i] > 0;
    }
    return count;
}

static void add_row(digest_state *digester, const nadir_model *model, int64_t row)
{
    const nadir_row entries = nadir_model_row(model, row);
    add_integer(digester, count_nonzeros(&entries));
    for (int64_t i = 0; i < entries.count; i++) {
        if (entries.values[i] > 0) {
            add_integer(digester, nadir_row_column(&entries, i));
            add_double(digester, entries.values[i]);
        }
    }
    add_double(digester, model->rewards != NULL ? model->rewards[row] : NAN);
    add_double(digester, model->scales != NULL ? model->scales[row] : 1);
}

nadir_status nadir_model_digest(nadir_context *context, const nadir_model *model, char digest[65])
{
    nadir_status status = NADIR_OK;
    digest_state digester;
    if (model->exchange != NULL) {
        digest[0] = '\0'; /* no process has the whole model */
        return NADIR_OK;
    }
    start(&digester, 0x314c45444f4dU); /* "MODEL1" */
    add_integer(&digester, model->states);
    add_integer(&digester, model->rows);
    for (int64_t s = 0; s < model->states; s++) {
        add_integer(&digester, model->state_rows[s + 1] - model->state_rows[s]);
        add_double(&digester, model->initial[s]);
    }
    for (int64_t row = 0; row < model->rows; row++) {
        add_row(&digester, model, row);
        if (row % 64 == 0) {
            NADIR_CHECK(nadir_progress(context, "hashing", (double)row / (double)model->rows));
        }
    }
    add_double(&digester, model->discount);
    finish(&digester, digest);
cleanup:
    return status;
}

nadir_status nadir_policy_digest(nadir_context *context, const nadir_policy *policy, char digest[65])
{
    digest_state digester;
    if (context->engine != NULL) {
        digest[0] = '\0'; /* nor the whole policy */
        return NADIR_OK;
    }
    start(&digester, 0x3159434c4f50U); /* "POLCY1" */
    add_integer(&digester, policy->rows);
    for (int64_t row = 0; row < policy->rows; row++) {
        add_double(&digester, policy->probabilities[row]);
    }
    finish(&digester, digest);
    return NADIR_OK;
}

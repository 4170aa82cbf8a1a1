/* checkpoint.c: what a checkpoint is good for, one model, ball and method, and what it may hold. */
#include "policy/checkpoint.h"

#include "core/file.h"
#include "linalg/distributed.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

static void add_numbers(nadir_sha256 *sha, const double *numbers, int64_t count)
{
    nadir_sha256_update(sha, &count, sizeof count);
    nadir_sha256_update(sha, numbers, (size_t)count * sizeof *numbers);
}

/* One number of a model, told apart from all others by what it is (a letter) and its place. */
static uint64_t mix(uint64_t kind, int64_t row, int64_t column, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t words[] = {kind, (uint64_t)row, (uint64_t)column, bits};
    uint64_t mixed = 0;
    for (int i = 0; i < 4; i++) { /* splitmix64 */
        mixed += words[i] + UINT64_C(0x9e3779b97f4a7c15);
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        mixed ^= mixed >> 31;
    }
    return mixed;
}

/* The sum of all processes, modulo 2^64: in pieces whose sums are exact. */
static uint64_t join(const nadir_context *context, uint64_t own)
{
    uint64_t sum = 0;
    for (int shift = 0; shift < 64; shift += 16) {
        sum += (uint64_t)nadir_allreduce_sum(context, (double)(own >> shift & 0xffff)) << shift;
    }
    return sum;
}

/* What a model and a ball that are spread over processes say, however they are: a sum over all numbers. */
static void add_spread(const nadir_context *context, const nadir_model *model, const nadir_uncertainty *set,
                       nadir_sha256 *sha)
{
    const int64_t first = nadir_model_first(model);
    const int64_t first_row = nadir_global_first(context, model->rows);
    uint64_t own = 0;
    for (int64_t s = 0; s < model->states; s++) {
        own += mix('m', first + s, 0, model->initial[s]);
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            const int64_t place = first_row + row;
            for (int64_t i = 0; i < entries.count; i++) {
                const int64_t column = nadir_exchange_index(model->exchange, nadir_row_column(&entries, i));
                own += mix('P', place, column, entries.values[i]);
            }
            own += mix('R', place, first + s, model->rewards[row]);
            own += mix('a', place, 0, nadir_uncertainty_scale(set, row));
            own += mix('b', place, 0, nadir_uncertainty_radius(set, s, row));
        }
    }
    const uint64_t all = join(context, own);
    const int64_t sizes[] = {nadir_model_total(model), nadir_global_count(context, model->rows)};
    nadir_sha256_update(sha, &all, sizeof all);
    nadir_sha256_update(sha, sizes, sizeof sizes);
    add_numbers(sha, &model->discount, 1);
}

nadir_status nadir_search_identify(nadir_context *context, const nadir_model *model,
                                   const nadir_uncertainty *set, int64_t method, char identity[65])
{
    nadir_status status = NADIR_OK;
    const int64_t kinds[] = {(int64_t)set->set, (int64_t)set->domain, method};
    char of_model[65];
    const bool spread = model->exchange != NULL;
    unsigned char digest[NADIR_SHA256_BYTES];
    nadir_sha256 sha;
    memset(of_model, 0, sizeof of_model);
    NADIR_CHECK(nadir_model_digest(context, model, of_model));
    nadir_sha256_start(&sha);
    nadir_sha256_update(&sha, of_model, sizeof of_model);
    nadir_sha256_update(&sha, kinds, sizeof kinds);
    add_numbers(&sha, (const double[]){set->p, set->radius}, 2);
    if (spread) {
        add_spread(context, model, set, &sha);
    }
    if (set->radii != NULL && !spread) {
        add_numbers(&sha, set->radii, set->set == NADIR_SET_S ? model->states : model->rows);
    }
    if (set->scales != NULL && !spread) {
        add_numbers(&sha, set->scales, model->rows);
    }
    nadir_sha256_finish(&sha, digest);
    nadir_sha256_hex(digest, identity);
cleanup:
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

nadir_status nadir_checkpoint_refuse(nadir_context *context, const nadir_checkpoint_store *store)
{
    return nadir_fail(context, NADIR_ERROR_FORMAT,
                      "%s: the checkpoint holds numbers that no search has; begin without it", store->name);
}

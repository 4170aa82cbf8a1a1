/* identity.c: what a checkpoint is good for: one model, ball and method; see checkpoint.h. */
#include "base/sha256.h"
#include "policy/checkpoint.h"

static void add_numbers(nadir_sha256 *sha, const double *numbers, int64_t count)
{
    nadir_sha256_update(sha, &count, sizeof count);
    nadir_sha256_update(sha, numbers, (size_t)count * sizeof *numbers);
}

nadir_status nadir_search_identify(nadir_context *context, const nadir_model *model,
                                   const nadir_uncertainty *set, int64_t method, char identity[65])
{
    nadir_status status = NADIR_OK;
    const int64_t kinds[] = {(int64_t)set->set, (int64_t)set->domain, method};
    char of_model[65];
    unsigned char digest[NADIR_SHA256_BYTES];
    nadir_sha256 sha;
    NADIR_CHECK(nadir_model_digest(context, model, of_model));
    nadir_sha256_start(&sha);
    nadir_sha256_update(&sha, of_model, sizeof of_model);
    nadir_sha256_update(&sha, kinds, sizeof kinds);
    add_numbers(&sha, (const double[]){set->p, set->radius}, 2);
    if (set->radii != NULL) {
        add_numbers(&sha, set->radii, set->set == NADIR_SET_S ? model->states : model->rows);
    }
    if (set->scales != NULL) {
        add_numbers(&sha, set->scales, model->rows);
    }
    nadir_sha256_finish(&sha, digest);
    nadir_sha256_hex(digest, identity);
cleanup:
    return status;
}

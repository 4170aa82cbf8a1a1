/*
 * target_model.c: every reader of models. The first byte chooses the ending of the file, the second the
 * settings, the rest is the file.
 */
#include "fuzz.h"

#include <math.h>
#include <string.h>

static const char *const endings[] = {".csv",   ".npz", ".tra", ".drn", ".MDP",
                                      ".pomdp", ".bin", ".txt", ".umb"};
enum { ENDINGS = sizeof endings / sizeof endings[0] };

/* What a reader accepted is a model: rows are distributions, and it survives being written. */
static void require_model(nadir_context *context, nadir_model *model)
{
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    fuzz_require(view.states > 0 && view.rows >= view.states, "a model has states, and these have rows");
    for (int64_t row = 0; row < view.rows; row++) {
        double sum = 0;
        if (view.dense != NULL) {
            for (int64_t t = 0; t < view.states; t++) {
                sum += view.dense[row * view.states + t];
            }
        } else {
            for (int64_t i = view.row_starts[row]; i < view.row_starts[row + 1]; i++) {
                fuzz_require(view.columns[i] >= 0 && view.columns[i] < view.states, "successors are states");
                fuzz_require(view.probabilities[i] > 0, "stored probabilities are positive");
                sum += view.probabilities[i];
            }
        }
        fuzz_require(fabs(sum - 1) < 1e-9, "rows sum to one");
    }
    nadir_model_facts facts;
    nadir_model_facts_default(&facts);
    char digest[65];
    char again[65];
    if (nadir_model_facts_compute(context, model, &facts) != NADIR_OK ||
        nadir_model_digest(context, model, digest) != NADIR_OK) {
        return; /* memory */
    }
    const char *path = fuzz_file(".copy.npz", NULL, 0);
    nadir_model *copy = NULL;
    if (nadir_model_write(context, model, path, NULL) == NADIR_OK &&
        nadir_model_read(context, path, NULL, &copy) == NADIR_OK &&
        nadir_model_digest(context, copy, again) == NADIR_OK) {
        fuzz_require(strcmp(digest, again) == 0, "a model that is written and read is the same");
    }
    nadir_model_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2) {
        return 0;
    }
    nadir_context *context = fuzz_context();
    nadir_read_settings settings;
    nadir_read_settings_default(&settings);
    settings.costs = (bytes[1] & 1) != 0;
    settings.frozen_rewards = (bytes[1] & 2) != 0;
    settings.unseen = (nadir_unseen)((bytes[1] >> 5) % 3);
    settings.layout = (nadir_layout)((bytes[1] >> 2) % 3);
    settings.discount = (bytes[1] & 16) != 0 ? 0.9 : NAN;
    nadir_model *model = NULL;
    const char *path = fuzz_file(endings[bytes[0] % ENDINGS], bytes + 2, size - 2);
    if (nadir_model_read(context, path, &settings, &model) == NADIR_OK) {
        require_model(context, model);
    } else {
        fuzz_require(nadir_context_error(context)[0] != '\0', "who refuses a file says why");
    }
    nadir_model_free(model);
    nadir_context_free(context);
    return 0;
}

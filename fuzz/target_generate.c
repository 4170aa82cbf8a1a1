/*
 * target_generate.c: settings of the generators. The input is a kind, and then names and values, one on each
 * line: what `nadir generate` gets from its options.
 */
#include "fuzz.h"

#include "core/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sizes at which a model takes seconds say nothing that smaller ones do not. */
enum { LARGEST = 200 };

static void require_distributions(const nadir_model *model)
{
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    for (int64_t row = 0; row < view.rows; row++) {
        double sum = 0;
        const int64_t start = view.dense != NULL ? row * view.states : view.row_starts[row];
        const int64_t end = view.dense != NULL ? start + view.states : view.row_starts[row + 1];
        for (int64_t i = start; i < end; i++) {
            sum += view.dense != NULL ? view.dense[i] : view.probabilities[i];
        }
        fuzz_require(fabs(sum - 1) < 1e-9, "rows sum to one");
        fuzz_require(isfinite(view.rewards[row]), "rewards are finite");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    fuzz_require(text != NULL, "there is memory for the text");
    memcpy(text, bytes, size);
    text[size] = '\0';
    nadir_context *context = fuzz_context();
    nadir_generate_settings settings;
    nadir_generate_settings_default(&settings);
    char *rest = text;
    const char *kind = strsep(&rest, "\n");
    nadir_status status = NADIR_OK;
    while (rest != NULL && status == NADIR_OK) {
        const char *name = strsep(&rest, "\n");
        const char *word = rest != NULL ? strsep(&rest, "\n") : "";
        double value = 0;
        if (nadir_number_parse_double(word, word + strlen(word), &value) == NULL || fabs(value) > LARGEST) {
            value = fmod(value, LARGEST);
        }
        status = nadir_generate_settings_set(context, &settings, name, value);
    }
    nadir_model *model = NULL;
    if (status == NADIR_OK && nadir_model_generate(context, kind, &settings, &model) == NADIR_OK) {
        require_distributions(model);
    }
    nadir_model_free(model);
    nadir_context_free(context);
    free(text);
    return 0;
}

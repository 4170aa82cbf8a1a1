/*
 * target_fit.c: from data to a ball. Three bytes choose the settings, the rest is the file of data, which may
 * also be the file of the successors that are possible.
 */
#include "fuzz.h"

#include "model/model.h"

#include <math.h>

static const char *const methods[] = {NULL, "posterior", "bootstrap", "distribution-free"};
static const char *const successors[] = {NULL, "seen", "all"};
static const char *const unvisited[] = {"uniform", "pin", "absorb"};
static const char *const scales[] = {"auto", "ones", "deviation", "occupancy", "sensitivity"};
static const double norms[] = {2, 1, 3, INFINITY};

static nadir_fit_settings choose(const uint8_t bytes[3], const char *path)
{
    nadir_fit_settings settings;
    nadir_fit_settings_default(&settings);
    settings.method = methods[bytes[0] % 4];
    settings.successors = (bytes[0] & 64) != 0 ? path : successors[bytes[0] / 4 % 3];
    settings.unvisited = unvisited[bytes[1] % 3];
    settings.scales = scales[bytes[1] / 4 % 5];
    settings.ragged = (bytes[1] & 64) != 0;
    settings.costs = (bytes[1] & 128) != 0;
    settings.norm = norms[bytes[2] % 4];
    settings.set = (nadir_set)(bytes[2] / 4 % 3);
    settings.discount = (bytes[2] & 32) != 0 ? NAN : 0.9;
    settings.samples = 20;
    return settings;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 3 || size > 4096) { /* larger files are slower, and say nothing else */
        return 0;
    }
    nadir_context *context = fuzz_context();
    const char *path = fuzz_file(".csv", bytes + 3, size - 3);
    const nadir_fit_settings settings = choose(bytes, path);
    nadir_fit *fit = NULL;
    nadir_model *model = NULL;
    nadir_fit_result result = {.size = sizeof result};
    nadir_status status = nadir_fit_read(context, path, &settings, &fit);
    if (status == NADIR_OK && nadir_fit_nominal(fit)->states <= 12) {
        status = nadir_fit_model(context, fit, NULL, &result, &model);
        fuzz_require((status == NADIR_OK) == (model != NULL), "who is done has a model");
    }
    if (model != NULL) {
        fuzz_require(result.states == model->states, "the result is of the model");
        fuzz_require(result.sets[0].radius >= 0 && isfinite(result.sets[0].radius), "a radius is one");
    }
    fuzz_require(status == NADIR_OK || nadir_context_error(context)[0] != '\0', "who refuses says why");
    nadir_model_free(model);
    nadir_fit_free(fit);
    nadir_context_free(context);
    return 0;
}

/*
 * target_archive.c: NumPy archives whose checksums are right, as models, as parts of models, as kernels, and
 * as kernels with their digest, to be verified. The first byte chooses which; see archive.h for the rest.
 */
#include "archive.h"

#include "core/engine.h"
#include "io/npz.h"
#include "io/result_files.h"
#include "model/model.h"

#include <math.h>

static void read_model(nadir_context *context, const char *path, unsigned choice)
{
    nadir_read_settings settings;
    nadir_read_settings_default(&settings);
    settings.layout = (nadir_layout)(choice / 2 % 3);
    nadir_model *model = NULL;
    if (nadir_model_read(context, path, &settings, &model) == NADIR_OK) {
        char digest[65];
        fuzz_require(model->states > 0 && model->rows >= model->states, "a model has states with rows");
        fuzz_require(nadir_model_digest(context, model, digest) == NADIR_OK, "a model has a digest");
    }
    nadir_model_free(model);
}

/* As a process of an engine does it that happens to be alone. */
static void read_part(nadir_context *context, const char *path)
{
    nadir_read_settings settings;
    nadir_read_settings_default(&settings);
    static const nadir_engine_table engine = {.name = "fuzz"};
    nadir_model *model = NULL;
    context->engine = &engine;
    if (nadir_model_read(context, path, &settings, &model) == NADIR_OK) {
        fuzz_require(model->states > 0 && model->rows >= model->states, "a model has states with rows");
    }
    nadir_model_free(model);
    context->engine = NULL;
}

static void read_kernel(nadir_context *context, const char *path)
{
    nadir_model *model = fuzz_model(context);
    nadir_kernel *kernel = NULL;
    nadir_kernel_parameters parameters;
    if (nadir_kernel_file_read(context, model, path, &kernel, &parameters) == NADIR_OK) {
        fuzz_require(kernel != NULL && parameters.radius_count >= 0, "who is done has a kernel");
        nadir_kernel_parameters_clear(context, &parameters);
    }
    nadir_kernel_free(kernel);
    nadir_model_free(model);
}

static void verify_kernel(nadir_context *context, const char *path)
{
    nadir_model *model = fuzz_model(context);
    nadir_policy *policy = fuzz_policy(context, model);
    nadir_verify_settings settings;
    nadir_verify_settings_default(&settings);
    settings.kernel = path;
    nadir_verify_result result = {.size = sizeof result};
    nadir_verification *verification = NULL;
    const nadir_status status = nadir_verify(context, model, policy, &settings, &result, &verification);
    fuzz_require((status == NADIR_OK) == (verification != NULL && result.verified), "the verdict is one");
    nadir_verification_free(verification);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1) {
        return 0;
    }
    nadir_context *context = fuzz_context();
    const int which = bytes[0] % 4;
    const char *path = fuzz_archive(context, bytes + 1, size - 1, which == 3);
    switch (which) {
    case 0:
        read_model(context, path, bytes[0] / 4);
        break;
    case 1:
        read_part(context, path);
        break;
    case 2:
        read_kernel(context, path);
        break;
    default:
        verify_kernel(context, path);
    }
    nadir_context_free(context);
    return 0;
}

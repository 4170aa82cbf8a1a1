/*
 * target_part.c: what a process of an engine reads: models and rewards of PETSc, and policies. The process is
 * alone. The first byte chooses which file, the rest is the file.
 */
#include "fuzz.h"

#include "core/engine.h"
#include "model/model.h"

/* Of a file that a model is made of, or of its rewards. */
static void read_model(nadir_context *context, const char *path, const char *rewards)
{
    nadir_read_settings settings;
    nadir_read_settings_default(&settings);
    settings.rewards = rewards;
    static const nadir_engine_table engine = {.name = "fuzz"};
    nadir_model *model = NULL;
    context->engine = &engine; /* models are then spread over processes */
    if (nadir_model_read(context, path, &settings, &model) == NADIR_OK) {
        fuzz_require(model->states > 0 && model->rows >= model->states, "a model has states with rows");
    }
    nadir_model_free(model);
    context->engine = NULL;
}

static void read_policy(nadir_context *context, const char *path)
{
    nadir_model *model = fuzz_model(context);
    nadir_policy *policy = NULL;
    const nadir_status status = nadir_policy_read(context, model, path, &policy);
    fuzz_require((status == NADIR_OK) == (policy != NULL), "who is done has a policy");
    nadir_policy_free(policy);
    nadir_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1) {
        return 0;
    }
    nadir_context *context = fuzz_context();
    const char *path = fuzz_file(".part", bytes + 1, size - 1);
    switch (bytes[0] % 3) {
    case 0:
        read_model(context, path, NULL);
        break;
    case 1: {
        nadir_model *model = fuzz_model(context);
        const char *kernel = fuzz_file(".bin", NULL, 0);
        fuzz_file(".bin.g.bin", NULL, 0); /* so that it goes when the process ends */
        fuzz_require(nadir_model_write(context, model, kernel, NULL) == NADIR_OK, "a model can be written");
        nadir_model_free(model);
        read_model(context, kernel, path);
        break;
    }
    default:
        read_policy(context, path);
    }
    nadir_context_free(context);
    return 0;
}

/*
 * target_companion.c: the files that go with a model: rewards and labels of PRISM, rewards of PETSc, and the
 * initial distribution. The first byte chooses which, the rest is the file.
 */
#include "fuzz.h"

#include <math.h>
#include <string.h>

static const char transitions[] = "3 4 6\n0 0 0 0.5\n0 0 1 0.5\n0 1 2 1\n1 0 0 1\n2 0 1 0.25\n2 0 2 0.75\n";

/* RiverSwim as PETSc has it. */
static const char *petsc_model(nadir_context *context)
{
    nadir_model *model = fuzz_model(context);
    const char *path = fuzz_file(".bin", NULL, 0);
    fuzz_file(".bin.g.bin", NULL, 0); /* so that it goes when the process ends */
    fuzz_require(nadir_model_write(context, model, path, NULL) == NADIR_OK, "a model can be written");
    nadir_model_free(model);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1) {
        return 0;
    }
    nadir_context *context = fuzz_context();
    nadir_read_settings settings;
    nadir_read_settings_default(&settings);
    settings.discount = 0.9;
    const char *model_file = fuzz_file(".tra", (const uint8_t *)transitions, strlen(transitions));
    switch (bytes[0] % 5) {
    case 0:
        settings.rewards = fuzz_file(".trew", bytes + 1, size - 1);
        break;
    case 1:
        settings.rewards = fuzz_file(".srew", bytes + 1, size - 1);
        break;
    case 2:
        settings.labels = fuzz_file(".lab", bytes + 1, size - 1);
        break;
    case 3:
        settings.initial = fuzz_file(".csv", bytes + 1, size - 1);
        break;
    default:
        model_file = petsc_model(context);
        settings.rewards = fuzz_file(".g.bin", bytes + 1, size - 1);
        break;
    }
    nadir_model *model = NULL;
    if (nadir_model_read(context, model_file, &settings, &model) == NADIR_OK) {
        nadir_model_data view;
        nadir_model_data_default(&view);
        nadir_model_view(model, &view);
        double sum = 0;
        for (int64_t s = 0; s < view.states; s++) {
            sum += view.initial[s];
        }
        fuzz_require(fabs(sum - 1) < 1e-9, "the initial distribution sums to one");
    }
    nadir_model_free(model);
    nadir_context_free(context);
    return 0;
}

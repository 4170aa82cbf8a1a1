/*
 * target_policy.c: policies, and numbers for states or rows. The first byte chooses the ending and which of
 * the two; the rest is the file.
 */
#include "fuzz.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1) {
        return 0;
    }
    nadir_context *context = fuzz_context();
    nadir_model *model = fuzz_model(context);
    const char *path = fuzz_file((bytes[0] & 1) != 0 ? ".npy" : ".csv", bytes + 1, size - 1);
    if ((bytes[0] & 2) != 0) {
        double *numbers = NULL;
        int64_t count = 0;
        if (nadir_numbers_read(context, model, path, &numbers, &count) == NADIR_OK) {
            fuzz_require(count == 1 || count == 6 || count == 12, "as many numbers as states or rows");
            nadir_numbers_free(context, numbers);
        }
    } else {
        nadir_policy *policy = NULL;
        if (nadir_policy_read(context, model, path, &policy) == NADIR_OK) {
            const double *probabilities = nadir_policy_probabilities(policy);
            for (int s = 0; s < 6; s++) {
                fuzz_require(fabs(probabilities[2 * s] + probabilities[2 * s + 1] - 1) < 1e-9,
                             "a state's probabilities sum to one");
            }
        }
        nadir_policy_free(policy);
    }
    nadir_model_free(model);
    nadir_context_free(context);
    return 0;
}

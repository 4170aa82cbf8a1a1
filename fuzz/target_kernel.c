/*
 * target_kernel.c: kernel files, as nadir verify sees them. No change of a kernel file may be verified: where
 * a file is, it must be one that stores its digest, which no fuzzer finds by chance.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    nadir_context *context = fuzz_context();
    nadir_model *model = fuzz_model(context);
    nadir_policy *policy = fuzz_policy(context, model);
    nadir_verify_settings settings;
    nadir_verify_settings_default(&settings);
    settings.kernel = fuzz_file(".npz", bytes, size);
    nadir_verify_result result = {.size = sizeof result};
    nadir_verification *verification = NULL;
    const nadir_status status = nadir_verify(context, model, policy, &settings, &result, &verification);
    fuzz_require((status == NADIR_OK) == (verification != NULL && result.verified), "the verdict is one");
    nadir_verification_free(verification);
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_context_free(context);
    return 0;
}

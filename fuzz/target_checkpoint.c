/*
 * target_checkpoint.c: checkpoints of nadir optimize, from which a search is to go on.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    nadir_context *context = fuzz_context();
    nadir_model *model = fuzz_model(context);
    const double radius = 0.01;
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.radius = &radius;
    ball.radius_count = 1;
    nadir_robust_optimum_settings settings;
    nadir_robust_optimum_settings_default(&settings);
    settings.resume = fuzz_file(".checkpoint", bytes, size);
    settings.evaluations_limit = 2;
    settings.certify = NADIR_CERTIFY_OFF;
    nadir_policy *policy = NULL;
    nadir_robust_optimum_result result = {.size = sizeof result};
    const nadir_status status =
        nadir_robust_optimum(context, model, &ball, &settings, &policy, &result, NULL, NULL);
    fuzz_require(status != NADIR_OK || policy != NULL, "who is done has a policy");
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_context_free(context);
    return 0;
}

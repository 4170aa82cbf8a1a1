/*
 * target_checkpoint.c: checkpoints of nadir optimize, from which a search is to go on. The first byte says
 * whether the digest at the end is made right, as somebody would who means harm.
 */
#include "fuzz.h"

#include "core/file.h"

#include <stdlib.h>
#include <string.h>

static const char *checkpoint_file(const uint8_t *bytes, size_t size, bool repair)
{
    uint8_t *copy = malloc(size + 1);
    fuzz_require(copy != NULL, "there is memory for a copy");
    memcpy(copy, bytes, size);
    if (repair && size >= NADIR_SHA256_BYTES) {
        nadir_sha256 hash;
        nadir_sha256_start(&hash);
        nadir_sha256_update(&hash, copy, size - NADIR_SHA256_BYTES);
        nadir_sha256_finish(&hash, copy + size - NADIR_SHA256_BYTES);
    }
    const char *path = fuzz_file(".checkpoint", copy, size);
    free(copy);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1) {
        return 0;
    }
    nadir_context *context = fuzz_context();
    nadir_model *model = fuzz_model(context);
    const double radius = 0.01;
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.radius = &radius;
    ball.radius_count = 1;
    nadir_robust_optimum_settings settings;
    nadir_robust_optimum_settings_default(&settings);
    settings.resume = checkpoint_file(bytes + 1, size - 1, (bytes[0] & 1) != 0);
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

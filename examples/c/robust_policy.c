/*
 * robust_policy.c: the policy that does best in the worst case, watched while it is looked for.
 */
#include "check.h"

/* After every step of the search; anything but 0 would end it. */
static int watch(void *user, const nadir_robust_optimum_step *step)
{
    int *steps = user;
    *steps += 1;
    fprintf(stderr, "step %lld: worst return %.9g\n", (long long)step->iteration, step->robust_return);
    return 0;
}

int main(void)
{
    nadir_context *context = NULL;
    check(NULL, nadir_context_create(NULL, &context));
    nadir_model *model = NULL;
    check(context, nadir_model_generate(context, "machine", NULL, &model));

    const double radius = 0.3;
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.radius = &radius;
    ball.radius_count = 1;

    int steps = 0;
    nadir_robust_optimum_settings settings;
    nadir_robust_optimum_settings_default(&settings);
    settings.watch = watch;
    settings.watch_user = &steps;

    nadir_policy *policy = NULL;
    nadir_robust_optimum_result result = {.size = sizeof result};
    check(context, nadir_robust_optimum(context, model, &ball, &settings, &policy, &result, NULL, NULL));
    printf("nominal optimum  %.6f, in the worst case %.6f\n", result.nominal_optimum,
           result.initial_robust_return);
    printf("robust policy    %.6f, in the worst case %.6f\n", result.nominal_return, result.robust_return);
    printf("no policy is sure of more than %.6f\n", result.optimality_upper_bound);
    printf("certified        %s\n", result.certified && steps > 0 ? "yes" : "no");

    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_context_free(context);
    return 0;
}

/*
 * verify.c: a worst kernel and its witness written to files, and checked again by code that does not search.
 */
#include "check.h"

int main(void)
{
    nadir_context *context = NULL;
    check(NULL, nadir_context_create(NULL, &context));
    nadir_model *model = NULL;
    check(context, nadir_model_generate(context, "riverswim", NULL, &model));
    nadir_policy *policy = NULL;
    check(context, nadir_policy_create_uniform(context, model, &policy));
    nadir_solver *solver = NULL;
    check(context, nadir_solver_create(context, model, policy, NULL, &solver));

    const double radius = 0.05;
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.domain = NADIR_DOMAIN_SUPPORT;
    ball.radius = &radius;
    ball.radius_count = 1;
    nadir_robust result = {.size = sizeof result};
    nadir_worst *worst = NULL;
    check(context, nadir_solver_robust(context, solver, &ball, NULL, &result, &worst));
    check(context, nadir_worst_write(context, worst, "worst.npz"));
    check(context, nadir_worst_write_witness(context, worst, "witness.json"));

    nadir_verify_settings settings;
    nadir_verify_settings_default(&settings);
    settings.kernel = "worst.npz";
    settings.witness = "witness.json";
    nadir_verify_result verdict = {.size = sizeof verdict};
    nadir_verification *verification = NULL;
    check(context, nadir_verify(context, model, policy, &settings, &verdict, &verification));
    for (int64_t i = 0; nadir_verification_check(verification, i) != NULL; i++) {
        const nadir_verify_check *one = nadir_verification_check(verification, i);
        printf("%-5s %s\n", one->holds ? "holds" : "FAILS", one->name);
    }
    printf("proven: no kernel of the ball returns less than %.6f\n", verdict.bound_proven);

    remove("worst.npz");
    remove("witness.json");
    nadir_verification_free(verification);
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_context_free(context);
    return 0;
}

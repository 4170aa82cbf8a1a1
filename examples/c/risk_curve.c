/*
 * risk_curve.c: the worst case at many radii from one factorisation, and the largest ball that meets a
 * target.
 */
#include "check.h"

enum { COUNT = 6 };

int main(void)
{
    nadir_context *context = NULL;
    check(NULL, nadir_context_create(NULL, &context));
    nadir_model *model = NULL;
    check(context, nadir_model_generate(context, "machine", NULL, &model));
    nadir_policy *policy = NULL;
    check(context, nadir_policy_create_uniform(context, model, &policy));
    nadir_solver *solver = NULL;
    check(context, nadir_solver_create(context, model, policy, NULL, &solver));

    const double radius = 0.1;
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.domain = NADIR_DOMAIN_SUPPORT; /* no successor that the model does not have */
    ball.radius = &radius;
    ball.radius_count = 1;

    /* The radii of the curve are the ball's times these. */
    const double factors[COUNT] = {0, 0.2, 0.4, 0.6, 0.8, 1};
    nadir_robust results[COUNT];
    for (int i = 0; i < COUNT; i++) {
        results[i] = (nadir_robust){.size = sizeof results[i]};
    }
    check(context, nadir_solver_robust_many(context, solver, &ball, NULL, COUNT, factors, results));
    printf("radius  worst return  certified\n");
    for (int i = 0; i < COUNT; i++) {
        printf("%6.3f  %12.6f  %s\n", results[i].radius, results[i].robust_return,
               results[i].certified ? "yes" : "no");
    }

    const double target = results[0].nominal_return - 1;
    nadir_radius answer = {.size = sizeof answer};
    check(context, nadir_solver_radius(context, solver, &ball, NULL, target, &answer));
    printf("the return stays above %.6f up to radius %.6f\n", target, answer.radius);

    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_context_free(context);
    return 0;
}

/*
 * explain.c: who does the damage, and in which direction to move the policy against it.
 */
#include "check.h"

enum { TOP = 3 };

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

    nadir_damage damages[TOP];
    for (int i = 0; i < TOP; i++) {
        damages[i] = (nadir_damage){.size = sizeof damages[i]};
    }
    int64_t found = 0;
    int64_t changed = 0;
    double penalty = 0;
    check(context, nadir_worst_explain(context, worst, TOP, damages, &found, &changed, &penalty));
    printf("the worst kernel costs %.6f, in %lld rows\n", penalty, (long long)changed);
    for (int64_t i = 0; i < found; i++) {
        printf("state %lld, action %lld: %.1f %% of it, %.6f moved from %lld to %lld\n",
               (long long)damages[i].state, (long long)damages[i].action, 100 * damages[i].share,
               damages[i].moved, (long long)damages[i].from, (long long)damages[i].to);
    }

    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    double *gradient = malloc((size_t)view.rows * sizeof *gradient);
    if (gradient == NULL) {
        return 6;
    }
    check(context, nadir_worst_gradient(context, worst, gradient));
    int64_t best = 0;
    double gain = 0;
    for (int64_t s = 0; s < view.states; s++) {
        const int64_t row = view.state_rows[s];
        if (gradient[row + 1] - gradient[row] > gain) {
            gain = gradient[row + 1] - gradient[row];
            best = s;
        }
    }
    printf("swimming right more often helps most in state %lld: %.3f for each unit\n", (long long)best, gain);

    free(gradient);
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_context_free(context);
    return 0;
}

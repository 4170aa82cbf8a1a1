/*
 * evaluate.c: a model from arrays, and what a policy is worth in the worst case of a ball around it.
 *
 * A machine runs or is broken. Running, it may be serviced (safe, costs a little) or not; broken, it is
 * repaired. The numbers are estimates: how badly can "never service" do if they are off?
 */
#include "check.h"

enum { STATES = 2, ROWS = 3 };

int main(void)
{
    /* Rows, state after state: running and serviced, running and not, broken and repaired. */
    static const int64_t state_rows[STATES + 1] = {0, 2, 3};
    static const double kernel[ROWS * STATES] = {0.98, 0.02, 0.90, 0.10, 0.60, 0.40};
    static const double rewards[ROWS] = {0.9, 1.0, -1.0};

    nadir_context *context = NULL;
    check(NULL, nadir_context_create(NULL, &context));

    nadir_model_data data;
    nadir_model_data_default(&data);
    data.states = STATES;
    data.rows = ROWS;
    data.state_rows = state_rows;
    data.dense = kernel;
    data.rewards = rewards;
    data.discount = 0.95;
    nadir_model *model = NULL;
    check(context, nadir_model_create(context, &data, &model));

    nadir_policy *never = NULL;
    check(context, nadir_policy_create_deterministic(context, model, (const int64_t[STATES]){1, 0}, &never));
    nadir_solver *solver = NULL;
    check(context, nadir_solver_create(context, model, never, NULL, &solver));

    const double radius = 0.05;
    nadir_ball ball;
    nadir_ball_default(&ball); /* one ball for the whole kernel, norm 2, kernels that are kernels */
    ball.radius = &radius;
    ball.radius_count = 1;
    nadir_robust result = {.size = sizeof result};
    check(context, nadir_solver_robust(context, solver, &ball, NULL, &result, NULL));

    printf("nominal return  %.6f\n", result.nominal_return);
    printf("worst return    %.6f, between %.6f and %.6f\n", result.robust_return, result.lower_bound,
           result.upper_bound);
    printf("certified       %s\n", result.certified ? "yes" : "no");

    nadir_solver_free(solver);
    nadir_policy_free(never);
    nadir_model_free(model);
    nadir_context_free(context);
    return 0;
}

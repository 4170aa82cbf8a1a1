/* problem.c: a problem of the adversary, for unit tests; see problem.h. */
#include "support/support.h"

#include "linalg/vector.h"
#include "model/average.h"
#include "model/landing.h"
#include "support/problem.h"
#include "support/reference.h"

#include <stdlib.h>

nadir_ball test_ball(nadir_set set, nadir_domain domain, double p, const double *radius, const double *scales)
{
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.set = set;
    ball.domain = domain;
    ball.norm = p;
    ball.radius = radius;
    ball.radius_count = 1;
    ball.scales = scales;
    return ball;
}

/* Rewards, R^pi and v with their sign. */
static void fill_numbers(test_problem *made, double sign)
{
    const int64_t rows = made->model->rows;
    const int64_t n = made->model->states;
    made->numbers = test_new(rows + 2 * n, sizeof *made->numbers);
    double *R = made->numbers + rows;
    double *v = R + n;
    nadir_average_rewards(made->model, made->policy, R);
    for (int64_t row = 0; row < rows; row++) {
        made->numbers[row] = sign * made->model->shaped[row];
    }
    for (int64_t s = 0; s < n; s++) {
        R[s] *= sign;
        v[s] = sign * made->value.v[s];
    }
}

test_problem test_problem_make(nadir_context *context, nadir_model *model, nadir_policy *policy,
                               const nadir_ball *ball, const char *backend, double sign)
{
    test_problem made = {.context = context, .model = model, .policy = policy};
    assert_ok(context, nadir_kernel_create(context, model, &made.kernel));
    assert_ok(context, nadir_occupancy_create(context, made.kernel, policy, model->discount, backend, 0,
                                              &made.occupancy));
    assert_ok(context, nadir_value_solve(context, made.kernel, policy, made.occupancy, &made.value));
    assert_ok(context, nadir_uncertainty_make(context, model, policy, ball, &made.uncertainty));
    fill_numbers(&made, sign);
    made.problem = (nadir_problem){.model = model,
                                   .kernel = made.kernel,
                                   .policy = policy,
                                   .occupancy = made.occupancy,
                                   .states = model->states,
                                   .rows = model->rows,
                                   .gamma = nadir_landing_discount(model),
                                   .rest = 1 - nadir_landing_discount(model),
                                   .sign = sign,
                                   .rewards = made.numbers,
                                   .R = made.numbers + model->rows,
                                   .landing = sign * nadir_landing_factor(model),
                                   .mu = model->initial,
                                   .v = made.numbers + model->rows + model->states,
                                   .d = made.value.d,
                                   .J = sign * made.value.J,
                                   .v_error = made.value.v_error,
                                   .d_error = made.value.d_error,
                                   .J_error = made.value.J_error,
                                   .largest = nadir_vector_largest(model->states, made.value.v)};
    return made;
}

void test_problem_clear(test_problem *made)
{
    free(made->numbers);
    nadir_uncertainty_clear(made->context, &made->uncertainty);
    nadir_value_clear(made->context, &made->value);
    nadir_occupancy_free(made->context, made->occupancy);
    nadir_kernel_free(made->kernel);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
}

const nadir_problem *test_problem_view(test_problem *made)
{
    made->problem.uncertainty = &made->uncertainty;
    return &made->problem;
}

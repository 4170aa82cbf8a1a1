/* lmo_device.c: linear steps of a model on a device, for unit tests; see lmo_device.h. */
#include "support/support.h"

#include "core/context.h"
#include "linalg/vector.h"
#include "model/average.h"
#include "support/lmo_device.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

test_lmo_device test_lmo_device_make(nadir_context *context, const nadir_random *random, nadir_model *model)
{
    const int64_t states = model->states;
    const int64_t count = model->rows;
    return (test_lmo_device){.context = context,
                             .random = *random,
                             .model = model,
                             .policy = test_uniform_policy(context, model),
                             .states = states,
                             .count = count,
                             .scales = test_new(count, sizeof(double)),
                             .weights = test_new(count, sizeof(double)),
                             .d = test_new(states, sizeof(double)),
                             .v = test_new(states, sizeof(double)),
                             .z = test_new(states, sizeof(double))};
}

void test_lmo_device_clear(test_lmo_device *made)
{
    nadir_lmo_device_close(&made->device);
    nadir_value_order_clear(made->context, &made->order);
    free(made->scales);
    free(made->weights);
    free(made->d);
    free(made->v);
    free(made->z);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
}

void test_lmo_device_draw_scales(test_lmo_device *made)
{
    for (int64_t row = 0; row < made->count; row++) {
        made->scales[row] = row % 11 == 0 ? 0 : 0.2 + 3 * nadir_random_uniform(&made->random);
    }
}

void test_lmo_device_weigh(test_lmo_device *made)
{
    const nadir_model *model = made->model;
    for (int64_t s = 0; s < made->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            made->weights[row] = model->discount * fmax(made->d[s], 0) * made->policy->probabilities[row];
        }
    }
}

void test_lmo_device_sort(test_lmo_device *made)
{
    assert_ok(made->context, nadir_value_order_make(made->context, made->states, made->v, &made->order));
}

void test_lmo_device_open(test_lmo_device *made, nadir_domain domain, double p)
{
    made->rows = (nadir_lmo){.model = made->model,
                             .order = &made->order,
                             .scales = made->scales,
                             .domain = domain,
                             .p = p,
                             .q = nadir_holder_conjugate(p)};
    assert_ok(made->context,
              nadir_lmo_device_open(made->context, &made->rows, NADIR_DEVICE_ALL_ROWS, made->model->discount,
                                    made->policy->probabilities, &made->device));
}

void test_lmo_device_need(test_lmo_device *made)
{
    if (made->context->device == NULL) {
        assert_null(made->device.step);
        test_lmo_device_clear(made);
        print_message("skipped: NADIR_TEST_ENGINE names no engine with a device\n");
        skip();
    }
    assert_non_null(made->device.step);
}

void test_lmo_device_compare_averages(const test_lmo_device *made, const nadir_kernel *here,
                                      const nadir_kernel *there, double tolerance)
{
    nadir_average average = {0};
    double *y = test_new(made->states + made->count, sizeof *y);
    double *rows = y + made->states;
    assert_ok(made->context, nadir_average_make(made->context, there, made->policy, &average));
    assert_non_null(average.device_matrix);
    nadir_average_multiply(made->context, &average, 1, made->v, y);
    nadir_kernel_multiply(made->context, here, made->v, rows);
    for (int64_t s = 0; s < made->states; s++) {
        double sum = 0;
        for (int64_t row = made->model->state_rows[s]; row < made->model->state_rows[s + 1]; row++) {
            sum += made->policy->probabilities[row] * rows[row];
        }
        assert_that(fabs(y[s] - sum) <= tolerance, "state %lld: %.17g, not %.17g", (long long)s, y[s], sum);
    }
    nadir_average_clear(made->context, &average);
    free(y);
}

void test_lmo_device_compare_gains(test_lmo_device *made, nadir_lmo_device *device, double radius,
                                   double tolerance)
{
    nadir_lmo_budget budget;
    bool found;
    nadir_lmo_solution *answers = test_new(made->count, sizeof *answers);
    double *gains = test_new(made->states, sizeof *gains);
    for (int64_t row = 0; row < made->count; row++) {
        made->weights[row] = 1;
    }
    assert_ok(made->context,
              nadir_lmo_solve_all(made->context, &made->rows, made->weights, radius, answers, &budget));
    assert_ok(made->context,
              nadir_lmo_device_solve(made->context, device, &made->order, NULL, radius, &budget, &found));
    assert_true(found);
    assert_ok(made->context, nadir_lmo_device_gains(made->context, device, &made->order, gains));
    for (int64_t s = 0; s < made->states; s++) {
        double wanted = 0;
        for (int64_t row = made->model->state_rows[s]; row < made->model->state_rows[s + 1]; row++) {
            wanted += made->policy->probabilities[row] * answers[row].gain;
        }
        assert_that(fabs(gains[s] - wanted) <= tolerance, "state %lld: %.17g, not %.17g", (long long)s,
                    gains[s], wanted);
    }
    free(gains);
    free(answers);
}

void test_lmo_device_finds_nothing(test_lmo_device *made)
{
    nadir_lmo_budget budget;
    bool found = true;
    test_note("p %g", made->rows.p);
    assert_ok(made->context, nadir_lmo_device_solve(made->context, &made->device, &made->order, made->d, 1e7,
                                                    &budget, &found));
    assert_false(found);
    found = true;
    for (int64_t s = 0; s < made->states; s++) {
        made->v[s] = 1;
    }
    test_lmo_device_sort(made);
    assert_ok(made->context, nadir_lmo_device_solve(made->context, &made->device, &made->order, made->d, 0.1,
                                                    &budget, &found));
    assert_false(found);
    test_note_clear();
}

/* perturbed.c: numbers for perturbed kernels; see perturbed.h. */
#include "support/support.h"

#include "support/perturbed.h"

#include "support/families.h"
#include "support/generated.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Few different values, and an order in which those that are equal stand anyhow. */
static void fill_order(int64_t n, nadir_random *random, nadir_perturbed *perturbed)
{
    const uint64_t values = (uint64_t)n / 2 + 1;
    for (int64_t t = 0; t < n; t++) {
        perturbed->x[t] = 100 + (double)nadir_random_below(random, values) / 7;
        perturbed->order[t] = (int32_t)t;
    }
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)nadir_random_below(random, (uint64_t)(i + 1));
        const int32_t kept = perturbed->order[i];
        perturbed->order[i] = perturbed->order[j];
        perturbed->order[j] = kept;
    }
    for (int64_t i = 1; i < n; i++) { /* insertion keeps equal ones as they are */
        const int32_t state = perturbed->order[i];
        int64_t to = i;
        for (; to > 0 && perturbed->x[perturbed->order[to - 1]] > perturbed->x[state]; to--) {
            perturbed->order[to] = perturbed->order[to - 1];
        }
        perturbed->order[to] = state;
    }
}

/* The entries of a row on all states, by the definition; own: whether the model has the transition. */
static void row_numbers(const nadir_model_data *view, const nadir_perturbed *perturbed, int64_t row,
                        long double *numbers, bool *own)
{
    const int64_t n = view->states;
    for (int64_t t = 0; t < n; t++) {
        numbers[t] = view->dense != NULL ? perturbed->values[row * n + t] : 0;
        own[t] = view->dense != NULL;
    }
    for (int64_t i = 0; view->dense == NULL && i < view->row_starts[row + 1] - view->row_starts[row]; i++) {
        numbers[view->columns[view->row_starts[row] + i]] = perturbed->values[view->row_starts[row] + i];
        own[view->columns[view->row_starts[row] + i]] = true;
    }
    for (int64_t i = 0; perturbed->x != NULL && i < perturbed->length[row]; i++) {
        const int32_t t = perturbed->order[i];
        const double x_last = perturbed->x[perturbed->order[perturbed->length[row] - 1]];
        const double last = perturbed->omega[row] - perturbed->slope[row] * x_last;
        if (!own[t]) {
            numbers[t] = last + perturbed->slope[row] * ((long double)x_last - perturbed->x[t]);
        }
    }
    if (perturbed->x != NULL && perturbed->extra[row] >= 0) {
        assert_false(own[perturbed->extra[row]]);
        numbers[perturbed->extra[row]] += perturbed->amount[row];
    }
}

nadir_status test_perturbed_create(nadir_context *context, nadir_model *model, bool with_tail,
                                   nadir_kernel **kernel)
{
    const nadir_status status = nadir_kernel_create_blank(context, model, with_tail, kernel);
    if (status == NADIR_OK) {
        const bool dense = model->dense != NULL;
        const int64_t entries = dense ? model->rows * model->states : model->nonzeros;
        nadir_perturbed *perturbed = nadir_kernel_perturbed(*kernel);
        memcpy(perturbed->values, dense ? model->dense : model->probabilities,
               (size_t)entries * sizeof *perturbed->values);
        memset(perturbed->nominal, 0, (size_t)model->rows * sizeof *perturbed->nominal);
    }
    return status;
}

double *test_perturbed_numbers(const nadir_model *model, const nadir_perturbed *perturbed)
{
    const nadir_model_data view = test_view(model);
    const int64_t n = view.states;
    double *dense = test_new(view.rows * n, sizeof *dense);
    long double *numbers = test_new(n, sizeof *numbers);
    bool *own = test_new(n, sizeof *own);
    for (int64_t row = 0; row < view.rows; row++) {
        row_numbers(&view, perturbed, row, numbers, own);
        for (int64_t t = 0; t < n; t++) {
            dense[row * n + t] = (double)numbers[t];
        }
    }
    free(numbers);
    free(own);
    return dense;
}

/* A line over `length` states, which gives 0.3 in all to those that the model's row does not have; with a
 * last amount of zero every third time. */
static void draw_line(const nadir_model_data *view, int64_t row, int64_t length, nadir_random *random,
                      nadir_perturbed *perturbed)
{
    const double end = nadir_random_below(random, 3) == 0 ? 0 : 0.5;
    long double *numbers = test_new(view->states, sizeof *numbers);
    bool *own = test_new(view->states, sizeof *own);
    long double sum = 0;
    perturbed->length[row] = (int32_t)length;
    row_numbers(view, perturbed, row, numbers, own);
    const double last = length > 0 ? perturbed->x[perturbed->order[length - 1]] : 0;
    for (int64_t i = 0; i < length; i++) {
        sum += own[perturbed->order[i]] ? 0 : end + last - perturbed->x[perturbed->order[i]];
    }
    perturbed->slope[row] = sum > 0 ? (double)(0.3 / sum) : 0.7;
    perturbed->omega[row] = perturbed->slope[row] * (end + last);
    free(numbers);
    free(own);
}

/* Any state that the model's row does not have; -1: there is none. */
static int32_t draw_extra(const nadir_model_data *view, int64_t row, nadir_random *random)
{
    const int64_t start = view->row_starts[row];
    const int64_t missing = view->states - (view->row_starts[row + 1] - start);
    if (missing == 0) {
        return -1;
    }
    int64_t left = (int64_t)nadir_random_below(random, (uint64_t)missing);
    int64_t next = start;
    for (int64_t t = 0; t < view->states; t++) {
        if (next < view->row_starts[row + 1] && view->columns[next] == t) {
            next++;
        } else if (left-- == 0) {
            return (int32_t)t;
        }
    }
    return -1;
}

/* Scales the stored entries of a row so that it sums to one. */
static void complete(const nadir_model_data *view, int64_t row, nadir_perturbed *perturbed)
{
    const int64_t n = view->states;
    const int64_t start = view->dense != NULL ? row * n : view->row_starts[row];
    const int64_t end = view->dense != NULL ? start + n : view->row_starts[row + 1];
    long double *numbers = test_new(n, sizeof *numbers);
    bool *own = test_new(n, sizeof *own);
    long double stored = 0;
    long double rest = 0;
    row_numbers(view, perturbed, row, numbers, own);
    for (int64_t t = 0; t < n; t++) {
        stored += own[t] ? numbers[t] : 0;
        rest += own[t] ? 0 : numbers[t];
    }
    for (int64_t i = start; i < end; i++) {
        perturbed->values[i] = (double)(perturbed->values[i] * (1 - rest) / stored);
    }
    free(numbers);
    free(own);
}

static void fill_row(const nadir_model_data *view, int64_t row, bool signs, nadir_random *random,
                     nadir_perturbed *perturbed)
{
    const int64_t n = view->states;
    const int64_t start = view->dense != NULL ? row * n : view->row_starts[row];
    const int64_t end = view->dense != NULL ? start + n : view->row_starts[row + 1];
    const uint64_t kind = nadir_random_below(random, 5); /* 0: as in the model */
    for (int64_t i = start; i < end; i++) {
        const double nominal = view->dense != NULL ? view->dense[i] : view->probabilities[i];
        perturbed->values[i] = nominal * (kind == 0 ? 1 : 0.2 + nadir_random_uniform(random));
    }
    if (perturbed->x != NULL) {
        const int64_t some = (int64_t)nadir_random_below(random, (uint64_t)n + 1);
        perturbed->length[row] = 0;
        perturbed->extra[row] = kind == 3 || kind == 4 ? draw_extra(view, row, random) : -1;
        perturbed->amount[row] = 0.1;
        draw_line(view, row, kind == 1 ? n : kind == 2 || kind == 3 ? some : 0, random, perturbed);
    }
    if (signs) {
        for (int64_t i = start; i < end; i++) {
            perturbed->values[i] *= nadir_random_below(random, 3) == 0 ? -0.1 : 1;
        }
        if (perturbed->x != NULL) {
            perturbed->omega[row] += perturbed->slope[row] * 3 * nadir_random_normal(random);
            perturbed->slope[row] *= nadir_random_below(random, 2) == 0 ? -0.5 : 1;
            perturbed->amount[row] *= nadir_random_normal(random);
        }
    } else if (kind != 0) {
        complete(view, row, perturbed);
    }
}

void test_perturbed_fill(const nadir_model *model, bool signs, nadir_random *random,
                         nadir_perturbed *perturbed)
{
    const nadir_model_data view = test_view(model);
    if (perturbed->x != NULL) {
        fill_order(view.states, random, perturbed);
    }
    for (int64_t row = 0; row < view.rows; row++) {
        fill_row(&view, row, signs, random, perturbed);
    }
}

test_perturbed test_perturbed_make(nadir_context *context, int family, bool signs, uint64_t seed)
{
    test_perturbed made = {.context = context};
    nadir_random_seed(&made.random, seed);
    made.model = test_families[family].make(context, &made.random);
    made.view = test_view(made.model);
    made.policy = test_policy(context, made.model, TEST_RANDOM, &made.random);
    assert_ok(context, test_perturbed_create(context, made.model, true, &made.kernel));
    test_perturbed_fill(made.model, signs, &made.random, nadir_kernel_perturbed(made.kernel));
    made.dense = test_perturbed_numbers(made.model, nadir_kernel_perturbed(made.kernel));
    return made;
}

void test_perturbed_clear(test_perturbed *made)
{
    free(made->dense);
    nadir_policy_free(made->policy);
    nadir_kernel_free(made->kernel);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
}

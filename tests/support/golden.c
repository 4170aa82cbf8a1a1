/* golden.c: closed-form instances; see golden.h. */
#include "support/support.h"

#include "support/golden.h"
#include "support/reference.h"

#include <stdlib.h>

const test_golden test_goldens[TEST_GOLDEN] = {
    {"dense(8,3)", 8, 3, 0.9, false, 5.3097433854, 8.53714216021},
    {"dense(40,5)", 40, 5, 0.95, false, 9.99227971195, 18.5502265961},
    {"sparse(30,4)", 30, 4, 0.9, true, 4.97942994833, 9.0445453062},
};

static double weight(const test_golden *golden, int64_t s, int64_t a, int64_t t)
{
    const bool kept = (s + 2 * a + 3 * t) % 5 == 0 || t == (s + 1) % golden->states;
    return golden->sparse && !kept ? 0 : 1 + (double)((7 * s + 11 * a + 13 * t) % 17);
}

/* The transitions of a row, one after another; returns how many there are. */
static int64_t fill_row(const test_golden *golden, int64_t row, int32_t *columns, double *probabilities)
{
    const int64_t s = row / golden->actions;
    const int64_t a = row % golden->actions;
    int64_t count = 0;
    double sum = 0;
    for (int64_t t = 0; t < golden->states; t++) {
        const double w = weight(golden, s, a, t);
        if (w > 0) {
            columns[count] = (int32_t)t;
            probabilities[count] = w;
            sum += w;
            count++;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        probabilities[i] /= sum;
    }
    return count;
}

nadir_model *test_golden_model(nadir_context *context, const test_golden *golden, bool csr)
{
    const int64_t states = golden->states;
    const int64_t rows = states * golden->actions;
    int64_t *state_rows = test_new(states + 1, sizeof *state_rows);
    int64_t *row_starts = test_new(rows + 1, sizeof *row_starts);
    int32_t *columns = test_new(rows * states, sizeof *columns);
    double *probabilities = test_new(rows * states, sizeof *probabilities);
    double *rewards = test_new(rows, sizeof *rewards);
    for (int64_t s = 0; s <= states; s++) {
        state_rows[s] = s * golden->actions;
    }
    for (int64_t row = 0; row < rows; row++) {
        const int64_t start = csr || golden->sparse ? row_starts[row] : row * states;
        row_starts[row + 1] = start + fill_row(golden, row, columns + start, probabilities + start);
        rewards[row] = (double)((5 * (row / golden->actions) + 3 * (row % golden->actions)) % 11) / 10;
    }
    nadir_model_data data = test_model_data();
    data.states = states;
    data.rows = rows;
    data.discount = golden->discount;
    data.state_rows = state_rows;
    data.rewards = rewards;
    if (csr || golden->sparse) {
        data.row_starts = row_starts;
        data.columns = columns;
        data.probabilities = probabilities;
    } else {
        data.dense = probabilities;
    }
    nadir_model *model = test_create_model(context, &data);
    free(state_rows);
    free(row_starts);
    free(columns);
    free(probabilities);
    free(rewards);
    return model;
}

nadir_policy *test_golden_policy(nadir_context *context, const nadir_model *model)
{
    const nadir_model_data view = test_view(model);
    double *probabilities = test_new(view.rows, sizeof *probabilities);
    for (int64_t s = 0; s < view.states; s++) {
        const int64_t first = view.state_rows[s];
        double sum = 0;
        for (int64_t row = first; row < view.state_rows[s + 1]; row++) {
            probabilities[row] = 1 + (double)((s + 2 * (row - first)) % 5);
            sum += probabilities[row];
        }
        for (int64_t row = first; row < view.state_rows[s + 1]; row++) {
            probabilities[row] /= sum;
        }
    }
    nadir_policy *policy = NULL;
    assert_ok(context, nadir_policy_create(context, model, probabilities, &policy));
    free(probabilities);
    return policy;
}

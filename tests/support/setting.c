/* setting.c: a model under a policy; see setting.h. */
#include "support/support.h"

#include "support/generated.h"
#include "support/setting.h"

#include <string.h>

test_setting test_setting_make(nadir_context *context, nadir_model *model)
{
    test_setting made = {.context = context, .model = model};
    assert_ok(context, nadir_policy_create_uniform(context, model, &made.policy));
    assert_ok(context, nadir_kernel_create(context, model, &made.kernel));
    assert_ok(context, nadir_average_make(context, made.kernel, made.policy, &made.average));
    return made;
}

void test_setting_clear(test_setting *made)
{
    nadir_average_clear(made->context, &made->average);
    nadir_kernel_free(made->kernel);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
}

nadir_model *test_sparse_model(nadir_context *context, int64_t states, test_row rule)
{
    int64_t *starts = test_calloc((size_t)states + 1, sizeof *starts);
    int64_t *rows = test_calloc((size_t)states + 1, sizeof *rows);
    int32_t *columns = test_calloc((size_t)states * 5, sizeof *columns);
    double *probabilities = test_calloc((size_t)states * 5, sizeof *probabilities);
    int32_t *row = test_calloc((size_t)states + 1, sizeof *row);
    for (int64_t s = 0; s < states; s++) {
        const int64_t count = rule(states, s, row);
        rows[s + 1] = s + 1;
        starts[s + 1] = starts[s] + count;
        assert_true(starts[s + 1] <= states * 5);
        for (int64_t i = 0; i < count; i++) {
            columns[starts[s] + i] = row[i];
            probabilities[starts[s] + i] = 1 / (double)count;
        }
    }
    nadir_model_data data = test_model_data();
    data.states = states;
    data.rows = states;
    data.state_rows = rows;
    data.row_starts = starts;
    data.columns = columns;
    data.probabilities = probabilities;
    nadir_model *model = test_create_model(context, &data);
    test_free(starts);
    test_free(rows);
    test_free(columns);
    test_free(probabilities);
    test_free(row);
    return model;
}

int64_t test_row_hub(int64_t states, int64_t state, int32_t *columns)
{
    if (state == 0) {
        for (int64_t t = 0; t < states; t++) {
            columns[t] = (int32_t)t;
        }
        return states;
    }
    columns[0] = 0;
    columns[1] = (int32_t)state;
    return 2;
}

int64_t test_row_absorbing(int64_t states, int64_t state, int32_t *columns)
{
    columns[0] = (int32_t)state;
    columns[1] = (int32_t)((state + 1) % states);
    return state % 3 == 0 ? 1 : 2;
}

int64_t test_row_layered(int64_t states, int64_t state, int32_t *columns)
{
    const int64_t next = (state / 500 + 1) * 500;
    if (next >= states) {
        columns[0] = (int32_t)state;
        return 1;
    }
    columns[0] = (int32_t)(next + state * 7 % 500);
    columns[1] = (int32_t)(next + state * 31 % 499 + 1);
    return columns[0] == columns[1] ? 1 : 2;
}

nadir_model *test_generate_states(nadir_context *context, const char *kind, int64_t states)
{
    nadir_generate_settings settings = test_generate_settings();
    if (strcmp(kind, "gridworld") == 0) {
        settings.width = states;
        settings.height = states;
    } else {
        settings.states = states;
    }
    settings.seed = 5;
    return test_generate(context, kind, &settings);
}

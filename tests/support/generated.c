/* generated.c: models from the generators, for unit tests; see generated.h. */
#include "support/support.h"

#include "support/generated.h"
#include "support/reference.h"

#include <stdlib.h>
#include <string.h>

nadir_model *test_generate(nadir_context *context, const char *kind, const nadir_generate_settings *settings)
{
    nadir_model *model = NULL;
    assert_ok(context, nadir_model_generate(context, kind, settings, &model));
    assert_string_equal(test_messages(), "");
    return model;
}

nadir_model *test_frozen(nadir_context *context, nadir_model *model)
{
    nadir_model_data data = test_view(model);
    data.transition_rewards = NULL;
    nadir_model *frozen = test_create_model(context, &data);
    nadir_model_free(model);
    return frozen;
}

nadir_model *test_generate_dense(nadir_context *context, int64_t states, double discount, uint64_t seed)
{
    nadir_generate_settings settings = test_generate_settings();
    settings.states = states;
    settings.actions = 4;
    settings.seed = seed;
    settings.discount = discount;
    return test_generate(context, "random", &settings);
}

nadir_model *test_ragged_model(nadir_context *context, nadir_random *random, int64_t states, int64_t most,
                               int64_t apart, double discount)
{
    int64_t *state_rows = test_new(states + 1, sizeof *state_rows);
    int64_t *starts = test_new(3 * states + 1, sizeof *starts);
    int32_t *columns = test_new(3 * most * states, sizeof *columns);
    double *values = test_new(3 * most * states, sizeof *values);
    nadir_model *model = NULL;
    int64_t rows = 0;
    int64_t entries = 0;
    for (int64_t s = 0; s < states; s++) {
        state_rows[s] = rows;
        for (int64_t a = 0; a <= s % 3; a++) {
            const int64_t count = 1 + (s + 5 * a) % most;
            const int64_t first = (int64_t)(nadir_random_uniform(random) * (double)(states - apart * most));
            double sum = 0;
            starts[rows++] = entries;
            for (int64_t i = 0; i < count; i++) {
                columns[entries + i] =
                    (int32_t)(first + apart * i +
                              (int64_t)((double)(apart - 1) * nadir_random_uniform(random)));
                values[entries + i] = nadir_random_uniform(random) * (i % 4 == 3 ? 1e-3 : 1) + 1e-9;
                sum += values[entries + i];
            }
            for (int64_t i = 0; i < count; i++) {
                values[entries + i] /= sum;
            }
            entries += count;
        }
    }
    state_rows[states] = rows;
    starts[rows] = entries;
    nadir_model_data data = test_model_data();
    data.states = states;
    data.rows = rows;
    data.state_rows = state_rows;
    data.row_starts = starts;
    data.columns = columns;
    data.probabilities = values;
    data.discount = discount;
    assert_ok(context, nadir_model_create(context, &data, &model));
    free(state_rows);
    free(starts);
    free(columns);
    free(values);
    return model;
}

enum { SIDE = 4, CELLS = SIDE * SIDE, MOVES = 4 };
static const char lake[] = "SFFFFHFHFFFHHFFG";

/* The cell that a move leads to: left, down, right, up. */
static int cell_after(int cell, int move)
{
    const int row = cell / SIDE + (move == 1 && cell / SIDE < SIDE - 1) - (move == 3 && cell / SIDE > 0);
    const int column = cell % SIDE + (move == 2 && cell % SIDE < SIDE - 1) - (move == 0 && cell % SIDE > 0);
    return row * SIDE + column;
}

nadir_model *test_lake(nadir_context *context, bool slippery, double discount)
{
    static double P[CELLS * MOVES * CELLS];
    static double paid[CELLS * MOVES * CELLS];
    int64_t state_rows[CELLS + 1];
    double initial[CELLS] = {1};
    nadir_model *model = NULL;
    nadir_model_data data;
    memset(P, 0, sizeof P);
    memset(paid, 0, sizeof paid);
    for (int cell = 0; cell <= CELLS; cell++) {
        state_rows[cell] = (int64_t)MOVES * cell;
    }
    for (int row = 0; row < CELLS * MOVES; row++) {
        const int cell = row / MOVES;
        const bool ends = lake[cell] == 'H' || lake[cell] == 'G';
        for (int side = -1; side <= 1; side++) {
            const int to = ends ? cell : cell_after(cell, (row + side + MOVES) % MOVES);
            P[row * CELLS + to] += slippery ? 1.0 / 3 : side == 0 ? 1 : 0;
            paid[row * CELLS + to] = lake[to] == 'G' && !ends ? 1 : 0;
        }
    }
    nadir_model_data_default(&data);
    data.states = CELLS;
    data.rows = (int64_t)CELLS * MOVES;
    data.discount = discount;
    data.state_rows = state_rows;
    data.dense = P;
    data.transition_rewards = paid;
    data.initial = initial;
    assert_ok(context, nadir_model_create(context, &data, &model));
    return model;
}

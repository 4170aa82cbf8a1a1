/*
 * random.c: dense random models, as in the experiments of Kumar et al. (2025).
 *
 *     P(.|s, a) = u / (u_1 + ... + u_S), u uniform in [0, 1)^S,   R(s, a) standard normal.
 *
 * Drawn in this order: all of P, row after row, then all of R.
 */
#include "linalg/vector.h"
#include "model/generate.h"

static const nadir_generator_setting used[] = {
    {"states", "number of states", 32, 1, NADIR_STATES_LIMIT},
    {"actions", "number of actions of each state", 8, 1, INT32_MAX},
};

/* Redrawn if all are zero, which has a chance of 2^-53 for one state and none to speak of for more. */
static void draw_row(nadir_random *stream, int64_t states, double *row)
{
    double sum = 0;
    while (sum == 0) {
        for (int64_t i = 0; i < states; i++) {
            row[i] = nadir_random_uniform(stream);
        }
        sum = nadir_vector_sum(states, row);
    }
    nadir_vector_divide(states, sum, row);
}

static nadir_status fill(nadir_context *context, const nadir_generate_settings *settings, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    const int64_t states = settings->states;
    int64_t entries;
    NADIR_CHECK(nadir_generate_size(context, states, settings->actions, states, &entries));
    model->states = states;
    model->rows = states * settings->actions;
    NADIR_NEW(context, model->dense, entries);
    NADIR_NEW(context, model->rewards, model->rows);
    NADIR_NEW(context, model->state_rows, states + 1);
    for (int64_t s = 0; s <= states; s++) {
        model->state_rows[s] = s * settings->actions;
    }
    nadir_random stream;
    nadir_random_seed(&stream, settings->seed);
    for (int64_t row = 0; row < model->rows; row++) {
        draw_row(&stream, states, model->dense + row * states);
        NADIR_CHECK(nadir_generate_progress(context, row, model->rows, states));
    }
    for (int64_t row = 0; row < model->rows; row++) {
        model->rewards[row] = nadir_random_normal(&stream);
    }
cleanup:
    return status;
}

const nadir_generate_kind nadir_generate_random = {
    .facts = {.name = "random",
              .summary = "dense random kernel, normal rewards",
              .source = "Kumar et al. 2025, arXiv:2502.09432, experiments",
              .random = true,
              .discount = 0.9,
              NADIR_GENERATE_USES(used)},
    .fill = fill,
};

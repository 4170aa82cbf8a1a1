/*
 * gridworld.c: finding the way across a grid on slippery ground.
 *
 * State r * width + c is the cell in row r and column c, named "r3c4", rows counted downwards. The actions
 * are up, right, down, left. A move goes where it was meant to with 1 - slip and to either side of that with
 * slip / 2; a move off the grid stays. The last cell, opposite to "r0c0", is the goal: entering it pays
 * `reward`, and it is never left. So R(s, a) = reward * P(goal|s, a) for s other than the goal, and 0 there.
 */
#include "model/generate.h"

#include <stdio.h>

#define ACTIONS 4

static const nadir_generator_setting used[] = {
    {"width", "number of columns", 5, 1, NADIR_STATES_LIMIT},
    {"height", "number of rows", 5, 1, NADIR_STATES_LIMIT},
    {"slip", "chance to move sideways", 0.2, 0, 1},
    {"reward", "for entering the goal", 1, -INFINITY, INFINITY},
};

/* The cell a step leads to. */
static int64_t step(const nadir_generate_settings *settings, int64_t row, int64_t column, int direction)
{
    static const int down[ACTIONS] = {-1, 0, 1, 0};
    static const int right[ACTIONS] = {0, 1, 0, -1};
    const int64_t to_row = row + down[direction];
    const int64_t to_column = column + right[direction];
    if (to_row < 0 || to_row >= settings->height || to_column < 0 || to_column >= settings->width) {
        return row * settings->width + column;
    }
    return to_row * settings->width + to_column;
}

/* Adds a successor to the row that began at transition `start`: cells rise, those that meet are added up. */
static void add_step(nadir_model *model, int64_t start, int64_t cell, double chance)
{
    int64_t index = model->nonzeros;
    while (index > start && model->columns[index - 1] > cell) {
        index--;
    }
    if (index > start && model->columns[index - 1] == cell) {
        model->probabilities[index - 1] += chance;
        return;
    }
    for (int64_t i = model->nonzeros++; i > index; i--) {
        model->columns[i] = model->columns[i - 1];
        model->probabilities[i] = model->probabilities[i - 1];
    }
    model->columns[index] = (int32_t)cell;
    model->probabilities[index] = chance;
}

/* Writes the row of one action: ahead, to the right of that, to its left. */
static void add_move(const nadir_generate_settings *settings, int64_t row, int64_t column, int action,
                     nadir_model *model)
{
    const int turns[3] = {0, 1, ACTIONS - 1};
    const double chances[3] = {1 - settings->slip, settings->slip / 2, settings->slip / 2};
    const int64_t goal = settings->width * settings->height - 1;
    const int64_t start = model->nonzeros;
    double reward = 0;
    for (int i = 0; i < 3; i++) {
        const int64_t cell = step(settings, row, column, (action + turns[i]) % ACTIONS);
        if (chances[i] > 0) {
            add_step(model, start, cell, chances[i]);
            reward += cell == goal ? settings->reward * chances[i] : 0;
        }
    }
    nadir_generate_end_row(model, reward);
}

static nadir_status add_cell(nadir_context *context, const nadir_generate_settings *settings, int64_t row,
                             int64_t column, nadir_model *model)
{
    char name[48];
    const int length = snprintf(name, sizeof name, "r%lldc%lld", (long long)row, (long long)column);
    const int64_t cell = row * settings->width + column;
    const bool goal = cell == settings->width * settings->height - 1;
    for (int action = 0; action < ACTIONS; action++) {
        if (goal) {
            nadir_generate_add(model, cell, 1);
            nadir_generate_end_row(model, 0);
        } else {
            add_move(settings, row, column, action, model);
        }
    }
    nadir_generate_end_state(model);
    return nadir_names_add(context, &model->state_names, name, (size_t)length);
}

static nadir_status fill(nadir_context *context, const nadir_generate_settings *settings, nadir_model *model)
{
    static const char *const actions[ACTIONS] = {"up", "right", "down", "left"};
    nadir_status status = NADIR_OK;
    if (settings->height > NADIR_STATES_LIMIT / settings->width) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "gridworld: %lld x %lld cells are too many; expected at most %d",
                          (long long)settings->width, (long long)settings->height, NADIR_STATES_LIMIT);
    }
    const int64_t cells = settings->width * settings->height;
    NADIR_CHECK(nadir_generate_name_actions(context, model, ACTIONS, actions));
    NADIR_CHECK(nadir_generate_reserve(context, model, cells, ACTIONS * cells, 3 * ACTIONS * cells));
    for (int64_t row = 0; row < settings->height; row++) {
        for (int64_t column = 0; column < settings->width; column++) {
            NADIR_CHECK(add_cell(context, settings, row, column, model));
            NADIR_CHECK(nadir_generate_progress(context, model->states, cells, 3 * ACTIONS));
        }
    }
cleanup:
    return status;
}

const nadir_generate_kind nadir_generate_gridworld = {
    .facts = {.name = "gridworld",
              .summary = "the way across a slippery grid",
              .source = "moves of Russell and Norvig 1995, Artificial Intelligence, section 17.1",
              .discount = 0.95,
              NADIR_GENERATE_USES(used)},
    .fill = fill,
};

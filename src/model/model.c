/* model.c: the model as an object: making, sharing, looking inside; see model.h. */
#include "model/model.h"

#include "core/device.h"
#include "linalg/distributed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *nadir_set_name(nadir_set set)
{
    switch (set) {
    case NADIR_SET_NONRECT:
        return "nonrect";
    case NADIR_SET_S:
        return "s";
    case NADIR_SET_SA:
        return "sa";
    case NADIR_SET_UNSAID:
        break;
    }
    return "";
}

const char *nadir_domain_name(nadir_domain domain)
{
    switch (domain) {
    case NADIR_DOMAIN_SIMPLEX:
        return "simplex";
    case NADIR_DOMAIN_SUPPORT:
        return "support";
    case NADIR_DOMAIN_FREE:
        return "free";
    case NADIR_DOMAIN_UNSAID:
        break;
    }
    return "";
}

nadir_status nadir_model_start(nadir_context *context, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_model *made;
    NADIR_NEW_ZERO(context, made, 1);
    atomic_init(&made->references, 1);
    made->memory = nadir_memory_retain(context->memory);
    made->discount = NAN;
    made->norm = NAN;
    *model = made;
cleanup:
    return status;
}

nadir_model *nadir_model_retain(nadir_model *model)
{
    atomic_fetch_add(&model->references, 1);
    return model;
}

void nadir_model_free(nadir_model *model)
{
    if (model == NULL || atomic_fetch_sub(&model->references, 1) != 1) {
        return;
    }
    nadir_memory *memory = model->memory;
    if (model->borrowed) {
        model->dense = NULL;
        model->columns = NULL;
        model->probabilities = NULL;
    }
    if (model->release != NULL) {
        model->release(model->release_user);
    }
    void *const arrays[] = {model->state_rows, model->row_actions, model->dense,
                            model->row_starts, model->columns,     model->probabilities,
                            model->rewards,    model->scales,      model->transition_rewards,
                            model->initial,    model->radius,      model->limits.minima};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        nadir_memory_release(memory, arrays[i]);
    }
    nadir_names_clear(memory, &model->state_names);
    nadir_names_clear(memory, &model->action_names);
    nadir_exchange_free(model->exchange);
    if (model->device_rows != NULL) {
        model->rows_device->rows_free(model->device_rows);
    }
    nadir_memory_release(memory, model);
    nadir_memory_free(memory);
}

void nadir_model_data_fill(nadir_model_data *data, size_t size)
{
    nadir_model_data made = {0};
    made.discount = NAN;
    made.norm = NAN;
    nadir_settings_give(data, size, &made, sizeof made);
}

void nadir_model_view(const nadir_model *model, nadir_model_data *data)
{
    nadir_model_data view;
    nadir_model_data_default(&view);
    view.states = model->states;
    view.rows = model->rows;
    view.nonzeros = model->nonzeros;
    view.discount = model->discount;
    view.state_rows = model->state_rows;
    view.row_actions = model->row_actions;
    view.dense = model->dense;
    view.row_starts = model->row_starts;
    view.columns = model->columns;
    view.probabilities = model->probabilities;
    view.rewards = model->rewards;
    view.transition_rewards = model->transition_rewards;
    view.initial = model->initial;
    view.scales = model->scales;
    view.action_names_count = model->action_names.count;
    view.radius = model->radius;
    view.radius_count = model->radius_count;
    view.norm = model->norm;
    view.set = model->set;
    view.domain = model->domain;
    nadir_settings_give(data, data->size, &view, sizeof view);
}

const char *nadir_model_state_name(const nadir_model *model, int64_t state)
{
    return nadir_names_get(&model->state_names, state);
}

const char *nadir_model_action_name(const nadir_model *model, int64_t row)
{
    if (model->action_names.count == 0 || row < 0 || row >= model->rows) {
        return NULL;
    }
    const int64_t state = nadir_model_row_state(model, row);
    return nadir_names_get(&model->action_names, nadir_model_row_action(model, state, row));
}

nadir_status nadir_model_check_one_process(nadir_context *context, const nadir_model *model, const char *what)
{
    return model->exchange == NULL
               ? NADIR_OK
               : nadir_fail(context, NADIR_ERROR_UNSUPPORTED, "not available with an engine yet: %s", what);
}

nadir_status nadir_model_totals(nadir_context *context, const nadir_model *model, int64_t *states,
                                int64_t *rows, int64_t *nonzeros)
{
    *states = nadir_global_count(context, model->states);
    *rows = nadir_global_count(context, model->rows);
    *nonzeros = nadir_global_count(context, model->nonzeros);
    return NADIR_OK;
}

nadir_row nadir_model_row(const nadir_model *model, int64_t row)
{
    const int64_t start = model->dense != NULL ? row * model->states : model->row_starts[row];
    const int64_t end = model->dense != NULL ? start + model->states : model->row_starts[row + 1];
    return (nadir_row){
        .count = end - start,
        .columns = model->dense != NULL ? NULL : model->columns + start,
        .values = (model->dense != NULL ? model->dense : model->probabilities) + start,
        .rewards = model->transition_rewards != NULL ? model->transition_rewards + start : NULL,
    };
}

int64_t nadir_model_row_state(const nadir_model *model, int64_t row)
{
    int64_t low = 0;
    int64_t high = model->states; /* state_rows[low] <= row < state_rows[high] */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (model->state_rows[middle] <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

int64_t nadir_model_row_action(const nadir_model *model, int64_t state, int64_t row)
{
    return model->row_actions != NULL ? model->row_actions[row] : row - model->state_rows[state];
}

int64_t nadir_model_find_row(const nadir_model *model, int64_t state, int64_t action)
{
    const int64_t first = model->state_rows[state];
    const int64_t end = model->state_rows[state + 1];
    if (model->row_actions == NULL) {
        return action >= 0 && action < end - first ? first + action : -1;
    }
    int64_t low = first;
    int64_t high = end;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (model->row_actions[middle] < action) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end && model->row_actions[low] == action ? low : -1;
}

bool nadir_model_is_terminal(const nadir_model *model, int64_t state)
{
    const int64_t row = model->state_rows[state];
    if (model->state_rows[state + 1] != row + 1 || model->scales == NULL || model->scales[row] != 0 ||
        (model->rewards != NULL && model->rewards[row] != 0)) {
        return false;
    }
    const nadir_row entries = nadir_model_row(model, row);
    if (entries.columns == NULL) {
        return entries.values[state] == 1;
    }
    return entries.count == 1 && entries.columns[0] == state;
}

const char *nadir_model_label(const nadir_model *model, int64_t state, int64_t row,
                              char text[NADIR_LABEL_LENGTH])
{
    const char *state_name = nadir_model_state_name(model, state);
    const int64_t number = nadir_model_first(model) + state;
    int used = snprintf(text, NADIR_LABEL_LENGTH, "state %lld", (long long)number);
    if (state_name != NULL) {
        used += snprintf(text + used, NADIR_LABEL_LENGTH - (size_t)used, " (%.48s)", state_name);
    }
    if (row >= 0) {
        const int64_t action = nadir_model_row_action(model, state, row);
        const char *action_name = nadir_names_get(&model->action_names, action);
        used += snprintf(text + used, NADIR_LABEL_LENGTH - (size_t)used, ", action %lld", (long long)action);
        if (action_name != NULL) {
            (void)snprintf(text + used, NADIR_LABEL_LENGTH - (size_t)used, " (%.48s)", action_name);
        }
    }
    return text;
}

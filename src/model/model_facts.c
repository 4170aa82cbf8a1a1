/* model_facts.c: what can be said of a model before anything is solved: sizes, ranges, valid radius, reach. */
#include "model/model.h"

#include "linalg/distributed.h"
#include "linalg/gstd.h"

#include <math.h>
#include <string.h>

double nadir_model_row_minimum(const nadir_model *model, int64_t row)
{
    const nadir_row entries = nadir_model_row(model, row);
    if (model->limits.minima != NULL) {
        return model->limits.minima[row];
    }
    if (entries.count < nadir_model_total(model)) {
        return 0;
    }
    double minimum = INFINITY;
    for (int64_t i = 0; i < entries.count; i++) {
        minimum = entries.values[i] < minimum ? entries.values[i] : minimum;
    }
    return minimum;
}

nadir_status nadir_model_valid_radius(nadir_context *context, const nadir_model *model, double norm,
                                      double *radius)
{
    return nadir_model_valid_radius_scaled(context, model, model->scales, norm, radius);
}

nadir_status nadir_model_valid_radius_scaled(nadir_context *context, const nadir_model *model,
                                             const double *scales, double norm, double *radius)
{
    if (!(norm >= 1)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the norm is %g; expected 1 to infinity", norm);
    }
    const double deviation = nadir_gstd_unit(nadir_model_total(model), norm);
    double smallest = scales == NULL && deviation > 0 ? model->limits.minimum / deviation : INFINITY;
    for (int64_t row = 0; scales != NULL && row < model->rows; row++) {
        if (scales[row] > 0 && deviation > 0) {
            const double reach = nadir_model_row_minimum(model, row) / (scales[row] * deviation);
            smallest = reach < smallest ? reach : smallest;
        }
    }
    *radius = nadir_allreduce_minimum(context, smallest);
    return NADIR_OK;
}

static bool is_absorbing(const nadir_model *model, int64_t state)
{
    for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        for (int64_t i = 0; i < entries.count; i++) {
            if (entries.values[i] > 0 && nadir_row_column(&entries, i) != state) {
                return false;
            }
        }
    }
    return true;
}

/* Breadth-first from the support of mu through every transition of positive probability. */
static nadir_status count_unreachable(nadir_context *context, const nadir_model *model, int64_t *unreachable)
{
    nadir_status status = NADIR_OK;
    bool *seen = NULL;
    int32_t *queue = NULL;
    int64_t head = 0;
    int64_t tail = 0;
    NADIR_NEW_ZERO(context, seen, model->states);
    NADIR_NEW(context, queue, model->states);
    for (int64_t s = 0; s < model->states; s++) {
        if (model->initial[s] > 0) {
            seen[s] = true;
            queue[tail++] = (int32_t)s;
        }
    }
    while (head < tail && tail < model->states) {
        const int64_t s = queue[head++];
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            for (int64_t i = 0; i < entries.count; i++) {
                const int64_t next = nadir_row_column(&entries, i);
                if (entries.values[i] > 0 && !seen[next]) {
                    seen[next] = true;
                    queue[tail++] = (int32_t)next;
                }
            }
        }
    }
    *unreachable = model->states - tail;
cleanup:
    nadir_release(context, seen);
    nadir_release(context, queue);
    return status;
}

static int64_t model_bytes(const nadir_model *model)
{
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    int64_t bytes = (model->states + 1) * 8 + model->states * 8 + entries * 8;
    bytes += model->dense == NULL ? (model->rows + 1) * 8 + entries * 4 : 0;
    bytes += model->rewards != NULL ? model->rows * 8 : 0;
    bytes += model->scales != NULL ? model->rows * 8 : 0;
    bytes += model->row_actions != NULL ? model->rows * 4 : 0;
    bytes += model->transition_rewards != NULL ? entries * 8 : 0;
    return bytes;
}

void nadir_model_facts_fill(nadir_model_facts *facts, size_t size)
{
    nadir_model_facts made = {0};
    nadir_settings_give(facts, size, &made, sizeof made);
}

nadir_status nadir_model_facts_compute(nadir_context *context, const nadir_model *model,
                                       nadir_model_facts *facts)
{
    nadir_status status = NADIR_OK;
    const size_t size = facts->size;
    nadir_model_facts found = {
        .size = size,
        .states = model->states,
        .rows = model->rows,
        .nonzeros = model->nonzeros,
        .actions_min = INT64_MAX,
        .density = (double)model->nonzeros / ((double)model->rows * (double)model->states),
        .reward_min = NAN,
        .reward_max = NAN,
        .discount = model->discount,
        .bytes = model_bytes(model),
    };
    if (size < sizeof size || size > sizeof found) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the model facts is not set");
    }
    NADIR_CHECK(nadir_model_check_one_process(context, model, "facts of a model"));
    NADIR_CHECK(nadir_model_valid_radius(context, model, 2, &found.valid_radius));
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t actions = model->state_rows[s + 1] - model->state_rows[s];
        found.actions_min = actions < found.actions_min ? actions : found.actions_min;
        found.actions_max = actions > found.actions_max ? actions : found.actions_max;
        found.terminal_states += nadir_model_is_terminal(model, s);
        found.absorbing_states += is_absorbing(model, s);
    }
    for (int64_t row = 0; row < model->rows; row++) {
        if (model->rewards != NULL) {
            found.reward_min = fmin(found.reward_min, model->rewards[row]); /* fmin passes over NaN */
            found.reward_max = fmax(found.reward_max, model->rewards[row]);
        }
        found.pinned_rows += model->scales != NULL && model->scales[row] == 0;
    }
    NADIR_CHECK(count_unreachable(context, model, &found.unreachable_states));
    nadir_settings_give(facts, facts->size, &found, sizeof found);
cleanup:
    return status;
}

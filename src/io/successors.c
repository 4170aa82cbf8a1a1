/*
 * successors.c: a file of transitions that says what each row of a model may reach; see format.h.
 *
 * Successors that the nominal kernel does not have get NADIR_LEAST_PROBABILITY (model/box.h), so that the support of the
 * model is what the file lists. Rows that the file does not mention keep their successors.
 */
#include "io/format.h"
#include "model/box.h"
#include "model/model.h"

#include <string.h>

typedef struct extension {
    nadir_context *context;
    const char *path;
    const nadir_model *model;
    const nadir_counts *listed;
    /* The rows in the making: */
    int64_t *starts;
    int32_t *columns;
    double *values;
    int64_t count;
} extension;

static void put(extension *self, int64_t column, double value)
{
    self->columns[self->count] = (int32_t)column;
    self->values[self->count++] = value;
}

/* The nominal successors and those that are listed, both rising. */
static nadir_status extend_row(extension *self, int64_t state, int64_t row)
{
    const nadir_row nominal = nadir_model_row(self->model, row);
    const int64_t place = self->listed->state_rows[state] + nadir_model_row_action(self->model, state, row);
    int64_t next = self->listed->row_starts[place];
    const int64_t end = self->listed->row_starts[place + 1];
    const bool mentioned = next < end;
    self->starts[row] = self->count;
    for (int64_t i = 0; i < nominal.count; i++) {
        const int64_t column = nadir_row_column(&nominal, i);
        if (!(nominal.values[i] > 0)) {
            continue;
        }
        for (; next < end && self->listed->columns[next] < column; next++) {
            put(self, self->listed->columns[next], NADIR_LEAST_PROBABILITY);
        }
        if (mentioned && (next == end || self->listed->columns[next] != column)) {
            char label[NADIR_LABEL_LENGTH];
            return nadir_fail(
                self->context, NADIR_ERROR_MODEL,
                "%s: %s: successor %lld of the model is not listed; expected all successors of the "
                "rows that are mentioned",
                self->path, nadir_model_label(self->model, state, row, label), (long long)column);
        }
        next += mentioned;
        put(self, column, nominal.values[i]);
    }
    for (; next < end; next++) {
        put(self, self->listed->columns[next], NADIR_LEAST_PROBABILITY);
    }
    return NADIR_OK;
}

/* Rows that are listed are rows of the model. */
static nadir_status check_rows(const extension *self)
{
    for (int64_t s = 0; s < self->listed->states; s++) {
        for (int64_t row = self->listed->state_rows[s]; row < self->listed->state_rows[s + 1]; row++) {
            const int64_t action = row - self->listed->state_rows[s];
            if (self->listed->row_starts[row] < self->listed->row_starts[row + 1] &&
                nadir_model_find_row(self->model, s, action) < 0) {
                return nadir_fail(self->context, NADIR_ERROR_MODEL,
                                  "%s: the model has no action %lld in state %lld", self->path,
                                  (long long)action, (long long)s);
            }
        }
    }
    return NADIR_OK;
}

static nadir_status extend(extension *self, nadir_model **made)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    nadir_model_data data;
    NADIR_NEW(self->context, self->starts, model->rows + 1);
    NADIR_NEW(self->context, self->columns, model->nonzeros + self->listed->nonzeros);
    NADIR_NEW(self->context, self->values, model->nonzeros + self->listed->nonzeros);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            NADIR_CHECK(extend_row(self, s, row));
        }
    }
    self->starts[model->rows] = self->count;
    nadir_model_data_default(&data);
    nadir_model_view(model, &data);
    data.dense = NULL;
    data.row_starts = self->starts;
    data.columns = self->columns;
    data.probabilities = self->values;
    data.action_names_count = 0;
    data.domain = data.domain != NADIR_DOMAIN_UNSAID ? data.domain : NADIR_DOMAIN_SUPPORT;
    NADIR_CHECK(nadir_model_create(self->context, &data, made));
    NADIR_CHECK(nadir_model_add_names(self->context, &model->state_names, &model->action_names, *made));
cleanup:
    NADIR_RELEASE(self->context, self->starts, self->columns, self->values);
    return status;
}

nadir_status nadir_successors_apply(nadir_context *context, const char *path, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_model *from = *model;
    nadir_model *made = NULL;
    nadir_data listed = {0};
    nadir_counts none = {0};
    const nadir_data alike = {.counts = &none, .names = {from->state_names, from->action_names}};
    int64_t actions = 0;
    for (int64_t s = 0; s < from->states; s++) {
        const int64_t last = nadir_model_row_action(from, s, from->state_rows[s + 1] - 1);
        actions = last >= actions ? last + 1 : actions;
    }
    const nadir_data_settings reading = {.states = from->states, .actions = actions, .alike = &alike};
    if (from->transition_rewards != NULL || from->lower != NULL) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "%s: a list of successors is not there for models %s", path,
                          from->lower != NULL ? "with intervals, which say what rows may reach"
                                              : "with rewards paid on landing: take --frozen-rewards");
    }
    NADIR_CHECK(nadir_model_check_one_process(context, from, "a list of successors"));
    NADIR_CHECK(nadir_data_read(context, path, &reading, &listed));
    if (listed.counts == NULL) {
        status = nadir_fail(context, NADIR_ERROR_MODEL,
                            "%s holds samples of kernels; expected a list of transitions", path);
        goto cleanup;
    }
    extension self = {.context = context, .path = path, .model = from, .listed = listed.counts};
    NADIR_CHECK(check_rows(&self));
    NADIR_CHECK(extend(&self, &made));
    made->marks = from->marks; /* of what was read */
    from->marks = NULL;
    *model = made;
    made = NULL;
    nadir_model_free(from);
cleanup:
    nadir_model_free(made);
    nadir_data_clear(context, &listed);
    return status;
}

/*
 * policy_file.c: policies in files.
 *
 *     CSV    idstate,idaction,probability    columns in any order; states and actions by number or name; where
 *                                            the model has names, the columns state_name and action_name count;
 *                                            without the last column all probabilities are 1; a state may be
 *                                            left out if it has one action or is never left (an end), an
 *                                            action if it is never taken
 *     .npy   (S, A) probabilities            A: the largest action number + 1; zeros where there is no action
 *     .npy   (rows) probabilities            one for each row of the model
 *     .npy   (S) integers                    action numbers
 *
 *     .npy   (H, S, A), (H, rows)            policies by time step: nadir_policy_read_steps
 *
 * The content decides which. Written are CSV without zeros or, for the ending .npy, (S, A) where
 * all states have the actions 0 .. A - 1, else one probability for each row.
 *
 * Where states are spread over processes each reads all lines of CSV, or its own range of an array, and keeps
 * what is its own; process 0 writes what it has collected from all.
 */
#include "io/csv_cells.h"
#include "io/format.h"
#include "io/log_file.h"
#include "io/npy.h"
#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "model/policy.h"
#include "model/terminal.h"

#include <math.h>
#include <string.h>

typedef nadir_state_numbers reader; /* by row */

/* Whether nothing is decided in a state: it has one action, or is never left. */
static bool is_free(const nadir_model *model, int64_t state)
{
    return model->state_rows[state + 1] - model->state_rows[state] == 1 || nadir_model_ends(model, state) ||
           nadir_model_is_end(model, state);
}

/* Every state has a distribution; nadir_policy_create checks it too, but knows neither file nor line. */
static nadir_status check(const reader *self)
{
    const nadir_model *model = self->model;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t count = model->state_rows[s + 1] - first;
        int64_t line = 0;
        for (int64_t row = first; row < first + count; row++) {
            const int64_t given = self->lines != NULL ? self->lines[row] : 0;
            const double probability = self->numbers[row];
            line = line == 0 ? given : line;
            if (!(probability >= 0) || !isfinite(probability)) {
                return nadir_state_numbers_fail(
                    self, s, row, given, "the probability is %g; expected a number from 0 to 1", probability);
            }
        }
        if (self->lines != NULL && line == 0) {
            if (!is_free(model, s)) {
                return nadir_state_numbers_fail(self, s, -1, 0,
                                                "is not in the file; only states with one action, and those "
                                                "that are never left, may be left out; this one has %lld",
                                                (long long)count);
            }
            self->numbers[first] = 1;
        }
        double sum = nadir_vector_sum(count, self->numbers + first);
        if (!(fabs(sum - 1) <= NADIR_SUM_TOLERANCE) &&
            (nadir_model_ends(model, s) || nadir_model_is_end(model, s))) {
            memset(self->numbers + first, 0, (size_t)count * sizeof *self->numbers);
            self->numbers[first] = sum = 1;
        }
        if (!(fabs(sum - 1) <= NADIR_SUM_TOLERANCE)) {
            return nadir_state_numbers_fail(
                self, s, -1, line, "the probabilities of its actions sum to %.10g; expected 1 (within 1e-5)",
                sum);
        }
    }
    return NADIR_OK;
}

/* Own rows of (S, A), whose columns are action numbers. table: [states * actions] */
static nadir_status take_table(const reader *self, int64_t actions, const double *table)
{
    const nadir_model *model = self->model;
    for (int64_t s = 0; s < model->states; s++) {
        const double *values = table + s * actions;
        int64_t row = model->state_rows[s];
        for (int64_t action = 0; action < actions; action++) {
            if (row < model->state_rows[s + 1] && nadir_model_row_action(model, s, row) == action) {
                self->numbers[row++] = values[action];
            } else if (values[action] != 0) {
                return nadir_state_numbers_fail(self, s, -1, 0,
                                                "there is no action %lld, but its probability is %g",
                                                (long long)action, values[action]);
            }
        }
    }
    return NADIR_OK;
}

/* actions: [states] */
static nadir_status take_actions(const reader *self, const double *actions)
{
    for (int64_t s = 0; s < self->model->states; s++) {
        const bool fits = actions[s] >= 0 && actions[s] <= INT32_MAX;
        const int64_t row = fits ? nadir_model_find_row(self->model, s, (int64_t)actions[s]) : -1;
        if (row < 0) {
            return nadir_state_numbers_fail(self, s, -1, 0, "there is no action %.0f", actions[s]);
        }
        self->numbers[row] = 1;
    }
    return NADIR_OK;
}

/* One more than the largest action number of all processes. */
static int64_t count_actions(const reader *self)
{
    const nadir_model *model = self->model;
    int64_t largest = 0;
    for (int64_t s = 0; s < model->states; s++) { /* numbers rise within a state */
        const int64_t last = nadir_model_row_action(model, s, model->state_rows[s + 1] - 1);
        largest = last > largest ? last : largest;
    }
    return (int64_t)nadir_allreduce_maximum(self->context, (double)largest) + 1;
}

/* The own items of an array that has one of the shapes above. */
static nadir_status take_array(const reader *self, nadir_npy *npy)
{
    nadir_status status = NADIR_OK;
    const nadir_npy_header *header = &npy->header;
    const nadir_model *model = self->model;
    const int64_t states = nadir_model_total(model);
    const int64_t rows = nadir_global_count(self->context, model->rows);
    const int64_t actions = count_actions(self);
    const nadir_npy_slice of_states = {0, nadir_model_first(model), model->states};
    const nadir_npy_slice of_rows = {0, nadir_global_first(self->context, model->rows), model->rows};
    const bool integer = nadir_npy_is_integer(header);
    double *items = NULL;
    if (header->dimensions == 2 && header->shape[0] == states && header->shape[1] == actions) {
        NADIR_NEW(self->context, items, model->states * actions);
        NADIR_CHECK(nadir_npy_place(npy, &of_states, NULL, items));
        NADIR_CHECK(take_table(self, actions, items));
    } else if (header->dimensions == 1 && integer && header->count == states) {
        NADIR_NEW(self->context, items, model->states);
        NADIR_CHECK(nadir_npy_place(npy, &of_states, NULL, items));
        NADIR_CHECK(take_actions(self, items));
    } else if (header->dimensions == 1 && header->count == rows) {
        NADIR_CHECK(nadir_npy_place(npy, &of_rows, NULL, self->numbers));
    } else {
        char shape[NADIR_NPY_SHAPE_LENGTH];
        status =
            nadir_fail(self->context, NADIR_ERROR_POLICY,
                       "%s: the array has shape %s%s; expected probabilities (%lld, %lld) or (%lld,), or "
                       "integers (%lld,): an action number for each state",
                       self->path, nadir_npy_shape_text(header->dimensions, header->shape, shape),
                       integer ? " of integers" : "", (long long)states, (long long)actions, (long long)rows,
                       (long long)states);
    }
cleanup:
    nadir_release(self->context, items);
    return status;
}

static nadir_status read_npy(reader *self)
{
    nadir_status status = NADIR_OK;
    nadir_npy npy = {0};
    nadir_npy_file file;
    nadir_npy_source source;
    NADIR_CHECK(nadir_npy_file_open(self->context, self->path, &file, &source));
    NADIR_CHECK(nadir_npy_open(self->context, &source, NULL, &npy));
    NADIR_NEW_ZERO(self->context, self->numbers, self->model->rows);
    NADIR_CHECK(take_array(self, &npy));
cleanup:
    nadir_npy_close(&npy);
    nadir_input_close(&file.input);
    return status;
}

nadir_status nadir_policy_read(nadir_context *context, const nadir_model *model, const char *path,
                               nadir_policy **policy)
{
    return nadir_policy_read_columns(context, model, path, NULL, policy);
}

nadir_status nadir_policy_read_columns(nadir_context *context, const nadir_model *model, const char *path,
                                       const char *given, nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    nadir_csv_column columns[] = {
        {{"state", "idstate"}, false}, {{"action", "idaction"}, false}, {{"probability"}, true}};
    static const int roles[] = {NADIR_DATA_STATE, NADIR_DATA_ACTION};
    reader self = {context, model, path, NADIR_ERROR_POLICY, .by_row = true};
    nadir_log_names names;
    bool npy;
    NADIR_CHECK(nadir_log_names_make(context, given, &names));
    for (int i = 0; i < 2; i++) {
        if (NADIR_DATA_HAS(names.given, roles[i])) {
            columns[i].names[2] = names.columns[roles[i]].names[0];
        }
    }
    NADIR_CHECK(nadir_npy_recognises(context, path, &npy));
    NADIR_CHECK(npy ? read_npy(&self) : nadir_state_numbers_read(&self, columns));
    NADIR_CHECK(check(&self));
    NADIR_CHECK(nadir_policy_create(context, model, self.numbers, policy));
cleanup:
    NADIR_RELEASE(context, self.numbers, self.lines);
    return status;
}

/* Policies by time step from (H, S, A) or (H, rows). */
static nadir_status take_steps(reader *self, nadir_npy *npy, int64_t horizon, nadir_policy **policies)
{
    nadir_status status = NADIR_OK;
    const nadir_npy_header *header = &npy->header;
    const nadir_model *model = self->model;
    const int64_t actions = count_actions(self);
    const bool table = header->dimensions == 3;
    const int64_t each = table ? model->states * actions : model->rows;
    const nadir_npy_slice all = {0, 0, horizon};
    double *items = NULL;
    if (header->shape[0] != horizon ||
        (table ? header->shape[1] != model->states || header->shape[2] != actions
               : header->shape[1] != model->rows)) {
        char shape[NADIR_NPY_SHAPE_LENGTH];
        return nadir_fail(
            self->context, NADIR_ERROR_POLICY,
            "%s: the array has shape %s; expected, for %lld steps, (%lld, %lld, %lld) or (%lld, "
            "%lld)",
            self->path, nadir_npy_shape_text(header->dimensions, header->shape, shape), (long long)horizon,
            (long long)horizon, (long long)model->states, (long long)actions, (long long)horizon,
            (long long)model->rows);
    }
    NADIR_NEW(self->context, items, horizon * each);
    NADIR_CHECK(nadir_npy_place(npy, &all, NULL, items));
    for (int64_t step = 0; step < horizon; step++) {
        memset(self->numbers, 0, (size_t)model->rows * sizeof *self->numbers);
        if (table) {
            NADIR_CHECK(take_table(self, actions, items + step * each));
        } else {
            memcpy(self->numbers, items + step * each, (size_t)each * sizeof *items);
        }
        NADIR_CHECK(check(self));
        NADIR_CHECK(nadir_policy_create(self->context, model, self->numbers, &policies[step]));
    }
cleanup:
    nadir_release(self->context, items);
    return status;
}

/* *steps: whether the file has policies by time step, which are read then. */
static nadir_status read_steps(reader *self, int64_t horizon, nadir_policy **policies, bool *steps)
{
    nadir_status status = NADIR_OK;
    nadir_npy npy = {0};
    nadir_npy_file file;
    nadir_npy_source source;
    const int64_t actions = count_actions(self);
    NADIR_CHECK(nadir_npy_file_open(self->context, self->path, &file, &source));
    NADIR_CHECK(nadir_npy_open(self->context, &source, NULL, &npy));
    const nadir_npy_header *header = &npy.header;
    const bool stationary =
        header->dimensions == 1 ||
        (header->dimensions == 2 && header->shape[0] == self->model->states && header->shape[1] == actions);
    *steps = !stationary && (header->dimensions == 2 || header->dimensions == 3);
    if (*steps) {
        NADIR_NEW(self->context, self->numbers, self->model->rows);
        NADIR_CHECK(take_steps(self, &npy, horizon, policies));
    }
cleanup:
    nadir_npy_close(&npy);
    nadir_input_close(&file.input);
    return status;
}

nadir_status nadir_policy_read_steps(nadir_context *context, const nadir_model *model, const char *path,
                                     int64_t horizon, nadir_policy **policies, int64_t *count)
{
    nadir_status status = NADIR_OK;
    reader self = {context, model, path, NADIR_ERROR_POLICY, .by_row = true};
    bool steps = false;
    bool npy = false;
    for (int64_t step = 0; step < horizon; step++) {
        policies[step] = NULL;
    }
    NADIR_CHECK(nadir_model_check_one_process(context, model, "a horizon"));
    NADIR_CHECK(nadir_npy_recognises(context, path, &npy));
    if (npy) {
        NADIR_CHECK(read_steps(&self, horizon, policies, &steps));
    }
    if (!steps && horizon > 0) {
        NADIR_CHECK(nadir_policy_read(context, model, path, &policies[0]));
    }
    *count = steps ? horizon : 1;
cleanup:
    for (int64_t step = 0; status != NADIR_OK && step < horizon; step++) {
        nadir_policy_free(policies[step]);
        policies[step] = NULL;
    }
    nadir_release(context, self.numbers);
    return status;
}

/* What is written: the numbers of all rows, with their states and actions where the model does not have them
 * all. Only process 0 has the arrays. */
typedef struct table {
    int64_t rows;
    const double *numbers; /* [rows] */
    double *owned;         /* [3 * rows] numbers, states, actions; NULL: the model is whole */
} table;

static nadir_status collect(nadir_context *context, const nadir_model *model, const double *numbers,
                            table *made)
{
    nadir_status status = NADIR_OK;
    const nadir_communication *all = context->communication;
    const int64_t rows = nadir_global_count(context, model->rows);
    double *own = NULL;
    *made = (table){.rows = rows, .numbers = numbers};
    if (model->exchange == NULL) {
        return NADIR_OK;
    }
    NADIR_NEW(context, own, 2 * model->rows);
    NADIR_NEW(context, made->owned, all->rank == 0 ? 3 * rows : 1);
    made->numbers = made->owned;
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            own[row] = (double)(nadir_model_first(model) + s);
            own[model->rows + row] = (double)nadir_model_row_action(model, s, row);
        }
    }
    const int64_t step = all->rank == 0 ? rows : 0;
    NADIR_CHECK(all->collect(all->self, context, model->rows, numbers, made->owned));
    NADIR_CHECK(all->collect(all->self, context, model->rows, own, made->owned + step));
    NADIR_CHECK(all->collect(all->self, context, model->rows, own + model->rows, made->owned + 2 * step));
cleanup:
    nadir_release(context, own);
    return status;
}

static void write_line(nadir_output *output, int64_t state, int64_t action, double number)
{
    nadir_output_integer(output, state);
    nadir_output_text(output, ",");
    nadir_output_integer(output, action);
    nadir_output_text(output, ",");
    nadir_output_double(output, number);
}

/* In quotes; of quotes within, readers see two, as the names may have come. */
static void write_name(nadir_output *output, const char *name)
{
    nadir_output_text(output, ",\"");
    for (const char *at = name; at != NULL && *at != '\0'; at++) {
        const char character[3] = {*at, *at == '"' ? '"' : '\0', '\0'};
        nadir_output_text(output, character);
    }
    nadir_output_text(output, "\"");
}

static nadir_status write_csv(nadir_context *context, const nadir_model *model, const table *from,
                              const char *name, bool zeros, const char *path)
{
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    const double *own = from->owned;
    int64_t state = 0;
    NADIR_CHECK(nadir_output_open(context, path, &output));
    const bool named = own == NULL && strcmp(name, "probability") == 0 &&
                       (model->state_names.count > 0 || model->action_names.count > 0);
    nadir_output_format(&output, "idstate,idaction,%s%s\n", name, named ? ",state_name,action_name" : "");
    for (int64_t row = 0; row < from->rows; row++) {
        while (own == NULL && model->state_rows[state + 1] <= row) {
            state++;
        }
        const int64_t of = own != NULL ? (int64_t)own[from->rows + row] : state;
        const int64_t action =
            own != NULL ? (int64_t)own[2 * from->rows + row] : nadir_model_row_action(model, state, row);
        /* An end with one row: nothing is decided, and another log may not have it. */
        const bool decided = !named || model->state_rows[of + 1] > model->state_rows[of] + 1 ||
                             !nadir_model_is_absorbing(model, of);
        if ((zeros || from->numbers[row] != 0) && decided) {
            write_line(&output, of, action, from->numbers[row]);
            if (named) {
                write_name(&output, nadir_model_state_name(model, of));
                write_name(&output, nadir_model_action_name(model, row));
            }
            nadir_output_text(&output, "\n");
        }
    }
    NADIR_CHECK(nadir_output_commit(context, &output));
cleanup:
    nadir_output_close(context, &output);
    return status;
}

/* As many actions as every state of every process has; 0: they differ, or their numbers have gaps. */
static int64_t common_actions(const nadir_context *context, const nadir_model *model)
{
    const int64_t own = model->row_actions == NULL ? nadir_model_common_actions(model) : 0;
    const int64_t most = (int64_t)nadir_allreduce_maximum(context, (double)own);
    return nadir_allreduce_and(context, model->states == 0 || own == most) ? most : 0;
}

nadir_status nadir_row_numbers_write(nadir_context *context, const nadir_model *model, const char *name,
                                     const double *numbers, bool zeros, const char *path)
{
    nadir_status status = NADIR_OK;
    table made = {0};
    const int64_t actions = common_actions(context, model);
    const int64_t shape[] = {nadir_model_total(model), actions};
    NADIR_CHECK(collect(context, model, numbers, &made));
    if (model->exchange != NULL && context->communication->rank != 0) {
        goto cleanup;
    }
    NADIR_CHECK(nadir_npy_is_name(path) ? nadir_npy_write(context, path, actions > 0 ? 2 : 1,
                                                          actions > 0 ? shape : &made.rows, made.numbers)
                                        : write_csv(context, model, &made, name, zeros, path));
cleanup:
    nadir_release(context, made.owned);
    return status;
}

nadir_status nadir_policy_write(nadir_context *context, const nadir_model *model, const nadir_policy *policy,
                                const char *path)
{
    if (policy->states != model->states || policy->rows != model->rows) {
        return nadir_fail(context, NADIR_ERROR_POLICY,
                          "the policy is for %lld states and %lld rows, the model has %lld and %lld",
                          (long long)policy->states, (long long)policy->rows, (long long)model->states,
                          (long long)model->rows);
    }
    return nadir_row_numbers_write(context, model, "probability", policy->probabilities, false, path);
}

nadir_status nadir_policy_write_steps(nadir_context *context, const nadir_model *model, int64_t count,
                                      const nadir_policy *const *policies, const char *path)
{
    nadir_status status = NADIR_OK;
    const int64_t actions = common_actions(context, model);
    const int64_t table_shape[] = {count, model->states, actions};
    const int64_t rows_shape[] = {count, model->rows};
    double *numbers = NULL;
    NADIR_TRY(nadir_model_check_one_process(context, model, "a horizon"));
    if (!nadir_npy_is_name(path)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "%s: policies by time step are written as .npy: give a name that ends so", path);
    }
    NADIR_NEW(context, numbers, count * model->rows);
    for (int64_t step = 0; step < count; step++) {
        memcpy(numbers + step * model->rows, policies[step]->probabilities,
               (size_t)model->rows * sizeof *numbers);
    }
    status = actions > 0 ? nadir_npy_write(context, path, 3, table_shape, numbers)
                         : nadir_npy_write(context, path, 2, rows_shape, numbers);
cleanup:
    nadir_release(context, numbers);
    return status;
}

/*
 * policy_file.c: policies in files.
 *
 *     CSV    idstate,idaction,probability    columns in any order; states and actions by number or name;
 *                                            without the last column all probabilities are 1; a state may be
 *                                            left out if it has one action, an action if it is never taken
 *     .npy   (S, A) probabilities            A: the largest action number + 1; zeros where there is no action
 *     .npy   (rows) probabilities            one for each row of the model
 *     .npy   (S) integers                    action numbers
 *
 * Which of them is told by the content. Written are CSV without zeros or, for the ending .npy, (S, A) where
 * all states have the actions 0 .. A - 1, else one probability for each row.
 */
#include "io/csv/csv_cells.h"
#include "io/lookup.h"
#include "io/numpy/npy.h"
#include "io/policy_part.h"
#include "linalg/vector.h"
#include "model/policy.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

typedef struct reader {
    nadir_context *context;
    const nadir_model *model;
    const char *path;
    double *probabilities; /* [rows] */
    uint32_t *lines;       /* [rows] where each was given, 0: nowhere; NULL: the file has no lines */
} reader;

/* "FILE:LINE: state 3, action 1: " before the sentence; row < 0: of the state as a whole. */
static nadir_status policy_fail(const reader *at, int64_t state, int64_t row, int64_t line,
                                const char *format, ...) __attribute__((format(printf, 5, 6)));

static nadir_status policy_fail(const reader *at, int64_t state, int64_t row, int64_t line,
                                const char *format, ...)
{
    char place[NADIR_LABEL_LENGTH];
    char colon[32] = "";
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (line > 0) {
        (void)snprintf(colon, sizeof colon, ":%lld", (long long)line);
    }
    return nadir_fail(at->context, NADIR_ERROR_POLICY, "%s%s: %s: %s", at->path, colon,
                      nadir_model_label(at->model, state, row, place), sentence);
}

/* Every state has a distribution; nadir_policy_create checks it too, but knows neither file nor line. */
static nadir_status check(const reader *at)
{
    const nadir_model *model = at->model;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t count = model->state_rows[s + 1] - first;
        int64_t line = 0;
        for (int64_t row = first; row < first + count; row++) {
            const int64_t given = at->lines != NULL ? at->lines[row] : 0;
            const double probability = at->probabilities[row];
            line = line == 0 ? given : line;
            if (!(probability >= 0) || !isfinite(probability)) {
                return policy_fail(at, s, row, given, "the probability is %g; expected a number from 0 to 1",
                                   probability);
            }
        }
        if (at->lines != NULL && line == 0) {
            if (count > 1) {
                return policy_fail(at, s, -1, 0,
                                   "is not in the file; only states with one action may be left "
                                   "out, this one has %lld",
                                   (long long)count);
            }
            at->probabilities[first] = 1;
        }
        const double sum = nadir_vector_sum(count, at->probabilities + first);
        if (!(fabs(sum - 1) <= NADIR_SUM_TOLERANCE)) {
            return policy_fail(at, s, -1, line,
                               "the probabilities of its actions sum to %.10g; expected 1 (within 1e-5)",
                               sum);
        }
    }
    return NADIR_OK;
}

/* The row of a state and an action that a line names; -1: another process has it. */
static nadir_status find_row(const reader *at, nadir_text *text, int64_t state, int64_t action, int64_t *row)
{
    const int64_t total = nadir_model_total(at->model);
    if (state < 0 || state >= total) {
        (void)nadir_text_fail(text, "state %lld is not in the model; states are 0 to %lld", (long long)state,
                              (long long)total - 1);
        return NADIR_ERROR_POLICY;
    }
    state -= nadir_model_first(at->model);
    if (state < 0 || state >= at->model->states) {
        *row = -1;
        return NADIR_OK;
    }
    *row = nadir_model_find_row(at->model, state, action);
    if (*row < 0) {
        return policy_fail(at, state, -1, text->line, "there is no action %lld", (long long)action);
    }
    if (at->lines[*row] != 0) {
        return policy_fail(at, state, *row, text->line, "was given already in line %u", at->lines[*row]);
    }
    return NADIR_OK;
}

static nadir_status read_rows(const reader *at, nadir_text *text, const nadir_lookup *states,
                              const nadir_lookup *actions)
{
    static const nadir_csv_column columns[] = {
        {{"idstate"}, false}, {{"idaction"}, false}, {{"probability"}, true}};
    nadir_status status = NADIR_OK;
    nadir_csv_header header;
    nadir_cursor cells[NADIR_CSV_COLUMNS];
    bool more;
    NADIR_CHECK(nadir_csv_read_header(text, 3, columns, &header));
    for (;;) {
        int64_t state;
        int64_t action;
        int64_t row;
        double probability = 1;
        NADIR_CHECK(nadir_csv_read_row(text, &header, cells, &more));
        if (!more) {
            break;
        }
        NADIR_CHECK(nadir_lookup_cell(text, &header, cells, 0, states, &state));
        NADIR_CHECK(nadir_lookup_cell(text, &header, cells, 1, actions, &action));
        if (header.positions[2] >= 0) {
            NADIR_CHECK(nadir_csv_double(text, &header, cells, 2, &probability));
        }
        NADIR_CHECK(find_row(at, text, state, action, &row));
        if (row >= 0) {
            at->probabilities[row] = probability;
            at->lines[row] = text->line < UINT32_MAX ? (uint32_t)text->line : UINT32_MAX;
        }
    }
cleanup:
    return status;
}

static nadir_status read_csv(reader *at)
{
    nadir_status status = NADIR_OK;
    nadir_text text = {0};
    nadir_lookup states = {0};
    nadir_lookup actions = {0};
    NADIR_CHECK(nadir_text_open(at->context, at->path, &text));
    NADIR_CHECK(nadir_lookup_open(at->context, &at->model->state_names, &states));
    NADIR_CHECK(nadir_lookup_open(at->context, &at->model->action_names, &actions));
    NADIR_NEW_ZERO(at->context, at->lines, at->model->rows);
    NADIR_CHECK(read_rows(at, &text, &states, &actions));
cleanup:
    nadir_lookup_close(at->context, &states);
    nadir_lookup_close(at->context, &actions);
    nadir_text_close(&text);
    return status;
}

/* (S, A): the columns are action numbers. */
static nadir_status take_table(const reader *at, const nadir_array *array)
{
    const nadir_model *model = at->model;
    for (int64_t s = 0; s < model->states; s++) {
        const double *values = array->values + s * array->shape[1];
        int64_t row = model->state_rows[s];
        for (int64_t action = 0; action < array->shape[1]; action++) {
            if (row < model->state_rows[s + 1] && nadir_model_row_action(model, s, row) == action) {
                at->probabilities[row++] = values[action];
            } else if (values[action] != 0) {
                return policy_fail(at, s, -1, 0, "there is no action %lld, but its probability is %g",
                                   (long long)action, values[action]);
            }
        }
    }
    return NADIR_OK;
}

static nadir_status take_actions(const reader *at, const nadir_array *array)
{
    for (int64_t s = 0; s < at->model->states; s++) {
        const double action = array->values[s];
        const bool fits = action >= 0 && action <= INT32_MAX;
        const int64_t row = fits ? nadir_model_find_row(at->model, s, (int64_t)action) : -1;
        if (row < 0) {
            return policy_fail(at, s, -1, 0, "there is no action %.0f", action);
        }
        at->probabilities[row] = 1;
    }
    return NADIR_OK;
}

/* One more than the largest action number. */
static int64_t count_actions(const nadir_model *model)
{
    int64_t largest = 0;
    for (int64_t s = 0; s < model->states; s++) { /* numbers rise within a state */
        const int64_t last = nadir_model_row_action(model, s, model->state_rows[s + 1] - 1);
        largest = last > largest ? last : largest;
    }
    return largest + 1;
}

static nadir_status read_npy(const reader *at)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = at->model;
    nadir_array array = {0};
    NADIR_CHECK(nadir_npy_read(at->context, at->path, &array));
    const int64_t actions = count_actions(model);
    if (array.dimensions == 2 && array.shape[0] == model->states && array.shape[1] == actions) {
        status = take_table(at, &array);
    } else if (array.dimensions == 1 && array.integer && array.count == model->states) {
        status = take_actions(at, &array);
    } else if (array.dimensions == 1 && array.count == model->rows) {
        memcpy(at->probabilities, array.values, (size_t)array.count * sizeof *array.values);
    } else {
        char shape[NADIR_NPY_SHAPE_LENGTH];
        status =
            nadir_fail(at->context, NADIR_ERROR_POLICY,
                       "%s: the array has shape %s%s; expected probabilities (%lld, %lld) or (%lld,), or "
                       "integers (%lld,): an action number for each state",
                       at->path, nadir_npy_shape_text(array.dimensions, array.shape, shape),
                       array.integer ? " of integers" : "", (long long)model->states, (long long)actions,
                       (long long)model->rows, (long long)model->states);
    }
cleanup:
    nadir_release(at->context, array.values);
    return status;
}

nadir_status nadir_policy_read(nadir_context *context, const nadir_model *model, const char *path,
                               nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    reader at = {.context = context, .model = model, .path = path};
    bool npy;
    NADIR_CHECK(nadir_npy_recognises(context, path, &npy));
    if (npy && model->exchange != NULL) {
        return nadir_policy_part_read(context, model, path, policy);
    }
    NADIR_NEW_ZERO(context, at.probabilities, model->rows);
    NADIR_CHECK(npy ? read_npy(&at) : read_csv(&at));
    NADIR_CHECK(check(&at));
    NADIR_CHECK(nadir_policy_create(context, model, at.probabilities, policy));
cleanup:
    nadir_release(context, at.probabilities);
    nadir_release(context, at.lines);
    return status;
}

static nadir_status write_csv(nadir_context *context, const nadir_model *model, const nadir_policy *policy,
                              const char *path)
{
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    NADIR_CHECK(nadir_output_open(context, path, &output));
    nadir_output_text(&output, "idstate,idaction,probability\n");
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            if (policy->probabilities[row] > 0) {
                nadir_output_integer(&output, s);
                nadir_output_text(&output, ",");
                nadir_output_integer(&output, nadir_model_row_action(model, s, row));
                nadir_output_text(&output, ",");
                nadir_output_double(&output, policy->probabilities[row]);
                nadir_output_text(&output, "\n");
            }
        }
    }
    NADIR_CHECK(nadir_output_commit(context, &output));
cleanup:
    nadir_output_close(context, &output);
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
    if (model->exchange != NULL) {
        return nadir_policy_part_write(context, model, policy->probabilities, path);
    }
    return nadir_npy_is_name(path)
               ? nadir_numbers_write(context, model, "probability", policy->probabilities, path)
               : write_csv(context, model, policy, path);
}

/*
 * numbers_file.c: numbers for the states or the rows of a model, in files: radii and scales; and matrices,
 * of .npy files alone.
 *
 *     CSV    idstate,value            for every state once; columns in any order; states and actions by
 *     CSV    idstate,idaction,value   for every row once;   number or name; `value`, `radius` or `scale`
 *     .npy   one number, (S), (rows), or (S, A) for models with A actions in every state
 *
 * The content decides which. All numbers are finite, and 0 or more. Written are CSV of rows or,
 * for the ending .npy, (S, A) where all states have the actions 0 .. A - 1, else (rows).
 * Initial distributions are such numbers too, see labels.h.
 */
#include "io/csv_cells.h"
#include "io/format.h"
#include "io/labels.h"
#include "io/npy.h"
#include "model/model.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* ---- Numbers of states or rows ----------------------------------------------------------------------- */

typedef struct reader {
    nadir_context *context;
    const nadir_model *model;
    const char *path;
    bool by_row;     /* one number for each row, not for each state */
    int64_t count;   /* rows or states, or 1 */
    double *numbers; /* [count] */
    uint32_t *lines; /* [count] where each was given, 0: nowhere; NULL: the file has no lines */
} reader;

/* "FILE:LINE: state 3, action 1: " before the sentence; `place` is a state or, by row, a row. */
static nadir_status number_fail(const reader *self, int64_t place, int64_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static nadir_status number_fail(const reader *self, int64_t place, int64_t line, const char *format, ...)
{
    char name[NADIR_LABEL_LENGTH] = "its one number";
    char colon[32] = "";
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (line > 0) {
        (void)snprintf(colon, sizeof colon, ":%lld", (long long)line);
    }
    if (self->count > 1 || self->lines != NULL) {
        const int64_t state = self->by_row ? nadir_model_row_state(self->model, place) : place;
        (void)nadir_model_label(self->model, state, self->by_row ? place : -1, name);
    }
    return nadir_fail(self->context, NADIR_ERROR_FORMAT, "%s%s: %s: %s", self->path, colon, name, sentence);
}

static nadir_status check(const reader *self)
{
    int64_t missing = 0;
    int64_t first = 0;
    for (int64_t i = 0; i < self->count; i++) {
        const int64_t line = self->lines != NULL ? self->lines[i] : 0;
        if (self->lines != NULL && line == 0) {
            first = missing == 0 ? i : first;
            missing++;
        } else if (!isfinite(self->numbers[i]) || self->numbers[i] < 0) {
            return number_fail(self, i, line, "the number is %g; expected a finite one, 0 or more",
                               self->numbers[i]);
        }
    }
    if (missing > 0) {
        return number_fail(self, first, 0, "is not in the file, like %lld of %lld %s; expected each once",
                           (long long)missing, (long long)self->count, self->by_row ? "rows" : "states");
    }
    return NADIR_OK;
}

/* The place in `numbers` that a line is for. */
static nadir_status find_place(const reader *self, nadir_text *text, int64_t state, int64_t action,
                               int64_t *place)
{
    char name[NADIR_LABEL_LENGTH];
    if (state < 0 || state >= self->model->states) {
        return nadir_text_fail(text, "state %lld is not in the model; states are 0 to %lld", (long long)state,
                               (long long)self->model->states - 1);
    }
    *place = self->by_row ? nadir_model_find_row(self->model, state, action) : state;
    if (*place < 0) {
        return nadir_text_fail(text, "%s: there is no action %lld",
                               nadir_model_label(self->model, state, -1, name), (long long)action);
    }
    if (self->lines[*place] != 0) {
        return number_fail(self, *place, text->line, "was given already in line %u", self->lines[*place]);
    }
    return NADIR_OK;
}

static nadir_status read_csv(reader *self)
{
    static const nadir_csv_column columns[] = {
        {{"idstate"}, false}, {{"idaction"}, true}, {{"value", "radius", "scale"}, false}};
    nadir_status status = NADIR_OK;
    nadir_state_table table = {0};
    const nadir_model *model = self->model;
    bool more;
    NADIR_CHECK(nadir_state_table_open(self->context, self->path, columns, &model->state_names,
                                       &model->action_names, &table));
    self->by_row = table.header.positions[1] >= 0;
    self->count = self->by_row ? model->rows : model->states;
    NADIR_NEW(self->context, self->numbers, self->count);
    NADIR_NEW_ZERO(self->context, self->lines, self->count);
    for (;;) {
        int64_t place = 0;
        NADIR_CHECK(nadir_state_table_next(&table, &more));
        if (!more) {
            break;
        }
        NADIR_CHECK(find_place(self, &table.text, table.state, table.action, &place));
        self->numbers[place] = table.number;
        self->lines[place] = nadir_state_table_line(&table);
    }
cleanup:
    nadir_state_table_close(self->context, &table);
    return status;
}

/* The shapes that there may be are "(S,)", "(rows,)" and, for models of A actions everywhere, "(S, A)". */
static nadir_status shape_fail(const reader *self, const nadir_array *array, int64_t actions)
{
    char shape[NADIR_NPY_SHAPE_LENGTH];
    char table[64] = "";
    const nadir_model *model = self->model;
    if (actions > 0) {
        (void)snprintf(table, sizeof table, " or (%lld, %lld)", (long long)model->states, (long long)actions);
    }
    return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                      "%s: the array has shape %s; expected one number, (%lld,) for the states, or (%lld,)%s "
                      "for the rows",
                      self->path, nadir_npy_shape_text(array->dimensions, array->shape, shape),
                      (long long)model->states, (long long)model->rows, table);
}

static nadir_status read_npy(reader *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    nadir_array array = {0};
    NADIR_CHECK(nadir_npy_read(self->context, self->path, &array));
    const int64_t actions = nadir_model_common_actions(model);
    const bool table =
        actions > 0 && array.dimensions == 2 && array.shape[0] == model->states && array.shape[1] == actions;
    const bool list = array.dimensions == 1 && (array.count == model->states || array.count == model->rows);
    if (!table && !list && array.count != 1) {
        status = shape_fail(self, &array, actions);
        goto cleanup;
    }
    self->count = array.count;
    self->by_row = array.count == model->rows && array.count != model->states;
    self->numbers = array.values;
    array.values = NULL;
cleanup:
    nadir_release(self->context, array.values);
    return status;
}

nadir_status nadir_numbers_read(nadir_context *context, const nadir_model *model, const char *path,
                                double **numbers, int64_t *count)
{
    nadir_status status = NADIR_OK;
    reader self = {.context = context, .model = model, .path = path};
    bool npy;
    NADIR_CHECK(nadir_model_check_one_process(context, model, "numbers of states or rows from a file"));
    NADIR_CHECK(nadir_npy_recognises(context, path, &npy));
    NADIR_CHECK(npy ? read_npy(&self) : read_csv(&self));
    NADIR_CHECK(check(&self));
    *numbers = self.numbers;
    *count = self.count;
    self.numbers = NULL;
cleanup:
    nadir_release(context, self.numbers);
    nadir_release(context, self.lines);
    return status;
}

static nadir_status write_npy(nadir_context *context, const nadir_model *model, const double *numbers,
                              const char *path)
{
    const int64_t actions = nadir_model_common_actions(model);
    const bool table = model->row_actions == NULL && actions > 0;
    const int64_t shape[] = {model->states, actions};
    return nadir_npy_write(context, path, table ? 2 : 1, table ? shape : &model->rows, numbers);
}

static nadir_status write_csv(nadir_context *context, const nadir_model *model, const char *name,
                              const double *numbers, const char *path)
{
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    NADIR_CHECK(nadir_output_open(context, path, &output));
    nadir_output_format(&output, "idstate,idaction,%s\n", name);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            nadir_output_integer(&output, s);
            nadir_output_text(&output, ",");
            nadir_output_integer(&output, nadir_model_row_action(model, s, row));
            nadir_output_text(&output, ",");
            nadir_output_double(&output, numbers[row]);
            nadir_output_text(&output, "\n");
        }
    }
    NADIR_CHECK(nadir_output_commit(context, &output));
cleanup:
    nadir_output_close(context, &output);
    return status;
}

nadir_status nadir_numbers_write(nadir_context *context, const nadir_model *model, const char *name,
                                 const double *numbers, const char *path)
{
    return nadir_npy_is_name(path) ? write_npy(context, model, numbers, path)
                                   : write_csv(context, model, name, numbers, path);
}

void nadir_numbers_free(nadir_context *context, double *numbers)
{
    nadir_release(context, numbers);
}

static nadir_status check_matrix(nadir_context *context, const char *path, const nadir_array *array)
{
    if (array->dimensions != 2 || array->count == 0) {
        char shape[NADIR_NPY_SHAPE_LENGTH];
        return nadir_fail(context, NADIR_ERROR_FORMAT,
                          "%s: the array has shape %s; expected a matrix, (rows, columns)", path,
                          nadir_npy_shape_text(array->dimensions, array->shape, shape));
    }
    for (int64_t i = 0; i < array->count; i++) {
        if (!isfinite(array->values[i])) {
            return nadir_fail(
                context, NADIR_ERROR_FORMAT, "%s: row %lld, column %lld is %g; expected finite numbers", path,
                (long long)(i / array->shape[1]), (long long)(i % array->shape[1]), array->values[i]);
        }
    }
    return NADIR_OK;
}

nadir_status nadir_numbers_read_matrix(nadir_context *context, const char *path, double **matrix,
                                       int64_t *rows, int64_t *columns)
{
    nadir_status status = NADIR_OK;
    nadir_array array = {0};
    bool npy;
    NADIR_CHECK(nadir_npy_recognises(context, path, &npy));
    if (!npy) {
        status = nadir_fail(context, NADIR_ERROR_FORMAT,
                            "%s: this is no NumPy array; expected a .npy file of two dimensions", path);
        goto cleanup;
    }
    NADIR_CHECK(nadir_npy_read(context, path, &array));
    NADIR_CHECK(check_matrix(context, path, &array));
    *matrix = array.values;
    *rows = array.shape[0];
    *columns = array.shape[1];
    array.values = NULL;
cleanup:
    nadir_release(context, array.values);
    return status;
}

/* ---- Initial distributions --------------------------------------------------------------------------- */

/* The number of a state given by number or name; -1: it is neither. */
static nadir_status find_state(nadir_context *context, const nadir_model *model, const char *initial,
                               int64_t *state)
{
    const nadir_cursor word = {initial, initial + strlen(initial)};
    if (nadir_cursor_is_integer(word, state)) {
        if (*state < 0 || *state >= nadir_model_total(model)) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "initial state %s is not in the model; states are 0 to %lld", initial,
                              (long long)nadir_model_total(model) - 1);
        }
        return NADIR_OK;
    }
    for (*state = model->state_names.count - 1; *state >= 0; (*state)--) {
        if (strcmp(nadir_model_state_name(model, *state), initial) == 0) {
            break;
        }
    }
    return NADIR_OK;
}

static nadir_status read_initial_npy(nadir_context *context, const nadir_model *model, const char *path,
                                     double *mu)
{
    nadir_status status = NADIR_OK;
    nadir_array array = {0};
    NADIR_CHECK(nadir_npy_read(context, path, &array));
    if (array.dimensions != 1 || array.count != model->states) {
        char shape[NADIR_NPY_SHAPE_LENGTH];
        status =
            nadir_fail(context, NADIR_ERROR_FORMAT,
                       "%s: the array has shape %s; expected (%lld,): one number for each state", path,
                       nadir_npy_shape_text(array.dimensions, array.shape, shape), (long long)model->states);
        goto cleanup;
    }
    memcpy(mu, array.values, (size_t)array.count * sizeof *mu);
cleanup:
    nadir_release(context, array.values);
    return status;
}

/* mu is all zero; lines, [states], gets the line that gave each number, 0: none. */
static nadir_status read_initial_csv(nadir_context *context, const nadir_model *model, const char *path,
                                     uint32_t *lines, double *mu)
{
    static const nadir_csv_column columns[] = {
        {{"idstate"}, false}, {{NULL}, true}, {{"probability"}, false}};
    nadir_status status = NADIR_OK;
    nadir_state_table table = {0};
    bool more;
    NADIR_CHECK(
        nadir_state_table_open(context, path, columns, &model->state_names, &model->action_names, &table));
    for (;;) {
        NADIR_CHECK(nadir_state_table_next(&table, &more));
        if (!more) {
            break;
        }
        if (table.state < 0 || table.state >= model->states) {
            status = nadir_text_fail(&table.text, "state %lld is not in the model; states are 0 to %lld",
                                     (long long)table.state, (long long)model->states - 1);
            goto cleanup;
        }
        if (lines[table.state] != 0) {
            status = nadir_text_fail(&table.text, "state %lld was given already in line %u",
                                     (long long)table.state, lines[table.state]);
            goto cleanup;
        }
        lines[table.state] = nadir_state_table_line(&table);
        mu[table.state] = table.number;
    }
cleanup:
    nadir_state_table_close(context, &table);
    return status;
}

static nadir_status check_initial(nadir_context *context, const nadir_model *model, const char *path,
                                  const uint32_t *lines, double *mu)
{
    char place[NADIR_LABEL_LENGTH];
    for (int64_t s = 0; s < model->states; s++) {
        if (!(mu[s] >= 0) || !isfinite(mu[s])) {
            char line[16] = "";
            if (lines[s] != 0) {
                (void)snprintf(line, sizeof line, ":%u", lines[s]);
            }
            return nadir_fail(context, NADIR_ERROR_MODEL,
                              "%s%s: %s: the probability is %g; expected a number from 0 to 1", path, line,
                              nadir_model_label(model, s, -1, place), mu[s]);
        }
    }
    nadir_sum_report report = {0};
    double sum;
    if (!nadir_normalise(model->states, mu, 0, &report, &sum)) {
        return nadir_fail(context, NADIR_ERROR_MODEL,
                          "%s: the initial distribution sums to %.10g; expected 1 (within 1e-5)", path, sum);
    }
    if (report.repaired > 0) {
        nadir_log(context, NADIR_LOG_WARNING,
                  "%s: the initial distribution was normalised; its sum was %.15g", path, sum);
    }
    return NADIR_OK;
}

static nadir_status read_initial_file(nadir_context *context, const nadir_model *model, const char *path,
                                      double *mu)
{
    nadir_status status = NADIR_OK;
    uint32_t *lines = NULL;
    bool npy;
    NADIR_CHECK(nadir_npy_recognises(context, path, &npy));
    NADIR_NEW_ZERO(context, lines, model->states);
    NADIR_CHECK(npy ? read_initial_npy(context, model, path, mu)
                    : read_initial_csv(context, model, path, lines, mu));
    NADIR_CHECK(check_initial(context, model, path, lines, mu));
cleanup:
    nadir_release(context, lines);
    return status;
}

nadir_status nadir_initial_read(nadir_context *context, const nadir_model *model, const char *initial,
                                double *mu)
{
    nadir_status status = NADIR_OK;
    int64_t only = -1;
    double *made = NULL;
    const bool uniform = strcmp(initial, "uniform") == 0;
    NADIR_NEW_ZERO(context, made, model->states);
    if (!uniform) {
        NADIR_CHECK(find_state(context, model, initial, &only));
    }
    if (uniform) {
        for (int64_t s = 0; s < model->states; s++) {
            made[s] = 1.0 / (double)nadir_model_total(model);
        }
    } else if (only >= 0) { /* a state of this process, or of another */
        only -= nadir_model_first(model);
        if (only >= 0 && only < model->states) {
            made[only] = 1;
        }
    } else if (access(initial, F_OK) != 0) {
        status =
            nadir_fail(context, NADIR_ERROR_ARGUMENT,
                       "initial distribution %s: there is no such state or file; expected \"uniform\", a "
                       "state's number or name, or a file",
                       initial);
        goto cleanup;
    } else {
        NADIR_CHECK(nadir_model_check_one_process(context, model, "initial distributions from a file"));
        NADIR_CHECK(read_initial_file(context, model, initial, made));
    }
    memcpy(mu, made, (size_t)model->states * sizeof *mu);
cleanup:
    nadir_release(context, made);
    return status;
}

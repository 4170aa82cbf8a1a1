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
 * Initial distributions are such numbers too, see labels.h. Whole .npy files: see npy.h.
 */
#include "io/csv_cells.h"
#include "io/format.h"
#include "io/labels.h"
#include "io/npy.h"
#include "model/model.h"
#include "model/terminal.h"

#include <math.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- Whole .npy files -------------------------------------------------------------------------------- */

static nadir_status read_file(void *user, void *buffer, size_t size, size_t *got)
{
    nadir_npy_file *file = user;
    NADIR_TRY(nadir_input_read(file->context, &file->input, buffer, size, got));
    file->done += (int64_t)*got;
    return nadir_progress(file->context, "reading", (double)file->done / (double)(file->input.bytes + 1));
}

static bool skip_file(void *user, int64_t bytes)
{
    nadir_npy_file *file = user;
    file->done += bytes;
    return nadir_input_seek(file->context, &file->input, file->done) == NADIR_OK;
}

nadir_status nadir_npy_file_open(nadir_context *context, const char *path, nadir_npy_file *file,
                                 nadir_npy_source *source)
{
    *file = (nadir_npy_file){.context = context, .input = NADIR_INPUT_CLOSED};
    const nadir_status status = nadir_input_open(context, path, &file->input);
    *source = (nadir_npy_source){path, file->input.bytes, read_file, file, skip_file};
    return status;
}

bool nadir_npy_is_name(const char *path)
{
    const size_t length = strlen(path);
    return length >= 4 && strcasecmp(path + length - 4, ".npy") == 0;
}

nadir_status nadir_npy_recognises(nadir_context *context, const char *path, bool *is_npy)
{
    nadir_status status = NADIR_OK;
    nadir_input input = NADIR_INPUT_CLOSED;
    char head[6];
    size_t got;
    NADIR_CHECK(nadir_input_open(context, path, &input));
    NADIR_CHECK(nadir_input_read(context, &input, head, sizeof head, &got));
    *is_npy = got == sizeof head && memcmp(head, "\x93NUMPY", sizeof head) == 0;
cleanup:
    nadir_input_close(&input);
    return status;
}

nadir_status nadir_npy_read(nadir_context *context, const char *path, nadir_array *array)
{
    nadir_status status = NADIR_OK;
    nadir_npy npy = {0};
    double *values = NULL;
    nadir_npy_file file;
    nadir_npy_source source;
    NADIR_CHECK(nadir_npy_file_open(context, path, &file, &source));
    NADIR_CHECK(nadir_npy_open(context, &source, NULL, &npy));
    const nadir_npy_header *header = &npy.header;
    NADIR_NEW(context, values, header->count);
    NADIR_CHECK(nadir_npy_place(&npy, NULL, NULL, values));
    NADIR_CHECK(nadir_npy_finish(&npy));
    *array = (nadir_array){.dimensions = header->dimensions,
                           .count = header->count,
                           .values = values,
                           .integer = nadir_npy_is_integer(header)};
    memcpy(array->shape, header->shape, sizeof array->shape);
    values = NULL;
cleanup:
    nadir_release(context, values);
    nadir_npy_close(&npy);
    nadir_input_close(&file.input);
    return status;
}

nadir_status nadir_npy_write(nadir_context *context, const char *path, int dimensions, const int64_t *shape,
                             const double *values)
{
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    char header[NADIR_NPY_HEADER_LENGTH];
    size_t bytes = sizeof *values;
    for (int i = 0; i < dimensions; i++) {
        bytes *= (size_t)shape[i];
    }
    NADIR_CHECK(nadir_output_open(context, path, &output));
    nadir_output_write(&output, header, nadir_npy_header_bytes("f8", dimensions, shape, header));
    nadir_output_write(&output, values, bytes);
    NADIR_CHECK(nadir_output_commit(context, &output));
cleanup:
    nadir_output_close(context, &output);
    return status;
}

/* ---- Numbers of states or rows ----------------------------------------------------------------------- */

/* The numbers of a file that may also hold one number for all. */
typedef struct reader {
    nadir_state_numbers of;
    int64_t count; /* rows or states, or 1 */
} reader;

/* `sentence` about a number, or about the one of them that misses. */
static nadir_status fail_at(const nadir_state_numbers *of, int64_t place, const char *sentence)
{
    const int64_t line = of->lines != NULL ? of->lines[place] : 0;
    return of->by_row ? nadir_state_numbers_fail(of, nadir_model_row_state(of->model, place), place, line,
                                                 "%s", sentence)
                      : nadir_state_numbers_fail(of, place, -1, line, "%s", sentence);
}

static nadir_status check(const reader *self)
{
    const nadir_state_numbers *of = &self->of;
    char sentence[128];
    int64_t missing = 0;
    int64_t first = 0;
    for (int64_t i = 0; i < self->count; i++) {
        if (of->lines != NULL && of->lines[i] == 0) {
            first = missing++ == 0 ? i : first;
        } else if (!isfinite(of->numbers[i]) || of->numbers[i] < 0) {
            (void)snprintf(sentence, sizeof sentence, "the number is %g; expected a finite one, 0 or more",
                           of->numbers[i]);
            return self->count > 1 || of->lines != NULL
                       ? fail_at(of, i, sentence)
                       : nadir_fail(of->context, NADIR_ERROR_FORMAT, "%s: its one number: %s", of->path,
                                    sentence);
        }
    }
    (void)snprintf(sentence, sizeof sentence, "is not in the file, like %lld of %lld %s; expected each once",
                   (long long)missing, (long long)self->count, of->by_row ? "rows" : "states");
    return missing == 0 ? NADIR_OK : fail_at(of, first, sentence);
}

/* The shapes that there may be are "(S,)", "(rows,)" and, for models of A actions everywhere, "(S, A)". */
static nadir_status shape_fail(const reader *self, const nadir_array *array, int64_t actions)
{
    char shape[NADIR_NPY_SHAPE_LENGTH];
    char table[64] = "";
    const nadir_model *model = self->of.model;
    if (actions > 0) {
        (void)snprintf(table, sizeof table, " or (%lld, %lld)", (long long)model->states, (long long)actions);
    }
    return nadir_fail(self->of.context, NADIR_ERROR_FORMAT,
                      "%s: the array has shape %s; expected one number, (%lld,) for the states, or (%lld,)%s "
                      "for the rows",
                      self->of.path, nadir_npy_shape_text(array->dimensions, array->shape, shape),
                      (long long)model->states, (long long)model->rows, table);
}

static nadir_status read_npy(reader *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->of.model;
    nadir_array array = {0};
    NADIR_CHECK(nadir_npy_read(self->of.context, self->of.path, &array));
    const int64_t actions = nadir_model_common_actions(model);
    const bool table =
        actions > 0 && array.dimensions == 2 && array.shape[0] == model->states && array.shape[1] == actions;
    const bool list = array.dimensions == 1 && (array.count == model->states || array.count == model->rows);
    if (!table && !list && array.count != 1) {
        NADIR_CHECK(shape_fail(self, &array, actions));
    }
    self->count = array.count;
    self->of.by_row = array.count == model->rows && array.count != model->states;
    self->of.numbers = array.values;
    array.values = NULL;
cleanup:
    nadir_release(self->of.context, array.values);
    return status;
}

nadir_status nadir_numbers_read(nadir_context *context, const nadir_model *model, const char *path,
                                double **numbers, int64_t *count)
{
    nadir_status status = NADIR_OK;
    static const nadir_csv_column columns[] = {
        {{"state", "idstate"}, false}, {{"action", "idaction"}, true}, {{"value", "radius", "scale"}, false}};
    reader self = {.of = {context, model, path, NADIR_ERROR_FORMAT, .by_row = false}};
    bool npy;
    NADIR_CHECK(nadir_model_check_one_process(context, model, "numbers of states or rows from a file"));
    NADIR_CHECK(nadir_npy_recognises(context, path, &npy));
    NADIR_CHECK(npy ? read_npy(&self) : nadir_state_numbers_read(&self.of, columns));
    self.count = npy ? self.count : self.of.by_row ? model->rows : model->states;
    NADIR_CHECK(check(&self));
    *numbers = self.of.numbers;
    *count = self.count;
    self.of.numbers = NULL;
cleanup:
    NADIR_RELEASE(context, self.of.numbers, self.of.lines);
    return status;
}

nadir_status nadir_numbers_write(nadir_context *context, const nadir_model *model, const char *name,
                                 const double *numbers, const char *path)
{
    return nadir_row_numbers_write(context, model, name, numbers, true, path);
}

static nadir_status check_matrix(nadir_context *context, const char *path, const nadir_array *array)
{
    if (array->dimensions != 2 || array->count == 0 || array->shape[1] == 0) {
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
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_FORMAT,
                               "%s: this is no NumPy array; expected a .npy file of two dimensions", path));
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
static nadir_status find_state(nadir_context *context, const nadir_model *model, const char *what,
                               const char *initial, int64_t *state)
{
    const nadir_cursor word = {initial, initial + strlen(initial)};
    if (nadir_cursor_is_integer(word, state)) {
        if (*state < 0 || *state >= nadir_model_total(model)) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "%s state %s is not in the model; states are 0 to %lld", what, initial,
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

static nadir_status read_initial_npy(nadir_state_numbers *self)
{
    nadir_array array = {0};
    NADIR_TRY(nadir_npy_read(self->context, self->path, &array));
    self->numbers = array.values;
    if (array.dimensions != 1 || array.count != self->model->states) {
        char shape[NADIR_NPY_SHAPE_LENGTH];
        return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                          "%s: the array has shape %s; expected (%lld,): one number for each state",
                          self->path, nadir_npy_shape_text(array.dimensions, array.shape, shape),
                          (long long)self->model->states);
    }
    return NADIR_OK;
}

static nadir_status check_initial(nadir_state_numbers *self)
{
    const int64_t states = self->model->states;
    double *mu = self->numbers;
    nadir_sum_report report = {0};
    double sum;
    self->failure = NADIR_ERROR_MODEL;
    for (int64_t s = 0; s < states; s++) {
        if (!(mu[s] >= 0) || !isfinite(mu[s])) {
            return nadir_state_numbers_fail(self, s, -1, self->lines != NULL ? self->lines[s] : 0,
                                            "the probability is %g; expected a number from 0 to 1", mu[s]);
        }
    }
    if (!nadir_normalise(states, mu, 0, &report, &sum)) {
        return nadir_fail(self->context, NADIR_ERROR_MODEL,
                          "%s: the initial distribution sums to %.10g; expected 1 (within 1e-5)", self->path,
                          sum);
    }
    if (report.repaired > 0) {
        nadir_log(self->context, NADIR_LOG_WARNING,
                  "%s: the initial distribution was normalised; its sum was %.15g", self->path, sum);
    }
    return NADIR_OK;
}

static nadir_status read_initial_file(nadir_context *context, const nadir_model *model, const char *path,
                                      double *mu)
{
    nadir_status status = NADIR_OK;
    static const nadir_csv_column columns[] = {
        {{"state", "idstate"}, false}, {{NULL}, true}, {{"probability"}, false}};
    nadir_state_numbers self = {context, model, path, NADIR_ERROR_FORMAT, .by_row = false};
    bool npy;
    NADIR_CHECK(nadir_npy_recognises(context, path, &npy));
    NADIR_CHECK(npy ? read_initial_npy(&self) : nadir_state_numbers_read(&self, columns));
    NADIR_CHECK(check_initial(&self));
    memcpy(mu, self.numbers, (size_t)model->states * sizeof *mu);
cleanup:
    NADIR_RELEASE(context, self.numbers, self.lines);
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
        NADIR_CHECK(find_state(context, model, "initial", initial, &only));
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
        const char *meant = nadir_names_nearest(&model->state_names, initial);
        NADIR_CHECK(
            nadir_fail(context, NADIR_ERROR_ARGUMENT,
                       "initial distribution %s: there is no such state or file; expected \"uniform\", a "
                       "state's number or name, or a file%s%s%s",
                       initial, meant != NULL ? "; did you mean " : "", meant != NULL ? meant : "",
                       meant != NULL ? "?" : ""));
    } else {
        NADIR_CHECK(nadir_model_check_one_process(context, model, "initial distributions from a file"));
        NADIR_CHECK(read_initial_file(context, model, initial, made));
    }
    memcpy(mu, made, (size_t)model->states * sizeof *mu);
cleanup:
    nadir_release(context, made);
    return status;
}

/* ---- Where a process without a discount ends --------------------------------------------------------- */

/* Marks the states of a list with commas between them; list is overwritten. */
static nadir_status mark_list(nadir_context *context, nadir_model *model, const char *option, char *list,
                              unsigned bit)
{
    char *rest = list;
    while (rest != NULL) {
        int64_t state;
        char *word = rest;
        rest = strchr(word, ',');
        if (rest != NULL) {
            *rest++ = '\0';
        }
        NADIR_TRY(find_state(context, model, option, word, &state));
        if (state < 0) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "--%s: %s is neither a label of the file nor the number or name of a state",
                              option, word);
        }
        model->marks[state] = (unsigned char)(model->marks[state] | bit);
    }
    return NADIR_OK;
}

nadir_status nadir_terminal_read(nadir_context *context, nadir_model *model,
                                 const nadir_read_settings *settings)
{
    nadir_status status = NADIR_OK;
    const char *const given[] = {settings->goal, settings->avoid, settings->until};
    static const char *const options[] = {"goal", "avoid", "until"};
    char *list = NULL;
    if (nadir_terminal_asked(settings) == 0) {
        return NADIR_OK;
    }
    if (!isnan(settings->discount) && settings->discount != 1) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "--goal and --until ask for a total without a discount, and the discount is %g",
                          settings->discount);
    }
    NADIR_TRY(nadir_model_check_one_process(context, model, "models without a discount"));
    if (model->marks == NULL) {
        NADIR_NEW_ZERO(context, model->marks, model->states);
    }
    for (unsigned i = 0; i < 3; i++) {
        bool labelled = false;
        for (int64_t s = 0; s < model->states; s++) {
            labelled = labelled || (model->marks[s] & 1U << i) != 0;
        }
        if (given[i] != NULL && !labelled) {
            NADIR_NEW(context, list, strlen(given[i]) + 1);
            memcpy(list, given[i], strlen(given[i]) + 1);
            NADIR_CHECK(mark_list(context, model, options[i], list, 1U << i));
            nadir_release(context, list);
            list = NULL;
        }
    }
cleanup:
    nadir_release(context, list);
    return status;
}

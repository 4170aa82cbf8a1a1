/* initial_file.c: initial distributions; see initial_file.h. */
#include "io/labels.h"

#include "io/csv_cells.h"
#include "io/npy.h"
#include "model/model.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

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

static nadir_status read_npy(nadir_context *context, const nadir_model *model, const char *path, double *mu)
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

/* mu is all zero; lines, [states], too. */
static nadir_status read_rows(nadir_text *text, const nadir_model *model, const nadir_lookup *states,
                              uint32_t *lines, double *mu)
{
    static const nadir_csv_column columns[] = {{{"idstate"}, false}, {{"probability"}, false}};
    nadir_status status = NADIR_OK;
    nadir_csv_header header;
    nadir_cursor cells[NADIR_CSV_COLUMNS];
    bool more;
    NADIR_CHECK(nadir_csv_read_header(text, 2, columns, &header));
    for (;;) {
        int64_t state;
        double probability;
        NADIR_CHECK(nadir_csv_read_row(text, &header, cells, &more));
        if (!more) {
            break;
        }
        NADIR_CHECK(nadir_lookup_cell(text, &header, cells, 0, states, &state));
        NADIR_CHECK(nadir_csv_double(text, &header, cells, 1, &probability));
        if (state < 0 || state >= model->states) {
            return nadir_text_fail(text, "state %lld is not in the model; states are 0 to %lld",
                                   (long long)state, (long long)model->states - 1);
        }
        if (lines[state] != 0) {
            return nadir_text_fail(text, "state %lld was given already in line %u", (long long)state,
                                   lines[state]);
        }
        lines[state] = text->line < UINT32_MAX ? (uint32_t)text->line : UINT32_MAX;
        mu[state] = probability;
    }
cleanup:
    return status;
}

/* lines: [states] the line that gave each number; 0: none. */
static nadir_status read_csv(nadir_context *context, const nadir_model *model, const char *path,
                             uint32_t *lines, double *mu)
{
    nadir_status status = NADIR_OK;
    nadir_text text = {0};
    nadir_lookup states = {0};
    NADIR_CHECK(nadir_text_open(context, path, &text));
    NADIR_CHECK(nadir_lookup_open(context, &model->state_names, &states));
    NADIR_CHECK(read_rows(&text, model, &states, lines, mu));
cleanup:
    nadir_lookup_close(context, &states);
    nadir_text_close(&text);
    return status;
}

static nadir_status check(nadir_context *context, const nadir_model *model, const char *path,
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

static nadir_status read_file(nadir_context *context, const nadir_model *model, const char *path, double *mu)
{
    nadir_status status = NADIR_OK;
    uint32_t *lines = NULL;
    bool npy;
    NADIR_CHECK(nadir_npy_recognises(context, path, &npy));
    NADIR_NEW_ZERO(context, lines, model->states);
    NADIR_CHECK(npy ? read_npy(context, model, path, mu) : read_csv(context, model, path, lines, mu));
    NADIR_CHECK(check(context, model, path, lines, mu));
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
        NADIR_CHECK(read_file(context, model, initial, made));
    }
    memcpy(mu, made, (size_t)model->states * sizeof *mu);
cleanup:
    nadir_release(context, made);
    return status;
}

nadir_status nadir_initial_states_add(nadir_context *context, nadir_initial_states *initial, int64_t state)
{
    nadir_status status = NADIR_OK;
    NADIR_RESERVE(context, initial->states, initial->count + 1, initial->capacity);
    initial->states[initial->count++] = (int32_t)state;
cleanup:
    return status;
}

nadir_status nadir_initial_states_apply(const nadir_initial_states *initial, const char *path,
                                        nadir_builder *builder)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = builder->context;
    double *mu = NULL;
    int64_t count = 0;
    if (initial->count == 0) {
        nadir_log(context, NADIR_LOG_NOTICE,
                  "%s: no state has the label init: the initial distribution is uniform", path);
        return NADIR_OK;
    }
    NADIR_NEW_ZERO(context, mu, builder->states);
    for (size_t i = 0; i < initial->count; i++) {
        count += mu[initial->states[i]] == 0;
        mu[initial->states[i]] = 1;
    }
    for (int64_t s = 0; s < builder->states; s++) {
        mu[s] /= (double)count;
    }
    if (count > 1) {
        nadir_log(context, NADIR_LOG_NOTICE,
                  "%s: %lld states have the label init: the initial distribution is uniform over them", path,
                  (long long)count);
    }
    nadir_release(context, builder->model->initial);
    builder->model->initial = mu;
cleanup:
    return status;
}

void nadir_initial_states_clear(nadir_context *context, nadir_initial_states *initial)
{
    nadir_release(context, initial->states);
    *initial = (nadir_initial_states){0};
}

int64_t nadir_initial_states_count(const nadir_model *model)
{
    double common = 0;
    int64_t count = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const double mu = model->initial[s];
        if (mu > 0) {
            common = count == 0 ? mu : common;
            if (mu != common) {
                return 0;
            }
            count++;
        }
    }
    return fabs(common * (double)count - 1) <= NADIR_SUM_ROUNDING ? count : 0;
}

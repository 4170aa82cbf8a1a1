/*
 * npz_write.c: a model as a NumPy archive; see npz.c for the format.
 *
 * The arrays of the model are handed to libzip as they are; only text, and the rows of a dense kernel that
 * cannot be written as (S, A, S), are built first.
 */
#include "io/npz.h"
#include "io/text_reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define REPLACEMENT 0xFFFD

typedef struct writer {
    nadir_context *context;
    const nadir_model *model;
    const char *path;
    nadir_npz_output output;
    int64_t actions; /* of every state; 0: ragged */
    /* Built here, and kept until the archive is closed: */
    int64_t matrix_shape[2];
    int32_t *row_state;
    uint32_t *state_names, *action_names;
    nadir_model rows; /* the CSR arrays of a dense model */
} writer;

/* One number for each row: (S, A) where that is possible. */
static nadir_status add_per_row(writer *self, nadir_npz_which which, const double *values)
{
    const int64_t table[] = {self->model->states, self->actions};
    const bool is_table = self->actions > 0;
    return nadir_npz_add(&self->output, which, "f8", is_table ? 2 : 1, is_table ? table : &self->model->rows,
                         values, sizeof *values);
}

/* The characters of a name into text, where text is not NULL; bytes that are none become U+FFFD. */
static size_t decode(const char *name, uint32_t *text, bool *damaged)
{
    size_t count = 0;
    const size_t length = strlen(name);
    for (size_t index = 0; index < length; count++) {
        uint32_t character;
        size_t bytes = nadir_utf8_decode(name + index, length - index, &character);
        if (bytes == 0) {
            character = REPLACEMENT;
            bytes = 1;
            *damaged = true;
        }
        if (text != NULL) {
            text[count] = character;
        }
        index += bytes;
    }
    return count;
}

static nadir_status add_names(writer *self, nadir_npz_which which, const nadir_names *names, uint32_t **text)
{
    nadir_status status = NADIR_OK;
    char type[32];
    bool damaged = false;
    size_t longest = 1;
    if (names->count == 0) {
        return NADIR_OK;
    }
    for (int64_t i = 0; i < names->count; i++) {
        const size_t length = decode(nadir_names_get(names, i), NULL, &damaged);
        longest = length > longest ? length : longest;
    }
    /* no overflow: lists of names and names are shorter than 2^32 */
    NADIR_NEW_ZERO(self->context, *text, (size_t)names->count * longest);
    for (int64_t i = 0; i < names->count; i++) {
        (void)decode(nadir_names_get(names, i), *text + (size_t)i * longest, &damaged);
    }
    if (damaged) {
        nadir_log(self->context, NADIR_LOG_WARNING, "%s: %s: what was no UTF-8 was replaced", self->path,
                  nadir_npz_name(which));
    }
    (void)snprintf(type, sizeof type, "U%zu", longest);
    NADIR_CHECK(nadir_npz_add(&self->output, which, type, 1, &names->count, *text, longest * sizeof **text));
cleanup:
    return status;
}

/* The CSR arrays of a dense kernel into self->rows. */
static nadir_status build_rows(writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    nadir_model *rows = &self->rows;
    NADIR_NEW(self->context, rows->row_starts, model->rows + 1);
    NADIR_NEW(self->context, rows->columns, model->nonzeros);
    NADIR_NEW(self->context, rows->probabilities, model->nonzeros);
    if (model->transition_rewards != NULL) {
        NADIR_NEW(self->context, rows->transition_rewards, model->nonzeros);
    }
    int64_t index = 0;
    rows->row_starts[0] = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        for (int64_t i = 0; i < entries.count; i++) {
            if (entries.values[i] > 0) {
                rows->columns[index] = (int32_t)i;
                rows->probabilities[index] = entries.values[i];
                if (rows->transition_rewards != NULL) {
                    rows->transition_rewards[index] = entries.rewards[i];
                }
                index++;
            }
        }
        rows->row_starts[row + 1] = index;
    }
cleanup:
    return status;
}

static nadir_status add_row_states(writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    NADIR_NEW(self->context, self->row_state, model->rows);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            self->row_state[row] = (int32_t)s;
        }
    }
    NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_ROW_STATE, "i4", 1, &model->rows, self->row_state,
                              sizeof *self->row_state));
cleanup:
    return status;
}

static nadir_status add_csr(writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    const nadir_model *rows = model;
    if (model->dense != NULL) {
        NADIR_CHECK(build_rows(self));
        rows = &self->rows;
    }
    const int64_t starts = model->rows + 1;
    const int64_t count = model->nonzeros;
    self->matrix_shape[0] = model->rows;
    self->matrix_shape[1] = model->states;
    NADIR_CHECK(
        nadir_npz_add(&self->output, NADIR_NPZ_P_DATA, "f8", 1, &count, rows->probabilities, sizeof(double)));
    NADIR_CHECK(
        nadir_npz_add(&self->output, NADIR_NPZ_P_INDICES, "i4", 1, &count, rows->columns, sizeof(int32_t)));
    NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_P_INDPTR, "i8", 1, &starts, rows->row_starts,
                              sizeof(int64_t)));
    NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_P_SHAPE, "i8", 1, &(const int64_t){2},
                              self->matrix_shape, sizeof(int64_t)));
    if (self->actions == 0) {
        NADIR_CHECK(add_row_states(self));
    }
    if (model->row_actions != NULL) {
        NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_ROW_ACTION, "i4", 1, &model->rows,
                                  model->row_actions, sizeof(int32_t)));
    }
    if (rows->transition_rewards != NULL) {
        NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_R, "f8", 1, &count, rows->transition_rewards,
                                  sizeof(double)));
    }
cleanup:
    return status;
}

static nadir_status add_dense(writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    const int64_t shape[] = {model->states, self->actions, model->states};
    NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_P, "f8", 3, shape, model->dense, sizeof(double)));
    NADIR_CHECK(nadir_npz_add_word(&self->output, NADIR_NPZ_LAYOUT, "sas"));
    if (model->transition_rewards != NULL) {
        NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_R, "f8", 3, shape, model->transition_rewards,
                                  sizeof(double)));
    }
cleanup:
    return status;
}

static nadir_status add_ball(writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    if (model->radius_count > 0) {
        const bool one = model->radius_count == 1;
        NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_RADIUS, "f8", one ? 0 : 1, &model->radius_count,
                                  model->radius, sizeof(double)));
    }
    if (!isnan(model->norm)) {
        NADIR_CHECK(nadir_npz_add_number(&self->output, NADIR_NPZ_NORM, &model->norm));
    }
    if (model->set != NADIR_SET_UNSAID) {
        NADIR_CHECK(nadir_npz_add_word(&self->output, NADIR_NPZ_SET, nadir_set_name(model->set)));
    }
    if (model->domain != NADIR_DOMAIN_UNSAID) {
        NADIR_CHECK(nadir_npz_add_word(&self->output, NADIR_NPZ_DOMAIN, nadir_domain_name(model->domain)));
    }
cleanup:
    return status;
}

static nadir_status add_model(writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    self->actions = model->state_rows[1];
    for (int64_t s = 0; s <= model->states; s++) {
        self->actions = model->state_rows[s] == s * model->state_rows[1] ? self->actions : 0;
    }
    const bool dense = model->dense != NULL && self->actions > 0 && model->row_actions == NULL;
    NADIR_CHECK(dense ? add_dense(self) : add_csr(self));
    if (model->rewards != NULL && model->transition_rewards == NULL) {
        NADIR_CHECK(add_per_row(self, NADIR_NPZ_R, model->rewards));
    }
    NADIR_CHECK(
        nadir_npz_add(&self->output, NADIR_NPZ_MU, "f8", 1, &model->states, model->initial, sizeof(double)));
    if (!isnan(model->discount)) {
        NADIR_CHECK(nadir_npz_add_number(&self->output, NADIR_NPZ_GAMMA, &model->discount));
    }
    if (model->scales != NULL) {
        NADIR_CHECK(add_per_row(self, NADIR_NPZ_SCALES, model->scales));
    }
    NADIR_CHECK(add_ball(self));
    NADIR_CHECK(add_names(self, NADIR_NPZ_STATE_NAMES, &model->state_names, &self->state_names));
    NADIR_CHECK(add_names(self, NADIR_NPZ_ACTION_NAMES, &model->action_names, &self->action_names));
cleanup:
    return status;
}

nadir_status nadir_npz_write(nadir_context *context, const nadir_model *model, const char *path,
                             const nadir_write_settings *settings)
{
    nadir_status status = NADIR_OK;
    writer self = {.context = context, .model = model, .path = path};
    NADIR_CHECK(nadir_npz_output_open(context, path, settings->compress, &self.output));
    NADIR_CHECK(add_model(&self));
    NADIR_CHECK(nadir_npz_output_commit(&self.output));
cleanup:
    nadir_npz_output_close(&self.output);
    nadir_release(context, self.row_state);
    nadir_release(context, self.state_names);
    nadir_release(context, self.action_names);
    nadir_release(context, self.rows.row_starts);
    nadir_release(context, self.rows.columns);
    nadir_release(context, self.rows.probabilities);
    nadir_release(context, self.rows.transition_rewards);
    return status;
}

/*
 * npz_write.c: a model as a NumPy archive; see npz_read.c for the format.
 *
 * The arrays of the model are handed to libzip as they are; only text, and the rows of a dense kernel that
 * cannot be written as (S, A, S), are built first.
 */
#include "io/npz.h"
#include "io/text_reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Archives ---------------------------------------------------------------------------------------- */

#define DEFLATE_LEVEL 1    /* on such numbers as small as the higher ones, and several times faster */
#define DOS_DATE      0x21 /* 1 January 1980, the first there is */
#define DOS_TIME      0

static nadir_status zip_fail(const nadir_npz_output *output, zip_error_t *error)
{
    if (output->stopped != NADIR_OK) {
        return output->stopped;
    }
    const bool memory = zip_error_code_zip(error) == ZIP_ER_MEMORY;
    return nadir_fail(output->context, memory ? NADIR_ERROR_MEMORY : NADIR_ERROR_IO, "%s: writing failed: %s",
                      output->path,
                      output->file.failed ? strerror(output->file.error) : zip_error_strerror(error));
}

nadir_status nadir_npz_output_open(nadir_context *context, const char *path, bool compress,
                                   nadir_npz_output *output)
{
    nadir_status status = NADIR_OK;
    zip_error_t error;
    zip_error_init(&error);
    output->context = context;
    output->path = path;
    output->file = (nadir_output)NADIR_OUTPUT_CLOSED;
    output->zip = NULL;
    output->compress = compress;
    output->stores_digest = false;
    output->stopped = NADIR_OK;
    NADIR_CHECK(nadir_output_open(context, path, &output->file));
    output->source = (nadir_npz_source){.context = context, .output = &output->file};
    output->zip = nadir_npz_source_open(&output->source, &error);
    if (output->zip == NULL) {
        status = zip_fail(output, &error);
    }
cleanup:
    zip_error_fini(&error);
    return status;
}

void nadir_npz_output_close(nadir_npz_output *output)
{
    if (output->zip != NULL) {
        zip_discard(output->zip);
        output->zip = NULL;
    }
    nadir_output_close(output->context, &output->file);
}

/* Makes the source an entry; it is libzip's afterwards, also on failure. */
static nadir_status add_source(nadir_npz_output *output, nadir_npz_which which, zip_source_t *source)
{
    if (source == NULL) {
        return zip_fail(output, zip_get_error(output->zip));
    }
    char name[32];
    (void)snprintf(name, sizeof name, "%s.npy", nadir_npz_name(which));
    const zip_int64_t index = zip_file_add(output->zip, name, source, 0);
    if (index < 0) {
        zip_source_free(source);
        return zip_fail(output, zip_get_error(output->zip));
    }
    const zip_int32_t method = output->compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
    const zip_uint32_t level = output->compress ? DEFLATE_LEVEL : 0;
    if (zip_set_file_compression(output->zip, (zip_uint64_t)index, method, level) != 0 ||
        zip_file_set_dostime(output->zip, (zip_uint64_t)index, DOS_TIME, DOS_DATE, 0) != 0) {
        return zip_fail(output, zip_get_error(output->zip));
    }
    return NADIR_OK;
}

nadir_status nadir_npz_add(nadir_npz_output *output, nadir_npz_which which, const char *type, int dimensions,
                           const int64_t *shape, const void *items, size_t item_bytes)
{
    size_t bytes = item_bytes;
    for (int i = 0; i < dimensions; i++) {
        bytes *= (size_t)shape[i];
    }
    char *header = output->headers[which];
    const size_t header_bytes = nadir_npy_header_bytes(type, dimensions, shape, header);
    /* libzip only reads from these; its type lacks the const. */
    const zip_buffer_fragment_t parts[] = {{(zip_uint8_t *)header, header_bytes},
                                           {(zip_uint8_t *)items, bytes}};
    return add_source(output, which, zip_source_buffer_fragment(output->zip, parts, 2, 0));
}

nadir_status nadir_npz_add_number(nadir_npz_output *output, nadir_npz_which which, const double *number)
{
    return nadir_npz_add(output, which, "f8", 0, NULL, number, sizeof *number);
}

nadir_status nadir_npz_add_word(nadir_npz_output *output, nadir_npz_which which, const char *word)
{
    char type[32];
    const size_t length = strnlen(word, NADIR_NPZ_WORD_LENGTH);
    for (size_t i = 0; i < length; i++) {
        output->words[which][i] = (unsigned char)word[i];
    }
    (void)snprintf(type, sizeof type, "U%zu", length);
    return nadir_npz_add(output, which, type, 0, NULL, output->words[which], length * sizeof(uint32_t));
}

static zip_int64_t read_stream(nadir_npz_stream *stream, char *buffer, size_t size)
{
    size_t got = 0;
    while (got < size && (stream->left > 0 || stream->next < stream->blocks)) {
        if (stream->left == 0) {
            stream->left = stream->make(stream->user, stream->next++, &stream->bytes);
        }
        const size_t part = stream->left < size - got ? stream->left : size - got;
        memcpy(buffer + got, stream->bytes, part);
        stream->bytes = (const char *)stream->bytes + part;
        stream->left -= part;
        got += part;
    }
    return (zip_int64_t)got;
}

/* What libzip asks of a source: a zip_source_callback. */
static zip_int64_t serve_stream(void *user, void *data, zip_uint64_t length, zip_source_cmd_t command)
{
    nadir_npz_stream *stream = user;
    switch (command) {
    case ZIP_SOURCE_OPEN:
        stream->bytes = stream->header;
        stream->left = stream->header_bytes;
        stream->next = 0;
        return 0;
    case ZIP_SOURCE_READ:
        return read_stream(stream, data, length);
    case ZIP_SOURCE_STAT:
        return nadir_npz_tell_size(stream->total, data);
    case ZIP_SOURCE_ERROR:
        return nadir_npz_tell_error(ZIP_ER_INTERNAL, data);
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                              ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
    default: /* close, free: nothing is held */
        return 0;
    }
}

nadir_status nadir_npz_add_stream(nadir_npz_output *output, nadir_npz_which which, const char *type,
                                  int64_t count, size_t item_bytes, nadir_npz_stream *stream)
{
    stream->header = output->headers[which];
    stream->header_bytes = nadir_npy_header_bytes(type, 1, &count, output->headers[which]);
    stream->total = (int64_t)stream->header_bytes + count * (int64_t)item_bytes;
    return add_source(output, which, zip_source_function(output->zip, serve_stream, stream));
}

nadir_status nadir_npz_add_row_labels(nadir_npz_output *output, const nadir_model *model, int32_t **row_state)
{
    nadir_status status = NADIR_OK;
    if (nadir_model_common_actions(model) == 0) {
        NADIR_NEW(output->context, *row_state, model->rows);
        for (int64_t s = 0; s < model->states; s++) {
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                (*row_state)[row] = (int32_t)s;
            }
        }
        NADIR_CHECK(nadir_npz_add(output, NADIR_NPZ_ROW_STATE, "i4", 1, &model->rows, *row_state,
                                  sizeof **row_state));
    }
    if (model->row_actions != NULL) {
        NADIR_CHECK(nadir_npz_add(output, NADIR_NPZ_ROW_ACTION, "i4", 1, &model->rows, model->row_actions,
                                  sizeof *model->row_actions));
    }
cleanup:
    return status;
}

nadir_status nadir_npz_add_ball(nadir_npz_output *output, const int64_t *radius_count, const double *radius,
                                const double *norm, nadir_set set, nadir_domain domain)
{
    if (*radius_count > 0) {
        NADIR_TRY(nadir_npz_add(output, NADIR_NPZ_RADIUS, "f8", *radius_count == 1 ? 0 : 1, radius_count,
                                radius, sizeof *radius));
    }
    if (!isnan(*norm)) {
        NADIR_TRY(*norm == NADIR_NORM_CHI2 ? nadir_npz_add_word(output, NADIR_NPZ_NORM, "chi2")
                                           : nadir_npz_add_number(output, NADIR_NPZ_NORM, norm));
    }
    if (set != NADIR_SET_UNSAID) {
        NADIR_TRY(nadir_npz_add_word(output, NADIR_NPZ_SET, nadir_set_name(set)));
    }
    if (domain != NADIR_DOMAIN_UNSAID) {
        NADIR_TRY(nadir_npz_add_word(output, NADIR_NPZ_DOMAIN, nadir_domain_name(domain)));
    }
    return NADIR_OK;
}

static void show_progress(zip_t *zip, double share, void *user)
{
    (void)zip;
    nadir_npz_output *output = user;
    if (output->stopped == NADIR_OK) {
        output->stopped = nadir_progress(output->context, "writing", share);
    }
}

static int is_stopped(zip_t *zip, void *user)
{
    (void)zip;
    const nadir_npz_output *output = user;
    return output->stopped != NADIR_OK;
}

#define DIGEST_LABEL "nadir sha256 "

const nadir_file_digest_form nadir_npz_digest_form = {.before = DIGEST_LABEL, .after = ""};

nadir_status nadir_npz_output_store_digest(nadir_npz_output *output)
{
    static const char comment[] = DIGEST_LABEL NADIR_FILE_DIGEST_BLANK;
    if (zip_set_archive_comment(output->zip, comment, sizeof comment - 1) != 0) {
        return zip_fail(output, zip_get_error(output->zip));
    }
    output->stores_digest = true;
    return NADIR_OK;
}

nadir_status nadir_npz_output_commit(nadir_npz_output *output)
{
    (void)zip_register_progress_callback_with_state(output->zip, 0.001, show_progress, NULL, output);
    (void)zip_register_cancel_callback_with_state(output->zip, is_stopped, NULL, output);
    if (zip_close(output->zip) != 0) {
        return zip_fail(output, zip_get_error(output->zip));
    }
    output->zip = NULL;
    if (output->stores_digest) {
        nadir_output_flush(&output->file);
        NADIR_TRY(nadir_file_digest_store(output->context, output->file.temporary, &nadir_npz_digest_form));
    }
    return nadir_output_commit(output->context, &output->file);
}

/* ---- Models ------------------------------------------------------------------------------------------ */

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

static nadir_status add_csr(writer *self)
{
    const nadir_model *model = self->model;
    const nadir_model *rows = model;
    if (model->dense != NULL) {
        NADIR_TRY(nadir_model_list_rows(self->context, model, model->states, &self->rows));
        rows = &self->rows;
    }
    const int64_t starts = model->rows + 1;
    const int64_t count = rows->nonzeros;
    self->matrix_shape[0] = model->rows;
    self->matrix_shape[1] = model->states;
    NADIR_TRY(
        nadir_npz_add(&self->output, NADIR_NPZ_P_DATA, "f8", 1, &count, rows->probabilities, sizeof(double)));
    NADIR_TRY(
        nadir_npz_add(&self->output, NADIR_NPZ_P_INDICES, "i4", 1, &count, rows->columns, sizeof(int32_t)));
    NADIR_TRY(nadir_npz_add(&self->output, NADIR_NPZ_P_INDPTR, "i8", 1, &starts, rows->row_starts,
                            sizeof(int64_t)));
    NADIR_TRY(nadir_npz_add(&self->output, NADIR_NPZ_P_SHAPE, "i8", 1, &(const int64_t){2},
                            self->matrix_shape, sizeof(int64_t)));
    NADIR_TRY(nadir_npz_add_row_labels(&self->output, model, &self->row_state));
    if (rows->transition_rewards != NULL) {
        NADIR_TRY(nadir_npz_add(&self->output, NADIR_NPZ_R, "f8", 1, &count, rows->transition_rewards,
                                sizeof(double)));
    }
    if (model->lower != NULL) {
        NADIR_TRY(
            nadir_npz_add(&self->output, NADIR_NPZ_P_LOWER, "f8", 1, &count, model->lower, sizeof(double)));
        NADIR_TRY(
            nadir_npz_add(&self->output, NADIR_NPZ_P_UPPER, "f8", 1, &count, model->upper, sizeof(double)));
    }
    if (model->weights != NULL) {
        NADIR_TRY(
            nadir_npz_add(&self->output, NADIR_NPZ_WEIGHTS, "f8", 1, &count, model->weights, sizeof(double)));
    }
    return NADIR_OK;
}

static nadir_status add_dense(writer *self)
{
    const nadir_model *model = self->model;
    const int64_t shape[] = {model->states, self->actions, model->states};
    NADIR_TRY(nadir_npz_add(&self->output, NADIR_NPZ_P, "f8", 3, shape, model->dense, sizeof(double)));
    NADIR_TRY(nadir_npz_add_word(&self->output, NADIR_NPZ_LAYOUT, "sas"));
    if (model->transition_rewards != NULL) {
        NADIR_TRY(nadir_npz_add(&self->output, NADIR_NPZ_R, "f8", 3, shape, model->transition_rewards,
                                sizeof(double)));
    }
    return NADIR_OK;
}

static nadir_status add_model(writer *self)
{
    const nadir_model *model = self->model;
    self->actions = nadir_model_common_actions(model);
    const bool dense = model->dense != NULL && self->actions > 0 && model->row_actions == NULL;
    NADIR_TRY(dense ? add_dense(self) : add_csr(self));
    if (model->rewards != NULL && model->transition_rewards == NULL) {
        NADIR_TRY(add_per_row(self, NADIR_NPZ_R, model->rewards));
    }
    NADIR_TRY(
        nadir_npz_add(&self->output, NADIR_NPZ_MU, "f8", 1, &model->states, model->initial, sizeof(double)));
    if (!isnan(model->discount)) {
        NADIR_TRY(nadir_npz_add_number(&self->output, NADIR_NPZ_GAMMA, &model->discount));
    }
    if (model->scales != NULL) {
        NADIR_TRY(add_per_row(self, NADIR_NPZ_SCALES, model->scales));
    }
    NADIR_TRY(nadir_npz_add_ball(&self->output, &model->radius_count, model->radius, &model->norm, model->set,
                                 model->domain));
    if (model->promise != NADIR_BALL_UNSAID) {
        NADIR_TRY(
            nadir_npz_add_word(&self->output, NADIR_NPZ_PROMISE, nadir_ball_promise_name(model->promise)));
    }
    if (!isnan(model->confidence)) {
        NADIR_TRY(nadir_npz_add_number(&self->output, NADIR_NPZ_CONFIDENCE, &model->confidence));
    }
    if (model->unobserved != NULL) {
        NADIR_TRY(add_per_row(self, NADIR_NPZ_UNOBSERVED, model->unobserved));
    }
    NADIR_TRY(add_names(self, NADIR_NPZ_STATE_NAMES, &model->state_names, &self->state_names));
    return add_names(self, NADIR_NPZ_ACTION_NAMES, &model->action_names, &self->action_names);
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
    NADIR_RELEASE(context, self.row_state, self.state_names, self.action_names, self.rows.row_starts,
                  self.rows.columns, self.rows.probabilities, self.rows.transition_rewards);
    return status;
}

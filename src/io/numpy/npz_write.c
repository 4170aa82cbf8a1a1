/*
 * npz_write.c: a model as a NumPy archive; see npz.c for the format.
 *
 * The arrays of the model are handed to libzip as they are; only text, and the rows of a dense kernel that
 * cannot be written as (S, A, S), are built first. All entries bear the same date, so that the same model
 * gives the same bytes.
 */
#include "io/numpy/npz.h"
#include "io/numpy/utf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEFLATE_LEVEL 1    /* on such numbers as small as the higher ones, and several times faster */
#define DOS_DATE      0x21 /* 1 January 1980, the first there is */
#define DOS_TIME      0
#define WORD_LENGTH   8 /* characters */
#define REPLACEMENT   0xFFFD

typedef struct writer {
    nadir_context *context;
    const nadir_model *model;
    const char *path;
    zip_t *zip;
    bool compress;
    int64_t actions;      /* of every state; 0: ragged */
    nadir_status stopped; /* what the progress callback answered */
    char headers[NADIR_NPZ_ARRAYS][NADIR_NPY_HEADER_LENGTH];
    uint32_t words[NADIR_NPZ_ARRAYS][WORD_LENGTH];
    /* Built here, and kept until the archive is closed: */
    int64_t matrix_shape[2];
    int32_t *row_state;
    uint32_t *state_names, *action_names;
    nadir_model rows; /* the CSR arrays of a dense model */
} writer;

static nadir_status zip_fail(const writer *to, zip_error_t *error)
{
    if (to->stopped != NADIR_OK) {
        return to->stopped;
    }
    const bool memory = zip_error_code_zip(error) == ZIP_ER_MEMORY;
    return nadir_fail(to->context, memory ? NADIR_ERROR_MEMORY : NADIR_ERROR_IO, "%s: writing failed: %s",
                      to->path, zip_error_strerror(error));
}

/* Adds an array of the model; type as in nadir_npy_header_bytes. */
static nadir_status add(writer *to, nadir_npz_which which, const char *type, int dimensions,
                        const int64_t *shape, const void *items, size_t item_bytes)
{
    size_t bytes = item_bytes;
    for (int i = 0; i < dimensions; i++) {
        bytes *= (size_t)shape[i];
    }
    char *header = to->headers[which];
    const size_t header_bytes = nadir_npy_header_bytes(type, dimensions, shape, header);
    /* libzip only reads from these; its type lacks the const. */
    const zip_buffer_fragment_t parts[] = {{(zip_uint8_t *)header, header_bytes},
                                           {(zip_uint8_t *)items, bytes}};
    zip_source_t *source = zip_source_buffer_fragment(to->zip, parts, 2, 0);
    if (source == NULL) {
        return zip_fail(to, zip_get_error(to->zip));
    }
    char name[32];
    (void)snprintf(name, sizeof name, "%s.npy", nadir_npz_name(which));
    const zip_int64_t index = zip_file_add(to->zip, name, source, 0);
    if (index < 0) {
        zip_source_free(source);
        return zip_fail(to, zip_get_error(to->zip));
    }
    const zip_int32_t method = to->compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
    if (zip_set_file_compression(to->zip, (zip_uint64_t)index, method, to->compress ? DEFLATE_LEVEL : 0) !=
            0 ||
        zip_file_set_dostime(to->zip, (zip_uint64_t)index, DOS_TIME, DOS_DATE, 0) != 0) {
        return zip_fail(to, zip_get_error(to->zip));
    }
    return NADIR_OK;
}

/* One number for each row: (S, A) where that is possible. */
static nadir_status add_per_row(writer *to, nadir_npz_which which, const double *values)
{
    const int64_t table[] = {to->model->states, to->actions};
    const bool is_table = to->actions > 0;
    return add(to, which, "f8", is_table ? 2 : 1, is_table ? table : &to->model->rows, values,
               sizeof *values);
}

static nadir_status add_word(writer *to, nadir_npz_which which, const char *word)
{
    char type[32];
    const size_t length = strlen(word);
    for (size_t i = 0; i < length; i++) {
        to->words[which][i] = (unsigned char)word[i];
    }
    (void)snprintf(type, sizeof type, "U%zu", length);
    return add(to, which, type, 0, NULL, to->words[which], length * sizeof(uint32_t));
}

/* The characters of a name into text, where text is not NULL; bytes that are none become U+FFFD. */
static size_t decode(const char *name, uint32_t *text, bool *damaged)
{
    size_t count = 0;
    const size_t length = strlen(name);
    for (size_t at = 0; at < length; count++) {
        uint32_t character;
        size_t bytes = nadir_utf8_decode(name + at, length - at, &character);
        if (bytes == 0) {
            character = REPLACEMENT;
            bytes = 1;
            *damaged = true;
        }
        if (text != NULL) {
            text[count] = character;
        }
        at += bytes;
    }
    return count;
}

static nadir_status add_names(writer *to, nadir_npz_which which, const nadir_names *names, uint32_t **text)
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
    NADIR_NEW_ZERO(to->context, *text, (size_t)names->count * longest);
    for (int64_t i = 0; i < names->count; i++) {
        (void)decode(nadir_names_get(names, i), *text + (size_t)i * longest, &damaged);
    }
    if (damaged) {
        nadir_log(to->context, NADIR_LOG_WARNING, "%s: %s: what was no UTF-8 was replaced", to->path,
                  nadir_npz_name(which));
    }
    (void)snprintf(type, sizeof type, "U%zu", longest);
    NADIR_CHECK(add(to, which, type, 1, &names->count, *text, longest * sizeof **text));
cleanup:
    return status;
}

/* The CSR arrays of a dense kernel into to->rows. */
static nadir_status build_rows(writer *to)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = to->model;
    nadir_model *rows = &to->rows;
    NADIR_NEW(to->context, rows->row_starts, model->rows + 1);
    NADIR_NEW(to->context, rows->columns, model->nonzeros);
    NADIR_NEW(to->context, rows->probabilities, model->nonzeros);
    if (model->transition_rewards != NULL) {
        NADIR_NEW(to->context, rows->transition_rewards, model->nonzeros);
    }
    int64_t at = 0;
    rows->row_starts[0] = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        for (int64_t i = 0; i < entries.count; i++) {
            if (entries.values[i] > 0) {
                rows->columns[at] = (int32_t)i;
                rows->probabilities[at] = entries.values[i];
                if (rows->transition_rewards != NULL) {
                    rows->transition_rewards[at] = entries.rewards[i];
                }
                at++;
            }
        }
        rows->row_starts[row + 1] = at;
    }
cleanup:
    return status;
}

static nadir_status add_row_states(writer *to)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = to->model;
    NADIR_NEW(to->context, to->row_state, model->rows);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            to->row_state[row] = (int32_t)s;
        }
    }
    NADIR_CHECK(add(to, NADIR_NPZ_ROW_STATE, "i4", 1, &model->rows, to->row_state, sizeof *to->row_state));
cleanup:
    return status;
}

static nadir_status add_csr(writer *to)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = to->model;
    const nadir_model *rows = model;
    if (model->dense != NULL) {
        NADIR_CHECK(build_rows(to));
        rows = &to->rows;
    }
    const int64_t starts = model->rows + 1;
    const int64_t count = model->nonzeros;
    to->matrix_shape[0] = model->rows;
    to->matrix_shape[1] = model->states;
    NADIR_CHECK(add(to, NADIR_NPZ_P_DATA, "f8", 1, &count, rows->probabilities, sizeof(double)));
    NADIR_CHECK(add(to, NADIR_NPZ_P_INDICES, "i4", 1, &count, rows->columns, sizeof(int32_t)));
    NADIR_CHECK(add(to, NADIR_NPZ_P_INDPTR, "i8", 1, &starts, rows->row_starts, sizeof(int64_t)));
    NADIR_CHECK(add(to, NADIR_NPZ_P_SHAPE, "i8", 1, &(const int64_t){2}, to->matrix_shape, sizeof(int64_t)));
    if (to->actions == 0) {
        NADIR_CHECK(add_row_states(to));
    }
    if (model->row_actions != NULL) {
        NADIR_CHECK(
            add(to, NADIR_NPZ_ROW_ACTION, "i4", 1, &model->rows, model->row_actions, sizeof(int32_t)));
    }
    if (rows->transition_rewards != NULL) {
        NADIR_CHECK(add(to, NADIR_NPZ_R, "f8", 1, &count, rows->transition_rewards, sizeof(double)));
    }
cleanup:
    return status;
}

static nadir_status add_dense(writer *to)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = to->model;
    const int64_t shape[] = {model->states, to->actions, model->states};
    NADIR_CHECK(add(to, NADIR_NPZ_P, "f8", 3, shape, model->dense, sizeof(double)));
    NADIR_CHECK(add_word(to, NADIR_NPZ_LAYOUT, "sas"));
    if (model->transition_rewards != NULL) {
        NADIR_CHECK(add(to, NADIR_NPZ_R, "f8", 3, shape, model->transition_rewards, sizeof(double)));
    }
cleanup:
    return status;
}

static nadir_status add_ball(writer *to)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = to->model;
    if (model->radius_count > 0) {
        const bool one = model->radius_count == 1;
        NADIR_CHECK(add(to, NADIR_NPZ_RADIUS, "f8", one ? 0 : 1, &model->radius_count, model->radius,
                        sizeof(double)));
    }
    if (!isnan(model->norm)) {
        NADIR_CHECK(add(to, NADIR_NPZ_NORM, "f8", 0, NULL, &model->norm, sizeof(double)));
    }
    if (model->set != NADIR_SET_UNSAID) {
        NADIR_CHECK(add_word(to, NADIR_NPZ_SET, nadir_set_name(model->set)));
    }
    if (model->domain != NADIR_DOMAIN_UNSAID) {
        NADIR_CHECK(add_word(to, NADIR_NPZ_DOMAIN, nadir_domain_name(model->domain)));
    }
cleanup:
    return status;
}

static nadir_status add_model(writer *to)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = to->model;
    to->actions = model->state_rows[1];
    for (int64_t s = 0; s <= model->states; s++) {
        to->actions = model->state_rows[s] == s * model->state_rows[1] ? to->actions : 0;
    }
    const bool dense = model->dense != NULL && to->actions > 0 && model->row_actions == NULL;
    NADIR_CHECK(dense ? add_dense(to) : add_csr(to));
    if (model->rewards != NULL && model->transition_rewards == NULL) {
        NADIR_CHECK(add_per_row(to, NADIR_NPZ_R, model->rewards));
    }
    NADIR_CHECK(add(to, NADIR_NPZ_MU, "f8", 1, &model->states, model->initial, sizeof(double)));
    if (!isnan(model->discount)) {
        NADIR_CHECK(add(to, NADIR_NPZ_GAMMA, "f8", 0, NULL, &model->discount, sizeof(double)));
    }
    if (model->scales != NULL) {
        NADIR_CHECK(add_per_row(to, NADIR_NPZ_SCALES, model->scales));
    }
    NADIR_CHECK(add_ball(to));
    NADIR_CHECK(add_names(to, NADIR_NPZ_STATE_NAMES, &model->state_names, &to->state_names));
    NADIR_CHECK(add_names(to, NADIR_NPZ_ACTION_NAMES, &model->action_names, &to->action_names));
cleanup:
    return status;
}

static void show_progress(zip_t *zip, double share, void *user)
{
    (void)zip;
    writer *to = user;
    if (to->stopped == NADIR_OK) {
        to->stopped = nadir_progress(to->context, "writing", share);
    }
}

static int is_stopped(zip_t *zip, void *user)
{
    (void)zip;
    const writer *to = user;
    return to->stopped != NADIR_OK;
}

/* Everything into the file of this name. */
static nadir_status write_archive(writer *to, const char *temporary)
{
    nadir_status status = NADIR_OK;
    int code = 0;
    to->zip = zip_open(temporary, ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (to->zip == NULL) {
        zip_error_t error;
        zip_error_init_with_code(&error, code);
        status = zip_fail(to, &error);
        zip_error_fini(&error);
        return status;
    }
    NADIR_CHECK(add_model(to));
    (void)zip_register_progress_callback_with_state(to->zip, 0.001, show_progress, NULL, to);
    (void)zip_register_cancel_callback_with_state(to->zip, is_stopped, NULL, to);
    if (zip_close(to->zip) != 0) {
        status = zip_fail(to, zip_get_error(to->zip));
        goto cleanup;
    }
    to->zip = NULL;
cleanup:
    if (to->zip != NULL) {
        zip_discard(to->zip);
    }
    return status;
}

nadir_status nadir_npz_write(nadir_context *context, const nadir_model *model, const char *path,
                             const nadir_write_settings *settings)
{
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    writer to = {.context = context, .model = model, .path = path, .compress = settings->compress};
    NADIR_CHECK(nadir_output_open(context, path, &output));
    NADIR_CHECK(write_archive(&to, output.temporary));
    NADIR_CHECK(nadir_output_commit(context, &output));
cleanup:
    nadir_output_close(context, &output);
    nadir_release(context, to.row_state);
    nadir_release(context, to.state_names);
    nadir_release(context, to.action_names);
    nadir_release(context, to.rows.row_starts);
    nadir_release(context, to.rows.columns);
    nadir_release(context, to.rows.probabilities);
    nadir_release(context, to.rows.transition_rewards);
    return status;
}

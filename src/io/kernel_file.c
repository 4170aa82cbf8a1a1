/* kernel_file.c: kernels in NumPy archives; see result_files.h. */
#include "io/npz.h"
#include "io/result_files.h"
#include "linalg/distributed.h"
#include "model/kernel.h"
#include "model/kernel_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Reading, without trust -------------------------------------------------------------------------- */

/*
 * A kernel from a NumPy archive, without trust.
 *
 * The shapes of all arrays are compared with the model before any is read. npz.h has checked that the file
 * can hold them.
 */

typedef struct reader {
    nadir_context *context;
    nadir_model *model;
    nadir_npz npz;
    int64_t entries;
    double *b;     /* [rows] */
    double *k;     /* [states] */
    int64_t *rows; /* [rows] 0, 1, 2, ... */
    int64_t *starts;
    int32_t *columns;
    double *values;
} reader;

static bool has(const reader *self, nadir_npz_which which)
{
    return nadir_npz_has(&self->npz, which);
}

/* An array that is there has [count] items. */
static nadir_status check_list(const reader *self, nadir_npz_which which, int64_t count, const char *of_what)
{
    const nadir_npy_header *header = &self->npz.headers[which];
    if (header->dimensions != 1 || header->count != count) {
        return nadir_npz_shape_fail(&self->npz, which, "one number for each of %lld %s", (long long)count,
                                    of_what);
    }
    return NADIR_OK;
}

/* "FILE: array b: state 3, action 1: the number is nan; expected ..."; place: a row, or a state. */
static nadir_status number_fail(const reader *self, nadir_npz_which which, bool by_row, int64_t place,
                                double number, const char *expected)
{
    char label[NADIR_LABEL_LENGTH];
    const int64_t state = by_row ? nadir_model_row_state(self->model, place) : place;
    return nadir_fail(self->context, NADIR_ERROR_FORMAT, "%s: array %s: %s: the number is %g; expected %s",
                      self->npz.path, nadir_npz_name(which),
                      nadir_model_label(self->model, state, by_row ? place : -1, label), number, expected);
}

/* Numbers for each row, or each state. */
static nadir_status read_list(reader *self, nadir_npz_which which, bool by_row, bool negative, double *into)
{
    const int64_t count = by_row ? self->model->rows : self->model->states;
    NADIR_TRY(check_list(self, which, count, by_row ? "rows" : "states"));
    NADIR_TRY(nadir_npz_doubles(&self->npz, which, NULL, NULL, into));
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(into[i]) || (!negative && into[i] < 0)) {
            return number_fail(self, which, by_row, i, into[i],
                               negative ? "a finite one" : "a finite one, 0 or more");
        }
    }
    return NADIR_OK;
}

static nadir_status read_rank_one(reader *self, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(self->context, self->b, self->model->rows);
    NADIR_NEW(self->context, self->k, self->model->states);
    NADIR_CHECK(read_list(self, NADIR_NPZ_B, true, true, self->b));
    NADIR_CHECK(read_list(self, NADIR_NPZ_K, false, true, self->k));
    NADIR_CHECK(nadir_kernel_create_rank_one(self->context, self->model, self->b, self->k, kernel));
cleanup:
    return status;
}

/* The shapes of the CSR arrays. */
static nadir_status check_shapes(reader *self)
{
    int64_t shape[2];
    self->entries = self->npz.headers[NADIR_NPZ_P_DATA].count;
    NADIR_TRY(check_list(self, NADIR_NPZ_P_DATA, self->entries, "entries"));
    if (self->entries / self->model->states > self->model->rows) {
        return nadir_npz_shape_fail(&self->npz, NADIR_NPZ_P_DATA, "at most %lld entries in each of %lld rows",
                                    (long long)self->model->states, (long long)self->model->rows);
    }
    NADIR_TRY(check_list(self, NADIR_NPZ_P_INDICES, self->entries, "entries"));
    if (self->npz.headers[NADIR_NPZ_P_INDPTR].count != self->model->rows + 1) {
        return nadir_npz_shape_fail(&self->npz, NADIR_NPZ_P_INDPTR,
                                    "(%lld,): one more than the model has rows",
                                    (long long)self->model->rows + 1);
    }
    if (has(self, NADIR_NPZ_P_SHAPE)) {
        NADIR_TRY(check_list(self, NADIR_NPZ_P_SHAPE, 2, "dimensions"));
        NADIR_TRY(nadir_npz_int64s(&self->npz, NADIR_NPZ_P_SHAPE, NULL, shape));
        if (shape[0] != self->model->rows || shape[1] != self->model->states) {
            return nadir_fail(
                self->context, NADIR_ERROR_FORMAT,
                "%s: array P_shape makes %lld rows and %lld states; the model has %lld and %lld",
                self->npz.path, (long long)shape[0], (long long)shape[1], (long long)self->model->rows,
                (long long)self->model->states);
        }
    }
    return NADIR_OK;
}

/* The rows are those of the model, as far as the file says of which state and action they are. */
static nadir_status check_labels(reader *self, nadir_npz_which which)
{
    nadir_status status = NADIR_OK;
    int32_t *labels = NULL;
    const nadir_model *model = self->model;
    if (!has(self, which)) {
        return NADIR_OK;
    }
    NADIR_CHECK(check_list(self, which, model->rows, "rows"));
    NADIR_NEW(self->context, labels, model->rows);
    NADIR_CHECK(nadir_npz_int32s(&self->npz, which, NULL, labels));
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const int64_t own = which == NADIR_NPZ_ROW_STATE ? s : nadir_model_row_action(model, s, row);
            if (labels[row] != own) {
                NADIR_CHECK(nadir_fail(self->context, NADIR_ERROR_FORMAT,
                                       "%s: array %s: row %lld has %d; in the model it has %lld",
                                       self->npz.path, nadir_npz_name(which), (long long)row, labels[row],
                                       (long long)own));
            }
        }
    }
cleanup:
    nadir_release(self->context, labels);
    return status;
}

static nadir_status check_starts(const reader *self)
{
    const int64_t rows = self->model->rows;
    bool rises = self->starts[0] == 0 && self->starts[rows] == self->entries;
    for (int64_t row = 0; row < rows; row++) {
        rises = rises && self->starts[row + 1] >= self->starts[row];
        if (!rises) {
            return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                              "%s: array P_indptr: row %lld is %lld to %lld; expected numbers that do not "
                              "fall, from 0 to the number of entries, %lld",
                              self->npz.path, (long long)row, (long long)self->starts[row],
                              (long long)self->starts[row + 1], (long long)self->entries);
        }
    }
    return NADIR_OK;
}

static nadir_status check_entries(const reader *self)
{
    for (int64_t row = 0; row < self->model->rows; row++) {
        int64_t before = -1;
        for (int64_t i = self->starts[row]; i < self->starts[row + 1]; i++) {
            if (self->columns[i] <= before || self->columns[i] >= self->model->states) {
                return number_fail(self, NADIR_NPZ_P_INDICES, true, row, self->columns[i],
                                   "states of the model, rising within a row");
            }
            if (!isfinite(self->values[i])) {
                return number_fail(self, NADIR_NPZ_P_DATA, true, row, self->values[i], "a finite one");
            }
            before = self->columns[i];
        }
    }
    return NADIR_OK;
}

static nadir_status read_rows(reader *self, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const int64_t rows = self->model->rows;
    NADIR_CHECK(check_shapes(self));
    NADIR_CHECK(check_labels(self, NADIR_NPZ_ROW_STATE));
    NADIR_CHECK(check_labels(self, NADIR_NPZ_ROW_ACTION));
    NADIR_NEW(self->context, self->starts, rows + 1);
    NADIR_CHECK(nadir_npz_int64s(&self->npz, NADIR_NPZ_P_INDPTR, NULL, self->starts));
    NADIR_CHECK(check_starts(self));
    NADIR_NEW(self->context, self->columns, self->entries);
    NADIR_CHECK(nadir_npz_int32s(&self->npz, NADIR_NPZ_P_INDICES, NULL, self->columns));
    NADIR_NEW(self->context, self->values, self->entries);
    NADIR_CHECK(nadir_npz_doubles(&self->npz, NADIR_NPZ_P_DATA, NULL, NULL, self->values));
    NADIR_CHECK(check_entries(self));
    NADIR_NEW(self->context, self->rows, rows);
    for (int64_t row = 0; row < rows; row++) {
        self->rows[row] = row;
    }
    const nadir_changed_rows changed = {rows, self->rows, self->starts, self->columns, self->values};
    NADIR_CHECK(nadir_kernel_create_changed(self->context, self->model, &changed, kernel));
cleanup:
    return status;
}

static nadir_status read_kernel(reader *self, nadir_kernel **kernel)
{
    const bool rank_one = has(self, NADIR_NPZ_B) || has(self, NADIR_NPZ_K);
    const bool rows = has(self, NADIR_NPZ_P_DATA);
    if (rank_one == rows) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                          "%s: %s kernel; expected either arrays b and k, or P_data with P_indices and "
                          "P_indptr",
                          self->npz.path, rows ? "more than one" : "no");
    }
    static const nadir_npz_which needed[2][2] = {{NADIR_NPZ_P_INDICES, NADIR_NPZ_P_INDPTR},
                                                 {NADIR_NPZ_B, NADIR_NPZ_K}};
    for (int i = 0; i < 2; i++) {
        if (!has(self, needed[rank_one][i])) {
            return nadir_fail(self->context, NADIR_ERROR_FORMAT, "%s: array %s is missing", self->npz.path,
                              nadir_npz_name(needed[rank_one][i]));
        }
    }
    return rank_one ? read_rank_one(self, kernel) : read_rows(self, kernel);
}

/* One number in [low, high], as `expected` says; NaN where there is none. */
static nadir_status read_number(reader *self, nadir_npz_which which, double low, double high,
                                const char *expected, double *number)
{
    nadir_status status = NADIR_OK;
    *number = NAN;
    NADIR_CHECK(nadir_npz_number(&self->npz, which, number));
    if (has(self, which) && !(*number >= low && *number <= high)) {
        status = nadir_fail(self->context, NADIR_ERROR_FORMAT, "%s: array %s is %g; expected %s",
                            self->npz.path, nadir_npz_name(which), *number, expected);
    }
cleanup:
    return status;
}

/* The digests of a file, and where they go. */
static const struct {
    nadir_npz_which which;
    size_t offset;
} digests[] = {
    {NADIR_NPZ_MODEL_SHA256, offsetof(nadir_kernel_parameters, model_sha256)},
    {NADIR_NPZ_POLICY_SHA256, offsetof(nadir_kernel_parameters, policy_sha256)},
    {NADIR_NPZ_MODEL_FILE_SHA256, offsetof(nadir_kernel_parameters, model_file_sha256)},
    {NADIR_NPZ_POLICY_FILE_SHA256, offsetof(nadir_kernel_parameters, policy_file_sha256)},
};
enum { DIGESTS = sizeof digests / sizeof *digests };

static nadir_status read_digest(reader *self, nadir_npz_which which, char digest[65])
{
    nadir_status status = NADIR_OK;
    nadir_names names = {0};
    NADIR_CHECK(nadir_npz_one_name(&self->npz, which, &names));
    const char *word = names.count > 0 ? nadir_names_get(&names, 0) : NULL;
    if (word != NULL && (strlen(word) != 64 || strspn(word, "0123456789abcdef") != 64)) {
        NADIR_CHECK(nadir_fail(self->context, NADIR_ERROR_FORMAT,
                               "%s: array %s is \"%.80s\"; expected 64 hexadecimal digits", self->npz.path,
                               nadir_npz_name(which), word));
    }
    memcpy(digest, word != NULL ? word : "", word != NULL ? 65 : 1);
cleanup:
    nadir_names_clear(self->context->memory, &names);
    return status;
}

/* radius and scales. */
static nadir_status read_numbers(reader *self, nadir_kernel_parameters *parameters)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    const nadir_npy_header *header = &self->npz.headers[NADIR_NPZ_RADIUS];
    double *into;
    NADIR_NEW(self->context, parameters->owned, 2 * model->rows);
    into = parameters->owned;
    if (has(self, NADIR_NPZ_RADIUS)) {
        const bool one = header->count == 1;
        if (!one && header->count != model->states && header->count != model->rows) {
            return nadir_npz_shape_fail(&self->npz, NADIR_NPZ_RADIUS,
                                        "one number, or one for each of %lld states or %lld rows",
                                        (long long)model->states, (long long)model->rows);
        }
        if (one) {
            NADIR_CHECK(read_number(self, NADIR_NPZ_RADIUS, 0, DBL_MAX, "a finite number, 0 or more", into));
        } else {
            NADIR_CHECK(read_list(self, NADIR_NPZ_RADIUS, header->count == model->rows, false, into));
        }
        parameters->radius = into;
        parameters->radius_count = header->count;
        into += header->count;
    }
    if (has(self, NADIR_NPZ_SCALES)) {
        NADIR_CHECK(read_list(self, NADIR_NPZ_SCALES, true, false, into));
        parameters->scales = into;
    }
cleanup:
    return status;
}

static nadir_status read_parameters(reader *self, nadir_kernel_parameters *parameters)
{
    double optimistic = 0;
    NADIR_TRY(nadir_npz_set_and_domain(&self->npz, &parameters->set, &parameters->domain));
    NADIR_TRY(nadir_npz_norm(&self->npz, &parameters->norm));
    NADIR_TRY(read_number(self, NADIR_NPZ_GAMMA, 0, 1, "from 0 to 1", &parameters->gamma));
    NADIR_TRY(nadir_npz_number(&self->npz, NADIR_NPZ_OPTIMISTIC, &optimistic));
    if (optimistic != 0 && optimistic != 1) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT, "%s: array optimistic is %g; expected 0 or 1",
                          self->npz.path, optimistic);
    }
    parameters->optimistic = optimistic == 1;
    for (int i = 0; i < DIGESTS; i++) {
        NADIR_TRY(read_digest(self, digests[i].which, (char *)parameters + digests[i].offset));
    }
    return read_numbers(self, parameters);
}

nadir_status nadir_kernel_file_read(nadir_context *context, nadir_model *model, const char *path,
                                    nadir_kernel **kernel, nadir_kernel_parameters *parameters)
{
    nadir_status status = NADIR_OK;
    reader self = {.context = context, .model = model};
    nadir_kernel_parameters found = {.norm = NAN, .gamma = NAN};
    NADIR_CHECK(nadir_npz_open(context, path, NADIR_NPZ_ARRAYS, &self.npz));
    NADIR_CHECK(read_parameters(&self, &found));
    NADIR_CHECK(read_kernel(&self, kernel));
    *parameters = found;
    found.owned = NULL;
cleanup:
    nadir_kernel_parameters_clear(context, &found);
    nadir_npz_close(&self.npz);
    void *const arrays[] = {self.b, self.k, self.rows, self.starts, self.columns, self.values};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        nadir_release(context, arrays[i]);
    }
    return status;
}

/* ---- Writing ----------------------------------------------------------------------------------------- */

/*
 * A kernel as a NumPy archive.
 *
 * Rows are made twice more after they were counted, once for their values and once for their columns, so that
 * a kernel whose rows are full where the model's are sparse takes no memory but for one row.
 */

typedef struct writer {
    nadir_context *context;
    const nadir_kernel *kernel;
    const nadir_model *model;
    const nadir_kernel_parameters *parameters;
    nadir_npz_output output;
    nadir_explicit rows; /* the archive takes one stream after the other, so that both may use the same row */
    nadir_npz_stream data, indices;
    /* Kept until the archive is closed: */
    int64_t *starts; /* [rows + 1] */
    int32_t *row_state;
    int64_t shape[2];
    int64_t optimistic;
    const double *b, *k, *scales, *radius; /* of all processes */
    double *owned, *room;                  /* for them, where there are several */
} writer;

static size_t make_values(void *user, int64_t row, const void **bytes)
{
    const nadir_row made = nadir_explicit_row(user, row);
    *bytes = made.values;
    return (size_t)made.count * sizeof *made.values;
}

static size_t make_columns(void *user, int64_t row, const void **bytes)
{
    const nadir_row made = nadir_explicit_row(user, row);
    *bytes = made.columns;
    return (size_t)made.count * sizeof *made.columns;
}

static nadir_status count_entries(writer *self)
{
    const int64_t rows = self->model->rows;
    self->starts[0] = 0;
    for (int64_t row = 0; row < rows; row++) {
        self->starts[row + 1] = self->starts[row] + nadir_explicit_row(&self->rows, row).count;
        if (row % 256 == 0) {
            NADIR_TRY(nadir_progress(self->context, "counting entries", (double)row / (double)rows));
        }
    }
    return NADIR_OK;
}

static nadir_status add_kernel_rows(writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    const int64_t starts = model->rows + 1;
    NADIR_CHECK(nadir_explicit_make(self->context, self->kernel, &self->rows));
    NADIR_NEW(self->context, self->starts, starts);
    NADIR_CHECK(count_entries(self));
    const int64_t entries = self->starts[model->rows];
    self->data = (nadir_npz_stream){make_values, &self->rows, .blocks = model->rows};
    self->indices = (nadir_npz_stream){make_columns, &self->rows, .blocks = model->rows};
    NADIR_CHECK(
        nadir_npz_add_stream(&self->output, NADIR_NPZ_P_DATA, "f8", entries, sizeof(double), &self->data));
    NADIR_CHECK(nadir_npz_add_stream(&self->output, NADIR_NPZ_P_INDICES, "i4", entries, sizeof(int32_t),
                                     &self->indices));
    NADIR_CHECK(
        nadir_npz_add(&self->output, NADIR_NPZ_P_INDPTR, "i8", 1, &starts, self->starts, sizeof(int64_t)));
    NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_P_SHAPE, "i8", 1, &(const int64_t){2}, self->shape,
                              sizeof(int64_t)));
    NADIR_CHECK(nadir_npz_add_row_labels(&self->output, model, &self->row_state));
cleanup:
    return status;
}

/* Replaces own numbers by the `count` of all processes, on process 0. */
static nadir_status collect(writer *self, int64_t own, int64_t count, const double **numbers)
{
    const nadir_communication *table = self->context->communication;
    const double *from = *numbers;
    double *to = self->room;
    *numbers = to;
    self->room += table->rank == 0 ? count : 0;
    return table->collect(table->self, self->context, own, from, to);
}

/* b, k, scales and radii; a nominal kernel has b = 0 and k = 0. */
static nadir_status collect_all(writer *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_model *model = self->model;
    const int64_t rows = self->shape[0];
    const int64_t radii = self->parameters->radius_count;
    double *zeros = NULL;
    NADIR_NEW_ZERO(context, zeros, model->rows > model->states ? model->rows : model->states);
    NADIR_NEW(context, self->owned,
              context->communication->rank == 0 ? 2 * rows + self->shape[1] + radii : 0);
    self->room = self->owned;
    self->b = self->b != NULL ? self->b : zeros;
    self->k = self->k != NULL ? self->k : zeros;
    NADIR_CHECK(collect(self, model->rows, rows, &self->b));
    NADIR_CHECK(collect(self, model->states, self->shape[1], &self->k));
    if (self->scales != NULL) {
        NADIR_CHECK(collect(self, model->rows, rows, &self->scales));
    }
    if (radii > 1) {
        const int64_t own = self->parameters->set == NADIR_SET_S ? model->states : model->rows;
        NADIR_CHECK(collect(self, own, radii, &self->radius));
    }
cleanup:
    nadir_release(context, zeros);
    return status;
}

static nadir_status add_rank_one(writer *self)
{
    NADIR_TRY(nadir_npz_add(&self->output, NADIR_NPZ_B, "f8", 1, &self->shape[0], self->b, sizeof *self->b));
    return nadir_npz_add(&self->output, NADIR_NPZ_K, "f8", 1, &self->shape[1], self->k, sizeof *self->k);
}

static nadir_status add_ball(writer *self)
{
    const nadir_kernel_parameters *ball = self->parameters;
    nadir_npz_output *output = &self->output;
    NADIR_TRY(
        nadir_npz_add_ball(output, &ball->radius_count, self->radius, &ball->norm, ball->set, ball->domain));
    if (self->scales != NULL) {
        NADIR_TRY(nadir_npz_add(output, NADIR_NPZ_SCALES, "f8", 1, &self->shape[0], self->scales,
                                sizeof *self->scales));
    }
    self->optimistic = ball->optimistic;
    return nadir_npz_add(output, NADIR_NPZ_OPTIMISTIC, "i8", 0, NULL, &self->optimistic,
                         sizeof self->optimistic);
}

static nadir_status add_origin(writer *self)
{
    const nadir_kernel_parameters *origin = self->parameters;
    if (!isnan(origin->gamma)) {
        NADIR_TRY(nadir_npz_add_number(&self->output, NADIR_NPZ_GAMMA, &origin->gamma));
    }
    for (int i = 0; i < DIGESTS; i++) {
        const char *digest = (const char *)origin + digests[i].offset;
        if (digest[0] != '\0') {
            NADIR_TRY(nadir_npz_add_word(&self->output, digests[i].which, digest));
        }
    }
    return NADIR_OK;
}

nadir_status nadir_kernel_file_write(nadir_context *context, const nadir_kernel *kernel,
                                     const nadir_kernel_parameters *parameters, const char *path)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = kernel->model;
    writer self = {.context = context,
                   .kernel = kernel,
                   .model = model,
                   .parameters = parameters,
                   .shape = {nadir_global_count(context, model->rows), nadir_model_total(model)},
                   .b = kernel->b,
                   .k = kernel->k,
                   .scales = parameters->scales,
                   .radius = parameters->radius};
    const bool spread = model->exchange != NULL;
    const bool rank_one = kernel->b != NULL && kernel->place == NULL;
    if (spread) {
        status =
            kernel->place != NULL || kernel->perturbed.values != NULL
                ? nadir_model_check_one_process(context, model, "files of kernels with rows of their own")
                : collect_all(&self);
        if (status != NADIR_OK || context->communication->rank != 0) {
            nadir_release(context, self.owned);
            return status;
        }
    }
    NADIR_CHECK(nadir_npz_output_open(context, path, false, &self.output));
    NADIR_CHECK(rank_one || spread ? add_rank_one(&self) : add_kernel_rows(&self));
    NADIR_CHECK(add_ball(&self));
    NADIR_CHECK(add_origin(&self));
    NADIR_CHECK(nadir_npz_output_store_digest(&self.output));
    NADIR_CHECK(nadir_npz_output_commit(&self.output));
cleanup:
    nadir_npz_output_close(&self.output);
    nadir_explicit_clear(context, &self.rows);
    NADIR_RELEASE(context, self.starts, self.row_state, self.owned);
    return status;
}

/*
 * kernel_file_read.c: a kernel from a NumPy archive, without trust; see result_files.h.
 *
 * The shapes of all arrays are compared with the model before any is read. npz.h has checked that the file
 * can hold them.
 */
#include "io/result_files.h"

#include "io/npz.h"

#include <float.h>
#include <math.h>
#include <string.h>

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

/* "FILE: array b: state 3, action 1: the number is nan; expected ..."; row -1: of the state as a whole. */
static nadir_status number_fail(const reader *self, nadir_npz_which which, int64_t state, int64_t row,
                                double number, const char *expected)
{
    char place[NADIR_LABEL_LENGTH];
    return nadir_fail(self->context, NADIR_ERROR_FORMAT, "%s: array %s: %s: the number is %g; expected %s",
                      self->npz.path, nadir_npz_name(which),
                      nadir_model_label(self->model, state, row, place), number, expected);
}

static nadir_status row_fail(const reader *self, nadir_npz_which which, int64_t row, double number,
                             const char *expected)
{
    return number_fail(self, which, nadir_model_row_state(self->model, row), row, number, expected);
}

/* Numbers for each row, or each state. */
static nadir_status read_list(reader *self, nadir_npz_which which, bool by_row, bool negative, double *into)
{
    nadir_status status = NADIR_OK;
    const int64_t strides[NADIR_NPY_DIMENSIONS] = {1, 1, 1, 1};
    const char *expected = negative ? "a finite one" : "a finite one, 0 or more";
    const int64_t count = by_row ? self->model->rows : self->model->states;
    NADIR_CHECK(check_list(self, which, count, by_row ? "rows" : "states"));
    NADIR_CHECK(nadir_npz_doubles(&self->npz, which, NULL, strides, into));
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(into[i]) || (!negative && into[i] < 0)) {
            return by_row ? row_fail(self, which, i, into[i], expected)
                          : number_fail(self, which, i, -1, into[i], expected);
        }
    }
cleanup:
    return status;
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
    nadir_status status = NADIR_OK;
    int64_t shape[2];
    self->entries = self->npz.headers[NADIR_NPZ_P_DATA].count;
    NADIR_CHECK(check_list(self, NADIR_NPZ_P_DATA, self->entries, "entries"));
    if (self->entries / self->model->states > self->model->rows) {
        return nadir_npz_shape_fail(&self->npz, NADIR_NPZ_P_DATA, "at most %lld entries in each of %lld rows",
                                    (long long)self->model->states, (long long)self->model->rows);
    }
    NADIR_CHECK(check_list(self, NADIR_NPZ_P_INDICES, self->entries, "entries"));
    if (self->npz.headers[NADIR_NPZ_P_INDPTR].count != self->model->rows + 1) {
        return nadir_npz_shape_fail(&self->npz, NADIR_NPZ_P_INDPTR,
                                    "(%lld,): one more than the model has rows",
                                    (long long)self->model->rows + 1);
    }
    if (has(self, NADIR_NPZ_P_SHAPE)) {
        NADIR_CHECK(check_list(self, NADIR_NPZ_P_SHAPE, 2, "dimensions"));
        NADIR_CHECK(nadir_npz_int64s(&self->npz, NADIR_NPZ_P_SHAPE, NULL, shape));
        if (shape[0] != self->model->rows || shape[1] != self->model->states) {
            return nadir_fail(
                self->context, NADIR_ERROR_FORMAT,
                "%s: array P_shape makes %lld rows and %lld states; the model has %lld and %lld",
                self->npz.path, (long long)shape[0], (long long)shape[1], (long long)self->model->rows,
                (long long)self->model->states);
        }
    }
cleanup:
    return status;
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
                status = nadir_fail(self->context, NADIR_ERROR_FORMAT,
                                    "%s: array %s: row %lld has %d; in the model it has %lld", self->npz.path,
                                    nadir_npz_name(which), (long long)row, labels[row], (long long)own);
                goto cleanup;
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
                return row_fail(self, NADIR_NPZ_P_INDICES, row, self->columns[i],
                                "states of the model, rising within a row");
            }
            if (!isfinite(self->values[i])) {
                return row_fail(self, NADIR_NPZ_P_DATA, row, self->values[i], "a finite one");
            }
            before = self->columns[i];
        }
    }
    return NADIR_OK;
}

static nadir_status read_rows(reader *self, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const int64_t strides[NADIR_NPY_DIMENSIONS] = {1, 1, 1, 1};
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
    NADIR_CHECK(nadir_npz_doubles(&self->npz, NADIR_NPZ_P_DATA, NULL, strides, self->values));
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

static nadir_status read_digest(reader *self, nadir_npz_which which, char digest[65])
{
    nadir_status status = NADIR_OK;
    nadir_names names = {0};
    digest[0] = '\0';
    if (!has(self, which)) {
        return NADIR_OK;
    }
    if (self->npz.headers[which].count != 1) {
        return nadir_npz_shape_fail(&self->npz, which, "one word");
    }
    NADIR_CHECK(nadir_npz_names(&self->npz, which, &names));
    const char *word = nadir_names_get(&names, 0);
    if (strlen(word) != 64 || strspn(word, "0123456789abcdef") != 64) {
        status = nadir_fail(self->context, NADIR_ERROR_FORMAT,
                            "%s: array %s is \"%.80s\"; expected 64 hexadecimal digits", self->npz.path,
                            nadir_npz_name(which), word);
        goto cleanup;
    }
    memcpy(digest, word, 65);
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
    nadir_status status = NADIR_OK;
    const char *sets[4];
    const char *domains[4];
    int found;
    double optimistic = 0;
    for (int i = 0; i < 4; i++) {
        sets[i] = nadir_set_name((nadir_set)i);
        domains[i] = nadir_domain_name((nadir_domain)i);
    }
    NADIR_CHECK(nadir_npz_word(&self->npz, NADIR_NPZ_SET, 4, sets, &found));
    parameters->set = (nadir_set)found;
    NADIR_CHECK(nadir_npz_word(&self->npz, NADIR_NPZ_DOMAIN, 4, domains, &found));
    parameters->domain = (nadir_domain)found;
    NADIR_CHECK(read_number(self, NADIR_NPZ_NORM, 1, INFINITY, "1 to infinity", &parameters->norm));
    NADIR_CHECK(
        read_number(self, NADIR_NPZ_GAMMA, 0, nextafter(1, 0), "0 or more and below 1", &parameters->gamma));
    NADIR_CHECK(nadir_npz_number(&self->npz, NADIR_NPZ_OPTIMISTIC, &optimistic));
    if (optimistic != 0 && optimistic != 1) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT, "%s: array optimistic is %g; expected 0 or 1",
                          self->npz.path, optimistic);
    }
    parameters->optimistic = optimistic == 1;
    NADIR_CHECK(read_digest(self, NADIR_NPZ_MODEL_SHA256, parameters->model_sha256));
    NADIR_CHECK(read_digest(self, NADIR_NPZ_POLICY_SHA256, parameters->policy_sha256));
    NADIR_CHECK(read_digest(self, NADIR_NPZ_MODEL_FILE_SHA256, parameters->model_file_sha256));
    NADIR_CHECK(read_digest(self, NADIR_NPZ_POLICY_FILE_SHA256, parameters->policy_file_sha256));
    NADIR_CHECK(read_numbers(self, parameters));
cleanup:
    return status;
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

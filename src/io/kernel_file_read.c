/*
 * kernel_file_read.c: a kernel from a NumPy archive, without trust; see result_files.h.
 *
 * The shapes of all arrays are known, and compared with the model, before any is read. An archive cannot
 * declare more than its bytes can hold, so that no size has to be believed (npz.h).
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

static bool has(const reader *at, nadir_npz_which which)
{
    return nadir_npz_has(&at->npz, which);
}

/* An array that is there has [count] items. */
static nadir_status check_list(const reader *at, nadir_npz_which which, int64_t count, const char *of_what)
{
    const nadir_npy_header *header = &at->npz.headers[which];
    if (header->dimensions != 1 || header->count != count) {
        return nadir_npz_shape_fail(&at->npz, which, "one number for each of %lld %s", (long long)count,
                                    of_what);
    }
    return NADIR_OK;
}

/* "FILE: array b: state 3, action 1: the number is nan; expected ..."; row -1: of the state as a whole. */
static nadir_status number_fail(const reader *at, nadir_npz_which which, int64_t state, int64_t row,
                                double number, const char *expected)
{
    char place[NADIR_LABEL_LENGTH];
    return nadir_fail(at->context, NADIR_ERROR_FORMAT, "%s: array %s: %s: the number is %g; expected %s",
                      at->npz.path, nadir_npz_name(which), nadir_model_label(at->model, state, row, place),
                      number, expected);
}

static nadir_status row_fail(const reader *at, nadir_npz_which which, int64_t row, double number,
                             const char *expected)
{
    return number_fail(at, which, nadir_model_row_state(at->model, row), row, number, expected);
}

/* Numbers for each row, or each state. */
static nadir_status read_list(reader *at, nadir_npz_which which, bool by_row, bool negative, double *into)
{
    nadir_status status = NADIR_OK;
    const int64_t strides[NADIR_NPY_DIMENSIONS] = {1, 1, 1, 1};
    const char *expected = negative ? "a finite one" : "a finite one, 0 or more";
    const int64_t count = by_row ? at->model->rows : at->model->states;
    NADIR_CHECK(check_list(at, which, count, by_row ? "rows" : "states"));
    NADIR_CHECK(nadir_npz_doubles(&at->npz, which, NULL, strides, into));
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(into[i]) || (!negative && into[i] < 0)) {
            return by_row ? row_fail(at, which, i, into[i], expected)
                          : number_fail(at, which, i, -1, into[i], expected);
        }
    }
cleanup:
    return status;
}

static nadir_status read_rank_one(reader *at, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(at->context, at->b, at->model->rows);
    NADIR_NEW(at->context, at->k, at->model->states);
    NADIR_CHECK(read_list(at, NADIR_NPZ_B, true, true, at->b));
    NADIR_CHECK(read_list(at, NADIR_NPZ_K, false, true, at->k));
    NADIR_CHECK(nadir_kernel_create_rank_one(at->context, at->model, at->b, at->k, kernel));
cleanup:
    return status;
}

/* The shapes of the CSR arrays. */
static nadir_status check_shapes(reader *at)
{
    nadir_status status = NADIR_OK;
    int64_t shape[2];
    at->entries = at->npz.headers[NADIR_NPZ_P_DATA].count;
    NADIR_CHECK(check_list(at, NADIR_NPZ_P_DATA, at->entries, "entries"));
    if (at->entries / at->model->states > at->model->rows) {
        return nadir_npz_shape_fail(&at->npz, NADIR_NPZ_P_DATA, "at most %lld entries in each of %lld rows",
                                    (long long)at->model->states, (long long)at->model->rows);
    }
    NADIR_CHECK(check_list(at, NADIR_NPZ_P_INDICES, at->entries, "entries"));
    if (at->npz.headers[NADIR_NPZ_P_INDPTR].count != at->model->rows + 1) {
        return nadir_npz_shape_fail(&at->npz, NADIR_NPZ_P_INDPTR, "(%lld,): one more than the model has rows",
                                    (long long)at->model->rows + 1);
    }
    if (has(at, NADIR_NPZ_P_SHAPE)) {
        NADIR_CHECK(check_list(at, NADIR_NPZ_P_SHAPE, 2, "dimensions"));
        NADIR_CHECK(nadir_npz_int64s(&at->npz, NADIR_NPZ_P_SHAPE, NULL, shape));
        if (shape[0] != at->model->rows || shape[1] != at->model->states) {
            return nadir_fail(
                at->context, NADIR_ERROR_FORMAT,
                "%s: array P_shape makes %lld rows and %lld states; the model has %lld and %lld",
                at->npz.path, (long long)shape[0], (long long)shape[1], (long long)at->model->rows,
                (long long)at->model->states);
        }
    }
cleanup:
    return status;
}

/* The rows are those of the model, as far as the file says of which state and action they are. */
static nadir_status check_labels(reader *at, nadir_npz_which which)
{
    nadir_status status = NADIR_OK;
    int32_t *labels = NULL;
    const nadir_model *model = at->model;
    if (!has(at, which)) {
        return NADIR_OK;
    }
    NADIR_CHECK(check_list(at, which, model->rows, "rows"));
    NADIR_NEW(at->context, labels, model->rows);
    NADIR_CHECK(nadir_npz_int32s(&at->npz, which, NULL, labels));
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const int64_t own = which == NADIR_NPZ_ROW_STATE ? s : nadir_model_row_action(model, s, row);
            if (labels[row] != own) {
                status = nadir_fail(at->context, NADIR_ERROR_FORMAT,
                                    "%s: array %s: row %lld has %d; in the model it has %lld", at->npz.path,
                                    nadir_npz_name(which), (long long)row, labels[row], (long long)own);
                goto cleanup;
            }
        }
    }
cleanup:
    nadir_release(at->context, labels);
    return status;
}

static nadir_status check_starts(const reader *at)
{
    const int64_t rows = at->model->rows;
    bool rises = at->starts[0] == 0 && at->starts[rows] == at->entries;
    for (int64_t row = 0; row < rows; row++) {
        rises = rises && at->starts[row + 1] >= at->starts[row];
        if (!rises) {
            return nadir_fail(at->context, NADIR_ERROR_FORMAT,
                              "%s: array P_indptr: row %lld is %lld to %lld; expected numbers that do not "
                              "fall, from 0 to the number of entries, %lld",
                              at->npz.path, (long long)row, (long long)at->starts[row],
                              (long long)at->starts[row + 1], (long long)at->entries);
        }
    }
    return NADIR_OK;
}

static nadir_status check_entries(const reader *at)
{
    for (int64_t row = 0; row < at->model->rows; row++) {
        int64_t before = -1;
        for (int64_t i = at->starts[row]; i < at->starts[row + 1]; i++) {
            if (at->columns[i] <= before || at->columns[i] >= at->model->states) {
                return row_fail(at, NADIR_NPZ_P_INDICES, row, at->columns[i],
                                "states of the model, rising within a row");
            }
            if (!isfinite(at->values[i])) {
                return row_fail(at, NADIR_NPZ_P_DATA, row, at->values[i], "a finite one");
            }
            before = at->columns[i];
        }
    }
    return NADIR_OK;
}

static nadir_status read_rows(reader *at, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const int64_t strides[NADIR_NPY_DIMENSIONS] = {1, 1, 1, 1};
    const int64_t rows = at->model->rows;
    NADIR_CHECK(check_shapes(at));
    NADIR_CHECK(check_labels(at, NADIR_NPZ_ROW_STATE));
    NADIR_CHECK(check_labels(at, NADIR_NPZ_ROW_ACTION));
    NADIR_NEW(at->context, at->starts, rows + 1);
    NADIR_CHECK(nadir_npz_int64s(&at->npz, NADIR_NPZ_P_INDPTR, NULL, at->starts));
    NADIR_CHECK(check_starts(at));
    NADIR_NEW(at->context, at->columns, at->entries);
    NADIR_CHECK(nadir_npz_int32s(&at->npz, NADIR_NPZ_P_INDICES, NULL, at->columns));
    NADIR_NEW(at->context, at->values, at->entries);
    NADIR_CHECK(nadir_npz_doubles(&at->npz, NADIR_NPZ_P_DATA, NULL, strides, at->values));
    NADIR_CHECK(check_entries(at));
    NADIR_NEW(at->context, at->rows, rows);
    for (int64_t row = 0; row < rows; row++) {
        at->rows[row] = row;
    }
    const nadir_changed_rows changed = {rows, at->rows, at->starts, at->columns, at->values};
    NADIR_CHECK(nadir_kernel_create_changed(at->context, at->model, &changed, kernel));
cleanup:
    return status;
}

static nadir_status read_kernel(reader *at, nadir_kernel **kernel)
{
    const bool rank_one = has(at, NADIR_NPZ_B) || has(at, NADIR_NPZ_K);
    const bool rows = has(at, NADIR_NPZ_P_DATA);
    if (rank_one == rows) {
        return nadir_fail(at->context, NADIR_ERROR_FORMAT,
                          "%s: %s kernel; expected either arrays b and k, or P_data with P_indices and "
                          "P_indptr",
                          at->npz.path, rows ? "more than one" : "no");
    }
    static const nadir_npz_which needed[2][2] = {{NADIR_NPZ_P_INDICES, NADIR_NPZ_P_INDPTR},
                                                 {NADIR_NPZ_B, NADIR_NPZ_K}};
    for (int i = 0; i < 2; i++) {
        if (!has(at, needed[rank_one][i])) {
            return nadir_fail(at->context, NADIR_ERROR_FORMAT, "%s: array %s is missing", at->npz.path,
                              nadir_npz_name(needed[rank_one][i]));
        }
    }
    return rank_one ? read_rank_one(at, kernel) : read_rows(at, kernel);
}

/* One number in [low, high], as `expected` says; NaN where there is none. */
static nadir_status read_number(reader *at, nadir_npz_which which, double low, double high,
                                const char *expected, double *number)
{
    nadir_status status = NADIR_OK;
    *number = NAN;
    NADIR_CHECK(nadir_npz_number(&at->npz, which, number));
    if (has(at, which) && !(*number >= low && *number <= high)) {
        status = nadir_fail(at->context, NADIR_ERROR_FORMAT, "%s: array %s is %g; expected %s", at->npz.path,
                            nadir_npz_name(which), *number, expected);
    }
cleanup:
    return status;
}

static nadir_status read_digest(reader *at, nadir_npz_which which, char digest[65])
{
    nadir_status status = NADIR_OK;
    nadir_names names = {0};
    digest[0] = '\0';
    if (!has(at, which)) {
        return NADIR_OK;
    }
    if (at->npz.headers[which].count != 1) {
        return nadir_npz_shape_fail(&at->npz, which, "one word");
    }
    NADIR_CHECK(nadir_npz_names(&at->npz, which, &names));
    const char *word = nadir_names_get(&names, 0);
    if (strlen(word) != 64 || strspn(word, "0123456789abcdef") != 64) {
        status = nadir_fail(at->context, NADIR_ERROR_FORMAT,
                            "%s: array %s is \"%.80s\"; expected 64 hexadecimal digits", at->npz.path,
                            nadir_npz_name(which), word);
        goto cleanup;
    }
    memcpy(digest, word, 65);
cleanup:
    nadir_names_clear(at->context->memory, &names);
    return status;
}

/* radius and scales. */
static nadir_status read_numbers(reader *at, nadir_kernel_parameters *parameters)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = at->model;
    const nadir_npy_header *header = &at->npz.headers[NADIR_NPZ_RADIUS];
    double *into;
    NADIR_NEW(at->context, parameters->owned, 2 * model->rows);
    into = parameters->owned;
    if (has(at, NADIR_NPZ_RADIUS)) {
        const bool one = header->count == 1;
        if (!one && header->count != model->states && header->count != model->rows) {
            return nadir_npz_shape_fail(&at->npz, NADIR_NPZ_RADIUS,
                                        "one number, or one for each of %lld states or %lld rows",
                                        (long long)model->states, (long long)model->rows);
        }
        if (one) {
            NADIR_CHECK(read_number(at, NADIR_NPZ_RADIUS, 0, DBL_MAX, "a finite number, 0 or more", into));
        } else {
            NADIR_CHECK(read_list(at, NADIR_NPZ_RADIUS, header->count == model->rows, false, into));
        }
        parameters->radius = into;
        parameters->radius_count = header->count;
        into += header->count;
    }
    if (has(at, NADIR_NPZ_SCALES)) {
        NADIR_CHECK(read_list(at, NADIR_NPZ_SCALES, true, false, into));
        parameters->scales = into;
    }
cleanup:
    return status;
}

static nadir_status read_parameters(reader *at, nadir_kernel_parameters *parameters)
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
    NADIR_CHECK(nadir_npz_word(&at->npz, NADIR_NPZ_SET, 4, sets, &found));
    parameters->set = (nadir_set)found;
    NADIR_CHECK(nadir_npz_word(&at->npz, NADIR_NPZ_DOMAIN, 4, domains, &found));
    parameters->domain = (nadir_domain)found;
    NADIR_CHECK(read_number(at, NADIR_NPZ_NORM, 1, INFINITY, "1 to infinity", &parameters->norm));
    NADIR_CHECK(
        read_number(at, NADIR_NPZ_GAMMA, 0, nextafter(1, 0), "0 or more and below 1", &parameters->gamma));
    NADIR_CHECK(nadir_npz_number(&at->npz, NADIR_NPZ_OPTIMISTIC, &optimistic));
    if (optimistic != 0 && optimistic != 1) {
        return nadir_fail(at->context, NADIR_ERROR_FORMAT, "%s: array optimistic is %g; expected 0 or 1",
                          at->npz.path, optimistic);
    }
    parameters->optimistic = optimistic == 1;
    NADIR_CHECK(read_digest(at, NADIR_NPZ_MODEL_SHA256, parameters->model_sha256));
    NADIR_CHECK(read_digest(at, NADIR_NPZ_POLICY_SHA256, parameters->policy_sha256));
    NADIR_CHECK(read_digest(at, NADIR_NPZ_MODEL_FILE_SHA256, parameters->model_file_sha256));
    NADIR_CHECK(read_digest(at, NADIR_NPZ_POLICY_FILE_SHA256, parameters->policy_file_sha256));
    NADIR_CHECK(read_numbers(at, parameters));
cleanup:
    return status;
}

nadir_status nadir_kernel_file_read(nadir_context *context, nadir_model *model, const char *path,
                                    nadir_kernel **kernel, nadir_kernel_parameters *parameters)
{
    nadir_status status = NADIR_OK;
    reader at = {.context = context, .model = model};
    nadir_kernel_parameters found = {.norm = NAN, .gamma = NAN};
    NADIR_CHECK(nadir_npz_open(context, path, NADIR_NPZ_ARRAYS, &at.npz));
    NADIR_CHECK(read_parameters(&at, &found));
    NADIR_CHECK(read_kernel(&at, kernel));
    *parameters = found;
    found.owned = NULL;
cleanup:
    nadir_kernel_parameters_clear(context, &found);
    nadir_npz_close(&at.npz);
    void *const arrays[] = {at.b, at.k, at.rows, at.starts, at.columns, at.values};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        nadir_release(context, arrays[i]);
    }
    return status;
}

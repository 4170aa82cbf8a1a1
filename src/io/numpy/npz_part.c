/*
 * npz_part.c: the part of a model that a process owns, from a NumPy archive; see npz.c for the format.
 *
 * Of each array only the items of the own states, rows and transitions are kept. Entries that were stored are
 * read from there; of compressed ones everything before is decompressed and dropped. Names are not read, and
 * the checksums of entries that are not read to the end are not looked at. A kernel given as an array P
 * becomes a list of its transitions.
 */
#include "io/numpy/npz.h"

#include "model/partition.h"

typedef struct reader {
    nadir_context *context;
    nadir_npz npz;
    nadir_model *model;
    nadir_npz_which data, indices, indptr, shape;
    bool dense; /* an array P */
    nadir_layout layout;
    int64_t states, rows, transitions; /* of all processes */
    int64_t first, end;                /* own states */
    int64_t first_row, first_entry;
} reader;

static bool has(const reader *at, nadir_npz_which which)
{
    return nadir_npz_has(&at->npz, which);
}

static const nadir_npy_header *header_of(const reader *at, nadir_npz_which which)
{
    return &at->npz.headers[which];
}

typedef enum target { TO_DOUBLES, TO_INT64S, TO_INT32S } target;

/* Items [first, first + count) of an array. */
static nadir_status read_range(reader *at, nadir_npz_which which, target to, int64_t first, int64_t count,
                               void *into)
{
    nadir_status status = NADIR_OK;
    const int64_t end = first + count;
    nadir_npz_array array = {0};
    NADIR_CHECK(nadir_npz_array_open(&at->npz, which, &array));
    if (array.npy.header.count != header_of(at, which)->count || first < 0 ||
        count > array.npy.header.count - first) {
        status = nadir_fail(at->context, NADIR_ERROR_FORMAT,
                            "%s: items %lld to %lld are needed, of %lld that are there", array.name,
                            (long long)first, (long long)end, (long long)array.npy.header.count);
        goto cleanup;
    }
    NADIR_CHECK(nadir_npy_skip(&array.npy, first));
    NADIR_CHECK(to == TO_DOUBLES  ? nadir_npy_doubles(&array.npy, count, into)
                : to == TO_INT64S ? nadir_npy_int64s(&array.npy, count, into)
                                  : nadir_npy_int32s(&array.npy, count, into));
cleanup:
    nadir_npz_array_close(&array);
    return status;
}

/* Shape and layout of P. */
static nadir_status look_at_dense(reader *at, nadir_layout asked)
{
    nadir_status status = NADIR_OK;
    const nadir_npy_header *header = header_of(at, NADIR_NPZ_P);
    if (header->dimensions != 3 || header->count == 0 || header->fortran || has(at, NADIR_NPZ_ROW_STATE)) {
        return nadir_npz_shape_fail(&at->npz, NADIR_NPZ_P,
                                    "(S, A, S) or (A, S, S), in C order, and no row_state");
    }
    NADIR_CHECK(nadir_npz_choose_layout(&at->npz, asked, &at->layout));
    at->states = header->shape[2];
    at->rows = header->count / at->states;
    at->transitions = header->count;
cleanup:
    return status;
}

/* The names of the arrays; rows and transitions. */
static nadir_status look_at_kernel(reader *at, nadir_layout asked)
{
    const bool scipy = has(at, NADIR_NPZ_DATA);
    at->dense = has(at, NADIR_NPZ_P);
    if ((int)at->dense + (int)scipy + (int)has(at, NADIR_NPZ_P_DATA) != 1) {
        return nadir_fail(at->context, NADIR_ERROR_FORMAT,
                          "%s: expected either an array P, or P_data with P_indices and P_indptr",
                          at->npz.path);
    }
    if (at->dense) {
        return look_at_dense(at, asked);
    }
    at->data = scipy ? NADIR_NPZ_DATA : NADIR_NPZ_P_DATA;
    at->indices = scipy ? NADIR_NPZ_INDICES : NADIR_NPZ_P_INDICES;
    at->indptr = scipy ? NADIR_NPZ_INDPTR : NADIR_NPZ_P_INDPTR;
    at->shape = scipy ? NADIR_NPZ_SHAPE : NADIR_NPZ_P_SHAPE;
    if (!has(at, at->indices) || !has(at, at->indptr)) {
        return nadir_fail(at->context, NADIR_ERROR_FORMAT, "%s: array %s is missing", at->npz.path,
                          nadir_npz_name(has(at, at->indices) ? at->indptr : at->indices));
    }
    at->transitions = header_of(at, at->data)->count;
    at->rows = header_of(at, at->indptr)->count - 1;
    if (header_of(at, at->indices)->count != at->transitions) {
        return nadir_npz_shape_fail(&at->npz, at->indices, "as many as %s: %lld", nadir_npz_name(at->data),
                                    (long long)at->transitions);
    }
    return NADIR_OK;
}

/* The number of states of CSR rows, by what tells of it. */
static nadir_status find_states(reader *at)
{
    nadir_status status = NADIR_OK;
    int64_t shape[2] = {0};
    if (has(at, at->shape)) {
        NADIR_CHECK(read_range(at, at->shape, TO_INT64S, 0, 2, shape));
        at->states = shape[1];
    } else if (has(at, NADIR_NPZ_STATES)) {
        NADIR_CHECK(read_range(at, NADIR_NPZ_STATES, TO_INT64S, 0, 1, &at->states));
    } else if (has(at, NADIR_NPZ_MU)) {
        at->states = header_of(at, NADIR_NPZ_MU)->count;
    } else if (has(at, NADIR_NPZ_R) && header_of(at, NADIR_NPZ_R)->dimensions == 2) {
        at->states = header_of(at, NADIR_NPZ_R)->shape[0];
    }
cleanup:
    return status;
}

static nadir_status count_states(reader *at)
{
    nadir_status status = NADIR_OK;
    if (!at->dense) {
        NADIR_CHECK(find_states(at));
    }
    if (at->states < 1 || at->states > NADIR_STATES_LIMIT || at->states > at->rows) {
        status = nadir_fail(at->context, NADIR_ERROR_FORMAT,
                            "%s: %lld states of %lld rows; expected an array P_shape, states or mu that "
                            "tells their number",
                            at->npz.path, (long long)at->states, (long long)at->rows);
        goto cleanup;
    }
    nadir_model_own_states(at->context, at->states, &at->first, &at->end);
    at->model->states = at->end - at->first;
    NADIR_NEW(at->context, at->model->state_rows, at->model->states + 1);
cleanup:
    return status;
}

/* The rows of the own states where all have as many actions. */
static nadir_status space_rows(reader *at)
{
    if (at->rows % at->states != 0) {
        return nadir_fail(at->context, NADIR_ERROR_FORMAT,
                          "%s: %lld rows are no multiple of %lld states; states with different numbers of "
                          "actions need an array row_state",
                          at->npz.path, (long long)at->rows, (long long)at->states);
    }
    const int64_t actions = at->rows / at->states;
    at->first_row = at->first * actions;
    for (int64_t s = 0; s <= at->model->states; s++) {
        at->model->state_rows[s] = s * actions;
    }
    return NADIR_OK;
}

/* The rows of the own states where an array tells of each row whose it is: all are looked at, in pieces. */
static nadir_status group_rows(reader *at)
{
    enum { PIECE = 65536 };
    nadir_status status = NADIR_OK;
    nadir_npz_array array = {0};
    int32_t *piece = NULL;
    int32_t before = -1;
    NADIR_NEW(at->context, piece, PIECE);
    NADIR_CHECK(nadir_npz_array_open(&at->npz, NADIR_NPZ_ROW_STATE, &array));
    if (array.npy.header.count != at->rows) {
        status = nadir_npz_shape_fail(&at->npz, NADIR_NPZ_ROW_STATE, "one number for each of %lld rows",
                                      (long long)at->rows);
        goto cleanup;
    }
    for (int64_t row = 0; row < at->rows && before < at->end; row++) {
        if (row % PIECE == 0) {
            const int64_t left = at->rows - row;
            NADIR_CHECK(nadir_npy_int32s(&array.npy, left < PIECE ? left : PIECE, piece));
        }
        const int32_t state = piece[row % PIECE];
        if (state < before || state > before + 1 || state >= at->states) {
            status = nadir_fail(at->context, NADIR_ERROR_FORMAT,
                                "%s: array row_state: row %lld is of state %d after state %d; expected the "
                                "rows of state 0, then those of state 1 and so on",
                                at->npz.path, (long long)row, state, before);
            goto cleanup;
        }
        if (state > before && state >= at->first && state <= at->end) {
            at->first_row = state == at->first ? row : at->first_row;
            at->model->state_rows[state - at->first] = row - at->first_row;
        }
        before = state;
    }
    if (at->end == at->states) {
        at->first_row = at->first < at->states ? at->first_row : at->rows;
        at->model->state_rows[at->model->states] = at->rows - at->first_row;
    }
    if (before < at->end - 1) {
        status = nadir_fail(at->context, NADIR_ERROR_FORMAT, "%s: array row_state ends with state %d of %lld",
                            at->npz.path, before, (long long)at->states);
    }
cleanup:
    nadir_npz_array_close(&array);
    nadir_release(at->context, piece);
    return status;
}

/* Own rows of P in the order of the file: transitions are counted, or listed where their rows start. line:
 * [states] */
static nadir_status pass_dense(reader *at, bool list, double *line)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = at->model;
    const int64_t n = at->states;
    const int64_t actions = at->rows / n;
    const bool by_state = at->layout == NADIR_LAYOUT_SAS;
    nadir_npz_array array = {0};
    NADIR_CHECK(nadir_npz_array_open(&at->npz, NADIR_NPZ_P, &array));
    for (int64_t i = 0; i < model->rows; i++) {
        const int64_t row = by_state ? i : i % model->states * actions + i / model->states;
        if (i == 0 || (!by_state && i % model->states == 0)) { /* what lies between own rows */
            const int64_t others = n - model->states;
            const int64_t lines = i > 0 ? others : by_state ? at->first_row : at->first;
            NADIR_CHECK(nadir_npy_skip(&array.npy, lines * n));
        }
        NADIR_CHECK(nadir_npy_doubles(&array.npy, n, line));
        int64_t to = model->row_starts[row];
        for (int64_t t = 0; t < n; t++) {
            if (line[t] != 0) {
                if (list && to < model->row_starts[row + 1]) { /* unless the file has changed since */
                    model->columns[to] = (int32_t)t;
                    model->probabilities[to] = line[t];
                }
                to++;
            }
        }
        if (list && to != model->row_starts[row + 1]) {
            status =
                nadir_fail(at->context, NADIR_ERROR_FORMAT, "%s: changed while it was read", at->npz.path);
            goto cleanup;
        }
        model->row_starts[row + 1] = list ? model->row_starts[row + 1] : to - model->row_starts[row];
    }
cleanup:
    nadir_npz_array_close(&array);
    return status;
}

static nadir_status read_dense(reader *at)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = at->model;
    double *line = NULL;
    model->rows = model->state_rows[model->states];
    NADIR_NEW_ZERO(at->context, model->row_starts, model->rows + 1);
    NADIR_NEW(at->context, line, at->states);
    NADIR_CHECK(pass_dense(at, false, line));
    for (int64_t row = 0; row < model->rows; row++) {
        model->row_starts[row + 1] += model->row_starts[row];
    }
    NADIR_NEW(at->context, model->columns, model->row_starts[model->rows]);
    NADIR_NEW(at->context, model->probabilities, model->row_starts[model->rows]);
    NADIR_CHECK(pass_dense(at, true, line));
cleanup:
    nadir_release(at->context, line);
    return status;
}

/* Where the transitions of each own row begin, counted from the first own one. */
static nadir_status read_starts(reader *at)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = at->model;
    int64_t before = 0;
    NADIR_NEW(at->context, model->row_starts, model->rows + 1);
    NADIR_CHECK(read_range(at, at->indptr, TO_INT64S, at->first_row, model->rows + 1, model->row_starts));
    at->first_entry = model->row_starts[0];
    for (int64_t row = 0; row <= model->rows; row++) {
        const int64_t start = model->row_starts[row];
        if (start < before || start > at->transitions) {
            status = nadir_fail(at->context, NADIR_ERROR_FORMAT,
                                "%s: array %s: row %lld begins at transition %lld, the one before at %lld; "
                                "expected a number from there to %lld",
                                at->npz.path, nadir_npz_name(at->indptr), (long long)at->first_row + row,
                                (long long)start, (long long)before, (long long)at->transitions);
            goto cleanup;
        }
        before = start;
        model->row_starts[row] -= at->first_entry;
    }
cleanup:
    return status;
}

static nadir_status read_kernel(reader *at)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = at->model;
    model->rows = model->state_rows[model->states];
    NADIR_CHECK(read_starts(at));
    const int64_t entries = model->row_starts[model->rows];
    NADIR_NEW(at->context, model->columns, entries);
    NADIR_CHECK(read_range(at, at->indices, TO_INT32S, at->first_entry, entries, model->columns));
    NADIR_NEW(at->context, model->probabilities, entries);
    NADIR_CHECK(read_range(at, at->data, TO_DOUBLES, at->first_entry, entries, model->probabilities));
cleanup:
    return status;
}

/* One number for each row, given as (S, A), for each row, or for each state. */
static nadir_status read_per_row(reader *at, nadir_npz_which which, double **into)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = at->model;
    const nadir_npy_header *header = header_of(at, which);
    const bool plain = header->dimensions == 1 || (header->dimensions == 2 && !header->fortran);
    const bool by_state = header->dimensions == 1 && header->count == at->states && at->states < at->rows;
    if (!plain || (header->count != at->rows && !by_state)) {
        return nadir_npz_shape_fail(&at->npz, which,
                                    "one number for each of %lld rows or %lld states, in C order",
                                    (long long)at->rows, (long long)at->states);
    }
    NADIR_NEW(at->context, *into, model->rows);
    if (!by_state) {
        return read_range(at, which, TO_DOUBLES, at->first_row, model->rows, *into);
    }
    NADIR_CHECK(read_range(at, which, TO_DOUBLES, at->first, model->states, *into));
    for (int64_t s = model->states - 1; s >= 0; s--) { /* so that nothing is overwritten too early */
        const double value = (*into)[s];
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            (*into)[row] = value;
        }
    }
cleanup:
    return status;
}

static nadir_status read_rewards(reader *at)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = at->model;
    if (!has(at, NADIR_NPZ_R)) {
        return NADIR_OK;
    }
    const nadir_npy_header *header = header_of(at, NADIR_NPZ_R);
    if (header->dimensions != 1 || header->count != at->transitions || header->count == at->rows) {
        return read_per_row(at, NADIR_NPZ_R, &model->rewards);
    }
    const int64_t entries = model->row_starts[model->rows];
    NADIR_NEW(at->context, model->transition_rewards, entries);
    NADIR_CHECK(read_range(at, NADIR_NPZ_R, TO_DOUBLES, at->first_entry, entries, model->transition_rewards));
cleanup:
    return status;
}

static nadir_status read_ball(reader *at)
{
    static const char *const sets[] = {"", "nonrect", "s", "sa"};
    static const char *const domains[] = {"", "simplex", "support", "free"};
    nadir_status status = NADIR_OK;
    nadir_model *model = at->model;
    int found;
    NADIR_CHECK(nadir_npz_word(&at->npz, NADIR_NPZ_SET, 4, sets, &found));
    model->set = (nadir_set)found;
    NADIR_CHECK(nadir_npz_word(&at->npz, NADIR_NPZ_DOMAIN, 4, domains, &found));
    model->domain = (nadir_domain)found;
    NADIR_CHECK(nadir_npz_number(&at->npz, NADIR_NPZ_NORM, &model->norm));
    NADIR_CHECK(nadir_npz_number(&at->npz, NADIR_NPZ_GAMMA, &model->discount));
    if (has(at, NADIR_NPZ_RADIUS) && header_of(at, NADIR_NPZ_RADIUS)->count == 1) {
        model->radius_count = 1;
        NADIR_NEW(at->context, model->radius, 1);
        NADIR_CHECK(nadir_npz_number(&at->npz, NADIR_NPZ_RADIUS, model->radius));
    }
cleanup:
    return status;
}

static nadir_status read_others(reader *at)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = at->model;
    if (has(at, NADIR_NPZ_MU)) {
        if (header_of(at, NADIR_NPZ_MU)->count != at->states) {
            return nadir_npz_shape_fail(&at->npz, NADIR_NPZ_MU, "one number for each of %lld states",
                                        (long long)at->states);
        }
        NADIR_NEW(at->context, model->initial, model->states);
        NADIR_CHECK(read_range(at, NADIR_NPZ_MU, TO_DOUBLES, at->first, model->states, model->initial));
    }
    if (has(at, NADIR_NPZ_SCALES)) {
        NADIR_CHECK(read_per_row(at, NADIR_NPZ_SCALES, &model->scales));
    }
    if (has(at, NADIR_NPZ_ROW_ACTION)) {
        NADIR_NEW(at->context, model->row_actions, model->rows);
        NADIR_CHECK(
            read_range(at, NADIR_NPZ_ROW_ACTION, TO_INT32S, at->first_row, model->rows, model->row_actions));
    }
cleanup:
    return status;
}

nadir_status nadir_npz_read_part(nadir_context *context, const char *path,
                                 const nadir_read_settings *settings, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    reader at = {.context = context};
    NADIR_CHECK(nadir_npz_open(context, path, NADIR_NPZ_MODEL_ARRAYS, &at.npz));
    NADIR_CHECK(nadir_model_start(context, &at.model));
    NADIR_CHECK(look_at_kernel(&at, settings->layout));
    NADIR_CHECK(count_states(&at));
    NADIR_CHECK(has(&at, NADIR_NPZ_ROW_STATE) ? group_rows(&at) : space_rows(&at));
    NADIR_CHECK(at.dense ? read_dense(&at) : read_kernel(&at));
    NADIR_CHECK(read_rewards(&at));
    NADIR_CHECK(read_ball(&at));
    NADIR_CHECK(read_others(&at));
    nadir_npz_close(&at.npz);
    NADIR_CHECK(nadir_model_distribute(context, at.model, path, at.first, at.states));
    const nadir_source source = {.path = path, .keep_transition_rewards = settings->keep_transition_rewards};
    NADIR_CHECK(nadir_model_finish(context, at.model, &source));
    *model = at.model;
    at.model = NULL;
cleanup:
    nadir_model_free(at.model);
    nadir_npz_close(&at.npz);
    return status;
}

/*
 * npz_read.c: a model from a NumPy archive; see npz.c for the format.
 *
 * The shapes of all arrays are known first. From them come the sizes of the model; then each array is read
 * straight into its place, whatever its type and order in the file.
 */
#include "io/numpy/npz.h"

#include <stdio.h>
#include <string.h>

typedef struct reader {
    nadir_context *context;
    const nadir_read_settings *settings;
    nadir_npz npz;
    nadir_model *model;
    nadir_npz_which data, indices, indptr, shape; /* the names of the CSR arrays in this file */
    bool dense;
    nadir_layout layout; /* of a dense P */
    int64_t states;      /* 0: not known yet */
    int64_t rows;
    int64_t actions; /* of every state; 0: ragged */
    int64_t transitions;
    nadir_npz_which states_from; /* the array that told the number of states */
} reader;

static bool has(const reader *at, nadir_npz_which which)
{
    return nadir_npz_has(&at->npz, which);
}

static const nadir_npy_header *header_of(const reader *at, nadir_npz_which which)
{
    return &at->npz.headers[which];
}

/* Whether an array is there and has this many dimensions. */
static bool has_dimensions(const reader *at, nadir_npz_which which, int dimensions)
{
    return has(at, which) && header_of(at, which)->dimensions == dimensions;
}

/* An array says how many states there are; all that do must agree. */
static nadir_status know_states(reader *at, int64_t states, nadir_npz_which which)
{
    if (at->states != 0 && at->states != states) {
        return nadir_fail(at->context, NADIR_ERROR_FORMAT,
                          "%s: array %s makes %lld states, array %s makes %lld", at->npz.path,
                          nadir_npz_name(at->states_from), (long long)at->states, nadir_npz_name(which),
                          (long long)states);
    }
    if (states < 1 || states > at->rows || states > NADIR_STATES_LIMIT) {
        return nadir_fail(at->context, NADIR_ERROR_FORMAT,
                          "%s: array %s makes %lld states of %lld rows; expected 1 to %lld states",
                          at->npz.path, nadir_npz_name(which), (long long)states, (long long)at->rows,
                          (long long)(at->rows < NADIR_STATES_LIMIT ? at->rows : NADIR_STATES_LIMIT));
    }
    at->states = states;
    at->states_from = which;
    return NADIR_OK;
}

nadir_status nadir_npz_choose_layout(nadir_npz *npz, nadir_layout asked, nadir_layout *layout)
{
    static const char *const words[] = {"", "sas", "ass"}; /* as nadir_layout */
    nadir_status status = NADIR_OK;
    const int64_t *shape = npz->headers[NADIR_NPZ_P].shape;
    const bool sas = shape[0] == shape[2];
    const bool ass = shape[1] == shape[2];
    int said;
    NADIR_CHECK(nadir_npz_word(npz, NADIR_NPZ_LAYOUT, 3, words, &said));
    if (asked != NADIR_LAYOUT_AUTO) {
        said = (int)asked;
    }
    if (said == NADIR_LAYOUT_AUTO && sas && ass && shape[0] > 1) {
        return nadir_npz_shape_fail(npz, NADIR_NPZ_P,
                                    "different numbers of states and actions; say which index is the action: "
                                    "--layout sas or --layout ass");
    }
    *layout = said != NADIR_LAYOUT_AUTO ? (nadir_layout)said : sas ? NADIR_LAYOUT_SAS : NADIR_LAYOUT_ASS;
    if (!(*layout == NADIR_LAYOUT_SAS ? sas : ass)) {
        return nadir_npz_shape_fail(npz, NADIR_NPZ_P, "%s",
                                    said == NADIR_LAYOUT_SAS   ? "(S, A, S), by the layout asked for"
                                    : said == NADIR_LAYOUT_ASS ? "(A, S, S), by the layout asked for"
                                                               : "(S, A, S) or (A, S, S)");
    }
cleanup:
    return status;
}

static nadir_status size_dense(reader *at)
{
    nadir_status status = NADIR_OK;
    const nadir_npy_header *header = header_of(at, NADIR_NPZ_P);
    if (header->dimensions != 3 || header->count == 0) {
        return nadir_npz_shape_fail(&at->npz, NADIR_NPZ_P, "(S, A, S) or (A, S, S)");
    }
    if (has(at, NADIR_NPZ_ROW_STATE)) {
        return nadir_fail(at->context, NADIR_ERROR_FORMAT,
                          "%s: array row_state goes with CSR rows (P_data, P_indices, P_indptr), not with P",
                          at->npz.path);
    }
    NADIR_CHECK(nadir_npz_choose_layout(&at->npz, at->settings->layout, &at->layout));
    at->actions = header->shape[at->layout == NADIR_LAYOUT_SAS ? 1 : 0];
    at->rows = header->shape[2] * at->actions; /* a part of the product that is the array's count */
    at->transitions = header->count;
    NADIR_CHECK(know_states(at, header->shape[2], NADIR_NPZ_P));
cleanup:
    return status;
}

static nadir_status size_csr(reader *at)
{
    nadir_status status = NADIR_OK;
    const nadir_npz_which parts[] = {at->data, at->indices, at->indptr};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!has_dimensions(at, parts[i], 1)) {
            return has(at, parts[i])
                       ? nadir_npz_shape_fail(&at->npz, parts[i], "one dimension")
                       : nadir_fail(at->context, NADIR_ERROR_FORMAT,
                                    "%s: array %s is missing; CSR rows are %s, %s and %s", at->npz.path,
                                    nadir_npz_name(parts[i]), nadir_npz_name(at->data),
                                    nadir_npz_name(at->indices), nadir_npz_name(at->indptr));
        }
    }
    at->transitions = header_of(at, at->data)->count;
    at->rows = header_of(at, at->indptr)->count - 1;
    if (header_of(at, at->indices)->count != at->transitions) {
        return nadir_npz_shape_fail(&at->npz, at->indices, "as many as %s: %lld", nadir_npz_name(at->data),
                                    (long long)at->transitions);
    }
    if (at->rows < 1) {
        return nadir_npz_shape_fail(&at->npz, at->indptr, "one item more than there are rows, 2 at least");
    }
    if (has(at, at->shape)) {
        int64_t shape[2];
        if (header_of(at, at->shape)->count != 2) {
            return nadir_npz_shape_fail(&at->npz, at->shape, "two numbers: rows and states");
        }
        NADIR_CHECK(nadir_npz_int64s(&at->npz, at->shape, shape));
        if (shape[0] != at->rows) {
            return nadir_fail(at->context, NADIR_ERROR_FORMAT,
                              "%s: array %s makes %lld rows, array %s makes %lld", at->npz.path,
                              nadir_npz_name(at->shape), (long long)shape[0], nadir_npz_name(at->indptr),
                              (long long)at->rows);
        }
        NADIR_CHECK(know_states(at, shape[1], at->shape));
    }
cleanup:
    return status;
}

/* What else tells the number of states: mu, and arrays (S, A) whose items are the rows. One column tells
 * nothing: it may as well be a vector of all rows. */
static nadir_status size_from_others(reader *at)
{
    static const nadir_npz_which tables[] = {NADIR_NPZ_R, NADIR_NPZ_SCALES, NADIR_NPZ_RADIUS};
    nadir_status status = NADIR_OK;
    if (has(at, NADIR_NPZ_STATES)) {
        int64_t states;
        if (header_of(at, NADIR_NPZ_STATES)->count != 1) {
            return nadir_npz_shape_fail(&at->npz, NADIR_NPZ_STATES, "one number");
        }
        NADIR_CHECK(nadir_npz_int64s(&at->npz, NADIR_NPZ_STATES, &states));
        NADIR_CHECK(know_states(at, states, NADIR_NPZ_STATES));
    }
    if (has(at, NADIR_NPZ_MU)) {
        if (!has_dimensions(at, NADIR_NPZ_MU, 1)) {
            return nadir_npz_shape_fail(&at->npz, NADIR_NPZ_MU, "one number for each state");
        }
        NADIR_CHECK(know_states(at, header_of(at, NADIR_NPZ_MU)->count, NADIR_NPZ_MU));
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const nadir_npy_header *header = header_of(at, tables[i]);
        if (at->states == 0 && has_dimensions(at, tables[i], 2) && header->count == at->rows &&
            header->shape[1] > 1) {
            NADIR_CHECK(know_states(at, header->shape[0], tables[i]));
        }
    }
cleanup:
    return status;
}

/* state_rows from the state of each row. */
static nadir_status group_rows(reader *at)
{
    nadir_status status = NADIR_OK;
    int32_t *row_state = NULL;
    if (!has_dimensions(at, NADIR_NPZ_ROW_STATE, 1) ||
        header_of(at, NADIR_NPZ_ROW_STATE)->count != at->rows) {
        return nadir_npz_shape_fail(&at->npz, NADIR_NPZ_ROW_STATE, "one number for each of %lld rows",
                                    (long long)at->rows);
    }
    NADIR_NEW(at->context, row_state, at->rows);
    NADIR_CHECK(nadir_npz_int32s(&at->npz, NADIR_NPZ_ROW_STATE, row_state));
    int32_t before = -1;
    for (int64_t row = 0; row < at->rows; row++) { /* each state has a row, so each step is 0 or 1 */
        if (row_state[row] < before || row_state[row] - 1 > before || row_state[row] < 0) {
            status = nadir_fail(at->context, NADIR_ERROR_FORMAT,
                                "%s: array row_state: row %lld is of state %d after state %d; expected the "
                                "rows of state 0, then those of state 1 and so on, each with one at least",
                                at->npz.path, (long long)row, row_state[row], before);
            goto cleanup;
        }
        before = row_state[row];
    }
    NADIR_CHECK(know_states(at, (int64_t)before + 1, NADIR_NPZ_ROW_STATE));
    NADIR_NEW(at->context, at->model->state_rows, at->states + 1);
    for (int64_t row = at->rows - 1; row >= 0; row--) {
        at->model->state_rows[row_state[row]] = row;
    }
    at->model->state_rows[at->states] = at->rows;
    at->actions = at->model->state_rows[1];
    for (int64_t s = 0; s <= at->states; s++) {
        at->actions = at->model->state_rows[s] == s * at->model->state_rows[1] ? at->actions : 0;
    }
cleanup:
    nadir_release(at->context, row_state);
    return status;
}

/* Nothing tells the number of states: the largest successor may. */
static nadir_status guess_states(reader *at)
{
    int32_t largest = 0;
    for (int64_t i = 0; i < at->transitions; i++) {
        largest = at->model->columns[i] > largest ? at->model->columns[i] : largest;
    }
    const nadir_status status = know_states(at, (int64_t)largest + 1, at->indices);
    if (status == NADIR_OK) {
        nadir_log(at->context, NADIR_LOG_NOTICE,
                  "%s: nothing tells the number of states; the largest successor makes it %lld (an array "
                  "`states` or `mu` would tell)",
                  at->npz.path, (long long)at->states);
    }
    return status;
}

/* state_rows of a model with the same number of actions in every state. */
static nadir_status space_rows(reader *at)
{
    nadir_status status = NADIR_OK;
    if (at->states < 1 || at->rows % at->states != 0) {
        return nadir_fail(at->context, NADIR_ERROR_FORMAT,
                          "%s: %lld rows are no multiple of %lld states (from array %s); states with "
                          "different numbers of actions need an array row_state",
                          at->npz.path, (long long)at->rows, (long long)at->states,
                          nadir_npz_name(at->states_from));
    }
    at->actions = at->rows / at->states;
    NADIR_NEW(at->context, at->model->state_rows, at->states + 1);
    for (int64_t s = 0; s <= at->states; s++) {
        at->model->state_rows[s] = s * at->actions;
    }
cleanup:
    return status;
}

/* Strides of an array of the shape of P: model->dense[(s * A + a) * S + t]. */
static void dense_strides(const reader *at, int64_t strides[NADIR_NPY_DIMENSIONS])
{
    const int state = at->layout == NADIR_LAYOUT_SAS ? 0 : 1;
    strides[state] = at->actions * at->states;
    strides[1 - state] = at->states;
    strides[2] = 1;
}

static nadir_status read_csr(reader *at)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = at->model;
    const int64_t strides[NADIR_NPY_DIMENSIONS] = {1};
    NADIR_NEW(at->context, model->row_starts, at->rows + 1);
    NADIR_CHECK(nadir_npz_int64s(&at->npz, at->indptr, model->row_starts));
    if (model->row_starts[at->rows] != at->transitions) {
        return nadir_fail(at->context, NADIR_ERROR_FORMAT,
                          "%s: array %s ends with %lld; expected the number of transitions, %lld",
                          at->npz.path, nadir_npz_name(at->indptr), (long long)model->row_starts[at->rows],
                          (long long)at->transitions);
    }
    NADIR_NEW(at->context, model->columns, at->transitions);
    NADIR_CHECK(nadir_npz_int32s(&at->npz, at->indices, model->columns));
    NADIR_NEW(at->context, model->probabilities, at->transitions);
    NADIR_CHECK(nadir_npz_doubles(&at->npz, at->data, strides, model->probabilities));
cleanup:
    return status;
}

static nadir_status read_dense(reader *at)
{
    nadir_status status = NADIR_OK;
    int64_t strides[NADIR_NPY_DIMENSIONS] = {0};
    dense_strides(at, strides);
    NADIR_NEW(at->context, at->model->dense, at->transitions);
    NADIR_CHECK(nadir_npz_doubles(&at->npz, NADIR_NPZ_P, strides, at->model->dense));
cleanup:
    return status;
}

/* Which arrays hold the kernel. */
static nadir_status choose_kernel(reader *at)
{
    static const char *const words[] = {"", "csr"};
    nadir_status status = NADIR_OK;
    const bool scipy = has(at, NADIR_NPZ_DATA);
    const bool csr = has(at, NADIR_NPZ_P_DATA);
    at->dense = has(at, NADIR_NPZ_P);
    if ((int)at->dense + (int)csr + (int)scipy != 1) {
        return nadir_fail(at->context, NADIR_ERROR_FORMAT,
                          "%s: %s kernel; expected either an array P, or P_data with P_indices and P_indptr",
                          at->npz.path, at->dense || csr || scipy ? "more than one" : "no");
    }
    at->data = scipy ? NADIR_NPZ_DATA : NADIR_NPZ_P_DATA;
    at->indices = scipy ? NADIR_NPZ_INDICES : NADIR_NPZ_P_INDICES;
    at->indptr = scipy ? NADIR_NPZ_INDPTR : NADIR_NPZ_P_INDPTR;
    at->shape = scipy ? NADIR_NPZ_SHAPE : NADIR_NPZ_P_SHAPE;
    if (scipy) {
        int found;
        NADIR_CHECK(nadir_npz_word(&at->npz, NADIR_NPZ_FORMAT, 2, words, &found));
    }
cleanup:
    return status;
}

static nadir_status read_kernel(reader *at)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(choose_kernel(at));
    NADIR_CHECK(at->dense ? size_dense(at) : size_csr(at));
    NADIR_CHECK(size_from_others(at));
    const bool grouped = has(at, NADIR_NPZ_ROW_STATE);
    if (grouped) {
        NADIR_CHECK(group_rows(at));
    } else if (at->states != 0) { /* before anything large is read */
        NADIR_CHECK(space_rows(at));
    }
    NADIR_CHECK(at->dense ? read_dense(at) : read_csr(at));
    if (at->states == 0) {
        NADIR_CHECK(guess_states(at));
        NADIR_CHECK(space_rows(at));
    }
    at->model->states = at->states;
    at->model->rows = at->rows;
cleanup:
    return status;
}

/* One number for each row, given as (S, A), for each row, or for each state. */
static nadir_status read_per_row(reader *at, nadir_npz_which which, double **into)
{
    nadir_status status = NADIR_OK;
    const nadir_npy_header *header = header_of(at, which);
    const int64_t flat[NADIR_NPY_DIMENSIONS] = {1};
    const int64_t table[NADIR_NPY_DIMENSIONS] = {at->actions, 1};
    const bool is_table = header->dimensions == 2 && at->actions > 0 && header->shape[0] == at->states &&
                          header->shape[1] == at->actions;
    const bool is_flat =
        header->dimensions == 1 && (header->count == at->rows || header->count == at->states);
    if (!is_table && !is_flat) {
        char of_table[64] = "";
        if (at->actions > 0) {
            (void)snprintf(of_table, sizeof of_table, "(%lld, %lld), or ", (long long)at->states,
                           (long long)at->actions);
        }
        return nadir_npz_shape_fail(
            &at->npz, which, "%sone number for each of %lld rows%s or for each of %lld states", of_table,
            (long long)at->rows, which == NADIR_NPZ_R ? ", for each transition" : "", (long long)at->states);
    }
    NADIR_NEW(at->context, *into, at->rows);
    NADIR_CHECK(nadir_npz_doubles(&at->npz, which, is_table ? table : flat, *into));
    if (header->count < at->rows) { /* from the last state on, so that nothing is overwritten too early */
        for (int64_t s = at->states - 1; s >= 0; s--) {
            const double value = (*into)[s];
            for (int64_t row = at->model->state_rows[s]; row < at->model->state_rows[s + 1]; row++) {
                (*into)[row] = value;
            }
        }
    }
cleanup:
    return status;
}

static nadir_status read_rewards(reader *at)
{
    nadir_status status = NADIR_OK;
    int64_t strides[NADIR_NPY_DIMENSIONS] = {1};
    if (!has(at, NADIR_NPZ_R)) {
        return NADIR_OK;
    }
    const nadir_npy_header *header = header_of(at, NADIR_NPZ_R);
    const bool as_kernel = at->dense ? header->dimensions == 3 : header->dimensions == 1;
    const bool same_shape = memcmp(header->shape, header_of(at, at->dense ? NADIR_NPZ_P : at->data)->shape,
                                   sizeof header->shape) == 0;
    if (!as_kernel || !same_shape || (!at->dense && header->count == at->rows)) {
        return read_per_row(at, NADIR_NPZ_R, &at->model->rewards);
    }
    if (at->dense) {
        dense_strides(at, strides);
    }
    NADIR_NEW(at->context, at->model->transition_rewards, at->transitions);
    NADIR_CHECK(nadir_npz_doubles(&at->npz, NADIR_NPZ_R, strides, at->model->transition_rewards));
cleanup:
    return status;
}

static nadir_status read_ball(reader *at)
{
    static const char *const sets[] = {"", "nonrect", "s", "sa"};
    static const char *const domains[] = {"", "simplex", "support", "free"};
    nadir_status status = NADIR_OK;
    nadir_model *model = at->model;
    const int64_t strides[NADIR_NPY_DIMENSIONS] = {1, 1, 1, 1};
    int found;
    NADIR_CHECK(nadir_npz_word(&at->npz, NADIR_NPZ_SET, 4, sets, &found));
    model->set = (nadir_set)found;
    NADIR_CHECK(nadir_npz_word(&at->npz, NADIR_NPZ_DOMAIN, 4, domains, &found));
    model->domain = (nadir_domain)found;
    NADIR_CHECK(nadir_npz_number(&at->npz, NADIR_NPZ_NORM, &model->norm));
    if (!has(at, NADIR_NPZ_RADIUS)) {
        return NADIR_OK;
    }
    const nadir_npy_header *header = header_of(at, NADIR_NPZ_RADIUS);
    if (header->count == 1 || (header->dimensions == 1 && header->count == at->states)) {
        model->radius_count = header->count;
        NADIR_NEW(at->context, model->radius, header->count);
        NADIR_CHECK(nadir_npz_doubles(&at->npz, NADIR_NPZ_RADIUS, strides, model->radius));
    } else {
        model->radius_count = at->rows;
        NADIR_CHECK(read_per_row(at, NADIR_NPZ_RADIUS, &model->radius));
    }
cleanup:
    return status;
}

static nadir_status read_numbers_and_names(reader *at)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = at->model;
    const int64_t strides[NADIR_NPY_DIMENSIONS] = {1};
    if (has(at, NADIR_NPZ_MU)) {
        NADIR_NEW(at->context, model->initial, at->states);
        NADIR_CHECK(nadir_npz_doubles(&at->npz, NADIR_NPZ_MU, strides, model->initial));
    }
    NADIR_CHECK(nadir_npz_number(&at->npz, NADIR_NPZ_GAMMA, &model->discount));
    if (has(at, NADIR_NPZ_SCALES)) {
        NADIR_CHECK(read_per_row(at, NADIR_NPZ_SCALES, &model->scales));
    }
    if (has(at, NADIR_NPZ_ROW_ACTION)) {
        if (header_of(at, NADIR_NPZ_ROW_ACTION)->count != at->rows) {
            return nadir_npz_shape_fail(&at->npz, NADIR_NPZ_ROW_ACTION, "one number for each of %lld rows",
                                        (long long)at->rows);
        }
        NADIR_NEW(at->context, model->row_actions, at->rows);
        NADIR_CHECK(nadir_npz_int32s(&at->npz, NADIR_NPZ_ROW_ACTION, model->row_actions));
    }
    if (has(at, NADIR_NPZ_STATE_NAMES)) {
        if (header_of(at, NADIR_NPZ_STATE_NAMES)->count != at->states) {
            return nadir_npz_shape_fail(&at->npz, NADIR_NPZ_STATE_NAMES, "one name for each of %lld states",
                                        (long long)at->states);
        }
        NADIR_CHECK(nadir_npz_names(&at->npz, NADIR_NPZ_STATE_NAMES, &model->state_names));
    }
    if (has(at, NADIR_NPZ_ACTION_NAMES)) {
        NADIR_CHECK(nadir_npz_names(&at->npz, NADIR_NPZ_ACTION_NAMES, &model->action_names));
    }
cleanup:
    return status;
}

nadir_status nadir_npz_read(nadir_context *context, const char *path, const nadir_read_settings *settings,
                            nadir_model **model)
{
    nadir_status status = NADIR_OK;
    reader at = {.context = context, .settings = settings};
    NADIR_CHECK(nadir_npz_open(context, path, NADIR_NPZ_MODEL_ARRAYS, &at.npz));
    NADIR_CHECK(nadir_model_start(context, &at.model));
    NADIR_CHECK(read_kernel(&at));
    NADIR_CHECK(read_rewards(&at));
    NADIR_CHECK(read_ball(&at));
    NADIR_CHECK(read_numbers_and_names(&at));
    nadir_npz_close(&at.npz);
    const nadir_source source = {.path = path, .keep_transition_rewards = settings->keep_transition_rewards};
    NADIR_CHECK(nadir_model_finish(context, at.model, &source));
    *model = at.model;
    at.model = NULL;
cleanup:
    nadir_model_free(at.model);
    nadir_npz_close(&at.npz);
    return status;
}

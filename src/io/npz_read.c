/*
 * npz_read.c: the format "NumPy archive": models as named arrays in a zip file.
 *
 * The kernel is one of
 *     P                                (S, A, S) or (A, S, S), told by the shape; S = A needs `layout`
 *     P_data, P_indices, P_indptr      a matrix with one row for each pair (s, a), in CSR form
 *     data, indices, indptr            the same as scipy.sparse.save_npz writes it
 * Row s * A + a belongs to state s and action a, unless `row_state` gives the state of each row (ragged
 * models) and `row_action` the number of its action. The number of states comes from `P_shape`, `states`,
 * `row_state`, `mu`, a two-dimensional `R`, `scales` or `radius`, or, with a notice, from the largest
 * successor. All other arrays are optional; npz.h lists them. P_lower and P_upper are a box; rows of the kernel
 * that are NaN then are the point of the box nearest to its middle.
 *
 * Written are P (S, A, S) for dense models with actions 0 .. A - 1 in every state, else CSR rows with
 * P_shape, and with row_state and row_action where they are needed.
 *
 * The headers of all arrays are read first. They give the sizes of the model, hence the range of own
 * states, rows and transitions: all of them where the process is alone. Then the range of each array is
 * read straight into its place, whatever its type and order in the file. Arrays that are stored are read
 * from where the range begins; of compressed ones everything before it is decompressed and dropped. Names
 * are read only where the model is not spread over processes.
 */
#include "io/npz.h"
#include "model/model.h"

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
    /* Of the file: */
    int64_t states; /* 0: not known yet */
    int64_t rows;
    int64_t actions; /* of every state; 0: ragged */
    int64_t transitions;
    nadir_npz_which states_from; /* the array that gave the number of states */
    int32_t *row_state;          /* [rows], where the file has it */
    /* Where the range of this process begins; model->states and model->rows say how long it is. */
    int64_t first, first_row, first_transition;
} reader;

static bool has(const reader *self, nadir_npz_which which)
{
    return nadir_npz_has(&self->npz, which);
}

static const nadir_npy_header *header_of(const reader *self, nadir_npz_which which)
{
    return &self->npz.headers[which];
}

/* Whether an array is there and has this many dimensions. */
static bool has_dimensions(const reader *self, nadir_npz_which which, int dimensions)
{
    return has(self, which) && header_of(self, which)->dimensions == dimensions;
}

/* An array says how many states there are; all that do must agree. */
static nadir_status know_states(reader *self, int64_t states, nadir_npz_which which)
{
    if (self->states != 0 && self->states != states) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                          "%s: array %s makes %lld states, array %s makes %lld", self->npz.path,
                          nadir_npz_name(self->states_from), (long long)self->states, nadir_npz_name(which),
                          (long long)states);
    }
    if (states < 1 || states > self->rows || states > NADIR_STATES_LIMIT) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                          "%s: array %s makes %lld states of %lld rows; expected 1 to %lld states",
                          self->npz.path, nadir_npz_name(which), (long long)states, (long long)self->rows,
                          (long long)(self->rows < NADIR_STATES_LIMIT ? self->rows : NADIR_STATES_LIMIT));
    }
    self->states = states;
    self->states_from = which;
    return NADIR_OK;
}

/* How P lies, (S, A, S) or (A, S, S): as the user says, else as the file says, else by its shape, which has
 * three dimensions. */
static nadir_status choose_layout(nadir_npz *npz, nadir_layout asked, nadir_layout *layout)
{
    static const char *const words[] = {"", "sas", "ass"}; /* as nadir_layout */
    const int64_t *shape = npz->headers[NADIR_NPZ_P].shape;
    const bool sas = shape[0] == shape[2];
    const bool ass = shape[1] == shape[2];
    int said;
    NADIR_TRY(nadir_npz_word(npz, NADIR_NPZ_LAYOUT, 3, words, &said));
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
    return NADIR_OK;
}

static nadir_status size_dense(reader *self)
{
    const nadir_npy_header *header = header_of(self, NADIR_NPZ_P);
    if (header->dimensions != 3 || header->count == 0) {
        return nadir_npz_shape_fail(&self->npz, NADIR_NPZ_P, "(S, A, S) or (A, S, S)");
    }
    if (has(self, NADIR_NPZ_ROW_STATE)) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                          "%s: array row_state goes with CSR rows (P_data, P_indices, P_indptr), not with P",
                          self->npz.path);
    }
    NADIR_TRY(choose_layout(&self->npz, self->settings->layout, &self->layout));
    self->actions = header->shape[self->layout == NADIR_LAYOUT_SAS ? 1 : 0];
    self->rows = header->shape[2] * self->actions; /* a part of the product that is the array's count */
    self->transitions = header->count;
    return know_states(self, header->shape[2], NADIR_NPZ_P);
}

static nadir_status size_csr(reader *self)
{
    const nadir_npz_which parts[] = {self->data, self->indices, self->indptr};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!has_dimensions(self, parts[i], 1)) {
            return has(self, parts[i])
                       ? nadir_npz_shape_fail(&self->npz, parts[i], "one dimension")
                       : nadir_fail(self->context, NADIR_ERROR_FORMAT,
                                    "%s: array %s is missing; CSR rows are %s, %s and %s", self->npz.path,
                                    nadir_npz_name(parts[i]), nadir_npz_name(self->data),
                                    nadir_npz_name(self->indices), nadir_npz_name(self->indptr));
        }
    }
    self->transitions = header_of(self, self->data)->count;
    self->rows = header_of(self, self->indptr)->count - 1;
    if (header_of(self, self->indices)->count != self->transitions) {
        return nadir_npz_shape_fail(&self->npz, self->indices, "as many as %s: %lld",
                                    nadir_npz_name(self->data), (long long)self->transitions);
    }
    if (self->rows < 1) {
        return nadir_npz_shape_fail(&self->npz, self->indptr,
                                    "one item more than there are rows, 2 at least");
    }
    if (has(self, self->shape)) {
        int64_t shape[2];
        if (header_of(self, self->shape)->count != 2) {
            return nadir_npz_shape_fail(&self->npz, self->shape, "two numbers: rows and states");
        }
        NADIR_TRY(nadir_npz_int64s(&self->npz, self->shape, NULL, shape));
        if (shape[0] != self->rows) {
            return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                              "%s: array %s makes %lld rows, array %s makes %lld", self->npz.path,
                              nadir_npz_name(self->shape), (long long)shape[0], nadir_npz_name(self->indptr),
                              (long long)self->rows);
        }
        NADIR_TRY(know_states(self, shape[1], self->shape));
    }
    return NADIR_OK;
}

/* The number of states from `states`, mu, or an array (S, A). An array with one column does not count: it
 * may be a vector of all rows. */
static nadir_status size_from_others(reader *self)
{
    static const nadir_npz_which tables[] = {NADIR_NPZ_R, NADIR_NPZ_SCALES, NADIR_NPZ_RADIUS};
    if (has(self, NADIR_NPZ_STATES)) {
        int64_t states;
        if (header_of(self, NADIR_NPZ_STATES)->count != 1) {
            return nadir_npz_shape_fail(&self->npz, NADIR_NPZ_STATES, "one number");
        }
        NADIR_TRY(nadir_npz_int64s(&self->npz, NADIR_NPZ_STATES, NULL, &states));
        NADIR_TRY(know_states(self, states, NADIR_NPZ_STATES));
    }
    if (has(self, NADIR_NPZ_MU)) {
        if (!has_dimensions(self, NADIR_NPZ_MU, 1)) {
            return nadir_npz_shape_fail(&self->npz, NADIR_NPZ_MU, "one number for each state");
        }
        NADIR_TRY(know_states(self, header_of(self, NADIR_NPZ_MU)->count, NADIR_NPZ_MU));
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const nadir_npy_header *header = header_of(self, tables[i]);
        if (self->states == 0 && has_dimensions(self, tables[i], 2) && header->count == self->rows &&
            header->shape[1] > 1) {
            NADIR_TRY(know_states(self, header->shape[0], tables[i]));
        }
    }
    return NADIR_OK;
}

static nadir_status row_state_fail(reader *self, int64_t row, int32_t state, int32_t before)
{
    return nadir_fail(
        self->context, NADIR_ERROR_FORMAT,
        "%s: array row_state: row %lld is of state %d after state %d; expected the rows of state "
        "0, then those of state 1 and so on, each with one at least",
        self->npz.path, (long long)row, state, before);
}

/* Reads row_state, the state of each row; the last one gives the number of states. */
static nadir_status read_row_states(reader *self)
{
    nadir_status status = NADIR_OK;
    int32_t before = -1;
    if (!has_dimensions(self, NADIR_NPZ_ROW_STATE, 1) ||
        header_of(self, NADIR_NPZ_ROW_STATE)->count != self->rows) {
        return nadir_npz_shape_fail(&self->npz, NADIR_NPZ_ROW_STATE, "one number for each of %lld rows",
                                    (long long)self->rows);
    }
    NADIR_NEW(self->context, self->row_state, self->rows);
    NADIR_CHECK(nadir_npz_int32s(&self->npz, NADIR_NPZ_ROW_STATE, NULL, self->row_state));
    for (int64_t row = 0; row < self->rows; row++) { /* each state has a row, so each step is 0 or 1 */
        const int32_t state = self->row_state[row];
        if (state < before || state - 1 > before || state < 0) {
            return row_state_fail(self, row, state, before);
        }
        before = state;
    }
    NADIR_CHECK(know_states(self, (int64_t)before + 1, NADIR_NPZ_ROW_STATE));
cleanup:
    return status;
}

/* state_rows of own states by row_state. */
static void group_rows(reader *self)
{
    nadir_model *model = self->model;
    const int64_t end = self->first + model->states;
    int64_t row = 0;
    while (row < self->rows && self->row_state[row] < self->first) {
        row++;
    }
    self->first_row = row;
    for (; row < self->rows && self->row_state[row] < end; row++) {
        model->state_rows[self->row_state[row] - self->first + 1] = row + 1 - self->first_row;
    }
}

/* No array gives the number of states: take the largest successor. */
static nadir_status guess_states(reader *self)
{
    nadir_status status = NADIR_OK;
    int32_t *successors = NULL;
    int32_t largest = 0;
    NADIR_NEW(self->context, successors, self->transitions);
    NADIR_CHECK(nadir_npz_int32s(&self->npz, self->indices, NULL, successors));
    for (int64_t i = 0; i < self->transitions; i++) {
        largest = successors[i] > largest ? successors[i] : largest;
    }
    NADIR_CHECK(know_states(self, (int64_t)largest + 1, self->indices));
    nadir_log(self->context, NADIR_LOG_NOTICE,
              "%s: nothing tells the number of states; the largest successor makes it %lld (an array "
              "`states` or `mu` would tell)",
              self->npz.path, (long long)self->states);
cleanup:
    nadir_release(self->context, successors);
    return status;
}

/* The own states, and the rows of each. */
static nadir_status choose_range(reader *self)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = self->model;
    int64_t end;
    self->actions = self->rows % self->states == 0 ? self->rows / self->states : 0;
    for (int64_t row = 0; self->row_state != NULL && self->actions > 0 && row < self->rows; row++) {
        self->actions = self->row_state[row] == row / self->actions ? self->actions : 0;
    }
    if (self->row_state == NULL && self->actions == 0) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                          "%s: %lld rows are no multiple of %lld states (from array %s); states with "
                          "different numbers of actions need an array row_state",
                          self->npz.path, (long long)self->rows, (long long)self->states,
                          nadir_npz_name(self->states_from));
    }
    nadir_model_own_states(self->context, self->states, &self->first, &end);
    model->states = end - self->first;
    NADIR_NEW_ZERO(self->context, model->state_rows, model->states + 1);
    if (self->actions == 0) {
        group_rows(self);
    } else {
        self->first_row = self->first * self->actions;
        for (int64_t s = 0; s <= model->states; s++) {
            model->state_rows[s] = s * self->actions;
        }
    }
    model->rows = model->state_rows[model->states];
    nadir_release(self->context, self->row_state);
    self->row_state = NULL;
cleanup:
    return status;
}

/* Where the transitions of each own row begin, counted from the first own one. */
static nadir_status read_row_starts(reader *self)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = self->model;
    const nadir_npy_slice slice = {0, self->first_row, model->rows + 1};
    NADIR_NEW(self->context, model->row_starts, model->rows + 1);
    NADIR_CHECK(nadir_npz_int64s(&self->npz, self->indptr, &slice, model->row_starts));
    const int64_t last = model->row_starts[model->rows];
    if (last > self->transitions ||
        (self->first_row + model->rows == self->rows && last != self->transitions)) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                          "%s: array %s ends with %lld; expected the number of transitions, %lld",
                          self->npz.path, nadir_npz_name(self->indptr), (long long)last,
                          (long long)self->transitions);
    }
    self->first_transition = model->row_starts[0];
    if (self->first_row == 0 && model->row_starts[0] != 0) {
        return nadir_fail(self->context, NADIR_ERROR_MODEL,
                          "%s: the first row starts at transition %lld, not 0", self->npz.path,
                          (long long)model->row_starts[0]);
    }
    for (int64_t row = 0; row < model->rows; row++) {
        if (model->row_starts[row + 1] < model->row_starts[row]) {
            return nadir_fail(self->context, NADIR_ERROR_MODEL, "%s: row %lld ends before it starts",
                              self->npz.path, (long long)self->first_row + row);
        }
    }
    if (self->first_transition < 0) { /* of a process that is not the first */
        return nadir_fail(self->context, NADIR_ERROR_MODEL, "%s: row %lld starts at transition %lld",
                          self->npz.path, (long long)self->first_row, (long long)self->first_transition);
    }
    for (int64_t row = 0; row <= model->rows; row++) {
        model->row_starts[row] -= self->first_transition;
    }
cleanup:
    return status;
}

static nadir_status read_csr(reader *self)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = self->model;
    NADIR_CHECK(read_row_starts(self));
    const nadir_npy_slice slice = {0, self->first_transition, model->row_starts[model->rows]};
    NADIR_NEW(self->context, model->columns, slice.count);
    NADIR_CHECK(nadir_npz_int32s(&self->npz, self->indices, &slice, model->columns));
    NADIR_NEW(self->context, model->probabilities, slice.count);
    NADIR_CHECK(nadir_npz_doubles(&self->npz, self->data, &slice, NULL, model->probabilities));
cleanup:
    return status;
}

/* The own rows of an array of the shape of P. *into: [own rows * S] */
static nadir_status read_dense(reader *self, nadir_npz_which which, double **into)
{
    nadir_status status = NADIR_OK;
    const int by_state = self->layout == NADIR_LAYOUT_SAS ? 0 : 1;
    const nadir_npy_slice slice = {by_state, self->first, self->model->states};
    int64_t strides[NADIR_NPY_DIMENSIONS] = {self->states, self->states, 1};
    strides[by_state] *= self->actions; /* into[(s * A + a) * S + t] */
    NADIR_NEW(self->context, *into, self->model->rows * self->states);
    NADIR_CHECK(nadir_npz_doubles(&self->npz, which, &slice, strides, *into));
cleanup:
    return status;
}

/* Which arrays hold the kernel. */
static nadir_status choose_kernel(reader *self)
{
    static const char *const words[] = {"", "csr"};
    const bool scipy = has(self, NADIR_NPZ_DATA);
    const bool csr = has(self, NADIR_NPZ_P_DATA);
    self->dense = has(self, NADIR_NPZ_P);
    if ((int)self->dense + (int)csr + (int)scipy != 1) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                          "%s: %s kernel; expected either an array P, or P_data with P_indices and P_indptr",
                          self->npz.path, self->dense || csr || scipy ? "more than one" : "no");
    }
    self->data = scipy ? NADIR_NPZ_DATA : NADIR_NPZ_P_DATA;
    self->indices = scipy ? NADIR_NPZ_INDICES : NADIR_NPZ_P_INDICES;
    self->indptr = scipy ? NADIR_NPZ_INDPTR : NADIR_NPZ_P_INDPTR;
    self->shape = scipy ? NADIR_NPZ_SHAPE : NADIR_NPZ_P_SHAPE;
    if (scipy) {
        int found;
        NADIR_TRY(nadir_npz_word(&self->npz, NADIR_NPZ_FORMAT, 2, words, &found));
    }
    return NADIR_OK;
}

static nadir_status read_kernel(reader *self)
{
    NADIR_TRY(choose_kernel(self));
    NADIR_TRY(self->dense ? size_dense(self) : size_csr(self));
    NADIR_TRY(size_from_others(self));
    if (has(self, NADIR_NPZ_ROW_STATE)) {
        NADIR_TRY(read_row_states(self));
    } else if (self->states == 0) {
        NADIR_TRY(guess_states(self));
    }
    NADIR_TRY(choose_range(self));
    return self->dense ? read_dense(self, NADIR_NPZ_P, &self->model->dense) : read_csr(self);
}

/* Numbers of rows are given as (S, A), for each row, or for each state. *is_table: as (S, A). */
static nadir_status check_per_row(reader *self, nadir_npz_which which, bool *is_table)
{
    const nadir_npy_header *header = header_of(self, which);
    char of_table[64] = "";
    *is_table = header->dimensions == 2 && self->actions > 0 && header->shape[0] == self->states &&
                header->shape[1] == self->actions;
    if (*is_table ||
        (header->dimensions == 1 && (header->count == self->rows || header->count == self->states))) {
        return NADIR_OK;
    }
    if (self->actions > 0) {
        (void)snprintf(of_table, sizeof of_table, "(%lld, %lld), or ", (long long)self->states,
                       (long long)self->actions);
    }
    return nadir_npz_shape_fail(
        &self->npz, which, "%sone number for each of %lld rows%s or for each of %lld states", of_table,
        (long long)self->rows, which == NADIR_NPZ_R ? ", for each transition" : "", (long long)self->states);
}

/* *into: [own rows] */
static nadir_status read_per_row(reader *self, nadir_npz_which which, double **into)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    const nadir_npy_header *header = header_of(self, which);
    bool is_table;
    NADIR_CHECK(check_per_row(self, which, &is_table));
    const bool by_row = !is_table && header->count == self->rows;
    const nadir_npy_slice slice = {0, by_row ? self->first_row : self->first,
                                   by_row ? model->rows : model->states};
    NADIR_NEW(self->context, *into, model->rows);
    NADIR_CHECK(nadir_npz_doubles(&self->npz, which, &slice, NULL, *into));
    if (header->count < self->rows) { /* from the last state on, so that nothing is overwritten too early */
        for (int64_t s = model->states - 1; s >= 0; s--) {
            const double value = (*into)[s];
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                (*into)[row] = value;
            }
        }
    }
cleanup:
    return status;
}

static nadir_status read_rewards(reader *self)
{
    nadir_status status = NADIR_OK;
    if (!has(self, NADIR_NPZ_R)) {
        return NADIR_OK;
    }
    const nadir_npy_header *header = header_of(self, NADIR_NPZ_R);
    const bool as_kernel = self->dense ? header->dimensions == 3 : header->dimensions == 1;
    const bool same_shape =
        memcmp(header->shape, header_of(self, self->dense ? NADIR_NPZ_P : self->data)->shape,
               sizeof header->shape) == 0;
    if (!as_kernel || !same_shape || (!self->dense && header->count == self->rows)) {
        return read_per_row(self, NADIR_NPZ_R, &self->model->rewards);
    }
    if (self->dense) {
        return read_dense(self, NADIR_NPZ_R, &self->model->transition_rewards);
    }
    const nadir_npy_slice slice = {0, self->first_transition, self->model->row_starts[self->model->rows]};
    NADIR_NEW(self->context, self->model->transition_rewards, slice.count);
    NADIR_CHECK(nadir_npz_doubles(&self->npz, NADIR_NPZ_R, &slice, NULL, self->model->transition_rewards));
cleanup:
    return status;
}

/* One array of bounds, or of weights, of the shape of the kernel. */
static nadir_status read_bound(reader *self, nadir_npz_which which, double **into)
{
    nadir_status status = NADIR_OK;
    const nadir_npz_which kernel = self->dense ? NADIR_NPZ_P : self->data;
    const nadir_npy_header *header = header_of(self, which);
    if (!has(self, which)) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                          "%s: array %s is missing; a box is P_lower and P_upper", self->npz.path,
                          nadir_npz_name(which));
    }
    if (header->dimensions != header_of(self, kernel)->dimensions ||
        memcmp(header->shape, header_of(self, kernel)->shape, sizeof header->shape) != 0) {
        return nadir_npz_shape_fail(&self->npz, which, "that of %s", nadir_npz_name(kernel));
    }
    if (self->dense) {
        return read_dense(self, which, into);
    }
    const nadir_npy_slice slice = {0, self->first_transition, self->model->row_starts[self->model->rows]};
    NADIR_NEW(self->context, *into, slice.count);
    NADIR_CHECK(nadir_npz_doubles(&self->npz, which, &slice, NULL, *into));
cleanup:
    return status;
}

static nadir_status read_box(reader *self)
{
    if (has(self, NADIR_NPZ_WEIGHTS)) {
        NADIR_TRY(read_bound(self, NADIR_NPZ_WEIGHTS, &self->model->weights));
    }
    if (has(self, NADIR_NPZ_P_LOWER) || has(self, NADIR_NPZ_P_UPPER)) {
        NADIR_TRY(read_bound(self, NADIR_NPZ_P_LOWER, &self->model->lower));
        NADIR_TRY(read_bound(self, NADIR_NPZ_P_UPPER, &self->model->upper));
    }
    return NADIR_OK;
}

static nadir_status read_ball(reader *self)
{
    static const char *const promises[] = {"", "kernel", "return"};
    nadir_status status = NADIR_OK;
    int promise;
    nadir_model *model = self->model;
    NADIR_CHECK(nadir_npz_set_and_domain(&self->npz, &model->set, &model->domain));
    NADIR_CHECK(nadir_npz_norm(&self->npz, &model->norm));
    NADIR_CHECK(nadir_npz_word(&self->npz, NADIR_NPZ_PROMISE, 3, promises, &promise));
    model->promise = (nadir_ball_promise)promise;
    NADIR_CHECK(nadir_npz_number(&self->npz, NADIR_NPZ_CONFIDENCE, &model->confidence));
    if (!has(self, NADIR_NPZ_RADIUS)) {
        return NADIR_OK;
    }
    const int64_t count = header_of(self, NADIR_NPZ_RADIUS)->count;
    bool is_table = false;
    if (count != 1) {
        NADIR_CHECK(check_per_row(self, NADIR_NPZ_RADIUS, &is_table));
    }
    NADIR_NEW(self->context, model->radius, count); /* those of all processes */
    NADIR_CHECK(nadir_npz_doubles(&self->npz, NADIR_NPZ_RADIUS, NULL, NULL, model->radius));
    model->radius_count = count;
cleanup:
    return status;
}

static nadir_status read_numbers(reader *self)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = self->model;
    const nadir_npy_slice states = {0, self->first, model->states};
    const nadir_npy_slice rows = {0, self->first_row, model->rows};
    if (has(self, NADIR_NPZ_MU)) {
        NADIR_NEW(self->context, model->initial, model->states);
        NADIR_CHECK(nadir_npz_doubles(&self->npz, NADIR_NPZ_MU, &states, NULL, model->initial));
    }
    NADIR_CHECK(nadir_npz_number(&self->npz, NADIR_NPZ_GAMMA, &model->discount));
    if (has(self, NADIR_NPZ_SCALES)) {
        NADIR_CHECK(read_per_row(self, NADIR_NPZ_SCALES, &model->scales));
    }
    if (has(self, NADIR_NPZ_UNOBSERVED)) {
        NADIR_CHECK(read_per_row(self, NADIR_NPZ_UNOBSERVED, &model->unobserved));
    }
    if (has(self, NADIR_NPZ_ROW_ACTION)) {
        if (header_of(self, NADIR_NPZ_ROW_ACTION)->count != self->rows) {
            return nadir_npz_shape_fail(&self->npz, NADIR_NPZ_ROW_ACTION, "one number for each of %lld rows",
                                        (long long)self->rows);
        }
        NADIR_NEW(self->context, model->row_actions, model->rows);
        NADIR_CHECK(nadir_npz_int32s(&self->npz, NADIR_NPZ_ROW_ACTION, &rows, model->row_actions));
    }
cleanup:
    return status;
}

static nadir_status read_names(reader *self)
{
    nadir_model *model = self->model;
    if (has(self, NADIR_NPZ_STATE_NAMES) && header_of(self, NADIR_NPZ_STATE_NAMES)->count != self->states) {
        return nadir_npz_shape_fail(&self->npz, NADIR_NPZ_STATE_NAMES, "one name for each of %lld states",
                                    (long long)self->states);
    }
    NADIR_TRY(nadir_npz_names(&self->npz, NADIR_NPZ_STATE_NAMES, &model->state_names));
    return nadir_npz_names(&self->npz, NADIR_NPZ_ACTION_NAMES, &model->action_names);
}

static nadir_status read_model(nadir_context *context, const char *path, const nadir_read_settings *settings,
                               nadir_model **model)
{
    nadir_status status = NADIR_OK;
    reader self = {.context = context, .settings = settings};
    const bool spread = context->engine != NULL;
    NADIR_CHECK(nadir_npz_open(context, path, NADIR_NPZ_MODEL_ARRAYS, &self.npz));
    NADIR_CHECK(nadir_model_start(context, &self.model));
    NADIR_CHECK(read_kernel(&self));
    NADIR_CHECK(read_rewards(&self));
    NADIR_CHECK(read_box(&self));
    NADIR_CHECK(read_ball(&self));
    NADIR_CHECK(read_numbers(&self));
    if (!spread) {
        NADIR_CHECK(read_names(&self));
    }
    nadir_npz_close(&self.npz);
    if (spread) {
        NADIR_CHECK(nadir_model_distribute(context, self.model, path, self.first, self.states));
    }
    const nadir_source source = {.path = path, .reading = settings};
    NADIR_CHECK(nadir_model_finish(context, self.model, &source));
    *model = self.model;
    self.model = NULL;
cleanup:
    nadir_model_free(self.model);
    nadir_npz_close(&self.npz);
    nadir_release(context, self.row_state);
    return status;
}

static bool recognises(const char *head, size_t length)
{
    return length >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

const nadir_format nadir_format_npz = {
    .name = "npz",
    .endings = " .npz ",
    .title = "NumPy archive",
    .holds = NADIR_HOLDS_REWARDS | NADIR_HOLDS_TRANSITION_REWARDS | NADIR_HOLDS_ZERO_REWARDS |
             NADIR_HOLDS_DISCOUNT | NADIR_HOLDS_INITIAL | NADIR_HOLDS_SCALES | NADIR_HOLDS_NAMES |
             NADIR_HOLDS_ACTION_NUMBERS | NADIR_HOLDS_RAGGED | NADIR_HOLDS_BALL | NADIR_HOLDS_TERMINAL |
             NADIR_HOLDS_BOX | NADIR_HOLDS_NOMINAL | NADIR_HOLDS_WEIGHTS,
    .takes = NADIR_TAKES_LAYOUT | NADIR_TAKES_COMPRESS,
    .recognises = recognises,
    .read = read_model,
    .reads_parts = true,
    .write = nadir_npz_write,
};

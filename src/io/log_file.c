/* log_file.c: files of logged data, and fits of them; see format.h. */
#include "fit/fit.h"
#include "io/csv_cells.h"
#include "io/format.h"
#include "io/labels.h"
#include "io/npy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Columns ----------------------------------------------------------------------------------------- */

static const nadir_csv_column data_columns[NADIR_DATA_COLUMNS] = {
    [NADIR_DATA_STATE] = {.names = {"idstatefrom", "state", "idstate"}},
    [NADIR_DATA_ACTION] = {.names = {"idaction", "action"}},
    [NADIR_DATA_SUCCESSOR] = {.names = {"idstateto", "next_state"}, .optional = true},
    [NADIR_DATA_REWARD] = {.names = {"reward"}, .optional = true},
    [NADIR_DATA_COUNT] = {.names = {"count"}, .optional = true},
    [NADIR_DATA_EPISODE] = {.names = {"episode"}, .optional = true},
    [NADIR_DATA_STEP] = {.names = {"step"}, .optional = true},
    [NADIR_DATA_OUTCOME] = {.names = {"idoutcome", "outcome"}, .optional = true},
    [NADIR_DATA_PROBABILITY] = {.names = {"probability"}, .optional = true},
};

#define BIT(which) (1U << (NADIR_DATA_##which))
#define ROW        (BIT(STATE) | BIT(ACTION))

/* Which columns each kind must and may have. */
static const struct {
    unsigned required, allowed;
} kinds[] = {
    [NADIR_DATA_TRANSITIONS] = {ROW | BIT(SUCCESSOR), ROW | BIT(SUCCESSOR) | BIT(REWARD)},
    [NADIR_DATA_COUNTS] = {ROW | BIT(SUCCESSOR) | BIT(COUNT),
                           ROW | BIT(SUCCESSOR) | BIT(COUNT) | BIT(REWARD)},
    [NADIR_DATA_TRAJECTORIES] = {ROW | BIT(EPISODE) | BIT(STEP),
                                 ROW | BIT(EPISODE) | BIT(STEP) | BIT(SUCCESSOR) | BIT(REWARD)},
    [NADIR_DATA_SAMPLES] = {ROW | BIT(SUCCESSOR) | BIT(OUTCOME) | BIT(PROBABILITY),
                            ROW | BIT(SUCCESSOR) | BIT(OUTCOME) | BIT(PROBABILITY) | BIT(REWARD)},
};

/* "`a`, `b`": the columns of a set. */
static void list_columns(unsigned columns, char *list, size_t capacity)
{
    size_t used = 0;
    for (int i = 0; i < NADIR_DATA_COLUMNS; i++) {
        if (NADIR_DATA_HAS(columns, i)) {
            used += (size_t)snprintf(list + used, capacity - used, "%s`%s`", used > 0 ? ", " : "",
                                     data_columns[i].names[0]);
        }
    }
}

/* What a file with these columns (bit i: column i is there) holds; NADIR_ERROR_FORMAT, which begins with
 * `place` ("data.csv:1"), when they make no sense together. */
static nadir_status tell_kind(nadir_context *context, const char *place, unsigned columns,
                              nadir_data_kind *kind)
{
    char wrong[256];
    char needed[256];
    if ((columns & BIT(PROBABILITY)) != 0 && (columns & BIT(OUTCOME)) == 0) {
        return nadir_fail(context, NADIR_ERROR_FORMAT,
                          "%s: a column `probability` without `idoutcome`: this is a model, not data", place);
    }
    *kind = (columns & (BIT(PROBABILITY) | BIT(OUTCOME))) != 0 ? NADIR_DATA_SAMPLES
            : (columns & (BIT(EPISODE) | BIT(STEP))) != 0      ? NADIR_DATA_TRAJECTORIES
            : (columns & BIT(COUNT)) != 0                      ? NADIR_DATA_COUNTS
                                                               : NADIR_DATA_TRANSITIONS;
    const unsigned missing = kinds[*kind].required & ~columns;
    const unsigned extra = columns & ~kinds[*kind].allowed;
    if (missing == 0 && extra == 0) {
        return NADIR_OK;
    }
    list_columns(missing != 0 ? missing : extra, wrong, sizeof wrong);
    list_columns(kinds[*kind].required, needed, sizeof needed);
    return nadir_fail(context, NADIR_ERROR_FORMAT, "%s: %s %s; %s have the columns %s%s", place,
                      missing != 0 ? "missing" : "out of place:", wrong, nadir_data_kind_name(*kind), needed,
                      (kinds[*kind].allowed & ~columns & BIT(REWARD)) != 0 ? " and may have `reward`" : "");
}

/* Where the value of a column goes: a double, or an int64_t. */
#define NUMBERS (BIT(REWARD) | BIT(COUNT) | BIT(PROBABILITY))

static void *row_member(nadir_data_row *row, int which)
{
    static const size_t offsets[NADIR_DATA_COLUMNS] = {
        [NADIR_DATA_STATE] = offsetof(nadir_data_row, state),
        [NADIR_DATA_ACTION] = offsetof(nadir_data_row, action),
        [NADIR_DATA_SUCCESSOR] = offsetof(nadir_data_row, successor),
        [NADIR_DATA_REWARD] = offsetof(nadir_data_row, reward),
        [NADIR_DATA_COUNT] = offsetof(nadir_data_row, count),
        [NADIR_DATA_EPISODE] = offsetof(nadir_data_row, episode),
        [NADIR_DATA_STEP] = offsetof(nadir_data_row, step),
        [NADIR_DATA_OUTCOME] = offsetof(nadir_data_row, outcome),
        [NADIR_DATA_PROBABILITY] = offsetof(nadir_data_row, probability),
    };
    return (char *)row + offsets[which];
}

/* The last step of an episode needs no action, next state or reward. */
static unsigned may_be_missing(const nadir_data_collector *collector)
{
    return collector->kind == NADIR_DATA_TRAJECTORIES ? BIT(ACTION) | BIT(SUCCESSOR) | BIT(REWARD) : 0;
}

/* ---- Tables ------------------------------------------------------------------------------------------ */

static nadir_status read_header(nadir_data_collector *collector, nadir_text *text, nadir_csv_header *header)
{
    char place[4200];
    NADIR_TRY(nadir_csv_read_header(text, NADIR_DATA_COLUMNS, data_columns, true, header));
    for (int i = 0; i < NADIR_DATA_COLUMNS; i++) {
        collector->columns |= header->positions[i] >= 0 ? 1U << i : 0U;
    }
    (void)snprintf(place, sizeof place, "%s:%lld", text->path, (long long)text->line);
    return tell_kind(collector->context, place, collector->columns, &collector->kind);
}

/* optional: the columns whose cell may be empty. */
static nadir_status read_cells(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                               unsigned optional, nadir_data_row *row)
{
    row->line = text->line;
    row->there = 0;
    for (int k = 0; k < header->found; k++) {
        const int which = header->order[k];
        void *to = row_member(row, which);
        if (NADIR_DATA_HAS(optional, which) && cells[which].at == cells[which].end) {
            continue;
        }
        row->there |= 1U << which;
        NADIR_TRY(NADIR_DATA_HAS(NUMBERS, which) ? nadir_csv_double(text, header, cells, which, to)
                                                 : nadir_csv_integer(text, header, cells, which, to));
    }
    return NADIR_OK;
}

/* Gives all rows of collector->path, or of standard input, to the collector, whose kind and columns they set. */
static nadir_status read_csv(nadir_data_collector *collector, bool standard)
{
    nadir_status status = NADIR_OK;
    nadir_text text = {0};
    nadir_csv_header header;
    nadir_cursor cells[NADIR_CSV_COLUMNS];
    nadir_data_row row = {0};
    bool more;
    NADIR_CHECK(nadir_text_open(collector->context, standard ? NULL : collector->path, &text));
    NADIR_CHECK(read_header(collector, &text, &header));
    NADIR_CHECK(nadir_csv_read_row(&text, &header, cells, &more));
    while (more) {
        NADIR_CHECK(read_cells(&text, &header, cells, may_be_missing(collector), &row));
        NADIR_CHECK(nadir_data_collect(collector, &row));
        NADIR_CHECK(nadir_csv_read_row(&text, &header, cells, &more));
    }
cleanup:
    nadir_text_close(&text);
    return status;
}

/* ---- Arrays ------------------------------------------------------------------------------------------ */

/*
 * Data as NumPy arrays, read in pieces; see format.h.
 *
 * The raw bytes of a piece are read (in Fortran order: a stretch of each column), each field is converted
 * in one loop, and the records go to the collector one by one.
 */

#define PIECE       NADIR_NPY_PIECE
#define PIECE_BYTES ((int64_t)1 << 20)
#define AHEAD       32 /* records: long enough for memory to answer, short enough for the cache */

/* A field and the column that it is. */
typedef struct column {
    int which;
    nadir_npy_field field;
    const unsigned char *items; /* of the piece */
    int64_t *integers;          /* [PIECE] the values of the piece, or */
    double *numbers;
} column;

typedef struct reader {
    nadir_data_collector *collector;
    nadir_npy_file file;
    nadir_npy_records records;
    nadir_npy npy;
    int count;
    column columns[NADIR_DATA_COLUMNS];
    int64_t length;     /* records */
    int64_t stride;     /* bytes from a field to that of the next record */
    int64_t piece;      /* records read at once, at most PIECE */
    unsigned char *raw; /* the bytes of a piece */
    nadir_data_row row;
    /* The transitions of a piece; without a column of their own, successors are the states of the next
     * record. */
    const int64_t *states, *actions, *successors;
} reader;

static nadir_status shape_fail(const reader *self)
{
    char shape[NADIR_NPY_SHAPE_LENGTH];
    const nadir_npy_header *header = &self->npy.header;
    return nadir_fail(
        self->collector->context, NADIR_ERROR_FORMAT,
        "%s: shape %s; expected (N, 3) with state, action and next state, (N, 4) with the reward "
        "besides, or (N,) records with named fields",
        self->collector->path, nadir_npy_shape_text(header->dimensions, header->shape, shape));
}

/* The fields of an array of plain numbers. */
static nadir_status plain_columns(reader *self)
{
    static const int order[] = {NADIR_DATA_STATE, NADIR_DATA_ACTION, NADIR_DATA_SUCCESSOR, NADIR_DATA_REWARD};
    const nadir_npy_header *header = &self->npy.header;
    if (header->type.kind >= NADIR_NPY_TEXT || header->dimensions != 2 ||
        (header->shape[1] != 3 && header->shape[1] != 4)) {
        return shape_fail(self);
    }
    self->count = (int)header->shape[1];
    self->length = header->shape[0];
    self->stride = header->fortran ? header->type.item_bytes : self->count * header->type.item_bytes;
    for (int i = 0; i < self->count; i++) {
        nadir_npy_field *field = &self->columns[i].field;
        *field = (nadir_npy_field){{0}, header->type, i * header->type.item_bytes};
        (void)snprintf(field->name, sizeof field->name, "%s", data_columns[order[i]].names[0]);
        self->columns[i].which = order[i];
    }
    return NADIR_OK;
}

static nadir_status record_columns(reader *self)
{
    const nadir_data_collector *collector = self->collector;
    const nadir_npy_header *header = &self->npy.header;
    if (header->dimensions != 1) {
        return shape_fail(self);
    }
    unsigned seen = 0;
    for (int i = 0; i < self->records.count; i++) {
        const nadir_npy_field *field = &self->records.fields[i];
        const nadir_cursor name = {field->name, field->name + strlen(field->name)};
        const char *called;
        const int which = nadir_csv_find_column(NADIR_DATA_COLUMNS, data_columns, name, &called);
        if (which < 0 || NADIR_DATA_HAS(seen, which)) {
            return nadir_fail(collector->context, NADIR_ERROR_FORMAT, "%s: %s field `%s`", collector->path,
                              which < 0 ? "unknown" : "a second", field->name);
        }
        if (field->type.kind >= NADIR_NPY_TEXT) {
            return nadir_fail(collector->context, NADIR_ERROR_FORMAT,
                              "%s: field `%s` holds text; expected numbers", collector->path, field->name);
        }
        seen |= 1U << which;
        self->columns[self->count].which = which;
        self->columns[self->count++].field = *field;
    }
    self->length = header->shape[0];
    self->stride = header->type.item_bytes;
    return NADIR_OK;
}

static const int64_t *integers_of(const reader *self, int which)
{
    for (int i = 0; i < self->count; i++) {
        if (self->columns[i].which == which) {
            return self->columns[i].integers;
        }
    }
    return NULL;
}

static nadir_status prepare(reader *self)
{
    nadir_status status = NADIR_OK;
    nadir_data_collector *collector = self->collector;
    NADIR_CHECK(self->records.count > 0 ? record_columns(self) : plain_columns(self));
    collector->records = true;
    for (int i = 0; i < self->count; i++) {
        column *own = &self->columns[i];
        collector->columns |= 1U << own->which;
        if (NADIR_DATA_HAS(NUMBERS, own->which)) {
            NADIR_NEW(collector->context, own->numbers, PIECE);
        } else {
            NADIR_NEW(collector->context, own->integers, PIECE);
        }
    }
    NADIR_CHECK(tell_kind(collector->context, collector->path, collector->columns, &collector->kind));
    self->states = integers_of(self, NADIR_DATA_STATE);
    self->actions = integers_of(self, NADIR_DATA_ACTION);
    self->successors = integers_of(self, NADIR_DATA_SUCCESSOR);
    if (self->successors == NULL) {
        self->successors = self->states + 1;
    }
    if (self->length > 0) { /* a record is then no longer than the file */
        const int64_t bytes = self->npy.header.type.item_bytes * (self->records.count > 0 ? 1 : self->count);
        const int64_t fit = PIECE_BYTES / bytes;
        self->piece = fit < 1 ? 1 : fit < PIECE ? fit : PIECE;
        NADIR_NEW(collector->context, self->raw, self->piece * bytes);
    }
cleanup:
    return status;
}

static nadir_status read_items(reader *self, int64_t index, unsigned char *into, int64_t bytes)
{
    size_t got;
    const nadir_status status =
        nadir_input_read_at(self->collector->context, &self->file.input, self->npy.header_bytes + index, into,
                            (size_t)bytes, &got);
    if (status == NADIR_OK && (int64_t)got < bytes) {
        return nadir_fail(self->collector->context, NADIR_ERROR_FORMAT,
                          "%s: ends before its last record; did it shrink meanwhile?", self->collector->path);
    }
    return status;
}

/* The bytes of records first .. first + count - 1. */
static nadir_status read_piece(reader *self, int64_t first, int64_t count)
{
    const bool fortran = self->npy.header.fortran && self->records.count == 0;
    if (!fortran) {
        NADIR_TRY(read_items(self, first * self->stride, self->raw, count * self->stride));
    }
    for (int i = 0; i < self->count; i++) {
        column *own = &self->columns[i];
        own->items = self->raw + own->field.offset;
        if (fortran) {
            unsigned char *into = self->raw + self->piece * own->field.offset;
            NADIR_TRY(
                read_items(self, (i * self->length + first) * self->stride, into, count * self->stride));
            own->items = into;
        }
    }
    return NADIR_OK;
}

static nadir_status convert_piece(reader *self, int64_t first, int64_t count)
{
    for (int i = 0; i < self->count; i++) {
        column *own = &self->columns[i];
        NADIR_TRY(nadir_npy_field_numbers(&self->npy, &own->field, first, count, own->items, self->stride,
                                          own->numbers, own->integers));
    }
    return NADIR_OK;
}

/* Arrays have no empty cells: a negative action or next state, and a reward that is no number, stand for them
 * where a last step may have them. */
static void leave_out(nadir_data_row *row)
{
    if (row->action < 0) {
        row->there &= ~(1U << NADIR_DATA_ACTION);
    }
    if (NADIR_DATA_HAS(row->there, NADIR_DATA_SUCCESSOR) && row->successor < 0) {
        row->there &= ~(1U << NADIR_DATA_SUCCESSOR);
    }
    if (NADIR_DATA_HAS(row->there, NADIR_DATA_REWARD) && isnan(row->reward)) {
        row->there &= ~(1U << NADIR_DATA_REWARD);
    }
}

/* Has the table prepare for the records to come. */
static void look_ahead(const reader *self, int64_t k, int64_t count)
{
    for (int near = 0; near < 2; near++) {
        const int64_t index = k + (near == 0 ? AHEAD : AHEAD / 2);
        if (index + 1 < count) {
            nadir_data_table_expect(&self->collector->table, self->states[index], self->actions[index],
                                    self->successors[index], near == 1);
        }
    }
}

static nadir_status collect_piece(reader *self, int64_t first, int64_t count)
{
    nadir_data_collector *collector = self->collector;
    for (int64_t k = 0; k < count; k++) {
        for (int i = 0; i < self->count; i++) {
            const column *own = &self->columns[i];
            memcpy(row_member(&self->row, own->which),
                   own->integers != NULL ? (void *)&own->integers[k] : (void *)&own->numbers[k], 8);
        }
        look_ahead(self, k, count);
        self->row.line = first + k;
        self->row.there = collector->columns;
        if (collector->kind == NADIR_DATA_TRAJECTORIES) {
            leave_out(&self->row);
        }
        NADIR_TRY(nadir_data_collect(collector, &self->row));
    }
    return NADIR_OK;
}

static nadir_status read_npy(nadir_data_collector *collector)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = collector->context;
    reader self = {.collector = collector};
    nadir_npy_source source;
    NADIR_CHECK(nadir_npy_file_open(context, collector->path, &self.file, &source));
    NADIR_CHECK(nadir_npy_open(context, &source, &self.records, &self.npy));
    NADIR_CHECK(prepare(&self));
    for (int64_t first = 0; first < self.length; first += self.piece) {
        const int64_t count = self.length - first < self.piece ? self.length - first : self.piece;
        NADIR_CHECK(read_piece(&self, first, count));
        NADIR_CHECK(convert_piece(&self, first, count));
        NADIR_CHECK(collect_piece(&self, first, count));
        NADIR_CHECK(nadir_progress(context, "reading", (double)first / (double)self.length));
    }
cleanup:
    for (int i = 0; i < NADIR_DATA_COLUMNS; i++) {
        NADIR_RELEASE(context, self.columns[i].integers, self.columns[i].numbers);
    }
    nadir_release(context, self.raw);
    nadir_npy_close(&self.npy);
    nadir_input_close(&self.file.input);
    return status;
}

/* ---- Files ---- */

nadir_status nadir_data_read(nadir_context *context, const char *path, const nadir_data_settings *settings,
                             nadir_data *data)
{
    nadir_status status = NADIR_OK;
    const bool standard = strcmp(path, "-") == 0;
    bool array = false;
    nadir_data_collector collector = {0};
    *data = (nadir_data){0};
    NADIR_CHECK(
        nadir_data_collector_start(context, standard ? "standard input" : path, settings, &collector));
    if (!standard) {
        NADIR_CHECK(nadir_npy_recognises(context, path, &array));
    }
    NADIR_CHECK(array ? read_npy(&collector) : read_csv(&collector, standard));
    NADIR_CHECK(nadir_data_collect_end(&collector));
    data->kind = collector.kind;
    NADIR_CHECK(collector.kind == NADIR_DATA_SAMPLES ? nadir_samples_make(&collector, &data->samples)
                                                     : nadir_counts_make(&collector, &data->counts));
cleanup:
    nadir_data_collector_clear(&collector);
    return status;
}

/* ---- Fits -------------------------------------------------------------------------------------------- */

static int64_t most_actions(const nadir_counts *counts)
{
    int64_t most = 0;
    for (int64_t state = 0; state < counts->states; state++) {
        const int64_t actions = counts->state_rows[state + 1] - counts->state_rows[state];
        most = actions > most ? actions : most;
    }
    return most;
}

/* The transitions that are allowed, laid out as the data are. */
static nadir_status read_listed(nadir_context *context, const nadir_counts *counts,
                                const nadir_fit_settings *settings, nadir_data *listed)
{
    const nadir_data_settings reading = {.states = counts->states,
                                         .actions = settings->ragged ? 0 : most_actions(counts),
                                         .ragged = settings->ragged};
    const nadir_status status = nadir_data_read(context, settings->successors, &reading, listed);
    if (status != NADIR_OK) {
        return status;
    }
    bool same = listed->counts != NULL && listed->counts->rows == counts->rows;
    for (int64_t state = 0; same && state < counts->states; state++) {
        same = listed->counts->state_rows[state] == counts->state_rows[state];
    }
    return same ? NADIR_OK
                : nadir_fail(context, NADIR_ERROR_MODEL,
                             "%s lists other states and actions than the data have; expected a list of "
                             "transitions of the same ones",
                             settings->successors);
}

nadir_status nadir_fit_read(nadir_context *context, const char *path, const nadir_fit_settings *settings,
                            nadir_fit **fit)
{
    nadir_status status = NADIR_OK;
    nadir_data data = {0};
    nadir_data listed = {0};
    nadir_fit *made = NULL;
    nadir_fit_settings use;
    nadir_fit_options options;
    nadir_fit_settings_default(&use);
    if (settings != NULL && !nadir_settings_copy(&use, sizeof use, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the fit settings is not set");
    }
    /* what is wrong with any data is said before they are read */
    NADIR_CHECK(nadir_fit_check_settings(context, &use, NADIR_DATA_TRANSITIONS, &options));
    const nadir_data_settings reading = {.states = use.states, .actions = use.actions, .ragged = use.ragged};
    NADIR_CHECK(nadir_data_read(context, path, &reading, &data));
    NADIR_CHECK(nadir_fit_check_settings(context, &use, data.kind, &options));
    if (nadir_fit_names_file(&use)) {
        NADIR_CHECK(read_listed(context, data.counts, &use, &listed));
    }
    NADIR_CHECK(nadir_fit_create(context, &data, &listed, &use, &made));
    if (use.initial != NULL) {
        NADIR_CHECK(nadir_initial_read(context, made->nominal, use.initial, made->nominal->initial));
    }
    *fit = made;
    made = NULL;
cleanup:
    nadir_data_clear(context, &data);
    nadir_data_clear(context, &listed);
    nadir_fit_free(made);
    return status;
}

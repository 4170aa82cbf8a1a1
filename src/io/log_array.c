/*
 * log_array.c: logged data as NumPy arrays, read in pieces; see format.h and log_file.h.
 *
 * The raw bytes of a piece are read (in Fortran order: a stretch of each column), each field is converted
 * in one loop, and the records go to the collector one by one.
 */
#include "io/log_file.h"
#include "io/npy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    nadir_log_names names; /* of the fields */
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
        (void)snprintf(field->name, sizeof field->name, "%s", nadir_log_columns[order[i]].names[0]);
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
        const int which = nadir_csv_find_column(NADIR_DATA_COLUMNS, self->names.columns, name, &called);
        if (which < 0 && self->names.given) {
            continue;
        }
        if (which < 0 || NADIR_DATA_HAS(seen, which)) {
            return nadir_fail(
                collector->context, NADIR_ERROR_FORMAT,
                "%s: %s field `%s`; take it out, or say which are which as state=NAME,action=NAME,...",
                collector->path, which < 0 ? "unknown" : "a second", field->name);
        }
        if (field->type.kind >= NADIR_NPY_TEXT) {
            return nadir_fail(collector->context, NADIR_ERROR_FORMAT,
                              "%s: field `%s` holds text; expected numbers (names are read from CSV)",
                              collector->path, field->name);
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
    NADIR_CHECK(nadir_log_names_make(collector->context, collector->settings.columns, &self->names));
    NADIR_CHECK(self->records.count > 0 ? record_columns(self) : plain_columns(self));
    collector->records = true;
    for (int i = 0; i < self->count; i++) {
        column *own = &self->columns[i];
        collector->columns |= 1U << own->which;
        if (NADIR_DATA_HAS(NADIR_LOG_NUMBERS, own->which)) {
            NADIR_NEW(collector->context, own->numbers, PIECE);
        } else {
            NADIR_NEW(collector->context, own->integers, PIECE);
        }
    }
    NADIR_CHECK(nadir_log_kind(collector->context, collector->path, collector->columns, &collector->kind));
    NADIR_CHECK(nadir_log_names_check(&self->names, collector));
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
static void leave_out(nadir_data_row *row, unsigned optional)
{
    const unsigned missing = (row->action < 0 ? 1U << NADIR_DATA_ACTION : 0) |
                             (row->successor < 0 ? 1U << NADIR_DATA_SUCCESSOR : 0) |
                             (isnan(row->reward) ? 1U << NADIR_DATA_REWARD : 0);
    row->there &= ~(missing & optional);
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
            memcpy(nadir_log_member(&self->row, own->which),
                   own->integers != NULL ? (void *)&own->integers[k] : (void *)&own->numbers[k], 8);
        }
        look_ahead(self, k, count);
        self->row.line = first + k;
        self->row.there = collector->columns;
        leave_out(&self->row, nadir_log_optional(collector));
        NADIR_TRY(nadir_data_collect(collector, &self->row));
    }
    return NADIR_OK;
}

nadir_status nadir_log_read_array(nadir_data_collector *collector)
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

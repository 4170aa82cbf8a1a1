/*
 * log_npy.c: data as NumPy arrays, read in pieces; see log_file.h.
 *
 * The raw bytes of a piece are read (in Fortran order: a stretch of each column), each field is converted
 * in one loop, and the records go to the collector one by one.
 */
#include "io/format.h"

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
    int64_t *integer; /* the member of the row, or */
    double *number;
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
    if (header->kind >= NADIR_NPY_TEXT || header->dimensions != 2 ||
        (header->shape[1] != 3 && header->shape[1] != 4)) {
        return shape_fail(self);
    }
    self->count = (int)header->shape[1];
    self->length = header->shape[0];
    self->stride = header->fortran ? header->item_bytes : self->count * header->item_bytes;
    for (int i = 0; i < self->count; i++) {
        nadir_npy_field *field = &self->columns[i].field;
        *field =
            (nadir_npy_field){{0}, header->kind, header->item_bytes, header->swapped, i * header->item_bytes};
        (void)snprintf(field->name, sizeof field->name, "%s", nadir_data_columns[order[i]].names[0]);
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
        const int which =
            nadir_data_find_column((nadir_cursor){field->name, field->name + strlen(field->name)});
        if (which < 0 || NADIR_DATA_HAS(seen, which)) {
            return nadir_fail(collector->context, NADIR_ERROR_FORMAT, "%s: %s field `%s`", collector->path,
                              which < 0 ? "unknown" : "a second", field->name);
        }
        if (field->kind >= NADIR_NPY_TEXT) {
            return nadir_fail(collector->context, NADIR_ERROR_FORMAT,
                              "%s: field `%s` holds text; expected numbers", collector->path, field->name);
        }
        seen |= 1U << which;
        self->columns[self->count].which = which;
        self->columns[self->count++].field = *field;
    }
    self->length = header->shape[0];
    self->stride = header->item_bytes;
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
        own->integer = nadir_data_row_integer(&self->row, own->which);
        own->number = nadir_data_row_double(&self->row, own->which);
        if (own->integer != NULL) {
            NADIR_NEW(collector->context, own->integers, PIECE);
        } else {
            NADIR_NEW(collector->context, own->numbers, PIECE);
        }
    }
    NADIR_CHECK(nadir_data_tell(collector->context, collector->path, collector->columns, &collector->kind));
    self->states = integers_of(self, NADIR_DATA_STATE);
    self->actions = integers_of(self, NADIR_DATA_ACTION);
    self->successors = integers_of(self, NADIR_DATA_SUCCESSOR);
    if (self->successors == NULL) {
        self->successors = self->states + 1;
    }
    if (self->length > 0) { /* a record is then no longer than the file */
        const int64_t bytes = self->npy.header.item_bytes * (self->records.count > 0 ? 1 : self->count);
        const int64_t fit = PIECE_BYTES / bytes;
        self->piece = fit < 1 ? 1 : fit < PIECE ? fit : PIECE;
        NADIR_NEW(collector->context, self->raw, self->piece * bytes);
    }
cleanup:
    return status;
}

static nadir_status read_bytes(reader *self, int64_t index, unsigned char *into, int64_t bytes)
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
    nadir_status status = NADIR_OK;
    const bool fortran = self->npy.header.fortran && self->records.count == 0;
    if (!fortran) {
        NADIR_CHECK(read_bytes(self, first * self->stride, self->raw, count * self->stride));
    }
    for (int i = 0; i < self->count; i++) {
        column *own = &self->columns[i];
        own->items = self->raw + own->field.offset;
        if (fortran) {
            unsigned char *into = self->raw + self->piece * own->field.offset;
            NADIR_CHECK(
                read_bytes(self, (i * self->length + first) * self->stride, into, count * self->stride));
            own->items = into;
        }
    }
cleanup:
    return status;
}

static nadir_status convert_piece(reader *self, int64_t first, int64_t count)
{
    nadir_status status = NADIR_OK;
    for (int i = 0; i < self->count; i++) {
        column *own = &self->columns[i];
        NADIR_CHECK(own->integer != NULL ? nadir_npy_field_int64s(&self->npy, &own->field, first, count,
                                                                  own->items, self->stride, own->integers)
                                         : nadir_npy_field_doubles(&self->npy, &own->field, first, count,
                                                                   own->items, self->stride, own->numbers));
    }
cleanup:
    return status;
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
    nadir_status status = NADIR_OK;
    nadir_data_collector *collector = self->collector;
    for (int64_t k = 0; k < count; k++) {
        for (int i = 0; i < self->count; i++) {
            const column *own = &self->columns[i];
            if (own->integer != NULL) {
                *own->integer = own->integers[k];
            } else {
                *own->number = own->numbers[k];
            }
        }
        look_ahead(self, k, count);
        self->row.line = first + k;
        self->row.there = collector->columns;
        if (collector->kind == NADIR_DATA_TRAJECTORIES) {
            leave_out(&self->row);
        }
        NADIR_CHECK(nadir_data_collect(collector, &self->row));
    }
cleanup:
    return status;
}

nadir_status nadir_data_read_npy(nadir_data_collector *collector)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = collector->context;
    reader self = {.collector = collector};
    nadir_npy_source source;
    NADIR_CHECK(nadir_npy_file_open(context, collector->path, &self.file, &source));
    NADIR_CHECK(nadir_npy_open_records(context, &source, &self.records, &self.npy));
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
        nadir_release(context, self.columns[i].integers);
        nadir_release(context, self.columns[i].numbers);
    }
    nadir_release(context, self.raw);
    nadir_npy_close(&self.npy);
    nadir_input_close(&self.file.input);
    return status;
}

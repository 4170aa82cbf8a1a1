/*
 * csv_cells.h: the grammar of comma-separated tables, shared by the models and the policies kept in them.
 *
 *     table   = { skipped } header { skipped | row }
 *     skipped = a blank line, or one whose first character that is not blank is `#`
 *     header  = cell { "," cell }     the names of the columns, in any order and any case
 *     row     = cell { "," cell }     as many cells as the header has
 *     cell    = characters without a comma, or any within double quotes; blanks around it do not count
 *
 * A quote within quotes is written twice, as everywhere; such cells are given out as they stand.
 */
#ifndef NADIR_IO_CSV_CELLS_H
#define NADIR_IO_CSV_CELLS_H

#include "io/text_reader.h"
#include "model/model.h"

/* Takes the next cell, without its quotes and the blanks at both ends; false when the line has no further
 * one. The last cell leaves line->at NULL, so that an empty cell after a trailing comma is still found. */
bool nadir_csv_next_cell(nadir_cursor *line, nadir_cursor *cell);

#define NADIR_CSV_COLUMNS 9 /* at most, in a table that a reader asks for */
#define NADIR_CSV_NAMES   3

/* A column that the reader knows. */
typedef struct nadir_csv_column {
    const char *
        names[NADIR_CSV_NAMES]; /* any of them; messages use the file's, or the first; unused ones are NULL */
    bool optional;
} nadir_csv_column;

/* Where the columns are. */
typedef struct nadir_csv_header {
    const nadir_csv_column *columns; /* [count] as given */
    int count;
    int64_t width;                         /* cells of every row */
    int64_t positions[NADIR_CSV_COLUMNS];  /* [count] of the column in a row, from 0; -1: an optional one that
                                              is not there */
    const char *called[NADIR_CSV_COLUMNS]; /* [count] which of its names the file uses; NULL: not there */
    int order[NADIR_CSV_COLUMNS];          /* [found] the columns that are there, from left to right */
    int found;
} nadir_csv_header;

/* Reads the header. Columns that are missing or named twice are errors; those the reader does not know are
 * named in one notice. columns, [count], are kept, not copied. */
nadir_status nadir_csv_read_header(nadir_text *text, int count, const nadir_csv_column *columns,
                                   nadir_csv_header *header);

/* The same, where columns that the reader does not know are an error. */
nadir_status nadir_csv_read_exact_header(nadir_text *text, int count, const nadir_csv_column *columns,
                                         nadir_csv_header *header);

/* The cells of the next row, in the order of the columns given; {NULL, NULL} for columns not there. Valid
 * until the next line is read; *more is false at the end of the file. */
nadir_status nadir_csv_read_row(nadir_text *text, const nadir_csv_header *header,
                                nadir_cursor cells[NADIR_CSV_COLUMNS], bool *more);

/* The number in the cell of column `which`. Integers may also be written 3.0 or 3e0. */
nadir_status nadir_csv_integer(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                               int which, int64_t *value);
nadir_status nadir_csv_double(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                              int which, double *value);

/* Names with the way back to their numbers. A struct of zeros is closed. */
typedef struct nadir_lookup {
    const nadir_names *names;
    nadir_name_index index;
} nadir_lookup;

/* A table with a number for each state, or each state and action: columns 0: the state, 1: the action, 2: the
 * number. A column 1 without names is not looked for. A struct of zeros is closed. */
typedef struct nadir_state_table {
    nadir_text text;
    nadir_csv_header header;
    nadir_lookup states, actions;
    int64_t state,
        action;    /* of the line; they may lie outside the model. Without the column the action is 0 */
    double number; /* 1 without the column */
} nadir_state_table;

/* columns, [3], and names are kept, not copied. Close it in any case. */
nadir_status nadir_state_table_open(nadir_context *context, const char *path, const nadir_csv_column *columns,
                                    const nadir_names *state_names, const nadir_names *action_names,
                                    nadir_state_table *table);
/* The next line; *more is false at the end of the file. */
nadir_status nadir_state_table_next(nadir_state_table *table, bool *more);
/* The number of this line, for messages about later ones. */
uint32_t nadir_state_table_line(const nadir_state_table *table);
void nadir_state_table_close(nadir_context *context, nadir_state_table *table);

#endif

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
 * one. The last cell leaves line->at NULL, so that an empty cell after a trailing comma is still found. *open: a quote
 * opens at the cell's beginning and does not close at its end. */
bool nadir_csv_next_cell(nadir_cursor *line, nadir_cursor *cell, bool *open);

#define NADIR_CSV_COLUMNS 12 /* at most, in a table that a reader asks for */
#define NADIR_CSV_NAMES   7

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

/* Reads the header. Columns that are missing or named twice are errors; those the reader does not know are an
 * error too where it is `exact`, else named in one notice. Columns without a name are told and not used. columns, [count], are kept, not copied. */
nadir_status nadir_csv_read_header(nadir_text *text, int count, const nadir_csv_column *columns, bool exact,
                                   nadir_csv_header *header);

/* Which column a cell of the header names, and by which of its names; -1: none. */
int nadir_csv_find_column(int count, const nadir_csv_column *columns, nadir_cursor cell, const char **called);

/* The cells of the next row, in the order of the columns given; {NULL, NULL} for columns not there. Valid
 * until the next line is read; *more is false at the end of the file. */
nadir_status nadir_csv_read_row(nadir_text *text, const nadir_csv_header *header,
                                nadir_cursor cells[NADIR_CSV_COLUMNS], bool *more);

/* Whether a cell is a whole number, also written 3.0 or 3e0. *value is set only then. */
bool nadir_csv_whole(nadir_cursor cell, int64_t *value);

/* The number in the cell of column `which`. Integers may also be written 3.0 or 3e0. */
nadir_status nadir_csv_integer(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                               int which, int64_t *value);
nadir_status nadir_csv_double(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                              int which, double *value);

/* The number that the cell of column `which` holds, or that its name has among the words. */
nadir_status nadir_csv_label(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                             int which, nadir_words *words, int64_t *number);

/* ---- Numbers of states or rows ---- */

/* A number for each state, or each row, of a model. */
typedef struct nadir_state_numbers {
    nadir_context *context;
    const nadir_model *model;
    const char *path;
    nadir_status failure; /* of numbers that do not fit the model */
    bool by_row;          /* one for each row, not for each state */
    double *numbers;      /* [rows] or [states] */
    uint32_t *lines;      /* the same: where each was given, 0: nowhere; NULL: the file has no lines */
} nadir_state_numbers;

/* "FILE:LINE: state 3, action 1: " before the sentence; line 0: without; row < 0: of the state as a whole. */
nadir_status nadir_state_numbers_fail(const nadir_state_numbers *self, int64_t state, int64_t row,
                                      int64_t line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Reads a table with the columns 0: the state, 1: the action, which tells whether the numbers are those of rows,
 * and 2: the number, 1 without the column. A column 1 without names is not looked for. Columns state_name and
 * action_name, beside numbers, count instead of these where the model has names. Makes numbers and lines, all
 * zero, which the caller releases, also after a failure. Of states spread over processes the own ones are kept. */
nadir_status nadir_state_numbers_read(nadir_state_numbers *self, const nadir_csv_column columns[3]);

/* Numbers of rows: as .npy by the ending, (S, A) where all states have the actions 0 .. A - 1, else (rows); or CSV
 * idstate,idaction,NAME, without those that are 0 unless `zeros`. Process 0 writes what it has collected from
 * all. */
nadir_status nadir_row_numbers_write(nadir_context *context, const nadir_model *model, const char *name,
                                     const double *numbers, bool zeros, const char *path);

#endif

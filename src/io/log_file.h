/*
 * log_file.h: files of logged data: CSV tables (csv_cells.h), and NumPy arrays: records whose fields have
 * the names of the columns, or plain arrays of shape (N, 3) or (N, 4) with state, action, next state and
 * reward.
 */
#ifndef NADIR_IO_LOG_FILE_H
#define NADIR_IO_LOG_FILE_H

#include "fit/data.h"
#include "io/csv_cells.h"

/* Reads a file; path "-": standard input, as CSV. settings NULL: all zero. Wrong data are NADIR_ERROR_FORMAT
 * with file and line. On failure *data is empty; nadir_data_clear is legal in any case. */
nadir_status nadir_data_read(nadir_context *context, const char *path, const nadir_data_settings *settings,
                             nadir_data *data);

/* Give all rows of collector->path to the collector, whose kind and columns they set; standard: of standard
 * input instead. */
nadir_status nadir_data_read_csv(nadir_data_collector *collector, bool standard);
nadir_status nadir_data_read_npy(nadir_data_collector *collector);

extern const nadir_csv_column nadir_data_columns[NADIR_DATA_COLUMNS];

/* The column of this name; -1: none. */
int nadir_data_find_column(nadir_cursor name);

/* What a file with these columns (bit i: column i is there) holds; NADIR_ERROR_FORMAT, which begins with
 * `place` ("data.csv:1"), when they make no sense together. */
nadir_status nadir_data_tell(nadir_context *context, const char *place, unsigned columns,
                             nadir_data_kind *kind);

/* Where the value of a column goes: exactly one of the two is not NULL. */
int64_t *nadir_data_row_integer(nadir_data_row *row, int which);
double *nadir_data_row_double(nadir_data_row *row, int which);

#endif

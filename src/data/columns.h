/* columns.h: the columns of data files, and what they tell about the data. */
#ifndef NADIR_DATA_COLUMNS_H
#define NADIR_DATA_COLUMNS_H

#include "data/data.h"
#include "io/csv_cells.h"

enum {
    NADIR_DATA_STATE,
    NADIR_DATA_ACTION,
    NADIR_DATA_SUCCESSOR,
    NADIR_DATA_REWARD,
    NADIR_DATA_COUNT,
    NADIR_DATA_EPISODE,
    NADIR_DATA_STEP,
    NADIR_DATA_OUTCOME,
    NADIR_DATA_PROBABILITY,
    NADIR_DATA_COLUMNS
};

#define NADIR_DATA_HAS(columns, which) (((columns) >> (which)&1U) != 0)

extern const nadir_csv_column nadir_data_columns[NADIR_DATA_COLUMNS];

/* The column of this name; -1: none. */
int nadir_data_find_column(nadir_cursor name);

/* What a file with these columns (bit i: column i is there) holds; NADIR_ERROR_FORMAT, which begins with
 * `place`
 * ("data.csv:1"), when they make no sense together. */
nadir_status nadir_data_tell(nadir_context *context, const char *place, unsigned columns,
                             nadir_data_kind *kind);

/* One line of a CSV file or one record of an array. */
typedef struct nadir_data_row {
    int64_t line;   /* of the file from 1, or number of the record from 0 */
    unsigned there; /* bit i: column i has a value */
    int64_t state, action, successor, episode, step, outcome;
    double reward, count, probability;
} nadir_data_row;

/* Where the value of a column goes: exactly one of the two is not NULL. */
int64_t *nadir_data_row_integer(nadir_data_row *row, int which);
double *nadir_data_row_double(nadir_data_row *row, int which);

#endif

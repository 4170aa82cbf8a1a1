/* log_file.h: the columns of logged data, whether they stand in a table or in an array. */
#ifndef NADIR_IO_LOG_FILE_H
#define NADIR_IO_LOG_FILE_H

#include "fit/data.h"
#include "io/csv_cells.h"

/* The columns that hold real numbers; the others are integers. */
#define NADIR_LOG_NUMBERS                                                                                    \
    (1U << NADIR_DATA_REWARD | 1U << NADIR_DATA_COUNT | 1U << NADIR_DATA_TIME | 1U << NADIR_DATA_PROBABILITY)

/* The common names of all columns. */
extern const nadir_csv_column nadir_log_columns[NADIR_DATA_COLUMNS];

/* The names of columns, with those that were given. Points into itself: not to be copied. */
typedef struct nadir_log_names {
    nadir_csv_column columns[NADIR_DATA_COLUMNS];
    unsigned given; /* bit i: column i was; then columns that nobody knows are left out */
    char text[1024];
} nadir_log_names;

/* given: "state=NAME,action=NAME,..." or NULL. */
nadir_status nadir_log_names_make(nadir_context *context, const char *given, nadir_log_names *names);
/* Fails where a column that was given is not among those of the collector. */
nadir_status nadir_log_names_check(const nadir_log_names *names, const nadir_data_collector *collector);

/* What a file with these columns (bit i: column i is there) holds; NADIR_ERROR_FORMAT, which begins with
 * `place` ("data.csv:1"), when they make no sense together. */
nadir_status nadir_log_kind(nadir_context *context, const char *place, unsigned columns,
                            nadir_data_kind *kind);

/* Where the value of a column goes: a double, or an int64_t. */
void *nadir_log_member(nadir_data_row *row, int which);

/* The columns of which lines may be without: the last step of an episode needs no action, next state or reward. Whether
 * others may be is checked by the collector. */
unsigned nadir_log_optional(const nadir_data_collector *collector);

/* Gives all records of collector->path, a .npy file, to the collector, whose kind and columns they set. */
nadir_status nadir_log_read_array(nadir_data_collector *collector);

#endif

/* lookup.h: states and actions that a table gives by number or by name. */
#ifndef NADIR_IO_LOOKUP_H
#define NADIR_IO_LOOKUP_H

#include "io/csv/csv_cells.h"
#include "model/names.h"

/* Names with the way back to their numbers. A struct of zeros is closed. */
typedef struct nadir_lookup {
    const nadir_names *names;
    nadir_name_index index;
} nadir_lookup;

/* names are kept, not copied. Of two that are the same the first counts. */
nadir_status nadir_lookup_open(nadir_context *context, const nadir_names *names, nadir_lookup *lookup);
void nadir_lookup_close(nadir_context *context, nadir_lookup *lookup);

/* The number that the cell of column `which` gives; a number is never taken for a name. It may lie outside
 * the model. */
nadir_status nadir_lookup_cell(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                               int which, const nadir_lookup *lookup, int64_t *number);

#endif

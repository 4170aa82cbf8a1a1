/* lookup.c: states and actions that a table gives by number or by name; see lookup.h. */
#include "io/lookup.h"

nadir_status nadir_lookup_open(nadir_context *context, const nadir_names *names, nadir_lookup *lookup)
{
    nadir_status status = NADIR_OK;
    int64_t existing;
    *lookup = (nadir_lookup){.names = names};
    for (int64_t i = 0; i < names->count; i++) {
        NADIR_CHECK(nadir_name_index_add(context, &lookup->index, names, i, &existing));
    }
cleanup:
    return status;
}

void nadir_lookup_close(nadir_context *context, nadir_lookup *lookup)
{
    nadir_name_index_clear(context, &lookup->index);
}

nadir_status nadir_lookup_cell(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                               int which, const nadir_lookup *lookup, int64_t *number)
{
    const nadir_cursor cell = cells[which];
    if (!nadir_cursor_is_integer(cell, number)) {
        *number = nadir_name_index_find(&lookup->index, lookup->names, cell.at, (size_t)(cell.end - cell.at));
        if (*number < 0) {
            return nadir_csv_integer(text, header, cells, which, number);
        }
    }
    return NADIR_OK;
}

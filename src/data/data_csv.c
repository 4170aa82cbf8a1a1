/* data_csv.c: data as comma-separated tables, read row by row; the grammar is that of csv_cells.h. */
#include "data/data_csv.h"

#include <stdio.h>

static nadir_status read_header(nadir_data_collector *collector, nadir_text *text, nadir_csv_header *header)
{
    nadir_status status = NADIR_OK;
    char place[4200];
    NADIR_CHECK(nadir_csv_read_exact_header(text, NADIR_DATA_COLUMNS, nadir_data_columns, header));
    for (int i = 0; i < NADIR_DATA_COLUMNS; i++) {
        collector->columns |= header->positions[i] >= 0 ? 1U << i : 0U;
    }
    (void)snprintf(place, sizeof place, "%s:%lld", text->path, (long long)text->line);
    NADIR_CHECK(nadir_data_tell(collector->context, place, collector->columns, &collector->kind));
cleanup:
    return status;
}

/* Whether the cell has a value; only the last step of an episode may have none. */
static bool is_there(const nadir_data_collector *collector, const nadir_cursor *cells, int which)
{
    const bool may_be_empty =
        collector->kind == NADIR_DATA_TRAJECTORIES &&
        (which == NADIR_DATA_ACTION || which == NADIR_DATA_SUCCESSOR || which == NADIR_DATA_REWARD);
    return NADIR_DATA_HAS(collector->columns, which) && (!may_be_empty || cells[which].at < cells[which].end);
}

static nadir_status read_cells(const nadir_data_collector *collector, nadir_text *text,
                               const nadir_csv_header *header, const nadir_cursor *cells, nadir_data_row *row)
{
    nadir_status status = NADIR_OK;
    int64_t *const integers[NADIR_DATA_COLUMNS] = {
        [NADIR_DATA_STATE] = &row->state,         [NADIR_DATA_ACTION] = &row->action,
        [NADIR_DATA_SUCCESSOR] = &row->successor, [NADIR_DATA_EPISODE] = &row->episode,
        [NADIR_DATA_STEP] = &row->step,           [NADIR_DATA_OUTCOME] = &row->outcome,
    };
    double *const doubles[NADIR_DATA_COLUMNS] = {
        [NADIR_DATA_REWARD] = &row->reward,
        [NADIR_DATA_COUNT] = &row->count,
        [NADIR_DATA_PROBABILITY] = &row->probability,
    };
    row->line = text->line;
    row->there = 0;
    for (int k = 0; k < header->found; k++) {
        const int which = header->order[k];
        if (!is_there(collector, cells, which)) {
            continue;
        }
        row->there |= 1U << which;
        NADIR_CHECK(integers[which] != NULL ? nadir_csv_integer(text, header, cells, which, integers[which])
                                            : nadir_csv_double(text, header, cells, which, doubles[which]));
    }
cleanup:
    return status;
}

nadir_status nadir_data_read_csv(nadir_data_collector *collector, bool standard)
{
    nadir_status status = NADIR_OK;
    nadir_text text = {0};
    nadir_csv_header header;
    nadir_cursor cells[NADIR_CSV_COLUMNS];
    nadir_data_row row = {0};
    NADIR_CHECK(standard ? nadir_text_open_standard(collector->context, &text)
                         : nadir_text_open(collector->context, collector->path, &text));
    NADIR_CHECK(read_header(collector, &text, &header));
    for (;;) {
        bool more;
        NADIR_CHECK(nadir_csv_read_row(&text, &header, cells, &more));
        if (!more) {
            break;
        }
        NADIR_CHECK(read_cells(collector, &text, &header, cells, &row));
        NADIR_CHECK(nadir_data_collect(collector, &row));
    }
cleanup:
    nadir_text_close(&text);
    return status;
}

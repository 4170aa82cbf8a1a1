/* log_csv.c: data as comma-separated tables, read row by row; the grammar is that of csv_cells.h. */
#include "io/format.h"

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

/* Where the cells of a row go: the columns of the file from left to right. */
typedef struct target {
    int64_t *integer; /* or */
    double *number;
    int which;
    bool may_be_empty; /* the last step of an episode needs no action, next state or reward */
} target;

static void aim(const nadir_data_collector *collector, const nadir_csv_header *header, nadir_data_row *row,
                target targets[NADIR_DATA_COLUMNS])
{
    for (int k = 0; k < header->found; k++) {
        const int which = header->order[k];
        targets[k] = (target){
            .which = which,
            .integer = nadir_data_row_integer(row, which),
            .number = nadir_data_row_double(row, which),
            .may_be_empty =
                collector->kind == NADIR_DATA_TRAJECTORIES &&
                (which == NADIR_DATA_ACTION || which == NADIR_DATA_SUCCESSOR || which == NADIR_DATA_REWARD),
        };
    }
}

static nadir_status read_cells(nadir_text *text, const nadir_csv_header *header, const nadir_cursor *cells,
                               const target *targets, nadir_data_row *row)
{
    nadir_status status = NADIR_OK;
    row->line = text->line;
    row->there = 0;
    for (int k = 0; k < header->found; k++) {
        const target *to = &targets[k];
        if (to->may_be_empty && cells[to->which].at == cells[to->which].end) {
            continue;
        }
        row->there |= 1U << to->which;
        NADIR_CHECK(to->integer != NULL ? nadir_csv_integer(text, header, cells, to->which, to->integer)
                                        : nadir_csv_double(text, header, cells, to->which, to->number));
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
    target targets[NADIR_DATA_COLUMNS];
    NADIR_CHECK(standard ? nadir_text_open_standard(collector->context, &text)
                         : nadir_text_open(collector->context, collector->path, &text));
    NADIR_CHECK(read_header(collector, &text, &header));
    aim(collector, &header, &row, targets);
    for (;;) {
        bool more;
        NADIR_CHECK(nadir_csv_read_row(&text, &header, cells, &more));
        if (!more) {
            break;
        }
        NADIR_CHECK(read_cells(&text, &header, cells, targets, &row));
        NADIR_CHECK(nadir_data_collect(collector, &row));
    }
cleanup:
    nadir_text_close(&text);
    return status;
}

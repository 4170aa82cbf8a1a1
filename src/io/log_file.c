/* log_file.c: files of logged data, and what their columns tell about them; see log_file.h. */
#include "io/format.h"

#include "io/npy.h"

#include <stdio.h>
#include <string.h>

const nadir_csv_column nadir_data_columns[NADIR_DATA_COLUMNS] = {
    [NADIR_DATA_STATE] = {.names = {"idstatefrom", "state", "idstate"}},
    [NADIR_DATA_ACTION] = {.names = {"idaction", "action"}},
    [NADIR_DATA_SUCCESSOR] = {.names = {"idstateto", "next_state"}, .optional = true},
    [NADIR_DATA_REWARD] = {.names = {"reward"}, .optional = true},
    [NADIR_DATA_COUNT] = {.names = {"count"}, .optional = true},
    [NADIR_DATA_EPISODE] = {.names = {"episode"}, .optional = true},
    [NADIR_DATA_STEP] = {.names = {"step"}, .optional = true},
    [NADIR_DATA_OUTCOME] = {.names = {"idoutcome", "outcome"}, .optional = true},
    [NADIR_DATA_PROBABILITY] = {.names = {"probability"}, .optional = true},
};

#define BIT(which) (1U << (NADIR_DATA_##which))
#define ROW        (BIT(STATE) | BIT(ACTION))

/* Which columns each kind must and may have. */
static const struct {
    unsigned required, allowed;
} kinds[] = {
    [NADIR_DATA_TRANSITIONS] = {ROW | BIT(SUCCESSOR), ROW | BIT(SUCCESSOR) | BIT(REWARD)},
    [NADIR_DATA_COUNTS] = {ROW | BIT(SUCCESSOR) | BIT(COUNT),
                           ROW | BIT(SUCCESSOR) | BIT(COUNT) | BIT(REWARD)},
    [NADIR_DATA_TRAJECTORIES] = {ROW | BIT(EPISODE) | BIT(STEP),
                                 ROW | BIT(EPISODE) | BIT(STEP) | BIT(SUCCESSOR) | BIT(REWARD)},
    [NADIR_DATA_SAMPLES] = {ROW | BIT(SUCCESSOR) | BIT(OUTCOME) | BIT(PROBABILITY),
                            ROW | BIT(SUCCESSOR) | BIT(OUTCOME) | BIT(PROBABILITY) | BIT(REWARD)},
};

int nadir_data_find_column(nadir_cursor name)
{
    for (int i = 0; i < NADIR_DATA_COLUMNS; i++) {
        for (int k = 0; k < NADIR_CSV_NAMES && nadir_data_columns[i].names[k] != NULL; k++) {
            if (nadir_cursor_equals_nocase(name, nadir_data_columns[i].names[k])) {
                return i;
            }
        }
    }
    return -1;
}

/* "`a`, `b`": the columns of a set. */
static void list_columns(unsigned columns, char *list, size_t capacity)
{
    size_t used = 0;
    for (int i = 0; i < NADIR_DATA_COLUMNS; i++) {
        if (NADIR_DATA_HAS(columns, i)) {
            used += (size_t)snprintf(list + used, capacity - used, "%s`%s`", used > 0 ? ", " : "",
                                     nadir_data_columns[i].names[0]);
        }
    }
}

nadir_status nadir_data_tell(nadir_context *context, const char *place, unsigned columns,
                             nadir_data_kind *kind)
{
    char wrong[256];
    char needed[256];
    if ((columns & BIT(PROBABILITY)) != 0 && (columns & BIT(OUTCOME)) == 0) {
        return nadir_fail(context, NADIR_ERROR_FORMAT,
                          "%s: a column `probability` without `idoutcome`: this is a model, not data", place);
    }
    *kind = (columns & (BIT(PROBABILITY) | BIT(OUTCOME))) != 0 ? NADIR_DATA_SAMPLES
            : (columns & (BIT(EPISODE) | BIT(STEP))) != 0      ? NADIR_DATA_TRAJECTORIES
            : (columns & BIT(COUNT)) != 0                      ? NADIR_DATA_COUNTS
                                                               : NADIR_DATA_TRANSITIONS;
    const unsigned missing = kinds[*kind].required & ~columns;
    const unsigned extra = columns & ~kinds[*kind].allowed;
    if (missing == 0 && extra == 0) {
        return NADIR_OK;
    }
    list_columns(missing != 0 ? missing : extra, wrong, sizeof wrong);
    list_columns(kinds[*kind].required, needed, sizeof needed);
    return nadir_fail(context, NADIR_ERROR_FORMAT, "%s: %s %s; %s have the columns %s%s", place,
                      missing != 0 ? "missing" : "out of place:", wrong, nadir_data_kind_name(*kind), needed,
                      (kinds[*kind].allowed & ~columns & BIT(REWARD)) != 0 ? " and may have `reward`" : "");
}

int64_t *nadir_data_row_integer(nadir_data_row *row, int which)
{
    int64_t *const members[NADIR_DATA_COLUMNS] = {
        [NADIR_DATA_STATE] = &row->state,         [NADIR_DATA_ACTION] = &row->action,
        [NADIR_DATA_SUCCESSOR] = &row->successor, [NADIR_DATA_EPISODE] = &row->episode,
        [NADIR_DATA_STEP] = &row->step,           [NADIR_DATA_OUTCOME] = &row->outcome,
    };
    return members[which];
}

double *nadir_data_row_double(nadir_data_row *row, int which)
{
    double *const members[NADIR_DATA_COLUMNS] = {
        [NADIR_DATA_REWARD] = &row->reward,
        [NADIR_DATA_COUNT] = &row->count,
        [NADIR_DATA_PROBABILITY] = &row->probability,
    };
    return members[which];
}

nadir_status nadir_data_read(nadir_context *context, const char *path, const nadir_data_settings *settings,
                             nadir_data *data)
{
    nadir_status status = NADIR_OK;
    const bool standard = strcmp(path, "-") == 0;
    bool array = false;
    nadir_data_collector collector = {0};
    *data = (nadir_data){0};
    NADIR_CHECK(
        nadir_data_collector_start(context, standard ? "standard input" : path, settings, &collector));
    if (!standard) {
        NADIR_CHECK(nadir_npy_recognises(context, path, &array));
    }
    NADIR_CHECK(array ? nadir_data_read_npy(&collector) : nadir_data_read_csv(&collector, standard));
    NADIR_CHECK(nadir_data_collect_end(&collector));
    data->kind = collector.kind;
    NADIR_CHECK(collector.kind == NADIR_DATA_SAMPLES ? nadir_samples_make(&collector, &data->samples)
                                                     : nadir_counts_make(&collector, &data->counts));
cleanup:
    nadir_data_collector_clear(&collector);
    return status;
}

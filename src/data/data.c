/* data.c: data files of every form; see data.h. */
#include "data/data.h"

#include "data/data_csv.h"
#include "data/data_npy.h"

#include <string.h>

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

void nadir_data_clear(nadir_context *context, nadir_data *data)
{
    nadir_counts_free(context, data->counts);
    nadir_samples_free(context, data->samples);
    *data = (nadir_data){0};
}

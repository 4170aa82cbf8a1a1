/* fit_file.c: a fit of logged data that are in a file. */
#include "fit/fit.h"
#include "io/format.h"
#include "io/labels.h"

static int64_t most_actions(const nadir_counts *counts)
{
    int64_t most = 0;
    for (int64_t state = 0; state < counts->states; state++) {
        const int64_t actions = counts->state_rows[state + 1] - counts->state_rows[state];
        most = actions > most ? actions : most;
    }
    return most;
}

/* The transitions that are allowed, laid out as the data are. */
static nadir_status read_listed(nadir_context *context, const nadir_counts *counts,
                                const nadir_fit_settings *settings, nadir_data *listed)
{
    const nadir_data_settings reading = {.states = counts->states,
                                         .actions = settings->ragged ? 0 : most_actions(counts),
                                         .ragged = settings->ragged};
    const nadir_status status = nadir_data_read(context, settings->successors, &reading, listed);
    if (status != NADIR_OK) {
        return status;
    }
    bool same = listed->counts != NULL && listed->counts->rows == counts->rows;
    for (int64_t state = 0; same && state < counts->states; state++) {
        same = listed->counts->state_rows[state] == counts->state_rows[state];
    }
    return same ? NADIR_OK
                : nadir_fail(context, NADIR_ERROR_MODEL,
                             "%s lists other states and actions than the data have; expected a list of "
                             "transitions of the same ones",
                             settings->successors);
}

nadir_status nadir_fit_read(nadir_context *context, const char *path, const nadir_fit_settings *settings,
                            nadir_fit **fit)
{
    nadir_status status = NADIR_OK;
    nadir_data data = {0};
    nadir_data listed = {0};
    nadir_fit *made = NULL;
    nadir_fit_settings use;
    nadir_fit_options question;
    nadir_fit_settings_default(&use);
    if (settings != NULL && !nadir_settings_copy(&use, sizeof use, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the fit settings is not set");
    }
    /* what is wrong with any data is said before they are read */
    NADIR_CHECK(nadir_fit_check_settings(context, &use, NADIR_DATA_TRANSITIONS, &question));
    const nadir_data_settings reading = {.states = use.states, .actions = use.actions, .ragged = use.ragged};
    NADIR_CHECK(nadir_data_read(context, path, &reading, &data));
    NADIR_CHECK(nadir_fit_check_settings(context, &use, data.kind, &question));
    if (nadir_fit_names_file(&use)) {
        NADIR_CHECK(read_listed(context, data.counts, &use, &listed));
    }
    NADIR_CHECK(nadir_fit_create(context, &data, &listed, &use, &made));
    if (use.initial != NULL) {
        NADIR_CHECK(nadir_initial_read(context, made->nominal, use.initial, made->nominal->initial));
    }
    *fit = made;
    made = NULL;
cleanup:
    nadir_data_clear(context, &data);
    nadir_data_clear(context, &listed);
    nadir_fit_free(made);
    return status;
}

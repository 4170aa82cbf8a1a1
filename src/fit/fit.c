/* fit.c: data read into a fit: the evidence of every row and the nominal model. */
#include "fit/fit.h"

#include "model/model.h"

void nadir_fit_free(nadir_fit *fit)
{
    if (fit == NULL) {
        return;
    }
    nadir_memory *memory = fit->memory;
    /* The context it was created with may be gone; to free takes nothing but its memory. */
    nadir_context context = {.memory = memory};
    nadir_evidence_clear(&context, &fit->evidence);
    nadir_data_clear(&context, &fit->data);
    nadir_data_clear(&context, &fit->listed);
    nadir_model_free(fit->nominal);
    nadir_memory_release(memory, fit);
    nadir_memory_free(memory);
}

nadir_model *nadir_fit_nominal(const nadir_fit *fit)
{
    return fit->nominal;
}

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
static nadir_status read_listed(nadir_context *context, nadir_fit *fit, const nadir_fit_settings *settings)
{
    const nadir_counts *counts = fit->data.counts;
    const nadir_data_settings reading = {.states = counts->states,
                                         .actions = settings->ragged ? 0 : most_actions(counts),
                                         .ragged = settings->ragged};
    const nadir_status status = nadir_data_read(context, settings->successors, &reading, &fit->listed);
    if (status != NADIR_OK) {
        return status;
    }
    bool same = fit->listed.counts != NULL && fit->listed.counts->rows == counts->rows;
    for (int64_t state = 0; same && state < counts->states; state++) {
        same = fit->listed.counts->state_rows[state] == counts->state_rows[state];
    }
    return same ? NADIR_OK
                : nadir_fail(context, NADIR_ERROR_MODEL,
                             "%s lists other states and actions than the data have; expected a list of "
                             "transitions of the same ones",
                             settings->successors);
}

nadir_status nadir_fit_create(nadir_context *context, nadir_data *data, const nadir_fit_settings *settings,
                              nadir_fit **fit)
{
    nadir_status status = NADIR_OK;
    nadir_fit *made = NULL;
    nadir_fit_settings use;
    nadir_fit_settings_default(&use);
    NADIR_CHECK(settings != NULL && !nadir_settings_copy(&use, sizeof use, settings)
                    ? nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the fit settings is not set")
                    : NADIR_OK);
    NADIR_NEW_ZERO(context, made, 1);
    made->memory = nadir_memory_retain(context->memory);
    made->data = *data;
    *data = (nadir_data){0};
    NADIR_CHECK(nadir_fit_ask(context, &use, made->data.kind, &made->question));
    if (nadir_fit_names_file(&use)) {
        NADIR_CHECK(read_listed(context, made, &use));
    }
    const nadir_evidence_settings evidence = {.all = made->question.domain == NADIR_DOMAIN_SIMPLEX,
                                              .listed = made->listed.counts,
                                              .prior = made->question.prior,
                                              .concentration = made->question.concentration,
                                              .unvisited = made->question.unvisited};
    NADIR_CHECK(nadir_evidence_make(context, &made->data, &evidence, &made->evidence));
    NADIR_CHECK(nadir_fit_make_nominal(context, made, &use));
    *fit = made;
    made = NULL;
cleanup:
    nadir_data_clear(context, data);
    nadir_fit_free(made);
    return status;
}

nadir_status nadir_fit_read(nadir_context *context, const char *path, const nadir_fit_settings *settings,
                            nadir_fit **fit)
{
    nadir_data data = {0};
    nadir_fit_settings use;
    nadir_fit_question question;
    nadir_fit_settings_default(&use);
    if (settings != NULL && !nadir_settings_copy(&use, sizeof use, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the fit settings is not set");
    }
    /* what is wrong with any data is said before they are read */
    nadir_status status = nadir_fit_ask(context, &use, NADIR_DATA_TRANSITIONS, &question);
    const nadir_data_settings reading = {.states = use.states, .actions = use.actions, .ragged = use.ragged};
    if (status == NADIR_OK) {
        status = nadir_data_read(context, path, &reading, &data);
    }
    return status == NADIR_OK ? nadir_fit_create(context, &data, &use, fit) : status;
}

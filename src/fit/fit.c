/* fit.c: a fit: its data, the evidence of every row, and the nominal model. */
#include "fit/fit.h"

void nadir_fit_free(nadir_fit *fit)
{
    if (fit == NULL) {
        return;
    }
    nadir_memory *memory = fit->memory;
    /* The context it was created with may be gone; only its memory is needed. */
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

/* Without rewards there is no return to promise: unless asked for, the promise is of the kernel. */
static nadir_status check_settings(nadir_context *context, const nadir_fit_settings *settings,
                                   nadir_fit *made)
{
    nadir_fit_settings use = *settings;
    const nadir_counts *counts = made->data.counts;
    if (use.guarantee == NULL && counts != NULL && counts->reward_sums == NULL) {
        use.guarantee = "kernel";
    }
    return nadir_fit_check_settings(context, &use, made->data.kind, &made->options);
}

nadir_status nadir_fit_create(nadir_context *context, nadir_data *data, nadir_data *listed,
                              const nadir_fit_settings *settings, nadir_fit **fit)
{
    nadir_status status = NADIR_OK;
    nadir_fit *made = NULL;
    NADIR_NEW_ZERO(context, made, 1);
    made->memory = nadir_memory_retain(context->memory);
    made->data = *data;
    made->listed = *listed;
    *data = (nadir_data){0};
    *listed = (nadir_data){0};
    NADIR_CHECK(check_settings(context, settings, made));
    const nadir_evidence_settings evidence = {.all = made->options.domain == NADIR_DOMAIN_SIMPLEX,
                                              .listed = made->listed.counts,
                                              .prior = made->options.prior,
                                              .concentration = made->options.concentration,
                                              .unvisited = made->options.unvisited};
    NADIR_CHECK(nadir_evidence_make(context, &made->data, &evidence, &made->evidence));
    NADIR_CHECK(nadir_fit_make_nominal(context, made, settings));
    *fit = made;
    made = NULL;
cleanup:
    nadir_data_clear(context, data);
    nadir_data_clear(context, listed);
    nadir_fit_free(made);
    return status;
}

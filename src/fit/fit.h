/* fit.h: the inside of a fit: data, what they say of each row, and what was asked. */
#ifndef NADIR_FIT_FIT_H
#define NADIR_FIT_FIT_H

#include "fit/evidence.h"
#include "fit/fit.h"

typedef enum nadir_fit_method { NADIR_FIT_POSTERIOR, NADIR_FIT_BOOTSTRAP, NADIR_FIT_FREE } nadir_fit_method;

/* The settings, checked. */
typedef struct nadir_fit_options {
    nadir_fit_method method;
    double confidence;
    double prior, concentration;
    nadir_unvisited unvisited;
    nadir_domain domain;
    int scales; /* nadir_scales_choice; NADIR_SCALES_COUNT: auto */
    double norm;
    nadir_set set;
    int64_t samples; /* 0: as many as are worth their time */
} nadir_fit_options;

struct nadir_fit {
    nadir_memory *memory;
    nadir_data data;
    nadir_data listed; /* the successors that are allowed; empty: not listed */
    nadir_evidence evidence;
    nadir_fit_options question;
    nadir_model *nominal;
};

/* Checks the settings, already of this version. data_kind: what the data are. */
nadir_status nadir_fit_check_settings(nadir_context *context, const nadir_fit_settings *settings,
                                      nadir_data_kind data_kind, nadir_fit_options *question);
/* Whether the successors are named in a file. */
bool nadir_fit_names_file(const nadir_fit_settings *settings);
const char *nadir_fit_method_name(nadir_fit_method method);
const char *nadir_scales_name(int choice);

/* Of data, and of transitions that are allowed (empty: all, or those seen), laid out as the data are. Both
 * are taken over, and empty afterwards, whatever the status. The settings are of this version; the files
 * that they name are not looked at. */
nadir_status nadir_fit_create(nadir_context *context, nadir_data *data, nadir_data *listed,
                              const nadir_fit_settings *settings, nadir_fit **fit);

/* The nominal model of a fit that has all but that. */
nadir_status nadir_fit_make_nominal(nadir_context *context, nadir_fit *fit,
                                    const nadir_fit_settings *settings);

/* As nadir_fit_model, with a model for each of several sets. */
nadir_status nadir_fit_models(nadir_context *context, nadir_fit *fit, const nadir_policy *policy,
                              nadir_fit_result *result, int count, const nadir_set *sets,
                              nadir_model **models);

#endif

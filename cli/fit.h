/* fit.h: what nadir fit finds, prints and draws. */
#ifndef NADIR_CLI_FIT_H
#define NADIR_CLI_FIT_H

#include "cli.h"
#include "json.h"

typedef struct cli_fit {
    const char *data_path;
    const char *model_path;  /* to be written */
    const char *policy_name; /* as given by the user */
    const char *plot_path;   /* NULL: no picture */
    nadir_fit_settings settings;
    nadir_fit_result result;
    nadir_model_data view; /* of the model that was written */
    cli_rewards rewards;
    char model_digest[65];
    double load_seconds;
    double total_seconds;

    const char *policy_out; /* of guarantees of the return, as all below */
    const char *promised;   /* "return", "kernel", "posterior" */
    nadir_fit_return_result found;
    double more;           /* visits; NaN: not asked for */
    double target_penalty; /* NaN: not asked for */
    nadir_fit_more_result more_found;
    double *more_visits, *more_share; /* [rows]; NULL: not asked for */
    const nadir_model *nominal;       /* for the names of states and actions */
} cli_fit;

/* Whether a policy could be evaluated: there are rewards and a discount. */
bool cli_fit_has_guarantees(const cli_fit *fit);

/* The sentence that says on which grounds the guarantee stands. */
const char *cli_fit_grounds(const cli_fit *fit);
/* What is said of the data, at the start. */
void cli_fit_data_json(cli_json *json, const cli_fit *fit);
void cli_fit_data_text(const cli_fit *fit);
/* A guarantee of the return. */
void cli_fit_return_json(const cli_run *run, const cli_fit *fit);
void cli_fit_return_text(const cli_fit *fit);

void cli_fit_json(const cli_run *run, const cli_fit *fit);
void cli_fit_text(const cli_fit *fit);
/* The three guarantees side by side. */
nadir_status cli_fit_draw(cli_run *run, const cli_fit *fit);

#endif

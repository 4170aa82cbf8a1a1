/* fit.h: what nadir fit finds, prints and draws. */
#ifndef NADIR_CLI_FIT_H
#define NADIR_CLI_FIT_H

#include "cli.h"

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
} cli_fit;

/* Whether a policy could be evaluated: there are rewards and a discount. */
bool cli_fit_has_guarantees(const cli_fit *fit);

void cli_fit_json(const cli_run *run, const cli_fit *fit);
void cli_fit_text(const cli_fit *fit);
/* The three guarantees side by side. */
nadir_status cli_fit_draw(cli_run *run, const cli_fit *fit);

#endif

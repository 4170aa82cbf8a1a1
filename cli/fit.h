/* fit.h: what nadir fit finds, prints and draws. */
#ifndef NADIR_CLI_FIT_H
#define NADIR_CLI_FIT_H

#include "cli.h"
#include "json.h"

/* What nadir_fit_compare finds. */
typedef struct cli_fit_bounds {
    double nominal[CLI_LIST_LENGTH], guaranteed[CLI_LIST_LENGTH], together[CLI_LIST_LENGTH],
        lead[CLI_LIST_LENGTH];
    double lower[CLI_LIST_LENGTH * CLI_LIST_LENGTH];
} cli_fit_bounds;

typedef struct cli_fit {
    const char *data_path;
    const char *model_path;  /* to be written */
    cli_list policies;       /* as given by the user */
    const char *policy_name; /* the first of them; NULL: none */
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
    const nadir_policy *policy;       /* that the guarantee speaks of */
    unsigned char *tied;              /* [rows] not told apart from what the policy takes; NULL: none */
    unsigned char *untried;           /* [rows] no data; NULL: none of them */
    bool untried_taken;               /* by a policy */
    nadir_fit_comparison compared;    /* of several policies */
    cli_fit_bounds bounds;
    double *returns; /* [policies * draws], for the picture */
    int64_t draws;
} cli_fit;

enum { CLI_FIT_LABEL = 128, CLI_FIT_LIST = 640 };

/* "mild, drug" */
const char *cli_fit_row_label(const cli_fit *fit, int64_t row, char text[CLI_FIT_LABEL]);
/* The first rows that are marked, and how many there are besides. */
const char *cli_fit_row_list(const cli_fit *fit, const unsigned char *marked, char text[CLI_FIT_LIST]);
/* State and action of a row, by number and by name. */
void cli_fit_row_json(cli_json *json, const cli_fit *fit, int64_t row);

/* Whether a policy could be evaluated: there are rewards and a discount. */
bool cli_fit_has_guarantees(const cli_fit *fit);

/* The sentence that says on which grounds the guarantee stands. */
const char *cli_fit_grounds(const cli_fit *fit);
/* What is said of the data, at the start. */
void cli_fit_data_json(cli_json *json, const cli_fit *fit);
void cli_fit_data_text(const cli_fit *fit);
/* A guarantee of the return. */
void cli_fit_return_json(const cli_run *run, const cli_fit *fit);
void cli_fit_return_text(const cli_run *run, const cli_fit *fit);
/* Of several policies, and their differences. */
void cli_fit_compare_json(const cli_run *run, const cli_fit *fit);
void cli_fit_compare_text(const cli_run *run, const cli_fit *fit);

void cli_fit_json(const cli_run *run, const cli_fit *fit);
void cli_fit_text(const cli_run *run, const cli_fit *fit);
/* The three guarantees side by side. */
nadir_status cli_fit_draw(cli_run *run, const cli_fit *fit);
/* The distribution of the return of each policy over the posterior, with its guarantee. */
nadir_status cli_fit_draw_returns(cli_run *run, const cli_fit *fit);

#endif

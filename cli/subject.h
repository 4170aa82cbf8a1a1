/* subject.h: the model and the policy that a command is about, and what every answer says of them. */
#ifndef NADIR_CLI_SUBJECT_H
#define NADIR_CLI_SUBJECT_H

#include "digest.h"

typedef struct cli_subject {
    const char *model_path;
    const char *policy_name; /* as the user calls it */
    nadir_model_data view;
    cli_digest model_digest;
    char policy_digest[65];
    double begun; /* cli_clock */
    double load_seconds;
    double total_seconds;
} cli_subject;

/* Reads the model; fills in view and times and starts its digest. cli_subject_close in any case. */
nadir_status cli_subject_read(cli_run *run, const nadir_read_settings *reading, cli_subject *subject,
                              nadir_model **model);
/* The policy of this name with its digest, and its solver. */
nadir_status cli_subject_solver(cli_run *run, nadir_model *model, const char *policy,
                                const nadir_solver_settings *settings, char digest[65],
                                nadir_solver **solver);
/* The work is done: waits for the digest, and takes the time. Before anything is printed. */
void cli_subject_end(cli_subject *subject);
/* Frees the model, which may be NULL. */
void cli_subject_close(cli_subject *subject, nadir_model *model);

/* "states", "rows", "nonzeros", "discount", "model_sha256", "policy_sha256" */
void cli_subject_json(cli_json *json, const cli_subject *subject);
/* "seconds": {...} */
void cli_subject_seconds(cli_json *json, const cli_subject *subject, double nominal, double robust,
                         double certify);

#endif

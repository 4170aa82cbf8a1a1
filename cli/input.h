/*
 * input.h: the model and the policy of a command: reading them, their digests, and their part of the JSON.
 *
 * Digests take a pass over all numbers and appear in JSON alone: without --json their text is empty. So it is
 * where an engine distributes the model or the policy over processes.
 */
#ifndef NADIR_CLI_INPUT_H
#define NADIR_CLI_INPUT_H

#include "cli.h"

#include <pthread.h>
#include <stdatomic.h>

/* The digest of a model, made by a thread of its own while the command works. {0}: none. */
typedef struct cli_digest {
    char text[65];
    bool runs; /* the thread has to be joined */
    pthread_t thread;
    nadir_context *context; /* the thread's own */
    const nadir_model *model;
    nadir_status status;
    atomic_bool cancelled;
} cli_digest;

/* Hashes immediately with --threads 1 or if no thread can be created. The model must outlive the digest: call
 * cli_digest_cancel or cli_digest_wait before it is freed. */
nadir_status cli_digest_start(cli_run *run, const nadir_model *model, cli_digest *digest);
/* Afterwards digest->text is set. */
void cli_digest_wait(cli_digest *digest);
void cli_digest_cancel(cli_digest *digest);

nadir_status cli_model_digest(cli_run *run, const nadir_model *model, char text[65]);
nadir_status cli_policy_digest(cli_run *run, const nadir_policy *policy, char text[65]);

enum { CLI_START_LENGTH = 200 };

typedef struct cli_input {
    const char *model_path;
    const char *policy_name; /* as given by the user */
    nadir_model_data view;
    char start[CLI_START_LENGTH]; /* the initial distribution in words; "": not known */
    int64_t open_ends;  /* states that stay for ever without reward, though the ball may let them go on */
    char open_end[100]; /* the first of them */
    cli_rewards rewards;
    cli_digest model_digest;
    char policy_digest[65];
    double begun; /* cli_clock */
    double load_seconds;
    double total_seconds;
} cli_input;

/* Settings of a command that asks for worst kernels of a ball. */
typedef struct cli_setup {
    nadir_read_settings reading;
    nadir_solver_settings solver;
    nadir_robust_settings robust;
    int certify; /* robust.certify once the options are parsed */
    cli_ball ball;
} cli_setup;

/* All but the help of the radius, which is kept. */
void cli_setup_default(cli_setup *setup);
/* cli_parse_model_command; also fills in the path of the model. */
bool cli_setup_parse(cli_run *run, const cli_command *command, int argc, char **argv, const cli_option *own,
                     const char *about, cli_setup *setup, cli_input *input, int *exit);

/* Reads the model; fills in view and times and starts its digest. cli_input_close in any case. */
nadir_status cli_input_read(cli_run *run, const nadir_read_settings *reading, cli_input *input,
                            nadir_model **model);
/* The policy of this name with its digest. */
nadir_status cli_input_policy(cli_run *run, nadir_model *model, const char *policy, const char *backend,
                              char digest[65], nadir_policy **made);
/* And its solver. */
nadir_status cli_input_solver(cli_run *run, nadir_model *model, const char *policy,
                              const nadir_solver_settings *settings, char digest[65], nadir_solver **solver);
/* The initial distribution in words, "" where it is not known; and whether every state is as likely. text is returned. */
const char *cli_start_words(const nadir_model *model, char text[CLI_START_LENGTH]);
bool cli_start_is_uniform(const nadir_model_data *view);
/* Whether a state only stays where it is, without reward; *pinned: and every kernel lets it. */
bool cli_state_ends(const nadir_model_data *view, int64_t state, bool *pinned);
/* Where one starts, as a line. */
void cli_input_start(const cli_input *input);
/* Warns of states that look like ends and are none for balls of this domain. */
void cli_input_warn(cli_run *run, const cli_input *input, nadir_domain domain);
/* Waits for the digest and takes the time. Call it before printing. */
void cli_input_end(cli_input *input);
/* Frees the model, which may be NULL. */
void cli_input_close(cli_input *input, nadir_model *model);

/* Opens the outermost object: "model", "policy" */
void cli_input_json_start(cli_json *json, const cli_input *input);
/* "states", "rows", "nonzeros", "discount", "rewards", "unseen", "model_sha256", "policy_sha256" */
void cli_input_json(cli_json *json, const cli_input *input);
/* "seconds": {...} */
void cli_input_seconds(cli_json *json, const cli_input *input, double nominal, double robust, double certify);

#endif

/*
 * digest.h: digests of models and policies for JSON.
 *
 * They cost a pass over all numbers and are printed in JSON alone: without --json their text is empty. So it is
 * where an engine spreads the model or the policy over processes.
 */
#ifndef NADIR_CLI_DIGEST_H
#define NADIR_CLI_DIGEST_H

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

/* Hashes at once where the command may use one thread only, or where no thread can be had. The model must
 * outlive the digest: cli_digest_cancel or cli_digest_wait before it is freed. */
nadir_status cli_digest_start(cli_run *run, const nadir_model *model, cli_digest *digest);
/* digest->text is there afterwards. */
void cli_digest_wait(cli_digest *digest);
void cli_digest_cancel(cli_digest *digest);

nadir_status cli_model_digest(cli_run *run, const nadir_model *model, char text[65]);
nadir_status cli_policy_digest(cli_run *run, const nadir_policy *policy, char text[65]);

#endif

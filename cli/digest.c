/* digest.c: digests of models and policies for JSON; see digest.h. */
#include "digest.h"

#include <signal.h>

nadir_status cli_model_digest(cli_run *run, const nadir_model *model, char text[65])
{
    text[0] = '\0';
    return run->json ? nadir_model_digest(run->context, model, text) : NADIR_OK;
}

nadir_status cli_policy_digest(cli_run *run, const nadir_policy *policy, char text[65])
{
    text[0] = '\0';
    return run->json ? nadir_policy_digest(run->context, policy, text) : NADIR_OK;
}

static int is_cancelled(void *user, const char *task, double share)
{
    cli_digest *digest = user;
    (void)task;
    (void)share;
    return atomic_load(&digest->cancelled);
}

static void *hash(void *user)
{
    cli_digest *digest = user;
    digest->status = nadir_model_digest(digest->context, digest->model, digest->text);
    return NULL;
}

/* The thread takes no signals: the handlers belong to the thread that works. */
static bool start_thread(cli_digest *digest)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    digest->runs = pthread_create(&digest->thread, NULL, hash, digest) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return digest->runs;
}

nadir_status cli_digest_start(cli_run *run, const nadir_model *model, cli_digest *digest)
{
    nadir_context_settings settings;
    nadir_context_settings_default(&settings);
    settings.progress = is_cancelled;
    settings.progress_user = digest;
    settings.threads = 1;
    digest->model = model;
    atomic_init(&digest->cancelled, false);
    if (run->json && nadir_context_threads(run->context) > 1 &&
        nadir_context_create(&settings, &digest->context) == NADIR_OK && start_thread(digest)) {
        return NADIR_OK;
    }
    nadir_context_free(digest->context);
    digest->context = NULL;
    return cli_model_digest(run, model, digest->text);
}

void cli_digest_wait(cli_digest *digest)
{
    if (digest->runs) {
        (void)pthread_join(digest->thread, NULL);
        nadir_context_free(digest->context);
        digest->context = NULL;
        digest->runs = false;
        if (digest->status != NADIR_OK) {
            digest->text[0] = '\0';
        }
    }
}

void cli_digest_cancel(cli_digest *digest)
{
    atomic_store(&digest->cancelled, true);
    cli_digest_wait(digest);
}

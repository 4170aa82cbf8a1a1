/* input.c: the model and the policy of a command; see input.h. */
#include "input.h"

#include <signal.h>

nadir_status cli_model_digest(cli_run *run, const nadir_model *model, char text[65])
{
    text[0] = '\0';
    return run->json || run->digests ? nadir_model_digest(run->context, model, text) : NADIR_OK;
}

nadir_status cli_policy_digest(cli_run *run, const nadir_policy *policy, char text[65])
{
    text[0] = '\0';
    return run->json || run->digests ? nadir_policy_digest(run->context, policy, text) : NADIR_OK;
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
    if ((run->json || run->digests) && nadir_context_threads(run->context) > 1 &&
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

void cli_setup_default(cli_setup *setup)
{
    nadir_read_settings_default(&setup->reading);
    nadir_solver_settings_default(&setup->solver);
    nadir_robust_settings_default(&setup->robust);
    setup->certify = NADIR_CERTIFY_AUTO;
}

bool cli_setup_parse(cli_run *run, const cli_command *command, int argc, char **argv, const cli_option *own,
                     const char *about, cli_setup *setup, cli_input *input, int *exit)
{
    const char *positionals[CLI_POSITIONALS] = {NULL};
    const bool good = cli_parse_model_command(run, command, argc, argv, own, &setup->ball, 1, positionals,
                                              about, &setup->reading, exit);
    setup->robust.certify = (nadir_certify)setup->certify;
    input->model_path = positionals[0];
    return good;
}

nadir_status cli_input_read(cli_run *run, const nadir_read_settings *reading, cli_input *input,
                            nadir_model **model)
{
    input->begun = cli_clock();
    nadir_model_data_default(&input->view);
    nadir_status status = nadir_model_read(run->context, input->model_path, reading, model);
    input->load_seconds = cli_clock() - input->begun;
    if (status == NADIR_OK) {
        nadir_model_view(*model, &input->view);
        input->rewards = cli_rewards_get(*model);
        status = nadir_model_totals(run->context, *model, &input->view.states, &input->view.rows,
                                    &input->view.nonzeros);
    }
    if (status == NADIR_OK) {
        status = cli_digest_start(run, *model, &input->model_digest);
    }
    return status;
}

nadir_status cli_input_policy(cli_run *run, nadir_model *model, const char *policy, const char *backend,
                              char digest[65], nadir_policy **made)
{
    const nadir_status status = cli_policy_get(run, model, policy, backend, made);
    return status == NADIR_OK ? cli_policy_digest(run, *made, digest) : status;
}

nadir_status cli_input_solver(cli_run *run, nadir_model *model, const char *policy,
                              const nadir_solver_settings *settings, char digest[65], nadir_solver **solver)
{
    nadir_policy *made = NULL;
    nadir_status status = cli_input_policy(run, model, policy, settings->backend, digest, &made);
    if (status == NADIR_OK) {
        status = nadir_solver_create(run->context, model, made, settings, solver);
    }
    nadir_policy_free(made);
    return status;
}

void cli_input_end(cli_input *input)
{
    cli_digest_wait(&input->model_digest);
    input->total_seconds = cli_clock() - input->begun;
}

void cli_input_close(cli_input *input, nadir_model *model)
{
    cli_digest_cancel(&input->model_digest);
    nadir_model_free(model);
}

void cli_input_json_start(cli_json *json, const cli_input *input)
{
    cli_json_start(json, stdout);
    cli_json_text(json, "model", input->model_path);
    cli_json_text(json, "policy", input->policy_name);
}

void cli_input_json(cli_json *json, const cli_input *input)
{
    cli_json_integer(json, "states", input->view.states);
    cli_json_integer(json, "rows", input->view.rows);
    cli_json_integer(json, "nonzeros", input->view.nonzeros);
    cli_json_double(json, "discount", input->view.discount);
    cli_rewards_json(json, &input->rewards);
    const char *digest = input->model_digest.text;
    /* none where an engine distributes them over processes */
    cli_json_text(json, "model_sha256", *digest != '\0' ? digest : NULL);
    cli_json_text(json, "policy_sha256", *input->policy_digest != '\0' ? input->policy_digest : NULL);
}

void cli_input_seconds(cli_json *json, const cli_input *input, double nominal, double robust, double certify)
{
    cli_json_object(json, "seconds");
    cli_json_double(json, "load", input->load_seconds);
    cli_json_double(json, "nominal", nominal);
    cli_json_double(json, "robust", robust);
    cli_json_double(json, "certify", certify);
    cli_json_double(json, "total", input->total_seconds);
    cli_json_object_end(json);
}

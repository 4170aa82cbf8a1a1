/* input.c: the model and the policy of a command; see input.h. */
#include "input.h"

#include "explain.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

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

bool cli_start_is_uniform(const nadir_model_data *view)
{
    bool uniform = view->initial != NULL && view->states > 1;
    for (int64_t s = 0; s < view->states && uniform; s++) {
        uniform = fabs(view->initial[s] * (double)view->states - 1) < 1e-9;
    }
    return uniform;
}

const char *cli_start_words(const nadir_model *model, char text[CLI_START_LENGTH])
{
    enum { SHOWN = 3, NAME = 40 };
    nadir_model_data view;
    int64_t count = 0;
    int64_t shown = 0;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    text[0] = '\0';
    if (cli_start_is_uniform(&view)) {
        (void)snprintf(text, CLI_START_LENGTH,
                       "each of the %" PRId64 " states alike (--initial says otherwise)", view.states);
        return text;
    }
    for (int64_t s = 0; view.initial != NULL && s < view.states; s++) {
        count += view.initial[s] > 0;
    }
    for (int64_t s = 0; s < view.states && shown < SHOWN && count > 0; s++) {
        char name[NAME];
        char share[32] = "";
        if (view.initial[s] > 0) {
            const size_t used = strlen(text);
            if (count > 1) {
                (void)snprintf(share, sizeof share, " %.3g %%", 100 * view.initial[s]);
            }
            (void)snprintf(text + used, CLI_START_LENGTH - used, "%s%s%s", shown++ > 0 ? ", " : "",
                           cli_explain_state(model, s, sizeof name, name), share);
        }
    }
    if (count > SHOWN) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, CLI_START_LENGTH - used, " and %" PRId64 " other states", count - SHOWN);
    }
    return text;
}

bool cli_state_ends(const nadir_model_data *view, int64_t state, bool *pinned)
{
    *pinned = true;
    for (int64_t row = view->state_rows[state]; row < view->state_rows[state + 1]; row++) {
        const bool stays = view->dense != NULL ? view->dense[row * view->states + state] == 1
                                               : view->row_starts[row + 1] == view->row_starts[row] + 1 &&
                                                     view->columns[view->row_starts[row]] == state;
        const bool paid = view->rewards != NULL && view->rewards[row] != 0;
        if (!stays || paid) {
            return false;
        }
        *pinned = *pinned && view->scales != NULL && view->scales[row] == 0;
    }
    return view->state_rows[state + 1] > view->state_rows[state];
}

static void count_open_ends(const nadir_model *model, cli_input *input)
{
    for (int64_t s = 0; input->view.discount < 1 && s < input->view.states; s++) {
        bool pinned;
        if (cli_state_ends(&input->view, s, &pinned) && !pinned && input->open_ends++ == 0) {
            (void)cli_explain_state(model, s, sizeof input->open_end, input->open_end);
        }
    }
}

void cli_input_start(const cli_input *input)
{
    if (*input->start != '\0') {
        cli_block_line("start", "%s", input->start);
    }
}

void cli_input_warn(cli_run *run, const cli_input *input, nadir_domain domain)
{
    if (input->open_ends > 0 && domain != NADIR_DOMAIN_SUPPORT && domain != NADIR_DOMAIN_BOX) {
        cli_warn(
            run,
            "%" PRId64
            " state%s (%s%s for ever without reward, but the ball may let %s go on; an end of episodes is a "
            "state without lines of its own (CSV), or of scale 0 (.npz)",
            input->open_ends, input->open_ends > 1 ? "s" : "", input->open_end,
            input->open_ends > 1 ? ", ...) stay" : ") stays", input->open_ends > 1 ? "them" : "it");
    }
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
        if (run->engine == NULL) {
            (void)cli_start_words(*model, input->start);
            count_open_ends(*model, input);
        }
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

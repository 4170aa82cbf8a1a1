/* subject.c: the model and the policy that a command is about; see subject.h. */
#include "subject.h"

nadir_status cli_subject_read(cli_run *run, const nadir_read_settings *reading, cli_subject *subject,
                              nadir_model **model)
{
    subject->begun = cli_clock();
    nadir_model_data_default(&subject->view);
    nadir_status status = nadir_model_read(run->context, subject->model_path, reading, model);
    subject->load_seconds = cli_clock() - subject->begun;
    if (status == NADIR_OK) {
        nadir_model_view(*model, &subject->view);
        status = nadir_model_totals(run->context, *model, &subject->view.states, &subject->view.rows,
                                    &subject->view.nonzeros);
    }
    if (status == NADIR_OK) {
        status = cli_digest_start(run, *model, &subject->model_digest);
    }
    return status;
}

nadir_status cli_subject_solver(cli_run *run, nadir_model *model, const char *policy,
                                const nadir_solver_settings *settings, char digest[65], nadir_solver **solver)
{
    nadir_policy *made = NULL;
    nadir_status status = cli_policy_get(run, model, policy, settings->backend, &made);
    if (status == NADIR_OK) {
        status = cli_policy_digest(run, made, digest);
    }
    if (status == NADIR_OK) {
        status = nadir_solver_create(run->context, model, made, settings, solver);
    }
    nadir_policy_free(made);
    return status;
}

void cli_subject_end(cli_subject *subject)
{
    cli_digest_wait(&subject->model_digest);
    subject->total_seconds = cli_clock() - subject->begun;
}

void cli_subject_close(cli_subject *subject, nadir_model *model)
{
    cli_digest_cancel(&subject->model_digest);
    nadir_model_free(model);
}

void cli_subject_json(cli_json *json, const cli_subject *subject)
{
    cli_json_integer(json, "states", subject->view.states);
    cli_json_integer(json, "rows", subject->view.rows);
    cli_json_integer(json, "nonzeros", subject->view.nonzeros);
    cli_json_double(json, "discount", subject->view.discount);
    const char *digest = subject->model_digest.text;
    /* none where an engine spreads them over processes */
    cli_json_text(json, "model_sha256", *digest != '\0' ? digest : NULL);
    cli_json_text(json, "policy_sha256", *subject->policy_digest != '\0' ? subject->policy_digest : NULL);
}

void cli_subject_seconds(cli_json *json, const cli_subject *subject, double nominal, double robust,
                         double certify)
{
    cli_json_object(json, "seconds");
    cli_json_double(json, "load", subject->load_seconds);
    cli_json_double(json, "nominal", nominal);
    cli_json_double(json, "robust", robust);
    cli_json_double(json, "certify", certify);
    cli_json_double(json, "total", subject->total_seconds);
    cli_json_object_end(json);
}

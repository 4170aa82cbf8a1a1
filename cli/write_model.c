/* write_model.c: the end of every command whose result is a model file. */
#include "digest.h"

#include <inttypes.h>

nadir_status cli_write_model(cli_run *run, const nadir_model *model, const char *path,
                             const nadir_write_settings *settings, const char *origin_key, const char *origin)
{
    char digest[65];
    nadir_status status = cli_model_digest(run, model, digest);
    if (status == NADIR_OK) { /* last: whoever interrupts the command finds no file */
        status = nadir_model_write(run->context, model, path, settings);
    }
    if (status != NADIR_OK) {
        return status;
    }
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    cli_progress_clear(run);
    if (!run->json) {
        printf("%s: %" PRId64 " states, %" PRId64 " rows, %" PRId64 " transitions\n", path, view.states,
               view.rows, view.nonzeros);
        return NADIR_OK;
    }
    cli_json json;
    cli_json_start(&json, stdout);
    cli_json_text(&json, origin_key, origin);
    cli_json_text(&json, "output", path);
    cli_json_integer(&json, "states", view.states);
    cli_json_integer(&json, "rows", view.rows);
    cli_json_integer(&json, "nonzeros", view.nonzeros);
    cli_json_double(&json, "discount", view.discount);
    cli_json_text(&json, "model_sha256", digest);
    cli_json_warnings(run, &json);
    cli_json_end(&json);
    return NADIR_OK;
}

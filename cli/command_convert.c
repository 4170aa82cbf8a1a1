/* command_convert.c: nadir convert: a model from one format to another. */
#include "files.h"

static const char about[] =
    "Reads a model in any format and writes it in the one that OUT's ending names: .csv, .npz, .tra, .drn, "
    ".umb,\n"
    ".bmdp, .MDP, .pomdp or .bin. Numbers keep every bit. What the new format cannot hold is said in a "
    "warning.\n"
    "Formats that keep rewards in a file of their own (.tra, .bin) write it beside OUT.\n"
    "\n"
    "Example:\n"
    "  nadir convert model.tra model.npz --rewards model.trew --discount 0.95";

static int convert_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS];
    nadir_read_settings settings;
    nadir_write_settings writing;
    nadir_read_settings_default(&settings);
    nadir_write_settings_default(&writing);
    const cli_option own[] = {
        {"--compress", CLI_FLAG, NULL, NULL, &writing.compress, "npz: deflate the arrays: smaller, slower"},
        {0},
    };
    int exit;
    if (!cli_parse_model_command(run, &cli_command_convert, argc, argv, own, NULL, 2, positionals, about,
                                 &settings, &exit)) {
        return exit;
    }
    nadir_model *model = NULL;
    const char *format;
    cli_files files = {0};
    cli_files_read_model(&files, positionals[0], &settings);
    cli_files_write(&files, positionals[1]);
    nadir_status status = cli_files_check(run, &files);
    if (status == NADIR_OK) {
        status = cli_open(run);
    }
    if (status == NADIR_OK) { /* an unknown file ending fails before the work */
        status = nadir_write_format(run->context, positionals[1], &format);
    }
    if (status == NADIR_OK) {
        status = nadir_model_read(run->context, positionals[0], &settings, &model);
    }
    if (status == NADIR_OK) {
        status = cli_write_model(run, model, positionals[1], &writing, "input", positionals[0]);
    }
    nadir_model_free(model);
    return cli_close(run, status);
}

const cli_command cli_command_convert = {
    .name = "convert",
    .arguments = "IN OUT",
    .summary = "between all model formats",
    .main = convert_main,
};

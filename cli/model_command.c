/* model_command.c: options of commands that read a model, and the end of those that write one; see cli.h. */
#include "input.h"

#include <inttypes.h>

bool cli_parse_model_command(cli_run *run, const cli_command *command, int argc, char **argv,
                             const cli_option *own, cli_ball *ball, int wanted,
                             const char *positionals[CLI_POSITIONALS], const char *about,
                             nadir_read_settings *reading, int *exit)
{
    int layout = NADIR_LAYOUT_AUTO;
    cli_option common[CLI_COMMON_OPTIONS];
    cli_option of_ball[CLI_BALL_OPTIONS];
    const cli_option of_model[] = {
        {"--discount", CLI_NUMBER, "GAMMA", NULL, &reading->discount,
         "gives or overrides the discount factor, 0 <= GAMMA < 1"},
        {"--initial", CLI_TEXT, "MU", NULL, &reading->initial,
         "initial distribution: uniform, a state's number or name, or a file\n"
         "(default: the model's own, else uniform)"},
        {"--rewards", CLI_TEXT, "FILE", NULL, &reading->rewards,
         "rewards of a PRISM model (.trew, .srew) or PETSc model (g.bin)"},
        {"--labels", CLI_TEXT, "FILE", NULL, &reading->labels,
         "labels of a PRISM model (.lab); init gives the initial states"},
        {"--reward-model", CLI_TEXT, "NAME", NULL, &reading->reward_model,
         "which reward model of a Storm .drn file"},
        {"--costs", CLI_FLAG, NULL, NULL, &reading->costs, "the rewards are costs: negate them"},
        {"--layout", CLI_CHOICE, NULL, "auto|sas|ass", &layout,
         "order of a dense NumPy kernel: P[s,a,s'] or P[a,s,s']"},
        {0},
    };
    cli_option_group groups[5] = {{"Options", own}};
    int count = 1;
    if (ball != NULL) {
        groups[count++] = cli_ball_options(ball, of_ball);
    }
    groups[count++] = (cli_option_group){"How to read the model", of_model};
    groups[count] = cli_common_options(run, common);
    const bool good = cli_parse(run, command, argc, argv, groups, wanted, positionals, about, exit);
    reading->layout = (nadir_layout)layout;
    return good;
}

nadir_status cli_write_model(cli_run *run, const nadir_model *model, const char *path,
                             const nadir_write_settings *settings, const char *origin_key, const char *origin)
{
    char digest[65];
    nadir_status status = cli_model_digest(run, model, digest);
    if (status == NADIR_OK) { /* last, so that an interrupted command leaves no file */
        status = nadir_model_write(run->context, model, path, settings);
    }
    if (status != NADIR_OK) {
        return status;
    }
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    if (!cli_starts_json(run)) {
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
    cli_json_close(run, &json);
    return NADIR_OK;
}

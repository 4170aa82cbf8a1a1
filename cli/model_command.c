/* model_command.c: the options of commands that read a model; see cli.h. */
#include "cli.h"

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

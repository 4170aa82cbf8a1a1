/* model_command.c: options of commands that read a model, and the end of those that write one; see cli.h. */
#include "input.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void cli_rewards_options(bool *frozen, const char **unseen, cli_option storage[CLI_REWARDS_OPTIONS])
{
    storage[0] = (cli_option){"--frozen-rewards",
                              CLI_FLAG,
                              NULL,
                              NULL,
                              frozen,
                              "rewards of transitions are averaged under the nominal kernel, and every\n"
                              "kernel pays these means (default: they are paid where one lands)"};
    storage[1] =
        (cli_option){"--unseen",
                     CLI_TEXT,
                     "additive|row|min|VALUE",
                     NULL,
                     unseen,
                     "what landing on a successor pays that has no reward: R(s,a) + g(s') fitted to\n"
                     "the others, the mean of the row, the smallest reward, or a number\n"
                     "(default: additive)"};
}

bool cli_unseen_parse(const cli_run *run, bool frozen, const char *text, nadir_unseen *unseen, double *value)
{
    if (text == NULL) {
        return true;
    }
    if (frozen) {
        return cli_wrong(run, "--unseen is for rewards paid on landing; with --frozen-rewards none are");
    }
    *unseen = NADIR_UNSEEN_ADDITIVE;
    while (*unseen < NADIR_UNSEEN_VALUE && strcmp(text, nadir_unseen_name(*unseen)) != 0) {
        *unseen = (nadir_unseen)(*unseen + 1);
    }
    if (*unseen == NADIR_UNSEEN_VALUE && !(cli_options_number(text, value) && isfinite(*value))) {
        char reason[CLI_REASON_LENGTH];
        (void)snprintf(reason, sizeof reason,
                       "--unseen: '%.64s' given, expected additive, row, min or a finite number", text);
        return cli_wrong(run, reason);
    }
    return true;
}

cli_rewards cli_rewards_get(const nadir_model *model)
{
    cli_rewards made;
    made.kind = nadir_model_rewards(model, &made.unseen, &made.unseen_value);
    made.error = nadir_model_unseen_error(model);
    return made;
}

static bool lands(const cli_rewards *rewards)
{
    return rewards->kind == NADIR_REWARDS_SEPARABLE || rewards->kind == NADIR_REWARDS_LANDING;
}

void cli_rewards_text(const cli_rewards *rewards, nadir_domain domain, const char *label)
{
    char number[32];
    if (!lands(rewards) || domain == NADIR_DOMAIN_SUPPORT) {
        return;
    }
    printf("  %s paid on landing; successors without a reward: %s%s%s", label,
           nadir_unseen_name(rewards->unseen), isnan(rewards->unseen_value) ? "" : ", ",
           isnan(rewards->unseen_value) ? "" : cli_number(rewards->unseen_value, number));
    if (rewards->error > 0) {
        printf(", up to %s off rewards that are given", cli_short_up(rewards->error, number));
    }
    putchar('\n');
}

void cli_rewards_json(cli_json *json, const cli_rewards *rewards)
{
    cli_json_text(json, "rewards", nadir_reward_kind_name(rewards->kind));
    cli_json_text(json, "unseen", lands(rewards) ? nadir_unseen_name(rewards->unseen) : NULL);
    if (!isnan(rewards->unseen_value)) {
        cli_json_double(json, "unseen_value", rewards->unseen_value);
    }
    if (rewards->error > 0) {
        cli_json_double(json, "unseen_error", rewards->error);
    }
}

bool cli_parse_model_command(cli_run *run, const cli_command *command, int argc, char **argv,
                             const cli_option *own, cli_ball *ball, int wanted,
                             const char *positionals[CLI_POSITIONALS], const char *about,
                             nadir_read_settings *reading, int *exit)
{
    return cli_parse_model_and_log(run, command, argc, argv, own, NULL, ball, wanted, positionals, about,
                                   reading, exit);
}

bool cli_parse_model_and_log(cli_run *run, const cli_command *command, int argc, char **argv,
                             const cli_option *own, const cli_option *of_log, cli_ball *ball, int wanted,
                             const char *positionals[CLI_POSITIONALS], const char *about,
                             nadir_read_settings *reading, int *exit)
{
    int layout = NADIR_LAYOUT_AUTO;
    cli_option common[CLI_COMMON_OPTIONS];
    cli_option of_ball[CLI_BALL_OPTIONS];
    const char *unseen = NULL;
    cli_option of_rewards[CLI_REWARDS_OPTIONS];
    cli_rewards_options(&reading->frozen_rewards, &unseen, of_rewards);
    if (command == &cli_command_convert) { /* no file holds --unseen */
        of_rewards[1] = (cli_option){0};
    }
    const cli_option of_model[] = {
        {"--discount", CLI_NUMBER, "GAMMA", NULL, &reading->discount,
         "gives or overrides the discount factor, 0 <= GAMMA <= 1; 1: total\nreward until a state that stays "
         "without reward"},
        {"--goal", CLI_TEXT, "STATES", NULL, &reading->goal,
         "without a discount: the return is the probability to reach one of these\nstates: a label of the "
         "file, or numbers and names with commas"},
        {"--avoid", CLI_TEXT, "STATES", NULL, &reading->avoid, "and not to come through one of these before"},
        {"--until", CLI_TEXT, "STATES", NULL, &reading->until,
         "without a discount: rewards are paid until one of these states"},
        {"--initial", CLI_TEXT, "MU", NULL, &reading->initial,
         "initial distribution: uniform, a state's number or name, or a file\n"
         "(default: the model's own, else uniform)"},
        {"--rewards", CLI_TEXT, "FILE", NULL, &reading->rewards,
         "rewards of a PRISM model (.trew, .srew) or PETSc model (g.bin)"},
        {"--costs", CLI_FLAG, NULL, NULL, &reading->costs, "the rewards are costs: negate them"},
        CLI_RARE,
        {"--successors", CLI_TEXT, "FILE", NULL, &reading->successors,
         "what rows may reach: a list of transitions (.csv), with the successors of the\n"
         "model among them; for --domain support, which is then the default"},
        {"--labels", CLI_TEXT, "FILE", NULL, &reading->labels,
         "labels of a PRISM model (.lab); init gives the initial states"},
        {"--outcome", CLI_TEXT, "ID|mean", NULL, &reading->outcome,
         "which model of a table with a column idoutcome, or the mean of all"},
        {"--reward-model", CLI_TEXT, "NAME", NULL, &reading->reward_model,
         "which reward model of a Storm .drn file"},
        {"--layout", CLI_CHOICE, NULL, "auto|sas|ass", &layout,
         "order of a dense NumPy kernel: P[s,a,s'] or P[a,s,s']"},
        of_rewards[0],
        of_rewards[1],
        {0},
    };
    cli_option_group groups[6] = {{.title = "Options", .options = own}};
    int count = 1;
    if (ball != NULL) {
        groups[count++] = cli_ball_options(ball, of_ball);
    }
    groups[count++] = (cli_option_group){"How to read the model", of_model, CLI_ABOUT_MODEL};
    if (of_log != NULL) {
        groups[count++] = (cli_option_group){"How to read a log", of_log, CLI_ABOUT_MODEL};
    }
    groups[count] = cli_common_options(run, common);
    const bool good = cli_parse(run, command, argc, argv, groups, wanted, positionals, about, exit);
    reading->layout = (nadir_layout)layout;
    reading->total = command != &cli_command_convert && command != &cli_command_info; /* nor with a horizon */
    if (good &&
        !cli_unseen_parse(run, reading->frozen_rewards, unseen, &reading->unseen, &reading->unseen_value)) {
        *exit = CLI_EXIT_USAGE;
        return false;
    }
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

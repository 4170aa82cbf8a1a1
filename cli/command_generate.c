/* command_generate.c: nadir generate: standard instances. */
#include "cli.h"

#include <math.h>
#include <string.h>

/* The options are made from the library's list of kinds, so that there is one list: every setting that some
 * kind uses becomes an option, and --help tells which kinds use it. */
enum { SETTINGS_LIMIT = 32, NAME_LENGTH = 32, TEXT_LENGTH = 512 };

typedef struct generate_options {
    int64_t count;
    char names[SETTINGS_LIMIT][NAME_LENGTH];
    char help[SETTINGS_LIMIT][TEXT_LENGTH];
    double values[SETTINGS_LIMIT]; /* NaN: not given */
    cli_option options[SETTINGS_LIMIT + 1];
} generate_options;

static int64_t find_setting(const generate_options *all, const char *name)
{
    int64_t i = 0;
    while (i < all->count && strcmp(all->names[i] + 2, name) != 0) {
        i++;
    }
    return i;
}

/* "garnet: successors of each row (default 5)" as a further line of the option's help. */
static void add_help(char help[TEXT_LENGTH], const char *kind, const char *meaning, double standard)
{
    char number[32];
    const size_t used = strlen(help);
    int length = snprintf(help + used, TEXT_LENGTH - used, "%s%s: %s", used > 0 ? "\n" : "", kind, meaning);
    if (length > 0 && (size_t)length < TEXT_LENGTH - used && !isnan(standard)) {
        (void)snprintf(help + used + length, TEXT_LENGTH - used - (size_t)length, " (default %s)",
                       cli_number(standard, number));
    }
}

static void collect_options(generate_options *all)
{
    const nadir_generator_facts *kind;
    for (int64_t k = 0; (kind = nadir_generator(k)) != NULL; k++) {
        for (int64_t j = 0; j < kind->settings_count; j++) {
            const nadir_generator_setting *setting = &kind->settings[j];
            const int64_t i = find_setting(all, setting->name);
            if (i == all->count && i < SETTINGS_LIMIT) {
                (void)snprintf(all->names[i], NAME_LENGTH, "--%s", setting->name);
                all->values[i] = NAN;
                all->options[i] =
                    (cli_option){all->names[i], CLI_NUMBER, "X", NULL, &all->values[i], all->help[i]};
                all->count++;
            }
            add_help(all->help[i], kind->name, setting->meaning, setting->standard);
        }
    }
}

/* The text of --help between the usage and the options: what there is to generate. */
static void describe_kinds(char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size,
                                   "Writes a standard instance to OUT, in the format that its ending names.\n"
                                   "\n"
                                   "Kinds:\n");
    const nadir_generator_facts *kind;
    for (int64_t k = 0; (kind = nadir_generator(k)) != NULL && used < size; k++) {
        const int length = snprintf(text + used, size - used, "  %-10s %s\n             %s; discount %g\n",
                                    kind->name, kind->summary, kind->source, kind->discount);
        used += length > 0 ? (size_t)length : 0;
    }
    if (used < size) {
        (void)snprintf(text + used, size - used,
                       "\n"
                       "Example:\n"
                       "  nadir generate garnet model.npz --states 1000 --actions 4 --branch 5 --seed 7");
    }
}

static nadir_status generate(cli_run *run, const generate_options *all, double discount, const char *kind,
                             nadir_model **model)
{
    nadir_generate_settings settings;
    nadir_generate_settings_default(&settings);
    settings.discount = discount;
    settings.seed = run->seed;
    nadir_status status = NADIR_OK;
    for (int64_t i = 0; i < all->count && status == NADIR_OK; i++) {
        if (!isnan(all->values[i])) {
            status = nadir_generate_settings_set(run->context, &settings, all->names[i] + 2, all->values[i]);
        }
    }
    return status == NADIR_OK ? nadir_model_generate(run->context, kind, &settings, model) : status;
}

static int generate_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS];
    double discount = NAN;
    nadir_write_settings writing;
    nadir_write_settings_default(&writing);
    generate_options all = {0};
    collect_options(&all);
    char about[4096];
    describe_kinds(about, sizeof about);
    cli_option common[CLI_COMMON_OPTIONS];
    const cli_option own[] = {
        {"--discount", CLI_NUMBER, "GAMMA", NULL, &discount, "discount factor, 0 <= GAMMA < 1"},
        {"--compress", CLI_FLAG, NULL, NULL, &writing.compress, "npz: deflate the arrays: smaller, slower"},
        {0},
    };
    const cli_option_group groups[] = {
        {.title = "Options", .options = own},
        {.title = "Settings of the kinds", .options = all.options},
        cli_common_options(run, common),
        {0},
    };
    int exit;
    if (!cli_parse(run, &cli_command_generate, argc, argv, groups, 2, positionals, about, &exit)) {
        return exit;
    }
    nadir_model *model = NULL;
    const char *format;
    nadir_status status = cli_open(run);
    if (status == NADIR_OK) { /* an unknown file ending fails before the work */
        status = nadir_write_format(run->context, positionals[1], &format);
    }
    if (status == NADIR_OK) {
        status = generate(run, &all, discount, positionals[0], &model);
    }
    if (status == NADIR_OK) {
        status = cli_write_model(run, model, positionals[1], &writing, "kind", positionals[0]);
    }
    nadir_model_free(model);
    return cli_close(run, status);
}

const cli_command cli_command_generate = {
    .name = "generate",
    .arguments = "KIND OUT",
    .summary = "standard instances: random, garnet, riverswim, machine, inventory, forest, gridworld",
    .main = generate_main,
};

/* command_info.c: nadir info: what is in a model file. */
#include "explain.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char about[] =
    "Sizes, sparsity, rewards, discount, valid radius and problems of a model file, in any format.\n"
    "Works without discount or rewards.\n"
    "\n"
    "The valid radius (--verbose, --json) is the largest radius whose L_p ball around the kernel\n"
    "holds no kernel with a negative entry; it is 0 as soon as one row that is not pinned has a zero.";

/* All that is shown, as text or JSON. */
typedef struct info_facts {
    const char *path;
    const char *format;
    nadir_model_facts facts;
    double norm;
    double valid_radius;
    char file_digest[65];
    char model_digest[65];
} info_facts;

static nadir_status gather(cli_run *run, const nadir_model *model, double norm, info_facts *info)
{
    nadir_context *context = run->context;
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    const double own = isnan(view.norm) || view.norm == NADIR_NORM_CHI2 ? 2 : view.norm;
    info->norm = isnan(norm) ? own : norm;
    nadir_model_facts_default(&info->facts);
    nadir_status status = nadir_model_facts_compute(context, model, &info->facts);
    if (status == NADIR_OK) {
        status = nadir_model_valid_radius(context, model, info->norm, &info->valid_radius);
    }
    if (status == NADIR_OK) {
        status = nadir_file_digest(context, info->path, info->file_digest);
    }
    if (status == NADIR_OK) {
        status = nadir_model_digest(context, model, info->model_digest);
    }
    return status;
}

static void warn(cli_run *run, const nadir_model_facts *facts)
{
    if (isnan(facts->discount)) {
        cli_warn(run, "the model has no discount; commands that solve it need --discount");
    }
    if (isnan(facts->reward_min)) {
        cli_warn(run, "the model has no rewards; PRISM and PETSc models take them from --rewards");
    } else if (facts->reward_min == facts->reward_max) {
        cli_warn(run, "all rewards are the same: every policy and every kernel has the same return");
    }
    if (facts->unreachable_states > 0) {
        cli_warn(run, "%" PRId64 " of %" PRId64 " states cannot be reached from the initial distribution",
                 facts->unreachable_states, facts->states);
    }
}

/* Transitions whose probability is an interval. */
static int64_t count_intervals(const nadir_model_data *view)
{
    int64_t count = 0;
    for (int64_t i = 0; view->lower != NULL && i < view->nonzeros; i++) {
        count += view->lower[i] < view->upper[i];
    }
    return count;
}

static void print_json(const cli_run *run, const nadir_model *model, const info_facts *info)
{
    const nadir_model_facts *facts = &info->facts;
    cli_json json;
    cli_json_start(&json, stdout);
    cli_json_text(&json, "file", info->path);
    cli_json_text(&json, "format", info->format);
    cli_json_integer(&json, "states", facts->states);
    cli_json_integer(&json, "rows", facts->rows);
    cli_json_integer(&json, "nonzeros", facts->nonzeros);
    cli_json_integer(&json, "actions_min", facts->actions_min);
    cli_json_integer(&json, "actions_max", facts->actions_max);
    cli_json_double(&json, "density", facts->density);
    cli_json_double(&json, "reward_min", facts->reward_min);
    cli_json_double(&json, "reward_max", facts->reward_max);
    const cli_rewards rewards = cli_rewards_get(model);
    cli_rewards_json(&json, &rewards);
    cli_json_double(&json, "discount", facts->discount);
    cli_json_double(&json, "valid_radius", info->valid_radius);
    cli_json_double(&json, "valid_radius_norm", info->norm);
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    cli_json_double(&json, "radius", view.radius_count == 1 ? view.radius[0] : NAN);
    cli_json_norm(&json, "norm", view.norm);
    cli_json_text(&json, "set", view.set != NADIR_SET_UNSAID ? nadir_set_name(view.set) : NULL);
    cli_json_text(&json, "domain",
                  view.domain != NADIR_DOMAIN_UNSAID ? nadir_domain_name(view.domain) : NULL);
    cli_json_text(&json, "promise",
                  view.promise != NADIR_BALL_UNSAID ? nadir_ball_promise_name(view.promise) : NULL);
    cli_json_double(&json, "confidence", view.confidence);
    cli_json_integer(&json, "intervals", count_intervals(&view));
    cli_json_integer(&json, "terminal_states", facts->terminal_states);
    cli_json_integer(&json, "absorbing_states", facts->absorbing_states);
    cli_json_integer(&json, "unreachable_states", facts->unreachable_states);
    cli_json_integer(&json, "pinned_rows", facts->pinned_rows);
    cli_json_integer(&json, "memory_bytes", facts->bytes);
    cli_json_text(&json, "sha256", info->file_digest);
    cli_json_text(&json, "model_sha256", info->model_digest);
    cli_json_close(run, &json);
}

static void print_bytes(int64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    printf("  memory         %.3g %s\n", value, units[unit]);
}

/* The ball that the model brings along. */
static void print_ball(const nadir_model_data *view)
{
    char text[160];
    double largest = 0;
    for (int64_t i = 0; i < view->radius_count; i++) {
        largest = fmax(largest, view->radius[i]);
    }
    if (view->radius_count > 0) {
        printf("  ball           %s%s\n", view->radius_count > 1 ? "radii up to this: " : "",
               cli_ball_words(largest, isnan(view->norm) ? 2 : view->norm,
                              view->set == NADIR_SET_UNSAID ? NADIR_SET_NONRECT : view->set,
                              cli_domain_of(view), text));
    }
    if (view->promise == NADIR_BALL_OF_RETURN) {
        printf("                 explains the guarantee of one policy (nadir fit); does not hold the true "
               "kernel\n");
    } else if (view->promise == NADIR_BALL_OF_KERNEL) {
        printf("                 holds the true kernel with confidence %g (nadir fit)\n", view->confidence);
    }
}

/* Names of the first states and actions. */
static void print_names(const nadir_model *model, const nadir_model_data *view)
{
    enum { NAMED = 6 };
    if (nadir_model_state_name(model, 0) == NULL) {
        return;
    }
    printf("  names          ");
    for (int64_t s = 0; s < view->states && s < NAMED; s++) {
        printf("%s%s", s > 0 ? ", " : "", nadir_model_state_name(model, s));
    }
    printf("%s\n", view->states > NAMED ? ", ..." : "");
    if (nadir_model_action_name(model, 0) != NULL) {
        printf("                 actions of %s: ", nadir_model_state_name(model, 0));
        for (int64_t row = 0; row < view->state_rows[1] && row < NAMED; row++) {
            printf("%s%s", row > 0 ? ", " : "", nadir_model_action_name(model, row));
        }
        printf("%s\n", view->state_rows[1] > NAMED ? ", ..." : "");
    }
}

/* The first states that stay for ever without reward, whatever the kernel. */
static void print_terminal(const nadir_model *model, const nadir_model_data *view)
{
    enum { SHOWN = 10, NAME = 48 };
    int64_t shown = 0;
    for (int64_t s = 0; s < view->states && shown <= SHOWN; s++) {
        bool pinned;
        char name[NAME];
        if (cli_state_ends(view, s, &pinned) && pinned) {
            printf("%s%s", shown == 0 ? "  terminal       " : ", ",
                   shown == SHOWN ? "..." : cli_explain_state(model, s, sizeof name, name));
            shown++;
        }
    }
    if (shown > 0) {
        putchar('\n');
    }
}

static void print_text(const cli_run *run, const nadir_model *model, const info_facts *info)
{
    const nadir_model_facts *facts = &info->facts;
    char number[32];
    char other[32];
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    printf("%s (%s)\n", info->path, info->format);
    printf("  states         %" PRId64, facts->states);
    if (facts->terminal_states > 0) {
        printf(", %" PRId64 " terminal", facts->terminal_states);
    }
    if (facts->absorbing_states > facts->terminal_states) {
        printf(", %" PRId64 " absorbing", facts->absorbing_states);
    }
    if (facts->unreachable_states > 0) {
        printf(", %" PRId64 " unreachable", facts->unreachable_states);
    }
    printf("\n  rows           %" PRId64 " (", facts->rows);
    if (facts->actions_min == facts->actions_max) {
        printf("%" PRId64 " action%s in each state)\n", facts->actions_min,
               facts->actions_min == 1 ? "" : "s");
    } else {
        printf("%" PRId64 " to %" PRId64 " actions a state)\n", facts->actions_min, facts->actions_max);
    }
    if (run->engine == NULL) {
        print_names(model, &view);
        print_terminal(model, &view);
    }
    printf("  transitions    %" PRId64 " (density %.3g)", facts->nonzeros, facts->density);
    if (view.lower != NULL) {
        printf(", %" PRId64 " with an interval", count_intervals(&view));
    }
    printf("\n");
    if (isnan(facts->reward_min)) {
        printf("  rewards        none\n");
    } else {
        printf("  rewards        %s to %s\n", cli_short(facts->reward_min, number),
               cli_short(facts->reward_max, other));
    }
    const cli_rewards rewards = cli_rewards_get(model);
    cli_rewards_text(&rewards, NADIR_DOMAIN_UNSAID, "              ");
    printf("  discount       %s\n", isnan(facts->discount) ? "none" : cli_short(facts->discount, number));
    if (run->verbose) {
        printf("  valid radius   %s (norm %s; for --domain free alone)\n",
               cli_short_down(info->valid_radius, number), cli_short(info->norm, other));
    }
    if (facts->pinned_rows > 0) {
        printf("  pinned rows    %" PRId64 "\n", facts->pinned_rows);
    }
    if (run->engine == NULL) {
        char start[CLI_START_LENGTH];
        printf("  start          %s\n", cli_start_words(model, start));
    }
    print_ball(&view);
    print_bytes(facts->bytes);
    if (run->verbose) {
        printf("  sha256         %s\n", info->file_digest);
    }
    if (!isnan(facts->discount) && !isnan(facts->reward_min)) {
        cli_next(run, "evaluate", info->path, false,
                 view.radius_count > 0 ? " --policy optimal" : " --policy optimal --radius 0.1");
    }
}

static int info_main(cli_run *run, int argc, char **argv)
{
    const char *positionals[CLI_POSITIONALS];
    nadir_read_settings settings;
    nadir_read_settings_default(&settings);
    double norm = NAN;
    const cli_option own[] = {
        {"--norm", CLI_NUMBER, "P", NULL, &norm,
         "norm of the valid radius, 1 to inf (default: the model's, else 2)"},
        {0},
    };
    int exit;
    if (!cli_parse_model_command(run, &cli_command_info, argc, argv, own, NULL, 1, positionals, about,
                                 &settings, &exit)) {
        return exit;
    }
    info_facts info = {.path = positionals[0]};
    nadir_model *model = NULL;
    nadir_status status = cli_open(run);
    if (status == NADIR_OK) {
        status = nadir_file_format(run->context, info.path, &info.format);
    }
    if (status == NADIR_OK) {
        status = nadir_model_read(run->context, info.path, &settings, &model);
    }
    if (status == NADIR_OK) {
        status = gather(run, model, norm, &info);
    }
    if (status == NADIR_OK) {
        cli_progress_clear(run);
        warn(run, &info.facts);
        if (run->json) {
            print_json(run, model, &info);
        } else {
            print_text(run, model, &info);
        }
    }
    nadir_model_free(model);
    return cli_close(run, status);
}

const cli_command cli_command_info = {
    .name = "info",
    .arguments = "MODEL",
    .summary = "sizes, sparsity, rewards, discount, valid radius, problems found",
    .main = info_main,
};

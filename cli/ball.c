/* ball.c: options of commands with a ball of kernels: norm, set, domain, radius or radii, scales. */
#include "cli.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

cli_option_group cli_ball_options(cli_ball *ball, cli_option storage[CLI_BALL_OPTIONS])
{
    static const char help[] = "how far kernels may be from the nominal one: a number, or a file (.csv or\n"
                               ".npy) with one for each state (set s) or row (set sa)\n"
                               "(default: the model's own; without any, the intervals of the model alone)";
    *ball = (cli_ball){.radius_value = ball->radius_value != NULL ? ball->radius_value : "RADIUS",
                       .radius_help = ball->radius_help != NULL ? ball->radius_help : help,
                       .norm = NAN,
                       .set = -1,
                       .domain = -1};
    const cli_option options[CLI_BALL_OPTIONS] = {
        {"--radius", CLI_TEXT, ball->radius_value, NULL, &ball->radius_text, ball->radius_help},
        {"--norm", CLI_NORM, "P", NULL, &ball->norm,
         "the distance is the L_P norm, 1 to inf; chi2: the root of the sum of\n"
         "(P - nominal)^2 / nominal, on domain support (default: the model's, else 2)"},
        {"--set", CLI_CHOICE, NULL, "nonrect|s|sa", &ball->set,
         "one ball for the whole kernel, one for each state, or one for each row\n"
         "(default: the model's, else nonrect)"},
        {"--domain", CLI_CHOICE, NULL, "simplex|support|free|box", &ball->domain,
         "simplex: new transitions are allowed; support: only those of the model\n"
         "change; free: probabilities may become negative; box: they stay within\n"
         "the intervals of the model (default: the model's, else box where it has\n"
         "intervals, else simplex)"},
        CLI_RARE,
        {"--scales", CLI_TEXT, "FILE", NULL, &ball->scales_path,
         "how uncertain each row is: its change counts divided by its scale, 0 pins\n"
         "it (default: the model's, else all 1)"},
        {0},
    };
    for (int i = 0; i < CLI_BALL_OPTIONS; i++) {
        storage[i] = options[i];
    }
    return (cli_option_group){"The ball", storage, CLI_ABOUT_BALL};
}

static nadir_status read_numbers(cli_run *run, const nadir_model *model, const char *path, double **numbers,
                                 int64_t *count)
{
    return path == NULL ? NADIR_OK : nadir_numbers_read(run->context, model, path, numbers, count);
}

nadir_domain cli_domain_of(const nadir_model_data *view)
{
    return view->domain != NADIR_DOMAIN_UNSAID ? view->domain
           : view->lower != NULL               ? NADIR_DOMAIN_BOX
                                               : NADIR_DOMAIN_SIMPLEX;
}

nadir_status cli_ball_get(cli_run *run, const nadir_model *model, cli_ball *ball, nadir_ball *made)
{
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    nadir_ball_default(made);
    made->set = ball->set >= 0 ? (nadir_set)(NADIR_SET_NONRECT + ball->set) : NADIR_SET_UNSAID;
    made->domain =
        ball->domain >= 0 ? (nadir_domain)(NADIR_DOMAIN_SIMPLEX + ball->domain) : NADIR_DOMAIN_UNSAID;
    made->norm = ball->norm;
    const nadir_domain domain = made->domain != NADIR_DOMAIN_UNSAID ? made->domain : cli_domain_of(&view);
    if (ball->radius_text == NULL && view.radius_count == 0 && domain != NADIR_DOMAIN_BOX) {
        return cli_fail(run, NADIR_ERROR_ARGUMENT,
                        "--radius is needed: the model has none of its own (0.1 is a start)");
    }
    const bool number = ball->radius_text != NULL && cli_options_number(ball->radius_text, &ball->radius);
    nadir_status status =
        read_numbers(run, model, number ? NULL : ball->radius_text, &ball->radii, &made->radius_count);
    if (status != NADIR_OK && access(ball->radius_text, F_OK) != 0) {
        return cli_fail(run, status, "--radius: '%s' is neither a number nor a file", ball->radius_text);
    }
    made->radius = ball->radii;
    if (number) {
        made->radius = &ball->radius;
        made->radius_count = 1;
    }
    int64_t scales = 0;
    if (status == NADIR_OK) {
        status = read_numbers(run, model, ball->scales_path, &ball->scales, &scales);
    }
    if (status == NADIR_OK && ball->scales != NULL && scales != view.rows) {
        status = cli_fail(run, NADIR_ERROR_ARGUMENT,
                          "%s has %lld numbers; --scales takes one for each of the %lld rows",
                          ball->scales_path, (long long)scales, (long long)view.rows);
    }
    made->scales = ball->scales;
    return status;
}

void cli_ball_clear(cli_run *run, cli_ball *ball)
{
    nadir_numbers_free(run->context, ball->radii);
    nadir_numbers_free(run->context, ball->scales);
    ball->radii = NULL;
    ball->scales = NULL;
}

/* Most radii in one option. */
enum { RADII_LIMIT = 100000 };

nadir_status cli_radii_parse(cli_run *run, const char *option, const char *text, cli_radii *radii)
{
    char words[3][64] = {{0}};
    const char *self = text;
    double count = 0;
    bool good = text != NULL;
    for (int i = 0; i < 3 && good; i++) {
        const char *end = strchr(self, ':');
        const size_t length = end != NULL ? (size_t)(end - self) : strlen(self);
        good = (end != NULL) == (i < 2) && length > 0 && length < sizeof words[i];
        if (good) {
            memcpy(words[i], self, length);
            self += length + 1;
        }
    }
    good = good && cli_options_number(words[0], &radii->first) &&
           cli_options_number(words[1], &radii->last) && cli_options_number(words[2], &count);
    good = good && radii->first >= 0 && isfinite(radii->last) && count == floor(count) &&
           count <= RADII_LIMIT &&
           (count >= 2 ? radii->last > radii->first : count == 1 && radii->last == radii->first);
    if (!good) {
        return cli_fail(run, NADIR_ERROR_ARGUMENT,
                        "%s: '%s' given, expected LO:HI:N, the first radius, a larger last one, and how many "
                        "there are, at most %d",
                        option, text != NULL ? text : "nothing", RADII_LIMIT);
    }
    radii->count = (int64_t)count;
    return NADIR_OK;
}

double cli_radii_get(const cli_radii *radii, int64_t place)
{
    const double share = radii->count > 1 ? (double)place / (double)(radii->count - 1) : 1;
    return place == radii->count - 1 ? radii->last : radii->first + share * (radii->last - radii->first);
}

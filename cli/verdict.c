/* verdict.c: what a person reads first; see verdict.h. */
#include "verdict.h"

#include "explain.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIGITS = 5, LABEL_WIDTH = 13 };
/* A share below this is rounding. */
#define NOISE 1e-11

/* ------------------------------------------------------------------------------------------- words */

const char *cli_emphasis_start(cli_emphasis style)
{
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[32m", "\033[33m"};
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    const bool shown = isatty(STDOUT_FILENO) == 1 && (no_color == NULL || *no_color == '\0') &&
                       terminal != NULL && strcmp(terminal, "dumb") != 0;
    return shown ? codes[style] : "";
}

/* The shortest text with so many digits that is not above, or not below, the value. What underflows is 0. */
static const char *shorten(double value, int side, char text[32])
{
    const double size = fabs(value);
    if (size < DBL_MIN) {
        (void)snprintf(text, 32, "0");
        return text;
    }
    const int digits = size >= 99999.5 && size < 999999.5 ? DIGITS + 1 : DIGITS;
    (void)snprintf(text, 32, "%.*g", digits, value);
    const double shown = strtod(text, NULL);
    if (isfinite(value) && value != 0 && side != 0 && (shown - value) * side < 0) {
        const double unit = pow(10, floor(log10(size)) - digits + 1);
        (void)snprintf(text, 32, "%.*g", digits, shown + side * unit);
    }
    return text;
}

const char *cli_short(double value, char text[32])
{
    return shorten(value, 0, text);
}

const char *cli_short_down(double value, char text[32])
{
    return shorten(value, -1, text);
}

const char *cli_short_up(double value, char text[32])
{
    return shorten(value, 1, text);
}

const char *cli_percent(double share, char text[32])
{
    const double percent = fabs(share) < NOISE ? 0 : 100 * share;
    (void)snprintf(text, 32, fabs(percent) >= 99.5 ? "%.0f %%" : "%.2g %%", percent);
    return text;
}

const char *cli_change(double from, double value, char text[64])
{
    const double change = value - from;
    const double share = fabs(change) / fabs(from);
    char number[32];
    (void)snprintf(text, 64, "%s %s", change > 0 ? "gains" : "loses",
                   share <= 10 ? cli_percent(share, number) : cli_short(fabs(change), number));
    return text;
}

const char *cli_set_words(nadir_set set)
{
    switch (set) {
    case NADIR_SET_NONRECT:
        return "one budget for the whole kernel";
    case NADIR_SET_S:
        return "a budget for each state";
    case NADIR_SET_SA:
        return "a budget for each state and action";
    default:
        return nadir_set_name(set);
    }
}

const char *cli_domain_words(nadir_domain domain)
{
    switch (domain) {
    case NADIR_DOMAIN_SIMPLEX:
        return "new transitions allowed";
    case NADIR_DOMAIN_SUPPORT:
        return "no new transitions";
    case NADIR_DOMAIN_FREE:
        return "negative probabilities allowed";
    case NADIR_DOMAIN_BOX:
        return "probabilities within their intervals";
    default:
        return nadir_domain_name(domain);
    }
}

const char *cli_norm(double norm, char text[32])
{
    return norm == NADIR_NORM_CHI2 ? "chi2" : cli_short(norm, text);
}

const char *cli_ball_words(double radius, double norm, nadir_set set, nadir_domain domain, char text[160])
{
    char number[2][32];
    if (domain == NADIR_DOMAIN_BOX && set == NADIR_SET_SA && isinf(norm) && radius >= 1) {
        (void)snprintf(text, 160, "none; all %s", cli_domain_words(domain));
        return text;
    }
    (void)snprintf(text, 160, "radius %s, norm %s; %s; %s", cli_short(radius, number[0]),
                   cli_norm(norm, number[1]), cli_set_words(set), cli_domain_words(domain));
    return text;
}

const char *cli_proven(bool certified, const char *certificate, char text[96])
{
    const char *words = !certified              ? "not proven"
                        : certificate[0] == 'r' ? "proven"
                                                : "proven, if its iterations converged as they seem to";
    (void)snprintf(text, 96, "%s%s%s", cli_emphasis_start(certified ? CLI_GOOD : CLI_BAD), words,
                   cli_emphasis_start(CLI_PLAIN));
    return text;
}

/* ------------------------------------------------------------------------------------------- lines */

void cli_verdict_line(const char *label, const char *format, ...)
{
    va_list arguments;
    printf("%s%-*s%s", cli_emphasis_start(CLI_BOLD), LABEL_WIDTH, label, cli_emphasis_start(CLI_PLAIN));
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

void cli_block_line(const char *label, const char *format, ...)
{
    va_list arguments;
    printf("  %-*s", LABEL_WIDTH - 2, label);
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* ----------------------------------------------------------------------------------- a worst return */

/* Whether some kernel of the ball never ends. */
static bool has_trap(const nadir_robust *robust)
{
    return robust->trap_radius_high <= robust->radius;
}

/* Why there is no proof, as far as the result tells. */
static void print_reason(const nadir_robust *robust, const nadir_robust_settings *settings)
{
    char number[32];
    if (settings->certify == NADIR_CERTIFY_OFF) {
        cli_verdict_line("Why", "no proof was asked for (--certify off)");
    } else if (has_trap(robust)) {
        cli_verdict_line(
            "Why", "some kernels of the ball never end: searches go round them, and proofs do not hold");
    } else if (robust->time_ran_out) {
        cli_verdict_line("Why", "the time for the proof was up, %g seconds", settings->time_limit);
    } else if (settings->certify == NADIR_CERTIFY_STRICT) {
        cli_verdict_line(
            "Why",
            "the strict proof ended after %.2g seconds with no step left to try: its bounds do not meet the "
            "kernel found",
            robust->seconds_certify);
    } else if (robust->kappa > 0.5) {
        cli_verdict_line("Why", "the ball is too large for the quick proof (kappa %s; up to 0.5 it works)",
                         cli_short_up(robust->kappa, number));
    } else if (robust->set == NADIR_SET_NONRECT && robust->norm != 2) {
        cli_verdict_line("Why", "the second-order proof is for norm 2 only; what is left is a weaker bound");
    } else {
        cli_verdict_line("Why", "the bounds that can be proven do not meet the kernel found");
    }
}

double cli_more_time(const nadir_robust_settings *settings)
{
    return fmax(60, 6 * settings->time_limit);
}

static void print_advice(const nadir_robust *robust, const nadir_robust_settings *settings, double smaller)
{
    char text[200] = "";
    char number[32];
    char time[48];
    char radius[96];
    const char *words[4];
    int count = 0;
    if (has_trap(robust)) {
        cli_verdict_line("Try", "a radius below %s: up to there every kernel ends",
                         cli_short_down(robust->trap_radius_low, number));
        return;
    }
    if (settings->certify != NADIR_CERTIFY_STRICT) {
        words[count++] = settings->certify == NADIR_CERTIFY_OFF ? "--certify auto" : "--certify strict";
    } else if (robust->time_ran_out) {
        (void)snprintf(time, sizeof time, "--time %g", cli_more_time(settings));
        words[count++] = time;
    }
    if (robust->domain == NADIR_DOMAIN_SIMPLEX && settings->certify != NADIR_CERTIFY_OFF) {
        words[count++] = "--domain support";
    }
    if (isnan(smaller)) {
        (void)snprintf(radius, sizeof radius, "a smaller radius");
    } else {
        (void)snprintf(radius, sizeof radius, "a smaller radius: it is proven at %s at least",
                       cli_short(smaller, number));
    }
    if (settings->certify != NADIR_CERTIFY_OFF) {
        words[count++] = radius;
    }
    for (int i = 0; i < count; i++) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s",
                       i == 0 ? "" : (i == count - 1 ? " or " : ", "), words[i]);
    }
    cli_verdict_line("Try", "%s", text);
}

bool cli_nearly_proven(const nadir_robust *robust, char text[48])
{
    char number[2][32];
    if (robust->certified || has_trap(robust) ||
        strcmp(cli_short(robust->lower_bound, number[0]), cli_short(robust->upper_bound, number[1])) != 0) {
        return false;
    }
    (void)snprintf(text, 40, "proven to within %.2g", robust->upper_bound - robust->lower_bound);
    return true;
}

void cli_verdict_robust(const nadir_robust *robust, const nadir_robust_settings *settings, double smaller)
{
    const bool best = settings->optimistic;
    const char *label = best ? "Best case" : "Worst case";
    const double nominal = robust->nominal_return;
    const double bound = best ? robust->upper_bound : robust->lower_bound;
    char number[3][32];
    char change[64];
    char proven[96];
    const bool nearly = cli_nearly_proven(robust, proven);
    (void)(nearly ? "" : cli_proven(robust->certified, robust->certificate, proven));
    (void)cli_short(nominal, number[1]);
    if (robust->certified || nearly) {
        cli_verdict_line(label, "%s%s%s   nominal %s, %s   %s", cli_emphasis_start(CLI_BOLD),
                         cli_short(robust->robust_return, number[0]), cli_emphasis_start(CLI_PLAIN),
                         number[1], cli_change(nominal, robust->robust_return, change), proven);
        if (nearly) {
            print_reason(robust, settings);
            print_advice(robust, settings, smaller);
        }
        return;
    }
    if (isfinite(bound)) {
        (void)(best ? cli_short_up : cli_short_down)(bound, number[0]);
        cli_verdict_line("Guaranteed", "%s %s%s%s   nominal %s, %s at most", best ? "at most" : "at least",
                         cli_emphasis_start(CLI_BOLD), number[0], cli_emphasis_start(CLI_PLAIN), number[1],
                         cli_change(nominal, bound, change));
    } else {
        cli_verdict_line("Guaranteed", "nothing   nominal %s", number[1]);
    }
    cli_verdict_line("Found", "%s, %s   %s: a %s kernel is not ruled out",
                     cli_short(robust->robust_return, number[0]),
                     cli_change(nominal, robust->robust_return, change), proven, best ? "better" : "worse");
    print_reason(robust, settings);
    print_advice(robust, settings, smaller);
}

/* -------------------------------------------------------------------------------------------- next */

void cli_next(const cli_run *run, const char *command, const char *model, bool ball, const char *further)
{
    const cli_words *words = &run->words;
    char quoted[CLI_WORDS_LENGTH] = "";
    if (words->lost || !cli_words_add(quoted, model)) {
        return;
    }
    cli_verdict_line("Next", "nadir %s %s%s%s%s", command, quoted + 1, words->of_model,
                     ball ? words->of_ball : "", further);
}

/* ------------------------------------------------------------------------------------------- model */

void cli_promise_text(const nadir_model_data *view, double radius, int policies)
{
    double largest = 0;
    for (int64_t i = 0; i < view->radius_count; i++) {
        largest = fmax(largest, view->radius[i]);
    }
    if (view->promise == NADIR_BALL_UNSAID || view->radius_count == 0 || radius != largest) {
        return;
    }
    if (view->promise == NADIR_BALL_OF_KERNEL) {
        cli_verdict_line("Note", "this ball holds the true kernel with confidence %g", view->confidence);
        return;
    }
    cli_verdict_line(
        "Note", "this ball explains the guarantee that nadir fit gave for one policy; it does not hold the "
                "true kernel");
    if (policies > 1) {
        cli_verdict_line("", "and does not compare policies: nadir fit LOG --policy A --policy B does");
    }
}

/* ------------------------------------------------------------------------------------------ policy */

enum { NAME = 48 };

static void print_state(const nadir_model *model, const nadir_model_data *view, const double *pi,
                        int64_t state, int width)
{
    enum { ACTIONS = 4 };
    char name[NAME];
    int64_t shown = 0;
    printf("  %-*s", width, cli_explain_state(model, state, NAME, name));
    for (int64_t row = view->state_rows[state]; row < view->state_rows[state + 1]; row++) {
        const nadir_damage place = {.row = row, .action = row - view->state_rows[state]};
        char share[32];
        if (pi[row] <= 0) {
            continue;
        }
        if (shown++ == ACTIONS) {
            printf(", ...");
            break;
        }
        printf("%s%s", shown > 1 ? ", " : "", cli_explain_action(model, &place, NAME, name));
        if (pi[row] < 1) {
            printf(" %s", cli_percent(pi[row], share));
        }
    }
    putchar('\n');
}

void cli_policy_head(const nadir_model *model, const nadir_policy *policy)
{
    enum { STATES = 10 };
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    const int64_t shown = view.states <= STATES + 2 ? view.states : STATES;
    int width = LABEL_WIDTH - 2;
    for (int64_t s = 0; s < shown; s++) {
        char name[NAME];
        const int length = (int)strlen(cli_explain_state(model, s, NAME, name)) + 2;
        width = length > width ? length : width;
    }
    for (int64_t s = 0; s < shown; s++) {
        print_state(model, &view, nadir_policy_probabilities(policy), s, width);
    }
    if (shown < view.states) {
        printf("  %-*s%" PRId64 " more states; --out FILE writes all\n", width, "...", view.states - shown);
    }
}

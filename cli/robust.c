/* robust.c: what commands say of robust evaluations; see robust.h. */
#include "robust.h"

#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void cli_robust_json(cli_json *json, const nadir_robust *robust)
{
    cli_json_double(json, "nominal_return", robust->nominal_return);
    cli_json_double(json, "robust_return", robust->robust_return);
    cli_json_double(json, "penalty", robust->penalty);
    cli_json_double(json, "lower_bound", robust->lower_bound);
    cli_json_double(json, "upper_bound", robust->upper_bound);
    cli_json_double(json, "gap", robust->upper_bound - robust->lower_bound);
    cli_json_bool(json, "certified", robust->certified);
    cli_json_text(json, "certificate", robust->certificate);
    cli_json_text(json, "bound", robust->bound);
    cli_json_double(json, "kappa", robust->kappa);
    cli_json_double(json, "stationarity_gap", robust->stationarity_gap);
    cli_json_text(json, "set", nadir_set_name(robust->set));
    cli_json_norm(json, "norm", robust->norm);
    cli_json_double(json, "radius", robust->radius);
    cli_json_text(json, "domain", nadir_domain_name(robust->domain));
    cli_json_text(json, "method", robust->method);
    cli_json_text(json, "stop_reason", robust->stop_reason);
    if (robust->time_ran_out) {
        cli_json_bool(json, "time_ran_out", true);
    }
    cli_json_integer(json, "iterations", robust->iterations);
    cli_json_integer(json, "solves", robust->solves);
    cli_json_double(json, "breakdown_radius", robust->breakdown_radius);
    cli_json_double(json, "valid_radius", robust->valid_radius);
    if (!isnan(robust->duration)) {
        cli_json_double(json, "duration", robust->duration);
        cli_json_double(json, "duration_bound", robust->duration_bound);
        cli_json_double(json, "trap_radius_low", robust->trap_radius_low);
        cli_json_double(json, "trap_radius_high", robust->trap_radius_high);
    }
    cli_json_double(json, "kernel_min", robust->kernel_minimum);
    cli_json_bool(json, "kernel_valid", robust->kernel_valid);
    cli_json_double(json, "residual", robust->residual);
    cli_json_double(json, "return_difference", robust->return_difference);
    cli_json_text(json, "backend", robust->backend);
    cli_json_integer(json, "backend_bytes", robust->backend_memory);
}

void cli_bounds_json(cli_json *json, const nadir_robust *robust)
{
    cli_json_double(json, "robust_return", robust->robust_return);
    cli_json_double(json, "penalty", robust->penalty);
    cli_json_double(json, "lower_bound", robust->lower_bound);
    cli_json_double(json, "upper_bound", robust->upper_bound);
    cli_json_bool(json, "certified", robust->certified);
    cli_json_text(json, "certificate", robust->certificate);
    cli_json_text(json, "bound", robust->bound);
}

nadir_status cli_worst_write(cli_run *run, nadir_worst *worst, const char *model, const char *policy,
                             const char *kernel, const char *witness)
{
    nadir_context *context = run->context;
    nadir_status status = NADIR_OK;
    if (kernel != NULL || witness != NULL) {
        status = nadir_worst_set_files(context, worst, model, policy, NULL);
    }
    if (status == NADIR_OK && kernel != NULL) {
        status = nadir_worst_write(context, worst, kernel);
    }
    if (status == NADIR_OK && witness != NULL) { /* the witness holds the kernel's file name */
        status = nadir_worst_set_files(context, worst, NULL, NULL, kernel);
    }
    if (status == NADIR_OK && witness != NULL) {
        status = nadir_worst_write_witness(context, worst, witness);
    }
    return status;
}

/* Columns of the table are as wide as what is in them. */
enum { COLUMNS = 5 };

typedef const char *(*print_number)(double value, char text[32]);

/* What is guaranteed comes first, then what was found. */
static void fill_line(const cli_evaluated *from, bool verbose, bool optimistic, char line[COLUMNS][32])
{
    const nadir_robust *robust = &from->robust;
    const print_number bound = robust->certified ? cli_short : optimistic ? cli_short_up : cli_short_down;
    (void)(verbose ? cli_number : bound)(optimistic ? robust->upper_bound : robust->lower_bound, line[1]);
    (void)(verbose ? cli_number : cli_short)(robust->robust_return, line[2]);
    (void)(verbose ? cli_number : cli_short)(robust->nominal_return, line[3]);
    char nearly[48];
    (void)snprintf(line[4], sizeof line[4], "%.31s",
                   cli_nearly_proven(robust, nearly) ? nearly + strlen("proven ")
                   : !robust->certified              ? "no"
                   : robust->certificate[0] == 'r'   ? "yes"
                                                     : "yes, if iterations converged");
}

static void widen(int width[COLUMNS], const char *policy, char line[COLUMNS][32])
{
    for (int i = 0; i < COLUMNS; i++) {
        const int length = (int)strlen(i == 0 ? policy : line[i]);
        width[i] = length > width[i] ? length : width[i];
    }
}

static void print_line(const int width[COLUMNS], const char *policy, char line[COLUMNS][32])
{
    printf("  %-*s", width[0], policy);
    for (int i = 1; i < COLUMNS - 1; i++) {
        printf("  %*s", width[i], line[i]);
    }
    printf("  %s\n", line[COLUMNS - 1]);
}

/* What is certain of a worst case, and the most that it may be; of a best case the other way round: what is attained. */
static double floor_of(const nadir_robust *robust, bool optimistic)
{
    return optimistic ? robust->robust_return : robust->lower_bound;
}

/* The policy with the largest of these. */
static const cli_evaluated *find_best(int count, const cli_evaluated *evaluated, bool optimistic)
{
    const cli_evaluated *best = evaluated;
    for (int i = 1; i < count; i++) {
        if (floor_of(&evaluated[i].robust, optimistic) > floor_of(&best->robust, optimistic)) {
            best = &evaluated[i];
        }
    }
    return best;
}

/* Whether another policy may do better, as far as bounds tell: by more than digits that are not shown. */
static bool is_rival(const cli_evaluated *other, const cli_evaluated *best, bool optimistic)
{
    const double floor = floor_of(&best->robust, optimistic);
    char number[2][32];
    return other != best && !(other->robust.certified && best->robust.certified) &&
           other->robust.upper_bound > floor &&
           strcmp(cli_short(other->robust.upper_bound, number[0]), cli_short(floor, number[1])) != 0;
}

/* "robust.csv does best", or that several do, within the digits that are shown. */
static const char *winner(int count, const cli_evaluated *evaluated, const cli_evaluated *best,
                          bool optimistic, char text[200])
{
    const char *also = "";
    int equal = 0;
    for (int i = 0; i < count; i++) {
        char number[2][32];
        const bool ties = strcmp(cli_short(floor_of(&evaluated[i].robust, optimistic), number[0]),
                                 cli_short(floor_of(&best->robust, optimistic), number[1])) == 0;
        equal += ties;
        also = ties && &evaluated[i] != best ? evaluated[i].policy : also;
    }
    if (equal == count) {
        (void)snprintf(text, 200, "all policies do equally well");
    } else if (equal > 1) {
        (void)snprintf(text, 200, "%.80s and %.80s%s do equally well, and best", best->policy, also,
                       equal > 2 ? ", among others," : "");
    } else {
        (void)snprintf(text, 200, "%.120s does best", best->policy);
    }
    return text;
}

/* "a.csv, 2142.1 to 2315.2" */
static void add_range(const cli_evaluated *one, bool optimistic, bool last, size_t size, char *text)
{
    const nadir_robust *robust = &one->robust;
    const double low = floor_of(robust, optimistic);
    const size_t used = strlen(text);
    char number[2][32];
    (void)cli_short_down(low, number[0]);
    (void)cli_short_up(robust->upper_bound, number[1]);
    char nearly[48];
    const bool narrow = robust->certified || cli_nearly_proven(robust, nearly) || low == robust->upper_bound;
    (void)snprintf(text + used, size - used, "%s%.80s, %s%s%s",
                   used == 0 ? ""
                   : last    ? ", or "
                             : "; ",
                   one->policy,
                   narrow          ? cli_short(robust->robust_return, number[0])
                   : isfinite(low) ? number[0]
                                   : "at most ",
                   narrow || !isfinite(low) ? "" : " to ", narrow ? "" : number[1]);
}

/* Which policy does best, or between which it is not decided, and what to do then. */
static void print_best(int count, const cli_evaluated *evaluated, const cli_evaluated *best,
                       const nadir_robust_settings *settings)
{
    enum { NAMED = 3 };
    const bool optimistic = settings->optimistic;
    const bool strict = settings->certify == NADIR_CERTIFY_STRICT;
    char text[600] = "";
    char number[32];
    char proven[96];
    int rivals = 0;
    bool late = false;
    const char *certificate = best->robust.certificate;
    for (int i = 0; i < count; i++) {
        rivals += is_rival(&evaluated[i], best, optimistic);
        late = late || evaluated[i].robust.time_ran_out;
        certificate = certificate[0] == 'r' ? evaluated[i].robust.certificate : certificate;
    }
    if (rivals == 0) {
        cli_verdict_line(optimistic ? "Best case" : "Worst case", "%s: %s%s   %s",
                         winner(count, evaluated, best, optimistic, text),
                         optimistic || best->robust.certified ? "" : "at least ",
                         optimistic || best->robust.certified
                             ? cli_short(best->robust.robust_return, number)
                             : cli_short_down(best->robust.lower_bound, number),
                         cli_proven(true, certificate, proven));
        return;
    }
    add_range(best, optimistic, false, sizeof text, text);
    for (int i = 0, named = 0; i < count && named < NAMED; i++) {
        if (is_rival(&evaluated[i], best, optimistic)) {
            add_range(&evaluated[i], optimistic, ++named == rivals, sizeof text, text);
        }
    }
    cli_verdict_line("Undecided", "which does best: %s%s", text, rivals > NAMED ? "; and others" : "");
    if (settings->certify == NADIR_CERTIFY_OFF) {
        cli_verdict_line("Why", "no proof was asked for (--certify off)");
    } else {
        cli_verdict_line("Why", late ? "the time for the proof was up" : "the proven bounds overlap");
    }
    if (!strict) {
        cli_verdict_line("Try", "--certify %s", settings->certify == NADIR_CERTIFY_OFF ? "auto" : "strict");
    } else if (late) {
        cli_verdict_line("Try", "--time %g", cli_more_time(settings));
    } else {
        cli_verdict_line("Try", "a smaller radius");
    }
}

void cli_policies_text(const cli_run *run, int count, const cli_evaluated *evaluated, const cli_input *input,
                       const nadir_robust_settings *settings, bool next)
{
    const bool optimistic = settings->optimistic;
    const nadir_robust *first = &evaluated[0].robust;
    const cli_evaluated *best = find_best(count, evaluated, optimistic);
    char head[COLUMNS][32] = {"", "guaranteed", "found", "nominal", "proven"};
    char line[COLUMNS][32];
    char text[160];
    int width[COLUMNS] = {0};
    widen(width, "policy", head);
    for (int i = 0; i < count; i++) {
        fill_line(&evaluated[i], run->verbose, optimistic, line);
        widen(width, evaluated[i].policy, line);
    }
    print_best(count, evaluated, best, settings);
    cli_promise_text(&input->view, first->radius, count);
    char words[CLI_WORDS_LENGTH] = "";
    const bool endless = first->domain == NADIR_DOMAIN_FREE && !isnan(first->duration); /* no optimize */
    next = next && !optimistic && first->radius > 0;
    if (next && count == 2 && cli_words_add(words, "--policy") && cli_words_add(words, evaluated[0].policy) &&
        cli_words_add(words, "--policy") && cli_words_add(words, evaluated[1].policy) &&
        cli_words_add(words, "--difference")) {
        cli_next(run, "evaluate", input->model_path, true, words);
    } else if (next && count > 2 && !endless && cli_words_add(words, "--policy") &&
               cli_words_add(words, best->policy)) {
        cli_next(run, "optimize", input->model_path, true, words);
    }
    cli_input_start(input);
    cli_block_line("ball", "%s", cli_ball_words(first->radius, first->norm, first->set, first->domain, text));
    cli_rewards_text(&input->rewards, first->domain, "rewards   ");
    putchar('\n');
    print_line(width, "policy", head);
    for (int i = 0; i < count; i++) {
        fill_line(&evaluated[i], run->verbose, optimistic, line);
        print_line(width, evaluated[i].policy, line);
    }
}

void cli_evaluated_json(cli_json *json, const cli_evaluated *evaluated)
{
    const nadir_robust *robust = &evaluated->robust;
    cli_json_text(json, "policy", evaluated->policy);
    cli_json_text(json, "policy_sha256", evaluated->digest);
    cli_json_double(json, "nominal_return", robust->nominal_return);
    cli_bounds_json(json, robust);
    cli_json_text(json, "method", robust->method);
    cli_json_text(json, "stop_reason", robust->stop_reason);
    cli_json_double(json, "breakdown_radius", robust->breakdown_radius);
    cli_json_bool(json, "kernel_valid", robust->kernel_valid);
}

void cli_policies_json(cli_json *json, int count, const cli_evaluated *evaluated)
{
    cli_json_array(json, "policies");
    for (int i = 0; i < count; i++) {
        cli_json_object(json, NULL);
        cli_evaluated_json(json, &evaluated[i]);
        cli_json_object_end(json);
    }
    cli_json_array_end(json);
}

/* Which policy is better under every kernel of the ball, if one is. */
static void print_winner(const nadir_difference *difference, const cli_evaluated *evaluated, bool optimistic)
{
    const double bound = optimistic ? difference->upper_bound : difference->lower_bound;
    char number[2][32];
    char proven[96];
    (void)cli_short(difference->worst, number[1]);
    if (!optimistic && bound > 0) {
        cli_verdict_line("Difference", "%s earns at least %s more than %s under every kernel   %s",
                         evaluated[0].policy, cli_short_down(bound, number[0]), evaluated[1].policy,
                         cli_proven(true, difference->certificate, proven));
    } else if (!isfinite(bound)) {
        cli_verdict_line("Difference", "%s less %s: %s found, nothing proven", evaluated[0].policy,
                         evaluated[1].policy, number[1]);
    } else if (optimistic) {
        cli_verdict_line("Difference", "%s less %s under the same kernel: at most %s, found %s   %s",
                         evaluated[0].policy, evaluated[1].policy, cli_short_up(bound, number[0]), number[1],
                         cli_proven(difference->certified, difference->certificate, proven));
    } else {
        const bool behind = difference->worst < 0;
        (void)cli_short(fabs(difference->worst), number[1]);
        (void)cli_short_up(fmax(-bound, 0), number[0]);
        (void)cli_proven(difference->certified, difference->certificate, proven);
        if (difference->certified && behind) {
            cli_verdict_line("Difference",
                             "%s can earn %s less than %s under the same kernel, and no more than that   %s",
                             evaluated[0].policy, number[1], evaluated[1].policy, proven);
        } else if (difference->certified) {
            cli_verdict_line("Difference",
                             "%s earns as much as %s under every kernel, or more, within %s   %s",
                             evaluated[0].policy, evaluated[1].policy, number[0], proven);
        } else {
            cli_verdict_line("Difference", "%s earns at most %s less than %s under the same kernel",
                             evaluated[0].policy, number[0], evaluated[1].policy);
            cli_verdict_line("Found",
                             "a kernel under which it earns %s %s   %s: a worse one is not ruled out",
                             number[1], behind ? "less" : "more", proven);
        }
    }
}

void cli_difference_text(const cli_run *run, const nadir_difference *difference,
                         const cli_evaluated *evaluated, bool optimistic)
{
    const char *ending = !difference->certified              ? "no: the bounds are apart"
                         : difference->certificate[0] == 'r' ? "yes, by a proof that includes all rounding"
                                                             : "yes, resting on converged iterations";
    char number[32];
    putchar('\n');
    print_winner(difference, evaluated, optimistic);
    cli_block_line("nominal", "%s", cli_short(difference->nominal, number));
    if (!run->verbose) {
        return;
    }
    putchar('\n');
    printf("  nominal          %s\n", cli_number(difference->nominal, number));
    printf("  %-16s %s\n", optimistic ? "best" : "worst", cli_number(difference->worst, number));
    printf("  lower bound      %s\n", cli_number(difference->lower_bound, number));
    printf("  upper bound      %s\n", cli_number(difference->upper_bound, number));
    printf("  certified        %s\n", ending);
    printf("  bound            %s; worst and best case apart give %s\n", difference->bound,
           cli_number(difference->decoupled_bound, number));
    printf("  method           %s, %" PRId64 " iterations, %s\n", difference->method, difference->iterations,
           difference->stop_reason);
    printf("  seconds          search %.3g, bounds %.3g\n", difference->seconds_search,
           difference->seconds_certify);
}

void cli_difference_json(cli_json *json, const nadir_difference *difference)
{
    cli_json_object(json, "difference");
    cli_json_double(json, "nominal", difference->nominal);
    cli_json_double(json, "worst", difference->worst);
    cli_json_double(json, "lower_bound", difference->lower_bound);
    cli_json_double(json, "upper_bound", difference->upper_bound);
    cli_json_bool(json, "certified", difference->certified);
    cli_json_text(json, "certificate", difference->certificate);
    cli_json_text(json, "bound", difference->bound);
    cli_json_double(json, "decoupled_bound", difference->decoupled_bound);
    cli_json_double(json, "kappa", difference->kappa);
    cli_json_double(json, "stationarity_gap", difference->stationarity_gap);
    cli_json_text(json, "method", difference->method);
    cli_json_text(json, "stop_reason", difference->stop_reason);
    cli_json_integer(json, "iterations", difference->iterations);
    cli_json_double(json, "kernel_min", difference->kernel_minimum);
    cli_json_double(json, "seconds_search", difference->seconds_search);
    cli_json_double(json, "seconds_certify", difference->seconds_certify);
    cli_json_object_end(json);
}

/* sweep_print.c: risk curves as JSON, as a table and as CSV. */
#include "files.h"
#include "robust.h"
#include "sweep.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void print_curve(cli_json *json, const cli_curve *curve)
{
    cli_json_array(json, "curve");
    for (int64_t i = 0; i < curve->count; i++) {
        const nadir_robust *robust = &curve->results[i];
        cli_json_object(json, NULL);
        cli_json_double(json, "radius", robust->radius);
        cli_bounds_json(json, robust);
        cli_json_object_end(json);
    }
    cli_json_array_end(json);
}

static void print_seconds(cli_json *json, const cli_sweep *sweep)
{
    double robust = 0;
    double certify = 0;
    for (int c = 0; c < sweep->curves_count; c++) {
        for (int64_t i = 0; i < sweep->curves[c].count; i++) {
            robust += sweep->curves[c].results[i].seconds_robust;
            certify += sweep->curves[c].results[i].seconds_certify;
        }
    }
    cli_input_seconds(json, &sweep->input, cli_sweep_any_answer(sweep)->seconds_nominal, robust, certify);
}

void cli_sweep_print_json(const cli_run *run, const cli_sweep *sweep)
{
    const nadir_robust *any = cli_sweep_any_answer(sweep);
    const cli_curve *first = sweep->curves;
    cli_json json;
    cli_input_json_start(&json, &sweep->input);
    cli_json_double(&json, "nominal_return", any->nominal_return);
    cli_json_text(&json, "set", nadir_set_name(first->set));
    cli_json_norm(&json, "norm", any->norm);
    cli_json_text(&json, "domain", nadir_domain_name(first->domain));
    cli_json_bool(&json, "optimistic", sweep->optimistic);
    if (sweep->horizon > 0) {
        cli_json_integer(&json, "horizon", sweep->horizon);
    }
    cli_json_double(&json, "radius_first", sweep->radii.first);
    cli_json_double(&json, "radius_last", sweep->radii.last);
    cli_json_integer(&json, "radii", sweep->radii.count);
    cli_json_double(&json, "breakdown_radius", first->breakdown);
    cli_json_double(&json, "valid_radius", any->valid_radius);
    print_curve(&json, first);
    if (sweep->curves_count > 1) {
        cli_json_array(&json, "curves");
        for (int c = 0; c < sweep->curves_count; c++) {
            cli_json_object(&json, NULL);
            cli_json_text(&json, "policy", sweep->curves[c].policy);
            cli_json_double(&json, "nominal_return",
                            sweep->curves[c].count > 0 ? sweep->curves[c].results[0].nominal_return : NAN);
            cli_json_text(&json, "set", nadir_set_name(sweep->curves[c].set));
            cli_json_text(&json, "domain", nadir_domain_name(sweep->curves[c].domain));
            cli_json_double(&json, "breakdown_radius", sweep->curves[c].breakdown);
            print_curve(&json, &sweep->curves[c]);
            cli_json_object_end(&json);
        }
        cli_json_array_end(&json);
    }
    cli_json_text(&json, "backend", any->backend);
    cli_input_json(&json, &sweep->input);
    cli_json_text(&json, "plot", sweep->plot_path);
    cli_json_text(&json, "csv", sweep->csv_path);
    print_seconds(&json, sweep);
    cli_json_close(run, &json);
}

/* All digits and both bounds. */
static void print_details(const cli_sweep *sweep, const cli_curve *curve)
{
    printf("  %-12s  %18s  %18s  %18s  %s\n", "radius", sweep->optimistic ? "best return" : "worst return",
           "lower bound", "upper bound", "certified");
    for (int64_t i = 0; i < curve->count; i++) {
        const nadir_robust *robust = &curve->results[i];
        printf("  %-12.6g  %18.10g  %18.10g  %18.10g  %s\n", robust->radius, robust->robust_return,
               robust->lower_bound, robust->upper_bound, robust->certified ? "yes" : "no");
    }
}

/* What is guaranteed at a radius: the worst return where it is proven, else its bound. */
static double get_guaranteed(const cli_sweep *sweep, const nadir_robust *robust)
{
    return robust->certified ? robust->robust_return
                             : (sweep->optimistic ? robust->upper_bound : robust->lower_bound);
}

static const char *print_guaranteed(const cli_sweep *sweep, const nadir_robust *robust, double value,
                                    char text[32])
{
    return robust->certified   ? cli_short(value, text)
           : sweep->optimistic ? cli_short_up(value, text)
                               : cli_short_down(value, text);
}

static void print_table(const cli_sweep *sweep, const cli_curve *curve)
{
    printf("  %-10s  %12s  %13s  %12s\n", "radius", "guaranteed",
           sweep->optimistic ? "gains at most" : "loses at most", "found");
    for (int64_t i = 0; i < curve->count; i++) {
        const nadir_robust *robust = &curve->results[i];
        const double guaranteed = get_guaranteed(sweep, robust);
        char number[3][32];
        char change[64];
        char proven[96];
        (void)cli_change(robust->nominal_return, guaranteed, change);
        printf("  %-10s  %12s  %13s  %12s  %s\n", cli_short(robust->radius, number[0]),
               print_guaranteed(sweep, robust, guaranteed, number[1]),
               isfinite(guaranteed) ? change + strlen("loses ") : "?",
               cli_short(robust->robust_return, number[2]),
               cli_proven(robust->certified, robust->certificate, proven));
    }
}

/* How many radii are proven. */
static int64_t count_proven(const cli_curve *curve)
{
    int64_t count = 0;
    for (int64_t i = 0; i < curve->count; i++) {
        count += curve->results[i].certified;
    }
    return count;
}

static void print_verdict(const cli_sweep *sweep, const cli_curve *curve)
{
    char number[3][32];
    char change[64];
    if (curve->count == 0) {
        cli_verdict_line(sweep->optimistic ? "Best case" : "Worst case", "no radius has an answer");
        return;
    }
    const nadir_robust *last = &curve->results[curve->count - 1];
    const double guaranteed = get_guaranteed(sweep, last);
    const char *label = sweep->optimistic ? "Best case" : "Worst case";
    cli_verdict_line(last->certified ? label : "Guaranteed",
                     "%s at radius %s   nominal %s, %s%s   %" PRId64 " of %" PRId64 " radii proven",
                     print_guaranteed(sweep, last, guaranteed, number[0]), cli_short(last->radius, number[1]),
                     cli_short(last->nominal_return, number[2]),
                     cli_change(last->nominal_return, guaranteed, change), last->certified ? "" : " at most",
                     count_proven(curve), curve->count);
}

void cli_sweep_print_text(const cli_run *run, const cli_sweep *sweep)
{
    const nadir_robust *any = cli_sweep_any_answer(sweep);
    char number[32];
    for (int c = 0; c < sweep->curves_count; c++) {
        const cli_curve *curve = &sweep->curves[c];
        if (c > 0) {
            putchar('\n');
        }
        print_verdict(sweep, curve);
        if (curve->count > count_proven(curve) && sweep->certify == NADIR_CERTIFY_AUTO) {
            cli_verdict_line("Try", "--certify strict, which proves more and takes longer");
        }
        cli_block_line("policy", "%s", curve->policy);
        cli_input_start(&sweep->input);
        cli_block_line("ball", "norm %s; %s; %s", cli_norm(any->norm, number), cli_set_words(curve->set),
                       cli_domain_words(curve->domain));
        cli_rewards_text(&sweep->input.rewards, curve->domain, "rewards   ");
        if (!isnan(curve->breakdown)) {
            cli_block_line("breakdown", "beyond radius %s", cli_short_down(curve->breakdown, number));
        }
        putchar('\n');
        (run->verbose ? print_details : print_table)(sweep, curve);
    }
    if (run->verbose) {
        printf("\n  nominal return %s\n", cli_number(any->nominal_return, number));
        printf("  valid radius   %s\n", cli_number(any->valid_radius, number));
    }
}

nadir_status cli_sweep_write_csv(cli_run *run, const cli_sweep *sweep)
{
    cli_output output;
    const nadir_status status = cli_output_open(run, sweep->csv_path, &output);
    if (status != NADIR_OK) {
        return status;
    }
    const bool many = sweep->policies.count > 1;
    fprintf(output.out,
            "%sset,domain,radius,nominal_return,robust_return,lower_bound,upper_bound,certified\n",
            many ? "policy," : "");
    for (int c = 0; c < sweep->curves_count; c++) {
        const cli_curve *curve = &sweep->curves[c];
        for (int64_t i = 0; i < curve->count; i++) {
            const nadir_robust *robust = &curve->results[i];
            const double numbers[] = {robust->radius, robust->nominal_return, robust->robust_return,
                                      robust->lower_bound, robust->upper_bound};
            fprintf(output.out, "%s%s%s,%s", many ? curve->policy : "", many ? "," : "",
                    nadir_set_name(curve->set), nadir_domain_name(curve->domain));
            for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
                char number[32];
                fprintf(output.out, ",%s", cli_number(numbers[j], number));
            }
            fprintf(output.out, ",%s\n", robust->certified ? "true" : "false");
        }
    }
    return cli_output_close(run, &output);
}

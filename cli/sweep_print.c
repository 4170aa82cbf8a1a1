/* sweep_print.c: risk curves as JSON, as a table and as CSV. */
#include "files.h"
#include "robust.h"
#include "sweep.h"

#include <inttypes.h>
#include <math.h>

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

static void print_table(const cli_sweep *sweep, const cli_curve *curve)
{
    char name[32];
    char number[32];
    printf("\n%s\n", cli_curve_name(curve, name));
    if (!isnan(curve->breakdown)) {
        printf("  breakdown      beyond radius %s\n", cli_number(curve->breakdown, number));
    }
    printf("  %-12s  %18s  %18s  %18s  %s\n", "radius", sweep->optimistic ? "best return" : "worst return",
           "lower bound", "upper bound", "certified");
    for (int64_t i = 0; i < curve->count; i++) {
        const nadir_robust *robust = &curve->results[i];
        printf("  %-12.6g  %18.10g  %18.10g  %18.10g  %s\n", robust->radius, robust->robust_return,
               robust->lower_bound, robust->upper_bound, robust->certified ? "yes" : "no");
    }
}

void cli_sweep_print_text(const cli_sweep *sweep)
{
    const nadir_robust *any = cli_sweep_any_answer(sweep);
    char number[32];
    printf("%s, policy %s: the %s kernels of balls of %" PRId64 " radii\n", sweep->input.model_path,
           sweep->input.policy_name, sweep->optimistic ? "best" : "worst", sweep->radii.count);
    printf("  norm           %s\n", cli_number(any->norm, number));
    cli_rewards_text(&sweep->input.rewards, "rewards       ");
    printf("  nominal return %s\n", cli_number(any->nominal_return, number));
    printf("  valid radius   %s\n", cli_number(any->valid_radius, number));
    for (int c = 0; c < sweep->curves_count; c++) {
        print_table(sweep, &sweep->curves[c]);
    }
}

nadir_status cli_sweep_write_csv(cli_run *run, const cli_sweep *sweep)
{
    cli_output output;
    const nadir_status status = cli_output_open(run, sweep->csv_path, &output);
    if (status != NADIR_OK) {
        return status;
    }
    fputs("set,domain,radius,nominal_return,robust_return,lower_bound,upper_bound,certified\n", output.out);
    for (int c = 0; c < sweep->curves_count; c++) {
        const cli_curve *curve = &sweep->curves[c];
        for (int64_t i = 0; i < curve->count; i++) {
            const nadir_robust *robust = &curve->results[i];
            const double numbers[] = {robust->radius, robust->nominal_return, robust->robust_return,
                                      robust->lower_bound, robust->upper_bound};
            fprintf(output.out, "%s,%s", nadir_set_name(curve->set), nadir_domain_name(curve->domain));
            for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
                char number[32];
                fprintf(output.out, ",%s", cli_number(numbers[j], number));
            }
            fprintf(output.out, ",%s\n", robust->certified ? "true" : "false");
        }
    }
    return cli_output_close(run, &output);
}

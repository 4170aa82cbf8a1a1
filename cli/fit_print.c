/* fit_print.c: what nadir fit prints; see fit.h. */
#include "fit.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void guarantee_json(cli_json *json, const nadir_fit_guarantee *guarantee, double nominal)
{
    cli_json_object(json, NULL);
    cli_json_text(json, "set", nadir_set_name(guarantee->set));
    if (guarantee->set == NADIR_SET_NONRECT) {
        cli_json_text(json, "scales", guarantee->scales);
    }
    cli_json_double(json, "radius", guarantee->radius);
    cli_json_double(json, "robust_return", guarantee->robust_return);
    cli_json_double(json, "lower_bound", guarantee->lower_bound);
    cli_json_double(json, "penalty", nominal - guarantee->lower_bound);
    cli_json_bool(json, "certified", guarantee->certified);
    cli_json_object_end(json);
}

void cli_fit_data_json(cli_json *json, const cli_fit *fit)
{
    const nadir_fit_result *result = &fit->result;
    cli_json_text(json, "data", fit->data_path);
    cli_json_text(json, "data_kind", result->data);
    cli_json_integer(json, "observations", result->observations);
    cli_json_double(json, "total_count", result->total);
    cli_json_integer(json, "episodes", result->episodes);
    cli_json_integer(json, "states", result->states);
    cli_json_integer(json, "rows", result->rows);
    cli_json_integer(json, "rows_visited", result->rows_visited);
    cli_json_integer(json, "rows_unvisited", result->rows - result->rows_visited);
    cli_json_integer(json, "rows_known", result->rows_known);
    cli_json_double(json, "visits_min", result->visits_min);
    cli_json_double(json, "visits_median", result->visits_median);
}

void cli_fit_json(const cli_run *run, const cli_fit *fit)
{
    const nadir_fit_result *result = &fit->result;
    const nadir_fit_guarantee *written = &result->sets[fit->settings.set - NADIR_SET_NONRECT];
    cli_json json;
    cli_json_start(&json, stdout);
    cli_fit_data_json(&json, fit);
    cli_json_text(&json, "guarantee", fit->promised);
    cli_json_text(&json, "model", fit->model_path);
    cli_json_text(&json, "method", result->method);
    cli_json_double(&json, "confidence", result->confidence);
    cli_json_double(&json, "prior", result->prior);
    cli_json_integer(&json, "samples", result->samples);
    cli_json_text(&json, "set", nadir_set_name(fit->settings.set));
    cli_json_norm(&json, "norm", result->norm);
    cli_json_text(&json, "domain", nadir_domain_name(result->domain));
    cli_json_text(&json, "scales", result->candidates[result->chosen].scales);
    cli_json_double(&json, "radius", written->radius);
    cli_json_text(&json, "policy", cli_fit_has_guarantees(fit) ? fit->policy_name : NULL);
    cli_json_double(&json, "nominal_return", result->nominal_return);
    cli_json_double(&json, "lower_bound", written->lower_bound);
    cli_json_array(&json, "guarantees");
    for (int i = 0; i < 3; i++) {
        guarantee_json(&json, &result->sets[i], result->nominal_return);
    }
    cli_json_array_end(&json);
    cli_json_array(&json, "candidates");
    for (int64_t i = 0; i < result->candidates_count; i++) {
        guarantee_json(&json, &result->candidates[i], result->nominal_return);
    }
    cli_json_array_end(&json);
    cli_json_integer(&json, "nonzeros", fit->view.nonzeros);
    cli_json_double(&json, "discount", fit->view.discount);
    cli_rewards_json(&json, &fit->rewards);
    cli_json_text(&json, "model_sha256", fit->model_digest);
    cli_json_text(&json, "plot", fit->plot_path);
    cli_json_object(&json, "seconds");
    cli_json_double(&json, "load", fit->load_seconds);
    cli_json_double(&json, "radii", result->seconds_radii);
    cli_json_double(&json, "guarantees", result->seconds_guarantees);
    cli_json_double(&json, "total", fit->total_seconds);
    cli_json_object_end(&json);
    cli_json_close(run, &json);
}

void cli_fit_data_text(const cli_fit *fit)
{
    const nadir_fit_result *result = &fit->result;
    if (strcmp(result->data, "samples") == 0) {
        printf("  data           %" PRId64 " kernels of a posterior\n", result->samples);
    } else {
        printf("  data           %.17g transitions", result->total);
        if (result->episodes > 0) {
            printf(" in %" PRId64 " episodes", result->episodes);
        }
        printf("; a row has %.6g of them (median), at least %.6g\n", result->visits_median,
               result->visits_min);
    }
    printf("  rows           %" PRId64 " of %" PRId64 " visited, %" PRId64 " states\n", result->rows_visited,
           result->rows, result->states);
}

static void print_method(const cli_fit *fit)
{
    const nadir_fit_result *result = &fit->result;
    const nadir_fit_guarantee *written = &result->sets[fit->settings.set - NADIR_SET_NONRECT];
    char number[32];
    cli_rewards_text(&fit->rewards, "rewards       ");
    printf("  ball           %s, norm %s, domain %s", nadir_set_name(fit->settings.set),
           cli_number(result->norm, number), nadir_domain_name(result->domain));
    if (fit->settings.set == NADIR_SET_NONRECT) {
        printf(", scales %s, radius %.6g\n", result->candidates[result->chosen].scales, written->radius);
    } else {
        printf(", radii up to %.6g\n", written->radius);
    }
    printf("  confidence     %s that it holds the true kernel, by ", cli_number(result->confidence, number));
    if (strcmp(result->data, "samples") == 0) {
        printf("the kernels given\n");
    } else if (strcmp(result->method, "distribution-free") == 0) {
        printf("a bound for every kernel\n");
    } else {
        printf("%" PRId64 " %s\n", result->samples,
               strcmp(result->method, "bootstrap") == 0 ? "bootstrap data sets" : "kernels of the posterior");
    }
}

static void print_guarantees(const cli_fit *fit)
{
    static const char *const names[] = {"one ball", "s-rectangular", "sa-rectangular"};
    const nadir_fit_result *result = &fit->result;
    printf("  policy         %s, nominal return %.8g\n", fit->policy_name, result->nominal_return);
    printf("\n  %-16s %-13s %-13s %-12s %s\n", "with confidence", "worst return", "guaranteed", "penalty",
           "certified");
    for (int i = 0; i < 3; i++) {
        const nadir_fit_guarantee *guarantee = &result->sets[i];
        printf("  %-16s %-13.8g %-13.8g %-12.6g %s\n", names[i], guarantee->robust_return,
               guarantee->lower_bound, result->nominal_return - guarantee->lower_bound,
               guarantee->certified ? "yes" : "no");
    }
    if (result->candidates_count > 1) {
        printf("\n  %-16s %-13s %s\n", "scales", "radius", "guaranteed");
        for (int64_t i = 0; i < result->candidates_count; i++) {
            const nadir_fit_guarantee *guarantee = &result->candidates[i];
            printf("  %-16s %-13.6g %.8g%s\n", guarantee->scales, guarantee->radius, guarantee->lower_bound,
                   i == result->chosen ? "   chosen" : "");
        }
    }
}

void cli_fit_text(const cli_fit *fit)
{
    printf("%s: a model of %s, written to %s\n", fit->data_path, fit->result.data, fit->model_path);
    cli_fit_data_text(fit);
    print_method(fit);
    if (cli_fit_has_guarantees(fit)) {
        print_guarantees(fit);
    }
}

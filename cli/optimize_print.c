/* optimize_print.c: what nadir optimize prints; see optimize.h. */
#include "optimize.h"
#include "robust.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The keys of nadir evaluate are about the policy found; how it was found, and how good it is, replaces what
 * the evaluation alone says of that. */
void cli_optimize_json(const cli_run *run, const cli_optimize *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const nadir_robust *evaluation = &report->evaluation;
    nadir_robust shown = *evaluation;
    shown.certified = result->certified;
    shown.certificate = result->certificate;
    shown.method = result->method;
    shown.stop_reason = result->stop_reason;
    shown.iterations = result->iterations;
    cli_json json;
    cli_input_json_start(&json, &report->input);
    cli_json_double(&json, "nominal_optimum", result->nominal_optimum);
    cli_json_double(&json, "optimum_robust_return", report->optimum_return);
    cli_json_double(&json, "initial_robust_return", result->initial_robust_return);
    cli_json_double(&json, "optimality_upper_bound", result->optimality_upper_bound);
    cli_json_double(&json, "optimality_gap", result->optimality_gap);
    cli_json_integer(&json, "evaluations", result->evaluations);
    cli_json_integer(&json, "stochastic_states", result->stochastic_states);
    cli_json_integer(&json, "mixed_kernels", result->mixed_kernels);
    cli_robust_json(&json, &shown);
    cli_json_object(&json, "evaluation");
    cli_json_bool(&json, "certified", evaluation->certified);
    cli_json_text(&json, "certificate", evaluation->certificate);
    cli_json_text(&json, "method", evaluation->method);
    cli_json_text(&json, "stop_reason", evaluation->stop_reason);
    cli_json_integer(&json, "iterations", evaluation->iterations);
    cli_json_object_end(&json);
    cli_input_json(&json, &report->input);
    if (report->draws) {
        cli_frontier_json(&json, &report->frontier);
    }
    cli_input_seconds(&json, &report->input, result->seconds_nominal, result->seconds_search,
                      result->seconds_certify);
    cli_json_close(run, &json);
}

/* What the gap is measured by. */
static double scale_of(const nadir_robust_optimum_result *result)
{
    return fmax(fabs(result->nominal_optimum), fabs(result->robust_return));
}

/* The certificate in words. */
static const char *explain_bounds(const cli_optimize *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const double above = result->optimality_upper_bound - result->robust_return;
    if (result->certified) {
        return result->certificate[0] == 'r' ? "yes, by proofs that include all rounding"
                                             : "yes, resting on converged iterations";
    }
    if (above <= report->settings.gap * scale_of(result)) {
        return "no: a kernel that is worse than the worst one found is not ruled out";
    }
    return isfinite(result->optimality_gap) ? "no: the bounds are apart" : "no: nothing is known on one side";
}

/* The stop reason in words. */
static const char *explain_stop(const char *stop_reason)
{
    static const char *const reasons[][2] = {
        {"gap", "no policy is better by more than the gap"},
        {"stationary", "nothing is left to improve"},
        {"evaluations", "all evaluations are spent: the best policy so far"},
        {"time", "the time is up: the best policy so far"},
        {"interrupted", "interrupted: the best policy so far"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (strcmp(stop_reason, reasons[i][0]) == 0) {
            return reasons[i][1];
        }
    }
    return stop_reason;
}

/* What the policy costs on the nominal kernel and what it buys in the worst case, beside the nominal optimum.
 * Differences that are rounding, or the tolerance of an evaluation, are none. */
static void print_trade(const cli_optimize *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const double taken = result->nominal_optimum - report->optimum_return;
    double price = result->nominal_optimum - result->nominal_return;
    double gain = result->robust_return - report->optimum_return;
    char number[2][32];
    price = fabs(price) <= 1e-12 * fabs(result->nominal_optimum) ? 0 : price;
    gain = fabs(gain) <= 1e-7 * taken ? 0 : gain;
    printf("  %-18s %-20s %s\n", "", "nominal return", "worst return");
    printf("  %-18s %-20s %s\n", "nominal optimum", cli_number(result->nominal_optimum, number[0]),
           isnan(report->optimum_return) ? "?" : cli_number(report->optimum_return, number[1]));
    printf("  %-18s %-20s %s\n", "robust policy",
           isnan(result->nominal_return) ? "?" : cli_number(result->nominal_return, number[0]),
           cli_number(result->robust_return, number[1]));
    if (!isnan(price)) {
        printf("  price              %.6g on the nominal kernel (%.3g %% of the optimum)\n", price,
               price != 0 ? 100 * price / fabs(result->nominal_optimum) : 0);
    }
    if (!isnan(gain)) {
        printf("  gain               %.6g in the worst case (%.3g %% of what the adversary takes)\n", gain,
               taken > 0 ? 100 * gain / taken : 0);
    }
}

static void print_bounds(const cli_optimize *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const double scale = scale_of(result);
    char number[32];
    if (isfinite(result->lower_bound)) {
        printf("  lower bound        %s: it earns this with every kernel of the ball\n",
               cli_number(result->lower_bound, number));
    } else {
        printf("  lower bound        none was proven\n");
    }
    printf("  upper bound        %s: no policy is sure of more\n",
           cli_number(result->optimality_upper_bound, number));
    if (isfinite(result->optimality_gap)) {
        printf("  gap                %.3g (%.2g of the return)\n", result->optimality_gap,
               scale > 0 ? result->optimality_gap / scale : 0);
    }
}

void cli_optimize_text(const cli_optimize *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const nadir_robust *evaluation = &report->evaluation;
    char number[32];
    printf("%s: the %s against the ball of radius %s, written to %s\n", report->input.model_path,
           result->certified ? "best policy" : "best policy found", cli_number(evaluation->radius, number),
           report->input.policy_name);
    printf("  ball               %s, norm %s, domain %s\n", nadir_set_name(evaluation->set),
           cli_number(evaluation->norm, number), nadir_domain_name(evaluation->domain));
    cli_rewards_text(&report->input.rewards, "rewards           ");
    print_trade(report);
    print_bounds(report);
    printf("  certified          %s\n", explain_bounds(report));
    printf("  randomises         in %" PRId64 " of %" PRId64 " states\n", result->stochastic_states,
           report->input.view.states);
    printf("  search             %s, %" PRId64 " steps, %" PRId64 " evaluations; %s\n", result->method,
           result->iterations, result->evaluations, explain_stop(result->stop_reason));
    printf("  seconds            nominal %.3g, search %.3g, proof %.3g\n", result->seconds_nominal,
           result->seconds_search, result->seconds_certify);
    if (report->draws && report->frontier.count > 0) {
        printf("  frontier           %.3g s\n", report->frontier.seconds);
        cli_frontier_text(&report->frontier);
    }
}

/* optimize_print.c: what nadir optimize prints; see optimize.h. */
#include "optimize.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
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
    if (report->members.count > 0) {
        cli_union_json(&json, &report->members, report->input.model_path);
    }
    cli_json_object(&json, "evaluation");
    cli_json_bool(&json, "certified", evaluation->certified);
    cli_json_text(&json, "certificate", evaluation->certificate);
    cli_json_text(&json, "method", evaluation->method);
    cli_json_text(&json, "stop_reason", evaluation->stop_reason);
    cli_json_integer(&json, "iterations", evaluation->iterations);
    cli_json_object_end(&json);
    cli_input_json(&json, &report->input);
    if (report->compared.robust.stop_reason != NULL) {
        cli_json_object(&json, "compared");
        cli_evaluated_json(&json, &report->compared);
        if (report->differing >= 0) {
            cli_json_integer(&json, "states_differing", report->differing);
        }
        cli_json_object_end(&json);
    }
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

/* Why it is not certified. */
static const char *explain_bounds(const cli_optimize *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const double above = result->optimality_upper_bound - result->robust_return;
    if (report->members.count > 0 && report->evaluation.certified) {
        return "a policy that guarantees more is not ruled out";
    }
    if (above <= report->settings.gap * scale_of(result)) {
        return "a kernel worse than the worst one found is not ruled out";
    }
    return isfinite(result->optimality_gap) ? "the bounds are apart" : "nothing is known on one side";
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
 * Differences that are rounding, or the tolerance of an evaluation, are none. NaN: not known. */
typedef struct trade {
    double price, gain;
} trade;

static trade get_trade(const cli_optimize *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const double taken = result->nominal_optimum - report->optimum_return;
    trade made = {result->nominal_optimum - result->nominal_return,
                  result->robust_return - report->optimum_return};
    made.price = fabs(made.price) <= 1e-12 * fabs(result->nominal_optimum) ? 0 : made.price;
    made.gain = fabs(made.gain) <= 1e-7 * taken ? 0 : made.gain;
    return made;
}

/* What may prove more: of the worst return of the policy, or, where that is proven, of all other policies. */
static void print_advice(const cli_optimize *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const nadir_certify certify = report->settings.certify;
    const double apart = result->optimality_gap / scale_of(result);
    char text[200] = "";
    size_t used = 0;
    if (report->evaluation.radius == 0) { /* of --union: there is no smaller one */
        return;
    }
    const bool late = strcmp(result->stop_reason, "time") == 0;
    if (late || strcmp(result->stop_reason, "evaluations") == 0) {
        cli_verdict_line("Try", "a larger %s", late ? "--time-limit" : "--max-evaluations");
        return;
    }
    if (report->evaluation.certified && apart < 1) {
        used += (size_t)snprintf(text + used, sizeof text - used, "--gap %.2g or ",
                                 1.05 * apart); /* above the gap, also rounded */
    } else if (!report->evaluation.certified && certify != NADIR_CERTIFY_STRICT) {
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "--certify %s%s or ",
                             certify == NADIR_CERTIFY_OFF ? "auto" : "strict",
                             report->evaluation.domain == NADIR_DOMAIN_SIMPLEX ? ", --domain support" : "");
    }
    if (!report->evaluation.certified && certify == NADIR_CERTIFY_STRICT && report->evaluation.time_ran_out) {
        used += (size_t)snprintf(text + used, sizeof text - used, "--time %g or ",
                                 fmax(60, 6 * report->settings.proof_time_limit));
    }
    (void)snprintf(text + used, sizeof text - used, "a smaller radius");
    cli_verdict_line("Try", "%s", text);
}

/* What the robust policy is sure of; whether another could be sure of more. */
static void print_verdict(const cli_optimize *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    char number[3][32];
    char proven[96];
    const char *bold = cli_emphasis_start(CLI_BOLD);
    const char *plain = cli_emphasis_start(CLI_PLAIN);
    (void)cli_proven(result->certified, result->certificate, proven);
    if (result->certified) {
        cli_verdict_line("Worst case", "%s%s%s   no policy guarantees more   %s", bold,
                         cli_short(result->robust_return, number[0]), plain, proven);
        return;
    }
    if (isfinite(result->lower_bound)) {
        cli_verdict_line("Guaranteed", "at least %s%s%s   no policy guarantees more than %s", bold,
                         cli_short_down(result->lower_bound, number[0]), plain,
                         cli_short_up(result->optimality_upper_bound, number[1]));
    } else {
        cli_verdict_line("Guaranteed", "nothing   no policy guarantees more than %s",
                         cli_short_up(result->optimality_upper_bound, number[1]));
    }
    cli_verdict_line("Found", "%s in the worst case   best policy %s: %s",
                     cli_short(result->robust_return, number[0]), proven, explain_bounds(report));
    print_advice(report);
}

/* The user's policy: what it guarantees in the same ball. */
static void print_compared(const cli_optimize *report)
{
    const nadir_robust *robust = &report->compared.robust;
    char number[3][32];
    char proven[96];
    char differing[64] = "";
    if (robust->stop_reason == NULL) {
        return;
    }
    const bool nearly = cli_nearly_proven(robust, proven);
    if (!nearly) {
        (void)cli_proven(robust->certified, robust->certificate, proven);
    }
    (void)cli_short(robust->nominal_return, number[1]);
    if (report->differing >= 0) {
        (void)snprintf(differing, sizeof differing, "; differs in %" PRId64 " of %" PRId64 " states",
                       report->differing, report->input.view.states);
    }
    if (robust->certified || nearly) {
        cli_verdict_line("Compared", "%s: %s, nominal %s%s   %s", report->compared.policy,
                         cli_short(robust->robust_return, number[0]), number[1], differing, proven);
    } else if (isfinite(robust->lower_bound)) {
        cli_verdict_line("Compared", "%s: at least %s, found %s, nominal %s%s   %s", report->compared.policy,
                         cli_short_down(robust->lower_bound, number[0]),
                         cli_short(robust->robust_return, number[2]), number[1], differing, proven);
    } else {
        cli_verdict_line("Compared", "%s: guarantees nothing, found %s, nominal %s%s   %s",
                         report->compared.policy, cli_short(robust->robust_return, number[2]), number[1],
                         differing, proven);
    }
}

/* The robust policy beside the nominal optimum. */
static void print_trade(const cli_optimize *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const trade made = get_trade(report);
    const double taken = result->nominal_optimum - report->optimum_return;
    char number[3][32];
    if (made.gain == 0 && made.price == 0) {
        cli_block_line("gain", "none: the nominal optimum already does best in the worst case");
        cli_block_line("price", "none");
        return;
    }
    if (!isnan(made.gain)) {
        cli_block_line("gain", "%s in the worst case%s, %s of the loss: the nominal optimum gets %s",
                       cli_short(made.gain, number[0]),
                       report->evaluation.certified ? "" : " (found, not proven)",
                       cli_percent(taken > 0 ? made.gain / taken : 0, number[1]),
                       cli_short(report->optimum_return, number[2]));
    }
    if (!isnan(made.price)) {
        cli_block_line("price", "%s on the nominal kernel: %s instead of %s",
                       cli_short(made.price, number[0]), cli_short(result->nominal_return, number[1]),
                       cli_short(result->nominal_optimum, number[2]));
    }
}

static void print_details(const cli_optimize *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const double scale = scale_of(result);
    char number[32];
    printf("  nominal optimum    %s\n", cli_number(result->nominal_optimum, number));
    printf("    its worst return %s\n", cli_number(report->optimum_return, number));
    printf("  nominal return     %s\n", cli_number(result->nominal_return, number));
    printf("  worst return       %s\n", cli_number(result->robust_return, number));
    printf("  lower bound        %s: it earns this with every kernel of the ball\n",
           cli_number(result->lower_bound, number));
    printf("  upper bound        %s: no policy guarantees more\n",
           cli_number(result->optimality_upper_bound, number));
    if (isfinite(result->optimality_gap)) {
        printf("  gap                %.3g (%.2g of the return)\n", result->optimality_gap,
               scale > 0 ? result->optimality_gap / scale : 0);
    }
    printf("  certified          %s%s\n",
           result->certified ? "yes" : "no: ", result->certified ? "" : explain_bounds(report));
    printf("  search             %s, %" PRId64 " steps, %" PRId64 " evaluations; %s\n", result->method,
           result->iterations, result->evaluations, explain_stop(result->stop_reason));
    printf("  seconds            nominal %.3g, search %.3g, proof %.3g\n", result->seconds_nominal,
           result->seconds_search, result->seconds_certify);
}

/* The command that says more of the policy, or writes it. */
static void print_next(const cli_run *run, const cli_optimize *report)
{
    char path[CLI_WORDS_LENGTH] = "";
    char further[CLI_WORDS_LENGTH + 64];
    if (report->members.count > 0) {
        return;
    }
    if (report->input.policy_name == NULL) {
        cli_next(run, "optimize", report->input.model_path, true, " --out robust.csv");
    } else if (cli_words_add(path, report->input.policy_name)) {
        (void)snprintf(further, sizeof further, " --policy%s --explain", path);
        cli_next(run, "evaluate", report->input.model_path, true, further);
    }
}

void cli_optimize_text(const cli_run *run, const nadir_model *model, const nadir_policy *policy,
                       const cli_optimize *report)
{
    const nadir_robust_optimum_result *result = &report->result;
    const nadir_robust *evaluation = &report->evaluation;
    char text[160];
    print_verdict(report);
    print_compared(report);
    cli_explain_assumed(model, &report->input.rewards, &report->damage);
    cli_promise_text(&report->input.view, evaluation->radius, 1);
    print_next(run, report);
    print_trade(report);
    cli_input_start(&report->input);
    cli_block_line(
        "ball", "%s",
        cli_ball_words(evaluation->radius, evaluation->norm, evaluation->set, evaluation->domain, text));
    cli_rewards_text(&report->input.rewards, evaluation->domain, "rewards   ");
    char kind[64] = "deterministic";
    if (result->stochastic_states > 0) {
        (void)snprintf(kind, sizeof kind, "randomises in %" PRId64 " of %" PRId64 " states",
                       result->stochastic_states, report->input.view.states);
    }
    cli_block_line("policy", "%s%s%s", kind, report->input.policy_name != NULL ? "; written to " : "",
                   report->input.policy_name != NULL ? report->input.policy_name : "");
    if (!result->certified) {
        cli_block_line("search", "%s", explain_stop(result->stop_reason));
    }
    if (report->members.count > 0) {
        cli_union_text(&report->members, report->input.model_path);
    }
    if (report->input.policy_name == NULL && run->engine == NULL) {
        putchar('\n');
        cli_policy_head(model, policy);
    }
    if (run->verbose) {
        putchar('\n');
        print_details(report);
    }
    if (report->draws && report->frontier.count > 0) {
        putchar('\n');
        cli_frontier_text(run, &report->frontier);
    }
}

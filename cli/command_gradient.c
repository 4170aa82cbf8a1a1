/* command_gradient.c: nadir gradient: how the worst return changes with the policy. */
#include "explain.h"
#include "files.h"
#include "input.h"
#include "robust.h"
#include "verdict.h"

#include <math.h>
#include <stdlib.h>

static const char about[] =
    "How the worst return over the ball changes with every probability of the policy: d(s) Q(s, a) under\n"
    "the worst kernel, one number for each row, written as CSV idstate,idaction,gradient, or as .npy if the\n"
    "name ends so. Probabilities of a state sum to one: only differences between its actions matter.\n"
    "\n"
    "promise is what the best action of every state, in place of the policy's mixture, would add if the\n"
    "return were linear; at 0 no small change of the policy helps. Where several kernels are equally bad\n"
    "the gradient is that of one of them.\n"
    "\n"
    "Examples:\n"
    "  nadir gradient model.npz --policy uniform --radius 0.1 --out gradient.csv\n"
    "  nadir gradient model.npz --policy best.csv --radius 0.1 --domain free --formula nominal --out g.npy";

/* The return is stationary at the worst kernel, the gradient is not: its error goes with the square root of
 * the tolerance. */
static const double tolerance = 1e-14;

enum { GRADIENT_HEAD = 10 };

typedef struct gradient_report {
    cli_input input;
    const char *out_path;
    const char *kernel_path;
    const char *witness_path;
    int formula; /* 0: at the worst kernel, 1: in nominal terms */
    bool optimistic;
    nadir_robust robust;
    bool written;
    double norm;    /* Euclidean */
    double tangent; /* the same once the mean over each state's actions is taken away */
    double promise;
    nadir_damage head[GRADIENT_HEAD]; /* the actions that promise most; `share` is how much */
} gradient_report;

static void print_json(const cli_run *run, const gradient_report *report)
{
    const nadir_robust *robust = &report->robust;
    cli_json json;
    cli_input_json_start(&json, &report->input);
    cli_json_text(&json, "out", report->out_path);
    cli_json_text(&json, "formula", report->formula == 0 ? "kernel" : "nominal");
    cli_json_double(&json, "gradient_norm", report->norm);
    cli_json_double(&json, "tangent_norm", report->tangent);
    cli_json_double(&json, "promise", report->promise);
    cli_robust_json(&json, robust);
    cli_json_bool(&json, "optimistic", report->optimistic);
    cli_input_json(&json, &report->input);
    cli_input_seconds(&json, &report->input, robust->seconds_nominal, robust->seconds_robust,
                      robust->seconds_certify);
    cli_json_close(run, &json);
}

/* The actions whose entries are the largest beside the policy's average of their state, largest first. */
static void print_head(const nadir_model *model, const gradient_report *report)
{
    enum { NAME = 48 };
    char number[32];
    char state[NAME];
    char action[NAME];
    for (int i = 0; i < GRADIENT_HEAD && report->head[i].share > 0; i++) {
        const nadir_damage *row = &report->head[i];
        printf("  %10s  %s, %s\n", cli_short(row->share, number),
               cli_explain_state(model, row->state, NAME, state),
               cli_explain_action(model, row, NAME, action));
    }
}

static void print_text(const cli_run *run, const nadir_model *model, const gradient_report *report)
{
    const nadir_robust *robust = &report->robust;
    char number[2][32];
    char text[160];
    const char *kind = report->optimistic ? "best" : "worst";
    cli_verdict_line("Gradient", "of the %s case, %s: changing the policy promises up to %s", kind,
                     cli_short(robust->robust_return, number[0]), cli_short(report->promise, number[1]));
    cli_block_line("policy", "%s", report->input.policy_name);
    cli_block_line("ball", "%s",
                   cli_ball_words(robust->radius, robust->norm, robust->set, robust->domain, text));
    cli_rewards_text(&report->input.rewards, robust->domain, "rewards   ");
    if (report->out_path != NULL) {
        cli_block_line("gradient", "written to %s", report->out_path);
    } else if (report->promise > 0) {
        printf("\n  %10s  actions to take more often, by what each promises\n", "");
        print_head(model, report);
    }
    if (run->verbose) {
        printf("\n  nominal return   %s\n", cli_number(robust->nominal_return, number[0]));
        printf("  %s return     %s\n", report->optimistic ? "best " : "worst",
               cli_number(robust->robust_return, number[0]));
        printf("  norm             %s\n", cli_number(report->norm, number[0]));
        printf("  of differences   %s (between the actions of a state)\n",
               cli_number(report->tangent, number[0]));
        printf("  promise          %s\n", cli_number(report->promise, number[0]));
    }
}

/* Puts an action where it belongs among those that promise most. */
static void rank(gradient_report *report, int64_t state, int64_t row, int64_t action, double promise)
{
    int place = GRADIENT_HEAD;
    while (place > 0 && promise > report->head[place - 1].share) {
        place--;
    }
    for (int i = GRADIENT_HEAD - 1; i > place; i--) {
        report->head[i] = report->head[i - 1];
    }
    if (place < GRADIENT_HEAD) {
        report->head[place] = (nadir_damage){.state = state, .row = row, .action = action, .share = promise};
    }
}

/* Norms, and the sum over states of (largest entry - average of the policy). */
static void summarise(const double *gradient, const double *pi, gradient_report *report)
{
    const nadir_model_data *view = &report->input.view;
    double squares = 0;
    double tangent = 0;
    for (int64_t s = 0; s < view->states; s++) {
        const int64_t first = view->state_rows[s];
        const int64_t end = view->state_rows[s + 1];
        double most = -INFINITY;
        double sum = 0;
        double average = 0;
        for (int64_t row = first; row < end; row++) {
            most = fmax(most, gradient[row]);
            sum += gradient[row];
            average += pi[row] * gradient[row];
            squares += gradient[row] * gradient[row];
        }
        for (int64_t row = first; row < end; row++) {
            const double part = gradient[row] - sum / (double)(end - first);
            tangent += part * part;
            rank(report, s, row, row - first, gradient[row] - average);
        }
        report->promise += fmax(most - average, 0);
    }
    report->norm = sqrt(squares);
    report->tangent = sqrt(tangent);
}

static nadir_status write_files(cli_run *run, const nadir_model *model, const nadir_policy *policy,
                                nadir_worst *worst, gradient_report *report)
{
    nadir_context *context = run->context;
    double *gradient = malloc((size_t)report->input.view.rows * sizeof *gradient);
    nadir_status status = NADIR_OK;
    if (gradient == NULL) {
        return cli_fail(run, NADIR_ERROR_MEMORY, "there is no memory for the gradient");
    }
    status = report->formula == 0 ? nadir_worst_gradient(context, worst, gradient)
                                  : nadir_worst_gradient_nominal(context, worst, gradient);
    if (status == NADIR_OK) {
        summarise(gradient, nadir_policy_probabilities(policy), report);
    }
    if (status == NADIR_OK && report->out_path != NULL) {
        status = nadir_numbers_write(context, model, "gradient", gradient, report->out_path);
    }
    if (status == NADIR_OK) {
        status =
            cli_worst_write(run, worst, report->input.model_path, cli_policy_file(report->input.policy_name),
                            report->kernel_path, report->witness_path);
    }
    report->written = status == NADIR_OK;
    free(gradient);
    return status;
}

static nadir_status solve(cli_run *run, nadir_model *model, const cli_setup *setup, const nadir_ball *ball,
                          gradient_report *report)
{
    nadir_context *context = run->context;
    cli_input *input = &report->input;
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    nadir_worst *worst = NULL;
    nadir_status status = cli_input_policy(run, model, input->policy_name, setup->solver.backend,
                                           input->policy_digest, &policy);
    if (status == NADIR_OK) {
        status = nadir_solver_create(context, model, policy, &setup->solver, &solver);
    }
    if (status == NADIR_OK) {
        status = nadir_solver_robust(context, solver, ball, &setup->robust, &report->robust, &worst);
    }
    if (worst != NULL && (status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED)) { /* a partial result */
        const nadir_status written = write_files(run, model, policy, worst, report);
        status = written != NADIR_OK ? written : status;
    }
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    return status;
}

static nadir_status differentiate(cli_run *run, cli_setup *setup, gradient_report *report)
{
    nadir_model *model = NULL;
    nadir_ball ball;
    nadir_status status = cli_input_read(run, &setup->reading, &report->input, &model);
    if (status == NADIR_OK) {
        status = cli_ball_get(run, model, &setup->ball, &ball);
    }
    if (status == NADIR_OK) {
        status = solve(run, model, setup, &ball, report);
    }
    if (status == NADIR_OK || (status == NADIR_ERROR_NOT_CONVERGED && report->written)) {
        cli_input_end(&report->input);
        if (cli_starts_json(run)) {
            print_json(run, report);
        } else {
            print_text(run, model, report);
        }
    }
    cli_ball_clear(run, &setup->ball);
    cli_input_close(&report->input, model);
    return status;
}

static nadir_status check_files(cli_run *run, const nadir_read_settings *reading, const cli_ball *ball,
                                const gradient_report *report)
{
    cli_files files = {0};
    cli_files_read_model(&files, report->input.model_path, reading);
    cli_files_read(&files, cli_policy_file(report->input.policy_name));
    cli_files_read_ball(&files, ball);
    cli_files_write(&files, report->out_path);
    cli_files_write(&files, report->kernel_path);
    cli_files_write(&files, report->witness_path);
    const nadir_status status = cli_files_check(run, &files);
    return status == NADIR_OK ? cli_files_check_format(run, report->kernel_path) : status;
}

static int gradient_main(cli_run *run, int argc, char **argv)
{
    cli_setup setup = {0};
    cli_setup_default(&setup);
    setup.robust.tolerance = tolerance;
    gradient_report report = {.robust.size = sizeof report.robust};
    cli_methods methods;
    const cli_option own[] = {
        cli_policy_option(&report.input.policy_name),
        {"--out", CLI_TEXT, "FILE", NULL, &report.out_path,
         "where to write the gradient (default: its largest entries are printed)"},
        CLI_RARE,
        {"--formula", CLI_CHOICE, NULL, "kernel|nominal", &report.formula,
         "from value and occupancy under the worst kernel, or from nominal ones alone\n"
         "(domain free); the same numbers (default: kernel)"},
        {"--optimistic", CLI_FLAG, NULL, NULL, &setup.robust.optimistic,
         "the best case instead of the worst"},
        cli_method_option(&methods, &setup.robust.method),
        {"--certify", CLI_CHOICE, NULL, "off|auto|strict", &setup.certify,
         "how much work the proof of the worst return may cost (default: auto)"},
        {"--tolerance", CLI_NUMBER, "EPS", NULL, &setup.robust.tolerance,
         "of the robust return, relative to the penalty; the error of the gradient\n"
         "goes with its square root (default 1e-14)"},
        {"--kernel", CLI_TEXT, "FILE", NULL, &report.kernel_path,
         "write the kernel found: .npz, for nadir verify"},
        {"--witness", CLI_TEXT, "FILE", NULL, &report.witness_path,
         "write the numbers that prove the bounds, as JSON"},
        cli_backend_option(&setup.solver.backend),
        {0},
    };
    int exit;
    if (!cli_setup_parse(run, &cli_command_gradient, argc, argv, own, about, &setup, &report.input, &exit)) {
        return exit;
    }
    if (!cli_needed(run, "--policy FILE|uniform|optimal", report.input.policy_name != NULL)) {
        return CLI_EXIT_USAGE;
    }
    report.optimistic = setup.robust.optimistic;
    nadir_status status = cli_open(run);
    if (status == NADIR_OK) {
        status = check_files(run, &setup.reading, &setup.ball, &report);
    }
    if (status == NADIR_OK) {
        status = differentiate(run, &setup, &report);
    }
    return cli_close(run, status);
}

const cli_command cli_command_gradient = {
    .name = "gradient",
    .arguments = "MODEL",
    .summary = "how the worst return changes with the policy",
    .main = gradient_main,
};

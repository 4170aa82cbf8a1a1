/*
 * bench_coverage.c: how often guarantees of the return hold, and what they cost.
 *
 *     bench_coverage [--reps N] [--compare N] [--prior 1] [--choice 1] [--confidence C] [--less SHARE] [LINE...]
 *
 * A true model makes data sets; each is fitted with the true successors known, and the promise of the policy chosen on
 * it (guarantee return) is held against the policy's true return. LINE is the name of a model, or "MODEL MODE VISITS";
 * modes: `even`, every row as often; `uneven`, 0.1 to 5 times as often; `log`, trajectories of 50 steps, half of the
 * decisions optimal and half uniform. Penalty: mean of nominal return less guarantee; needed: the 95 % quantile, over
 * data sets, of nominal less true return; the posterior bound of the same policy is held against it too. Least visits:
 * mean over data sets of the fewest that a row with a hundredth of the return's variance or more has. --prior 1: the
 * truth of each data set is drawn from the prior. --choice 1: beside the policy that is chosen stands the true return of
 * the one that is best on the posterior mean. --less SHARE: what the choice costs, from the posterior bound to the guarantee,
 * is lowered by this share. --compare N: the first N data sets also get the ball and the sa-rectangular
 * set of the same confidence, and the fixed point of Bellman's equation with quantiles of each row at the confidence shared
 * among rows, above which RSVF (Russel and Petrik, 2019) cannot be, since its sets hold for one value of each row what this
 * holds for its own.
 */
#include "measure.h"
#include "truths.h"

#include "core/context.h"
#include "fit/radii.h"
#include "fit/returns.h"
#include "fit/variates.h"
#include "model/model.h"
#include "model/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line of the table. */
typedef struct line {
    const char *name; /* of the model */
    bench_visits how;
    int64_t visits;
    bool all; /* every state is possible */
} line;

/* Those on which constants were chosen; those that were kept apart then; those of this program, of which the last two models
 * were made after everything else was settled. */
static const line lines[] = {
    {"riverswim", BENCH_EVEN, 30, false},  {"riverswim", BENCH_EVEN, 100, true},
    {"machine", BENCH_EVEN, 30, false},    {"machine", BENCH_EVEN, 100, false},
    {"machine", BENCH_LOG, 30, false},     {"garnet", BENCH_UNEVEN, 30, false},
    {"inventory", BENCH_EVEN, 100, false}, {"inventory", BENCH_LOG, 30, false},
    {"inventory7", BENCH_LOG, 40, false},  {"random", BENCH_EVEN, 30, false},
    {"forest", BENCH_LOG, 30, false},      {"gridworld", BENCH_LOG, 40, false},
    {"queue", BENCH_EVEN, 30, false},      {"treatment", BENCH_EVEN, 30, false},
    {"ring", BENCH_EVEN, 30, false},       {"garnet30", BENCH_EVEN, 30, false},
    {"queue", BENCH_LOG, 60, false},       {"treatment", BENCH_LOG, 60, false},
    {"ring", BENCH_LOG, 60, false},        {"garnet30", BENCH_LOG, 60, false},
    {"grave", BENCH_EVEN, 30, false},      {"reservoir", BENCH_EVEN, 30, false},
    {"reservoir", BENCH_LOG, 60, false},   {"fishery", BENCH_EVEN, 30, false},
    {"fishery", BENCH_LOG, 60, false},
};
enum { LINES = sizeof lines / sizeof *lines };

typedef struct options {
    int64_t reps, compare;
    bool prior, choice;
    double confidence;
    double less; /* share by which the price of the choice is lowered */
} options;

/* ---- What is found ------------------------------------------------------------------------------------- */

typedef struct record {
    int64_t reps, safe, posterior_safe;
    double *gaps; /* [reps] nominal less true return */
    double penalty, posterior_penalty, true_sum, guaranteed, draws;
    double visits; /* sum of the least visits of a row that has a hundredth of the variance or more */
    int64_t compared;
    double own, ball, sa, rsvf; /* sums of guarantees */
    double plain, gain,
        gain_square; /* sums: true return of the nominal optimum; what the choice gains on it */
} record;

static double return_of(nadir_context *context, const bench_tally *self, const nadir_policy *policy)
{
    nadir_model *own = NULL;
    nadir_solver *solver = NULL;
    nadir_policy *same = NULL;
    nadir_nominal nominal = {.size = sizeof nominal};
    bench_check(context, nadir_model_create(context, &self->truth, &own));
    bench_check(context, nadir_policy_create(context, own, policy->probabilities, &same));
    bench_check(context, nadir_solver_create(context, own, same, NULL, &solver));
    bench_check(context, nadir_solver_nominal(context, solver, &nominal));
    nadir_solver_free(solver);
    nadir_policy_free(same);
    nadir_model_free(own);
    return nominal.nominal_return;
}

enum { ROW_DRAWS = 4000 };

/* Draws of a row, [ROW_DRAWS][count]. */
static void draw_row(const nadir_evidence *evidence, int64_t row, const nadir_row *entries,
                     nadir_random *random, double *draws)
{
    for (int64_t k = 0; k < ROW_DRAWS; k++) {
        double sum = 0;
        double *own = draws + k * entries->count;
        int64_t seen = evidence->row_starts[row];
        for (int64_t i = 0; i < entries->count; i++) {
            const bool there = seen < evidence->row_starts[row + 1] &&
                               evidence->columns[seen] == nadir_row_column(entries, i);
            own[i] = nadir_gamma_variate(random, evidence->each[row] + (there ? evidence->counts[seen] : 0));
            seen += there ? 1 : 0;
            sum += own[i];
        }
        for (int64_t i = 0; i < entries->count; i++) {
            own[i] /= sum;
        }
    }
}

/* mu.v of v = max over a of r + gamma (quantile of level delta / rows of P.v). */
static double quantile_bellman(nadir_context *context, const nadir_fit *fit, double delta)
{
    const nadir_model *model = fit->nominal;
    const nadir_evidence *evidence = &fit->evidence;
    double **draws = bench_new(model->rows, sizeof *draws);
    double *values = bench_new(ROW_DRAWS, sizeof *values);
    double *v = bench_new(2 * model->states, sizeof *v);
    nadir_random random;
    double unknown = 0;
    (void)context;
    nadir_random_seed(&random, 5);
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        if (evidence->kinds[row] == NADIR_ROW_DRAWN) {
            draws[row] = bench_new(ROW_DRAWS * entries.count, sizeof(double));
            draw_row(evidence, row, &entries, &random, draws[row]);
            unknown++;
        }
    }
    const int64_t rank = (int64_t)fmax(floor(delta / fmax(unknown, 1) * ROW_DRAWS), 1);
    for (int sweep = 0; sweep < 400; sweep++) {
        double change = 0;
        for (int64_t s = 0; s < model->states; s++) {
            double best = -INFINITY;
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                const nadir_row entries = nadir_model_row(model, row);
                for (int64_t k = 0; k < (draws[row] != NULL ? ROW_DRAWS : 1); k++) {
                    const double *p = draws[row] != NULL ? draws[row] + k * entries.count : entries.values;
                    values[k] = 0;
                    for (int64_t i = 0; i < entries.count; i++) {
                        values[k] += p[i] * v[nadir_row_column(&entries, i)];
                    }
                }
                const double low =
                    draws[row] != NULL ? nadir_order_statistic(ROW_DRAWS, values, rank) : values[0];
                best = fmax(best, model->rewards[row] + model->discount * low);
            }
            change = fmax(change, fabs(best - v[s]));
            v[s] = best; /* Gauss and Seidel's way */
        }
        if (change < 1e-5 * (1 - model->discount) * fabs(v[0])) {
            break;
        }
    }
    double J = 0;
    for (int64_t s = 0; s < model->states; s++) {
        J += model->initial[s] * v[s];
    }
    for (int64_t row = 0; row < model->rows; row++) {
        free(draws[row]);
    }
    free(draws);
    free(values);
    free(v);
    return J;
}

static void compare(nadir_context *context, nadir_fit *fit, const options *asked, record *found)
{
    nadir_fit_result kernel = {.size = sizeof kernel};
    nadir_model *model = NULL;
    bench_check(context, nadir_fit_model(context, fit, NULL, &kernel, &model));
    nadir_model_free(model);
    found->compared++;
    found->ball += kernel.sets[0].lower_bound;
    found->sa += kernel.sets[2].lower_bound;
    found->rsvf += quantile_bellman(context, fit, 1 - asked->confidence);
}

/* Of the rows that matter to the policy. */
static double least_visits(nadir_context *context, nadir_fit *fit, const nadir_policy *policy,
                           const nadir_fit_return_result *result)
{
    const int64_t rows = fit->evidence.rows;
    double *more = bench_new(rows, sizeof *more);
    double *share = bench_new(rows, sizeof *share);
    nadir_fit_more_result told = {.size = sizeof told};
    double least = INFINITY;
    bench_check(context, nadir_fit_more(context, fit, policy, result, 0, NAN, &told, more, share));
    for (int64_t row = 0; row < rows; row++) {
        least = share[row] >= 0.01 ? fmin(least, fit->evidence.visits[row]) : least;
    }
    free(more);
    free(share);
    return least;
}

/* The true return of the policy that is best on the posterior mean. */
static double plain_return(nadir_context *context, const bench_tally *self, const nadir_fit *fit)
{
    nadir_return_problem problem;
    nadir_policy *plain = NULL;
    bench_check(context, nadir_return_problem_make(context, fit, &problem));
    bench_check(context, nadir_return_nominal(context, &problem, &plain));
    const double J = return_of(context, self, plain);
    nadir_policy_free(plain);
    nadir_return_problem_clear(context, &problem);
    return J;
}

static void repeat(nadir_context *context, bench_tally *self, const line *wanted, const options *asked,
                   record *found)
{
    nadir_policy *policy = NULL;
    nadir_fit_return_result result = {.size = sizeof result};
    nadir_fit *fit = bench_tally_fit(context, self, wanted->all, asked->confidence);
    bench_check(context, nadir_fit_return(context, fit, NULL, &result, &policy, NULL));
    const double J = return_of(context, self, policy);
    result.guaranteed += asked->less * (result.posterior_bound - result.guaranteed);
    found->gaps[found->reps++] = result.nominal_return - J;
    found->safe += J >= result.guaranteed ? 1 : 0;
    found->posterior_safe += J >= result.posterior_bound ? 1 : 0;
    found->penalty += result.nominal_return - result.guaranteed;
    found->posterior_penalty += result.nominal_return - result.posterior_bound;
    found->visits += least_visits(context, fit, policy, &result);
    found->true_sum += J;
    if (asked->choice) {
        const double plain = plain_return(context, self, fit);
        found->plain += plain;
        found->gain += J - plain;
        found->gain_square += (J - plain) * (J - plain);
    }
    found->guaranteed += result.guaranteed;
    if (found->compared < asked->compare) {
        found->own += result.guaranteed;
        compare(context, fit, asked, found);
    }
    nadir_policy_free(policy);
    nadir_fit_free(fit);
}

static void print_line(const line *wanted, const options *asked, record *found)
{
    static const char *const modes[] = {"even", "uneven", "log"};
    const double n = (double)found->reps;
    const double share = (double)found->safe / n;
    const double needed =
        nadir_order_statistic(found->reps, found->gaps, (int64_t)ceil(asked->confidence * n));
    (void)printf("| %s %s %lld%s%s | %lld | %.1f | %.1f | %.1f | %.5g | %.5g | %.4g | %.2f | %.2f | %.1f |",
                 wanted->name, modes[wanted->how], (long long)wanted->visits,
                 wanted->all ? ", all possible" : "", asked->prior ? ", truth from the prior" : "",
                 (long long)found->reps, 100 * share, 100 * sqrt(fmax(share * (1 - share), 0) / n),
                 100 * (double)found->posterior_safe / n, found->guaranteed / n, found->true_sum / n,
                 found->penalty / n, found->penalty / n / needed, found->posterior_penalty / n / needed,
                 found->visits / n);
    if (found->compared > 0) {
        const double c = (double)found->compared;
        (void)printf(" %.5g | %.5g | %.5g | %.5g |", found->own / c, found->ball / c, found->sa / c,
                     found->rsvf / c);
    }
    if (asked->choice) {
        const double gain = found->gain / n;
        (void)printf(" %.5g | %.3g | %.2g |", found->plain / n, gain,
                     sqrt(fmax(found->gain_square / n - gain * gain, 0) / n));
    }
    (void)printf("\n");
    (void)fflush(stdout);
}

static void table_row(nadir_context *context, const line *wanted, const options *asked)
{
    nadir_model *truth = bench_truth(context, wanted->name);
    nadir_policy *optimum = NULL;
    nadir_optimum_result best = {.size = sizeof best};
    record found = {.gaps = bench_new(asked->reps, sizeof(double))};
    bench_tally self = bench_tally_make(truth);
    nadir_random random;
    nadir_random_seed(&random, 2026 + (uint64_t)wanted->visits);
    bench_check(context, nadir_optimum(context, truth, NULL, &optimum, &best));
    for (int64_t i = 0; i < asked->reps; i++) {
        if (asked->prior) {
            bench_tally_draw_truth(&self, &random);
        }
        bench_tally_fill(&self, &random, wanted->how, wanted->visits, optimum->probabilities);
        repeat(context, &self, wanted, asked, &found);
    }
    print_line(wanted, asked, &found);
    nadir_policy_free(optimum);
    nadir_model_free(truth);
    bench_tally_clear(&self);
    free(found.gaps);
}

int main(int argc, char **argv)
{
    options asked = {.reps = 100, .confidence = 0.95};
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        const double value = strtod(argv[at + 1], NULL);
        if (strcmp(argv[at], "--reps") == 0) {
            asked.reps = (int64_t)value;
        } else if (strcmp(argv[at], "--compare") == 0) {
            asked.compare = (int64_t)value;
        } else if (strcmp(argv[at], "--prior") == 0) {
            asked.prior = value != 0;
        } else if (strcmp(argv[at], "--choice") == 0) {
            asked.choice = value != 0;
        } else if (strcmp(argv[at], "--confidence") == 0) {
            asked.confidence = value;
        } else if (strcmp(argv[at], "--less") == 0) {
            asked.less = value;
        } else {
            (void)fprintf(stderr, "bench_coverage: no option %s\n", argv[at]);
            return 2;
        }
    }
    nadir_context *context = bench_context(1);
    (void)printf(
        "| data | data sets | covered %% | standard error | posterior bound covered %% | guaranteed | true "
        "return | penalty | penalty / needed | of the posterior bound | least visits |%s%s\n"
        "|---|---|---|---|---|---|---|---|---|---|---|%s%s\n",
        asked.compare > 0 ? " guaranteed | ball | sa-rectangular | RSVF at most |" : "",
        asked.choice ? " true return of the nominal optimum | gain of the choice | its standard error |" : "",
        asked.compare > 0 ? "---|---|---|---|" : "", asked.choice ? "---|---|---|" : "");
    for (int i = 0; i < LINES; i++) {
        bool wanted = at == argc;
        for (int k = at; k < argc; k++) {
            char name[64];
            static const char *const modes[] = {"even", "uneven", "log"};
            (void)snprintf(name, sizeof name, "%s %s %lld", lines[i].name, modes[lines[i].how],
                           (long long)lines[i].visits);
            wanted = wanted || strcmp(argv[k], lines[i].name) == 0 || strcmp(argv[k], name) == 0;
        }
        if (wanted) {
            table_row(context, &lines[i], &asked);
        }
    }
    nadir_context_free(context);
    return 0;
}

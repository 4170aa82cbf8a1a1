/*
 * bench_more.c: whether visits where nadir_fit_more sends them lower the penalty as it predicts.
 *
 *     bench_more [--reps N] [LINE...]
 *
 * Data of true models, successors known. Half as many visits again are made as told for the policy chosen on them, and
 * evenly. What is left of the penalty is held against the prediction, twice: of the posterior bound of the same policy, which has no
 * price for a choice, and of the guarantee when all is fitted again, the policy too. Means over data sets; the standard error
 * is that of the ratio of two means. LINE: "MODEL MODE VISITS".
 */
#include "measure.h"
#include "truths.h"

#include "model/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Penalties of the posterior bound of the policy, and of a guarantee made anew. */
typedef struct penalties {
    double held, anew;
} penalties;

/* With so many more visits of every row; the counts are as before afterwards. */
static penalties after(nadir_context *context, bench_tally *self, nadir_random *random,
                       const nadir_policy *policy, const double *more)
{
    const size_t size = (size_t)self->truth.nonzeros * sizeof(double);
    double *before = bench_new(self->truth.nonzeros, sizeof *before);
    nadir_fit_return_result held = {.size = sizeof held};
    nadir_fit_return_result anew = {.size = sizeof anew};
    memcpy(before, self->counts, size);
    for (int64_t row = 0; row < self->truth.rows; row++) {
        bench_tally_visit(self, random, row, (int64_t)round(more[row]));
    }
    nadir_fit *fit = bench_tally_fit(context, self, false, 0.95);
    bench_check(context, nadir_fit_return(context, fit, policy, &held, NULL, NULL));
    bench_check(context, nadir_fit_return(context, fit, NULL, &anew, NULL, NULL));
    nadir_fit_free(fit);
    memcpy(self->counts, before, size);
    free(before);
    return (penalties){held.nominal_return - held.posterior_bound, anew.nominal_return - anew.guaranteed};
}

/* Sums over data sets of what is left as told and evenly, of their squares and products. */
typedef struct sums {
    double told, even, told_square, even_square, product;
} sums;

static void add(sums *to, double told, double even)
{
    to->told += told;
    to->even += even;
    to->told_square += told * told;
    to->even_square += even * even;
    to->product += told * even;
}

static double ratio_error(const sums *of, double n)
{
    const double ratio = of->told / of->even;
    const double square = of->told_square - 2 * ratio * of->product + ratio * ratio * of->even_square;
    return sqrt(fmax(square, 0)) / of->even * sqrt(n / fmax(n - 1, 1));
}

/* Adds one data set. */
static void repeat(nadir_context *context, bench_tally *self, nadir_random *random, sums *held, sums *anew,
                   double *predicted)
{
    const int64_t rows = self->truth.rows;
    double *more = bench_new(rows, sizeof *more);
    double *share = bench_new(rows, sizeof *share);
    nadir_fit_return_result found = {.size = sizeof found};
    nadir_fit_more_result told = {.size = sizeof told};
    nadir_policy *policy = NULL;
    double total = 0;
    for (int64_t i = 0; i < self->truth.nonzeros; i++) {
        total += self->counts[i];
    }
    nadir_fit *fit = bench_tally_fit(context, self, false, 0.95);
    bench_check(context, nadir_fit_return(context, fit, NULL, &found, &policy, NULL));
    bench_check(context, nadir_fit_more(context, fit, policy, &found, total / 2, NAN, &told, more, share));
    const penalties by_told = after(context, self, random, policy, more);
    for (int64_t row = 0; row < rows; row++) {
        more[row] = total / 2 / (double)rows;
    }
    const penalties by_even = after(context, self, random, policy, more);
    const double before = found.nominal_return - found.posterior_bound;
    add(held, by_told.held / before, by_even.held / before);
    add(anew, by_told.anew / told.penalty, by_even.anew / told.penalty);
    *predicted += told.penalty_told / told.penalty;
    nadir_policy_free(policy);
    nadir_fit_free(fit);
    free(more);
    free(share);
}

static bool is_wanted(int argc, char **argv, int from, const char *name)
{
    bool wanted = from >= argc;
    for (int i = from; i < argc; i++) {
        wanted = wanted || strcmp(argv[i], name) == 0;
    }
    return wanted;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        bench_visits how;
        int64_t visits;
    } lines[] = {{"riverswim", BENCH_EVEN, 100}, {"machine", BENCH_EVEN, 50},   {"inventory", BENCH_LOG, 50},
                 {"garnet", BENCH_UNEVEN, 50},   {"inventory", BENCH_EVEN, 50}, {"garnet", BENCH_EVEN, 50}};
    static const char *const modes[] = {"even", "uneven", "log"};
    const bool counted = argc > 2 && strcmp(argv[1], "--reps") == 0;
    const int64_t reps = counted ? strtoll(argv[2], NULL, 10) : 100;
    nadir_context *context = bench_context(1);
    (void)printf(
        "| data | data sets | predicted | posterior bound, policy held: as told | evenly | told / evenly | "
        "its standard error | guarantee made anew: as told | evenly | told / evenly | its standard error |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        sums held = {0};
        sums anew = {0};
        double predicted = 0;
        char name[64];
        (void)snprintf(name, sizeof name, "%s %s %lld", lines[i].name, modes[lines[i].how],
                       (long long)lines[i].visits);
        if (!is_wanted(argc, argv, counted ? 3 : 1, name)) {
            continue;
        }
        nadir_model *truth = bench_truth(context, lines[i].name);
        nadir_policy *optimum = NULL;
        nadir_optimum_result best = {.size = sizeof best};
        bench_tally self = bench_tally_make(truth);
        nadir_random random;
        nadir_random_seed(&random, 77);
        bench_check(context, nadir_optimum(context, truth, NULL, &optimum, &best));
        for (int64_t k = 0; k < reps; k++) {
            bench_tally_fill(&self, &random, lines[i].how, lines[i].visits, optimum->probabilities);
            repeat(context, &self, &random, &held, &anew, &predicted);
        }
        const double n = (double)reps;
        (void)printf("| %s | %lld | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", name,
                     (long long)reps, predicted / n, held.told / n, held.even / n, held.told / held.even,
                     ratio_error(&held, n), anew.told / n, anew.even / n, anew.told / anew.even,
                     ratio_error(&anew, n));
        (void)fflush(stdout);
        nadir_policy_free(optimum);
        bench_tally_clear(&self);
        nadir_model_free(truth);
    }
    nadir_context_free(context);
    return 0;
}

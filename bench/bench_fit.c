/*
 * bench_fit.c: whether balls made from data hold the true kernel as often as they promise, and what they
 * promise of a policy.
 *
 *     bench_fit [--reps N] [--visits N] [--policy optimal|uniform|none] [--successors all|true] [MODEL...]
 *
 * and --method, --prior, --scales, --samples, --confidence as nadir fit has them.
 *
 * A true model (riverswim, machine, inventory, garnet; or a file) makes data: every row is visited the same
 * number of times. The data are fitted, with all states as possible successors or with the true ones known,
 * and the ball is looked at: does it hold the true kernel (distance and domain), and is the true return of
 * the policy at least the certified lower bound? The policy is the nominal optimum of each fit, or uniform.
 */
#include "measure.h"

#include "core/context.h"
#include "fit/fit.h"
#include "fit/radii.h"
#include "fit/variates.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    int64_t reps;
    int64_t visits; /* 0: 30, 100 and 300 */
    bool uniform;
    bool support;  /* the true transitions are known to be the only ones possible */
    bool coverage; /* alone, without guarantees: scales are ones or deviation */
    nadir_fit_settings settings;
} options;

/* What happened in all repetitions. */
typedef struct record {
    int64_t reps;
    int64_t set_inside[3], set_safe[3];
    double penalty[3];  /* sums of nominal return less lower bound */
    double attained[3]; /* of nominal return less worst return found */
    int64_t chosen[4];
} record;

/* ------------------------------------------------------------------------------------------- truth */

static double probability(const nadir_model_data *model, int64_t row, int64_t successor)
{
    if (model->dense != NULL) {
        return model->dense[row * model->states + successor];
    }
    for (int64_t i = model->row_starts[row]; i < model->row_starts[row + 1]; i++) {
        if (model->columns[i] == successor) {
            return model->probabilities[i];
        }
    }
    return 0;
}

static void *room(nadir_context *context, int64_t count, size_t size)
{
    void *made = nadir_allocate_zero(context, (size_t)count, size);
    bench_check(context, made != NULL ? NADIR_OK : NADIR_ERROR_MEMORY);
    return made;
}

/* Data of a true model: so many visits of every row. */
static nadir_data simulate(nadir_context *context, const nadir_model_data *truth, int64_t visits,
                           nadir_random *random)
{
    nadir_counts *counts = room(context, 1, sizeof *counts);
    counts->states = truth->states;
    counts->rows = truth->rows;
    counts->visited = truth->rows;
    counts->observations = truth->rows * visits;
    counts->total = (double)counts->observations;
    counts->state_rows = room(context, truth->states + 1, sizeof(int64_t));
    counts->row_starts = room(context, truth->rows + 1, sizeof(int64_t));
    counts->columns = room(context, truth->rows * truth->states, sizeof(int32_t));
    counts->counts = room(context, truth->rows * truth->states, sizeof(double));
    counts->reward_sums = room(context, truth->rows * truth->states, sizeof(double));
    memcpy(counts->state_rows, truth->state_rows, (size_t)(truth->states + 1) * sizeof(int64_t));
    for (int64_t row = 0; row < truth->rows; row++) {
        int64_t left = visits;
        double mass = 1;
        for (int64_t t = 0; t < truth->states && left > 0; t++) {
            const double p = probability(truth, row, t);
            const int64_t got = mass - p < 1e-12 ? left : nadir_binomial_variate(random, left, p / mass);
            mass -= p;
            left -= got;
            if (got > 0) {
                counts->columns[counts->nonzeros] = (int32_t)t;
                counts->counts[counts->nonzeros] = (double)got;
                counts->reward_sums[counts->nonzeros++] = (double)got * truth->rewards[row];
            }
        }
        counts->row_starts[row + 1] = counts->nonzeros;
    }
    return (nadir_data){.kind = NADIR_DATA_COUNTS, .counts = counts};
}

/* ------------------------------------------------------------------------------------------ looking */

/* Whether the true kernel is in the ball of the fitted model, domain simplex, from its definition. */
static bool is_inside(const nadir_model_data *truth, const nadir_model_data *fitted)
{
    double all = 0;
    bool inside = true;
    for (int64_t state = 0; state < truth->states; state++) {
        double own = 0;
        for (int64_t row = truth->state_rows[state]; row < truth->state_rows[state + 1]; row++) {
            double sum = 0;
            for (int64_t t = 0; t < truth->states; t++) {
                sum += pow(fabs(probability(truth, row, t) - probability(fitted, row, t)), fitted->norm);
            }
            const double scale = fitted->scales != NULL ? fitted->scales[row] : 1;
            const double power = scale > 0 ? sum / pow(scale, fitted->norm) : sum > 1e-20 ? INFINITY : 0;
            own += power;
            inside = inside &&
                     (fitted->set != NADIR_SET_SA || pow(power, 1 / fitted->norm) <= fitted->radius[row]);
        }
        inside =
            inside && (fitted->set != NADIR_SET_S || pow(own, 1 / fitted->norm) <= fitted->radius[state]);
        all += own;
    }
    return inside && (fitted->set != NADIR_SET_NONRECT || pow(all, 1 / fitted->norm) <= fitted->radius[0]);
}

static double true_return(nadir_context *context, nadir_model *truth, const nadir_policy *policy)
{
    nadir_solver *solver = NULL;
    nadir_nominal nominal = {.size = sizeof nominal};
    bench_check(context, nadir_solver_create(context, truth, policy, NULL, &solver));
    bench_check(context, nadir_solver_nominal(context, solver, &nominal));
    nadir_solver_free(solver);
    return nominal.upper_bound;
}

static void repeat(nadir_context *context, nadir_model *truth, int64_t visits, const options *asked,
                   nadir_random *random, record *found)
{
    nadir_model_data view;
    static const nadir_set sets[3] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
    nadir_model *models[3];
    nadir_fit *fit = NULL;
    nadir_policy *policy = NULL;
    nadir_optimum_result optimum = {.size = sizeof optimum};
    nadir_fit_result result = {.size = sizeof result};
    nadir_model_data_default(&view);
    nadir_model_view(truth, &view);
    nadir_data data = simulate(context, &view, visits, random);
    nadir_fit_settings settings = asked->settings;
    settings.discount = asked->coverage ? NAN : view.discount;
    nadir_data listed = {0};
    bench_check(context, nadir_fit_create(context, &data, &listed, &settings, &fit));
    memcpy(nadir_fit_nominal(fit)->initial, view.initial, (size_t)view.states * sizeof(double));
    if (asked->uniform || asked->coverage) {
        bench_check(context, nadir_policy_create_uniform(context, nadir_fit_nominal(fit), &policy));
    } else {
        bench_check(context, nadir_optimum(context, nadir_fit_nominal(fit), NULL, &policy, &optimum));
    }
    const double J = asked->coverage ? NAN : true_return(context, truth, policy);
    bench_check(context, nadir_fit_models(context, fit, policy, &result, 3, sets, models));
    for (int set = 0; set < 3; set++) {
        nadir_model_data fitted;
        nadir_model_data_default(&fitted);
        nadir_model_view(models[set], &fitted);
        found->set_inside[set] += is_inside(&view, &fitted) ? 1 : 0;
        found->set_safe[set] += J >= result.sets[set].lower_bound ? 1 : 0;
        found->penalty[set] += result.nominal_return - result.sets[set].lower_bound;
        found->attained[set] += result.nominal_return - result.sets[set].robust_return;
        nadir_model_free(models[set]);
    }
    found->chosen[result.chosen]++;
    found->reps++;
    nadir_policy_free(policy);
    nadir_fit_free(fit);
}

/* The transitions of a model as a file, for those who know them. */
static void list_transitions(const nadir_model_data *truth, char path[64])
{
    (void)snprintf(path, 64, "%s", "/tmp/bench_fit_XXXXXX.csv");
    const int descriptor = mkstemps(path, 4);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    (void)fputs("state,action,next_state\n", file);
    for (int64_t state = 0; state < truth->states; state++) {
        for (int64_t row = truth->state_rows[state]; row < truth->state_rows[state + 1]; row++) {
            for (int64_t t = 0; t < truth->states; t++) {
                if (probability(truth, row, t) > 0) {
                    (void)fprintf(file, "%lld,%lld,%lld\n", (long long)state,
                                  (long long)(row - truth->state_rows[state]), (long long)t);
                }
            }
        }
    }
    (void)fclose(file);
}

static void table_row(nadir_context *context, const char *name, int64_t visits, const options *given)
{
    char path[64];
    options own = *given;
    const options *asked = &own;
    nadir_model *truth = NULL;
    nadir_model_data view;
    nadir_generate_settings settings;
    record found = {0};
    nadir_random random;
    nadir_random_seed(&random, 2026 + (uint64_t)visits);
    nadir_generate_settings_default(&settings);
    if (strcmp(name, "garnet") == 0) {
        settings.states = 20;
        settings.actions = 4;
        settings.branch = 5;
    }
    bench_check(context, strchr(name, '.') != NULL ? nadir_model_read(context, name, NULL, &truth)
                                                   : nadir_model_generate(context, name, &settings, &truth));
    nadir_model_data_default(&view);
    nadir_model_view(truth, &view);
    if (own.support) {
        list_transitions(&view, path);
        own.settings.successors = path;
        own.settings.ragged = true;
    }
    for (int64_t i = 0; i < asked->reps; i++) {
        repeat(context, truth, visits, asked, &random, &found);
    }
    const double n = (double)found.reps;
    (void)printf("| %s | %lld | %lld |", name, (long long)view.rows, (long long)visits);
    for (int set = 0; set < 3; set++) {
        (void)printf(" %.1f | %.1f | %.4g |", 100 * (double)found.set_inside[set] / n,
                     100 * (double)found.set_safe[set] / n, found.penalty[set] / n);
    }
    (void)printf(" %.2f | %.2f | %.2f | %lld %lld %lld %lld |\n", found.penalty[1] / found.penalty[0],
                 found.penalty[2] / found.penalty[0], found.attained[2] / found.attained[0],
                 (long long)found.chosen[0], (long long)found.chosen[1], (long long)found.chosen[2],
                 (long long)found.chosen[3]);
    (void)fflush(stdout);
    if (own.support) {
        (void)remove(path);
    }
    nadir_model_free(truth);
}

static int read_options(int argc, char **argv, options *asked)
{
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        const char *name = argv[at];
        const char *value = argv[at + 1];
        if (strcmp(name, "--reps") == 0) {
            asked->reps = strtoll(value, NULL, 10);
        } else if (strcmp(name, "--visits") == 0) {
            asked->visits = strtoll(value, NULL, 10);
        } else if (strcmp(name, "--method") == 0) {
            asked->settings.method = value;
        } else if (strcmp(name, "--prior") == 0) {
            asked->settings.prior = strtod(value, NULL);
        } else if (strcmp(name, "--scales") == 0) {
            asked->settings.scales = value;
        } else if (strcmp(name, "--samples") == 0) {
            asked->settings.samples = strtoll(value, NULL, 10);
        } else if (strcmp(name, "--successors") == 0) {
            asked->support = strcmp(value, "true") == 0;
        } else if (strcmp(name, "--confidence") == 0) {
            asked->settings.confidence = strtod(value, NULL);
        } else if (strcmp(name, "--policy") == 0) {
            asked->uniform = strcmp(value, "uniform") == 0;
            asked->coverage = strcmp(value, "none") == 0;
        } else {
            (void)fprintf(stderr, "bench_fit: no option %s\n", name);
            exit(2);
        }
    }
    return at;
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"riverswim", "machine", "inventory", "garnet"};
    static const int64_t visits[] = {30, 100, 300};
    options asked = {.reps = 20};
    nadir_fit_settings_default(&asked.settings);
    asked.settings.guarantee = "kernel";
    const int first = read_options(argc, argv, &asked);
    const int models = first < argc ? argc - first : 4;
    nadir_context *context = bench_context(1);
    (void)printf(
        "| model | rows | visits | ball inside %% | safe %% | penalty | s inside | safe | penalty | sa "
        "inside | safe | penalty | s/ball | sa/ball | sa/ball, worst found | scales chosen |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int m = 0; m < models; m++) {
        for (int v = 0; v < (asked.visits > 0 ? 1 : 3); v++) {
            table_row(context, first < argc ? argv[first + m] : kinds[m],
                      asked.visits > 0 ? asked.visits : visits[v], &asked);
        }
    }
    nadir_context_free(context);
    return 0;
}

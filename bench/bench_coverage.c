/*
 * bench_coverage.c: how often guarantees of the return hold, and what they cost.
 *
 *     bench_coverage [--reps N] [--compare N] [--prior 1] [--confidence C] [LINE...]
 *
 * A true model makes data sets; each is fitted with the true successors known, and the promise of the policy chosen on
 * it (guarantee return) is held against the policy's true return. LINE is the name of a model, or "MODEL MODE VISITS";
 * modes: `even`, every row as often; `uneven`, 0.1 to 5 times as often; `log`, trajectories of 50 steps, half of the
 * decisions optimal and half uniform. Penalty: mean of nominal return less guarantee; needed: the 95 % quantile, over
 * data sets, of nominal less true return. --prior 1: the truth of each data set is drawn from the prior. --compare N:
 * the first N data sets also get the ball and the sa-rectangular set of the same confidence, and the fixed point
 * of Bellman's equation with quantiles of each row at the confidence shared among rows, above which RSVF (Russel and
 * Petrik, 2019) cannot be, since its sets hold for one value of each row what this holds for its own.
 */
#include "measure.h"

#include "core/context.h"
#include "fit/fit.h"
#include "fit/radii.h"
#include "fit/variates.h"
#include "model/model.h"
#include "model/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum mode { EVEN, UNEVEN, LOG } mode;

/* A line of the table. */
typedef struct line {
    const char *name; /* of the model */
    mode how;
    int64_t visits;
    bool all; /* every state is possible */
} line;

/* Those on which constants were chosen; those that were kept apart then; those of this program. */
static const line lines[] = {
    {"riverswim", EVEN, 30, false},  {"riverswim", EVEN, 100, true}, {"machine", EVEN, 30, false},
    {"machine", EVEN, 100, false},   {"machine", LOG, 30, false},    {"garnet", UNEVEN, 30, false},
    {"inventory", EVEN, 100, false}, {"inventory", LOG, 30, false},  {"inventory7", LOG, 40, false},
    {"random", EVEN, 30, false},     {"forest", LOG, 30, false},     {"gridworld", LOG, 40, false},
    {"queue", EVEN, 30, false},      {"treatment", EVEN, 30, false}, {"ring", EVEN, 30, false},
    {"garnet30", EVEN, 30, false},   {"queue", LOG, 60, false},      {"treatment", LOG, 60, false},
    {"ring", LOG, 60, false},        {"garnet30", LOG, 60, false},
};
enum { LINES = sizeof lines / sizeof *lines };

typedef struct options {
    int64_t reps, compare;
    bool prior;
    double confidence;
} options;

/* ---- True models --------------------------------------------------------------------------------------- */

/* A model under construction, dense. */
typedef struct drawing {
    int64_t states, actions;
    double discount;
    double P[32][4][32], R[32][4];
} drawing;

/* A queue of up to 9: slow, middling or fast service, which costs 0, 0.6, 1.5; waiting costs 0.25 each; arrivals 0.45. */
static void draw_queue(drawing *to)
{
    static const double service[] = {0.2, 0.45, 0.75}, cost[] = {0, 0.6, 1.5};
    to->states = 10;
    to->actions = 3;
    to->discount = 0.95;
    for (int s = 0; s < 10; s++) {
        for (int a = 0; a < 3; a++) {
            const double up = 0.45 * (1 - (s > 0 ? service[a] : 0));
            const double down = s > 0 ? service[a] * 0.55 : 0;
            to->P[s][a][s < 9 ? s + 1 : 9] += up;
            to->P[s][a][s > 0 ? s - 1 : 0] += down;
            to->P[s][a][s] += 1 - up - down;
            to->R[s][a] = -0.25 * s - cost[a] - (s == 9 ? 4 : 0);
        }
    }
}

/* Severity 0 (healthy) to 7, 8 is death: nothing, a mild and a strong treatment, the latter with side effects. */
static void draw_treatment(drawing *to)
{
    static const double better[] = {0.1, 0.35, 0.6}, worse[] = {0.35, 0.2, 0.12},
                        death[] = {0.01, 0.01, 0.03};
    to->states = 9;
    to->actions = 3;
    to->discount = 0.9;
    for (int a = 0; a < 3; a++) {
        to->P[8][a][8] = 1;
        for (int s = 0; s < 8; s++) {
            const double fatal = death[a] * s / 3;
            to->P[s][a][8] += fatal;
            to->P[s][a][s > 0 ? s - 1 : 0] += (1 - fatal) * better[a];
            to->P[s][a][s < 7 ? s + 1 : 7] += (1 - fatal) * worse[a];
            to->P[s][a][s] += (1 - fatal) * (1 - better[a] - worse[a]);
            to->R[s][a] = 1 - 0.12 * s - 0.15 * a;
        }
    }
}

/* A ring of 12 places with a prize at 6 and a pit at 4: left, stay, right, each of which slips by up to two. */
static void draw_ring(drawing *to)
{
    static const double slips[] = {0.05, 0.1, 0.7, 0.1, 0.05};
    to->states = 12;
    to->actions = 3;
    to->discount = 0.93;
    for (int s = 0; s < 12; s++) {
        for (int a = 0; a < 3; a++) {
            for (int k = 0; k < 5; k++) {
                to->P[s][a][(s + a - 1 + k - 2 + 24) % 12] += slips[k];
            }
            to->R[s][a] = s == 6 ? 10 : s == 4 ? -8 : a == 1 ? 0 : -0.2;
        }
    }
}

static nadir_model *model_of(nadir_context *context, const drawing *from)
{
    nadir_model *model = NULL;
    nadir_model_data data;
    const int64_t rows = from->states * from->actions;
    int64_t *starts = bench_new(rows + 1, sizeof *starts);
    int64_t *first = bench_new(from->states + 1, sizeof *first);
    int32_t *columns = bench_new(rows * from->states, sizeof *columns);
    double *values = bench_new(rows * from->states, sizeof *values);
    double *rewards = bench_new(rows, sizeof *rewards);
    int64_t to = 0;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t s = row / from->actions;
        const int64_t a = row % from->actions;
        first[s] = s * from->actions;
        starts[row] = to;
        rewards[row] = from->R[s][a];
        for (int64_t t = 0; t < from->states; t++) {
            if (from->P[s][a][t] > 0) {
                columns[to] = (int32_t)t;
                values[to++] = from->P[s][a][t];
            }
        }
    }
    starts[rows] = to;
    first[from->states] = rows;
    nadir_model_data_default(&data);
    data.states = from->states;
    data.rows = rows;
    data.discount = from->discount;
    data.state_rows = first;
    data.row_starts = starts;
    data.columns = columns;
    data.probabilities = values;
    data.rewards = rewards;
    bench_check(context, nadir_model_create(context, &data, &model));
    free(starts);
    free(first);
    free(columns);
    free(values);
    free(rewards);
    return model;
}

static nadir_model *make_truth(nadir_context *context, const char *name)
{
    static void (*const draw[])(drawing *) = {draw_queue, draw_treatment, draw_ring};
    static const char *const own[] = {"queue", "treatment", "ring"};
    nadir_model *model = NULL;
    nadir_generate_settings settings;
    nadir_generate_settings_default(&settings);
    const char *kind = name;
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, own[i]) == 0) {
            drawing *made = bench_new(1, sizeof *made);
            draw[i](made);
            model = model_of(context, made);
            free(made);
            return model;
        }
    }
    if (strncmp(name, "garnet", 6) == 0) {
        kind = "garnet";
        settings.states = strcmp(name, "garnet") == 0 ? 20 : 30;
        settings.actions = strcmp(name, "garnet") == 0 ? 4 : 3;
        settings.branch = strcmp(name, "garnet") == 0 ? 5 : 3;
        settings.discount = strcmp(name, "garnet") == 0 ? 0.9 : 0.95;
    } else if (strcmp(name, "inventory") == 0) {
        settings.capacity = 5;
        settings.demand = 4;
    } else if (strcmp(name, "inventory7") == 0) {
        kind = "inventory";
        settings.capacity = 7;
        settings.demand = 6;
    } else if (strcmp(name, "random") == 0) {
        settings.states = 8;
        settings.actions = 4;
    }
    bench_check(context, nadir_model_generate(context, kind, &settings, &model));
    return model;
}

/* ---- Data ---------------------------------------------------------------------------------------------- */

/* Counts of every listed transition of the truth. */
typedef struct tally {
    nadir_model_data truth; /* with transitions listed, whatever the model has */
    int64_t *row_starts;
    int32_t *columns;
    double *P;      /* [nonzeros] the kernel that makes the data */
    double *counts; /* [nonzeros] */
} tally;

static tally make_tally(const nadir_model *model)
{
    tally made = {0};
    nadir_model_data_default(&made.truth);
    nadir_model_view(model, &made.truth);
    nadir_model_data *truth = &made.truth;
    made.row_starts = bench_new(truth->rows + 1, sizeof(int64_t));
    made.columns = bench_new(truth->nonzeros, sizeof(int32_t));
    made.P = bench_new(truth->nonzeros, sizeof(double));
    made.counts = bench_new(truth->nonzeros, sizeof(double));
    for (int64_t row = 0, to = 0; row < truth->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        for (int64_t i = 0; i < entries.count; i++) {
            if (entries.values[i] > 0) {
                made.columns[to] = (int32_t)nadir_row_column(&entries, i);
                made.P[to++] = entries.values[i];
            }
        }
        made.row_starts[row + 1] = to;
    }
    truth->dense = NULL;
    truth->transition_rewards = NULL;
    truth->row_starts = made.row_starts;
    truth->columns = made.columns;
    truth->probabilities = made.P;
    return made;
}

static void *room(nadir_context *context, int64_t count, size_t size)
{
    void *made = nadir_allocate_zero(context, (size_t)(count > 0 ? count : 1), size);
    bench_check(context, made != NULL ? NADIR_OK : NADIR_ERROR_MEMORY);
    return made;
}

static void visit_row(tally *self, nadir_random *random, int64_t row, int64_t visits)
{
    double mass = 1;
    for (int64_t i = self->truth.row_starts[row]; i < self->truth.row_starts[row + 1]; i++) {
        const bool last = i + 1 == self->truth.row_starts[row + 1];
        const int64_t got =
            last ? visits : nadir_binomial_variate(random, visits, fmin(self->P[i] / mass, 1));
        self->counts[i] += (double)got;
        visits -= got;
        mass = fmax(mass - self->P[i], 1e-300);
    }
}

static int64_t take(nadir_random *random, int64_t count, const double *probabilities)
{
    double left = nadir_random_uniform(random);
    int64_t i = 0;
    while (i + 1 < count && left >= probabilities[i]) {
        left -= probabilities[i++];
    }
    return i;
}

/* Trajectories of 50 steps: at each the optimal action or a uniform one. */
static void play(tally *self, nadir_random *random, const double *optimal, int64_t steps)
{
    const nadir_model_data *truth = &self->truth;
    int64_t state = 0;
    for (int64_t k = 0; k < steps; k++) {
        state = k % 50 == 0 ? take(random, truth->states, truth->initial) : state;
        const int64_t first = truth->state_rows[state];
        const int64_t actions = truth->state_rows[state + 1] - first;
        const int64_t row = first + (nadir_random_uniform(random) < 0.5
                                         ? take(random, actions, optimal + first)
                                         : (int64_t)nadir_random_below(random, (uint64_t)actions));
        const int64_t start = truth->row_starts[row];
        const int64_t i = start + take(random, truth->row_starts[row + 1] - start, self->P + start);
        self->counts[i] += 1;
        state = truth->columns[i];
    }
}

static void make_data(tally *self, nadir_random *random, const line *asked, const double *optimal)
{
    const nadir_model_data *truth = &self->truth;
    memset(self->counts, 0, (size_t)truth->nonzeros * sizeof *self->counts);
    if (asked->how == LOG) {
        play(self, random, optimal, asked->visits * truth->rows);
        return;
    }
    for (int64_t row = 0; row < truth->rows; row++) {
        const double share = asked->how == EVEN ? 1 : 0.1 * pow(50, nadir_random_uniform(random));
        visit_row(self, random, row, (int64_t)fmax(round(share * (double)asked->visits), 1));
    }
}

static int64_t *copied(nadir_context *context, int64_t count, const int64_t *from)
{
    int64_t *made = room(context, count, sizeof *made);
    memcpy(made, from, (size_t)count * sizeof *made);
    return made;
}

/* As data of the library; zeros: transitions that were not seen are listed too, as possible ones are. */
static nadir_data data_of(nadir_context *context, const tally *self, bool zeros)
{
    const nadir_model_data *truth = &self->truth;
    nadir_counts *made = room(context, 1, sizeof *made);
    made->states = truth->states;
    made->rows = truth->rows;
    made->state_rows = copied(context, truth->states + 1, truth->state_rows);
    made->row_starts = room(context, truth->rows + 1, sizeof(int64_t));
    made->columns = room(context, truth->nonzeros, sizeof(int32_t));
    made->counts = room(context, truth->nonzeros, sizeof(double));
    made->reward_sums = room(context, truth->nonzeros, sizeof(double));
    made->reward_squares = room(context, truth->nonzeros, sizeof(double));
    for (int64_t row = 0; row < truth->rows; row++) {
        for (int64_t i = truth->row_starts[row]; i < truth->row_starts[row + 1]; i++) {
            if (zeros || self->counts[i] > 0) {
                made->columns[made->nonzeros] = truth->columns[i];
                made->counts[made->nonzeros] = zeros ? 1 : self->counts[i];
                made->reward_sums[made->nonzeros++] = self->counts[i] * truth->rewards[row];
                made->total += self->counts[i];
            }
        }
        made->row_starts[row + 1] = made->nonzeros;
        made->visited += made->row_starts[row + 1] > made->row_starts[row] ? 1 : 0;
    }
    made->observations = (int64_t)made->total;
    return (nadir_data){.kind = NADIR_DATA_COUNTS, .counts = made};
}

/* ---- What is found ------------------------------------------------------------------------------------- */

typedef struct record {
    int64_t reps, safe, posterior_safe;
    double *gaps; /* [reps] nominal less true return */
    double penalty, true_sum, guaranteed, draws;
    int64_t compared;
    double own, ball, sa, rsvf; /* sums of guarantees */
} record;

static double return_of(nadir_context *context, const tally *self, const nadir_policy *policy)
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

static void repeat(nadir_context *context, tally *self, const line *wanted, const options *asked,
                   record *found)
{
    nadir_fit *fit = NULL;
    nadir_policy *policy = NULL;
    nadir_fit_return_result result = {.size = sizeof result};
    nadir_fit_settings settings;
    nadir_fit_settings_default(&settings);
    settings.discount = self->truth.discount;
    settings.confidence = asked->confidence;
    settings.successors = wanted->all ? "all" : "listed";
    settings.frozen_rewards = true;
    nadir_data data = data_of(context, self, false);
    nadir_data listed = {0};
    if (!wanted->all) {
        listed = data_of(context, self, true);
    }
    bench_check(context, nadir_fit_create(context, &data, &listed, &settings, &fit));
    memcpy(nadir_fit_nominal(fit)->initial, self->truth.initial, (size_t)self->truth.states * sizeof(double));
    bench_check(context, nadir_fit_return(context, fit, NULL, &result, &policy, NULL));
    const double J = return_of(context, self, policy);
    found->gaps[found->reps++] = result.nominal_return - J;
    found->safe += J >= result.guaranteed ? 1 : 0;
    found->posterior_safe += J >= result.posterior_bound ? 1 : 0;
    found->penalty += result.nominal_return - result.guaranteed;
    found->true_sum += J;
    found->guaranteed += result.guaranteed;
    if (found->compared < asked->compare) {
        found->own += result.guaranteed;
        compare(context, fit, asked, found);
    }
    nadir_policy_free(policy);
    nadir_fit_free(fit);
}

static void draw_truth(tally *self, nadir_random *random)
{
    for (int64_t row = 0; row < self->truth.rows; row++) {
        const int64_t start = self->truth.row_starts[row];
        const int64_t count = self->truth.row_starts[row + 1] - start;
        double sum = 0;
        for (int64_t i = start; i < start + count; i++) {
            self->P[i] = nadir_gamma_variate(random, 2.0 / (double)count);
            sum += self->P[i];
        }
        for (int64_t i = start; i < start + count; i++) {
            self->P[i] = sum > 0 ? self->P[i] / sum : 1 / (double)count;
        }
    }
}

static void print_line(const line *wanted, const options *asked, record *found)
{
    static const char *const modes[] = {"even", "uneven", "log"};
    const double n = (double)found->reps;
    const double share = (double)found->safe / n;
    const double needed =
        nadir_order_statistic(found->reps, found->gaps, (int64_t)ceil(asked->confidence * n));
    (void)printf("| %s %s %lld%s%s | %lld | %.1f | %.1f | %.1f | %.5g | %.5g | %.4g | %.2f |", wanted->name,
                 modes[wanted->how], (long long)wanted->visits, wanted->all ? ", all possible" : "",
                 asked->prior ? ", truth from the prior" : "", (long long)found->reps, 100 * share,
                 100 * sqrt(fmax(share * (1 - share), 0) / n), 100 * (double)found->posterior_safe / n,
                 found->guaranteed / n, found->true_sum / n, found->penalty / n, found->penalty / n / needed);
    if (found->compared > 0) {
        const double c = (double)found->compared;
        (void)printf(" %.5g | %.5g | %.5g | %.5g |", found->own / c, found->ball / c, found->sa / c,
                     found->rsvf / c);
    }
    (void)printf("\n");
    (void)fflush(stdout);
}

static void table_row(nadir_context *context, const line *wanted, const options *asked)
{
    nadir_model *truth = make_truth(context, wanted->name);
    nadir_policy *optimum = NULL;
    nadir_optimum_result best = {.size = sizeof best};
    record found = {.gaps = bench_new(asked->reps, sizeof(double))};
    tally self = make_tally(truth);
    nadir_random random;
    nadir_random_seed(&random, 2026 + (uint64_t)wanted->visits);
    bench_check(context, nadir_optimum(context, truth, NULL, &optimum, &best));
    for (int64_t i = 0; i < asked->reps; i++) {
        if (asked->prior) {
            draw_truth(&self, &random);
        }
        make_data(&self, &random, wanted, optimum->probabilities);
        repeat(context, &self, wanted, asked, &found);
    }
    print_line(wanted, asked, &found);
    nadir_policy_free(optimum);
    nadir_model_free(truth);
    free(self.row_starts);
    free(self.columns);
    free(self.P);
    free(self.counts);
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
        } else if (strcmp(argv[at], "--confidence") == 0) {
            asked.confidence = value;
        } else {
            (void)fprintf(stderr, "bench_coverage: no option %s\n", argv[at]);
            return 2;
        }
    }
    nadir_context *context = bench_context(1);
    (void)printf(
        "| data | data sets | covered %% | standard error | posterior bound covered %% | guaranteed | true "
        "return | penalty | penalty / needed |%s\n|---|---|---|---|---|---|---|---|---|%s\n",
        asked.compare > 0 ? " guaranteed | ball | sa-rectangular | RSVF at most |" : "",
        asked.compare > 0 ? "---|---|---|---|" : "");
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

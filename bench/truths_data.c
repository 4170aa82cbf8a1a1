/* truths_data.c: data that true models make; see truths.h. */
#include "core/context.h"
#include "fit/radii.h"
#include "fit/variates.h"
#include "measure.h"
#include "model/model.h"
#include "truths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bench_tally bench_tally_make(const nadir_model *model)
{
    bench_tally made = {0};
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

void bench_tally_clear(bench_tally *self)
{
    free(self->row_starts);
    free(self->columns);
    free(self->P);
    free(self->counts);
}

void bench_tally_draw_truth(bench_tally *self, nadir_random *random)
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

static void *room(nadir_context *context, int64_t count, size_t size)
{
    void *made = nadir_allocate_zero(context, (size_t)(count > 0 ? count : 1), size);
    bench_check(context, made != NULL ? NADIR_OK : NADIR_ERROR_MEMORY);
    return made;
}

void bench_tally_visit(bench_tally *self, nadir_random *random, int64_t row, int64_t visits)
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
static void play(bench_tally *self, nadir_random *random, const double *optimal, int64_t steps)
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

void bench_tally_fill(bench_tally *self, nadir_random *random, bench_visits how, int64_t visits,
                      const double *optimal)
{
    const nadir_model_data *truth = &self->truth;
    memset(self->counts, 0, (size_t)truth->nonzeros * sizeof *self->counts);
    if (how == BENCH_LOG) {
        play(self, random, optimal, visits * truth->rows);
        return;
    }
    for (int64_t row = 0; row < truth->rows; row++) {
        const double share = how == BENCH_EVEN ? 1 : 0.1 * pow(50, nadir_random_uniform(random));
        bench_tally_visit(self, random, row, (int64_t)fmax(round(share * (double)visits), 1));
    }
}

static int64_t *copied(nadir_context *context, int64_t count, const int64_t *from)
{
    int64_t *made = room(context, count, sizeof *made);
    memcpy(made, from, (size_t)count * sizeof *made);
    return made;
}

/* As data of the library; zeros: transitions that were not seen are listed too, as possible ones are. */
static nadir_data data_of(nadir_context *context, const bench_tally *self, bool zeros)
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

nadir_fit *bench_tally_fit(nadir_context *context, const bench_tally *self, bool all, double confidence)
{
    nadir_fit *fit = NULL;
    nadir_fit_settings settings;
    nadir_fit_settings_default(&settings);
    settings.discount = self->truth.discount;
    settings.confidence = confidence;
    settings.successors = all ? "all" : "listed";
    settings.frozen_rewards = true;
    nadir_data data = data_of(context, self, false);
    nadir_data listed = {0};
    if (!all) {
        listed = data_of(context, self, true);
    }
    bench_check(context, nadir_fit_create(context, &data, &listed, &settings, &fit));
    memcpy(nadir_fit_nominal(fit)->initial, self->truth.initial, (size_t)self->truth.states * sizeof(double));
    return fit;
}

/* kernel_draws.c: kernels of the posterior of one policy; see kernel_draws.h. */
#include "fit/kernel_draws.h"

#include <math.h>
#include <string.h>

/* More successors that were not seen are drawn as pieces of a stick. */
enum { FEW_UNSEEN = 24 };
/* What is left of the stick is one piece more. */
static const double least_rest = 1e-9;
/* Of a row that has to be luckier than its rivals: one of about k draws is. */
enum { MOST_TRIES = 1000 };

/* ---- What is drawn ----------------------------------------------------------------------------------- */

void nadir_draw_plan_clear(nadir_context *context, nadir_draw_plan *self)
{
    NADIR_RELEASE(context, self->rows, self->state_entries, self->columns, self->shapes, self->gammas,
                  self->rewards, self->visits, self->other_columns, self->other_rewards, self->ratios);
}

/* The entry of a row with the lowest y. */
static int64_t find_worst(const nadir_draw_plan *self, int64_t row, const nadir_row *entries)
{
    const nadir_model *model = self->problem->model;
    int64_t worst = 0;
    double least = INFINITY;
    for (int64_t i = 0; i < entries->count; i++) {
        const double y = nadir_return_pays(model, row, entries, i) +
                         model->discount * self->measure->v[nadir_row_column(entries, i)];
        const bool lower = entries->values[i] > 0 && y < least; /* dense rows list all states */
        worst = lower ? i : worst;
        least = lower ? y : least;
    }
    return worst;
}

/* Adds the entries of a row: successors seen, and the few that are possible besides; many of them are listed apart. */
static void add_entries(nadir_draw_plan *self, nadir_drawn_row *own, int64_t *entry, int64_t *other)
{
    const nadir_evidence *evidence = &self->problem->fit->evidence;
    const nadir_model *model = self->problem->model;
    const nadir_row entries = nadir_model_row(model, own->row);
    const bool cautious = self->draws->worst_of != NULL && !own->known;
    const int64_t worst = cautious ? find_worst(self, own->row, &entries) : -1;
    const bool many = nadir_evidence_unseen(evidence, own->row) > FEW_UNSEEN;
    int64_t seen = evidence->row_starts[own->row];
    own->first = *entry;
    own->other = *other;
    for (int64_t i = 0; i < entries.count; i++) {
        const int32_t t = (int32_t)nadir_row_column(&entries, i);
        const bool was_seen = seen < evidence->row_starts[own->row + 1] && evidence->columns[seen] == t;
        const double n = was_seen ? evidence->counts[seen] : 0;
        const double shape = own->known  ? entries.values[i]
                             : !cautious ? n + own->each
                                         : n + (i == worst ? own->caution : 0);
        seen += was_seen ? 1 : 0;
        if (!(entries.values[i] > 0)) {
            continue;
        }
        if (own->known || was_seen || (cautious ? shape > 0 : !many)) {
            self->columns[*entry] = t;
            self->shapes[*entry] = shape;
            self->gammas[*entry] = nadir_gamma_of(shape);
            self->rewards[*entry] = nadir_return_pays(model, own->row, &entries, i);
            self->visits[(*entry)++] = n;
        } else if (!cautious) {
            self->other_columns[*other] = t;
            self->other_rewards[(*other)++] = nadir_return_pays(model, own->row, &entries, i);
        }
    }
    own->end = *entry;
    own->others = *other - own->other;
    self->most_others = own->others > self->most_others ? own->others : self->most_others;
    self->most_entries =
        own->end - own->first > self->most_entries ? own->end - own->first : self->most_entries;
}

/* ---- Rows that were chosen ------------------------------------------------------------------------------ */

/* Adds a rival: as one more draw, or with its share of the row's deviation. */
static void add_rival(nadir_draw_plan *self, nadir_drawn_row *own, int64_t rival)
{
    const double *U = self->measure->U;
    if (U[rival] < U[own->row]) {
        self->ratios[own->ratio + own->ratios++] = sqrt(U[rival] / U[own->row]);
    } else {
        own->worst_of++;
    }
}

/* Those that could have been chosen instead of a row, one less than worst_of of its state: first those that are not taken. */
static void find_rivals(nadir_draw_plan *self, const double *pi, nadir_drawn_row *own, int64_t *ratio)
{
    const int64_t *state_rows = self->problem->model->state_rows;
    const bool *tied = self->draws->tied;
    int32_t left = self->draws->worst_of[own->state] - 1;
    own->ratio = *ratio;
    for (int taken = 0; taken < 2 && tied != NULL; taken++) {
        for (int64_t row = state_rows[own->state]; row < state_rows[own->state + 1] && left > 0; row++) {
            if (tied[row] && row != own->row && (pi[row] > 0) == (taken == 1)) {
                add_rival(self, own, row);
                left--;
            }
        }
    }
    own->worst_of += left;
    *ratio += own->ratios;
}

/* The variance of a normal variate, given that it is the largest of worst_of and of others with these ratios. */
static double luckiest_variance(int32_t worst_of, int64_t count, const double *ratios)
{
    enum { STEPS = 160 };
    const double step = 1.0 / 16;
    double sum = 0;
    double mean = 0;
    double square = 0;
    for (int i = -STEPS; i <= STEPS; i++) { /* the trapezoidal rule: such densities leave it little error */
        const double x = i * step;
        double density = exp(-0.5 * x * x) * pow(nadir_normal_tail(-x), worst_of - 1);
        for (int64_t k = 0; k < count; k++) {
            density *= nadir_normal_tail(-x / fmax(ratios[k], step));
        }
        sum += density;
        mean += density * x;
        square += density * x * x;
    }
    return square / sum - mean / sum * (mean / sum);
}

/*
 * What makes up, to order 1/N, for the skewness of a row: the posterior is twice as skewed as the data are, and its
 * deviation is small where they were lucky. A quantile of the return asks for half a visit to the worst successor in all,
 * shared as rows share its variance; the mean of the worst of k draws is that of the luck of the luckiest of k with
 * (1 - v) / 2 visits in each row, v the variance of the largest of k normal variates; docs/fit.md.
 */
static double find_caution(const nadir_draw_plan *self, const nadir_drawn_row *own)
{
    const nadir_return_measure *measure = self->measure;
    const double x = measure->d[own->state] * own->weight;
    const double v = luckiest_variance(own->worst_of, own->ratios, self->ratios + own->ratio);
    return measure->f > 0 ? 0.5 * (1 - v + v * x * x * measure->U[own->row] / measure->f) : 0;
}

/* Mean of what the row pays and of the value afterwards, with its shapes. */
static double find_mean(const nadir_draw_plan *self, const nadir_drawn_row *own)
{
    const double gamma = self->problem->model->discount;
    double sum = 0;
    double total = 0;
    for (int64_t e = own->first; e < own->end; e++) {
        sum += self->shapes[e] * (self->rewards[e] + gamma * self->measure->v[self->columns[e]]);
        total += self->shapes[e];
    }
    return sum / total;
}

nadir_status nadir_draw_plan_make(const double *pi, nadir_draw_plan *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_return_problem *problem = self->problem;
    const nadir_model *model = problem->model;
    int64_t entries = 0;
    int64_t entry = 0;
    int64_t other = 0;
    int64_t ratio = 0;
    int64_t ratios = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        self->count += pi[row] > 0 ? 1 : 0;
        entries += pi[row] > 0 ? nadir_model_row(model, row).count : 0;
    }
    self->states = model->states;
    for (int64_t state = 0; self->draws->worst_of != NULL && state < self->states; state++) {
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            ratios += pi[row] > 0 ? self->draws->worst_of[state] : 0;
        }
    }
    NADIR_NEW(context, self->rows, self->count);
    NADIR_NEW(context, self->state_entries, self->states + 1);
    NADIR_NEW(context, self->columns, entries);
    NADIR_NEW(context, self->shapes, entries);
    NADIR_NEW(context, self->gammas, entries);
    NADIR_NEW(context, self->rewards, entries);
    NADIR_NEW(context, self->visits, entries);
    NADIR_NEW(context, self->other_columns, entries);
    NADIR_NEW(context, self->other_rewards, entries);
    NADIR_NEW(context, self->ratios, ratios);
    self->count = 0;
    for (int64_t state = 0; state < self->states; state++) {
        self->state_entries[state] = entry;
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            if (pi[row] > 0) {
                nadir_drawn_row *own = &self->rows[self->count++];
                *own = (nadir_drawn_row){.row = row,
                                         .state = state,
                                         .weight = pi[row],
                                         .known = problem->shrink[row] == 0,
                                         .each = problem->fit->evidence.each[row],
                                         .worst_of = 1,
                                         .square = problem->noise_square[row],
                                         .freedom = problem->noise_freedom[row]};
                if (self->draws->worst_of != NULL) {
                    find_rivals(self, pi, own, &ratio);
                    own->caution = find_caution(self, own);
                }
                add_entries(self, own, &entry, &other);
                own->mean = find_mean(self, own);
            }
        }
    }
    self->state_entries[self->states] = entry;
    self->limit = self->draws->tolerance * sqrt(self->measure->f) * (1 - model->discount);
cleanup:
    return status;
}

/* ---- Drawing ----------------------------------------------------------------------------------------- */

nadir_status nadir_drawn_make(const nadir_draw_plan *self, nadir_drawn *drawn)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    int64_t extras = 0;
    NADIR_NEW(context, drawn->values, self->state_entries[self->states]);
    NADIR_NEW(context, drawn->R, self->states);
    for (int64_t i = 0; i < self->count; i++) { /* a stick has few pieces unless its shape is large */
        const double shape = self->rows[i].each * (double)self->rows[i].others;
        extras += (int64_t)fmin((double)self->rows[i].others, 64 + 40 * shape) * NADIR_LANES;
    }
    drawn->extra_capacity = (size_t)extras;
    NADIR_NEW(context, drawn->extras, extras);
    NADIR_NEW(context, drawn->kept, self->most_entries);
    NADIR_NEW(context, drawn->pieces, self->most_others + 1);
    NADIR_NEW_ZERO(context, drawn->marks, self->most_others + 1);
cleanup:
    return status;
}

void nadir_drawn_clear(nadir_context *context, nadir_drawn *drawn)
{
    NADIR_RELEASE(context, drawn->values, drawn->R, drawn->extras, drawn->kept, drawn->pieces, drawn->marks);
}

/* Another stream for every row and batch. */
static nadir_random stream_of(const nadir_draw_plan *self, int64_t row, int64_t batch)
{
    nadir_random random;
    nadir_random_seed(&random, self->draws->seed + (uint64_t)batch * UINT64_C(0x9e3779b97f4a7c15) +
                                   (uint64_t)row * UINT64_C(0xd1342543de82ef95));
    return random;
}

/* Pieces of the successors besides, whose variates sum to `all`: they fall on different ones. */
static void draw_others(const nadir_draw_plan *self, nadir_drawn *use, const nadir_drawn_row *own,
                        nadir_random *random, int lane, double all, double *reward)
{
    double rest;
    use->stick++;
    int64_t made = nadir_stick_pieces(random, own->others, own->each, least_rest, use->pieces, &rest);
    if (made < own->others) {
        use->pieces[made++] = rest;
    }
    for (int64_t i = 0; i < made; i++) {
        int64_t at;
        do {
            at = (int64_t)nadir_random_below(random, (uint64_t)own->others);
        } while (use->marks[at] == use->stick);
        use->marks[at] = use->stick;
        if ((size_t)use->extra_count >= use->extra_capacity) { /* room was made for as many as there can be */
            use->failed = true;
            return;
        }
        const double value = own->weight * all * use->pieces[i];
        use->extras[use->extra_count++] = (nadir_drawn_extra){
            (int32_t)own->state, self->other_columns[own->other + at], (int32_t)lane, value};
        *reward += value * self->other_rewards[own->other + at];
    }
}

/* The deviation of a reward with one visit, in one lane; 0: rewards do not vary. */
static double draw_noise(const nadir_drawn_row *own, nadir_random *random)
{
    return own->square > 0 ? sqrt(own->square / (2 * nadir_gamma_variate(random, own->freedom / 2))) : 0;
}

/* The mean reward of an entry, in one lane. */
static double draw_reward(const nadir_draw_plan *self, int64_t entry, double noise, nadir_random *random)
{
    return noise > 0 && self->visits[entry] > 0
               ? self->rewards[entry] + noise * nadir_normal_variate(random) / sqrt(self->visits[entry])
               : self->rewards[entry];
}

/* One lane of a row that is not known. */
static void draw_lane(const nadir_draw_plan *self, nadir_drawn *use, const nadir_drawn_row *own,
                      nadir_random *random, int lane)
{
    double sum = 0;
    double reward = 0;
    for (int64_t e = own->first; e < own->end; e++) {
        use->values[e][lane] = nadir_gamma_take(&self->gammas[e], random);
        sum += use->values[e][lane];
    }
    const double others = own->others > 0 ? nadir_gamma_variate(random, own->each * (double)own->others) : 0;
    sum += others;
    if (!(sum > 0)) { /* all below the smallest double */
        use->values[own->first][lane] = sum = 1;
    }
    const double noise = draw_noise(own, random);
    for (int64_t e = own->first; e < own->end; e++) {
        use->values[e][lane] *= own->weight / sum;
        reward += use->values[e][lane] * draw_reward(self, e, noise, random);
    }
    if (others > 0) {
        draw_others(self, use, own, random, lane, others / sum, &reward);
    }
    use->R[own->state][lane] += reward;
}

static void fill_known(const nadir_draw_plan *self, nadir_drawn *use, const nadir_drawn_row *own,
                       nadir_random *random, int lane)
{
    const double noise = draw_noise(own, random);
    for (int64_t e = own->first; e < own->end; e++) {
        use->values[e][lane] = own->weight * self->shapes[e];
        use->R[own->state][lane] += use->values[e][lane] * draw_reward(self, e, noise, random);
    }
}

/* A row in one lane. Returns what it pays and the value afterwards, times its weight; R of the state is the pay alone. */
static double draw_once(const nadir_draw_plan *self, nadir_drawn *use, const nadir_drawn_row *own,
                        nadir_random *random, int lane)
{
    const double gamma = self->problem->model->discount;
    use->R[own->state][lane] = 0;
    (own->known ? fill_known : draw_lane)(self, use, own, random, lane);
    double y = use->R[own->state][lane];
    for (int64_t e = own->first; e < own->end; e++) {
        y += gamma * use->values[e][lane] * self->measure->v[self->columns[e]];
    }
    return y;
}

/* A row in one lane, the worst of its draws. Returns how much less than in the mean it pays; its values are in kept, its pay
 * in *reward. */
static double draw_worst(const nadir_draw_plan *self, nadir_drawn *use, const nadir_drawn_row *own,
                         nadir_random *random, int lane, double *reward)
{
    double least = INFINITY;
    for (int32_t k = 0; k < own->worst_of; k++) {
        const double y = draw_once(self, use, own, random, lane);
        if (y < least || k == 0) {
            least = y;
            *reward = use->R[own->state][lane];
            for (int64_t e = own->first; e < own->end; e++) {
                use->kept[e - own->first] = use->values[e][lane];
            }
        }
    }
    return own->weight * own->mean - least;
}

/* The same, given that as much luck is more than what rivals that are known better had. */
static void draw_luckiest(const nadir_draw_plan *self, nadir_drawn *use, const nadir_drawn_row *own,
                          nadir_random *random, int lane)
{
    const double before = use->R[own->state][lane];
    const double mean = own->weight * own->mean;
    double reward = 0;
    bool luckiest = false;
    for (int i = 0; i < MOST_TRIES && !luckiest; i++) {
        const double luck = draw_worst(self, use, own, random, lane, &reward);
        luckiest = true;
        for (int64_t k = 0; k < own->ratios && luckiest; k++) {
            luckiest =
                luck >= self->ratios[own->ratio + k] * (mean - draw_once(self, use, own, random, lane));
        }
    }
    use->R[own->state][lane] = before + reward;
    for (int64_t e = own->first; e < own->end; e++) {
        use->values[e][lane] = use->kept[e - own->first];
    }
}

void nadir_draw_batch(const nadir_draw_plan *self, nadir_drawn *use, int64_t batch)
{
    memset(use->R, 0, (size_t)self->states * sizeof *use->R);
    use->extra_count = 0;
    for (int64_t i = 0; i < self->count; i++) {
        const nadir_drawn_row *own = &self->rows[i];
        nadir_random random = stream_of(self, own->row, batch);
        for (int lane = 0; lane < NADIR_LANES; lane++) {
            if (own->worst_of > 1 || own->ratios > 0) {
                draw_luckiest(self, use, own, &random, lane);
            } else {
                (own->known ? fill_known : draw_lane)(self, use, own, &random, lane);
            }
        }
    }
}

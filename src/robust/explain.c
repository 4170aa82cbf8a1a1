/*
 * explain.c: how much of the penalty each row of the kernel found carries. With D, d of the nominal kernel,
 * v_P = R_P^pi + gamma P^pi v_P of the one found, and rewards e on landing (model/landing.h),
 *
 *     D^-1 v_P = R^pi + (P^pi - Phat^pi) (gamma v_P + e),   so that
 *     J - J_P = mu . v - mu . v_P = d . (Phat^pi - P^pi) (gamma v_P + e),
 *
 * a sum over rows. Rows of Phat - P sum to zero, so the mean of v_P over the visits d is taken away first: nothing is
 * lost to cancellation, nor to huge values where nobody goes. For the kernel of a difference of two policies, the terms of
 * the second are taken from those of the first: both are sums over the same rows.
 */
#include "robust/evaluation.h"

#include "linalg/vector.h"
#include "model/kernel.h"
#include "model/landing.h"

#include <math.h>
#include <stdlib.h>

/* What a successor loses or gains. */
typedef struct change {
    double size;
    int64_t successor;
} change;

typedef struct explanation {
    nadir_context *context;
    const nadir_worst *worst;
    double *cost;          /* [states] gamma (v_P less its mean over d) */
    double *other_cost;    /* of the second policy of a difference; NULL: there is none */
    double other;          /* the penalty of the row at hand, with that, but for the weight */
    nadir_damage *damages; /* [changed], in the order of rows */
    int64_t changed;
    nadir_explicit rows; /* of the kernel found, unless it is of rank one */
    change *parts[2];    /* [states] of a row: what its successors lose, and what they gain */
} explanation;

/* Moves below this share of the mass that a row moves are not counted: the search tells no more. */
#define LEAST_MOVE 1e-3

/* Rows that move less than this share of what the row that moves most does, and do as little damage, moved by rounding. */
#define LEAST_ROW 1e-12

/* v_P, where the search did not keep it: through the factors of the nominal system. */
static nadir_status solve(const explanation *self, const nadir_policy *policy, double *v)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    nadir_model *model = self->worst->model;
    nadir_kernel *nominal = NULL;
    nadir_occupancy *base = NULL;
    nadir_occupancy *perturbed = NULL;
    double *R = NULL;
    NADIR_NEW(context, R, model->states);
    const nadir_kernel *found = self->worst->evaluation.candidate.kernel;
    nadir_kernel_rewards(context, found, policy, 1, R);
    NADIR_CHECK(nadir_kernel_create(context, model, &nominal));
    NADIR_CHECK(nadir_occupancy_create(context, nominal, policy, model->discount, NULL, 0, &base));
    NADIR_CHECK(nadir_occupancy_perturb(context, base, found, policy, &perturbed));
    NADIR_CHECK(nadir_occupancy_solve(context, perturbed, 1, R, v, NULL));
cleanup:
    nadir_occupancy_free(context, perturbed);
    nadir_occupancy_free(context, base);
    nadir_kernel_free(nominal);
    nadir_release(context, R);
    return status;
}

/* v becomes gamma (v less its mean over d). */
static void center(const nadir_model *model, const double *d, double *v)
{
    double ignored;
    const double visits = nadir_vector_sum(model->states, d);
    const double mean = nadir_vector_dot(model->states, d, v, &ignored) / visits;
    for (int64_t s = 0; s < model->states; s++) {
        v[s] = model->discount * (v[s] - mean);
    }
}

static nadir_status make_costs(explanation *self)
{
    nadir_status status = NADIR_OK;
    const nadir_worst *worst = self->worst;
    const int64_t n = worst->model->states;
    const double *kept = worst->evaluation.candidate.v;
    NADIR_NEW(self->context, self->cost, n);
    if (kept == NULL) {
        NADIR_CHECK(solve(self, worst->policy, self->cost));
    } else {
        for (int64_t s = 0; s < n; s++) {
            self->cost[s] = worst->optimistic ? -kept[s] : kept[s];
        }
    }
    center(worst->model, worst->d, self->cost);
    if (worst->other != NULL) {
        NADIR_NEW(self->context, self->other_cost, n);
        NADIR_CHECK(solve(self, worst->other, self->other_cost));
        center(worst->model, worst->other_d, self->other_cost);
    }
cleanup:
    return status;
}

static const nadir_damage no_change = {.from = -1, .to = -1, .assumed_to = -1, .assumed_reward = NAN};

/* One more successor of a row, what it costs, what it had and what it gained. */
static void add_change(nadir_damage *damage, double cost, int64_t successor, double before, double gained)
{
    damage->mass += fabs(gained) / 2;
    damage->penalty -= gained * cost;
    if (gained > damage->gained) {
        damage->gained = gained;
        damage->to = successor;
        damage->is_new = before == 0;
    }
    if (-gained > damage->lost) {
        damage->lost = -gained;
        damage->from = successor;
    }
}

/* A row merged with the nominal one, successor by successor. A struct of zeros is before the first. */
typedef struct merged {
    int64_t i, j; /* of the next entries */
    int64_t successor;
    double before, value;
    bool nominal; /* the nominal row has an entry for it, the one before j */
} merged;

static bool next_successor(const nadir_row *row, const nadir_row *nominal, merged *at)
{
    if (at->i >= row->count && at->j >= nominal->count) {
        return false;
    }
    const int64_t column = at->i < row->count ? nadir_row_column(row, at->i) : INT64_MAX;
    const int64_t column_nominal = at->j < nominal->count ? nadir_row_column(nominal, at->j) : INT64_MAX;
    at->successor = column < column_nominal ? column : column_nominal;
    at->nominal = column_nominal == at->successor;
    at->value = column == at->successor ? row->values[at->i++] : 0;
    at->before = at->nominal ? nominal->values[at->j++] : 0;
    return true;
}

/* A successor that gains and has no reward of its own. */
static void add_assumed(const nadir_model *model, int64_t row, int64_t successor, double gained, double *most,
                        nadir_damage *damage)
{
    damage->assumed += gained;
    if (gained > *most) {
        *most = gained;
        damage->assumed_to = successor;
        damage->assumed_reward = nadir_landing_unseen(model, row, successor);
    }
}

/* The change of a row; the nominal one alone pays on landing. */
static void add_changes(explanation *self, int64_t index, const nadir_row *row, nadir_damage *damage)
{
    const nadir_model *model = self->worst->model;
    const nadir_row entries = nadir_model_row(model, index);
    const int64_t start = nadir_landing_entry(model, index);
    const bool lands = model->transition_rewards != NULL;
    const bool general = lands && nadir_landing_is_general(model);
    merged at = {0};
    double most = 0;
    while (next_successor(row, &entries, &at)) {
        const bool pays = general && at.nominal;
        const double e = pays ? nadir_landing_e(model, index, start + at.j - 1, at.successor) : 0;
        const bool given = lands && at.nominal && !isnan(model->transition_rewards[start + at.j - 1]);
        if (lands && !given && at.value > at.before) {
            add_assumed(model, index, at.successor, at.value - at.before, &most, damage);
        }
        if (at.value != at.before) {
            const double gained = at.value - at.before;
            add_change(damage, self->cost[at.successor] + e, at.successor, at.before, gained);
            self->other -= self->other_cost != NULL ? gained * (self->other_cost[at.successor] + e) : 0;
        }
    }
}

/* Keeps the row if it changed: `damage` has its mass, and its penalty but for the weight. */
static void keep(explanation *self, int64_t state, int64_t row, nadir_damage *damage)
{
    const nadir_worst *worst = self->worst;
    if (damage->mass == 0) {
        return;
    }
    damage->size = sizeof *damage;
    damage->moved = fmin(damage->lost, damage->gained);
    damage->state = state;
    damage->row = row;
    damage->action = nadir_model_row_action(worst->model, state, row);
    damage->penalty *= worst->d[state] * worst->policy->probabilities[row];
    if (worst->other != NULL) {
        damage->penalty -= self->other * worst->other_d[state] * worst->other->probabilities[row];
    }
    self->damages[self->changed++] = *damage;
}

static nadir_status look_at_rows(explanation *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->worst->model;
    NADIR_CHECK(nadir_explicit_make(self->context, self->worst->evaluation.candidate.kernel, &self->rows));
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row found = nadir_explicit_row(&self->rows, row);
            nadir_damage damage = no_change;
            self->other = 0;
            add_changes(self, row, &found, &damage);
            keep(self, s, row, &damage);
        }
        if (s % 64 == 0) {
            NADIR_CHECK(nadir_progress(self->context, "explaining", (double)s / (double)model->states));
        }
    }
cleanup:
    return status;
}

/* Whether the nominal row has this successor. */
static bool has_successor(const nadir_model *model, int64_t row, int64_t successor)
{
    const nadir_row entries = nadir_model_row(model, row);
    for (int64_t i = entries.columns == NULL ? successor : 0; i < entries.count; i++) {
        if (nadir_row_column(&entries, i) >= successor) {
            return nadir_row_column(&entries, i) == successor && entries.values[i] > 0;
        }
    }
    return false;
}

/* Kernels Phat - b k^T without rewards on landing: all rows change alike, so that no row is written out. */
static void look_at_rank_one(explanation *self, const double *b, const double *k)
{
    const nadir_model *model = self->worst->model;
    nadir_damage sides[2] = {no_change, no_change}; /* of b = 1 and b = -1 */
    for (int64_t t = 0; t < model->states; t++) {
        add_change(&sides[0], self->cost[t], t, 1, -k[t]);
        add_change(&sides[1], self->cost[t], t, 1, k[t]);
    }
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            nadir_damage damage = sides[b[row] < 0];
            const double size = fabs(b[row]);
            damage.mass *= size;
            damage.penalty *= size;
            damage.lost *= size;
            damage.gained *= size;
            damage.is_new = damage.to >= 0 && !has_successor(model, row, damage.to);
            keep(self, s, row, &damage);
        }
    }
}

/* Leaves out rows that moved by rounding alone. */
static void drop_rounding(explanation *self)
{
    double mass = 0;
    double penalty = 0;
    for (int64_t i = 0; i < self->changed; i++) {
        mass = fmax(mass, self->damages[i].mass);
        penalty = fmax(penalty, fabs(self->damages[i].penalty));
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < self->changed; i++) {
        const nadir_damage *damage = &self->damages[i];
        if (damage->mass > LEAST_ROW * mass || fabs(damage->penalty) > LEAST_ROW * penalty) {
            self->damages[kept++] = *damage;
        }
    }
    self->changed = kept;
}

/* The sum of all terms, which rounding does not spoil. */
static double sum_of(const explanation *self)
{
    double sum = 0;
    double lost = 0;
    for (int64_t i = 0; i < self->changed; i++) {
        const double next = sum + self->damages[i].penalty;
        const double part = next - sum;
        lost += (sum - (next - part)) + (self->damages[i].penalty - part);
        sum = next;
    }
    return sum + lost;
}

/* The terms add up to the penalty that was reported: what both are off by, in rounding, is put on the largest. Where that
 * leaves next to nothing of it, its own rounding is large beside the others: then again. */
static void settle(explanation *self, double penalty)
{
    enum { TIMES = 4 };
    for (int i = 0; i < TIMES; i++) {
        const double off = penalty - sum_of(self);
        int64_t largest = 0;
        for (int64_t j = 0; j < self->changed; j++) {
            largest = fabs(self->damages[j].penalty) > fabs(self->damages[largest].penalty) ? j : largest;
        }
        self->damages[largest].penalty += off;
    }
}

/* The shares; returns the penalty. */
static double share_out(explanation *self)
{
    double sum = 0;
    if (self->worst->result.size != 0 && self->changed > 0) {
        sum = self->worst->result.penalty;
        settle(self, sum);
    } else {
        sum = sum_of(self);
    }
    for (int64_t i = 0; i < self->changed; i++) {
        self->damages[i].share = sum != 0 ? self->damages[i].penalty / sum : 0;
    }
    return sum;
}

static int compare(const void *first, const void *second)
{
    const nadir_damage *a = first;
    const nadir_damage *b = second;
    if (a->share != b->share) {
        return a->share > b->share ? -1 : 1;
    }
    return a->row < b->row ? -1 : 1;
}

/* ------------------------------------------------------------------------------------------- moves
 *
 * A row's change is a transport: successors that lose, in the order of what they lose, hand it to those that gain, in the
 * order of what they gain. The first move, min(lost, gained) from the one that loses most to the one that gains most, is the
 * largest.
 */

static int compare_parts(const void *first, const void *second)
{
    const change *a = first;
    const change *b = second;
    if (a->size != b->size) {
        return a->size > b->size ? -1 : 1;
    }
    return (a->successor > b->successor) - (a->successor < b->successor);
}

/* Moves of parts in order that are at least so large; uses the parts up. */
static int64_t count_moves(change *parts[2], const int64_t count[2], double least)
{
    int64_t at[2] = {0, 0};
    int64_t moves = 0;
    for (int side = 0; side < 2; side++) {
        qsort(parts[side], (size_t)count[side], sizeof *parts[side], compare_parts);
    }
    while (at[0] < count[0] && at[1] < count[1]) {
        change *from = &parts[0][at[0]];
        change *to = &parts[1][at[1]];
        const double size = fmin(from->size, to->size);
        moves += size >= least;
        from->size -= size;
        to->size -= size;
        at[0] += from->size <= 0;
        at[1] += to->size <= 0;
    }
    return moves;
}

static void add_part(const explanation *self, int64_t count[2], int64_t successor, double gained)
{
    if (gained != 0) {
        const int side = gained > 0;
        self->parts[side][count[side]++] = (change){fabs(gained), successor};
    }
}

/* The moves of a row whose penalty and mass are known. k: of a kernel of rank one; NULL: rows are written out. */
static void find_moves(explanation *self, const double *k, nadir_damage *damage)
{
    const nadir_model *model = self->worst->model;
    int64_t count[2] = {0, 0};
    double mass = damage->mass;
    if (k != NULL) { /* all rows move alike, some the other way round */
        mass = 0;
        for (int64_t t = 0; t < model->states; t++) {
            add_part(self, count, t, k[t]);
            mass += fabs(k[t]) / 2;
        }
    } else {
        const nadir_row row = nadir_explicit_row(&self->rows, damage->row);
        const nadir_row entries = nadir_model_row(model, damage->row);
        merged at = {0};
        while (next_successor(&row, &entries, &at)) {
            add_part(self, count, at.successor, at.value - at.before);
        }
    }
    change *parts[2] = {self->parts[0], self->parts[1]};
    damage->moves = count_moves(parts, count, LEAST_MOVE * mass);
}

nadir_status nadir_worst_explain(nadir_context *context, const nadir_worst *worst, int64_t count,
                                 nadir_damage *damages, int64_t *found, int64_t *changed, double *penalty)
{
    nadir_status status = NADIR_OK;
    explanation run = {.context = context, .worst = worst};
    const double *b = NULL;
    const double *k = NULL;
    NADIR_CHECK(nadir_model_check_one_process(context, worst->model, "explanations"));
    NADIR_CHECK(make_costs(&run));
    NADIR_NEW(context, run.damages, worst->model->rows);
    if (!nadir_kernel_rank_one(worst->evaluation.candidate.kernel, &b, &k) ||
        (b != NULL && (worst->other != NULL || nadir_landing_is_general(worst->model)))) {
        k = NULL;
        NADIR_CHECK(look_at_rows(&run));
    } else if (b != NULL) {
        look_at_rank_one(&run, b, k);
    }
    drop_rounding(&run);
    *penalty = share_out(&run);
    qsort(run.damages, (size_t)run.changed, sizeof *run.damages, compare);
    *changed = run.changed;
    *found = count < run.changed ? count : run.changed;
    NADIR_NEW(context, run.parts[0], worst->model->states);
    NADIR_NEW(context, run.parts[1], worst->model->states);
    for (int64_t i = 0; i < *found; i++) {
        find_moves(&run, k, &run.damages[i]);
        if (!nadir_result_copy(&damages[i], &run.damages[i], sizeof *run.damages)) {
            status =
                nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of damage %lld is not set", (long long)i);
            goto cleanup;
        }
    }
cleanup:
    nadir_explicit_clear(context, &run.rows);
    NADIR_RELEASE(context, run.damages, run.cost, run.other_cost, run.parts[0], run.parts[1]);
    return status;
}

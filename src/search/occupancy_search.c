/*
 * occupancy_search.c: boxes of occupancies, narrowed state by state; see occupancy_search.h.
 */
#include "search/occupancy_search.h"

#include "linalg/vector.h"
#include "search/second_order_search.h"
#include "search/two_sided_search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 100, LIMIT = 60, BOXES = 20000 };
/* Accuracy of an end, as a share of the range: at first, and by what it falls to what at least, where rounds gain little. By
 * trial on FrozenLake, RiverSwim and machine replacement: the finer ones take up to four times as long at the start. */
#define COARSE     0.1
#define FINER      0.2
#define FINEST     4e-3
#define LEAST_LOW  1e-3 /* of the high end, where the low one is 0: for splits */
#define ZETA_LEAST 1e-20
#define NARROWEST  1e-8 /* relative width of a range that is left alone */
#define ROOM       0.1  /* below the level of P*, as a share of what it is above the one that is wanted */
#define LITTLE                                                                                               \
    0.05 /* of what all ends promise: so much is left for later. A forest of 50 states takes a fifth of the time */
#define EXPECTED   4    /* times the mean width that the gap stands for: of a range that was never narrowed */
#define WORTH      0.7  /* of the gap: a round that leaves more gained little */
#define STUCK      0.9  /* of the gap left by a split: the next one is of the other kind */
#define NEAR_FINER 0.02 /* of the penalty: a brief search has finer ends where the gap is no more */

/* A box of occupancies, with the steps that were taken in it. */
typedef struct box {
    double *low;   /* [4 * states] owned: low, high and least (occupancy_bounds.h) */
    double *steps; /* [count] owned */
    int64_t count;
    double lower;   /* at most J_P in it */
    int64_t state;  /* it is split at this state, or -1 */
    bool by_part;   /* at its part of the ball */
    bool from_part; /* it is one half of such a split */
    double at;
    int64_t below, above; /* the parts: places in the list */
    bool is_above;        /* it is the upper part of a box */
    bool open;            /* it was not entered yet */
} box;

typedef struct search {
    nadir_context *context;
    nadir_derivation *derivation; /* of the box at hand: the true one, or `trial` */
    const nadir_occupancy_effort *effort;
    double wanted;
    nadir_two_sided_search dual;
    double *
        multipliers; /* [(2 states + 1) * (states + NADIR_MULTIPLIERS)] of returns, and of both ends of every state */
    double *values;  /* [(2 states + 1) * states] v of each */
    double *gaps;    /* [2 states + 1] of returns, when each was found */
    double accuracy; /* of ends */
    double gap;      /* level less what is known of returns */
    double known;    /* of other proofs: at most every return */
    /* The tree. Boxes are entered in any order, in a derivation that is thrown away; the steps that did are taken again
     * from the first box to the last in the true one. */
    nadir_derivation trial;
    nadir_certificate certificate; /* of `trial` */
    box *boxes;
    int64_t count;
    size_t capacity;
    double proving; /* seconds that steps took: they are taken again */
} search;

static void clear(search *self)
{
    nadir_two_sided_search_clear(self->context, &self->dual);
    nadir_release(self->context, self->multipliers);
    nadir_release(self->context, self->values);
    nadir_release(self->context, self->gaps);
    for (int64_t i = 0; i < self->count; i++) {
        nadir_release(self->context, self->boxes[i].low);
        nadir_release(self->context, self->boxes[i].steps);
    }
    nadir_release(self->context, self->boxes);
    nadir_derivation_clear(self->context, &self->trial);
    nadir_certificate_clear(self->context, &self->certificate);
}

/* x_s of the candidate: of the answer of the rows to its v and d. */
static nadir_status set_first(search *self, double *multipliers)
{
    nadir_status status = NADIR_OK;
    const nadir_derivation *derivation = self->derivation;
    const nadir_candidate *star = derivation->candidate;
    const nadir_problem *problem = derivation->problem;
    nadir_lmo_penalized lmo = {0};
    NADIR_CHECK(nadir_lmo_penalized_make(self->context, problem, derivation->beta, star->d, &lmo));
    NADIR_CHECK(nadir_lmo_penalized_solve(self->context, &lmo, star->tau, star->v));
    multipliers[NADIR_AT_TAU] = star->tau;
    multipliers[NADIR_AT_ZETA] = 1;
    for (int64_t s = 0; s < problem->states; s++) {
        multipliers[NADIR_MULTIPLIERS + s] = star->tau * nadir_power(lmo.norms[s], problem->uncertainty->p);
    }
cleanup:
    nadir_lmo_penalized_clear(self->context, &lmo);
    return status;
}

static nadir_status make(search *self)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->derivation->problem;
    const int64_t n = problem->states;
    NADIR_NEW_ZERO(self->context, self->multipliers, (2 * n + 1) * (n + NADIR_MULTIPLIERS));
    NADIR_NEW_ZERO(self->context, self->values, (2 * n + 1) * n);
    NADIR_NEW_ZERO(self->context, self->gaps, 2 * n + 1);
    NADIR_CHECK(nadir_two_sided_search_make(self->context, problem, self->derivation->beta,
                                            &self->derivation->below, &self->dual));
    NADIR_CHECK(set_first(self, self->multipliers));
    memcpy(self->values, self->derivation->candidate->v, (size_t)n * sizeof *self->values);
    self->dual.level = self->derivation->level;
    self->dual.until = self->effort->until;
cleanup:
    return status;
}

/* What is known of the returns in the box. */
static double lower_of(const nadir_derivation *derivation)
{
    return derivation->below.empty ? derivation->level : fmin(derivation->box_lower, derivation->level);
}

static bool is_done(const search *self)
{
    return lower_of(self->derivation) >= self->wanted;
}

/* What the multipliers of a goal prove. */
static nadir_status prove(search *self, const nadir_two_sided_goal *goal, const double *multipliers,
                          const double *v)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->dual.problem->states;
    const double unit = 1 / fmax(1, multipliers[NADIR_AT_ZETA]); /* zeta <= 1 */
    double *scaled = NULL;
    const double begun = nadir_clock_seconds();
    NADIR_NEW(self->context, scaled, 2 * n);
    for (int64_t s = 0; s < n; s++) {
        scaled[s] = unit * multipliers[NADIR_MULTIPLIERS + s];
        scaled[n + s] = unit * v[s];
    }
    const nadir_two_sided by = {.t = goal->t,
                                .theta = unit * goal->theta,
                                .zeta = fmin(1, unit * multipliers[NADIR_AT_ZETA]),
                                .tau = unit * multipliers[NADIR_AT_TAU],
                                .k = scaled,
                                .v = scaled + n};
    NADIR_CHECK(nadir_derivation_narrow(self->context, self->derivation, &by, NAN));
    self->proving += nadir_clock_seconds() - begun;
cleanup:
    nadir_release(self->context, scaled);
    return status;
}

/* The bound on returns. */
static nadir_status bound_returns(search *self)
{
    const nadir_derivation *derivation = self->derivation;
    const double scale = derivation->problem->J - derivation->level;
    const nadir_two_sided_goal goal = {
        .accuracy = fmax(3e-3 * fmin(self->gap, scale), 1e-8 * scale), .enough = 0, .limit = LIMIT};
    double best;
    NADIR_TRY(
        nadir_two_sided_maximise(self->context, &self->dual, &goal, self->multipliers, self->values, &best));
    self->gap = fmax(-best, 1e-12 * scale);
    if (best == -INFINITY) {
        return NADIR_OK;
    }
    return prove(self, &goal, self->multipliers, self->values);
}

/* By how much more returns count for one end of a range than when it was last narrowed: for small gaps ranges are as their
 * roots, and the best zeta is as range / gap. */
static double growth_of(const search *self, int64_t place, int64_t t, double zeta)
{
    const nadir_derivation *derivation = self->derivation;
    const double range = derivation->below.high[t] - derivation->below.low[t];
    const double d = derivation->candidate->d[t];
    if (zeta > 0) {
        const double ratio = self->gaps[place] / self->gap;
        return isfinite(ratio) ? (sqrt(ratio) - 1) * zeta : 0;
    }
    const double charge = self->multipliers[NADIR_AT_TAU] * self->dual.power;
    const double expected = d > 0 ? fmin(range, EXPECTED * d * sqrt(self->gap / charge)) : range;
    return fmin(fmax(0.5 * expected / self->gap, ZETA_LEAST), 1 / ZETA_LEAST);
}

/* Multipliers grow by those of the bound on returns, times `zeta`. */
static void grow(const search *self, double zeta, double *multipliers, double *v)
{
    const int64_t n = self->dual.problem->states;
    for (int64_t j = 0; j < n + NADIR_MULTIPLIERS; j++) {
        const double sum = multipliers[j] + zeta * self->multipliers[j];
        multipliers[j] = sum > 0 ? sum : j < NADIR_MULTIPLIERS ? multipliers[j] : 0;
    }
    for (int64_t s = 0; s < n; s++) {
        v[s] += zeta * self->values[s];
    }
}

/* One end of the range of a state: +1 the low one, -1 the high one. */
static nadir_status narrow(search *self, int64_t t, double theta)
{
    const nadir_occupancy_bounds *below = &self->derivation->below;
    const int64_t n = self->dual.problem->states;
    const int64_t place = 1 + 2 * t + (theta > 0);
    double *multipliers = self->multipliers + place * (n + NADIR_MULTIPLIERS);
    double *v = self->values + place * n;
    const nadir_two_sided_goal goal = {.t = t,
                                       .theta = theta,
                                       .accuracy = self->accuracy * (below->high[t] - below->low[t]),
                                       .enough = INFINITY,
                                       .limit = LIMIT};
    double best;
    if (!(below->high[t] > below->low[t] * (1 + NARROWEST))) {
        return NADIR_OK;
    }
    grow(self, growth_of(self, place, t, multipliers[NADIR_AT_ZETA]), multipliers, v);
    self->gaps[place] = self->gap;
    NADIR_TRY(nadir_two_sided_maximise(self->context, &self->dual, &goal, multipliers, v, &best));
    return best > -INFINITY ? prove(self, &goal, multipliers, v) : NADIR_OK;
}

static bool holds_star(const nadir_derivation *derivation)
{
    const nadir_occupancy_bounds *below = &derivation->below;
    bool holds = derivation->has_kkt && derivation->tabulated;
    for (int64_t s = 0; s < below->states; s++) {
        const double d = derivation->candidate->d[s];
        holds = holds && d >= below->low[s] && d <= below->high[s];
    }
    return holds;
}

static bool is_spent(const search *self)
{
    int64_t steps = self->derivation->certificate->steps_count;
    for (int64_t i = 0; i < self->count; i++) {
        steps += self->boxes[i].count;
    }
    return nadir_time_is_up(self->context) || steps >= NADIR_STEPS_MOST / 4 ||
           self->dual.solves >= self->effort->solves ||
           nadir_clock_seconds() + self->proving >= self->effort->until;
}

/* Tells by how much the bounds are apart, as a share of the penalty, and how far they have come to what is wanted. */
static nadir_status tell_gap(search *self, double lower)
{
    const double J = self->derivation->problem->J;
    const double level = self->derivation->level;
    char text[64];
    for (int64_t i = 0; i < self->count; i++) { /* boxes that are to come, or were split */
        lower = self->boxes[i].open ? fmin(lower, self->boxes[i].lower) : lower;
    }
    const double gap = (level - fmax(lower, self->known)) / (J - level);
    const double wanted = (level - self->wanted) / (J - level);
    (void)snprintf(text, sizeof text, "proof: gap %.3g %% of the penalty", 100 * fmax(gap, wanted));
    nadir_progress_news(self->context, text, fmin(fmax(log(gap) / log(wanted), 0), 1));
    return nadir_progress(self->context, text, -1);
}

/* An end of a range, and what the bound on returns may gain by moving it. */
typedef struct range_end {
    int64_t at; /* state of a low end; state + states of a high one */
    double gain;
} range_end;

static int compare_ends(const void *a, const void *b)
{
    const range_end *x = a;
    const range_end *y = b;
    return x->gain > y->gain ? -1 : x->gain < y->gain ? 1 : (x->at > y->at) - (x->at < y->at);
}

/* Ends of ranges in the order of what they promise; unless `all`, without those that promise little together. */
static nadir_status narrow_ends(search *self, bool all)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->dual.problem->states;
    double *gains = NULL;
    range_end *ends = NULL;
    double left = 0;
    NADIR_NEW(self->context, gains, 2 * n);
    NADIR_NEW(self->context, ends, 2 * n);
    nadir_two_sided_gains(&self->dual, self->multipliers, self->derivation->candidate->d, gains);
    for (int64_t i = 0; i < 2 * n; i++) {
        ends[i] = (range_end){i, gains[i]};
        left += gains[i];
    }
    qsort(ends, (size_t)(2 * n), sizeof *ends, compare_ends);
    const double little = all ? -INFINITY : LITTLE * left;
    for (int64_t i = 0; i < 2 * n && left > little && !is_spent(self) && !is_done(self); i++) {
        left -= ends[i].gain;
        NADIR_CHECK(tell_gap(self, lower_of(self->derivation)));
        NADIR_CHECK(narrow(self, ends[i].at % n, ends[i].at < n ? 1 : -1));
    }
cleanup:
    nadir_release(self->context, gains);
    nadir_release(self->context, ends);
    return status;
}

static nadir_status run_round(search *self, bool all)
{
    nadir_derivation *derivation = self->derivation;
    NADIR_TRY(narrow_ends(self, all));
    if (!is_done(self)) {
        NADIR_TRY(bound_returns(self));
    }
    if (!is_done(self) && holds_star(derivation)) {
        const double begun = nadir_clock_seconds();
        NADIR_TRY(nadir_second_order_continue(self->context, derivation));
        NADIR_TRY(derivation->below.empty ? NADIR_OK : nadir_derivation_box(self->context, derivation, NULL));
        self->proving += nadir_clock_seconds() - begun;
    }
    return NADIR_OK;
}

/* Rounds until they gain little: first with the ends that promise most, where that gains little with finer ones, and then with
 * all ends. */
static nadir_status narrow_box(search *self)
{
    const bool brief = self->effort->brief;
    const double penalty = self->derivation->problem->J - self->derivation->level;
    double thorough = COARSE; /* accuracy of rounds with all ends */
    bool all = false;
    self->accuracy = COARSE;
    NADIR_TRY(bound_returns(self));
    if (self->effort->near > 0 && !(self->gap <= self->effort->near * penalty)) {
        return NADIR_OK;
    }
    for (int i = 0; i < ROUNDS && !is_done(self) && !is_spent(self); i++) {
        const double before = self->gap;
        NADIR_TRY(run_round(self, all));
        const bool worth = self->gap <= WORTH * before;
        if (!worth && all) {
            if (thorough <= FINEST || (brief && self->gap > NEAR_FINER * penalty)) {
                break;
            }
            thorough *= FINER;
        }
        if (worth ? all : !all && self->accuracy > FINEST) {
            self->accuracy = worth ? COARSE : FINER * self->accuracy;
            all = false;
        } else if (!worth) {
            self->accuracy = thorough;
            all = true;
        }
    }
    return NADIR_OK;
}

/* ------------------------------------------------------------------------------------------- boxes */

/* A derivation like the true one, at the box that it has come to. */
static nadir_status make_trial(search *self)
{
    nadir_context *context = self->context;
    const nadir_derivation *from = self->derivation;
    nadir_derivation *trial = &self->trial;
    NADIR_TRY(nadir_derivation_make(context, from->problem, from->beta, from->candidate, &from->set,
                                    &self->certificate, trial));
    if (from->has_kkt) {
        NADIR_TRY(nadir_derivation_set_point(context, trial, from->certificate->point));
        NADIR_TRY(nadir_derivation_expand(context, trial));
        NADIR_TRY(nadir_derivation_tabulate(context, trial, false));
        NADIR_TRY(nadir_derivation_begin(context, trial, INFINITY));
        NADIR_TRY(from->weighted ? nadir_derivation_use_weights(context, trial) : NADIR_OK);
    }
    NADIR_TRY(nadir_derivation_set_level(context, trial, from->level));
    trial->split = true;
    return NADIR_OK;
}

/* The parts of a box, from its bounds and what is known of it. */
static nadir_status add_box(search *self, const nadir_occupancy_bounds *from, double lower, bool is_above)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->dual.problem->states;
    NADIR_RESERVE(self->context, self->boxes, self->count + 1, self->capacity);
    box *made = &self->boxes[self->count];
    *made = (box){.lower = lower, .state = -1, .is_above = is_above, .open = self->count > 0};
    NADIR_NEW(self->context, made->low, 4 * n);
    memcpy(made->low, from->low, (size_t)n * sizeof *made->low);
    memcpy(made->low + n, from->high, (size_t)n * sizeof *made->low);
    memcpy(made->low + 2 * n, from->least, (size_t)(2 * n) * sizeof *made->low);
    self->count++;
cleanup:
    return status;
}

/* Between the occupancy of P*, if that is inside, and the farther end; else in the middle, by ratios. */
static double split_at(const nadir_derivation *derivation, int64_t s)
{
    const double high = derivation->below.high[s];
    const double low = fmax(derivation->below.low[s], LEAST_LOW * high);
    const double d = derivation->candidate->d[s];
    if (d > low && d < high) {
        return d * d > low * high ? sqrt(low * d) : sqrt(d * high);
    }
    return sqrt(low * high);
}

/* Splits the box that was narrowed last, at an occupancy or, if that is to come first, at a part of the ball. */
static nadir_status split(search *self, int64_t which, bool part_first)
{
    const nadir_occupancy_bounds *below = &self->derivation->below;
    const int64_t n = below->states;
    double cost;
    double part_at;
    int64_t state = 0;
    int64_t part = 0;
    NADIR_TRY(
        nadir_two_sided_widest(self->context, &self->dual, self->multipliers, self->values, &state, &cost));
    NADIR_TRY(nadir_two_sided_dearest(self->context, &self->dual, below->least, &part, &part_at));
    const double at = split_at(self->derivation, state);
    const bool inside = at > below->low[state] && at < below->high[state];
    const bool by_part = part_at > 0 && (!inside || part_first);
    if (!by_part && !inside) {
        return NADIR_OK;
    }
    for (int above = 0; above < 2; above++) {
        NADIR_TRY(add_box(self, below, lower_of(self->derivation), above == 1));
        double *ends = self->boxes[self->count - 1].low;
        self->boxes[self->count - 1].from_part = by_part;
        if (by_part) {
            nadir_derivation_part(self->derivation, part, part_at, above == 1, ends + 2 * n);
        } else {
            ends[above == 1 ? state : n + state] = at;
        }
    }
    self->boxes[which].state = by_part ? part : state;
    self->boxes[which].by_part = by_part;
    self->boxes[which].at = by_part ? part_at : at;
    self->boxes[which].below = self->count - 2;
    self->boxes[which].above = self->count - 1;
    return NADIR_OK;
}

/* Enters a box and narrows it; keeps the steps. */
static nadir_status run_box(search *self, int64_t which)
{
    nadir_status status = NADIR_OK;
    nadir_derivation *trial = &self->trial;
    const int64_t n = trial->problem->states;
    box *at = &self->boxes[which];
    const double before = trial->level - at->lower;
    at->open = false;
    memcpy(trial->below.low, at->low, (size_t)n * sizeof *at->low);
    memcpy(trial->below.high, at->low + n, (size_t)n * sizeof *at->low);
    memcpy(trial->below.least, at->low + 2 * n, (size_t)(2 * n) * sizeof *at->low);
    trial->below.empty = false;
    trial->box_lower = at->lower;
    trial->radius = trial->has_kkt ? nadir_kkt_diameter(&trial->star.kkt) : INFINITY;
    trial->lift = INFINITY;
    trial->kappa = INFINITY;
    trial->measured = false;
    nadir_kappa_matrix_clear(self->context, &trial->matrix);
    self->certificate.steps_count = 0;
    self->gap = INFINITY;
    NADIR_CHECK(narrow_box(self));
    NADIR_NEW(self->context, at->steps, self->certificate.steps_count);
    at->count = self->certificate.steps_count;
    memcpy(at->steps, self->certificate.steps, (size_t)at->count * sizeof *at->steps);
    at->lower = lower_of(trial);
    if (!is_done(self)) {
        NADIR_CHECK(split(self, which, at->from_part != (trial->level - at->lower > STUCK * before)));
    }
cleanup:
    return status;
}

/* The open box of which least is known; -1: there is none below what is wanted. */
static int64_t next_box(const search *self)
{
    int64_t least = -1;
    for (int64_t i = 0; i < self->count; i++) {
        const box *at = &self->boxes[i];
        if (at->open && at->lower < self->wanted && (least < 0 || at->lower < self->boxes[least].lower)) {
            least = i;
        }
    }
    return least;
}

/* All steps, from the first box to the last. */
static nadir_status replay(search *self, nadir_derivation *derivation)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    double *list = NULL;
    int64_t *stack = NULL;
    int64_t count = 0;
    int64_t height = 0;
    int64_t most = 1;
    for (int64_t i = 0; i < self->count; i++) {
        most += self->boxes[i].count + 4;
    }
    NADIR_NEW(context, list, most);
    NADIR_NEW(context, stack, self->count + 1);
    stack[height++] = 0;
    while (height > 0) {
        const box *at = &self->boxes[stack[--height]];
        if (at->is_above) {
            list[count++] = NADIR_STEP_NEXT;
        }
        if (at->count > 0) {
            memcpy(list + count, at->steps, (size_t)at->count * sizeof *list);
            count += at->count;
        }
        if (at->state >= 0) {
            list[count++] = at->by_part ? NADIR_STEP_DIVIDE : NADIR_STEP_SPLIT;
            list[count++] = (double)at->state;
            list[count++] = at->at;
            stack[height++] = at->above;
            stack[height++] = at->below;
        }
    }
    list[count++] = NADIR_STEP_NEXT;
    NADIR_CHECK(nadir_derivation_replay(context, derivation, count, list));
cleanup:
    nadir_release(context, list);
    nadir_release(context, stack);
    return status;
}

/* Best first. */
static nadir_status run_tree(search *self)
{
    nadir_derivation *derivation = self->derivation;
    NADIR_TRY(nadir_occupancy_bounds_share(self->context, derivation->beta, &derivation->below));
    NADIR_TRY(add_box(self, &derivation->below, lower_of(derivation), false));
    NADIR_TRY(make_trial(self));
    NADIR_TRY(nadir_occupancy_bounds_share(self->context, derivation->beta, &self->trial.below));
    NADIR_TRY(split(self, 0, false));
    if (self->count == 1) {
        return NADIR_OK;
    }
    self->dual.box = &self->trial.below;
    self->derivation = &self->trial;
    self->proving = 0;
    for (int64_t which = next_box(self); which >= 0 && self->count < BOXES && !is_spent(self);
         which = next_box(self)) {
        NADIR_TRY(run_box(self, which));
    }
    self->derivation = derivation;
    return replay(self, derivation);
}

/* That of P*, less some room, so that others can take the same number; or without P*, where that is too low. */
static nadir_status set_level(nadir_context *context, nadir_derivation *derivation, double wanted)
{
    if (derivation->begun && !(derivation->level > wanted)) {
        NADIR_TRY(nadir_derivation_forget(context, derivation));
    }
    const double J = derivation->candidate->J;
    return nadir_derivation_set_level(context, derivation,
                                      derivation->begun
                                          ? derivation->level - ROOM * (derivation->level - wanted)
                                          : fmin(0.5 * (wanted + J), J));
}

nadir_status nadir_occupancy_search(nadir_context *context, nadir_derivation *derivation, double wanted,
                                    nadir_occupancy_effort *effort)
{
    nadir_status status = NADIR_OK;
    search self = {.context = context,
                   .derivation = derivation,
                   .effort = effort,
                   .wanted = wanted,
                   .gap = INFINITY,
                   .known = derivation->certificate->lower};
    effort->solved = 0;
    effort->spent = false;
    NADIR_TRY(set_level(context, derivation, wanted));
    NADIR_TRY(nadir_derivation_box(context, derivation, NULL));
    NADIR_CHECK(make(&self));
    NADIR_CHECK(narrow_box(&self));
    if (derivation->below.empty) {
        NADIR_CHECK(nadir_derivation_conclude(context, derivation));
    } else if (!is_done(&self) && !is_spent(&self) && effort->tree) {
        NADIR_CHECK(run_tree(&self));
    }
    effort->solved = self.dual.solves;
    effort->spent = derivation->certificate->lower < wanted && is_spent(&self);
cleanup:
    nadir_progress_news(context, NULL, 0);
    clear(&self);
    return status;
}

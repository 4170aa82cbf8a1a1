/* trap.c: the cheapest kernel that never ends; see trap.h. */
#include "proof/trap.h"

#include "core/round.h"
#include "linalg/formulas.h"
#include "linalg/vector.h"
#include "model/terminal.h"
#include "proof/perturbable_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Work of as many peelings as there are states: beyond it there is one. */
#define SPLIT_MOST 1e5
/* On domain simplex all costs change with every state that is taken out: beyond this work they are found again only when
 * C has lost this share of its states. Others are too low then, and states may leave in a worse order. */
#define FRESH_MOST 1e6
#define STALE      0.125
/* Sums that have fallen below this share are made anew. */
#define FALLEN 1e-3

/* A row of positive probability under the policy. */
typedef struct trap_row {
    int64_t row, state;
    double alpha;
    double outside; /* p-norm of Phat outside C */
    double m;
    double off;    /* 1 less what Phat has in C is m up to this: rows sum to one up to rounding */
    double inside; /* successors in C, of domain support */
} trap_row;

typedef struct peeling {
    const nadir_problem *problem;
    double p;
    bool support, by_row;  /* a state costs what its dearest row does */
    bool whole;            /* the non-rectangular ball */
    int64_t rows, count;   /* states where C is all states that do not end */
    trap_row *first;       /* [rows] there */
    trap_row *now;         /* [rows] */
    int64_t *of_state;     /* [states + 1] first row of each */
    int64_t *to_state;     /* [states + 1] first of the entries that lead there: */
    int64_t *from;         /* [entries] row, an index into first */
    double *with;          /* [entries] probability */
    bool *start;           /* [states] that C */
    bool *inside;          /* [states] C */
    bool *cheapest;        /* [states] the set of the smallest sum, or largest cost */
    double *cost;          /* [states] as radii, at most */
    int64_t *heap, *place; /* [count] C, and where the dearest come first; [states] where states are in it */
    int64_t left;          /* states in C */
    int64_t *order;        /* [count] states as they were taken out */
    int64_t half;          /* costs of all other states count with `twice`; -1: no state is special */
    double twice;
    double unit, sum,
        whole_sum; /* sum of (cost / unit)^p of C but for the dear; what it was when it was made */
    int64_t dear;  /* whose share is above the number of states: worse than a set met before */
    double roundings;
} peeling;

/* (a^p + b^p)^(1/p) of numbers >= 0, none of whose powers need be numbers: 8 roundings. */
static double join(double p, double a, double b)
{
    const double most = fmax(a, b);
    const double least = fmin(a, b);
    return least == 0 || isinf(most) || isinf(p)
               ? most
               : most * nadir_power(1 + nadir_power(least / most, p), 1 / p);
}

/* Takes a successor out of C. */
static void leave(const peeling *self, trap_row *row, double probability)
{
    row->inside -= 1;
    row->m += probability;
    row->outside = join(self->p, row->outside, probability);
}

/* moved: m, at most or at least. */
static double cost_of(const peeling *self, const trap_row *row, double moved)
{
    const double inside = self->support ? row->inside : (double)self->left;
    if (row->m == 0) {
        return 0;
    }
    if (!(inside > 0) || row->alpha == 0) {
        return INFINITY;
    }
    const double share = self->p == 2 ? 1 / sqrt(inside) : pow(inside, 1 / self->p - 1);
    return join(self->p, row->outside, moved * share) / row->alpha;
}

double nadir_trap_row_off(const nadir_row *row)
{
    return fabs(1 - nadir_vector_sum(row->count, row->values)) + nadir_round_error(4);
}

/* of_state, to_state, from and with. */
static nadir_status list_entries(nadir_context *context, peeling *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    const nadir_model *model = self->problem->model;
    NADIR_NEW_ZERO(context, self->of_state, 2 * n + 4);
    self->to_state = self->of_state + n + 1;
    for (int64_t i = 0; i < self->rows; i++) {
        const nadir_row entries = nadir_model_row(model, self->first[i].row);
        self->of_state[self->first[i].state + 1] = i + 1;
        for (int64_t j = 0; j < entries.count; j++) {
            self->to_state[nadir_row_column(&entries, j) + 2] += entries.values[j] > 0;
        }
    }
    for (int64_t s = 0; s < n; s++) { /* states without rows end where those before them do */
        self->of_state[s + 1] =
            self->of_state[s + 1] > self->of_state[s] ? self->of_state[s + 1] : self->of_state[s];
        self->to_state[s + 2] += self->to_state[s + 1];
    }
    NADIR_NEW(context, self->from, self->to_state[n + 1]);
    NADIR_NEW(context, self->with, self->to_state[n + 1]);
    for (int64_t i = 0; i < self->rows; i++) {
        const nadir_row entries = nadir_model_row(model, self->first[i].row);
        for (int64_t j = 0; j < entries.count; j++) {
            if (entries.values[j] > 0) {
                const int64_t to = self->to_state[nadir_row_column(&entries, j) + 1]++;
                self->from[to] = i;
                self->with[to] = entries.values[j];
            }
        }
    }
cleanup:
    return status;
}

static nadir_status begin(nadir_context *context, const nadir_problem *problem, peeling *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    const int64_t n = problem->states;
    NADIR_NEW(context, self->first, 2 * problem->rows);
    NADIR_NEW(context, self->start, 3 * n);
    NADIR_NEW(context, self->cost, n);
    NADIR_NEW(context, self->heap, 3 * n);
    self->place = self->heap + n;
    self->order = self->heap + 2 * n;
    self->inside = self->start + n;
    self->cheapest = self->start + 2 * n;
    if (self->support) { /* no kernel goes where the nominal one does not */
        NADIR_CHECK(nadir_reachable_states(context, problem, self->inside));
    }
    for (int64_t s = 0; s < n; s++) {
        self->start[s] = !nadir_model_ends(model, s) && (!self->support || self->inside[s]);
        self->count += self->start[s];
    }
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = model->state_rows[s]; self->start[s] && row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            trap_row made = {.row = row,
                             .state = s,
                             .alpha = nadir_uncertainty_scale(problem->uncertainty, row),
                             .off = nadir_trap_row_off(&entries)};
            if (!(problem->policy->probabilities[row] > 0)) {
                continue;
            }
            for (int64_t i = 0; i < entries.count; i++) {
                made.inside += entries.values[i] > 0;
            }
            for (int64_t i = 0; i < entries.count; i++) {
                if (entries.values[i] > 0 && !self->start[nadir_row_column(&entries, i)]) {
                    leave(self, &made, entries.values[i]);
                }
            }
            self->roundings = fmax(self->roundings, (double)entries.count);
            self->first[self->rows++] = made;
        }
    }
    self->now = self->first + problem->rows;
    NADIR_CHECK(list_entries(context, self));
cleanup:
    return status;
}

/* most: of m as it may be, for sums that are proven. */
static double find_cost(const peeling *self, int64_t s, bool most)
{
    double all = 0;
    for (int64_t i = self->of_state[s]; self->inside[s] && i < self->of_state[s + 1]; i++) {
        const trap_row *row = &self->now[i];
        const double cost = cost_of(self, row, most ? row->m + row->off : fmax(row->m - row->off, 0));
        all = self->by_row ? fmax(all, cost) : join(self->p, all, cost);
    }
    return all;
}

/* -------------------------------------------------------------------------------- the dearest state first */

static double weight_of(const peeling *self, int64_t s)
{
    return self->cost[s] * (self->half >= 0 && s != self->half ? self->twice : 1);
}

static void put(peeling *self, int64_t place, int64_t s)
{
    self->heap[place] = s;
    self->place[s] = place;
}

static void rise(peeling *self, int64_t place)
{
    const int64_t s = self->heap[place];
    const double weight = weight_of(self, s);
    for (int64_t above = (place - 1) / 2; place > 0 && weight_of(self, self->heap[above]) < weight;
         above = (place - 1) / 2) {
        put(self, place, self->heap[above]);
        place = above;
    }
    put(self, place, s);
}

static void sink(peeling *self, int64_t place)
{
    const int64_t s = self->heap[place];
    const double weight = weight_of(self, s);
    for (int64_t below = 2 * place + 1; below < self->left; below = 2 * place + 1) {
        below += below + 1 < self->left &&
                 weight_of(self, self->heap[below + 1]) > weight_of(self, self->heap[below]);
        if (!(weight_of(self, self->heap[below]) > weight)) {
            break;
        }
        put(self, place, self->heap[below]);
        place = below;
    }
    put(self, place, s);
}

/* --------------------------------------------------------------------------------------- sums of costs */

/* Adds the share of a state to the sum, or with sign -1 takes it away. */
static void count_share(peeling *self, int64_t s, int sign)
{
    const double share = nadir_power(self->cost[s] / self->unit, self->p);
    if (share <= (double)self->count) {
        self->sum += sign * share;
    } else {
        self->dear += sign;
    }
}

static void make_sum(peeling *self)
{
    self->unit = self->cost[self->heap[0]];
    self->sum = 0;
    self->dear = 0;
    for (int64_t i = 0; i < self->left; i++) {
        count_share(self, self->heap[i], 1);
    }
    self->whole_sum = self->sum;
}

/* About the p-norm of the costs in C, or the largest. */
static double find_sum(peeling *self)
{
    const double most = weight_of(self, self->heap[0]);
    if (!self->whole || isinf(self->p) || isinf(most) || most == 0) {
        return most;
    }
    if (!(self->unit > 0) || self->sum < FALLEN * self->whole_sum) {
        make_sum(self);
    }
    return self->dear > 0 ? INFINITY : self->unit * nadir_power(fmax(self->sum, 0), 1 / self->p);
}

/* ------------------------------------------------------------------------------------------------ peeling */

/* C: all states that do not end. */
static void fill(peeling *self)
{
    memcpy(self->now, self->first, (size_t)self->rows * sizeof *self->now);
    memcpy(self->inside, self->start, (size_t)self->problem->states * sizeof *self->inside);
    self->left = self->count;
}

/* Costs of all states in C, which is a heap again. */
static void find_costs(peeling *self)
{
    for (int64_t i = 0; i < self->left; i++) {
        self->cost[self->heap[i]] = find_cost(self, self->heap[i], false);
    }
    for (int64_t i = self->left / 2 - 1; i >= 0; i--) {
        sink(self, i);
    }
    self->unit = 0;
}

/* The cost of a state in C, which never falls, after a change. */
static void raise_cost(peeling *self, int64_t s)
{
    const bool counts = self->unit > 0;
    if (counts) {
        count_share(self, s, -1);
    }
    self->cost[s] = fmax(self->cost[s], find_cost(self, s, false));
    if (counts) {
        count_share(self, s, 1);
    }
    rise(self, self->place[s]);
}

/* Takes a state out of C, and out of the rows that lead there. */
static void take_out(peeling *self, int64_t state)
{
    self->inside[state] = false;
    self->left--;
    for (int64_t e = self->to_state[state]; e < self->to_state[state + 1]; e++) {
        leave(self, &self->now[self->from[e]], self->with[e]);
    }
}

/* Takes the dearest state out, and finds the costs that change. */
static void peel_one(peeling *self, int64_t *fresh)
{
    const int64_t state = self->heap[0];
    if (self->unit > 0) {
        count_share(self, state, -1);
    }
    take_out(self, state);
    put(self, 0, self->heap[self->left]);
    if (self->left > 0) {
        sink(self, 0);
    }
    for (int64_t e = self->to_state[state]; e < self->to_state[state + 1]; e++) {
        const int64_t s = self->now[self->from[e]].state;
        if (self->inside[s]) {
            raise_cost(self, s);
        }
    }
    const bool small = (double)self->problem->rows * (double)self->count <= FRESH_MOST;
    if (!self->support && (small || (double)self->left < (1 - STALE) * (double)*fresh)) {
        find_costs(self);
        *fresh = self->left;
    }
}

/* What the states hold that were taken out as number `best` and later: a set where some kernel of this radius stays. */
static void offer(peeling *self, int64_t best, double *cheapest)
{
    double sum = 0;
    fill(self);
    for (int64_t i = 0; i < best; i++) {
        take_out(self, self->order[i]);
    }
    for (int64_t s = 0; s < self->problem->states; s++) {
        const double cost = find_cost(self, s, true);
        sum = self->whole ? join(self->p, sum, cost) : fmax(sum, cost);
    }
    if (sum < *cheapest) {
        *cheapest = sum;
        memcpy(self->cheapest, self->inside, (size_t)self->problem->states * sizeof *self->inside);
    }
}

/* *least: the least cost that a state had when it was taken out. No set C has but less dear states: the first of C to be
 * taken out cost at least as much in C alone. *cheapest falls to the smallest sum of the sets met. */
static nadir_status peel(nadir_context *context, peeling *self, int64_t half, double *least, double *cheapest)
{
    double smallest = INFINITY;
    int64_t best = -1;
    int64_t fresh = self->count;
    *least = INFINITY;
    self->half = half;
    fill(self);
    for (int64_t s = 0, i = 0; s < self->problem->states; s++) {
        if (self->inside[s]) {
            put(self, i++, s);
        }
    }
    find_costs(self);
    for (int64_t i = 0; i < self->count; i++) {
        const double sum = find_sum(self);
        best = sum < smallest ? i : best;
        smallest = fmin(smallest, sum);
        *least = fmin(*least, weight_of(self, self->heap[0]));
        self->order[i] = self->heap[0];
        peel_one(self, &fresh);
        NADIR_TRY(nadir_progress(context, "looking for kernels that never end", -1));
    }
    if (best >= 0) {
        offer(self, best, cheapest);
    }
    return NADIR_OK;
}

nadir_status nadir_trap_find(nadir_context *context, const nadir_problem *problem, nadir_trap *trap)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    const double n = (double)problem->states;
    peeling self = {.problem = problem,
                    .twice = isinf(set->p) ? 1 : nadir_power(2, 1 / set->p),
                    .p = set->p,
                    .support = set->domain == NADIR_DOMAIN_SUPPORT,
                    .by_row = set->set == NADIR_SET_SA,
                    .whole = set->set == NADIR_SET_NONRECT};
    double least;
    double cheapest = INFINITY;
    *trap = (nadir_trap){.low = NAN, .high = NAN};
    if (problem->gamma != 1 || set->domain == NADIR_DOMAIN_FREE || set->radii != NULL) {
        return NADIR_OK;
    }
    NADIR_CHECK(begin(context, problem, &self));
    NADIR_CHECK(peel(context, &self, -1, &least, &cheapest));
    /* on domain simplex every row changes with every state */
    const double each = self.support ? n * n + (double)problem->model->nonzeros : n * (double)problem->rows;
    if (self.whole && least < cheapest && n * each <= SPLIT_MOST) {
        double split = INFINITY;
        for (int64_t s = 0; s < problem->states; s++) {
            double own;
            if (self.start[s]) {
                NADIR_CHECK(peel(context, &self, s, &own, &cheapest));
                split = fmin(split, own);
            }
        }
        least = fmax(least, split);
    }
    if (self.whole && least < cheapest) {
        double cut;
        NADIR_CHECK(nadir_trap_cut(context, problem, self.start, least, cheapest, &cut));
        least = fmax(least, cut);
    }
    /* norms over the successors of a row, the rows of a state and states */
    const double roundings = 8 * (n + self.roundings + (double)problem->rows + 8);
    trap->low = nadir_round_down(least, roundings);
    /* the kernel that was found may not lie in a box, or in a ball with weights of entries */
    trap->high = set->lower != NULL || set->weights != NULL ? INFINITY : nadir_round_up(cheapest, roundings);
    if (isfinite(trap->high)) {
        (void)nadir_terminal_list(problem->model, self.cheapest, true, trap->states, sizeof trap->states);
    }
cleanup:
    NADIR_RELEASE(context, self.first, self.start, self.cost, self.heap, self.of_state, self.from, self.with);
    return status;
}

nadir_status nadir_trap_describe(nadir_context *context, const nadir_problem *problem, double factor,
                                 char *text, size_t size)
{
    const double radius = factor * problem->uncertainty->radius;
    nadir_trap trap;
    NADIR_TRY(nadir_trap_find(context, problem, &trap));
    if (trap.high <= radius) {
        (void)snprintf(text, size,
                       "the ball of radius %g holds a kernel that never leaves {%s} (distance %.4g)", radius,
                       trap.states, trap.high);
    } else {
        (void)snprintf(
            text, size,
            "no kernel of the ball of radius %g was found that never ends, and none is excluded: up "
            "to radius %.4g every kernel ends",
            radius, trap.low > 0 ? trap.low : 0);
    }
    return NADIR_OK;
}

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

/* Work of one peeling, and of as many as there are states: beyond it nobody looks. */
#define WORK_MOST  4e8
#define SPLIT_MOST 1e5

/* A row of positive probability under the policy. */
typedef struct trap_row {
    int64_t row, state;
    double alpha;
    double outside; /* p-norm of Phat outside C */
    double m;
    double off;    /* 1 less what Phat has in C is m up to this: rows sum to one up to rounding */
    double inside; /* allowed successors in C */
} trap_row;

typedef struct peeling {
    const nadir_problem *problem;
    double p;
    bool support, by_row; /* a state costs what its dearest row does */
    bool whole;           /* the non-rectangular ball */
    int64_t rows, left;   /* states in C */
    trap_row *first;      /* [rows] where C is all states that do not end */
    trap_row *now;        /* [rows] */
    int64_t *of_state;    /* [states + 1] first row of each */
    int64_t *to_state;    /* [states + 1] first of the entries that lead there: */
    int64_t *from;        /* [entries] row, an index into first */
    double *with;         /* [entries] probability */
    bool *start;          /* [states] that C */
    bool *inside;         /* [states] C */
    bool *cheapest;       /* [states] of the sets met that of the smallest sum, or largest cost */
    double *cost;         /* [states] as radii, at most */
    double *cost_most;    /* [states] and at least */
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
    row->inside -= !self->support || probability > 0;
    row->m += probability;
    row->outside = join(self->p, row->outside, probability);
}

/* moved: m, at most or at least. */
static double cost_of(const peeling *self, const trap_row *row, double moved)
{
    if (row->m == 0) {
        return 0;
    }
    if (!(row->inside > 0) || row->alpha == 0) {
        return INFINITY;
    }
    return join(self->p, row->outside, moved * pow(row->inside, 1 / self->p - 1)) / row->alpha;
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
    NADIR_NEW(context, self->cost, 2 * n);
    self->cost_most = self->cost + n;
    self->inside = self->start + n;
    self->cheapest = self->start + 2 * n;
    if (self->support) { /* no kernel goes where the nominal one does not */
        NADIR_CHECK(nadir_reachable_states(context, problem, self->inside));
    }
    for (int64_t s = 0; s < n; s++) {
        self->start[s] = !nadir_model_ends(model, s) && (!self->support || self->inside[s]);
    }
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = model->state_rows[s]; self->start[s] && row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            trap_row made = {.row = row,
                             .state = s,
                             .alpha = nadir_uncertainty_scale(problem->uncertainty, row),
                             .off = fabs(1 - nadir_vector_sum(entries.count, entries.values)) +
                                    nadir_round_error(4)};
            if (!(problem->policy->probabilities[row] > 0)) {
                continue;
            }
            made.inside = self->support ? 0 : (double)n;
            for (int64_t i = 0; self->support && i < entries.count; i++) {
                made.inside += entries.values[i] > 0;
            }
            for (int64_t t = 0, i = 0; t < n; t++) {
                const double probability = nadir_row_seek(&entries, t, &i) ? entries.values[i] : 0;
                if (!self->start[t]) {
                    leave(self, &made, probability);
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

static void find_cost(const peeling *self, int64_t s)
{
    double all = 0;
    double most = 0;
    for (int64_t i = self->of_state[s]; self->inside[s] && i < self->of_state[s + 1]; i++) {
        const trap_row *row = &self->now[i];
        const double cost = cost_of(self, row, fmax(row->m - row->off, 0));
        const double dear = cost_of(self, row, row->m + row->off);
        all = self->by_row ? fmax(all, cost) : join(self->p, all, cost);
        most = self->by_row ? fmax(most, dear) : join(self->p, most, dear);
    }
    self->cost[s] = all;
    self->cost_most[s] = most;
}

/* The dearest state in C; -1: C is empty. half: the powers of the costs of other states count twice; -1: none is special.
 * *sum: that of all costs, or something above `cheapest` where it is above it; of rectangular sets the largest. */
static int64_t weigh(const peeling *self, int64_t half, double cheapest, double *most, double *sum)
{
    const double twice = isinf(self->p) ? 1 : nadir_power(2, 1 / self->p);
    int64_t dearest = -1;
    *most = -INFINITY;
    *sum = 0;
    for (int64_t s = 0; s < self->problem->states; s++) {
        if (self->inside[s]) {
            const double weight = self->cost[s] * (half >= 0 && s != half ? twice : 1);
            *sum = fmax(*sum, self->cost_most[s]);
            dearest = weight > *most ? s : dearest;
            *most = fmax(*most, weight);
        }
    }
    if (self->whole && *sum < cheapest) {
        *sum = 0;
        for (int64_t s = 0; s < self->problem->states; s++) {
            *sum = join(self->p, *sum, self->inside[s] ? self->cost_most[s] : 0);
        }
    }
    return dearest;
}

/* Takes a state out of C. */
static void take_out(peeling *self, int64_t state)
{
    self->inside[state] = false;
    for (int64_t i = 0; !self->support && i < self->rows; i++) { /* all rows may lead there */
        self->now[i].inside--;
    }
    for (int64_t e = self->to_state[state]; e < self->to_state[state + 1]; e++) {
        trap_row *row = &self->now[self->from[e]];
        row->inside += !self->support;
        leave(self, row, self->with[e]);
    }
    for (int64_t e = self->to_state[state]; self->support && e < self->to_state[state + 1]; e++) {
        find_cost(self, self->now[self->from[e]].state);
    }
    for (int64_t s = 0; !self->support && s < self->problem->states; s++) {
        find_cost(self, s);
    }
}

/* The smallest largest cost and the smallest sum of the sets met. */
static nadir_status peel(nadir_context *context, peeling *self, int64_t half, double *least, double *cheapest)
{
    double most;
    double sum;
    *least = INFINITY;
    memcpy(self->now, self->first, (size_t)self->rows * sizeof *self->now);
    memcpy(self->inside, self->start, (size_t)self->problem->states * sizeof *self->inside);
    for (int64_t s = 0; s < self->problem->states; s++) {
        find_cost(self, s);
    }
    for (int64_t dearest = weigh(self, half, *cheapest, &most, &sum); dearest >= 0;
         dearest = weigh(self, half, *cheapest, &most, &sum)) {
        if (sum < *cheapest) {
            memcpy(self->cheapest, self->inside, (size_t)self->problem->states * sizeof *self->inside);
        }
        *least = fmin(*least, most);
        *cheapest = fmin(*cheapest, sum);
        take_out(self, dearest);
        NADIR_TRY(nadir_progress(context, "looking for kernels that never end", -1));
    }
    return NADIR_OK;
}

nadir_status nadir_trap_find(nadir_context *context, const nadir_problem *problem, nadir_trap *trap)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    const double n = (double)problem->states;
    const double work = n * (double)problem->rows * 8;
    peeling self = {.problem = problem,
                    .p = set->p,
                    .support = set->domain == NADIR_DOMAIN_SUPPORT,
                    .by_row = set->set == NADIR_SET_SA,
                    .whole = set->set == NADIR_SET_NONRECT};
    double least;
    double cheapest = INFINITY;
    *trap = (nadir_trap){.low = NAN, .high = NAN};
    if (problem->gamma != 1 || set->domain == NADIR_DOMAIN_FREE || set->radii != NULL || work > WORK_MOST) {
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
    /* norms over the successors of a row, the rows of a state and states */
    const double roundings = 8 * (n + self.roundings + (double)problem->rows + 8);
    trap->low = nadir_round_down(least, roundings);
    /* the kernel that was found may not lie in a box */
    trap->high = set->lower != NULL ? INFINITY : nadir_round_up(cheapest, roundings);
    if (isfinite(trap->high)) {
        (void)nadir_terminal_list(problem->model, self.cheapest, true, trap->states, sizeof trap->states);
    }
cleanup:
    NADIR_RELEASE(context, self.first, self.start, self.cost, self.of_state, self.from, self.with);
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

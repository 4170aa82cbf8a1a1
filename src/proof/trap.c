/* trap.c: the cheapest kernel that never ends; see trap.h. */
#include "proof/trap.h"

#include "core/round.h"
#include "linalg/formulas.h"
#include "model/terminal.h"

#include <math.h>
#include <string.h>

/* Work of one peeling, and of as many as there are states: beyond it nobody looks. */
#define WORK_MOST  4e8
#define SPLIT_MOST 4e8

/* A row of positive probability under the policy. */
typedef struct trap_row {
    int64_t row, state;
    double alpha;
    double outside; /* sum over t outside C of Phat^p, or their maximum at p = infinity */
    double m;
    double inside; /* allowed successors in C */
} trap_row;

typedef struct peeling {
    const nadir_problem *problem;
    double p;
    bool support, by_row; /* a state costs what its dearest row does */
    int64_t rows, left;   /* states in C */
    trap_row *first;      /* [rows] where C is all states that do not end */
    trap_row *now;        /* [rows] */
    bool *start;          /* [states] that C */
    bool *inside;         /* [states] C */
    double *cost;         /* [states] */
    double roundings;
} peeling;

/* Takes a successor out of C. */
static void leave(const peeling *self, trap_row *row, double probability)
{
    row->inside -= !self->support || probability > 0;
    row->m += probability;
    row->outside =
        isinf(self->p) ? fmax(row->outside, probability) : row->outside + nadir_power(probability, self->p);
}

static double cost_of(const peeling *self, const trap_row *row)
{
    if (row->m == 0) {
        return 0;
    }
    if (!(row->inside > 0) || row->alpha == 0) {
        return INFINITY;
    }
    return isinf(self->p) ? fmax(row->outside, row->m / row->inside) / row->alpha
                          : (row->outside + nadir_power(row->m, self->p) * pow(row->inside, 1 - self->p)) /
                                nadir_power(row->alpha, self->p);
}

static nadir_status begin(nadir_context *context, const nadir_problem *problem, peeling *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    const int64_t n = problem->states;
    NADIR_NEW(context, self->first, 2 * problem->rows);
    NADIR_NEW(context, self->start, 2 * n);
    NADIR_NEW(context, self->cost, n);
    self->inside = self->start + n;
    for (int64_t s = 0; s < n; s++) {
        /* on domain support no kernel goes where the nominal one does not */
        self->start[s] = !nadir_model_ends(model, s) && !(self->support && problem->d[s] == 0);
    }
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = model->state_rows[s]; self->start[s] && row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            trap_row made = {row, s, nadir_uncertainty_scale(problem->uncertainty, row), 0, 0, 0};
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
cleanup:
    return status;
}

/* The costs of all states in C, the dearest of which is returned; *sum: of all. half: the costs of other states count
 * twice; -1: none is special. */
static int64_t weigh(const peeling *self, int64_t half, double *most, double *sum)
{
    int64_t dearest = -1;
    memset(self->cost, 0, (size_t)self->problem->states * sizeof *self->cost);
    for (int64_t i = 0; i < self->rows; i++) {
        const trap_row *row = &self->now[i];
        if (self->inside[row->state]) {
            const double cost = cost_of(self, row);
            double *all = &self->cost[row->state];
            *all = self->by_row || isinf(self->p) ? fmax(*all, cost) : *all + cost;
        }
    }
    *most = -INFINITY;
    *sum = 0;
    for (int64_t s = 0; s < self->problem->states; s++) {
        if (self->inside[s]) {
            const double weight = self->cost[s] * (half >= 0 && s != half ? 2 : 1);
            *sum = isinf(self->p) ? fmax(*sum, self->cost[s]) : *sum + self->cost[s];
            dearest = weight > *most ? s : dearest;
            *most = fmax(*most, weight);
        }
    }
    return dearest;
}

/* The smallest largest cost and the smallest sum of the sets met. */
static nadir_status peel(nadir_context *context, peeling *self, int64_t half, double *least, double *cheapest)
{
    const nadir_model *model = self->problem->model;
    double most;
    double sum;
    *least = INFINITY;
    memcpy(self->now, self->first, (size_t)self->rows * sizeof *self->now);
    memcpy(self->inside, self->start, (size_t)self->problem->states * sizeof *self->inside);
    for (int64_t dearest = weigh(self, half, &most, &sum); dearest >= 0;
         dearest = weigh(self, half, &most, &sum)) {
        *least = fmin(*least, most);
        *cheapest = fmin(*cheapest, sum);
        self->inside[dearest] = false;
        for (int64_t i = 0; i < self->rows; i++) {
            const nadir_row entries = nadir_model_row(model, self->now[i].row);
            int64_t place = 0;
            if (entries.columns == NULL) {
                leave(self, &self->now[i], entries.values[dearest]);
            } else {
                int64_t end = entries.count;
                while (place < end) { /* columns rise */
                    const int64_t middle = place + (end - place) / 2;
                    *(entries.columns[middle] < dearest ? &place : &end) =
                        entries.columns[middle] < dearest ? middle + 1 : middle;
                }
                const bool found = place < entries.count && entries.columns[place] == dearest;
                leave(self, &self->now[i], found ? entries.values[place] : 0);
            }
        }
        NADIR_TRY(nadir_progress(context, "looking for kernels that never end", -1));
    }
    return NADIR_OK;
}

/* Costs to the power p, of which so many roundings are not known, as radii. */
static double root_of(const peeling *self, double cost)
{
    return isinf(self->p) || isinf(cost) ? cost : nadir_power(cost, 1 / self->p);
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
                    .by_row = set->set == NADIR_SET_SA};
    double least;
    double cheapest = INFINITY;
    *trap = (nadir_trap){NAN, NAN};
    if (problem->gamma != 1 || set->domain == NADIR_DOMAIN_FREE || set->radii != NULL || work > WORK_MOST) {
        return NADIR_OK;
    }
    NADIR_CHECK(begin(context, problem, &self));
    NADIR_CHECK(peel(context, &self, -1, &least, &cheapest));
    if (set->set == NADIR_SET_NONRECT && least < cheapest && work * n <= SPLIT_MOST) {
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
    const double roundings = n + 4 * self.roundings + (double)problem->rows + 64; /* sums, powers and roots */
    trap->low = nadir_round_down(root_of(&self, least), roundings);
    trap->high = nadir_round_up(root_of(&self, set->set == NADIR_SET_NONRECT ? cheapest : least), roundings);
cleanup:
    NADIR_RELEASE(context, self.first, self.start, self.cost);
    return status;
}

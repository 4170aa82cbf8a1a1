/*
 * trap_cut.c: a lower bound on the radius of the non-rectangular ball at which some kernel never ends, by flows.
 *
 * With T the states that do not end and n_sa the successors in T that a row may have, a row that stays in C costs
 *
 *     c_sa(C) >= sum over t outside C of Phat(t)^p (1 + n_sa^(1 - p)) / alpha^p,
 *
 * since m^p is at least the sum of its parts' powers; where rows do not quite sum to one, less of these. The sum over the rows of C is a cut between C and the rest: no flow
 * from a state of C to the end is larger. So the least over all states of any flow to the end is a lower bound. Flows
 * are of whole numbers, with capacities rounded down.
 */
#include "linalg/formulas.h"
#include "proof/trap.h"

#include <math.h>
#include <string.h>

/* States beyond which there are no flows; entries that are looked at. */
enum { STATES_MOST = 200, LOOKS_MOST = 1000000 };
#define WHOLE ((double)((int64_t)1 << 48))

/* Nodes are the states, and one for the end of all. */
typedef struct network {
    int64_t nodes;
    int64_t *rest;   /* [nodes * nodes] what else may flow */
    int64_t *whole;  /* [nodes * nodes] capacities */
    int64_t *before; /* [nodes] on the way from the source; -1: not reached */
    int64_t *queue;  /* [nodes] */
    int64_t looks;
} network;

/* A way from the source to the end, of the fewest steps. */
static bool find_way(network *self, int64_t source)
{
    const int64_t end = self->nodes - 1;
    int64_t count = 1;
    for (int64_t s = 0; s < self->nodes; s++) {
        self->before[s] = -1;
    }
    self->before[source] = source;
    self->queue[0] = source;
    for (int64_t i = 0; i < count && self->before[end] < 0; i++) {
        const int64_t s = self->queue[i];
        for (int64_t t = 0; t < self->nodes; t++) {
            if (self->before[t] < 0 && self->rest[s * self->nodes + t] > 0) {
                self->before[t] = s;
                self->queue[count++] = t;
            }
        }
        self->looks += self->nodes;
    }
    return self->before[end] >= 0;
}

/* A flow from the source to the end: the largest, or one of at least `enough`. */
static int64_t flow_from(network *self, int64_t source, int64_t enough)
{
    const int64_t n = self->nodes;
    int64_t flow = 0;
    memcpy(self->rest, self->whole, (size_t)(n * n) * sizeof *self->rest);
    while (flow < enough && self->looks < LOOKS_MOST && find_way(self, source)) {
        int64_t least = INT64_MAX;
        for (int64_t t = n - 1; t != source; t = self->before[t]) {
            const int64_t left = self->rest[self->before[t] * n + t];
            least = left < least ? left : least;
        }
        for (int64_t t = n - 1; t != source; t = self->before[t]) {
            self->rest[self->before[t] * n + t] -= least;
            self->rest[t * n + self->before[t]] += least;
        }
        flow += least;
    }
    return flow;
}

/* Capacities as shares of cheapest^p, beyond which none matters. */
static void fill(const nadir_problem *problem, const bool *open, double cheapest, network *self)
{
    const nadir_model *model = problem->model;
    const double p = problem->uncertainty->p;
    const bool support = problem->uncertainty->domain == NADIR_DOMAIN_SUPPORT;
    double all = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        all += open[s];
    }
    for (int64_t s = 0; s < problem->states; s++) {
        for (int64_t row = model->state_rows[s]; open[s] && row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            const double alpha = nadir_uncertainty_scale(problem->uncertainty, row);
            const double off = nadir_trap_row_off(&entries);
            double inside = 0;
            for (int64_t i = 0; i < entries.count; i++) {
                inside += entries.values[i] > 0 && open[nadir_row_column(&entries, i)];
            }
            inside = support ? inside : all;
            for (int64_t i = 0; i < entries.count && problem->policy->probabilities[row] > 0; i++) {
                const int64_t t = nadir_row_column(&entries, i);
                const double size = nadir_power(entries.values[i] / (alpha * cheapest), p);
                const double moved = nadir_power(fmax(entries.values[i] - off, 0) / (alpha * cheapest), p);
                const double share = inside > 0 ? size + moved * pow(inside, 1 - p) : 1;
                if (entries.values[i] > 0 && t != s) {
                    int64_t *to = &self->whole[s * self->nodes + (open[t] ? t : self->nodes - 1)];
                    *to += share < 1 ? (int64_t)(share * WHOLE) : (int64_t)WHOLE;
                }
            }
        }
    }
}

nadir_status nadir_trap_cut(nadir_context *context, const nadir_problem *problem, const bool *open,
                            double above, double cheapest, double *least)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states + 1;
    const double p = problem->uncertainty->p;
    network self = {.nodes = n};
    int64_t smallest = (int64_t)WHOLE;
    *least = 0;
    if (problem->states > STATES_MOST || isinf(p) || !(cheapest > 0) || !isfinite(cheapest)) {
        return NADIR_OK;
    }
    NADIR_NEW(context, self.rest, n * n);
    NADIR_NEW_ZERO(context, self.whole, n * n);
    NADIR_NEW(context, self.before, 2 * n);
    self.queue = self.before + n;
    fill(problem, open, cheapest, &self);
    const double needed = nadir_power(above / cheapest, p) * WHOLE;
    for (int64_t s = 0; s < problem->states && (double)smallest > needed; s++) {
        const int64_t flow = open[s] ? flow_from(&self, s, smallest) : smallest;
        smallest = flow < smallest ? flow : smallest;
    }
    *least = (double)smallest > needed ? cheapest * nadir_power((double)smallest / WHOLE, 1 / p) : 0;
cleanup:
    NADIR_RELEASE(context, self.rest, self.whole, self.before);
    return status;
}

/*
 * reachable_spread.c: which states kernels of domain support visit, where states are spread over processes.
 *
 * Each process follows the transitions of the states that it has; those that lead to states of others are
 * told to them, and so on until nobody has learnt anything new. There are as many rounds as a way changes
 * processes.
 */
#include "adversary/proof/perturbable_rows.h"

#include "linalg/distributed.h"

#include <string.h>

typedef struct walk {
    const nadir_problem *problem;
    bool *seen;     /* [width] */
    int32_t *queue; /* [width] */
    int64_t next, length;
} walk;

static void see(walk *self, int64_t state)
{
    if (!self->seen[state]) {
        self->seen[state] = true;
        self->queue[self->length++] = (int32_t)state;
    }
}

/* What the rows of a state lead to. */
static void follow(walk *self, int64_t state)
{
    const nadir_model *model = self->problem->model;
    for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        const bool taken = self->problem->policy->probabilities[row] > 0;
        for (int64_t i = 0; taken && i < entries.count; i++) {
            see(self, entries.columns[i]);
        }
    }
}

/* told: [width] work space. */
static void tell(walk *self, double *told)
{
    const nadir_exchange *exchange = self->problem->model->exchange;
    const int64_t n = self->problem->states;
    memset(told, 0, (size_t)n * sizeof *told);
    for (int64_t t = n; t < n + exchange->ghosts; t++) {
        told[t] = self->seen[t] ? 1 : 0;
    }
    exchange->table->add(exchange->table->self, exchange->plan, told + n, told);
    for (int64_t s = 0; s < n; s++) {
        if (told[s] > 0) {
            see(self, s);
        }
    }
}

nadir_status nadir_reachable_states_spread(nadir_context *context, const nadir_problem *problem, bool *reach)
{
    nadir_status status = NADIR_OK;
    const int64_t width = nadir_model_width(problem->model);
    walk self = {.problem = problem};
    double *told = NULL;
    NADIR_NEW_ZERO(context, self.seen, width);
    NADIR_NEW(context, self.queue, width);
    NADIR_NEW(context, told, width);
    for (int64_t s = 0; s < problem->states; s++) {
        if (problem->mu[s] > 0) {
            see(&self, s);
        }
    }
    do {
        for (; self.next < self.length; self.next++) {
            if (self.queue[self.next] < problem->states) {
                follow(&self, self.queue[self.next]);
            }
        }
        tell(&self, told);
    } while (!nadir_allreduce_and(context, self.next == self.length));
    memcpy(reach, self.seen, (size_t)problem->states * sizeof *reach);
cleanup:
    nadir_release(context, self.seen);
    nadir_release(context, self.queue);
    nadir_release(context, told);
    return status;
}

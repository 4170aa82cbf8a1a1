/*
 * reachable.c: which states some kernel of the set visits; see perturbable_rows.h.
 *
 * They are followed from the initial states: along nominal transitions or, on domain simplex, from any row
 * that can be moved, which can lead anywhere. With several processes each one follows the transitions of the
 * states that it has; those that lead to states of others are told to them, and so on until nobody has learnt
 * anything new. There are as many rounds as a path changes processes.
 */
#include "proof/perturbable_rows.h"

#include "linalg/distributed.h"

#include <string.h>

typedef struct walk {
    const nadir_problem *problem;
    bool *seen;     /* [width] */
    int32_t *queue; /* [width] */
    int64_t width;  /* states and ghosts */
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
    const nadir_problem *problem = self->problem;
    const nadir_model *model = problem->model;
    const bool anywhere = problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX;
    for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
        if (!(problem->policy->probabilities[row] > 0)) {
            continue;
        }
        const bool all = anywhere && nadir_perturbable_rows_can_move(problem, row);
        const nadir_row nominal = nadir_model_row(model, row);
        const int64_t count = all ? problem->states : nominal.count;
        for (int64_t j = 0; j < count && self->length < self->width; j++) {
            if (all || nominal.values[j] > 0) {
                see(self, all ? j : nadir_row_column(&nominal, j));
            }
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

nadir_status nadir_reachable_states(nadir_context *context, const nadir_problem *problem, bool *reach)
{
    nadir_status status = NADIR_OK;
    const bool spread = problem->model->exchange != NULL;
    walk self = {.problem = problem, .width = nadir_model_width(problem->model)};
    double *told = NULL;
    bool settled = true;
    NADIR_NEW_ZERO(context, self.seen, self.width);
    NADIR_NEW(context, self.queue, self.width);
    NADIR_NEW(context, told, spread ? self.width : 0);
    for (int64_t s = 0; s < problem->states; s++) {
        if (problem->mu[s] > 0) {
            see(&self, s);
        }
    }
    do {
        for (; self.next < self.length && (spread || self.length < self.width); self.next++) {
            if (self.queue[self.next] < problem->states) {
                follow(&self, self.queue[self.next]);
            }
        }
        if (spread) {
            tell(&self, told);
            settled = nadir_allreduce_and(context, self.next == self.length);
        }
    } while (!settled);
    memcpy(reach, self.seen, (size_t)problem->states * sizeof *reach);
cleanup:
    nadir_release(context, self.seen);
    nadir_release(context, self.queue);
    nadir_release(context, told);
    return status;
}

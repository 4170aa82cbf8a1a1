/*
 * probability_bound.c: at least the largest probability to reach a goal under one kernel, over all policies, also those that never end.
 *
 * v' >= 0 with v' >= P_sa v' in all rows, and v' >= 1 in the goal, bounds it: V^pi <= v' - lim P^n v'. A value v of policy iteration
 * has v >= P_sa v - excess, and v' = v + epsilon w mends that where w >= 1 + P_sa w. But actions that are equally good may go round
 * in circles for ever, and such a w does not exist then. So states are put into classes that count as one state each: those that
 * a row leads to, all of the same value, with the state of that row. Rows that do not leave their class are left out: who stays there
 * for ever does not reach the goal, and who leaves does so by another row of the class. That only adds policies, whatever the
 * classes are. Any end component of the best actions has one value, so that none is left between classes.
 *
 * w is needed for actions alone that are as good as v up to rounding; others have something to spare. It is iterated from the
 * durations under the policy of v, and taken once a step adds little: every row is checked in the end.
 */
#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "model/kernel.h"
#include "model/model.h"
#include "solve/nominal_optimum.h"
#include "solve/value.h"

#include <math.h>
#include <string.h>

#define SAME_VALUE 1e-11
#define NEAR_TIE   1e-9
#define WORK_MOST  2e9 /* of the iteration, in numbers of the kernel */

typedef struct probability {
    nadir_context *context;
    const nadir_kernel *kernel;
    const nadir_model *model;
    int64_t *class; /* [states] the first state of each */
    bool *inside;   /* [rows] does not leave its class */
    double *v, *w;  /* [states] the same in every class */
    double *q, *pw; /* [rows] R + P v, P w */
    double *next;   /* [states] work space */
} probability;

static int64_t find_class(int64_t *class, int64_t s)
{
    while (class[s] != s) {
        class[s] = class[class[s]];
        s = class[s];
    }
    return s;
}

/* The largest number of each class, in all its states. */
static void spread(const probability *self, double *x)
{
    for (int64_t s = 0; s < self->model->states; s++) {
        x[self->class[s]] = fmax(x[self->class[s]], x[s]);
    }
    for (int64_t s = 0; s < self->model->states; s++) {
        x[s] = x[self->class[s]];
    }
}

static nadir_status find_classes(probability *self, const double *v)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    nadir_explicit rows = {0};
    NADIR_CHECK(nadir_explicit_make(self->context, self->kernel, &rows));
    for (int64_t s = 0; s < model->states; s++) {
        self->class[s] = s;
    }
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_explicit_row(&rows, row);
            bool same = true;
            for (int64_t i = 0; i < entries.count && same; i++) {
                same = fabs(v[entries.columns[i]] - v[s]) <= SAME_VALUE;
            }
            for (int64_t i = 0; i < entries.count && same; i++) {
                const int64_t a = find_class(self->class, s);
                const int64_t b = find_class(self->class, entries.columns[i]);
                self->class[a > b ? a : b] = a < b ? a : b;
            }
        }
    }
    for (int64_t s = 0; s < model->states; s++) {
        self->class[s] = find_class(self->class, s);
    }
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_explicit_row(&rows, row);
            self->inside[row] = entries.count > 0;
            for (int64_t i = 0; i < entries.count && self->inside[row]; i++) {
                self->inside[row] = self->class[entries.columns[i]] == self->class[s];
            }
        }
    }
cleanup:
    nadir_explicit_clear(self->context, &rows);
    return status;
}

/* P w, and by how much 1 + P w exceeds w in rows that are nearly the best; raises w by it where it is too much. */
static double lengthen(probability *self)
{
    const nadir_model *model = self->model;
    double rise = 0;
    nadir_kernel_multiply(self->context, self->kernel, self->w, self->pw);
    for (int64_t s = 0; s < model->states; s++) {
        self->next[s] = self->w[s];
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            if (!self->inside[row] && self->q[row] >= self->v[s] - NEAR_TIE) {
                self->next[s] = fmax(self->next[s], 1 + self->pw[row]);
            }
        }
        rise = fmax(rise, self->next[s] - self->w[s]);
    }
    if (rise > 0.25) {
        memcpy(self->w, self->next, (size_t)model->states * sizeof *self->w);
        spread(self, self->w);
    }
    return rise;
}

/* epsilon, or infinity where the rows do not allow it. */
static double check_rows(const probability *self)
{
    const nadir_model *model = self->model;
    nadir_kernel_size size;
    double excess = 0;
    nadir_kernel_measure(self->context, self->kernel, &size);
    const double sums = fmax(fabs(1 - size.sum_low), fabs(size.sum_high - 1));
    const double largest = nadir_vector_largest(model->states, self->w);
    const double off = nadir_bellman_rounding(&size, 1, 1, 1, 1) + sums;
    const double steps_off = nadir_bellman_rounding(&size, 1, 1, 1, largest) + sums * largest;
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            excess = self->inside[row] ? excess : fmax(excess, self->q[row] - self->v[s]);
        }
    }
    const double epsilon = 4 * (excess + off);
    for (int64_t s = 0; s < model->states; s++) {
        if (!(self->w[s] >= 1 && self->v[s] + 0.5 * epsilon * self->w[s] >= 0)) {
            return INFINITY;
        }
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double spare = self->w[s] - self->pw[row] - 2 * steps_off;
            if (!self->inside[row] && !(self->q[row] - self->v[s] + 2 * off <= epsilon * spare)) {
                return INFINITY;
            }
        }
    }
    return epsilon;
}

nadir_status nadir_probability_bound(nadir_context *context, const nadir_kernel *kernel,
                                     nadir_occupancy *occupancy, const double *v, double *upper)
{
    nadir_status status = NADIR_OK;
    probability self = {.context = context, .kernel = kernel, .model = nadir_kernel_model(kernel)};
    const nadir_model *model = self.model;
    const int64_t n = model->states;
    double rise = INFINITY;
    double rounding;
    double error;
    NADIR_NEW(context, self.class, n);
    NADIR_NEW(context, self.inside, model->rows);
    NADIR_NEW(context, self.v, 3 * n);
    NADIR_NEW(context, self.q, 2 * model->rows);
    self.w = self.v + n;
    self.next = self.v + 2 * n;
    self.pw = self.q + model->rows;
    NADIR_CHECK(find_classes(&self, v));
    for (int64_t s = 0; s < n; s++) {
        self.v[s] = v[s];
        self.next[s] = 1;
    }
    spread(&self, self.v);
    NADIR_CHECK(nadir_occupancy_solve(context, occupancy, 1, self.next, self.w, NULL));
    spread(&self, self.w);
    nadir_value_q(context, kernel, 1, self.v, self.q);
    const int64_t sweeps = (int64_t)fmax(10, WORK_MOST / ((double)model->nonzeros + (double)model->rows + 1));
    for (int64_t sweep = 0; sweep < sweeps && rise > 0.25; sweep++) {
        NADIR_CHECK(nadir_progress(context, "bounding the probability", -1));
        rise = lengthen(&self);
    }
    const double epsilon = rise <= 0.25 ? check_rows(&self) : INFINITY;
    const double mean = nadir_global_dot(context, n, model->initial, self.v, &rounding);
    const double steps = nadir_global_dot(context, n, model->initial, self.w, &error);
    *upper = fmin(*upper, nadir_round_up(mean + rounding + epsilon * (steps + error), 8));
cleanup:
    NADIR_RELEASE(context, self.class, self.inside, self.v, self.q);
    return status;
}

/*
 * return_check.c: bounds on the return from value and occupancy together.
 *
 * For any v with residual r = R^pi + gamma P^pi v - v, and any d >= 0 with residual q = mu + gamma P^pi^T d - d,
 *
 *     J_P = mu . v + d_P . r,    |d_P - d|_1 <= |q|_1 / (1 - gamma |P^pi|),
 *
 * so that the error of mu . v + d . r is a product of both residuals, and the roundings of each state count as
 * often as it is visited: huge values of states that hardly matter cost nothing. States that the kernel does not
 * reach from mu are left out.
 */
#include "solve/value.h"

#include "core/round.h"
#include "linalg/vector.h"
#include "model/landing.h"

#include <float.h>
#include <math.h>

/* Larger kernels are not written out for this. */
#define ENTRIES_MOST 4e6

typedef struct return_check {
    const nadir_model *model;
    const double *pi, *v, *d;
    double gamma;
    int64_t *queue; /* [states] that are reached, in the order in which they were seen */
    int64_t reached;
    bool *seen;    /* [states] */
    double *in;    /* [states] gamma P^pi^T d */
    double *terms; /* [states] how many there are */
    double landing, longest, mass;
    double gap; /* without a discount */
    /* Sums over the states reached, and the largest residual. */
    double product, product_size, rounding, largest;
} return_check;

static void see(return_check *self, int64_t state)
{
    if (!self->seen[state]) {
        self->seen[state] = true;
        self->queue[self->reached++] = state;
    }
}

/* The rows of a state: its residual, and where it leads. */
static void follow(return_check *self, nadir_explicit *rows, int64_t s)
{
    const nadir_model *model = self->model;
    const double d = fmax(self->d[s], 0);
    double next = 0;
    double size = fabs(self->v[s]);
    double mass = 0;
    for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
        const double pi = self->pi[row];
        double product = 0;
        double absolute = 0;
        double sum = 0;
        if (!(pi > 0)) {
            continue;
        }
        const nadir_row entries = nadir_explicit_row(rows, row);
        for (int64_t i = 0; i < entries.count; i++) {
            const int64_t t = entries.columns[i];
            see(self, t);
            product += entries.values[i] * self->v[t];
            absolute += entries.values[i] * fabs(self->v[t]);
            sum += entries.values[i];
            self->in[t] += self->gamma * d * pi * entries.values[i];
            self->terms[t]++;
        }
        const double reward = nadir_kernel_reward(rows->kernel, row);
        next += pi * (reward + self->gamma * product);
        size += pi * (fabs(reward) + 4 * self->landing + self->gamma * absolute);
        mass += pi * sum;
        self->longest = fmax(self->longest, (double)entries.count);
    }
    const double r = next - self->v[s];
    /* sums over entries and actions, and what underflows */
    const double actions = (double)(model->state_rows[s + 1] - model->state_rows[s]);
    const double rounding = size > 0 ? nadir_round_error(self->longest + actions + 12) * size + DBL_MIN : 0;
    self->mass = fmax(self->mass, nadir_round_up(mass, self->longest + actions + 4));
    self->product += d * r;
    self->product_size += d * fabs(r);
    self->rounding += d * rounding;
    self->largest = fmax(self->largest, fabs(r) + rounding);
}

/* |q|_1, rounded up. */
static double norm_of_q(const return_check *self)
{
    double sum = 0;
    for (int64_t i = 0; i < self->reached; i++) {
        const int64_t s = self->queue[i];
        const double d = fmax(self->d[s], 0);
        const double mu = self->model->initial[s];
        sum += fabs((mu - d) + self->in[s]) + nadir_round_error(self->terms[s] + 8) * (mu + d + self->in[s]) +
               DBL_MIN;
    }
    return nadir_round_up(sum, (double)(self->reached + 8));
}

static void narrow(const return_check *self, nadir_value_check *check)
{
    double error;
    const int64_t n = self->model->states;
    const double mean = nadir_vector_dot(n, self->model->initial, self->v, &error);
    const double residuals = self->largest > 0 ? norm_of_q(self) * self->largest : 0;
    const double both =
        self->largest > 0 ? nadir_check_offset(residuals, self->gamma, self->mass, self->mass, self->gap) : 0;
    const double count = (double)(self->reached + 8);
    const double slack =
        nadir_round_up(error + self->rounding + both + nadir_round_error(count) * self->product_size +
                           nadir_round_error(4) * (fabs(mean) + fabs(self->product)),
                       count);
    if (isfinite(slack)) {
        check->lower = fmax(check->lower, mean + self->product - slack);
        check->upper = fmin(check->upper, mean + self->product + slack);
    }
}

nadir_status nadir_value_check_return(nadir_context *context, const nadir_kernel *kernel,
                                      const nadir_policy *policy, double gamma, const double *v,
                                      const double *d, nadir_value_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = nadir_kernel_model(kernel);
    const int64_t n = model->states;
    return_check self = {
        .model = model, .pi = policy->probabilities, .v = v, .d = d, .gamma = gamma, .gap = check->gap};
    nadir_explicit rows = {0};
    if (!(check->minimum >= 0) || model->exchange != NULL || nadir_kernel_is_on_device(context, kernel) ||
        (double)model->rows * (double)n > ENTRIES_MOST) {
        return NADIR_OK;
    }
    NADIR_NEW(context, self.queue, n);
    NADIR_NEW_ZERO(context, self.seen, n);
    NADIR_NEW_ZERO(context, self.in, 2 * n);
    self.terms = self.in + n;
    self.landing = nadir_landing_is_general(model) ? nadir_landing_reward_size(context, model, 1) : 0;
    NADIR_CHECK(nadir_explicit_make(context, kernel, &rows));
    for (int64_t s = 0; s < n; s++) {
        if (model->initial[s] > 0) {
            see(&self, s);
        }
    }
    for (int64_t i = 0; i < self.reached; i++) {
        follow(&self, &rows, self.queue[i]);
    }
    narrow(&self, check);
cleanup:
    nadir_explicit_clear(context, &rows);
    NADIR_RELEASE(context, self.queue, self.seen, self.in);
    return status;
}

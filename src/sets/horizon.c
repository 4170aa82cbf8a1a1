/* horizon.c: the return of H steps under one kernel: rows written out, values, occupancies, gradient; see
 * horizon.h. */
#include "sets/horizon.h"

#include "core/round.h"
#include "linalg/vector.h"
#include "model/landing.h"

#include <math.h>
#include <string.h>

static nadir_status check(nadir_context *context, const nadir_model *model, const nadir_uncertainty *set,
                          int64_t steps)
{
    NADIR_TRY(nadir_model_check_one_process(context, model, "a horizon"));
    if (set->lower != NULL) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "a horizon is not there for domain box yet: take domain support, which holds the box");
    }
    if (set->weights != NULL) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "a horizon is not there for norm chi2 and for weights of entries: take another norm");
    }
    if (set->domain == NADIR_DOMAIN_FREE) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "a horizon is for the domains simplex and support: on domain free the return of "
                          "many steps has no exact solution; take one of them");
    }
    if (set->domain != NADIR_DOMAIN_SUPPORT && model->rows > NADIR_LMO_ROW_COSTS_LIMIT / model->states) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "with a horizon, rows of the kernel are written out on domain simplex: %lld rows of "
            "%lld states are more than %d entries; take domain support",
            (long long)model->rows, (long long)model->states, NADIR_LMO_ROW_COSTS_LIMIT);
    }
    if (steps >= NADIR_HORIZON_LIMIT / model->states) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the values of %lld states in each of %lld steps are more than %d numbers; take a "
                          "shorter horizon, or a discount and no horizon",
                          (long long)model->states, (long long)steps, NADIR_HORIZON_LIMIT);
    }
    return NADIR_OK;
}

/* The entries of all rows: successors, nominal probabilities, and what they pay. */
static void fill_rows(nadir_horizon *self)
{
    const nadir_model *model = self->model;
    const bool support = self->set->domain == NADIR_DOMAIN_SUPPORT;
    for (int64_t row = 0; row < self->rows; row++) {
        const nadir_row nominal = nadir_model_row(model, row);
        int64_t next = self->starts[row];
        int64_t place = 0;
        for (int64_t i = 0; i < (support ? nominal.count : self->states); i++) {
            const int64_t t = support ? nadir_row_column(&nominal, i) : i;
            const double value = support                               ? nominal.values[i]
                                 : nadir_row_seek(&nominal, t, &place) ? nominal.values[place]
                                                                       : 0;
            if (support && !(value > 0)) {
                continue;
            }
            self->columns[next] = (int32_t)t;
            self->nominal[next] = value;
            self->paid[next++] = self->shift[t];
        }
        if (self->landing != 0) {
            nadir_landing_add(model, row, self->landing, support, self->paid + self->starts[row]);
        }
    }
}

static void count_entries(nadir_horizon *self)
{
    const bool support = self->set->domain == NADIR_DOMAIN_SUPPORT;
    self->starts[0] = 0;
    for (int64_t row = 0; row < self->rows; row++) {
        const nadir_row nominal = nadir_model_row(self->model, row);
        int64_t count = support ? 0 : self->states;
        for (int64_t i = 0; support && i < nominal.count; i++) {
            count += nominal.values[i] > 0;
        }
        self->starts[row + 1] = self->starts[row] + count;
        self->roundings = fmax(self->roundings, (double)count);
    }
    self->entries = self->starts[self->rows];
    /* sums over entries and actions, products; rows that sum to one up to rounding */
    self->roundings = 4 * (2 * self->roundings + (double)nadir_model_most_actions(self->model) + 32);
}

/* Sizes of rewards and of what they are off by: e has three roundings, and what of e is left out is paid by
 * |P - Phat|_1 <= 2, as in landing.c. */
static void measure_rewards(nadir_horizon *self)
{
    const nadir_model *model = self->model;
    const nadir_landing *landing = &model->landing;
    double largest = 0;
    self->reward_size = nadir_vector_largest(self->rows, model->rewards);
    if (model->transition_rewards != NULL) {
        const double paid = nadir_vector_largest(self->entries, self->paid);
        largest = fmax(fmax(fabs(landing->lowest), fabs(landing->highest)),
                       fmax(nadir_vector_largest(self->rows, landing->base),
                            nadir_vector_largest(self->states, landing->g)));
        self->reward_size = nadir_round_up(self->reward_size + 2 * paid, 8);
        self->reward_error = nadir_round_up(
            nadir_round_error(self->roundings + 32) * (largest + self->reward_size) +
                (landing->general ? 0 : 2 * nadir_landing_largest(model)) + 2 * model->zeros_error,
            8);
    }
}

nadir_status nadir_horizon_make(nadir_context *context, nadir_model *model, const nadir_uncertainty *set,
                                int64_t steps, int64_t count, const nadir_policy *const *policies,
                                bool optimistic, nadir_horizon *made)
{
    nadir_status status = NADIR_OK;
    const double sign = optimistic ? -1 : 1;
    NADIR_TRY(check(context, model, set, steps));
    *made = (nadir_horizon){.model = model,
                            .set = set,
                            .steps = steps,
                            .gamma = model->discount,
                            .sign = sign,
                            .policies = policies,
                            .stationary = count == 1,
                            .states = model->states,
                            .rows = model->rows,
                            .landing = nadir_landing_is_general(model) ? sign : 0};
    NADIR_NEW(context, made->starts, model->rows + 1);
    count_entries(made);
    NADIR_NEW(context, made->columns, made->entries);
    NADIR_NEW(context, made->nominal, made->entries);
    NADIR_NEW(context, made->paid, made->entries);
    NADIR_NEW_ZERO(context, made->shift, model->states);
    for (int64_t s = 0; model->landing.g != NULL && s < model->states; s++) {
        made->shift[s] = sign * model->landing.g[s];
    }
    fill_rows(made);
    measure_rewards(made);
cleanup:
    if (status != NADIR_OK) {
        nadir_horizon_clear(context, made);
    }
    return status;
}

void nadir_horizon_clear(nadir_context *context, nadir_horizon *self)
{
    NADIR_RELEASE(context, self->starts, self->columns, self->nominal, self->paid, self->shift);
    *self = (nadir_horizon){0};
}

void nadir_horizon_point_clear(nadir_context *context, nadir_horizon_point *point)
{
    NADIR_RELEASE(context, point->P, point->R, point->v, point->d);
    *point = (nadir_horizon_point){0};
}

nadir_status nadir_horizon_point_make(nadir_context *context, const nadir_horizon *self,
                                      nadir_horizon_point *point)
{
    nadir_status status = NADIR_OK;
    *point = (nadir_horizon_point){0};
    NADIR_NEW(context, point->P, self->entries);
    NADIR_NEW(context, point->R, self->rows);
    NADIR_NEW_ZERO(context, point->v, (self->steps + 1) * self->states);
    NADIR_NEW(context, point->d, self->steps * self->states);
    memcpy(point->P, self->nominal, (size_t)self->entries * sizeof *point->P);
    nadir_horizon_values(self, point);
    nadir_horizon_occupancies(self, point);
cleanup:
    if (status != NADIR_OK) {
        nadir_horizon_point_clear(context, point);
    }
    return status;
}

void nadir_horizon_multiply(const nadir_horizon *self, const double *P, int64_t step, const double *x,
                            double *y)
{
    const double *pi = nadir_horizon_policy(self, step)->probabilities;
    for (int64_t s = 0; s < self->states; s++) {
        y[s] = 0;
        for (int64_t row = self->model->state_rows[s]; row < self->model->state_rows[s + 1]; row++) {
            double sum = 0;
            for (int64_t i = self->starts[row]; pi[row] > 0 && i < self->starts[row + 1]; i++) {
                sum += P[i] * x[self->columns[i]];
            }
            y[s] += pi[row] * sum;
        }
    }
}

void nadir_horizon_multiply_transposed(const nadir_horizon *self, const double *P, int64_t step,
                                       const double *x, double *y)
{
    const double *pi = nadir_horizon_policy(self, step)->probabilities;
    memset(y, 0, (size_t)self->states * sizeof *y);
    for (int64_t s = 0; s < self->states; s++) {
        for (int64_t row = self->model->state_rows[s]; row < self->model->state_rows[s + 1]; row++) {
            const double share = x[s] * pi[row];
            for (int64_t i = self->starts[row]; share > 0 && i < self->starts[row + 1]; i++) {
                y[self->columns[i]] += share * P[i];
            }
        }
    }
}

void nadir_horizon_values(const nadir_horizon *self, nadir_horizon_point *point)
{
    const int64_t n = self->states;
    double rounding;
    for (int64_t row = 0; row < self->rows; row++) {
        double more = 0;
        for (int64_t i = self->starts[row]; i < self->starts[row + 1]; i++) {
            more += (point->P[i] - self->nominal[i]) * self->paid[i];
        }
        point->R[row] = self->sign * self->model->rewards[row] + more;
    }
    for (int64_t step = self->steps; step-- > 0;) {
        const double *pi = nadir_horizon_policy(self, step)->probabilities;
        double *v = point->v + step * n;
        nadir_horizon_multiply(self, point->P, step, v + n, v);
        for (int64_t s = 0; s < n; s++) {
            v[s] *= self->gamma;
            for (int64_t row = self->model->state_rows[s]; row < self->model->state_rows[s + 1]; row++) {
                v[s] += pi[row] * point->R[row];
            }
        }
    }
    point->J =
        nadir_vector_dot(n, self->model->initial, point->v, &rounding); /* see nadir_horizon_return_error */
}

void nadir_horizon_occupancies(const nadir_horizon *self, nadir_horizon_point *point)
{
    const int64_t n = self->states;
    memcpy(point->d, self->model->initial, (size_t)n * sizeof *point->d);
    for (int64_t step = 0; step + 1 < self->steps; step++) {
        double *next = point->d + (step + 1) * n;
        nadir_horizon_multiply_transposed(self, point->P, step, point->d + step * n, next);
        for (int64_t s = 0; s < n; s++) {
            next[s] *= self->gamma;
        }
    }
}

void nadir_horizon_gradient(const nadir_horizon *self, const nadir_horizon_point *point, bool spread,
                            double *G)
{
    const int64_t n = self->states;
    double discount = 1;
    memset(G, 0, (size_t)self->entries * sizeof *G);
    for (int64_t step = 0; step < self->steps; step++) {
        const double *pi = nadir_horizon_policy(self, step)->probabilities;
        const double *v = point->v + (step + 1) * n;
        for (int64_t s = 0; s < n; s++) {
            const double d = spread ? discount / (double)n : point->d[step * n + s];
            for (int64_t row = self->model->state_rows[s]; row < self->model->state_rows[s + 1]; row++) {
                const double weight = d * pi[row];
                for (int64_t i = self->starts[row]; weight > 0 && i < self->starts[row + 1]; i++) {
                    G[i] += weight * (self->paid[i] + self->gamma * v[self->columns[i]]);
                }
            }
        }
        discount *= self->gamma;
    }
}

/* e_n = gamma e_{n+1} + roundings u (|R| + gamma |v_{n+1}|) + what rewards are off by. */
void nadir_horizon_value_errors(const nadir_horizon *self, const double *v, double *errors)
{
    const double each = nadir_round_error(self->roundings);
    errors[self->steps] = 0;
    for (int64_t step = self->steps; step-- > 0;) {
        const double size = nadir_vector_largest(self->states, v + (step + 1) * self->states);
        errors[step] =
            nadir_round_up(self->gamma * errors[step + 1] + each * (self->reward_size + self->gamma * size) +
                               self->reward_error + DBL_MIN,
                           self->roundings);
    }
}

double nadir_horizon_return_error(const nadir_horizon *self, const nadir_horizon_point *point,
                                  const double *errors)
{
    const double size = nadir_vector_largest(self->states, point->v);
    return nadir_round_up(errors[0] + nadir_round_error(2 * (double)(self->states + 16)) * size, 16);
}

/*
 * l1_bound.c: no kernel of the non-rectangular L_1 ball on the free domain costs more than a given penalty,
 * or more than a little above it; see free_bounds.h. Shares nothing with the search in l1_enumeration.c.
 *
 * f_s(lambda) = gamma beta W_s halfrange(d_s v - lambda D e_s) - lambda falls with a slope of at least
 * 1 - gamma beta W_s H_s, H_s >= halfrange(D e_s). So its root is at most
 *
 *     f_s(0) / (1 - gamma beta W_s H_s)      and
 *     lambda + max(0, f_s(lambda)) / (1 - gamma beta W_s H_s).
 *
 * The first needs no column: 2 H_s = D_ss <= 1 / (1 - gamma), or the sum of the row s of D over a set of
 * states that holds s, which one solve gives for all states of the set. Where it does not suffice the column
 * is formed.
 */

#include "proof/free_bounds.h"

#include "core/round.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

/* Right-hand sides at a time. */
enum { BLOCK = 32 };

typedef struct l1_proof {
    nadir_context *context;
    const nadir_problem *problem;
    double beta, lambda;
    double v_size;      /* max |v| */
    double v_halfrange; /* halfrange(v), error included */
    double gap;         /* 1 - gamma, rounded down */
    double averaging;   /* relative error of the entries of P^pi */
    double *H;          /* [states] */
    double *columns;    /* [BLOCK * states] */
} l1_proof;

static double halfrange(int64_t count, double a, const double *x, double b, const double *y)
{
    double high = -INFINITY;
    double low = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        const double z = a * x[i] - b * y[i];
        high = fmax(high, z);
        low = fmin(low, z);
    }
    return high / 2 - low / 2;
}

/* gamma beta W_s, rounded up. */
static double gamma_beta_W(const l1_proof *self, int64_t s)
{
    return nadir_round_up(self->problem->gamma * self->beta * self->problem->uncertainty->W[s], 8);
}

/* 1 - gamma beta W_s H_s, rounded down. */
static double slope_low(const l1_proof *self, int64_t s)
{
    return nadir_round_below(1 - nadir_round_up(gamma_beta_W(self, s) * self->H[s], 4), 1, 2);
}

/* f_s(0) / slope. */
static double simple_bound(const l1_proof *self, int64_t s)
{
    const nadir_problem *problem = self->problem;
    if (gamma_beta_W(self, s) == 0) {
        return 0;
    }
    const double strength =
        gamma_beta_W(self, s) * (fmax(0, problem->d[s]) + problem->d_error) * self->v_halfrange;
    return slope_low(self, s) > 0 ? nadir_round_up(strength / slope_low(self, s), 8) : INFINITY;
}

static int64_t count_unproven(const l1_proof *self)
{
    int64_t unproven = 0;
    for (int64_t s = 0; s < self->problem->states; s++) {
        unproven += simple_bound(self, s) > self->lambda;
    }
    return unproven;
}

/* columns <- D columns; *error: of every entry, the error of averaging P over the actions included. */
static nadir_status solve(const l1_proof *self, int64_t count, double *error)
{
    nadir_status status = NADIR_OK;
    nadir_accuracy accuracy;
    NADIR_CHECK(nadir_progress(self->context, "checking", -1));
    NADIR_CHECK(nadir_occupancy_solve(self->context, self->problem->occupancy, count, self->columns,
                                      self->columns, &accuracy));
    const double largest = nadir_vector_largest(count * self->problem->states, self->columns);
    *error = accuracy.error_bound + nadir_round_up(self->averaging * largest / self->gap, 8);
cleanup:
    return status;
}

/* H_s from sums over every BLOCK-th state. */
static nadir_status tighten_H(const l1_proof *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    double error;
    for (int64_t i = 0; i < BLOCK * n; i++) {
        self->columns[i] = i % n % BLOCK == i / n ? 1 : 0;
    }
    NADIR_CHECK(solve(self, BLOCK, &error));
    for (int64_t s = 0; s < n; s++) {
        const double sum = self->columns[s % BLOCK * n + s] + error;
        self->H[s] = fmin(self->H[s], nadir_round_up(sum / 2, 4));
    }
cleanup:
    return status;
}

/* The bound that the column of s gives. */
static double column_bound(const l1_proof *self, int64_t s, const double *column, double error)
{
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const double d = problem->d[s];
    const double largest = nadir_vector_largest(n, column);
    self->H[s] = fmin(self->H[s], nadir_round_up(halfrange(n, 0, column, 1, column) + error, 4));
    if (!(slope_low(self, s) > 0)) {
        return INFINITY;
    }
    /* halfrange changes by no more than the largest change of an entry: errors of d, v and the column; and
     * three roundings of each term */
    const double width = halfrange(n, d, problem->v, self->lambda, column) +
                         problem->d_error * self->v_halfrange + fabs(d) * problem->v_error +
                         self->lambda * error +
                         nadir_round_error(4) * (fabs(d) * self->v_size + self->lambda * largest);
    const double above = nadir_round_up(gamma_beta_W(self, s) * width, 4) - self->lambda;
    return self->lambda + nadir_round_up(fmax(0, above) / slope_low(self, s), 8);
}

/* The columns of the states, [count] of them. */
static nadir_status try_columns(const l1_proof *self, int64_t count, const int64_t *states,
                                double *lambda_high)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    double error;
    memset(self->columns, 0, (size_t)(count * n) * sizeof *self->columns);
    for (int64_t j = 0; j < count; j++) {
        self->columns[j * n + states[j]] = 1;
    }
    NADIR_CHECK(solve(self, count, &error));
    for (int64_t j = 0; j < count; j++) {
        const double by_column = column_bound(self, states[j], self->columns + j * n, error);
        *lambda_high = fmax(*lambda_high, fmin(by_column, simple_bound(self, states[j])));
    }
cleanup:
    return status;
}

static nadir_status bound_all(const l1_proof *self, double *lambda_high)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    int64_t states[BLOCK];
    int64_t waiting = 0;
    if (count_unproven(self) > BLOCK) {
        NADIR_CHECK(tighten_H(self));
    }
    *lambda_high = self->lambda;
    for (int64_t s = 0; s < n; s++) {
        if (simple_bound(self, s) > *lambda_high) {
            states[waiting++] = s;
        }
        if (waiting == BLOCK || (waiting > 0 && s == n - 1)) {
            NADIR_CHECK(try_columns(self, waiting, states, lambda_high));
            waiting = 0;
        }
    }
cleanup:
    return status;
}

nadir_status nadir_l1_bound(nadir_context *context, const nadir_problem *problem, double beta, double lambda,
                            double *lambda_high)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const double norm = nadir_occupancy_average(problem->occupancy)->norm;
    l1_proof self = {.context = context, .problem = problem, .beta = beta, .lambda = fmax(0, lambda)};
    int64_t actions = 0;
    NADIR_NEW(context, self.H, n);
    NADIR_NEW(context, self.columns, BLOCK * n);
    for (int64_t s = 0; s < n; s++) {
        const int64_t own = problem->model->state_rows[s + 1] - problem->model->state_rows[s];
        actions = own > actions ? own : actions;
    }
    self.averaging = nadir_round_error((double)(actions + 4));
    self.gap = nadir_round_below(
        1 - problem->gamma * norm * (1 + self.averaging + nadir_round_error((double)(n + 2))), 1, 2);
    self.v_size = nadir_vector_largest(n, problem->v);
    self.v_halfrange = nadir_round_up(halfrange(n, 1, problem->v, 0, problem->v) + problem->v_error, 4);
    if (!(self.gap > 0)) {
        *lambda_high = INFINITY;
        goto cleanup;
    }
    for (int64_t s = 0; s < n; s++) {
        self.H[s] = n > 1 ? nadir_round_up(0.5 / self.gap, 4) : 0;
    }
    NADIR_CHECK(bound_all(&self, lambda_high));
cleanup:
    nadir_release(context, self.H);
    nadir_release(context, self.columns);
    return status;
}

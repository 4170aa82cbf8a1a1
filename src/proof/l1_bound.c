/*
 * l1_bound.c: no kernel of the non-rectangular L_1 ball on the free domain costs more than a given penalty,
 * or more than a little above it; and breakdown is beyond a given radius (docs/theory.md, "The free set: rank
 * one is enough", p = 1). See free_bounds.h.
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
 *
 * Breakdown is at 1 / (gamma max_s W_s halfrange(D e_s)). Entries of a column are D_ts = h_t D_ss, h_t the
 * discounted chance to hit s from t. With m and n the largest and the smallest chance to step to s from
 * elsewhere
 *
 *     gamma n / (1 - gamma (1 - n)) <= h_t <= h = gamma m / (1 - gamma (1 - m)),
 *     D_ss <= 1 / (1 - gamma P_ss - gamma (1 - P_ss) h),    H_s = D_ss (1 - min_t h_t) / 2.
 */

#include "proof/free_bounds.h"

#include "core/round.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

/* Right-hand sides at a time. */
enum { BLOCK = 32 };

/* Entries of P^pi for each state. */
typedef struct average_scan {
    double *stay;         /* [states] P^pi(s, s) */
    double *most, *least; /* [states] of P^pi(t, s) over t != s */
    double *entries;      /* [states] how many of these there are */
    double row_least;     /* sum of a row */
} average_scan;

static void scan_average(const nadir_matrix *matrix, average_scan *scan)
{
    const int64_t n = matrix->size;
    memset(scan->stay, 0, (size_t)n * sizeof *scan->stay);
    memset(scan->most, 0, (size_t)n * sizeof *scan->most);
    memset(scan->entries, 0, (size_t)n * sizeof *scan->entries);
    scan->row_least = INFINITY;
    for (int64_t t = 0; t < n; t++) {
        const int64_t start = matrix->dense != NULL ? t * n : matrix->starts[t];
        const int64_t end = matrix->dense != NULL ? (t + 1) * n : matrix->starts[t + 1];
        double sum = 0;
        for (int64_t i = start; i < end; i++) {
            const int64_t s = matrix->dense != NULL ? i - start : matrix->columns[i];
            const double value = matrix->dense != NULL ? matrix->dense[i] : matrix->values[i];
            sum += value;
            if (s == t) {
                scan->stay[s] = value;
                continue;
            }
            scan->most[s] = fmax(scan->most[s], value);
            scan->least[s] = scan->entries[s] > 0 ? fmin(scan->least[s], value) : value;
            scan->entries[s] += 1;
        }
        scan->row_least = fmin(scan->row_least, sum);
    }
}

/* Numbers near one are off by a few roundings, which are taken off the denominators or added to them; sums of
 * rows may differ from one by their own. */
nadir_status nadir_l1_reach(nadir_context *context, const nadir_problem *problem, double *work, double *share,
                            double *reach)
{
    const nadir_average *average = nadir_occupancy_average(problem->occupancy);
    const int64_t n = problem->states;
    const double gamma = problem->gamma;
    const double off = 2 * nadir_verified_solver_make(context, problem).averaging;
    const double sum_off = off + nadir_round_error((double)(nadir_average_row_length(average) + 2));
    const double sum = average->norm * (1 + sum_off);
    average_scan scan = {work, work + n, work + 2 * n, work + 3 * n, 0};
    NADIR_TRY(nadir_average_fetch(context, nadir_occupancy_average(problem->occupancy)));
    scan_average(&average->matrix, &scan);
    for (int64_t s = 0; s < n; s++) {
        const double step = scan.most[s] * (1 + off);
        const double missed = nadir_round_below(1 - gamma * (sum - step), 1, 4);
        const double hit = missed > 0 ? fmin(1, nadir_round_up(gamma * step / missed, 4)) : 1;
        const double stay = fmin(sum, scan.stay[s] * (1 + off));
        const double leave = nadir_round_below(1 - gamma * stay - gamma * (sum - stay) * hit, 1, 8);
        const double rare = n == 1 || scan.entries[s] < (double)(n - 1) ? 0 : scan.least[s] * (1 - off);
        const double left = scan.row_least * (1 - sum_off) - rare;
        const double common = gamma * rare / (1 - gamma * left + nadir_round_error(4));
        share[s] = n > 1 ? 1 - nadir_round_down(common, 4) + nadir_round_error(1) : 0;
        reach[s] = n == 1 ? 0 : leave > 0 ? nadir_round_up(0.5 / leave * share[s], 8) : INFINITY;
    }
    return NADIR_OK;
}

typedef struct l1_proof {
    nadir_context *context;
    const nadir_problem *problem;
    double beta, lambda;
    bool claimed;       /* beta is claimed to be below breakdown: no penalty is asked for */
    double v_size;      /* max |v| */
    double v_halfrange; /* halfrange(v), error included */
    nadir_verified_solver solver;
    double *H;       /* [states] */
    double *columns; /* [BLOCK * states] */
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

/* Whether the column of s is needed: what is cheap shows neither a penalty of at most `high` nor, where a
 * breakdown radius is claimed, that breakdown is beyond it. */
static bool is_open(const l1_proof *self, int64_t s, double high)
{
    return self->claimed ? gamma_beta_W(self, s) * self->H[s] > 1 : simple_bound(self, s) > high;
}

/* H_s from sums over every BLOCK-th state. share: [states] of nadir_l1_reach; NULL: ones. */
static nadir_status tighten_H(const l1_proof *self, const double *share)
{
    const int64_t n = self->problem->states;
    nadir_accuracy accuracy;
    for (int64_t i = 0; i < BLOCK * n; i++) {
        self->columns[i] = i % n % BLOCK == i / n ? 1 : 0;
    }
    NADIR_TRY(nadir_progress(self->context, "checking", -1));
    NADIR_TRY(nadir_occupancy_solve(self->context, self->problem->occupancy, BLOCK, self->columns,
                                    self->columns, &accuracy));
    /* as in verified_solve.h: the residual, and the error of averaging P over the actions */
    const double largest = nadir_vector_largest(BLOCK * n, self->columns);
    const double residual = accuracy.residual + self->solver.averaging * self->solver.size * largest;
    const double error = nadir_verified_solve_error(&self->solver, nadir_round_up(residual, 8));
    for (int64_t s = 0; s < n; s++) {
        const double sum = self->columns[s % BLOCK * n + s] + error;
        const double H = share != NULL ? nadir_round_up(sum / 2 * share[s], 8) : nadir_round_up(sum / 2, 4);
        self->H[s] = fmin(self->H[s], H);
    }
    return NADIR_OK;
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
    const int64_t n = self->problem->states;
    double residual;
    NADIR_TRY(nadir_verified_solve_columns(self->context, self->problem, &self->solver, count, states,
                                           self->columns, &residual));
    const double error = nadir_verified_solve_error(&self->solver, residual);
    for (int64_t j = 0; j < count; j++) {
        const double by_column = column_bound(self, states[j], self->columns + j * n, error);
        *lambda_high = fmax(*lambda_high, fmin(by_column, simple_bound(self, states[j])));
    }
    return NADIR_OK;
}

/* Forms columns where they are needed: H of the states is then as good as it gets, and no kernel has a penalty
 * above *lambda_high. share: as for tighten_H. */
static nadir_status close_states(const l1_proof *self, const double *share, double *lambda_high)
{
    const int64_t n = self->problem->states;
    int64_t states[BLOCK];
    int64_t waiting = 0;
    int64_t open = 0;
    *lambda_high = self->lambda;
    for (int64_t s = 0; s < n; s++) {
        open += is_open(self, s, self->lambda);
    }
    if (open > BLOCK) {
        NADIR_TRY(tighten_H(self, share));
    }
    for (int64_t s = 0; s < n; s++) {
        if (is_open(self, s, *lambda_high)) {
            states[waiting++] = s;
        }
        if (waiting == BLOCK || (waiting > 0 && s == n - 1)) {
            NADIR_TRY(try_columns(self, waiting, states, lambda_high));
            waiting = 0;
        }
    }
    return NADIR_OK;
}

/* *able: false where rounding leaves no contraction, and so no bound. To be cleared in any case. */
static nadir_status begin(l1_proof *self, bool *able)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    NADIR_NEW(self->context, self->H, n);
    NADIR_NEW(self->context, self->columns, BLOCK * n);
    self->solver = nadir_verified_solver_make(self->context, problem);
    self->v_size = nadir_vector_largest(n, problem->v);
    self->v_halfrange = nadir_round_up(halfrange(n, 1, problem->v, 0, problem->v) + problem->v_error, 4);
    *able = self->solver.gap > 0;
    for (int64_t s = 0; s < n; s++) {
        self->H[s] = n > 1 ? nadir_round_up(0.5 / self->solver.gap, 4) : 0;
    }
cleanup:
    return status;
}

static void clear(l1_proof *self)
{
    nadir_release(self->context, self->H);
    nadir_release(self->context, self->columns);
}

nadir_status nadir_l1_bound(nadir_context *context, const nadir_problem *problem, double beta, double lambda,
                            double *lambda_high)
{
    nadir_status status = NADIR_OK;
    l1_proof self = {.context = context, .problem = problem, .beta = beta, .lambda = fmax(0, lambda)};
    bool able;
    NADIR_CHECK(begin(&self, &able));
    *lambda_high = INFINITY;
    if (able) {
        NADIR_CHECK(close_states(&self, NULL, lambda_high));
    }
cleanup:
    clear(&self);
    return status;
}

nadir_status nadir_l1_breakdown_low(nadir_context *context, const nadir_problem *problem, double claimed,
                                    double *low)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    l1_proof self = {.context = context, .problem = problem, .beta = claimed, .claimed = true};
    double *share = NULL;
    double *reach = NULL;
    double most = 0;
    double unused;
    bool able;
    NADIR_NEW(context, share, n);
    NADIR_NEW(context, reach, n);
    NADIR_CHECK(begin(&self, &able));
    NADIR_CHECK(nadir_l1_reach(context, problem, self.columns, share, reach));
    for (int64_t s = 0; s < n; s++) {
        self.H[s] = able ? fmin(self.H[s], reach[s]) : reach[s];
    }
    if (able) {
        NADIR_CHECK(close_states(&self, share, &unused));
    }
    for (int64_t s = 0; s < n; s++) {
        most = fmax(most, problem->gamma * problem->uncertainty->W[s] * self.H[s]);
    }
    *low = 1 / nadir_round_up(most, 8);
cleanup:
    clear(&self);
    nadir_release(context, share);
    nadir_release(context, reach);
    return status;
}

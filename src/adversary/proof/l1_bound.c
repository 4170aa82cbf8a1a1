/*
 * l1_bound.c: no kernel of the non-rectangular L_1 ball on the free domain costs more than a given penalty, or
 * more than a little above it; see free_bounds.h. Shares nothing with the search in l1_enumeration.c.
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

#include "adversary/proof/free_bounds.h"

#include "base/round.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

/* Right-hand sides at a time. */
enum { SIDES = 32 };

typedef struct proof {
    nadir_context *context;
    const nadir_problem *problem;
    double beta, lambda;
    double size;      /* max |v| */
    double spread;    /* halfrange(v), error included */
    double gap;       /* 1 - gamma, rounded down */
    double averaging; /* relative error of the entries of P^pi */
    double *H;        /* [states] */
    double *sides;    /* [SIDES * states] */
} proof;

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
static double push(const proof *at, int64_t s)
{
    return nadir_round_up(at->problem->gamma * at->beta * at->problem->uncertainty->W[s], 8);
}

/* 1 - gamma beta W_s H_s, rounded down. */
static double room(const proof *at, int64_t s)
{
    return nadir_round_below(1 - nadir_round_up(push(at, s) * at->H[s], 4), 1, 2);
}

/* f_s(0) over the slope. */
static double simple_bound(const proof *at, int64_t s)
{
    const nadir_problem *problem = at->problem;
    if (push(at, s) == 0) {
        return 0;
    }
    const double strength = push(at, s) * (fmax(0, problem->d[s]) + problem->d_error) * at->spread;
    return room(at, s) > 0 ? nadir_round_up(strength / room(at, s), 8) : INFINITY;
}

static int64_t count_open(const proof *at)
{
    int64_t open = 0;
    for (int64_t s = 0; s < at->problem->states; s++) {
        open += simple_bound(at, s) > at->lambda;
    }
    return open;
}

/* D times what stands in at->sides; *error: of every entry, that of averaging P over the actions too. */
static nadir_status solve(const proof *at, int64_t count, double *error)
{
    nadir_status status = NADIR_OK;
    nadir_accuracy accuracy;
    NADIR_CHECK(nadir_progress(at->context, "checking", -1));
    NADIR_CHECK(
        nadir_occupancy_solve(at->context, at->problem->occupancy, count, at->sides, at->sides, &accuracy));
    const double largest = nadir_vector_largest(count * at->problem->states, at->sides);
    *error = accuracy.error_bound + nadir_round_up(at->averaging * largest / at->gap, 8);
cleanup:
    return status;
}

/* H_s from sums over every SIDES-th state. */
static nadir_status sharpen(const proof *at)
{
    nadir_status status = NADIR_OK;
    const int64_t n = at->problem->states;
    double error;
    for (int64_t i = 0; i < SIDES * n; i++) {
        at->sides[i] = i % n % SIDES == i / n ? 1 : 0;
    }
    NADIR_CHECK(solve(at, SIDES, &error));
    for (int64_t s = 0; s < n; s++) {
        const double sum = at->sides[s % SIDES * n + s] + error;
        at->H[s] = fmin(at->H[s], nadir_round_up(sum / 2, 4));
    }
cleanup:
    return status;
}

/* The bound that the column of s gives. */
static double column_bound(const proof *at, int64_t s, const double *column, double error)
{
    const nadir_problem *problem = at->problem;
    const int64_t n = problem->states;
    const double d = problem->d[s];
    const double largest = nadir_vector_largest(n, column);
    at->H[s] = fmin(at->H[s], nadir_round_up(halfrange(n, 0, column, 1, column) + error, 4));
    if (!(room(at, s) > 0)) {
        return INFINITY;
    }
    /* halfrange changes by no more than the largest change of an entry: errors of d, v and the column; and
     * three roundings of each term */
    const double width = halfrange(n, d, problem->v, at->lambda, column) + problem->d_error * at->spread +
                         fabs(d) * problem->v_error + at->lambda * error +
                         nadir_round_error(4) * (fabs(d) * at->size + at->lambda * largest);
    const double above = nadir_round_up(push(at, s) * width, 4) - at->lambda;
    return at->lambda + nadir_round_up(fmax(0, above) / room(at, s), 8);
}

/* The columns of the states, [count] of them. */
static nadir_status try_columns(const proof *at, int64_t count, const int64_t *states, double *lambda_high)
{
    nadir_status status = NADIR_OK;
    const int64_t n = at->problem->states;
    double error;
    memset(at->sides, 0, (size_t)(count * n) * sizeof *at->sides);
    for (int64_t j = 0; j < count; j++) {
        at->sides[j * n + states[j]] = 1;
    }
    NADIR_CHECK(solve(at, count, &error));
    for (int64_t j = 0; j < count; j++) {
        const double by_column = column_bound(at, states[j], at->sides + j * n, error);
        *lambda_high = fmax(*lambda_high, fmin(by_column, simple_bound(at, states[j])));
    }
cleanup:
    return status;
}

static nadir_status prove(const proof *at, double *lambda_high)
{
    nadir_status status = NADIR_OK;
    const int64_t n = at->problem->states;
    int64_t states[SIDES];
    int64_t waiting = 0;
    if (count_open(at) > SIDES) {
        NADIR_CHECK(sharpen(at));
    }
    *lambda_high = at->lambda;
    for (int64_t s = 0; s < n; s++) {
        if (simple_bound(at, s) > *lambda_high) {
            states[waiting++] = s;
        }
        if (waiting == SIDES || (waiting > 0 && s == n - 1)) {
            NADIR_CHECK(try_columns(at, waiting, states, lambda_high));
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
    proof at = {.context = context, .problem = problem, .beta = beta, .lambda = fmax(0, lambda)};
    int64_t actions = 0;
    NADIR_NEW(context, at.H, n);
    NADIR_NEW(context, at.sides, SIDES * n);
    for (int64_t s = 0; s < n; s++) {
        const int64_t own = problem->model->state_rows[s + 1] - problem->model->state_rows[s];
        actions = own > actions ? own : actions;
    }
    at.averaging = nadir_round_error((double)(actions + 4));
    at.gap = nadir_round_below(
        1 - problem->gamma * norm * (1 + at.averaging + nadir_round_error((double)(n + 2))), 1, 2);
    at.size = nadir_vector_largest(n, problem->v);
    at.spread = nadir_round_up(halfrange(n, 1, problem->v, 0, problem->v) + problem->v_error, 4);
    if (!(at.gap > 0)) {
        *lambda_high = INFINITY;
        goto cleanup;
    }
    for (int64_t s = 0; s < n; s++) {
        at.H[s] = n > 1 ? nadir_round_up(0.5 / at.gap, 4) : 0;
    }
    NADIR_CHECK(prove(&at, lambda_high));
cleanup:
    nadir_release(context, at.H);
    nadir_release(context, at.sides);
    return status;
}

/*
 * two_sided_bound.c: the Lagrangian bound that uses both ends of the bounds on occupancies; see bellman_bound.h.
 *
 * It is the Bellman bound of a problem with the rewards zeta R + theta [s = t], where rows take
 *
 *     max(most of gain - tau x / high + k / high, most of gain - tau x / low + k / low)
 *
 * from v: both by weak duality.
 */
#include "core/round.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "proof/bellman_bound.h"
#include "sets/lmo_by_state.h"

#include <float.h>
#include <math.h>

/* Work space: rewards [rows], and [states] each. */
typedef struct two_sided {
    double *rewards, *low, *k, *taken, *taken_low;
} two_sided;

static bool is_usable(const nadir_problem *problem, const nadir_two_sided *by)
{
    bool usable = by->zeta >= 0 && by->zeta <= 1 && by->tau >= 0 && by->tau <= DBL_MAX &&
                  fabs(by->theta) <= DBL_MAX && by->t >= 0 && by->t < problem->states;
    for (int64_t s = 0; s < problem->states; s++) {
        usable = usable && by->k[s] >= 0 && by->k[s] <= DBL_MAX && isfinite(by->v[s]);
    }
    return usable;
}

/* At least what the rows of one state take with tau x - k at the price 1 / end > 0. */
static double with_offset(double taken, double k, double end)
{
    return k > 0 ? nadir_round_up(taken + nadir_round_up(k / end, 2) + DBL_MIN, 2) : taken;
}

/* The rows' part: work->taken, and the k that count. */
static nadir_status take(nadir_context *context, const nadir_problem *problem, double beta,
                         const nadir_occupancy_bounds *bounds, const nadir_two_sided *by, two_sided *work)
{
    nadir_status status = NADIR_OK;
    nadir_lmo_penalized lmo = {0};
    nadir_lmo_penalized lmo_low = {0};
    bool any = false;
    for (int64_t s = 0; s < problem->states; s++) {
        work->k[s] = bounds->low[s] > 0 ? by->k[s] : 0;
        work->low[s] = work->k[s] > 0 ? bounds->low[s] : 0; /* else the other end is the smaller one */
        any = any || work->k[s] > 0;
    }
    NADIR_CHECK(nadir_lmo_penalized_make(context, problem, beta, bounds->high, &lmo));
    lmo.caps = bounds->least != NULL ? bounds->least + bounds->states : NULL;
    NADIR_CHECK(nadir_lmo_penalized_solve(context, &lmo, by->tau, by->v));
    nadir_lmo_penalized_bound(&lmo, by->tau, work->taken);
    if (any) {
        NADIR_CHECK(nadir_lmo_penalized_make(context, problem, beta, work->low, &lmo_low));
        lmo_low.caps = lmo.caps;
        NADIR_CHECK(nadir_lmo_penalized_solve(context, &lmo_low, by->tau, by->v));
        nadir_lmo_penalized_bound(&lmo_low, by->tau, work->taken_low);
    }
    for (int64_t s = 0; s < problem->states && any; s++) {
        if (work->k[s] > 0) {
            work->taken[s] = fmax(with_offset(work->taken[s], work->k[s], bounds->high[s]),
                                  with_offset(work->taken_low[s], work->k[s], work->low[s]));
        }
    }
cleanup:
    nadir_lmo_penalized_clear(context, &lmo);
    nadir_lmo_penalized_clear(context, &lmo_low);
    return status;
}

/* zeta R + theta [s = t] for each row. Returns at least what roundings change of zeta J_P + theta d_P(t), and that
 * the policy of state t sums to one up to rounding alone. */
static double set_rewards(const nadir_problem *problem, double total, const nadir_two_sided *by,
                          double *rewards)
{
    const nadir_model *model = problem->model;
    const int64_t first = model->state_rows[by->t];
    const int64_t end = model->state_rows[by->t + 1];
    double mass = 0;
    double size = problem->landing != 0 ? 2 * nadir_landing_largest(model) : 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        const bool here = row >= first && row < end;
        rewards[row] = by->zeta * problem->rewards[row] + (here ? by->theta : 0);
        mass += here ? problem->policy->probabilities[row] : 0;
        size = fmax(size, fabs(problem->rewards[row]) +
                              (problem->landing != 0 ? 2 * nadir_landing_largest(model) : 0));
    }
    const double off = fabs(1 - mass) + nadir_round_error(2 * (double)(end - first + 4));
    /* two roundings of each reward, and one of what e is multiplied by */
    return nadir_round_up(
        total * (nadir_round_error(8) * (by->zeta * size + fabs(by->theta)) + off * fabs(by->theta)), 8);
}

nadir_status nadir_two_sided_bound(nadir_context *context, const nadir_problem *problem, double beta,
                                   const nadir_occupancy_bounds *bounds, const nadir_two_sided *by,
                                   double *lower)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    nadir_problem posed = *problem;
    double *memory = NULL;
    double bound;
    *lower = -INFINITY;
    if (!is_usable(problem, by)) {
        return NADIR_OK;
    }
    NADIR_NEW(context, memory, problem->rows + 4 * n);
    two_sided work = {.rewards = memory,
                      .low = memory + problem->rows,
                      .k = memory + problem->rows + n,
                      .taken = memory + problem->rows + 2 * n,
                      .taken_low = memory + problem->rows + 3 * n};
    const double rounding = set_rewards(problem, bounds->total, by, work.rewards);
    posed.rewards = work.rewards;
    posed.landing = by->zeta * problem->landing;
    NADIR_CHECK(take(context, &posed, beta, bounds, by, &work));
    NADIR_CHECK(nadir_bellman_bound(context, &posed, by->v, work.taken, &bound));
    /* a power and two products, which may underflow; a sum of n terms */
    const double power = nadir_round_up(pow(beta, problem->uncertainty->p), 8);
    const double charge = by->tau > 0 ? nadir_round_up(by->tau * (power + 4 * DBL_TRUE_MIN), 8) + DBL_MIN : 0;
    const double back = nadir_round_down(nadir_vector_sum(n, work.k), (double)(n + 4));
    const double result =
        nadir_round_below(bound - charge + back - rounding, fabs(bound) + charge + back + rounding, 6);
    *lower = isfinite(result) ? result : -INFINITY;
cleanup:
    nadir_release(context, memory);
    return status;
}

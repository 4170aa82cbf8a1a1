/*
 * row_costs_bound.c: an upper bound on the gain of every kernel of the set with costs for each row; see
 * nadir_lmo_row_costs_bound in difference_bound.h.
 *
 * For every row and every split c - omega = e1 + e2 with e2 >= 0 (free domain: e2 = 0)
 *
 *     c . (Phat - X) <= e2 . Phat + |e1|_q |Delta|_p,
 *
 * and Hölder's inequality over the rows that share a radius. omega and step are the witness: they may be any
 * numbers.
 */
#include "core/round.h"
#include "linalg/vector.h"
#include "proof/difference_bound.h"
#include "sets/lmo_row_costs.h"

#include <math.h>

/* The largest e1 of an entry: the size at which Delta = -Phat. */
static double largest_e1(const nadir_lmo_cost_row *row, double p, double step, double phat)
{
    const double alpha = row->alpha;
    if (p == 1) {
        return 0.5 / (alpha * step);
    }
    if (isinf(p)) {
        return phat < step ? 0 : INFINITY;
    }
    return p <= 2 ? pow(phat / alpha, p - 1) / (step * alpha) : pow(phat / (alpha * step), p - 1) / alpha;
}

/* e2 . Phat and |e1|_q for this omega and step, rounded up; without_e2: e2 = 0. work: [count] */
static void bound_row(const nadir_lmo_cost_row *row, double p, double q, bool without_e2, double omega,
                      double step, double *work, double *fixed, double *slope)
{
    double sum = 0;
    for (int64_t i = 0; i < row->count; i++) {
        const double e = row->cost[i] - omega;
        const double most = without_e2 ? INFINITY : largest_e1(row, p, step, row->phat[i]);
        work[i] = e > most ? most : e;
        sum += e > most ? (e - most) * row->phat[i] : 0;
    }
    /* each term and each addition rounds; a norm of n terms and a power rounds n + 16 times at most */
    const double roundings = 4 * (double)(row->count + 16);
    *fixed = nadir_round_up(sum, roundings);
    *slope = nadir_round_up(nadir_norm_short(row->count, work, q), roundings);
}

/* At least the change of c . Delta by the rounding of the costs of a row: each has 4 roundings of its terms,
 * x and y one each besides. length: at least |Delta|_1. */
static double cost_rounding(const nadir_lmo_row_costs *costs, int64_t row, double length)
{
    return nadir_round_error(8) * (fabs(costs->a[row]) + fabs(costs->b[row])) * length;
}

nadir_status nadir_lmo_row_costs_bound(nadir_context *context, const nadir_lmo_row_costs *costs, double *gain)
{
    nadir_status status = NADIR_OK;
    double *slopes = NULL;
    const nadir_uncertainty *set = costs->set;
    const bool free_domain = set->domain == NADIR_DOMAIN_FREE;
    double sum = 0;
    NADIR_NEW(context, slopes, costs->model->rows);
    nadir_lmo_cost_work *work = &costs->works->each[0];
    for (int64_t next = 0; next < costs->model->rows;) {
        const nadir_lmo_cost_group group = nadir_lmo_cost_group_from(costs, next);
        next = group.end;
        for (int64_t row = group.first; row < group.end; row++) {
            const double alpha = nadir_uncertainty_scale(set, row);
            /* |Delta|_1 <= S^(1/q) |Delta|_p, and at most 2 between distributions */
            const double length = pow((double)costs->model->states, 1 / set->q) * alpha * group.radius;
            double fixed = 0;
            slopes[row] = 0;
            if (alpha > 0) {
                sum += cost_rounding(costs, row, free_domain ? length : fmin(2, length));
            }
            if (nadir_lmo_cost_row_read_active(costs, row, work)) {
                /* a row without a step was not solved: e1 = c */
                bound_row(&work->row, set->p, set->q, free_domain || !(costs->step[row] > 0),
                          costs->omega[row], costs->step[row], work->work, &fixed, &slopes[row]);
                slopes[row] *= alpha;
            }
            sum += fixed;
        }
        sum += group.radius * nadir_norm_short(group.end - group.first, slopes + group.first, set->q);
    }
    /* sums over rows of numbers >= 0; radii of kernels that the membership check tolerates */
    *gain = nadir_round_up(sum * costs->scale, 4 * (double)(costs->model->rows + 32));
cleanup:
    nadir_release(context, slopes);
    return status;
}

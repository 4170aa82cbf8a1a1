/* sublevel_radius.c: how far kernels of a low return can be from the Lagrangian answer; see
 * lagrangian_bound.h. */
#include "proof/bellman_bound.h"

#include "core/round.h"
#include "linalg/vector.h"

#include <math.h>

/* e_s and tau / high |X_s - Phat_s|^2 of the perturbable rows of one state, with the roundings of both. */
typedef struct state_cost {
    double lack, cost;
} state_cost;

static state_cost cost_of_state(const nadir_expansion_point *point, int64_t s, double price, const double *v,
                                double range)
{
    const nadir_perturbable_rows *perturbable = point->perturbable;
    state_cost sum = {0, 0};
    for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
        const double force = point->problem.gamma * perturbable->pi[i];
        const double hold = 2 * price / nadir_perturbable_rows_alpha(perturbable, i) /
                            nadir_perturbable_rows_alpha(perturbable, i);
        double lowest = INFINITY;
        double widest = 0;
        double square = 0;
        double mean = 0;
        for (int64_t j = 0; j < nadir_perturbable_rows_length(perturbable, i); j++) {
            const int64_t e = perturbable->starts[i] + j;
            const double change = point->X[e] - perturbable->phat[e];
            const double h = force * v[nadir_perturbable_rows_column(perturbable, i, j)] + hold * change;
            lowest = fmin(lowest, h);
            mean += point->X[e] * h;
            square += change * change;
            widest = fmax(widest, fabs(change));
        }
        const double size = force * range + hold * widest;
        const double rounding =
            nadir_round_error((double)(2 * nadir_perturbable_rows_length(perturbable, i) + 32)) * size;
        sum.lack += fmax(mean - lowest, 0) + rounding + 2 * point->sum_off * size;
        sum.cost +=
            nadir_round_down(hold / 2 * square, (double)(nadir_perturbable_rows_length(perturbable, i) + 16));
    }
    return sum;
}

/* At least max(f_s, 0) of all states; shifted: v less its mean. */
static void find_lacks(const nadir_context *context, const nadir_expansion_point *point,
                       const nadir_occupancy_bounds *bounds, double tau, const double *v,
                       const double *shifted, const double *product, double *f)
{
    const nadir_problem *problem = &point->problem;
    const int64_t n = bounds->states;
    const double range = nadir_vector_largest(n, shifted);
    const double largest = nadir_vector_largest(n, v);
    const double rewards = nadir_vector_largest(problem->rows, problem->rewards);
    const nadir_average *average = nadir_occupancy_average(problem->occupancy);
    /* rounding of the product, of the averages P^pi and R^pi, and of the differences */
    const double rounding = problem->gamma * largest *
                                (nadir_round_error(nadir_average_roundings(context, average, false)) *
                                     nadir_average_terms(average) +
                                 point->known.averaging * point->known.size) +
                            2 * point->known.averaging * rewards + nadir_round_error(8) * (largest + rewards);
    for (int64_t s = 0; s < n; s++) {
        f[s] = 0;
        if (bounds->high[s] > 0) {
            const state_cost own = cost_of_state(point, s, tau / bounds->high[s], shifted, range);
            const double fall = v[s] - problem->R[s] - problem->gamma * product[s];
            const double lack = fall - own.cost + own.lack + rounding;
            f[s] = lack <= 0 ? 0 : nadir_round_up(lack, 8); /* a NaN stays */
        }
    }
}

nadir_status nadir_sublevel_radius(nadir_context *context, const nadir_expansion_point *point,
                                   const nadir_occupancy_bounds *bounds, double beta, double tau,
                                   const double *v, double level, double *radius)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = &point->problem;
    const int64_t n = bounds->states;
    double *work = NULL;
    double error;
    double lost;
    NADIR_NEW(context, work, 3 * n);
    double *product = work;
    double *shifted = work + n;
    double *f = work + 2 * n;
    const double mean = nadir_vector_sum(n, v) / (double)n;
    for (int64_t s = 0; s < n; s++) {
        shifted[s] = v[s] - mean;
    }
    nadir_average_multiply(context, nadir_occupancy_average(problem->occupancy), 1, v, product);
    find_lacks(context, point, bounds, tau, v, shifted, product, f);
    NADIR_CHECK(nadir_occupancy_bounds_most(context, bounds, f, &lost));
    const double value = nadir_vector_dot(n, problem->mu, v, &error);
    const double charge = tau * beta * beta;
    /* the shift of v costs a rounding, and rows of X sum to one up to sum_off */
    const double shift = point->total * (nadir_round_error(2) + point->sum_off) * nadir_vector_largest(n, v);
    const double over = level + charge - value + lost + error + shift +
                        nadir_round_error(8) * (fabs(level) + charge + fabs(value));
    /* a quotient and a root */
    *radius = over < 0 ? -1 : nadir_round_up(sqrt(over / tau), 8);
cleanup:
    nadir_release(context, work);
    return status;
}

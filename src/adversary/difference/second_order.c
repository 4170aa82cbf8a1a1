/* second_order.c: the bound around a stationary kernel; see second_order.h for the proof. */
#include "adversary/difference/second_order.h"

#include "adversary/enclosure.h"
#include "kernel/explicit.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT        (DBL_EPSILON / 2)
#define POWER_STEPS 60

/* ------------------------------------------------------------------------------------------ slack */

/* What the rows of P* are compared with. */
typedef struct gradient {
    const nadir_pair *pair;
    double tau;
    double *g; /* [states] G + 2 tau Delta* / alpha^2 of one row */
    double *p; /* [states] P* of that row */
    bool *allowed;
    double largest; /* |g| of that row */
} gradient;

static void fill_row(gradient *at, nadir_explicit *kernel, int64_t row, double alpha)
{
    const nadir_lmo_row_costs *costs = &at->pair->costs;
    const int64_t n = costs->model->states;
    const nadir_row nominal = nadir_model_row(costs->model, row);
    const nadir_row own = nadir_explicit_row(kernel, row);
    const double pull = 2 * at->tau / alpha / alpha;
    const bool support = costs->set->domain == NADIR_DOMAIN_SUPPORT;
    memset(at->p, 0, (size_t)n * sizeof *at->p);
    memset(at->g, 0, (size_t)n * sizeof *at->g);
    for (int64_t t = 0; t < n; t++) {
        at->allowed[t] = !support;
    }
    for (int64_t i = 0; i < own.count; i++) {
        at->p[own.columns[i]] = own.values[i];
    }
    for (int64_t i = 0; i < nominal.count; i++) {
        const int64_t t = nadir_row_column(&nominal, i);
        at->g[t] = nominal.values[i];
        at->allowed[t] = at->allowed[t] || nominal.values[i] > 0;
    }
    at->largest = 0;
    for (int64_t t = 0; t < n; t++) {
        const double cost = (costs->a[row] * costs->x[t] - costs->b[row] * costs->y[t]) * costs->scale;
        const double moved = pull * (at->p[t] - at->g[t]);
        at->g[t] = cost + moved;
        at->largest = fmax(at->largest, fabs(cost) + fabs(moved));
    }
}

/* g . P* - min g over the allowed successors. */
static double row_slack(const gradient *at, int64_t n)
{
    double smallest = INFINITY;
    double mean = 0;
    for (int64_t t = 0; t < n; t++) {
        smallest = at->allowed[t] ? fmin(smallest, at->g[t]) : smallest;
    }
    for (int64_t t = 0; t < n; t++) {
        mean += at->p[t] * (at->g[t] - smallest);
    }
    return mean;
}

/* alpha |Phi g|_2 */
static double row_spread(const gradient *at, int64_t n, double alpha)
{
    const double mean = nadir_vector_sum(n, at->g) / (double)n;
    double sum = 0;
    for (int64_t t = 0; t < n; t++) {
        sum += (at->g[t] - mean) * (at->g[t] - mean);
    }
    return alpha * sqrt(sum);
}

nadir_status nadir_pair_slack(nadir_context *context, const nadir_pair *pair, const nadir_pair_point *point,
                              double tau, double *slack)
{
    nadir_status status = NADIR_OK;
    nadir_explicit kernel = {0};
    gradient at = {.pair = pair, .tau = tau};
    const nadir_uncertainty *set = pair->costs.set;
    const int64_t n = pair->costs.model->states;
    const bool free_domain = set->domain == NADIR_DOMAIN_FREE;
    double sum = 0;
    double squares = 0;
    NADIR_NEW(context, at.g, n);
    NADIR_NEW(context, at.p, n);
    NADIR_NEW(context, at.allowed, n);
    NADIR_CHECK(nadir_explicit_make(context, point->kernel, &kernel));
    for (int64_t row = 0; row < pair->costs.model->rows; row++) {
        const double alpha = nadir_uncertainty_scale(set, row);
        if (!(alpha > 0)) {
            continue;
        }
        fill_row(&at, &kernel, row, alpha);
        /* entries of g are off by a few roundings, and sums by as many as they have terms */
        const double rounding = 8 * UNIT * at.largest;
        if (free_domain) {
            const double spread = row_spread(&at, n, alpha) * (1 + 4 * UNIT * (double)(n + 16)) +
                                  alpha * rounding * sqrt((double)n);
            squares += spread * spread;
        } else {
            sum += row_slack(&at, n) * (1 + 4 * UNIT * (double)(n + 16)) + 2 * rounding +
                   4 * UNIT * (double)(n + 16) * at.largest; /* rows that are not 1 */
        }
    }
    *slack = free_domain ? 2 * set->radius * sqrt(squares) : sum;
    *slack *= 1 + 4 * UNIT * (double)(pair->costs.model->rows + 16);
cleanup:
    nadir_explicit_clear(context, &kernel);
    nadir_release(context, at.g);
    nadir_release(context, at.p);
    nadir_release(context, at.allowed);
    return status;
}

/* -------------------------------------------------------------------------------------- curvature */

/* By norms. */
static nadir_status curve_by_norms(nadir_context *context, const nadir_pair *pair,
                                   const nadir_pair_found *found, const nadir_pair_facts *facts, double *C)
{
    nadir_status status = NADIR_OK;
    double *work = NULL;
    const double beta = pair->problem[0]->uncertainty->radius;
    NADIR_NEW(context, work, 2 * pair->problem[0]->states);
    *C = 0;
    for (int i = 0; i < 2; i++) {
        const nadir_influence *known = &facts->influence[i];
        const double rest = 1 - known->kappa;
        const double error = fmax(fabs(facts->check[i].low), fabs(facts->check[i].high));
        double spread;
        if (!(rest > 0)) {
            *C = INFINITY;
            goto cleanup;
        }
        NADIR_CHECK(nadir_influence_spread(context, pair->problem[i], found->point.v[i], work, &spread));
        spread += known->widest * error;
        *C += known->reach / beta * (known->kappa / beta) / rest / rest * spread * (1 + 32 * UNIT / rest);
    }
cleanup:
    nadir_release(context, work);
    return status;
}

/* Adds the matrix of one policy: at [t * n + s]. work: [4 * n] */
static nadir_status add_matrix(nadir_context *context, nadir_pair *pair, const nadir_pair_found *found,
                               const nadir_pair_facts *facts, int i, double *pulls, double *matrix,
                               double *work)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = pair->problem[i];
    const int64_t n = problem->states;
    const double error = fmax(fabs(facts->check[i].low), fabs(facts->check[i].high));
    double *of_value = work + 3 * n;
    NADIR_CHECK(nadir_pull(context, problem, found->point.v[i], error, work, of_value));
    NADIR_CHECK(nadir_pull_columns(context, problem, pair->operators[i].occupancy, pulls));
    for (int64_t t = 0; t < n; t++) {
        const double weight = problem->gamma * problem->gamma * of_value[t];
        for (int64_t s = 0; s < n; s++) {
            matrix[t * n + s] += weight * facts->range[i].high[s] * pulls[t * n + s];
        }
    }
cleanup:
    return status;
}

/* At least the largest eigenvalue of (M + M^T) / 2, M >= 0: the largest quotient (M + M^T) z / 2 z of a z >
 * 0, near its eigenvector. z, next: [n] */
static double bound_eigenvalue(int64_t n, const double *matrix, double *z, double *next)
{
    double best = INFINITY;
    for (int64_t s = 0; s < n; s++) {
        z[s] = 1;
    }
    for (int i = 0; i < POWER_STEPS; i++) {
        double largest = 0;
        double quotient = 0;
        memset(next, 0, (size_t)n * sizeof *next);
        for (int64_t t = 0; t < n; t++) {
            double sum = 0;
            for (int64_t s = 0; s < n; s++) {
                sum += matrix[t * n + s] * z[s];
                next[s] += 0.5 * matrix[t * n + s] * z[t];
            }
            next[t] += 0.5 * sum;
        }
        for (int64_t s = 0; s < n; s++) {
            quotient = fmax(quotient, next[s] / z[s]);
            largest = fmax(largest, next[s]);
        }
        best = fmin(best, quotient);
        if (largest == 0) {
            break;
        }
        for (int64_t s = 0; s < n; s++) { /* stays positive, so that every quotient is a bound */
            z[s] = fmax(0.5 * (next[s] / largest + z[s]), 1e-12);
        }
    }
    return best * (1 + 4 * UNIT * (double)(2 * n + 16));
}

static nadir_status curve_by_columns(nadir_context *context, nadir_pair *pair, const nadir_pair_found *found,
                                     const nadir_pair_facts *facts, double *C)
{
    nadir_status status = NADIR_OK;
    const int64_t n = pair->problem[0]->states;
    double *matrix = NULL;
    double *pulls = NULL;
    double *work = NULL;
    NADIR_NEW_ZERO(context, matrix, n * n);
    NADIR_NEW(context, pulls, n * n);
    NADIR_NEW(context, work, 4 * n);
    for (int i = 0; i < 2; i++) {
        NADIR_CHECK(add_matrix(context, pair, found, facts, i, pulls, matrix, work));
    }
    *C = bound_eigenvalue(n, matrix, work, work + n);
cleanup:
    nadir_release(context, matrix);
    nadir_release(context, pulls);
    nadir_release(context, work);
    return status;
}

/* ------------------------------------------------------------------------------------------ bound */

/* Occupancies at P* anew with their errors, and what errors of both v and d can hide in <G, delta>. */
static nadir_status renew(nadir_context *context, nadir_pair *pair, nadir_pair_found *found,
                          const nadir_pair_facts *facts, double *hidden)
{
    nadir_status status = NADIR_OK;
    nadir_pair_point *point = &found->point;
    const nadir_uncertainty *set = pair->problem[0]->uncertainty;
    const double *v[2] = {point->v[0], point->v[1]};
    *hidden = 0;
    for (int i = 0; i < 2; i++) {
        nadir_problem own = *pair->problem[i];
        own.occupancy = pair->operators[i].occupancy;
        const nadir_enclosure known = nadir_enclosure_make(context, &own);
        const nadir_influence *influence = &facts->influence[i];
        const double v_error = fmax(fabs(facts->check[i].low), fabs(facts->check[i].high));
        nadir_enclosed enclosed;
        NADIR_CHECK(nadir_enclosure_solve(context, &own, &known, true, own.mu, 0, point->d[i], &enclosed));
        const double d_error = fmin(enclosed.error, enclosed.residual * facts->inverse[i] * (1 + 4 * UNIT));
        const double largest = nadir_vector_largest(own.states, v[i]) + v_error;
        /* |delta^pi_s . x| <= 2 max |x| between distributions, and sum d_P = 1 / (1 - gamma); on the free
         * domain |delta| <= 2 beta and what influence.h has */
        const double of_d =
            set->domain == NADIR_DOMAIN_FREE ? influence->largest_W * 2 * set->radius * influence->widest : 2;
        const double of_v = set->domain == NADIR_DOMAIN_FREE
                                ? 2 * influence->reach / (1 - influence->kappa) * influence->widest
                                : 2 * own.gamma * nadir_enclosure_error(&known, 1);
        *hidden += (own.gamma * of_d * largest * d_error + of_v * (v_error + facts->row_sum * largest)) *
                   (1 + 32 * UNIT);
    }
    NADIR_CHECK(nadir_lmo_row_costs_set(context, &pair->costs, pair->problem[0]->gamma, point->d[0],
                                        pair->problem[0]->policy->probabilities, v[0], point->d[1],
                                        pair->problem[1]->policy->probabilities, v[1]));
cleanup:
    return status;
}

nadir_status nadir_pair_second_order(nadir_context *context, nadir_pair *pair, nadir_pair_found *found,
                                     const nadir_pair_facts *facts, double *lower, double *kappa)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = pair->problem[0]->uncertainty;
    const double beta = set->radius;
    const double tau = found->tau;
    double slack;
    double hidden;
    double C = INFINITY;
    double other = INFINITY;
    *lower = -INFINITY;
    *kappa = NAN;
    NADIR_CHECK(renew(context, pair, found, facts, &hidden));
    NADIR_CHECK(nadir_pair_slack(context, pair, &found->point, tau, &slack));
    NADIR_CHECK(curve_by_norms(context, pair, found, facts, &C));
    if (facts->range[0].high != NULL && facts->range[1].high != NULL && C > tau) {
        NADIR_CHECK(curve_by_columns(context, pair, found, facts, &other));
    }
    C = fmin(C, other);
    const double base = facts->check[0].lower - facts->check[1].upper;
    if (isfinite(C) && isfinite(hidden) && isfinite(base)) {
        const double open = fmax(0, beta * beta * (1 + 8 * UNIT) -
                                        facts->distance * facts->distance * (1 - 64 * DBL_EPSILON));
        const double bent = 4 * beta * beta * fmax(0, C - tau) * (1 + 8 * UNIT);
        const double lost = (slack + hidden + tau * open + bent) * (1 + 16 * UNIT);
        *lower = base - lost - 4 * UNIT * (fabs(base) + lost);
        *kappa = tau > 0 ? C / (2 * tau) : INFINITY;
    }
cleanup:
    return status;
}

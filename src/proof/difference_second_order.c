/*
 * difference_second_order.c: the bound on a difference of returns around a stationary kernel, and the ranges
 * of occupancies that it needs; see difference_bound.h for the proof.
 */
#include "core/round.h"
#include "linalg/eigen.h"
#include "linalg/gstd.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "proof/breakdown.h"
#include "proof/difference_bound.h"
#include "proof/verified_solve.h"

#include <math.h>
#include <string.h>

#define POWER_STEPS 60

/* ------------------------------------------------------------------------------------------ slack */

/* One row of P* and of the gradient of the Lagrangian there. */
typedef struct gradient_row {
    double *g; /* [2 * states] G + 2 tau Delta* / alpha^2; work */
    double *p; /* [states] P* */
    bool *allowed;
    double largest; /* |G| + |2 tau Delta* / alpha^2| */
} gradient_row;

static void fill_row(const nadir_lmo_row_costs *costs, double tau, nadir_explicit *kernel, int64_t row,
                     double alpha, gradient_row *to)
{
    const int64_t n = costs->model->states;
    const nadir_row nominal = nadir_model_row(costs->model, row);
    const nadir_row own = nadir_explicit_row(kernel, row);
    const double factor = 2 * tau / alpha / alpha;
    const bool support = costs->set->domain == NADIR_DOMAIN_SUPPORT;
    memset(to->p, 0, (size_t)n * sizeof *to->p);
    memset(to->g, 0, (size_t)n * sizeof *to->g);
    double *cost = to->g + n;
    for (int64_t t = 0; t < n; t++) {
        to->allowed[t] = !support;
        cost[t] = costs->a[row] * costs->x[t] - costs->b[row] * costs->y[t];
    }
    if (costs->landing != 0) {
        nadir_landing_costs(costs->model, row, (costs->a[row] - costs->b[row]) * costs->landing, cost, cost);
    }
    for (int64_t i = 0; i < own.count; i++) {
        to->p[own.columns[i]] = own.values[i];
    }
    for (int64_t i = 0; i < nominal.count; i++) {
        const int64_t t = nadir_row_column(&nominal, i);
        to->g[t] = nominal.values[i];
        to->allowed[t] = to->allowed[t] || nominal.values[i] > 0;
    }
    to->largest = 0;
    for (int64_t t = 0; t < n; t++) {
        const double of_costs = cost[t] * costs->scale;
        const double of_ball = factor * (to->p[t] - to->g[t]);
        to->g[t] = of_costs + of_ball;
        to->largest = fmax(to->largest, fabs(of_costs) + fabs(of_ball));
    }
}

/* g . P* - min g over the allowed successors. */
static double row_slack(const gradient_row *row, int64_t n)
{
    double smallest = INFINITY;
    double mean = 0;
    for (int64_t t = 0; t < n; t++) {
        smallest = row->allowed[t] ? fmin(smallest, row->g[t]) : smallest;
    }
    for (int64_t t = 0; t < n; t++) {
        mean += row->p[t] * (row->g[t] - smallest);
    }
    return mean;
}

/* alpha |Phi g|_2 */
static double row_seminorm(const gradient_row *row, int64_t n, double alpha)
{
    const double mean = nadir_vector_sum(n, row->g) / (double)n;
    double sum = 0;
    for (int64_t t = 0; t < n; t++) {
        sum += (row->g[t] - mean) * (row->g[t] - mean);
    }
    return alpha * sqrt(sum);
}

/* On the free domain e = 2 beta sqrt(sum of the rows' seminorms squared), else the sum of their slacks. */
nadir_status nadir_difference_slack(nadir_context *context, const nadir_lmo_row_costs *costs,
                                    const nadir_kernel *kernel, double tau, double *slack)
{
    nadir_status status = NADIR_OK;
    nadir_explicit entries = {0};
    gradient_row at_row = {0};
    const nadir_uncertainty *set = costs->set;
    const int64_t n = costs->model->states;
    const double row_roundings = 4 * (double)(n + 16);
    const bool free_domain = set->domain == NADIR_DOMAIN_FREE;
    double sum = 0;
    double squares = 0;
    NADIR_NEW(context, at_row.g, 2 * n);
    NADIR_NEW(context, at_row.p, n);
    NADIR_NEW(context, at_row.allowed, n);
    NADIR_CHECK(nadir_explicit_make(context, kernel, &entries));
    for (int64_t row = 0; row < costs->model->rows; row++) {
        const double alpha = nadir_uncertainty_scale(set, row);
        if (!(alpha > 0)) {
            continue;
        }
        fill_row(costs, tau, &entries, row, alpha, &at_row);
        const double entry_rounding = nadir_round_error(8) * at_row.largest; /* of each g */
        if (free_domain) {
            const double seminorm = nadir_round_up(row_seminorm(&at_row, n, alpha), row_roundings) +
                                    alpha * entry_rounding * sqrt((double)n);
            squares += seminorm * seminorm;
        } else {
            /* the last term: the row may sum to 1 up to rounding */
            sum += nadir_round_up(row_slack(&at_row, n), row_roundings) + 2 * entry_rounding +
                   nadir_round_error(row_roundings) * at_row.largest;
        }
    }
    *slack = nadir_round_up(free_domain ? 2 * set->radius * sqrt(squares) : sum,
                            4 * (double)(costs->model->rows + 16)); /* the sum over rows */
cleanup:
    nadir_explicit_clear(context, &entries);
    nadir_release(context, at_row.g);
    nadir_release(context, at_row.p);
    nadir_release(context, at_row.allowed);
    return status;
}

/* -------------------------------------------------------------------------------------- curvature */

/* At least the error of v at P*, maximum norm. */
static double value_error(const nadir_difference_facts *facts, int i)
{
    return fmax(fabs(facts->check[i].low), fabs(facts->check[i].high));
}

/* *norm >= |Phi D diag(w)|_2 with D at P*, from all its columns; infinity where they are too many. inverse: at least
 * |D|_inf, or infinity. w: [states], 0 or more. */
static nadir_status bound_product(nadir_context *context, const nadir_problem *problem,
                                  nadir_occupancy *occupancy, double inverse, const double *w, double *norm)
{
    nadir_status status = NADIR_OK;
    nadir_problem own = *problem;
    const int64_t n = problem->states;
    double *D = NULL;
    double residual;
    *norm = INFINITY;
    if (problem->states > NADIR_LANDING_STATES) {
        return NADIR_OK;
    }
    own.occupancy = occupancy;
    const nadir_verified_solver known = nadir_verified_solver_make(context, &own);
    NADIR_NEW(context, D, n * n);
    NADIR_CHECK(nadir_verified_solve_columns(context, &own, &known, n, NULL, D, &residual));
    /* errors of solves; the mean is off by 3 roundings, the difference by one of 2 |D|, w and the product by others */
    const double scale = fmax(nadir_vector_largest(n, w), DBL_MIN); /* squares must not overflow */
    const double off = fmin(nadir_verified_solve_error(&known, residual), residual * inverse) +
                       nadir_round_error(10) * nadir_vector_largest(n * n, D);
    for (int64_t t = 0; t < n; t++) {
        const double mean = nadir_vector_sum(n, D + t * n) / (double)n;
        for (int64_t s = 0; s < n; s++) {
            D[t * n + s] = (D[t * n + s] - mean) * (w[t] / scale);
        }
    }
    NADIR_CHECK(nadir_spectral_norm_prove(context, n, D, 0, norm));
    *norm = nadir_round_up((*norm + (double)n * off) * scale, 16); /* |w / scale|_2 <= sqrt(n) */
cleanup:
    nadir_release(context, D);
    return status;
}

/* C by norms; infinity: nothing is known. */
static nadir_status curvature_by_norms(nadir_context *context, const nadir_problem problem[2],
                                       const nadir_difference_witness *witness,
                                       const nadir_difference_facts *facts, double *C)
{
    nadir_status status = NADIR_OK;
    double *work = NULL;
    const int64_t n = problem[0].states;
    const double beta = problem[0].uncertainty->radius;
    NADIR_NEW(context, work, 4 * n);
    *C = 0;
    for (int i = 0; i < 2; i++) {
        const nadir_perturbation_bound *known = &facts->perturbation[i];
        const double rest = 1 - known->kappa;
        double seminorm;
        double norm = INFINITY;
        if (!(rest > 0)) {
            *C = INFINITY;
            goto cleanup;
        }
        NADIR_CHECK(nadir_perturbation_seminorm(context, &problem[i], problem[i].landing, witness->v[i], work,
                                                &seminorm));
        seminorm += known->seminorm_factor * value_error(facts, i);
        if (problem[i].landing != 0) { /* rows differ more than the largest seminorm tells */
            NADIR_CHECK(nadir_row_response(context, &problem[i], problem[i].landing, witness->v[i],
                                           value_error(facts, i), work, work + 3 * n));
            NADIR_CHECK(bound_product(context, &problem[i], witness->occupancy[i], facts->inverse[i],
                                      work + 3 * n, &norm));
        }
        const double product = fmin(known->kappa / beta * seminorm / rest, problem[i].gamma * norm);
        *C += nadir_round_up(known->reach / beta * product / rest,
                             32 / rest); /* rest itself is off by a rounding */
    }
cleanup:
    nadir_release(context, work);
    return status;
}

/* Adds the matrix of policy i: at [t * n + s]. responses: [n * n], work: [4 * n] */
static nadir_status add_matrix(nadir_context *context, const nadir_problem *problem,
                               const nadir_difference_witness *witness, const nadir_difference_facts *facts,
                               int i, double *responses, double *matrix, double *work)
{
    const int64_t n = problem->states;
    double *of_value = work + 3 * n;
    NADIR_TRY(nadir_row_response(context, problem, problem->landing, witness->v[i], value_error(facts, i),
                                 work, of_value));
    NADIR_TRY(nadir_row_response_columns(context, problem, witness->occupancy[i], responses));
    for (int64_t t = 0; t < n; t++) {
        const double weight = problem->gamma * problem->gamma * of_value[t];
        for (int64_t s = 0; s < n; s++) {
            matrix[t * n + s] += weight * facts->range[i].high[s] * responses[t * n + s];
        }
    }
    return NADIR_OK;
}

/* z comes from power steps. */
double nadir_symmetric_part_bound(int64_t n, const double *matrix, double *z, double *next)
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
        for (int64_t s = 0; s < n; s++) { /* stays positive */
            z[s] = fmax(0.5 * (next[s] / largest + z[s]), 1e-12);
        }
    }
    return nadir_round_up(best, 4 * (double)(2 * n + 16)); /* sums of 2 n terms >= 0 */
}

static nadir_status curvature_by_columns(nadir_context *context, const nadir_problem problem[2],
                                         const nadir_difference_witness *witness,
                                         const nadir_difference_facts *facts, double *C)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem[0].states;
    double *matrix = NULL;
    double *responses = NULL;
    double *work = NULL;
    NADIR_NEW_ZERO(context, matrix, n * n);
    NADIR_NEW(context, responses, n * n);
    NADIR_NEW(context, work, 4 * n);
    for (int i = 0; i < 2; i++) {
        NADIR_CHECK(add_matrix(context, &problem[i], witness, facts, i, responses, matrix, work));
    }
    *C = nadir_symmetric_part_bound(n, matrix, work, work + n);
cleanup:
    nadir_release(context, matrix);
    nadir_release(context, responses);
    nadir_release(context, work);
    return status;
}

/* ------------------------------------------------------------------------------------------ bound */

/* d <- the occupancy of policy i at P*. *error: at least the change of its part of <G, delta> by the errors
 * of v and d. */
static nadir_status solve_occupancy(nadir_context *context, const nadir_problem *problem,
                                    const nadir_difference_witness *witness,
                                    const nadir_difference_facts *facts, int i, double *d, double *error)
{
    nadir_problem own = *problem;
    own.occupancy = witness->occupancy[i];
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_verified_solver known = nadir_verified_solver_make(context, &own);
    const nadir_perturbation_bound *perturbation = &facts->perturbation[i];
    const double v_error = value_error(facts, i);
    nadir_solve_error enclosed;
    NADIR_TRY(nadir_verified_solve(context, &own, &known, true, own.mu, 0, NULL, 0, d, &enclosed));
    const double d_error = fmin(enclosed.error, nadir_round_up(enclosed.residual * facts->inverse[i], 4));
    const double largest = nadir_vector_largest(own.states, witness->v[i]) + v_error +
                           fabs(own.landing) * nadir_landing_largest(own.model);
    /* |delta^pi_s . x| <= 2 max |x| between distributions, and sum d_P = 1 / (1 - gamma); on the free domain
     * |delta| <= 2 beta and the norms of difference_bound.h */
    const double per_d = set->domain == NADIR_DOMAIN_FREE
                             ? perturbation->largest_W * 2 * set->radius * perturbation->seminorm_factor
                             : 2;
    const double per_v =
        set->domain == NADIR_DOMAIN_FREE
            ? 2 * perturbation->reach / (1 - perturbation->kappa) * perturbation->seminorm_factor
            : 2 * own.gamma * nadir_verified_solve_error(&known, 1);
    *error = nadir_round_up(
        own.gamma * per_d * largest * d_error + per_v * (v_error + facts->row_sum * largest), 32);
    return NADIR_OK;
}

/* costs <- G at P*. *error: at least the change of <G, delta> by the errors of v and d. */
static nadir_status set_gradient(nadir_context *context, const nadir_problem problem[2],
                                 const nadir_difference_witness *witness, const nadir_difference_facts *facts,
                                 nadir_lmo_row_costs *costs, double *error)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem[0].states;
    double *d = NULL;
    *error = 0;
    NADIR_NEW(context, d, 2 * n);
    for (int i = 0; i < 2; i++) {
        double own;
        NADIR_CHECK(solve_occupancy(context, &problem[i], witness, facts, i, d + i * n, &own));
        *error += own;
    }
    NADIR_CHECK(nadir_lmo_row_costs_set(context, costs, problem[0].gamma, problem[0].landing, d,
                                        problem[0].policy->probabilities, witness->v[0], d + n,
                                        problem[1].policy->probabilities, witness->v[1]));
cleanup:
    nadir_release(context, d);
    return status;
}

nadir_status nadir_difference_second_order(nadir_context *context, const nadir_problem problem[2],
                                           const nadir_difference_witness *witness,
                                           const nadir_difference_facts *facts, nadir_lmo_row_costs *costs,
                                           double *lower, double *kappa)
{
    const double beta = problem[0].uncertainty->radius;
    const double tau = witness->tau;
    const double base = facts->lower;
    double slack;
    double error;
    double C = INFINITY;
    double by_columns = INFINITY;
    *lower = -INFINITY;
    *kappa = NAN;
    NADIR_TRY(set_gradient(context, problem, witness, facts, costs, &error));
    NADIR_TRY(nadir_difference_slack(context, costs, witness->kernel, tau, &slack));
    NADIR_TRY(curvature_by_norms(context, problem, witness, facts, &C));
    if (facts->range[0].high != NULL && facts->range[1].high != NULL && C > tau) {
        NADIR_TRY(curvature_by_columns(context, problem, witness, facts, &by_columns));
    }
    C = fmin(C, by_columns);
    if (isfinite(C) && isfinite(error) && isfinite(base)) {
        /* beta^2 - |Delta*|^2, beta^2 rounded up and the distance of membership.h down */
        const double inside = fmax(0, nadir_round_up(beta * beta, 8) -
                                          nadir_round_down(facts->distance * facts->distance, 128));
        const double curved = nadir_round_up(4 * beta * beta * fmax(0, C - tau), 8);
        const double lost = nadir_round_up(slack + error + tau * inside + curved, 16);
        *lower = nadir_round_below(base - lost, fabs(base) + lost, 4);
        *kappa = tau > 0 ? C / (2 * tau) : INFINITY;
    }
    return NADIR_OK;
}

/* Bounds on the occupancies of all kernels of a set; see difference_bound.h. */

enum { PASSES = 6, BLOCK = 64 }; /* over all states; columns of D at once */

/* Roundings of a norm, a power or a sum over all states of numbers >= 0. */
static double state_roundings(const nadir_problem *problem)
{
    return 8 * (double)(problem->states + 32);
}

/* --------------------------------------------------------------------------------------- response */

/* At least sigma_q of x[count], where x is known to `error`: every omega gives a bound. work: [2 * count] */
static nadir_status sigma_of(nadir_context *context, int64_t count, const double *x, double q, double error,
                             double *work, double *sigma)
{
    nadir_gstd gstd;
    /* x - omega is off by the error of x and by rounding */
    const double each = nadir_round_above(error, nadir_vector_largest(count, x), 4);
    NADIR_TRY(nadir_gstd_compute(context, 0, count, x, q, work, NULL, &gstd));
    for (int64_t i = 0; i < count; i++) {
        work[i] = fabs(x[i] - gstd.omega) + each;
    }
    *sigma = count > 1 ? nadir_round_up(nadir_norm_short(count, work, q), 4 * (double)(count + 32)) : 0;
    return NADIR_OK;
}

/* sigma_sa(x + landing e) of a row; all: sigma(x) over all states. work: [3 * states] */
static nadir_status row_sigma(nadir_context *context, const nadir_problem *problem, int64_t row,
                              double landing, const double *x, double error, double all, double *work,
                              double *sigma)
{
    const nadir_row nominal = nadir_model_row(problem->model, row);
    const bool support = problem->uncertainty->domain == NADIR_DOMAIN_SUPPORT;
    int64_t count = 0;
    for (int64_t i = 0; support && i < nominal.count; i++) {
        work[count] = x[nadir_row_column(&nominal, i)];
        count += nominal.values[i] > 0;
    }
    if (support && landing != 0) {
        nadir_landing_add(problem->model, row, landing, true, work);
    } else if (landing != 0) {
        nadir_landing_costs(problem->model, row, landing, x, work);
        count = problem->states;
    }
    *sigma = all;
    return landing == 0 && (!support || count == problem->states)
               ? NADIR_OK
               : sigma_of(context, count, work, problem->uncertainty->q, error, work + problem->states,
                          sigma);
}

nadir_status nadir_row_response(nadir_context *context, const nadir_problem *problem, double landing,
                                const double *x, double error, double *work, double *response)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_model *model = problem->model;
    /* the factor, its product with e and the sum */
    const double of_costs = landing == 0 ? error
                                         : nadir_round_above(error,
                                                             nadir_vector_largest(problem->states, x) +
                                                                 fabs(landing) * nadir_landing_largest(model),
                                                             8);
    double all;
    NADIR_TRY(sigma_of(context, problem->states, x, set->q, error, work, &all));
    for (int64_t s = 0; s < problem->states; s++) {
        double largest = 0; /* of the terms alpha pi sigma */
        double sum = 0;     /* of radii times terms */
        double powers = 0;  /* of (term / largest)^q */
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double shape = nadir_uncertainty_scale(set, row) * problem->policy->probabilities[row];
            double sigma = all;
            if (shape > 0) {
                NADIR_TRY(row_sigma(context, problem, row, landing, x, of_costs, all, work, &sigma));
            }
            const double term = shape * sigma;
            sum += term * nadir_uncertainty_radius(set, s, row);
            if (term > largest) {
                powers = 1 + (isinf(set->q) ? 0 : powers * pow(largest / term, set->q));
                largest = term;
            } else if (term > 0 && !isinf(set->q)) {
                powers += pow(term / largest, set->q);
            }
        }
        const double norm = largest > 0 ? largest * pow(powers, 1 / set->q) : 0;
        response[s] = nadir_round_up(set->set == NADIR_SET_SA ? sum : norm,
                                     8 * (double)(model->state_rows[s + 1] - model->state_rows[s] + 32));
    }
    return NADIR_OK;
}

double nadir_row_response_total(const nadir_problem *problem, const double *weight, const double *response,
                                double *work)
{
    const nadir_uncertainty *set = problem->uncertainty;
    double sum = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        work[s] = weight[s] * response[s];
        sum += set->set == NADIR_SET_S
                   ? work[s] * nadir_uncertainty_radius(set, s, problem->model->state_rows[s])
                   : work[s];
    }
    return nadir_round_up(
        set->set == NADIR_SET_NONRECT ? set->radius * nadir_norm_short(problem->states, work, set->q) : sum,
        state_roundings(problem));
}

nadir_status nadir_row_response_columns(nadir_context *context, const nadir_problem *problem,
                                        nadir_occupancy *occupancy, double *responses)
{
    nadir_status status = NADIR_OK;
    nadir_problem own = *problem;
    const int64_t n = problem->states;
    double *columns = NULL;
    double *work = NULL;
    int64_t which[BLOCK];
    double residual;
    own.occupancy = occupancy;
    const nadir_verified_solver known = nadir_verified_solver_make(context, &own);
    NADIR_NEW(context, columns, n * (n < BLOCK ? n : BLOCK));
    NADIR_NEW(context, work, 3 * n);
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t count = first + BLOCK < n ? BLOCK : n - first;
        for (int64_t i = 0; i < count; i++) {
            which[i] = first + i;
        }
        NADIR_CHECK(nadir_verified_solve_columns(context, &own, &known, count, which, columns, &residual));
        const double error = nadir_verified_solve_error(&known, residual);
        for (int64_t i = 0; i < count; i++) {
            NADIR_CHECK(nadir_row_response(context, problem, 0, columns + i * n, error, work,
                                           responses + (first + i) * n));
        }
    }
cleanup:
    nadir_release(context, columns);
    nadir_release(context, work);
    return status;
}

/* ----------------------------------------------------------------------------------------- ranges */

/* *change: the right-hand side of the inequality of difference_bound.h. value: [states] work space. */
static nadir_status bound_change(nadir_context *context, const nadir_problem *problem,
                                 const nadir_occupancy_bounds *range, const double *response, double *value,
                                 double *change)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t n = problem->states;
    const bool ball = set->set == NADIR_SET_NONRECT;
    const double largest = nadir_vector_largest(n, response);
    double sum = 0;
    double most = 0;
    for (int64_t s = 0; s < n; s++) {
        const double radius =
            set->set == NADIR_SET_S ? nadir_uncertainty_radius(set, s, problem->model->state_rows[s]) : 1;
        const double share = largest > 0 ? response[s] / largest : 0;
        most = fmax(most, range->high[s] * response[s]);
        value[s] =
            ball ? pow(range->high[s] / range->total, set->q - 1) * pow(share, set->q) : radius * response[s];
    }
    if (!(ball && isinf(set->q))) {
        NADIR_TRY(nadir_occupancy_bounds_most(context, range, value, &sum));
        most = ball ? largest * pow(range->total, 1 - 1 / set->q) * pow(sum, 1 / set->q) : sum;
    }
    *change = nadir_round_up(problem->gamma * most * (ball ? set->radius : 1), state_roundings(problem));
    return NADIR_OK;
}

/* responses: [states * states] of the columns of D. */
static nadir_status narrow(nadir_context *context, const nadir_problem *problem, const double *responses,
                           nadir_occupancy_bounds *range)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    double *value = NULL;
    double *next = NULL;
    double moved = 1;
    NADIR_NEW(context, value, n);
    NADIR_NEW_ZERO(context, next, 2 * n);
    for (int pass = 0; pass < PASSES && moved > 0.01; pass++) {
        NADIR_CHECK(nadir_progress(context, "bounds on occupancies", (double)pass / PASSES));
        moved = 0;
        for (int64_t t = 0; t < n; t++) {
            const double d = problem->d[t];
            double change;
            NADIR_CHECK(bound_change(context, problem, range, responses + t * n, value, &change));
            const double width = nadir_round_up(change + problem->d_error, 8);
            next[t] = fmin(range->high[t], nadir_round_up(d + width, 4));
            next[n + t] = fmax(next[n + t], nadir_round_below(d - width, fabs(d) + width, 4));
            moved = fmax(moved, (range->high[t] - next[t]) / range->high[t]);
        }
        for (int64_t t = 0; t < n; t++) {
            range->high[t] = fmax(next[t], 0);
        }
    }
    memcpy(range->low, next + n, (size_t)n * sizeof *next);
cleanup:
    nadir_release(context, value);
    nadir_release(context, next);
    return status;
}

nadir_status nadir_occupancy_range_make(nadir_context *context, const nadir_problem *problem,
                                        nadir_occupancy_bounds *range)
{
    nadir_status status = NADIR_OK;
    double *responses = NULL;
    const int64_t n = problem->states;
    const nadir_verified_solver known = nadir_verified_solver_make(context, problem);
    /* rows of every kernel sum to 1 up to the rounding of the average; without a discount the problem knows how long they
     * last */
    const double total =
        problem->gamma == 1 ? nadir_round_up(1 / problem->gap, 4)
                            : nadir_round_up(nadir_verified_solve_error(&known, 1), state_roundings(problem));
    *range = (nadir_occupancy_bounds){
        .states = n, .total = total, .longest = problem->gamma == 1 ? problem->longest : total};
    NADIR_NEW(context, responses, n * n);
    NADIR_NEW(context, range->high, n);
    NADIR_NEW_ZERO(context, range->low, n);
    for (int64_t s = 0; s < n; s++) {
        range->high[s] = problem->most != NULL ? fmin(problem->most[s], total) : total;
    }
    NADIR_CHECK(nadir_row_response_columns(context, problem, problem->occupancy, responses));
    NADIR_CHECK(narrow(context, problem, responses, range));
cleanup:
    nadir_release(context, responses);
    return status;
}

/*
 * influence.c: what the kernels of a set can do to a policy, by norms; see influence.h.
 *
 * Errors: with e = D r + gamma D Delta^pi e, s(e) <= s(D r) / (1 - kappa) and mu . e = d . r + gamma d .
 * Delta^pi e, so that |mu . e| <= |D r|_max + reach s(e). |D r|_max <= residual / (1 - gamma), s(x) <= widest
 * |x|_max with widest = sqrt(S) or S^(1/q).
 */
#include "adversary/difference/influence.h"

#include "adversary/enclosure.h"
#include "adversary/free/breakdown.h"
#include "linalg/gstd.h"
#include "linalg/norm.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>

#define UNIT (DBL_EPSILON / 2)

/* Up to so many states D is formed without being asked, as for the free domain. */
#define COLUMNS_STATES 400

/* A norm, a product or a sum of n numbers that are not negative, from above. */
static double up(const nadir_problem *problem)
{
    return 1 + 8 * UNIT * (double)(problem->states + 32);
}

nadir_status nadir_influence_spread(nadir_context *context, const nadir_problem *problem, const double *x,
                                    double *work, double *spread)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    const double q = set->set == NADIR_SET_NONRECT ? 2 : set->q;
    const double largest = nadir_vector_largest(problem->states, x);
    nadir_gstd gstd;
    NADIR_CHECK(nadir_gstd_compute(context, 0, problem->states, x, q, work, NULL, &gstd));
    /* any omega gives a bound, so that the norm is made anew from this one */
    for (int64_t s = 0; s < problem->states; s++) {
        work[s] = fabs(x[s] - gstd.omega) + 2 * UNIT * largest;
    }
    *spread = nadir_norm_short(problem->states, work, q) * up(problem);
cleanup:
    return status;
}

/* W at p = 2, times d, in 2-norm; and the largest W. */
static double weigh(const nadir_problem *problem, double *work, double *largest_W)
{
    const nadir_model *model = problem->model;
    *largest_W = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        double sum = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double shape =
                nadir_uncertainty_scale(problem->uncertainty, row) * problem->policy->probabilities[row];
            sum += shape * shape;
        }
        *largest_W = fmax(*largest_W, sqrt(sum));
        work[s] = sqrt(sum) * fabs(problem->d[s]);
    }
    *largest_W *= up(problem);
    return (nadir_norm_short(problem->states, work, 2) + *largest_W * problem->d_error) * up(problem);
}

static nadir_status measure_ball(nadir_context *context, const nadir_problem *problem, nadir_certify effort,
                                 double *work, nadir_influence *made)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    const bool columns = problem->states <= COLUMNS_STATES || effort == NADIR_CERTIFY_STRICT;
    const double wider = set->p > 2 ? pow((double)set->entries, 0.5 - 1 / set->p) : 1;
    const double beta = set->radius * wider * (1 + 8 * DBL_EPSILON);
    double breakdown = 0;
    NADIR_CHECK(nadir_breakdown_low(context, problem,
                                    effort == NADIR_CERTIFY_STRICT ? NADIR_BREAKDOWN_CHOLESKY
                                    : columns                      ? NADIR_BREAKDOWN_COLUMNS
                                                                   : NADIR_BREAKDOWN_PRODUCTS,
                                    beta, &breakdown));
    made->kappa = beta / breakdown * (1 + 4 * UNIT);
    made->reach = problem->gamma * beta * weigh(problem, work, &made->largest_W) * up(problem);
    made->widest = sqrt((double)problem->states) * (1 + 4 * UNIT);
cleanup:
    return status;
}

static nadir_status measure_rectangles(nadir_context *context, const nadir_problem *problem, double *work,
                                       nadir_influence *made)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_model *model = problem->model;
    const int64_t n = problem->states;
    const nadir_enclosure known = nadir_enclosure_make(context, problem);
    nadir_enclosed enclosed;
    double *b = work;
    double *v_b = work + n;
    double reach = 0;
    for (int64_t s = 0; s < n; s++) {
        double sum = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            sum += nadir_uncertainty_scale(set, row) * problem->policy->probabilities[row] *
                   nadir_uncertainty_radius(set, s, row);
        }
        b[s] = set->set == NADIR_SET_S
                   ? nadir_uncertainty_radius(set, s, model->state_rows[s]) * set->W[s] * up(problem)
                   : sum * up(problem);
        reach += fabs(problem->d[s]) * b[s];
    }
    reach += problem->d_error * nadir_vector_largest(n, b);
    NADIR_CHECK(nadir_enclosure_solve(context, problem, &known, false, b, 0, v_b, &enclosed));
    for (int64_t s = 0; s < n; s++) {
        v_b[s] = fabs(v_b[s]) + enclosed.error;
    }
    made->kappa = problem->gamma * nadir_norm_short(n, v_b, set->q) * up(problem);
    made->reach = problem->gamma * reach * up(problem);
    made->widest = pow((double)n, 1 / set->q) * (1 + 8 * UNIT);
cleanup:
    return status;
}

nadir_status nadir_influence_make(nadir_context *context, const nadir_problem *problem, nadir_certify effort,
                                  nadir_influence *influence)
{
    nadir_status status = NADIR_OK;
    double *work = NULL;
    *influence = (nadir_influence){.reach = INFINITY, .kappa = INFINITY};
    NADIR_NEW(context, work, 2 * problem->states);
    if (problem->uncertainty->set == NADIR_SET_NONRECT) {
        NADIR_CHECK(measure_ball(context, problem, effort, work, influence));
    } else {
        NADIR_CHECK(measure_rectangles(context, problem, work, influence));
    }
    NADIR_CHECK(nadir_influence_spread(context, problem, problem->v, work, &influence->spread));
    influence->spread += influence->widest * problem->v_error;
cleanup:
    nadir_release(context, work);
    return status;
}

double nadir_influence_remainder(const nadir_influence *influence)
{
    const double kappa = influence->kappa;
    if (!(kappa < 1)) {
        return INFINITY;
    }
    return influence->reach * kappa / (1 - kappa) * influence->spread * (1 + 16 * UNIT / (1 - kappa));
}

double nadir_influence_error(const nadir_context *context, const nadir_problem *problem,
                             const nadir_influence *influence, double residual)
{
    const nadir_enclosure known = nadir_enclosure_make(context, problem);
    const double kappa = influence->kappa;
    const double error = nadir_enclosure_error(&known, residual);
    if (!(kappa < 1)) {
        return INFINITY;
    }
    return error * (1 + influence->reach * influence->widest / (1 - kappa) * (1 + 16 * UNIT / (1 - kappa)));
}

nadir_status nadir_influence_inverse(nadir_context *context, const nadir_problem *problem,
                                     nadir_occupancy *occupancy, double *norm)
{
    nadir_status status = NADIR_OK;
    nadir_problem own = *problem;
    const int64_t n = problem->states;
    double *columns = NULL;
    double residual;
    own.occupancy = occupancy;
    const nadir_enclosure known = nadir_enclosure_make(context, &own);
    *norm = INFINITY;
    NADIR_NEW(context, columns, n * n);
    NADIR_CHECK(nadir_enclosure_columns(context, &own, &known, n, NULL, columns, &residual));
    const double rest = 1 - (double)n * residual * (1 + 4 * UNIT) - 4 * UNIT;
    double largest = 0;
    for (int64_t s = 0; s < n; s++) {
        double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            sum += fabs(columns[t * n + s]);
        }
        largest = fmax(largest, sum);
    }
    *norm = rest > 0 ? largest * up(problem) / rest : INFINITY;
cleanup:
    nadir_release(context, columns);
    return status;
}

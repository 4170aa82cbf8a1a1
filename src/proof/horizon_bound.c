/* horizon_bound.c: proven bounds on the return of H steps under one kernel of a set; see horizon_bound.h. */
#include "proof/horizon_bound.h"

#include "core/round.h"
#include "linalg/vector.h"
#include "proof/difference_bound.h"
#include "proof/membership.h"
#include "sets/lmo_by_state.h"

#include <math.h>
#include <string.h>

/* Kernels of the set may be outside by NADIR_MEMBERSHIP_ROUNDING: in roundings. */
#define OUTSIDE 256

/* The problem of one step: rows answer to x + landing e with x = gamma v + g, undiscounted. */
static nadir_problem step_problem(const nadir_horizon *horizon, int64_t step)
{
    return (nadir_problem){.model = horizon->model,
                           .policy = nadir_horizon_policy(horizon, step),
                           .uncertainty = horizon->set,
                           .states = horizon->states,
                           .rows = horizon->rows,
                           .gamma = 1,
                           .sign = horizon->sign,
                           .landing = horizon->landing};
}

/* x <- gamma v + g. Returns the largest rounding in it. */
static double step_costs(const nadir_horizon *horizon, const double *v, double *x)
{
    double size = 0;
    for (int64_t s = 0; s < horizon->states; s++) {
        x[s] = horizon->gamma * v[s] + horizon->shift[s];
        size = fmax(size, fabs(horizon->gamma * v[s]) + fabs(horizon->shift[s]));
    }
    return nadir_round_error(4) * size;
}

/* ------------------------------------------------------------------------------------ occupancies */

static void sum_steps(const nadir_horizon *horizon, nadir_horizon_bounds *bounds)
{
    for (int64_t s = 0; s < horizon->states; s++) {
        double sum = 0;
        double discount = 1;
        for (int64_t step = 0; step < horizon->steps; step++) {
            sum += discount * bounds->high[step * horizon->states + s];
            discount *= horizon->gamma;
        }
        bounds->d_bar[s] = nadir_round_up(sum, 4 * (double)(horizon->steps + 4)); /* powers, products, sum */
    }
}

nadir_status nadir_horizon_bounds_make(nadir_context *context, const nadir_horizon *horizon,
                                       nadir_horizon_bounds *bounds)
{
    nadir_status status = NADIR_OK;
    const int64_t n = horizon->states;
    *bounds = (nadir_horizon_bounds){0};
    NADIR_NEW(context, bounds->high, horizon->steps * n);
    NADIR_NEW(context, bounds->d_bar, n);
    for (int64_t i = 0; i < horizon->steps * n; i++) {
        bounds->high[i] = i < n ? horizon->model->initial[i] : nadir_round_up(1, horizon->roundings);
    }
    sum_steps(horizon, bounds);
cleanup:
    if (status != NADIR_OK) {
        nadir_horizon_bounds_clear(context, bounds);
    }
    return status;
}

void nadir_horizon_bounds_clear(nadir_context *context, nadir_horizon_bounds *bounds)
{
    NADIR_RELEASE(context, bounds->high, bounds->d_bar);
    *bounds = (nadir_horizon_bounds){0};
}

double nadir_horizon_bounds_work(const nadir_horizon *horizon)
{
    const double steps = (double)horizon->steps;
    const double states = (double)horizon->states;
    return states * (double)horizon->entries * (horizon->stationary ? steps : steps * steps / 2) +
           steps * steps * states * states;
}

double nadir_horizon_bounds_memory(const nadir_horizon *horizon)
{
    return (double)horizon->steps * (double)horizon->states * (double)horizon->states;
}

typedef struct pass {
    const nadir_horizon *horizon;
    const nadir_horizon_point *point;
    double reach;
    double *
        responses; /* [steps * states * states] response(s, y) at [(j states + t) states + s], j = n - 1 - m */
    double *matrix; /* [states * states] M; NULL: not wanted */
    double *d;      /* [2 * states] d_n of the kernel, undiscounted; work */
    double *work;   /* [6 * states] */
} pass;

/* responses for step n. Of y, entries of at most one, j products are off by so many roundings. */
static nadir_status fill_responses(nadir_context *context, const pass *self, int64_t n)
{
    const nadir_horizon *horizon = self->horizon;
    const int64_t states = horizon->states;
    double *y = self->work + 4 * states;
    for (int64_t t = 0; t < states; t++) {
        NADIR_TRY(nadir_progress(context, "bounding occupancies", (double)t / (double)states));
        memset(y, 0, (size_t)states * sizeof *y);
        y[t] = 1;
        for (int64_t j = 0; j < n; j++) {
            const int64_t step = n - 1 - j;
            const nadir_problem problem = step_problem(horizon, step);
            const double error = nadir_round_error((double)(j + 1) * horizon->roundings);
            NADIR_TRY(nadir_row_response(context, &problem, 0, y, error, self->work,
                                         self->responses + (j * states + t) * states));
            nadir_horizon_multiply(horizon, self->point->P, step, y, y + states);
            memcpy(y, y + states, (size_t)states * sizeof *y);
        }
    }
    return NADIR_OK;
}

/* max over y <= high, sum y <= 1, of beta |y response|_q, or sum beta_s y_s response_s; the smaller of both
 * constraints alone: with the second, y^q <= y high^(q-1) moves all mass to one state. */
static double most_change(const nadir_problem *problem, const double *high, const double *response,
                          double *work)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const double all = nadir_row_response_total(problem, high, response, work);
    double largest = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const double share = set->set == NADIR_SET_NONRECT ? set->radius * pow(high[s], 1 / set->p)
                             : set->set == NADIR_SET_S
                                 ? nadir_uncertainty_radius(set, s, problem->model->state_rows[s])
                                 : 1;
        largest = fmax(largest, share * response[s]);
    }
    return fmin(all, nadir_round_up(largest, 32));
}

/* high of step n, from those before. */
static void lower_high(const pass *self, int64_t n, nadir_horizon_bounds *bounds)
{
    const nadir_horizon *horizon = self->horizon;
    const int64_t states = horizon->states;
    nadir_horizon_multiply_transposed(horizon, self->point->P, n - 1, self->d, self->d + states);
    memcpy(self->d, self->d + states, (size_t)states * sizeof *self->d);
    for (int64_t t = 0; t < states; t++) {
        double change = 0;
        for (int64_t j = 0; j < n; j++) {
            const nadir_problem problem = step_problem(horizon, n - 1 - j);
            change += most_change(&problem, bounds->high + (n - 1 - j) * states,
                                  self->responses + (j * states + t) * states, self->work);
        }
        /* d: sums of products of numbers >= 0 over all steps; DBL_MIN pays for underflow */
        const double high =
            nadir_round_up(self->d[t], (double)(n + 1) * horizon->roundings + (double)states) +
            nadir_round_up(self->reach * change, 2 * (double)(n + 8) + OUTSIDE) + DBL_MIN;
        bounds->high[n * states + t] = fmin(bounds->high[n * states + t], nadir_round_up(high, 4));
    }
}

/* The part of M of step n. error: of v_{n+1}. */
static nadir_status add_matrix(nadir_context *context, const pass *self, int64_t n, double discount,
                               double error, const nadir_horizon_bounds *bounds)
{
    const nadir_horizon *horizon = self->horizon;
    const int64_t states = horizon->states;
    const nadir_problem problem = step_problem(horizon, n);
    double *x = self->work + 3 * states;
    double *weight = self->work + 4 * states;
    const double rounding = step_costs(horizon, self->point->v + (n + 1) * states, x);
    NADIR_TRY(nadir_row_response(context, &problem, horizon->landing, x,
                                 nadir_round_up(horizon->gamma * error + rounding + horizon->reward_error, 8),
                                 self->work, weight));
    for (int64_t t = 0; t < states; t++) {
        for (int64_t j = 0; j < n && weight[t] > 0; j++) {
            const double *high = bounds->high + (n - 1 - j) * states;
            const double *response = self->responses + (j * states + t) * states;
            for (int64_t s = 0; s < states; s++) {
                self->matrix[t * states + s] += discount * weight[t] * high[s] * response[s];
            }
        }
    }
    return NADIR_OK;
}

static nadir_status run_pass(nadir_context *context, const pass *self, const double *errors,
                             nadir_horizon_bounds *bounds)
{
    const nadir_horizon *horizon = self->horizon;
    double discount = 1;
    for (int64_t n = 1; n < horizon->steps; n++) {
        discount *= horizon->gamma;
        if (horizon->stationary && n == 1) { /* the same for every step */
            NADIR_TRY(fill_responses(context, self, horizon->steps - 1));
        } else if (!horizon->stationary) {
            NADIR_TRY(fill_responses(context, self, n));
        }
        NADIR_TRY(nadir_progress(context, "bounding occupancies", (double)n / (double)horizon->steps));
        lower_high(self, n, bounds);
        if (self->matrix != NULL) {
            NADIR_TRY(add_matrix(context, self, n, discount, errors[n + 1], bounds));
        }
    }
    return NADIR_OK;
}

nadir_status nadir_horizon_bounds_tighten(nadir_context *context, const nadir_horizon *horizon,
                                          const nadir_horizon_point *point, bool nominal,
                                          nadir_horizon_bounds *bounds, double *curvature)
{
    nadir_status status = NADIR_OK;
    const int64_t states = horizon->states;
    const double steps = (double)horizon->steps;
    pass self = {.horizon = horizon, .point = point, .reach = nominal ? 1 : 2};
    double *errors = NULL;
    NADIR_NEW(context, self.responses, horizon->steps * states * states);
    NADIR_NEW(context, self.work, 6 * states);
    NADIR_NEW(context, self.d, 2 * states);
    memcpy(self.d, horizon->model->initial, (size_t)states * sizeof *self.d);
    NADIR_NEW(context, errors, horizon->steps + 1);
    if (curvature != NULL) {
        NADIR_NEW_ZERO(context, self.matrix, states * states);
        nadir_horizon_value_errors(horizon, point->v, errors);
    }
    NADIR_CHECK(run_pass(context, &self, errors, bounds));
    sum_steps(horizon, bounds);
    if (curvature != NULL) { /* M: sums over pairs of steps of products */
        *curvature =
            nadir_round_up(nadir_symmetric_part_bound(states, self.matrix, self.work, self.work + states),
                           2 * steps * steps + 2 * steps + 16);
    }
cleanup:
    NADIR_RELEASE(context, self.responses, self.work, self.d, self.matrix, errors);
    return status;
}

/* ---------------------------------------------------------------------------- dynamic programme */

/* The row problems of a step; one of both. */
typedef struct step_rows {
    nadir_lmo_penalized penalized;
    nadir_lmo_rectangular rectangular;
} step_rows;

/* taken: [states] at least what kernels take from the nominal mean of x. */
static nadir_status bound_step(nadir_context *context, const nadir_horizon *horizon, step_rows *rows,
                               double tau, const double *x, double *taken)
{
    if (horizon->set->set == NADIR_SET_NONRECT) {
        NADIR_TRY(nadir_lmo_penalized_solve(context, &rows->penalized, tau, x));
        nadir_lmo_penalized_bound(&rows->penalized, tau, taken);
        return NADIR_OK;
    }
    NADIR_TRY(nadir_lmo_rectangular_solve(context, &rows->rectangular, x));
    return nadir_lmo_rectangular_bound(context, &rows->rectangular, taken);
}

/* v_n, at most its exact value for v_{n+1} as it is. x, taken: [states] */
static nadir_status step_back(nadir_context *context, const nadir_horizon *horizon, step_rows *rows,
                              double tau, int64_t step, const double *v, double *x, double *taken,
                              double *next)
{
    const nadir_model *model = horizon->model;
    const double *pi = nadir_horizon_policy(horizon, step)->probabilities;
    const double rounding = step_costs(horizon, v, x);
    NADIR_TRY(bound_step(context, horizon, rows, tau, x, taken));
    nadir_horizon_multiply(horizon, horizon->nominal, step, v, next);
    const double size = horizon->reward_size + horizon->gamma * nadir_vector_largest(horizon->states, v) +
                        nadir_vector_largest(horizon->states, taken);
    /* sums of the nominal rows; x times |Delta|_1 <= 2 */
    const double error = nadir_round_up(
        nadir_round_error(horizon->roundings) * size + 2 * rounding + horizon->reward_error + DBL_MIN, 16);
    for (int64_t s = 0; s < horizon->states; s++) {
        double sum = horizon->gamma * next[s];
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            sum += pi[row] * horizon->sign * model->rewards[row];
        }
        next[s] = sum - taken[s] - error;
    }
    return NADIR_OK;
}

nadir_status nadir_horizon_bellman(nadir_context *context, const nadir_horizon *horizon, const double *d_bar,
                                   double tau, double *lower)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = horizon->set;
    const int64_t states = horizon->states;
    nadir_problem problem = step_problem(horizon, 0);
    step_rows rows = {0};
    double error;
    double *work = NULL;
    NADIR_NEW_ZERO(context, work, 4 * states);
    double *v = work;
    double *next = work + states;
    if (set->set == NADIR_SET_NONRECT) {
        NADIR_CHECK(nadir_lmo_penalized_make(context, &problem, set->radius, d_bar, &rows.penalized));
    } else {
        NADIR_CHECK(nadir_lmo_rectangular_make(context, &problem, 1, &rows.rectangular));
    }
    for (int64_t step = horizon->steps; step-- > 0;) {
        NADIR_CHECK(nadir_progress(context, "dynamic programme", -1));
        problem.policy = nadir_horizon_policy(horizon, step);
        NADIR_CHECK(
            step_back(context, horizon, &rows, tau, step, v, work + 2 * states, work + 3 * states, next));
        double *last = v;
        v = next;
        next = last;
    }
    const double J = nadir_vector_dot(states, horizon->model->initial, v, &error);
    const double charge =
        set->set == NADIR_SET_NONRECT && tau > 0 ? nadir_round_up(tau * pow(set->radius, set->p), 32) : 0;
    /* mu sums to one up to rounding */
    const double size = nadir_vector_largest(states, v) + charge;
    *lower = nadir_round_below(J - error - charge, size, 2 * (double)(states + 16));
    *lower = isnan(*lower) ? -INFINITY : *lower;
cleanup:
    nadir_lmo_penalized_clear(context, &rows.penalized);
    nadir_lmo_rectangular_clear(context, &rows.rectangular);
    nadir_release(context, work);
    return status;
}

/* ---------------------------------------------------------------------------------- second order */

/* At least the change of <G, delta> by the errors of v and d: |delta_sa|_1 <= 2, sum_s d_n <= 1. */
static double gradient_error(const nadir_horizon *horizon, const nadir_horizon_point *point,
                             const double *errors)
{
    const double paid = nadir_vector_largest(horizon->entries, horizon->paid);
    double discount = 1;
    double sum = 0;
    for (int64_t step = 0; step < horizon->steps; step++) {
        const double v = nadir_vector_largest(horizon->states, point->v + (step + 1) * horizon->states);
        /* d_n: relative roundings of all steps before; G: a sum over steps */
        const double roundings = (double)(step + 2) * horizon->roundings + 2 * (double)(horizon->steps + 8);
        sum += discount * (horizon->gamma * errors[step + 1] + horizon->reward_error +
                           nadir_round_error(roundings) * (paid + horizon->gamma * v));
        discount *= horizon->gamma;
    }
    return nadir_round_up(2 * sum, 8 * (double)(horizon->steps + 16));
}

/* g . P* - min g of a row, g = G + 2 tau Delta* / alpha^2, and its rounding. */
static double row_slack(const nadir_horizon *horizon, const double *P, const double *G, double tau,
                        int64_t row)
{
    const int64_t first = horizon->starts[row];
    const int64_t count = horizon->starts[row + 1] - first;
    const double alpha = nadir_uncertainty_scale(horizon->set, row);
    const double factor = 2 * tau / alpha / alpha;
    const double base = nadir_vector_smallest(count, G + first);
    const double roundings = 4 * (double)(count + 16);
    double smallest = INFINITY;
    double largest = 0;
    double mean = 0;
    for (int64_t i = first; i < first + count; i++) {
        const double of_ball = factor * (P[i] - horizon->nominal[i]);
        smallest = fmin(smallest, G[i] - base + of_ball);
        largest = fmax(largest, G[i] - base + fabs(of_ball));
    }
    for (int64_t i = first; i < first + count; i++) {
        mean += P[i] * (G[i] - base + factor * (P[i] - horizon->nominal[i]) - smallest);
    }
    /* entries have 8 roundings each, the row sums to one up to rounding */
    return nadir_round_up(fmax(mean, 0), roundings) + nadir_round_error(16 + roundings) * largest;
}

/* |Delta*| over 1 / alpha, rounded down. */
static double distance_low(const nadir_horizon *horizon, const double *P)
{
    double sum = 0;
    for (int64_t row = 0; row < horizon->rows; row++) {
        const double alpha = nadir_uncertainty_scale(horizon->set, row);
        for (int64_t i = horizon->starts[row]; alpha > 0 && i < horizon->starts[row + 1]; i++) {
            const double change = (P[i] - horizon->nominal[i]) / alpha;
            sum += change * change;
        }
    }
    return nadir_round_down(sqrt(sum), (double)(horizon->entries + 16));
}

nadir_status nadir_horizon_second_order(nadir_context *context, const nadir_horizon *horizon,
                                        const nadir_horizon_point *point, double tau, double curvature,
                                        double *lower)
{
    nadir_status status = NADIR_OK;
    const double beta = horizon->set->radius;
    double *errors = NULL;
    double *G = NULL;
    double slack = 0;
    NADIR_NEW(context, errors, horizon->steps + 1);
    NADIR_NEW(context, G, horizon->entries);
    nadir_horizon_gradient(horizon, point, false, G);
    nadir_horizon_value_errors(horizon, point->v, errors);
    for (int64_t row = 0; row < horizon->rows; row++) {
        if (nadir_uncertainty_scale(horizon->set, row) > 0) {
            slack += row_slack(horizon, point->P, G, tau, row);
        }
    }
    const double inside = distance_low(horizon, point->P);
    const double unused = inside < beta ? nadir_round_up((beta - inside) * (beta + inside), 8) : 0;
    const double short_of =
        curvature > tau ? nadir_round_up(4 * beta * beta * (curvature - tau), 16 + 2 * OUTSIDE) : 0;
    const double lost = nadir_round_up(nadir_round_up(slack, 2 * (double)(horizon->rows + 8)) + tau * unused +
                                           short_of + gradient_error(horizon, point, errors) +
                                           nadir_horizon_return_error(horizon, point, errors),
                                       16);
    *lower = nadir_round_below(point->J - lost, fabs(point->J) + lost, 4);
    *lower = isnan(*lower) ? -INFINITY : *lower;
cleanup:
    NADIR_RELEASE(context, errors, G);
    return status;
}

/* ------------------------------------------------------------------------------------ attained */

nadir_status nadir_horizon_check(nadir_context *context, const nadir_horizon *horizon,
                                 nadir_horizon_point *point, double *lower, double *upper, double *minimum,
                                 nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    nadir_membership membership;
    double *errors = NULL;
    int64_t *rows = NULL;
    NADIR_NEW(context, rows, horizon->rows);
    NADIR_NEW(context, errors, horizon->steps + 1);
    for (int64_t row = 0; row < horizon->rows; row++) {
        rows[row] = row;
    }
    const nadir_changed_rows all = {.count = horizon->rows,
                                    .rows = rows,
                                    .starts = horizon->starts,
                                    .columns = horizon->columns,
                                    .values = point->P};
    NADIR_CHECK(nadir_kernel_create_changed(context, horizon->model, &all, kernel));
    NADIR_CHECK(nadir_membership_measure(context, *kernel, horizon->set, 1, &membership));
    NADIR_CHECK(nadir_membership_check(context, horizon->model, horizon->set, &membership));
    nadir_horizon_values(horizon, point);
    nadir_horizon_occupancies(horizon, point);
    nadir_horizon_value_errors(horizon, point->v, errors);
    const double error = nadir_horizon_return_error(horizon, point, errors);
    *lower = nadir_round_below(point->J - error, fabs(point->J) + error, 2);
    *upper = nadir_round_above(point->J + error, fabs(point->J) + error, 2);
    *minimum = membership.minimum;
cleanup:
    NADIR_RELEASE(context, rows, errors);
    return status;
}

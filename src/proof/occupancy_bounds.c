/*
 * occupancy_bounds.c: bounds on occupancies; see occupancy_bounds.h.
 *
 * The knapsack max sum y v, low <= y <= high, sum y = T, has by duality for every price lambda >= 0 the bound
 *
 *     sum low v + lambda (T - sum low) + sum (high - low) max(0, v - lambda),
 *
 * with equality where the states above lambda use T up. It is convex in lambda: intersections of tangents
 * lead close to its minimum. A price that is a little off makes the bound a little larger.
 */
#include "proof/occupancy_bounds.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/eigen.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "proof/perturbable_rows.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { STEPS = 30 }; /* for a price */
#define NEAR 1e-5    /* relative distance of a knapsack bound from the least one that suffices */

void nadir_occupancy_bounds_clear(nadir_context *context, nadir_occupancy_bounds *bounds)
{
    nadir_release(context, bounds->high);
    nadir_release(context, bounds->low);
    nadir_release(context, bounds->least);
    *bounds = (nadir_occupancy_bounds){0};
}

nadir_status nadir_occupancy_bounds_make(nadir_context *context, const nadir_problem *problem,
                                         nadir_occupancy_bounds *bounds)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    bool *reach = NULL;
    *bounds = (nadir_occupancy_bounds){.states = n, .total = nadir_expansion_point_total(context, problem)};
    bounds->longest = problem->gamma == 1 ? problem->longest : bounds->total;
    NADIR_NEW(context, reach, n);
    NADIR_NEW(context, bounds->high, n);
    NADIR_NEW_ZERO(context, bounds->low, n);
    NADIR_CHECK(nadir_reachable_states(context, problem, reach));
    for (int64_t s = 0; s < n; s++) {
        bounds->high[s] = reach[s] ? bounds->total : 0;
        if (problem->most != NULL) {
            bounds->high[s] = fmin(bounds->high[s], problem->most[s]);
        }
    }
cleanup:
    nadir_release(context, reach);
    if (status != NADIR_OK) {
        nadir_occupancy_bounds_clear(context, bounds);
    }
    return status;
}

nadir_status nadir_occupancy_bounds_copy(nadir_context *context, const nadir_occupancy_bounds *from,
                                         nadir_occupancy_bounds *to)
{
    nadir_status status = NADIR_OK;
    const size_t bytes = (size_t)from->states * sizeof *to->high;
    *to = (nadir_occupancy_bounds){
        .states = from->states, .total = from->total, .longest = from->longest, .empty = from->empty};
    NADIR_NEW(context, to->high, from->states);
    NADIR_NEW(context, to->low, from->states);
    memcpy(to->high, from->high, bytes);
    memcpy(to->low, from->low, bytes);
cleanup:
    if (status != NADIR_OK) {
        nadir_occupancy_bounds_clear(context, to);
    }
    return status;
}

nadir_status nadir_occupancy_bounds_share(nadir_context *context, double beta, nadir_occupancy_bounds *bounds)
{
    nadir_status status = NADIR_OK;
    const int64_t n = bounds->states;
    if (bounds->least == NULL) {
        NADIR_NEW_ZERO(context, bounds->least, 2 * n);
        for (int64_t s = 0; s < n; s++) {
            bounds->least[n + s] = beta;
        }
    }
cleanup:
    return status;
}

/* sqrt(m) / 2 or sqrt(m). */
static double mass_of(int64_t allowed, int64_t positive)
{
    return allowed > 1 ? fmin(sqrt((double)allowed) / 2, sqrt((double)positive)) : 0;
}

/* Bounds d_X(t) +- (reach + off), rounded outwards. off: [states] or NULL. */
static void limit(const nadir_context *context, const double *d, const double *off, double reach,
                  nadir_occupancy_bounds *bounds)
{
    for (int64_t t = 0; t < bounds->states; t++) {
        const double far = nadir_round_up(reach + (off != NULL ? off[t] : 0), 4);
        bounds->high[t] = fmin(bounds->high[t], nadir_round_up(d[t] + far, 4));
        bounds->low[t] = fmax(bounds->low[t], nadir_round_down(d[t], 4) - far);
        bounds->empty = bounds->empty || bounds->low[t] > bounds->high[t];
    }
    bounds->empty = !nadir_allreduce_and(context, !bounds->empty);
}

/* gamma T radius |d alpha pi c|, rounded up; 128 roundings of T are for rows that do not quite sum to one. */
static double reach_of(const nadir_context *context, const nadir_occupancy_bounds *bounds, double gamma,
                       double radius, double own, int64_t own_rows)
{
    const double square = nadir_allreduce_sum(context, own);
    const int64_t rows = nadir_global_count(context, own_rows);
    /* a sum over rows */
    const double norm = nadir_round_up(sqrt(square), (double)(rows + 16));
    return nadir_round_up(gamma * bounds->longest * (radius * norm + nadir_round_error(128) * bounds->total),
                          8);
}

void nadir_occupancy_bounds_limit(const nadir_context *context, const nadir_problem *problem, double radius,
                                  nadir_occupancy_bounds *bounds)
{
    const nadir_model *model = problem->model;
    const bool anywhere = problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX;
    double square = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row nominal = nadir_model_row(model, row);
            const double c = mass_of(anywhere ? nadir_model_total(model) : nominal.count, nominal.count);
            const double part = (fmax(problem->d[s], 0) + problem->d_error) *
                                problem->policy->probabilities[row] *
                                nadir_uncertainty_scale(problem->uncertainty, row) * c;
            square += part * part;
        }
    }
    limit(context, problem->d, NULL,
          reach_of(context, bounds, problem->gamma, radius, square, problem->rows) + problem->d_error,
          bounds);
}

void nadir_occupancy_bounds_limit_around(const nadir_context *context, const nadir_expansion_point *point,
                                         double radius, nadir_occupancy_bounds *bounds)
{
    const nadir_perturbable_rows *perturbable = point->perturbable;
    double square = 0;
    for (int64_t s = 0; s < perturbable->states; s++) {
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            int64_t positive = 0;
            for (int64_t e = perturbable->starts[i]; e < perturbable->starts[i + 1]; e++) {
                positive += point->X[e] > 0;
            }
            const double c = mass_of(nadir_perturbable_rows_allowed(perturbable, i), positive);
            const double part = (point->d[s] + point->off[s]) * perturbable->pi[i] *
                                nadir_perturbable_rows_alpha(perturbable, i) * c;
            square += part * part;
        }
    }
    limit(context, point->d, point->off,
          reach_of(context, bounds, point->problem.gamma, radius, square, perturbable->count), bounds);
}

/* The knapsack: capacities high - low of all states, and the capacity T - sum low. */
typedef struct sack {
    const nadir_context *whole; /* states are spread over processes; NULL: they are not */
    const nadir_occupancy_bounds *bounds;
    const double *room; /* [states] high - low */
    double left;
    double near; /* relative distance of the bound from the least one that suffices */
} sack;

/* The bound at one price: the capacity of the states above it, and its worth. */
typedef struct tangent {
    double room, worth;
} tangent;

/* Two numbers at once: vector types of GCC and Clang. */
typedef double pair __attribute__((vector_size(2 * sizeof(double))));
typedef int64_t pair_mask __attribute__((vector_size(2 * sizeof(double))));

static tangent look_at(const sack *self, const double *value, double price)
{
    const int64_t count = self->bounds->states;
    const double *room = self->room;
    pair above = {0};
    pair worth = {0};
    for (int64_t s = 0; s + 1 < count; s += 2) {
        const pair v = {value[s], value[s + 1]};
        const pair all = {room[s], room[s + 1]};
        const pair taken = (pair)((pair_mask)all & (v > price));
        above += taken;
        worth += taken * v;
    }
    const bool more = count % 2 == 1 && value[count - 1] > price;
    const double last = more ? room[count - 1] : 0;
    const tangent own = {above[0] + above[1] + last,
                         worth[0] + worth[1] + (more ? last * value[count - 1] : 0)};
    return self->whole == NULL ? own
                               : (tangent){nadir_allreduce_sum(self->whole, own.room),
                                           nadir_allreduce_sum(self->whole, own.worth)};
}

/* A price at which the bound is nearly least: the crossing of tangents at two prices on either side; that at
 * the largest value is price * left. */
static double find_price(const sack *self, const double *value)
{
    const double left = self->left;
    double price = 0;
    double best = 0;
    double least = INFINITY;
    tangent right = {0};
    tangent begin = look_at(self, value, 0);
    for (int step = 0; step < STEPS && begin.room > left; step++) {
        /* B + price (left - A) of both are equal, and below the bound */
        price = (begin.worth - right.worth) / (begin.room - right.room);
        const double below = begin.worth + price * (left - begin.room);
        const tangent tried = look_at(self, value, price);
        const double bound = tried.worth + price * (left - tried.room);
        if (bound < least) {
            least = bound;
            best = price;
        }
        if (!(bound > below * (1 + self->near)) || tried.room == begin.room || tried.room == right.room) {
            break;
        }
        if (tried.room > left) {
            begin = tried;
        } else {
            right = tried;
        }
    }
    return best;
}

/* At least max sum y v: a sum over all states, rounded up. value: [states]. */
static double pack(const sack *self, const double *value)
{
    const int64_t n = self->bounds->states;
    const double *low = self->bounds->low;
    const double *room = self->room;
    const double price = find_price(self, value);
    pair sum = {0};
    for (int64_t s = 0; s + 1 < n; s += 2) {
        const pair v = {value[s], value[s + 1]};
        const pair all = {room[s], room[s + 1]};
        const pair own = {low[s], low[s + 1]};
        const pair more = (pair)((pair_mask)(v - price) & (v > price));
        sum += own * v + more * all;
    }
    double rest = 0;
    if (n % 2 == 1) {
        const double v = value[n - 1];
        rest = low[n - 1] * v + (v > price ? (v - price) * room[n - 1] : 0);
    }
    const double own = sum[0] + sum[1] + rest;
    const double total = self->whole == NULL ? (double)n : (double)nadir_global_count(self->whole, n);
    return nadir_round_up((self->whole == NULL ? own : nadir_allreduce_sum(self->whole, own)) +
                              price * self->left,
                          2 * (total + 16));
}

/* The same for values h k; value: [states] work space. */
static double pack_products(const sack *self, const double *h, const double *k, double *value)
{
    for (int64_t s = 0; s < self->bounds->states; s++) {
        value[s] = h[s] * k[s];
    }
    return pack(self, value);
}

/* room: [states], filled in. */
static sack make_sack(const nadir_context *whole, const nadir_occupancy_bounds *bounds, double near,
                      double *room)
{
    for (int64_t s = 0; s < bounds->states; s++) {
        room[s] = fmax(bounds->high[s] - bounds->low[s], 0);
    }
    const double own = nadir_vector_sum(bounds->states, bounds->low);
    const double low = whole == NULL ? own : nadir_allreduce_sum(whole, own);
    return (sack){whole, bounds, room, fmax(bounds->total - low, 0) + nadir_round_error(8) * bounds->total,
                  near};
}

nadir_status nadir_occupancy_bounds_most(nadir_context *context, const nadir_occupancy_bounds *bounds,
                                         const double *value, double *most)
{
    nadir_status status = NADIR_OK;
    double *room = NULL;
    NADIR_NEW(context, room, bounds->states);
    const bool spread = context->communication->members > 1;
    const sack self = make_sack(spread ? context : NULL, bounds, 0, room);
    *most = pack(&self, value);
cleanup:
    nadir_release(context, room);
    return status;
}

nadir_status nadir_occupancy_bounds_narrow(nadir_context *context, nadir_occupancy_bounds *bounds,
                                           const nadir_expansion_point *point, const double *up,
                                           const double *down, const double *h, double radius, double *slope,
                                           double *moved)
{
    nadir_status status = NADIR_OK;
    const int64_t n = bounds->states;
    /* pays for the products and roots of the slopes, too */
    const double gamma = nadir_round_up(point->problem.gamma, 8);
    const double *factors = h != NULL ? h : bounds->high;
    const int threads = nadir_threads_for(context, 8 * n * n);
    double *values = NULL;
    double *limits = NULL;
    NADIR_NEW(context, values, (threads + 1) * n);
    NADIR_NEW(context, limits, 2 * n);
    const sack self = make_sack(NULL, bounds, NEAR, values + threads * n);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < n; t++) {
        double *own = values + omp_get_thread_num() * n;
        const double steep = gamma * sqrt(pack_products(&self, factors, up + t * n, own));
        const double steep_down =
            down != NULL ? gamma * sqrt(pack_products(&self, factors, down + t * n, own)) : steep;
        const double rise = radius * steep;
        const double fall = radius * steep_down;
        if (slope != NULL) {
            slope[t] = nadir_round_up(fmax(steep, steep_down), 8);
        }
        limits[t] = nadir_round_up(point->d[t] + point->off[t] + rise, 8);
        limits[n + t] = nadir_round_down(point->d[t], 8) - nadir_round_up(point->off[t] + fall, 8);
    }
    double most = 0;
    for (int64_t t = 0; t < n; t++) {
        if (limits[t] < bounds->high[t]) {
            most = fmax(most, bounds->high[t] - limits[t]);
            bounds->high[t] = limits[t];
        }
        if (limits[n + t] > bounds->low[t]) {
            most = fmax(most, limits[n + t] - bounds->low[t]);
            bounds->low[t] = limits[n + t];
        }
        bounds->empty = bounds->empty || bounds->low[t] > bounds->high[t];
    }
    *moved = most / bounds->total;
cleanup:
    nadir_release(context, values);
    nadir_release(context, limits);
    return status;
}

nadir_status nadir_occupancy_bounds_pass_around(nadir_context *context, nadir_expansion_point *point,
                                                const double *h, double radius, int64_t passes,
                                                double settled, nadir_occupancy_bounds *bounds, int64_t *done)
{
    nadir_status status = NADIR_OK;
    const int64_t n = bounds->states;
    nadir_sensitivity sensitivity = {0};
    double *up = NULL;
    double *down = NULL;
    double moved = INFINITY;
    NADIR_CHECK(nadir_expansion_point_columns(context, point));
    NADIR_CHECK(nadir_sensitivity_make(context, point->perturbable, point->X, &sensitivity));
    NADIR_NEW(context, up, n * n);
    if (!sensitivity.symmetric) {
        NADIR_NEW(context, down, n * n);
    }
    NADIR_CHECK(nadir_sensitivity_tables(context, &sensitivity, n, point->D, up, down));
    for (*done = 0; *done < passes && moved > settled && !bounds->empty; (*done)++) {
        NADIR_CHECK(nadir_progress(context, "occupancies of all kernels", -1));
        NADIR_CHECK(nadir_occupancy_bounds_narrow(context, bounds, point, up, down, h, radius, NULL, &moved));
    }
cleanup:
    nadir_sensitivity_clear(context, &sensitivity);
    nadir_release(context, up);
    nadir_release(context, down);
    return status;
}

nadir_status nadir_occupancy_bounds_pass(nadir_context *context, const nadir_problem *problem,
                                         const nadir_perturbable_rows *perturbable, double radius,
                                         int64_t passes, double settled, nadir_occupancy_bounds *bounds,
                                         int64_t *done)
{
    nadir_status status = NADIR_OK;
    nadir_expansion_point point = {0};
    NADIR_CHECK(nadir_expansion_point_make(context, problem, perturbable, NULL, NULL, NULL, &point));
    nadir_occupancy_bounds_limit(context, problem, radius, bounds);
    NADIR_CHECK(
        nadir_occupancy_bounds_pass_around(context, &point, NULL, radius, passes, settled, bounds, done));
cleanup:
    nadir_expansion_point_clear(context, &point);
    return status;
}

/*
 * Bounds on |Phi D|_2.
 *
 * D = I + gamma M D for M = P^pi, and y = Phi D x obeys, where M 1 = 1,
 *
 *     y = Phi x + gamma Phi M y,    so that    |Phi D|_2 <= 1 / (1 - gamma rho),    rho = |Phi M|_2.
 *
 * Phi M = Phi (M - 1 c^T) for every c: with about the means of the columns for c, |M - 1 c^T|_2 is a bound on
 * rho, and so are its Frobenius norm and |N^T N|_F^(1/2), N being that matrix. Where |M 1 - 1| <= e in each
 * state, gamma |mean(D x)| sqrt(n) e is added to |y|, and
 *
 *     |mean(D x)| <= |D|_2 |x| / sqrt(n) <= |x| / (1 - gamma |M|).
 */

/* Power steps for an estimate of the 2-norm, and the factor above it that is proven. */
enum { POWER_STEPS = 12 };
#define ABOVE 1.05

/* Means of the columns of M >= 0; returns at least |sum - 1| of all rows, with the error of averaging. */
static double find_means(const nadir_matrix *matrix, double averaging, double *means)
{
    const int64_t n = matrix->size;
    double off = 0;
    memset(means, 0, (size_t)n * sizeof *means);
    for (int64_t s = 0; s < n; s++) {
        const double *row = matrix->dense + s * n;
        for (int64_t t = 0; t < n; t++) {
            means[t] += row[t];
        }
        const double sum = cblas_dasum((blasint)n, row, 1);
        /* the sum of a row, and the error of its averages */
        off = fmax(off, fabs(sum - 1) + (averaging + nadir_round_error((double)(n + 4))) * sum);
    }
    for (int64_t t = 0; t < n; t++) {
        means[t] /= (double)n;
    }
    return off;
}

/* centred = M - 1 means^T; returns its Frobenius norm, rounded up. */
static double centre(const nadir_matrix *matrix, const double *means, double *centred)
{
    const int64_t n = matrix->size;
    double square = 0;
    for (int64_t s = 0; s < n; s++) {
        const double *row = matrix->dense + s * n;
        double *to = centred + s * n;
        for (int64_t t = 0; t < n; t++) {
            to[t] = row[t] - means[t];
        }
        square += cblas_ddot((blasint)n, to, 1, to, 1);
    }
    /* a difference and a sum over n^2 entries, in two stages */
    return nadir_round_up(sqrt(square), (double)(2 * n + 16));
}

/* An estimate of the 2-norm of a matrix, from below. x: [2 * n] work space. */
static double estimate(int64_t n, const double *matrix, double *x)
{
    const blasint size = (blasint)n;
    double *y = x + n;
    double norm = 0;
    for (int64_t i = 0; i < n; i++) {
        x[i] = 1 + sin((double)i); /* unlikely to be orthogonal to anything of a model */
    }
    for (int step = 0; step < POWER_STEPS; step++) {
        const double length = cblas_dnrm2(size, x, 1);
        if (!(length > 0)) {
            break;
        }
        cblas_dscal(size, 1 / length, x, 1);
        cblas_dgemv(CblasRowMajor, CblasNoTrans, size, size, 1, matrix, size, x, 1, 0, y, 1);
        norm = cblas_dnrm2(size, y, 1);
        cblas_dgemv(CblasRowMajor, CblasTrans, size, size, 1, matrix, size, y, 1, 0, x, 1);
    }
    return norm;
}

nadir_status nadir_ergodicity_bound(nadir_context *context, const nadir_problem *problem,
                                    const nadir_verified_solver *known, nadir_ergodicity_effort effort,
                                    double *bound)
{
    nadir_status status = NADIR_OK;
    nadir_average *average = nadir_occupancy_average(problem->occupancy);
    const nadir_matrix *matrix = &average->matrix;
    const int64_t n = matrix->size;
    double *means = NULL;
    double *centred = NULL;
    *bound = INFINITY;
    if (!nadir_average_is_dense(average) || average->b != NULL || average->tail.states > 0 ||
        !(known->gap > 0) || problem->gamma == 1) { /* rows of P^pi must sum to one */
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_average_fetch(context, average));
    NADIR_NEW(context, means, 2 * n);
    NADIR_NEW(context, centred, n * n);
    const double off = find_means(matrix, known->averaging, means);
    double norm = centre(matrix, means, centred);
    if (effort == NADIR_ERGODICITY_FAIR) {
        NADIR_CHECK(nadir_spectral_norm_fourth(context, n, centred, &norm));
    } else if (effort == NADIR_ERGODICITY_HARD) {
        double near;
        const double about = ABOVE * estimate(n, centred, means);
        NADIR_CHECK(nadir_spectral_norm_prove(context, n, centred, about, &near));
        norm = fmin(norm, near);
    }
    /* averaging and centring round every entry of M, and |M|_F <= sqrt(n) (1 + off) */
    const double rho =
        norm + nadir_round_up((known->averaging + nadir_round_error(2)) * sqrt((double)n) * (1 + off), 8);
    /* 1 - gamma rho rounded down */
    const double left = 1 - nadir_round_up(problem->gamma * rho, 4) - nadir_round_error(2);
    const double more = problem->gamma * off * sqrt((double)n) / known->gap;
    *bound = left > 0 ? nadir_round_up((1 + more) / left, 8) : INFINITY;
cleanup:
    nadir_release(context, means);
    nadir_release(context, centred);
    return status;
}

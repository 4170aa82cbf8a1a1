/*
 * visits.c: bounds on occupancies; see visits.h.
 *
 * The knapsack max sum y v, low <= y <= high, sum y = T has for every price lambda >= 0 the bound
 *
 *     sum low v + lambda (T - sum low) + sum (high - low) max(0, v - lambda),
 *
 * and is equal to it where the states above lambda use T up. It is convex in lambda: tangents lead to about
 * the least of it. A price that is a little off only makes the bound a little larger.
 */
#include "adversary/proof/occupancy_bounds.h"

#include "adversary/proof/sensitivity.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

enum { PASSES = 24, STEPS = 30 }; /* around the nominal kernel; for a price */
#define NEAR    1e-5              /* of a knapsack's bound to the least one, relatively */
#define SETTLED 1e-6              /* bounds that move by less, as a share of all visits, stay */

void nadir_occupancy_bounds_clear(nadir_context *context, nadir_occupancy_bounds *visits)
{
    nadir_release(context, visits->high);
    nadir_release(context, visits->low);
    *visits = (nadir_occupancy_bounds){0};
}

nadir_status nadir_occupancy_bounds_make(nadir_context *context, const nadir_problem *problem,
                                         nadir_occupancy_bounds *visits)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    bool *reach = NULL;
    *visits = (nadir_occupancy_bounds){.states = n, .total = nadir_expansion_point_total(context, problem)};
    NADIR_NEW(context, reach, n);
    NADIR_NEW(context, visits->high, n);
    NADIR_NEW_ZERO(context, visits->low, n);
    NADIR_CHECK(nadir_reachable_states(context, problem, reach));
    for (int64_t s = 0; s < n; s++) {
        visits->high[s] = reach[s] ? visits->total : 0;
    }
cleanup:
    nadir_release(context, reach);
    if (status != NADIR_OK) {
        nadir_occupancy_bounds_clear(context, visits);
    }
    return status;
}

nadir_status nadir_occupancy_bounds_copy(nadir_context *context, const nadir_occupancy_bounds *from,
                                         nadir_occupancy_bounds *to)
{
    nadir_status status = NADIR_OK;
    const size_t bytes = (size_t)from->states * sizeof *to->high;
    *to = (nadir_occupancy_bounds){.states = from->states, .total = from->total, .empty = from->empty};
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

/* sqrt(m) / 2 or sqrt(m). */
static double mass_of(int64_t allowed, int64_t positive)
{
    return allowed > 1 ? fmin(sqrt((double)allowed) / 2, sqrt((double)positive)) : 0;
}

/* d_X(t) +- (reach + off). off: [states] or NULL. */
static void limit(const nadir_context *context, const double *d, const double *off, double reach,
                  nadir_occupancy_bounds *visits)
{
    for (int64_t t = 0; t < visits->states; t++) {
        const double far = (reach + (off != NULL ? off[t] : 0)) * (1 + 4 * UNIT);
        visits->high[t] = fmin(visits->high[t], (d[t] + far) * (1 + 4 * UNIT));
        visits->low[t] = fmax(visits->low[t], d[t] * (1 - 4 * UNIT) - far);
        visits->empty = visits->empty || visits->low[t] > visits->high[t];
    }
    visits->empty = !nadir_allreduce_and(context, !visits->empty);
}

/* gamma T radius |d alpha pi c|; rows that do not quite sum to one come on top. */
static double reach_of(const nadir_context *context, const nadir_occupancy_bounds *visits, double gamma,
                       double radius, double own, int64_t own_rows)
{
    const double square = nadir_allreduce_sum(context, own);
    const int64_t rows = nadir_global_count(context, own_rows);
    const double norm = sqrt(square) * (1 + UNIT * (double)(rows + 16));
    return gamma * visits->total * (radius * norm + 64 * DBL_EPSILON * visits->total) * (1 + 8 * UNIT);
}

void nadir_occupancy_bounds_limit(const nadir_context *context, const nadir_problem *problem, double radius,
                                  nadir_occupancy_bounds *visits)
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
          reach_of(context, visits, problem->gamma, radius, square, problem->rows) + problem->d_error,
          visits);
}

void nadir_occupancy_bounds_limit_around(const nadir_context *context, const nadir_expansion_point *centre,
                                         double radius, nadir_occupancy_bounds *visits)
{
    const nadir_perturbable_rows *live = centre->live;
    double square = 0;
    for (int64_t s = 0; s < live->states; s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            int64_t positive = 0;
            for (int64_t e = live->starts[i]; e < live->starts[i + 1]; e++) {
                positive += centre->X[e] > 0;
            }
            const double c = mass_of(nadir_perturbable_rows_length(live, i), positive);
            const double part =
                (centre->d[s] + centre->off[s]) * live->pi[i] * nadir_perturbable_rows_alpha(live, i) * c;
            square += part * part;
        }
    }
    limit(context, centre->d, centre->off,
          reach_of(context, visits, centre->problem.gamma, radius, square, live->count), visits);
}

/* The rooms of all states, and what fits in them: T - sum low. */
typedef struct sack {
    const nadir_context *whole; /* states are spread over processes; NULL: they are not */
    const nadir_occupancy_bounds *visits;
    const double *room; /* [states] high - low */
    double left;
    double near; /* a bound that is so near the least one is good enough, relatively */
} sack;

/* Of the bound at one price: the room that states above it have, and what that is worth. */
typedef struct tangent {
    double room, worth;
} tangent;

/* Pairs of numbers, in vectors of the language as GCC and Clang extend it. */
typedef double pair __attribute__((vector_size(2 * sizeof(double))));
typedef int64_t pair_mask __attribute__((vector_size(2 * sizeof(double))));

static tangent look_at(const sack *of, const double *value, double price)
{
    const int64_t count = of->visits->states;
    const double *room = of->room;
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
    return of->whole == NULL ? own
                             : (tangent){nadir_allreduce_sum(of->whole, own.room),
                                         nadir_allreduce_sum(of->whole, own.worth)};
}

/* A price at which the bound is about the smallest: where the tangents of two prices on either side of it
 * meet, that at the largest value being price * left. */
static double find_price(const sack *of, const double *value)
{
    const double left = of->left;
    double price = 0;
    double best = 0;
    double least = INFINITY;
    tangent right = {0};
    tangent begin = look_at(of, value, 0);
    for (int step = 0; step < STEPS && begin.room > left; step++) {
        /* B + price (left - A) of both are equal, and below the bound */
        price = (begin.worth - right.worth) / (begin.room - right.room);
        const double below = begin.worth + price * (left - begin.room);
        const tangent here = look_at(of, value, price);
        const double bound = here.worth + price * (left - here.room);
        if (bound < least) {
            least = bound;
            best = price;
        }
        if (!(bound > below * (1 + of->near)) || here.room == begin.room || here.room == right.room) {
            break;
        }
        if (here.room > left) {
            begin = here;
        } else {
            right = here;
        }
    }
    return best;
}

/* At least max sum y v. value: [states]. */
static double pack(const sack *of, const double *value)
{
    const int64_t n = of->visits->states;
    const double *low = of->visits->low;
    const double *room = of->room;
    const double price = find_price(of, value);
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
    const double total = of->whole == NULL ? (double)n : (double)nadir_global_count(of->whole, n);
    return ((of->whole == NULL ? own : nadir_allreduce_sum(of->whole, own)) + price * of->left) *
           (1 + 2 * UNIT * (total + 16));
}

/* The same for values h k; value: [states] work space. */
static double pack_products(const sack *of, const double *h, const double *k, double *value)
{
    for (int64_t s = 0; s < of->visits->states; s++) {
        value[s] = h[s] * k[s];
    }
    return pack(of, value);
}

/* room: [states], filled in. */
static sack make_sack(const nadir_context *whole, const nadir_occupancy_bounds *visits, double near,
                      double *room)
{
    for (int64_t s = 0; s < visits->states; s++) {
        room[s] = fmax(visits->high[s] - visits->low[s], 0);
    }
    const double own = nadir_vector_sum(visits->states, visits->low);
    const double low = whole == NULL ? own : nadir_allreduce_sum(whole, own);
    return (sack){whole, visits, room, fmax(visits->total - low, 0) + 8 * UNIT * visits->total, near};
}

nadir_status nadir_occupancy_bounds_most(nadir_context *context, const nadir_occupancy_bounds *visits,
                                         const double *value, double *most)
{
    nadir_status status = NADIR_OK;
    double *room = NULL;
    NADIR_NEW(context, room, visits->states);
    const bool spread = context->communication->members > 1;
    const sack of = make_sack(spread ? context : NULL, visits, 0, room);
    *most = pack(&of, value);
cleanup:
    nadir_release(context, room);
    return status;
}

nadir_status nadir_occupancy_bounds_narrow(nadir_context *context, nadir_occupancy_bounds *visits,
                                           const nadir_expansion_point *centre, const double *up,
                                           const double *down, const double *h, double radius, double *slope,
                                           double *moved)
{
    nadir_status status = NADIR_OK;
    const int64_t n = visits->states;
    const double gamma = centre->problem.gamma * (1 + 8 * UNIT);
    const double *factors = h != NULL ? h : visits->high;
    const int threads = nadir_threads_for(context, 8 * n * n);
    double *values = NULL;
    double *bounds = NULL;
    NADIR_NEW(context, values, (threads + 1) * n);
    NADIR_NEW(context, bounds, 2 * n);
    const sack of = make_sack(NULL, visits, NEAR, values + threads * n);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < n; t++) {
        double *own = values + omp_get_thread_num() * n;
        const double steep = gamma * sqrt(pack_products(&of, factors, up + t * n, own));
        const double steep_down =
            down != NULL ? gamma * sqrt(pack_products(&of, factors, down + t * n, own)) : steep;
        const double rise = radius * steep;
        const double fall = radius * steep_down;
        if (slope != NULL) {
            slope[t] = fmax(steep, steep_down) * (1 + 8 * UNIT);
        }
        bounds[t] = (centre->d[t] + centre->off[t] + rise) * (1 + 8 * UNIT);
        bounds[n + t] = centre->d[t] * (1 - 8 * UNIT) - (centre->off[t] + fall) * (1 + 8 * UNIT);
    }
    double most = 0;
    for (int64_t t = 0; t < n; t++) {
        if (bounds[t] < visits->high[t]) {
            most = fmax(most, visits->high[t] - bounds[t]);
            visits->high[t] = bounds[t];
        }
        if (bounds[n + t] > visits->low[t]) {
            most = fmax(most, bounds[n + t] - visits->low[t]);
            visits->low[t] = bounds[n + t];
        }
        visits->empty = visits->empty || visits->low[t] > visits->high[t];
    }
    *moved = most / visits->total;
cleanup:
    nadir_release(context, values);
    nadir_release(context, bounds);
    return status;
}

nadir_status nadir_occupancy_bounds_bound(nadir_context *context, const nadir_problem *problem,
                                          const nadir_perturbable_rows *live, double radius,
                                          nadir_occupancy_bounds *visits)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    nadir_expansion_point centre = {0};
    nadir_sensitivity sensitivity = {0};
    double *up = NULL;
    double *down = NULL;
    double moved = 1;
    NADIR_CHECK(nadir_expansion_point_make(context, problem, live, NULL, NULL, &centre));
    NADIR_CHECK(nadir_expansion_point_columns(context, &centre));
    NADIR_CHECK(nadir_sensitivity_make(context, live, centre.X, &sensitivity));
    NADIR_NEW(context, up, n * n);
    if (!sensitivity.symmetric) {
        NADIR_NEW(context, down, n * n);
    }
    NADIR_CHECK(nadir_sensitivity_tables(context, &sensitivity, n, centre.D, up, down));
    nadir_occupancy_bounds_limit(context, problem, radius, visits);
    for (int i = 0; i < PASSES && moved > SETTLED; i++) {
        NADIR_CHECK(nadir_progress(context, "occupancies of all kernels", -1));
        NADIR_CHECK(
            nadir_occupancy_bounds_narrow(context, visits, &centre, up, down, NULL, radius, NULL, &moved));
    }
cleanup:
    nadir_sensitivity_clear(context, &sensitivity);
    nadir_expansion_point_clear(context, &centre);
    nadir_release(context, up);
    nadir_release(context, down);
    return status;
}

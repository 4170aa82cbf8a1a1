/*
 * visits.c: bounds on occupancies; see visits.h.
 *
 * The knapsack max sum y v, low <= y <= high, sum y = T has for every price lambda >= 0 the bound
 *
 *     sum low v + lambda (T - sum low) + sum (high - low) max(0, v - lambda),
 *
 * and is equal to it where the states above lambda use T up: found by partitions around a pivot, as
 * quickselect does. A price that rounding spoiled only makes the bound a little larger.
 */
#include "adversary/valid/visits.h"

#include "adversary/valid/sensitivity.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

enum { PASSES = 24 }; /* around the nominal kernel */
#define SETTLED 1e-6  /* bounds that move by less, as a share of all visits, stay */

void nadir_visits_clear(nadir_context *context, nadir_visits *visits)
{
    nadir_release(context, visits->high);
    nadir_release(context, visits->low);
    *visits = (nadir_visits){0};
}

nadir_status nadir_visits_make(nadir_context *context, const nadir_problem *problem, nadir_visits *visits)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    bool *reach = NULL;
    *visits = (nadir_visits){.states = n, .total = nadir_centre_total(problem)};
    NADIR_NEW(context, reach, n);
    NADIR_NEW(context, visits->high, n);
    NADIR_NEW_ZERO(context, visits->low, n);
    NADIR_CHECK(nadir_live_reach(context, problem, reach));
    for (int64_t s = 0; s < n; s++) {
        visits->high[s] = reach[s] ? visits->total : 0;
    }
cleanup:
    nadir_release(context, reach);
    if (status != NADIR_OK) {
        nadir_visits_clear(context, visits);
    }
    return status;
}

nadir_status nadir_visits_copy(nadir_context *context, const nadir_visits *from, nadir_visits *to)
{
    nadir_status status = NADIR_OK;
    const size_t bytes = (size_t)from->states * sizeof *to->high;
    *to = (nadir_visits){.states = from->states, .total = from->total, .empty = from->empty};
    NADIR_NEW(context, to->high, from->states);
    NADIR_NEW(context, to->low, from->states);
    memcpy(to->high, from->high, bytes);
    memcpy(to->low, from->low, bytes);
cleanup:
    if (status != NADIR_OK) {
        nadir_visits_clear(context, to);
    }
    return status;
}

/* sqrt(m) / 2 or sqrt(m). */
static double mass_of(int64_t allowed, int64_t positive)
{
    return allowed > 1 ? fmin(sqrt((double)allowed) / 2, sqrt((double)positive)) : 0;
}

/* d_X(t) +- (reach + off). off: [states] or NULL. */
static void limit(const double *d, const double *off, double reach, nadir_visits *visits)
{
    for (int64_t t = 0; t < visits->states; t++) {
        const double far = (reach + (off != NULL ? off[t] : 0)) * (1 + 4 * UNIT);
        visits->high[t] = fmin(visits->high[t], (d[t] + far) * (1 + 4 * UNIT));
        visits->low[t] = fmax(visits->low[t], d[t] * (1 - 4 * UNIT) - far);
        visits->empty = visits->empty || visits->low[t] > visits->high[t];
    }
}

/* gamma T radius |d alpha pi c|; rows that do not quite sum to one come on top. */
static double reach_of(const nadir_visits *visits, double gamma, double radius, double square, int64_t rows)
{
    const double norm = sqrt(square) * (1 + UNIT * (double)(rows + 16));
    return gamma * visits->total * (radius * norm + 64 * DBL_EPSILON * visits->total) * (1 + 8 * UNIT);
}

void nadir_visits_limit(const nadir_problem *problem, double radius, nadir_visits *visits)
{
    const nadir_model *model = problem->model;
    const bool anywhere = problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX;
    double square = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row nominal = nadir_model_row(model, row);
            const double c = mass_of(anywhere ? problem->states : nominal.count, nominal.count);
            const double part = (fmax(problem->d[s], 0) + problem->d_error) *
                                problem->policy->probabilities[row] *
                                nadir_uncertainty_scale(problem->uncertainty, row) * c;
            square += part * part;
        }
    }
    limit(problem->d, NULL,
          reach_of(visits, problem->gamma, radius, square, problem->rows) + problem->d_error, visits);
}

void nadir_visits_limit_around(const nadir_centre *centre, double radius, nadir_visits *visits)
{
    const nadir_live *live = centre->live;
    double square = 0;
    for (int64_t s = 0; s < live->states; s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            int64_t positive = 0;
            for (int64_t e = live->starts[i]; e < live->starts[i + 1]; e++) {
                positive += centre->X[e] > 0;
            }
            const double c = mass_of(nadir_live_length(live, i), positive);
            const double part = (centre->d[s] + centre->off[s]) * live->pi[i] * live->alpha[i] * c;
            square += part * part;
        }
    }
    limit(centre->d, centre->off, reach_of(visits, centre->problem.gamma, radius, square, live->count),
          visits);
}

/* One thing for the knapsack. */
typedef struct thing {
    double value, room;
} thing;

static void swap(thing *things, int64_t i, int64_t j)
{
    const thing held = things[i];
    things[i] = things[j];
    things[j] = held;
}

/* things[first .. end - 1] rearranged: those above the pivot, those equal, those below; ends of the first two
 * parts. */
typedef struct parts {
    int64_t above, equal;
} parts;

static parts split(thing *things, int64_t first, int64_t end, double pivot)
{
    int64_t above = first;
    int64_t below = end;
    for (int64_t i = first; i < below;) {
        if (things[i].value > pivot) {
            swap(things, i++, above++);
        } else if (things[i].value < pivot) {
            swap(things, i, --below);
        } else {
            i++;
        }
    }
    return (parts){above, below};
}

static double room_of(const thing *things, int64_t first, int64_t end)
{
    double sum = 0;
    for (int64_t i = first; i < end; i++) {
        sum += things[i].room;
    }
    return sum;
}

/* The value of the last thing that goes into the knapsack of size `left`; 0: all do. */
static double find_price(int64_t count, thing *things, double left)
{
    int64_t first = 0;
    int64_t end = count;
    while (first < end) {
        const double a = things[first].value;
        const double b = things[first + (end - first) / 2].value;
        const double c = things[end - 1].value;
        const double pivot = fmax(fmin(a, b), fmin(fmax(a, b), c));
        const parts at = split(things, first, end, pivot);
        const double above = room_of(things, first, at.above);
        if (above >= left) {
            end = at.above;
            continue;
        }
        const double equal = room_of(things, at.above, at.equal);
        if (above + equal >= left) {
            return pivot;
        }
        left -= above + equal;
        first = at.equal;
    }
    return 0;
}

/* At least max sum y v; `left`: T - sum low. factors: v = factors value, NULL: all one. */
static double pack(const nadir_visits *visits, double left, const double *factors, const double *value,
                   thing *things)
{
    const int64_t n = visits->states;
    double sum = 0;
    for (int64_t s = 0; s < n; s++) {
        const double worth = factors != NULL ? factors[s] * value[s] : value[s];
        things[s] = (thing){worth, fmax(visits->high[s] - visits->low[s], 0)};
        sum += visits->low[s] * worth;
    }
    const double price = find_price(n, things, left);
    double above = 0;
    for (int64_t s = 0; s < n; s++) {
        const double more = things[s].value - price;
        above += more > 0 ? more * things[s].room : 0;
    }
    return (sum + price * left + above) * (1 + 2 * UNIT * (double)(n + 16));
}

static double room_left(const nadir_visits *visits)
{
    const double low = nadir_vector_sum(visits->states, visits->low);
    return fmax(visits->total - low, 0) + 8 * UNIT * visits->total;
}

nadir_status nadir_visits_most(nadir_context *context, const nadir_visits *visits, const double *value,
                               double *most)
{
    nadir_status status = NADIR_OK;
    thing *things = NULL;
    NADIR_NEW(context, things, visits->states);
    *most = pack(visits, room_left(visits), NULL, value, things);
cleanup:
    nadir_release(context, things);
    return status;
}

nadir_status nadir_visits_narrow(nadir_context *context, nadir_visits *visits, const nadir_centre *centre,
                                 const double *up, const double *down, const double *h, double radius,
                                 double *moved)
{
    nadir_status status = NADIR_OK;
    const int64_t n = visits->states;
    const double reach = centre->problem.gamma * radius * (1 + 8 * UNIT);
    const double left = room_left(visits);
    const double *factors = h != NULL ? h : visits->high;
    const int threads = nadir_threads_for(context, 8 * n * n);
    thing *things = NULL;
    double *bounds = NULL;
    NADIR_NEW(context, things, threads * n);
    NADIR_NEW(context, bounds, 2 * n);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < n; t++) {
        thing *own = things + omp_get_thread_num() * n;
        const double rise = reach * sqrt(pack(visits, left, factors, up + t * n, own));
        const double fall = reach * sqrt(pack(visits, left, factors, down + t * n, own));
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
    nadir_release(context, things);
    nadir_release(context, bounds);
    return status;
}

nadir_status nadir_visits_bound(nadir_context *context, const nadir_problem *problem, const nadir_live *live,
                                double radius, nadir_visits *visits)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    nadir_centre centre = {0};
    nadir_sensitivity sensitivity = {0};
    double *up = NULL;
    double *down = NULL;
    double moved = 1;
    NADIR_CHECK(nadir_centre_make(context, problem, live, NULL, NULL, &centre));
    NADIR_CHECK(nadir_centre_columns(context, &centre));
    NADIR_CHECK(nadir_sensitivity_make(context, live, centre.X, &sensitivity));
    NADIR_NEW(context, up, n * n);
    NADIR_NEW(context, down, n * n);
    NADIR_CHECK(nadir_sensitivity_tables(context, &sensitivity, n, centre.D, up, down));
    nadir_visits_limit(problem, radius, visits);
    for (int i = 0; i < PASSES && moved > SETTLED; i++) {
        NADIR_CHECK(nadir_progress(context, "occupancies of all kernels", -1));
        NADIR_CHECK(nadir_visits_narrow(context, visits, &centre, up, down, NULL, radius, &moved));
    }
cleanup:
    nadir_sensitivity_clear(context, &sensitivity);
    nadir_centre_clear(context, &centre);
    nadir_release(context, up);
    nadir_release(context, down);
    return status;
}

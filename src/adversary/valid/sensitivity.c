/*
 * sensitivity.c: what rows can do to an occupancy; see sensitivity.h.
 *
 * Rows that allow all states are of two kinds. Where at least three quarters of X are positive, all count as
 * such: sigma is then the same for all these rows, and little is lost. Others have their c by Newton steps on
 *
 *     F(c) = sum over all states of max(0, g - c) - sum where X > 0 of max(0, c - g),
 *
 * convex and falling, from the left, where c is the mean over X > 0; the sums over all states are those of
 * order.h. With x of order.h, of -g, g - c = range (level - x). Rows with lists of successors sum over these.
 */
#include "adversary/valid/sensitivity.h"

#include "linalg/threads.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

enum { STEPS = 8 }; /* of Newton, at most */
#define CLOSE 1e-6  /* a step that moves c by less, relatively, is the last */
#define FEW   0.75  /* positive entries, as a share of all, for a row to be looked at entry by entry */

void nadir_sensitivity_clear(nadir_context *context, nadir_sensitivity *sensitivity)
{
    for (int part = 0; part < sensitivity->threads; part++) {
        if (sensitivity->rising != NULL) {
            nadir_order_clear(context, &sensitivity->rising[part]);
        }
        if (sensitivity->falling != NULL) {
            nadir_order_clear(context, &sensitivity->falling[part]);
        }
    }
    nadir_release(context, sensitivity->rising);
    nadir_release(context, sensitivity->falling);
    nadir_release(context, sensitivity->negative);
    nadir_release(context, sensitivity->starts);
    nadir_release(context, sensitivity->positive);
    nadir_release(context, sensitivity->full);
    *sensitivity = (nadir_sensitivity){0};
}

/* How many entries of a row are positive if it is one with few; 0 otherwise. */
static int64_t count_few(const nadir_live *live, const double *X, int64_t i)
{
    const int64_t length = nadir_live_length(live, i);
    const double *row = X + live->starts[i];
    int64_t count = 0;
    if (live->columns != NULL) {
        return 0;
    }
    for (int64_t j = 0; j < length; j++) {
        count += row[j] > 0;
    }
    return (double)count < FEW * (double)length ? count : 0;
}

static double row_square(const nadir_live *live, int64_t i)
{
    const double reach = live->alpha[i] * live->pi[i];
    return reach * reach;
}

/* Lists of positive entries, and the sums of rows that need none. */
static void list_positive(nadir_sensitivity *sensitivity)
{
    const nadir_live *live = sensitivity->live;
    for (int64_t s = 0; s < live->states; s++) {
        sensitivity->full[s] = 0;
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            int64_t next = sensitivity->starts[i];
            const double *row = sensitivity->X + live->starts[i];
            if (live->columns == NULL && sensitivity->starts[i + 1] == next) {
                sensitivity->full[s] += row_square(live, i);
            }
            for (int64_t j = 0; next < sensitivity->starts[i + 1]; j++) {
                if (row[j] > 0) {
                    sensitivity->positive[next++] = (int32_t)j;
                }
            }
        }
    }
}

nadir_status nadir_sensitivity_make(nadir_context *context, const nadir_live *live, const double *X,
                                    nadir_sensitivity *sensitivity)
{
    nadir_status status = NADIR_OK;
    *sensitivity = (nadir_sensitivity){.live = live, .X = X};
    NADIR_NEW(context, sensitivity->starts, live->count + 1);
    NADIR_NEW(context, sensitivity->full, live->states);
    sensitivity->starts[0] = 0;
    for (int64_t i = 0; i < live->count; i++) {
        sensitivity->starts[i + 1] = sensitivity->starts[i] + count_few(live, X, i);
    }
    NADIR_NEW(context, sensitivity->positive, sensitivity->starts[live->count]);
    list_positive(sensitivity);
    sensitivity->threads = nadir_threads_for(context, 16 * live->states * live->states);
    NADIR_NEW_ZERO(context, sensitivity->rising, sensitivity->threads);
    NADIR_NEW_ZERO(context, sensitivity->falling, sensitivity->threads);
    NADIR_NEW_ZERO(context, sensitivity->negative, sensitivity->threads * live->states);
    for (int part = 0; part < sensitivity->threads && sensitivity->starts[live->count] > 0; part++) {
        NADIR_CHECK(
            nadir_order_make(context, live->states, sensitivity->negative, &sensitivity->rising[part]));
        NADIR_CHECK(
            nadir_order_make(context, live->states, sensitivity->negative, &sensitivity->falling[part]));
    }
cleanup:
    if (status != NADIR_OK) {
        nadir_sensitivity_clear(context, sensitivity);
    }
    return status;
}

/* sigma^2 of a row that allows all states, for -g in order. */
static double spread_square(const nadir_order *order, int64_t count, const int32_t *positive)
{
    double level = 0;
    double above = 0;
    nadir_below below = {0};
    for (int64_t j = 0; j < count; j++) {
        level += order->x[positive[j]];
    }
    level /= (double)count;
    for (int step = 0;; step++) {
        double first = 0;
        int64_t more = 0;
        above = 0;
        for (int64_t j = 0; j < count; j++) {
            const double far = order->x[positive[j]] - level;
            first += far > 0 ? far : 0;
            above += far > 0 ? far * far : 0;
            more += far >= 0; /* those at the level move with it */
        }
        below = nadir_order_below(order, level);
        const double move = (below.first - first) / (double)(below.count + more);
        if (step == STEPS || !(move > CLOSE * level)) {
            break;
        }
        level -= move;
    }
    /* x is off by a few roundings of 1 */
    const double root = sqrt(below.second + above) + 8 * UNIT * sqrt((double)order->states);
    return root * order->range * root * order->range;
}

/* sigma^2 of a row with a list of successors, for sign g. */
static double listed_square(int64_t count, const int32_t *columns, const double *X, const double *g,
                            double sign)
{
    double c = 0;
    int64_t positive = 0;
    for (int64_t j = 0; j < count; j++) {
        c += X[j] > 0 ? g[columns[j]] : 0;
        positive += X[j] > 0;
    }
    c = sign * c / (double)positive;
    for (int step = 0; step < STEPS && positive < count; step++) {
        double sum = 0;
        int64_t active = 0;
        for (int64_t j = 0; j < count; j++) {
            const double far = sign * g[columns[j]] - c;
            const bool counts = X[j] > 0 || far > 0;
            sum += counts ? far : 0;
            active += counts;
        }
        c += sum / (double)active;
        if (!(sum > CLOSE * fabs(c))) {
            break;
        }
    }
    double square = 0;
    for (int64_t j = 0; j < count; j++) {
        const double far = sign * g[columns[j]] - c;
        square += X[j] > 0 || far > 0 ? far * far : 0;
    }
    return square;
}

/* What the rows of one state add up to. */
static double state_square(const nadir_sensitivity *sensitivity, int64_t state, const nadir_order *order,
                           const double *g, double sign, double whole)
{
    const nadir_live *live = sensitivity->live;
    double sum = sensitivity->full[state] * whole;
    for (int64_t i = live->first[state]; i < live->first[state + 1]; i++) {
        const int64_t first = sensitivity->starts[i];
        const int64_t count = sensitivity->starts[i + 1] - first;
        if (live->columns != NULL) {
            const int64_t start = live->starts[i];
            sum += row_square(live, i) * listed_square(live->starts[i + 1] - start, live->columns + start,
                                                       sensitivity->X + start, g, sign);
        } else if (count > 0) {
            sum += row_square(live, i) * spread_square(order, count, sensitivity->positive + first);
        }
    }
    return sum * (1 + 2 * UNIT * (double)(2 * live->states + 64)) + DBL_MIN;
}

/* One column; the orders of the thread are used. */
static nadir_status fill_column(nadir_context *context, const nadir_sensitivity *sensitivity, int thread,
                                const double *g, double *up, double *down)
{
    nadir_status status = NADIR_OK;
    const int64_t n = sensitivity->live->states;
    nadir_order *rising = &sensitivity->rising[thread];
    nadir_order *falling = &sensitivity->falling[thread];
    double *negative = sensitivity->negative + thread * n;
    double whole = 0;
    for (int64_t j = 0; j < n; j++) {
        negative[j] = -g[j];
        whole += g[j] * g[j];
    }
    if (sensitivity->starts[sensitivity->live->count] > 0) {
        NADIR_CHECK(nadir_order_make(context, n, g, rising));
        NADIR_CHECK(nadir_order_make(context, n, negative, falling));
    }
    for (int64_t s = 0; s < n; s++) {
        up[s] = state_square(sensitivity, s, falling, g, 1, whole);
        down[s] = state_square(sensitivity, s, rising, g, -1, whole);
    }
cleanup:
    return status;
}

nadir_status nadir_sensitivity_tables(nadir_context *context, nadir_sensitivity *sensitivity, int64_t count,
                                      const double *g, double *up, double *down)
{
    const int64_t n = sensitivity->live->states;
    int failures = 0; /* nothing is allocated: only numbers that are not finite can fail */
#pragma omp parallel for num_threads(sensitivity->threads) schedule(static) reduction(+ : failures)
    for (int64_t t = 0; t < count; t++) {
        failures += fill_column(context, sensitivity, omp_get_thread_num(), g + t * n, up + t * n,
                                down + t * n) != NADIR_OK;
    }
    return failures == 0 ? NADIR_OK : NADIR_ERROR_ARGUMENT;
}

static double weighted_square(const nadir_live *live, int64_t i, const double *inverse, const double *g)
{
    const int64_t start = live->starts[i];
    const int64_t length = live->starts[i + 1] - start;
    const int32_t *columns = live->columns != NULL ? live->columns + start : NULL;
    const double *weights = inverse + start;
    double mass = 0;
    double mean = 0;
    double square = 0;
    for (int64_t j = 0; j < length; j++) {
        mass += weights[j];
        mean += weights[j] * g[columns != NULL ? columns[j] : j];
    }
    mean /= mass;
    for (int64_t j = 0; j < length; j++) {
        const double far = g[columns != NULL ? columns[j] : j] - mean;
        square += weights[j] * far * far;
    }
    return square;
}

void nadir_sensitivity_weighted(nadir_context *context, const nadir_live *live, const double *inverse,
                                int64_t count, const double *g, double *both)
{
    const int64_t n = live->states;
    const int threads = nadir_threads_for(context, 4 * count * live->entries);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < count; t++) {
        for (int64_t s = 0; s < n; s++) {
            double sum = 0;
            for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
                sum += row_square(live, i) * weighted_square(live, i, inverse, g + t * n);
            }
            both[t * n + s] = sum * (1 + 2 * UNIT * (double)(2 * n + 64)) + DBL_MIN;
        }
    }
}

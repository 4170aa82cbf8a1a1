/* value_order.c: the states in rising order of a value; see value_order.h. */
#include "sets/lmo.h"

#include "linalg/distributed.h"

#include <math.h>
#include <string.h>

/* A state with its value, as they are sorted. */
typedef struct nadir_placed_state {
    double x;
    int32_t state;
} placed_state;

static bool before(placed_state a, placed_state b)
{
    return a.x < b.x || (a.x == b.x && a.state < b.state);
}

/* from[first, middle) and from[middle, end), each in order, into `to`. */
static void merge(const placed_state *from, int64_t first, int64_t middle, int64_t end, placed_state *to)
{
    int64_t left = first;
    int64_t right = middle;
    for (int64_t i = first; i < end; i++) {
        const bool take_right = left == middle || (right < end && before(from[right], from[left]));
        to[i] = take_right ? from[right] : from[left];
        left += !take_right;
        right += take_right;
    }
}

/* Merge sort from below. Runs that are in order already are only copied, so that an order that hardly changed
 * is cheap. Returns where the result is: list or other. */
static placed_state *sort(int64_t count, placed_state *list, placed_state *other)
{
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t first = 0; first < count; first += 2 * width) {
            const int64_t middle = first + width < count ? first + width : count;
            const int64_t end = middle + width < count ? middle + width : count;
            if (middle == end || before(list[middle - 1], list[middle])) {
                memcpy(other + first, list + first, (size_t)(end - first) * sizeof *list);
            } else {
                merge(list, first, middle, end, other);
            }
        }
        placed_state *swap = list;
        list = other;
        other = swap;
    }
    return list;
}

/* A compensated sum of positive numbers. */
typedef struct long_sum {
    double sum, lost;
} long_sum;

static void add(long_sum *to, double term)
{
    const double next = to->sum + term;
    const double part = next - to->sum;
    to->lost += (to->sum - (next - part)) + (term - part);
    to->sum = next;
}

/* With the gap g = x_i - x_(i-1):
 *     first_i = first_(i-1) + i g,    second_i = second_(i-1) + g (2 first_(i-1) + i g).
 * All terms are positive. */
static void fill_sums(nadir_value_order *order)
{
    long_sum first = {0, 0};
    long_sum second = {0, 0};
    order->first[0] = 0;
    order->second[0] = 0;
    for (int64_t i = 1; i < order->states; i++) {
        const double gap = order->sorted[i] - order->sorted[i - 1];
        const double all = (double)i * gap;
        add(&second, gap * (2 * order->first[i - 1] + all));
        add(&first, all);
        order->first[i] = first.sum + first.lost;
        order->second[i] = second.sum + second.lost;
    }
}

static nadir_status reserve(nadir_context *context, int64_t states, nadir_value_order *order)
{
    nadir_status status = NADIR_OK;
    const nadir_exchange *exchange = order->exchange;
    const bool unsorted = order->unsorted;
    if (order->states == states && order->x != NULL) {
        return NADIR_OK;
    }
    nadir_value_order_clear(context, order);
    order->exchange = exchange;
    order->unsorted = unsorted;
    NADIR_NEW(context, order->x, states);
    if (unsorted) {
        order->states = states;
        goto cleanup;
    }
    NADIR_NEW(context, order->order, states);
    NADIR_NEW(context, order->rank, states);
    NADIR_NEW(context, order->sorted, states);
    NADIR_NEW(context, order->first, states);
    NADIR_NEW(context, order->second, states);
    NADIR_NEW(context, order->lists, 2 * states);
    order->states = states;
    for (int64_t i = 0; i < states; i++) {
        order->order[i] = (int32_t)i;
    }
cleanup:
    if (status != NADIR_OK) {
        nadir_value_order_clear(context, order);
    }
    return status;
}

/* Squares of smaller x would underflow; such a part of the range is far below the rounding of v. */
#define SMALLEST_X 1e-140

/* x = (v - min v) / range; v: [own] */
static nadir_status scale_values(nadir_context *context, int64_t own, const double *v,
                                 nadir_value_order *order)
{
    double lowest = INFINITY; /* a process may have no states */
    double highest = -INFINITY;
    for (int64_t s = 0; s < own; s++) {
        if (!isfinite(v[s])) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "the value of state %lld is %g; expected a number", (long long)s, v[s]);
        }
        lowest = fmin(lowest, v[s]);
        highest = fmax(highest, v[s]);
    }
    if (order->exchange != NULL) {
        lowest = nadir_allreduce_minimum(context, lowest);
        highest = nadir_allreduce_maximum(context, highest);
    }
    const double range = highest - lowest;
    if (!isfinite(range)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "values from %g to %g are too far apart; scale the rewards down", lowest, highest);
    }
    for (int64_t s = 0; s < own; s++) {
        const double x = range > 0 ? (v[s] - lowest) / range : 0;
        order->x[s] = x >= SMALLEST_X ? x : 0;
    }
    order->lowest = lowest;
    order->range = range;
    return NADIR_OK;
}

nadir_status nadir_value_order_make(nadir_context *context, int64_t own, const double *v,
                                    nadir_value_order *order)
{
    nadir_status status = NADIR_OK;
    const int64_t states = own + (order->exchange != NULL ? order->exchange->ghosts : 0);
    NADIR_CHECK(reserve(context, states, order));
    NADIR_CHECK(scale_values(context, own, v, order));
    nadir_exchange_fill(order->exchange, order->x);
    if (order->unsorted) {
        goto cleanup;
    }
    placed_state *lists = order->lists;
    for (int64_t i = 0; i < states; i++) {
        lists[i] = (placed_state){order->x[order->order[i]], order->order[i]};
    }
    const placed_state *sorted = sort(states, lists, lists + states);
    for (int64_t i = 0; i < states; i++) {
        order->order[i] = sorted[i].state;
        order->rank[sorted[i].state] = (int32_t)i;
        order->sorted[i] = sorted[i].x;
    }
    fill_sums(order);
cleanup:
    return status;
}

void nadir_value_order_clear(nadir_context *context, nadir_value_order *order)
{
    void *const arrays[] = {order->x,     order->order,  order->rank, order->sorted,
                            order->first, order->second, order->lists};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        nadir_release(context, arrays[i]);
    }
    *order = (nadir_value_order){0};
}

nadir_value_order_sums nadir_value_order_below(const nadir_value_order *order, double omega)
{
    int64_t low = 0;
    int64_t high = order->states;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (order->sorted[middle] < omega) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return (nadir_value_order_sums){0, 0, 0};
    }
    const double rest = omega - order->sorted[low - 1];
    const double all = (double)low * rest;
    const double first = order->first[low - 1];
    return (nadir_value_order_sums){low, first + all, order->second[low - 1] + rest * (2 * first + all)};
}

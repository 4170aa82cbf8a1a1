/*
 * quad_worst.c: exact worst returns in quadruple precision on valid domains, and which sets have one; see
 * quad.h. The adversary of a rectangular set is a player of its own, whose policy iteration ends at the worst
 * kernel; what a row can do is small enough to be solved by its definition.
 */
#include "support/support.h"

#include "support/quad.h"

#include "support/quad_free.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

const char *const test_quad_names[TEST_QUAD_KNOWN] = {"unknown", "fixed", "rectangular", "saturated", "free"};

/* More than any model here has. */
enum { STATES_MOST = 16 };

static bool allowed(const test_oracle *oracle, int64_t row, int64_t t)
{
    return oracle->domain != NADIR_DOMAIN_SUPPORT || oracle->nominal[row * oracle->states + t] > 0;
}

/* The successor of a row with the lowest value. */
static int64_t lowest(const test_oracle *oracle, int64_t row, const test_quad *v)
{
    int64_t best = -1;
    for (int64_t t = 0; t < oracle->states; t++) {
        if (allowed(oracle, row, t) && (best < 0 || v[t] < v[best])) {
            best = t;
        }
    }
    return best;
}

/* The whole domain: all to the lowest. */
static void saturate(const test_oracle *oracle, int64_t row, const test_quad *v, test_quad *kernel)
{
    const int64_t n = oracle->states;
    for (int64_t t = 0; t < n; t++) {
        kernel[row * n + t] = 0;
    }
    kernel[row * n + lowest(oracle, row, v)] = 1;
}

/* p = infinity: entries as low as can be, then filled up from the lowest value. */
static void fill(const test_oracle *oracle, int64_t row, test_quad radius, const test_quad *v, test_quad *x)
{
    const int64_t n = oracle->states;
    bool full[STATES_MOST] = {false};
    test_quad left = 1;
    for (int64_t t = 0; t < n; t++) {
        const test_quad nominal = oracle->nominal[row * n + t];
        x[t] = nominal > radius ? nominal - radius : 0;
        left -= x[t];
        full[t] = !allowed(oracle, row, t);
    }
    while (left > 0) {
        int64_t best = -1;
        for (int64_t t = 0; t < n; t++) {
            best = !full[t] && (best < 0 || v[t] < v[best]) ? t : best;
        }
        if (best < 0) {
            return; /* rounding: everything is full */
        }
        const test_quad room = oracle->nominal[row * n + best] + radius - x[best];
        const test_quad step = room < left ? room : left;
        x[best] += step;
        left -= step;
        full[best] = true;
    }
}

/* x = the distribution nearest to y, on the allowed successors. */
static void project(const test_oracle *oracle, int64_t row, const test_quad *y, test_quad *x)
{
    const int64_t n = oracle->states;
    bool in[STATES_MOST];
    for (int64_t t = 0; t < n; t++) {
        in[t] = allowed(oracle, row, t);
    }
    for (bool again = true; again;) {
        test_quad sum = -1;
        int64_t count = 0;
        for (int64_t t = 0; t < n; t++) {
            sum += in[t] ? y[t] : 0;
            count += in[t];
        }
        again = false;
        for (int64_t t = 0; t < n; t++) {
            x[t] = in[t] ? y[t] - sum / count : 0;
            if (x[t] < 0) {
                in[t] = false;
                again = true;
            }
        }
    }
}

/* p = 2: the projection of Phat - c v at the c where the ball ends. c is at most so large that any more
 * changes nothing: values differ by 1e-25 of their range or not at all. */
static void perturbed(const test_oracle *oracle, int64_t row, test_quad radius, const test_quad *v,
                      test_quad *x)
{
    const int64_t n = oracle->states;
    const double *nominal = oracle->nominal + row * n;
    test_quad y[STATES_MOST];
    test_quad kept[STATES_MOST];
    test_quad top = v[0];
    test_quad bottom = v[0];
    for (int64_t t = 0; t < n; t++) {
        kept[t] = nominal[t];
        top = v[t] > top ? v[t] : top;
        bottom = v[t] < bottom ? v[t] : bottom;
    }
    test_quad low = 0;
    test_quad high = top > bottom ? (test_quad)0x1p90 / (top - bottom) : 0;
    bool first = true;
    for (int step = 0; step < 240 && high > 0; step++) {
        const test_quad middle = (low + high) / 2;
        /* The first try is the far end; then the exponent is halved, as long as low is 0. */
        const test_quad c = first ? high : low == 0 ? high / 16 : middle;
        test_quad square = 0;
        for (int64_t t = 0; t < n; t++) {
            y[t] = nominal[t] - c * (v[t] - bottom);
        }
        project(oracle, row, y, x);
        for (int64_t t = 0; t < n; t++) {
            square += (x[t] - nominal[t]) * (x[t] - nominal[t]);
        }
        const bool inside = square <= radius * radius;
        for (int64_t t = 0; t < n && inside; t++) {
            kept[t] = x[t];
        }
        if ((first && inside) || (low > 0 && (high - low) < 1e-30 * high)) {
            break;
        }
        first = false;
        low = inside ? c : low;
        high = inside ? high : c;
    }
    for (int64_t t = 0; t < n; t++) {
        x[t] = kept[t];
    }
}

/* p = 1: the rows of one ball share a budget; each unit of mass that goes from t to the lowest successor
 * costs 2 / alpha of it and brings pi (v(t) - lowest v). The best bargains first. */
static void bargain(const test_oracle *oracle, int64_t ball, const test_quad *v, test_quad *kernel)
{
    const int64_t n = oracle->states;
    test_quad budget = oracle->radii[ball];
    for (int64_t row = 0; row < oracle->rows; row++) {
        for (int64_t t = 0; t < n && oracle->row_balls[row] == ball; t++) {
            kernel[row * n + t] = oracle->nominal[row * n + t];
        }
    }
    while (budget > 0) {
        int64_t best = -1;
        test_quad gain = 0;
        for (int64_t i = 0; i < oracle->rows * n; i++) {
            const int64_t row = i / n;
            if (oracle->row_balls[row] == ball && kernel[i] > 0) {
                const test_quad worth = (test_quad)oracle->policy[row] * (test_quad)oracle->scales[row] *
                                        (v[i % n] - v[lowest(oracle, row, v)]);
                best = worth > gain ? i : best;
                gain = worth > gain ? worth : gain;
            }
        }
        if (best < 0) {
            return;
        }
        const int64_t row = best / n;
        const test_quad price = 2 / (test_quad)oracle->scales[row];
        const test_quad step = kernel[best] * price < budget ? kernel[best] : budget / price;
        budget -= step == kernel[best] ? step * price : budget;
        kernel[best] -= step;
        kernel[row * n + lowest(oracle, row, v)] += step;
    }
}

/* The worst rows against v. */
static void respond(const test_oracle *oracle, test_quad_known kind, const test_quad *v, test_quad *kernel)
{
    const int64_t n = oracle->states;
    for (int64_t row = 0; row < oracle->rows; row++) {
        if (oracle->row_balls[row] < 0) {
            continue;
        }
        const test_quad radius =
            (test_quad)oracle->radii[oracle->row_balls[row]] * (test_quad)oracle->scales[row];
        if (kind == TEST_QUAD_SATURATED) {
            saturate(oracle, row, v, kernel);
        } else if (!isfinite(oracle->p)) {
            fill(oracle, row, radius, v, kernel + row * n);
        } else if (oracle->p == 2) {
            perturbed(oracle, row, radius, v, kernel + row * n);
        }
    }
    for (int64_t ball = 0; ball < oracle->balls && kind == TEST_QUAD_RECTANGULAR && oracle->p == 1; ball++) {
        bargain(oracle, ball, v, kernel);
    }
}

/* Policy iteration of the adversary; false: no end. */
static bool iterate(const test_oracle *oracle, test_quad_known kind, test_quad *J)
{
    const int64_t n = oracle->states;
    test_quad *kernel = test_quad_nominal(oracle);
    test_quad before[STATES_MOST];
    test_quad v[STATES_MOST];
    bool settled = !test_quad_return(oracle, kernel, v, NULL, J);
    for (int round = 0; round < 100 && !settled; round++) {
        test_quad size = 0;
        test_quad change = 0;
        for (int64_t s = 0; s < n; s++) {
            before[s] = v[s];
        }
        respond(oracle, kind, v, kernel);
        assert_true(test_quad_return(oracle, kernel, v, NULL, J));
        for (int64_t s = 0; s < n; s++) {
            const test_quad moved = test_quad_absolute(v[s] - before[s]);
            size = test_quad_absolute(v[s]) > size ? test_quad_absolute(v[s]) : size;
            change = moved > change ? moved : change;
        }
        settled = change <= 1e-27 * size;
    }
    free(kernel);
    return settled;
}

/* Whether each row is alone in its ball, or the norm does not care. */
static bool rectangular(const test_oracle *oracle)
{
    if (!isfinite(oracle->p)) {
        return true;
    }
    if (oracle->p != 1 && oracle->p != 2) {
        return false;
    }
    for (int64_t a = 0; a < oracle->rows; a++) {
        for (int64_t b = 0; b < a && oracle->row_balls[a] >= 0; b++) {
            const bool together = oracle->row_balls[a] == oracle->row_balls[b];
            if (together && (oracle->p == 2 || oracle->row_states[a] != oracle->row_states[b])) {
                return false;
            }
        }
    }
    return true;
}

/* The p-norm of any change of a row is at most 2, and that of several rows at most the sum. */
static bool saturated(const test_oracle *oracle)
{
    for (int64_t ball = 0; ball < oracle->balls; ball++) {
        long double most = 0;
        for (int64_t row = 0; row < oracle->rows; row++) {
            most += oracle->row_balls[row] == ball ? 2 / (long double)oracle->scales[row] : 0;
        }
        if (most > (long double)oracle->radii[ball]) {
            return false;
        }
    }
    return true;
}

/* Whether some row can move at all. */
static bool movable(const test_oracle *oracle)
{
    for (int64_t row = 0; row < oracle->rows; row++) {
        int64_t successors = 0;
        for (int64_t t = 0; t < oracle->states; t++) {
            successors += allowed(oracle, row, t);
        }
        if (oracle->row_balls[row] >= 0 && successors > 1) {
            return true;
        }
    }
    return false;
}

test_quad_known test_quad_worst(const test_oracle *oracle, test_quad *J)
{
    const bool valid = oracle->domain != NADIR_DOMAIN_FREE;
    assert_true(oracle->states <= STATES_MOST);
    if (!movable(oracle)) {
        test_quad *kernel = test_quad_nominal(oracle);
        const bool regular = test_quad_return(oracle, kernel, NULL, NULL, J);
        free(kernel);
        return regular ? TEST_QUAD_FIXED : TEST_QUAD_UNKNOWN;
    }
    if (valid && saturated(oracle)) {
        return iterate(oracle, TEST_QUAD_SATURATED, J) ? TEST_QUAD_SATURATED : TEST_QUAD_UNKNOWN;
    }
    if (valid && rectangular(oracle)) {
        return iterate(oracle, TEST_QUAD_RECTANGULAR, J) ? TEST_QUAD_RECTANGULAR : TEST_QUAD_UNKNOWN;
    }
    if (!valid && oracle->balls == 1 && (oracle->p == 1 || oracle->p == 2)) {
        return test_quad_free_worst(oracle, J) ? TEST_QUAD_FREE : TEST_QUAD_UNKNOWN;
    }
    return TEST_QUAD_UNKNOWN;
}

/*
 * quad_free.c: one ball on the free domain in quadruple precision; see quad.h.
 *
 * With E_lambda = gamma (v d^T - lambda D) W, its columns centred, the worst return is J - lambda where
 *
 *     p = 2    beta (largest singular value of E_lambda) = lambda
 *     p = 1    beta (largest half range of a column of E_lambda) = lambda
 *
 * and breakdown is where beta times the same of gamma D W is one. W_s = |alpha pi|_q over the rows of s.
 */
#include "support/support.h"

#include "support/quad_free.h"

#include "support/reference.h"

#include <stdlib.h>

typedef struct pencil {
    int64_t n;
    bool squares; /* p = 2 */
    test_quad gamma;
    test_quad *D; /* [n * n] */
    test_quad *v; /* [n] */
    test_quad *d; /* [n] */
    test_quad *W; /* [n] */
    test_quad *E; /* [n * n] for use */
    test_quad *G; /* [n * n] E^T E */
    test_quad J;
} pencil;

static void clear(pencil *made)
{
    test_quad *const arrays[] = {made->D, made->v, made->d, made->W, made->E, made->G};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
}

static bool make(const test_oracle *oracle, pencil *made)
{
    const int64_t n = oracle->states;
    *made = (pencil){.n = n, .squares = oracle->p == 2, .gamma = oracle->gamma};
    made->D = test_new(n * n, sizeof *made->D);
    made->v = test_new(n, sizeof *made->v);
    made->d = test_new(n, sizeof *made->d);
    made->W = test_new(n, sizeof *made->W);
    made->E = test_new(n * n, sizeof *made->E);
    made->G = test_new(n * n, sizeof *made->G);
    for (int64_t row = 0; row < oracle->rows; row++) {
        test_quad *W = &made->W[oracle->row_states[row]];
        const test_quad x = oracle->row_balls[row] < 0
                                ? (test_quad)0
                                : (test_quad)oracle->scales[row] * (test_quad)oracle->policy[row];
        *W = made->squares ? *W + x * x : x > *W ? x : *W;
    }
    for (int64_t s = 0; s < n && made->squares; s++) {
        made->W[s] = test_quad_root(made->W[s]);
    }
    test_quad *kernel = test_quad_nominal(oracle);
    const bool regular =
        test_quad_return(oracle, kernel, made->v, made->d, &made->J) && test_quad_inverse(oracle, made->D);
    free(kernel);
    return regular;
}

/* One rotation of Jacobi's method on the symmetric G, rows and columns i < j. */
static void rotate(int64_t n, test_quad *G, int64_t i, int64_t j)
{
    const test_quad off = G[i * n + j];
    if (off == 0) {
        return;
    }
    const test_quad theta = (G[j * n + j] - G[i * n + i]) / (2 * off);
    const test_quad size = test_quad_absolute(theta);
    const test_quad tangent =
        (theta < 0 ? -1 : 1) / (size + (size > 1e60 ? size : test_quad_root(size * size + 1)));
    const test_quad c = 1 / test_quad_root(tangent * tangent + 1);
    const test_quad s = tangent * c;
    for (int64_t k = 0; k < n; k++) {
        const test_quad x = G[k * n + i];
        const test_quad y = G[k * n + j];
        G[k * n + i] = c * x - s * y;
        G[k * n + j] = s * x + c * y;
    }
    for (int64_t k = 0; k < n; k++) {
        const test_quad x = G[i * n + k];
        const test_quad y = G[j * n + k];
        G[i * n + k] = c * x - s * y;
        G[j * n + k] = s * x + c * y;
    }
}

/* The largest singular value of E. */
static test_quad largest(pencil *made)
{
    const int64_t n = made->n;
    for (int64_t i = 0; i < n * n; i++) {
        made->G[i] = 0;
        for (int64_t k = 0; k < n; k++) {
            made->G[i] += made->E[k * n + i / n] * made->E[k * n + i % n];
        }
    }
    for (int sweep = 0; sweep < 12; sweep++) {
        test_quad off = 0;
        test_quad all = 0;
        for (int64_t i = 0; i < n * n; i++) {
            all += i / n == i % n ? made->G[i] : 0;
            off += i / n < i % n ? test_quad_absolute(made->G[i]) : 0;
        }
        if (off <= 1e-32 * all) {
            break;
        }
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = i + 1; j < n; j++) {
                rotate(n, made->G, i, j);
            }
        }
    }
    test_quad top = 0;
    for (int64_t i = 0; i < n; i++) {
        top = made->G[i * n + i] > top ? made->G[i * n + i] : top;
    }
    return test_quad_root(top);
}

/* What the adversary gets out of gamma (share v d^T - lambda D) W with beta = 1. */
static test_quad strength(pencil *made, test_quad share, test_quad lambda)
{
    const int64_t n = made->n;
    test_quad best = 0;
    for (int64_t s = 0; s < n; s++) {
        test_quad sum = 0;
        test_quad top = 0;
        test_quad bottom = 0;
        for (int64_t t = 0; t < n; t++) {
            test_quad *entry = &made->E[t * n + s];
            *entry =
                made->gamma * (share * made->v[t] * made->d[s] - lambda * made->D[t * n + s]) * made->W[s];
            sum += *entry;
            top = t == 0 || *entry > top ? *entry : top;
            bottom = t == 0 || *entry < bottom ? *entry : bottom;
        }
        best = (top - bottom) / 2 > best ? (top - bottom) / 2 : best;
        for (int64_t t = 0; t < n; t++) {
            made->E[t * n + s] -= sum / n;
        }
    }
    return made->squares ? largest(made) : best;
}

double test_quad_breakdown(const test_oracle *oracle)
{
    pencil made;
    double radius = 0;
    if (oracle->balls == 1 && (oracle->p == 1 || oracle->p == 2)) {
        radius = make(oracle, &made) ? (double)(1 / strength(&made, 0, 1)) : 0;
        clear(&made);
    }
    return radius;
}

bool test_quad_free_worst(const test_oracle *oracle, test_quad *J)
{
    pencil made;
    const test_quad beta = oracle->radii[0];
    const bool regular = make(oracle, &made) && beta * strength(&made, 0, 1) < 1;
    if (regular) {
        /* f(lambda) = F(lambda) - lambda falls, is convex, and has its root below F(0) / (1 - beta /
         * breakdown). Regula falsi with the Illinois rule, kept inside the bracket. */
        test_quad low = 0;
        test_quad f_low = beta * strength(&made, 1, 0);
        test_quad high = f_low / (1 - beta * strength(&made, 0, 1)) * (1 + 1e-20);
        test_quad f_high = beta * strength(&made, 1, high) - high;
        for (int step = 0; step < 120 && high - low > 1e-28 * high; step++) {
            test_quad middle = f_low > f_high ? (low * -f_high + high * f_low) / (f_low - f_high) : low;
            middle = step % 3 == 2 || !(middle > low && middle < high) ? (low + high) / 2 : middle;
            const test_quad f = beta * strength(&made, 1, middle) - middle;
            if (f > 0) {
                low = middle;
                f_low = f;
                f_high /= 2;
            } else {
                high = middle;
                f_high = f;
                f_low /= 2;
            }
        }
        *J = made.J - high;
    }
    clear(&made);
    return regular;
}

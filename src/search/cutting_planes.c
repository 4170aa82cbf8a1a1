/*
 * cutting_planes.c: the least of several affine functions at its largest in a box; see cutting_planes.h.
 *
 * A primal-dual interior point for max t with s_i = value_i + slope_i . y - t >= 0, p = right - y >= 0, q = y + left >= 0.
 * With E = z / s, D = u / p + w / q, b = slopes^T (mu / s) - mu / p + mu / q and r = E (slopes dy - dt) its Newton step is
 *
 *     D dy + slopes^T r = b,    sum r = sum mu / s - 1:
 *
 * a system of the size of y, or of the number of cuts if that is smaller.
 */
#include "search/cutting_planes.h"

#include <math.h>
#include <string.h>

enum { STEPS = 40 };
#define CENTRE   0.15 /* of the mean product that a step aims at */
#define BOUNDARY 0.9  /* of the way there */
#define INSIDE   0.1  /* of the box, at the start */
#define ROOM     0.1  /* below the cuts at the start, as a share of what they rise */

nadir_status nadir_cutting_planes_make(nadir_context *context, int64_t size, nadir_cutting_planes *self)
{
    nadir_status status = NADIR_OK;
    const int64_t m = NADIR_CUTS_MOST;
    *self = (nadir_cutting_planes){.size = size};
    NADIR_NEW(context, self->slopes, m * size);
    NADIR_NEW(context, self->values, m);
    NADIR_NEW(context, self->left, size);
    NADIR_NEW(context, self->right, size);
    NADIR_NEW(context, self->y, size);
    NADIR_NEW(context, self->weights, m);
    NADIR_NEW(context, self->work, (m + size + 1) * (m + size + 1) + m * size + 6 * m + 9 * size);
cleanup:
    if (status != NADIR_OK) {
        nadir_cutting_planes_clear(context, self);
    }
    return status;
}

void nadir_cutting_planes_clear(nadir_context *context, nadir_cutting_planes *self)
{
    double *const arrays[] = {self->slopes, self->values,  self->left, self->right,
                              self->y,      self->weights, self->work};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        nadir_release(context, arrays[i]);
    }
    *self = (nadir_cutting_planes){0};
}

/* What an interior point has, in `work`. */
typedef struct interior {
    int64_t n, m;
    double t, dt;
    double *A;                          /* the matrix, its lower part */
    double *s, *z, *r, *ones, *side;    /* [m] */
    double *p, *q, *u, *w, *D, *b, *dy; /* [n], dy with dt behind it */
    double *scaled;                     /* [m * n] slopes D^-1/2 */
} interior;

static interior lay_out(const nadir_cutting_planes *self)
{
    const int64_t n = self->size;
    const int64_t m = self->count;
    interior at = {.n = n, .m = m, .A = self->work, .z = self->weights};
    at.s = at.A + (m > n + 1 ? (n + 1) * (n + 1) : m * m);
    at.r = at.s + m;
    at.ones = at.r + m;
    at.side = at.ones + m;
    at.p = at.side + m;
    at.q = at.p + n;
    at.u = at.q + n;
    at.w = at.u + n;
    at.D = at.w + n;
    at.b = at.D + n;
    at.dy = at.b + n;
    at.scaled = at.dy + n + 1;
    return at;
}

static double dot(int64_t n, const double *x, const double *y)
{
    double sums[4] = {0}; /* which are added side by side */
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int j = 0; j < 4; j++) {
            sums[j] += x[i + j] * y[i + j];
        }
    }
    for (; i < n; i++) {
        sums[0] += x[i] * y[i];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* A = L L^T in place, lower part, rows of m; pivots that are lost in rounding are taken for large. */
static void factor(int64_t m, double *A)
{
    for (int64_t j = 0; j < m; j++) {
        double *row = A + j * m;
        const double pivot = row[j] - dot(j, row, row);
        row[j] = pivot > 1e-14 * row[j] ? sqrt(pivot) : 1e100;
        for (int64_t i = j + 1; i < m; i++) {
            A[i * m + j] = (A[i * m + j] - dot(j, A + i * m, row)) / row[j];
        }
    }
}

static void solve(int64_t m, const double *A, double *x)
{
    for (int64_t i = 0; i < m; i++) {
        x[i] = (x[i] - dot(i, A + i * m, x)) / A[i * m + i];
    }
    for (int64_t i = m; i-- > 0;) {
        for (int64_t j = i + 1; j < m; j++) {
            x[i] -= A[j * m + i] * x[j];
        }
        x[i] /= A[i * m + i];
    }
}

/* Slacks of y and t. */
static void measure(const nadir_cutting_planes *self, interior *at)
{
    for (int64_t i = 0; i < at->m; i++) {
        at->s[i] = self->values[i] + dot(at->n, self->slopes + i * at->n, self->y) - at->t;
    }
    for (int64_t j = 0; j < at->n; j++) {
        at->p[j] = self->right[j] - self->y[j];
        at->q[j] = self->y[j] + self->left[j];
    }
}

static double products(const interior *at)
{
    return dot(at->m, at->s, at->z) + dot(at->n, at->p, at->u) + dot(at->n, at->q, at->w);
}

static void start(nadir_cutting_planes *self, interior *at)
{
    at->t = 0;
    for (int64_t j = 0; j < at->n; j++) {
        const double width = self->right[j] + self->left[j];
        self->y[j] = fmin(fmax(0, INSIDE * width - self->left[j]), self->right[j] - INSIDE * width);
    }
    measure(self, at);
    double least = INFINITY;
    double rise = 0; /* of a cut in the box, at most */
    for (int64_t i = 0; i < at->m; i++) {
        double sum = 0;
        for (int64_t j = 0; j < at->n; j++) {
            sum += fabs(self->slopes[i * at->n + j]) * (self->right[j] + self->left[j]);
        }
        rise = fmax(rise, sum);
        least = fmin(least, at->s[i]);
    }
    at->t = least - ROOM * rise;
    measure(self, at);
    double sum = 0;
    for (int64_t i = 0; i < at->m; i++) {
        sum += 1 / at->s[i];
    }
    for (int64_t i = 0; i < at->m; i++) { /* at one mu */
        at->z[i] = 1 / (sum * at->s[i]);
    }
    for (int64_t j = 0; j < at->n; j++) {
        at->u[j] = 1 / (sum * at->p[j]);
        at->w[j] = 1 / (sum * at->q[j]);
    }
}

/* dy and dt from a system of the size of y. */
static void solve_by_size(const nadir_cutting_planes *self, interior *at, double sum)
{
    const int64_t n = at->n;
    const int64_t size = n + 1;
    memset(at->A, 0, (size_t)(size * size) * sizeof *at->A);
    for (int64_t i = 0; i < at->m; i++) {
        const double *slope = self->slopes + i * n;
        const double E = at->z[i] / at->s[i];
        for (int64_t j = 0; j < n; j++) {
            double *restrict row = at->A + j * size;
            const double factor = E * slope[j];
            for (int64_t k = 0; k <= j; k++) {
                row[k] += factor * slope[k];
            }
            at->A[n * size + j] -= factor;
        }
        at->A[n * size + n] += E;
    }
    for (int64_t j = 0; j < n; j++) {
        at->A[j * size + j] += at->D[j];
        at->dy[j] = at->b[j];
    }
    at->dy[n] = -sum;
    factor(size, at->A);
    solve(size, at->A, at->dy);
    at->dt = at->dy[n];
    for (int64_t i = 0; i < at->m; i++) {
        at->r[i] = at->z[i] / at->s[i] * (dot(n, self->slopes + i * n, at->dy) - at->dt);
    }
}

/* The same from a system of the number of cuts: (1 / E + slopes D^-1 slopes^T) r + dt = slopes D^-1 b. */
static void solve_by_cuts(const nadir_cutting_planes *self, interior *at, double sum)
{
    const int64_t n = at->n;
    const int64_t m = at->m;
    double whole = 0;
    double ones = 0;
    for (int64_t j = 0; j < n; j++) {
        at->dy[j] = at->b[j] / at->D[j];
    }
    for (int64_t i = 0; i < m; i++) {
        const double *slope = self->slopes + i * n;
        double *scaled = at->scaled + i * n;
        for (int64_t j = 0; j < n; j++) {
            scaled[j] = slope[j] / sqrt(at->D[j]);
        }
        for (int64_t k = 0; k <= i; k++) {
            at->A[i * m + k] = dot(n, scaled, at->scaled + k * n);
        }
        at->A[i * m + i] += at->s[i] / at->z[i];
        at->r[i] = dot(n, slope, at->dy);
        at->ones[i] = 1;
    }
    factor(m, at->A);
    solve(m, at->A, at->r);
    solve(m, at->A, at->ones);
    for (int64_t i = 0; i < m; i++) {
        whole += at->r[i];
        ones += at->ones[i];
    }
    at->dt = (whole - sum) / ones;
    for (int64_t i = 0; i < m; i++) {
        const double *slope = self->slopes + i * n;
        at->r[i] -= at->dt * at->ones[i];
        for (int64_t j = 0; j < n; j++) {
            at->dy[j] -= at->r[i] * slope[j] / at->D[j];
        }
    }
}

/* The Newton step towards products of mu: dy, dt and r. */
static void aim(const nadir_cutting_planes *self, interior *at, double mu)
{
    const int64_t n = at->n;
    double sum = -1;
    for (int64_t j = 0; j < n; j++) {
        at->D[j] = at->u[j] / at->p[j] + at->w[j] / at->q[j];
        at->b[j] = mu / at->q[j] - mu / at->p[j];
    }
    for (int64_t i = 0; i < at->m; i++) {
        const double *slope = self->slopes + i * n;
        const double share = mu / at->s[i];
        sum += share;
        for (int64_t j = 0; j < n; j++) {
            at->b[j] += share * slope[j];
        }
    }
    if (at->m > n + 1) {
        solve_by_size(self, at, sum);
    } else {
        solve_by_cuts(self, at, sum);
    }
}

/* The largest step along x, at most `most`, that leaves x + step dx positive. */
static double within(double most, double x, double dx)
{
    return dx < 0 ? fmin(most, -BOUNDARY * x / dx) : most;
}

static void take(nadir_cutting_planes *self, interior *at, double mu)
{
    double primal = 1;
    double dual = 1;
    for (int64_t i = 0; i < at->m; i++) {
        const double ds = at->r[i] * at->s[i] / at->z[i];
        at->side[i] = mu / at->s[i] - at->z[i] - at->r[i];
        primal = within(primal, at->s[i], ds);
        dual = within(dual, at->z[i], at->side[i]);
    }
    for (int64_t j = 0; j < at->n; j++) {
        const double du = mu / at->p[j] - at->u[j] + at->u[j] / at->p[j] * at->dy[j];
        const double dw = mu / at->q[j] - at->w[j] - at->w[j] / at->q[j] * at->dy[j];
        primal = within(within(primal, at->p[j], -at->dy[j]), at->q[j], at->dy[j]);
        dual = within(within(dual, at->u[j], du), at->w[j], dw);
    }
    for (int64_t i = 0; i < at->m; i++) {
        at->z[i] += dual * at->side[i];
    }
    for (int64_t j = 0; j < at->n; j++) {
        at->u[j] += dual * (mu / at->p[j] - at->u[j] + at->u[j] / at->p[j] * at->dy[j]);
        at->w[j] += dual * (mu / at->q[j] - at->w[j] - at->w[j] / at->q[j] * at->dy[j]);
        self->y[j] += primal * at->dy[j];
    }
    at->t += primal * at->dt;
    measure(self, at);
}

double nadir_cutting_planes_solve(nadir_cutting_planes *self, double from, double share, double least)
{
    interior at = lay_out(self);
    start(self, &at);
    for (int step = 0; step < STEPS; step++) {
        const double left = products(&at);
        if (!(left > fmax(share * (at.t - from), least))) {
            break;
        }
        const double mu = CENTRE * left / (double)(at.m + 2 * at.n);
        aim(self, &at, mu);
        take(self, &at, mu);
    }
    double value = INFINITY;
    for (int64_t i = 0; i < at.m; i++) {
        value = fmin(value, at.s[i] + at.t);
    }
    return value;
}

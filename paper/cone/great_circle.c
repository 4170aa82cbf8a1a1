/*
 * great_circle.c: the maximum of f(c) = |B (V c)_+|^2 / |(V c)_+|^2 on one great circle and in the cells
 * beside it, exactly.
 *
 * The support I of (V c)_+ changes only where some v_j . c = 0: n points of a half circle. Between two of
 * them f is a ratio of quadratic forms, c^T G c / c^T M c with G = sum over I of K_jl v_j v_l^T, M = sum of
 * v_j v_j^T, in the double angle (a0 + a1 cos + a2 sin) / (b0 + b1 cos + b2 sin), whose derivative vanishes
 * where
 *
 *     (a2 b0 - a0 b2) cos + (a0 b1 - a1 b0) sin + (a2 b1 - a1 b2) = 0:
 *
 * at two places at most. With s_l = sum over I of K_lj v_j a component that enters adds v_j s_j^T + s_j v_j^T
 * + K_jj v_j v_j^T to G. The other half circle has the complements for supports: G' = V^T K V + G - H - H^T
 * with H = sum over I of v_j (K V)_j^T.
 *
 * In three dimensions the circles v_i . c = 0 cut the sphere into cells of one support each. A Rayleigh
 * quotient has no local maximum but its global one. So the maximum of f over a cell is at the leading
 * eigenvector of (G, M), if that lies in the cell, or else on its boundary. Searching all circles and the
 * cells beside them finds the maximum over the sphere.
 */
#include "cone/great_circle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { D = NADIR_CIRCLE_DIMENSIONS };

#define PI 3.14159265358979323846

#define RISE     (1 + 1e-13) /* a smaller rise may be rounding of the sums, which were updated n times */
#define PARALLEL 1e-13       /* sine of the angle between vectors that count as parallel */
#define ACCURATE 1e-2        /* |(V c)_+|^2 for |c| = 1 from which on the sums give f to ten digits */
#define LEAST    1e-10       /* ... below which the sums are rounding */
#define OUTSIDE  1e-12       /* a component of the wrong sign up to this counts as zero */

nadir_status nadir_circle_space_open(nadir_context *context, const nadir_cone *cone,
                                     const nadir_spectrum *spectrum, int d, nadir_circle_space *space)
{
    nadir_status status = NADIR_OK;
    const int64_t n = cone->columns;
    *space = (nadir_circle_space){.cone = cone, .d = d};
    double *products = cone->work; /* K V, column after column */
    NADIR_NEW(context, space->V, n * d);
    NADIR_NEW(context, space->T, n * d);
    nadir_cone_multiply(context, cone, d, spectrum->vectors, products);
    for (int64_t j = 0; j < n; j++) {
        for (int a = 0; a < d; a++) {
            space->V[j * d + a] = spectrum->vectors[a * n + j];
            space->T[j * d + a] = products[a * n + j];
        }
        for (int a = 0; a < d; a++) {
            for (int b = 0; b < d; b++) {
                space->G[a * d + b] += space->V[j * d + a] * space->T[j * d + b];
                space->M[a * d + b] += space->V[j * d + a] * space->V[j * d + b];
            }
        }
    }
cleanup:
    return status;
}

void nadir_circle_space_close(nadir_context *context, nadir_circle_space *space)
{
    nadir_release(context, space->V);
    nadir_release(context, space->T);
}

nadir_status nadir_circle_search_open(nadir_context *context, const nadir_circle_space *space,
                                      nadir_circle_search *search)
{
    nadir_status status = NADIR_OK;
    const int64_t n = space->cone->columns;
    *search = (nadir_circle_search){.space = space, .best.square = -1};
    NADIR_NEW(context, search->s, n * space->d);
    NADIR_NEW(context, search->x, n);
    NADIR_NEW(context, search->crossings, n);
    NADIR_NEW(context, search->parallels, n);
    NADIR_NEW(context, search->side, n);
    NADIR_NEW(context, search->inside, n);
cleanup:
    return status;
}

void nadir_circle_search_close(nadir_context *context, nadir_circle_search *search)
{
    nadir_release(context, search->s);
    nadir_release(context, search->x);
    nadir_release(context, search->crossings);
    nadir_release(context, search->parallels);
    nadir_release(context, search->side);
    nadir_release(context, search->inside);
}

static double dot(int d, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < d; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

void nadir_circle_search_try(nadir_circle_search *search, const double *c)
{
    const nadir_circle_space *space = search->space;
    const int64_t n = space->cone->columns;
    double *x = search->x;
    double below = 0;
    double above = 0;
    for (int64_t j = 0; j < n; j++) {
        const double entry = dot(space->d, space->V + j * space->d, c);
        x[j] = entry > 0 ? entry : 0;
        below += x[j] * x[j];
    }
    for (int64_t j = 0; j < n; j++) {
        const double *column = space->cone->K + j * n;
        double sum = 0;
        for (int64_t l = 0; l < n && x[j] > 0; l++) {
            sum += column[l] * x[l];
        }
        above += x[j] * sum;
    }
    if (below > 0 && above / below > search->best.square) {
        search->best.square = above / below;
        memcpy(search->best.c, c, (size_t)space->d * sizeof *c);
    }
}

/* By the sums f(c) is `square`, and |(V c)_+|^2 = below |c|^2. If the sums are accurate, c becomes the
 * candidate of this circle. If not, f(c) is recomputed at once. */
static void offer_candidate(nadir_circle_search *search, double square, double below, const double *c)
{
    if (!(below > LEAST && square > RISE * fmax(search->best.square, search->candidate.square))) {
        return;
    }
    if (below > ACCURATE) {
        search->candidate.square = square;
        memcpy(search->candidate.c, c, (size_t)search->space->d * sizeof *c);
    } else {
        nadir_circle_search_try(search, c);
    }
}

/* sums <- sums + sign (the terms of v_j), s: [d] the sum over the support of K_jl v_l. */
static void add_outer(const nadir_circle_space *space, int64_t j, double sign, const double *s,
                      nadir_circle_sums *sums)
{
    const int d = space->d;
    const double *v = space->V + j * d;
    const double *T = space->T + j * d;
    const double square = space->cone->K[j * space->cone->columns + j];
    for (int a = 0; a < d; a++) {
        for (int b = 0; b < d; b++) {
            sums->G[a * d + b] += sign * (v[a] * s[b] + s[a] * v[b] + square * v[a] * v[b]);
            sums->H[a * d + b] += sign * v[a] * T[b];
            sums->M[a * d + b] += sign * v[a] * v[b];
        }
    }
}

/* s_l <- s_l + sign K_lj v_j for all l. */
static void add_column(nadir_circle_search *search, int64_t j, double sign)
{
    const nadir_circle_space *space = search->space;
    const int64_t n = space->cone->columns;
    const double *column = space->cone->K + j * n;
    const double *v = space->V + j * space->d;
    double *s = search->s;
    if (space->d == 3) {
        const double v0 = sign * v[0];
        const double v1 = sign * v[1];
        const double v2 = sign * v[2];
        for (int64_t l = 0; l < n; l++) {
            s[3 * l] += column[l] * v0;
            s[3 * l + 1] += column[l] * v1;
            s[3 * l + 2] += column[l] * v2;
        }
    } else {
        for (int64_t l = 0; l < n; l++) {
            s[2 * l] += column[l] * sign * v[0];
            s[2 * l + 1] += column[l] * sign * v[1];
        }
    }
}

/* Adds j to I, or removes it. */
static void toggle(nadir_circle_search *search, int64_t j)
{
    const double *s = search->s + j * search->space->d;
    if (search->inside[j]) {
        add_column(search, j, -1);
        add_outer(search->space, j, -1, s, &search->sums);
    } else {
        add_outer(search->space, j, 1, s, &search->sums);
        add_column(search, j, 1);
    }
    search->inside[j] = !search->inside[j];
}

static void complement(const nadir_circle_space *space, const nadir_circle_sums *sums,
                       nadir_circle_sums *other)
{
    const int d = space->d;
    for (int a = 0; a < d; a++) {
        for (int b = 0; b < d; b++) {
            const int entry = a * d + b;
            other->G[entry] = space->G[entry] + sums->G[entry] - sums->H[entry] - sums->H[b * d + a];
            other->M[entry] = space->M[entry] - sums->M[entry];
        }
    }
}

/* Offers c = sign P (cos, sin) of the angle. a, b: the coefficients of both forms. */
static void try_angle(nadir_circle_search *search, const double a[3], const double b[3], double sign,
                      double angle)
{
    const double cosine = cos(2 * angle);
    const double sine = sin(2 * angle);
    const double above = a[0] + a[1] * cosine + a[2] * sine;
    const double below = b[0] + b[1] * cosine + b[2] * sine;
    const int d = search->space->d;
    double c[D];
    for (int i = 0; i < d; i++) {
        c[i] = sign * (search->P[i] * cos(angle) + search->P[d + i] * sin(angle));
    }
    offer_candidate(search, above / below, below, c);
}

/* a <- the coefficients of the quadratic form F on the circle: a0 + a1 cos(2 angle) + a2 sin(2 angle). */
static void double_angle(const nadir_circle_search *search, const double *F, double a[3])
{
    const int d = search->space->d;
    const double *p = search->P;
    const double *q = search->P + d;
    double Fp[D];
    double Fq[D];
    for (int i = 0; i < d; i++) {
        Fp[i] = dot(d, F + i * d, p);
        Fq[i] = dot(d, F + i * d, q);
    }
    const double pp = dot(d, p, Fp);
    const double qq = dot(d, q, Fq);
    a[0] = 0.5 * (pp + qq);
    a[1] = 0.5 * (pp - qq);
    a[2] = dot(d, p, Fq);
}

/* The maximum on an arc: its first end, or where the derivative vanishes. */
static void try_arc(nadir_circle_search *search, const nadir_circle_sums *sums, double sign, double from,
                    double to)
{
    double a[3];
    double b[3];
    double_angle(search, sums->G, a);
    double_angle(search, sums->M, b);
    try_angle(search, a, b, sign, from);
    const double cosine = a[2] * b[0] - a[0] * b[2];
    const double sine = a[0] * b[1] - a[1] * b[0];
    const double constant = a[2] * b[1] - a[1] * b[2];
    const double length = hypot(cosine, sine);
    if (!(fabs(constant) <= length) || length == 0) {
        return;
    }
    const double middle = atan2(sine, cosine);
    const double width = acos(-constant / length);
    for (int turn = -1; turn <= 1; turn += 2) {
        double angle = fmod(0.5 * (middle + turn * width) - from, PI);
        angle += angle < 0 ? PI : 0;
        if (from + angle <= to) {
            try_angle(search, a, b, sign, from + angle);
        }
    }
}

/* Offers the maximiser of a cell, if it lies in the cell. Where M is singular, c can move along its null
 * space to the boundary without changing x, so that the maximum is on the boundary too. The support of the
 * cell: I and the components of one side, or, for `other`, the complement of that. */
static void try_cell(nadir_circle_search *search, const nadir_circle_sums *sums, int side, bool other)
{
    const nadir_circle_space *space = search->space;
    double c[D];
    double sign = 0;
    double mu;
    const double level = RISE * fmax(search->best.square, search->candidate.square);
    if (!nadir_rayleigh_exceeds(sums->G, sums->M, level) ||
        !nadir_rayleigh_maximize(sums->G, sums->M, c, &mu) || !(mu > level)) {
        return;
    }
    const double tolerance = OUTSIDE * sqrt(dot(D, c, c));
    for (int64_t j = 0; j < space->cone->columns; j++) {
        const double entry = dot(D, space->V + j * D, c);
        const bool within = (search->inside[j] || search->side[j] == side) != other;
        if (fabs(entry) > tolerance) {
            const double wanted = within == (entry > 0) ? 1 : -1;
            if (sign != 0 && sign != wanted) {
                return;
            }
            sign = wanted;
        }
    }
    for (int i = 0; i < D; i++) {
        c[i] *= sign;
    }
    offer_candidate(search, mu, 1 / dot(D, c, c), c);
}

/* The two cells beside the arc, and the opposite ones. */
static void try_cells(nadir_circle_search *search)
{
    const nadir_circle_space *space = search->space;
    for (int side = -1; side <= 1; side += 2) {
        nadir_circle_sums sums = search->beside[side > 0];
        nadir_circle_sums other;
        for (int i = 0; i < D * D; i++) {
            sums.G[i] += search->sums.G[i];
            sums.H[i] += search->sums.H[i];
            sums.M[i] += search->sums.M[i];
        }
        for (int64_t i = 0; i < search->parallels_count; i++) {
            const int64_t j = search->parallels[i];
            const double *v = space->V + j * D;
            const double *s = search->s + j * D;
            for (int a = 0; a < D && search->side[j] == side; a++) {
                for (int b = 0; b < D; b++) {
                    sums.G[a * D + b] += v[a] * s[b] + s[a] * v[b];
                }
            }
        }
        complement(space, &sums, &other);
        try_cell(search, &sums, side, false);
        try_cell(search, &other, side, true);
    }
}

static int compare_angles(const void *a, const void *b)
{
    const nadir_circle_crossing *first = a;
    const nadir_circle_crossing *second = b;
    if (first->angle != second->angle) {
        return first->angle < second->angle ? -1 : 1;
    }
    return (first->j > second->j) - (first->j < second->j);
}

/* P <- an orthonormal basis of what is orthogonal to v_pinned != 0; pinned = -1 (d = 2): of the whole plane.
 */
static void make_basis(nadir_circle_search *search, int64_t pinned)
{
    double *p = search->P;
    double *q = search->P + search->space->d;
    if (pinned < 0) {
        p[0] = q[1] = 1;
        p[1] = q[0] = 0;
        return;
    }
    const double *v = search->space->V + pinned * D;
    const double length = sqrt(dot(D, v, v));
    const double w[D] = {v[0] / length, v[1] / length, v[2] / length};
    int least = fabs(w[0]) < fabs(w[1]) ? 0 : 1;
    least = fabs(w[2]) < fabs(w[least]) ? 2 : least;
    double size = 0;
    for (int i = 0; i < D; i++) { /* the axis least aligned with w, made orthogonal to w */
        p[i] = (i == least) - w[least] * w[i];
        size += p[i] * p[i];
    }
    for (int i = 0; i < D; i++) {
        p[i] /= sqrt(size);
    }
    for (int i = 0; i < D; i++) {
        q[i] = w[(i + 1) % D] * p[(i + 2) % D] - w[(i + 2) % D] * p[(i + 1) % D];
    }
}

/* Sorts the crossings, and finds the support just before angle 0 and the components that are zero on the
 * whole circle. Returns the number of crossings. */
static int64_t set_up_circle(nadir_circle_search *search, int64_t pinned)
{
    const nadir_circle_space *space = search->space;
    const int d = space->d;
    int64_t count = 0;
    make_basis(search, pinned);
    search->parallels_count = 0;
    for (int64_t j = 0; j < space->cone->columns; j++) {
        const double *v = space->V + j * d;
        const double along = dot(d, search->P, v);
        const double across = dot(d, search->P + d, v);
        search->side[j] = 0;
        search->inside[j] = false;
        if (hypot(along, across) > PARALLEL * sqrt(dot(d, v, v))) {
            double angle = atan2(along, -across);
            angle += angle < 0 ? PI : 0;
            search->crossings[count++] = (nadir_circle_crossing){angle < PI ? angle : angle - PI, j};
        } else if (pinned >= 0 && dot(d, v, v) > 0) {
            search->side[j] = dot(d, v, space->V + pinned * d) > 0 ? 1 : -1;
            search->parallels[search->parallels_count++] = j;
        }
    }
    qsort(search->crossings, (size_t)count, sizeof *search->crossings, compare_angles);
    memset(&search->sums, 0, sizeof search->sums);
    memset(search->s, 0, (size_t)(space->cone->columns * d) * sizeof *search->s);
    for (int64_t k = 0; k < count; k++) {
        const int64_t j = search->crossings[k].j;
        const double along = dot(d, search->P, space->V + j * d);
        if (along > 0 || (along == 0 && dot(d, search->P + d, space->V + j * d) < 0)) {
            toggle(search, j);
        }
    }
    return count;
}

/* search->beside <- the sums over the parallel components of each side. */
static void set_up_sides(nadir_circle_search *search)
{
    const nadir_circle_space *space = search->space;
    memset(search->beside, 0, sizeof search->beside);
    for (int64_t i = 0; i < search->parallels_count; i++) {
        const int64_t j = search->parallels[i];
        const double *column = space->cone->K + j * space->cone->columns;
        double s[D] = {0};
        for (int64_t k = 0; k < i; k++) {
            const int64_t l = search->parallels[k];
            for (int a = 0; a < D && search->side[l] == search->side[j]; a++) {
                s[a] += column[l] * space->V[l * D + a];
            }
        }
        add_outer(space, j, 1, s, &search->beside[search->side[j] > 0]);
    }
}

void nadir_circle_search_run(nadir_circle_search *search, int64_t pinned)
{
    const nadir_circle_space *space = search->space;
    const double *v = space->V + (pinned >= 0 ? pinned : 0) * space->d;
    if (pinned >= 0 && !(dot(space->d, v, v) > 0)) {
        return;
    }
    const int64_t count = set_up_circle(search, pinned);
    if (pinned >= 0) {
        set_up_sides(search);
    }
    search->candidate.square = -1;
    for (int64_t k = 0; k < count; k++) {
        const double from = search->crossings[k].angle;
        const double to = k + 1 < count ? search->crossings[k + 1].angle : search->crossings[0].angle + PI;
        nadir_circle_sums other;
        toggle(search, search->crossings[k].j);
        complement(space, &search->sums, &other);
        try_arc(search, &search->sums, 1, from, to);
        try_arc(search, &other, -1, from, to);
        if (pinned >= 0) {
            try_cells(search);
        }
    }
    if (search->candidate.square >= 0) {
        nadir_circle_search_try(search, search->candidate.c);
    }
}

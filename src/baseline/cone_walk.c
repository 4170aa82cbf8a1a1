/*
 * cone_walk.c: the best of f(c) = |B (V c)_+|^2 / |(V c)_+|^2 on and beside one great circle, exactly.
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
 * In three dimensions the circles v_i . c = 0 cut the sphere into cells of one support each. In a cell f is
 * at its best at the leading eigenvector of (G, M), if that lies in it, or else on the boundary, since a
 * quotient of forms has no other local maximum: so all circles and the cells beside them are all there is.
 */
#include "baseline/cone_walk.h"

#include "baseline/pencil.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { D = NADIR_WALK_DIMENSIONS };

#define PI 3.14159265358979323846

#define BETTER                                                                                               \
    (1 + 1e-13)        /* sums that were updated n times are not exact: what looks better is computed anew */
#define PARALLEL 1e-13 /* sine of the angle between vectors that count as parallel */
#define TRUSTED  1e-2  /* of |(V c)_+|^2, |c| = 1: from here on f is right to ten digits by the sums */
#define LEAST    1e-10 /* ... and below this the sums are rounding */
#define OUTSIDE  1e-12 /* of a component with the wrong sign that counts as zero */

nadir_status nadir_walk_space_open(nadir_context *context, const nadir_cone *cone,
                                   const nadir_spectrum *spectrum, int d, nadir_walk_space *space)
{
    nadir_status status = NADIR_OK;
    const int64_t n = cone->columns;
    *space = (nadir_walk_space){.cone = cone, .d = d};
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

void nadir_walk_space_close(nadir_context *context, nadir_walk_space *space)
{
    nadir_release(context, space->V);
    nadir_release(context, space->T);
}

nadir_status nadir_walker_open(nadir_context *context, const nadir_walk_space *of, nadir_walker *walker)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->cone->columns;
    *walker = (nadir_walker){.of = of, .best.square = -1};
    NADIR_NEW(context, walker->s, n * of->d);
    NADIR_NEW(context, walker->x, n);
    NADIR_NEW(context, walker->crossings, n);
    NADIR_NEW(context, walker->parallels, n);
    NADIR_NEW(context, walker->side, n);
    NADIR_NEW(context, walker->inside, n);
cleanup:
    return status;
}

void nadir_walker_close(nadir_context *context, nadir_walker *walker)
{
    nadir_release(context, walker->s);
    nadir_release(context, walker->x);
    nadir_release(context, walker->crossings);
    nadir_release(context, walker->parallels);
    nadir_release(context, walker->side);
    nadir_release(context, walker->inside);
}

static double dot(int d, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < d; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

void nadir_walker_try(nadir_walker *walker, const double *c)
{
    const nadir_walk_space *of = walker->of;
    const int64_t n = of->cone->columns;
    double *x = walker->x;
    double below = 0;
    double above = 0;
    for (int64_t j = 0; j < n; j++) {
        const double entry = dot(of->d, of->V + j * of->d, c);
        x[j] = entry > 0 ? entry : 0;
        below += x[j] * x[j];
    }
    for (int64_t j = 0; j < n; j++) {
        const double *column = of->cone->K + j * n;
        double sum = 0;
        for (int64_t l = 0; l < n && x[j] > 0; l++) {
            sum += column[l] * x[l];
        }
        above += x[j] * sum;
    }
    if (below > 0 && above / below > walker->best.square) {
        walker->best.square = above / below;
        memcpy(walker->best.c, c, (size_t)of->d * sizeof *c);
    }
}

/* f(c) is `square`, by the sums, with |(V c)_+|^2 = below |c|^2: kept as promised until the end of the walk,
 * or, since the sums lose digits, computed anew at once. */
static void offer(nadir_walker *walker, double square, double below, const double *c)
{
    if (!(below > LEAST && square > BETTER * fmax(walker->best.square, walker->promised.square))) {
        return;
    }
    if (below > TRUSTED) {
        walker->promised.square = square;
        memcpy(walker->promised.c, c, (size_t)walker->of->d * sizeof *c);
    } else {
        nadir_walker_try(walker, c);
    }
}

/* sums <- sums + sign (what v_j brings to a support whose vector sum at j is s_j). */
static void add_outer(const nadir_walk_space *of, int64_t j, double sign, const double *s,
                      nadir_walk_sums *sums)
{
    const int d = of->d;
    const double *v = of->V + j * d;
    const double *T = of->T + j * d;
    const double square = of->cone->K[j * of->cone->columns + j];
    for (int a = 0; a < d; a++) {
        for (int b = 0; b < d; b++) {
            sums->G[a * d + b] += sign * (v[a] * s[b] + s[a] * v[b] + square * v[a] * v[b]);
            sums->H[a * d + b] += sign * v[a] * T[b];
            sums->M[a * d + b] += sign * v[a] * v[b];
        }
    }
}

/* s_l <- s_l + sign K_lj v_j for all l. */
static void add_column(nadir_walker *walker, int64_t j, double sign)
{
    const nadir_walk_space *of = walker->of;
    const int64_t n = of->cone->columns;
    const double *column = of->cone->K + j * n;
    const double *v = of->V + j * of->d;
    double *s = walker->s;
    if (of->d == 3) {
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

/* j enters I, or leaves it. */
static void cross(nadir_walker *walker, int64_t j)
{
    const double *s = walker->s + j * walker->of->d;
    if (walker->inside[j]) {
        add_column(walker, j, -1);
        add_outer(walker->of, j, -1, s, &walker->sums);
    } else {
        add_outer(walker->of, j, 1, s, &walker->sums);
        add_column(walker, j, 1);
    }
    walker->inside[j] = !walker->inside[j];
}

static void complement(const nadir_walk_space *of, const nadir_walk_sums *sums, nadir_walk_sums *other)
{
    const int d = of->d;
    for (int a = 0; a < d; a++) {
        for (int b = 0; b < d; b++) {
            const int at = a * d + b;
            other->G[at] = of->G[at] + sums->G[at] - sums->H[at] - sums->H[b * d + a];
            other->M[at] = of->M[at] - sums->M[at];
        }
    }
}

/* Offers P (cos, sin) of an angle, times sign. a, b: the forms in the double angle. */
static void try_angle(nadir_walker *walker, const double a[3], const double b[3], double sign, double angle)
{
    const double cosine = cos(2 * angle);
    const double sine = sin(2 * angle);
    const double above = a[0] + a[1] * cosine + a[2] * sine;
    const double below = b[0] + b[1] * cosine + b[2] * sine;
    const int d = walker->of->d;
    double c[D];
    for (int i = 0; i < d; i++) {
        c[i] = sign * (walker->P[i] * cos(angle) + walker->P[d + i] * sin(angle));
    }
    offer(walker, above / below, below, c);
}

/* The form F on the circle, in the double angle. */
static void double_angle(const nadir_walker *walker, const double *F, double a[3])
{
    const int d = walker->of->d;
    const double *p = walker->P;
    const double *q = walker->P + d;
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

/* The best of an arc: its first end, and where the derivative vanishes. */
static void try_arc(nadir_walker *walker, const nadir_walk_sums *sums, double sign, double from, double to)
{
    double a[3];
    double b[3];
    double_angle(walker, sums->G, a);
    double_angle(walker, sums->M, b);
    try_angle(walker, a, b, sign, from);
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
            try_angle(walker, a, b, sign, from + angle);
        }
    }
}

/* The best of a cell, if it lies within; where M is singular, c can move along its null space without a
 * change of x until the boundary: what the cell has to offer is there too. Its support: I and the components
 * of one side, or, of the sums `other`, all but those. */
static void try_cell(nadir_walker *walker, const nadir_walk_sums *sums, int side, bool other)
{
    const nadir_walk_space *of = walker->of;
    double c[D];
    double sign = 0;
    double mu;
    const double level = BETTER * fmax(walker->best.square, walker->promised.square);
    if (!nadir_pencil_reaches(sums->G, sums->M, level) || !nadir_pencil_top(sums->G, sums->M, c, &mu) ||
        !(mu > level)) {
        return;
    }
    const double tolerance = OUTSIDE * sqrt(dot(D, c, c));
    for (int64_t j = 0; j < of->cone->columns; j++) {
        const double entry = dot(D, of->V + j * D, c);
        const bool within = (walker->inside[j] || walker->side[j] == side) != other;
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
    offer(walker, mu, 1 / dot(D, c, c), c);
}

/* The two cells beside the arc, and those opposite. */
static void try_cells(nadir_walker *walker)
{
    const nadir_walk_space *of = walker->of;
    for (int side = -1; side <= 1; side += 2) {
        nadir_walk_sums sums = walker->beside[side > 0];
        nadir_walk_sums other;
        for (int i = 0; i < D * D; i++) {
            sums.G[i] += walker->sums.G[i];
            sums.H[i] += walker->sums.H[i];
            sums.M[i] += walker->sums.M[i];
        }
        for (int64_t i = 0; i < walker->parallels_count; i++) {
            const int64_t j = walker->parallels[i];
            const double *v = of->V + j * D;
            const double *s = walker->s + j * D;
            for (int a = 0; a < D && walker->side[j] == side; a++) {
                for (int b = 0; b < D; b++) {
                    sums.G[a * D + b] += v[a] * s[b] + s[a] * v[b];
                }
            }
        }
        complement(of, &sums, &other);
        try_cell(walker, &sums, side, false);
        try_cell(walker, &other, side, true);
    }
}

static int compare(const void *a, const void *b)
{
    const nadir_crossing *first = a;
    const nadir_crossing *second = b;
    if (first->angle != second->angle) {
        return first->angle < second->angle ? -1 : 1;
    }
    return (first->j > second->j) - (first->j < second->j);
}

/* P <- an orthonormal basis of what is orthogonal to v_pinned != 0; pinned = -1 (d = 2): of the whole plane.
 */
static void make_basis(nadir_walker *walker, int64_t pinned)
{
    double *p = walker->P;
    double *q = walker->P + walker->of->d;
    if (pinned < 0) {
        p[0] = q[1] = 1;
        p[1] = q[0] = 0;
        return;
    }
    const double *v = walker->of->V + pinned * D;
    const double length = sqrt(dot(D, v, v));
    const double w[D] = {v[0] / length, v[1] / length, v[2] / length};
    int least = fabs(w[0]) < fabs(w[1]) ? 0 : 1;
    least = fabs(w[2]) < fabs(w[least]) ? 2 : least;
    double size = 0;
    for (int i = 0; i < D; i++) { /* the axis that w is farthest from, less its part along w */
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

/* Crossings in their order, the support just before angle 0, and the components that are zero all around;
 * returns the number of crossings. */
static int64_t prepare(nadir_walker *walker, int64_t pinned)
{
    const nadir_walk_space *of = walker->of;
    const int d = of->d;
    int64_t count = 0;
    make_basis(walker, pinned);
    walker->parallels_count = 0;
    for (int64_t j = 0; j < of->cone->columns; j++) {
        const double *v = of->V + j * d;
        const double along = dot(d, walker->P, v);
        const double across = dot(d, walker->P + d, v);
        walker->side[j] = 0;
        walker->inside[j] = false;
        if (hypot(along, across) > PARALLEL * sqrt(dot(d, v, v))) {
            double angle = atan2(along, -across);
            angle += angle < 0 ? PI : 0;
            walker->crossings[count++] = (nadir_crossing){angle < PI ? angle : angle - PI, j};
        } else if (pinned >= 0 && dot(d, v, v) > 0) {
            walker->side[j] = dot(d, v, of->V + pinned * d) > 0 ? 1 : -1;
            walker->parallels[walker->parallels_count++] = j;
        }
    }
    qsort(walker->crossings, (size_t)count, sizeof *walker->crossings, compare);
    memset(&walker->sums, 0, sizeof walker->sums);
    memset(walker->s, 0, (size_t)(of->cone->columns * d) * sizeof *walker->s);
    for (int64_t k = 0; k < count; k++) {
        const int64_t j = walker->crossings[k].j;
        const double along = dot(d, walker->P, of->V + j * d);
        if (along > 0 || (along == 0 && dot(d, walker->P + d, of->V + j * d) < 0)) {
            cross(walker, j);
        }
    }
    return count;
}

/* The sums over the components of each side, among themselves. */
static void prepare_sides(nadir_walker *walker)
{
    const nadir_walk_space *of = walker->of;
    memset(walker->beside, 0, sizeof walker->beside);
    for (int64_t i = 0; i < walker->parallels_count; i++) {
        const int64_t j = walker->parallels[i];
        const double *column = of->cone->K + j * of->cone->columns;
        double s[D] = {0};
        for (int64_t k = 0; k < i; k++) {
            const int64_t l = walker->parallels[k];
            for (int a = 0; a < D && walker->side[l] == walker->side[j]; a++) {
                s[a] += column[l] * of->V[l * D + a];
            }
        }
        add_outer(of, j, 1, s, &walker->beside[walker->side[j] > 0]);
    }
}

void nadir_walker_around(nadir_walker *walker, int64_t pinned)
{
    const nadir_walk_space *of = walker->of;
    const double *v = of->V + (pinned >= 0 ? pinned : 0) * of->d;
    if (pinned >= 0 && !(dot(of->d, v, v) > 0)) {
        return;
    }
    const int64_t count = prepare(walker, pinned);
    if (pinned >= 0) {
        prepare_sides(walker);
    }
    walker->promised.square = -1;
    for (int64_t k = 0; k < count; k++) {
        const double from = walker->crossings[k].angle;
        const double to = k + 1 < count ? walker->crossings[k + 1].angle : walker->crossings[0].angle + PI;
        nadir_walk_sums other;
        cross(walker, walker->crossings[k].j);
        complement(of, &walker->sums, &other);
        try_arc(walker, &walker->sums, 1, from, to);
        try_arc(walker, &other, -1, from, to);
        if (pinned >= 0) {
            try_cells(walker);
        }
    }
    if (walker->promised.square >= 0) {
        nadir_walker_try(walker, walker->promised.c);
    }
}

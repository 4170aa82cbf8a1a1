/*
 * cone_power.c: projected power iterations; see cone.h.
 *
 * A maximiser has x = (K x)_+ / |(K x)_+|. A step x <- z = (K x)_+ / |(K x)_+| never lowers x^T K x: z
 * maximises z . K x over z >= 0, |z| = 1, so z^T K x >= x^T K x, and z^T K z >= 2 z^T K x - x^T K x since K
 * is positive semidefinite. All starting points take some steps together, in products of matrices; then the
 * better half of them, and so on. The last few are iterated to convergence one by one. Once the support I no
 * longer changes, the limit is the leading eigenvector of K_II, if that is positive; Lanczos iterations find
 * it much faster.
 */
#include "cone/cone.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum {
    TOGETHER = 16, /* steps taken together before the worse half is dropped */
    POLISHED = 2,  /* how many are iterated to convergence */
    STEPS = 2000,  /* of a polish */
    SETTLED = 6,   /* steps without a change of the support before Lanczos iterations are tried */
    PRODUCTS = 400,
    SMALL = 24 /* columns up to which order 3 costs little */
};
#define STATIONARY 1e-12 /* |(K x)_+ - mu x|, relative to mu */

/* K restricted to a support. */
typedef struct face {
    const nadir_cone *cone;
    const double *x; /* its support */
    double *masked;  /* [n] */
} face;

static nadir_status apply_face(nadir_context *context, void *user, const double *x, double *y)
{
    const face *self = user;
    const int64_t n = self->cone->columns;
    for (int64_t i = 0; i < n; i++) {
        self->masked[i] = self->x[i] > 0 ? x[i] : 0;
    }
    nadir_cone_multiply(context, self->cone, 1, self->masked, y);
    for (int64_t i = 0; i < n; i++) {
        y[i] = self->x[i] > 0 ? y[i] : 0;
    }
    return NADIR_OK;
}

/* x <- the leading eigenvector of K_II, if it is positive. work: [3 * n] */
static nadir_status try_face(nadir_context *context, const nadir_cone *cone, double *x, double *work)
{
    const int64_t n = cone->columns;
    double *z = work;
    face user = {cone, x, work + 2 * n};
    const nadir_linear_map map = {n, n, apply_face, apply_face, &user};
    const nadir_vec here = nadir_vec_host(context);
    nadir_singular_triple triple;
    const nadir_status status =
        nadir_lanczos_top(&here, &map, x, NULL, STATIONARY, PRODUCTS, z, work + n, &triple);
    if (status != NADIR_OK || !triple.converged) {
        return status;
    }
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += z[i];
    }
    for (int64_t i = 0; i < n; i++) {
        if (x[i] > 0 && !(sum * z[i] > 0)) {
            return status;
        }
    }
    (void)nadir_cone_positive(n, sum, z, x);
    return status;
}

/* One step; y: [n]. *square: x^T K x before it; *changed: the support is another. Returns
 * |(K x)_+ - mu x| / mu with mu = |(K x)_+|; 0 where K x = 0. */
static double step(const nadir_context *context, const nadir_cone *cone, double *x, double *y, double *square,
                   bool *changed)
{
    const int64_t n = cone->columns;
    double difference = 0;
    nadir_cone_multiply(context, cone, 1, x, y);
    *square = cblas_ddot((blasint)n, x, 1, y, 1);
    *changed = false;
    if (!(nadir_cone_positive(n, 1, y, y) > 0)) {
        return 0;
    }
    for (int64_t i = 0; i < n; i++) {
        difference += (y[i] - x[i]) * (y[i] - x[i]);
        *changed = *changed || (y[i] > 0) != (x[i] > 0);
        x[i] = y[i];
    }
    return sqrt(difference);
}

/* Steps until x is stationary. work: [4 * n] */
static nadir_status polish(nadir_context *context, const nadir_cone *cone, double *x, double *square,
                           double *work)
{
    nadir_status status = NADIR_OK;
    int settled = 0;
    int wanted = SETTLED;
    for (int i = 0; i < STEPS; i++) {
        bool changed;
        NADIR_CHECK(nadir_progress(context, "power iterations", -1));
        if (step(context, cone, x, work, square, &changed) <= STATIONARY) {
            break;
        }
        settled = changed ? 0 : settled + 1;
        if (settled == wanted) {
            NADIR_CHECK(try_face(context, cone, x, work + cone->columns));
            settled = 0;
            wanted *= 2;
        }
    }
cleanup:
    return status;
}

/* The starting points, X: [n * *count]: both parts of every eigenvector, the unit vector of the longest
 * column, the middle of the cone, and the points of order 2 and, while that is cheap, of order 3. */
static nadir_status make_starts(nadir_context *context, const nadir_cone *cone,
                                const nadir_spectrum *spectrum, double *X, int64_t *count)
{
    nadir_status status = NADIR_OK;
    const int64_t n = cone->columns;
    int64_t made = 0;
    int64_t longest = 0;
    for (int64_t i = 0; i < spectrum->count; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            made += nadir_cone_positive(n, sign, spectrum->vectors + i * n, X + made * n) > 0;
        }
    }
    NADIR_CHECK(nadir_cone_circle(context, cone, spectrum, X + made * n));
    made++;
    if (n <= SMALL) {
        NADIR_CHECK(nadir_cone_sphere(context, cone, spectrum, X + made * n));
        made++;
    }
    for (int64_t i = 0; i < n; i++) {
        longest = cone->K[i * n + i] > cone->K[longest * n + longest] ? i : longest;
        X[made * n + i] = 0;
        X[(made + 1) * n + i] = 1 / sqrt((double)n);
    }
    X[made * n + longest] = 1;
    *count = made + 2;
cleanup:
    return status;
}

/* Moves the `kept` columns of X with the largest squares to the front. */
static void select_best(int64_t n, int64_t count, int64_t kept, double *X, double *squares)
{
    for (int64_t i = 0; i < kept; i++) {
        int64_t best = i;
        for (int64_t j = i + 1; j < count; j++) {
            best = squares[j] > squares[best] ? j : best;
        }
        const double square = squares[i];
        squares[i] = squares[best];
        squares[best] = square;
        if (best != i) {
            cblas_dswap((blasint)n, X + i * n, 1, X + best * n, 1);
        }
    }
}

/* Steps of `count` points at once, X and Y: [n * count]; squares: x^T K x before the last. */
static nadir_status step_together(nadir_context *context, const nadir_cone *cone, int64_t count, double *X,
                                  double *Y, double *squares)
{
    nadir_status status = NADIR_OK;
    const int64_t n = cone->columns;
    for (int i = 0; i < TOGETHER; i++) {
        NADIR_CHECK(nadir_progress(context, "power iterations", -1));
        nadir_cone_multiply(context, cone, count, X, Y);
        for (int64_t j = 0; j < count; j++) {
            squares[j] = cblas_ddot((blasint)n, X + j * n, 1, Y + j * n, 1);
            if (nadir_cone_positive(n, 1, Y + j * n, Y + j * n) > 0) {
                memcpy(X + j * n, Y + j * n, (size_t)n * sizeof *X);
            }
        }
    }
cleanup:
    return status;
}

nadir_status nadir_cone_power(nadir_context *context, const nadir_cone *cone, const nadir_spectrum *spectrum,
                              double *x)
{
    nadir_status status = NADIR_OK;
    const int64_t n = cone->columns;
    const int64_t room = 2 * spectrum->count + 4;
    double *X = NULL;
    double *Y = NULL;
    double *squares = NULL;
    double best = -1;
    int64_t count = 0;
    NADIR_NEW(context, X, n * room);
    NADIR_NEW(context, Y, n * room);
    NADIR_NEW(context, squares, room);
    NADIR_CHECK(make_starts(context, cone, spectrum, X, &count));
    while (count > POLISHED) {
        NADIR_CHECK(step_together(context, cone, count, X, Y, squares));
        const int64_t kept = count / 2 > POLISHED ? count / 2 : POLISHED;
        select_best(n, count, kept, X, squares);
        count = kept;
    }
    for (int64_t j = 0; j < count; j++) {
        NADIR_CHECK(polish(context, cone, X + j * n, &squares[j], Y));
        if (squares[j] > best) {
            best = squares[j];
            memcpy(x, X + j * n, (size_t)n * sizeof *x);
        }
    }
cleanup:
    nadir_release(context, X);
    nadir_release(context, Y);
    nadir_release(context, squares);
    return status;
}

/* spectral_subspace.c: the L_2 problem of the free domain on a subspace, b^T T^-1 b = l^2; see spectral.h for
 * the formulas. */
#include "search/spectral.h"

#include "linalg/distributed.h"
#include "linalg/gstd.h"
#include "linalg/matrix.h"

#include <math.h>
#include <string.h>

enum { LIMIT = NADIR_SPECTRAL_SUBSPACE_LIMIT };

/* So many of the oldest columns, after the first, become one when the basis is made smaller. */
enum { FOLDED = LIMIT / 2 };

void nadir_spectral_subspace_free(nadir_context *context, nadir_spectral_subspace *subspace)
{
    if (subspace == NULL) {
        return;
    }
    for (int j = 0; j < LIMIT; j++) {
        nadir_release(context, subspace->x[j]);
        nadir_release(context, subspace->z[j]);
    }
    nadir_release(context, subspace->v_hat);
    nadir_release(context, subspace->Wd);
    nadir_release(context, subspace);
}

nadir_status nadir_spectral_subspace_create(nadir_context *context, const nadir_problem *problem,
                                            nadir_spectral_subspace **subspace)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    nadir_spectral_subspace *made = NULL;
    nadir_gstd gstd;
    NADIR_NEW_ZERO(context, made, 1);
    NADIR_NEW(context, made->v_hat, n);
    NADIR_NEW(context, made->Wd, n);
    made->problem = problem;
    NADIR_CHECK(nadir_gstd_compute(context, 0, n, problem->v, 2, NULL, made->v_hat, &gstd));
    made->nu = gstd.sigma;
    for (int64_t s = 0; s < n; s++) {
        made->Wd[s] = problem->uncertainty->W[s] * problem->d[s];
    }
    made->idle = made->nu == 0 || problem->gamma == 0 || nadir_blocks_are_zero(context, n, made->Wd);
    *subspace = made;
    made = NULL;
cleanup:
    nadir_spectral_subspace_free(context, made);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------
 * The basis
 */

static const double *const *columns(double *const *vectors)
{
    return (const double *const *)vectors;
}

double nadir_spectral_subspace_reduce(const nadir_context *context, const nadir_spectral_subspace *subspace,
                                      double *x)
{
    const int64_t n = subspace->problem->states;
    double factors[LIMIT];
    double square = 0;
    for (int time = 0; time < 2; time++) { /* once leaves roundings of what was taken away */
        nadir_blocks_dots(context, n, subspace->size, columns(subspace->x), x, factors);
        for (int j = 0; j < subspace->size; j++) {
            factors[j] = -factors[j];
        }
        square = nadir_blocks_add_many(context, n, subspace->size, columns(subspace->x), factors, x);
    }
    return sqrt(square);
}

/* z: [states], in: D W x of a new column x; out: its part orthogonal to 1 and v_hat. */
static void add_image(const nadir_context *context, nadir_spectral_subspace *subspace, double *z)
{
    const int64_t n = subspace->problem->states;
    const int j = subspace->size;
    const double mean = nadir_global_sum(context, n, z) / (double)nadir_model_total(subspace->problem->model);
    for (int64_t s = 0; s < n; s++) {
        z[s] -= mean;
    }
    subspace->h[j] = 0;
    for (int time = 0; time < 2; time++) {
        const double along = nadir_blocks_dot(context, n, subspace->v_hat, z);
        nadir_blocks_add(context, n, -along, subspace->v_hat, z);
        subspace->h[j] += along;
    }
    memcpy(subspace->z[j], z, (size_t)n * sizeof *z);
    nadir_blocks_dots(context, n, j + 1, columns(subspace->z), z, subspace->M + j * LIMIT);
    for (int i = 0; i < j; i++) {
        subspace->M[i * LIMIT + j] = subspace->M[j * LIMIT + i];
    }
    subspace->size++;
}

/* s <- V^T s, or V s. */
static void rotate(const nadir_spectral_subspace *subspace, bool transposed, const double *from, double *to)
{
    const int along = transposed ? LIMIT : 1;
    const int across = transposed ? 1 : LIMIT;
    for (int i = 0; i < subspace->size; i++) {
        const double *V = subspace->V + i * along;
        double sum = 0;
        for (int j = 0; j < subspace->size; j++) {
            sum += V[j * across] * from[j];
        }
        to[i] = sum;
    }
}

static nadir_status diagonalise(nadir_context *context, nadir_spectral_subspace *subspace)
{
    const int size = subspace->size;
    double *packed = subspace->work;
    for (int j = 0; j < size; j++) {
        memcpy(packed + j * size, subspace->M + j * LIMIT, (size_t)size * sizeof *packed);
    }
    if (!nadir_symmetric_eigen(size, packed, subspace->m, packed + LIMIT * LIMIT)) {
        return nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                          "the search for the worst kernel met numbers that are not finite");
    }
    for (int j = 0; j < size; j++) {
        memcpy(subspace->V + j * LIMIT, packed + j * size, (size_t)size * sizeof *packed);
        subspace->m[j] = subspace->m[j] > 0 ? subspace->m[j] : 0; /* rounding */
    }
    rotate(subspace, true, subspace->a, subspace->Va);
    rotate(subspace, true, subspace->h, subspace->Vh);
    return NADIR_OK;
}

nadir_status nadir_spectral_subspace_append(nadir_context *context, nadir_spectral_subspace *subspace,
                                            double *x)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = subspace->problem;
    const int64_t n = problem->states;
    const int j = subspace->size;
    if (subspace->x[j] == NULL) {
        NADIR_NEW(context, subspace->x[j], n);
    }
    if (subspace->z[j] == NULL) {
        NADIR_NEW(context, subspace->z[j], n);
    }
    memcpy(subspace->x[j], x, (size_t)n * sizeof *x);
    subspace->a[j] = nadir_blocks_dot(context, n, subspace->Wd, x);
    for (int64_t s = 0; s < n; s++) {
        x[s] *= problem->uncertainty->W[s];
    }
    NADIR_CHECK(nadir_occupancy_solve(context, problem->occupancy, 1, x, x, NULL));
    add_image(context, subspace, x);
    NADIR_CHECK(diagonalise(context, subspace));
cleanup:
    return status;
}

nadir_status nadir_spectral_subspace_begin(nadir_context *context, nadir_spectral_subspace *subspace,
                                           double *work)
{
    const int64_t n = subspace->problem->states;
    const double square = nadir_blocks_dot(context, n, subspace->Wd, subspace->Wd);
    nadir_blocks_scale(context, n, 1 / sqrt(square), subspace->Wd, work);
    return nadir_spectral_subspace_append(context, subspace, work);
}

/* ---------------------------------------------------------------------------------------------------------
 * The problem on the subspace
 */

/* Finishes a point from its l and s, which is in terms of the eigenvectors and of any length. */
static void complete(const nadir_spectral_subspace *subspace, const double *s,
                     nadir_spectral_subspace_point *point)
{
    const int size = subspace->size;
    double unit[LIMIT];
    double square = 0;
    for (int i = 0; i < size; i++) {
        square += s[i] * s[i];
    }
    const double norm = sqrt(square);
    double strength = 0; /* b . s */
    double hs = 0;
    double sMs = 0;
    for (int i = 0; i < size; i++) {
        unit[i] = s[i] / norm;
        strength += (subspace->Va[i] - point->l * subspace->Vh[i]) * unit[i];
        hs += subspace->Vh[i] * unit[i];
        sMs += subspace->m[i] * unit[i] * unit[i];
    }
    point->theta = hypot(strength, point->l * sqrt(sMs));
    point->along = strength / point->theta;
    point->feedback = point->along * hs - point->l * sMs / point->theta;
    rotate(subspace, false, unit, point->s);
}

static nadir_status refuse(nadir_context *context, double beta)
{
    return nadir_fail(context, NADIR_ERROR_ILL_POSED,
                      "the radius %.10g is at or past breakdown: a kernel of the ball makes I - gamma P "
                      "singular; choose a smaller radius, or another domain",
                      beta);
}

nadir_status nadir_spectral_subspace_root(nadir_context *context, const nadir_spectral_subspace *subspace,
                                          double beta, nadir_spectral_subspace_point *point)
{
    const int size = subspace->size;
    const double reach = beta * subspace->problem->gamma;
    double s[LIMIT];
    double aTa = 0; /* with T times reach^2, so that no radius is too small */
    double aTh = 0;
    double hTh = 0;
    for (int i = 0; i < size; i++) {
        const double t = 1 - reach * reach * subspace->m[i];
        if (!(t > 0)) {
            return refuse(context, beta);
        }
        aTa += subspace->Va[i] * subspace->Va[i] / t;
        aTh += subspace->Va[i] * subspace->Vh[i] / t;
        hTh += subspace->Vh[i] * subspace->Vh[i] / t;
    }
    /* (1 - h T^-1 h) l^2 + 2 (a T^-1 h) l - a T^-1 a = 0 */
    const double quadratic = 1 - reach * reach * hTh;
    if (!(quadratic > 0)) {
        return refuse(context, beta);
    }
    const double linear = reach * aTh;
    point->l = reach * aTa / (linear + sqrt(linear * linear + quadratic * aTa));
    for (int i = 0; i < size; i++) {
        s[i] = (subspace->Va[i] - point->l * subspace->Vh[i]) / (1 - reach * reach * subspace->m[i]);
    }
    complete(subspace, s, point);
    return NADIR_OK;
}

/* ---------------------------------------------------------------------------------------------------------
 * From the subspace to the states
 */

/* result <- sum over j of s_j vectors[j]. */
static void combine(const nadir_context *context, const nadir_spectral_subspace *subspace, const double *s,
                    double *const *vectors, double *result)
{
    memset(result, 0, (size_t)subspace->problem->states * sizeof *result);
    (void)nadir_blocks_add_many(context, subspace->problem->states, subspace->size, columns(vectors), s,
                                result);
}

void nadir_spectral_subspace_expand(const nadir_context *context, const nadir_spectral_subspace *subspace,
                                    const nadir_spectral_subspace_point *point, double *x, double *y,
                                    double *g)
{
    double hs = 0;
    for (int j = 0; j < subspace->size; j++) {
        hs += subspace->h[j] * point->s[j];
    }
    combine(context, subspace, point->s, subspace->x, x);
    combine(context, subspace, point->s, subspace->z, g);
    for (int64_t s = 0; s < subspace->problem->states; s++) {
        y[s] = point->along * subspace->v_hat[s] - point->l / point->theta * g[s];
        g[s] += hs * subspace->v_hat[s];
    }
}

double nadir_spectral_subspace_residual(const nadir_context *context, const nadir_spectral_subspace *subspace,
                                        const nadir_spectral_subspace_point *point, double *r)
{
    const int64_t n = subspace->problem->states;
    const double *W = subspace->problem->uncertainty->W;
    double factors[LIMIT];
    for (int64_t s = 0; s < n; s++) {
        r[s] = point->along * subspace->Wd[s] - point->l * (W[s] * r[s]);
    }
    for (int j = 0; j < subspace->size; j++) {
        factors[j] = -point->theta * point->s[j];
    }
    return sqrt(nadir_blocks_add_many(context, n, subspace->size, columns(subspace->x), factors, r));
}

/* ---------------------------------------------------------------------------------------------------------
 * Making the basis smaller
 */

/* The columns 1 .. FOLDED times u, which is 0 in front of those, into the first of them. */
static void fold(const nadir_context *context, int64_t count, const double *u, double *const *vectors)
{
    nadir_blocks_scale(context, count, u[1], vectors[1], vectors[1]);
    (void)nadir_blocks_add_many(context, count, FOLDED - 1, columns(vectors + 2), u + 2, vectors[1]);
}

static void swap(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

void nadir_spectral_subspace_compress(const nadir_context *context, nadir_spectral_subspace *subspace,
                                      const nadir_spectral_subspace_point *point)
{
    const int64_t n = subspace->problem->states;
    double u[FOLDED + 1] = {0, 1};
    double square = 0;
    double a = 0;
    double h = 0;
    for (int j = 1; j <= FOLDED; j++) {
        square += point->s[j] * point->s[j];
    }
    for (int j = 1; j <= FOLDED; j++) {
        u[j] = square > 0 ? point->s[j] / sqrt(square) : u[j];
        a += u[j] * subspace->a[j];
        h += u[j] * subspace->h[j];
    }
    fold(context, n, u, subspace->x);
    fold(context, n, u, subspace->z);
    subspace->a[1] = a;
    subspace->h[1] = h;
    subspace->size -= FOLDED - 1;
    for (int j = 2; j < subspace->size; j++) {
        swap(&subspace->x[j], &subspace->x[j + FOLDED - 1]);
        swap(&subspace->z[j], &subspace->z[j + FOLDED - 1]);
        subspace->a[j] = subspace->a[j + FOLDED - 1];
        subspace->h[j] = subspace->h[j + FOLDED - 1];
    }
    for (int j = 0; j < subspace->size; j++) {
        nadir_blocks_dots(context, n, subspace->size, columns(subspace->z), subspace->z[j],
                          subspace->M + j * LIMIT);
    }
}

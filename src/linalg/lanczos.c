/*
 * lanczos.c: Golub-Kahan bidiagonalisation with full reorthogonalisation and thick restarts; see lanczos.h.
 *
 * Orthonormal V = (v_1 ... v_j) and U = (u_1 ... u_j) with
 *
 *     A V = U B,    A^T U = V B^T + beta v_{j+1} e_j^T
 *
 * grow by u_j ~ A v_j and v_{j+1} ~ A^T u_j, each made orthogonal to all before it, so that the column j of B
 * is U^T A v_j as computed. From B = P diag(s) Q^T come the triples (s_i, U p_i, V q_i) with A x = s y and
 * |A^T y - s x| = beta |e_j^T p_i|. When the basis is full, the best KEPT of them and v_{j+1} are
 * kept, and it goes on: the relations above hold for them as they stand, with B = diag(s) so far.
 */
#include "linalg/lanczos.h"

#include "linalg/distributed.h"

#include <float.h>
#include <lapack.h>
#include <math.h>
#include <string.h>

enum {
    BASIS = 32, /* vectors on each side */
    KEPT = 10,  /* by a restart */
    LOOK = 4    /* steps between two looks at the residual */
};

/* What is left of a vector after orthogonalisation is rounding below this, relative to the operator. */
#define ROUNDING     (64 * DBL_EPSILON)
#define TOLERANCE_AT 1e-13

typedef struct lanczos {
    nadir_context *context;
    const nadir_vec *vec;
    const nadir_linear_map *map;
    double *V;               /* [columns * (BASIS + 1)] */
    double *U;               /* [rows * BASIS] */
    double B[BASIS * BASIS]; /* column after column */
    double P[BASIS * BASIS]; /* of the last look */
    double Q[BASIS * BASIS]; /* the transpose */
    double s[BASIS];
    double work[8 * BASIS];
    double scale;     /* the largest |A v| so far */
    double beta;      /* |A^T u_j - ...|, 0: no direction is left */
    int64_t products; /* so far */
} lanczos;

/* x <- x - the part of it in the span of `many` vectors of [count], twice since once leaves rounding behind;
 * what was taken off is added to taken[many] unless NULL. *norm: |x|. */
static nadir_status orthogonalise(const lanczos *self, int64_t count, int many, const double *vectors,
                                  double *x, double *taken, double *norm)
{
    double dots[BASIS + 1];
    for (int round = 0; round < 2 && many > 0; round++) {
        NADIR_TRY(nadir_vec_dots(self->vec, count, many, vectors, x, dots));
        for (int i = 0; i < many; i++) {
            if (taken != NULL) {
                taken[i] += dots[i];
            }
            dots[i] = -dots[i];
        }
        NADIR_TRY(nadir_vec_add_many(self->vec, count, many, vectors, dots, x));
    }
    NADIR_TRY(nadir_vec_dots(self->vec, count, 1, x, x, norm));
    *norm = sqrt(*norm);
    return NADIR_OK;
}

/* x <- x / |x|, or 0 where |x| is rounding, as is *norm then. */
static nadir_status normalise(const lanczos *self, int64_t count, double *x, double *norm)
{
    *norm = *norm > ROUNDING * self->scale ? *norm : 0;
    return nadir_vec_scale(self->vec, count, *norm > 0 ? 1 / *norm : 0, x, x);
}

/* u_j, column j of B, beta and v_{j+1}. */
static nadir_status step(lanczos *self, int j)
{
    nadir_status status = NADIR_OK;
    const int64_t rows = self->map->rows;
    const int64_t columns = self->map->columns;
    double *u = self->U + j * rows;
    double *v = self->V + (j + 1) * columns;
    double *column = self->B + j * BASIS;
    double square;
    NADIR_CHECK(self->map->apply(self->context, self->map->user, self->V + j * columns, u));
    self->products++;
    NADIR_CHECK(nadir_vec_dots(self->vec, rows, 1, u, u, &square));
    const double size = sqrt(square);
    self->scale = size > self->scale ? size : self->scale;
    memset(column, 0, BASIS * sizeof *column);
    NADIR_CHECK(orthogonalise(self, rows, j, self->U, u, column, &column[j]));
    NADIR_CHECK(normalise(self, rows, u, &column[j]));
    self->beta = 0;
    if (column[j] > 0) {
        NADIR_CHECK(self->map->apply_transposed(self->context, self->map->user, u, v));
        self->products++;
        NADIR_CHECK(orthogonalise(self, columns, j + 1, self->V, v, NULL, &self->beta));
        NADIR_CHECK(normalise(self, columns, v, &self->beta));
    }
    if (!isfinite(size) || !isfinite(self->beta)) {
        status = nadir_fail(self->context, NADIR_ERROR_NOT_CONVERGED,
                            "a product with an operator is not finite: the Lanczos iteration stops");
    }
cleanup:
    return status;
}

/* B = P diag(s) Q^T for the first `size` rows and columns. */
static nadir_status decompose(lanczos *self, int size)
{
    const lapack_int n = size;
    const lapack_int stride = BASIS;
    const lapack_int length = 8 * BASIS;
    lapack_int info = 0;
    double copy[BASIS * BASIS];
    memcpy(copy, self->B, sizeof copy);
    LAPACK_dgesvd("A", "A", &n, &n, copy, &stride, self->s, self->P, &stride, self->Q, &stride, self->work,
                  &length, &info);
    if (info != 0) {
        return nadir_fail(self->context, NADIR_ERROR_NOT_CONVERGED,
                          "the singular values of a %d by %d matrix did not converge", size, size);
    }
    return NADIR_OK;
}

/* The first `kept` of `size` vectors of [count] <- their products with the columns of a matrix, whose entry
 * (i, j) is matrix[i * by_row + j * by_column]. */
static nadir_status rotate(const lanczos *self, int64_t count, int size, int kept, const double *matrix,
                           int by_row, int by_column, double *vectors)
{
    double columns[BASIS * BASIS];
    for (int j = 0; j < kept; j++) {
        for (int i = 0; i < size; i++) {
            columns[j * size + i] = matrix[i * by_row + j * by_column];
        }
    }
    return nadir_vec_rotate(self->vec, count, size, kept, columns, vectors);
}

/* Keeps the best `kept` triples of `size`, and the next direction. */
static nadir_status restart(lanczos *self, int size, int kept)
{
    const int64_t columns = self->map->columns;
    NADIR_TRY(rotate(self, self->map->rows, size, kept, self->P, 1, BASIS, self->U));
    NADIR_TRY(rotate(self, columns, size, kept, self->Q, BASIS, 1, self->V));
    NADIR_TRY(nadir_vec_copy(self->vec, columns, self->V + size * columns, self->V + kept * columns));
    memset(self->B, 0, sizeof self->B);
    for (int i = 0; i < kept; i++) {
        self->B[i * BASIS + i] = self->s[i];
    }
    return NADIR_OK;
}

/* Grows the spaces until the first triple is good enough. *size: of the spaces then, at->P and Q theirs. */
static nadir_status iterate(lanczos *self, double tolerance, int64_t products_limit, int *size,
                            nadir_singular_triple *triple)
{
    const int64_t rows = nadir_global_count(self->context, self->map->rows);
    const int64_t columns = nadir_global_count(self->context, self->map->columns);
    const int64_t least = rows < columns ? rows : columns;
    /* one more than can be independent: it is that step which finds that nothing is left */
    const int length = least < BASIS ? (int)least + 1 : BASIS;
    int kept = 0;
    for (int j = 0;; j++) {
        NADIR_TRY(nadir_progress(self->context, "searching a singular value", -1));
        NADIR_TRY(step(self, j));
        *size = j + 1;
        const bool full = *size == length;
        const bool spent = self->products + 2 > products_limit;
        if (self->beta > 0 && !full && !spent && (*size - kept) % LOOK != 0) {
            continue;
        }
        NADIR_TRY(decompose(self, *size));
        triple->sigma = self->s[0];
        triple->residual = self->beta * fabs(self->P[j]);
        triple->converged = triple->residual <= tolerance * triple->sigma;
        if (triple->converged || spent) {
            break;
        }
        if (full) {
            kept = *size > KEPT + LOOK ? KEPT : *size / 2;
            NADIR_TRY(restart(self, *size, kept));
            j = kept - 1;
        }
    }
    return NADIR_OK;
}

/* q <- `start`, [count] in memory, or normal variates, brought to length one. drawn: [count] in memory to make
 * it in, may be `start`. */
static nadir_status begin(const nadir_vec *vec, int64_t count, const double *start, nadir_random *random,
                          double *drawn, double *q)
{
    double square;
    /* the same vector, however it is distributed over processes */
    for (int64_t i = start == NULL ? nadir_global_first(vec->context, count) : 0; i > 0; i--) {
        (void)nadir_random_normal(random);
    }
    for (int64_t i = 0; i < count; i++) {
        drawn[i] = start != NULL ? start[i] : nadir_random_normal(random);
    }
    NADIR_TRY(nadir_vec_copy(vec, count, drawn, q));
    NADIR_TRY(nadir_vec_dots(vec, count, 1, q, q, &square));
    const double norm = sqrt(square);
    if (!(norm > 0) || !isfinite(norm)) {
        return nadir_fail(vec->context, NADIR_ERROR_ARGUMENT,
                          "the start of a Lanczos iteration has norm %g; expected one that is positive",
                          norm);
    }
    return nadir_vec_scale(vec, count, 1 / norm, q, q);
}

nadir_status nadir_lanczos_top(const nadir_vec *vec, const nadir_linear_map *map, const double *start,
                               nadir_random *random, double tolerance, int64_t products_limit, double *x,
                               double *y, nadir_singular_triple *triple)
{
    nadir_status status = NADIR_OK;
    lanczos *self = NULL;
    int size = 0;
    *triple = (nadir_singular_triple){0};
    NADIR_NEW_ZERO(vec->context, self, 1);
    self->context = vec->context;
    self->vec = vec;
    self->map = map;
    NADIR_CHECK(nadir_vec_allocate(vec, map->columns * (BASIS + 1), &self->V));
    NADIR_CHECK(nadir_vec_allocate(vec, map->rows * BASIS, &self->U));
    NADIR_CHECK(begin(vec, map->columns, start, random, x, self->V));
    NADIR_CHECK(
        iterate(self, tolerance > TOLERANCE_AT ? tolerance : TOLERANCE_AT, products_limit, &size, triple));
    triple->products = self->products;
    if (triple->sigma > 0) {
        NADIR_CHECK(rotate(self, map->rows, size, 1, self->P, 1, BASIS, self->U));
        NADIR_CHECK(rotate(self, map->columns, size, 1, self->Q, BASIS, 1, self->V));
    }
    NADIR_CHECK(nadir_vec_copy(vec, map->columns, self->V, x));
    NADIR_CHECK(nadir_vec_copy(vec, map->rows, self->U, y));
cleanup:
    if (self != NULL) {
        nadir_vec_release(vec, map->columns * (BASIS + 1), self->V);
        nadir_vec_release(vec, map->rows * BASIS, self->U);
    }
    nadir_release(vec->context, self);
    return status;
}

/*
 * Lanczos without reorthogonalisation, for the largest eigenvalue; see lanczos.h.
 *
 *     A q_j = beta_{j-1} q_{j-1} + alpha_j q_j + beta_j q_{j+1}
 *
 * The largest eigenvalue theta of the tridiagonal matrix of alpha and beta rises to that of A. What rounding
 * takes from the orthogonality of the q_j makes copies of eigenvalues that were found, and does no harm to
 * the largest. From a start that is uniform on the sphere, after k steps
 *
 *     lambda <= theta / (1 - e)    but for a chance of    1.648 sqrt(n) exp(-sqrt(e) (2 k - 1)),
 *
 * whatever the other eigenvalues are (Kuczynski and Wozniakowski 1992): no look at a residual,
 * which may belong to another eigenvalue, is needed. Where lambda = r theta is far above, polynomials that
 * are small on [0, theta] are larger there than that says. Let c be the part of the start that belongs to
 * lambda, and p the Chebyshev polynomial T of degree k - 1 on [0, theta]. No vector of the Krylov space, p(A)
 * q_1 among them, has a quotient above theta, so that
 *
 *     c^2 p(lambda)^2 (lambda - theta) <= max_{[0, theta]} p(t)^2 (theta - t) <= theta:
 *     |c| <= e = 1 / (sqrt(r - 1) T(2 r - 1)),    the chance of which is at most sqrt(2 n / pi) e, n > 2.
 *
 * The smaller of both is taken (a million states, a bound of 20 theta: 8 products instead of 15).
 */

#define CHANCE     1e-9
#define MOST_RATIO 1e8
/* Rough products may need a few steps to show what is large. */
enum { FEWEST = 6 };

typedef struct tridiagonal {
    int size;
    double alpha[NADIR_LARGEST_PRODUCTS];
    double beta[NADIR_LARGEST_PRODUCTS];
} tridiagonal;

/* The least r at which the second chance is small enough: lambda <= r theta. Infinity: none that is of use.
 */
static double chebyshev_ratio(int64_t n, int steps)
{
    if (n <= 2 || steps < FEWEST) {
        return INFINITY;
    }
    double high = log(MOST_RATIO); /* of r - 1 */
    double low = -high;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        const double z = (steps - 1) * acosh(1 + 2 * exp(middle));
        const double chance =
            log(sqrt(2 * (double)n / M_PI)) - middle / 2 - (z + log1p(exp(-2 * z)) - log(2));
        if (chance <= log(CHANCE)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high < log(MOST_RATIO) ? 1 + exp(high) : INFINITY;
}

/* theta and what it says of lambda; n: size of the operator. */
static nadir_status look(nadir_context *context, const tridiagonal *self, int64_t n, nadir_largest *largest)
{
    const lapack_int size = self->size;
    const lapack_int one = 1;
    lapack_int info = 0;
    double alpha[NADIR_LARGEST_PRODUCTS];
    double beta[NADIR_LARGEST_PRODUCTS];
    double none[1];
    memcpy(alpha, self->alpha, sizeof alpha);
    memcpy(beta, self->beta, sizeof beta);
    LAPACK_dstev("N", &size, alpha, beta, none, &one, none, &info);
    if (info != 0) {
        return nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                          "the eigenvalues of a tridiagonal matrix of size %d did not converge", self->size);
    }
    const double root = (log(1.648 * sqrt((double)n)) - log(CHANCE)) / (2.0 * self->size - 1);
    largest->value = fmax(alpha[self->size - 1], 0);
    largest->upper = fmin(root < 1 ? largest->value / (1 - root * root) : INFINITY,
                          largest->value * chebyshev_ratio(n, self->size));
    if (self->size >= n ||
        self->beta[self->size - 1] == 0) { /* an invariant space: all that the start has a part in */
        largest->upper = largest->value;
    }
    return NADIR_OK;
}

/* One more row: next <- q_{j+1} from q_j and q_{j-1}, which it may take the place of. */
static nadir_status largest_step(const nadir_vec *vec, int64_t size, nadir_apply *apply, void *user,
                                 tridiagonal *self, const double *q, double *next, double *product)
{
    const int j = self->size;
    double before;
    double after;
    NADIR_TRY(apply(vec->context, user, q, product));
    NADIR_TRY(nadir_vec_dots(vec, size, 1, product, product, &before));
    if (j > 0) {
        const double less = -self->beta[j - 1];
        NADIR_TRY(nadir_vec_add_many(vec, size, 1, next, &less, product));
    }
    NADIR_TRY(nadir_vec_dots(vec, size, 1, q, product, &self->alpha[j]));
    const double less = -self->alpha[j];
    NADIR_TRY(nadir_vec_add_many(vec, size, 1, q, &less, product));
    NADIR_TRY(nadir_vec_dots(vec, size, 1, product, product, &after));
    const double norm = sqrt(after);
    self->beta[j] = norm > 64 * DBL_EPSILON * sqrt(before) ? norm : 0;
    self->size = j + 1;
    if (!isfinite(self->alpha[j]) || !isfinite(norm)) {
        return nadir_fail(vec->context, NADIR_ERROR_NOT_CONVERGED,
                          "a product with an operator is not finite: the Lanczos iteration stops");
    }
    return nadir_vec_scale(vec, size, self->beta[j] > 0 ? 1 / norm : 0, product, next);
}

nadir_status nadir_lanczos_largest(const nadir_vec *vec, int64_t size, nadir_apply *apply, void *user,
                                   nadir_random *random, double enough, double hopeless, double tolerance,
                                   int64_t limit, nadir_largest *largest)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = vec->context;
    tridiagonal run = {0};
    double *vectors = NULL;
    double *drawn = NULL;
    *largest = (nadir_largest){.upper = INFINITY};
    NADIR_NEW(context, drawn, size);
    NADIR_CHECK(nadir_vec_allocate(vec, 3 * size, &vectors));
    double *q = vectors;
    double *next = vectors + size;
    double *product = vectors + 2 * size;
    NADIR_CHECK(begin(vec, size, NULL, random, drawn, q)); /* uniform on the sphere */
    limit = limit < NADIR_LARGEST_PRODUCTS ? limit : NADIR_LARGEST_PRODUCTS;
    const double begun = nadir_clock_seconds();
    while (largest->products < limit && (largest->products == 0 || !nadir_time_is_up(context))) {
        NADIR_CHECK(nadir_progress(context, "searching an eigenvalue", -1));
        NADIR_CHECK(largest_step(vec, size, apply, user, &run, q, next, product));
        largest->products++;
        nadir_progress_estimate(context, "proof by iterations, at most", begun,
                                (double)largest->products / (double)limit);
        NADIR_CHECK(look(context, &run, nadir_global_count(context, size), largest));
        if (largest->upper <= enough || largest->value > hopeless ||
            largest->upper <= (1 + tolerance) * largest->value || run.beta[run.size - 1] == 0) {
            break;
        }
        double *kept = q;
        q = next;
        next = kept;
    }
cleanup:
    nadir_progress_news(context, NULL, 0);
    nadir_release(context, drawn);
    nadir_vec_release(vec, 3 * size, vectors);
    return status;
}

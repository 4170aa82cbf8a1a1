/*
 * lanczos.c: Golub-Kahan bidiagonalisation with full reorthogonalisation and thick restarts; see lanczos.h.
 *
 * Orthonormal V = (v_1 ... v_j) and U = (u_1 ... u_j) with
 *
 *     A V = U B,    A^T U = V B^T + beta v_{j+1} e_j^T
 *
 * grow by u_j ~ A v_j and v_{j+1} ~ A^T u_j, each made orthogonal to all before it, so that the column j of B
 * is U^T A v_j as computed. From B = P diag(s) Q^T come the triples (s_i, U p_i, V q_i) with A x = s y and
 * |A^T y - s x| = beta |e_j^T p_i|. When there is no room for more, the best KEPT of them and v_{j+1} are
 * kept, and it goes on: the relations above hold for them as they stand, with B = diag(s) so far.
 */
#include "linalg/lanczos.h"

#include "linalg/distributed.h"

#include <float.h>
#include <lapack.h>
#include <math.h>
#include <string.h>

enum {
    ROOM = 32, /* vectors on each side */
    KEPT = 10, /* by a restart */
    LOOK = 4   /* steps between two looks at the residual */
};

/* What is left of a vector after orthogonalisation is rounding below this, relative to the operator. */
#define ROUNDING     (64 * DBL_EPSILON)
#define TOLERANCE_AT 1e-13

typedef struct lanczos {
    nadir_context *context;
    const nadir_vec *place;
    const nadir_linear_map *of;
    double *V;             /* [columns * (ROOM + 1)] */
    double *U;             /* [rows * ROOM] */
    double B[ROOM * ROOM]; /* column after column */
    double P[ROOM * ROOM]; /* of the last look */
    double Q[ROOM * ROOM]; /* the transpose */
    double s[ROOM];
    double work[8 * ROOM];
    double scale;     /* the largest |A v| so far */
    double beta;      /* |A^T u_j - ...|, 0: no direction is left */
    int64_t products; /* so far */
} lanczos;

/* x <- x - the part of it in the span of `many` vectors of [count], twice since once leaves rounding behind;
 * what was taken off is added to taken[many] unless NULL. *norm: |x|. */
static nadir_status orthogonalise(const lanczos *at, int64_t count, int many, const double *vectors,
                                  double *x, double *taken, double *norm)
{
    nadir_status status = NADIR_OK;
    double dots[ROOM + 1];
    for (int round = 0; round < 2 && many > 0; round++) {
        NADIR_CHECK(nadir_vec_dots(at->place, count, many, vectors, x, dots));
        for (int i = 0; i < many; i++) {
            if (taken != NULL) {
                taken[i] += dots[i];
            }
            dots[i] = -dots[i];
        }
        NADIR_CHECK(nadir_vec_add_many(at->place, count, many, vectors, dots, x));
    }
    NADIR_CHECK(nadir_vec_dot(at->place, count, x, x, norm));
    *norm = sqrt(*norm);
cleanup:
    return status;
}

/* x <- x / |x|, or 0 where |x| is rounding, as is *norm then. */
static nadir_status normalise(const lanczos *at, int64_t count, double *x, double *norm)
{
    *norm = *norm > ROUNDING * at->scale ? *norm : 0;
    return nadir_vec_scale(at->place, count, *norm > 0 ? 1 / *norm : 0, x, x);
}

/* u_j, column j of B, beta and v_{j+1}. */
static nadir_status step(lanczos *at, int j)
{
    nadir_status status = NADIR_OK;
    const int64_t rows = at->of->rows;
    const int64_t columns = at->of->columns;
    double *u = at->U + j * rows;
    double *v = at->V + (j + 1) * columns;
    double *column = at->B + j * ROOM;
    double square;
    NADIR_CHECK(at->of->apply(at->context, at->of->user, at->V + j * columns, u));
    at->products++;
    NADIR_CHECK(nadir_vec_dot(at->place, rows, u, u, &square));
    const double size = sqrt(square);
    at->scale = size > at->scale ? size : at->scale;
    memset(column, 0, ROOM * sizeof *column);
    NADIR_CHECK(orthogonalise(at, rows, j, at->U, u, column, &column[j]));
    NADIR_CHECK(normalise(at, rows, u, &column[j]));
    at->beta = 0;
    if (column[j] > 0) {
        NADIR_CHECK(at->of->apply_transposed(at->context, at->of->user, u, v));
        at->products++;
        NADIR_CHECK(orthogonalise(at, columns, j + 1, at->V, v, NULL, &at->beta));
        NADIR_CHECK(normalise(at, columns, v, &at->beta));
    }
    if (!isfinite(size) || !isfinite(at->beta)) {
        status = nadir_fail(at->context, NADIR_ERROR_NOT_CONVERGED,
                            "a product with an operator is not finite: the Lanczos iteration stops");
    }
cleanup:
    return status;
}

/* B = P diag(s) Q^T for the first `size` rows and columns. */
static nadir_status decompose(lanczos *at, int size)
{
    const lapack_int n = size;
    const lapack_int stride = ROOM;
    const lapack_int room = 8 * ROOM;
    lapack_int info = 0;
    double copy[ROOM * ROOM];
    memcpy(copy, at->B, sizeof copy);
    LAPACK_dgesvd("A", "A", &n, &n, copy, &stride, at->s, at->P, &stride, at->Q, &stride, at->work, &room,
                  &info);
    if (info != 0) {
        return nadir_fail(at->context, NADIR_ERROR_NOT_CONVERGED,
                          "the singular values of a %d by %d matrix did not converge", size, size);
    }
    return NADIR_OK;
}

/* The first `kept` of `size` vectors of [count] <- their products with the columns of a matrix, whose entry
 * (i, j) is matrix[i * by_row + j * by_column]. */
static nadir_status rotate(const lanczos *at, int64_t count, int size, int kept, const double *matrix,
                           int by_row, int by_column, double *vectors)
{
    double columns[ROOM * ROOM];
    for (int j = 0; j < kept; j++) {
        for (int i = 0; i < size; i++) {
            columns[j * size + i] = matrix[i * by_row + j * by_column];
        }
    }
    return nadir_vec_rotate(at->place, count, size, kept, columns, vectors);
}

/* Keeps the best `kept` triples of `size`, and the next direction. */
static nadir_status restart(lanczos *at, int size, int kept)
{
    nadir_status status = NADIR_OK;
    const int64_t columns = at->of->columns;
    NADIR_CHECK(rotate(at, at->of->rows, size, kept, at->P, 1, ROOM, at->U));
    NADIR_CHECK(rotate(at, columns, size, kept, at->Q, ROOM, 1, at->V));
    NADIR_CHECK(nadir_vec_copy(at->place, columns, at->V + size * columns, at->V + kept * columns));
    memset(at->B, 0, sizeof at->B);
    for (int i = 0; i < kept; i++) {
        at->B[i * ROOM + i] = at->s[i];
    }
cleanup:
    return status;
}

/* Grows the spaces until the first triple is good enough. *size: of the spaces then, at->P and Q theirs. */
static nadir_status iterate(lanczos *at, double tolerance, int64_t products_limit, int *size,
                            nadir_singular_triple *triple)
{
    nadir_status status = NADIR_OK;
    const int64_t rows = nadir_global_count(at->context, at->of->rows);
    const int64_t columns = nadir_global_count(at->context, at->of->columns);
    const int64_t least = rows < columns ? rows : columns;
    /* one more than can be independent: it is that step which finds that nothing is left */
    const int room = least < ROOM ? (int)least + 1 : ROOM;
    int kept = 0;
    for (int j = 0;; j++) {
        NADIR_CHECK(nadir_progress(at->context, "searching a singular value", -1));
        NADIR_CHECK(step(at, j));
        *size = j + 1;
        const bool full = *size == room;
        const bool spent = at->products + 2 > products_limit;
        if (at->beta > 0 && !full && !spent && (*size - kept) % LOOK != 0) {
            continue;
        }
        NADIR_CHECK(decompose(at, *size));
        triple->sigma = at->s[0];
        triple->residual = at->beta * fabs(at->P[j]);
        triple->converged = triple->residual <= tolerance * triple->sigma;
        if (triple->converged || spent) {
            break;
        }
        if (full) {
            kept = *size > KEPT + LOOK ? KEPT : *size / 2;
            NADIR_CHECK(restart(at, *size, kept));
            j = kept - 1;
        }
    }
cleanup:
    return status;
}

/* v_1; x: [columns] to make it in, may be `start`. */
static nadir_status begin(lanczos *at, const double *start, nadir_random *random, double *x)
{
    nadir_status status = NADIR_OK;
    const int64_t columns = at->of->columns;
    double square;
    NADIR_CHECK(nadir_vec_allocate(at->place, columns * (ROOM + 1), &at->V));
    NADIR_CHECK(nadir_vec_allocate(at->place, at->of->rows * ROOM, &at->U));
    /* the same vector, however it is spread over processes */
    for (int64_t i = start == NULL ? nadir_global_first(at->context, columns) : 0; i > 0; i--) {
        (void)nadir_random_normal(random);
    }
    for (int64_t i = 0; i < columns; i++) {
        x[i] = start != NULL ? start[i] : nadir_random_normal(random);
    }
    NADIR_CHECK(nadir_vec_copy(at->place, columns, x, at->V));
    NADIR_CHECK(nadir_vec_dot(at->place, columns, at->V, at->V, &square));
    const double norm = sqrt(square);
    if (!(norm > 0) || !isfinite(norm)) {
        status =
            nadir_fail(at->context, NADIR_ERROR_ARGUMENT,
                       "the start of a Lanczos iteration has norm %g; expected one that is positive", norm);
        goto cleanup;
    }
    NADIR_CHECK(nadir_vec_scale(at->place, columns, 1 / norm, at->V, at->V));
cleanup:
    return status;
}

nadir_status nadir_lanczos_top(const nadir_vec *place, const nadir_linear_map *of, const double *start,
                               nadir_random *random, double tolerance, int64_t products_limit, double *x,
                               double *y, nadir_singular_triple *triple)
{
    nadir_status status = NADIR_OK;
    lanczos *at = NULL;
    int size = 0;
    *triple = (nadir_singular_triple){0};
    NADIR_NEW_ZERO(place->context, at, 1);
    at->context = place->context;
    at->place = place;
    at->of = of;
    NADIR_CHECK(begin(at, start, random, x));
    NADIR_CHECK(
        iterate(at, tolerance > TOLERANCE_AT ? tolerance : TOLERANCE_AT, products_limit, &size, triple));
    triple->products = at->products;
    if (triple->sigma > 0) {
        NADIR_CHECK(rotate(at, of->rows, size, 1, at->P, 1, ROOM, at->U));
        NADIR_CHECK(rotate(at, of->columns, size, 1, at->Q, ROOM, 1, at->V));
    }
    NADIR_CHECK(nadir_vec_copy(place, of->columns, at->V, x));
    NADIR_CHECK(nadir_vec_copy(place, of->rows, at->U, y));
cleanup:
    if (at != NULL) {
        nadir_vec_release(place, of->columns * (ROOM + 1), at->V);
        nadir_vec_release(place, of->rows * ROOM, at->U);
    }
    nadir_release(place->context, at);
    return status;
}

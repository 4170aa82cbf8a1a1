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

#include "linalg/blocks.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"

#include <cblas.h>
#include <float.h>
#include <lapack.h>
#include <math.h>
#include <string.h>

enum {
    ROOM = 32,  /* vectors on each side */
    KEPT = 10,  /* by a restart */
    LOOK = 4,   /* steps between two looks at the residual */
    CHUNK = 256 /* entries of all vectors that are rotated at a time */
};

/* What is left of a vector after orthogonalisation is rounding below this, relative to the operator. */
#define ROUNDING     (64 * DBL_EPSILON)
#define TOLERANCE_AT 1e-13

typedef struct lanczos {
    nadir_context *context;
    const nadir_operator *of;
    double *V;   /* [columns * (ROOM + 1)] */
    double *U;   /* [rows * ROOM] */
    double *dot; /* [ROOM + 1] */
    double *chunk;
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
 * what was taken off is added to taken[many] unless NULL. Returns |x|. */
static double orthogonalise(const lanczos *at, int64_t count, int many, const double *vectors, double *x,
                            double *taken)
{
    const double *pointers[ROOM + 1];
    for (int i = 0; i < many; i++) {
        pointers[i] = vectors + i * count;
    }
    for (int round = 0; round < 2 && many > 0; round++) {
        nadir_blocks_dots(at->context, count, many, pointers, x, at->dot);
        for (int i = 0; i < many; i++) {
            if (taken != NULL) {
                taken[i] += at->dot[i];
            }
            at->dot[i] = -at->dot[i];
        }
        (void)nadir_blocks_add_many(at->context, count, many, pointers, at->dot, x);
    }
    return sqrt(nadir_blocks_dot(at->context, count, x, x));
}

/* x <- x / |x|, or 0 where |x| is rounding; returns |x| or 0. */
static double normalise(const lanczos *at, int64_t count, double norm, double *x)
{
    if (!(norm > ROUNDING * at->scale)) {
        memset(x, 0, (size_t)count * sizeof *x);
        return 0;
    }
    nadir_blocks_scale(at->context, count, 1 / norm, x, x);
    return norm;
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
    NADIR_CHECK(at->of->apply(at->context, at->of->user, at->V + j * columns, u));
    at->products++;
    const double size = sqrt(nadir_blocks_dot(at->context, rows, u, u));
    at->scale = size > at->scale ? size : at->scale;
    memset(column, 0, ROOM * sizeof *column);
    column[j] = normalise(at, rows, orthogonalise(at, rows, j, at->U, u, column), u);
    at->beta = 0;
    if (column[j] > 0) {
        NADIR_CHECK(at->of->apply_transposed(at->context, at->of->user, u, v));
        at->products++;
        at->beta = normalise(at, columns, orthogonalise(at, columns, j + 1, at->V, v, NULL), v);
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
static void rotate(const lanczos *at, int64_t count, int size, int kept, const double *matrix, int by_row,
                   int by_column, double *vectors)
{
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t length = first + CHUNK < count ? CHUNK : count - first;
        memset(at->chunk, 0, (size_t)kept * CHUNK * sizeof *at->chunk);
        for (int j = 0; j < kept; j++) {
            for (int i = 0; i < size; i++) {
                cblas_daxpy((blasint)length, matrix[i * by_row + j * by_column], vectors + i * count + first,
                            1, at->chunk + j * CHUNK, 1);
            }
        }
        for (int j = 0; j < kept; j++) {
            memcpy(vectors + j * count + first, at->chunk + j * CHUNK, (size_t)length * sizeof *vectors);
        }
    }
}

/* Keeps the best `kept` triples of `size`, and the next direction. */
static void restart(lanczos *at, int size, int kept)
{
    const int64_t columns = at->of->columns;
    rotate(at, at->of->rows, size, kept, at->P, 1, ROOM, at->U);
    rotate(at, columns, size, kept, at->Q, ROOM, 1, at->V);
    memmove(at->V + kept * columns, at->V + size * columns, (size_t)columns * sizeof *at->V);
    memset(at->B, 0, sizeof at->B);
    for (int i = 0; i < kept; i++) {
        at->B[i * ROOM + i] = at->s[i];
    }
}

/* Grows the spaces until the first triple is good enough. *size: of the spaces then, at->P and Q theirs. */
static nadir_status iterate(lanczos *at, double tolerance, int64_t products_limit, int *size,
                            nadir_triple *triple)
{
    nadir_status status = NADIR_OK;
    const int64_t rows = nadir_whole_count(at->context, at->of->rows);
    const int64_t columns = nadir_whole_count(at->context, at->of->columns);
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
            restart(at, *size, kept);
            j = kept - 1;
        }
    }
cleanup:
    return status;
}

static nadir_status begin(lanczos *at, const double *start, nadir_random *random)
{
    nadir_status status = NADIR_OK;
    const int64_t columns = at->of->columns;
    NADIR_NEW(at->context, at->V, columns * (ROOM + 1));
    NADIR_NEW(at->context, at->U, at->of->rows * ROOM);
    NADIR_NEW(at->context, at->dot, ROOM + 1);
    NADIR_NEW(at->context, at->chunk, KEPT * CHUNK);
    /* the same vector, however it is spread over processes */
    for (int64_t i = start == NULL ? nadir_whole_first(at->context, columns) : 0; i > 0; i--) {
        (void)nadir_random_normal(random);
    }
    for (int64_t i = 0; i < columns; i++) {
        at->V[i] = start != NULL ? start[i] : nadir_random_normal(random);
    }
    const double norm = sqrt(nadir_blocks_dot(at->context, columns, at->V, at->V));
    if (!(norm > 0) || !isfinite(norm)) {
        status =
            nadir_fail(at->context, NADIR_ERROR_ARGUMENT,
                       "the start of a Lanczos iteration has norm %g; expected one that is positive", norm);
        goto cleanup;
    }
    nadir_blocks_scale(at->context, columns, 1 / norm, at->V, at->V);
cleanup:
    return status;
}

nadir_status nadir_lanczos_top(nadir_context *context, const nadir_operator *of, const double *start,
                               nadir_random *random, double tolerance, int64_t products_limit, double *x,
                               double *y, nadir_triple *triple)
{
    nadir_status status = NADIR_OK;
    lanczos *at = NULL;
    int size = 0;
    *triple = (nadir_triple){0};
    NADIR_NEW_ZERO(context, at, 1);
    at->context = context;
    at->of = of;
    NADIR_CHECK(begin(at, start, random));
    NADIR_CHECK(
        iterate(at, tolerance > TOLERANCE_AT ? tolerance : TOLERANCE_AT, products_limit, &size, triple));
    triple->products = at->products;
    if (triple->sigma > 0) {
        rotate(at, of->rows, size, 1, at->P, 1, ROOM, at->U);
        rotate(at, of->columns, size, 1, at->Q, ROOM, 1, at->V);
    }
    memcpy(x, at->V, (size_t)of->columns * sizeof *x);
    memcpy(y, at->U, (size_t)of->rows * sizeof *y);
cleanup:
    if (at != NULL) {
        nadir_release(context, at->V);
        nadir_release(context, at->U);
        nadir_release(context, at->dot);
        nadir_release(context, at->chunk);
    }
    nadir_release(context, at);
    return status;
}

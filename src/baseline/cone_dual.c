/*
 * cone_dual.c: the bound min over N >= 0 of lambda_max(K + N); see cone.h.
 *
 * For x >= 0 and N >= 0 entry by entry x^T K x <= x^T (K + N) x, so any such N gives a bound; N_ii > 0 never
 * helps. The least t with t I - K - N >= 0 is the dual of max <K, Y> over Y >= 0 both as a matrix and entry
 * by entry, tr Y = 1. Alternating directions with the multiplier Y and the penalty sigma: with
 *
 *     Y' = sigma (K + N + Y / sigma - t I)_+    (of the eigenvalues, of which few are positive)
 *     N' = (N + (Y - 2 Y') / sigma)_+           (off the diagonal)
 *     t' = t + (2 tr Y' - tr Y - 1) / (sigma n)
 *
 * it converges (t and N live on different entries: these are two blocks). It starts from Y = x x^T and N = w
 * x^T + x w^T with w = (-K x)_+ off the support, which makes x an eigenvector of K + N: where no more is
 * needed it is the leading one. If the limit is |B x|^2 then x is a global maximiser, proven.
 */
#include "baseline/cone.h"

#include "linalg/lanczos.h"
#include "linalg/threads.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum {
    LOOK = 10,  /* iterations between two looks at the bound */
    ADAPT = 20, /* ... between two changes of sigma */
    PRODUCTS = 400
};
#define PRECISION  1e-10 /* of the largest eigenvalue, before it is proven */
#define CHANGE     1.5   /* of sigma */
#define UNBALANCED 10    /* one residual over the other */
#define FINISHED   1e-9  /* both residuals: nothing more is to be had */

/* Of the matrices, [n * n], the lower triangles hold. */
typedef struct dual {
    nadir_context *context;
    const nadir_cone *cone;
    nadir_spectrum spectrum;
    double *N, *Y, *next;
    double *best; /* the best N so far */
    double *vectors;
    double t, sigma;
    double t_best;
    double primal, change; /* residuals: of Y >= 0 and tr Y = 1; of the last step */
} dual;

static void begin(dual *at, const double *x)
{
    const int64_t n = at->cone->columns;
    double *product = at->vectors;
    double largest = 0;
    nadir_cone_multiply(at->context, at->cone, 1, x, product);
    at->t = cblas_ddot((blasint)n, x, 1, product, 1);
    for (int64_t j = 0; j < n; j++) {
        largest = fmax(largest, at->cone->K[j * n + j]);
        for (int64_t i = j; i < n; i++) {
            const double wi = x[i] > 0 ? 0 : fmax(0, -product[i]);
            const double wj = x[j] > 0 ? 0 : fmax(0, -product[j]);
            at->Y[j * n + i] = x[i] * x[j];
            at->N[j * n + i] = i == j ? 0 : wi * x[j] + x[i] * wj;
        }
    }
    at->sigma = 1 / ((double)n * largest);
    at->t_best = INFINITY;
}

/* next <- sigma (K + N + Y / sigma - t I)_+ */
static nadir_status project(dual *at)
{
    const int64_t n = at->cone->columns;
    double *matrix = at->cone->work;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) {
            const int64_t k = j * n + i;
            matrix[k] = at->cone->K[k] + at->N[k] + at->Y[k] / at->sigma - (i == j ? at->t : 0);
        }
    }
    const nadir_status status = nadir_spectrum_above(at->context, matrix, 0, &at->spectrum);
    if (status != NADIR_OK) {
        return status;
    }
    const nadir_spectrum *found = &at->spectrum;
    for (int64_t i = 0; i < found->count; i++) {
        cblas_dscal((blasint)n, sqrt(at->sigma * found->values[i]), found->vectors + i * n, 1);
    }
    const int before = nadir_blas_threads(nadir_threads_for_blas(at->context, n * n * found->count));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (blasint)n, (blasint)found->count, 1, found->vectors,
                (blasint)n, 0, at->next, (blasint)n);
    nadir_blas_restore(before);
    return NADIR_OK;
}

static nadir_status step(dual *at)
{
    const int64_t n = at->cone->columns;
    const double inverse = 1 / at->sigma;
    double negative = 0;
    double moved = 0;
    double trace = 0;
    double trace_next = 0;
    const nadir_status status = project(at);
    if (status != NADIR_OK) {
        return status;
    }
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) {
            const int64_t k = j * n + i;
            const double before = at->Y[k];
            const double after = at->next[k];
            const double weight = i == j ? 1 : 2;
            moved += weight * (after - before) * (after - before);
            negative += weight * (after < 0 ? after * after : 0);
            at->N[k] = i == j ? 0 : fmax(0, at->N[k] + inverse * (before - 2 * after));
        }
        trace += at->Y[j * n + j];
        trace_next += at->next[j * n + j];
    }
    at->t += inverse * (2 * trace_next - trace - 1) / (double)n;
    at->primal = sqrt(negative) + fabs(trace_next - 1);
    at->change = inverse * sqrt(moved) / fabs(at->t);
    double *swapped = at->Y;
    at->Y = at->next;
    at->next = swapped;
    return NADIR_OK;
}

static nadir_status apply_sum(nadir_context *context, void *user, const double *x, double *y)
{
    const nadir_cone *cone = user;
    const blasint n = (blasint)cone->columns;
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, (int64_t)n * n));
    cblas_dsymv(CblasColMajor, CblasLower, n, 1, cone->work, n, x, 1, 0, y, 1);
    nadir_blas_restore(before);
    return NADIR_OK;
}

/* About lambda_max(K + N), and N kept if it is the best. As N >= 0, no eigenvalue of K + N is larger in size
 * than lambda_max: the 2-norm is the same. */
static nadir_status look(dual *at)
{
    nadir_status status = NADIR_OK;
    const nadir_cone *cone = at->cone;
    const int64_t n = cone->columns;
    nadir_cone user = *cone;
    const nadir_operator of = {n, n, apply_sum, apply_sum, &user};
    const nadir_place here = nadir_place_here(at->context);
    nadir_random random = at->context->random;
    nadir_triple triple;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) {
            cone->work[j * n + i] = cone->K[j * n + i] + at->N[j * n + i];
        }
    }
    NADIR_CHECK(nadir_lanczos_top(&here, &of, NULL, &random, PRECISION, PRODUCTS, at->vectors,
                                  at->vectors + n, &triple));
    if (triple.sigma < at->t_best) {
        at->t_best = triple.sigma;
        memcpy(at->best, at->N, (size_t)(n * n) * sizeof *at->N);
    }
cleanup:
    return status;
}

static nadir_status open_dual(nadir_context *context, const nadir_cone *cone, dual *at)
{
    nadir_status status = NADIR_OK;
    const int64_t n = cone->columns;
    *at = (dual){.context = context, .cone = cone};
    NADIR_CHECK(nadir_spectrum_open(context, n, n, &at->spectrum));
    NADIR_NEW(context, at->N, n * n);
    NADIR_NEW(context, at->Y, n * n);
    NADIR_NEW(context, at->next, n * n);
    NADIR_NEW(context, at->best, n * n);
    NADIR_NEW(context, at->vectors, 2 * n);
cleanup:
    return status;
}

static void close_dual(dual *at)
{
    nadir_spectrum_close(at->context, &at->spectrum);
    nadir_release(at->context, at->N);
    nadir_release(at->context, at->Y);
    nadir_release(at->context, at->next);
    nadir_release(at->context, at->best);
    nadir_release(at->context, at->vectors);
}

nadir_status nadir_cone_dual(nadir_context *context, const nadir_cone *cone, const double *x,
                             double tolerance, int64_t limit, nadir_cone_dual_result *result)
{
    nadir_status status = NADIR_OK;
    dual at;
    *result = (nadir_cone_dual_result){.bound = INFINITY};
    NADIR_CHECK(open_dual(context, cone, &at));
    begin(&at, x);
    const double wanted = at.t * (1 + tolerance) * (1 + tolerance);
    NADIR_CHECK(look(&at));
    while (at.t_best > wanted && result->iterations < limit) {
        NADIR_CHECK(nadir_progress(context, "dual bound", (double)result->iterations / (double)limit));
        NADIR_CHECK(step(&at));
        result->iterations++;
        const bool finished = fmax(at.primal, at.change) < FINISHED;
        if (result->iterations % LOOK == 0 || result->iterations == limit || finished) {
            NADIR_CHECK(look(&at));
        }
        if (finished) {
            break;
        }
        if (result->iterations % ADAPT == 0 && at.primal > UNBALANCED * at.change) {
            at.sigma /= CHANGE;
        } else if (result->iterations % ADAPT == 0 && at.change > UNBALANCED * at.primal) {
            at.sigma *= CHANGE;
        }
    }
    result->bound = sqrt(nadir_cone_prove(context, cone, at.t_best, 0, NULL, at.best)) * (1 + 1e-15);
cleanup:
    close_dual(&at);
    return status;
}

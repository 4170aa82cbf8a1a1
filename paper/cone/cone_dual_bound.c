/*
 * cone_dual_bound.c: the bound min over N >= 0 of lambda_max(K + N); see cone.h.
 *
 * For x >= 0 and N >= 0 (entry by entry) x^T K x <= x^T (K + N) x, so that any such N gives a bound; N_ii > 0
 * never helps. The smallest t with t I - K - N positive semidefinite is the dual of max <K, Y> over Y
 * positive semidefinite and nonnegative with tr Y = 1. It is solved by ADMM with the multiplier Y and the
 * penalty sigma:
 *
 *     Y' = sigma (K + N + Y / sigma - t I)_+    (of the eigenvalues, of which few are positive)
 *     N' = (N + (Y - 2 Y') / sigma)_+           (off the diagonal)
 *     t' = t + (2 tr Y' - tr Y - 1) / (sigma n)
 *
 * This converges: t and N have different entries, so that there are two blocks. It starts from Y = x x^T and
 * N = w x^T + x w^T with w = (-K x)_+ off the support, which makes x an eigenvector of K + N. Where x is the
 * leading one, no iteration is needed. If the limit is |B x|^2, x is a global maximiser.
 */
#include "cone/cone.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum {
    BOUND_EVERY = 10, /* iterations between two bounds */
    ADAPT_EVERY = 20, /* ... between two changes of sigma */
    PRODUCTS = 400
};
#define PRECISION  1e-10 /* of the largest eigenvalue, before it is proven */
#define CHANGE     1.5   /* of sigma */
#define UNBALANCED 10    /* one residual over the other */
#define FINISHED   1e-9  /* both residuals: converged */

/* Only the lower triangles of the matrices, [n * n], are used. */
typedef struct dual_work {
    nadir_context *context;
    const nadir_cone *cone;
    nadir_spectrum spectrum;
    double *N, *Y, *next;
    double *best; /* the best N so far */
    double *vectors;
    double t, sigma;
    double t_best;
    double primal, change; /* residuals: of Y >= 0 and tr Y = 1; of the last step */
} dual_work;

static void start(dual_work *self, const double *x)
{
    const int64_t n = self->cone->columns;
    double *product = self->vectors;
    double largest = 0;
    nadir_cone_multiply(self->context, self->cone, 1, x, product);
    self->t = cblas_ddot((blasint)n, x, 1, product, 1);
    for (int64_t j = 0; j < n; j++) {
        largest = fmax(largest, self->cone->K[j * n + j]);
        for (int64_t i = j; i < n; i++) {
            const double wi = x[i] > 0 ? 0 : fmax(0, -product[i]);
            const double wj = x[j] > 0 ? 0 : fmax(0, -product[j]);
            self->Y[j * n + i] = x[i] * x[j];
            self->N[j * n + i] = i == j ? 0 : wi * x[j] + x[i] * wj;
        }
    }
    self->sigma = 1 / ((double)n * largest);
    self->t_best = INFINITY;
}

/* next <- sigma (K + N + Y / sigma - t I)_+ */
static nadir_status project(dual_work *self)
{
    const int64_t n = self->cone->columns;
    double *matrix = self->cone->work;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) {
            const int64_t k = j * n + i;
            matrix[k] = self->cone->K[k] + self->N[k] + self->Y[k] / self->sigma - (i == j ? self->t : 0);
        }
    }
    const nadir_status status = nadir_spectrum_find(self->context, n, matrix, 0, 0, &self->spectrum);
    if (status != NADIR_OK) {
        return status;
    }
    const nadir_spectrum *found = &self->spectrum;
    for (int64_t i = 0; i < found->count; i++) {
        cblas_dscal((blasint)n, sqrt(self->sigma * found->values[i]), found->vectors + i * n, 1);
    }
    const int before = nadir_blas_threads(nadir_threads_for_blas(self->context, n * n * found->count));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (blasint)n, (blasint)found->count, 1, found->vectors,
                (blasint)n, 0, self->next, (blasint)n);
    nadir_blas_restore(before);
    return NADIR_OK;
}

static nadir_status step(dual_work *self)
{
    const int64_t n = self->cone->columns;
    const double inverse = 1 / self->sigma;
    double negative = 0;
    double moved = 0;
    double trace = 0;
    double trace_next = 0;
    const nadir_status status = project(self);
    if (status != NADIR_OK) {
        return status;
    }
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) {
            const int64_t k = j * n + i;
            const double before = self->Y[k];
            const double after = self->next[k];
            const double weight = i == j ? 1 : 2;
            moved += weight * (after - before) * (after - before);
            negative += weight * (after < 0 ? after * after : 0);
            self->N[k] = i == j ? 0 : fmax(0, self->N[k] + inverse * (before - 2 * after));
        }
        trace += self->Y[j * n + j];
        trace_next += self->next[j * n + j];
    }
    self->t += inverse * (2 * trace_next - trace - 1) / (double)n;
    self->primal = sqrt(negative) + fabs(trace_next - 1);
    self->change = inverse * sqrt(moved) / fabs(self->t);
    double *swapped = self->Y;
    self->Y = self->next;
    self->next = swapped;
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

/* Estimates lambda_max(K + N), and keeps N if it is the best so far. Since K is positive semidefinite and N
 * >= 0, lambda_max(K + N) = |K + N|_2, which Lanczos iterations find. */
static nadir_status bound_from_N(dual_work *self)
{
    nadir_status status = NADIR_OK;
    const nadir_cone *cone = self->cone;
    const int64_t n = cone->columns;
    nadir_cone user = *cone;
    const nadir_linear_map map = {n, n, apply_sum, apply_sum, &user};
    const nadir_vec here = nadir_vec_host(self->context);
    nadir_random random = self->context->random;
    nadir_singular_triple triple;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) {
            cone->work[j * n + i] = cone->K[j * n + i] + self->N[j * n + i];
        }
    }
    NADIR_CHECK(nadir_lanczos_top(&here, &map, NULL, &random, PRECISION, PRODUCTS, self->vectors,
                                  self->vectors + n, &triple));
    if (triple.sigma < self->t_best) {
        self->t_best = triple.sigma;
        memcpy(self->best, self->N, (size_t)(n * n) * sizeof *self->N);
    }
cleanup:
    return status;
}

static nadir_status open_work(nadir_context *context, const nadir_cone *cone, dual_work *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = cone->columns;
    *self = (dual_work){.context = context, .cone = cone};
    NADIR_NEW(context, self->N, n * n);
    NADIR_NEW(context, self->Y, n * n);
    NADIR_NEW(context, self->next, n * n);
    NADIR_NEW(context, self->best, n * n);
    NADIR_NEW(context, self->vectors, 2 * n);
cleanup:
    return status;
}

static void close_work(dual_work *self)
{
    nadir_spectrum_close(self->context, &self->spectrum);
    nadir_release(self->context, self->N);
    nadir_release(self->context, self->Y);
    nadir_release(self->context, self->next);
    nadir_release(self->context, self->best);
    nadir_release(self->context, self->vectors);
}

nadir_status nadir_cone_dual(nadir_context *context, const nadir_cone *cone, const double *x,
                             double tolerance, int64_t limit, nadir_cone_dual_result *result)
{
    nadir_status status = NADIR_OK;
    dual_work self;
    *result = (nadir_cone_dual_result){.bound = INFINITY};
    NADIR_CHECK(open_work(context, cone, &self));
    start(&self, x);
    const double wanted = self.t * (1 + tolerance) * (1 + tolerance);
    NADIR_CHECK(bound_from_N(&self));
    while (self.t_best > wanted && result->iterations < limit) {
        NADIR_CHECK(nadir_progress(context, "dual bound", (double)result->iterations / (double)limit));
        NADIR_CHECK(step(&self));
        result->iterations++;
        const bool finished = fmax(self.primal, self.change) < FINISHED;
        if (result->iterations % BOUND_EVERY == 0 || result->iterations == limit || finished) {
            NADIR_CHECK(bound_from_N(&self));
        }
        if (finished) {
            break;
        }
        if (result->iterations % ADAPT_EVERY == 0 && self.primal > UNBALANCED * self.change) {
            self.sigma /= CHANGE;
        } else if (result->iterations % ADAPT_EVERY == 0 && self.change > UNBALANCED * self.primal) {
            self.sigma *= CHANGE;
        }
    }
    result->bound = sqrt(nadir_cone_prove(context, cone, self.t_best, 0, NULL, self.best)) * (1 + 1e-15);
cleanup:
    close_work(&self);
    return status;
}

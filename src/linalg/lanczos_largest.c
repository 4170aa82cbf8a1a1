/*
 * lanczos_largest.c: Lanczos without reorthogonalisation, for the largest eigenvalue; see lanczos.h.
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
#include "linalg/lanczos.h"

#include "linalg/distributed.h"

#include <float.h>
#include <lapack.h>
#include <math.h>
#include <string.h>

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

/* q_1, uniform on the sphere; the same, however it is distributed over processes, and wherever it lies. */
static nadir_status start(const nadir_vec *vec, int64_t size, nadir_random *random, double *q)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = vec->context;
    double *sent = NULL;
    double square;
    if (vec->device != NULL) {
        NADIR_NEW(context, sent, size);
    }
    double *drawn = sent != NULL ? sent : q;
    for (int64_t i = nadir_global_first(context, size); i > 0; i--) {
        (void)nadir_random_normal(random);
    }
    for (int64_t i = 0; i < size; i++) {
        drawn[i] = nadir_random_normal(random);
    }
    if (sent != NULL) {
        NADIR_CHECK(nadir_vec_copy(vec, size, sent, q));
    }
    NADIR_CHECK(nadir_vec_dot(vec, size, q, q, &square));
    if (!(square > 0)) {
        status =
            nadir_fail(context, NADIR_ERROR_ARGUMENT, "a Lanczos iteration needs an operator of some size");
        goto cleanup;
    }
    NADIR_CHECK(nadir_vec_scale(vec, size, 1 / sqrt(square), q, q));
cleanup:
    nadir_release(context, sent);
    return status;
}

/* One more row: next <- q_{j+1} from q_j and q_{j-1}, which it may take the place of. */
static nadir_status step(const nadir_vec *vec, int64_t size, nadir_apply *apply, void *user,
                         tridiagonal *self, const double *q, double *next, double *product)
{
    nadir_status status = NADIR_OK;
    const int j = self->size;
    double before;
    double after;
    NADIR_CHECK(apply(vec->context, user, q, product));
    NADIR_CHECK(nadir_vec_dot(vec, size, product, product, &before));
    if (j > 0) {
        NADIR_CHECK(nadir_vec_add(vec, size, -self->beta[j - 1], next, product));
    }
    NADIR_CHECK(nadir_vec_dot(vec, size, q, product, &self->alpha[j]));
    NADIR_CHECK(nadir_vec_add(vec, size, -self->alpha[j], q, product));
    NADIR_CHECK(nadir_vec_dot(vec, size, product, product, &after));
    const double norm = sqrt(after);
    self->beta[j] = norm > 64 * DBL_EPSILON * sqrt(before) ? norm : 0;
    self->size = j + 1;
    if (!isfinite(self->alpha[j]) || !isfinite(norm)) {
        status = nadir_fail(vec->context, NADIR_ERROR_NOT_CONVERGED,
                            "a product with an operator is not finite: the Lanczos iteration stops");
        goto cleanup;
    }
    NADIR_CHECK(nadir_vec_scale(vec, size, self->beta[j] > 0 ? 1 / norm : 0, product, next));
cleanup:
    return status;
}

nadir_status nadir_lanczos_largest(const nadir_vec *vec, int64_t size, nadir_apply *apply, void *user,
                                   nadir_random *random, double enough, double hopeless, double tolerance,
                                   int64_t limit, nadir_largest *largest)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = vec->context;
    tridiagonal run = {0};
    double *vectors = NULL;
    *largest = (nadir_largest){.upper = INFINITY};
    NADIR_CHECK(nadir_vec_allocate(vec, 3 * size, &vectors));
    double *q = vectors;
    double *next = vectors + size;
    double *product = vectors + 2 * size;
    NADIR_CHECK(start(vec, size, random, q));
    limit = limit < NADIR_LARGEST_PRODUCTS ? limit : NADIR_LARGEST_PRODUCTS;
    while (largest->products < limit) {
        NADIR_CHECK(nadir_progress(context, "searching an eigenvalue", -1));
        NADIR_CHECK(step(vec, size, apply, user, &run, q, next, product));
        largest->products++;
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
    nadir_vec_release(vec, 3 * size, vectors);
    return status;
}

/*
 * occupancy.c: products with D = (I - gamma P^pi)^-1, whatever the kernel and the backend; see occupancy.h.
 *
 * Every product is made by rounds of refinement, A x = b with A = I - gamma P^pi:
 *
 *     r <- b - A x,    e <- (approximately) A^-1 r,    x <- x + e
 *
 * A direct backend is done after one round, and the residual of that round is the proof. An iterative one
 * solves the first round coarsely, to learn how large x is, and then to the accuracy that was asked. Each
 * column of r is scaled to norm one, so that no right-hand side is too large or too small, and one target
 * serves all columns.
 */
#include "occupancy/occupancy.h"

#include "occupancy/preconditioned.h"
#include "occupancy/sherman_morrison.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define DEFAULT_TOLERANCE 1e-12
#define COARSE            1e-2 /* residual of the first round of an iterative backend */
#define ROUNDS            6
/* A residual below this times (|b| + 2 |x|) is rounding: no refinement makes it smaller. */
#define ROUNDING (4 * DBL_EPSILON)
/* Left with more than this times the goal, the product is not converged. */
#define SLACK 1e3

struct nadir_occupancy {
    nadir_average average;
    double gamma;
    double tolerance;
    bool automatic;               /* the backend was our choice */
    bool ready;                   /* false: an update failed */
    const nadir_backend *backend; /* NULL: solves go through base */
    void *self;
    nadir_occupancy *base;
    nadir_preconditioned *preconditioned; /* through base where the difference is not of rank one; or NULL */
    nadir_sherman_morrison update;        /* b NULL: none */
    double *work;                         /* [capacity] residuals and corrections */
    size_t capacity;
    double *norms; /* [norms_capacity] of residuals, right-hand sides and solutions */
    size_t norms_capacity;
    int64_t longest_row;
    int64_t longest_column; /* -1: not known yet */
};

static void release_backend(nadir_context *context, nadir_occupancy *occupancy)
{
    if (occupancy->backend != NULL && occupancy->self != NULL) {
        occupancy->backend->destroy(context, occupancy->self);
        occupancy->self = NULL;
    }
}

void nadir_occupancy_free(nadir_context *context, nadir_occupancy *occupancy)
{
    if (occupancy == NULL) {
        return;
    }
    nadir_preconditioned_free(context, occupancy->preconditioned);
    release_backend(context, occupancy);
    nadir_average_clear(context, &occupancy->average);
    nadir_release(context, occupancy->update.z);
    nadir_release(context, occupancy->update.w);
    nadir_release(context, occupancy->work);
    nadir_release(context, occupancy->norms);
    nadir_release(context, occupancy);
}

double nadir_occupancy_gamma(const nadir_occupancy *occupancy)
{
    return occupancy->gamma;
}

nadir_average *nadir_occupancy_average(nadir_occupancy *occupancy)
{
    return &occupancy->average;
}

/* The one whose backend does the work. */
static const nadir_occupancy *root(const nadir_occupancy *occupancy)
{
    return occupancy->base != NULL ? occupancy->base : occupancy;
}

const char *nadir_occupancy_backend(const nadir_occupancy *occupancy)
{
    return root(occupancy)->backend->name;
}

void nadir_occupancy_statistics(const nadir_occupancy *occupancy, nadir_backend_statistics *statistics)
{
    const nadir_occupancy *worker = root(occupancy);
    worker->backend->statistics(worker->self, statistics);
}

/* X <- A_M^-1 B, without the rank-one term. */
static nadir_status solve_explicit(nadir_context *context, const nadir_occupancy *occupancy, bool transposed,
                                   int64_t count, const double *b, double residual, double *x)
{
    const nadir_occupancy *worker = root(occupancy);
    memset(x, 0, (size_t)(count * occupancy->average.states) * sizeof *x);
    return worker->backend->solve(context, worker->self, transposed, count, b, residual, x);
}

/* X <- about A^-1 B. */
static nadir_status solve_once(nadir_context *context, nadir_occupancy *occupancy, bool transposed,
                               int64_t count, const double *b, double residual, double *x)
{
    if (occupancy->preconditioned != NULL) {
        return nadir_preconditioned_solve(context, occupancy->preconditioned, transposed, count, b, residual,
                                          x);
    }
    const nadir_status status = solve_explicit(context, occupancy, transposed, count, b, residual, x);
    if (occupancy->update.b != NULL) {
        nadir_sherman_morrison_apply(&occupancy->update, transposed, count, x);
    }
    return status;
}

static bool is_direct(const nadir_occupancy *occupancy)
{
    return occupancy->preconditioned == NULL &&
           (root(occupancy)->backend->capabilities & NADIR_BACKEND_DIRECT) != 0;
}

/* The norm in which errors are measured: maximum, 1-norm if transposed. */
static double norm_of(bool transposed, int64_t count, const double *x)
{
    double norm = 0;
    double sum = 0; /* a NaN does not get lost in it */
    for (int64_t i = 0; i < count; i++) {
        const double size = fabs(x[i]);
        norm = size > norm ? size : norm;
        sum += size;
    }
    return transposed || isnan(sum) ? sum : norm;
}

/* What the columns of a product are like while it is refined. */
typedef struct refinement {
    nadir_context *context;
    nadir_occupancy *occupancy;
    bool transposed;
    int64_t count;
    const double *b; /* [states * count] */
    double *x;
    double *r;        /* [states * count] b - A x */
    double *e;        /* [states * count] */
    double *b_norm;   /* [count] */
    double *x_norm;   /* [count] */
    double *r_norm;   /* [count] */
    double *previous; /* [count] r_norm of the round before */
} refinement;

static nadir_status compute_residuals(refinement *at)
{
    nadir_average *average = &at->occupancy->average;
    const int64_t n = average->states;
    const double gamma = at->occupancy->gamma;
    nadir_status status = NADIR_OK;
    if (at->transposed) {
        status = nadir_average_multiply_transposed(at->context, average, at->count, at->x, at->r);
    } else {
        nadir_average_multiply(at->context, average, at->count, at->x, at->r);
    }
    for (int64_t i = 0; i < n * at->count; i++) {
        at->r[i] = (at->b[i] - at->x[i]) + gamma * at->r[i];
    }
    for (int64_t j = 0; j < at->count; j++) {
        at->x_norm[j] = norm_of(at->transposed, n, at->x + j * n);
        at->r_norm[j] = norm_of(at->transposed, n, at->r + j * n);
    }
    return status;
}

/* 1 - gamma |P^pi|, and 1 - gamma where that is no use (a kernel with negative entries). */
static double contraction(const nadir_occupancy *occupancy)
{
    const double gap = 1 - occupancy->gamma * occupancy->average.norm;
    return gap > 0 ? gap : 1 - occupancy->gamma;
}

/* The residual with which column j is good enough. */
static double goal(const refinement *at, int64_t j)
{
    const double wanted = at->occupancy->tolerance * contraction(at->occupancy) * at->x_norm[j];
    const double rounding = ROUNDING * (at->b_norm[j] + 2 * at->x_norm[j]);
    return wanted > rounding ? wanted : rounding;
}

/* One round. *target: how small the residual of A e = r / |r| must be. Columns that are good enough are left
 * alone. */
static nadir_status refine(refinement *at, bool first)
{
    const int64_t n = at->occupancy->average.states;
    double target = first ? COARSE : 1;
    for (int64_t j = 0; j < at->count; j++) {
        const double size = at->r_norm[j];
        const bool wanted = size > 0 && (first || size > goal(at, j));
        double *rj = at->r + j * n;
        for (int64_t i = 0; i < n; i++) {
            rj[i] = wanted ? rj[i] / size : 0;
        }
        if (wanted && !first && goal(at, j) / size / 2 < target) {
            target = goal(at, j) / size / 2;
        }
    }
    const nadir_status status =
        solve_once(at->context, at->occupancy, at->transposed, at->count, at->r, target, at->e);
    if (status != NADIR_OK && status != NADIR_ERROR_NOT_CONVERGED) {
        return status;
    }
    for (int64_t j = 0; j < at->count; j++) {
        for (int64_t i = 0; i < n; i++) {
            at->e[j * n + i] *= at->r_norm[j];
            at->x[j * n + i] += at->e[j * n + i];
        }
        at->previous[j] = at->r_norm[j];
    }
    return compute_residuals(at);
}

/* Columns that the last round made worse get back what they had. */
static void undo_worse(refinement *at)
{
    const int64_t n = at->occupancy->average.states;
    for (int64_t j = 0; j < at->count; j++) {
        if (!(at->r_norm[j] <= at->previous[j])) {
            for (int64_t i = 0; i < n; i++) {
                at->x[j * n + i] -= at->e[j * n + i];
            }
            at->r_norm[j] = at->previous[j];
        }
    }
}

/* Whether another round is worth it: some column is off its goal, and the last round halved its residual. */
static bool worth_another(const refinement *at)
{
    for (int64_t j = 0; j < at->count; j++) {
        if (at->r_norm[j] > goal(at, j) && at->r_norm[j] < at->previous[j] / 2) {
            return true;
        }
    }
    return false;
}

/* How many terms the longest sum of a residual has. */
static int64_t longest_sum(nadir_occupancy *occupancy, bool transposed)
{
    if (!transposed) {
        return occupancy->longest_row;
    }
    if (occupancy->longest_column < 0) {
        const nadir_average *average = &occupancy->average;
        const nadir_average *owner = average->lender != NULL ? average->lender : average;
        const nadir_matrix transpose = {.size = owner->states, .starts = owner->transpose.starts};
        occupancy->longest_column =
            transpose.starts != NULL ? nadir_matrix_row_length(&transpose) : average->states;
    }
    return occupancy->longest_column;
}

/* Whether all columns are near their goal; the accuracy of the worst. A residual is computed with an error of
 * at most (m + 4) eps/2 (|b| + (1 + gamma |P|) |x|) for sums of m terms, which counts as residual. A rank-one
 * term adds a sum over all states, and is no larger than |P| + 1 beside a nominal M. */
static nadir_status assess(refinement *at, nadir_accuracy *accuracy)
{
    nadir_occupancy *occupancy = at->occupancy;
    const double gap = 1 - occupancy->gamma * occupancy->average.norm;
    const bool corrected = occupancy->average.b != NULL;
    const int64_t terms =
        longest_sum(occupancy, at->transposed) + (corrected ? occupancy->average.states : 0);
    const double unit = 0.5 * DBL_EPSILON * (double)(terms + 4);
    const double size = occupancy->average.norm + (corrected ? 2 : 0);
    nadir_accuracy worst = {0};
    for (int64_t j = 0; j < at->count; j++) {
        if (!isfinite(at->r_norm[j]) || !isfinite(at->x_norm[j]) || at->r_norm[j] > SLACK * goal(at, j)) {
            return nadir_fail(
                at->context, NADIR_ERROR_NOT_CONVERGED,
                "the linear system was not solved: residual %g with a solution of size %g (backend %s)",
                at->r_norm[j], at->x_norm[j], nadir_occupancy_backend(occupancy));
        }
        const double spread = at->b_norm[j] + (1 + occupancy->gamma * size) * at->x_norm[j];
        const double residual = at->r_norm[j] + unit * spread;
        worst.residual = residual > worst.residual ? residual : worst.residual;
    }
    worst.error_bound = gap > 0 ? worst.residual / gap * (1 + 4 * DBL_EPSILON) : INFINITY;
    if (accuracy != NULL) {
        *accuracy = worst;
    }
    return NADIR_OK;
}

static nadir_status start_refinement(refinement *at, bool aliased)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy *occupancy = at->occupancy;
    const int64_t n = occupancy->average.states;
    const size_t size = (size_t)(n * at->count);
    NADIR_RESERVE(at->context, occupancy->work, (aliased ? 3 : 2) * size, occupancy->capacity);
    NADIR_RESERVE(at->context, occupancy->norms, 4 * at->count, occupancy->norms_capacity);
    at->r = occupancy->work;
    at->e = occupancy->work + size;
    if (aliased) {
        memcpy(occupancy->work + 2 * size, at->b, size * sizeof *at->b);
        at->b = occupancy->work + 2 * size;
    }
    at->b_norm = occupancy->norms;
    at->x_norm = at->b_norm + at->count;
    at->r_norm = at->x_norm + at->count;
    at->previous = at->r_norm + at->count;
    memset(at->x, 0, size * sizeof *at->x);
    memcpy(at->r, at->b, size * sizeof *at->r);
    for (int64_t j = 0; j < at->count; j++) {
        at->b_norm[j] = norm_of(at->transposed, n, at->b + j * n);
        at->r_norm[j] = at->b_norm[j];
        at->x_norm[j] = 0;
        if (!isfinite(at->b_norm[j])) {
            return nadir_fail(at->context, NADIR_ERROR_ARGUMENT, "right-hand side %lld is not finite",
                              (long long)j);
        }
    }
cleanup:
    return status;
}

static nadir_status solve(nadir_context *context, nadir_occupancy *occupancy, bool transposed, int64_t count,
                          const double *b, double *x, nadir_accuracy *accuracy)
{
    nadir_status status = NADIR_OK;
    refinement at = {
        .context = context, .occupancy = occupancy, .transposed = transposed, .count = count, .b = b, .x = x};
    NADIR_CHECK(start_refinement(&at, x == b));
    NADIR_CHECK(refine(&at, !is_direct(occupancy)));
    for (int round = 1; round < ROUNDS && worth_another(&at); round++) {
        NADIR_CHECK(refine(&at, false));
        undo_worse(&at);
    }
    NADIR_CHECK(assess(&at, accuracy));
cleanup:
    return status;
}

static nadir_status check_ready(nadir_context *context, const nadir_occupancy *occupancy)
{
    if (occupancy->ready && root(occupancy)->ready) {
        return NADIR_OK;
    }
    return nadir_fail(context, NADIR_ERROR_ILL_POSED, "the last update of the occupancy operator failed");
}

nadir_status nadir_occupancy_solve(nadir_context *context, nadir_occupancy *occupancy, int64_t count,
                                   const double *b, double *x, nadir_accuracy *accuracy)
{
    const nadir_status status = check_ready(context, occupancy);
    return status != NADIR_OK ? status : solve(context, occupancy, false, count, b, x, accuracy);
}

nadir_status nadir_occupancy_solve_transposed(nadir_context *context, nadir_occupancy *occupancy,
                                              int64_t count, const double *b, double *x,
                                              nadir_accuracy *accuracy)
{
    const nadir_status status = check_ready(context, occupancy);
    return status != NADIR_OK ? status : solve(context, occupancy, true, count, b, x, accuracy);
}

/* z = A^-1 b and w = A^-T k for the rank-one term of the average, to full accuracy: the term is left out
 * meanwhile. */
static nadir_status start_update(nadir_context *context, nadir_occupancy *occupancy)
{
    nadir_status status = NADIR_OK;
    nadir_average *average = &occupancy->average;
    const int64_t n = average->states;
    const double *b = average->b;
    const double *k = average->k;
    occupancy->update.b = NULL;
    if (b == NULL) {
        return NADIR_OK;
    }
    if (occupancy->update.z == NULL) {
        NADIR_NEW(context, occupancy->update.z, n);
    }
    if (occupancy->update.w == NULL) {
        NADIR_NEW(context, occupancy->update.w, n);
    }
    const double norm = average->norm;
    average->b = NULL;
    average->norm = occupancy->base != NULL ? occupancy->base->average.norm : 1;
    status = solve(context, occupancy, false, 1, b, occupancy->update.z, NULL);
    if (status == NADIR_OK) {
        status = solve(context, occupancy, true, 1, k, occupancy->update.w, NULL);
    }
    average->b = b;
    average->norm = norm;
    NADIR_CHECK(status);
    nadir_sherman_morrison update = occupancy->update;
    update.states = n;
    update.gamma = occupancy->gamma;
    update.b = b;
    update.k = k;
    NADIR_CHECK(nadir_sherman_morrison_start(context, &update));
    occupancy->update = update;
cleanup:
    return status;
}

static nadir_status check_backend(nadir_context *context, const nadir_average *average,
                                  const nadir_backend *backend)
{
    const bool dense = average->matrix.dense != NULL;
    const unsigned needed = dense ? NADIR_BACKEND_DENSE : NADIR_BACKEND_SPARSE;
    if ((backend->capabilities & needed) == 0) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED, "the backend %s does not take a %s kernel",
                          backend->name, dense ? "dense" : "sparse");
    }
    return NADIR_OK;
}

/* Chooses, checks and sets up a backend for the average. */
static nadir_status set_up(nadir_context *context, nadir_occupancy *occupancy)
{
    nadir_status status = NADIR_OK;
    nadir_average *average = &occupancy->average;
    if (occupancy->automatic) {
        NADIR_CHECK(nadir_backend_choose(context, average, &occupancy->backend));
    }
    NADIR_CHECK(check_backend(context, average, occupancy->backend));
    NADIR_CHECK(occupancy->backend->setup(context, average, occupancy->gamma, &occupancy->self));
cleanup:
    return status;
}

static nadir_status check_discount(nadir_context *context, double gamma)
{
    if (gamma >= 0 && gamma < 1) {
        return NADIR_OK;
    }
    return nadir_fail(context, NADIR_ERROR_ILL_POSED, "the discount is %.10g; expected 0 <= discount < 1",
                      gamma);
}

static void start(nadir_occupancy *occupancy, double gamma, double tolerance)
{
    occupancy->gamma = gamma;
    occupancy->tolerance = tolerance > 0 ? tolerance : DEFAULT_TOLERANCE;
    occupancy->longest_column = -1;
}

nadir_status nadir_occupancy_create(nadir_context *context, const nadir_kernel *kernel,
                                    const nadir_policy *policy, double gamma, const char *backend,
                                    double tolerance, nadir_occupancy **occupancy)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy *made = NULL;
    const bool automatic = backend == NULL || strcmp(backend, "auto") == 0;
    NADIR_CHECK(check_discount(context, gamma));
    NADIR_NEW_ZERO(context, made, 1);
    start(made, gamma, tolerance);
    made->automatic = automatic;
    made->backend = automatic ? NULL : nadir_backend_find(backend);
    if (!automatic && made->backend == NULL) {
        status = nadir_fail(context, NADIR_ERROR_ARGUMENT,
                            "there is no backend '%s'; there are lapack, klu and krylov", backend);
        goto cleanup;
    }
    NADIR_CHECK(nadir_average_make(context, kernel, policy, &made->average));
    made->longest_row = nadir_matrix_row_length(&made->average.matrix);
    NADIR_CHECK(set_up(context, made));
    NADIR_CHECK(start_update(context, made));
    made->ready = true;
    *occupancy = made;
    made = NULL;
cleanup:
    nadir_occupancy_free(context, made);
    return status;
}

nadir_status nadir_occupancy_update(nadir_context *context, nadir_occupancy *occupancy,
                                    const nadir_kernel *kernel, const nadir_policy *policy)
{
    nadir_status status = NADIR_OK;
    bool same = false;
    if (occupancy->base != NULL) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "a perturbed operator cannot be updated; make another");
    }
    occupancy->ready = false;
    if (occupancy->average.states > 0) {
        NADIR_CHECK(nadir_average_remake(context, kernel, policy, &occupancy->average, &same));
    } else { /* the update before ran out of memory */
        NADIR_CHECK(nadir_average_make(context, kernel, policy, &occupancy->average));
    }
    occupancy->longest_row = nadir_matrix_row_length(&occupancy->average.matrix);
    occupancy->longest_column = -1;
    if (same && occupancy->self != NULL && occupancy->backend->refactor != NULL) {
        NADIR_CHECK(occupancy->backend->refactor(context, occupancy->self));
    } else {
        release_backend(context, occupancy);
        NADIR_CHECK(set_up(context, occupancy));
    }
    NADIR_CHECK(start_update(context, occupancy));
    occupancy->ready = true;
cleanup:
    return status;
}

/* A base's solve as a preconditioner: one round, no refinement. */
static nadir_status precondition(nadir_context *context, void *user, bool transposed, int64_t count,
                                 const double *b, double residual, double *x)
{
    return solve_once(context, user, transposed, count, b, residual, x);
}

nadir_status nadir_occupancy_perturb(nadir_context *context, nadir_occupancy *base,
                                     const nadir_kernel *kernel, const nadir_policy *policy,
                                     nadir_occupancy **occupancy)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy *made = NULL;
    bool borrowed;
    if (base->base != NULL) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the base of a perturbed operator must not be one itself");
    }
    NADIR_CHECK(check_ready(context, base));
    NADIR_NEW_ZERO(context, made, 1);
    start(made, base->gamma, base->tolerance);
    made->base = base;
    NADIR_CHECK(nadir_average_borrow(context, &base->average, kernel, policy, &made->average, &borrowed));
    if (!borrowed) {
        NADIR_CHECK(nadir_average_make(context, kernel, policy, &made->average));
        NADIR_CHECK(nadir_preconditioned_create(context, &made->average, made->gamma, precondition, base,
                                                &made->preconditioned));
    }
    made->longest_row = nadir_matrix_row_length(&made->average.matrix);
    if (borrowed) {
        NADIR_CHECK(start_update(context, made));
    }
    made->ready = true;
    *occupancy = made;
    made = NULL;
cleanup:
    nadir_occupancy_free(context, made);
    return status;
}

/*
 * occupancy_solve.c: products with D = (I - gamma P^pi)^-1 to the accuracy wanted, with a bound on their error.
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
#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/iterative.h"
#include "linalg/matrix.h"
#include "solve/occupancy_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define COARSE 1e-2 /* residual of the first round of an iterative backend */
#define ROUNDS 6
/* A residual below this times (|b| + 2 |x|) is rounding: no refinement makes it smaller. */
#define ROUNDING NADIR_REFINED_ROUNDING
/* Left with more than this times the goal, the product is not converged. */
#define SLACK 1e3
/* Share of b which a residual made of rounding must not reach. */
#define SINGULAR 0.01

/* How well an iterative base solves for a preconditioner: its operator need not be exact. */
#define PRECONDITION_RESIDUAL 1e-3

/* Products, each with a solve of the base, after which a backend of one's own would have been cheaper. */
#define PRODUCTS_LIMIT (5 * NADIR_GMRES_RESTART)

/* --------------------------------------------------------------------------------- one solve */

/* Turns solutions with A, or its transpose, into solutions with A + gamma b k^T; x: [states * count]. */
static void apply_update(const nadir_context *context, const nadir_sherman_morrison *update, bool transposed,
                         int64_t count, double *x)
{
    const int64_t n = update->states;
    const double *right = transposed ? update->b : update->k;
    const double *left = transposed ? update->w : update->z;
    for (int64_t j = 0; j < count; j++) {
        double *xj = x + j * n;
        const double factor = update->gamma * nadir_blocks_dot(context, n, right, xj) / update->denominator;
        nadir_blocks_add(context, n, -factor, left, xj);
    }
}

static nadir_status solve_preconditioned(nadir_context *context, nadir_occupancy *occupancy, bool transposed,
                                         int64_t count, const double *b, double residual, double *x);

/* X <- about A^-1 B, or A^-T B; residual as for nadir_backend.solve. */
static nadir_status solve_once(nadir_context *context, nadir_occupancy *occupancy, bool transposed,
                               int64_t count, const double *b, double residual, double *x)
{
    if (occupancy->preconditioned) {
        return solve_preconditioned(context, occupancy, transposed, count, b, residual, x);
    }
    const nadir_occupancy *worker = occupancy->root;
    memset(x, 0, (size_t)(count * occupancy->average.states) * sizeof *x);
    const nadir_status status =
        worker->backend->solve(context, worker->self, transposed, count, b, residual, x);
    if (occupancy->update.b != NULL) {
        apply_update(context, &occupancy->update, transposed, count, x);
    }
    return status;
}

/* Y <- B - A X, or with A^T; b NULL: Y <- A X. */
static nadir_status compute_residuals(nadir_context *context, nadir_occupancy *occupancy, bool transposed,
                                      int64_t count, const double *b, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    if (transposed) {
        status = nadir_average_multiply_transposed(context, &occupancy->average, count, x, y);
    } else {
        nadir_average_multiply(context, &occupancy->average, count, x, y);
    }
    for (int64_t i = 0; i < count * occupancy->average.states; i++) {
        const double product = occupancy->gamma * y[i];
        y[i] = b != NULL ? (b[i] - x[i]) + product : x[i] - product;
    }
    return status;
}

static nadir_status apply(nadir_context *context, void *user, bool transposed, int64_t count, const double *x,
                          double *y)
{
    return compute_residuals(context, user, transposed, count, NULL, x, y);
}

/* One solve of the base, without refinement. One that did not quite converge still is a preconditioner. */
static nadir_status precondition(nadir_context *context, void *user, bool transposed, int64_t count,
                                 const double *r, double *z)
{
    const nadir_occupancy *occupancy = user;
    const nadir_status status =
        solve_once(context, occupancy->root, transposed, count, r, PRECONDITION_RESIDUAL, z);
    return status == NADIR_ERROR_NOT_CONVERGED ? NADIR_OK : status;
}

/* The same by GMRES with the base as preconditioner. */
static nadir_status solve_preconditioned(nadir_context *context, nadir_occupancy *occupancy, bool transposed,
                                         int64_t count, const double *b, double residual, double *x)
{
    nadir_status status = NADIR_OK;
    const int64_t n = occupancy->average.states;
    const nadir_linear_system system = {
        .size = n, .apply = apply, .precondition = precondition, .user = occupancy};
    int64_t products;
    NADIR_RESERVE(context, occupancy->gmres_work, nadir_gmres_work(&system), occupancy->gmres_capacity);
    memset(x, 0, (size_t)(count * n) * sizeof *x);
    const nadir_gmres settings = {.transposed = transposed,
                                  .residual = residual,
                                  .limit = PRODUCTS_LIMIT,
                                  .work = occupancy->gmres_work};
    NADIR_CHECK(nadir_gmres_solve(context, &system, &settings, count, b, x, &products));
cleanup:
    return status;
}

/* ------------------------------------------------------------------------------- refinement */

/* The norm in which errors are measured: maximum, 1-norm if transposed. */
static double norm_of(const nadir_context *context, bool transposed, int64_t count, const double *x)
{
    double norm = 0;
    double sum = 0; /* a NaN does not get lost in it */
    for (int64_t i = 0; i < count; i++) {
        const double size = fabs(x[i]);
        norm = size > norm ? size : norm;
        sum += size;
    }
    return transposed ? nadir_allreduce_sum(context, sum)
                      : nadir_allreduce_maximum(context, isnan(sum) ? sum : norm);
}

/* What the columns of a product are like while it is refined. */
typedef struct refinement {
    nadir_context *context;
    nadir_occupancy *occupancy;
    bool transposed;
    int64_t count;
    double tolerance; /* relative error of x */
    const double *b;  /* [states * count] */
    double *x;
    double *r;        /* [states * count] b - A x */
    double *e;        /* [states * count] */
    double *b_norm;   /* [count] */
    double *x_norm;   /* [count] */
    double *r_norm;   /* [count] */
    double *previous; /* [3 * count] r_norm of the round before, or all norms by a backend */
} refinement;

static nadir_status measure_residuals(refinement *self)
{
    const int64_t n = self->occupancy->average.states;
    const nadir_status status = compute_residuals(self->context, self->occupancy, self->transposed,
                                                  self->count, self->b, self->x, self->r);
    if (status != NADIR_OK) { /* other processes do not come this far */
        return status;
    }
    for (int64_t j = 0; j < self->count; j++) {
        self->x_norm[j] = norm_of(self->context, self->transposed, n, self->x + j * n);
        self->r_norm[j] = norm_of(self->context, self->transposed, n, self->r + j * n);
    }
    return status;
}

/*
 * The residual with which column j is good enough. The error of x is at most |r| / (1 - gamma |P|) or, where
 * that is no bound, about |r| |A^-1|: with |A^-1| at least |x| / |b|, and some 1 / (1 - gamma) for a kernel
 * near a stochastic one.
 */
static double goal(const refinement *self, int64_t j)
{
    const double gamma = self->occupancy->gamma;
    const double gap = nadir_occupancy_gap(self->occupancy);
    const double relative = gap > 0      ? gap * self->x_norm[j]
                            : gamma == 1 ? fmin(self->x_norm[j], self->b_norm[j])
                                         : fmin((1 - gamma) * self->x_norm[j], self->b_norm[j]);
    const double wanted = self->tolerance * relative;
    const double rounding = ROUNDING * (self->b_norm[j] + 2 * self->x_norm[j]);
    return wanted > rounding ? wanted : rounding;
}

/*
 * Whether the residual of column j is to become smaller still. Where x is larger than any stochastic kernel makes it,
 * A is near breakdown: |A^-1| then makes several times more of a residual than the goal expects, and rounds go on as
 * long as they win anything. On a chain with a denominator of 1e-10 a residual at the goal left an error 1 % past the
 * tolerance. So they do for a tolerance below rounding: what one backend has proven another proves again.
 */
static bool wants_more(const refinement *self, int64_t j)
{
    const double gamma = self->occupancy->gamma;
    const bool near_breakdown =
        gamma * self->occupancy->average.norm >= 1 && (1 - gamma) * self->x_norm[j] > self->b_norm[j];
    const bool all = near_breakdown || self->tolerance < NADIR_ROUND_UNIT;
    return self->r_norm[j] > 0 && (all || self->r_norm[j] > goal(self, j));
}

/* The next x. target: how small the residual of A e = r / |r| must be. Columns that are good enough are left
 * alone. */
static nadir_status refine(refinement *self, bool first)
{
    const int64_t n = self->occupancy->average.states;
    double target = first ? COARSE : 1;
    for (int64_t j = 0; j < self->count; j++) {
        const double size = self->r_norm[j];
        const bool wanted = first ? size > 0 : wants_more(self, j);
        double *rj = self->r + j * n;
        for (int64_t i = 0; i < n; i++) {
            rj[i] = wanted ? rj[i] / size : 0;
        }
        if (wanted && !first) {
            target = fmin(target, size > goal(self, j) ? goal(self, j) / size / 2 : COARSE);
        }
    }
    const nadir_status status =
        solve_once(self->context, self->occupancy, self->transposed, self->count, self->r, target, self->e);
    if (status != NADIR_OK && status != NADIR_ERROR_NOT_CONVERGED) {
        return status;
    }
    for (int64_t j = 0; j < self->count; j++) {
        for (int64_t i = 0; i < n; i++) {
            self->e[j * n + i] *= self->r_norm[j];
            self->x[j * n + i] += self->e[j * n + i];
        }
        self->previous[j] = self->r_norm[j];
    }
    return NADIR_OK;
}

/* Columns that the last round made worse get back what they had. */
static void undo_worse(refinement *self)
{
    const int64_t n = self->occupancy->average.states;
    for (int64_t j = 0; j < self->count; j++) {
        if (!(self->r_norm[j] <= self->previous[j])) {
            for (int64_t i = 0; i < n; i++) {
                self->x[j * n + i] -= self->e[j * n + i];
            }
            self->r_norm[j] = self->previous[j];
        }
    }
}

/* Whether another round is worth it: some column wants it, and the last round halved its residual. */
static bool worth_another(const refinement *self)
{
    for (int64_t j = 0; j < self->count; j++) {
        if (wants_more(self, j) && self->r_norm[j] < self->previous[j] / 2) {
            return true;
        }
    }
    return false;
}

/* Units of rounding of a product, which do not change while the operator stays as it is. */
static double roundings(const nadir_context *context, nadir_occupancy *occupancy, bool transposed)
{
    double *known = &occupancy->roundings[transposed];
    if (*known == 0) {
        *known = nadir_average_roundings(context, &occupancy->average, transposed);
    }
    return *known;
}

/* Whether column j is near its goal, or its residual has underflowed. Where rounding alone leaves a residual
 * that compares with b, x is whatever a singular system makes of rounding. */
static nadir_status check_column(const refinement *self, int64_t j)
{
    /* |A| is at most 2 for a stochastic kernel, and may be anything for others: no residual is smaller than
     * the rounding of that */
    const double size = fmax(2, 1 + self->occupancy->gamma * self->occupancy->average.norm);
    if (!isfinite(self->r_norm[j]) || !isfinite(self->x_norm[j]) ||
        self->r_norm[j] > SLACK * (size / 2) * goal(self, j) + DBL_MIN) {
        return nadir_fail(
            self->context, NADIR_ERROR_NOT_CONVERGED,
            "the linear system was not solved: residual %g with a solution of size %g (backend %s)",
            self->r_norm[j], self->x_norm[j], nadir_occupancy_backend(self->occupancy));
    }
    if (ROUNDING * self->x_norm[j] > SINGULAR * self->b_norm[j]) {
        return nadir_fail(self->context, NADIR_ERROR_ILL_POSED,
                          "I - gamma P is singular to working precision: a right-hand side of size %g has a "
                          "solution of size %g",
                          self->b_norm[j], self->x_norm[j]);
    }
    return NADIR_OK;
}

/* The accuracy of the worst column. A residual is computed with an error of at most m eps/2 (|b| + (1 + gamma
 * |P|) |x|) for products with m roundings and terms of size |P|, which counts as residual. */
static nadir_status assess(refinement *self, nadir_accuracy *accuracy)
{
    nadir_occupancy *occupancy = self->occupancy;
    const double gap = nadir_occupancy_gap(occupancy);
    const double unit = 0.5 * DBL_EPSILON * roundings(self->context, occupancy, self->transposed);
    const double size = nadir_average_terms(&occupancy->average);
    nadir_accuracy worst = {0};
    for (int64_t j = 0; j < self->count; j++) {
        NADIR_TRY(check_column(self, j));
        const double size_of_terms = self->b_norm[j] + (1 + occupancy->gamma * size) * self->x_norm[j];
        const double residual = self->r_norm[j] + unit * size_of_terms;
        worst.residual = residual > worst.residual ? residual : worst.residual;
    }
    worst.error_bound = gap > 0 ? worst.residual / gap * (1 + 4 * DBL_EPSILON) : INFINITY;
    if (accuracy != NULL) {
        *accuracy = worst;
    }
    return NADIR_OK;
}

static nadir_status refuse_side(const refinement *self, int64_t j)
{
    return nadir_fail(self->context, NADIR_ERROR_ARGUMENT, "right-hand side %lld is not finite",
                      (long long)j);
}

/* Work space with so many vectors for each column, r and e; b is copied where it is x. */
static nadir_status reserve(refinement *self, size_t vectors)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy *occupancy = self->occupancy;
    const bool aliased = self->x == self->b;
    const size_t size = (size_t)(occupancy->average.states * self->count);
    NADIR_RESERVE(self->context, occupancy->work, (vectors + aliased) * size, occupancy->capacity);
    NADIR_RESERVE(self->context, occupancy->norms, 6 * self->count, occupancy->norms_capacity);
    self->r = occupancy->work;
    self->e = vectors > 0 ? occupancy->work + size : NULL;
    if (aliased) {
        self->b = memcpy(occupancy->work + vectors * size, self->b, size * sizeof *self->b);
    }
    self->b_norm = occupancy->norms;
    self->x_norm = self->b_norm + self->count;
    self->r_norm = self->x_norm + self->count;
    self->previous = self->r_norm + self->count;
cleanup:
    return status;
}

/* x = 0 in column j. */
static void start_from_zero(refinement *self, int64_t j)
{
    const int64_t n = self->occupancy->average.states;
    memset(self->x + j * n, 0, (size_t)n * sizeof *self->x);
    memcpy(self->r + j * n, self->b + j * n, (size_t)n * sizeof *self->r);
    self->r_norm[j] = self->b_norm[j];
    self->x_norm[j] = 0;
}

/* After the residuals of a guess: a column where it is worse than none, or not better than a coarse solve would
 * make it, needs to learn how large x is. Returns whether none does. */
static bool accept_guess(refinement *self)
{
    bool known = true;
    for (int64_t j = 0; j < self->count; j++) {
        if (!(self->r_norm[j] <= self->b_norm[j])) {
            start_from_zero(self, j);
        }
        known = known && (self->r_norm[j] <= COARSE * self->b_norm[j]);
        self->previous[j] = INFINITY;
    }
    return known;
}

/* From x = 0 or a guess, round after round until the goal is reached or nothing is won any more. */
static nadir_status run(refinement *self, bool guessed, nadir_accuracy *accuracy)
{
    const int64_t n = self->occupancy->average.states;
    for (int64_t j = 0; j < self->count; j++) {
        self->b_norm[j] = norm_of(self->context, self->transposed, n, self->b + j * n);
        if (!isfinite(self->b_norm[j])) {
            return refuse_side(self, j);
        }
        if (!guessed) {
            start_from_zero(self, j);
        }
    }
    for (int rounds = 0;; rounds++) { /* a good guess counts as the first */
        if (guessed || rounds > 0) {
            NADIR_TRY(measure_residuals(self));
        }
        if (guessed) {
            rounds = accept_guess(self);
            guessed = false;
        } else if (rounds > 1) {
            undo_worse(self);
        }
        if (rounds == ROUNDS || (rounds > 0 && !worth_another(self))) {
            break;
        }
        NADIR_TRY(refine(self, rounds == 0 && nadir_occupancy_iterates(self->occupancy)));
    }
    return assess(self, accuracy);
}

/* Whether the backend does all of this itself, near its own memory. */
static bool is_left_to_backend(const nadir_occupancy *occupancy)
{
    return occupancy->root == occupancy && occupancy->average.b == NULL &&
           occupancy->backend->refine != NULL && occupancy->gamma * occupancy->average.norm < 1;
}

/* device: b and x lie there. */
static nadir_status leave_to_backend(refinement *self, bool guessed, bool device, nadir_accuracy *accuracy)
{
    nadir_occupancy *occupancy = self->occupancy;
    const nadir_backend *backend = occupancy->backend;
    const double relative = self->tolerance * (1 - occupancy->gamma * occupancy->average.norm);
    double *norms = self->previous; /* [3 * count] */
    if (!guessed && !device) {
        memset(self->x, 0, (size_t)(occupancy->average.states * self->count) * sizeof *self->x);
    }
    NADIR_TRY(device ? backend->refine_device(self->context, occupancy->self, self->transposed, self->b,
                                              relative, self->x, norms)
                     : backend->refine(self->context, occupancy->self, self->transposed, self->count, self->b,
                                       relative, self->x, norms));
    for (int64_t j = 0; j < self->count; j++) {
        self->b_norm[j] = norms[3 * j];
        self->x_norm[j] = norms[3 * j + 1];
        self->r_norm[j] = norms[3 * j + 2];
        if (!isfinite(self->b_norm[j])) {
            return refuse_side(self, j);
        }
    }
    return assess(self, accuracy);
}

static bool is_on_device(const nadir_occupancy *occupancy)
{
    return is_left_to_backend(occupancy) && occupancy->backend->refine_device != NULL;
}

/* nadir_refinement_solve for one right-hand side without a guess where b and x lie on the device; x is not b.
 * Nothing is done with their numbers here. */
static nadir_status solve_on_device(nadir_context *context, nadir_occupancy *occupancy, bool transposed,
                                    const double *b, double tolerance, double *x)
{
    refinement self = {.context = context,
                       .occupancy = occupancy,
                       .transposed = transposed,
                       .count = 1,
                       .tolerance = fmax(tolerance, occupancy->tolerance),
                       .b = b,
                       .x = x};
    NADIR_TRY(nadir_occupancy_check_ready(context, occupancy));
    NADIR_TRY(reserve(&self, 0));
    return leave_to_backend(&self, false, true, NULL);
}

nadir_status nadir_refinement_solve(nadir_context *context, nadir_occupancy *occupancy, bool transposed,
                                    int64_t count, const double *b, double tolerance, bool guessed, double *x,
                                    nadir_accuracy *accuracy)
{
    nadir_status status = NADIR_OK;
    refinement self = {.context = context,
                       .occupancy = occupancy,
                       .transposed = transposed,
                       .count = count,
                       .tolerance = fmax(tolerance, occupancy->tolerance),
                       .b = b,
                       .x = x};
    NADIR_CHECK(nadir_occupancy_check_ready(context, occupancy));
    NADIR_CHECK(reserve(&self, is_left_to_backend(occupancy) ? 0 : 2));
    if (is_left_to_backend(occupancy)) {
        return leave_to_backend(&self, guessed, false, accuracy);
    }
    do {
        if (status == NADIR_ERROR_NOT_CONVERGED) {
            NADIR_CHECK(nadir_occupancy_own_backend(context, occupancy));
            guessed = false;
        }
        status = run(&self, guessed, accuracy);
    } while (status == NADIR_ERROR_NOT_CONVERGED && occupancy->preconditioned);
cleanup:
    return status;
}

/* --------------------------------------------------------------------------- rougher products */

nadir_status nadir_occupancy_solve_roughly(nadir_context *context, nadir_occupancy *occupancy,
                                           bool transposed, int64_t count, const double *b, double tolerance,
                                           double *x)
{
    if (!nadir_occupancy_iterates(occupancy)) {
        const nadir_status status = nadir_occupancy_check_ready(context, occupancy);
        return status != NADIR_OK ? status : solve_once(context, occupancy, transposed, count, b, 0, x);
    }
    return nadir_refinement_solve(context, occupancy, transposed, count, b, tolerance, false, x, NULL);
}

nadir_vec nadir_occupancy_vec(nadir_context *context, const nadir_occupancy *occupancy)
{
    return context->device != NULL && is_on_device(occupancy) ? nadir_vec_device(context)
                                                              : nadir_vec_host(context);
}

nadir_status nadir_occupancy_solve_vec(const nadir_vec *vec, nadir_occupancy *occupancy, bool transposed,
                                       const double *b, double tolerance, double *x)
{
    return vec->device == NULL
               ? nadir_occupancy_solve_roughly(vec->context, occupancy, transposed, 1, b, tolerance, x)
               : solve_on_device(vec->context, occupancy, transposed, b, tolerance, x);
}

/*
 * A few steps towards a product with D, for callers that iterate on their own: see occupancy.h. Generalised conjugate residuals with the base's solves as preconditioner K: from r = b - A x each step
 * makes
 *
 *     z = K^-1 r,    q = A z, orthogonal to the q before (and z likewise),    x <- x + t z,    r <- r - t q
 *
 * with the t that makes |r|_2 least: what GMRES does, with the residual at hand all the time.
 */

nadir_status nadir_occupancy_solve_partial(nadir_context *context, nadir_occupancy *occupancy,
                                           bool transposed, const double *b, double share, double *x,
                                           double *r, double *left)
{
    enum { STEPS = NADIR_OCCUPANCY_PARTIAL_STEPS };
    nadir_status status = NADIR_OK;
    const int64_t n = occupancy->average.states;
    double squares[STEPS];
    NADIR_CHECK(nadir_occupancy_check_ready(context, occupancy));
    NADIR_RESERVE(context, occupancy->work, 2 * STEPS * n, occupancy->capacity);
    NADIR_CHECK(compute_residuals(context, occupancy, transposed, 1, b, x, r));
    const double first = sqrt(nadir_blocks_dot(context, n, r, r));
    double now = first;
    for (int i = 0; i < STEPS && now > share * first; i++) {
        double *z = occupancy->work + 2 * i * n;
        double *q = z + n;
        status = solve_once(context, occupancy->root, transposed, 1, r, share, z);
        /* any z will do: t takes of it what helps */
        NADIR_CHECK(status == NADIR_ERROR_NOT_CONVERGED ? NADIR_OK : status);
        NADIR_CHECK(apply(context, occupancy, transposed, 1, z, q));
        for (int j = 0; j < i; j++) {
            const double *before = occupancy->work + 2 * j * n;
            const double share_of_q = nadir_blocks_dot(context, n, before + n, q) / squares[j];
            nadir_blocks_add(context, n, -share_of_q, before, z);
            nadir_blocks_add(context, n, -share_of_q, before + n, q);
        }
        squares[i] = nadir_blocks_dot(context, n, q, q);
        if (!(squares[i] > 0)) {
            break;
        }
        const double t = nadir_blocks_dot(context, n, q, r) / squares[i];
        nadir_blocks_add(context, n, t, z, x);
        nadir_blocks_add(context, n, -t, q, r);
        now = sqrt(nadir_blocks_dot(context, n, r, r));
    }
    *left = first == 0 ? 0 : now / first;
cleanup:
    return status;
}

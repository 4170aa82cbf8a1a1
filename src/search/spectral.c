/*
 * spectral.c: the worst kernel of the L_2 ball on the free domain; see free_search.h.
 *
 * Newton: on a subspace the penalty of every radius is known (below). A step makes y = E x / theta and,
 * by a transposed solve, the residual r = E^T y - theta x, which is orthogonal to the subspace. Of
 * T = I / (beta gamma)^2 - M on all of space r is the residual of T s = b, and what is missing of b^T T^-1 b
 * is r^T T^-1 r: with eps^2 = (beta gamma)^2 m_max < 1 and rho = |r| the penalty lacks
 *
 *     between e and e / (1 - eps^2) of itself,   e = rho^2 / (2 theta^2) / (1 + gamma k . g).
 *
 * Once r is taken into the subspace, by one solve, the penalty has gained e (1 + eta) with an eta of at most
 * eps^2 / (1 - eps^2) that can be read off, and e eta eps^2 at most is left: so most radii are done after two
 * solves and one transposed one. Radii are taken one after another. The subspace of one serves the next, whose
 * residual is nearly in it.
 *
 * Bisection (Algorithm 1 of the paper) halves an interval by the sign of f(lambda) = beta sigma_max(E_lambda) -
 * lambda, which falls; sigma_max by Lanczos.
 */
#include "search/free_search.h"

#include "linalg/distributed.h"
#include "linalg/eigen.h"
#include "linalg/gstd.h"
#include "linalg/lanczos.h"
#include "linalg/matrix.h"
#include "linalg/root.h"

#include <math.h>
#include <string.h>

/* -------------------------------------------------------------------------- problem on a subspace */

/*
 * The L_2 problem of the free domain, restricted to kernels whose c lies in a subspace.
 *
 * With v_hat = Phi v / nu, nu = sigma_2(v), lambda = nu l, an orthonormal basis X of the subspace and
 *
 *     a = X^T W d,   h = X^T W D^T v_hat,   Z = (I - v_hat v_hat^T) Phi D W X,   M = Z^T Z,   b = a - l h
 *
 * both parts of E_lambda X s / (gamma nu) = v_hat (b . s) - l Z s are orthogonal, so that sigma_max^2 is the
 * largest eigenvalue of b b^T + l^2 M. That is (l / (beta gamma))^2, the root of f, when
 *
 *     b^T T^-1 b = l^2,   T = I / (beta gamma)^2 - M,   attained by s = T^-1 b:
 *
 * a quadratic equation in l, whose coefficients a^T T^-1 a, a^T T^-1 h and h^T T^-1 h cost nothing for any
 * radius once M is diagonal. What it gives is attained by a kernel, so it is a lower bound on the penalty,
 * which rises with the subspace; T is positive, and the root exists, as long as no c of the subspace breaks
 * down. Only the worst kernel of the subspace can be found: b^T T^-1 b has no other stationary points.
 */

enum { LIMIT = NADIR_SPECTRAL_SUBSPACE_LIMIT };

typedef struct spectral_subspace {
    const nadir_problem *problem;
    double nu;     /* sigma_2(v) */
    double *v_hat; /* [states] */
    double *Wd;    /* [states] */
    bool idle;     /* nu, W d or gamma is zero: no kernel of this kind changes the return */
    int size;
    double *x[LIMIT]; /* [states] each: the columns of X, the first along W d */
    double *z[LIMIT]; /* [states] each: the columns of Z */
    double a[LIMIT];
    double h[LIMIT];
    double M[LIMIT * LIMIT]; /* column j at j * LIMIT */
    /* M = V diag(m) V^T, V^T a and V^T h. */
    double m[LIMIT]; /* rising */
    double V[LIMIT * LIMIT];
    double Va[LIMIT];
    double Vh[LIMIT];
    double work[LIMIT * LIMIT + NADIR_SYMMETRIC_WORK(LIMIT)];
} spectral_subspace;

/* A unit vector of the subspace and its image, at one l. */
typedef struct subspace_point {
    double l;        /* lambda / nu */
    double theta;    /* |E_lambda X s| / (gamma nu) */
    double along;    /* v_hat . y */
    double feedback; /* y . D W X s */
    double s[LIMIT]; /* unit vector, in terms of X */
} subspace_point;

/* So many of the oldest columns, after the first, become one when the basis is made smaller. */
enum { FOLDED = LIMIT / 2 };

static void subspace_free(nadir_context *context, spectral_subspace *subspace)
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

/* Of dimension 0. */
static nadir_status subspace_create(nadir_context *context, const nadir_problem *problem,
                                    spectral_subspace **subspace)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    spectral_subspace *made = NULL;
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
    subspace_free(context, made);
    return status;
}

/* ------------------------------------------------------------------------------------- the basis */

static const double *const *columns(double *const *vectors)
{
    return (const double *const *)vectors;
}

/* x: [states] <- its part that is orthogonal to the subspace; returns the norm of that. */
static double subspace_reduce(const nadir_context *context, const spectral_subspace *subspace, double *x)
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
static void add_image(const nadir_context *context, spectral_subspace *subspace, double *z)
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
static void rotate(const spectral_subspace *subspace, bool transposed, const double *from, double *to)
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

static nadir_status diagonalise(nadir_context *context, spectral_subspace *subspace)
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

/* Takes one more vector, of norm 1 and orthogonal to the subspace, at the price of an accurate solve. The
 * limit must not be exceeded. x: [states], overwritten. */
static nadir_status subspace_append(nadir_context *context, spectral_subspace *subspace, double *x)
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

/* The span of W d; the subspace is not idle. work: [states]. */
static nadir_status subspace_begin(nadir_context *context, spectral_subspace *subspace, double *work)
{
    const int64_t n = subspace->problem->states;
    const double square = nadir_blocks_dot(context, n, subspace->Wd, subspace->Wd);
    nadir_blocks_scale(context, n, 1 / sqrt(square), subspace->Wd, work);
    return subspace_append(context, subspace, work);
}

/* ------------------------------------------------------------------- the problem on the subspace */

/* Finishes a point from its l and s, which is in terms of the eigenvectors and of any length. */
static void complete(const spectral_subspace *subspace, const double *s, subspace_point *point)
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

/* The worst kernel with c in the subspace. NADIR_ERROR_ILL_POSED when the radius is at or past breakdown. */
static nadir_status subspace_root(nadir_context *context, const spectral_subspace *subspace, double beta,
                                  subspace_point *point)
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

/* --------------------------------------------------------------- from the subspace to the states */

/* result <- sum over j of s_j vectors[j]. */
static void sum_columns(const nadir_context *context, const spectral_subspace *subspace, const double *s,
                        double *const *vectors, double *result)
{
    memset(result, 0, (size_t)subspace->problem->states * sizeof *result);
    (void)nadir_blocks_add_many(context, subspace->problem->states, subspace->size, columns(vectors), s,
                                result);
}

/* x = X s; y = E_lambda x / |E_lambda x|; g = Phi D W x. [states] each. */
static void subspace_expand(const nadir_context *context, const spectral_subspace *subspace,
                            const subspace_point *point, double *x, double *y, double *g)
{
    double hs = 0;
    for (int j = 0; j < subspace->size; j++) {
        hs += subspace->h[j] * point->s[j];
    }
    sum_columns(context, subspace, point->s, subspace->x, x);
    sum_columns(context, subspace, point->s, subspace->z, g);
    for (int64_t s = 0; s < subspace->problem->states; s++) {
        y[s] = point->along * subspace->v_hat[s] - point->l / point->theta * g[s];
        g[s] += hs * subspace->v_hat[s];
    }
}

/* r <- E_lambda^T y / (gamma nu) - theta x: [states], in: D^T y; returns its norm. */
static double subspace_residual(const nadir_context *context, const spectral_subspace *subspace,
                                const subspace_point *point, double *r)
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

/* ---------------------------------------------------------------------- making the basis smaller */

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

/* Shrinks a basis of the size of the limit: of the oldest columns, but for W d, the vector of the point is kept
 * alone. The subspace is to be appended to before it is used. */
static void subspace_compress(const nadir_context *context, spectral_subspace *subspace,
                              const subspace_point *point)
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

/* ----------------------------------------------------------------------------------------- search */

/* From this many radii on, transposed solves are made for the columns of the subspace, not for the radii. */
#define SHARED_LEAST 6
/* A residual of which no more than this is orthogonal to the subspace is rounding. */
#define ROUNDING_SHARE 1e-3
/* The subspace gives the largest eigenvalue of M from below only: it is taken this much larger. */
#define SAFETY 2
/* Rounding of the solves leaves no more than this of the penalty. */
#define LEAST_TOLERANCE 1e-13

/* One call of nadir_spectral_solve. */
typedef struct search {
    nadir_context *context;
    const nadir_problem *problem;
    const char *method;
    double tolerance;
    int64_t iterations_limit;
    spectral_subspace *subspace;
    double *x;                 /* [states] */
    double *y;                 /* [states] */
    double *g;                 /* [states] */
    bool shared;               /* D^T y of all radii come from `images` */
    int imaged;                /* images that are made */
    double *images[LIMIT + 1]; /* [states] each: D^T v_hat, D^T z_0, ...; or NULL */
} search;

/* Fills the candidate, but for its kernel, with x, a unit vector, y as k, and g = D W x up to a constant. */
static nadir_status finish(search *self, double beta, nadir_stop reason, int64_t iterations,
                           nadir_candidate *candidate)
{
    for (int64_t s = 0; s < self->problem->states; s++) {
        self->x[s] *= beta;
        self->g[s] *= beta;
    }
    candidate->method = self->method;
    candidate->stop = reason;
    candidate->converged = reason != NADIR_STOP_ITERATIONS;
    candidate->iterations = iterations;
    return nadir_rank_one_candidate_known(self->context, self->problem, beta, self->x, self->y, self->g,
                                          candidate);
}

/* ----------------------------------------------------------------------------------------- Newton */

/* w <- about D^T y: the error of the penalty is the square of a residual. */
static nadir_status solve_transposed(const search *self, const double *y, double *w)
{
    return nadir_occupancy_solve_roughly(self->context, self->problem->occupancy, true, 1, y,
                                         0.01 * sqrt(self->tolerance), w);
}

/* result <- along first - (l / theta) times the sum of s_j vectors[j]: y of a point where these are v_hat and Z,
 * and D^T y where they are images of those. */
static void combine(const search *self, const subspace_point *point, const double *first,
                    double *const *vectors, double *result)
{
    const int64_t n = self->problem->states;
    const int size = self->subspace->size;
    double factors[LIMIT];
    for (int i = 0; i < size; i++) {
        factors[i] = -point->l / point->theta * point->s[i];
    }
    nadir_blocks_scale(self->context, n, point->along, first, result);
    (void)nadir_blocks_add_many(self->context, n, size, (const double *const *)vectors, factors, result);
}

/* The images that are still missing. */
static nadir_status make_images(search *self)
{
    nadir_status status = NADIR_OK;
    const spectral_subspace *subspace = self->subspace;
    for (; self->imaged <= subspace->size; self->imaged++) {
        const double *column = self->imaged == 0 ? subspace->v_hat : subspace->z[self->imaged - 1];
        double **image = &self->images[self->imaged];
        if (*image == NULL) {
            NADIR_NEW(self->context, *image, self->problem->states);
        }
        NADIR_CHECK(solve_transposed(self, column, *image));
    }
cleanup:
    return status;
}

/* x <- the residual; *rho: its norm. */
static nadir_status make_residual(search *self, const subspace_point *point, double *rho)
{
    if (self->shared) {
        NADIR_TRY(make_images(self));
        combine(self, point, self->images[0], self->images + 1, self->x);
    } else {
        combine(self, point, self->subspace->v_hat, self->subspace->z, self->y);
        NADIR_TRY(solve_transposed(self, self->y, self->x));
    }
    *rho = subspace_residual(self->context, self->subspace, point, self->x);
    return NADIR_OK;
}

/* Takes x, a residual of norm rho, into the subspace. *grown: false where it is in there but for rounding. */
static nadir_status grow(search *self, const subspace_point *point, double rho, bool *grown)
{
    const double norm = subspace_reduce(self->context, self->subspace, self->x);
    *grown = norm > ROUNDING_SHARE * rho;
    if (!*grown) {
        return NADIR_OK;
    }
    nadir_blocks_scale(self->context, self->problem->states, 1 / norm, self->x, self->x);
    if (self->subspace->size == LIMIT) {
        subspace_compress(self->context, self->subspace, point);
        self->imaged = 1; /* the columns of Z are others now */
    }
    return subspace_append(self->context, self->subspace, self->x);
}

/* (beta gamma)^2 m_max */
static double square_epsilon(const search *self, double beta)
{
    const double reach = beta * self->problem->gamma;
    return reach * reach * self->subspace->m[self->subspace->size - 1];
}

/* What the penalty lacks, once a residual of e is in the subspace, from what it gained. To first order in e. */
static double error_left(const search *self, double beta, double e, double gained)
{
    const double square = square_epsilon(self, beta);
    const double eta = fmax(0, gained / e - 1) + e;
    const double rate = fmin(1, SAFETY * fmax(square, eta));
    return e * eta * rate / (1 - square);
}

/* Steps for one radius. A step that many radii share costs little: these come closer than the tolerance asks. */
static nadir_status solve_newton(search *self, double beta, nadir_candidate *candidate)
{
    subspace_point point = {0};
    const double enough = self->tolerance / (self->shared ? 20 : 2);
    nadir_stop reason = NADIR_STOP_NONE;
    int64_t steps = 0;
    if (self->subspace->size == 0) {
        NADIR_TRY(subspace_begin(self->context, self->subspace, self->x));
    }
    NADIR_TRY(subspace_root(self->context, self->subspace, beta, &point));
    while (reason == NADIR_STOP_NONE) {
        double rho;
        bool grown = true;
        if (steps == self->iterations_limit) {
            reason = NADIR_STOP_ITERATIONS;
            break;
        }
        steps++;
        NADIR_TRY(nadir_progress(self->context, "searching the worst kernel", -1));
        NADIR_TRY(make_residual(self, &point, &rho));
        const double share = rho / point.theta;
        const double e = share * share / 2 / (1 + self->problem->gamma * beta * point.feedback);
        double error = e / (1 - square_epsilon(self, beta));
        if (error > enough) {
            const double before = point.l;
            NADIR_TRY(grow(self, &point, rho, &grown));
            NADIR_TRY(subspace_root(self->context, self->subspace, beta, &point));
            error = error_left(self, beta, e, (point.l - before) / before);
        }
        reason = !grown ? NADIR_STOP_STABLE : error <= enough ? NADIR_STOP_TOLERANCE : NADIR_STOP_NONE;
    }
    subspace_expand(self->context, self->subspace, &point, self->x, self->y, self->g);
    return finish(self, beta, reason, steps, candidate);
}

/* -------------------------------------------------------------------------------------- bisection */

/* A residual below this times the root of the tolerance, and sigma, leaves an error of its square. */
#define RESIDUAL_SHARE 0.03
#define DOUBLINGS      60
#define PRODUCTS       1000

/* E_lambda / (gamma nu) at one l. */
typedef struct slope_map {
    const search *run;
    double l;
} slope_map;

/* y <- v_hat (W d . x) - l Phi D W x */
static nadir_status apply(nadir_context *context, void *user, const double *x, double *y)
{
    const slope_map *map = user;
    const search *run = map->run;
    const int64_t n = run->problem->states;
    for (int64_t s = 0; s < n; s++) {
        run->g[s] = run->problem->uncertainty->W[s] * x[s];
    }
    const nadir_status status = nadir_occupancy_solve_roughly(context, run->problem->occupancy, false, 1,
                                                              run->g, 0.01 * run->tolerance, y);
    const double mean = nadir_global_sum(context, n, y) / (double)nadir_model_total(run->problem->model);
    const double strength = nadir_blocks_dot(context, n, run->subspace->Wd, x);
    for (int64_t s = 0; s < n; s++) {
        y[s] = run->subspace->v_hat[s] * strength - map->l * (y[s] - mean);
    }
    return status;
}

/* y <- W d (v_hat . x) - l W D^T Phi x */
static nadir_status apply_transposed(nadir_context *context, void *user, const double *x, double *y)
{
    const slope_map *map = user;
    const search *run = map->run;
    const int64_t n = run->problem->states;
    const double mean = nadir_global_sum(context, n, x) / (double)nadir_model_total(run->problem->model);
    const double loss = nadir_blocks_dot(context, n, run->subspace->v_hat, x);
    for (int64_t s = 0; s < n; s++) {
        run->g[s] = x[s] - mean;
    }
    const nadir_status status = solve_transposed(run, run->g, y);
    for (int64_t s = 0; s < n; s++) {
        y[s] = run->subspace->Wd[s] * loss - map->l * run->problem->uncertainty->W[s] * y[s];
    }
    return status;
}

/* x and y <- the top of E_lambda at l, from the x before; *f: f(lambda) / nu. */
static nadir_status evaluate(search *self, double beta, double l, double *f)
{
    const nadir_vec here = nadir_vec_host(self->context);
    const int64_t n = self->problem->states;
    slope_map map = {self, l};
    const nadir_linear_map linear = {n, n, apply, apply_transposed, &map};
    nadir_singular_triple top;
    NADIR_TRY(nadir_progress(self->context, "bisecting", -1));
    NADIR_TRY(nadir_lanczos_top(&here, &linear, self->x, NULL, RESIDUAL_SHARE * sqrt(self->tolerance),
                                PRODUCTS, self->x, self->y, &top));
    *f = beta * self->problem->gamma * top.sigma - l;
    return NADIR_OK;
}

static nadir_status bisect(search *self, double beta, nadir_candidate *candidate)
{
    const int64_t n = self->problem->states;
    const double *Wd = self->subspace->Wd;
    const double norm = sqrt(nadir_blocks_dot(self->context, n, Wd, Wd));
    nadir_bracket bracket = {0, beta * self->problem->gamma * norm}; /* high: the penalty to first order */
    double f = 1;
    int64_t steps = 0;
    memcpy(self->x, Wd, (size_t)n * sizeof *Wd);
    for (int doubling = 0; f > 0 && doubling < DOUBLINGS; doubling++) {
        NADIR_TRY(evaluate(self, beta, bracket.high, &f));
        bracket = f > 0 ? (nadir_bracket){bracket.high, 2 * bracket.high} : bracket;
    }
    if (f > 0) {
        return nadir_fail(self->context, NADIR_ERROR_ILL_POSED,
                          "the radius %.10g is at or past breakdown: the method bisect found no largest "
                          "penalty; choose a smaller radius, or another domain",
                          beta);
    }
    for (; bracket.high - bracket.low > self->tolerance * bracket.high && steps < self->iterations_limit;
         steps++) {
        const double middle = nadir_bracket_middle(&bracket);
        NADIR_TRY(evaluate(self, beta, middle, &f));
        nadir_bracket_narrow(&bracket, middle, f > 0);
    }
    NADIR_TRY(evaluate(self, beta, nadir_bracket_middle(&bracket), &f));
    nadir_blocks_scale(self->context, n, beta, self->x, self->x);
    NADIR_TRY(nadir_rank_one_candidate(self->context, self->problem, beta, self->x, self->y, candidate));
    candidate->converged = bracket.high - bracket.low <= self->tolerance * bracket.high;
    candidate->stop = candidate->converged ? NADIR_STOP_TOLERANCE : NADIR_STOP_ITERATIONS;
    candidate->method = self->method;
    candidate->iterations = steps;
    return NADIR_OK;
}

/* ------------------------------------------------------------------------------------------------ */

static nadir_status solve_one(search *self, nadir_spectral_method method, double radius,
                              nadir_candidate *candidate)
{
    if (self->subspace->idle || radius == 0) { /* the nominal kernel */
        memset(self->x, 0, (size_t)(3 * self->problem->states) * sizeof *self->x);
        return finish(self, 0, NADIR_STOP_TOLERANCE, 0, candidate);
    }
    return method == NADIR_SPECTRAL_NEWTON ? solve_newton(self, radius, candidate)
           : method == NADIR_SPECTRAL_BISECT
               ? bisect(self, radius, candidate)
               : nadir_best_response_solve(self->context, self->problem, self->tolerance,
                                           self->iterations_limit, 1, &radius, candidate);
}

nadir_status nadir_spectral_solve(nadir_context *context, const nadir_problem *problem,
                                  nadir_spectral_method method, double tolerance, int64_t iterations_limit,
                                  int64_t count, const double *radii, nadir_candidate *candidates)
{
    static const char *const names[] = {"newton", "bisect", "best-response"};
    nadir_status status = NADIR_OK;
    search self = {.context = context,
                   .problem = problem,
                   .method = names[method],
                   .tolerance = fmax(tolerance, LEAST_TOLERANCE),
                   .iterations_limit = iterations_limit,
                   .shared = count >= SHARED_LEAST};
    NADIR_NEW(context, self.x, 3 * problem->states);
    self.y = self.x + problem->states;
    self.g = self.y + problem->states;
    NADIR_CHECK(subspace_create(context, problem, &self.subspace));
    for (int64_t i = 0; i < count; i++) {
        NADIR_CHECK(solve_one(&self, method, radii[i], &candidates[i]));
    }
    if (count == 1) {
        NADIR_CHECK(nadir_rank_one_candidate_kernel(context, problem, candidates));
    }
cleanup:
    for (int64_t i = 0; status != NADIR_OK && i < count; i++) {
        nadir_candidate_clear(context, &candidates[i]);
    }
    for (int j = 0; j <= LIMIT; j++) {
        nadir_release(context, self.images[j]);
    }
    subspace_free(context, self.subspace);
    nadir_release(context, self.x);
    return status;
}

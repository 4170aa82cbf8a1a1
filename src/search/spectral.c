/*
 * spectral.c: the worst kernel of the L_2 ball on the free domain; see spectral.h.
 *
 * Newton: on a subspace the penalty of every radius is known (spectral.h). A step makes y = E x / theta and,
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
#include "search/spectral.h"

#include "linalg/distributed.h"
#include "linalg/lanczos.h"
#include "linalg/matrix.h"
#include "linalg/root.h"

#include <math.h>
#include <string.h>

/* From this many radii on, transposed solves are made for the columns of the subspace, not for the radii. */
#define SHARED_LEAST 6
/* A residual of which no more than this is orthogonal to the subspace is rounding. */
#define ROUNDING_SHARE 1e-3
/* The subspace gives the largest eigenvalue of M from below only: it is taken this much larger. */
#define SAFETY 2
/* Rounding of the solves leaves no more than this of the penalty. */
#define LEAST_TOLERANCE 1e-13

/* Why a search stopped; STABLE: what is left is rounding. */
typedef enum stop { STOP_NONE, STOP_TOLERANCE, STOP_STABLE, STOP_ITERATIONS } stop;

/* One call of nadir_spectral_solve. */
typedef struct search {
    nadir_context *context;
    const nadir_problem *problem;
    const char *method;
    double tolerance;
    int64_t iterations_limit;
    nadir_spectral_subspace *subspace;
    double *x;                                         /* [states] */
    double *y;                                         /* [states] */
    double *g;                                         /* [states] */
    bool shared;                                       /* D^T y of all radii come from `images` */
    int imaged;                                        /* images that are made */
    double *images[NADIR_SPECTRAL_SUBSPACE_LIMIT + 1]; /* [states] each: D^T v_hat, D^T z_0, ...; or NULL */
} search;

/* Fills the candidate, but for its kernel, with x, a unit vector, y as k, and g = D W x up to a constant. */
static nadir_status finish(search *self, double beta, stop reason, int64_t iterations,
                           nadir_candidate *candidate)
{
    static const char *const reasons[] = {"", "tolerance", "stable", "iterations"};
    for (int64_t s = 0; s < self->problem->states; s++) {
        self->x[s] *= beta;
        self->g[s] *= beta;
    }
    candidate->method = self->method;
    candidate->stop_reason = reasons[reason];
    candidate->converged = reason != STOP_ITERATIONS;
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
static void combine(const search *self, const nadir_spectral_subspace_point *point, const double *first,
                    double *const *vectors, double *result)
{
    const int64_t n = self->problem->states;
    const int size = self->subspace->size;
    double factors[NADIR_SPECTRAL_SUBSPACE_LIMIT];
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
    const nadir_spectral_subspace *subspace = self->subspace;
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
static nadir_status make_residual(search *self, const nadir_spectral_subspace_point *point, double *rho)
{
    nadir_status status = NADIR_OK;
    if (self->shared) {
        NADIR_CHECK(make_images(self));
        combine(self, point, self->images[0], self->images + 1, self->x);
    } else {
        combine(self, point, self->subspace->v_hat, self->subspace->z, self->y);
        NADIR_CHECK(solve_transposed(self, self->y, self->x));
    }
    *rho = nadir_spectral_subspace_residual(self->context, self->subspace, point, self->x);
cleanup:
    return status;
}

/* Takes x, a residual of norm rho, into the subspace. *grown: false where it is in there but for rounding. */
static nadir_status grow(search *self, const nadir_spectral_subspace_point *point, double rho, bool *grown)
{
    const double norm = nadir_spectral_subspace_reduce(self->context, self->subspace, self->x);
    *grown = norm > ROUNDING_SHARE * rho;
    if (!*grown) {
        return NADIR_OK;
    }
    nadir_blocks_scale(self->context, self->problem->states, 1 / norm, self->x, self->x);
    if (self->subspace->size == NADIR_SPECTRAL_SUBSPACE_LIMIT) {
        nadir_spectral_subspace_compress(self->context, self->subspace, point);
        self->imaged = 1; /* the columns of Z are others now */
    }
    return nadir_spectral_subspace_append(self->context, self->subspace, self->x);
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
    nadir_status status = NADIR_OK;
    nadir_spectral_subspace_point point;
    const double enough = self->tolerance / (self->shared ? 20 : 2);
    stop reason = STOP_NONE;
    int64_t steps = 0;
    if (self->subspace->size == 0) {
        NADIR_CHECK(nadir_spectral_subspace_begin(self->context, self->subspace, self->x));
    }
    NADIR_CHECK(nadir_spectral_subspace_root(self->context, self->subspace, beta, &point));
    while (reason == STOP_NONE) {
        double rho;
        bool grown = true;
        if (steps == self->iterations_limit) {
            reason = STOP_ITERATIONS;
            break;
        }
        steps++;
        NADIR_CHECK(nadir_progress(self->context, "searching the worst kernel", -1));
        NADIR_CHECK(make_residual(self, &point, &rho));
        const double share = rho / point.theta;
        const double e = share * share / 2 / (1 + self->problem->gamma * beta * point.feedback);
        double error = e / (1 - square_epsilon(self, beta));
        if (error > enough) {
            const double before = point.l;
            NADIR_CHECK(grow(self, &point, rho, &grown));
            NADIR_CHECK(nadir_spectral_subspace_root(self->context, self->subspace, beta, &point));
            error = error_left(self, beta, e, (point.l - before) / before);
        }
        reason = !grown ? STOP_STABLE : error <= enough ? STOP_TOLERANCE : STOP_NONE;
    }
    nadir_spectral_subspace_expand(self->context, self->subspace, &point, self->x, self->y, self->g);
    NADIR_CHECK(finish(self, beta, reason, steps, candidate));
cleanup:
    return status;
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
    nadir_status status = NADIR_OK;
    const nadir_vec here = nadir_vec_host(self->context);
    const int64_t n = self->problem->states;
    slope_map map = {self, l};
    const nadir_linear_map linear = {n, n, apply, apply_transposed, &map};
    nadir_singular_triple top;
    NADIR_CHECK(nadir_progress(self->context, "bisecting", -1));
    NADIR_CHECK(nadir_lanczos_top(&here, &linear, self->x, NULL, RESIDUAL_SHARE * sqrt(self->tolerance),
                                  PRODUCTS, self->x, self->y, &top));
    *f = beta * self->problem->gamma * top.sigma - l;
cleanup:
    return status;
}

static nadir_status bisect(search *self, double beta, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    const double *Wd = self->subspace->Wd;
    const double norm = sqrt(nadir_blocks_dot(self->context, n, Wd, Wd));
    nadir_bracket bracket = {0, beta * self->problem->gamma * norm}; /* high: the penalty to first order */
    double f = 1;
    int64_t steps = 0;
    memcpy(self->x, Wd, (size_t)n * sizeof *Wd);
    for (int doubling = 0; f > 0 && doubling < DOUBLINGS; doubling++) {
        NADIR_CHECK(evaluate(self, beta, bracket.high, &f));
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
        NADIR_CHECK(evaluate(self, beta, middle, &f));
        nadir_bracket_narrow(&bracket, middle, f > 0);
    }
    NADIR_CHECK(evaluate(self, beta, nadir_bracket_middle(&bracket), &f));
    nadir_blocks_scale(self->context, n, beta, self->x, self->x);
    NADIR_CHECK(nadir_rank_one_candidate(self->context, self->problem, beta, self->x, self->y, candidate));
    candidate->converged = bracket.high - bracket.low <= self->tolerance * bracket.high;
    candidate->stop_reason = candidate->converged ? "tolerance" : "iterations";
    candidate->method = self->method;
    candidate->iterations = steps;
cleanup:
    return status;
}

/* ------------------------------------------------------------------------------------------------ */

static nadir_status solve_one(search *self, nadir_spectral_method method, double radius,
                              nadir_candidate *candidate)
{
    if (self->subspace->idle || radius == 0) { /* the nominal kernel */
        memset(self->x, 0, (size_t)(3 * self->problem->states) * sizeof *self->x);
        return finish(self, 0, STOP_TOLERANCE, 0, candidate);
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
    NADIR_CHECK(nadir_spectral_subspace_create(context, problem, &self.subspace));
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
    for (int j = 0; j <= NADIR_SPECTRAL_SUBSPACE_LIMIT; j++) {
        nadir_release(context, self.images[j]);
    }
    nadir_spectral_subspace_free(context, self.subspace);
    nadir_release(context, self.x);
    return status;
}

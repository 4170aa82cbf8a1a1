/*
 * spectral_plain.c: two methods of the literature for the L_2 ball: bisection and best response.
 *
 * Bisection halves an interval by the sign of f(lambda) = beta sigma_max(E_lambda) - lambda, which falls. The
 * largest singular value is found on the subspace of spectral.h, which stays from step to step and
 * grows by residuals r = E^T y - theta x until the sign is sure: theta is a lower bound on sigma_max, and so
 * is one on f; theta + |r| is taken for an upper one, which it is as soon as theta is nearest to the largest.
 *
 * Best response: k <- the direction of E_lambda c, c <- that of E_lambda^T k, lambda <- that of the pair
 * after each; which is what the worst k against c and the worst c against k are under the kernel of the pair.
 * Every step raises lambda, by about (beta / breakdown)^4 of the step before.
 */
#include "search/spectral.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/matrix.h"
#include "linalg/root.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

/* A residual below this times the root of the tolerance, and theta, leaves an error of its square. */
#define RESIDUAL_SHARE 0.03
#define DOUBLINGS      60
/* Vectors that one evaluation may take into the subspace. */
#define GROWTH_LIMIT 400
/* A residual of which no more than this is orthogonal to the subspace is rounding. */
#define ROUNDING_SHARE 1e-3

static nadir_status refuse(const nadir_spectral *run, double beta)
{
    return nadir_fail(run->context, NADIR_ERROR_ILL_POSED,
                      "the radius %.10g is at or past breakdown: the method %s found no largest penalty; "
                      "choose a smaller radius, or another domain",
                      beta, run->method);
}

typedef struct bisection {
    const nadir_spectral *run;
    double beta;
    nadir_spectral_subspace_point point;
    int64_t steps;
    bool converged;
    double *y; /* [states] */
    double *r; /* [states] */
} bisection;

/* Takes r, of norm rho, into the subspace. False: it is in there but for rounding. */
static nadir_status expand(bisection *self, double rho, bool *fresh)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = self->run;
    const nadir_spectral_subspace_point *const points[1] = {&self->point};
    const double norm = nadir_spectral_subspace_reduce(run->context, run->subspace, self->r);
    *fresh = norm > ROUNDING_SHARE * rho;
    if (!*fresh) {
        return NADIR_OK;
    }
    nadir_vector_divide(run->problem->states, norm, self->r);
    if (run->subspace->size == NADIR_SPECTRAL_SUBSPACE_LIMIT) {
        nadir_spectral_subspace_compress(run->context, run->subspace, 1, points);
    }
    NADIR_CHECK(nadir_spectral_subspace_append(run->context, run->subspace, 1, self->r));
    NADIR_CHECK(nadir_spectral_subspace_diagonalise(run->context, run->subspace));
cleanup:
    return status;
}

/* The top of E_lambda at l, as accurately as the sign of f needs, or as the tolerance does. */
static nadir_status evaluate(bisection *self, double l, bool accurately, double *f)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = self->run;
    const double reach = self->beta * run->problem->gamma;
    bool growing = true;
    for (int grown = 0; growing && grown < GROWTH_LIMIT; grown++) {
        NADIR_CHECK(nadir_spectral_subspace_top(run->context, run->subspace, l, &self->point));
        *f = reach * self->point.theta - l;
        if (*f > 0 && !accurately) {
            break;
        }
        nadir_spectral_subspace_expand(run->context, run->subspace, &self->point, NULL, self->y, NULL);
        NADIR_CHECK(nadir_spectral_transposed(run, 1, self->y, self->r));
        const double rho =
            nadir_spectral_subspace_residual(run->context, run->subspace, &self->point, self->r);
        const bool negative = reach * (self->point.theta + rho) < l;
        if (rho <= RESIDUAL_SHARE * sqrt(run->tolerance) * self->point.theta || (negative && !accurately)) {
            break;
        }
        NADIR_CHECK(nadir_progress(run->context, "bisecting", -1));
        NADIR_CHECK(expand(self, rho, &growing));
    }
cleanup:
    return status;
}

/* A bracket around the root, halved as long as it is wide. */
static nadir_status find_root(bisection *self, double *l)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = self->run;
    /* high: the penalty to first order */
    nadir_bracket bracket = {0, self->beta * run->problem->gamma * run->subspace->a[0]};
    double f = 1;
    for (int doubling = 0; f > 0 && doubling < DOUBLINGS; doubling++) {
        NADIR_CHECK(evaluate(self, bracket.high, false, &f));
        bracket = f > 0 ? (nadir_bracket){bracket.high, 2 * bracket.high} : bracket;
    }
    if (f > 0) {
        return refuse(run, self->beta);
    }
    while (bracket.high - bracket.low > run->tolerance * bracket.high &&
           self->steps < run->iterations_limit) {
        const double middle = nadir_bracket_middle(&bracket);
        NADIR_CHECK(evaluate(self, middle, false, &f));
        nadir_bracket_narrow(&bracket, middle, f > 0);
        self->steps++;
    }
    *l = nadir_bracket_middle(&bracket);
    self->converged = bracket.high - bracket.low <= run->tolerance * bracket.high;
cleanup:
    return status;
}

nadir_status nadir_spectral_bisect(const nadir_spectral *run, double beta, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    const int64_t n = run->problem->states;
    bisection self = {.run = run, .beta = beta};
    double *vectors = NULL;
    double l = 0;
    double f = 0;
    NADIR_NEW(run->context, vectors, 3 * n);
    self.y = vectors;
    self.r = vectors + n;
    if (run->subspace->size == 0) {
        NADIR_CHECK(nadir_spectral_subspace_begin(run->context, run->subspace, self.r));
    }
    NADIR_CHECK(find_root(&self, &l));
    NADIR_CHECK(evaluate(&self, l, true, &f));
    nadir_spectral_subspace_expand(run->context, run->subspace, &self.point, self.r, self.y, vectors + 2 * n);
    NADIR_CHECK(
        nadir_spectral_finish(run, beta, self.r, self.y, vectors + 2 * n,
                              self.converged ? NADIR_SPECTRAL_STOP_TOLERANCE : NADIR_SPECTRAL_STOP_ITERATIONS,
                              self.steps, candidate));
cleanup:
    nadir_release(run->context, vectors);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------
 * Best response
 */

/* x: [states] <- x / |x| */
static void normalise(const nadir_context *context, int64_t count, double *x)
{
    nadir_vector_divide(count, sqrt(nadir_blocks_dot(context, count, x, x)), x);
}

typedef struct alternation {
    const nadir_spectral *run;
    double beta;
    double l;    /* of the last pair, over nu */
    double step; /* by which it rose, and the step before that */
    double step_before;
    double *x; /* [states] unit vector */
    double *g; /* [states] D W x */
    double *k; /* [states] */
    double *w; /* [states] D^T k */
} alternation;

/* k <- the direction of E_lambda x, with g by an accurate solve; l <- that of the pair. */
static nadir_status respond_k(alternation *self)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = self->run;
    const nadir_spectral_subspace *subspace = run->subspace;
    const int64_t n = run->problem->states;
    const double gamma = run->problem->gamma;
    for (int64_t s = 0; s < n; s++) {
        self->g[s] = run->problem->uncertainty->W[s] * self->x[s];
    }
    NADIR_CHECK(nadir_occupancy_solve(run->context, run->problem->occupancy, 1, self->g, self->g, NULL));
    const double mean =
        nadir_global_sum(run->context, n, self->g) / (double)nadir_model_total(run->problem->model);
    const double strength = nadir_blocks_dot(run->context, n, subspace->Wd, self->x);
    for (int64_t s = 0; s < n; s++) {
        self->g[s] -= mean;
        self->k[s] = subspace->v_hat[s] * strength - self->l * self->g[s];
    }
    normalise(run->context, n, self->k);
    const double before = self->l;
    const double loss = nadir_blocks_dot(run->context, n, self->k, subspace->v_hat);
    const double feedback = nadir_blocks_dot(run->context, n, self->k, self->g);
    const double denominator = 1 + gamma * self->beta * feedback;
    if (!(denominator > 0)) {
        return refuse(run, self->beta);
    }
    self->l = gamma * self->beta * strength * loss / denominator;
    self->step_before = self->step;
    self->step = self->l - before;
cleanup:
    return status;
}

/* x <- the direction of E_lambda^T k. */
static nadir_status respond_c(alternation *self)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = self->run;
    const nadir_spectral_subspace *subspace = run->subspace;
    const int64_t n = run->problem->states;
    const double *W = run->problem->uncertainty->W;
    NADIR_CHECK(nadir_spectral_transposed(run, 1, self->k, self->w));
    const double loss = nadir_blocks_dot(run->context, n, self->k, subspace->v_hat);
    for (int64_t s = 0; s < n; s++) {
        self->x[s] = subspace->Wd[s] * loss - self->l * (W[s] * self->w[s]);
    }
    normalise(run->context, n, self->x);
cleanup:
    return status;
}

/* What is still to come when steps shrink by the factor of the last two. */
static bool settled(const alternation *self, int64_t steps)
{
    const double rounding = nadir_round_error(8) * self->l;
    if (steps < 3 || self->step <= rounding) {
        return steps >= 3;
    }
    const double rate = self->step / self->step_before;
    return rate < 1 && self->step * rate / (1 - rate) <= self->run->tolerance / 4 * self->l;
}

nadir_status nadir_spectral_alternate(const nadir_spectral *run, double beta, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    const int64_t n = run->problem->states;
    alternation self = {.run = run, .beta = beta};
    double *vectors = NULL;
    int64_t steps = 1;
    NADIR_NEW(run->context, vectors, 4 * n);
    self.x = vectors;
    self.g = vectors + n;
    self.k = vectors + 2 * n;
    self.w = vectors + 3 * n;
    memcpy(self.x, run->subspace->Wd, (size_t)n * sizeof *vectors);
    normalise(run->context, n, self.x);
    NADIR_CHECK(respond_k(&self));
    for (; !settled(&self, steps) && steps < run->iterations_limit; steps++) {
        NADIR_CHECK(nadir_progress(run->context, "searching the worst kernel", -1));
        NADIR_CHECK(respond_c(&self));
        NADIR_CHECK(respond_k(&self));
    }
    NADIR_CHECK(nadir_spectral_finish(run, beta, self.x, self.k, self.g,
                                      settled(&self, steps) ? NADIR_SPECTRAL_STOP_TOLERANCE
                                                            : NADIR_SPECTRAL_STOP_ITERATIONS,
                                      steps, candidate));
cleanup:
    nadir_release(run->context, vectors);
    return status;
}

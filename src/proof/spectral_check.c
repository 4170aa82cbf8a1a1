/*
 * spectral_check.c: a bound on the penalty over an L_2 ball from one pair (c, k) (docs/theory.md, "The free
 * set: rank one is enough", p = 2); see free_bounds.h.
 *
 * With E = gamma Phi (v d^T - lambda D) W, lambda the penalty of the pair, unit x ~ c and y ~ k, put
 *
 *     theta = y . E x,    rho^2 = (|E x - theta y|^2 + |E^T y - theta x|^2) / 2.
 *
 * Only one singular value of E can be above s = lambda / breakdown_low, as E is of rank one but for lambda
 * gamma Phi D W. If theta > s then (Temple, Kato) sigma_max <= theta + rho^2 / (theta - s): for the
 * eigenvalues t of ((0, E), (E^T, 0)) one has (t - sigma_max)(t - s) >= 0. F(lambda) = beta sigma_max has a
 * slope of at most beta / breakdown_low, so
 *
 *     lambda* <= lambda + (beta sigma_max - lambda)_+ / (1 - beta / breakdown_low),
 *
 * and at lambda = 0, where sigma_max is known, lambda* <= gamma beta |Phi v| |W d| / (1 - beta /
 * breakdown_low). Every quantity carries the distance to the exact one: errors of solves, of averages, of
 * rounding.
 */
#include "proof/free_bounds.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

/* A pair at a radius, with what the operator E_lambda is made of. name_size: at least the 2-norm of what was
 * computed; name_off: at least how far that is from the exact one, vectors in the 2-norm. */
typedef struct spectral_pair {
    const nadir_problem *problem;
    nadir_verified_solver solver;
    double beta, breakdown_low;
    double margin; /* at most 1 - beta / breakdown_low; not positive: nothing can be proven */
    double W_smallest, W_largest;
    double W_off;   /* relative error of W */
    double Wd_size; /* |W d|_2 with d as computed */
    double d_size;  /* |d|_1 */
    double *v;      /* [states] Phi v */
    double v_size, v_off;
    double *x; /* [states] c / |c|, unit up to UNIT_OFF */
    double *y; /* [states] Phi k / |Phi k|, likewise */
    double *g; /* [states] Phi D W x */
    double g_size, g_off;
    double strength, strength_off; /* d . W x */
    double loss, loss_off;         /* y . Phi v */
    double lambda;                 /* the penalty of the pair, rounded: any number would do */
    double *h;                     /* [states] D^T y, once it is solved for */
    nadir_solve_error solve_error; /* of g before it was centred; later of h */
    double *work;                  /* [2 * states] */
} spectral_pair;

/* Shorter vectors count as zero: their entries may have lost digits. */
#define NORM_LEAST 1e-290

/* |x|^2 of a vector that was divided by its norm is 1 up to this. */
#define UNIT_OFF nadir_round_error(256)

/* to <- from - mean, which may be the same. */
static void subtract_mean(const nadir_context *context, int64_t n, const double *from, double *to)
{
    const double mean = nadir_global_sum(context, n, from) / (double)nadir_global_count(context, n);
    for (int64_t s = 0; s < n; s++) {
        to[s] = from[s] - mean;
    }
}

/* The same; returns the 2-norm of `to`. *rounding: of the mean (three roundings of the largest entry) and of
 * the differences (two). */
static double subtract_mean_norm(const nadir_context *context, int64_t n, const double *from, double *to,
                                 double *rounding)
{
    *rounding = nadir_round_error(8) * sqrt((double)nadir_global_count(context, n)) *
                nadir_global_largest(context, n, from);
    subtract_mean(context, n, from, to);
    return nadir_up_norm_2(context, n, to);
}

/* |D r|_max <= |r|_max / gap, and |Phi D W|_2 <= 1 / (gamma breakdown_low), which says more where gamma is
 * near 1. */
static double image_norm(const spectral_pair *pair, double residual)
{
    const double through = pair->problem->gamma * pair->breakdown_low * pair->W_smallest;
    const double factor = fmax(through, pair->solver.gap) * (1 - nadir_round_error(8) - 2 * pair->W_off);
    return factor > 0
               ? nadir_round_up(sqrt((double)nadir_model_total(pair->problem->model)) * residual / factor, 8)
               : INFINITY;
}

/* x <- x / |x|; false where there is no such vector. */
static bool make_unit(const nadir_context *context, int64_t n, double *x)
{
    const double norm = nadir_global_norm_2(context, n, x);
    if (!(norm > NORM_LEAST) || !(norm < 1 / NORM_LEAST)) { /* or a NaN */
        return false;
    }
    const double inverse = 1 / norm;
    for (int64_t s = 0; s < n; s++) {
        x[s] *= inverse;
    }
    return true;
}

/* Phi v and sizes, from v, W and d of the problem. */
static void pair_begin(const nadir_context *context, spectral_pair *pair)
{
    const nadir_problem *problem = pair->problem;
    const int64_t n = problem->states;
    const double *W = problem->uncertainty->W;
    double *Wd = pair->work;
    double rounding;
    pair->W_smallest = INFINITY;
    for (int64_t s = 0; s < n; s++) {
        Wd[s] = W[s] * problem->d[s];
        pair->W_smallest = fmin(pair->W_smallest, W[s]);
    }
    pair->W_smallest = nadir_allreduce_minimum(context, pair->W_smallest);
    pair->W_largest = nadir_global_largest(context, n, W);
    pair->W_off = pair->solver.averaging + nadir_round_error(8);
    pair->Wd_size = nadir_round_up(nadir_up_norm_2(context, n, Wd), 1);
    pair->d_size = nadir_up_norm_1(context, n, problem->d);
    pair->v_size = subtract_mean_norm(context, n, problem->v, pair->v, &rounding);
    /* v_error is |R^pi + gamma P^pi v - v| at most, all rounding included, over this very number (solve/value.c), so
     * that its own rounding cancels; infinite where that is not positive */
    const double gap = nadir_occupancy_gap(problem->occupancy);
    const double residual = gap > 0 ? nadir_round_up(problem->v_error * gap, 4) : INFINITY;
    pair->v_off =
        rounding + fmin(nadir_round_up(sqrt((double)nadir_model_total(problem->model)) * problem->v_error, 4),
                        image_norm(pair, residual));
}

/* x and y, their products with d and v, and W x into `weighted`, which is known to solve_error.b_error.
 * False: the pair is zero, or no pair of numbers. */
static bool set_vectors(const nadir_context *context, const nadir_spectral_question *question,
                        spectral_pair *pair, double *weighted)
{
    const nadir_problem *problem = pair->problem;
    const int64_t n = problem->states;
    const double *W = problem->uncertainty->W;
    double rounding;
    memcpy(pair->x, question->c, (size_t)n * sizeof *pair->x);
    subtract_mean(context, n, question->k, pair->y);
    if (!make_unit(context, n, pair->x) || !make_unit(context, n, pair->y)) {
        return false;
    }
    for (int64_t s = 0; s < n; s++) {
        weighted[s] = W[s] * pair->x[s];
    }
    const double largest = nadir_global_largest(context, n, weighted);
    pair->solve_error.b_error = nadir_round_error(1) * largest;
    pair->strength = nadir_global_dot(context, n, problem->d, weighted, &rounding);
    pair->strength_off = rounding + (problem->d_error + nadir_round_error(2) * pair->d_size) * largest;
    pair->loss = nadir_global_dot(context, n, pair->v, pair->y, &rounding);
    pair->loss_off = rounding + pair->v_off * (1 + UNIT_OFF);
    return true;
}

/* h <- a guess of D W x = D W c / |c|, where there is one. *guess: h, or NULL. */
static nadir_status scale_guess(nadir_context *context, const nadir_spectral_question *question,
                                spectral_pair *pair, const double **guess)
{
    double norm;
    *guess = NULL;
    if (question->guess != NULL) {
        NADIR_TRY(nadir_norm_p(context, pair->problem->states, question->c, 2, &norm));
        for (int64_t s = 0; s < pair->problem->states; s++) {
            pair->h[s] = question->guess[s] / norm;
        }
        *guess = pair->h;
    }
    return NADIR_OK;
}

/* g from D W x, which is in g; its size, and lambda. False: that is no number. */
static bool set_penalty(const nadir_context *context, spectral_pair *pair)
{
    const nadir_problem *problem = pair->problem;
    const int64_t n = problem->states;
    double rounding;
    pair->g_size = subtract_mean_norm(context, n, pair->g, pair->g, &rounding);
    pair->g_off = rounding + image_norm(pair, pair->solve_error.residual);
    const double feedback = nadir_global_dot(context, n, pair->g, pair->y, &rounding);
    const double denominator = 1 + problem->gamma * pair->beta * feedback;
    const double lambda = problem->gamma * pair->beta * pair->strength / denominator * pair->loss;
    const bool usable = denominator > 0 && isfinite(lambda);
    pair->lambda = usable && lambda > 0 ? lambda : 0;
    return usable;
}

/* A bound on the penalty of every kernel of the ball from sigma >= sigma_max(E_lambda), infinity: none. */
static double pair_bound(const spectral_pair *pair, double sigma)
{
    const nadir_problem *problem = pair->problem;
    if (pair->beta == 0) {
        return 0;
    }
    if (!(pair->margin > 0) || isnan(sigma)) {
        return INFINITY;
    }
    const double at_zero =
        problem->gamma * (pair->v_size + pair->v_off) * (pair->Wd_size + pair->W_largest * problem->d_error);
    const double coarse = nadir_round_up(pair->beta * at_zero * (1 + pair->W_off) / pair->margin, 16);
    const double excess = fmax(nadir_round_up(pair->beta * sigma * (1 + pair->W_off), 4) - pair->lambda, 0);
    const double found = nadir_round_up(pair->lambda + nadir_round_up(excess / pair->margin, 4), 2);
    const double best = found < coarse ? found : coarse;
    return isnan(best) ? INFINITY : best;
}

/* e <- a - theta u for a unit vector u; returns its 2-norm, rounded up, plus how far a is off. Roundings are
 * those of a and of theta u, and |a| <= |e| + |theta|. */
static double residual_norm(const nadir_context *context, int64_t n, const double *a, double theta,
                            const double *u, double off, double *e)
{
    for (int64_t s = 0; s < n; s++) {
        e[s] = a[s] - theta * u[s];
    }
    const double size = nadir_up_norm_2(context, n, e);
    return size + off + nadir_round_error(4) * (size + 2 * fabs(theta)) * (1 + 2 * UNIT_OFF);
}

/* E^T y into `to`, from h; *off: in the 2-norm. y sums to zero up to `sum`: D^T Phi y is D^T y up to that
 * over gap. */
static void apply_transposed(const nadir_context *context, const spectral_pair *pair, double *to, double *off)
{
    const nadir_problem *problem = pair->problem;
    const int64_t n = problem->states;
    const double gamma = problem->gamma;
    /* |y|_1 <= sqrt(n) |y|_2 for the rounding of a compensated sum */
    const double length = (double)nadir_model_total(problem->model);
    const double sum = nadir_round_up(fabs(nadir_global_sum(context, n, pair->y)), 2) +
                       2 * length * nadir_round_error(1) * length * nadir_round_error(1) * sqrt(length);
    const double h_off = pair->solve_error.error + nadir_verified_solve_error(&pair->solver, sum);
    for (int64_t s = 0; s < n; s++) {
        to[s] = gamma * problem->uncertainty->W[s] * (problem->d[s] * pair->loss - pair->lambda * pair->h[s]);
    }
    const double loss = fabs(pair->loss);
    *off = nadir_round_up(
        gamma * (pair->W_largest * (problem->d_error * (loss + pair->loss_off) + pair->lambda * h_off) +
                 pair->Wd_size * pair->loss_off +
                 nadir_round_error(8) *
                     (pair->Wd_size * loss + pair->lambda * pair->W_largest * pair->solve_error.largest)),
        8);
}

/* E x into `to`, likewise. */
static void apply(const spectral_pair *pair, double *to, double *off)
{
    const double gamma = pair->problem->gamma;
    for (int64_t s = 0; s < pair->problem->states; s++) {
        to[s] = gamma * (pair->v[s] * pair->strength - pair->lambda * pair->g[s]);
    }
    const double strength = fabs(pair->strength);
    *off = nadir_round_up(
        gamma * (pair->v_off * (strength + pair->strength_off) + pair->v_size * pair->strength_off +
                 pair->lambda * pair->g_off +
                 nadir_round_error(8) * (pair->v_size * strength + pair->lambda * pair->g_size)),
        8);
}

/* At least sigma_max(E_lambda); infinity when theta is not isolated. */
static double isolate(const nadir_context *context, const spectral_pair *pair)
{
    const int64_t n = pair->problem->states;
    double *product = pair->work;
    double *difference = pair->work + n;
    double off;
    double rounding;
    apply(pair, product, &off);
    const double theta = nadir_global_dot(context, n, pair->y, product, &rounding);
    const double theta_off = (rounding + off) * (1 + UNIT_OFF) + UNIT_OFF * fabs(theta);
    const double left = residual_norm(context, n, product, theta, pair->y, off, difference);
    apply_transposed(context, pair, product, &off);
    const double right = residual_norm(context, n, product, theta, pair->x, off, difference);
    const double rho = hypot(left, right) * sqrt(0.5) * (1 + UNIT_OFF);
    const double second = nadir_round_up(pair->lambda / pair->breakdown_low * (1 + pair->W_off), 4);
    const double distance = nadir_round_below(theta - theta_off - second, fabs(theta) + second, 4);
    return distance > 0 ? nadir_round_up(theta + theta_off + rho * (rho / distance), 8) : INFINITY;
}

nadir_status nadir_spectral_check(nadir_context *context, const nadir_problem *problem,
                                  const nadir_spectral_question *question, double breakdown_low,
                                  double *lambda_high)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    spectral_pair pair = {.problem = problem,
                          .solver = nadir_verified_solver_make(context, problem),
                          .beta = question->beta,
                          .breakdown_low = breakdown_low,
                          .margin = nadir_round_below(1 - question->beta / breakdown_low, 1, 4)};
    const double *guess;
    double sigma = INFINITY;
    double *vectors = NULL;
    NADIR_NEW(context, vectors, 7 * n);
    pair.v = vectors;
    pair.x = vectors + n;
    pair.y = vectors + 2 * n;
    pair.g = vectors + 3 * n;
    pair.h = vectors + 4 * n;
    pair.work = vectors + 5 * n;
    pair_begin(context, &pair);
    if (pair.margin > 0 && set_vectors(context, question, &pair, pair.work)) {
        NADIR_CHECK(scale_guess(context, question, &pair, &guess));
        NADIR_CHECK(nadir_verified_solve_near(context, problem, &pair.solver, false, pair.work,
                                              pair.solve_error.b_error, guess, question->basis, pair.g,
                                              &pair.solve_error));
        if (set_penalty(context, &pair)) {
            NADIR_CHECK(nadir_verified_solve_near(context, problem, &pair.solver, true, pair.y, 0, NULL,
                                                  question->basis_transposed, pair.h, &pair.solve_error));
            sigma = isolate(context, &pair);
        }
    }
    *lambda_high = pair_bound(&pair, sigma);
cleanup:
    nadir_release(context, vectors);
    return status;
}

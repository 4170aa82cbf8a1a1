/*
 * check_spectral.c: no kernel of an L_2 ball costs more than this, from one pair (c, k); see
 * check_rank_one.h.
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
#include "adversary/check/check_spectral.h"

#include "linalg/norm.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>

#define UNIT (DBL_EPSILON / 2)

/* |x|^2 of a vector that was divided by its norm is 1 up to this. */
#define UNIT_OFF (256 * UNIT)

void nadir_spectral_pair_clear(nadir_context *context, nadir_spectral_pair *pair)
{
    nadir_release(context, pair->v);
}

/* to <- from - mean; returns 2-norm, *largest: of `from`. Off by the rounding of the mean (three of the
 * largest entry) and of the differences (two). */
static double centre(int64_t n, const double *from, double *to, double *rounding)
{
    const double mean = nadir_vector_sum(n, from) / (double)n;
    for (int64_t s = 0; s < n; s++) {
        to[s] = from[s] - mean;
    }
    *rounding = 8 * UNIT * sqrt((double)n) * nadir_vector_largest(n, from);
    return nadir_up_norm_2(n, to);
}

/* |D r|_max <= |r|_max / gap, and |Phi D W|_2 <= 1 / (gamma breakdown_low), which says more where gamma is
 * near 1. */
double nadir_spectral_pair_spread(const nadir_spectral_pair *pair, double residual)
{
    const double through = pair->problem->gamma * pair->breakdown_low * pair->W_smallest;
    const double factor = fmax(through, pair->known.gap) * (1 - 8 * UNIT - 2 * pair->W_off);
    return factor > 0 ? sqrt((double)pair->problem->states) * residual / factor * (1 + 8 * UNIT) : INFINITY;
}

/* x <- x / |x|; false where there is no such vector. */
static nadir_status make_unit(nadir_context *context, int64_t n, double *x, bool *usable)
{
    double norm;
    for (int64_t s = 0; s < n; s++) {
        *usable = *usable && isfinite(x[s]);
    }
    if (!*usable) {
        return NADIR_OK;
    }
    const nadir_status status = nadir_norm_p(context, n, x, 2, &norm);
    *usable = norm > 0;
    for (int64_t s = 0; s < n && *usable; s++) {
        x[s] /= norm;
    }
    return status;
}

/* The nominal quantities: v, W and d. */
static void note_nominal(nadir_spectral_pair *pair)
{
    const nadir_problem *problem = pair->problem;
    const int64_t n = problem->states;
    const double *W = problem->uncertainty->W;
    double rounding;
    pair->W_smallest = INFINITY;
    for (int64_t s = 0; s < n; s++) {
        pair->work[s] = W[s] * problem->d[s];
        pair->W_smallest = fmin(pair->W_smallest, W[s]);
    }
    pair->W_largest = nadir_vector_largest(n, W);
    pair->W_off = pair->known.averaging + 8 * UNIT;
    pair->Wd_size = nadir_up_norm_2(n, pair->work) * (1 + UNIT);
    pair->v_size = centre(n, problem->v, pair->v, &rounding);
    /* v_error is a residual over this gap */
    const double gap = 1 - problem->gamma * nadir_occupancy_average(problem->occupancy)->norm;
    const double residual = gap > 0 ? problem->v_error * gap * (1 + 4 * UNIT) : INFINITY;
    pair->v_off = rounding + fmin(sqrt((double)n) * problem->v_error * (1 + 4 * UNIT),
                                  nadir_spectral_pair_spread(pair, residual));
}

/* x, y, g and what is made of them. */
static nadir_status note_pair(nadir_context *context, const double *c, const double *k,
                              nadir_spectral_pair *pair)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = pair->problem;
    const int64_t n = problem->states;
    const double *W = problem->uncertainty->W;
    double *weighted = pair->work;
    double *product = pair->work + n;
    nadir_enclosed enclosed;
    double rounding;
    pair->usable = true;
    for (int64_t s = 0; s < n; s++) {
        pair->x[s] = c[s];
    }
    NADIR_CHECK(make_unit(context, n, pair->x, &pair->usable));
    (void)centre(n, k, pair->y, &rounding);
    NADIR_CHECK(make_unit(context, n, pair->y, &pair->usable));
    if (!pair->usable) {
        goto cleanup;
    }
    for (int64_t s = 0; s < n; s++) {
        weighted[s] = W[s] * pair->x[s];
    }
    const double largest = nadir_vector_largest(n, weighted);
    NADIR_CHECK(nadir_enclosure_solve(context, problem, &pair->known, false, weighted, UNIT * largest,
                                      product, &enclosed));
    pair->g_size = centre(n, product, pair->g, &rounding);
    pair->g_off = rounding + nadir_spectral_pair_spread(pair, enclosed.residual);
    pair->strength = nadir_vector_dot(n, problem->d, weighted, &rounding);
    pair->strength_off = rounding + (problem->d_error + 2 * UNIT * nadir_up_norm_1(n, problem->d)) * largest;
    pair->loss = nadir_vector_dot(n, pair->v, pair->y, &rounding);
    pair->loss_off = rounding + pair->v_off * (1 + UNIT_OFF);
    const double feedback = nadir_vector_dot(n, pair->g, pair->y, &rounding);
    const double denominator = 1 + problem->gamma * pair->beta * feedback;
    const double lambda = problem->gamma * pair->beta * pair->strength / denominator * pair->loss;
    pair->usable = denominator > 0 && isfinite(lambda);
    pair->lambda = pair->usable && lambda > 0 ? lambda : 0;
cleanup:
    return status;
}

nadir_status nadir_spectral_pair_make(nadir_context *context, const nadir_problem *problem, double beta,
                                      const double *c, const double *k, double breakdown_low,
                                      nadir_spectral_pair *pair)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    *pair = (nadir_spectral_pair){.problem = problem,
                                  .known = nadir_enclosure_make(problem),
                                  .beta = beta,
                                  .breakdown_low = breakdown_low,
                                  .rest = 1 - beta / breakdown_low - 4 * UNIT,
                                  .unit_off = UNIT_OFF};
    NADIR_NEW(context, pair->v, 6 * n);
    pair->x = pair->v + n;
    pair->y = pair->x + n;
    pair->g = pair->y + n;
    pair->work = pair->g + n;
    note_nominal(pair);
    if (pair->rest > 0) {
        NADIR_CHECK(note_pair(context, c, k, pair));
    }
cleanup:
    return status;
}

double nadir_spectral_pair_bound(const nadir_spectral_pair *pair, double sigma)
{
    const nadir_problem *problem = pair->problem;
    if (pair->beta == 0) {
        return 0;
    }
    if (!(pair->rest > 0)) {
        return INFINITY;
    }
    const double at_zero =
        problem->gamma * (pair->v_size + pair->v_off) * (pair->Wd_size + pair->W_largest * problem->d_error);
    const double coarse = pair->beta * at_zero * (1 + pair->W_off) / pair->rest * (1 + 16 * UNIT);
    const double excess = fmax(pair->beta * sigma * (1 + pair->W_off) * (1 + 4 * UNIT) - pair->lambda, 0);
    const double found = (pair->lambda + excess / pair->rest * (1 + 4 * UNIT)) * (1 + 2 * UNIT);
    const double best = found < coarse ? found : coarse;
    return isnan(best) ? INFINITY : best;
}

/* e <- a - theta u; returns its 2-norm, rounded up, plus how far a is off. */
static double residual_norm(int64_t n, const double *a, double theta, const double *u, double off, double *e)
{
    for (int64_t s = 0; s < n; s++) {
        e[s] = a[s] - theta * u[s];
    }
    const double size = nadir_up_norm_2(n, a) + fabs(theta);
    return nadir_up_norm_2(n, e) + off + 4 * UNIT * size;
}

/* E^T y into `to`; *off: in the 2-norm. y sums to zero up to `sum`: D^T Phi y is D^T y up to that over gap.
 */
static nadir_status apply_transposed(nadir_context *context, const nadir_spectral_pair *pair, double *to,
                                     double *off)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = pair->problem;
    const int64_t n = problem->states;
    const double gamma = problem->gamma;
    nadir_enclosed enclosed;
    NADIR_CHECK(nadir_enclosure_solve(context, problem, &pair->known, true, pair->y, 0, to, &enclosed));
    /* |y|_1 <= sqrt(n) |y|_2 for the rounding of a compensated sum */
    const double length = (double)n;
    const double sum = fabs(nadir_vector_sum(n, pair->y)) * (1 + 2 * UNIT) +
                       2 * length * UNIT * length * UNIT * sqrt(length);
    const double h_off = enclosed.error + nadir_enclosure_error(&pair->known, sum);
    for (int64_t s = 0; s < n; s++) {
        to[s] = gamma * problem->uncertainty->W[s] * (problem->d[s] * pair->loss - pair->lambda * to[s]);
    }
    const double loss = fabs(pair->loss);
    *off = gamma *
           (pair->W_largest * (problem->d_error * (loss + pair->loss_off) + pair->lambda * h_off) +
            pair->Wd_size * pair->loss_off +
            8 * UNIT * (pair->Wd_size * loss + pair->lambda * pair->W_largest * enclosed.largest)) *
           (1 + 8 * UNIT);
cleanup:
    return status;
}

/* E x into `to`, likewise. */
static void apply(const nadir_spectral_pair *pair, double *to, double *off)
{
    const double gamma = pair->problem->gamma;
    for (int64_t s = 0; s < pair->problem->states; s++) {
        to[s] = gamma * (pair->v[s] * pair->strength - pair->lambda * pair->g[s]);
    }
    const double strength = fabs(pair->strength);
    *off = gamma *
           (pair->v_off * (strength + pair->strength_off) + pair->v_size * pair->strength_off +
            pair->lambda * pair->g_off + 8 * UNIT * (pair->v_size * strength + pair->lambda * pair->g_size)) *
           (1 + 8 * UNIT);
}

/* At least sigma_max(E_lambda); infinity when theta is not isolated. */
static nadir_status isolate(nadir_context *context, const nadir_spectral_pair *pair, double *sigma)
{
    nadir_status status = NADIR_OK;
    const int64_t n = pair->problem->states;
    double *product = pair->work;
    double *difference = pair->work + n;
    double off;
    double rounding;
    *sigma = INFINITY;
    apply(pair, product, &off);
    const double theta = nadir_vector_dot(n, pair->y, product, &rounding);
    const double theta_off = (rounding + off) * (1 + UNIT_OFF) + UNIT_OFF * fabs(theta);
    const double left = residual_norm(n, product, theta, pair->y, off, difference);
    NADIR_CHECK(apply_transposed(context, pair, product, &off));
    const double right = residual_norm(n, product, theta, pair->x, off, difference);
    const double rho = hypot(left, right) * sqrt(0.5) * (1 + UNIT_OFF);
    const double second = pair->lambda / pair->breakdown_low * (1 + pair->W_off) * (1 + 4 * UNIT);
    const double distance = (theta - theta_off - second) - 4 * UNIT * (fabs(theta) + second);
    if (distance > 0) {
        *sigma = (theta + theta_off + rho * (rho / distance)) * (1 + 8 * UNIT);
    }
cleanup:
    return status;
}

nadir_status nadir_spectral_check(nadir_context *context, const nadir_problem *problem, double beta,
                                  const double *c, const double *k, double breakdown_low, double *lambda_high)
{
    nadir_status status = NADIR_OK;
    nadir_spectral_pair pair;
    double sigma = INFINITY;
    NADIR_CHECK(nadir_spectral_pair_make(context, problem, beta, c, k, breakdown_low, &pair));
    if (pair.usable) {
        NADIR_CHECK(isolate(context, &pair, &sigma));
    }
    *lambda_high = nadir_spectral_pair_bound(&pair, sigma);
cleanup:
    nadir_spectral_pair_clear(context, &pair);
    return status;
}

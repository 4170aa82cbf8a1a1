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
#include "linalg/eigen.h"
#include "linalg/threads.h"
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
    double W_off;    /* relative error of W */
    double Wd_size;  /* |W d|_2 with d as computed */
    double d_size;   /* |d|_1 */
    const double *v; /* [states] Phi v, one for all pairs */
    double v_size, v_off;
    bool usable;    /* c and k are not zero, and lambda is a number; otherwise the rest is not there */
    double *x;      /* [states] c / |c|, unit up to `unit_off` */
    double *y;      /* [states] Phi k / |Phi k|, likewise */
    double inverse; /* 1 / |c| */
    double unit_off;
    double *g; /* [states] Phi D W x */
    double g_size, g_off;
    double strength, strength_off; /* d . W x */
    double loss, loss_off;         /* y . Phi v */
    double lambda;                 /* the penalty of the pair, rounded: any number would do */
    double *h;                     /* [states] D^T y, once it is solved for */
    nadir_solve_error solve_error; /* of g before it was centred; later of h */
} spectral_pair;

/* Several pairs whose systems are solved together. A struct of zeros holds nothing. */
typedef struct spectral_pairs {
    int64_t count;
    spectral_pair *pairs;           /* [count] */
    nadir_solve_error *solve_error; /* [count] */
    double *v;                      /* [states] */
    double *x, *y, *g, *h;          /* [states * count] of one pair after another */
    double *work;                   /* [states * (count + 1)] */
} spectral_pairs;

/* Shorter vectors count as zero: their entries may have lost digits. */
#define NORM_LEAST 1e-290

/* Products of shorter vectors are solved for again: their residuals may have lost digits. */
#define PRODUCT_LEAST 1e-150

/* |x|^2 of a vector that was divided by its norm is 1 up to this. */
#define UNIT_OFF nadir_round_error(256)

/* Pairs are checked in blocks of at most this many numbers. */
#define NUMBERS_LIMIT 4000000

static void pairs_clear(nadir_context *context, spectral_pairs *made)
{
    nadir_release(context, made->pairs);
    nadir_release(context, made->solve_error);
    nadir_release(context, made->v);
}

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

/* x <- x / |x|, which is *inverse; false where there is no such vector. */
static bool make_unit(const nadir_context *context, int64_t n, double *x, double *inverse)
{
    const double norm = nadir_global_norm_2(context, n, x);
    *inverse = 1 / norm;
    if (!(norm > NORM_LEAST) || !(norm < 1 / NORM_LEAST)) { /* or a NaN */
        return false;
    }
    for (int64_t s = 0; s < n; s++) {
        x[s] *= *inverse;
    }
    return true;
}

/* What all pairs share, from v, W and d of the problem: problem, solver and breakdown_low are set. v:
 * [states] <- Phi v, which the pair keeps; Wd: [states] <- W d. */
static void pair_begin(const nadir_context *context, spectral_pair *pair, double *v, double *Wd)
{
    const nadir_problem *problem = pair->problem;
    const int64_t n = problem->states;
    const double *W = problem->uncertainty->W;
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
    pair->v_size = subtract_mean_norm(context, n, problem->v, v, &rounding);
    pair->v = v;
    /* v_error is a residual over this gap */
    const double gap = 1 - problem->gamma * nadir_occupancy_average(problem->occupancy)->norm;
    const double residual = gap > 0 ? nadir_round_up(problem->v_error * gap, 4) : INFINITY;
    pair->v_off =
        rounding + fmin(nadir_round_up(sqrt((double)nadir_model_total(problem->model)) * problem->v_error, 4),
                        image_norm(pair, residual));
}

/* x and y, their products with d and v, and W x into `weighted`, which is known to solve_error.b_error; zero
 * where the pair is not usable. */
static void set_vectors(const nadir_context *context, const nadir_spectral_question *questions,
                        spectral_pair *pair, double *weighted)
{
    const nadir_problem *problem = pair->problem;
    const int64_t n = problem->states;
    const double *W = problem->uncertainty->W;
    double ignored;
    pair->usable = pair->margin > 0;
    if (pair->usable) {
        memcpy(pair->x, questions->c, (size_t)n * sizeof *pair->x);
        subtract_mean(context, n, questions->k, pair->y);
        pair->usable = make_unit(context, n, pair->x, &pair->inverse);
        pair->usable = make_unit(context, n, pair->y, &ignored) && pair->usable;
    }
    if (!pair->usable) {
        memset(pair->x, 0, (size_t)n * sizeof *pair->x);
        memset(pair->y, 0, (size_t)n * sizeof *pair->y);
    }
    for (int64_t s = 0; s < n; s++) {
        weighted[s] = W[s] * pair->x[s];
    }
    const double largest = nadir_global_largest(context, n, weighted);
    double rounding;
    pair->solve_error.b_error = nadir_round_error(1) * largest;
    pair->strength = nadir_global_dot(context, n, problem->d, weighted, &rounding);
    pair->strength_off = rounding + (problem->d_error + nadir_round_error(2) * pair->d_size) * largest;
    pair->loss = nadir_global_dot(context, n, pair->v, pair->y, &rounding);
    pair->loss_off = rounding + pair->v_off * (1 + UNIT_OFF);
}

/* g from D W x, which is in g; its size, and lambda. */
static void set_products(const nadir_context *context, spectral_pair *pair)
{
    const nadir_problem *problem = pair->problem;
    const int64_t n = problem->states;
    double rounding;
    pair->g_size = subtract_mean_norm(context, n, pair->g, pair->g, &rounding);
    pair->g_off = rounding + image_norm(pair, pair->solve_error.residual);
    const double feedback = nadir_global_dot(context, n, pair->g, pair->y, &rounding);
    const double denominator = 1 + problem->gamma * pair->beta * feedback;
    const double lambda = problem->gamma * pair->beta * pair->strength / denominator * pair->loss;
    pair->usable = denominator > 0 && isfinite(lambda);
    pair->lambda = pair->usable && lambda > 0 ? lambda : 0;
}

/* h <- a guess of D W x = D W c / |c|, where there is one. *guess: h, or NULL. */
static nadir_status set_guess(nadir_context *context, const nadir_spectral_question *questions,
                              spectral_pair *pair, const double **guess)
{
    nadir_status status = NADIR_OK;
    double norm;
    *guess = NULL;
    if (questions->guess == NULL || !pair->usable) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_norm_p(context, pair->problem->states, questions->c, 2, &norm));
    for (int64_t s = 0; s < pair->problem->states; s++) {
        pair->h[s] = questions->guess[s] / norm;
    }
    *guess = pair->h;
cleanup:
    return status;
}

static bool product_is_known(const nadir_spectral_question *questions, const spectral_pair *pair)
{
    return questions->product != NULL && isfinite(questions->product_off) &&
           pair->inverse < 1 / PRODUCT_LEAST;
}

/* Whether D W x is known for all pairs that need it. */
static bool products_are_known(const spectral_pairs *made, const nadir_spectral_question *questions)
{
    for (int64_t j = 0; j < made->count; j++) {
        if (made->pairs[j].usable && !product_is_known(&questions[j], &made->pairs[j])) {
            return false;
        }
    }
    return true;
}

/*
 * g <- D W x from the product p ~ D W c, with A = I - gamma Phat^pi and t = inverse, as it was rounded: x is
 * t c and g is t p up to a rounding u of each entry, so
 *
 *     |W x - A g| <= t |W c - A p| + u |W x| + u |A| |g|.
 */
static void take_product(const nadir_context *context, const nadir_spectral_question *questions,
                         spectral_pair *pair)
{
    const int64_t n = pair->problem->states;
    for (int64_t s = 0; s < n; s++) {
        pair->g[s] = questions->product[s] * pair->inverse;
    }
    nadir_solve_error *error = &pair->solve_error; /* b_error is u |W x| */
    error->largest = nadir_global_largest(context, n, pair->g);
    error->residual = nadir_round_up(pair->inverse * questions->product_off + 2 * error->b_error +
                                         nadir_round_error(2) * (1 + pair->solver.size) * error->largest,
                                     16);
    error->error = nadir_verified_solve_error(&pair->solver, error->residual);
}

static bool any_usable(const spectral_pairs *made)
{
    for (int64_t j = 0; j < made->count; j++) {
        if (made->pairs[j].usable) {
            return true;
        }
    }
    return false;
}

static nadir_status make_room(nadir_context *context, int64_t n, int64_t count, spectral_pairs *made)
{
    nadir_status status = NADIR_OK;
    made->count = count;
    NADIR_NEW(context, made->pairs, count);
    NADIR_NEW(context, made->solve_error, count);
    NADIR_NEW(context, made->v, n * (5 * count + 2));
    made->x = made->v + n;
    made->y = made->x + n * count;
    made->g = made->y + n * count;
    made->h = made->g + n * count;
    made->work = made->h + n * count;
cleanup:
    return status;
}

/* D W x of all pairs into g. */
static nadir_status solve_for_products(nadir_context *context, const nadir_spectral_question *questions,
                                       spectral_pairs *made)
{
    nadir_status status = NADIR_OK;
    const double **guesses = NULL;
    bool guessed = false;
    NADIR_NEW(context, guesses, made->count);
    for (int64_t j = 0; j < made->count; j++) {
        NADIR_CHECK(set_guess(context, &questions[j], &made->pairs[j], &guesses[j]));
        guessed = guessed || guesses[j] != NULL;
        made->solve_error[j] = made->pairs[j].solve_error;
    }
    NADIR_CHECK(nadir_verified_solve_many(context, made->pairs->problem, &made->pairs->solver, false,
                                          made->count, made->work, guessed ? guesses : NULL, made->g,
                                          made->solve_error));
    for (int64_t j = 0; j < made->count; j++) {
        made->pairs[j].solve_error = made->solve_error[j];
    }
cleanup:
    nadir_release(context, guesses);
    return status;
}

static nadir_status pairs_make(nadir_context *context, const nadir_problem *problem, int64_t count,
                               const nadir_spectral_question *questions, double breakdown_low,
                               spectral_pairs *made)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    spectral_pair common = {.problem = problem,
                            .solver = nadir_verified_solver_make(context, problem),
                            .breakdown_low = breakdown_low,
                            .unit_off = UNIT_OFF};
    *made = (spectral_pairs){0};
    NADIR_CHECK(make_room(context, n, count, made));
    pair_begin(context, &common, made->v, made->work);
    for (int64_t j = 0; j < count; j++) {
        spectral_pair *pair = &made->pairs[j];
        *pair = common;
        pair->beta = questions[j].beta;
        pair->margin = nadir_round_below(1 - pair->beta / breakdown_low, 1, 4);
        pair->x = made->x + j * n;
        pair->y = made->y + j * n;
        pair->g = made->g + j * n;
        pair->h = made->h + j * n;
        set_vectors(context, &questions[j], pair, made->work + j * n);
    }
    const bool solver = products_are_known(made, questions);
    if (!solver) {
        NADIR_CHECK(solve_for_products(context, questions, made));
    }
    for (int64_t j = 0; j < count; j++) {
        if (made->pairs[j].usable && solver) {
            take_product(context, &questions[j], &made->pairs[j]);
        }
        if (made->pairs[j].usable) {
            set_products(context, &made->pairs[j]);
        }
    }
cleanup:
    return status;
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

/* h = D^T y of all pairs. */
static nadir_status solve_transposed(nadir_context *context, spectral_pairs *made)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = made->pairs->problem;
    memcpy(made->work, made->y, (size_t)(problem->states * made->count) * sizeof *made->work);
    for (int64_t j = 0; j < made->count; j++) {
        made->solve_error[j].b_error = 0;
    }
    NADIR_CHECK(nadir_verified_solve_many(context, problem, &made->pairs->solver, true, made->count,
                                          made->work, NULL, made->h, made->solve_error));
    for (int64_t j = 0; j < made->count; j++) {
        made->pairs[j].solve_error = made->solve_error[j];
    }
cleanup:
    return status;
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

/* At least sigma_max(E_lambda); infinity when theta is not isolated. work: [2 * states]. */
static double isolate(const nadir_context *context, const spectral_pair *pair, double *work)
{
    const int64_t n = pair->problem->states;
    double *product = work;
    double *difference = work + n;
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

static nadir_status check_block(nadir_context *context, const nadir_problem *problem, int64_t count,
                                const nadir_spectral_question *questions, double breakdown_low,
                                double *lambda_high)
{
    nadir_status status = NADIR_OK;
    spectral_pairs made;
    NADIR_CHECK(pairs_make(context, problem, count, questions, breakdown_low, &made));
    if (any_usable(&made)) {
        NADIR_CHECK(solve_transposed(context, &made));
    }
    for (int64_t j = 0; j < count; j++) {
        const spectral_pair *pair = &made.pairs[j];
        lambda_high[j] = pair_bound(pair, pair->usable ? isolate(context, pair, made.work) : INFINITY);
    }
cleanup:
    pairs_clear(context, &made);
    return status;
}

nadir_status nadir_spectral_check_many(nadir_context *context, const nadir_problem *problem, int64_t count,
                                       const nadir_spectral_question *questions, double breakdown_low,
                                       double *lambda_high)
{
    nadir_status status = NADIR_OK;
    const int64_t most = NUMBERS_LIMIT / (5 * nadir_model_share(problem->model));
    const int64_t block = most > 1 ? most : 1;
    for (int64_t first = 0; first < count; first += block) {
        NADIR_CHECK(nadir_progress(context, "bounds on the penalty", (double)first / (double)count));
        NADIR_CHECK(check_block(context, problem, count - first < block ? count - first : block,
                                questions + first, breakdown_low, lambda_high + first));
    }
cleanup:
    return status;
}

nadir_status nadir_spectral_check(nadir_context *context, const nadir_problem *problem, double beta,
                                  const double *c, const double *k, double breakdown_low, double *lambda_high)
{
    const nadir_spectral_question questions = {.beta = beta, .c = c, .k = k};
    return nadir_spectral_check_many(context, problem, 1, &questions, breakdown_low, lambda_high);
}

/*
 * The check of a pair (c, k) at p = 2 with E_lambda written out, whose norm is proven
 * by a Cholesky factorisation (eigen.h): theta need not be isolated. See spectral_check.c.
 */

/* D, [states * states] column after column and known to a residual, becomes E_lambda; *off: in the Frobenius
 * norm. */
static void fill(const nadir_context *context, const spectral_pair *pair, double residual, double *D,
                 double *off)
{
    const nadir_problem *problem = pair->problem;
    const int64_t n = problem->states;
    const double *W = problem->uncertainty->W;
    const double lambda = pair->lambda;
    const double D_size = nadir_vector_largest(n * n, D);
    const int threads = nadir_threads_for(context, n * n);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < n; t++) {
        double *column = D + t * n;
        const double mean = nadir_vector_sum(n, column) / (double)n;
        for (int64_t s = 0; s < n; s++) {
            column[s] = problem->gamma * W[t] * (pair->v[s] * problem->d[t] - lambda * (column[s] - mean));
        }
    }
    /* a matrix with columns below a number has, times W, a Frobenius norm of at most that times |W|_2 */
    const double column = image_norm(pair, residual) + nadir_round_error(16) * sqrt((double)n) * D_size;
    *off =
        nadir_round_up(problem->gamma * (pair->v_off * pair->Wd_size +
                                         (pair->v_size + pair->v_off) * pair->W_largest * problem->d_error +
                                         lambda * nadir_up_norm_2(context, n, W) * column +
                                         nadir_round_error(16) * pair->v_size * pair->Wd_size),
                       8);
}

/* At least sigma_max(E_lambda). */
static nadir_status prove(nadir_context *context, const spectral_pair *pair, double *sigma)
{
    nadir_status status = NADIR_OK;
    const int64_t n = pair->problem->states;
    double *E = NULL;
    double residual;
    double off;
    double norm;
    NADIR_NEW(context, E, n * n);
    NADIR_CHECK(nadir_verified_solve_columns(context, pair->problem, &pair->solver, n, NULL, E, &residual));
    fill(context, pair, residual, E, &off);
    /* a power of two: scaling rounds nothing but what underflows */
    const double scale = nadir_scale_for(nadir_vector_largest(n * n, E));
    for (int64_t i = 0; i < n * n; i++) {
        E[i] *= scale;
    }
    NADIR_CHECK(nadir_spectral_norm_prove(context, n, E, 0, &norm));
    *sigma = nadir_round_up(norm / scale + off, 4);
cleanup:
    nadir_release(context, E);
    return status;
}

nadir_status nadir_spectral_check_dense(nadir_context *context, const nadir_problem *problem, double beta,
                                        const double *c, const double *k, double breakdown_low,
                                        double *lambda_high)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral_question question = {.beta = beta, .c = c, .k = k};
    spectral_pairs made;
    double sigma = INFINITY;
    NADIR_CHECK(pairs_make(context, problem, 1, &question, breakdown_low, &made));
    if (made.pairs->usable) {
        NADIR_CHECK(prove(context, made.pairs, &sigma));
    }
    *lambda_high = pair_bound(made.pairs, sigma);
cleanup:
    pairs_clear(context, &made);
    return status;
}

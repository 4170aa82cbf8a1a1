/*
 * sweep_search.c: the worst kernels of many L_2 balls on one subspace, without a vector of their own; see
 * sweep.h, and spectral_newton.c for the estimates of errors.
 *
 * y = along v_hat - (l / theta) Z s, so with U the part of W D^T (v_hat, Z) that is orthogonal to X, and as W
 * d lies in the subspace, the residual of a radius is
 *
 *     r = E^T y - theta x = U f,   f = (-l along, (l^2 / theta) s),   |r|^2 = f^T G f,   G = U^T U.
 *
 * Taking q = U g, g^T G g = 1, into the subspace leaves G - (G g) (G g)^T of G; columns of U stay as they
 * were when they were made, since only products with those that are made later are asked for.
 */
#include "adversary/free/sweep.h"

#include "linalg/blocks.h"

#include <math.h>
#include <string.h>

/* SIZE_LIMIT: vectors of the subspace; radii that need more do not share enough. */
enum { SIZE_LIMIT = NADIR_SWEEP_SIZE, DIRECTIONS = 4, STRIDE = SIZE_LIMIT + 1 };

/* A residual of which no more than this is new is rounding. */
#define ROUNDING_SHARE 1e-3
/* The largest eigenvalue of M is known from below only. */
#define SAFETY 2

typedef struct candidate {
    double error;  /* estimate of what the penalty lacks, relative */
    double before; /* l when the residual was made */
    double gain;   /* e of the part of the residual that was taken in; 0: none was */
    double left;   /* e of the other part */
    double factor; /* what is lacking is at most e times this */
    double rho;
    double f[SIZE_LIMIT + 1];
} candidate;

typedef struct search {
    const nadir_spectral *run;
    int64_t count, open;
    nadir_sweep_point *points; /* [count] */
    candidate *candidates;     /* [count] */
    int made;                  /* columns of U */
    double *U[SIZE_LIMIT + 1]; /* [states] each */
    double *room;              /* [states * 2 DIRECTIONS] */
    double **images;           /* [SIZE_LIMIT + 1]; NULL: not to be kept */
    double G[(SIZE_LIMIT + 1) * (SIZE_LIMIT + 1)];
} search;

static const double *const *columns(double *const *vectors)
{
    return (const double *const *)vectors;
}

static void close_point(search *at, int64_t i, int64_t round)
{
    at->points[i].done = true;
    at->points[i].rounds = round;
    at->open--;
}

/* Column j of U from D^T of its vector: [states]. */
static nadir_status add_column(search *at, int j, const double *image)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = at->run->context;
    const nadir_spectral_subspace *subspace = at->run->subspace;
    const int64_t n = subspace->problem->states;
    const double *W = subspace->problem->uncertainty->W;
    if (at->images != NULL) {
        NADIR_NEW(context, at->images[j], n);
        memcpy(at->images[j], image, (size_t)n * sizeof *image);
    }
    NADIR_NEW(context, at->U[j], n);
    for (int64_t s = 0; s < n; s++) {
        at->U[j][s] = W[s] * image[s];
    }
    (void)nadir_spectral_subspace_reduce(context, subspace, at->U[j]);
    nadir_blocks_dots(context, n, j + 1, columns(at->U), at->U[j], at->G + j * STRIDE);
    for (int i = 0; i < j; i++) {
        at->G[i * STRIDE + j] = at->G[j * STRIDE + i];
    }
cleanup:
    return status;
}

/* Columns of U for all vectors that the subspace has. */
static nadir_status add_columns(search *at)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = at->run;
    const nadir_spectral_subspace *subspace = run->subspace;
    const int64_t n = subspace->problem->states;
    const int end = subspace->size + 1;
    const int first = at->made;
    double *y = at->room;
    double *w = y + DIRECTIONS * n;
    for (int j = first; j < end; j++) {
        memcpy(y + (j - first) * n, j == 0 ? subspace->v_hat : subspace->z[j - 1], (size_t)n * sizeof *y);
    }
    NADIR_CHECK(nadir_occupancy_solve_roughly(run->context, run->problem->occupancy, true, end - first, y,
                                              0.01 * sqrt(run->tolerance), w));
    for (int j = first; j < end; j++) {
        NADIR_CHECK(add_column(at, j, w + (j - first) * n));
    }
    at->made = end;
cleanup:
    return status;
}

/* f^T G f */
static double square_of(const search *at, const double *f)
{
    double squares = 0;
    double others = 0;
    for (int i = 0; i < at->made; i++) {
        double row = 0;
        for (int j = 0; j < i; j++) {
            row += at->G[i * STRIDE + j] * f[j];
        }
        squares += f[i] * f[i] * at->G[i * STRIDE + i];
        others += f[i] * row;
    }
    return squares + 2 * others;
}

/* (beta gamma)^2 m_max */
static double square_epsilon(const search *at, double beta)
{
    const nadir_spectral_subspace *subspace = at->run->subspace;
    const double reach = beta * subspace->problem->gamma;
    return reach * reach * subspace->m[subspace->size - 1];
}

/* What is left once the residual was taken in, from what it brought. */
static void estimate_error(const search *at, const nadir_sweep_point *point, candidate *one)
{
    if (!(one->gain > 0)) {
        return;
    }
    const double square = square_epsilon(at, point->beta);
    const double gained = (point->at.l - one->before) / one->before;
    const double eta = fmax(0, gained / one->gain - 1) + one->gain;
    const double spread = fmin(1, SAFETY * fmax(square, eta));
    one->error = (one->gain * eta * spread + one->left) / (1 - square);
    one->gain = 0;
}

/* The penalty of every radius on the subspace as it is. */
static nadir_status solve_projected(search *at, int64_t round)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = at->run;
    for (int64_t i = 0; i < at->count; i++) {
        nadir_sweep_point *point = &at->points[i];
        NADIR_CHECK(nadir_spectral_subspace_root(run->context, run->subspace, point->beta, &point->at));
        if (!point->done) {
            estimate_error(at, point, &at->candidates[i]);
            if (at->candidates[i].error <= run->tolerance / 2) {
                close_point(at, i, round);
            }
        }
    }
cleanup:
    return status;
}

/* Residuals of the open radii; closes those that are done. */
static void make_residuals(search *at, int64_t round)
{
    const nadir_spectral *run = at->run;
    for (int64_t i = 0; i < at->count; i++) {
        const nadir_sweep_point *point = &at->points[i];
        candidate *one = &at->candidates[i];
        if (point->done) {
            continue;
        }
        const double outward = point->at.l / point->at.theta * point->at.l;
        one->f[0] = -point->at.l * point->at.along;
        for (int j = 1; j < at->made; j++) {
            one->f[j] = outward * point->at.s[j - 1];
        }
        one->rho = sqrt(fmax(square_of(at, one->f), 0));
        const double share = one->rho / point->at.theta;
        one->left = share * share / 2 / (1 + run->problem->gamma * point->beta * point->at.feedback);
        one->before = point->at.l;
        one->factor = 1 / (1 - square_epsilon(at, point->beta));
        one->error = one->left * one->factor;
        one->gain = 0;
        if (one->error <= run->tolerance / 2) {
            close_point(at, i, round);
        }
    }
}

/* The open radius that lacks most; -1: all are done. */
static int64_t find_worst(const search *at)
{
    int64_t worst = -1;
    double most = -1;
    for (int64_t i = 0; i < at->count; i++) {
        const double lack = at->candidates[i].left * at->candidates[i].factor;
        if (!at->points[i].done && lack > most) {
            worst = i;
            most = lack;
        }
    }
    return worst;
}

/* q <- U g, brought to norm one and made orthogonal to the subspace and to `taken` vectors before it; false
 * when nothing but rounding is left. */
static bool make_direction(const search *at, const double *f, double rho, int taken, double *q)
{
    const nadir_context *context = at->run->context;
    const int64_t n = at->run->problem->states;
    memset(q, 0, (size_t)n * sizeof *q);
    (void)nadir_blocks_add_many(context, n, at->made, columns(at->U), f, q);
    (void)nadir_spectral_subspace_reduce(context, at->run->subspace, q);
    for (int k = 0; k < taken; k++) {
        const double *other = at->room + k * n;
        nadir_blocks_add(context, n, -nadir_blocks_dot(context, n, other, q), other, q);
    }
    const double norm = sqrt(nadir_blocks_dot(context, n, q, q));
    if (!(norm > ROUNDING_SHARE * rho)) {
        return false;
    }
    nadir_blocks_scale(context, n, 1 / norm, q, q);
    return true;
}

/* Takes U g out of G and of all residuals, g = f / |U f|. */
static void deflate(search *at, const double *f, double square)
{
    double w[STRIDE];
    for (int i = 0; i < at->made; i++) {
        w[i] = 0;
        for (int j = 0; j < at->made; j++) {
            w[i] += at->G[i * STRIDE + j] * f[j];
        }
        w[i] /= sqrt(square);
    }
    for (int i = 0; i < at->made; i++) {
        for (int j = 0; j < at->made; j++) {
            at->G[i * STRIDE + j] -= w[i] * w[j];
        }
    }
    for (int64_t i = 0; i < at->count; i++) {
        candidate *one = &at->candidates[i];
        if (at->points[i].done) {
            continue;
        }
        double along = 0;
        for (int j = 0; j < at->made; j++) {
            along += one->f[j] * w[j];
        }
        const double e = (one->left + one->gain) / (one->rho * one->rho);
        one->gain += e * along * along;
        one->left = fmax(0, one->left - e * along * along);
    }
}

/* Directions into `room`, each along the residual that matters most once the ones before are taken out of
 * it; returns how many. */
static int take_directions(search *at)
{
    int taken = 0;
    while (taken < DIRECTIONS) {
        const int64_t worst = find_worst(at);
        const candidate *one = &at->candidates[worst];
        if (!(one->left * one->factor > at->run->tolerance / 4)) {
            break;
        }
        double f[STRIDE];
        memcpy(f, one->f, sizeof f);
        const double square = square_of(at, f);
        double *q = at->room + taken * at->run->problem->states;
        if (!(square > 0) || !make_direction(at, f, sqrt(square), taken, q)) {
            break;
        }
        taken++;
        deflate(at, f, square);
    }
    return taken;
}

static nadir_status run_rounds(search *at)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = at->run;
    int taken = 1;
    NADIR_CHECK(nadir_spectral_subspace_begin(run->context, run->subspace, at->room));
    NADIR_CHECK(solve_projected(at, 0));
    for (int64_t round = 1; at->open > 0 && round <= run->iterations_limit; round++) {
        NADIR_CHECK(nadir_progress(run->context, "searching the worst kernels", -1));
        NADIR_CHECK(add_columns(at));
        make_residuals(at, round);
        taken = at->open > 0 ? take_directions(at) : 0;
        if (taken == 0 || run->subspace->size + taken > SIZE_LIMIT) {
            break;
        }
        NADIR_CHECK(nadir_spectral_subspace_append(run->context, run->subspace, taken, at->room));
        NADIR_CHECK(nadir_spectral_subspace_diagonalise(run->context, run->subspace));
        NADIR_CHECK(solve_projected(at, round));
    }
cleanup:
    return status;
}

nadir_status nadir_sweep_search(const nadir_spectral *run, int64_t count, nadir_sweep_point *points,
                                double **images)
{
    nadir_status status = NADIR_OK;
    const int64_t n = run->problem->states;
    search at = {.run = run, .count = count, .open = count, .points = points, .images = images};
    NADIR_NEW(run->context, at.candidates, count);
    NADIR_NEW(run->context, at.room, 2 * n * DIRECTIONS);
    for (int64_t i = 0; i < count; i++) {
        points[i].done = false;
        at.candidates[i].error = INFINITY;
        at.candidates[i].gain = 0;
    }
    NADIR_CHECK(run_rounds(&at));
cleanup:
    nadir_release(run->context, at.candidates);
    for (int j = 0; j < STRIDE; j++) {
        nadir_release(run->context, at.U[j]);
    }
    nadir_release(run->context, at.room);
    return status;
}

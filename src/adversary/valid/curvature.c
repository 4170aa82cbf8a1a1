/*
 * curvature.c: a proven kappa from a quadratic form; see curvature.h.
 *
 * With y_s = d_P(s) / high(s) in [low / high, 1], q_i = gamma high alpha pi of row i, x_t = <u_t, delta_t>
 * for the unit vector u_t of Delta_t and p the rest of delta, the sum is x^T C Y x + x^T E Y p with
 *
 *     K_t,i = w_t q_i De_t, centred in row i,    C_ts = <K_t,s, u_s>,    E E^T = K K^T - C C^T.
 *
 * 2 ab <= a^2 / c + c b^2 for p and for Y = (1 + low/high) / 2 +- H, H = (1 - low/high) / 2, leaves a matrix:
 * kappa = k holds if for some theta > 0
 *
 *     k I - theta I - sym(C Y) - E E^T / (4 k) - C H^2 C^T / (4 theta)  >= 0.
 *
 * Unvisited states N have x_t = |delta_t|; their rows are not in C and E but enter as K_N K_N^T / (4
 * theta_N), and theta_N stands for theta on their diagonal. K K^T = F^T (sum_i q_i^2 / omega_i) F - sum_i c_i
 * c_i^T with F = De_t w_t: a few products of matrices. `shared`: |E^T Y x|^2 <= gamma^2 sum_s d_P(s)^2 a_s |F
 * x|^2, a_s = sum_i (alpha pi)^2, with sum d_P = T.
 */
#include "adversary/valid/curvature.h"

#include "linalg/symmetric.h"
#include "linalg/threads.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

enum { BLOCK = 128, POWER_STEPS = 20, TRIALS = 4, TRIALS_UNVISITED = 3, HALVINGS = 7, DOUBLINGS = 40 };

/* Shares of a norm that theta is tried at. */
static const double shares[TRIALS] = {0.35, 0.5, 0.25, 0.15};
static const double shares_unvisited[TRIALS_UNVISITED] = {0.5, 0.25, 0.8};

/* Matrices: [states * states], lower triangle, column after column; all by increasing address. */
typedef struct form {
    int64_t n;
    double *rest;      /* E E^T */
    double *middle;    /* sym(C Y) */
    double *spread;    /* C H^2 C^T */
    double *unvisited; /* K_N K_N^T; NULL: none are */
    double *trial;
    double spread_norm, unvisited_norm;                     /* about the square roots of their 2-norms */
    double rest_off, middle_off, spread_off, unvisited_off; /* what they are off by at most, 2-norm */
    const bool *is_unvisited;
} form;

static void clear(nadir_context *context, form *of)
{
    nadir_release(context, of->rest);
    nadir_release(context, of->middle);
    nadir_release(context, of->spread);
    nadir_release(context, of->unvisited);
    nadir_release(context, of->trial);
}

/* Everything that the matrices are made of. */
typedef struct parts {
    const nadir_live *live;
    const nadir_standing *standing;
    const nadir_pull *pull;
    const double *inverse;
    double *q;        /* [count] */
    double *F;        /* [states * states] column t: De_t w_t */
    double *C;        /* [states * states] column s */
    double *room;     /* [states * states] */
    double size_F;    /* Frobenius norm */
    double size_q;    /* 2-norm */
    double roundings; /* of a sum, in units, times two */
} parts;

static void clear_parts(nadir_context *context, parts *of)
{
    nadir_release(context, of->q);
    nadir_release(context, of->F);
    nadir_release(context, of->C);
    nadir_release(context, of->room);
}

static nadir_status make_parts(nadir_context *context, const nadir_standing *standing,
                               const nadir_visits *visits, const nadir_pull *pull, const double *inverse,
                               parts *of)
{
    nadir_status status = NADIR_OK;
    const nadir_live *live = standing->live;
    const int64_t n = live->states;
    const double gamma = standing->centre->problem.gamma;
    *of = (parts){.live = live, .standing = standing, .pull = pull, .inverse = inverse};
    NADIR_NEW(context, of->q, live->count);
    NADIR_NEW(context, of->F, n * n);
    NADIR_NEW(context, of->C, n * n);
    NADIR_NEW(context, of->room, n * n);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            of->q[i] = gamma * visits->high[s] * live->alpha[i] * live->pi[i];
        }
    }
    for (int64_t t = 0; t < n; t++) {
        for (int64_t j = 0; j < n; j++) {
            of->F[t * n + j] = pull->w[t] * standing->centre->D[t * n + j];
        }
    }
    of->roundings = 8 * UNIT * (double)(live->count + 2 * n + 64);
    of->size_F = nadir_up_norm_2(n * n, of->F);
    of->size_q = nadir_up_norm_2(live->count, of->q);
cleanup:
    return status;
}

/* G += sum over the chosen rows of c_i c_i^T times -q_i^2 / (sum 1 / omega), c_i = sum_j F_j / omega_ij: what
 * centring takes off. Returns the trace of what was taken. block: [2 * states * BLOCK]. */
static void take_means(const nadir_context *context, const parts *of, bool unvisited, double *block,
                       double *G)
{
    const nadir_live *live = of->live;
    const int64_t n = live->states;
    double *weights = block;
    double *means = block + n * BLOCK;
    const int before = nadir_blas_threads(nadir_threads_for(context, n * n * BLOCK));
    int64_t held = 0;
    for (int64_t s = 0; s < n; s++) {
        const bool chosen = of->standing->unvisited[s] == unvisited;
        for (int64_t i = live->first[s]; i < live->first[s + 1] && chosen; i++) {
            double *column = weights + held * n;
            double mass = 0;
            memset(column, 0, (size_t)n * sizeof *column);
            for (int64_t j = 0; j < nadir_live_length(live, i); j++) {
                const double weight = of->inverse != NULL ? of->inverse[live->starts[i] + j] : 1;
                column[nadir_live_column(live, i, j)] = weight;
                mass += weight;
            }
            const double factor = of->q[i] / sqrt(mass);
            for (int64_t j = 0; j < n; j++) {
                column[j] *= factor;
            }
            held++;
            if (held == BLOCK) {
                cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (blasint)n, (blasint)held, (blasint)n, 1,
                            of->F, (blasint)n, weights, (blasint)n, 0, means, (blasint)n);
                cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (blasint)n, (blasint)held, -1, means,
                            (blasint)n, 1, G, (blasint)n);
                held = 0;
            }
        }
    }
    if (held > 0) {
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (blasint)n, (blasint)held, (blasint)n, 1, of->F,
                    (blasint)n, weights, (blasint)n, 0, means, (blasint)n);
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (blasint)n, (blasint)held, -1, means, (blasint)n,
                    1, G, (blasint)n);
    }
    nadir_blas_restore(before);
}

static double trace(int64_t n, const double *G)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += fabs(G[i * n + i]);
    }
    return sum;
}

/* G = K K^T over the rows of visited, or of unvisited, states; *off: what it is off by. */
static nadir_status make_gram(nadir_context *context, const parts *of, bool unvisited, double *G, double *off)
{
    nadir_status status = NADIR_OK;
    const nadir_live *live = of->live;
    const int64_t n = live->states;
    double *total = NULL;
    double *block = NULL;
    NADIR_NEW_ZERO(context, total, n);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            for (int64_t j = 0; j < nadir_live_length(live, i) && of->standing->unvisited[s] == unvisited;
                 j++) {
                const double weight = of->inverse != NULL ? of->inverse[live->starts[i] + j] : 1;
                total[nadir_live_column(live, i, j)] += of->q[i] * of->q[i] * weight;
            }
        }
    }
    for (int64_t t = 0; t < n; t++) {
        for (int64_t j = 0; j < n; j++) {
            of->room[t * n + j] = sqrt(total[j]) * of->F[t * n + j];
        }
    }
    const int before = nadir_blas_threads(nadir_threads_for(context, n * n * n));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (blasint)n, (blasint)n, 1, of->room, (blasint)n, 0, G,
                (blasint)n);
    nadir_blas_restore(before);
    *off = of->roundings * trace(n, G);
    if (live->columns != NULL || of->inverse != NULL) { /* otherwise columns are centred already */
        NADIR_NEW(context, block, 2 * n * BLOCK);
        take_means(context, of, unvisited, block, G);
        *off *= 3;
    }
cleanup:
    nadir_release(context, total);
    nadir_release(context, block);
    return status;
}

/* C, by columns s: C_ts = F_t . sum over the rows i of s of q_i direction_i. */
static void make_cross(const nadir_context *context, const parts *of)
{
    const nadir_live *live = of->live;
    const int64_t n = live->states;
    memset(of->room, 0, (size_t)(n * n) * sizeof *of->room);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1] && !of->standing->unvisited[s]; i++) {
            for (int64_t j = 0; j < nadir_live_length(live, i); j++) {
                of->room[s * n + nadir_live_column(live, i, j)] +=
                    of->q[i] * of->pull->direction[live->starts[i] + j];
            }
        }
    }
    const int before = nadir_blas_threads(nadir_threads_for(context, n * n * n));
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (blasint)n, (blasint)n, (blasint)n, 1, of->F,
                (blasint)n, of->room, (blasint)n, 0, of->C, (blasint)n);
    nadir_blas_restore(before);
}

/* About the 2-norm of a symmetric matrix, by power steps. x: [2 * n]. */
static double estimate_norm(int64_t n, const double *G, double *x)
{
    double norm = 0;
    for (int64_t i = 0; i < n; i++) {
        x[i] = 1 + 0.5 * sin((double)i);
    }
    for (int step = 0; step < POWER_STEPS; step++) {
        const double length = cblas_dnrm2((blasint)n, x, 1);
        if (!(length > 0)) {
            return 0;
        }
        cblas_dscal((blasint)n, 1 / length, x, 1);
        cblas_dsymv(CblasColMajor, CblasLower, (blasint)n, 1, G, (blasint)n, x, 1, 0, x + n, 1);
        norm = cblas_dnrm2((blasint)n, x + n, 1);
        memcpy(x, x + n, (size_t)n * sizeof *x);
    }
    return norm;
}

/* sym(C Y), C H^2 C^T and, unless the rest is shared, E E^T -= C C^T. */
static void make_matrices(const nadir_context *context, const parts *of, const nadir_visits *visits,
                          bool shared, form *to)
{
    const int64_t n = of->live->states;
    double *C = of->C;
    const int before = nadir_blas_threads(nadir_threads_for(context, n * n * n));
    const double size_C = nadir_up_norm_2(n * n, C);
    const double C_off = of->roundings * of->size_F * of->size_q;
    if (!shared) {
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (blasint)n, (blasint)n, -1, C, (blasint)n, 1,
                    to->rest, (blasint)n);
        to->rest_off += (2 * size_C + C_off) * C_off + of->roundings * size_C * size_C;
    }
    for (int64_t s = 0; s < n; s++) {
        const double low = visits->high[s] > 0 ? fmin(visits->low[s] / visits->high[s], 1) : 1;
        for (int64_t t = 0; t < n; t++) {
            of->room[s * n + t] = C[s * n + t] * (1 - low) / 2;
            C[s * n + t] *= (1 + low) / 2;
        }
    }
    for (int64_t s = 0; s < n; s++) {
        for (int64_t t = s; t < n; t++) {
            to->middle[s * n + t] = (C[s * n + t] + C[t * n + s]) / 2;
        }
    }
    const double size_H = nadir_up_norm_2(n * n, of->room);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (blasint)n, (blasint)n, 1, of->room, (blasint)n, 0,
                to->spread, (blasint)n);
    to->middle_off = C_off;
    to->spread_off = (2 * size_H + C_off) * C_off + of->roundings * size_H * size_H;
    to->spread_norm = sqrt(estimate_norm(n, to->spread, of->room));
    to->unvisited_norm = to->unvisited != NULL ? sqrt(estimate_norm(n, to->unvisited, of->room)) : 0;
    nadir_blas_restore(before);
}

/* E E^T <= gamma^2 max sum_s y_s high a_s F^T F, centred. */
static nadir_status share_rest(nadir_context *context, const parts *of, const nadir_visits *visits, form *to)
{
    nadir_status status = NADIR_OK;
    const nadir_live *live = of->live;
    const int64_t n = live->states;
    const double gamma = of->standing->centre->problem.gamma;
    double *worth = NULL;
    double most;
    NADIR_NEW_ZERO(context, worth, n);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1] && !of->standing->unvisited[s]; i++) {
            const double reach = live->alpha[i] * live->pi[i];
            worth[s] += visits->high[s] * reach * reach;
        }
    }
    NADIR_CHECK(nadir_visits_most(context, visits, worth, &most));
    const int before = nadir_blas_threads(nadir_threads_for(context, n * n * n));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (blasint)n, (blasint)n, gamma * gamma * most, of->F,
                (blasint)n, 0, to->rest, (blasint)n);
    nadir_blas_restore(before);
    to->rest_off = of->roundings * trace(n, to->rest);
cleanup:
    nadir_release(context, worth);
    return status;
}

static nadir_status make_form(nadir_context *context, const parts *of, const nadir_visits *visits,
                              bool shared, form *to)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->live->states;
    bool any = false;
    *to = (form){.n = n, .is_unvisited = of->standing->unvisited};
    for (int64_t s = 0; s < n; s++) {
        any = any || (of->standing->unvisited[s] && visits->high[s] > 0 &&
                      of->live->first[s] < of->live->first[s + 1]);
    }
    NADIR_NEW_ZERO(context, to->rest, n * n);
    NADIR_NEW_ZERO(context, to->middle, n * n);
    NADIR_NEW_ZERO(context, to->spread, n * n);
    NADIR_NEW_ZERO(context, to->trial, n * n);
    if (any) {
        NADIR_NEW_ZERO(context, to->unvisited, n * n);
        NADIR_CHECK(make_gram(context, of, true, to->unvisited, &to->unvisited_off));
    }
    if (shared) {
        NADIR_CHECK(share_rest(context, of, visits, to));
    } else {
        NADIR_CHECK(make_gram(context, of, false, to->rest, &to->rest_off));
    }
    make_cross(context, of);
    make_matrices(context, of, visits, shared, to);
cleanup:
    return status;
}

/* Whether the matrix is proven to be positive for these numbers. */
static bool is_proven(const nadir_context *context, const form *of, double k, double theta,
                      double theta_unvisited)
{
    const int64_t n = of->n;
    const double of_rest = 1 / (4 * k);
    const double of_spread = theta > 0 ? 1 / (4 * theta) : 0;
    const double of_unvisited = theta_unvisited > 0 ? 1 / (4 * theta_unvisited) : 0;
    for (int64_t s = 0; s < n; s++) {
        double *column = of->trial + s * n;
        for (int64_t t = s; t < n; t++) {
            const int64_t at = s * n + t;
            column[t] = -of->middle[at] - of_rest * of->rest[at] - of_spread * of->spread[at] -
                        (of->unvisited != NULL ? of_unvisited * of->unvisited[at] : 0);
        }
        column[s] += k - (of->is_unvisited[s] ? theta_unvisited : theta);
    }
    const double off = of->middle_off + of_rest * of->rest_off + of_spread * of->spread_off +
                       of_unvisited * of->unvisited_off;
    /* twice, since the sum of these terms is rounded too */
    return nadir_symmetric_is_positive(context, n, of->trial, 2 * off + 16 * UNIT * k);
}

/* For any of the shares. */
static bool try_kappa(const nadir_context *context, const form *of, double k, int *theta_share,
                      int *unvisited_share)
{
    const bool spread = of->spread_norm > 0;
    const bool unvisited = of->unvisited_norm > 0;
    for (int a = 0; a < (spread ? TRIALS : 1); a++) {
        for (int b = 0; b < (unvisited ? TRIALS_UNVISITED : 1); b++) {
            /* those that did last time come first */
            const int first = (a + *theta_share) % TRIALS;
            const int second = (b + *unvisited_share) % TRIALS_UNVISITED;
            const double theta = spread ? of->spread_norm * shares[first] : 0;
            const double other = unvisited ? of->unvisited_norm * shares_unvisited[second] : 0;
            if (is_proven(context, of, k, theta, other)) {
                *theta_share = first;
                *unvisited_share = second;
                return true;
            }
        }
    }
    return false;
}

static double find_kappa(const nadir_context *context, const form *of)
{
    int theta = 0;
    int unvisited = 0;
    double high = 0.5;
    for (int step = 0; !try_kappa(context, of, high, &theta, &unvisited); step++) {
        if (step == DOUBLINGS) {
            return INFINITY;
        }
        high *= 2;
    }
    double low = high > 0.5 ? high / 2 : 0;
    for (int step = 0; step < HALVINGS; step++) {
        const double k = (low + high) / 2;
        if (try_kappa(context, of, k, &theta, &unvisited)) {
            high = k;
        } else {
            low = k;
        }
    }
    return high;
}

nadir_status nadir_curvature_prove(nadir_context *context, const nadir_standing *standing,
                                   const nadir_visits *visits, const nadir_pull *pull, const double *inverse,
                                   bool shared, double *kappa)
{
    nadir_status status = NADIR_OK;
    parts of = {0};
    form matrices = {0};
    NADIR_CHECK(make_parts(context, standing, visits, pull, inverse, &of));
    NADIR_CHECK(make_form(context, &of, visits, shared, &matrices));
    *kappa = find_kappa(context, &matrices);
cleanup:
    clear_parts(context, &of);
    clear(context, &matrices);
    return status;
}

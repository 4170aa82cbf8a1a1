/*
 * form.c: the matrices of the quadratic form; see curvature.c.
 *
 * With F = De_t w_t, K K^T = F^T (sum_i q_i^2 / omega_i) F - sum_i q_i^2 c_i c_i^T / (sum_j 1 / omega_ij),
 * c_i = sum_j F_j / omega_ij: a few products of matrices. All sums have at most as many terms as there are
 * live rows and states; their errors are bounded by that many roundings of the Frobenius norms of the
 * factors, which are traces.
 */
#include "adversary/proof/kappa_matrix.h"

#include "linalg/threads.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

enum { BLOCK = 128, POWER_STEPS = 20 };

void nadir_kappa_matrix_clear(nadir_context *context, nadir_kappa_matrix *form)
{
    nadir_release(context, form->rest);
    nadir_release(context, form->middle);
    nadir_release(context, form->spread);
    nadir_release(context, form->low);
    nadir_release(context, form->unvisited);
    *form = (nadir_kappa_matrix){0};
}

/* Everything that the matrices are made of. */
typedef struct parts {
    const nadir_perturbable_rows *live;
    const nadir_kkt *standing;
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

static nadir_status make_parts(nadir_context *context, const nadir_kkt *standing,
                               const nadir_occupancy_bounds *visits, const nadir_pull *pull,
                               const double *inverse, parts *of)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *live = standing->live;
    const int64_t n = live->states;
    const double gamma = standing->centre->problem.gamma;
    *of = (parts){.live = live, .standing = standing, .pull = pull, .inverse = inverse};
    NADIR_NEW(context, of->q, live->count);
    NADIR_NEW(context, of->F, n * n);
    NADIR_NEW(context, of->C, n * n);
    NADIR_NEW(context, of->room, n * n);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            of->q[i] = gamma * visits->high[s] * nadir_perturbable_rows_alpha(live, i) * live->pi[i];
        }
    }
    for (int64_t t = 0; t < n; t++) {
        for (int64_t j = 0; j < n; j++) {
            of->F[t * n + j] = pull->w[t] * standing->centre->D[t * n + j];
        }
    }
    of->roundings = 8 * UNIT * (double)(live->count + 2 * n + 64);
    of->size_F = nadir_up_norm_2(context, n * n, of->F);
    of->size_q = nadir_up_norm_2(context, live->count, of->q);
cleanup:
    return status;
}

/* c_i = sum_j F_j / omega_ij times q_i / sqrt(sum 1 / omega) of one row with a list of successors: c[states].
 */
static void sum_list(const parts *of, int64_t i, double *c)
{
    const nadir_perturbable_rows *live = of->live;
    const int64_t n = live->states;
    const int64_t start = live->starts[i];
    const int64_t length = nadir_perturbable_rows_length(live, i);
    const double *weights = of->inverse != NULL ? of->inverse + start : NULL;
    double mass = 0;
    for (int64_t j = 0; j < length; j++) {
        mass += weights != NULL ? weights[j] : 1;
    }
    const double factor = of->q[i] / sqrt(mass);
    for (int64_t t = 0; t < n; t++) {
        const double *column = of->F + t * n;
        double sum = 0;
        for (int64_t j = 0; j < length; j++) {
            sum += (weights != NULL ? weights[j] : 1) * column[live->columns[start + j]];
        }
        c[t] = sum * factor;
    }
}

/* The same for `held` rows that allow all states, from their weights, one after another. */
static void sum_rows(const parts *of, const int64_t *rows, int64_t held, double *weights, double *means)
{
    const nadir_perturbable_rows *live = of->live;
    const int64_t n = live->states;
    for (int64_t k = 0; k < held; k++) {
        const double *inverse = of->inverse + live->starts[rows[k]];
        double mass = 0;
        for (int64_t j = 0; j < n; j++) {
            mass += inverse[j];
        }
        const double factor = of->q[rows[k]] / sqrt(mass);
        for (int64_t j = 0; j < n; j++) {
            weights[k * n + j] = inverse[j] * factor;
        }
    }
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (blasint)n, (blasint)held, (blasint)n, 1, of->F,
                (blasint)n, weights, (blasint)n, 0, means, (blasint)n);
}

/* G -= sum of c_i c_i^T over these rows. block: [2 * states * BLOCK]. */
static void take_block(const parts *of, const int64_t *rows, int64_t held, double *block, double *G)
{
    const int64_t n = of->live->states;
    double *means = block + n * BLOCK;
    if (of->live->columns != NULL) {
        for (int64_t k = 0; k < held; k++) {
            sum_list(of, rows[k], means + k * n);
        }
    } else {
        sum_rows(of, rows, held, block, means);
    }
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (blasint)n, (blasint)held, -1, means, (blasint)n, 1,
                G, (blasint)n);
}

/* G += sum over the chosen rows of c_i c_i^T times -q_i^2 / (sum 1 / omega), c_i = sum_j F_j / omega_ij: what
 * centring takes off. block: [2 * states * BLOCK]. */
static void take_means(const nadir_context *context, const parts *of, bool unvisited, double *block,
                       double *G)
{
    const nadir_perturbable_rows *live = of->live;
    const int64_t n = live->states;
    int64_t rows[BLOCK];
    int64_t held = 0;
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n * BLOCK));
    for (int64_t s = 0; s < n; s++) {
        const bool chosen = of->standing->unvisited[s] == unvisited;
        for (int64_t i = live->first[s]; i < live->first[s + 1] && chosen; i++) {
            rows[held++] = i;
            if (held == BLOCK) {
                take_block(of, rows, held, block, G);
                held = 0;
            }
        }
    }
    if (held > 0) {
        take_block(of, rows, held, block, G);
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
    const nadir_perturbable_rows *live = of->live;
    const int64_t n = live->states;
    double *total = NULL;
    double *block = NULL;
    NADIR_NEW_ZERO(context, total, n);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            for (int64_t j = 0;
                 j < nadir_perturbable_rows_length(live, i) && of->standing->unvisited[s] == unvisited; j++) {
                const double weight = of->inverse != NULL ? of->inverse[live->starts[i] + j] : 1;
                total[nadir_perturbable_rows_column(live, i, j)] += of->q[i] * of->q[i] * weight;
            }
        }
    }
    for (int64_t t = 0; t < n; t++) {
        for (int64_t j = 0; j < n; j++) {
            of->room[t * n + j] = sqrt(total[j]) * of->F[t * n + j];
        }
    }
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n * n));
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
    const nadir_perturbable_rows *live = of->live;
    const int64_t n = live->states;
    memset(of->room, 0, (size_t)(n * n) * sizeof *of->room);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1] && !of->standing->unvisited[s]; i++) {
            for (int64_t j = 0; j < nadir_perturbable_rows_length(live, i); j++) {
                of->room[s * n + nadir_perturbable_rows_column(live, i, j)] +=
                    of->q[i] * of->pull->direction[live->starts[i] + j];
            }
        }
    }
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n * n));
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (blasint)n, (blasint)n, (blasint)n, 1, of->F,
                (blasint)n, of->room, (blasint)n, 0, of->C, (blasint)n);
    nadir_blas_restore(before);
}

/* About the 2-norm of a symmetric matrix, by power steps. x: [2 * n]. */
static double estimate_norm(const nadir_context *context, int64_t n, const double *G, double *x)
{
    double norm = 0;
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n));
    for (int64_t i = 0; i < n; i++) {
        x[i] = 1 + 0.5 * sin((double)i);
    }
    for (int step = 0; step < POWER_STEPS; step++) {
        const double length = cblas_dnrm2((blasint)n, x, 1);
        if (!(length > 0)) {
            norm = 0;
            break;
        }
        cblas_dscal((blasint)n, 1 / length, x, 1);
        cblas_dsymv(CblasColMajor, CblasLower, (blasint)n, 1, G, (blasint)n, x, 1, 0, x + n, 1);
        norm = cblas_dnrm2((blasint)n, x + n, 1);
        memcpy(x, x + n, (size_t)n * sizeof *x);
    }
    nadir_blas_restore(before);
    return norm;
}

/* G >= K K^T Y^2 over the rows of visited states: gamma^2 max sum_s y_s high(s) a_s F^T F. */
static nadir_status make_shared(nadir_context *context, const parts *of, const nadir_occupancy_bounds *visits,
                                nadir_kappa_matrix *form)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *live = of->live;
    const int64_t n = live->states;
    const double gamma = of->standing->centre->problem.gamma;
    double *worth = NULL;
    double most;
    NADIR_NEW_ZERO(context, worth, n);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1] && !of->standing->unvisited[s]; i++) {
            const double reach = nadir_perturbable_rows_alpha(live, i) * live->pi[i];
            worth[s] += visits->high[s] * reach * reach;
        }
    }
    NADIR_CHECK(nadir_occupancy_bounds_most(context, visits, worth, &most));
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n * n));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (blasint)n, (blasint)n, gamma * gamma * most, of->F,
                (blasint)n, 0, form->rest, (blasint)n);
    nadir_blas_restore(before);
    form->rest_off = of->roundings * trace(n, form->rest);
cleanup:
    nadir_release(context, worth);
    return status;
}

/* to += sign C S^2 C^T for a diagonal S: [states]; *off grows by what that is off by. */
static void add_square(const nadir_context *context, const parts *of, const double *S, double sign,
                       double *to, double *off)
{
    const int64_t n = of->live->states;
    const double C_off = of->roundings * of->size_F * of->size_q;
    for (int64_t s = 0; s < n; s++) {
        for (int64_t t = 0; t < n; t++) {
            of->room[s * n + t] = of->C[s * n + t] * S[s];
        }
    }
    const double size = nadir_up_norm_2(context, n * n, of->room);
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n * n));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (blasint)n, (blasint)n, sign, of->room, (blasint)n,
                1, to, (blasint)n);
    nadir_blas_restore(before);
    *off += (2 * size + C_off) * C_off + of->roundings * size * size;
}

/* All that C is in; S: [3 * states] work space. */
static void use_cross(const nadir_context *context, const parts *of, const nadir_occupancy_bounds *visits,
                      double *S, nadir_kappa_matrix *form)
{
    const int64_t n = of->live->states;
    double *mean = S + n;
    double *root = S + 2 * n;
    for (int64_t s = 0; s < n; s++) {
        const double low = visits->high[s] > 0 ? fmin(visits->low[s] / visits->high[s], 1) : 1;
        S[s] = form->shared ? (1 + low) / 2 : (1 - low) / 2;
        mean[s] = (1 + low) / 2;
        root[s] = form->shared ? sqrt(low) : 1;
    }
    add_square(context, of, S, 1, form->spread, &form->spread_off);
    add_square(context, of, root, form->shared ? 1 : -1, form->shared ? form->low : form->rest,
               form->shared ? &form->low_off : &form->rest_off);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t t = s; t < n; t++) {
            form->middle[s * n + t] = (of->C[s * n + t] * mean[s] + of->C[t * n + s] * mean[t]) / 2;
        }
    }
    form->middle_off = of->roundings * of->size_F * of->size_q;
    form->spread_norm = sqrt(estimate_norm(context, n, form->spread, of->room));
    form->unvisited_norm =
        form->unvisited != NULL ? sqrt(estimate_norm(context, n, form->unvisited, of->room)) : 0;
}

/* Whether rows of unvisited states matter. */
static bool has_unvisited(const nadir_kkt *standing, const nadir_occupancy_bounds *visits)
{
    const nadir_perturbable_rows *live = standing->live;
    bool any = false;
    for (int64_t s = 0; s < live->states; s++) {
        any = any || (standing->unvisited[s] && visits->high[s] > 0 && live->first[s] < live->first[s + 1]);
    }
    return any;
}

nadir_status nadir_kappa_matrix_make(nadir_context *context, const nadir_kkt *standing,
                                     const nadir_occupancy_bounds *visits, const nadir_pull *pull,
                                     const double *inverse, bool shared, nadir_kappa_matrix *form)
{
    nadir_status status = NADIR_OK;
    const int64_t n = standing->live->states;
    parts of = {0};
    double *S = NULL;
    *form = (nadir_kappa_matrix){.states = n, .is_unvisited = standing->unvisited, .shared = shared};
    NADIR_CHECK(make_parts(context, standing, visits, pull, inverse, &of));
    NADIR_NEW(context, S, 3 * n);
    NADIR_NEW_ZERO(context, form->rest, n * n);
    NADIR_NEW_ZERO(context, form->middle, n * n);
    NADIR_NEW_ZERO(context, form->spread, n * n);
    if (has_unvisited(standing, visits)) {
        NADIR_NEW_ZERO(context, form->unvisited, n * n);
        NADIR_CHECK(make_gram(context, &of, true, form->unvisited, &form->unvisited_off));
    }
    if (shared) {
        NADIR_NEW_ZERO(context, form->low, n * n);
        NADIR_CHECK(make_shared(context, &of, visits, form));
    } else {
        NADIR_CHECK(make_gram(context, &of, false, form->rest, &form->rest_off));
    }
    make_cross(context, &of);
    use_cross(context, &of, visits, S, form);
cleanup:
    clear_parts(context, &of);
    nadir_release(context, S);
    if (status != NADIR_OK) {
        nadir_kappa_matrix_clear(context, form);
    }
    return status;
}

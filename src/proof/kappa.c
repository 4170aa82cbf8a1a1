/*
 * kappa.c: the matrices of the quadratic form below, the Cholesky test of kappa <= k, and kappa by norms; see
 * kappa.h.
 *
 * With F = De_t w_t, K K^T = F^T (sum_i q_i^2 / omega_i) F - sum_i q_i^2 c_i c_i^T / (sum_j 1 / omega_ij),
 * c_i = sum_j F_j / omega_ij: a few products of matrices. All sums have at most as many terms as there are
 * perturbable rows and states; their errors are bounded by that many roundings of the Frobenius norms of the
 * factors, which are traces.
 */
#include "proof/kappa.h"

#include "core/round.h"
#include "linalg/eigen.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 128, POWER_STEPS = 20 };

void nadir_kappa_matrix_clear(nadir_context *context, nadir_kappa_matrix *matrix)
{
    nadir_release(context, matrix->rest);
    nadir_release(context, matrix->middle);
    nadir_release(context, matrix->spread);
    nadir_release(context, matrix->low);
    nadir_release(context, matrix->unvisited);
    nadir_release(context, matrix->n);
    nadir_release(context, matrix->trial);
    *matrix = (nadir_kappa_matrix){0};
}

/* The factors of the matrices. */
typedef struct parts {
    const nadir_perturbable_rows *perturbable;
    const nadir_kkt *kkt;
    const nadir_displacement *displacement;
    const double *inverse_weights;
    double *q;        /* [count] */
    double *F;        /* [states * states] column t: De_t w_t */
    double *C;        /* [states * states] column s */
    double *room;     /* [states * states] */
    double size_F;    /* Frobenius norm */
    double size_q;    /* 2-norm */
    double roundings; /* of a sum, in units, times two */
} parts;

static void clear_parts(nadir_context *context, parts *self)
{
    nadir_release(context, self->q);
    nadir_release(context, self->F);
    nadir_release(context, self->C);
    nadir_release(context, self->room);
}

static nadir_status make_parts(nadir_context *context, const nadir_kkt *kkt,
                               const nadir_occupancy_bounds *bounds, const nadir_displacement *displacement,
                               const double *inverse_weights, parts *self)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *perturbable = kkt->perturbable;
    const int64_t n = perturbable->states;
    const double gamma = kkt->point->problem.gamma;
    *self = (parts){.perturbable = perturbable,
                    .kkt = kkt,
                    .displacement = displacement,
                    .inverse_weights = inverse_weights != NULL ? inverse_weights : perturbable->squares};
    NADIR_NEW(context, self->q, perturbable->count);
    NADIR_NEW(context, self->F, n * n);
    NADIR_NEW(context, self->C, n * n);
    NADIR_NEW(context, self->room, n * n);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            self->q[i] =
                gamma * bounds->high[s] * nadir_perturbable_rows_alpha(perturbable, i) * perturbable->pi[i];
        }
    }
    for (int64_t t = 0; t < n; t++) {
        for (int64_t j = 0; j < n; j++) {
            self->F[t * n + j] = displacement->w[t] * kkt->point->D[t * n + j];
        }
    }
    /* sums over perturbable rows and states, each product twice */
    self->roundings = nadir_round_error(8 * (double)(perturbable->count + 2 * n + 64));
    self->size_F = nadir_up_norm_2(context, n * n, self->F);
    self->size_q = nadir_up_norm_2(context, perturbable->count, self->q);
cleanup:
    return status;
}

/* c_i = sum_j F_j / omega_ij times q_i / sqrt(sum 1 / omega) of one row with a list of successors: c[states].
 */
static void sum_list(const parts *self, int64_t i, double *c)
{
    const nadir_perturbable_rows *perturbable = self->perturbable;
    const int64_t n = perturbable->states;
    const int64_t start = perturbable->starts[i];
    const int64_t length = nadir_perturbable_rows_length(perturbable, i);
    const double *weights = self->inverse_weights != NULL ? self->inverse_weights + start : NULL;
    double mass = 0;
    for (int64_t j = 0; j < length; j++) {
        mass += weights != NULL ? weights[j] : 1;
    }
    const double factor = self->q[i] / sqrt(mass);
    for (int64_t t = 0; t < n; t++) {
        const double *column = self->F + t * n;
        double sum = 0;
        for (int64_t j = 0; j < length; j++) {
            sum += (weights != NULL ? weights[j] : 1) * column[perturbable->columns[start + j]];
        }
        c[t] = sum * factor;
    }
}

/* The same for `held` rows that allow all states, from their weights, one after another. */
static void sum_rows(const parts *self, const int64_t *rows, int64_t held, double *weights, double *means)
{
    const nadir_perturbable_rows *perturbable = self->perturbable;
    const int64_t n = perturbable->states;
    for (int64_t k = 0; k < held; k++) {
        const double *inverse_weights = self->inverse_weights + perturbable->starts[rows[k]];
        double mass = 0;
        for (int64_t j = 0; j < n; j++) {
            mass += inverse_weights[j];
        }
        const double factor = self->q[rows[k]] / sqrt(mass);
        for (int64_t j = 0; j < n; j++) {
            weights[k * n + j] = inverse_weights[j] * factor;
        }
    }
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (blasint)n, (blasint)held, (blasint)n, 1, self->F,
                (blasint)n, weights, (blasint)n, 0, means, (blasint)n);
}

/* G -= sum over the rows of c_i c_i^T times q_i^2 / (sum 1 / omega), c_i = sum_j F_j / omega_ij: the effect of
 * centring. block: [2 * states * BLOCK]. */
static void take_means(const nadir_context *context, const parts *self, int64_t count, const int64_t *rows,
                       double *block, double *G)
{
    const int64_t n = self->perturbable->states;
    double *means = block + n * BLOCK;
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n * BLOCK));
    for (int64_t first = 0; first < count; first += BLOCK) {
        const int64_t held = first + BLOCK < count ? BLOCK : count - first;
        if (self->perturbable->columns != NULL) {
            for (int64_t k = 0; k < held; k++) {
                sum_list(self, rows[first + k], means + k * n);
            }
        } else {
            sum_rows(self, rows + first, held, block, means);
        }
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

/* G = K K^T over the rows of visited, or of unvisited, states; *off: bound on the 2-norm of its error. */
static nadir_status make_gram(nadir_context *context, const parts *self, bool unvisited, double *G,
                              double *off)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *perturbable = self->perturbable;
    const int64_t n = perturbable->states;
    double *total = NULL;
    double *block = NULL;
    int64_t *rows = NULL;
    int64_t count = 0;
    NADIR_NEW_ZERO(context, total, n);
    NADIR_NEW(context, rows, perturbable->count);
    for (int64_t s = 0; s < n; s++) {
        const bool chosen = self->kkt->unvisited[s] == unvisited;
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1] && chosen; i++) {
            rows[count++] = i;
            for (int64_t j = 0; j < nadir_perturbable_rows_length(perturbable, i); j++) {
                const double weight =
                    self->inverse_weights != NULL ? self->inverse_weights[perturbable->starts[i] + j] : 1;
                total[nadir_perturbable_rows_column(perturbable, i, j)] += self->q[i] * self->q[i] * weight;
            }
        }
    }
    for (int64_t t = 0; t < n; t++) {
        for (int64_t j = 0; j < n; j++) {
            self->room[t * n + j] = sqrt(total[j]) * self->F[t * n + j];
        }
    }
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n * n));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (blasint)n, (blasint)n, 1, self->room, (blasint)n, 0,
                G, (blasint)n);
    nadir_blas_restore(before);
    *off = self->roundings * trace(n, G);
    if (perturbable->columns != NULL ||
        self->inverse_weights != NULL) { /* otherwise columns are centred already */
        NADIR_NEW(context, block, 2 * n * BLOCK);
        take_means(context, self, count, rows, block, G);
        *off *= 3;
    }
cleanup:
    nadir_release(context, total);
    nadir_release(context, block);
    nadir_release(context, rows);
    return status;
}

/* C, by columns s: C_ts = F_t . sum over the rows i of s of q_i direction_i. */
static void make_cross(const nadir_context *context, const parts *self)
{
    const nadir_perturbable_rows *perturbable = self->perturbable;
    const int64_t n = perturbable->states;
    memset(self->room, 0, (size_t)(n * n) * sizeof *self->room);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1] && !self->kkt->unvisited[s];
             i++) {
            for (int64_t j = 0; j < nadir_perturbable_rows_length(perturbable, i); j++) {
                self->room[s * n + nadir_perturbable_rows_column(perturbable, i, j)] +=
                    self->q[i] * self->displacement->direction[perturbable->starts[i] + j];
            }
        }
    }
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n * n));
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (blasint)n, (blasint)n, (blasint)n, 1, self->F,
                (blasint)n, self->room, (blasint)n, 0, self->C, (blasint)n);
    nadir_blas_restore(before);
}

/* About the square root of the 2-norm of a symmetric matrix, by power iteration; positive unless the matrix is
 * zero. x: [2 * n]. */
static double estimate_root(const nadir_context *context, int64_t n, const double *G, double *x)
{
    double norm = 0;
    double length = 1;
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n));
    for (int64_t i = 0; i < n; i++) {
        x[i] = 1 + 0.5 * sin((double)i);
    }
    for (int step = 0; step < POWER_STEPS && length > 0; step++) {
        length = cblas_dnrm2((blasint)n, x, 1);
        norm = 0;
        if (length > 0) {
            cblas_dscal((blasint)n, 1 / length, x, 1);
            cblas_dsymv(CblasColMajor, CblasLower, (blasint)n, 1, G, (blasint)n, x, 1, 0, x + n, 1);
            norm = cblas_dnrm2((blasint)n, x + n, 1);
            memcpy(x, x + n, (size_t)n * sizeof *x);
        }
    }
    nadir_blas_restore(before);
    return sqrt(norm > 0 ? norm : trace(n, G));
}

/* G >= K K^T Y^2 over the rows of visited states: gamma^2 max sum_s y_s high(s) a_s F^T F. */
static nadir_status make_shared(nadir_context *context, const parts *self,
                                const nadir_occupancy_bounds *bounds, nadir_kappa_matrix *matrix)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *perturbable = self->perturbable;
    const int64_t n = perturbable->states;
    const double gamma = self->kkt->point->problem.gamma;
    double *worth = NULL;
    double most;
    NADIR_NEW_ZERO(context, worth, n);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1] && !self->kkt->unvisited[s];
             i++) {
            const double reach = nadir_perturbable_rows_alpha(perturbable, i) * perturbable->pi[i];
            worth[s] += bounds->high[s] * reach * reach;
        }
    }
    NADIR_CHECK(nadir_occupancy_bounds_most(context, bounds, worth, &most));
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n * n));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (blasint)n, (blasint)n, gamma * gamma * most, self->F,
                (blasint)n, 0, matrix->rest, (blasint)n);
    nadir_blas_restore(before);
    matrix->rest_off = self->roundings * trace(n, matrix->rest);
cleanup:
    nadir_release(context, worth);
    return status;
}

/* to += sign C S^2 C^T for a diagonal S: [states]; *off grows by a bound on its error. */
static void add_square(const nadir_context *context, const parts *self, const double *S, double sign,
                       double *to, double *off)
{
    const int64_t n = self->perturbable->states;
    const double C_off = self->roundings * self->size_F * self->size_q;
    for (int64_t s = 0; s < n; s++) {
        for (int64_t t = 0; t < n; t++) {
            self->room[s * n + t] = self->C[s * n + t] * S[s];
        }
    }
    const double size = nadir_up_norm_2(context, n * n, self->room);
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, n * n * n));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (blasint)n, (blasint)n, sign, self->room, (blasint)n,
                1, to, (blasint)n);
    nadir_blas_restore(before);
    *off += (2 * size + C_off) * C_off + self->roundings * size * size;
}

/* All terms with C; S: [3 * states] work space. */
static void use_cross(const nadir_context *context, const parts *self, const nadir_occupancy_bounds *bounds,
                      double *S, nadir_kappa_matrix *matrix)
{
    const int64_t n = self->perturbable->states;
    double *mean = S + n;
    double *root = S + 2 * n;
    for (int64_t s = 0; s < n; s++) {
        const double low = bounds->high[s] > 0 ? fmin(bounds->low[s] / bounds->high[s], 1) : 1;
        S[s] = matrix->shared ? (1 + low) / 2 : (1 - low) / 2;
        mean[s] = (1 + low) / 2;
        root[s] = matrix->shared ? sqrt(low) : 1;
    }
    add_square(context, self, S, 1, matrix->spread, &matrix->spread_off);
    add_square(context, self, root, matrix->shared ? 1 : -1, matrix->shared ? matrix->low : matrix->rest,
               matrix->shared ? &matrix->low_off : &matrix->rest_off);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t t = s; t < n; t++) {
            matrix->middle[s * n + t] = (self->C[s * n + t] * mean[s] + self->C[t * n + s] * mean[t]) / 2;
        }
    }
    matrix->middle_off = self->roundings * self->size_F * self->size_q;
    matrix->spread_norm = estimate_root(context, n, matrix->spread, self->room);
    matrix->unvisited_norm =
        matrix->unvisited != NULL ? estimate_root(context, n, matrix->unvisited, self->room) : 0;
}

/* Whether some unvisited state has perturbable rows and can be visited. */
static bool has_unvisited(const nadir_kkt *kkt, const nadir_occupancy_bounds *bounds)
{
    const nadir_perturbable_rows *perturbable = kkt->perturbable;
    bool any = false;
    for (int64_t s = 0; s < perturbable->states; s++) {
        any = any ||
              (kkt->unvisited[s] && bounds->high[s] > 0 && perturbable->first[s] < perturbable->first[s + 1]);
    }
    return any;
}

nadir_status nadir_kappa_matrix_make(nadir_context *context, const nadir_kkt *kkt,
                                     const nadir_occupancy_bounds *bounds,
                                     const nadir_displacement *displacement, const double *inverse_weights,
                                     bool shared, nadir_kappa_matrix *matrix)
{
    nadir_status status = NADIR_OK;
    const int64_t n = kkt->perturbable->states;
    parts self = {0};
    double *S = NULL;
    *matrix = (nadir_kappa_matrix){
        .states = n, .is_unvisited = kkt->unvisited, .shared = shared, .reach = INFINITY, .proven = INFINITY};
    NADIR_CHECK(make_parts(context, kkt, bounds, displacement, inverse_weights, &self));
    NADIR_NEW(context, S, 3 * n);
    NADIR_NEW(context, matrix->trial, n * n);
    NADIR_NEW(context, matrix->n, n);
    memcpy(matrix->n, displacement->n, (size_t)n * sizeof *matrix->n);
    const double size_n = nadir_up_norm_2(context, n, matrix->n);
    matrix->radial_off = self.roundings * size_n * size_n;
    NADIR_NEW_ZERO(context, matrix->rest, n * n);
    NADIR_NEW_ZERO(context, matrix->middle, n * n);
    NADIR_NEW_ZERO(context, matrix->spread, n * n);
    if (has_unvisited(kkt, bounds)) {
        NADIR_NEW_ZERO(context, matrix->unvisited, n * n);
        NADIR_CHECK(make_gram(context, &self, true, matrix->unvisited, &matrix->unvisited_off));
    }
    if (shared) {
        NADIR_NEW_ZERO(context, matrix->low, n * n);
        NADIR_CHECK(make_shared(context, &self, bounds, matrix));
    } else {
        NADIR_CHECK(make_gram(context, &self, false, matrix->rest, &matrix->rest_off));
    }
    make_cross(context, &self);
    use_cross(context, &self, bounds, S, matrix);
cleanup:
    clear_parts(context, &self);
    nadir_release(context, S);
    if (status != NADIR_OK) {
        nadir_kappa_matrix_clear(context, matrix);
    }
    return status;
}

/*
 * A proven kappa from a quadratic form.
 *
 * Let y_s = d_P(s) / high(s) in [L_s, 1], L = low / high, Y = diag(y), q_i = gamma high alpha pi of row i,
 * x_t = <u_t, delta_t> for the unit vector u_t of Delta_t, and p the rest of delta. The sum of
 * kappa.h is x^T C Y x + x^T E Y p with
 *
 *     K_t,i = w_t q_i De_t, centred in row i,    C_ts = <K_t,s, u_s>,    E E^T = K K^T - C C^T.
 *
 * By 2 ab <= a^2 / c + c b^2 for p, and for Y = M +- H with M = (1 + L) / 2, H = (1 - L) / 2, kappa <= k
 * holds if for some theta > 0
 *
 *     k I - theta I - sym(C M) - E E^T / (4 k) - C H^2 C^T / (4 theta)  >= 0.
 *
 * Unvisited states N have x_t = |delta_t|; their rows are not in C and E but enter as K_N K_N^T / (4
 * theta_N), and theta_N stands for theta on their diagonal.
 *
 * `shared`: where all rows allow all states, |K^T Y x|^2 <= x^T G x, since all occupancies have the same sum.
 * Of this p gets what is left of C Y: with z = y C^T x, z x - z^2 / (4 k) and (z - L C^T x) (C^T x - z) >= 0
 * for every s,
 *
 *     k I - theta I - eta sym(C M) - G / (4 k) - eta / (4 theta) C (eta M^2 - L) C^T  >= 0,
 *     eta = 1 - theta / k,
 *
 * and kappa^2 <= |G| if all states are visited, so that G has all rows.
 *
 * The radial term. A kernel below the level cannot go far along Delta. Let Z = -2 <Delta, delta> + u, u = beta^2 -
 * |Delta|^2 or a little more, which is at least |delta|^2 for every kernel of the ball. With S for the sum of kappa.h,
 * kkt.h has J_P >= level + tau Z + sum rho slack . delta - 2 tau S, and S <= H |delta| for 2 H the radius of the
 * displacement. Where J_P < level, therefore Z <= 4 H^2 and
 *
 *     <Delta, delta>^2 <= Z^2 / 4 <= H^2 Z.
 *
 * If S <= k |delta|^2 + r <Delta, delta>^2 for some r >= 0, then J_P >= level + tau (1 - 2 kappa) Z with kappa = k + r H^2:
 * since <Delta_t, delta_t> = n_t x_t, the matrices above get r n n^T. As H goes to 0 this is the condition of second
 * order on the tangent of the sphere, which holds at every strict minimum; r = 0 asks for it along Delta, too.
 *
 * With weights |delta|^2 and Z have sum (omega - 1) (delta / alpha)^2 besides, which the slack pays for. Since u is not
 * 0, and rows of Delta are centred (displacement), |sum n_t x_t| is at most Z / 2 + f with f = error / (2 tau): its square
 * is at most (H^2 + f) Z + f^2, so that kappa = k + r (H^2 + f), and 2 tau r f^2 is lost.
 */

/* Whether k^2 I - G is positive: every row is in G. */
static bool is_above_norm(const nadir_context *context, const nadir_kappa_matrix *matrix, double k)
{
    const int64_t n = matrix->states;
    for (int64_t i = 0; i < n * n; i++) {
        matrix->trial[i] = -matrix->rest[i];
    }
    for (int64_t s = 0; s < n; s++) {
        matrix->trial[s * n + s] += k * k;
    }
    return nadir_symmetric_is_positive(context, n, matrix->trial,
                                       matrix->rest_off + nadir_round_error(8) * k * k);
}

/* Whether the matrix is positive for these numbers. */
static bool is_positive(const nadir_context *context, const nadir_kappa_matrix *matrix, double k,
                        double radial, double theta, double theta_unvisited)
{
    const int64_t n = matrix->states;
    const double eta = matrix->shared ? 1 - theta / k : 1;
    const double rest = 1 / (4 * k);
    const double spread = theta > 0 ? eta * eta / (4 * theta) : 0;
    const double low = theta > 0 && matrix->shared ? eta / (4 * theta) : 0;
    const double unvisited = theta_unvisited > 0 ? 1 / (4 * theta_unvisited) : 0;
    for (int64_t s = 0; s < n; s++) {
        double *column = matrix->trial + s * n;
        for (int64_t t = s; t < n; t++) {
            const int64_t entry = s * n + t;
            column[t] = -eta * matrix->middle[entry] - rest * matrix->rest[entry] -
                        spread * matrix->spread[entry] +
                        (matrix->low != NULL ? low * matrix->low[entry] : 0) -
                        (matrix->unvisited != NULL ? unvisited * matrix->unvisited[entry] : 0) +
                        radial * matrix->n[s] * matrix->n[t];
        }
        column[s] += k - (matrix->is_unvisited[s] ? theta_unvisited : theta);
    }
    const double off = matrix->middle_off + rest * matrix->rest_off + spread * matrix->spread_off +
                       low * matrix->low_off + unvisited * matrix->unvisited_off +
                       radial * matrix->radial_off;
    /* twice, since the sum of these terms is rounded too */
    return off <= DBL_MAX &&
           nadir_symmetric_is_positive(context, n, matrix->trial, 2 * off + nadir_round_error(16) * k);
}

/* Whether the numbers are such that the inequality means anything: terms that are there need their theta. */
static bool are_allowed(const nadir_kappa_matrix *matrix, double k, double radial, double theta,
                        double theta_unvisited)
{
    const bool spread = matrix->spread_norm > 0;
    const bool unvisited = matrix->unvisited_norm > 0;
    return k > 0 && k <= DBL_MAX && radial >= 0 && radial <= DBL_MAX &&
           (radial == 0 || isfinite(matrix->reach)) && (spread ? theta > 0 && theta < k : theta == 0) &&
           (unvisited ? theta_unvisited > 0 && theta_unvisited <= DBL_MAX : theta_unvisited == 0);
}

bool nadir_kappa_cholesky_holds(const nadir_context *context, nadir_kappa_matrix *matrix, double k,
                                double radial, double theta, double theta_unvisited)
{
    bool holds = false;
    if (theta == NADIR_KAPPA_BY_NORM) {
        holds = k > 0 && k <= DBL_MAX && radial == 0 && matrix->shared && matrix->unvisited == NULL &&
                is_above_norm(context, matrix, k);
    } else if (are_allowed(matrix, k, radial, theta, theta_unvisited)) {
        holds = is_positive(context, matrix, k, radial, theta, theta_unvisited);
    }
    const double kappa = radial > 0 ? nadir_round_up(k + radial * matrix->reach, 4) : k;
    if (holds && kappa < matrix->proven) {
        matrix->proven = kappa;
        matrix->k = k;
        matrix->radial = radial;
        matrix->theta = theta;
        matrix->theta_unvisited = theta_unvisited;
    }
    return holds;
}

/*
 * kappa by norms.
 *
 * For kernels P and X let m = sum over s of d_P(s) sum_a pi (P - X), whose entries sum to zero. Then
 *
 *     d_P - d_X = gamma D_X^T m,    |m|_2 <= K |P - X|,
 *     K^2 = sum_s f_s d_P(s)^2,     f_s = sum_a (alpha pi)^2,
 *
 * so that |d_P - d_X|_2 <= gamma G K |P - X|, G = |Phi D_X|_2 (occupancy_bounds.h). This bounds all
 * occupancies at once; bounds on each of them add up to sqrt(states) times as much. K itself is at most
 * |sqrt(f) d_X| + F |d_P - d_X| with F^2 = max f. No kernel of the set is farther than beta from the nominal
 * kernel, hence
 *
 *     K <= |sqrt(f) d| / (1 - gamma F G beta).
 *
 * Around P* the sum of |rho_t - 1| |Delta_t| |delta_t| is at most |w (d_P - d*)| |delta| <= kappa |delta|^2,
 *
 *     kappa = gamma K |Phi D* W|_2 <= gamma K G* max w,       W = diag(w).
 */

typedef struct norms {
    nadir_context *context;
    const nadir_problem *problem;
    const nadir_perturbable_rows *perturbable;
    double beta;
    nadir_verified_solver known; /* of the nominal kernel */
    double K;                    /* |sqrt(f) d| of the nominal kernel, at least */
    double F;
    double G_nominal, G_star;    /* G of both kernels */
    nadir_stationary_point star; /* P* */
    double w_most;               /* max w */
} norms;

/* K and F of the nominal kernel, rounded up, with the error of d and what rows of the model lack of a sum of
 * one. */
static void weigh(const nadir_context *context, norms *self)
{
    const nadir_perturbable_rows *perturbable = self->perturbable;
    const nadir_problem *problem = self->problem;
    const nadir_row_limits *limits = &problem->model->limits;
    double square = 0;
    double most = 0;
    for (int64_t s = 0; s < perturbable->states; s++) {
        double f = 0;
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            f += nadir_perturbable_rows_alpha(perturbable, i) * nadir_perturbable_rows_alpha(perturbable, i) *
                 perturbable->pi[i] * perturbable->pi[i];
        }
        square += f * problem->d[s] * problem->d[s];
        most = fmax(most, f);
    }
    const double roundings = (double)(perturbable->states + perturbable->count + 16);
    const double total = nadir_expansion_point_total(context, problem);
    const double sum_off = fmax(fabs(1 - limits->sum_low), fabs(limits->sum_high - 1));
    /* sums over the rows of a state and over states */
    self->F = nadir_round_up(sqrt(most), roundings);
    self->K =
        nadir_round_up(nadir_round_up(sqrt(square), roundings) +
                           self->F * (problem->d_error + problem->gamma * total * sum_off / self->known.gap),
                       8);
}

/* kappa, if the norms of both D are as given. */
static double kappa_of(const norms *self, double G_nominal, double G_star)
{
    /* kappa rounded up: gamma and the quotient up, the denominator down */
    const double gamma = nadir_round_up(self->problem->gamma, 4);
    const double left =
        1 - nadir_round_up(gamma * self->F * G_nominal * self->beta, 8) - nadir_round_error(2);
    return left > 0 ? nadir_round_up(gamma * self->K / left * G_star * self->w_most, 16) : INFINITY;
}

/* P* with all that is known of it without columns. */
static nadir_status find_kkt(norms *self, const nadir_occupancy_bounds *bounds,
                             const nadir_candidate *candidate, double **point)
{
    NADIR_TRY(nadir_stationary_point_make(self->context, self->problem, self->perturbable, candidate,
                                          NADIR_OCCUPANCY_NEAR, &self->star));
    NADIR_TRY(
        nadir_stationary_point_kkt(self->context, bounds, self->beta, candidate->tau, point, &self->star));
    self->w_most = nadir_vector_largest(self->perturbable->states, self->star.displacement.w);
    return NADIR_OK;
}

/* The norms of both D with ever more work, as long as kappa is too large; that of the nominal one is known
 * with the least. */
static nadir_status measure(norms *self)
{
    for (int effort = NADIR_ERGODICITY_EASY;
         effort <= NADIR_ERGODICITY_HARD && !(kappa_of(self, self->G_nominal, self->G_star) <= 0.5);
         effort++) {
        double found;
        if (effort > NADIR_ERGODICITY_EASY) {
            NADIR_TRY(nadir_ergodicity_bound(self->context, self->problem, &self->known,
                                             (nadir_ergodicity_effort)effort, &found));
            self->G_nominal = fmin(self->G_nominal, found);
        }
        NADIR_TRY(nadir_ergodicity_bound(self->context, &self->star.point.problem, &self->star.point.known,
                                         (nadir_ergodicity_effort)effort, &found));
        self->G_star = fmin(self->G_star, found);
    }
    return NADIR_OK;
}

nadir_status nadir_kappa_by_norms_prove(nadir_context *context, const nadir_problem *problem,
                                        const nadir_perturbable_rows *perturbable,
                                        const nadir_occupancy_bounds *bounds, double beta,
                                        const nadir_candidate *candidate, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    norms self = {.context = context,
                  .problem = problem,
                  .perturbable = perturbable,
                  .beta = beta,
                  .known = nadir_verified_solver_make(context, problem),
                  .G_star = INFINITY};
    NADIR_CHECK(
        nadir_ergodicity_bound(context, problem, &self.known, NADIR_ERGODICITY_EASY, &self.G_nominal));
    if (isinf(self.G_nominal)) {
        goto cleanup;
    }
    weigh(context, &self);
    if (!(problem->gamma * self.F * beta < 1)) { /* |Phi D| is 1 at least */
        proof->hopeless = true;
        goto cleanup;
    }
    NADIR_CHECK(find_kkt(&self, bounds, candidate, &proof->point));
    const double least = kappa_of(&self, 1, 1);
    proof->hopeless = least > NADIR_KAPPA_HOPELESS;
    if (!(least <= 0.5)) {
        goto cleanup;
    }
    NADIR_CHECK(measure(&self));
    const double kappa = kappa_of(&self, self.G_nominal, self.G_star);
    if (kappa <= 0.5) {
        proof->kappa = isnan(proof->kappa) ? kappa : fmin(proof->kappa, kappa);
        nadir_certificate_offer(proof, nadir_stationary_point_level(&self.star), NADIR_PROOF_RIGOROUS,
                                NADIR_BOUND_SECOND_ORDER);
    }
cleanup:
    nadir_stationary_point_clear(context, &self.star);
    return status;
}

/*
 * conservative.c: method conservative, and its form for the free domain; see conservative.h.
 *
 * There the linear step is of rank one: with W, and shapes within states, as dual.h has them, X = Phat - b
 * k^T, b the shape of c = beta W d / |W d| and k = Phi v / |Phi v|. All kernels on the way are Phat - (shape)
 * C with one states x states matrix C, |C|_F <= beta, of which C <- (1 - t) C + t c k^T, and P^pi = Phat^pi -
 * W C. gap = gamma (beta |W d| |Phi v| - d . W C v).
 */
#include "baseline/conservative.h"

#include "adversary/free/dual.h"
#include "baseline/dense_system.h"
#include "baseline/rank_one_pair.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

double nadir_conservative_range(const nadir_problem *problem)
{
    double low = problem->rewards[0];
    double high = low;
    for (int64_t row = 1; row < problem->rows; row++) {
        low = fmin(low, problem->rewards[row]);
        high = fmax(high, problem->rewards[row]);
    }
    return high - low;
}

double nadir_conservative_step(const nadir_problem *problem, double range, double gap)
{
    const double rest = 1 - problem->gamma;
    const double curvature = 4 * problem->gamma * problem->gamma * range;
    return curvature > 0 ? fmin(1, rest * rest * rest * gap / curvature) : 1;
}

/* ---------------------------------------------------------------------------------------- free */

typedef struct walk {
    const nadir_problem *problem;
    double beta;
    int factor_threads; /* for a factorisation */
    int threads;        /* for all entries of a matrix */
    double *nominal;    /* [states * states] Phat^pi */
    double *P;          /* [states * states] work */
    double *C;          /* [states * states] */
    double *v;          /* [states] less its mean */
    double *d;          /* [states] */
    double *c;          /* [states] of the linear step */
    double *k;          /* [states] */
    int *pivots;        /* [states] */
    double J;
    double gap;
} walk;

static nadir_status start(nadir_context *context, walk *at)
{
    nadir_status status = NADIR_OK;
    const int64_t n = at->problem->states;
    at->factor_threads = nadir_threads_for(context, n * n * n / 3);
    at->threads = nadir_threads_for(context, n * n);
    NADIR_NEW(context, at->nominal, n * n);
    NADIR_NEW(context, at->P, n * n);
    NADIR_NEW_ZERO(context, at->C, n * n);
    NADIR_NEW(context, at->v, n);
    NADIR_NEW(context, at->d, n);
    NADIR_NEW(context, at->c, n);
    NADIR_NEW(context, at->k, n);
    NADIR_NEW(context, at->pivots, n);
    NADIR_CHECK(nadir_dense_nominal(context, at->problem, at->nominal));
cleanup:
    return status;
}

static void finish(nadir_context *context, walk *at)
{
    nadir_release(context, at->nominal);
    nadir_release(context, at->P);
    nadir_release(context, at->C);
    nadir_release(context, at->v);
    nadir_release(context, at->d);
    nadir_release(context, at->c);
    nadir_release(context, at->k);
    nadir_release(context, at->pivots);
}

/* J, v and d at C; the linear step (c, k) there, and what it promises. */
static void look(walk *at)
{
    const nadir_problem *problem = at->problem;
    const double *W = problem->uncertainty->W;
    const int64_t n = problem->states;
    double square = 0;
    double gone = 0; /* d . W C v */
#pragma omp parallel for num_threads(at->threads)
    for (int64_t s = 0; s < n; s++) {
        for (int64_t t = 0; t < n; t++) {
            at->P[s * n + t] = at->nominal[s * n + t] - W[s] * at->C[s * n + t];
        }
    }
    at->J = nadir_dense_solve(problem, at->factor_threads, at->P, at->pivots, at->v, at->d);
    const double spread = nadir_pair_centre(n, at->v);
    for (int64_t s = 0; s < n; s++) {
        at->c[s] = W[s] * at->d[s];
        square += at->c[s] * at->c[s];
        gone += at->c[s] * cblas_ddot((blasint)n, at->C + s * n, 1, at->v, 1);
    }
    const double pull = sqrt(square);
    at->gap = fmax(0, problem->gamma * (at->beta * pull * spread - gone));
    for (int64_t s = 0; s < n; s++) {
        at->c[s] *= pull > 0 ? at->beta / pull : 0;
        at->k[s] = spread > 0 ? at->v[s] / spread : 0;
    }
}

static void step(walk *at, double t)
{
    const int64_t n = at->problem->states;
#pragma omp parallel for num_threads(at->threads)
    for (int64_t s = 0; s < n; s++) {
        for (int64_t j = 0; j < n; j++) {
            at->C[s * n + j] += t * (at->c[s] * at->k[j] - at->C[s * n + j]);
        }
    }
}

/* The kernel of C, written out. */
static nadir_status hand_over(nadir_context *context, walk *at, nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->problem;
    const int64_t n = problem->states;
    double *rows = NULL;
    double *shape = NULL;
    NADIR_NEW(context, shape, problem->rows);
    NADIR_NEW_ZERO(context, rows, problem->rows * n);
    for (int64_t s = 0; s < n; s++) {
        at->c[s] = 1 - 8 * DBL_EPSILON; /* rounding stays in the ball */
    }
    nadir_dual_expand(problem, at->c, shape);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            const nadir_row nominal = nadir_model_row(problem->model, row);
            cblas_daxpy((blasint)n, -shape[row], at->C + s * n, 1, rows + row * n, 1);
            for (int64_t i = 0; i < nominal.count; i++) {
                rows[row * n + nadir_row_column(&nominal, i)] += nominal.values[i];
            }
        }
    }
    NADIR_CHECK(nadir_dense_attack(context, problem, rows, attack));
cleanup:
    nadir_release(context, shape);
    nadir_release(context, rows);
    return status;
}

static nadir_status search_free(nadir_context *context, const nadir_problem *problem, double beta,
                                nadir_track *track, nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    walk at = {.problem = problem, .beta = beta};
    const double range = nadir_conservative_range(problem);
    const double rounding = DBL_EPSILON * nadir_vector_largest(problem->states, problem->v);
    NADIR_CHECK(start(context, &at));
    look(&at);
    while ((attack->stop_reason = nadir_track_spent(track)) == NULL) {
        if (at.gap <= fmax(track->budget.tolerance * (problem->J - at.J), rounding)) {
            attack->stop_reason = "tolerance";
            attack->converged = true;
            break;
        }
        step(&at, nadir_conservative_step(problem, range, at.gap));
        look(&at);
        NADIR_CHECK(nadir_track_note(context, track, track->samples + 1, problem->J - at.J));
    }
    NADIR_CHECK(hand_over(context, &at, attack));
    attack->iterations = track->samples;
    attack->gap = at.gap;
cleanup:
    finish(context, &at);
    return status;
}

nadir_status nadir_search_conservative(nadir_context *context, const nadir_problem *problem, double beta,
                                       nadir_track *track, nadir_attack *attack)
{
    return problem->uncertainty->domain == NADIR_DOMAIN_FREE
               ? search_free(context, problem, beta, track, attack)
               : nadir_conservative_valid(context, problem, beta, track, attack);
}

/*
 * conservative.c: method conservative, and its form for the free domain; see conservative.h.
 *
 * On the free domain the minimiser of the linearised return is X = Phat - b k^T: b expands c = beta W d / |W
 * d| to rows as nadir_rank_one_states_expand does, and k = Phi v / |Phi v|. All iterates are Phat - (expansion of) C
 * with one states x states matrix C, |C|_F <= beta:
 *
 *     C <- (1 - t) C + t c k^T,    P^pi = Phat^pi - W C,    gap = gamma (beta |W d| |Phi v| - d . W C v)
 */
#include "methods/conservative.h"

#include "methods/dense_system.h"
#include "methods/rank_one_pair.h"

#include <cblas.h>
#include <float.h>
#include <math.h>

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

typedef struct iteration {
    const nadir_problem *problem;
    double beta;
    int factor_threads; /* of a factorisation */
    int threads;        /* of a loop over all entries of a matrix */
    double *nominal;    /* [states * states] Phat^pi */
    double *P;          /* [states * states] work */
    double *C;          /* [states * states] */
    double *v;          /* [states] less its mean */
    double *d;          /* [states] */
    double *c;          /* [states] c k^T minimises the linearised return */
    double *k;          /* [states] */
    int *pivots;        /* [states] */
    double J;
    double gap;
} iteration;

static nadir_status start(nadir_context *context, iteration *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    self->factor_threads = nadir_threads_for(context, n * n * n / 3);
    self->threads = nadir_threads_for(context, n * n);
    NADIR_NEW(context, self->nominal, n * n);
    NADIR_NEW(context, self->P, n * n);
    NADIR_NEW_ZERO(context, self->C, n * n);
    NADIR_NEW(context, self->v, n);
    NADIR_NEW(context, self->d, n);
    NADIR_NEW(context, self->c, n);
    NADIR_NEW(context, self->k, n);
    NADIR_NEW(context, self->pivots, n);
    NADIR_CHECK(nadir_dense_nominal(context, self->problem, self->nominal));
cleanup:
    return status;
}

static void finish(nadir_context *context, iteration *self)
{
    nadir_release(context, self->nominal);
    nadir_release(context, self->P);
    nadir_release(context, self->C);
    nadir_release(context, self->v);
    nadir_release(context, self->d);
    nadir_release(context, self->c);
    nadir_release(context, self->k);
    nadir_release(context, self->pivots);
}

/* J, v and d at C; the minimiser (c, k) of the linearised return, and its gap. */
static void linearize(iteration *self)
{
    const nadir_problem *problem = self->problem;
    const double *W = problem->uncertainty->W;
    const int64_t n = problem->states;
    double square = 0;
    double decrease = 0; /* d . W C v */
#pragma omp parallel for num_threads(self->threads)
    for (int64_t s = 0; s < n; s++) {
        for (int64_t t = 0; t < n; t++) {
            self->P[s * n + t] = self->nominal[s * n + t] - W[s] * self->C[s * n + t];
        }
    }
    self->J = nadir_dense_solve(problem, self->factor_threads, self->P, self->pivots, self->v, self->d);
    const double v_length = nadir_rank_one_pair_centre(n, self->v);
    for (int64_t s = 0; s < n; s++) {
        self->c[s] = W[s] * self->d[s];
        square += self->c[s] * self->c[s];
        decrease += self->c[s] * cblas_ddot((blasint)n, self->C + s * n, 1, self->v, 1);
    }
    const double c_length = sqrt(square);
    self->gap = fmax(0, problem->gamma * (self->beta * c_length * v_length - decrease));
    for (int64_t s = 0; s < n; s++) {
        self->c[s] *= c_length > 0 ? self->beta / c_length : 0;
        self->k[s] = v_length > 0 ? self->v[s] / v_length : 0;
    }
}

static void step(iteration *self, double t)
{
    const int64_t n = self->problem->states;
#pragma omp parallel for num_threads(self->threads)
    for (int64_t s = 0; s < n; s++) {
        for (int64_t j = 0; j < n; j++) {
            self->C[s * n + j] += t * (self->c[s] * self->k[j] - self->C[s * n + j]);
        }
    }
}

/* The kernel of C, row by row. */
static nadir_status make_attack(nadir_context *context, iteration *self, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    double *rows = NULL;
    double *shape = NULL;
    NADIR_NEW(context, shape, problem->rows);
    NADIR_NEW_ZERO(context, rows, problem->rows * n);
    for (int64_t s = 0; s < n; s++) {
        self->c[s] = 1 - 8 * DBL_EPSILON; /* rounding stays in the ball */
    }
    nadir_rank_one_states_expand(problem, self->c, shape);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            const nadir_row nominal = nadir_model_row(problem->model, row);
            cblas_daxpy((blasint)n, -shape[row], self->C + s * n, 1, rows + row * n, 1);
            for (int64_t i = 0; i < nominal.count; i++) {
                rows[row * n + nadir_row_column(&nominal, i)] += nominal.values[i];
            }
        }
    }
    NADIR_CHECK(nadir_dense_candidate(context, problem, rows, candidate));
cleanup:
    nadir_release(context, shape);
    nadir_release(context, rows);
    return status;
}

static nadir_status search_free(nadir_context *context, const nadir_problem *problem, double beta,
                                nadir_trajectory *trajectory, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    iteration self = {.problem = problem, .beta = beta};
    const double range = nadir_conservative_range(problem);
    const double rounding = DBL_EPSILON * nadir_vector_largest(problem->states, problem->v);
    NADIR_CHECK(start(context, &self));
    linearize(&self);
    while ((candidate->stop = nadir_trajectory_stop(trajectory)) == NADIR_STOP_NONE) {
        if (self.gap <= fmax(trajectory->budget.tolerance * (problem->J - self.J), rounding)) {
            candidate->stop = NADIR_STOP_TOLERANCE;
            candidate->converged = true;
            break;
        }
        step(&self, nadir_conservative_step(problem, range, self.gap));
        linearize(&self);
        NADIR_CHECK(
            nadir_trajectory_record(context, trajectory, trajectory->samples + 1, problem->J - self.J));
    }
    NADIR_CHECK(make_attack(context, &self, candidate));
    candidate->iterations = trajectory->samples;
    candidate->gap = self.gap;
cleanup:
    finish(context, &self);
    return status;
}

nadir_status nadir_search_conservative(nadir_context *context, const nadir_problem *problem, double beta,
                                       nadir_trajectory *trajectory, nadir_candidate *candidate)
{
    return problem->uncertainty->domain == NADIR_DOMAIN_FREE
               ? search_free(context, problem, beta, trajectory, candidate)
               : nadir_conservative_valid(context, problem, beta, trajectory, candidate);
}

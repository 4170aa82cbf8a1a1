/*
 * paper_bisection.c: methods paper and paper-reduced: Algorithm 1 of the paper, bisection on
 *
 *     F(lambda) = max over b >= 0, |b|_2 <= beta of |E_lambda b|_2,
 *
 * with Algorithm 2 for the maximum.
 *
 *     paper           E_lambda = gamma Phi (v d^T - lambda D) H, states x rows, as printed
 *     paper-reduced   E_lambda = gamma Phi (v d^T - lambda D) W, states x states: within a state the best b
 *                     is a multiple of alpha^2 pi; score squared
 *
 * D is formed once. The printed bracket, [0, 1/(1 - gamma)], holds only for rewards in [0, 1] and valid
 * kernels. The bracket here is [0, gamma beta |Phi v| |W d| / (1 - beta / beta_max)]. Algorithm 2 gives a
 * lower bound on F, so that the root is a lower bound on the penalty. At the last lambda with F > lambda the
 * pair (b, E b / |E b|) has a penalty of at least lambda. Its kernel is the result.
 */
#include "cone/cone.h"
#include "methods/methods.h"
#include "methods/rank_one_pair.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

typedef struct bisection {
    const nadir_problem *problem;
    double beta;
    bool reduced;
    int64_t n;     /* columns: rows, or states */
    double *Phi_v; /* [states] */
    double *dH;    /* [n] d^T H, or d^T W */
    double *M;     /* [states * n] Phi D H, or Phi D W, row after row */
    double *E;     /* [states * n] at the current lambda */
    double *x;     /* [n] the maximiser there */
    double *b;     /* [rows] at the last lambda with F > lambda */
    double *k;     /* [states] */
} bisection;

/* Column `i` <- weight Phi D e_s. */
static void add_column(bisection *self, int64_t i, double weight, const double *De)
{
    const int64_t m = self->problem->states;
    for (int64_t t = 0; t < m; t++) {
        self->M[t * self->n + i] = weight * De[t];
    }
}

/* M and dH from the columns of D. */
static nadir_status form_matrices(nadir_context *context, bisection *self)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const int64_t m = problem->states;
    const double *pi = problem->policy->probabilities;
    double *D = NULL;
    NADIR_NEW_ZERO(context, D, m * m);
    for (int64_t s = 0; s < m; s++) {
        D[s * m + s] = 1;
    }
    NADIR_CHECK(nadir_occupancy_solve(context, problem->occupancy, m, D, D, NULL));
    for (int64_t s = 0; s < m; s++) {
        nadir_rank_one_pair_centre(m, D + s * m);
        if (self->reduced) {
            self->dH[s] = problem->uncertainty->W[s] * problem->d[s];
            add_column(self, s, problem->uncertainty->W[s], D + s * m);
            continue;
        }
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            const double weight = nadir_uncertainty_scale(problem->uncertainty, row) * pi[row];
            self->dH[row] = weight * problem->d[s];
            add_column(self, row, weight, D + s * m);
        }
    }
cleanup:
    nadir_release(context, D);
    return status;
}

static nadir_status start(nadir_context *context, bisection *self)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const int64_t m = problem->states;
    NADIR_NEW(context, self->Phi_v, m);
    NADIR_NEW(context, self->dH, self->n);
    NADIR_NEW(context, self->M, m * self->n);
    NADIR_NEW(context, self->E, m * self->n);
    NADIR_NEW(context, self->x, self->n);
    NADIR_NEW_ZERO(context, self->b, problem->rows);
    NADIR_NEW_ZERO(context, self->k, m);
    memcpy(self->Phi_v, problem->v, (size_t)m * sizeof *self->Phi_v);
    nadir_rank_one_pair_centre(m, self->Phi_v);
    NADIR_CHECK(form_matrices(context, self));
cleanup:
    return status;
}

static void finish(nadir_context *context, bisection *self)
{
    nadir_release(context, self->Phi_v);
    nadir_release(context, self->dH);
    nadir_release(context, self->M);
    nadir_release(context, self->E);
    nadir_release(context, self->x);
    nadir_release(context, self->b);
    nadir_release(context, self->k);
}

/* *F <- F(lambda) by Algorithm 2; self->x <- its maximiser. */
static nadir_status evaluate(nadir_context *context, bisection *self, double lambda, double *F)
{
    const double gamma = self->problem->gamma;
    const int64_t n = self->n;
    for (int64_t t = 0; t < self->problem->states; t++) {
        for (int64_t i = 0; i < n; i++) {
            self->E[t * n + i] = gamma * (self->Phi_v[t] * self->dH[i] - lambda * self->M[t * n + i]);
        }
    }
    const nadir_status status = nadir_cone_norm_scored(
        context, self->problem->states, n, self->E,
        self->reduced ? NADIR_CONE_SCORE_SQUARED : NADIR_CONE_SCORE_PRINTED, self->x, F);
    *F *= self->beta;
    return status;
}

/* b and k from x. */
static void keep_pair(bisection *self)
{
    const nadir_problem *problem = self->problem;
    const int64_t m = problem->states;
    for (int64_t t = 0; t < m; t++) {
        self->k[t] = cblas_ddot((blasint)self->n, self->E + t * self->n, 1, self->x, 1);
    }
    const double length = nadir_rank_one_pair_centre(m, self->k);
    for (int64_t t = 0; t < m; t++) {
        self->k[t] /= length;
    }
    for (int64_t i = 0; i < self->n; i++) {
        self->x[i] *= self->beta;
    }
    if (self->reduced) {
        nadir_rank_one_states_expand(problem, self->x, self->b);
        return;
    }
    for (int64_t row = 0; row < problem->rows; row++) {
        self->b[row] = nadir_uncertainty_scale(problem->uncertainty, row) * self->x[row];
    }
}

/* The upper end of the bracket. */
static nadir_status find_upper_end(nadir_context *context, const bisection *self, double *upper_end)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    bool converged;
    double limit;
    double v_square = 0;
    double Wd_square = 0;
    NADIR_CHECK(nadir_breakdown_estimate(context, problem, &limit, &converged));
    for (int64_t s = 0; s < problem->states; s++) {
        const double Wd = problem->uncertainty->W[s] * problem->d[s];
        v_square += self->Phi_v[s] * self->Phi_v[s];
        Wd_square += Wd * Wd;
    }
    /* 1e-6: the breakdown radius is known to 1e-9 */
    const double rest = fmax(1e-9, 1 - self->beta / limit);
    *upper_end = problem->gamma * self->beta * sqrt(v_square) * sqrt(Wd_square) / rest * (1 + 1e-6);
cleanup:
    return status;
}

static nadir_status search(nadir_context *context, bisection *self, nadir_trajectory *trajectory,
                           nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    const double rounding = DBL_EPSILON * nadir_vector_largest(self->problem->states, self->problem->v);
    double low = 0;
    double high = 0;
    self->n = self->reduced ? self->problem->states : self->problem->rows;
    if (self->n > NADIR_SPECTRUM_LARGEST) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "method paper needs all eigenvectors of a matrix with a column for each row of the "
            "model (paper-reduced: each state), here %lld, and takes up to %d: leave the method "
            "to auto",
            (long long)self->n, NADIR_SPECTRUM_LARGEST);
    }
    NADIR_CHECK(start(context, self));
    NADIR_CHECK(find_upper_end(context, self, &high));
    while ((candidate->stop = nadir_trajectory_stop(trajectory)) == NADIR_STOP_NONE) {
        const double lambda = low + (high - low) / 2;
        double F;
        if (high - low <= fmax(trajectory->budget.tolerance * high, rounding)) {
            candidate->stop = NADIR_STOP_TOLERANCE;
            candidate->converged = true;
            break;
        }
        NADIR_CHECK(evaluate(context, self, lambda, &F));
        if (F > lambda) {
            low = lambda;
            keep_pair(self);
        } else {
            high = lambda;
        }
        NADIR_CHECK(nadir_trajectory_record(context, trajectory, trajectory->samples + 1, low));
    }
    NADIR_CHECK(nadir_rank_one_pair_attack(context, self->problem, self->beta, self->b, self->k, candidate));
    candidate->iterations = trajectory->samples;
cleanup:
    finish(context, self);
    return status;
}

nadir_status nadir_search_paper(nadir_context *context, const nadir_problem *problem, double beta,
                                nadir_trajectory *trajectory, nadir_candidate *candidate)
{
    bisection self = {.problem = problem, .beta = beta};
    return search(context, &self, trajectory, candidate);
}

nadir_status nadir_search_paper_reduced(nadir_context *context, const nadir_problem *problem, double beta,
                                        nadir_trajectory *trajectory, nadir_candidate *candidate)
{
    bisection self = {.problem = problem, .beta = beta, .reduced = true};
    return search(context, &self, trajectory, candidate);
}

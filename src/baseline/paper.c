/*
 * paper.c: methods paper and paper-reduced: the paper's Algorithm 1, bisection on F(lambda) = max over b >=
 * 0, |b|_2 <= beta of |E_lambda b|_2, with its Algorithm 2 for the maximum.
 *
 *     paper           E_lambda = gamma Phi (v d^T - lambda D) H, states x rows, as printed
 *     paper-reduced   E_lambda = gamma Phi (v d^T - lambda D) W, states x states: within a state the best b
 *                     is a multiple of alpha^2 pi; score squared
 *
 * D is formed once. The printed bracket, [0, 1/(1 - gamma)], is right for rewards in [0, 1] and valid kernels
 * alone; here it is [0, gamma beta |Phi v| |W d| / (1 - beta / beta_max)]. What Algorithm 2 finds is never
 * more than F, nor is the root: the method understates the penalty. At the last lambda with F > lambda the
 * pair (b, E b / |E b|) costs lambda or more: its kernel is the result.
 */
#include "adversary/free/breakdown.h"
#include "adversary/free/dual.h"
#include "baseline/cone_norm.h"
#include "baseline/rank_one_pair.h"
#include "baseline/search.h"
#include "linalg/vector.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

typedef struct bisection {
    const nadir_problem *problem;
    double beta;
    bool reduced;
    int64_t n;      /* columns: rows, or states */
    double *spread; /* [states] Phi v */
    double *pull;   /* [n] d^T H, or d^T W */
    double *M;      /* [states * n] Phi D H, or Phi D W, row after row */
    double *E;      /* [states * n] at the lambda at hand */
    double *x;      /* [n] the maximiser there */
    double *b;      /* [rows] at the last lambda with F > lambda */
    double *k;      /* [states] */
} bisection;

/* Column `i` <- weight Phi D e_s. */
static void add_column(bisection *at, int64_t i, double weight, const double *De)
{
    const int64_t m = at->problem->states;
    for (int64_t t = 0; t < m; t++) {
        at->M[t * at->n + i] = weight * De[t];
    }
}

/* M and pull from the columns of D. */
static nadir_status form(nadir_context *context, bisection *at)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->problem;
    const int64_t m = problem->states;
    const double *pi = problem->policy->probabilities;
    double *D = NULL;
    NADIR_NEW_ZERO(context, D, m * m);
    for (int64_t s = 0; s < m; s++) {
        D[s * m + s] = 1;
    }
    NADIR_CHECK(nadir_occupancy_solve(context, problem->occupancy, m, D, D, NULL));
    for (int64_t s = 0; s < m; s++) {
        nadir_pair_centre(m, D + s * m);
        if (at->reduced) {
            at->pull[s] = problem->uncertainty->W[s] * problem->d[s];
            add_column(at, s, problem->uncertainty->W[s], D + s * m);
            continue;
        }
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            const double weight = nadir_uncertainty_scale(problem->uncertainty, row) * pi[row];
            at->pull[row] = weight * problem->d[s];
            add_column(at, row, weight, D + s * m);
        }
    }
cleanup:
    nadir_release(context, D);
    return status;
}

static nadir_status start(nadir_context *context, bisection *at)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->problem;
    const int64_t m = problem->states;
    NADIR_NEW(context, at->spread, m);
    NADIR_NEW(context, at->pull, at->n);
    NADIR_NEW(context, at->M, m * at->n);
    NADIR_NEW(context, at->E, m * at->n);
    NADIR_NEW(context, at->x, at->n);
    NADIR_NEW_ZERO(context, at->b, problem->rows);
    NADIR_NEW_ZERO(context, at->k, m);
    memcpy(at->spread, problem->v, (size_t)m * sizeof *at->spread);
    nadir_pair_centre(m, at->spread);
    NADIR_CHECK(form(context, at));
cleanup:
    return status;
}

static void finish(nadir_context *context, bisection *at)
{
    nadir_release(context, at->spread);
    nadir_release(context, at->pull);
    nadir_release(context, at->M);
    nadir_release(context, at->E);
    nadir_release(context, at->x);
    nadir_release(context, at->b);
    nadir_release(context, at->k);
}

/* F(lambda) as Algorithm 2 has it, with its x. */
static nadir_status evaluate(nadir_context *context, bisection *at, double lambda, double *F)
{
    const double gamma = at->problem->gamma;
    const int64_t n = at->n;
    for (int64_t t = 0; t < at->problem->states; t++) {
        for (int64_t i = 0; i < n; i++) {
            at->E[t * n + i] = gamma * (at->spread[t] * at->pull[i] - lambda * at->M[t * n + i]);
        }
    }
    const nadir_status status =
        nadir_cone_norm_scored(context, at->problem->states, n, at->E,
                               at->reduced ? NADIR_CONE_SCORE_SQUARED : NADIR_CONE_SCORE_PRINTED, at->x, F);
    *F *= at->beta;
    return status;
}

/* b and k of the x at hand. */
static void keep(bisection *at)
{
    const nadir_problem *problem = at->problem;
    const int64_t m = problem->states;
    for (int64_t t = 0; t < m; t++) {
        at->k[t] = cblas_ddot((blasint)at->n, at->E + t * at->n, 1, at->x, 1);
    }
    const double length = nadir_pair_centre(m, at->k);
    for (int64_t t = 0; t < m; t++) {
        at->k[t] /= length;
    }
    for (int64_t i = 0; i < at->n; i++) {
        at->x[i] *= at->beta;
    }
    if (at->reduced) {
        nadir_dual_expand(problem, at->x, at->b);
        return;
    }
    for (int64_t row = 0; row < problem->rows; row++) {
        at->b[row] = nadir_uncertainty_scale(problem->uncertainty, row) * at->x[row];
    }
}

/* The upper end of the bracket. */
static nadir_status find_ceiling(nadir_context *context, const bisection *at, double *ceiling)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->problem;
    bool converged;
    double limit;
    double v_square = 0;
    double pull_square = 0;
    NADIR_CHECK(nadir_breakdown_exact(context, problem, &limit, &converged));
    for (int64_t s = 0; s < problem->states; s++) {
        const double pull = problem->uncertainty->W[s] * problem->d[s];
        v_square += at->spread[s] * at->spread[s];
        pull_square += pull * pull;
    }
    /* 1e-6: the breakdown radius is known to 1e-9 */
    const double rest = fmax(1e-9, 1 - at->beta / limit);
    *ceiling = problem->gamma * at->beta * sqrt(v_square) * sqrt(pull_square) / rest * (1 + 1e-6);
cleanup:
    return status;
}

static nadir_status search(nadir_context *context, bisection *at, nadir_track *track, nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    const double rounding = DBL_EPSILON * nadir_vector_largest(at->problem->states, at->problem->v);
    double low = 0;
    double high = 0;
    at->n = at->reduced ? at->problem->states : at->problem->rows;
    if (at->n > NADIR_SPECTRUM_LARGEST) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "method paper needs all eigenvectors of a matrix with a column for each row of the "
            "model (paper-reduced: each state), here %lld, and takes up to %d: leave the method "
            "to auto",
            (long long)at->n, NADIR_SPECTRUM_LARGEST);
    }
    NADIR_CHECK(start(context, at));
    NADIR_CHECK(find_ceiling(context, at, &high));
    while ((attack->stop_reason = nadir_track_spent(track)) == NULL) {
        const double lambda = low + (high - low) / 2;
        double F;
        if (high - low <= fmax(track->budget.tolerance * high, rounding)) {
            attack->stop_reason = "tolerance";
            attack->converged = true;
            break;
        }
        NADIR_CHECK(evaluate(context, at, lambda, &F));
        if (F > lambda) {
            low = lambda;
            keep(at);
        } else {
            high = lambda;
        }
        NADIR_CHECK(nadir_track_note(context, track, track->samples + 1, low));
    }
    NADIR_CHECK(nadir_pair_attack(context, at->problem, at->beta, at->b, at->k, attack));
    attack->iterations = track->samples;
cleanup:
    finish(context, at);
    return status;
}

nadir_status nadir_search_paper(nadir_context *context, const nadir_problem *problem, double beta,
                                nadir_track *track, nadir_attack *attack)
{
    bisection at = {.problem = problem, .beta = beta};
    return search(context, &at, track, attack);
}

nadir_status nadir_search_paper_reduced(nadir_context *context, const nadir_problem *problem, double beta,
                                        nadir_track *track, nadir_attack *attack)
{
    bisection at = {.problem = problem, .beta = beta, .reduced = true};
    return search(context, &at, track, attack);
}

/* verified_solve.c: solves with bounds on their errors; see verified_solve.h. */
#include "proof/verified_solve.h"

#include <math.h>
#include <string.h>

/* A right-hand side with a smaller remainder counts as a combination of those of the basis. */
#define SPAN_TOLERANCE nadir_round_error(32)

enum { BLOCK = 64 }; /* columns of D that are solved for at once */

nadir_verified_solver nadir_verified_solver_make(nadir_context *context, const nadir_problem *problem)
{
    const nadir_average *average = nadir_occupancy_average(problem->occupancy);
    const double actions = nadir_allreduce_maximum(context, (double)nadir_model_most_actions(problem->model));
    nadir_verified_solver solver = {.averaging = nadir_round_error(actions + 2)};
    /* the norm is a sum of as many terms as a row has */
    const double terms = nadir_allreduce_maximum(context, (double)nadir_average_row_length(average));
    solver.size = problem->gamma * average->norm * (1 + nadir_round_error(terms + 8) + 2 * solver.averaging);
    if (problem->gamma == 1) { /* without a solution the gap is 0 */
        (void)nadir_occupancy_find_duration(context, problem->occupancy, (int64_t)actions);
        solver.gap = nadir_occupancy_gap(problem->occupancy);
        return solver;
    }
    solver.gap = 1 - solver.size > nadir_round_error(4) ? (1 - solver.size) - nadir_round_error(4) : 0;
    return solver;
}

double nadir_verified_solve_error(const nadir_verified_solver *solver, double residual)
{
    return solver->gap > 0 ? nadir_round_up(residual / solver->gap, 4) : residual == 0 ? 0 : INFINITY;
}

/* The norm in which residuals are measured. */
static double norm_of(const nadir_context *context, bool transposed, int64_t n, const double *x)
{
    return transposed ? nadir_up_norm_1(context, n, x) : nadir_global_largest(context, n, x);
}

nadir_status nadir_verified_solve(nadir_context *context, const nadir_problem *problem,
                                  const nadir_verified_solver *solver, bool transposed, const double *b,
                                  double b_error, const double *guess, double tolerance, double *x,
                                  nadir_solve_error *error)
{
    const int64_t n = problem->states;
    nadir_accuracy accuracy;
    if (guess != NULL && guess != x) {
        memcpy(x, guess, (size_t)n * sizeof *x);
    }
    NADIR_TRY(nadir_refinement_solve(context, problem->occupancy, transposed, 1, b, tolerance, guess != NULL,
                                     x, &accuracy));
    error->b_error = b_error;
    error->largest = norm_of(context, transposed, n, x);
    error->residual =
        nadir_round_up(accuracy.residual + solver->averaging * solver->size * error->largest + b_error, 8);
    error->error = nadir_verified_solve_error(solver, error->residual);
    return NADIR_OK;
}

void nadir_solve_basis_clear(nadir_context *context, nadir_solve_basis *basis)
{
    for (int k = 0; k < NADIR_SOLVE_BASIS_LIMIT; k++) {
        nadir_release(context, basis->Q[k]);
        nadir_release(context, basis->Y[k]);
    }
    *basis = (nadir_solve_basis){0};
}

/* r <- b less its parts along the basis, which are t: [rank]; again, against rounding. Any t would do. */
static void project(const nadir_context *context, int64_t n, const nadir_solve_basis *basis, const double *b,
                    double *t, double *r)
{
    double ignored;
    memset(t, 0, (size_t)basis->rank * sizeof *t);
    memcpy(r, b, (size_t)n * sizeof *r);
    for (int i = 0; i < 2 * basis->rank; i++) {
        const int k = i % basis->rank;
        const double part = nadir_global_dot(context, n, basis->Q[k], r, &ignored);
        t[k] += part;
        for (int64_t s = 0; s < n; s++) {
            r[s] -= part * basis->Q[k][s];
        }
    }
}

/* A vector r of this length joins the basis. */
static nadir_status extend(nadir_context *context, const nadir_problem *problem,
                           const nadir_verified_solver *solver, bool transposed, const double *r,
                           double length, nadir_solve_basis *basis)
{
    nadir_status status = NADIR_OK;
    const int k = basis->rank;
    const int64_t n = problem->states;
    NADIR_NEW(context, basis->Q[k], n);
    NADIR_NEW(context, basis->Y[k], n);
    for (int64_t s = 0; s < n; s++) {
        basis->Q[k][s] = r[s] / length;
    }
    NADIR_CHECK(nadir_verified_solve(context, problem, solver, transposed, basis->Q[k], 0, NULL, 0,
                                     basis->Y[k], &basis->errors[k]));
    basis->Q_norms[k] = norm_of(context, transposed, n, basis->Q[k]);
    basis->rank++;
cleanup:
    return status;
}

/*
 * With A = I - gamma P^pi, F = b - Q t and A Y = Q up to the residuals of the basis, x = Y t has
 *
 *     |b - A x| <= |F| + sum of |t_k| residual_k + |A| |rounding of Y t|.
 *
 * F: [states] work space. F and x are sums of rank + 1 products each.
 */
static void combine(const nadir_context *context, const nadir_verified_solver *solver, bool transposed,
                    int64_t n, const nadir_solve_basis *basis, const double *b, const double *t, double *F,
                    double *x, nadir_solve_error *error)
{
    const double rounding = nadir_round_error(basis->rank + 4);
    double of_F = norm_of(context, transposed, n, b);
    double of_x = 0;
    double residual = 0;
    memcpy(F, b, (size_t)n * sizeof *F);
    memset(x, 0, (size_t)n * sizeof *x);
    for (int k = 0; k < basis->rank; k++) {
        for (int64_t s = 0; s < n; s++) {
            F[s] -= t[k] * basis->Q[k][s];
            x[s] += t[k] * basis->Y[k][s];
        }
        of_F += fabs(t[k]) * basis->Q_norms[k];
        of_x += fabs(t[k]) * basis->errors[k].largest;
        residual += fabs(t[k]) * basis->errors[k].residual;
    }
    error->largest = norm_of(context, transposed, n, x);
    error->residual = nadir_round_up(norm_of(context, transposed, n, F) + rounding * of_F + residual +
                                         (1 + solver->size) * rounding * of_x + error->b_error,
                                     basis->rank + 16);
    error->error = nadir_verified_solve_error(solver, error->residual);
}

nadir_status nadir_verified_solve_near(nadir_context *context, const nadir_problem *problem,
                                       const nadir_verified_solver *solver, bool transposed, const double *b,
                                       double b_error, const double *guess, nadir_solve_basis *basis,
                                       double *x, nadir_solve_error *error)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    double t[NADIR_SOLVE_BASIS_LIMIT];
    double *r = NULL;
    if (guess != NULL || basis == NULL || basis->rank == NADIR_SOLVE_BASIS_LIMIT) {
        return nadir_verified_solve(context, problem, solver, transposed, b, b_error, guess, 0, x, error);
    }
    NADIR_NEW(context, r, n);
    project(context, n, basis, b, t, r);
    const double length = nadir_global_norm_2(context, n, r);
    if (length > SPAN_TOLERANCE * nadir_global_norm_2(context, n, b)) {
        NADIR_CHECK(extend(context, problem, solver, transposed, r, length, basis));
        t[basis->rank - 1] = length;
    }
    error->b_error = b_error;
    combine(context, solver, transposed, n, basis, b, t, r, x, error);
cleanup:
    nadir_release(context, r);
    return status;
}

nadir_status nadir_verified_solve_columns(nadir_context *context, const nadir_problem *problem,
                                          const nadir_verified_solver *solver, int64_t count,
                                          const int64_t *which, double *D, double *residual)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const int64_t own = nadir_model_first(problem->model);
    double *sides = NULL;
    *residual = 0;
    NADIR_NEW(context, sides, n * (count < BLOCK ? count : BLOCK));
    for (int64_t first = 0; first < count; first += BLOCK) {
        const int64_t many = first + BLOCK < count ? BLOCK : count - first;
        nadir_accuracy accuracy;
        NADIR_CHECK(nadir_progress(context, "solving for columns", (double)first / (double)count));
        memset(sides, 0, (size_t)(n * many) * sizeof *sides);
        for (int64_t j = 0; j < many; j++) {
            const int64_t place = (which != NULL ? which[first + j] : first + j) - own;
            if (place >= 0 && place < n) {
                sides[j * n + place] = 1;
            }
        }
        NADIR_CHECK(
            nadir_occupancy_solve(context, problem->occupancy, many, sides, D + first * n, &accuracy));
        const double largest = nadir_global_largest(context, n * many, D + first * n);
        const double found = accuracy.residual + solver->averaging * solver->size * largest;
        *residual = fmax(*residual, nadir_round_up(found, 8));
    }
cleanup:
    nadir_release(context, sides);
    return status;
}

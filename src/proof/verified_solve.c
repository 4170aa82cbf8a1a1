/* verified_solve.c: solves with bounds on their errors; see verified_solve.h. */
#include "proof/verified_solve.h"

#include "core/round.h"
#include "linalg/distributed.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 64 }; /* columns of D that are solved for at once */

double nadir_up_norm_1(const nadir_context *context, int64_t count, const double *x)
{
    const double total = (double)nadir_global_count(context, count);
    return nadir_round_up(nadir_global_norm_1(context, count, x), total + 4);
}

double nadir_up_norm_2(const nadir_context *context, int64_t count, const double *x)
{
    const double members = (double)context->communication->members;
    return nadir_round_up(nadir_global_norm_2(context, count, x), 48 + members);
}

nadir_verified_solver nadir_verified_solver_make(const nadir_context *context, const nadir_problem *problem)
{
    const nadir_average *average = nadir_occupancy_average(problem->occupancy);
    const int64_t *state_rows = problem->model->state_rows;
    int64_t actions = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const int64_t here = state_rows[s + 1] - state_rows[s];
        actions = here > actions ? here : actions;
    }
    actions = (int64_t)nadir_allreduce_maximum(context, (double)actions);
    nadir_verified_solver solver = {.averaging = nadir_round_error((double)(actions + 2))};
    /* the norm is a sum of as many terms as a row has */
    const double terms = nadir_allreduce_maximum(context, (double)nadir_average_row_length(average));
    solver.size = problem->gamma * average->norm * (1 + nadir_round_error(terms + 8) + 2 * solver.averaging);
    solver.gap = 1 - solver.size > nadir_round_error(4) ? (1 - solver.size) - nadir_round_error(4) : 0;
    return solver;
}

double nadir_verified_solve_error(const nadir_verified_solver *solver, double residual)
{
    return solver->gap > 0 ? nadir_round_up(residual / solver->gap, 4) : residual == 0 ? 0 : INFINITY;
}

/* From the residual of the solve, and error->b_error. */
static void assess(const nadir_context *context, const nadir_verified_solver *solver, bool transposed,
                   int64_t n, const double *x, double residual, nadir_solve_error *error)
{
    error->largest = transposed ? nadir_up_norm_1(context, n, x) : nadir_global_largest(context, n, x);
    error->residual =
        nadir_round_up(residual + solver->averaging * solver->size * error->largest + error->b_error, 8);
    error->error = nadir_verified_solve_error(solver, error->residual);
}

nadir_status nadir_verified_solve(nadir_context *context, const nadir_problem *problem,
                                  const nadir_verified_solver *solver, bool transposed, const double *b,
                                  double b_error, double *x, nadir_solve_error *error)
{
    nadir_status status = NADIR_OK;
    nadir_accuracy accuracy;
    NADIR_CHECK((transposed ? nadir_occupancy_solve_transposed
                            : nadir_occupancy_solve)(context, problem->occupancy, 1, b, x, &accuracy));
    error->b_error = b_error;
    assess(context, solver, transposed, problem->states, x, accuracy.residual, error);
cleanup:
    return status;
}

nadir_status nadir_verified_solve_from(nadir_context *context, const nadir_problem *problem,
                                       const nadir_verified_solver *solver, bool transposed, const double *b,
                                       double b_error, double tolerance, double *x, nadir_solve_error *error)
{
    nadir_status status = NADIR_OK;
    nadir_accuracy accuracy;
    NADIR_CHECK(
        nadir_occupancy_improve(context, problem->occupancy, transposed, 1, b, tolerance, x, &accuracy));
    error->b_error = b_error;
    assess(context, solver, transposed, problem->states, x, accuracy.residual, error);
cleanup:
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

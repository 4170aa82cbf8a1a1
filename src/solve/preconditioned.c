/* preconditioned.c: solving with one kernel through the solves of another; see preconditioned.h. */
#include "solve/occupancy_internal.h"

#include "linalg/iterative.h"

#include <string.h>

/* How well an iterative base solves for a preconditioner: its operator need not be exact. */
#define PRECONDITION_RESIDUAL 1e-3

/* Products, each with a solve of the base, after which a backend of one's own would have been cheaper. */
#define PRODUCTS_LIMIT (5 * NADIR_GMRES_RESTART)

struct nadir_preconditioned {
    nadir_average *average;
    double gamma;
    nadir_precondition precondition;
    void *user;
    nadir_linear_system system; /* A, and the base as its preconditioner */
    double *work;               /* [capacity] */
    size_t capacity;
};

/* Y = X - gamma P^pi X, or transposed. */
static nadir_status apply(nadir_context *context, void *user, bool transposed, int64_t count, const double *x,
                          double *y)
{
    const nadir_preconditioned *solver = user;
    nadir_status status = NADIR_OK;
    if (transposed) {
        status = nadir_average_multiply_transposed(context, solver->average, count, x, y);
    } else {
        nadir_average_multiply(context, solver->average, count, x, y);
    }
    for (int64_t i = 0; i < count * solver->average->states; i++) {
        y[i] = x[i] - solver->gamma * y[i];
    }
    return status;
}

/* A base that did not quite converge still is a preconditioner. */
static nadir_status precondition(nadir_context *context, void *user, bool transposed, int64_t count,
                                 const double *r, double *z)
{
    const nadir_preconditioned *solver = user;
    const nadir_status status =
        solver->precondition(context, solver->user, transposed, count, r, PRECONDITION_RESIDUAL, z);
    return status == NADIR_ERROR_NOT_CONVERGED ? NADIR_OK : status;
}

nadir_status nadir_preconditioned_create(nadir_context *context, nadir_average *average, double gamma,
                                         nadir_precondition base, void *user, nadir_preconditioned **solver)
{
    nadir_status status = NADIR_OK;
    nadir_preconditioned *made = NULL;
    NADIR_NEW_ZERO(context, made, 1);
    made->average = average;
    made->gamma = gamma;
    made->precondition = base;
    made->user = user;
    made->system = (nadir_linear_system){
        .size = average->states, .apply = apply, .precondition = precondition, .user = made};
    *solver = made;
cleanup:
    return status;
}

void nadir_preconditioned_free(nadir_context *context, nadir_preconditioned *solver)
{
    if (solver != NULL) {
        nadir_release(context, solver->work);
        nadir_release(context, solver);
    }
}

nadir_status nadir_preconditioned_solve(nadir_context *context, nadir_preconditioned *solver, bool transposed,
                                        int64_t count, const double *b, double residual, double *x)
{
    nadir_status status = NADIR_OK;
    int64_t products;
    NADIR_RESERVE(context, solver->work, nadir_gmres_work(&solver->system, count), solver->capacity);
    memset(x, 0, (size_t)(count * solver->average->states) * sizeof *x);
    const nadir_gmres settings = {
        .transposed = transposed, .residual = residual, .limit = PRODUCTS_LIMIT, .work = solver->work};
    NADIR_CHECK(nadir_gmres_solve(context, &solver->system, &settings, count, b, x, &products));
cleanup:
    return status;
}

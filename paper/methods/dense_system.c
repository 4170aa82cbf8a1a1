/* dense_system.c: value and occupancy by a dense factorisation for each kernel; see dense_system.h. */
#include "methods/dense_system.h"

#include <lapack.h>
#include <math.h>
#include <string.h>

/* Its square fits 32 bits. */
#define STATES_LIMIT 46340

nadir_status nadir_dense_nominal(nadir_context *context, const nadir_problem *problem, double *P)
{
    nadir_average *average = nadir_occupancy_average(problem->occupancy);
    const nadir_matrix *M = &average->matrix;
    const int64_t n = problem->states;
    if (n > STATES_LIMIT) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "this method factors a dense matrix for each kernel and the model has %lld states; "
                          "it takes up to %d: leave the method to auto",
                          (long long)n, STATES_LIMIT);
    }
    const nadir_status status = nadir_average_fetch(context, average);
    if (status != NADIR_OK) {
        return status;
    }
    if (M->dense != NULL) {
        memcpy(P, M->dense, (size_t)(n * n) * sizeof *P);
        return NADIR_OK;
    }
    memset(P, 0, (size_t)(n * n) * sizeof *P);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = M->starts[s]; i < M->starts[s + 1]; i++) {
            P[s * n + M->columns[i]] = M->values[i];
        }
    }
    return NADIR_OK;
}

/* LAPACK reads the rows of P as columns, so that it factors the transpose of I - gamma P. */
double nadir_dense_solve(const nadir_problem *problem, int threads, double *P, int *pivots, double *v,
                         double *d)
{
    const lapack_int n = (lapack_int)problem->states;
    const lapack_int one = 1;
    lapack_int info = 0;
    for (int64_t i = 0; i < problem->states * problem->states; i++) {
        P[i] *= -problem->gamma;
    }
    for (int64_t s = 0; s < problem->states; s++) {
        P[s * problem->states + s] += 1;
    }
    const int before = nadir_blas_threads(threads);
    LAPACK_dgetrf(&n, &n, P, &n, pivots, &info);
    if (info == 0) {
        memcpy(v, problem->R, (size_t)n * sizeof *v);
        LAPACK_dgetrs("T", &n, &one, P, &n, pivots, v, &n, &info);
    }
    if (info == 0 && d != NULL) {
        memcpy(d, problem->mu, (size_t)n * sizeof *d);
        LAPACK_dgetrs("N", &n, &one, P, &n, pivots, d, &n, &info);
    }
    nadir_blas_restore(before);
    double J = info == 0 ? 0 : NAN;
    for (int64_t s = 0; s < problem->states; s++) {
        J += problem->mu[s] * v[s];
    }
    return J;
}

/* All rows that are not pinned, as a kernel. */
static nadir_status make_kernel(nadir_context *context, const nadir_problem *problem, const double *rows,
                                nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    int64_t *which = NULL;
    int64_t *starts = NULL;
    int32_t *columns = NULL;
    double *values = NULL;
    nadir_changed_rows changed = {0};
    int64_t entries = 0;
    NADIR_NEW(context, which, problem->rows);
    NADIR_NEW(context, starts, problem->rows + 1);
    NADIR_NEW(context, columns, problem->rows * n);
    NADIR_NEW(context, values, problem->rows * n);
    starts[0] = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        if (nadir_uncertainty_scale(problem->uncertainty, row) == 0) {
            continue;
        }
        for (int64_t t = 0; t < n; t++) {
            columns[entries] = (int32_t)t;
            values[entries] = rows[row * n + t];
            entries += values[entries] != 0;
        }
        which[changed.count++] = row;
        starts[changed.count] = entries;
    }
    changed.rows = which;
    changed.starts = starts;
    changed.columns = columns;
    changed.values = values;
    NADIR_CHECK(nadir_kernel_create_changed(context, problem->model, &changed, kernel));
cleanup:
    nadir_release(context, which);
    nadir_release(context, starts);
    nadir_release(context, columns);
    nadir_release(context, values);
    return status;
}

nadir_status nadir_dense_candidate(nadir_context *context, const nadir_problem *problem, const double *rows,
                                   nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    nadir_occupancy *occupancy = NULL;
    NADIR_CHECK(make_kernel(context, problem, rows, &candidate->kernel));
    NADIR_NEW(context, candidate->v, n);
    NADIR_NEW(context, candidate->d, n);
    NADIR_CHECK(nadir_occupancy_create(context, candidate->kernel, problem->policy, problem->gamma, NULL, 0,
                                       &occupancy));
    NADIR_CHECK(nadir_occupancy_solve(context, occupancy, 1, problem->R, candidate->v, NULL));
    NADIR_CHECK(nadir_occupancy_solve_transposed(context, occupancy, 1, problem->mu, candidate->d, NULL));
    candidate->J = 0;
    for (int64_t s = 0; s < n; s++) {
        candidate->J += problem->mu[s] * candidate->v[s];
    }
    candidate->lambda = problem->J - candidate->J;
cleanup:
    nadir_occupancy_free(context, occupancy);
    return status;
}

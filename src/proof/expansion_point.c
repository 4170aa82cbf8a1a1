/*
 * expansion_point.c: kernels of the set with value, occupancy or the columns of their D, around which others are
 * bounded; see perturbable_rows.h.
 */
#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "model/kernel.h"
#include "model/landing.h"
#include "proof/perturbable_rows.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 1e-12 /* of iterative solves, at most */
/* Rows whose sum is within this of one are not scaled; sum_off measures the difference. */
#define DISTRIBUTION 1e-14

void nadir_expansion_point_clear(nadir_context *context, nadir_expansion_point *point)
{
    nadir_occupancy_free(context, point->occupancy);
    nadir_kernel_free(point->kernel);
    nadir_release(context, point->own_X);
    nadir_release(context, point->own_R);
    nadir_release(context, point->D);
    nadir_release(context, point->d);
    *point = (nadir_expansion_point){0};
}

/* (1 - gamma max_s sum_a pi) sum d_P <= sum mu; the quotient is rounded up. Without a discount what the set is known
 * to last. */
double nadir_expansion_point_total(const nadir_context *context, const nadir_problem *problem)
{
    const int64_t *state_rows = problem->model->state_rows;
    const int threads = nadir_threads_for(context, problem->rows);
    double high = 0;
    if (problem->gamma == 1) {
        return problem->gap > 0 ? nadir_round_up(1 / problem->gap, 4) : INFINITY;
    }
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : high)
    for (int64_t s = 0; s < problem->states; s++) {
        high = fmax(high, nadir_vector_sum(state_rows[s + 1] - state_rows[s],
                                           problem->policy->probabilities + state_rows[s]));
    }
    high = nadir_allreduce_maximum(context, high);
    /* 1 - gamma max rounded down */
    const double gap = 1 - nadir_round_up(problem->gamma * high, 4) - nadir_round_error(2);
    const double mass = nadir_global_sum(context, problem->states, problem->mu);
    return gap > 0 ? nadir_round_up(mass / gap, 8) : INFINITY;
}

/* Scales a row X to a distribution, or makes it nominal where its sum is too small. A row that is one up to
 * rounding stays as it is, however its kernel is stored: a rounding of an entry is no small part of a change that is
 * small itself. */
static void take_sum(const nadir_perturbable_rows *perturbable, int64_t i, double *X)
{
    const int64_t length = nadir_perturbable_rows_length(perturbable, i);
    const double sum = nadir_vector_norm_1(length, X);
    if (!(sum > 0.5)) {
        memcpy(X, perturbable->phat + perturbable->starts[i], (size_t)length * sizeof *X);
    } else if (!(fabs(sum - 1) <= DISTRIBUTION)) {
        nadir_vector_divide(length, sum, X);
    }
}

/* A row that allows all states, without its negative entries. True: nothing had to be changed. */
static bool take_whole(const nadir_perturbable_rows *perturbable, int64_t i, const double *row,
                       double *restrict X)
{
    const int64_t length = nadir_perturbable_rows_length(perturbable, i);
    for (int64_t t = 0; t < length; t++) {
        X[t] = row[t] > 0 ? row[t] : 0;
    }
    take_sum(perturbable, i, X);
    return memcmp(X, row, (size_t)length * sizeof *X) == 0;
}

/* A row with a list of allowed successors, without negative entries and those not allowed. */
static void take_row(const nadir_perturbable_rows *perturbable, int64_t i, const nadir_row *row, double *X)
{
    const int64_t length = nadir_perturbable_rows_length(perturbable, i);
    int64_t place = 0;
    memset(X, 0, (size_t)length * sizeof *X);
    for (int64_t j = 0; j < row->count; j++) {
        while (place < length && nadir_perturbable_rows_column(perturbable, i, place) < row->columns[j]) {
            place++;
        }
        if (place < length && nadir_perturbable_rows_column(perturbable, i, place) == row->columns[j] &&
            row->values[j] > 0) {
            X[place] = row->values[j];
        }
    }
    take_sum(perturbable, i, X);
}

/* Entries of weight 0 are nominal, whatever rounding has made of them. Whether one was not. */
static bool pin_entries(const nadir_perturbable_rows *perturbable, int64_t i, double *X)
{
    bool moved = false;
    const int64_t start = perturbable->starts[i];
    for (int64_t j = 0; perturbable->squares != NULL && j < nadir_perturbable_rows_length(perturbable, i);
         j++) {
        if (perturbable->squares[start + j] == 0 && X[j] != perturbable->phat[start + j]) {
            X[j] = perturbable->phat[start + j];
            moved = true;
        }
    }
    return moved;
}

/* *same: X is the kernel given, entry by entry. */
static nadir_status take_rows(nadir_context *context, const nadir_perturbable_rows *perturbable,
                              const nadir_kernel *kernel, const bool *nominal, double *X, bool *same)
{
    nadir_status status = NADIR_OK;
    nadir_explicit rows = {0};
    memcpy(X, perturbable->phat, (size_t)perturbable->entries * sizeof *X);
    *same = true;
    NADIR_CHECK(nadir_explicit_make(context, kernel, &rows));
    for (int64_t s = 0; s < perturbable->states; s++) {
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            const int64_t row = nadir_perturbable_rows_row(perturbable, i);
            double *to = X + perturbable->starts[i];
            const double *whole = nadir_explicit_dense_row(&rows, row);
            if (nominal != NULL && nominal[s]) {
                *same = *same && nadir_kernel_is_nominal(kernel, row);
            } else if (whole != NULL &&
                       nadir_perturbable_rows_length(perturbable, i) == perturbable->states) {
                *same = take_whole(perturbable, i, whole, to) && *same;
            } else {
                const nadir_row part = nadir_explicit_row(&rows, row);
                take_row(perturbable, i, &part, to);
                *same = false;
            }
            *same = !pin_entries(perturbable, i, to) && *same;
        }
    }
cleanup:
    nadir_explicit_clear(context, &rows);
    return status;
}

/* X as a kernel of a dense model, or of a sparse one on domain support: its successors are those of the model,
 * and are not stored. */
static nadir_status write_values(nadir_context *context, nadir_model *model,
                                 const nadir_perturbable_rows *perturbable, const double *X,
                                 nadir_kernel **kernel)
{
    NADIR_TRY(nadir_kernel_create_blank(context, model, false, kernel));
    const nadir_perturbed *perturbed = nadir_kernel_perturbed(*kernel);
    const int threads = nadir_threads_for(context, perturbable->entries);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < perturbable->count; i++) {
        const int64_t row = nadir_perturbable_rows_row(perturbable, i);
        const nadir_row nominal = nadir_model_row(model, row);
        const bool all = nadir_perturbable_rows_length(perturbable, i) == nominal.count;
        double *values =
            perturbed->values + (model->dense != NULL ? row * model->states : model->row_starts[row]);
        const double *next = X + perturbable->starts[i];
        for (int64_t j = 0; j < nominal.count; j++) {
            values[j] = all || nominal.values[j] > 0 ? *next++ : 0;
        }
        perturbed->nominal[row] = false;
    }
    return NADIR_OK;
}

/* X as a kernel with rows of its own. */
static nadir_status write_kernel(nadir_context *context, nadir_model *model,
                                 const nadir_perturbable_rows *perturbable, const double *X,
                                 nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    int64_t *starts = NULL;
    int32_t *columns = NULL;
    double *values = NULL;
    int64_t next = 0;
    NADIR_NEW(context, starts, perturbable->count + 1);
    NADIR_NEW(context, columns, perturbable->entries);
    NADIR_NEW(context, values, perturbable->entries);
    starts[0] = 0;
    for (int64_t i = 0; i < perturbable->count; i++) {
        for (int64_t j = 0; j < nadir_perturbable_rows_length(perturbable, i); j++) {
            columns[next] = (int32_t)nadir_perturbable_rows_column(perturbable, i, j);
            values[next] = X[perturbable->starts[i] + j];
            next += values[next] != 0;
        }
        starts[i + 1] = next;
    }
    const nadir_changed_rows changed = {perturbable->count, perturbable->rows, starts, columns, values};
    NADIR_CHECK(nadir_kernel_create_changed(context, model, &changed, kernel));
cleanup:
    nadir_release(context, starts);
    nadir_release(context, columns);
    nadir_release(context, values);
    return status;
}

/* X with a kernel of these rows: the one given, if that has them and outlives the point. Where all entries of a
 * sparse model are perturbable X is the values of the kernel, otherwise an array of its own. */
static nadir_status write_point(nadir_context *context, const nadir_kernel *kernel, const bool *nominal,
                                nadir_expansion_point *point)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *perturbable = point->perturbable;
    nadir_model *model = point->problem.model;
    const bool lasts = point->start != NULL;
    const bool stored = perturbable->own_phat == NULL && !lasts;
    double *X;
    bool same;
    if (stored) {
        NADIR_CHECK(nadir_kernel_create_blank(context, model, false, &point->kernel));
        const nadir_perturbed *perturbed = nadir_kernel_perturbed(point->kernel);
        memset(perturbed->nominal, 0, (size_t)model->rows * sizeof *perturbed->nominal);
        X = perturbed->values;
    } else {
        NADIR_NEW(context, point->own_X, perturbable->entries);
        X = point->own_X;
    }
    point->X = X;
    NADIR_CHECK(take_rows(context, perturbable, kernel, nominal, X, &same));
    if (!stored && !(same && lasts)) {
        if (!perturbable->open &&
            (model->dense != NULL || point->problem.uncertainty->domain == NADIR_DOMAIN_SUPPORT)) {
            NADIR_CHECK(write_values(context, model, perturbable, X, &point->kernel));
        } else {
            NADIR_CHECK(write_kernel(context, model, perturbable, X, &point->kernel));
        }
    }
    point->problem.kernel = point->kernel != NULL ? point->kernel : kernel;
cleanup:
    return status;
}

nadir_status nadir_expansion_point_make(nadir_context *context, const nadir_problem *problem,
                                        const nadir_perturbable_rows *perturbable, const nadir_kernel *kernel,
                                        const bool *nominal, const nadir_candidate *start,
                                        nadir_expansion_point *point)
{
    nadir_status status = NADIR_OK;
    nadir_kernel_size size;
    *point = (nadir_expansion_point){.perturbable = perturbable, .problem = *problem, .start = start};
    point->X = perturbable->phat;
    if (kernel != NULL) {
        NADIR_CHECK(write_point(context, kernel, nominal, point));
        NADIR_CHECK(start != NULL
                        ? nadir_occupancy_perturb(context, problem->occupancy, point->problem.kernel,
                                                  problem->policy, &point->occupancy)
                        : nadir_occupancy_create_like(
                              context, problem->occupancy, point->problem.kernel, problem->policy,
                              fmin(TOLERANCE, nadir_occupancy_tolerance(problem->occupancy)),
                              &point->occupancy));
        point->problem.occupancy = point->occupancy;
    }
    if (kernel != NULL && problem->landing != 0) {
        NADIR_NEW(context, point->own_R, problem->states);
        nadir_kernel_rewards(context, point->problem.kernel, problem->policy, problem->sign, point->own_R);
        point->problem.R = point->own_R;
    }
    nadir_kernel_measure(context, point->problem.kernel, &size);
    point->sum_off = fmax(fabs(1 - size.sum_low), fabs(size.sum_high - 1));
    point->known = nadir_verified_solver_make(context, &point->problem);
    point->total = nadir_expansion_point_total(context, problem);
cleanup:
    if (status != NADIR_OK) {
        nadir_expansion_point_clear(context, point);
    }
    return status;
}

/* One column x of D: subtracts its mean, d = mu . x, and `off`, rounded up: residual, rounding of the shift,
 * and row sums. Rows of P - X have a 1-norm of at most 2 and a sum of at most sum_off; sums of pi are in
 * `total`. */
static void centre_column(nadir_expansion_point *point, double residual, int64_t t)
{
    const int64_t n = point->perturbable->states;
    const double gamma = point->problem.gamma;
    double *x = point->D + t * n;
    double error;
    const double visited = nadir_vector_dot(n, point->problem.mu, x, &error);
    const double whole = nadir_vector_largest(n, x);
    const double mean = nadir_vector_sum(n, x) / (double)n;
    for (int64_t s = 0; s < n; s++) {
        x[s] -= mean;
    }
    const double rest = nadir_vector_largest(n, x);
    /* the shift rounds x; row sums of P - X see all of x, and the shift */
    const double moved = nadir_round_error(2) * rest + point->sum_off * (whole + 2 * rest);
    point->d[t] = fmax(visited, 0);
    point->off[t] =
        nadir_round_up(point->total * (residual + 2 * gamma * moved) + error + fmax(-visited, 0), 8);
}

nadir_status nadir_expansion_point_occupancy(nadir_context *context, nadir_expansion_point *point)
{
    nadir_status status = NADIR_OK;
    const int64_t n = point->perturbable->states;
    nadir_solve_error enclosed;
    NADIR_NEW(context, point->d, 2 * n);
    point->off = point->d + n;
    const double *start = point->start != NULL ? point->start->d : NULL;
    NADIR_CHECK(nadir_verified_solve(context, &point->problem, &point->known, true, point->problem.mu, 0,
                                     start, 0, point->d, &enclosed));
    /* what rows of P - X that sum to sum_off instead of zero do to d_P */
    const double shift =
        nadir_round_up(point->problem.gamma * point->total * point->sum_off / point->known.gap, 8);
    point->shared = enclosed.error + shift; /* in the 1-norm */
    for (int64_t s = 0; s < n; s++) {
        point->off[s] = enclosed.error + fmax(-point->d[s], 0) + shift;
        point->d[s] = fmax(point->d[s], 0);
    }
cleanup:
    return status;
}

nadir_status nadir_expansion_point_columns(nadir_context *context, nadir_expansion_point *point)
{
    nadir_status status = NADIR_OK;
    const int64_t n = point->perturbable->states;
    double residual;
    NADIR_NEW(context, point->D, n * n);
    NADIR_NEW(context, point->d, 2 * n);
    point->off = point->d + n;
    NADIR_CHECK(
        nadir_verified_solve_columns(context, &point->problem, &point->known, n, NULL, point->D, &residual));
    const int threads = nadir_threads_for(context, 4 * n * n);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < n; t++) {
        centre_column(point, residual, t);
    }
cleanup:
    return status;
}

/* centre.c: a kernel of the set with the columns of its D; see centre.h. */
#include "adversary/proof/expansion_point.h"

#include "kernel/explicit.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define TOLERANCE 1e-12 /* of iterative solves, at most */
#define UNIT      (DBL_EPSILON / 2)
#define UNVISITED 1e-12 /* a share of all visits below which a state counts as not visited */
/* Rows that sum to one like this need not be made to: how far they are off is measured. */
#define DISTRIBUTION 1e-14

void nadir_expansion_point_clear(nadir_context *context, nadir_expansion_point *centre)
{
    nadir_occupancy_free(context, centre->occupancy);
    nadir_kernel_free(centre->kernel);
    nadir_release(context, centre->own_X);
    nadir_release(context, centre->D);
    nadir_release(context, centre->d);
    *centre = (nadir_expansion_point){0};
}

/* (1 - gamma max_s sum_a pi) sum d_P <= sum mu. */
double nadir_expansion_point_total(const nadir_context *context, const nadir_problem *problem)
{
    const int64_t *state_rows = problem->model->state_rows;
    const int threads = nadir_threads_for(context, problem->rows);
    double high = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : high)
    for (int64_t s = 0; s < problem->states; s++) {
        high = fmax(high, nadir_vector_sum(state_rows[s + 1] - state_rows[s],
                                           problem->policy->probabilities + state_rows[s]));
    }
    high = nadir_allreduce_maximum(context, high);
    const double gap = 1 - problem->gamma * high * (1 + 4 * UNIT) - 2 * UNIT;
    const double mass = nadir_global_sum(context, problem->states, problem->mu);
    return gap > 0 ? mass / gap * (1 + 8 * UNIT) : INFINITY;
}

/* A row with the entries X as a distribution; sum: of them. */
static void take_sum(const nadir_perturbable_rows *live, int64_t i, double sum, double *X)
{
    const int64_t length = nadir_perturbable_rows_length(live, i);
    if (sum > 0.5) {
        nadir_vector_divide(length, sum, X);
    } else {
        memcpy(X, live->phat + live->starts[i], (size_t)length * sizeof *X);
    }
}

/* The entries of one row all of whose states are allowed: what is negative counts as nothing. True: it is
 * taken as it is. */
static bool take_whole(const nadir_perturbable_rows *live, int64_t i, const double *row, double *restrict X)
{
    const int64_t length = nadir_perturbable_rows_length(live, i);
    const double sum = nadir_vector_norm_1(length, row);
    if (fabs(sum - 1) <= DISTRIBUTION && nadir_vector_smallest(length, row) >= 0) {
        memcpy(X, row, (size_t)length * sizeof *X);
        return true;
    }
    for (int64_t t = 0; t < length; t++) {
        X[t] = row[t] > 0 ? row[t] : 0;
    }
    take_sum(live, i, nadir_vector_norm_1(length, X), X);
    return false;
}

/* The allowed entries of one row, likewise: what is not allowed counts as nothing. */
static void take_row(const nadir_perturbable_rows *live, int64_t i, const nadir_row *row, double *X)
{
    const int64_t length = nadir_perturbable_rows_length(live, i);
    int64_t place = 0;
    double sum = 0;
    memset(X, 0, (size_t)length * sizeof *X);
    for (int64_t j = 0; j < row->count; j++) {
        while (place < length && nadir_perturbable_rows_column(live, i, place) < row->columns[j]) {
            place++;
        }
        if (place < length && nadir_perturbable_rows_column(live, i, place) == row->columns[j] &&
            row->values[j] > 0) {
            X[place] = row->values[j];
            sum += row->values[j];
        }
    }
    take_sum(live, i, sum, X);
}

/* The same of a row that has its numbers in the places of the model's, all of which are allowed. False: it
 * is none. */
static bool take_stored(const nadir_perturbable_rows *live, int64_t i, const nadir_explicit *rows, double *X)
{
    const double *values = nadir_kernel_on_support(rows->kernel, nadir_perturbable_rows_row(live, i));
    const nadir_model *model = nadir_kernel_model(rows->kernel);
    const int64_t length = nadir_perturbable_rows_length(live, i);
    if (values == NULL || length != nadir_model_row(model, nadir_perturbable_rows_row(live, i)).count) {
        return false;
    }
    double sum = 0;
    for (int64_t j = 0; j < length; j++) {
        X[j] = values[j] > 0 ? values[j] : 0;
        sum += X[j];
    }
    take_sum(live, i, sum, X);
    return true;
}

/* *same: the live rows are those of the kernel. */
static nadir_status take_rows(nadir_context *context, const nadir_perturbable_rows *live,
                              const nadir_kernel *kernel, const bool *nominal, double *X, bool *same)
{
    nadir_status status = NADIR_OK;
    nadir_explicit rows = {0};
    memcpy(X, live->phat, (size_t)live->entries * sizeof *X);
    *same = true;
    NADIR_CHECK(nadir_explicit_make(context, kernel, &rows));
    const int threads = nadir_threads_for(context, live->entries);
    int64_t stored = 0;
    int64_t left = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : stored, left)
    for (int64_t s = 0; s < live->states; s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1] && (nominal == NULL || !nominal[s]); i++) {
            const bool taken = take_stored(live, i, &rows, X + live->starts[i]);
            stored += taken;
            left += !taken;
        }
    }
    *same = stored == 0;
    for (int64_t s = 0; s < live->states && (left > 0 || stored == 0); s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            const double *whole = nadir_explicit_dense_row(&rows, nadir_perturbable_rows_row(live, i));
            if (nominal != NULL && nominal[s]) {
                *same = *same && nadir_kernel_is_nominal(kernel, nadir_perturbable_rows_row(live, i));
            } else if (whole != NULL && nadir_perturbable_rows_length(live, i) == live->states) {
                *same = take_whole(live, i, whole, X + live->starts[i]) && *same;
            } else if (!take_stored(live, i, &rows, X + live->starts[i])) {
                *same = false;
                const nadir_row row = nadir_explicit_row(&rows, nadir_perturbable_rows_row(live, i));
                take_row(live, i, &row, X + live->starts[i]);
            }
        }
    }
cleanup:
    nadir_explicit_clear(context, &rows);
    return status;
}

/* The live rows X as a kernel of a sparse model, on domain support: it has the successors of the model, and
 * need not store them. */
static nadir_status write_support(nadir_context *context, nadir_model *model,
                                  const nadir_perturbable_rows *live, const double *X, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(nadir_kernel_create_blank(context, model, false, kernel));
    const nadir_perturbed *perturbed = nadir_kernel_perturbed(*kernel);
    const int threads = nadir_threads_for(context, live->entries);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < live->count; i++) {
        const nadir_row nominal = nadir_model_row(model, nadir_perturbable_rows_row(live, i));
        double *values = perturbed->values + model->row_starts[nadir_perturbable_rows_row(live, i)];
        const double *next = X + live->starts[i];
        for (int64_t j = 0; j < nominal.count; j++) {
            values[j] = nominal.values[j] > 0 ? *next++ : 0;
        }
        perturbed->nominal[nadir_perturbable_rows_row(live, i)] = false;
    }
cleanup:
    return status;
}

/* The same of a dense model. */
static nadir_status write_dense(nadir_context *context, nadir_model *model,
                                const nadir_perturbable_rows *live, const double *X, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(nadir_kernel_create_blank(context, model, false, kernel));
    const nadir_perturbed *perturbed = nadir_kernel_perturbed(*kernel);
    for (int64_t i = 0; i < live->count; i++) {
        const int64_t length = nadir_perturbable_rows_length(live, i);
        const double *from = X + live->starts[i];
        double *values = perturbed->values + nadir_perturbable_rows_row(live, i) * model->states;
        if (length == model->states) {
            memcpy(values, from, (size_t)length * sizeof *values);
        } else {
            memset(values, 0, (size_t)model->states * sizeof *values);
            for (int64_t j = 0; j < length; j++) {
                values[nadir_perturbable_rows_column(live, i, j)] = from[j];
            }
        }
        perturbed->nominal[nadir_perturbable_rows_row(live, i)] = false;
    }
cleanup:
    return status;
}

/* The live rows X as a kernel. */
static nadir_status write_kernel(nadir_context *context, nadir_model *model,
                                 const nadir_perturbable_rows *live, const double *X, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    int64_t *starts = NULL;
    int32_t *columns = NULL;
    double *values = NULL;
    int64_t next = 0;
    NADIR_NEW(context, starts, live->count + 1);
    NADIR_NEW(context, columns, live->entries);
    NADIR_NEW(context, values, live->entries);
    starts[0] = 0;
    for (int64_t i = 0; i < live->count; i++) {
        for (int64_t j = 0; j < nadir_perturbable_rows_length(live, i); j++) {
            columns[next] = (int32_t)nadir_perturbable_rows_column(live, i, j);
            values[next] = X[live->starts[i] + j];
            next += values[next] != 0;
        }
        starts[i + 1] = next;
    }
    const nadir_changed_rows changed = {live->count, live->rows, starts, columns, values};
    NADIR_CHECK(nadir_kernel_create_changed(context, model, &changed, kernel));
cleanup:
    nadir_release(context, starts);
    nadir_release(context, columns);
    nadir_release(context, values);
    return status;
}

/* X as the numbers of a kernel, where all entries of a sparse model are live. */
static nadir_status write_in_place(nadir_context *context, const nadir_kernel *kernel, const bool *nominal,
                                   nadir_expansion_point *centre)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = centre->problem.model;
    bool same;
    NADIR_CHECK(nadir_kernel_create_blank(context, model, false, &centre->kernel));
    const nadir_perturbed *perturbed = nadir_kernel_perturbed(centre->kernel);
    NADIR_CHECK(take_rows(context, centre->live, kernel, nominal, perturbed->values, &same));
    memset(perturbed->nominal, 0, (size_t)model->rows * sizeof *perturbed->nominal);
    centre->X = perturbed->values;
    centre->problem.kernel = centre->kernel;
cleanup:
    return status;
}

/* X beside a kernel, which is the one given if that has these rows and is `near`: what is near outlives this.
 */
static nadir_status write_rows(nadir_context *context, const nadir_kernel *kernel, const bool *nominal,
                               bool near, nadir_expansion_point *centre)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = centre->problem.model;
    const bool dense = model->dense != NULL;
    const bool support = !dense && centre->problem.uncertainty->domain == NADIR_DOMAIN_SUPPORT;
    bool same;
    NADIR_NEW(context, centre->own_X, centre->live->entries);
    centre->X = centre->own_X;
    NADIR_CHECK(take_rows(context, centre->live, kernel, nominal, centre->own_X, &same));
    centre->problem.kernel = kernel;
    if (!(same && near)) {
        NADIR_CHECK((dense     ? write_dense
                     : support ? write_support
                               : write_kernel)(context, model, centre->live, centre->X, &centre->kernel));
        centre->problem.kernel = centre->kernel;
    }
cleanup:
    return status;
}

static nadir_status make(nadir_context *context, const nadir_problem *problem,
                         const nadir_perturbable_rows *live, const nadir_kernel *kernel, const bool *nominal,
                         bool near, nadir_expansion_point *centre)
{
    nadir_status status = NADIR_OK;
    nadir_kernel_size size;
    *centre = (nadir_expansion_point){.live = live, .problem = *problem};
    centre->problem.kernel = problem->kernel;
    centre->X = live->phat;
    if (kernel != NULL && live->own_phat == NULL && !near) {
        NADIR_CHECK(write_in_place(context, kernel, nominal, centre));
    } else if (kernel != NULL) {
        NADIR_CHECK(write_rows(context, kernel, nominal, near, centre));
    }
    if (kernel != NULL) {
        NADIR_CHECK(near ? nadir_occupancy_perturb(context, problem->occupancy, centre->problem.kernel,
                                                   problem->policy, &centre->occupancy)
                         : nadir_occupancy_create_like(
                               context, problem->occupancy, centre->problem.kernel, problem->policy,
                               fmin(TOLERANCE, nadir_occupancy_tolerance(problem->occupancy)),
                               &centre->occupancy));
        centre->problem.occupancy = centre->occupancy;
    }
    nadir_kernel_measure(context, centre->problem.kernel, &size);
    centre->sum_off = fmax(fabs(1 - size.sum_low), fabs(size.sum_high - 1));
    centre->known = nadir_verified_solver_make(context, &centre->problem);
    centre->total = nadir_expansion_point_total(context, problem);
cleanup:
    if (status != NADIR_OK) {
        nadir_expansion_point_clear(context, centre);
    }
    return status;
}

nadir_status nadir_expansion_point_make(nadir_context *context, const nadir_problem *problem,
                                        const nadir_perturbable_rows *live, const nadir_kernel *kernel,
                                        const bool *nominal, nadir_expansion_point *centre)
{
    return make(context, problem, live, kernel, nominal, false, centre);
}

nadir_status nadir_expansion_point_make_near(nadir_context *context, const nadir_problem *problem,
                                             const nadir_perturbable_rows *live, const nadir_attack *attack,
                                             const bool *nominal, nadir_expansion_point *centre)
{
    const nadir_status status = make(context, problem, live, attack->kernel, nominal, true, centre);
    centre->near = attack;
    return status;
}

/* x = D b, or D^T b: from `near`, [states], unless that is NULL. */
static nadir_status solve(nadir_context *context, const nadir_expansion_point *centre, bool transposed,
                          const double *b, const double *near, double *x, nadir_solve_error *enclosed)
{
    if (near == NULL) {
        return nadir_verified_solve(context, &centre->problem, &centre->known, transposed, b, 0, x, enclosed);
    }
    memcpy(x, near, (size_t)centre->live->states * sizeof *x);
    return nadir_verified_solve_from(context, &centre->problem, &centre->known, transposed, b, 0, 0, x,
                                     enclosed);
}

nadir_status nadir_expansion_point_value(nadir_context *context, const nadir_expansion_point *centre,
                                         double *v, nadir_solve_error *enclosed)
{
    const double *near = centre->near != NULL ? centre->near->v : NULL;
    return solve(context, centre, false, centre->problem.R, near, v, enclosed);
}

/* One column x of D: its mean taken off, mu . x and what all of it is off by. P - X has a 1-norm of 2 at most
 * in each row, and sums to sum_off; sums of pi are in `total`. */
static void centre_column(nadir_expansion_point *centre, double residual, int64_t t)
{
    const int64_t n = centre->live->states;
    const double gamma = centre->problem.gamma;
    double *x = centre->D + t * n;
    double error;
    const double visits = nadir_vector_dot(n, centre->problem.mu, x, &error);
    const double whole = nadir_vector_largest(n, x);
    const double mean = nadir_vector_sum(n, x) / (double)n;
    for (int64_t s = 0; s < n; s++) {
        x[s] -= mean;
    }
    const double rest = nadir_vector_largest(n, x);
    const double moved = 2 * UNIT * rest + centre->sum_off * (whole + 2 * rest);
    centre->d[t] = fmax(visits, 0);
    centre->off[t] =
        (centre->total * (residual + 2 * gamma * moved) + error + fmax(-visits, 0)) * (1 + 8 * UNIT);
}

nadir_status nadir_expansion_point_occupancy(nadir_context *context, nadir_expansion_point *centre)
{
    nadir_status status = NADIR_OK;
    const int64_t n = centre->live->states;
    nadir_solve_error enclosed;
    NADIR_NEW(context, centre->d, 2 * n);
    centre->off = centre->d + n;
    const double *near = centre->near != NULL ? centre->near->d : NULL;
    NADIR_CHECK(solve(context, centre, true, centre->problem.mu, near, centre->d, &enclosed));
    centre->shared = enclosed.error; /* in the 1-norm */
    for (int64_t s = 0; s < n; s++) {
        centre->off[s] = enclosed.error + fmax(-centre->d[s], 0);
        centre->d[s] = fmax(centre->d[s], 0);
    }
cleanup:
    return status;
}

void nadir_expansion_point_shift(nadir_expansion_point *centre)
{
    const double shift =
        centre->problem.gamma * centre->total * centre->sum_off / centre->known.gap * (1 + 8 * UNIT);
    centre->shared += shift;
    for (int64_t s = 0; s < centre->live->states; s++) {
        centre->off[s] += shift;
    }
}

nadir_status nadir_expansion_point_unvisited(nadir_context *context, const nadir_problem *problem,
                                             const nadir_kernel *kernel, const double *visits,
                                             bool *unvisited)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy *occupancy = NULL;
    double *made = NULL;
    const double total = nadir_expansion_point_total(context, problem);
    if (visits == NULL) {
        NADIR_NEW(context, made, problem->states);
        NADIR_CHECK(
            nadir_occupancy_perturb(context, problem->occupancy, kernel, problem->policy, &occupancy));
        NADIR_CHECK(nadir_occupancy_solve_transposed(context, occupancy, 1, problem->mu, made, NULL));
        visits = made;
    }
    for (int64_t s = 0; s < problem->states; s++) {
        unvisited[s] = !(visits[s] > UNVISITED * total);
    }
cleanup:
    nadir_occupancy_free(context, occupancy);
    nadir_release(context, made);
    return status;
}

nadir_status nadir_expansion_point_columns(nadir_context *context, nadir_expansion_point *centre)
{
    nadir_status status = NADIR_OK;
    const int64_t n = centre->live->states;
    double residual;
    NADIR_NEW(context, centre->D, n * n);
    NADIR_NEW(context, centre->d, 2 * n);
    centre->off = centre->d + n;
    NADIR_CHECK(nadir_verified_solve_columns(context, &centre->problem, &centre->known, n, NULL, centre->D,
                                             &residual));
    const int threads = nadir_threads_for(context, 4 * n * n);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < n; t++) {
        centre_column(centre, residual, t);
    }
cleanup:
    return status;
}

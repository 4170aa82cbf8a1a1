/* perturbable_rows.c: the rows that the adversary can change, the states that are reachable then, and kernels
 * of the set with the columns of their D; see perturbable_rows.h. */
#include "proof/perturbable_rows.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "model/kernel.h"
#include "model/landing.h"

#include <math.h>
#include <string.h>

void nadir_perturbable_rows_clear(nadir_context *context, nadir_perturbable_rows *perturbable)
{
    nadir_release(context, perturbable->own_rows);
    nadir_release(context, perturbable->own_first);
    nadir_release(context, perturbable->own_starts);
    nadir_release(context, perturbable->own_columns);
    nadir_release(context, perturbable->own_phat);
    nadir_release(context, perturbable->own_alpha);
    nadir_release(context, perturbable->own_pi);
    nadir_release(context, perturbable->landing);
    *perturbable = (nadir_perturbable_rows){0};
}

/* How many successors the domain allows a row. */
static int64_t count_allowed(const nadir_problem *problem, int64_t row)
{
    if (problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX) {
        return problem->states;
    }
    const nadir_row nominal = nadir_model_row(problem->model, row);
    int64_t count = 0;
    for (int64_t j = 0; j < nominal.count; j++) {
        count += nominal.values[j] > 0;
    }
    return count;
}

/* Whether a row has a positive scale and a positive probability under the policy. */
static bool can_change(const nadir_problem *problem, int64_t row)
{
    return nadir_uncertainty_scale(problem->uncertainty, row) > 0 && problem->policy->probabilities[row] > 0;
}

/* Entries of a perturbable row; 0: it is not perturbable. */
static int64_t live_entries(const nadir_problem *problem, int64_t row)
{
    const int64_t allowed = can_change(problem, row) ? count_allowed(problem, row) : 0;
    return allowed > 1 ? allowed : 0;
}

/* Sizes; returns whether a row does not allow everything. */
static bool count_rows(const nadir_context *context, const nadir_problem *problem,
                       nadir_perturbable_rows *perturbable)
{
    const int64_t rows = problem->rows;
    const int threads = nadir_threads_for(context, problem->model->nonzeros);
    int64_t count = 0;
    int64_t entries = 0;
    bool listed = false;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : count, entries) reduction(|| : listed)
    for (int64_t row = 0; row < rows; row++) {
        const int64_t allowed = live_entries(problem, row);
        count += allowed > 0;
        entries += allowed;
        listed = listed || (allowed > 0 && allowed < problem->states);
    }
    perturbable->count = count;
    perturbable->entries = entries;
    return listed;
}

/* The perturbable rows of all states, and where their entries begin. */
static nadir_status list_rows(nadir_context *context, const nadir_problem *problem,
                              nadir_perturbable_rows *perturbable)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    int64_t count = 0;
    int64_t entries = 0;
    NADIR_NEW(context, perturbable->own_rows, perturbable->count);
    NADIR_NEW(context, perturbable->own_first, problem->states + 1);
    NADIR_NEW(context, perturbable->own_starts, perturbable->count + 1);
    NADIR_NEW(context, perturbable->own_alpha, perturbable->count);
    NADIR_NEW(context, perturbable->own_pi, perturbable->count);
    for (int64_t s = 0; s < problem->states; s++) {
        perturbable->own_first[s] = count;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const int64_t allowed = live_entries(problem, row);
            if (allowed > 0) {
                perturbable->own_rows[count] = row;
                perturbable->own_alpha[count] = nadir_uncertainty_scale(problem->uncertainty, row);
                perturbable->own_pi[count] = problem->policy->probabilities[row];
                perturbable->own_starts[count++] = entries;
                entries += allowed;
            }
        }
    }
    perturbable->own_first[problem->states] = count;
    perturbable->own_starts[count] = entries;
    perturbable->rows = perturbable->own_rows;
    perturbable->first = perturbable->own_first;
    perturbable->starts = perturbable->own_starts;
    perturbable->alpha = perturbable->own_alpha;
    perturbable->pi = perturbable->own_pi;
cleanup:
    return status;
}

/* Nominal numbers, and where they stand. */
static void fill_row(const nadir_problem *problem, int64_t i, nadir_perturbable_rows *perturbable)
{
    const nadir_row nominal = nadir_model_row(problem->model, nadir_perturbable_rows_row(perturbable, i));
    double *phat = perturbable->own_phat + perturbable->starts[i];
    int64_t next = 0;
    if (perturbable->own_columns == NULL) {
        memset(phat, 0, (size_t)perturbable->states * sizeof *phat);
    }
    for (int64_t j = 0; j < nominal.count; j++) {
        const int64_t column = nadir_row_column(&nominal, j);
        if (perturbable->own_columns == NULL) {
            phat[column] = nominal.values[j];
        } else if (nominal.values[j] > 0) {
            perturbable->own_columns[perturbable->starts[i] + next] = (int32_t)column;
            phat[next++] = nominal.values[j];
        }
    }
}

/* Whether the entries are all those of a sparse model, in its order. */
static bool holds_all(const nadir_model *model, const nadir_perturbable_rows *perturbable)
{
    return model->dense == NULL && perturbable->count == model->rows &&
           perturbable->entries == model->row_starts[model->rows];
}

static nadir_status copy(nadir_context *context, const nadir_problem *problem, bool listed,
                         nadir_perturbable_rows *perturbable)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(context, perturbable->own_phat, perturbable->entries);
    if (listed) {
        NADIR_NEW(context, perturbable->own_columns, perturbable->entries);
    }
    perturbable->phat = perturbable->own_phat;
    perturbable->columns = perturbable->own_columns;
    for (int64_t i = 0; i < perturbable->count; i++) {
        fill_row(problem, i, perturbable);
    }
cleanup:
    return status;
}

/* What landing adds to v in every entry, where rewards are not separable. */
static nadir_status add_landing(nadir_context *context, const nadir_problem *problem,
                                nadir_perturbable_rows *perturbable)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW_ZERO(context, perturbable->landing, perturbable->entries);
    for (int64_t i = 0; i < perturbable->count; i++) {
        nadir_landing_add(problem->model, nadir_perturbable_rows_row(perturbable, i), problem->landing,
                          perturbable->columns != NULL, perturbable->landing + perturbable->starts[i]);
    }
cleanup:
    return status;
}

nadir_status nadir_perturbable_rows_make(nadir_context *context, const nadir_problem *problem,
                                         nadir_perturbable_rows *perturbable)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    *perturbable = (nadir_perturbable_rows){
        .states = problem->states, .total = nadir_model_total(model), .exchange = model->exchange};
    const bool listed = count_rows(context, problem, perturbable) || perturbable->exchange != NULL;
    if (listed && holds_all(model, perturbable)) {
        perturbable->first = model->state_rows;
        perturbable->starts = model->row_starts;
        perturbable->columns = model->columns;
        perturbable->phat = model->probabilities;
        perturbable->alpha = problem->uncertainty->scales;
        perturbable->pi = problem->policy->probabilities;
    } else {
        NADIR_CHECK(list_rows(context, problem, perturbable));
        NADIR_CHECK(copy(context, problem, listed, perturbable));
    }
    if (problem->landing != 0) {
        NADIR_CHECK(add_landing(context, problem, perturbable));
    }
cleanup:
    if (status != NADIR_OK) {
        nadir_perturbable_rows_clear(context, perturbable);
    }
    return status;
}

/*
 * Which states some kernel of the set visits.
 *
 * They are followed from the initial states: along nominal transitions or, on domain simplex, from any row
 * that can be moved, which can lead anywhere. With several processes each one follows the transitions of the
 * states that it has; those that lead to states of others are told to them, and so on until nobody has learnt
 * anything new. There are as many rounds as a path changes processes.
 */

typedef struct walk {
    const nadir_problem *problem;
    bool *seen;     /* [width] */
    int32_t *queue; /* [width] */
    int64_t width;  /* states and ghosts */
    int64_t next, length;
} walk;

static void see(walk *self, int64_t state)
{
    if (!self->seen[state]) {
        self->seen[state] = true;
        self->queue[self->length++] = (int32_t)state;
    }
}

/* What the rows of a state lead to. */
static void follow(walk *self, int64_t state)
{
    const nadir_problem *problem = self->problem;
    const nadir_model *model = problem->model;
    const bool anywhere = problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX;
    for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
        if (!(problem->policy->probabilities[row] > 0)) {
            continue;
        }
        const bool all = anywhere && can_change(problem, row);
        const nadir_row nominal = nadir_model_row(model, row);
        const int64_t count = all ? problem->states : nominal.count;
        for (int64_t j = 0; j < count && self->length < self->width; j++) {
            if (all || nominal.values[j] > 0) {
                see(self, all ? j : nadir_row_column(&nominal, j));
            }
        }
    }
}

/* told: [width] work space. */
static void tell(walk *self, double *told)
{
    const nadir_exchange *exchange = self->problem->model->exchange;
    const int64_t n = self->problem->states;
    memset(told, 0, (size_t)n * sizeof *told);
    for (int64_t t = n; t < n + exchange->ghosts; t++) {
        told[t] = self->seen[t] ? 1 : 0;
    }
    exchange->table->add(exchange->table->self, exchange->plan, told + n, told);
    for (int64_t s = 0; s < n; s++) {
        if (told[s] > 0) {
            see(self, s);
        }
    }
}

nadir_status nadir_reachable_states(nadir_context *context, const nadir_problem *problem, bool *reach)
{
    nadir_status status = NADIR_OK;
    const bool spread = problem->model->exchange != NULL;
    walk self = {.problem = problem, .width = nadir_model_width(problem->model)};
    double *told = NULL;
    bool settled = true;
    NADIR_NEW_ZERO(context, self.seen, self.width);
    NADIR_NEW(context, self.queue, self.width);
    NADIR_NEW(context, told, spread ? self.width : 0);
    for (int64_t s = 0; s < problem->states; s++) {
        if (problem->mu[s] > 0) {
            see(&self, s);
        }
    }
    do {
        for (; self.next < self.length && (spread || self.length < self.width); self.next++) {
            if (self.queue[self.next] < problem->states) {
                follow(&self, self.queue[self.next]);
            }
        }
        if (spread) {
            tell(&self, told);
            settled = nadir_allreduce_and(context, self.next == self.length);
        }
    } while (!settled);
    memcpy(reach, self.seen, (size_t)problem->states * sizeof *reach);
cleanup:
    nadir_release(context, self.seen);
    nadir_release(context, self.queue);
    nadir_release(context, told);
    return status;
}

/* A kernel of the set with the columns of its D. */

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
        if (model->dense != NULL || point->problem.uncertainty->domain == NADIR_DOMAIN_SUPPORT) {
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

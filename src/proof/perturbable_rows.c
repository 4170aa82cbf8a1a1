/* perturbable_rows.c: the rows that the adversary can change, and the states that are reachable then; see
 * perturbable_rows.h. */
#include "proof/perturbable_rows.h"

#include "linalg/distributed.h"
#include "linalg/threads.h"
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
    nadir_release(context, perturbable->squares);
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

/* Squares of the weights, in the order of the entries. */
static nadir_status add_squares(nadir_context *context, const nadir_problem *problem,
                                nadir_perturbable_rows *perturbable)
{
    nadir_status status = NADIR_OK;
    const double *weights = problem->uncertainty->weights;
    NADIR_NEW(context, perturbable->squares, perturbable->entries);
    for (int64_t i = 0; i < perturbable->count; i++) {
        const int64_t row = nadir_perturbable_rows_row(perturbable, i);
        const int64_t start = nadir_landing_entry(problem->model, row);
        const nadir_row nominal = nadir_model_row(problem->model, row);
        int64_t next = perturbable->starts[i];
        for (int64_t j = 0; j < nominal.count; j++) {
            if (nominal.values[j] > 0) {
                perturbable->squares[next++] = weights[start + j] * weights[start + j];
            }
        }
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
    if (problem->uncertainty->weights != NULL) {
        NADIR_CHECK(add_squares(context, problem, perturbable));
    }
cleanup:
    if (status != NADIR_OK) {
        nadir_perturbable_rows_clear(context, perturbable);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------- open rows */

bool nadir_perturbable_rows_must_be_open(const nadir_problem *problem)
{
    const nadir_model *model = problem->model;
    return problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX && model->dense == NULL &&
           model->exchange == NULL && problem->landing == 0 &&
           (double)problem->rows * (double)problem->states > NADIR_LISTED_ENTRIES;
}

/* Lists the positive entries of the nominal row and of the candidate's by rising column, unless columns is NULL; both have
 * rising columns. Returns how many. */
static int64_t join_rows(const nadir_row *nominal, const nadir_row *own, int32_t *columns, double *phat)
{
    int64_t count = 0;
    int64_t j = 0;
    for (int64_t i = 0; i < nominal->count || j < own->count;) {
        const int64_t left = i < nominal->count ? nadir_row_column(nominal, i) : INT64_MAX;
        const int64_t right = j < own->count ? own->columns[j] : INT64_MAX;
        const int64_t column = left < right ? left : right;
        const double value = left == column ? nominal->values[i] : 0;
        const bool positive = value > 0 || (right == column && own->values[j] > 0);
        i += left == column;
        j += right == column;
        if (positive && columns != NULL) {
            columns[count] = (int32_t)column;
            phat[count] = value;
        }
        count += positive;
    }
    return count;
}

/* Goes through all perturbable rows: counts their entries, or writes them. */
static void list_open(const nadir_problem *problem, nadir_explicit *rows, bool write,
                      nadir_perturbable_rows *perturbable)
{
    int64_t entries = 0;
    for (int64_t i = 0; i < perturbable->count; i++) {
        const int64_t row = perturbable->own_rows[i];
        const nadir_row nominal = nadir_model_row(problem->model, row);
        const nadir_row own = nadir_explicit_row(rows, row);
        perturbable->own_starts[i] = entries;
        entries += join_rows(&nominal, &own, write ? perturbable->own_columns + entries : NULL,
                             write ? perturbable->own_phat + entries : NULL);
    }
    perturbable->own_starts[perturbable->count] = entries;
    perturbable->entries = entries;
}

nadir_status nadir_perturbable_rows_make_open(nadir_context *context, const nadir_problem *problem,
                                              const nadir_kernel *kernel, nadir_perturbable_rows *perturbable)
{
    nadir_status status = NADIR_OK;
    nadir_explicit rows = {0};
    *perturbable =
        (nadir_perturbable_rows){.states = problem->states, .total = problem->states, .open = true};
    (void)count_rows(context, problem, perturbable);
    NADIR_CHECK(list_rows(context, problem, perturbable));
    NADIR_CHECK(nadir_explicit_make(context, kernel, &rows));
    list_open(problem, &rows, false, perturbable);
    NADIR_NEW(context, perturbable->own_phat, perturbable->entries);
    NADIR_NEW(context, perturbable->own_columns, perturbable->entries);
    list_open(problem, &rows, true, perturbable);
    perturbable->phat = perturbable->own_phat;
    perturbable->columns = perturbable->own_columns;
cleanup:
    nadir_explicit_clear(context, &rows);
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

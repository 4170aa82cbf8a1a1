/* live.c: the rows that the adversary can use; see live.h. */
#include "adversary/valid/live.h"

#include "linalg/threads.h"

#include <string.h>

void nadir_live_clear(nadir_context *context, nadir_live *live)
{
    nadir_release(context, live->rows);
    nadir_release(context, live->first);
    nadir_release(context, live->starts);
    nadir_release(context, live->own_columns);
    nadir_release(context, live->own_phat);
    nadir_release(context, live->alpha);
    nadir_release(context, live->pi);
    *live = (nadir_live){0};
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

static bool can_move(const nadir_problem *problem, int64_t row)
{
    return nadir_uncertainty_scale(problem->uncertainty, row) > 0 && problem->policy->probabilities[row] > 0;
}

/* Sizes, and whether a row does not allow everything. starts: of the rows found, as they come. pi, [rows],
 * has what each row allows until the rows found take its place. */
static bool find_rows(const nadir_context *context, const nadir_problem *problem, nadir_live *live)
{
    const nadir_model *model = problem->model;
    const int threads = nadir_threads_for(context, model->nonzeros);
    bool listed = false;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < model->rows; row++) {
        live->pi[row] = can_move(problem, row) ? (double)count_allowed(problem, row) : 0;
    }
    live->starts[0] = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        live->first[s] = live->count;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const int64_t allowed = (int64_t)live->pi[row];
            if (allowed > 1) {
                live->rows[live->count] = row;
                live->alpha[live->count] = nadir_uncertainty_scale(problem->uncertainty, row);
                live->pi[live->count] = problem->policy->probabilities[row];
                live->entries += allowed;
                live->starts[++live->count] = live->entries;
                listed = listed || allowed < problem->states;
            }
        }
    }
    live->first[problem->states] = live->count;
    return listed;
}

/* Nominal numbers, and where they stand. */
static void fill_row(const nadir_problem *problem, int64_t i, nadir_live *live)
{
    const nadir_row nominal = nadir_model_row(problem->model, live->rows[i]);
    double *phat = live->own_phat + live->starts[i];
    int64_t next = 0;
    if (live->own_columns == NULL) {
        memset(phat, 0, (size_t)live->states * sizeof *phat);
    }
    for (int64_t j = 0; j < nominal.count; j++) {
        const int64_t column = nadir_row_column(&nominal, j);
        if (live->own_columns == NULL) {
            phat[column] = nominal.values[j];
        } else if (nominal.values[j] > 0) {
            live->own_columns[live->starts[i] + next] = (int32_t)column;
            phat[next++] = nominal.values[j];
        }
    }
}

/* Whether the entries are all those of a sparse model, in its order. */
static bool holds_all(const nadir_model *model, const nadir_live *live)
{
    return model->dense == NULL && live->count == model->rows &&
           live->entries == model->row_starts[model->rows];
}

static nadir_status copy(nadir_context *context, const nadir_problem *problem, bool listed, nadir_live *live)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(context, live->own_phat, live->entries);
    if (listed) {
        NADIR_NEW(context, live->own_columns, live->entries);
    }
    live->phat = live->own_phat;
    live->columns = live->own_columns;
    for (int64_t i = 0; i < live->count; i++) {
        fill_row(problem, i, live);
    }
cleanup:
    return status;
}

nadir_status nadir_live_make(nadir_context *context, const nadir_problem *problem, nadir_live *live)
{
    nadir_status status = NADIR_OK;
    const int64_t rows = problem->rows;
    *live = (nadir_live){.states = problem->states,
                         .total = nadir_model_total(problem->model),
                         .exchange = problem->model->exchange};
    NADIR_NEW(context, live->rows, rows);
    NADIR_NEW(context, live->first, problem->states + 1);
    NADIR_NEW(context, live->starts, rows + 1);
    NADIR_NEW(context, live->alpha, rows);
    NADIR_NEW(context, live->pi, rows);
    const bool listed = find_rows(context, problem, live) || live->exchange != NULL;
    if (listed && holds_all(problem->model, live)) {
        live->columns = problem->model->columns;
        live->phat = problem->model->probabilities;
    } else {
        NADIR_CHECK(copy(context, problem, listed, live));
    }
cleanup:
    if (status != NADIR_OK) {
        nadir_live_clear(context, live);
    }
    return status;
}

/* Marks the successors of a state; returns how many were new, after those in queue[0 .. end - 1]. */
static int64_t mark_successors(const nadir_problem *problem, int64_t state, bool *reach, int64_t *queue,
                               int64_t end)
{
    const nadir_model *model = problem->model;
    const bool anywhere = problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX;
    for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
        if (!(problem->policy->probabilities[row] > 0)) {
            continue;
        }
        const bool all = anywhere && can_move(problem, row);
        const nadir_row nominal = nadir_model_row(model, row);
        const int64_t count = all ? problem->states : nominal.count;
        for (int64_t j = 0; j < count && end < problem->states; j++) {
            const int64_t t = all ? j : nadir_row_column(&nominal, j);
            if (!reach[t] && (all || nominal.values[j] > 0)) {
                reach[t] = true;
                queue[end++] = t;
            }
        }
    }
    return end;
}

nadir_status nadir_live_reach(nadir_context *context, const nadir_problem *problem, bool *reach)
{
    nadir_status status = NADIR_OK;
    int64_t *queue = NULL;
    int64_t end = 0;
    if (problem->model->exchange != NULL) {
        return nadir_live_reach_spread(context, problem, reach);
    }
    NADIR_NEW(context, queue, problem->states);
    for (int64_t s = 0; s < problem->states; s++) {
        reach[s] = problem->mu[s] > 0;
        if (reach[s]) {
            queue[end++] = s;
        }
    }
    for (int64_t i = 0; i < end; i++) {
        end = mark_successors(problem, queue[i], reach, queue, end);
    }
cleanup:
    nadir_release(context, queue);
    return status;
}

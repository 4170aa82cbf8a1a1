/* model_finish_rows.c: putting the rows of a kernel in order while a model is finished; see model.h. */
#include "model/model.h"

#include "linalg/vector.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

nadir_status nadir_row_fail(nadir_context *context, const nadir_model *model, const nadir_source *source,
                            int64_t row, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    char line[32] = "";
    if (source->row_lines != NULL && source->row_lines[row] != 0) {
        (void)snprintf(line, sizeof line, ":%u", source->row_lines[row]);
    }
    char place[NADIR_LABEL_LENGTH];
    return nadir_fail(context, NADIR_ERROR_MODEL, "%s%s: %s: %s", source->path, line,
                      nadir_model_label(model, nadir_model_row_state(model, row), row, place), sentence);
}

bool nadir_normalise(int64_t count, double *values, int64_t which, nadir_sum_report *report, double *sum)
{
    *sum = nadir_vector_sum(count, values);
    const double off = fabs(*sum - 1);
    if (!(off <= NADIR_SUM_TOLERANCE)) {
        return false;
    }
    if (off > NADIR_SUM_ROUNDING) {
        nadir_vector_divide(count, *sum, values);
    }
    if (off > NADIR_SUM_UNSAID) {
        if (report->repaired == 0 || off > fabs(report->worst_sum - 1)) {
            report->worst = which;
            report->worst_sum = *sum;
        }
        report->repaired++;
    }
    return true;
}

/* One transition while its row is sorted. */
typedef struct entry {
    int32_t column;
    int64_t order;
    double probability;
    double reward;
} entry;

static int compare_entries(const void *left, const void *right)
{
    const entry *a = left;
    const entry *b = right;
    if (a->column != b->column) {
        return a->column < b->column ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

/* What nadir_rows_finish carries from row to row. */
typedef struct row_pass {
    nadir_context *context;
    nadir_model *model;
    const nadir_source *source;
    nadir_sum_report report;
    entry *entries; /* [capacity] room to sort one row */
    size_t capacity;
} row_pass;

/* Numbers that no row may hold; `column` is the successor they stand for. */
static nadir_status check_entry(const row_pass *pass, int64_t row, int64_t column, double probability,
                                double reward)
{
    const int64_t states = nadir_model_width(pass->model);
    if (column < 0 || column >= states) {
        return nadir_row_fail(pass->context, pass->model, pass->source, row,
                              "successor %lld is not a state; states are 0 to %lld", (long long)column,
                              (long long)states - 1);
    }
    if (!(probability >= 0) || !isfinite(probability)) {
        return nadir_row_fail(pass->context, pass->model, pass->source, row,
                              "the probability of successor %lld is %g; expected a number from 0 to 1",
                              (long long)column, probability);
    }
    if (!isfinite(reward)) {
        return nadir_row_fail(pass->context, pass->model, pass->source, row,
                              "the reward with successor %lld is %g; expected a finite number",
                              (long long)column, reward);
    }
    return NADIR_OK;
}

/* Sorts count transitions from `start` on by successor and adds up those with the same one. Rewards of
 * transitions that become one are weighted by probability. Returns how many are left. */
static nadir_status sort_and_merge(row_pass *pass, int64_t start, int64_t *count)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = pass->model;
    NADIR_RESERVE(pass->context, pass->entries, *count, pass->capacity);
    entry *entries = pass->entries;
    for (int64_t i = 0; i < *count; i++) {
        const double reward = model->transition_rewards != NULL ? model->transition_rewards[start + i] : 0;
        entries[i] = (entry){model->columns[start + i], i, model->probabilities[start + i], reward};
    }
    qsort(entries, (size_t)*count, sizeof *entries, compare_entries);
    int64_t kept = 0;
    for (int64_t i = 0; i < *count; i++) {
        if (kept == 0 || entries[kept - 1].column != entries[i].column) {
            entries[kept++] = entries[i];
            continue;
        }
        entry *into = &entries[kept - 1];
        const double total = into->probability + entries[i].probability;
        if (total > 0) { /* r <- r + (r' - r) p' / (p + p'): exact when the rewards are equal */
            into->reward += (entries[i].reward - into->reward) * (entries[i].probability / total);
        }
        into->probability = total;
    }
    for (int64_t i = 0; i < kept; i++) {
        model->columns[start + i] = entries[i].column;
        model->probabilities[start + i] = entries[i].probability;
        if (model->transition_rewards != NULL) {
            model->transition_rewards[start + i] = entries[i].reward;
        }
    }
    *count = kept;
cleanup:
    return status;
}

/* The mean of rewards r under probabilities p that sum to one, as r_0 + sum p (r - r_0): exact when they are
 * all the same. */
static double mean_reward(int64_t count, const double *probabilities, const double *rewards)
{
    double first = 0;
    double excess = 0;
    bool seen = false;
    for (int64_t i = 0; i < count; i++) {
        if (probabilities[i] > 0 && !seen) {
            first = rewards[i];
            seen = true;
        } else if (probabilities[i] > 0) {
            excess += probabilities[i] * (rewards[i] - first);
        }
    }
    return first + excess;
}

/* Sum, normalisation and mean reward of a row whose entries are in place. */
static nadir_status close_row(row_pass *pass, int64_t row, int64_t start, int64_t count,
                              double *probabilities)
{
    nadir_model *model = pass->model;
    double sum;
    if (!nadir_normalise(count, probabilities + start, row, &pass->report, &sum)) {
        return nadir_row_fail(pass->context, model, pass->source, row,
                              "probabilities sum to %.10g; expected 1 (within 1e-5)", sum);
    }
    if (model->transition_rewards != NULL) {
        model->rewards[row] = mean_reward(count, probabilities + start, model->transition_rewards + start);
    }
    if (model->rewards != NULL && !isfinite(model->rewards[row])) {
        return nadir_row_fail(pass->context, model, pass->source, row,
                              "the reward is %g; expected a finite number", model->rewards[row]);
    }
    return NADIR_OK;
}

/* Moves the entries of a sparse row down to `to`, without zeros; sorted and merged if need be. */
static nadir_status finish_sparse_row(row_pass *pass, int64_t row, int64_t from, int64_t end, int64_t *to)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = pass->model;
    const int64_t start = *to;
    int64_t kept = 0;
    bool sorted = true;
    for (int64_t i = from; i < end; i++) {
        const int32_t column = model->columns[i];
        const double probability = model->probabilities[i];
        const double reward = model->transition_rewards != NULL ? model->transition_rewards[i] : 0;
        NADIR_CHECK(check_entry(pass, row, column, probability, reward));
        if (probability == 0) {
            continue;
        }
        sorted = sorted && (kept == 0 || model->columns[start + kept - 1] < column);
        if (start + kept < i) { /* a kernel that stands may be borrowed: nothing is written to it */
            model->columns[start + kept] = column;
            model->probabilities[start + kept] = probability;
            if (model->transition_rewards != NULL) {
                model->transition_rewards[start + kept] = reward;
            }
        }
        kept++;
    }
    if (!sorted) {
        NADIR_CHECK(sort_and_merge(pass, start, &kept));
    }
    NADIR_CHECK(close_row(pass, row, start, kept, model->probabilities));
    *to = start + kept;
cleanup:
    return status;
}

static nadir_status finish_sparse(row_pass *pass)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = pass->model;
    int64_t from = 0;
    int64_t to = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const int64_t end = model->row_starts[row + 1];
        NADIR_CHECK(finish_sparse_row(pass, row, from, end, &to));
        from = end;
        model->row_starts[row + 1] = to;
        if (row % 4096 == 0) {
            NADIR_CHECK(
                nadir_progress(pass->context, "checking the model", (double)row / (double)model->rows));
        }
    }
    if (to < from) { /* duplicates and zeros left room */
        NADIR_RESIZE(pass->context, model->columns, to);
        NADIR_RESIZE(pass->context, model->probabilities, to);
        if (model->transition_rewards != NULL) {
            NADIR_RESIZE(pass->context, model->transition_rewards, to);
        }
    }
    model->nonzeros = to;
cleanup:
    return status;
}

static nadir_status finish_dense(row_pass *pass)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = pass->model;
    const int64_t states = model->states;
    model->nonzeros = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const int64_t start = row * states;
        for (int64_t i = 0; i < states; i++) {
            const double reward =
                model->transition_rewards != NULL ? model->transition_rewards[start + i] : 0;
            NADIR_CHECK(check_entry(pass, row, i, model->dense[start + i], reward));
            model->nonzeros += model->dense[start + i] > 0;
        }
        NADIR_CHECK(close_row(pass, row, start, states, model->dense));
        NADIR_CHECK(nadir_progress(pass->context, "checking the model", (double)row / (double)model->rows));
    }
cleanup:
    return status;
}

nadir_status nadir_rows_finish(nadir_context *context, nadir_model *model, const nadir_source *source)
{
    nadir_status status = NADIR_OK;
    row_pass pass = {.context = context, .model = model, .source = source};
    if (model->transition_rewards != NULL && model->rewards == NULL) {
        NADIR_NEW(context, model->rewards, model->rows);
    }
    NADIR_CHECK(model->dense != NULL ? finish_dense(&pass) : finish_sparse(&pass));
    if (pass.report.repaired > 0) {
        char place[NADIR_LABEL_LENGTH];
        const int64_t row = pass.report.worst;
        nadir_log(
            context, NADIR_LOG_WARNING, "%s: %lld row%s normalised; the farthest from 1: %s, sum %.15g",
            source->path, (long long)pass.report.repaired, pass.report.repaired == 1 ? " was" : "s were",
            nadir_model_label(model, nadir_model_row_state(model, row), row, place), pass.report.worst_sum);
    }
cleanup:
    nadir_release(context, pass.entries);
    return status;
}

static bool sum_stands(int64_t count, const double *values)
{
    return fabs(nadir_vector_sum(count, values) - 1) <= NADIR_SUM_ROUNDING;
}

static bool dense_row_stands(int64_t states, const double *values, int64_t *nonzeros)
{
    bool good = true;
    int64_t positive = 0;
    for (int64_t i = 0; i < states; i++) {
        good = good && values[i] >= 0;
        positive += values[i] > 0;
    }
    *nonzeros += positive;
    return good && sum_stands(states, values);
}

/* Columns rise, nothing is zero. */
static bool sparse_row_stands(int64_t states, int64_t count, const int32_t *columns, const double *values)
{
    int32_t before = -1;
    for (int64_t i = 0; i < count; i++) {
        if (columns[i] <= before || columns[i] >= states || !(values[i] > 0)) {
            return false;
        }
        before = columns[i];
    }
    return sum_stands(count, values);
}

nadir_status nadir_rows_stand(nadir_context *context, const nadir_model_data *data, bool *stand,
                              int64_t *nonzeros)
{
    nadir_status status = NADIR_OK;
    const int64_t states = data->states;
    const int64_t *starts = data->row_starts;
    bool good = data->dense != NULL || starts[0] == 0;
    int64_t count = data->dense != NULL ? 0 : starts[data->rows];
    for (int64_t row = 0; good && row < data->rows; row++) {
        if (data->dense != NULL) {
            good = dense_row_stands(states, data->dense + row * states, &count);
        } else {
            const int64_t start = starts[row];
            const int64_t end = starts[row + 1];
            good = start <= end && end <= count &&
                   sparse_row_stands(states, end - start, data->columns + start, data->probabilities + start);
        }
        NADIR_CHECK(nadir_progress(context, "checking the model", (double)row / (double)data->rows));
    }
    *stand = good && nadir_storage_suits(data->dense != NULL, states, data->rows, count);
    *nonzeros = count;
cleanup:
    return status;
}

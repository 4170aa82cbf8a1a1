/* model_finish.c: checking a model that was filled in, and putting its rows in order; see model.h. */
#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "model/box.h"
#include "model/landing.h"
#include "model/model.h"

#include "core/round.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static nadir_status __attribute__((format(printf, 5, 6)))
row_fail(nadir_context *context, const nadir_model *model, const nadir_source *source, int64_t row,
         const char *format, ...)
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
    double lower, upper, weight;
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

/* Rewards that are given for successors of probability 0, while rows are finished: kept apart until it is known
 * whether they say anything. Those of pinned rows are not for the model, as no kernel changes these; that
 * something was lost with them is (model->pinned_zeros): a ball may have scales of its own. */
typedef struct zero_reward {
    int64_t place; /* row * width + column */
    double reward;
} zero_reward;

typedef struct zero_rewards {
    zero_reward *entries; /* [count]; the first of several for a successor holds */
    int64_t count;
    size_t capacity;
    bool wanted; /* false: rewards are frozen */
} zero_rewards;

/* What finish_rows carries from row to row. */
typedef struct row_pass {
    nadir_context *context;
    nadir_model *model;
    const nadir_source *source;
    nadir_sum_report report;
    entry *entries; /* [capacity] room to sort one row */
    size_t capacity;
    zero_rewards *zeros;
} row_pass;

static nadir_status keep_zero(row_pass *pass, int64_t row, int64_t column, double reward)
{
    nadir_status status = NADIR_OK;
    zero_rewards *zeros = pass->zeros;
    if (zeros->wanted && !isnan(reward)) {
        NADIR_RESERVE(pass->context, zeros->entries, zeros->count + 1, zeros->capacity);
        zeros->entries[zeros->count++] = (zero_reward){row * nadir_model_width(pass->model) + column, reward};
    }
cleanup:
    return status;
}

/* Numbers that no row may hold; `column` is the successor they stand for. */
static nadir_status check_entry(const row_pass *pass, int64_t row, int64_t column, double probability,
                                double reward)
{
    const int64_t states = nadir_model_width(pass->model);
    if (column < 0 || column >= states) {
        return row_fail(pass->context, pass->model, pass->source, row,
                        "successor %lld is not a state; states are 0 to %lld", (long long)column,
                        (long long)states - 1);
    }
    if (isnan(probability) && pass->model->lower != NULL) {
        return NADIR_OK; /* the box gives it */
    }
    if (!(probability >= 0) || !isfinite(probability)) {
        return row_fail(pass->context, pass->model, pass->source, row,
                        "the probability of successor %lld is %g; expected a number from 0 to 1",
                        (long long)column, probability);
    }
    if (!isfinite(reward) && !(isnan(reward) && probability == 0)) { /* NaN: not given */
        return row_fail(pass->context, pass->model, pass->source, row,
                        "the reward with successor %lld is %g; expected a finite number", (long long)column,
                        reward);
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
        entries[i] = (entry){model->columns[start + i], i, model->probabilities[start + i], reward, 0, 0, 0};
        if (model->weights != NULL) {
            entries[i].weight = model->weights[start + i];
        }
        if (model->lower != NULL) {
            entries[i].lower = model->lower[start + i];
            entries[i].upper = model->upper[start + i];
        }
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
        } else if (entries[i].reward != into->reward) {
            return nadir_fail(
                pass->context, NADIR_ERROR_MODEL,
                "%s: a successor is given twice, with rewards %g and %g, and no probabilities that "
                "would weigh them: give it once",
                pass->source->path, into->reward, entries[i].reward);
        }
        into->probability = total;
        into->lower += entries[i].lower;
        into->upper = fmin(1, into->upper + entries[i].upper);
        into->weight = fmax(into->weight, entries[i].weight);
    }
    for (int64_t i = 0; i < kept; i++) {
        model->columns[start + i] = entries[i].column;
        model->probabilities[start + i] = entries[i].probability;
        if (model->transition_rewards != NULL) {
            model->transition_rewards[start + i] = entries[i].reward;
        }
        if (model->lower != NULL) {
            model->lower[start + i] = entries[i].lower;
            model->upper[start + i] = entries[i].upper;
        }
        if (model->weights != NULL) {
            model->weights[start + i] = entries[i].weight;
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

/* An interval of a successor. */
static nadir_status check_interval(const row_pass *pass, int64_t row, int64_t i)
{
    const nadir_model *model = pass->model;
    const double lower = model->lower[i];
    const double upper = model->upper[i];
    if (lower >= 0 && lower <= upper && upper <= 1) {
        return NADIR_OK;
    }
    return row_fail(pass->context, model, pass->source, row,
                    "the probability of successor %lld lies in [%.10g, %.10g]; expected %s",
                    (long long)model->columns[i], lower, upper,
                    lower > upper ? "the lower bound first" : "bounds from 0 to 1");
}

/* Sum, normalisation and mean reward of a row whose entries are in place. */
static nadir_status close_row(row_pass *pass, int64_t row, int64_t start, int64_t count,
                              double *probabilities)
{
    nadir_model *model = pass->model;
    double sum;
    char sentence[256];
    const char *wrong =
        model->lower == NULL
            ? NULL
            : nadir_box_settle(count, model->columns + start, model->lower + start, model->upper + start,
                               probabilities + start, sizeof sentence, sentence);
    if (wrong != NULL) {
        return row_fail(pass->context, model, pass->source, row, "%s", wrong);
    }
    if (!nadir_normalise(count, probabilities + start, row, &pass->report, &sum)) {
        return row_fail(pass->context, model, pass->source, row,
                        "probabilities sum to %.10g; expected 1 (within 1e-5)", sum);
    }
    if (model->lower != NULL) {
        nadir_box_enclose(count, probabilities + start, model->lower + start, model->upper + start);
    }
    if (model->transition_rewards != NULL) {
        model->rewards[row] = mean_reward(count, probabilities + start, model->transition_rewards + start);
    }
    if (model->rewards != NULL && !isfinite(model->rewards[row])) {
        return row_fail(pass->context, model, pass->source, row, "the reward is %g; expected a finite number",
                        model->rewards[row]);
    }
    return NADIR_OK;
}

/* Moves the entries of a sparse row down to `to`, without zeros; sorted and merged if need be. */
static nadir_status finish_sparse_row(row_pass *pass, int64_t row, int64_t from, int64_t end, int64_t *to)
{
    nadir_model *model = pass->model;
    const int64_t start = *to;
    int64_t kept = 0;
    bool sorted = true;
    for (int64_t i = from; i < end; i++) {
        const int32_t column = model->columns[i];
        const double probability = model->probabilities[i];
        const double reward = model->transition_rewards != NULL ? model->transition_rewards[i] : 0;
        NADIR_TRY(check_entry(pass, row, column, probability, reward));
        if (model->lower != NULL) {
            NADIR_TRY(check_interval(pass, row, i));
        }
        if (model->weights != NULL && !(model->weights[i] == 0 || (model->weights[i] >= NADIR_WEIGHT_LEAST &&
                                                                   model->weights[i] <= NADIR_WEIGHT_MOST))) {
            return row_fail(
                pass->context, model, pass->source, row,
                "the weight of successor %lld is %g; expected 0, which pins it, or a number from %g to %g",
                (long long)column, model->weights[i], NADIR_WEIGHT_LEAST, NADIR_WEIGHT_MOST);
        }
        if (model->lower != NULL ? !(model->upper[i] > 0 || probability > 0) : probability == 0) {
            NADIR_TRY(keep_zero(pass, row, column, reward));
            continue;
        }
        sorted = sorted && (kept == 0 || model->columns[start + kept - 1] < column);
        if (start + kept < i) { /* a kernel that stands may be borrowed: nothing is written to it */
            model->columns[start + kept] = column;
            model->probabilities[start + kept] = probability;
            if (model->transition_rewards != NULL) {
                model->transition_rewards[start + kept] = reward;
            }
            if (model->lower != NULL) {
                model->lower[start + kept] = model->lower[i];
                model->upper[start + kept] = model->upper[i];
            }
            if (model->weights != NULL) {
                model->weights[start + kept] = model->weights[i];
            }
        }
        kept++;
    }
    if (!sorted) {
        NADIR_TRY(sort_and_merge(pass, start, &kept));
    }
    NADIR_TRY(close_row(pass, row, start, kept, model->probabilities));
    *to = start + kept;
    return NADIR_OK;
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
        if (model->lower != NULL) {
            NADIR_RESIZE(pass->context, model->lower, to);
            NADIR_RESIZE(pass->context, model->upper, to);
        }
        if (model->weights != NULL) {
            NADIR_RESIZE(pass->context, model->weights, to);
        }
    }
    model->nonzeros = to;
cleanup:
    return status;
}

static nadir_status finish_dense(row_pass *pass)
{
    nadir_model *model = pass->model;
    const int64_t states = model->states;
    model->nonzeros = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const int64_t start = row * states;
        for (int64_t i = 0; i < states; i++) {
            const double reward =
                model->transition_rewards != NULL ? model->transition_rewards[start + i] : 0;
            NADIR_TRY(check_entry(pass, row, i, model->dense[start + i], reward));
            model->nonzeros += model->dense[start + i] > 0;
            if (model->transition_rewards != NULL && model->dense[start + i] == 0) {
                NADIR_TRY(keep_zero(pass, row, i, reward));
                model->transition_rewards[start + i] = NAN;
            }
        }
        NADIR_TRY(close_row(pass, row, start, states, model->dense));
        NADIR_TRY(nadir_progress(pass->context, "checking the model", (double)row / (double)model->rows));
    }
    return NADIR_OK;
}

static nadir_status finish_rows(nadir_context *context, nadir_model *model, const nadir_source *source,
                                zero_rewards *zeros)
{
    nadir_status status = NADIR_OK;
    row_pass pass = {.context = context, .model = model, .source = source, .zeros = zeros};
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

static nadir_status model_fail(nadir_context *context, const nadir_source *source, const char *what,
                               int64_t index, double value, const char *expected)
{
    return nadir_fail(context, NADIR_ERROR_MODEL, "%s: %s %lld is %.10g; expected %s", source->path, what,
                      (long long)index, value, expected);
}

static nadir_status check_shape(nadir_context *context, nadir_model *model, const nadir_source *source)
{
    const char *path = source->path;
    if (nadir_model_total(model) < 1 || model->states > NADIR_STATES_LIMIT) {
        return nadir_fail(context, NADIR_ERROR_MODEL, "%s: %lld states; expected 1 to %d", path,
                          (long long)model->states, NADIR_STATES_LIMIT);
    }
    if (model->state_rows[0] != 0 || model->state_rows[model->states] != model->rows) {
        return nadir_fail(context, NADIR_ERROR_MODEL, "%s: the rows of the states do not cover all %lld rows",
                          path, (long long)model->rows);
    }
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s]; /* 0 or more, as those before */
        const int64_t end = model->state_rows[s + 1];
        if (end <= first || end > model->rows) {
            return nadir_fail(
                context, NADIR_ERROR_MODEL,
                "%s: state %lld begins with row %lld and ends before row %lld; expected at least one row, "
                "of %lld",
                path, (long long)s, (long long)first, (long long)end, (long long)model->rows);
        }
        if (end - first > INT32_MAX) {
            return nadir_fail(context, NADIR_ERROR_MODEL,
                              "%s: state %lld has %lld actions; expected at most %d", path, (long long)s,
                              (long long)(end - first), INT32_MAX);
        }
    }
    if (model->dense == NULL) {
        if (model->row_starts[0] != 0) {
            return nadir_fail(context, NADIR_ERROR_MODEL,
                              "%s: the first row starts at transition %lld, not 0", path,
                              (long long)model->row_starts[0]);
        }
        for (int64_t row = 0; row < model->rows; row++) {
            if (model->row_starts[row + 1] < model->row_starts[row]) {
                return nadir_fail(context, NADIR_ERROR_MODEL, "%s: row %lld ends before it starts", path,
                                  (long long)row);
            }
        }
    }
    return NADIR_OK;
}

/* Action numbers must rise within a state; the plain 0, 1, 2, ... need no array. */
static nadir_status check_actions(nadir_context *context, nadir_model *model, const nadir_source *source)
{
    if (model->row_actions == NULL) {
        return NADIR_OK;
    }
    bool plain = true;
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const int32_t action = model->row_actions[row];
            const bool first = row == model->state_rows[s];
            if (action < 0 || (!first && action <= model->row_actions[row - 1])) {
                return row_fail(context, model, source, row,
                                "action numbers must be 0 or more and rise within a state");
            }
            plain = plain && action == row - model->state_rows[s];
        }
    }
    if (plain) {
        nadir_release(context, model->row_actions);
        model->row_actions = NULL;
    }
    return NADIR_OK;
}

/* mu of all processes together; as nadir_normalise. */
static bool normalise_initial(const nadir_context *context, nadir_model *model, nadir_sum_report *report,
                              double *sum)
{
    if (model->exchange == NULL) {
        return nadir_normalise(model->states, model->initial, 0, report, sum);
    }
    *sum = nadir_global_sum(context, model->states, model->initial);
    const double off = fabs(*sum - 1);
    if (off > NADIR_SUM_ROUNDING && off <= NADIR_SUM_TOLERANCE) {
        nadir_vector_divide(model->states, *sum, model->initial);
    }
    report->repaired = off > NADIR_SUM_UNSAID;
    return off <= NADIR_SUM_TOLERANCE;
}

static nadir_status check_initial(nadir_context *context, nadir_model *model, const nadir_source *source)
{
    nadir_status status = NADIR_OK;
    if (model->initial == NULL) {
        NADIR_NEW(context, model->initial, model->states);
        for (int64_t s = 0; s < model->states; s++) {
            model->initial[s] = 1.0 / (double)nadir_model_total(model);
        }
    }
    for (int64_t s = 0; s < model->states; s++) {
        if (!(model->initial[s] >= 0) || !isfinite(model->initial[s])) {
            return model_fail(context, source, "the initial probability of state", s, model->initial[s],
                              "a number from 0 to 1");
        }
    }
    nadir_sum_report report = {0};
    double sum;
    if (!normalise_initial(context, model, &report, &sum)) {
        return nadir_fail(context, NADIR_ERROR_MODEL,
                          "%s: the initial distribution sums to %.10g; expected 1 (within 1e-5)",
                          source->path, sum);
    }
    if (report.repaired > 0) {
        nadir_log(context, NADIR_LOG_WARNING,
                  "%s: the initial distribution was normalised; its sum was %.15g", source->path, sum);
    }
cleanup:
    return status;
}

nadir_status nadir_model_check_discount(nadir_context *context, const nadir_model *model, const char *path)
{
    if (!isnan(model->discount) && !(model->discount >= 0 && model->discount <= 1)) {
        return nadir_fail(context, NADIR_ERROR_MODEL,
                          "%s: the discount is %.10g; expected 0 <= discount <= 1 (--discount overrides it)",
                          path, model->discount);
    }
    return NADIR_OK;
}

/* Scales and the defaults of the ball. */
static nadir_status check_numbers(nadir_context *context, nadir_model *model, const nadir_source *source)
{
    const char *path = source->path;
    if (!isnan(model->norm) && !(model->norm >= 1) && model->norm != NADIR_NORM_CHI2) {
        return nadir_fail(context, NADIR_ERROR_MODEL,
                          "%s: the norm is %.10g; expected 1 to infinity, or chi2", path, model->norm);
    }
    for (int64_t row = 0; model->scales != NULL && row < model->rows; row++) {
        if (!(model->scales[row] >= 0) || !isfinite(model->scales[row])) {
            return row_fail(context, model, source, row,
                            "the scale is %g; expected a finite number, 0 or more", model->scales[row]);
        }
    }
    const int64_t count = model->radius_count;
    const int64_t states = nadir_model_total(model);
    const int64_t rows = nadir_global_count(context, model->rows);
    if (count != 0 && count != 1 && count != states && count != rows) {
        return nadir_fail(context, NADIR_ERROR_MODEL,
                          "%s: %lld radii; expected one, one for each of %lld states or of %lld rows", path,
                          (long long)count, (long long)states, (long long)rows);
    }
    for (int64_t i = 0; i < count; i++) {
        if (!(model->radius[i] >= 0) || !isfinite(model->radius[i])) {
            return model_fail(context, source, "radius", i, model->radius[i], "a finite number, 0 or more");
        }
    }
    return NADIR_OK;
}

/* Scales that are all one, on all processes, need no array. */
static void drop_plain_scales(nadir_context *context, nadir_model *model)
{
    int64_t row = 0;
    while (model->scales != NULL && row < model->rows && model->scales[row] == 1) {
        row++;
    }
    if (model->scales != NULL && nadir_allreduce_and(context, row == model->rows)) {
        nadir_release(context, model->scales);
        model->scales = NULL;
    }
}

/* Whether a row that may change has successors of which it is assumed that they pay something else than it does:
 * rewards then land, also where all that are given are those of their rows (a successor for each row, say). */
static bool assumes_others(const nadir_model *model, int64_t row, int64_t count)
{
    return model->unseen >= NADIR_UNSEEN_MIN && count < nadir_model_total(model) &&
           !nadir_model_is_pinned(model, row);
}

/* Transition rewards that say no more than their row's reward, or that are frozen, are dropped. */
static void drop_transition_rewards(nadir_context *context, nadir_model *model, bool frozen,
                                    zero_rewards *zeros)
{
    if (model->transition_rewards == NULL) {
        return;
    }
    bool differ = false;
    for (int64_t row = 0; !frozen && !differ && row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        int64_t count = 0;
        for (int64_t i = 0; i < entries.count; i++) {
            count += entries.values[i] > 0;
            differ = differ || (entries.values[i] > 0 && entries.rewards[i] != model->rewards[row]);
        }
        differ = differ || assumes_others(model, row, count);
    }
    bool lost = false;
    for (int64_t i = 0; !differ && i < zeros->count; i++) {
        const int64_t row = zeros->entries[i].place / nadir_model_width(model);
        const bool other = zeros->entries[i].reward != model->rewards[row];
        differ = other && !nadir_model_is_pinned(model, row);
        lost = lost || other;
    }
    if (nadir_allreduce_and(context, !differ)) {
        model->pinned_zeros = lost;
        nadir_release(context, model->transition_rewards);
        model->transition_rewards = NULL;
        zeros->count = 0;
    }
}

/* Entries of dense rows that CSR rows have: zeros only with a reward, or in a box, for nadir_model_finish to decide. */
static bool is_listed(const nadir_model *model, int64_t i)
{
    return model->dense[i] != 0 || (model->upper != NULL && model->upper[i] != 0) ||
           (model->transition_rewards != NULL && !isnan(model->transition_rewards[i]));
}

nadir_status nadir_model_list_rows(nadir_context *context, const nadir_model *model, int64_t width,
                                   nadir_model *rows)
{
    nadir_status status = NADIR_OK;
    int64_t to = 0;
    rows->nonzeros = 0;
    for (int64_t i = 0; i < model->rows * width; i++) {
        rows->nonzeros += is_listed(model, i);
    }
    NADIR_NEW(context, rows->row_starts, model->rows + 1);
    NADIR_NEW(context, rows->columns, rows->nonzeros);
    NADIR_NEW(context, rows->probabilities, rows->nonzeros);
    if (model->transition_rewards != NULL) {
        NADIR_NEW(context, rows->transition_rewards, rows->nonzeros);
    }
    if (model->lower != NULL) {
        NADIR_NEW(context, rows->lower, rows->nonzeros);
        NADIR_NEW(context, rows->upper, rows->nonzeros);
    }
    if (model->weights != NULL) {
        NADIR_NEW(context, rows->weights, rows->nonzeros);
    }
    for (int64_t row = 0; row < model->rows; row++) {
        rows->row_starts[row] = to;
        for (int64_t i = row * width; i < (row + 1) * width; i++) {
            if (is_listed(model, i)) {
                rows->columns[to] = (int32_t)(i - row * width);
                rows->probabilities[to] = model->dense[i];
                if (model->transition_rewards != NULL) {
                    rows->transition_rewards[to] = model->transition_rewards[i];
                }
                if (model->lower != NULL) {
                    rows->lower[to] = model->lower[i];
                    rows->upper[to] = model->upper[i];
                }
                if (model->weights != NULL) {
                    rows->weights[to] = model->weights[i];
                }
                to++;
            }
        }
    }
    rows->row_starts[model->rows] = to;
cleanup:
    return status;
}

/* The kernel of a model becomes that of `made`, or is lost with a failure. */
static void take_kernel(nadir_context *context, nadir_status status, nadir_model *made, nadir_model *model)
{
    nadir_model *const lost = status == NADIR_OK ? model : made;
    NADIR_RELEASE(context, lost->dense, lost->row_starts, lost->columns, lost->probabilities,
                  lost->transition_rewards, lost->lower, lost->upper, lost->weights);
    if (status == NADIR_OK) {
        model->dense = made->dense;
        model->row_starts = made->row_starts;
        model->columns = made->columns;
        model->probabilities = made->probabilities;
        model->transition_rewards = made->transition_rewards;
        model->lower = made->lower;
        model->upper = made->upper;
        model->weights = made->weights;
    }
}

nadir_status nadir_model_to_sparse(nadir_context *context, nadir_model *model, int64_t width)
{
    nadir_model made = {0};
    const nadir_status status = nadir_model_list_rows(context, model, width, &made);
    take_kernel(context, status, &made, model);
    return status;
}

nadir_status nadir_model_to_dense(nadir_context *context, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    const int64_t states = model->states;
    nadir_model made = {0};
    NADIR_NEW_ZERO(context, made.dense, model->rows * states);
    if (model->transition_rewards != NULL) {
        NADIR_NEW(context, made.transition_rewards, model->rows * states);
        for (int64_t i = 0; i < model->rows * states; i++) {
            made.transition_rewards[i] = NAN; /* not given */
        }
    }
    for (int64_t row = 0; row < model->rows; row++) {
        for (int64_t i = model->row_starts[row]; i < model->row_starts[row + 1]; i++) {
            made.dense[row * states + model->columns[i]] = model->probabilities[i];
            if (model->transition_rewards != NULL) {
                made.transition_rewards[row * states + model->columns[i]] = model->transition_rewards[i];
            }
        }
    }
cleanup:
    take_kernel(context, status, &made, model);
    return status;
}

/* Whether a kernel of so many nonzeros stays as it is stored. */
static bool storage_suits(bool dense, int64_t states, int64_t rows, int64_t nonzeros)
{
    const double density = (double)nonzeros / ((double)rows * (double)states);
    return dense ? density >= NADIR_SPARSE_BELOW : density < NADIR_DENSE_FROM;
}

/* Takes out those of pinned rows. */
static void drop_pinned_zeros(nadir_model *model, zero_rewards *zeros)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < zeros->count; i++) {
        if (!nadir_model_is_pinned(model, zeros->entries[i].place / nadir_model_width(model))) {
            zeros->entries[kept++] = zeros->entries[i];
        }
    }
    zeros->count = kept;
}

/* Whether R + g of the transitions that have a probability gives back all rewards of those that have none, also
 * those of pinned rows. */
static nadir_status compare_zeros(nadir_context *context, nadir_model *model, const zero_rewards *zeros,
                                  bool *same)
{
    const int64_t width = nadir_model_width(model);
    double tolerance;
    NADIR_TRY(nadir_landing_extend(context, model, &tolerance));
    *same = true;
    for (int64_t i = 0; i < zeros->count; i++) {
        const zero_reward *zero = &zeros->entries[i];
        const int64_t row = zero->place / width;
        const double assumed = nadir_landing_unseen(model, row, zero->place % width);
        const double off = fabs(zero->reward - assumed);
        const bool given = off <= tolerance;
        model->zeros_error = fmax(model->zeros_error, given ? off : 0);
        *same = *same && (given || nadir_model_is_pinned(model, row));
        model->pinned_zeros = model->pinned_zeros || (!given && nadir_model_is_pinned(model, row));
    }
    *same = nadir_allreduce_and(context, *same);
    model->zeros_error = nadir_allreduce_maximum(context, model->zeros_error);
    nadir_landing_clear(model->memory, model);
    return NADIR_OK;
}

/* Rewards of successors of probability 0 are kept, in dense rows, unless R + g gives them back. Other
 * assumptions about successors without a reward do not extend rewards: then all are kept. */
static nadir_status settle_zeros(nadir_context *context, nadir_model *model, const nadir_source *source,
                                 zero_rewards *zeros, bool *kept)
{
    const int64_t all = zeros->count;
    bool same = nadir_allreduce_and(context, all == 0);
    if (!same && model->unseen == NADIR_UNSEEN_ADDITIVE) {
        NADIR_TRY(compare_zeros(context, model, zeros, &same));
        drop_pinned_zeros(model, zeros);
    } else {
        drop_pinned_zeros(model, zeros);
        model->pinned_zeros = zeros->count < all;
        same = nadir_allreduce_and(context, zeros->count == 0);
    }
    *kept = !same;
    const bool large = (double)model->rows * (double)model->states > NADIR_ZEROS_LIMIT;
    if (*kept && (model->lower != NULL || model->weights != NULL)) {
        model->pinned_zeros = true; /* the box, or what has no weight, does not lead there */
        *kept = false;
    }
    if (*kept && (model->exchange != NULL || (model->dense == NULL && large))) {
        nadir_log(
            context, NADIR_LOG_WARNING,
            "%s: rewards of successors of probability 0 are not used: they are kept by one process, for "
            "up to 2^26 pairs of a row and a state",
            source->path);
        *kept = false;
    }
    if (*kept && model->dense == NULL) {
        NADIR_TRY(nadir_model_to_dense(context, model));
    }
    for (int64_t i = 0; *kept && i < zeros->count; i++) { /* the first of several holds */
        double *reward = &model->transition_rewards[zeros->entries[i].place];
        *reward = isnan(*reward) ? zeros->entries[i].reward : *reward;
    }
    return NADIR_OK;
}

static nadir_status choose_storage(nadir_context *context, nadir_model *model, const nadir_source *source,
                                   zero_rewards *zeros)
{
    bool kept = false;
    if (model->transition_rewards != NULL) {
        NADIR_TRY(settle_zeros(context, model, source, zeros, &kept));
    }
    const bool dense = model->dense != NULL;
    if (!kept && model->exchange == NULL && model->lower == NULL &&
        model->weights == NULL && /* rows of a part are always CSR */
        !storage_suits(dense, model->states, model->rows, model->nonzeros)) {
        NADIR_TRY(dense ? nadir_model_to_sparse(context, model, model->states)
                        : nadir_model_to_dense(context, model));
    }
    return NADIR_OK;
}

static nadir_status find_limits(nadir_context *context, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    nadir_row_limits limits = {.sum_low = INFINITY, .minimum = INFINITY};
    if (model->dense != NULL) {
        NADIR_NEW(context, limits.minima, model->rows);
    }
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        const double sum = nadir_vector_norm_1(entries.count, entries.values);
        const double minimum = entries.count < nadir_model_total(model)
                                   ? 0
                                   : nadir_vector_smallest(entries.count, entries.values);
        const double rounding = ((double)entries.count + 10) * NADIR_ROUND_UNIT * sum * (1 + 1e-6);
        limits.sum_low = fmin(limits.sum_low, sum - rounding);
        limits.sum_high = fmax(limits.sum_high, sum + rounding);
        limits.rounding = fmax(limits.rounding, rounding);
        limits.minimum = fmin(limits.minimum, minimum);
        if (limits.minima != NULL) {
            limits.minima[row] = minimum;
        }
    }
    model->limits = limits;
cleanup:
    return status;
}

nadir_status nadir_model_finish(nadir_context *context, nadir_model *model, const nadir_source *source)
{
    nadir_status status = NADIR_OK;
    const nadir_read_settings *reading = source->reading;
    const bool frozen = reading != NULL && reading->frozen_rewards;
    zero_rewards zeros = {.wanted = !frozen && model->transition_rewards != NULL};
    model->unseen = reading != NULL ? reading->unseen : model->unseen;
    NADIR_CHECK(check_shape(context, model, source));
    NADIR_CHECK(check_actions(context, model, source));
    if ((model->lower != NULL || model->weights != NULL) && model->dense != NULL) {
        NADIR_CHECK(nadir_model_to_sparse(context, model, model->states));
    }
    NADIR_CHECK(finish_rows(context, model, source, &zeros));
    NADIR_CHECK(check_initial(context, model, source));
    NADIR_CHECK(check_numbers(context, model, source));
    drop_plain_scales(context, model);
    drop_transition_rewards(context, model, frozen, &zeros);
    NADIR_CHECK(choose_storage(context, model, source, &zeros));
    NADIR_CHECK(find_limits(context, model));
    if (reading == NULL) {
        NADIR_CHECK(nadir_landing_make(context, model, source->path));
    }
cleanup:
    nadir_release(context, zeros.entries);
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
        NADIR_TRY(nadir_progress(context, "checking the model", (double)row / (double)data->rows));
    }
    *stand = good && storage_suits(data->dense != NULL, states, data->rows, count);
    *nonzeros = count;
    return NADIR_OK;
}

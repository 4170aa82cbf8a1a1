/* terminal.c: models in which the process ends; see terminal.h. */
#include "model/terminal.h"

#include "core/round.h"
#include "model/landing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

unsigned nadir_terminal_asked(const nadir_read_settings *settings)
{
    return (settings->goal != NULL ? (unsigned)NADIR_MARK_GOAL : 0) |
           (settings->avoid != NULL ? (unsigned)NADIR_MARK_AVOID : 0) |
           (settings->until != NULL ? (unsigned)NADIR_MARK_UNTIL : 0);
}

unsigned nadir_terminal_label(const nadir_read_settings *settings, const char *label, size_t length)
{
    const char *const given[] = {settings->goal, settings->avoid, settings->until};
    unsigned bits = 0;
    for (unsigned i = 0; i < 3; i++) {
        if (given[i] != NULL && strlen(given[i]) == length && memcmp(given[i], label, length) == 0) {
            bits |= 1U << i;
        }
    }
    return bits;
}

nadir_status nadir_terminal_refuse(nadir_context *context, const nadir_model *model, const char *what)
{
    return model->terminal == NULL ? NADIR_OK
                                   : nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                                                "not available without a discount yet: %s", what);
}

/* ------------------------------------------------------------------------------- the graph, backwards */

/* Rows that lead to each state: predecessors of s are from[starts[s] .. starts[s + 1] - 1]. */
typedef struct reversed_graph {
    int64_t *starts; /* [states + 1] */
    int32_t *from;
} reversed_graph;

/* Counts, or with `from` lists, the transitions of positive probability from states that do not end; weights: [rows]
 * of actions, NULL: all. */
static void list_transitions(const nadir_model *model, const double *weights, int64_t *places, int32_t *from)
{
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t end = model->terminal[s] ? 0 : model->state_rows[s + 1];
        for (int64_t row = model->state_rows[s]; row < end; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            for (int64_t i = 0; (weights == NULL || weights[row] > 0) && i < entries.count; i++) {
                if (entries.values[i] > 0 && from == NULL) {
                    places[nadir_row_column(&entries, i) + 1]++;
                } else if (entries.values[i] > 0) {
                    from[places[nadir_row_column(&entries, i)]++] = (int32_t)s;
                }
            }
        }
    }
}

static nadir_status reverse_graph(nadir_context *context, const nadir_model *model, const double *weights,
                                  reversed_graph *graph)
{
    nadir_status status = NADIR_OK;
    const int64_t n = model->states;
    NADIR_NEW_ZERO(context, graph->starts, n + 2);
    list_transitions(model, weights, graph->starts + 1, NULL);
    for (int64_t s = 0; s <= n; s++) {
        graph->starts[s + 1] += graph->starts[s];
    }
    NADIR_NEW(context, graph->from, graph->starts[n + 1] + 1);
    list_transitions(model, weights, graph->starts + 1, graph->from);
cleanup:
    return status;
}

/* reached: [states], in: where to begin; out: also all states from which these are reached. */
static nadir_status reach_backwards(nadir_context *context, const nadir_model *model, const double *weights,
                                    bool *reached)
{
    nadir_status status = NADIR_OK;
    const int64_t n = model->states;
    reversed_graph graph = {0};
    int32_t *queue = NULL;
    int64_t count = 0;
    NADIR_CHECK(reverse_graph(context, model, weights, &graph));
    NADIR_NEW(context, queue, n);
    for (int64_t s = 0; s < n; s++) {
        if (reached[s]) {
            queue[count++] = (int32_t)s;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = graph.starts[queue[i]]; j < graph.starts[queue[i] + 1]; j++) {
            if (!reached[graph.from[j]]) {
                reached[graph.from[j]] = true;
                queue[count++] = graph.from[j];
            }
        }
    }
cleanup:
    NADIR_RELEASE(context, graph.starts, graph.from, queue);
    return status;
}

int64_t nadir_terminal_list(const nadir_model *model, const bool *which, bool listed, char *text, size_t size)
{
    int64_t count = 0;
    size_t used = 0;
    text[0] = '\0';
    for (int64_t s = 0; s < model->states; s++) {
        if (which[s] == listed && ++count <= 8) {
            const int length =
                snprintf(text + used, size - used, "%s%lld", count > 1 ? ", " : "", (long long)s);
            used += length > 0 ? (size_t)length : 0;
        }
    }
    if (count > 8) {
        (void)snprintf(text + used, size - used, ", ...");
    }
    return count;
}

nadir_status nadir_terminal_check_policy(nadir_context *context, const nadir_model *model,
                                         const double *probabilities)
{
    nadir_status status = NADIR_OK;
    char list[256];
    bool *reached = NULL;
    if (model->terminal == NULL) {
        return NADIR_OK;
    }
    NADIR_NEW(context, reached, model->states);
    memcpy(reached, model->terminal, (size_t)model->states * sizeof *reached);
    NADIR_CHECK(reach_backwards(context, model, probabilities, reached));
    const int64_t missing = nadir_terminal_list(model, reached, false, list, sizeof list);
    if (missing > 0) {
        status =
            nadir_fail(context, NADIR_ERROR_ILL_POSED,
                       "the policy never ends from %lld state%s {%s}: %s, or give a discount below 1",
                       (long long)missing, missing == 1 ? "" : "s", list,
                       model->reaches ? "name them with --avoid, since the goal is not reached from there"
                                      : "say with --until where the process ends");
    }
cleanup:
    nadir_release(context, reached);
    return status;
}

/* --------------------------------------------------------------------------------- which states end */

/* Whether all actions stay and, if rewards count, pay nothing. */
static bool stays(const nadir_model *model, int64_t s, bool paid)
{
    for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        int64_t place = 0;
        if (!nadir_row_seek(&entries, s, &place) || entries.values[place] != 1 ||
            (paid && model->rewards != NULL && model->rewards[row] != 0)) {
            return false;
        }
    }
    return true;
}

static bool has_mark(const nadir_model *model, int64_t s, unsigned mark)
{
    return model->marks != NULL && (model->marks[s] & mark) != 0;
}

static int64_t count_terminal(const nadir_model *model)
{
    int64_t count = 0;
    for (int64_t s = 0; s < model->states; s++) {
        count += model->terminal[s];
    }
    return count;
}

/* Total reward: model->terminal. */
static nadir_status find_ends(nadir_context *context, nadir_model *model, const char *path)
{
    for (int64_t s = 0; s < model->states; s++) {
        model->terminal[s] = has_mark(model, s, NADIR_MARK_UNTIL) || stays(model, s, true);
    }
    return count_terminal(model) > 0
               ? NADIR_OK
               : nadir_fail(context, NADIR_ERROR_ILL_POSED,
                            "%s: the discount is 1 and no state ends the process (none stays where it is "
                            "without a reward): say where it ends, --until, or ask for --goal",
                            path);
}

/* Reachability: model->terminal, and no reward but 1 in goal states. */
static nadir_status find_goal(nadir_context *context, nadir_model *model, const char *path)
{
    nadir_status status = NADIR_OK;
    int64_t goals = 0;
    bool *reached = NULL;
    NADIR_NEW_ZERO(context, reached, model->states);
    for (int64_t s = 0; s < model->states; s++) {
        const bool goal = has_mark(model, s, NADIR_MARK_GOAL);
        if (goal && has_mark(model, s, NADIR_MARK_AVOID)) {
            NADIR_CHECK(nadir_fail(context, NADIR_ERROR_ARGUMENT,
                                   "%s: state %lld is both a goal and to be avoided", path, (long long)s));
        }
        model->terminal[s] = goal || has_mark(model, s, NADIR_MARK_AVOID);
        reached[s] = goal;
        goals += goal;
    }
    if (goals == 0) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_ARGUMENT, "%s: no state is a goal", path));
    }
    NADIR_CHECK(reach_backwards(context, model, NULL, reached));
    if (model->rewards == NULL) {
        NADIR_NEW(context, model->rewards, model->rows);
    }
    for (int64_t s = 0; s < model->states; s++) {
        model->collapsed = model->collapsed || !(model->terminal[s] || reached[s] || stays(model, s, false));
        model->terminal[s] = model->terminal[s] || !reached[s];
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            model->rewards[row] = has_mark(model, s, NADIR_MARK_GOAL);
        }
    }
    nadir_release(context, model->transition_rewards);
    model->transition_rewards = NULL;
    model->reaches = true;
cleanup:
    nadir_release(context, reached);
    return status;
}

/* ------------------------------------------------------------------------------------- empty rows */

/* CSR rows without those of terminal states, in arrays of the model's own. */
static nadir_status empty_sparse(nadir_context *context, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    int64_t to = 0;
    int32_t *columns = NULL;
    double *values = NULL;
    NADIR_NEW(context, columns, model->nonzeros);
    NADIR_NEW(context, values, model->nonzeros);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const int64_t first = model->row_starts[row];
            const int64_t count = model->terminal[s] ? 0 : model->row_starts[row + 1] - first;
            model->row_starts[row] = to;
            memcpy(columns + to, model->columns + first, (size_t)count * sizeof *columns);
            memcpy(values + to, model->probabilities + first, (size_t)count * sizeof *values);
            if (model->transition_rewards != NULL) {
                memmove(model->transition_rewards + to, model->transition_rewards + first,
                        (size_t)count * sizeof *values);
            }
            if (model->lower != NULL) {
                memmove(model->lower + to, model->lower + first, (size_t)count * sizeof *values);
                memmove(model->upper + to, model->upper + first, (size_t)count * sizeof *values);
            }
            if (model->weights != NULL) {
                memmove(model->weights + to, model->weights + first, (size_t)count * sizeof *values);
            }
            to += count;
        }
    }
    model->row_starts[model->rows] = to;
    model->nonzeros = to;
    if (!model->borrowed) {
        NADIR_RELEASE(context, model->columns, model->probabilities);
    }
    model->columns = columns;
    model->probabilities = values;
    model->borrowed = false;
cleanup:
    if (status != NADIR_OK) {
        NADIR_RELEASE(context, columns, values);
    }
    return status;
}

static nadir_status empty_dense(nadir_context *context, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    const int64_t n = model->states;
    if (model->borrowed) {
        double *own = NULL;
        NADIR_NEW(context, own, model->rows * n);
        model->dense = memcpy(own, model->dense, (size_t)(model->rows * n) * sizeof *own);
        model->borrowed = false;
    }
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = model->state_rows[s] * n; model->terminal[s] && i < model->state_rows[s + 1] * n;
             i++) {
            model->nonzeros -= model->dense[i] > 0;
            model->dense[i] = 0;
            if (model->transition_rewards != NULL) {
                model->transition_rewards[i] = NAN;
            }
        }
    }
cleanup:
    return status;
}

/* Pinned, of no length, with a reward paid once. Limits of rows are those of the others. */
static nadir_status empty_rows(nadir_context *context, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    if (model->scales == NULL) {
        NADIR_NEW(context, model->scales, model->rows);
        for (int64_t row = 0; row < model->rows; row++) {
            model->scales[row] = 1;
        }
    }
    NADIR_CHECK(model->dense != NULL ? empty_dense(context, model) : empty_sparse(context, model));
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; model->terminal[s] && row < model->state_rows[s + 1];
             row++) {
            model->scales[row] = 0;
            if (!model->reaches && model->rewards != NULL) {
                model->rewards[row] = 0;
            }
            if (model->limits.minima != NULL) {
                model->limits.minima[row] = 0;
            }
        }
    }
    model->limits.minimum = 0;
cleanup:
    return status;
}

nadir_status nadir_terminal_make(nadir_context *context, nadir_model *model, unsigned asked, const char *path)
{
    nadir_status status = NADIR_OK;
    if (asked == 0 && model->discount != 1) {
        return NADIR_OK;
    }
    if ((asked & NADIR_MARK_AVOID) != 0 && (asked & NADIR_MARK_GOAL) == 0) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "--avoid says what is to be avoided on the way to --goal");
    }
    if ((asked & NADIR_MARK_GOAL) != 0 && (asked & NADIR_MARK_UNTIL) != 0) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "--goal asks for a probability and --until for rewards: one of both");
    }
    if (context->device != NULL || model->exchange != NULL) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "without a discount models are solved by one process, without a device: leave out "
                          "--engine");
    }
    model->discount = 1;
    NADIR_NEW(context, model->terminal, model->states);
    NADIR_CHECK((asked & NADIR_MARK_GOAL) != 0 ? find_goal(context, model, path)
                                               : find_ends(context, model, path));
    NADIR_CHECK(empty_rows(context, model));
cleanup:
    nadir_release(context, model->marks);
    model->marks = NULL;
    return status;
}

nadir_status nadir_terminal_discounted(nadir_context *context, const nadir_model *model, double discount,
                                       nadir_model **made)
{
    nadir_status status = NADIR_OK;
    nadir_model_data data;
    int64_t *starts = NULL;
    int32_t *columns = NULL;
    double *values = NULL; /* [nonzeros + rows] probabilities */
    double *rewards = NULL;
    double *lower = NULL; /* with a box: as values */
    double *upper = NULL;
    double *weights = NULL; /* likewise */
    int64_t to = 0;
    NADIR_NEW(context, starts, model->rows + 1);
    NADIR_NEW(context, columns, model->nonzeros + model->rows);
    NADIR_NEW(context, values, model->nonzeros + model->rows);
    NADIR_NEW(context, rewards, model->rows);
    if (model->lower != NULL) {
        NADIR_NEW(context, lower, model->nonzeros + model->rows);
        NADIR_NEW(context, upper, model->nonzeros + model->rows);
    }
    if (model->weights != NULL) {
        NADIR_NEW(context, weights, model->nonzeros + model->rows);
    }
    /* 1 - discount rho at most, rho what the policy sums to: it counts in every step there, and once without a discount */
    const double off = 2 * NADIR_SUM_ROUNDING + nadir_round_error((double)nadir_model_most_actions(model));
    const double share = fmax(nadir_round_down(1 - discount - off, 8), 0);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            const bool ends = nadir_model_ends(model, s);
            starts[row] = to;
            rewards[row] = model->rewards[row] * (ends ? share : 1);
            for (int64_t i = 0; !ends && i < entries.count; i++) {
                if (lower != NULL) { /* a sparse row, all positive */
                    lower[to] = model->lower[model->row_starts[row] + i];
                    upper[to] = model->upper[model->row_starts[row] + i];
                }
                if (weights != NULL) {
                    weights[to] = model->weights[model->row_starts[row] + i];
                }
                if (entries.values[i] > 0) {
                    columns[to] = (int32_t)nadir_row_column(&entries, i);
                    values[to++] = entries.values[i];
                }
            }
            if (ends) {
                if (lower != NULL) {
                    lower[to] = 1;
                    upper[to] = 1;
                }
                if (weights != NULL) {
                    weights[to] = 0;
                }
                columns[to] = (int32_t)s;
                values[to++] = 1;
            }
        }
    }
    starts[model->rows] = to;
    nadir_model_data_default(&data);
    data.states = model->states;
    data.rows = model->rows;
    data.nonzeros = to;
    data.discount = discount;
    data.state_rows = model->state_rows;
    data.row_starts = starts;
    data.columns = columns;
    data.probabilities = values;
    data.rewards = rewards;
    data.initial = model->initial;
    data.scales = model->scales;
    data.radius = model->radius;
    data.radius_count = model->radius_count;
    data.norm = model->norm;
    data.set = model->set;
    data.domain = model->domain;
    data.lower = lower;
    data.upper = upper;
    data.weights = weights;
    NADIR_CHECK(nadir_model_create(context, &data, made));
cleanup:
    NADIR_RELEASE(context, starts, columns, values, rewards, lower, upper, weights);
    return status;
}

/*
 * cassandra_expand.c: the model that the rules of a Cassandra file stand for.
 *
 * The rules are sorted into groups of the same state and action, where a wildcard stands for itself. On a row (s, a)
 * bear those of (s, a), (*, a), (s, *) and (*, *).
 *
 * A first pass counts what every row may hold, from its latest base (the rule that sets a whole row) and the
 * entries given after it. So the arrays are made once, and a short file that stands for far more than it may
 * is refused before anything of that size is made. The second pass fills the rows in: of the rules for one
 * entry that of the highest order holds, whatever order they are looked at in.
 */
#include "io/cassandra.h"

#include <math.h>
#include <stdlib.h>

/* ---- Rules -------------------------------------------------------------------------------------------- */

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_rows(const nadir_cassandra_rule *a, const nadir_cassandra_rule *b)
{
    const int states = compare_numbers(a->state, b->state);
    return states != 0 ? states : compare_numbers(a->action, b->action);
}

/* By state, action, end and order; bases count as one end. */
static int compare_rules(const void *left, const void *right)
{
    const nadir_cassandra_rule *a = left;
    const nadir_cassandra_rule *b = right;
    const int rows = compare_rows(a, b);
    const int ends =
        compare_numbers(a->end < 0 ? NADIR_CASSANDRA_ANY : a->end, b->end < 0 ? NADIR_CASSANDRA_ANY : b->end);
    return rows != 0 ? rows : ends != 0 ? ends : compare_numbers(a->order, b->order);
}

nadir_status nadir_cassandra_add(nadir_context *context, nadir_cassandra_rules *rules,
                                 nadir_cassandra_rule rule)
{
    nadir_status status = NADIR_OK;
    NADIR_RESERVE(context, rules->rules, rules->count + 1, rules->capacity);
    rule.order = (int64_t)rules->count;
    rules->rules[rules->count++] = rule;
    if (rules->count > 1 && compare_rules(&rules->rules[rules->count - 2], &rule) > 0) {
        rules->unsorted = true;
    }
cleanup:
    return status;
}

void nadir_cassandra_clear(nadir_context *context, nadir_cassandra_rules *rules)
{
    NADIR_RELEASE(context, rules->rules, rules->groups);
    *rules = (nadir_cassandra_rules){0};
}

/* The group rules[first..end): what a later rule of it overrides is dropped, the rest moves down to rules[to]. */
static nadir_cassandra_group make_group(nadir_cassandra_rule *rules, size_t first, size_t end, size_t to)
{
    nadir_cassandra_group group = {rules[first].state, rules[first].action, .newest = -1};
    while (first < end && rules[first].end < 0) { /* the last base holds */
        rules[to] = rules[first++];
        group.base = &rules[to];
        group.newest = rules[to].order;
    }
    group.entries = &rules[to] + (group.base != NULL);
    const int64_t base_order = group.newest;
    for (; first < end; first++) {
        const bool repeated = first + 1 < end && rules[first + 1].end == rules[first].end;
        if (!repeated && rules[first].order > base_order) {
            group.newest = rules[first].order > group.newest ? rules[first].order : group.newest;
            rules[to + (group.base != NULL) + group.count++] = rules[first];
        }
    }
    return group;
}

static nadir_status make_groups(nadir_context *context, nadir_cassandra_rules *rules)
{
    nadir_status status = NADIR_OK;
    if (rules->unsorted) {
        qsort(rules->rules, rules->count, sizeof *rules->rules, compare_rules);
    }
    size_t to = 0;
    for (size_t first = 0; first < rules->count;) {
        size_t end = first + 1;
        while (end < rules->count && compare_rows(&rules->rules[first], &rules->rules[end]) == 0) {
            end++;
        }
        NADIR_RESERVE(context, rules->groups, rules->group_count + 1, rules->group_capacity);
        const nadir_cassandra_group group = make_group(rules->rules, first, end, to);
        rules->groups[rules->group_count++] = group;
        to += group.count + (group.base != NULL);
        first = end;
    }
cleanup:
    return status;
}

/* What bears on one row. */
typedef struct row_rules {
    int count;
    const nadir_cassandra_group *parts[4]; /* [count] with entries that the base does not override */
    const nadir_cassandra_rule *base;      /* the latest of the row, or NULL */
} row_rules;

static int compare_groups(const void *left, const void *right)
{
    const nadir_cassandra_group *a = left;
    const nadir_cassandra_group *b = right;
    const int states = compare_numbers(a->state, b->state);
    return states != 0 ? states : compare_numbers(a->action, b->action);
}

static row_rules find_rules(const nadir_cassandra_rules *rules, int32_t state, int32_t action)
{
    const nadir_cassandra_group wanted[] = {{state, action, .count = 0},
                                            {NADIR_CASSANDRA_ANY, action, .count = 0},
                                            {state, NADIR_CASSANDRA_ANY, .count = 0},
                                            {NADIR_CASSANDRA_ANY, NADIR_CASSANDRA_ANY, .count = 0}};
    const nadir_cassandra_group *found[4] = {NULL};
    row_rules row = {0};
    for (int i = 0; i < 4 && rules->group_count > 0; i++) {
        found[i] = bsearch(&wanted[i], rules->groups, rules->group_count, sizeof wanted[i], compare_groups);
        const nadir_cassandra_rule *base = found[i] != NULL ? found[i]->base : NULL;
        if (base != NULL && (row.base == NULL || base->order > row.base->order)) {
            row.base = base;
        }
    }
    for (int i = 0; i < 4; i++) {
        if (found[i] != NULL && found[i]->count > 0 &&
            (row.base == NULL || found[i]->newest > row.base->order)) {
            row.parts[row.count++] = found[i];
        }
    }
    return row;
}

/* ---- Expansion ---------------------------------------------------------------------------------------- */

/* A file may stand for this many transitions, and so many more for each of its bytes. Files that list their
 * transitions need less than one for each byte; the rest is for wildcards: 10^5 states with 40 actions, each
 * of one successor, or 2000 states with a uniform row each. */
#define TRANSITIONS_FREE     ((int64_t)1 << 22)
#define TRANSITIONS_PER_BYTE 256

typedef struct expansion {
    nadir_cassandra_problem *problem;
    nadir_context *context;
    nadir_model *model;
    int64_t limit; /* of transitions */
    int32_t
        *start_columns; /* [S], start_count of them: where `reset` leads: the nonzeros of model->initial */
    int64_t start_count;
    int64_t *slots;      /* [S] where the row being filled holds the state, if it does */
    int64_t *orders;     /* [S] order of the rule that set it */
    uint32_t *row_lines; /* [rows] */
    int64_t used;        /* transitions so far */
    bool unlisted;       /* rewards are given for successors of probability 0 */
} expansion;

/* ---- Initial distribution ----------------------------------------------------------------------------- */

static nadir_status fill_initial(expansion *expand)
{
    nadir_status status = NADIR_OK;
    const nadir_cassandra_problem *problem = expand->problem;
    double *initial;
    const int64_t states = expand->model->states;
    const bool vector = problem->start == NADIR_CASSANDRA_START_VECTOR;
    const bool include = problem->start == NADIR_CASSANDRA_START_INCLUDE;
    NADIR_NEW_ZERO(expand->context, expand->model->initial, states);
    initial = expand->model->initial;
    for (int64_t s = 0; s < states; s++) {
        initial[s] = !vector && !include;
    }
    for (size_t i = 0; i < problem->share_count; i++) {
        initial[problem->shares[i].state] = vector ? problem->shares[i].probability : include;
    }
    NADIR_NEW(expand->context, expand->start_columns, states);
    for (int64_t s = 0; s < states; s++) {
        expand->start_columns[expand->start_count] = (int32_t)s;
        expand->start_count += initial[s] != 0;
    }
    if (!vector && expand->start_count == 0) {
        return nadir_fail(expand->context, NADIR_ERROR_FORMAT,
                          "%s:%lld: start exclude: leaves no state to start in", problem->path,
                          (long long)problem->start_line);
    }
    for (int64_t i = 0; !vector && i < expand->start_count; i++) {
        initial[expand->start_columns[i]] = 1.0 / (double)expand->start_count;
    }
cleanup:
    return status;
}

/* ---- Counting ----------------------------------------------------------------------------------------- */

static nadir_status refuse_size(const expansion *expand, double estimate)
{
    return nadir_fail(
        expand->context, NADIR_ERROR_FORMAT,
        "%s: states: %lld and actions: %lld stand for about %.3g transitions; a file of %lld bytes "
        "may stand for %lld at most",
        expand->problem->path, (long long)expand->problem->lists[NADIR_CASSANDRA_STATES].count,
        (long long)expand->problem->lists[NADIR_CASSANDRA_ACTIONS].count, estimate,
        (long long)expand->problem->bytes, (long long)expand->limit);
}

/* How many transitions a row may hold. */
static int64_t row_bound(const expansion *expand, const row_rules *row)
{
    int64_t bound = 0;
    if (row->base != NULL && row->base->end == NADIR_CASSANDRA_IDENTITY) {
        bound = 1;
    } else if (row->base != NULL && row->base->end == NADIR_CASSANDRA_RESET) {
        bound = expand->start_count;
    } else if (row->base != NULL && row->base->value != 0) {
        bound = expand->model->states;
    }
    for (int i = 0; i < row->count; i++) {
        bound += (int64_t)row->parts[i]->count;
    }
    return bound;
}

static nadir_status missing_row(const expansion *expand, int64_t state, int64_t row)
{
    char place[NADIR_LABEL_LENGTH];
    return nadir_fail(expand->context, NADIR_ERROR_MODEL, "%s: no T statement gives a transition for %s",
                      expand->problem->path, nadir_model_label(expand->model, state, row, place));
}

static nadir_status count_transitions(expansion *expand, int64_t *count)
{
    const nadir_model *model = expand->model;
    const int64_t actions = expand->problem->lists[NADIR_CASSANDRA_ACTIONS].count;
    *count = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const row_rules rules =
            find_rules(&expand->problem->transitions, (int32_t)(row / actions), (int32_t)(row % actions));
        const int64_t bound = row_bound(expand, &rules);
        if (bound == 0) {
            return missing_row(expand, row / actions, row);
        }
        *count += bound;
        if (*count > expand->limit) {
            return refuse_size(expand, (double)*count / (double)(row + 1) * (double)model->rows);
        }
        if (row % 4096 == 0) {
            NADIR_TRY(
                nadir_progress(expand->context, "counting transitions", (double)row / (double)model->rows));
        }
    }
    return NADIR_OK;
}

/* ---- Rows --------------------------------------------------------------------------------------------- */

/* Sets P(column | row) unless a later rule did. The row begins at `start`. */
static void set_entry(expansion *expand, int64_t start, int32_t column, double value, int64_t order)
{
    nadir_model *model = expand->model;
    int64_t slot = expand->slots[column];
    if (slot < start || slot >= expand->used || model->columns[slot] != column) {
        slot = expand->used++;
        expand->slots[column] = slot;
        model->columns[slot] = column;
    } else if (order < expand->orders[column]) {
        return;
    }
    model->probabilities[slot] = value;
    expand->orders[column] = order;
}

static void set_base(expansion *expand, int64_t start, int32_t state, const nadir_cassandra_rule *base)
{
    if (base->end == NADIR_CASSANDRA_IDENTITY) {
        set_entry(expand, start, state, 1, base->order);
    } else if (base->end == NADIR_CASSANDRA_RESET) {
        for (int64_t i = 0; i < expand->start_count; i++) {
            const int32_t column = expand->start_columns[i];
            set_entry(expand, start, column, expand->model->initial[column], base->order);
        }
    } else if (base->value != 0) {
        for (int64_t column = 0; column < expand->model->states; column++) {
            set_entry(expand, start, (int32_t)column, base->value, base->order);
        }
    }
}

/* The transitions of one row, without zeros, and the line of the last statement about it. */
static nadir_status fill_row(expansion *expand, int64_t row, int32_t state, const row_rules *rules)
{
    nadir_model *model = expand->model;
    const int64_t start = expand->used;
    int64_t latest = -1;
    if (rules->base != NULL) {
        set_base(expand, start, state, rules->base);
        latest = rules->base->order;
        expand->row_lines[row] = rules->base->line;
    }
    const int64_t base_order = latest;
    for (int part = 0; part < rules->count; part++) {
        for (size_t i = 0; i < rules->parts[part]->count; i++) {
            const nadir_cassandra_rule *rule = &rules->parts[part]->entries[i];
            if (rule->order > base_order) {
                set_entry(expand, start, rule->end, rule->value, rule->order);
            }
            if (rule->order > latest) {
                latest = rule->order;
                expand->row_lines[row] = rule->line;
            }
        }
    }
    int64_t to = start;
    for (int64_t i = start; i < expand->used; i++) {
        if (model->probabilities[i] != 0) {
            model->columns[to] = model->columns[i];
            model->probabilities[to++] = model->probabilities[i];
        }
    }
    expand->used = to;
    model->row_starts[row + 1] = to;
    return to > start ? NADIR_OK : missing_row(expand, state, row);
}

/* ---- Rewards ------------------------------------------------------------------------------------------ */

static int compare_end(const void *end, const void *rule)
{
    return compare_numbers(*(const int32_t *)end, ((const nadir_cassandra_rule *)rule)->end);
}

/* NaN: no statement gives it. */
static double reward_of(const nadir_cassandra_problem *problem, const row_rules *rules, int32_t end)
{
    const nadir_cassandra_rule *latest = rules->base;
    for (int i = 0; i < rules->count; i++) {
        const nadir_cassandra_rule *rule =
            bsearch(&end, rules->parts[i]->entries, rules->parts[i]->count, sizeof *rule, compare_end);
        if (rule != NULL && (latest == NULL || rule->order > latest->order)) {
            latest = rule;
        }
    }
    const double value = latest != NULL ? latest->value : NAN;
    return problem->costs ? 0 - value : value; /* 0 - 0 is 0, not -0 */
}

/* Whether a reward is given for a successor that the row, the last one so far, does not list. Columns that
 * moved when zeros were dropped may be taken for such. */
static bool rewards_unlisted(const expansion *expand, int64_t row, const row_rules *rewards)
{
    const int64_t start = expand->model->row_starts[row];
    bool found = rewards->base != NULL && expand->used - start < expand->model->states;
    for (int part = 0; part < rewards->count; part++) {
        for (size_t i = 0; i < rewards->parts[part]->count && !found; i++) {
            const int32_t end = rewards->parts[part]->entries[i].end;
            const int64_t slot = expand->slots[end];
            found = slot < start || slot >= expand->used || expand->model->columns[slot] != end;
        }
    }
    return found;
}

/* All rewards that are given, where they differ within a row and some are for successors of probability 0: rows
 * become dense, and nadir_model_finish decides which are kept. */
static nadir_status spread_rewards(expansion *expand)
{
    nadir_model *model = expand->model;
    const nadir_cassandra_problem *problem = expand->problem;
    const int64_t actions = problem->lists[NADIR_CASSANDRA_ACTIONS].count;
    const int64_t states = model->states;
    bool differ = false;
    for (size_t i = 0; i < problem->rewards.group_count; i++) {
        differ = differ || problem->rewards.groups[i].count > 0;
    }
    if (!expand->unlisted || !differ) {
        return NADIR_OK;
    }
    if ((double)model->rows * (double)states > NADIR_ZEROS_LIMIT) {
        nadir_log(expand->context, NADIR_LOG_WARNING,
                  "%s: rewards of successors of probability 0 are not used: they are kept for up to 2^26 "
                  "pairs of a row and a state",
                  problem->path);
        return NADIR_OK;
    }
    NADIR_TRY(nadir_model_to_dense(expand->context, model));
    for (int64_t row = 0; row < model->rows; row++) {
        const row_rules rules =
            find_rules(&problem->rewards, (int32_t)(row / actions), (int32_t)(row % actions));
        for (int64_t t = 0; t < states; t++) {
            double *reward = &model->transition_rewards[row * states + t];
            *reward = isnan(*reward) ? reward_of(problem, &rules, (int32_t)t) : *reward;
        }
    }
    return NADIR_OK;
}

static nadir_status fill_rows(expansion *expand)
{
    nadir_model *model = expand->model;
    const nadir_cassandra_problem *problem = expand->problem;
    const int64_t actions = problem->lists[NADIR_CASSANDRA_ACTIONS].count;
    model->row_starts[0] = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const int32_t state = (int32_t)(row / actions);
        const int32_t action = (int32_t)(row % actions);
        const row_rules transitions = find_rules(&problem->transitions, state, action);
        const row_rules rewards = find_rules(&problem->rewards, state, action);
        NADIR_TRY(fill_row(expand, row, state, &transitions));
        for (int64_t i = model->row_starts[row]; problem->rewards.count > 0 && i < expand->used; i++) {
            const double reward = reward_of(problem, &rewards, model->columns[i]);
            model->transition_rewards[i] = isnan(reward) ? 0 : reward;
        }
        expand->unlisted = expand->unlisted || rewards_unlisted(expand, row, &rewards);
        if (row % 4096 == 0) {
            NADIR_TRY(
                nadir_progress(expand->context, "expanding wildcards", (double)row / (double)model->rows));
        }
    }
    return NADIR_OK;
}

/* ---- All of it ---------------------------------------------------------------------------------------- */

/* Sizes, names and what does not depend on the rules. */
static nadir_status begin_model(expansion *expand)
{
    nadir_status status = NADIR_OK;
    nadir_cassandra_problem *problem = expand->problem;
    nadir_context *context = expand->context;
    const int64_t actions = problem->lists[NADIR_CASSANDRA_ACTIONS].count;
    NADIR_CHECK(nadir_model_start(context, &expand->model));
    nadir_model *model = expand->model;
    model->states = problem->lists[NADIR_CASSANDRA_STATES].count;
    model->rows = model->states * actions; /* below 2^62 */
    model->discount = problem->discount;
    expand->limit = TRANSITIONS_FREE + TRANSITIONS_PER_BYTE * problem->bytes;
    if (model->rows > expand->limit) { /* a row needs a transition */
        return refuse_size(expand, (double)model->rows);
    }
    model->state_names = problem->lists[NADIR_CASSANDRA_STATES].names;
    model->action_names = problem->lists[NADIR_CASSANDRA_ACTIONS].names;
    problem->lists[NADIR_CASSANDRA_STATES].names = (nadir_names){0};
    problem->lists[NADIR_CASSANDRA_ACTIONS].names = (nadir_names){0};
    NADIR_NEW(context, model->state_rows, model->states + 1);
    for (int64_t s = 0; s <= model->states; s++) {
        model->state_rows[s] = s * actions;
    }
    NADIR_CHECK(fill_initial(expand));
cleanup:
    return status;
}

static nadir_status allocate_rows(expansion *expand, int64_t transitions)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = expand->context;
    nadir_model *model = expand->model;
    NADIR_NEW(context, model->row_starts, model->rows + 1);
    NADIR_NEW(context, model->columns, transitions);
    NADIR_NEW(context, model->probabilities, transitions);
    NADIR_NEW_ZERO(context, expand->row_lines, model->rows);
    NADIR_NEW_ZERO(context, expand->slots, model->states);
    NADIR_NEW_ZERO(context, expand->orders, model->states);
    if (expand->problem->rewards.count > 0) { /* those that are the same for a whole row are dropped later */
        NADIR_NEW(context, model->transition_rewards, transitions);
    }
cleanup:
    return status;
}

nadir_status nadir_cassandra_expand(nadir_cassandra_problem *problem, const nadir_read_settings *settings,
                                    nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = problem->context;
    expansion expand = {.problem = problem, .context = context};
    int64_t transitions;
    NADIR_CHECK(make_groups(context, &problem->transitions));
    NADIR_CHECK(make_groups(context, &problem->rewards));
    NADIR_CHECK(begin_model(&expand));
    NADIR_CHECK(count_transitions(&expand, &transitions));
    NADIR_CHECK(allocate_rows(&expand, transitions));
    NADIR_CHECK(fill_rows(&expand));
    if (!settings->frozen_rewards) {
        NADIR_CHECK(spread_rewards(&expand));
    }
    nadir_cassandra_clear(context, &problem->transitions); /* before the checks, to keep the peak low */
    nadir_cassandra_clear(context, &problem->rewards);
    const nadir_source source = {problem->path, expand.row_lines, settings};
    NADIR_CHECK(nadir_model_finish(context, expand.model, &source));
    *model = expand.model;
    expand.model = NULL;
cleanup:
    nadir_model_free(expand.model);
    NADIR_RELEASE(context, expand.start_columns, expand.slots, expand.orders, expand.row_lines);
    return status;
}

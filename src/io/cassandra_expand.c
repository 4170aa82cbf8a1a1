/*
 * cassandra_expand.c: the model that the rules of a Cassandra file stand for.
 *
 * The rules are sorted by state, action and end with the wildcard -1 first: those of (*, *) come first, then
 * those of (*, 0), (*, 1), ...; then for every state those of (s, *), (s, 0), (s, 1), .... A walk over rows in
 * order keeps a position among the (*, a) and one among the (s, a), and only moves them forward.
 *
 * A first pass counts what every row may hold, from its latest base (the rule that sets a whole row) and the
 * entries given after it. So the arrays are made once, and a short file that stands for far more than it may
 * is refused before anything of that size is made. The second pass fills the rows in: of the rules for one
 * entry that of the highest order holds, whatever order they are looked at in.
 */
#include "io/cassandra.h"

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
    rules->has_entries = rules->has_entries || rule.end >= 0;
    if (rules->count > 1 && compare_rules(&rules->rules[rules->count - 2], &rule) > 0) {
        rules->unsorted = true;
    }
cleanup:
    return status;
}

void nadir_cassandra_clear(nadir_context *context, nadir_cassandra_rules *rules)
{
    nadir_release(context, rules->rules);
    nadir_release(context, rules->groups);
    *rules = (nadir_cassandra_rules){0};
}

/* Moves what still holds of the group rules[first..end) down to `to`; returns where it ends now. The highest
 * order goes to *newest. */
static size_t reduce_group(nadir_cassandra_rule *rules, size_t first, size_t end, size_t to, int64_t *newest)
{
    size_t entries = first;
    while (entries < end && rules[entries].end < 0) {
        entries++;
    }
    *newest = -1;
    if (entries > first) {
        rules[to] = rules[entries - 1];
        *newest = rules[to++].order;
    }
    const int64_t base_order = *newest;
    for (size_t i = entries; i < end; i++) {
        const bool repeated = i + 1 < end && rules[i + 1].end == rules[i].end;
        if (!repeated && rules[i].order > base_order) {
            *newest = rules[i].order > *newest ? rules[i].order : *newest;
            rules[to++] = rules[i];
        }
    }
    return to;
}

/* Sorts the rules into groups and drops those that a later one of the same group overrides. */
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
        nadir_cassandra_group *group = &rules->groups[rules->group_count++];
        *group = (nadir_cassandra_group){rules->rules[first].state, rules->rules[first].action, to, -1};
        to = reduce_group(rules->rules, first, end, to, &group->newest);
        first = end;
    }
    rules->count = to;
    NADIR_RESERVE(context, rules->groups, rules->group_count + 1, rules->group_capacity);
    rules->groups[rules->group_count] = (nadir_cassandra_group){INT32_MAX, INT32_MAX, to, -1};
cleanup:
    return status;
}

/* The groups that bear on one row: (s, a), (*, a), (s, *) and (*, *), as far as there are any. */
typedef struct row_rules {
    int32_t count;
    struct {
        const nadir_cassandra_rule *entries; /* rising ends */
        size_t count;
        int64_t newest;
    } parts[4];
    const nadir_cassandra_rule *base; /* the latest of the row, or NULL */
} row_rules;

/* A walk over the groups, for rows in rising order; zeros but for the rules: at its start. */
typedef struct rule_walk {
    const nadir_cassandra_rules *rules;
    size_t state_position;                  /* among the groups (s, a) */
    size_t any_position;                    /* among the groups (*, a), for the actions of this state */
    const nadir_cassandra_group *state_any; /* (s, *) */
} rule_walk;

/* Moves the position to the first group that is not before (state, action); NULL unless it is that. */
static const nadir_cassandra_group *seek_group(const nadir_cassandra_rules *rules, size_t *position,
                                               int32_t state, int32_t action)
{
    const nadir_cassandra_group *group = &rules->groups[*position];
    while (group->state < state || (group->state == state && group->action < action)) {
        group++;
    }
    *position = (size_t)(group - rules->groups);
    return group->state == state && group->action == action ? group : NULL;
}

/* Adds a group to a row, and its base if that is later than the row's. */
static void add_group(const nadir_cassandra_rules *rules, const nadir_cassandra_group *group, row_rules *row)
{
    if (group == NULL) {
        return;
    }
    const nadir_cassandra_rule *first = rules->rules + group->first;
    const bool has_base = first->end < 0;
    if (has_base && (row->base == NULL || first->order > row->base->order)) {
        row->base = first;
    }
    row->parts[row->count].entries = first + has_base;
    row->parts[row->count].count = group[1].first - group[0].first - has_base;
    row->parts[row->count++].newest = group->newest;
}

/* The rules of a row. Actions of a state are asked for in order from 0; states rise. */
static void find_rules(rule_walk *walk, int32_t state, int32_t action, row_rules *row)
{
    const nadir_cassandra_rules *rules = walk->rules;
    size_t start = 0;
    *row = (row_rules){0};
    if (action == 0) {
        walk->state_any = seek_group(rules, &walk->state_position, state, NADIR_CASSANDRA_ANY);
        walk->any_position = 0;
    }
    add_group(rules, seek_group(rules, &walk->state_position, state, action), row);
    add_group(rules, seek_group(rules, &walk->any_position, NADIR_CASSANDRA_ANY, action), row);
    add_group(rules, walk->state_any, row);
    add_group(rules, seek_group(rules, &start, NADIR_CASSANDRA_ANY, NADIR_CASSANDRA_ANY), row);
    int32_t kept = 0; /* of the groups that are not older than the row's base as a whole */
    for (int32_t i = 0; i < row->count; i++) {
        if (row->parts[i].count > 0 && (row->base == NULL || row->parts[i].newest > row->base->order)) {
            row->parts[kept++] = row->parts[i];
        }
    }
    row->count = kept;
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
    int64_t limit;          /* of transitions */
    int32_t *start_columns; /* [start_count] where `reset` leads: the nonzeros of model->initial */
    int64_t start_count;
    int64_t *slots;      /* [S] where the row being filled holds the state, if it does */
    int64_t *orders;     /* [S] order of the rule that set it */
    uint32_t *row_lines; /* [rows] */
    int64_t used;        /* transitions so far */
} expansion;

/* ---- Initial distribution ----------------------------------------------------------------------------- */

/* The same probability for every state whose mark is `marked`. */
static nadir_status spread_evenly(expansion *expand, double marked)
{
    double *initial = expand->model->initial;
    int64_t count = 0;
    for (int64_t s = 0; s < expand->model->states; s++) {
        count += initial[s] == marked;
    }
    if (count == 0) {
        return nadir_fail(expand->context, NADIR_ERROR_FORMAT,
                          "%s:%lld: start exclude: leaves no state to start in", expand->problem->path,
                          (long long)expand->problem->start_line);
    }
    for (int64_t s = 0; s < expand->model->states; s++) {
        initial[s] = initial[s] == marked ? 1.0 / (double)count : 0;
    }
    return NADIR_OK;
}

static nadir_status fill_initial(expansion *expand)
{
    nadir_status status = NADIR_OK;
    const nadir_cassandra_problem *problem = expand->problem;
    nadir_model *model = expand->model;
    NADIR_NEW_ZERO(expand->context, model->initial, model->states);
    const bool vector = problem->start == NADIR_CASSANDRA_START_VECTOR;
    for (size_t i = 0; i < problem->share_count; i++) {
        model->initial[problem->shares[i].state] = vector ? problem->shares[i].probability : 1;
    }
    if (!vector) {
        const bool include = problem->start == NADIR_CASSANDRA_START_INCLUDE;
        NADIR_CHECK(spread_evenly(expand, include ? 1 : 0));
    }
    for (int64_t s = 0; s < model->states; s++) {
        expand->start_count += model->initial[s] != 0;
    }
    NADIR_NEW(expand->context, expand->start_columns, expand->start_count);
    int64_t to = 0;
    for (int64_t s = 0; s < model->states; s++) {
        if (model->initial[s] != 0) {
            expand->start_columns[to++] = (int32_t)s;
        }
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
    for (int32_t i = 0; i < row->count; i++) {
        bound += (int64_t)row->parts[i].count;
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
    nadir_status status = NADIR_OK;
    const nadir_model *model = expand->model;
    const int64_t actions = expand->problem->lists[NADIR_CASSANDRA_ACTIONS].count;
    rule_walk walk = {.rules = &expand->problem->transitions};
    *count = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        row_rules rules;
        find_rules(&walk, (int32_t)(row / actions), (int32_t)(row % actions), &rules);
        const int64_t bound = row_bound(expand, &rules);
        if (bound == 0) {
            return missing_row(expand, row / actions, row);
        }
        *count += bound;
        if (*count > expand->limit) {
            return refuse_size(expand, (double)*count / (double)(row + 1) * (double)model->rows);
        }
        if (row % 4096 == 0) {
            NADIR_CHECK(
                nadir_progress(expand->context, "counting transitions", (double)row / (double)model->rows));
        }
    }
cleanup:
    return status;
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
    for (int32_t part = 0; part < rules->count; part++) {
        for (size_t i = 0; i < rules->parts[part].count; i++) {
            const nadir_cassandra_rule *rule = &rules->parts[part].entries[i];
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

static double reward_of(const nadir_cassandra_problem *problem, const row_rules *rules, int32_t end)
{
    const nadir_cassandra_rule *latest = rules->base;
    for (int32_t i = 0; i < rules->count; i++) {
        const nadir_cassandra_rule *rule =
            bsearch(&end, rules->parts[i].entries, rules->parts[i].count, sizeof *rule, compare_end);
        if (rule != NULL && (latest == NULL || rule->order > latest->order)) {
            latest = rule;
        }
    }
    const double value = latest != NULL ? latest->value : 0;
    return problem->costs ? 0 - value : value; /* 0 - 0 is 0, not -0 */
}

/* Rewards of one row: one for each transition if any statement tells them apart. */
static void fill_rewards(expansion *expand, int64_t row, const row_rules *rules)
{
    nadir_model *model = expand->model;
    if (model->transition_rewards == NULL) {
        model->rewards[row] = reward_of(expand->problem, rules, 0);
        return;
    }
    for (int64_t i = model->row_starts[row]; i < model->row_starts[row + 1]; i++) {
        model->transition_rewards[i] = reward_of(expand->problem, rules, model->columns[i]);
    }
}

static nadir_status fill_rows(expansion *expand)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = expand->model;
    const nadir_cassandra_problem *problem = expand->problem;
    const int64_t actions = problem->lists[NADIR_CASSANDRA_ACTIONS].count;
    rule_walk transitions = {.rules = &problem->transitions};
    rule_walk rewards = {.rules = &problem->rewards};
    const bool rewarded = model->rewards != NULL || model->transition_rewards != NULL;
    model->row_starts[0] = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const int32_t state = (int32_t)(row / actions);
        const int32_t action = (int32_t)(row % actions);
        row_rules rules;
        find_rules(&transitions, state, action, &rules);
        NADIR_CHECK(fill_row(expand, row, state, &rules));
        if (rewarded) {
            find_rules(&rewards, state, action, &rules);
            fill_rewards(expand, row, &rules);
        }
        if (row % 4096 == 0) {
            NADIR_CHECK(
                nadir_progress(expand->context, "expanding wildcards", (double)row / (double)model->rows));
        }
    }
cleanup:
    return status;
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
    const nadir_cassandra_rules *rewards = &expand->problem->rewards;
    nadir_model *model = expand->model;
    NADIR_NEW(context, model->row_starts, model->rows + 1);
    NADIR_NEW(context, model->columns, transitions);
    NADIR_NEW(context, model->probabilities, transitions);
    NADIR_NEW_ZERO(context, expand->row_lines, model->rows);
    NADIR_NEW_ZERO(context, expand->slots, model->states);
    NADIR_NEW_ZERO(context, expand->orders, model->states);
    if (rewards->has_entries) {
        NADIR_NEW(context, model->transition_rewards, transitions);
    } else if (rewards->count > 0) {
        NADIR_NEW(context, model->rewards, model->rows);
    }
cleanup:
    return status;
}

nadir_status nadir_cassandra_expand(nadir_cassandra_problem *problem, bool keep_transition_rewards,
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
    nadir_cassandra_clear(context, &problem->transitions); /* before the checks, to keep the peak low */
    nadir_cassandra_clear(context, &problem->rewards);
    const nadir_source source = {problem->path, expand.row_lines, keep_transition_rewards};
    NADIR_CHECK(nadir_model_finish(context, expand.model, &source));
    *model = expand.model;
    expand.model = NULL;
cleanup:
    nadir_model_free(expand.model);
    nadir_release(context, expand.start_columns);
    nadir_release(context, expand.slots);
    nadir_release(context, expand.orders);
    nadir_release(context, expand.row_lines);
    return status;
}

/*
 * cassandra_expand.c: the model that the rules of a Cassandra file stand for.
 *
 * A first pass counts what every row may hold, from its latest base (the rule that sets a whole row) and the
 * entries given after it. So the arrays are made once, and a short file that stands for far more than it may
 * is refused before anything of that size is made. The second pass fills the rows in: of the rules for one
 * entry that of the highest order holds, whatever order they are looked at in.
 */
#include "io/cassandra.h"

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
        return nadir_text_fail(nadir_cassandra_at(&expand->problem->lexer, expand->problem->start_line),
                               "start exclude: leaves no state to start in");
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
        expand->problem->path, (long long)expand->problem->states.count,
        (long long)expand->problem->actions.count, estimate, (long long)expand->problem->lexer.bytes,
        (long long)expand->limit);
}

/* How many transitions a row may hold. */
static int64_t row_bound(const expansion *expand, const nadir_cassandra_row *row)
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
    const int64_t actions = expand->problem->actions.count;
    nadir_cassandra_walk walk = nadir_cassandra_walk_start(&expand->problem->transitions);
    *count = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        nadir_cassandra_row rules;
        nadir_cassandra_walk_row(&walk, (int32_t)(row / actions), (int32_t)(row % actions), &rules);
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
static nadir_status fill_row(expansion *expand, int64_t row, int32_t state, const nadir_cassandra_row *rules)
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

/* The rule for `end` among the entries of a part, or NULL. */
static const nadir_cassandra_rule *find_entry(const nadir_cassandra_rule *entries, size_t count, int32_t end)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (entries[middle].end < end) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && entries[low].end == end ? &entries[low] : NULL;
}

static double reward_of(const nadir_cassandra_problem *problem, const nadir_cassandra_row *rules, int32_t end)
{
    const nadir_cassandra_rule *latest = rules->base;
    for (int32_t i = 0; i < rules->count; i++) {
        const nadir_cassandra_rule *rule = find_entry(rules->parts[i].entries, rules->parts[i].count, end);
        if (rule != NULL && (latest == NULL || rule->order > latest->order)) {
            latest = rule;
        }
    }
    const double value = latest != NULL ? latest->value : 0;
    return problem->costs ? 0 - value : value; /* 0 - 0 is 0, not -0 */
}

/* Rewards of one row: one for each transition if any statement tells them apart. */
static void fill_rewards(expansion *expand, int64_t row, const nadir_cassandra_row *rules)
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
    const int64_t actions = problem->actions.count;
    nadir_cassandra_walk transitions = nadir_cassandra_walk_start(&problem->transitions);
    nadir_cassandra_walk rewards = nadir_cassandra_walk_start(&problem->rewards);
    const bool rewarded = model->rewards != NULL || model->transition_rewards != NULL;
    model->row_starts[0] = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const int32_t state = (int32_t)(row / actions);
        const int32_t action = (int32_t)(row % actions);
        nadir_cassandra_row rules;
        nadir_cassandra_walk_row(&transitions, state, action, &rules);
        NADIR_CHECK(fill_row(expand, row, state, &rules));
        if (rewarded) {
            nadir_cassandra_walk_row(&rewards, state, action, &rules);
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
    const int64_t actions = problem->actions.count;
    NADIR_CHECK(nadir_model_start(context, &expand->model));
    nadir_model *model = expand->model;
    model->states = problem->states.count;
    model->rows = model->states * actions; /* below 2^62 */
    model->discount = problem->discount;
    expand->limit = TRANSITIONS_FREE + TRANSITIONS_PER_BYTE * problem->lexer.bytes;
    if (model->rows > expand->limit) { /* a row needs a transition */
        return refuse_size(expand, (double)model->rows);
    }
    model->state_names = problem->states.names;
    model->action_names = problem->actions.names;
    problem->states.names = (nadir_names){0};
    problem->actions.names = (nadir_names){0};
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
    const nadir_cassandra_book *rewards = &expand->problem->rewards;
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
    NADIR_CHECK(nadir_cassandra_settle(context, &problem->transitions));
    NADIR_CHECK(nadir_cassandra_settle(context, &problem->rewards));
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

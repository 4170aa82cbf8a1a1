/* model_builder.c: a model from transitions in any order; see model_builder.h. */
#include "model/model_builder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

nadir_status nadir_builder_start(nadir_context *context, const char *path, nadir_builder *builder)
{
    *builder = (nadir_builder){.context = context, .path = path, .sorted = true};
    return nadir_model_start(context, &builder->model);
}

void nadir_builder_clear(nadir_builder *builder)
{
    if (builder->context != NULL) {
        nadir_release(builder->context, builder->transitions);
        nadir_model_free(builder->model);
    }
    *builder = (nadir_builder){0};
}

static int compare(const nadir_transition *a, const nadir_transition *b)
{
    if (a->state != b->state) {
        return a->state < b->state ? -1 : 1;
    }
    if (a->action != b->action) {
        return a->action < b->action ? -1 : 1;
    }
    return (a->successor > b->successor) - (a->successor < b->successor);
}

nadir_status nadir_builder_add(nadir_builder *builder, int64_t state, int64_t action, int64_t successor,
                               double probability, double reward, int64_t line)
{
    const bool boxed = builder->boxed;
    NADIR_TRY(nadir_builder_add_interval(builder, state, action, successor, probability, probability, reward,
                                         line));
    builder->boxed = boxed;
    return NADIR_OK;
}

nadir_status nadir_builder_add_interval(nadir_builder *builder, int64_t state, int64_t action,
                                        int64_t successor, double lower, double upper, double reward,
                                        int64_t line)
{
    nadir_status status = NADIR_OK;
    const int64_t largest = state > successor ? state : successor;
    if (state < 0 || successor < 0 || largest >= NADIR_STATES_LIMIT || action < 0 || action > INT32_MAX) {
        return nadir_fail(builder->context, NADIR_ERROR_FORMAT,
                          "%s:%lld: state %lld, action %lld, successor %lld: expected numbers from 0 to %d",
                          builder->path, (long long)line, (long long)state, (long long)action,
                          (long long)successor, NADIR_STATES_LIMIT - 1);
    }
    NADIR_RESERVE(builder->context, builder->transitions, builder->count + 1, builder->capacity);
    builder->transitions[builder->count] = (nadir_transition){
        .state = (int32_t)state,
        .action = (int32_t)action,
        .successor = (int32_t)successor,
        .line = line > UINT32_MAX ? UINT32_MAX : (uint32_t)line,
        .probability = lower,
        .upper = upper,
        .reward = reward,
    };
    builder->boxed = true;
    const nadir_transition *added = &builder->transitions[builder->count++];
    builder->sorted = builder->sorted && (builder->count == 1 || compare(added - 1, added) <= 0);
    if (largest >= builder->states) {
        builder->states = largest + 1;
    }
cleanup:
    return status;
}

/* Stable merge of from[left, middle) and from[middle, right) into the same places of `into`. */
static void merge_runs(const nadir_transition *from, nadir_transition *into, size_t left, size_t middle,
                       size_t right)
{
    size_t i = left;
    size_t j = middle;
    for (size_t k = left; k < right; k++) {
        const bool take_left = i < middle && (j >= right || compare(&from[i], &from[j]) <= 0);
        into[k] = take_left ? from[i++] : from[j++];
    }
}

static nadir_status check_gaps(const nadir_builder *builder)
{
    if (builder->states > nadir_builder_states_limit((int64_t)builder->count)) {
        return nadir_fail(
            builder->context, NADIR_ERROR_FORMAT,
            "%s: %lld states but only %lld transitions; states are numbered from 0 without large gaps",
            builder->path, (long long)builder->states, (long long)builder->count);
    }
    return NADIR_OK;
}

/* Bottom up: runs of `width` become runs of twice that, from one array into the other. */
nadir_status nadir_builder_sort(nadir_builder *builder)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = builder->context;
    const size_t count = builder->count;
    nadir_transition *into = NULL;
    NADIR_CHECK(check_gaps(builder));
    if (builder->sorted) {
        return NADIR_OK;
    }
    NADIR_NEW(context, into, count);
    builder->capacity = count;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t left = 0; left < count; left += 2 * width) {
            const size_t middle = left + width < count ? left + width : count;
            const size_t right = middle + width < count ? middle + width : count;
            merge_runs(builder->transitions, into, left, middle, right);
        }
        nadir_transition *from = builder->transitions;
        builder->transitions = into;
        into = from;
    }
    builder->sorted = true;
cleanup:
    nadir_release(context, into);
    return status;
}

int64_t nadir_builder_find(const nadir_builder *builder, int64_t state, int64_t action, int64_t successor)
{
    if (state < 0 || state > INT32_MAX || action < 0 || action > INT32_MAX || successor < 0 ||
        successor > INT32_MAX) {
        return -1;
    }
    const nadir_transition wanted = {
        .state = (int32_t)state, .action = (int32_t)action, .successor = (int32_t)successor};
    size_t low = 0;
    size_t high = builder->count;
    while (low < high) { /* the first transition not before the wanted one */
        const size_t middle = low + (high - low) / 2;
        if (compare(&builder->transitions[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < builder->count && compare(&builder->transitions[low], &wanted) == 0 ? (int64_t)low : -1;
}

void nadir_builder_add_reward(nadir_builder *builder, int64_t first, double reward)
{
    nadir_transition *transition = &builder->transitions[first];
    const nadir_transition *end = builder->transitions + builder->count;
    do {
        transition++->reward += reward;
    } while (transition < end && compare(transition - 1, transition) == 0);
}

void nadir_builder_add_state_rewards(nadir_builder *builder, int64_t count, const double *rewards)
{
    for (size_t i = 0; i < builder->count; i++) {
        nadir_transition *self = &builder->transitions[i];
        self->reward += self->state < count ? rewards[self->state] : 0;
    }
}

/* Counts rows; row_lines and the arrays of the model are sized by it. Terminal states get one row each. */
static int64_t count_rows(const nadir_builder *builder, int64_t *terminal)
{
    int64_t rows = 0;
    int64_t with_actions = 0;
    for (size_t i = 0; i < builder->count; i++) {
        const nadir_transition *self = &builder->transitions[i];
        const bool new_state = i == 0 || self->state != self[-1].state;
        rows += new_state || self->action != self[-1].action;
        with_actions += new_state;
    }
    *terminal = builder->states - with_actions;
    return rows + *terminal;
}

/* Where the next row, transition and state go while rows are laid out. */
typedef struct layout {
    nadir_model *model;
    uint32_t *row_lines;
    int64_t row, transition, state;
} layout;

static void open_row(layout *self, int32_t action, uint32_t line)
{
    self->model->row_actions[self->row] = action;
    self->model->row_starts[self->row] = self->transition;
    self->row_lines[self->row] = line;
    self->row++;
}

/* Terminal rows for all states before `until`. */
static void open_terminal_states(layout *self, int64_t until)
{
    nadir_model *model = self->model;
    while (self->state < until) {
        model->state_rows[self->state] = self->row;
        model->scales[self->row] = 0;
        open_row(self, 0, 0);
        model->columns[self->transition] = (int32_t)self->state++;
        model->probabilities[self->transition] = 1;
        if (model->lower != NULL) {
            model->lower[self->transition] = 1;
            model->upper[self->transition] = 1;
        }
        model->transition_rewards[self->transition++] = 0;
    }
}

static void lay_out(const nadir_builder *builder, layout *self)
{
    nadir_model *model = self->model;
    for (size_t i = 0; i < builder->count; i++) {
        const nadir_transition *given = &builder->transitions[i];
        if (i == 0 || given->state != given[-1].state) {
            open_terminal_states(self, given->state);
            model->state_rows[self->state++] = self->row;
            open_row(self, given->action, given->line);
        } else if (given->action != given[-1].action) {
            open_row(self, given->action, given->line);
        }
        model->columns[self->transition] = given->successor;
        model->probabilities[self->transition] = model->lower != NULL ? NAN : given->probability;
        if (model->lower != NULL) {
            model->lower[self->transition] = given->probability;
            model->upper[self->transition] = given->upper;
        }
        model->transition_rewards[self->transition++] = given->reward;
    }
    open_terminal_states(self, model->states);
    model->state_rows[model->states] = self->row;
    model->row_starts[model->rows] = self->transition;
}

/* Warns of a state without actions whose name is like that of one with actions: it may be misspelt. */
static void warn_of_alike(const nadir_builder *builder, int64_t state, const bool *acts, int64_t *tries)
{
    const nadir_names *names = &builder->model->state_names;
    const char *name = nadir_names_get(names, state);
    for (int64_t other = 0; name != NULL && other<names->count && * tries> 0; other++, (*tries)--) {
        if (acts[other] && nadir_names_alike(name, nadir_names_get(names, other))) {
            nadir_log(
                builder->context, NADIR_LOG_WARNING,
                "%s: %s is only ever a successor and has no action, so that everything ends there; did you "
                "mean %s?",
                builder->path, name, nadir_names_get(names, other));
            return;
        }
    }
}

/* Names the states without actions. */
static nadir_status tell_terminal(const nadir_builder *builder, int64_t terminal)
{
    enum { NAMED = 5, TRIES = 10000000 };
    nadir_status status = NADIR_OK;
    int64_t tries = TRIES;
    int64_t named = 0;
    char list[256] = "";
    bool *acts = NULL;
    NADIR_NEW_ZERO(builder->context, acts, builder->states);
    for (size_t i = 0; i < builder->count; i++) {
        acts[builder->transitions[i].state] = true;
    }
    for (int64_t s = 0; s < builder->states; s++) {
        const char *name = nadir_names_get(&builder->model->state_names, s);
        const size_t used = strlen(list);
        if (!acts[s] && named++ < NAMED) {
            (void)(name != NULL
                       ? snprintf(list + used, sizeof list - used, "%s%.40s", used > 0 ? ", " : "", name)
                       : snprintf(list + used, sizeof list - used, "%s%lld", used > 0 ? ", " : "",
                                  (long long)s));
        }
        if (!acts[s]) {
            warn_of_alike(builder, s, acts, &tries);
        }
    }
    nadir_log(builder->context, NADIR_LOG_NOTICE,
              "%s: %lld state%s no action (%s%s): terminal, staying for ever with reward 0 and known exactly",
              builder->path, (long long)terminal, terminal == 1 ? " has" : "s have", list,
              terminal > NAMED ? ", ..." : "");
cleanup:
    nadir_release(builder->context, acts);
    return status;
}

nadir_status nadir_builder_finish(nadir_builder *builder, const nadir_read_settings *reading,
                                  nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = builder->context;
    uint32_t *row_lines = NULL;
    nadir_model *made = builder->model;
    int64_t terminal;
    NADIR_CHECK(nadir_builder_sort(builder));
    made->states = builder->states;
    made->rows = count_rows(builder, &terminal);
    const int64_t transitions = (int64_t)builder->count + terminal;
    NADIR_NEW(context, made->state_rows, made->states + 1);
    NADIR_NEW(context, made->row_actions, made->rows);
    NADIR_NEW(context, made->row_starts, made->rows + 1);
    NADIR_NEW(context, made->columns, transitions);
    NADIR_NEW(context, made->probabilities, transitions);
    if (builder->boxed) {
        NADIR_NEW(context, made->lower, transitions);
        NADIR_NEW(context, made->upper, transitions);
    }
    NADIR_NEW(context, made->transition_rewards, transitions);
    NADIR_NEW(context, row_lines, made->rows);
    if (terminal > 0 && made->scales == NULL) {
        NADIR_NEW(context, made->scales, made->rows);
        for (int64_t row = 0; row < made->rows; row++) {
            made->scales[row] = 1;
        }
    }
    layout run = {.model = made, .row_lines = row_lines};
    lay_out(builder, &run);
    if (terminal > 0) {
        NADIR_CHECK(tell_terminal(builder, terminal));
    }
    nadir_release(context, builder->transitions); /* before the checks, to keep the peak low */
    builder->transitions = NULL;
    if (builder->no_rewards) {
        nadir_release(context, made->transition_rewards);
        made->transition_rewards = NULL;
    }
    const nadir_source source = {builder->path, row_lines, reading};
    NADIR_CHECK(nadir_model_finish(context, made, &source));
    *model = made;
    builder->model = NULL;
cleanup:
    nadir_release(context, row_lines);
    nadir_builder_clear(builder);
    return status;
}

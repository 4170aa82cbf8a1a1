/* model.c: models as objects: making, sharing, looking inside; see model.h. */
#include "model/model.h"

#include "core/context.h"
#include "core/device.h"
#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "model/terminal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *nadir_ball_promise_name(nadir_ball_promise promise)
{
    static const char *const names[] = {"", "kernel", "return"};
    return promise >= NADIR_BALL_UNSAID && promise <= NADIR_BALL_OF_RETURN ? names[promise] : "";
}

const char *nadir_set_name(nadir_set set)
{
    static const char *const names[] = {"", "nonrect", "s", "sa"};
    return set >= NADIR_SET_NONRECT && set <= NADIR_SET_SA ? names[set] : "";
}

const char *nadir_domain_name(nadir_domain domain)
{
    static const char *const names[] = {"", "simplex", "support", "free", "box"};
    return domain >= NADIR_DOMAIN_SIMPLEX && domain <= NADIR_DOMAIN_BOX ? names[domain] : "";
}

const char *nadir_unseen_name(nadir_unseen unseen)
{
    static const char *const names[] = {"additive", "row", "min", "value"};
    return unseen >= NADIR_UNSEEN_ADDITIVE && unseen <= NADIR_UNSEEN_VALUE ? names[unseen] : "";
}

const char *nadir_reward_kind_name(nadir_reward_kind kind)
{
    static const char *const names[] = {"none", "row", "separable", "landing"};
    return kind >= NADIR_REWARDS_NONE && kind <= NADIR_REWARDS_LANDING ? names[kind] : "";
}

nadir_status nadir_model_start(nadir_context *context, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_model *made;
    NADIR_NEW_ZERO(context, made, 1);
    atomic_init(&made->references, 1);
    made->memory = nadir_memory_retain(context->memory);
    made->discount = NAN;
    made->norm = NAN;
    made->confidence = NAN;
    *model = made;
cleanup:
    return status;
}

nadir_model *nadir_model_retain(nadir_model *model)
{
    atomic_fetch_add(&model->references, 1);
    return model;
}

void nadir_model_free(nadir_model *model)
{
    if (model == NULL || atomic_fetch_sub(&model->references, 1) != 1) {
        return;
    }
    nadir_memory *memory = model->memory;
    if (model->borrowed) {
        model->dense = NULL;
        model->columns = NULL;
        model->probabilities = NULL;
    }
    if (model->release != NULL) {
        model->release(model->release_user);
    }
    nadir_landing_clear(memory, model);
    void *const arrays[] = {model->state_rows, model->row_actions, model->dense,
                            model->row_starts, model->columns,     model->probabilities,
                            model->rewards,    model->scales,      model->transition_rewards,
                            model->initial,    model->radius,      model->limits.minima,
                            model->terminal,   model->marks,       model->unobserved,
                            model->lower,      model->upper,       model->weights};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        nadir_memory_release(memory, arrays[i]);
    }
    nadir_names_clear(memory, &model->state_names);
    nadir_names_clear(memory, &model->action_names);
    nadir_exchange_free(model->exchange);
    if (model->device_rows != NULL) {
        model->rows_device->rows_free(model->device_rows);
    }
    nadir_memory_release(memory, model);
    nadir_memory_free(memory);
}

void nadir_model_data_fill(nadir_model_data *data, size_t size)
{
    nadir_model_data made = {0};
    made.discount = NAN;
    made.norm = NAN;
    made.confidence = NAN;
    nadir_settings_give(data, size, &made, sizeof made);
}

void nadir_model_view(const nadir_model *model, nadir_model_data *data)
{
    nadir_model_data view;
    nadir_model_data_default(&view);
    view.states = model->states;
    view.rows = model->rows;
    view.nonzeros = model->nonzeros;
    view.discount = model->discount;
    view.state_rows = model->state_rows;
    view.row_actions = model->row_actions;
    view.dense = model->dense;
    view.row_starts = model->row_starts;
    view.columns = model->columns;
    view.probabilities = model->probabilities;
    view.rewards = model->rewards;
    view.transition_rewards = model->transition_rewards;
    view.initial = model->initial;
    view.scales = model->scales;
    view.action_names_count = model->action_names.count;
    view.radius = model->radius;
    view.radius_count = model->radius_count;
    view.norm = model->norm;
    view.set = model->set;
    view.domain = model->domain;
    view.promise = model->promise;
    view.confidence = model->confidence;
    view.unobserved = model->unobserved;
    view.unseen = model->unseen;
    view.unseen_value = model->unseen_value;
    view.lower = model->lower;
    view.upper = model->upper;
    view.weights = model->weights;
    nadir_settings_give(data, data->size, &view, sizeof view);
}

const char *nadir_model_state_name(const nadir_model *model, int64_t state)
{
    return nadir_names_get(&model->state_names, state);
}

const char *nadir_model_action_name(const nadir_model *model, int64_t row)
{
    if (model->action_names.count == 0 || row < 0 || row >= model->rows) {
        return NULL;
    }
    const int64_t state = nadir_model_row_state(model, row);
    return nadir_names_get(&model->action_names, nadir_model_row_action(model, state, row));
}

nadir_status nadir_model_check_one_process(nadir_context *context, const nadir_model *model, const char *what)
{
    return model->exchange == NULL
               ? NADIR_OK
               : nadir_fail(context, NADIR_ERROR_UNSUPPORTED, "not available with an engine yet: %s", what);
}

nadir_status nadir_model_totals(nadir_context *context, const nadir_model *model, int64_t *states,
                                int64_t *rows, int64_t *nonzeros)
{
    *states = nadir_global_count(context, model->states);
    *rows = nadir_global_count(context, model->rows);
    *nonzeros = nadir_global_count(context, model->nonzeros);
    return NADIR_OK;
}

nadir_row nadir_model_row(const nadir_model *model, int64_t row)
{
    const int64_t start = model->dense != NULL ? row * model->states : model->row_starts[row];
    const int64_t end = model->dense != NULL ? start + model->states : model->row_starts[row + 1];
    return (nadir_row){
        .count = end - start,
        .columns = model->dense != NULL ? NULL : model->columns + start,
        .values = (model->dense != NULL ? model->dense : model->probabilities) + start,
        .rewards = model->transition_rewards != NULL ? model->transition_rewards + start : NULL,
    };
}

int64_t nadir_model_row_state(const nadir_model *model, int64_t row)
{
    return nadir_find_place(model->states, model->state_rows, row + 1) - 1;
}

int64_t nadir_model_row_action(const nadir_model *model, int64_t state, int64_t row)
{
    return model->row_actions != NULL ? model->row_actions[row] : row - model->state_rows[state];
}

int64_t nadir_model_find_row(const nadir_model *model, int64_t state, int64_t action)
{
    const int64_t first = model->state_rows[state];
    const int64_t end = model->state_rows[state + 1];
    if (model->row_actions == NULL) {
        return action >= 0 && action < end - first ? first + action : -1;
    }
    const int64_t row = first + nadir_find_column(end - first, model->row_actions + first, action);
    return row < end && model->row_actions[row] == action ? row : -1;
}

bool nadir_model_is_end(const nadir_model *model, int64_t state)
{
    for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        const bool stays = entries.columns == NULL ? entries.values[state] == 1
                                                   : entries.count == 1 && entries.columns[0] == state;
        if (!stays || model->scales == NULL || model->scales[row] != 0 ||
            (model->rewards != NULL && model->rewards[row] != 0)) {
            return false;
        }
    }
    return true;
}

bool nadir_model_is_terminal(const nadir_model *model, int64_t state)
{
    return model->state_rows[state + 1] == model->state_rows[state] + 1 && nadir_model_is_end(model, state);
}

const char *nadir_model_label(const nadir_model *model, int64_t state, int64_t row,
                              char text[NADIR_LABEL_LENGTH])
{
    const char *state_name = nadir_model_state_name(model, state);
    const int64_t number = nadir_model_first(model) + state;
    int used = snprintf(text, NADIR_LABEL_LENGTH, "state %lld", (long long)number);
    if (state_name != NULL) {
        used += snprintf(text + used, NADIR_LABEL_LENGTH - (size_t)used, " (%.48s)", state_name);
    }
    if (row >= 0) {
        const int64_t action = nadir_model_row_action(model, state, row);
        const char *action_name = nadir_names_get(&model->action_names, action);
        used += snprintf(text + used, NADIR_LABEL_LENGTH - (size_t)used, ", action %lld", (long long)action);
        if (action_name != NULL) {
            (void)snprintf(text + used, NADIR_LABEL_LENGTH - (size_t)used, " (%.48s)", action_name);
        }
    }
    return text;
}

/* Models from the caller's arrays, copied or borrowed; see nadir.h. */

/* A copy of an array of the caller's; NULL stays NULL. */
static nadir_status copy_array(nadir_context *context, const void *from, int64_t count, size_t size,
                               void *into)
{
    void *copy = NULL;
    if (from != NULL) {
        copy = nadir_allocate(context, (size_t)count, size);
        if (copy == NULL) {
            return NADIR_ERROR_MEMORY;
        }
        memcpy(copy, from, (size_t)count * size);
    }
    memcpy(into, &copy, sizeof copy);
    return NADIR_OK;
}

static nadir_status copy_names(nadir_context *context, const char *const *from, int64_t count,
                               nadir_names *into)
{
    for (int64_t i = 0; from != NULL && i < count; i++) {
        NADIR_TRY(nadir_names_add(context, into, from[i], strlen(from[i])));
    }
    return NADIR_OK;
}

/* What must hold before anything is copied; *entries is the number of transitions, or of dense numbers. */
static nadir_status check_given(nadir_context *context, const nadir_model_data *data, int64_t *entries)
{
    const bool sparse = data->row_starts != NULL && data->columns != NULL && data->probabilities != NULL;
    const bool any = data->row_starts != NULL || data->columns != NULL || data->probabilities != NULL;
    if (data->state_rows == NULL || (data->dense != NULL) == any || any != sparse) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "a model needs state_rows and either a dense or a sparse kernel");
    }
    if ((data->lower == NULL) != (data->upper == NULL)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "a box needs both lower and upper bounds");
    }
    if (data->states < 1 || data->states > NADIR_STATES_LIMIT || data->rows < data->states ||
        data->rows > INT64_MAX / data->states / (int64_t)sizeof(double)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "%lld states with %lld rows are no model",
                          (long long)data->states, (long long)data->rows);
    }
    *entries = sparse ? data->row_starts[data->rows] : data->rows * data->states;
    if (*entries < 0) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "row_starts ends with a negative number");
    }
    return NADIR_OK;
}

/* Borrowed arrays keep their place: the model never writes to them. */
static void take_kernel(const nadir_model_data *data, nadir_model *model)
{
    memcpy(&model->dense, &data->dense, sizeof model->dense);
    memcpy(&model->columns, &data->columns, sizeof model->columns);
    memcpy(&model->probabilities, &data->probabilities, sizeof model->probabilities);
}

static nadir_status copy_kernel(nadir_context *context, const nadir_model_data *data, int64_t entries,
                                nadir_model *model)
{
    NADIR_TRY(copy_array(context, data->dense, entries, sizeof(double), &model->dense));
    NADIR_TRY(copy_array(context, data->columns, entries, sizeof(int32_t), &model->columns));
    return copy_array(context, data->probabilities, entries, sizeof(double), &model->probabilities);
}

/* Numbers and all arrays but those of the kernel. */
static nadir_status copy_arrays(nadir_context *context, const nadir_model_data *data, int64_t entries,
                                nadir_model *model)
{
    const struct {
        const void *from;
        int64_t count;
        size_t size;
        void *into;
    } arrays[] = {
        {data->state_rows, data->states + 1, sizeof(int64_t), &model->state_rows},
        {data->row_actions, data->rows, sizeof(int32_t), &model->row_actions},
        {data->row_starts, data->rows + 1, sizeof(int64_t), &model->row_starts},
        {data->rewards, data->rows, sizeof(double), &model->rewards},
        {data->transition_rewards, entries, sizeof(double), &model->transition_rewards},
        {data->initial, data->states, sizeof(double), &model->initial},
        {data->scales, data->rows, sizeof(double), &model->scales},
        {data->unobserved, data->rows, sizeof(double), &model->unobserved},
        {data->radius, data->radius_count, sizeof(double), &model->radius},
        {data->lower, entries, sizeof(double), &model->lower},
        {data->upper, entries, sizeof(double), &model->upper},
        {data->weights, entries, sizeof(double), &model->weights},
    };
    model->states = data->states;
    model->rows = data->rows;
    model->discount = data->discount;
    model->norm = data->norm;
    model->set = data->set;
    model->domain = data->domain;
    model->promise = data->promise;
    model->confidence = data->confidence;
    model->unseen = data->unseen;
    model->unseen_value = data->unseen_value;
    model->radius_count = data->radius != NULL ? data->radius_count : 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        NADIR_TRY(copy_array(context, arrays[i].from, arrays[i].count, arrays[i].size, arrays[i].into));
    }
    NADIR_TRY(copy_names(context, data->state_names, data->states, &model->state_names));
    return copy_names(context, data->action_names, data->action_names_count, &model->action_names);
}

nadir_status nadir_model_copy_frame(nadir_context *context, const nadir_model *model, nadir_model *made)
{
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    view.row_starts = NULL;
    view.transition_rewards = NULL;
    view.lower = NULL;
    view.upper = NULL;
    view.weights = NULL;
    view.domain = view.domain == NADIR_DOMAIN_BOX ? NADIR_DOMAIN_UNSAID : view.domain;
    NADIR_TRY(copy_arrays(context, &view, 0, made));
    return nadir_model_add_names(context, &model->state_names, &model->action_names, made);
}

nadir_status nadir_model_add_names(nadir_context *context, const nadir_names *states,
                                   const nadir_names *actions, nadir_model *made)
{
    for (int64_t i = 0; i < states->count + actions->count; i++) {
        const int64_t action = i - states->count;
        const char *name = nadir_names_get(action < 0 ? states : actions, action < 0 ? i : action);
        NADIR_TRY(nadir_names_add(context, action < 0 ? &made->state_names : &made->action_names, name,
                                  strlen(name)));
    }
    return NADIR_OK;
}

/* Where a process without a discount ends, as the data say it. */
static nadir_status end_model(nadir_context *context, const nadir_model_data *data, const char *path,
                              nadir_model *made)
{
    nadir_status status = NADIR_OK;
    const bool *const given[] = {data->goal, data->avoid, data->until};
    unsigned asked = 0;
    for (unsigned i = 0; i < 3; i++) {
        asked |= given[i] != NULL ? 1U << i : 0;
    }
    if (asked == 0 && !data->total) {
        return NADIR_OK;
    }
    if (asked != 0 && !isnan(data->discount) && data->discount != 1) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "--goal and --until ask for a total without a discount, and the discount is %g",
                          data->discount);
    }
    NADIR_NEW_ZERO(context, made->marks, made->states);
    for (unsigned i = 0; i < 3; i++) {
        for (int64_t s = 0; given[i] != NULL && s < made->states; s++) {
            made->marks[s] = (unsigned char)(made->marks[s] | (given[i][s] ? 1U << i : 0));
        }
    }
    status = nadir_terminal_make(context, made, asked, path);
cleanup:
    return status;
}

/* may_borrow: the kernel is used where it lies if nothing has to be done to it. */
static nadir_status make_model(nadir_context *context, const nadir_model_data *given, bool may_borrow,
                               nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_model *made = NULL;
    nadir_model_data data;
    int64_t entries = 0;
    nadir_model_data_default(&data);
    if (!nadir_settings_copy(&data, sizeof data, given)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the model data is not set");
    }
    NADIR_CHECK(check_given(context, &data, &entries));
    NADIR_CHECK(nadir_model_start(context, &made));
    if (may_borrow && data.lower == NULL && data.weights == NULL) {
        NADIR_CHECK(nadir_rows_stand(context, &data, &made->borrowed, &made->nonzeros));
    }
    if (made->borrowed) {
        take_kernel(&data, made);
    } else {
        NADIR_CHECK(copy_kernel(context, &data, entries, made));
    }
    NADIR_CHECK(copy_arrays(context, &data, entries, made));
    const nadir_read_settings reading = {.frozen_rewards = data.frozen_rewards, .unseen = data.unseen};
    const nadir_source source = {.path = "model", .reading = &reading};
    NADIR_CHECK(nadir_model_finish(context, made, &source));
    NADIR_CHECK(nadir_model_check_discount(context, made, source.path));
    NADIR_CHECK(end_model(context, &data, source.path, made));
    NADIR_CHECK(nadir_landing_make(context, made, source.path));
    *model = made;
    made = NULL;
cleanup:
    nadir_model_free(made);
    return status;
}

nadir_status nadir_model_create(nadir_context *context, const nadir_model_data *data, nadir_model **model)
{
    return make_model(context, data, false, model);
}

nadir_status nadir_model_borrow(nadir_context *context, const nadir_model_data *data,
                                nadir_release_function release, void *user, nadir_model **model)
{
    const nadir_status status = make_model(context, data, true, model);
    if (status == NADIR_OK && (*model)->borrowed) {
        (*model)->release = release;
        (*model)->release_user = user;
    } else if (status == NADIR_OK && release != NULL) {
        release(user);
    }
    return status;
}

/* Lists of names, and from name to number. */

nadir_status nadir_names_add(nadir_context *context, nadir_names *names, const char *name, size_t length)
{
    nadir_status status = NADIR_OK;
    NADIR_RESERVE(context, names->offsets, names->count + 1, names->offsets_capacity);
    NADIR_RESERVE(context, names->text, names->text_used + length + 1, names->text_capacity);
    names->offsets[names->count++] = names->text_used;
    memcpy(names->text + names->text_used, name, length);
    names->text[names->text_used + length] = '\0';
    names->text_used += length + 1;
cleanup:
    return status;
}

const char *nadir_names_get(const nadir_names *names, int64_t index)
{
    return index >= 0 && index < names->count ? names->text + names->offsets[index] : NULL;
}

void nadir_names_clear(nadir_memory *memory, nadir_names *names)
{
    NADIR_MEMORY_RELEASE(memory, names->offsets, names->text);
    *names = (nadir_names){0};
}

static int lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter;
}

/* shortest: the letters that the longer of both has at least, unless they differ by case alone. */
static bool alike(const char *name, const char *other, size_t shortest)
{
    size_t ends[2] = {strlen(name), strlen(other)};
    const size_t longest = ends[0] > ends[1] ? ends[0] : ends[1];
    size_t first = 0;
    while (first < ends[0] && first < ends[1] && lower(name[first]) == lower(other[first])) {
        first++;
    }
    while (ends[0] > first && ends[1] > first && lower(name[ends[0] - 1]) == lower(other[ends[1] - 1])) {
        ends[0]--;
        ends[1]--;
    }
    const size_t here = ends[0] - first; /* letters that differ */
    const size_t there = ends[1] - first;
    const bool swapped = here == 2 && there == 2 && lower(name[first]) == lower(other[first + 1]) &&
                         lower(name[first + 1]) == lower(other[first]);
    bool digits = false;
    for (size_t i = 0; i < here || i < there; i++) {
        digits = digits || (i < here && name[first + i] >= '0' && name[first + i] <= '9') ||
                 (i < there && other[first + i] >= '0' && other[first + i] <= '9');
    }
    return (here == 0 && there == 0 && strcmp(name, other) != 0) ||
           (longest >= shortest && !digits && here + there > 0 && (swapped || (here <= 1 && there <= 1)));
}

bool nadir_names_alike(const char *name, const char *other)
{
    return alike(name, other, 4);
}

const char *nadir_names_nearest(const nadir_names *names, const char *word)
{
    for (int64_t i = 0; i < names->count; i++) {
        if (alike(word, nadir_names_get(names, i), 3)) {
            return nadir_names_get(names, i);
        }
    }
    return NULL;
}

/* FNV-1a from a secret start, mixed once more because its low bits are weak. */
static uint64_t hash(uint64_t secret, const char *name, size_t length)
{
    uint64_t value = secret;
    for (size_t i = 0; i < length; i++) {
        value = (value ^ (unsigned char)name[i]) * 1099511628211U;
        value ^= value >> 29;
    }
    return value ^ (value >> 32);
}

/* The time and where the memory lies; the names found do not depend on it. */
static uint64_t make_secret(const void *memory)
{
    const double time = nadir_clock_seconds();
    uint64_t bits;
    memcpy(&bits, &time, sizeof bits);
    return (bits ^ (uint64_t)(uintptr_t)memory) * 0x9e3779b97f4a7c15U;
}

/* The slot that holds the name, or the empty one where it belongs. */
static size_t find_slot(const nadir_name_index *index, const nadir_names *names, const char *name,
                        size_t length)
{
    size_t slot = (size_t)hash(index->secret, name, length) & (index->capacity - 1);
    while (index->slots[slot] != 0) {
        const char *held = nadir_names_get(names, index->slots[slot] - 1);
        if (strncmp(held, name, length) == 0 && held[length] == '\0') {
            break;
        }
        slot = (slot + 1) & (index->capacity - 1);
    }
    return slot;
}

static nadir_status grow(nadir_context *context, nadir_name_index *index, const nadir_names *names)
{
    nadir_status status = NADIR_OK;
    nadir_name_index larger = {NULL, index->capacity == 0 ? 64 : 2 * index->capacity, index->count, 0};
    NADIR_NEW_ZERO(context, larger.slots, larger.capacity);
    larger.secret = make_secret(larger.slots);
    for (size_t i = 0; i < index->capacity; i++) {
        if (index->slots[i] != 0) {
            const char *name = nadir_names_get(names, index->slots[i] - 1);
            larger.slots[find_slot(&larger, names, name, strlen(name))] = index->slots[i];
        }
    }
    nadir_release(context, index->slots);
    *index = larger;
cleanup:
    return status;
}

nadir_status nadir_name_index_add(nadir_context *context, nadir_name_index *index, const nadir_names *names,
                                  int64_t number, int64_t *existing)
{
    if ((size_t)index->count * 2 >= index->capacity) {
        NADIR_TRY(grow(context, index, names));
    }
    const char *name = nadir_names_get(names, number);
    const size_t slot = find_slot(index, names, name, strlen(name));
    *existing = index->slots[slot] - 1;
    if (*existing < 0) {
        index->slots[slot] = number + 1;
        index->count++;
    }
    return NADIR_OK;
}

int64_t nadir_name_index_find(const nadir_name_index *index, const nadir_names *names, const char *name,
                              size_t length)
{
    return index->capacity == 0 ? -1 : index->slots[find_slot(index, names, name, length)] - 1;
}

void nadir_name_index_clear(nadir_context *context, nadir_name_index *index)
{
    nadir_release(context, index->slots);
    *index = (nadir_name_index){0};
}

nadir_status nadir_words_number(nadir_context *context, nadir_words *words, const char *name, size_t length,
                                int64_t *number)
{
    int64_t existing;
    *number = words->names.count > 0 ? nadir_name_index_find(&words->index, &words->names, name, length) : -1;
    if (*number >= 0 || words->closed) {
        return NADIR_OK;
    }
    *number = words->names.count;
    NADIR_TRY(nadir_names_add(context, &words->names, name, length));
    return nadir_name_index_add(context, &words->index, &words->names, *number, &existing);
}

void nadir_words_clear(nadir_context *context, nadir_words *words)
{
    nadir_names_clear(context->memory, &words->names);
    nadir_name_index_clear(context, &words->index);
}

void nadir_model_own_states(const nadir_context *context, int64_t total, int64_t *first, int64_t *end)
{
    const int64_t rank = context->communication->rank;
    const int64_t members = context->communication->members;
    *first = total / members * rank + (rank < total % members ? rank : total % members);
    *end = *first + total / members + (rank < total % members);
}

double nadir_model_row_minimum(const nadir_model *model, int64_t row)
{
    const nadir_row entries = nadir_model_row(model, row);
    if (model->limits.minima != NULL) {
        return model->limits.minima[row];
    }
    if (entries.count < nadir_model_total(model)) {
        return 0;
    }
    double minimum = INFINITY;
    for (int64_t i = 0; i < entries.count; i++) {
        minimum = entries.values[i] < minimum ? entries.values[i] : minimum;
    }
    return minimum;
}

nadir_status nadir_model_valid_radius(nadir_context *context, const nadir_model *model, double norm,
                                      double *radius)
{
    return nadir_model_valid_radius_scaled(context, model, model->scales, norm, radius);
}

nadir_status nadir_model_valid_radius_scaled(nadir_context *context, const nadir_model *model,
                                             const double *scales, double norm, double *radius)
{
    if (!(norm >= 1)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the norm is %g; expected 1 to infinity", norm);
    }
    const double deviation = nadir_gstd_unit(nadir_model_total(model), norm);
    double smallest = scales == NULL && deviation > 0 ? model->limits.minimum / deviation : INFINITY;
    for (int64_t row = 0; scales != NULL && row < model->rows; row++) {
        if (scales[row] > 0 && deviation > 0) {
            const double reach = nadir_model_row_minimum(model, row) / (scales[row] * deviation);
            smallest = reach < smallest ? reach : smallest;
        }
    }
    *radius = nadir_allreduce_minimum(context, smallest);
    return NADIR_OK;
}

/* labels.c: labels of choices and states as actions and initial distributions; see labels.h. */

#include "io/labels.h"
#include "model/model.h"
#include "model/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_choices(const void *left, const void *right)
{
    const nadir_choice_label *a = left;
    const nadir_choice_label *b = right;
    if (a->state != b->state) {
        return a->state < b->state ? -1 : 1;
    }
    return (a->choice > b->choice) - (a->choice < b->choice);
}

/* The number of a name, which is added if it is new. */
static nadir_status find_or_add(nadir_context *context, nadir_action_labels *labels, const char *name,
                                size_t length, int32_t *number)
{
    int64_t found = nadir_name_index_find(&labels->index, &labels->names, name, length);
    if (found < 0) {
        int64_t existing;
        found = labels->names.count;
        if (found == INT32_MAX) {
            return nadir_fail(context, NADIR_ERROR_FORMAT, "more than %d action labels", INT32_MAX);
        }
        NADIR_TRY(nadir_names_add(context, &labels->names, name, length));
        NADIR_TRY(nadir_name_index_add(context, &labels->index, &labels->names, found, &existing));
    }
    *number = (int32_t)found;
    return NADIR_OK;
}

nadir_status nadir_action_labels_add(nadir_text *text, nadir_action_labels *labels, int64_t state,
                                     int64_t choice, nadir_cursor label)
{
    nadir_status status = NADIR_OK;
    if (state < 0 || state > INT32_MAX || choice < 0 || choice > INT32_MAX) {
        return nadir_text_fail(text, "state %lld, choice %lld: expected numbers from 0 to %d",
                               (long long)state, (long long)choice, INT32_MAX);
    }
    nadir_choice_label added = {.state = (int32_t)state, .choice = (int32_t)choice};
    NADIR_CHECK(find_or_add(text->context, labels, label.at, (size_t)(label.end - label.at), &added.label));
    if (labels->count > 0 && compare_choices(&labels->choices[labels->count - 1], &added) == 0) {
        const int32_t before = labels->choices[labels->count - 1].label;
        if (before != added.label) {
            return nadir_text_fail(text, "state %lld, choice %lld: the label is %.*s here and %.60s before",
                                   (long long)state, (long long)choice, NADIR_WORD(label),
                                   nadir_names_get(&labels->names, before));
        }
        return NADIR_OK;
    }
    NADIR_RESERVE(text->context, labels->choices, labels->count + 1, labels->capacity);
    labels->choices[labels->count++] = added;
cleanup:
    return status;
}

/* Puts the choices in order, each once. */
static nadir_status sort_choices(nadir_action_labels *labels, const nadir_builder *builder)
{
    nadir_choice_label *choices = labels->choices;
    bool sorted = true;
    for (size_t i = 1; i < labels->count && sorted; i++) {
        sorted = compare_choices(&choices[i - 1], &choices[i]) < 0;
    }
    if (sorted) {
        return NADIR_OK;
    }
    qsort(choices, labels->count, sizeof *choices, compare_choices);
    size_t kept = 0;
    for (size_t i = 0; i < labels->count; i++) {
        const nadir_choice_label *last = kept > 0 ? &choices[kept - 1] : NULL;
        if (last == NULL || compare_choices(last, &choices[i]) != 0) {
            choices[kept++] = choices[i];
        } else if (last->label != choices[i].label) {
            return nadir_fail(builder->context, NADIR_ERROR_FORMAT,
                              "%s: state %d, choice %d has the labels %.60s and %.60s", builder->path,
                              last->state, last->choice, nadir_names_get(&labels->names, last->label),
                              nadir_names_get(&labels->names, choices[i].label));
        }
    }
    labels->count = kept;
    return NADIR_OK;
}

/* Whether a name is 0 or digits without a leading zero, and fits. */
static bool is_plain_number(const char *name, int64_t *value)
{
    const size_t length = strlen(name);
    const nadir_cursor word = {name, name + length};
    return strspn(name, "0123456789") == length && (name[0] != '0' || length == 1) &&
           nadir_cursor_is_integer(word, value) && *value <= INT32_MAX;
}

/* How often a name was used in the state that is being numbered; state + 1, so that zeros are no state. */
typedef struct name_use {
    int64_t used_in;    /* the last state with an action of this number */
    int64_t repeats_in; /* the last state where this label occurred again ... */
    int64_t repeats;    /* ... and the last "#number" that it got there */
} name_use;

/* The pass that numbers all choices. */
typedef struct numbering {
    nadir_context *context;
    nadir_action_labels *labels;
    name_use *uses; /* [known] by number */
    size_t known;
    size_t capacity;
    char *room; /* for "label#2" */
    size_t room_capacity;
    bool plain; /* the labels are the numbers */
} numbering;

/* Makes room for the uses of names that came since. */
static nadir_status know_names(numbering *pass)
{
    nadir_status status = NADIR_OK;
    const size_t need = (size_t)pass->labels->names.count;
    NADIR_RESERVE(pass->context, pass->uses, need, pass->capacity);
    while (pass->known < need) {
        pass->uses[pass->known++] = (name_use){0};
    }
cleanup:
    return status;
}

/* Whether the labels are the numbers: all are plain and none is twice in a state. */
static bool all_plain(numbering *pass)
{
    const nadir_action_labels *labels = pass->labels;
    bool plain = true;
    int64_t value;
    for (int64_t i = 0; i < labels->names.count && plain; i++) {
        plain = is_plain_number(nadir_names_get(&labels->names, i), &value);
    }
    for (size_t i = 0; i < labels->count && plain; i++) {
        const int64_t here = (int64_t)labels->choices[i].state + 1;
        name_use *use = &pass->uses[labels->choices[i].label];
        plain = use->used_in != here;
        use->used_in = here;
    }
    memset(pass->uses, 0, pass->known * sizeof *pass->uses);
    return plain;
}

/* The number of a label's first free name in the state: the label itself, "label#2", "label#3", ... Each name
 * that is passed over was given by the file itself, and none is looked at twice in a state. */
static nadir_status number_by_name(numbering *pass, int64_t state, int32_t label, int32_t *number)
{
    nadir_status status = NADIR_OK;
    const int64_t here = state + 1;
    *number = label;
    if (pass->uses[label].used_in == here) {
        const size_t length = strlen(nadir_names_get(&pass->labels->names, label));
        int64_t repeats = pass->uses[label].repeats_in == here ? pass->uses[label].repeats : 1;
        NADIR_RESERVE(pass->context, pass->room, length + 24, pass->room_capacity);
        memcpy(pass->room, nadir_names_get(&pass->labels->names, label), length);
        do {
            const int added = snprintf(pass->room + length, 24, "#%lld", (long long)++repeats);
            NADIR_CHECK(find_or_add(pass->context, pass->labels, pass->room, length + (size_t)added, number));
            NADIR_CHECK(know_names(pass));
        } while (pass->uses[*number].used_in == here);
        pass->uses[label].repeats_in = here;
        pass->uses[label].repeats = repeats;
    }
    pass->uses[*number].used_in = here;
cleanup:
    return status;
}

static bool same_choice(const nadir_transition *a, const nadir_transition *b)
{
    return a->state == b->state && a->action == b->action;
}

int64_t nadir_count_choices(const nadir_builder *builder)
{
    int64_t choices = 0;
    for (size_t i = 0; i < builder->count; i++) {
        choices += i == 0 || !same_choice(&builder->transitions[i], &builder->transitions[i - 1]);
    }
    return choices;
}

/* Replaces the action of every transition. */
static nadir_status number_all(numbering *pass, nadir_builder *builder, int32_t no_label)
{
    const nadir_action_labels *labels = pass->labels;
    size_t given = 0;
    nadir_transition choice = {.state = -1};
    int32_t number = 0;
    for (size_t i = 0; i < builder->count; i++) {
        nadir_transition *self = &builder->transitions[i];
        if (!same_choice(self, &choice)) {
            choice = *self;
            const nadir_choice_label *label = given < labels->count ? &labels->choices[given] : NULL;
            const bool found =
                label != NULL && label->state == choice.state && label->choice == choice.action;
            given += found;
            const int32_t own = found ? label->label : no_label;
            int64_t value = 0;
            if (pass->plain && is_plain_number(nadir_names_get(&labels->names, own), &value)) {
                number = (int32_t)value;
            } else {
                NADIR_TRY(number_by_name(pass, choice.state, own, &number));
            }
        }
        builder->sorted = builder->sorted && number == self->action;
        self->action = number;
    }
    return NADIR_OK;
}

nadir_status nadir_action_labels_apply(nadir_action_labels *labels, nadir_builder *builder)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = builder->context;
    numbering pass = {.context = context, .labels = labels};
    int32_t no_label = 0;
    if (labels->count == 0) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_builder_sort(builder));
    NADIR_CHECK(sort_choices(labels, builder));
    const bool complete = nadir_count_choices(builder) == (int64_t)labels->count;
    if (!complete) {
        NADIR_CHECK(find_or_add(context, labels, NADIR_NO_LABEL, strlen(NADIR_NO_LABEL), &no_label));
    }
    pass.known = pass.capacity = (size_t)labels->names.count;
    NADIR_NEW_ZERO(context, pass.uses, pass.capacity);
    pass.plain = complete && all_plain(&pass);
    NADIR_CHECK(number_all(&pass, builder, no_label));
    if (!pass.plain) {
        builder->model->action_names = labels->names;
        labels->names = (nadir_names){0};
    }
cleanup:
    NADIR_RELEASE(context, pass.uses, pass.room);
    return status;
}

void nadir_action_labels_clear(nadir_context *context, nadir_action_labels *labels)
{
    nadir_names_clear(context->memory, &labels->names);
    nadir_name_index_clear(context, &labels->index);
    nadir_release(context, labels->choices);
    *labels = (nadir_action_labels){0};
}

/* A word that a reader takes whole: no blanks, nothing that ends a line. */
static bool is_word(const char *name)
{
    for (const char *self = name; *self != '\0'; self++) {
        if ((unsigned char)*self <= ' ' || *self == 0x7f) {
            return false;
        }
    }
    return name[0] != '\0';
}

/* The number of states with positive probability if mu is uniform over them, else 0. */
static int64_t count_initial(const nadir_model *model)
{
    double common = 0;
    int64_t count = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const double mu = model->initial[s];
        if (mu > 0) {
            common = count == 0 ? mu : common;
            if (mu != common) {
                return 0;
            }
            count++;
        }
    }
    return fabs(common * (double)count - 1) <= NADIR_SUM_ROUNDING ? count : 0;
}

nadir_status nadir_action_labels_fit(nadir_context *context, const nadir_model *model, nadir_label_fit *fit)
{
    nadir_status status = NADIR_OK;
    const nadir_names *names = &model->action_names;
    nadir_name_index index = {0};
    bool *seen = NULL;
    int64_t appeared = 0;
    bool all_numbers = true;
    *fit = (nadir_label_fit){names->count > 0, true, count_initial(model)};
    NADIR_NEW_ZERO(context, seen, names->count);
    for (int64_t state = 0; state < model->states && fit->usable; state++) {
        const bool terminal = nadir_model_is_terminal(model, state);
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1] && !terminal; row++) {
            const int64_t action = nadir_model_row_action(model, state, row);
            const char *name = nadir_names_get(names, action);
            int64_t value;
            int64_t existing = -1;
            if (name != NULL && seen[action]) {
                continue;
            }
            if (name != NULL) {
                seen[action] = true;
                NADIR_CHECK(nadir_name_index_add(context, &index, names, action, &existing));
            }
            fit->usable = fit->usable && name != NULL && is_word(name) && existing < 0;
            fit->same_numbers = fit->same_numbers && action == appeared++;
            all_numbers = all_numbers && name != NULL && is_plain_number(name, &value);
        }
    }
    fit->usable = fit->usable && !all_numbers;
cleanup:
    nadir_release(context, seen);
    nadir_name_index_clear(context, &index);
    return status;
}

void nadir_label_fit_report(nadir_context *context, const nadir_model *model, const char *path,
                            const nadir_label_fit *fit)
{
    if (model->action_names.count > 0 && !fit->usable) {
        nadir_log(context, NADIR_LOG_WARNING,
                  "%s: the names of actions are lost: not every action has a name of its own that is a "
                  "single word",
                  path);
    }
    if (fit->initial == 0) {
        nadir_log(context, NADIR_LOG_WARNING,
                  "%s: the initial distribution is lost: labels can only say one that is uniform over some "
                  "states",
                  path);
    }
}

/* ---- States labelled init ---- */

void nadir_initial_states_spread(nadir_builder *builder, const char *path)
{
    nadir_context *context = builder->context;
    double *mu = builder->model->initial;
    int64_t count = 0;
    for (int64_t s = 0; s < builder->states; s++) {
        count += mu[s] > 0;
    }
    for (int64_t s = 0; s < builder->states && count > 0; s++) {
        mu[s] = mu[s] > 0 ? 1.0 / (double)count : 0;
    }
    if (count == 0) {
        nadir_log(context, NADIR_LOG_NOTICE,
                  "%s: no state has the label init: the initial distribution is uniform", path);
        nadir_release(context, mu);
        builder->model->initial = NULL;
    } else if (count > 1) {
        nadir_log(context, NADIR_LOG_NOTICE,
                  "%s: %lld states have the label init: the initial distribution is uniform over them", path,
                  (long long)count);
    }
}

nadir_status nadir_terminal_mark(nadir_builder *builder, int64_t states, const nadir_read_settings *settings,
                                 int64_t state, nadir_cursor label)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = builder->model;
    const unsigned bits = nadir_terminal_label(settings, label.at, (size_t)(label.end - label.at));
    if (bits != 0 && model->marks == NULL) {
        NADIR_NEW_ZERO(builder->context, model->marks, states);
    }
    if (bits != 0) {
        model->marks[state] = (unsigned char)(model->marks[state] | bits);
    }
cleanup:
    return status;
}

/*
 * umb_write.c: a model written as a UMB file; umb.h tells what stands in it.
 *
 * Terminal states are written with their row, a choice that stays: tools that expect a choice in every state find one.
 * The rewards are one model named "reward".
 */
#include "io/umb.h"

#include "core/number.h"
#include "io/tar.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are written as they stand");

enum { BLOCK = 4096, SETTINGS_LENGTH = 512, INDEX_LENGTH = 4096 };

typedef struct umb_writer {
    nadir_context *context;
    const nadir_model *model;
    nadir_output output;
    int64_t branches;
    int64_t actions; /* numbers in use: 0 .. actions - 1 */
    bool uniform;    /* the initial distribution is, over the states that it gives a probability */
    char settings[SETTINGS_LENGTH];
} umb_writer;

/* ---- Arrays ------------------------------------------------------------------------------------------ */

static void put_array(umb_writer *self, const char *name, const void *items, int64_t bytes)
{
    nadir_tar_write_header(&self->output, name, bytes);
    nadir_output_write(&self->output, items, (size_t)bytes);
    nadir_tar_write_end(&self->output, bytes);
}

typedef enum array { BRANCH_STARTS, TARGETS, PROBABILITIES, TRANSITION_REWARDS } array;

/* Items of 8 bytes, collected before they are written. */
typedef struct items {
    uint64_t block[BLOCK];
    int64_t used;
} items;

static void flush(umb_writer *self, items *list)
{
    nadir_output_write(&self->output, list->block, (size_t)list->used * 8);
    list->used = 0;
}

static void put(umb_writer *self, items *list, const void *item)
{
    memcpy(&list->block[list->used++], item, 8);
    if (list->used == BLOCK) {
        flush(self, list);
    }
}

/* One array over all transitions, those of probability 0 left out, or where the transitions of each row begin. */
static nadir_status put_transitions(umb_writer *self, const char *name, array which)
{
    const nadir_model *model = self->model;
    const int64_t bytes = 8 * (which == BRANCH_STARTS ? model->rows + 1 : self->branches);
    items list = {.used = 0};
    int64_t count = 0;
    nadir_tar_write_header(&self->output, name, bytes);
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        if (which == BRANCH_STARTS) {
            put(self, &list, &count);
        }
        for (int64_t i = 0; i < entries.count; i++) {
            if (entries.values[i] > 0) {
                const int64_t target = nadir_row_column(&entries, i);
                count++;
                if (which != BRANCH_STARTS) {
                    put(self, &list,
                        which == TARGETS         ? (const void *)&target
                        : which == PROBABILITIES ? (const void *)&entries.values[i]
                                                 : (const void *)&entries.rewards[i]);
                }
            }
        }
        if (row % BLOCK == 0) {
            NADIR_TRY(nadir_progress(self->context, "writing", (double)row / (double)model->rows));
        }
    }
    if (which == BRANCH_STARTS) {
        put(self, &list, &count);
    }
    flush(self, &list);
    nadir_tar_write_end(&self->output, bytes);
    return NADIR_OK;
}

/* Pairs of bounds; rows of a box list what it allows. */
static void put_box(umb_writer *self)
{
    const nadir_model *model = self->model;
    items list = {.used = 0};
    nadir_tar_write_header(&self->output, NADIR_UMB_PROBABLE, 16 * model->nonzeros);
    for (int64_t i = 0; i < model->nonzeros; i++) {
        put(self, &list, &model->lower[i]);
        put(self, &list, &model->upper[i]);
    }
    flush(self, &list);
    nadir_tar_write_end(&self->output, 16 * model->nonzeros);
}

/* The action of each row, and the names of all. */
static nadir_status put_actions(umb_writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    const nadir_names *names = &model->action_names;
    uint32_t *numbers = NULL;
    int64_t *starts = NULL;
    NADIR_NEW(self->context, numbers, model->rows);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            numbers[row] = (uint32_t)nadir_model_row_action(model, s, row);
        }
    }
    put_array(self, NADIR_UMB_ACTIONS, numbers, 4 * model->rows);
    if (names->count > 0) {
        NADIR_NEW_ZERO(self->context, starts, self->actions + 1);
        for (int64_t i = 0; i < self->actions; i++) {
            const char *name = i < names->count ? nadir_names_get(names, i) : "";
            starts[i + 1] = starts[i] + (int64_t)strlen(name);
        }
        put_array(self, NADIR_UMB_NAME_ENDS, starts, 8 * (self->actions + 1));
        nadir_tar_write_header(&self->output, NADIR_UMB_NAMES, starts[self->actions]);
        for (int64_t i = 0; i < self->actions && i < names->count; i++) {
            nadir_output_text(&self->output, nadir_names_get(names, i));
        }
        nadir_tar_write_end(&self->output, starts[self->actions]);
    }
cleanup:
    NADIR_RELEASE(self->context, numbers, starts);
    return status;
}

/* One bit for each state that the initial distribution gives a positive probability. */
static nadir_status put_initial(umb_writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    const int64_t bytes = (model->states + 63) / 64 * 8;
    unsigned char *bits = NULL;
    NADIR_NEW_ZERO(self->context, bits, bytes);
    for (int64_t s = 0; s < model->states; s++) {
        bits[s / 8] |= (unsigned char)((model->initial[s] > 0) << (s % 8));
    }
    put_array(self, NADIR_UMB_INITIAL, bits, bytes);
cleanup:
    nadir_release(self->context, bits);
    return status;
}

/* ---- index.json and settings ------------------------------------------------------------------------- */

static void add_setting(umb_writer *self, const char *name, const char *value)
{
    const size_t used = strlen(self->settings);
    (void)snprintf(self->settings + used, sizeof self->settings - used, "%s%s %s", used > 0 ? " " : "", name,
                   value);
}

static void add_number(umb_writer *self, const char *name, double value)
{
    char text[NADIR_NUMBER_LENGTH];
    if (!isnan(value)) {
        (void)nadir_format_double(value, text);
        add_setting(self, name, text);
    }
}

static void make_settings(umb_writer *self)
{
    const nadir_model *model = self->model;
    add_number(self, "discount", model->discount);
    if (model->norm == NADIR_NORM_CHI2) {
        add_setting(self, "norm", "chi2");
    } else {
        add_number(self, "norm", model->norm);
    }
    add_number(self, "radius", model->radius_count == 1 ? model->radius[0] : NAN);
    if (model->set != NADIR_SET_UNSAID) {
        add_setting(self, "set", nadir_set_name(model->set));
    }
    if (model->domain != NADIR_DOMAIN_UNSAID) {
        add_setting(self, "domain", nadir_domain_name(model->domain));
    }
    if (model->promise != NADIR_BALL_UNSAID) {
        add_setting(self, "promise", nadir_ball_promise_name(model->promise));
    }
    add_number(self, "confidence", model->confidence);
}

/* One annotation of our own for the index; strings: how many it has, 0: it is a number. */
static void add_annotation(char text[INDEX_LENGTH], const char *id, const char *place, bool string)
{
    const size_t used = strlen(text);
    (void)snprintf(
        text + used, INDEX_LENGTH - used,
        "%s\n      \"%s\": {\"applies-to\": [\"%s\"], \"type\": {\"type\": \"%s\", \"size\": 64}%s}",
        used > 0 ? "," : "", id, place, string ? "string" : "double", string ? ", \"#strings\": 1" : "");
}

static void put_index(umb_writer *self, int64_t initial_states)
{
    const nadir_model *model = self->model;
    char text[INDEX_LENGTH];
    char own[INDEX_LENGTH] = "";
    const bool by_transition = model->transition_rewards != NULL;
    if (self->settings[0] != '\0') {
        add_annotation(own, "settings", "states", true);
    }
    if (!self->uniform) {
        add_annotation(own, "initial", "states", false);
    }
    if (model->scales != NULL) {
        add_annotation(own, "scales", "choices", false);
    }
    if (model->lower != NULL) {
        add_annotation(own, "nominal", "branches", false);
    }
    if (model->radius_count > 1) {
        add_annotation(own, "radius", model->radius_count == model->states ? "states" : "choices", false);
    }
    const int length = snprintf(
        text, sizeof text,
        "{\n  \"format-version\": 1,\n  \"format-revision\": 0,\n  \"file-data\": {\"tool\": \"nadir\"},\n"
        "  \"transition-system\": {\n    \"time\": \"discrete\",\n    \"#players\": 1,\n    \"#states\": "
        "%lld,\n"
        "    \"#initial-states\": %lld,\n    \"#choices\": %lld,\n    \"#choice-actions\": %lld,\n"
        "    \"#branches\": %lld,\n    \"#branch-actions\": 0,\n    \"#observations\": 0,\n"
        "    \"branch-probability-type\": {\"type\": \"%s\", \"size\": %d}\n  },\n  \"annotations\": "
        "{%s%s%s%s%s%s%s\n"
        "  }\n}\n",
        (long long)model->states, (long long)initial_states, (long long)model->rows, (long long)self->actions,
        (long long)self->branches, model->lower != NULL ? "double-interval" : "double",
        model->lower != NULL ? 128 : 64,
        model->rewards == NULL
            ? ""
            : "\n    \"rewards\": {\n      \"reward\": {\"alias\": \"reward\", \"applies-to\": [\"",
        model->rewards == NULL ? ""
                               : nadir_umb_places[by_transition ? NADIR_UMB_TRANSITIONS : NADIR_UMB_ROWS],
        model->rewards == NULL ? "" : "\"], \"type\": {\"type\": \"double\", \"size\": 64}}\n    }",
        model->rewards != NULL && own[0] != '\0' ? "," : "", own[0] != '\0' ? "\n    \"nadir\": {" : "", own,
        own[0] != '\0' ? "\n    }" : "");
    put_array(self, NADIR_UMB_INDEX, text, length);
}

/* ---- Models ------------------------------------------------------------------------------------------ */

static nadir_status put_annotations(umb_writer *self)
{
    const nadir_model *model = self->model;
    char name[128];
    if (model->transition_rewards != NULL) {
        (void)snprintf(name, sizeof name, "annotations/rewards/reward/branches/values.bin");
        NADIR_TRY(put_transitions(self, name, TRANSITION_REWARDS));
    } else if (model->rewards != NULL) {
        put_array(self, "annotations/rewards/reward/choices/values.bin", model->rewards, 8 * model->rows);
    }
    if (self->settings[0] != '\0') {
        const int64_t ends[2] = {0, (int64_t)strlen(self->settings)};
        put_array(self, NADIR_UMB_STRING_END, ends, sizeof ends);
        put_array(self, NADIR_UMB_SETTINGS, self->settings, ends[1]);
    }
    if (!self->uniform) {
        put_array(self, NADIR_UMB_MU, model->initial, 8 * model->states);
    }
    if (model->scales != NULL) {
        put_array(self, NADIR_UMB_SCALES, model->scales, 8 * model->rows);
    }
    if (model->lower != NULL) {
        put_array(self, NADIR_UMB_NOMINAL, model->probabilities, 8 * model->nonzeros);
    }
    if (model->radius_count > 1) {
        (void)snprintf(
            name, sizeof name, NADIR_UMB_RADII,
            nadir_umb_places[model->radius_count == model->states ? NADIR_UMB_STATES : NADIR_UMB_ROWS]);
        put_array(self, name, model->radius, 8 * model->radius_count);
    }
    return NADIR_OK;
}

static void count(umb_writer *self, int64_t *initial_states)
{
    const nadir_model *model = self->model;
    *initial_states = 0;
    self->actions = model->action_names.count;
    for (int64_t s = 0; s < model->states; s++) {
        *initial_states += model->initial[s] > 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            const int64_t action = nadir_model_row_action(model, s, row);
            self->actions = action >= self->actions ? action + 1 : self->actions;
            for (int64_t i = 0; i < entries.count; i++) {
                self->branches += entries.values[i] > 0;
            }
        }
    }
    self->uniform = true;
    for (int64_t s = 0; s < model->states; s++) {
        self->uniform =
            self->uniform && (model->initial[s] == 0 || model->initial[s] == 1.0 / (double)*initial_states);
    }
}

nadir_status nadir_umb_write(nadir_context *context, const nadir_model *model, const char *path,
                             const nadir_write_settings *settings)
{
    nadir_status status = NADIR_OK;
    umb_writer self = {.context = context, .model = model, .output = NADIR_OUTPUT_CLOSED};
    int64_t initial_states;
    count(&self, &initial_states);
    make_settings(&self);
    NADIR_CHECK(nadir_output_open(context, path, &self.output));
    if (settings != NULL && settings->compress) {
        self.output.packing = NADIR_PACKING_GZIP;
    }
    put_index(&self, initial_states);
    put_array(&self, NADIR_UMB_CHOICES, model->state_rows, 8 * (model->states + 1));
    NADIR_CHECK(put_transitions(&self, NADIR_UMB_BRANCHES, BRANCH_STARTS));
    NADIR_CHECK(put_transitions(&self, NADIR_UMB_TARGETS, TARGETS));
    if (model->lower != NULL) {
        put_box(&self);
    } else {
        NADIR_CHECK(put_transitions(&self, NADIR_UMB_PROBABLE, PROBABILITIES));
    }
    NADIR_CHECK(put_initial(&self));
    NADIR_CHECK(put_actions(&self));
    NADIR_CHECK(put_annotations(&self));
    nadir_tar_write_close(&self.output);
    NADIR_CHECK(nadir_output_commit(context, &self.output));
cleanup:
    nadir_output_close(context, &self.output);
    return status;
}

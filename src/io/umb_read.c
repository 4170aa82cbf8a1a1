/*
 * umb_read.c: UMB files read into a model; umb.h tells what stands in them.
 *
 * Arrays go straight from the file into the model. Where the model has states without choices, or choices of a state that
 * do not rise by action, transitions go through a builder (model/model_builder.h), which numbers and sorts them.
 */
#include "io/umb.h"

#include "core/number.h"
#include "io/json.h"
#include "io/labels.h"
#include "io/tar.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are read as they stand");

enum { INDEX_BYTES = 1 << 24, ID_LENGTH = 64, BLOCK = 4096, VERSION = 1 };

const char *const nadir_umb_places[NADIR_UMB_PLACES] = {"states", "choices", "branches"};

typedef enum number_type { ABSENT, DOUBLE, RATIONAL, INTERVAL, OTHER } number_type;

/* A model of rewards. */
typedef struct rewards {
    char id[ID_LENGTH], alias[ID_LENGTH];
    unsigned places; /* bit i: of nadir_umb_places[i] */
    number_type type;
} rewards;

typedef struct umb_reader {
    nadir_context *context;
    const char *path;
    const nadir_read_settings *settings;
    nadir_tar tar;
    nadir_model *model;
    /* index.json */
    int64_t version, players, states, choices, branches, actions;
    bool discrete, chosen;
    number_type probability;
    rewards rewards; /* those that are read, where `chosen` */
    int64_t models;  /* of rewards */
    char names[256]; /* theirs, for messages */
    double radius;   /* one for all; NaN: not said */
    /* arrays that do not go to the model */
    uint32_t *labels; /* [choices] action of each; NULL: none */
} umb_reader;

/* ---- index.json -------------------------------------------------------------------------------------- */

static nadir_status read_count(nadir_json *json, int64_t limit, int64_t *count)
{
    double value;
    NADIR_TRY(nadir_json_number(json, &value));
    if (!(value >= 0 && value <= (double)limit) || value != floor(value)) {
        return nadir_json_fail(json, "found %.17g; expected a whole number from 0 to %lld", value,
                               (long long)limit);
    }
    *count = (int64_t)value;
    return NADIR_OK;
}

/* {"type": "double", "size": 64}; in version 0 a plain string. */
static nadir_status read_type(nadir_json *json, number_type *type)
{
    char word[NADIR_JSON_NAME_LENGTH] = "";
    int64_t size = 0;
    bool more = true;
    if (nadir_json_peek(json) == NADIR_JSON_STRING) {
        NADIR_TRY(nadir_json_string(json, sizeof word, word));
    } else {
        NADIR_TRY(nadir_json_enter(json));
        for (;;) {
            NADIR_TRY(nadir_json_next(json, &more));
            if (!more) {
                break;
            }
            NADIR_TRY(strcmp(json->name, "type") == 0   ? nadir_json_string(json, sizeof word, word)
                      : strcmp(json->name, "size") == 0 ? read_count(json, UINT32_MAX, &size)
                                                        : nadir_json_skip(json));
        }
    }
    *type = strcmp(word, "double") == 0 && (size == 0 || size == 64)             ? DOUBLE
            : strcmp(word, "rational") == 0 && (size == 0 || size == 128)        ? RATIONAL
            : strcmp(word, "double-interval") == 0 && (size == 0 || size == 128) ? INTERVAL
                                                                                 : OTHER;
    return NADIR_OK;
}

static nadir_status read_system(umb_reader *self, nadir_json *json)
{
    const struct {
        const char *name;
        int64_t limit;
        int64_t *count;
    } counts[] = {
        {"#players", UINT32_MAX, &self->players},       {"#states", NADIR_STATES_LIMIT, &self->states},
        {"#choices", INT64_MAX / 16, &self->choices},   {"#branches", INT64_MAX / 16, &self->branches},
        {"#choice-actions", INT32_MAX, &self->actions},
    };
    bool more;
    NADIR_TRY(nadir_json_enter(json));
    for (;;) {
        NADIR_TRY(nadir_json_next(json, &more));
        if (!more) {
            return NADIR_OK;
        }
        bool taken = false;
        for (size_t i = 0; i < sizeof counts / sizeof *counts && !taken; i++) {
            if (strcmp(json->name, counts[i].name) == 0) {
                NADIR_TRY(read_count(json, counts[i].limit, counts[i].count));
                taken = true;
            }
        }
        if (taken) {
            continue;
        }
        if (strcmp(json->name, "time") == 0) {
            char time[32];
            NADIR_TRY(nadir_json_string(json, sizeof time, time));
            self->discrete = strcmp(time, "discrete") == 0;
        } else {
            NADIR_TRY(strcmp(json->name, "branch-probability-type") == 0 ? read_type(json, &self->probability)
                                                                         : nadir_json_skip(json));
        }
    }
}

/* One annotation; its id is the name of the member. */
static nadir_status read_annotation(nadir_json *json, rewards *made)
{
    bool more;
    *made = (rewards){.type = ABSENT};
    (void)snprintf(made->id, sizeof made->id, "%s", json->name);
    NADIR_TRY(nadir_json_enter(json));
    for (;;) {
        NADIR_TRY(nadir_json_next(json, &more));
        if (!more) {
            return NADIR_OK;
        }
        NADIR_TRY(strcmp(json->name, "alias") == 0  ? nadir_json_string(json, sizeof made->alias, made->alias)
                  : strcmp(json->name, "type") == 0 ? read_type(json, &made->type)
                  : strcmp(json->name, "applies-to") == 0
                      ? nadir_json_words(json, NADIR_UMB_PLACES, nadir_umb_places, &made->places)
                      : nadir_json_skip(json));
    }
}

static nadir_status read_reward_models(umb_reader *self, nadir_json *json)
{
    const char *asked = self->settings->reward_model;
    rewards found;
    bool more;
    NADIR_TRY(nadir_json_enter(json));
    for (;;) {
        NADIR_TRY(nadir_json_next(json, &more));
        if (!more) {
            return NADIR_OK;
        }
        NADIR_TRY(read_annotation(json, &found));
        const char *name = found.alias[0] != '\0' ? found.alias : found.id;
        const size_t used = strlen(self->names);
        (void)snprintf(self->names + used, sizeof self->names - used, "%s%s", used > 0 ? ", " : "", name);
        if (asked == NULL || strcmp(asked, found.id) == 0 || strcmp(asked, found.alias) == 0) {
            self->rewards = found;
            self->chosen = true;
        }
        self->models++;
    }
}

static nadir_status read_annotations(umb_reader *self, nadir_json *json)
{
    bool more;
    NADIR_TRY(nadir_json_enter(json));
    for (;;) {
        NADIR_TRY(nadir_json_next(json, &more));
        if (!more) {
            return NADIR_OK;
        }
        NADIR_TRY(strcmp(json->name, "rewards") == 0 ? read_reward_models(self, json)
                                                     : nadir_json_skip(json));
    }
}

static nadir_status check_rewards(const umb_reader *self)
{
    const char *asked = self->settings->reward_model;
    if (asked != NULL ? !self->chosen : self->models > 1) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                          self->models == 0 ? "%s: no reward model %.60s: the file has none%s"
                                            : "%s: %.60s; the file has the reward models %s: take one with "
                                              "--reward-model NAME",
                          self->path, asked != NULL ? asked : "which rewards?", self->names);
    }
    if (self->chosen && self->rewards.type != DOUBLE && self->rewards.type != RATIONAL) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                          "%s: the rewards %.60s are neither doubles nor rationals of 128 bits", self->path,
                          self->rewards.id);
    }
    return NADIR_OK;
}

static nadir_status check_index(const umb_reader *self)
{
    const char *wrong =
        self->version != VERSION      ? "of another version of the format than 1"
        : !self->discrete             ? "of continuous time"
        : self->players > 1           ? "a game of several players"
        : self->probability == ABSENT ? "without probabilities"
        : self->probability == OTHER
            ? "with probabilities that are neither doubles, nor intervals of doubles, nor rationals of 128 "
              "bits"
        : self->states < 1 ? "without states"
                           : NULL;
    return wrong != NULL ? nadir_fail(self->context, NADIR_ERROR_FORMAT,
                                      "%s: " NADIR_UMB_INDEX
                                      " describes a model %s; expected a Markov decision process or chain",
                                      self->path, wrong)
                         : check_rewards(self);
}

static nadir_status read_index(umb_reader *self)
{
    nadir_status status = NADIR_OK;
    nadir_json json = {0};
    char *text = NULL;
    bool more;
    const nadir_tar_entry *entry = nadir_tar_find(&self->tar, NADIR_UMB_INDEX);
    if (entry == NULL || entry->bytes > INDEX_BYTES) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT, "%s: %s", self->path,
                          entry == NULL ? "a tar archive without " NADIR_UMB_INDEX ": no UMB file"
                                        : NADIR_UMB_INDEX " has more than 16 MiB");
    }
    NADIR_NEW(self->context, text, entry->bytes);
    status = nadir_tar_read(&self->tar, entry, 0, text, (size_t)entry->bytes);
    if (status != NADIR_OK) {
        nadir_release(self->context, text);
        return status;
    }
    NADIR_CHECK(nadir_json_open_text(self->context, self->path, text, entry->bytes, &json));
    for (;;) {
        NADIR_CHECK(nadir_json_next(&json, &more));
        if (!more) {
            break;
        }
        NADIR_CHECK(strcmp(json.name, "format-version") == 0 ? read_count(&json, UINT32_MAX, &self->version)
                    : strcmp(json.name, "transition-system") == 0 ? read_system(self, &json)
                    : strcmp(json.name, "annotations") == 0       ? read_annotations(self, &json)
                                                                  : nadir_json_skip(&json));
    }
    status = check_index(self);
cleanup:
    nadir_json_close(&json);
    return status;
}

/* ---- Arrays ------------------------------------------------------------------------------------------ */

/* The file of an array of `count` items of `width` bytes; *entry NULL: there is none. */
static nadir_status find_array(const umb_reader *self, const char *name, int64_t count, int64_t width,
                               const nadir_tar_entry **entry)
{
    *entry = nadir_tar_find(&self->tar, name);
    if (*entry != NULL && ((*entry)->bytes / width != count || (*entry)->bytes % width != 0)) {
        return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                          "%s: %s has %lld bytes; expected %lld items of %lld bytes, by " NADIR_UMB_INDEX,
                          self->path, name, (long long)(*entry)->bytes, (long long)count, (long long)width);
    }
    return NADIR_OK;
}

static nadir_status missing(const umb_reader *self, const char *name)
{
    return nadir_fail(self->context, NADIR_ERROR_FORMAT, "%s: %s is missing", self->path, name);
}

/* Where the parts of each of `count` things begin among `parts`: *starts, [count + 1]. Absent: one each. */
static nadir_status read_starts(umb_reader *self, const char *name, int64_t count, int64_t parts,
                                int64_t **starts)
{
    nadir_status status = NADIR_OK;
    const nadir_tar_entry *entry;
    int64_t *made = NULL;
    NADIR_CHECK(find_array(self, name, count + 1, 8, &entry));
    if (entry == NULL && count != parts) {
        return nadir_fail(
            self->context, NADIR_ERROR_FORMAT,
            "%s: %s is missing; without it %lld things would have one part each, there are %lld", self->path,
            name, (long long)count, (long long)parts);
    }
    NADIR_NEW(self->context, made, count + 1);
    *starts = made;
    if (entry == NULL) {
        for (int64_t i = 0; i <= count; i++) {
            made[i] = i;
        }
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_tar_read(&self->tar, entry, 0, made, (size_t)(count + 1) * 8));
    bool rises = made[0] == 0 && made[count] == parts;
    for (int64_t i = 0; i < count; i++) {
        rises = rises && made[i] <= made[i + 1];
    }
    if (!rises) {
        status = nadir_fail(self->context, NADIR_ERROR_FORMAT,
                            "%s: %s does not rise from 0 to %lld, by " NADIR_UMB_INDEX, self->path, name,
                            (long long)parts);
    }
cleanup:
    return status;
}

static nadir_status read_targets(umb_reader *self)
{
    nadir_status status = NADIR_OK;
    const nadir_tar_entry *entry;
    uint64_t block[BLOCK];
    NADIR_CHECK(find_array(self, NADIR_UMB_TARGETS, self->branches, 8, &entry));
    if (entry == NULL) {
        return missing(self, NADIR_UMB_TARGETS);
    }
    NADIR_NEW(self->context, self->model->columns, self->branches);
    for (int64_t i = 0; i < self->branches; i++) {
        if (i % BLOCK == 0) {
            const int64_t left = self->branches - i;
            NADIR_CHECK(
                nadir_tar_read(&self->tar, entry, i * 8, block, 8 * (size_t)(left < BLOCK ? left : BLOCK)));
            NADIR_CHECK(nadir_progress(self->context, "reading", (double)i / (double)self->branches));
        }
        if (block[i % BLOCK] >= (uint64_t)self->states) {
            return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                              "%s: branch %lld leads to state %llu; states are 0 to %lld", self->path,
                              (long long)i, (unsigned long long)block[i % BLOCK],
                              (long long)self->states - 1);
        }
        self->model->columns[i] = (int32_t)block[i % BLOCK];
    }
cleanup:
    return status;
}

/* Numbers of a type: *into, [count], is not NULL where the file is there. */
static nadir_status read_numbers(umb_reader *self, const char *name, number_type type, int64_t count,
                                 double **into)
{
    nadir_status status = NADIR_OK;
    const nadir_tar_entry *entry;
    double *made = NULL;
    int64_t pair[2];
    NADIR_CHECK(find_array(self, name, count, type == DOUBLE ? 8 : 16, &entry));
    if (entry == NULL) {
        return NADIR_OK;
    }
    NADIR_NEW(self->context, made, count);
    *into = made;
    if (type == DOUBLE) {
        return nadir_tar_read(&self->tar, entry, 0, made, (size_t)count * 8);
    }
    for (int64_t i = 0; i < count; i++) {
        NADIR_CHECK(nadir_tar_read(&self->tar, entry, i * 16, pair, sizeof pair));
        if (pair[1] == 0) {
            return nadir_fail(self->context, NADIR_ERROR_FORMAT, "%s: %s: number %lld has the denominator 0",
                              self->path, name, (long long)i);
        }
        made[i] = (double)pair[0] / (double)(uint64_t)pair[1];
    }
cleanup:
    return status;
}

/* Rewards of all places, added up: for each row, or for each transition where these have some. */
static nadir_status read_rewards(umb_reader *self)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = self->model;
    const int64_t counts[NADIR_UMB_PLACES] = {self->states, self->choices, self->branches};
    double *numbers[NADIR_UMB_PLACES] = {NULL, NULL, NULL};
    char name[NADIR_TAR_NAME];
    for (int place = 0; self->chosen && place < NADIR_UMB_PLACES; place++) {
        if ((self->rewards.places >> place & 1) != 0) {
            (void)snprintf(name, sizeof name, "annotations/rewards/%s/%s/values.bin", self->rewards.id,
                           nadir_umb_places[place]);
            NADIR_CHECK(read_numbers(self, name, self->rewards.type, counts[place], &numbers[place]));
        }
    }
    if (!self->chosen) {
        nadir_log(self->context, NADIR_LOG_NOTICE, "%s: the model has no rewards", self->path);
        return NADIR_OK;
    }
    if (numbers[NADIR_UMB_ROWS] == NULL) {
        NADIR_NEW_ZERO(self->context, numbers[NADIR_UMB_ROWS], self->choices);
    }
    for (int64_t s = 0; s < self->states && numbers[NADIR_UMB_STATES] != NULL; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            numbers[NADIR_UMB_ROWS][row] += numbers[NADIR_UMB_STATES][s];
        }
    }
    for (int64_t row = 0; row < self->choices && numbers[NADIR_UMB_TRANSITIONS] != NULL; row++) {
        for (int64_t i = model->row_starts[row]; i < model->row_starts[row + 1]; i++) {
            numbers[NADIR_UMB_TRANSITIONS][i] += numbers[NADIR_UMB_ROWS][row];
        }
    }
    model->transition_rewards = numbers[NADIR_UMB_TRANSITIONS];
    numbers[NADIR_UMB_TRANSITIONS] = NULL;
    if (model->transition_rewards == NULL) {
        model->rewards = numbers[NADIR_UMB_ROWS];
        numbers[NADIR_UMB_ROWS] = NULL;
    }
cleanup:
    NADIR_RELEASE(self->context, numbers[0], numbers[1], numbers[2]);
    return status;
}

/* The distribution of our own, else uniform over the initial states, else none. */
static nadir_status read_initial(umb_reader *self)
{
    nadir_status status = NADIR_OK;
    const nadir_tar_entry *entry;
    unsigned char *bits = NULL;
    int64_t count = 0;
    NADIR_CHECK(read_numbers(self, NADIR_UMB_MU, DOUBLE, self->states, &self->model->initial));
    NADIR_CHECK(find_array(self, NADIR_UMB_INITIAL, (self->states + 63) / 64, 8, &entry));
    if (self->model->initial != NULL || entry == NULL) {
        return NADIR_OK;
    }
    NADIR_NEW(self->context, bits, entry->bytes);
    NADIR_CHECK(nadir_tar_read(&self->tar, entry, 0, bits, (size_t)entry->bytes));
    NADIR_NEW_ZERO(self->context, self->model->initial, self->states);
    for (int64_t s = 0; s < self->states; s++) {
        const bool is_initial = (bits[s / 8] >> (s % 8) & 1) != 0;
        self->model->initial[s] = is_initial;
        count += is_initial;
    }
    for (int64_t s = 0; s < self->states && count > 0; s++) {
        self->model->initial[s] /= (double)count;
    }
    if (count != 1) {
        nadir_log(self->context, NADIR_LOG_NOTICE,
                  "%s: %lld states are initial: the initial distribution is uniform%s", self->path,
                  (long long)count, count > 0 ? " over them" : "");
    }
    if (count == 0) {
        nadir_release(self->context, self->model->initial);
        self->model->initial = NULL;
    }
cleanup:
    nadir_release(self->context, bits);
    return status;
}

/* ---- Actions ----------------------------------------------------------------------------------------- */

/* Names of actions 0, 1, ... into the model, where the file has them. */
static nadir_status read_names(umb_reader *self, nadir_names *names)
{
    nadir_status status = NADIR_OK;
    const nadir_tar_entry *entry = nadir_tar_find(&self->tar, NADIR_UMB_NAMES);
    int64_t *starts = NULL;
    char *text = NULL;
    if (entry == NULL || nadir_tar_find(&self->tar, NADIR_UMB_NAME_ENDS) == NULL) {
        return NADIR_OK;
    }
    NADIR_CHECK(read_starts(self, NADIR_UMB_NAME_ENDS, self->actions, entry->bytes, &starts));
    NADIR_NEW(self->context, text, entry->bytes);
    NADIR_CHECK(nadir_tar_read(&self->tar, entry, 0, text, (size_t)entry->bytes));
    if (memchr(text, 0, (size_t)entry->bytes) != NULL) {
        NADIR_CHECK(nadir_fail(self->context, NADIR_ERROR_FORMAT, "%s: %s: a name holds a zero byte",
                               self->path, NADIR_UMB_NAMES));
    }
    for (int64_t i = 0; starts != NULL && i < self->actions; i++) {
        NADIR_CHECK(
            nadir_names_add(self->context, names, text + starts[i], (size_t)(starts[i + 1] - starts[i])));
    }
cleanup:
    NADIR_RELEASE(self->context, starts, text);
    return status;
}

/* self->labels; *rises: they do, within every state, and every state has one. */
static nadir_status read_actions(umb_reader *self, bool *rises)
{
    nadir_status status = NADIR_OK;
    const nadir_tar_entry *entry;
    const int64_t *state_rows = self->model->state_rows;
    NADIR_CHECK(find_array(self, NADIR_UMB_ACTIONS, self->choices, 4, &entry));
    if (entry != NULL && self->actions > 0) {
        NADIR_NEW(self->context, self->labels, self->choices);
        NADIR_CHECK(nadir_tar_read(&self->tar, entry, 0, self->labels, (size_t)self->choices * 4));
    }
    *rises = true;
    for (int64_t s = 0; s < self->states; s++) {
        *rises = *rises && state_rows[s] < state_rows[s + 1];
        for (int64_t row = state_rows[s]; row < state_rows[s + 1] && self->labels != NULL; row++) {
            if (self->labels[row] >= (uint64_t)self->actions) {
                return nadir_fail(self->context, NADIR_ERROR_FORMAT,
                                  "%s: state %lld: choice %lld has action %lu; expected 0 to %lld",
                                  self->path, (long long)s, (long long)row, (unsigned long)self->labels[row],
                                  (long long)self->actions - 1);
            }
            *rises = *rises && (row == state_rows[s] || self->labels[row] > self->labels[row - 1]);
        }
    }
cleanup:
    return status;
}

/* Action numbers are those of the file. */
static nadir_status keep_actions(umb_reader *self)
{
    nadir_model *model = self->model;
    model->row_actions = (int32_t *)self->labels; /* below 2^31 */
    self->labels = NULL;
    return model->row_actions != NULL ? read_names(self, &model->action_names) : NADIR_OK;
}

/* ---- Settings of our own ----------------------------------------------------------------------------- */

/* One pair of words; false: there is no such setting. */
static bool apply_setting(umb_reader *self, const char *name, const char *value)
{
    nadir_model *model = self->model;
    const char *end = value + strlen(value);
    double number;
    const bool is_number = nadir_number_parse_double(value, end, &number) == end;
    if (is_number && strcmp(name, "discount") == 0) {
        model->discount = number;
    } else if (is_number && strcmp(name, "norm") == 0) {
        model->norm = number;
    } else if (strcmp(name, "norm") == 0 && strcmp(value, "chi2") == 0) {
        model->norm = NADIR_NORM_CHI2;
    } else if (is_number && strcmp(name, "radius") == 0) {
        self->radius = number;
    } else if (strcmp(name, "set") == 0) {
        for (int i = NADIR_SET_NONRECT; i <= NADIR_SET_SA; i++) {
            model->set = strcmp(value, nadir_set_name((nadir_set)i)) == 0 ? (nadir_set)i : model->set;
        }
        return model->set != NADIR_SET_UNSAID;
    } else if (strcmp(name, "domain") == 0) {
        for (int i = NADIR_DOMAIN_SIMPLEX; i <= NADIR_DOMAIN_BOX; i++) {
            model->domain =
                strcmp(value, nadir_domain_name((nadir_domain)i)) == 0 ? (nadir_domain)i : model->domain;
        }
        return model->domain != NADIR_DOMAIN_UNSAID;
    } else if (strcmp(name, "promise") == 0) {
        for (int i = NADIR_BALL_OF_KERNEL; i <= NADIR_BALL_OF_RETURN; i++) {
            model->promise = strcmp(value, nadir_ball_promise_name((nadir_ball_promise)i)) == 0
                                 ? (nadir_ball_promise)i
                                 : model->promise;
        }
        return model->promise != NADIR_BALL_UNSAID;
    } else if (is_number && strcmp(name, "confidence") == 0) {
        model->confidence = number;
    } else {
        return false;
    }
    return true;
}

static nadir_status read_settings(umb_reader *self)
{
    const nadir_tar_entry *entry = nadir_tar_find(&self->tar, NADIR_UMB_SETTINGS);
    char text[512] = "";
    char *rest = text;
    if (entry == NULL) {
        return NADIR_OK;
    }
    const bool fits = entry->bytes < (int64_t)sizeof text;
    if (fits) {
        NADIR_TRY(nadir_tar_read(&self->tar, entry, 0, text, (size_t)entry->bytes));
    }
    const char *name = fits ? strtok_r(text, " ", &rest) : "";
    while (name != NULL) {
        const char *value = strtok_r(NULL, " ", &rest);
        if (!fits || value == NULL || !apply_setting(self, name, value)) {
            return nadir_fail(
                self->context, NADIR_ERROR_FORMAT,
                "%s: %s: found `%.40s %.40s`; expected pairs of words, discount, norm, set, domain, "
                "radius, promise or confidence with their values",
                self->path, NADIR_UMB_SETTINGS, name, value != NULL ? value : "");
        }
        name = strtok_r(NULL, " ", &rest);
    }
    return NADIR_OK;
}

/* Radii and scales, where there are any. */
static nadir_status read_ball(umb_reader *self)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = self->model;
    const int64_t counts[] = {self->states, self->choices};
    char name[NADIR_TAR_NAME];
    NADIR_CHECK(read_numbers(self, NADIR_UMB_SCALES, DOUBLE, self->choices, &model->scales));
    for (int place = 0; place <= NADIR_UMB_ROWS && model->radius == NULL; place++) {
        (void)snprintf(name, sizeof name, NADIR_UMB_RADII, nadir_umb_places[place]);
        NADIR_CHECK(read_numbers(self, name, DOUBLE, counts[place], &model->radius));
        model->radius_count = model->radius != NULL ? counts[place] : 0;
    }
    if (model->radius == NULL && !isnan(self->radius)) {
        NADIR_NEW(self->context, model->radius, 1);
        model->radius[0] = self->radius;
        model->radius_count = 1;
    }
cleanup:
    return status;
}

/* ---- Models ------------------------------------------------------------------------------------------ */

/* Bounds as pairs, and the nominal kernel, if the file has one; else NaN. */
static nadir_status read_box(umb_reader *self)
{
    nadir_status status = NADIR_OK;
    const nadir_tar_entry *entry;
    nadir_model *model = self->model;
    double pair[2];
    NADIR_CHECK(find_array(self, NADIR_UMB_PROBABLE, self->branches, sizeof pair, &entry));
    if (entry == NULL) {
        return missing(self, NADIR_UMB_PROBABLE);
    }
    NADIR_NEW(self->context, model->lower, self->branches);
    NADIR_NEW(self->context, model->upper, self->branches);
    for (int64_t i = 0; i < self->branches; i++) {
        NADIR_CHECK(nadir_tar_read(&self->tar, entry, i * (int64_t)sizeof pair, pair, sizeof pair));
        model->lower[i] = pair[0];
        model->upper[i] = pair[1];
    }
    NADIR_CHECK(read_numbers(self, NADIR_UMB_NOMINAL, DOUBLE, self->branches, &model->probabilities));
    if (model->probabilities == NULL) {
        NADIR_NEW(self->context, model->probabilities, self->branches);
        for (int64_t i = 0; i < self->branches; i++) {
            model->probabilities[i] = NAN;
        }
    }
cleanup:
    return status;
}

static nadir_status read_arrays(umb_reader *self)
{
    nadir_model *model = self->model;
    model->states = self->states;
    model->rows = self->choices;
    NADIR_TRY(read_targets(self)); /* first: their file is there, which bounds all sizes */
    NADIR_TRY(read_starts(self, NADIR_UMB_BRANCHES, self->choices, self->branches, &model->row_starts));
    NADIR_TRY(read_starts(self, NADIR_UMB_CHOICES, self->states, self->choices, &model->state_rows));
    NADIR_TRY(self->probability == INTERVAL ? read_box(self)
                                            : read_numbers(self, NADIR_UMB_PROBABLE, self->probability,
                                                           self->branches, &model->probabilities));
    if (model->probabilities == NULL) {
        return missing(self, NADIR_UMB_PROBABLE);
    }
    NADIR_TRY(read_rewards(self));
    NADIR_TRY(read_initial(self));
    NADIR_TRY(read_settings(self));
    return read_ball(self);
}

/* The transitions of a state, and the labels of its choices, into a builder. */
static nadir_status build_state(umb_reader *self, int64_t s, const nadir_names *names, nadir_text *text,
                                nadir_action_labels *labels, nadir_builder *builder)
{
    const nadir_model *from = self->model;
    for (int64_t row = from->state_rows[s]; row < from->state_rows[s + 1]; row++) {
        const int64_t choice = row - from->state_rows[s];
        for (int64_t i = from->row_starts[row]; i < from->row_starts[row + 1]; i++) {
            const double reward = from->transition_rewards != NULL ? from->transition_rewards[i]
                                  : from->rewards != NULL          ? from->rewards[row]
                                                                   : 0;
            NADIR_TRY(from->lower != NULL
                          ? nadir_builder_add_interval(builder, s, choice, from->columns[i], from->lower[i],
                                                       from->upper[i], reward, 0)
                          : nadir_builder_add(builder, s, choice, from->columns[i], from->probabilities[i],
                                              reward, 0));
        }
        const char *name = self->labels != NULL ? nadir_names_get(names, self->labels[row]) : NULL;
        if (name != NULL) {
            const nadir_cursor word = {name, name + strlen(name)};
            NADIR_TRY(nadir_action_labels_add(text, labels, s, choice, word));
        }
    }
    return NADIR_OK;
}

/* The same model by way of a builder: with terminal states, and choices in any order. */
static nadir_status build(umb_reader *self, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_builder builder = {0};
    nadir_action_labels labels = {0};
    nadir_names names = {0};
    nadir_text text = {.context = self->context, .path = self->path};
    nadir_model *from = self->model;
    NADIR_CHECK(nadir_builder_start(self->context, self->path, &builder));
    NADIR_CHECK(read_names(self, &names));
    if (from->scales != NULL || from->radius_count > 1 ||
        nadir_tar_find(&self->tar, NADIR_UMB_NOMINAL) != NULL) {
        NADIR_CHECK(nadir_fail(
            self->context, NADIR_ERROR_FORMAT,
            "%s: scales, radii or nominal rows of choices, and choices that do not rise by action; expected "
            "each state to have choices, in the order of their actions",
            self->path));
    }
    builder.states = self->states;
    builder.no_rewards = !self->chosen;
    for (int64_t s = 0; s < self->states; s++) {
        NADIR_CHECK(build_state(self, s, &names, &text, &labels, &builder));
    }
    NADIR_CHECK(nadir_action_labels_apply(&labels, &builder));
    nadir_model *made = builder.model;
    made->discount = from->discount;
    made->norm = from->norm;
    made->set = from->set;
    made->domain = from->domain;
    made->promise = from->promise;
    made->confidence = from->confidence;
    made->initial = from->initial;
    made->radius = from->radius;
    made->radius_count = from->radius_count;
    from->initial = NULL;
    from->radius = NULL;
    NADIR_CHECK(nadir_builder_finish(&builder, self->settings, model));
cleanup:
    nadir_builder_clear(&builder);
    nadir_action_labels_clear(self->context, &labels);
    nadir_names_clear(self->context->memory, &names);
    return status;
}

static nadir_status read_model(nadir_context *context, const char *path, const nadir_read_settings *settings,
                               nadir_model **model)
{
    nadir_status status = NADIR_OK;
    umb_reader self = {.context = context, .path = path, .settings = settings, .radius = NAN, .version = -1};
    bool rises;
    NADIR_CHECK(nadir_tar_open(context, path, &self.tar));
    NADIR_CHECK(read_index(&self));
    NADIR_CHECK(nadir_model_start(context, &self.model));
    NADIR_CHECK(read_arrays(&self));
    NADIR_CHECK(read_actions(&self, &rises));
    if (!rises) {
        NADIR_CHECK(build(&self, model));
        goto cleanup;
    }
    NADIR_CHECK(keep_actions(&self));
    const nadir_source source = {.path = path, .reading = settings};
    NADIR_CHECK(nadir_model_finish(context, self.model, &source));
    *model = self.model;
    self.model = NULL;
cleanup:
    nadir_model_free(self.model);
    nadir_tar_close(&self.tar);
    nadir_release(context, self.labels);
    return status;
}

const nadir_format nadir_format_umb = {
    .name = "umb",
    .endings = " .umb ",
    .title = "UMB",
    .holds = NADIR_HOLDS_REWARDS | NADIR_HOLDS_TRANSITION_REWARDS | NADIR_HOLDS_DISCOUNT |
             NADIR_HOLDS_INITIAL | NADIR_HOLDS_SCALES | NADIR_HOLDS_ACTION_NUMBERS |
             NADIR_HOLDS_ACTION_NAMES | NADIR_HOLDS_RAGGED | NADIR_HOLDS_BALL | NADIR_HOLDS_TERMINAL |
             NADIR_HOLDS_BOX | NADIR_HOLDS_NOMINAL,
    .takes = NADIR_TAKES_REWARD_MODEL | NADIR_TAKES_COMPRESS,
    .recognises = nadir_tar_recognises,
    .read = read_model,
    .reads_parts = false,
    .write = nadir_umb_write,
};

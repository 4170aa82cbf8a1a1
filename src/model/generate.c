/* generate.c: the kinds of generators, their settings, and making a model of one; see generate.h. */
#include "model/generate.h"
#include "linalg/vector.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const nadir_generate_kind *const kinds[] = {
    &nadir_generate_random,    &nadir_generate_garnet, &nadir_generate_riverswim, &nadir_generate_machine,
    &nadir_generate_inventory, &nadir_generate_forest, &nadir_generate_gridworld,
};

#define KINDS_COUNT ((int64_t)(sizeof kinds / sizeof kinds[0]))

/* The members of nadir_generate_settings that the kinds share out among them. */
typedef struct member {
    const char *name;
    size_t offset;
    bool whole; /* int64_t, 0: unset; otherwise double, NaN: unset */
} member;

#define WHOLE(name, text)                                                                                    \
    {                                                                                                        \
        text, offsetof(nadir_generate_settings, name), true                                                  \
    }
#define REAL(name, text)                                                                                     \
    {                                                                                                        \
        text, offsetof(nadir_generate_settings, name), false                                                 \
    }

static const member members[] = {
    WHOLE(states, "states"),        WHOLE(actions, "actions"),
    WHOLE(branch, "branch"),        WHOLE(width, "width"),
    WHOLE(height, "height"),        WHOLE(capacity, "capacity"),
    WHOLE(demand, "demand"),        REAL(slip, "slip"),
    REAL(reward, "reward"),         REAL(small_reward, "small-reward"),
    REAL(price, "price"),           REAL(unit_cost, "unit-cost"),
    REAL(setup_cost, "setup-cost"), REAL(holding_cost, "holding-cost"),
};

static const member discount_member = REAL(discount, "discount");

#define MEMBERS_COUNT (sizeof members / sizeof *members)

/* NaN: unset. */
static double get(const nadir_generate_settings *settings, const member *own)
{
    const char *self = (const char *)settings + own->offset;
    if (own->whole) {
        int64_t whole;
        memcpy(&whole, self, sizeof whole);
        return whole == 0 ? NAN : (double)whole;
    }
    double value;
    memcpy(&value, self, sizeof value);
    return value;
}

static void set(nadir_generate_settings *settings, const member *own, double value)
{
    char *self = (char *)settings + own->offset;
    if (own->whole) {
        const int64_t whole = (int64_t)value;
        memcpy(self, &whole, sizeof whole);
    } else {
        memcpy(self, &value, sizeof value);
    }
}

const nadir_generator_facts *nadir_generator(int64_t index)
{
    return index >= 0 && index < KINDS_COUNT ? &kinds[index]->facts : NULL;
}

void nadir_generate_settings_fill(nadir_generate_settings *settings, size_t size)
{
    nadir_generate_settings made = {0};
    set(&made, &discount_member, NAN);
    for (size_t i = 0; i < MEMBERS_COUNT; i++) {
        set(&made, &members[i], members[i].whole ? 0 : NAN);
    }
    nadir_settings_give(settings, size, &made, sizeof made);
}

nadir_status nadir_generate_settings_set(nadir_context *context, nadir_generate_settings *settings,
                                         const char *name, double value)
{
    const member *found = strcmp(name, discount_member.name) == 0 ? &discount_member : NULL;
    for (size_t i = 0; i < MEMBERS_COUNT && found == NULL; i++) {
        found = strcmp(name, members[i].name) == 0 ? &members[i] : NULL;
    }
    if (found == NULL || found->offset + sizeof(double) > settings->size) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "there is no setting %s of a generator", name);
    }
    const double most = 0x1p53; /* up to here doubles hold every whole number */
    if (found->whole && !(value >= 1 && value <= most && value == floor(value))) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "%s is %.10g; expected a whole number, 1 or more",
                          name, value);
    }
    if (!isfinite(value)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "%s is %g; expected a finite number", name, value);
    }
    set(settings, found, value);
    return NADIR_OK;
}

/* Appends to a text of `size` bytes that holds a string; what does not fit is cut. */
static void append(char *text, size_t size, const char *more)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "%s", more);
}

static nadir_status fail_kind(nadir_context *context, const char *kind)
{
    char known[256] = "";
    const char *meant = NULL;
    for (int64_t i = 0; i < KINDS_COUNT; i++) {
        append(known, sizeof known, i == 0 ? "" : ", ");
        append(known, sizeof known, kinds[i]->facts.name);
        meant = nadir_names_alike(kind, kinds[i]->facts.name) ? kinds[i]->facts.name : meant;
    }
    return nadir_fail(context, NADIR_ERROR_ARGUMENT, "there is no generator \"%s\"; expected one of %s%s%s%s",
                      kind, known, meant != NULL ? "; did you mean " : "", meant != NULL ? meant : "",
                      meant != NULL ? "?" : "");
}

static nadir_status fail_unused(nadir_context *context, const nadir_generator_facts *facts, const char *name)
{
    char used[256] = "";
    for (int64_t i = 0; i < facts->settings_count; i++) {
        append(used, sizeof used, facts->settings[i].name);
        append(used, sizeof used, ", ");
    }
    return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                      "%s has no setting %s; leave it out (it has %sdiscount and seed)", facts->name, name,
                      used);
}

static nadir_status fail_range(nadir_context *context, const nadir_generator_facts *facts,
                               const nadir_generator_setting *setting, double value)
{
    char expected[96] = "a finite number";
    if (isfinite(setting->highest)) {
        (void)snprintf(expected, sizeof expected, "%.10g to %.10g", setting->lowest, setting->highest);
    }
    return nadir_fail(context, NADIR_ERROR_ARGUMENT, "%s: %s is %.10g; expected %s", facts->name,
                      setting->name, value, expected);
}

/* Puts the default of the kind where the setting is unset, and checks it where it is not. */
static nadir_status settle(nadir_context *context, const nadir_generator_facts *facts, const member *self,
                           nadir_generate_settings *settings)
{
    const double value = get(settings, self);
    for (int64_t i = 0; i < facts->settings_count; i++) {
        const nadir_generator_setting *setting = &facts->settings[i];
        if (strcmp(setting->name, self->name) != 0) {
            continue;
        }
        if (isnan(value) && !isnan(setting->standard)) {
            set(settings, self, setting->standard);
        } else if (isinf(value) || value < setting->lowest || value > setting->highest) {
            return fail_range(context, facts, setting, value);
        }
        return NADIR_OK;
    }
    return isnan(value) ? NADIR_OK : fail_unused(context, facts, self->name);
}

nadir_status nadir_model_generate(nadir_context *context, const char *kind,
                                  const nadir_generate_settings *settings, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_model *made = NULL;
    const nadir_generate_kind *use = NULL;
    nadir_generate_settings settled;
    nadir_generate_settings_default(&settled);
    if (settings != NULL && !nadir_settings_copy(&settled, sizeof settled, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the generate settings is not set");
    }
    for (int64_t i = 0; i < KINDS_COUNT && use == NULL; i++) {
        use = strcmp(kinds[i]->facts.name, kind) == 0 ? kinds[i] : NULL;
    }
    if (use == NULL) {
        return fail_kind(context, kind);
    }
    for (size_t i = 0; i < MEMBERS_COUNT; i++) {
        NADIR_CHECK(settle(context, &use->facts, &members[i], &settled));
    }
    if (isnan(settled.discount)) {
        settled.discount = use->facts.discount;
    }
    if (!(settled.discount >= 0 && settled.discount < 1)) {
        return nadir_fail(context, NADIR_ERROR_ILL_POSED, "%s: discount is %.10g; expected 0 <= discount < 1",
                          kind, settled.discount);
    }
    NADIR_CHECK(nadir_model_start(context, &made));
    made->discount = settled.discount;
    NADIR_CHECK(use->fill(context, &settled, made));
    const nadir_source source = {.path = use->facts.name};
    NADIR_CHECK(nadir_model_finish(context, made, &source));
    *model = made;
    made = NULL;
cleanup:
    nadir_model_free(made);
    return status;
}

/* *product = a * b * c, for factors of 0 or more; NADIR_ERROR_ARGUMENT when arrays of that many numbers
 * cannot be addressed. */
static nadir_status checked_product(nadir_context *context, int64_t a, int64_t b, int64_t c, int64_t *product)
{
    *product = 0;
    const int64_t most = INT64_MAX / (int64_t)sizeof(double) - 1;
    if (a > 0 && b > 0 && c > 0 && (b > most / a || c > most / a / b)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "%lld x %lld x %lld numbers are more than can be stored; ask for a smaller model",
                          (long long)a, (long long)b, (long long)c);
    }
    *product = a * b * c;
    return NADIR_OK;
}

nadir_status nadir_generate_name_actions(nadir_context *context, nadir_model *model, int64_t count,
                                         const char *const *names)
{
    for (int64_t i = 0; i < count; i++) {
        NADIR_TRY(nadir_names_add(context, &model->action_names, names[i], strlen(names[i])));
    }
    return NADIR_OK;
}

nadir_status nadir_generate_progress(nadir_context *context, int64_t row, int64_t rows, int64_t length)
{
    const int64_t stride = 1 + 65536 / length;
    return row % stride != 0 ? NADIR_OK : nadir_progress(context, "generating", (double)row / (double)rows);
}

nadir_status nadir_generate_reserve(nadir_context *context, nadir_model *model, int64_t states, int64_t rows,
                                    int64_t transitions)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(context, model->state_rows, states + 1);
    NADIR_NEW(context, model->row_starts, rows + 1);
    NADIR_NEW(context, model->columns, transitions);
    NADIR_NEW(context, model->probabilities, transitions);
    NADIR_NEW(context, model->rewards, rows);
    model->state_rows[0] = 0;
    model->row_starts[0] = 0;
cleanup:
    return status;
}

/*
 * random.c: dense random models, as in the experiments of Kumar et al. (2025).
 *
 *     P(.|s, a) = u / (u_1 + ... + u_S), u uniform in [0, 1)^S,   R(s, a) standard normal.
 *
 * Drawn in this order: all of P, row after row, then all of R.
 */

static const nadir_generator_setting random_settings[] = {
    {"states", "number of states", 32, 1, NADIR_STATES_LIMIT},
    {"actions", "number of actions of each state", 8, 1, INT32_MAX},
};

/* Redrawn if all are zero, which has a chance of 2^-53 for one state and none to speak of for more. */
static void draw_random_row(nadir_random *stream, int64_t states, double *row)
{
    double sum = 0;
    while (sum == 0) {
        for (int64_t i = 0; i < states; i++) {
            row[i] = nadir_random_uniform(stream);
        }
        sum = nadir_vector_sum(states, row);
    }
    nadir_vector_divide(states, sum, row);
}

static nadir_status fill_random(nadir_context *context, const nadir_generate_settings *settings,
                                nadir_model *model)
{
    nadir_status status = NADIR_OK;
    const int64_t states = settings->states;
    int64_t entries;
    NADIR_CHECK(checked_product(context, states, settings->actions, states, &entries));
    model->states = states;
    model->rows = states * settings->actions;
    NADIR_NEW(context, model->dense, entries);
    NADIR_NEW(context, model->rewards, model->rows);
    NADIR_NEW(context, model->state_rows, states + 1);
    for (int64_t s = 0; s <= states; s++) {
        model->state_rows[s] = s * settings->actions;
    }
    nadir_random stream;
    nadir_random_seed(&stream, settings->seed);
    for (int64_t row = 0; row < model->rows; row++) {
        draw_random_row(&stream, states, model->dense + row * states);
        NADIR_CHECK(nadir_generate_progress(context, row, model->rows, states));
    }
    for (int64_t row = 0; row < model->rows; row++) {
        model->rewards[row] = nadir_random_normal(&stream);
    }
cleanup:
    return status;
}

const nadir_generate_kind nadir_generate_random = {
    .facts = {.name = "random",
              .summary = "dense random kernel, normal rewards",
              .source = "Kumar et al. 2025, arXiv:2502.09432, experiments",
              .random = true,
              .discount = 0.9,
              NADIR_GENERATE_USES(random_settings)},
    .fill = fill_random,
};

/*
 * Sparse random models with a given number of successors, known as Garnet.
 *
 * Each row has exactly `branch` successors, a uniformly random set of states. Their probabilities are the
 * gaps between branch - 1 uniform points of (0, 1), which makes every distribution on them equally likely.
 * Rewards are uniform in [0, 1), one for each row. Drawn row after row: successors, points, reward.
 */

#define BRANCH 5

/* With more points than this two of them meet in most rows, and draw_probabilities would never end. */
#define BRANCH_LIMIT ((int64_t)1 << 26)

static const nadir_generator_setting garnet_settings[] = {
    {"states", "number of states", 100, 1, NADIR_STATES_LIMIT},
    {"actions", "number of actions of each state", 4, 1, INT32_MAX},
    {"branch", "successors of each row; default 5, or all states if there are fewer", NAN, 1, BRANCH_LIMIT},
};

typedef struct workspace {
    nadir_random stream;
    bool *chosen;     /* [states] all false between rows */
    uint64_t *values; /* [branch + 1] numbers to be sorted */
} workspace;

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Rows are short as a rule: then insertion beats the call for every comparison. */
static void sort(int64_t count, uint64_t *values)
{
    if (count > 32) {
        qsort(values, (size_t)count, sizeof *values, compare);
        return;
    }
    for (int64_t i = 1; i < count; i++) {
        const uint64_t value = values[i];
        int64_t index = i;
        for (; index > 0 && values[index - 1] > value; index--) {
            values[index] = values[index - 1];
        }
        values[index] = value;
    }
}

/* values[0 .. branch) = a random set of states, rising (Floyd's algorithm: for j = S - branch .. S - 1 take a
 * random t <= j, or j itself where t was taken before). */
static void draw_successors(workspace *work, int64_t states, int64_t branch)
{
    for (int64_t i = 0; i < branch; i++) {
        const uint64_t last = (uint64_t)(states - branch + i);
        const uint64_t drawn = nadir_random_below(&work->stream, last + 1);
        work->values[i] = work->chosen[drawn] ? last : drawn;
        work->chosen[work->values[i]] = true;
    }
    for (int64_t i = 0; i < branch; i++) {
        work->chosen[work->values[i]] = false;
    }
    sort(branch, work->values);
}

/* probabilities[0 .. branch) = the gaps between random points. As multiples of 2^-53 they are exact, and so
 * is their sum. Points that meet would lose a successor: all are drawn again, which is very rare. */
static void draw_probabilities(workspace *work, int64_t branch, double *probabilities)
{
    const uint64_t one = UINT64_C(1) << 53;
    bool positive = false;
    while (!positive) {
        work->values[0] = 0;
        for (int64_t i = 1; i < branch; i++) {
            work->values[i] = nadir_random_next(&work->stream) >> 11;
        }
        work->values[branch] = one;
        sort(branch, work->values);
        positive = true;
        for (int64_t i = 0; i < branch; i++) {
            const uint64_t gap = work->values[i + 1] - work->values[i];
            probabilities[i] = (double)gap * 0x1p-53;
            positive = positive && gap > 0;
        }
    }
}

static void draw_garnet_row(workspace *work, int64_t states, int64_t branch, nadir_model *model)
{
    draw_successors(work, states, branch);
    for (int64_t i = 0; i < branch; i++) {
        model->columns[model->nonzeros + i] = (int32_t)work->values[i];
    }
    draw_probabilities(work, branch, model->probabilities + model->nonzeros);
    model->nonzeros += branch;
    nadir_generate_end_row(model, nadir_random_uniform(&work->stream));
}

static nadir_status fill_garnet(nadir_context *context, const nadir_generate_settings *settings,
                                nadir_model *model)
{
    nadir_status status = NADIR_OK;
    workspace work = {.chosen = NULL};
    const int64_t states = settings->states;
    const int64_t rows = states * settings->actions;
    const int64_t standard = states < BRANCH ? states : BRANCH;
    const int64_t branch = settings->branch == 0 ? standard : settings->branch;
    int64_t transitions;
    if (branch > states) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "garnet: branch is %lld; expected at most the number of states, %lld",
                          (long long)branch, (long long)states);
    }
    NADIR_CHECK(checked_product(context, states, settings->actions, branch, &transitions));
    NADIR_CHECK(nadir_generate_reserve(context, model, states, rows, transitions));
    NADIR_NEW_ZERO(context, work.chosen, states);
    NADIR_NEW(context, work.values, branch + 1);
    nadir_random_seed(&work.stream, settings->seed);
    for (int64_t s = 0; s < states; s++) {
        for (int64_t a = 0; a < settings->actions; a++) {
            NADIR_CHECK(nadir_generate_progress(context, model->rows, rows, branch));
            draw_garnet_row(&work, states, branch, model);
        }
        nadir_generate_end_state(model);
    }
cleanup:
    NADIR_RELEASE(context, work.chosen, work.values);
    return status;
}

const nadir_generate_kind nadir_generate_garnet = {
    .facts = {.name = "garnet",
              .summary = "sparse random kernel, uniform rewards",
              .source = "Archibald, McKinnon and Thomas 1995, J. Oper. Res. Soc. 46",
              .random = true,
              .discount = 0.95,
              NADIR_GENERATE_USES(garnet_settings)},
    .fill = fill_garnet,
};

/* generate.c: the kinds of generators, their settings, and making a model of one; see generate.h. */
#include "model/generate.h"

#include <stdio.h>
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
    for (int64_t i = 0; i < KINDS_COUNT; i++) {
        append(known, sizeof known, i == 0 ? "" : ", ");
        append(known, sizeof known, kinds[i]->facts.name);
    }
    return nadir_fail(context, NADIR_ERROR_ARGUMENT, "there is no generator \"%s\"; expected one of %s", kind,
                      known);
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

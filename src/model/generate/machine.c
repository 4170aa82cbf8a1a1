/*
 * machine.c: replacing a machine that wears out.
 *
 * States 0 .. n = S - 3 are ages, the last of them a machine that fails; S - 2 is a long repair, S - 1 a
 * short one. A step that ends in a failing machine costs 20, in a long repair 10, in a short repair 2. wait:
 * age s < n: stays 0.2, s + 1 with 0.8; n stays; long repair stays; short repair stays 0.2, as good as new
 * (0) with 0.8; repair:  any age: min(s + 1, n) with 0.3, long repair 0.1, short repair 0.6; long repair
 * stays 0.4, short repair 0.6; short repair stays.
 */
#include "model/generate.h"

#include <stdio.h>
#include <string.h>

static const nadir_generator_setting used[] = {
    {"states", "number of ages and, besides, two kinds of repair", 10, 3, NADIR_STATES_LIMIT},
};

/* Where the special states are. */
typedef struct shop {
    int64_t failing;
    int64_t long_repair;
    int64_t short_repair;
} shop;

static void add(const shop *in, nadir_model *model, int64_t successor, double probability)
{
    model->transition_rewards[model->nonzeros] = successor == in->failing        ? -20
                                                 : successor == in->long_repair  ? -10
                                                 : successor == in->short_repair ? -2
                                                                                 : 0;
    nadir_generate_add(model, successor, probability);
}

static void wait_rows(const shop *in, nadir_model *model, int64_t s)
{
    if (s < in->failing) {
        add(in, model, s, 0.2);
        add(in, model, s + 1, 0.8);
    } else if (s == in->short_repair) {
        add(in, model, 0, 0.8);
        add(in, model, s, 0.2);
    } else {
        add(in, model, s, 1);
    }
}

static void repair_rows(const shop *in, nadir_model *model, int64_t s)
{
    if (s <= in->failing) {
        add(in, model, s < in->failing ? s + 1 : s, 0.3);
        add(in, model, in->long_repair, 0.1);
        add(in, model, in->short_repair, 0.6);
    } else if (s == in->long_repair) {
        add(in, model, in->long_repair, 0.4);
        add(in, model, in->short_repair, 0.6);
    } else {
        add(in, model, s, 1);
    }
}

static nadir_status name_states(nadir_context *context, const shop *in, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    for (int64_t s = 0; s <= in->failing; s++) {
        char name[32];
        const int length = snprintf(name, sizeof name, "age%lld", (long long)s);
        NADIR_CHECK(nadir_names_add(context, &model->state_names, name, (size_t)length));
    }
    NADIR_CHECK(nadir_names_add(context, &model->state_names, "long_repair", strlen("long_repair")));
    NADIR_CHECK(nadir_names_add(context, &model->state_names, "short_repair", strlen("short_repair")));
cleanup:
    return status;
}

static nadir_status fill(nadir_context *context, const nadir_generate_settings *settings, nadir_model *model)
{
    static const char *const actions[] = {"wait", "repair"};
    nadir_status status = NADIR_OK;
    const int64_t states = settings->states;
    const shop in = {.failing = states - 3, .long_repair = states - 2, .short_repair = states - 1};
    const int64_t transitions = 5 * states - 5; /* 5 for an age, 4 when failing, 3 for a repair */
    NADIR_CHECK(nadir_generate_name_actions(context, model, 2, actions));
    NADIR_CHECK(nadir_generate_reserve(context, model, states, 2 * states, transitions));
    NADIR_NEW(context, model->transition_rewards, transitions);
    NADIR_CHECK(name_states(context, &in, model));
    for (int64_t s = 0; s < states; s++) {
        wait_rows(&in, model, s);
        nadir_generate_end_row(model, 0);
        repair_rows(&in, model, s);
        nadir_generate_end_row(model, 0);
        nadir_generate_end_state(model);
        NADIR_CHECK(nadir_generate_progress(context, s, states, 5));
    }
cleanup:
    return status;
}

const nadir_generate_kind nadir_generate_machine = {
    .facts = {.name = "machine",
              .summary = "replacing a machine that wears out",
              .source = "Delage and Mannor 2010, Oper. Res. 58",
              .discount = 0.9,
              NADIR_GENERATE_USES(used)},
    .fill = fill,
};

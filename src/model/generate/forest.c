/*
 * forest.c: when to cut a forest that fire may burn; the example of MDPtoolbox.
 *
 * States 0 .. n = S - 1 are ages, action 0 waits, action 1 cuts.
 *     wait:  burns down to 0 with `slip`, otherwise ages to min(s + 1, n); pays `reward` at n, else nothing;
 *     cut:   back to 0; pays nothing at 0, small_reward at n, 1 between.
 */
#include "model/generate.h"

static const nadir_generator_setting used[] = {
    {"states", "number of ages", 3, 2, NADIR_STATES_LIMIT},
    {"slip", "chance of fire", 0.1, 0, 1},
    {"reward", "for waiting in the oldest forest", 4, -INFINITY, INFINITY},
    {"small-reward", "for cutting the oldest forest", 2, -INFINITY, INFINITY},
};

static double cut_reward(const nadir_generate_settings *settings, int64_t s)
{
    if (s == settings->states - 1) {
        return settings->small_reward;
    }
    return s == 0 ? 0 : 1;
}

static nadir_status fill(nadir_context *context, const nadir_generate_settings *settings, nadir_model *model)
{
    static const char *const actions[] = {"wait", "cut"};
    nadir_status status = NADIR_OK;
    const int64_t states = settings->states;
    const int64_t oldest = states - 1;
    NADIR_CHECK(nadir_generate_name_actions(context, model, 2, actions));
    NADIR_CHECK(nadir_generate_reserve(context, model, states, 2 * states, 3 * states));
    for (int64_t s = 0; s < states; s++) {
        nadir_generate_add(model, 0, settings->slip);
        nadir_generate_add(model, s < oldest ? s + 1 : oldest, 1 - settings->slip);
        nadir_generate_end_row(model, s == oldest ? settings->reward : 0);
        nadir_generate_add(model, 0, 1);
        nadir_generate_end_row(model, cut_reward(settings, s));
        nadir_generate_end_state(model);
        NADIR_CHECK(nadir_generate_progress(context, s, states, 3));
    }
cleanup:
    return status;
}

const nadir_generate_kind nadir_generate_forest = {
    .facts = {.name = "forest",
              .summary = "when to cut a forest that may burn",
              .source = "Chades et al. 2014, Ecography 37 (MDPtoolbox)",
              .discount = 0.9,
              NADIR_GENERATE_USES(used)},
    .fill = fill,
};

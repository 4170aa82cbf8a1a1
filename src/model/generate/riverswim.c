/*
 * riverswim.c: a swimmer against the current, the small example where exploring, or trusting a kernel, is
 * hard: the large reward waits at the far end, and the current carries one back.
 *
 * States 0 .. n = S - 1 from left to right. Swimming left always succeeds; left at state 0 pays small_reward.
 * Swimming right:
 *     from 0:             stays 0.7, right 0.3;
 *     from 0 < s < n:     left 0.1, stays 0.6, right 0.3;
 *     from n:             left 0.7, stays 0.3, and staying pays reward.
 */
#include "model/generate.h"

static const nadir_generator_setting used[] = {
    {"states", "length of the river", 6, 2, NADIR_STATES_LIMIT},
    {"reward", "for holding the right end", 10000, -INFINITY, INFINITY},
    {"small-reward", "for resting at the left end", 5, -INFINITY, INFINITY},
};

static void add(nadir_model *model, int64_t successor, double probability, double reward)
{
    model->transition_rewards[model->nonzeros] = reward;
    nadir_generate_add(model, successor, probability);
}

static void swim_right(const nadir_generate_settings *settings, int64_t s, nadir_model *model)
{
    const int64_t end = settings->states - 1;
    if (s == 0) {
        add(model, s, 0.7, 0);
        add(model, s + 1, 0.3, 0);
    } else if (s < end) {
        add(model, s - 1, 0.1, 0);
        add(model, s, 0.6, 0);
        add(model, s + 1, 0.3, 0);
    } else {
        add(model, s - 1, 0.7, 0);
        add(model, s, 0.3, settings->reward);
    }
}

static nadir_status fill(nadir_context *context, const nadir_generate_settings *settings, nadir_model *model)
{
    static const char *const actions[] = {"left", "right"};
    nadir_status status = NADIR_OK;
    const int64_t states = settings->states;
    const int64_t transitions = 4 * states - 2; /* 3 at either end, 4 between */
    NADIR_CHECK(nadir_generate_name_actions(context, model, 2, actions));
    NADIR_CHECK(nadir_generate_reserve(context, model, states, 2 * states, transitions));
    NADIR_NEW(context, model->transition_rewards, transitions);
    for (int64_t s = 0; s < states; s++) {
        add(model, s == 0 ? 0 : s - 1, 1, s == 0 ? settings->small_reward : 0);
        nadir_generate_end_row(model, 0);
        swim_right(settings, s, model);
        nadir_generate_end_row(model, 0);
        nadir_generate_end_state(model);
        NADIR_CHECK(nadir_generate_progress(context, s, states, 4));
    }
cleanup:
    return status;
}

const nadir_generate_kind nadir_generate_riverswim = {
    .facts = {.name = "riverswim",
              .summary = "a swimmer against the current",
              .source = "Strehl and Littman 2008, J. Comput. Syst. Sci. 74",
              .discount = 0.95,
              NADIR_GENERATE_USES(used)},
    .fill = fill,
};

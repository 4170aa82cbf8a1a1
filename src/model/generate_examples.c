/* generate_examples.c: the generators of examples of the literature; see generate.h. */
#include "linalg/vector.h"
#include "model/generate.h"

#include <stdio.h>
#include <string.h>

/* A transition with what landing there pays. */
static void add_paid_entry(nadir_model *model, int64_t successor, double probability, double reward)
{
    model->transition_rewards[model->nonzeros] = reward;
    nadir_generate_add(model, successor, probability);
}

/*
 * When to cut a forest that fire may burn; the example of MDPtoolbox.
 *
 * States 0 .. n = S - 1 are ages, action 0 waits, action 1 cuts.
 *     wait:  burns down to 0 with `slip`, otherwise ages to min(s + 1, n); pays `reward` at n, else nothing;
 *     cut:   back to 0; pays nothing at 0, small_reward at n, 1 between.
 */
static const nadir_generator_setting forest_settings[] = {
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

static nadir_status fill_forest(nadir_context *context, const nadir_generate_settings *settings,
                                nadir_model *model)
{
    static const char *const actions[] = {"wait", "cut"};
    const int64_t states = settings->states;
    const int64_t oldest = states - 1;
    NADIR_TRY(nadir_generate_name_actions(context, model, 2, actions));
    NADIR_TRY(nadir_generate_reserve(context, model, states, 2 * states, 3 * states));
    for (int64_t s = 0; s < states; s++) {
        nadir_generate_add(model, 0, settings->slip);
        nadir_generate_add(model, s < oldest ? s + 1 : oldest, 1 - settings->slip);
        nadir_generate_end_row(model, s == oldest ? settings->reward : 0);
        nadir_generate_add(model, 0, 1);
        nadir_generate_end_row(model, cut_reward(settings, s));
        nadir_generate_end_state(model);
        NADIR_TRY(nadir_generate_progress(context, s, states, 3));
    }
    return NADIR_OK;
}

const nadir_generate_kind nadir_generate_forest = {
    .facts = {.name = "forest",
              .summary = "when to cut a forest that may burn",
              .source = "Chades et al. 2014, Ecography 37 (MDPtoolbox)",
              .discount = 0.9,
              NADIR_GENERATE_USES(forest_settings)},
    .fill = fill_forest,
};

/*
 * Finding the way across a grid on slippery ground.
 *
 * State r * width + c is the cell in row r and column c, named "r3c4", rows counted downwards. The actions
 * are up, right, down, left. A move goes where it was meant to with 1 - slip and to either side of that with
 * slip / 2; a move off the grid stays. The last cell, opposite to "r0c0", is the goal: landing on it pays
 * `reward`, and it is never left, which is known exactly: its rows are pinned, and pay nothing.
 */

#define ACTIONS 4

static const nadir_generator_setting gridworld_settings[] = {
    {"width", "number of columns", 5, 1, NADIR_STATES_LIMIT},
    {"height", "number of rows", 5, 1, NADIR_STATES_LIMIT},
    {"slip", "chance to move sideways", 0.2, 0, 1},
    {"reward", "for entering the goal", 1, -INFINITY, INFINITY},
};

/* The cell a step leads to. */
static int64_t step(const nadir_generate_settings *settings, int64_t row, int64_t column, int direction)
{
    static const int down[ACTIONS] = {-1, 0, 1, 0};
    static const int right[ACTIONS] = {0, 1, 0, -1};
    const int64_t to_row = row + down[direction];
    const int64_t to_column = column + right[direction];
    if (to_row < 0 || to_row >= settings->height || to_column < 0 || to_column >= settings->width) {
        return row * settings->width + column;
    }
    return to_row * settings->width + to_column;
}

/* Writes the row of one action: ahead, to the right of that, to its left. Cells that meet are added up when the
 * model is finished. */
static void add_move(const nadir_generate_settings *settings, int64_t row, int64_t column, int action,
                     nadir_model *model)
{
    const int turns[3] = {0, 1, ACTIONS - 1};
    const double chances[3] = {1 - settings->slip, settings->slip / 2, settings->slip / 2};
    const int64_t goal = settings->width * settings->height - 1;
    for (int i = 0; i < 3; i++) {
        const int64_t cell = step(settings, row, column, (action + turns[i]) % ACTIONS);
        if (chances[i] > 0) {
            add_paid_entry(model, cell, chances[i], cell == goal ? settings->reward : 0);
        }
    }
    nadir_generate_end_row(model, 0);
}

static nadir_status add_cell(nadir_context *context, const nadir_generate_settings *settings, int64_t row,
                             int64_t column, nadir_model *model)
{
    char name[48];
    const int length = snprintf(name, sizeof name, "r%lldc%lld", (long long)row, (long long)column);
    const int64_t cell = row * settings->width + column;
    const bool goal = cell == settings->width * settings->height - 1;
    for (int action = 0; action < ACTIONS; action++) {
        model->scales[model->rows] = goal ? 0 : 1;
        if (goal) {
            add_paid_entry(model, cell, 1, 0);
            nadir_generate_end_row(model, 0);
        } else {
            add_move(settings, row, column, action, model);
        }
    }
    nadir_generate_end_state(model);
    return nadir_names_add(context, &model->state_names, name, (size_t)length);
}

static nadir_status fill_gridworld(nadir_context *context, const nadir_generate_settings *settings,
                                   nadir_model *model)
{
    static const char *const actions[ACTIONS] = {"up", "right", "down", "left"};
    nadir_status status = NADIR_OK;
    if (settings->height > NADIR_STATES_LIMIT / settings->width) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "gridworld: %lld x %lld cells are too many; expected at most %d",
                          (long long)settings->width, (long long)settings->height, NADIR_STATES_LIMIT);
    }
    const int64_t cells = settings->width * settings->height;
    NADIR_CHECK(nadir_generate_name_actions(context, model, ACTIONS, actions));
    NADIR_CHECK(nadir_generate_reserve(context, model, cells, ACTIONS * cells, 3 * ACTIONS * cells));
    NADIR_NEW(context, model->transition_rewards, 3 * ACTIONS * cells);
    NADIR_NEW(context, model->scales, ACTIONS * cells);
    for (int64_t row = 0; row < settings->height; row++) {
        for (int64_t column = 0; column < settings->width; column++) {
            NADIR_CHECK(add_cell(context, settings, row, column, model));
            NADIR_CHECK(nadir_generate_progress(context, model->states, cells, 3 * ACTIONS));
        }
    }
cleanup:
    return status;
}

const nadir_generate_kind nadir_generate_gridworld = {
    .facts = {.name = "gridworld",
              .summary = "the way across a slippery grid",
              .source = "moves of Russell and Norvig 1995, Artificial Intelligence, section 17.1",
              .discount = 0.95,
              NADIR_GENERATE_USES(gridworld_settings)},
    .fill = fill_gridworld,
};

/*
 * Ordering for a stock of limited capacity under random demand; unmet demand is lost.
 *
 * State s = 0 .. M is the stock, M = capacity; action a = 0 .. M - s, or the first `actions` of these, orders
 * a units, which arrive at once and make the level x = s + a. The demand D of the period is binomial with n =
 * `demand` trials of chance 1/2.
 *
 *     successor  max(x - D, 0)
 *     R(s, a)    price E[min(D, x)] - setup_cost [a > 0] - unit_cost a - holding_cost x
 *
 * With p_d = P(D = d) and T_k = P(D >= k): P(0|x) = T_x, P(j|x) = p_{x-j} for j > 0, and E[min(D, x)] = T_1 +
 * ... + T_x.
 */

#define CAPACITY_LIMIT 1000000 /* the number of transitions, at most (M + 1)^3, stays below 2^63 */

static const nadir_generator_setting inventory_settings[] = {
    {"capacity", "largest stock", 3, 1, CAPACITY_LIMIT},
    {"demand", "largest demand, twice its mean", 2, 1, CAPACITY_LIMIT},
    {"actions", "order sizes 0, 1, ...; all that fit by default", NAN, 1, CAPACITY_LIMIT + 1},
    {"price", "of a unit sold", 8, -INFINITY, INFINITY},
    {"unit-cost", "of a unit ordered", 2, -INFINITY, INFINITY},
    {"setup-cost", "of an order, whatever its size", 4, -INFINITY, INFINITY},
    {"holding-cost", "of a unit in stock, each period", 1, -INFINITY, INFINITY},
};

/* What the rows of one level share; n = demand, M = capacity. */
typedef struct market {
    int64_t demand;
    double *chances; /* [n + 1] p_d */
    double *tails;   /* [n + 2] T_k */
    double *sales;   /* [M + 1] E[min(D, x)] */
} market;

/* p_d, proportional to n over d: from the middle to the end, then mirrored, since the ends may underflow. */
static void fill_chances(market *self)
{
    const int64_t n = self->demand;
    const int64_t middle = n - n / 2;
    self->chances[middle] = 1;
    for (int64_t d = middle; d < n; d++) {
        self->chances[d + 1] = self->chances[d] * (double)(n - d) / (double)(d + 1);
    }
    for (int64_t d = middle; d <= n; d++) {
        self->chances[n - d] = self->chances[d];
    }
    nadir_vector_divide(n + 1, nadir_vector_sum(n + 1, self->chances), self->chances);
}

static void fill_market(market *self, int64_t capacity)
{
    const int64_t n = self->demand;
    fill_chances(self);
    self->tails[n + 1] = 0;
    for (int64_t k = n; k > 0; k--) {
        self->tails[k] = self->tails[k + 1] + self->chances[k];
    }
    self->tails[0] = 1;
    self->sales[0] = 0;
    for (int64_t x = 1; x <= capacity; x++) {
        self->sales[x] = self->sales[x - 1] + self->tails[x <= n ? x : n + 1];
    }
}

/* The successors of level x, rising. */
static void add_level(const market *self, int64_t x, nadir_model *model)
{
    int64_t lowest = x - self->demand;
    if (lowest <= 0) {
        nadir_generate_add(model, 0, self->tails[x]);
        lowest = 1;
    }
    for (int64_t j = lowest; j <= x; j++) {
        nadir_generate_add(model, j, self->chances[x - j]);
    }
}

/* Rows and transitions: level x is reached from min(x + 1, actions) stocks, by a row each, and has min(x, n)
 * + 1 successors. */
static void count_size(int64_t capacity, int64_t demand, int64_t actions, int64_t *rows, int64_t *transitions)
{
    *rows = 0;
    *transitions = 0;
    for (int64_t x = 0; x <= capacity; x++) {
        const int64_t stocks = x + 1 < actions ? x + 1 : actions;
        *rows += stocks;
        *transitions += stocks * ((x < demand ? x : demand) + 1);
    }
}

static double row_reward(const nadir_generate_settings *settings, const market *self, int64_t x,
                         int64_t order)
{
    const double setup_cost = order > 0 ? settings->setup_cost : 0;
    return settings->price * self->sales[x] - setup_cost - settings->unit_cost * (double)order -
           settings->holding_cost * (double)x;
}

static nadir_status fill_inventory(nadir_context *context, const nadir_generate_settings *settings,
                                   nadir_model *model)
{
    nadir_status status = NADIR_OK;
    const int64_t capacity = settings->capacity;
    const int64_t actions = settings->actions > 0 ? settings->actions : capacity + 1;
    int64_t rows;
    int64_t transitions;
    market run = {.demand = settings->demand};
    count_size(capacity, settings->demand, actions, &rows, &transitions);
    NADIR_CHECK(nadir_generate_reserve(context, model, capacity + 1, rows, transitions));
    NADIR_NEW(context, run.chances, run.demand + 1);
    NADIR_NEW(context, run.tails, run.demand + 2);
    NADIR_NEW(context, run.sales, capacity + 1);
    fill_market(&run, capacity);
    for (int64_t s = 0; s <= capacity; s++) {
        for (int64_t x = s; x <= capacity && x < s + actions; x++) {
            NADIR_CHECK(nadir_generate_progress(context, model->rows, rows, x + 1));
            add_level(&run, x, model);
            nadir_generate_end_row(model, row_reward(settings, &run, x, x - s));
        }
        nadir_generate_end_state(model);
    }
cleanup:
    NADIR_RELEASE(context, run.chances, run.tails, run.sales);
    return status;
}

const nadir_generate_kind nadir_generate_inventory = {
    .facts = {.name = "inventory",
              .summary = "ordering for a stock under random demand",
              .source = "Puterman 1994, Markov Decision Processes, section 3.2",
              .discount = 0.95,
              NADIR_GENERATE_USES(inventory_settings)},
    .fill = fill_inventory,
};

/*
 * Replacing a machine that wears out.
 *
 * States 0 .. n = S - 3 are ages, the last of them a machine that fails; S - 2 is a long repair, S - 1 a
 * short one. A step that ends in a failing machine costs 20, in a long repair 10, in a short repair 2.
 *
 *     wait:    age s < n: stays 0.2, s + 1 with 0.8; n stays; long repair stays;
 *              short repair: stays 0.2, as good as new (0) with 0.8;
 *     repair:  any age: min(s + 1, n) with 0.3, long repair 0.1, short repair 0.6;
 *              long repair: stays 0.4, short repair 0.6; short repair stays.
 */

static const nadir_generator_setting machine_settings[] = {
    {"states", "number of ages and, besides, two kinds of repair", 10, 3, NADIR_STATES_LIMIT},
};

/* Where the special states are. */
typedef struct shop {
    int64_t failing;
    int64_t long_repair;
    int64_t short_repair;
} shop;

static void add_machine_entry(const shop *in, nadir_model *model, int64_t successor, double probability)
{
    const double reward = successor == in->failing        ? -20
                          : successor == in->long_repair  ? -10
                          : successor == in->short_repair ? -2
                                                          : 0;
    add_paid_entry(model, successor, probability, reward);
}

static void wait_rows(const shop *in, nadir_model *model, int64_t s)
{
    if (s < in->failing) {
        add_machine_entry(in, model, s, 0.2);
        add_machine_entry(in, model, s + 1, 0.8);
    } else if (s == in->short_repair) {
        add_machine_entry(in, model, 0, 0.8);
        add_machine_entry(in, model, s, 0.2);
    } else {
        add_machine_entry(in, model, s, 1);
    }
}

static void repair_rows(const shop *in, nadir_model *model, int64_t s)
{
    if (s <= in->failing) {
        add_machine_entry(in, model, s < in->failing ? s + 1 : s, 0.3);
        add_machine_entry(in, model, in->long_repair, 0.1);
        add_machine_entry(in, model, in->short_repair, 0.6);
    } else if (s == in->long_repair) {
        add_machine_entry(in, model, in->long_repair, 0.4);
        add_machine_entry(in, model, in->short_repair, 0.6);
    } else {
        add_machine_entry(in, model, s, 1);
    }
}

static nadir_status name_states(nadir_context *context, const shop *in, nadir_model *model)
{
    for (int64_t s = 0; s <= in->failing; s++) {
        char name[32];
        const int length = snprintf(name, sizeof name, "age%lld", (long long)s);
        NADIR_TRY(nadir_names_add(context, &model->state_names, name, (size_t)length));
    }
    NADIR_TRY(nadir_names_add(context, &model->state_names, "long_repair", strlen("long_repair")));
    return nadir_names_add(context, &model->state_names, "short_repair", strlen("short_repair"));
}

static nadir_status fill_machine(nadir_context *context, const nadir_generate_settings *settings,
                                 nadir_model *model)
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
              NADIR_GENERATE_USES(machine_settings)},
    .fill = fill_machine,
};

/*
 * A swimmer against the current, the small example where exploring, or trusting a kernel, is hard: the large reward waits at the far end, and the current carries one back.
 *
 * States 0 .. n = S - 1 from left to right. Swimming left always succeeds; left at state 0 pays small_reward.
 * Swimming right:
 *     from 0:             stays 0.7, right 0.3;
 *     from 0 < s < n:     left 0.1, stays 0.6, right 0.3;
 *     from n:             left 0.7, stays 0.3, and staying pays reward.
 */

static const nadir_generator_setting riverswim_settings[] = {
    {"states", "length of the river", 6, 2, NADIR_STATES_LIMIT},
    {"reward", "for holding the right end", 10000, -INFINITY, INFINITY},
    {"small-reward", "for resting at the left end", 5, -INFINITY, INFINITY},
};

static void swim_right(const nadir_generate_settings *settings, int64_t s, nadir_model *model)
{
    const int64_t end = settings->states - 1;
    if (s == 0) {
        add_paid_entry(model, s, 0.7, 0);
        add_paid_entry(model, s + 1, 0.3, 0);
    } else if (s < end) {
        add_paid_entry(model, s - 1, 0.1, 0);
        add_paid_entry(model, s, 0.6, 0);
        add_paid_entry(model, s + 1, 0.3, 0);
    } else {
        add_paid_entry(model, s - 1, 0.7, 0);
        add_paid_entry(model, s, 0.3, settings->reward);
    }
}

static nadir_status fill_riverswim(nadir_context *context, const nadir_generate_settings *settings,
                                   nadir_model *model)
{
    static const char *const actions[] = {"left", "right"};
    nadir_status status = NADIR_OK;
    const int64_t states = settings->states;
    const int64_t transitions = 4 * states - 2; /* 3 at either end, 4 between */
    NADIR_CHECK(nadir_generate_name_actions(context, model, 2, actions));
    NADIR_CHECK(nadir_generate_reserve(context, model, states, 2 * states, transitions));
    NADIR_NEW(context, model->transition_rewards, transitions);
    for (int64_t s = 0; s < states; s++) {
        add_paid_entry(model, s == 0 ? 0 : s - 1, 1, s == 0 ? settings->small_reward : 0);
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
              NADIR_GENERATE_USES(riverswim_settings)},
    .fill = fill_riverswim,
};

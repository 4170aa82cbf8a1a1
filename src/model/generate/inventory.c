/*
 * inventory.c: ordering for a stock of limited capacity under random demand; unmet demand is lost.
 *
 * State s = 0 .. M is the stock, M = capacity; action a = 0 .. M - s, or the first `actions` of these, orders
 * a units, which arrive at once and make the level x = s + a. The demand D of the period is binomial with n =
 * `demand` trials of chance 1/2. successor  max(x - D, 0) R(s, a)    price E[min(D, x)] - setup_cost [a > 0]
 * - unit_cost a - holding_cost x With p_d = P(D = d) and T_k = P(D >= k):  P(0|x) = T_x,  P(j|x) = p_{x-j}
 * for j > 0, E[min(D, x)] = T_1 + ... + T_x.
 */
#include "linalg/vector.h"
#include "model/generate.h"

#define CAPACITY_LIMIT 1000000 /* the number of transitions, at most (M + 1)^3, stays below 2^63 */

static const nadir_generator_setting used[] = {
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

static nadir_status fill(nadir_context *context, const nadir_generate_settings *settings, nadir_model *model)
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
    nadir_release(context, run.chances);
    nadir_release(context, run.tails);
    nadir_release(context, run.sales);
    return status;
}

const nadir_generate_kind nadir_generate_inventory = {
    .facts = {.name = "inventory",
              .summary = "ordering for a stock under random demand",
              .source = "Puterman 1994, Markov Decision Processes, section 3.2",
              .discount = 0.95,
              NADIR_GENERATE_USES(used)},
    .fill = fill,
};

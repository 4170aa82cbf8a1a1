/*
 * test_generate.c: the models that the generators make.
 *
 * The deterministic kinds are compared with numbers written down here, two of them once more through returns
 * that were computed elsewhere; the random ones with their seed, their distribution and pinned values.
 */
#include "support/support.h"

#include "support/generated.h"

#include <math.h>

/* One expected transition. */
typedef struct expectation {
    int state;
    int action;
    int successor;
    double probability;
} expectation;

/* The kernel holds the expected transitions, given for rows in order, and no others. */
static void assert_kernel(const nadir_model *model, const expectation *expected, size_t count)
{
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.nonzeros, count);
    for (size_t i = 0; i < count; i++) {
        const int64_t row = view.state_rows[expected[i].state] + expected[i].action;
        const double found = test_probability(model, row, expected[i].successor);
        if (found != expected[i].probability) {
            print_error("state %d, action %d, successor %d\n", expected[i].state, expected[i].action,
                        expected[i].successor);
        }
        assert_close(found, expected[i].probability, 0);
    }
}

static void assert_rewards(const nadir_model *model, const double *expected, int64_t count)
{
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.rows, count);
    for (int64_t row = 0; row < count; row++) {
        assert_close(view.rewards[row], expected[row], 1e-15);
    }
}

static void assert_uniform_start(const nadir_model_data *view)
{
    for (int64_t s = 0; s < view->states; s++) {
        assert_close(view->initial[s], 1.0 / (double)view->states, 1e-15);
    }
}

#define SIZE 16

/* Solves A x = b of order n by Gaussian elimination with row exchanges; A and b are overwritten. */
static void eliminate(int n, double A[SIZE][SIZE], double b[SIZE], double x[SIZE])
{
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++) {
            pivot = fabs(A[i][k]) > fabs(A[pivot][k]) ? i : pivot;
        }
        for (int j = 0; j < n; j++) {
            const double held = A[k][j];
            A[k][j] = A[pivot][j];
            A[pivot][j] = held;
        }
        const double held = b[k];
        b[k] = b[pivot];
        b[pivot] = held;
        for (int i = k + 1; i < n; i++) {
            const double factor = A[i][k] / A[k][k];
            for (int j = k; j < n; j++) {
                A[i][j] -= factor * A[k][j];
            }
            b[i] -= factor * b[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        x[k] = b[k];
        for (int j = k + 1; j < n; j++) {
            x[k] -= A[k][j] * x[j];
        }
        x[k] /= A[k][k];
    }
}

/* mu . (I - gamma P)^-1 R under the uniform policy. */
static double uniform_return(const nadir_model *model)
{
    const nadir_model_data view = test_view(model);
    const int n = (int)view.states;
    double A[SIZE][SIZE] = {{0}};
    double b[SIZE] = {0};
    double values[SIZE] = {0};
    for (int s = 0; s < n; s++) {
        const double share = 1.0 / (double)(view.state_rows[s + 1] - view.state_rows[s]);
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            b[s] += share * view.rewards[row];
            for (int t = 0; t < n; t++) {
                A[s][t] -= view.discount * share * test_probability(model, row, t);
            }
        }
        A[s][s] += 1;
    }
    eliminate(n, A, b, values);
    double sum = 0;
    for (int s = 0; s < n; s++) {
        sum += view.initial[s] * values[s];
    }
    return sum;
}

/* mu . v* by value iteration, long enough for gamma <= 0.95. */
static double best_return(const nadir_model *model)
{
    const nadir_model_data view = test_view(model);
    double values[SIZE] = {0};
    for (int sweep = 0; sweep < 2000; sweep++) {
        for (int64_t s = 0; s < view.states; s++) {
            double best = -INFINITY;
            for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
                double value = view.rewards[row];
                for (int64_t t = 0; t < view.states; t++) {
                    value += view.discount * test_probability(model, row, t) * values[t];
                }
                best = fmax(best, value);
            }
            values[s] = best;
        }
    }
    double sum = 0;
    for (int64_t s = 0; s < view.states; s++) {
        sum += view.initial[s] * values[s];
    }
    return sum;
}

static void riverswim_has_its_published_numbers(void **state)
{
    static const expectation expected[] = {
        {0, 0, 0, 1},   {0, 1, 0, 0.7}, {0, 1, 1, 0.3}, {1, 0, 0, 1},   {1, 1, 0, 0.1}, {1, 1, 1, 0.6},
        {1, 1, 2, 0.3}, {2, 0, 1, 1},   {2, 1, 1, 0.1}, {2, 1, 2, 0.6}, {2, 1, 3, 0.3}, {3, 0, 2, 1},
        {3, 1, 2, 0.1}, {3, 1, 3, 0.6}, {3, 1, 4, 0.3}, {4, 0, 3, 1},   {4, 1, 3, 0.1}, {4, 1, 4, 0.6},
        {4, 1, 5, 0.3}, {5, 0, 4, 1},   {5, 1, 4, 0.7}, {5, 1, 5, 0.3},
    };
    static const double rewards[] = {5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3000};
    nadir_context *context = *state;
    nadir_model *model = test_generate(context, "riverswim", NULL);
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.states, 6);
    assert_close(view.discount, 0.95, 0);
    assert_uniform_start(&view);
    assert_kernel(model, expected, sizeof expected / sizeof *expected);
    assert_rewards(model, rewards, 12);
    for (int64_t i = 0; i < view.nonzeros; i++) { /* staying at the right end pays, and resting at the left */
        const bool at_end = i == view.nonzeros - 1;
        assert_true(view.transition_rewards[i] == (i == 0 ? 5 : at_end ? 10000 : 0));
    }
    assert_string_equal(nadir_model_action_name(model, 10), "left");
    assert_string_equal(nadir_model_action_name(model, 11), "right");
    assert_close(uniform_return(model), 536.031320562, 1e-12);
    assert_close(best_return(model), 10577.7677937, 1e-11);
    nadir_model_free(model);
}

static void riverswim_of_two_states_has_both_ends(void **state)
{
    static const expectation expected[] = {{0, 0, 0, 1}, {0, 1, 0, 0.7}, {0, 1, 1, 0.3},
                                           {1, 0, 0, 1}, {1, 1, 0, 0.7}, {1, 1, 1, 0.3}};
    static const double rewards[] = {-1, 0, 0, 0.3 * 20};
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    settings.states = 2;
    settings.reward = 20;
    settings.small_reward = -1;
    settings.discount = 0;
    settings.seed = 5;
    nadir_model *model = test_generate(context, "riverswim", &settings);
    assert_kernel(model, expected, sizeof expected / sizeof *expected);
    assert_rewards(model, rewards, 4);
    assert_close(test_view(model).discount, 0, 0);
    nadir_model_free(model);
}

static void machine_has_its_published_numbers(void **state)
{
    static const expectation expected[] = {
        {0, 0, 0, 0.2}, {0, 0, 1, 0.8}, {0, 1, 1, 0.3}, {0, 1, 8, 0.1}, {0, 1, 9, 0.6}, /**/
        {1, 0, 1, 0.2}, {1, 0, 2, 0.8}, {1, 1, 2, 0.3}, {1, 1, 8, 0.1}, {1, 1, 9, 0.6}, /**/
        {2, 0, 2, 0.2}, {2, 0, 3, 0.8}, {2, 1, 3, 0.3}, {2, 1, 8, 0.1}, {2, 1, 9, 0.6}, /**/
        {3, 0, 3, 0.2}, {3, 0, 4, 0.8}, {3, 1, 4, 0.3}, {3, 1, 8, 0.1}, {3, 1, 9, 0.6}, /**/
        {4, 0, 4, 0.2}, {4, 0, 5, 0.8}, {4, 1, 5, 0.3}, {4, 1, 8, 0.1}, {4, 1, 9, 0.6}, /**/
        {5, 0, 5, 0.2}, {5, 0, 6, 0.8}, {5, 1, 6, 0.3}, {5, 1, 8, 0.1}, {5, 1, 9, 0.6}, /**/
        {6, 0, 6, 0.2}, {6, 0, 7, 0.8}, {6, 1, 7, 0.3}, {6, 1, 8, 0.1}, {6, 1, 9, 0.6}, /**/
        {7, 0, 7, 1},   {7, 1, 7, 0.3}, {7, 1, 8, 0.1}, {7, 1, 9, 0.6}, {8, 0, 8, 1},   /**/
        {8, 1, 8, 0.4}, {8, 1, 9, 0.6}, {9, 0, 0, 0.8}, {9, 0, 9, 0.2}, {9, 1, 9, 1},
    };
    static const double rewards[] = {0, -2.2, 0,   -2.2, 0,   -2.2, 0,   -2.2, 0,    -2.2,
                                     0, -2.2, -16, -8.2, -20, -8.2, -10, -5.2, -0.4, -2};
    nadir_context *context = *state;
    nadir_model *model = test_generate(context, "machine", NULL);
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.states, 10);
    assert_close(view.discount, 0.9, 0);
    assert_kernel(model, expected, sizeof expected / sizeof *expected);
    assert_rewards(model, rewards, 20);
    for (int64_t i = 0; i < view.nonzeros; i++) { /* paid where one lands */
        static const double g[] = {0, 0, 0, 0, 0, 0, 0, -20, -10, -2};
        assert_true(view.transition_rewards[i] == g[view.columns[i]]);
    }
    assert_string_equal(nadir_model_state_name(model, 7), "age7");
    assert_string_equal(nadir_model_state_name(model, 8), "long_repair");
    assert_string_equal(nadir_model_state_name(model, 9), "short_repair");
    assert_string_equal(nadir_model_action_name(model, 0), "wait");
    assert_string_equal(nadir_model_action_name(model, 1), "repair");
    assert_close(uniform_return(model), -27.7660212278, 1e-11);
    nadir_model_free(model);
}

static void machine_of_one_age_always_fails(void **state)
{
    static const expectation expected[] = {
        {0, 0, 0, 1},   {0, 1, 0, 0.3}, {0, 1, 1, 0.1}, {0, 1, 2, 0.6}, {1, 0, 1, 1},
        {1, 1, 1, 0.4}, {1, 1, 2, 0.6}, {2, 0, 0, 0.8}, {2, 0, 2, 0.2}, {2, 1, 2, 1},
    };
    static const double rewards[] = {-20, -8.2, -10, -5.2, -16.4, -2};
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    settings.states = 3;
    nadir_model *model = test_generate(context, "machine", &settings);
    assert_kernel(model, expected, sizeof expected / sizeof *expected);
    assert_rewards(model, rewards, 6);
    nadir_model_free(model);
}

static void forest_is_that_of_mdptoolbox(void **state)
{
    static const expectation expected[] = {{0, 0, 0, 0.1}, {0, 0, 1, 0.9}, {0, 1, 0, 1},
                                           {1, 0, 0, 0.1}, {1, 0, 2, 0.9}, {1, 1, 0, 1},
                                           {2, 0, 0, 0.1}, {2, 0, 2, 0.9}, {2, 1, 0, 1}};
    static const double rewards[] = {0, 0, 0, 1, 4, 2};
    nadir_context *context = *state;
    nadir_model *model = test_generate(context, "forest", NULL);
    assert_close(test_view(model).discount, 0.9, 0);
    assert_kernel(model, expected, sizeof expected / sizeof *expected);
    assert_rewards(model, rewards, 6);
    assert_string_equal(nadir_model_action_name(model, 4), "wait");
    assert_string_equal(nadir_model_action_name(model, 5), "cut");
    nadir_model_free(model);
}

static void forest_without_fire_only_ages(void **state)
{
    static const expectation expected[] = {{0, 0, 1, 1}, {0, 1, 0, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}};
    static const double rewards[] = {0, 0, 7, 3};
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    settings.states = 2;
    settings.slip = 0;
    settings.reward = 7;
    settings.small_reward = 3;
    nadir_model *model = test_generate(context, "forest", &settings);
    assert_kernel(model, expected, sizeof expected / sizeof *expected);
    assert_rewards(model, rewards, 4);
    nadir_model_free(model);
}

/* The table of Puterman's example 3.2.2. */
static void inventory_has_its_published_numbers(void **state)
{
    static const double levels[4][4] = {
        {1, 0, 0, 0}, {0.75, 0.25, 0, 0}, {0.25, 0.5, 0.25, 0}, {0, 0.25, 0.5, 0.25}};
    static const double rewards[] = {0, -1, -2, -5, 5, 0, -3, 6, -1, 5};
    nadir_context *context = *state;
    nadir_model *model = test_generate(context, "inventory", NULL);
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.states, 4);
    assert_close(view.discount, 0.95, 0);
    assert_rewards(model, rewards, 10);
    for (int64_t stock = 0; stock <= 3; stock++) {
        assert_int_equal(view.state_rows[stock + 1] - view.state_rows[stock], 4 - stock);
        for (int64_t order = 0; stock + order <= 3; order++) {
            for (int64_t t = 0; t < 4; t++) {
                assert_close(test_probability(model, view.state_rows[stock] + order, t),
                             levels[stock + order][t], 0);
            }
        }
    }
    nadir_model_free(model);
}

/* Large demands underflow at their ends and must still be a distribution; sales never exceed their mean. */
/* The first order sizes of the whole model, with the same rows and rewards. */
static void inventory_may_have_fewer_orders(void **state)
{
    enum { CAPACITY = 7, ACTIONS = 3 };
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    settings.capacity = CAPACITY;
    settings.demand = 4;
    nadir_model *whole = test_generate(context, "inventory", &settings);
    settings.actions = ACTIONS;
    nadir_model *some = test_generate(context, "inventory", &settings);
    const nadir_model_data all = test_view(whole);
    const nadir_model_data few = test_view(some);
    assert_int_equal(few.states, all.states);
    for (int64_t s = 0; s <= CAPACITY; s++) {
        const int64_t fit = CAPACITY - s + 1;
        assert_int_equal(few.state_rows[s + 1] - few.state_rows[s], fit < ACTIONS ? fit : ACTIONS);
        for (int64_t a = 0; a < few.state_rows[s + 1] - few.state_rows[s]; a++) {
            const int64_t row = few.state_rows[s] + a;
            const int64_t same = all.state_rows[s] + a;
            assert_close(few.rewards[row], all.rewards[same], 0);
            for (int64_t t = 0; t <= CAPACITY; t++) {
                assert_close(test_probability(some, row, t), test_probability(whole, same, t), 0);
            }
        }
    }
    nadir_model_free(whole);
    nadir_model_free(some);
}

static void inventory_bears_any_demand(void **state)
{
    nadir_context *context = *state;
    static const int64_t demands[] = {1, 3, 64, 1001, 5000};
    for (size_t i = 0; i < sizeof demands / sizeof *demands; i++) {
        nadir_generate_settings settings = test_generate_settings();
        settings.capacity = 70;
        settings.demand = demands[i];
        settings.price = 1;
        settings.setup_cost = 0;
        settings.unit_cost = 0;
        settings.holding_cost = 0;
        nadir_model *model = test_generate(context, "inventory", &settings);
        const nadir_model_data view = test_view(model);
        const double most = view.rewards[view.rows - 1];
        assert_close(most, demands[i] < 70 ? (double)demands[i] / 2 : 70, 1e-13);
        for (int64_t j = 0; view.probabilities != NULL && j < view.nonzeros; j++) {
            assert_true(view.probabilities[j] > 0 && view.probabilities[j] <= 1);
        }
        nadir_model_free(model);
    }
}

static void gridworld_moves_slip_and_stop_at_walls(void **state)
{
    /* Cells 0 1 2 / 3 4 5, the goal is 5; actions up, right, down, left. */
    static const expectation expected[] = {
        {0, 0, 0, 0.9}, {0, 0, 1, 0.1}, {0, 1, 0, 0.1}, {0, 1, 1, 0.8}, {0, 1, 3, 0.1}, {0, 2, 0, 0.1},
        {0, 2, 1, 0.1}, {0, 2, 3, 0.8}, {0, 3, 0, 0.9}, {0, 3, 3, 0.1}, {1, 0, 0, 0.1}, {1, 0, 1, 0.8},
        {1, 0, 2, 0.1}, {1, 1, 1, 0.1}, {1, 1, 2, 0.8}, {1, 1, 4, 0.1}, {1, 2, 0, 0.1}, {1, 2, 2, 0.1},
        {1, 2, 4, 0.8}, {1, 3, 0, 0.8}, {1, 3, 1, 0.1}, {1, 3, 4, 0.1}, {2, 0, 1, 0.1}, {2, 0, 2, 0.9},
        {2, 1, 2, 0.9}, {2, 1, 5, 0.1}, {2, 2, 1, 0.1}, {2, 2, 2, 0.1}, {2, 2, 5, 0.8}, {2, 3, 1, 0.8},
        {2, 3, 2, 0.1}, {2, 3, 5, 0.1}, {3, 0, 0, 0.8}, {3, 0, 3, 0.1}, {3, 0, 4, 0.1}, {3, 1, 0, 0.1},
        {3, 1, 3, 0.1}, {3, 1, 4, 0.8}, {3, 2, 3, 0.9}, {3, 2, 4, 0.1}, {3, 3, 0, 0.1}, {3, 3, 3, 0.9},
        {4, 0, 1, 0.8}, {4, 0, 3, 0.1}, {4, 0, 5, 0.1}, {4, 1, 1, 0.1}, {4, 1, 4, 0.1}, {4, 1, 5, 0.8},
        {4, 2, 3, 0.1}, {4, 2, 4, 0.8}, {4, 2, 5, 0.1}, {4, 3, 1, 0.1}, {4, 3, 3, 0.8}, {4, 3, 4, 0.1},
        {5, 0, 5, 1},   {5, 1, 5, 1},   {5, 2, 5, 1},   {5, 3, 5, 1},
    };
    static const double rewards[] = {0, 0, 0, 0, 0,   0,   0,   0, 0, 0.1, 0.8, 0.1,
                                     0, 0, 0, 0, 0.1, 0.8, 0.1, 0, 0, 0,   0,   0};
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    settings.width = 3;
    settings.height = 2;
    nadir_model *model = test_generate(context, "gridworld", &settings);
    assert_kernel(model, expected, sizeof expected / sizeof *expected);
    assert_rewards(model, rewards, 24);
    const nadir_model_data view = test_view(model);
    for (int64_t row = 0; row < 24;
         row++) { /* landing on the goal pays; it is never left, and then pays nothing */
        assert_true(view.scales[row] == (row < 20 ? 1 : 0));
        for (int64_t i = view.row_starts[row]; i < view.row_starts[row + 1]; i++) {
            assert_true(view.transition_rewards[i] == (row < 20 && view.columns[i] == 5 ? 1 : 0));
        }
    }
    assert_close(test_view(model).discount, 0.95, 0);
    assert_string_equal(nadir_model_state_name(model, 0), "r0c0");
    assert_string_equal(nadir_model_state_name(model, 5), "r1c2");
    assert_string_equal(nadir_model_action_name(model, 20), "up");
    assert_string_equal(nadir_model_action_name(model, 23), "left");
    nadir_model_free(model);
}

static void gridworld_of_one_cell_is_its_goal(void **state)
{
    static const expectation expected[] = {{0, 0, 0, 1}, {0, 1, 0, 1}, {0, 2, 0, 1}, {0, 3, 0, 1}};
    static const double rewards[4] = {0};
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    settings.width = 1;
    settings.height = 1;
    nadir_model *model = test_generate(context, "gridworld", &settings);
    assert_kernel(model, expected, 4);
    assert_rewards(model, rewards, 4);
    nadir_model_free(model);
}

/* A corridor of three cells: sideways are walls. With slip 1 nothing goes where it was meant to. */
static void gridworld_takes_the_ends_of_slip(void **state)
{
    static const expectation firm[] = {
        {0, 0, 0, 1}, {0, 1, 1, 1}, {0, 2, 0, 1}, {0, 3, 0, 1}, {1, 0, 1, 1}, {1, 1, 2, 1},
        {1, 2, 1, 1}, {1, 3, 0, 1}, {2, 0, 2, 1}, {2, 1, 2, 1}, {2, 2, 2, 1}, {2, 3, 2, 1},
    };
    static const expectation astray[] = {
        {0, 0, 0, 0.5}, {0, 0, 1, 0.5}, {0, 1, 0, 1}, {0, 2, 0, 0.5}, {0, 2, 1, 0.5}, {0, 3, 0, 1},
        {1, 0, 0, 0.5}, {1, 0, 2, 0.5}, {1, 1, 1, 1}, {1, 2, 0, 0.5}, {1, 2, 2, 0.5}, {1, 3, 1, 1},
        {2, 0, 2, 1},   {2, 1, 2, 1},   {2, 2, 2, 1}, {2, 3, 2, 1},
    };
    static const double firm_rewards[] = {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    static const double astray_rewards[] = {0, 0, 0, 0, -1, 0, -1, 0, 0, 0, 0, 0};
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    settings.width = 3;
    settings.height = 1;
    settings.slip = 0;
    nadir_model *model = test_generate(context, "gridworld", &settings);
    assert_kernel(model, firm, sizeof firm / sizeof *firm);
    assert_rewards(model, firm_rewards, 12);
    nadir_model_free(model);
    settings.slip = 1;
    settings.reward = -2;
    model = test_generate(context, "gridworld", &settings);
    assert_kernel(model, astray, sizeof astray / sizeof *astray);
    assert_rewards(model, astray_rewards, 12);
    nadir_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(riverswim_has_its_published_numbers),
        test_with_context(riverswim_of_two_states_has_both_ends),
        test_with_context(machine_has_its_published_numbers),
        test_with_context(machine_of_one_age_always_fails),
        test_with_context(forest_is_that_of_mdptoolbox),
        test_with_context(forest_without_fire_only_ages),
        test_with_context(inventory_has_its_published_numbers),
        test_with_context(inventory_may_have_fewer_orders),
        test_with_context(inventory_bears_any_demand),
        test_with_context(gridworld_moves_slip_and_stop_at_walls),
        test_with_context(gridworld_of_one_cell_is_its_goal),
        test_with_context(gridworld_takes_the_ends_of_slip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

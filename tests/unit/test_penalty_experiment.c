/*
 * What the experiment `penalty` of nadir reproduce computes: its problems, the exact penalty that methods are
 * held against, what counts within a budget, and the mean and range over seeds.
 */
#include "support/support.h"

#include "support/free_reference.h"
#include "support/problem.h"
#include "support/scarce.h"

#include "experiments/penalty.h"

#include <math.h>
#include <string.h>

enum { SEED = 42, RANDOM_KERNELS = 4 };

/* The policy is np.random.seed(42); np.random.rand(S, 8), rows divided by their sums; the model is that of
 * the generator. */
static void test_problems_are_those_of_the_paper(void **state)
{
    static const double rand_42[EXPERIMENT_ACTIONS] = {
        0.3745401188473625,  0.9507143064099162,  0.7319939418114051,  0.5986584841970366,
        0.15601864044243652, 0.15599452033620265, 0.05808361216819946, 0.8661761457749352};
    nadir_context *context = *state;
    experiment_instance instance;
    nadir_model *model = NULL;
    double sum = 0;
    nadir_generate_settings settings = test_generate_settings();
    settings.states = 5;
    settings.actions = EXPERIMENT_ACTIONS;
    settings.discount = 0.9;
    settings.seed = SEED;
    assert_ok(context, nadir_model_generate(context, "random", &settings, &model));
    assert_ok(context, experiment_instance_open(context, 5, SEED, &instance));
    assert_models_equal(instance.model, model, 0);
    const double *policy = nadir_policy_probabilities(instance.solver->policy);
    for (int a = 0; a < EXPERIMENT_ACTIONS; a++) {
        sum += rand_42[a];
    }
    for (int a = 0; a < EXPERIMENT_ACTIONS; a++) {
        assert_close(policy[a], rand_42[a] / sum, 1e-15);
    }
    experiment_instance_close(&instance);
    nadir_model_free(model);
}

/* The reference line: against a dense search for the fixed point in long double. */
static void test_the_exact_penalty(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < test_often(10); i++) {
        const double radius = penalty_radii[i % PENALTY_RADII];
        const int64_t states = penalty_sizes[i % 2];
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
        experiment_instance instance;
        nadir_model *model = NULL;
        nadir_policy *policy = NULL;
        nadir_model_data data = test_model_data();
        test_note("seed %d, %d states, radius %g", SEED + i, (int)states, radius);
        assert_ok(context, experiment_instance_open(context, states, SEED + (uint64_t)i, &instance));
        assert_ok(context, experiment_instance_set_radius(&instance, radius));
        assert_true(instance.exact.certified);
        nadir_model_view(instance.model, &data);
        assert_ok(context, nadir_model_create(context, &data, &model));
        assert_ok(context, nadir_policy_create(context, model,
                                               nadir_policy_probabilities(instance.solver->policy), &policy));
        test_problem problem = test_problem_make(context, model, policy, &ball, NULL, 1);
        test_free reference = test_free_make(test_problem_view(&problem));
        const double expected = test_free_penalty(&reference, radius);
        assert_close(instance.exact.penalty / expected, 1, 1e-10);
        test_free_clear(&reference);
        test_problem_clear(&problem);
        experiment_instance_close(&instance);
    }
}

/* What counts is what was known when the time was over, not what came after it. */
static void test_what_was_known_when(void **state)
{
    (void)state;
    nadir_trajectory_point points[] = {{0.1, 1, 3}, {0.2, 4, 5}, {0.7, 9, 8}};
    const experiment_found found = {.points = points, .count = 3};
    const experiment_found none = {0};
    assert_true(experiment_found_at(&found, 0.05).value == 0);
    assert_true(experiment_found_at(&found, 0.1).value == 3);
    assert_true(experiment_found_at(&found, 0.5).value == 5);
    assert_int_equal(experiment_found_at(&found, 0.5).samples, 4);
    assert_true(experiment_found_at(&found, INFINITY).value == 8);
    assert_true(experiment_found_at(&none, INFINITY).value == 0);
}

/* With a time as its budget a method has no other end than its own. */
static void test_time_is_a_budget(void **state)
{
    nadir_context *context = *state;
    experiment_instance instance;
    penalty_found found;
    assert_ok(context, experiment_instance_open(context, 4, SEED, &instance));
    assert_ok(context, experiment_instance_set_radius(&instance, 0.01));
    for (int method = 0; method < PENALTY_METHODS; method++) {
        test_note("%s", penalty_methods[method].name);
        assert_ok(context, penalty_measure(&instance, &penalty_methods[method], 1e-9, &found));
        assert_true(found.value == 0 && found.share == 0);
    }
    test_note_clear();
    assert_ok(context, penalty_measure(&instance, &penalty_methods[RANDOM_KERNELS], 0.02, &found));
    assert_string_equal(found.stop_reason, "time");
    assert_that(found.seconds >= 0.02, "%g s", found.seconds);
    assert_ok(context, penalty_measure(&instance, &penalty_methods[RANDOM_KERNELS], INFINITY, &found));
    assert_string_equal(found.stop_reason, "samples");
    assert_int_equal(found.samples, penalty_methods[RANDOM_KERNELS].samples);
    experiment_instance_close(&instance);
}

static void test_spread(void **state)
{
    (void)state;
    penalty_spread spread = {0};
    penalty_spread_add(&spread, -3);
    assert_true(spread.least == -3 && spread.most == -3 && penalty_spread_mean(&spread) == -3);
    penalty_spread_add(&spread, -5);
    penalty_spread_add(&spread, 2);
    assert_true(spread.least == -5 && spread.most == 2 && penalty_spread_mean(&spread) == -2);
}

/* Fills a cell from `seeds` problems; found: [seeds * PENALTY_METHODS]. */
static void fill_cell(nadir_context *context, int seeds, penalty_cell *cell, penalty_found *found)
{
    *cell = (penalty_cell){0};
    for (int i = 0; i < seeds; i++) {
        experiment_instance instance;
        assert_ok(context, experiment_instance_open(context, 4, SEED + (uint64_t)i, &instance));
        assert_ok(context, experiment_instance_set_radius(&instance, 0.02));
        assert_ok(context, penalty_cell_add(&instance, INFINITY, cell, found + i * PENALTY_METHODS));
        experiment_instance_close(&instance);
    }
}

/* Nobody finds more than there is, Algorithm 1 finds it all, means and ranges are those of the seeds, and the
 * same seeds give the same numbers. */
static void test_cells(void **state)
{
    enum { SEEDS = 3 };
    nadir_context *context = *state;
    penalty_found found[SEEDS * PENALTY_METHODS];
    penalty_found again[SEEDS * PENALTY_METHODS];
    penalty_cell cell;
    penalty_cell cell_again;
    fill_cell(context, SEEDS, &cell, found);
    assert_false(cell.uncertified);
    assert_int_equal(cell.exact.count, SEEDS);
    for (int method = 0; method < PENALTY_METHODS; method++) {
        double sum = 0;
        double least = INFINITY;
        double most = 0;
        int nothing = 0;
        test_note("%s", penalty_methods[method].name);
        for (int i = 0; i < SEEDS; i++) {
            const penalty_found *one = &found[i * PENALTY_METHODS + method];
            assert_that(one->share >= 0 && one->share <= 1 + 1e-12, "share %.17g", one->share);
            assert_that(one->value >= cell.exact.least * one->share * (1 - 1e-12) &&
                            one->value <= cell.exact.most * one->share * (1 + 1e-12),
                        "value %.17g", one->value);
            sum += one->share;
            least = fmin(least, one->share);
            most = fmax(most, one->share);
            nothing += one->share < 0.01;
        }
        assert_close(penalty_spread_mean(&cell.share[method]), sum / SEEDS, 1e-15);
        assert_true(cell.share[method].least == least && cell.share[method].most == most);
        assert_int_equal(cell.nothing[method], nothing);
    }
    test_note_clear();
    assert_that(cell.share[0].least > 1 - 1e-8, "Algorithm 1 found %.17g", cell.share[0].least);
    assert_that(cell.share[3].least > cell.share[RANDOM_KERNELS].most, "rank-one kernels are no better");
    fill_cell(context, SEEDS, &cell_again, again);
    for (int i = 0; i < SEEDS * PENALTY_METHODS; i++) {
        assert_true(again[i].value == found[i].value && again[i].samples == found[i].samples);
    }
}

static nadir_status measure_once(nadir_context *context, const void *of)
{
    experiment_instance instance;
    const double *radius = of;
    nadir_status status = experiment_instance_open(context, 2, SEED, &instance);
    if (status == NADIR_OK) {
        status = experiment_instance_set_radius(&instance, *radius);
    }
    for (int method = 0; method < PENALTY_METHODS && status == NADIR_OK; method++) {
        const penalty_method few = {penalty_methods[method].name, 3};
        penalty_found found;
        status = penalty_measure(&instance, &few, INFINITY, &found);
    }
    experiment_instance_close(&instance);
    return status;
}

static void test_memory_may_run_out(void **state)
{
    (void)state;
    const double radius = 0.01;
    test_run_out(measure_once, &radius, NULL, "penalties");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_problems_are_those_of_the_paper),
        test_with_context(test_the_exact_penalty),
        cmocka_unit_test(test_what_was_known_when),
        test_with_context(test_time_is_a_budget),
        cmocka_unit_test(test_spread),
        test_with_context(test_cells),
        cmocka_unit_test(test_memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

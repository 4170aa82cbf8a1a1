/* test_facts.c: what can be said of a model before anything is solved, and its valid radius. */
#include "support/support.h"

#include "core/random.h"
#include "support/small_model.h"

#include <math.h>

static void test_facts(void **state)
{
    nadir_context *context = *state;
    test_small_model small;
    test_small_set(&small);
    nadir_model *model = test_small_accept(context, &small);
    nadir_model_facts facts;
    nadir_model_facts_default(&facts);
    assert_ok(context, nadir_model_facts_compute(context, model, &facts));
    assert_int_equal(facts.states, 2);
    assert_int_equal(facts.nonzeros, 4);
    assert_true(facts.density == 1 && facts.reward_min == 1 && facts.reward_max == 2);
    assert_int_equal(facts.unreachable_states, 0);
    assert_int_equal(facts.actions_max, 1);
    assert_int_equal(facts.bytes, 8 * (3 + 2 + 4 + 2)); /* state_rows, mu, P (dense) and rewards */
    nadir_model_free(model);

    test_small_set(&small); /* 0 -> 0 for ever, 1 -> 0; start in 0: 1 is never seen */
    small.probabilities[0] = 1;
    small.probabilities[1] = 0;
    small.probabilities[2] = 1;
    small.probabilities[3] = 0;
    small.rewards[0] = 0;
    small.scales[0] = 0;
    small.initial[0] = 1;
    small.initial[1] = 0;
    model = test_small_accept(context, &small);
    assert_ok(context, nadir_model_facts_compute(context, model, &facts));
    assert_int_equal(facts.unreachable_states, 1);
    assert_int_equal(facts.terminal_states, 1);
    assert_int_equal(facts.absorbing_states, 1);
    assert_int_equal(facts.pinned_rows, 1);
    assert_true(facts.valid_radius == 0);
    assert_int_equal(facts.bytes, 8 * (3 + 2 + 4 + 2 + 2)); /* and scales */
    nadir_model_free(model);
}

/* The definition, for a uniform row: no zero-sum change of that p-norm makes an entry negative (random
 * changes), and one makes an entry zero (all of one entry taken, spread evenly over the others). */
static void test_valid_radius_is_tight(void **state)
{
    enum { S = 5, TRIALS = 3000, SEED = 4 };
    static const int64_t state_rows[] = {0, 1, 2, 3, 4, 5};
    double dense[S * S];
    for (int i = 0; i < S * S; i++) {
        dense[i] = 1.0 / S;
    }
    nadir_context *context = *state;
    nadir_model_data data = test_model_data();
    data.states = S;
    data.rows = S;
    data.state_rows = state_rows;
    data.dense = dense;
    nadir_model *model = test_create_model(context, &data);
    nadir_random random = test_random(SEED);
    const double norms[] = {1, 1.3, 2, 4, INFINITY};
    for (size_t n = 0; n < sizeof norms / sizeof *norms; n++) {
        const double p = norms[n];
        double radius;
        assert_ok(context, nadir_model_valid_radius(context, model, p, &radius));
        for (int trial = 0; trial < TRIALS; trial++) {
            double change[S] = {-1, 0.25, 0.25, 0.25, 0.25};
            double mean = 0;
            for (int i = 0; i < S && trial > 0; i++) {
                change[i] = nadir_random_normal(&random);
                mean += change[i] / S;
            }
            double largest = 0;
            double smallest = 0;
            double sum = 0;
            for (int i = 0; i < S; i++) {
                change[i] -= mean;
                largest = fmax(largest, fabs(change[i]));
                smallest = fmin(smallest, change[i]);
                sum += isinf(p) ? 0 : pow(fabs(change[i]), p);
            }
            const double norm = isinf(p) ? largest : pow(sum, 1 / p);
            const double left = 1.0 / S + radius * smallest / norm;
            if (left < -1e-12 || (trial == 0 && left > 1e-12)) {
                fail_msg("seed %d, norm %g, trial %d: an entry of %g", SEED, p, trial, left);
            }
        }
    }
    nadir_model_free(model);
}

static void test_valid_radius(void **state)
{
    nadir_context *context = *state;
    test_small_model small;
    test_small_set(&small);
    small.scales[0] = 2;
    nadir_model *model = test_small_accept(context, &small);
    double radius;
    /* S = 2: a change is (-x, x), of norm x 2^(1/p): row 0 reaches 0.25 2^(1/p) / 2, row 1 reaches more. */
    const double norms[] = {1, 1.0000001, 1.5, 2, 3, 1e9, INFINITY};
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
        assert_ok(context, nadir_model_valid_radius(context, model, norms[i], &radius));
        assert_close(radius, 0.125 * pow(2, 1 / norms[i]), 1e-12);
    }
    assert_fails(context, nadir_model_valid_radius(context, model, 0.5, &radius), NADIR_ERROR_ARGUMENT,
                 "0.5");
    assert_fails(context, nadir_model_valid_radius(context, model, NAN, &radius), NADIR_ERROR_ARGUMENT,
                 "nan");
    nadir_model_free(model);

    test_small_set(&small);
    small.scales[0] = 0;
    small.scales[1] = 0; /* nothing may move */
    model = test_small_accept(context, &small);
    assert_ok(context, nadir_model_valid_radius(context, model, 2, &radius));
    assert_true(isinf(radius));
    nadir_model_free(model);
}

static void test_one_state(void **state)
{
    static const int64_t state_rows[] = {0, 1};
    static const double dense[] = {1};
    nadir_context *context = *state;
    nadir_model_data data = test_model_data();
    data.states = 1;
    data.rows = 1;
    data.state_rows = state_rows;
    data.dense = dense;
    nadir_model *model = test_create_model(context, &data);
    nadir_model_facts facts;
    nadir_model_facts_default(&facts);
    assert_ok(context, nadir_model_facts_compute(context, model, &facts));
    assert_true(isinf(facts.valid_radius) && isnan(facts.reward_min) && isnan(facts.discount));
    nadir_model_free(model);
}

/* Through many steps, in one direction. */
static void test_reach(void **state)
{
    enum { S = 6 };
    static const int64_t row_starts[] = {0, 1, 2, 3, 4, 5, 6};
    static const int32_t columns[] = {0, 0, 1, 2, 3, 4}; /* s -> s - 1 */
    static const double probabilities[] = {1, 1, 1, 1, 1, 1};
    nadir_context *context = *state;
    nadir_model_data data = test_model_data();
    data.states = S;
    data.rows = S;
    data.state_rows = row_starts;
    data.row_starts = row_starts;
    data.columns = columns;
    data.probabilities = probabilities;
    for (int64_t start = 0; start < S; start++) {
        double initial[S] = {0};
        initial[start] = 1;
        data.initial = initial;
        nadir_model_facts facts;
        nadir_model_facts_default(&facts);
        nadir_model *model = test_create_model(context, &data);
        assert_ok(context, nadir_model_facts_compute(context, model, &facts));
        assert_int_equal(facts.unreachable_states, S - 1 - start);
        assert_int_equal(facts.absorbing_states, 1);
        assert_int_equal(facts.terminal_states, 0);
        nadir_model_free(model);
    }
}

/* A caller compiled against a shorter struct gets what fits into it; one that forgot the size is told. */
static void test_facts_of_another_size(void **state)
{
    nadir_context *context = *state;
    test_small_model small;
    test_small_set(&small);
    nadir_model *model = test_small_accept(context, &small);
    nadir_model_facts facts;
    nadir_model_facts_default(&facts);
    facts.size = offsetof(nadir_model_facts, rows);
    facts.rows = -7;
    assert_ok(context, nadir_model_facts_compute(context, model, &facts));
    assert_int_equal(facts.size, offsetof(nadir_model_facts, rows));
    assert_int_equal(facts.states, 2);
    assert_int_equal(facts.rows, -7);
    const size_t wrong[] = {0, sizeof facts + 8};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        facts.size = wrong[i];
        assert_fails(context, nadir_model_facts_compute(context, model, &facts), NADIR_ERROR_ARGUMENT,
                     "the size of the model facts is not set");
    }
    nadir_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_facts),
        test_with_context(test_reach),
        test_with_context(test_facts_of_another_size),
        test_with_context(test_valid_radius),
        test_with_context(test_valid_radius_is_tight),
        test_with_context(test_one_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

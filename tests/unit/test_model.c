/* test_model.c: what a model accepts, repairs and refuses, and what can be asked of it. */
#include "support/support.h"

#include "linalg/vector.h"
#include "model/model.h"
#include "support/small_model.h"

#include <float.h>
#include <math.h>
#include <string.h>

static void refuse(const test_small_model *small, const char *words)
{
    nadir_context *context = test_context();
    nadir_model *model = NULL;
    assert_fails(context, nadir_model_create(context, &small->data, &model), NADIR_ERROR_MODEL, words);
    assert_null(model);
    nadir_context_free(context);
}

static void test_numbers_that_are_refused(void **state)
{
    (void)state;
    test_small_model small;
    const struct {
        double *place;
        double value;
        const char *words;
    } cases[] = {
        {&small.probabilities[1], -0.1, "state 0, action 0: the probability of successor 1 is -0.1"},
        {&small.probabilities[2], NAN, "state 1, action 0: the probability of successor 0 is nan"},
        {&small.probabilities[2], INFINITY, "the probability of successor 0 is inf"},
        {&small.probabilities[3], 0.4, "state 1, action 0: probabilities sum to 0.9; expected 1"},
        {&small.probabilities[3], 0.50002, "probabilities sum to 1.00002"},
        {&small.rewards[1], NAN, "state 1, action 0: the reward is nan"},
        {&small.rewards[0], -INFINITY, "state 0, action 0: the reward is -inf"},
        {&small.initial[1], -1, "the initial probability of state 1 is -1"},
        {&small.initial[1], 0.6, "the initial distribution sums to 1.1"},
        {&small.scales[0], -2, "state 0, action 0: the scale is -2"},
        {&small.scales[0], INFINITY, "the scale is inf"},
        {&small.data.discount, 1.5, "the discount is 1.5; expected 0 <= discount <= 1"},
        {&small.data.discount, -0.1, "the discount is -0.1"},
        {&small.data.norm, 0.5, "the norm is 0.5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_small_set(&small);
        *cases[i].place = cases[i].value;
        refuse(&small, cases[i].words);
    }
}

static void test_shapes_that_are_refused(void **state)
{
    (void)state;
    test_small_model small;
    test_small_set(&small);
    small.columns[1] = 2;
    refuse(&small, "state 0, action 0: successor 2 is not a state; states are 0 to 1");
    test_small_set(&small);
    small.columns[3] = -1;
    refuse(&small, "successor -1");
    test_small_set(&small);
    small.state_rows[1] = 2;
    refuse(&small, "state 1 begins with row 2 and ends before row 2; expected at least one row, of 2");
    test_small_set(&small);
    const int64_t falling[] = {0, 1, INT64_MIN, 3};
    const int64_t row_starts[] = {0, 1, 2, 3};
    small.data.states = 3;
    small.data.rows = 3;
    small.data.state_rows = falling;
    small.data.row_starts = row_starts;
    small.data.rewards = small.data.initial = small.data.scales = NULL;
    refuse(&small, "state 1 begins with row 1 and ends before row -9223372036854775808");
    test_small_set(&small);
    small.row_starts[1] = 5;
    refuse(&small, "row 1 ends before it starts");
    test_small_set(&small);
    small.row_starts[1] = 0;
    refuse(&small, "state 0, action 0: probabilities sum to 0");
    test_small_set(&small);
    const double radius[] = {1, 2, 3};
    small.data.radius = radius;
    small.data.radius_count = 3;
    refuse(&small, "3 radii; expected one, one for each of 2 states or of 2 rows");
    test_small_set(&small);
    const int32_t actions[] = {-1, 0};
    small.data.row_actions = actions;
    refuse(&small, "action numbers must be 0 or more");
}

static void test_arguments_that_are_refused(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = NULL;
    test_small_model small;
    test_small_set(&small);
    small.data.size = 3;
    assert_fails(context, nadir_model_create(context, &small.data, &model), NADIR_ERROR_ARGUMENT, "size");
    test_small_set(&small);
    small.data.dense = small.probabilities;
    assert_fails(context, nadir_model_create(context, &small.data, &model), NADIR_ERROR_ARGUMENT,
                 "either a dense or a sparse kernel");
    test_small_set(&small);
    small.data.columns = NULL;
    assert_fails(context, nadir_model_create(context, &small.data, &model), NADIR_ERROR_ARGUMENT, "kernel");
    test_small_set(&small);
    small.data.states = 0;
    assert_fails(context, nadir_model_create(context, &small.data, &model), NADIR_ERROR_ARGUMENT, "0 states");
    test_small_set(&small);
    small.data.rows = INT64_MAX;
    assert_fails(context, nadir_model_create(context, &small.data, &model), NADIR_ERROR_ARGUMENT, "no model");
    nadir_model_free(NULL);
}

static void test_rounding_keeps_bits_and_more_is_normalised(void **state)
{
    nadir_context *context = *state;
    test_small_model small;
    test_small_set(&small);
    small.probabilities[0] = 0.1;
    small.probabilities[1] = 0.9 + DBL_EPSILON;
    nadir_model *model = test_small_accept(context, &small);
    assert_true(test_probability(model, 0, 1) == 0.9 + DBL_EPSILON);
    assert_string_equal(test_messages(), "");
    nadir_model_free(model);

    small.probabilities[1] = 0.9 + 8e-12;
    model = test_small_accept(context, &small);
    assert_non_null(strstr(test_messages(), "sum 1.000000000008"));
    nadir_model_free(model);

    small.probabilities[1] = 0.9000001;
    model = test_small_accept(context, &small);
    assert_close(test_probability(model, 0, 1), 0.9000001 / 1.0000001, 1e-15);
    assert_non_null(strstr(test_messages(), "1 row was normalised; the farthest from 1: state 0, action 0"));
    nadir_model_free(model);

    /* Of several, the one that is off most, wherever it stands. */
    test_messages_clear();
    small.probabilities[3] = 0.5000002;
    nadir_model_free(test_small_accept(context, &small));
    small.probabilities[3] = 0.50000001;
    nadir_model_free(test_small_accept(context, &small));
    assert_string_equal(
        test_messages(),
        "model: 2 rows were normalised; the farthest from 1: state 1, action 0, sum 1.0000002\n"
        "model: 2 rows were normalised; the farthest from 1: state 0, action 0, sum 1.0000001\n");
}

/* 1e-5, to the percent. */
static void test_tolerance_of_sums(void **state)
{
    nadir_context *context = *state;
    test_small_model small;
    test_small_set(&small);
    small.probabilities[1] = 0.75 + 0.99e-5;
    nadir_model_free(test_small_accept(context, &small));
    small.probabilities[1] = 0.75 - 0.99e-5;
    nadir_model_free(test_small_accept(context, &small));
    small.probabilities[1] = 0.75 + 1.01e-5;
    refuse(&small, "state 0, action 0: probabilities sum to 1.0000101; expected 1 (within 1e-5)");
    small.probabilities[1] = 0.75 - 1.01e-5;
    refuse(&small, "state 0, action 0: probabilities sum to 0.9999899; expected 1 (within 1e-5)");
}

static void test_duplicates_zeros_and_order(void **state)
{
    static const int64_t state_rows[] = {0, 1, 2, 3, 4};
    static const int64_t row_starts[] = {0, 4, 5, 6, 8};
    static const int32_t columns[] = {3, 0, 3, 1, 1, 2, 3, 0};
    static const double probabilities[] = {0.25, 0.5, 0.25, 0, 1, 1, 1, 0};
    static const double rewards[] = {4, 10, 8, NAN, 7, -1, 3, NAN}; /* NaN: not given, probability 0 */
    nadir_context *context = *state;
    nadir_model_data data = test_model_data();
    data.states = 4;
    data.rows = 4;
    data.state_rows = state_rows;
    data.row_starts = row_starts;
    data.columns = columns;
    data.probabilities = probabilities;
    data.transition_rewards = rewards;
    nadir_model *model = test_create_model(context, &data);
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.nonzeros, 5);
    assert_true(test_probability(model, 0, 0) == 0.5 && test_probability(model, 0, 3) == 0.5);
    assert_true(view.rewards[0] == 8 && view.rewards[1] == 7 && view.rewards[3] == 3);
    assert_non_null(view.transition_rewards);
    for (int64_t i = view.row_starts[0]; i < view.row_starts[1]; i++) {
        assert_true(view.transition_rewards[i] == (view.columns[i] == 3 ? 6 : 10));
    }
    nadir_model_free(model);
}

/* Equal rewards on all transitions of a row: their mean is that number to the bit, and nothing is kept. */
/* In the order given: 0.1 + 0.2 + 0.3 has other bits than 0.3 + 0.2 + 0.1. */
static void test_duplicates_add_up_in_order(void **state)
{
    static const int64_t row_starts[] = {0, 4, 5};
    static const int32_t columns[] = {1, 1, 0, 1, 0};
    static const double probabilities[] = {0.1, 0.2, 0.4, 0.3, 1};
    nadir_context *context = *state;
    test_small_model small;
    test_small_set(&small);
    small.data.row_starts = row_starts;
    small.data.columns = columns;
    small.data.probabilities = probabilities;
    nadir_model *model = test_small_accept(context, &small);
    assert_true(0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1);
    assert_true(test_probability(model, 0, 1) == 0.1 + 0.2 + 0.3);
    nadir_model_free(model);
}

/* Action numbers and scales that say nothing are not kept. */
static void test_plain_arrays_are_dropped(void **state)
{
    static const int32_t plain[] = {0, 0};
    static const int32_t gaps[] = {0, 1};
    nadir_context *context = *state;
    test_small_model small;
    nadir_model_data view = test_model_data();
    test_small_set(&small);
    small.data.row_actions = plain;
    nadir_model *model = test_small_accept(context, &small);
    nadir_model_view(model, &view);
    assert_null(view.row_actions);
    assert_null(view.scales);
    nadir_model_free(model);
    small.data.row_actions = gaps;
    small.scales[1] = 2;
    model = test_small_accept(context, &small);
    nadir_model_view(model, &view);
    assert_int_equal(view.row_actions[1], 1);
    assert_true(view.scales[0] == 1 && view.scales[1] == 2);
    nadir_model_free(model);
}

static void test_equal_transition_rewards_are_exact(void **state)
{
    nadir_context *context = *state;
    test_small_model small;
    test_small_set(&small);
    const double rewards[] = {0.1, 0.1, -1e9 / 3, -1e9 / 3};
    small.probabilities[0] = 1.0 / 3;
    small.probabilities[1] = 2.0 / 3;
    small.data.transition_rewards = rewards;
    nadir_model *model = test_small_accept(context, &small);
    const nadir_model_data view = test_view(model);
    assert_true(view.rewards[0] == 0.1 && view.rewards[1] == -1e9 / 3);
    assert_null(view.transition_rewards);
    nadir_model_free(model);
}

static void test_view_makes_the_same_model_again(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    const nadir_model_data view = test_view(model);
    nadir_model *again = test_create_model(context, &view);
    assert_models_equal(model, again, TEST_IGNORE_NAMES);
    nadir_model_free(model);
    nadir_model_free(again);
}

/* Sparse below a quarter, dense from a half on, and the digest does not see the difference. */
static void test_storage_follows_density(void **state)
{
    enum { S = 8 };
    nadir_context *context = *state;
    for (int filled = 1; filled <= S; filled++) {
        int64_t state_rows[S + 1];
        int64_t row_starts[S + 1];
        int32_t columns[S * S];
        double probabilities[S * S];
        double dense[S * S] = {0};
        double rewards[S * S] = {0};
        double dense_rewards[S * S];
        int64_t count = 0;
        for (int i = 0; i < S * S; i++) {
            dense_rewards[i] = NAN;
        }
        for (int s = 0; s < S; s++) {
            state_rows[s] = s;
            row_starts[s] = count;
            for (int i = 0; i < filled; i++, count++) {
                columns[count] = (s + i) % S;
                probabilities[count] = 1.0 / filled;
                rewards[count] = s + 0.1 * i;
                dense[s * S + columns[count]] = probabilities[count];
                dense_rewards[s * S + columns[count]] = rewards[count];
            }
        }
        state_rows[S] = S;
        row_starts[S] = count;
        nadir_model_data data = test_model_data();
        data.states = S;
        data.rows = S;
        data.state_rows = state_rows;
        nadir_model_data sparse_data = data;
        sparse_data.row_starts = row_starts;
        sparse_data.columns = columns;
        sparse_data.probabilities = probabilities;
        sparse_data.transition_rewards = rewards;
        data.dense = dense;
        data.transition_rewards = dense_rewards;
        nadir_model *from_dense = test_create_model(context, &data);
        nadir_model *from_sparse = test_create_model(context, &sparse_data);
        assert_true((from_dense->dense != NULL) == (filled >= 2));
        assert_true((from_sparse->dense != NULL) == (filled >= 4));
        assert_models_equal(from_dense, from_sparse, 0);
        char one[65];
        char other[65];
        assert_ok(context, nadir_model_digest(context, from_dense, one));
        assert_ok(context, nadir_model_digest(context, from_sparse, other));
        assert_string_equal(one, other);
        nadir_model_free(from_dense);
        nadir_model_free(from_sparse);
    }
}

static void digest_of(const test_small_model *small, char digest[65])
{
    nadir_context *context = test_context();
    nadir_model *model = test_small_accept(context, small);
    assert_ok(context, nadir_model_digest(context, model, digest));
    nadir_model_free(model);
    nadir_context_free(context);
}

static void test_digest_sees_every_number(void **state)
{
    (void)state;
    test_small_model small;
    char base[65];
    char digest[65];
    test_small_set(&small);
    digest_of(&small, base);
    double *const places[] = {&small.probabilities[2], &small.initial[0], &small.rewards[0], &small.scales[1],
                              &small.data.discount};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        test_small_set(&small);
        *places[i] = nextafter(*places[i], 0);
        digest_of(&small, digest);
        assert_string_not_equal(digest, base);
    }
    test_small_set(&small);
    small.probabilities[2] = small.probabilities[3] = 0; /* the same row, at another place */
    small.columns[2] = small.columns[3] = 0;
    small.probabilities[2] = 1;
    digest_of(&small, base);
    small.columns[2] = 1;
    digest_of(&small, digest);
    assert_string_not_equal(digest, base);
}

static void test_digest_knows_one_zero(void **state)
{
    (void)state;
    test_small_model small;
    char base[65];
    char digest[65];
    test_small_set(&small);
    small.rewards[1] = 0.0;
    digest_of(&small, base);
    small.rewards[1] = -0.0;
    digest_of(&small, digest);
    assert_string_equal(digest, base);
}

static void test_places_and_rows(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    char place[NADIR_LABEL_LENGTH];
    assert_string_equal(nadir_model_label(model, 2, 5, place), "state 2 (lab), action 4 (sleep)");
    assert_string_equal(nadir_model_label(model, 2, -1, place), "state 2 (lab)");
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            assert_int_equal(nadir_model_row_state(model, row), s);
            assert_int_equal(nadir_model_find_row(model, s, nadir_model_row_action(model, s, row)), row);
        }
    }
    assert_int_equal(nadir_model_find_row(model, 0, 1), -1);
    assert_int_equal(nadir_model_find_row(model, 0, 4), -1);
    assert_null(nadir_model_state_name(model, 4));
    assert_null(nadir_model_action_name(model, 7));
    assert_string_equal(nadir_model_action_name(model, 1), "jump");
    nadir_model_free(nadir_model_retain(model));
    nadir_model_free(model);
}

static void test_compensated_sum(void **state)
{
    (void)state;
    const double x[] = {1,     1e-17, 1e-17, 1e-17, 1e-17, 1e-17, 1e-17,
                        1e-17, 1e-17, 1e-17, 1e-17, 1e-17, 1e-17};
    assert_true(nadir_vector_sum(13, x) == 1 + 1.2e-16);
    const double huge[] = {DBL_MAX, DBL_MAX};
    assert_true(isinf(nadir_vector_sum(2, huge)));
    assert_true(nadir_vector_sum(0, x) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_that_are_refused),
        cmocka_unit_test(test_shapes_that_are_refused),
        test_with_context(test_arguments_that_are_refused),
        test_with_context(test_rounding_keeps_bits_and_more_is_normalised),
        test_with_context(test_tolerance_of_sums),
        test_with_context(test_duplicates_zeros_and_order),
        test_with_context(test_duplicates_add_up_in_order),
        test_with_context(test_plain_arrays_are_dropped),
        test_with_context(test_equal_transition_rewards_are_exact),
        test_with_context(test_view_makes_the_same_model_again),
        test_with_context(test_storage_follows_density),
        cmocka_unit_test(test_digest_sees_every_number),
        cmocka_unit_test(test_digest_knows_one_zero),
        test_with_context(test_places_and_rows),
        cmocka_unit_test(test_compensated_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_io_npz.c: models read from NumPy archives: the kernel and what stands beside it. */
#include "support/numpy.h"

#include "io/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The kernel of most tests: 2 states, 3 actions; row s * 3 + a. */
#define STATES  2
#define ACTIONS 3
static const double kernel[] = {0.1, 0.9, 1, 0, 0.5, 0.5, 0.25, 0.75, 0, 1, 0.3, 0.7};
static const double rewards[] = {1, 2, 3, 4, 5, 6};
/* The same as CSR rows. */
static const double data[] = {0.1, 0.9, 1, 0.5, 0.5, 0.25, 0.75, 1, 0.3, 0.7};
static const int32_t indices[] = {0, 1, 0, 0, 1, 0, 1, 1, 0, 1};
static const int64_t indptr[] = {0, 2, 3, 5, 7, 8, 10};
static const double mu[] = {0.25, 0.75};

static nadir_status read_model(nadir_context *context, const char *path, nadir_layout layout,
                               nadir_model **model)
{
    const nadir_read_settings settings = {.size = sizeof settings, .discount = NAN, .layout = layout};
    *model = NULL;
    return nadir_format_npz.read(context, path, &settings, model);
}

/* The model is the kernel of the tests, with the rewards 1 to 6. */
static void check_model(const nadir_model *model)
{
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.states, STATES);
    assert_int_equal(view.rows, STATES * ACTIONS);
    assert_int_equal(view.state_rows[1], ACTIONS);
    for (int64_t row = 0; row < view.rows; row++) {
        for (int64_t t = 0; t < STATES; t++) {
            assert_true(test_probability(model, row, t) == kernel[row * STATES + t]);
        }
        assert_true(view.rewards[row] == rewards[row]);
    }
}

#define CHECK_ARRAYS(...)                                                                                    \
    do {                                                                                                     \
        const test_array arrays[] = {__VA_ARGS__};                                                           \
        nadir_context *context = test_context();                                                             \
        nadir_model *model;                                                                                  \
        for (int deflate = 0; deflate < 2; deflate++) {                                                      \
            test_write_npz("model.npz", arrays, deflate != 0);                                               \
            assert_ok(context, read_model(context, "model.npz", NADIR_LAYOUT_AUTO, &model));                 \
            check_model(model);                                                                              \
            nadir_model_free(model);                                                                         \
        }                                                                                                    \
        assert_string_equal(test_messages(), "");                                                            \
        nadir_context_free(context);                                                                         \
    } while (0)

#define REWARDS TEST_ARRAY("R.npy", "=f8", "(2, 3)", rewards)
#define MU      TEST_ARRAY("mu.npy", "=f8", "(2,)", mu)
#define CSR                                                                                                  \
    TEST_ARRAY("P_data.npy", "=f8", "(10,)", data), TEST_ARRAY("P_indices.npy", "=i4", "(10,)", indices),    \
        TEST_ARRAY("P_indptr.npy", "=i8", "(7,)", indptr)

/* item (i, j, k) of from, whose shape is (a, b, c), to any order: sizes and strides slowest first. */
static void reorder(const double *from, const int64_t sizes[3], const int64_t strides[3], double *to)
{
    for (int64_t i = 0; i < sizes[0]; i++) {
        for (int64_t j = 0; j < sizes[1]; j++) {
            for (int64_t k = 0; k < sizes[2]; k++) {
                *to++ = from[i * strides[0] + j * strides[1] + k * strides[2]];
            }
        }
    }
}

static void dense_in_both_layouts_and_orders(void **state)
{
    (void)state;
    double other[12];
    CHECK_ARRAYS(TEST_ARRAY("P.npy", "=f8", "(2, 3, 2)", kernel), REWARDS);
    reorder(kernel, (const int64_t[]){3, 2, 2}, (const int64_t[]){2, 6, 1}, other);
    CHECK_ARRAYS(TEST_ARRAY("P.npy", "=f8", "(3, 2, 2)", other), REWARDS);
    reorder(kernel, (const int64_t[]){2, 3, 2}, (const int64_t[]){1, 2, 6}, other); /* t, a, s */
    CHECK_ARRAYS(TEST_FORTRAN("P.npy", "=f8", "(2, 3, 2)", other), REWARDS);
    reorder(kernel, (const int64_t[]){2, 2, 3}, (const int64_t[]){1, 6, 2}, other); /* t, s, a */
    CHECK_ARRAYS(TEST_FORTRAN("P.npy", "=f8", "(3, 2, 2)", other), REWARDS);
}

static void rewards_in_all_shapes(void **state)
{
    (void)state;
    double fortran[6];
    reorder(rewards, (const int64_t[]){1, 3, 2}, (const int64_t[]){0, 1, 3}, fortran);
    double each[12];
    double each_ass[12];
    for (int i = 0; i < 12; i++) {
        each[i] = rewards[i / 2];
    }
    reorder(each, (const int64_t[]){3, 2, 2}, (const int64_t[]){2, 6, 1}, each_ass);
    double kernel_ass[12];
    reorder(kernel, (const int64_t[]){3, 2, 2}, (const int64_t[]){2, 6, 1}, kernel_ass);
    const double sparse[] = {1, 1, 2, 3, 3, 4, 4, 5, 6, 6};
    CHECK_ARRAYS(CSR, MU, TEST_ARRAY("R.npy", "=f8", "(6,)", rewards));
    CHECK_ARRAYS(CSR, MU, TEST_FORTRAN("R.npy", "=f8", "(2, 3)", fortran));
    CHECK_ARRAYS(CSR, MU, TEST_ARRAY("R.npy", "=f8", "(10,)", sparse));
    CHECK_ARRAYS(TEST_ARRAY("P.npy", "=f8", "(2, 3, 2)", kernel),
                 TEST_ARRAY("R.npy", "=f8", "(6,)", rewards));
    CHECK_ARRAYS(TEST_ARRAY("P.npy", "=f8", "(2, 3, 2)", kernel),
                 TEST_ARRAY("R.npy", "=f8", "(2, 3, 2)", each));
    CHECK_ARRAYS(TEST_ARRAY("P.npy", "=f8", "(3, 2, 2)", kernel_ass),
                 TEST_ARRAY("R.npy", "=f8", "(3, 2, 2)", each_ass));
}

static void rewards_of_states_and_transitions(void **state)
{
    nadir_context *context = *state;
    nadir_model *model;
    const int16_t of_states[] = {7, -2};
    const test_array by_state[] = {CSR, MU, TEST_ARRAY("R.npy", "=i2", "(2,)", of_states)};
    test_write_npz("model.npz", by_state, false);
    assert_ok(context, read_model(context, "model.npz", NADIR_LAYOUT_AUTO, &model));
    nadir_model_data view = test_view(model);
    for (int row = 0; row < 6; row++) {
        assert_true(view.rewards[row] == (row < 3 ? 7 : -2));
    }
    nadir_model_free(model);
    const double each[] = {10, 20, 1, 2, 4, 0, 0, 0, 0, 0};
    const test_array by_transition[] = {CSR, MU, TEST_ARRAY("R.npy", "=f8", "(10,)", each)};
    test_write_npz("model.npz", by_transition, false);
    assert_ok(context, read_model(context, "model.npz", NADIR_LAYOUT_AUTO, &model));
    view = test_view(model);
    assert_close(view.rewards[0], 19, 1e-15);
    assert_true(view.rewards[2] == 3);
    assert_non_null(view.transition_rewards);
    nadir_model_free(model);
    const nadir_read_settings frozen = {.size = sizeof frozen, .discount = NAN, .frozen_rewards = true};
    assert_ok(context, nadir_format_npz.read(context, "model.npz", &frozen, &model));
    assert_null(test_view(model).transition_rewards);
    nadir_model_free(model);
    const test_array none[] = {CSR, MU};
    test_write_npz("model.npz", none, false);
    assert_ok(context, read_model(context, "model.npz", NADIR_LAYOUT_AUTO, &model));
    assert_null(test_view(model).rewards);
    nadir_model_free(model);
}

static void indices_of_any_type(void **state)
{
    (void)state;
    uint64_t long_indices[10];
    float float_indices[10];
    uint16_t short_starts[7];
    double double_starts[7];
    bool bool_indices[10];
    for (int i = 0; i < 10; i++) {
        long_indices[i] = __builtin_bswap64((uint64_t)indices[i]);
        float_indices[i] = (float)indices[i];
        bool_indices[i] = indices[i] != 0;
    }
    for (int i = 0; i < 7; i++) {
        short_starts[i] = (uint16_t)indptr[i];
        double_starts[i] = (double)indptr[i];
    }
    CHECK_ARRAYS(CSR, MU, REWARDS);
    CHECK_ARRAYS(TEST_ARRAY("P_data.npy", "=f8", "(10,)", data), MU, REWARDS,
                 TEST_ARRAY("P_indices.npy", "~u8", "(10,)", long_indices),
                 TEST_ARRAY("P_indptr.npy", "=u2", "(7,)", short_starts));
    CHECK_ARRAYS(TEST_ARRAY("P_indices.npy", "=f4", "(10,)", float_indices), MU, REWARDS,
                 TEST_ARRAY("P_indptr.npy", "=f8", "(7,)", double_starts),
                 TEST_ARRAY("P_data.npy", "=f8", "(10,)", data));
    CHECK_ARRAYS(TEST_ARRAY("P_indices", "|b1", "(10,)", bool_indices), MU, REWARDS,
                 TEST_ARRAY("P_indptr", "=f8", "(7,)", double_starts),
                 TEST_ARRAY("P_data", "=f8", "(10,)", data));
}

static void number_of_states_from_everywhere(void **state)
{
    const int64_t matrix[] = {6, 2};
    const int64_t states = 2;
    const uint8_t row_state[] = {0, 0, 0, 1, 1, 1};
    const test_array scalar = {"states.npy", "=i8", "()", &states, sizeof states, false};
    const test_array flat = TEST_ARRAY("R.npy", "=f8", "(6,)", rewards);
    CHECK_ARRAYS(CSR, TEST_ARRAY("P_shape.npy", "=i8", "(2,)", matrix), flat);
    CHECK_ARRAYS(CSR, scalar, flat);
    CHECK_ARRAYS(CSR, MU, flat);
    CHECK_ARRAYS(CSR, REWARDS);
    CHECK_ARRAYS(CSR, flat, TEST_ARRAY("scales.npy", "=f8", "(2, 3)", rewards));
    CHECK_ARRAYS(CSR, REWARDS, TEST_ARRAY("row_state.npy", "|u1", "(6,)", row_state));
    CHECK_ARRAYS(
        TEST_ARRAY("data.npy", "=f8", "(10,)", data), flat,
        TEST_ARRAY("indices.npy", "=i4", "(10,)", indices), TEST_ARRAY("indptr.npy", "=i8", "(7,)", indptr),
        TEST_ARRAY("shape.npy", "=i8", "(2,)", matrix), {"format.npy", "|S3", "()", "csr", 3, false});

    nadir_context *context = *state;
    nadir_model *model;
    const test_array unsaid[] = {CSR, flat};
    test_write_npz("model.npz", unsaid, false);
    assert_ok(context, read_model(context, "model.npz", NADIR_LAYOUT_AUTO, &model));
    check_model(model);
    assert_non_null(strstr(test_messages(), "the largest successor makes it 2"));
    nadir_model_free(model);
    /* one column of all rows is no table of states with one action */
    const test_array column[] = {CSR, TEST_ARRAY("R.npy", "=f8", "(6, 1)", rewards)};
    test_write_npz("model.npz", column, false);
    assert_fails(context, read_model(context, "model.npz", NADIR_LAYOUT_AUTO, &model), NADIR_ERROR_FORMAT,
                 "array R has shape (6, 1); expected (2, 3), or one number for each of 6 rows");
}

static void ragged_rows_and_action_numbers(void **state)
{
    nadir_context *context = *state;
    nadir_model *model;
    const int64_t row_state[] = {0, 0, 0, 0, 1, 1};
    const int8_t row_action[] = {0, 2, 3, 9, 1, 2};
    const test_array arrays[] = {CSR, TEST_ARRAY("row_state.npy", "=i8", "(6,)", row_state),
                                 TEST_ARRAY("row_action.npy", "|i1", "(6,)", row_action)};
    test_write_npz("model.npz", arrays, false);
    assert_ok(context, read_model(context, "model.npz", NADIR_LAYOUT_AUTO, &model));
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.states, 2);
    assert_int_equal(view.state_rows[1], 4);
    for (int row = 0; row < 6; row++) {
        assert_int_equal(view.row_actions[row], row_action[row]);
    }
    nadir_model_free(model);
}

/* A kernel with as many actions as states: P[0, 1] = (0, 1), P[1, 0] = (1, 0), else (0.5, 0.5). */
static const double square[] = {0.5, 0.5, 0, 1, 1, 0, 0.5, 0.5};

static void square_kernels_need_a_layout(void **state)
{
    nadir_context *context = *state;
    nadir_model *model;
    const uint32_t word[] = {'a', 's', 's'};
    const test_array plain[] = {TEST_ARRAY("P.npy", "=f8", "(2, 2, 2)", square)};
    test_write_npz("plain.npz", plain, false);
    assert_fails(context, read_model(context, "plain.npz", NADIR_LAYOUT_AUTO, &model), NADIR_ERROR_FORMAT,
                 "plain.npz: array P has shape (2, 2, 2)");
    assert_fails(context, NADIR_ERROR_FORMAT, NADIR_ERROR_FORMAT, "--layout sas or --layout ass");
    assert_ok(context, read_model(context, "plain.npz", NADIR_LAYOUT_SAS, &model));
    assert_true(test_probability(model, 1, 1) == 1); /* state 0, action 1 */
    nadir_model_free(model);
    assert_ok(context, read_model(context, "plain.npz", NADIR_LAYOUT_ASS, &model));
    assert_true(test_probability(model, 1, 0) == 1);
    nadir_model_free(model);

    const test_array said[] = {TEST_ARRAY("P.npy", "=f8", "(2, 2, 2)", square),
                               TEST_ARRAY("layout.npy", "=U3", "()", word)};
    test_write_npz("said.npz", said, false);
    assert_ok(context, read_model(context, "said.npz", NADIR_LAYOUT_AUTO, &model));
    assert_true(test_probability(model, 1, 0) == 1);
    nadir_model_free(model);
    assert_ok(context, read_model(context, "said.npz", NADIR_LAYOUT_SAS, &model)); /* the user is right */
    assert_true(test_probability(model, 1, 1) == 1);
    nadir_model_free(model);

    const test_array other[] = {TEST_ARRAY("P.npy", "=f8", "(2, 3, 2)", kernel)};
    test_write_npz("other.npz", other, false);
    assert_fails(context, read_model(context, "other.npz", NADIR_LAYOUT_ASS, &model), NADIR_ERROR_FORMAT,
                 "expected (A, S, S), by the layout asked for");
    const double one = 1;
    const test_array single[] = {{"P.npy", "=f8", "(1, 1, 1)", &one, sizeof one, false}};
    test_write_npz("single.npz", single, false);
    assert_ok(context, read_model(context, "single.npz", NADIR_LAYOUT_AUTO, &model));
    nadir_model_free(model);
}

static void floats_of_four_bytes_are_normalised(void **state)
{
    nadir_context *context = *state;
    nadir_model *model;
    const float narrow[] = {0.1F, 0.2F, 0.7F, 0.3F, 0.3F, 0.4F, 1, 0, 0};
    const test_array arrays[] = {TEST_ARRAY("P.npy", "=f4", "(3, 1, 3)", narrow)};
    test_write_npz("narrow.npz", arrays, false);
    assert_ok(context, read_model(context, "narrow.npz", NADIR_LAYOUT_AUTO, &model));
    assert_non_null(strstr(test_messages(), "normalised"));
    assert_close(test_probability(model, 0, 0), 0.1, 1e-7);
    nadir_model_free(model);
}

static void everything_beside_the_kernel(void **state)
{
    nadir_context *context = *state;
    nadir_model *model;
    const double gamma = 0.95;
    const float norm = INFINITY;
    const double scales[] = {1, 0.5, 0, 2, 3, 4};
    const double radii[] = {0.1, 0.2};
    const uint32_t set[] = {'s', 'a', 0, 0};
    uint32_t state_names[] = {'a', 0xE9, 0x1F600, 0};
    for (int i = 0; i < 4; i++) {
        state_names[i] = __builtin_bswap32(state_names[i]);
    }
    const test_array arrays[] = {
        CSR,
        MU,
        {"gamma.npy", "=f8", "(1,)", &gamma, sizeof gamma, false},
        {"norm.npy", "=f4", "()", &norm, sizeof norm, false},
        TEST_ARRAY("scales.npy", "=f8", "(2, 3)", scales),
        TEST_ARRAY("radius.npy", "=f8", "(2,)", radii),
        TEST_ARRAY("set.npy", "=U4", "(1,)", set),
        {"domain.npy", "|S4", "()", "free", 4, false},
        TEST_ARRAY("state_names.npy", "~U2", "(2,)", state_names),
        {"action_names.npy", "|S5", "(3,)", "left\0right\0\0\0\0\0", 15, false},
        {"notes.npy", "|S1", "()", "x", 1, false},
        {"more.txt", "|S1", "()", "x", 1, false},
        {"data.npy", "|O", "()", "x", 1, false},
    };
    test_write_npz("model.npz", arrays, true);
    assert_ok(context, read_model(context, "model.npz", NADIR_LAYOUT_AUTO, &model));
    const nadir_model_data view = test_view(model);
    assert_true(view.discount == 0.95);
    assert_true(isinf(view.norm));
    assert_int_equal(view.set, NADIR_SET_SA);
    assert_int_equal(view.domain, NADIR_DOMAIN_FREE);
    assert_memory_equal(view.initial, mu, sizeof mu);
    assert_memory_equal(view.scales, scales, sizeof scales);
    assert_int_equal(view.radius_count, 2);
    assert_memory_equal(view.radius, radii, sizeof radii);
    assert_string_equal(nadir_model_state_name(model, 0), "a\xC3\xA9");
    assert_string_equal(nadir_model_state_name(model, 1), "\xF0\x9F\x98\x80");
    assert_string_equal(nadir_model_action_name(model, 1), "right");
    assert_string_equal(nadir_model_action_name(model, 5), "");
    assert_string_equal(test_messages(),
                        "model.npz: 3 unknown arrays were ignored: notes.npy, more.txt, data\n");
    nadir_model_free(model);
}

static void radius_in_all_shapes(void **state)
{
    nadir_context *context = *state;
    nadir_model *model;
    static const struct {
        const char *shape;
        size_t count;
    } cases[] = {{"()", 1}, {"(1, 1)", 1}, {"(2,)", 2}, {"(6,)", 6}, {"(2, 3)", 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const test_array arrays[] = {
            CSR, MU, {"radius.npy", "=f8", cases[i].shape, rewards, 8 * cases[i].count, false}};
        test_write_npz("model.npz", arrays, false);
        assert_ok(context, read_model(context, "model.npz", NADIR_LAYOUT_AUTO, &model));
        assert_int_equal(test_view(model).radius_count, cases[i].count);
        assert_memory_equal(test_view(model).radius, rewards, 8 * cases[i].count);
        nadir_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_in_both_layouts_and_orders),
        cmocka_unit_test(rewards_in_all_shapes),
        test_with_context(rewards_of_states_and_transitions),
        cmocka_unit_test(indices_of_any_type),
        test_with_context(number_of_states_from_everywhere),
        test_with_context(ragged_rows_and_action_numbers),
        test_with_context(square_kernels_need_a_layout),
        test_with_context(floats_of_four_bytes_are_normalised),
        test_with_context(everything_beside_the_kernel),
        test_with_context(radius_in_all_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

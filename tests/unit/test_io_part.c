/*
 * test_io_part.c: the readers that the processes of an engine use, in a process that is alone: what they read
 * is what the ordinary readers read, and what is wrong they refuse.
 */
#include "support/numpy.h"

#include "io/numpy/npz.h"
#include "io/petsc/petsc_part.h"
#include "io/policy_part.h"
#include "model/policy.h"
#include "support/bytes.h"

#include <math.h>
#include <string.h>

#define MATRIX 1211216
#define VECTOR 1211214

/* Two states with three actions each. */
static const double data[] = {0.1, 0.9, 1, 0.5, 0.5, 0.25, 0.75, 1, 0.3, 0.7};
static const int32_t indices[] = {0, 1, 0, 0, 1, 0, 1, 1, 0, 1};
static const int64_t indptr[] = {0, 2, 3, 5, 7, 8, 10};
static const int64_t shape[] = {6, 2};
static const int64_t states[] = {2};
static const double mu[] = {0.25, 0.75};
static const double rewards[] = {1, 2, 3, 4, 5, 6};
static const double scales[] = {1, 2};
static const double transition_rewards[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
static const int32_t row_state[] = {0, 0, 0, 1, 1, 1};
static const int32_t row_action[] = {0, 1, 2, 0, 1, 2};

#define DATA    TEST_ARRAY("P_data.npy", "=f8", "(10,)", data)
#define INDICES TEST_ARRAY("P_indices.npy", "=i4", "(10,)", indices)
#define INDPTR  TEST_ARRAY("P_indptr.npy", "=i8", "(7,)", indptr)
#define SHAPE   TEST_ARRAY("P_shape.npy", "=i8", "(2,)", shape)
#define MU      TEST_ARRAY("mu.npy", "=f8", "(2,)", mu)
#define CSR     DATA, INDICES, INDPTR

static const nadir_read_settings settings = {.size = sizeof settings, .discount = NAN};

/* Read either way, the model is the same. */
#define ACCEPT(ignore, ...)                                                                                  \
    do {                                                                                                     \
        const test_array arrays[] = {__VA_ARGS__};                                                           \
        test_write_npz("model.npz", arrays, false);                                                          \
        accept(ignore);                                                                                      \
    } while (0)

static void accept(unsigned ignore)
{
    nadir_context *context = test_context();
    nadir_model *part = NULL;
    nadir_model *whole = NULL;
    assert_ok(context, nadir_npz_read_part(context, "model.npz", &settings, &part));
    assert_ok(context, nadir_npz_read(context, "model.npz", &settings, &whole));
    assert_models_equal(part, whole, ignore);
    nadir_model_free(part);
    nadir_model_free(whole);
    nadir_context_free(context);
}

#define REFUSE(status, words, ...)                                                                           \
    do {                                                                                                     \
        const test_array arrays[] = {__VA_ARGS__};                                                           \
        test_write_npz("wrong.npz", arrays, false);                                                          \
        refuse(status, words);                                                                               \
    } while (0)

static void refuse(nadir_status expected, const char *words)
{
    nadir_context *context = test_context();
    nadir_model *model = NULL;
    const size_t before = nadir_context_memory(context);
    assert_fails(context, nadir_npz_read_part(context, "wrong.npz", &settings, &model), expected, words);
    assert_null(model);
    assert_int_equal(nadir_context_memory(context), before);
    nadir_context_free(context);
}

static void archives(void **state)
{
    (void)state;
    static const double radius[] = {0.125};
    const test_array per_row = TEST_ARRAY("R.npy", "=f8", "(6,)", rewards);
    ACCEPT(0, CSR, SHAPE, MU, per_row, TEST_ARRAY("scales.npy", "=f8", "(2,)", scales));
    ACCEPT(0, CSR, TEST_ARRAY("states.npy", "=i8", "(1,)", states), per_row);
    ACCEPT(0, CSR, TEST_ARRAY("R.npy", "=f8", "(2, 3)", rewards));
    ACCEPT(0, CSR, MU, TEST_ARRAY("R.npy", "=f8", "(10,)", transition_rewards));
    ACCEPT(0, CSR, SHAPE, TEST_ARRAY("row_state.npy", "=i4", "(6,)", row_state),
           TEST_ARRAY("row_action.npy", "=i4", "(6,)", row_action),
           TEST_ARRAY("radius.npy", "=f8", "(1,)", radius));
}

/* An array P, either way round, against the same model as rows. */
static void dense_archives(void **state)
{
    (void)state;
    static const double by_state[] = {0.1, 0.9, 1, 0, 0.5, 0.5, 0.25, 0.75, 0, 1, 0.3, 0.7};
    static const double by_action[] = {0.1, 0.9, 0.25, 0.75, 1, 0, 0, 1, 0.5, 0.5, 0.3, 0.7};
    const test_array per_row = TEST_ARRAY("R.npy", "=f8", "(2, 3)", rewards);
    const test_array whole[] = {TEST_ARRAY("P.npy", "=f8", "(2, 3, 2)", by_state),
                                TEST_ARRAY("P.npy", "=f8", "(3, 2, 2)", by_action)};
    const test_array rows[] = {CSR, SHAPE, MU, per_row};
    nadir_context *context = test_context();
    nadir_model *listed = NULL;
    nadir_model *dense = NULL;
    test_write_npz("rows.npz", rows, false);
    assert_ok(context, nadir_npz_read_part(context, "rows.npz", &settings, &listed));
    for (int i = 0; i < 2; i++) {
        const test_array arrays[] = {whole[i], MU, per_row};
        test_write_npz("dense.npz", arrays, false);
        assert_ok(context, nadir_npz_read_part(context, "dense.npz", &settings, &dense));
        assert_models_equal(dense, listed, 0);
        nadir_model_free(dense);
    }
    nadir_model_free(listed);
    nadir_context_free(context);
}

static void wrong_kernels(void **state)
{
    (void)state;
    static const int64_t falling[] = {0, 2, 1, 5, 7, 8, 10};
    static const int64_t beyond[] = {0, 2, 3, 5, 7, 8, 11};
    static const int64_t negative[] = {-1, 2, 3, 5, 7, 8, 10};
    static const int32_t no_state[] = {0, 1, 0, 0, 1, 0, 1, 1, 0, 2};
    static const double dense[12] = {0};
    REFUSE(NADIR_ERROR_FORMAT, "expected either an array P, or P_data", MU);
    REFUSE(NADIR_ERROR_FORMAT, "expected either an array P, or P_data", CSR, SHAPE,
           TEST_ARRAY("P.npy", "=f8", "(2, 3, 2)", dense));
    REFUSE(NADIR_ERROR_FORMAT, "(S, A, S) or (A, S, S), in C order",
           TEST_ARRAY("P.npy", "=f8", "(6, 2)", dense));
    REFUSE(NADIR_ERROR_MODEL, "probabilities sum to 0", TEST_ARRAY("P.npy", "=f8", "(2, 3, 2)", dense));
    REFUSE(NADIR_ERROR_FORMAT, "array P_indices is missing", DATA, INDPTR);
    REFUSE(NADIR_ERROR_FORMAT, "array P_indptr is missing", DATA, INDICES);
    REFUSE(NADIR_ERROR_FORMAT, "as many as P_data: 10", DATA, INDPTR, SHAPE,
           TEST_ARRAY("P_indices.npy", "=i4", "(6,)", row_state));
    REFUSE(NADIR_ERROR_FORMAT, "row 2 begins at transition 1, the one before at 2", DATA, INDICES, SHAPE,
           TEST_ARRAY("P_indptr.npy", "=i8", "(7,)", falling));
    REFUSE(NADIR_ERROR_FORMAT, "expected a number from there to 10", DATA, INDICES, SHAPE,
           TEST_ARRAY("P_indptr.npy", "=i8", "(7,)", beyond));
    REFUSE(NADIR_ERROR_FORMAT, "row 0 begins at transition -1", DATA, INDICES, SHAPE,
           TEST_ARRAY("P_indptr.npy", "=i8", "(7,)", negative));
    REFUSE(NADIR_ERROR_MODEL, "successor 2 is not a state", DATA, INDPTR, SHAPE,
           TEST_ARRAY("P_indices.npy", "=i4", "(10,)", no_state));
}

static void wrong_shapes(void **state)
{
    (void)state;
    static const int64_t four[] = {4};
    static const int64_t seven[] = {7};
    static const int32_t gap[] = {0, 0, 0, 1, 1, 2};
    static const int32_t short_of_all[] = {0, 0, 0, 0, 0, 0};
    REFUSE(NADIR_ERROR_FORMAT, "expected an array P_shape, states or mu", CSR);
    REFUSE(NADIR_ERROR_FORMAT, "7 states of 6 rows", CSR, TEST_ARRAY("states.npy", "=i8", "(1,)", seven));
    REFUSE(NADIR_ERROR_FORMAT, "6 rows are no multiple of 4 states", CSR,
           TEST_ARRAY("states.npy", "=i8", "(1,)", four));
    REFUSE(NADIR_ERROR_FORMAT, "items 0 to 2 are needed, of 1", CSR,
           TEST_ARRAY("P_shape.npy", "=i8", "(1,)", states));
    REFUSE(NADIR_ERROR_FORMAT, "one number for each of 6 rows", CSR, SHAPE,
           TEST_ARRAY("row_state.npy", "=i8", "(2,)", shape));
    REFUSE(NADIR_ERROR_FORMAT, "row 5 is of state 2 after state 1", CSR, SHAPE,
           TEST_ARRAY("row_state.npy", "=i4", "(6,)", gap));
    REFUSE(NADIR_ERROR_FORMAT, "row_state ends with state 0 of 2", CSR, SHAPE,
           TEST_ARRAY("row_state.npy", "=i4", "(6,)", short_of_all));
    REFUSE(NADIR_ERROR_FORMAT, "one number for each of 6 rows or 2 states", CSR, SHAPE,
           TEST_ARRAY("R.npy", "=f8", "(5,)", ((double[]){1, 2, 3, 4, 5})));
    REFUSE(NADIR_ERROR_FORMAT, "one number for each of 2 states", CSR, SHAPE,
           TEST_ARRAY("mu.npy", "=f8", "(6,)", rewards));
}

/* ---------------------------------------------------------------------------------------------- PETSc */

static nadir_status read_petsc(nadir_context *context, const char *reward_file, nadir_model **model)
{
    const nadir_read_settings use = {.size = sizeof use, .rewards = reward_file, .discount = NAN};
    *model = NULL;
    return nadir_petsc_read_part(context, "P.bin", &use, model);
}

static void write_kernel(void)
{
    test_bytes file = {.width = 4};
    PUT_INTEGERS(&file, MATRIX, 4, 2, 7, 2, 2, 1, 2, 0, 1, 0, 1, 0, 0, 1);
    PUT_DOUBLES(&file, 0.25, 0.75, 0, 1, 1, 0.5, 0.5);
    test_bytes_save("P.bin", &file);
}

static void petsc_files(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    nadir_model *model;
    test_bytes table = {.width = 4};
    test_bytes dense = {.width = 4};
    test_bytes small = {.width = 4};
    PUT_INTEGERS(&table, MATRIX, 2, 2, 3, 1, 2, 0, 0, 1);
    PUT_DOUBLES(&table, 1, -3, 1.0 / 3);
    test_bytes_save("table.bin", &table);
    PUT_INTEGERS(&dense, VECTOR, 4);
    PUT_DOUBLES(&dense, 1, 0, -3, 1.0 / 3);
    test_bytes_save("vector.bin", &dense);
    PUT_INTEGERS(&small, VECTOR, 3);
    PUT_DOUBLES(&small, 1, 0, -3);
    test_bytes_save("small.bin", &small);
    write_kernel();
    static const char *const files[] = {"table.bin", "vector.bin"};
    for (int i = 0; i < 2; i++) {
        static const double expected[] = {1, 0, -3, 1.0 / 3};
        assert_ok(context, read_petsc(context, files[i], &model));
        assert_int_equal(model->states, 2);
        assert_memory_equal(model->rewards, expected, sizeof expected);
        assert_close(test_probability(model, 0, 1), 0.75, 0);
        nadir_model_free(model);
    }
    assert_fails(context, read_petsc(context, "small.bin", &model), NADIR_ERROR_FORMAT,
                 "rewards of 3 x 1; expected 2 x 2");
    test_bytes_save("P.bin", &dense);
    assert_fails(context, read_petsc(context, NULL, &model), NADIR_ERROR_FORMAT, "a vector of 4 x 1");
    nadir_context_free(context);
}

/* --------------------------------------------------------------------------------------------- policies */

static void policies(void **state)
{
    (void)state;
    static const double table[] = {0.5, 0.5, 0.25, 0.75};
    static const int64_t actions[] = {1, 0};
    static const double expected[] = {0, 1, 1, 0};
    nadir_context *context = test_context();
    nadir_model *model;
    nadir_policy *policy = NULL;
    write_kernel();
    assert_ok(context, read_petsc(context, NULL, &model));
    const test_array good[] = {TEST_ARRAY("", "=f8", "(2, 2)", table), TEST_ARRAY("", "=f8", "(4,)", table)};
    for (int i = 0; i < 2; i++) {
        test_write_npy("policy.npy", &good[i]);
        assert_ok(context, nadir_policy_part_read(context, model, "policy.npy", &policy));
        assert_memory_equal(policy->probabilities, table, sizeof table);
        nadir_policy_free(policy);
    }
    const test_array numbers = TEST_ARRAY("", "=i8", "(2,)", actions);
    test_write_npy("actions.npy", &numbers);
    assert_ok(context, nadir_policy_part_read(context, model, "actions.npy", &policy));
    assert_memory_equal(policy->probabilities, expected, sizeof expected);
    assert_ok(context, nadir_policy_part_write(context, model, policy->probabilities, "again.npy"));
    nadir_policy_free(policy);
    assert_ok(context, nadir_policy_part_read(context, model, "again.npy", &policy));
    assert_memory_equal(policy->probabilities, expected, sizeof expected);
    nadir_policy_free(policy);
    policy = NULL;
    const test_array wrong = TEST_ARRAY("", "=f8", "(3,)", ((double[]){1, 0, 1}));
    test_write_npy("wrong.npy", &wrong);
    assert_fails(context, nadir_policy_part_read(context, model, "wrong.npy", &policy), NADIR_ERROR_POLICY,
                 "shape (3,); expected 4 probabilities");
    test_write_file("policy.csv", "idstate,idaction,probability\n");
    assert_fails(context, nadir_policy_part_read(context, model, "policy.csv", &policy), NADIR_ERROR_FORMAT,
                 "policy.csv");
    assert_ok(context, nadir_policy_part_write(context, model, expected, "policy.csv"));
    assert_ok(context, nadir_policy_read(context, model, "policy.csv", &policy));
    assert_memory_equal(policy->probabilities, expected, sizeof expected);
    nadir_policy_free(policy);
    policy = NULL;
    assert_null(policy);
    nadir_model_free(model);
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(archives),     cmocka_unit_test(dense_archives), cmocka_unit_test(wrong_kernels),
        cmocka_unit_test(wrong_shapes), cmocka_unit_test(petsc_files),    cmocka_unit_test(policies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_io_part.c: models and policies that are spread over processes. Each process reads its own states; what
 * they read together is what one process reads, and what is wrong they refuse.
 */
#include "support/numpy.h"

#include "core/engine.h"
#include "io/npz.h"
#include "model/policy.h"
#include "support/bytes.h"
#include "support/thread_processes.h"

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

/* Models that are read in a context with an engine are spread over processes. */
static const nadir_engine_table engine = {.name = "threads"};

static nadir_status read_part(nadir_context *context, const char *path, const nadir_read_settings *use,
                              nadir_model **model)
{
    context->engine = &engine;
    const nadir_status status = nadir_model_read(context, path, use, model);
    context->engine = NULL;
    return status;
}

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
    assert_ok(context, read_part(context, "model.npz", &settings, &part));
    assert_ok(context, nadir_model_read(context, "model.npz", &settings, &whole));
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
    assert_fails(context, read_part(context, "wrong.npz", &settings, &model), expected, words);
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
    ACCEPT(0, CSR, SHAPE, TEST_ARRAY("radius.npy", "=f8", "(2,)", scales));
    ACCEPT(0, CSR, SHAPE, TEST_ARRAY("radius.npy", "=f8", "(6,)", rewards));
    ACCEPT(0, CSR, SHAPE, TEST_ARRAY("radius.npy", "=f8", "(2, 3)", rewards));
    ACCEPT(0, CSR); /* the largest successor tells the number of states */
}

/* An array P, either way round, against the same model as rows. */
static void dense_archives(void **state)
{
    static const double by_state[] = {0.1, 0.9, 1, 0, 0.5, 0.5, 0.25, 0.75, 0, 1, 0.3, 0.7};
    static const double by_action[] = {0.1, 0.9, 0.25, 0.75, 1, 0, 0, 1, 0.5, 0.5, 0.3, 0.7};
    const test_array per_row = TEST_ARRAY("R.npy", "=f8", "(2, 3)", rewards);
    const test_array whole[] = {TEST_ARRAY("P.npy", "=f8", "(2, 3, 2)", by_state),
                                TEST_ARRAY("P.npy", "=f8", "(3, 2, 2)", by_action)};
    const test_array rows[] = {CSR, SHAPE, MU, per_row};
    nadir_context *context = *state;
    nadir_model *listed = NULL;
    nadir_model *dense = NULL;
    test_write_npz("rows.npz", rows, false);
    assert_ok(context, read_part(context, "rows.npz", &settings, &listed));
    for (int i = 0; i < 2; i++) {
        const test_array arrays[] = {whole[i], MU, per_row};
        test_write_npz("dense.npz", arrays, false);
        assert_ok(context, read_part(context, "dense.npz", &settings, &dense));
        assert_models_equal(dense, listed, 0);
        nadir_model_free(dense);
    }
    nadir_model_free(listed);
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
    REFUSE(NADIR_ERROR_FORMAT, "(S, A, S) or (A, S, S)", TEST_ARRAY("P.npy", "=f8", "(6, 2)", dense));
    REFUSE(NADIR_ERROR_MODEL, "probabilities sum to 0", TEST_ARRAY("P.npy", "=f8", "(2, 3, 2)", dense));
    REFUSE(NADIR_ERROR_FORMAT, "array P_indices is missing", DATA, INDPTR);
    REFUSE(NADIR_ERROR_FORMAT, "array P_indptr is missing", DATA, INDICES);
    REFUSE(NADIR_ERROR_FORMAT, "as many as P_data: 10", DATA, INDPTR, SHAPE,
           TEST_ARRAY("P_indices.npy", "=i4", "(6,)", row_state));
    REFUSE(NADIR_ERROR_MODEL, "row 1 ends before it starts", DATA, INDICES, SHAPE,
           TEST_ARRAY("P_indptr.npy", "=i8", "(7,)", falling));
    REFUSE(NADIR_ERROR_FORMAT, "ends with 11; expected the number of transitions, 10", DATA, INDICES, SHAPE,
           TEST_ARRAY("P_indptr.npy", "=i8", "(7,)", beyond));
    REFUSE(NADIR_ERROR_MODEL, "the first row starts at transition -1, not 0", DATA, INDICES, SHAPE,
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
    REFUSE(NADIR_ERROR_FORMAT, "makes 7 states of 6 rows", CSR,
           TEST_ARRAY("states.npy", "=i8", "(1,)", seven));
    REFUSE(NADIR_ERROR_FORMAT, "6 rows are no multiple of 4 states", CSR,
           TEST_ARRAY("states.npy", "=i8", "(1,)", four));
    REFUSE(NADIR_ERROR_FORMAT, "two numbers: rows and states", CSR,
           TEST_ARRAY("P_shape.npy", "=i8", "(1,)", states));
    REFUSE(NADIR_ERROR_FORMAT, "one number for each of 6 rows", CSR, SHAPE,
           TEST_ARRAY("row_state.npy", "=i8", "(2,)", shape));
    REFUSE(NADIR_ERROR_FORMAT, "array P_shape makes 2 states, array row_state makes 3", CSR, SHAPE,
           TEST_ARRAY("row_state.npy", "=i4", "(6,)", gap));
    REFUSE(NADIR_ERROR_FORMAT, "array P_shape makes 2 states, array row_state makes 1", CSR, SHAPE,
           TEST_ARRAY("row_state.npy", "=i4", "(6,)", short_of_all));
    REFUSE(NADIR_ERROR_FORMAT, "one number for each of 6 rows, for each transition or for each of 2 states",
           CSR, SHAPE, TEST_ARRAY("R.npy", "=f8", "(5,)", ((double[]){1, 2, 3, 4, 5})));
    REFUSE(NADIR_ERROR_FORMAT, "array P_shape makes 2 states, array mu makes 6", CSR, SHAPE,
           TEST_ARRAY("mu.npy", "=f8", "(6,)", rewards));
}

/* ---------------------------------------------------------------------------------------------- PETSc */

static nadir_status read_petsc(nadir_context *context, const char *reward_file, nadir_model **model)
{
    const nadir_read_settings use = {.size = sizeof use, .rewards = reward_file, .discount = NAN};
    *model = NULL;
    return read_part(context, "P.bin", &use, model);
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
    nadir_context *context = *state;
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
    assert_fails(context, read_petsc(context, NULL, &model), NADIR_ERROR_FORMAT, "a PETSc vector");
}

/* --------------------------------------------------------------------------------------------- policies */

static void policies(void **state)
{
    static const double table[] = {0.5, 0.5, 0.25, 0.75};
    static const int64_t actions[] = {1, 0};
    static const double expected[] = {0, 1, 1, 0};
    nadir_context *context = *state;
    nadir_model *model;
    nadir_policy *policy = NULL;
    write_kernel();
    assert_ok(context, read_petsc(context, NULL, &model));
    const test_array good[] = {TEST_ARRAY("", "=f8", "(2, 2)", table), TEST_ARRAY("", "=f8", "(4,)", table)};
    for (int i = 0; i < 2; i++) {
        test_write_npy("policy.npy", &good[i]);
        assert_ok(context, nadir_policy_read(context, model, "policy.npy", &policy));
        assert_memory_equal(policy->probabilities, table, sizeof table);
        nadir_policy_free(policy);
    }
    const test_array numbers = TEST_ARRAY("", "=i8", "(2,)", actions);
    test_write_npy("actions.npy", &numbers);
    assert_ok(context, nadir_policy_read(context, model, "actions.npy", &policy));
    assert_memory_equal(policy->probabilities, expected, sizeof expected);
    assert_ok(context, nadir_policy_write(context, model, policy, "again.npy"));
    nadir_policy_free(policy);
    assert_ok(context, nadir_policy_read(context, model, "again.npy", &policy));
    assert_memory_equal(policy->probabilities, expected, sizeof expected);
    nadir_policy_free(policy);
    policy = NULL;
    const test_array wrong = TEST_ARRAY("", "=f8", "(3,)", ((double[]){1, 0, 1}));
    test_write_npy("wrong.npy", &wrong);
    assert_fails(context, nadir_policy_read(context, model, "wrong.npy", &policy), NADIR_ERROR_POLICY,
                 "shape (3,); expected probabilities (2, 2) or (4,)");
    test_write_file("empty.csv", "idstate,idaction,probability\n");
    assert_fails(context, nadir_policy_read(context, model, "empty.csv", &policy), NADIR_ERROR_POLICY,
                 "is not in the file");
    assert_ok(context, nadir_policy_create(context, model, expected, &policy));
    assert_ok(context, nadir_policy_write(context, model, policy, "policy.csv"));
    nadir_policy_free(policy);
    assert_ok(context, nadir_policy_read(context, model, "policy.csv", &policy));
    assert_memory_equal(policy->probabilities, expected, sizeof expected);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* ------------------------------------------------------------------------------- several processes */

enum { MOST = 5, BIG = 7 };

typedef struct spread {
    const char *model, *policy;
    const char *rewards;
    const char *written; /* NULL: the policy is not written */
    nadir_model *models[MOST];
    nadir_policy *policies[MOST];
    nadir_status statuses[MOST];
    char errors[MOST][512];
} spread;

static void read_own(nadir_context *context, void *user)
{
    spread *on = user;
    const int rank = context->communication->rank;
    const nadir_read_settings use = {.size = sizeof use, .rewards = on->rewards, .discount = NAN};
    nadir_status status = read_part(context, on->model, &use, &on->models[rank]);
    if (status == NADIR_OK && on->policy != NULL) {
        status = nadir_policy_read(context, on->models[rank], on->policy, &on->policies[rank]);
    }
    if (status == NADIR_OK && on->written != NULL) {
        status = nadir_policy_write(context, on->models[rank], on->policies[rank], on->written);
    }
    on->statuses[rank] = status;
    if (on->models[rank] != NULL) { /* the table of the processes goes before the model does */
        on->models[rank]->exchange->table = &nadir_communication_alone;
    }
    (void)snprintf(on->errors[rank], sizeof on->errors[rank], "%s", nadir_context_error(context));
}

/* Numbers [first, first + count) of a whole array; both may be NULL. */
static void check_numbers(const double *part, const double *whole, int64_t first, int64_t count)
{
    assert_true((part == NULL) == (whole == NULL));
    for (int64_t i = 0; part != NULL && whole != NULL && i < count; i++) {
        assert_true(part[i] == whole[first + i]);
    }
}

static void check_rows(const nadir_model *part, const nadir_model *whole, int64_t first_row)
{
    for (int64_t row = 0; row < part->rows; row++) {
        const nadir_row entries = nadir_model_row(part, row);
        double sum = 0;
        for (int64_t i = 0; i < entries.count; i++) {
            const int64_t t = nadir_exchange_index(part->exchange, nadir_row_column(&entries, i));
            assert_true(entries.values[i] == test_probability(whole, first_row + row, t));
            sum += entries.values[i];
        }
        assert_close(sum, 1, 1e-12);
    }
}

static void check_part(const nadir_model *part, const nadir_model *whole, int64_t *first, int64_t *first_row)
{
    assert_int_equal(nadir_model_first(part), *first);
    assert_int_equal(nadir_model_total(part), whole->states);
    for (int64_t s = 0; s <= part->states; s++) {
        assert_int_equal(part->state_rows[s], whole->state_rows[*first + s] - *first_row);
    }
    for (int64_t s = 0; s < part->states; s++) {
        for (int64_t row = part->state_rows[s]; row < part->state_rows[s + 1]; row++) {
            assert_int_equal(nadir_model_row_action(part, s, row),
                             nadir_model_row_action(whole, *first + s, *first_row + row));
        }
    }
    check_rows(part, whole, *first_row);
    check_numbers(part->rewards, whole->rewards, *first_row, part->rows);
    check_numbers(part->scales, whole->scales, *first_row, part->rows);
    check_numbers(part->initial, whole->initial, *first, part->states);
    assert_int_equal(part->radius_count, whole->radius_count); /* every process has those of all */
    check_numbers(part->radius, whole->radius, 0, whole->radius_count);
    *first += part->states;
    *first_row += part->rows;
}

/* What 1 to MOST processes read against what one reads without an engine. */
static void check_spread(const char *model, const char *rewards_path, const char *policy)
{
    nadir_context *context = test_context();
    const nadir_read_settings use = {.size = sizeof use, .rewards = rewards_path, .discount = NAN};
    nadir_model *whole = NULL;
    nadir_policy *all = NULL;
    assert_ok(context, nadir_model_read(context, model, &use, &whole));
    if (policy != NULL) {
        assert_ok(context, nadir_policy_read(context, whole, policy, &all));
    }
    for (int members = 1; members <= MOST; members++) {
        spread on = {.model = model, .rewards = rewards_path, .policy = policy};
        int64_t first = 0;
        int64_t first_row = 0;
        test_note("%s, %d processes", model, members);
        test_processes_run(members, read_own, &on);
        for (int rank = 0; rank < members; rank++) {
            test_note("rank %d: %s", rank, on.errors[rank]);
            assert_int_equal(on.statuses[rank], NADIR_OK);
            if (policy != NULL) {
                check_numbers(on.policies[rank]->probabilities, all->probabilities, first_row,
                              on.models[rank]->rows);
            }
            check_part(on.models[rank], whole, &first, &first_row);
        }
        for (int rank = 0; rank < members; rank++) {
            nadir_policy_free(on.policies[rank]);
            nadir_model_free(on.models[rank]);
        }
        assert_int_equal(first, whole->states);
        assert_int_equal(first_row, whole->rows);
    }
    nadir_policy_free(all);
    nadir_model_free(whole);
    nadir_context_free(context);
}

/* Seven states with one to three actions, everything that a file may say of rows, and a radius for each. */
static void ragged_models(void **state)
{
    (void)state;
    enum { ROWS = 13 };
    static const int32_t of_state[ROWS] = {0, 0, 1, 2, 2, 2, 3, 4, 4, 5, 6, 6, 6};
    static const int32_t numbers[ROWS] = {0, 2, 1, 0, 1, 5, 0, 0, 1, 3, 0, 1, 2};
    double values[2 * ROWS];
    double row_numbers[ROWS];
    int32_t columns[2 * ROWS];
    int64_t starts[ROWS + 1] = {0};
    for (int row = 0; row < ROWS; row++) {
        columns[2 * row] = (3 * row) % 5;
        columns[2 * row + 1] = 5 + row % 2;
        values[2 * row] = 0.25 + 0.01 * row;
        values[2 * row + 1] = 1 - values[2 * row];
        row_numbers[row] = 0.125 * (row + 1);
        starts[row + 1] = 2 * (row + 1);
    }
    const test_array kernel[] = {TEST_ARRAY("P_data.npy", "=f8", "(26,)", values),
                                 TEST_ARRAY("P_indices.npy", "=i4", "(26,)", columns),
                                 TEST_ARRAY("P_indptr.npy", "=i8", "(14,)", starts),
                                 TEST_ARRAY("row_state.npy", "=i4", "(13,)", of_state)};
    const test_array by_row[] = {kernel[0],
                                 kernel[1],
                                 kernel[2],
                                 kernel[3],
                                 TEST_ARRAY("row_action.npy", "=i4", "(13,)", numbers),
                                 TEST_ARRAY("R.npy", "=f8", "(13,)", row_numbers),
                                 TEST_ARRAY("scales.npy", "=f8", "(13,)", row_numbers),
                                 TEST_ARRAY("radius.npy", "=f8", "(13,)", row_numbers)};
    static const double by_states[BIG] = {0.5, 0.25, 0, 0.125, 0.0625, 0.03125, 0.03125};
    const test_array by_state[] = {kernel[0],
                                   kernel[1],
                                   kernel[2],
                                   kernel[3],
                                   TEST_ARRAY("R.npy", "=f8", "(26,)", values),
                                   TEST_ARRAY("mu.npy", "=f8", "(7,)", by_states),
                                   TEST_ARRAY("radius.npy", "=f8", "(7,)", by_states)};
    for (int deflate = 0; deflate < 2; deflate++) {
        test_write_npz("by_row.npz", by_row, deflate == 1);
        test_write_npz("by_state.npz", by_state, deflate == 1);
        check_spread("by_row.npz", NULL, NULL);
        check_spread("by_state.npz", NULL, NULL);
    }
}

/* P, R of its shape and a policy, in both layouts and both orders. */
static void dense_models(void **state)
{
    (void)state;
    enum { ACTIONS = 3, COUNT = BIG * ACTIONS * BIG };
    static const char *const shapes[] = {"(7, 3, 7)", "(3, 7, 7)"};
    double kernel[COUNT];
    double paid[COUNT];
    double policy[BIG * ACTIONS];
    for (int i = 0; i < BIG * ACTIONS; i++) {
        policy[i] = i % ACTIONS == 0 ? 0.5 : 0.25;
    }
    const test_array table = {"", "=f8", "(7, 3)", policy, sizeof policy, false};
    test_write_npy("policy.npy", &table);
    for (int form = 0; form < 4; form++) {
        const bool by_state = form % 2 == 0;
        const bool fortran = form / 2 == 1;
        for (int s = 0; s < BIG; s++) {
            for (int a = 0; a < ACTIONS; a++) {
                for (int t = 0; t < BIG; t++) {
                    const int outer = by_state ? s : a;
                    const int middle = by_state ? a : s;
                    const int sizes[] = {by_state ? BIG : ACTIONS, by_state ? ACTIONS : BIG};
                    const int at = fortran ? outer + sizes[0] * (middle + sizes[1] * t)
                                           : (outer * sizes[1] + middle) * BIG + t;
                    kernel[at] = t == (s + a) % BIG ? 0.75 : t == (2 * s) % BIG ? 0.25 : 0;
                    kernel[at] = (s + a) % BIG == (2 * s) % BIG && kernel[at] != 0 ? 1 : kernel[at];
                    paid[at] = s + 0.5 * a + 0.125 * t;
                }
            }
        }
        const test_array arrays[] = {{"P.npy", "=f8", shapes[form % 2], kernel, sizeof kernel, fortran},
                                     {"R.npy", "=f8", shapes[form % 2], paid, sizeof paid, fortran}};
        test_write_npz("dense.npz", arrays, false);
        check_spread("dense.npz", NULL, "policy.npy");
    }
}

/* Action numbers, probabilities of rows, and what all processes write together. */
static void spread_policies(void **state)
{
    (void)state;
    static const int64_t chosen[] = {1, 0};
    static const double rows[] = {0, 1, 0.25, 0.75};
    const test_array arrays[] = {TEST_ARRAY("", "=i8", "(2,)", chosen), TEST_ARRAY("", "=f8", "(4,)", rows)};
    test_bytes table = {.width = 4};
    PUT_INTEGERS(&table, MATRIX, 2, 2, 3, 1, 2, 0, 0, 1);
    PUT_DOUBLES(&table, 1, -3, 1.0 / 3);
    test_bytes_save("table.bin", &table);
    write_kernel();
    for (int i = 0; i < 2; i++) {
        test_write_npy("given.npy", &arrays[i]);
        check_spread("P.bin", "table.bin", "given.npy");
        for (int ending = 0; ending < 2; ending++) {
            spread on = {.model = "P.bin", .policy = "given.npy", .written = ending == 0 ? "w.npy" : "w.csv"};
            test_processes_run(3, read_own, &on);
            for (int rank = 0; rank < 3; rank++) {
                test_note("rank %d: %s", rank, on.errors[rank]);
                assert_int_equal(on.statuses[rank], NADIR_OK);
                nadir_policy_free(on.policies[rank]);
                nadir_model_free(on.models[rank]);
            }
            check_spread("P.bin", NULL, on.written);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(archives),      test_with_context(dense_archives), cmocka_unit_test(wrong_kernels),
        cmocka_unit_test(wrong_shapes),  test_with_context(petsc_files),    test_with_context(policies),
        cmocka_unit_test(ragged_models), cmocka_unit_test(dense_models),    cmocka_unit_test(spread_policies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

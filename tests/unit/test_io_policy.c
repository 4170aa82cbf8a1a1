/* test_io_policy.c: policies and initial distributions in files, right and wrong. */
#include "support/numpy.h"

#include "core/context.h"
#include "io/labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rich model has the actions {0, 3}, {1}, {0, 1, 4}, {2}; see support.c. Its states are called start,
 * hall, lab, exit; its actions stay, left, right, jump, sleep. */
static const double expected[] = {0.25, 0.75, 1, 0.5, 0, 0.5, 1};

static void check_policy(nadir_context *context, const nadir_model *model, const char *path)
{
    nadir_policy *policy = NULL;
    assert_ok(context, nadir_policy_read(context, model, path, &policy));
    assert_memory_equal(nadir_policy_probabilities(policy), expected, sizeof expected);
    nadir_policy_free(policy);
}

static void check_text(const char *text)
{
    nadir_context *context = test_context();
    nadir_model *model = test_rich_model(context);
    test_write_file("policy.csv", text);
    check_policy(context, model, "policy.csv");
    nadir_model_free(model);
    nadir_context_free(context);
}

/* place: how the error begins to say where it is. */
static void refuse_file(const char *path, const char *place, nadir_status status, const char *words)
{
    nadir_context *context = test_context();
    nadir_model *model = test_rich_model(context);
    nadir_policy *policy = NULL;
    assert_fails(context, nadir_policy_read(context, model, path, &policy), status, words);
    assert_fails(context, status, status, place);
    assert_null(policy);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void refuse_text(const char *text, nadir_status status, const char *words)
{
    test_write_file("policy.csv", text);
    refuse_file("policy.csv", "policy.csv", status, words);
}

static void csv_as_it_should_be(void **state)
{
    (void)state;
    check_text("idstate,idaction,probability\n0,0,0.25\n0,3,0.75\n1,1,1\n2,0,0.5\n2,1,0\n2,4,0.5\n3,2,1\n");
}

static void csv_in_other_dialects(void **state)
{
    (void)state;
    /* other order of columns, quotes, CRLF, comments, blanks, single actions and zeros left out */
    check_text(
        "# made by hand\r\n\"probability\" , \"idaction\",\"idstate\"\r\n0.25,0,0\r\n\r\n 0.75 , 3 ,0\r\n"
        "# more\r\n0.5,4,2\r\n.5e0,0,2");
    /* names, and numbers as floats */
    check_text(
        "idstate,idaction,probability\nstart,stay,0.25\nstart,\"jump\",0.75\n2.0,0.0,0.5\nlab,sleep,0.5\n");
}

static void csv_without_probabilities(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_policy *policy = NULL;
    test_write_file("policy.csv", "idstate,idaction\n0,3\n2,1\n");
    assert_ok(context, nadir_policy_read(context, model, "policy.csv", &policy));
    const double sure[] = {0, 1, 1, 0, 1, 0, 1};
    assert_memory_equal(nadir_policy_probabilities(policy), sure, sizeof sure);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* State 1 has two actions and is never left: what is done there, or not said, or does not exist there, is all the same. */
static void nothing_is_decided_at_an_end(void **state)
{
    nadir_context *context = *state;
    const int64_t state_rows[] = {0, 2, 4};
    const int32_t actions[] = {0, 1, 0, 1};
    const double dense[] = {0.5, 0.5, 0.1, 0.9, 0, 1, 0, 1};
    const double rewards[] = {1, 2, 0, 0};
    double scales[] = {1, 1, 0, 0};
    const char *const texts[] = {"idstate,idaction\n0,1\n", "idstate,idaction\n0,1\n1,7\n",
                                 "idstate,idaction,probability\n0,1,1\n1,7,0.5\n1,0,0.5\n"};
    const double taken[] = {0, 1, 1, 0};
    nadir_model_data data;
    nadir_model_facts facts;
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_model_data_default(&data);
    data.states = 2;
    data.rows = 4;
    data.state_rows = state_rows;
    data.row_actions = actions;
    data.dense = dense;
    data.rewards = rewards;
    data.scales = scales;
    assert_ok(context, nadir_model_create(context, &data, &model));
    nadir_model_facts_default(&facts);
    assert_ok(context, nadir_model_facts_compute(context, model, &facts));
    assert_int_equal(facts.terminal_states, 1);
    for (int k = 0; k < 3; k++) {
        test_write_file("policy.csv", texts[k]);
        assert_ok(context, nadir_policy_read(context, model, "policy.csv", &policy));
        assert_memory_equal(nadir_policy_probabilities(policy), taken, sizeof taken);
        nadir_policy_free(policy);
    }
    nadir_model_free(model);
    scales[3] = 1; /* no end: the ball may let it go on */
    assert_ok(context, nadir_model_create(context, &data, &model));
    for (int k = 0; k < 2; k++) {
        test_write_file("policy.csv", texts[k]);
        assert_fails(context, nadir_policy_read(context, model, "policy.csv", &policy), NADIR_ERROR_POLICY,
                     k == 0 ? "this one has 2" : "there is no action 7");
    }
    nadir_model_free(model);
}

static void sums_within_the_tolerance_are_normalised(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_policy *policy = NULL;
    test_write_file("policy.csv", "idstate,idaction,probability\n0,0,0.250001\n0,3,0.750001\n2,0,1\n");
    assert_ok(context, nadir_policy_read(context, model, "policy.csv", &policy));
    const double *read = nadir_policy_probabilities(policy);
    assert_close(read[0] + read[1], 1, 1e-15);
    assert_non_null(strstr(test_messages(), "normalised"));
    nadir_policy_free(policy);
    nadir_model_free(model);
}

static void csv_that_is_wrong(void **state)
{
    (void)state;
    refuse_text("", NADIR_ERROR_FORMAT, "no lines");
    refuse_text("idstate,probability\n0,1\n", NADIR_ERROR_FORMAT, "missing column `action`");
    refuse_text("idstate,idaction,probability\n0,0\n", NADIR_ERROR_FORMAT,
                "policy.csv:2: 2 cells; expected 3");
    refuse_text("idstate,idaction,probability\n0,0,x\n", NADIR_ERROR_FORMAT,
                "policy.csv:2: `probability` is `x`");
    refuse_text("idstate,idaction,probability\n0,fly,1\n", NADIR_ERROR_FORMAT,
                "policy.csv:2: `idaction` is `fly`");
    refuse_text("idstate,idaction,probability\n4,0,1\n", NADIR_ERROR_POLICY,
                "policy.csv:2: state 4 is not in the model; states are 0 to 3");
    refuse_text("idstate,idaction,probability\n-1,0,1\n", NADIR_ERROR_POLICY,
                "policy.csv:2: state -1 is not");
    refuse_text("idstate,idaction,probability\n0,1,1\n", NADIR_ERROR_POLICY,
                "policy.csv:2: state 0 (start): there is no action 1");
    refuse_text("idstate,idaction,probability\n0,0,1\n2,0,1\n0,0,1\n", NADIR_ERROR_POLICY,
                "policy.csv:4: state 0 (start), action 0 (stay): was given already in line 2");
    refuse_text(
        "idstate,idaction,probability\n0,0,1\n", NADIR_ERROR_POLICY,
        "policy.csv: state 2 (lab): is not in the file; only states with one action, and those that are "
        "never left, may be left out; this one has 3");
    refuse_text("idstate,idaction,probability\n2,0,1\n0,0,0.5\n0,3,0.6\n", NADIR_ERROR_POLICY,
                "policy.csv:3: state 0 (start): the probabilities of its actions sum to 1.1");
    refuse_text("idstate,idaction,probability\n2,0,1\n0,0,1\n1,1,0.5\n", NADIR_ERROR_POLICY,
                "policy.csv:4: state 1 (hall): the probabilities of its actions sum to 0.5");
    refuse_text("idstate,idaction,probability\n0,0,-1\n0,3,2\n", NADIR_ERROR_POLICY,
                "policy.csv:2: state 0 (start), action 0 (stay): the probability is -1");
    refuse_text("idstate,idaction,probability\n0,0,nan\n", NADIR_ERROR_POLICY, "the probability is nan");
}

static void arrays_as_they_should_be(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    const double table[] = {0.25, 0, 0, 0.75, 0, 0, 1, 0, 0, 0, 0.5, 0, 0, 0, 0.5, 0, 0, 1, 0, 0};
    test_write_npy("policy.npy", &(test_array)TEST_ARRAY("", "=f8", "(4, 5)", table));
    check_policy(context, model, "policy.npy");
    test_write_npy("policy.csv",
                   &(test_array)TEST_ARRAY("", "=f8", "(7,)", expected)); /* the content counts */
    check_policy(context, model, "policy.csv");
    const int16_t actions[] = {3, 1, 4, 2};
    nadir_policy *policy = NULL;
    test_write_npy("policy.npy", &(test_array)TEST_ARRAY("", "=i2", "(4,)", actions));
    assert_ok(context, nadir_policy_read(context, model, "policy.npy", &policy));
    const double sure[] = {0, 1, 1, 0, 0, 1, 1};
    assert_memory_equal(nadir_policy_probabilities(policy), sure, sizeof sure);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

static void refuse_array(const test_array *array, nadir_status status, const char *words)
{
    test_write_npy("policy.npy", array);
    refuse_file("policy.npy", "policy.npy: ", status, words);
}

static void arrays_that_are_wrong(void **state)
{
    (void)state;
    const double table[] = {0.25, 0.75, 0, 0, 0, 0, 1, 0, 0, 0, 0.5, 0, 0, 0, 0.5, 0, 0, 1, 0, 0};
    const double heavy[] = {0.25, 0.75, 1, 0.5, 0.5, 0.5, 1};
    const double below[] = {1.5, -0.5, 1, 0.5, 0, 0.5, 1};
    const int64_t actions[] = {0, 1, 3, 2};
    const int64_t far[] = {INT64_MAX, 1, 0, 2};
    refuse_array(&(test_array)TEST_ARRAY("", "=f8", "(4, 5)", table), NADIR_ERROR_POLICY,
                 "state 0 (start): there is no action 1, but its probability is 0.75");
    refuse_array(&(test_array)TEST_ARRAY("", "=f8", "(5, 4)", table), NADIR_ERROR_POLICY,
                 "the array has shape (5, 4); expected probabilities (4, 5) or (7,), or integers (4,)");
    refuse_array(&(test_array){"", "=f8", "(4,)", heavy, 32, false}, NADIR_ERROR_POLICY, "has shape (4,);");
    refuse_array(&(test_array)TEST_ARRAY("", "=f8", "(7,)", heavy), NADIR_ERROR_POLICY,
                 "state 2 (lab): the probabilities of its actions sum to 1.5");
    refuse_array(&(test_array)TEST_ARRAY("", "=f8", "(7,)", below), NADIR_ERROR_POLICY,
                 "state 0 (start), action 3 (jump): the probability is -0.5");
    refuse_array(&(test_array)TEST_ARRAY("", "=i8", "(4,)", actions), NADIR_ERROR_POLICY,
                 "state 2 (lab): there is no action 3");
    refuse_array(&(test_array)TEST_ARRAY("", "=i8", "(4,)", far), NADIR_ERROR_POLICY,
                 "state 0 (start): there is no action 9223372036854775");
    refuse_array(&(test_array)TEST_ARRAY("", "=f8", "(7000000,)", heavy), NADIR_ERROR_FORMAT, "does not fit");
}

static void policies_come_back(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_policy *policy = NULL;
    nadir_policy *back = NULL;
    const double third = 1.0 / 3;
    const double probabilities[] = {third, 1 - third, 1, 0.1, 0.2, 0.7, 1};
    assert_ok(context, nadir_policy_create(context, model, probabilities, &policy));
    static const char *const paths[] = {"out.csv", "out.npy", "out.NPY", "out"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_ok(context, nadir_policy_write(context, model, policy, paths[i]));
        assert_ok(context, nadir_policy_read(context, model, paths[i], &back));
        assert_memory_equal(nadir_policy_probabilities(back), nadir_policy_probabilities(policy),
                            sizeof probabilities);
        nadir_policy_free(back);
    }
    assert_fails(context, nadir_policy_write(context, model, policy, "no/out.csv"), NADIR_ERROR_IO,
                 "no/out.csv");
    assert_fails(context, nadir_policy_read(context, model, "none.csv", &back), NADIR_ERROR_FILE, "none.csv");
    assert_fails(context, nadir_policy_read(context, model, ".", &back), NADIR_ERROR_FILE, "a directory");
    nadir_policy_free(policy);
    nadir_model_free(model);
}

static void regular_models_are_written_as_tables(void **state)
{
    nadir_context *context = *state;
    nadir_model_data made = test_model_data();
    made.states = 2;
    made.rows = 4;
    made.state_rows = (const int64_t[]){0, 2, 4};
    made.dense = (const double[]){1, 0, 0, 1, 0.5, 0.5, 0, 1};
    nadir_model *model = NULL;
    nadir_model *rich = test_rich_model(context);
    nadir_policy *policy = NULL;
    assert_ok(context, nadir_model_create(context, &made, &model));
    assert_ok(context, nadir_policy_create(context, model, (const double[]){0.5, 0.5, 0, 1}, &policy));
    assert_ok(context, nadir_policy_write(context, model, policy, "out.npy"));
    size_t count;
    unsigned char *bytes = test_read_bytes("out.npy", &count);
    assert_non_null(memmem(bytes, count, "(2, 2)", 6));
    free(bytes);
    assert_ok(context, nadir_policy_write(context, model, policy, "out.csv"));
    bytes = test_read_bytes("out.csv", &count);
    bytes[count] = '\0';
    assert_string_equal((char *)bytes, "idstate,idaction,probability\n0,0,0.5\n0,1,0.5\n1,1,1\n");
    free(bytes);
    assert_fails(context, nadir_policy_write(context, rich, policy, "out.csv"), NADIR_ERROR_POLICY,
                 "the policy is for 2 states and 4 rows, the model has 4 and 7");
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_model_free(rich);
}

static void check_initial(const char *initial, const double wanted[4])
{
    nadir_context *context = test_context();
    nadir_model *model = test_rich_model(context);
    double mu[4];
    assert_ok(context, nadir_initial_read(context, model, initial, mu));
    assert_memory_equal(mu, wanted, sizeof mu);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void initial_distributions(void **state)
{
    (void)state;
    const double third = 1.0 / 3;
    const double array[] = {third, 0, third, third};
    const int8_t sure[] = {0, 0, 0, 1};
    check_initial("uniform", (const double[]){0.25, 0.25, 0.25, 0.25});
    check_initial("2", (const double[]){0, 0, 1, 0});
    check_initial("hall", (const double[]){0, 1, 0, 0});
    test_write_npy("mu.npy", &(test_array)TEST_ARRAY("", "=f8", "(4,)", array));
    check_initial("mu.npy", array);
    test_write_npy("mu.npy", &(test_array)TEST_ARRAY("", "|i1", "(4,)", sure));
    check_initial("mu.npy", (const double[]){0, 0, 0, 1});
    test_write_file("mu.csv", "\"probability\",\"idstate\"\r\n0.25,3\r\n0.75,start\r\n");
    check_initial("mu.csv", (const double[]){0.75, 0, 0, 0.25});
}

static void refuse_initial(const char *initial, nadir_status status, const char *words)
{
    nadir_context *context = test_context();
    nadir_model *model = test_rich_model(context);
    double mu[] = {7, 7, 7, 7};
    assert_fails(context, nadir_initial_read(context, model, initial, mu), status, words);
    assert_fails(context, status, status, initial);
    assert_true(mu[0] == 7 && mu[3] == 7);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void refuse_initial_text(const char *text, nadir_status status, const char *words)
{
    test_write_file("mu.csv", text);
    refuse_initial("mu.csv", status, words);
}

static void initial_distributions_that_are_wrong(void **state)
{
    (void)state;
    const double heavy[] = {0.5, 0.5, 0.5, 0};
    const double below[] = {0.5, -0.5, 1, 0};
    refuse_initial("4", NADIR_ERROR_ARGUMENT, "initial state 4 is not in the model; states are 0 to 3");
    refuse_initial("-1", NADIR_ERROR_ARGUMENT, "states are 0 to 3");
    refuse_initial("kitchen", NADIR_ERROR_ARGUMENT, "kitchen: there is no such state or file");
    refuse_initial("", NADIR_ERROR_ARGUMENT, "no such state or file");
    refuse_initial(".", NADIR_ERROR_FILE, "a directory");
    test_write_npy("mu.npy", &(test_array)TEST_ARRAY("", "=f8", "(4,)", heavy));
    refuse_initial("mu.npy", NADIR_ERROR_MODEL, "mu.npy: the initial distribution sums to 1.5");
    test_write_npy("mu.npy", &(test_array)TEST_ARRAY("", "=f8", "(4,)", below));
    refuse_initial("mu.npy", NADIR_ERROR_MODEL, "mu.npy: state 1 (hall): the probability is -0.5");
    test_write_npy("mu.npy", &(test_array)TEST_ARRAY("", "=f8", "(2, 2)", heavy));
    refuse_initial("mu.npy", NADIR_ERROR_FORMAT, "the array has shape (2, 2); expected (4,)");
    refuse_initial_text("idstate,probability\n0,0.5\n", NADIR_ERROR_MODEL, "sums to 0.5");
    refuse_initial_text("idstate,probability\n0,1\n0,0\n", NADIR_ERROR_FORMAT,
                        "mu.csv:3: state 0 was given already in line 2");
    refuse_initial_text("idstate,probability\n9,1\n", NADIR_ERROR_FORMAT,
                        "mu.csv:2: state 9 is not in the model");
    refuse_initial_text("idstate,probability\n0,-1\n", NADIR_ERROR_MODEL,
                        "mu.csv:2: state 0 (start): the probability is -1");
    refuse_initial_text("idstate,probability\n0,inf\n", NADIR_ERROR_MODEL, "the probability is inf");
    refuse_initial_text("idstate,mass\n0,1\n", NADIR_ERROR_FORMAT, "missing column `probability`");
    refuse_initial_text("", NADIR_ERROR_FORMAT, "no lines");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_as_it_should_be),
        cmocka_unit_test(csv_in_other_dialects),
        test_with_context(csv_without_probabilities),
        test_with_context(nothing_is_decided_at_an_end),
        test_with_context(sums_within_the_tolerance_are_normalised),
        cmocka_unit_test(csv_that_is_wrong),
        test_with_context(arrays_as_they_should_be),
        cmocka_unit_test(arrays_that_are_wrong),
        test_with_context(policies_come_back),
        test_with_context(regular_models_are_written_as_tables),
        cmocka_unit_test(initial_distributions),
        cmocka_unit_test(initial_distributions_that_are_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

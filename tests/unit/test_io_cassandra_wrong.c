/* test_io_cassandra_wrong.c: Cassandra files that are wrong, each in one way, and what is said about them. */
#include "support/support.h"

#include "io/format.h"
#include "support/scarce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static nadir_context *context;

static int setup(void **state)
{
    (void)state;
    context = test_context();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    nadir_context_free(context);
    return 0;
}

static const nadir_read_settings settings = {.size = sizeof settings, .discount = NAN};

static void assert_path_wrong(const char *path, nadir_status expected, const char *words)
{
    nadir_model *model = NULL;
    const size_t before = nadir_context_memory(context);
    const nadir_status status = nadir_format_cassandra.read(context, path, &settings, &model);
    assert_fails(context, status, expected, words);
    assert_null(model);
    assert_int_equal(nadir_context_memory(context), before);
}

static void assert_wrong(const char *text, nadir_status expected, const char *words)
{
    test_write_file("wrong.mdp", text);
    assert_path_wrong("wrong.mdp", expected, words);
}

static void assert_format(const char *text, const char *words)
{
    assert_wrong(text, NADIR_ERROR_FORMAT, words);
}

#define TWO     "discount: 0.9\nvalues: reward\nstates: 2\nactions: 1\n"
#define POMDP   TWO "observations: 2\nT: * identity\n"
#define NAMED   "discount: 0.9\nstates: home away\nactions: stay go\nT: stay identity\n"
#define DEPENDS "the reward depends on the observation, and an MDP has none"

static void test_no_such_file_and_directory(void **state)
{
    (void)state;
    assert_path_wrong("nowhere.mdp", NADIR_ERROR_FILE, "nowhere.mdp");
    assert_int_equal(mkdir("folder.mdp", 0700), 0);
    assert_path_wrong("folder.mdp", NADIR_ERROR_FILE, "folder.mdp");
}

static void test_empty_file(void **state)
{
    (void)state;
    assert_format("", "wrong.mdp:1: the file has no states:");
    assert_format("# nothing\n\n", "the file has no states:");
    assert_format("states: 3\ndiscount: 0.9\n", "the file has no actions:");
}

static void test_binary_file(void **state)
{
    (void)state;
    test_write_bytes("wrong.mdp", "states: 2\n\0\1\2", 13);
    assert_path_wrong("wrong.mdp", NADIR_ERROR_FORMAT, "wrong.mdp:2: a zero byte");
}

static void test_truncated_file(void **state)
{
    (void)state;
    assert_format("discount", "'discount' begins no statement");
    assert_format("discount:", "expected a number (the discount), found 'end of file'");
    assert_format("states:", "wrong.mdp:1: states: without a number or names");
    assert_format(TWO "T", "'T' begins no statement");
    assert_format(TWO "T:", "wrong.mdp:5: expected the action, found 'end of file'");
    assert_format(TWO "T: 0 :", "expected the state, found 'end of file'");
    assert_format(TWO "T: 0 : 1 :", "expected the state, found 'end of file'");
    assert_format(TWO "T: 0 : 1 : 1", "expected a number (a probability), found 'end of file'");
    assert_format(TWO "T: 0\n1 0\n0", "number 2 of 2 in row 2 of 2), found 'end of file'");
    assert_format(TWO "T: 0 identity\nR: 0 : 0 :", "expected the state, found 'end of file'");
    assert_format(TWO "start:", "expected the state, found 'end of file'");
    assert_format(TWO "start include", "expected ':' after 'start', found 'end of file'");
    assert_format(TWO "start: 0.5", "'0.5' is neither one of 2 states nor as many probabilities");
    assert_wrong(TWO "T: 0 : 0 : 0 1.0\n", NADIR_ERROR_MODEL,
                 "wrong.mdp: no T statement gives a transition for state 1, action 0");
}

static void test_wrong_counts(void **state)
{
    (void)state;
    assert_format(TWO "T: 0 : 0\n1 0 0\n", "wrong.mdp:6: '0' begins no statement");
    assert_format(TWO "T: 0\n1 0 0\nT: 0 identity\n", "number 2 of 2 in row 2 of 2), found 'T'");
    assert_format(TWO "start: 0.5 0.25 0.25\n", "'0.25' begins no statement");
    assert_format("states: 3\nactions: 1\nstart: 0.5 0.5\nT: 0 identity\n",
                  "wrong.mdp:4: expected a number (a start probability for each state), found 'T'");
    assert_format(TWO "T: 0 : 0 : 0 : 0 1\n", "more than 3 places in a statement T:");
    assert_format(TWO "R: 0 : 0 : 0 : * : 0 1\n", "more than 4 places in a statement R:");
    assert_format(POMDP "O: 0 : 0 0.5\nR: 0 : 0 : 0 : * 1\n", "number 2 of 2 in row 1 of 1), found 'R'");
    assert_format(POMDP "R: 0 : 0\n1 1\n", "number 1 of 2 in row 2 of 2), found 'end of file'");
}

static void test_sizes_that_are_none(void **state)
{
    (void)state;
    assert_format("states: 0\n", "wrong.mdp:1: states: 0; expected at least one");
    assert_format("states: -3\n", "states: '-3'; expected a number from 1 to 2147483647, or names");
    assert_format("actions: 2.5\n", "actions: '2.5'; expected");
    assert_format("states: 2147483648\n", "states: '2147483648'; expected");
    assert_format("states: 99999999999999999999999\n", "states: '99999999999999999999999'; expected");
}

static void test_names_that_are_none(void **state)
{
    (void)state;
    assert_format("states: a b\nc a\n", "wrong.mdp:2: 'a' names state 0 and state 3");
    assert_format("actions: 0 1 3\n", "'3' cannot be action 2");
    assert_format("states: a 1 b\n", "'1' cannot be state 1");
    assert_format("states: 0 1 a\n", "'a' cannot be state 2");
    assert_format("states: 3 4\n", "'4' begins no statement");
    assert_format("states: a * b\n", "expected the name of state, found '*'");
    char text[400] = "states: ";
    memset(text + strlen(text), 'x', 300);
    assert_format(text, "is longer than any name or number");
}

static void test_preamble_out_of_order_or_repeated(void **state)
{
    (void)state;
    assert_format("T: 0 identity\n", "wrong.mdp:1: T: before states:");
    assert_format("states: 2\nR: 0 : 0 : 0 1\n", "R: before actions:");
    assert_format("start: 0\nstates: 2\n", "start: must come after states:");
    assert_format(TWO "T: 0 identity\nobservations: 2\n", "wrong.mdp:6: observations: must come before T:");
    assert_format(TWO "states: 2\n", "wrong.mdp:5: states: again; it stands in line 3 already");
    assert_format(TWO "discount: 0.8\n", "discount: again; it stands in line 1 already");
    assert_format(TWO "start: 0\nstart include: 1\n", "start: again");
}

static void test_unknown_words(void **state)
{
    (void)state;
    assert_format("disount: 0.9\n", "no statement is called 'disount'");
    assert_format("values: profit\n", "values: 'profit'; expected reward or cost");
    assert_format("discount: high\n", "expected a number (the discount), found 'high'");
    assert_format(TWO "0.5\n", "'0.5' begins no statement");
    assert_format(TWO ": 3\n", "':' begins no statement");
    assert_format(TWO "T: 0 : 0 perhaps\n", "number 1 of 2 in row 1 of 1), found 'perhaps'");
    assert_format(TWO "T: 0 : 0 : 0 identity\n", "expected a number (a probability), found 'identity'");
    assert_format(TWO "T 0 : 0 : 0 1\n", "'T' begins no statement");
    assert_format(TWO "start excluding: 0\n", "'start' begins no statement");
}

static void test_members_that_do_not_exist(void **state)
{
    (void)state;
    assert_format(NAMED "T: go : home : shop 1\n", "wrong.mdp:5: 'shop' is not the name of any state");
    assert_format(NAMED "T: run : home : away 1\n", "'run' is not the name of any action");
    assert_format(NAMED "T: go : home : 2 1\n", "there is no state 2; states are 0 to 1");
    assert_format(NAMED "T: -1 : home : 0 1\n", "there is no action -1; actions are 0 to 1");
    assert_format(NAMED "start: shop\n", "'shop' is not the name of any state");
    assert_format(NAMED "start include: home *\n", "expected the state, found '*'");
    assert_format(NAMED "start: 2\n", "'2' is neither one of 2 states nor");
    assert_format(NAMED "start exclude: home away\n", "wrong.mdp:5: start exclude: leaves no state");
    assert_format(POMDP "O: 0 : 0 : 2 1\n", "there is no observation 2; observations are 0 to 1");
}

static void test_observations_where_there_are_none(void **state)
{
    (void)state;
    assert_format(TWO "O: * uniform\n", "wrong.mdp:5: O: in a file without observations:");
    assert_format(TWO "R: 0 : 0 : 0 : 0 1\n", "observation '0' in a file without observations:");
}

static void test_rewards_that_depend_on_the_observation(void **state)
{
    (void)state;
    assert_format(POMDP "R: 0 : 0 : 0 : 1 5\n", "wrong.mdp:7: " DEPENDS);
    assert_format(POMDP "R: 0 : 0 : 0 : 0 5\nT: 0 identity\n", "wrong.mdp:7: " DEPENDS);
    assert_format(POMDP "\nR: 0 : 0 : 0 : 0 5\nR: 0 : 0 : 0 : 1 6\n", "wrong.mdp:8: " DEPENDS);
    assert_format(POMDP "R: 0 : 0 : 0 : 0 5\nR: 0 : 0 : 1 : 1 5\n", DEPENDS);
    assert_format(POMDP "R: 0 : 0 : 0 : 0 5\nR: 0 : 0 : 0 5 5\n", DEPENDS);
    assert_format(POMDP "R: 0 : 0 : 0\n1\n2\n", "wrong.mdp:9: " DEPENDS);
    assert_format(POMDP "R: 0 : 0\n1 1\n1 2\n", "wrong.mdp:9: " DEPENDS);
    assert_format(POMDP "R: 0\n1 1\n1 2\n", "wrong.mdp:7: R: with an action alone");
}

static void test_probabilities_that_are_none(void **state)
{
    (void)state;
    assert_wrong(TWO "T: 0\n1.5 -0.5\n0 1\n", NADIR_ERROR_MODEL,
                 "wrong.mdp:5: state 0, action 0: the probability of successor 1 is -0.5");
    assert_wrong(TWO "T: 0 identity\nT: 0 : 1 : 0 nan\n", NADIR_ERROR_MODEL,
                 "wrong.mdp:6: state 1, action 0: the probability of successor 0 is nan");
    assert_wrong(TWO "T: 0 identity\nT: 0 : 1 : 1 inf\n", NADIR_ERROR_MODEL, "is inf; expected a number");
    assert_wrong(TWO "start: 1.5 -0.5\nT: 0 identity\n", NADIR_ERROR_MODEL,
                 "the initial probability of state 1 is -0.5");
    assert_wrong(TWO "start: 0.5 0.4\nT: 0 identity\n", NADIR_ERROR_MODEL,
                 "the initial distribution sums to 0.9; expected 1");
    assert_wrong(TWO "T: 0 identity\nR: 0 : 1 : 1 : * inf\n", NADIR_ERROR_MODEL, "is inf; expected a finite");
}

static void test_row_sum_off(void **state)
{
    (void)state;
    assert_wrong(NAMED "T: go : home : home 0.5\nT: go : away : home 1\nT: go : home : away 0.4\n",
                 NADIR_ERROR_MODEL,
                 "wrong.mdp:7: state 0 (home), action 1 (go): probabilities sum to 0.9; expected 1");
}

static void test_rows_never_given(void **state)
{
    (void)state;
    assert_wrong(NAMED "T: go : home : away 1\n", NADIR_ERROR_MODEL,
                 "no T statement gives a transition for state 1 (away), action 1 (go)");
    assert_wrong(TWO "T: * : * : * 0.0\nT: 0 : 0 : 0 1\n", NADIR_ERROR_MODEL,
                 "no T statement gives a transition for state 1, action 0");
    assert_wrong(TWO "T: 0 identity\nT: 0 : 1 : 1 0\n", NADIR_ERROR_MODEL,
                 "no T statement gives a transition for state 1, action 0");
}

/* Sizes that a short file cannot mean; nothing in proportion to them may be allocated. */
static void test_huge_sizes(void **state)
{
    (void)state;
    const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"states: 2000000000\nactions: 2\n", "states: 2000000000 and actions: 2 stand for about 4e+09"},
        {"states: 2147483647\nactions: 2147483647\nT: * : * : * 0\n", "about 4.61e+18 transitions"},
        {"states: 1000000\nactions: 1000\nT: * identity\n", "about 1e+09 transitions"},
        {"states: 10000000\nactions: 1\nT: * : * uniform\n", "a file of 45 bytes may stand for"},
        {"states: 100000\nactions: 1\nT: * uniform\n", "about 1e+10 transitions"},
        {"states: 100000\nactions: 1\nT: * reset\n", "about 1e+10 transitions"},
        {"states: 100000\nactions: 1\nT: * : * : * 1\n", "about 1e+10 transitions"},
        {"states: 2000000000\nactions: 1\nT: 0\n1 0 0\n", "number 4 of 2000000000 in row 1 of 2000000000"},
        {"states: 2000000000\nactions: 1\nstart: 0.5 0.5\n", "a start probability for each state"},
        {"states: 2\nactions: 1\nobservations: 2000000000\nO: 0 1 1\n", "number 3 of 2000000000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_format(cases[i].text, cases[i].words);
    }
    assert_true(nadir_context_memory_peak(context) < 8 << 20);
}

/* Many wildcards that override one another cost time though they leave nothing behind. */
static void test_wildcards_that_override_one_another(void **state)
{
    (void)state;
    char *text = malloc(1 << 20);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "states: 1000000\nactions: 1\nT: * identity\n");
    for (int i = 0; i < 10000; i++) {
        used += (size_t)sprintf(text + used, "T: * : * : %d 0\n", i);
    }
    assert_format(text, "about 1e+10 transitions");
    free(text);
}

static void test_memory_limit_of_the_context(void **state)
{
    (void)state;
    nadir_context *small = test_context_memory(4 << 20);
    test_write_file("large.mdp", "states: 1000000\nactions: 1\nT: * identity\n");
    nadir_model *model = NULL;
    const nadir_status status = nadir_format_cassandra.read(small, "large.mdp", &settings, &model);
    assert_fails(small, status, NADIR_ERROR_MEMORY, "memory");
    nadir_context_free(small);
}

static nadir_status attempt(nadir_context *scarce, const void *of)
{
    nadir_model *model = NULL;
    const nadir_status status = nadir_format_cassandra.read(scarce, of, &settings, &model);
    nadir_model_free(model);
    return status;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    test_write_file("model.mdp", "discount: 0.9\nstates: a b c\nactions: x y\nobservations: 2\n"
                                 "start include: a b\nT: y : b : a 1\nT: x reset\nT: y : a : b 1\n"
                                 "T: y : c\n0.5 0.25 0.25\nR: x : * : b : * 2\nR: * : a : * : * 1\n");
    (void)test_run_out(attempt, "model.mdp", NULL, "reading");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_such_file_and_directory),
        cmocka_unit_test(test_empty_file),
        cmocka_unit_test(test_binary_file),
        cmocka_unit_test(test_truncated_file),
        cmocka_unit_test(test_wrong_counts),
        cmocka_unit_test(test_sizes_that_are_none),
        cmocka_unit_test(test_names_that_are_none),
        cmocka_unit_test(test_preamble_out_of_order_or_repeated),
        cmocka_unit_test(test_unknown_words),
        cmocka_unit_test(test_members_that_do_not_exist),
        cmocka_unit_test(test_observations_where_there_are_none),
        cmocka_unit_test(test_rewards_that_depend_on_the_observation),
        cmocka_unit_test(test_probabilities_that_are_none),
        cmocka_unit_test(test_row_sum_off),
        cmocka_unit_test(test_rows_never_given),
        cmocka_unit_test(test_huge_sizes),
        cmocka_unit_test(test_wildcards_that_override_one_another),
        cmocka_unit_test(test_memory_limit_of_the_context),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

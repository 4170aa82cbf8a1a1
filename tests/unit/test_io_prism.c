/* test_io_prism.c: reading explicit files of PRISM and Storm: the transitions. */
#include "support/support.h"

#include "support/formats.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* PRISM's style: 4 states, 5 choices, 7 transitions; state 3 has no choice. */
static const char counted[] = "4 5 7\n"
                              "0 0 0 0.25\n0 0 1 0.75\n"
                              "0 1 2 1\n"
                              "1 0 3 1\n"
                              "2 0 0 0.5\n2 0 3 0.5\n"
                              "2 1 2 1\n";

static nadir_model *read_good(nadir_context *context, const char *text)
{
    return test_format_read_text(context, &nadir_format_prism, "model.tra", text);
}

/* The text is refused with these words. */
static void refuse_as(nadir_status expected, const char *text, const char *words)
{
    test_write_file("model.tra", text);
    test_format_refuse(&nadir_format_prism, "model.tra", NULL, expected, words);
}

static void refuse(const char *text, const char *words)
{
    refuse_as(NADIR_ERROR_FORMAT, text, words);
}

/* Both texts give the same model. */
static void assert_same(const char *left, const char *right)
{
    test_format_assert_same(&nadir_format_prism, "model.tra", left, right, NULL);
}

static void test_counts_of_prism(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_good(context, counted);
    assert_int_equal(model->states, 4);
    assert_int_equal(model->rows, 6); /* the terminal state has one */
    assert_int_equal(model->nonzeros, 8);
    assert_true(test_probability(model, 0, 1) == 0.75);
    assert_true(test_probability(model, 4, 2) == 1);
    assert_true(nadir_model_is_terminal(model, 3));
    assert_null(model->rewards);
    assert_null(nadir_model_action_name(model, 0));
    assert_true(model->initial[2] == 0.25);
    assert_non_null(strstr(test_messages(), "1 state has no action"));
    nadir_model_free(model);
}

static void test_word_of_storm(void **state)
{
    (void)state;
    char text[256];
    (void)snprintf(text, sizeof text, "mdp%s", strchr(counted, '\n'));
    assert_same(counted, text);
    assert_same("mdp\n0 0 0 1 \n", "MDP \n0 0 0 1\n");
}

static void test_markov_chains(void **state)
{
    (void)state;
    const char *mdp = "3 2 3\n0 0 1 0.5\n0 0 2 0.5\n1 0 1 1\n";
    assert_same(mdp, "3 3\n0 1 0.5\n0 2 0.5\n1 1 1\n");
    assert_same(mdp, "dtmc\n0 1 0.5\n0 2 0.5\n1 1 1\n");
    assert_same(mdp, "3 3\n0 1 0.5 go\n0 2 0.5 come\n1 1 1\n"); /* labels say nothing in a chain */
}

static void test_any_order_comments_blanks_line_ends(void **state)
{
    (void)state;
    assert_same(counted, "# Transitions (MDP)\r\n\r\n4 5 7\r\n"
                         "2 1 2 1\r\n0 1 2 1\r\n# half way\r\n  2 0 3 0.5 \r\n\t0 0 1 .75\r\n"
                         "2 0 0 5e-1\r\n0 0 0 0.25\r\n1\t0  3 1.0");
}

static void test_quotients(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_good(context, "2 1 2\n0 0 0 1/3\n0 0 1 2/3\n");
    assert_true(test_probability(model, 0, 0) == 1.0 / 3);
    nadir_model_free(model);
}

static void test_duplicate_transitions_add_up(void **state)
{
    (void)state;
    assert_same("2 1 2\n0 0 0 0.5\n0 0 1 0.5\n", "2 1 3\n0 0 1 0.25\n0 0 0 0.5\n0 0 1 0.25\n");
}

static void test_gaps_in_choices(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_good(context, "1 2 2\n0 7 0 1\n0 2 0 1\n");
    assert_int_equal(model->row_actions[0], 2);
    assert_int_equal(model->row_actions[1], 7);
    nadir_model_free(model);
}

static void test_labels_are_names(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_good(context, "2 4 5\n0 0 0 1 west\n0 1 0 0.5 east\n0 1 1 0.5 east\n"
                                            "1 0 1 1 east\n1 1 0 1 stay\n");
    assert_int_equal(model->action_names.count, 3);
    assert_string_equal(nadir_model_action_name(model, 0), "west");
    assert_string_equal(nadir_model_action_name(model, 1), "east");
    assert_string_equal(nadir_model_action_name(model, 2), "east");
    assert_string_equal(nadir_model_action_name(model, 3), "stay");
    assert_int_equal(nadir_model_row_action(model, 1, 2), 1); /* the same number as in state 0 */
    nadir_model_free(model);
}

static void test_labels_that_are_numbers(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_good(context, "1 3 3\n0 0 0 1 30\n0 1 0 1 5\n0 2 0 1 0\n");
    assert_int_equal(model->action_names.count, 0);
    assert_int_equal(model->row_actions[0], 0);
    assert_int_equal(model->row_actions[1], 5);
    assert_int_equal(model->row_actions[2], 30);
    nadir_model_free(model);

    /* Twice in a state, or not written the plain way: they are names. */
    model = read_good(context, "1 2 2\n0 0 0 1 7\n0 1 0 1 7\n");
    assert_string_equal(nadir_model_action_name(model, 0), "7");
    assert_string_equal(nadir_model_action_name(model, 1), "7#2");
    nadir_model_free(model);
    model = read_good(context, "1 2 2\n0 0 0 1 07\n0 1 0 1 7\n");
    assert_string_equal(nadir_model_action_name(model, 0), "07");
    nadir_model_free(model);
}

static void test_repeated_labels_get_numbers(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_good(context, "2 6 6\n0 0 0 1 a\n0 1 0 1 a\n0 2 0 1 a\n0 3 0 1 b\n"
                                            "1 0 0 1 a\n1 1 0 1 a\n");
    assert_int_equal(model->action_names.count, 4);
    assert_string_equal(nadir_model_action_name(model, 0), "a");
    assert_string_equal(nadir_model_action_name(model, 1), "b");
    assert_string_equal(nadir_model_action_name(model, 2), "a#2");
    assert_string_equal(nadir_model_action_name(model, 3), "a#3");
    assert_string_equal(nadir_model_action_name(model, 5), "a#2");
    nadir_model_free(model);

    /* A file may use such a name itself. */
    model = read_good(context, "1 3 3\n0 0 0 1 a\n0 1 0 1 a#2\n0 2 0 1 a\n");
    assert_string_equal(nadir_model_action_name(model, 1), "a#2");
    assert_string_equal(nadir_model_action_name(model, 2), "a#3");
    nadir_model_free(model);
}

static void test_some_choices_without_label(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_good(context, "2 3 3\n0 0 1 1 go\n1 0 0 1\n1 1 1 1 0\n");
    assert_string_equal(nadir_model_action_name(model, 0), "go");
    assert_string_equal(nadir_model_action_name(model, 1), "0");
    assert_string_equal(nadir_model_action_name(model, 2), "__NOLABEL__");
    nadir_model_free(model);
}

static void test_two_labels_of_one_choice(void **state)
{
    (void)state;
    refuse("2 1 2\n0 0 0 0.5 a\n0 0 1 0.5 b\n", "model.tra:3: state 0, choice 0: the label is b here and a");
    refuse("2 2 3\n0 0 0 0.5 a\n1 0 1 1 a\n0 0 1 0.5 b\n", "state 0, choice 0 has the labels a and b");
}

static void test_wrong_counts(void **state)
{
    (void)state;
    refuse("1 1 2\n0 0 0 1\n", "2 transitions are declared, the file has 1");
    refuse("1 1 1\n0 0 0 0.5\n0 0 0 0.5\n", "1 transitions are declared, the file has 2");
    refuse("1 2 1\n0 0 0 1\n", "2 choices are declared, the file has 1");
    refuse("1 1 2\n0 0 0 1\n0 1 0 1\n", "1 choices are declared, the file has 2");
    refuse("1 1 1\n0 0 1 1\n", "model.tra:2: state 1, but 1 states are declared");
    refuse("2 2\n0 0 1\n", "2 transitions are declared, the file has 1");
    refuse("0 0 0\n", "0 states, 0 choices, 0 transitions declared");
    refuse("1 -1 0\n", "-1 choices");
}

static void test_huge_counts(void **state)
{
    (void)state;
    refuse("1 1 4000000000000\n0 0 0 1\n", "a file of 26 bytes cannot hold so many");
    refuse("2000000000 1 1\n0 0 0 1\n", "2000000000 states but only 1 transitions");
    refuse("99999999999 1 1\n0 0 0 1\n", "99999999999 states");
    refuse("mdp\n2000000000 0 0 1\n", "2000000001 states but only 1 transitions");
    refuse("mdp\n99999999999 0 0 1\n", "model.tra:2: state 99999999999");
    refuse("mdp\n0 99999999999 0 1\n", "action 99999999999");
    refuse("mdp\n0 99999999999999999999999 0 1\n", "model.tra:2: found 0 9999");
    refuse("mdp\n-1 0 0 1\n", "state -1");
}

static void test_truncated(void **state)
{
    (void)state;
    refuse("", "the file is empty");
    refuse("\n# only a comment\n", "the file is empty");
    refuse("mdp\n", "ends without a transition");
    refuse("1 1 1\n0 0 0\n", "model.tra:2: found 0 0 0; expected `state choice successor probability");
    refuse("1 1\n0 0\n", "found 0 0; expected `state successor probability`");
}

static void test_lines_that_are_no_transition(void **state)
{
    (void)state;
    refuse("mdp\n0 0 0 one\n", "model.tra:2: found 0 0 0 one");
    refuse("mdp\n0 0 0 1 a b\n", "model.tra:2: found 0 0 0 1 a b");
    refuse("mdp\n0 0 0 1x\n", "model.tra:2");
    refuse("mdp\n0 0 0 1/0\n", "model.tra:2");
    refuse("mdp\n0 0 0 1[a\n", "model.tra:2");
    refuse("mdp\n0 0.5 0 1\n", "model.tra:2");
    refuse("1 1 1\n0 1:0 go\n", "row form");
    refuse("1 1 1\n0 0 0 [0.5,1 go\n", "expected `state choice successor probability [action]`");
    refuse("mdp\n0,0,0,1\n", "model.tra:2");
}

static void test_other_models(void **state)
{
    (void)state;
    refuse("ctmc\n0 0 1\n", "a model of type ctmc; only MDPs and Markov chains");
    refuse("# Transitions (CTMC)\n1 1\n0 0 2.5\n", "a model of type CTMC");
    refuse("STATES 3\nTRANSITIONS 4\n", "a model of type STATES");
    refuse("mdp 3\n0 0 0 1\n", "a model of type mdp");
    refuse("2 2 2 1\n- - 0 - 0\n0 0 1 1 0\n", "four numbers begin a POMDP");
    refuse("0 0 1 0.5\n", "expected the numbers of states, choices and transitions");
}

static void test_bad_probabilities(void **state)
{
    (void)state;
    refuse_as(NADIR_ERROR_MODEL, "1 1 2\n0 0 0 -0.5\n0 0 0 1.5\n",
              "model.tra:2: state 0, action 0: the prob");
    refuse_as(NADIR_ERROR_MODEL, "1 1 1\n0 0 0 nan\n", "the probability of successor 0 is nan");
    refuse_as(NADIR_ERROR_MODEL, "1 1 1\n0 0 0 1e999\n", "the probability of successor 0 is inf");
    refuse_as(NADIR_ERROR_MODEL, "2 2 2\n0 0 0 1 go\n1 0 0 0.9 stop\n",
              "model.tra:3: state 1, action 1 (stop): probabilities sum to 0.9");
}

static void test_files_that_cannot_be_read(void **state)
{
    (void)state;
    test_format_refuse(&nadir_format_prism, "none.tra", NULL, NADIR_ERROR_FILE, "none.tra: cannot open");
    assert_int_equal(mkdir("folder.tra", 0777), 0);
    test_format_refuse(&nadir_format_prism, "folder.tra", NULL, NADIR_ERROR_FILE, "a directory");
    refuse("mdp\n\x01 0 0 1\n", "model.tra:2: found ? 0 0 1");
    test_write_bytes("zero.tra", "mdp\n0 0 0\0 1\n", 13);
    test_format_refuse(&nadir_format_prism, "zero.tra", NULL, NADIR_ERROR_FORMAT, "zero.tra:2: a zero byte");
}

static void test_recognised_by_content(void **state)
{
    (void)state;
    static const char *const yes[] = {counted,  "mdp\n0 0 0 1\n", "\xEF\xBB\xBF# a comment\n\nDTMC\r\n",
                                      "ctmc\n", "1 0 0\n",        "3 3\n0 1 1/2\n"};
    static const char *const no[] = {"",
                                     "# nothing\n",
                                     "mdp model\n",
                                     "idstatefrom,idaction\n0,0\n",
                                     "discount: 0.9\n",
                                     "@type: MDP\n",
                                     "1 2 3\nfour five\n",
                                     "12\n"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        assert_true(nadir_format_prism.recognises(yes[i], strlen(yes[i])));
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        assert_false(nadir_format_prism.recognises(no[i], strlen(no[i])));
    }
    assert_false(nadir_format_prism.recognises("\0\x12\x7b\x50\0\0", 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_counts_of_prism),
        cmocka_unit_test(test_word_of_storm),
        cmocka_unit_test(test_markov_chains),
        cmocka_unit_test(test_any_order_comments_blanks_line_ends),
        test_with_context(test_quotients),
        cmocka_unit_test(test_duplicate_transitions_add_up),
        test_with_context(test_gaps_in_choices),
        test_with_context(test_labels_are_names),
        test_with_context(test_labels_that_are_numbers),
        test_with_context(test_repeated_labels_get_numbers),
        test_with_context(test_some_choices_without_label),
        cmocka_unit_test(test_two_labels_of_one_choice),
        cmocka_unit_test(test_wrong_counts),
        cmocka_unit_test(test_huge_counts),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_lines_that_are_no_transition),
        cmocka_unit_test(test_other_models),
        cmocka_unit_test(test_bad_probabilities),
        cmocka_unit_test(test_files_that_cannot_be_read),
        cmocka_unit_test(test_recognised_by_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_io_csv.c: reading models from craam CSV. */
#include "support/support.h"

#include "support/formats.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER "idstatefrom,idaction,idstateto,probability,reward\n"

static nadir_model *read_text(nadir_context *context, const char *text)
{
    return test_format_read_text(context, &nadir_format_csv, "model.csv", text);
}

/* Two states, two actions in the first: the model that the dialects below spell in different ways. */
static const char plain[] = HEADER "0,0,0,0.25,1\n"
                                   "0,0,1,0.75,5\n"
                                   "0,1,1,1,-2.5\n"
                                   "1,0,0,1,0.125\n";

static void test_plain(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_text(context, plain);
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.states, 2);
    assert_int_equal(view.rows, 3);
    assert_int_equal(view.nonzeros, 4);
    assert_int_equal(view.state_rows[1], 2);
    assert_true(test_probability(model, 0, 0) == 0.25 && test_probability(model, 0, 1) == 0.75);
    assert_true(test_probability(model, 1, 1) == 1 && test_probability(model, 2, 0) == 1);
    assert_true(view.rewards[0] == 4 && view.rewards[1] == -2.5 && view.rewards[2] == 0.125);
    assert_non_null(view.transition_rewards);
    assert_true(isnan(view.discount));
    assert_string_equal(test_messages(), "");
    nadir_model_free(model);
}

/* `text` says the same as `plain`, and says `message` to the user. */
static void assert_same_as_plain(const char *text, const char *message)
{
    test_format_assert_same(&nadir_format_csv, "model.csv", plain, text, message);
}

static void test_quoted(void **state)
{
    (void)state;
    assert_same_as_plain("\"idstatefrom\",\"idaction\",\"idstateto\",\"probability\",\"reward\"\n"
                         "\"0\",\"0\",0,0.25,1\n0,0,1,\"0.75\",\"5\"\n0,1,1,1,-2.5\n1,0,0,1,0.125\n",
                         "");
}

/* Names are numbered as they appear, states and actions each among their own; a successor alone is terminal. */
static void test_names(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_text(context, "from,a,to,p,r\n"
                                            "new,run,worn,0.25,1\nnew,run,new,0.75,1\n"
                                            "worn,service,new,1,-2\nworn,run,\"broken, for good\",1,3\n");
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.states, 3);
    assert_int_equal(view.rows, 4);
    assert_string_equal(nadir_model_state_name(model, 0), "new");
    assert_string_equal(nadir_model_state_name(model, 1), "worn");
    assert_string_equal(nadir_model_state_name(model, 2), "broken, for good");
    assert_string_equal(nadir_model_action_name(model, 0), "run");
    assert_string_equal(nadir_model_action_name(model, 1), "run");
    assert_string_equal(nadir_model_action_name(model, 2), "service");
    assert_true(test_probability(model, 0, 1) == 0.25 && test_probability(model, 1, 2) == 1);
    assert_true(view.rewards[1] == 3 && view.rewards[2] == -2);
    nadir_model_free(model);
}

static void test_column_order(void **state)
{
    (void)state;
    assert_same_as_plain("reward,probability,IdStateTo,IDACTION,idstatefrom\n"
                         "1,0.25,0,0,0\n5,0.75,1,0,0\n-2.5,1,1,1,0\n0.125,1,0,0,1\n",
                         "");
}

static void test_surplus_columns(void **state)
{
    (void)state;
    assert_same_as_plain("time,idstatefrom,idaction,idstateto,probability,comment,reward\n"
                         "9,0,0,0,0.25,\"a, b\",1\n9,0,0,1,0.75,,5\n9,0,1,1,1,,-2.5\n9,1,0,0,1,,0.125\n",
                         "model.csv: columns not used: `time`, `comment`\n");
}

static void test_line_ends_comments_and_byte_order_mark(void **state)
{
    (void)state;
    assert_same_as_plain("\xEF\xBB\xBF# made by hand\r\n\r\n"
                         "idstatefrom,idaction,idstateto,probability,reward\r\n"
                         "0,0,0,0.25,1\r\n# a comment\r\n0,0,1,0.75,5\r\n  \r\n0,1,1,1,-2.5\r\n"
                         "1, 0 ,\t0,1,0.125",
                         "");
}

static void test_numbers_as_r_writes_them(void **state)
{
    (void)state;
    assert_same_as_plain(HEADER "0.0,0.0,0,.25,1e0\n0,0,1.0,75e-2,+5\n0,1,1,1.,-2.5\n1e0,0,0,1,0.125\n", "");
}

static void test_any_line_order(void **state)
{
    (void)state;
    assert_same_as_plain(HEADER "1,0,0,1,0.125\n0,1,1,1,-2.5\n0,0,1,0.75,5\n0,0,0,0.25,1\n", "");
}

static void test_duplicates_add_up(void **state)
{
    (void)state;
    assert_same_as_plain(HEADER "0,0,0,0.25,1\n0,0,1,0.25,9\n0,0,1,0.5,3\n0,1,1,1,-2.5\n1,0,0,1,0.125\n", "");
}

static void test_zero_probabilities_are_dropped(void **state)
{
    (void)state;
    assert_same_as_plain(
        HEADER "0,0,0,0.25,1\n0,0,1,0.75,5\n0,1,0,0,77\n0,1,1,1,-2.5\n1,0,0,1,0.125\n1,0,1,0.0,1e9\n", "");
}

static void test_transition_rewards_are_frozen_on_request(void **state)
{
    nadir_context *context = *state;
    const nadir_read_settings settings = {.size = sizeof settings, .discount = NAN, .frozen_rewards = true};
    nadir_model *model = NULL;
    test_write_file("model.csv", plain);
    assert_ok(context, nadir_format_csv.read(context, "model.csv", &settings, &model));
    assert_null(test_view(model).transition_rewards);
    assert_true(test_view(model).rewards[0] == 4);
    nadir_model_free(model);
}

static void test_gaps_in_actions(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_text(context, HEADER "0,7,0,1,1\n0,2,1,1,1\n1,5,1,1,1\n");
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.rows, 3);
    assert_int_equal(view.row_actions[0], 2);
    assert_int_equal(view.row_actions[1], 7);
    assert_int_equal(view.row_actions[2], 5);
    nadir_model_free(model);
}

/* State 1 is skipped, state 3 is only ever a successor. */
static void test_terminal_states(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_text(context, HEADER "0,0,2,1,1\n2,0,3,1,1\n");
    assert_int_equal(test_view(model).states, 4);
    assert_false(nadir_model_is_terminal(model, 0));
    assert_true(nadir_model_is_terminal(model, 1));
    assert_true(nadir_model_is_terminal(model, 3));
    assert_non_null(strstr(test_messages(), "2 states have no action (1, 3): terminal"));
    nadir_model_free(model);
}

static bool recognised(const char *head)
{
    return nadir_format_csv.recognises(head, strlen(head));
}

static void test_recognises(void **state)
{
    (void)state;
    assert_true(recognised(plain));
    assert_true(recognised("# c\r\n\r\n \n\"reward\",\"IdStateFrom\"\n"));
    assert_true(recognised("\xEF\xBB\xBFidstatefrom"));
    assert_true(recognised("\xEF\xBB\xBF# c\nidstatefrom"));
    assert_true(recognised("idaction;idstatefrom;idstateto"));
    assert_false(recognised(""));
    assert_false(recognised("# idstatefrom\n"));
    assert_false(recognised("idstate,idaction,probability\n# idstatefrom\n"));
    assert_false(recognised("mdp\n0 0 1 1\n"));
    assert_false(recognised("idstatefro"));
}

static void refuse(const char *text, nadir_status expected, const char *words)
{
    test_write_file("bad.csv", text);
    test_format_refuse(&nadir_format_csv, "bad.csv", NULL, expected, words);
}

static void test_empty(void **state)
{
    (void)state;
    refuse("", NADIR_ERROR_FORMAT, "bad.csv: the file holds no lines; expected a header");
    refuse("\xEF\xBB\xBF", NADIR_ERROR_FORMAT, "the file holds no lines");
    refuse(HEADER "# nothing\n", NADIR_ERROR_FORMAT, "no transitions follow the header");
}

static void test_missing_column(void **state)
{
    (void)state;
    refuse("idstatefrom,idaction,idstateto,reward\n0,0,0,1\n", NADIR_ERROR_FORMAT,
           "bad.csv:1: missing column `probability`; the header must name `state` or `idstatefrom`, "
           "`action` or `idaction`, `next_state` or `idstateto`, `probability` or `prob`, `reward` or `r`; "
           "for logged data: nadir fit");
    refuse("0,0,0,1,1\n", NADIR_ERROR_FORMAT, "missing column `state`");
}

static void test_column_twice(void **state)
{
    (void)state;
    refuse("idstatefrom,idaction,idaction,idstateto,probability,reward\n", NADIR_ERROR_FORMAT,
           "bad.csv:1: the header names column `action` twice");
}

static void test_outcomes_are_for_fit(void **state)
{
    (void)state;
    refuse("idoutcome,idstatefrom,idaction,idstateto,probability,reward\n0,0,0,0,1,1\n", NADIR_ERROR_FORMAT,
           "`nadir fit`");
}

static void test_other_separators(void **state)
{
    (void)state;
    refuse("idstatefrom;idaction;idstateto;probability;reward\n0;0;0;1;1\n", NADIR_ERROR_FORMAT,
           "with commas (not semicolons or tabs)");
}

static void test_wrong_number_of_cells(void **state)
{
    (void)state;
    refuse(HEADER "0,0,0,1,1\n0,1,0,1\n", NADIR_ERROR_FORMAT, "bad.csv:3: 4 cells; expected 5");
    refuse(HEADER "0,0,0,1,1,\n", NADIR_ERROR_FORMAT, "bad.csv:2: 6 cells; expected 5");
    refuse(HEADER "0,0,0,1,1\n0,1,0", NADIR_ERROR_FORMAT, "bad.csv:3: 3 cells; expected 5");
}

static void test_bad_cells(void **state)
{
    (void)state;
    refuse(HEADER "0,0,0,1,1\n0,x,0,1,1\n", NADIR_ERROR_FORMAT,
           "bad.csv:3: `idaction` is `x`, a name, but line 2 has a number");
    refuse(HEADER "0,,0,1,1\n", NADIR_ERROR_FORMAT,
           "bad.csv:2: `idaction` is ``; expected a whole number or a name");
    refuse(HEADER "0,0,0.5,1,1\n", NADIR_ERROR_FORMAT, "`idstateto` is `0.5`; expected a whole number");
    refuse(HEADER "0,0,0,one,1\n", NADIR_ERROR_FORMAT, "`probability` is `one`; expected a number");
    refuse(HEADER "0,0,0,1,\n", NADIR_ERROR_FORMAT, "`reward` is ``; expected a number");
    refuse(HEADER "0,0,0,1,\"1\n", NADIR_ERROR_FORMAT, "bad.csv:2: the quote of `\"1` is not closed");
}

static void test_index_out_of_range(void **state)
{
    (void)state;
    refuse(HEADER "-1,0,0,1,1\n", NADIR_ERROR_FORMAT, "bad.csv:2: state -1, action 0, successor 0: expected");
    refuse(HEADER "0,-1,0,1,1\n", NADIR_ERROR_FORMAT, "action -1");
    refuse(HEADER "0,0,2147483647,1,1\n", NADIR_ERROR_FORMAT, "successor 2147483647: expected numbers");
    refuse(HEADER "0,4294967296,0,1,1\n", NADIR_ERROR_FORMAT, "action 4294967296");
}

static void test_huge_state_number(void **state)
{
    (void)state;
    refuse(HEADER "0,0,2147483646,1,1\n", NADIR_ERROR_FORMAT,
           "bad.csv: 2147483647 states but only 1 transitions");
}

static void test_bad_numbers(void **state)
{
    (void)state;
    refuse(HEADER "0,0,0,1,1\n0,1,0,1.5,1\n0,1,1,-0.5,1\n", NADIR_ERROR_MODEL,
           "bad.csv:3: state 0, action 1: the probability of successor 1 is -0.5");
    refuse(HEADER "0,0,0,nan,1\n", NADIR_ERROR_MODEL, "the probability of successor 0 is nan");
    refuse(HEADER "0,0,0,inf,1\n", NADIR_ERROR_MODEL, "the probability of successor 0 is inf");
    refuse(HEADER "0,0,0,1,-inf\n", NADIR_ERROR_MODEL, "the reward with successor 0 is -inf");
    refuse(HEADER "0,0,0,1,1e999\n", NADIR_ERROR_MODEL, "the reward with successor 0 is inf");
}

static void test_row_sum_off(void **state)
{
    (void)state;
    refuse(HEADER "0,0,0,1,1\n0,1,0,0.5,1\n0,1,1,0.4,1\n", NADIR_ERROR_MODEL,
           "bad.csv:3: state 0, action 1: probabilities sum to 0.9; expected 1");
}

static void test_row_sum_nearly_one(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_text(context, HEADER "0,0,0,0.333333,1\n0,0,1,0.666666,1\n1,0,1,1,1\n");
    assert_close(test_probability(model, 0, 1), 2.0 / 3, 1e-15);
    assert_non_null(strstr(test_messages(), "1 row was normalised"));
    nadir_model_free(model);
}

static void test_binary(void **state)
{
    nadir_context *context = *state;
    nadir_model *model;
    test_write_bytes("bad.csv", HEADER "0,0,0,1\0,1\n", sizeof HEADER + 10);
    assert_fails(context, test_format_read(context, &nadir_format_csv, "bad.csv", NULL, &model),
                 NADIR_ERROR_FORMAT, "bad.csv:2: a zero byte");
}

static void test_not_a_readable_file(void **state)
{
    nadir_context *context = *state;
    nadir_model *model;
    assert_fails(context, test_format_read(context, &nadir_format_csv, "none.csv", NULL, &model),
                 NADIR_ERROR_FILE, "none.csv: cannot open");
    assert_int_equal(mkdir("folder.csv", 0777), 0);
    assert_fails(context, test_format_read(context, &nadir_format_csv, "folder.csv", NULL, &model),
                 NADIR_ERROR_FILE, "a directory");
    if (geteuid() != 0) { /* root may read everything */
        test_write_file("secret.csv", plain);
        assert_int_equal(chmod("secret.csv", 0), 0);
        assert_fails(context, test_format_read(context, &nadir_format_csv, "secret.csv", NULL, &model),
                     NADIR_ERROR_FILE, "ermission");
    }
}

static int stop_at_once(void *user, const char *task, double share)
{
    (void)user;
    (void)task;
    (void)share;
    return 1;
}

static void test_interrupted(void **state)
{
    (void)state;
    nadir_model *model;
    nadir_context *context = test_context_progress(stop_at_once, NULL);
    test_write_file("model.csv", plain);
    assert_int_equal(test_format_read(context, &nadir_format_csv, "model.csv", NULL, &model),
                     NADIR_ERROR_INTERRUPTED);
    assert_null(model);
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_plain),
        test_with_context(test_names),
        cmocka_unit_test(test_quoted),
        cmocka_unit_test(test_column_order),
        cmocka_unit_test(test_surplus_columns),
        cmocka_unit_test(test_line_ends_comments_and_byte_order_mark),
        cmocka_unit_test(test_numbers_as_r_writes_them),
        cmocka_unit_test(test_any_line_order),
        cmocka_unit_test(test_duplicates_add_up),
        cmocka_unit_test(test_zero_probabilities_are_dropped),
        test_with_context(test_transition_rewards_are_frozen_on_request),
        test_with_context(test_gaps_in_actions),
        test_with_context(test_terminal_states),
        cmocka_unit_test(test_recognises),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_missing_column),
        cmocka_unit_test(test_column_twice),
        cmocka_unit_test(test_outcomes_are_for_fit),
        cmocka_unit_test(test_other_separators),
        cmocka_unit_test(test_wrong_number_of_cells),
        cmocka_unit_test(test_bad_cells),
        cmocka_unit_test(test_index_out_of_range),
        cmocka_unit_test(test_huge_state_number),
        cmocka_unit_test(test_bad_numbers),
        cmocka_unit_test(test_row_sum_off),
        test_with_context(test_row_sum_nearly_one),
        test_with_context(test_binary),
        test_with_context(test_not_a_readable_file),
        cmocka_unit_test(test_interrupted),
    };
    return cmocka_run_group_tests_name("CSV", tests, NULL, NULL);
}

/* test_io_prism_companions.c: rewards and labels in files beside the transitions of the PRISM format. */
#include "support/support.h"

#include "support/formats.h"

#include <string.h>

static const char mdp[] = "3 3 5\n0 0 0 0.25\n0 0 1 0.75\n0 1 2 1\n1 0 0 0.5\n1 0 2 0.5\n";
static const char chain[] = "3 3\n0 1 0.25\n0 2 0.75\n1 0 1\n";

/* Writes the files, each if it is not NULL; how they are read. */
static nadir_read_settings write_with(const char *transitions, const char *rewards, const char *labels)
{
    nadir_read_settings settings = test_read_settings();
    test_write_file("model.tra", transitions);
    if (rewards != NULL) {
        test_write_file("model.rew", rewards);
        settings.rewards = "model.rew";
    }
    if (labels != NULL) {
        test_write_file("model.lab", labels);
        settings.labels = "model.lab";
    }
    return settings;
}

static nadir_model *read_with(nadir_context *context, const char *transitions, const char *rewards,
                              const char *labels)
{
    nadir_model *model;
    const nadir_read_settings settings = write_with(transitions, rewards, labels);
    assert_ok(context, test_format_read(context, &nadir_format_prism, "model.tra", &settings, &model));
    return model;
}

/* The rewards of the rows; the terminal state 2 has the last one. */
static void assert_rewards(const char *transitions, const char *rewards, size_t count,
                           const double expected[])
{
    nadir_context *context = test_context();
    nadir_model *model = read_with(context, transitions, rewards, NULL);
    assert_int_equal(model->rows, count + 1);
    for (size_t row = 0; row < count; row++) {
        assert_close(model->rewards[row], expected[row], 0);
    }
    assert_true(model->rewards[count] == 0);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void refuse_rewards(const char *transitions, const char *rewards, const char *words)
{
    const nadir_read_settings settings = write_with(transitions, rewards, NULL);
    test_format_refuse(&nadir_format_prism, "model.tra", &settings, NADIR_ERROR_FORMAT, words);
}

static void refuse_labels(const char *labels, const char *words)
{
    const nadir_read_settings settings = write_with(mdp, NULL, labels);
    test_format_refuse(&nadir_format_prism, "model.tra", &settings, NADIR_ERROR_FORMAT, words);
}

static void assert_initial(const char *labels, double first, double second, double third, const char *message)
{
    nadir_context *context = test_context();
    nadir_model *model = read_with(context, mdp, NULL, labels);
    assert_close(model->initial[0], first, 0);
    assert_close(model->initial[1], second, 0);
    assert_close(model->initial[2], third, 0);
    if (message != NULL) {
        assert_non_null(strstr(test_messages(), message));
    } else {
        assert_null(strstr(test_messages(), "model.lab"));
    }
    nadir_model_free(model);
    nadir_context_free(context);
}

static void test_transition_rewards(void **state)
{
    (void)state;
    const double expected[] = {3, 0, -1.5};
    assert_rewards(mdp, "3 3 3\n0 0 1 4\n1 0 0 -2\n1 0 2 -1\n", 3, expected);
    assert_rewards(mdp, "0 0 1 4\n1 0 0 -2\n1 0 2 -1\n", 3, expected);
    assert_rewards(mdp,
                   "# Reward structure \"steps\"\n# Transition rewards\n3 3 3\n1 0 2 -1\n\n0 0 1 8/2\n"
                   "1 0 0 -2\r\n",
                   3, expected);
}

static void test_transition_rewards_are_kept(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_with(context, mdp, "3 3 1\n0 0 1 4\n", NULL);
    assert_non_null(model->transition_rewards);
    assert_true(nadir_model_row(model, 0).rewards[0] == 0);
    assert_true(nadir_model_row(model, 0).rewards[1] == 4);
    nadir_model_free(model);
}

static void test_rewards_follow_choices_not_names(void **state)
{
    nadir_context *context = *state;
    /* The label b gets number 0, so that the choices of state 1 change places. */
    nadir_model *model =
        read_with(context, "2 3 3\n0 0 0 1 b\n1 0 0 1 a\n1 1 1 1 b\n", "1 0 0 5\n1 1 1 7\n", NULL);
    assert_string_equal(nadir_model_action_name(model, 1), "b");
    assert_true(model->rewards[1] == 7);
    assert_true(model->rewards[2] == 5);
    nadir_model_free(model);
}

static void test_state_rewards(void **state)
{
    (void)state;
    const double expected[] = {2, 2, 0.5};
    assert_rewards(mdp, "3 2\n0 2\n1 0.5\n", 3, expected);
    assert_rewards(mdp, "# Reward structure\n# State rewards\n3 2\n1 0.5\n0 2\n", 3, expected);
    assert_rewards(mdp, "0 2\n1 0.5\n", 3, expected);
}

/* `0 2` could be counts of a model without states; it is a reward. */
static void test_first_state_reward_is_an_integer(void **state)
{
    (void)state;
    const double both[] = {1, 1, 2};
    assert_rewards(mdp, "0 1\n1 2\n", 3, both);
    const double one[] = {3, 3, 0};
    assert_rewards(mdp, "0 3\n", 3, one);
}

static void test_rewards_of_a_chain(void **state)
{
    (void)state;
    const double expected[] = {1, -1};
    assert_rewards(chain, "3 2\n0 1 4\n1 0 -1\n", 2, expected);
    assert_rewards(chain, "0 1 4\n1 0 -1\n", 2, expected);
    assert_rewards(chain, "3 2\n0 1\n1 -1\n", 2, expected);
    assert_rewards(chain, "0 1\n1 -1\n", 2, expected);
}

static void test_counts_alone(void **state)
{
    (void)state;
    const double none[] = {0, 0, 0};
    assert_rewards(mdp, "3 3 0\n", 3, none);
    assert_rewards(mdp, "3 0\n", 3, none);
    assert_rewards(chain, "3 0\n", 2, none);
}

static void test_rewards_of_terminal_states(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_with(context, mdp, "3 2\n0 1\n2 10\n", NULL);
    assert_true(model->rewards[3] == 0);
    assert_non_null(strstr(test_messages(), "model.rew: the rewards of 1 state without choices"));
    nadir_model_free(model);
}

static void test_wrong_counts_of_rewards(void **state)
{
    (void)state;
    refuse_rewards(mdp, "4 3 0\n", "model.rew:1: rewards for 4 states and 3 choices; the model has 3 and 3");
    refuse_rewards(mdp, "3 4 0\n", "rewards for 3 states and 4 choices");
    refuse_rewards(mdp, "3 3 2\n0 0 0 1\n", "2 rewards are declared, the file has 1");
    refuse_rewards(mdp, "3 0\n0 1\n", "0 rewards are declared, the file has 1");
    refuse_rewards(mdp, "4 1\n0 1\n", "a reward for state 4; the model has the states 0 to 2");
    refuse_rewards(mdp, "2 1\n0 1\n", "rewards for 2 states; the model has 3");
    refuse_rewards(mdp, "3 3 9999999999999\n0 0 0 1\n", "9999999999999 rewards are declared");
}

static void test_rewards_for_nothing(void **state)
{
    (void)state;
    refuse_rewards(mdp, "3 3 1\n0 0 2 1\n",
                   "model.rew:2: a reward for state 0, choice 0, successor 2; there is no such transition");
    refuse_rewards(mdp, "0 0 0 1\n0 5 0 1\n", "model.rew:2: a reward for state 0, choice 5");
    refuse_rewards(mdp, "0 0 -1 1\n", "successor -1");
    refuse_rewards(mdp, "0 0 0 1\n0 0 0 1\n", "model.rew:2: a second reward for state 0, choice 0, succ");
    refuse_rewards(mdp, "0 1\n0 1\n", "model.rew:2: a second reward for state 0");
    refuse_rewards(mdp, "-1 1\n", "a reward for state -1");
}

static void test_lines_that_are_no_reward(void **state)
{
    (void)state;
    refuse_rewards(mdp, "", "the file is empty");
    refuse_rewards(mdp, "0 0 0 x\n", "expected `state choice successor reward` or `state reward`");
    refuse_rewards(mdp, "0 1\n0 0 0 1\n", "model.rew:2: found 0 0 0 1");
    refuse_rewards(mdp, "3 3 1\n0 0 0 1 5\n", "model.rew:2: found 0 0 0 1 5");
    refuse_rewards(mdp, "0 1 0.5\n", "model.rew:1: found 0 1 0.5");
    refuse_rewards(mdp, "0 1/0\n", "model.rew:1");
    refuse_rewards(mdp, "7\n", "model.rew:1: found 7");
    refuse_rewards(chain, "0 0 1 1\n", "expected `state successor reward`");
    const nadir_read_settings settings = write_with(mdp, "0 nan\n", NULL);
    test_format_refuse(&nadir_format_prism, "model.tra", &settings, NADIR_ERROR_MODEL,
                       "model.tra:2: state 0, action 0: the reward with successor 0 is nan");
}

static void test_labels_of_prism(void **state)
{
    (void)state;
    assert_initial("0=\"init\" 1=\"deadlock\"\n1: 0\n2: 1\n", 0, 1, 0, NULL);
    assert_initial("# Labels\n0=\"deadlock\" 1=\"init\"\r\n\r\n0: 0 1\r\n", 1, 0, 0, NULL);
    assert_initial("0=\"init\"\n0: 0\n2: 0\n0: 0\n", 0.5, 0, 0.5, "2 states have the label init");
}

static void test_labels_of_storm(void **state)
{
    (void)state;
    assert_initial("#DECLARATION\ninit deadlock\n#END\n1 init\n2 deadlock\n", 0, 1, 0, NULL);
    assert_initial("#DECLARATION init done #END\n0 done init\n1 init\n2 initial\n", 0.5, 0.5, 0,
                   "2 states have the label init");
}

static void test_no_initial_state(void **state)
{
    (void)state;
    const double third = 1.0 / 3;
    assert_initial("0=\"init\"\n", third, third, third, "no state has the label init");
    assert_initial("0=\"goal\"\n1: 0\n", third, third, third, "no state has the label init");
    assert_initial("#DECLARATION\n#END\n", third, third, third, "no state has the label init");
}

static void test_lines_that_are_no_labels(void **state)
{
    (void)state;
    refuse_labels("", "the file is empty");
    refuse_labels("init deadlock\n0 init\n", "model.lab:1: found init deadlock; expected names of labels");
    refuse_labels("0=\"init\n", "model.lab:1");
    refuse_labels("0=\"init\"\n0 0\n", "model.lab:2: found 0 0; expected a state, a colon");
    refuse_labels("0=\"init\"\n0: 1\n", "model.lab:2: state 0: 1 is not the number of a label");
    refuse_labels("0=\"init\"\n0: init\n", "state 0: init is not the number");
    refuse_labels("0=\"init\"\n3: 0\n", "model.lab:2: labels of state 3; the model has the states 0 to 2");
    refuse_labels("#DECLARATION\ninit\n0 init\n", "the file ends before #END");
    refuse_labels("#DECLARATION\ninit\n#END\nzero init\n", "model.lab:4: found zero init; expected a state");
    refuse_labels("#DECLARATION\ninit\n#END\n-1 init\n", "labels of state -1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transition_rewards),
        test_with_context(test_transition_rewards_are_kept),
        test_with_context(test_rewards_follow_choices_not_names),
        cmocka_unit_test(test_state_rewards),
        cmocka_unit_test(test_first_state_reward_is_an_integer),
        cmocka_unit_test(test_rewards_of_a_chain),
        cmocka_unit_test(test_counts_alone),
        test_with_context(test_rewards_of_terminal_states),
        cmocka_unit_test(test_wrong_counts_of_rewards),
        cmocka_unit_test(test_rewards_for_nothing),
        cmocka_unit_test(test_lines_that_are_no_reward),
        cmocka_unit_test(test_labels_of_prism),
        cmocka_unit_test(test_labels_of_storm),
        cmocka_unit_test(test_no_initial_state),
        cmocka_unit_test(test_lines_that_are_no_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

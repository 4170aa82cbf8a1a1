/* test_io_drn.c: reading the DRN files of Storm. */
#include "support/support.h"

#include "support/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char plain[] = "// Exported by a model checker\n"
                            "@type: MDP\n"
                            "@value_type: double\n"
                            "@parameters\n"
                            "\n"
                            "@reward_models\n"
                            "steps \n"
                            "@nr_states\n"
                            "3\n"
                            "@nr_choices\n"
                            "3\n"
                            "@model\n"
                            "state 0 [0.5] init\n"
                            "\taction 0 [1]\n"
                            "\t\t0 : 0.25\n"
                            "\t\t1 : 0.75\n"
                            "\taction 1 [0]\n"
                            "\t\t2 : 1\n"
                            "//[x=1]\n"
                            "state 1 [0] goal \"the end\"\n"
                            "\taction 0 [-2]\n"
                            "\t\t1 : 1\n"
                            "state 2 [0]\n";

#define HEAD(states) "@type: MDP\n@parameters\n\n@reward_models\n\n@nr_states\n" states "\n@model\n"

static nadir_read_settings settings_for(const char *reward_model)
{
    nadir_read_settings settings = test_read_settings();
    settings.reward_model = reward_model;
    return settings;
}

static nadir_model *read_good(nadir_context *context, const char *text)
{
    return test_format_read_text(context, &nadir_format_drn, "model.drn", text);
}

static void refuse_as(nadir_status expected, const char *text, const char *reward_model, const char *words)
{
    const nadir_read_settings settings = settings_for(reward_model);
    test_write_file("model.drn", text);
    test_format_refuse(&nadir_format_drn, "model.drn", &settings, expected, words);
}

static void refuse(const char *text, const char *words)
{
    refuse_as(NADIR_ERROR_FORMAT, text, NULL, words);
}

static void assert_same(const char *left, const char *right)
{
    test_format_assert_same(&nadir_format_drn, "model.drn", left, right, NULL);
}

static void test_everything(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_good(context, plain);
    assert_int_equal(model->states, 3);
    assert_int_equal(model->rows, 4);
    assert_int_equal(model->nonzeros, 5);
    assert_true(test_probability(model, 0, 1) == 0.75);
    assert_true(model->rewards[0] == 1.5); /* state and action */
    assert_true(model->rewards[1] == 0.5);
    assert_true(model->rewards[2] == -2);
    assert_true(nadir_model_is_terminal(model, 2));
    assert_true(model->initial[0] == 1);
    assert_int_equal(model->action_names.count, 0);
    nadir_model_free(model);
}

static void test_dialects(void **state)
{
    (void)state;
    const char *short_form = "@nr_states\n2\n@type: mdp\n@model\nstate 0 init\naction 0\n0 : 1/2\n1 : 1/2\n"
                             "state 1\n";
    assert_same(short_form,
                "\xEF\xBB\xBF@type: MDP\r\n@parameters\r\n\r\n@reward_models\r\n\r\n@nr_states\r\n"
                "2\r\n\r\n@nr_choices\r\n1\r\n@value_type: rational\r\n@model\r\n"
                "state 0 \"init\"\r\n    action 0\r\n\r\n        0 : 0.5\r\n        1:0.5\r\n"
                "state 1\r\n");
    /* A single action needs no line, and a Markov chain is an MDP. */
    assert_same(short_form, "@type: DTMC\n@nr_states\n2\n@model\nstate 0 init\n0 : 0.5\n1 : 0.5\nstate 1\n");
    assert_same(short_form, "@type: DTMC\n@nr_states\n2\n@nr_choices\n1\n@model\nstate 0 [] init\n"
                            "\taction 0 []\n\t\t0 : 0.5\n\t\t1 : 0.5\nstate 1 []\n");
}

static void test_no_reward_model(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_good(context, HEAD("1") "state 0 init\naction 0\n0 : 1\n");
    assert_null(model->rewards);
    nadir_model_free(model);
}

static void test_reward_model_is_chosen(void **state)
{
    (void)state;
    const char *text = "@type: MDP\n@reward_models\nsteps energy\n@nr_states\n1\n@model\n"
                       "state 0 [1, 2] init\naction 0 [10,1/4]\n0 : 1\n";
    nadir_context *context = test_context();
    test_write_file("model.drn", text);
    for (int energy = 0; energy < 2; energy++) {
        const nadir_read_settings settings = settings_for(energy ? "energy" : "steps");
        nadir_model *model;
        assert_ok(context, test_format_read(context, &nadir_format_drn, "model.drn", &settings, &model));
        assert_true(model->rewards[0] == (energy ? 2.25 : 11));
        nadir_model_free(model);
    }
    nadir_context_free(context);
    refuse(text, "model.drn:3: 2 reward models, steps, energy: take one with --reward-model NAME");
    refuse_as(NADIR_ERROR_FORMAT, text, "time",
              "no reward model time; the file has steps, energy: take one with --reward-model NAME");
    refuse_as(NADIR_ERROR_FORMAT, HEAD("1") "state 0\n", "time", "time was asked for; the file has none");
    refuse_as(NADIR_ERROR_FORMAT, "@type: MDP\n@nr_states\n1\n@model\nstate 0\n", "time",
              "time was asked for; the file has none");
}

static void test_many_reward_models(void **state)
{
    (void)state;
    char text[4096];
    int used = snprintf(text, sizeof text, "@type: MDP\n@reward_models\n");
    for (int i = 0; i < 100; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "a-long-name-of-a-model ");
    }
    (void)snprintf(text + used, sizeof text - (size_t)used, "\n@nr_states\n1\n@model\nstate 0\n");
    refuse(text, "100 reward models, a-long-name-of-a-model, a-long");
}

static void test_initial_states(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_good(context, HEAD("3") "state 0 init a\n0 : 1\nstate 1 b\n1 : 1\n"
                                                      "state 2 \"b c\"\"init\"\n2 : 1\n");
    assert_true(model->initial[0] == 0.5);
    assert_true(model->initial[1] == 0);
    assert_true(model->initial[2] == 0.5);
    assert_non_null(strstr(test_messages(), "2 states have the label init"));
    nadir_model_free(model);
    test_messages_clear();
    model = read_good(context, HEAD("2") "state 0 initial\n0 : 1\nstate 1 \"an init\"\n1 : 1\n");
    assert_true(model->initial[0] == 0.5);
    assert_non_null(strstr(test_messages(), "no state has the label init"));
    nadir_model_free(model);
}

static void test_names_of_actions(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_good(
        context, HEAD("2") "state 0 init\naction left\n0 : 1\naction __NOLABEL__\n1 : 1\n"
                           "action __NOLABEL__\n0 : 1\nstate 1\naction left\n1 : 1\naction 3\n0 : 1\n");
    assert_int_equal(model->action_names.count, 4);
    assert_string_equal(nadir_model_action_name(model, 0), "left");
    assert_string_equal(nadir_model_action_name(model, 1), "__NOLABEL__");
    assert_string_equal(nadir_model_action_name(model, 2), "__NOLABEL__#2");
    assert_string_equal(nadir_model_action_name(model, 4), "3");
    nadir_model_free(model);
    model = read_good(context, HEAD("1") "state 0 init\naction 9\n0 : 1\naction 4\n0 : 1\n");
    assert_int_equal(model->action_names.count, 0);
    assert_int_equal(model->row_actions[0], 4);
    assert_int_equal(model->row_actions[1], 9);
    nadir_model_free(model);
}

/* Each repetition is found without looking through those before it. */
static void test_one_label_many_times(void **state)
{
    enum { ACTIONS = 50000 };
    nadir_context *context = *state;
    static const char head[] = HEAD("1") "state 0 init\n";
    static const char action[] = "action a\n0 : 1\n";
    char *text = malloc(sizeof head + ACTIONS * strlen(action));
    assert_non_null(text);
    memcpy(text, head, strlen(head));
    for (size_t i = 0; i < ACTIONS; i++) {
        memcpy(text + strlen(head) + i * strlen(action), action, sizeof action);
    }
    nadir_model *model = read_good(context, text);
    assert_int_equal(model->rows, ACTIONS);
    assert_string_equal(nadir_model_action_name(model, ACTIONS - 1), "a#50000");
    nadir_model_free(model);
    free(text);
}

static void test_rewards_of_terminal_states(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = read_good(context, "@type: MDP\n@reward_models\nr\n@nr_states\n2\n@model\n"
                                            "state 0 [1] init\n1 : 1\nstate 1 [5]\n");
    assert_true(model->rewards[1] == 0);
    assert_non_null(strstr(test_messages(), "the rewards of 1 state without actions are never earned"));
    nadir_model_free(model);
}

static void test_other_models(void **state)
{
    (void)state;
    refuse("@type: CTMC\n", "model.drn:1: a model of type CTMC; only MDPs and Markov chains");
    refuse("@type: Markov Automaton\n", "a model of type Markov");
    refuse("@type:\n", "no type of model");
    refuse("@type: MDP\n@value_type: parametric\n", "model.drn:2: values of type parametric");
    refuse("@type: MDP\n@parameters\np q\n", "model.drn:3: the model has the parameters p q");
    refuse("@type: MDP\n@placeholders\n$0 : p\n", "placeholders stand for parametric values");
    refuse(HEAD("1") "state 0 !2.5\n", "found !2.5; an MDP has no exit rates");
    refuse(HEAD("1") "state 0 {3}\n", "an MDP has no observations");
    refuse(HEAD("1") "state 0\naction 0\n0 : [0.5, 1\n",
           "model.drn:11: found 0 : [0.5, 1; expected `successor : probability` or `successor : [lower, "
           "upper]`");
}

static void test_bad_headers(void **state)
{
    (void)state;
    refuse("", "the file ends before @model");
    refuse("// nothing\n", "the file ends before @model");
    refuse("@nr_states\n", "the file ends after @nr_states");
    refuse("@type: MDP\n@model\n", "no @nr_states before @model");
    refuse("@nr_states\n1\n@model\n", "no @type: before @model");
    refuse("@nr_states\nmany\n", "model.drn:2: found many; expected the number of states");
    refuse("@nr_states\n0\n", "expected the number of states");
    refuse("@nr_choices\n-1\n", "expected the number of choices");
    refuse("@type: MDP\n@type: MDP\n", "model.drn:2: a second @type:");
    refuse("@type: MDP\n@observations\n", "model.drn:2: found @observations; expected a section");
    refuse("state 0\n", "found state 0; expected a section");
}

static void test_wrong_counts(void **state)
{
    (void)state;
    refuse(HEAD("2") "state 0\n0 : 1\n", "@nr_states is 2, the file has 1 states");
    refuse(HEAD("1") "state 0\n0 : 1\nstate 1\n", "model.drn:11: state 1, but @nr_states is 1");
    refuse("@type: MDP\n@nr_states\n1\n@nr_choices\n2\n@model\nstate 0\n0 : 1\n",
           "@nr_choices is 2, the file has 1 actions");
    refuse("@type: MDP\n@nr_states\n1\n@nr_choices\n0\n@model\nstate 0\n0 : 1\n",
           "@nr_choices is 0, the file has 1 actions");
    refuse(HEAD("99") "state 0\n0 : 1\n", "99 states declared; a file of 75 bytes cannot hold so many");
    refuse(HEAD("2000000000") "state 0\n0 : 1\n", "bytes cannot hold so many");
    refuse(HEAD("99999999999999999999") "state 0\n0 : 1\n", "expected the number of states");
}

static void test_bad_states(void **state)
{
    (void)state;
    refuse(HEAD("2") "state 1\n", "model.drn:9: expected state 0 here, found");
    refuse(HEAD("2") "state 0\n0 : 1\nstate 0\n", "model.drn:11: expected state 1 here");
    refuse(HEAD("2") "state zero\n", "expected state 0 here, found zero");
    refuse(HEAD("1") "state 0 \"open\nend\n", "a label without its closing quotation mark");
    refuse(HEAD("1") "state 0 [1]\n", "1 rewards; @reward_models names 0 models");
    refuse("@type: MDP\n@reward_models\nr\n@nr_states\n1\n@model\nstate 0 [1, 2]\n", "2 rewards; @reward");
    refuse("@type: MDP\n@reward_models\nr\n@nr_states\n1\n@model\nstate 0 [one]\n", "expected rewards in");
    refuse("@type: MDP\n@reward_models\nr\n@nr_states\n1\n@model\nstate 0 [1 2]\n", "with commas");
    refuse("@type: MDP\n@reward_models\nr\n@nr_states\n1\n@model\nstate 0 [1\n", "with commas");
}

static void test_bad_actions(void **state)
{
    (void)state;
    refuse(HEAD("1") "action 0\n", "model.drn:9: an action before the first state");
    refuse(HEAD("1") "state 0\naction\n", "an action without a name or number");
    refuse(HEAD("1") "state 0\n0 : 1\naction 1\n0 : 1\n", "after transitions that stand under the state");
    refuse(HEAD("1") "state 0\naction 0\naction 1\n0 : 1\n", "model.drn:10: an action of state 0 without");
    refuse(HEAD("2") "state 0\naction 0\nstate 1\n",
           "model.drn:10: an action of state 0 without transitions");
    refuse(HEAD("1") "state 0\naction 0\n", "model.drn:10: an action of state 0 without transitions");
    refuse(HEAD("1") "state 0\naction 0 extra\n0 : 1\n", "model.drn:10: found extra after an action");
    refuse("@type: DTMC\n@nr_states\n1\n@model\nstate 0\naction 0\n0 : 1\naction 1\n0 : 1\n",
           "model.drn:8: a second action of state 0 in a Markov chain");
}

static void test_bad_transitions(void **state)
{
    (void)state;
    refuse(HEAD("1") "0 : 1\n", "a transition before the first state");
    refuse(HEAD("1") "state 0\n0 1\n", "model.drn:10: found 0 1; expected `successor : probability`");
    refuse(HEAD("1") "state 0\n0 : p\n", "model.drn:10: found 0 : p");
    refuse(HEAD("1") "state 0\n0 : 1 1\n", "model.drn:10: found 0 : 1 1");
    refuse(HEAD("1") "state 0\n0 :\n", "model.drn:10: found 0 :");
    refuse(HEAD("1") "state 0\n1 : 1\n", "successor 1 is not a state; states are 0 to 0");
    refuse(HEAD("1") "state 0\n-1 : 1\n", "successor -1 is not a state");
    refuse_as(NADIR_ERROR_MODEL, HEAD("1") "state 0\n0 : nan\n", NULL,
              "model.drn:10: state 0, action 0: the");
    refuse_as(NADIR_ERROR_MODEL, HEAD("1") "state 0\n0 : -1\n", NULL, "the probability of successor 0 is -1");
    refuse_as(NADIR_ERROR_MODEL, HEAD("1") "state 0\naction go\n0 : 0.5\n", NULL,
              "model.drn:11: state 0, action 0 (go): probabilities sum to 0.5");
}

static void test_recognised_by_content(void **state)
{
    (void)state;
    static const char *const yes[] = {plain, "@type: MDP\n", "\xEF\xBB\xBF\r\n// x\r\n\r\n@nr_states\r\n"};
    static const char *const no[] = {"", "// nothing\n", "mdp\n0 0 0 1\n", "@misc{a}\n",
                                     "state 0\n@type: MDP\n"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        assert_true(nadir_format_drn.recognises(yes[i], strlen(yes[i])));
        assert_false(nadir_format_prism.recognises(yes[i], strlen(yes[i])));
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        assert_false(nadir_format_drn.recognises(no[i], strlen(no[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_everything),
        cmocka_unit_test(test_dialects),
        test_with_context(test_no_reward_model),
        cmocka_unit_test(test_reward_model_is_chosen),
        cmocka_unit_test(test_many_reward_models),
        test_with_context(test_initial_states),
        test_with_context(test_names_of_actions),
        test_with_context(test_one_label_many_times),
        test_with_context(test_rewards_of_terminal_states),
        cmocka_unit_test(test_other_models),
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_wrong_counts),
        cmocka_unit_test(test_bad_states),
        cmocka_unit_test(test_bad_actions),
        cmocka_unit_test(test_bad_transitions),
        cmocka_unit_test(test_recognised_by_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

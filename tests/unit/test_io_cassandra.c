/* test_io_cassandra.c: what Cassandra files mean. test_io_cassandra_wrong.c has files that are wrong. */
#include "support/support.h"

#include "support/formats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* The model of a file with this text; to be freed. */
static nadir_model *read_text(const char *text)
{
    test_messages_clear();
    return test_format_read_text(context, &nadir_format_cassandra, "model.mdp", text);
}

/* The two files mean the same. */
static void assert_same_meaning(const char *text, const char *other)
{
    nadir_model *a = read_text(text);
    nadir_model *b = read_text(other);
    assert_models_equal(a, b, 0);
    nadir_model_free(a);
    nadir_model_free(b);
}

/* P(. | row), and mu of a file with this preamble. */
#define assert_row(model, row, ...)                                                                          \
    check_row(model, row, sizeof(double[]){__VA_ARGS__} / sizeof(double), (const double[]){__VA_ARGS__})
#define assert_initial(preamble, ...)                                                                        \
    check_initial(preamble, sizeof(double[]){__VA_ARGS__} / sizeof(double), (const double[]){__VA_ARGS__})

static void check_row(const nadir_model *model, int64_t row, size_t count, const double *values)
{
    assert_int_equal(model->states, count);
    for (size_t s = 0; s < count; s++) {
        assert_close(test_probability(model, row, (int64_t)s), values[s], 0);
    }
}

static void check_initial(const char *preamble, size_t count, const double *values)
{
    char text[512];
    (void)snprintf(text, sizeof text, "%s\nT: * identity\n", preamble);
    nadir_model *model = read_text(text);
    assert_int_equal(model->states, count);
    for (size_t s = 0; s < count; s++) {
        assert_close(model->initial[s], values[s], 0);
    }
    nadir_model_free(model);
}

static const char plain[] = "discount: 0.9\nvalues: reward\nstates: 2\nactions: 2\n"
                            "T: 0 : 0 : 0 0.25\nT: 0 : 0 : 1 0.75\nT: 0 : 1 : 1 1.0\n"
                            "T: 1 : 0 : 0 1.0\nT: 1 : 1 : 0 0.5\nT: 1 : 1 : 1 0.5\n"
                            "R: 0 : 0 : 1 : * 2.0\nR: 1 : * : * : * -1.0\n";

static void test_plain_statements(void **state)
{
    (void)state;
    nadir_model *model = read_text(plain);
    assert_int_equal(model->states, 2);
    assert_int_equal(model->rows, 4);
    assert_int_equal(model->nonzeros, 6);
    assert_close(model->discount, 0.9, 0);
    assert_null(model->row_actions);
    assert_null(nadir_model_state_name(model, 0));
    assert_null(nadir_model_action_name(model, 0));
    assert_row(model, 0, 0.25, 0.75);
    assert_row(model, 1, 1, 0);
    assert_row(model, 3, 0.5, 0.5);
    assert_close(model->rewards[0], 1.5, 0);
    assert_close(model->rewards[1], -1, 0);
    assert_close(model->rewards[2], 0, 0);
    assert_close(model->rewards[3], -1, 0);
    assert_string_equal(test_messages(), "");
    nadir_model_free(model);
}

static void test_matrices_and_rows(void **state)
{
    (void)state;
    assert_same_meaning(plain, "discount: 0.9\nvalues: reward\nstates: 2\nactions: 2\n"
                               "T: 0\n0.25 0.75\n0.0 1.0\n"
                               "T: 1 : 0\n1.0 0.0\nT: 1 : 1 0.5\n0.5\n"
                               "R: 0 : 0\n0 2\nR: 1\n-1 -1\n-1 -1\n");
}

static void test_words_run_over_lines_and_comments(void **state)
{
    (void)state;
    assert_same_meaning(
        plain, "# a file\nactions\n:\n2 # states: 7\nvalues:rewards\nstates:\n\n2\n\tdiscount :\n0.9\n"
               "T:0:0:0 0.25 T:0:0:1\n.75\nT:0:1 : 1 1 T : 1 : 0\n1\n# between\n0\n"
               "T:1 #x\n:1\n0.5 0.5\nR:0:0:1:*2.0\nR:1:*:*:*-1 # end");
}

static void test_carriage_returns_and_byte_order_mark(void **state)
{
    (void)state;
    assert_same_meaning("discount: 0.5\nstates: a b\nactions: go\nT: go identity\n",
                        "\xEF\xBB\xBF"
                        "discount: 0.5\r\nstates: a\r\nb\r\nactions: go\r\nT: go\r\nidentity\r\n");
}

static void test_names_are_kept_and_numbers_work_beside_them(void **state)
{
    (void)state;
    nadir_model *model =
        read_text("discount: 0.9\nstates: kitchen hall\n  garden\nactions: stay go-on\n"
                  "T: stay identity\nT: go-on : kitchen : hall 1.0\n"
                  "T: 1 : 1 : garden 1.0\nT: go-on : 2 : 0 1\nR: go-on : garden : * : * 3\n");
    assert_string_equal(nadir_model_state_name(model, 2), "garden");
    assert_string_equal(nadir_model_action_name(model, 1), "go-on");
    assert_row(model, 3, 0, 0, 1);
    assert_row(model, 5, 1, 0, 0);
    assert_close(model->rewards[5], 3, 0);
    nadir_model_free(model);
}

static void test_list_of_numbers_is_a_count(void **state)
{
    (void)state;
    nadir_model *model = read_text("discount: 0.9\nstates: 0 1 2\nactions: 0 1\nT: * identity\n");
    assert_int_equal(model->states, 3);
    assert_int_equal(model->rows, 6);
    assert_null(nadir_model_state_name(model, 0));
    nadir_model_free(model);
}

static void test_names_may_look_like_words_of_the_format(void **state)
{
    (void)state;
    nadir_model *model = read_text("states: start T nan uniform\nactions: L R\ndiscount: 0.9\nstart: nan\n"
                                   "T: R identity\nT: L : * : T 1\n");
    assert_string_equal(nadir_model_state_name(model, 0), "start");
    assert_string_equal(nadir_model_action_name(model, 1), "R");
    assert_close(model->initial[2], 1, 0);
    assert_row(model, 0, 0, 1, 0, 0);
    nadir_model_free(model);
}

static void test_start_forms(void **state)
{
    (void)state;
#define FOUR "discount: 0.9\nstates: a b c d\nactions: 1\n"
    assert_initial(FOUR, 0.25, 0.25, 0.25, 0.25);
    assert_initial(FOUR "start: uniform", 0.25, 0.25, 0.25, 0.25);
    assert_initial("start: uniform\n" FOUR, 0.25, 0.25, 0.25, 0.25);
    assert_initial(FOUR "start: c", 0, 0, 1, 0);
    assert_initial(FOUR "start: 2", 0, 0, 1, 0);
    assert_initial(FOUR "start include: d a a", 0.5, 0, 0, 0.5);
    assert_initial(FOUR "start include: a 3", 0.5, 0, 0, 0.5);
    assert_initial(FOUR "start exclude: b c", 0.5, 0, 0, 0.5);
    assert_initial(FOUR "start exclude : 1\n2", 0.5, 0, 0, 0.5);
    assert_initial(FOUR "start: 0.125 0 0.375 0.5", 0.125, 0, 0.375, 0.5);
    assert_initial(FOUR "start:\n0.125\n0 0.375\n0.5", 0.125, 0, 0.375, 0.5);
#undef FOUR
    assert_initial("states: 1\nactions: 1\nstart: 1.0", 1);
    assert_initial("states: 1\nactions: 1\nstart: 0", 1);
}

static void test_start_vector_off_by_rounding_is_normalised(void **state)
{
    (void)state;
    assert_initial("states: 2\nactions: 1\nstart: 0.500004 0.500004", 0.5, 0.5);
    assert_non_null(strstr(test_messages(), "initial distribution was normalised"));
}

static void test_words_instead_of_numbers(void **state)
{
    (void)state;
    nadir_model *model = read_text("discount: 0.9\nstates: 4\nactions: 4\nstart: 0.5 0 0 0.5\n"
                                   "T: 0 uniform\nT: 1 identity\nT: 2 reset\nT: 3 : * reset\n"
                                   "T: 3 : 1 uniform\nT: 3 : 2\nidentity\n");
    assert_row(model, 4, 0.25, 0.25, 0.25, 0.25);
    assert_row(model, 5, 0, 1, 0, 0);
    assert_row(model, 6, 0.5, 0, 0, 0.5);
    assert_row(model, 3, 0.5, 0, 0, 0.5);
    assert_row(model, 7, 0.25, 0.25, 0.25, 0.25);
    assert_row(model, 11, 0, 0, 1, 0);
    nadir_model_free(model);
}

static void test_reset_without_start_is_uniform(void **state)
{
    (void)state;
    assert_same_meaning("states: 3\nactions: 1\nT: 0 reset\n", "states: 3\nactions: 1\nT: 0 uniform\n");
}

static void test_later_statements_override_entry_by_entry(void **state)
{
    (void)state;
    nadir_model *model = read_text("discount: 0.9\nstates: 3\nactions: 2\n"
                                   "T: 0 : 0 : 2 0.9\n" /* overridden by the next */
                                   "T: * uniform\n"
                                   "T: * : 1 : * 0.0\nT: 1 : * : 2 0.5\nT: * : 1 : 0 0.5\n"
                                   "T: 0 : 1 : 2 0.25\nT: 0 : 1 : 2 0.5\n" /* repeated */
                                   "T: 1 : 0 : 0 0.25\nT: 1 : 0 : 1 0.25\n"
                                   "T: * : 2 identity\nT: 1 : 2 : 2 0\nT: * : 2 : 1 1\nT: 0 : * : 1 0\n"
                                   "T: 0 : 0 0.0 0.0 1.0\n");
    assert_row(model, 0, 0, 0, 1);
    assert_row(model, 1, 0.25, 0.25, 0.5);
    assert_row(model, 2, 0.5, 0, 0.5);
    assert_row(model, 3, 0.5, 0, 0.5);
    assert_row(model, 4, 0, 0, 1);
    assert_row(model, 5, 0, 1, 0);
    nadir_model_free(model);
}

static void test_whole_row_overrides_older_entries_of_other_patterns(void **state)
{
    (void)state;
    nadir_model *model = read_text("discount: 0.9\nstates: 4\nactions: 2\nT: * identity\n"
                                   "T: 0 : * : 1 0.5\n"  /* older than the next, */
                                   "T: 0 : 0 identity\n" /* which the last two change again */
                                   "T: 0 : * : 2 0.5\nT: * : 0 : 0 0.5\nT: 1 : 0 : 3 0.5\n"
                                   "T: 0 : 2 : 1 0.5\nT: 0 : 3 : 3 0\n");
    assert_row(model, 0, 0.5, 0, 0.5, 0);
    assert_row(model, 2, 0, 0.5, 0.5, 0);
    assert_row(model, 4, 0, 0.5, 0.5, 0);
    assert_row(model, 6, 0, 0.5, 0.5, 0);
    nadir_model_free(model);
}

/* Wildcards that hold nowhere any more count for nothing, neither in time nor towards the limit. */
static void test_overridden_wildcards_are_free(void **state)
{
    (void)state;
    static char text[1 << 16];
    size_t used = (size_t)sprintf(text, "discount: 0.9\nstates: 100000\nactions: 1\n");
    for (int i = 0; i < 1000; i++) {
        used += (size_t)sprintf(text + used, "T: * : * : %d 0.001\n", i);
    }
    (void)sprintf(text + used, "T: 0 identity\n");
    nadir_model *model = read_text(text);
    assert_int_equal(model->nonzeros, 100000);
    nadir_model_free(model);
}

static void test_the_latest_reward_of_all_patterns_holds(void **state)
{
    (void)state;
    /* One line for each of the 8 patterns, in an order where each must win somewhere. */
    nadir_model *model = read_text("discount: 0.9\nstates: 2\nactions: 2\nT: * uniform\n"
                                   "R: * : * : * : * 1\nR: * : * : 1 : * 2\nR: * : 1 : * : * 3\n"
                                   "R: * : 1 : 1 : * 4\nR: 1 : * : * : * 5\nR: 1 : * : 1 : * 6\n"
                                   "R: 1 : 1 : * : * 7\nR: 1 : 1 : 1 : * 8\n");
    const double expected[] = {1, 2, 5, 6, 3, 4, 7, 8}; /* rows (0,0), (0,1), (1,0), (1,1) */
    for (int64_t row = 0; row < 4; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        assert_close(entries.rewards[0], expected[2 * row], 0);
        assert_close(entries.rewards[1], expected[2 * row + 1], 0);
    }
    nadir_model_free(model);
    model = read_text("states: 2\nactions: 1\nT: * uniform\nR: 0 : 0 : 0 : * 9\nR: * : * : * : * 1\n");
    assert_close(model->rewards[0], 1, 0);
    nadir_model_free(model);
}

static void test_costs_are_negated(void **state)
{
    (void)state;
    assert_same_meaning("values: cost\nstates: 2\nactions: 1\nT: 0 identity\nR: 0 : 0 : * : * 2\n",
                        "states: 2\nactions: 1\nT: 0 identity\nR: 0 : 0 : * : * -2\n");
    assert_same_meaning("states: 2\nactions: 1\nT: 0 identity\nR: 0 : 0 : * : * 2\nvalues: costs\n",
                        "values: rewards\nstates: 2\nactions: 1\nT: 0 identity\nR: 0 : 0 : * : * -2\n");
    assert_string_equal(test_messages(), "");
}

static void test_rewards_may_be_absent(void **state)
{
    (void)state;
    nadir_model *model = read_text("states: 2\nactions: 1\nT: 0 identity\n");
    assert_null(model->rewards);
    assert_true(isnan(model->discount));
    nadir_model_free(model);
}

static void test_observations_are_skipped(void **state)
{
    (void)state;
    assert_same_meaning(plain,
                        "discount: 0.9\nobservations: red green blue\nvalues: reward\nstates: 2\nactions: 2\n"
                        "O: * uniform\nO: 0\n0.5 0.25 0.25\n1 0 0\nO: * : * : red 0.1\nO: 1 : 0 uniform\n"
                        "O: 1 : 1 0 0\n1\nO: 1 identity\n"
                        "T: 0\n0.25 0.75\n0.0 1.0\nO: 0 : 0 : 2 0.5\nT: 1\n1.0 0.0 0.5 0.5\n"
                        "R: 0 : 0 : 1 : * 2.0\nR: 1 : * : * : * -1.0\n");
}

static void test_rewards_equal_for_all_observations(void **state)
{
    (void)state;
    assert_same_meaning(plain, "discount: 0.9\nobservations: 2\nstates: 2\nactions: 2\n"
                               "T: 0\n0.25 0.75\n0.0 1.0\nT: 1\n1.0 0.0 0.5 0.5\n"
                               "R: 0 : 0\n0 0\n2 2\nR: 1 : * : *\n-1 -1\n");
    assert_same_meaning(plain, "discount: 0.9\nobservations: a b\nstates: 2\nactions: 2\n"
                               "T: 0\n0.25 0.75\n0.0 1.0\nT: 1\n1.0 0.0 0.5 0.5\n"
                               "R: 0 : 0 : 1 : a 2 R: 0 : 0 : 1 : 1 2\nR: 1 : * : * : * -1\n");
    assert_same_meaning(plain, "discount: 0.9\nobservations: 1\nstates: 2\nactions: 2\n"
                               "T: 0\n0.25 0.75\n0.0 1.0\nT: 1\n1.0 0.0 0.5 0.5\n"
                               "R: 0 : 0 : 1 : 0 2\nR: 1 : * : * : 0 -1\n");
}

static void test_rewards_without_observations(void **state)
{
    (void)state;
    assert_same_meaning(plain, "discount: 0.9\nstates: 2\nactions: 2\n"
                               "T: 0\n0.25 0.75\n0.0 1.0\nT: 1\n1.0 0.0 0.5 0.5\n"
                               "R: 0 : 0 : 1 2.0\nR: 1 : * : * -1.0\n");
}

/* Real files have a discount of 1; the caller may override it, so it is no error here. */
static void test_discount_of_one_is_handed_over(void **state)
{
    (void)state;
    nadir_model *model = read_text("discount: 1.0\nstates: 2\nactions: 1\nT: 0 identity\n");
    assert_close(model->discount, 1, 0);
    nadir_model_free(model);
}

static void test_transition_rewards_are_averaged_unless_asked_for(void **state)
{
    (void)state;
    nadir_read_settings settings = test_read_settings();
    nadir_model *model = NULL;
    settings.frozen_rewards = true;
    test_write_file("model.mdp", plain);
    assert_ok(context, nadir_format_cassandra.read(context, "model.mdp", &settings, &model));
    assert_null(model->transition_rewards);
    assert_close(model->rewards[0], 1.5, 0);
    nadir_model_free(model);
}

static void test_wildcards_over_many_states(void **state)
{
    (void)state;
    const size_t before = nadir_context_memory_peak(context);
    nadir_model *model = read_text("discount: 0.9\nstates: 100000\nactions: 4\nstart include: 3 99999\n"
                                   "T: * : * : * 0.0\nT: 0 identity\nT: 1 reset\nT: 2 : * : 7 1.0\n"
                                   "T: 3 identity\nT: 3 : 5 : 5 0.5\nT: 3 : 5 : 6 0.5\n"
                                   "R: * : * : 7 : * 1\n");
    assert_int_equal(model->rows, 400000);
    assert_int_equal(model->nonzeros, 500001);
    assert_close(test_probability(model, 4 * 99998 + 1, 99999), 0.5, 0);
    assert_close(model->rewards[4 * 99998 + 2], 1, 0);
    assert_close(model->rewards[4 * 99998 + 0], 0, 0);
    assert_true(nadir_context_memory_peak(context) - before < 64 << 20);
    nadir_model_free(model);
}

static void test_recognised_by_content(void **state)
{
    (void)state;
    static const char *const yes[] = {"discount: 0.9\n", "# POMDP\r\n\r\n# again\n  states : 4",
                                      "\xEF\xBB\xBFvalues:reward", "observations: a", "actions: 3"};
    static const char *const no[] = {"",
                                     "#",
                                     "# only a comment",
                                     "states\n: 3",
                                     "mdp\n0 0 0 1\n",
                                     "idstatefrom,idaction",
                                     "@type: MDP",
                                     "state: 3",
                                     ": 3"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        assert_true(nadir_format_cassandra.recognises(yes[i], strlen(yes[i])));
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        assert_false(nadir_format_cassandra.recognises(no[i], strlen(no[i])));
    }
    assert_false(nadir_format_cassandra.recognises("\0\0\0states: 3", 12));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_statements),
        cmocka_unit_test(test_matrices_and_rows),
        cmocka_unit_test(test_words_run_over_lines_and_comments),
        cmocka_unit_test(test_carriage_returns_and_byte_order_mark),
        cmocka_unit_test(test_names_are_kept_and_numbers_work_beside_them),
        cmocka_unit_test(test_list_of_numbers_is_a_count),
        cmocka_unit_test(test_names_may_look_like_words_of_the_format),
        cmocka_unit_test(test_start_forms),
        cmocka_unit_test(test_start_vector_off_by_rounding_is_normalised),
        cmocka_unit_test(test_words_instead_of_numbers),
        cmocka_unit_test(test_reset_without_start_is_uniform),
        cmocka_unit_test(test_later_statements_override_entry_by_entry),
        cmocka_unit_test(test_whole_row_overrides_older_entries_of_other_patterns),
        cmocka_unit_test(test_overridden_wildcards_are_free),
        cmocka_unit_test(test_the_latest_reward_of_all_patterns_holds),
        cmocka_unit_test(test_costs_are_negated),
        cmocka_unit_test(test_rewards_may_be_absent),
        cmocka_unit_test(test_observations_are_skipped),
        cmocka_unit_test(test_rewards_equal_for_all_observations),
        cmocka_unit_test(test_rewards_without_observations),
        cmocka_unit_test(test_discount_of_one_is_handed_over),
        cmocka_unit_test(test_transition_rewards_are_averaged_unless_asked_for),
        cmocka_unit_test(test_wildcards_over_many_states),
        cmocka_unit_test(test_recognised_by_content),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* test_generate_settings.c: what a generator is asked for: names, ranges, sizes, memory, interruption. */
#include "support/support.h"

#include "support/generated.h"
#include "support/scarce.h"

#include <math.h>
#include <string.h>

/* Asks for `kind` with one setting; the answer must be `expected` with these words. */
static void assert_refused(const char *kind, const char *name, double value, nadir_status expected,
                           const char *words)
{
    nadir_context *context = test_context();
    nadir_generate_settings settings = test_generate_settings();
    nadir_model *model = NULL;
    assert_ok(context, nadir_generate_settings_set(context, &settings, name, value));
    assert_fails(context, nadir_model_generate(context, kind, &settings, &model), expected, words);
    assert_null(model);
    nadir_context_free(context);
}

static void every_kind_is_described_and_made(void **state)
{
    static const char *const names[] = {"random",    "garnet", "riverswim", "machine",
                                        "inventory", "forest", "gridworld"};
    nadir_context *context = *state;
    for (int64_t i = 0; i < 7; i++) {
        const nadir_generator_facts *facts = nadir_generator(i);
        assert_non_null(facts);
        assert_string_equal(facts->name, names[i]);
        assert_true(strlen(facts->summary) > 10 && strlen(facts->source) > 10);
        assert_int_equal(facts->random, i < 2);
        nadir_model *model = NULL;
        assert_ok(context, nadir_model_generate(context, facts->name, NULL, &model));
        assert_close(test_view(model).discount, facts->discount, 0);
        nadir_model_free(model);
    }
    assert_null(nadir_generator(7));
    assert_null(nadir_generator(-1));
}

/* What the facts say about a setting is what happens: its default changes nothing, its bounds are kept. */
static void the_described_settings_are_the_real_ones(void **state)
{
    nadir_context *context = *state;
    for (int64_t i = 0; nadir_generator(i) != NULL; i++) {
        const nadir_generator_facts *facts = nadir_generator(i);
        nadir_model *standard = NULL;
        assert_ok(context, nadir_model_generate(context, facts->name, NULL, &standard));
        nadir_generate_settings all = test_generate_settings();
        for (int64_t j = 0; j < facts->settings_count; j++) {
            const nadir_generator_setting *setting = &facts->settings[j];
            assert_true(strlen(setting->meaning) > 5);
            if (!isnan(setting->standard)) {
                assert_ok(context,
                          nadir_generate_settings_set(context, &all, setting->name, setting->standard));
            }
            if (isfinite(setting->highest)) {
                assert_refused(facts->name, setting->name, setting->highest + 1, NADIR_ERROR_ARGUMENT,
                               setting->name);
            }
            if (setting->lowest > 1) {
                assert_refused(facts->name, setting->name, setting->lowest - 1, NADIR_ERROR_ARGUMENT,
                               setting->name);
            }
        }
        assert_ok(context, nadir_generate_settings_set(context, &all, "discount", facts->discount));
        nadir_model *spelled_out = NULL;
        assert_ok(context, nadir_model_generate(context, facts->name, &all, &spelled_out));
        assert_models_equal(standard, spelled_out, 0);
        nadir_model_free(standard);
        nadir_model_free(spelled_out);
    }
}

static void an_unknown_kind_is_refused(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = NULL;
    assert_fails(context, nadir_model_generate(context, "castle", NULL, &model), NADIR_ERROR_ARGUMENT,
                 "there is no generator \"castle\"; expected one of random, garnet, riverswim, machine, "
                 "inventory, forest, gridworld");
    assert_fails(context, nadir_model_generate(context, "inventori", NULL, &model), NADIR_ERROR_ARGUMENT,
                 "gridworld; did you mean inventory?");
    assert_fails(context, nadir_model_generate(context, "", NULL, &model), NADIR_ERROR_ARGUMENT, "\"\"");
}

static void a_setting_of_another_kind_is_refused(void **state)
{
    (void)state;
    assert_refused("riverswim", "branch", 5, NADIR_ERROR_ARGUMENT,
                   "riverswim has no setting branch; leave it out (it has states, reward, small-reward, "
                   "discount and seed)");
    assert_refused("random", "branch", 5, NADIR_ERROR_ARGUMENT, "random has no setting branch");
    assert_refused("garnet", "slip", 0, NADIR_ERROR_ARGUMENT, "garnet has no setting slip");
    assert_refused("machine", "actions", 2, NADIR_ERROR_ARGUMENT, "machine has no setting actions");
    assert_refused("inventory", "states", 4, NADIR_ERROR_ARGUMENT, "inventory has no setting states");
    assert_refused("forest", "width", 3, NADIR_ERROR_ARGUMENT, "forest has no setting width");
    assert_refused("gridworld", "states", 25, NADIR_ERROR_ARGUMENT, "gridworld has no setting states");
    assert_refused("gridworld", "holding-cost", 0, NADIR_ERROR_ARGUMENT, "no setting holding-cost");
}

static void a_setting_out_of_range_is_refused(void **state)
{
    (void)state;
    assert_refused("riverswim", "states", 1, NADIR_ERROR_ARGUMENT,
                   "riverswim: states is 1; expected 2 to 2147483647");
    assert_refused("machine", "states", 2, NADIR_ERROR_ARGUMENT, "machine: states is 2; expected 3 to");
    assert_refused("forest", "slip", 1.5, NADIR_ERROR_ARGUMENT, "forest: slip is 1.5; expected 0 to 1");
    assert_refused("gridworld", "slip", -0.1, NADIR_ERROR_ARGUMENT, "gridworld: slip is -0.1; expected 0 to");
    assert_refused("garnet", "branch", 101, NADIR_ERROR_ARGUMENT,
                   "garnet: branch is 101; expected at most the number of states, 100");
}

static void settings_given_as_members_are_checked_too(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = NULL;
    nadir_generate_settings settings = test_generate_settings();
    settings.states = -5;
    assert_fails(context, nadir_model_generate(context, "garnet", &settings, &model), NADIR_ERROR_ARGUMENT,
                 "garnet: states is -5; expected 1 to 2147483647");
    settings.states = INT64_MAX;
    assert_fails(context, nadir_model_generate(context, "random", &settings, &model), NADIR_ERROR_ARGUMENT,
                 "random: states is 9.2");
    settings = test_generate_settings();
    settings.reward = INFINITY;
    assert_fails(context, nadir_model_generate(context, "forest", &settings, &model), NADIR_ERROR_ARGUMENT,
                 "forest: reward is inf; expected a finite number");
    settings = test_generate_settings();
    settings.size = 0;
    assert_fails(context, nadir_model_generate(context, "forest", &settings, &model), NADIR_ERROR_ARGUMENT,
                 "size of the generate settings");
}

static void a_discount_out_of_range_is_ill_posed(void **state)
{
    (void)state;
    static const double wrong[] = {1, -0.1, 1.5};
    for (int i = 0; i < 3; i++) {
        assert_refused("forest", "discount", wrong[i], NADIR_ERROR_ILL_POSED, "expected 0 <= discount < 1");
    }
}

/* A caller built when the settings were fewer. */
static void shorter_settings_leave_the_rest_unset(void **state)
{
    nadir_context *context = *state;
    nadir_generate_settings settings;
    memset(&settings, 0, sizeof settings);
    settings.size = offsetof(nadir_generate_settings, actions);
    settings.states = 4;
    nadir_model *model = NULL;
    assert_ok(context, nadir_model_generate(context, "riverswim", &settings, &model));
    assert_fails(context, nadir_generate_settings_set(context, &settings, "actions", 3), NADIR_ERROR_ARGUMENT,
                 "there is no setting actions");
    nadir_model_free(model);
}

static void settings_by_name_are_checked(void **state)
{
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    assert_fails(context, nadir_generate_settings_set(context, &settings, "colour", 1), NADIR_ERROR_ARGUMENT,
                 "there is no setting colour");
    assert_fails(context, nadir_generate_settings_set(context, &settings, "size", 1), NADIR_ERROR_ARGUMENT,
                 "there is no setting size");
    static const double wrong[] = {0, -1, 1.5, NAN, INFINITY, 1e300};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_fails(context, nadir_generate_settings_set(context, &settings, "states", wrong[i]),
                     NADIR_ERROR_ARGUMENT, "expected a whole number, 1 or more");
    }
    assert_fails(context, nadir_generate_settings_set(context, &settings, "slip", NAN), NADIR_ERROR_ARGUMENT,
                 "slip is nan; expected a finite number");
    assert_ok(context, nadir_generate_settings_set(context, &settings, "states", 7));
    assert_ok(context, nadir_generate_settings_set(context, &settings, "small-reward", -2.5));
    assert_int_equal(settings.states, 7);
    assert_close(settings.small_reward, -2.5, 0);
}

/* Nothing large is asked for before its size is known to be possible. */
static void sizes_beyond_any_memory_are_refused(void **state)
{
    (void)state;
    const size_t limit = 1 << 20;
    nadir_context *context = test_context_memory(limit);
    nadir_model *model = NULL;
    nadir_generate_settings settings = test_generate_settings();
    settings.states = INT32_MAX;
    assert_fails(context, nadir_model_generate(context, "random", &settings, &model), NADIR_ERROR_ARGUMENT,
                 "more than can be stored");
    assert_fails(context, nadir_model_generate(context, "garnet", &settings, &model), NADIR_ERROR_MEMORY,
                 "out of memory");
    assert_fails(context, nadir_model_generate(context, "riverswim", &settings, &model), NADIR_ERROR_MEMORY,
                 "out of memory");
    assert_fails(context, nadir_model_generate(context, "machine", &settings, &model), NADIR_ERROR_MEMORY,
                 "out of memory");
    assert_fails(context, nadir_model_generate(context, "forest", &settings, &model), NADIR_ERROR_MEMORY,
                 "out of memory");
    settings.actions = INT32_MAX;
    settings.branch = 1 << 26;
    assert_fails(context, nadir_model_generate(context, "garnet", &settings, &model), NADIR_ERROR_ARGUMENT,
                 "more than can be stored");
    settings = test_generate_settings();
    settings.capacity = 1000000;
    settings.demand = 1000000;
    assert_fails(context, nadir_model_generate(context, "inventory", &settings, &model), NADIR_ERROR_MEMORY,
                 "out of memory");
    settings = test_generate_settings();
    settings.width = 50000;
    settings.height = 50000;
    assert_fails(context, nadir_model_generate(context, "gridworld", &settings, &model), NADIR_ERROR_ARGUMENT,
                 "gridworld: 50000 x 50000 cells are too many");
    settings.height = 40000;
    assert_fails(context, nadir_model_generate(context, "gridworld", &settings, &model), NADIR_ERROR_MEMORY,
                 "out of memory");
    assert_true(nadir_context_memory_peak(context) <= limit);
    nadir_context_free(context);
}

static nadir_status attempt(nadir_context *context, const void *kind)
{
    nadir_model *model = NULL;
    const nadir_status status = nadir_model_generate(context, kind, NULL, &model);
    assert_int_equal(model == NULL, status != NADIR_OK);
    nadir_model_free(model);
    return status;
}

/* The k-th allocation fails, for k = 1, 2, ... until none does: no crash, no leak, the right status. */
static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    for (int64_t i = 0; nadir_generator(i) != NULL; i++) {
        (void)test_run_out(attempt, nadir_generator(i)->name, NULL, nadir_generator(i)->name);
    }
}

static int stop(void *user, const char *task, double share)
{
    assert_string_equal(task, "generating");
    assert_true(share >= 0 && share <= 1);
    (*(int *)user)++;
    return 1;
}

static void long_work_can_be_interrupted(void **state)
{
    (void)state;
    static const char *const kinds[] = {"random", "garnet", "riverswim", "machine", "inventory", "forest"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int calls = 0;
        nadir_model *model = NULL;
        nadir_context *context = test_context_progress(stop, &calls);
        assert_fails(context, nadir_model_generate(context, kinds[i], NULL, &model), NADIR_ERROR_INTERRUPTED,
                     "interrupted while generating");
        assert_int_equal(calls, 1);
        nadir_context_free(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(every_kind_is_described_and_made),
        test_with_context(the_described_settings_are_the_real_ones),
        test_with_context(an_unknown_kind_is_refused),
        cmocka_unit_test(a_setting_of_another_kind_is_refused),
        cmocka_unit_test(a_setting_out_of_range_is_refused),
        test_with_context(settings_given_as_members_are_checked_too),
        cmocka_unit_test(a_discount_out_of_range_is_ill_posed),
        test_with_context(shorter_settings_leave_the_rest_unset),
        test_with_context(settings_by_name_are_checked),
        cmocka_unit_test(sizes_beyond_any_memory_are_refused),
        cmocka_unit_test(every_failing_allocation_is_survived),
        cmocka_unit_test(long_work_can_be_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

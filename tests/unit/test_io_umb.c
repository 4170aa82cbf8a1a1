/* test_io_umb.c: UMB files: what is written is read back bit by bit, what others write is read, what is wrong is refused. */
#include "support/support.h"

#include "io/tar.h"
#include "model/model.h"
#include "support/formats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Round trips ------------------------------------------------------------------------------------- */

static void round_trip(nadir_context *context, const nadir_model *model, unsigned ignore)
{
    static const char *const names[] = {"out.umb", "out.umb.gz", "out.umb.xz"};
    nadir_model *again = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_ok(context, nadir_model_write(context, model, names[i], NULL));
        assert_ok(context, nadir_model_read(context, names[i], NULL, &again));
        assert_models_equal(model, again, ignore);
        nadir_model_free(again);
        assert_int_equal(unlink(names[i]), 0);
    }
}

static void test_generated_models(void **state)
{
    nadir_context *context = *state;
    static const char *const kinds[] = {"garnet", "riverswim", "machine", "inventory", "forest", "gridworld"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        nadir_model *model = NULL;
        assert_ok(context, nadir_model_generate(context, kinds[i], NULL, &model));
        round_trip(context, model, model->state_names.count > 0 ? TEST_IGNORE_NAMES : 0);
        nadir_model_free(model);
    }
}

/* Ragged actions with gaps, names, scales, a terminal state, radii of rows, an initial distribution of its own. */
static void test_everything(void **state)
{
    nadir_context *context = *state;
    const int64_t state_rows[] = {0, 2, 3, 4};
    const int32_t row_actions[] = {0, 2, 1, 0};
    const int64_t row_starts[] = {0, 2, 4, 5, 6};
    const int32_t columns[] = {0, 1, 1, 2, 0, 2};
    const double probabilities[] = {0.3, 0.7, 0.1, 0.9, 1, 1};
    const double transition_rewards[] = {1, 2, 3, 4, -5, 0};
    const double initial[] = {0.2, 0.5, 0.3};
    const double scales[] = {1, 2.5, 0, 0};
    const double radius[] = {0.1, 0.2, 0.3, 0.4};
    static const char *const actions[] = {"left", "stay put", "gr\303\274n"};
    nadir_model_data data;
    nadir_model *model = NULL;
    nadir_model_data_default(&data);
    data.states = 3;
    data.rows = 4;
    data.discount = 0.97;
    data.state_rows = state_rows;
    data.row_actions = row_actions;
    data.row_starts = row_starts;
    data.columns = columns;
    data.probabilities = probabilities;
    data.transition_rewards = transition_rewards;
    data.initial = initial;
    data.scales = scales;
    data.radius = radius;
    data.radius_count = 4;
    data.norm = INFINITY;
    data.set = NADIR_SET_SA;
    data.domain = NADIR_DOMAIN_SUPPORT;
    data.action_names = actions;
    data.action_names_count = 3;
    assert_ok(context, nadir_model_create(context, &data, &model));
    round_trip(context, model, 0);
    nadir_model_free(model);
}

/* ---- Files as others write them ---------------------------------------------------------------------- */

/* One file of an archive. */
typedef struct part {
    const char *name;
    const void *bytes;
    size_t size;
} part;

static const uint64_t state_to_choices[] = {0, 2, 3, 3};
static const uint64_t choice_to_branches[] = {0, 2, 3, 4};
static const uint64_t branch_to_target[] = {1, 2, 0, 2};
static const double branch_to_probability[] = {0.25, 0.75, 1, 1};
static const uint64_t initial_bits[] = {1};
static const uint32_t choice_actions[] = {1, 0, 1};
static const uint64_t name_starts[] = {0, 3, 5};
static const double choice_rewards[] = {1, 2, 3};
static const double state_rewards[] = {10, 20, 30};
static const double branch_rewards[] = {0.5, 0, 0, 0};

static const char index_text[] =
    "{\"format-version\": 1, \"format-revision\": 0, \"transition-system\": {\"time\": \"discrete\", "
    "\"#players\": 1, "
    "\"#states\": 3, \"#initial-states\": 1, \"#choices\": 3, \"#choice-actions\": 2, \"#branches\": 4, "
    "\"#branch-actions\": 0, \"#observations\": 0, \"branch-probability-type\": {\"type\": \"double\"}}, "
    "\"annotations\": {\"aps\": {\"goal\": {\"applies-to\": [\"states\"], \"type\": {\"type\": \"bool\"}}}, "
    "\"rewards\": {\"cost\": {\"alias\": \"The cost\", \"applies-to\": [\"states\", \"choices\", "
    "\"branches\"], "
    "\"type\": {\"type\": \"double\", \"size\": 64}}}}}";

/* A model with a terminal state, and choices that do not rise by action. */
static const part small[] = {
    {"index.json", index_text, sizeof index_text - 1},
    {"./state-to-choices.bin", state_to_choices, sizeof state_to_choices},
    {"choice-to-branches.bin", choice_to_branches, sizeof choice_to_branches},
    {"branch-to-target.bin", branch_to_target, sizeof branch_to_target},
    {"branch-to-probability.bin", branch_to_probability, sizeof branch_to_probability},
    {"state-is-initial.bin", initial_bits, sizeof initial_bits},
    {"actions/choices/values.bin", choice_actions, sizeof choice_actions},
    {"actions/choices/string-mapping.bin", name_starts, sizeof name_starts},
    {"actions/choices/strings.bin", "runup", 5},
    {"annotations/rewards/cost/states/values.bin", state_rewards, sizeof state_rewards},
    {"annotations/rewards/cost/choices/values.bin", choice_rewards, sizeof choice_rewards},
    {"annotations/rewards/cost/branches/values.bin", branch_rewards, sizeof branch_rewards},
};
enum { PARTS = sizeof small / sizeof *small };

/* Writes the small model, a part of it replaced, left out (bytes NULL) or, where no part has its name, added. */
static void write_small(nadir_context *context, const part *other)
{
    nadir_output output;
    bool used = other == NULL;
    assert_ok(context, nadir_output_open(context, "small.umb", &output));
    for (size_t i = 0; i <= PARTS; i++) {
        const bool added = i == PARTS && !used;
        const bool same = i < PARTS && other != NULL && strcmp(small[i].name, other->name) == 0;
        const part *put = same || added ? other : i < PARTS ? &small[i] : NULL;
        used = used || same;
        if (put != NULL && put->bytes != NULL) {
            nadir_tar_write_header(&output, put->name, (int64_t)put->size);
            nadir_output_write(&output, put->bytes, put->size);
            nadir_tar_write_end(&output, (int64_t)put->size);
        }
    }
    nadir_tar_write_close(&output);
    assert_ok(context, nadir_output_commit(context, &output));
    nadir_output_close(context, &output);
}

static void test_terminal_states_and_choices_in_any_order(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = NULL;
    nadir_model_data view;
    write_small(context, NULL);
    assert_ok(context, test_format_read(context, &nadir_format_umb, "small.umb", NULL, &model));
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    assert_int_equal(view.states, 3);
    assert_int_equal(view.rows, 4);
    assert_int_equal(nadir_model_find_row(model, 0, 0) >= 0, true);
    const int64_t up = nadir_model_find_row(model, 0, 0); /* the first choice of state 0 has action 1, "up" */
    assert_string_equal(nadir_names_get(&model->action_names, 0), "up");
    assert_string_equal(nadir_names_get(&model->action_names, 1), "run");
    assert_true(model->rewards[up] == 10 + 1 + 0.25 * 0.5);
    assert_true(nadir_model_is_terminal(model, 2));
    assert_true(model->initial[0] == 1);
    nadir_model_free(model);
    assert_int_equal(unlink("small.umb"), 0);
}

/* ---- What is wrong ----------------------------------------------------------------------------------- */

static void refuse(nadir_context *context, const part *other, const char *words)
{
    write_small(context, other);
    test_format_refuse(&nadir_format_umb, "small.umb", NULL, NADIR_ERROR_FORMAT, words);
    assert_int_equal(unlink("small.umb"), 0);
}

/* The index with `from` replaced by `to`. */
static void refuse_index(nadir_context *context, const char *from, const char *to, const char *words)
{
    static char text[4 * sizeof index_text];
    const char *place = strstr(index_text, from);
    assert_non_null(place);
    const int length = snprintf(text, sizeof text, "%.*s%s%s", (int)(place - index_text), index_text, to,
                                place + strlen(from));
    const part changed = {"index.json", text, (size_t)length};
    refuse(context, &changed, words);
}

static void test_wrong_index(void **state)
{
    nadir_context *context = *state;
    static char deep[200000];
    const part none = {"index.json", NULL, 0};
    const part hostile = {"index.json", deep, sizeof deep};
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    refuse(context, &none, "without index.json");
    refuse(context, &hostile, "nested more than");
    refuse_index(context, "\"format-version\": 1", "\"format-version\": 2", "another version");
    refuse_index(context, "\"discrete\"", "\"stochastic\"", "continuous time");
    refuse_index(context, "\"#players\": 1", "\"#players\": 2", "several players");
    refuse_index(context, "\"#states\": 3", "\"#states\": 0", "without states");
    refuse_index(context, "\"#states\": 3", "\"#states\": 2147483646", "state-to-choices.bin has 32 bytes");
    refuse_index(context, "\"#states\": 3", "\"#states\": 1e300", "expected a whole number");
    refuse_index(context, "\"#states\": 3", "\"#states\": -1", "expected a whole number");
    refuse_index(context, "\"#choices\": 3", "\"#choices\": 500000000000000000",
                 "choice-to-branches.bin has 32 bytes");
    refuse_index(context, "\"#branches\": 4", "\"#branches\": 500000000000000000",
                 "branch-to-target.bin has 32 bytes");
    refuse_index(context, "\"branch-probability-type\": {\"type\": \"double\"}", "\"x\": 1",
                 "without probabilities");
    refuse_index(context, "{\"type\": \"double\"}", "{\"type\": \"double-interval\"}",
                 "branch-to-probability.bin has 32 bytes");
    refuse_index(context, "{\"type\": \"double\"}", "{\"type\": \"rational\"}",
                 "branch-to-probability.bin has 32 bytes");
    refuse_index(context, "{\"type\": \"double\", \"size\": 64}", "{\"type\": \"string\"}",
                 "neither doubles");
    refuse_index(context, "}}}}}", "}}}}", "the file ends here");
}

static void test_wrong_arrays(void **state)
{
    nadir_context *context = *state;
    const uint64_t falling[] = {0, 3, 2, 3};
    const uint64_t not_from_0[] = {1, 2, 3, 3};
    const uint64_t past[] = {0, 2, 3, 9};
    const uint64_t far_off[] = {1, 2, 0, UINT64_MAX};
    const double sum[] = {0.25, 0.7, 1, 1};
    const double negative[] = {-0.25, 1.25, 1, 1};
    const uint32_t action[] = {1, 0, 7};
    const part wrong[] = {
        {"./state-to-choices.bin", falling, sizeof falling},
        {"./state-to-choices.bin", not_from_0, sizeof not_from_0},
        {"./state-to-choices.bin", past, sizeof past},
        {"./state-to-choices.bin", past, 31},
        {"branch-to-target.bin", far_off, sizeof far_off},
        {"branch-to-target.bin", NULL, 0},
        {"branch-to-probability.bin", NULL, 0},
        {"choice-to-branches.bin", NULL, 0},
        {"actions/choices/values.bin", action, sizeof action},
        {"actions/choices/strings.bin", "run", 3},
        {"actions/choices/strings.bin", "r\0nup", 5},
        {"annotations/rewards/cost/choices/values.bin", sum, 16},
        {"annotations/nadir/settings/states/strings.bin", "discount many", 13},
        {"annotations/nadir/settings/states/strings.bin", "norm", 4},
    };
    static const char *const words[] = {
        "does not rise from 0 to 3",
        "does not rise from 0 to 3",
        "does not rise from 0 to 3",
        "has 31 bytes; expected 4 items of 8 bytes",
        "branch 3 leads to state 18446744073709551615",
        "branch-to-target.bin is missing",
        "branch-to-probability.bin is missing",
        "choice-to-branches.bin is missing",
        "choice 2 has action 7; expected 0 to 1",
        "string-mapping.bin does not rise from 0 to 3",
        "a name holds a zero byte",
        "has 16 bytes; expected 3 items of 8 bytes",
        "found `discount many`",
        "found `norm `",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        refuse(context, &wrong[i], words[i]);
    }
    const part sums = {"branch-to-probability.bin", sum, sizeof sum};
    const part signs = {"branch-to-probability.bin", negative, sizeof negative};
    write_small(context, &sums);
    test_format_refuse(&nadir_format_umb, "small.umb", NULL, NADIR_ERROR_MODEL, "probabilities sum to 0.95");
    write_small(context, &signs);
    test_format_refuse(&nadir_format_umb, "small.umb", NULL, NADIR_ERROR_MODEL, "-0.25");
    assert_int_equal(unlink("small.umb"), 0);
}

static void write_bytes(const char *bytes, size_t count)
{
    FILE *file = fopen("small.umb", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* No beginning of an archive is read as a model, and no damaged header. */
static void test_damaged_archives(void **state)
{
    nadir_context *context = *state;
    static char bytes[1 << 16];
    nadir_model *model = NULL;
    write_small(context, NULL);
    FILE *file = fopen("small.umb", "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    for (size_t cut = 512; cut <= size - 1024; cut += 512) {
        write_bytes(bytes, cut);
        test_format_refuse(&nadir_format_umb, "small.umb", NULL, NADIR_ERROR_FORMAT, "cut off");
    }
    bytes[124] = '7'; /* the size of the first file */
    write_bytes(bytes, size);
    test_format_refuse(&nadir_format_umb, "small.umb", NULL, NADIR_ERROR_FORMAT, "begins no file");
    const part twice = {"branch-to-target.bin ", branch_to_target, sizeof branch_to_target};
    write_small(context, &twice); /* harmless: the name is another */
    assert_ok(context, test_format_read(context, &nadir_format_umb, "small.umb", NULL, &model));
    nadir_model_free(model);
    const part same = {"state-to-choices.bin", state_to_choices, sizeof state_to_choices};
    refuse(context, &same, "two files named state-to-choices.bin");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_generated_models),
        test_with_context(test_everything),
        test_with_context(test_terminal_states_and_choices_in_any_order),
        test_with_context(test_wrong_index),
        test_with_context(test_wrong_arrays),
        test_with_context(test_damaged_archives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

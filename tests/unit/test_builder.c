/* test_builder.c: models from transitions in any order, names, and lines of text. */
#include "support/support.h"

#include "core/random.h"
#include "io/text_reader.h"
#include "model/model_builder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void add(nadir_context *context, nadir_builder *builder, int64_t state, int64_t action,
                int64_t successor, double probability, double reward)
{
    assert_ok(context, nadir_builder_add(builder, state, action, successor, probability, reward, 1));
}

/* The same transitions in a hundred random orders give the same model. */
static void test_order_does_not_matter(void **state)
{
    enum { S = 13, A = 3, B = 4, COUNT = S * A * B };
    nadir_context *context = *state;
    nadir_model *first = NULL;
    for (uint64_t seed = 0; seed < 100; seed++) {
        nadir_random random = test_random(seed);
        int order[COUNT];
        for (int i = 0; i < COUNT; i++) {
            order[i] = i;
        }
        for (int i = COUNT - 1; i > 0 && seed > 0; i--) {
            const int j = (int)nadir_random_below(&random, (uint64_t)i + 1);
            const int swap = order[i];
            order[i] = order[j];
            order[j] = swap;
        }
        nadir_builder builder;
        assert_ok(context, nadir_builder_start(context, "made", &builder));
        for (int i = 0; i < COUNT; i++) {
            const int k = order[i];
            const int s = k / (A * B);
            const int a = k / B % A;
            const int b = k % B;
            add(context, &builder, s, 2 * a + s % 2, (s + 5 * b + a) % S, 0.25, b == 3 ? 1.0 / (k + 1) : k);
        }
        nadir_model *model = NULL;
        assert_ok(context, nadir_builder_finish(&builder, NULL, &model));
        assert_int_equal(model->rows, S * A);
        if (first == NULL) {
            first = model;
        } else {
            assert_models_equal(first, model, 0);
            nadir_model_free(model);
        }
    }
    nadir_model_free(first);
}

/* Misspelt: another case, a letter too many, too few, another one, or two swapped. Names that are counted are not. */
static void test_names_that_are_alike(void **state)
{
    (void)state;
    static const char *const alike[][2] = {{"good", "goood"}, {"Good", "good"}, {"closed", "clsoed"},
                                           {"new", "newe"},   {"a", "A"},       {"worn", "wern"},
                                           {"nois", "noisy"}};
    static const char *const apart[][2] = {
        {"good", "good"},    {"r1c2", "r1c3"}, {"s1", "s11"},   {"new", "now"},   {"left", "lost"},
        {"good", "goooood"}, {"", "a"},        {"age9", "age"}, {"abcd", "bcda"}, {"", ""}};
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
        assert_true(nadir_names_alike(alike[i][0], alike[i][1]));
        assert_true(nadir_names_alike(alike[i][1], alike[i][0]));
    }
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        assert_false(nadir_names_alike(apart[i][0], apart[i][1]));
        assert_false(nadir_names_alike(apart[i][1], apart[i][0]));
    }
}

static void test_states_without_actions_are_terminal(void **state)
{
    nadir_context *context = *state;
    nadir_builder builder;
    assert_ok(context, nadir_builder_start(context, "made", &builder));
    add(context, &builder, 1, 0, 3, 1, 5);
    nadir_model *model = NULL;
    assert_ok(context, nadir_builder_finish(&builder, NULL, &model));
    assert_int_equal(model->states, 4);
    assert_int_equal(model->rows, 4);
    assert_non_null(strstr(test_messages(), "made: 3 states have no action (0, 2, 3): terminal"));
    for (int64_t s = 0; s < 4; s++) {
        assert_int_equal(nadir_model_is_terminal(model, s), s != 1);
        assert_true(test_probability(model, s, s == 1 ? 3 : s) == 1);
    }
    assert_true(model->scales[1] == 1 && model->rewards[1] == 5 && model->rewards[3] == 0);
    nadir_model_free(model);
}

static void test_errors_name_the_line(void **state)
{
    nadir_context *context = *state;
    nadir_builder builder;
    nadir_model *model = NULL;
    assert_ok(context, nadir_builder_start(context, "file.csv", &builder));
    assert_ok(context, nadir_builder_add(&builder, 0, 0, 0, 1, 0, 2));
    assert_ok(context, nadir_builder_add(&builder, 1, 7, 0, 0.5, 0, 3));
    assert_ok(context, nadir_builder_add(&builder, 1, 7, 1, 0.4, 0, 4));
    assert_fails(context, nadir_builder_finish(&builder, NULL, &model), NADIR_ERROR_MODEL,
                 "file.csv:3: state 1, action 7: probabilities sum to 0.9; expected 1");
}

static void test_numbers_out_of_range(void **state)
{
    nadir_context *context = *state;
    nadir_builder builder;
    nadir_model *model = NULL;
    assert_ok(context, nadir_builder_start(context, "file", &builder));
    assert_fails(context, nadir_builder_add(&builder, -1, 0, 0, 1, 0, 9), NADIR_ERROR_FORMAT,
                 "file:9: state -1");
    assert_fails(context, nadir_builder_add(&builder, 0, INT64_MAX, 0, 1, 0, 9), NADIR_ERROR_FORMAT,
                 "action");
    assert_fails(context, nadir_builder_add(&builder, 0, 0, INT32_MAX, 1, 0, 9), NADIR_ERROR_FORMAT,
                 "successor 2147483647");
    /* One transition cannot make two billion states: refused before anything is allocated for them. */
    const size_t before = nadir_context_memory_peak(context);
    add(context, &builder, 0, 0, INT32_MAX - 1, 1, 0);
    assert_fails(context, nadir_builder_finish(&builder, NULL, &model), NADIR_ERROR_FORMAT,
                 "2147483647 states but only 1 transitions");
    assert_true(nadir_context_memory_peak(context) < before + 10000);
}

static void test_no_transition_at_all(void **state)
{
    nadir_context *context = *state;
    nadir_builder builder;
    nadir_model *model = NULL;
    assert_ok(context, nadir_builder_start(context, "file", &builder));
    assert_fails(context, nadir_builder_finish(&builder, NULL, &model), NADIR_ERROR_MODEL, "0 states");
    nadir_builder_clear(&builder);
}

static void test_rewards_apart_from_probabilities(void **state)
{
    nadir_context *context = *state;
    nadir_builder builder;
    assert_ok(context, nadir_builder_start(context, "made", &builder));
    add(context, &builder, 1, 1, 0, 1, 0);
    add(context, &builder, 1, 0, 1, 0.5, 0);
    add(context, &builder, 1, 0, 0, 0.5, 0);
    add(context, &builder, 0, 0, 1, 1, 0);
    assert_ok(context, nadir_builder_sort(&builder));
    nadir_builder_add_reward(&builder, nadir_builder_find(&builder, 1, 0, 1), 8);
    assert_true(nadir_builder_find(&builder, 1, 2, 1) == -1);
    assert_true(nadir_builder_find(&builder, 0, 0, 0) == -1);
    assert_true(nadir_builder_find(&builder, -1, 0, 0) == -1);
    assert_true(nadir_builder_find(&builder, (int64_t)1 << 32, 0, 0) == -1);
    const double state_rewards[] = {0, 100};
    nadir_builder_add_state_rewards(&builder, 2, state_rewards);
    nadir_model *model = NULL;
    assert_ok(context, nadir_builder_finish(&builder, NULL, &model));
    assert_true(model->rewards[0] == 0 && model->rewards[1] == 104 && model->rewards[2] == 100);
    nadir_model_free(model);
}

/* Transitions given twice keep their order while others are sorted around them: 0.1 + 0.2 + 0.3 has other
 * bits than 0.3 + 0.2 + 0.1. */
static void test_duplicates_keep_their_order(void **state)
{
    nadir_context *context = *state;
    nadir_builder builder;
    assert_ok(context, nadir_builder_start(context, "made", &builder));
    add(context, &builder, 0, 1, 0, 1, 0);
    add(context, &builder, 0, 0, 1, 0.1, 0);
    add(context, &builder, 0, 0, 1, 0.2, 0);
    add(context, &builder, 1, 0, 1, 1, 0);
    add(context, &builder, 0, 0, 0, 0.4, 0);
    add(context, &builder, 0, 0, 1, 0.3, 0);
    nadir_model *model = NULL;
    assert_ok(context, nadir_builder_finish(&builder, NULL, &model));
    assert_true(test_probability(model, 0, 1) == 0.1 + 0.2 + 0.3);
    nadir_model_free(model);
}

/* A reward of its own file belongs to every piece of a transition that was given in pieces. */
static void test_rewards_of_duplicates(void **state)
{
    nadir_context *context = *state;
    nadir_builder builder;
    assert_ok(context, nadir_builder_start(context, "made", &builder));
    add(context, &builder, 0, 0, 0, 0.25, 0);
    add(context, &builder, 0, 0, 1, 0.5, 0);
    add(context, &builder, 0, 0, 0, 0.25, 0);
    add(context, &builder, 1, 0, 1, 1, 0);
    assert_ok(context, nadir_builder_sort(&builder));
    nadir_builder_add_reward(&builder, nadir_builder_find(&builder, 0, 0, 0), 8);
    nadir_model *model = NULL;
    assert_ok(context, nadir_builder_finish(&builder, NULL, &model));
    assert_true(model->rewards[0] == 4 && model->rewards[1] == 0);
    nadir_model_free(model);
}

static void test_names(void **state)
{
    enum { COUNT = 1000 };
    nadir_context *context = *state;
    nadir_names names = {0};
    nadir_name_index index = {0};
    int64_t existing;
    assert_int_equal(nadir_name_index_find(&index, &names, "x", 1), -1);
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        const int length = snprintf(name, sizeof name, "n%d", i % (COUNT - 1));
        assert_ok(context, nadir_names_add(context, &names, name, (size_t)length));
        assert_ok(context, nadir_name_index_add(context, &index, &names, i, &existing));
        assert_int_equal(existing, i == COUNT - 1 ? 0 : -1);
    }
    assert_int_equal(nadir_name_index_find(&index, &names, "n17", 3), 17);
    assert_int_equal(nadir_name_index_find(&index, &names, "n17", 2), 1); /* only "n1" of it */
    assert_int_equal(nadir_name_index_find(&index, &names, "m", 1), -1);
    assert_null(nadir_names_get(&names, COUNT));
    nadir_name_index_clear(context, &index);
    nadir_names_clear(context->memory, &names);
}

static void test_lines(void **state)
{
    nadir_context *context = *state;
    nadir_text text;
    nadir_cursor line;
    bool more;
    test_write_file("text", "\xEF\xBB\xBF"
                            "one\r\n\n  three 3 \nlast");
    static const char *const expected[] = {"one", "", "  three 3 ", "last"};
    assert_ok(context, nadir_text_open(context, "text", &text));
    for (int i = 0; i < 4; i++) {
        assert_ok(context, nadir_text_line(&text, &line, &more));
        assert_true(more);
        assert_int_equal(text.line, i + 1);
        assert_true(nadir_cursor_equals(line, expected[i]));
    }
    assert_ok(context, nadir_text_line(&text, &line, &more));
    assert_false(more);
    nadir_text_close(&text);
    nadir_text_close(&text);
    test_write_bytes("text", "a\0b\n", 4);
    assert_ok(context, nadir_text_open(context, "text", &text));
    assert_fails(context, nadir_text_line(&text, &line, &more), NADIR_ERROR_FORMAT, "text:1: a zero byte");
    assert_fails(context, nadir_text_fail(&text, "odd \033[1m word"), NADIR_ERROR_FORMAT, "odd ?[1m word");
    nadir_text_close(&text);
    assert_int_equal(unlink("text"), 0);
}

/* Lines around the size of the block in which the file is read. */
static void test_long_lines(void **state)
{
    nadir_context *context = *state;
    static const int lengths[] = {262143, 1, 262144, 262145, 0, 600000};
    FILE *file = fopen("text", "w");
    assert_non_null(file);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < lengths[i]; j++) {
            fputc('a' + (i + j) % 26, file);
        }
        fputc('\n', file);
    }
    fclose(file);
    nadir_text text;
    nadir_cursor line;
    bool more;
    assert_ok(context, nadir_text_open(context, "text", &text));
    for (int i = 0; i < 6; i++) {
        assert_ok(context, nadir_text_line(&text, &line, &more));
        assert_int_equal(line.end - line.at, lengths[i]);
        for (int j = 0; j < lengths[i]; j += 997) {
            assert_int_equal(line.at[j], 'a' + (i + j) % 26);
        }
    }
    nadir_text_close(&text);
    assert_int_equal(unlink("text"), 0);
}

static void test_words_and_numbers(void **state)
{
    (void)state;
    const char *const source = " T: 12 : * -3.5e1 7x 8,";
    nadir_cursor cursor = {source, source + strlen(source)};
    nadir_cursor word;
    int64_t integer;
    double number;
    assert_true(nadir_cursor_take_word(&cursor, ":", &word));
    assert_true(nadir_cursor_equals_nocase(word, "t"));
    assert_true(nadir_cursor_take_char(&cursor, ':'));
    assert_true(nadir_cursor_take_integer(&cursor, &integer));
    assert_int_equal(integer, 12);
    assert_true(nadir_cursor_take_char(&cursor, ':'));
    assert_false(nadir_cursor_take_integer(&cursor, &integer));
    assert_true(nadir_cursor_take_char(&cursor, '*'));
    assert_true(nadir_cursor_take_double(&cursor, &number));
    assert_true(number == -35);
    assert_false(nadir_cursor_take_integer(&cursor, &integer)); /* 7x is no number */
    assert_true(nadir_cursor_take_word(&cursor, "", &word));
    assert_false(nadir_cursor_is_double(word, &number));
    assert_true(nadir_cursor_take_integer(&cursor, &integer));
    assert_int_equal(integer, 8);
    assert_true(nadir_cursor_starts(cursor, ","));
    assert_false(nadir_cursor_take_word(&cursor, ",", &word));
    static const char *const no_numbers[] = {"1.5.2", "1_000", "0x10", "1e", "--1", "1-", "nanny", ""};
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++) {
        const nadir_cursor text = {no_numbers[i], no_numbers[i] + strlen(no_numbers[i])};
        assert_false(nadir_cursor_is_double(text, &number));
        assert_false(nadir_cursor_is_integer(text, &integer));
        cursor = text;
        assert_int_equal(nadir_cursor_take_double(&cursor, &number), strcmp(no_numbers[i], "1-") == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_order_does_not_matter),
        cmocka_unit_test(test_names_that_are_alike),
        test_with_context(test_states_without_actions_are_terminal),
        test_with_context(test_errors_name_the_line),
        test_with_context(test_numbers_out_of_range),
        test_with_context(test_no_transition_at_all),
        test_with_context(test_rewards_apart_from_probabilities),
        test_with_context(test_duplicates_keep_their_order),
        test_with_context(test_rewards_of_duplicates),
        test_with_context(test_names),
        test_with_context(test_lines),
        test_with_context(test_long_lines),
        cmocka_unit_test(test_words_and_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

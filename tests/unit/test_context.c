/* test_context.c: status texts, counted memory, messages, progress, settings that can grow. */
#include "support/support.h"

#include "core/context.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_status_texts(void **state)
{
    (void)state;
    assert_string_equal(nadir_status_name(NADIR_ERROR_FORMAT), "NADIR_ERROR_FORMAT");
    assert_string_equal(nadir_status_sentence(NADIR_OK), "done");
    assert_string_equal(nadir_status_name((nadir_status)9999), "NADIR_ERROR_UNKNOWN");
    assert_int_equal(NADIR_ERROR_FILE / 10, 3);
    assert_int_equal(NADIR_ERROR_MEMORY / 10, 6);
}

static void test_version(void **state)
{
    (void)state;
    char expected[32];
    (void)snprintf(expected, sizeof expected, "%d.%d.%d", NADIR_VERSION_MAJOR, NADIR_VERSION_MINOR,
                   NADIR_VERSION_PATCH);
    assert_string_equal(nadir_version(), expected);
}

static void test_settings_that_are_wrong(void **state)
{
    (void)state;
    nadir_context *context = NULL;
    nadir_context_settings settings;
    nadir_context_settings_default(&settings);
    settings.size = 0;
    assert_int_equal(nadir_context_create(&settings, &context), NADIR_ERROR_ARGUMENT);
    nadir_context_settings_default(&settings);
    settings.size += 8;
    assert_int_equal(nadir_context_create(&settings, &context), NADIR_ERROR_ARGUMENT);
    nadir_context_settings_default(&settings);
    settings.threads = -1;
    assert_int_equal(nadir_context_create(&settings, &context), NADIR_ERROR_ARGUMENT);
    nadir_context_settings_default(&settings);
    settings.allocator.release = (void (*)(void *, void *))abort;
    assert_int_equal(nadir_context_create(&settings, &context), NADIR_ERROR_ARGUMENT);
    assert_null(context);
    nadir_context_free(NULL);
}

/* A caller compiled against an older, shorter struct. */
static void test_shorter_settings_are_filled_up(void **state)
{
    (void)state;
    struct older {
        size_t size;
        double first;
    } older = {sizeof older, 5};
    struct newer {
        size_t size;
        double first, second;
    } newer = {sizeof newer, 1, 2};
    assert_true(nadir_settings_copy(&newer, sizeof newer, &older));
    assert_true(newer.first == 5 && newer.second == 2);
    assert_int_equal(newer.size, sizeof newer);
}

static void test_default_threads(void **state)
{
    nadir_context *context = *state;
    assert_true(nadir_context_threads(context) >= 1);
}

static void test_memory_is_counted(void **state)
{
    nadir_context *context = *state;
    const size_t before = nadir_context_memory(context);
    double *block = nadir_allocate(context, 1000, sizeof *block);
    assert_non_null(block);
    const size_t during = nadir_context_memory(context);
    assert_true(during >= before + 8000 && during < before + 8200);
    block = nadir_reallocate(context, block, 10, sizeof *block);
    assert_non_null(block);
    assert_true(nadir_context_memory(context) < before + 200);
    assert_true(nadir_context_memory_peak(context) >= during);
    nadir_release(context, block);
    nadir_release(context, NULL);
    assert_int_equal(nadir_context_memory(context), before);
}

/* A limit counts what is in use alone: blocks that were released leave all of it to the next ones. */
static void test_released_blocks_leave_the_limit(void **state)
{
    (void)state;
    enum { LARGE = 1 << 19 };
    nadir_context *context = test_context_memory(1 << 20);
    const size_t before = nadir_context_memory(context);
    for (int i = 0; i < 100; i++) {
        char *block = nadir_allocate(context, LARGE + (size_t)4096 * (size_t)(i % 40), 1);
        assert_non_null(block);
        memset(block, i, LARGE);
        nadir_release(context, block);
        assert_int_equal(nadir_context_memory(context), before);
    }
    char *most = nadir_allocate(context, (1 << 20) - 4096 - before, 1);
    assert_non_null(most);
    memset(most, 1, (1 << 20) - 4096 - before);
    assert_null(nadir_allocate(context, 1 << 16, 1));
    nadir_release(context, most);
    nadir_context_free(context);
}

/* Blocks of megabytes keep what is written to them, as they come, go, grow and shrink. */
static void test_large_blocks_keep_their_content(void **state)
{
    enum { BLOCKS = 6, ROUNDS = 400, STEP = 4096 };
    const size_t unit = (size_t)1 << 20;
    nadir_context *context = *state;
    const size_t before = nadir_context_memory(context);
    char *blocks[BLOCKS] = {NULL};
    size_t sizes[BLOCKS] = {0};
    uint64_t random = 1;
    for (int round = 0; round < ROUNDS; round++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        const int i = (int)(random >> 33) % BLOCKS;
        const size_t size = unit + (size_t)(random >> 20) % (20 * unit);
        for (size_t k = 0; k < sizes[i]; k += STEP) {
            assert_int_equal(blocks[i][k], (char)(i + (int)(k / STEP)));
        }
        if (blocks[i] != NULL && round % 3 == 0) {
            nadir_release(context, blocks[i]);
            blocks[i] = NULL;
            sizes[i] = 0;
            continue;
        }
        blocks[i] = nadir_reallocate(context, blocks[i], size, 1);
        assert_non_null(blocks[i]);
        for (size_t k = 0; k < sizes[i] && k < size; k += STEP) {
            assert_int_equal(blocks[i][k], (char)(i + (int)(k / STEP)));
        }
        for (size_t k = 0; k < size; k += STEP) {
            blocks[i][k] = (char)(i + (int)(k / STEP));
        }
        blocks[i][size - 1] = blocks[i][(size - 1) / STEP * STEP];
        sizes[i] = size;
    }
    for (int i = 0; i < BLOCKS; i++) {
        nadir_release(context, blocks[i]);
    }
    assert_int_equal(nadir_context_memory(context), before);
}

static void test_memory_limit_holds(void **state)
{
    (void)state;
    nadir_context *context = test_context_memory(1 << 20);
    assert_null(nadir_allocate(context, 1 << 20, 1));
    assert_non_null(strstr(nadir_context_error(context), "out of memory"));
    assert_null(nadir_allocate(context, SIZE_MAX / 2, 8)); /* the product overflows */
    char *block = nadir_allocate(context, 1 << 19, 1);
    assert_non_null(block);
    memset(block, 7, 1 << 19);
    assert_null(nadir_reallocate(context, block, 1 << 21, 1));
    assert_int_equal(block[(1 << 19) - 1], 7); /* as it was */
    assert_null(nadir_allocate(context, 1 << 19, 1));
    nadir_release(context, block);
    nadir_context_free(context);
}

/* Hooks that count and can refuse. */
typedef struct hook_state {
    int live;
    int refuse_after;
} hook_state;

static void *hook_allocate(void *user, size_t bytes)
{
    hook_state *hooks = user;
    if (hooks->refuse_after-- <= 0) {
        return NULL;
    }
    hooks->live++;
    return malloc(bytes);
}

static void *hook_reallocate(void *user, void *pointer, size_t bytes)
{
    hook_state *hooks = user;
    return hooks->refuse_after-- <= 0 ? NULL : realloc(pointer, bytes);
}

static void hook_release(void *user, void *pointer)
{
    hook_state *hooks = user;
    hooks->live -= pointer != NULL;
    free(pointer);
}

/* The k-th allocation fails, for every k, while a model is made: a clean status and no leak each time. */
static void test_every_allocation_can_fail(void **state)
{
    (void)state;
    nadir_status status = NADIR_ERROR_MEMORY;
    int k = 0;
    for (; status != NADIR_OK && k < 1000; k++) {
        hook_state hooks = {.refuse_after = k};
        nadir_context_settings settings;
        nadir_context_settings_default(&settings);
        settings.allocator = (nadir_allocator){hook_allocate, hook_reallocate, hook_release, &hooks};
        nadir_context *context = NULL;
        status = nadir_context_create(&settings, &context);
        nadir_model *model = NULL;
        if (status == NADIR_OK) {
            static const int64_t state_rows[] = {0, 1, 2};
            static const double dense[] = {0.5, 0.5, 1, 0};
            static const double rewards[] = {1, 2};
            static const char *const names[] = {"a", "b"};
            nadir_model_data data = test_model_data();
            data.states = 2;
            data.rows = 2;
            data.state_rows = state_rows;
            data.dense = dense;
            data.rewards = rewards;
            data.state_names = names;
            status = nadir_model_create(context, &data, &model);
        }
        nadir_policy *policy = NULL;
        if (status == NADIR_OK) {
            status = nadir_policy_create_uniform(context, model, &policy);
        }
        nadir_policy_free(policy);
        nadir_context_free(context); /* before the model: it keeps its own memory alive */
        nadir_model_free(model);
        assert_true(status == NADIR_OK || status == NADIR_ERROR_MEMORY);
        assert_int_equal(hooks.live, 0);
    }
    assert_true(k > 8 && k < 1000);
}

static int refuse(void *user, const char *task, double share)
{
    (void)share;
    assert_string_equal(task, "testing");
    ++*(int *)user;
    return 1;
}

static void test_progress_can_interrupt(void **state)
{
    (void)state;
    int calls = 0;
    nadir_context *context = test_context_progress(refuse, &calls);
    assert_int_equal(nadir_progress(context, "testing", 0.5), NADIR_ERROR_INTERRUPTED);
    assert_int_equal(nadir_progress(context, "testing", 0.5), NADIR_OK); /* too soon to ask again */
    assert_int_equal(calls, 1);
    nadir_context_free(context);
}

/* With a deadline an interruption is told by nadir_time_is_up, and fails the first call after that unless it is taken. */
static void test_deadline_keeps_an_interruption(void **state)
{
    (void)state;
    for (int taken = 0; taken < 2; taken++) {
        int calls = 0;
        nadir_context *context = test_context_progress(refuse, &calls);
        nadir_deadline_set(context, INFINITY);
        assert_false(nadir_time_is_up(context));
        assert_int_equal(nadir_progress(context, "testing", 0.5), NADIR_OK);
        assert_true(nadir_time_is_up(context));
        nadir_deadline_clear(context);
        assert_false(nadir_time_is_up(context));
        assert_true(taken == 0 || nadir_interrupt_take(context));
        assert_int_equal(nadir_progress(context, "testing", 0.5), taken ? NADIR_OK : NADIR_ERROR_INTERRUPTED);
        assert_int_equal(calls, 1);
        nadir_deadline_set(context, nadir_clock_seconds());
        assert_true(nadir_time_is_up(context));
        nadir_context_free(context);
    }
}

static void test_long_messages_are_cut(void **state)
{
    nadir_context *context = *state;
    char text[NADIR_ERROR_LENGTH + 1000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    nadir_log(context, NADIR_LOG_WARNING, "%s", text);
    assert_int_equal(nadir_fail(context, NADIR_ERROR_MODEL, "%s", text), NADIR_ERROR_MODEL);
    assert_true(strlen(nadir_context_error(context)) < NADIR_ERROR_LENGTH);
}

/* The longest path leaves room for what is wrong with it. */
static void test_messages_about_long_paths(void **state)
{
    nadir_context *context = *state;
    char path[4096];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    nadir_model *model = NULL;
    assert_fails(context, nadir_model_read(context, path, NULL, &model), NADIR_ERROR_FILE,
                 "cannot open the file");
}

static void test_messages_are_one_line(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = NULL;
    assert_fails(context, nadir_model_read(context, "a\nb\x1b[2J\x7f\xc3\xa4.csv", NULL, &model),
                 NADIR_ERROR_FILE, "a?b?[2J?\xc3\xa4.csv: cannot open");
    nadir_log(context, NADIR_LOG_WARNING, "%s", "a\nb\tc");
    assert_string_equal(test_messages(), "a?b?c\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_texts),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_settings_that_are_wrong),
        cmocka_unit_test(test_shorter_settings_are_filled_up),
        test_with_context(test_default_threads),
        test_with_context(test_memory_is_counted),
        cmocka_unit_test(test_released_blocks_leave_the_limit),
        test_with_context(test_large_blocks_keep_their_content),
        cmocka_unit_test(test_memory_limit_holds),
        cmocka_unit_test(test_every_allocation_can_fail),
        cmocka_unit_test(test_progress_can_interrupt),
        cmocka_unit_test(test_deadline_keeps_an_interruption),
        test_with_context(test_long_messages_are_cut),
        test_with_context(test_messages_about_long_paths),
        test_with_context(test_messages_are_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

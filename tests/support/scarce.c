/* scarce.c: memory that runs out; see scarce.h. */
#include "support/support.h"

#include "support/scarce.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { ATTEMPTS = 2000 };

static void *scarce_reallocate(void *user, void *block, size_t bytes)
{
    test_scarce *scarce = user;
    if (scarce->left <= 0) {
        return NULL;
    }
    scarce->left--;
    scarce->blocks += block == NULL;
    return realloc(block, bytes);
}

static void *scarce_allocate(void *user, size_t bytes)
{
    return scarce_reallocate(user, NULL, bytes);
}

static void scarce_release(void *user, void *block)
{
    test_scarce *scarce = user;
    scarce->blocks -= block != NULL;
    free(block);
}

nadir_context *test_scarce_context(test_scarce *scarce)
{
    *scarce = (test_scarce){.left = INT64_MAX};
    nadir_context_settings settings;
    nadir_context_settings_default(&settings);
    settings.allocator = (nadir_allocator){scarce_allocate, scarce_reallocate, scarce_release, scarce};
    nadir_context *context = NULL;
    assert_int_equal(nadir_context_create(&settings, &context), NADIR_OK);
    test_use_engine(context);
    return context;
}

bool test_scarce_again(test_scarce *scarce, nadir_status status)
{
    assert_that(status == NADIR_OK || status == NADIR_ERROR_MEMORY, "%s after %lld allocations",
                nadir_status_name(status), (long long)scarce->tries - 1);
    scarce->tries = scarce->running ? scarce->tries : 0;
    scarce->running = status != NADIR_OK;
    assert_true(scarce->tries < ATTEMPTS);
    scarce->left = scarce->running ? scarce->tries++ : INT64_MAX;
    return scarce->running;
}

void test_scarce_end(const test_scarce *scarce, nadir_context *context)
{
    nadir_context_free(context);
    assert_int_equal(scarce->blocks, 0);
}

int test_count_files(const char *start)
{
    int count = 0;
    DIR *folder = opendir(".");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += strncmp(entry->d_name, start, strlen(start)) == 0;
    }
    closedir(folder);
    return count;
}

/* With `allowed` allocations; *used: how many there were. */
static nadir_status attempt(test_attempt call, const void *of, const char *output, const char *what,
                            int64_t allowed, int64_t *used)
{
    test_scarce scarce;
    nadir_context *context = test_scarce_context(&scarce);
    const int64_t before = scarce.blocks;
    scarce.left = allowed;
    const nadir_status status = call(context, of);
    *used = allowed - scarce.left;
    if (scarce.blocks != before) {
        fail_msg("%s: %lld blocks leak after %lld allocations", what, (long long)(scarce.blocks - before),
                 (long long)allowed);
    }
    if (status != NADIR_OK && status != NADIR_ERROR_MEMORY) {
        fail_msg("%s: %s after %lld allocations: %s", what, nadir_status_name(status), (long long)allowed,
                 nadir_context_error(context));
    }
    if (status != NADIR_OK && output != NULL && test_count_files(output) != 0) {
        fail_msg("%s: a file is left after %lld allocations", what, (long long)allowed);
    }
    nadir_context_free(context);
    assert_int_equal(scarce.blocks, 0);
    return status;
}

int64_t test_run_out(test_attempt call, const void *of, const char *output, const char *what)
{
    int64_t used;
    for (int64_t allowed = 0; allowed < ATTEMPTS; allowed++) {
        if (attempt(call, of, output, what, allowed, &used) == NADIR_OK) {
            assert_true(allowed > 0);
            return allowed;
        }
    }
    fail_msg("%s: still no success with %d allocations", what, ATTEMPTS);
    return ATTEMPTS;
}

int64_t test_run_out_sampled(test_attempt call, const void *of, const char *output, const char *what,
                             int64_t most)
{
    const char *thorough = getenv("NADIR_FAULTS");
    int64_t used;
    int64_t failures = 0;
    assert_int_equal(attempt(call, of, output, what, INT64_MAX, &used), NADIR_OK);
    const int64_t all = used;
    const int64_t step = (thorough != NULL && strcmp(thorough, "all") == 0) || all <= most ? 1 : all / most;
    for (int64_t allowed = 0; allowed < all; allowed += step) {
        failures += attempt(call, of, output, what, allowed, &used) != NADIR_OK;
    }
    assert_true(failures > 0);
    return failures;
}

/* scarce.c: memory that runs out; see scarce.h. */
#include "support/support.h"

#include "support/scarce.h"

#include <stdlib.h>

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
    return context;
}

/* shim_memory.c: allocations that fail, and blocks of the command's own that are never freed; see shim.h. */
#include "shim.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The C library's own, by the names it keeps for those who put themselves before it. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

/* A set of the command's blocks: open addressing, with marks where something was removed. */
enum { PLACES = 1 << 18 };
static void *places[PLACES];
static int64_t used;
static atomic_flag busy = ATOMIC_FLAG_INIT;
static void *const removed = (void *)1;

int64_t shim_blocks(void)
{
    return used;
}

static size_t place_of(const void *block)
{
    return (size_t)(((uintptr_t)block >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 46) % PLACES;
}

static void lock(void)
{
    while (atomic_flag_test_and_set(&busy)) {
    }
}

static void *keep(void *block, const void *caller)
{
    if (block == NULL || !shim_is_own(caller)) {
        return block;
    }
    lock();
    size_t at = place_of(block);
    while (places[at] != NULL && places[at] != removed) {
        at = (at + 1) % PLACES;
    }
    places[at] = block;
    used++;
    if (used > PLACES / 2) {
        abort();
    }
    atomic_flag_clear(&busy);
    return block;
}

static void forget(const void *block)
{
    if (block == NULL || used == 0) {
        return;
    }
    lock();
    size_t at = place_of(block);
    while (places[at] != NULL && places[at] != block) {
        at = (at + 1) % PLACES;
    }
    if (places[at] != NULL) {
        places[at] = places[(at + 1) % PLACES] == NULL ? NULL : removed;
        used--;
    }
    atomic_flag_clear(&busy);
}

static bool fails(const void *caller)
{
    if (shim_decide(shim_is_own(caller) ? SHIM_OWN_MEMORY : SHIM_OTHER_MEMORY, NULL) == SHIM_PASS) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

SHIM_PUBLIC void *malloc(size_t bytes)
{
    return fails(CALLER) ? NULL : keep(__libc_malloc(bytes), CALLER);
}

SHIM_PUBLIC void *calloc(size_t count, size_t bytes)
{
    return fails(CALLER) ? NULL : keep(__libc_calloc(count, bytes), CALLER);
}

SHIM_PUBLIC void *realloc(void *block, size_t bytes)
{
    if (fails(CALLER)) {
        return NULL;
    }
    void *grown = __libc_realloc(block, bytes);
    if (grown != NULL) {
        forget(block);
    }
    return keep(grown, CALLER);
}

SHIM_PUBLIC void *memalign(size_t alignment, size_t bytes);
SHIM_PUBLIC void *memalign(size_t alignment, size_t bytes)
{
    return fails(CALLER) ? NULL : keep(__libc_memalign(alignment, bytes), CALLER);
}

SHIM_PUBLIC void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(CALLER) ? NULL : keep(__libc_memalign(alignment, bytes), CALLER);
}

SHIM_PUBLIC int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    void *made = fails(CALLER) ? NULL : keep(__libc_memalign(alignment, bytes), CALLER);
    if (made == NULL) {
        return ENOMEM;
    }
    *block = made;
    return 0;
}

SHIM_PUBLIC void free(void *block)
{
    forget(block);
    __libc_free(block);
}

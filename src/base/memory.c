/* memory.c: counted memory with a limit; see memory.h. */
#include "base/memory.h"

#include "base/pages.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Before each block: its size, in a space that keeps the alignment of malloc. */
#define HEADER 16

/* Blocks that are kept: so many, of this size or more, and so much in all. */
enum { KEPT = 32 };
#define KEPT_LEAST ((size_t)1 << 16)
#define KEPT_ALL   ((size_t)1 << 26)

/* A tool that watches over released memory must see it released. */
#if defined __SANITIZE_ADDRESS__
#define WATCHED true
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define WATCHED true
#endif
#endif
#ifndef WATCHED
#define WATCHED false
#endif

typedef struct kept_block {
    void *raw;
    size_t bytes;
} kept_block;

struct nadir_memory {
    atomic_size_t references;
    atomic_size_t used;
    atomic_size_t peak;
    size_t limit;
    nadir_allocator hooks;
    bool keeps;
    atomic_flag busy;      /* held for what follows */
    kept_block kept[KEPT]; /* the oldest first */
    int kept_count;
    atomic_size_t kept_bytes;
    nadir_pages pages; /* of the largest blocks */
};

/* Asks for huge pages for what of a block is made of whole ones; whether there are any is the system's to
 * say. A product with a sparse matrix reads a long vector in random order: with pages of 4 kB most of these
 * reads would also miss the table of pages (million states: 3.4 against 2.0 ns for each entry). */
static void prefer_huge_pages(void *raw, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t first = ((uintptr_t)raw + NADIR_HUGE_PAGE - 1) / NADIR_HUGE_PAGE * NADIR_HUGE_PAGE;
    const uintptr_t end = ((uintptr_t)raw + bytes) / NADIR_HUGE_PAGE * NADIR_HUGE_PAGE;
    if (raw != NULL && first < end) {
        (void)madvise((char *)raw + (first - (uintptr_t)raw), end - first, MADV_HUGEPAGE);
    }
#else
    (void)raw;
    (void)bytes;
#endif
}

static void *default_allocate(void *user, size_t bytes)
{
    (void)user;
    if (bytes < NADIR_HUGE_PAGE) {
        return malloc(bytes);
    }
    void *raw = NULL;
    if (posix_memalign(&raw, NADIR_HUGE_PAGE, bytes) != 0) {
        return NULL;
    }
    prefer_huge_pages(raw, bytes);
    return raw;
}

static void *default_reallocate(void *user, void *pointer, size_t bytes)
{
    (void)user;
    void *raw = realloc(pointer, bytes);
    prefer_huge_pages(raw, bytes);
    return raw;
}

static void default_release(void *user, void *pointer)
{
    (void)user;
    free(pointer);
}

static size_t machine_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) {
        return SIZE_MAX;
    }
    return (size_t)pages * (size_t)page;
}

nadir_memory *nadir_memory_create(const nadir_allocator *hooks, size_t limit)
{
    nadir_allocator use = {default_allocate, default_reallocate, default_release, NULL};
    if (hooks != NULL && hooks->allocate != NULL) {
        use = *hooks;
    }
    nadir_memory *memory = use.allocate(use.user, sizeof *memory);
    if (memory == NULL) {
        return NULL;
    }
    atomic_init(&memory->references, 1);
    atomic_init(&memory->used, 0);
    atomic_init(&memory->peak, 0);
    memory->limit = limit != 0 ? limit : machine_memory();
    memory->hooks = use;
    memory->keeps = use.allocate == default_allocate && !WATCHED;
    atomic_flag_clear(&memory->busy);
    memory->kept_count = 0;
    atomic_init(&memory->kept_bytes, 0);
    memory->pages.count = 0;
    atomic_flag_clear(&memory->pages.busy);
    atomic_init(&memory->pages.bytes, 0);
    return memory;
}

static void lock(nadir_memory *memory)
{
    while (atomic_flag_test_and_set_explicit(&memory->busy, memory_order_acquire)) {
    }
}

static void unlock(nadir_memory *memory)
{
    atomic_flag_clear_explicit(&memory->busy, memory_order_release);
}

/* Takes block i out of those that are kept, and returns it. */
static void *take(nadir_memory *memory, int i)
{
    void *raw = memory->kept[i].raw;
    atomic_fetch_sub(&memory->kept_bytes, memory->kept[i].bytes);
    memory->kept_count--;
    memmove(&memory->kept[i], &memory->kept[i + 1], (size_t)(memory->kept_count - i) * sizeof *memory->kept);
    return raw;
}

/* A block of this size, if one is kept; NULL otherwise. */
static void *find_kept(nadir_memory *memory, size_t bytes)
{
    void *raw = NULL;
    if (!memory->keeps || bytes < KEPT_LEAST) {
        return NULL;
    }
    lock(memory);
    for (int i = memory->kept_count - 1; i >= 0 && raw == NULL; i--) { /* the warmest first */
        raw = memory->kept[i].bytes == bytes ? take(memory, i) : NULL;
    }
    unlock(memory);
    return raw;
}

/* What the limit leaves beside what is in use. */
static size_t beside(const nadir_memory *memory)
{
    const size_t used = atomic_load(&memory->used);
    return used < memory->limit ? memory->limit - used : 0;
}

/* What may be kept of blocks. */
static size_t keepable(const nadir_memory *memory)
{
    const size_t left = beside(memory);
    return left < KEPT_ALL ? left : KEPT_ALL;
}

/* What may be kept of pages beside what is in use: never more than twice that, nor so much that both together
 * were more than has been in use before. So they do not raise the peak, and go when the work is done. */
static size_t keepable_pages(const nadir_memory *memory)
{
    const size_t used = atomic_load(&memory->used);
    const size_t peak = atomic_load(&memory->peak);
    const size_t blocks = atomic_load(&memory->kept_bytes);
    const size_t left = beside(memory);
    const size_t below_peak = used < peak ? peak - used : 0;
    const size_t most = below_peak / 2 < used ? below_peak : 2 * used;
    return left < blocks + most ? (left > blocks ? left - blocks : 0) : most;
}

/* Gives back what is kept, the oldest first, until no more is left than may be. */
static void give_back(nadir_memory *memory)
{
    while (atomic_load(&memory->kept_bytes) > keepable(memory)) {
        lock(memory);
        void *raw = memory->kept_count > 0 ? take(memory, 0) : NULL;
        unlock(memory);
        if (raw != NULL) {
            memory->hooks.release(memory->hooks.user, raw);
        }
    }
    nadir_pages_trim(&memory->pages, keepable_pages(memory));
}

/* False: the block is still the caller's to release. */
static bool keep(nadir_memory *memory, void *raw, size_t bytes)
{
    if (!memory->keeps || bytes < KEPT_LEAST || bytes > keepable(memory)) {
        return false;
    }
    void *oldest = NULL;
    lock(memory);
    if (memory->kept_count == KEPT) {
        oldest = take(memory, 0);
    }
    memory->kept[memory->kept_count++] = (kept_block){raw, bytes};
    atomic_fetch_add(&memory->kept_bytes, bytes);
    unlock(memory);
    if (oldest != NULL) {
        memory->hooks.release(memory->hooks.user, oldest);
    }
    return true;
}

/* Whether a block is made of pages. */
static bool paged(const nadir_memory *memory, size_t bytes)
{
    return memory->keeps && nadir_pages_suit(bytes);
}

/* A block of bytes that are booked; NULL: there is none. */
static void *obtain(nadir_memory *memory, size_t bytes)
{
    void *raw = NULL;
    if (paged(memory, bytes)) {
        raw = nadir_pages_get(&memory->pages, bytes);
        give_back(memory);
        if (raw == NULL) { /* what is kept may be what is missing */
            nadir_pages_trim(&memory->pages, 0);
            raw = nadir_pages_get(&memory->pages, bytes);
        }
        return raw;
    }
    raw = find_kept(memory, bytes);
    if (raw == NULL) {
        give_back(memory);
        raw = memory->hooks.allocate(memory->hooks.user, bytes);
    }
    return raw;
}

/* The block is no more; its bytes are not booked any longer. */
static void discard(nadir_memory *memory, void *raw, size_t bytes)
{
    if (paged(memory, bytes)) {
        nadir_pages_put(&memory->pages, raw, bytes, keepable_pages(memory));
    } else if (!keep(memory, raw, bytes)) {
        memory->hooks.release(memory->hooks.user, raw);
    }
    give_back(memory);
}

nadir_memory *nadir_memory_retain(nadir_memory *memory)
{
    atomic_fetch_add(&memory->references, 1);
    return memory;
}

void nadir_memory_free(nadir_memory *memory)
{
    if (memory != NULL && atomic_fetch_sub(&memory->references, 1) == 1) {
        const nadir_allocator hooks = memory->hooks;
        memory->limit = 0;
        give_back(memory);
        hooks.release(hooks.user, memory);
    }
}

/* Books `bytes` more; false when the limit forbids it. */
static bool book(nadir_memory *memory, size_t bytes)
{
    size_t used = atomic_load(&memory->used);
    do {
        if (bytes > memory->limit || used > memory->limit - bytes) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&memory->used, &used, used + bytes));
    used += bytes;
    size_t peak = atomic_load(&memory->peak);
    while (peak < used && !atomic_compare_exchange_weak(&memory->peak, &peak, used)) {
    }
    return true;
}

static void unbook(nadir_memory *memory, size_t bytes)
{
    atomic_fetch_sub(&memory->used, bytes);
}

/* What a block takes; false: more than there can be. */
static bool total(const nadir_memory *memory, size_t count, size_t size, size_t *bytes)
{
    if (size != 0 && count > (SIZE_MAX - HEADER) / size) {
        return false;
    }
    const size_t least = count * size + HEADER;
    *bytes = paged(memory, least) ? nadir_pages_round(least) : least;
    return true;
}

static size_t block_bytes(const void *block)
{
    size_t bytes;
    memcpy(&bytes, (const char *)block - HEADER, sizeof bytes);
    return bytes;
}

static void *sign(void *raw, size_t bytes)
{
    memcpy(raw, &bytes, sizeof bytes);
    return (char *)raw + HEADER;
}

void *nadir_memory_get(nadir_memory *memory, size_t count, size_t size)
{
    size_t bytes;
    if (!total(memory, count, size, &bytes) || !book(memory, bytes)) {
        return NULL;
    }
    void *raw = obtain(memory, bytes);
    if (raw == NULL) {
        unbook(memory, bytes);
        return NULL;
    }
    return sign(raw, bytes);
}

/* The same, in the place of another, which is no more then. */
static void *replace(nadir_memory *memory, void *block, size_t count, size_t size)
{
    void *other = nadir_memory_get(memory, count, size);
    if (other != NULL) {
        const size_t had = block_bytes(block);
        const size_t has = block_bytes(other);
        memcpy(other, block, (had < has ? had : has) - HEADER);
        nadir_memory_release(memory, block);
    }
    return other;
}

void *nadir_memory_resize(nadir_memory *memory, void *block, size_t count, size_t size)
{
    if (block == NULL) {
        return nadir_memory_get(memory, count, size);
    }
    const size_t before = block_bytes(block);
    void *raw = (char *)block - HEADER;
    size_t bytes;
    if (!total(memory, count, size, &bytes)) {
        return NULL;
    }
    if (paged(memory, before) ? bytes > before || !paged(memory, bytes) : paged(memory, bytes)) {
        return replace(memory, block, count, size);
    }
    if (bytes > before && !book(memory, bytes - before)) {
        return NULL;
    }
    if (paged(memory, bytes)) {
        nadir_pages_shrink(raw, before, bytes);
    } else {
        raw = memory->hooks.reallocate(memory->hooks.user, raw, bytes);
    }
    if (raw == NULL) {
        if (bytes > before) {
            unbook(memory, bytes - before);
        }
        return NULL;
    }
    if (bytes < before) {
        unbook(memory, before - bytes);
    }
    return sign(raw, bytes);
}

void nadir_memory_release(nadir_memory *memory, void *block)
{
    if (block != NULL) {
        const size_t bytes = block_bytes(block);
        unbook(memory, bytes);
        discard(memory, (char *)block - HEADER, bytes);
    }
}

bool nadir_memory_is_hooked(const nadir_memory *memory)
{
    return memory->hooks.allocate != default_allocate;
}

size_t nadir_memory_used(const nadir_memory *memory)
{
    return atomic_load(&memory->used);
}

size_t nadir_memory_peak(const nadir_memory *memory)
{
    return atomic_load(&memory->peak);
}

size_t nadir_memory_limit(const nadir_memory *memory)
{
    return memory->limit;
}

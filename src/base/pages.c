/* pages.c: large blocks made of pages; see pages.h. */
#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>

#if defined __linux__ && defined MREMAP_FIXED

/* Smaller blocks are kept whole, which asks nothing of the system. */
#define LEAST (8 * NADIR_HUGE_PAGE)

bool nadir_pages_suit(size_t bytes)
{
    return bytes >= LEAST && bytes <= SIZE_MAX / 2;
}

size_t nadir_pages_round(size_t bytes)
{
    return (bytes + NADIR_HUGE_PAGE - 1) / NADIR_HUGE_PAGE * NADIR_HUGE_PAGE;
}

static void lock(nadir_pages *pages)
{
    while (atomic_flag_test_and_set_explicit(&pages->busy, memory_order_acquire)) {
    }
}

static void unlock(nadir_pages *pages)
{
    atomic_flag_clear_explicit(&pages->busy, memory_order_release);
}

/* Takes up to `most` bytes out of what is kept; returns how many, 0 when nothing is. */
static size_t take(nadir_pages *pages, size_t most, char **start)
{
    size_t bytes = 0;
    lock(pages);
    if (pages->count > 0 && most > 0) {
        const int last = pages->count - 1;
        const size_t here = pages->ranges[last].bytes;
        bytes = here < most ? here : most;
        *start = pages->ranges[last].start + (here - bytes);
        pages->ranges[last].bytes = here - bytes;
        pages->count -= bytes == here;
        atomic_fetch_sub(&pages->bytes, bytes);
    }
    unlock(pages);
    return bytes;
}

/* False: there is no room for one more range. */
static bool add(nadir_pages *pages, char *start, size_t bytes)
{
    lock(pages);
    const bool room = pages->count < NADIR_PAGES_RANGES;
    if (room) {
        pages->ranges[pages->count].start = start;
        pages->ranges[pages->count].bytes = bytes;
        pages->count++;
        atomic_fetch_add(&pages->bytes, bytes);
    }
    unlock(pages);
    return room;
}

/* Addresses of whole huge pages; nothing is behind them yet. */
static char *reserve(size_t bytes)
{
    const size_t wide = bytes + NADIR_HUGE_PAGE;
    char *raw = mmap(NULL, wide, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) {
        return NULL;
    }
    const size_t head = (NADIR_HUGE_PAGE - (uintptr_t)raw % NADIR_HUGE_PAGE) % NADIR_HUGE_PAGE;
    if (head > 0) {
        (void)munmap(raw, head);
    }
    if (wide > head + bytes) {
        (void)munmap(raw + head + bytes, wide - head - bytes);
    }
#ifdef MADV_HUGEPAGE
    (void)madvise(raw + head, bytes, MADV_HUGEPAGE);
#endif
    return raw + head;
}

/* Moves huge pages, one by one since they may have been of several blocks, to addresses that are reserved.
 * Returns how many bytes; of the next page, if there is one, the address is lost. */
static size_t move(char *from, size_t bytes, char *to)
{
    size_t done = 0;
    while (done < bytes && mremap(from + done, NADIR_HUGE_PAGE, NADIR_HUGE_PAGE,
                                  MREMAP_MAYMOVE | MREMAP_FIXED, to + done) != MAP_FAILED) {
        done += NADIR_HUGE_PAGE;
    }
    return done;
}

static void unmap(char *start, char *end)
{
    if (start < end) {
        (void)munmap(start, (size_t)(end - start));
    }
}

/* Puts pages that are kept behind [start, end). Returns the first page that the system did not move, or NULL:
 * as many were moved as there were. */
static char *fill(nadir_pages *pages, char *start, const char *end)
{
    char *from = NULL;
    size_t bytes = 0;
    while ((bytes = take(pages, (size_t)(end - start), &from)) > 0) {
        const size_t moved = move(from, bytes, start);
        start += moved;
        if (moved < bytes) {
            unmap(from + moved, from + bytes);
            return start;
        }
    }
    return NULL;
}

void *nadir_pages_get(nadir_pages *pages, size_t bytes)
{
    const size_t size = nadir_pages_round(bytes);
    char *start = reserve(size);
    char *lost = start != NULL ? fill(pages, start, start + size) : NULL;
    if (lost != NULL) {
        /* The system may have taken the addresses of that page, and given them to another thread. */
        unmap(start, lost);
        unmap(lost + NADIR_HUGE_PAGE, start + size);
        start = reserve(size);
    }
    return start;
}

void nadir_pages_shrink(void *block, size_t before, size_t bytes)
{
    const size_t had = nadir_pages_round(before);
    const size_t size = nadir_pages_round(bytes);
    if (size < had) {
        (void)munmap((char *)block + size, had - size);
    }
}

void nadir_pages_put(nadir_pages *pages, void *block, size_t bytes, size_t most)
{
    char *start = block;
    const size_t size = nadir_pages_round(bytes);
    const size_t kept = atomic_load(&pages->bytes);
    const size_t room = kept < most ? (most - kept) / NADIR_HUGE_PAGE * NADIR_HUGE_PAGE : 0;
    size_t keep = size < room ? size : room;
    keep = keep > 0 && add(pages, start, keep) ? keep : 0;
    if (keep < size) {
        (void)munmap(start + keep, size - keep);
    }
}

void nadir_pages_trim(nadir_pages *pages, size_t left)
{
    char *from = NULL;
    size_t kept = 0;
    while ((kept = atomic_load(&pages->bytes)) > left) {
        const size_t most = nadir_pages_round(kept - left);
        const size_t bytes = take(pages, most, &from);
        if (bytes > 0) {
            (void)munmap(from, bytes);
        }
    }
}

#else

bool nadir_pages_suit(size_t bytes)
{
    (void)bytes;
    return false;
}

size_t nadir_pages_round(size_t bytes)
{
    return bytes;
}

void *nadir_pages_get(nadir_pages *pages, size_t bytes)
{
    (void)pages;
    (void)bytes;
    return NULL;
}

void nadir_pages_shrink(void *block, size_t before, size_t bytes)
{
    (void)block;
    (void)before;
    (void)bytes;
}

void nadir_pages_put(nadir_pages *pages, void *block, size_t bytes, size_t most)
{
    (void)pages;
    (void)block;
    (void)bytes;
    (void)most;
}

void nadir_pages_trim(nadir_pages *pages, size_t left)
{
    (void)pages;
    (void)left;
}

#endif

/*
 * prefetch.h: sending for entries of a long vector before a sparse loop wants them.
 *
 * A row of a sparse matrix reads x at places that lie anywhere. Once x is longer than the second cache, a
 * processor that waits for them finds some ten at a time under way; asked for this early, and into the second
 * cache, there are several times as many (a million states, 20 successors of a state: 1.9 instead of 2.6 ns
 * for each entry of a solve). Shorter vectors are near enough as they are.
 */
#ifndef NADIR_LINALG_PREFETCH_H
#define NADIR_LINALG_PREFETCH_H

#include <stdint.h>

enum {
    NADIR_PREFETCH_DISTANCE = 512,    /* entries */
    NADIR_PREFETCH_MINIMUM = 1 << 18, /* numbers of x from which on that pays */
};

/* Entries up to which there is something to send for: all of them, or none where x is short. */
static inline int64_t nadir_prefetch_entries(int64_t states, int64_t entries)
{
    return states > NADIR_PREFETCH_MINIMUM ? entries : 0;
}

/* Entries [first, end) of columns are about to be read: sends for those NADIR_PREFETCH_DISTANCE later, if
 * there are. entries: as by nadir_prefetch_entries. */
static inline void nadir_prefetch(const double *x, const int32_t *columns, int64_t first, int64_t end,
                                  int64_t entries)
{
    if (end + NADIR_PREFETCH_DISTANCE <= entries) {
        for (int64_t i = first + NADIR_PREFETCH_DISTANCE; i < end + NADIR_PREFETCH_DISTANCE; i++) {
            __builtin_prefetch(x + columns[i], 0, 2);
        }
    }
}

#endif

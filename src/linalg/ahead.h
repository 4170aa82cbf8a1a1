/*
 * ahead.h: sending for entries of a long vector before a sparse loop wants them.
 *
 * A row of a sparse matrix reads x at places that lie anywhere. Once x is longer than the second cache, a
 * processor that waits for them finds some ten at a time under way; asked for this early, and into the second
 * cache, there are several times as many (a million states, 20 successors of a state: 1.9 instead of 2.6 ns
 * for each entry of a solve). Shorter vectors are near enough as they are.
 */
#ifndef NADIR_LINALG_AHEAD_H
#define NADIR_LINALG_AHEAD_H

#include <stdint.h>

enum {
    NADIR_AHEAD = 512,           /* entries */
    NADIR_AHEAD_LEAST = 1 << 18, /* numbers of x from which on that pays */
};

/* Entries up to which there is something to send for: all of them, or none where x is short. */
static inline int64_t nadir_ahead_entries(int64_t states, int64_t entries)
{
    return states > NADIR_AHEAD_LEAST ? entries : 0;
}

/* Entries [first, end) of columns are about to be read: sends for those NADIR_AHEAD later, if there are.
 * entries: as by nadir_ahead_entries. */
static inline void nadir_ahead(const double *x, const int32_t *columns, int64_t first, int64_t end,
                               int64_t entries)
{
    if (end + NADIR_AHEAD <= entries) {
        for (int64_t i = first + NADIR_AHEAD; i < end + NADIR_AHEAD; i++) {
            __builtin_prefetch(x + columns[i], 0, 2);
        }
    }
}

#endif

/*
 * pages.h: large blocks made of whole pages, which go from block to block.
 *
 * What the system hands out anew it has to clear first, and on a virtual machine often to ask its own host
 * for: that takes longer than most work that is done with it (a sixth of an evaluation on domain support, a
 * million states). So the pages of a block that is released are kept, and moved in the table of pages to
 * where the next block is: it may be of any size, and nothing is copied. Pages are huge ones where the system
 * has them, so that random reads do not miss the table of pages. Safe in threads. Linux alone can move pages;
 * elsewhere no block suits.
 */
#ifndef NADIR_BASE_PAGES_H
#define NADIR_BASE_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { NADIR_PAGES_RANGES = 64 };

#define NADIR_HUGE_PAGE ((size_t)1 << 21)

/* Pages that no block has. A struct of zeros holds none. */
typedef struct nadir_pages {
    atomic_flag busy; /* held for what follows */
    int count;        /* of ranges */
    struct {
        char *start;
        size_t bytes;
    } ranges[NADIR_PAGES_RANGES]; /* of whole huge pages */
    atomic_size_t bytes;          /* of all ranges */
} nadir_pages;

/* Whether blocks of this size are made of pages; else they are malloc's. */
bool nadir_pages_suit(size_t bytes);
/* What such a block takes: whole pages. */
size_t nadir_pages_round(size_t bytes);

/* A block that begins with a huge page; NULL: no memory. What is in it is anything. */
void *nadir_pages_get(nadir_pages *pages, size_t bytes);
/* Gives back the end of a block that suits before and after. */
void nadir_pages_shrink(void *block, size_t before, size_t bytes);
/* The block is no more; its pages are kept, but no more than `most` in all. */
void nadir_pages_put(nadir_pages *pages, void *block, size_t bytes, size_t most);
/* Gives pages back to the system until at most so many bytes are left. */
void nadir_pages_trim(nadir_pages *pages, size_t left);

#endif

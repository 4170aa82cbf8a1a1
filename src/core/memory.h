/*
 * memory.h: counted memory behind the caller's allocator hooks.
 *
 * Every block carries its size, so that what is in use is known at any time and a limit can be kept: a
 * hostile file can ask for much, it gets no more than the limit. One nadir_memory is shared by a context
 * and everything made with it, and outlives the context as long as a model needs it. Safe in threads.
 *
 * Blocks of 2 MB or more ask for huge pages. Hooks of the caller see every request and every release.
 */
#ifndef NADIR_CORE_MEMORY_H
#define NADIR_CORE_MEMORY_H

#include "nadir.h"

typedef struct nadir_memory nadir_memory;

nadir_memory *nadir_memory_retain(nadir_memory *memory);
void nadir_memory_free(nadir_memory *memory);

/* NULL when count * size overflows, exceeds the limit, or the hooks refuse. count 0 gives a valid block. */
void *nadir_memory_get(nadir_memory *memory, size_t count, size_t size);
void nadir_memory_release(nadir_memory *memory, void *block);
void nadir_memory_release_all(nadir_memory *memory, size_t count, void *const *blocks);
/* Releases every block that is named. */
#define NADIR_MEMORY_RELEASE(memory, ...)                                                                    \
    nadir_memory_release_all(memory, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *),                       \
                             (void *[]){__VA_ARGS__})

/* Whether memory comes from hooks of the caller, which may not expect several threads at once. */
bool nadir_memory_is_hooked(const nadir_memory *memory);

size_t nadir_memory_used(const nadir_memory *memory);
size_t nadir_memory_limit(const nadir_memory *memory);

#endif

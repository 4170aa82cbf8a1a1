/* names.h: a list of names, kept as one text. */
#ifndef NADIR_MODEL_NAMES_H
#define NADIR_MODEL_NAMES_H

#include "core/context.h"

typedef struct nadir_names {
    int64_t count;
    size_t *offsets; /* [count] start of each name in `text` */
    char *text;      /* the names, each closed by a NUL */
    size_t text_used;
    size_t offsets_capacity;
    size_t text_capacity;
} nadir_names;

/* A struct of zeros is an empty list. Appends a name of `length` bytes (no NUL among them). */
nadir_status nadir_names_add(nadir_context *context, nadir_names *names, const char *name, size_t length);
const char *nadir_names_get(const nadir_names *names, int64_t index);
void nadir_names_clear(nadir_memory *memory, nadir_names *names);

/* From name to number in constant time, also for names that were chosen to make that hard: the places depend
 * on a number that nobody outside can know. A struct of zeros is an empty index; it refers to `names`, which
 * must only grow while the index lives. */
typedef struct nadir_name_index {
    int64_t *slots; /* [capacity] number + 1, 0: empty */
    size_t capacity;
    int64_t count;
    uint64_t secret;
} nadir_name_index;

/* Adds names[number] to the index; *existing is the earlier number of the same name, or -1. */
nadir_status nadir_name_index_add(nadir_context *context, nadir_name_index *index, const nadir_names *names,
                                  int64_t number, int64_t *existing);
/* The number of a name, or -1. */
int64_t nadir_name_index_find(const nadir_name_index *index, const nadir_names *names, const char *name,
                              size_t length);
void nadir_name_index_clear(nadir_context *context, nadir_name_index *index);

#endif

/* names.c: a list of names and the way back from name to number; see names.h. */
#include "model/names.h"

#include <string.h>

nadir_status nadir_names_add(nadir_context *context, nadir_names *names, const char *name, size_t length)
{
    nadir_status status = NADIR_OK;
    NADIR_RESERVE(context, names->offsets, names->count + 1, names->offsets_capacity);
    NADIR_RESERVE(context, names->text, names->text_used + length + 1, names->text_capacity);
    names->offsets[names->count++] = names->text_used;
    memcpy(names->text + names->text_used, name, length);
    names->text[names->text_used + length] = '\0';
    names->text_used += length + 1;
cleanup:
    return status;
}

const char *nadir_names_get(const nadir_names *names, int64_t index)
{
    return index >= 0 && index < names->count ? names->text + names->offsets[index] : NULL;
}

void nadir_names_clear(nadir_memory *memory, nadir_names *names)
{
    nadir_memory_release(memory, names->offsets);
    nadir_memory_release(memory, names->text);
    *names = (nadir_names){0};
}

/* FNV-1a. */
static uint64_t hash(const char *name, size_t length)
{
    uint64_t value = 14695981039346656037U;
    for (size_t i = 0; i < length; i++) {
        value = (value ^ (unsigned char)name[i]) * 1099511628211U;
    }
    return value ^ (value >> 32);
}

/* The slot that holds the name, or the empty one where it belongs. */
static size_t find_slot(const nadir_name_index *index, const nadir_names *names, const char *name,
                        size_t length)
{
    size_t slot = (size_t)hash(name, length) & (index->capacity - 1);
    while (index->slots[slot] != 0) {
        const char *held = nadir_names_get(names, index->slots[slot] - 1);
        if (strncmp(held, name, length) == 0 && held[length] == '\0') {
            break;
        }
        slot = (slot + 1) & (index->capacity - 1);
    }
    return slot;
}

static nadir_status grow(nadir_context *context, nadir_name_index *index, const nadir_names *names)
{
    nadir_status status = NADIR_OK;
    nadir_name_index larger = {NULL, index->capacity == 0 ? 64 : 2 * index->capacity, index->count};
    NADIR_NEW_ZERO(context, larger.slots, larger.capacity);
    for (size_t i = 0; i < index->capacity; i++) {
        if (index->slots[i] != 0) {
            const char *name = nadir_names_get(names, index->slots[i] - 1);
            larger.slots[find_slot(&larger, names, name, strlen(name))] = index->slots[i];
        }
    }
    nadir_release(context, index->slots);
    *index = larger;
cleanup:
    return status;
}

nadir_status nadir_name_index_add(nadir_context *context, nadir_name_index *index, const nadir_names *names,
                                  int64_t number, int64_t *existing)
{
    nadir_status status = NADIR_OK;
    if ((size_t)index->count * 2 >= index->capacity) {
        NADIR_CHECK(grow(context, index, names));
    }
    const char *name = nadir_names_get(names, number);
    const size_t slot = find_slot(index, names, name, strlen(name));
    *existing = index->slots[slot] - 1;
    if (*existing < 0) {
        index->slots[slot] = number + 1;
        index->count++;
    }
cleanup:
    return status;
}

int64_t nadir_name_index_find(const nadir_name_index *index, const nadir_names *names, const char *name,
                              size_t length)
{
    return index->capacity == 0 ? -1 : index->slots[find_slot(index, names, name, length)] - 1;
}

void nadir_name_index_clear(nadir_context *context, nadir_name_index *index)
{
    nadir_release(context, index->slots);
    *index = (nadir_name_index){0};
}

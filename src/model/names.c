/* names.c: a list of names and the way back from name to number; see names.h. */
#include "model/model.h"

#include "core/context.h"

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

/* A name that is there. */
static const char *name_of(const nadir_names *names, int64_t number)
{
    return names->text + names->offsets[number];
}

/* FNV-1a from a secret start, mixed once more because its low bits are weak. */
static uint64_t hash(uint64_t secret, const char *name, size_t length)
{
    uint64_t value = secret;
    for (size_t i = 0; i < length; i++) {
        value = (value ^ (unsigned char)name[i]) * 1099511628211U;
        value ^= value >> 29;
    }
    return value ^ (value >> 32);
}

/* The time and where the memory lies; the names found do not depend on it. */
static uint64_t make_secret(const void *memory)
{
    const double time = nadir_clock_seconds();
    uint64_t bits;
    memcpy(&bits, &time, sizeof bits);
    return (bits ^ (uint64_t)(uintptr_t)memory) * 0x9e3779b97f4a7c15U;
}

/* The slot that holds the name, or the empty one where it belongs. */
static size_t find_slot(const nadir_name_index *index, const nadir_names *names, const char *name,
                        size_t length)
{
    size_t slot = (size_t)hash(index->secret, name, length) & (index->capacity - 1);
    while (index->slots[slot] != 0) {
        const char *held = name_of(names, index->slots[slot] - 1);
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
    nadir_name_index larger = {NULL, index->capacity == 0 ? 64 : 2 * index->capacity, index->count, 0};
    NADIR_NEW_ZERO(context, larger.slots, larger.capacity);
    larger.secret = make_secret(larger.slots);
    for (size_t i = 0; i < index->capacity; i++) {
        if (index->slots[i] != 0) {
            const char *name = name_of(names, index->slots[i] - 1);
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
    const char *name = name_of(names, number);
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

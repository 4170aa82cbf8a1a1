/* data_table.c: sums over transitions, found by (state, action, successor); see data.h. */
#include "core/random.h"
#include "fit/data.h"

#define FIRST_SLOTS ((size_t)1 << 10)

/* A product of 128 bits folded to 64 mixes both halves of the key into every bit; where only one number
 * varies it is still an arithmetic progression, which the second product breaks up. */
static uint32_t mark_of(int32_t state, int32_t action, int32_t successor)
{
    const uint64_t row = (uint64_t)(uint32_t)state << 32 | (uint32_t)action;
    const uint64_t a = row + 0x2545F4914F6CDD1DU;
    const uint64_t b = (uint32_t)successor * 0x9E3779B97F4A7C15U ^ 0xD6E8FEB86659FD93U;
    uint64_t low;
    const uint64_t high = nadir_multiply_wide(a, b, &low);
    const uint64_t folded = high ^ low;
    return (uint32_t)((folded ^ folded >> 29) * 0xBF58476D1CE4E5B9U >> 32);
}

/* Where an entry with this mark is looked for first. With more than 2^32 slots (100 GB) runs would get
 * longer, nothing else. */
static size_t first_slot(uint32_t mark, size_t slot_count)
{
    return (size_t)mark & (slot_count - 1);
}

static nadir_status grow(nadir_context *context, nadir_data_table *table)
{
    nadir_status status = NADIR_OK;
    int64_t *slots = NULL;
    const size_t slot_count = table->slot_count > 0 ? 2 * table->slot_count : FIRST_SLOTS;
    NADIR_NEW(context, slots, slot_count);
    for (size_t i = 0; i < slot_count; i++) {
        slots[i] = -1;
    }
    for (int64_t i = 0; i < table->count; i++) {
        size_t slot = first_slot(table->entries[i].mark, slot_count);
        while (slots[slot] >= 0) {
            slot = (slot + 1) & (slot_count - 1);
        }
        slots[slot] = i;
    }
    nadir_release(context, table->slots);
    table->slots = slots;
    table->slot_count = slot_count;
cleanup:
    return status;
}

nadir_status nadir_data_table_find(nadir_context *context, nadir_data_table *table, int32_t state,
                                   int32_t action, int32_t successor, int64_t *index)
{
    nadir_status status = NADIR_OK;
    const uint32_t mark = mark_of(state, action, successor);
    if (2 * (size_t)table->count >= table->slot_count) {
        NADIR_CHECK(grow(context, table));
    }
    size_t slot = first_slot(mark, table->slot_count);
    for (; table->slots[slot] >= 0; slot = (slot + 1) & (table->slot_count - 1)) {
        const nadir_data_entry *entry = &table->entries[table->slots[slot]];
        if (entry->mark == mark && entry->state == state && entry->action == action &&
            entry->successor == successor) {
            *index = table->slots[slot];
            return NADIR_OK;
        }
    }
    NADIR_RESERVE(context, table->entries, table->count + 1, table->capacity);
    table->entries[table->count] = (nadir_data_entry){state, action, successor, mark, 0, 0, 0};
    table->slots[slot] = table->count;
    *index = table->count++;
cleanup:
    return status;
}

void nadir_data_table_expect(const nadir_data_table *table, int64_t state, int64_t action, int64_t successor,
                             bool near)
{
    if (table->slot_count == 0) {
        return;
    }
    const uint32_t mark = mark_of((int32_t)state, (int32_t)action, (int32_t)successor);
    const int64_t *slot = &table->slots[first_slot(mark, table->slot_count)];
    if (!near) {
        __builtin_prefetch(slot);
    } else if (*slot >= 0) {
        __builtin_prefetch(&table->entries[*slot]);
    }
}

void nadir_data_table_close(nadir_context *context, nadir_data_table *table)
{
    nadir_release(context, table->slots);
    table->slots = NULL;
    table->slot_count = 0;
}

void nadir_data_table_clear(nadir_context *context, nadir_data_table *table)
{
    NADIR_RELEASE(context, table->entries, table->slots);
    *table = (nadir_data_table){0};
}

/* starts[i + 1] has the number of items with key i; turned into where the items of each key begin. */
static void add_up(int64_t count, int64_t *starts)
{
    for (int64_t i = 0; i < count; i++) {
        starts[i + 1] += starts[i];
    }
}

nadir_status nadir_data_table_order(nadir_context *context, const nadir_data_table *table, int64_t states,
                                    int64_t rows, const int64_t *entry_rows, int64_t *order,
                                    int64_t *row_starts)
{
    nadir_status status = NADIR_OK;
    int64_t *starts = NULL;
    int64_t *by_successor = NULL;
    NADIR_NEW_ZERO(context, starts, (states > rows ? states : rows) + 1);
    NADIR_NEW(context, by_successor, table->count);
    for (int64_t i = 0; i < table->count; i++) {
        starts[table->entries[i].successor + 1] += table->entries[i].count > 0;
    }
    add_up(states, starts);
    const int64_t count = starts[states];
    for (int64_t i = 0; i < table->count; i++) {
        if (table->entries[i].count > 0) {
            by_successor[starts[table->entries[i].successor]++] = i;
        }
    }
    for (int64_t i = 0; i <= rows; i++) {
        starts[i] = 0;
    }
    for (int64_t i = 0; i < count; i++) {
        starts[entry_rows[by_successor[i]] + 1]++;
    }
    add_up(rows, starts);
    for (int64_t i = 0; i <= rows; i++) {
        row_starts[i] = starts[i];
    }
    for (int64_t i = 0; i < count; i++) { /* stable, so that successors stay in order within a row */
        order[starts[entry_rows[by_successor[i]]]++] = by_successor[i];
    }
cleanup:
    NADIR_RELEASE(context, starts, by_successor);
    return status;
}

/* test_data_table.c: the table of transitions against a plain array of all of them. */
#include "support/support.h"

#include "core/random.h"
#include "fit/data.h"

#include <stdlib.h>
#include <string.h>

static void sums_are_found_again(void **state)
{
    enum { STATES = 40, ACTIONS = 5, DRAWS = 20000 };
    nadir_context *context = *state;
    nadir_data_table table = {0};
    nadir_random random = test_random(5);
    double *expected = calloc((size_t)STATES * ACTIONS * STATES, sizeof *expected);
    int64_t different = 0;
    for (int i = 0; i < DRAWS; i++) {
        const int s = (int)nadir_random_below(&random, STATES);
        const int a = (int)nadir_random_below(&random, ACTIONS);
        const int t = (int)nadir_random_below(&random, STATES);
        int64_t at = -1;
        assert_ok(context, nadir_data_table_find(context, &table, s, a, t, &at));
        double *place = &expected[(s * ACTIONS + a) * STATES + t];
        assert_true(table.entries[at].count == *place);
        different += *place == 0;
        table.entries[at].count += 1;
        *place += 1;
    }
    assert_int_equal(table.count, different);
    assert_true(2 * (size_t)table.count <= table.slot_count);
    for (int64_t i = 0; i < table.count; i++) {
        const nadir_data_entry *entry = &table.entries[i];
        double *place = &expected[(entry->state * ACTIONS + entry->action) * STATES + entry->successor];
        assert_true(entry->count == *place && *place > 0);
        *place = 0; /* nothing is there twice */
    }
    nadir_data_table_clear(context, &table);
    free(expected);
}

/* Keys that differ in few bits, in any of the three numbers, do not pile up: with a third of the slots taken,
 * a look-up takes 1.25 probes on average where hashes are random. Some of so many have the same mark. */
static void alike_transitions_are_kept_apart(void **state)
{
    nadir_context *context = *state;
    for (int pattern = 0; pattern < 6; pattern++) {
        nadir_data_table table = {0};
        const int count = test_memcheck() ? 3000 : 300000;
        for (int i = 0; i < count; i++) {
            int64_t at;
            const int32_t low = (int32_t)i;
            const int32_t high = (int32_t)(i * 7001);
            const int32_t x = pattern % 2 == 0 ? low : high;
            assert_ok(context,
                      nadir_data_table_find(context, &table, pattern / 2 == 0 ? x : 1,
                                            pattern / 2 == 1 ? x : 2, pattern / 2 == 2 ? x : 3, &at));
        }
        assert_int_equal(table.count, count);
        double probes = 0;
        for (size_t slot = 0; slot < table.slot_count; slot++) {
            if (table.slots[slot] >= 0) {
                const size_t wanted = table.entries[table.slots[slot]].mark & (table.slot_count - 1);
                probes += 1 + (double)((slot - wanted) & (table.slot_count - 1));
            }
        }
        assert_that(probes / (double)table.count < 1.5, "pattern %d: %g probes", pattern,
                    probes / (double)table.count);
        nadir_data_table_clear(context, &table);
    }
}

static void order_is_by_row_and_successor(void **state)
{
    nadir_context *context = *state;
    nadir_data_table table = {0};
    const int given[][3] = {{2, 1, 0}, {0, 0, 3}, {2, 1, 3}, {0, 0, 1}, {2, 0, 2}, {2, 1, 1}, {0, 0, 2}};
    const int64_t rows[] = {5, 0, 5, 0, 4, 5, 0}; /* 2 actions each */
    for (int i = 0; i < 7; i++) {
        int64_t at;
        assert_ok(context,
                  nadir_data_table_find(context, &table, given[i][0], given[i][1], given[i][2], &at));
        table.entries[at].count = i == 5 ? 0 : 1; /* that one is left out */
    }
    int64_t order[7];
    int64_t row_starts[7];
    assert_ok(context, nadir_data_table_order(context, &table, 4, 6, rows, order, row_starts));
    assert_memory_equal(row_starts, ((const int64_t[]){0, 3, 3, 3, 3, 4, 6}), sizeof row_starts);
    assert_memory_equal(order, ((const int64_t[]){3, 6, 1, 4, 0, 2}), 6 * sizeof *order);
    nadir_data_table_clear(context, &table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(sums_are_found_again),
        test_with_context(alike_transitions_are_kept_apart),
        test_with_context(order_is_by_row_and_successor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

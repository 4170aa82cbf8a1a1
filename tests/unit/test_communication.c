/* test_communication.c: the communication table of a lone process, against plain sorting. */
#include "support/support.h"

#include "core/context.h"

#include <stdlib.h>
#include <string.h>

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Largest first, lower place first among equals. */
static int ranking(const void *left, const void *right)
{
    const nadir_indexed *a = left;
    const nadir_indexed *b = right;
    if (a->value != b->value) {
        return a->value > b->value ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

static void test_reductions_of_one(void **state)
{
    nadir_context *context = *state;
    const nadir_communication *table = context->communication;
    assert_int_equal(table->members, 1);
    double values[] = {3, -1};
    const nadir_reduction operations[] = {NADIR_REDUCE_SUM, NADIR_REDUCE_MAXIMUM};
    assert_ok(context, table->sum(table->self, context, 2, values));
    assert_ok(context, table->reduce(table->self, context, 2, operations, values));
    assert_true(values[0] == 3 && values[1] == -1);
    nadir_indexed placed[] = {{2, 7}};
    assert_ok(context, table->maximum(table->self, context, 1, placed));
    assert_true(placed[0].value == 2 && placed[0].place == 7);
    double all[2];
    assert_ok(context, table->gather(table->self, context, 2, values, all));
    assert_memory_equal(all, values, sizeof all);
    assert_ok(context, table->scan(table->self, context, 2, values));
    assert_true(values[0] == 0 && values[1] == 0);
}

/* What an exchange asks of a table, where nobody else owns anything. */
static void test_plans_of_one(void **state)
{
    nadir_context *context = *state;
    const nadir_communication *table = context->communication;
    const nadir_reduction most = NADIR_REDUCE_MAXIMUM;
    const int64_t place = 3;
    double value = 2;
    void *plan = context;
    assert_ok(context, table->plan(table->self, context, 0, 1, 0, NULL, &plan));
    assert_null(plan);
    table->fetch(table->self, plan, &value, NULL);
    table->add(table->self, plan, NULL, &value);
    table->release(table->self, plan);
    table->reduce_few(table->self, 1, &most, &value);
    assert_true(value == 2);
    assert_fails(context, table->plan(table->self, context, 0, 1, 1, &place, &plan), NADIR_ERROR_ARGUMENT,
                 "place 3 is owned by no other process");
    double all;
    assert_ok(context, table->collect(table->self, context, 1, &value, &all));
    assert_true(all == 2);
}

static void test_order_statistics_and_top(void **state)
{
    enum { COUNT = 257, TRIALS = 40 };
    nadir_context *context = *state;
    const nadir_communication *table = context->communication;
    nadir_random random;
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        nadir_random_seed(&random, seed);
        double values[COUNT];
        double sorted[COUNT];
        nadir_indexed placed[COUNT];
        nadir_indexed ranked[COUNT];
        const uint64_t kinds = 1 + nadir_random_below(&random, seed % 2 == 0 ? 5 : 1000); /* many ties */
        for (int i = 0; i < COUNT; i++) {
            values[i] = (double)nadir_random_below(&random, kinds) - 2;
            placed[i] = (nadir_indexed){values[i], i};
        }
        memcpy(sorted, values, sizeof sorted);
        memcpy(ranked, placed, sizeof ranked);
        qsort(sorted, COUNT, sizeof *sorted, ascending);
        qsort(ranked, COUNT, sizeof *ranked, ranking);
        const int64_t ranks[] = {COUNT / 2, 0, COUNT - 1, 17, 200};
        double results[5];
        assert_ok(context, table->order_statistics(table->self, context, COUNT, values, 5, ranks, results));
        for (int j = 0; j < 5; j++) {
            if (results[j] != sorted[ranks[j]]) {
                fail_msg("seed %llu: rank %lld", (unsigned long long)seed, (long long)ranks[j]);
            }
        }
        for (int64_t wanted = 0; wanted <= COUNT + 3; wanted += 13) {
            nadir_indexed top[COUNT + 16];
            int64_t found;
            assert_ok(context, table->top(table->self, context, COUNT, placed, wanted, top, &found));
            assert_int_equal(found, wanted < COUNT ? wanted : COUNT);
            for (int64_t i = 0; i < found; i++) {
                if (top[i].value != ranked[i].value || top[i].place != ranked[i].place) {
                    fail_msg("seed %llu: top %lld of %lld", (unsigned long long)seed, (long long)i,
                             (long long)wanted);
                }
            }
        }
    }
    const int64_t wrong = COUNT;
    double value = 0;
    double result;
    assert_fails(context, table->order_statistics(table->self, context, 1, &value, 1, &wrong, &result),
                 NADIR_ERROR_ARGUMENT, "order statistic 257 of 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_reductions_of_one),
        test_with_context(test_plans_of_one),
        test_with_context(test_order_statistics_and_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_table.c: the communication table of the petsc engine, against what one process computes. Run by mpirun
 * on any number of processes: every process knows all values, and owns a part of them. */
#include "support/support.h"

#include "core/context.h"
#include "linalg/distributed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = 1000 };

static nadir_context *context;
static const nadir_communication *table;
static double values[ALL]; /* of all processes, ties among them */
static int64_t first, count;

/* Process 1 owns nothing when there are three or more. */
static int64_t start_of(int rank)
{
    if (table->members >= 3 && rank == 2) {
        rank = 1;
    }
    return (int64_t)ALL * rank / table->members;
}

static int set_up(void **state)
{
    (void)state;
    nadir_random random = test_random(42);
    for (int i = 0; i < ALL; i++) {
        values[i] = floor(50 * nadir_random_normal(&random));
    }
    first = start_of(table->rank);
    count = start_of(table->rank + 1) - first;
    return 0;
}

static void test_reductions(void **state)
{
    (void)state;
    enum { MANY = 40 };
    nadir_reduction operations[MANY];
    double numbers[MANY];
    double expected[MANY];
    for (int i = 0; i < MANY; i++) {
        operations[i] = (nadir_reduction)(i % 3);
        numbers[i] = values[7 * table->rank + i];
        expected[i] = values[i];
        for (int rank = 1; rank < table->members; rank++) {
            const double other = values[7 * rank + i];
            expected[i] = i % 3 == NADIR_REDUCE_SUM       ? expected[i] + other
                          : i % 3 == NADIR_REDUCE_MAXIMUM ? fmax(expected[i], other)
                                                          : fmin(expected[i], other);
        }
    }
    double few[NADIR_REDUCE_FEW];
    memcpy(few, numbers, sizeof few);
    table->reduce_few(table->self, NADIR_REDUCE_FEW, operations, few);
    assert_memory_equal(few, expected, sizeof few);
    assert_ok(context, table->reduce(table->self, context, MANY, operations, numbers));
    assert_memory_equal(numbers, expected, sizeof numbers);
    few[0] = table->rank == table->members - 1 ? NAN : 1;
    operations[0] = NADIR_REDUCE_MAXIMUM;
    table->reduce_few(table->self, 1, operations, few);
    assert_true(isnan(few[0]));
    double sums[2] = {1, table->rank};
    assert_ok(context, table->sum(table->self, context, 2, sums));
    assert_true(sums[0] == table->members);
    assert_true(sums[1] == table->members * (table->members - 1) / 2.0);
    double before[1] = {(double)count};
    assert_ok(context, table->scan(table->self, context, 1, before));
    assert_true(before[0] == (double)first);
}

/* Ties go to the lowest place. */
static void test_maximum(void **state)
{
    (void)state;
    nadir_indexed own = {-INFINITY, 0};
    nadir_indexed all = {-INFINITY, 0};
    for (int64_t i = ALL - 1; i >= 0; i--) {
        all = values[i] >= all.value ? (nadir_indexed){values[i], i} : all;
        if (i >= first && i < first + count) {
            own = values[i] >= own.value ? (nadir_indexed){values[i], i} : own;
        }
    }
    assert_ok(context, table->maximum(table->self, context, 1, &own));
    assert_true(own.value == all.value && own.place == all.place);
}

static void test_order_statistics_and_top(void **state)
{
    (void)state;
    enum { TOP = 25, RANKS = 6 };
    static const int64_t ranks[RANKS] = {0, 1, 499, 500, 998, 999};
    double mine[ALL];
    double found[RANKS];
    double expected[RANKS];
    nadir_indexed placed[ALL];
    nadir_indexed top[TOP];
    nadir_indexed of_all[TOP];
    int64_t many;
    const nadir_communication *alone = &nadir_communication_alone;
    memcpy(mine, values + first, (size_t)count * sizeof *mine);
    assert_ok(context, table->order_statistics(table->self, context, count, mine, RANKS, ranks, found));
    memcpy(mine, values, sizeof mine);
    assert_ok(context, alone->order_statistics(NULL, context, ALL, mine, RANKS, ranks, expected));
    assert_memory_equal(found, expected, sizeof found);
    const int64_t beyond = ALL;
    assert_fails(context, table->order_statistics(table->self, context, count, mine, 1, &beyond, found),
                 NADIR_ERROR_ARGUMENT, "order statistic 1000 of 1000 values");
    for (int64_t i = 0; i < count; i++) {
        placed[i] = (nadir_indexed){values[first + i], first + i};
    }
    assert_ok(context, table->top(table->self, context, count, placed, TOP, top, &many));
    assert_int_equal(many, TOP);
    for (int64_t i = 0; i < ALL; i++) {
        placed[i] = (nadir_indexed){values[i], i};
    }
    assert_ok(context, alone->top(NULL, context, ALL, placed, TOP, of_all, &many));
    assert_memory_equal(top, of_all, sizeof top);
}

static void test_gathers(void **state)
{
    (void)state;
    double all[ALL] = {0};
    assert_ok(context, table->gather(table->self, context, count, values + first, all));
    assert_memory_equal(all, values, sizeof all);
    memset(all, 0, sizeof all);
    assert_ok(context,
              table->collect(table->self, context, count, values + first, table->rank == 0 ? all : NULL));
    if (table->rank == 0) {
        assert_memory_equal(all, values, sizeof all);
    }
}

/* Every third place of the others; contributions go home. */
static void test_plans(void **state)
{
    (void)state;
    int64_t places[ALL];
    double ghosts[ALL];
    double home[ALL] = {0};
    int64_t many = 0;
    void *plan = NULL;
    for (int64_t i = table->rank; i < ALL; i += 3) {
        if (i < first || i >= first + count) {
            places[many++] = i;
        }
    }
    assert_ok(context, table->plan(table->self, context, first, count, many, places, &plan));
    for (int again = 0; again < 2; again++) {
        table->fetch(table->self, plan, values + first, ghosts);
        for (int64_t i = 0; i < many; i++) {
            assert_true(ghosts[i] == values[places[i]]);
            ghosts[i] = 1;
        }
    }
    table->add(table->self, plan, ghosts, home);
    table->release(table->self, plan);
    for (int64_t i = 0; i < count; i++) {
        double expected = 0;
        for (int rank = 0; rank < table->members; rank++) {
            expected += rank != table->rank && (first + i) % 3 == rank % 3 && first + i >= rank;
        }
        assert_that(home[i] == expected, "place %lld gained %g", (long long)(first + i), home[i]);
    }
    const int64_t wrong = ALL;
    assert_fails(context, table->plan(table->self, context, first, count, 1, &wrong, &plan),
                 NADIR_ERROR_ARGUMENT, "no other process owns");
}

/* Everything of the others, read and added where it stands, call after call with other numbers: a process
 * that is ahead must not be seen by one that is not. */
static void test_sharing(void **state)
{
    (void)state;
    int64_t places[ALL];
    double own[ALL];
    double ghosts[ALL];
    int64_t many = 0;
    void *plan = NULL;
    for (int64_t i = 0; i < ALL; i++) {
        if (i < first || i >= first + count) {
            places[many++] = i;
        }
    }
    assert_ok(context, table->plan(table->self, context, first, count, many, places, &plan));
    for (int again = 0; again < 10; again++) {
        for (int64_t i = 0; i < count; i++) {
            own[i] = values[first + i] + again;
        }
        const double *all = table->publish(table->self, plan, own);
        assert_true((all != NULL) == (table->shares || table->members == 1));
        for (int64_t i = 0; all != NULL && i < ALL; i++) {
            assert_true(all[i] == values[i] + again);
        }
        double *room = table->buffer(table->self, plan);
        double *sums = room != NULL && again % 2 == 0 ? room + count : ghosts;
        for (int64_t i = 0; i < many; i++) {
            sums[i] = (double)(table->rank + 1) * again;
        }
        const int64_t others = (int64_t)table->members * (table->members + 1) / 2 - (table->rank + 1);
        table->add(table->self, plan, sums, own);
        for (int64_t i = 0; i < count; i++) {
            assert_true(own[i] == values[first + i] + again + (double)(others * again));
        }
        table->fetch(table->self, plan, own, ghosts);
        for (int64_t i = 0; i < many; i++) {
            assert_true(ghosts[i] >= values[places[i]] + again);
        }
    }
    table->release(table->self, plan);
}

/* An extended vector in one piece and in several, where all others or every `step`-th are ghosts. */
static void check_pieces(int64_t step)
{
    int64_t places[ALL];
    int64_t many = 0;
    nadir_exchange *exchange = NULL;
    for (int64_t i = 0; i < ALL; i += step) {
        if (i < first || i >= first + count) {
            places[many++] = i;
        }
    }
    assert_ok(context, nadir_exchange_create(context, first, count, many, places, &exchange));
    for (int again = 0; again < 3; again++) {
        nadir_exchange_piece pieces[NADIR_EXCHANGE_PIECES];
        const int parts = nadir_exchange_pieces(exchange, values + first, pieces);
        int64_t column = 0;
        for (int part = 0; part < parts; part++) {
            for (int64_t i = 0; i < pieces[part].count; i++, column++) {
                assert_true(pieces[part].values[i] == values[nadir_exchange_index(exchange, column)]);
            }
        }
        assert_int_equal(column, count + many);
        const double *extended = nadir_exchange_extend(exchange, values + first);
        for (int64_t i = 0; i < column; i++) {
            assert_true(extended[i] == values[nadir_exchange_index(exchange, i)]);
        }
    }
    nadir_exchange_free(exchange);
}

static void test_pieces(void **state)
{
    (void)state;
    check_pieces(1);
    check_pieces(7);
}

int main(void)
{
    nadir_engine *engine = NULL;
    context = test_context();
    if (nadir_engine_open(context, "petsc", "-malloc_debug 0", true, &engine) != NADIR_OK) {
        print_error("%s\n", nadir_context_error(context));
        return 1;
    }
    table = context->communication;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_maximum),
        cmocka_unit_test(test_order_statistics_and_top),
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_pieces),
    };
    const int failed = cmocka_run_group_tests(tests, set_up, NULL) != 0;
    nadir_engine_close(engine, failed, NULL);
    nadir_context_free(context);
    return failed;
}

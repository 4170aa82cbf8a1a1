/* thread_processes.c: processes played by threads; see thread_processes.h. */
#include "support/support.h"

#include "support/thread_processes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What a member brought to the call under way. */
typedef struct offer {
    const void *function;
    int64_t count;
    void *values;
} offer;

typedef struct process_group {
    int members;
    pthread_barrier_t barrier;
    offer offers[TEST_PROCESSES_LIMIT];
    bool differ;
} process_group;

typedef struct member {
    process_group *of;
    int rank;
    int calls;
    nadir_communication table;
    nadir_context *context;
    test_process_work *work;
    void *user;
} member;

/* Waits until everybody has brought something to the same call. */
static const offer *meet(member *self, const char *function, int64_t count, void *values)
{
    process_group *of = self->of;
    of->offers[self->rank] = (offer){function, count, values};
    self->calls++;
    (void)pthread_barrier_wait(&of->barrier);
    if (of->offers[0].function != function && self->rank > 0) {
        of->differ = true;
    }
    return of->offers;
}

/* Waits until everybody has read, then replaces what this member brought. */
static void replace(member *self, void *values, size_t size, void *result)
{
    (void)pthread_barrier_wait(&self->of->barrier);
    if (size > 0) {
        memcpy(values, result, size);
    }
    free(result);
}

static double join(nadir_reduction operation, double a, double b)
{
    switch (operation) {
    case NADIR_REDUCE_MINIMUM:
        return b < a ? b : a;
    case NADIR_REDUCE_MAXIMUM:
        return b > a ? b : a;
    default:
        return a + b;
    }
}

/* Of the members [0, end). operations NULL: sums. */
static double *joined(const offer *offers, int end, int64_t count, const nadir_reduction *operations)
{
    double *result = calloc((size_t)count, sizeof *result);
    for (int64_t i = 0; i < count; i++) {
        for (int rank = 0; rank < end; rank++) {
            const double value = ((const double *)offers[rank].values)[i];
            const nadir_reduction operation = operations != NULL ? operations[i] : NADIR_REDUCE_SUM;
            result[i] = rank == 0 ? value : join(operation, result[i], value);
        }
    }
    return result;
}

static nadir_status team_sum(void *self, nadir_context *context, int64_t count, double *values)
{
    (void)context;
    const offer *offers = meet(self, "sum", count, values);
    replace(self, values, (size_t)count * sizeof *values,
            joined(offers, ((member *)self)->of->members, count, NULL));
    return NADIR_OK;
}

static nadir_status team_reduce(void *self, nadir_context *context, int64_t count,
                                const nadir_reduction *operations, double *values)
{
    (void)context;
    const offer *offers = meet(self, "reduce", count, values);
    replace(self, values, (size_t)count * sizeof *values,
            joined(offers, ((member *)self)->of->members, count, operations));
    return NADIR_OK;
}

static void team_reduce_few(void *self, int count, const nadir_reduction *operations, double *values)
{
    (void)team_reduce(self, NULL, count, operations, values);
}

static nadir_status take_all(void *self, const char *function, bool wanted, int64_t count,
                             const double *values, double *all)
{
    const offer *offers = meet(self, function, count, (double *)values);
    for (int rank = 0, to = 0; wanted && rank < ((member *)self)->of->members; rank++) {
        for (int64_t i = 0; i < offers[rank].count; i++) {
            all[to++] = ((const double *)offers[rank].values)[i];
        }
    }
    replace(self, NULL, 0, NULL);
    return NADIR_OK;
}

static nadir_status team_gather(void *self, nadir_context *context, int64_t count, const double *values,
                                double *all)
{
    (void)context;
    return take_all(self, "gather", true, count, values, all);
}

static nadir_status team_collect(void *self, nadir_context *context, int64_t count, const double *values,
                                 double *all)
{
    (void)context;
    return take_all(self, "collect", ((member *)self)->rank == 0, count, values, all);
}

/* Ghosts can be planned for, not fetched. */
static nadir_status team_plan(void *self, nadir_context *context, int64_t first, int64_t count,
                              int64_t wanted, const int64_t *places, void **plan)
{
    (void)self, (void)context, (void)first, (void)count, (void)wanted, (void)places;
    *plan = NULL;
    return NADIR_OK;
}

static nadir_status team_scan(void *self, nadir_context *context, int64_t count, double *values)
{
    (void)context;
    const offer *offers = meet(self, "scan", count, values);
    replace(self, values, (size_t)count * sizeof *values,
            joined(offers, ((member *)self)->rank, count, NULL));
    return NADIR_OK;
}

static nadir_status team_maximum(void *self, nadir_context *context, int64_t count, nadir_indexed *values)
{
    (void)context;
    const offer *offers = meet(self, "maximum", count, values);
    nadir_indexed *result = calloc((size_t)count, sizeof *result);
    for (int64_t i = 0; i < count; i++) {
        for (int rank = 0; rank < ((member *)self)->of->members; rank++) {
            const nadir_indexed value = ((const nadir_indexed *)offers[rank].values)[i];
            const bool lower = value.value == result[i].value && value.place < result[i].place;
            result[i] = rank == 0 || value.value > result[i].value || lower ? value : result[i];
        }
    }
    replace(self, values, (size_t)count * sizeof *values, result);
    return NADIR_OK;
}

static nadir_status team_order_statistics(void *self, nadir_context *context, int64_t count, double *values,
                                          int64_t wanted, const int64_t *ranks, double *results)
{
    const nadir_communication *alone = &nadir_communication_alone;
    const offer *offers = meet(self, "order_statistics", count, values);
    const int members = ((member *)self)->of->members;
    int64_t total = 0;
    for (int rank = 0; rank < members; rank++) {
        total += offers[rank].count;
    }
    double *all = calloc((size_t)total + 1, sizeof *all);
    for (int rank = 0, to = 0; rank < members; rank++) {
        for (int64_t i = 0; i < offers[rank].count; i++) {
            all[to++] = ((const double *)offers[rank].values)[i];
        }
    }
    const nadir_status status = alone->order_statistics(NULL, context, total, all, wanted, ranks, results);
    replace(self, NULL, 0, all);
    return status;
}

static void *play(void *data)
{
    member *self = data;
    self->work(self->context, self->user);
    return NULL;
}

int test_processes_run(int members, test_process_work *work, void *user)
{
    process_group of = {.members = members};
    member list[TEST_PROCESSES_LIMIT] = {0};
    pthread_t threads[TEST_PROCESSES_LIMIT];
    assert_true(members <= TEST_PROCESSES_LIMIT);
    assert_int_equal(pthread_barrier_init(&of.barrier, NULL, (unsigned)members), 0);
    for (int rank = 0; rank < members; rank++) {
        list[rank] = (member){.of = &of, .rank = rank, .work = work, .user = user};
        list[rank].table = (nadir_communication){
            .name = "threads",
            .rank = rank,
            .members = members,
            .self = &list[rank],
            .sum = team_sum,
            .reduce = team_reduce,
            .maximum = team_maximum,
            .scan = team_scan,
            .order_statistics = team_order_statistics,
            .reduce_few = team_reduce_few,
            .gather = team_gather,
            .collect = team_collect,
            .plan = team_plan,
            .buffer = nadir_communication_alone.buffer,
            .release = nadir_communication_alone.release,
        };
        list[rank].context = test_context();
        list[rank].context->communication = &list[rank].table;
    }
    for (int rank = 0; rank < members; rank++) {
        assert_int_equal(pthread_create(&threads[rank], NULL, play, &list[rank]), 0);
    }
    for (int rank = 0; rank < members; rank++) {
        assert_int_equal(pthread_join(threads[rank], NULL), 0);
        nadir_context_free(list[rank].context);
        assert_int_equal(list[rank].calls, list[0].calls);
    }
    (void)pthread_barrier_destroy(&of.barrier);
    assert_false(of.differ);
    return list[0].calls;
}

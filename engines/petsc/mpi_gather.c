/*
 * mpi_gather.c: order statistics, the largest few, and whole vectors over all processes; see
 * core/communication.h.
 *
 * An order statistic is found by halving: the pivot is the median of the processes' medians, weighted by how
 * many values each has left, so that every round drops a quarter of all values at least.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 24 }; /* numbers in one message */

/* What one process has left of the search: its median and how many values. */
typedef struct share {
    double median;
    double count;
} share;

static int by_median(const void *left, const void *right)
{
    const share *a = left;
    const share *b = right;
    return (a->median > b->median) - (a->median < b->median);
}

/* The weighted median of the medians; shares: [members] */
static double choose_pivot(int members, share *shares)
{
    double total = 0;
    double sum = 0;
    int i = 0;
    qsort(shares, (size_t)members, sizeof *shares, by_median);
    for (int j = 0; j < members; j++) {
        total += shares[j].count;
    }
    while (i + 1 < members && (sum += shares[i].count) < total / 2) {
        i++;
    }
    while (shares[i].count == 0) { /* only those at the end can be */
        i--;
    }
    return shares[i].median;
}

/* values[first .. end) <- those below the pivot, those equal, those above; where the second and the third
 * part begin. */
static void partition(double *values, int64_t first, int64_t end, double pivot, int64_t *equal,
                      int64_t *above)
{
    int64_t low = first;
    int64_t high = end;
    for (int64_t i = first; i < high;) {
        const double value = values[i];
        if (value < pivot) {
            values[i++] = values[low];
            values[low++] = value;
        } else if (value > pivot) {
            values[i] = values[--high];
            values[high] = value;
        } else {
            i++;
        }
    }
    *equal = low;
    *above = high;
}

/* Sums over all processes. */
static void add_up(petsc_engine *engine, int count, int64_t *numbers)
{
    const petsc_moment begun = petsc_wait_begin();
    MPI_Allreduce(MPI_IN_PLACE, numbers, count, MPI_INT64_T, MPI_SUM, engine->work);
    petsc_wait_end(engine, begun);
}

/* The value of this rank among all; values are reordered. */
static nadir_status find_rank(petsc_engine *engine, nadir_context *context, int64_t count, double *values,
                              int64_t rank, share *shares, double *result)
{
    int64_t first = 0;
    int64_t end = count;
    for (;;) {
        const int64_t middle = first + (end - first) / 2;
        share own = {0, (double)(end - first)};
        if (end > first) {
            const int64_t wanted = middle - first;
            const nadir_status status = engine->host->alone->order_statistics(
                NULL, context, end - first, values + first, 1, &wanted, &own.median);
            if (status != NADIR_OK) {
                return status;
            }
        }
        const petsc_moment begun = petsc_wait_begin();
        MPI_Allgather(&own, 2, MPI_DOUBLE, shares, 2, MPI_DOUBLE, engine->work);
        petsc_wait_end(engine, begun);
        const double pivot = choose_pivot(engine->table.members, shares);
        int64_t equal;
        int64_t above;
        partition(values, first, end, pivot, &equal, &above);
        int64_t counts[2] = {equal - first, above - first};
        add_up(engine, 2, counts);
        if (rank < counts[0]) {
            end = equal;
        } else if (rank >= counts[1]) {
            first = above;
            rank -= counts[1];
        } else {
            *result = pivot;
            return NADIR_OK;
        }
    }
}

static nadir_status order_statistics(void *self, nadir_context *context, int64_t count, double *values,
                                     int64_t wanted, const int64_t *ranks, double *results)
{
    petsc_engine *engine = self;
    petsc_check_call(engine, "order_statistics", wanted);
    int64_t total = count;
    add_up(engine, 1, &total);
    nadir_status status = NADIR_OK;
    share *shares = malloc((size_t)engine->table.members * sizeof *shares);
    if (shares == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    for (int64_t j = 0; j < wanted && status == NADIR_OK; j++) {
        if (ranks[j] < 0 || ranks[j] >= total) {
            status = engine->host->fail(context, NADIR_ERROR_ARGUMENT, "order statistic %lld of %lld values",
                                        (long long)ranks[j], (long long)total);
        } else {
            status = find_rank(engine, context, count, values, ranks[j], shares, &results[j]);
        }
    }
    free(shares);
    return status;
}

static nadir_status top(void *self, nadir_context *context, int64_t count, nadir_indexed *values,
                        int64_t wanted, nadir_indexed *results, int64_t *found)
{
    petsc_engine *engine = self;
    petsc_check_call(engine, "top", wanted);
    const nadir_communication *alone = engine->host->alone;
    const int members = engine->table.members;
    nadir_indexed *own = malloc((size_t)(wanted + 1) * sizeof *own);
    nadir_indexed *all = malloc((size_t)(wanted * members + 1) * sizeof *all);
    int *sizes = malloc(2 * (size_t)members * sizeof *sizes);
    nadir_status status = NADIR_OK;
    int64_t many = 0;
    if (own == NULL || all == NULL || sizes == NULL) {
        status = engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
        goto cleanup;
    }
    status = alone->top(NULL, context, count, values, wanted, own, &many);
    if (status != NADIR_OK) {
        goto cleanup;
    }
    int here = (int)many;
    int total = 0;
    const petsc_moment begun = petsc_wait_begin();
    MPI_Allgather(&here, 1, MPI_INT, sizes, 1, MPI_INT, engine->work);
    for (int rank = 0; rank < members; rank++) {
        sizes[members + rank] = total;
        total += sizes[rank];
    }
    MPI_Allgatherv(own, here, engine->placed, all, sizes, sizes + members, engine->placed, engine->work);
    petsc_wait_end(engine, begun);
    status = alone->top(NULL, context, total, all, wanted, results, found);
cleanup:
    free(own);
    free(all);
    free(sizes);
    return status;
}

/* Messages to process 0 in order of rank: counts and places may be beyond what MPI's own gather takes. */
static nadir_status collect(void *self, nadir_context *context, int64_t count, const double *values,
                            double *all)
{
    (void)context;
    petsc_engine *engine = self;
    petsc_check_call(engine, "collect", -1);
    if (engine->table.rank == 0) {
        memmove(all, values, (size_t)count * sizeof *all);
    }
    const petsc_moment begun = petsc_wait_begin();
    if (engine->table.rank != 0) {
        MPI_Send(&count, 1, MPI_INT64_T, 0, 0, engine->work);
        for (int64_t done = 0; done < count; done += PIECE) {
            const int piece = (int)(count - done < PIECE ? count - done : PIECE);
            MPI_Send(values + done, piece, MPI_DOUBLE, 0, 0, engine->work);
        }
        petsc_wait_end(engine, begun);
        return NADIR_OK;
    }
    double *to = all + count;
    for (int rank = 1; rank < engine->table.members; rank++) {
        int64_t many;
        MPI_Recv(&many, 1, MPI_INT64_T, rank, 0, engine->work, MPI_STATUS_IGNORE);
        for (int64_t done = 0; done < many; done += PIECE) {
            const int piece = (int)(many - done < PIECE ? many - done : PIECE);
            MPI_Recv(to + done, piece, MPI_DOUBLE, rank, 0, engine->work, MPI_STATUS_IGNORE);
        }
        to += many;
    }
    petsc_wait_end(engine, begun);
    return NADIR_OK;
}

static nadir_status gather(void *self, nadir_context *context, int64_t count, const double *values,
                           double *all)
{
    petsc_engine *engine = self;
    int64_t total = count;
    add_up(engine, 1, &total);
    const nadir_status status = collect(self, context, count, values, all);
    const petsc_moment begun = petsc_wait_begin();
    for (int64_t done = 0; done < total; done += PIECE) {
        MPI_Bcast(all + done, (int)(total - done < PIECE ? total - done : PIECE), MPI_DOUBLE, 0,
                  engine->work);
    }
    petsc_wait_end(engine, begun);
    return status;
}

void petsc_gathers_start(petsc_engine *engine)
{
    engine->table.order_statistics = order_statistics;
    engine->table.top = top;
    engine->table.gather = gather;
    engine->table.collect = collect;
}

/*
 * mpi_shared.c: vectors that processes of one machine read where they stand; see parts.h.
 *
 * A window has two buffers for the values of all processes, by place, and two rooms for each process, for the
 * sums that it makes for others. Call k uses those of number k mod 2, and between writing and reading all
 * processes meet once. What is written in call k + 2 was read in call k: its writer has met everybody in call
 * k + 1, whom nobody joins before being done with call k. So one meeting a call is enough.
 */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

struct petsc_shared {
    petsc_shared *before; /* the one made before this one */
    MPI_Comm machine;
    MPI_Win window;
    int64_t first, count, total;
    int64_t width;   /* of an own room */
    int64_t *widths; /* [members] of everybody's */
    double **rooms;  /* [members] the first of the two of each process */
    double *all;     /* [2 * total] */
    int turn;        /* of the next call: 0 or 1 */
};

static void discard(petsc_shared *shared)
{
    free(shared->widths);
    free(shared->rooms);
    free(shared);
}

void petsc_shared_end(petsc_engine *engine)
{
    while (engine->shared != NULL) {
        petsc_shared *last = engine->shared;
        engine->shared = last->before;
        MPI_Win_unlock_all(last->window);
        MPI_Win_free(&last->window);
        discard(last);
    }
}

/* The window, on all processes or on none. */
static bool open_window(petsc_shared *shared, int rank, int members)
{
    void *own = NULL;
    const int64_t length = 2 * shared->width + (rank == 0 ? 2 * shared->total : 0);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    int failed = MPI_Win_allocate_shared((MPI_Aint)(length * (int64_t)sizeof(double)), sizeof(double), info,
                                         shared->machine, &own, &shared->window) != MPI_SUCCESS;
    MPI_Info_free(&info);
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, shared->machine);
    if (failed) { /* no memory that can be shared: MPI says so to all, and what it has it keeps */
        shared->window = MPI_WIN_NULL;
        return false;
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, shared->window);
    for (int other = 0; other < members; other++) {
        MPI_Aint bytes;
        int unit;
        double *base;
        MPI_Win_shared_query(shared->window, other, &bytes, &unit, (void *)&base);
        if (other == 0) {
            shared->all = base;
        }
        shared->rooms[other] = base + (other == 0 ? 2 * shared->total : 0);
    }
    return true;
}

petsc_shared *petsc_shared_make(petsc_engine *engine, int64_t first, int64_t count, int64_t total,
                                int64_t wanted)
{
    const int members = engine->table.members;
    if (engine->machine == MPI_COMM_NULL) {
        return NULL;
    }
    petsc_shared *shared = calloc(1, sizeof *shared);
    int64_t *widths = malloc((size_t)members * sizeof *widths);
    double **rooms = malloc((size_t)members * sizeof *rooms);
    int failed = shared == NULL || widths == NULL || rooms == NULL;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, engine->machine);
    if (failed) {
        free(shared);
        free(widths);
        free(rooms);
        return NULL;
    }
    *shared = (petsc_shared){.machine = engine->machine,
                             .window = MPI_WIN_NULL,
                             .first = first,
                             .count = count,
                             .total = total,
                             .width = count + wanted,
                             .widths = widths,
                             .rooms = rooms};
    MPI_Allgather(&shared->width, 1, MPI_INT64_T, widths, 1, MPI_INT64_T, engine->machine);
    if (!open_window(shared, engine->table.rank, members)) {
        discard(shared);
        return NULL;
    }
    shared->before = engine->shared;
    engine->shared = shared;
    return shared;
}

/* What was written before it by any process is read after it by all. */
static int meet(petsc_shared *shared)
{
    const int turn = shared->turn;
    MPI_Win_sync(shared->window);
    MPI_Barrier(shared->machine);
    MPI_Win_sync(shared->window);
    shared->turn = !turn;
    return turn;
}

const double *petsc_shared_publish(petsc_shared *shared, const double *values)
{
    double *all = shared->all + shared->turn * shared->total;
    if (shared->count > 0) {
        memcpy(all + shared->first, values, (size_t)shared->count * sizeof *all);
    }
    (void)meet(shared);
    return all;
}

double *petsc_shared_room(const petsc_shared *shared, int rank)
{
    return shared->rooms[rank] + shared->turn * shared->width;
}

int petsc_shared_send(petsc_shared *shared, int rank, const double *ghosts)
{
    double *room = petsc_shared_room(shared, rank) + shared->count;
    if (ghosts != room && shared->width > shared->count) {
        memcpy(room, ghosts, (size_t)(shared->width - shared->count) * sizeof *room);
    }
    return meet(shared);
}

const double *petsc_shared_sent(const petsc_shared *shared, int rank, int turn)
{
    return shared->rooms[rank] + turn * shared->widths[rank];
}

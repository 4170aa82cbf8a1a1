/*
 * mpi_shared.c: vectors that processes of one machine read where they stand; see parts.h.
 *
 * One piece of memory, mapped by all, has two buffers for the values of all processes, by place, and two
 * rooms for each process, for the sums that it makes for others. Call k uses those of number k mod 2, and
 * between writing and reading all processes meet once. What is written in call k + 2 was read in call k: its
 * writer has met everybody in call k + 1, whom nobody joins before being done with call k. So one meeting a
 * call is enough.
 *
 * The memory is had by POSIX calls: MPI's windows hang on the systems we know when there is too little of it.
 */
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct petsc_shared {
    petsc_engine *engine;
    MPI_Comm machine;
    int64_t first, count, total;
    int64_t *widths; /* [members] numbers in a room of each process */
    double **rooms;  /* [members] the first of the two of each process */
    double *all;     /* [2 * total], followed by the rooms */
    size_t bytes;    /* of all that */
    int turn;        /* of the next call: 0 or 1 */
};

void petsc_shared_free(petsc_shared *shared)
{
    if (shared != NULL) {
        if (shared->all != NULL) {
            (void)munmap(shared->all, shared->bytes);
        }
        free(shared->widths);
        free(shared->rooms);
        free(shared);
    }
}

/* Memory of a name that nobody has, still empty; -1: not to be had. name: out */
static int make_memory(size_t length, char *name)
{
    enum { MOST_NAMES = 1000 }; /* those of processes that were killed may be there still */
    static int made;            /* pieces of memory so far */
    int file = -1;
    errno = EEXIST;
    for (int i = 0; i < MOST_NAMES && file < 0 && errno == EEXIST; i++) {
        (void)snprintf(name, length, "/nadir-%ld-%d", (long)getpid(), made++);
        file = shm_open(name, O_CREAT | O_EXCL | O_RDWR, S_IRUSR | S_IWUSR);
    }
    return file;
}

static bool agree(bool well, MPI_Comm comm)
{
    int failed = !well;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm);
    return !failed;
}

/* Maps the memory on all processes or on none. Its name is gone before it takes room: who is killed leaves at
 * most an empty piece. */
static bool map_memory(petsc_shared *shared, int rank)
{
    char name[64] = "";
    int file = rank == 0 ? make_memory(sizeof name, name) : -1;
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, shared->machine); /* by then it is there */
    if (rank != 0) {
        file = shm_open(name, O_RDWR, 0);
    }
    bool opened = agree(file >= 0, shared->machine);
    if (rank == 0 && file >= 0) {
        (void)shm_unlink(name);
        /* a file with holes would end the process when they are written to and there is no memory */
        opened = opened && posix_fallocate(file, 0, (off_t)shared->bytes) == 0;
    }
    opened = agree(opened, shared->machine);
    void *memory =
        opened ? mmap(NULL, shared->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (file >= 0) {
        (void)close(file);
    }
    shared->all = memory != MAP_FAILED ? memory : NULL;
    return agree(shared->all != NULL, shared->machine);
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
    const bool well = shared != NULL && widths != NULL && rooms != NULL;
    if (!agree(well, engine->machine) || !well) {
        free(shared);
        free(widths);
        free(rooms);
        return NULL;
    }
    const int64_t width = count + wanted;
    MPI_Allgather(&width, 1, MPI_INT64_T, widths, 1, MPI_INT64_T, engine->machine);
    int64_t length = 2 * total;
    for (int rank = 0; rank < members; rank++) {
        length += 2 * widths[rank];
    }
    *shared = (petsc_shared){.engine = engine,
                             .machine = engine->machine,
                             .first = first,
                             .count = count,
                             .total = total,
                             .widths = widths,
                             .rooms = rooms,
                             .bytes = (size_t)length * sizeof(double)};
    if (!map_memory(shared, engine->table.rank)) {
        petsc_shared_free(shared);
        return NULL;
    }
    rooms[0] = shared->all + 2 * total;
    for (int rank = 1; rank < members; rank++) {
        rooms[rank] = rooms[rank - 1] + 2 * widths[rank - 1];
    }
    return shared;
}

/* What was written before it by any process is read after it by all. */
static int meet(petsc_shared *shared)
{
    const int turn = shared->turn;
    const petsc_moment begun = petsc_wait_begin();
    atomic_thread_fence(memory_order_seq_cst);
    MPI_Barrier(shared->machine);
    atomic_thread_fence(memory_order_seq_cst);
    petsc_wait_end(shared->engine, begun);
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
    return shared->rooms[rank] + shared->turn * shared->widths[rank];
}

int petsc_shared_send(petsc_shared *shared, int rank, const double *ghosts)
{
    double *room = petsc_shared_room(shared, rank) + shared->count;
    const int64_t many = shared->widths[rank] - shared->count;
    if (ghosts != room && many > 0) {
        memcpy(room, ghosts, (size_t)many * sizeof *room);
    }
    return meet(shared);
}

const double *petsc_shared_sent(const petsc_shared *shared, int rank, int turn)
{
    return shared->rooms[rank] + turn * shared->widths[rank];
}

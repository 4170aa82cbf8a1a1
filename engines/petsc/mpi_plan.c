/*
 * mpi_plan.c: values of other processes fetched, and contributions to them sent home; see
 * base/communication.h.
 *
 * Places rise, and processes own ranges of them in order of rank: what comes from one process stands together
 * among the ghosts, and needs no unpacking. A plan knows, for each process, how many ghosts come from it, and
 * which of the own values it wants. Processes of one machine read each other's memory and send nothing.
 */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

enum { FETCH_TAG = 1, ADD_TAG = 2 };

typedef struct plan {
    int members;
    int *wanted;           /* [members] ghosts from each process */
    int *given;            /* [members] own values that each process has among its ghosts */
    int64_t *places;       /* [all given] which, from 0 on, in order of rank */
    double *packed;        /* [all given] */
    MPI_Request *requests; /* [2 * members] */
    petsc_shared *shared;  /* NULL: messages */
    int32_t *sources;      /* [all wanted] places of ghosts; these two where there is `shared` */
    int64_t *columns;      /* [members] where what it has for this process begins in the room of each */
} plan;

static void release(void *self, void *made)
{
    (void)self;
    plan *of = made;
    if (of != NULL) {
        free(of->wanted);
        free(of->given);
        free(of->places);
        free(of->packed);
        free(of->requests);
        petsc_shared_free(of->shared);
        free(of->sources);
        free(of->columns);
        free(of);
    }
}

/* How many places each process owns of those wanted; false: some are owned by nobody, or in no order. */
static bool count_wanted(const petsc_engine *engine, int64_t first, int64_t count, int64_t wanted,
                         const int64_t *places, int64_t *ends, int *counts)
{
    int64_t end = first + count;
    MPI_Allgather(&end, 1, MPI_INT64_T, ends, 1, MPI_INT64_T, engine->work);
    int rank = 0;
    memset(counts, 0, (size_t)engine->table.members * sizeof *counts);
    for (int64_t i = 0; i < wanted; i++) {
        if (i > 0 && places[i] <= places[i - 1]) {
            return false;
        }
        while (rank < engine->table.members && places[i] >= ends[rank]) {
            rank++;
        }
        if (rank == engine->table.members || rank == engine->table.rank || places[i] < 0) {
            return false;
        }
        counts[rank]++;
    }
    return true;
}

/* Tells every process which of its values are wanted here, and learns the same from it. */
static bool exchange_places(const petsc_engine *engine, int64_t first, const int64_t *places, plan *of)
{
    int64_t total = 0;
    int requests = 0;
    MPI_Alltoall(of->wanted, 1, MPI_INT, of->given, 1, MPI_INT, engine->work);
    for (int rank = 0; rank < of->members; rank++) {
        total += of->given[rank];
    }
    of->places = malloc((size_t)(total + 1) * sizeof *of->places);
    of->packed = malloc((size_t)(total + 1) * sizeof *of->packed);
    if (of->places == NULL || of->packed == NULL) {
        return false;
    }
    int64_t *to = of->places;
    const int64_t *from = places;
    for (int rank = 0; rank < of->members; rank++) {
        if (of->given[rank] > 0) {
            MPI_Irecv(to, of->given[rank], MPI_INT64_T, rank, FETCH_TAG, engine->work,
                      &of->requests[requests++]);
            to += of->given[rank];
        }
        if (of->wanted[rank] > 0) {
            MPI_Isend(from, of->wanted[rank], MPI_INT64_T, rank, FETCH_TAG, engine->work,
                      &of->requests[requests++]);
            from += of->wanted[rank];
        }
    }
    MPI_Waitall(requests, of->requests, MPI_STATUSES_IGNORE);
    for (int64_t i = 0; i < to - of->places; i++) {
        of->places[i] -= first; /* NOLINT(clang-analyzer-core.uninitialized.Assign): received above */
    }
    return true;
}

/* Lets processes read each other's memory, if they can. False: out of memory. */
static bool share(petsc_engine *engine, int64_t first, int64_t count, const int64_t *ends, int64_t wanted,
                  const int64_t *places, plan *of)
{
    const int members = of->members;
    if (members == 1) {
        return true;
    }
    int64_t *begins = malloc((size_t)members * sizeof *begins);
    of->columns = malloc((size_t)members * sizeof *of->columns);
    of->sources = malloc((size_t)(wanted + 1) * sizeof *of->sources);
    if (begins == NULL || of->columns == NULL || of->sources == NULL) {
        free(begins);
        return false;
    }
    begins[0] = count;
    for (int rank = 1; rank < members; rank++) {
        begins[rank] = begins[rank - 1] + of->wanted[rank - 1];
    }
    MPI_Alltoall(begins, 1, MPI_INT64_T, of->columns, 1, MPI_INT64_T, engine->work);
    free(begins);
    for (int64_t i = 0; i < wanted; i++) {
        of->sources[i] = (int32_t)places[i];
    }
    of->shared = petsc_shared_make(engine, first, count, ends[members - 1], wanted);
    return true;
}

static nadir_status plan_exchange(petsc_engine *engine, nadir_context *context, bool shared, int64_t first,
                                  int64_t count, int64_t wanted, const int64_t *places, void **made)
{
    petsc_meet(engine, "plan", -1);
    const size_t members = (size_t)engine->table.members;
    nadir_status status = NADIR_OK;
    int64_t *ends = malloc(members * sizeof *ends);
    plan *of = calloc(1, sizeof *of);
    if (of != NULL) {
        of->members = engine->table.members;
        of->wanted = malloc(members * sizeof *of->wanted);
        of->given = malloc(members * sizeof *of->given);
        of->requests = malloc(2 * members * sizeof(MPI_Request)); /* NOLINT(bugprone-sizeof-expression) */
    }
    if (ends == NULL || of == NULL || of->wanted == NULL || of->given == NULL || of->requests == NULL) {
        status = engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory for an exchange of values");
        goto cleanup;
    }
    int wrong = !count_wanted(engine, first, count, wanted, places, ends, of->wanted);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, engine->work);
    if (wrong != 0) {
        status = engine->host->fail(context, NADIR_ERROR_ARGUMENT,
                                    "an exchange of values asks for places that no other process owns");
        goto cleanup;
    }
    if (!exchange_places(engine, first, places, of) ||
        (shared && !share(engine, first, count, ends, wanted, places, of))) {
        status = engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory for an exchange of values");
        goto cleanup;
    }
    *made = of;
    of = NULL;
cleanup:
    free(ends);
    release(engine, of);
    return status;
}

static nadir_status make_plan(void *self, nadir_context *context, int64_t first, int64_t count,
                              int64_t wanted, const int64_t *places, void **made)
{
    return plan_exchange(self, context, true, first, count, wanted, places, made);
}

/* What all processes have, read where it stands; NULL: it must be sent. */
static const double *publish(void *self, void *made, const double *values)
{
    petsc_engine *engine = self;
    const plan *of = made;
    if (of->members == 1) {
        return values;
    }
    if (of->shared == NULL) {
        return NULL;
    }
    petsc_meet(engine, "fetch", -1);
    return petsc_shared_publish(of->shared, values);
}

static double *buffer(void *self, void *made)
{
    const petsc_engine *engine = self;
    const plan *of = made;
    return of->shared != NULL ? petsc_shared_room(of->shared, engine->table.rank) : NULL;
}

static void fetch(void *self, void *made, const double *values, double *ghosts)
{
    petsc_engine *engine = self;
    plan *of = made;
    int requests = 0;
    double *to = ghosts;
    if (of->shared != NULL) {
        const double *all = publish(self, made, values);
        for (int rank = 0; rank < of->members; rank++) {
            to += of->wanted[rank];
        }
        for (int64_t i = 0; i < to - ghosts; i++) {
            ghosts[i] = all[of->sources[i]];
        }
        return;
    }
    petsc_meet(engine, "fetch", -1);
    for (int rank = 0; rank < of->members; rank++) {
        if (of->wanted[rank] > 0) {
            MPI_Irecv(to, of->wanted[rank], MPI_DOUBLE, rank, FETCH_TAG, engine->work,
                      &of->requests[requests++]);
            to += of->wanted[rank];
        }
    }
    int64_t at = 0;
    for (int rank = 0; rank < of->members; rank++) {
        const int64_t start = at;
        for (; at < start + of->given[rank]; at++) {
            of->packed[at] = values[of->places[at]];
        }
        if (of->given[rank] > 0) {
            MPI_Isend(of->packed + start, of->given[rank], MPI_DOUBLE, rank, FETCH_TAG, engine->work,
                      &of->requests[requests++]);
        }
    }
    engine->exchanged += at;
    const petsc_moment begun = petsc_wait_begin();
    MPI_Waitall(requests, of->requests, MPI_STATUSES_IGNORE);
    petsc_wait_end(engine, begun);
}

/* add, from where the others have it. */
static void add_shared(const petsc_engine *engine, const plan *of, const double *ghosts, double *values)
{
    const int turn = petsc_shared_send(of->shared, engine->table.rank, ghosts);
    const int64_t *places = of->places;
    for (int rank = 0; rank < of->members; rank++) {
        const double *from = petsc_shared_sent(of->shared, rank, turn) + of->columns[rank];
        for (int64_t i = 0; i < of->given[rank]; i++) {
            values[places[i]] += from[i];
        }
        places += of->given[rank];
    }
}

static void add(void *self, void *made, const double *ghosts, double *values)
{
    petsc_engine *engine = self;
    petsc_meet(engine, "add", -1);
    plan *of = made;
    if (of->shared != NULL) {
        add_shared(engine, of, ghosts, values);
        return;
    }
    int requests = 0;
    const double *from = ghosts;
    double *to = of->packed;
    for (int rank = 0; rank < of->members; rank++) {
        if (of->given[rank] > 0) {
            MPI_Irecv(to, of->given[rank], MPI_DOUBLE, rank, ADD_TAG, engine->work,
                      &of->requests[requests++]);
            to += of->given[rank];
        }
        if (of->wanted[rank] > 0) {
            MPI_Isend(from, of->wanted[rank], MPI_DOUBLE, rank, ADD_TAG, engine->work,
                      &of->requests[requests++]);
            from += of->wanted[rank];
        }
    }
    const petsc_moment begun = petsc_wait_begin();
    MPI_Waitall(requests, of->requests, MPI_STATUSES_IGNORE);
    petsc_wait_end(engine, begun);
    const int64_t total = to - of->packed;
    engine->exchanged += from - ghosts;
    for (int64_t i = 0; i < total; i++) {
        values[of->places[i]] += of->packed[i];
    }
}

static int rising(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Any places in any order: those of others, each once and rising, through a plan. */
static nadir_status halo(void *self, nadir_context *context, int64_t first, int64_t count,
                         const double *values, int64_t wanted, const int64_t *places, double *results)
{
    petsc_engine *engine = self;
    int64_t *rest = malloc((size_t)(wanted + 1) * sizeof *rest);
    double *ghosts = malloc((size_t)(wanted + 1) * sizeof *ghosts);
    void *made = NULL;
    int64_t many = 0;
    int64_t kept = 0;
    if (rest == NULL || ghosts == NULL) {
        free(rest);
        free(ghosts);
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory for an exchange of values");
    }
    for (int64_t i = 0; i < wanted; i++) {
        if (places[i] < first || places[i] - first >= count) {
            rest[many++] = places[i];
        }
    }
    qsort(rest, (size_t)many, sizeof *rest, rising);
    for (int64_t i = 0; i < many; i++) {
        if (kept == 0 || rest[i] != rest[kept - 1]) {
            rest[kept++] = rest[i];
        }
    }
    const nadir_status status = plan_exchange(engine, context, false, first, count, kept, rest, &made);
    if (status == NADIR_OK && made != NULL) {
        fetch(self, made, values, ghosts);
        for (int64_t i = 0; i < wanted; i++) {
            if (places[i] >= first && places[i] - first < count) {
                results[i] = values[places[i] - first];
            } else {
                const int64_t *found = bsearch(&places[i], rest, (size_t)kept, sizeof *rest, rising);
                results[i] = ghosts[found - rest];
            }
        }
    }
    release(self, made);
    free(rest);
    free(ghosts);
    return status;
}

void petsc_plans_start(petsc_engine *engine)
{
    engine->table.halo = halo;
    engine->table.plan = make_plan;
    engine->table.fetch = fetch;
    engine->table.add = add;
    engine->table.publish = publish;
    engine->table.buffer = buffer;
    engine->table.release = release;
}

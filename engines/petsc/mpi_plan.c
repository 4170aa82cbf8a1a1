/*
 * mpi_plan.c: values of other processes fetched, and contributions to them sent home; see
 * core/communication.h.
 *
 * Places rise, and processes own ranges of them in order of rank: what comes from one process stands together
 * among the ghosts, and needs no unpacking. A plan knows, for each process, how many ghosts come from it, and
 * which of the own values it wants. Processes of one machine read each other's memory and send nothing.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

enum { FETCH_TAG = 1, ADD_TAG = 2 };

typedef struct ghost_plan {
    int members;
    int *wanted;           /* [members] ghosts from each process */
    int *given;            /* [members] own values that each process has among its ghosts */
    int64_t *places;       /* [all given] which, from 0 on, in order of rank */
    double *packed;        /* [all given] */
    MPI_Request *requests; /* [2 * members] */
    petsc_shared *shared;  /* NULL: messages */
    int32_t *sources;      /* [all wanted] places of ghosts; these two where there is `shared` */
    int64_t *columns;      /* [members] where what it has for this process begins in the room of each */
} ghost_plan;

static void release(void *self, void *made)
{
    (void)self;
    ghost_plan *plan = made;
    if (plan != NULL) {
        free(plan->wanted);
        free(plan->given);
        free(plan->places);
        free(plan->packed);
        free(plan->requests);
        petsc_shared_free(plan->shared);
        free(plan->sources);
        free(plan->columns);
        free(plan);
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
static bool exchange_places(const petsc_engine *engine, int64_t first, const int64_t *places,
                            ghost_plan *plan)
{
    int64_t total = 0;
    int requests = 0;
    MPI_Alltoall(plan->wanted, 1, MPI_INT, plan->given, 1, MPI_INT, engine->work);
    for (int rank = 0; rank < plan->members; rank++) {
        total += plan->given[rank];
    }
    plan->places = malloc((size_t)(total + 1) * sizeof *plan->places);
    plan->packed = malloc((size_t)(total + 1) * sizeof *plan->packed);
    if (plan->places == NULL || plan->packed == NULL) {
        return false;
    }
    int64_t *to = plan->places;
    const int64_t *from = places;
    for (int rank = 0; rank < plan->members; rank++) {
        if (plan->given[rank] > 0) {
            MPI_Irecv(to, plan->given[rank], MPI_INT64_T, rank, FETCH_TAG, engine->work,
                      &plan->requests[requests++]);
            to += plan->given[rank];
        }
        if (plan->wanted[rank] > 0) {
            MPI_Isend(from, plan->wanted[rank], MPI_INT64_T, rank, FETCH_TAG, engine->work,
                      &plan->requests[requests++]);
            from += plan->wanted[rank];
        }
    }
    MPI_Waitall(requests, plan->requests, MPI_STATUSES_IGNORE);
    for (int64_t i = 0; i < to - plan->places; i++) {
        plan->places[i] -= first; /* NOLINT(clang-analyzer-core.uninitialized.Assign): received above */
    }
    return true;
}

/* Lets processes read each other's memory, if they can. False: out of memory. */
static bool share(petsc_engine *engine, int64_t first, int64_t count, const int64_t *ends, int64_t wanted,
                  const int64_t *places, ghost_plan *plan)
{
    const int members = plan->members;
    if (members == 1) {
        return true;
    }
    int64_t *begins = malloc((size_t)members * sizeof *begins);
    plan->columns = malloc((size_t)members * sizeof *plan->columns);
    plan->sources = malloc((size_t)(wanted + 1) * sizeof *plan->sources);
    if (begins == NULL || plan->columns == NULL || plan->sources == NULL) {
        free(begins);
        return false;
    }
    begins[0] = count;
    for (int rank = 1; rank < members; rank++) {
        begins[rank] = begins[rank - 1] + plan->wanted[rank - 1];
    }
    MPI_Alltoall(begins, 1, MPI_INT64_T, plan->columns, 1, MPI_INT64_T, engine->work);
    free(begins);
    for (int64_t i = 0; i < wanted; i++) {
        plan->sources[i] = (int32_t)places[i];
    }
    plan->shared = petsc_shared_make(engine, first, count, ends[members - 1], wanted);
    return true;
}

static nadir_status make_plan(void *self, nadir_context *context, int64_t first, int64_t count,
                              int64_t wanted, const int64_t *places, void **made)
{
    petsc_engine *engine = self;
    petsc_check_call(engine, "plan", -1);
    const size_t members = (size_t)engine->table.members;
    nadir_status status = NADIR_OK;
    int64_t *ends = malloc(members * sizeof *ends);
    ghost_plan *plan = calloc(1, sizeof *plan);
    if (plan != NULL) {
        plan->members = engine->table.members;
        plan->wanted = malloc(members * sizeof *plan->wanted);
        plan->given = malloc(members * sizeof *plan->given);
        plan->requests = malloc(2 * members * sizeof(MPI_Request)); /* NOLINT(bugprone-sizeof-expression) */
    }
    if (ends == NULL || plan == NULL || plan->wanted == NULL || plan->given == NULL ||
        plan->requests == NULL) {
        status = engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory for an exchange of values");
        goto cleanup;
    }
    int wrong = !count_wanted(engine, first, count, wanted, places, ends, plan->wanted);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, engine->work);
    if (wrong != 0) {
        status = engine->host->fail(context, NADIR_ERROR_ARGUMENT,
                                    "an exchange of values asks for places that no other process owns");
        goto cleanup;
    }
    if (!exchange_places(engine, first, places, plan) ||
        !share(engine, first, count, ends, wanted, places, plan)) {
        status = engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory for an exchange of values");
        goto cleanup;
    }
    *made = plan;
    plan = NULL;
cleanup:
    free(ends);
    release(engine, plan);
    return status;
}

/* What all processes have, read where it stands; NULL: it must be sent. */
static const double *publish(void *self, void *made, const double *values)
{
    petsc_engine *engine = self;
    const ghost_plan *plan = made;
    if (plan->members == 1) {
        return values;
    }
    if (plan->shared == NULL) {
        return NULL;
    }
    petsc_check_call(engine, "fetch", -1);
    return petsc_shared_publish(plan->shared, values);
}

static double *buffer(void *self, void *made)
{
    const petsc_engine *engine = self;
    const ghost_plan *plan = made;
    return plan->shared != NULL ? petsc_shared_room(plan->shared, engine->table.rank) : NULL;
}

static void fetch(void *self, void *made, const double *values, double *ghosts)
{
    petsc_engine *engine = self;
    ghost_plan *plan = made;
    int requests = 0;
    double *to = ghosts;
    if (plan->shared != NULL) {
        const double *all = publish(self, made, values);
        for (int rank = 0; rank < plan->members; rank++) {
            to += plan->wanted[rank];
        }
        for (int64_t i = 0; i < to - ghosts; i++) {
            ghosts[i] = all[plan->sources[i]];
        }
        return;
    }
    petsc_check_call(engine, "fetch", -1);
    for (int rank = 0; rank < plan->members; rank++) {
        if (plan->wanted[rank] > 0) {
            MPI_Irecv(to, plan->wanted[rank], MPI_DOUBLE, rank, FETCH_TAG, engine->work,
                      &plan->requests[requests++]);
            to += plan->wanted[rank];
        }
    }
    int64_t at = 0;
    for (int rank = 0; rank < plan->members; rank++) {
        const int64_t start = at;
        for (; at < start + plan->given[rank]; at++) {
            plan->packed[at] = values[plan->places[at]];
        }
        if (plan->given[rank] > 0) {
            MPI_Isend(plan->packed + start, plan->given[rank], MPI_DOUBLE, rank, FETCH_TAG, engine->work,
                      &plan->requests[requests++]);
        }
    }
    engine->exchanged += at;
    const petsc_moment begun = petsc_wait_begin();
    MPI_Waitall(requests, plan->requests, MPI_STATUSES_IGNORE);
    petsc_wait_end(engine, begun);
}

/* add, from where the others have it. */
static void add_shared(const petsc_engine *engine, const ghost_plan *plan, const double *ghosts,
                       double *values)
{
    const int turn = petsc_shared_send(plan->shared, engine->table.rank, ghosts);
    const int64_t *places = plan->places;
    for (int rank = 0; rank < plan->members; rank++) {
        const double *from = petsc_shared_sent(plan->shared, rank, turn) + plan->columns[rank];
        for (int64_t i = 0; i < plan->given[rank]; i++) {
            values[places[i]] += from[i];
        }
        places += plan->given[rank];
    }
}

static void add(void *self, void *made, const double *ghosts, double *values)
{
    petsc_engine *engine = self;
    petsc_check_call(engine, "add", -1);
    ghost_plan *plan = made;
    if (plan->shared != NULL) {
        add_shared(engine, plan, ghosts, values);
        return;
    }
    int requests = 0;
    const double *from = ghosts;
    double *to = plan->packed;
    for (int rank = 0; rank < plan->members; rank++) {
        if (plan->given[rank] > 0) {
            MPI_Irecv(to, plan->given[rank], MPI_DOUBLE, rank, ADD_TAG, engine->work,
                      &plan->requests[requests++]);
            to += plan->given[rank];
        }
        if (plan->wanted[rank] > 0) {
            MPI_Isend(from, plan->wanted[rank], MPI_DOUBLE, rank, ADD_TAG, engine->work,
                      &plan->requests[requests++]);
            from += plan->wanted[rank];
        }
    }
    const petsc_moment begun = petsc_wait_begin();
    MPI_Waitall(requests, plan->requests, MPI_STATUSES_IGNORE);
    petsc_wait_end(engine, begun);
    const int64_t total = to - plan->packed;
    engine->exchanged += from - ghosts;
    for (int64_t i = 0; i < total; i++) {
        values[plan->places[i]] += plan->packed[i];
    }
}

void petsc_plans_start(petsc_engine *engine)
{
    engine->table.plan = make_plan;
    engine->table.fetch = fetch;
    engine->table.add = add;
    engine->table.publish = publish;
    engine->table.buffer = buffer;
    engine->table.release = release;
}

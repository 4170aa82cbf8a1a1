/*
 * engine.c: the engine of many processes, by MPI and PETSc; see core/engine.h.
 *
 * Every process of `mpirun -n N nadir ...` loads it. An error that all processes meet ends all of them in the
 * ordinary way. One that a single process meets (no memory, a bad part of the file) leaves the others waiting
 * for its next message: it waits at the end for a few seconds, and then ends the job.
 */
#include "engine.h"

#include <execinfo.h>
#include <petscksp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How long a process that failed waits for the others to fail as well. */
#define PATIENCE 3.0

enum { WORDS = 256 };

/* Cuts the options into words; words[0] is the name of the program. */
static int cut(char *text, char *words[WORDS])
{
    static char program[] = "nadir";
    static char signals[] = "-no_signal_handler"; /* they are the command's */
    int count = 0;
    words[count++] = program;
    words[count++] = signals;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t\n", &rest); word != NULL && count < WORDS - 1;
         word = strtok_r(NULL, " \t\n", &rest)) {
        words[count++] = word;
    }
    words[count] = NULL;
    return count;
}

static nadir_status start_petsc(petsc_engine *engine, nadir_context *context, const char *options)
{
    char *words[WORDS];
    char *text = strdup(options);
    if (text == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    int count = cut(text, words);
    char **list = words;
    PETSC_COMM_WORLD = engine->solvers;
    const PetscErrorCode code = PetscInitialize(&count, &list, NULL, NULL);
    free(text);
    if (code != 0) {
        return engine->host->fail(context, NADIR_ERROR_UNSUPPORTED, "PETSc did not start: error %d",
                                  (int)code);
    }
    PetscPushErrorHandler(PetscReturnErrorHandler, NULL);
    return NADIR_OK;
}

/* Whether all processes are on one machine and may read each other's vectors: NADIR_ENGINE_SHARE=0 says no.
 */
static void find_machine(petsc_engine *engine)
{
    const char *wish = getenv("NADIR_ENGINE_SHARE"); /* NOLINT(concurrency-mt-unsafe): nothing here sets it */
    int count;
    MPI_Comm_split_type(engine->work, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &engine->machine);
    MPI_Comm_size(engine->machine, &count);
    engine->neighbours = count;
    int apart = count < engine->table.members || (wish != NULL && strcmp(wish, "0") == 0);
    MPI_Allreduce(MPI_IN_PLACE, &apart, 1, MPI_INT, MPI_MAX, engine->work);
    if (apart) {
        MPI_Comm_free(&engine->machine);
    }
    engine->table.shares = !apart;
}

static nadir_status start(const nadir_engine_host *host, nadir_context *context, const char *options,
                          const nadir_communication **table, void **self)
{
    int provided;
    int begun;
    petsc_engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL) {
        return host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    engine->host = host;
    MPI_Initialized(&begun);
    if (begun) {
        free(engine);
        return host->fail(context, NADIR_ERROR_UNSUPPORTED, "the engine was opened before by this process");
    }
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        free(engine);
        return host->fail(context, NADIR_ERROR_UNSUPPORTED, "MPI did not start");
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &engine->work);
    MPI_Comm_dup(MPI_COMM_WORLD, &engine->solvers);
    MPI_Comm_dup(MPI_COMM_WORLD, &engine->shutdown);
    engine->watch = MPI_COMM_NULL;
    if (getenv("NADIR_ENGINE_WATCH") != NULL) { /* NOLINT(concurrency-mt-unsafe): nothing here sets it */
        MPI_Comm_dup(MPI_COMM_WORLD, &engine->watch);
    }
    engine->table.name = "mpi";
    engine->table.self = engine;
    MPI_Comm_rank(engine->work, &engine->table.rank);
    MPI_Comm_size(engine->work, &engine->table.members);
    find_machine(engine);
    petsc_reductions_start(engine);
    petsc_gathers_start(engine);
    petsc_plans_start(engine);
    const nadir_status status = start_petsc(engine, context, options);
    if (status == NADIR_OK) {
        *table = &engine->table;
        *self = engine;
    }
    return status; /* MPI cannot be started again: what there is of it stays */
}

static int32_t neighbours(const void *self)
{
    return ((const petsc_engine *)self)->neighbours;
}

/* What a process is about to do. */
typedef struct meeting {
    char call[24];
    int64_t count;
} meeting;

void petsc_check_call(petsc_engine *engine, const char *call, int64_t count)
{
    enum { DEPTH = 24 };
    const bool exchange = strcmp(call, "fetch") == 0 || strcmp(call, "add") == 0;
    engine->exchanges += exchange;
    engine->reductions += !exchange;
    if (engine->watch == MPI_COMM_NULL) {
        return;
    }
    meeting own = {.count = count};
    meeting first;
    (void)snprintf(own.call, sizeof own.call, "%s", call);
    first = own;
    MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, engine->watch);
    int differs = strcmp(first.call, own.call) != 0 || first.count != own.count;
    MPI_Allreduce(MPI_IN_PLACE, &differs, 1, MPI_INT, MPI_MAX, engine->watch);
    if (differs) {
        void *frames[DEPTH];
        (void)fprintf(stderr, "nadir: process %d calls %s of %lld, others do not:\n", engine->table.rank,
                      call, (long long)count);
        backtrace_symbols_fd(frames, backtrace(frames, DEPTH), STDERR_FILENO);
        MPI_Barrier(engine->watch);
        MPI_Abort(MPI_COMM_WORLD, 8);
    }
}

static double read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double seconds(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

petsc_moment petsc_wait_begin(void)
{
    return (petsc_moment){seconds(), read_clock(CLOCK_THREAD_CPUTIME_ID)};
}

void petsc_wait_end(petsc_engine *engine, petsc_moment begun)
{
    engine->waited += seconds() - begun.clock;
    engine->polled += read_clock(CLOCK_THREAD_CPUTIME_ID) - begun.processor;
}

/* What an evaluation costs beside products: for the model of cost in docs/scaling.md. */
static void tell_counts(const petsc_engine *engine)
{
    if (getenv("NADIR_ENGINE_COUNTS") != NULL) { /* NOLINT(concurrency-mt-unsafe): nothing here sets it */
        (void)fprintf(stderr,
                      "nadir: process %d: %lld reductions, %lld exchanges, %lld numbers sent in them; waited "
                      "%.2f s; %.2f s of processor time, and %.2f waiting\n",
                      engine->table.rank, (long long)engine->reductions, (long long)engine->exchanges,
                      (long long)engine->exchanged, engine->waited,
                      read_clock(CLOCK_PROCESS_CPUTIME_ID) - engine->polled, engine->polled);
    }
}

static void finish(void *self, int exit_status, const char *sentence)
{
    petsc_engine *engine = self;
    MPI_Request all_here;
    int here = 0;
    const struct timespec pause = {0, 1000000};
    const double begun = seconds();
    MPI_Ibarrier(engine->shutdown, &all_here);
    while (!here) {
        MPI_Test(&all_here, &here, MPI_STATUS_IGNORE);
        if (!here && exit_status != 0 && seconds() - begun > PATIENCE) {
            (void)fprintf(stderr, "nadir: process %d of %d failed alone, all are ended%s%s\n",
                          engine->table.rank, engine->table.members, *sentence != '\0' ? ": " : "", sentence);
            (void)fflush(NULL);
            MPI_Abort(MPI_COMM_WORLD, exit_status);
        }
        if (!here) {
            (void)nanosleep(&pause, NULL);
        }
    }
    tell_counts(engine);
    PetscFinalize();
    petsc_reductions_end(engine);
    MPI_Comm_free(&engine->work);
    MPI_Comm_free(&engine->solvers);
    MPI_Comm_free(&engine->shutdown);
    if (engine->machine != MPI_COMM_NULL) {
        MPI_Comm_free(&engine->machine);
    }
    if (engine->watch != MPI_COMM_NULL) {
        MPI_Comm_free(&engine->watch);
    }
    MPI_Finalize();
    free(engine);
}

extern const nadir_engine_table nadir_engine_entry;

__attribute__((visibility("default"))) const nadir_engine_table nadir_engine_entry = {
    .version = NADIR_ENGINE_VERSION,
    .name = "petsc",
    .start = start,
    .neighbours = neighbours,
    .finish = finish,
    .setup = petsc_solver_setup,
    .solve = petsc_solver_solve,
    .destroy = petsc_solver_destroy,
};

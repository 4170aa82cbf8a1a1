/*
 * mpi_reduce.c: sums, extremes and scans over all processes; see core/communication.h.
 *
 * Different operations travel in one message: each number with what is done to it. All operations commute to
 * the bit, NaN aside, so that every process ends with the same numbers whatever the order in which an
 * implementation of MPI joins them.
 */
#include "engine.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

enum { PIECE = 1 << 20 }; /* numbers in one message: MPI counts in int */

typedef struct tagged {
    double value;
    double operation;
} tagged;

static void join_tagged(void *from, void *into, int *count, MPI_Datatype *type)
{
    (void)type;
    const tagged *left = from;
    tagged *right = into;
    for (int i = 0; i < *count; i++) {
        const double a = left[i].value;
        const double b = right[i].value;
        if (isnan(a) || isnan(b)) {
            right[i].value = NAN;
        } else if (left[i].operation == (double)NADIR_REDUCE_SUM) {
            right[i].value = a + b;
        } else if (left[i].operation == (double)NADIR_REDUCE_MAXIMUM) {
            right[i].value = a > b ? a : b;
        } else {
            right[i].value = a < b ? a : b;
        }
    }
}

static void join_placed(void *from, void *into, int *count, MPI_Datatype *type)
{
    (void)type;
    const nadir_indexed *left = from;
    nadir_indexed *right = into;
    for (int i = 0; i < *count; i++) {
        const bool better = left[i].value > right[i].value ||
                            (left[i].value == right[i].value && left[i].place < right[i].place);
        right[i] = better ? left[i] : right[i];
    }
}

static nadir_status sum(void *self, nadir_context *context, int64_t count, double *values)
{
    (void)context;
    petsc_engine *engine = self;
    petsc_check_call(engine, "sum", count);
    const petsc_moment begun = petsc_wait_begin();
    for (int64_t done = 0; done < count; done += PIECE) {
        const int piece = (int)(count - done < PIECE ? count - done : PIECE);
        MPI_Allreduce(MPI_IN_PLACE, values + done, piece, MPI_DOUBLE, MPI_SUM, engine->work);
    }
    petsc_wait_end(engine, begun);
    return NADIR_OK;
}

static void reduce_few(void *self, int count, const nadir_reduction *operations, double *values)
{
    petsc_engine *engine = self;
    petsc_check_call(engine, "reduce", count);
    tagged numbers[NADIR_REDUCE_FEW];
    for (int i = 0; i < count; i++) {
        numbers[i] = (tagged){values[i], (double)operations[i]};
    }
    const petsc_moment begun = petsc_wait_begin();
    MPI_Allreduce(MPI_IN_PLACE, numbers, count, engine->tagged, engine->join, engine->work);
    petsc_wait_end(engine, begun);
    for (int i = 0; i < count; i++) {
        values[i] = numbers[i].value;
    }
}

static nadir_status reduce(void *self, nadir_context *context, int64_t count,
                           const nadir_reduction *operations, double *values)
{
    (void)context;
    for (int64_t done = 0; done < count; done += NADIR_REDUCE_FEW) {
        const int64_t left = count - done;
        reduce_few(self, left < NADIR_REDUCE_FEW ? (int)left : NADIR_REDUCE_FEW, operations + done,
                   values + done);
    }
    return NADIR_OK;
}

static nadir_status maximum(void *self, nadir_context *context, int64_t count, nadir_indexed *values)
{
    (void)context;
    petsc_engine *engine = self;
    petsc_check_call(engine, "maximum", count);
    const petsc_moment begun = petsc_wait_begin();
    for (int64_t done = 0; done < count; done += PIECE) {
        const int piece = (int)(count - done < PIECE ? count - done : PIECE);
        MPI_Allreduce(MPI_IN_PLACE, values + done, piece, engine->placed, engine->largest, engine->work);
    }
    petsc_wait_end(engine, begun);
    return NADIR_OK;
}

static nadir_status scan(void *self, nadir_context *context, int64_t count, double *values)
{
    (void)context;
    petsc_engine *engine = self;
    petsc_check_call(engine, "scan", count);
    const petsc_moment begun = petsc_wait_begin();
    for (int64_t done = 0; done < count; done += PIECE) {
        const int piece = (int)(count - done < PIECE ? count - done : PIECE);
        MPI_Exscan(MPI_IN_PLACE, values + done, piece, MPI_DOUBLE, MPI_SUM, engine->work);
    }
    petsc_wait_end(engine, begun);
    for (int64_t i = 0; engine->table.rank == 0 && i < count; i++) {
        values[i] = 0; /* MPI leaves what was there */
    }
    return NADIR_OK;
}

void petsc_reductions_start(petsc_engine *engine)
{
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {offsetof(nadir_indexed, value), offsetof(nadir_indexed, place)};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT64_T};
    MPI_Type_contiguous(2, MPI_DOUBLE, &engine->tagged);
    MPI_Type_commit(&engine->tagged);
    MPI_Op_create(join_tagged, 1, &engine->join);
    MPI_Type_create_struct(2, lengths, places, types, &engine->placed);
    MPI_Type_commit(&engine->placed);
    MPI_Op_create(join_placed, 1, &engine->largest);
    engine->table.sum = sum;
    engine->table.reduce = reduce;
    engine->table.reduce_few = reduce_few;
    engine->table.maximum = maximum;
    engine->table.scan = scan;
}

void petsc_reductions_end(petsc_engine *engine)
{
    MPI_Op_free(&engine->join);
    MPI_Type_free(&engine->tagged);
    MPI_Op_free(&engine->largest);
    MPI_Type_free(&engine->placed);
}

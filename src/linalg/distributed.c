/* distributed.c: how many threads a piece of work gets, and sums and extremes over threads and processes; see
 * threads.h and distributed.h. */
#include "linalg/distributed.h"

#include "core/round.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

static int threads_for(const nadir_context *context, int64_t useful)
{
    return useful < context->threads ? (int)useful : (int)context->threads;
}

int nadir_threads_for(const nadir_context *context, int64_t work)
{
    return threads_for(context, work / NADIR_PARALLEL_WORK + 1);
}

int nadir_threads_for_blas(const nadir_context *context, int64_t work)
{
    return threads_for(context, work / NADIR_BLAS_WORK + 1);
}

bool nadir_progress_team(nadir_context *context, const char *task, double share, nadir_status *stopped)
{
    nadir_status seen;
#pragma omp atomic read
    seen = *stopped;
    if (seen == NADIR_OK && omp_get_thread_num() == 0) {
        seen = nadir_progress(context, task, share);
        if (seen != NADIR_OK) {
#pragma omp atomic write
            *stopped = seen;
        }
    }
    return seen == NADIR_OK;
}

/*
 * LLVM's OpenMP keeps the number of `parallel num_threads(1) if (0)`, which makes no region, for the next
 * region that there is. Were that one of BLAS, it would wait for ever for threads that never come: a region
 * of our own takes the number away.
 */
static void forget_left_over(void)
{
#if defined(__clang__)
#pragma omp parallel
    {
        __asm__ volatile("");
    }
#endif
}

int nadir_blas_threads(int threads)
{
    const int before = omp_get_max_threads();
    if (threads > 1) {
        forget_left_over();
    }
    omp_set_num_threads(threads);
    return before;
}

void nadir_blas_restore(int before)
{
    omp_set_num_threads(before);
}

enum {
    SHARES = 64, /* threads, at most */
    BLOCK = 128  /* entries between two compensated additions */
};

/* A sum and what its roundings lost. */
typedef struct pair {
    double sum;
    double lost;
} pair;

static void add(pair *to, double term)
{
    const double next = to->sum + term;
    to->lost += fabs(to->sum) >= fabs(term) ? (to->sum - next) + term : (term - next) + to->sum;
    to->sum = next;
}

static int shares_for(const nadir_context *context, int64_t count, int64_t cost)
{
    const int shares = nadir_threads_for(context, count * cost);
    return shares < SHARES ? shares : SHARES;
}

static int64_t share_start(int64_t count, int share, int shares)
{
    return count / shares * share + count % shares * share / shares;
}

/* The sums over [first, end). */
static void sum_share(nadir_sum_terms *terms, void *data, int64_t first, int64_t end, int kinds, pair *part)
{
    pair made[NADIR_SUMS_LIMIT] = {{0}};
    for (int64_t i = first; i < end; i += BLOCK) {
        double sums[NADIR_SUMS_LIMIT] = {0};
        terms(data, i, i + BLOCK < end ? i + BLOCK : end, sums);
        for (int kind = 0; kind < kinds; kind++) {
            add(&made[kind], sums[kind]);
        }
    }
    for (int kind = 0; kind < kinds; kind++) {
        part[kind] = made[kind];
    }
}

nadir_status nadir_sums(nadir_context *context, int64_t count, int64_t cost, nadir_sum_terms *terms,
                        void *data, int kinds, double *totals)
{
    const nadir_communication *table = context->communication;
    const int shares = shares_for(context, count, cost);
    pair parts[SHARES][NADIR_SUMS_LIMIT];
    if (shares == 1) { /* a parallel region of one thread still costs system calls */
        sum_share(terms, data, 0, count, kinds, parts[0]);
    } else {
#pragma omp parallel for num_threads(shares) schedule(static, 1)
        for (int share = 0; share < shares; share++) {
            sum_share(terms, data, share_start(count, share, shares), share_start(count, share + 1, shares),
                      kinds, parts[share]);
        }
    }
    double halves[2 * NADIR_SUMS_LIMIT]; /* what was lost travels on its own */
    for (int kind = 0; kind < kinds; kind++) {
        pair joined = {0};
        for (int share = 0; share < shares; share++) {
            add(&joined, parts[share][kind].sum);
            joined.lost += parts[share][kind].lost;
        }
        halves[2 * kind] = joined.sum;
        halves[2 * kind + 1] = joined.lost;
    }
    const nadir_status status = table->sum(table->self, context, (int64_t)2 * kinds, halves);
    for (int kind = 0; kind < kinds; kind++) {
        totals[kind] = halves[2 * kind] + halves[2 * kind + 1];
    }
    return status;
}

static double join(const nadir_context *context, nadir_reduction operation, double own)
{
    const nadir_communication *table = context->communication;
    if (table->members > 1) {
        table->reduce_few(table->self, 1, &operation, &own);
    }
    return own;
}

double nadir_allreduce_sum(const nadir_context *context, double own)
{
    return join(context, NADIR_REDUCE_SUM, own);
}

double nadir_allreduce_maximum(const nadir_context *context, double own)
{
    return join(context, NADIR_REDUCE_MAXIMUM, own);
}

double nadir_allreduce_minimum(const nadir_context *context, double own)
{
    return join(context, NADIR_REDUCE_MINIMUM, own);
}

bool nadir_allreduce_and(const nadir_context *context, bool own)
{
    return join(context, NADIR_REDUCE_MINIMUM, own ? 1 : 0) != 0;
}

int64_t nadir_global_count(const nadir_context *context, int64_t count)
{
    return context->communication->members > 1 ? (int64_t)nadir_allreduce_sum(context, (double)count) : count;
}

int64_t nadir_global_first(const nadir_context *context, int64_t count)
{
    const nadir_communication *table = context->communication;
    double before[1] = {(double)count};
    nadir_context unused = {0}; /* a scan of one number asks for no memory */
    (void)table->scan(table->self, &unused, 1, before);
    return (int64_t)before[0];
}

double nadir_global_sum(const nadir_context *context, int64_t count, const double *x)
{
    return nadir_allreduce_sum(context, nadir_vector_sum(count, x));
}

double nadir_global_largest(const nadir_context *context, int64_t count, const double *x)
{
    return nadir_allreduce_maximum(context, nadir_vector_largest(count, x));
}

double nadir_global_norm_1(const nadir_context *context, int64_t count, const double *x)
{
    return nadir_allreduce_sum(context, nadir_vector_norm_1(count, x));
}

double nadir_global_dot(const nadir_context *context, int64_t count, const double *x, const double *y,
                        double *error)
{
    const nadir_communication *table = context->communication;
    const nadir_reduction sums[] = {NADIR_REDUCE_SUM, NADIR_REDUCE_SUM, NADIR_REDUCE_SUM};
    double parts[3]; /* the product, its error, its size */
    parts[0] = nadir_vector_dot(count, x, y, &parts[1]);
    parts[2] = fabs(parts[0]);
    *error = parts[1];
    if (table->members > 1) {
        table->reduce_few(table->self, 3, sums, parts);
        *error = (parts[1] + (double)table->members * NADIR_ROUND_UNIT * parts[2]) * (1 + 4 * DBL_EPSILON);
    }
    return parts[0];
}

/* {largest, minus smallest} of [first, end); infinity marks the first entry that is not finite. */
static void find_in_share(const double *x, int64_t first, int64_t end, nadir_indexed part[2])
{
    nadir_indexed found[2] = {{-INFINITY, 0}, {-INFINITY, 0}};
    for (int64_t i = first; i < end; i++) {
        if (!isfinite(x[i])) {
            part[0] = (nadir_indexed){INFINITY, i};
            part[1] = found[1];
            return;
        }
        if (x[i] > found[0].value) {
            found[0] = (nadir_indexed){x[i], i};
        }
        if (-x[i] > found[1].value) {
            found[1] = (nadir_indexed){-x[i], i};
        }
    }
    part[0] = found[0];
    part[1] = found[1];
}

nadir_status nadir_extremes_find(nadir_context *context, int64_t first, int64_t count, const double *x,
                                 nadir_extremes *extremes)
{
    const nadir_communication *table = context->communication;
    const nadir_indexed none = {-INFINITY, 0};
    const int shares = shares_for(context, count, 1);
    nadir_indexed parts[SHARES][2];
    if (shares == 1) {
        find_in_share(x, 0, count, parts[0]);
    } else {
#pragma omp parallel for num_threads(shares) schedule(static, 1)
        for (int share = 0; share < shares; share++) {
            find_in_share(x, share_start(count, share, shares), share_start(count, share + 1, shares),
                          parts[share]);
        }
    }
    nadir_indexed ends[2] = {none, none};
    for (int share = 0; share < shares; share++) {
        for (int end = 0; end < 2; end++) {
            ends[end] = parts[share][end].value > ends[end].value ? parts[share][end] : ends[end];
        }
    }
    ends[0].place += first;
    ends[1].place += first;
    const nadir_status status = table->maximum(table->self, context, 2, ends);
    if (status == NADIR_OK && ends[0].value == INFINITY) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "entry %lld of a vector is not a finite number",
                          (long long)ends[0].place);
    }
    *extremes = (nadir_extremes){ends[0], {-ends[1].value, ends[1].place}};
    return status;
}

double nadir_extremes_size(const nadir_extremes *extremes)
{
    return fmax(0, fmax(extremes->largest.value, -extremes->smallest.value));
}

double nadir_scale_for(double size)
{
    enum { MOST = 1020 }; /* subnormal factors are slow, and their inverses overflow */
    int exponent;
    (void)frexp(size, &exponent);
    return ldexp(1, -exponent < -MOST ? -MOST : -exponent > MOST ? MOST : -exponent);
}

/* Vectors with entries of other processes. */

nadir_status nadir_exchange_create(nadir_context *context, int64_t first, int64_t count, int64_t ghosts,
                                   const int64_t *places, nadir_exchange **exchange)
{
    nadir_status status = NADIR_OK;
    const nadir_communication *table = context->communication;
    nadir_exchange *made = NULL;
    NADIR_NEW_ZERO(context, made, 1);
    made->memory = nadir_memory_retain(context->memory);
    made->table = table;
    made->first = first;
    made->count = count;
    made->ghosts = ghosts;
    NADIR_NEW(context, made->places, ghosts);
    if (ghosts > 0) {
        memcpy(made->places, places, (size_t)ghosts * sizeof *places);
    }
    NADIR_CHECK(table->plan(table->self, context, first, count, ghosts, places, &made->plan));
    if (table->buffer(table->self, made->plan) == NULL) {
        NADIR_NEW(context, made->buffer, count + ghosts);
    }
    made->total = nadir_global_count(context, count);
    made->whole = ghosts == made->total - count;
    *exchange = made;
    made = NULL;
cleanup:
    nadir_exchange_free(made);
    return status;
}

void nadir_exchange_free(nadir_exchange *exchange)
{
    if (exchange != NULL) {
        nadir_memory *memory = exchange->memory;
        exchange->table->release(exchange->table->self, exchange->plan);
        NADIR_MEMORY_RELEASE(memory, exchange->places, exchange->buffer, exchange);
        nadir_memory_free(memory);
    }
}

double *nadir_exchange_buffer(const nadir_exchange *exchange)
{
    return exchange->buffer != NULL ? exchange->buffer
                                    : exchange->table->buffer(exchange->table->self, exchange->plan);
}

const double *nadir_exchange_extend(const nadir_exchange *exchange, const double *x)
{
    if (exchange == NULL) {
        return x;
    }
    double *buffer = nadir_exchange_buffer(exchange);
    memcpy(buffer, x, (size_t)exchange->count * sizeof *x);
    nadir_exchange_fill(exchange, buffer);
    return buffer;
}

int nadir_exchange_pieces(const nadir_exchange *exchange, const double *x,
                          nadir_exchange_piece pieces[NADIR_EXCHANGE_PIECES])
{
    const nadir_communication *table = exchange->table;
    const int64_t first = exchange->first;
    const int64_t end = first + exchange->count;
    const double *all = exchange->whole ? table->publish(table->self, exchange->plan, x) : NULL;
    pieces[0] = (nadir_exchange_piece){exchange->count, x};
    if (all != NULL) {
        pieces[1] = (nadir_exchange_piece){first, all};
        pieces[2] = (nadir_exchange_piece){exchange->total - end, all + end};
        return 3;
    }
    double *ghosts = nadir_exchange_buffer(exchange) + exchange->count;
    table->fetch(table->self, exchange->plan, x, ghosts);
    pieces[1] = (nadir_exchange_piece){exchange->ghosts, ghosts};
    return 2;
}

void nadir_exchange_fill(const nadir_exchange *exchange, double *x)
{
    if (exchange != NULL) {
        exchange->table->fetch(exchange->table->self, exchange->plan, x, x + exchange->count);
    }
}

int64_t nadir_exchange_column(const nadir_exchange *exchange, int64_t place)
{
    if (place >= exchange->first && place < exchange->first + exchange->count) {
        return place - exchange->first;
    }
    const int64_t i = nadir_find_place(exchange->ghosts, exchange->places, place);
    return i < exchange->ghosts && exchange->places[i] == place ? exchange->count + i : -1;
}

/*
 * many.h: the kernels of iterate_many.cu, steps of BiCGSTAB for many columns at once.
 *
 * Most go through vectors, the columns side by side in `blocks` blocks, and leave sums or maxima of each
 * block and column; those named end_ have one block for each column, collect what was left, and decide.
 */
#ifndef NADIR_ENGINES_CUDA_MANY_H
#define NADIR_ENGINES_CUDA_MANY_H

#include "parts.h"
#include "reduce.h"

enum { THREADS = CUDA_REDUCE_THREADS, PARTS = 4 };
#define GOAL_SHARE 0.7

/* Of a column, on the device. */
typedef struct column {
    double rho, alpha, omega, beta;
    double residual, b_norm, x_norm; /* the residual as the recurrence has it, later as it is */
    int64_t done;                    /* 1: the goal is reached, 2: the recurrence broke down */
} column;

/* Of all columns; vectors are [columns / beside][n][beside]. */
typedef struct team {
    int64_t n;
    int beside;   /* columns side by side, 1 or 2; neighbouring threads have one each */
    bool maximum; /* which norm */
    double wanted, relative, least;
    int blocks; /* of columns side by side */
    double *b, *x, *r, *e, *r0, *p, *v, *t;
    double *partials; /* [columns * PARTS * blocks] */
    column *columns;
} team;

#define EACH(i, at)                                                                                          \
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;                                                 \
    i < (at).n *(at).beside;                                                                                 \
    i += (int64_t)(at).blocks * THREADS

/* The column of this thread, in kernels of `blocks` blocks for columns side by side. */
static __device__ int64_t column_here(const team *at)
{
    return (int64_t)blockIdx.y * at->beside + threadIdx.x % at->beside;
}

static __device__ bool is_done(const team *at)
{
    return at->columns[column_here(at)].done != 0;
}

/* Of all threads that have the column. */
static __device__ void leave(const team *at, int part, bool maximum, double mine)
{
    const double value = cuda_over_block(maximum, mine, at->beside);
    if ((int)threadIdx.x < at->beside) {
        at->partials[(column_here(at) * PARTS + part) * at->blocks + blockIdx.x] = value;
    }
}

/* The column of this block, in kernels of one block for each. */
static __device__ double collect(const team *at, int part, bool maximum)
{
    return cuda_over_blocks(maximum, at->blocks,
                            at->partials + ((int64_t)blockIdx.x * PARTS + part) * at->blocks);
}

static __device__ double goal_of(const team *at, double b_norm, double x_norm)
{
    const double least = at->least * (b_norm + 2 * x_norm);
    const double wanted = at->wanted > 0 ? at->wanted : at->relative * x_norm;
    return wanted > least || at->wanted > 0 ? wanted : least;
}

/* r holds A x. r <- b - r, and all of a run's vectors from it. */
static __global__ void start_run(const team at)
{
    const int64_t first = (int64_t)blockIdx.y * at.beside * at.n;
    double square = 0;
    double norms[3] = {0, 0, 0};
    for (EACH(i, at)) {
        const double b = at.b[first + i];
        const double r = b - at.r[first + i];
        at.r[first + i] = r;
        at.r0[first + i] = r;
        at.p[first + i] = r;
        at.e[first + i] = 0;
        square += r * r;
        norms[0] = cuda_join(at.maximum, norms[0], fabs(r));
        norms[1] = cuda_join(at.maximum, norms[1], fabs(b));
        norms[2] = cuda_join(at.maximum, norms[2], fabs(at.x[first + i]));
    }
    leave(&at, 0, false, square);
    for (int k = 0; k < 3; k++) {
        leave(&at, 1 + k, at.maximum, norms[k]);
    }
}

/* The same numbers; at the end of a run only norms are taken from it. */
static __global__ void end_start(const team at, bool ended)
{
    const double rho = collect(&at, 0, false);
    const double residual = collect(&at, 1, at.maximum);
    const double b_norm = collect(&at, 2, at.maximum);
    const double x_norm = collect(&at, 3, at.maximum);
    if (threadIdx.x == 0) {
        column *of = at.columns + blockIdx.x;
        of->rho = rho;
        of->residual = residual;
        of->b_norm = b_norm;
        of->x_norm = x_norm;
        of->alpha = 0;
        of->omega = 0;
        of->beta = 0;
        if (!ended) {
            of->done = residual <= goal_of(&at, b_norm, x_norm) ? 1 : !isfinite(rho) || rho == 0 ? 2 : 0;
        }
    }
}

/* r0.v */
static __global__ void take_first(const team at)
{
    const int64_t first = (int64_t)blockIdx.y * at.beside * at.n;
    double dot = 0;
    if (__syncthreads_and(is_done(&at))) {
        return;
    }
    for (EACH(i, at)) {
        dot += at.r0[first + i] * at.v[first + i];
    }
    leave(&at, 0, false, dot);
}

/* alpha = rho / r0.v */
static __global__ void end_first(const team at)
{
    column *of = at.columns + blockIdx.x;
    if (of->done != 0) {
        return;
    }
    const double dot = collect(&at, 0, false);
    if (threadIdx.x == 0) {
        of->alpha = of->rho / dot;
        of->done = isfinite(of->alpha) ? 0 : 2;
    }
}

/* r <- s = r - alpha v */
static __global__ void take_half(const team at)
{
    const int64_t first = (int64_t)blockIdx.y * at.beside * at.n;
    const column *of = at.columns + column_here(&at);
    if (of->done != 0) {
        return;
    }
    const double alpha = of->alpha;
    for (EACH(i, at)) {
        at.r[first + i] -= alpha * at.v[first + i];
    }
}

/* t.s and t.t */
static __global__ void take_second(const team at)
{
    const int64_t first = (int64_t)blockIdx.y * at.beside * at.n;
    double dot = 0;
    double square = 0;
    if (__syncthreads_and(is_done(&at))) {
        return;
    }
    for (EACH(i, at)) {
        const double t = at.t[first + i];
        dot += t * at.r[first + i];
        square += t * t;
    }
    leave(&at, 0, false, dot);
    leave(&at, 1, false, square);
}

/* omega = t.s / t.t */
static __global__ void end_second(const team at)
{
    column *of = at.columns + blockIdx.x;
    if (of->done != 0) {
        return;
    }
    const double dot = collect(&at, 0, false);
    const double square = collect(&at, 1, false);
    if (threadIdx.x == 0) {
        of->omega = square > 0 ? dot / square : 0;
        of->done = isfinite(of->omega) ? 0 : 2;
    }
}

/* e <- e + alpha p + omega s, r <- s - omega t; r0.r, |r| and |x + e| */
static __global__ void take_step(const team at)
{
    const int64_t first = (int64_t)blockIdx.y * at.beside * at.n;
    const column *of = at.columns + column_here(&at);
    double dot = 0;
    double norm = 0;
    double size = 0;
    if (__syncthreads_and(is_done(&at))) {
        return;
    }
    const double alpha = of->alpha;
    const double omega = of->omega;
    for (EACH(i, at)) {
        if (of->done != 0) { /* the column beside it is not */
            break;
        }
        const double s = at.r[first + i];
        const double next = s - omega * at.t[first + i];
        const double e = at.e[first + i] + alpha * at.p[first + i] + omega * s;
        at.e[first + i] = e;
        at.r[first + i] = next;
        dot += at.r0[first + i] * next;
        norm = cuda_join(at.maximum, norm, fabs(next));
        size = cuda_join(at.maximum, size, fabs(at.x[first + i] + e));
    }
    leave(&at, 0, false, dot);
    leave(&at, 1, at.maximum, norm);
    leave(&at, 2, at.maximum, size);
}

static __global__ void end_step(const team at)
{
    column *of = at.columns + blockIdx.x;
    if (of->done != 0) {
        return;
    }
    const double rho = collect(&at, 0, false);
    const double norm = collect(&at, 1, at.maximum);
    const double size = collect(&at, 2, at.maximum);
    if (threadIdx.x == 0) {
        of->beta = rho / of->rho * (of->alpha / of->omega);
        of->rho = rho;
        of->residual = norm;
        of->done = norm <= GOAL_SHARE * goal_of(&at, of->b_norm, size)  ? 1
                   : !isfinite(of->beta) || !isfinite(norm) || rho == 0 ? 2
                                                                        : 0;
    }
}

/* p <- r + beta (p - omega v) */
static __global__ void turn(const team at)
{
    const int64_t first = (int64_t)blockIdx.y * at.beside * at.n;
    const column *of = at.columns + column_here(&at);
    if (of->done != 0) {
        return;
    }
    const double beta = of->beta;
    const double omega = of->omega;
    for (EACH(i, at)) {
        at.p[first + i] = at.r[first + i] + beta * (at.p[first + i] - omega * at.v[first + i]);
    }
}

/* x <- x + e */
static __global__ void take_all(const team at)
{
    const int64_t first = (int64_t)blockIdx.y * at.beside * at.n;
    for (EACH(i, at)) {
        at.x[first + i] += at.e[first + i];
    }
}

/* Columns one after another, `apart`, and side by side: the latter from the former, or the other way. */
static __global__ void lay(const team at, bool back, double *apart, double *side)
{
    const int64_t first = (int64_t)blockIdx.y * at.beside * at.n;
    for (EACH(i, at)) {
        double *one = apart + first + i % at.beside * at.n + i / at.beside;
        *(back ? one : side + first + i) = *(back ? side + first + i : one);
    }
}

#endif

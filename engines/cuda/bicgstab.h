/*
 * bicgstab.h: the kernels of bicgstab.cu: steps of BiCGSTAB for one or many columns at once.
 *
 * Most go through vectors, the columns side by side in `blocks` blocks, and leave sums or maxima of each
 * block and column; those named end_ have one block for each column, collect what was left, and decide.
 */
#ifndef NADIR_ENGINES_CUDA_BICGSTAB_H
#define NADIR_ENGINES_CUDA_BICGSTAB_H

#include "engine.h"
#include "reduce.h"

#define NADIR_FORMULA static __host__ __device__ inline
#include "linalg/formulas.h"

enum { THREADS = CUDA_REDUCE_THREADS, PARTS = 4 };

/* Why a column takes no more steps. */
enum { RUNNING, CONVERGED, BROKEN_DOWN };

/* Of a column, on the device. */
typedef struct column {
    double square; /* r.r */
    double rho, alpha, omega, beta;
    double residual, b_norm, x_norm; /* the residual of the recurrence, in the end that of x */
    int64_t done;
} column;

/* Of all columns; vectors are [columns / beside][n][beside]. */
typedef struct krylov_space {
    int64_t n;
    int beside;   /* columns side by side, 1 or 2; neighbouring threads have one each */
    bool maximum; /* which norm */
    double wanted, relative, least, rounding; /* as in nadir_device_system */
    int blocks;                               /* of columns side by side */
    double *b, *x, *r, *e, *shadow, *p, *v, *t;
    double *partials; /* [columns * PARTS * blocks] */
    column *columns;
} krylov_space;

/* Every entry of this block's columns that is the thread's. */
#define FOR_ENTRIES(i, in)                                                                                   \
    for (int64_t                                                                                             \
             i = (int64_t)blockIdx.y * (in).beside * (in).n + (int64_t)blockIdx.x * THREADS + threadIdx.x,   \
             end_of_##i = (int64_t)(blockIdx.y + 1) * (in).beside * (in).n;                                  \
         i < end_of_##i; i += (int64_t)(in).blocks * THREADS)

/* The column of this thread, in kernels of `blocks` blocks for columns side by side. */
static __device__ column *column_here(const krylov_space *in)
{
    return in->columns + ((int64_t)blockIdx.y * in->beside + threadIdx.x % in->beside);
}

/* Whether no thread of the block has a column that goes on. */
static __device__ bool all_done(const krylov_space *in)
{
    return __syncthreads_and(column_here(in)->done != RUNNING);
}

/* Of all threads that have the column. */
static __device__ void leave(const krylov_space *in, int part, bool maximum, double mine)
{
    const double value = cuda_over_block(maximum, mine, in->beside);
    if ((int)threadIdx.x < in->beside) {
        in->partials[((column_here(in) - in->columns) * PARTS + part) * in->blocks + blockIdx.x] = value;
    }
}

/* The column of this block, in kernels of one block for each. */
static __device__ double collect(const krylov_space *in, int part, bool maximum)
{
    return cuda_over_blocks(maximum, in->blocks,
                            in->partials + ((int64_t)blockIdx.x * PARTS + part) * in->blocks);
}

/* The residual that is wanted. */
static __host__ __device__ inline double goal_of(const krylov_space *in, double b_norm, double x_norm)
{
    const double least = in->least * (b_norm + 2 * x_norm);
    const double wanted = in->relative * x_norm;
    return in->wanted > 0 ? in->wanted : wanted > least ? wanted : least;
}

/* The same, but not so small that a residual could not tell it from zero: a run towards it would not end. */
static __host__ __device__ inline double sensible_goal(const krylov_space *in, double b_norm, double x_norm)
{
    const double least = NADIR_KRYLOV_LEAST_SHARE * in->rounding * (b_norm + 2 * x_norm);
    const double goal = goal_of(in, b_norm, x_norm);
    return goal > least ? goal : least;
}

/* r holds A x: r <- b - r; r.r, |r|, |b| and |x| */
static __global__ void take_residual(const krylov_space in)
{
    double square = 0;
    double norms[3] = {0, 0, 0};
    FOR_ENTRIES(i, in)
    {
        const double r = in.b[i] - in.r[i];
        in.r[i] = r;
        square += r * r;
        norms[0] = cuda_join(in.maximum, norms[0], fabs(r));
        norms[1] = cuda_join(in.maximum, norms[1], fabs(in.b[i]));
        norms[2] = cuda_join(in.maximum, norms[2], fabs(in.x[i]));
    }
    leave(&in, 0, false, square);
    for (int k = 0; k < 3; k++) {
        leave(&in, 1 + k, in.maximum, norms[k]);
    }
}

static __global__ void end_residual(const krylov_space in)
{
    const double square = collect(&in, 0, false);
    const double residual = collect(&in, 1, in.maximum);
    const double b_norm = collect(&in, 2, in.maximum);
    const double x_norm = collect(&in, 3, in.maximum);
    if (threadIdx.x == 0) {
        const bool done = residual <= goal_of(&in, b_norm, x_norm);
        in.columns[blockIdx.x] = {square, 0, 0, 0, 0, residual, b_norm, x_norm, done ? CONVERGED : RUNNING};
    }
}

/* p <- r, e <- 0, shadow <- r + noise; shadow.r */
static __global__ void take_shadow(const krylov_space in)
{
    const double size = sqrt(column_here(&in)->square / (double)in.n);
    const int64_t first = (int64_t)blockIdx.y * in.beside * in.n;
    double rho = 0;
    FOR_ENTRIES(i, in)
    {
        const double r = in.r[i];
        const double shadow = r + size * nadir_shadow_noise((i - first) / in.beside);
        in.shadow[i] = shadow;
        in.p[i] = r;
        in.e[i] = 0;
        rho += shadow * r;
    }
    leave(&in, 0, false, rho);
}

static __global__ void end_shadow(const krylov_space in)
{
    const double rho = collect(&in, 0, false);
    column *own = in.columns + blockIdx.x;
    if (threadIdx.x == 0 && own->done == RUNNING) {
        own->rho = rho;
        own->done = isfinite(rho) && rho != 0 ? RUNNING : BROKEN_DOWN;
    }
}

/* shadow.v */
static __global__ void take_alpha(const krylov_space in)
{
    double dot = 0;
    if (all_done(&in)) {
        return;
    }
    FOR_ENTRIES(i, in)
    {
        dot += in.shadow[i] * in.v[i];
    }
    leave(&in, 0, false, dot);
}

/* alpha = rho / shadow.v */
static __global__ void end_alpha(const krylov_space in)
{
    column *own = in.columns + blockIdx.x;
    if (own->done != RUNNING) {
        return;
    }
    const double dot = collect(&in, 0, false);
    if (threadIdx.x == 0) {
        own->alpha = own->rho / dot;
        own->done = isfinite(own->alpha) ? RUNNING : BROKEN_DOWN;
    }
}

/* r <- s = r - alpha v */
static __global__ void take_half(const krylov_space in)
{
    const column *own = column_here(&in);
    if (own->done != RUNNING) {
        return;
    }
    const double alpha = own->alpha;
    FOR_ENTRIES(i, in)
    {
        in.r[i] -= alpha * in.v[i];
    }
}

/* t.s, t.t and s.s */
static __global__ void take_omega(const krylov_space in)
{
    double sums[3] = {0, 0, 0};
    if (all_done(&in)) {
        return;
    }
    FOR_ENTRIES(i, in)
    {
        const double t = in.t[i];
        const double s = in.r[i];
        sums[0] += t * s;
        sums[1] += t * t;
        sums[2] += s * s;
    }
    for (int k = 0; k < 3; k++) {
        leave(&in, k, false, sums[k]);
    }
}

static __global__ void end_omega(const krylov_space in)
{
    column *own = in.columns + blockIdx.x;
    if (own->done != RUNNING) {
        return;
    }
    const double ts = collect(&in, 0, false);
    const double tt = collect(&in, 1, false);
    const double ss = collect(&in, 2, false);
    if (threadIdx.x == 0) {
        own->omega = nadir_bicgstab_omega(ts, tt, ss);
        own->done = isfinite(own->omega) ? RUNNING : BROKEN_DOWN;
    }
}

/* e <- e + alpha p + omega s, r <- s - omega t; shadow.r, |r| and |x + e| */
static __global__ void take_step(const krylov_space in)
{
    const column *own = column_here(&in);
    double dot = 0;
    double norm = 0;
    double size = 0;
    if (all_done(&in)) {
        return;
    }
    FOR_ENTRIES(i, in)
    {
        if (own->done != RUNNING) { /* the column beside it is not done */
            break;
        }
        const double s = in.r[i];
        const double next = s - own->omega * in.t[i];
        const double e = in.e[i] + own->alpha * in.p[i] + own->omega * s;
        in.e[i] = e;
        in.r[i] = next;
        dot += in.shadow[i] * next;
        norm = cuda_join(in.maximum, norm, fabs(next));
        size = cuda_join(in.maximum, size, fabs(in.x[i] + e));
    }
    leave(&in, 0, false, dot);
    leave(&in, 1, in.maximum, norm);
    leave(&in, 2, in.maximum, size);
}

static __global__ void end_step(const krylov_space in)
{
    column *own = in.columns + blockIdx.x;
    if (own->done != RUNNING) {
        return;
    }
    const double rho = collect(&in, 0, false);
    const double norm = collect(&in, 1, in.maximum);
    const double size = collect(&in, 2, in.maximum);
    if (threadIdx.x == 0) {
        own->beta = rho / own->rho * (own->alpha / own->omega);
        own->rho = rho;
        own->residual = norm;
        own->done = norm <= NADIR_KRYLOV_GOAL_SHARE * sensible_goal(&in, own->b_norm, size) ? CONVERGED
                    : !isfinite(own->beta) || !isfinite(norm) || rho == 0                   ? BROKEN_DOWN
                                                                                            : RUNNING;
    }
}

/* p <- r + beta (p - omega v) */
static __global__ void take_direction(const krylov_space in)
{
    const column *own = column_here(&in);
    if (own->done != RUNNING) {
        return;
    }
    const double beta = own->beta;
    const double omega = own->omega;
    FOR_ENTRIES(i, in)
    {
        in.p[i] = in.r[i] + beta * (in.p[i] - omega * in.v[i]);
    }
}

/* y <- y + x */
static __global__ void add(const krylov_space in, const double *x, double *y)
{
    FOR_ENTRIES(i, in)
    {
        y[i] += x[i];
    }
}

/* Columns one after another, `apart`, and side by side: the latter from the former, or the other way. */
static __global__ void interleave(const krylov_space in, bool back, double *apart, double *side)
{
    const int64_t first = (int64_t)blockIdx.y * in.beside * in.n;
    FOR_ENTRIES(i, in)
    {
        double *one = apart + first + (i - first) % in.beside * in.n + (i - first) / in.beside;
        *(back ? one : side + i) = *(back ? side + i : one);
    }
}

#endif

/*
 * iterate_many.cu: A x = b or A^T x = b for many b at once, A = I - gamma M, by BiCGSTAB on the device.
 *
 * Every column has a run of its own, as in iterate.cu, with scalars of its own on the device; they take their
 * steps together, so that M is read once for all of them. A column that is done stays as it is. What two runs
 * do not bring to an end is left to iterate.cu, with what was found as the guess. Since |x| says what is
 * wanted, it is computed with every step.
 */
#include "parts.h"
#include "reduce.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

enum {
    THREADS = CUDA_REDUCE_THREADS,
    MOST_BLOCKS = 256,
    MOST_COLUMNS = 256,
    VECTORS = 8,
    PARTS = 4,
    ROUNDS = 2
};
#define GOAL_SHARE     0.7
#define MOST_PRODUCTS  100000
#define LEAST_PRODUCTS 40
/* Numbers of vectors that are on the device at once, about. */
#define ROOM ((int64_t)1 << 27)

/* Of a column, on the device. */
typedef struct column {
    double rho, alpha, omega, beta;
    double residual, b_norm, x_norm; /* the residual as the recurrence has it, later as it is */
    int64_t done;                    /* 1: the goal is reached, 2: the recurrence broke down */
} column;

/* Of all columns; vectors are [columns * n]. */
typedef struct team {
    int64_t n;
    bool maximum; /* which norm */
    double wanted, relative, least;
    int blocks; /* of each column */
    double *b, *x, *r, *e, *r0, *p, *v, *t;
    double *partials; /* [columns * PARTS * blocks] */
    column *columns;
} team;

#define EACH(i, at)                                                                                          \
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;                                                 \
    i < (at).n;                                                                                              \
    i += (int64_t)(at).blocks * THREADS

static __device__ void leave(const team *at, int part, double value)
{
    if (threadIdx.x == 0) {
        at->partials[((int64_t)blockIdx.y * PARTS + part) * at->blocks + blockIdx.x] = value;
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
    const int64_t first = (int64_t)blockIdx.y * at.n;
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
    leave(&at, 0, cuda_over_block(false, square));
    for (int k = 0; k < 3; k++) {
        leave(&at, 1 + k, cuda_over_block(at.maximum, norms[k]));
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
    const int64_t first = (int64_t)blockIdx.y * at.n;
    double dot = 0;
    if (at.columns[blockIdx.y].done != 0) {
        return;
    }
    for (EACH(i, at)) {
        dot += at.r0[first + i] * at.v[first + i];
    }
    leave(&at, 0, cuda_over_block(false, dot));
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
    const int64_t first = (int64_t)blockIdx.y * at.n;
    const column *of = at.columns + blockIdx.y;
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
    const int64_t first = (int64_t)blockIdx.y * at.n;
    double dot = 0;
    double square = 0;
    if (at.columns[blockIdx.y].done != 0) {
        return;
    }
    for (EACH(i, at)) {
        const double t = at.t[first + i];
        dot += t * at.r[first + i];
        square += t * t;
    }
    leave(&at, 0, cuda_over_block(false, dot));
    leave(&at, 1, cuda_over_block(false, square));
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
    const int64_t first = (int64_t)blockIdx.y * at.n;
    const column *of = at.columns + blockIdx.y;
    double dot = 0;
    double norm = 0;
    double size = 0;
    if (of->done != 0) {
        return;
    }
    const double alpha = of->alpha;
    const double omega = of->omega;
    for (EACH(i, at)) {
        const double s = at.r[first + i];
        const double next = s - omega * at.t[first + i];
        const double e = at.e[first + i] + alpha * at.p[first + i] + omega * s;
        at.e[first + i] = e;
        at.r[first + i] = next;
        dot += at.r0[first + i] * next;
        norm = cuda_join(at.maximum, norm, fabs(next));
        size = cuda_join(at.maximum, size, fabs(at.x[first + i] + e));
    }
    leave(&at, 0, cuda_over_block(false, dot));
    leave(&at, 1, cuda_over_block(at.maximum, norm));
    leave(&at, 2, cuda_over_block(at.maximum, size));
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
    const int64_t first = (int64_t)blockIdx.y * at.n;
    const column *of = at.columns + blockIdx.y;
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
    const int64_t first = (int64_t)blockIdx.y * at.n;
    for (EACH(i, at)) {
        at.x[first + i] += at.e[first + i];
    }
}

/* A run on its way. */
typedef struct course {
    nadir_context *context;
    cuda_matrix *matrix;
    const nadir_device_system *system;
    team at;
    int64_t count;
    int64_t products;
    column *seen; /* [count] here */
} course;

static nadir_status apply(course *of, const double *x, double *y)
{
    of->products++;
    return cuda_apply(of->matrix, of->context, of->system->transposed, of->count, 1, -of->system->gamma, x,
                      y);
}

static nadir_status send_step(course *of)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = of->matrix->of.engine;
    const dim3 all((unsigned)of->at.blocks, (unsigned)of->count);
    const unsigned one = (unsigned)of->count;
    CUDA_CHECK(apply(of, of->at.p, of->at.v));
    take_first<<<all, THREADS>>>(of->at);
    end_first<<<one, THREADS>>>(of->at);
    take_half<<<all, THREADS>>>(of->at);
    CUDA_CHECK(apply(of, of->at.r, of->at.t));
    take_second<<<all, THREADS>>>(of->at);
    end_second<<<one, THREADS>>>(of->at);
    take_step<<<all, THREADS>>>(of->at);
    end_step<<<one, THREADS>>>(of->at);
    turn<<<all, THREADS>>>(of->at);
    CUDA_LAUNCHED(engine, of->context);
cleanup:
    return status;
}

/* r <- b - A x with its norms; the start of a run, or its end. */
static nadir_status measure(course *of, bool ended)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = of->matrix->of.engine;
    const dim3 all((unsigned)of->at.blocks, (unsigned)of->count);
    CUDA_CHECK(apply(of, of->at.x, of->at.r));
    start_run<<<all, THREADS>>>(of->at);
    end_start<<<(unsigned)of->count, THREADS>>>(of->at, ended);
    CUDA_LAUNCHED(engine, of->context);
    CUDA_TRY(
        engine, of->context,
        cudaMemcpy(of->seen, of->at.columns, (size_t)of->count * sizeof *of->seen, cudaMemcpyDeviceToHost));
cleanup:
    return status;
}

static bool are_done(const course *of)
{
    int64_t j = 0;
    while (j < of->count && of->seen[j].done != 0) {
        j++;
    }
    return j == of->count;
}

/* Products after which the run ends in any case: as many as the contraction would need, about. */
static int64_t products_allowed(const nadir_device_system *system)
{
    const double tight = system->residual > 0 ? 1e-16 : system->relative > 1e-16 ? system->relative : 1e-16;
    const double needed = system->rate < 1 ? log(tight) / log(system->rate) : MOST_PRODUCTS;
    const int64_t some = needed < LEAST_PRODUCTS  ? LEAST_PRODUCTS
                         : needed < MOST_PRODUCTS ? (int64_t)needed
                                                  : MOST_PRODUCTS;
    return system->limit > 0 && system->limit < some ? system->limit : some;
}

/* Steps until all columns are done. */
static nadir_status step(course *of, int64_t limit)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = of->matrix->of.engine;
    const dim3 all((unsigned)of->at.blocks, (unsigned)of->count);
    while (!are_done(of) && of->products < limit) {
        CUDA_CHECK(send_step(of));
        CUDA_TRY(engine, of->context,
                 cudaMemcpy(of->seen, of->at.columns, (size_t)of->count * sizeof *of->seen,
                            cudaMemcpyDeviceToHost));
        CUDA_CHECK(engine->host->progress(of->context, CUDA_TASK, -1));
    }
    take_all<<<all, THREADS>>>(of->at);
    CUDA_LAUNCHED(engine, of->context);
cleanup:
    return status;
}

/* Runs, each on the residual that the last one left; ends with the norms as they are. */
static nadir_status run(course *of)
{
    nadir_status status = NADIR_OK;
    const int64_t limit = products_allowed(of->system);
    for (int round = 0; round <= ROUNDS; round++) {
        CUDA_CHECK(measure(of, round == ROUNDS));
        if (round == ROUNDS || are_done(of) || of->products >= limit) {
            break;
        }
        CUDA_CHECK(step(of, limit));
    }
cleanup:
    return status;
}

/* Places of the vectors of `count` columns in the engine's room. */
static void place(course *of, int64_t count, double *room)
{
    team *at = &of->at;
    double **const vectors[VECTORS] = {&at->b, &at->x, &at->r, &at->e, &at->r0, &at->p, &at->v, &at->t};
    for (int i = 0; i < VECTORS; i++) {
        *vectors[i] = room + i * count * at->n;
    }
    at->partials = room + VECTORS * count * at->n;
    at->columns = (column *)(at->partials + count * PARTS * at->blocks);
    of->count = count;
}

static nadir_status go(course *of, const double *b, double *x, nadir_device_outcome *outcomes)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = of->matrix->of.engine;
    const size_t bytes = (size_t)(of->at.n * of->count) * sizeof *x;
    of->products = 0;
    CUDA_TRY(engine, of->context, cudaMemcpy(of->at.b, b, bytes, cudaMemcpyHostToDevice));
    CUDA_TRY(engine, of->context, cudaMemcpy(of->at.x, x, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(run(of));
    CUDA_TRY(engine, of->context, cudaMemcpy(x, of->at.x, bytes, cudaMemcpyDeviceToHost));
    for (int64_t j = 0; j < of->count; j++) {
        const column *found = of->seen + j;
        outcomes[j] = {found->b_norm, found->x_norm, found->residual, j == 0 ? of->products : 0};
    }
cleanup:
    return status;
}

nadir_status cuda_iterate_many(void *matrix, nadir_context *context, const nadir_device_system *system,
                               int64_t count, const double *b, double *x, nadir_device_outcome *outcomes)
{
    nadir_status status = NADIR_OK;
    column seen[MOST_COLUMNS];
    course of;
    memset(&of, 0, sizeof of);
    of.context = context;
    of.matrix = (cuda_matrix *)matrix;
    of.system = system;
    of.seen = seen;
    cuda_engine *engine = of.matrix->of.engine;
    const int64_t n = of.matrix->of.states;
    const int64_t fit = ROOM / (VECTORS * n) + 1;
    const int64_t most = fit < (int64_t)MOST_COLUMNS ? fit : (int64_t)MOST_COLUMNS;
    const int64_t some = count < most ? count : most;
    const int64_t blocks = (n + THREADS - 1) / THREADS;
    of.at.n = n;
    of.at.maximum = !system->transposed;
    of.at.wanted = system->residual;
    of.at.relative = system->relative;
    of.at.least = system->least;
    of.at.blocks = (int)(blocks < (int64_t)MOST_BLOCKS ? blocks : (int64_t)MOST_BLOCKS);
    const int64_t each = VECTORS * n + PARTS * of.at.blocks + (int64_t)(sizeof(column) / sizeof(double));
    static_assert(sizeof(column) % sizeof(double) == 0, "columns stand among numbers");
    CUDA_CHECK(cuda_reserve(engine, context, some * each));
    for (int64_t j = 0; j < count; j += some) {
        place(&of, count - j < some ? count - j : some, engine->vectors);
        CUDA_CHECK(go(&of, b + j * n, x + j * n, outcomes + j));
    }
cleanup:
    return status;
}

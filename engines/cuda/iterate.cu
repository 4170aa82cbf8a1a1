/*
 * iterate.cu: A x = b or A^T x = b, A = I - gamma M, by BiCGSTAB on the device.
 *
 * Rounds and what follows a round without headway are those of src/occupancy/krylov.c: a run on the residual,
 * taken when the residual computed anew is smaller than before, else a stretch of the contraction
 * x <- x + r. Within a step all numbers stay on the device: its scalars are made and used there. The host
 * reads after each step whether it was the last.
 */
#include "parts.h"
#include "place.h"
#include "reduce.h"

#include <cmath>
#include <cstring>

enum { THREADS = CUDA_REDUCE_THREADS, BLOCKS = 512 };
#define GOAL_SHARE     0.7
#define LEAST_SHARE    0.01
#define LEAST_PRODUCTS 40
#define MOST_PRODUCTS  100000
#define MOST_DOUBLINGS 30
/* More of the contraction is not worth waiting for. */
#define MOST_CONTRACTION 10000000
#define LAST_PRODUCTS    4
#define COARSE           1e-2 /* residual with which |x| is known well enough */

#define EACH(i, n)                                                                                           \
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;                                                 \
    i < (n);                                                                                                 \
    i += (int64_t)BLOCKS * THREADS

/* |x| */
static __global__ void take_norm(int64_t n, bool maximum, const double *x, double *partials)
{
    double norm = 0;
    for (EACH(i, n)) {
        norm = cuda_join(maximum, norm, fabs(x[i]));
    }
    norm = cuda_over_block(maximum, norm);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = norm;
    }
}

static __global__ void end_norm(bool maximum, double *partials)
{
    const double norm = cuda_over_blocks(maximum, BLOCKS, partials);
    if (threadIdx.x == 0) {
        partials[0] = norm;
    }
}

/* y <- x + a y */
static __global__ void add_to(int64_t n, const double *x, double a, double *y)
{
    for (EACH(i, n)) {
        y[i] = x[i] + a * y[i];
    }
}

/* r0 <- p <- r, e <- 0; r.r */
static __global__ void start_run(int64_t n, const double *r, double *r0, double *p, double *e,
                                 double *partials)
{
    double sum = 0;
    for (EACH(i, n)) {
        r0[i] = r[i];
        p[i] = r[i];
        e[i] = 0;
        sum += r[i] * r[i];
    }
    sum = cuda_over_block(false, sum);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
    }
}

static __global__ void end_start(double residual, double goal, const double *partials, cuda_scalars *of)
{
    const double rho = cuda_over_blocks(false, BLOCKS, partials);
    if (threadIdx.x == 0) {
        *of = {.rho = rho,
               .alpha = 0,
               .omega = 0,
               .beta = 0,
               .residual = residual,
               .goal = goal,
               .done = 0,
               .steps = 0};
        of->done = residual <= goal ? 1 : !isfinite(rho) || rho == 0 ? 2 : 0;
    }
}

/* x.y and, in the next partials, x.x */
static __global__ void take_dots(int64_t n, const double *x, const double *y, bool both, double *partials,
                                 const cuda_scalars *of)
{
    double dot = 0;
    double square = 0;
    if (of->done != 0) {
        return;
    }
    for (EACH(i, n)) {
        const double value = x[i];
        dot += value * y[i];
        square += value * value;
    }
    dot = cuda_over_block(false, dot);
    square = both ? cuda_over_block(false, square) : 0;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = dot;
        if (both) {
            partials[CUDA_PARTIALS + blockIdx.x] = square;
        }
    }
}

/* alpha = rho / r0.v */
static __global__ void end_alpha(const double *partials, cuda_scalars *of)
{
    if (of->done != 0) {
        return;
    }
    const double dot = cuda_over_blocks(false, BLOCKS, partials);
    if (threadIdx.x == 0) {
        of->alpha = of->rho / dot;
        of->done = isfinite(of->alpha) ? 0 : 2;
    }
}

/* r <- s = r - alpha v */
static __global__ void take_half(int64_t n, const double *v, double *r, const cuda_scalars *of)
{
    if (of->done != 0) {
        return;
    }
    const double alpha = of->alpha;
    for (EACH(i, n)) {
        r[i] -= alpha * v[i];
    }
}

/* omega = t.s / t.t */
static __global__ void end_omega(const double *partials, cuda_scalars *of)
{
    if (of->done != 0) {
        return;
    }
    const double dot = cuda_over_blocks(false, BLOCKS, partials);
    const double square = cuda_over_blocks(false, BLOCKS, partials + CUDA_PARTIALS);
    if (threadIdx.x == 0) {
        of->omega = square > 0 ? dot / square : 0;
        of->done = isfinite(of->omega) ? 0 : 2;
    }
}

/* e <- e + alpha p + omega s, r <- s - omega t; r0.r and |r| */
static __global__ void take_step(int64_t n, bool maximum, const double *p, const double *t, const double *r0,
                                 double *r, double *e, double *partials, const cuda_scalars *of)
{
    double dot = 0;
    double norm = 0;
    if (of->done != 0) {
        return;
    }
    const double alpha = of->alpha;
    const double omega = of->omega;
    for (EACH(i, n)) {
        const double s = r[i];
        const double next = s - omega * t[i];
        e[i] += alpha * p[i] + omega * s;
        r[i] = next;
        dot += r0[i] * next;
        norm = cuda_join(maximum, norm, fabs(next));
    }
    dot = cuda_over_block(false, dot);
    norm = cuda_over_block(maximum, norm);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = dot;
        partials[CUDA_PARTIALS + blockIdx.x] = norm;
    }
}

static __global__ void end_step(bool maximum, const double *partials, cuda_scalars *of)
{
    if (of->done != 0) {
        return;
    }
    const double rho = cuda_over_blocks(false, BLOCKS, partials);
    const double norm = cuda_over_blocks(maximum, BLOCKS, partials + CUDA_PARTIALS);
    if (threadIdx.x == 0) {
        of->beta = rho / of->rho * (of->alpha / of->omega);
        of->rho = rho;
        of->residual = norm;
        of->steps++;
        of->done = norm <= of->goal ? 1 : !isfinite(of->beta) || !isfinite(norm) || rho == 0 ? 2 : 0;
    }
}

/* p <- r + beta (p - omega v) */
static __global__ void turn(int64_t n, const double *r, const double *v, double *p, const cuda_scalars *of)
{
    if (of->done != 0) {
        return;
    }
    const double beta = of->beta;
    const double omega = of->omega;
    for (EACH(i, n)) {
        p[i] = r[i] + beta * (p[i] - omega * v[i]);
    }
}

/* A solve on its way. Vectors are on the device, [n] each. */
typedef struct solve {
    nadir_context *context;
    cuda_matrix *matrix;
    const nadir_device_system *system;
    int64_t n;
    double *b, *x, *r, *e, *r0, *p, *v, *t;
    double b_norm, residual;
    double goal; /* the residual wanted now */
    int64_t products;
    int64_t failures;
} solve;

enum { VECTORS = 8 };

static nadir_status norm_of(const solve *at, const double *x, double *norm)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = at->matrix->of.engine;
    const bool maximum = !at->system->transposed;
    take_norm<<<BLOCKS, THREADS>>>(at->n, maximum, x, engine->partials);
    end_norm<<<1, THREADS>>>(maximum, engine->partials);
    CUDA_LAUNCHED(engine, at->context);
    CUDA_TRY(engine, at->context, cudaMemcpy(norm, engine->partials, sizeof *norm, cudaMemcpyDeviceToHost));
cleanup:
    return status;
}

/* y <- A x */
static nadir_status apply(solve *at, const double *x, double *y)
{
    at->products++;
    return cuda_apply(at->matrix, at->context, at->system->transposed, 1, 1, -at->system->gamma, x, y);
}

/* r <- b - A x */
static nadir_status compute_residual(solve *at, const double *x, double *residual)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = at->matrix->of.engine;
    CUDA_CHECK(apply(at, x, at->r));
    add_to<<<BLOCKS, THREADS>>>(at->n, at->b, -1, at->r);
    CUDA_LAUNCHED(engine, at->context);
    CUDA_CHECK(norm_of(at, at->r, residual));
cleanup:
    return status;
}

static nadir_status rounding_level(const solve *at, double *level)
{
    double x = 0;
    const nadir_status status = norm_of(at, at->x, &x);
    *level = at->system->rounding * (at->b_norm + 2 * x);
    return status;
}

/* Sends one step on its way. */
static nadir_status send_step(solve *at, cuda_scalars *of)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = at->matrix->of.engine;
    const int64_t n = at->n;
    const bool maximum = !at->system->transposed;
    double *partials = engine->partials;
    CUDA_CHECK(apply(at, at->p, at->v));
    take_dots<<<BLOCKS, THREADS>>>(n, at->r0, at->v, false, partials, of);
    end_alpha<<<1, THREADS>>>(partials, of);
    take_half<<<BLOCKS, THREADS>>>(n, at->v, at->r, of);
    CUDA_CHECK(apply(at, at->r, at->t));
    take_dots<<<BLOCKS, THREADS>>>(n, at->t, at->r, true, partials, of);
    end_omega<<<1, THREADS>>>(partials, of);
    take_step<<<BLOCKS, THREADS>>>(n, maximum, at->p, at->t, at->r0, at->r, at->e, partials, of);
    end_step<<<1, THREADS>>>(maximum, partials, of);
    turn<<<BLOCKS, THREADS>>>(n, at->r, at->v, at->p, of);
    CUDA_LAUNCHED(engine, at->context);
cleanup:
    return status;
}

/* e <- about A^-1 r; r is lost. */
static nadir_status run(solve *at, double goal, int64_t limit)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = at->matrix->of.engine;
    /* the last partials are nobody else's */
    cuda_scalars *of = (cuda_scalars *)(engine->partials + (CUDA_SUMS - 1) * CUDA_PARTIALS);
    cuda_scalars seen;
    start_run<<<BLOCKS, THREADS>>>(at->n, at->r, at->r0, at->p, at->e, engine->partials);
    end_start<<<1, THREADS>>>(at->residual, goal, engine->partials, of);
    CUDA_LAUNCHED(engine, at->context);
    for (int64_t step = 0; 2 * step < limit; step++) {
        CUDA_CHECK(send_step(at, of));
        CUDA_TRY(engine, at->context, cudaMemcpy(&seen, of, sizeof seen, cudaMemcpyDeviceToHost));
        if (seen.done != 0) {
            break;
        }
        CUDA_CHECK(engine->host->progress(at->context, CUDA_TASK, -1));
    }
cleanup:
    return status;
}

static double sensible_goal(const solve *at, double level)
{
    const double least = LEAST_SHARE * level;
    return at->goal > least ? at->goal : least;
}

/* What the contraction needs from here. */
static int64_t contraction_products(const solve *at, double level)
{
    const double products = log(sensible_goal(at, level) / at->residual) / log(at->system->rate);
    return products < LEAST_PRODUCTS ? LEAST_PRODUCTS : products < 1e18 ? (int64_t)products : INT64_MAX;
}

static int64_t run_limit(const solve *at, double level)
{
    const int64_t products = at->system->rate < 1 ? contraction_products(at, level) : MOST_PRODUCTS;
    const int64_t most = at->system->limit > 0 ? at->system->limit - at->products : MOST_PRODUCTS;
    return products < most ? products : most;
}

/* Up to `products` steps x <- x + r. */
static nadir_status contract(solve *at, int64_t products, double level, bool *contracted)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = at->matrix->of.engine;
    const double start = at->residual;
    *contracted = true;
    for (int64_t done = 1; done <= products && *contracted && at->residual > at->goal; done++) {
        add_to<<<BLOCKS, THREADS>>>(at->n, at->r, 1, at->x);
        CUDA_LAUNCHED(engine, at->context);
        CUDA_CHECK(compute_residual(at, at->x, &at->residual));
        *contracted = at->residual <= start * pow(at->system->rate, (double)done / 2) + level;
        CUDA_CHECK(engine->host->progress(at->context, CUDA_TASK, -1));
    }
cleanup:
    return status;
}

/* No headway was made by `products`: contracts. *over: that is no use either. */
static nadir_status fall_back(solve *at, int64_t products, double level, bool *over)
{
    nadir_status status = NADIR_OK;
    const int64_t needed = at->system->rate < 1 ? contraction_products(at, level) : INT64_MAX;
    bool goes_on = needed <= MOST_CONTRACTION;
    if (goes_on) {
        const bool met_rounding = at->residual <= level;
        const int64_t doubled = (products > LEAST_PRODUCTS ? products : LEAST_PRODUCTS) << at->failures;
        at->failures += at->failures < MOST_DOUBLINGS;
        const int64_t useful = met_rounding ? LAST_PRODUCTS : doubled < needed ? doubled : needed;
        const int64_t most = at->system->limit > 0 ? at->system->limit - at->products : INT64_MAX;
        CUDA_CHECK(contract(at, useful < most ? useful : most, level, &goes_on));
        goes_on = goes_on && !met_rounding;
    }
    *over = !goes_on;
cleanup:
    return status;
}

/* One run on the residual, and the judgement. */
static nadir_status run_round(solve *at, bool *over)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = at->matrix->of.engine;
    const double before = at->residual;
    const int64_t products_before = at->products;
    const double rate = at->system->rate;
    double level = 0;
    double residual = 0;
    CUDA_CHECK(rounding_level(at, &level));
    CUDA_CHECK(run(at, GOAL_SHARE * sensible_goal(at, level), run_limit(at, level)));
    {
        const int64_t products = at->products - products_before;
        const double enough = rate < 1 ? pow(rate, (double)products / 2) : 0.5;
        /* e <- x + e, the trial */
        add_to<<<BLOCKS, THREADS>>>(at->n, at->x, 1, at->e);
        CUDA_LAUNCHED(engine, at->context);
        CUDA_CHECK(compute_residual(at, at->e, &residual));
        if (residual < before) {
            double *taken = at->e;
            at->e = at->x;
            at->x = taken;
            at->residual = residual;
        } else {
            CUDA_CHECK(compute_residual(at, at->x, &at->residual));
        }
        *over = at->residual <= at->goal;
        if (!*over && !(at->residual <= enough * before)) {
            CUDA_CHECK(fall_back(at, products, level, over));
        }
    }
cleanup:
    return status;
}

/* Whether x is a guess; one that lies on the device is not looked at. */
static bool is_guess(const solve *at, const double *x)
{
    int64_t i = 0;
    if (at->system->fresh || cuda_is_there(x)) {
        return !at->system->fresh;
    }
    while (i < at->n && x[i] == 0) {
        i++;
    }
    return i < at->n;
}

/* b and the guess, or zero where that is no worse. */
static nadir_status start(solve *at, const double *b, const double *x)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = at->matrix->of.engine;
    const size_t bytes = (size_t)at->n * sizeof(double);
    CUDA_TRY(engine, at->context, cudaMemcpy(at->b, b, bytes, cudaMemcpyDefault));
    CUDA_CHECK(norm_of(at, at->b, &at->b_norm));
    at->residual = INFINITY;
    if (is_guess(at, x)) {
        CUDA_TRY(engine, at->context, cudaMemcpy(at->x, x, bytes, cudaMemcpyDefault));
        CUDA_CHECK(compute_residual(at, at->x, &at->residual));
    }
    if (!(at->residual <= at->b_norm)) {
        CUDA_TRY(engine, at->context, cudaMemset(at->x, 0, bytes));
        CUDA_TRY(engine, at->context, cudaMemcpy(at->r, at->b, bytes, cudaMemcpyDeviceToDevice));
        at->residual = at->b_norm;
    }
cleanup:
    return status;
}

static bool is_spent(const solve *at)
{
    return at->system->limit > 0 && at->products >= at->system->limit;
}

/* Rounds until the goal is reached or nothing is won any more. */
static nadir_status pursue(solve *at)
{
    nadir_status status = NADIR_OK;
    bool over = at->residual <= at->goal || !std::isfinite(at->residual);
    while (!over) {
        CUDA_CHECK(run_round(at, &over));
        over = over || !std::isfinite(at->residual) || is_spent(at);
    }
cleanup:
    return status;
}

/* To a residual relative to x: coarsely first, to learn how large x is, and again where it grew meanwhile. */
static nadir_status pursue_relative(solve *at, double *x_norm)
{
    enum { ROUNDS = 4 };
    nadir_status status = NADIR_OK;
    at->goal = COARSE * at->b_norm;
    CUDA_CHECK(pursue(at));
    for (int round = 0; round < ROUNDS; round++) {
        CUDA_CHECK(norm_of(at, at->x, x_norm));
        const double least = at->system->least * (at->b_norm + 2 * *x_norm);
        const double wanted = at->system->relative * *x_norm;
        at->goal = wanted > least ? wanted : least;
        if (at->residual <= at->goal || !std::isfinite(at->residual) || is_spent(at)) {
            break;
        }
        const double before = at->residual;
        CUDA_CHECK(pursue(at));
        if (!(at->residual < before / 2)) {
            CUDA_CHECK(norm_of(at, at->x, x_norm));
            break;
        }
    }
cleanup:
    return status;
}

nadir_status cuda_iterate(void *matrix, nadir_context *context, const nadir_device_system *system,
                          const double *b, double *x, nadir_device_solve_result *outcome)
{
    nadir_status status = NADIR_OK;
    double x_norm = NAN;
    solve at;
    memset(&at, 0, sizeof at);
    at.context = context;
    at.matrix = (cuda_matrix *)matrix;
    at.system = system;
    at.n = at.matrix->of.states;
    cuda_engine *engine = at.matrix->of.engine;
    CUDA_CHECK(cuda_reserve(engine, context, VECTORS * at.n));
    {
        double **const vectors[VECTORS] = {&at.b, &at.x, &at.r, &at.e, &at.r0, &at.p, &at.v, &at.t};
        for (int i = 0; i < VECTORS; i++) {
            *vectors[i] = engine->vectors + i * at.n;
        }
    }
    CUDA_CHECK(start(&at, b, x));
    at.goal = system->residual;
    if (at.goal > 0) {
        CUDA_CHECK(pursue(&at));
    } else {
        CUDA_CHECK(pursue_relative(&at, &x_norm));
    }
    CUDA_TRY(engine, context, cudaMemcpy(x, at.x, (size_t)at.n * sizeof *x, cudaMemcpyDefault));
    *outcome = {.b_norm = at.b_norm, .x_norm = x_norm, .residual = at.residual, .products = at.products};
cleanup:
    return status;
}

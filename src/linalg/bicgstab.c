/*
 * bicgstab.c: one run of BiCGSTAB for several right-hand sides; see iterative.h.
 *
 * van der Vorst's method (1992) with two changes, for which linalg/formulas.h gives the reasons: the
 * shadow vector is the first residual r with as much noise, the same in every run; and omega is enlarged
 * where t and s are nearly orthogonal.
 * Every column is divided by its own residual first, so that no scale of b makes an inner product overflow or
 * vanish. The columns go in step: each pass over the matrix serves all that are not done, and those that are
 * done give up their place.
 *
 * Why not GMRES: without restarts it needs about as many products, but with 20 or 30 vectors kept it
 * stagnates on slow chains and on transposed grids with a drift, and its vectors cost more than the product.
 */
#include "linalg/iterative.h"

#include "linalg/distributed.h"
#include "linalg/formulas.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A run that did not shrink the residual by HEADWAY over so many products, and half of those before, stops.
 */
#define PATIENCE 200
#define HEADWAY  0.7

/* The vectors and numbers of one column; d is the correction so far. */
typedef struct stab_lane {
    nadir_bicgstab_column *column;
    double *d, *shadow, *r, *p, *v, *t; /* [n] */
    double alpha, omega, beta;
    double rho;            /* shadow . r */
    double shadow_squared; /* shadow . shadow */
    int64_t first;         /* global place of entry 0 */
    double norm;           /* of r, relative to the column's residual */
    double best;           /* norm when it last made headway */
    int64_t since;         /* products then */
    nadir_norm kind;
} stab_lane;

typedef struct stab_run {
    nadir_context *context;
    const nadir_linear_system *system;
    bool transposed;
    int64_t size;
    int64_t active; /* columns that go on: slots [0, active) */
    stab_lane *lanes;
} stab_run;

/* r <- p <- r / residual, d <- 0; r.r. The right-hand side stands in d. */
static void start_block(const void *arguments, int64_t first, int64_t end, double result[3])
{
    const stab_lane *use = arguments;
    const double residual = use->column->residual;
    for (int64_t i = first; i < end; i++) {
        const double value = use->d[i] / residual;
        use->r[i] = value;
        use->p[i] = value;
        use->d[i] = 0;
    }
    result[0] = nadir_block_dot(use->r, use->r, first, end);
}

/* shadow <- r + noise; shadow.r and shadow.shadow. beta holds the size of the noise. */
static void shadow_block(const void *arguments, int64_t first, int64_t end, double result[3])
{
    const stab_lane *use = arguments;
    for (int64_t i = first; i < end; i++) {
        use->shadow[i] = use->r[i] + use->beta * nadir_shadow_noise(use->first + i);
    }
    result[0] = nadir_block_dot(use->shadow, use->r, first, end);
    result[1] = nadir_block_dot(use->shadow, use->shadow, first, end);
}

/* t.s, t.t and s.s, with s in r's place. */
static void products_block(const void *arguments, int64_t first, int64_t end, double result[3])
{
    const stab_lane *use = arguments;
    result[0] = nadir_block_dot(use->t, use->r, first, end);
    result[1] = nadir_block_dot(use->t, use->t, first, end);
    result[2] = nadir_block_dot(use->r, use->r, first, end);
}

/* d <- d + alpha p + omega s, r <- s - omega t; |r|, shadow.r and r.r. */
static void step_block(const void *arguments, int64_t first, int64_t end, double result[3])
{
    const stab_lane *use = arguments;
    double *d = use->d;
    double *r = use->r;
    const double *p = use->p;
    const double *t = use->t;
    const double alpha = use->alpha;
    const double omega = use->omega;
    for (int64_t i = first; i < end; i++) {
        d[i] += alpha * p[i] + omega * r[i];
        r[i] -= omega * t[i];
    }
    result[0] = nadir_block_norm(use->kind, r, first, end);
    result[1] = nadir_block_dot(use->shadow, r, first, end);
    result[2] = nadir_block_dot(r, r, first, end);
}

/* p <- r + beta (p - omega v) */
static void direction_block(const void *arguments, int64_t first, int64_t end, double result[3])
{
    const stab_lane *use = arguments;
    double *p = use->p;
    const double *r = use->r;
    const double *v = use->v;
    const double beta = use->beta;
    const double omega = use->omega;
    (void)result;
    for (int64_t i = first; i < end; i++) {
        p[i] = r[i] + beta * (p[i] - omega * v[i]);
    }
}

static void over_blocks(const stab_run *run, int vectors, nadir_block block, const stab_lane *lane,
                        nadir_combine combine, double result[3])
{
    nadir_blocks_run(run->context, run->size, vectors, block, lane, combine, result);
}

static void swap(double *x, double *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const double value = x[i];
        x[i] = y[i];
        y[i] = value;
    }
}

/* The lane is done: the last active one takes its slot, and it takes the other's, with nothing but d. */
static void retire(stab_run *run, int64_t slot)
{
    stab_lane *done = &run->lanes[slot];
    stab_lane *last = &run->lanes[--run->active];
    if (done == last) {
        return;
    }
    const size_t bytes = (size_t)run->size * sizeof(double);
    swap(done->d, last->d, run->size);
    memcpy(done->shadow, last->shadow, bytes);
    memcpy(done->r, last->r, bytes);
    memcpy(done->p, last->p, bytes);
    memcpy(done->v, last->v, bytes);
    nadir_bicgstab_column *column = done->column;
    done->column = last->column;
    last->column = column;
    done->column->slot = slot;
    last->column->slot = run->active;
    done->alpha = last->alpha;
    done->rho = last->rho;
    done->shadow_squared = last->shadow_squared;
    done->norm = last->norm;
    done->best = last->best;
    done->since = last->since;
}

/* alpha = rho / shadow.v, s = r - alpha v in r's place; false when it cannot go on. */
static bool first_half(const stab_run *run, stab_lane *lane)
{
    lane->alpha = lane->rho / nadir_blocks_dot(run->context, run->size, lane->shadow, lane->v);
    if (!isfinite(lane->alpha)) {
        return false;
    }
    nadir_blocks_add(run->context, run->size, -lane->alpha, lane->v, lane->r);
    return true;
}

/* Out of patience, and not just on a peak; or far out of patience. */
static bool stagnates(stab_lane *lane)
{
    const int64_t products = lane->column->products;
    if (lane->norm < HEADWAY * lane->best) {
        lane->best = lane->norm;
        lane->since = products;
    }
    const int64_t patience = PATIENCE + lane->column->limit / 20 + products / 2;
    const int64_t idle = products - lane->since;
    return idle > 2 * patience || (idle > patience && lane->norm <= 2 * lane->best);
}

/* omega = t.s / t.t, the new r and the next direction; false when the column is done or cannot go on. */
static bool second_half(const stab_run *run, stab_lane *lane)
{
    double products[3];
    over_blocks(run, 2, products_block, lane, NADIR_COMBINE_SUM, products);
    lane->omega = nadir_bicgstab_omega(products[0], products[1], products[2]);
    double norms[3];
    over_blocks(run, 5, step_block, lane,
                lane->kind == NADIR_NORM_MAXIMUM ? NADIR_COMBINE_MAXIMUM : NADIR_COMBINE_SUM, norms);
    lane->norm = norms[0];
    const nadir_bicgstab_column *column = lane->column;
    if (!(lane->norm > column->goal / column->residual) || column->products >= column->limit ||
        stagnates(lane)) {
        return false;
    }
    lane->beta = norms[1] / lane->rho * (lane->alpha / lane->omega);
    lane->rho = norms[1];
    if (!isfinite(lane->beta) || fabs(lane->rho) <= DBL_EPSILON * sqrt(lane->shadow_squared * norms[2])) {
        return false;
    }
    double none[3];
    over_blocks(run, 3, direction_block, lane, NADIR_COMBINE_NONE, none);
    return true;
}

static void start_lane(const stab_run *run, nadir_bicgstab_column *column, int64_t slot, double *work,
                       int64_t block, stab_lane *lane)
{
    double *vectors = work + slot * run->size;
    *lane = (stab_lane){
        .column = column,
        .d = vectors,
        .shadow = vectors + block,
        .r = vectors + 2 * block,
        .p = vectors + 3 * block,
        .v = vectors + 4 * block,
        .t = vectors + 5 * block,
        .first = run->system->first,
        .norm = 1,
        .best = 1,
        .kind = nadir_residual_norm(run->transposed),
    };
    column->products = 0;
    column->slot = slot;
    double sums[3];
    over_blocks(run, 3, start_block, lane, NADIR_COMBINE_SUM, sums);
    lane->beta = sqrt(sums[0] / (double)nadir_global_count(run->context, run->size));
    over_blocks(run, 2, shadow_block, lane, NADIR_COMBINE_SUM, sums);
    lane->rho = sums[0];
    lane->shadow_squared = sums[1];
}

/* The column that is farthest from its goal. */
static nadir_status tell_progress(const stab_run *run)
{
    const stab_lane *slowest = &run->lanes[0];
    for (int64_t slot = 1; slot < run->active; slot++) {
        const stab_lane *lane = &run->lanes[slot];
        const double distance = lane->norm * lane->column->residual / lane->column->goal;
        slowest =
            distance > slowest->norm * slowest->column->residual / slowest->column->goal ? lane : slowest;
    }
    return nadir_residual_progress(run->context, 1, slowest->norm,
                                   slowest->column->goal / slowest->column->residual);
}

/* v = A p, then t = A s, for all active columns; those that are done retire, from the last to the first, so
 * that whoever takes a slot has had its turn. */
static nadir_status step(stab_run *run)
{
    const nadir_linear_system *system = run->system;
    const stab_lane *first = &run->lanes[0];
    NADIR_TRY(system->apply(run->context, system->user, run->transposed, run->active, first->p, first->v));
    for (int64_t slot = run->active - 1; slot >= 0; slot--) {
        run->lanes[slot].column->products += 1;
        if (!first_half(run, &run->lanes[slot])) {
            retire(run, slot);
        }
    }
    if (run->active == 0) {
        return NADIR_OK;
    }
    NADIR_TRY(system->apply(run->context, system->user, run->transposed, run->active, first->r, first->t));
    for (int64_t slot = run->active - 1; slot >= 0; slot--) {
        run->lanes[slot].column->products += 1;
        if (!second_half(run, &run->lanes[slot])) {
            retire(run, slot);
        }
    }
    return NADIR_OK;
}

nadir_status nadir_residual_progress(nadir_context *context, double start, double now, double goal)
{
    const double share = log(start / now) / log(start / goal);
    return nadir_progress(context, "solving", share > 0 && share < 1 ? share : 0);
}

nadir_status nadir_bicgstab_run(nadir_context *context, const nadir_linear_system *system, bool transposed,
                                int64_t count, nadir_bicgstab_column *columns, double *work)
{
    stab_lane lanes[NADIR_BICGSTAB_COLUMNS];
    stab_run run = {context, system, transposed, system->size, count, lanes};
    for (int64_t j = 0; j < count; j++) {
        start_lane(&run, &columns[j], j, work, system->size * count, &lanes[j]);
    }
    while (run.active > 0) {
        NADIR_TRY(step(&run));
        if (run.active > 0) {
            NADIR_TRY(tell_progress(&run));
        }
    }
    return NADIR_OK;
}

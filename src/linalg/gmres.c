/*
 * gmres.c: restarted GMRES for several right-hand sides; see iterative.h.
 *
 * The flexible form (Saad, 1993): with v_1 = r / |r|, each step makes z_j = K^-1 v_j and w = A z_j, and takes
 * from w its parts along v_1 .. v_j (twice where that cancels much), which leaves h v_{j+1}. So
 *
 *     A Z = V H,      x + Z y with y minimising | |r| e_1 - H y |_2 has the least residual,
 *
 * H being brought to upper triangular form by rotations as it grows. Keeping Z saves the solve with K that
 * the plain form needs at each restart, and lets K be inexact. Without a preconditioner Z is V.
 *
 * The columns go in step, so that each product serves all of them; a column that reached its goal leaves its
 * place to the last one. The stop inside a cycle compares the 2-norm that the rotations give, times the ratio
 * of norms at the start of the cycle; the residual computed anew decides.
 */
#include "linalg/iterative.h"

#include <math.h>
#include <string.h>

#define RESTART     NADIR_GMRES_RESTART
#define COLUMNS     NADIR_GMRES_COLUMNS
#define CYCLES      40
#define NEAR_ENOUGH 10
/* So many cycles in turn that leave more than this of the least residual mean that it stagnates. The 2-norm
 * never grows, but it is not the norm of the goal. */
#define HEADWAY     0.99
#define IDLE_CYCLES 2
/* The stop inside a cycle is this much below the goal. */
#define GOAL_SHARE 0.5

/* A right-hand side. The vectors of step j of all columns lie in block j, in the order of that step. */
typedef struct gmres_column {
    int64_t index; /* among the caller's */
    const double *b;
    double *x;
    double residual;  /* of x: maximum norm or 1-norm */
    double best;      /* the least it has been */
    int idle;         /* cycles since */
    double length;    /* |r / residual|_2 at the start of the cycle */
    int64_t products; /* so far */
    int steps;        /* of this cycle */
    double *v[RESTART + 1];
    double *z[RESTART];
    double triangle[RESTART][RESTART + 1]; /* column j of H, rotated */
    double cosines[RESTART];
    double sines[RESTART];
    double right[RESTART + 1]; /* length e_1, rotated; the last entry is the 2-norm of the residual */
} gmres_column;

typedef struct gmres_run {
    nadir_context *context;
    const nadir_linear_system *system;
    const nadir_gmres *settings;
    int64_t size;
    int64_t limit;
    int64_t width; /* columns that each block of vectors has memory for */
    nadir_norm norm;
    int64_t open; /* columns[0..open) have not reached their goal */
    gmres_column *columns[COLUMNS];
} gmres_run;

int64_t nadir_gmres_work(const nadir_linear_system *system, int64_t count)
{
    const int64_t width = count < COLUMNS ? count : COLUMNS;
    const int64_t blocks = system->precondition != NULL ? 2 * RESTART + 1 : RESTART + 1;
    const int64_t numbers = (int64_t)((sizeof(gmres_column) + sizeof(double) - 1) / sizeof(double));
    return width * (blocks * system->size + numbers);
}

static double *block_of(const gmres_run *run, int64_t block)
{
    return run->settings->work + block * run->width * run->size;
}

static nadir_status apply(const gmres_run *run, int64_t count, const double *x, double *y)
{
    return run->system->apply(run->context, run->system->user, run->settings->transposed, count, x, y);
}

/* r <- b - A x at v[0] for all open columns. The product is spared when every x is zero. */
static nadir_status compute_residuals(const gmres_run *run)
{
    nadir_status status = NADIR_OK;
    const int64_t n = run->size;
    double *x = block_of(run, 1);
    double *r = block_of(run, 0);
    bool zero = true;
    for (int64_t j = 0; j < run->open; j++) {
        memcpy(x + j * n, run->columns[j]->x, (size_t)n * sizeof *x);
        zero = nadir_blocks_are_zero(run->context, n, x + j * n) && zero;
    }
    if (zero) {
        memset(r, 0, (size_t)(run->open * n) * sizeof *r);
    } else {
        NADIR_CHECK(apply(run, run->open, x, r));
    }
    for (int64_t j = 0; j < run->open; j++) {
        gmres_column *column = run->columns[j];
        column->v[0] = r + j * n;
        column->residual = nadir_blocks_subtract_from(run->context, run->norm, n, column->b, column->v[0]);
        column->products += !zero;
    }
cleanup:
    return status;
}

/* v_1 = r / |r|; the column is divided by its residual throughout the cycle. */
static void start_column(const gmres_run *run, gmres_column *column)
{
    double *v = column->v[0];
    nadir_blocks_scale(run->context, run->size, 1 / column->residual, v, v);
    column->length = sqrt(nadir_blocks_dot(run->context, run->size, v, v));
    nadir_blocks_scale(run->context, run->size, 1 / column->length, v, v);
    column->steps = 0;
    column->right[0] = column->length;
}

/* w <- w less its parts along v_1 .. v_many, which are added to h; returns |w|. */
static double orthogonalise(const gmres_run *run, gmres_column *column, int many, double *w, double *h)
{
    double parts[RESTART];
    double squares = 0;
    nadir_blocks_dots(run->context, run->size, many, (const double *const *)column->v, w, parts);
    for (int i = 0; i < many; i++) {
        h[i] += parts[i];
        squares += parts[i] * parts[i];
        parts[i] = -parts[i];
    }
    const double left =
        nadir_blocks_add_many(run->context, run->size, many, (const double *const *)column->v, parts, w);
    /* much cancelled: what is left is not orthogonal yet */
    if (left < 0.5 * squares && squares > 0) {
        nadir_blocks_dots(run->context, run->size, many, (const double *const *)column->v, w, parts);
        for (int i = 0; i < many; i++) {
            h[i] += parts[i];
            parts[i] = -parts[i];
        }
        return sqrt(
            nadir_blocks_add_many(run->context, run->size, many, (const double *const *)column->v, parts, w));
    }
    return sqrt(left);
}

/* Rotates the new column of H, and the right-hand side with it. */
static void rotate(gmres_column *column, int step, double *h)
{
    for (int i = 0; i < step; i++) {
        const double upper = h[i];
        h[i] = column->cosines[i] * upper + column->sines[i] * h[i + 1];
        h[i + 1] = column->cosines[i] * h[i + 1] - column->sines[i] * upper;
    }
    const double radius = hypot(h[step], h[step + 1]);
    column->cosines[step] = radius > 0 ? h[step] / radius : 1;
    column->sines[step] = radius > 0 ? h[step + 1] / radius : 0;
    h[step] = radius;
    column->right[step + 1] = -column->sines[step] * column->right[step];
    column->right[step] *= column->cosines[step];
}

/* w = A z_step stands at v[step + 1]. False when the column's cycle ends here. */
static bool extend(const gmres_run *run, gmres_column *column, int step)
{
    double *w = column->v[step + 1];
    double *h = column->triangle[step];
    memset(h, 0, (RESTART + 1) * sizeof *h);
    h[step + 1] = orthogonalise(run, column, step + 1, w, h);
    const double below = h[step + 1];
    rotate(column, step, h);
    column->steps = step + 1;
    column->products++;
    /* what the 2-norm says of the residual, in the norm of the goal */
    const double reached = fabs(column->right[step + 1]) / column->length * column->residual;
    if (!(below > 0) || !isfinite(below) || reached <= GOAL_SHARE * run->settings->residual) {
        return false;
    }
    nadir_blocks_scale(run->context, run->size, 1 / below, w, w);
    return true;
}

/* x <- x + residual Z y, H y = right. */
static void update_column(const gmres_run *run, gmres_column *column)
{
    double y[RESTART];
    for (int i = column->steps - 1; i >= 0; i--) {
        double sum = column->right[i];
        for (int j = i + 1; j < column->steps; j++) {
            sum -= column->triangle[j][i] * y[j];
        }
        /* a zero here: A is singular on these vectors; leave them out */
        y[i] = column->triangle[i][i] > 0 ? sum / column->triangle[i][i] : 0;
    }
    for (int i = 0; i < column->steps; i++) {
        y[i] *= column->residual;
    }
    (void)nadir_blocks_add_many(run->context, run->size, column->steps, (const double *const *)column->z, y,
                                column->x);
}

/* One step of the first `active` columns of `order`; returns how many go on, which are then the first. */
static nadir_status make_step(const gmres_run *run, int step, gmres_column **order, int64_t *active)
{
    nadir_status status = NADIR_OK;
    const int64_t n = run->size;
    const int64_t count = *active;
    double *v = block_of(run, step);
    double *w = block_of(run, step + 1);
    double *z = v;
    if (run->system->precondition != NULL) {
        z = block_of(run, RESTART + 1 + step);
        NADIR_CHECK(run->system->precondition(run->context, run->system->user, run->settings->transposed,
                                              count, v, z));
    }
    NADIR_CHECK(apply(run, count, z, w));
    for (int64_t j = count - 1; j >= 0; j--) {
        gmres_column *column = order[j];
        column->z[step] = z + j * n;
        column->v[step + 1] = w + j * n;
        if (!extend(run, column, step)) {
            gmres_column *last = order[--*active];
            if (last != column) {
                memcpy(w + j * n, last->v[step + 1], (size_t)n * sizeof *w);
                last->v[step + 1] = w + j * n;
            }
            order[j] = last;
        }
    }
cleanup:
    return status;
}

/* Up to RESTART steps on the residuals at v[0], then the new x and its residual. */
static nadir_status make_cycle(const gmres_run *run)
{
    nadir_status status = NADIR_OK;
    gmres_column *order[COLUMNS];
    int64_t active = run->open;
    for (int64_t j = 0; j < run->open; j++) {
        order[j] = run->columns[j];
        start_column(run, order[j]);
    }
    for (int step = 0; step < RESTART && active > 0; step++) {
        NADIR_CHECK(make_step(run, step, order, &active));
        NADIR_CHECK(nadir_progress(run->context, "solving", -1));
    }
    for (int64_t j = 0; j < run->open; j++) {
        update_column(run, run->columns[j]);
    }
    NADIR_CHECK(compute_residuals(run));
cleanup:
    return status;
}

/* Whether rounding, or the limit, keeps the column from falling further. */
static bool is_stuck(const gmres_run *run, gmres_column *column)
{
    if (column->residual < HEADWAY * column->best) {
        column->best = column->residual;
        column->idle = 0;
    } else {
        column->idle++;
    }
    return column->idle >= IDLE_CYCLES || column->products >= run->limit;
}

/* Takes the columns that need not, or cannot, go on out of the run. */
static nadir_status close_columns(gmres_run *run)
{
    const double goal = run->settings->residual;
    const int64_t n = run->size;
    int64_t open = 0;
    for (int64_t j = 0; j < run->open; j++) {
        gmres_column *column = run->columns[j];
        const bool stuck = is_stuck(run, column);
        if (!isfinite(column->residual) || (stuck && column->residual > NEAR_ENOUGH * goal)) {
            return nadir_fail(run->context, NADIR_ERROR_NOT_CONVERGED,
                              "the residual of right-hand side %lld stays at %.3g after %lld products; %.3g "
                              "was wanted",
                              (long long)column->index, column->residual, (long long)column->products, goal);
        }
        if (column->residual > goal && !stuck) {
            double *place = block_of(run, 0) + open * n;
            if (open != j) {
                memcpy(place, column->v[0], (size_t)n * sizeof *place);
                column->v[0] = place;
            }
            run->columns[open++] = column;
        }
    }
    run->open = open;
    return NADIR_OK;
}

static nadir_status solve_some(gmres_run *run)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(compute_residuals(run));
    NADIR_CHECK(close_columns(run));
    while (run->open > 0) {
        NADIR_CHECK(make_cycle(run));
        NADIR_CHECK(close_columns(run));
    }
cleanup:
    return status;
}

nadir_status nadir_gmres_solve(nadir_context *context, const nadir_linear_system *system,
                               const nadir_gmres *settings, int64_t count, const double *b, double *x,
                               int64_t *products)
{
    nadir_status status = NADIR_OK;
    const int64_t n = system->size;
    gmres_run run = {
        .context = context,
        .system = system,
        .settings = settings,
        .size = n,
        .limit = settings->limit > 0 ? settings->limit : (int64_t)CYCLES * RESTART,
        .width = count < COLUMNS ? count : COLUMNS,
        .norm = nadir_residual_norm(settings->transposed),
    };
    gmres_column *columns =
        (gmres_column *)block_of(&run, system->precondition != NULL ? 2 * RESTART + 1 : RESTART + 1);
    *products = 0;
    for (int64_t first = 0; first < count; first += COLUMNS) {
        const int64_t some = count - first < COLUMNS ? count - first : COLUMNS;
        for (int64_t j = 0; j < some; j++) {
            columns[j].index = first + j;
            columns[j].b = b + (first + j) * n;
            columns[j].x = x + (first + j) * n;
            columns[j].best = INFINITY;
            columns[j].idle = 0;
            columns[j].products = 0;
            run.columns[j] = &columns[j];
        }
        run.open = some;
        status = solve_some(&run);
        for (int64_t j = 0; j < some; j++) {
            *products += columns[j].products;
        }
        NADIR_CHECK(status);
    }
cleanup:
    return status;
}

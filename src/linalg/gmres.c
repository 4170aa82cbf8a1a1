/*
 * gmres.c: restarted GMRES; see iterative.h.
 *
 * The flexible form (Saad, 1993): with v_1 = r / |r|, each step makes z_j = K^-1 v_j and w = A z_j, and takes
 * from w its parts along v_1 .. v_j (twice where that cancels much), which leaves h v_{j+1}. So
 *
 *     A Z = V H,      x + Z y with y minimising | |r| e_1 - H y |_2 has the least residual,
 *
 * H being brought to upper triangular form by rotations as it grows. Keeping Z saves the solve with K that
 * the plain form needs at each restart, and lets K be inexact. Without a preconditioner Z is V.
 *
 * The stop inside a cycle compares the 2-norm that the rotations give, times the ratio of norms at the start of
 * the cycle; the residual computed anew decides.
 */
#include "linalg/iterative.h"

#include <math.h>
#include <string.h>

#define RESTART     NADIR_GMRES_RESTART
#define CYCLES      40
#define NEAR_ENOUGH 10
/* So many cycles in turn that leave more than this of the least residual mean that it stagnates. The 2-norm
 * never grows, but it is not the norm of the goal. */
#define HEADWAY     0.99
#define IDLE_CYCLES 2
/* The stop inside a cycle is this much below the goal. */
#define GOAL_SHARE 0.5

/* The solve of one right-hand side. */
typedef struct gmres_run {
    nadir_context *context;
    const nadir_linear_system *system;
    const nadir_gmres *settings;
    int64_t size;
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
    double *z[RESTART];                    /* v without a preconditioner */
    double triangle[RESTART][RESTART + 1]; /* column j of H, rotated */
    double cosines[RESTART];
    double sines[RESTART];
    double right[RESTART + 1]; /* length e_1, rotated; the last entry is the 2-norm of the residual */
} gmres_run;

int64_t nadir_gmres_work(const nadir_linear_system *system)
{
    return system->size * (system->precondition != NULL ? 2 * RESTART + 1 : RESTART + 1);
}

static nadir_status apply(const gmres_run *run, const double *x, double *y)
{
    return run->system->apply(run->context, run->system->user, run->settings->transposed, 1, x, y);
}

/* r <- b - A x at v[0]. The product is spared when x is zero. */
static nadir_status compute_residual(gmres_run *run)
{
    double *r = run->v[0];
    if (nadir_blocks_are_zero(run->context, run->size, run->x)) {
        memset(r, 0, (size_t)run->size * sizeof *r);
    } else {
        NADIR_TRY(apply(run, run->x, r));
        run->products++;
    }
    run->residual = nadir_blocks_subtract_from(run->context, nadir_residual_norm(run->settings->transposed),
                                               run->size, run->b, r);
    return NADIR_OK;
}

/* v_1 = r / |r|; everything is divided by the residual throughout the cycle. */
static void start_cycle(gmres_run *run)
{
    double *v = run->v[0];
    nadir_blocks_scale(run->context, run->size, 1 / run->residual, v, v);
    run->length = sqrt(nadir_blocks_dot(run->context, run->size, v, v));
    nadir_blocks_scale(run->context, run->size, 1 / run->length, v, v);
    run->steps = 0;
    run->right[0] = run->length;
}

/* w <- w less its parts along v_1 .. v_many, which are added to h; returns |w|. */
static double orthogonalise(const gmres_run *run, int many, double *w, double *h)
{
    double parts[RESTART];
    double squares = 0;
    nadir_blocks_dots(run->context, run->size, many, (const double *const *)run->v, w, parts);
    for (int i = 0; i < many; i++) {
        h[i] += parts[i];
        squares += parts[i] * parts[i];
        parts[i] = -parts[i];
    }
    const double left =
        nadir_blocks_add_many(run->context, run->size, many, (const double *const *)run->v, parts, w);
    /* much cancelled: what is left is not orthogonal yet */
    if (left < 0.5 * squares && squares > 0) {
        nadir_blocks_dots(run->context, run->size, many, (const double *const *)run->v, w, parts);
        for (int i = 0; i < many; i++) {
            h[i] += parts[i];
            parts[i] = -parts[i];
        }
        return sqrt(
            nadir_blocks_add_many(run->context, run->size, many, (const double *const *)run->v, parts, w));
    }
    return sqrt(left);
}

/* Rotates the new column of H, and the right-hand side with it. */
static void rotate(gmres_run *run, int step, double *h)
{
    for (int i = 0; i < step; i++) {
        const double upper = h[i];
        h[i] = run->cosines[i] * upper + run->sines[i] * h[i + 1];
        h[i + 1] = run->cosines[i] * h[i + 1] - run->sines[i] * upper;
    }
    const double radius = hypot(h[step], h[step + 1]);
    run->cosines[step] = radius > 0 ? h[step] / radius : 1;
    run->sines[step] = radius > 0 ? h[step + 1] / radius : 0;
    h[step] = radius;
    run->right[step + 1] = -run->sines[step] * run->right[step];
    run->right[step] *= run->cosines[step];
}

/* w = A z_step stands at v[step + 1]. False when the cycle ends here. */
static bool extend(gmres_run *run, int step)
{
    double *w = run->v[step + 1];
    double *h = run->triangle[step];
    memset(h, 0, (RESTART + 1) * sizeof *h);
    h[step + 1] = orthogonalise(run, step + 1, w, h);
    const double below = h[step + 1];
    rotate(run, step, h);
    run->steps = step + 1;
    run->products++;
    /* what the 2-norm says of the residual, in the norm of the goal */
    const double reached = fabs(run->right[step + 1]) / run->length * run->residual;
    if (!(below > 0) || !isfinite(below) || reached <= GOAL_SHARE * run->settings->residual) {
        return false;
    }
    nadir_blocks_scale(run->context, run->size, 1 / below, w, w);
    return true;
}

/* x <- x + residual Z y, H y = right. */
static void update(const gmres_run *run)
{
    double y[RESTART];
    for (int i = run->steps - 1; i >= 0; i--) {
        double sum = run->right[i];
        for (int j = i + 1; j < run->steps; j++) {
            sum -= run->triangle[j][i] * y[j];
        }
        /* a zero here: A is singular on these vectors; leave them out */
        y[i] = run->triangle[i][i] > 0 ? sum / run->triangle[i][i] : 0;
    }
    for (int i = 0; i < run->steps; i++) {
        y[i] *= run->residual;
    }
    (void)nadir_blocks_add_many(run->context, run->size, run->steps, (const double *const *)run->z, y,
                                run->x);
}

/* Up to RESTART steps on the residual at v[0], then the new x and its residual. */
static nadir_status make_cycle(gmres_run *run)
{
    const nadir_linear_system *system = run->system;
    bool goes_on = true;
    start_cycle(run);
    for (int step = 0; step < RESTART && goes_on; step++) {
        if (system->precondition != NULL) {
            NADIR_TRY(system->precondition(run->context, system->user, run->settings->transposed, 1,
                                           run->v[step], run->z[step]));
        }
        NADIR_TRY(apply(run, run->z[step], run->v[step + 1]));
        goes_on = extend(run, step);
        NADIR_TRY(nadir_progress(run->context, "solving", -1));
    }
    update(run);
    return compute_residual(run);
}

/* Whether rounding, or the limit, keeps the residual from falling further. */
static bool is_stuck(gmres_run *run)
{
    const int64_t limit = run->settings->limit > 0 ? run->settings->limit : (int64_t)CYCLES * RESTART;
    if (run->residual < HEADWAY * run->best) {
        run->best = run->residual;
        run->idle = 0;
    } else {
        run->idle++;
    }
    return run->idle >= IDLE_CYCLES || run->products >= limit;
}

static nadir_status solve_one(gmres_run *run)
{
    const double goal = run->settings->residual;
    NADIR_TRY(compute_residual(run));
    for (;;) {
        const bool stuck = is_stuck(run);
        if (!isfinite(run->residual) || (stuck && run->residual > NEAR_ENOUGH * goal)) {
            return nadir_fail(run->context, NADIR_ERROR_NOT_CONVERGED,
                              "the residual of right-hand side %lld stays at %.3g after %lld products; %.3g "
                              "was wanted",
                              (long long)run->index, run->residual, (long long)run->products, goal);
        }
        if (run->residual <= goal || stuck) {
            break;
        }
        NADIR_TRY(make_cycle(run));
    }
    return NADIR_OK;
}

nadir_status nadir_gmres_solve(nadir_context *context, const nadir_linear_system *system,
                               const nadir_gmres *settings, int64_t count, const double *b, double *x,
                               int64_t *products)
{
    nadir_status status = NADIR_OK;
    const int64_t n = system->size;
    *products = 0;
    for (int64_t j = 0; j < count; j++) {
        gmres_run run = {.context = context,
                         .system = system,
                         .settings = settings,
                         .size = n,
                         .index = j,
                         .b = b + j * n,
                         .x = x + j * n,
                         .best = INFINITY};
        for (int step = 0; step <= RESTART; step++) {
            run.v[step] = settings->work + step * n;
        }
        for (int step = 0; step < RESTART; step++) {
            run.z[step] = system->precondition != NULL ? run.v[RESTART] + (step + 1) * n : run.v[step];
        }
        status = solve_one(&run);
        *products += run.products;
        NADIR_CHECK(status);
    }
cleanup:
    return status;
}

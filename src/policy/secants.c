/* secants.c: a quadratic model of the worst return, and its best policy; see secants.h. */
#include "policy/secants.h"

#include "linalg/blocks.h"
#include "linalg/distributed.h"
#include "policy/simplex.h"

#include <math.h>
#include <string.h>

/* Projected gradients of the model: at most so many, or until a step promises this share of the first. */
enum { STEPS = 60 };
#define ENOUGH 1e-8
/* A gradient that falls by less than this share of what the model had foreseen is taken to fall by that
 * (Powell): so the model forgets a curvature that is no longer there, if not at once. */
#define LEAST 0.05
/* Beyond this an action is hopeless anyway, and squares stay finite. */
#define FAR 1e6

nadir_status nadir_secants_make(nadir_context *context, const nadir_model *model, int most,
                                nadir_secants *secants)
{
    nadir_status status = NADIR_OK;
    int64_t actions = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t count = model->state_rows[s + 1] - model->state_rows[s];
        actions = count > actions ? count : actions;
    }
    secants->model = model;
    secants->rows = model->rows;
    secants->most = most;
    NADIR_NEW(context, secants->room, actions);
cleanup:
    return status;
}

nadir_status nadir_secants_reserve(nadir_context *context, nadir_secants *secants, int pairs)
{
    nadir_status status = NADIR_OK;
    for (int i = 0; i < 3 && pairs > 0; i++) {
        if (secants->work[i] == NULL) {
            NADIR_NEW(context, secants->work[i], secants->rows);
        }
    }
    for (int i = 0; i < pairs; i++) {
        double **own[] = {&secants->s[i], &secants->y[i], &secants->b[i]};
        for (int j = 0; j < 3; j++) {
            if (*own[j] == NULL) {
                NADIR_NEW(context, *own[j], secants->rows);
            }
        }
    }
cleanup:
    return status;
}

void nadir_secants_forget(nadir_context *context, nadir_secants *secants)
{
    for (int i = 0; i < NADIR_SECANTS_MOST; i++) {
        double **own[] = {&secants->s[i], &secants->y[i], &secants->b[i]};
        for (int j = 0; j < 3; j++) {
            nadir_release(context, *own[j]);
            *own[j] = NULL;
        }
    }
    for (int i = 0; i < 3; i++) {
        nadir_release(context, secants->work[i]);
        secants->work[i] = NULL;
    }
    secants->count = 0;
}

void nadir_secants_clear(nadir_context *context, nadir_secants *secants)
{
    nadir_secants_forget(context, secants);
    nadir_release(context, secants->room);
    *secants = (nadir_secants){0};
}

static void swap(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

nadir_status nadir_secants_push(nadir_context *context, nadir_secants *secants)
{
    nadir_status status = NADIR_OK;
    if (secants->count == secants->most) {
        for (int i = 1; i < secants->most; i++) {
            swap(&secants->s[i - 1], &secants->s[i]);
            swap(&secants->y[i - 1], &secants->y[i]);
        }
        secants->count--;
    }
    NADIR_CHECK(nadir_secants_reserve(context, secants, secants->count + 1));
    secants->count++;
cleanup:
    return status;
}

/* result = B x with the first `count` pairs: diagonal x + sum (y . x / s_y) y - (b . x / s_b) b. */
static void multiply(const nadir_context *context, const nadir_secants *secants, int count, const double *x,
                     double *result)
{
    const int64_t rows = secants->rows;
    const nadir_model *model = secants->model;
    const double *vectors[2 * NADIR_SECANTS_MOST] = {NULL};
    double along[2 * NADIR_SECANTS_MOST];
    for (int64_t s = 0; s < model->states; s++) {
        const double diagonal = secants->metric[s] / secants->alpha;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            result[row] = diagonal * x[row];
        }
    }
    for (int i = 0; i < count; i++) {
        vectors[2 * i] = secants->y[i];
        vectors[2 * i + 1] = secants->b[i];
    }
    nadir_blocks_dots(context, rows, 2 * count, vectors, x, along);
    for (int i = 0; i < count; i++) {
        along[2 * i] /= secants->s_y[i];
        along[2 * i + 1] /= -secants->s_b[i];
    }
    if (count > 0) {
        (void)nadir_blocks_add_many(context, rows, 2 * count, vectors, along, result);
    }
}

/* The products of a pair whose b is there; y is bent towards b where it shows too little curvature. False: no
 * curvature at all, the pair is of no use. */
static bool settle(const nadir_context *context, nadir_secants *secants, int i)
{
    const int64_t rows = secants->rows;
    double *y = secants->y[i];
    secants->s_b[i] = nadir_blocks_dot(context, rows, secants->s[i], secants->b[i]);
    secants->s_y[i] = nadir_blocks_dot(context, rows, secants->s[i], y);
    if (secants->s_y[i] < LEAST * secants->s_b[i]) {
        const double share = (1 - LEAST) * secants->s_b[i] / (secants->s_b[i] - secants->s_y[i]);
        for (int64_t row = 0; row < rows; row++) {
            y[row] = share * y[row] + (1 - share) * secants->b[i][row];
        }
        secants->s_y[i] = LEAST * secants->s_b[i];
    }
    return secants->s_b[i] > 0 && secants->s_y[i] > 0;
}

void nadir_secants_prepare(const nadir_context *context, nadir_secants *secants, const double *metric,
                           double alpha)
{
    int count = 0;
    secants->metric = metric;
    secants->alpha = alpha;
    for (int i = 0; i < secants->count; i++) {
        swap(&secants->s[count], &secants->s[i]);
        swap(&secants->y[count], &secants->y[i]);
        multiply(context, secants, count, secants->s[count], secants->b[count]);
        count += settle(context, secants, count);
    }
    secants->count = count;
}

/* Where a look for a step starts: the gradient of the model there, by rows or, where that is NULL, as it is
 * said. */
typedef struct looking {
    const double *pi;    /* [rows] */
    const double *delta; /* [rows] from there; NULL: zeros */
    const double *slope; /* [rows] */
    const nadir_slope *g;
} looking;

static double slope_at(const looking *from, int64_t s, int64_t row)
{
    return from->slope != NULL ? from->slope[row] : nadir_slope_at(from->g, s, row);
}

static double chance_at(const looking *from, int64_t row)
{
    return from->delta != NULL ? from->pi[row] + from->delta[row] : from->pi[row];
}

/* way = Proj(pi + delta + alpha slope / metric) - pi - delta; returns its first-order promise. */
static double look(const nadir_context *context, const nadir_secants *secants, double alpha,
                   const looking *from, double *way)
{
    const nadir_model *model = secants->model;
    double promise = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t count = model->state_rows[s + 1] - first;
        const double step = alpha / secants->metric[s];
        double largest = -INFINITY;
        for (int64_t row = first; row < first + count; row++) {
            const double slope = slope_at(from, s, row);
            largest = slope > largest ? slope : largest;
        }
        for (int64_t row = first; row < first + count; row++) {
            const double fall = step * (slope_at(from, s, row) - largest);
            way[row] = chance_at(from, row) + (fall > -FAR ? fall : -FAR);
        }
        nadir_simplex_project(count, way + first, secants->room);
        for (int64_t row = first; row < first + count; row++) {
            way[row] -= chance_at(from, row);
            promise += way[row] * slope_at(from, s, row);
        }
    }
    return nadir_allreduce_sum(context, promise);
}

/* slope <- g. */
static void write_slope(const nadir_model *model, const nadir_slope *g, double *slope)
{
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            slope[row] = nadir_slope_at(g, s, row);
        }
    }
}

nadir_status nadir_secants_step(nadir_context *context, nadir_secants *secants, const double *pi,
                                const nadir_slope *g, double *delta)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = secants->model;
    double *slope = secants->work[0]; /* of the model at delta */
    double *way = secants->work[1];
    double *product = secants->work[2];
    double alpha = secants->alpha;
    double first = 0;
    if (secants->count == 0) { /* states are apart, and one projection is the best */
        const looking from = {.pi = pi, .g = g};
        (void)look(context, secants, alpha, &from, delta);
        return nadir_progress(context, "improving the policy", -1);
    }
    const looking from = {pi, delta, slope, g};
    memset(delta, 0, (size_t)secants->rows * sizeof *delta);
    write_slope(model, g, slope);
    for (int i = 0; i < STEPS; i++) {
        const double promise = look(context, secants, alpha, &from, way);
        first = i == 0 ? promise : first;
        if (!(promise > ENOUGH * first)) {
            break;
        }
        NADIR_CHECK(nadir_progress(context, "improving the policy", -1));
        multiply(context, secants, secants->count, way, product);
        const double curvature = nadir_blocks_dot(context, secants->rows, way, product);
        const double t = curvature > promise ? promise / curvature : 1;
        double length = 0;
        for (int64_t s = 0; s < model->states; s++) {
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                delta[row] += t * way[row];
                slope[row] -= t * product[row];
                length += secants->metric[s] * way[row] * way[row];
            }
        }
        length = nadir_allreduce_sum(context, length);
        alpha = curvature > 0 ? length / curvature : alpha;
    }
cleanup:
    return status;
}

/* lbfgs.c: the L-BFGS model of the worst return, and its maximiser over policies; see ascent.h. */
#include "policy/ascent.h"

#include "linalg/distributed.h"
#include "linalg/matrix.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

/* Projected-gradient steps on the model: at most so many, or until the gain is this share of the first. */
enum { STEPS = 60 };
#define SMALL_GAIN 1e-8
/* Powell's damping: a curvature of less than this share of the model's counts as that share. So the model
 * forgets old curvature within a few steps. */
#define LEAST_CURVATURE 0.05
/* Limit of the decrease of a probability, so that squares stay finite; the probability becomes 0. */
#define LONGEST_DECREASE 1e6

nadir_status nadir_lbfgs_make(nadir_context *context, const nadir_model *model, int most, nadir_lbfgs *lbfgs)
{
    nadir_status status = NADIR_OK;
    lbfgs->model = model;
    lbfgs->rows = model->rows;
    lbfgs->most = most;
    NADIR_NEW(context, lbfgs->projection, nadir_model_most_actions(model));
cleanup:
    return status;
}

nadir_status nadir_lbfgs_reserve(nadir_context *context, nadir_lbfgs *lbfgs, int pairs)
{
    nadir_status status = NADIR_OK;
    for (int i = 0; i < 3 && pairs > 0; i++) {
        if (lbfgs->work[i] == NULL) {
            NADIR_NEW(context, lbfgs->work[i], lbfgs->rows);
        }
    }
    for (int i = 0; i < pairs; i++) {
        double **own[] = {&lbfgs->s[i], &lbfgs->y[i], &lbfgs->b[i]};
        for (int j = 0; j < 3; j++) {
            if (*own[j] == NULL) {
                NADIR_NEW(context, *own[j], lbfgs->rows);
            }
        }
    }
cleanup:
    return status;
}

void nadir_lbfgs_forget(nadir_context *context, nadir_lbfgs *lbfgs)
{
    for (int i = 0; i < NADIR_LBFGS_PAIRS; i++) {
        double **own[] = {&lbfgs->s[i], &lbfgs->y[i], &lbfgs->b[i]};
        for (int j = 0; j < 3; j++) {
            nadir_release(context, *own[j]);
            *own[j] = NULL;
        }
    }
    for (int i = 0; i < 3; i++) {
        nadir_release(context, lbfgs->work[i]);
        lbfgs->work[i] = NULL;
    }
    lbfgs->count = 0;
}

void nadir_lbfgs_clear(nadir_context *context, nadir_lbfgs *lbfgs)
{
    nadir_lbfgs_forget(context, lbfgs);
    nadir_release(context, lbfgs->projection);
    *lbfgs = (nadir_lbfgs){0};
}

static void swap(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

nadir_status nadir_lbfgs_push(nadir_context *context, nadir_lbfgs *lbfgs)
{
    if (lbfgs->count == lbfgs->most) {
        for (int i = 1; i < lbfgs->most; i++) {
            swap(&lbfgs->s[i - 1], &lbfgs->s[i]);
            swap(&lbfgs->y[i - 1], &lbfgs->y[i]);
        }
        lbfgs->count--;
    }
    NADIR_TRY(nadir_lbfgs_reserve(context, lbfgs, lbfgs->count + 1));
    lbfgs->count++;
    return NADIR_OK;
}

/* result = B x with the first `count` pairs: diagonal x + sum (y . x / s_y) y - (b . x / s_b) b. */
static void multiply(const nadir_context *context, const nadir_lbfgs *lbfgs, int count, const double *x,
                     double *result)
{
    const int64_t rows = lbfgs->rows;
    const nadir_model *model = lbfgs->model;
    const double *vectors[2 * NADIR_LBFGS_PAIRS] = {NULL};
    double along[2 * NADIR_LBFGS_PAIRS];
    for (int64_t s = 0; s < model->states; s++) {
        const double diagonal = lbfgs->metric[s] / lbfgs->alpha;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            result[row] = diagonal * x[row];
        }
    }
    for (int i = 0; i < count; i++) {
        vectors[2 * i] = lbfgs->y[i];
        vectors[2 * i + 1] = lbfgs->b[i];
    }
    nadir_blocks_dots(context, rows, 2 * count, vectors, x, along);
    for (int i = 0; i < count; i++) {
        along[2 * i] /= lbfgs->s_y[i];
        along[2 * i + 1] /= -lbfgs->s_b[i];
    }
    if (count > 0) {
        (void)nadir_blocks_add_many(context, rows, 2 * count, vectors, along, result);
    }
}

/* The inner products of a pair whose b is known; damps y. False: no curvature, drop the pair. */
static bool finish_pair(const nadir_context *context, nadir_lbfgs *lbfgs, int i)
{
    const int64_t rows = lbfgs->rows;
    double *y = lbfgs->y[i];
    lbfgs->s_b[i] = nadir_blocks_dot(context, rows, lbfgs->s[i], lbfgs->b[i]);
    lbfgs->s_y[i] = nadir_blocks_dot(context, rows, lbfgs->s[i], y);
    if (lbfgs->s_y[i] < LEAST_CURVATURE * lbfgs->s_b[i]) {
        const double share = (1 - LEAST_CURVATURE) * lbfgs->s_b[i] / (lbfgs->s_b[i] - lbfgs->s_y[i]);
        for (int64_t row = 0; row < rows; row++) {
            y[row] = share * y[row] + (1 - share) * lbfgs->b[i][row];
        }
        lbfgs->s_y[i] = LEAST_CURVATURE * lbfgs->s_b[i];
    }
    return lbfgs->s_b[i] > 0 && lbfgs->s_y[i] > 0;
}

void nadir_lbfgs_prepare(const nadir_context *context, nadir_lbfgs *lbfgs, const double *metric, double alpha)
{
    int count = 0;
    lbfgs->metric = metric;
    lbfgs->alpha = alpha;
    for (int i = 0; i < lbfgs->count; i++) {
        swap(&lbfgs->s[count], &lbfgs->s[i]);
        swap(&lbfgs->y[count], &lbfgs->y[i]);
        multiply(context, lbfgs, count, lbfgs->s[count], lbfgs->b[count]);
        count += finish_pair(context, lbfgs, count);
    }
    lbfgs->count = count;
}

/* step = Proj(x + alpha slope / metric) - x of a policy x; returns its first-order gain. */
static double project_step(const nadir_context *context, const nadir_lbfgs *lbfgs, double alpha,
                           const double *x, const double *slope, double *step)
{
    const nadir_model *model = lbfgs->model;
    double gain = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t count = model->state_rows[s + 1] - first;
        const double factor = alpha / lbfgs->metric[s];
        double largest = -INFINITY;
        for (int64_t row = first; row < first + count; row++) {
            largest = slope[row] > largest ? slope[row] : largest;
        }
        for (int64_t row = first; row < first + count; row++) {
            const double change = factor * (slope[row] - largest);
            step[row] = x[row] + (change > -LONGEST_DECREASE ? change : -LONGEST_DECREASE);
        }
        nadir_simplex_project(count, step + first, lbfgs->projection);
        for (int64_t row = first; row < first + count; row++) {
            step[row] -= x[row];
            gain += step[row] * slope[row];
        }
    }
    return nadir_allreduce_sum(context, gain);
}

nadir_status nadir_lbfgs_step(nadir_context *context, nadir_lbfgs *lbfgs, const double *pi, double *gradient,
                              double *delta)
{
    const nadir_model *model = lbfgs->model;
    double *x = lbfgs->work[0]; /* pi + delta */
    double *step = lbfgs->work[1];
    double *product = lbfgs->work[2];
    double alpha = lbfgs->alpha;
    double first = 0;
    if (lbfgs->count == 0) { /* the model is separable, and one projection maximises it */
        (void)project_step(context, lbfgs, alpha, pi, gradient, delta);
        return nadir_progress(context, "improving the policy", -1);
    }
    memset(delta, 0, (size_t)lbfgs->rows * sizeof *delta);
    memcpy(x, pi, (size_t)lbfgs->rows * sizeof *x);
    for (int i = 0; i < STEPS; i++) {
        const double gain = project_step(context, lbfgs, alpha, x, gradient, step);
        first = i == 0 ? gain : first;
        if (!(gain > SMALL_GAIN * first)) {
            break;
        }
        NADIR_TRY(nadir_progress(context, "improving the policy", -1));
        multiply(context, lbfgs, lbfgs->count, step, product);
        const double curvature = nadir_blocks_dot(context, lbfgs->rows, step, product);
        const double t = curvature > gain ? gain / curvature : 1;
        double length = 0;
        for (int64_t s = 0; s < model->states; s++) {
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                delta[row] += t * step[row];
                x[row] = pi[row] + delta[row];
                gradient[row] -= t * product[row];
                length += lbfgs->metric[s] * step[row] * step[row];
            }
        }
        length = nadir_allreduce_sum(context, length);
        alpha = curvature > 0 ? length / curvature : alpha;
    }
    return NADIR_OK;
}

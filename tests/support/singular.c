/* singular.c: singular values and the operators of the free domain; see singular.h. */
#include "support/support.h"

#include "support/reference.h"
#include "support/singular.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static long double dot(int64_t count, const long double *x, const long double *y)
{
    long double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

static void turn(int64_t count, long double cosine, long double sine, long double *x, long double *y)
{
    for (int64_t i = 0; i < count; i++) {
        const long double before = x[i];
        x[i] = cosine * before - sine * y[i];
        y[i] = sine * before + cosine * y[i];
    }
}

/* Makes columns p and q of A V orthogonal; returns how far they were from it. */
static long double rotate(test_singular *at, int64_t p, int64_t q)
{
    long double *x = at->left + p * at->rows;
    long double *y = at->left + q * at->rows;
    const long double a = dot(at->rows, x, x);
    const long double b = dot(at->rows, y, y);
    const long double c = dot(at->rows, x, y);
    if (c == 0 || fabsl(c) <= LDBL_EPSILON * sqrtl(a) * sqrtl(b)) {
        return 0;
    }
    const long double zeta = (b - a) / (2 * c);
    const long double tangent = copysignl(1, zeta) / (fabsl(zeta) + hypotl(1, zeta));
    const long double cosine = 1 / hypotl(1, tangent);
    turn(at->rows, cosine, cosine * tangent, x, y);
    turn(at->columns, cosine, cosine * tangent, at->right + p * at->columns, at->right + q * at->columns);
    return fabsl(c) / sqrtl(a) / sqrtl(b);
}

static void swap(int64_t count, long double *x, long double *y)
{
    for (int64_t i = 0; i < count; i++) {
        const long double before = x[i];
        x[i] = y[i];
        y[i] = before;
    }
}

/* Falling values, unit left vectors. */
static void finish(test_singular *at)
{
    for (int64_t i = 0; i < at->columns; i++) {
        at->values[i] = sqrtl(dot(at->rows, at->left + i * at->rows, at->left + i * at->rows));
    }
    for (int64_t i = 0; i < at->columns; i++) {
        int64_t best = i;
        for (int64_t j = i; j < at->columns; j++) {
            best = at->values[j] > at->values[best] ? j : best;
        }
        swap(1, at->values + i, at->values + best);
        swap(at->rows, at->left + i * at->rows, at->left + best * at->rows);
        swap(at->columns, at->right + i * at->columns, at->right + best * at->columns);
        for (int64_t s = 0; s < at->rows && at->values[i] > 0; s++) {
            at->left[i * at->rows + s] /= at->values[i];
        }
    }
}

test_singular test_singular_make(int64_t rows, int64_t columns, const long double *matrix)
{
    test_singular made = {.rows = rows, .columns = columns};
    made.values = test_new(columns, sizeof *made.values);
    made.left = test_new(rows * columns, sizeof *made.left);
    made.right = test_new(columns * columns, sizeof *made.right);
    memcpy(made.left, matrix, (size_t)(rows * columns) * sizeof *matrix);
    for (int64_t i = 0; i < columns; i++) {
        made.right[i * columns + i] = 1;
    }
    for (int sweep = 0; sweep < 60; sweep++) {
        long double worst = 0;
        for (int64_t p = 0; p < columns; p++) {
            for (int64_t q = p + 1; q < columns; q++) {
                worst = fmaxl(worst, rotate(&made, p, q));
            }
        }
        if (worst < 1e-10L) { /* what is left is about the square */
            break;
        }
    }
    finish(&made);
    return made;
}

void test_singular_clear(test_singular *made)
{
    free(made->values);
    free(made->left);
    free(made->right);
}

test_l2 test_l2_make(const nadir_problem *problem)
{
    const int64_t n = problem->states;
    const int64_t *state_rows = problem->model->state_rows;
    const double *pi = problem->policy->probabilities;
    test_l2 made = {.states = n, .gamma = problem->gamma};
    made.D = test_new(n * n, sizeof *made.D);
    made.W = test_new(n, sizeof *made.W);
    made.v = test_new(n, sizeof *made.v);
    made.d = test_new(n, sizeof *made.d);
    double *kernel = test_dense_kernel(problem->model);
    long double *average = test_dense_average(problem->model, kernel, pi);
    test_system system = test_system_make(n, average, problem->gamma);
    double *side = test_new(n, sizeof *side);
    for (int64_t s = 0; s < n; s++) {
        long double sum = 0;
        long double rewards = 0;
        side[s] = 1;
        test_system_solve(&system, false, side, made.D + s * n);
        side[s] = 0;
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            const long double shape =
                (long double)nadir_uncertainty_scale(problem->uncertainty, row) * (long double)pi[row];
            sum += shape * shape;
            rewards += (long double)pi[row] * (long double)problem->rewards[row];
        }
        made.W[s] = sqrtl(sum);
        for (int64_t t = 0; t < n; t++) {
            made.v[t] += made.D[s * n + t] * rewards;
            made.d[s] += made.D[s * n + t] * (long double)problem->mu[t];
        }
    }
    for (int64_t s = 0; s < n; s++) {
        made.J += (long double)problem->mu[s] * made.v[s];
    }
    free(side);
    test_system_clear(&system);
    free(average);
    free(kernel);
    return made;
}

void test_l2_clear(test_l2 *made)
{
    free(made->D);
    free(made->W);
    free(made->v);
    free(made->d);
}

long double *test_l2_operator(const test_l2 *of, bool loop, long double lambda)
{
    const int64_t n = of->states;
    long double *matrix = test_new(n * n, sizeof *matrix);
    for (int64_t t = 0; t < n; t++) {
        long double mean = 0;
        for (int64_t s = 0; s < n; s++) {
            const long double entry = of->D[t * n + s];
            matrix[t * n + s] =
                of->W[t] * (loop ? entry : of->gamma * (of->v[s] * of->d[t] - lambda * entry));
            mean += matrix[t * n + s] / (long double)n;
        }
        for (int64_t s = 0; s < n; s++) {
            matrix[t * n + s] -= mean;
        }
    }
    return matrix;
}

long double test_l2_breakdown(const test_l2 *of)
{
    long double *matrix = test_l2_operator(of, true, 0);
    test_singular made = test_singular_make(of->states, of->states, matrix);
    const long double norm = of->states > 1 ? of->gamma * made.values[0] : 0;
    test_singular_clear(&made);
    free(matrix);
    return norm > 0 ? 1 / norm : HUGE_VAL;
}

long double test_l2_penalty(const test_l2 *of, long double beta, double *c, double *k)
{
    const int64_t n = of->states;
    long double lambda = 0;
    for (int round = 0; round < 100; round++) {
        long double *matrix = test_l2_operator(of, false, lambda);
        test_singular made = test_singular_make(n, n, matrix);
        long double feedback = 0; /* k . D W x */
        for (int64_t t = 0; t < n; t++) {
            feedback += of->W[t] * made.right[t] * dot(n, made.left, of->D + t * n);
        }
        /* sigma(mu) >= sigma + (mu - lambda) slope with slope = -gamma k . D W x */
        const long double excess = beta * made.values[0] - lambda;
        const long double next = lambda + excess / (1 + beta * of->gamma * feedback);
        for (int64_t s = 0; s < n && c != NULL; s++) {
            c[s] = (double)(beta * made.right[s]);
            k[s] = (double)made.left[s];
        }
        test_singular_clear(&made);
        free(matrix);
        /* steps shrink quadratically */
        const bool done = round > 0 && fabsl(next - lambda) <= 1e-10L * next;
        lambda = next;
        if (done) {
            break;
        }
    }
    return lambda;
}

/* free_reference.c: the free domain by brute force; see free_reference.h. */
#include "support/support.h"

#include "support/free_reference.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* P^pi of a kernel written out. To be freed. */
static long double *average_of(nadir_context *context, const nadir_problem *problem,
                               const nadir_kernel *kernel, double **dense)
{
    const int64_t n = problem->states;
    double *unit = test_new(n, sizeof *unit);
    double *column = test_new(problem->rows, sizeof *column);
    *dense = test_new(problem->rows * n, sizeof **dense);
    for (int64_t t = 0; t < n; t++) {
        unit[t] = 1;
        nadir_kernel_multiply(context, kernel, unit, column);
        unit[t] = 0;
        for (int64_t row = 0; row < problem->rows; row++) {
            (*dense)[row * n + t] = column[row];
        }
    }
    free(unit);
    free(column);
    return test_dense_average(problem->model, *dense, problem->policy->probabilities);
}

static void centre(int64_t n, int64_t stride, long double *x)
{
    long double mean = 0;
    for (int64_t s = 0; s < n; s++) {
        mean += x[s * stride] / (long double)n;
    }
    for (int64_t s = 0; s < n; s++) {
        x[s * stride] -= mean;
    }
}

test_free test_free_make(const nadir_problem *problem)
{
    const int64_t n = problem->states;
    const double *W = problem->uncertainty->W;
    test_free made = {.states = n, .gamma = problem->gamma};
    double *nominal = test_dense_kernel(problem->model);
    long double *average = test_dense_average(problem->model, nominal, problem->policy->probabilities);
    test_system system = test_system_make(n, average, problem->gamma);
    double *unit = test_new(n, sizeof *unit);
    long double *column = test_new(n, sizeof *column);
    made.DW = test_new(n * n, sizeof *made.DW);
    made.v = test_new(n, sizeof *made.v);
    made.Wd = test_new(n, sizeof *made.Wd);
    for (int64_t t = 0; t < n; t++) {
        unit[t] = 1;
        test_system_solve(&system, false, unit, column);
        unit[t] = 0;
        for (int64_t s = 0; s < n; s++) {
            made.DW[s * n + t] = column[s] * W[t];
            made.Wd[t] += problem->mu[s] * column[s] * W[t];
        }
        centre(n, n, made.DW + t);
    }
    test_system_solve(&system, false, problem->R, made.v);
    centre(n, 1, made.v);
    test_system_clear(&system);
    free(nominal);
    free(average);
    free(unit);
    free(column);
    return made;
}

void test_free_clear(test_free *made)
{
    free(made->DW);
    free(made->v);
    free(made->Wd);
}

/* One rotation that makes B(p, q) zero. */
static void rotate(int64_t n, long double *B, int64_t p, int64_t q)
{
    const long double tau = (B[q * n + q] - B[p * n + p]) / (2 * B[p * n + q]);
    const long double t = (tau >= 0 ? 1 : -1) / (fabsl(tau) + sqrtl(1 + tau * tau));
    const long double c = 1 / sqrtl(1 + t * t);
    const long double s = t * c;
    for (int64_t k = 0; k < n; k++) {
        const long double x = B[k * n + p];
        const long double y = B[k * n + q];
        B[k * n + p] = c * x - s * y;
        B[k * n + q] = s * x + c * y;
    }
    for (int64_t k = 0; k < n; k++) {
        const long double x = B[p * n + k];
        const long double y = B[q * n + k];
        B[p * n + k] = c * x - s * y;
        B[q * n + k] = s * x + c * y;
    }
}

/* The largest eigenvalue of a symmetric matrix, which is destroyed. */
static long double largest_eigenvalue(int64_t n, long double *B)
{
    long double trace = 0;
    for (int64_t p = 0; p < n; p++) {
        trace += B[p * n + p];
    }
    long double off = 1;
    for (int sweep = 0; sweep < 30 && off > 0; sweep++) {
        off = 0;
        for (int64_t p = 0; p < n; p++) {
            for (int64_t q = p + 1; q < n; q++) {
                if (fabsl(B[p * n + q]) > 1e-18L * trace) {
                    rotate(n, B, p, q);
                    off = 1;
                }
            }
        }
    }
    long double largest = 0;
    for (int64_t p = 0; p < n; p++) {
        largest = B[p * n + p] > largest ? B[p * n + p] : largest;
    }
    return largest;
}

/* sigma_max of v (W d)^T weight - lambda DW */
static long double top_of(const test_free *made, long double weight, long double lambda)
{
    const int64_t n = made->states;
    long double *E = test_new(n * n, sizeof *E);
    long double *B = test_new(n * n, sizeof *B);
    long double size = 0;
    for (int64_t i = 0; i < n * n; i++) {
        E[i] = weight * made->v[i / n] * made->Wd[i % n] - lambda * made->DW[i];
        size = fabsl(E[i]) > size ? fabsl(E[i]) : size;
    }
    for (int64_t i = 0; i < n * n && size > 0; i++) {
        E[i] /= size;
    }
    for (int64_t p = 0; p < n; p++) {
        for (int64_t q = 0; q < n; q++) {
            for (int64_t k = 0; k < n; k++) {
                B[p * n + q] += E[k * n + p] * E[k * n + q];
            }
        }
    }
    const long double top = size * sqrtl(largest_eigenvalue(n, B));
    free(E);
    free(B);
    return top;
}

long double test_free_top(const test_free *made, long double lambda)
{
    return made->gamma * top_of(made, 1, lambda);
}

double test_free_breakdown(const test_free *made)
{
    return (double)(1 / (made->gamma * top_of(made, 0, 1)));
}

double test_free_penalty(const test_free *made, double beta)
{
    long double low = 0;
    long double f_low = beta * test_free_top(made, 0);
    long double high = f_low;
    long double f_high = beta * test_free_top(made, high) - high;
    while (f_high > 0) {
        low = high;
        f_low = f_high;
        high *= 2;
        f_high = beta * test_free_top(made, high) - high;
    }
    /* Chords between the ends; an end that stays twice counts half (Illinois). */
    for (int step = 0, side = 0; step < 200 && high - low > 1e-15L * high && f_high < f_low; step++) {
        const long double at = (low * f_high - high * f_low) / (f_high - f_low);
        const long double f = beta * test_free_top(made, at) - at;
        if (f == 0 || fabsl(f) < 1e-17L * at) {
            return (double)at;
        }
        if (f > 0) {
            low = at;
            f_low = f;
            f_high = side == 1 ? f_high / 2 : f_high;
            side = 1;
        } else {
            high = at;
            f_high = f;
            f_low = side == -1 ? f_low / 2 : f_low;
            side = -1;
        }
    }
    return (double)((low + high) / 2);
}

/* Of one entry, over the scale of its row. */
static long double largest_change(const nadir_problem *problem, const double *dense, const double *nominal)
{
    long double largest = 0;
    for (int64_t i = 0; i < problem->rows * problem->states; i++) {
        const double scale = nadir_uncertainty_scale(problem->uncertainty, i / problem->states);
        const long double change = scale > 0 ? fabsl((long double)dense[i] - nominal[i]) / scale : 0;
        largest = change > largest ? change : largest;
    }
    return largest;
}

test_found test_found_measure(nadir_context *context, const nadir_problem *problem,
                              const nadir_kernel *kernel)
{
    const int64_t n = problem->states;
    const double p = problem->uncertainty->p;
    double *dense;
    test_found found = {0};
    double *nominal = test_dense_kernel(problem->model);
    long double *average = average_of(context, problem, kernel, &dense);
    long double *v = test_new(n, sizeof *v);
    test_system system = test_system_make(n, average, problem->gamma);
    test_system_solve(&system, false, problem->R, v);
    long double J = 0;
    for (int64_t s = 0; s < n; s++) {
        J += problem->mu[s] * v[s];
    }
    long double power = 0;
    const long double largest = largest_change(problem, dense, nominal);
    for (int64_t row = 0; row < problem->rows; row++) {
        const double scale = nadir_uncertainty_scale(problem->uncertainty, row);
        long double sum = -1;
        for (int64_t t = 0; t < n; t++) {
            const long double change = (long double)dense[row * n + t] - nominal[row * n + t];
            sum += dense[row * n + t];
            assert_that(scale > 0 || change == 0, "row %lld is pinned, but its entry %lld moved by %Lg",
                        (long long)row, (long long)t, change);
            power += change != 0 ? powl(fabsl(change) / scale / largest, p) : 0;
        }
        found.row_sum = fmax(found.row_sum, (double)fabsl(sum));
    }
    found.J = (double)J;
    found.norm = (double)(largest * powl(power, 1 / (long double)p));
    test_system_clear(&system);
    free(dense);
    free(nominal);
    free(average);
    free(v);
    return found;
}

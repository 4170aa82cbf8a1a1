/* quad.c: returns and kernels in quadruple precision; see quad.h. */
#include "support/support.h"

#include "support/quad.h"

#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

test_quad test_quad_absolute(test_quad x)
{
    return x < 0 ? -x : x;
}

/* Newton's method; x is brought near 1 first, since doubles cannot hold all of its range. */
test_quad test_quad_root(test_quad x)
{
    if (!(x > 0)) {
        return 0;
    }
    test_quad unit = 1;
    while (x > 0x1p200) {
        x /= (test_quad)0x1p200;
        unit *= (test_quad)0x1p100;
    }
    while (x < 0x1p-200) {
        x *= (test_quad)0x1p200;
        unit /= (test_quad)0x1p100;
    }
    test_quad root = sqrt((double)x);
    for (int i = 0; i < 3; i++) {
        root = (root + x / root) / 2;
    }
    return root * unit;
}

test_quad *test_quad_nominal(const test_oracle *oracle)
{
    const int64_t entries = oracle->rows * oracle->states;
    test_quad *kernel = test_new(entries, sizeof *kernel);
    for (int64_t i = 0; i < entries; i++) {
        kernel[i] = oracle->nominal[i];
    }
    return kernel;
}

/* I - gamma P^pi, or its transpose: [states * states]. */
static void make_system(const test_oracle *oracle, const test_quad *kernel, bool transposed, test_quad *A)
{
    const int64_t n = oracle->states;
    for (int64_t i = 0; i < n * n; i++) {
        A[i] = i / n == i % n ? 1 : 0;
    }
    for (int64_t row = 0; row < oracle->rows; row++) {
        const int64_t s = oracle->row_states[row];
        const test_quad weight = (test_quad)oracle->gamma * oracle->policy[row];
        for (int64_t t = 0; t < n; t++) {
            A[transposed ? t * n + s : s * n + t] -= weight * kernel[row * n + t];
        }
    }
}

/* Gaussian elimination with partial pivoting; A and the `count` right-hand sides B [n * count] are
 * overwritten, B by the solutions. false: a pivot is zero. */
static bool eliminate(int64_t n, int64_t count, test_quad *A, test_quad *B)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t pivot = i;
        for (int64_t r = i + 1; r < n; r++) {
            if (test_quad_absolute(A[r * n + i]) > test_quad_absolute(A[pivot * n + i])) {
                pivot = r;
            }
        }
        if (A[pivot * n + i] == 0) {
            return false;
        }
        for (int64_t c = 0; c < n + count; c++) {
            test_quad *x = c < n ? &A[i * n + c] : &B[i * count + c - n];
            test_quad *y = c < n ? &A[pivot * n + c] : &B[pivot * count + c - n];
            const test_quad kept = *x;
            *x = *y;
            *y = kept;
        }
        for (int64_t r = 0; r < n; r++) {
            const test_quad factor = r == i ? 0 : A[r * n + i] / A[i * n + i];
            for (int64_t c = i; factor != 0 && c < n; c++) {
                A[r * n + c] -= factor * A[i * n + c];
            }
            for (int64_t c = 0; factor != 0 && c < count; c++) {
                B[r * count + c] -= factor * B[i * count + c];
            }
        }
    }
    for (int64_t i = 0; i < n * count; i++) {
        B[i] /= A[(i / count) * n + i / count];
    }
    return true;
}

bool test_quad_inverse(const test_oracle *oracle, test_quad *D)
{
    const int64_t n = oracle->states;
    test_quad *A = test_new(n * n, sizeof *A);
    test_quad *kernel = test_quad_nominal(oracle);
    make_system(oracle, kernel, false, A);
    for (int64_t i = 0; i < n * n; i++) {
        D[i] = i / n == i % n ? 1 : 0;
    }
    const bool regular = eliminate(n, n, A, D);
    free(kernel);
    free(A);
    return regular;
}

bool test_quad_return(const test_oracle *oracle, const test_quad *kernel, test_quad *v, test_quad *d,
                      test_quad *J)
{
    const int64_t n = oracle->states;
    test_quad *A = test_new(n * n, sizeof *A);
    test_quad *x = test_new(n, sizeof *x);
    for (int64_t row = 0; row < oracle->rows; row++) {
        x[oracle->row_states[row]] += (test_quad)oracle->policy[row] * oracle->rewards[row];
    }
    make_system(oracle, kernel, false, A);
    bool regular = eliminate(n, 1, A, x);
    *J = 0;
    for (int64_t s = 0; s < n && regular; s++) {
        *J += x[s] * (test_quad)oracle->mu[s];
        if (v != NULL) {
            v[s] = x[s];
        }
    }
    if (d != NULL && regular) {
        make_system(oracle, kernel, true, A);
        for (int64_t s = 0; s < n; s++) {
            d[s] = oracle->mu[s];
        }
        regular = eliminate(n, 1, A, d);
    }
    free(x);
    free(A);
    return regular;
}

/* A row that sums to one; on valid domains without negative entries, nor others than the support's. */
static void pull_row(const test_oracle *oracle, int64_t row, const double *kernel, test_quad *pulled)
{
    const int64_t n = oracle->states;
    const double *nominal = oracle->nominal + row * n;
    const bool free_signs = oracle->domain == NADIR_DOMAIN_FREE;
    test_quad sum = 0;
    for (int64_t t = 0; t < n; t++) {
        const bool barred = oracle->domain == NADIR_DOMAIN_SUPPORT && nominal[t] == 0;
        const double entry = kernel[row * n + t];
        pulled[row * n + t] = barred || !isfinite(entry) || (!free_signs && entry < 0) ? 0 : (test_quad)entry;
        sum += pulled[row * n + t];
    }
    for (int64_t t = 0; t < n; t++) {
        test_quad *entry = &pulled[row * n + t];
        *entry = free_signs ? *entry + (1 - sum) / n : sum > 0 ? *entry / sum : (test_quad)nominal[t];
    }
}

/* The p-norm of all entries of x [count], each to be divided by its own unit > 0 [count]. */
static long double norm_of(int64_t count, const long double *x, double p)
{
    long double top = 0;
    long double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        top = fmaxl(top, fabsl(x[i]));
    }
    for (int64_t i = 0; i < count && top > 0 && isfinite(p); i++) {
        sum += powl(fabsl(x[i]) / top, (long double)p);
    }
    return top == 0 || !isfinite(p) ? top : top * powl(sum, 1 / (long double)p);
}

/* What is left of the changes of one ball for them to be well inside. */
static void shrink(const test_oracle *oracle, int64_t ball, test_quad *pulled)
{
    const int64_t n = oracle->states;
    long double *changes = test_new(oracle->rows * n, sizeof *changes);
    int64_t count = 0;
    for (int64_t i = 0; i < oracle->rows * n; i++) {
        if (oracle->row_balls[i / n] == ball) {
            changes[count++] =
                (long double)(pulled[i] - oracle->nominal[i]) / (long double)oracle->scales[i / n];
        }
    }
    const long double norm = norm_of(count, changes, oracle->p);
    const long double most = (1 - 1e-12L) * (long double)oracle->radii[ball];
    const test_quad share = norm > most ? (test_quad)(most / norm) : (test_quad)1;
    for (int64_t i = 0; i < oracle->rows * n; i++) {
        if (oracle->row_balls[i / n] == ball) {
            pulled[i] = oracle->nominal[i] + share * (pulled[i] - oracle->nominal[i]);
        }
    }
    free(changes);
}

void test_quad_pull(const test_oracle *oracle, const double *kernel, test_quad *pulled)
{
    const int64_t n = oracle->states;
    for (int64_t row = 0; row < oracle->rows; row++) {
        pull_row(oracle, row, kernel, pulled);
        for (int64_t t = 0; t < n && oracle->row_balls[row] < 0; t++) {
            pulled[row * n + t] = oracle->nominal[row * n + t];
        }
    }
    for (int64_t ball = 0; ball < oracle->balls; ball++) {
        shrink(oracle, ball, pulled);
    }
}

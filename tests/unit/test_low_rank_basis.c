/* Many vectors in terms of few: what was taken apart comes together again, against long double. */
#include "support/support.h"

#include "core/random.h"
#include "linalg/low_rank_basis.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 2718

enum { LENGTH = 37, COUNT = 20 };

typedef struct parts {
    int limit, rank;
    double made[LENGTH * COUNT]; /* the vectors */
    double X[LENGTH * COUNT];    /* their remainders */
    double Q[LENGTH * COUNT];
    double T[COUNT * COUNT];
} parts;

/* Combinations of `basis` vectors, each much weaker than the one before. */
static void draw(int basis, nadir_random *random, double *X)
{
    memset(X, 0, LENGTH * COUNT * sizeof *X);
    for (int k = 0; k < basis; k++) {
        double direction[LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            direction[i] = nadir_random_normal(random);
        }
        for (int j = 0; j < COUNT; j++) {
            const double factor = pow(0.01, k) * nadir_random_normal(random);
            for (int i = 0; i < LENGTH; i++) {
                X[j * LENGTH + i] += factor * direction[i];
            }
        }
    }
}

static void split(const nadir_context *context, double tolerance, parts *at)
{
    double sizes[COUNT];
    at->limit = nadir_low_rank_basis_limit(context, COUNT);
    memcpy(at->X, at->made, sizeof at->X);
    at->rank =
        nadir_low_rank_basis_split(context, LENGTH, COUNT, at->limit, tolerance, at->X, at->Q, at->T, sizes);
}

/* Column j, from its parts, in the maximum norm. */
static void check_column(const parts *at, int j, double tolerance)
{
    long double off = 0;
    double size = 0;
    double left = 0;
    double norm = 0;
    double remainder = 0;
    for (int k = 0; k < at->rank; k++) {
        double largest = 0;
        for (int i = 0; i < LENGTH; i++) {
            largest = fmax(largest, fabs(at->Q[k * LENGTH + i]));
        }
        size += fabs(at->T[j * at->limit + k]) * largest;
    }
    for (int i = 0; i < LENGTH; i++) {
        long double sum = at->X[j * LENGTH + i];
        for (int k = 0; k < at->rank; k++) {
            sum += (long double)at->Q[k * LENGTH + i] * at->T[j * at->limit + k];
        }
        off = fmaxl(off, fabsl(sum - at->made[j * LENGTH + i]));
        left = fmax(left, fabs(at->X[j * LENGTH + i]));
        norm += at->made[j * LENGTH + i] * at->made[j * LENGTH + i];
        remainder += at->X[j * LENGTH + i] * at->X[j * LENGTH + i];
    }
    assert_that((double)off <= nadir_low_rank_basis_rounding(at->rank) * (size + left),
                "column %d is off by %Lg", j, off);
    assert_that(sqrt(remainder) <= tolerance * sqrt(norm) * (1 + 1e-12), "column %d leaves %g", j,
                sqrt(remainder / norm));
}

static void test_few(void **state)
{
    nadir_context *context = test_context();
    nadir_random random;
    parts at;
    (void)state;
    nadir_random_seed(&random, SEED);
    for (int basis = 0; basis <= 6; basis++) {
        test_note("%d vectors, seed %d", basis, SEED);
        draw(basis, &random, at.made);
        memset(at.made + 3 * LENGTH, 0, LENGTH * sizeof *at.made);
        split(context, 32 * DBL_EPSILON, &at);
        assert_int_equal(at.rank, basis);
        for (int j = 0; j < COUNT; j++) {
            check_column(&at, j, 32 * DBL_EPSILON);
        }
        double joined[LENGTH * COUNT];
        nadir_low_rank_basis_combine(context, LENGTH, COUNT, at.limit, at.rank, at.Q, at.T, joined);
        for (int i = 0; i < LENGTH * COUNT; i++) {
            assert_close(joined[i], at.made[i] - at.X[i], 1e-14);
        }
    }
    split(context, 0.1, &at); /* a coarser tolerance asks for fewer */
    assert_in_range(at.rank, 1, 5);
    test_note_clear();
    nadir_context_free(context);
}

/* As many as there are vectors; too few of them; numbers that are none. */
static void test_nothing(void **state)
{
    nadir_context *context = test_context();
    nadir_random random;
    parts at;
    (void)state;
    nadir_random_seed(&random, SEED);
    for (int count = 0; count < 6; count++) {
        assert_int_equal(nadir_low_rank_basis_limit(context, count), 0);
    }
    for (int i = 0; i < LENGTH * COUNT; i++) {
        at.made[i] = nadir_random_normal(&random);
    }
    split(context, 1e-12, &at);
    assert_int_equal(at.rank, -1);
    draw(2, &random, at.made);
    at.made[LENGTH + 5] = NAN;
    split(context, 1e-12, &at);
    assert_int_equal(at.rank, -1);
    at.made[LENGTH + 5] = INFINITY;
    split(context, 1e-12, &at);
    assert_int_equal(at.rank, -1);
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_few), cmocka_unit_test(test_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

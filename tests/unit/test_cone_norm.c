/* test_cone_norm.c: max |A x| over x >= 0, |x| <= 1: against all supports, grids, and known tables. */
#include "support/support.h"

#include "cone/cone.h"
#include "experiments/numpy_random.h"
#include "support/cone.h"
#include "support/reference.h"
#include "support/singular.h"
#include "support/spectral.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 20250 };

/* A = sum of `rank` products of random columns and rows. */
static void fill_rank(nadir_random *random, int64_t m, int64_t n, int rank, double *A)
{
    memset(A, 0, (size_t)(m * n) * sizeof *A);
    for (int r = 0; r < rank; r++) {
        double column[2 * TEST_CONE_LARGEST];
        double row[64];
        test_cone_fill(random, m, column);
        test_cone_fill(random, n, row);
        for (int64_t i = 0; i < m * n; i++) {
            A[i] += column[i / n] * row[i % n];
        }
    }
}

/* For n <= 4 a matrix that is positive semidefinite and has no negative entry is a sum of x x^T, x >= 0
 * (Diananda): the dual bound is the maximum. */
static void test_brute_force(void **state)
{
    nadir_context *context = *state;
    const int turns = test_memcheck() ? 1 : 12;
    int missed = 0;
    for (int64_t n = 1; n <= TEST_CONE_LARGEST; n++) {
        for (int turn = 0; turn < turns; turn++) {
            double A[2 * TEST_CONE_LARGEST * TEST_CONE_LARGEST];
            nadir_random random = test_random(SEED + (uint64_t)(100 * n + turn));
            const int64_t m = 1 + (int64_t)nadir_random_below(&random, 2 * TEST_CONE_LARGEST);
            test_cone_fill(&random, m * n, A);
            test_note("%d x %d, turn %d, seed %d", (int)m, (int)n, turn, SEED);
            const double truth = test_cone_brute(m, n, A);
            test_cone_check(context, m, n, A, truth);
            const nadir_cone_norm_result best = test_cone_find(context, m, n, A, NULL, true, NULL);
            missed += best.value < truth * (1 - 1e-12);
            if (n <= 4) {
                assert_relative(best.dual_bound, truth, 2e-6);
            }
        }
    }
    test_note_clear();
    assert_int_equal(missed, 0); /* not a theorem: a fact about these matrices */
}

/* The exactness of each order for matrices of its rank, repeated and opposite columns among them. */
static void test_low_rank(void **state)
{
    nadir_context *context = *state;
    const int turns = test_memcheck() ? 2 : 24;
    for (int turn = 0; turn < turns; turn++) {
        double A[2 * TEST_CONE_LARGEST * TEST_CONE_LARGEST];
        nadir_random random = test_random(SEED + 1000 + (uint64_t)turn);
        for (int rank = 1; rank <= 3; rank++) {
            const int64_t n = 2 + (int64_t)nadir_random_below(&random, TEST_CONE_LARGEST - 1);
            const int64_t m = 3 + (int64_t)nadir_random_below(&random, TEST_CONE_LARGEST);
            fill_rank(&random, m, n, rank, A);
            for (int64_t i = 0; i < m && turn % 3 == 0; i++) {
                A[i * n + 1] = (turn % 2 == 0 ? -2 : 2) * A[i * n];
            }
            test_note("%d x %d, rank %d, turn %d, seed %d", (int)m, (int)n, rank, turn, SEED + 1000);
            const double truth = test_cone_brute(m, n, A);
            test_cone_check(context, m, n, A, truth);
            for (int order = rank == 1 ? 0 : rank; order <= 3; order++) {
                assert_relative(test_cone_value(context, m, n, A, test_cone_orders[order]), truth, 1e-10);
            }
            if (rank == 1) { /* both bounds of the first order are the truth */
                assert_relative(test_cone_value(context, m, n, A, "paper"), truth, 1e-10);
                assert_relative(test_cone_find(context, m, n, A, "0", false, NULL).first_bound, truth, 1e-7);
            }
        }
    }
}

/* |A (V c)_+| / |(V c)_+| of d columns of V: [n * d] one after another. */
static double at_combination(int64_t n, const double *A, int d, const double *V, const double *c)
{
    double below = 0;
    double above = 0;
    double x[64];
    for (int64_t j = 0; j < n; j++) {
        double entry = 0;
        for (int a = 0; a < d; a++) {
            entry += V[a * n + j] * c[a];
        }
        x[j] = fmax(entry, 0);
        below += x[j] * x[j];
    }
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            sum += A[i * n + j] * x[j];
        }
        above += sum * sum;
    }
    return below > 0 ? sqrt(above / below) : 0;
}

/* Orders 2 and 3 of full rank: no point of the circle or sphere is better, and some are nearly as good. */
static void test_grids(void **state)
{
    nadir_context *context = *state;
    const bool brief = test_memcheck();
    for (int turn = 0; turn < 4; turn++) {
        double A[64 * 64];
        const int64_t n = turn < 2 ? 5 + turn : 12;
        nadir_random random = test_random(SEED + 2000 + (uint64_t)turn);
        test_cone_fill(&random, n * n, A);
        nadir_cone cone = {0};
        nadir_spectrum spectrum = {0};
        assert_ok(context, nadir_cone_open(context, n, n, A, &cone));
        assert_ok(context, nadir_cone_spectrum(context, &cone, 3, &spectrum));
        for (int d = 2; d <= 3; d++) {
            test_note("order %d, size %d, seed %d", d, (int)n, SEED + 2000 + turn);
            const double exact = test_cone_value(context, n, n, A, test_cone_orders[d]);
            const int steps = brief ? 100 : (d == 2 ? 20000 : 60000);
            double best = 0;
            for (int i = 0; i < steps; i++) { /* evenly on the circle; on a spiral around the sphere */
                const double height = d == 2 ? 0 : 1 - (2 * i + 1.0) / steps;
                const double angle = d == 2 ? 6.283185307179586 * i / steps : 2.399963229728653 * i;
                const double radius = sqrt(1 - height * height);
                const double c[3] = {radius * cos(angle), radius * sin(angle), height};
                best = fmax(best, at_combination(n, A, d, spectrum.vectors, c));
            }
            assert_that(best <= exact * (1 + 1e-13), "a grid finds %.17g, above %.17g", best, exact);
            assert_that(brief || best >= exact * (1 - (d == 2 ? 1e-4 : 5e-3)),
                        "the best of a grid is %.17g, far below %.17g", best, exact);
        }
        nadir_spectrum_close(context, &spectrum);
        nadir_cone_close(context, &cone);
    }
}

/* Both scores: |A u_j|^2 is at least half of lambda_1, and at least the squared score. */
static void test_scores(void **state)
{
    nadir_context *context = *state;
    for (int turn = 0; turn < 20; turn++) {
        double A[100];
        double x[10];
        double printed;
        double squared;
        double score = 0;
        nadir_random random = test_random(SEED + 3000 + (uint64_t)turn);
        test_cone_fill(&random, 100, A);
        test_note("turn %d, seed %d", turn, SEED + 3000);
        assert_ok(context, nadir_cone_norm_scored(context, 10, 10, A, NADIR_CONE_SCORE_PRINTED, x, &printed));
        test_cone_check_point(10, 10, A, x, printed);
        assert_close(printed, test_cone_value(context, 10, 10, A, "paper"), 0);
        assert_ok(context, nadir_cone_norm_scored(context, 10, 10, A, NADIR_CONE_SCORE_SQUARED, x, &squared));
        test_cone_check_point(10, 10, A, x, squared);
        long double columns[100];
        for (int i = 0; i < 100; i++) {
            columns[i % 10 * 10 + i / 10] = A[i];
        }
        test_singular made = test_singular_make(10, 10, columns);
        for (int i = 0; i < 10; i++) {
            double parts[2] = {0};
            for (int j = 0; j < 10; j++) {
                const double entry = (double)made.right[i * 10 + j];
                parts[entry < 0] += entry * entry;
            }
            score = fmax(score, (double)(made.values[i] * made.values[i]) * fmax(parts[0], parts[1]));
        }
        const double lambda = (double)(made.values[0] * made.values[0]);
        assert_true(squared * squared >= score * (1 - 1e-12));
        assert_true(2 * printed * printed >= lambda * (1 - 1e-12));
        const double first = test_cone_value(context, 10, 10, A, "1");
        assert_true(first >= fmax(printed, squared) * (1 - 1e-14));
        test_singular_clear(&made);
    }
}

/* The paper's table: NumPy's legacy generator, seed 42, randn(n, n). */
static void test_table(void **state)
{
    static const struct {
        int64_t n;
        double paper, best;
    } rows[] = {{300, 28.59, 29.73292624999}, {500, 36.56, 38.47230884930}, {1000, 51.64, 54.24980178975}};
    nadir_context *context = *state;
    for (size_t i = 0; i < (test_memcheck() ? 0 : 3); i++) {
        const int64_t n = rows[i].n;
        double *A = test_new(n * n, sizeof *A);
        nadir_numpy_random random;
        nadir_numpy_random_seed(&random, 42);
        for (int64_t j = 0; j < n * n; j++) {
            A[j] = nadir_numpy_random_normal(&random);
        }
        test_note("n = %d", (int)n);
        assert_true(fabs(test_cone_value(context, n, n, A, "paper") - rows[i].paper) < 0.005);
        const nadir_cone_norm_result best = test_cone_find(context, n, n, A, NULL, false, NULL);
        assert_relative(best.value, rows[i].best, 1e-12);
        assert_true(best.upper_bound > best.value);
        free(A);
    }
}

/* The maximum is proven. */
static void test_proof(void **state)
{
    double A[2500];
    nadir_context *context = *state;
    nadir_numpy_random random;
    nadir_numpy_random_seed(&random, 42);
    for (int j = 0; j < 2500; j++) {
        A[j] = nadir_numpy_random_normal(&random);
    }
    const nadir_cone_norm_result best = test_cone_find(context, 50, 50, A, NULL, true, NULL);
    assert_relative(best.value, 11.972858133458, 1e-12);
    assert_that(best.upper_bound <= best.value * (1 + 1e-6), "bound %.17g of %.17g", best.upper_bound,
                best.value);
    assert_true(best.iterations > 0 && best.iterations < 500);
    assert_true(best.first_bound > 1.1 * best.value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_brute_force), test_with_context(test_low_rank), test_with_context(test_grids),
        test_with_context(test_scores),      test_with_context(test_table),    test_with_context(test_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

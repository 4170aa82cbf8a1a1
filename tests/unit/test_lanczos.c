/* test_lanczos.c: top singular triples of operators, and proven norms of matrices, against Jacobi rotations.
 */
#include "support/support.h"

#include "linalg/eigen.h"
#include "linalg/lanczos.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/singular.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 1009

/* Column after column, with the operator made of it. */
typedef struct matrix {
    int64_t rows, columns;
    double *numbers;
    long double *exact; /* the same numbers */
    int64_t fails;      /* the product that fails, counted from 1; 0: none */
    int64_t products;
} matrix;

static nadir_status note_product(nadir_context *context, matrix *at)
{
    return ++at->products == at->fails
               ? nadir_fail(context, NADIR_ERROR_INTERRUPTED, "product %d", (int)at->products)
               : NADIR_OK;
}

static nadir_status apply(nadir_context *context, void *user, const double *x, double *y)
{
    matrix *at = user;
    for (int64_t i = 0; i < at->rows; i++) {
        y[i] = 0;
        for (int64_t j = 0; j < at->columns; j++) {
            y[i] += at->numbers[j * at->rows + i] * x[j];
        }
    }
    return note_product(context, at);
}

static nadir_status apply_transposed(nadir_context *context, void *user, const double *x, double *y)
{
    matrix *at = user;
    for (int64_t j = 0; j < at->columns; j++) {
        y[j] = 0;
        for (int64_t i = 0; i < at->rows; i++) {
            y[j] += at->numbers[j * at->rows + i] * x[i];
        }
    }
    return note_product(context, at);
}

static nadir_linear_map operator_of(matrix *at)
{
    return (nadir_linear_map){at->rows, at->columns, apply, apply_transposed, at};
}

/* rank: products of so many random vectors, with weights that fall by `decay` each; 0: independent entries.
 */
static matrix matrix_make(int64_t rows, int64_t columns, int rank, double decay, uint64_t seed)
{
    matrix made = {.rows = rows, .columns = columns};
    nadir_random random = test_random(seed);
    made.numbers = test_new(rows * columns, sizeof *made.numbers);
    made.exact = test_new(rows * columns, sizeof *made.exact);
    double *left = test_new(rows, sizeof *left);
    for (int64_t i = 0; i < rows * columns && rank == 0; i++) {
        made.numbers[i] = nadir_random_normal(&random);
    }
    for (int r = 0; r < rank; r++) {
        for (int64_t i = 0; i < rows; i++) {
            left[i] = pow(decay, r) * nadir_random_normal(&random);
        }
        for (int64_t j = 0; j < columns; j++) {
            const double right = nadir_random_normal(&random);
            for (int64_t i = 0; i < rows; i++) {
                made.numbers[j * rows + i] += left[i] * right;
            }
        }
    }
    for (int64_t i = 0; i < rows * columns; i++) {
        made.exact[i] = made.numbers[i];
    }
    free(left);
    return made;
}

static void matrix_clear(matrix *at)
{
    free(at->numbers);
    free(at->exact);
}

/* A x = sigma y, A^T y = sigma x, both unit. */
static void check_triple(const matrix *at, const nadir_singular_triple *triple, const double *x,
                         const double *y)
{
    const double limit = 1e-13 * triple->sigma;
    double left = 0;
    double right = 0;
    double x_square = 0;
    double y_square = 0;
    for (int64_t i = 0; i < at->rows; i++) {
        double sum = -triple->sigma * y[i];
        for (int64_t j = 0; j < at->columns; j++) {
            sum += at->numbers[j * at->rows + i] * x[j];
        }
        left += sum * sum;
        y_square += y[i] * y[i];
    }
    for (int64_t j = 0; j < at->columns; j++) {
        double sum = -triple->sigma * x[j];
        for (int64_t i = 0; i < at->rows; i++) {
            sum += at->numbers[j * at->rows + i] * y[i];
        }
        right += sum * sum;
        x_square += x[j] * x[j];
    }
    assert_close(x_square, 1, 1e-13);
    assert_close(y_square, 1, 1e-13);
    assert_that(sqrt(left) <= limit * 10, "|Ax - sigma y| = %g", sqrt(left));
    assert_that(fabs(sqrt(right) - triple->residual) <= limit * 10, "|A'y - sigma x| = %g, said %g",
                sqrt(right), triple->residual);
}

static void test_against_jacobi(void **state)
{
    static const struct {
        int64_t rows, columns;
        int rank;
        double decay;
    } cases[] = {
        {1, 1, 0, 0},      {1, 7, 0, 0},    {7, 1, 0, 0},      {2, 2, 0, 0},
        {9, 9, 0, 0},      {31, 31, 0, 0},  {33, 32, 0, 0},    {90, 20, 0, 0},
        {20, 90, 0, 0},    {60, 60, 1, 1},  {60, 60, 3, 1},    {70, 70, 0, 0},
        {64, 64, 64, 0.5}, {50, 40, 40, 1}, {40, 40, 40, 0.9}, {130, 90, 0, 0},
    };
    nadir_context *context = *state;
    const nadir_vec here = nadir_vec_host(context);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        matrix at = matrix_make(cases[i].rows, cases[i].columns, cases[i].rank, cases[i].decay, SEED + i);
        const nadir_linear_map of = operator_of(&at);
        test_singular truth = test_singular_make(at.rows, at.columns, at.exact);
        double *x = test_new(at.columns, sizeof *x);
        double *y = test_new(at.rows, sizeof *y);
        nadir_random random = context->random;
        nadir_singular_triple triple;
        test_note("case %zu, seed %d", i, (int)(SEED + i));
        assert_ok(context, nadir_lanczos_top(&here, &of, NULL, &random, 1e-12, 100000, x, y, &triple));
        assert_true(triple.converged && triple.products == at.products);
        assert_true(triple.residual <= 1e-12 * triple.sigma);
        assert_that(fabsl((long double)triple.sigma / truth.values[0] - 1) < 1e-13L,
                    "%.17g instead of %.17Lg", triple.sigma, truth.values[0]);
        check_triple(&at, &triple, x, y);
        /* from its own answer: at once */
        const int64_t before = triple.products;
        assert_ok(context, nadir_lanczos_top(&here, &of, x, NULL, 1e-10, 100000, x, y, &triple));
        assert_that(triple.converged && triple.products <= 8, "%d products, %d before", (int)triple.products,
                    (int)before);
        check_triple(&at, &triple, x, y);
        free(x);
        free(y);
        test_singular_clear(&truth);
        matrix_clear(&at);
    }
}

static void test_limits(void **state)
{
    nadir_context *context = *state;
    const nadir_vec here = nadir_vec_host(context);
    matrix at = matrix_make(80, 80, 0, 0, SEED);
    const nadir_linear_map of = operator_of(&at);
    double x[80] = {0};
    double y[80];
    nadir_random random = context->random;
    nadir_singular_triple triple;
    assert_fails(context, nadir_lanczos_top(&here, &of, x, NULL, 0, 100, x, y, &triple), NADIR_ERROR_ARGUMENT,
                 "norm 0");
    assert_ok(context, nadir_lanczos_top(&here, &of, NULL, &random, 0, 10, x, y, &triple));
    assert_true(!triple.converged && triple.products == 10);
    check_triple(&at, &triple, x, y);
    for (int64_t fails = 1; fails <= 4; fails++) {
        at.products = 0;
        at.fails = fails;
        assert_fails(context, nadir_lanczos_top(&here, &of, x, NULL, 0, 100, x, y, &triple),
                     NADIR_ERROR_INTERRUPTED, "product");
    }
    at.fails = 0;
    memset(at.numbers, 0, 80 * 80 * sizeof *at.numbers);
    assert_ok(context, nadir_lanczos_top(&here, &of, x, NULL, 0, 100, x, y, &triple));
    assert_true(triple.converged && triple.sigma == 0 && triple.residual == 0);
    at.numbers[3] = NAN;
    assert_fails(context, nadir_lanczos_top(&here, &of, x, NULL, 0, 100, x, y, &triple),
                 NADIR_ERROR_NOT_CONVERGED, "not finite");
    matrix_clear(&at);
}

static void test_proven_norms(void **state)
{
    static const struct {
        int64_t n;
        int rank;
        double decay;
    } cases[] = {{1, 0, 0}, {2, 0, 0}, {10, 0, 0}, {60, 0, 0}, {60, 1, 1}, {40, 40, 0.5}, {45, 45, 0.99}};
    nadir_context *context = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t n = cases[i].n;
        matrix at = matrix_make(n, n, cases[i].rank, cases[i].decay, SEED + i);
        test_singular truth = test_singular_make(n, n, at.exact);
        double *sizes = test_new(n * n, sizeof *sizes);
        double *work = test_new(3 * n, sizeof *work);
        double bound = NAN;
        test_note("case %zu, seed %d", i, (int)(SEED + i));
        assert_ok(context, nadir_spectral_norm_prove(context, n, at.numbers, 0, &bound));
        assert_that((long double)bound >= truth.values[0] &&
                        (long double)bound < truth.values[0] * (1 + 1e-10L),
                    "%.17g, the norm is %.17Lg", bound, truth.values[0]);
        long double fourth = 0;
        for (int64_t j = 0; j < n; j++) {
            fourth += powl(truth.values[j], 4);
        }
        fourth = powl(fourth, 0.25L);
        assert_ok(context, nadir_spectral_norm_fourth(context, n, at.numbers, &bound));
        assert_that((long double)bound >= fourth &&
                        (long double)bound < fourth * (1 + 1e-7L * powl((long double)n, 1.5L)),
                    "%.17g, the fourth root is %.17Lg", bound, fourth);
        /* a start below the norm must not pass */
        for (int order = -9; order <= -1; order++) {
            const double start = (double)truth.values[0] * (1 - pow(10, order));
            assert_ok(context, nadir_spectral_norm_prove(context, n, at.numbers, start, &bound));
            assert_that((long double)bound >= truth.values[0], "from %.17g: %.17g, the norm is %.17Lg", start,
                        bound, truth.values[0]);
        }
        for (int64_t j = 0; j < n * n; j++) {
            sizes[j] = fabs(at.numbers[j]);
            at.exact[j] = sizes[j];
        }
        test_singular positive = test_singular_make(n, n, at.exact);
        bound = nadir_spectral_norm_quotient(context, n, sizes, work);
        assert_that((long double)bound >= positive.values[0] &&
                        (long double)bound < positive.values[0] * 1.05L,
                    "%.17g, the norm is %.17Lg", bound, positive.values[0]);
        test_singular_clear(&positive);
        test_singular_clear(&truth);
        free(sizes);
        free(work);
        matrix_clear(&at);
    }
}

static void test_scarce_memory(void **state)
{
    test_scarce scarce;
    nadir_context *context = test_scarce_context(&scarce);
    matrix at = matrix_make(12, 12, 0, 0, SEED);
    const int64_t before = scarce.blocks;
    nadir_status status = NADIR_ERROR_MEMORY;
    double bound;
    (void)state;
    for (int64_t allowed = 0; status != NADIR_OK && allowed < 100; allowed++) {
        scarce.left = allowed;
        status = nadir_spectral_norm_prove(context, 12, at.numbers, 0, &bound);
        if (status == NADIR_OK) {
            status = nadir_spectral_norm_fourth(context, 12, at.numbers, &bound);
        }
        assert_true(status == NADIR_OK || status == NADIR_ERROR_MEMORY);
        assert_int_equal(scarce.blocks, before);
    }
    assert_int_equal(status, NADIR_OK);
    matrix_clear(&at);
    test_scarce_end(&scarce, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_against_jacobi),
        test_with_context(test_limits),
        test_with_context(test_proven_norms),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

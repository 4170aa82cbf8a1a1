/* The oracle against bisections in long double, degenerate rows, and the kernels of its solutions. */
#include "support/support.h"

#include "support/lmo.h"
#include "support/naive_rows.h"
#include "support/reference.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1123 };

static const nadir_domain domains[] = {NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT};

/* The rows of one state share a budget. */
static void test_reference(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    const double norms[] = {1, 2, INFINITY, 1.5, 3, 1.2, 6};
    for (int i = 0; i < 7 * 12; i++) {
        const double p = norms[i % 7];
        const nadir_domain domain = domains[i / 7 % 2];
        const int kind = i < 7 * 4 ? -1 : (const int[]){0, 1, 4}[i % 3]; /* rewards on landing */
        test_note("seed %d, round %d, p %g, domain %d, landing %d", SEED, i, p, (int)domain, kind);
        test_rows made = test_rows_make_landing(context, &random, p, domain, i % 2, kind);
        made.rows.order = &made.order;
        const int64_t s = (int64_t)nadir_random_below(&random, (uint64_t)made.states);
        const int64_t first = made.model->state_rows[s];
        const int64_t count = made.model->state_rows[s + 1] - first;
        const double beta = pow(10, -3 * nadir_random_uniform(&random));
        nadir_lmo_budget budget;
        nadir_lmo_solve(&made.rows, first, first + count, made.weights + first, beta, made.room,
                        made.answers + first, &budget);
        const double gain = test_naive_gain(&(test_naive_rows){
            .count = count,
            .states = made.states,
            .phat = made.phat + first * made.states,
            .v = made.v,
            .e = made.e + first * made.states,
            .alpha = made.scales + first,
            .weight = made.weights + first,
            .support = domain == NADIR_DOMAIN_SUPPORT,
            .p = p,
            .beta = beta,
        });
        assert_close(budget.gain, gain, test_long_unit() < 1e-18 ? 1e-12 : 1e-8);
        test_rows_clear(&made);
    }
}

/* Sums along the order against sums over the states. */
static void check_below(const nadir_value_order *order, double omega)
{
    long double first = 0;
    long double second = 0;
    int64_t count = 0;
    for (int64_t s = 0; s < order->states; s++) {
        const long double g = (long double)omega - order->x[s];
        if (g > 0) {
            first += g;
            second += g * g;
            count++;
        }
    }
    const nadir_value_order_sums below = nadir_value_order_below(order, omega);
    const long double allowed = 1e-15L + (long double)(test_long_unit() * (double)order->states);
    assert_int_equal(below.count, count);
    assert_that(fabsl(below.first - first) <= allowed * first, "first %.17g of %.17Lg", below.first, first);
    assert_that(fabsl(below.second - second) <= allowed * second, "second %.17g of %.17Lg", below.second,
                second);
}

static void test_order(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    enum { STATES = 1000 };
    static double v[STATES];
    nadir_value_order order = {0};
    for (int round = 0; round < 6; round++) {
        for (int64_t s = 0; s < STATES; s++) {
            const double normal = nadir_random_normal(&random);
            /* spread out; many equal; all but two close together, near the top; the order before */
            v[s] = round == 0   ? normal
                   : round == 1 ? floor(2 * normal)
                   : round == 2 ? (s < 2 ? -(double)s : 1e9 + normal)
                   : round == 3 ? v[s]
                   : round == 4 ? 1e-300 * normal
                                : 1e300 * (double)nadir_random_below(&random, 3) / 2;
        }
        assert_ok(context, nadir_value_order_make(context, STATES, v, &order));
        for (int64_t i = 0; i < STATES; i++) {
            const int32_t s = order.order[i];
            assert_int_equal(order.rank[s], i);
            assert_true(order.sorted[i] == order.x[s]);
            if (i > 0) {
                const int32_t before = order.order[i - 1];
                assert_true(before < s ? v[before] <= v[s] : v[before] < v[s]);
            }
        }
        assert_true(order.sorted[0] == 0 && order.sorted[STATES - 1] == 1);
        for (int i = 0; i < 50; i++) {
            const double omega = i == 0   ? 0
                                 : i == 1 ? 1
                                 : i == 2 ? 2
                                          : order.sorted[20 * i] + (i % 3) * 1e-12;
            check_below(&order, omega);
        }
    }
    v[7] = NAN;
    assert_fails(context, nadir_value_order_make(context, STATES, v, &order), NADIR_ERROR_ARGUMENT,
                 "state 7");
    v[7] = 1e308;
    v[8] = -1e308;
    assert_fails(context, nadir_value_order_make(context, STATES, v, &order), NADIR_ERROR_ARGUMENT,
                 "too far apart");
    nadir_value_order_clear(context, &order);
}

/* Every entry of the kernel is that of the rows, for all kinds of rows, and again after other answers. */
static void check_kernel(test_rows *made, nadir_kernel *kernel)
{
    double *unit = test_new(made->states, sizeof *unit);
    double *column = test_new(made->count, sizeof *column);
    test_rows_write(made);
    for (int64_t t = 0; t < made->states; t++) {
        unit[t] = 1;
        nadir_kernel_multiply(made->context, kernel, unit, column);
        for (int64_t row = 0; row < made->count; row++) {
            const double X = made->X[row * made->states + t];
            assert_that(fabs(column[row] - X) <= 4e-15, "row %d, state %d: %.17g, not %.17g", (int)row,
                        (int)t, column[row], X);
        }
        unit[t] = 0;
    }
    free(unit);
    free(column);
}

static void test_kernels(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < 10 * TEST_ROWS_NORMS; i++) {
        const double p = test_rows_norms[i % TEST_ROWS_NORMS];
        const nadir_domain domain = domains[i / TEST_ROWS_NORMS % 2];
        test_note("seed %d, round %d, p %g, domain %d", SEED, i, p, (int)domain);
        test_rows made = test_rows_make(context, &random, p, domain, i % 2);
        made.rows.order = &made.order;
        nadir_kernel *kernel = NULL;
        for (int again = 0; again < test_often(3); again++) {
            nadir_lmo_budget budget;
            const double beta = again == 1 ? 50 : nadir_random_uniform(&random);
            nadir_lmo_solve(&made.rows, 0, made.count, made.weights, beta, made.room, made.answers, &budget);
            const nadir_kernel *before = kernel;
            assert_ok(context, nadir_lmo_kernel(context, &made.rows, made.answers, &kernel));
            assert_true(again == 0 || nadir_kernel_perturbed(kernel) == NULL || kernel == before);
            check_kernel(&made, kernel);
            test_rows_set(&made, &random, (int)nadir_random_below(&random, 2));
        }
        nadir_kernel_free(kernel);
        test_rows_clear(&made);
    }
}

/* Where nothing can be gained, or nothing holds the rows. */
static void test_degenerate(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < 4 * TEST_ROWS_NORMS; i++) {
        const double p = test_rows_norms[i % TEST_ROWS_NORMS];
        test_note("seed %d, round %d, p %g", SEED, i, p);
        test_rows made = test_rows_make(context, &random, p, domains[i % 2], 2); /* constant v */
        made.rows.order = &made.order;
        nadir_lmo_budget budget;
        nadir_lmo_solve(&made.rows, 0, made.count, made.weights, 0.5, made.room, made.answers, &budget);
        assert_true(budget.gain == 0 && budget.tau == 0 && budget.norm == 0);
        test_rows_set(&made, &random, 0);
        nadir_lmo_solve(&made.rows, 0, made.count, made.weights, 0, made.room, made.answers, &budget);
        assert_true(budget.gain == 0 && budget.norm == 0);
        test_rows_write(&made);
        assert_memory_equal(made.X, made.phat, (size_t)(made.count * made.states) * sizeof *made.X);
        /* a radius that holds nothing: all mass at the smallest allowed v, exactly */
        nadir_lmo_solve(&made.rows, 0, made.count, made.weights, 1e9, made.room, made.answers, &budget);
        test_rows_write(&made);
        for (int64_t row = 0; row < made.count; row++) {
            const double *X = made.X + row * made.states;
            if (!(made.scales[row] > 0) || !(made.weights[row] > 0)) {
                continue;
            }
            double lowest = INFINITY;
            const double *phat = made.phat + row * made.states;
            for (int64_t t = 0; t < made.states; t++) {
                lowest = i % 2 == 0 || phat[t] > 0 ? fmin(lowest, made.v[t]) : lowest;
            }
            for (int64_t t = 0; t < made.states; t++) {
                assert_true(made.v[t] == lowest ? fabs(X[t] - 1) <= 1e-15 : X[t] == 0);
            }
        }
        assert_true(isinf(p) || budget.tau == 0);
        test_rows_clear(&made);
    }
}

/* Memory that runs out leaves nothing behind. */
static void test_scarce_memory(void **state)
{
    (void)state;
    const double norms[] = {1, 2, 3};
    for (int i = 0; i < 3; i++) {
        nadir_status status = NADIR_ERROR_MEMORY;
        for (int64_t limit = 0; status != NADIR_OK; limit++) {
            test_note("p %g, %d allocations", norms[i], (int)limit);
            test_scarce scarce;
            nadir_context *context = test_scarce_context(&scarce);
            nadir_random random = test_random(5);
            test_rows made = test_rows_make(context, &random, norms[i], NADIR_DOMAIN_SIMPLEX, 0);
            made.rows.order = &made.order;
            nadir_value_order other = {0};
            nadir_kernel *kernel = NULL;
            nadir_lmo_budget budget;
            scarce.left = limit;
            status = nadir_value_order_make(context, made.states, made.v, &other);
            if (status == NADIR_OK) {
                status = nadir_lmo_solve_all(context, &made.rows, made.weights, 0.3, made.answers, &budget);
            }
            if (status == NADIR_OK) {
                status = nadir_lmo_kernel(context, &made.rows, made.answers, &kernel);
            }
            assert_that(status == NADIR_OK || status == NADIR_ERROR_MEMORY, "status %d", (int)status);
            assert_true(limit < 200);
            scarce.left = INT64_MAX;
            nadir_kernel_free(kernel);
            nadir_value_order_clear(context, &other);
            test_rows_clear(&made);
            test_scarce_end(&scarce, context);
        }
    }
    test_note_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_reference),    test_with_context(test_order),
        test_with_context(test_kernels),      test_with_context(test_degenerate),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Products with D and what they are known to: from nothing, improved from near by, combined from others. */
#include "support/support.h"

#include "core/random.h"
#include "proof/verified_solve.h"
#include "support/golden.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/robust.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 5772

/* From near a product x of b that is known as `known_x` says: known as well, whatever the start. */
static void check_improved(nadir_context *context, const nadir_problem *problem, bool transposed,
                           const double *b, const double *x, const nadir_solve_error *known_x,
                           nadir_random *random)
{
    const nadir_verified_solver known = nadir_verified_solver_make(context, problem);
    const int64_t n = problem->states;
    double *near = test_new(n, sizeof *near);
    nadir_solve_error enclosed;
    for (int64_t s = 0; s < n; s++) {
        near[s] = x[s] * (1 + 1e-7 * nadir_random_normal(random));
    }
    assert_ok(context,
              nadir_verified_solve(context, problem, &known, transposed, b, 0, near, 0, near, &enclosed));
    assert_that(enclosed.residual <= 8 * known_x->residual, "%g from near by, %g from nothing",
                enclosed.residual, known_x->residual);
    for (int64_t s = 0; s < n; s++) {
        assert_true(fabs(near[s] - x[s]) <= enclosed.error + known_x->error);
    }
    free(near);
}

/* Right-hand sides of very different sizes: each product is known relative to its own. */
static void test_verified_solves(void **state)
{
    nadir_context *context = *state;
    const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    test_problem made[2];
    for (int i = 0; i < 2; i++) {
        nadir_model *model = test_golden_model(context, &test_goldens[1], false);
        made[i] = test_problem_make(context, model, test_golden_policy(context, model), &ball,
                                    i == 0 ? NULL : "krylov", 1);
    }
    const nadir_problem *exact = test_problem_view(&made[0]);
    const nadir_problem *iterated = test_problem_view(&made[1]);
    const nadir_verified_solver known[2] = {nadir_verified_solver_make(context, exact),
                                            nadir_verified_solver_make(context, iterated)};
    enum { SOME = 5 };
    const int64_t n = exact->states;
    const double sizes[SOME] = {1, 1e-200, 1e150, 0, 3e-9};
    double *b = test_new(n, sizeof *b);
    double *x = test_new(n, sizeof *x);
    double *other = test_new(n, sizeof *other);
    nadir_random random = test_random(SEED);
    for (int i = 0; i < 2 * SOME; i++) {
        const bool transposed = i % 2 == 1;
        nadir_solve_error alone;
        nadir_solve_error near;
        for (int64_t s = 0; s < n; s++) {
            b[s] = sizes[i / 2] * nadir_random_normal(&random);
        }
        assert_ok(context, nadir_verified_solve(context, exact, &known[0], transposed, b, i == 0 ? 0.5 : 0,
                                                NULL, 0, x, &alone));
        assert_ok(context, nadir_verified_solve(context, iterated, &known[1], transposed, b, 0, NULL, 0,
                                                other, &near));
        double sum = 0;
        for (int64_t s = 0; s < n; s++) {
            const double off = fabs(x[s] - other[s]);
            sum = transposed ? sum + off : fmax(sum, off);
        }
        assert_that(sum <= near.error + alone.error, "side %d: off by %g of %g", i, sum, near.error);
        check_improved(context, exact, transposed, b, x, &alone, &random);
    }
    free(b);
    free(x);
    free(other);
    test_problem_clear(&made[0]);
    test_problem_clear(&made[1]);
}

/* Combinations of a few vectors, of many sizes, some zero: [COLUMNS * n]. */
enum { COLUMNS = 24, BASIS = 3 };

static void draw_combinations(int64_t n, const double *basis, nadir_random *random, double *b)
{
    for (int j = 0; j < COLUMNS; j++) {
        const double size = j % 7 == 6 ? 0 : pow(10, (j * 37) % 200 - 100);
        double factors[BASIS];
        for (int k = 0; k < BASIS; k++) {
            factors[k] = pow(1e-3, k) * nadir_random_normal(random);
        }
        for (int64_t s = 0; s < n; s++) {
            double sum = 0;
            for (int k = 0; k < BASIS; k++) {
                sum += factors[k] * basis[k * n + s];
            }
            b[j * n + s] = size * sum;
        }
    }
}

/* x as `enclosed` has it against products that are solved for one by one, by factors. */
static void check_products(nadir_context *context, const nadir_problem *exact, bool transposed, double wider,
                           const double *b, const double *x, const nadir_solve_error *enclosed)
{
    const nadir_verified_solver known = nadir_verified_solver_make(context, exact);
    const int64_t n = exact->states;
    double *one = test_new(n, sizeof *one);
    for (int j = 0; j < COLUMNS; j++) {
        nadir_solve_error alone;
        double sum = 0;
        assert_ok(context, nadir_verified_solve(context, exact, &known, transposed, b + j * n, 0, NULL, 0,
                                                one, &alone));
        assert_that(enclosed[j].residual <= wider * alone.residual, "column %d: %g among many, %g alone", j,
                    enclosed[j].residual, alone.residual);
        /* roundings that a product may have cannot be fewer in a sum of such */
        assert_that(enclosed[j].residual >= 0.9 * alone.residual, "column %d: %g among many, %g alone", j,
                    enclosed[j].residual, alone.residual);
        for (int64_t s = 0; s < n; s++) {
            const double off = fabs(x[j * n + s] - one[s]);
            sum = transposed ? sum + off : fmax(sum, off);
        }
        assert_that(sum <= enclosed[j].error + alone.error, "column %d: off by %g of %g", j, sum,
                    enclosed[j].error);
    }
    free(one);
}

/* Right-hand sides that are combinations of a few: few solves, and each product is known as well as alone; by
 * an iteration, whose products are off by more than rounding, it is as far off as is said. */
static void test_combinations(void **state)
{
    nadir_context *context = *state;
    const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    test_problem made[2];
    for (int i = 0; i < 2; i++) {
        nadir_model *model = test_golden_model(context, &test_goldens[1], false);
        made[i] = test_problem_make(context, model, test_golden_policy(context, model), &ball,
                                    i == 0 ? NULL : "krylov", 1);
    }
    const nadir_problem *exact = test_problem_view(&made[0]);
    const int64_t n = exact->states;
    double *basis = test_new(BASIS * n, sizeof *basis);
    double *b = test_new(COLUMNS * n, sizeof *b);
    double *x = test_new(COLUMNS * n, sizeof *x);
    nadir_random random = test_random(SEED);
    for (int64_t i = 0; i < BASIS * n; i++) {
        basis[i] = nadir_random_normal(&random);
    }
    for (int i = 0; i < 4; i++) {
        const nadir_problem *problem = test_problem_view(&made[i / 2]);
        const nadir_verified_solver known = nadir_verified_solver_make(context, problem);
        nadir_solve_error enclosed[COLUMNS] = {{0}};
        nadir_backend_statistics before;
        nadir_backend_statistics after;
        draw_combinations(n, basis, &random, b);
        nadir_occupancy_statistics(problem->occupancy, &before);
        nadir_solve_basis made_of = {0};
        for (int j = 0; j < COLUMNS; j++) {
            assert_ok(context, nadir_verified_solve_near(context, problem, &known, i % 2 == 1, b + j * n, 0,
                                                         NULL, &made_of, x + j * n, &enclosed[j]));
        }
        nadir_solve_basis_clear(context, &made_of);
        nadir_occupancy_statistics(problem->occupancy, &after);
        assert_that(i >= 2 || after.solves - before.solves == BASIS, "%lld solves",
                    (long long)(after.solves - before.solves));
        check_products(context, exact, i % 2 == 1, i < 2 ? 16 : 1e6, b, x, enclosed);
    }
    free(basis);
    free(b);
    free(x);
    test_problem_clear(&made[0]);
    test_problem_clear(&made[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(test_verified_solves),
                                       test_with_context(test_combinations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

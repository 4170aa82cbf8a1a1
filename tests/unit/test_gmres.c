/* test_gmres.c: preconditioned GMRES on operators given by their products. */
#include "support/support.h"

#include "core/random.h"
#include "linalg/iterative.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED   3511
#define STATES 40
#define MOST   11 /* right-hand sides: more than are done at once */

/* A = I - gamma P for a random P, and K = I - gamma P0 for one nearby. */
typedef struct problem {
    nadir_context *context;
    double matrix[STATES * STATES]; /* A */
    test_system exact;              /* of A */
    test_system near;               /* of K */
    double noise;                   /* relative error of the preconditioner */
    nadir_random random;
    int64_t applied, preconditioned;
    int64_t stop_after; /* products; -1: never */
    nadir_linear_system system;
    double *work;
    double b[MOST * STATES];
    double x[MOST * STATES];
} problem;

static nadir_status apply(nadir_context *context, void *user, bool transposed, int64_t count, const double *x,
                          double *y)
{
    problem *p = user;
    if (p->stop_after >= 0 && p->applied >= p->stop_after) {
        return nadir_fail(context, NADIR_ERROR_INTERRUPTED, "interrupted by the test");
    }
    p->applied += count;
    for (int64_t j = 0; j < count; j++) {
        for (int64_t s = 0; s < STATES; s++) {
            y[j * STATES + s] = 0;
            for (int64_t t = 0; t < STATES; t++) {
                y[j * STATES + s] +=
                    p->matrix[transposed ? t * STATES + s : s * STATES + t] * x[j * STATES + t];
            }
        }
    }
    return NADIR_OK;
}

static nadir_status precondition(nadir_context *context, void *user, bool transposed, int64_t count,
                                 const double *r, double *z)
{
    problem *p = user;
    long double wide[STATES];
    (void)context;
    p->preconditioned += count;
    for (int64_t j = 0; j < count; j++) {
        test_system_solve(&p->near, transposed, r + j * STATES, wide);
        for (int64_t s = 0; s < STATES; s++) {
            z[j * STATES + s] = (double)wide[s] * (1 + p->noise * nadir_random_normal(&p->random));
        }
    }
    return NADIR_OK;
}

/* Random rows that sum to one, each a mixture with `share` of another. */
static void make_rows(nadir_random *random, double share, long double *rows, long double *mixed)
{
    for (int64_t s = 0; s < STATES; s++) {
        long double sum = 0;
        long double other[STATES];
        long double other_sum = 0;
        for (int64_t t = 0; t < STATES; t++) {
            rows[s * STATES + t] = nadir_random_uniform(random);
            other[t] = nadir_random_exponential(random);
            sum += rows[s * STATES + t];
            other_sum += other[t];
        }
        for (int64_t t = 0; t < STATES; t++) {
            rows[s * STATES + t] /= sum;
            mixed[s * STATES + t] = (1 - share) * rows[s * STATES + t] + share * other[t] / other_sum;
        }
    }
}

static problem *make_problem(nadir_context *context, double gamma, double share, bool preconditioned)
{
    problem *p = test_new(1, sizeof *p);
    long double *near = test_new(STATES * STATES, sizeof *near);
    long double *rows = test_new(STATES * STATES, sizeof *rows);
    p->context = context;
    p->stop_after = -1;
    nadir_random_seed(&p->random, SEED);
    make_rows(&p->random, share, near, rows);
    p->exact = test_system_make(STATES, rows, gamma);
    p->near = test_system_make(STATES, near, gamma);
    for (int64_t i = 0; i < STATES * STATES; i++) {
        p->matrix[i] = (i % (STATES + 1) == 0) - gamma * (double)rows[i];
    }
    p->system = (nadir_linear_system){
        .size = STATES, .apply = apply, .precondition = preconditioned ? precondition : NULL, .user = p};
    for (int64_t i = 0; i < MOST * STATES; i++) {
        p->b[i] = nadir_random_normal(&p->random);
    }
    p->work = test_new(nadir_gmres_work(&p->system), sizeof *p->work);
    free(near);
    free(rows);
    return p;
}

static void free_problem(problem *p)
{
    nadir_context_free(p->context);
    test_system_clear(&p->exact);
    test_system_clear(&p->near);
    free(p->work);
    free(p);
}

static nadir_status solve(problem *p, bool transposed, int64_t count, double residual, int64_t *products)
{
    const nadir_gmres settings = {.transposed = transposed, .residual = residual, .work = p->work};
    return nadir_gmres_solve(p->context, &p->system, &settings, count, p->b, p->x, products);
}

static void assert_solved(const problem *p, bool transposed, int64_t count, double tolerance)
{
    for (int64_t j = 0; j < count; j++) {
        long double exact[STATES];
        double scale = 0;
        test_system_solve(&p->exact, transposed, p->b + j * STATES, exact);
        for (int64_t s = 0; s < STATES; s++) {
            scale = fmax(scale, (double)fabsl(exact[s]));
        }
        for (int64_t s = 0; s < STATES; s++) {
            assert_that(fabs(p->x[j * STATES + s] - (double)exact[s]) <= tolerance * scale,
                        "column %d, state %d: %g, not %g; seed %d", (int)j, (int)s, p->x[j * STATES + s],
                        (double)exact[s], SEED);
        }
    }
}

static void nearby_kernels_take_few_products(void **state)
{
    (void)state;
    for (int transposed = 0; transposed < 2; transposed++) {
        problem *p = make_problem(test_context(), 0.99, 0.01, true);
        int64_t products;
        assert_ok(p->context, solve(p, transposed, MOST, 1e-13, &products));
        assert_solved(p, transposed, MOST, 1e-10);
        assert_int_equal(products, p->applied);
        assert_true(products <= 9 * MOST);
        /* no more solves than products: none is made at a restart */
        assert_true(p->preconditioned < products);
        free_problem(p);
    }
}

static void the_nominal_kernel_takes_one_step(void **state)
{
    (void)state;
    problem *p = make_problem(test_context(), 0.99, 0, true);
    int64_t products;
    assert_ok(p->context, solve(p, false, 1, 1e-12, &products));
    assert_solved(p, false, 1, 1e-10);
    assert_int_equal(p->preconditioned, 1);
    assert_int_equal(products, 2);
    free_problem(p);
}

static void a_rough_preconditioner_will_do(void **state)
{
    (void)state;
    for (int transposed = 0; transposed < 2; transposed++) {
        problem *p = make_problem(test_context(), 0.95, 0.3, true);
        int64_t products;
        p->noise = 0.05;
        assert_ok(p->context, solve(p, transposed, MOST, 1e-12, &products));
        assert_solved(p, transposed, MOST, 1e-10);
        free_problem(p);
    }
}

/* Slow enough for several restarts: a cycle, on which each step brings one state. */
static void it_restarts(void **state)
{
    (void)state;
    problem *p = make_problem(test_context(), 0.8, 0, false);
    memset(p->matrix, 0, sizeof p->matrix);
    for (int64_t s = 0; s < STATES; s++) {
        p->matrix[s * STATES + s] = 1;
        p->matrix[s * STATES + (s + 1) % STATES] = -0.8;
    }
    int64_t products;
    memset(p->b, 0, sizeof p->b);
    p->b[0] = 1;
    assert_ok(p->context, solve(p, false, 1, 1e-11, &products));
    assert_true(products > NADIR_GMRES_RESTART + 2);
    /* x_0 = 1 + 0.8 x_1, ..., x_39 = 0.8 x_0 */
    assert_close(p->x[0], 1 / (1 - pow(0.8, STATES)), 1e-10);
    assert_close(p->x[STATES - 1], 0.8 * p->x[0], 1e-10);
    free_problem(p);
}

static void without_a_preconditioner_it_works_too(void **state)
{
    (void)state;
    for (int transposed = 0; transposed < 2; transposed++) {
        problem *p = make_problem(test_context(), 0.99, 0.1, false);
        int64_t products;
        assert_ok(p->context, solve(p, transposed, MOST, 1e-12, &products));
        assert_solved(p, transposed, MOST, 1e-10);
        assert_int_equal(p->preconditioned, 0);
        free_problem(p);
    }
}

static void a_guess_that_is_right_takes_one_product(void **state)
{
    (void)state;
    problem *p = make_problem(test_context(), 0.9, 0.1, true);
    int64_t products;
    assert_ok(p->context, solve(p, false, 3, 1e-12, &products));
    assert_ok(p->context, solve(p, false, 3, 1e-12, &products));
    assert_int_equal(products, 3);
    free_problem(p);
}

static void scales_do_not_matter(void **state)
{
    (void)state;
    static const double scales[] = {1e-200, 1e-150, 1e150, 1e290};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        problem *p = make_problem(test_context(), 0.99, 0.05, true);
        int64_t products;
        for (int64_t k = 0; k < STATES; k++) {
            p->b[k] *= scales[i];                   /* column 0 alone */
            p->b[STATES + k] = 0;                   /* column 1: nothing to do */
            p->b[2 * STATES + k] *= scales[i] / 10; /* column 2 */
        }
        assert_ok(p->context, solve(p, i == 1, 3, scales[i] * 1e-13, &products));
        assert_solved(p, i == 1, 3, 1e-10);
        free_problem(p);
    }
}

static void a_singular_operator_is_refused(void **state)
{
    (void)state;
    problem *p = make_problem(test_context(), 0.9, 0.1, false);
    int64_t products;
    for (int64_t t = 0; t < STATES; t++) {
        p->matrix[7 * STATES + t] = p->matrix[3 * STATES + t];
    }
    assert_fails(p->context, solve(p, false, 2, 1e-12, &products), NADIR_ERROR_NOT_CONVERGED, "stays at");
    memset(p->matrix, 0, sizeof p->matrix);
    memset(p->x, 0, sizeof p->x);
    assert_fails(p->context, solve(p, true, 1, 1e-12, &products), NADIR_ERROR_NOT_CONVERGED,
                 "right-hand side 0");
    free_problem(p);
}

static void rounding_is_accepted_up_to_ten_times_the_goal(void **state)
{
    (void)state;
    problem *p = make_problem(test_context(), 0.9, 0.1, true);
    int64_t products;
    assert_ok(p->context, solve(p, false, 1, 2e-16, &products));
    assert_solved(p, false, 1, 1e-13);
    assert_true(products < 100);
    memset(p->x, 0, sizeof p->x);
    assert_fails(p->context, solve(p, false, 1, 1e-25, &products), NADIR_ERROR_NOT_CONVERGED, "1e-25 was");
    assert_solved(p, false, 1, 1e-13);
    free_problem(p);
}

static void numbers_that_are_not_finite_do_not_get_out(void **state)
{
    (void)state;
    static const double wrong[] = {NAN, INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        problem *p = make_problem(test_context(), 0.9, 0.1, true);
        int64_t products;
        p->b[STATES + 3] = wrong[i];
        assert_fails(p->context, solve(p, false, 2, 1e-12, &products), NADIR_ERROR_NOT_CONVERGED,
                     "right-hand side 1");
        p->b[STATES + 3] = 0;
        p->matrix[5] = wrong[i];
        memset(p->x, 0, sizeof p->x);
        assert_fails(p->context, solve(p, false, 2, 1e-12, &products), NADIR_ERROR_NOT_CONVERGED,
                     "right-hand side");
        free_problem(p);
    }
}

static void the_limit_is_kept(void **state)
{
    (void)state;
    problem *p = make_problem(test_context(), 0.9999, 0.9, false);
    const nadir_gmres settings = {.residual = 1e-15, .limit = 5, .work = p->work};
    int64_t products;
    p->b[0] = 1e6;
    assert_fails(p->context, nadir_gmres_solve(p->context, &p->system, &settings, 1, p->b, p->x, &products),
                 NADIR_ERROR_NOT_CONVERGED, "was wanted");
    assert_true(products <= 5 + NADIR_GMRES_RESTART);
    free_problem(p);
}

static void a_product_that_fails_ends_it(void **state)
{
    (void)state;
    problem *p = make_problem(test_context(), 0.99, 0.3, true);
    int64_t products;
    p->stop_after = 7;
    assert_fails(p->context, solve(p, false, 3, 1e-12, &products), NADIR_ERROR_INTERRUPTED,
                 "interrupted by the test");
    free_problem(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearby_kernels_take_few_products),
        cmocka_unit_test(the_nominal_kernel_takes_one_step),
        cmocka_unit_test(a_rough_preconditioner_will_do),
        cmocka_unit_test(it_restarts),
        cmocka_unit_test(without_a_preconditioner_it_works_too),
        cmocka_unit_test(a_guess_that_is_right_takes_one_product),
        cmocka_unit_test(scales_do_not_matter),
        cmocka_unit_test(a_singular_operator_is_refused),
        cmocka_unit_test(rounding_is_accepted_up_to_ten_times_the_goal),
        cmocka_unit_test(numbers_that_are_not_finite_do_not_get_out),
        cmocka_unit_test(the_limit_is_kept),
        cmocka_unit_test(a_product_that_fails_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

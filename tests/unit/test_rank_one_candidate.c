/* Kernels Phat - b k^T of the free domain, from (c, k) to the return. */
#include "support/support.h"

#include "linalg/gstd.h"
#include "linalg/vector.h"
#include "proof/rank_one_check.h"
#include "search/free_search.h"
#include "support/families.h"
#include "support/free_reference.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 31415

static const double norms[] = {1, 1.0001, 1.5, 2, 3, 50, 1e4};
enum { NORMS = sizeof norms / sizeof *norms };

/* A family with random scales, some of them zero. */
static test_problem make_problem(nadir_context *context, int family, double p, nadir_random *random,
                                 double sign)
{
    nadir_model *model = test_families[family].make(context, random);
    double *scales = test_new(model->rows, sizeof *scales);
    const double radius = 1;
    for (int64_t row = 0; row < model->rows; row++) {
        scales[row] = nadir_random_below(random, 4) == 0 ? 0 : 0.1 + nadir_random_uniform(random);
    }
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, p, &radius, scales);
    test_problem made = test_problem_make(context, model, test_policy(context, model, TEST_RANDOM, random),
                                          &ball, NULL, sign);
    free(scales);
    return made;
}

/* c of p-norm `size` and a zero-sum k of p-norm 1, both random: [2 * states]. To be freed. */
static double *make_pair(nadir_context *context, const nadir_problem *problem, double size,
                         nadir_random *random)
{
    const int64_t n = problem->states;
    const double p = problem->uncertainty->p;
    double *pair = test_new(2 * n, sizeof *pair);
    for (int64_t i = 0; i < 2 * n; i++) {
        pair[i] = i >= n || problem->uncertainty->W[i] > 0 ? nadir_random_normal(random) : 0;
    }
    const double mean = nadir_vector_sum(n, pair + n) / (double)n;
    for (int64_t s = 0; s < n; s++) {
        pair[n + s] -= mean;
    }
    for (int part = 0; part < 2; part++) {
        double norm;
        assert_ok(context, nadir_norm_p(context, n, pair + part * n, p, &norm));
        nadir_vector_divide(n, norm / (part == 0 ? size : 1), pair + part * n);
    }
    return pair;
}

/* b^pi = W c, and the scaled p-norm of b is that of c. */
static void test_expand(void **state)
{
    (void)state;
    for (int i = 0; i < NORMS; i++) {
        nadir_context *context = test_context();
        nadir_random random = test_random(SEED);
        test_problem made = make_problem(context, 6, norms[i], &random, 1);
        const nadir_problem *problem = test_problem_view(&made);
        double *pair = make_pair(context, problem, 0.3, &random);
        double *b = test_new(problem->rows, sizeof *b);
        nadir_rank_one_states_expand(problem, pair, b);
        test_note("norm %g, seed %d", norms[i], SEED);
        for (int64_t s = 0; s < problem->states; s++) {
            long double average = 0;
            long double power = 0;
            for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1];
                 row++) {
                const double scale = problem->uncertainty->scales[row];
                average += problem->policy->probabilities[row] * (long double)b[row];
                assert_true(scale > 0 || b[row] == 0);
                power += scale > 0 ? powl(fabsl(b[row] / (long double)scale / pair[s]), norms[i]) : 0;
            }
            const double W = problem->uncertainty->W[s];
            assert_close((double)average, W * pair[s], 1e-13);
            assert_close((double)powl(power, 1 / (long double)norms[i]), W > 0 ? 1 : 0, 1e-13);
        }
        free(pair);
        free(b);
        test_problem_clear(&made);
        nadir_context_free(context);
    }
    test_note_clear();
}

/* J, lambda and the size of the kernel are those of the kernel written out. */
static void test_return(void **state)
{
    (void)state;
    for (int i = 0; i < NORMS; i++) {
        for (int family = 0; family < TEST_FAMILIES - 1; family++) {
            nadir_context *context = test_context();
            nadir_random random = test_random(SEED + (uint64_t)family);
            const double sign = family % 2 == 0 ? 1 : -1;
            test_problem made = make_problem(context, family, norms[i], &random, sign);
            const nadir_problem *problem = test_problem_view(&made);
            const double beta = 0.02;
            double *pair = make_pair(context, problem, beta, &random);
            nadir_candidate attack = {.iterations = 7, .method = "mine"};
            test_note("norm %g, family %s, seed %d", norms[i], test_families[family].name, SEED + family);
            assert_ok(context, nadir_rank_one_candidate(context, problem, beta, pair, pair + problem->states,
                                                        &attack));
            const test_found found = test_found_measure(context, problem, attack.kernel);
            assert_close(attack.J, found.J, 1e-12);
            assert_true(attack.J == problem->J - attack.lambda);
            assert_that(fabs(found.norm / beta - 1) <= 1e-11, "norm %.17g", found.norm);
            assert_that(found.row_sum <= 1e-14, "row sum off by %g", found.row_sum);
            assert_true(attack.iterations == 7 && strcmp(attack.method, "mine") == 0);
            nadir_candidate_clear(context, &attack);
            free(pair);
            test_problem_clear(&made);
            nadir_context_free(context);
        }
    }
    test_note_clear();
}

/* What rounding, or worse, did to c and k is put right. */
static void test_repair(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    test_problem made = make_problem(context, 0, 3, &random, 1);
    const nadir_problem *problem = test_problem_view(&made);
    const int64_t n = problem->states;
    double *pair = make_pair(context, problem, 0.1, &random);
    nadir_candidate clean = {0};
    nadir_candidate attack = {0};
    double norm;
    assert_ok(context, nadir_rank_one_candidate(context, problem, 0.1, pair, pair + n, &clean));
    for (int64_t s = 0; s < n; s++) {
        pair[s] *= 1 + 1e-9;
        pair[n + s] = 1.5 * pair[n + s] + 1e-3;
    }
    assert_ok(context, nadir_rank_one_candidate(context, problem, 0.1, pair, pair + n, &attack));
    assert_close(attack.lambda, clean.lambda, 1e-13);
    assert_ok(context, nadir_norm_p(context, n, attack.c, 3, &norm));
    assert_that(norm <= 0.1 && norm >= 0.1 * (1 - 1e-14), "norm of c %.17g", norm);
    assert_ok(context, nadir_norm_p(context, n, attack.k, 3, &norm));
    assert_that(norm <= 1 && norm >= 1 - 1e-14, "norm of k %.17g", norm);
    assert_that(fabs(nadir_vector_sum(n, attack.k)) <= 1e-15, "sum of k %g", nadir_vector_sum(n, attack.k));
    nadir_candidate_clear(context, &clean);
    nadir_candidate_clear(context, &attack);
    free(pair);
    test_problem_clear(&made);
}

/* Values that differ little beside their size: what k sees of them keeps its digits. */
static void test_offset(void **state)
{
    (void)state;
    double lambda[2];
    for (int i = 0; i < 2; i++) {
        nadir_context *context = test_context();
        nadir_random random = test_random(SEED);
        test_problem made = make_problem(context, 0, 2, &random, 1);
        nadir_problem shifted = *test_problem_view(&made);
        double *v = test_new(shifted.states, sizeof *v);
        for (int64_t s = 0; s < shifted.states; s++) {
            v[s] = ldexp(floor(ldexp(shifted.v[s], 20)), -20) + (i == 0 ? 0 : 0x1p30);
        }
        shifted.v = v;
        double *pair = make_pair(context, &shifted, 0.1, &random);
        nadir_candidate attack = {0};
        assert_ok(context,
                  nadir_rank_one_candidate(context, &shifted, 0.1, pair, pair + shifted.states, &attack));
        lambda[i] = attack.lambda;
        nadir_candidate_clear(context, &attack);
        free(pair);
        free(v);
        test_problem_clear(&made);
        nadir_context_free(context);
    }
    assert_that(fabs(lambda[0] / lambda[1] - 1) <= 1e-12, "%.17g and %.17g", lambda[0], lambda[1]);
}

static void test_nothing(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    test_problem made = make_problem(context, 0, 2, &random, 1);
    const nadir_problem *problem = test_problem_view(&made);
    double *zeros = test_new(problem->states, sizeof *zeros);
    nadir_candidate attack = {0};
    assert_ok(context, nadir_rank_one_candidate(context, problem, 0, zeros, zeros, &attack));
    assert_true(attack.lambda == 0 && attack.J == problem->J);
    assert_true(test_kernel_minimum(context, attack.kernel) == test_kernel_minimum(context, problem->kernel));
    nadir_candidate_clear(context, &attack);
    free(zeros);
    test_problem_clear(&made);
}

/* c along the direction that k feeds back most: past breakdown there is no return. */
static void test_past_breakdown(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    test_problem made = make_problem(context, 0, 2, &random, 1);
    const nadir_problem *problem = test_problem_view(&made);
    const int64_t n = problem->states;
    double *c = test_new(3 * n, sizeof *c);
    double *k = c + n;
    double *g = c + 2 * n;
    for (int64_t s = 0; s < n; s++) {
        c[s] = s == 0 ? 100 : 0;
        g[s] = problem->uncertainty->W[s] * c[s];
    }
    assert_true(g[0] > 0);
    assert_ok(context, nadir_occupancy_solve(context, problem->occupancy, 1, g, g, NULL));
    nadir_gstd gstd;
    assert_ok(context, nadir_gstd_compute(context, 0, n, g, 2, NULL, k, &gstd));
    nadir_candidate attack = {0};
    assert_ok(context, nadir_rank_one_candidate(context, problem, 100, c, k, &attack));
    nadir_candidate_clear(context, &attack);
    for (int64_t s = 0; s < n; s++) {
        k[s] = -k[s];
    }
    assert_fails(context, nadir_rank_one_candidate(context, problem, 100, c, k, &attack),
                 NADIR_ERROR_ILL_POSED, "the radius 100 is at or past breakdown");
    assert_null(attack.kernel);
    assert_null(attack.c);
    free(c);
    test_problem_clear(&made);
}

static void test_scarce_memory(void **state)
{
    (void)state;
    test_scarce scarce;
    nadir_context *context = test_scarce_context(&scarce);
    nadir_random random = test_random(SEED);
    test_problem made = make_problem(context, 0, 1.5, &random, 1);
    const nadir_problem *problem = test_problem_view(&made);
    double *pair = make_pair(context, problem, 0.1, &random);
    nadir_candidate attack = {0};
    nadir_status status = NADIR_ERROR_MEMORY;
    const int64_t held = scarce.blocks;
    while (test_scarce_again(&scarce, status)) {
        status = nadir_rank_one_candidate(context, problem, 0.1, pair, pair + problem->states, &attack);
        assert_true(status == NADIR_OK || (attack.kernel == NULL && scarce.blocks == held));
    }
    assert_true(scarce.tries > 5);
    nadir_candidate_clear(context, &attack);
    free(pair);
    test_problem_clear(&made);
    test_scarce_end(&scarce, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expand),        cmocka_unit_test(test_return),
        test_with_context(test_repair),       cmocka_unit_test(test_offset),
        test_with_context(test_nothing),      test_with_context(test_past_breakdown),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

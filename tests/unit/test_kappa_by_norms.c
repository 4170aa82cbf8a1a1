/*
 * Proofs by norms: the bound on |Phi D| against dense references, and what is proven with it against kernels
 * of the set, drawn and searched for.
 */
#include "support/support.h"

#include "model/kernel.h"
#include "proof/occupancy_bounds.h"
#include "proof/second_order.h"
#include "search/second_order_search.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 2718

/* |Phi D|_2 by power iteration, in long double: about, and not above. */
static double mixing_reference(const nadir_problem *problem, const double *kernel)
{
    const int64_t n = problem->states;
    long double *average = test_dense_average(problem->model, kernel, problem->policy->probabilities);
    test_system system = test_system_make(n, average, problem->gamma);
    double *x = test_new(n, sizeof *x);
    long double *y = test_new(n, sizeof *y);
    long double norm = 0;
    for (int64_t i = 0; i < n; i++) {
        x[i] = 1 + sin((double)(3 * i + 1));
    }
    for (int step = 0; step < 300; step++) {
        test_system_solve(&system, false, x, y);
        long double mean = 0;
        long double length = 0;
        for (int64_t i = 0; i < n; i++) {
            mean += y[i] / (long double)n;
            length += (long double)x[i] * x[i];
        }
        norm = 0;
        for (int64_t i = 0; i < n; i++) {
            norm += (y[i] - mean) * (y[i] - mean);
            x[i] = (double)(y[i] - mean);
        }
        norm = sqrtl(norm / length);
        test_system_solve(&system, true, x, y);
        long double size = 0;
        for (int64_t i = 0; i < n; i++) {
            size += y[i] * y[i];
        }
        for (int64_t i = 0; i < n && size > 0; i++) {
            x[i] = (double)(y[i] / sqrtl(size));
        }
    }
    free(x);
    free(y);
    free(average);
    test_system_clear(&system);
    return (double)norm;
}

/* Returns whether something is known of it. */
static bool check_mixing(nadir_context *context, const nadir_problem *problem, const double *kernel,
                         double share)
{
    const nadir_verified_solver known = nadir_verified_solver_make(context, problem);
    double easy;
    double fair;
    double hard;
    assert_ok(context, nadir_ergodicity_bound(context, problem, &known, NADIR_ERGODICITY_EASY, &easy));
    assert_ok(context, nadir_ergodicity_bound(context, problem, &known, NADIR_ERGODICITY_FAIR, &fair));
    assert_ok(context, nadir_ergodicity_bound(context, problem, &known, NADIR_ERGODICITY_HARD, &hard));
    if (isinf(easy) && isinf(hard)) {
        return false;
    }
    const double exact = mixing_reference(problem, kernel);
    assert_that(easy >= exact * (1 - 1e-12) && hard >= exact * (1 - 1e-12),
                "|Phi D| is %.17g, the bounds are %.17g and %.17g", exact, easy, hard);
    assert_that(hard <= easy, "%.17g is no better than %.17g", hard, easy);
    assert_that(exact * (1 - 1e-12) <= fair && fair <= easy, "|Phi D| is %.17g, the bounds are %.17g, %.17g",
                exact, fair, easy);
    assert_that(hard <= share * exact, "|Phi D| is %.17g, the bound %.17g", exact, hard);
    return true;
}

static void test_mixing(void **state)
{
    nadir_context *context = *state;
    const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    int told = 0;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < (test_memcheck() ? 20 : 300); i++) {
        test_miniature tiny = test_miniature_make(context, &random, 6);
        test_note("seed %d, case %d, %s", SEED, i, tiny.name);
        test_problem made = test_problem_make(context, tiny.model, tiny.policy, &ball, "lapack", 1);
        double *kernel = test_dense_kernel(made.model);
        told += check_mixing(context, test_problem_view(&made), kernel, INFINITY);
        free(kernel);
        test_problem_clear(&made);
    }
    assert_that(told >= (test_memcheck() ? 2 : 30), "only %d bounds", told);
    nadir_generate_settings shape = test_generate_settings();
    shape.states = test_memcheck() ? 20 : 60;
    shape.actions = 2;
    shape.discount = 0.95;
    nadir_model *model = NULL;
    assert_ok(context, nadir_model_generate(context, "random", &shape, &model));
    nadir_policy *policy = test_uniform_policy(context, model);
    test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
    double *kernel = test_dense_kernel(model);
    assert_true(check_mixing(context, test_problem_view(&made), kernel, 1.3));
    free(kernel);
    test_problem_clear(&made);
}

/* A kernel entry by entry, [rows * states]. To be freed. */
static double *write_out(nadir_context *context, const nadir_problem *problem, const nadir_kernel *kernel)
{
    double *entries = test_new(problem->rows * problem->states, sizeof *entries);
    nadir_explicit rows = {0};
    assert_ok(context, nadir_explicit_make(context, kernel, &rows));
    for (int64_t row = 0; row < problem->rows; row++) {
        const nadir_row made = nadir_explicit_row(&rows, row);
        for (int64_t i = 0; i < made.count; i++) {
            entries[row * problem->states + made.columns[i]] = made.values[i];
        }
    }
    nadir_explicit_clear(context, &rows);
    return entries;
}

/* d of a kernel: [states]. To be freed. */
static long double *visits_of(const nadir_problem *problem, const double *kernel)
{
    long double *d = test_new(problem->states, sizeof *d);
    long double *average = test_dense_average(problem->model, kernel, problem->policy->probabilities);
    test_system system = test_system_make(problem->states, average, problem->gamma);
    test_system_solve(&system, true, problem->mu, d);
    test_system_clear(&system);
    free(average);
    return d;
}

/* |w (d_P - d*)|_2 <= kappa |P - P*|, over the states that P* visits. */
static void check_kappa(const nadir_problem *problem, const double *nominal, const double *star,
                        const double *other, double kappa)
{
    const int64_t n = problem->states;
    long double *d = visits_of(problem, star);
    long double *moved = visits_of(problem, other);
    long double sum = 0;
    long double distance = 0;
    for (int64_t s = 0; s < n; s++) {
        long double own = 0;
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            const long double scale = nadir_uncertainty_scale(problem->uncertainty, row);
            for (int64_t t = 0; t < n && scale > 0; t++) {
                const long double change = (star[row * n + t] - nominal[row * n + t]) / scale;
                const long double step = (other[row * n + t] - star[row * n + t]) / scale;
                own += change * change;
                distance += problem->policy->probabilities[row] > 0 ? step * step : 0;
            }
        }
        if (d[s] > 1e-6L) {
            sum += own * (moved[s] - d[s]) * (moved[s] - d[s]) / (d[s] * d[s]);
        }
    }
    assert_that(sqrtl(sum) <= kappa * sqrtl(distance) * (1 + 1e-9L) + 1e-12L,
                "visits move by %.10Lg where kappa %.10g allows %.10Lg", sqrtl(sum), kappa,
                kappa * sqrtl(distance));
    free(d);
    free(moved);
}

static void test_proven(void **state)
{
    static const double radii[] = {0.003, 0.01, 0.03, 0.1, 0.2};
    nadir_context *context = *state;
    int proven = 0;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < (test_memcheck() ? 15 : 400); i++) {
        const double radius = radii[nadir_random_below(&random, 5)];
        const nadir_domain domain = i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, &radius, NULL);
        test_miniature tiny = test_miniature_make(context, &random, 5);
        test_note("seed %d, case %d, %s, %s, %g", SEED, i, tiny.name, nadir_domain_name(domain), radius);
        test_oracle oracle = test_oracle_make(tiny.model, tiny.policy, &ball);
        test_problem made = test_problem_make(context, tiny.model, tiny.policy, &ball, "lapack", 1);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attack = test_descend(context, problem, radius);
        nadir_certificate proof = test_prove_by_norms(context, problem, radius, &attack);
        if (isfinite(proof.lower)) {
            double *star = write_out(context, problem, attack.kernel);
            double *kernel = test_new(problem->rows * problem->states, sizeof *kernel);
            const double slack = 1e-12 * (1 + fabs(attack.J)) / (1 - problem->gamma);
            proven++;
            assert_true(proof.kappa <= 0.5 && proof.proof == NADIR_PROOF_RIGOROUS && !proof.hopeless);
            assert_true(proof.lower <= attack.J + slack);
            double lowest = test_oracle_worst(&oracle, &random, 1, kernel);
            for (int k = 0; k < 20; k++) {
                test_oracle_random(&oracle, &random, kernel);
                check_kappa(problem, oracle.nominal, star, kernel, proof.kappa);
                lowest = fmin(lowest, test_oracle_return(&oracle, kernel, NULL));
            }
            assert_that(lowest >= proof.lower - slack, "%.17g is attained, the bound is %.17g", lowest,
                        proof.lower);
            free(star);
            free(kernel);
        }
        nadir_certificate_clear(context, &proof);
        nadir_candidate_clear(context, &attack);
        test_oracle_clear(&oracle);
        test_problem_clear(&made);
    }
    assert_that(proven >= (test_memcheck() ? 1 : 40), "only %d proofs", proven);
}

/* Random dense kernels, whose radii up to which proofs by norms hold are known. */
static void test_reach(void **state)
{
    static const struct {
        double radius;
        bool proven, hopeless;
    } rows[] = {{0.01, true, false}, {0.1, true, false}, {0.25, true, false}, {0.6, false, true}};
    nadir_context *context = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &rows[i].radius, NULL);
        nadir_model *model = NULL;
        bool hopeless;
        nadir_generate_settings shape = test_generate_settings();
        shape.states = 30;
        shape.actions = 3;
        shape.discount = 0.9;
        assert_ok(context, nadir_model_generate(context, "random", &shape, &model));
        nadir_policy *policy = test_optimal_policy(context, model);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attack = test_descend(context, problem, rows[i].radius);
        test_note("radius %g", rows[i].radius);
        nadir_certificate proof = test_prove_by_norms(context, problem, rows[i].radius, &attack);
        assert_ok(context, nadir_kappa_foresee(context, problem, rows[i].radius, &attack, &hopeless));
        assert_int_equal(proof.lower > attack.J - 1e-6 * (problem->J - attack.J), rows[i].proven);
        assert_int_equal(proof.hopeless, rows[i].hopeless);
        assert_int_equal(hopeless, rows[i].hopeless);
        nadir_certificate_clear(context, &proof);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_mixing),
        test_with_context(test_proven),
        test_with_context(test_reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

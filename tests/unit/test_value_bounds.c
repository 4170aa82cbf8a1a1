/*
 * Bounds on values and returns from residuals, to the last digit: tiny models with exact v and d in long double, then
 * rounded, disturbed, or nothing like them.
 *
 *     return:   nadir_value_check_return holds J_P, whatever v and d are;
 *     residual: v_error of a solve times nadir_occupancy_gap is no less than |R^pi + gamma P^pi v - v|, which is how proofs
 *               of the free domain use it (proof/spectral_check.c).
 */
#include "support/support.h"

#include "model/landing.h"
#include "model/model.h"
#include "solve/solver.h"
#include "solve/value.h"
#include "support/miniature.h"
#include "support/reference.h"
#include "support/tiny.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED test_attack_seed(27182)

enum { CASES = 1500 };

typedef struct exact {
    int64_t n;
    double gamma, size; /* of v */
    long double *average;
    long double *R, *v, *d; /* [n] */
    long double J;
} exact;

static exact solve_exactly(const nadir_model *model, const nadir_kernel *nominal, const nadir_policy *policy)
{
    const nadir_model_data view = test_view(model);
    double *kernel = test_dense_kernel(model);
    exact made = {.n = view.states, .gamma = view.discount};
    made.average = test_dense_average(model, kernel, policy->probabilities);
    made.R = test_new(made.n, sizeof *made.R);
    made.v = test_new(made.n, sizeof *made.v);
    made.d = test_new(made.n, sizeof *made.d);
    test_system system = test_system_make(made.n, made.average, made.gamma);
    test_system_solve(&system, true, model->initial, made.d);
    double *unit = test_new(made.n, sizeof *unit);
    long double *column = test_new(made.n, sizeof *column);
    for (int64_t s = 0; s < made.n; s++) {
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            made.R[s] += (long double)policy->probabilities[row] * nadir_kernel_reward(nominal, row);
        }
        made.J += made.d[s] * made.R[s];
    }
    for (int64_t s = 0; s < made.n; s++) { /* columns of D: right-hand sides are doubles */
        memset(unit, 0, (size_t)made.n * sizeof *unit);
        unit[s] = 1;
        test_system_solve(&system, false, unit, column);
        for (int64_t t = 0; t < made.n; t++) {
            made.v[t] += column[t] * made.R[s];
        }
    }
    for (int64_t s = 0; s < made.n; s++) {
        made.size = fmax(made.size, fabs((double)made.v[s]));
    }
    free(unit);
    free(column);
    free(kernel);
    test_system_clear(&system);
    return made;
}

static void exact_clear(exact *made)
{
    free(made->average);
    free(made->R);
    free(made->v);
    free(made->d);
}

/* Exact but for its rounding, disturbed, or zero. */
static void disturb(nadir_random *random, int kind, int64_t n, const long double *from, double size,
                    double *to)
{
    static const double sizes[] = {0, 1e-15, 1e-12, 1e-6, 0.1};
    for (int64_t s = 0; s < n; s++) {
        to[s] = kind == 5 ? 0 : (double)(from[s] + sizes[kind] * size * nadir_random_normal(random));
    }
}

static void check_return(nadir_context *context, nadir_random *random, int number, const nadir_kernel *kernel,
                         const nadir_policy *policy, const exact *truth)
{
    double *v = test_new(truth->n, sizeof *v);
    double *d = test_new(truth->n, sizeof *d);
    const long double off =
        64 * (long double)test_long_unit() * truth->size / (1 - (long double)truth->gamma) + LDBL_MIN;
    for (int kind = 0; kind < 36; kind++) {
        nadir_value_check check;
        disturb(random, kind % 6, truth->n, truth->v, truth->size, v);
        disturb(random, kind / 6, truth->n, truth->d, 1 / (1 - truth->gamma), d);
        test_note("seed %d, case %d, kind %d", SEED, number, kind);
        assert_ok(context, nadir_value_check_rows(context, kernel, policy, truth->gamma, v, &check));
        assert_that(check.lower <= truth->J + off && check.upper >= truth->J - off,
                    "%.21Lg is not within %.17g and %.17g by v alone", truth->J, check.lower, check.upper);
        check.lower = -INFINITY;
        check.upper = INFINITY;
        assert_ok(context, nadir_value_check_return(context, kernel, policy, truth->gamma, v, d, &check));
        assert_that(check.lower <= truth->J + off && check.upper >= truth->J - off,
                    "%.21Lg is not within %.17g and %.17g", truth->J, check.lower, check.upper);
        assert_true(kind > 0 || check.upper - check.lower <=
                                    1e-12 * (truth->size + fabs((double)truth->J)) / (1 - truth->gamma));
    }
    free(v);
    free(d);
}

static void check_residual(nadir_context *context, const nadir_model *model, const nadir_policy *policy,
                           const exact *truth)
{
    static const char *const backends[] = {"lapack", "krylov"};
    for (int i = 0; i < 2; i++) {
        nadir_solver *solver = NULL;
        nadir_solver_settings settings = test_solver_settings();
        long double residual = 0;
        settings.backend = backends[i];
        assert_ok(context, nadir_solver_create(context, (nadir_model *)model, policy, &settings, &solver));
        assert_ok(context, nadir_solver_solve(context, solver));
        for (int64_t s = 0; s < truth->n; s++) {
            long double next = truth->R[s] - solver->value.v[s];
            for (int64_t t = 0; t < truth->n; t++) {
                next += (long double)truth->gamma * truth->average[s * truth->n + t] * solver->value.v[t];
            }
            residual = fmaxl(residual, fabsl(next));
        }
        const double claimed = solver->value.v_error * nadir_occupancy_gap(solver->occupancy);
        assert_that(residual <= (long double)claimed * (1 + 8 * DBL_EPSILON),
                    "%s: a residual of %.17Lg, not %.17g", backends[i], residual, claimed);
        nadir_solver_free(solver);
    }
}

static void test_bounds(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random((uint64_t)SEED);
    for (int number = 0; number < test_attack_count(CASES); number++) {
        test_miniature tiny = test_miniature_make(context, &random, 6);
        nadir_kernel *kernel = NULL;
        assert_ok(context, nadir_kernel_create(context, tiny.model, &kernel));
        exact truth = solve_exactly(tiny.model, kernel, tiny.policy);
        check_return(context, &random, number, kernel, tiny.policy, &truth);
        check_residual(context, tiny.model, tiny.policy, &truth);
        exact_clear(&truth);
        nadir_kernel_free(kernel);
        nadir_policy_free(tiny.policy);
        nadir_model_free(tiny.model);
    }
    test_note_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Worst kernels of rectangular sets on the domains simplex and support. */
#include "support/support.h"

#include "adversary/rectangular/rectangular.h"
#include "linalg/norm.h"
#include "support/families.h"
#include "support/golden.h"
#include "support/naive_rows.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/small_model.h"

#include <math.h>
#include <stdlib.h>

#define TOLERANCE 1e-12

/* Reference values of sets sa, every radius alike. */
typedef struct golden_row {
    int instance; /* of test_goldens */
    nadir_domain domain;
    double radius, p, value;
} golden_row;

static const golden_row golden_rows[] = {
    {0, NADIR_DOMAIN_SIMPLEX, 0.01925, 1, 5.27242333713},
    {0, NADIR_DOMAIN_SUPPORT, 0.01925, 1, 5.27242333713},
    {0, NADIR_DOMAIN_SIMPLEX, 0.01925, 2, 5.24680021111},
    {0, NADIR_DOMAIN_SUPPORT, 0.01925, 2, 5.24680021111},
    {0, NADIR_DOMAIN_SIMPLEX, 0.01925, INFINITY, 5.16212391637},
    {0, NADIR_DOMAIN_SUPPORT, 0.01925, INFINITY, 5.16212391637},
    {1, NADIR_DOMAIN_SIMPLEX, 0.02475, 1, 9.90426295711},
    {1, NADIR_DOMAIN_SUPPORT, 0.02475, 1, 9.90426295711},
    {1, NADIR_DOMAIN_SIMPLEX, 0.02475, 2, 9.69173868421},
    {1, NADIR_DOMAIN_SUPPORT, 0.02475, 2, 9.69173868421},
    {1, NADIR_DOMAIN_SIMPLEX, 0.02475, INFINITY, 8.5416583551},
    {1, NADIR_DOMAIN_SUPPORT, 0.02475, INFINITY, 8.5416583551},
    {2, NADIR_DOMAIN_SIMPLEX, 0.01975, 1, 4.94739101239},
    {2, NADIR_DOMAIN_SUPPORT, 0.01975, 1, 4.95181435423},
    {2, NADIR_DOMAIN_SIMPLEX, 0.01975, 2, 4.91251826728},
    {2, NADIR_DOMAIN_SUPPORT, 0.01975, 2, 4.93199339521},
    {2, NADIR_DOMAIN_SIMPLEX, 0.01975, INFINITY, 4.7976450558},
    {2, NADIR_DOMAIN_SUPPORT, 0.01975, INFINITY, 4.87987481382},
};

static test_problem golden_problem(nadir_context *context, int instance, bool csr, const nadir_ball *ball)
{
    nadir_model *model = test_golden_model(context, &test_goldens[instance], csr);
    return test_problem_make(context, model, test_golden_policy(context, model), ball, NULL, 1);
}

static void test_golden_values(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    for (size_t i = 0; i < sizeof golden_rows / sizeof *golden_rows; i++) {
        for (int csr = 0; csr < 2; csr++) {
            const golden_row *row = &golden_rows[i];
            test_note("%s, domain %d, p %g, csr %d", test_goldens[row->instance].name, (int)row->domain,
                      row->p, csr);
            const nadir_ball ball = test_ball(NADIR_SET_SA, row->domain, row->p, &row->radius, NULL);
            test_problem made = golden_problem(context, row->instance, csr, &ball);
            const nadir_problem *problem = test_problem_view(&made);
            nadir_attack attack = {0};
            double lower;
            assert_ok(context, nadir_rectangular_solve(context, problem, 1, TOLERANCE, 50, &attack));
            assert_close(attack.J / row->value, 1, 1e-11);
            assert_true(attack.converged);
            assert_that(attack.iterations <= 6, "%d iterations", (int)attack.iterations);
            assert_ok(context, nadir_rectangular_check(context, problem, 1, attack.v, &lower));
            assert_that(lower <= attack.J && lower >= attack.J - 1e-11 * fabs(attack.J),
                        "lower bound %.17g of %.17g", lower, attack.J);
            nadir_attack_clear(context, &attack);
            test_problem_clear(&made);
        }
    }
    test_note_clear();
    nadir_context_free(context);
}

/* A kernel as numbers: [rows * states]. To be freed. */
static double *kernel_numbers(nadir_context *context, const nadir_kernel *kernel)
{
    const nadir_model *model = nadir_kernel_model(kernel);
    double *numbers = test_new(model->rows * model->states, sizeof *numbers);
    double *unit = test_new(model->states, sizeof *unit);
    double *column = test_new(model->rows, sizeof *column);
    for (int64_t t = 0; t < model->states; t++) {
        unit[t] = 1;
        nadir_kernel_multiply(context, kernel, unit, column);
        for (int64_t row = 0; row < model->rows; row++) {
            numbers[row * model->states + t] = column[row];
        }
        unit[t] = 0;
    }
    free(unit);
    free(column);
    return numbers;
}

/* The return of a kernel of numbers. */
static double return_of(const nadir_problem *problem, const double *numbers)
{
    const int64_t n = problem->states;
    long double *average = test_dense_average(problem->model, numbers, problem->policy->probabilities);
    test_system system = test_system_make(n, average, problem->gamma);
    long double *v = test_new(n, sizeof *v);
    long double J = 0;
    test_system_solve(&system, false, problem->R, v);
    for (int64_t s = 0; s < n; s++) {
        J += problem->mu[s] * v[s];
    }
    test_system_clear(&system);
    free(average);
    free(v);
    return (double)J;
}

/* |X - Phat|_p / alpha of one row; |X - Phat| itself where alpha is 0. */
static double norm_of(const nadir_problem *problem, const double *phat, const double *X, int64_t row)
{
    const int64_t n = problem->states;
    const double alpha = nadir_uncertainty_scale(problem->uncertainty, row);
    double *delta = test_new(n, sizeof *delta);
    for (int64_t t = 0; t < n; t++) {
        delta[t] = X[row * n + t] - phat[row * n + t];
    }
    const double norm = nadir_norm_short(n, delta, problem->uncertainty->p);
    free(delta);
    return norm / (alpha > 0 ? alpha : 1);
}

/* Rows are distributions of the domain, and within their radii. */
static void check_membership(const nadir_problem *problem, double factor, const double *phat, const double *X)
{
    const nadir_model *model = problem->model;
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t n = problem->states;
    for (int64_t s = 0; s < n; s++) {
        double norms[16];
        const int64_t first = model->state_rows[s];
        const int64_t count = model->state_rows[s + 1] - first;
        assert_true(count <= 16);
        for (int64_t row = first; row < first + count; row++) {
            long double sum = 0;
            for (int64_t t = 0; t < n; t++) {
                const double entry = X[row * n + t];
                assert_that(entry >= -1e-17, "entry %g", entry);
                assert_true(set->domain == NADIR_DOMAIN_SIMPLEX || phat[row * n + t] > 0 || entry == 0);
                sum += entry;
            }
            assert_that(fabsl(sum - 1) <= 1e-14L, "row %d sums to 1 + %Lg", (int)row, sum - 1);
            norms[row - first] = norm_of(problem, phat, X, row);
            const double radius =
                nadir_uncertainty_scale(set, row) > 0 ? factor * nadir_uncertainty_radius(set, s, row) : 0;
            assert_that(norms[row - first] <= radius * (1 + 1e-15) + 1e-14,
                        "row %d: norm %.17g, radius %.17g", (int)row, norms[row - first], radius);
        }
        const double radius = factor * nadir_uncertainty_radius(set, s, first);
        assert_true(set->set == NADIR_SET_SA ||
                    nadir_norm_short(count, norms, set->p) <= radius * (1 + 1e-15) + 1e-14);
    }
}

/* A random kernel of the set, with rows somewhere on the way to lower values. */
static void random_kernel(nadir_random *random, const nadir_problem *problem, double factor, const double *v,
                          const double *phat, double *X)
{
    const nadir_model *model = problem->model;
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t n = problem->states;
    const double steep = nadir_random_exponential(random);
    for (int64_t s = 0; s < n; s++) {
        double left = 1; /* of beta_s^p */
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            double sum = 0;
            for (int64_t t = 0; t < n; t++) {
                const bool allowed = set->domain == NADIR_DOMAIN_SIMPLEX || phat[row * n + t] > 0;
                X[row * n + t] = allowed ? nadir_random_exponential(random) * exp(-steep * v[t]) : 0;
                sum += X[row * n + t];
            }
            for (int64_t t = 0; t < n; t++) {
                X[row * n + t] /= sum;
            }
            const double part = set->set == NADIR_SET_S ? left * nadir_random_uniform(random) : 1;
            left -= set->set == NADIR_SET_S ? part : 0;
            const double share = isinf(set->p) ? 1 : pow(part, 1 / set->p);
            const double radius = factor * nadir_uncertainty_radius(set, s, row) * share;
            const double norm = norm_of(problem, phat, X, row);
            const bool pinned = !(nadir_uncertainty_scale(set, row) > 0);
            const double way = pinned ? 0 : norm > radius ? radius / norm : 1;
            for (int64_t t = 0; t < n; t++) {
                X[row * n + t] = phat[row * n + t] + way * (X[row * n + t] - phat[row * n + t]);
            }
        }
    }
}

/* max_s |v - Tv| with row problems solved by bisection. */
static double naive_residual(const nadir_problem *problem, double factor, const double *v, const double *phat)
{
    const nadir_model *model = problem->model;
    const nadir_uncertainty *set = problem->uncertainty;
    const double *pi = problem->policy->probabilities;
    const int64_t n = problem->states;
    double *alpha = test_new(problem->rows, sizeof *alpha);
    double worst = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        alpha[row] = nadir_uncertainty_scale(set, row);
    }
    for (int64_t s = 0; s < n; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t count = model->state_rows[s + 1] - first;
        test_naive_rows rows = {
            .states = n, .v = v, .support = set->domain == NADIR_DOMAIN_SUPPORT, .p = set->p};
        long double next = problem->R[s];
        for (int64_t row = first; row < first + count; row++) {
            for (int64_t t = 0; t < n; t++) {
                next += problem->gamma * pi[row] * (long double)phat[row * n + t] * v[t];
            }
        }
        const int64_t step = set->set == NADIR_SET_S ? count : 1;
        for (int64_t row = first; row < first + count; row += step) {
            rows.count = step;
            rows.phat = phat + row * n;
            rows.alpha = alpha + row;
            rows.weight = pi + row;
            rows.beta = factor * nadir_uncertainty_radius(set, s, row);
            next -= problem->gamma * test_naive_gain(&rows);
        }
        worst = fmax(worst, fabs((double)(v[s] - next)));
    }
    free(alpha);
    return worst;
}

enum { SEED = 8086 };

/* A small random model with a ball of many radii, some zero, and scales, some zero. */
typedef struct instance {
    double *radii, *scales;
    test_problem made;
} instance;

static instance make_instance(nadir_context *context, nadir_random *random, nadir_set set,
                              nadir_domain domain, double p)
{
    instance made = {0};
    const test_family *family = &test_families[nadir_random_below(random, TEST_FAMILIES)];
    nadir_model *model = family->make(context, random);
    nadir_policy *policy =
        test_policy(context, model, (test_choice)nadir_random_below(random, TEST_CHOICES), random);
    const int64_t places = set == NADIR_SET_S ? model->states : model->rows;
    made.radii = test_new(places, sizeof *made.radii);
    made.scales = test_new(model->rows, sizeof *made.scales);
    for (int64_t i = 0; i < places; i++) {
        made.radii[i] = nadir_random_below(random, 6) == 0 ? 0 : 0.3 * nadir_random_exponential(random);
    }
    for (int64_t row = 0; row < model->rows; row++) {
        made.scales[row] = nadir_random_below(random, 6) == 0 ? 0 : 0.2 + nadir_random_uniform(random);
    }
    nadir_ball ball = test_ball(set, domain, p, made.radii, made.scales);
    ball.radius_count = places;
    made.made =
        test_problem_make(context, model, policy, &ball, NULL, nadir_random_below(random, 2) == 0 ? 1 : -1);
    return made;
}

static void clear_instance(instance *made)
{
    test_problem_clear(&made->made);
    free(made->radii);
    free(made->scales);
}

/* The kernel lies in the set, its return is the one said, no random kernel is below the bound, and v is the
 * fixed point of the robust Bellman operator. */
static void check_instance(nadir_context *context, nadir_random *random, const nadir_problem *problem)
{
    const double factor = 0.5 + nadir_random_uniform(random);
    double *phat = test_dense_kernel(problem->model);
    double *other = test_new(problem->rows * problem->states, sizeof *other);
    double largest = 0;
    nadir_attack attack = {0};
    double lower;
    assert_ok(context, nadir_rectangular_solve(context, problem, factor, TOLERANCE, 100, &attack));
    assert_true(attack.converged);
    double *X = kernel_numbers(context, attack.kernel);
    for (int64_t s = 0; s < problem->states; s++) {
        largest = fmax(largest, fabs(attack.v[s]));
    }
    check_membership(problem, factor, phat, X);
    assert_close(attack.J / largest, return_of(problem, X) / largest, 1e-10);
    assert_that(attack.J <= problem->J + 1e-12 * largest, "%.17g above the nominal %.17g", attack.J,
                problem->J);
    assert_ok(context, nadir_rectangular_check(context, problem, factor, attack.v, &lower));
    assert_that(lower <= attack.J + 1e-15 * largest && lower >= attack.J - 1e-10 * largest,
                "lower bound %.17g of %.17g", lower, attack.J);
    for (int i = 0; i < 10; i++) {
        random_kernel(random, problem, factor, attack.v, phat, other);
        const double J = return_of(problem, other);
        assert_that(J >= lower - 1e-13 * largest, "a kernel of return %.17g, bound %.17g", J, lower);
    }
    if (problem->uncertainty->p == 1 || isinf(problem->uncertainty->p)) {
        const double residual = naive_residual(problem, factor, attack.v, phat);
        assert_that(residual <= 1e-10 * largest, "|v - Tv| = %g of %g", residual, largest);
    }
    nadir_attack_clear(context, &attack);
    free(phat);
    free(other);
    free(X);
}

static void test_instances(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    nadir_random random;
    nadir_random_seed(&random, SEED);
    const double norms[] = {1, 2, INFINITY, 1.5, 4};
    const nadir_domain domains[] = {NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT};
    const nadir_set sets[] = {NADIR_SET_SA, NADIR_SET_S};
    for (int i = 0; i < 4 * 20; i++) {
        const double p = norms[i / 4 % 5];
        test_note("seed %d, round %d, p %g, domain %d, set %d", SEED, i, p, i % 2, i / 2 % 2);
        instance made = make_instance(context, &random, sets[i / 2 % 2], domains[i % 2], p);
        check_instance(context, &random, test_problem_view(&made.made));
        clear_instance(&made);
    }
    test_note_clear();
    nadir_context_free(context);
}

/* The same for other norms, whose bisections take their time, on small models. */
static void test_fixed_points(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    const double norms[] = {1.5, 2, 3};
    const double radius = 0.07;
    for (int i = 0; i < 3 * 2 * 2 * 2; i++) {
        const double p = norms[i % 3];
        const nadir_set set = i / 3 % 2 == 0 ? NADIR_SET_S : NADIR_SET_SA;
        const nadir_domain domain = i / 6 % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const bool sparse = i / 12 == 0;
        test_note("p %g, set %d, domain %d, sparse %d", p, (int)set, (int)domain, (int)sparse);
        nadir_generate_settings settings;
        nadir_generate_settings_default(&settings);
        settings.states = 5;
        settings.actions = 2;
        settings.branch = sparse ? 2 : 5;
        nadir_model *model = NULL;
        nadir_policy *policy = NULL;
        assert_ok(context, nadir_model_generate(context, "garnet", &settings, &model));
        assert_ok(context, nadir_policy_create_uniform(context, model, &policy));
        const nadir_ball ball = test_ball(set, domain, p, &radius, NULL);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_attack attack = {0};
        double *phat = test_dense_kernel(model);
        assert_ok(context, nadir_rectangular_solve(context, problem, 1, TOLERANCE, 100, &attack));
        const double residual = naive_residual(problem, 1, attack.v, phat);
        const double allowed = test_long_unit() < 1e-18 ? 1e-12 : 1e-8;
        assert_that(residual <= allowed * fabs(problem->J - attack.J), "|v - Tv| = %g", residual);
        free(phat);
        nadir_attack_clear(context, &attack);
        test_problem_clear(&made);
    }
    test_note_clear();
    nadir_context_free(context);
}

static double solved(nadir_context *context, const nadir_problem *problem, double factor)
{
    nadir_attack attack = {0};
    double lower;
    assert_ok(context, nadir_rectangular_solve(context, problem, factor, TOLERANCE, 100, &attack));
    assert_ok(context, nadir_rectangular_check(context, problem, factor, attack.v, &lower));
    const double size = fabs(attack.J) + fabs(problem->J);
    assert_that(lower <= attack.J && attack.J - lower <= 1e-9 * size, "%.17g <= %.17g", lower, attack.J);
    const double J = attack.J;
    nadir_attack_clear(context, &attack);
    return J;
}

/* The sets in each other: larger radii, s in sa, support in simplex, p in a larger p; at p = infinity s and
 * sa and the ball over all rows are the same. */
static void test_nested(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    const double norms[] = {1, 1.4, 2, 5, INFINITY};
    const double radius = 0.05;
    double smaller_p = INFINITY;
    for (int i = 0; i < 5; i++) {
        double J[2][2]; /* by set, domain */
        test_note("p %g", norms[i]);
        for (int set = 0; set < 2; set++) {
            for (int domain = 0; domain < 2; domain++) {
                const nadir_ball ball = test_ball(set == 0 ? NADIR_SET_S : NADIR_SET_SA,
                                                  domain == 0 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX,
                                                  norms[i], &radius, NULL);
                test_problem made = golden_problem(context, 2, true, &ball);
                const nadir_problem *problem = test_problem_view(&made);
                J[set][domain] = solved(context, problem, 1);
                assert_true(solved(context, problem, 2) < J[set][domain]);
                assert_close(solved(context, problem, 0), problem->J, 1e-14);
                test_problem_clear(&made);
            }
            assert_true(J[set][1] < J[set][0]);
        }
        for (int domain = 0; domain < 2; domain++) {
            if (isinf(norms[i])) {
                assert_close(J[1][domain] / J[0][domain], 1, 1e-12);
            } else {
                assert_true(J[1][domain] < J[0][domain]);
            }
        }
        assert_true(J[1][1] < smaller_p);
        smaller_p = J[1][1];
    }
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, INFINITY, &radius, NULL);
    test_problem made = golden_problem(context, 2, true, &ball);
    assert_close(solved(context, test_problem_view(&made), 1), smaller_p, 1e-12);
    test_problem_clear(&made);
    test_note_clear();
    nadir_context_free(context);
}

/* Rewards of any size give the same kernels; a limit of iterations is no error. */
static void test_limits(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    test_problem made = golden_problem(context, 2, true, &ball);
    nadir_problem problem = *test_problem_view(&made);
    nadir_attack attack = {0};
    assert_ok(context, nadir_rectangular_solve(context, &problem, 1, 0, 1, &attack));
    assert_false(attack.converged);
    assert_string_equal(attack.stop_reason, "iterations");
    assert_int_equal(attack.iterations, 1);
    nadir_attack_clear(context, &attack);
    assert_ok(context, nadir_rectangular_solve(context, &problem, 1, 0, 100, &attack));
    assert_true(attack.converged);
    assert_string_equal(attack.stop_reason, "stable");
    nadir_attack_clear(context, &attack);
    const double J = solved(context, &problem, 1);
    const double sizes[] = {1e-150, 1e-9, 1e9, 1e150};
    double *numbers = test_new(problem.rows + 2 * problem.states, sizeof *numbers);
    for (int i = 0; i < 4; i++) {
        test_note("rewards of %g", sizes[i]);
        nadir_problem other = problem;
        for (int64_t row = 0; row < problem.rows; row++) {
            numbers[row] = problem.rewards[row] * sizes[i];
        }
        for (int64_t s = 0; s < problem.states; s++) {
            numbers[problem.rows + s] = problem.R[s] * sizes[i];
            numbers[problem.rows + problem.states + s] = problem.v[s] * sizes[i];
        }
        other.rewards = numbers;
        other.R = numbers + problem.rows;
        other.v = other.R + problem.states;
        other.J = problem.J * sizes[i];
        assert_close(solved(context, &other, 1) / sizes[i], J, 1e-12);
    }
    test_note_clear();
    free(numbers);
    test_problem_clear(&made);
    nadir_context_free(context);
}

/* One state, one action, nothing to lose, no discount, all rows pinned. */
static void test_degenerate(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    const double norms[] = {1, 2, INFINITY, 3};
    for (int i = 0; i < 4; i++) {
        for (int kind = 0; kind < 4; kind++) {
            test_note("p %g, kind %d", norms[i], kind);
            test_small_model small;
            test_small_set(&small);
            const double radius = 0.2;
            const double pinned[] = {0, 0};
            if (kind == 0) { /* one state */
                small.data.states = 1;
                small.data.rows = 1;
                small.row_starts[1] = 1;
                small.columns[0] = 0;
                small.probabilities[0] = 1;
                small.initial[0] = 1;
            }
            small.data.discount = kind == 1 ? 0 : 0.9999;
            small.rewards[0] = kind == 2 ? 2 : 1; /* the same everywhere: values are constant */
            nadir_model *model = test_small_accept(context, &small);
            nadir_policy *policy = NULL;
            assert_ok(context, nadir_policy_create_uniform(context, model, &policy));
            const nadir_ball ball = test_ball(i % 2 == 0 ? NADIR_SET_S : NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX,
                                              norms[i], &radius, kind == 3 ? pinned : NULL);
            test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
            const nadir_problem *problem = test_problem_view(&made);
            assert_close(solved(context, problem, 1) / problem->J, 1, 1e-12);
            test_problem_clear(&made);
        }
    }
    test_note_clear();
    nadir_context_free(context);
}

static void test_scarce_memory(void **state)
{
    (void)state;
    const double radius = 0.1;
    for (int i = 0; i < 2; i++) {
        const nadir_ball ball = test_ball(i == 0 ? NADIR_SET_SA : NADIR_SET_S, NADIR_DOMAIN_SIMPLEX,
                                          i == 0 ? 2 : 3, &radius, NULL);
        nadir_status status = NADIR_ERROR_MEMORY;
        for (int64_t limit = 0; status != NADIR_OK; limit++) {
            test_note("set %d, %d allocations", i, (int)limit);
            test_scarce scarce;
            nadir_context *context = test_scarce_context(&scarce);
            test_problem made = golden_problem(context, 2, true, &ball);
            nadir_attack attack = {0};
            double lower;
            scarce.left = limit;
            status = nadir_rectangular_solve(context, test_problem_view(&made), 1, 1e-6, 100, &attack);
            if (status == NADIR_OK) {
                status = nadir_rectangular_check(context, test_problem_view(&made), 1, attack.v, &lower);
            }
            assert_that(status == NADIR_OK || status == NADIR_ERROR_MEMORY, "status %d: %s", (int)status,
                        nadir_context_error(context));
            assert_true(limit < 2000);
            scarce.left = INT64_MAX;
            nadir_attack_clear(context, &attack);
            test_problem_clear(&made);
            nadir_context_free(context);
            assert_int_equal(scarce.blocks, 0);
        }
    }
    test_note_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_values), cmocka_unit_test(test_instances),
        cmocka_unit_test(test_fixed_points),  cmocka_unit_test(test_nested),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

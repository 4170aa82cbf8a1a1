/* Worst kernels of rectangular sets on the domains simplex and support: members of the set, and worse than
 * all others. */
#include "support/support.h"

#include "linalg/vector.h"
#include "proof/bellman_bound.h"
#include "search/rectangular_policy_iteration.h"
#include "support/families.h"
#include "support/naive_rows.h"
#include "support/problem.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

#define TOLERANCE 1e-12

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
    nadir_candidate attack = {0};
    double lower;
    assert_ok(context, nadir_rectangular_policy_iteration(context, problem, factor, TOLERANCE, 100, &attack));
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
    nadir_candidate_clear(context, &attack);
    free(phat);
    free(other);
    free(X);
}

static void test_instances(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    const double norms[] = {1, 2, INFINITY, 1.5, 4};
    const nadir_domain domains[] = {NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT};
    const nadir_set sets[] = {NADIR_SET_SA, NADIR_SET_S};
    for (int i = 0; i < (test_memcheck() ? 20 : 80); i++) {
        const double p = norms[i / 4 % 5];
        test_note("seed %d, round %d, p %g, domain %d, set %d", SEED, i, p, i % 2, i / 2 % 2);
        instance made = make_instance(context, &random, sets[i / 2 % 2], domains[i % 2], p);
        check_instance(context, &random, test_problem_view(&made.made));
        clear_instance(&made);
    }
}

/* The same for other norms, whose bisections take their time, on small models. */
static void test_fixed_points(void **state)
{
    nadir_context *context = *state;
    const double norms[] = {1.5, 2, 3};
    const double radius = 0.07;
    for (int i = 0; i < 3 * 2 * 2 * 2; i++) {
        const double p = norms[i % 3];
        const nadir_set set = i / 3 % 2 == 0 ? NADIR_SET_S : NADIR_SET_SA;
        const nadir_domain domain = i / 6 % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const bool sparse = i / 12 == 0;
        test_note("p %g, set %d, domain %d, sparse %d", p, (int)set, (int)domain, (int)sparse);
        nadir_generate_settings settings = test_generate_settings();
        settings.states = 5;
        settings.actions = 2;
        settings.branch = sparse ? 2 : 5;
        nadir_model *model = NULL;
        assert_ok(context, nadir_model_generate(context, "garnet", &settings, &model));
        nadir_policy *policy = test_uniform_policy(context, model);
        const nadir_ball ball = test_ball(set, domain, p, &radius, NULL);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        nadir_candidate attack = {0};
        double *phat = test_dense_kernel(model);
        assert_ok(context, nadir_rectangular_policy_iteration(context, problem, 1, TOLERANCE, 100, &attack));
        const double residual = naive_residual(problem, 1, attack.v, phat);
        const double allowed = test_long_unit() < 1e-18 ? 1e-12 : 1e-8;
        assert_that(residual <= allowed * fabs(problem->J - attack.J), "|v - Tv| = %g", residual);
        free(phat);
        nadir_candidate_clear(context, &attack);
        test_problem_clear(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_instances),
        test_with_context(test_fixed_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Bounds of first and second order, one by one, on models of two states where one row moves along a line: the worst
 * kernel is one of the two ends, norms bound what they measure without loss, and a factor that is too small shows.
 * (Evaluations take the best of many bounds, and hide a wrong one behind a better one.)
 */
#include "support/support.h"

#include "model/landing.h"
#include "proof/breakdown.h"
#include "proof/difference_bound.h"
#include "proof/free_landing.h"
#include "sets/lmo_row_costs.h"
#include "support/landing.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/tiny.h"
#include "support/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 2236

enum { CASES = 300, POINTS = 9 };

/* Row 0 is (a - x, 1 - a + x), |x| sqrt(2) <= radius; row 1 is pinned. */
typedef struct line {
    nadir_context *context;
    double radius, most; /* x from -most to most */
    double P[4];
    double scales[2];
    test_problem made;
    nadir_problem problems[2]; /* the second returns nothing: mu = 0 */
    double zeros[2];
} line;

/* The kernel at share y of the way, y in [-1, 1]. */
static void fill_kernel(const line *made, double y, double *kernel)
{
    memcpy(kernel, made->P, sizeof made->P);
    kernel[0] -= y * made->most;
    kernel[1] += y * made->most;
}

static long double return_of(const line *made, double y)
{
    double kernel[4];
    fill_kernel(made, y, kernel);
    return test_return(&made->problems[0], kernel);
}

/* The occupancy at y. */
static void occupancy_of(const line *made, double y, long double *d)
{
    double kernel[4];
    fill_kernel(made, y, kernel);
    long double *average = test_dense_average(made->made.model, kernel, made->made.policy->probabilities);
    test_system system = test_system_make(2, average, made->problems[0].gamma);
    test_system_solve(&system, true, made->problems[0].mu, d);
    test_system_clear(&system);
    free(average);
}

/* The line must stay where it is. */
static void line_make(nadir_context *context, nadir_random *random, int number, nadir_set set,
                      nadir_domain domain, line *made)
{
    static const double discounts[] = {0.5, 0.75, 0.9};
    static const int64_t state_rows[] = {0, 1, 2};
    const double gamma = discounts[nadir_random_below(random, 3)];
    const double rewards[2] = {nadir_random_normal(random), nadir_random_normal(random)};
    const double mu[2] = {number % 2 == 0 ? 1 : 0.25, number % 2 == 0 ? 0 : 0.75};
    nadir_model_data data = test_model_data();
    *made = (line){.context = context, .scales = {1, 0}, .radius = 1e-6};
    made->P[0] = 0.3 + 0.4 * nadir_random_uniform(random);
    made->P[1] = 1 - made->P[0];
    made->P[2] = nadir_random_uniform(random);
    made->P[3] = 1 - made->P[2];
    data.states = data.rows = 2;
    data.discount = gamma;
    data.state_rows = state_rows;
    data.dense = made->P;
    data.rewards = rewards;
    data.initial = mu;
    nadir_model *model = test_create_model(context, &data);
    const nadir_ball ball = test_ball(set, domain, 2, &made->radius, made->scales);
    made->made = test_problem_make(context, model, test_uniform_policy(context, model), &ball, NULL, 1);
    double breakdown = 0.4;
    if (domain == NADIR_DOMAIN_FREE) {
        nadir_problem ball_problem = *test_problem_view(&made->made);
        assert_ok(context, nadir_breakdown_low(context, &ball_problem, NADIR_BREAKDOWN_CHOLESKY, false, 0,
                                               &breakdown));
    }
    static const double shares[] = {0.01, 0.3, 0.8};
    made->radius = shares[number / 2 % 3] * fmin(breakdown, 2);
    made->most = made->radius / sqrt(2) * (1 - 1e-12);
    made->made.uncertainty.radius = made->radius;
    made->problems[0] = made->problems[1] = *test_problem_view(&made->made);
    made->problems[1].mu = made->problems[1].d = made->zeros;
    made->problems[1].J = made->problems[1].J_error = made->problems[1].d_error = 0;
    test_note("seed %d, case %d, discount %g, radius %g", SEED, number, gamma, made->radius);
}

/* What is known of both problems; ranges on domains of distributions. */
static void fill_facts(line *made, bool ranges, nadir_difference_facts *facts)
{
    *facts = (nadir_difference_facts){0};
    for (int i = 0; i < 2; i++) {
        assert_ok(made->context,
                  nadir_perturbation_bound_make(made->context, &made->problems[i], NADIR_CERTIFY_STRICT,
                                                &facts->perturbation[i]));
        if (ranges) {
            assert_ok(made->context,
                      nadir_occupancy_range_make(made->context, &made->problems[0], &facts->range[i]));
        }
    }
}

static void clear_facts(line *made, nadir_difference_facts *facts)
{
    for (int i = 0; i < 2; i++) {
        nadir_occupancy_bounds_clear(made->context, &facts->range[i]);
    }
}

static void check_first_order(line *made, bool ranges)
{
    nadir_difference_facts facts;
    nadir_lmo_row_costs costs = {0};
    double lower;
    const long double worst = fminl(return_of(made, -1), return_of(made, 1));
    fill_facts(made, ranges, &facts);
    assert_ok(made->context, nadir_lmo_row_costs_make(made->context, made->made.model,
                                                      made->problems[0].uncertainty, &costs));
    /* multipliers of the worst kernel to first order, with which the bound is as good as it gets */
    const nadir_problem *of = made->problems;
    assert_ok(made->context, nadir_lmo_row_costs_set(made->context, &costs, of[0].gamma, of[0].landing,
                                                     of[0].d, of[0].policy->probabilities, of[0].v, of[1].d,
                                                     of[1].policy->probabilities, of[1].v));
    assert_ok(made->context, nadir_lmo_row_costs_solve(made->context, &costs));
    assert_ok(made->context,
              nadir_difference_first_order(made->context, made->problems, &facts, &costs, &lower));
    assert_that(lower <= worst, "%.15Lg is attained, %.15g the bound of first order", worst, lower);
    for (int i = 0; i < 2 && ranges; i++) {
        long double d[2];
        occupancy_of(made, 2 * i - 1, d);
        for (int s = 0; s < 2; s++) {
            assert_that(facts.range[0].low[s] <= d[s] && d[s] <= facts.range[0].high[s],
                        "%.15Lg is not in [%.15g, %.15g]", d[s], facts.range[0].low[s],
                        facts.range[0].high[s]);
        }
    }
    nadir_lmo_row_costs_clear(made->context, &costs);
    clear_facts(made, &facts);
}

/* Around the kernel at y, with the multiplier tau: the bound, and the curvature C = 2 tau kappa, which bounds what first
 * order leaves of every other return. */
static void check_second_order(line *made, bool ranges, double y, double tau)
{
    nadir_context *context = made->context;
    nadir_difference_facts facts;
    nadir_lmo_row_costs costs = {0};
    nadir_kernel *kernel = NULL;
    nadir_occupancy *occupancy = NULL;
    nadir_value value = {0};
    double entries[4];
    double lower;
    double kappa;
    fill_kernel(made, y, entries);
    const int64_t row = 0;
    const int64_t starts[2] = {0, 2};
    const int32_t columns[2] = {0, 1};
    const nadir_changed_rows changed = {1, &row, starts, columns, entries};
    assert_ok(context, nadir_kernel_create_changed(context, made->made.model, &changed, &kernel));
    assert_ok(context, nadir_occupancy_create(context, kernel, made->made.policy, made->problems[0].gamma,
                                              NULL, 1e-12, &occupancy));
    assert_ok(context, nadir_value_solve(context, kernel, made->made.policy, occupancy, &value));
    const nadir_difference_witness witness = {.kernel = kernel,
                                              .occupancy = {occupancy, occupancy},
                                              .v = {value.v, value.v},
                                              .J = {value.J, 0},
                                              .tau = tau};
    fill_facts(made, ranges, &facts);
    assert_ok(context,
              nadir_lmo_row_costs_make(context, made->made.model, made->problems[0].uncertainty, &costs));
    assert_ok(context, nadir_difference_check(context, made->problems, &witness, true, &facts));
    facts.lower = facts.check[0].lower; /* of the first alone: the rows know nothing of mu = 0 */
    assert_ok(context, nadir_difference_second_order(context, made->problems, &witness, &facts, &costs,
                                                     &lower, &kappa));
    const long double J = return_of(made, y);
    const double C = 2 * tau * kappa;
    long double d[2];
    occupancy_of(made, y, d);
    for (int i = 0; i < POINTS && isfinite(lower); i++) {
        const double z = -1 + 2.0 * i / (POINTS - 1);
        const long double x = (long double)made->most * (z - y);
        const long double slope = made->problems[0].gamma * d[0] * x * ((long double)value.v[1] - value.v[0]);
        const long double rest = fabsl(return_of(made, z) - J - slope);
        assert_that(rest <= C * 2 * x * x * (1 + 1e-6L) + 1e-12L * fabsl(J),
                    "%.12Lg is left, C |delta|^2 is %.12Lg", rest, C * 2 * x * x);
        assert_that(lower <= return_of(made, z), "%.15Lg is attained, %.15g the bound", return_of(made, z),
                    lower);
    }
    const double lost = 4 * made->radius * made->radius * fmax(0, C - tau);
    assert_that(!(lower > facts.lower - lost * (1 - 1e-9)), "%.15g from %.15g, less %.15g", lower,
                facts.lower, lost);
    nadir_value_clear(context, &value);
    nadir_occupancy_free(context, occupancy);
    nadir_kernel_free(kernel);
    nadir_lmo_row_costs_clear(context, &costs);
    clear_facts(made, &facts);
}

static void test_lines(void **state)
{
    static const struct {
        nadir_set set;
        nadir_domain domain;
    } kinds[] = {{NADIR_SET_NONRECT, NADIR_DOMAIN_FREE},
                 {NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX},
                 {NADIR_SET_SA, NADIR_DOMAIN_FREE},
                 {NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT}};
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < CASES; i++) {
        line made;
        line_make(context, &random, i, kinds[i % 4].set, kinds[i % 4].domain, &made);
        const bool ranges = kinds[i % 4].domain != NADIR_DOMAIN_FREE;
        check_first_order(&made, ranges);
        if (kinds[i % 4].set == NADIR_SET_NONRECT) {
            for (int j = 0; j < 6; j++) {
                static const double taus[] = {1e-3, 0.1, 3};
                check_second_order(&made, ranges, j % 2 == 0 ? 0 : 1, taus[j / 2]);
                check_second_order(&made, false, -1, taus[j / 2]);
            }
        }
        test_problem_clear(&made.made);
    }
}

/* Rewards on landing, on the free domain next to breakdown: what first order leaves of the returns of kernels P
 * around the nominal one, sum over s of (d_P - d)(s) (R_P + gamma P v - v)(s), is at most C |delta|^2. */
static void check_landing(nadir_context *context, const nadir_problem *problem, nadir_random *random)
{
    nadir_landing_answer answer;
    const double tau = 0.1;
    const double radius = problem->uncertainty->radius;
    assert_ok(context, nadir_landing_check(context, problem, NADIR_CERTIFY_STRICT, problem->kernel,
                                           problem->v, tau, &answer));
    const double C = 2 * tau * answer.kappa;
    for (int i = 0; i < 40; i++) {
        const double angle = 2 * acos(-1) * nadir_random_uniform(random);
        const double x[2] = {radius * cos(angle) / sqrt(2), radius * sin(angle) / sqrt(2)};
        double P[4];
        double paid[2];
        double mu[2];
        long double d[2];
        long double d_P[2];
        for (int s = 0; s < 2; s++) {
            const double stay = test_probability(problem->model, s, 0);
            P[2 * s] = stay - x[s];
            P[2 * s + 1] = 1 - stay + x[s];
            mu[s] = problem->mu[s];
        }
        nadir_kernel *kernel = test_entries_kernel(context, problem->model, P);
        nadir_kernel_rewards(context, kernel, problem->policy, problem->sign, paid);
        const long double average[4] = {P[0], P[1], P[2], P[3]};
        const long double nominal[4] = {(long double)P[0] + x[0], (long double)P[1] - x[0],
                                        (long double)P[2] + x[1], (long double)P[3] - x[1]};
        test_system system = test_system_make(2, average, problem->gamma);
        test_system_solve(&system, true, mu, d_P);
        test_system_clear(&system);
        system = test_system_make(2, nominal, problem->gamma);
        test_system_solve(&system, true, mu, d);
        test_system_clear(&system);
        long double rest = 0;
        for (int s = 0; s < 2; s++) {
            const long double next =
                (long double)P[2 * s] * problem->v[0] + (long double)P[2 * s + 1] * problem->v[1];
            rest += (d_P[s] - d[s]) * (paid[s] + problem->gamma * next - problem->v[s]);
        }
        assert_that(!(fabsl(rest) > C * radius * radius * (1 + 1e-6L) + 1e-10L),
                    "%.12Lg is left, C |delta|^2 is %.12g", rest, C * radius * radius);
        nadir_kernel_free(kernel);
    }
}

static void test_landing_lines(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    for (int i = 0; i < CASES; i++) {
        test_landing draft = test_landing_start(2, 1, i % 2 == 0 ? 0.5 : 0.9);
        double radius = 1e-6;
        double breakdown;
        for (int s = 0; s < 2; s++) {
            draft.kernel[2 * s] = 0.1 + 0.8 * nadir_random_uniform(&random);
            draft.kernel[2 * s + 1] = 1 - draft.kernel[2 * s];
            draft.paid[2 * s] = nadir_random_normal(&random);
            draft.paid[2 * s + 1] = nadir_random_normal(&random);
        }
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
        nadir_model *model = test_landing_model(context, &draft, false, NADIR_UNSEEN_ROW, 0);
        test_problem made =
            test_problem_make(context, model, test_uniform_policy(context, model), &ball, NULL, 1);
        assert_ok(context, nadir_breakdown_low(context, test_problem_view(&made), NADIR_BREAKDOWN_CHOLESKY,
                                               false, 0, &breakdown));
        radius = (i % 3 == 0 ? 0.1 : 0.9) * breakdown;
        made.uncertainty.radius = radius;
        test_note("landing, case %d, radius %g", i, radius);
        if (test_problem_view(&made)->landing != 0) {
            check_landing(context, test_problem_view(&made), &random);
        }
        test_problem_clear(&made);
        test_landing_clear(&draft);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(test_lines), test_with_context(test_landing_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The check of the Lagrangian bound: below everything that can be found, for any v and tau, and tight. */
#include "support/support.h"

#include "linalg/vector.h"
#include "proof/bellman_bound.h"
#include "search/frank_wolfe.h"
#include "search/lagrangian_search.h"
#include "support/generated.h"
#include "support/miniature.h"
#include "support/penalized.h"
#include "support/reference.h"
#include "support/tiny.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { SEED = 1618 };

static const double norms[] = {1, 1.5, 2, 3, 1.05, 8, 1000};
enum { NORMS = sizeof norms / sizeof *norms };

static double check(test_penalized *penalized, double tau, const double *v)
{
    double lower = NAN;
    assert_ok(penalized->context,
              nadir_lagrangian_bound(penalized->context, test_penalized_view(penalized), penalized->radius,
                                     penalized->d_bar, tau, v, &lower));
    return lower;
}

/* Of the numbers that bounds and returns are made of. */
static double size_of(const nadir_problem *problem, const nadir_lagrangian *found)
{
    return fmax(nadir_vector_largest(problem->states, found->v),
                nadir_vector_largest(problem->states, problem->v));
}

/* Of a return of this size, as this process computes with long double. */
static double reference_error(const nadir_problem *problem, double size)
{
    return 100 * test_long_unit() * size / (1 - problem->gamma);
}

/* The check of a solution: below the penalized return of its own kernel, which is the smallest there is, to the
 * last digit; and as tight as rounding allows. */
static void check_tight(test_penalized *penalized, const nadir_lagrangian *found, double tolerance)
{
    const nadir_problem *problem = test_penalized_view(penalized);
    const double lower = check(penalized, found->tau, found->v);
    double *kernel = test_kernel_entries(penalized->context, found->kernel);
    const long double p = problem->uncertainty->p;
    const long double charge = powl(powl(found->tau, 1 / p) * penalized->radius, p);
    const long double least = test_penalized_return(penalized, found->tau, kernel, NULL) - charge;
    const double size = size_of(problem, found) + (double)charge;
    assert_that(lower <= least + reference_error(problem, size), "lower bound %.17g, attained %.17Lg", lower,
                least);
    /* a tau next to the least or largest number has few digits */
    const bool known = found->tau == 0 || (found->tau > 1e-280 && found->tau < 1e280);
    assert_that(!known || lower >= found->value - tolerance * size, "lower bound %.17g of %.17g, tau %g",
                lower, found->value, found->tau);
    free(kernel);
}

/* Kernels of the set: at random, and from a search where `search` says so. None is below the bound. */
static void attack(test_penalized *penalized, nadir_random *random, double lower, int tries, bool search)
{
    const nadir_problem *problem = test_penalized_view(penalized);
    test_oracle oracle = test_oracle_make(problem->model, problem->policy, &penalized->ball);
    double *kernel = test_new(problem->rows * problem->states, sizeof *kernel);
    const double error = reference_error(problem, nadir_vector_largest(problem->states, problem->v));
    for (int64_t row = 0; row < problem->rows; row++) {
        oracle.rewards[row] = problem->sign * (oracle.rewards[row] - problem->model->landing.offset);
    }
    for (int i = 0; i < tries; i++) {
        test_oracle_random(&oracle, random, kernel);
        const double J = test_oracle_return(&oracle, kernel, NULL);
        assert_that(J >= lower - error, "a return of %.17g below %.17g", J, lower);
    }
    if (search) {
        const double J = test_oracle_worst(&oracle, random, 3, kernel);
        assert_that(J >= lower - error, "a return of %.17g below %.17g", J, lower);
    }
    free(kernel);
    test_oracle_clear(&oracle);
}

/* Tiny models: the best bound, and bounds from v and tau that nobody would choose. */
static void fight(test_penalized *penalized, nadir_random *random, bool search)
{
    nadir_context *context = penalized->context;
    const nadir_problem *problem = test_penalized_view(penalized);
    const int64_t n = problem->states;
    nadir_lagrangian found = {0};
    assert_ok(context, nadir_lagrangian_tau_best(context, problem, penalized->radius, penalized->d_bar, 0, 12,
                                                 &found));
    check_tight(penalized, &found, 1e-9);
    attack(penalized, random, check(penalized, found.tau, found.v), 6, search);
    const double tau = found.tau < 1e100 ? found.tau * nadir_random_exponential(random) : 1;
    assert_ok(context,
              nadir_lagrangian_solve(context, problem, penalized->radius, penalized->d_bar, tau, &found));
    check_tight(penalized, &found, 1e-9);
    /* any other v gives less, but for rounding */
    double *v = test_new(n, sizeof *v);
    const double size = size_of(problem, &found);
    const double change = size * pow(10, -6 * nadir_random_uniform(random));
    for (int64_t s = 0; s < n; s++) {
        v[s] = found.v[s] + change * nadir_random_normal(random);
    }
    const double lower = check(penalized, tau, v);
    assert_that(lower <= found.value + 1e-10 * size, "%.17g from another v, at most %.17g", lower,
                found.value);
    attack(penalized, random, lower, 2, false);
    nadir_lagrangian_clear(context, &found);
    free(v);
}

static void test_attacked(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int round = 0; round < test_often(4200); round++) {
        test_penalized penalized = test_penalized_make(context, &random, norms[round % NORMS], 4);
        test_note("seed %d, round %d, %s", SEED, round, penalized.name);
        fight(&penalized, &random, round % 40 == 0);
        test_penalized_clear(&penalized);
    }
}

/* p = 2, support: d(t) + gamma beta sqrt(max of sum y_s d_bar_s k_st^2, 0 <= y <= d_bar, sum y = 1 / (1 -
 * gamma)), again and again from 1 / (1 - gamma), with k_st^2 = sum over a of pi^2 |De_t centred on the
 * successors|^2. */
static void bound_visits(const nadir_problem *problem, double beta, double *d_bar)
{
    enum { SWEEPS = 20 };
    const int64_t n = problem->states;
    const double most = 1 / (1 - problem->gamma);
    double *nominal = test_dense_kernel(problem->model);
    long double *average = test_dense_average(problem->model, nominal, problem->policy->probabilities);
    test_system system = test_system_make(n, average, problem->gamma);
    double *unit = test_new(n, sizeof *unit);
    long double *column = test_new(n, sizeof *column);
    double *square = test_new(n * n, sizeof *square);
    for (int64_t t = 0; t < n; t++) {
        unit[t] = 1;
        test_system_solve(&system, false, unit, column);
        unit[t] = 0;
        for (int64_t row = 0; row < problem->rows; row++) {
            const double pi = problem->policy->probabilities[row];
            long double count = 0;
            long double mean = 0;
            long double sum = 0;
            for (int64_t i = 0; i < n; i++) {
                count += nominal[row * n + i] > 0;
                mean += nominal[row * n + i] > 0 ? column[i] : 0;
            }
            for (int64_t i = 0; i < n; i++) {
                sum += nominal[row * n + i] > 0 ? powl(column[i] - mean / count, 2) : 0;
            }
            square[t * n + nadir_model_row_state(problem->model, row)] += (double)(pi * pi * sum);
        }
        d_bar[t] = most;
    }
    for (int i = 0; i < SWEEPS * n; i++) {
        const int64_t t = i % n;
        double left = most;
        double total = 0;
        double last = INFINITY;
        while (left > 0) { /* the next largest */
            double next = -1;
            for (int64_t s = 0; s < n; s++) {
                const double worth = d_bar[s] * square[t * n + s];
                next = worth < last && worth > next ? worth : next;
            }
            for (int64_t s = 0; s < n && next >= 0; s++) {
                if (d_bar[s] * square[t * n + s] == next) {
                    total += fmin(left, d_bar[s]) * next;
                    left -= fmin(left, d_bar[s]);
                }
            }
            left = next > 0 ? left : 0;
            last = next;
        }
        const double step = problem->gamma * beta * sqrt(total);
        d_bar[t] = fmin(d_bar[t], (problem->d[t] + step) * (1 + 1e-12));
    }
    test_system_clear(&system);
    free(nominal);
    free(average);
    free(unit);
    free(column);
    free(square);
}

/* A swimmer against the current: with bounds on visits the bracket is a fifth of the penalty. */
static void test_riverswim(void **state)
{
    nadir_context *context = *state;
    const double beta = 0.3;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &beta, NULL);
    const nadir_generate_settings settings = test_generate_settings();
    nadir_model *model = test_generate(context, "riverswim", &settings);
    nadir_policy *policy = test_uniform_policy(context, model);
    test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    double *d_bar = test_new(problem->states, sizeof *d_bar);
    nadir_candidate attack = {0};
    nadir_lagrangian found = {0};
    double lower;
    bound_visits(problem, beta, d_bar);
    assert_ok(context, nadir_frank_wolfe_run(context, problem, beta, NULL, 1e-12, 200, &attack));
    assert_ok(context, nadir_lagrangian_tau_best(context, problem, beta, d_bar, attack.tau, 20, &found));
    assert_ok(context, nadir_lagrangian_bound(context, problem, beta, d_bar, found.tau, found.v, &lower));
    const double share = (attack.J - lower) / (problem->J - attack.J);
    assert_that(share > 0 && share < 0.2, "the bracket is %g of the penalty", share);
    nadir_candidate_clear(context, &attack);
    nadir_lagrangian_clear(context, &found);
    free(d_bar);
    test_problem_clear(&made);
}

/* A problem of a model of our own; takes the model. d_bar as for nothing known. */
static test_penalized dress(nadir_context *context, nadir_model *model, nadir_domain domain, double p,
                            double radius)
{
    test_penalized penalized = {.context = context, .radius = radius};
    nadir_policy *policy = test_uniform_policy(context, model);
    penalized.ball = test_ball(NADIR_SET_NONRECT, domain, p, &radius, NULL);
    penalized.made = test_problem_make(context, model, policy, &penalized.ball, NULL, 1);
    penalized.d_bar = test_new(model->states, sizeof *penalized.d_bar);
    for (int64_t s = 0; s < model->states; s++) {
        penalized.d_bar[s] = 1 / (1 - model->discount);
    }
    return penalized;
}

/* The best bound, checked; then without the model. */
static double best_bound(test_penalized *penalized, double tolerance)
{
    nadir_lagrangian found = {0};
    assert_ok(penalized->context,
              nadir_lagrangian_tau_best(penalized->context, test_penalized_view(penalized), penalized->radius,
                                        penalized->d_bar, 0, 20, &found));
    check_tight(penalized, &found, tolerance);
    const double lower = check(penalized, found.tau, found.v);
    nadir_lagrangian_clear(penalized->context, &found);
    test_penalized_clear(penalized);
    return lower;
}

/* Rewards of any size, and far from zero; discounts next to one; norms next to one and to infinity. */
static void test_extremes(void **state)
{
    static const double factors[] = {1, 1e9, 1e-9, 1e150, 1e-150};
    static const double all_norms[] = {1, 2, 1.5, 4, 1.001, 200};
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < test_often(300); i++) {
        const double p = all_norms[i % 6];
        const nadir_domain domain = i / 6 % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const double discount = i / 12 % 3 == 0 ? 0.9999 : i / 12 % 3 == 1 ? 0 : 0.9;
        nadir_model *plain = test_tiny_model(context, &random, 4, discount, 0.6);
        test_note("case %d: p %g, domain %d, discount %g", i, p, (int)domain, discount);
        for (int j = 0; j < 5; j++) {
            nadir_model *model = test_model_rewarded(context, plain, factors[j], 0);
            test_penalized penalized = dress(context, model, domain, p, 0.2);
            best_bound(&penalized, 1e-9);
        }
        nadir_model *model = test_model_rewarded(context, plain, 1, 1e9);
        test_penalized penalized = dress(context, model, domain, p, 0.2);
        best_bound(&penalized, 1e-9);
        nadir_model_free(plain);
    }
}

/* Nothing to choose: one state, constant values, no radius, all rows pinned, no state that is entered. */
static void test_degenerate(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < 28; i++) {
        const double p = norms[i % NORMS];
        const nadir_domain domain = i / NORMS % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        test_note("case %d: p %g, domain %d", i, p, (int)domain);
        nadir_model *single = test_tiny_model(context, &random, 1, 0.9, 1);
        test_penalized one = dress(context, single, domain, p, 0.5);
        double J = test_penalized_view(&one)->J;
        assert_close(best_bound(&one, 1e-13), J, 1e-13);

        nadir_model *tiny = test_tiny_model(context, &random, 4, 0.9, 0.6);
        test_penalized constant = dress(context, test_model_rewarded(context, tiny, 0, 3), domain, p, 0.5);
        assert_close(best_bound(&constant, 1e-13), 30, 1e-13);
        test_penalized nothing = dress(context, test_model_rewarded(context, tiny, 0, 0), domain, p, 0.5);
        assert_true(fabs(best_bound(&nothing, 1e-13)) <= 1e-300);

        test_penalized none = dress(context, test_model_rewarded(context, tiny, 1, 0), domain, p, 0);
        J = test_penalized_view(&none)->J;
        assert_close(best_bound(&none, 1e-12), J, 1e-12);

        test_penalized lonely = dress(context, tiny, domain, p, 0.5);
        J = test_penalized_view(&lonely)->J;
        for (int64_t s = 0; s < tiny->states; s++) {
            lonely.d_bar[s] = 0;
        }
        assert_close(best_bound(&lonely, 1e-12), J, 1e-12);
    }
}

/* Rows that are all pinned. */
static void test_pinned(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    nadir_model *model = test_tiny_model(context, &random, 4, 0.9, 0.6);
    nadir_policy *policy = test_uniform_policy(context, model);
    double *scales = test_new(model->rows, sizeof *scales);
    test_penalized penalized = {.context = context, .radius = 0.5};
    penalized.ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &penalized.radius, scales);
    penalized.made = test_problem_make(context, model, policy, &penalized.ball, NULL, 1);
    penalized.d_bar = test_new(model->states, sizeof *penalized.d_bar);
    for (int64_t s = 0; s < model->states; s++) {
        penalized.d_bar[s] = 10;
    }
    const double J = test_penalized_view(&penalized)->J;
    assert_close(best_bound(&penalized, 1e-12), J, 1e-12);
    free(scales);
}

/* What is no price, no bound on visits, or no value. */
static void test_wrong(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    test_penalized penalized =
        dress(context, test_tiny_model(context, &random, 3, 0.9, 1), NADIR_DOMAIN_SIMPLEX, 2, 0.1);
    const nadir_problem *problem = test_penalized_view(&penalized);
    const double wild[] = {1, INFINITY, 0};
    double lower;
    assert_fails(context,
                 nadir_lagrangian_bound(context, problem, 0.1, penalized.d_bar, -1, problem->v, &lower),
                 NADIR_ERROR_ARGUMENT, "tau is -1");
    assert_fails(context,
                 nadir_lagrangian_bound(context, problem, 0.1, penalized.d_bar, NAN, problem->v, &lower),
                 NADIR_ERROR_ARGUMENT, "tau is");
    assert_fails(context, nadir_lagrangian_bound(context, problem, 0.1, penalized.d_bar, 1, wild, &lower),
                 NADIR_ERROR_ARGUMENT, "");
    penalized.d_bar[1] = NAN;
    assert_fails(context,
                 nadir_lagrangian_bound(context, problem, 0.1, penalized.d_bar, 1, problem->v, &lower),
                 NADIR_ERROR_ARGUMENT, "in state 1");
    test_penalized_clear(&penalized);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_attacked), test_with_context(test_riverswim),
        test_with_context(test_extremes), test_with_context(test_degenerate),
        test_with_context(test_pinned),   test_with_context(test_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

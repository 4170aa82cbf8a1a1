/*
 * Bounds on occupancies and what they are made of: against definitions, and against kernels of the set that
 * visit states as much, or as little, as can be found.
 */
#include "support/support.h"

#include "linalg/vector.h"
#include "proof/second_order.h"
#include "support/miniature.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 1414

enum { MOST = 40 };

/* The knapsack by putting in the best things first. */
static double pack_best_first(int64_t n, const double *value, const double *low, const double *high,
                              double total)
{
    bool taken[MOST] = {false};
    double sum = 0;
    for (int64_t s = 0; s < n; s++) {
        sum += low[s] * value[s];
        total -= low[s];
    }
    for (int64_t i = 0; i < n && total > 0; i++) {
        int64_t best = 0;
        for (int64_t s = 0; s < n; s++) {
            best = !taken[s] && (taken[best] || value[s] > value[best]) ? s : best;
        }
        const double put = fmin(total, high[best] - low[best]);
        taken[best] = true;
        sum += put * value[best];
        total -= put;
    }
    return sum;
}

static void test_knapsack(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < 3000; i++) {
        double value[MOST];
        double low[MOST];
        double high[MOST];
        const int64_t n = 1 + (int64_t)nadir_random_below(&random, MOST);
        for (int64_t s = 0; s < n; s++) {
            /* many equal ones, and zeros */
            value[s] = (double)nadir_random_below(&random, i % 2 == 0 ? 4 : 1000000);
            low[s] = nadir_random_below(&random, 3) == 0 ? 0.1 * nadir_random_uniform(&random) : 0;
            high[s] = low[s] + (nadir_random_below(&random, 4) == 0 ? 0 : nadir_random_uniform(&random));
        }
        const double total = nadir_vector_sum(n, low) + 0.3 * (double)n * nadir_random_uniform(&random);
        const nadir_occupancy_bounds bounds = {.states = n, .total = total, .high = high, .low = low};
        double most;
        test_note("seed %d, case %d", SEED, i);
        assert_ok(context, nadir_occupancy_bounds_most(context, &bounds, value, &most));
        const double expected = pack_best_first(n, value, low, high, total);
        assert_that(most >= expected * (1 - 1e-15) && most <= expected * (1 + 1e-13) + 1e-8,
                    "the knapsack holds %.17g, not %.17g", expected, most);
    }
}

/* min over c of sum where X > 0 of (g - c)^2 + sum where X = 0 of max(0, g - c)^2, over allowed entries: the
 * derivative falls through 0. */
static double sigma_square(int64_t n, const bool *allowed, const double *X, const double *g)
{
    long double low = -1e6L;
    long double high = 1e6L;
    long double sum = 0;
    for (int i = 0; i < 200; i++) {
        const long double c = (low + high) / 2;
        long double slope = 0;
        sum = 0;
        for (int64_t j = 0; j < n; j++) {
            const long double far = g[j] - c;
            if (allowed[j] && (X[j] > 0 || far > 0)) {
                slope += far;
                sum += far * far;
            }
        }
        *(slope > 0 ? &low : &high) = c;
    }
    return (double)sum;
}

/* The table with weights against the minimum over c of a quadratic, all rows of scale and probability one. */
static void check_weighted(nadir_context *context, nadir_random *random,
                           const nadir_perturbable_rows *perturbable, const double *g)
{
    double *inverse = test_new(perturbable->entries + 1, sizeof *inverse);
    double *both = test_new(perturbable->states, sizeof *both);
    for (int64_t e = 0; e < perturbable->entries; e++) {
        inverse[e] = 0.1 + 0.9 * nadir_random_uniform(random);
    }
    assert_ok(context, nadir_sensitivity_weighted(context, perturbable, inverse, 1, g, both));
    for (int64_t s = 0; s < perturbable->states; s++) {
        long double mass = 0;
        long double sum = 0;
        long double square = 0;
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            for (int64_t j = 0; j < nadir_perturbable_rows_length(perturbable, i); j++) {
                const long double weight = inverse[perturbable->starts[i] + j];
                const long double value = g[nadir_perturbable_rows_column(perturbable, i, j)];
                mass += weight;
                sum += weight * value;
                square += weight * value * value;
            }
        }
        const double expected = mass > 0 ? (double)(square - sum * sum / mass) : 0;
        assert_that(fabs(both[s] - expected) <= 1e-12, "%.17g, not %.17g", both[s], expected);
    }
    free(inverse);
    free(both);
}

/* Tables against the definition, for rows that allow all states or a few and are zero anywhere. */
static void test_sensitivities(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < 400; i++) {
        enum { S = 12 };
        double P[S * S] = {0};
        double X[S * S];
        double g[S];
        double up[S];
        double down[S];
        double coarse[S] = {0};
        double rewards[S] = {0};
        const double radius = 1;
        const bool listed = i % 2 == 0;
        const double share = nadir_random_uniform(&random);
        double mean = 0;
        for (int64_t s = 0; s < S; s++) {
            for (int64_t t = 0; t < S; t++) {
                P[s * S + t] = t == s || nadir_random_uniform(&random) < 0.4 ? 1 : 0;
            }
            g[s] = i % 5 == 0 ? (double)nadir_random_below(&random, 3) : nadir_random_normal(&random);
            mean += g[s] / S;
        }
        for (int64_t s = 0; s < S; s++) {
            const double sum = nadir_vector_sum(S, P + s * S);
            for (int64_t t = 0; t < S; t++) {
                P[s * S + t] /= sum;
            }
            g[s] -= mean;
        }
        const nadir_ball ball = test_ball(
            NADIR_SET_NONRECT, listed ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
        nadir_model *model = test_plain_model(context, S, 0.9, P, rewards, NULL);
        nadir_policy *policy = test_uniform_policy(context, model);
        test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
        nadir_perturbable_rows perturbable;
        nadir_sensitivity sensitivity;
        assert_ok(context, nadir_perturbable_rows_make(context, test_problem_view(&made), &perturbable));
        for (int64_t e = 0; e < perturbable.entries; e++) {
            X[e] = nadir_random_uniform(&random) < share ? 1 : 0;
        }
        for (int64_t r = 0; r < perturbable.count; r++) {
            X[perturbable.starts[r]] = 1; /* one at least */
        }
        assert_ok(context, nadir_sensitivity_make(context, &perturbable, X, &sensitivity));
        assert_ok(context, nadir_sensitivity_tables(context, &sensitivity, 1, g, up, down));
        if (perturbable.columns == NULL) {
            nadir_sensitivity all;
            assert_ok(context, nadir_sensitivity_make(context, &perturbable, NULL, &all));
            assert_ok(context, nadir_sensitivity_tables(context, &all, 1, g, coarse, NULL));
            nadir_sensitivity_clear(context, &all);
        }
        for (int64_t s = 0; s < S; s++) {
            bool allowed[S] = {false};
            double row[S] = {0};
            double minus[S];
            int64_t positive = 0;
            test_note("seed %d, case %d, state %d", SEED, i, (int)s);
            for (int64_t e = 0; e < S; e++) {
                minus[e] = -g[e];
            }
            for (int64_t r = perturbable.first[s]; r < perturbable.first[s + 1]; r++) {
                for (int64_t e = 0; e < nadir_perturbable_rows_length(&perturbable, r); e++) {
                    allowed[nadir_perturbable_rows_column(&perturbable, r, e)] = true;
                    row[nadir_perturbable_rows_column(&perturbable, r, e)] = X[perturbable.starts[r] + e];
                    positive += X[perturbable.starts[r] + e] > 0;
                }
            }
            const double plus_exact = sigma_square(S, allowed, row, g);
            const double minus_exact = sigma_square(S, allowed, row, minus);
            assert_that(perturbable.columns != NULL || coarse[s] >= fmax(up[s], down[s]) * (1 - 1e-12),
                        "the coarse bound %.17g is below %.17g or %.17g", coarse[s], up[s], down[s]);
            const bool few = perturbable.columns != NULL || positive < 9; /* otherwise an upper bound */
            assert_that(up[s] >= plus_exact * (1 - 1e-15) - 1e-30 &&
                            down[s] >= minus_exact * (1 - 1e-15) - 1e-30,
                        "%.17g < %.17g or %.17g < %.17g", up[s], plus_exact, down[s], minus_exact);
            assert_that(!few || (up[s] <= plus_exact * (1 + 1e-7) + 1e-26 &&
                                 down[s] <= minus_exact * (1 + 1e-7) + 1e-26),
                        "%.17g > %.17g or %.17g > %.17g", up[s], plus_exact, down[s], minus_exact);
        }
        check_weighted(context, &random, &perturbable, g);
        nadir_sensitivity_clear(context, &sensitivity);
        nadir_perturbable_rows_clear(context, &perturbable);
        test_problem_clear(&made);
    }
}

/* d_P(t) of the kernel that has most (sign 1) or least of it, as far as a search can tell. */
static double extreme_visits(test_oracle *oracle, nadir_random *random, int64_t t, double sign,
                             double *kernel)
{
    for (int64_t row = 0; row < oracle->rows; row++) {
        oracle->rewards[row] = oracle->row_states[row] == t ? -sign : 0;
    }
    double lowest = test_oracle_return(oracle, oracle->nominal, NULL);
    for (int i = 0; i < 10; i++) {
        test_oracle_random(oracle, random, kernel);
        lowest = fmin(lowest, test_oracle_return(oracle, kernel, NULL));
    }
    lowest = fmin(lowest, test_oracle_worst(oracle, random, 1, kernel));
    return -sign * lowest;
}

static void test_bounds(void **state)
{
    static const double radii[] = {0.01, 0.1, 0.3, 0.6, 1.2};
    nadir_context *context = *state;
    double closest = INFINITY;
    nadir_random random = test_random(SEED);
    const int cases = test_memcheck() ? 30 : 600;
    for (int i = 0; i < cases; i++) {
        const double radius = radii[nadir_random_below(&random, 5)];
        const nadir_domain domain = i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, &radius, NULL);
        test_miniature tiny = test_miniature_make(context, &random, 5);
        test_note("seed %d, case %d, %s, %s, %g", SEED, i, tiny.name, nadir_domain_name(domain), radius);
        test_oracle oracle = test_oracle_make(tiny.model, tiny.policy, &ball);
        test_problem made = test_problem_make(context, tiny.model, tiny.policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        double *kernel = test_new(problem->rows * problem->states, sizeof *kernel);
        nadir_perturbable_rows perturbable;
        nadir_occupancy_bounds bounds;
        assert_ok(context, nadir_perturbable_rows_make(context, problem, &perturbable));
        assert_ok(context, nadir_occupancy_bounds_make(context, problem, &bounds));
        test_bound_occupancies(context, problem, &perturbable, radius, &bounds);
        assert_false(bounds.empty);
        const int64_t t = (int64_t)nadir_random_below(&random, (uint64_t)problem->states);
        const double most = extreme_visits(&oracle, &random, t, 1, kernel);
        const double least = extreme_visits(&oracle, &random, t, -1, kernel);
        const double slack = 1e-13 * bounds.total;
        nadir_occupancy_bounds limited;
        assert_ok(context, nadir_occupancy_bounds_make(context, problem, &limited));
        nadir_occupancy_bounds_limit(context, problem, radius, &limited);
        assert_that(most <= limited.high[t] + slack && least >= limited.low[t] - slack,
                    "%.17g to %.17g visits, the limits are %.17g and %.17g", least, most, limited.low[t],
                    limited.high[t]);
        nadir_occupancy_bounds_clear(context, &limited);
        assert_that(most <= bounds.high[t] + slack, "%.17g visits, the bound is %.17g", most, bounds.high[t]);
        assert_that(least >= bounds.low[t] - slack, "%.17g visits, the bound is %.17g", least, bounds.low[t]);
        if (bounds.high[t] > problem->d[t] + 1e-6) {
            closest = fmin(closest, (bounds.high[t] - most) / (bounds.high[t] - problem->d[t]));
        }
        free(kernel);
        nadir_occupancy_bounds_clear(context, &bounds);
        nadir_perturbable_rows_clear(context, &perturbable);
        test_oracle_clear(&oracle);
        test_problem_clear(&made);
    }
    assert_that(closest < 0.05, "no bound is nearer than %g", closest); /* some are sharp */
}

/* One pass keeps the kernel that it starts from, which uses up the radius exactly and is known to its last
 * visit. */
static void test_pass(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    double sharpest = 0;
    for (int i = 0; i < 400; i++) {
        const double radius = 0.5;
        const nadir_domain domain = i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, &radius, NULL);
        test_miniature tiny = test_miniature_make(context, &random, 5);
        test_note("seed %d, case %d, %s, %s", SEED, i, tiny.name, nadir_domain_name(domain));
        test_oracle oracle = test_oracle_make(tiny.model, tiny.policy, &ball);
        test_problem made = test_problem_make(context, tiny.model, tiny.policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        const int64_t n = problem->states;
        double *P = test_new(problem->rows * n, sizeof *P);
        double *up = test_new(2 * n * n, sizeof *up);
        long double *d = test_new(n, sizeof *d);
        double h[5];
        double slope[5];
        nadir_perturbable_rows perturbable;
        nadir_occupancy_bounds bounds;
        nadir_expansion_point centre;
        nadir_sensitivity sensitivity;
        double moved;
        test_oracle_random(&oracle, &random, P);
        long double *average = test_dense_average(problem->model, P, problem->policy->probabilities);
        test_system system = test_system_make(n, average, problem->gamma);
        test_system_solve(&system, true, problem->mu, d);
        assert_ok(context, nadir_perturbable_rows_make(context, problem, &perturbable));
        assert_ok(context, nadir_occupancy_bounds_make(context, problem, &bounds));
        assert_ok(context,
                  nadir_expansion_point_make(context, problem, &perturbable, NULL, NULL, NULL, &centre));
        assert_ok(context, nadir_expansion_point_columns(context, &centre));
        assert_ok(context, nadir_sensitivity_make(context, &perturbable, centre.X, &sensitivity));
        assert_ok(context, nadir_sensitivity_tables(context, &sensitivity, n, centre.D, up, up + n * n));
        long double distance = 0;
        long double plain = 0;
        for (int64_t s = 0; s < n; s++) {
            d[s] = fmaxl(d[s], 0);
            h[s] = (double)d[s] * (i % 3 == 0 ? 1 : 1 + 20 * nadir_random_uniform(&random)) + 1e-9;
            bounds.high[s] = fmin(bounds.high[s], (double)d[s] * (1 + 1e-9) + 1e-15);
            bounds.low[s] = fmax((double)d[s] * (1 - 1e-9) - 1e-14, 0); /* d is rounded too */
            for (int64_t l = perturbable.first[s]; l < perturbable.first[s + 1]; l++) {
                for (int64_t j = 0; j < nadir_perturbable_rows_length(&perturbable, l); j++) {
                    const int64_t e = perturbable.starts[l] + j;
                    const long double far =
                        (P[perturbable.rows[l] * n + nadir_perturbable_rows_column(&perturbable, l, j)] -
                         perturbable.phat[e]) /
                        perturbable.alpha[l];
                    distance += d[s] / h[s] * far * far;
                    plain += far * far;
                }
            }
        }
        assert_ok(context,
                  nadir_occupancy_bounds_narrow(context, &bounds, &centre, up, up + n * n, h,
                                                (double)sqrtl(distance) * (1 + 1e-14), NULL, &moved));
        assert_false(bounds.empty);
        for (int64_t s = 0; s < n; s++) {
            assert_that(bounds.low[s] <= d[s] + 1e-14L && d[s] <= bounds.high[s] + 1e-14L,
                        "%.17Lg is not in [%.17g, %.17g]", d[s], bounds.low[s], bounds.high[s]);
        }
        assert_ok(context, nadir_occupancy_bounds_narrow(context, &bounds, &centre, up, up + n * n, NULL, 10,
                                                         slope, &moved));
        for (int64_t s = 0; s < n; s++) {
            const double far = (double)fabsl(d[s] - centre.d[s]);
            const double most = slope[s] * (double)sqrtl(plain) + centre.off[s];
            assert_that(far <= most + 1e-13, "%.17g > %.17g = slope |P - X|", far, most);
            sharpest = fmax(sharpest, plain > 1e-6L ? far / most : 0);
        }
        nadir_sensitivity_clear(context, &sensitivity);
        nadir_expansion_point_clear(context, &centre);
        nadir_occupancy_bounds_clear(context, &bounds);
        nadir_perturbable_rows_clear(context, &perturbable);
        test_system_clear(&system);
        free(average);
        free(P);
        free(up);
        free(d);
        test_oracle_clear(&oracle);
        test_problem_clear(&made);
    }
    assert_that(sharpest > 0.9, "no kernel comes nearer to its slope than %g", sharpest);
}

/* Two kernels of the ball: their occupancies, and the distance of each state's rows of one from the nominal
 * ones and of all rows from those of the other. */
typedef struct two_kernels {
    long double *d[2]; /* [states] each */
    double *change;    /* [states] */
    double distance;
} two_kernels;

static two_kernels two_kernels_make(const nadir_problem *problem, test_oracle *oracle, nadir_random *random,
                                    const nadir_perturbable_rows *perturbable)
{
    const int64_t n = problem->states;
    two_kernels made = {.change = test_new(n, sizeof *made.change)};
    double *P[2];
    long double square = 0;
    for (int i = 0; i < 2; i++) {
        P[i] = test_new(problem->rows * n, sizeof *P[i]);
        made.d[i] = test_new(n, sizeof *made.d[i]);
        test_oracle_random(oracle, random, P[i]);
        long double *average = test_dense_average(problem->model, P[i], problem->policy->probabilities);
        test_system system = test_system_make(n, average, problem->gamma);
        test_system_solve(&system, true, problem->mu, made.d[i]);
        test_system_clear(&system);
        free(average);
    }
    for (int64_t s = 0; s < n; s++) {
        long double own = 0;
        for (int64_t l = perturbable->first[s]; l < perturbable->first[s + 1]; l++) {
            for (int64_t j = 0; j < nadir_perturbable_rows_length(perturbable, l); j++) {
                const int64_t at =
                    perturbable->rows[l] * n + nadir_perturbable_rows_column(perturbable, l, j);
                const long double moved =
                    (P[1][at] - perturbable->phat[perturbable->starts[l] + j]) / perturbable->alpha[l];
                const long double far = (P[0][at] - P[1][at]) / perturbable->alpha[l];
                own += moved * moved;
                square += far * far;
            }
        }
        made.change[s] = (double)sqrtl(own) * (1 + 1e-14);
    }
    made.distance = (double)sqrtl(square);
    free(P[0]);
    free(P[1]);
    return made;
}

static void two_kernels_clear(two_kernels *made)
{
    free(made->d[0]);
    free(made->d[1]);
    free(made->change);
}

/* y >= b + A y by y <- 1.01 (b + A y); false: not found. y: [n] */
static bool find_slopes(const nadir_context *context, const nadir_kappa_path *path, const double *change,
                        int64_t n, double *y)
{
    double work[10];
    bool found = false;
    memcpy(y, path->slope, (size_t)n * sizeof *y);
    for (int step = 0; step < 40 && !found; step++) {
        found = nadir_kappa_path_majorizes(context, path, change, path->slope, y, work);
        for (int64_t t = 0; t < n && !found; t++) {
            y[t] = 1.01 * work[n + t];
        }
    }
    return found;
}

/* A series bounds how far the occupancies of any two kernels of the ball are apart; y obeys its inequality,
 * made anew from the tables. */
static void test_series(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    int many = 0;
    for (int i = 0; i < 200; i++) {
        const double radius = i % 3 == 0 ? 0.3 : 0.1;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
        test_miniature tiny = test_miniature_make(context, &random, 5);
        test_note("seed %d, case %d, %s", SEED, i, tiny.name);
        test_oracle oracle = test_oracle_make(tiny.model, tiny.policy, &ball);
        test_problem made = test_problem_make(context, tiny.model, tiny.policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        const int64_t n = problem->states;
        nadir_kappa_path *series = NULL;
        nadir_perturbable_rows perturbable;
        nadir_expansion_point centre;
        nadir_sensitivity sensitivity;
        double y[5];
        double up[25];
        assert_ok(context, nadir_perturbable_rows_make(context, problem, &perturbable));
        assert_ok(context,
                  nadir_expansion_point_make(context, problem, &perturbable, NULL, NULL, NULL, &centre));
        assert_ok(context, nadir_expansion_point_columns(context, &centre));
        assert_ok(context, nadir_sensitivity_make(context, &perturbable, centre.X, &sensitivity));
        assert_ok(context, nadir_sensitivity_tables(context, &sensitivity, n, centre.D, up, NULL));
        assert_ok(context, nadir_kappa_path_create(context, problem, radius, &series));
        two_kernels two = two_kernels_make(problem, &oracle, &random, &perturbable);
        const bool found = find_slopes(context, series, two.change, n, y);
        many += found;
        for (int64_t t = 0; t < n && found; t++) {
            const double far = (double)fabsl(two.d[0][t] - two.d[1][t]);
            double sum = 0;
            double least = 0; /* of what a pass gives: y is d_P there */
            for (int64_t s = 0; s < n; s++) {
                sum += problem->gamma * sqrt(up[t * n + s]) * two.change[s] * y[s];
                least += (double)(two.d[0][s] * two.d[0][s]) * up[t * n + s];
            }
            assert_that(y[t] >= (problem->gamma * sqrt(least) + sum) * (1 - 1e-12) - 1e-12, "%.17g, state %d",
                        y[t], (int)t);
            assert_that(far <= y[t] * two.distance + 1e-12, "%.17g > %.17g %.17g", far, y[t], two.distance);
        }
        two_kernels_clear(&two);
        nadir_kappa_path_free(context, series);
        nadir_sensitivity_clear(context, &sensitivity);
        nadir_expansion_point_clear(context, &centre);
        nadir_perturbable_rows_clear(context, &perturbable);
        test_oracle_clear(&oracle);
        test_problem_clear(&made);
    }
    assert_that(many > 50, "%d of 200 have slopes", many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_knapsack), test_with_context(test_sensitivities),
        test_with_context(test_bounds),   test_with_context(test_pass),
        test_with_context(test_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

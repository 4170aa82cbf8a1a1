/*
 * test_total_attack.c: bounds without a discount, attacked. Small random processes that end, with rewards of rows, rewards paid
 * on landing, or a goal to be reached before another state; every set, domain and norm; also past the radius from which
 * on kernels may never end. Kernels of the ball are drawn at random and improved by chance, and evaluated by elimination: none
 * returns less than the lower bound, lasts longer than the bound on durations, or never ends below the trap radius. Trap
 * radii lie between their bounds, by all sets of states; where no row can change, durations do, by elimination: both to
 * the last digit. Durations are bounded from solves that are off, too.
 */
#include "support/support.h"

#include "model/terminal.h"
#include "proof/certificate.h"
#include "proof/occupancy_bounds.h"
#include "proof/termination.h"
#include "proof/trap.h"
#include "solve/backend.h"
#include "solve/occupancy_internal.h"
#include "support/ending.h"
#include "support/norms.h"
#include "support/reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 161803

/* |(x, y)|_p for x, y >= 0; scaled, since powers of either may be no numbers. */
static long double norm_of_two(double p, long double x, long double y)
{
    const long double most = fmaxl(x, y);
    if (isinf(p) || most == 0 || most == (long double)INFINITY) {
        return most;
    }
    return most * powl(powl(x / most, p) + powl(y / most, p), 1 / (long double)p);
}

/* How far a row is from the nearest one that stays in C. */
static long double distance_of_row(const test_ending *of, int64_t row, unsigned C)
{
    long double left = 0;
    long double outside = 0;
    int inside = 0;
    for (int t = 0; t < of->n; t++) {
        const long double x = of->P[row][t];
        if (C >> t & 1) {
            inside += of->domain == NADIR_DOMAIN_SIMPLEX || x > 0;
        } else {
            left += x;
            outside = norm_of_two(of->norm, outside, x);
        }
    }
    if (left == 0) {
        return 0;
    }
    if (inside == 0 || of->alpha[row] == 0) {
        return INFINITY;
    }
    const long double evenly = left / inside * powl(inside, isinf(of->norm) ? 0 : 1 / (long double)of->norm);
    return norm_of_two(of->norm, outside, evenly) / of->alpha[row];
}

/* The radius of the nearest kernel that never leaves C. */
static long double radius_of_trap(const test_ending *of, unsigned C)
{
    long double whole = 0;
    for (int s = 0; s < of->m; s++) {
        long double state = 0;
        for (int64_t row = of->first[s]; C >> s & 1 && row < of->first[s + 1]; row++) {
            const long double distance = of->pi[row] > 0 ? distance_of_row(of, row, C) : 0;
            state = of->set == NADIR_SET_SA ? fmaxl(state, distance) : norm_of_two(of->norm, state, distance);
        }
        whole = of->set == NADIR_SET_NONRECT ? norm_of_two(of->norm, whole, state) : fmaxl(whole, state);
    }
    return whole;
}

/* States that the nominal kernel reaches. */
static unsigned reached(const test_ending *of)
{
    unsigned seen = 0;
    for (int s = 0; s < of->n; s++) {
        seen |= of->mu[s] > 0 ? 1U << s : 0;
    }
    for (int round = 0; round < of->n; round++) {
        for (int s = 0; s < of->n; s++) {
            for (int64_t row = of->first[s]; seen >> s & 1 && row < of->first[s + 1]; row++) {
                for (int t = 0; t < of->n && of->pi[row] > 0; t++) {
                    seen |= of->P[row][t] > 0 ? 1U << t : 0;
                }
            }
        }
    }
    return seen;
}

/* The least radius over all sets of states lies between the bounds, and where states or rows have balls of their own
 * both are that number. */
static void test_traps(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    for (int i = 0; i < test_attack_count(2000); i++) {
        test_ending made;
        test_ending_asked by;
        nadir_setup setup = {0};
        nadir_trap trap;
        long double least = INFINITY;
        test_ending_draw(&random, TEST_ENDING_TOTAL, &made);
        test_note("trap %d of seed %d", i, SEED + 1);
        if (i % 8 == 0) { /* powers that are no numbers */
            const double size = pow(10, 80 * nadir_random_uniform(&random) - 40);
            made.norm = isinf(made.norm) ? made.norm : 8 + 30 * nadir_random_uniform(&random);
            made.radius /= 1e9 * size;
            for (int row = 0; row < made.rows; row++) {
                made.alpha[row] *= size;
            }
        }
        for (int s = 0; s < made.n && i % 4 == 1; s++) { /* actions that the policy does not take */
            const int64_t taken = made.first[s + 1] - 1;
            made.pi[made.first[s]] = 0;
            made.pi[taken] = 1;
        }
        test_ending_ask(context, &made, &by);
        assert_ok(context, nadir_setup_make(context, by.solver, &by.ball, false, &setup));
        assert_ok(context, nadir_trap_find(context, &setup.problem, &trap));
        const unsigned open = made.domain == NADIR_DOMAIN_SUPPORT ? reached(&made) : ~0U;
        for (unsigned C = 1; C < 1U << (made.n - 1); C++) {
            least = (C & open) == C ? fminl(least, radius_of_trap(&made, C)) : least;
        }
        const long double off =
            least < (long double)INFINITY ? 64 * (long double)test_long_unit() * least : 0;
        assert_precise(trap.low <= least + off && least - off <= trap.high,
                       "a trap at %.21Lg, not within %.17g and %.17g", least, trap.low, trap.high);
        if (made.set != NADIR_SET_NONRECT && test_norms_precise()) {
            assert_true((double)least == INFINITY || (trap.low >= (double)least * (1 - 1e-12) &&
                                                      trap.high <= (double)least * (1 + 1e-12)));
        }
        nadir_setup_clear(context, &setup);
        test_ending_forget(&by);
    }
}

/* I - P^pi of the states that do not end, and 1 for the last one. To be cleared. */
static test_system system_of(const test_ending *of, double P[TEST_ENDING_ROWS][TEST_ENDING_STATES])
{
    long double average[TEST_ENDING_STATES * TEST_ENDING_STATES] = {0};
    for (int s = 0; s < of->m; s++) {
        for (int64_t row = of->first[s]; row < of->first[s + 1]; row++) {
            for (int t = 0; t < of->n; t++) {
                average[s * of->n + t] += (long double)of->pi[row] * P[row][t];
            }
        }
    }
    return test_system_make(of->n, average, 1);
}

/* w = D 1 in long double; returns mu . w. */
static long double durations_of(const test_ending *of, double P[TEST_ENDING_ROWS][TEST_ENDING_STATES],
                                long double *most, long double *w)
{
    double ones[TEST_ENDING_STATES];
    long double mean = 0;
    test_system system = system_of(of, P);
    *most = 0;
    for (int s = 0; s < of->n; s++) {
        ones[s] = 1;
    }
    test_system_solve(&system, false, ones, w);
    for (int s = 0; s < of->n; s++) {
        mean += of->mu[s] * w[s];
        *most = fmaxl(*most, w[s]);
    }
    test_system_clear(&system);
    return mean;
}

/* Fails where a kernel that ends lasts longer, or visits a state more often, than the problem knows. */
static void check_durations(nadir_context *context, const test_ending *of,
                            double P[TEST_ENDING_ROWS][TEST_ENDING_STATES], const nadir_problem *problem)
{
    nadir_occupancy_bounds bounds = {0};
    long double most;
    long double w[TEST_ENDING_STATES];
    long double d[TEST_ENDING_STATES];
    test_system system = system_of(of, P);
    const long double mean = durations_of(of, P, &most, w);
    const long double off = 16 * TEST_ENDING_STATES * (long double)test_long_unit() * most;
    test_system_solve(&system, true, of->mu, d);
    assert_that(problem->gap * mean <= 1 + off && most * (1 - off) <= problem->longest,
                "a kernel lasts %.21Lg and %.21Lg, not 1 / %.17g and %.17g", mean, most, problem->gap,
                problem->longest);
    assert_ok(context, nadir_occupancy_bounds_make(context, problem, &bounds));
    for (int t = 0; t < of->n; t++) {
        assert_that(d[t] * (1 - off) - off <= bounds.high[t],
                    "a kernel visits state %d %.17Lg times, not %.17g", t, d[t], bounds.high[t]);
    }
    nadir_occupancy_bounds_clear(context, &bounds);
    test_system_clear(&system);
}

/* gap and longest bound the durations of kernels of the set; to the last digit where no row can change. */
static void test_durations(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 2);
    int proven = 0;
    for (int i = 0; i < test_attack_count(1500); i++) {
        test_ending made;
        test_ending_asked by;
        nadir_setup setup = {0};
        test_ending_draw(&random, TEST_ENDING_TOTAL, &made);
        test_note("durations %d of seed %d", i, SEED + 2);
        for (int row = 0; row < made.rows && i % 3 > 0; row++) {
            made.alpha[row] = 0;
            if (row < made.first[made.n - 1]) { /* seldom ends */
                const double end =
                    made.P[row][made.n - 1] * (i % 3 == 1 ? 1 : 1e-4 * nadir_random_uniform(&random));
                double sum = 0;
                made.P[row][made.n - 1] = 0;
                made.P[row][0] += 0.1;
                for (int t = 0; t < made.n; t++) {
                    sum += made.P[row][t];
                }
                for (int t = 0; t + 1 < made.n; t++) {
                    made.P[row][t] *= (1 - end) / sum;
                }
                made.P[row][made.n - 1] = end;
            }
        }
        test_ending_ask(context, &made, &by);
        assert_ok(context, nadir_setup_make(context, by.solver, &by.ball, false, &setup));
        double P[TEST_ENDING_ROWS][TEST_ENDING_STATES];
        memcpy(P, made.P, sizeof P);
        for (int k = 0; k < (i % 3 > 0 ? 1 : 40) && setup.problem.gap > 0; k++) {
            check_durations(context, &made, P, &setup.problem);
            proven++;
            test_ending_mutate(&random, &made, P);
        }
        nadir_setup_clear(context, &setup);
        test_ending_forget(&by);
    }
    assert_true(proven > 0);
}

/* Two states in a circle, each of which can be kept from its end by a part of the radius, both by all of it or nearly so:
 * however the radius is shared out, kernels last no longer than is known, by whichever of the bounds. */
static void test_circles(void **state)
{
    static const double norms[] = {1, 1.5, 2, 3, 6};
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 4);
    int proven[2] = {0};
    for (int i = 0; i < test_attack_count(400); i++) {
        enum { SHARES = 40 };
        const double p = norms[i % 5];
        const double near =
            i % 2 == 0 ? pow(10, -3 * nadir_random_uniform(&random)) : nadir_random_uniform(&random);
        test_ending made = {.n = 3,
                            .m = 2,
                            .rows = 3,
                            .first = {0, 1, 2, 3},
                            .pi = {1, 1, 1},
                            .alpha = {1, 1, 1},
                            .mu = {i % 3 / 2.0, 1 - i % 3 / 2.0, 0},
                            .set = NADIR_SET_NONRECT,
                            .domain = i % 4 < 2 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX,
                            .norm = p};
        test_ending_asked by;
        nadir_setup setup = {0};
        double end[2] = {0};
        for (int s = 0; s < 2; s++) {
            const double drawn = 0.05 + 0.3 * nadir_random_uniform(&random);
            end[s] = s == 0 || i % 7 > 5 ? drawn
                                         : end[0] * (i % 7 < 3   ? 1
                                                     : i % 7 < 5 ? 0.02
                                                                 : 0.5 + 1.5 * drawn);
            made.P[s][2] = end[s];
            made.P[s][1 - s] = 1 - end[s];
        }
        made.P[2][2] = 1;
        made.radius = (1 - near) * pow(2, 1 / p) * pow(pow(end[0], p) + pow(end[1], p), 1 / p);
        test_note("circle %d of seed %d, norm %g, radius %g", i, SEED + 4, p, made.radius);
        test_ending_ask(context, &made, &by);
        assert_ok(context, nadir_setup_make(context, by.solver, &by.ball, false, &setup));
        proven[0] += setup.problem.gap > 0;
        proven[1] += setup.problem.most != NULL;
        for (int k = 0; k <= SHARES && setup.problem.gap > 0; k++) {
            double P[TEST_ENDING_ROWS][TEST_ENDING_STATES];
            memcpy(P, made.P, sizeof P);
            for (int s = 0; s < 2; s++) {
                const double part = pow((s == 0 ? k : SHARES - k) / (double)SHARES, 1 / p);
                const double kept = fmin(part * made.radius * pow(2, -1 / p) * (1 - 1e-12), end[s]);
                P[s][2] -= kept;
                P[s][1 - s] += kept;
            }
            check_durations(context, &made, P, &setup.problem);
        }
        nadir_setup_clear(context, &setup);
        test_ending_forget(&by);
    }
    print_message("%d circles bounded, %d state by state\n", proven[0], proven[1]);
    assert_true(proven[0] > test_attack_count(400) / 4 && proven[1] > test_attack_count(400) / 8);
}

/* ----------------------------------------------------------------------------- solves that are off */

/* Stands before a backend: x <- 1 + (1 - off) (x - 1), of D 1 something too short but for the states that end. */
static const nadir_backend *behind;
static double off_by;

typedef struct shortened {
    void *self;
    int64_t states;
} shortened;

static nadir_status shortened_setup(nadir_context *context, nadir_average *average, double gamma, void **self)
{
    shortened *made = test_new(1, sizeof *made);
    made->states = average->states;
    *self = made;
    return behind->setup(context, average, gamma, &made->self);
}

static nadir_status shortened_solve(nadir_context *context, void *self, bool transposed, int64_t count,
                                    const double *b, double residual, double *x)
{
    const shortened *made = self;
    NADIR_TRY(behind->solve(context, made->self, transposed, count, b, residual, x));
    for (int64_t i = 0; i < count * made->states; i++) {
        x[i] = 1 + (1 - off_by) * (x[i] - 1);
    }
    return NADIR_OK;
}

static void shortened_statistics(const void *self, nadir_backend_statistics *statistics)
{
    behind->statistics(((const shortened *)self)->self, statistics);
}

static void shortened_destroy(nadir_context *context, void *self)
{
    behind->destroy(context, ((shortened *)self)->self);
    free(self);
}

/* How long kernels last by proof, from solves that are too short. */
static void bound_durations(nadir_context *context, nadir_problem *problem)
{
    nadir_occupancy *occupancy = problem->occupancy;
    void *self = occupancy->self;
    const double tolerance = occupancy->tolerance;
    shortened before = {self, problem->states};
    behind = occupancy->backend;
    nadir_backend table = *behind;
    table.setup = shortened_setup;
    table.solve = shortened_solve;
    table.statistics = shortened_statistics;
    table.destroy = shortened_destroy;
    table.refactor = NULL;
    table.refine = NULL;
    occupancy->backend = &table;
    occupancy->self = &before;
    occupancy->tolerance = 1;
    assert_ok(context, nadir_termination_prove(context, problem, 1));
    occupancy->backend = behind;
    occupancy->self = self;
    occupancy->tolerance = tolerance;
}

/* A row of norm 1 and its own ball, mass taken from where w is least and put where it is largest. */
static void keep_longest(const test_ending *of, int row, const long double *w, double *P)
{
    double left = of->alpha[row] * of->radius / 2;
    int best = -1;
    memcpy(P, of->P[row], (size_t)of->n * sizeof *P);
    for (int t = 0; t < of->n; t++) {
        const bool allowed = of->domain == NADIR_DOMAIN_SIMPLEX || of->P[row][t] > 0;
        best = allowed && (best < 0 || w[t] > w[best]) ? t : best;
    }
    for (bool moved = true; moved && left > 0;) {
        int worst = -1;
        for (int t = 0; t < of->n; t++) {
            worst = P[t] > 0 && w[t] < w[best] && (worst < 0 || w[t] < w[worst]) ? t : worst;
        }
        moved = worst >= 0;
        if (moved) {
            const double mass = fmin(left, P[worst]);
            P[worst] = mass < P[worst] ? P[worst] - mass : 0;
            P[best] += mass;
            left -= mass;
        }
    }
}

/* No kernel of a rectangular set lasts longer than is proven from solves that are off: policy iteration finds one that
 * lasts as long as any. */
static void test_bad_solves(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 3);
    int proven = 0;
    for (int i = 0; i < test_attack_count(300); i++) {
        test_ending made;
        test_ending_asked by;
        nadir_setup setup = {0};
        double P[TEST_ENDING_ROWS][TEST_ENDING_STATES];
        long double w[TEST_ENDING_STATES];
        long double most;
        test_ending_draw(&random, TEST_ENDING_TOTAL, &made);
        made.set = NADIR_SET_SA;
        made.norm = 1;
        for (int row = 0; row < made.rows; row++) {
            made.alpha[row] += i % 2;
        }
        off_by = i % 3 == 0 ? 0.1 : 1e-3;
        test_note("solves that are off by %g, %d of seed %d", off_by, i, SEED + 3);
        test_ending_ask(context, &made, &by);
        assert_ok(context, nadir_setup_make(context, by.solver, &by.ball, false, &setup));
        if (setup.problem.gap > 0) {
            memcpy(P, made.P, sizeof P);
            for (int step = 0; step < 30; step++) {
                (void)durations_of(&made, P, &most, w);
                for (int row = 0; row < made.first[made.n - 1]; row++) {
                    keep_longest(&made, row, w, P[row]);
                }
            }
            const long double mean = durations_of(&made, P, &most, w);
            bound_durations(context, &setup.problem);
            assert_that(setup.problem.gap * mean <= 1 + 1e-12L &&
                            most <= setup.problem.longest * (1 + 1e-12L),
                        "a kernel lasts %.12Lg and %.12Lg, not 1 / %.12g and %.12g", mean, most,
                        setup.problem.gap, setup.problem.longest);
            proven += setup.problem.gap > 0;
        }
        nadir_setup_clear(context, &setup);
        test_ending_forget(&by);
    }
    assert_that(proven > test_attack_count(300) / 4, "%d proven", proven);
}

static void test_attack(void **state)
{
    nadir_context *context = *state;
    nadir_random random;
    nadir_robust_settings settings;
    int proven = 0;
    int certified = 0;
    int boxes = 0;
    int discounted = 0;
    const int seed = test_attack_seed(SEED);
    nadir_random_seed(&random, (uint64_t)seed);
    for (int i = 0; i < test_attack_count(300); i++) {
        test_ending made;
        test_ending_asked by;
        nadir_robust result = {.size = sizeof result};
        bool ends;
        test_ending_draw(&random, (test_ending_kind)(int)(nadir_random_uniform(&random) * 3), &made);
        test_note("process %d of seed %d", i, seed);
        test_ending_ask(context, &made, &by);
        nadir_robust_settings_default(&settings);
        settings.certify =
            i % 4 == 0 ? NADIR_CERTIFY_STRICT : NADIR_CERTIFY_AUTO; /* boxes, and trees of them */
        settings.time_limit = 0.1;
        const nadir_status status =
            nadir_solver_robust(context, by.solver, &by.ball, &settings, &result, NULL);
        if (status == NADIR_OK) {
            const double scale = 1e-9 * (1 + fabs(result.lower_bound));
            const bool finite = isfinite(result.duration_bound);
            proven++;
            certified += result.certified;
            boxes += i % 4 == 0 && result.certified;
            discounted += !finite && result.lower_bound > 1e-6;
            assert_true(finite || made.kind == TEST_ENDING_REACH);
            assert_true(test_ending_attack(&random, &made, false, &ends) >= result.lower_bound - scale);
            assert_true(result.robust_return >= result.lower_bound - scale);
            assert_true(ends || !finite);
            assert_true(test_ending_attack(&random, &made, true, &ends) <=
                        result.duration_bound * (1 + 1e-9));
            assert_true(ends || !finite);
            assert_true(ends || made.radius >= result.trap_radius_low);
        } else {
            assert_that(made.kind != TEST_ENDING_REACH && status == NADIR_ERROR_ILL_POSED, "%s",
                        nadir_context_error(context));
        }
        test_ending_forget(&by);
    }
    print_message("%d answered, %d of them certified, %d strictly; %d bounded with a discount\n", proven,
                  certified, boxes, discounted);
    assert_true(test_attack_count(300) < 100 || certified > test_attack_count(300) / 3);
}

/* Rows that sum to one, with entries of either sign, of the set. */
static void mutate_free(nadir_random *random, const test_ending *of,
                        double P[TEST_ENDING_ROWS][TEST_ENDING_STATES])
{
    const double size = of->radius * pow(nadir_random_uniform(random), 3);
    for (int row = 0; row < of->first[of->m]; row++) {
        const int from = (int)(nadir_random_uniform(random) * of->n);
        const int to = (int)(nadir_random_uniform(random) * of->n);
        const double moved = size * nadir_random_uniform(random);
        if (of->alpha[row] > 0 && nadir_random_uniform(random) < 0.6) {
            P[row][from] -= moved;
            P[row][to] += moved;
        }
    }
    const double share = test_ending_share(of, P);
    for (int row = 0; share > 1 && row < of->rows; row++) {
        for (int t = 0; t < of->n; t++) {
            P[row][t] = of->P[row][t] + (P[row][t] - of->P[row][t]) / (share * (1 + 1e-12));
        }
    }
}

/* Domain free: no kernel below breakdown returns less than the bound, or has no return. */
static void test_free_domain(void **state)
{
    nadir_context *context = *state;
    nadir_random random;
    int answered = 0;
    int certified = 0;
    const int seed = test_attack_seed(SEED + 5);
    nadir_random_seed(&random, (uint64_t)seed);
    for (int i = 0; i < test_attack_count(400); i++) {
        test_ending made;
        test_ending_asked by;
        nadir_robust result = {.size = sizeof result};
        double best[TEST_ENDING_ROWS][TEST_ENDING_STATES];
        double found;
        test_ending_draw(&random, i % 2 == 0 ? TEST_ENDING_TOTAL : TEST_ENDING_REACH, &made);
        made.domain = NADIR_DOMAIN_FREE;
        made.radius *= i % 3 == 0 ? 1 : 0.2;
        test_ending_find_reached(&made);
        test_note("free %d of seed %d", i, seed);
        test_ending_ask(context, &made, &by);
        const nadir_status status = nadir_solver_robust(context, by.solver, &by.ball, NULL, &result, NULL);
        assert_that(status == NADIR_OK || status == NADIR_ERROR_ILL_POSED ||
                        status == NADIR_ERROR_NOT_CONVERGED,
                    "%s", nadir_context_error(context));
        answered += status == NADIR_OK;
        certified += status == NADIR_OK && result.certified;
        memcpy(best, made.P, sizeof best);
        assert_true(test_ending_solve(&made, best, false, &found));
        for (int k = 0; k < 400 && status == NADIR_OK; k++) {
            double next[TEST_ENDING_ROWS][TEST_ENDING_STATES];
            double J;
            memcpy(next, best, sizeof next);
            mutate_free(&random, &made, next);
            const bool returns = test_ending_solve(&made, next, false, &J);
            assert_true(returns || !result.certified);
            if (returns && J < found) {
                found = J;
                memcpy(best, next, sizeof best);
            }
        }
        const double scale = 1e-9 * (1 + fabs(result.lower_bound));
        assert_that(status != NADIR_OK || found >= result.lower_bound - scale,
                    "a kernel returns %.17g, not %.17g", found, result.lower_bound);
        test_ending_forget(&by);
    }
    print_message("%d of domain free answered, %d certified\n", answered, certified);
    assert_true(test_attack_count(400) < 100 || certified > test_attack_count(400) / 6);
}

/* d_P of one state: mu . x for (I - P^pi) x = e_t. */
static double visits_of(const test_ending *of, double P[TEST_ENDING_ROWS][TEST_ENDING_STATES], int t)
{
    long double average[TEST_ENDING_STATES * TEST_ENDING_STATES] = {0};
    double side[TEST_ENDING_STATES] = {0};
    long double x[TEST_ENDING_STATES];
    double d = 0;
    for (int s = 0; s < of->m; s++) {
        for (int64_t row = of->first[s]; of->reached[s] && row < of->first[s + 1]; row++) {
            for (int to = 0; to < of->n; to++) {
                average[s * of->n + to] += (long double)of->pi[row] * P[row][to];
            }
        }
    }
    side[t] = 1;
    test_system system = test_system_make(of->n, average, 1);
    test_system_solve(&system, false, side, x);
    for (int s = 0; s < of->n; s++) {
        d += (double)(of->mu[s] * x[s]);
    }
    test_system_clear(&system);
    return d;
}

/* No kernel visits a state more often than `most` of the problem says, improved by chance. */
static void test_visits(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 3);
    int proven = 0;
    for (int i = 0; i < test_attack_count(400); i++) {
        test_ending made;
        test_ending_asked by;
        nadir_setup setup = {0};
        test_ending_draw(&random, TEST_ENDING_TOTAL, &made);
        made.set = NADIR_SET_NONRECT;
        made.norm = isinf(made.norm) ? 2 : made.norm;
        test_ending_find_reached(&made);
        test_note("visits %d of seed %d", i, SEED + 3);
        test_ending_ask(context, &made, &by);
        assert_ok(context, nadir_setup_make(context, by.solver, &by.ball, false, &setup));
        for (int t = 0; t < made.n && setup.problem.most != NULL; t++) {
            double best[TEST_ENDING_ROWS][TEST_ENDING_STATES];
            memcpy(best, made.P, sizeof best);
            double d = visits_of(&made, best, t);
            for (int k = 0; k < 300; k++) {
                double P[TEST_ENDING_ROWS][TEST_ENDING_STATES];
                memcpy(P, best, sizeof P);
                test_ending_mutate(&random, &made, P);
                const double now = visits_of(&made, P, t);
                if (now > d) {
                    d = now;
                    memcpy(best, P, sizeof best);
                }
            }
            assert_that(d <= setup.problem.most[t] * (1 + 1e-9), "state %d: %.17g, not %.17g", t, d,
                        setup.problem.most[t]);
            proven++;
        }
        nadir_setup_clear(context, &setup);
        test_ending_forget(&by);
    }
    print_message("%d states of bounded visits\n", proven);
    assert_true(test_attack_count(400) < 100 || proven > 20);
}

/* One state that stays or ends, and one that is the end. */
static test_ending two_states(double stays)
{
    test_ending made = {.n = 2, .m = 1, .rows = 2, .kind = TEST_ENDING_REACH, .norm = 2};
    made.first[1] = 1;
    made.first[2] = 2;
    made.P[0][0] = stays;
    made.P[0][1] = 1 - stays;
    made.P[1][1] = 1;
    made.alpha[0] = made.pi[0] = made.pi[1] = made.mu[0] = 1;
    made.set = NADIR_SET_NONRECT;
    made.domain = NADIR_DOMAIN_SUPPORT;
    made.radius = 0.1;
    return made;
}

/* With a discount a goal is worth no more than without one, also where policies sum to more than one by rounding. */
static void test_discounted_goal(void **state)
{
    nadir_context *context = *state;
    const test_ending made = two_states(0.5);
    test_ending_asked by;
    test_ending_ask(context, &made, &by);
    for (int i = 1; i < 14; i++) {
        const double discount = 1 - pow(10, -i);
        const long double sum = 1 + (long double)NADIR_SUM_ROUNDING;
        nadir_model *with = NULL;
        assert_ok(context, nadir_terminal_discounted(context, by.solver->model, discount, &with));
        assert_that(with->rewards[1] <= 1 - discount * sum, "discount %.17g", discount);
        assert_true(i > 12 || with->rewards[1] > 0.9 * (1 - discount));
        nadir_model_free(with);
    }
    test_ending_forget(&by);
}

/* A row that leaves seldom and does not quite sum to one: as far from staying as what it has there lacks of one. */
static void test_trap_row_sum(void **state)
{
    nadir_context *context = *state;
    test_ending made = two_states(0.5);
    test_ending_asked by;
    nadir_setup setup = {0};
    nadir_trap trap;
    made.kind = TEST_ENDING_TOTAL;
    made.radius = 1e-13;
    made.P[0][1] = 1e-9;
    made.P[0][0] = 1 - 1e-9 + 15 * DBL_EPSILON / 2;
    test_ending_ask(context, &made, &by);
    assert_ok(context, nadir_setup_make(context, by.solver, &by.ball, false, &setup));
    assert_ok(context, nadir_trap_find(context, &setup.problem, &trap));
    const long double stays = norm_of_two(2, made.P[0][1], 1 - (long double)made.P[0][0]);
    assert_that(trap.low <= stays && stays <= trap.high && trap.low > 0.99L * stays, "%.17g, %.21Lg, %.17g",
                trap.low, stays, trap.high);
    nadir_setup_clear(context, &setup);
    test_ending_forget(&by);
}

/* p so large that powers of the radius underflow; and methods that know no models without a discount, for many radii. */
static void test_large_norm(void **state)
{
    nadir_context *context = *state;
    test_ending made = two_states(0.5);
    test_ending_asked by;
    nadir_robust result = {.size = sizeof result};
    made.kind = TEST_ENDING_TOTAL;
    made.norm = 1000;
    made.radius = 0.3;
    made.R[0] = made.r[0][0] = made.r[0][1] = -1;
    test_ending_ask(context, &made, &by);
    assert_ok(context, nadir_solver_robust(context, by.solver, &by.ball, NULL, &result, NULL));
    assert_true(result.lower_bound <= -4.99 && result.lower_bound > -6.1); /* about 1 / (0.5 - 0.3) */
    nadir_robust_settings settings;
    nadir_robust_settings_default(&settings);
    const double factor = 1;
    settings.method = "best-response";
    assert_int_equal(nadir_solver_robust_many(context, by.solver, &by.ball, &settings, 1, &factor, &result),
                     NADIR_ERROR_UNSUPPORTED);
    test_ending_forget(&by);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_attack),          test_with_context(test_traps),
        test_with_context(test_visits),          test_with_context(test_trap_row_sum),
        test_with_context(test_discounted_goal), test_with_context(test_large_norm),
        test_with_context(test_durations),       test_with_context(test_circles),
        test_with_context(test_bad_solves),      test_with_context(test_free_domain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

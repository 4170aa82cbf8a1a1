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
#include "support/norms.h"
#include "support/reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 6, ROWS = 2 * MOST };
#define SEED 161803

typedef enum kind { TOTAL, LANDING, REACH } kind;

/* States 0 .. m - 1 have one or two actions; the others end, the last of them is the goal. */
typedef struct process {
    int n, m, rows;
    kind kind;
    int64_t first[MOST + 1];
    double P[ROWS][MOST], R[ROWS], r[ROWS][MOST], alpha[ROWS], pi[ROWS], mu[MOST];
    bool reached[MOST]; /* by some kernel: others may stay there for ever */
    nadir_set set;
    nadir_domain domain;
    double norm, radius;
} process;

static void find_reached(process *of)
{
    for (int s = 0; s < of->n; s++) {
        of->reached[s] = of->mu[s] > 0;
    }
    for (int i = 0; i < of->n * of->m; i++) {
        const int s = i % of->m;
        for (int64_t row = of->first[s]; of->reached[s] && row < of->first[s + 1]; row++) {
            for (int t = 0; t < of->n; t++) {
                of->reached[t] = of->reached[t] || of->P[row][t] > 0 ||
                                 (of->domain == NADIR_DOMAIN_SIMPLEX && of->alpha[row] > 0);
            }
        }
    }
}

static void draw(nadir_random *random, kind of, process *made)
{
    static const double norms[] = {1, 1.5, 2, 2, 2, 3, INFINITY};
    double g[MOST];
    *made = (process){.n = 2 + (int)(nadir_random_uniform(random) * 4), .kind = of};
    made->n += made->kind == REACH;
    made->m = made->n - (made->kind == REACH ? 2 : 1);
    const bool separable = nadir_random_uniform(random) < 0.5;
    double mass = 0;
    for (int t = 0; t < made->n; t++) {
        g[t] = nadir_random_uniform(random) - 0.5;
    }
    for (int s = 0; s < made->n; s++) {
        const bool ends = s >= made->m;
        const int actions = ends ? 1 : 1 + (nadir_random_uniform(random) < 0.4);
        double sum = 0;
        made->mu[s] = ends ? 0 : nadir_random_uniform(random) < 0.6 ? nadir_random_uniform(random) : 0;
        mass += made->mu[s];
        for (int a = 0; a < actions; a++) {
            const int row = made->rows++;
            double total = 0;
            for (int t = 0; t < made->n; t++) {
                made->P[row][t] = ends                                 ? t == s
                                  : nadir_random_uniform(random) < 0.5 ? nadir_random_uniform(random)
                                                                       : 0;
            }
            made->P[row][made->n - 1] += ends ? 0 : 0.02 + 0.5 * nadir_random_uniform(random);
            for (int t = 0; t < made->n; t++) {
                total += made->P[row][t];
            }
            for (int t = 0; t < made->n; t++) {
                made->P[row][t] /= total;
            }
            made->R[row] = ends ? 0 : 2 * nadir_random_uniform(random) - 1;
            for (int t = 0; t < made->n; t++) {
                const double own = separable ? g[t] : nadir_random_uniform(random) - 0.5;
                made->r[row][t] = made->kind == TOTAL     ? made->R[row]
                                  : made->kind == LANDING ? (ends ? 0 : made->R[row] + own)
                                                          : t == made->n - 1;
            }
            made->alpha[row] = nadir_random_uniform(random) < 0.15  ? 0
                               : nadir_random_uniform(random) < 0.5 ? 1
                                                                    : 0.5 + nadir_random_uniform(random);
            made->pi[row] = 0.1 + nadir_random_uniform(random);
            sum += made->pi[row];
        }
        for (int row = made->rows - actions; row < made->rows; row++) {
            made->pi[row] /= sum;
        }
        made->first[s + 1] = made->rows;
    }
    for (int s = 0; s < made->n; s++) {
        made->mu[s] = made->kind == REACH ? 1.0 / made->n : mass > 0 ? made->mu[s] / mass : s == 0;
    }
    made->set = (nadir_set)(NADIR_SET_NONRECT + (int)(nadir_random_uniform(random) * 3));
    made->domain = nadir_random_uniform(random) < 0.5 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX;
    made->norm = norms[(int)(nadir_random_uniform(random) * 7)];
    made->radius = 1.2 * pow(nadir_random_uniform(random), 2);
    find_reached(made);
}

/* mu . x and max x for (I - P^pi) x = b on the states that do not end; false: it has no solution >= 0 for b = 1. */
static bool solve(const process *of, double P[ROWS][MOST], bool steps, double *mean)
{
    const int m = of->m;
    double A[MOST][MOST + 1] = {{0}};
    for (int s = 0; s < m; s++) {
        A[s][m] = of->reached[s] ? 0 : 1;
        for (int64_t row = of->first[s]; of->reached[s] && row < of->first[s + 1]; row++) {
            for (int t = 0; t < m; t++) {
                A[s][t] -= of->pi[row] * P[row][t];
            }
            for (int t = 0; t < of->n; t++) {
                A[s][m] += of->pi[row] * P[row][t] * (steps ? 1 : of->r[row][t]);
            }
        }
        A[s][s] += 1;
    }
    for (int k = 0; k < m; k++) {
        int pivot = k;
        for (int s = k + 1; s < m; s++) {
            pivot = fabs(A[s][k]) > fabs(A[pivot][k]) ? s : pivot;
        }
        if (fabs(A[pivot][k]) < 1e-13) {
            return false;
        }
        for (int t = 0; t <= m; t++) {
            const double swap = A[k][t];
            A[k][t] = A[pivot][t];
            A[pivot][t] = swap;
        }
        for (int s = 0; s < m; s++) {
            const double factor = s == k ? 0 : A[s][k] / A[k][k];
            for (int t = 0; t <= m; t++) {
                A[s][t] -= factor * A[k][t];
            }
        }
    }
    *mean = of->kind == REACH && !steps ? of->mu[of->n - 1] : 0;
    for (int s = 0; s < m; s++) {
        const double x = A[s][m] / A[s][s];
        *mean += of->mu[s] * x;
        if (steps && !(x > 0)) {
            return false;
        }
    }
    return true;
}

/* The share of its ball that a group of rows uses, at most 1 in the set. */
static double share_of(const process *of, double P[ROWS][MOST])
{
    double whole = 0;
    double most = 0;
    for (int s = 0; s < of->m; s++) {
        double state = 0;
        for (int64_t row = of->first[s]; row < of->first[s + 1]; row++) {
            double sum = 0;
            for (int t = 0; t < of->n; t++) {
                const double change = fabs(P[row][t] - of->P[row][t]);
                sum = isinf(of->norm) ? fmax(sum, change) : sum + pow(change, of->norm);
            }
            const double own =
                (isinf(of->norm) ? sum : pow(sum, 1 / of->norm)) / (of->alpha[row] * of->radius);
            const double part = sum == 0 ? 0 : own;
            if (of->set == NADIR_SET_SA || isinf(of->norm)) {
                most = fmax(most, part);
            } else {
                state += pow(part, of->norm);
            }
        }
        most = fmax(most, isinf(of->norm) ? 0 : pow(state, 1 / of->norm));
        whole += state;
    }
    return of->set == NADIR_SET_NONRECT && !isinf(of->norm) ? pow(whole, 1 / of->norm) : most;
}

/* Moves mass in some rows that may move, at random, and back towards the nominal kernel until it is in the set. */
static void mutate(nadir_random *random, const process *of, double P[ROWS][MOST])
{
    const double size = pow(nadir_random_uniform(random), 3);
    for (int row = 0; row < of->first[of->m]; row++) {
        if (of->alpha[row] == 0 || nadir_random_uniform(random) < 0.4) {
            continue;
        }
        const int from = (int)(nadir_random_uniform(random) * of->n);
        const int to = (int)(nadir_random_uniform(random) * of->n);
        if (of->domain == NADIR_DOMAIN_SIMPLEX || of->P[row][to] > 0) {
            const double moved = fmin(P[row][from], size * nadir_random_uniform(random));
            P[row][from] -= moved;
            P[row][to] += moved;
        }
    }
    const double share = share_of(of, P);
    for (int row = 0; share > 1 && row < of->rows; row++) {
        for (int t = 0; t < of->n; t++) {
            P[row][t] = of->P[row][t] + (P[row][t] - of->P[row][t]) / (share * (1 + 1e-12));
        }
    }
}

/* The least return, or with steps the longest duration, that chance finds. */
static double attack(nadir_random *random, const process *of, bool steps, bool *ends)
{
    double best[ROWS][MOST];
    double found;
    *ends = true;
    memcpy(best, of->P, sizeof best);
    assert_true(solve(of, best, steps, &found));
    for (int i = 0; i < 400; i++) {
        double next[ROWS][MOST];
        double J;
        double length;
        memcpy(next, best, sizeof next);
        mutate(random, of, next);
        if (!solve(of, next, true, &length) || !solve(of, next, steps, &J)) {
            *ends = false;
            return found;
        }
        if (steps ? J > found : J < found) {
            found = J;
            memcpy(best, next, sizeof best);
        }
    }
    return found;
}

/* A model with these numbers; one that reaches a goal comes from a file. */
static nadir_model *make_model(nadir_context *context, const process *of)
{
    nadir_model *model = NULL;
    nadir_model_data data;
    double dense[ROWS * MOST];
    double landing[ROWS * MOST];
    if (of->kind == REACH) {
        nadir_read_settings settings;
        char goal[32];
        FILE *file = fopen("attack.csv", "w");
        assert_non_null(file);
        assert_true(fputs("idstatefrom,idaction,idstateto,probability,reward\n", file) >= 0);
        for (int s = 0; s < of->n; s++) {
            for (int64_t row = of->first[s]; row < of->first[s + 1]; row++) {
                for (int t = 0; t < of->n; t++) {
                    assert_true(fprintf(file, "%d,%d,%d,%.17g,0\n", s, (int)(row - of->first[s]), t,
                                        of->P[row][t]) > 0);
                }
            }
        }
        assert_int_equal(fclose(file), 0);
        nadir_read_settings_default(&settings);
        (void)snprintf(goal, sizeof goal, "%d", of->n - 1);
        settings.goal = goal;
        assert_ok(context, nadir_model_read(context, "attack.csv", &settings, &model));
        return model;
    }
    for (int row = 0; row < of->rows; row++) {
        memcpy(dense + row * of->n, of->P[row], (size_t)of->n * sizeof *dense);
        memcpy(landing + row * of->n, of->r[row], (size_t)of->n * sizeof *landing);
    }
    nadir_model_data_default(&data);
    data.states = of->n;
    data.rows = of->rows;
    data.discount = 1;
    data.total = true;
    data.state_rows = of->first;
    data.dense = dense;
    data.rewards = of->kind == TOTAL ? of->R : NULL;
    data.transition_rewards = of->kind == LANDING ? landing : NULL;
    data.initial = of->mu;
    assert_ok(context, nadir_model_create(context, &data, &model));
    return model;
}

/* What the library makes of it. */
typedef struct asked {
    nadir_model *model;
    nadir_policy *policy;
    nadir_solver *solver;
    nadir_ball ball;
} asked;

static void ask(nadir_context *context, const process *made, asked *to)
{
    *to = (asked){.model = make_model(context, made)};
    assert_ok(context, nadir_policy_create(context, to->model, made->pi, &to->policy));
    assert_ok(context, nadir_solver_create(context, to->model, to->policy, NULL, &to->solver));
    nadir_ball_default(&to->ball);
    to->ball.set = made->set;
    to->ball.domain = made->domain;
    to->ball.norm = made->norm;
    to->ball.radius = &made->radius;
    to->ball.radius_count = 1;
    to->ball.scales = made->alpha;
}

static void forget(asked *made)
{
    nadir_solver_free(made->solver);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
}

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
static long double distance_of_row(const process *of, int64_t row, unsigned C)
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
static long double radius_of_trap(const process *of, unsigned C)
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
static unsigned reached(const process *of)
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
        process made;
        asked by;
        nadir_setup setup = {0};
        nadir_trap trap;
        long double least = INFINITY;
        draw(&random, TOTAL, &made);
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
        ask(context, &made, &by);
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
        forget(&by);
    }
}

/* I - P^pi of the states that do not end, and 1 for the last one. To be cleared. */
static test_system system_of(const process *of, double P[ROWS][MOST])
{
    long double average[MOST * MOST] = {0};
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
static long double durations_of(const process *of, double P[ROWS][MOST], long double *most, long double *w)
{
    double ones[MOST];
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
static void check_durations(nadir_context *context, const process *of, double P[ROWS][MOST],
                            const nadir_problem *problem)
{
    nadir_occupancy_bounds bounds = {0};
    long double most;
    long double w[MOST];
    long double d[MOST];
    test_system system = system_of(of, P);
    const long double mean = durations_of(of, P, &most, w);
    const long double off = 16 * MOST * (long double)test_long_unit() * most;
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
        process made;
        asked by;
        nadir_setup setup = {0};
        draw(&random, TOTAL, &made);
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
        ask(context, &made, &by);
        assert_ok(context, nadir_setup_make(context, by.solver, &by.ball, false, &setup));
        double P[ROWS][MOST];
        memcpy(P, made.P, sizeof P);
        for (int k = 0; k < (i % 3 > 0 ? 1 : 40) && setup.problem.gap > 0; k++) {
            check_durations(context, &made, P, &setup.problem);
            proven++;
            mutate(&random, &made, P);
        }
        nadir_setup_clear(context, &setup);
        forget(&by);
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
        process made = {.n = 3,
                        .rows = 3,
                        .first = {0, 1, 2, 3},
                        .pi = {1, 1, 1},
                        .alpha = {1, 1, 1},
                        .mu = {i % 3 / 2.0, 1 - i % 3 / 2.0, 0},
                        .set = NADIR_SET_NONRECT,
                        .domain = i % 4 < 2 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX,
                        .norm = p};
        asked by;
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
        ask(context, &made, &by);
        assert_ok(context, nadir_setup_make(context, by.solver, &by.ball, false, &setup));
        proven[0] += setup.problem.gap > 0;
        proven[1] += setup.problem.most != NULL;
        for (int k = 0; k <= SHARES && setup.problem.gap > 0; k++) {
            double P[ROWS][MOST];
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
        forget(&by);
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
static void keep_longest(const process *of, int row, const long double *w, double *P)
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
        process made;
        asked by;
        nadir_setup setup = {0};
        double P[ROWS][MOST];
        long double w[MOST];
        long double most;
        draw(&random, TOTAL, &made);
        made.set = NADIR_SET_SA;
        made.norm = 1;
        for (int row = 0; row < made.rows; row++) {
            made.alpha[row] += i % 2;
        }
        off_by = i % 3 == 0 ? 0.1 : 1e-3;
        test_note("solves that are off by %g, %d of seed %d", off_by, i, SEED + 3);
        ask(context, &made, &by);
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
        forget(&by);
    }
    assert_that(proven > test_attack_count(300) / 4, "%d proven", proven);
}

static void test_attack(void **state)
{
    nadir_context *context = *state;
    nadir_random random;
    int proven = 0;
    int certified = 0;
    int discounted = 0;
    const int seed = test_attack_seed(SEED);
    nadir_random_seed(&random, (uint64_t)seed);
    for (int i = 0; i < test_attack_count(300); i++) {
        process made;
        asked by;
        nadir_robust result = {.size = sizeof result};
        bool ends;
        draw(&random, (kind)(int)(nadir_random_uniform(&random) * 3), &made);
        test_note("process %d of seed %d", i, seed);
        ask(context, &made, &by);
        const nadir_status status = nadir_solver_robust(context, by.solver, &by.ball, NULL, &result, NULL);
        if (status == NADIR_OK) {
            const double scale = 1e-9 * (1 + fabs(result.lower_bound));
            const bool finite = isfinite(result.duration_bound);
            proven++;
            certified += result.certified;
            discounted += !finite && result.lower_bound > 1e-6;
            assert_true(finite || made.kind == REACH);
            assert_true(attack(&random, &made, false, &ends) >= result.lower_bound - scale);
            assert_true(result.robust_return >= result.lower_bound - scale);
            assert_true(ends || !finite);
            assert_true(attack(&random, &made, true, &ends) <= result.duration_bound * (1 + 1e-9));
            assert_true(ends || !finite);
            assert_true(ends || made.radius >= result.trap_radius_low);
        } else {
            assert_that(made.kind != REACH && status == NADIR_ERROR_ILL_POSED, "%s",
                        nadir_context_error(context));
        }
        forget(&by);
    }
    print_message("%d answered, %d of them certified, %d bounded with a discount\n", proven, certified,
                  discounted);
    assert_true(test_attack_count(300) < 100 || certified > test_attack_count(300) / 3);
}

/* d_P of one state: mu . x for (I - P^pi) x = e_t. */
static double visits_of(const process *of, double P[ROWS][MOST], int t)
{
    long double average[MOST * MOST] = {0};
    double side[MOST] = {0};
    long double x[MOST];
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
        process made;
        asked by;
        nadir_setup setup = {0};
        draw(&random, TOTAL, &made);
        made.set = NADIR_SET_NONRECT;
        made.norm = isinf(made.norm) ? 2 : made.norm;
        find_reached(&made);
        test_note("visits %d of seed %d", i, SEED + 3);
        ask(context, &made, &by);
        assert_ok(context, nadir_setup_make(context, by.solver, &by.ball, false, &setup));
        for (int t = 0; t < made.n && setup.problem.most != NULL; t++) {
            double best[ROWS][MOST];
            memcpy(best, made.P, sizeof best);
            double d = visits_of(&made, best, t);
            for (int k = 0; k < 300; k++) {
                double P[ROWS][MOST];
                memcpy(P, best, sizeof P);
                mutate(&random, &made, P);
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
        forget(&by);
    }
    print_message("%d states of bounded visits\n", proven);
    assert_true(test_attack_count(400) < 100 || proven > 20);
}

/* One state that stays or ends, and one that is the end. */
static process two_states(double stays)
{
    process made = {.n = 2, .m = 1, .rows = 2, .kind = REACH, .norm = 2};
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
    const process made = two_states(0.5);
    asked by;
    ask(context, &made, &by);
    for (int i = 1; i < 14; i++) {
        const double discount = 1 - pow(10, -i);
        const long double sum = 1 + (long double)NADIR_SUM_ROUNDING;
        nadir_model *with = NULL;
        assert_ok(context, nadir_terminal_discounted(context, by.solver->model, discount, &with));
        assert_that(with->rewards[1] <= 1 - discount * sum, "discount %.17g", discount);
        assert_true(i > 12 || with->rewards[1] > 0.9 * (1 - discount));
        nadir_model_free(with);
    }
    forget(&by);
}

/* A row that leaves seldom and does not quite sum to one: as far from staying as what it has there lacks of one. */
static void test_trap_row_sum(void **state)
{
    nadir_context *context = *state;
    process made = two_states(0.5);
    asked by;
    nadir_setup setup = {0};
    nadir_trap trap;
    made.kind = TOTAL;
    made.radius = 1e-13;
    made.P[0][1] = 1e-9;
    made.P[0][0] = 1 - 1e-9 + 15 * DBL_EPSILON / 2;
    ask(context, &made, &by);
    assert_ok(context, nadir_setup_make(context, by.solver, &by.ball, false, &setup));
    assert_ok(context, nadir_trap_find(context, &setup.problem, &trap));
    const long double stays = norm_of_two(2, made.P[0][1], 1 - (long double)made.P[0][0]);
    assert_that(trap.low <= stays && stays <= trap.high && trap.low > 0.99L * stays, "%.17g, %.21Lg, %.17g",
                trap.low, stays, trap.high);
    nadir_setup_clear(context, &setup);
    forget(&by);
}

/* p so large that powers of the radius underflow; and methods that know no models without a discount, for many radii. */
static void test_large_norm(void **state)
{
    nadir_context *context = *state;
    process made = two_states(0.5);
    asked by;
    nadir_robust result = {.size = sizeof result};
    made.kind = TOTAL;
    made.norm = 1000;
    made.radius = 0.3;
    made.R[0] = made.r[0][0] = made.r[0][1] = -1;
    ask(context, &made, &by);
    assert_ok(context, nadir_solver_robust(context, by.solver, &by.ball, NULL, &result, NULL));
    assert_true(result.lower_bound <= -4.99 && result.lower_bound > -6.1); /* about 1 / (0.5 - 0.3) */
    nadir_robust_settings settings;
    nadir_robust_settings_default(&settings);
    const double factor = 1;
    settings.method = "best-response";
    assert_int_equal(nadir_solver_robust_many(context, by.solver, &by.ball, &settings, 1, &factor, &result),
                     NADIR_ERROR_UNSUPPORTED);
    forget(&by);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_attack),          test_with_context(test_traps),
        test_with_context(test_visits),          test_with_context(test_trap_row_sum),
        test_with_context(test_discounted_goal), test_with_context(test_large_norm),
        test_with_context(test_durations),       test_with_context(test_circles),
        test_with_context(test_bad_solves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

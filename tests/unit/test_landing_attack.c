/*
 * Certified bounds for rewards paid on landing, attacked: random models with unvisited states, flat values,
 * unseen successors, pinned rows, rewards from 1e-3 to 1e4; all sets, domains and norms, worst and best case.
 * Kernels of the set are looked for that return less than the bound: by random transfers of mass and by
 * conditional gradients, both written down here, with returns and derivatives of the definition, solved for in
 * long double; and by the attacks on other bounds (support/kernel_descent.h, support/oracle.h). There is none.
 * The kernel reported is one of the set and has the return reported; what is certified is not undercut.
 *
 * NADIR_ATTACKS=25 attacks 25 times as many problems: 5000.
 */
#include "support/support.h"

#include "model/landing.h"
#include "support/kernel_descent.h"
#include "support/landing.h"
#include "support/reference.h"
#include "support/robust.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED test_attack_seed(223606)

static const double norms[] = {1, 1.5, 2, 3, INFINITY};
enum { NORMS = sizeof norms / sizeof *norms, PROBLEMS = 200, POPULATION = 5, TRANSFERS = 120, STEPS = 25 };

typedef struct tally {
    int problems, bounded, certified, general, optimistic, compared, missed, stopped;
    int64_t kernels;
    double closest; /* how little a kernel was above a bound, in what rounding may do */
} tally;

static int64_t kernels_tried;

static double return_of(const test_oracle *oracle, const double *kernel)
{
    const double found = test_oracle_return(oracle, kernel, NULL);
    kernels_tried++;
    assert_that(!isnan(found), "a kernel of the ball is past breakdown");
    return found;
}

static bool is_allowed(const test_oracle *oracle, int64_t row, int64_t t)
{
    return oracle->domain != NADIR_DOMAIN_SUPPORT || oracle->nominal[row * oracle->states + t] > 0;
}

/* ------------------------------------------------------------------------------------ linear minimisation
 *
 * min over the set of G . X, ball by ball; rows have costs of their own.
 */

typedef struct linear {
    const test_oracle *oracle;
    const double *G; /* [rows * states] */
    double *X;       /* [rows * states] */
} linear;

/* The best way to spend a 1-norm: the largest gain for each unit first. Each row takes mass to its cheapest
 * successor; moving m costs 2 m / alpha. Without signs one transfer takes it all. */
static void spend(const linear *problem, int64_t ball)
{
    const test_oracle *oracle = problem->oracle;
    const int64_t n = oracle->states;
    double left = oracle->radii[ball];
    while (left > 0) {
        double best = 0;
        int64_t from = -1;
        int64_t to = -1;
        for (int64_t row = 0; row < oracle->rows; row++) {
            if (oracle->row_balls[row] != ball) {
                continue;
            }
            int64_t cheapest = -1;
            for (int64_t t = 0; t < n; t++) {
                const bool lower = cheapest < 0 || problem->G[row * n + t] < problem->G[row * n + cheapest];
                cheapest = is_allowed(oracle, row, t) && lower ? t : cheapest;
            }
            for (int64_t t = 0; t < n; t++) {
                const double gain =
                    oracle->scales[row] * (problem->G[row * n + t] - problem->G[row * n + cheapest]);
                const bool some = oracle->domain == NADIR_DOMAIN_FREE || problem->X[row * n + t] > 0;
                if (some && gain > best) {
                    best = gain;
                    from = row * n + t;
                    to = row * n + cheapest;
                }
            }
        }
        if (from < 0) {
            return;
        }
        const double scale = oracle->scales[from / n];
        const double most = oracle->domain == NADIR_DOMAIN_FREE ? INFINITY : problem->X[from];
        const double mass = fmin(most, left * scale / 2);
        problem->X[from] = mass == most ? 0 : problem->X[from] - mass;
        problem->X[to] += mass;
        left = mass == most ? left - 2 * mass / scale : 0;
    }
}

/* A box: all entries as low as they may be, then the cheapest filled up. Rows of sum one. */
static void fill_box(const linear *problem, int64_t row, double reach)
{
    const test_oracle *oracle = problem->oracle;
    const int64_t n = oracle->states;
    const double *nominal = oracle->nominal + row * n;
    double *X = problem->X + row * n;
    bool *filled = test_new(n, sizeof *filled);
    double left = 1;
    for (int64_t t = 0; t < n; t++) {
        const bool fixed = !is_allowed(oracle, row, t);
        const double low = oracle->domain == NADIR_DOMAIN_FREE ? -INFINITY : 0;
        X[t] = fixed ? nominal[t] : fmax(low, nominal[t] - reach);
        filled[t] = fixed;
        left -= X[t];
    }
    for (int64_t i = 0; i < n && left > 0; i++) {
        int64_t cheapest = -1;
        for (int64_t t = 0; t < n; t++) {
            const bool lower = cheapest < 0 || problem->G[row * n + t] < problem->G[row * n + cheapest];
            cheapest = !filled[t] && lower ? t : cheapest;
        }
        if (cheapest < 0) {
            break;
        }
        const double more = fmin(left, nominal[cheapest] + reach - X[cheapest]);
        X[cheapest] += more;
        left -= more;
        filled[cheapest] = true;
    }
    free(filled);
}

/* The row of min G . D + tau (|D|_p / alpha)^p over changes D of sum 0: the multiplier omega of the sum by
 * bisection. Returns sum of (|D| / alpha)^p. */
static double penalized_row(const linear *problem, int64_t row, double tau)
{
    const test_oracle *oracle = problem->oracle;
    const int64_t n = oracle->states;
    const double *nominal = oracle->nominal + row * n;
    const double *G = problem->G + row * n;
    const double p = oracle->p;
    const double factor = pow(oracle->scales[row], p) / (p * tau);
    double low = INFINITY;
    double high = -INFINITY;
    double norm = 0;
    for (int64_t t = 0; t < n; t++) {
        low = is_allowed(oracle, row, t) ? fmin(low, G[t]) : low;
        high = is_allowed(oracle, row, t) ? fmax(high, G[t]) : high;
    }
    for (int step = 0; step < 52; step++) {
        const double omega = low + (high - low) / 2;
        double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            const double slope = (omega - G[t]) * factor;
            double change = !is_allowed(oracle, row, t) ? 0
                            : p == 2                    ? slope
                                                        : copysign(pow(fabs(slope), 1 / (p - 1)), slope);
            change = oracle->domain == NADIR_DOMAIN_FREE ? change : fmax(change, -nominal[t]);
            problem->X[row * n + t] = nominal[t] + change;
            sum += change;
        }
        *(sum > 0 ? &high : &low) = omega;
    }
    for (int64_t t = 0; t < n; t++) {
        norm += pow(fabs(problem->X[row * n + t] - nominal[t]) / oracle->scales[row], p);
    }
    return norm;
}

/* 1 < p < infinity: the multiplier of the ball by bisection over its logarithm. */
static void bisect_ball(const linear *problem, int64_t ball)
{
    const test_oracle *oracle = problem->oracle;
    const double wanted = pow(oracle->radii[ball], oracle->p);
    double largest = 0;
    for (int64_t i = 0; i < oracle->rows * oracle->states; i++) {
        largest = fmax(largest, fabs(problem->G[i]));
    }
    if (largest == 0) {
        return;
    }
    double low = log(largest) - 30;
    double high = log(largest) + 30;
    for (int step = 0; step < 40; step++) {
        const double middle = (low + high) / 2;
        double norm = 0;
        for (int64_t row = 0; row < oracle->rows; row++) {
            norm += oracle->row_balls[row] == ball ? penalized_row(problem, row, exp(middle)) : 0;
        }
        *(norm > wanted ? &low : &high) = middle;
    }
}

/* X becomes the answer to the costs G, pulled in from where rounding left it. */
static void respond(const test_oracle *oracle, const double *G, double *X)
{
    const linear problem = {oracle, G, X};
    memcpy(X, oracle->nominal, (size_t)(oracle->rows * oracle->states) * sizeof *X);
    for (int64_t ball = 0; ball < oracle->balls; ball++) {
        if (oracle->p == 1) {
            spend(&problem, ball);
        } else if (!isinf(oracle->p)) {
            bisect_ball(&problem, ball);
        }
    }
    for (int64_t row = 0; row < oracle->rows && isinf(oracle->p); row++) {
        if (oracle->row_balls[row] >= 0) {
            fill_box(&problem, row, oracle->scales[row] * oracle->radii[oracle->row_balls[row]]);
        }
    }
    test_oracle_pull(oracle, X);
}

/* -------------------------------------------------------------------------------------------- attacks */

/* From kernel on: the best of several steps towards the answer, until none is better. Returns the return. */
static double conditional_gradients(const test_oracle *oracle, double *kernel)
{
    const int64_t count = oracle->rows * oracle->states;
    double *G = test_new(3 * count, sizeof *G);
    double *X = G + count;
    double *tried = G + 2 * count;
    double lowest = return_of(oracle, kernel);
    for (int step = 0; step < STEPS; step++) {
        double length = 0;
        double reached = lowest;
        (void)test_oracle_gradient(oracle, kernel, G);
        respond(oracle, G, X);
        for (double next = 1; next > 1e-4; next *= 0.5) {
            for (int64_t i = 0; i < count; i++) {
                tried[i] = kernel[i] + next * (X[i] - kernel[i]);
            }
            const double found = return_of(oracle, tried);
            if (found < reached) {
                reached = found;
                length = next;
            } else if (length > 0) {
                break;
            }
        }
        for (int64_t i = 0; i < count && length > 0; i++) {
            kernel[i] += length * (X[i] - kernel[i]);
        }
        const bool over = lowest - reached <= 1e-13 * fabs(lowest);
        lowest = reached;
        if (over) {
            break;
        }
    }
    free(G);
    return lowest;
}

/* Mass from one successor to another, row after row, kept where it is worse and inside. */
static double transfers(const test_oracle *oracle, nadir_random *random, double *kernel)
{
    const int64_t n = oracle->states;
    const int64_t count = oracle->rows * n;
    double *tried = test_new(count, sizeof *tried);
    double lowest = return_of(oracle, kernel);
    for (int i = 0; i < TRANSFERS; i++) {
        memcpy(tried, kernel, (size_t)count * sizeof *tried);
        for (int moved = 0; moved < 1 + (int)nadir_random_below(random, 3); moved++) {
            const int64_t row = (int64_t)nadir_random_below(random, (uint64_t)oracle->rows);
            const int64_t from = (int64_t)nadir_random_below(random, (uint64_t)n);
            const int64_t to = (int64_t)nadir_random_below(random, (uint64_t)n);
            const bool free_signs = oracle->domain == NADIR_DOMAIN_FREE;
            const double most = free_signs ? 1 : tried[row * n + from];
            const double size = nadir_random_uniform(random);
            if (oracle->row_balls[row] >= 0 && is_allowed(oracle, row, from) && is_allowed(oracle, row, to)) {
                const double reach = oracle->scales[row] * oracle->radii[oracle->row_balls[row]];
                const double mass = fmin(most, reach) * size * size;
                tried[row * n + from] -= mass;
                tried[row * n + to] += mass;
            }
        }
        test_oracle_pull(oracle, tried);
        const double found = return_of(oracle, tried);
        if (found < lowest) {
            lowest = found;
            memcpy(kernel, tried, (size_t)count * sizeof *tried);
        }
    }
    free(tried);
    return lowest;
}

/* The lowest return that anybody finds. kernel: [rows * states], the worst reported, and then that of it. */
static double attack(const test_oracle *oracle, nadir_random *random, double *kernel)
{
    const int64_t count = oracle->rows * oracle->states;
    const size_t bytes = (size_t)count * sizeof *kernel;
    double *start = test_new(count, sizeof *start);
    double *reported = test_new(count, sizeof *reported);
    double lowest = INFINITY;
    test_oracle_pull(oracle, kernel);
    memcpy(reported, kernel, bytes);
    for (int i = 0; i < POPULATION + 3; i++) {
        if (i == 0) {
            memcpy(start, reported, bytes);
        } else if (i == 1) {
            memcpy(start, oracle->nominal, bytes);
        } else { /* anywhere, and halfway to what was reported */
            test_oracle_random(oracle, random, start);
            for (int64_t j = 0; j < count && i % 2 == 0; j++) {
                start[j] = (start[j] + reported[j]) / 2;
            }
        }
        double found = i < POPULATION ? transfers(oracle, random, start) : INFINITY;
        found = fmin(found, conditional_gradients(oracle, start));
        if (i == 0 || i == POPULATION) {
            found = fmin(found, test_kernel_descent(oracle, random, start));
        }
        if (found < lowest) {
            lowest = found;
            memcpy(kernel, start, bytes);
        }
    }
    const double found = test_oracle_worst(oracle, random, 1, start);
    if (found < lowest) {
        lowest = found;
        memcpy(kernel, start, bytes);
    }
    free(start);
    free(reported);
    return lowest;
}

/* ------------------------------------------------------------------------------------------- problems */

/* Where the value is the fixed point of an operator that flips no signs, though the adversary may. */
static bool is_bellman(const nadir_ball *ball)
{
    return ball->domain == NADIR_DOMAIN_FREE && (ball->set != NADIR_SET_NONRECT || isinf(ball->norm));
}

/* A share of the breakdown radius where there is one. */
static double draw_radius(nadir_context *context, nadir_random *random, nadir_solver *solver, nadir_ball ball)
{
    static const double radii[] = {0.003, 0.03, 0.1, 0.3, 1, 2};
    static const double small = 1e-7;
    if (ball.domain != NADIR_DOMAIN_FREE) {
        return radii[nadir_random_below(random, 6)];
    }
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_STRICT;
    ball.radius = &small;
    const nadir_robust found = test_robust(context, solver, &ball, &settings, NULL);
    return fmin(2, found.breakdown_radius) * 0.9 * nadir_random_uniform(random);
}

/* The numbers of the model itself where nobody gave any: least squares in double precision. */
static void use_model(const nadir_model *model, const test_landing *draft, double sign, test_oracle *oracle)
{
    for (int64_t i = 0; i < model->rows * model->states && model->transition_rewards != NULL; i++) {
        if (isnan(draft->paid[i])) {
            const int64_t row = i / model->states;
            oracle->paid[i] = sign * (model->landing.base[row] + model->landing.g[i % model->states]);
        }
    }
}

static double largest_of(const test_oracle *oracle)
{
    double largest = 0;
    for (int64_t i = 0; i < oracle->rows * oracle->states; i++) {
        largest = fmax(largest, fabs(oracle->paid[i]));
    }
    return largest;
}

/* What a kernel of doubles can be outside of its set by: a rounding of each entry, at what that is worth. */
static double rounding_of(const test_oracle *oracle, const double *kernel)
{
    const int64_t count = oracle->rows * oracle->states;
    double *gradient = test_new(count, sizeof *gradient);
    double sum = 0;
    (void)test_oracle_gradient(oracle, kernel, gradient);
    for (int64_t i = 0; i < count; i++) {
        sum += fabs(gradient[i]);
    }
    free(gradient);
    return 2 * DBL_EPSILON * sum;
}

/* The kernel reported is in the set and returns what is said. */
static void check_reported(const test_oracle *oracle, const double *kernel, double said, double scale)
{
    const double excess = test_oracle_excess(oracle, kernel);
    const double found = test_oracle_return(oracle, kernel, NULL);
    assert_that(excess <= 1e-10, "the worst kernel is outside of the set by %g", excess);
    assert_that(fabs(found - said) <= 1e-9 * scale, "the worst kernel returns %.15g, said is %.15g", found,
                said);
}

static void fight(nadir_context *context, nadir_random *random, int number, tally *sums)
{
    const test_rewards kind = (test_rewards)(TEST_REWARDS_NOISY + nadir_random_below(random, 4));
    test_landing_random drawn = test_landing_draw(context, random, 6, kind);
    nadir_solver *solver = test_solver(context, drawn.model, drawn.policy);
    nadir_robust_settings settings = test_robust_settings();
    nadir_worst *worst = NULL;
    double radius = 0;
    const nadir_ball ball = test_ball((nadir_set)(number % 3 + 1), (nadir_domain)(number / 3 % 3 + 1),
                                      norms[number / 9 % NORMS], &radius, NULL);
    settings.certify = nadir_random_below(random, 2) == 0 ? NADIR_CERTIFY_AUTO : NADIR_CERTIFY_STRICT;
    settings.optimistic = nadir_random_below(random, 4) == 0;
    const double sign = settings.optimistic ? -1 : 1;
    test_note("seed %d, problem %d, %s", SEED, number, drawn.name);
    radius = draw_radius(context, random, solver, ball);
    test_note("seed %d, problem %d, %s; %s%s", SEED, number, drawn.name, test_ball_name(&ball),
              settings.optimistic ? ", best case" : "");
    bool stopped;
    const nadir_robust result = test_robust_limited(context, solver, &ball, &settings, &worst, &stopped);
    test_oracle oracle = test_landing_oracle(&drawn.draft, drawn.model, drawn.policy, &ball, sign);
    use_model(drawn.model, &drawn.draft, sign, &oracle);
    double *kernel = test_worst_kernel(context, drawn.model, worst);
    const double bound = settings.optimistic ? -result.upper_bound : result.lower_bound;
    const double scale = fmax(largest_of(&oracle) / (1 - oracle.gamma), fabs(result.robust_return));
    check_reported(&oracle, kernel, sign * result.robust_return, scale);
    const double lowest = attack(&oracle, random, kernel);
    const double rounding = 1e-13 * scale + rounding_of(&oracle, kernel) + DBL_MIN;
    const double above = (lowest - bound) / rounding;
    assert_that(above >= -1, "a kernel returns %.17g; the bound is %.17g (%s, %s), found %.17g: %g roundings",
                lowest, bound, result.certificate, result.bound != NULL ? result.bound : "",
                sign * result.robust_return, above);
    const double under = sign * result.robust_return - lowest;
    assert_that(!result.certified || under <= 1e-6 * fabs(result.penalty) + rounding,
                "certified %.17g, but a kernel returns %.17g", sign * result.robust_return, lowest);
    sums->stopped += stopped;
    sums->compared += !is_bellman(&ball);
    if (!is_bellman(&ball) && under > 1e-7 * fabs(result.penalty) + 1e-10 * scale) {
        print_message("missed: problem %d, %s; %s: %.12g, but %.12g is attained; nominal is %.12g\n", number,
                      drawn.name, test_ball_name(&ball), result.robust_return, sign * lowest,
                      result.nominal_return);
        sums->missed++;
    }
    sums->problems++;
    sums->bounded += isfinite(bound);
    sums->certified += result.certified;
    sums->general += nadir_landing_is_general(drawn.model);
    sums->optimistic += settings.optimistic;
    sums->closest = fmin(sums->closest, above);
    free(kernel);
    test_oracle_clear(&oracle);
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    test_landing_random_clear(&drawn);
}

static void no_kernel_is_below_the_bound(void **state)
{
    nadir_context *context = *state;
    nadir_random random;
    tally sums = {.closest = INFINITY};
    const int problems = test_attack_count(PROBLEMS);
    for (int i = 0; i < problems; i++) {
        nadir_random_seed(&random, (uint64_t)SEED + (uint64_t)i); /* so that each can be had by itself */
        fight(context, &random, i, &sums);
    }
    test_note_clear();
    print_message(
        "%d problems attacked, %d with e, %d of them the best case; %d have a bound, %d are certified; "
        "%lld kernels, none past a bound; the closest is %.2g roundings above one; %d of %d "
        "searches missed the worst, %d stopped at their limit\n",
        sums.problems, sums.general, sums.optimistic, sums.bounded, sums.certified,
        (long long)(kernels_tried + test_kernel_descent_count), sums.closest, sums.missed, sums.compared,
        sums.stopped);
    assert_true(2 * sums.general >= sums.problems);
    assert_true(5 * sums.bounded >= 3 * sums.problems && 3 * sums.certified >= sums.problems);
    assert_true(50 * sums.missed <= sums.compared && 50 * sums.stopped <= sums.problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(no_kernel_is_below_the_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

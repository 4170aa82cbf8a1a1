/*
 * What evaluations promise, on problems where numbers of very different size meet: kernels that are nearly
 * deterministic, states that are hardly or never visited and have huge values, rewards with a large offset, discounts
 * from 0.5 to 0.9999; all sets, domains and norms, worst and best case, rewards for each row and on landing. Half of
 * them are small and dense, half have more states and few successors, so that sparse factors serve them.
 *
 *     certified:    the bounds are within 1e-6 of the penalty of each other, or within rounding where it is 0;
 *     verified:     files of what one backend has certified verify with every backend;
 *     explained:    the shares of the rows add up to the penalty;
 *     upper bound:  not above the nominal return, but for the rounding of that;
 *     attained:     no kernel of the set returns less than the lower bound, or more than the upper one at best;
 *     breakdown:    no kernel of a free rectangular set that got an answer makes I - gamma P singular.
 *
 * NADIR_ATTACKS=20 attacks 20 times as many problems: 5000 of each half.
 */
#include "support/support.h"

#include "linalg/gstd.h"
#include "model/model.h"
#include "solve/solver.h"
#include "support/landing.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/robust.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED test_attack_seed(314159)

enum { PROBLEMS = 250, BACKENDS = 3, KERNELS = 12, BRUTE_STATES = 8 };
static const char *const backends[BACKENDS] = {"lapack", "klu", "krylov"};

typedef struct tally {
    int problems, certified, verified[BACKENDS], refused, limited, kernels, failed;
} tally;

static int draw(nadir_random *random, int count)
{
    return (int)nadir_random_below(random, (uint64_t)count);
}

static double power_of_ten(nadir_random *random, double low, double high)
{
    return pow(10, low + (high - low) * nadir_random_uniform(random));
}

/* ------------------------------------------------------------------------------------------- problems */

/* One successor, and others of next to no probability, or a row like any other. */
static void draw_row(nadir_random *random, int shape, int64_t n, int64_t s, double size, double *row)
{
    const int64_t main = shape == 1 ? s : draw(random, (int)n);
    const bool plain = shape == 3 || draw(random, 8) == 0;
    double sum = 0;
    for (int64_t t = 0; t < n; t++) {
        const bool none = (shape == 2 && (t > s + 1 || t == n - 1)) || draw(random, 3) == 0;
        row[t] = none ? 0 : nadir_random_uniform(random) * (plain ? 1 : size);
    }
    row[main] = plain ? row[main] + 0.1 : 1;
    for (int64_t t = 0; t < n; t++) {
        sum += row[t];
    }
    for (int64_t t = 0; t < n; t++) {
        row[t] /= sum;
    }
}

/* Leaves a row its largest successor and few others. */
static void thin_out(nadir_random *random, int64_t n, double *row)
{
    int64_t largest = 0;
    double sum = 0;
    for (int64_t t = 0; t < n; t++) {
        largest = row[t] > row[largest] ? t : largest;
    }
    for (int64_t t = 0; t < n; t++) {
        row[t] = t == largest || draw(random, (int)n) < 2 ? row[t] : 0;
        sum += row[t];
    }
    for (int64_t t = 0; t < n; t++) {
        row[t] /= sum;
    }
}

/* Rewards of one size, with an offset, or huge where nobody goes. */
static void draw_rewards(nadir_random *random, bool landing, test_landing *made)
{
    const int kind = draw(random, 4);
    const double size = power_of_ten(random, -4, 9);
    const double offset = kind == 1 ? size * power_of_ten(random, 0, 7) : 0;
    const bool by_state = draw(random, 2) == 0;
    double reward = 0;
    for (int64_t row = 0; row < made->rows; row++) {
        const bool first = row == 0 || !by_state || draw(random, 3) == 0;
        const bool pays = kind < 2 || draw(random, 3) == 0;
        const double much = kind == 3 && draw(random, 3) == 0 ? power_of_ten(random, 0, 9) : 1;
        reward = !first ? reward : offset + (pays ? size * much * nadir_random_normal(random) : 0);
        for (int64_t t = 0; t < made->states; t++) {
            made->paid[row * made->states + t] =
                reward + (landing && draw(random, 2) == 0 ? size * nadir_random_normal(random) : 0);
        }
    }
}

static test_landing draw_problem(nadir_random *random, bool landing, bool wide)
{
    static const double discounts[] = {0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999};
    int64_t actions[24];
    const int64_t n = wide ? 8 + draw(random, 17) : 2 + draw(random, 5);
    const bool single = draw(random, 3) == 0;
    for (int64_t s = 0; s < n; s++) {
        actions[s] = single ? 1 : 1 + draw(random, 3);
    }
    test_landing made = test_landing_start_ragged(n, actions, discounts[draw(random, 7)]);
    const int shape = draw(random, 4);
    const bool scaled = draw(random, 3) == 0;
    const bool even = draw(random, 3) == 0;
    for (int64_t s = 0; s < n; s++) {
        made.mu[s] = even ? 1 / (double)n : s == 0;
        for (int64_t row = made.state_rows[s]; row < made.state_rows[s + 1]; row++) {
            const double size = power_of_ten(random, -13, -1);
            draw_row(random, shape, n, s, draw(random, 2) == 0 ? 1e-6 : size, made.kernel + row * n);
            if (wide) {
                thin_out(random, n, made.kernel + row * n);
            }
            made.scales[row] = scaled ? power_of_ten(random, -2, 1) : 1;
        }
    }
    draw_rewards(random, landing, &made);
    return made;
}

/* With probabilities that are next to nothing. */
static nadir_policy *draw_policy(nadir_context *context, nadir_random *random, const nadir_model *model)
{
    nadir_policy *policy = NULL;
    const nadir_model_data view = test_view(model);
    double *pi = test_new(view.rows, sizeof *pi);
    for (int64_t s = 0; s < view.states; s++) {
        double sum = 0;
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            pi[row] = nadir_random_uniform(random) * (draw(random, 3) == 0 ? 1e-9 : 1);
            sum += pi[row];
        }
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            pi[row] /= sum;
        }
    }
    assert_ok(context, nadir_policy_create(context, model, pi, &policy));
    free(pi);
    return policy;
}

/* -------------------------------------------------------------------------------------------- promises */

static void complain(tally *sums, const char *what, const char *name, const nadir_robust *result,
                     const char *more)
{
    sums->failed++;
    print_message("%s: %s: nominal %.17g robust %.17g penalty %.17g lower %.17g upper %.17g (%s, %s)%s %s\n",
                  what, name, result->nominal_return, result->robust_return, result->penalty,
                  result->lower_bound, result->upper_bound, result->certificate, result->bound,
                  result->certified ? " certified" : "", more);
}

static void check_bounds(tally *sums, const char *name, const nadir_robust *result, bool best, double scale,
                         double slack, double discount)
{
    const double width = result->upper_bound - result->lower_bound;
    const double penalty = fabs(result->penalty);
    const double rho = 64 * DBL_EPSILON * scale + 4 * slack; /* what rounding hides */
    if (result->certified && !(width <= 1e-6 * penalty) && !(penalty <= rho && width <= 4 * rho)) {
        complain(sums, "wide", name, result, "");
    }
    const double beyond =
        best ? result->nominal_return - result->lower_bound : result->upper_bound - result->nominal_return;
    /* what underflows is in every bound */
    if (!(beyond <= 4 * DBL_EPSILON * scale + 2 * slack + 64 * DBL_MIN / (1 - discount))) {
        complain(sums, "above nominal", name, result, "");
    }
}

static void check_explained(nadir_context *context, tally *sums, const char *name, const nadir_robust *result,
                            const nadir_worst *worst, int64_t rows)
{
    nadir_damage *damages = test_new(rows, sizeof *damages);
    int64_t found;
    int64_t changed;
    double all;
    double sum = 0;
    double size = 0;
    double shares = 0;
    char text[128];
    for (int64_t i = 0; i < rows; i++) {
        damages[i].size = sizeof *damages;
    }
    assert_ok(context, nadir_worst_explain(context, worst, rows, damages, &found, &changed, &all));
    for (int64_t i = 0; i < found; i++) {
        sum += damages[i].penalty;
        size += fabs(damages[i].penalty);
        shares += damages[i].share;
    }
    (void)snprintf(text, sizeof text, "sum %.17g shares %.17g", sum, shares);
    if (fabs(sum - result->penalty) > 1e-9 * fabs(result->penalty) + 1e-14 * size ||
        fabs(all - result->penalty) > 1e-9 * fabs(result->penalty) ||
        (result->penalty != 0 &&
         fabs(shares - 1) * fabs(result->penalty) > 1e-9 * fabs(result->penalty) + 1e-14 * size)) {
        complain(sums, "explain", name, result, text);
    }
    free(damages);
}

static void check_verified(nadir_context *context, tally *sums, const char *name, const nadir_robust *result,
                           nadir_worst *worst, nadir_model *model, const nadir_policy *policy)
{
    assert_ok(context, nadir_worst_write(context, worst, "worst.npz"));
    assert_ok(context, nadir_worst_set_files(context, worst, NULL, NULL, "worst.npz"));
    assert_ok(context, nadir_worst_write_witness(context, worst, "worst.json"));
    for (int i = 0; i < BACKENDS; i++) {
        nadir_verify_settings settings;
        nadir_verify_result verified = {.size = sizeof verified};
        nadir_verification *made = NULL;
        nadir_verify_settings_default(&settings);
        settings.kernel = "worst.npz";
        settings.witness = "worst.json";
        settings.backend = backends[i];
        const nadir_status status = nadir_verify(context, model, policy, &settings, &verified, &made);
        if (status == NADIR_ERROR_ARGUMENT || status == NADIR_ERROR_UNSUPPORTED) { /* klu, dense */
            continue;
        }
        if (status != NADIR_OK) {
            char text[512];
            (void)snprintf(text, sizeof text, "verify %s: %s", backends[i], nadir_context_error(context));
            complain(sums, "verify", name, result, text);
        } else {
            sums->verified[i]++;
        }
        nadir_verification_free(made);
    }
}

/* gamma max over signs e of sigma_q(D e b^pi) < 1, D in long double, with all signs. */
static void check_breakdown(nadir_context *context, tally *sums, const char *name, const nadir_robust *result,
                            const test_oracle *oracle)
{
    const int64_t n = oracle->states;
    const double q = oracle->p == 1 ? INFINITY : isinf(oracle->p) ? 1 : oracle->p / (oracle->p - 1);
    long double *average = test_new(n * n, sizeof *average);
    long double *column = test_new(n, sizeof *column);
    double *D = test_new(n * n, sizeof *D);
    double *b = test_new(4 * n, sizeof *b);
    double most = 0;
    for (int64_t row = 0; row < oracle->rows; row++) {
        const int64_t s = oracle->row_states[row];
        const double part = oracle->policy[row] * oracle->scales[row];
        const double radius = oracle->row_balls[row] < 0 ? 0 : oracle->radii[oracle->row_balls[row]];
        b[s] += result->set == NADIR_SET_S && !isinf(q) ? pow(part * radius, q) : part * radius;
        b[s] = result->set == NADIR_SET_S && isinf(q) ? fmax(b[n + s], part * radius) : b[s];
        b[n + s] = b[s];
        for (int64_t t = 0; t < n; t++) {
            average[s * n + t] += (long double)oracle->policy[row] * oracle->nominal[row * n + t];
        }
    }
    test_system system = test_system_make(n, average, oracle->gamma);
    for (int64_t t = 0; t < n; t++) {
        memset(b + n, 0, (size_t)n * sizeof *b);
        b[n + t] = 1;
        b[t] = result->set == NADIR_SET_S && !isinf(q) ? pow(b[t], 1 / q) : b[t];
        test_system_solve(&system, false, b + n, column);
        for (int64_t s = 0; s < n; s++) {
            D[s * n + t] = (double)column[s];
        }
    }
    for (int signs = 0; signs < 1 << (n - 1); signs++) {
        nadir_gstd gstd;
        for (int64_t s = 0; s < n; s++) {
            b[n + s] = 0;
            for (int64_t t = 0; t < n; t++) {
                b[n + s] += D[s * n + t] * b[t] * (signs >> t & 1 ? -1 : 1);
            }
        }
        assert_ok(context, nadir_gstd_compute(context, 0, n, b + n, q, b + 2 * n, NULL, &gstd));
        most = fmax(most, oracle->gamma * gstd.sigma);
    }
    if (most >= 1 + 1e-9) {
        char text[64];
        (void)snprintf(text, sizeof text, "breakdown at %.10g of the radius", 1 / most);
        complain(sums, "breakdown", name, result, text);
    }
    test_system_clear(&system);
    free(average);
    free(column);
    free(D);
    free(b);
}

/* What kernels of the set return, from the definition. */
static void check_attained(tally *sums, const char *name, const nadir_robust *result,
                           const test_oracle *oracle, nadir_random *random, bool best, double slack)
{
    double *kernel = test_new(oracle->rows * oracle->states, sizeof *kernel);
    double size = 0;
    for (int64_t i = 0; i < oracle->rows; i++) {
        size = fmax(size, fabs(oracle->rewards[i]));
        for (int64_t t = 0; t < oracle->states && oracle->paid != NULL; t++) {
            size = fmax(size, fabs(oracle->paid[i * oracle->states + t]));
        }
    }
    /* of elimination in long double */
    const double rounding = 1e-16 * size / (1 - oracle->gamma);
    for (int i = 0; i < KERNELS; i++) {
        char text[64];
        test_oracle_random(oracle, random, kernel);
        const double J = test_oracle_return(oracle, kernel, NULL);
        const double room = 1e-9 * (fabs(result->nominal_return) + fabs(J)) + 2 * slack + rounding;
        (void)snprintf(text, sizeof text, "a kernel returns %.17g", J);
        sums->kernels++;
        if (best ? J > result->upper_bound + room : J < result->lower_bound - room) {
            complain(sums, "attained", name, result, text);
        }
    }
    free(kernel);
}

static const char *draw_backend(nadir_random *random, bool wide)
{
    const int drawn = draw(random, 3);
    return drawn == 0 ? "krylov" : wide && drawn == 1 ? "klu" : NULL;
}

static void attack(nadir_context *context, nadir_random *random, int number, bool wide, tally *sums)
{
    static const double norms[] = {2, 1, 2, INFINITY, 1.5, 2, 3};
    const bool landing = number % 4 == 3;
    const bool sparse = draw(random, 2) == 0 || wide;
    test_landing drawn = draw_problem(random, landing, wide);
    nadir_model *model = landing ? test_landing_model(context, &drawn, sparse, NADIR_UNSEEN_ADDITIVE, 0)
                                 : test_landing_frozen(context, &drawn, wide);
    nadir_policy *policy = draw_policy(context, random, model);
    nadir_solver *solver = NULL;
    nadir_worst *worst = NULL;
    nadir_solver_settings solving = test_solver_settings();
    nadir_robust_settings settings = test_robust_settings();
    nadir_robust result = {.size = sizeof result};
    const double radius = power_of_ten(random, -3, 0.3);
    const int plain = draw(random, 2);
    const nadir_ball ball = test_ball(plain ? NADIR_SET_NONRECT : (nadir_set)(draw(random, 3) + 1),
                                      draw(random, 4) == 0              ? NADIR_DOMAIN_FREE
                                      : draw(random, wide ? 4 : 2) != 1 ? NADIR_DOMAIN_SUPPORT
                                                                        : NADIR_DOMAIN_SIMPLEX,
                                      norms[draw(random, 7)], &radius, NULL);
    char name[256];
    settings.optimistic = draw(random, 4) == 0;
    solving.backend = draw_backend(random, wide);
    (void)snprintf(name, sizeof name, "%sproblem %d, %s%s%s, discount %g, %s", wide ? "sparse " : "", number,
                   test_ball_name(&ball), settings.optimistic ? ", best case" : "",
                   landing ? ", landing" : "", drawn.discount,
                   solving.backend != NULL ? solving.backend : "auto");
    test_note("seed %d, %s", SEED, name);
    assert_ok(context, nadir_solver_create(context, model, policy, &solving, &solver));
    const nadir_status status = nadir_solver_robust(context, solver, &ball, &settings, &result, &worst);
    sums->problems++;
    if (worst == NULL && status != NADIR_ERROR_ILL_POSED) {
        sums->failed++;
        print_message("%s: no result: %s\n", name, nadir_context_error(context));
    } else if (status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED) {
        const double scale = fabs(result.nominal_return);
        const double slack = 2 * solver->value.J_error + model->landing.slack;
        test_oracle oracle = test_oracle_make(model, policy, &ball);
        if (status != NADIR_OK) {
            sums->limited++;
            print_message("%s: %s\n", name, nadir_context_error(context));
        }
        sums->certified += result.certified;
        check_bounds(sums, name, &result, settings.optimistic, scale, slack, drawn.discount);
        check_explained(context, sums, name, &result, worst, drawn.rows);
        check_verified(context, sums, name, &result, worst, model, policy);
        check_attained(sums, name, &result, &oracle, random, settings.optimistic, slack);
        if (ball.domain == NADIR_DOMAIN_FREE && (ball.set != NADIR_SET_NONRECT || isinf(ball.norm)) &&
            oracle.states <= BRUTE_STATES) {
            check_breakdown(context, sums, name, &result, &oracle);
        }
        test_oracle_clear(&oracle);
    } else {
        assert_that(status == NADIR_ERROR_ILL_POSED, "%s", nadir_context_error(context));
        sums->refused++;
    }
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    test_landing_clear(&drawn);
}

/* Problems that failed once: returns of inexact steps, steps that verify did not take, bounds and breakdown that
 * another backend did not prove again; shares of a penalty of 0; steps of a search that a solve stopped. */
static void failures_stay_mended(void **state)
{
    static const struct {
        int seed, number;
        bool wide;
    } mended[] = {{77701, 197, false},  {77701, 475, false},  {77701, 1242, false}, {77701, 1391, false},
                  {77701, 1544, false}, {77701, 1879, false}, {77701, 2587, false}, {77701, 4787, false},
                  {77701, 4811, false}, {41003, 2684, false}, {90210, 3676, false}, {55117, 1659, false},
                  {55117, 636, true},   {13131, 2703, true},  {13131, 4408, true},  {68642, 2176, true},
                  {97531, 2873, false}, {7777, 3033, true},   {33100, 2358, false}, {88200, 568, true},
                  {61000, 895, false},  {913250, 357, false}};
    nadir_context *context = *state;
    nadir_random random;
    tally sums = {0};
    for (size_t i = 0; i < sizeof mended / sizeof *mended; i++) {
        nadir_random_seed(&random, (uint64_t)mended[i].seed + (uint64_t)mended[i].number);
        attack(context, &random, mended[i].number, mended[i].wide, &sums);
    }
    test_note_clear();
    assert_int_equal(sums.failed, 0);
}

static void attack_all(nadir_context *context, bool wide)
{
    nadir_random random;
    tally sums = {0};
    const int problems = test_attack_count(PROBLEMS);
    for (int i = 0; i < problems; i++) {
        nadir_random_seed(&random, (uint64_t)SEED + (uint64_t)i); /* so that each can be had by itself */
        attack(context, &random, i, wide, &sums);
    }
    test_note_clear();
    print_message("%d problems, %d certified, files verified by lapack %d, klu %d, krylov %d, %d refused, %d "
                  "stopped at their limit, %d kernels tried, %d failed\n",
                  sums.problems, sums.certified, sums.verified[0], sums.verified[1], sums.verified[2],
                  sums.refused, sums.limited, sums.kernels, sums.failed);
    assert_int_equal(sums.failed, 0);
}

static void what_is_promised_holds(void **state)
{
    attack_all(*state, false);
}

static void what_is_promised_holds_of_sparse_models(void **state)
{
    attack_all(*state, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(failures_stay_mended),
                                       test_with_context(what_is_promised_holds),
                                       test_with_context(what_is_promised_holds_of_sparse_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

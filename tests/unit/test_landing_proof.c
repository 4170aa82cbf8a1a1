/*
 * Proofs for rewards that are paid on landing and are not separable: attacks on tiny models of every shape by
 * kernels that the test finds itself, from the definition of the set and of the return; and the trap of values
 * that are flat where landing hurts.
 */
#include "support/support.h"

#include "model/landing.h"
#include "proof/bellman_bound.h"
#include "proof/derivation.h"
#include "proof/second_order.h"
#include "search/second_order_search.h"
#include "solve/value.h"
#include "support/generated.h"
#include "support/kernel_descent.h"
#include "support/miniature.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/tiny.h"
#include "support/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 1729

enum { CASES = 900, POINTS = 5, STEPS = 200 };

/* A model with its set, and what was found in it. */
typedef struct arena {
    nadir_context *context;
    nadir_random *random;
    nadir_model *model;
    nadir_policy *policy;
    nadir_solver *solver;
    nadir_setup setup;
    test_oracle oracle; /* rewards with the signs of the problem */
    double radius;
    double lowest; /* return found, as the user counts but for the sign */
    double scale;  /* of returns */
} arena;

/* Takes model and policy. The arena must stay where it is. */
static void arena_make(nadir_context *context, nadir_random *random, nadir_model *model, nadir_policy *policy,
                       const nadir_ball *ball, bool best, arena *made)
{
    nadir_solver_settings settings;
    *made = (arena){.context = context,
                    .random = random,
                    .model = model,
                    .policy = policy,
                    .radius = ball->radius[0],
                    .lowest = INFINITY};
    nadir_solver_settings_default(&settings);
    assert_ok(context, nadir_solver_create(context, model, policy, &settings, &made->solver));
    assert_ok(context, nadir_setup_make(context, made->solver, ball, best, &made->setup));
    made->oracle = test_oracle_make(model, policy, ball);
    /* rewards that are the same for all successors of each row are rewards of rows */
    double *paid = made->oracle.paid != NULL ? made->oracle.paid : made->oracle.rewards;
    const int64_t count = model->rows * (made->oracle.paid != NULL ? model->states : 1);
    for (int64_t i = 0; i < count; i++) {
        paid[i] *= best ? -1 : 1;
        made->scale = fmax(made->scale, fabs(paid[i]) / (1 - model->discount));
    }
}

static void arena_clear(arena *made)
{
    test_oracle_clear(&made->oracle);
    nadir_setup_clear(made->context, &made->setup);
    nadir_solver_free(made->solver);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
}

/* A lower bound of the problem, as the oracle counts. */
static double as_paid(const arena *made, double lower)
{
    return made->setup.problem.sign > 0 ? nadir_landing_lower(made->model, lower)
                                        : -nadir_landing_upper(made->model, -lower);
}

static void assert_below(const arena *made, double lower, const char *what)
{
    assert_that(made->lowest >= as_paid(made, lower) - 1e-15 * made->scale, "%.17g is below %.17g, by %s",
                made->lowest, as_paid(made, lower), what);
}

/* -------------------------------------------------------------------------------- stationary kernels */

/* The distribution nearest to a row over the entries that may change. */
static void project(const test_oracle *oracle, int64_t row, double *x)
{
    const int64_t n = oracle->states;
    const double *nominal = oracle->nominal + row * n;
    double shift = 0;
    for (int pass = 0; pass <= n; pass++) { /* every pass but the last drops an entry */
        double sum = 0;
        int64_t active = 0;
        for (int64_t t = 0; t < n; t++) {
            const bool open = oracle->domain != NADIR_DOMAIN_SUPPORT || nominal[t] > 0;
            if (open && (pass == 0 || x[t] > shift)) {
                sum += x[t];
                active++;
            }
        }
        shift = (sum - 1) / (double)active;
    }
    for (int64_t t = 0; t < n; t++) {
        const bool open = oracle->domain != NADIR_DOMAIN_SUPPORT || nominal[t] > 0;
        x[t] = open ? fmax(0, x[t] - shift) : 0;
    }
}

/* Rows Phat - alpha^2 G / (2 tau), projected: X; returns their distance from Phat. */
static double answer(const test_oracle *oracle, const double *G, double tau, double *X)
{
    const int64_t n = oracle->states;
    double square = 0;
    for (int64_t row = 0; row < oracle->rows; row++) {
        const double alpha = oracle->scales[row];
        memcpy(X + row * n, oracle->nominal + row * n, (size_t)n * sizeof *X);
        if (oracle->row_balls[row] < 0) {
            continue;
        }
        for (int64_t t = 0; t < n; t++) {
            X[row * n + t] -= alpha * alpha * G[row * n + t] / (2 * tau);
        }
        project(oracle, row, X + row * n);
        for (int64_t t = 0; t < n; t++) {
            const double change = (X[row * n + t] - oracle->nominal[row * n + t]) / alpha;
            square += change * change;
        }
    }
    return sqrt(square);
}

/* The linear step of the ball of p = 2: X and its multiplier. */
static double linear_step(const test_oracle *oracle, const double *G, double *X)
{
    double low = 1e-12;
    double high = 1e12;
    for (int i = 0; i < 120; i++) {
        const double tau = sqrt(low * high);
        *(answer(oracle, G, tau, X) > oracle->radii[0] ? &low : &high) = tau;
    }
    answer(oracle, G, high, X);
    return high;
}

/* Full steps as long as the return falls, then shorter ones. Returns the multiplier. */
static double descend(const test_oracle *oracle, int steps, double *kernel)
{
    const int64_t count = oracle->rows * oracle->states;
    double *G = test_new(3 * count, sizeof *G);
    double *X = G + count;
    double *trial = X + count;
    double tau = 0;
    double J = test_oracle_gradient(oracle, kernel, G);
    for (int i = 0; i < steps; i++) {
        tau = linear_step(oracle, G, X);
        double t = 1;
        double found = INFINITY;
        for (; t > 1e-6 && !(found < J); t /= 2) {
            for (int64_t j = 0; j < count; j++) {
                trial[j] = kernel[j] + t * (X[j] - kernel[j]);
            }
            found = test_oracle_return(oracle, trial, NULL);
        }
        if (!(found < J)) {
            break;
        }
        memcpy(kernel, trial, (size_t)count * sizeof *kernel);
        J = test_oracle_gradient(oracle, kernel, G);
    }
    memcpy(kernel, X, (size_t)(steps > 1 ? count : 0) * sizeof *kernel);
    free(G);
    return tau;
}

/* A kernel of these entries, with its value and occupancy, as searches hand them over. */
static nadir_candidate candidate_of(arena *made, const double *entries, double tau)
{
    nadir_context *context = made->context;
    nadir_candidate candidate = {.tau = tau, .gap = NAN};
    nadir_occupancy *occupancy = NULL;
    nadir_value value = {0};
    nadir_value_check check;
    candidate.kernel = test_entries_kernel(context, made->model, entries);
    assert_ok(context, nadir_occupancy_create(context, candidate.kernel, made->policy, made->model->discount,
                                              NULL, 0, &occupancy));
    assert_ok(context, nadir_value_solve(context, candidate.kernel, made->policy, occupancy, &value));
    assert_ok(context, nadir_value_check_rows(context, candidate.kernel, made->policy, made->model->discount,
                                              value.v, &check));
    const double sign = made->setup.problem.sign;
    const double paid = sign * test_oracle_return(&made->oracle, entries, NULL);
    assert_close(nadir_landing_return(made->model, value.J), paid, 1e-11 * made->scale);
    assert_that(paid >= nadir_landing_lower(made->model, check.lower) - 1e-15 * made->scale &&
                    paid <= nadir_landing_upper(made->model, check.upper) + 1e-15 * made->scale,
                "the kernel returns %.17g, outside %.17g to %.17g", paid, check.lower, check.upper);
    candidate.v = value.v;
    candidate.d = value.d;
    candidate.J = sign * value.J;
    value.v = NULL;
    value.d = NULL;
    for (int64_t s = 0; s < made->model->states; s++) {
        candidate.v[s] *= sign;
    }
    nadir_value_clear(context, &value);
    nadir_occupancy_free(context, occupancy);
    return candidate;
}

/* ------------------------------------------------------------------------------------------ attack */

static void see(arena *made, const double *kernel)
{
    assert_true(test_oracle_excess(&made->oracle, kernel) < 1e-9);
    made->lowest = fmin(made->lowest, test_oracle_return(&made->oracle, kernel, NULL));
}

/* points: [POINTS] stationary kernels, one that was stopped early, and one that lies about its multiplier. */
static void attack(arena *made, bool thoroughly, nadir_candidate *points)
{
    const test_oracle *oracle = &made->oracle;
    const int64_t count = oracle->rows * oracle->states;
    double *kernel = test_new(count, sizeof *kernel);
    const bool two = oracle->p == 2 && oracle->balls == 1;
    for (int i = 0; i < POINTS; i++) {
        double tau = exp(nadir_random_normal(made->random));
        memcpy(kernel, oracle->nominal, (size_t)count * sizeof *kernel);
        if (i > 0) {
            test_oracle_random(oracle, made->random, kernel);
        }
        if (two) {
            tau = descend(oracle, i == 3 ? 1 : STEPS, kernel);
        }
        test_oracle_pull(oracle, kernel);
        see(made, kernel);
        points[i] = candidate_of(made, kernel, i == 4 ? tau * exp(nadir_random_normal(made->random)) : tau);
        (void)test_kernel_descent(oracle, made->random, kernel);
        see(made, kernel);
    }
    for (int i = 0; i < 20; i++) {
        test_oracle_random(oracle, made->random, kernel);
        see(made, kernel);
    }
    if (thoroughly) {
        made->lowest = fmin(made->lowest, test_oracle_worst(oracle, made->random, 2, kernel));
    }
    free(kernel);
}

typedef struct tally {
    int points, proven, large, series, informative, rectangular, tight;
} tally;

/* The steps of a proof, taken again from the record. */
static void judge_steps(const arena *made, const nadir_candidate *point, const nadir_certificate *proof)
{
    nadir_context *context = made->context;
    const nadir_problem *problem = &made->setup.problem;
    nadir_derivation derivation = {0};
    nadir_certificate again = {0};
    assert_ok(context,
              nadir_derivation_make(context, problem, made->radius, point, NULL, &again, &derivation));
    assert_ok(context, nadir_derivation_replay(context, &derivation, proof->steps_count, proof->steps));
    assert_close(again.lower, proof->lower, 1e-9 * fabs(problem->J - proof->lower) + 1e-13 * made->scale);
    nadir_derivation_clear(context, &derivation);
    nadir_certificate_clear(context, &again);
}

/* Proofs of one point: all that there are for small models, those for large ones, and those for many radii. */
static void judge(arena *made, const nadir_candidate *point, const nadir_kappa_path *path, tally *sums)
{
    nadir_context *context = made->context;
    const nadir_problem *problem = &made->setup.problem;
    const double penalty =
        nadir_landing_return(made->model, problem->sign * problem->J) * problem->sign - made->lowest;
    nadir_certificate proof = test_prove(context, problem, made->radius, point, NADIR_CERTIFY_AUTO);
    assert_below(made, proof.lower, nadir_bound_name(proof.bound));
    if (proof.steps_count > 0) {
        judge_steps(made, point, &proof);
    }
    sums->points++;
    sums->proven += proof.lower >= point->J - 1e-6 * penalty && proof.bound == NADIR_BOUND_SECOND_ORDER;
    sums->informative += as_paid(made, proof.lower) > made->lowest - penalty;
    nadir_certificate_clear(context, &proof);
    if (problem->uncertainty->p != 2) {
        return;
    }
    proof = test_prove_by_norms(context, problem, made->radius, point);
    assert_below(made, proof.lower, "norms");
    nadir_certificate_clear(context, &proof);
    nadir_derivation derivation = {0};
    assert_ok(context,
              nadir_derivation_make(context, problem, made->radius, point, NULL, &proof, &derivation));
    assert_ok(context, nadir_derivation_large(context, &derivation));
    assert_below(made, proof.lower, "the proof of large models");
    sums->large += proof.lower >= point->J - 1e-6 * penalty;
    nadir_derivation_clear(context, &derivation);
    nadir_certificate_clear(context, &proof);
    assert_ok(context, nadir_kappa_path_search(context, path, made->radius, point, &proof));
    assert_below(made, proof.lower, "the proof of many radii");
    sums->series += proof.lower >= point->J - 1e-6 * penalty;
    nadir_certificate_clear(context, &proof);
}

static void judge_nonrect(arena *made, const nadir_candidate *points, tally *sums)
{
    nadir_kappa_path *path = NULL;
    if (made->setup.uncertainty.p == 2) {
        assert_ok(made->context,
                  nadir_kappa_path_create(made->context, &made->setup.problem, 1.25 * made->radius, &path));
    }
    for (int i = 0; i < POINTS; i++) {
        judge(made, &points[i], path, sums);
    }
    nadir_kappa_path_free(made->context, path);
}

static void judge_rectangular(arena *made, const nadir_candidate *points, tally *sums)
{
    const nadir_problem *problem = &made->setup.problem;
    double lower;
    for (int i = 0; i < POINTS; i++) {
        assert_ok(made->context, nadir_rectangular_check(made->context, problem, 1, points[i].v, &lower));
        assert_below(made, lower, "the rectangular check");
        sums->rectangular++;
        sums->tight += as_paid(made, lower) > made->lowest - 0.1 * made->scale;
    }
}

static void judge_rewards(const arena *made)
{
    double lower;
    double upper;
    nadir_reward_bounds(made->context, &made->setup.problem, 0, &lower, &upper);
    assert_below(made, lower, "the rewards");
    assert_true(lower <= made->setup.problem.J && made->setup.problem.J <= upper);
}

static void test_lower_bounds(void **state)
{
    static const double radii[] = {0.01, 0.05, 0.15, 0.3, 0.6, 1};
    static const double norms[] = {2, 2, 1.5, 2, 1, 2, 3, INFINITY};
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    tally sums = {0};
    int general = 0;
    const int cases = test_memcheck() ? CASES / 60 : test_attack_count(CASES);
    for (int i = 0; i < cases; i++) {
        const double radius = radii[nadir_random_below(&random, 6)];
        const nadir_domain domain = i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
        const double p = norms[i / 2 % 8];
        const nadir_set set = i % 6 < 4 && isfinite(p) ? NADIR_SET_NONRECT
                              : i % 6 == 4             ? NADIR_SET_S
                                                       : NADIR_SET_SA;
        test_miniature tiny =
            i % 3 == 0 ? test_trap_make(context, &random) : test_miniature_make(context, &random, 5);
        const nadir_ball ball = test_ball(set, domain, p, &radius, NULL);
        nadir_candidate points[POINTS] = {0};
        arena made;
        test_note("seed %d, case %d, %s, %s, %s, p %g, radius %g", SEED, i, tiny.name, nadir_set_name(set),
                  nadir_domain_name(domain), p, radius);
        test_miniature_land(context, &random, i, &tiny);
        general += nadir_landing_is_general(tiny.model);
        arena_make(context, &random, tiny.model, tiny.policy, &ball, i % 11 == 0, &made);
        attack(&made, i % 8 == 0, points);
        judge_rewards(&made);
        (set == NADIR_SET_NONRECT ? judge_nonrect : judge_rectangular)(&made, points, &sums);
        for (int k = 0; k < POINTS; k++) {
            nadir_candidate_clear(context, &points[k]);
        }
        arena_clear(&made);
    }
    print_message(
        "%d of %d models are not separable; %d points, %d proven, %d informative, %d as large, %d in "
        "series; rectangular %d, %d of them tight\n",
        general, cases, sums.points, sums.proven, sums.informative, sums.large, sums.series, sums.rectangular,
        sums.tight);
    assert_that(general > cases / 2 && sums.proven > sums.points / 8 && sums.informative > sums.points / 3 &&
                    sums.large > 0 && sums.series > 0 && sums.tight > 0,
                "not the attack that this is meant to be");
}

/* ------------------------------------------------------------------------------------------- trap */

/* kappa of a point on the whole set. as_flat: states that are not visited answer to v alone. */
static double find_kappa(arena *made, const nadir_candidate *point, bool as_flat, double *level)
{
    nadir_context *context = made->context;
    const int64_t n = made->model->states;
    test_stage stage;
    nadir_displacement displacement = {0};
    double *up = test_new(2 * n, sizeof *up);
    double *v = test_new(n, sizeof *v);
    test_stage_make(context, &made->setup.problem, made->radius, point, &stage);
    const nadir_kkt *kkt = &stage.star.kkt;
    memcpy(v, point->v, (size_t)n * sizeof *v);
    assert_ok(context, nadir_sensitivity_tables(context, &stage.star.sensitivity, 1, v, up, up + n));
    for (int64_t s = 0; s < n && as_flat; s++) {
        kkt->w_unvisited[s] =
            kkt->unvisited[s] ? made->model->discount / (2 * kkt->tau) * sqrt(up[n + s]) : 0;
    }
    assert_ok(context, nadir_displacement_make(context, kkt, NULL, &displacement));
    const double kappa = test_find_kappa(context, kkt, &stage.bounds, &displacement, NULL, false);
    *level = nadir_stationary_point_level(&stage.star);
    nadir_displacement_clear(context, &displacement);
    test_stage_clear(context, &stage);
    free(up);
    free(v);
    return kappa;
}

/* Half of the ball leads from state 0 to state 1, the other half is spent there. */
static void visit_state_1(arena *made)
{
    double kernel[25];
    const double m = made->radius / sqrt(3) * (1 - 1e-12);
    const double x = made->radius / 2 * (1 - 1e-12);
    memcpy(kernel, made->oracle.nominal, sizeof kernel);
    kernel[1] += m;
    kernel[2] -= m / 2;
    kernel[3] -= m / 2;
    kernel[7] += x;
    kernel[8] -= x;
    see(made, kernel);
}

/*
 * Every state is worth nothing under the nominal kernel. State 0 pays -a and a in states 2 and 3; states 1 and 4,
 * which are not visited, pay -c and c, or c and -c. From the nominal kernel the descent takes what it can get in
 * state 0. To visit state 1 costs nothing by itself, but then landing does.
 */
static void test_flat_values(void **state)
{
    static const double c[] = {2, 5, 40};
    static const double radii[] = {0.1, 0.2, 0.3};
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    double P[25] = {0};
    double paid[25];
    double mu[5] = {1};
    int64_t state_rows[6] = {0, 1, 2, 3, 4, 5};
    double scales[5] = {1, 1, 0, 0, 1};
    for (int i = 0; i < 9; i++) {
        nadir_model_data data = test_model_data();
        const double a = 0.05;
        const double radius = radii[i % 3];
        for (int j = 0; j < 25; j++) {
            paid[j] = NAN;
        }
        for (int s = 0; s < 5; s++) {
            const bool moves = scales[s] > 0;
            const double high = s == 0 ? a : s == 1 ? c[i / 3] : -c[i / 3];
            P[5 * s + 2] = moves ? 0.5 : s == 2;
            P[5 * s + 3] = moves ? 0.5 : s == 3;
            paid[5 * s + 2] = moves ? -high : s == 2 ? 0 : NAN;
            paid[5 * s + 3] = moves ? high : s == 3 ? 0 : NAN;
        }
        data.states = 5;
        data.rows = 5;
        data.discount = 0.9;
        data.state_rows = state_rows;
        data.dense = P;
        data.transition_rewards = paid;
        data.initial = mu;
        data.scales = scales;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
        nadir_model *model = test_create_model(context, &data);
        nadir_candidate points[POINTS] = {0};
        double level;
        arena made;
        test_note("c %g, radius %g", c[i / 3], radius);
        arena_make(context, &random, model, test_uniform_policy(context, model), &ball, false, &made);
        assert_true(nadir_landing_is_general(model));
        attack(&made, true, points);
        visit_state_1(&made);
        const nadir_candidate *point = &points[0];
        const double attained = nadir_landing_return(model, point->J);
        assert_close(attained, -sqrt(2) * a * radius, 0.06 * a); /* it may also stay in state 0 */
        assert_that(made.lowest < 1.2 * attained, "found %g, attained %g", made.lowest, attained);
        /* with v alone it would be proven */
        const double flat = find_kappa(&made, point, true, &level);
        assert_that(flat < 0.5 && as_paid(&made, level) > made.lowest, "kappa %g, level %g", flat, level);
        const double kappa = find_kappa(&made, point, false, &level);
        assert_that(kappa > 0.5, "kappa %g", kappa);
        nadir_kappa_path *path = NULL;
        tally sums = {0};
        assert_ok(context, nadir_kappa_path_create(context, &made.setup.problem, radius, &path));
        judge(&made, point, path, &sums);
        assert_int_equal(sums.proven + sums.large + sums.series, 0);
        nadir_kappa_path_free(context, path);
        for (int k = 0; k < POINTS; k++) {
            nadir_candidate_clear(context, &points[k]);
        }
        arena_clear(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_lower_bounds),
        test_with_context(test_flat_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

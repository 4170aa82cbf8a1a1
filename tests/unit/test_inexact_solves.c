/*
 * Proofs from numbers that are off. Solves return what they should times a factor, or a vector besides, and
 * values, occupancies and returns are off by as much as is said of them: every bound still holds, against exact
 * ones. Errors of solves are otherwise as small as rounding, and a bound that forgets one looks right.
 */
#include "support/support.h"

#include "linalg/vector.h"
#include "proof/bellman_bound.h"
#include "proof/breakdown.h"
#include "proof/difference_bound.h"
#include "proof/free_bounds.h"
#include "proof/occupancy_bounds.h"
#include "proof/rank_one_check.h"
#include "proof/verified_solve.h"
#include "search/free_search.h"
#include "sets/lmo_row_costs.h"
#include "solve/occupancy_internal.h"
#include "support/oracle.h"
#include "support/quad.h"
#include "support/reference.h"
#include "support/tiny.h"
#include "support/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED  3141
#define NOISE 1e-3

enum { CASES = 120, MOST = 6 };

/* A backend that stands before another: x <- factor x + size |x| p, and in blocks of columns only in the first ones. */
typedef struct noise {
    nadir_backend table;
    const nadir_backend *backend;
    nadir_occupancy *occupancy;
    void *self;
    double tolerance;
    double factor, size;
    const double *p; /* [states] */
    int64_t calls;   /* so many are off; then none is */
} noise;

static nadir_status solve_with_noise(nadir_context *context, void *self, bool transposed, int64_t count,
                                     const double *b, double residual, double *x)
{
    noise *made = self;
    const int64_t n = made->occupancy->average.states;
    NADIR_TRY(made->backend->solve(context, made->self, transposed, count, b, residual, x));
    for (int64_t j = 0; j < count && made->calls > 0; j++) {
        const double largest = nadir_vector_largest(n, x + j * n);
        for (int64_t s = 0; s < n; s++) {
            x[j * n + s] = made->factor * x[j * n + s] + made->size * largest * made->p[s];
        }
    }
    made->calls--;
    return NADIR_OK;
}

static void statistics_of_noise(const void *self, nadir_backend_statistics *statistics)
{
    const noise *made = self;
    made->backend->statistics(made->self, statistics);
}

/* Until noise_end the solves of the operator are off. */
static void noise_begin(nadir_occupancy *occupancy, double factor, double size, const double *p, noise *made)
{
    *made = (noise){.table = *occupancy->backend,
                    .backend = occupancy->backend,
                    .occupancy = occupancy,
                    .self = occupancy->self,
                    .tolerance = occupancy->tolerance,
                    .factor = factor,
                    .size = size,
                    .p = p,
                    .calls = INT64_MAX};
    made->table.solve = solve_with_noise;
    made->table.statistics = statistics_of_noise;
    made->table.refine = NULL;
    occupancy->backend = &made->table;
    occupancy->self = made;
    occupancy->tolerance = 1;
}

static void noise_end(noise *made)
{
    made->occupancy->backend = made->backend;
    made->occupancy->self = made->self;
    made->occupancy->tolerance = made->tolerance;
}

/* A problem of one action a state with numbers that are multiples of 2^-10, and its exact values. */
typedef struct posed {
    nadir_context *context;
    nadir_random *random;
    int64_t n;
    double radius;
    nadir_ball ball;
    test_problem made;
    const nadir_problem *problem;
    test_oracle oracle;
    test_system system;
    long double v[MOST], d[MOST], J;
    double p[MOST]; /* for noise */
} posed;

/* A kernel with negative entries, (1 + b, -b) and (-b, 1 + b), makes more of an error along (1, -1) than any distributions:
 * 1 / (1 - gamma (1 + 2 b)) of its residual. */
static void test_negative_entries(void **state)
{
    nadir_context *context = *state;
    static const double P[] = {1, 0, 0, 1};
    static const double rewards[] = {1, 3};
    static const double k[] = {1, -1};
    for (int i = 0; i < 8; i++) {
        const double gamma = 0.5;
        const double share = 0.05 * (i + 1);
        const double b[] = {-share, share};
        const double entries[] = {1 + share, -share, -share, 1 + share};
        const double sign = i % 2 == 0 ? 1 : -1;
        long double exact[2];
        double v[2];
        nadir_kernel *kernel = NULL;
        nadir_value_check check;
        nadir_model *model = test_plain_model(context, 2, gamma, P, rewards, NULL);
        nadir_policy *policy = test_uniform_policy(context, model);
        long double *average = test_dense_average(model, entries, policy->probabilities);
        test_system system = test_system_make(2, average, gamma);
        test_system_solve(&system, false, rewards, exact);
        for (int s = 0; s < 2; s++) {
            v[s] = (double)exact[s] + sign * NOISE * k[s];
        }
        test_note("negative entries, %g", share);
        assert_ok(context, nadir_kernel_create_rank_one(context, model, b, k, &kernel));
        assert_ok(context, nadir_value_check_rows(context, kernel, policy, gamma, v, &check));
        assert_that(check.lower <= exact[0] && exact[0] <= check.upper, "%.17Lg is not in [%.17g, %.17g]",
                    exact[0], check.lower, check.upper);
        nadir_kernel_free(kernel);
        test_system_clear(&system);
        free(average);
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
}

/* A model of one action a state, from all of P or from its positive entries; rewards, mu: [n]. */
static nadir_model *make_model(nadir_context *context, int64_t n, double gamma, const double *P,
                               const double *rewards, const double *mu, bool sparse)
{
    nadir_model_data data = test_model_data();
    int64_t *starts = test_new(2 * n + 2, sizeof *starts);
    int64_t *state_rows = starts + n + 1;
    int32_t *columns = test_new(n * n, sizeof *columns);
    double *values = test_new(n * n, sizeof *values);
    int64_t count = 0;
    for (int64_t s = 0; s < n; s++) {
        for (int64_t t = 0; t < n; t++) {
            columns[count] = (int32_t)t;
            values[count] = P[s * n + t];
            count += P[s * n + t] > 0;
        }
        starts[s + 1] = count;
        state_rows[s + 1] = s + 1;
    }
    data.states = data.rows = n;
    data.discount = gamma;
    data.state_rows = state_rows;
    data.dense = sparse ? NULL : P;
    data.row_starts = sparse ? starts : NULL;
    data.columns = sparse ? columns : NULL;
    data.probabilities = sparse ? values : NULL;
    data.rewards = rewards;
    data.initial = mu;
    nadir_model *model = test_create_model(context, &data);
    free(starts);
    free(columns);
    free(values);
    return model;
}

static double draw_dyadic(nadir_random *random)
{
    return (double)(int64_t)nadir_random_below(random, 1024) / 1024;
}

static posed pose(nadir_context *context, nadir_random *random, int number, nadir_set set,
                  nadir_domain domain, double p, double radius)
{
    static const double discounts[] = {0.5, 0.875, 0.96875};
    posed made = {.context = context, .random = random, .radius = radius};
    const int64_t n = made.n = 2 + (int64_t)nadir_random_below(random, MOST - 1);
    const double gamma = discounts[nadir_random_below(random, 3)];
    double P[MOST * MOST] = {0};
    double rewards[MOST];
    double mu[MOST] = {0};
    for (int64_t s = 0; s < n; s++) {
        rewards[s] = 4 * draw_dyadic(random) - 2;
        made.p[s] = number % 3 == 0 ? 1 : 2 * draw_dyadic(random) - 1;
        for (int k = 0; k < 64; k++) {
            const int64_t t =
                (int64_t)nadir_random_below(random, number % 4 > 1 ? 2 : (uint64_t)n); /* few or all */
            P[s * n + (s + t) % n] += 1.0 / 64;
        }
        if (number % 5 ==
            4) { /* all rows alike, or the other way round: bounds on breakdown are exact there */
            for (int64_t t = 0; t < n; t++) {
                P[s * n + t] = n == 2 && number % 2 == 0 ? P[(s + t) % 2] : P[t];
            }
        }
        for (int k = 0; k < 16; k++) {
            mu[(int64_t)nadir_random_below(random, s == 0 ? (uint64_t)n : 1)] += s == 0 ? 1.0 / 16 : 0;
        }
    }
    test_note("seed %d, case %d, %d states, discount %g, radius %g", SEED, number, (int)n, gamma, radius);
    nadir_model *model = make_model(context, n, gamma, P, rewards, mu, number % 4 > 1);
    nadir_policy *policy = test_uniform_policy(context, model);
    const nadir_ball ball = test_ball(set, domain, p, &radius, NULL);
    made.oracle = test_oracle_make(model, policy, &ball);
    made.made = test_problem_make(context, model, policy, &ball, NULL, 1);
    long double *average = test_dense_average(model, P, policy->probabilities);
    made.system = test_system_make(n, average, gamma);
    for (int64_t s = 0; s < n; s++) {
        rewards[s] -= model->landing.offset; /* as problems have them */
    }
    test_system_solve(&made.system, false, rewards, made.v);
    test_system_solve(&made.system, true, mu, made.d);
    for (int64_t s = 0; s < n; s++) {
        made.J += mu[s] * made.v[s];
    }
    free(average);
    return made;
}

static void posed_clear(posed *made)
{
    test_system_clear(&made->system);
    test_oracle_clear(&made->oracle);
    test_problem_clear(&made->made);
}

/* |x - exact|: largest, or summed up. */
static long double off_of(const posed *made, bool transposed, const double *x, const long double *exact)
{
    long double off = 0;
    for (int64_t s = 0; s < made->n; s++) {
        const long double own = fabsl(x[s] - exact[s]);
        off = transposed ? off + own : fmaxl(off, own);
    }
    return off;
}

/* ------------------------------------------------------------------------------------- solves */

/* Noise of the i-th kind, which is none for 0. */
static void begin_kind(posed *made, int i, noise *off)
{
    static const double factors[] = {1, 1 - NOISE, 1 + NOISE, 1, 1};
    static const double sizes[] = {0, 0, 0, NOISE, -NOISE};
    noise_begin(made->problem->occupancy, factors[i], sizes[i], made->p, off);
}

enum { KINDS = 5 };

static void check_solves(posed *made, int kind, const double *b)
{
    nadir_context *context = made->context;
    const nadir_problem *problem = made->problem;
    const nadir_verified_solver known = nadir_verified_solver_make(context, problem);
    nadir_solve_basis basis = {0};
    noise off;
    begin_kind(made, kind, &off);
    for (int i = 0; i < 4; i++) {
        const bool transposed = i % 2 == 1;
        double x[MOST];
        long double exact[MOST];
        nadir_solve_error error;
        test_system_solve(&made->system, transposed, b, exact);
        assert_ok(context,
                  i < 2 ? nadir_verified_solve(context, problem, &known, transposed, b, 0, NULL, 0, x, &error)
                        : nadir_verified_solve_near(context, problem, &known, transposed, b, 0, NULL, &basis,
                                                    x, &error));
        const long double found = off_of(made, transposed, x, exact);
        assert_that(found <= error.error, "solve %d: off by %.9Lg, known to %.9g", i, found, error.error);
        /* a right-hand side that is off by this, in its worst direction */
        const double side = 0.25;
        assert_ok(context, i < 2 ? nadir_verified_solve(context, problem, &known, transposed, b, side, NULL,
                                                        0, x, &error)
                                 : nadir_verified_solve_near(context, problem, &known, transposed, b, side,
                                                             NULL, &basis, x, &error));
        assert_that(error.error >= side / (1 - problem->gamma) * (1 - 1e-12), "%g", error.error);
        if (transposed && i > 1) {
            nadir_solve_basis_clear(context, &basis);
        }
        nadir_solve_basis_clear(context, &basis);
    }
    noise_end(&off);
}

static void check_values(posed *made, int kind)
{
    nadir_context *context = made->context;
    const nadir_problem *problem = made->problem;
    nadir_value value = {0};
    nadir_value_check check;
    noise off;
    begin_kind(made, kind, &off);
    for (int i = 0; i < 3; i++) { /* both solves are off, or one */
        off.calls = i == 0 ? INT64_MAX : 1;
        if (i == 2) { /* the first is that of v */
            off.calls = 0;
        }
        assert_ok(context,
                  nadir_value_solve(context, problem->kernel, problem->policy, problem->occupancy, &value));
        const long double v_off = off_of(made, false, value.v, made->v);
        const long double d_off = off_of(made, true, value.d, made->d);
        const long double J_off = fabsl(value.J - made->J);
        assert_that(v_off <= value.v_error, "v is off by %.9Lg, known to %.9g", v_off, value.v_error);
        assert_that(d_off <= value.d_error, "d is off by %.9Lg, known to %.9g", d_off, value.d_error);
        assert_that(J_off <= value.J_error, "J is off by %.9Lg, known to %.9g", J_off, value.J_error);
        assert_ok(context, nadir_value_check_rows(context, problem->kernel, problem->policy, problem->gamma,
                                                  value.v, &check));
        assert_that(check.lower <= made->J && made->J <= check.upper, "%.17Lg is not in [%.17g, %.17g]",
                    made->J, check.lower, check.upper);
        double lower;
        double none[MOST] = {0};
        assert_ok(context, nadir_bellman_bound(context, problem, value.v, none, &lower));
        assert_that(lower <= made->J, "%.17Lg is below %.17g", made->J, lower);
        nadir_value_clear(context, &value);
    }
    noise_end(&off);
}

static void test_solves(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < CASES; i++) {
        posed made = pose(context, &random, i, NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.01);
        made.problem = test_problem_view(&made.made);
        double b[MOST];
        for (int64_t s = 0; s < made.n; s++) {
            b[s] = i % 2 == 0 ? 1 : nadir_random_normal(&random);
        }
        for (int kind = 0; kind < KINDS; kind++) {
            check_solves(&made, kind, b);
            check_values(&made, kind);
        }
        posed_clear(&made);
    }
}

/* All columns of D, more than are solved for at once; those of the first block alone are off. */
static void test_columns(void **state)
{
    nadir_context *context = *state;
    enum { STATES = 70 };
    double *P = test_new((int64_t)STATES * STATES, sizeof *P);
    double *D = test_new((int64_t)STATES * STATES, sizeof *D);
    double rewards[STATES] = {0};
    double p[STATES];
    double unit[STATES] = {0};
    long double exact[STATES];
    double residual;
    noise off;
    const double radius = 0.01;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    for (int64_t s = 0; s < STATES; s++) {
        p[s] = 1;
        P[s * STATES + (s + 1) % STATES] = 0.5;
        P[s * STATES + (s * 7) % STATES] += 0.5;
    }
    nadir_model *model = test_plain_model(context, STATES, 0.875, P, rewards, NULL);
    nadir_policy *policy = test_uniform_policy(context, model);
    test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    const nadir_verified_solver known = nadir_verified_solver_make(context, problem);
    long double *average = test_dense_average(model, P, policy->probabilities);
    test_system system = test_system_make(STATES, average, problem->gamma);
    noise_begin(problem->occupancy, 1, NOISE, p, &off);
    off.calls = 1;
    assert_ok(context, nadir_verified_solve_columns(context, problem, &known, STATES, NULL, D, &residual));
    noise_end(&off);
    const double error = nadir_verified_solve_error(&known, residual);
    for (int64_t t = 0; t < STATES; t++) {
        memset(unit, 0, sizeof unit);
        unit[t] = 1;
        test_system_solve(&system, false, unit, exact);
        for (int64_t s = 0; s < STATES; s++) {
            assert_that(fabsl(D[t * STATES + s] - exact[s]) <= error, "column %d is off by %Lg, known to %g",
                        (int)t, fabsl(D[t * STATES + s] - exact[s]), error);
        }
    }
    test_system_clear(&system);
    test_problem_clear(&made);
    free(average);
    free(P);
    free(D);
}

/* --------------------------------------------------------------------------------- free domain */

/* A problem whose v, d or J is off, as it says; its arrays: [2 * MOST]. The error of v is its residual over 1 - gamma,
 * as solves have it. */
typedef enum part { VALUE, OCCUPANCY, RETURN, PARTS } part;

static nadir_problem spoil(const posed *made, part which, double share, double *numbers)
{
    nadir_problem problem = *made->problem;
    const int64_t n = made->n;
    double *v = numbers;
    double *d = numbers + MOST;
    long double mean = 0;
    for (int64_t s = 0; s < n; s++) {
        mean += made->v[s] / n;
    }
    for (int64_t s = 0; s < n; s++) { /* nearer to a constant, or to zero: either is less to take */
        v[s] = (double)(made->v[s] - (which == VALUE ? share * (made->v[s] - mean) : 0));
        d[s] = (double)(made->d[s] * (which == OCCUPANCY ? 1 - share : 1));
    }
    problem.v = v;
    problem.d = d;
    problem.J = (double)(made->J + (which == RETURN ? share * fabsl(made->J) : 0));
    long double exact[MOST];
    for (int64_t s = 0; s < n; s++) {
        exact[s] = v[s];
    }
    const long double residual = test_system_residual(&made->system, false, made->oracle.rewards, exact);
    problem.v_error = (double)(residual / (1 - (long double)problem.gamma)) * (1 + 1e-12) + 1e-18;
    problem.d_error = (double)off_of(made, true, d, made->d) * (1 + 1e-12) + 1e-18;
    problem.J_error = (double)fabsl(problem.J - made->J) * (1 + 1e-12) + 1e-18;
    return problem;
}

/* The worst return of the ball, p = 1 or 2; radius: this share of the breakdown radius. */
static double worst_of(posed *made, double share, double *breakdown)
{
    test_quad J;
    *breakdown = test_quad_breakdown(&made->oracle);
    made->radius = share * fmin(*breakdown, 4);
    made->oracle.radii[0] = made->radius;
    made->made.uncertainty.radius = made->radius;
    return test_quad_worst(&made->oracle, &J) == TEST_QUAD_FREE ? (double)J : NAN;
}

/* No penalty of the ball is above the bound; lambda: what is to be shown of p = 1. */
static double penalty_bound(posed *made, const nadir_problem *problem, const nadir_candidate *found,
                            double breakdown, double lambda)
{
    double high;
    if (made->oracle.p == 1) {
        assert_ok(made->context, nadir_l1_bound(made->context, problem, made->radius, lambda, &high));
    } else {
        const nadir_spectral_question question = {.beta = made->radius, .c = found->c, .k = found->k};
        assert_ok(made->context, nadir_spectral_check(made->context, problem, &question, breakdown, &high));
    }
    return high;
}

static void check_penalties(posed *made, double share)
{
    nadir_context *context = made->context;
    double breakdown;
    const double worst = worst_of(made, share, &breakdown);
    const double lambda = (double)(made->J - worst);
    nadir_candidate found = {0};
    double numbers[2 * MOST];
    noise off;
    if (isnan(worst) || !(lambda > 1e-9)) {
        return;
    }
    if (made->oracle.p == 2) {
        assert_ok(context, nadir_spectral_solve(context, made->problem, NADIR_SPECTRAL_NEWTON, 1e-13, 1000, 1,
                                                &made->radius, &found));
    }
    for (int i = 0; i < PARTS + KINDS; i++) {
        const nadir_problem problem = spoil(made, i < PARTS ? (part)i : PARTS, NOISE, numbers);
        begin_kind(made, i < PARTS ? 0 : i - PARTS, &off);
        const double high =
            penalty_bound(made, &problem, &found, breakdown * (1 - 1e-9), lambda * (1 - NOISE / 2));
        noise_end(&off);
        /* the exact one is known to some 1e-15 of values */
        const double tiny = 1e-12 * lambda + 1e-15 * nadir_vector_largest(made->n, problem.v);
        assert_that(i == RETURN || high >= lambda - tiny,
                    "kind %d, p = %g: %.12g is attained, %.12g the bound", i, made->oracle.p, lambda, high);
        const double lower = nadir_free_lower(&problem, high);
        assert_that(lower <= worst + tiny, "kind %d: %.17g is attained, %.17g the bound", i, worst, lower);
    }
    nadir_candidate_clear(context, &found);
}

static void check_breakdown(posed *made)
{
    nadir_context *context = made->context;
    const double exact = test_quad_breakdown(&made->oracle);
    if (made->oracle.p != 2 || !(exact > 0)) {
        return;
    }
    for (int i = 0; i < KINDS; i++) {
        for (int proof = NADIR_BREAKDOWN_PRODUCTS; proof <= NADIR_BREAKDOWN_CHOLESKY; proof++) {
            noise off;
            double low;
            begin_kind(made, i, &off);
            assert_ok(context, nadir_breakdown_low(context, made->problem, (nadir_breakdown_proof)proof,
                                                   i % 2 == 0, 0.9 * exact, &low));
            noise_end(&off);
            assert_that(low <= exact * (1 + 1e-12), "kind %d, proof %d: %.12g is proven, %.12g the radius", i,
                        proof, low, exact);
        }
    }
}

/* Two families whose breakdown is known: a I + (1 - a) 1 m^T, where |Phi D| = 1 / (1 - gamma a), and steps a around a
 * circle, where it is the largest 1 / |1 - gamma z| over the eigenvalues z other than 1. What products prove takes column
 * minima of D of a few states and bounds on those of all others. */
static void test_breakdown_by_products(void **state)
{
    nadir_context *context = *state;
    enum { STATES = 40 };
    for (int i = 0; i < 48; i++) {
        static const double shares[] = {0.25, 0.5, 0.75, 0.875};
        const int64_t n = i >= 32 ? STATES : i % 2 == 0 ? 12 : 5;
        const double a = shares[i / 2 % 4];
        const double gamma = i / 8 % 2 == 0 ? 0.5 : 0.9375;
        const int kind = i / 16; /* dense, the same as lists, a circle */
        double P[STATES * STATES] = {0};
        double p[STATES];
        const double none[STATES] = {0};
        double smallest = 1 - gamma * a;
        for (int64_t s = 0; s < n; s++) {
            p[s] = s % 2 == 0 ? 1 : -1;
            P[s * n + s] += a;
            for (int64_t t = 0; t < n && kind < 2; t++) {
                P[s * n + t] += (1 - a) * (t == 0 ? 1 - 1.0 / 16 * (double)(n - 1) : 1.0 / 16);
            }
            P[s * n + (s + 1) % n] += kind < 2 ? 0 : 1 - a;
        }
        for (int64_t k = 1; k < n && kind == 2; k++) {
            const double angle = 2 * acos(-1) * (double)k / (double)n;
            const double own = hypot(1 - gamma * (a + (1 - a) * cos(angle)), gamma * (1 - a) * sin(angle));
            smallest = k == 1 ? own : fmin(smallest, own);
        }
        const double radius = 0.01;
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
        nadir_model *model = make_model(context, n, gamma, P, none, NULL, kind > 0);
        test_problem made =
            test_problem_make(context, model, test_uniform_policy(context, model), &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&made);
        test_note("case %d, %d states, a = %g, discount %g", i, (int)n, a, gamma);
        for (int j = 0; j < 7; j++) {
            static const double factors[] = {1, 1 - NOISE, 1 + NOISE, 1, 1, 1.05, 0.95};
            static const double sizes[] = {0, 0, 0, NOISE, -NOISE, 0, 0};
            double low;
            noise off;
            noise_begin(problem->occupancy, factors[j], sizes[j], p, &off);
            assert_ok(context,
                      nadir_breakdown_low(context, problem, NADIR_BREAKDOWN_PRODUCTS, j % 2 == 0, 0, &low));
            noise_end(&off);
            assert_that(low <= smallest / gamma * (1 + 1e-12), "noise %d: %.12g is proven, %.12g the radius",
                        j, low, smallest / gamma);
        }
        test_problem_clear(&made);
    }
}

/* Phat - b k^T has the return that it is said to have. */
static void check_rank_one(posed *made)
{
    nadir_context *context = made->context;
    double b[MOST];
    double k[MOST];
    double entries[MOST * MOST];
    made->made.uncertainty.radius = 8;
    const double largest = nadir_random_below(made->random, 2) == 0 ? 0.001 : 0.5;
    for (int64_t s = 0; s < made->n; s++) {
        b[s] = largest * draw_dyadic(made->random);
        k[s] = s == 0 ? 1 : s == made->n - 1 ? -1 : 0;
    }
    for (int64_t s = 0; s < made->n; s++) {
        for (int64_t t = 0; t < made->n; t++) {
            entries[s * made->n + t] = made->oracle.nominal[s * made->n + t] - b[s] * k[t];
        }
    }
    const long double exact = test_return(made->problem, entries);
    nadir_kernel *kernel = NULL;
    assert_ok(context, nadir_kernel_create_rank_one(context, made->made.model, b, k, &kernel));
    for (int i = 0; i < PARTS + KINDS; i++) {
        double numbers[2 * MOST];
        nadir_rank_one_check check;
        nadir_value_check rows;
        noise off;
        const nadir_problem problem =
            spoil(made, i < PARTS ? (part)i : PARTS, i == VALUE ? NOISE : 0, numbers);
        const nadir_rank_one_question question = {.kernel = kernel, .factor = 1};
        begin_kind(made, i < PARTS ? 0 : i - PARTS, &off);
        assert_ok(context, nadir_rank_one_check_kernel(context, &problem, &question, &check));
        noise_end(&off);
        assert_that(check.lower <= exact && exact <= check.upper, "kind %d: %.17Lg is not in [%.17g, %.17g]",
                    i, exact, check.lower, check.upper);
        assert_ok(context,
                  nadir_value_check_rows(context, kernel, problem.policy, problem.gamma, problem.v, &rows));
        assert_that(rows.lower <= exact && exact <= rows.upper, "rows: %.17Lg is not in [%.17g, %.17g]",
                    exact, rows.lower, rows.upper);
    }
    nadir_kernel_free(kernel);
}

static void test_free_domain(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    for (int i = 0; i < CASES; i++) {
        const double radius = 0.01;
        posed made = pose(context, &random, i, NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1 + i % 2, radius);
        made.problem = test_problem_view(&made.made);
        check_breakdown(&made);
        check_penalties(&made, i % 4 < 2 ? 0.05 : 0.7);
        check_rank_one(&made);
        posed_clear(&made);
    }
}

/* Any v gives a bound on rectangular balls of distributions. */
static void test_rectangular(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 5);
    int known = 0;
    for (int i = 0; i < 2 * CASES; i++) {
        static const double norms[] = {1, 1.5, 2, 3, INFINITY};
        const double radius = i % 3 == 0 ? 0.01 : 0.2;
        posed made = pose(context, &random, i, NADIR_SET_SA,
                          i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT, norms[i % 5], radius);
        test_quad J;
        double v[MOST];
        made.problem = test_problem_view(&made.made);
        const bool exact = test_quad_worst(&made.oracle, &J) != TEST_QUAD_UNKNOWN;
        known += exact;
        for (int j = 0; j < 4 && exact; j++) {
            double lower;
            for (int64_t s = 0; s < made.n; s++) {
                v[s] = j < 2 ? (double)made.v[s] : nadir_random_normal(&random);
                v[s] = j == 1 ? (double)made.v[s] - 0.1 * fabs(v[s]) : v[s];
            }
            assert_ok(context, nadir_rectangular_check(context, made.problem, 1, v, &lower));
            assert_that((test_quad)lower <= J, "v %d: %.17g is the worst return, %.17g the bound", j,
                        (double)J, lower);
        }
        posed_clear(&made);
    }
    assert_true(known > CASES);
}

/* Rectangular balls so small that their worst kernel answers to the nominal v: what that takes, a hundredth more
 * than from a v that is off. */
static void test_small_balls(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 2);
    for (int i = 0; i < CASES; i++) {
        const double radius = 1e-6;
        posed made = pose(context, &random, i, NADIR_SET_SA, NADIR_DOMAIN_FREE, 2, radius);
        double kernel[MOST * MOST];
        double mean = 0;
        double length = 0;
        made.problem = test_problem_view(&made.made);
        for (int64_t s = 0; s < made.n; s++) {
            mean += (double)made.v[s] / (double)made.n;
        }
        for (int64_t s = 0; s < made.n; s++) {
            length = hypot(length, (double)made.v[s] - mean);
        }
        for (int64_t e = 0; e < made.n * made.n && length > 0; e++) {
            kernel[e] = made.oracle.nominal[e] - radius * ((double)made.v[e % made.n] - mean) / length;
        }
        const double attained = length > 0 ? (double)test_return(made.problem, kernel) : (double)made.J;
        for (int kind = 0; kind < PARTS + KINDS; kind++) {
            double numbers[2 * MOST];
            bool exact;
            double lower;
            double breakdown;
            noise off;
            const nadir_problem problem = spoil(&made, kind < PARTS ? (part)kind : PARTS, 0.01, numbers);
            begin_kind(&made, kind < PARTS ? 0 : kind - PARTS, &off);
            assert_ok(context, nadir_rectangular_free_bound(context, &problem, 1, numbers, &exact, &lower,
                                                            &breakdown));
            noise_end(&off);
            assert_that(lower <= attained + 1e-15 * fabs(attained),
                        "kind %d: %.17g is attained, %.17g the bound", kind, attained, lower);
        }
        posed_clear(&made);
    }
}

/* -------------------------------------------------------------------------------- occupancies */

/* The exact d is within bounds that hardly let it move; and the columns of D tell occupancies of other kernels. */
static void check_point(posed *made, int kind)
{
    nadir_context *context = made->context;
    const nadir_problem *problem = made->problem;
    const int64_t n = made->n;
    nadir_perturbable_rows rows = {0};
    nadir_expansion_point point = {0};
    noise off;
    assert_ok(context, nadir_perturbable_rows_make(context, problem, &rows));
    for (int columns = 0; columns < 2; columns++) {
        assert_ok(context, nadir_expansion_point_make(context, problem, &rows, NULL, NULL, NULL, &point));
        begin_kind(made, kind, &off);
        assert_ok(context, columns ? nadir_expansion_point_columns(context, &point)
                                   : nadir_expansion_point_occupancy(context, &point));
        noise_end(&off);
        long double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            const long double far = fabsl(point.d[t] - made->d[t]);
            sum += far;
            assert_that(far <= point.off[t], "d(%d) is off by %.9Lg, known to %.9g", (int)t, far,
                        point.off[t]);
        }
        assert_that(columns || sum <= point.shared, "d is off by %.9Lg, known to %.9g", sum, point.shared);
        nadir_expansion_point_clear(context, &point);
    }
    nadir_perturbable_rows_clear(context, &rows);
}

/* bounds: around the exact d, a little ball besides. */
static void assert_holds(const posed *made, const nadir_occupancy_bounds *bounds, const char *what)
{
    for (int64_t t = 0; t < made->n; t++) {
        assert_that(bounds->low[t] <= made->d[t] && made->d[t] <= bounds->high[t],
                    "%s: d(%d) is %.12Lg, not in [%.12g, %.12g]", what, (int)t, made->d[t], bounds->low[t],
                    bounds->high[t]);
    }
}

static void check_occupancies(posed *made, int kind)
{
    nadir_context *context = made->context;
    double numbers[2 * MOST];
    const nadir_problem problem = spoil(made, OCCUPANCY, kind % 2 == 0 ? NOISE : -NOISE, numbers);
    nadir_perturbable_rows rows = {0};
    nadir_occupancy_bounds bounds = {0};
    nadir_expansion_point point = {0};
    noise off;
    int64_t done;
    assert_ok(context, nadir_perturbable_rows_make(context, made->problem, &rows));
    assert_ok(context, nadir_occupancy_bounds_make(context, made->problem, &bounds));
    nadir_occupancy_bounds_limit(context, &problem, made->radius, &bounds);
    assert_holds(made, &bounds, "limit");
    nadir_occupancy_bounds_clear(context, &bounds);
    assert_ok(context, nadir_occupancy_range_make(context, &problem, &bounds));
    assert_holds(made, &bounds, "range");
    nadir_occupancy_bounds_clear(context, &bounds);
    assert_ok(context, nadir_occupancy_bounds_make(context, made->problem, &bounds));
    assert_ok(context, nadir_expansion_point_make(context, made->problem, &rows, NULL, NULL, NULL, &point));
    begin_kind(made, kind, &off);
    assert_ok(context,
              nadir_occupancy_bounds_pass_around(context, &point, NULL, made->radius, 3, -1, &bounds, &done));
    noise_end(&off);
    assert_holds(made, &bounds, "pass");
    nadir_occupancy_bounds_clear(context, &bounds);
    nadir_expansion_point_clear(context, &point);
    nadir_perturbable_rows_clear(context, &rows);
}

/* A difference of two policies: the nominal one of policies that are the same, over next to no ball. */
static void check_difference(posed *made)
{
    nadir_context *context = made->context;
    double numbers[4 * MOST];
    nadir_problem both[2] = {spoil(made, RETURN, NOISE, numbers),
                             spoil(made, RETURN, -NOISE, numbers + 2 * MOST)};
    nadir_difference_facts facts = {0};
    nadir_lmo_row_costs costs = {0};
    double lower;
    for (int i = 0; i < 2; i++) {
        assert_ok(context, nadir_perturbation_bound_make(context, &both[i], NADIR_CERTIFY_AUTO,
                                                         &facts.perturbation[i]));
    }
    assert_ok(context,
              nadir_lmo_row_costs_make(context, made->made.model, made->problem->uncertainty, &costs));
    assert_ok(context, nadir_difference_first_order(context, both, &facts, &costs, &lower));
    assert_that(lower <= 0, "both return the same; %.12g is the bound on the difference", lower);
    nadir_lmo_row_costs_clear(context, &costs);
}

static void test_occupancies(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 3);
    for (int i = 0; i < CASES; i++) {
        posed made = pose(context, &random, i, NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 1e-9);
        made.problem = test_problem_view(&made.made);
        for (int kind = 0; kind < KINDS; kind++) {
            check_point(&made, kind);
            check_occupancies(&made, kind);
        }
        check_difference(&made);
        posed_clear(&made);
    }
}

/* ---------------------------------------------------------------------------- second order */

/* P* where the value, then the occupancy, of its stationary point is off: no kernel of the set returns less than the
 * level less what kappa allows, P* itself above all. */
static void check_kkt(posed *made, const nadir_candidate *attack, int kind)
{
    nadir_context *context = made->context;
    const nadir_problem *problem = made->problem;
    const int64_t n = made->n;
    test_stage stage;
    noise off = {0};
    test_stage_make(context, problem, made->radius, attack, &stage);
    nadir_expansion_point *point = &stage.star.point;
    double *entries = test_kernel_entries(context, point->problem.kernel);
    const long double J = test_return(problem, entries);
    for (int64_t t = 0; t < n && kind == 0; t++) { /* d may be off by this */
        point->off[t] += NOISE * point->d[t];
    }
    if (kind > 0) {
        noise_begin(point->occupancy, 1, kind == 1 ? NOISE : -NOISE, made->p, &off);
    }
    assert_ok(context, nadir_stationary_point_kkt(context, &stage.bounds, made->radius, attack->tau, NULL,
                                                  &stage.star));
    if (kind > 0) {
        noise_end(&off);
    }
    const nadir_kkt *kkt = &stage.star.kkt;
    assert_that(J >= nadir_stationary_point_level(&stage.star), "%.17Lg is below %.17g", J,
                nadir_stationary_point_level(&stage.star));
    /* the part of 2 tau sum (rho - 1) <Delta, delta> that kappa does not see, for delta that is next to nothing */
    long double change = 0;
    for (int64_t s = 0; s < n && kind == 0; s++) {
        long double square = 0;
        for (int64_t i = stage.perturbable.first[s]; i < stage.perturbable.first[s + 1]; i++) {
            for (int64_t e = stage.perturbable.starts[i]; e < stage.perturbable.starts[i + 1]; e++) {
                const long double change_e = (long double)point->X[e] - stage.perturbable.phat[e];
                square += change_e * change_e;
            }
        }
        change += kkt->unvisited[s] || !(point->d[s] > 0) ? 0 : NOISE * NOISE * square;
    }
    /* delta_s = +- 2 beta Delta_s / |Delta| has |delta| = 2 beta, with rho - 1 of the sign that hurts in each state */
    const long double drift = 4 * kkt->tau * made->radius * sqrtl(change);
    assert_that(kkt->error >= drift * (1 - 1e-9L), "the error is %.12g, the drift %.12Lg", kkt->error, drift);
    free(entries);
    test_stage_clear(context, &stage);
}

static void test_kkt(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 4);
    for (int i = 0; i < CASES; i++) {
        posed made = pose(context, &random, i, NADIR_SET_NONRECT,
                          i % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT, 2, 0.01);
        made.problem = test_problem_view(&made.made);
        nadir_candidate attack = test_descend(context, made.problem, made.radius);
        for (int kind = 0; kind < 3 && attack.tau > 0; kind++) {
            check_kkt(&made, &attack, kind);
        }
        nadir_candidate_clear(context, &attack);
        posed_clear(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_solves),      test_with_context(test_negative_entries),
        test_with_context(test_columns),     test_with_context(test_free_domain),
        test_with_context(test_small_balls), test_with_context(test_breakdown_by_products),
        test_with_context(test_rectangular), test_with_context(test_occupancies),
        test_with_context(test_kkt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

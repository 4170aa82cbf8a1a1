/*
 * Proofs by kappa against kernels that visit a state far more than P* does, on tiny models. In the proof for models whose
 * columns of D are too many to compute (proof/second_order.c), with rows that list all successors or are open
 * (proof/perturbable_rows.h), kappa is at least the norm of the operator that it bounds, with their occupancies; where it is
 * one by norms, at least gamma |Phi D* w| |h d_P|. A pass of a derivation keeps their occupancies. Rows of states that
 * P* does not visit, changed in the worst direction, cost what w allows at most.
 */
#include "support/support.h"

#include "proof/derivation.h"
#include "proof/kappa.h"
#include "proof/second_order.h"
#include "search/lagrangian_search.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/tiny.h"
#include "support/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 6174

#define CLOSED 0.45 /* of second_order.c */

enum { CASES = 400, MOST = 8, ACTIONS = 2, ROWS = MOST * ACTIONS };

/* One model with two rewards. */
typedef struct posed {
    nadir_context *context;
    int64_t n;
    double gamma, radius;
    nadir_domain domain;
    double P[ROWS * MOST], alpha[ROWS], pi[ROWS], mu[MOST];
    int64_t often_in;
    test_problem few, often; /* whose worst kernels visit state 0 seldom, and state often_in often */
} posed;

static test_problem make_problem(posed *made, int64_t paid, double reward)
{
    const int64_t n = made->n;
    int64_t first[MOST + 1] = {0};
    double rewards[ROWS] = {0};
    nadir_model_data data;
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    for (int64_t s = 0; s < n; s++) {
        first[s + 1] = ACTIONS * (s + 1);
    }
    rewards[ACTIONS * paid] = rewards[ACTIONS * paid + 1] = reward;
    nadir_model_data_default(&data);
    data.states = n;
    data.rows = ACTIONS * n;
    data.discount = made->gamma;
    data.state_rows = first;
    data.dense = made->P;
    data.rewards = rewards;
    data.initial = made->mu;
    assert_ok(made->context, nadir_model_create(made->context, &data, &model));
    assert_ok(made->context, nadir_policy_create(made->context, model, made->pi, &policy));
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, made->domain, 2, &made->radius, made->alpha);
    return test_problem_make(made->context, model, policy, &ball, NULL, 1);
}

/* D of a kernel [rows * states], column after column; d: [states] its occupancy. */
static void solve_kernel(const posed *made, const nadir_model *model, const double *P, long double *D,
                         long double *d)
{
    long double *average = test_dense_average(model, P, made->pi);
    test_system system = test_system_make(made->n, average, made->gamma);
    for (int64_t t = 0; t < made->n; t++) {
        double unit[MOST] = {0};
        unit[t] = 1;
        test_system_solve(&system, false, unit, D + t * made->n);
    }
    test_system_solve(&system, true, made->mu, d);
    test_system_clear(&system);
    free(average);
}

static long double h_of(const posed *made, int64_t s)
{
    long double square = 0;
    for (int64_t row = ACTIONS * s; row < ACTIONS * (s + 1); row++) {
        square += (long double)made->alpha[row] * made->pi[row] * made->alpha[row] * made->pi[row];
    }
    return sqrtl(square);
}

/* State 0 holds the chain; its rows can change most, every third time those of state 1, too. The radius is such that d_P(0)
 * may grow by 1 / (1 - share). */
static void pose(nadir_context *context, nadir_random *random, int number, posed *made)
{
    static const double discounts[] = {0.8, 0.9, 0.96};
    *made = (posed){.context = context,
                    .n = 3 + (int64_t)nadir_random_below(random, MOST - 2),
                    .gamma = discounts[nadir_random_below(random, 3)],
                    .radius = 1,
                    .domain = number % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT};
    const int64_t n = made->n;
    const double share = (number % 7 == 6 ? 3 : 0.9) * nadir_random_uniform(random) + 0.05;
    const double others = number % 3 == 0 ? 0.3 : 0.01;
    const int64_t hot = number % 3 == 1 ? 1 : 0; /* the last of them */
    made->often_in = hot;
    for (int64_t row = 0; row < ACTIONS * n; row++) {
        const int64_t s = row / ACTIONS;
        double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            const bool there = s <= hot || number % 4 < 2 || t == s || nadir_random_below(random, 3) > 0;
            made->P[row * n + t] = there ? 0.3 + nadir_random_uniform(random) : 0;
            made->P[row * n + t] += s == t ? 1.5 * nadir_random_uniform(random) : 0;
            sum += made->P[row * n + t];
        }
        for (int64_t t = 0; t < n; t++) {
            made->P[row * n + t] /= sum;
        }
        made->alpha[row] = s <= hot ? 1 : others * nadir_random_uniform(random);
        made->mu[s] = 1 / (double)n;
    }
    for (int64_t s = 0; s < n; s++) {
        made->pi[ACTIONS * s] = number % 5 == 0 ? 1 : nadir_random_uniform(random);
        made->pi[ACTIONS * s + 1] = 1 - made->pi[ACTIONS * s];
    }
    made->few = make_problem(made, 0, 1);
    long double D[MOST * MOST];
    long double d[MOST];
    solve_kernel(made, made->few.model, made->P, D, d);
    long double mean = 0;
    long double square = 0;
    for (int64_t s = 0; s < n; s++) {
        mean += D[s] / n;
    }
    for (int64_t s = 0; s < n; s++) {
        square += (D[s] - mean) * (D[s] - mean);
    }
    test_problem_clear(&made->few);
    made->radius = share / (double)(2 * made->gamma * h_of(made, 0) * sqrtl(square));
    test_note("seed %d, case %d, %d states, discount %g, share %g, radius %g", SEED, number, (int)n,
              made->gamma, share, made->radius);
    made->few = make_problem(made, 0, 1);
    made->often = make_problem(made, made->often_in, -1);
}

static void posed_clear(posed *made)
{
    test_problem_clear(&made->few);
    test_problem_clear(&made->often);
}

static bool allows_all(const nadir_perturbable_rows *rows)
{
    return rows->open || rows->columns == NULL;
}

/* The norm of the operator whose square is x -> M^T B M x, M = D diag(w), by power iteration. B z: with y, the sum over
 * rows of (gamma y alpha pi)^2 times z centred in them; without, z centred. */
static long double norm_of(const posed *made, const nadir_perturbable_rows *rows, const long double *D,
                           const long double *w, const long double *y)
{
    const int64_t n = made->n;
    long double x[MOST];
    long double value = 0;
    for (int64_t s = 0; s < n; s++) {
        x[s] = 1 + 0.3L * sinl((long double)s + 1);
    }
    for (int step = 0; step < 150; step++) {
        long double z[MOST] = {0};
        long double sums[MOST] = {0};
        long double length = 0;
        for (int64_t t = 0; t < n; t++) {
            for (int64_t s = 0; s < n; s++) {
                z[s] += D[t * n + s] * w[t] * x[t];
            }
        }
        for (int64_t i = 0; i < (y != NULL ? rows->count : 1); i++) {
            const int64_t row = y != NULL ? nadir_perturbable_rows_row(rows, i) : 0;
            const bool all = y == NULL || allows_all(rows);
            const int64_t count = all ? n : nadir_perturbable_rows_length(rows, i);
            const long double q =
                y != NULL ? made->gamma * y[row / ACTIONS] * made->alpha[row] * made->pi[row] : 1;
            long double mean = 0;
            for (int64_t j = 0; j < count; j++) {
                mean += z[all ? j : nadir_perturbable_rows_column(rows, i, j)] / count;
            }
            for (int64_t j = 0; j < count; j++) {
                const int64_t t = all ? j : nadir_perturbable_rows_column(rows, i, j);
                sums[t] += q * q * (z[t] - mean);
            }
        }
        for (int64_t t = 0; t < n; t++) {
            x[t] = 0;
            for (int64_t s = 0; s < n; s++) {
                x[t] += w[t] * D[t * n + s] * sums[s];
            }
            length = hypotl(length, x[t]);
        }
        value = length;
        for (int64_t t = 0; t < n && length > 0; t++) {
            x[t] /= length;
        }
    }
    return sqrtl(value);
}

/* At most the radius that the proof comes to: it tightens in turn, and may stop earlier. */
static double radius_of(nadir_context *context, const nadir_stationary_point *star,
                        const nadir_occupancy_bounds *given)
{
    nadir_occupancy_bounds bounds = {0};
    double radius = nadir_kkt_diameter(&star->kkt);
    assert_ok(context, nadir_occupancy_bounds_copy(context, given, &bounds));
    for (int i = 0; i < 40 && !bounds.empty; i++) {
        nadir_occupancy_bounds_limit_around(context, &star->point, radius, &bounds);
        radius = fmin(radius, nadir_displacement_radius(context, &star->kkt, &star->displacement, &bounds));
    }
    nadir_occupancy_bounds_clear(context, &bounds);
    return radius;
}

/* What is attained by kernels of the ball, and how near it came. */
typedef struct tally {
    int norms, others, above;
    double nearest[2];
} tally;

/* A kernel P of the ball with its distance from P*, against kappa. */
typedef struct attained {
    long double form;   /* |K_y| for y = d_P */
    long double raised; /* the same with w raised to the largest one, or to four times their mean */
    long double closed; /* that with the occupancies at which it closes on itself, or more */
    long double norms;  /* gamma |Phi D* w| |h d_P| */
    long double least;  /* the kappa by norms that there is at least, and |h d| where P is P* */
    long double length;
} attained;

static attained attain(const posed *made, const nadir_perturbable_rows *rows,
                       const nadir_stationary_point *star, const double *X, const double *P)
{
    const nadir_model *model = made->few.model;
    const int64_t n = made->n;
    long double D[MOST * MOST];
    long double D_P[MOST * MOST];
    long double d[MOST];
    long double d_P[MOST];
    long double w[MOST] = {0};
    long double h[MOST] = {0};
    long double y[MOST] = {0};
    long double K = 0;
    long double K_star = 0;
    long double w_mean = 0;
    long double w_most = 0;
    attained found = {0};
    solve_kernel(made, model, X, D, d);
    solve_kernel(made, model, P, D_P, d_P);
    for (int64_t s = 0; s < n; s++) {
        w[s] = star->displacement.w[s];
        w_mean += w[s] / n;
        w_most = fmaxl(w_most, w[s]);
        h[s] = h_of(made, s);
        K = hypotl(K, h[s] * d_P[s]);
        K_star = hypotl(K_star, h[s] * d[s]);
        for (int64_t e = ACTIONS * s * n; e < ACTIONS * (s + 1) * n; e++) {
            found.length = hypotl(found.length, ((long double)P[e] - X[e]) / made->alpha[e / n]);
        }
    }
    const long double norm = made->gamma * norm_of(made, rows, D, w, NULL);
    const long double share = nadir_kkt_diameter(&star->kkt) * made->gamma * norm_of(made, rows, D, h, NULL);
    const long double left = 1 - fmaxl(1.1L * share, 0.11L);
    found.form = norm_of(made, rows, D, w, d_P);
    for (int64_t s = 0; s < n; s++) {
        w[s] = fmaxl(w[s], fminl(w_most, 4 * w_mean));
        y[s] = d[s] + star->point.off[s] + nadir_kkt_diameter(&star->kkt) * CLOSED / w[s];
    }
    found.raised = norm_of(made, rows, D, w, d_P);
    found.closed = norm_of(made, rows, D, w, y);
    found.norms = norm * K;
    found.least = left > 0 ? 1.1L * norm * K_star / left : (long double)INFINITY;
    return found;
}

/* A candidate: a part of the way from the nominal kernel to another one, in all rows or those of state 0 alone. To be
 * cleared. */
static nadir_candidate part_of(posed *made, const nadir_candidate *whole, double share, bool first)
{
    nadir_context *context = made->context;
    const int64_t n = made->n;
    const double tau = whole->tau > 0 && isfinite(whole->tau) ? whole->tau : 1;
    double *P = test_kernel_entries(context, whole->kernel);
    long double D[MOST * MOST];
    long double d[MOST];
    for (int64_t e = 0; e < ACTIONS * n * n; e++) {
        const bool moved = !first || e < ACTIONS * n;
        P[e] = made->P[e] + (moved ? share * (P[e] - made->P[e]) : 0);
    }
    solve_kernel(made, made->few.model, P, D, d);
    nadir_candidate part = {.kernel = test_entries_kernel(context, made->few.model, P), .tau = tau};
    part.v = nadir_allocate(context, MOST, sizeof *part.v);
    part.d = nadir_allocate(context, MOST, sizeof *part.d);
    for (int64_t s = 0; s < n; s++) {
        part.v[s] = made->few.problem.v[s];
        part.d[s] = (double)d[s];
    }
    free(P);
    return part;
}

/* kappa against kernels on the way from P* to P, none of which is farther than `radius`; by norms: all of it. */
static void check_attained(posed *made, const nadir_perturbable_rows *rows,
                           const nadir_stationary_point *star, const nadir_candidate *other, double kappa,
                           double radius, bool norms, tally *sums)
{
    nadir_context *context = made->context;
    const int64_t count = ACTIONS * made->n * made->n;
    double *X = test_kernel_entries(context, star->point.problem.kernel);
    double *P = test_kernel_entries(context, other->kernel);
    double *mixed = test_new(count, sizeof *mixed);
    for (int i = 0; i < 3; i++) {
        for (int64_t e = 0; e < count; e++) {
            mixed[e] = X[e] + (i + 1) / 3.0 * (P[e] - X[e]);
        }
        const attained found = attain(made, rows, star, X, mixed);
        const bool by_norms = norms || (allows_all(rows) && found.least < 0.5L);
        /* where kappa closes on itself (second_order.c), it is one with w as that raises it */
        const bool closes = !norms && !allows_all(rows) && 1.1L * found.closed < CLOSED;
        const long double most = by_norms ? found.norms : closes ? found.raised : found.form;
        if (found.length > radius) { /* none that the proof is about */
            break;
        }
        assert_that(most <= kappa * (1 + 1e-9L), "kappa %.9g, %s: %.9Lg is attained", kappa,
                    by_norms ? "by norms" : "of the form", most);
        sums->nearest[by_norms] = fmax(sums->nearest[by_norms], (double)most / kappa);
        *(by_norms ? &sums->norms : &sums->others) += 1;
    }
    free(X);
    free(P);
    free(mixed);
}

static void check_kappa(posed *made, const nadir_perturbable_rows *rows, const nadir_candidate *star_of,
                        const nadir_candidate *other, tally *sums)
{
    nadir_context *context = made->context;
    const nadir_problem *problem = test_problem_view(&made->few);
    nadir_occupancy_bounds bounds = {0};
    nadir_stationary_point star = {0};
    nadir_certificate proof = {.lower = -INFINITY, .kappa = NAN};
    assert_ok(context, nadir_occupancy_bounds_make(context, problem, &bounds));
    nadir_occupancy_bounds_limit(context, problem, made->radius, &bounds);
    assert_ok(context,
              nadir_stationary_point_make(context, problem, rows, star_of, NADIR_OCCUPANCY_OWN, &star));
    assert_ok(context, nadir_stationary_point_kkt(context, &bounds, made->radius, star_of->tau, NULL, &star));
    const double radius = radius_of(context, &star, &bounds);
    assert_ok(context,
              nadir_second_order_prove_large(context, problem, rows, &bounds, made->radius, star_of, &proof));
    if (!isnan(proof.kappa)) {
        const double level = nadir_stationary_point_level(&star);
        const double loss = fmin(nadir_kkt_loss_by_kappa(&star.kkt, proof.kappa, radius),
                                 nadir_kkt_loss_by_radius(&star.kkt, radius));
        check_attained(made, rows, &star, other, proof.kappa, radius, false, sums);
        sums->above += proof.kappa > 0.5;
        assert_that(proof.lower <= level - loss * (1 - 1e-9) + 1e-12 * fabs(level),
                    "kappa %.9g: %.17g is proven, %.17g less %.9g", proof.kappa, proof.lower, level, loss);
    }
    nadir_certificate_clear(context, &proof);
    nadir_stationary_point_clear(context, &star);
    nadir_occupancy_bounds_clear(context, &bounds);
}

/* The same by norms alone, where the nominal occupancy is off by as much as is said of it. */
static void check_norms(posed *made, const nadir_perturbable_rows *rows, const nadir_candidate *star_of,
                        const nadir_candidate *other, tally *sums)
{
    nadir_context *context = made->context;
    nadir_problem problem = *test_problem_view(&made->few);
    nadir_occupancy_bounds bounds = {0};
    nadir_stationary_point star = {0};
    nadir_certificate proof = {.lower = -INFINITY, .kappa = NAN};
    double d[MOST];
    for (int64_t s = 0; s < made->n; s++) {
        d[s] = 0.5 * problem.d[s];
        problem.d_error += 0.5 * problem.d[s] * (1 + 1e-12);
    }
    assert_ok(context, nadir_occupancy_bounds_make(context, &problem, &bounds));
    assert_ok(context,
              nadir_stationary_point_make(context, &problem, rows, star_of, NADIR_OCCUPANCY_OWN, &star));
    assert_ok(context, nadir_stationary_point_kkt(context, &bounds, made->radius, star_of->tau, NULL, &star));
    problem.d = d;
    assert_ok(context,
              nadir_kappa_by_norms_prove(context, &problem, rows, &bounds, made->radius, star_of, &proof));
    if (!isnan(proof.kappa)) {
        check_attained(made, rows, &star, other, proof.kappa, INFINITY, true, sums);
    }
    nadir_certificate_clear(context, &proof);
    nadir_stationary_point_clear(context, &star);
    nadir_occupancy_bounds_clear(context, &bounds);
}

/* A pass keeps the occupancy of a kernel as far from P* as it is said to be, in a box that just holds it. With weights,
 * all of them one: then the pass without them is of kernels at any distance. */
static void check_pass(posed *made, const nadir_candidate *star_of, const nadir_candidate *other,
                       bool weights, double *nearest)
{
    nadir_context *context = made->context;
    const nadir_problem *problem = test_problem_view(&made->few);
    const int64_t n = made->n;
    nadir_derivation by = {0};
    nadir_certificate proof = {0};
    long double D[MOST * MOST];
    long double d[MOST];
    long double d_P[MOST];
    long double length = 0;
    double *P = test_kernel_entries(context, other->kernel);
    assert_ok(context, nadir_derivation_make(context, problem, made->radius, star_of, NULL, &proof, &by));
    assert_ok(context, nadir_derivation_expand(context, &by));
    assert_ok(context, nadir_derivation_tabulate(context, &by, false));
    assert_ok(context, nadir_derivation_begin(context, &by, INFINITY));
    double *X = test_kernel_entries(context, by.star.point.problem.kernel);
    solve_kernel(made, made->few.model, X, D, d);
    solve_kernel(made, made->few.model, P, D, d_P);
    for (int64_t e = 0; e < ACTIONS * n * n; e++) {
        length = hypotl(length, ((long double)P[e] - X[e]) / made->alpha[e / n]);
    }
    for (int64_t s = 0; s < n; s++) {
        by.below.low[s] = (double)fminl(d[s], d_P[s]) * (1 - 1e-12);
        by.below.high[s] = (double)fmaxl(d[s], d_P[s]) * (1 + 1e-12);
    }
    const double radius = (double)length * (1 + 1e-12);
    by.radius = weights ? 1e6 * radius : radius;
    if (weights) {
        assert_ok(context, nadir_derivation_use_weights(context, &by));
        for (int64_t e = 0; e < by.perturbable.entries; e++) {
            by.inverse_weights[e] = 1;
        }
        by.radius_weighted = radius;
        assert_ok(context,
                  nadir_displacement_make(context, &by.star.kkt, by.inverse_weights, &by.displacement));
    }
    assert_ok(context, nadir_derivation_pass(context, &by));
    for (int64_t s = 0; s < n; s++) {
        assert_that(d_P[s] >= by.below.low[s] * (1 - 1e-12L) && d_P[s] <= by.below.high[s] * (1 + 1e-12L),
                    "a pass has [%.12g, %.12g] for state %d, %.12Lg is attained", by.below.low[s],
                    by.below.high[s], (int)s, d_P[s]);
        *nearest = fmax(*nearest, (double)fabsl(d_P[s] - d[s]) / (radius * by.slope[s] + 1e-300));
    }
    free(P);
    free(X);
    nadir_derivation_clear(context, &by);
    nadir_certificate_clear(context, &proof);
}

/* A pass around the answer to the Lagrangian bound keeps the worst kernel, in a box that just holds it: its level is a
 * little above the return of that, and its tau is `factor` times that of the worst kernel. */
static void check_around(posed *made, const nadir_candidate *worst, double factor)
{
    nadir_context *context = made->context;
    const nadir_problem *problem = test_problem_view(&made->often);
    nadir_derivation by = {0};
    nadir_certificate proof = {0};
    nadir_lagrangian found = {0};
    long double D[MOST * MOST];
    long double d[MOST];
    double *P = test_kernel_entries(context, worst->kernel);
    solve_kernel(made, made->often.model, P, D, d);
    assert_ok(context, nadir_derivation_make(context, problem, made->radius, worst, NULL, &proof, &by));
    assert_ok(context, nadir_derivation_expand(context, &by));
    assert_ok(context, nadir_derivation_tabulate(context, &by, false));
    assert_ok(context, nadir_derivation_begin(context, &by, INFINITY));
    by.level = worst->J + 1e-9 * fabs(worst->J);
    for (int64_t s = 0; s < made->n; s++) {
        by.below.low[s] = (double)d[s] * (1 - 1e-6);
        by.below.high[s] = (double)d[s] * (1 + 1e-6);
    }
    assert_ok(context, nadir_lagrangian_solve(context, problem, made->radius, by.below.high,
                                              factor * worst->tau, &found));
    assert_ok(context, nadir_derivation_pass_around(context, &by, found.kernel, found.tau, found.v,
                                                    found.answered != NULL ? found.answered : found.v));
    assert_that(!by.below.empty, "no kernel is left, and one returns %.17g", worst->J);
    for (int64_t s = 0; s < made->n; s++) {
        assert_that(d[s] >= by.below.low[s] * (1 - 1e-9L) && d[s] <= by.below.high[s] * (1 + 1e-9L),
                    "around the answer state %d has [%.12g, %.12g], %.12Lg is attained", (int)s,
                    by.below.low[s], by.below.high[s], d[s]);
    }
    free(P);
    nadir_lagrangian_clear(context, &found);
    nadir_derivation_clear(context, &by);
    nadir_certificate_clear(context, &proof);
}

static void test_visits(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    tally large = {0};
    tally norms = {0};
    double nearest = 0;
    const int cases = test_often(CASES);
    for (int i = 0; i < cases; i++) {
        posed made;
        pose(context, &random, i, &made);
        nadir_candidate few = test_descend(context, test_problem_view(&made.few), made.radius);
        nadir_candidate often = test_descend(context, test_problem_view(&made.often), made.radius);
        nadir_candidate part = part_of(
            &made, &few, i / 4 % 2 == 0 ? 1 : 0.1 + 0.5 * nadir_random_uniform(&random), made.often_in > 0);
        nadir_perturbable_rows rows = {0};
        assert_ok(context, nadir_perturbable_rows_make(context, &made.few.problem, &rows));
        check_kappa(&made, &rows, &part, &often, &large);
        check_norms(&made, &rows, &part, &often, &norms);
        nadir_perturbable_rows_clear(context, &rows);
        if (made.domain == NADIR_DOMAIN_SIMPLEX) {
            assert_ok(context,
                      nadir_perturbable_rows_make_open(context, &made.few.problem, part.kernel, &rows));
            check_kappa(&made, &rows, &part, &often, &large);
            nadir_perturbable_rows_clear(context, &rows);
        }
        check_pass(&made, &part, &often, i % 4 < 2, &nearest);
        if (often.tau > 0 && isfinite(often.tau)) {
            check_around(&made, &often, i % 2 == 0 ? 1.5 : 3);
        }
        nadir_candidate_clear(context, &part);
        nadir_candidate_clear(context, &few);
        nadir_candidate_clear(context, &often);
        posed_clear(&made);
    }
    print_message(
        "%d by norms, nearest %g, %d others, nearest %g, %d above one half; %d by norms alone, nearest "
        "%g; passes, nearest %g\n",
        large.norms, large.nearest[1], large.others, large.nearest[0], large.above, norms.norms,
        norms.nearest[1], nearest);
    assert_that(test_memcheck() ||
                    (large.norms > cases / 10 && large.others > cases / 10 && large.nearest[0] > 0.8 &&
                     large.nearest[1] > 0.8 && norms.norms > cases / 10 && nearest > 0.8),
                "not the attack that this is meant to be");
}

/* ------------------------------------------------------------------------------ unvisited states */

/* States 0 and 1 are visited, 2 and 3 are not, the others neither; those pay the same, and least of all. */
static test_problem make_hidden(nadir_context *context, nadir_random *random, const double *radius,
                                const double *alpha)
{
    const int64_t n = MOST;
    double P[MOST * MOST] = {0};
    double rewards[MOST];
    double mu[MOST] = {1};
    for (int64_t s = 0; s < n; s++) {
        const double share = s < 4 ? nadir_random_uniform(random) : 1;
        P[s * n + (s < 4 ? 0 : s)] = share;
        P[s * n + 1] += 1 - share;
        rewards[s] = s < 4 ? nadir_random_uniform(random) : -1;
    }
    nadir_model *model = test_plain_model(context, n, 0.9, P, rewards, mu);
    nadir_policy *policy = test_uniform_policy(context, model);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, radius, alpha);
    return test_problem_make(context, model, policy, &ball, NULL, 1);
}

/* The change of row P of length one, with sum zero and no entry below zero where P has none, that lowers P . v most: along
 * c - v, where c makes its sum zero. Returns by how much. */
static long double fall_of_row(int64_t n, const double *P, const double *v)
{
    long double low = v[0];
    long double high = v[0];
    long double fall = 0;
    long double square = 0;
    for (int64_t t = 1; t < n; t++) {
        low = fminl(low, v[t]);
        high = fmaxl(high, v[t]);
    }
    for (int step = 0; step < 100; step++) {
        const long double c = (low + high) / 2;
        long double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            sum += P[t] > 0 ? c - v[t] : fmaxl(c - v[t], 0);
        }
        *(sum > 0 ? &high : &low) = c;
    }
    for (int64_t t = 0; t < n; t++) {
        const long double change = P[t] > 0 ? low - v[t] : fmaxl(low - v[t], 0);
        square += change * change;
        fall -= change * v[t];
    }
    return square > 0 ? fall / sqrtl(square) : 0;
}

/* gamma d_P(s) sum_a pi delta . v >= -2 tau d_P(s) w_s |delta_s| of states that P* does not visit (kkt.h), delta in units
 * of alpha. */
static void test_unvisited(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    double nearest[2] = {0};
    for (int i = 0; i < CASES; i++) {
        double alpha[MOST];
        const double radius = 0.2;
        nadir_perturbable_rows rows = {0};
        nadir_occupancy_bounds bounds = {0};
        nadir_stationary_point star = {0};
        nadir_kernel *nominal = NULL;
        double *point = NULL;
        const bool open = i % 2 == 0;
        for (int64_t s = 0; s < MOST; s++) {
            alpha[s] = 0.2 + nadir_random_uniform(&random);
        }
        test_problem made = make_hidden(context, &random, &radius, alpha);
        const nadir_problem *problem = test_problem_view(&made);
        test_note("seed %d, case %d, %s rows", SEED + 1, i, open ? "open" : "all");
        assert_ok(context, nadir_kernel_create(context, made.model, &nominal));
        const nadir_candidate candidate = {.kernel = nominal,
                                           .v = (double *)problem->v,
                                           .d = (double *)problem->d,
                                           .tau = exp(nadir_random_normal(&random))};
        assert_ok(context, open ? nadir_perturbable_rows_make_open(context, problem, nominal, &rows)
                                : nadir_perturbable_rows_make(context, problem, &rows));
        assert_ok(context, nadir_occupancy_bounds_make(context, problem, &bounds));
        assert_ok(context, nadir_stationary_point_make(context, problem, &rows, &candidate,
                                                       NADIR_OCCUPANCY_OWN, &star));
        assert_ok(context,
                  nadir_stationary_point_kkt(context, &bounds, radius, candidate.tau, &point, &star));
        double *P = test_dense_kernel(made.model);
        for (int64_t s = 0; s < MOST; s++) {
            const long double fall =
                problem->gamma * (long double)alpha[s] * fall_of_row(MOST, P + s * MOST, point);
            const long double allowed = 2 * (long double)star.kkt.tau * star.kkt.w_unvisited[s];
            assert_true(star.kkt.unvisited[s] == (s > 1));
            assert_that(s < 2 || fall <= allowed * (1 + 1e-12L), "rows of state %d fall by %.9Lg, not %.9Lg",
                        (int)s, fall, allowed);
            nearest[open] = s < 2 || s > 3 ? nearest[open] : fmax(nearest[open], (double)(fall / allowed));
        }
        free(P);
        nadir_release(context, point);
        nadir_stationary_point_clear(context, &star);
        nadir_occupancy_bounds_clear(context, &bounds);
        nadir_perturbable_rows_clear(context, &rows);
        nadir_kernel_free(nominal);
        test_problem_clear(&made);
    }
    print_message("nearest %g, %g with open rows\n", nearest[0], nearest[1]);
    assert_that(nearest[0] > 0.9 && nearest[1] > 0.8, "not the attack that this is meant to be");
}

/* A row with one successor, of many that are allowed, moves a little mass to a state that keeps it. */
static void test_mass(void **state)
{
    nadir_context *context = *state;
    for (int64_t n = 2; n <= MOST; n++) {
        const double radius = 1e-3;
        const double moved = radius / sqrt(2);
        double P[MOST * MOST] = {0};
        double rewards[MOST] = {0};
        long double D[MOST * MOST];
        long double d[MOST];
        nadir_perturbable_rows rows = {0};
        nadir_occupancy_bounds bounds = {0};
        nadir_expansion_point point = {0};
        nadir_kernel *nominal = NULL;
        posed made = {.context = context, .n = n, .gamma = 0.9, .mu = {1}};
        for (int64_t s = 0; s < n; s++) {
            P[s * n + s] = made.pi[s] = 1;
        }
        nadir_model *model = test_plain_model(context, n, made.gamma, P, rewards, NULL);
        nadir_policy *policy = test_uniform_policy(context, model);
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
        test_problem posed_as = test_problem_make(context, model, policy, &ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&posed_as);
        assert_ok(context, nadir_kernel_create(context, model, &nominal));
        assert_ok(context, nadir_perturbable_rows_make_open(context, problem, nominal, &rows));
        assert_ok(context, nadir_occupancy_bounds_make(context, problem, &bounds));
        assert_ok(context, nadir_expansion_point_make(context, problem, &rows, NULL, NULL, NULL, &point));
        assert_ok(context, nadir_expansion_point_occupancy(context, &point));
        nadir_occupancy_bounds_limit_around(context, &point, radius, &bounds);
        P[0] = 1 - moved;
        P[1] = moved;
        solve_kernel(&made, model, P, D, d);
        assert_that(d[1] <= bounds.high[1], "%d states: %.9Lg visits, %.9g at most", (int)n, d[1],
                    bounds.high[1]);
        nadir_expansion_point_clear(context, &point);
        nadir_occupancy_bounds_clear(context, &bounds);
        nadir_perturbable_rows_clear(context, &rows);
        nadir_kernel_free(nominal);
        test_problem_clear(&posed_as);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_visits),
        test_with_context(test_unvisited),
        test_with_context(test_mass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

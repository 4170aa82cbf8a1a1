/*
 * What kappa, radii and slopes are allowed to prove: nothing above one half without a loss, losses and radii as their
 * formulas have them, steps of a proof for the norm that they are for, and vectors that are as large as they have to be.
 * A proof that takes more is caught here even where no kernel of a small model shows it.
 */
#include "support/support.h"

#include "proof/derivation.h"
#include "proof/second_order.h"
#include "search/second_order_search.h"
#include "support/miniature.h"
#include "support/oracle.h"
#include "support/quad.h"
#include "support/reference.h"
#include "support/tiny.h"
#include "support/valid.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 5040

enum { CASES = 200 };

/* A tiny problem at p = 2 with a stationary kernel, or one that is not. */
typedef struct posed {
    nadir_context *context;
    double radius;
    test_problem made;
    const nadir_problem *problem;
    test_oracle oracle;
    nadir_candidate attack;
} posed;

/* The struct must stay where it is. False: nothing can be gained. */
static bool pose(nadir_context *context, nadir_random *random, int number, double p, posed *made)
{
    static const double radii[] = {0.01, 0.05, 0.2, 0.6};
    *made = (posed){.context = context, .radius = radii[number % 4]};
    const nadir_domain domain = number % 2 == 0 ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
    test_miniature tiny =
        number % 5 == 0 ? test_trap_make(context, random) : test_miniature_make(context, random, 5);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, p, &made->radius, NULL);
    test_note("seed %d, case %d, %s, %s, radius %g", SEED, number, tiny.name, nadir_domain_name(domain),
              made->radius);
    made->oracle = test_oracle_make(tiny.model, tiny.policy, &ball);
    made->made = test_problem_make(context, tiny.model, tiny.policy, &ball, NULL, 1);
    made->problem = test_problem_view(&made->made);
    made->attack = test_descend(context, made->problem, made->radius);
    return made->attack.tau > 0 && isfinite(made->attack.tau);
}

static void posed_clear(posed *made)
{
    nadir_candidate_clear(made->context, &made->attack);
    test_oracle_clear(&made->oracle);
    test_problem_clear(&made->made);
}

/* Losses against their formulas, and the diameter against two kernels of the ball. */
static void test_formulas(void **state)
{
    (void)state;
    nadir_random random = test_random(SEED);
    for (int i = 0; i < 2000; i++) {
        const nadir_kkt kkt = {.tau = exp(3 * nadir_random_normal(&random))};
        const double size = exp(nadir_random_normal(&random));
        const double above = pow(10, -9 + 9 * nadir_random_uniform(&random));
        const double kappa = 0.5 + above;
        const test_quad tau = kkt.tau;
        const test_quad by_kappa = 2 * tau * ((test_quad)kappa - 0.5) * size * size;
        const test_quad by_radius = tau * size * size / 4;
        assert_that((test_quad)nadir_kkt_loss_by_kappa(&kkt, kappa, size) >= by_kappa,
                    "kappa %.12g: %g, not %g", kappa, nadir_kkt_loss_by_kappa(&kkt, kappa, size),
                    (double)by_kappa);
        assert_that((test_quad)nadir_kkt_loss_by_radius(&kkt, size) >= by_radius, "radius %g: %g, not %g",
                    size, nadir_kkt_loss_by_radius(&kkt, size), (double)by_radius);
        /* Phat + Delta and Phat - beta Delta / |Delta| */
        const nadir_kkt apart = {.beta = size, .far = size * (1 + (i % 2) * nadir_random_uniform(&random))};
        assert_true((test_quad)nadir_kkt_diameter(&apart) >= (test_quad)apart.beta + apart.far);
    }
}

/* 2 |(max |rho_s - 1| n_s)_s|, entry by entry. */
static void check_radius(nadir_context *context, const test_stage *stage,
                         const nadir_occupancy_bounds *bounds)
{
    const nadir_perturbable_rows *rows = &stage->perturbable;
    const nadir_kkt *kkt = &stage->star.kkt;
    long double sum = 0;
    for (int64_t s = 0; s < rows->states; s++) {
        const long double d = stage->star.point.d[s];
        long double square = 0;
        for (int64_t i = rows->first[s]; i < rows->first[s + 1]; i++) {
            const int64_t length = nadir_perturbable_rows_length(rows, i);
            long double mean = 0;
            for (int64_t e = rows->starts[i]; e < rows->starts[i + 1]; e++) {
                mean += ((long double)stage->star.point.X[e] - rows->phat[e]) / length;
            }
            for (int64_t e = rows->starts[i]; e < rows->starts[i + 1]; e++) {
                const long double far = ((long double)stage->star.point.X[e] - rows->phat[e] - mean) /
                                        nadir_perturbable_rows_alpha(rows, i);
                square += far * far;
            }
        }
        const long double more = bounds->high[s] / d - 1;
        const long double less = 1 - bounds->low[s] / d;
        const long double most = kkt->unvisited[s] ? (long double)bounds->high[s] * kkt->w_unvisited[s]
                                                   : sqrtl(square) * fmaxl(fmaxl(more, less), 0);
        sum += most * most;
    }
    const double radius = nadir_displacement_radius(context, kkt, &stage->star.displacement, bounds);
    assert_that(radius >= 2 * sqrtl(sum) * (1 - 1e-15L), "the radius is %.12g, not %.12Lg", radius,
                2 * sqrtl(sum));
}

static void test_radii(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 1);
    for (int i = 0; i < CASES; i++) {
        posed made;
        if (pose(context, &random, i, 2, &made)) {
            test_stage stage;
            test_stage_make(context, made.problem, made.radius, &made.attack, &stage);
            check_radius(context, &stage, &stage.bounds);
            /* where occupancies can only be larger, or only smaller, than that of P* */
            for (int side = 0; side < 2; side++) {
                nadir_occupancy_bounds bounds = {0};
                assert_ok(context, nadir_occupancy_bounds_copy(context, &stage.bounds, &bounds));
                memcpy(side == 0 ? bounds.low : bounds.high, stage.star.point.d,
                       (size_t)made.problem->states * sizeof *bounds.low);
                check_radius(context, &stage, &bounds);
                nadir_occupancy_bounds_clear(context, &bounds);
            }
            test_stage_clear(context, &stage);
        }
        posed_clear(&made);
    }
}

/* A matrix with kappa above one half takes what its radius makes of that, or what the radius alone does, if that is
 * less. */
static void check_losses(nadir_context *context, nadir_derivation *by)
{
    static const double kappas[] = {0.5 + 1e-6, 0.51, 0.6, 0.62, 2};
    assert_ok(context, nadir_derivation_begin(context, by, INFINITY));
    assert_ok(context, nadir_derivation_measure(context, by));
    assert_ok(context, nadir_derivation_matrix(context, by, false, 0));
    const nadir_kkt *kkt = &by->star.kkt;
    const long double radius = nadir_displacement_radius(context, kkt, &by->displacement, &by->below);
    for (size_t i = 0; i < sizeof kappas / sizeof *kappas; i++) {
        by->matrix.proven = kappas[i];
        by->certificate->lower = -INFINITY;
        assert_ok(context, nadir_derivation_conclude_kappa(context, by));
        const long double by_kappa = 2 * kkt->tau * ((long double)kappas[i] - 0.5L) * radius * radius;
        const long double loss = fminl(by_kappa, kkt->tau * radius * radius / 4);
        const long double room = DBL_EPSILON * fabsl(by->level); /* which the level has for this difference */
        assert_that(by->certificate->lower <= by->level - loss * (1 - 1e-12L) + room,
                    "kappa %.9g: %.17g is proven, %.17g less %.9Lg", kappas[i], by->certificate->lower,
                    by->level, loss);
    }
    by->certificate->lower = -INFINITY;
}

/* Slopes with kappa above one half conclude nothing; so do vectors y that are too long for it, or too short. */
static void test_half(void **state)
{
    static const double above[] = {1e-12, 1e-6, 0.02, 0.04, 0.2};
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 2);
    for (int i = 0; i < CASES; i++) {
        posed made;
        nadir_certificate proof = {0};
        nadir_derivation derivation = {0};
        if (pose(context, &random, i, 2, &made)) {
            assert_ok(context, nadir_derivation_make(context, made.problem, made.radius, &made.attack, NULL,
                                                     &proof, &derivation));
            assert_ok(context, nadir_derivation_expand(context, &derivation));
            assert_ok(context, nadir_derivation_tabulate(context, &derivation, false));
            assert_ok(context, nadir_derivation_begin(context, &derivation, INFINITY));
            assert_ok(context, nadir_derivation_measure(context, &derivation));
            assert_ok(context, nadir_derivation_pass(context, &derivation));
            long double square = 0;
            for (int64_t t = 0; t < made.problem->states; t++) {
                const long double part = (long double)derivation.slope[t] * derivation.star.displacement.w[t];
                square += part * part;
            }
            assert_that(derivation.kappa >= sqrtl(square), "slopes: kappa is %.12g, not %.12Lg",
                        derivation.kappa, sqrtl(square));
            check_losses(context, &derivation);
            assert_ok(context, nadir_derivation_begin(context, &derivation, INFINITY));
            for (size_t j = 0; j < sizeof above / sizeof *above; j++) {
                derivation.kappa = 0.5 + above[j];
                assert_ok(context, nadir_derivation_conclude(context, &derivation));
                assert_that(isinf(proof.lower), "kappa %.12g proves %.17g", derivation.kappa, proof.lower);
            }
            derivation.kappa = 0.5;
            assert_ok(context, nadir_derivation_conclude(context, &derivation));
            assert_true(proof.lower == derivation.level);
            nadir_derivation_clear(context, &derivation);
            nadir_certificate_clear(context, &proof);
        }
        posed_clear(&made);
    }
}

/* y = (g + A y) with g: [states], by iteration; false: there is none. */
static bool solve_path(const nadir_kappa_path *path, const double *change, const double *g, double *y)
{
    const int64_t n = path->perturbable.states;
    long double x[8] = {0};
    long double next[8] = {0};
    for (int step = 0; step < 2000; step++) {
        for (int64_t t = 0; t < n; t++) {
            next[t] = g[t];
            for (int64_t s = 0; s < n; s++) {
                next[t] += (long double)path->root[t * n + s] * change[s] * x[s];
            }
        }
        memcpy(x, next, sizeof x);
    }
    bool finite = true;
    for (int64_t t = 0; t < n; t++) {
        y[t] = (double)x[t] * (1 + 1e-9) + 1e-300;
        finite = finite && x[t] < 1e6L;
    }
    return finite;
}

/* gamma k(s, t) of the rows of s is at least the deviation of De_t over the successors that a row has: root. */
static void check_root(const posed *made, const nadir_kappa_path *path)
{
    const nadir_perturbable_rows *rows = &path->perturbable;
    const int64_t n = rows->states;
    long double *average =
        test_dense_average(made->made.model, made->oracle.nominal, made->problem->policy->probabilities);
    test_system system = test_system_make(n, average, made->problem->gamma);
    for (int64_t t = 0; t < n; t++) {
        double unit[8] = {0};
        long double column[8];
        unit[t] = 1;
        test_system_solve(&system, false, unit, column);
        for (int64_t s = 0; s < n; s++) {
            long double square = 0;
            for (int64_t i = rows->first[s]; i < rows->first[s + 1]; i++) {
                const int64_t length = nadir_perturbable_rows_length(rows, i);
                long double mean = 0;
                long double own = 0;
                for (int64_t j = 0; j < length; j++) {
                    mean += column[nadir_perturbable_rows_column(rows, i, j)] / length;
                }
                for (int64_t j = 0; j < length; j++) {
                    const long double far = column[nadir_perturbable_rows_column(rows, i, j)] - mean;
                    own += far * far;
                }
                const long double reach = (long double)nadir_perturbable_rows_alpha(rows, i) * rows->pi[i];
                square += reach * reach * own;
            }
            const long double least = made->problem->gamma * sqrtl(square);
            assert_that(path->root[t * n + s] >= least * (1 - 1e-12L) - 1e-15L,
                        "k(%d, %d) is %.12g, not %.12Lg", (int)s, (int)t, path->root[t * n + s], least);
        }
    }
    test_system_clear(&system);
    free(average);
}

/* A kernel that is not stationary, at next to no radius: a path proves no more of it than what is attained. */
static void check_error(posed *made, nadir_kappa_path *path)
{
    nadir_certificate proof = {0};
    nadir_kernel *nominal = NULL;
    nadir_candidate candidate = {.tau = made->attack.tau, .J = made->problem->J};
    double v[8];
    double d[8];
    memcpy(v, made->problem->v, (size_t)made->problem->states * sizeof *v);
    memcpy(d, made->problem->d, (size_t)made->problem->states * sizeof *d);
    assert_ok(made->context, nadir_kernel_create(made->context, made->made.model, &nominal));
    candidate.kernel = nominal;
    candidate.v = v;
    candidate.d = d;
    assert_ok(made->context, nadir_kappa_path_search(made->context, path, made->radius, &candidate, &proof));
    const double tiny = 1e-13 * fabs(made->problem->J);
    assert_that(!(proof.lower > made->attack.J + tiny), "%.17g is attained, %.17g proven", made->attack.J,
                proof.lower);
    nadir_certificate_clear(made->context, &proof);
    nadir_kernel_free(nominal);
}

/* Vectors y that prove nothing: kappa above one half, or less than g + A y. */
static void check_path(posed *made, const nadir_kappa_path *path, int *proven)
{
    nadir_context *context = made->context;
    const int64_t n = made->problem->states;
    test_stage stage;
    double y[8];
    double y_off[8];
    test_stage_make(context, made->problem, made->radius, &made->attack, &stage);
    const double *change = stage.star.displacement.n;
    if (solve_path(path, change, path->slope, y) && solve_path(path, change, path->off, y_off)) {
        double kappa = 0;
        for (int64_t t = 0; t < n; t++) {
            kappa = hypot(kappa, y[t] * stage.star.displacement.w[t]);
        }
        for (int i = 0; i < 4 && kappa > 1e-9; i++) {
            /* as it should be; too long for one half by a little, and by more; too short */
            const double factors[] = {1, 0.5001 / kappa, 0.7 / kappa, 0.75};
            nadir_certificate proof = {.lower = -INFINITY, .kappa = NAN};
            double scaled[8];
            for (int64_t t = 0; t < n; t++) {
                scaled[t] = factors[i] * y[t];
            }
            assert_ok(context, nadir_kappa_path_prove(context, path, &stage.star, scaled, y_off, &proof));
            assert_that(i == 0 || isinf(proof.lower), "y times %g proves %.17g; kappa is %g", factors[i],
                        proof.lower, kappa);
            *proven += i == 0 && isfinite(proof.lower);
        }
    }
    test_stage_clear(context, &stage);
}

static void test_paths(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 3);
    int proven = 0;
    for (int i = 0; i < CASES; i++) {
        posed made;
        nadir_kappa_path *path = NULL;
        if (pose(context, &random, i, 2, &made)) {
            assert_ok(context, nadir_kappa_path_create(context, made.problem, made.radius, &path));
            check_root(&made, path);
            check_path(&made, path, &proven);
            check_error(&made, path);
            nadir_kappa_path_free(context, path);
        }
        posed_clear(&made);
    }
    assert_that(proven > CASES / 20, "%d proven", proven);
}

/* The steps of a proof at p = 2, taken for a ball of norm 3 with the same radius, which holds more: they are no proof
 * there, or one of what is true. */
static void test_other_norm(void **state)
{
    nadir_context *context = *state;
    int proven = 0;
    for (int i = 0; i < CASES; i++) {
        posed two;
        posed three;
        nadir_random random = test_random(SEED + 4 + (uint64_t)i);
        nadir_random same = random;
        const bool gains_two = pose(context, &random, i, 2, &two); /* both are to be cleared */
        const bool gains_three = pose(context, &same, i, 3, &three);
        if (gains_two && gains_three) {
            nadir_certificate proof =
                test_prove(context, two.problem, two.radius, &two.attack, NADIR_CERTIFY_STRICT);
            nadir_certificate forged = {0};
            nadir_derivation derivation = {0};
            proven += proof.bound == NADIR_BOUND_SECOND_ORDER;
            assert_ok(context, nadir_derivation_make(context, three.problem, three.radius, &two.attack, NULL,
                                                     &forged, &derivation));
            (void)nadir_derivation_replay(context, &derivation, proof.steps_count, proof.steps);
            const double tiny = 1e-13 * fabs(three.attack.J);
            assert_that(!(forged.lower > three.attack.J + tiny), "%.17g is attained at p = 3, %.17g proven",
                        three.attack.J, forged.lower);
            nadir_derivation_clear(context, &derivation);
            nadir_certificate_clear(context, &forged);
            nadir_certificate_clear(context, &proof);
        }
        posed_clear(&two);
        posed_clear(&three);
    }
    assert_that(proven > CASES / 10, "%d proven", proven);
}

/* Matrices and tables for rows that allow all states are refused where rows have lists of successors. */
static void test_lists(void **state)
{
    static const double matrix[] = {NADIR_STEP_EXPAND,
                                    NADIR_STEP_TABULATE,
                                    0,
                                    NADIR_STEP_BEGIN,
                                    DBL_MAX,
                                    NADIR_STEP_MEASURE,
                                    NADIR_STEP_MATRIX,
                                    1,
                                    0};
    static const double table[] = {NADIR_STEP_EXPAND, NADIR_STEP_TABULATE, 1};
    nadir_context *context = *state;
    nadir_random random = test_random(SEED + 5);
    int lists = 0;
    for (int i = 0; i < CASES; i++) {
        posed made;
        const bool gains = pose(context, &random, i, 2, &made);
        for (int j = 0; j < 2 && gains; j++) {
            nadir_certificate proof = {0};
            nadir_derivation derivation = {0};
            nadir_perturbable_rows rows = {0};
            assert_ok(context, nadir_perturbable_rows_make(context, made.problem, &rows));
            const bool open = rows.columns == NULL;
            nadir_perturbable_rows_clear(context, &rows);
            lists += !open;
            assert_ok(context, nadir_derivation_make(context, made.problem, made.radius, &made.attack, NULL,
                                                     &proof, &derivation));
            const nadir_status status =
                j == 0 ? nadir_derivation_replay(context, &derivation, sizeof matrix / sizeof *matrix, matrix)
                       : nadir_derivation_replay(context, &derivation, sizeof table / sizeof *table, table);
            assert_int_equal(status, open ? NADIR_OK : NADIR_ERROR_ARGUMENT);
            nadir_derivation_clear(context, &derivation);
            nadir_certificate_clear(context, &proof);
        }
        posed_clear(&made);
    }
    assert_true(lists > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas), test_with_context(test_radii),      test_with_context(test_half),
        test_with_context(test_paths),   test_with_context(test_other_norm), test_with_context(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

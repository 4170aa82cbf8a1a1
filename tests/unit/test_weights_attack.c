/*
 * test_weights_attack.c: balls with weights of entries, and chi^2 balls. The oracle agrees with one by bisection that shares
 * no code with it; kernels that random steps find are never below the lower bound; the worst kernel lies in the ball and has
 * the return that is said; and equal weights are scales.
 */
#include "support/support.h"

#include "support/box.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/valid.h"

#include "search/frank_wolfe.h"
#include "sets/lmo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED test_attack_seed(31415)

enum { INSTANCES = 2000 };

static const double radii[] = {0.01, 0.05, 0.2, 0.6, 2};

typedef struct fight {
    nadir_context *context;
    nadir_random *random;
    test_box box;    /* its model has weights, and no box; bounds are those of what can move */
    double *weights; /* [rows * states] times scales: 0 stays as it is */
    double *scales;  /* [rows] or NULL */
    bool chi2;
    nadir_ball ball;
    double radius;
} fight;

static double draw_weight(nadir_random *random, int kind)
{
    return nadir_random_uniform(random) < 0.1 ? 0
           : kind == 2                        ? pow(10, -3 * nadir_random_uniform(random))
                                              : exp(nadir_random_normal(random));
}

static nadir_model *make_model(nadir_context *context, const test_box *box, const double *weights)
{
    nadir_model *model;
    nadir_model_data data;
    int64_t *state_rows = test_new(box->states + 1, sizeof *state_rows);
    for (int64_t s = 0; s <= box->states; s++) {
        state_rows[s] = s * box->actions;
    }
    nadir_model_data_default(&data);
    data.states = box->states;
    data.rows = box->rows;
    data.discount = box->gamma;
    data.state_rows = state_rows;
    data.dense = box->nominal;
    data.rewards = box->rewards;
    data.initial = box->mu;
    data.weights = weights;
    assert_ok(context, nadir_model_create(context, &data, &model));
    free(state_rows);
    return model;
}

static fight fight_make(nadir_context *context, nadir_random *random)
{
    fight made = {.context = context, .random = random, .box = test_box_make(context, random, false)};
    test_box *box = &made.box;
    const int64_t size = box->rows * box->states;
    const int kind = (int)nadir_random_below(random, 3);
    made.chi2 = kind == 0;
    made.weights = test_new(size, sizeof *made.weights);
    if (nadir_random_uniform(random) < 0.3) {
        made.scales = test_new(box->rows, sizeof *made.scales);
    }
    for (int64_t i = 0; i < size; i++) {
        made.weights[i] = made.chi2 ? sqrt(box->nominal[i]) : draw_weight(random, kind);
    }
    nadir_policy_free(box->policy);
    nadir_model_free(box->model);
    box->model = make_model(context, box, made.chi2 ? NULL : made.weights);
    assert_ok(context, nadir_policy_create(context, box->model, box->pi, &box->policy));
    for (int64_t row = 0; row < box->rows; row++) {
        const double scale = made.scales == NULL                  ? 1
                             : nadir_random_uniform(random) < 0.2 ? 0
                                                                  : exp(nadir_random_normal(random));
        if (made.scales != NULL) {
            made.scales[row] = scale;
        }
        for (int64_t i = row * box->states; i < (row + 1) * box->states; i++) {
            made.weights[i] *= box->nominal[i] > 0 ? scale : 0;
            box->lower[i] = made.weights[i] > 0 ? 0 : box->nominal[i];
            box->upper[i] = made.weights[i] > 0 ? 1 : box->nominal[i];
        }
    }
    made.radius = radii[nadir_random_below(random, sizeof radii / sizeof *radii)];
    nadir_ball_default(&made.ball);
    made.ball.norm = made.chi2 ? NADIR_NORM_CHI2 : 2;
    made.ball.set = (nadir_set)(NADIR_SET_NONRECT + (int)nadir_random_below(random, 3));
    made.ball.radius_count = 1;
    made.ball.scales = made.scales;
    return made;
}

static void fight_clear(fight *made)
{
    free(made->weights);
    free(made->scales);
    test_box_clear(&made->box);
}

static double distance(const fight *made, int64_t first, int64_t end, const double *kernel)
{
    const int64_t n = made->box.states;
    double sum = 0;
    for (int64_t i = first * n; i < end * n; i++) {
        const double change = kernel[i] - made->box.nominal[i];
        if (made->weights[i] > 0) {
            sum += change / made->weights[i] * (change / made->weights[i]);
        } else {
            assert_true(fabs(change) <= 1e-14);
        }
    }
    return sqrt(sum);
}

static int64_t rows_of_group(const fight *made)
{
    return made->ball.set == NADIR_SET_SA  ? 1
           : made->ball.set == NADIR_SET_S ? made->box.actions
                                           : made->box.rows;
}

/* Rows of a group are moved towards the nominal ones until they lie within the radius. */
static void pull_back(const fight *made, double *kernel)
{
    const int64_t step = rows_of_group(made);
    const int64_t n = made->box.states;
    for (int64_t row = 0; row < made->box.rows; row += step) {
        const double far = distance(made, row, row + step, kernel);
        const double share = far > made->radius ? made->radius / far : 1;
        for (int64_t i = row * n; i < (row + step) * n; i++) {
            kernel[i] = made->box.nominal[i] + share * (kernel[i] - made->box.nominal[i]);
        }
    }
}

/* The least return of random kernels of the set, and of random steps from the worst kernel that was found. Steps are in
 * units of the weights. */
static double attack(const fight *made, const double *worst)
{
    const test_box *box = &made->box;
    const int64_t size = box->rows * box->states;
    double *best = test_new(size, sizeof *best);
    double *kernel = test_new(size, sizeof *kernel);
    memcpy(best, worst, (size_t)size * sizeof *best);
    double lowest = INFINITY;
    for (int i = 0; i < 60; i++) {
        const double length = i < 20 ? 1 : pow(10, -4 * nadir_random_uniform(made->random));
        for (int64_t row = 0; row < box->rows; row++) {
            for (int64_t t = 0; t < box->states; t++) {
                const int64_t e = row * box->states + t;
                const double unit = i % 2 == 0 ? 1 : fmin(1, made->radius * made->weights[e]);
                kernel[e] = (i < 20 ? box->nominal[e] : best[e]) +
                            length * unit * (2 * nadir_random_uniform(made->random) - 1);
            }
            test_box_project(box, row, kernel + row * box->states);
        }
        pull_back(made, kernel);
        const double found = test_box_return(box, kernel);
        if (found < lowest) {
            lowest = found;
            memcpy(best, kernel, (size_t)size * sizeof *best);
        }
    }
    free(best);
    free(kernel);
    return lowest;
}

/* The nominal kernel and the directions of the gradient, too: one full step each. */
static void check_kernel(const fight *made, const double *kernel, const nadir_robust *result)
{
    const test_box *box = &made->box;
    const int64_t step = rows_of_group(made);
    for (int64_t i = 0; i < box->rows * box->states; i++) {
        assert_that(kernel[i] >= 0 && kernel[i] <= 1 + 1e-14, "entry %lld of the worst kernel is %.17g",
                    (long long)i, kernel[i]);
    }
    for (int64_t row = 0; row < box->rows; row += step) {
        const double far = distance(made, row, row + step, kernel);
        assert_that(far <= made->radius * (1 + 1e-9) + 1e-13, "row %lld of the worst kernel is %.17g away",
                    (long long)row, far);
    }
    assert_close(test_box_return(box, kernel), result->robust_return, 1e-9);
}

static void fight_one(fight *made, int instance, int64_t *certified)
{
    nadir_worst *worst = NULL;
    bool stopped;
    nadir_robust_settings settings;
    nadir_robust_settings_default(&settings);
    settings.certify = instance % 4 == 0 ? NADIR_CERTIFY_STRICT : NADIR_CERTIFY_AUTO;
    settings.time_limit = 0;
    nadir_solver *solver = test_solver(made->context, made->box.model, made->box.policy);
    test_note("seed %d, instance %d: %s%s", SEED, instance, test_ball_name(&made->ball),
              made->chi2 ? " (chi2)" : "");
    const nadir_robust result =
        test_robust_limited(made->context, solver, &made->ball, &settings, &worst, &stopped);
    assert_true(result.domain == NADIR_DOMAIN_SUPPORT && result.norm == made->ball.norm);
    double *kernel = test_worst_kernel(made->context, made->box.model, worst);
    check_kernel(made, kernel, &result);
    const double lowest = attack(made, kernel);
    assert_that(lowest >= result.lower_bound - 1e-11, "%.15g is below the lower bound %.15g (%s)", lowest,
                result.lower_bound, result.bound != NULL ? result.bound : "");
    *certified += result.certified;
    free(kernel);
    nadir_worst_free(worst);
    nadir_solver_free(solver);
}

static void test_attacks(void **state)
{
    nadir_random random = test_random((uint64_t)SEED);
    int64_t certified = 0;
    const int count = test_attack_count(INSTANCES);
    for (int i = 0; i < count; i++) {
        fight made = fight_make(*state, &random);
        made.ball.radius = &made.radius;
        fight_one(&made, i, &certified);
        fight_clear(&made);
    }
    assert_that(certified >= count * 8 / 10, "%lld of %d are certified", (long long)certified, count);
}

/* X of a row at a slope, by bisection over the level. */
static void bisect_row(const fight *made, int64_t row, const double *v, double slope, double *X)
{
    const int64_t n = made->box.states;
    const double *phat = made->box.nominal + row * n;
    const double *w = made->weights + row * n;
    double low = INFINITY;
    double high = -INFINITY;
    for (int64_t t = 0; t < n; t++) {
        low = fmin(low, v[t]);
        high = fmax(high, v[t] + (w[t] > 0 ? 1 / (slope * w[t] * w[t]) : 0));
    }
    for (int i = 0; i < 2000 && low < high; i++) {
        const double level = low / 2 + high / 2;
        double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            X[t] = w[t] > 0 ? fmax(0, phat[t] + slope * w[t] * w[t] * (level - v[t])) : phat[t];
            sum += X[t];
        }
        if (level == low || level == high) {
            break;
        }
        *(sum < 1 ? &low : &high) = level;
    }
}

/* The gain of all rows at a multiplier; *norm: how far they are. */
static double gain_at(const fight *made, const double *weights, const double *v, double kappa, double *norm)
{
    const int64_t n = made->box.states;
    double *X = test_new(made->box.rows * n, sizeof *X);
    double gain = 0;
    for (int64_t row = 0; row < made->box.rows; row++) {
        memcpy(X + row * n, made->box.nominal + row * n, (size_t)n * sizeof *X);
        if (weights[row] > 0) {
            bisect_row(made, row, v, kappa * weights[row], X + row * n);
        }
        for (int64_t t = 0; t < n; t++) {
            gain += weights[row] * (made->box.nominal[row * n + t] - X[row * n + t]) * v[t];
        }
    }
    *norm = distance(made, 0, made->box.rows, X);
    free(X);
    return gain;
}

static void test_oracle(void **state)
{
    nadir_random random = test_random((uint64_t)SEED + 7);
    const int count = test_attack_count(300);
    for (int i = 0; i < count; i++) {
        fight made = fight_make(*state, &random);
        made.ball.radius = &made.radius;
        const int64_t n = made.box.states;
        const int64_t rows = made.box.rows;
        made.ball.set = NADIR_SET_NONRECT;
        double *v = test_new(n, sizeof *v);
        double *weights = test_new(rows, sizeof *weights);
        nadir_lmo_solution *solutions = calloc((size_t)rows, sizeof *solutions);
        nadir_lmo_row_bound *bounds = test_new(rows, sizeof *bounds);
        nadir_uncertainty set;
        nadir_value_order order = {0};
        nadir_lmo_budget budget;
        double norm;
        double low = 1e-9;
        double high = 1e7;
        test_note("seed %d, instance %d", SEED, i);
        for (int64_t t = 0; t < n; t++) {
            v[t] = nadir_random_normal(&random);
        }
        for (int64_t row = 0; row < rows; row++) {
            weights[row] = nadir_random_uniform(&random) < 0.2 ? 0 : nadir_random_uniform(&random);
        }
        assert_ok(*state, nadir_uncertainty_make(*state, made.box.model, made.box.policy, &made.ball, &set));
        const nadir_lmo lmo = nadir_lmo_make(made.box.model, &order, &set, 0);
        order.unsorted = true;
        assert_ok(*state, nadir_value_order_make(*state, n, v, &order));
        assert_ok(*state, nadir_lmo_solve_all(*state, &lmo, weights, made.radius, solutions, &budget));
        for (int step = 0; step < 200; step++) {
            const double middle = sqrt(low) * sqrt(high);
            (void)gain_at(&made, weights, v, middle, &norm);
            *(norm < made.radius ? &low : &high) = middle;
        }
        const double gain = gain_at(&made, weights, v, low, &norm);
        double size = 0;
        for (int64_t row = 0; row < rows; row++) {
            size += weights[row];
        }
        assert_that(budget.gain >= gain - 1e-8 * size &&
                        (budget.tau == 0 || budget.gain <= gain + 1e-8 * size),
                    "the gain is %.15g, by bisection %.15g (norm %.3g of %g)", budget.gain, gain, budget.norm,
                    made.radius);
        assert_true(budget.norm <= made.radius);
        double *work = test_new(nadir_lmo_work_size(&lmo, 0, rows), sizeof *work);
        for (int64_t row = 0; row < rows; row++) {
            bounds[row] = nadir_lmo_bound(&lmo, row, &solutions[row], work);
        }
        const double most = nadir_lmo_bound_shared(&lmo, 0, rows, weights, made.radius, 0, bounds);
        assert_that(most >= budget.gain && most <= budget.gain + 1e-7 * size,
                    "the bound on the gain is %.15g, the gain %.15g", most, gain);
        for (int64_t row = 0; row < rows; row++) { /* one row with a price */
            const double price = exp(3 * nadir_random_normal(&random));
            nadir_lmo_solution own = {0};
            nadir_lmo_solve_penalized(&lmo, row, weights[row], price, work, &own);
            const nadir_lmo_row_bound bound = nadir_lmo_bound(&lmo, row, &own, work);
            const double least = weights[row] * own.gain - price * own.norm * own.norm;
            const double top = nadir_lmo_bound_penalized(&lmo, row, weights[row], price, &bound);
            assert_that(top >= least - 1e-15 && top <= least + 1e-7 * (1 + weights[row]),
                        "row %lld: the bound is %.15g, the minimum %.15g", (long long)row, top, least);
        }
        free(work);
        nadir_value_order_clear(*state, &order);
        nadir_uncertainty_clear(*state, &set);
        free(bounds);
        free(solutions);
        free(weights);
        free(v);
        fight_clear(&made);
    }
}

/* Weights that are all c: the ball of norm 2 on domain support with c times the radius. */
static void test_equal(void **state)
{
    nadir_random random = test_random((uint64_t)SEED + 3);
    const int count = test_attack_count(60);
    for (int i = 0; i < count; i++) {
        test_box box = test_box_make(*state, &random, false);
        const double c = i % 3 == 0 ? 1 : exp(nadir_random_normal(&random));
        double *weights = test_new(box.rows * box.states, sizeof *weights);
        for (int64_t e = 0; e < box.rows * box.states; e++) {
            weights[e] = c;
        }
        nadir_model *models[2] = {make_model(*state, &box, weights), make_model(*state, &box, NULL)};
        const double radius = radii[nadir_random_below(&random, sizeof radii / sizeof *radii)];
        nadir_robust found[2];
        test_note("seed %d, instance %d", SEED, i);
        for (int k = 0; k < 2; k++) {
            const double own = k == 0 ? radius / c : radius;
            const nadir_ball ball =
                test_ball((nadir_set)(NADIR_SET_NONRECT + i % 3), NADIR_DOMAIN_SUPPORT, 2, &own, NULL);
            nadir_policy *policy;
            bool stopped;
            assert_ok(*state, nadir_policy_create(*state, models[k], box.pi, &policy));
            nadir_solver *solver = test_solver(*state, models[k], policy);
            found[k] = test_robust_limited(*state, solver, &ball, NULL, NULL, &stopped);
            nadir_solver_free(solver);
            nadir_policy_free(policy);
            nadir_model_free(models[k]);
        }
        assert_close(found[0].robust_return, found[1].robust_return, 1e-12);
        assert_true(found[0].certified == found[1].certified);
        free(weights);
        test_box_clear(&box);
    }
}

/* Proofs around kernels that are not the worst, with multipliers that are not theirs. */
static void test_false_optima(void **state)
{
    enum { STARTS = 6 };
    nadir_random random = test_random((uint64_t)SEED + 1);
    int informative = 0;
    const int count = test_attack_count(400);
    for (int i = 0; i < count; i++) {
        fight made = fight_make(*state, &random);
        made.ball.radius = &made.radius;
        made.ball.set = NADIR_SET_NONRECT;
        test_problem posed = test_problem_make(*state, nadir_model_retain(made.box.model), made.box.policy,
                                               &made.ball, NULL, 1);
        const nadir_problem *problem = test_problem_view(&posed);
        nadir_candidate attacks[STARTS] = {{0}};
        double lowest = INFINITY;
        test_note("seed %d, instance %d: radius %g%s", SEED, i, made.radius, made.chi2 ? " (chi2)" : "");
        attacks[0] = test_descend(*state, problem, made.radius);
        for (int k = 0; k < STARTS; k++) {
            if (k > 0) {
                assert_ok(*state,
                          nadir_frank_wolfe_run(*state, problem, made.radius, NULL, 1e-12, k, &attacks[k]));
                attacks[k].tau *= k % 2 == 0 ? exp(nadir_random_normal(&random)) : 1;
            }
            lowest = fmin(lowest, attacks[k].J);
        }
        for (int k = 0; k < STARTS; k++) {
            nadir_certificate proof = test_prove(*state, problem, made.radius, &attacks[k],
                                                 k % 2 == 0 ? NADIR_CERTIFY_STRICT : NADIR_CERTIFY_AUTO);
            assert_that(proof.lower <= lowest + 1e-12, "start %d: %.17g is below the lower bound %.17g", k,
                        lowest, proof.lower);
            informative += proof.lower > lowest - 1e-3 * (problem->J - lowest);
            nadir_certificate_clear(*state, &proof);
        }
        for (int k = 0; k < STARTS; k++) {
            nadir_candidate_clear(*state, &attacks[k]);
        }
        made.box.policy = NULL; /* the problem's */
        test_problem_clear(&posed);
        fight_clear(&made);
    }
    assert_that(informative >= count, "%d bounds of %d are close", informative, STARTS * count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(test_oracle), test_with_context(test_equal),
                                       test_with_context(test_attacks), test_with_context(test_false_optima)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_spectral_check.c: bounds on the penalty of a whole L_2 ball, from one pair, against the exact penalty.
 */
#include "support/support.h"

#include "proof/breakdown.h"
#include "proof/free_bounds.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/scarce.h"
#include "support/singular.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 777

/* A problem with the truth about it: the penalty of a ball and the pair that attains it. */
typedef struct truth {
    nadir_context *context;
    test_problem made;
    const nadir_problem *problem;
    test_l2 of;
    long double breakdown;
    double beta;
    long double penalty;
    double *c, *k; /* [states] */
} truth;

/* share: of the breakdown radius. Takes model and policy. */
static void truth_make(truth *made, nadir_context *context, nadir_model *model, nadir_policy *policy,
                       const double *scales, double share)
{
    const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, scales);
    *made = (truth){.context = context};
    made->made = test_problem_make(context, model, policy, &ball, NULL, 1);
    made->problem = test_problem_view(&made->made);
    made->of = test_l2_make(made->problem);
    made->breakdown = test_l2_breakdown(&made->of);
    made->beta =
        made->breakdown > (long double)DBL_MAX ? share : (double)(made->breakdown * (long double)share);
    made->c = test_new(model->states, sizeof *made->c);
    made->k = test_new(model->states, sizeof *made->k);
    made->penalty = test_l2_penalty(&made->of, made->beta, made->c, made->k);
}

static void truth_clear(truth *made)
{
    free(made->c);
    free(made->k);
    test_l2_clear(&made->of);
    test_problem_clear(&made->made);
}

static double low_of(const truth *at, nadir_breakdown_proof proof)
{
    double low = NAN;
    assert_ok(at->context, nadir_breakdown_low(at->context, at->problem, proof, false, at->beta, &low));
    return low;
}

/* lambda_high for a pair; never below the truth. */
static double check_pair(const truth *at, const double *c, const double *k, double low)
{
    const nadir_spectral_question question = {.beta = at->beta, .c = c, .k = k};
    double high = NAN;
    assert_ok(at->context, nadir_spectral_check(at->context, at->problem, &question, low, &high));
    assert_that((long double)high >= at->penalty, "bound %.17g, the penalty is %.17Lg", high, at->penalty);
    return high;
}

static double width_of(const truth *at, double high)
{
    return (double)(((long double)high - at->penalty) / at->penalty);
}

static void test_width_at_a_fifth(void **state)
{
    static const int64_t sizes[] = {7, 12, 25, 60};
    static const double discounts[] = {0.5, 0.9, 0.99};
    nadir_context *context = *state;
    for (size_t i = 0; i < 12; i++) {
        nadir_model *model = test_generate_dense(context, sizes[i / 3], discounts[i % 3], SEED + i);
        nadir_random random = test_random(SEED + i);
        nadir_policy *policy = test_policy(context, model, TEST_RANDOM, &random);
        truth at;
        test_note("S=%d, discount %g, seed %d", (int)sizes[i / 3], discounts[i % 3], (int)(SEED + i));
        truth_make(&at, context, model, policy, NULL, 0.2);
        for (int proof = NADIR_BREAKDOWN_PRODUCTS; proof <= NADIR_BREAKDOWN_CHOLESKY; proof++) {
            const double low = low_of(&at, (nadir_breakdown_proof)proof);
            const double width = width_of(&at, check_pair(&at, at.c, at.k, low));
            print_message("S=%-3d discount %.2f proof %d: radius %.3f of breakdown, width %.1e\n",
                          (int)sizes[i / 3], discounts[i % 3], proof,
                          (double)((long double)low / at.breakdown), width);
            assert_that(width < 1e-10, "proof %d: width %g", proof, width);
        }
        truth_clear(&at);
    }
}

/* A pair a little off: the width grows with the square of the distance, and stays a bound. */
static void test_perturbed_pairs(void **state)
{
    nadir_context *context = *state;
    for (int family = 0; family < TEST_FAMILIES - 1; family++) {
        nadir_random random = test_random(SEED + (uint64_t)family);
        nadir_model *model = test_families[family].make(context, &random);
        nadir_policy *policy = test_policy(context, model, TEST_UNIFORM, &random);
        const int64_t n = model->states;
        double *c = test_new(n, sizeof *c);
        double *k = test_new(n, sizeof *k);
        truth at;
        truth_make(&at, context, model, policy, NULL, 0.3);
        const double low = low_of(&at, NADIR_BREAKDOWN_CHOLESKY);
        for (int order = -8; order <= 0; order += 2) {
            const double size = pow(10, order);
            test_note("%s, off by %g, seed %d", test_families[family].name, size, SEED + family);
            for (int64_t s = 0; s < n; s++) {
                c[s] = at.c[s] + size * at.beta / sqrt((double)n) * nadir_random_normal(&random);
                k[s] = at.k[s] + size / sqrt((double)n) * nadir_random_normal(&random);
            }
            const double width = width_of(&at, check_pair(&at, c, k, low));
            assert_that(size > 0.02 || width < 1e-9 + 30 * size * size, "width %g", width);
            (void)check_pair(&at, c, k, low * 0.7);
        }
        free(c);
        free(k);
        truth_clear(&at);
    }
}

/* The pair of another singular value at the root is stationary as well, but must not pass for the best. */
static void test_wrong_triple(void **state)
{
    nadir_context *context = *state;
    for (int i = 0; i < 6; i++) {
        nadir_model *model = test_generate_dense(context, 12, 0.9, SEED + (uint64_t)i);
        nadir_random random = test_random(SEED);
        truth at;
        test_note("seed %d, triple %d", SEED + i, 1 + i % 3);
        truth_make(&at, context, model, test_policy(context, model, TEST_RANDOM, &random), NULL, 0.6);
        long double *E = test_l2_operator(&at.of, false, at.penalty);
        test_singular all = test_singular_make(12, 12, E);
        double c[12];
        double k[12];
        for (int64_t s = 0; s < 12; s++) {
            c[s] = (double)all.right[(1 + i % 3) * 12 + s];
            k[s] = (double)all.left[(1 + i % 3) * 12 + s];
        }
        const double low = low_of(&at, NADIR_BREAKDOWN_CHOLESKY);
        (void)check_pair(&at, c, k, low);
        test_singular_clear(&all);
        free(E);
        truth_clear(&at);
    }
}

/* The return of P = Phat + change under the policy. */
static long double return_of(const nadir_problem *problem, const double *kernel)
{
    const int64_t n = problem->states;
    const double *pi = problem->policy->probabilities;
    long double *average = test_dense_average(problem->model, kernel, pi);
    test_system system = test_system_make(n, average, problem->gamma);
    double *R = test_new(n, sizeof *R);
    long double *v = test_new(n, sizeof *v);
    long double J = 0;
    for (int64_t s = 0; s < n; s++) {
        R[s] = problem->R[s];
    }
    test_system_solve(&system, false, R, v);
    for (int64_t s = 0; s < n; s++) {
        J += (long double)problem->mu[s] * v[s];
    }
    free(v);
    free(R);
    test_system_clear(&system);
    free(average);
    return J;
}

/* Phat plus a random zero-sum change of norm beta, towards lower values in turn. */
static void change(const truth *at, nadir_random *random, bool towards, double *kernel)
{
    const int64_t n = at->problem->states;
    const int64_t rows = at->problem->rows;
    const double *pi = at->problem->policy->probabilities;
    double *nominal = test_dense_kernel(at->problem->model);
    double square = 0;
    for (int64_t s = 0, row = 0; s < n; s++) {
        for (; row < at->problem->model->state_rows[s + 1]; row++) {
            double *change = kernel + row * n;
            double mean = 0;
            for (int64_t t = 0; t < n; t++) {
                const double aim = at->problem->d[s] * pi[row] * at->problem->v[t];
                change[t] =
                    towards ? -aim * (1 + 0.3 * nadir_random_normal(random)) : nadir_random_normal(random);
                mean += change[t] / (double)n;
            }
            for (int64_t t = 0; t < n; t++) {
                change[t] -= mean;
                square += change[t] * change[t];
            }
        }
    }
    for (int64_t i = 0; i < rows * n; i++) {
        kernel[i] = nominal[i] + at->beta * (1 - 1e-12) / sqrt(square) * kernel[i];
    }
    free(nominal);
}

static void test_no_kernel_is_worse(void **state)
{
    nadir_context *context = *state;
    for (int family = 0; family < TEST_FAMILIES - 1; family++) {
        nadir_random random = test_random(SEED + (uint64_t)family);
        nadir_model *model = test_families[family].make(context, &random);
        double *kernel = test_new(model->rows * model->states, sizeof *kernel);
        truth at;
        truth_make(&at, context, model, test_policy(context, model, TEST_UNIFORM, &random), NULL, 0.5);
        const double high = check_pair(&at, at.c, at.k, low_of(&at, NADIR_BREAKDOWN_CHOLESKY));
        for (int trial = 0; trial < 20; trial++) {
            test_note("%s, kernel %d, seed %d", test_families[family].name, trial, SEED + family);
            change(&at, &random, trial % 2 == 0, kernel);
            const long double J = return_of(at.problem, kernel);
            assert_that(at.of.J - J <= (long double)high, "penalty %.17Lg, bound %.17g", at.of.J - J, high);
        }
        free(kernel);
        truth_clear(&at);
    }
}

/* Pinned rows, states without hold, near breakdown. */
static void test_scales_and_large_radii(void **state)
{
    static const double shares[] = {0.01, 0.5, 0.9, 0.99};
    nadir_context *context = *state;
    for (int i = 0; i < 4 * (TEST_FAMILIES - 1); i++) {
        nadir_random random = test_random(SEED + (uint64_t)i);
        nadir_model *model = test_families[i / 4].make(context, &random);
        double *scales = test_new(model->rows, sizeof *scales);
        truth at;
        for (int64_t row = 0; row < model->rows; row++) {
            scales[row] = nadir_random_below(&random, 3) == 0 ? 0 : nadir_random_uniform(&random);
        }
        test_note("%s, %g of breakdown, seed %d", test_families[i / 4].name, shares[i % 4], SEED + i);
        truth_make(&at, context, model, test_policy(context, model, TEST_RANDOM, &random), scales,
                   shares[i % 4]);
        const double low = low_of(&at, NADIR_BREAKDOWN_CHOLESKY);
        const double width = width_of(&at, check_pair(&at, at.c, at.k, low));
        assert_that(width < 1e-9, "width %g", width);
        free(scales);
        truth_clear(&at);
    }
}

static void test_nothing_to_prove(void **state)
{
    nadir_context *context = *state;
    double high = NAN;
    double zero[7] = {0};
    truth at;
    nadir_random random = test_random(SEED);
    nadir_model *model = test_generate_dense(context, 7, 0.9, SEED);
    truth_make(&at, context, model, test_policy(context, model, TEST_UNIFORM, &random), NULL, 0.2);
    /* at or past what is proven to be below breakdown */
    assert_true(isinf(check_pair(&at, at.c, at.k, at.beta)));
    assert_true(isinf(check_pair(&at, at.c, at.k, 0)));
    /* no ball */
    const nadir_spectral_question none = {.beta = 0, .c = zero, .k = zero};
    assert_ok(context, nadir_spectral_check(context, at.problem, &none, 1, &high));
    assert_true(high == 0);
    /* no pair: what is true of every ball */
    const double low = low_of(&at, NADIR_BREAKDOWN_CHOLESKY);
    assert_true(check_pair(&at, zero, at.k, low) < 4 * (double)at.penalty);
    assert_true(check_pair(&at, at.c, zero, low) < 4 * (double)at.penalty);
    zero[0] = NAN;
    assert_true(check_pair(&at, at.c, zero, low) < 4 * (double)at.penalty);
    truth_clear(&at);
}

/* The same model with other rewards, and discounts at both ends. */
static nadir_model *scaled_model(nadir_context *context, int64_t states, double discount, double size,
                                 double level)
{
    nadir_model *model = test_generate_dense(context, states, discount, SEED);
    nadir_model_data data = test_view(model);
    double *rewards = test_new(data.rows, sizeof *rewards);
    for (int64_t row = 0; row < data.rows; row++) {
        rewards[row] = size * data.rewards[row] + level;
    }
    data.rewards = rewards;
    nadir_model *made = test_create_model(context, &data);
    free(rewards);
    nadir_model_free(model);
    return made;
}

static void test_extremes(void **state)
{
    static const struct {
        int64_t states;
        double discount, size, level, width;
    } cases[] = {
        {9, 0.9, 1e9, 0, 1e-10},    {9, 0.9, 1e-9, 0, 1e-10}, {9, 0.9, 1e150, 0, 1e-10},
        {9, 0.9, 1e-150, 0, 1e-10}, {20, 0.9999, 1, 0, 1e-8}, {20, 0.9999, 1, 1e3, 1e-5},
        {9, 0, 1, 0, INFINITY},     {9, 0.9, 0, 3, INFINITY}, {2, 0.9, 1, 0, 1e-10},
        {1, 0.9, 1, 0, INFINITY},
    };
    nadir_context *context = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nadir_model *model =
            scaled_model(context, cases[i].states, cases[i].discount, cases[i].size, cases[i].level);
        nadir_random random = test_random(SEED);
        truth at;
        test_note("case %zu", i);
        truth_make(&at, context, model, test_policy(context, model, TEST_UNIFORM, &random), NULL, 0.2);
        const double low = low_of(&at, NADIR_BREAKDOWN_CHOLESKY);
        const double high = check_pair(&at, at.c, at.k, low);
        assert_that(high >= 0 && isfinite(high), "bound %g", high);
        assert_that(isinf(cases[i].width) || width_of(&at, high) < cases[i].width, "width %g",
                    width_of(&at, high));
        truth_clear(&at);
    }
}

static void test_scarce_memory(void **state)
{
    test_scarce scarce;
    nadir_context *context = test_scarce_context(&scarce);
    nadir_random random = test_random(SEED);
    nadir_model *model = test_generate_dense(context, 7, 0.9, SEED);
    truth at;
    (void)state;
    truth_make(&at, context, model, test_policy(context, model, TEST_UNIFORM, &random), NULL, 0.2);
    const nadir_spectral_question question = {.beta = at.beta, .c = at.c, .k = at.k};
    const int64_t before = scarce.blocks;
    nadir_status status = NADIR_ERROR_MEMORY;
    double high = NAN;
    for (int64_t allowed = 0; status != NADIR_OK && allowed < 100; allowed++) {
        scarce.left = allowed;
        status = nadir_spectral_check(context, at.problem, &question, 1, &high);
        assert_true(status == NADIR_OK || status == NADIR_ERROR_MEMORY);
        assert_int_equal(scarce.blocks, before);
    }
    assert_int_equal(status, NADIR_OK);
    scarce.left = INT64_MAX;
    truth_clear(&at);
    nadir_context_free(context);
    assert_int_equal(scarce.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_width_at_a_fifth),
        test_with_context(test_perturbed_pairs),
        test_with_context(test_wrong_triple),
        test_with_context(test_no_kernel_is_worse),
        test_with_context(test_scales_and_large_radii),
        test_with_context(test_nothing_to_prove),
        test_with_context(test_extremes),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

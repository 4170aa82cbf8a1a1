/* test_combined.c: kernels given by coefficients against the same written out in long double: their
 * penalties, bounds on those of their whole balls, and their smallest entries. */
#include "support/support.h"

#include "adversary/check/check_combined.h"
#include "adversary/proof/breakdown.h"
#include "adversary/search/rank_one_candidate.h"
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

#define SEED 4242

enum { SIZE = 3 };

/* A problem with the truth about one ball, and vectors of which the first are near its worst pair. */
typedef struct subject {
    nadir_context *context;
    test_problem made;
    const nadir_problem *problem;
    test_l2 of;
    double beta;
    double low; /* proven of breakdown */
    long double penalty;
    double *X; /* [states * SIZE] */
    double *K; /* [states * (SIZE + 1)] */
} subject;

/* share: of the breakdown radius; off: how far the first vectors are from the pair. Takes model and policy.
 */
static void subject_make(subject *made, nadir_context *context, nadir_model *model, nadir_policy *policy,
                         const double *scales, double share, nadir_random *random)
{
    const double radius = 0.1;
    const int64_t n = model->states;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, scales);
    *made = (subject){.context = context};
    made->made = test_problem_make(context, model, policy, &ball, NULL, 1);
    made->problem = test_problem_view(&made->made);
    made->of = test_l2_make(made->problem);
    const long double breakdown = test_l2_breakdown(&made->of);
    made->beta = breakdown > (long double)DBL_MAX ? share : (double)(breakdown * (long double)share);
    made->X = test_new(n * SIZE, sizeof *made->X);
    made->K = test_new(n * (SIZE + 1), sizeof *made->K);
    made->penalty = test_l2_penalty(&made->of, made->beta, made->X, made->K);
    for (int64_t i = n; i < n * (SIZE + 1); i++) {
        made->K[i] = nadir_random_normal(random);
        if (i < n * SIZE) {
            made->X[i] = nadir_random_normal(random);
        }
    }
    for (int64_t s = 0; s < n; s++) {
        made->X[s] /= made->beta;
    }
    assert_ok(context,
              nadir_breakdown_low(context, made->problem, NADIR_BREAKDOWN_CHOLESKY, made->beta, &made->low));
}

static void subject_clear(subject *made)
{
    free(made->X);
    free(made->K);
    test_l2_clear(&made->of);
    test_problem_clear(&made->made);
}

static nadir_combined combine(const subject *at, bool bounded)
{
    const nadir_combined_basis basis = {.size = SIZE, .X = at->X, .K = at->K};
    nadir_combined of;
    assert_ok(at->context, nadir_combined_make(at->context, at->problem, bounded, &basis, at->low, &of));
    return of;
}

/* X s, or Phi K t: [states], brought to norm one. */
static void write_out(int64_t n, int count, const double *vectors, const double *factors, bool centred,
                      long double *to)
{
    long double mean = 0;
    long double square = 0;
    for (int64_t s = 0; s < n; s++) {
        to[s] = 0;
        for (int j = 0; j < count; j++) {
            to[s] += (long double)factors[j] * (long double)vectors[j * n + s];
        }
        mean += to[s] / (long double)n;
    }
    for (int64_t s = 0; s < n; s++) {
        to[s] -= centred ? mean : 0;
        square += to[s] * to[s];
    }
    for (int64_t s = 0; s < n; s++) {
        to[s] /= sqrtl(square);
    }
}

/* The penalty of the kernel by Sherman and Morrison, in long double. */
static long double penalty_of(const subject *at, const double *s, const double *t)
{
    const int64_t n = at->problem->states;
    const long double reach = at->of.gamma * (long double)at->beta;
    long double *x = test_new(2 * n, sizeof *x);
    long double *y = x + n;
    long double strength = 0;
    long double loss = 0;
    long double feedback = 0;
    write_out(n, SIZE, at->X, s, false, x);
    write_out(n, SIZE + 1, at->K, t, true, y);
    for (int64_t i = 0; i < n; i++) {
        strength += at->of.d[i] * at->of.W[i] * x[i];
        loss += y[i] * at->of.v[i];
        for (int64_t j = 0; j < n; j++) {
            feedback += y[i] * at->of.D[j * n + i] * at->of.W[j] * x[j];
        }
    }
    free(x);
    return reach * strength * loss / (1 + reach * feedback);
}

static nadir_combined_answer ask(const subject *at, const nadir_combined *of, double *s, double *t)
{
    nadir_combined_answer answer;
    assert_ok(at->context, nadir_combined_check(at->context, of, 1, &at->beta, s, t, &answer));
    return answer;
}

/* Checks a kernel; returns the width of its bounds, relative to the penalty of the ball. tight: what is
 * known of the kernel itself is nearly all that there is to know. */
static double check(const subject *at, const nadir_combined *of, const double *factors, double tight)
{
    double s[SIZE];
    double t[SIZE + 1];
    memcpy(s, factors, sizeof s);
    memcpy(t, factors + SIZE, sizeof t);
    const long double truth = penalty_of(at, s, t);
    const nadir_combined_answer answer = ask(at, of, s, t);
    const double scale = (double)at->penalty;
    assert_that(answer.usable || truth < 1e-6L * at->penalty, "the penalty is %Lg", truth);
    if (!answer.usable) {
        return INFINITY;
    }
    assert_that((long double)answer.lambda_low <= truth, "%.17g, but it is %.17Lg", answer.lambda_low, truth);
    assert_that((double)truth - answer.lambda_low <= tight * scale, "%.17g, but it is %.17Lg",
                answer.lambda_low, truth);
    assert_that(fabsl((long double)answer.lambda - truth) <= (long double)(tight * scale),
                "%.17g, but it is %.17Lg", answer.lambda, truth);
    assert_that((long double)answer.lambda_high >= at->penalty, "bound %.17g, the penalty is %.17Lg",
                answer.lambda_high, at->penalty);
    return (double)(((long double)answer.lambda_high - at->penalty) / at->penalty);
}

/* A pair that is off by `size` of itself. */
static void fill_factors(nadir_random *random, double size, double *factors)
{
    for (int j = 0; j < 2 * SIZE + 1; j++) {
        factors[j] = 0.1 * size * nadir_random_normal(random);
    }
    factors[0] += 1;
    factors[SIZE] += 1;
}

static void test_bounds(void **state)
{
    static const double shares[] = {0.01, 0.3, 0.9};
    const int step = getenv("NADIR_VALGRIND") != NULL ? 4 : 1;
    nadir_context *context = test_context();
    (void)state;
    for (int i = 0; i < 3 * (TEST_FAMILIES - 1); i += step) {
        nadir_random random;
        nadir_random_seed(&random, SEED + (uint64_t)i);
        nadir_model *model = test_families[i / 3].make(context, &random);
        double *scales = test_new(model->rows, sizeof *scales);
        for (int64_t row = 0; row < model->rows; row++) {
            scales[row] = nadir_random_below(&random, 4) == 0 ? 0 : 0.2 + nadir_random_uniform(&random);
        }
        subject at;
        subject_make(&at, context, model, test_policy(context, model, TEST_RANDOM, &random),
                     i % 2 == 0 ? scales : NULL, shares[i % 3], &random);
        nadir_combined of = combine(&at, true);
        const double own = sqrt((double)at.problem->states);
        for (int order = -8; order <= 0; order += 2) {
            double factors[2 * SIZE + 1];
            const double size = pow(10, order);
            test_note("%s, %g of breakdown, off by %g, seed %d", test_families[i / 3].name, shares[i % 3],
                      size, SEED + i);
            fill_factors(&random, size / own, factors);
            const double width = check(&at, &of, factors, 1e-9);
            assert_that(size > 1e-3 || width < 1e-8 + 1e4 * size * size, "width %g", width);
        }
        nadir_combined_clear(context, &of);
        free(scales);
        subject_clear(&at);
    }
    test_note_clear();
    nadir_context_free(context);
}

/* Longer vectors than there are of them, and shorter ones; without a bound for the ball the kernel is known
 * as well. */
static void test_width(void **state)
{
    static const int64_t sizes[] = {4, 8, 9, 30, 60};
    nadir_context *context = test_context();
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        nadir_random random;
        nadir_random_seed(&random, SEED + i);
        nadir_model *model = test_generate_dense(context, sizes[i], 0.95, SEED + i);
        subject at;
        subject_make(&at, context, model, test_policy(context, model, TEST_RANDOM, &random), NULL, 0.3,
                     &random);
        nadir_combined of = combine(&at, true);
        nadir_combined alone = combine(&at, false);
        double factors[2 * SIZE + 1];
        fill_factors(&random, 0, factors);
        test_note("S=%d, seed %d", (int)sizes[i], (int)(SEED + i));
        const double width = check(&at, &of, factors, 1e-11);
        assert_that(width < 1e-11, "width %g", width);
        assert_true(isinf(check(&at, &alone, factors, 1e-11)));
        nadir_combined_clear(context, &of);
        nadir_combined_clear(context, &alone);
        subject_clear(&at);
    }
    test_note_clear();
    nadir_context_free(context);
}

/* The pair of another singular value is stationary as well, but must not pass for the best. */
static void test_wrong_triple(void **state)
{
    nadir_context *context = test_context();
    (void)state;
    for (int i = 0; i < 12; i++) {
        nadir_model *model = test_generate_dense(context, 12, 0.9, SEED + (uint64_t)i / 3);
        nadir_random random;
        nadir_random_seed(&random, SEED);
        subject at;
        subject_make(&at, context, model, test_policy(context, model, TEST_RANDOM, &random), NULL, 0.6,
                     &random);
        long double *E = test_l2_operator(&at.of, false, at.penalty);
        test_singular all = test_singular_make(12, 12, E);
        for (int64_t s = 0; s < 12; s++) {
            at.X[s] = (double)all.right[(1 + i % 3) * 12 + s];
            at.K[s] = (double)all.left[(1 + i % 3) * 12 + s];
        }
        nadir_combined of = combine(&at, true);
        double factors[2 * SIZE + 1];
        fill_factors(&random, 0, factors);
        const nadir_combined_answer answer = ask(&at, &of, factors, factors + SIZE);
        test_note("seed %d, triple %d", SEED + i / 3, 1 + i % 3);
        assert_that((long double)answer.lambda_high >= at.penalty, "bound %.17g, the penalty is %.17Lg",
                    answer.lambda_high, at.penalty);
        nadir_combined_clear(context, &of);
        test_singular_clear(&all);
        free(E);
        subject_clear(&at);
    }
    test_note_clear();
    nadir_context_free(context);
}

/* The smallest entry of the kernel, row by row. */
static double minimum_of(const subject *at, const double *s, const double *t)
{
    const int64_t n = at->problem->states;
    long double *x = test_new(2 * n, sizeof *x);
    long double *y = x + n;
    double *c = test_new(n, sizeof *c);
    double *b = test_new(at->problem->rows, sizeof *b);
    double *nominal = test_dense_kernel(at->problem->model);
    double smallest = INFINITY;
    write_out(n, SIZE, at->X, s, false, x);
    write_out(n, SIZE + 1, at->K, t, true, y);
    for (int64_t i = 0; i < n; i++) {
        c[i] = at->beta * (double)x[i];
    }
    nadir_rank_one_states_expand(at->problem, c, b);
    for (int64_t row = 0; row < at->problem->rows; row++) {
        for (int64_t i = 0; i < n; i++) {
            smallest = fmin(smallest, nominal[row * n + i] - b[row] * (double)y[i]);
        }
    }
    free(nominal);
    free(b);
    free(c);
    free(x);
    return smallest;
}

static void test_minima(void **state)
{
    enum { COUNT = 9 };
    nadir_context *context = test_context();
    (void)state;
    for (int i = 0; i < 2 * (TEST_FAMILIES - 1); i++) {
        nadir_random random;
        nadir_random_seed(&random, SEED + (uint64_t)i);
        nadir_model *model = test_families[i / 2].make(context, &random);
        double *scales = test_new(model->rows, sizeof *scales);
        for (int64_t row = 0; row < model->rows; row++) {
            scales[row] = nadir_random_uniform(&random);
        }
        subject at;
        subject_make(&at, context, model, test_policy(context, model, TEST_RANDOM, &random),
                     i % 2 == 0 ? scales : NULL, 0.2, &random);
        nadir_combined of = combine(&at, false);
        double S[SIZE * COUNT];
        double T[(SIZE + 1) * COUNT];
        double minima[COUNT];
        double wanted[COUNT];
        for (int j = 0; j < COUNT; j++) {
            double factors[2 * SIZE + 1];
            fill_factors(&random, 0.3 * j, factors);
            memcpy(S + j * SIZE, factors, SIZE * sizeof *S);
            memcpy(T + j * (SIZE + 1), factors + SIZE, (SIZE + 1) * sizeof *T);
            wanted[j] = minimum_of(&at, S + j * SIZE, T + j * (SIZE + 1));
            (void)ask(&at, &of, S + j * SIZE, T + j * (SIZE + 1));
            for (int k = 0; k < SIZE; k++) {
                S[j * SIZE + k] *= at.beta;
            }
        }
        assert_ok(context, nadir_combined_minima(context, &of, COUNT, S, T, minima));
        for (int j = 0; j < COUNT; j++) {
            test_note("%s, kernel %d, seed %d", test_families[i / 2].name, j, SEED + i);
            assert_close(minima[j], wanted[j], 1e-13 * (1 + fabs(wanted[j])));
        }
        nadir_combined_clear(context, &of);
        free(scales);
        subject_clear(&at);
    }
    test_note_clear();
    nadir_context_free(context);
}

/* Numbers that products would lose: nothing is said of them. */
static void test_extremes(void **state)
{
    static const double sizes[] = {1e-200, 1e-120, 1e120, 1e200};
    nadir_context *context = test_context();
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        nadir_random random;
        nadir_random_seed(&random, SEED);
        nadir_model *model = test_generate_dense(context, 12, 0.9, SEED);
        subject at;
        subject_make(&at, context, model, test_policy(context, model, TEST_RANDOM, &random), NULL, 0.3,
                     &random);
        nadir_problem scaled = *at.problem;
        double *v = test_new(scaled.states, sizeof *v);
        for (int64_t s = 0; s < scaled.states; s++) {
            v[s] = sizes[i] * at.problem->v[s];
        }
        scaled.v = v;
        scaled.v_error *= sizes[i];
        const nadir_problem *plain = at.problem;
        at.problem = &scaled;
        nadir_combined of = combine(&at, true);
        double factors[2 * SIZE + 1];
        fill_factors(&random, 0, factors);
        const nadir_combined_answer answer = ask(&at, &of, factors, factors + SIZE);
        test_note("rewards times %g", sizes[i]);
        assert_int_equal(answer.usable, i == 1 || i == 2);
        if (answer.usable) {
            assert_close(answer.lambda / sizes[i], (double)at.penalty, 1e-11 * (double)at.penalty);
            assert_true(answer.lambda_high >= answer.lambda_low);
        }
        nadir_combined_clear(context, &of);
        at.problem = plain;
        free(v);
        subject_clear(&at);
    }
    test_note_clear();
    nadir_context_free(context);
}

static void test_scarce_memory(void **state)
{
    test_scarce scarce;
    nadir_context *context = test_scarce_context(&scarce);
    nadir_random random;
    (void)state;
    nadir_random_seed(&random, SEED);
    nadir_model *model = test_generate_dense(context, 12, 0.9, SEED);
    subject at;
    subject_make(&at, context, model, test_policy(context, model, TEST_UNIFORM, &random), NULL, 0.2, &random);
    const nadir_combined_basis basis = {.size = SIZE, .X = at.X, .K = at.K};
    const int64_t before = scarce.blocks;
    nadir_status status = NADIR_ERROR_MEMORY;
    for (int64_t allowed = 0; status != NADIR_OK && allowed < 200; allowed++) {
        nadir_combined of = {0};
        double factors[2 * SIZE + 1] = {1, 0, 0, 1};
        nadir_combined_answer answer;
        double minimum;
        scarce.left = allowed;
        status = nadir_combined_make(context, at.problem, true, &basis, at.low, &of);
        if (status == NADIR_OK) {
            status = nadir_combined_check(context, &of, 1, &at.beta, factors, factors + SIZE, &answer);
        }
        if (status == NADIR_OK) {
            status = nadir_combined_minima(context, &of, 1, factors, factors + SIZE, &minimum);
        }
        nadir_combined_clear(context, &of);
        assert_true(status == NADIR_OK || status == NADIR_ERROR_MEMORY);
        assert_int_equal(scarce.blocks, before);
    }
    assert_int_equal(status, NADIR_OK);
    scarce.left = INT64_MAX;
    subject_clear(&at);
    nadir_context_free(context);
    assert_int_equal(scarce.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),        cmocka_unit_test(test_width),
        cmocka_unit_test(test_minima),        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_scarce_memory), cmocka_unit_test(test_wrong_triple),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

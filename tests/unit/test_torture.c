/*
 * test_torture.c: hundreds of problems at the edges of what numbers can say, each evaluated with a backend, a
 * certificate and a side at random: an answer whose bounds hold against exact values in quadruple precision,
 * and against kernels that lie in the set for certain, or a clear refusal. Never a NaN.
 *
 * NADIR_ATTACKS=N: N times as many problems; NADIR_TORTURE=N: so many; NADIR_TORTURE_FIRST=K: from this one
 * on.
 */
#include "support/support.h"

#include "support/generated.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/torture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What became of the problems. */
typedef struct tally {
    int64_t answers, certified, refusals, unbounded, kernels, neighbours;
    int64_t known[TEST_QUAD_KNOWN];
} tally;

/* A question and what was answered. */
typedef struct question {
    nadir_context *context;
    nadir_random *random;
    test_torture *made;
    test_oracle oracle; /* rewards negated for the best case: always a worst case */
    bool optimistic;
    nadir_robust result;
    nadir_worst *worst;
    tally *count;
} question;

/* Bounds on the oracle's worst case. */
static double low_of(const question *asked)
{
    return asked->optimistic ? -asked->result.upper_bound : asked->result.lower_bound;
}

static double high_of(const question *asked)
{
    return asked->optimistic ? -asked->result.lower_bound : asked->result.upper_bound;
}

static void check_numbers(const question *asked)
{
    const nadir_robust *result = &asked->result;
    const double numbers[] = {result->nominal_return, result->robust_return, result->penalty,
                              result->lower_bound,    result->upper_bound,   result->residual,
                              result->kernel_minimum, result->valid_radius,  result->return_difference};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_that(!isnan(numbers[i]), "number %zu of the result is no number", i);
    }
    assert_that(
        isfinite(result->nominal_return) && isfinite(result->robust_return) && isfinite(result->penalty),
        "returns %g and %g, penalty %g", result->nominal_return, result->robust_return, result->penalty);
    assert_that(result->lower_bound <= result->upper_bound, "bounds %.17g > %.17g", result->lower_bound,
                result->upper_bound);
    assert_that(isfinite(high_of(asked)) || test_torture_largest(&asked->oracle) > 1e307, "no bound: %g",
                high_of(asked));
    if (asked->oracle.domain != NADIR_DOMAIN_FREE && test_torture_largest(&asked->oracle) < 1e307) {
        assert_that(isfinite(low_of(asked)), "no bound: %g", low_of(asked));
    }
}

/* No kernel of the set goes past the bound. */
static void attack(question *asked, const double *kernel)
{
    test_quad *pulled = test_new(asked->oracle.rows * asked->oracle.states, sizeof *pulled);
    test_quad J = 0;
    test_quad_pull(&asked->oracle, kernel, pulled);
    if (test_quad_return(&asked->oracle, pulled, NULL, NULL, &J)) {
        asked->count->kernels++;
        assert_that(low_of(asked) <= J + test_torture_rounding(&asked->oracle),
                    "a kernel of the set returns %.20Lg, the bound is %.17g (certificate %s, bound %s)",
                    (long double)J, low_of(asked), asked->result.certificate, asked->result.bound);
    }
    free(pulled);
}

static void check_attacks(question *asked)
{
    double *kernel = test_worst_kernel(asked->context, asked->made->model, asked->worst);
    attack(asked, kernel);
    for (int i = 0; i < 10; i++) {
        test_oracle_random(&asked->oracle, asked->random, kernel);
        attack(asked, kernel);
    }
    free(kernel);
}

static void check_exact(question *asked)
{
    test_quad J = 0;
    const test_quad_known known = test_quad_worst(&asked->oracle, &J);
    const test_quad slack = test_torture_rounding(&asked->oracle);
    asked->count->known[known]++;
    if (known != TEST_QUAD_UNKNOWN) {
        assert_that(low_of(asked) <= J + slack && J - slack <= high_of(asked),
                    "the worst return is %.20Lg (%s), not between %.17g and %.17g (certificate %s, bound %s)",
                    (long double)J, test_quad_names[known], low_of(asked), high_of(asked),
                    asked->result.certificate, asked->result.bound);
    }
}

/* The worst return at another norm, radii times a factor; false: not known. */
static bool worst_of_neighbour(const question *asked, double p, long double factor, test_quad *J)
{
    test_oracle other = asked->oracle;
    other.p = p;
    other.radii = test_new(other.balls, sizeof *other.radii);
    for (int64_t i = 0; i < other.balls; i++) {
        other.radii[i] = (double)(factor * asked->oracle.radii[i]);
    }
    const test_quad_known known = test_quad_worst(&other, J);
    free(other.radii);
    return known != TEST_QUAD_UNKNOWN;
}

/* Balls of n entries: U_1(b) in U_p(b) in U_1(b n^(1 - 1/p)), and U_inf(b n^(-1/p)) in U_p(b) in U_inf(b).
 * Close to either end p has next to no choice. */
static void check_neighbours(question *asked)
{
    const double p = asked->oracle.p;
    const long double entries = (long double)(asked->oracle.rows * asked->oracle.states);
    const bool small = p < 1.5;
    const double end = small ? 1 : INFINITY;
    const long double wide = small ? powl(entries, 1 - 1 / (long double)p) * (1 + 1e-15L) : 1;
    const long double narrow = small ? 1 : powl(entries, -1 / (long double)p) * (1 - 1e-15L);
    const test_quad slack = test_torture_rounding(&asked->oracle);
    test_quad lowest;
    test_quad highest;
    if (p == 1 || isinf(p) || (p > 1.5 && p < 1000) || asked->oracle.domain == NADIR_DOMAIN_FREE ||
        !worst_of_neighbour(asked, end, wide, &lowest) || !worst_of_neighbour(asked, end, narrow, &highest)) {
        return;
    }
    asked->count->neighbours++;
    assert_that(low_of(asked) <= highest + slack && lowest - slack <= high_of(asked),
                "the worst return is between %.20Lg and %.20Lg, the bounds are %.17g and %.17g (%s)",
                (long double)lowest, (long double)highest, low_of(asked), high_of(asked),
                asked->result.bound);
}

/* The nominal return is between its bounds. */
static void check_nominal(question *asked, nadir_solver *solver)
{
    nadir_nominal nominal = {.size = sizeof nominal};
    const nadir_status status = nadir_solver_nominal(asked->context, solver, &nominal);
    test_quad J = 0;
    test_quad *kernel = test_quad_nominal(&asked->oracle);
    assert_true(test_quad_return(&asked->oracle, kernel, NULL, NULL, &J));
    free(kernel);
    if (status == NADIR_OK) {
        const test_quad slack = test_torture_rounding(&asked->oracle);
        assert_that(nominal.lower_bound <= J + slack && J - slack <= nominal.upper_bound,
                    "the nominal return is %.20Lg, not between %.17g and %.17g", (long double)J,
                    nominal.lower_bound, nominal.upper_bound);
        assert_true(isfinite(nominal.nominal_return));
    }
}

/* What may be refused, and how. */
static void check_refusal(question *asked, nadir_status status)
{
    asked->count->refusals++;
    test_torture_refused(asked->context, status);
}

static void ask(question *asked)
{
    static const char *const backends[] = {NULL, "lapack", "krylov", "klu"};
    static const nadir_certify efforts[] = {NADIR_CERTIFY_AUTO, NADIR_CERTIFY_OFF, NADIR_CERTIFY_AUTO,
                                            NADIR_CERTIFY_STRICT};
    nadir_solver_settings solving = test_solver_settings();
    const bool dense = test_view(asked->made->model).dense != NULL;
    solving.backend = backends[nadir_random_below(asked->random, dense ? 3 : 4)];
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = efforts[nadir_random_below(asked->random, 4)];
    settings.optimistic = asked->optimistic;
    nadir_solver *solver = NULL;
    asked->result = (nadir_robust){.size = sizeof asked->result};
    nadir_status status =
        nadir_solver_create(asked->context, asked->made->model, asked->made->policy, &solving, &solver);
    if (status == NADIR_OK) {
        if (!asked->optimistic) {
            check_nominal(asked, solver);
        }
        status = nadir_solver_robust(asked->context, solver, &asked->made->ball, &settings, &asked->result,
                                     &asked->worst);
    }
    if (status == NADIR_OK || (status == NADIR_ERROR_NOT_CONVERGED && asked->result.stop_reason != NULL)) {
        asked->count->answers++;
        asked->count->certified += asked->result.certified;
        asked->count->unbounded += !isfinite(low_of(asked));
        check_numbers(asked);
        check_exact(asked);
        check_neighbours(asked);
        if (asked->worst != NULL) {
            check_attacks(asked);
        }
    } else {
        check_refusal(asked, status);
    }
    nadir_worst_free(asked->worst);
    nadir_solver_free(solver);
}

static void try_problem(int i, tally *count)
{
    nadir_context *context = test_context();
    test_torture made;
    nadir_random random = test_random(20261115 + (uint64_t)i);
    test_torture_make(context, &random, &made);
    question asked = {.context = context, .random = &random, .made = &made, .count = count};
    asked.optimistic = nadir_random_below(&random, 4) == 0;
    asked.oracle = test_oracle_make(made.model, made.policy, &made.ball);
    for (int64_t row = 0; row < asked.oracle.rows && asked.optimistic; row++) {
        asked.oracle.rewards[row] = -asked.oracle.rewards[row];
    }
    test_note("problem %d: %s; %s%s%s", i, made.name, test_ball_name(&made.ball),
              made.ball.scales != NULL ? ", scales" : "", asked.optimistic ? ", optimistic" : "");
    test_torture_watch(60);
    ask(&asked);
    test_oracle_clear(&asked.oracle);
    test_torture_clear(&made);
    nadir_context_free(context);
    test_torture_watch(0);
}

/* Problems that once were too much. */
static void test_found(void **state)
{
    static const int found[] = {3010, 4967, 9253};
    tally ignored = {0};
    (void)state;
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        try_problem(found[i], &ignored);
    }
}

/* A search that gains next to nothing in hundreds of steps stops, and says so. */
static void test_slow(void **state)
{
    nadir_context *context = *state;
    test_torture made;
    nadir_solver *solver = NULL;
    nadir_robust result = {.size = sizeof result};
    nadir_random random = test_random(20261115 + 16740);
    test_torture_make(context, &random, &made);
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_OFF;
    assert_ok(context, nadir_solver_create(context, made.model, made.policy, NULL, &solver));
    const nadir_status status = nadir_solver_robust(context, solver, &made.ball, &settings, &result, NULL);
    assert_int_equal(status, NADIR_ERROR_NOT_CONVERGED);
    assert_string_equal(result.stop_reason, "slow");
    assert_non_null(strstr(nadir_context_error(context), "gain next to nothing"));
    assert_that(result.iterations >= 500 && result.iterations <= 2000, "%lld steps",
                (long long)result.iterations);
    /* what is left to gain is little, and known */
    assert_that(result.stationarity_gap > 0 && result.stationarity_gap <= 1e-6 * result.penalty,
                "a gap of %g", result.stationarity_gap);
    nadir_solver_free(solver);
    test_torture_clear(&made);
}

static void test_problems(void **state)
{
    const int count = test_variable("NADIR_TORTURE", 1, test_attack_count(600));
    const int first = test_variable("NADIR_TORTURE_FIRST", 0, 0);
    tally tallied = {0};
    (void)state;
    for (int i = first; i < first + count; i++) {
        try_problem(i, &tallied);
    }
    print_message(
        "%lld answers (%lld certified, %lld without a bound), %lld refusals, %lld kernels tried, %lld "
        "between norms\n",
        (long long)tallied.answers, (long long)tallied.certified, (long long)tallied.unbounded,
        (long long)tallied.refusals, (long long)tallied.kernels, (long long)tallied.neighbours);
    for (int i = 0; i < TEST_QUAD_KNOWN; i++) {
        print_message("  %s: %lld\n", test_quad_names[i], (long long)tallied.known[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_found),
        test_with_context(test_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

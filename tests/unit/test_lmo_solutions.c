/* Solutions of the oracle: in the domain and the ball, and as good as weak duality allows. */
#include "support/support.h"

#include "support/lmo.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 4711, ROUNDS = 28 };

/* X of all rows from first to end - 1: nonnegative, of sum one, on the support; the gains are as said. */
static void check_rows(test_rows *made, int64_t first, int64_t end)
{
    test_rows_write(made);
    for (int64_t row = first; row < end; row++) {
        const double *X = made->X + row * made->states;
        const double *phat = made->phat + row * made->states;
        const nadir_lmo_solution *answer = &made->answers[row];
        long double sum = 0;
        for (int64_t t = 0; t < made->states; t++) {
            assert_that(X[t] >= 0, "row %d: entry %g", (int)row, X[t]);
            assert_that(made->rows.domain == NADIR_DOMAIN_SIMPLEX || phat[t] > 0 || X[t] == 0,
                        "row %d has %g off the support", (int)row, X[t]);
            assert_that(made->scales[row] > 0 || X[t] == phat[t], "a pinned row moved");
            sum += X[t];
        }
        assert_that(fabsl(sum - 1) <= 1e-14L, "row %d sums to 1 + %g", (int)row, (double)(sum - 1));
        const double gain = test_rows_gain(made, row, X);
        assert_that(fabs(gain - answer->gain) <= 1e-14 * made->order.range, "row %d: gain %.17g, not %.17g",
                    (int)row, answer->gain, gain);
        const double norm = test_rows_norm(made, row, X);
        const double slack = made->scales[row] > 0 ? 2e-15 / made->scales[row] : 0;
        assert_that(fabs(norm - answer->norm) <= 1e-12 * norm + slack, "row %d: norm %.17g, not %.17g",
                    (int)row, answer->norm, norm);
    }
}

/* How much above the best a bound may be, relative: the accuracy of powers of (q - 1) digits. */
static double gap_allowed(double p)
{
    return p < 1.01 ? 1e-9 : 1e-12;
}

static void check_share(test_rows *made, int64_t first, int64_t end, double beta, nadir_lmo_budget *budget)
{
    const double *weights = made->weights + first;
    nadir_lmo_solve(&made->rows, first, end, weights, beta, made->room, made->answers + first, budget);
    check_rows(made, first, end);
    const double norm = test_rows_total(made, first, end, made->X);
    const double rounding =
        (double)made->states * 4e-16; /* of the entries themselves, where alpha is small */
    assert_that(norm <= beta * (1 + 1e-15) + 10 * rounding, "norm %.17g, radius %.17g", norm, beta);
    double gain = 0;
    double scale = 0;
    for (int64_t row = first; row < end; row++) {
        gain += made->weights[row] * made->answers[row].gain;
        scale += made->weights[row] * fmax(1, made->scales[row]) * made->order.range;
        made->bounds[row] = nadir_lmo_bound(&made->rows, row, &made->answers[row], made->room);
    }
    assert_close(budget->gain / (scale > 0 ? scale : 1), gain / (scale > 0 ? scale : 1), 1e-14);
    const double bound =
        nadir_lmo_bound_shared(&made->rows, first, end, weights, beta, 0, made->bounds + first);
    assert_that(bound >= gain * (1 - 1e-15), "gain %.17g above its bound %.17g", gain, bound);
    /* costs of rows of their own have more roundings than x */
    const double unit = made->rows.landing != 0 ? 1e-13 : 1e-14;
    assert_that(bound <= gain * (1 + gap_allowed(made->rows.p)) + unit * fmin(1, beta) * scale,
                "gain %.17g, bound %.17g, of %g, tau %g", gain, bound, scale, budget->tau);
}

static double random_radius(nadir_random *random)
{
    const double radii[] = {0, 1e-12, 1e-3, 0.1, 0.5, 2, 30};
    const double radius = radii[nadir_random_below(random, sizeof radii / sizeof *radii)];
    return radius * (nadir_random_below(random, 2) == 0 ? 1 : nadir_random_uniform(random));
}

static const nadir_domain domains[] = {NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT};

static void each_landing(nadir_context *context, int rounds, bool lands,
                         void (*test)(test_rows *, nadir_random *))
{
    nadir_random random = test_random(SEED);
    for (int round = 0; round < rounds; round++) {
        for (int norm = 0; norm < TEST_ROWS_NORMS; norm++) {
            for (int i = 0; i < 2; i++) {
                const int values = round % TEST_ROWS_VALUES;
                const double p = test_rows_norms[norm];
                const int kind = lands ? (round + norm) % TEST_ROWS_LANDINGS : -1;
                test_note("seed %d, round %d, p %g, domain %d, values %d, landing %d", SEED, round, p, i,
                          values, kind);
                test_rows made = test_rows_make_landing(context, &random, p, domains[i], values, kind);
                made.rows.order = &made.order;
                test(&made, &random);
                test_rows_clear(&made);
            }
        }
    }
    test_note_clear();
}

static void each_case(nadir_context *context, int rounds, void (*test)(test_rows *, nadir_random *))
{
    each_landing(context, rounds, false, test);
    each_landing(context, rounds, true, test);
}

/* Groups of one row, of a state, of all. */
static void share_test(test_rows *made, nadir_random *random)
{
    const double beta = random_radius(random);
    const int64_t state = (int64_t)nadir_random_below(random, (uint64_t)made->states);
    const int64_t first = made->model->state_rows[state];
    nadir_lmo_budget budget = {0};
    check_share(made, first, first + 1, beta, &budget);
    budget = (nadir_lmo_budget){0};
    check_share(made, first, made->model->state_rows[state + 1], beta, &budget);
    budget = (nadir_lmo_budget){0};
    check_share(made, 0, made->count, beta, &budget);
    /* once more from the answers, and for another v and radius from them */
    const double gain = budget.gain;
    check_share(made, 0, made->count, beta, &budget);
    assert_close(budget.gain / (gain > 0 ? gain : 1), gain > 0 ? 1 : 0, gap_allowed(made->rows.p));
    test_rows_set(made, random, (int)nadir_random_below(random, 4));
    check_share(made, 0, made->count, random_radius(random), &budget);
}

static void test_share(void **state)
{
    nadir_context *context = *state;
    each_case(context, test_often(ROUNDS), share_test);
}

/* All rows on several threads give what one gives. */
static void all_test(test_rows *made, nadir_random *random)
{
    const double beta = random_radius(random);
    nadir_lmo_budget one = {0};
    nadir_lmo_budget all = {0};
    nadir_lmo_solution *answers = calloc((size_t)made->count, sizeof *answers);
    assert_non_null(answers);
    nadir_lmo_solve(&made->rows, 0, made->count, made->weights, beta, made->room, made->answers, &one);
    assert_ok(made->context,
              nadir_lmo_solve_all(made->context, &made->rows, made->weights, beta, answers, &all));
    assert_memory_equal(&one, &all, sizeof one);
    for (int64_t row = 0; row < made->count; row++) {
        assert_true(answers[row].omega == made->answers[row].omega);
        assert_true(answers[row].gain == made->answers[row].gain);
    }
    free(answers);
}

static void test_share_all(void **state)
{
    nadir_context *context = *state;
    each_case(context, test_often(4), all_test);
}

/* Prices: nothing allowed is cheaper, and the multiplier of a budget as price gives the budget's answer. */
static void price_test(test_rows *made, nadir_random *random)
{
    if (isinf(made->rows.p)) {
        return;
    }
    double *X = calloc((size_t)made->states, sizeof *X);
    assert_non_null(X);
    for (int64_t row = 0; row < made->count; row++) {
        const double weight = made->weights[row];
        const double size = made->order.range > 0 ? made->order.range : 1;
        const double price = size * weight * pow(10, 3 * nadir_random_normal(random));
        nadir_lmo_solution *answer = &made->answers[row];
        nadir_lmo_solve_penalized(&made->rows, row, weight, price, made->room, answer);
        check_rows(made, row, row + 1);
        const double kept = weight * answer->gain - price * pow(answer->norm, made->rows.p);
        const nadir_lmo_row_bound bound = nadir_lmo_bound(&made->rows, row, answer, made->room);
        const double best = nadir_lmo_bound_penalized(&made->rows, row, weight, price, &bound);
        const double far = made->rows.p == 1 && made->scales[row] > 0 ? 1e-14 * price / made->scales[row] : 0;
        const double slack = gap_allowed(made->rows.p) * weight * answer->gain + 4e-15 * weight * size + far;
        assert_that(best >= kept - 1e-15 * weight * answer->gain && best <= kept + slack,
                    "row %d: %.17g kept, bound %.17g, gain %g", (int)row, kept, best, answer->gain);
        for (int i = 0; i < 5 && made->scales[row] > 0 && price > 0; i++) {
            test_rows_random(made, random, row, 3 * nadir_random_uniform(random), X);
            const double cost = price * pow(test_rows_norm(made, row, X), made->rows.p);
            assert_that(weight * test_rows_gain(made, row, X) - cost <= best + 1e-14 * weight * size,
                        "row %d: %.17g kept at norm %g, not %.17g", (int)row,
                        weight * test_rows_gain(made, row, X) - cost, test_rows_norm(made, row, X), best);
        }
    }
    free(X);
}

static void test_penalized(void **state)
{
    nadir_context *context = *state;
    each_case(context, test_often(12), price_test);
}

/* tau of a budget, as a price, asks for the budget's own answer. */
static void multiplier_test(test_rows *made, nadir_random *random)
{
    const double beta = random_radius(random);
    nadir_lmo_budget budget = {0};
    if (isinf(made->rows.p) || made->rows.p == 1 || made->rows.p < 1.01 || made->rows.p > 100) {
        return;
    }
    nadir_lmo_solve(&made->rows, 0, made->count, made->weights, beta, made->room, made->answers, &budget);
    if (!(budget.tau > 0) || !isfinite(budget.tau)) {
        return;
    }
    for (int64_t row = 0; row < made->count; row++) {
        nadir_lmo_solution answer = {0};
        nadir_lmo_solve_penalized(&made->rows, row, made->weights[row], budget.tau, made->room, &answer);
        const double expected = made->answers[row].gain;
        assert_that(fabs(answer.gain - expected) <= 1e-9 * expected + 1e-13 * made->order.range,
                    "row %d: gain %.17g, not %.17g", (int)row, answer.gain, expected);
    }
}

static void test_multiplier(void **state)
{
    nadir_context *context = *state;
    each_case(context, test_often(12), multiplier_test);
}

/* No other rows of the ball gain more than the bound, which takes any numbers whatever. */
static void attack_test(test_rows *made, nadir_random *random)
{
    const double beta = random_radius(random);
    nadir_lmo_budget budget = {0};
    check_share(made, 0, made->count, beta, &budget);
    double *others = calloc((size_t)(made->count * made->states), sizeof *others);
    double *norms = calloc((size_t)made->count, sizeof *norms);
    assert_non_null(others);
    assert_non_null(norms);
    double scale = 0;
    for (int64_t row = 0; row < made->count; row++) {
        nadir_lmo_solution wrong = made->answers[row];
        if (nadir_random_below(random, 2) == 0) {
            wrong.omega += 0.3 * nadir_random_normal(random);
            wrong.step *= nadir_random_exponential(random);
        }
        made->bounds[row] = nadir_lmo_bound(&made->rows, row, &wrong, made->room);
        scale += made->weights[row] * made->order.range;
    }
    const double bound =
        nadir_lmo_bound_shared(&made->rows, 0, made->count, made->weights, beta, 0, made->bounds);
    assert_that(bound >= budget.gain * (1 - 1e-14), "bound %g below the gain %g", bound, budget.gain);
    for (int i = 0; i < 10; i++) {
        double gain = 0;
        double left = 1; /* of beta^p */
        for (int64_t row = 0; row < made->count; row++) {
            const double part = nadir_random_uniform(random) * left;
            const double norm = isinf(made->rows.p) ? beta : beta * pow(part, 1 / made->rows.p);
            left -= isinf(made->rows.p) ? 0 : part;
            if (made->scales[row] > 0) {
                double *X = others + row * made->states;
                test_rows_random(made, random, row, norm, X);
                gain += made->weights[row] * test_rows_gain(made, row, X);
                const double alone = nadir_lmo_bound_radius(&made->bounds[row], made->scales[row] * norm);
                assert_that(test_rows_gain(made, row, X) <= alone + 1e-15 * made->order.range,
                            "row %d alone gains more than %g", (int)row, alone);
            }
        }
        assert_that(gain <= bound + 1e-15 * scale, "gain %.17g, bound %.17g", gain, bound);
    }
    free(others);
    free(norms);
}

static void test_attack(void **state)
{
    nadir_context *context = *state;
    each_case(context, test_often(14), attack_test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_share),     test_with_context(test_share_all),
        test_with_context(test_penalized), test_with_context(test_multiplier),
        test_with_context(test_attack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

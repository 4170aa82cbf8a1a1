/* test_fit_draws.c: random variates against exact distributions, distances of posterior rows and of bootstrap
 * estimates against exact moments and against another generator, and radii against exact quantiles. */
#include "support/support.h"

#include "fit/radii.h"
#include "fit/variates.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t seed = 20261115;

/* ---------------------------------------------------------------------------------------- variates */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov's distance from the exact distribution, and how many are in the tail beyond the layers on either side. */
static void test_normal(void **state)
{
    const int count = test_often(400000);
    const double start = nadir_normal_layers[1];
    double *x = malloc((size_t)count * sizeof *x);
    double farthest = 0;
    int beyond[2] = {0};
    (void)state;
    nadir_random random = test_random(seed + 4);
    for (int k = 0; k < count; k++) {
        x[k] = nadir_normal_variate(&random);
        beyond[0] += x[k] < -start ? 1 : 0;
        beyond[1] += x[k] > start ? 1 : 0;
    }
    qsort(x, (size_t)count, sizeof *x, compare);
    for (int k = 0; k < count; k++) {
        farthest = fmax(farthest, fabs(0.5 * erfc(-x[k] / sqrt(2)) - (k + 0.5) / count));
    }
    const double expected = 0.5 * erfc(start / sqrt(2)) * count;
    assert_that(farthest < 2.2 / sqrt(count), "%g", farthest); /* 1 in 8000 by chance */
    for (int side = 0; side < 2; side++) {
        assert_that(fabs(beyond[side] - expected) < 5 * sqrt(expected) + 3, "%d beyond, not %g", beyond[side],
                    expected);
    }
    /* layers have the same area, f(x) = exp(-x^2/2), and the last one ends at its top */
    for (int i = 1; i < NADIR_NORMAL_LAYERS; i++) {
        const double *layers = nadir_normal_layers;
        const double area =
            layers[i] * (exp(-0.5 * layers[i + 1] * layers[i + 1]) - exp(-0.5 * layers[i] * layers[i]));
        assert_close(area, layers[0] * exp(-0.5 * start * start), 1e-12);
    }
    assert_close(start * exp(-0.5 * start * start) + sqrt(acos(0)) * erfc(start / sqrt(2)),
                 nadir_normal_layers[0] * exp(-0.5 * start * start), 1e-14);
    free(x);
}

/* Mean and variance are the shape; six standard errors. */
static void test_gamma_moments(void **state)
{
    static const double shapes[] = {0.02, 0.3, 1, 2.5, 40, 1e6};
    const int count = test_often(200000);
    (void)state;
    nadir_random random = test_random(seed);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const double shape = shapes[i];
        double sum = 0;
        double squares = 0;
        for (int k = 0; k < count; k++) {
            const double x = nadir_gamma_variate(&random, shape);
            assert_true(x >= 0 && isfinite(x));
            sum += x - shape;
            squares += (x - shape) * (x - shape);
        }
        const double n = count;
        /* the fourth central moment is 3 shape^2 + 6 shape */
        assert_that(fabs(sum / n) < 6 * sqrt(shape / n), "shape %g: mean off by %g", shape, sum / n);
        assert_that(fabs(squares / n - shape) < 6 * sqrt((2 * shape * shape + 6 * shape) / n),
                    "shape %g: variance %g", shape, squares / n);
    }
}

/* Kolmogorov's distance from the exact distributions of shapes 1/2 (erf of the root), 1 and 2. */
static void test_gamma_distribution(void **state)
{
    const int count = test_often(100000);
    double *x = malloc((size_t)count * sizeof *x);
    (void)state;
    nadir_random random = test_random(seed + 1);
    for (int shape = 0; shape < 3; shape++) {
        double farthest = 0;
        for (int k = 0; k < count; k++) {
            x[k] = nadir_gamma_variate(&random, shape == 0 ? 0.5 : shape);
        }
        qsort(x, (size_t)count, sizeof *x, compare);
        for (int k = 0; k < count; k++) {
            const double exact = shape == 0   ? erf(sqrt(x[k]))
                                 : shape == 1 ? -expm1(-x[k])
                                              : 1 - (1 + x[k]) * exp(-x[k]);
            farthest = fmax(farthest, fabs(exact - (k + 0.5) / count));
        }
        assert_that(farthest < 2.2 / sqrt(count), "shape %d: %g", shape, farthest); /* 1 in 8000 by chance */
    }
    free(x);
}

/* Every outcome as often as the binomial formula says: chi-squared of 7 or more expected. */
static void test_binomial(void **state)
{
    static const struct {
        int trials;
        double p;
    } cases[] = {{10, 0.3}, {40, 0.7}, {200, 0.01}, {1, 0.5}, {60, 0.5}};
    const int count = test_often(40000);
    (void)state;
    nadir_random random = test_random(seed + 2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int n = cases[i].trials;
        int seen[201] = {0};
        double square = 0;
        int classes = 0;
        for (int k = 0; k < count; k++) {
            const int64_t x = nadir_binomial_variate(&random, n, cases[i].p);
            assert_in_range(x, 0, n);
            seen[x]++;
        }
        for (int x = 0; x <= n; x++) {
            const double expected = count * exp(lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1) +
                                                x * log(cases[i].p) + (n - x) * log1p(-cases[i].p));
            if (expected >= 7) {
                square += (seen[x] - expected) * (seen[x] - expected) / expected;
                classes++;
            }
        }
        assert_that(square < classes + 6 * sqrt(2 * classes) + 6, "%d trials of %g: %g in %d classes", n,
                    cases[i].p, square, classes);
    }
    assert_int_equal(nadir_binomial_variate(&random, 1000, 0), 0);
    assert_int_equal(nadir_binomial_variate(&random, 1000, 1), 1000);
}

/* The sum of squares of a symmetric Dirichlet of K pieces is (a + 1) / (K a + 1) in the mean. */
static void test_stick(void **state)
{
    enum { PIECES = 10 };
    double pieces[PIECES];
    const int count = test_often(20000);
    const double each = 0.2;
    double sum = 0;
    (void)state;
    nadir_random random = test_random(seed + 3);
    for (int k = 0; k < count; k++) {
        double rest;
        double whole = 0;
        const int64_t made = nadir_stick_pieces(&random, PIECES, each, 1e-12, pieces, &rest);
        for (int64_t i = 0; i < made; i++) {
            whole += pieces[i];
            sum += pieces[i] * pieces[i];
        }
        assert_close(whole + rest, 1, 1e-12);
    }
    assert_close(sum / count, (each + 1) / (PIECES * each + 1), 1 / sqrt(count));
}

/* --------------------------------------------------------------------------------------- distances */

/* Evidence of one state with one row for each list of counts, `successors` states being possible. */
typedef struct hand_made {
    nadir_counts counts;
    nadir_data data;
    nadir_evidence evidence;
    int64_t state_rows[512];
    int64_t row_starts[8];
    int32_t columns[64];
    double numbers[64];
} hand_made;

static void make_evidence(nadir_context *context, hand_made *made, int rows, int64_t successors,
                          const double *const *counts, const int *lengths, double prior)
{
    const nadir_evidence_settings settings = {.all = true, .prior = prior, .concentration = NAN};
    int64_t at = 0;
    for (int row = 0; row < rows; row++) {
        made->row_starts[row] = at;
        for (int i = 0; i < lengths[row]; i++) {
            made->columns[at] = i;
            made->numbers[at++] = counts[row][i];
        }
    }
    made->row_starts[rows] = at;
    for (int64_t s = 0; s <= successors; s++) {
        made->state_rows[s] = s == 0 ? 0 : rows;
    }
    made->counts = (nadir_counts){.states = successors,
                                  .rows = rows,
                                  .nonzeros = at,
                                  .state_rows = made->state_rows,
                                  .row_starts = made->row_starts,
                                  .columns = made->columns,
                                  .counts = made->numbers};
    made->data = (nadir_data){.kind = NADIR_DATA_COUNTS, .counts = &made->counts};
    assert_ok(context, nadir_evidence_make(context, &made->data, &settings, &made->evidence));
}

/* 1 - |m|^2 of a row. */
static double spread_of_mean(const double *counts, int length, double visits, double prior, double successors)
{
    const double total = visits + prior;
    double square = (successors - length) * pow(prior / successors / total, 2);
    for (int i = 0; i < length; i++) {
        square += pow((counts[i] + prior / successors) / total, 2);
    }
    return 1 - square;
}

static double average(int64_t count, const double *x)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        sum += x[k] / (double)count;
    }
    return sum;
}

/* E|P - m|_2^2 = (1 - |m|^2) / (N + A + 1), few and many successors not seen; and of bootstrap estimates. */
static void test_second_moments(void **state)
{
    static const double counts[] = {7, 2, 11};
    static const double *const rows[] = {counts};
    static const int lengths[] = {3};
    nadir_context *context = *state;
    const int64_t count = test_often(60000);
    double *powers = malloc((size_t)count * sizeof *powers);
    for (int64_t successors = 3; successors <= 300; successors *= 10) {
        for (int i = 0; i < 3; i++) {
            static const double priors[] = {0.5, 1.5, 4.5};
            const double prior = priors[i];
            hand_made made;
            make_evidence(context, &made, 1, successors, rows, lengths, prior);
            nadir_posterior_draws draws = {
                .evidence = &made.evidence, .norm = 2, .count = count, .seed = seed};
            double *room = malloc((size_t)nadir_posterior_draws_work_length(&draws) * sizeof *room);
            const double g = spread_of_mean(counts, 3, 20, prior, (double)successors);
            test_note("%d successors, prior %g", (int)successors, prior);
            nadir_posterior_draws_row(&draws, 0, room, powers);
            const double exact = g / (20 + prior + 1);
            assert_close(average(count, powers) / exact, 1, 8 / sqrt((double)count));
            draws.bootstrap = true;
            nadir_posterior_draws_row(&draws, 0, room, powers);
            const double to_uniform = 1 - g - 1 / (double)successors;
            const double bootstrap = (19 * g + prior * prior * to_uniform) / pow(19 + prior, 2);
            assert_close(average(count, powers) / bootstrap, 1, 8 / sqrt((double)count));
            free(room);
            nadir_evidence_clear(context, &made.evidence);
        }
    }
    test_note_clear();
    free(powers);
}

/* A gamma variate of whole shape from another generator: -log of a product of uniform numbers. */
static double brute_gamma(uint64_t *lcg, int shape)
{
    double sum = 0;
    for (int i = 0; i < shape; i++) {
        *lcg = *lcg * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sum -= log(((double)(*lcg >> 11) + 0.5) * 0x1p-53);
    }
    return sum;
}

/* With the prior of weight 2 the truth is on average no farther than kernels of the posterior, also where it
 * is certain: 2 (1 - 1/K)^(1/2) / (N + 2) from the mean. Where there is much spread nothing is widened. */
static void test_certain_rows(void **state)
{
    static const double visits[] = {1, 3, 30, 0.5, 1e15};
    static const double spread[] = {6, 6, 6};
    static const double *const spread_rows[] = {spread};
    static const int lengths[] = {1};
    static const int three[] = {3};
    nadir_context *context = *state;
    const int64_t count = test_often(60000);
    double *powers = malloc((size_t)count * sizeof *powers);
    double room[8];
    hand_made made;
    for (int i = 0; i < 5; i++) {
        const double *const rows[] = {&visits[i]};
        make_evidence(context, &made, 1, 4, rows, lengths, 2);
        const nadir_posterior_draws draws = {
            .evidence = &made.evidence, .norm = 2, .count = count, .seed = seed};
        nadir_posterior_draws_row(&draws, 0, room, powers);
        test_note("%g visits", visits[i]);
        assert_close(average(count, powers) / (4 * 0.75 / pow(visits[i] + 2, 2)), 1,
                     15 / sqrt((double)count));
        nadir_evidence_clear(context, &made.evidence);
    }
    make_evidence(context, &made, 1, 4, spread_rows, three, 2);
    const nadir_posterior_draws draws = {.evidence = &made.evidence, .norm = 2, .count = count, .seed = seed};
    nadir_posterior_draws_row(&draws, 0, room, powers);
    const double exact = spread_of_mean(spread, 3, 18, 2, 4) / 21;
    assert_close(average(count, powers) / exact, 1, 8 / sqrt((double)count));
    test_note_clear();
    nadir_evidence_clear(context, &made.evidence);
    free(powers);
}

/* Distances at p = 1, 2, 3 and infinity: quantiles against brute force. Four possible successors, a = 1. */
static void test_against_brute_force(void **state)
{
    static const double norms[] = {1, 2, 3, INFINITY};
    static const double counts[] = {4, 1, 2};
    static const double *const rows[] = {counts};
    static const int lengths[] = {3};
    static const int shapes[] = {5, 2, 3, 1};
    nadir_context *context = *state;
    const int64_t count = test_often(40000);
    double *powers = malloc((size_t)count * sizeof *powers);
    double *brute = malloc((size_t)count * sizeof *brute);
    uint64_t lcg = seed;
    hand_made made;
    make_evidence(context, &made, 1, 4, rows, lengths, 4);
    for (int i = 0; i < 4; i++) {
        const nadir_posterior_draws draws = {
            .evidence = &made.evidence, .norm = norms[i], .count = count, .seed = seed};
        double room[8];
        test_note("norm %g", norms[i]);
        nadir_posterior_draws_row(&draws, 0, room, powers);
        for (int64_t k = 0; k < count; k++) {
            double g[4];
            double total = 0;
            brute[k] = 0;
            for (int t = 0; t < 4; t++) {
                g[t] = brute_gamma(&lcg, shapes[t]);
                total += g[t];
            }
            for (int t = 0; t < 4; t++) {
                const double distance = fabs(g[t] / total - shapes[t] / 11.0);
                brute[k] = isinf(norms[i]) ? fmax(brute[k], distance) : brute[k] + pow(distance, norms[i]);
            }
        }
        qsort(powers, (size_t)count, sizeof *powers, compare);
        qsort(brute, (size_t)count, sizeof *brute, compare);
        for (int level = 10; level < 100;
             level += 20) { /* how much of the one lies below a quantile of the other */
            const double quantile = brute[count * level / 100];
            int64_t below = 0;
            while (below < count && powers[below] <= quantile) {
                below++;
            }
            assert_close((double)below / (double)count, level / 100.0, 5 * sqrt(0.5 / (double)count));
        }
    }
    test_note_clear();
    nadir_evidence_clear(context, &made.evidence);
    free(powers);
    free(brute);
}

/* ----------------------------------------------------------------------------------------- radii */

static void test_order_statistics(void **state)
{
    double values[200];
    double sorted[200] = {0};
    (void)state;
    nadir_random random = test_random(seed + 4);
    for (int count = 1; count <= 200; count += 13) {
        for (int k = 1; k <= count; k++) {
            for (int i = 0; i < count; i++) {
                values[i] = (double)nadir_random_below(&random, 50); /* with ties */
                sorted[i] = values[i];
            }
            qsort(sorted, (size_t)count, sizeof *sorted, compare);
            assert_true(nadir_order_statistic(count, values, k) == sorted[k - 1]);
        }
    }
    /* 0.95^58 = 0.0510, 0.95^59 = 0.0485: Wilks (1941) */
    assert_int_equal(nadir_quantile_rank(58, 0.95, 0.05), 59);
    assert_int_equal(nadir_quantile_rank(59, 0.95, 0.05), 59);
    /* the normal approximation of 10000 draws: 9500 + 3.09 * 21.8 */
    assert_in_range(nadir_quantile_rank(10000, 0.95, 1e-3), 9563, 9571);
}

/* Beta(2, 2): |P - m|_2 = sqrt(2) |x - 1/2| <= r with probability F(1/2 + t) - F(1/2 - t), t = r / sqrt(2),
 * F = 3 x^2 - 2 x^3. Two such rows in two sets of scales: the product rule for the sa-rectangular one. */
static double mass_of(double r)
{
    const double high = fmin(0.5 + r / sqrt(2), 1);
    const double low = 1 - high;
    return high * high * (3 - 2 * high) - low * low * (3 - 2 * low);
}

static void test_radii_hold_their_share(void **state)
{
    static const double counts[] = {1, 1};
    static const double *const rows[] = {counts, counts};
    static const int lengths[] = {2, 2};
    static double ones[] = {1, 1};
    static double lopsided[] = {1, 1e-9};
    nadir_context *context = *state;
    const int64_t count = test_memcheck() ? 2000 : 20000;
    double row_radii[2];
    double state_radii[2];
    hand_made made;
    for (int rows_count = 1; rows_count <= 2; rows_count++) {
        make_evidence(context, &made, rows_count, 2, rows, lengths, 2);
        const nadir_posterior_draws draws = {
            .evidence = &made.evidence, .norm = 2, .count = count, .seed = seed};
        nadir_draw_radii tally = {.confidence = 0.9,
                                  .candidates = 2,
                                  .scales = {ones, lopsided},
                                  .state_scales = ones,
                                  .state_radii = state_radii,
                                  .row_radii = row_radii};
        assert_ok(context, nadir_draw_radii_compute(context, &draws, &tally));
        const double together = mass_of(row_radii[0]) * (rows_count == 2 ? mass_of(row_radii[1]) : 1);
        /* at least the share, and not much more: 3.1 standard errors of the margin and 5 of the draws */
        assert_that(together > 0.9 && together < 0.9 + 8 * sqrt(0.09 / (double)count), "%g", together);
        /* but for a quotient and a product more, which round */
        assert_close(tally.radii[0], state_radii[0], 4 * DBL_EPSILON);
        if (rows_count == 1) {
            assert_close(tally.radii[0], row_radii[0], 4 * DBL_EPSILON);
        } else { /* the second row alone decides */
            const double mass = mass_of(tally.radii[1] * 1e-9);
            assert_that(mass > 0.9 && mass < 0.9 + 8 * sqrt(0.09 / (double)count), "%g", mass);
        }
        nadir_evidence_clear(context, &made.evidence);
    }
}

/* Of a steep norm the radii are those of the largest entry but for n^(1/p), where powers would be nothing or
 * infinite; no radius is less than at infinity. */
static void test_steep_norms(void **state)
{
    static const double counts[] = {900, 1e6};
    static const double *const rows[] = {counts, counts};
    static const int lengths[] = {2, 2};
    static double scales[] = {1, 1e-3};
    static const double norms[] = {INFINITY, 33, 1000, 1e6};
    nadir_context *context = *state;
    double row_radii[2];
    double state_radii[2];
    double first[3] = {0};
    hand_made made;
    make_evidence(context, &made, 2, 2, rows, lengths, 2);
    for (int i = 0; i < 4; i++) {
        const nadir_posterior_draws draws = {
            .evidence = &made.evidence, .norm = norms[i], .count = 500, .seed = seed};
        nadir_draw_radii tally = {.confidence = 0.9,
                                  .candidates = 1,
                                  .scales = {scales},
                                  .state_scales = scales,
                                  .state_radii = state_radii,
                                  .row_radii = row_radii};
        assert_ok(context, nadir_draw_radii_compute(context, &draws, &tally));
        if (i == 0) {
            first[0] = tally.radii[0];
            first[1] = state_radii[0];
            first[2] = row_radii[1];
            assert_true(first[0] > 0 && first[1] > 0 && first[2] > 0);
        }
        assert_close(tally.radii[0] / first[0], pow(4, 1 / norms[i]), 1e-12);
        assert_close(state_radii[0] / first[1], pow(4, 1 / norms[i]), 1e-12);
        assert_close(row_radii[1] / first[2], pow(2, 1 / norms[i]), 1e-12);
    }
    assert_close(nadir_evidence_reach(2, 1e6), 0.5 * pow(2, 1e-6), 1e-12);
    assert_close(nadir_evidence_reach(5, 3), cbrt(0.512 + 4 * 0.008), 1e-15);
    nadir_evidence_clear(context, &made.evidence);
}

/* The same bits with one thread and with several; another seed gives other ones. */
static void test_threads(void **state)
{
    enum { STATES = 100 };
    nadir_context_settings settings;
    static int64_t state_rows[STATES + 1];
    static int64_t row_starts[STATES + 1];
    static int32_t columns[2 * STATES];
    static double numbers[2 * STATES];
    static double scales[STATES];
    static double state_radii[STATES];
    static double row_radii[STATES];
    double radii[3];
    (void)state;
    for (int s = 0; s <= STATES; s++) {
        state_rows[s] = s;
        row_starts[s] = 2 * (int64_t)s;
    }
    for (int s = 0; s < STATES; s++) {
        columns[2 * s] = 3;
        columns[2 * s + 1] = 7;
        numbers[2 * s] = 1 + s % 5;
        numbers[2 * s + 1] = 4;
        scales[s] = 1 + s % 3;
    }
    nadir_counts counts = {.states = STATES,
                           .rows = STATES,
                           .nonzeros = 2 * STATES,
                           .state_rows = state_rows,
                           .row_starts = row_starts,
                           .columns = columns,
                           .counts = numbers};
    const nadir_data data = {.kind = NADIR_DATA_COUNTS, .counts = &counts};
    const nadir_evidence_settings wanted = {.prior = 2, .concentration = NAN};
    for (int i = 0; i < 3; i++) {
        nadir_context *context = NULL;
        nadir_evidence evidence;
        nadir_context_settings_default(&settings);
        settings.threads = i == 1 ? 4 : 1;
        assert_int_equal(nadir_context_create(&settings, &context), NADIR_OK);
        assert_ok(context, nadir_evidence_make(context, &data, &wanted, &evidence));
        const nadir_posterior_draws draws = {
            .evidence = &evidence, .norm = 2, .count = 2000, .seed = i == 2 ? seed + 1 : seed};
        nadir_draw_radii tally = {.confidence = 0.95,
                                  .candidates = 1,
                                  .scales = {scales},
                                  .state_scales = scales,
                                  .state_radii = state_radii,
                                  .row_radii = row_radii};
        assert_ok(context, nadir_draw_radii_compute(context, &draws, &tally));
        radii[i] = tally.radii[0];
        nadir_evidence_clear(context, &evidence);
        nadir_context_free(context);
    }
    assert_true(radii[0] == radii[1]);
    assert_true(radii[0] != radii[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal),
        cmocka_unit_test(test_gamma_moments),
        cmocka_unit_test(test_gamma_distribution),
        cmocka_unit_test(test_binomial),
        cmocka_unit_test(test_stick),
        test_with_context(test_second_moments),
        test_with_context(test_certain_rows),
        test_with_context(test_against_brute_force),
        cmocka_unit_test(test_order_statistics),
        test_with_context(test_radii_hold_their_share),
        test_with_context(test_steep_norms),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_fit_concentration.c: the bound for every kernel, attacked: kernels that are hard to estimate,
 * simulated data, and how often the distance is larger than the bound. */
#include "support/support.h"

#include "fit/radii.h"
#include "fit/variates.h"

#include <math.h>

enum { ROWS = 6, STATES = 8 };

static const uint64_t seed = 411;

/* A kernel of one state's six rows with its evidence, all visited `visits` times or so. */
typedef struct experiment {
    double truth[ROWS][STATES];
    int64_t visits[ROWS];
    double frequencies[ROWS][STATES];
    unsigned char kinds[ROWS];
    int64_t allowed[ROWS];
    double totals[ROWS];
    double each[ROWS];
    nadir_evidence evidence;
} experiment;

/* kind 0: certain; 1: two halves; 2: uniform; 3: one rare successor; 4: falling. */
static void set_up(experiment *of, int kind, int64_t visits, double prior)
{
    for (int row = 0; row < ROWS; row++) {
        double sum = 0;
        for (int t = 0; t < STATES; t++) {
            const double rare = 1.0 / (double)visits;
            of->truth[row][t] = kind == 0   ? (t == row ? 1 : 0)
                                : kind == 1 ? (t == row || t == row + 1 ? 0.5 : 0)
                                : kind == 2 ? 1.0 / STATES
                                : kind == 3 ? (t == 0   ? rare
                                               : t == 5 ? 1 - rare
                                                        : 0)
                                            : pow(0.5, t);
            sum += of->truth[row][t];
        }
        for (int t = 0; t < STATES; t++) {
            of->truth[row][t] /= sum;
        }
        of->visits[row] = visits * (row + 1) / 2 + 1;
        of->kinds[row] = NADIR_ROW_DRAWN;
        of->allowed[row] = STATES;
        of->totals[row] = (double)of->visits[row];
        of->each[row] = prior / STATES;
    }
    of->evidence = (nadir_evidence){.states = STATES,
                                    .rows = ROWS,
                                    .kinds = of->kinds,
                                    .allowed = of->allowed,
                                    .visits = of->totals,
                                    .each = of->each};
}

/* Distance of the truth from the mean of simulated data, each row divided by its scale. */
static double simulate(experiment *of, nadir_random *random, double norm, const double *scales, double *rows)
{
    double all = 0;
    for (int row = 0; row < ROWS; row++) {
        int64_t left = of->visits[row];
        double mass = 1;
        double sum = 0;
        for (int t = 0; t < STATES; t++) {
            const double p = of->truth[row][t];
            const int64_t got =
                t == STATES - 1 || p >= mass ? left : nadir_binomial_variate(random, left, p / mass);
            const double total = of->totals[row] + of->each[row] * STATES;
            const double distance = fabs(((double)got + of->each[row]) / total - p);
            left -= got;
            mass -= p;
            sum = isinf(norm) ? fmax(sum, distance) : sum + pow(distance, norm);
        }
        rows[row] = isinf(norm) ? sum : pow(sum, 1 / norm);
        all = isinf(norm) ? fmax(all, rows[row] / scales[row]) : all + pow(rows[row] / scales[row], norm);
    }
    return isinf(norm) ? all : pow(all, 1 / norm);
}

/* No more than one in ten exceeds a bound of risk 0.1, for every kernel; and the bound is no more than a few
 * times what it could be. */
static void test_bound_holds(void **state)
{
    static const double norms[] = {1, 1.5, 2, 3, INFINITY};
    static const double scales[ROWS] = {1, 0.3, 2, 1, 1, 0.7};
    const int often = test_often(500);
    (void)state;
    nadir_random random = test_random(seed);
    for (int n = 0; n < 5; n++) {
        for (int kind = 0; kind < 5; kind++) {
            for (int64_t visits = 1; visits <= 100; visits *= 10) {
                experiment of;
                double rows[ROWS];
                int beyond = 0;
                double largest = 0;
                set_up(&of, kind, visits, kind % 2 == 0 ? 0 : 2);
                const double bound = nadir_concentration_radius(&of.evidence, norms[n], 0, ROWS, scales, 0.1);
                for (int k = 0; k < often; k++) {
                    const double distance = simulate(&of, &random, norms[n], scales, rows);
                    beyond += distance > bound ? 1 : 0;
                    largest = fmax(largest, distance);
                }
                test_note("norm %g, kernel %d, %d visits", norms[n], kind, (int)visits);
                assert_that(beyond <= 0.1 * often + 4 * sqrt(0.09 * often), "%d of %d beyond %g", beyond,
                            often, bound);
                if (kind == 2) {
                    assert_that(bound < 6 * largest, "the bound is %g, the largest of all %g", bound,
                                largest);
                }
            }
        }
    }
    test_note_clear();
}

/* Radii of single rows hold all at once, whatever scales are chosen after the data were seen: the scales that
 * make the most of them are the reciprocals of the distances. */
static void test_scales_from_data(void **state)
{
    const int often = test_often(400);
    double bounds[ROWS];
    (void)state;
    nadir_random random = test_random(seed + 1);
    for (int kind = 0; kind < 5; kind++) {
        experiment of;
        int beyond = 0;
        set_up(&of, kind, 20, 0);
        for (int row = 0; row < ROWS; row++) {
            bounds[row] = nadir_concentration_radius(&of.evidence, 2, row, row + 1, NULL, 0.1 / ROWS);
        }
        for (int k = 0; k < often; k++) {
            static const double ones[ROWS] = {1, 1, 1, 1, 1, 1};
            double rows[ROWS];
            double scales[ROWS];
            double distance = 0;
            (void)simulate(&of, &random, 2, ones, rows);
            for (int row = 0; row < ROWS; row++) {
                scales[row] = 1 / (rows[row] + 1e-3);
                distance = hypot(distance, rows[row] / scales[row]);
            }
            beyond += distance > nadir_concentration_gather(&of.evidence, 2, scales, bounds) ? 1 : 0;
        }
        assert_that(beyond <= 0.1 * often, "kernel %d: %d of %d", kind, beyond, often);
    }
}

/* The bound is continuous at p = 2, where the exponent of the variances grows without limit, and at infinity:
 * no power leaves the range of doubles on the way. */
static void test_steep_norms(void **state)
{
    static const double scales[ROWS] = {1, 0.3, 2, 1, 1, 0.7};
    (void)state;
    for (int64_t visits = 1; visits <= 100000; visits *= 10) {
        experiment of;
        double together[2];
        set_up(&of, 2, visits, 2);
        const double at[4] = {2 - 1e-9, 2, 1e6, INFINITY};
        double bounds[4];
        for (int i = 0; i < 4; i++) {
            double rows[ROWS];
            bounds[i] = nadir_concentration_radius(&of.evidence, at[i], 0, ROWS, scales, 0.1);
            for (int row = 0; row < ROWS; row++) {
                rows[row] = nadir_concentration_radius(&of.evidence, at[i], row, row + 1, NULL, 0.1 / ROWS);
            }
            together[i % 2] = nadir_concentration_gather(&of.evidence, at[i], scales, rows);
            if (i % 2 == 1) {
                assert_close(bounds[i - 1] / bounds[i], 1, 1e-4);
                assert_close(together[0] / together[1], 1, 1e-4);
            }
        }
    }
}

/* A row without data is as far away as it can be, a known row not at all; more visits, a smaller bound. */
static void test_limits(void **state)
{
    experiment of;
    (void)state;
    set_up(&of, 2, 10, 0);
    of.totals[0] = 0;
    of.kinds[0] = NADIR_ROW_UNSEEN;
    of.kinds[1] = NADIR_ROW_KNOWN;
    assert_close(nadir_concentration_radius(&of.evidence, 2, 0, 1, NULL, 0.05), sqrt(1 - 1.0 / STATES), 1e-9);
    assert_true(nadir_concentration_radius(&of.evidence, 2, 1, 2, NULL, 0.05) == 0);
    assert_true(nadir_concentration_deviation(&of.evidence, 2, 1) == 0);
    double before = INFINITY;
    for (int zeros = 0; zeros < 9; zeros++) {
        of.totals[2] = pow(10, zeros);
        const double bound = nadir_concentration_radius(&of.evidence, 2, 2, 3, NULL, 0.05);
        assert_true(bound <= before && bound <= sqrt(2) * (1 + 1e-9));
        before = bound;
    }
    /* far out it is E + sqrt of a variance: McDiarmid's sqrt(ln 20 / N) and sqrt(7/8 / N), or less */
    assert_true(before <= (sqrt(7.0 / 8) + sqrt(log(20))) / sqrt(1e8) * (1 + 1e-6));
}

/* Six rows visited 10000 times: the inequality of Klein and Rio, its t found by halving. */
static void test_formula(void **state)
{
    experiment of;
    const double x = log(20);
    const double b = sqrt(2) / 1e4;
    const double mean = sqrt(ROWS * 7.0 / 8 / 1e4);
    const double variance = 1e4 * b * b / 4;
    double low = 0;
    double high = 1;
    (void)state;
    set_up(&of, 2, 10, 0);
    for (int row = 0; row < ROWS; row++) {
        of.totals[row] = 1e4;
    }
    for (int k = 0; k < 100; k++) {
        const double t = 0.5 * (low + high);
        *(t * t < x * (2 * (variance + 2 * b * mean) + 3 * b * t) ? &low : &high) = t;
    }
    assert_close(nadir_concentration_radius(&of.evidence, 2, 0, ROWS, NULL, 0.05) / (mean + low), 1, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound_holds), cmocka_unit_test(test_scales_from_data),
        cmocka_unit_test(test_steep_norms), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

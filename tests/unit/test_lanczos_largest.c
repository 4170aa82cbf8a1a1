/* test_lanczos_largest.c: largest eigenvalues of semidefinite operators, against what they were made of. */
#include "support/support.h"

#include "linalg/lanczos.h"
#include "support/reference.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 4711

/* A = Q diag(values) Q, Q = I - 2 q q^T a reflection: its eigenvalues are known without any solver. */
typedef struct reflected {
    int64_t size;
    double *q, *values;
    double noise;     /* relative error of products */
    int64_t products; /* so far */
    int64_t fails;    /* the product that fails; 0: none */
    nadir_random random;
} reflected;

static void reflect(const reflected *at, double *x)
{
    double dot = 0;
    for (int64_t i = 0; i < at->size; i++) {
        dot += at->q[i] * x[i];
    }
    for (int64_t i = 0; i < at->size; i++) {
        x[i] -= 2 * dot * at->q[i];
    }
}

static nadir_status apply(nadir_context *context, void *user, const double *x, double *y)
{
    reflected *at = user;
    memcpy(y, x, (size_t)at->size * sizeof *y);
    reflect(at, y);
    for (int64_t i = 0; i < at->size; i++) {
        y[i] *= at->values[i];
    }
    reflect(at, y);
    for (int64_t i = 0; i < at->size && at->noise > 0; i++) {
        y[i] *= 1 + at->noise * (2 * nadir_random_uniform(&at->random) - 1);
    }
    return ++at->products == at->fails ? nadir_fail(context, NADIR_ERROR_INTERRUPTED, "stopped") : NADIR_OK;
}

/* kind 0: a gap; 1: all as large; 2: falling slowly; 3: a cluster at the top; 4: one not zero; 5: all zero.
 */
static reflected make(int64_t size, int kind, uint64_t seed)
{
    reflected made = {.size = size};
    double square = 0;
    made.q = test_new(size, sizeof *made.q);
    made.values = test_new(size, sizeof *made.values);
    nadir_random_seed(&made.random, seed);
    for (int64_t i = 0; i < size; i++) {
        const double share = (double)(i + 1) / (double)size;
        made.q[i] = nadir_random_normal(&made.random);
        square += made.q[i] * made.q[i];
        made.values[i] = kind == 0   ? (i == 0 ? 3 : share)
                         : kind == 1 ? 3
                         : kind == 2 ? 3 * share
                         : kind == 3 ? 3 - (i < size / 10 ? 1e-6 * share : 1)
                         : kind == 4 ? (i == size / 2 ? 3 : 0)
                                     : 0;
    }
    for (int64_t i = 0; i < size; i++) {
        made.q[i] /= sqrt(square);
    }
    return made;
}

static void clear(reflected *at)
{
    free(at->q);
    free(at->values);
}

static double largest_of(const reflected *at)
{
    double largest = 0;
    for (int64_t i = 0; i < at->size; i++) {
        largest = fmax(largest, at->values[i]);
    }
    return largest;
}

static nadir_largest find(nadir_context *context, reflected *at, uint64_t seed, double enough,
                          double hopeless, double tolerance, int64_t limit)
{
    const nadir_vec here = nadir_vec_host(context);
    nadir_largest found;
    nadir_random random = test_random(seed);
    assert_ok(context, nadir_lanczos_largest(&here, at->size, apply, at, &random, enough, hopeless, tolerance,
                                             limit, &found));
    return found;
}

/* value <= lambda <= upper after any number of products, and both come close. */
static void test_both_sides(void **state)
{
    static const int64_t sizes[] = {1, 2, 5, 40, 300};
    nadir_context *context = *state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int kind = 0; kind < 6; kind++) {
            reflected at = make(sizes[i], kind, SEED + i);
            const double lambda = largest_of(&at);
            for (int64_t limit = 1; limit <= NADIR_LARGEST_PRODUCTS; limit += 3) {
                const nadir_largest found = find(context, &at, SEED + (uint64_t)limit, 0, INFINITY, 0, limit);
                test_note("seed %d, size %d, kind %d, %d products", SEED, (int)sizes[i], kind, (int)limit);
                assert_true(found.products <= limit);
                assert_that(found.value <= lambda * (1 + 1e-12) + 1e-300, "value %.17g", found.value);
                assert_that(found.upper >= lambda * (1 - 1e-12), "upper %.17g", found.upper);
            }
            const nadir_largest all = find(context, &at, SEED, 0, INFINITY, 0.1, NADIR_LARGEST_PRODUCTS);
            assert_that(all.upper <= lambda * 1.101 + 1e-300, "upper %.17g of %.17g", all.upper, lambda);
            clear(&at);
        }
    }
}

/* It stops as soon as it may, and not before. */
static void test_stops(void **state)
{
    nadir_context *context = *state;
    reflected at = make(300, 2, SEED);
    const nadir_largest enough = find(context, &at, SEED, 6, INFINITY, 0, NADIR_LARGEST_PRODUCTS);
    assert_true(enough.upper <= 6 && enough.products < 25);
    const nadir_largest closer = find(context, &at, SEED, 3.5, INFINITY, 0, NADIR_LARGEST_PRODUCTS);
    assert_true(closer.upper <= 3.5 && closer.products > enough.products);
    const nadir_largest hopeless = find(context, &at, SEED, 0, 1, 0, NADIR_LARGEST_PRODUCTS);
    assert_true(hopeless.value > 1 && hopeless.products < 4);
    const nadir_largest limited = find(context, &at, SEED, 0, INFINITY, 0, 3);
    assert_true(limited.products == 3 && isinf(limited.upper));
    /* products that are off by a hundredth move the answer by about as much */
    at.noise = 0.01;
    const nadir_largest rough = find(context, &at, SEED, 0, INFINITY, 0.1, NADIR_LARGEST_PRODUCTS);
    assert_true(rough.upper >= 3 * 0.99 && rough.upper <= 3 * 1.101 * 1.02);
    clear(&at);
}

/* A few products do where much less is wanted, and do not where a single vector among thousands is far above
 * the rest, whatever the start. */
static void test_far_below(void **state)
{
    enum { SIZE = 3000, SEEDS = 40 };
    nadir_context *context = *state;
    reflected flat = make(SIZE, 2, SEED);
    reflected peak = make(SIZE, 0, SEED);
    peak.values[0] = 20;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const nadir_largest low = find(context, &flat, SEED + seed, 60, INFINITY, 0, 12);
        test_note("seed %d", SEED + (int)seed);
        assert_that(low.upper <= 60 && low.upper >= 3 * (1 - 1e-12), "upper %.17g", low.upper);
        assert_true(low.products <= 8);
        for (int64_t limit = 5; limit <= 9; limit++) {
            const nadir_largest high = find(context, &peak, SEED + seed, 19.9, INFINITY, 0, limit);
            assert_that(high.upper >= 20 * (1 - 1e-12), "upper %.17g after %d", high.upper, (int)limit);
        }
    }
    clear(&flat);
    clear(&peak);
}

static void test_fails(void **state)
{
    nadir_context *context = *state;
    const nadir_vec here = nadir_vec_host(context);
    nadir_largest found;
    reflected at = make(40, 2, SEED);
    nadir_random random = test_random(SEED);
    at.fails = 5;
    assert_fails(context, nadir_lanczos_largest(&here, 40, apply, &at, &random, 0, INFINITY, 0, 20, &found),
                 NADIR_ERROR_INTERRUPTED, "stopped");
    at.fails = 0;
    at.values[3] = NAN;
    assert_fails(context, nadir_lanczos_largest(&here, 40, apply, &at, &random, 0, INFINITY, 0, 20, &found),
                 NADIR_ERROR_NOT_CONVERGED, "not finite");
    clear(&at);
}

static nadir_status attempt(nadir_context *context, const void *of)
{
    const nadir_vec here = nadir_vec_host(context);
    nadir_largest found;
    reflected at = *(const reflected *)of;
    nadir_random random = test_random(SEED);
    return nadir_lanczos_largest(&here, at.size, apply, &at, &random, 0, INFINITY, 0, 8, &found);
}

static void test_scarce_memory(void **state)
{
    reflected at = make(10, 0, SEED);
    (void)state;
    test_run_out(attempt, &at, NULL, "the largest eigenvalue");
    clear(&at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_both_sides),   test_with_context(test_stops),
        test_with_context(test_far_below),    test_with_context(test_fails),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

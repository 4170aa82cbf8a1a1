/*
 * test_random.c: the random streams give the published bits of their generators, the same ones everywhere,
 * and the distributions have the moments they should.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "experiments/numpy_random.h"

/* Order-sensitive digest of doubles: d ← (d rotated left by one) ⊕ bits. */
static uint64_t digest_add(uint64_t digest, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (digest << 1 | digest >> 63) ^ bits;
}

static void assert_same_double(double actual, double expected)
{
    if (memcmp(&actual, &expected, sizeof actual) != 0) {
        fail_msg("%.17g instead of %.17g", actual, expected);
    }
}

/* The published sequence of splitmix64 from 1234567. */
static void seeding_is_splitmix64(void **state)
{
    static const uint64_t expected[4] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                         UINT64_C(9817491932198370423), UINT64_C(4593380528125082431)};
    nadir_random random;
    (void)state;
    nadir_random_seed(&random, 1234567);
    assert_memory_equal(random.state, expected, sizeof expected);
    assert_false(random.has_spare);
}

/* The published sequence of xoshiro256++ from the state 1, 2, 3, 4. */
static void bits_are_xoshiro256(void **state)
{
    static const uint64_t expected[6] = {UINT64_C(41943041),
                                         UINT64_C(58720359),
                                         UINT64_C(3588806011781223),
                                         UINT64_C(3591011842654386),
                                         UINT64_C(9228616714210784205),
                                         UINT64_C(9973669472204895162)};
    nadir_random random = {.state = {1, 2, 3, 4}};
    (void)state;
    for (int k = 0; k < 6; ++k) {
        assert_true(nadir_random_next(&random) == expected[k]);
    }
}

/* Expected: the step as a 256 × 256 matrix over two elements, squared 128 times. */
static void jump_moves_2_to_the_128_draws(void **state)
{
    static const uint64_t expected[4] = {UINT64_C(0x81746704fde896b5), UINT64_C(0x645e944932dae0ae),
                                         UINT64_C(0xf4776829231c282c), UINT64_C(0x2393f9798732dba1)};
    nadir_random random;
    (void)state;
    nadir_random_seed(&random, 42);
    nadir_random_jump(&random);
    assert_memory_equal(random.state, expected, sizeof expected);
}

static void jump_drops_the_spare_variate(void **state)
{
    nadir_random one, other;
    (void)state;
    nadir_random_seed(&one, 3);
    nadir_random_normal(&one);
    other = one;
    other.has_spare = false;
    nadir_random_jump(&one);
    nadir_random_jump(&other);
    assert_same_double(nadir_random_normal(&one), nadir_random_normal(&other));
}

/* Expected: the same formulas in another language. */
static void variates_do_not_depend_on_the_platform(void **state)
{
    nadir_random random;
    uint64_t digest = 0;
    (void)state;

    nadir_random_seed(&random, 42);
    assert_same_double(nadir_random_normal(&random), 0x1.f679d98b6ab7bp-1);
    assert_same_double(nadir_random_normal(&random), -0x1.21a610c887574p-1);
    assert_same_double(nadir_random_normal(&random), 0x1.571f94d19c30ap+0);

    nadir_random_seed(&random, 42);
    for (int k = 0; k < 10000; ++k) {
        digest = digest_add(digest, nadir_random_normal(&random));
    }
    assert_true(digest == UINT64_C(0x24f768d15e956142));

    nadir_random_seed(&random, 42);
    digest = 0;
    for (int k = 0; k < 10000; ++k) {
        digest = digest_add(digest, nadir_random_exponential(&random));
    }
    assert_true(digest == UINT64_C(0xb319dfafe7f293b9));
}

/* The sample mean of n values with variance v is off by more than 5 √(v/n) once in two million seeds. */
static void assert_mean(double sum, int n, double mean, double variance, const char *what)
{
    if (fabs(sum / n - mean) > 5.0 * sqrt(variance / n)) {
        fail_msg("%s: sample mean %g, expected %g (seed 7)", what, sum / n, mean);
    }
}

static void distributions_have_their_moments(void **state)
{
    const int n = 200000;
    double uniform = 0.0, normal = 0.0, square = 0.0, fourth = 0.0, pairs = 0.0;
    double exponential = 0.0, exponential_square = 0.0, last = 0.0;
    nadir_random random;
    (void)state;

    nadir_random_seed(&random, 7);
    for (int k = 0; k < n; ++k) {
        double u = nadir_random_uniform(&random), x = nadir_random_normal(&random);
        double e = nadir_random_exponential(&random);
        assert_true(u >= 0.0 && u < 1.0 && e >= 0.0 && !signbit(e) && isfinite(e));
        uniform += u;
        normal += x;
        square += x * x;
        fourth += x * x * x * x;
        pairs += x * last;
        exponential += e;
        exponential_square += e * e;
        last = x;
    }
    assert_mean(uniform, n, 0.5, 1.0 / 12.0, "uniform");
    assert_mean(normal, n, 0.0, 1.0, "normal");
    assert_mean(square, n, 1.0, 2.0, "normal squared");
    assert_mean(fourth, n, 3.0, 96.0, "normal to the fourth");
    assert_mean(pairs, n, 0.0, 1.0, "product of successive normals");
    assert_mean(exponential, n, 1.0, 1.0, "exponential");
    assert_mean(exponential_square, n, 2.0, 20.0, "exponential squared");
}

static void exponential_of_the_extreme_draws(void **state)
{
    /* The next output of this state is rotl(s0 + s3, 23) + s0 = 0, so u = 0 and −log 1 is a plain zero. */
    nadir_random random = {.state = {0, 1, 2, 0}};
    double e;
    (void)state;
    e = nadir_random_exponential(&random);
    assert_true(e == 0.0 && !signbit(e));
    /* Here it is 2⁶⁴ − 1, so 1 − u = 2⁻⁵³. */
    random = (nadir_random){.state = {0, 1, 2, UINT64_MAX}};
    assert_true(fabs(nadir_random_exponential(&random) - 53.0 * 0.69314718055994531) < 1e-14);
}

static void below_is_unbiased(void **state)
{
    const int n = 120000;
    const uint64_t large = UINT64_C(3) << 62; /* a quarter of all draws must be repeated */
    int count[12] = {0}, thirds[3] = {0};
    double chi = 0.0;
    nadir_random random;
    (void)state;

    nadir_random_seed(&random, 11);
    assert_true(nadir_random_below(&random, 0) == 0);
    assert_true(nadir_random_below(&random, 1) == 0);
    for (int k = 0; k < n; ++k) {
        uint64_t small = nadir_random_below(&random, 12), draw = nadir_random_below(&random, large);
        assert_true(small < 12 && draw < large);
        ++count[small];
        ++thirds[draw >> 62];
    }
    /* χ² with 11 and 2 degrees of freedom exceeds these once in a million seeds. */
    for (int k = 0; k < 12; ++k) {
        chi += pow(count[k] - n / 12.0, 2) / (n / 12.0);
    }
    assert_true(chi < 50.0);
    chi = 0.0;
    for (int k = 0; k < 3; ++k) {
        chi += pow(thirds[k] - n / 3.0, 2) / (n / 3.0);
    }
    assert_true(chi < 28.0);
}

/* Digests of np.random.randn(10000) and np.random.rand(10000) after np.random.seed(seed), NumPy 1.24. */
typedef struct legacy_case {
    uint32_t seed;
    uint64_t normal, uniform;
    double normals[3], uniforms[3];
} legacy_case;

static const legacy_case legacy_cases[] = {
    {0,
     UINT64_C(0x8fccf868992d5a8f),
     UINT64_C(0x69872e9e0363683f),
     {1.764052345967664, 0.4001572083672233, 0.9787379841057392},
     {0.5488135039273248, 0.7151893663724195, 0.6027633760716439}},
    {42,
     UINT64_C(0xec67d1a21a65dd1a),
     UINT64_C(0x2a36b24e05350469),
     {0.4967141530112327, -0.13826430117118466, 0.6476885381006925},
     {0.3745401188473625, 0.9507143064099162, 0.7319939418114051}},
    {4294967295,
     UINT64_C(0xdd72ce3eddbb4adf),
     UINT64_C(0x3d6f3c6f9cc2b53),
     {0.6484086742306527, 0.6693235306338161, -1.0805437227474493},
     {0.0976320289940138, 0.9123828453026218, 0.78903530185164}},
};

static void legacy_stream_is_numpys(void **state)
{
    nadir_numpy_random random;
    (void)state;
    for (size_t c = 0; c < sizeof legacy_cases / sizeof legacy_cases[0]; ++c) {
        const legacy_case *expected = &legacy_cases[c];
        uint64_t normal = 0, uniform = 0;

        nadir_numpy_random_seed(&random, expected->seed);
        for (int k = 0; k < 10000; ++k) {
            double x = nadir_numpy_random_normal(&random);
            if (k < 3) {
                assert_same_double(x, expected->normals[k]);
            }
            normal = digest_add(normal, x);
        }
        nadir_numpy_random_seed(&random, expected->seed);
        for (int k = 0; k < 10000; ++k) {
            double x = nadir_numpy_random_uniform(&random);
            if (k < 3) {
                assert_same_double(x, expected->uniforms[k]);
            }
            uniform = digest_add(uniform, x);
        }
        if (normal != expected->normal || uniform != expected->uniform) {
            fail_msg("digests differ for seed %u", (unsigned)expected->seed);
        }
    }
}

/* Uniform draws between two normal ones leave the spare variate alone, and seeding drops it. */
static void legacy_spare_survives_uniforms_only(void **state)
{
    nadir_numpy_random random;
    (void)state;
    nadir_numpy_random_seed(&random, 42);
    assert_same_double(nadir_numpy_random_normal(&random), 0.4967141530112327);
    nadir_numpy_random_uniform(&random);
    assert_same_double(nadir_numpy_random_normal(&random), -0.13826430117118466);
    nadir_numpy_random_normal(&random);
    nadir_numpy_random_seed(&random, 42);
    assert_same_double(nadir_numpy_random_normal(&random), 0.4967141530112327);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeding_is_splitmix64),
        cmocka_unit_test(bits_are_xoshiro256),
        cmocka_unit_test(jump_moves_2_to_the_128_draws),
        cmocka_unit_test(jump_drops_the_spare_variate),
        cmocka_unit_test(variates_do_not_depend_on_the_platform),
        cmocka_unit_test(distributions_have_their_moments),
        cmocka_unit_test(exponential_of_the_extreme_draws),
        cmocka_unit_test(below_is_unbiased),
        cmocka_unit_test(legacy_stream_is_numpys),
        cmocka_unit_test(legacy_spare_survives_uniforms_only),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}

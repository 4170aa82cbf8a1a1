/*
 * test_generate_random.c: the random kinds of generators: their seed, their distribution, and values that
 * were pinned so that a change of the random stream, or of the order of draws, does not go unnoticed.
 */
#include "support/support.h"

#include "support/generated.h"

#include <math.h>

/* FNV-1a over the bits of an array. */
static uint64_t hash(uint64_t value, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        value = (value ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
    }
    return value;
}

static uint64_t model_hash(const nadir_model *model)
{
    const nadir_model_data view = test_view(model);
    const size_t rows = (size_t)view.rows;
    uint64_t value = hash(UINT64_C(14695981039346656037), view.rewards, rows * sizeof(double));
    if (view.dense != NULL) {
        return hash(value, view.dense, rows * (size_t)view.states * sizeof(double));
    }
    value = hash(value, view.columns, (size_t)view.nonzeros * sizeof(int32_t));
    return hash(value, view.probabilities, (size_t)view.nonzeros * sizeof(double));
}

static void assert_hash(const nadir_model *model, uint64_t expected)
{
    const uint64_t found = model_hash(model);
    if (found != expected) {
        print_error("the hash of the model is 0x%016llx\n", (unsigned long long)found);
    }
    assert_true(found == expected);
}

static void assert_seed_decides(const char *kind)
{
    nadir_context *context = test_context();
    nadir_generate_settings settings = test_generate_settings();
    settings.seed = UINT64_C(0xfedcba9876543210);
    nadir_model *first = test_generate(context, kind, &settings);
    nadir_model *again = test_generate(context, kind, &settings);
    settings.seed++;
    nadir_model *other = test_generate(context, kind, &settings);
    assert_models_equal(first, again, 0);
    assert_true(model_hash(first) == model_hash(again));
    assert_true(model_hash(first) != model_hash(other));
    nadir_model_free(first);
    nadir_model_free(again);
    nadir_model_free(other);
    nadir_context_free(context);
}

static void random_depends_on_its_seed_alone(void **state)
{
    (void)state;
    assert_seed_decides("random");
}

static void garnet_depends_on_its_seed_alone(void **state)
{
    (void)state;
    assert_seed_decides("garnet");
}

static void random_has_its_pinned_values(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_generate(context, "random", NULL);
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.states, 32);
    assert_int_equal(view.rows, 256);
    assert_close(view.discount, 0.9, 0);
    assert_non_null(view.dense);
    assert_close(view.dense[0], 0.03216793357450612, 0);
    assert_close(view.dense[256 * 32 - 1], 0.053473770835514536, 0);
    assert_close(view.rewards[0], -0.5974421942736748, 0);
    assert_close(view.rewards[255], 1.5492156858791164, 0);
    assert_hash(model, UINT64_C(0x94200c0459e19f0f));
    nadir_model_free(model);
}

static void garnet_has_its_pinned_values(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_generate(context, "garnet", NULL);
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.states, 100);
    assert_int_equal(view.rows, 400);
    assert_int_equal(view.nonzeros, 2000);
    assert_close(view.discount, 0.95, 0);
    assert_null(view.dense);
    static const int32_t columns[] = {1, 31, 35, 37, 49};
    static const double probabilities[] = {0.020565239559745874, 0.27432043310145604, 0.5506231352071674,
                                           0.011738591147523958, 0.1427526009841067};
    assert_memory_equal(view.columns, columns, sizeof columns);
    assert_memory_equal(view.probabilities, probabilities, sizeof probabilities);
    assert_close(view.rewards[0], 0.0742337910344385, 0);
    assert_close(view.rewards[399], 0.30679300644644203, 0);
    assert_hash(model, UINT64_C(0x7c3f13e79b516b9d));
    nadir_model_free(model);
}

/* Entries are uniform before they are normalised: relative to the mean 1/S they have mean 1 and variance
 * close to 1/3; rewards have mean 0 and variance 1. Bounds are five standard errors. */
static void random_has_its_distribution(void **state)
{
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    settings.states = 200;
    settings.actions = 10;
    settings.seed = 1;
    nadir_model *model = test_generate(context, "random", &settings);
    const nadir_model_data view = test_view(model);
    double squares = 0;
    for (int64_t row = 0; row < view.rows; row++) {
        double sum = 0;
        for (int64_t t = 0; t < view.states; t++) {
            const double relative = view.dense[row * view.states + t] * (double)view.states;
            assert_true(relative >= 0 && relative < 2.5);
            sum += view.dense[row * view.states + t];
            squares += (relative - 1) * (relative - 1);
        }
        assert_close(sum, 1, 1e-13);
    }
    assert_close(squares / (double)(view.rows * view.states), 1.0 / 3, 0.01);
    double mean = 0;
    double variance = 0;
    for (int64_t row = 0; row < view.rows; row++) {
        mean += view.rewards[row] / (double)view.rows;
        variance += view.rewards[row] * view.rewards[row] / (double)view.rows;
    }
    assert_close(mean, 0, 5 / sqrt((double)view.rows));
    assert_close(variance, 1, 5 * sqrt(2 / (double)view.rows));
    nadir_model_free(model);
}

/* Successors are exactly `branch` distinct states, all equally likely; sorted gaps have the second moment
 * 2 / (b (b + 1)) of a uniform distribution on the simplex; rewards are uniform. */
static void garnet_has_its_distribution(void **state)
{
    enum { STATES = 50, BRANCH = 7 };
    nadir_context *context = *state;
    nadir_generate_settings settings = test_generate_settings();
    settings.states = STATES;
    settings.actions = 200;
    settings.branch = BRANCH;
    settings.seed = 1;
    nadir_model *model = test_generate(context, "garnet", &settings);
    const nadir_model_data view = test_view(model);
    assert_int_equal(view.nonzeros, view.rows * BRANCH);
    double seen[STATES] = {0};
    double squares = 0;
    double first = 0;
    double rewards = 0;
    for (int64_t row = 0; row < view.rows; row++) {
        assert_int_equal(view.row_starts[row + 1] - view.row_starts[row], BRANCH);
        double sum = 0;
        for (int64_t i = view.row_starts[row]; i < view.row_starts[row + 1]; i++) {
            assert_true(i == view.row_starts[row] || view.columns[i - 1] < view.columns[i]);
            assert_true(view.probabilities[i] > 0);
            seen[view.columns[i]]++;
            sum += view.probabilities[i];
            squares += view.probabilities[i] * view.probabilities[i];
        }
        assert_close(sum, 1, 0);
        first += view.probabilities[view.row_starts[row]];
        assert_true(view.rewards[row] >= 0 && view.rewards[row] < 1);
        rewards += view.rewards[row];
    }
    const double rows = (double)view.rows;
    const double share = (double)BRANCH / STATES;
    for (int s = 0; s < STATES; s++) {
        assert_close(seen[s] / rows, share, 5 * sqrt(share * (1 - share) / rows));
    }
    assert_close(squares / (double)view.nonzeros, 2.0 / (BRANCH * (BRANCH + 1)), 0.002);
    assert_close(first / rows, 1.0 / BRANCH, 5 * 0.124 / sqrt(rows));
    assert_close(rewards / rows, 0.5, 5 * 0.289 / sqrt(rows));
    nadir_model_free(model);
}

/* Every number of successors up to all states, past the length where the way of sorting changes. */
static void garnet_takes_every_branch(void **state)
{
    enum { STATES = 80 };
    nadir_context *context = *state;
    for (int64_t branch = 1; branch <= STATES; branch++) {
        nadir_generate_settings settings = test_generate_settings();
        settings.states = STATES;
        settings.actions = 2;
        settings.branch = branch;
        settings.seed = (uint64_t)branch;
        nadir_model *model = test_generate(context, "garnet", &settings);
        const nadir_model_data view = test_view(model);
        assert_int_equal(view.nonzeros, view.rows * branch);
        for (int64_t row = 0; row < view.rows; row++) {
            int64_t count = 0;
            double sum = 0;
            for (int64_t t = 0; t < STATES; t++) {
                const double probability = test_probability(model, row, t);
                count += probability > 0;
                sum += probability;
            }
            assert_int_equal(count, branch);
            assert_close(sum, 1, 0);
        }
        nadir_model_free(model);
    }
}

static void one_state_stays(void **state)
{
    static const char *const kinds[] = {"random", "garnet"};
    nadir_context *context = *state;
    for (int i = 0; i < 2; i++) {
        nadir_generate_settings settings = test_generate_settings();
        settings.states = 1;
        settings.actions = 1;
        settings.discount = 0;
        nadir_model *model = test_generate(context, kinds[i], &settings);
        const nadir_model_data view = test_view(model);
        assert_int_equal(view.rows, 1);
        assert_close(test_probability(model, 0, 0), 1, 0);
        assert_close(view.discount, 0, 0);
        nadir_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_depends_on_its_seed_alone),
        cmocka_unit_test(garnet_depends_on_its_seed_alone),
        test_with_context(random_has_its_pinned_values),
        test_with_context(garnet_has_its_pinned_values),
        test_with_context(random_has_its_distribution),
        test_with_context(garnet_has_its_distribution),
        test_with_context(garnet_takes_every_branch),
        test_with_context(one_state_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

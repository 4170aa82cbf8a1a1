/* test_box_files.c: models with intervals: the nominal row of a box, what is refused, and files. */
#include "support/support.h"

#include "model/box.h"
#include "support/formats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The nearest point to the middle, by bisection on its level. */
static void reference_point(int64_t count, const double *lower, const double *upper, double *p)
{
    double low = -1;
    double high = 1;
    for (int i = 0; i < 200; i++) {
        const double level = low / 2 + high / 2;
        double sum = 0;
        for (int64_t j = 0; j < count; j++) {
            p[j] = fmin(fmax((lower[j] + upper[j]) / 2 + level, lower[j]), upper[j]);
            sum += p[j];
        }
        *(sum < 1 ? &low : &high) = level;
    }
}

static void test_nominal_points(void **state)
{
    (void)state;
    nadir_random random = test_random(20260101);
    for (int trial = 0; trial < 2000; trial++) {
        enum { MOST = 40 };
        double lower[MOST];
        double upper[MOST];
        double p[MOST];
        double expected[MOST];
        const int64_t count = 1 + (int64_t)(nadir_random_uniform(&random) * (MOST - 1));
        double sum = 0;
        for (int64_t i = 0; i < count; i++) {
            expected[i] = -log(nadir_random_uniform(&random));
            sum += expected[i];
        }
        for (int64_t i = 0; i < count; i++) {
            expected[i] /= sum;
            const double wide = nadir_random_uniform(&random) < 0.3 ? 0 : nadir_random_uniform(&random);
            lower[i] = expected[i] * (1 - wide * nadir_random_uniform(&random));
            upper[i] = fmin(1, expected[i] + wide * nadir_random_uniform(&random));
        }
        nadir_box_point(count, lower, upper, p);
        reference_point(count, lower, upper, expected);
        double total = 0;
        for (int64_t i = 0; i < count; i++) {
            total += p[i];
            if (!(p[i] >= lower[i] && p[i] <= upper[i] && fabs(p[i] - expected[i]) <= 1e-12)) {
                fail_msg("trial %d: entry %lld is %.17g, expected %.17g in [%.17g, %.17g]", trial,
                         (long long)i, p[i], expected[i], lower[i], upper[i]);
            }
        }
        assert_true(fabs(total - 1) <= 1e-14);
    }
}

#define DRN(rows)                                                                                            \
    "@type: MDP\n@value_type: double-interval\n@parameters\n\n@reward_models\n\n@nr_states\n3\n@model\n"     \
    "state 0 init\n action 0\n" rows "state 1\n action 0\n  1 : [1, 1]\nstate 2\n action 0\n  2 : 1\n"

static nadir_model *read_good(nadir_context *context, const char *rows)
{
    char text[1024];
    (void)snprintf(text, sizeof text, DRN("%s"), rows);
    return test_format_read_text(context, &nadir_format_drn, "box.drn", text);
}

static void assert_row(const nadir_model *model, int64_t count, const double *values)
{
    assert_int_equal(model->row_starts[1], count);
    for (int64_t i = 0; i < count; i++) {
        assert_true(fabs(model->probabilities[i] - values[i]) < 4e-16);
        assert_true(model->probabilities[i] > 0);
        assert_true(model->lower[i] <= model->probabilities[i] && model->probabilities[i] <= model->upper[i]);
    }
}

static void test_nominal_rows(void **state)
{
    nadir_context *context = *state;
    static const struct {
        const char *rows;
        int64_t count;
        double values[3];
    } cases[] = {
        {"  1 : [0.4, 0.9]\n  2 : [0.5, 0.8]\n", 2, {0.5, 0.5}},
        {"  0 : [0.1, 0.2]\n  1 : [0.2, 0.6]\n  2 : [0.3, 0.8]\n",
         3,
         {0.15 - 0.1 / 3, 0.4 - 0.1 / 3, 0.55 - 0.1 / 3}},
        {"  2 : [1/4, 1/4]\n  1 : 0.75\n", 2, {0.75, 0.25}},
        /* the middle alone would take the first below 0 */
        {"  0 : [0, 0.05]\n  1 : [0.6, 1]\n  2 : [0.1, 0.9]\n", 3, {0, 0.65, 0.35}},
        /* successors of u = 0 are none; those that come twice have their bounds added */
        {"  0 : [0, 0]\n  1 : [0.1, 0.2]\n  1 : [0.1, 0.2]\n  2 : [0.5, 0.9]\n", 2, {0.3, 0.7}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nadir_model *model = read_good(context, cases[i].rows);
        assert_row(model, cases[i].count, cases[i].values);
        nadir_model_free(model);
    }
}

static void refuse_row(const char *rows, const char *words)
{
    char text[1024];
    (void)snprintf(text, sizeof text, DRN("%s"), rows);
    test_write_file("box.drn", text);
    const nadir_read_settings settings = test_read_settings();
    test_format_refuse(&nadir_format_drn, "box.drn", &settings, NADIR_ERROR_MODEL, words);
}

static void test_broken_rows(void **state)
{
    (void)state;
    refuse_row("  1 : [0.9, 0.4]\n  2 : [0.5, 0.8]\n", "in [0.9, 0.4]; expected the lower bound first");
    refuse_row("  1 : [-0.1, 0.4]\n  2 : [0.5, 0.8]\n", "in [-0.1, 0.4]; expected bounds from 0 to 1");
    refuse_row("  1 : [0.1, 1.4]\n  2 : [0.5, 0.8]\n", "in [0.1, 1.4]; expected bounds from 0 to 1");
    refuse_row("  1 : [0.1, nan]\n  2 : [0.5, 0.8]\n", "in [0.1, nan]; expected bounds from 0 to 1");
    refuse_row("  1 : [0.6, 0.7]\n  2 : [0.5, 0.8]\n",
               "state 0, action 0: the lower bounds of the probabilities sum to 1.1; expected 1 at most");
    refuse_row("  1 : [0.1, 0.3]\n  2 : [0.5, 0.6]\n",
               "state 0, action 0: the upper bounds of the probabilities sum to 0.9; expected 1 at least");
}

/* Through data, where the nominal kernel is given. */
static nadir_status create(nadir_context *context, const double *p, const double *lower, const double *upper,
                           nadir_model **model)
{
    static const int64_t state_rows[] = {0, 1, 2};
    nadir_model_data data;
    nadir_model_data_default(&data);
    data.states = 2;
    data.rows = 2;
    data.state_rows = state_rows;
    data.dense = p;
    data.lower = lower;
    data.upper = upper;
    return nadir_model_create(context, &data, model);
}

static void test_given_kernels(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = NULL;
    const double p[] = {0.3, 0.7, 0, 1};
    const double lower[] = {0.2, 0.1, 0, 0.5};
    const double upper[] = {0.4, 1, 0.5, 1};
    assert_int_equal(create(context, p, lower, upper, &model), NADIR_OK);
    assert_null(model->dense);
    assert_int_equal(model->nonzeros, 4);
    assert_true(model->probabilities[0] == 0.3 && model->probabilities[2] == NADIR_LEAST_PROBABILITY);
    assert_true(model->probabilities[3] == 1 && model->upper[2] == 0.5);
    nadir_model_free(model);
    assert_int_equal(create(context, p, lower, NULL, &model), NADIR_ERROR_ARGUMENT);
    const double outside[] = {0.2, 0.8, 0.6, 0.4};
    assert_int_equal(create(context, outside, lower, upper, &model), NADIR_ERROR_MODEL);
    assert_non_null(strstr(nadir_context_error(context),
                           "state 1, action 0: the nominal probability of "
                           "successor 0 is 0.6, outside its interval [0, 0.5]"));
    const double missing[] = {NAN, NAN, 0, 1};
    assert_int_equal(create(context, missing, lower, upper, &model), NADIR_OK);
    assert_true(fabs(model->probabilities[0] - 0.375) < 1e-15);
    nadir_model_free(model);
    const double half[] = {NAN, 0.7, 0, 1};
    assert_int_equal(create(context, half, lower, upper, &model), NADIR_ERROR_MODEL);
}

/* Written and read again by every format that has intervals: the same digest where the nominal kernel is kept. */
static void test_round_trips(void **state)
{
    nadir_context *context = *state;
    static const nadir_format *const formats[] = {&nadir_format_npz, &nadir_format_umb, &nadir_format_drn,
                                                  &nadir_format_prism};
    static const char *const paths[] = {"again.npz", "again.umb", "again.drn", "again.tra"};
    const double p[] = {0.3, 0.7, 0, 1};
    const double lower[] = {0.2, 0.1, 0, 0.5};
    const double upper[] = {0.4, 1, 0.5, 1};
    for (int i = 0; i < 4; i++) {
        nadir_model *model = NULL;
        nadir_model *again = NULL;
        char digest[65];
        char other[65];
        assert_int_equal(create(context, p, lower, upper, &model), NADIR_OK);
        assert_int_equal(nadir_model_write(context, model, paths[i], NULL), NADIR_OK);
        assert_int_equal(test_format_read(context, formats[i], paths[i], NULL, &again), NADIR_OK);
        assert_memory_equal(model->lower, again->lower, 4 * sizeof(double));
        assert_memory_equal(model->upper, again->upper, 4 * sizeof(double));
        assert_int_equal(nadir_model_digest(context, model, digest), NADIR_OK);
        assert_int_equal(nadir_model_digest(context, again, other), NADIR_OK);
        assert_int_equal(strcmp(digest, other) == 0, i < 2);
        nadir_model_free(model);
        nadir_model_free(again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nominal_points), test_with_context(test_nominal_rows),
        cmocka_unit_test(test_broken_rows),    test_with_context(test_given_kernels),
        test_with_context(test_round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

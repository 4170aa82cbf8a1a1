/*
 * Random policies and random kernels on the device of an engine against the processor's: the same samples,
 * cell by cell and kernel by kernel. Skipped unless NADIR_TEST_ENGINE names an engine with a device.
 */
#include "support/support.h"

#include "base/context.h"
#include "geometry.h"
#include "support/generated.h"
#include "support/problem.h"

#include <math.h>
#include <stdlib.h>

static const uint64_t seed = 11;

static nadir_context *context_here(uint64_t of_seed)
{
    nadir_context_settings settings;
    nadir_context *context = NULL;
    nadir_context_settings_default(&settings);
    settings.seed = of_seed;
    assert_int_equal(nadir_context_create(&settings, &context), NADIR_OK);
    return context;
}

static nadir_context *context_there(uint64_t of_seed)
{
    nadir_context *context = context_here(of_seed);
    test_use_engine(context);
    if (context->device == NULL) {
        nadir_context_free(context);
        print_message("skipped: NADIR_TEST_ENGINE names no engine with a device\n");
        skip();
    }
    return context;
}

/* Whole streams, a stream that is not whole, fewer policies than a stream has. */
static void test_moments(void **state)
{
    static const int64_t samples[] = {200000, 100003, 17};
    double largest = 0;
    (void)state;
    nadir_context *there = context_there(0);
    nadir_context *here = context_here(0);
    for (int i = 0; i < 3; i++) {
        geometry_model model;
        geometry_moments moments[2];
        geometry_model_make(42, &model);
        assert_ok(here, geometry_moments_compute(here, &model, seed, samples[i], &moments[0]));
        assert_ok(there, geometry_moments_compute(there, &model, seed, samples[i], &moments[1]));
        for (int k = 0; k < GEOMETRY_ENTRIES * GEOMETRY_ENTRIES; k++) {
            const double off = fabs(moments[0].covariance[k] - moments[1].covariance[k]);
            test_note("%lld policies, covariance %d", (long long)samples[i], k);
            assert_that(off <= 1e-12 * moments[0].variances[0], "%.17g and %.17g", moments[0].covariance[k],
                        moments[1].covariance[k]);
            largest = fmax(largest, off / moments[0].variances[0]);
        }
        for (int k = 0; k < GEOMETRY_ENTRIES; k++) {
            assert_close(moments[1].mean[k], moments[0].mean[k], 1e-13);
        }
    }
    print_message("covariances differ by %.2g of the largest variance\n", largest);
    test_note_clear();
    nadir_context_free(there);
    nadir_context_free(here);
}

static void test_cells(void **state)
{
    enum { VIEWS = 5 };
    static geometry_view views[2][VIEWS];
    geometry_model model;
    const double middle[GEOMETRY_STATES] = {0.5, 0.5, 0.5};
    double origin[GEOMETRY_ENTRIES];
    (void)state;
    nadir_context *there = context_there(0);
    nadir_context *here = context_here(0);
    nadir_random random = geometry_stream(seed, -3);
    geometry_model_make(42, &model);
    geometry_point(&model, middle, origin);
    for (int v = 0; v < VIEWS; v++) {
        geometry_axes_draw(&random, 2, views[0][v].axes[0]);
        geometry_view_range(&model, origin, &views[0][v]);
        views[1][v] = views[0][v];
    }
    assert_ok(here, geometry_views_fill(here, &model, seed, 300001, origin, VIEWS, views[0]));
    assert_ok(there, geometry_views_fill(there, &model, seed, 300001, origin, VIEWS, views[1]));
    for (int v = 0; v < VIEWS; v++) {
        for (int cell = 0; cell < GEOMETRY_BINS * GEOMETRY_BINS; cell++) {
            assert_int_equal(views[1][v].counts[cell], views[0][v].counts[cell]);
        }
    }
    nadir_context_free(there);
    nadir_context_free(here);
}

/* The penalty of the best of so many random kernels, as it was when it was drawn. */
static double guess(nadir_context *context, const char *kind, int64_t states, const double *scales,
                    int64_t samples)
{
    const double radius = 0.05;
    nadir_generate_settings shape = test_generate_settings();
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    nadir_baseline_settings settings;
    nadir_baseline found = {.size = sizeof found};
    nadir_trajectory_point *points = NULL;
    int64_t count = 0;
    shape.states = states;
    shape.seed = 5;
    nadir_model *model = test_generate(context, kind, &shape);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, scales);
    assert_ok(context, nadir_policy_create_uniform(context, model, &policy));
    assert_ok(context, nadir_solver_create(context, model, policy, NULL, &solver));
    nadir_baseline_settings_default(&settings);
    settings.method = "random-kernel";
    settings.seconds = INFINITY;
    settings.samples = samples;
    assert_ok(context, nadir_solver_baseline(context, solver, &ball, &settings, &found, &points, &count));
    const double penalty = count > 0 ? points[count - 1].value : 0;
    nadir_trajectory_free(context, points);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    return penalty;
}

static void test_kernels(void **state)
{
    static const struct {
        const char *kind;
        int64_t states;
        bool scaled;
    } models[] = {{"random", 3, false}, {"random", 8, true}, {"random", 33, false}, {"garnet", 20, true}};
    double scales[33 * 8];
    double largest = 0;
    (void)state;
    for (int row = 0; row < 33 * 8; row++) {
        scales[row] = row % 7 == 3 ? 0 : 0.5 + row % 3;
    }
    for (int i = 0; i < 40; i++) {
        const int which = i % 4;
        const int64_t samples = i < 32 ? 1 : 3001; /* one: its penalty itself, or none where it is negative */
        const double *use = models[which].scaled ? scales : NULL;
        nadir_context *there = context_there((uint64_t)i);
        nadir_context *here = context_here((uint64_t)i);
        test_note("%s of %lld states, %lld samples, seed %d", models[which].kind,
                  (long long)models[which].states, (long long)samples, i);
        const double expected = guess(here, models[which].kind, models[which].states, use, samples);
        const double found = guess(there, models[which].kind, models[which].states, use, samples);
        /* where no sample costs anything rounding is left */
        assert_that(fabs(found - expected) <= 1e-10 * fabs(expected) + 1e-14, "%.17g and %.17g", found,
                    expected);
        largest = expected > 1e-6 ? fmax(largest, fabs(found / expected - 1)) : largest;
        nadir_context_free(there);
        nadir_context_free(here);
    }
    print_message("penalties of random kernels differ by %.2g of themselves\n", largest);
    test_note_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

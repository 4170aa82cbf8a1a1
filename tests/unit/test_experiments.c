/*
 * The computations behind the experiments on geometry, volumes, rectangular sets and integer programs,
 * against closed cases, brute force and the library itself.
 */
#include "support/support.h"

#include "support/scarce.h"

#include "experiments/geometry.h"
#include "experiments/hardness.h"
#include "experiments/rectangles.h"
#include "experiments/volumes.h"

#include <math.h>
#include <string.h>

static const uint64_t seed = 20;

/* ------------------------------------------------------------------------------------------- geometry */

static const double chances[][GEOMETRY_STATES] = {{0.5, 0.5, 0.5}, {0, 1, 0.25}, {1, 1, 1}, {0.1, 0.9, 0.3}};
enum { CHANCES = 4 };

/* Row s of D H is the occupancy, from s, of the model that the library solves. */
static void test_points_are_occupancies(void **state)
{
    nadir_context *context = *state;
    const int64_t state_rows[] = {0, 2, 4, 6};
    const double rewards[GEOMETRY_ROWS] = {0};
    geometry_model small;
    geometry_model_make(42, &small);
    for (int s = 0; s < GEOMETRY_STATES; s++) {
        double initial[GEOMETRY_STATES] = {0};
        nadir_model_data data = test_model_data();
        initial[s] = 1;
        data.states = GEOMETRY_STATES;
        data.rows = GEOMETRY_ROWS;
        data.discount = small.discount;
        data.state_rows = state_rows;
        data.dense = small.kernel[0];
        data.rewards = rewards;
        data.initial = initial;
        nadir_model *model = test_create_model(context, &data);
        for (int k = 0; k < CHANCES; k++) {
            double probabilities[GEOMETRY_ROWS];
            double occupancy[GEOMETRY_STATES];
            double point[GEOMETRY_ENTRIES];
            nadir_policy *policy = NULL;
            nadir_solver *solver = NULL;
            for (int row = 0; row < GEOMETRY_ROWS; row++) {
                probabilities[row] = row % 2 == 0 ? chances[k][row / 2] : 1 - chances[k][row / 2];
            }
            assert_ok(context, nadir_policy_create(context, model, probabilities, &policy));
            assert_ok(context, nadir_solver_create(context, model, policy, NULL, &solver));
            assert_ok(context, nadir_solver_occupancy(context, solver, occupancy));
            geometry_point(&small, chances[k], point);
            for (int row = 0; row < GEOMETRY_ROWS; row++) {
                assert_close(point[s * GEOMETRY_ROWS + row], occupancy[row / 2] * probabilities[row], 1e-13);
            }
            nadir_solver_free(solver);
            nadir_policy_free(policy);
        }
        nadir_model_free(model);
    }
}

/* gamma = 0: M(s, (s, 0)) = u / (u + w), of mean 1/2 and variance 3/4 - ln 2; states are independent. */
static void test_covariance_of_a_closed_case(void **state)
{
    nadir_context *context = *state;
    const int64_t samples = test_memcheck() ? 20000 : 200000;
    const double error = 1 / sqrt((double)samples);
    const double variance = 0.75 - log(2);
    geometry_model model;
    geometry_moments moments;
    geometry_model_make(42, &model);
    model.discount = 0;
    assert_ok(context, geometry_moments_compute(context, &model, seed, samples, &moments));
    for (int s = 0; s < GEOMETRY_STATES; s++) {
        const int first = s * GEOMETRY_ROWS + 2 * s;
        assert_close(moments.mean[first], 0.5, 4 * sqrt(variance) * error);
        assert_close(moments.covariance[first * GEOMETRY_ENTRIES + first], variance, 0.3 * error);
        assert_close(moments.covariance[(first + 1) * GEOMETRY_ENTRIES + first], -variance, 0.3 * error);
        assert_close(moments.covariance[first * GEOMETRY_ENTRIES + (first + 7) % GEOMETRY_ENTRIES], 0,
                     4 * variance * error);
    }
    for (int c = 0; c < GEOMETRY_ENTRIES; c++) { /* three directions (1, -1) */
        assert_close(moments.variances[c], c < 3 ? 2 * variance : 0, 1.5 * error);
    }
}

static void test_the_set_spans_seven_dimensions(void **state)
{
    nadir_context *context = *state;
    geometry_model model;
    geometry_moments moments;
    geometry_model_make(42, &model);
    assert_ok(context, geometry_moments_compute(context, &model, seed, 20000, &moments));
    assert_that(moments.variances[6] > 1e-7 * moments.variances[0], "%g", moments.variances[6]);
    assert_that(moments.variances[7] < 1e-13 * moments.variances[0], "%g", moments.variances[7]);
    double dot = 0;
    double trace = 0;
    double sum = 0;
    for (int i = 0; i < GEOMETRY_ENTRIES; i++) {
        dot += moments.components[i] * moments.components[GEOMETRY_ENTRIES + i];
        trace += moments.covariance[i * GEOMETRY_ENTRIES + i];
        sum += moments.variances[i];
    }
    assert_close(dot, 0, 1e-13);
    assert_close(sum, trace, 1e-13);
}

/* The number of threads changes no bit, of moments, densities and midpoints. */
static void test_threads_do_not_matter(void **state)
{
    (void)state;
    enum { PAIRS = 700 };
    static geometry_view views[2][1];
    const int64_t samples = test_memcheck() ? 20000 : 100000;
    geometry_model model;
    geometry_moments moments[2];
    static double midpoints[2][3][PAIRS];
    geometry_model_make(42, &model);
    memset(moments, 0, sizeof moments);
    for (int k = 0; k < 2; k++) {
        nadir_context *context = test_context_threads(k == 0 ? 1 : 3);
        geometry_midpoints into = {midpoints[k][0], midpoints[k][1], midpoints[k][2]};
        assert_ok(context, geometry_moments_compute(context, &model, seed, samples, &moments[k]));
        memcpy(views[k][0].axes, moments[k].components, sizeof views[k][0].axes);
        geometry_view_range(&model, moments[k].mean, views[k]);
        assert_ok(context, geometry_views_fill(context, &model, seed, samples, moments[k].mean, 1, views[k]));
        assert_ok(context, geometry_midpoints_test(context, &model, seed, 2, test_often(PAIRS), &into));
        nadir_context_free(context);
    }
    assert_memory_equal(&moments[0], &moments[1], sizeof moments[0]);
    assert_memory_equal(views[0], views[1], sizeof views[0]);
    for (int i = 0; i < 3; i++) {
        assert_memory_equal(midpoints[0][i], midpoints[1][i], (size_t)test_often(PAIRS) * sizeof(double));
    }
    int64_t sum = 0;
    for (int i = 0; i < GEOMETRY_BINS * GEOMETRY_BINS; i++) {
        sum += views[0][0].counts[i];
    }
    assert_int_equal(sum, samples);
}

/* No point reaches past the corners, in any direction. */
static void test_the_hull_is_that_of_the_corners(void **state)
{
    (void)state;
    geometry_model model;
    nadir_random random = geometry_stream(seed, -9);
    const double origin[GEOMETRY_ENTRIES] = {0};
    static geometry_view view;
    geometry_model_make(7, &model);
    for (int trial = 0; trial < test_often(200); trial++) {
        geometry_axes_draw(&random, 2, view.axes[0]);
        assert_close(geometry_coordinate(view.axes[0], origin, view.axes[1]), 0, 1e-14);
        assert_close(geometry_coordinate(view.axes[0], origin, view.axes[0]), 1, 1e-14);
        geometry_view_range(&model, origin, &view);
        for (int n = 0; n < 50; n++) {
            double chance[GEOMETRY_STATES];
            double point[GEOMETRY_ENTRIES];
            geometry_policy_draw(&random, chance);
            geometry_point(&model, chance, point);
            const double at = geometry_coordinate(point, origin, view.axes[0]);
            assert_that(at > view.low[0] - 1e-12 && at < view.high[0] + 1e-12, "%g not in %g..%g", at,
                        view.low[0], view.high[0]);
        }
    }
}

static double squared_distance(const geometry_model *model, const double *chance, const double *target)
{
    double point[GEOMETRY_ENTRIES];
    double squares = 0;
    geometry_point(model, chance, point);
    for (int i = 0; i < GEOMETRY_ENTRIES; i++) {
        squares += (point[i] - target[i]) * (point[i] - target[i]);
    }
    return squares;
}

/* The squared distance from the set by a grid of policies, then steps along the axes that halve. */
static double search_nearest(const geometry_model *model, const double *target)
{
    enum { GRID = 12 };
    double best[GEOMETRY_STATES] = {0};
    double nearest = INFINITY;
    for (int cell = 0; cell < GRID * GRID * GRID; cell++) {
        const int place[] = {cell % GRID, cell / GRID % GRID, cell / GRID / GRID};
        double chance[GEOMETRY_STATES];
        for (int t = 0; t < GEOMETRY_STATES; t++) {
            chance[t] = (double)place[t] / (GRID - 1);
        }
        const double found = squared_distance(model, chance, target);
        if (found < nearest) {
            nearest = found;
            memcpy(best, chance, sizeof best);
        }
    }
    double step = 0.05;
    while (step > 1e-9) {
        bool better = false;
        for (int k = 0; k < 2 * GEOMETRY_STATES; k++) {
            double chance[GEOMETRY_STATES];
            memcpy(chance, best, sizeof best);
            chance[k / 2] = fmin(1, fmax(0, chance[k / 2] + (k % 2 == 0 ? step : -step)));
            const double found = squared_distance(model, chance, target);
            if (found < nearest) {
                nearest = found;
                better = true;
                memcpy(best, chance, sizeof best);
            }
        }
        step *= better ? 1 : 0.5;
    }
    return nearest;
}

/* One state: the segment lies in the set. More: it does not, by as much as a search without slopes finds. */
static void test_midpoints(void **state)
{
    enum { PAIRS = 20 };
    nadir_context *context = *state;
    double separation[PAIRS];
    double distance[PAIRS];
    double disagreement[PAIRS];
    geometry_midpoints into = {separation, distance, disagreement};
    geometry_model model;
    double point[GEOMETRY_ENTRIES];
    double corner[GEOMETRY_ENTRIES];
    geometry_model_make(42, &model);
    assert_ok(context, geometry_midpoints_test(context, &model, seed, 1, PAIRS, &into));
    for (int i = 0; i < PAIRS; i++) {
        assert_that(disagreement[i] < 1e-13 && distance[i] < 1e-9, "%g %g", disagreement[i], distance[i]);
    }
    assert_ok(context, geometry_midpoints_test(context, &model, seed, 3, PAIRS, &into));
    for (int i = 0; i < PAIRS; i++) {
        assert_that(disagreement[i] > 1e-7 && distance[i] > 1e-7 && distance[i] < separation[i], "%g %g",
                    disagreement[i], distance[i]);
    }
    geometry_corner(&model, 0, point);
    geometry_corner(&model, 7, corner);
    for (int i = 0; i < GEOMETRY_ENTRIES; i++) {
        point[i] = 0.5 * (point[i] + corner[i]);
    }
    assert_close(geometry_distance(&model, point), sqrt(search_nearest(&model, point)), 1e-7);
}

/* -------------------------------------------------------------------------------------------- volumes */

static void test_volume_formulas(void **state)
{
    (void)state;
    const double pi = acos(-1.0);
    const double balls[] = {1, 2, pi, 4 * pi / 3, pi * pi / 2, 8 * pi * pi / 15, pi * pi * pi / 6};
    for (int m = 0; m < 7; m++) {
        assert_close(exp(volumes_log_ball(m)), balls[m], 1e-14);
    }
    assert_close(exp(volumes_log_ratio(NADIR_SET_SA, 2, 1)), pi / 4, 1e-14);  /* disc in a square */
    assert_close(exp(volumes_log_ratio(NADIR_SET_SA, 3, 1)), 1.0 / 6, 1e-14); /* three discs */
    assert_close(exp(volumes_log_ratio(NADIR_SET_S, 2, 2)), 0.5, 1e-14);      /* two discs */
    assert_close(volumes_log_ratio(NADIR_SET_S, 5, 1), volumes_log_ratio(NADIR_SET_SA, 5, 1), 1e-14);
    assert_that(volumes_log_ratio(NADIR_SET_SA, 9, 4) < volumes_log_ratio(NADIR_SET_S, 9, 4), "the order");
}

static void test_volumes_by_counting(void **state)
{
    (void)state;
    static const int64_t cases[][2] = {{2, 1}, {2, 2}, {2, 3}, {3, 1}, {3, 2}, {4, 1}};
    static const nadir_set sets[] = {NADIR_SET_S, NADIR_SET_SA};
    const int64_t samples = test_memcheck() ? 4000 : 60000;
    for (int i = 0; i < 12; i++) {
        int64_t inside[2];
        const double exact = exp(volumes_log_ratio(sets[i % 2], cases[i / 2][0], cases[i / 2][1]));
        for (int k = 0; k < 2; k++) {
            nadir_context *context = test_context_threads(k == 0 ? 1 : 3);
            assert_ok(context, volumes_count(context, sets[i % 2], cases[i / 2][0], cases[i / 2][1], seed,
                                             samples, &inside[k]));
            nadir_context_free(context);
        }
        const double spread = sqrt(exact * (1 - exact) * (double)samples);
        assert_int_equal(inside[0], inside[1]);
        assert_that(fabs((double)inside[0] - exact * (double)samples) < 4 * spread, "%lld, expected %g",
                    (long long)inside[0], exact * (double)samples);
    }
}

/* ---------------------------------------------------------------------------------- rectangular sets */

static void test_kernels_that_data_allow(void **state)
{
    enum { SAMPLES = 20000 };
    nadir_context *context = *state;
    const int64_t samples = test_often(SAMPLES);
    const int64_t state_rows[] = {0, 2, 3};
    const int32_t counts[] = {3, 1, 2, 2, 1, 4};
    const double rewards[] = {1, 2, -1};
    const double policy[] = {0.25, 0.75, 1};
    const double *const policies[] = {policy};
    static double distances[3 * SAMPLES];
    static double returns[SAMPLES];
    const rectangles_data data = {.states = 2,
                                  .rows = 3,
                                  .state_rows = state_rows,
                                  .counts = counts,
                                  .times = 2,
                                  .discount = 0.8,
                                  .rewards = rewards,
                                  .policies_count = 1,
                                  .policies = policies};
    /* The variance of a Dirichlet share is p (1 - p) / (n + 1); both entries of a row change by the same. */
    const double expected = 2 * (0.75 * 0.25 / 9 + 0.25 / 9 + 0.2 * 0.8 / 11);
    double squares = 0;
    assert_ok(context, rectangles_sample(context, &data, seed, samples, distances, returns));
    for (int64_t n = 0; n < samples; n++) {
        assert_true(distances[n] >= distances[samples + n] &&
                    distances[samples + n] >= distances[2 * samples + n]);
        squares += distances[n] * distances[n] / (double)samples;
    }
    assert_close(squares, expected, 1.5 / sqrt((double)samples) * expected * 4);
    double row = 0;
    const double kernel[] = {0.5, 0.5, 0.5, 0.5, 0.2, 0.8}; /* only the first row is not Phat */
    double found[3];
    rectangles_distances(&data, kernel, found);
    row = sqrt(2) * 0.25;
    for (int i = 0; i < 3; i++) {
        assert_close(found[i], row, 1e-15);
    }
}

/* rectangles_return against the library, and the quantile. */
static void test_returns_and_quantiles(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = NULL;
    nadir_solver *solver = NULL;
    nadir_nominal nominal = {.size = sizeof nominal};
    nadir_generate_settings settings = test_generate_settings();
    settings.states = 7;
    settings.actions = 3;
    assert_ok(context, nadir_model_generate(context, "random", &settings, &model));
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_solver_create(context, model, policy, NULL, &solver));
    assert_ok(context, nadir_solver_nominal(context, solver, &nominal));
    nadir_model_data view = test_model_data();
    nadir_model_view(model, &view);
    const rectangles_data data = {.states = view.states,
                                  .rows = view.rows,
                                  .state_rows = view.state_rows,
                                  .discount = view.discount,
                                  .rewards = view.rewards};
    assert_close(rectangles_return(&data, view.dense, nadir_policy_probabilities(policy)),
                 nominal.nominal_return, 1e-13);
    double values[] = {5, 1, 4, 2, 3};
    assert_true(rectangles_quantile(values, 5, 0.6) == 3);
    assert_true(rectangles_quantile(values, 5, 0.61) == 4);
    assert_true(rectangles_quantile(values, 5, 1) == 5);
    assert_true(rectangles_quantile(values, 5, 0) == 1);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* ----------------------------------------------------------------------------------- integer programs */

static void test_the_ladder_returns_what_the_formula_says(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(seed);
    for (int trial = 0; trial < test_often(50); trial++) {
        hardness_program program;
        hardness_ladder ladder;
        double xi[HARDNESS_MOST];
        double found;
        hardness_draw(&random, 1 + trial % HARDNESS_MOST, 2, 5, &program);
        hardness_ladder_make(&program, 0.3 + 0.6 * nadir_random_uniform(&random), &ladder);
        for (int j = 0; j < program.n; j++) {
            xi[j] = trial % 3 == 0 ? (double)nadir_random_below(&random, 2) : nadir_random_uniform(&random);
        }
        assert_ok(context, hardness_ladder_return(context, &program, &ladder, xi, &found));
        assert_close(found, hardness_ladder_formula(&program, &ladder, xi), 1e-13);
    }
}

static void test_the_reduction_agrees_with_enumeration(void **state)
{
    nadir_context *context = *state;
    int yes_count = 0;
    nadir_random random = test_random(seed);
    const int trials = test_memcheck() ? 6 : 60;
    for (int trial = 0; trial < trials; trial++) {
        hardness_program program;
        hardness_ladder ladder;
        hardness_answer answer;
        int least = 0;
        hardness_draw(&random, 3, 1 + trial % 3, 4, &program);
        hardness_ladder_make(&program, 0.9, &ladder);
        assert_ok(context, hardness_solve(context, &program, &ladder, &answer));
        const bool yes = hardness_enumerate(&program, &least) && least <= program.zeta;
        assert_that(answer.yes == yes, "trial %d: %d, enumerated %d", trial, answer.yes, yes);
        assert_that(answer.formula_error < 1e-14, "%g", answer.formula_error);
        yes_count += yes;
    }
    assert_that(test_memcheck() || (yes_count > 5 && yes_count < trials - 5), "%d", yes_count);
}

/* 2 x_1 <= 1: xi_1 = 1/2 is a vertex, and c.xi = -1/2 there is below what any whole x has; M forbids it. */
static void test_a_fractional_vertex_does_not_fool_the_reduction(void **state)
{
    nadir_context *context = *state;
    const hardness_program program = {.n = 1, .m = 1, .F = {{2}}, .g = {1}, .c = {-4}, .zeta = -1};
    hardness_ladder ladder;
    hardness_answer answer;
    hardness_ladder_make(&program, 0.9, &ladder);
    assert_ok(context, hardness_solve(context, &program, &ladder, &answer));
    assert_int_equal(answer.vertices, 2);
    assert_false(answer.yes);
    assert_close(answer.least, 0, 1e-10);
    hardness_ladder_scale(&program, 1e-6, &ladder); /* too small an M: fooled */
    assert_ok(context, hardness_solve(context, &program, &ladder, &answer));
    assert_true(answer.yes);
}

static void test_one_constraint(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(seed);
    for (int trial = 0; trial < test_often(60); trial++) {
        hardness_program program;
        int least = 0;
        int64_t closed = 0;
        double ball = NAN;
        hardness_draw(&random, 2 + trial % 7, 1, 9, &program);
        program.g[0] = trial % (program.n + 2) - 1;
        for (int j = 0; j < program.n; j++) {
            program.F[0][j] = 1;
        }
        const bool feasible = hardness_enumerate(&program, &least);
        assert_int_equal(hardness_closed_form(program.n, program.c, program.g[0], &closed), feasible);
        if (feasible) {
            assert_int_equal(closed, least);
            assert_ok(context, hardness_ball(context, program.n, program.c, program.g[0], &ball));
            assert_close(ball, least, 1e-3);
        }
    }
    /* Where the printed rule goes wrong, and where it does not. */
    const int positive[] = {3, 5};
    const int negative[] = {-3, -5};
    assert_false(hardness_printed_rule(2, positive, 1, 0)); /* x = 0 does it */
    assert_true(hardness_printed_rule(2, positive, 0, -1)); /* nothing does */
    assert_true(hardness_printed_rule(2, negative, 1, -5));
    assert_false(hardness_printed_rule(2, negative, 1, -6));
    assert_false(hardness_printed_rule(2, negative, -1, 6));
}

/* ---------------------------------------------------------------------------------------- memory */

static nadir_status describe_set(nadir_context *context, const void *of)
{
    geometry_moments moments;
    static geometry_view view;
    const nadir_status status = geometry_moments_compute(context, of, seed, 1000, &moments);
    if (status != NADIR_OK) {
        return status;
    }
    memcpy(view.axes, moments.components, sizeof view.axes);
    return geometry_views_fill(context, of, seed, 1000, moments.mean, 1, &view);
}

static nadir_status solve_programs(nadir_context *context, const void *of)
{
    const hardness_program *program = of;
    hardness_ladder ladder;
    hardness_answer answer;
    double least;
    hardness_ladder_make(program, 0.9, &ladder);
    const nadir_status status = hardness_solve(context, program, &ladder, &answer);
    return status != NADIR_OK ? status : hardness_ball(context, program->n, program->c, 1, &least);
}

static nadir_status sample_kernels(nadir_context *context, const void *of)
{
    double distances[3 * 10];
    return rectangles_sample(context, of, seed, 10, distances, NULL);
}

static void test_memory_may_run_out(void **state)
{
    (void)state;
    const hardness_program program = {.n = 1, .m = 1, .F = {{1}}, .g = {1}, .c = {-2}};
    const int64_t state_rows[] = {0, 1, 2};
    const int32_t counts[] = {1, 2, 2, 1};
    const rectangles_data data = {
        .states = 2, .rows = 2, .state_rows = state_rows, .counts = counts, .times = 1};
    geometry_model model;
    geometry_model_make(42, &model);
    test_run_out(describe_set, &model, NULL, "geometry");
    test_run_out(solve_programs, &program, NULL, "integer programs");
    test_run_out(sample_kernels, &data, NULL, "kernels that data allow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_points_are_occupancies),
        test_with_context(test_covariance_of_a_closed_case),
        test_with_context(test_the_set_spans_seven_dimensions),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_the_hull_is_that_of_the_corners),
        test_with_context(test_midpoints),
        cmocka_unit_test(test_volume_formulas),
        cmocka_unit_test(test_volumes_by_counting),
        test_with_context(test_kernels_that_data_allow),
        test_with_context(test_returns_and_quantiles),
        test_with_context(test_the_ladder_returns_what_the_formula_says),
        test_with_context(test_the_reduction_agrees_with_enumeration),
        test_with_context(test_a_fractional_vertex_does_not_fool_the_reduction),
        test_with_context(test_one_constraint),
        cmocka_unit_test(test_memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

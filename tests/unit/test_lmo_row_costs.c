/*
 * The oracle with costs for each row: the gain of the linear step equals its upper bound, so that both are
 * right; kernels lie in the set; the proximal step satisfies its variational inequality.
 */
#include "support/support.h"

#include "model/landing.h"
#include "proof/difference_bound.h"
#include "support/families.h"
#include "support/lmo.h"
#include "support/reference.h"
#include "support/tiny.h"

#include <math.h>
#include <stdlib.h>

#define SEED 16180

static const double norms[] = {1, 1.05, 1.5, 2, 3, 20, INFINITY};
enum { NORMS = sizeof norms / sizeof *norms };

/* A set with costs. */
typedef struct setting {
    test_problem made;
    const nadir_problem *problem;
    double *scales;
    double radius;
    double *e; /* [rows * states] of rewards on landing; NULL: there are none */
    nadir_lmo_row_costs costs;
} setting;

/* landing: in units of scale, where there are rewards on landing. */
static void set_costs(nadir_context *context, setting *at, nadir_random *random, double scale, double landing)
{
    const int64_t n = at->problem->states;
    double *numbers = test_new(4 * n + 2 * at->problem->rows, sizeof *numbers);
    for (int64_t s = 0; s < n; s++) {
        numbers[s] = scale * nadir_random_normal(random);
        numbers[n + s] = scale * nadir_random_normal(random);
        numbers[2 * n + s] = nadir_random_exponential(random);
        numbers[3 * n + s] = nadir_random_below(random, 3) == 0 ? 0 : nadir_random_exponential(random);
    }
    double *pi = numbers + 4 * n;
    for (int64_t i = 0; i < 2 * at->problem->rows; i++) {
        pi[i] = nadir_random_below(random, 4) == 0 ? 0 : nadir_random_uniform(random);
    }
    const double factor = at->e != NULL ? landing * scale : 0;
    assert_ok(context, nadir_lmo_row_costs_set(context, &at->costs, 0.9, factor, numbers + 2 * n, pi, numbers,
                                               numbers + 3 * n, pi + at->problem->rows, numbers + n));
    free(numbers);
}

static double *fill_e(const nadir_model *model)
{
    double *e = test_new(model->rows * model->states, sizeof *e);
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        const int64_t start = nadir_landing_entry(model, row);
        for (int64_t i = 0; i < entries.count; i++) {
            const int64_t t = nadir_row_column(&entries, i);
            e[row * model->states + t] = nadir_landing_e(model, row, start + i, t);
        }
    }
    return e;
}

static void setting_make(nadir_context *context, setting *at, nadir_random *random, nadir_set set,
                         nadir_domain domain, double p, bool lands)
{
    static const double radii[] = {1e-6, 0.05, 0.4, 3};
    const int64_t states = 2 + (int64_t)nadir_random_below(random, 6);
    nadir_model *model = test_tiny_model(context, random, states, 0.9, 0.6);
    if (lands) {
        model = test_add_landing(context, random, model);
        at->e = nadir_landing_is_general(model) ? fill_e(model) : NULL;
    }
    nadir_policy *policy = test_policy(context, model, TEST_RANDOM, random);
    at->radius = radii[nadir_random_below(random, 4)];
    at->scales = nadir_random_below(random, 2) == 0 ? test_tiny_scales(random, model) : NULL;
    const nadir_ball ball = test_ball(set, domain, p, &at->radius, at->scales);
    at->made = test_problem_make(context, model, policy, &ball, NULL, 1);
    at->problem = test_problem_view(&at->made);
    assert_ok(context,
              nadir_lmo_row_costs_make(context, at->problem->model, at->problem->uncertainty, &at->costs));
    set_costs(context, at, random, nadir_random_below(random, 4) == 0 ? 1e150 : 1,
              at->e != NULL && nadir_random_below(random, 3) == 0 ? 1e3 : 1 / 0.9);
    test_note("seed %d, %s, %s, norm %g, radius %g, %d states%s", SEED, nadir_set_name(set),
              nadir_domain_name(domain), p, at->radius, (int)states, at->e != NULL ? ", landing" : "");
}

static void setting_clear(nadir_context *context, setting *at)
{
    nadir_lmo_row_costs_clear(context, &at->costs);
    test_problem_clear(&at->made);
    free(at->scales);
    free(at->e);
}

/* All entries of the changed rows, after checking that they are a kernel of the set. */
static double *entries_of(nadir_context *context, const setting *at)
{
    nadir_kernel *kernel = NULL;
    assert_ok(context,
              nadir_kernel_create_changed(context, at->problem->model, &at->costs.changed.made, &kernel));
    double *entries = test_kernel_entries(context, kernel);
    double *nominal = test_dense_kernel(at->problem->model);
    nadir_kernel_free(kernel);
    test_assert_in_set(at->problem, entries, 1);
    const int64_t n = at->problem->states;
    for (int64_t i = 0; i < at->problem->rows * n; i++) {
        const nadir_domain domain = at->problem->uncertainty->domain;
        assert_that(domain == NADIR_DOMAIN_FREE || entries[i] >= 0, "an entry is %g", entries[i]);
        assert_that(domain != NADIR_DOMAIN_SUPPORT || nominal[i] > 0 || entries[i] == 0,
                    "a new successor has %g", entries[i]);
    }
    free(nominal);
    return entries;
}

/* The cost of an entry of a row, in units of the return. */
static double cost_of(const setting *at, int64_t place)
{
    const int64_t row = place / at->problem->states;
    const int64_t t = place % at->problem->states;
    const double landing = at->e != NULL ? at->costs.landing * at->e[place] : 0;
    return (at->costs.a[row] * (at->costs.x[t] + landing) - at->costs.b[row] * (at->costs.y[t] + landing)) *
           at->costs.scale;
}

static void check_step(nadir_context *context, setting *at)
{
    double bound;
    double gain = 0;
    assert_ok(context, nadir_lmo_row_costs_solve(context, &at->costs));
    assert_ok(context, nadir_lmo_row_costs_bound(context, &at->costs, &bound));
    double *X = entries_of(context, at);
    double *nominal = test_dense_kernel(at->problem->model);
    for (int64_t i = 0; i < at->problem->rows * at->problem->states; i++) {
        gain += cost_of(at, i) * (nominal[i] - X[i]);
    }
    const double size = at->costs.scale * 20;
    assert_that(fabs(gain - at->costs.gain) <= 1e-13 * size, "gain %.17g, said is %.17g", gain,
                at->costs.gain);
    assert_that(gain <= bound + 1e-15 * size, "gain %.17g above its bound %.17g", gain, bound);
    assert_that(bound - gain <= 1e-9 * bound + 1e-13 * size, "gain %.17g far below its bound %.17g", gain,
                bound);
    free(X);
    free(nominal);
}

/* <c + curvature (X - from) / alpha^2, Y - X> >= 0 for every Y of the set, from being one too. */
static void check_near(nadir_context *context, setting *at, nadir_random *random)
{
    const int64_t count = at->problem->rows * at->problem->states;
    double length;
    nadir_kernel *from = NULL;
    assert_ok(context, nadir_lmo_row_costs_solve(context, &at->costs));
    double *other = entries_of(context, at);
    set_costs(context, at, random, 1, 1 / 0.9);
    assert_ok(context, nadir_lmo_row_costs_solve(context, &at->costs));
    double *start = entries_of(context, at);
    assert_ok(context,
              nadir_kernel_create_changed(context, at->problem->model, &at->costs.changed.made, &from));
    set_costs(context, at, random, 1, 1 / 0.9);
    const double curvature = pow(10, 4 * nadir_random_uniform(random) - 2);
    assert_ok(context, nadir_lmo_row_costs_proximal(context, &at->costs, from, curvature, &length));
    double *X = entries_of(context, at);
    assert_ok(context, nadir_lmo_row_costs_solve(context, &at->costs));
    double *far = entries_of(context, at);
    double *nominal = test_dense_kernel(at->problem->model);
    const double *const tried[] = {other, start, far, nominal};
    double moved = 0;
    for (int j = 0; j < 5; j++) {
        double product = 0;
        double size = 1e-3;
        for (int64_t i = 0; i < count; i++) {
            const double alpha = nadir_uncertainty_scale(at->problem->uncertainty, i / at->problem->states);
            const double Y = j < 4 ? tried[j][i] : (far[i] + other[i]) / 2;
            const double g = cost_of(at, i) + (alpha > 0 ? curvature * (X[i] - start[i]) / alpha / alpha : 0);
            product += g * (Y - X[i]);
            size += fabs(g * (Y - X[i]));
            moved += j == 0 && alpha > 0 ? (X[i] - start[i]) / alpha * ((X[i] - start[i]) / alpha) : 0;
        }
        assert_that(product >= -1e-7 * size, "a better way: %g of %g (%d)", product, size, j);
    }
    assert_that(fabs(moved - length) <= 1e-9 * moved + 1e-20, "length %.17g, said is %.17g", moved, length);
    free(other);
    free(start);
    free(X);
    free(far);
    free(nominal);
    nadir_kernel_free(from);
}

static void check_all(nadir_domain domain, int rounds)
{
    nadir_context *context = test_context();
    nadir_random random = test_random(SEED + (uint64_t)domain);
    const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
    for (int i = 0; i < 2 * rounds * NORMS * 3; i++) {
        setting at = {0};
        setting_make(context, &at, &random, sets[i % 3], domain, norms[i / 3 % NORMS],
                     i >= rounds * NORMS * 3);
        check_step(context, &at);
        check_near(context, &at, &random);
        setting_clear(context, &at);
    }
    test_note_clear();
    nadir_context_free(context);
}

static void test_simplex(void **state)
{
    (void)state;
    check_all(NADIR_DOMAIN_SIMPLEX, test_often(12));
}

static void test_support(void **state)
{
    (void)state;
    check_all(NADIR_DOMAIN_SUPPORT, test_often(12));
}

static void test_free_signs(void **state)
{
    (void)state;
    check_all(NADIR_DOMAIN_FREE, test_often(12));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simplex),
        cmocka_unit_test(test_support),
        cmocka_unit_test(test_free_signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

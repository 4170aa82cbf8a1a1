/* Robust evaluation of the closed-form instances of support/golden.h against numbers known from elsewhere. */
#include "support/support.h"

#include "support/generated.h"
#include "support/golden.h"
#include "support/robust.h"

#include <math.h>

enum { NONRECT = NADIR_SET_NONRECT, S = NADIR_SET_S, SA = NADIR_SET_SA };
enum { SIMPLEX = NADIR_DOMAIN_SIMPLEX, SUPPORT = NADIR_DOMAIN_SUPPORT, FREE = NADIR_DOMAIN_FREE };

/* Instances by their place in test_goldens: dense(8,3), dense(40,5), sparse(30,4). Where the radius is one of
 * rows or states, all of them have it. Values of 1e-7 are the best that was attained. */
static const struct golden_row {
    int instance, set, domain;
    double norm, radius, value, tolerance;
} rows[] = {
    {0, NONRECT, FREE, 2, 0.077, 5.25282632122, 1e-9},
    {0, NONRECT, FREE, 2, 0.46, 4.95783325532, 1e-9},
    {0, NONRECT, FREE, 2, 1.2, 4.09773269422, 1e-9},
    {0, NONRECT, FREE, 1, 0.077, 5.29884806619, 1e-9},
    {0, NONRECT, FREE, 1.5, 0.077, 5.28095011946, 1e-9},
    {0, NONRECT, FREE, 3, 0.077, 5.18953703421, 1e-9},
    {0, SA, FREE, 1, 0.01925, 5.27242333713, 1e-9},
    {0, S, FREE, 1, 0.01925, 5.29014884305, 1e-9},
    {0, SA, FREE, 1.5, 0.01925, 5.25943566583, 1e-9},
    {0, S, FREE, 1.5, 0.01925, 5.28108065362, 1e-9},
    {0, SA, FREE, 2, 0.01925, 5.24680021111, 1e-9},
    {0, S, FREE, 2, 0.01925, 5.26960337329, 1e-9},
    {0, SA, FREE, 3, 0.01925, 5.22783416432, 1e-9},
    {0, S, FREE, 3, 0.01925, 5.24981157083, 1e-9},
    {0, SA, FREE, INFINITY, 0.01925, 5.16133171343, 1e-9},
    {0, S, FREE, INFINITY, 0.01925, 5.16133171343, 1e-9},
    {0, SA, SIMPLEX, 1, 0.01925, 5.27242333713, 1e-9},
    {0, SA, SUPPORT, 1, 0.01925, 5.27242333713, 1e-9},
    {0, SA, SIMPLEX, 2, 0.01925, 5.24680021111, 1e-9},
    {0, SA, SUPPORT, 2, 0.01925, 5.24680021111, 1e-9},
    {0, SA, SIMPLEX, INFINITY, 0.01925, 5.16212391637, 1e-9},
    {0, SA, SUPPORT, INFINITY, 0.01925, 5.16212391637, 1e-9},
    {0, NONRECT, SIMPLEX, 2, 0.077, 5.25282632122, 1e-7},
    {0, NONRECT, SUPPORT, 2, 0.077, 5.25282632122, 1e-7},
    {0, NONRECT, SIMPLEX, 2, 0.46, 4.96086135669, 1e-7},
    {0, NONRECT, SUPPORT, 2, 0.46, 4.96086135669, 1e-7},
    {1, NONRECT, FREE, 2, 0.099, 9.89791906878, 1e-9},
    {1, NONRECT, FREE, 2, 0.6, 9.3967921216, 1e-9},
    {1, NONRECT, FREE, 2, 1.6, 7.66880827239, 1e-9},
    {1, NONRECT, FREE, 1, 0.099, 9.98924440776, 1e-9},
    {1, NONRECT, FREE, 1.5, 0.099, 9.96743357103, 1e-9},
    {1, NONRECT, FREE, 3, 0.099, 9.6103483823, 1e-9},
    {1, SA, FREE, 1, 0.02475, 9.90405055925, 1e-9},
    {1, S, FREE, 1, 0.02475, 9.96286999438, 1e-9},
    {1, SA, FREE, 1.5, 0.02475, 9.81319569889, 1e-9},
    {1, S, FREE, 1.5, 0.02475, 9.91966470251, 1e-9},
    {1, SA, FREE, 2, 0.02475, 9.69088412932, 1e-9},
    {1, S, FREE, 2, 0.02475, 9.84326574768, 1e-9},
    {1, SA, FREE, 3, 0.02475, 9.46857962983, 1e-9},
    {1, S, FREE, 3, 0.02475, 9.66877945846, 1e-9},
    {1, SA, FREE, INFINITY, 0.02475, 8.34208095829, 1e-9},
    {1, S, FREE, INFINITY, 0.02475, 8.34208095829, 1e-9},
    {1, SA, SIMPLEX, 1, 0.02475, 9.90426295711, 1e-9},
    {1, SA, SUPPORT, 1, 0.02475, 9.90426295711, 1e-9},
    {1, SA, SIMPLEX, 2, 0.02475, 9.69173868421, 1e-9},
    {1, SA, SUPPORT, 2, 0.02475, 9.69173868421, 1e-9},
    {1, SA, SIMPLEX, INFINITY, 0.02475, 8.5416583551, 1e-9},
    {1, SA, SUPPORT, INFINITY, 0.02475, 8.5416583551, 1e-9},
    {1, NONRECT, SIMPLEX, 2, 0.099, 9.89791920132, 1e-7},
    {1, NONRECT, SUPPORT, 2, 0.099, 9.89791920132, 1e-7},
    {1, NONRECT, SIMPLEX, 2, 0.6, 9.40583290091, 1e-7},
    {1, NONRECT, SUPPORT, 2, 0.6, 9.40583290091, 1e-7},
    {2, NONRECT, FREE, 2, 0.079, 4.93195106133, 1e-9},
    {2, NONRECT, FREE, 2, 0.48, 4.68059127506, 1e-9},
    {2, NONRECT, FREE, 2, 1.3, 3.85565518553, 1e-9},
    {2, NONRECT, FREE, 1, 0.079, 4.97573291374, 1e-9},
    {2, NONRECT, FREE, 1.5, 0.079, 4.96402143446, 1e-9},
    {2, NONRECT, FREE, 3, 0.079, 4.81955613388, 1e-9},
    {2, SA, FREE, 1, 0.01975, 4.93911613398, 1e-9},
    {2, S, FREE, 1, 0.01975, 4.96352537873, 1e-9},
    {2, SA, FREE, 1.5, 0.01975, 4.90848135604, 1e-9},
    {2, S, FREE, 1.5, 0.01975, 4.94655299181, 1e-9},
    {2, SA, FREE, 2, 0.01975, 4.86867244287, 1e-9},
    {2, S, FREE, 2, 0.01975, 4.91878043457, 1e-9},
    {2, SA, FREE, 3, 0.01975, 4.79977877266, 1e-9},
    {2, S, FREE, 3, 0.01975, 4.86054895885, 1e-9},
    {2, SA, FREE, INFINITY, 0.01975, 4.48127891708, 1e-9},
    {2, S, FREE, INFINITY, 0.01975, 4.48127891708, 1e-9},
    {2, SA, SIMPLEX, 1, 0.01975, 4.94739101239, 1e-9},
    {2, SA, SUPPORT, 1, 0.01975, 4.95181435423, 1e-9},
    {2, SA, SIMPLEX, 2, 0.01975, 4.91251826728, 1e-9},
    {2, SA, SUPPORT, 2, 0.01975, 4.93199339521, 1e-9},
    {2, SA, SIMPLEX, INFINITY, 0.01975, 4.7976450558, 1e-9},
    {2, SA, SUPPORT, INFINITY, 0.01975, 4.87987481382, 1e-9},
    {2, NONRECT, SIMPLEX, 2, 0.079, 4.9506813445, 1e-7},
    {2, NONRECT, SUPPORT, 2, 0.079, 4.95900165366, 1e-7},
    {2, NONRECT, SIMPLEX, 2, 0.48, 4.80573300608, 1e-7},
    {2, NONRECT, SUPPORT, 2, 0.48, 4.85550885147, 1e-7},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* At p = 2: the smallest radius with a singular kernel. */
static const double breakdowns[TEST_GOLDEN] = {1.53500784234, 1.98824642726, 1.58430934582};

typedef struct place {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_solver *solver;
} place;

static place place_make(int instance, bool csr)
{
    place made = {.context = test_context()};
    made.model = test_golden_model(made.context, &test_goldens[instance], csr);
    made.policy = test_golden_policy(made.context, made.model);
    made.solver = test_solver(made.context, made.model, made.policy);
    return made;
}

static void place_clear(place *made)
{
    nadir_solver_free(made->solver);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
}

/* Every row of the table with this domain, rectangular or not. */
static void check_rows(nadir_domain domain, bool rectangular)
{
    for (int instance = 0; instance < TEST_GOLDEN; instance++) {
        place here = place_make(instance, false);
        for (int i = 0; i < ROWS; i++) {
            const struct golden_row *row = &rows[i];
            if (row->instance != instance || row->domain != (int)domain ||
                (row->set != NONRECT) != rectangular) {
                continue;
            }
            const nadir_ball ball =
                test_ball((nadir_set)row->set, (nadir_domain)row->domain, row->norm, &row->radius, NULL);
            test_note("%s, %s", test_goldens[instance].name, test_ball_name(&ball));
            const nadir_robust result = test_robust(here.context, here.solver, &ball, NULL, NULL);
            assert_that(fabs(result.robust_return / row->value - 1) <= row->tolerance,
                        "found %.13g, expected %.13g", result.robust_return, row->value);
            assert_true(result.lower_bound <= row->value + 1e-10);
            assert_close(result.nominal_return, test_goldens[instance].nominal_return, 1e-11);
        }
        test_note_clear();
        place_clear(&here);
    }
}

static void test_nonrect_free(void **state)
{
    (void)state;
    check_rows(NADIR_DOMAIN_FREE, false);
}

static void test_nonrect_valid(void **state)
{
    (void)state;
    check_rows(NADIR_DOMAIN_SIMPLEX, false);
    check_rows(NADIR_DOMAIN_SUPPORT, false);
}

static void test_rectangular_free(void **state)
{
    (void)state;
    check_rows(NADIR_DOMAIN_FREE, true);
}

static void test_rectangular_valid(void **state)
{
    (void)state;
    check_rows(NADIR_DOMAIN_SIMPLEX, true);
    check_rows(NADIR_DOMAIN_SUPPORT, true);
}

/* The p = 2 rows of the free domain by each method. */
static void test_methods(void **state)
{
    (void)state;
    static const char *const methods[] = {"auto", "newton", "bisect", "best-response"};
    for (int i = 0; i < ROWS; i++) {
        const struct golden_row *row = &rows[i];
        if (row->set != NONRECT || row->domain != FREE || row->norm != 2) {
            continue;
        }
        place here = place_make(row->instance, true);
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &row->radius, NULL);
        for (size_t j = 0; j < sizeof methods / sizeof *methods; j++) {
            nadir_robust_settings settings = test_robust_settings();
            settings.method = methods[j];
            test_note("%s, %s, %s", test_goldens[row->instance].name, test_ball_name(&ball), methods[j]);
            const nadir_robust result = test_robust(here.context, here.solver, &ball, &settings, NULL);
            assert_that(fabs(result.robust_return / row->value - 1) <= 1e-9, "found %.13g, expected %.13g",
                        result.robust_return, row->value);
        }
        test_note_clear();
        place_clear(&here);
    }
}

/* Exact under strict, never above otherwise; just below there is an answer, from there on none. */
static void test_breakdown(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_GOLDEN; i++) {
        place here = place_make(i, false);
        double radius = 0.05;
        nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
        nadir_robust_settings settings = test_robust_settings();
        test_note("%s", test_goldens[i].name);
        nadir_robust result = test_robust(here.context, here.solver, &ball, &settings, NULL);
        assert_true(result.breakdown_radius > 0 && result.breakdown_radius <= breakdowns[i] * (1 + 1e-9));
        settings.certify = NADIR_CERTIFY_STRICT;
        result = test_robust(here.context, here.solver, &ball, &settings, NULL);
        assert_close(result.breakdown_radius, breakdowns[i], 1e-8);
        radius = 0.99 * breakdowns[i];
        test_robust(here.context, here.solver, &ball, &settings, NULL);
        radius = 1.01 * breakdowns[i];
        assert_fails(here.context,
                     nadir_solver_robust(here.context, here.solver, &ball, &settings, &result, NULL),
                     NADIR_ERROR_ILL_POSED, "breakdown");
        test_note_clear();
        place_clear(&here);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nonrect_free),     cmocka_unit_test(test_nonrect_valid),
        cmocka_unit_test(test_rectangular_free), cmocka_unit_test(test_rectangular_valid),
        cmocka_unit_test(test_methods),          cmocka_unit_test(test_breakdown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

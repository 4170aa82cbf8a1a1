/* test_free_sweep.c: many radii of the L_2 ball on the free domain, which share one subspace and one breakdown
 * radius, against evaluations of each alone: up to breakdown. */
#include "support/support.h"

#include "support/families.h"
#include "support/generated.h"
#include "support/instance.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 31415

enum { COUNT = 12 };

/* Where breakdown is: exactly, as far as that goes. */
static double breakdown_of(const test_instance *here, const double *scales)
{
    const double radius = 1e-3;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, scales);
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = NADIR_CERTIFY_STRICT;
    const double found = test_robust(here->context, here->solver, &ball, &settings, NULL).breakdown_radius;
    return isfinite(found) ? found : 1;
}

static void compare(const nadir_robust *one, const nadir_robust *many)
{
    const double slack = 1e-10 * fabs(one->penalty) + 1e-13 * fabs(one->nominal_return);
    assert_close(many->robust_return, one->robust_return, slack);
    assert_that(many->certified == one->certified, "%s, alone %s", many->certificate, one->certificate);
    assert_true(many->lower_bound <= many->robust_return && many->robust_return <= many->upper_bound);
    /* both are bounds on one number, and about as close */
    assert_true(many->lower_bound <= one->upper_bound && one->lower_bound <= many->upper_bound);
    assert_close(many->upper_bound, one->upper_bound, 1e-10 * fabs(one->penalty) + 1e-11);
    assert_close(many->lower_bound, one->lower_bound, 1e-6 * fabs(one->penalty) + 1e-11);
    /* a return is flat in its kernel, which is known to the root of what the return is known to */
    assert_close(many->kernel_minimum, one->kernel_minimum, 1e-5 * (1 + fabs(one->kernel_minimum)));
}

/* Radii up to `share` of breakdown. */
static void check_place(const test_instance *here, const double *scales, double share, bool optimistic)
{
    nadir_robust many[COUNT];
    double factors[COUNT];
    const double radius = share * breakdown_of(here, scales);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, scales);
    nadir_robust_settings settings = test_robust_settings();
    settings.optimistic = optimistic;
    settings.tolerance = 1e-12; /* searches stop early otherwise, alone at another place than among many */
    for (int i = 0; i < COUNT; i++) {
        factors[i] = (i + 1.0) / COUNT;
        many[i] = (nadir_robust){.size = sizeof many[i]};
    }
    assert_ok(here->context,
              nadir_solver_robust_many(here->context, here->solver, &ball, &settings, COUNT, factors, many));
    for (int i = 0; i < COUNT; i++) {
        nadir_ball own = ball;
        own.radius = &many[i].radius;
        const nadir_robust one = test_robust(here->context, here->solver, &own, &settings, NULL);
        compare(&one, &many[i]);
    }
    settings.certify = NADIR_CERTIFY_OFF;
    const double before = many[COUNT - 1].robust_return;
    assert_ok(here->context,
              nadir_solver_robust_many(here->context, here->solver, &ball, &settings, COUNT, factors, many));
    assert_close(many[COUNT - 1].robust_return, before, 1e-10 * fabs(before) + 1e-13);
    assert_true(!many[0].certified && isinf(optimistic ? many[0].upper_bound : many[0].lower_bound));
}

static test_instance family_place(int family, const char *backend, nadir_random *random)
{
    test_instance here = {.context = test_context()};
    nadir_solver_settings settings = test_solver_settings();
    settings.backend = backend;
    here.model = test_families[family].make(here.context, random);
    here.policy = test_policy(here.context, here.model, TEST_RANDOM, random);
    assert_ok(here.context,
              nadir_solver_create(here.context, here.model, here.policy, &settings, &here.solver));
    return here;
}

static void test_families_up_to_breakdown(void **state)
{
    static const double shares[] = {1e-6, 0.3, 0.9, 0.999};
    const int step = getenv("NADIR_VALGRIND") != NULL ? 5 : 1;
    (void)state;
    for (int i = 0; i < 4 * (TEST_FAMILIES - 1); i += step) {
        nadir_random random = test_random(SEED + (uint64_t)i);
        test_instance here = family_place(i / 4, i % 3 == 2 ? "krylov" : NULL, &random);
        const nadir_model_data view = test_view(here.model);
        double *scales = test_new(view.rows, sizeof *scales);
        for (int64_t row = 0; row < view.rows; row++) {
            scales[row] = nadir_random_below(&random, 4) == 0 ? 0 : 0.1 + nadir_random_uniform(&random);
        }
        test_note("%s, %g of breakdown, seed %d", test_families[i / 4].name, shares[i % 4], SEED + i);
        check_place(&here, i % 2 == 0 ? scales : NULL, shares[i % 4], i % 5 == 0);
        free(scales);
        test_instance_clear(&here);
    }
    test_note_clear();
}

static nadir_status make_place(nadir_context *context, test_instance *here)
{
    nadir_generate_settings shape = test_generate_settings();
    shape.states = 12;
    shape.actions = 2;
    *here = (test_instance){.context = context};
    nadir_status status = nadir_model_generate(context, "random", &shape, &here->model);
    if (status == NADIR_OK) {
        status = nadir_policy_create_uniform(context, here->model, &here->policy);
    }
    if (status == NADIR_OK) {
        status = nadir_solver_create(context, here->model, here->policy, NULL, &here->solver);
    }
    return status;
}

/* No cheap proof of breakdown reaches the last of these radii. */
static nadir_status attempt(nadir_context *context, const void *of)
{
    const double radius = *(const double *)of;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    nadir_robust many[COUNT];
    double factors[COUNT];
    test_instance here;
    for (int i = 0; i < COUNT; i++) {
        factors[i] = (i + 1.0) / COUNT;
        many[i].size = sizeof many[i];
    }
    nadir_status status = make_place(context, &here);
    if (status == NADIR_OK) {
        status = nadir_solver_robust_many(context, here.solver, &ball, NULL, COUNT, factors, many);
    }
    nadir_solver_free(here.solver);
    nadir_policy_free(here.policy);
    nadir_model_free(here.model);
    return status;
}

static void test_scarce_memory(void **state)
{
    test_instance here;
    nadir_context *context = test_context();
    (void)state;
    assert_ok(context, make_place(context, &here));
    const double radius = 0.97 * breakdown_of(&here, NULL);
    test_instance_clear(&here);
    test_run_out(attempt, &radius, NULL, "free domain");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families_up_to_breakdown),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

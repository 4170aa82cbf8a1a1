/*
 * Memory of an engine's device: a thousand evaluations, some of a larger model, and the engine opened and
 * closed, leave it as it was.
 * Skipped unless NADIR_TEST_ENGINE names an engine with a device.
 */
#include "support/support.h"

#include "core/context.h"
#include "support/generated.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>

enum { EVALUATIONS = 1000, FIRST = 40, OPENINGS = 8, LARGE = 10, LARGE_KINDS = 4 };

/* The device takes memory in pieces of this size. */
#define PIECE (2.0 * 1024 * 1024)

static const char *engine_name(void)
{
    const char *name = getenv("NADIR_TEST_ENGINE");
    return name != NULL && *name != '\0' ? name : NULL;
}

/* The i-th kind of evaluation from nothing to nothing. */
static void evaluate(nadir_context *context, int i)
{
    static const char *const backends[] = {"auto", "device-lu", "device-krylov"};
    static const nadir_domain domains[] = {NADIR_DOMAIN_FREE, NADIR_DOMAIN_SUPPORT, NADIR_DOMAIN_SIMPLEX};
    const double radius = 0.01;
    nadir_generate_settings shape = test_generate_settings();
    nadir_solver *solver = NULL;
    shape.states = 24;
    shape.seed = 1;
    nadir_model *model = test_generate(context, i % 2 == 0 ? "random" : "garnet", &shape);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domains[i / 6 % 3], 2, &radius, NULL);
    nadir_solver_settings settings = test_solver_settings();
    settings.backend = backends[i / 2 % 3];
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_solver_create(context, model, policy, &settings, &solver));
    (void)test_robust(context, solver, &ball, NULL, NULL);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

/* Transitions enough for steps, numbers and lists of columns on the device: the domain support, and by turns
 * the domain simplex, of which the search will do. */
static void evaluate_large(nadir_context *context, int i)
{
    static const double norms[LARGE_KINDS] = {2, 2, 1, INFINITY};
    const bool simplex = i % LARGE_KINDS > 0;
    const double radius = 0.05;
    const nadir_ball ball =
        test_ball(NADIR_SET_NONRECT, simplex ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT,
                  norms[i % LARGE_KINDS], &radius, NULL);
    nadir_generate_settings shape = test_generate_settings();
    nadir_solver *solver = NULL;
    nadir_solver_settings settings = test_solver_settings();
    nadir_robust_settings search = test_robust_settings();
    search.certify = NADIR_CERTIFY_OFF;
    settings.backend = "device-krylov";
    shape.states = 6000;
    shape.seed = 1;
    nadir_model *model = test_generate(context, "garnet", &shape);
    assert_true(test_view(model).nonzeros >= 65536);
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_solver_create(context, model, policy, &settings, &solver));
    (void)test_robust(context, solver, &ball, simplex ? &search : NULL, NULL);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
}

static void test_many_evaluations(void **state)
{
    double taken[2] = {0, 0};
    double left[2] = {0, 0};
    (void)state;
    if (engine_name() == NULL) {
        print_message("skipped: NADIR_TEST_ENGINE names no engine with a device\n");
        skip();
    }
    for (int i = 0; i < EVALUATIONS; i++) {
        nadir_context *context = test_context();
        test_note("evaluation %d", i);
        evaluate(context, i);
        if (i % (EVALUATIONS / LARGE) == FIRST - 1) {
            for (int kind = i < FIRST ? 0 : LARGE_KINDS - 1; kind < LARGE_KINDS; kind++) { /* at first all */
                evaluate_large(context, i / (EVALUATIONS / LARGE) + kind);
            }
        }
        if (i == FIRST || i + 1 == EVALUATIONS) {
            const int end = i == FIRST ? 0 : 1;
            context->device->memory(context->device_self, &taken[end], &left[end]);
        }
        nadir_context_free(context);
    }
    test_note_clear();
    print_message("device: %.0f bytes taken and %.0f left after %d evaluations, %.0f and %.0f after %d\n",
                  taken[0], left[0], FIRST, taken[1], left[1], EVALUATIONS);
    assert_that(taken[1] == taken[0], "%.0f bytes more are taken", taken[1] - taken[0]);
    assert_that(left[1] >= left[0] - PIECE, "%.0f bytes fewer are left", left[0] - left[1]);
}

/* An engine of its own, opened and closed with all that was made in it. */
static void test_openings(void **state)
{
    double left[2] = {0, 0};
    (void)state;
    if (engine_name() == NULL) {
        print_message("skipped: NADIR_TEST_ENGINE names no engine with a device\n");
        skip();
    }
    for (int i = 0; i < OPENINGS; i++) {
        nadir_context *context = NULL;
        nadir_engine *engine = NULL;
        double taken;
        assert_int_equal(nadir_context_create(NULL, &context), NADIR_OK);
        assert_ok(context, nadir_engine_open(context, engine_name(), NULL, false, &engine));
        context->device->memory(context->device_self, &taken, &left[i == 1 ? 0 : 1]);
        for (int kind = 0; kind < 18; kind++) {
            evaluate(context, kind);
        }
        nadir_engine_close(engine, 0, "");
        nadir_context_free(context);
    }
    print_message("device: %.0f bytes left at the second opening, %.0f at the last of %d\n", left[0], left[1],
                  OPENINGS);
    assert_that(left[1] >= left[0] - PIECE, "%.0f bytes fewer are left", left[0] - left[1]);
}

int main(void)
{
    /* before any other test keeps the engine open */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openings),
        cmocka_unit_test(test_many_evaluations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

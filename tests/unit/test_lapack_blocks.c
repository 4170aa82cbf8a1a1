/* test_lapack_blocks.c: a dense system large enough to be factored in blocks: right, and interruptible. */
#include "support/support.h"

#include "core/random.h"
#include "solve/occupancy.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { STATES = 2600, SEED = 12 };

/* A random dense model with one action, its kernel and its policy. */
typedef struct large_setting {
    nadir_model *model;
    nadir_policy *policy;
    nadir_kernel *kernel;
} large_setting;

static large_setting make_setting(nadir_context *context)
{
    large_setting made = {0};
    nadir_generate_settings settings = test_generate_settings();
    settings.states = STATES;
    settings.actions = 1;
    settings.seed = SEED;
    assert_ok(context, nadir_model_generate(context, "random", &settings, &made.model));
    assert_ok(context, nadir_policy_create_uniform(context, made.model, &made.policy));
    assert_ok(context, nadir_kernel_create(context, made.model, &made.kernel));
    return made;
}

static void clear_setting(large_setting *setting)
{
    nadir_kernel_free(setting->kernel);
    nadir_policy_free(setting->policy);
    nadir_model_free(setting->model);
}

/* The same products as the iterative backend, which shares no code with the factors. */
static void test_products(void **state)
{
    if (test_memcheck()) {
        skip();
    }
    nadir_context *context = *state;
    large_setting setting = make_setting(context);
    static double b[STATES];
    static double x[2][STATES];
    nadir_random random = test_random(SEED);
    for (int i = 0; i < STATES; i++) {
        b[i] = nadir_random_normal(&random);
    }
    static const char *const backends[] = {"lapack", "krylov"};
    for (int transposed = 0; transposed < 2; transposed++) {
        for (int i = 0; i < 2; i++) {
            nadir_occupancy *occupancy = NULL;
            assert_ok(context, nadir_occupancy_create(context, setting.kernel, setting.policy, 0.99,
                                                      backends[i], 1e-13, &occupancy));
            assert_ok(context, transposed
                                   ? nadir_occupancy_solve_transposed(context, occupancy, 1, b, x[i], NULL)
                                   : nadir_occupancy_solve(context, occupancy, 1, b, x[i], NULL));
            nadir_occupancy_free(context, occupancy);
        }
        double scale = 0;
        double apart = 0;
        for (int i = 0; i < STATES; i++) {
            scale = fmax(scale, fabs(x[0][i]));
            apart = fmax(apart, fabs(x[0][i] - x[1][i]));
        }
        if (!(apart <= 1e-10 * scale)) {
            fail_msg("seed %d, transposed %d: off by %g at a scale of %g", SEED, transposed, apart, scale);
        }
    }
    clear_setting(&setting);
}

static int stop_factoring(void *user, const char *task, double share)
{
    (void)user;
    (void)share;
    return task[0] == 'f'; /* factoring */
}

static void test_interruption(void **state)
{
    (void)state;
    if (test_memcheck()) {
        skip();
    }
    nadir_context *context = test_context_progress(stop_factoring, NULL);
    large_setting setting = make_setting(context);
    nadir_occupancy *occupancy = NULL;
    assert_fails(
        context,
        nadir_occupancy_create(context, setting.kernel, setting.policy, 0.9, "lapack", 0, &occupancy),
        NADIR_ERROR_INTERRUPTED, "interrupted while factoring");
    assert_null(occupancy);
    clear_setting(&setting);
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_products),
        cmocka_unit_test(test_interruption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

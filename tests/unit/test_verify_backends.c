/*
 * Files that one backend wrote, verified by every other: all hold, next to gamma = 1 too, where the rounding
 * of solves is more than that of numbers.
 */
#include "support/support.h"

#include "support/generated.h"
#include "support/problem.h"
#include "support/robust.h"

#include <math.h>

enum { SEED = 7, BACKENDS = 3 };

static const char *const backends[BACKENDS] = {"lapack", "krylov", "klu"};

/* worst.npz and worst.json; false: there is no answer to this question. */
static bool write_files(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                        const nadir_ball *ball, const char *backend)
{
    nadir_robust robust = {.size = sizeof robust};
    nadir_solver *solver = NULL;
    nadir_worst *worst = NULL;
    nadir_solver_settings solving = test_solver_settings();
    nadir_robust_settings settings = test_robust_settings();
    solving.backend = backend;
    assert_ok(context, nadir_solver_create(context, model, policy, &solving, &solver));
    const nadir_status status = nadir_solver_robust(context, solver, ball, &settings, &robust, &worst);
    if (status == NADIR_OK) {
        assert_ok(context, nadir_worst_write(context, worst, "worst.npz"));
        assert_ok(context, nadir_worst_set_files(context, worst, NULL, NULL, "worst.npz"));
        assert_ok(context, nadir_worst_write_witness(context, worst, "worst.json"));
    } else {
        assert_int_equal(status, NADIR_ERROR_ILL_POSED); /* breakdown */
    }
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    return status == NADIR_OK;
}

static void verify_files(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                         const char *backend)
{
    nadir_verify_settings settings;
    nadir_verify_result result = {.size = sizeof result};
    nadir_verification *made = NULL;
    nadir_verify_settings_default(&settings);
    settings.kernel = "worst.npz";
    settings.witness = "worst.json";
    settings.backend = backend;
    assert_ok(context, nadir_verify(context, model, policy, &settings, &result, &made));
    assert_true(result.verified);
    nadir_verification_free(made);
}

/* Every backend that can writes, every one that can verifies. *written: files, counted. */
static void verify_all(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                       const nadir_ball *ball, int count, int *written)
{
    for (int writer = 0; writer < count; writer++) {
        if (write_files(context, model, policy, ball, backends[writer])) {
            ++*written;
            for (int reader = 0; reader < count; reader++) {
                test_note("discount %g, %s, %s verifies what %s wrote", model->discount, test_ball_name(ball),
                          backends[reader], backends[writer]);
                verify_files(context, model, policy, backends[reader]);
            }
        }
    }
}

/* count: of backends that take the model. */
static void verify_kind(const char *kind, int64_t states, int count)
{
    static const double discounts[] = {0.5, 0.9, 0.99, 0.999};
    static const double norms[] = {1, 2, INFINITY};
    static const double radii[] = {1e-4, 0.01};
    static const nadir_domain domains[] = {NADIR_DOMAIN_FREE, NADIR_DOMAIN_SUPPORT, NADIR_DOMAIN_SIMPLEX};
    nadir_context *context = test_context();
    int written = 0;
    const int stride = test_memcheck() ? 5 : 1;
    for (int i = 0; i < 4 * 3 * 2 * 3; i += stride) {
        nadir_generate_settings shape = test_generate_settings();
        shape.states = states;
        shape.seed = SEED;
        nadir_model *model = test_generate(context, kind, &shape);
        model->discount = discounts[i / 18];
        const nadir_ball ball =
            test_ball(NADIR_SET_NONRECT, domains[i % 3], norms[i / 6 % 3], &radii[i / 3 % 2], NULL);
        nadir_policy *policy = test_uniform_policy(context, model);
        verify_all(context, model, policy, &ball, count, &written);
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
    test_note_clear();
    assert_true(written > 60 * count / stride);
    nadir_context_free(context);
}

static void test_dense(void **state)
{
    (void)state;
    verify_kind("random", 12, 2);
}

static void test_sparse(void **state)
{
    (void)state;
    verify_kind("garnet", 30, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_sparse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* verified.c: evaluations whose files are verified; see verified.h. */
#include "support/support.h"

#include "support/robust.h"
#include "support/verified.h"

#include <stdio.h>
#include <string.h>

nadir_robust test_verified_evaluate(const test_instance *instance, const nadir_ball *ball,
                                    const nadir_robust_settings *settings)
{
    nadir_context *context = instance->context;
    nadir_worst *worst = NULL;
    const nadir_robust robust = test_robust(context, instance->solver, ball, settings, &worst);
    assert_ok(context, nadir_worst_write(context, worst, "worst.npz"));
    assert_ok(context, nadir_worst_set_files(context, worst, NULL, NULL, "worst.npz"));
    assert_ok(context, nadir_worst_write_witness(context, worst, "worst.json"));
    nadir_worst_free(worst);
    return robust;
}

nadir_status test_verified_verify(const test_instance *instance, const char *kernel, const char *witness,
                                  nadir_verify_result *result, nadir_verification **made)
{
    nadir_verify_settings settings;
    nadir_verify_settings_default(&settings);
    settings.kernel = kernel;
    settings.witness = witness;
    *result = (nadir_verify_result){.size = sizeof *result};
    return nadir_verify(instance->context, instance->model, instance->policy, &settings, result, made);
}

void assert_check_fails(const test_instance *instance, const char *kernel, const char *witness,
                        const char *name)
{
    nadir_verify_result result;
    nadir_verification *made = NULL;
    bool found = false;
    const nadir_status status = test_verified_verify(instance, kernel, witness, &result, &made);
    assert_that(status == NADIR_ERROR_VERIFICATION, "%s: status %s: %s", name, nadir_status_name(status),
                nadir_context_error(instance->context));
    assert_false(result.verified);
    for (int64_t i = 0; i < result.checks_count; i++) {
        const nadir_verify_check *check = nadir_verification_check(made, i);
        found = found || (!check->holds && strcmp(check->name, name) == 0);
    }
    if (!found) {
        for (int64_t i = 0; i < result.checks_count; i++) {
            const nadir_verify_check *check = nadir_verification_check(made, i);
            printf("%s %s: %s\n", check->holds ? "holds" : "fails", check->name, check->detail);
        }
    }
    assert_that(found, "the check %s does not fail", name);
    nadir_verification_free(made);
}

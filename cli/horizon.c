/* horizon.c: --horizon of evaluate, sweep and solve; see horizon.h. */
#include "horizon.h"

#include "input.h"

#include <stdlib.h>
#include <string.h>

cli_option cli_horizon_option(int64_t *horizon)
{
    return (cli_option){"--horizon",
                        CLI_INTEGER,
                        "H",
                        NULL,
                        horizon,
                        "the return of H steps, with one kernel for all of them; --discount may be 1;\n"
                        "a policy may differ by step: .npy (H, S, A); optimal: the best for H steps"};
}

bool cli_horizon_check(const cli_run *run, int64_t horizon, const char *const *names, const bool *used)
{
    char reason[200];
    if (horizon < 0) {
        return true;
    }
    if (horizon == 0 || horizon > CLI_HORIZON_MOST) {
        (void)snprintf(reason, sizeof reason, "--horizon: %lld steps given, expected 1 to %d",
                       (long long)horizon, CLI_HORIZON_MOST);
        return cli_wrong(run, reason);
    }
    for (int i = 0; names[i] != NULL; i++) {
        if (used[i]) {
            (void)snprintf(reason, sizeof reason,
                           "--horizon and %s cannot both be given: that is for infinite horizons", names[i]);
            return cli_wrong(run, reason);
        }
    }
    return true;
}

void cli_policies_free(nadir_policy **policies, int64_t horizon)
{
    for (int64_t step = 0; policies != NULL && step < horizon; step++) {
        nadir_policy_free(policies[step]);
    }
    free(policies);
}

nadir_status cli_horizon_policies(cli_run *run, nadir_model *model, int64_t horizon, const char *policy,
                                  nadir_policy ***policies, int64_t *count)
{
    nadir_policy **made = calloc((size_t)horizon, sizeof(nadir_policy *));
    nadir_status status = NADIR_ERROR_MEMORY;
    if (made != NULL && strcmp(policy, "optimal") == 0) {
        nadir_optimum_result result = {.size = sizeof result};
        *count = horizon;
        status = nadir_horizon_optimum(run->context, model, horizon, made, &result);
    } else if (made != NULL && cli_policy_file(policy) == NULL) {
        *count = 1;
        status = nadir_policy_create_uniform(run->context, model, &made[0]);
    } else if (made != NULL) {
        status = nadir_policy_read_steps(run->context, model, policy, horizon, made, count);
    }
    if (status != NADIR_OK) {
        cli_policies_free(made, horizon);
        made = NULL;
    }
    *policies = made;
    return status;
}

nadir_status cli_horizon_robust(cli_run *run, nadir_model *model, int64_t horizon, const char *policy,
                                char digest[65], const nadir_ball *ball,
                                const nadir_robust_settings *settings, int64_t count, const double *factors,
                                nadir_robust *results, nadir_model **worst)
{
    nadir_policy **policies = NULL;
    int64_t policies_count = 0;
    nadir_status status = cli_horizon_policies(run, model, horizon, policy, &policies, &policies_count);
    digest[0] = '\0';
    if (status == NADIR_OK && policies_count == 1) {
        status = cli_policy_digest(run, policies[0], digest);
    }
    if (status == NADIR_OK) {
        status = nadir_horizon_robust(run->context, model, horizon, policies_count,
                                      (const nadir_policy *const *)policies, ball, settings, count, factors,
                                      results, worst);
    }
    cli_policies_free(policies, horizon);
    return status;
}

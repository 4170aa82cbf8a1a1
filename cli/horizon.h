/* horizon.h: --horizon of evaluate, sweep and solve: returns of so many steps. */
#ifndef NADIR_CLI_HORIZON_H
#define NADIR_CLI_HORIZON_H

#include "cli.h"

enum { CLI_HORIZON_MOST = 10000000 };

/* -1 where it is not given. */
cli_option cli_horizon_option(int64_t *horizon);
/* Complains where the number of steps is none, or where an option is given that does not go with --horizon: used[i] tells
 * whether names[i] is; the list of names ends with NULL. */
bool cli_horizon_check(const cli_run *run, int64_t horizon, const char *const *names, const bool *used);

/* A policy for all steps, or one for each: *count of [horizon]. The caller's to release by cli_policies_free. */
nadir_status cli_horizon_policies(cli_run *run, nadir_model *model, int64_t horizon, const char *policy,
                                  nadir_policy ***policies, int64_t *count);
void cli_policies_free(nadir_policy **policies, int64_t horizon);

/* nadir_horizon_robust for the policy of this name. digest: "" where there is a policy for each step. */
nadir_status cli_horizon_robust(cli_run *run, nadir_model *model, int64_t horizon, const char *policy,
                                char digest[65], const nadir_ball *ball,
                                const nadir_robust_settings *settings, int64_t count, const double *factors,
                                nadir_robust *results, nadir_model **worst);

#endif

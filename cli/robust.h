/* robust.h: what commands print and write of robust evaluations, of one policy and of several. */
#ifndef NADIR_CLI_ROBUST_H
#define NADIR_CLI_ROBUST_H

#include "input.h"

/* The keys from "nominal_return" to "backend_bytes". */
void cli_robust_json(cli_json *json, const nadir_robust *robust);
/* The keys from "robust_return" to "bound", as they stand in lists. */
void cli_bounds_json(cli_json *json, const nadir_robust *robust);

/* The kernel found and the witness of its bounds, each if its path is not NULL. model, policy: the files that
 * they were read from, or NULL. */
nadir_status cli_worst_write(cli_run *run, nadir_worst *worst, const char *model, const char *policy,
                             const char *kernel, const char *witness);

/* One policy with its result. */
typedef struct cli_evaluated {
    const char *policy; /* as given by the user */
    char digest[65];
    nadir_robust robust; /* stop_reason NULL: there is none */
} cli_evaluated;

/* Of several policies with a result each. next: whether to say what to run next. */
void cli_policies_text(const cli_run *run, int count, const cli_evaluated *evaluated, const cli_input *input,
                       const nadir_robust_settings *settings, bool next);
/* One of them: the policy, its returns and bounds. */
void cli_evaluated_json(cli_json *json, const cli_evaluated *evaluated);
/* "policies": [...] */
void cli_policies_json(cli_json *json, int count, const cli_evaluated *evaluated);

/* The worst case of the first less the second. */
void cli_difference_text(const cli_run *run, const nadir_difference *difference,
                         const cli_evaluated *evaluated, bool optimistic);
/* "difference": {...} */
void cli_difference_json(cli_json *json, const nadir_difference *difference);

#endif

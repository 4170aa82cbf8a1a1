/* policies.h: what nadir evaluate says of several policies: each by itself, and the difference of two. */
#ifndef NADIR_CLI_POLICIES_H
#define NADIR_CLI_POLICIES_H

#include "cli.h"

/* One policy with its answer. */
typedef struct cli_evaluated {
    const char *policy; /* as the user calls it */
    char digest[65];
    nadir_robust robust; /* stop_reason NULL: there is none */
} cli_evaluated;

/* Of several policies with a result each. */
void cli_policies_text(int count, const cli_evaluated *evaluated, const char *model, bool optimistic);
/* "policies": [...] */
void cli_policies_json(cli_json *json, int count, const cli_evaluated *evaluated);

/* The worst case of the first less the second. */
void cli_difference_text(const nadir_difference *difference, const cli_evaluated *evaluated, bool optimistic);
/* "difference": {...} */
void cli_difference_json(cli_json *json, const nadir_difference *difference);

#endif

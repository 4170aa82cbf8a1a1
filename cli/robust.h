/* robust.h: what commands print and write of the answer of a robust evaluation. */
#ifndef NADIR_CLI_ROBUST_H
#define NADIR_CLI_ROBUST_H

#include "cli.h"

/* The keys from "nominal_return" to "backend_bytes". */
void cli_robust_json(cli_json *json, const nadir_robust *robust);

/* The kernel found and the witness of its bounds, each if its path is not NULL. model, policy: the files that
 * they were read from, or NULL. */
nadir_status cli_worst_write(cli_run *run, nadir_worst *worst, const char *model, const char *policy,
                             const char *kernel, const char *witness);

#endif

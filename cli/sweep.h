/* sweep.h: worst returns at many radii: what nadir sweep finds, prints and draws. */
#ifndef NADIR_CLI_SWEEP_H
#define NADIR_CLI_SWEEP_H

#include "cli.h"
#include "input.h"

enum { CLI_SWEEP_POLICIES = 8, CLI_SWEEP_CURVES = 9 * CLI_SWEEP_POLICIES }; /* every set on every domain */

/* One policy, one set, one domain. */
typedef struct cli_curve {
    const char *policy;
    nadir_set set;
    nadir_domain domain;
    int64_t count;         /* radii that have a result: the first ones */
    nadir_robust *results; /* [radii of the sweep] */
    double breakdown;      /* a lower bound or its value; NaN: not known, or another domain */
} cli_curve;

typedef struct cli_sweep {
    cli_input input; /* its policy is the first */
    cli_list policies;
    const char *plot_path;
    const char *csv_path;
    const char *checkpoint_path; /* keeps the radii that are finished; NULL: nowhere */
    double kept_at;              /* cli_clock of the last checkpoint */
    int64_t kept_count;          /* its radii */
    char (*policy_digests)[65];  /* [policies.count] owned: of those that are files; else empty */
    const char *resume_path;     /* NULL: from the beginning */
    char *kept;                  /* owned: the text of that file; results point into it */
    bool optimistic;
    int64_t horizon; /* -1: none */
    int certify;
    bool interrupted;
    cli_radii radii;
    int curves_count;
    cli_curve curves[CLI_SWEEP_CURVES];
} cli_sweep;

/* The first result: nominal quantities are the same in all. */
const nadir_robust *cli_sweep_any_answer(const cli_sweep *sweep);
/* "uniform, nonrect, simplex" */
const char *cli_curve_name(const cli_curve *curve, char name[96]);

void cli_sweep_print_json(const cli_run *run, const cli_sweep *sweep);
void cli_sweep_print_text(const cli_run *run, const cli_sweep *sweep);
nadir_status cli_sweep_write_csv(cli_run *run, const cli_sweep *sweep);
/* The digests of policies that are files. */
nadir_status cli_sweep_digest_policies(cli_run *run, cli_sweep *sweep);
/* Radii of all curves that have a result. */
int64_t cli_sweep_finished(const cli_sweep *sweep);
/* Writes and reads the checkpoint. Curves have room for all their results. */
nadir_status cli_sweep_keep(cli_run *run, cli_sweep *sweep);
/* The same while curves are computed, at most every few seconds, if further radii are finished. */
void cli_sweep_keep_some(cli_run *run, cli_sweep *sweep);
nadir_status cli_sweep_resume(cli_run *run, cli_sweep *sweep);
/* The risk curves as a picture. */
nadir_status cli_sweep_draw(cli_run *run, const cli_sweep *sweep);

#endif

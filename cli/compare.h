/* compare.h: what nadir compare finds, for its table, JSON, file and picture. */
#ifndef NADIR_CLI_COMPARE_H
#define NADIR_CLI_COMPARE_H

#include "input.h"

enum { CLI_COMPARE_METHODS = 16 };

/* One method on the problem. */
typedef struct cli_compared {
    const char *name;
    nadir_baseline result;
    nadir_trajectory_point *points; /* [count] */
    int64_t count;
} cli_compared;

typedef struct cli_comparison {
    cli_input input;
    const char *csv_path;  /* NULL: none */
    const char *plot_path; /* NULL: none */
    const char *methods;   /* as given: names between commas; NULL: all */
    nadir_baseline_settings budget;
    nadir_robust exact; /* unless it is not certified: what evaluate finds */
    cli_compared compared[CLI_COMPARE_METHODS];
    int count;
} cli_comparison;

/* penalty over the exact one; NaN where that is 0. */
double cli_compare_share(const cli_comparison *comparison, double penalty);
/* Seconds until `share` of the exact penalty was found; infinity: never. */
double cli_compare_time(const cli_comparison *comparison, const cli_compared *compared, double share);

/* The trajectories: method,seconds,samples,penalty,share. */
nadir_status cli_compare_write(cli_run *run, const cli_comparison *comparison);
/* Value against time. */
nadir_status cli_compare_draw(cli_run *run, const cli_comparison *comparison);

#endif

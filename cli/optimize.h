/* optimize.h: the robust policy of one radius, and of many: what nadir optimize finds, prints and draws. */
#ifndef NADIR_CLI_OPTIMIZE_H
#define NADIR_CLI_OPTIMIZE_H

#include "cli.h"
#include "explain.h"
#include "input.h"
#include "robust.h"
#include "union.h"

/* The robust policy of one radius, and beside it the nominal optimum. */
typedef struct cli_frontier_point {
    double radius;
    double nominal_return;         /* of the robust policy */
    double robust_return;          /* its worst return over the ball of this radius */
    double lower_bound;            /* of that */
    double optimality_upper_bound; /* no policy's worst return is above */
    bool certified;
    int64_t evaluations;
    double optimum_robust_return; /* the worst return of the nominal optimum; NaN: breakdown */
} cli_frontier_point;

/* Nominal and worst returns of robust policies of growing radius. */
typedef struct cli_frontier {
    const char *radii_text; /* NULL: fractions of the radius */
    const char *plot_path;  /* NULL: no picture */
    cli_radii radii;
    int64_t count; /* radii that have a result: the first ones */
    cli_frontier_point *points;
    double nominal_optimum;
    double seconds;
} cli_frontier;

/* The progress line of the search on a terminal. */
typedef struct cli_watch {
    cli_run *run;
    double time_limit;         /* seconds; infinity: none was given */
    int64_t evaluations_limit; /* 0: none was given */
    char prefix[96];           /* "radius 0.1 (2 of 9): ", or nothing */
    double gap, first_gap;     /* wanted, and of the first step; 0: none yet */
    double first, last;        /* the part of the bar that this search fills */
} cli_watch;

/* Options and results of the command. */
typedef struct cli_optimize {
    cli_input input;   /* its policy is the file to write; NULL: none */
    const char *start; /* the policy that the search begins with; NULL: the nominal optimum */
    const char *kernel_path;
    const char *witness_path;
    nadir_robust_optimum_settings settings;
    cli_watch watch;
    nadir_robust_optimum_result result;
    nadir_robust evaluation;
    cli_explain damage;     /* the first rows of the worst kernel for the policy; empty: not known */
    double optimum_return;  /* the worst return of the nominal optimum; NaN: not known */
    cli_evaluated compared; /* the user's policy; policy NULL: none was named */
    int64_t differing;      /* states where it differs from the robust one; -1: not known */
    bool draws;             /* the frontier is wanted */
    cli_frontier frontier;
    cli_union members; /* of --union */
} cli_optimize;

void cli_optimize_json(const cli_run *run, const cli_optimize *report);
void cli_optimize_text(const cli_run *run, const nadir_model *model, const nadir_policy *policy,
                       const cli_optimize *report);

/* Worst returns of the nominal optimum, attained ones without proof, at the radii of the ball times each
 * factor; returns: [count], NaN: breakdown. */
nadir_status cli_optimum_returns(cli_run *run, nadir_model *model, const nadir_ball *ball,
                                 const char *backend, int64_t count, const double *factors, double *returns);

/* The robust policies of all radii. settings, watch: of these searches; result, radius: of the policy that
 * was asked for, and the largest of its ball. NADIR_ERROR_NOT_CONVERGED: the limits were reached. */
nadir_status cli_frontier_find(cli_run *run, nadir_model *model, const nadir_ball *ball,
                               const nadir_robust_optimum_settings *settings, const cli_watch *watch,
                               const nadir_robust_optimum_result *result, double radius,
                               cli_frontier *frontier);
void cli_frontier_clear(cli_frontier *frontier);

void cli_frontier_text(const cli_run *run, const cli_frontier *frontier);
/* "frontier": [...] */
void cli_frontier_json(cli_json *json, const cli_frontier *frontier);
/* The picture. ball: an evaluation, whose norm, set and domain the title names. */
nadir_status cli_frontier_draw(cli_run *run, const cli_input *input, const nadir_robust *ball,
                               const cli_frontier *frontier);

#endif

/*
 * trajectory.h: the best value that a search has found so far, against time and samples, and the budget of
 * the search.
 *
 * Time counts from nadir_trajectory_start on. The nominal solution is computed before.
 */
#ifndef NADIR_PAPER_TRAJECTORY_H
#define NADIR_PAPER_TRAJECTORY_H

#include "inside.h"

typedef struct nadir_budget {
    double seconds;   /* infinity: no limit */
    int64_t samples;  /* kernels, or steps of methods that do not sample */
    double tolerance; /* of the value, relative, for methods that converge */
} nadir_budget;

/* A struct of zeros holds nothing. */
typedef struct nadir_trajectory {
    const char *task; /* for reports of progress */
    nadir_budget budget;
    double started;                 /* nadir_clock_seconds at the start */
    nadir_trajectory_point *points; /* [count] owned; seconds, samples and value increase */
    int64_t count;
    size_t capacity;
    int64_t samples;             /* so far */
    nadir_trajectory_point best; /* so far; zeros at first: the penalty of the nominal kernel is 0 */
} nadir_trajectory;

void nadir_trajectory_start(const char *task, const nadir_budget *budget, nadir_trajectory *trajectory);
void nadir_trajectory_clear(nadir_context *context, nadir_trajectory *trajectory);

/* Seconds since the start. */
double nadir_trajectory_seconds(const nadir_trajectory *trajectory);

/* After `samples` samples the best value is `value`. Adds a point if the value is 0.1 % above that of the
 * last point. NADIR_ERROR_INTERRUPTED if the user asked to stop. */
nadir_status nadir_trajectory_record(nadir_context *context, nadir_trajectory *trajectory, int64_t samples,
                                     double value);
/* Adds a point for the best value unless the last point has it. */
nadir_status nadir_trajectory_finish(nadir_context *context, nadir_trajectory *trajectory);

/* How many samples to draw next, `most` at most. The first blocks are small, so that a value is known early.
 */
int64_t nadir_trajectory_next_block(const nadir_trajectory *trajectory, int64_t most);

/* By time or samples when the budget is spent. */
nadir_stop nadir_trajectory_stop(const nadir_trajectory *trajectory);

#endif

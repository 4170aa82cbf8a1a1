/*
 * track.h: what a search has found by when: its best value against time and samples, and its budget.
 *
 * The clock runs from nadir_track_start on; the nominal solution is there by then.
 */
#ifndef NADIR_BASELINE_TRACK_H
#define NADIR_BASELINE_TRACK_H

#include "base/context.h"

/* The budget of a search. */
typedef struct nadir_budget {
    double seconds;   /* infinity: any */
    int64_t samples;  /* kernels, or steps of methods that do not sample */
    double tolerance; /* of the value, relative, for methods that converge */
} nadir_budget;

/* A struct of zeros holds nothing. */
typedef struct nadir_track {
    const char *task; /* for reports of progress */
    nadir_budget budget;
    double started;
    nadir_trajectory_point *points; /* [count] rising in seconds, samples and value */
    int64_t count;
    size_t capacity;
    int64_t samples;             /* so far */
    nadir_trajectory_point best; /* the last rise; zeros before the first: the nominal kernel costs nothing */
} nadir_track;

void nadir_track_start(const char *task, const nadir_budget *budget, nadir_track *track);
void nadir_track_clear(nadir_context *context, nadir_track *track);

double nadir_track_seconds(const nadir_track *track);

/* `samples` of them are done by now, and the best has `value`; NADIR_ERROR_INTERRUPTED where the user
 * asks. A point is kept where the value rose by a thousandth since the last one. */
nadir_status nadir_track_note(nadir_context *context, nadir_track *track, int64_t samples, double value);
/* The last rise is kept however small. */
nadir_status nadir_track_finish(nadir_context *context, nadir_track *track);

/* How many samples to draw next, `most` at most: few at first, so that something is known early. */
int64_t nadir_track_block(const nadir_track *track, int64_t most);

/* "time" or "samples" when the budget is spent, otherwise NULL. */
const char *nadir_track_spent(const nadir_track *track);

#endif

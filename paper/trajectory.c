/* track.c: what a search has found by when; see track.h. */
#include "trajectory.h"

#include <math.h>

/* A rise by less than this share is not worth a point. */
#define WORTH 1e-3
/* Samples that are drawn before the first look at the clock. */
#define FIRST_BLOCK 16

void nadir_trajectory_start(const char *task, const nadir_budget *budget, nadir_trajectory *trajectory)
{
    *trajectory = (nadir_trajectory){.task = task, .budget = *budget, .started = nadir_clock_seconds()};
}

void nadir_trajectory_clear(nadir_context *context, nadir_trajectory *trajectory)
{
    nadir_release(context, trajectory->points);
    *trajectory = (nadir_trajectory){0};
}

double nadir_trajectory_seconds(const nadir_trajectory *trajectory)
{
    return nadir_clock_seconds() - trajectory->started;
}

static double share_done(const nadir_trajectory *trajectory, double seconds)
{
    const double by_samples = (double)trajectory->samples / (double)trajectory->budget.samples;
    return fmin(1, fmax(by_samples, seconds / trajectory->budget.seconds));
}

static nadir_status keep(nadir_context *context, nadir_trajectory *trajectory)
{
    nadir_status status = NADIR_OK;
    NADIR_RESERVE(context, trajectory->points, trajectory->count + 1, trajectory->capacity);
    trajectory->points[trajectory->count++] = trajectory->best;
cleanup:
    return status;
}

nadir_status nadir_trajectory_record(nadir_context *context, nadir_trajectory *trajectory, int64_t samples,
                                     double value)
{
    nadir_status status = NADIR_OK;
    const double seconds = nadir_trajectory_seconds(trajectory);
    const double kept = trajectory->count > 0 ? trajectory->points[trajectory->count - 1].value : 0;
    trajectory->samples = samples;
    if (value > trajectory->best.value) {
        trajectory->best = (nadir_trajectory_point){seconds, samples, value};
        if (value > (1 + WORTH) * kept) {
            NADIR_CHECK(keep(context, trajectory));
        }
    }
    NADIR_CHECK(nadir_progress(context, trajectory->task, share_done(trajectory, seconds)));
cleanup:
    return status;
}

nadir_status nadir_trajectory_finish(nadir_context *context, nadir_trajectory *trajectory)
{
    const double kept = trajectory->count > 0 ? trajectory->points[trajectory->count - 1].value : 0;
    return trajectory->best.value > kept ? keep(context, trajectory) : NADIR_OK;
}

int64_t nadir_trajectory_next_block(const nadir_trajectory *trajectory, int64_t most)
{
    const int64_t left = trajectory->budget.samples - trajectory->samples;
    const int64_t block = trajectory->samples + FIRST_BLOCK < most ? trajectory->samples + FIRST_BLOCK : most;
    return left < block ? left : block;
}

const char *nadir_trajectory_stop_reason(const nadir_trajectory *trajectory)
{
    if (trajectory->samples >= trajectory->budget.samples) {
        return "samples";
    }
    return nadir_trajectory_seconds(trajectory) >= trajectory->budget.seconds ? "time" : NULL;
}

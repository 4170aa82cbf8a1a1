/* trajectory.c: the best value of a search against time and samples; see trajectory.h. */
#include "trajectory.h"

#include <math.h>

/* A point is added when the value rises by this share. */
#define RISE 1e-3
/* Samples of the first block; the clock is read after it. */
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

static nadir_status add_point(nadir_context *context, nadir_trajectory *trajectory)
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
    const double last = trajectory->count > 0 ? trajectory->points[trajectory->count - 1].value : 0;
    trajectory->samples = samples;
    if (value > trajectory->best.value) {
        trajectory->best = (nadir_trajectory_point){seconds, samples, value};
        if (value > (1 + RISE) * last) {
            NADIR_CHECK(add_point(context, trajectory));
        }
    }
    NADIR_CHECK(nadir_progress(context, trajectory->task, share_done(trajectory, seconds)));
cleanup:
    return status;
}

nadir_status nadir_trajectory_finish(nadir_context *context, nadir_trajectory *trajectory)
{
    const double last = trajectory->count > 0 ? trajectory->points[trajectory->count - 1].value : 0;
    return trajectory->best.value > last ? add_point(context, trajectory) : NADIR_OK;
}

int64_t nadir_trajectory_next_block(const nadir_trajectory *trajectory, int64_t most)
{
    const int64_t left = trajectory->budget.samples - trajectory->samples;
    const int64_t block = trajectory->samples + FIRST_BLOCK < most ? trajectory->samples + FIRST_BLOCK : most;
    return left < block ? left : block;
}

nadir_stop nadir_trajectory_stop(const nadir_trajectory *trajectory)
{
    if (trajectory->samples >= trajectory->budget.samples) {
        return NADIR_STOP_SAMPLES;
    }
    return nadir_trajectory_seconds(trajectory) >= trajectory->budget.seconds ? NADIR_STOP_TIME
                                                                              : NADIR_STOP_NONE;
}

void nadir_trajectory_free(nadir_context *context, nadir_trajectory_point *points)
{
    nadir_release(context, points);
}

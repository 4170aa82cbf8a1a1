/* track.c: what a search has found by when; see track.h. */
#include "baseline/track.h"

#include "base/clock.h"

#include <math.h>

/* A rise by less than this share is not worth a point. */
#define WORTH 1e-3
/* Samples that are drawn before the first look at the clock. */
#define FIRST_BLOCK 16

void nadir_track_start(const char *task, const nadir_budget *budget, nadir_track *track)
{
    *track = (nadir_track){.task = task, .budget = *budget, .started = nadir_clock_seconds()};
}

void nadir_track_clear(nadir_context *context, nadir_track *track)
{
    nadir_release(context, track->points);
    *track = (nadir_track){0};
}

double nadir_track_seconds(const nadir_track *track)
{
    return nadir_clock_seconds() - track->started;
}

static double share_done(const nadir_track *track, double seconds)
{
    const double by_samples = (double)track->samples / (double)track->budget.samples;
    return fmin(1, fmax(by_samples, seconds / track->budget.seconds));
}

static nadir_status keep(nadir_context *context, nadir_track *track)
{
    nadir_status status = NADIR_OK;
    NADIR_RESERVE(context, track->points, track->count + 1, track->capacity);
    track->points[track->count++] = track->best;
cleanup:
    return status;
}

nadir_status nadir_track_note(nadir_context *context, nadir_track *track, int64_t samples, double value)
{
    nadir_status status = NADIR_OK;
    const double seconds = nadir_track_seconds(track);
    const double kept = track->count > 0 ? track->points[track->count - 1].value : 0;
    track->samples = samples;
    if (value > track->best.value) {
        track->best = (nadir_trajectory_point){seconds, samples, value};
        if (value > (1 + WORTH) * kept) {
            NADIR_CHECK(keep(context, track));
        }
    }
    NADIR_CHECK(nadir_progress(context, track->task, share_done(track, seconds)));
cleanup:
    return status;
}

nadir_status nadir_track_finish(nadir_context *context, nadir_track *track)
{
    const double kept = track->count > 0 ? track->points[track->count - 1].value : 0;
    return track->best.value > kept ? keep(context, track) : NADIR_OK;
}

int64_t nadir_track_block(const nadir_track *track, int64_t most)
{
    const int64_t left = track->budget.samples - track->samples;
    const int64_t block = track->samples + FIRST_BLOCK < most ? track->samples + FIRST_BLOCK : most;
    return left < block ? left : block;
}

const char *nadir_track_spent(const nadir_track *track)
{
    if (track->samples >= track->budget.samples) {
        return "samples";
    }
    return nadir_track_seconds(track) >= track->budget.seconds ? "time" : NULL;
}

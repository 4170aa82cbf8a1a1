/*
 * clock.c: the monotonic clock of POSIX.
 */
#include "base/clock.h"

#include <time.h>

double nadir_clock_seconds(void)
{
    /* Every system we build on has this clock; were it missing, time would stand still. */
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

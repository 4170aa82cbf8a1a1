/*
 * clock.h: elapsed time, for timings, progress and time limits.
 */
#ifndef NADIR_BASE_CLOCK_H
#define NADIR_BASE_CLOCK_H

/* Seconds since some fixed moment; never runs backwards and ignores changes of the wall clock. Only
 * differences mean anything. */
double nadir_clock_seconds(void);

#endif

/*
 * device_counts.h: counts what is asked of the device of a context, so that tests can tell that it was used.
 * Include support/support.h first.
 */
#ifndef NADIR_TESTS_DEVICE_COUNTS_H
#define NADIR_TESTS_DEVICE_COUNTS_H

#include "nadir.h"

typedef struct test_device_counts {
    int64_t vectors, ranks, powers;            /* kept, and what was asked of them */
    int64_t rooms, rooms_left;                 /* taken, and not given back yet */
    int64_t copied;                            /* numbers, to and from rooms */
    int64_t solved_here, solved_there;         /* by iteration, with vectors in memory, and in rooms */
    int64_t centred_here, centred_there;       /* rows, likewise */
    int64_t multiplied_here, multiplied_there; /* M, likewise */
    bool no_rooms;                             /* set: the device says that it has none to spare */
} test_device_counts;

/* Starts to count the calls of the device of the context, which must have one. Ends an earlier count. */
test_device_counts *test_device_counts_start(nadir_context *context);

#endif

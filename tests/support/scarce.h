/*
 * scarce.h: memory that runs out, for tests that fail the k-th allocation for k = 1, 2, ... until the call
 * succeeds. Include support/support.h first.
 */
#ifndef NADIR_TESTS_SCARCE_H
#define NADIR_TESTS_SCARCE_H

#include "nadir.h"

typedef struct test_scarce {
    int64_t left;   /* allocations that may still succeed */
    int64_t blocks; /* now in use; 0 once everything was freed */
} test_scarce;

/* A context that takes its memory from `scarce`, which is as yet abundant. */
nadir_context *test_scarce_context(test_scarce *scarce);

#endif

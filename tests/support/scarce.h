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
    bool running;   /* the loop of test_scarce_again */
    int64_t tries;  /* how many calls it took */
} test_scarce;

/* A context that takes its memory from `scarce`, which is as yet abundant. */
nadir_context *test_scarce_context(test_scarce *scarce);

/* For `while (test_scarce_again(&scarce, status)) status = call();`, with NADIR_ERROR_MEMORY to begin with:
 * allows 0, 1, 2, ... allocations, and any number of them once the call succeeds. Fails the test if it ends
 * otherwise than with NADIR_OK or NADIR_ERROR_MEMORY. */
bool test_scarce_again(test_scarce *scarce, nadir_status status);
/* Frees the context; everything must be freed then. */
void test_scarce_end(const test_scarce *scarce, nadir_context *context);

/* How many files of the working directory have a name that begins with `start`. */
int test_count_files(const char *start);

typedef nadir_status (*test_attempt)(nadir_context *context, const void *of);

/* Calls `call` with 0, 1, 2, ... allocations left until it succeeds: each time it must end with NADIR_OK or
 * NADIR_ERROR_MEMORY and free what it made. `output`: the start of names of files that it may not leave
 * behind when it fails, or NULL; `what`: for messages. Returns how often memory ran out. */
int64_t test_run_out(test_attempt call, const void *of, const char *output, const char *what);

/* The same for about `most` of the numbers of allocations, evenly spread; for all of them where the
 * environment says NADIR_FAULTS=all. */
int64_t test_run_out_sampled(test_attempt call, const void *of, const char *output, const char *what,
                             int64_t most);

#endif

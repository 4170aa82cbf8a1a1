/*
 * thread_processes.h: a vector spread over several processes, played by threads of this one. Include support/support.h
 * first.
 */
#ifndef NADIR_TESTS_THREAD_PROCESSES_H
#define NADIR_TESTS_THREAD_PROCESSES_H

#include "core/context.h"

enum { TEST_PROCESSES_LIMIT = 8 };

/* What a member does: it asks context->communication for its rank. cmocka's assertions are for the main
 * thread alone: results go to `user`. */
typedef void test_process_work(nadir_context *context, void *user);

/* Runs `work` on every member at once; their tables have sum, reduce, reduce_few, maximum, scan,
 * order_statistics and collect; plans are made, but fetch nothing. Fails the test when members make
 * different calls. Returns how many calls each made. */
int test_processes_run(int members, test_process_work *work, void *user);

#endif
